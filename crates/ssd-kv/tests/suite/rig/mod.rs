//! Shared by the tests of the store: random keys and values, option sets, a model.

use ssd_core::rng::Stream;
use ssd_kv::{Compression, Db, DbIter, Options, ReadOptions, ReadView, WriteBatch};
use std::collections::BTreeMap;

pub(crate) type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// Reads with every check.
pub(crate) const CHECKED: ReadOptions = ReadOptions { verify_checksums: true, fill_cache: true };

/// Option sets that differ in everything that concerns files.
pub(crate) fn option_sets() -> Vec<Options> {
    let small = Options {
        create_if_missing: true,
        paranoid_checks: true,
        write_buffer_size: 64 << 10,
        max_file_size: 1 << 20,
        compression: Compression::None,
        ..Options::default()
    };
    vec![
        small.clone(),
        Options { compression: Compression::Snappy, bloom_bits_per_key: Some(10), ..small.clone() },
        Options {
            block_size: 1 << 10,
            block_restart_interval: 1,
            bloom_bits_per_key: Some(3),
            block_cache_size: 0,
            max_open_tables: 10,
            ..small.clone()
        },
        Options {
            block_size: 64 << 10,
            block_restart_interval: 100,
            background: ssd_kv::Background::Steps,
            ..small
        },
    ]
}

/// One of a small set of keys: short and long, with common beginnings and with bytes 0 and 255.
pub(crate) fn key(random: &mut Stream, keys: u64) -> Vec<u8> {
    let n = random.below(keys);
    match n % 7 {
        0 => format!("k{n}").into_bytes(),
        1 => vec![255; (n % 40) as usize],
        2 => [b"a long common beginning of keys ".as_slice(), &n.to_be_bytes()].concat(),
        3 => n.to_le_bytes().to_vec(),
        4 => vec![0; (n % 12) as usize],
        _ => format!("{n:016}").into_bytes(),
    }
}

/// A value: half of it compressible, rarely empty or long.
pub(crate) fn value(random: &mut Stream) -> Vec<u8> {
    let length = match random.below(50) {
        0 => 0,
        1 => 20_000,
        _ => random.below(400),
    };
    (0..length).map(|i| if i % 2 == 0 { random.bits() as u8 } else { b'x' }).collect()
}

/// All pairs, forwards.
pub(crate) fn pairs(mut iter: DbIter) -> ssd_kv::Result<Map> {
    let mut found = Map::new();
    iter.seek_to_first()?;
    while iter.valid() {
        found.insert(iter.key().to_vec(), iter.value().to_vec());
        iter.next()?;
    }
    Ok(found)
}

/// Check that store and model are equal: scans in both directions, and gets.
pub(crate) fn assert_equal(db: &Db, model: &Map, view: Option<&ReadView>) {
    let iter = db.iter(CHECKED, view).expect("an iterator");
    assert!(pairs(iter).expect("a scan") == *model, "a scan differs from the model");
    let mut iter = db.iter(CHECKED, view).expect("an iterator");
    iter.seek_to_last().expect("the last pair");
    for (key, value) in model.iter().rev() {
        assert!(iter.valid(), "the scan backwards ends before {key:?}");
        assert_eq!((iter.key(), iter.value()), (key.as_slice(), value.as_slice()));
        iter.prev().expect("the pair before");
    }
    assert!(!iter.valid(), "the scan backwards goes on");
}

/// Make one random change to store and model.
pub(crate) fn change(random: &mut Stream, batch: &mut WriteBatch, model: &mut Map, keys: u64) {
    let key = key(random, keys);
    if random.below(4) == 0 {
        batch.delete(&key);
        model.remove(&key);
    } else {
        let value = value(random);
        batch.put(&key, &value);
        model.insert(key, value);
    }
}
