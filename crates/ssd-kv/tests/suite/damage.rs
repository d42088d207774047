//! Damaged files: an error or the right answer, never a wrong one, a panic or an endless loop.

use crate::cases::cases;
use crate::rig::{CHECKED, Map, option_sets, pairs};
use proptest::prelude::*;
use ssd_core::rng::Stream;
use ssd_kv::vfs::MemoryVfs;
use ssd_kv::{Db, Options, ReadOptions, Result, WriteBatch, dump, repair};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A small store with a log, a manifest and tables, and all states that it ever had.
fn sample(options: &Options) -> (BTreeMap<String, Vec<u8>>, Vec<Map>) {
    let vfs = MemoryVfs::new();
    let mut db = Db::open(Arc::new(vfs.clone()), options.clone()).expect("it opens");
    let mut random = Stream::new(2, "sample");
    let mut model = Map::new();
    let mut states = Vec::new();
    for i in 0..60 {
        let mut batch = WriteBatch::new();
        let key = format!("key{:03}", random.below(50)).into_bytes();
        let value = vec![b'a' + (i % 26) as u8; random.below(60) as usize];
        batch.put(&key, &value);
        model.insert(key, value);
        db.write(&batch, false).expect("written");
        states.push(model.clone());
        if i % 25 == 24 {
            db.compact_range(None, None).expect("compacted");
        }
    }
    for i in 0..3 {
        let key = format!("key{i:03}").into_bytes();
        db.delete(&key, false).expect("deleted");
        model.remove(&key);
        states.push(model.clone());
    }
    (vfs.snapshot(), states)
}

/// All pairs of the store in these files, after everything has been checked.
fn read_all(files: BTreeMap<String, Vec<u8>>, options: &Options) -> Result<Map> {
    let mut db = Db::open(Arc::new(MemoryVfs::of(files)), options.clone())?;
    db.verify()?;
    let found = pairs(db.iter(CHECKED, None)?)?;
    for (key, value) in &found {
        assert_eq!(db.get(key, CHECKED, None)?.as_ref(), Some(value), "get and scan differ");
    }
    db.compact_range(None, None)?;
    assert!(pairs(db.iter(CHECKED, None)?)? == found, "a compaction changes what is found");
    Ok(found)
}

#[test]
fn every_byte_flipped() {
    for options in &option_sets()[..2] {
        let (files, states) = sample(options);
        let last = states.last().expect("a state");
        let (mut right, mut refused, mut shorter) = (0, 0, 0);
        for (name, data) in &files {
            // The last record of a log cannot be distinguished from one torn by a crash.
            let may_be_torn = name.ends_with(".log");
            for at in 0..data.len() {
                for bit in [1_u8, 0x80] {
                    let mut damaged = files.clone();
                    damaged.get_mut(name).expect("a file")[at] ^= bit;
                    match read_all(damaged, options) {
                        Err(_) => refused += 1,
                        Ok(found) if found == *last => right += 1,
                        Ok(found) => {
                            let one_before = &states[states.len() - 2];
                            assert!(may_be_torn && found == *one_before, "{name}, byte {at}");
                            shorter += 1;
                        }
                    }
                }
            }
        }
        assert!(refused > 10 * right && refused > 100 * shorter, "{refused} {right} {shorter}");
    }
}

/// Without any check of checksums a value may be wrong; nothing worse may happen.
#[test]
fn unchecked_reads_do_not_panic() {
    let options = Options { paranoid_checks: false, ..option_sets()[1].clone() };
    let (files, _) = sample(&option_sets()[1]);
    for (name, data) in files.iter().filter(|(n, _)| n.ends_with(".ldb")) {
        for at in 0..data.len() {
            let mut damaged = files.clone();
            damaged.get_mut(name).expect("a file")[at] ^= 1 << (at % 8);
            let Ok(mut db) = Db::open(Arc::new(MemoryVfs::of(damaged)), options.clone()) else {
                continue;
            };
            let unchecked = ssd_kv::ReadOptions::default();
            let _ = db.iter(unchecked, None).and_then(pairs);
            for i in 0..50 {
                let _ = db.get(format!("key{i:03}").as_bytes(), unchecked, None);
            }
            let _ = db.approximate_size(b"key", b"kez");
            let _ = db.compact_range(None, None);
        }
    }
}

/// Files cut at every length, as a crash or a full disk may leave them.
#[test]
fn every_file_cut() {
    let options = &option_sets()[0];
    let (files, states) = sample(options);
    for (name, data) in &files {
        for length in 0..data.len() {
            let mut cut = files.clone();
            cut.get_mut(name).expect("a file").truncate(length);
            match read_all(cut, options) {
                Err(_) => {}
                Ok(found) => assert!(
                    name.ends_with(".log") && states.contains(&found),
                    "{name} cut to {length}"
                ),
            }
        }
    }
    for name in files.keys().filter(|n| *n != "LOCK" && *n != "CURRENT") {
        let mut gone = files.clone();
        gone.remove(name);
        assert!(read_all(gone, options).is_err(), "{name} is missing and nobody says so");
    }
}

