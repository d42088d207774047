//! Stores and files that are not LevelDB's: refused in a sentence that names their engine, and left as they are.

use crate::rig::option_sets;
use ssd_kv::vfs::MemoryVfs;
use ssd_kv::{Db, Error, Options, destroy, dump, repair};
use std::collections::BTreeMap;
use std::sync::Arc;

type Directory = BTreeMap<String, Vec<u8>>;

/// A log of one record, in the format that both engines have.
fn log_of(payload: &[u8]) -> Vec<u8> {
    let fragment = [&[1_u8], payload].concat();
    let checksum = crc32c::crc32c(&fragment).rotate_right(15).wrapping_add(0xa282_ead8);
    let length = (payload.len() as u16).to_le_bytes();
    [&checksum.to_le_bytes()[..], &length, &fragment].concat()
}

/// A store of LevelDB with a table and a log.
fn leveldb() -> Directory {
    let vfs = MemoryVfs::new();
    let mut db = Db::open(Arc::new(vfs.clone()), option_sets()[0].clone()).expect("it opens");
    db.put(b"in a table", b"1", false).expect("written");
    db.compact_range(None, None).expect("compacted");
    db.put(b"in a log", b"2", false).expect("written");
    drop(db);
    vfs.snapshot()
}

fn with(mut files: Directory, name: &str, data: &[u8]) -> Directory {
    files.insert(name.to_owned(), data.to_vec());
    files
}

/// The only file whose name ends like this.
fn the(files: &mut Directory, end: &str) -> (String, Vec<u8>) {
    let name = files.keys().find(|name| name.ends_with(end)).cloned().expect("one");
    let data = files.remove(&name).expect("one");
    (name, data)
}

/// A table of RocksDB: bytes other than LevelDB's, and RocksDB's number at the end.
fn rocksdb_table(magic: u64) -> Vec<u8> {
    [vec![7; 200], magic.to_le_bytes().to_vec()].concat()
}

/// The comparator, then the largest number of column families, as RocksDB begins a manifest.
fn rocksdb_manifest() -> Vec<u8> {
    let name = b"leveldb.BytewiseComparator";
    log_of(&[&[1, name.len() as u8][..], name, &[203, 1, 0]].concat())
}

const MAGICS: [u64; 4] =
    [0x88e2_41b7_85f4_cff7, 0x8242_2296_63bf_9564, 0x4f34_18eb_7a8f_13b8, 0x9267_89d0_c5f1_7873];

/// The answers of every call that opens, changes or removes a store. Nothing is changed.
fn refusals(files: &Directory, options: &Options) -> Vec<String> {
    let mut said = Vec::new();
    let mut call = |call: &dyn Fn(Arc<MemoryVfs>) -> Result<(), Error>| {
        let vfs = MemoryVfs::of(files.clone());
        said.extend(call(Arc::new(vfs.clone())).err().map(|error| error.to_string()));
        assert!(vfs.snapshot() == *files, "files have changed: {:?}", vfs.snapshot().keys());
    };
    for (read_only, create_if_missing) in [(true, false), (false, false), (false, true)] {
        let options = Options { read_only, create_if_missing, ..options.clone() };
        call(&|vfs| Db::open(vfs, options.clone()).map(drop));
    }
    call(&|vfs| repair(vfs, options).map(drop));
    call(&|vfs| destroy(vfs));
    said
}

fn assert_refused(files: &Directory, sentence: &str) {
    for options in option_sets() {
        let said = refusals(files, &options);
        assert_eq!(said.len(), 5, "{said:?}");
        assert!(
            said.iter().all(|said| said.contains(sentence) && !said.contains('\n')),
            "{said:?}"
        );
        assert!(said.iter().all(|said| said.ends_with("nothing was changed")), "{said:?}");
    }
}

#[test]
fn a_store_of_rocksdb_is_left_alone() {
    for (name, data) in [("IDENTITY", &b"4f2a"[..]), ("OPTIONS-000012", b"[Version]\n")] {
        let files = with(leveldb(), name, data);
        assert_refused(&files, &format!("a store of RocksDB ({name} is there)"));
    }
    let mut files = leveldb();
    let (name, _) = the(&mut files, "2");
    assert!(name.starts_with("MANIFEST"), "{name}");
    let files = with(files, &name, &rocksdb_manifest());
    assert_refused(&files, &format!("a store of RocksDB ({name} has its records)"));
}

/// A file of notes does not indicate another engine.
#[test]
fn a_file_with_a_similar_name_is_none_of_rocksdb() {
    let files = with(leveldb(), "OPTIONS-of-ours", b"");
    let db = Db::open(Arc::new(MemoryVfs::of(files)), option_sets()[0].clone()).expect("it opens");
    db.verify().expect("whole");
}

