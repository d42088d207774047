//! What a repair keeps of damaged logs and tables: everything that the damage did not hit, and nothing else.

use crate::rig::{CHECKED, Map, option_sets, pairs};
use ssd_kv::vfs::{MemoryVfs, PosixVfs};
use ssd_kv::{Background, Db, Options, RepairResult, WriteBatch, repair};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const BLOCK: usize = 32 << 10;

type Directory = BTreeMap<String, Vec<u8>>;

/// A store that stays one log, and the name of the log.
fn logged(batches: &[Vec<(Vec<u8>, Vec<u8>)>]) -> (Directory, String) {
    let vfs = MemoryVfs::new();
    let options = Options { write_buffer_size: 1 << 24, ..option_sets()[0].clone() };
    let mut db = Db::open(Arc::new(vfs.clone()), options).expect("it opens");
    for changes in batches {
        let mut batch = WriteBatch::new();
        changes.iter().for_each(|(key, value)| batch.put(key, value));
        db.write(&batch, false).expect("written");
    }
    let files = vfs.snapshot();
    let log = files.keys().find(|n| n.ends_with(".log")).cloned().expect("a log");
    (files, log)
}

fn repaired(files: Directory, options: &Options) -> (RepairResult, Map) {
    let vfs = Arc::new(MemoryVfs::of(files));
    let report = repair(vfs.clone(), options).expect("repaired");
    let db = Db::open(vfs, options.clone()).expect("it opens");
    db.verify().expect("whole");
    (report, pairs(db.iter(CHECKED, None).expect("an iterator")).expect("a scan"))
}

/// Batches of one to four pairs, some as long as several blocks; no key occurs twice.
fn batches() -> Vec<Vec<(Vec<u8>, Vec<u8>)>> {
    let pair = |i: usize, n: usize| {
        let length = if i % 60 == 7 { 40_000 } else { i * 37 % 190 };
        (format!("{i:05}.{n}").into_bytes(), vec![b'a' + (i % 26) as u8; length])
    };
    (0..400).map(|i| (0..=i % 4).map(|n| pair(i, n)).collect()).collect()
}

/// Where the records of a log begin and end, found by writing one batch after the other.
fn extents(batches: &[Vec<(Vec<u8>, Vec<u8>)>]) -> Vec<(usize, usize)> {
    let vfs = MemoryVfs::new();
    let options = Options { write_buffer_size: 1 << 24, ..option_sets()[0].clone() };
    let mut db = Db::open(Arc::new(vfs.clone()), options).expect("it opens");
    let mut before = 0;
    let mut found = Vec::new();
    for changes in batches {
        let mut batch = WriteBatch::new();
        changes.iter().for_each(|(key, value)| batch.put(key, value));
        db.write(&batch, false).expect("written");
        let (_, log) =
            vfs.snapshot().into_iter().find(|(n, _)| n.ends_with(".log")).expect("a log");
        found.push((before, log.len()));
        before = log.len();
    }
    found
}

/// One damaged byte of a log costs the record that contains it, and no other.
#[test]
fn a_damaged_byte_costs_one_record() {
    let batches = batches();
    let (files, log) = logged(&batches);
    let extents = extents(&batches);
    let all: Map = batches.iter().flatten().cloned().collect();
    let length = files[&log].len();
    assert!(length > 8 * BLOCK && extents.last().expect("a record").1 == length);
    // All bytes near the heads of records, and some of the values.
    let is_near_head =
        |at: usize| extents.iter().any(|(start, _)| (*start..start + 24).contains(&at));
    let mut random = ssd_core::rng::Stream::new(1, "damage");
    for at in (0..length).filter(|at| at % 4099 == 0 || is_near_head(*at) && at % 37 == 0) {
        let mut damaged = files.clone();
        damaged.get_mut(&log).expect("the log")[at] ^= 1 << random.below(8);
        let (report, found) = repaired(damaged, &option_sets()[0]);
        let hit = extents.iter().position(|(start, end)| (*start..*end).contains(&at));
        let hit = hit.expect("every byte is of a record");
        let lost: Map = batches[hit].iter().cloned().collect();
        let left: Map = all
            .iter()
            .filter(|(k, _)| !lost.contains_key(*k))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        let is_padding = found == all && report.lost.is_empty();
        assert!(
            found == left || is_padding,
            "byte {at}: {} of {}: {:?}",
            found.len(),
            left.len(),
            report.lost
        );
        assert!(is_padding || !report.lost.is_empty(), "byte {at}: lost without a word");
    }
}

