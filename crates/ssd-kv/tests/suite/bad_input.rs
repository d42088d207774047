//! Wrong requests: clear messages, nothing lost.

use crate::rig::{CHECKED, option_sets};
use ssd_kv::vfs::{MemoryVfs, PosixVfs, Vfs};
use ssd_kv::{Db, Error, Options, WriteBatch, destroy, dump, repair};
use std::path::PathBuf;
use std::sync::Arc;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ssd-kv-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn refused(vfs: Arc<dyn Vfs>, options: Options) -> String {
    Db::open(vfs, options).err().expect("it is refused").to_string()
}

fn create() -> Options {
    Options { create_if_missing: true, ..Options::default() }
}

#[test]
fn directories() {
    let path = folder("directories");
    let vfs = Arc::new(PosixVfs::new(&path));
    let text = refused(vfs.clone(), Options::default());
    assert!(text.ends_with("there is no store here, and it is not to be created"), "{text}");
    assert!(!path.exists(), "nothing was made");

    std::fs::create_dir(&path).expect("made");
    std::fs::write(path.join("letter.txt"), "dear").expect("written");
    let text = refused(vfs.clone(), create());
    assert!(text.contains("there is letter.txt, no file of a store"), "{text}");
    std::fs::remove_file(path.join("letter.txt")).expect("removed");

    std::fs::write(path.join("000005.ldb"), "").expect("written");
    let text = refused(vfs.clone(), create());
    assert!(text.contains("no CURRENT: repair it"), "{text}");
    std::fs::rename(path.join("000005.ldb"), path.join("000005.log")).expect("renamed");
    let text = refused(vfs.clone(), create());
    assert!(text.contains("there is 000005.log of a store, but no CURRENT: repair it"), "{text}");
    std::fs::rename(path.join("000005.log"), path.join("000005.ldb")).expect("renamed");
    std::fs::remove_file(path.join("000005.ldb")).expect("removed");

    let db = Db::open(vfs.clone(), create()).expect("it opens");
    let text = refused(vfs.clone(), create());
    assert!(text.ends_with("in use: another open store holds its lock"), "{text}");
    drop(db);
    let text = refused(vfs.clone(), Options { error_if_exists: true, ..create() });
    assert!(text.ends_with("there is a store"), "{text}");

    std::fs::write(path.join("CURRENT"), "MANIFEST-000099\n").expect("written");
    let text = refused(vfs.clone(), create());
    assert!(text.contains("MANIFEST-000099: cannot open"), "{text}");
    std::fs::write(path.join("CURRENT"), "elsewhere").expect("written");
    let text = refused(vfs, create());
    assert!(
        text.contains("CURRENT: damaged at offset 0: expected the name of a manifest"),
        "{text}"
    );
    std::fs::remove_dir_all(path).expect("removed");
}

#[test]
fn names_of_no_store_are_named() {
    let vfs = Arc::new(PosixVfs::new("folder"));
    let error = dump(vfs, "sub/000001.log", &mut |_| Ok(())).expect_err("it is refused");
    assert!(error.to_string().starts_with("folder/sub/000001.log: expected a log"), "{error}");
}

#[test]
fn a_file_where_the_directory_should_be() {
    let path = folder("file");
    std::fs::write(&path, "no directory").expect("written");
    let text = refused(Arc::new(PosixVfs::new(&path)), create());
    assert!(text.contains("cannot list"), "{text}");
    std::fs::remove_file(path).expect("removed");
}

#[test]
fn options_out_of_range() {
    let vfs = Arc::new(MemoryVfs::new());
    let text = refused(vfs.clone(), Options { block_size: 1, ..create() });
    assert_eq!(text, "block_size = 1: expected 1024 to 4194304");
    let text = refused(vfs, Options { bloom_bits_per_key: Some(0), ..create() });
    assert_eq!(text, "bloom_bits_per_key = 0: expected 1 to 100");
}

