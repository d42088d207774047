//! Entries and blocks of tables: lengths on both sides of a byte's seven bits, and what is compressed.

use crate::rig::{CHECKED, Map, assert_equal, option_sets};
use ssd_core::rng::Stream;
use ssd_kv::vfs::{FaultVfs, Faults, MemoryVfs};
use ssd_kv::{Compression, Db, Options, dump};
use std::sync::Arc;

/// Shared and unshared bytes of keys, and bytes of values, in every combination of lengths that take one or two bytes.
#[test]
fn lengths_of_one_and_of_two_bytes_are_read() {
    let lengths = [0, 1, 100, 119, 120, 127, 128, 129, 200, 300];
    let mut db = Db::open(Arc::new(MemoryVfs::new()), option_sets().remove(0)).expect("it opens");
    let mut model = Map::new();
    for (i, shared) in (0_u8..).zip(lengths) {
        for (j, unshared) in (0_u8..).zip(lengths) {
            for (k, bytes) in (0_u8..).zip(lengths) {
                let key = [&vec![i; shared][..], &[j, k], &vec![7; unshared]].concat();
                model.insert(key, vec![k; bytes]);
            }
        }
    }
    for (key, value) in &model {
        db.put(key, value, false).expect("written");
    }
    db.compact_range(None, None).expect("compacted");
    assert_equal(&db, &model, None);
    for (key, value) in &model {
        assert_eq!(db.get(key, CHECKED, None).expect("read").as_ref(), Some(value));
    }
}

/// As in LevelDB, a block is left uncompressed unless that saves an eighth of it.
#[test]
fn blocks_are_compressed_where_that_saves_an_eighth() {
    let mut random = Stream::new(3, "an eighth");
    for (zeros, is_compressed) in [(0, false), (400, false), (700, true), (4000, true)] {
        let vfs = MemoryVfs::new();
        let options = Options { compression: Compression::Snappy, ..option_sets().remove(0) };
        let mut db = Db::open(Arc::new(vfs.clone()), options).expect("it opens");
        let mut value: Vec<u8> = (0..4000).map(|_| random.bits() as u8).collect();
        value[..zeros].fill(0);
        db.put(b"k", &value, false).expect("written");
        db.compact_range(None, None).expect("compacted");
        drop(db);
        let files = vfs.snapshot();
        let name = files.keys().find(|name| name.ends_with(".ldb")).expect("a table");
        let mut lines = Vec::new();
        let mut note = |line| {
            lines.push(line);
            Ok(())
        };
        dump(Arc::new(vfs), name, &mut note).expect("a table");
        // Three lengths in four bytes, the key and its tag, the value, one restart and their number.
        let raw = 4 + 9 + 4000 + 4 + 4;
        let as_it_is = format!("--- block at 0 of {raw} bytes");
        assert_eq!(lines[0] != as_it_is, is_compressed, "{zeros} zeros: {}", lines[0]);
    }
}

/// Small appends are buffered up to 64 KiB: a table takes few calls, and is never held in memory.
#[test]
fn tables_are_written_in_parts_of_64_kib() {
    let calls = |pairs: u32| {
        let vfs = FaultVfs::new();
        let options = Options { write_buffer_size: 4 << 20, ..option_sets().remove(0) };
        let mut db = Db::open(Arc::new(vfs.clone()), options).expect("it opens");
        for i in 0..pairs {
            db.put(&i.to_be_bytes(), &[7; 1000], false).expect("written");
        }
        vfs.inject(Faults::None);
        db.compact_range(None, None).expect("compacted");
        vfs.calls()
    };
    // A block of 5 pairs has about 5,080 B, so 12 blocks fit: 128 blocks take 11 parts.
    assert_eq!(calls(640) - calls(1), 10);
}