/// A whole record of a log, as somebody might put it into a value.
fn forged(sequence: u64, count: u32) -> Vec<u8> {
    let mut payload = [&sequence.to_le_bytes()[..], &count.to_le_bytes()].concat();
    for i in 0..count {
        payload.extend_from_slice(&[1, 6]);
        payload.extend_from_slice(format!("FORGE{i}").as_bytes());
        payload.extend_from_slice(&[1, b'!']);
    }
    let crc = crc32c::crc32c_append(crc32c::crc32c(&[1]), &payload);
    let masked = crc.rotate_right(15).wrapping_add(0xa282_ead8);
    let length = (payload.len() as u16).to_le_bytes();
    [&masked.to_le_bytes()[..], &length, &[1], &payload].concat()
}

/// Damage of a record at `start` of `length` bytes, in a value that contains a forged record at `inner`.
fn attacks(log: &[u8], start: usize, length: usize, inner: usize) -> Vec<(&'static str, Vec<u8>)> {
    let with = |what, change: &dyn Fn(&mut Vec<u8>)| {
        let mut log = log.to_vec();
        change(&mut log);
        (what, log)
    };
    let to_inner = ((inner - start - 7) as u16).to_le_bytes();
    let last_of_block = (start / BLOCK + 1) * BLOCK;
    vec![
        with("its checksum", &|l| l[start] ^= 1),
        with("a byte of its value", &|l| l[inner - 1] ^= 1),
        with("its length leads to the forged one", &|l| {
            l[start + 4..start + 6].copy_from_slice(&to_inner);
        }),
        with("its length is nonsense", &|l| l[start + 4..start + 6].fill(0xff)),
        with("its header is zeros", &|l| l[start..start + 7].fill(0)),
        with("its header and that of its batch are zeros", &|l| l[start..start + 19].fill(0)),
        with("all before the forged one is zeros", &|l| l[start..inner].fill(0)),
        with("all before the forged one is nonsense", &|l| l[start..inner].fill(0xa5)),
        with("its kind", &|l| l[start + 6] ^= 2),
        with("its count", &|l| l[start + 15] ^= 3),
        with("its sequence number", &|l| l[start + 7] ^= 0x10),
        with("the next record is hit, too", &|l| {
            l[start] ^= 1;
            if start + length + 9 < l.len().min(last_of_block) {
                l[start + length + 9] ^= 1;
            }
        }),
    ]
}

/// A record inside a value is never taken for one, whatever its sequence number.
#[test]
fn a_record_in_a_value_stays_a_value() {
    let before: Vec<_> =
        (0..20_u32).map(|i| vec![(i.to_be_bytes().to_vec(), vec![7; 50])]).collect();
    let after: Vec<_> =
        (100..130_u32).map(|i| vec![(i.to_be_bytes().to_vec(), vec![8; 50])]).collect();
    let mut kept = 0;
    // The record that holds it has the sequence numbers from 21 on.
    for (changes, sequence, count, followed) in (1..4)
        .flat_map(|changes| (19..26).map(move |sequence| (changes, sequence)))
        .flat_map(|(c, s)| (1..4).flat_map(move |n| [true, false].map(|f| (c, s, n, f))))
    {
        let inner = forged(sequence, count);
        let mut holder = vec![(b"holder".to_vec(), [&[b'.'; 9][..], &inner].concat())];
        (1..changes).for_each(|i| holder.insert(0, (vec![b'h', i], vec![9; 20])));
        let batches =
            [before.clone(), vec![holder.clone()], if followed { after.clone() } else { vec![] }];
        let batches = batches.concat();
        let (files, log) = logged(&batches);
        let (start, end) = extents(&batches)[before.len()];
        let place = files[&log].windows(inner.len()).position(|w| w == inner).expect("it is there");
        for (what, damaged) in attacks(&files[&log], start, end - start, place) {
            let mut files = files.clone();
            files.insert(log.clone(), damaged);
            let (_, found) = repaired(files, &option_sets()[0]);
            let what =
                format!("{what}; {changes} changes, forged {sequence} + {count}, {followed}");
            assert!(!found.keys().any(|key| key.starts_with(b"FORGE")), "{what}");
            let all: Map = batches.iter().flatten().cloned().collect();
            assert!(found.iter().all(|(key, value)| all.get(key) == Some(value)), "{what}");
            assert!(found.len() >= before.len(), "{what}");
            kept += usize::from(followed && found.len() >= before.len() + after.len());
        }
    }
    assert!(kept > 500, "most damage costs one record: {kept}");
}