/// Without its manifest a store is recognised by its tables, and a caller that wants to open it is told.
#[test]
fn tables_of_rocksdb_are_not_repaired() {
    for magic in MAGICS {
        let files = Directory::from([
            ("000008.sst".to_owned(), rocksdb_table(magic)),
            ("000014.log".to_owned(), log_of(b"a batch with another header")),
        ]);
        let vfs = MemoryVfs::of(files.clone());
        let error = repair(Arc::new(vfs.clone()), &option_sets()[0]).expect_err("not LevelDB's");
        assert!(
            error.to_string().contains("a store of RocksDB (000008.sst is one of its tables)"),
            "{error}"
        );
        assert!(vfs.snapshot() == files);
        let error = dump(Arc::new(vfs), "000008.sst", &mut |_| Ok(())).expect_err("not LevelDB's");
        assert!(error.to_string().contains("a table of RocksDB, by its magic number"), "{error}");
    }
}

#[test]
fn stores_of_others_are_left_alone() {
    let engines = [
        ("Badger", "KEYREGISTRY"),
        ("Badger", "000001.vlog"),
        ("WiredTiger", "WiredTiger.wt"),
        ("LMDB", "data.mdb"),
        ("Bitcask", "1700000000.bitcask.data"),
    ];
    for (engine, name) in engines {
        let alone = Directory::from([(name.to_owned(), vec![1; 100])]);
        let said = refusals(&alone, &option_sets()[0]);
        // There is nothing to remove.
        assert_eq!(said.len(), 4, "{said:?}");
        assert!(said.iter().all(|said| said.contains(&format!("a store of {engine}"))), "{said:?}");
        let files = Directory::from([
            (name.to_owned(), vec![1; 100]),
            // By their numbers alone these files look like those of a store.
            ("000001.sst".to_owned(), vec![2; 100]),
            ("000002.log".to_owned(), vec![3; 100]),
            ("CURRENT".to_owned(), b"MANIFEST-000001\n".to_vec()),
        ]);
        assert_refused(&files, &format!("a store of {engine} ({name} is there)"));
    }
    let pebble = ["marker.format-version.000013.018", "OPTIONS-000003"].map(str::to_owned);
    let files: Directory = pebble.into_iter().map(|name| (name, vec![])).collect();
    let files = with(files, "CURRENT", b"");
    assert_refused(&files, "a store of Pebble (marker.format-version.000013.018 is there)");
}

/// Logs of other programs have numbers as names: a repair renames none of them.
#[test]
fn a_folder_of_logs_is_no_store() {
    let logs = [
        ("000001.log", b"2026-11-26 started\n".to_vec()),
        ("2.log", vec![0; 64 << 10]),
        ("00000000000000000003.log", Vec::new()),
        ("4.sst", b"a picture".to_vec()),
        // A record, but not one of changes.
        ("5.log", log_of(b"2026-11-26 started")),
    ];
    let files: Directory = logs.map(|(name, data)| (name.to_owned(), data)).into();
    let vfs = MemoryVfs::of(files.clone());
    let error = repair(Arc::new(vfs.clone()), &option_sets()[0]).expect_err("no store");
    assert!(error.to_string().contains("nothing of a store is here to repair"), "{error}");
    assert!(vfs.snapshot() == files, "files have changed");
    // One that belongs to a store is enough.
    let (log, data) = the(&mut leveldb(), ".log");
    let vfs = MemoryVfs::of(with(Directory::new(), &log, &data));
    assert_eq!(repair(Arc::new(vfs), &option_sets()[0]).expect("repaired").pairs, 1);
}

fn named(comparator: &str) -> Vec<u8> {
    let name = comparator.as_bytes();
    log_of(&[&[1, name.len() as u8][..], name, &[2, 0, 3, 9, 4, 0]].concat())
}

#[test]
fn other_orders_are_named() {
    let mut files = leveldb();
    let (name, _) = the(&mut files, "2");
    let unknown = with(files.clone(), &name, &named("TerarkCmp"));
    for said in refusals(&unknown, &option_sets()[0]) {
        assert!(
            said.contains("the keys are in the order \"TerarkCmp\"")
                && said.contains("nothing was changed"),
            "{said}"
        );
    }
    // IndexedDB's stores may be read and removed.
    let idb = with(files, &name, &named("idb_cmp1"));
    let vfs = MemoryVfs::of(idb.clone());
    for error in [
        Db::open(Arc::new(vfs.clone()), option_sets()[0].clone()).map(drop),
        repair(Arc::new(vfs.clone()), &option_sets()[0]).map(drop),
    ] {
        let error = error.expect_err("refused").to_string();
        assert!(
            error.contains("the IndexedDB of a browser")
                && error.contains("can be read, but not written"),
            "{error}"
        );
    }
    assert!(vfs.snapshot() == idb, "files have changed");
}
