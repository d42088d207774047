//! Damaged logs: what is missing is reported, and never taken for a value.

use crate::rig::{CHECKED, Map, option_sets, pairs};
use ssd_kv::vfs::{FaultVfs, MemoryVfs, Reset};
use ssd_kv::{Background, Db, Error, Options, repair};
use std::collections::BTreeMap;
use std::sync::Arc;

const BLOCK: usize = 32 << 10;

type Directory = BTreeMap<String, Vec<u8>>;

/// A store that is one log, its pairs, and the name of the log.
fn one_log(values: impl Iterator<Item = (Vec<u8>, Vec<u8>)>) -> (Directory, Map, String) {
    let vfs = MemoryVfs::new();
    let options = Options { write_buffer_size: 1 << 20, ..option_sets()[0].clone() };
    let mut db = Db::open(Arc::new(vfs.clone()), options).expect("it opens");
    let mut model = Map::new();
    for (key, value) in values {
        db.put(&key, &value, false).expect("written");
        model.insert(key, value);
    }
    let files = vfs.snapshot();
    let log = files.keys().find(|n| n.ends_with(".log")).cloned().expect("a log");
    (files, model, log)
}

fn small_pairs() -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
    (0..300).map(|i| (format!("{i:06}").into_bytes(), vec![b'v'; 60]))
}

/// The contents of the store, and what was damaged in its logs.
fn opened(files: Directory, paranoid_checks: bool) -> Result<(Map, u64), Error> {
    let options = Options { paranoid_checks, ..option_sets()[0].clone() };
    let db = Db::open(Arc::new(MemoryVfs::of(files)), options)?;
    Ok((pairs(db.iter(CHECKED, None)?)?, db.stats().damaged_log_records))
}

/// Check that damage, and only damage, is refused, or else counted.
fn assert_damaged(files: &Directory, said: &str, count: u64) -> Map {
    let error = opened(files.clone(), true).expect_err("it is damaged").to_string();
    assert!(error.contains(said), "{error}");
    let (found, damaged) = opened(files.clone(), false).expect("it opens");
    assert_eq!(damaged, count);
    found
}

#[test]
fn zeros_in_place_of_a_record() {
    let (mut files, model, log) = one_log(small_pairs());
    // Each record takes 88 bytes.
    files.get_mut(&log).expect("the log")[8800..8807].fill(0);
    let said = "damaged at offset 8800: zeros in place of a record";
    let found = assert_damaged(&files, said, 1);
    assert!(found.len() == 299 && found.iter().all(|(k, v)| model.get(k) == Some(v)));
}

#[test]
fn zeros_in_place_of_a_block() {
    let values = (0..900).map(|i| {
        let key = format!("{i:08}");
        (key.clone().into_bytes(), format!("{}{i:06}", key.repeat(18)).into_bytes())
    });
    let first = std::iter::once((b"first".to_vec(), vec![b'x'; 60]));
    let (mut files, model, log) = one_log(first.chain(values));
    files.get_mut(&log).expect("the log")[BLOCK..2 * BLOCK].fill(0);
    let found = assert_damaged(&files, "zeros in place of a record", 2);
    assert!(found.len() > 500 && found.iter().all(|(k, v)| model.get(k) == Some(v)));
}

/// A block of zeros between whole records looks like reserved space.
#[test]
fn records_missing_between_whole_ones() {
    // A record of exactly one block: header, sequence number and count, kind, lengths, key, value.
    let value = vec![b'v'; BLOCK - 7 - 12 - 1 - 1 - 6 - 3];
    let values = (0..3).map(|i| (format!("{i:06}").into_bytes(), value.clone()));
    let (mut files, _, log) = one_log(values);
    assert_eq!(files[&log].len(), 3 * BLOCK);
    files.get_mut(&log).expect("the log")[BLOCK..2 * BLOCK].fill(0);
    let found = assert_damaged(&files, "1 changes before this record are missing", 1);
    assert_eq!(found.len(), 2);
}