/// Tables of many blocks, of which each has several restarts.
fn table_options() -> Options {
    Options { block_size: 1 << 10, block_restart_interval: 4, ..option_sets()[1].clone() }
}

fn tabled(options: &Options) -> (Directory, Map, String) {
    let vfs = MemoryVfs::new();
    let mut db = Db::open(Arc::new(vfs.clone()), options.clone()).expect("it opens");
    let mut model = Map::new();
    for i in 0..400_u32 {
        let (key, value) = (i.to_be_bytes().to_vec(), vec![i as u8; 60]);
        db.put(&key, &value, false).expect("written");
        model.insert(key, value);
    }
    db.compact_range(None, None).expect("compacted");
    drop(db);
    let files = vfs.snapshot();
    let name = files.keys().find(|n| n.ends_with(".ldb")).cloned().expect("a table");
    (files, model, name)
}

/// Index, filter and what refers to them: a damaged byte there costs no pair.
#[test]
fn a_damaged_index_leads_to_its_blocks() {
    let options = Options { compression: ssd_kv::Compression::None, ..table_options() };
    let (files, model, name) = tabled(&options);
    let length = files[&name].len();
    // Handles in the footer are varints: the metaindex comes first, behind the filter.
    let footer = &files[&name][length - 48..];
    let varint =
        |at: usize| (usize::from(footer[at] & 0x7f) | usize::from(footer[at + 1]) << 7, at + 2);
    let metaindex = varint(0).0;
    let (mut whole, mut reported, mut tables) = (0, 0, 0);
    for at in (metaindex - 200..length - 48).chain(length - 48..length - 44) {
        let mut damaged = files.clone();
        damaged.get_mut(&name).expect("the table")[at] ^= 1;
        let (report, found) = repaired(damaged, &options);
        assert!(found.iter().all(|(key, value)| model.get(key) == Some(value)), "byte {at}");
        assert!(found == model || !report.lost.is_empty(), "byte {at}: lost without a word");
        whole += usize::from(found == model);
        reported += usize::from(!report.lost.is_empty());
        // Without its kind or the number of its restarts, an index is useless.
        tables += usize::from(model.len() - found.len() > 24);
    }
    assert!(whole > 3 * reported && tables <= 6, "{whole} {reported} {tables}");
}

/// A block whose checksum is right although one of its keys is not: other intervals are kept.
#[test]
fn a_bad_pair_costs_its_interval() {
    let options = Options { compression: ssd_kv::Compression::None, ..table_options() };
    let (files, model, name) = tabled(&options);
    let table = &files[&name];
    let checksum = |bytes: &[u8]| {
        crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
    };
    let end = (8..table.len() - 5).find(|&end| table[end + 1..end + 5] == checksum(&table[..=end]));
    let end = end.expect("a block");
    // A restart has a whole key: 12 bytes behind three lengths; the block's other keys share 3 bytes.
    let restart =
        table[..end].windows(7).position(|w| w == [0, 12, 60, 0, 0, 0, 4]).expect("a restart");
    for (place, byte, most) in [
        // The first key of an interval: too small, too large for those behind it, too large for all.
        (restart + 6, 0, 8),
        (restart + 6, 6, 4),
        (restart + 3, 9, 4),
        // The length of a value.
        (restart + 2, 0x7f, 4),
    ] {
        let mut damaged = files.clone();
        let table = damaged.get_mut(&name).expect("the table");
        table[place] = byte;
        let right = checksum(&table[..=end]);
        table[end + 1..end + 5].copy_from_slice(&right);
        let (report, found) = repaired(damaged, &options);
        assert!(!report.lost.is_empty(), "byte {place}: lost without a word");
        assert!(found.iter().all(|(key, value)| model.get(key) == Some(value)), "byte {place}");
        assert!(model.len() - found.len() <= most, "byte {place}: {:?}", report.lost);
    }
}