/// Repair finds everything that is left, and the store that it writes is sound.
#[test]
fn repair_keeps_what_can_be_read() {
    let options = &option_sets()[1];
    let (files, states) = sample(options);
    let last = states.last().expect("a state");
    let repaired = |files: BTreeMap<String, Vec<u8>>| {
        let vfs = Arc::new(MemoryVfs::of(files));
        let report = repair(vfs.clone(), options).expect("repaired");
        let db = Db::open(vfs, options.clone()).expect("it opens");
        db.verify().expect("whole");
        (report, pairs(db.iter(CHECKED, None).expect("an iterator")).expect("a scan"))
    };
    let without = |pattern: &str| {
        files.clone().into_iter().filter(|(n, _)| !n.contains(pattern)).collect::<BTreeMap<_, _>>()
    };
    for pattern in ["none", "CURRENT", "MANIFEST"] {
        let (report, found) = repaired(without(pattern));
        assert!(found == *last, "without {pattern}");
        assert_eq!((report.pairs, report.lost.len()), (last.len() as u64, 0));
    }
    for (name, data) in files.iter().filter(|(n, _)| n.ends_with(".ldb")) {
        for at in (0..data.len()).step_by(7) {
            let mut damaged = files.clone();
            damaged.get_mut(name).expect("a file")[at] ^= 4;
            let (report, found) = repaired(damaged);
            let right = found.iter().all(|(k, v)| states.iter().any(|s| s.get(k) == Some(v)));
            assert!(right, "{name}, byte {at}: a pair that never was");
            assert!(found == *last || !report.lost.is_empty(), "{name}, byte {at}: lost silently");
        }
    }
}

/// The masked checksum that the format keeps.
fn checksum(bytes: &[u8]) -> [u8; 4] {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

/// A block whose keys are out of order, although its checksum is right, is the only one lost.
#[test]
fn repair_leaves_out_a_block_in_disorder() {
    let vfs = MemoryVfs::new();
    let options = Options { block_size: 1 << 10, ..option_sets()[0].clone() };
    let mut db = Db::open(Arc::new(vfs.clone()), options.clone()).expect("it opens");
    for i in 0..100_u8 {
        db.put(&[i], &[i; 100], false).expect("written");
    }
    db.compact_range(None, None).expect("compacted");
    drop(db);
    let mut files = vfs.snapshot();
    let name = files.keys().find(|n| n.ends_with(".ldb")).cloned().expect("a table");
    let table = files.get_mut(&name).expect("a table");
    let is_end = |&end: &usize| table[end + 1..end + 5] == checksum(&table[..=end]);
    let end = (8..table.len() - 5).find(is_end).expect("a block");
    // The key of the second entry, behind the first one and three lengths.
    let second = 3 + 9 + 100 + 3;
    assert_eq!(table[second], 1);
    table[second] = 99;
    let right = checksum(&table[..=end]);
    table[end + 1..end + 5].copy_from_slice(&right);
    let vfs = Arc::new(MemoryVfs::of(files));
    let report = repair(vfs.clone(), &options).expect("repaired");
    assert_eq!(report.lost.len(), 1, "{:?}", report.lost);
    assert!(report.lost[0].starts_with(&format!("{name}: damaged at offset 0: keys out of order")));
    assert!(report.pairs > 80, "{}", report.pairs);
    Db::open(vfs, options).expect("it opens").verify().expect("whole");
}

/// A store with a damaged block can be opened and read, although a due compaction fails on it.
#[test]
fn a_compaction_that_fails_leaves_the_store_open() {
    let vfs = MemoryVfs::new();
    let options = Options { paranoid_checks: false, ..option_sets()[3].clone() };
    let mut db = Db::open(Arc::new(vfs.clone()), options.clone()).expect("it opens");
    for i in (0..50_u32).cycle() {
        db.put(&i.to_be_bytes(), &[i as u8; 1000], false).expect("written");
        while db.tables_per_level()[0] < 4 && db.step().expect("a step") {}
        if db.tables_per_level()[0] == 4 {
            break;
        }
    }
    assert!(db.has_work(), "a compaction is due");
    drop(db);
    let mut files = vfs.snapshot();
    let table = files.iter_mut().rfind(|(n, _)| n.ends_with(".ldb")).expect("a table").1;
    table[1000] ^= 1;
    let options = Options { background: ssd_kv::Background::Eager, ..options };
    let mut db = Db::open(Arc::new(MemoryVfs::of(files)), options).expect("it opens");
    assert!(pairs(db.iter(ReadOptions::default(), None).expect("an iterator")).is_ok());
    let error = db.put(b"k", b"v", false).expect_err("it takes no writes").to_string();
    assert!(error.contains("block checksum mismatch (reopen it to recover)"), "{error}");
}

proptest! {
    #![proptest_config(cases(300, 94))]

    /// Bytes that are no table, manifest or log, some with a right beginning or end.
    #[test]
    fn any_bytes(
        file in 0_usize..5,
        place in any::<prop::sample::Index>(),
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        keep_rest in any::<bool>(),
    ) {
        let options = option_sets().swap_remove(1);
        let (files, _) = sample(&options);
        let names: Vec<String> = files.keys().filter(|n| *n != "LOCK").cloned().collect();
        let name = &names[file % names.len()];
        let mut damaged = files.clone();
        let data = damaged.get_mut(name).expect("a file");
        let at = place.index(data.len() + 1);
        let end = if keep_rest { (at + bytes.len()).min(data.len()) } else { data.len() };
        data.splice(at..end, bytes);
        let _ = read_all(damaged.clone(), &options);
        let tolerant = Options { paranoid_checks: false, ..options.clone() };
        let _ = read_all(damaged.clone(), &tolerant);
        let vfs = Arc::new(MemoryVfs::of(damaged));
        let _ = dump(vfs.clone(), name, &mut |_| Ok(()));
        let _ = repair(vfs, &options);
    }
}