/// Opening, verifying and repairing a store judge the end of its files alike, in the same words: bytes there that are
/// not a record do not prevent opening, and each of the three reports them.
fn assert_tail(files: &Directory, said: &str, model: &Map) {
    for paranoid_checks in [true, false] {
        assert!(opened(files.clone(), paranoid_checks).expect("it opens") == (model.clone(), 0));
        for read_only in [true, false] {
            let options = Options {
                paranoid_checks,
                read_only,
                create_if_missing: false,
                ..option_sets()[0].clone()
            };
            let db = Db::open(Arc::new(MemoryVfs::of(files.clone())), options).expect("it opens");
            assert_eq!(db.tails().iter().map(Error::to_string).collect::<Vec<_>>(), [said]);
            match db.verify() {
                Err(error) => assert!(read_only && error.to_string() == said, "{error}"),
                // The tail is not in the files that it has written since.
                Ok(_) => assert!(!read_only, "{said}: nobody was told"),
            }
        }
    }
    let vfs = Arc::new(MemoryVfs::of(files.clone()));
    let report = repair(vfs.clone(), &option_sets()[0]).expect("repaired");
    assert_eq!(report.lost, [said]);
    let db = Db::open(vfs, option_sets()[0].clone()).expect("it opens");
    assert!(
        db.tails().is_empty()
            && pairs(db.iter(CHECKED, None).expect("made")).expect("read") == *model
    );
}

#[test]
fn zeros_at_the_end_are_reported() {
    let (files, model, log) = one_log(small_pairs());
    let end = files[&log].len();
    for more in [1, 6, 7, 100, BLOCK, 5 * BLOCK] {
        let mut longer = files.clone();
        longer.get_mut(&log).expect("the log").resize(end + more, 0);
        let what = "zeros end the file: lost records, or preallocated space";
        assert_tail(&longer, &format!("{log}: damaged at offset {end}: {more} {what}"), &model);
    }
    // The second half of the log never reached the medium.
    let mut half = files.clone();
    half.get_mut(&log).expect("the log")[150 * 88..].fill(0);
    let first = model.into_iter().take(150).collect();
    let what = format!("damaged at offset 13200: {} zeros end the file", end - 13_200);
    assert_tail(&half, &format!("{log}: {what}: lost records, or preallocated space"), &first);
    // The first part of a record exists; for the rest there is only space.
    let (mut files, _, log) = one_log(std::iter::once((b"k".to_vec(), vec![1; 3 * BLOCK])));
    let end = files[&log].len();
    files.get_mut(&log).expect("the log")[BLOCK..].fill(0);
    let said = format!("{log}: damaged at offset 0: a torn record of {end} bytes ends the file");
    assert_tail(&files, &said, &Map::new());
}

/// The bytes between the last record and the end of its block belong to no record.
#[test]
fn the_end_of_a_block_is_no_tail() {
    // A record that leaves 3 bytes of its block.
    let value = vec![b'v'; BLOCK - 3 - 7 - 12 - 1 - 1 - 6 - 3];
    let (mut files, _, log) = one_log(std::iter::once((b"000000".to_vec(), value)));
    let data = files.get_mut(&log).expect("the log");
    assert_eq!(data.len(), BLOCK - 3);
    data.resize(BLOCK, 0);
    let options = Options { read_only: true, create_if_missing: false, ..option_sets()[0].clone() };
    let db = Db::open(Arc::new(MemoryVfs::of(files)), options).expect("it opens");
    assert_eq!(db.tails().len(), 0);
    db.verify().expect("whole");
}

/// Every length to which a log is cut is judged: whole, or a tail of this many bytes.
#[test]
fn a_cut_log_has_a_tail_of_the_bytes_behind_its_last_record() {
    let (files, model, log) = one_log(small_pairs().take(4));
    for length in 0..=files[&log].len() {
        let mut cut = files.clone();
        cut.get_mut(&log).expect("the log").truncate(length);
        let (records, torn) = (length / 88, length % 88);
        let first = model.clone().into_iter().take(records).collect();
        if torn > 0 {
            let what = format!("damaged at offset {}: a torn record of {torn} bytes", records * 88);
            assert_tail(&cut, &format!("{log}: {what} ends the file"), &first);
        } else {
            assert!(opened(cut, true).expect("it opens") == (first, 0), "{length}");
        }
    }
}

#[test]
fn the_tail_of_a_manifest_is_reported() {
    let (mut files, model, _) = one_log(small_pairs().take(4));
    let name = files.keys().find(|name| name.starts_with("MANIFEST")).cloned().expect("one");
    let manifest = files.get_mut(&name).expect("one");
    let end = manifest.len();
    manifest.extend([9; 5]);
    let said = format!("{name}: damaged at offset {end}: a torn record of 5 bytes ends the file");
    assert_tail(&files, &said, &model);
}

