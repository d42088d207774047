//! Which tables compactions read and write, in cases where a wrong choice shows only in large stores.

use crate::rig::{CHECKED, option_sets};
use ssd_kv::vfs::MemoryVfs;
use ssd_kv::{Db, Options, WriteBatch, dump};
use std::sync::Arc;

fn opened(vfs: &MemoryVfs) -> Db {
    Db::open(Arc::new(vfs.clone()), option_sets()[0].clone()).expect("it opens")
}

/// Read views keep so many versions of one key that they fill several tables of a level, too many to go down together:
/// those that go down take the older ones along.
#[test]
fn versions_of_a_key_stay_in_order() {
    let mut db = opened(&MemoryVfs::new());
    let mut views = Vec::new();
    for i in 0..200_u8 {
        let value = vec![i; 200_000];
        db.put(b"key", &value, false).expect("written");
        views.push((db.read_view(), i));
        let found = db.get(b"key", CHECKED, None).expect("read").expect("a value");
        assert_eq!(found[0], i, "an older version is found: {:?}", db.tables_per_level());
    }
    let deep = db.tables_per_level();
    assert!(deep[2] > 15, "more than one compaction takes lie below: {deep:?}");
    for (view, i) in &views {
        let found = db.get(b"key", CHECKED, Some(view)).expect("read").expect("a value");
        assert_eq!((found.len(), found[0]), (200_000, *i));
    }
    db.verify().expect("whole");
}

/// A few keys far apart, above a large level: tables are made small, so that none overlaps much of it, and what is
/// flushed stays above.
#[test]
fn tables_overlap_little_of_the_level_after_the_next() {
    let mut db = opened(&MemoryVfs::new());
    let key = |i: u32| format!("{i:08}").into_bytes();
    for i in 0..26_000 {
        db.put(&key(i), &[1; 1000], false).expect("written");
    }
    db.compact_range(None, None).expect("compacted");
    let below = db.tables_per_level();
    assert!(below[..2] == [0, 0] && below[2] > 22, "{below:?}");
    for round in 0..40 {
        for i in (0..26_000).step_by(1000) {
            db.put(&key(i), &[round; 2000], false).expect("written");
        }
        let now = db.tables_per_level();
        assert_eq!(now[2], below[2], "round {round}: {now:?}");
        if now[1] > 0 {
            break;
        }
    }
    let tables = db.tables_per_level();
    assert!((2..=4).contains(&tables[1]), "26 MB lie below, at most 10 under a table: {tables:?}");
}

/// The position at which a level continues is known after opening.
#[test]
fn compactions_go_on_where_they_were() {
    let vfs = MemoryVfs::new();
    let mut db = opened(&vfs);
    for i in 0..2000_u32 {
        db.put(&(i * 7919 % 2000).to_be_bytes(), &[1; 1000], false).expect("written");
    }
    assert_eq!(db.stats().levels[1].compactions, 10, "{:?}", db.stats());
    drop(db);
    drop(opened(&vfs));
    let files = vfs.snapshot();
    let manifest = files.keys().find(|n| n.starts_with("MANIFEST")).expect("a manifest");
    let mut lines = Vec::new();
    dump(Arc::new(vfs), manifest, &mut |line| {
        lines.push(line);
        Ok(())
    })
    .expect("a manifest");
    assert!(lines.iter().any(|l| l.starts_with("level 0 goes on after ")), "{lines:?}");
}

/// Compactions of a level go through its keys in order and start over after the largest.
#[test]
fn compactions_of_a_level_take_turns() {
    let vfs = MemoryVfs::new();
    let mut db = opened(&vfs);
    for i in 0..45_000 {
        let key = format!("{:08}", i * 7919 % 45_000);
        db.put(key.as_bytes(), &[1; 1000], false).expect("written");
    }
    drop(db);
    let files = vfs.snapshot();
    let manifest = files.keys().find(|name| name.starts_with("MANIFEST")).expect("a manifest");
    let mut ends = Vec::new();
    dump(Arc::new(vfs), manifest, &mut |line| {
        ends.extend(line.strip_prefix("level 1 goes on after ").map(str::to_owned));
        Ok(())
    })
    .expect("a manifest");
    ends.dedup();
    let mut sorted = ends.clone();
    sorted.sort_unstable();
    let begins: Vec<&String> = ends.windows(2).filter(|p| p[1] < p[0]).map(|p| &p[1]).collect();
    assert!(!begins.is_empty() && ends.len() > 20, "{ends:?}");
    assert!(
        begins.iter().all(|begin| **begin < sorted[sorted.len() / 2]),
        "{begins:?} of {ends:?}"
    );
}

/// A table that a hundred reads have searched in vain is compacted.
#[test]
fn reads_in_vain_make_a_table_go_down() {
    let vfs = MemoryVfs::new();
    for keys in [["a", "m", "z"], ["a", "b", "z"]] {
        let mut db = opened(&vfs);
        for key in keys {
            db.put(key.as_bytes(), b"value", false).expect("written");
        }
    }
    let mut db = opened(&vfs);
    assert_eq!(db.tables_per_level()[..3], [2, 0, 0]);
    let get = |key: &str| {
        db.get(key.as_bytes(), CHECKED, None).expect("read").expect("a value");
        db.has_work()
    };
    assert!((0..300).all(|_| !get("a")), "the first look finds it");
    let gets = (1..300).find(|_| get("m"));
    assert_eq!(gets, Some(100));
    db.settle().expect("compacted");
    assert_eq!(db.tables_per_level()[..3], [0, 1, 0]);
}