/// A key with a right checksum that belongs before the block: its interval is lost.
#[test]
fn a_key_below_its_block_costs_its_interval() {
    let options = Options { compression: ssd_kv::Compression::None, ..table_options() };
    let (mut files, model, name) = tabled(&options);
    let table = files.get_mut(&name).expect("the table");
    let checksum = |bytes: &[u8]| {
        crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
    };
    let end_of = |table: &[u8], begin: usize| {
        let is_end = |end: &usize| table[end + 1..end + 5] == checksum(&table[begin..=*end]);
        (begin + 8..table.len() - 5).find(is_end).expect("a block")
    };
    let begin = end_of(table, 0) + 5;
    let end = end_of(table, begin);
    assert_eq!(table[begin..begin + 6], [0, 12, 60, 0, 0, 0], "lengths, and a whole key");
    assert!(table[begin + 6] > 4);
    table[begin + 6] = 1;
    let right = checksum(&table[begin..=end]);
    table[end + 1..end + 5].copy_from_slice(&right);
    let (report, found) = repaired(files, &options);
    assert_eq!(report.lost.len(), 1, "{:?}", report.lost);
    assert!(found.iter().all(|(key, value)| model.get(key) == Some(value)));
    assert_eq!(model.len() - found.len(), 4);
}

/// A damaged filter is an error with `paranoid_checks`, and costs a search without.
#[test]
fn paranoid_checks_cover_filters() {
    let options = Options { compression: ssd_kv::Compression::None, ..table_options() };
    let (mut files, _, name) = tabled(&options);
    let table = files.get_mut(&name).expect("the table");
    let footer = &table[table.len() - 48..];
    let metaindex = usize::from(footer[0] & 0x7f) | usize::from(footer[1]) << 7;
    // The trailer of the filter, then where its offsets begin, and one bit more than every key needs.
    table[metaindex - 5] ^= 2;
    for paranoid_checks in [true, false] {
        let options = Options {
            paranoid_checks,
            read_only: true,
            create_if_missing: false,
            ..options.clone()
        };
        let vfs = Arc::new(MemoryVfs::of(files.clone()));
        let db = Db::open(vfs, options).expect("it opens");
        let found = db.get(&7_u32.to_be_bytes(), ssd_kv::ReadOptions::default(), None);
        match found {
            Ok(value) => assert!(!paranoid_checks && value == Some(vec![7; 60])),
            Err(error) => assert!(paranoid_checks, "{error}"),
        }
    }
}

/// Files that the manifest names are reported if they are missing, and so are gaps in the history.
#[test]
fn missing_files_are_reported() {
    let vfs = MemoryVfs::new();
    let options = Options { background: Background::Steps, ..option_sets()[0].clone() };
    let mut db = Db::open(Arc::new(vfs.clone()), options.clone()).expect("it opens");
    for i in 0..2100 {
        db.put(format!("{i:06}").as_bytes(), &[7; 60], false).expect("written");
    }
    drop(db);
    let files = vfs.snapshot();
    let mut names: Vec<&String> =
        files.keys().filter(|n| n.ends_with(".ldb") || n.ends_with(".log")).collect();
    assert!(
        names.iter().filter(|n| n.ends_with(".log")).count() == 2 && names.len() > 3,
        "{names:?}"
    );
    // Nothing names the last log while there is an older one.
    let newest = names.iter().rposition(|n| n.ends_with(".log")).expect("a log");
    names.remove(newest);
    assert!(repaired(files.clone(), &options).0.lost.is_empty());
    for name in names {
        let mut without = files.clone();
        without.remove(name);
        let error = Db::open(Arc::new(MemoryVfs::of(without.clone())), options.clone()).err();
        let error = error.expect("it is missing").to_string();
        assert!(
            error.contains(&format!("{name}: damaged at offset 0: the manifest names")),
            "{error}"
        );
        let (report, found) = repaired(without.clone(), &options);
        assert!(found.len() < 2100 && report.lost[0].contains("missing"), "{:?}", report.lost);
        // A manifest that is damaged after the part that names the tables still names them.
        let manifest = without.iter_mut().find(|(n, _)| n.starts_with("MANIFEST")).expect("one").1;
        manifest.extend_from_slice(&[1, 2, 3, 4, 1, 0, 1, 9]);
        let (report, _) = repaired(without, &options);
        let is_reported = report.lost.iter().any(|lost| lost.contains("missing"));
        assert!(is_reported || name.ends_with(".log"), "{name}: {:?}", report.lost);
    }
    // The beginning of the log is missing: nothing is damaged, but the numbers have a gap.
    let (batches, log_options) = (batches(), &option_sets()[0]);
    let (mut files, log) = logged(&batches);
    files.get_mut(&log).expect("the log").drain(..BLOCK);
    let (report, _) = repaired(files, log_options);
    assert!(
        report.lost.iter().any(|lost| lost.contains("missing") || lost.contains("begin")),
        "{report:?}"
    );
}