/// A store with two logs, with the lengths of a record and their names.
fn two_logs() -> (Directory, [String; 2]) {
    let vfs = MemoryVfs::new();
    let options = Options { background: Background::Steps, ..option_sets()[0].clone() };
    let mut db = Db::open(Arc::new(vfs.clone()), options).expect("it opens");
    for i in 0..700 {
        db.put(format!("{i:06}").as_bytes(), &[7; 60], false).expect("written");
    }
    let files = vfs.snapshot();
    let logs: Vec<String> = files.keys().filter(|n| n.ends_with(".log")).cloned().collect();
    (files, logs.try_into().expect("two logs"))
}

#[test]
fn a_log_that_is_not_the_last_is_whole() {
    let (files, [first, second]) = two_logs();
    assert_eq!(opened(files.clone(), true).expect("it opens").0.len(), 700);
    for (length, said) in [
        (880, "changes before this record are missing"),
        (
            900,
            "damaged at offset 880: a torn record of 20 bytes ends the file, and a later log continues",
        ),
    ] {
        let mut cut = files.clone();
        cut.get_mut(&first).expect("the log").truncate(length);
        let found = assert_damaged(&cut, said, 1);
        assert!(found.len() > 10 && found.len() < 700);
        // A repair reports it once: a torn record explains the gap behind it.
        let report =
            repair(Arc::new(MemoryVfs::of(cut.clone())), &option_sets()[0]).expect("repaired");
        assert_eq!(report.lost.len(), 1, "{:?}", report.lost);
        assert!(report.lost[0].contains(said), "{:?}", report.lost);
        // The crash came before anything was added to the second one.
        cut.get_mut(&second).expect("the log").clear();
        let (found, damaged) = opened(cut.clone(), true).expect("it opens");
        assert_eq!((found.len(), damaged), (10, 0));
        let report = repair(Arc::new(MemoryVfs::of(cut)), &option_sets()[0]).expect("repaired");
        assert_eq!(report.lost.len(), usize::from(length == 900), "{:?}", report.lost);
    }
}

#[test]
fn a_repair_tells_of_torn_records() {
    let (files, [_, last]) = two_logs();
    let mut cut = files.clone();
    cut.get_mut(&last).expect("the log").truncate(900);
    let report = repair(Arc::new(MemoryVfs::of(cut)), &option_sets()[0]).expect("repaired");
    let what = "damaged at offset 880: a torn record of 20 bytes ends the file";
    assert_eq!(report.lost, [format!("{last}: {what}")]);
}

/// Zeros behind the last record of a log that a later log continues are preallocated space if no sequence number is
/// missing. If one is, records were lost.
#[test]
fn zeros_before_another_log_are_judged_by_the_numbers() {
    let (files, [first, last]) = two_logs();
    let end = files[&first].len();
    let mut longer = files.clone();
    longer.get_mut(&first).expect("the log").resize(end + 4096, 0);
    assert_eq!(opened(longer.clone(), true).expect("it opens").1, 0);
    let report = repair(Arc::new(MemoryVfs::of(longer)), &option_sets()[0]).expect("repaired");
    assert!(report.lost.is_empty() && report.pairs == 700, "{report:?}");
    let mut zeros = files;
    zeros.get_mut(&first).expect("the log")[880..].fill(0);
    assert_damaged(&zeros, "changes before this record are missing", 1);
    let report = repair(Arc::new(MemoryVfs::of(zeros)), &option_sets()[0]).expect("repaired");
    let is_gap = |lost: &String| lost.starts_with(&last) && lost.contains("are missing");
    assert!(report.lost.len() == 1 && is_gap(&report.lost[0]), "{report:?}");
}

/// A record as it is in logs and manifests.
fn record(payload: &[u8]) -> Vec<u8> {
    let fragment = [&[1_u8], payload].concat();
    let checksum = crc32c::crc32c(&fragment).rotate_right(15).wrapping_add(0xa282_ead8);
    let length = (payload.len() as u16).to_le_bytes();
    [&checksum.to_le_bytes()[..], &length, &fragment].concat()
}

