//! A store that is open for reading only: it shows everything, and its directory stays unchanged.

use crate::rig::{Map, assert_equal, change, option_sets};
use ssd_core::rng::Stream;
use ssd_kv::vfs::{FaultVfs, Faults, MemoryVfs, Vfs};
use ssd_kv::{Db, Error, Options, ReadOptions, WriteBatch};
use std::sync::Arc;

fn reading(options: &Options) -> Options {
    Options { create_if_missing: false, read_only: true, ..options.clone() }
}

/// Fill a store: tables, and changes that only its log has.
fn written(vfs: Arc<dyn Vfs>, options: &Options) -> Map {
    let mut db = Db::open(vfs, options.clone()).expect("a new store");
    let (mut random, mut model) = (Stream::new(5, "read only"), Map::new());
    for _ in 0..3_000 {
        let mut batch = WriteBatch::new();
        change(&mut random, &mut batch, &mut model, 900);
        db.write(&batch, false).expect("written");
    }
    model
}

#[test]
fn shows_all_and_changes_nothing() {
    for options in option_sets() {
        let vfs = MemoryVfs::new();
        let model = written(Arc::new(vfs.clone()), &options);
        let before = vfs.snapshot();
        let mut db = Db::open(Arc::new(vfs.clone()), reading(&options)).expect("a sound store");
        assert!(db.stats().logged > 0, "the log holds the last changes");
        assert!(db.tables_per_level().iter().sum::<usize>() > 0, "tables hold the others");
        assert_equal(&db, &model, None);
        db.verify().expect("sound");
        assert!(!db.has_work(), "no compaction is due");
        assert!(!db.step().expect("nothing to do"));
        let refused = [
            db.put(b"k", b"v", false),
            db.delete(b"k", true),
            db.write(&WriteBatch::new(), true),
            db.compact_range(None, None),
        ];
        for refusal in refused {
            let said = refusal.expect_err("it is read only").to_string();
            assert!(said.ends_with("the store is open for reading only"), "{said}");
        }
        drop(db);
        assert_eq!(vfs.snapshot(), before);
    }
}

/// A log that reappears hides later data in tables.
#[test]
fn verify_holds_logs_against_tables() {
    let options = option_sets().remove(0);
    let vfs = MemoryVfs::new();
    let open = |vfs: &MemoryVfs, options: &Options| {
        Db::open(Arc::new(vfs.clone()), options.clone()).expect("it opens")
    };
    let mut db = open(&vfs, &options);
    db.put(b"key", b"old", false).expect("written");
    let is_log = |name: &&String| name.ends_with(".log");
    let files = vfs.snapshot();
    let old = &files[files.keys().find(is_log).expect("a log")];
    db.put(b"key", b"new", false).expect("written");
    db.compact_range(None, None).expect("compacted");
    drop(db);
    let mut files = vfs.snapshot();
    let log = files.keys().find(is_log).cloned().expect("a log");
    files.insert(log, old.clone());
    let vfs = MemoryVfs::of(files.clone());
    let db = open(&vfs, &reading(&options));
    assert_eq!(
        db.get(b"key", ReadOptions::default(), None).expect("read").as_deref(),
        Some(&b"old"[..])
    );
    let said = db.verify().expect_err("an iterator finds the new one").to_string();
    assert!(said.contains("its log hides a newer entry of 'key' in table"), "{said}");
    drop(db);
    assert_eq!(vfs.snapshot(), files);
    let said = open(&vfs, &options).verify().expect_err("in a table, too").to_string();
    assert!(said.contains("it hides a newer entry of 'key' in table"), "{said}");
}

/// A file that the manifest names but that does not exist.
#[test]
fn missing_files_are_told() {
    let options = option_sets().remove(0);
    let vfs = MemoryVfs::new();
    written(Arc::new(vfs.clone()), &options);
    let files = vfs.snapshot();
    for kind in [".ldb", ".log"] {
        let mut left = files.clone();
        let gone = files.keys().find(|name| name.ends_with(kind)).expect("there is one");
        left.remove(gone);
        let vfs = MemoryVfs::of(left.clone());
        let opened = Db::open(Arc::new(vfs.clone()), reading(&options)).map(drop);
        let said = opened.expect_err("it is missing").to_string();
        assert!(said.contains(gone) && said.contains("but it is missing"), "{said}");
        assert_eq!(vfs.snapshot(), left);
    }
}