/// Two tables of level 0 with the same three keys, and the options to open them.
fn two_tables(length: usize) -> (MemoryVfs, Options) {
    let vfs = MemoryVfs::new();
    let options = Options { write_buffer_size: 16 << 20, ..option_sets()[0].clone() };
    for _ in 0..2 {
        let mut db = Db::open(Arc::new(vfs.clone()), options.clone()).expect("it opens");
        for key in ["a", "m", "z"] {
            db.put(key.as_bytes(), &vec![b'v'; length], false).expect("written");
        }
    }
    (vfs, options)
}

/// A read that finds nothing has searched the first table in vain, too.
#[test]
fn reads_that_find_nothing_count() {
    let (vfs, options) = two_tables(10);
    let db = Db::open(Arc::new(vfs), options).expect("it opens");
    assert_eq!(db.tables_per_level()[..2], [2, 0]);
    let gets = (1..300).find(|_| {
        assert_eq!(db.get(b"b", CHECKED, None).expect("read"), None);
        db.has_work()
    });
    assert_eq!(gets, Some(100));
}

/// Iterators count as a read for each MiB or so that they pass, in both directions: a hundred of them make a table go
/// down.
#[test]
fn scans_in_either_direction_make_a_table_go_down() {
    for forward in [true, false] {
        let (vfs, options) = two_tables(300_000);
        let db = Db::open(Arc::new(vfs), options).expect("it opens");
        let mut iter = db.iter(CHECKED, None).expect("an iterator");
        // 1.8 MB per scan; backwards, an entry is read again where a key ends.
        let scans = (1..300).find(|_| {
            if forward { iter.seek_to_first() } else { iter.seek_to_last() }.expect("read");
            while iter.valid() {
                if forward { iter.next() } else { iter.prev() }.expect("read");
            }
            db.has_work()
        });
        let most = if forward { 60..=70 } else { 45..=60 };
        assert!(scans.is_some_and(|scans| most.contains(&scans)), "{forward}: {scans:?}");
    }
}

/// As in LevelDB, a level is listed if it has tables, or has had some.
#[test]
fn statistics_list_a_level_that_was_emptied() {
    let mut db = opened(&MemoryVfs::new());
    for _ in 0..2 {
        db.put(b"key", b"value", false).expect("written");
        db.put(b"other", b"value", false).expect("written");
        db.compact_range(None, None).expect("compacted");
    }
    // The first table sank to level 2; the second one stayed above it, and was then merged with it.
    assert_eq!(db.tables_per_level()[..3], [0, 0, 1]);
    let text = db.property("leveldb.stats").expect("a property");
    let lines: Vec<&str> = text.lines().skip(3).collect();
    let expected = [
        "  1        0        0         0        0         0",
        "  2        1        0         0        0         0",
    ];
    assert_eq!(lines, expected);
}

/// A compaction takes along the neighbours that overlap no further table below, unless all its tables, including those
/// below, reach the size of 25 tables.
#[test]
fn a_compaction_with_much_below_takes_no_neighbours_along() {
    for (below, neighbours) in [(24 << 20, 0), (25 << 20, 1)] {
        let vfs = MemoryVfs::new();
        let mut db = opened(&vfs);
        let mut wide = WriteBatch::new();
        wide.put(b"a", &vec![1; below]);
        wide.put(b"z", b"value");
        db.write(&wide, false).expect("written");
        db.compact_range(None, None).expect("compacted");
        assert_eq!(db.tables_per_level()[..3], [0, 0, 1]);
        drop(db);
        // Each opening writes a table of level 0; of four, one goes down.
        for keys in [["b", "c"], ["d", "e"], ["f", "g"], ["h", "i"], ["j", "k"]] {
            let mut db = opened(&vfs);
            for key in keys {
                db.put(key.as_bytes(), b"value", false).expect("written");
            }
        }
        let mut db = opened(&vfs);
        db.settle().expect("compacted");
        assert_eq!(db.tables_per_level()[..3], [3, 2, 1]);
        db.compact_range(Some(b"b"), Some(b"c")).expect("compacted");
        assert_eq!(db.tables_per_level()[..3], [3, neighbours, 2], "{below} bytes below");
    }
}

/// What overlaps nothing of the next level goes down unchanged, however little is below that.
#[test]
fn a_table_with_little_below_goes_down_as_it_is() {
    let vfs = MemoryVfs::new();
    let mut db = opened(&vfs);
    for key in ["a", "b", "z"] {
        db.put(key.as_bytes(), b"value", false).expect("written");
    }
    db.compact_range(None, None).expect("compacted");
    for key in ["a", "z"] {
        db.put(key.as_bytes(), b"newer", false).expect("written");
    }
    drop(db);
    let mut db = opened(&vfs);
    assert_eq!(db.tables_per_level()[..3], [1, 0, 1]);
    let names = |vfs: &MemoryVfs| {
        let names = vfs.snapshot().into_keys().filter(|name| name.ends_with(".ldb"));
        names.collect::<Vec<_>>()
    };
    let before = names(&vfs);
    for _ in 0..100 {
        db.get(b"b", CHECKED, None).expect("read").expect("a value");
    }
    db.settle().expect("moved");
    assert_eq!(db.tables_per_level()[..3], [0, 1, 1]);
    assert_eq!((names(&vfs), db.stats().levels[1].compactions), (before, 0));
}