/// A record of a log or a manifest, with its right checksum.
fn record(payload: &[u8]) -> Vec<u8> {
    let mut record = vec![0; 4];
    record.extend_from_slice(&(payload.len() as u16).to_le_bytes());
    record.push(1);
    record.extend_from_slice(payload);
    let crc = crc32c::crc32c(&record[6..]).rotate_right(15).wrapping_add(0xa282_ead8);
    record[..4].copy_from_slice(&crc.to_le_bytes());
    record
}

/// A store with a table and a log; `payload` is one more record at the end of the file whose name has this beginning or
/// end.
fn with_record(file: &str, payload: &[u8]) -> Arc<MemoryVfs> {
    let vfs = MemoryVfs::new();
    let mut db = Db::open(Arc::new(vfs.clone()), create()).expect("it opens");
    db.put(b"k", b"v", true).expect("written");
    db.compact_range(None, None).expect("compacted");
    db.put(b"l", b"w", true).expect("written");
    drop(db);
    let mut files = vfs.snapshot();
    let named = files.iter_mut().rfind(|(n, _)| n.starts_with(file) || n.ends_with(file));
    named.expect("a file").1.extend(record(payload));
    Arc::new(MemoryVfs::of(files))
}

/// Records whose numbers leave no room for further ones, or are already used: an error, never a panic.
#[test]
fn numbers_in_records_at_the_end_of_their_range() {
    const MAX: &[u8] = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    let new_file = |number: u8, size: &[u8]| {
        let keys = [8, number, 0, 0, 0, 0, 0, 0, 0].repeat(2);
        [&[7, 1, number], size, &keys].concat()
    };
    let cases: [(Vec<u8>, &str); 7] = [
        ([b"\x02", MAX].concat(), "a file number with no next one"),
        ([b"\x03", MAX].concat(), "a file number with no next one"),
        ([b"\x09", MAX].concat(), "a file number with no next one"),
        ([b"\x06\x01", MAX].concat(), "a file number with no next one"),
        ([b"\x04", MAX].concat(), "a sequence of more than 56 bits"),
        ([b"\x07\x01", MAX, b"\x01", &[0; 18]].concat(), "a file number with no next one"),
        ([new_file(100, MAX), new_file(101, MAX)].concat(), "the manifest names this file"),
    ];
    for (payload, expected) in cases {
        let text = refused(with_record("MANIFEST", &payload), Options::default());
        assert!(text.contains(expected), "{payload:?}: {text}");
    }

    let batch = [MAX[..7].to_vec(), vec![1, 1, 0, 0, 0, 1, 1, b'm', 0]].concat();
    let vfs = with_record(".log", &batch);
    let db = Db::open(vfs.clone(), Options::default()).expect("it opens");
    assert_eq!((db.stats().damaged_log_records, db.read_view().sequence()), (1, 2));
    let report = repair(with_record(".log", &batch), &create()).expect("repaired");
    assert!(report.lost[0].contains("a sequence number of more than 56 bits"), "{report:?}");
}

/// A manifest that counts files too low: no file of the store is overwritten.
#[test]
fn numbers_that_are_given_already() {
    let vfs = with_record("MANIFEST", &[3, 2]);
    let mut db = Db::open(vfs, Options::default()).expect("it opens");
    db.put(b"m", b"x", true).expect("written");
    db.compact_range(None, None).expect("compacted");
    for (key, value) in [(b"k", b"v"), (b"l", b"w"), (b"m", b"x")] {
        assert_eq!(db.get(key, CHECKED, None).expect("read").as_deref(), Some(&value[..]));
    }
    db.verify().expect("sound");
}

#[test]
fn another_comparator() {
    let vfs = MemoryVfs::new();
    drop(Db::open(Arc::new(vfs.clone()), create()).expect("it opens"));
    let mut files = vfs.snapshot();
    // A manifest of one record that names another order of keys.
    let manifest = files.keys().find(|n| n.starts_with("MANIFEST")).cloned().expect("a manifest");
    files.insert(manifest, record(b"\x01\x05mine!"));
    for without in ["none", "CURRENT"] {
        files.remove(without);
        let vfs = MemoryVfs::of(files.clone());
        let mut said = vec![repair(Arc::new(vfs.clone()), &create()).expect_err("refused")];
        said.extend(Db::open(Arc::new(vfs.clone()), Options::default()).err());
        assert!(
            said[0]
                .to_string()
                .contains("order \"mine!\", expected \"leveldb.BytewiseComparator\"")
        );
        assert_eq!(said[0].to_string(), said[1].to_string(), "without {without}");
        assert!(vfs.snapshot() == files, "nothing is changed");
    }
}