/// If a table that the manifest names is missing, tables that it does not name may not be left over: they may hold what
/// the missing one held.
#[test]
fn left_over_tables_stand_in_for_missing_ones() {
    let vfs = MemoryVfs::new();
    let options = Options { background: Background::Steps, ..option_sets()[0].clone() };
    let mut db = Db::open(Arc::new(vfs.clone()), options.clone()).expect("it opens");
    let mut model = Map::new();
    let mut put = |db: &mut Db, i: u32| {
        let (key, value) = (format!("{:06}", i % 5000).into_bytes(), vec![(i % 251) as u8; 60]);
        db.put(&key, &value, false).expect("written");
        model.insert(key, value);
    };
    (0..4000).for_each(|i| put(&mut db, i));
    db.compact_range(None, None).expect("compacted");
    let inputs = vfs.snapshot();
    (3000..4180).for_each(|i| put(&mut db, i));
    db.compact_range(None, None).expect("compacted");
    drop(db);
    let mut files = vfs.snapshot();
    let is_table = |name: &String| name.ends_with(".ldb");
    let missing = files.keys().rfind(|name| is_table(name)).cloned().expect("a table");
    files.remove(&missing);
    let left_over = inputs.into_iter().filter(|(name, _)| is_table(name));
    let before = files.len();
    files.extend(left_over);
    assert!(files.len() > before, "nothing is left over");
    let (report, found) = repaired(files, &options);
    assert!(report.lost[0].contains(&missing) && report.lost[0].contains("missing"), "{report:?}");
    assert!(found.len() >= 4000, "{} of {} pairs", found.len(), model.len());
    assert!((0..4000).all(|i| found.contains_key(format!("{i:06}").as_bytes())), "a pair is gone");
}

/// A repair asks about once per MiB whether to continue.
#[test]
fn a_repair_asks_whether_to_go_on() {
    let folder = std::env::temp_dir().join(format!("ssd-kv-asked-{}", std::process::id()));
    // An aborted run whose process had the same id may have left it.
    let _ = std::fs::remove_dir_all(&folder);
    let options = Options { write_buffer_size: 8 << 20, ..option_sets()[0].clone() };
    let mut db = Db::open(Arc::new(PosixVfs::new(&folder)), options.clone()).expect("it opens");
    for i in 0..4096_u32 {
        db.put(&i.to_be_bytes(), &[7; 1012], false).expect("written");
    }
    db.compact_range(None, None).expect("compacted");
    drop(db);
    let asked = Arc::new(AtomicU32::new(0));
    let count = asked.clone();
    let vfs = PosixVfs::new(&folder).asking(move || {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    let report = repair(Arc::new(vfs), &options).expect("repaired");
    std::fs::remove_dir_all(&folder).expect("removed");
    assert_eq!((report.pairs, report.lost), (4096, vec![]));
    // 4 MiB of tables are checked, then merged.
    assert_eq!(asked.load(Ordering::Relaxed), 8);
}
