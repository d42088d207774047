//! The workloads of the benchmark do what their names say, and can be interrupted.

use ssd_kv::bench::{Bench, NAMES};
use ssd_kv::vfs::{FaultVfs, Faults, MemoryVfs};
use ssd_kv::{Db, Error, Options, ReadOptions};
use std::sync::Arc;

fn options() -> Options {
    Options { create_if_missing: true, ..Options::default() }
}

#[test]
fn workloads_count_what_they_find_and_write() {
    let mut db = Db::open(Arc::new(MemoryVfs::new()), options()).expect("it opens");
    let mut bench = Bench::new(500, 100).expect("a good size");
    let mut run = |name: &str| bench.run(&mut db, name, 7).expect("it runs");
    assert_eq!(run("readseq"), 0);
    assert_eq!(run("fillseq"), 500);
    let found = ["readseq", "readrandom", "readmissing", "seekrandom"].map(&mut run);
    assert_eq!(found, [500, 500, 0, 500]);
    assert_eq!(["overwrite", "deleterandom"].map(&mut run), [500, 500]);
    // Of 500 random keys out of 500, some come more than once.
    assert_eq!(run("readseq"), 188);
    // Equal seeds draw equal keys: all of these have been deleted.
    assert_eq!(["readrandom", "fillrandom", "readrandom"].map(&mut run), [0, 500, 398]);
    let value = db.get(b"0000000000000499", ReadOptions::default(), None).expect("read");
    assert_eq!(value.map(|v| v.len()), Some(100));
    let error = bench.run(&mut db, "fill", 1).expect_err("no such workload");
    assert!(error.to_string().contains(&NAMES.join(", ")), "{error}");
    for (n, size) in [(0, 100), (1, 1 << 20)] {
        assert!(Bench::new(n, size).is_err());
    }
}

/// They ask at their start, and once per MiB of keys and values, whether to continue.
#[test]
fn workloads_ask_whether_to_go_on() {
    let vfs = FaultVfs::new();
    // Without a cache every run makes the same calls.
    let uncached = Options { block_cache_size: 0, ..options() };
    let mut db = Db::open(Arc::new(vfs.clone()), uncached).expect("it opens");
    let mut bench = Bench::new(100, (64 << 10) - 16).expect("a good size");
    bench.run(&mut db, "fillseq", 7).expect("it runs");
    for name in ["readseq", "readrandom", "seekrandom"] {
        bench.run(&mut db, name, 1).expect("it runs, and opens the tables");
        let mut stops = 0;
        for n in 0.. {
            vfs.inject(Faults::At(n));
            let result = bench.run(&mut db, name, 1);
            let passed = vfs.calls() <= n;
            vfs.inject(Faults::None);
            match result {
                Ok(_) if passed => break,
                Err(Error::Stopped(_)) => stops += 1,
                _ => {}
            }
        }
        assert_eq!(stops, 7, "{name}");
    }
}