/// Files whose numbers have no successor do not belong to a store.
#[test]
fn numbers_too_large() {
    for name in ["18446744073709551615.log", "18446744073709551614.ldb"] {
        let vfs = MemoryVfs::new();
        let mut db = Db::open(Arc::new(vfs.clone()), create()).expect("it opens");
        db.put(b"k", b"v", true).expect("written");
        drop(db);
        let mut files = vfs.snapshot();
        files.insert(name.to_owned(), Vec::new());
        let vfs = Arc::new(MemoryVfs::of(files));
        let report = repair(vfs.clone(), &create()).expect("repaired");
        assert_eq!((report.pairs, report.lost.len()), (1, 0));
        let db = Db::open(vfs.clone(), create()).expect("it opens");
        assert_eq!(db.get(b"k", CHECKED, None).expect("read").as_deref(), Some(&b"v"[..]));
        assert!(vfs.snapshot().contains_key(name), "it is left alone");
    }
}

#[test]
fn empty_and_huge() {
    let vfs = Arc::new(MemoryVfs::new());
    for options in &option_sets()[..2] {
        let mut db = Db::open(vfs.clone(), options.clone()).expect("it opens");
        let huge = vec![7; 64 << 20];
        db.put(b"", b"", true).expect("an empty key and value");
        db.put(b"huge value", &huge, true).expect("64 MiB");
        db.put(&huge, b"of a huge key", false).expect("64 MiB");
        for round in 0..2 {
            let get = |key: &[u8]| db.get(key, CHECKED, None).expect("read");
            assert_eq!(get(b"").as_deref(), Some(&b""[..]), "round {round}");
            assert!(get(b"huge value").as_ref() == Some(&huge));
            assert_eq!(get(&huge).as_deref(), Some(&b"of a huge key"[..]));
            drop(db);
            db = Db::open(vfs.clone(), options.clone()).expect("it opens");
        }
        db.compact_range(None, None).expect("compacted");
        db.verify().expect("whole");
        drop(db);
        destroy(vfs.clone()).expect("destroyed");
    }
}

#[test]
fn a_snapshot_of_another_store() {
    let open = || Db::open(Arc::new(MemoryVfs::new()), create()).expect("it opens");
    let (one, other) = (open(), open());
    let error = other.get(b"k", CHECKED, Some(&one.read_view())).expect_err("refused");
    assert!(matches!(error, Error::Invalid(_)), "{error}");
}

#[test]
fn a_batch_is_whole() {
    let mut db = Db::open(Arc::new(MemoryVfs::new()), create()).expect("it opens");
    let mut batch = WriteBatch::new();
    db.write(&batch, false).expect("nothing to write");
    batch.put(b"a", b"1");
    batch.put(b"a", b"2");
    batch.delete(b"b");
    let mut more = WriteBatch::new();
    more.put(b"c", b"3");
    batch.extend(&more);
    assert_eq!((batch.count(), batch.changes().count()), (4, 4));
    db.write(&batch, false).expect("written");
    assert_eq!(db.get(b"a", CHECKED, None).expect("read").as_deref(), Some(&b"2"[..]));
    assert_eq!(db.read_view().sequence(), 4);
}

/// Other programs have files with such names: a log alone does not make a directory a store.
#[test]
fn a_directory_without_a_store_is_left_alone() {
    let files = ["000005.log", "LOG", "notes.txt"].map(|name| (name.to_string(), b"mine".to_vec()));
    let vfs = MemoryVfs::of(files.into_iter().collect());
    destroy(Arc::new(vfs.clone())).expect("nothing to do");
    assert_eq!(vfs.snapshot().into_keys().collect::<Vec<_>>(), ["000005.log", "LOG", "notes.txt"]);
}