/// Old versions of LevelDB name a log before the one in use, whose changes are in no table yet.
#[test]
fn the_log_before_the_one_in_use_is_read() {
    let (mut files, logs) = two_logs();
    let [first, second] = logs.map(|log| log[..6].parse::<u8>().expect("a number"));
    let name = files.keys().find(|name| name.starts_with("MANIFEST")).cloned().expect("one");
    let manifest = files.get_mut(&name).expect("one");
    let (log_number, previous_log) = (2, 9);
    manifest.extend(record(&[log_number, second, previous_log, 0]));
    let alone = opened(files.clone(), false).expect("it opens").0.len();
    assert!(alone > 0 && alone < 700, "{alone}");
    files.get_mut(&name).expect("one").extend(record(&[previous_log, first]));
    let (found, damaged) = opened(files, true).expect("it opens");
    assert_eq!((found.len(), damaged), (700, 0));
}

/// As in LevelDB, opening ends a table when the changes of a log take more memory than the write buffer, not
/// when they take as much.
#[test]
fn a_log_that_just_fits_the_write_buffer_becomes_one_table() {
    let vfs = MemoryVfs::new();
    let options = Options { write_buffer_size: 1 << 20, ..option_sets()[0].clone() };
    let mut db = Db::open(Arc::new(vfs.clone()), options.clone()).expect("it opens");
    let usage = |db: &Db| {
        let text = db.property("leveldb.approximate-memory-usage").expect("a property");
        text.parse::<usize>().expect("a number")
    };
    let mut count = 0_u32;
    while usage(&db) <= 64 << 10 {
        count += 1;
        db.put(&count.to_be_bytes(), &[b'v'; 60], false).expect("written");
    }
    let limit = usage(&db);
    db.put(b"one more", b"v", false).expect("written");
    assert_eq!(usage(&db), limit, "memory is counted in blocks, and one has just begun");
    let files = vfs.snapshot();
    for (write_buffer_size, tables) in [(limit, "1"), (limit - 1, "2")] {
        let options = Options { write_buffer_size, ..options.clone() };
        let db = Db::open(Arc::new(MemoryVfs::of(files.clone())), options).expect("it opens");
        let found = db.property("leveldb.num-files-at-level0").expect("a property");
        assert_eq!(found, tables, "a buffer of {write_buffer_size} B");
    }
}

/// A full memtable takes memory until it is a table.
#[test]
fn memory_in_use_includes_the_full_memtable() {
    let options = Options { background: Background::Steps, ..option_sets()[0].clone() };
    let mut db = Db::open(Arc::new(MemoryVfs::new()), options).expect("it opens");
    let usage = |db: &Db| {
        let text = db.property("leveldb.approximate-memory-usage").expect("a property");
        text.parse::<usize>().expect("a number")
    };
    let (mut before, mut count) = (0, 0_u32);
    while !db.has_work() {
        before = usage(&db);
        count += 1;
        db.put(&count.to_be_bytes(), &[b'v'; 500], false).expect("written");
    }
    assert!(before > 64 << 10 && usage(&db) > before, "{before}, then {}", usage(&db));
    let behind = usage(&db) - before;
    db.settle().expect("flushed");
    assert_eq!(usage(&db), behind);
}

/// Without a sync between logs, a synced write still makes everything written before it durable, including what is in
/// the previous log; and as long as nothing is synced, no log is.
#[test]
fn a_synced_write_covers_the_log_before() {
    let background = Background::Steps;
    let options = Options { sync_logs: false, background, ..option_sets()[0].clone() };
    for sync in [false, true] {
        let vfs = FaultVfs::new();
        let mut db = Db::open(Arc::new(vfs.clone()), options.clone()).expect("it opens");
        for i in 0..80_u32 {
            db.put(&i.to_be_bytes(), &[i as u8; 1000], false).expect("written");
        }
        let logs = vfs.files().snapshot().into_keys().filter(|n| n.ends_with(".log")).count();
        assert_eq!(logs, 2, "the full memtable waits for a step");
        db.put(b"last", b"1", sync).expect("written");
        let left = Arc::new(vfs.crash(Reset::DropUnsynced));
        let db = Db::open(left, options.clone()).expect("it opens");
        let found = pairs(db.iter(CHECKED, None).expect("an iterator")).expect("a scan");
        assert_eq!(found.len(), if sync { 81 } else { 0 });
    }
}