/// Concurrently with readers, but not with a writer.
#[test]
fn shares_its_lock() {
    let options = option_sets().remove(0);
    let vfs = MemoryVfs::new();
    written(Arc::new(vfs.clone()), &options);
    let open = |options: &Options| Db::open(Arc::new(vfs.clone()), options.clone());
    let readers =
        [open(&reading(&options)), open(&reading(&options))].map(|db| db.expect("shared"));
    assert!(matches!(open(&options), Err(Error::Locked(_))));
    let [first, second] = readers;
    drop(first);
    assert!(matches!(open(&options), Err(Error::Locked(_))));
    drop(second);
    let writer = open(&options).expect("free");
    assert!(matches!(open(&reading(&options)), Err(Error::Locked(_))));
    drop(writer);
    open(&reading(&options)).expect("free");
}

/// On a medium that takes no writes at all.
#[test]
fn needs_no_call_that_writes() {
    let options = option_sets().remove(1);
    let vfs = FaultVfs::new();
    let model = written(Arc::new(vfs.clone()), &options);
    vfs.inject(Faults::From(0));
    assert!(vfs.rename("a", "b").is_err(), "writes fail");
    let db = Db::open(Arc::new(vfs), reading(&options)).expect("it only reads");
    assert_equal(&db, &model, None);
}

#[test]
fn nothing_to_read_is_an_error() {
    let vfs = MemoryVfs::new();
    let options = Options { read_only: true, ..Options::default() };
    let said = Db::open(Arc::new(vfs.clone()), options.clone()).map(drop).expect_err("no store");
    assert!(said.to_string().contains("there is no store here"), "{said}");
    let create = Options { create_if_missing: true, ..options };
    let said = Db::open(Arc::new(vfs.clone()), create).map(drop).expect_err("contradicts itself");
    assert!(said.to_string().contains("read_only: such a store cannot be created"), "{said}");
    assert!(vfs.snapshot().is_empty());
}

/// A record as it is in logs and manifests.
fn record(payload: &[u8]) -> Vec<u8> {
    let fragment = [&[1_u8], payload].concat();
    let checksum = crc32c::crc32c(&fragment).rotate_right(15).wrapping_add(0xa282_ead8);
    let length = (payload.len() as u16).to_le_bytes();
    [&checksum.to_le_bytes()[..], &length, &fragment].concat()
}

/// A store with the values "old" and "new" of one key in two tables of level 0, and the name of its manifest.
fn two_versions(options: &Options) -> (std::collections::BTreeMap<String, Vec<u8>>, String) {
    let vfs = MemoryVfs::new();
    for value in [b"old", b"new"] {
        let db = Db::open(Arc::new(vfs.clone()), options.clone());
        db.expect("it opens").put(b"key", value, false).expect("written");
    }
    let db = Db::open(Arc::new(vfs.clone()), options.clone()).expect("it opens");
    assert_eq!(db.tables_per_level()[..2], [2, 0]);
    drop(db);
    let files = vfs.snapshot();
    let manifest = files.keys().find(|name| name.starts_with("MANIFEST")).cloned().expect("one");
    (files, manifest)
}

/// A manifest that knows fewer changes than a table has.
#[test]
fn verify_finds_sequence_numbers_that_were_never_given() {
    let options = option_sets().remove(0);
    let (mut files, manifest) = two_versions(&options);
    let verified = |files: &std::collections::BTreeMap<String, Vec<u8>>| {
        let vfs = Arc::new(MemoryVfs::of(files.clone()));
        Db::open(vfs, reading(&options)).expect("it opens").verify()
    };
    assert_eq!(verified(&files).expect("whole").entries, 2);
    let last_sequence = 4;
    files.get_mut(&manifest).expect("one").extend(record(&[last_sequence, 1]));
    let said = verified(&files).expect_err("one is beyond").to_string();
    assert!(said.contains("a sequence number that was never given"), "{said}");
}

/// The same entry in two tables, and an older one in a table between them: gets find the newest first.
#[test]
fn verify_allows_an_entry_to_be_in_several_tables() {
    let options = option_sets().remove(0);
    let (mut files, manifest) = two_versions(&options);
    let newest = files.keys().filter(|name| name.ends_with(".ldb")).max().cloned().expect("one");
    let table = files[&newest].clone();
    // On level 1: a number that is free, the size, and the first and the last key.
    let internal = [&b"key"[..], &((2_u64 << 8) | 1).to_le_bytes()].concat();
    let size = [table.len() as u8 | 0x80, (table.len() >> 7) as u8];
    let ends = [&[internal.len() as u8][..], &internal].concat();
    let edit = [&[7, 1, 1][..], &size, &ends, &ends].concat();
    files.get_mut(&manifest).expect("one").extend(record(&edit));
    files.insert("000001.ldb".to_owned(), table);
    let db = Db::open(Arc::new(MemoryVfs::of(files)), reading(&options)).expect("it opens");
    assert_eq!(db.tables_per_level()[..2], [2, 1]);
    assert_eq!(db.verify().expect("whole").entries, 3);
}
