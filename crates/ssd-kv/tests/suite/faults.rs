//! Crashes, and errors at every call of the file layer. What was synced survives; what is found is a
//! prefix of what was written.

use crate::rig::{self, CHECKED, Map, option_sets, pairs};
use ssd_core::rng::Stream;
use ssd_kv::vfs::{FaultVfs, Faults, MemoryVfs, Reset};
use ssd_kv::{Db, Error, Options, WriteBatch, destroy, repair};
use std::sync::Arc;

/// A history: the state after each batch, and how many batches were durable at the end.
struct History {
    states: Vec<Map>,
    durable: usize,
}

impl History {
    fn of(start: Map) -> History {
        History { states: vec![start], durable: 0 }
    }

    /// Write random batches until there are `count` or the store refuses. Its errors must say correctly whether a write
    /// was applied, was not applied, or may be found after reopening.
    fn write(&mut self, db: &mut Db, random: &mut Stream, count: usize) -> Result<(), Error> {
        for _ in 0..count {
            let mut next = self.states.last().expect("a state").clone();
            let mut batch = WriteBatch::new();
            for _ in 0..=random.below(4) {
                rig::change(random, &mut batch, &mut next, 150);
            }
            let sync = random.below(8) == 0;
            self.states.push(next);
            let written = db.write(&batch, sync);
            let is_made = matches!(written, Ok(()) | Err(Error::Applied(_)));
            if is_made && sync {
                self.durable = self.states.len() - 1;
            }
            if let (Err(_), Ok(found)) = (&written, db.iter(CHECKED, None).and_then(pairs)) {
                let (last, before) = (self.states.len() - 1, self.states.len() - 2);
                assert!(found == self.states[if is_made { last } else { before }], "{written:?}");
            }
            if !is_made && !matches!(written, Err(Error::Uncertain(_))) {
                self.states.pop();
            }
            written?;
            if random.below(60) == 0 {
                db.compact_range(None, None)?;
            }
        }
        Ok(())
    }

    /// Check that the directory contains one of the states, no older than what is durable.
    fn check(&self, left: &MemoryVfs, options: &Options, what: &str) -> Map {
        let db = Db::open(Arc::new(left.clone()), options.clone());
        let mut db = db.unwrap_or_else(|e| panic!("{what}: it does not open: {e}"));
        assert_eq!(db.stats().damaged_log_records, 0, "{what}: a crash is taken for damage");
        let found = pairs(db.iter(CHECKED, None).expect("an iterator")).expect("a scan");
        let place = self.states.iter().rposition(|s| *s == found);
        let place = place.unwrap_or_else(|| panic!("{what}: found what never was"));
        assert!(place >= self.durable, "{what}: lost {} durable batches", self.durable - place);
        db.verify().unwrap_or_else(|e| panic!("{what}: {e}"));
        // It goes on.
        db.put(b"after", b"all", true).expect("written");
        assert_eq!(db.get(b"after", CHECKED, None).expect("read").as_deref(), Some(&b"all"[..]));
        found
    }
}

/// A crash tears the end of a log, which is not damage.
fn crash_options() -> Vec<Options> {
    let tolerant = |o: Options| Options { paranoid_checks: false, ..o };
    option_sets().into_iter().map(tolerant).collect()
}

#[test]
fn synced_writes_survive_crashes() {
    for (i, options) in (0..).zip(crash_options()) {
        for seed in 0..12 {
            let vfs = FaultVfs::new();
            let mut random = Stream::new(seed + 100 * i, "crash");
            let mut history = History::of(Map::new());
            let mut db = Db::open(Arc::new(vfs.clone()), options.clone()).expect("it opens");
            let count = 20 + random.below(400) as usize;
            history.write(&mut db, &mut random, count).expect("no fault");
            for reset in [Reset::DropUnsynced, Reset::Torn(seed), Reset::DropUnsyncedNames] {
                let left = vfs.crash(reset);
                history.check(&left, &options, &format!("options {i}, seed {seed}, {reset:?}"));
            }
            // The process ends but the machine continues: everything is there.
            drop(db);
            history.durable = history.states.len() - 1;
            history.check(&vfs.files(), &options, "the end of the process");
        }
    }
}

/// The store crashes again and again, also while it recovers.
#[test]
fn crashes_in_a_row() {
    let options = &crash_options()[1];
    let mut directory = MemoryVfs::new();
    let mut state = Map::new();
    let mut random = Stream::new(3, "row");
    for round in 0..40_u64 {
        let vfs = FaultVfs::of(&directory);
        vfs.inject(Faults::From(20 + random.below(400)));
        let mut history = History::of(state.clone());
        if let Ok(mut db) = Db::open(Arc::new(vfs.clone()), options.clone()) {
            let _ = history.write(&mut db, &mut random, 300);
        }
        let reset = match random.below(3) {
            0 => Reset::DropUnsynced,
            1 => Reset::DropUnsyncedNames,
            _ => Reset::Torn(round),
        };
        let left = vfs.crash(reset);
        history.check(&left, options, &format!("round {round}, {reset:?}"));
        // What the check added is part of the state from here on.
        directory = left;
        let db = Db::open(Arc::new(directory.clone()), options.clone()).expect("it opens");
        state = pairs(db.iter(CHECKED, None).expect("an iterator")).expect("a scan");
    }
}

/// An error at every call, one after the other, until the workload finishes without meeting it.
#[test]
fn an_error_at_every_call() {
    for options in [&option_sets()[0], &option_sets()[1]] {
        let mut passed = false;
        let (mut opened, mut applied, mut uncertain) = (0, 0, 0);
        for n in 0..5000 {
            let vfs = FaultVfs::new();
            vfs.inject(Faults::At(n));
            let mut random = Stream::new(9, "errors");
            let mut history = History::of(Map::new());
            let result = Db::open(Arc::new(vfs.clone()), options.clone()).and_then(|mut db| {
                opened += 1;
                history.write(&mut db, &mut random, 260)?;
                let found = pairs(db.iter(CHECKED, None)?)?;
                assert!(found == *history.states.last().expect("a state"), "call {n}");
                Ok(())
            });
            let calls = vfs.calls();
            vfs.inject(Faults::None);
            match result {
                Err(ref error @ (Error::Io { .. } | Error::Applied(_) | Error::Uncertain(_))) => {
                    assert!(error.to_string().contains("injected"), "call {n}: {error}");
                    applied += usize::from(matches!(error, Error::Applied(_)));
                    uncertain += usize::from(matches!(error, Error::Uncertain(_)));
                }
                Err(Error::Poisoned(_) | Error::Stopped(_)) => {}
                Err(ref other) => panic!("call {n}: {other}"),
                Ok(()) => passed = n >= calls,
            }
            let tolerant = Options { paranoid_checks: false, ..options.clone() };
            for reset in [Reset::DropUnsynced, Reset::DropUnsyncedNames] {
                let left = vfs.crash(reset);
                history.check(&left, &tolerant, &format!("call {n}, {reset:?}"));
            }
            history.check(&vfs.files(), &tolerant, &format!("call {n}"));
            if passed {
                break;
            }
        }
        assert!(passed, "the workload never passed");
        assert!(opened > 100, "most errors come after opening");
        assert!(applied > 10 && uncertain > 10, "both: {applied} and {uncertain}");
    }
}

/// A repair that is stopped or fails at any call leaves no table behind, and the next one finds everything.
#[test]
fn a_repair_can_be_begun_anew() {
    let options = &option_sets()[1];
    let mut random = Stream::new(4, "repair");
    let mut history = History::of(Map::new());
    let directory = MemoryVfs::new();
    let mut db = Db::open(Arc::new(directory.clone()), options.clone()).expect("it opens");
    history.write(&mut db, &mut random, 300).expect("no fault");
    drop(db);
    let last = history.states.last().expect("a state");
    let names = |vfs: &FaultVfs| vfs.files().snapshot().into_keys().collect::<Vec<_>>();
    let (mut stopped, mut failed) = (0, 0);
    for n in 0.. {
        let vfs = FaultVfs::of(&directory);
        let before = names(&vfs);
        vfs.inject(Faults::At(n));
        let result = repair(Arc::new(vfs.clone()), options);
        let passed = vfs.calls() <= n;
        vfs.inject(Faults::None);
        match result {
            Ok(_) if passed => break,
            // What could not be read is reported, at the second attempt as well.
            Ok(report) => {
                let all = report.pairs == last.len() as u64;
                assert!(all || !report.lost.is_empty(), "call {n}: lost silently");
            }
            Err(error) => {
                match error {
                    Error::Stopped(_) => {
                        assert_eq!(names(&vfs), before, "call {n}: something is left behind");
                        stopped += 1;
                    }
                    _ => failed += 1,
                }
                let report = repair(Arc::new(vfs.clone()), options).expect("repaired");
                assert_eq!((report.pairs, report.lost), (last.len() as u64, vec![]), "call {n}");
                let db = Db::open(Arc::new(vfs), options.clone()).expect("it opens");
                let found = pairs(db.iter(CHECKED, None).expect("an iterator")).expect("a scan");
                assert!(found == *last, "call {n}");
            }
        }
    }
    assert_eq!((stopped, failed), (1, 28));
}

/// A removal that fails at any call can be finished.
#[test]
fn a_removal_can_be_begun_anew() {
    let directory = MemoryVfs::new();
    let mut db = Db::open(Arc::new(directory.clone()), option_sets()[0].clone()).expect("it opens");
    db.put(b"k", b"v", true).expect("written");
    db.compact_range(None, None).expect("compacted");
    drop(db);
    for n in 0.. {
        let vfs = FaultVfs::of(&directory);
        vfs.inject(Faults::At(n));
        let result = destroy(Arc::new(vfs.clone()));
        let passed = vfs.calls() <= n;
        assert_eq!(result.is_ok(), passed, "call {n}");
        vfs.inject(Faults::None);
        destroy(Arc::new(vfs.clone())).expect("destroyed");
        assert!(vfs.files().snapshot().is_empty(), "call {n}");
        if passed {
            break;
        }
    }
}

/// A write that fails ends the compaction that was requested, with an error.
#[test]
fn a_request_ends_when_a_write_fails() {
    let vfs = FaultVfs::new();
    let mut db = Db::open(Arc::new(vfs.clone()), option_sets()[3].clone()).expect("it opens");
    for i in 0..300_u32 {
        db.put(&(i * 7 % 300).to_be_bytes(), &[1; 1000], false).expect("written");
    }
    let request = db.request_compaction(None, None).expect("requested");
    assert!(db.step_request(request).expect("a step"), "there is more to do");
    vfs.inject(Faults::From(0));
    db.put(b"k", b"v", true).expect_err("the disk is full");
    let error = db.step_request(request).expect_err("it ends");
    assert!(matches!(error, Error::Poisoned(_)), "{error}");
    assert!(!db.is_compacting_on_request());
}

/// Reading everything, to check or show it, ends when the file layer says so, and does no harm.
#[test]
fn long_work_is_stopped() {
    let vfs = FaultVfs::new();
    let mut db = Db::open(Arc::new(vfs.clone()), option_sets()[0].clone()).expect("it opens");
    for i in 0..300_u32 {
        db.put(&i.to_be_bytes(), &[7; 20_000], false).expect("written");
    }
    db.compact_range(None, None).expect("compacted");
    let stops = |work: &mut dyn FnMut() -> Result<(), Error>| {
        let mut stops = 0;
        for n in 0.. {
            vfs.inject(Faults::At(n));
            let result = work();
            let passed = vfs.calls() <= n;
            vfs.inject(Faults::None);
            match result {
                Err(Error::Stopped(_)) => stops += 1,
                Err(Error::Io { .. }) => {}
                Err(error) => panic!("call {n}: {error}"),
                Ok(()) => assert!(passed, "call {n}"),
            }
            if passed {
                return stops;
            }
        }
        unreachable!("it never passes")
    };
    // Table by table, then merged.
    assert_eq!(stops(&mut || db.verify().map(drop)), 12, "6 MB are read twice, asking every MiB");
    db.put(b"still", b"written", true).expect("written");
    let table = vfs.files().snapshot().into_keys().find(|n| n.ends_with(".ldb")).expect("a table");
    let shown = stops(&mut || ssd_kv::dump(Arc::new(vfs.clone()), &table, &mut |_| Ok(())));
    assert_eq!(shown, 1);
    let enough = || Err(std::io::Error::other("enough"));
    let error = ssd_kv::dump(Arc::new(vfs.clone()), &table, &mut |_| enough());
    assert!(matches!(error, Err(Error::Stopped(_))), "{error:?}");
}

/// A medium that has become read-only or full: errors, but everything synced can still be read.
#[test]
fn a_full_disk_loses_nothing() {
    let vfs = FaultVfs::new();
    let options = &option_sets()[0];
    let mut db = Db::open(Arc::new(vfs.clone()), options.clone()).expect("it opens");
    let mut random = Stream::new(1, "full");
    let mut history = History::of(Map::new());
    history.write(&mut db, &mut random, 200).expect("no fault");
    vfs.inject(Faults::From(0));
    let refused = db.put(b"k", b"v", true).expect_err("the disk is full");
    assert!(refused.to_string().contains(".log: cannot append to: injected"), "{refused}");
    let again = db.put(b"k", b"v", true).expect_err("it stays refused");
    assert!(matches!(again, Error::Poisoned(_)), "{again}");
    let found = pairs(db.iter(CHECKED, None).expect("an iterator")).expect("a scan");
    assert!(found == *history.states.last().expect("a state"), "reading goes on");
    drop(db);
    let error =
        Db::open(Arc::new(vfs.clone()), options.clone()).err().expect("nothing to write on");
    assert!(matches!(error, Error::Io { .. }), "{error}");
    vfs.inject(Faults::None);
    history.durable = history.states.len() - 1;
    let tolerant = Options { paranoid_checks: false, ..options.clone() };
    history.check(&vfs.files(), &tolerant, "after the disk has room again");
}

/// The crash in the tests above does lose something.
#[test]
fn what_is_not_synced_is_lost() {
    let vfs = FaultVfs::new();
    let options = &crash_options()[0];
    let mut db = Db::open(Arc::new(vfs.clone()), options.clone()).expect("it opens");
    db.put(b"durable", b"1", true).expect("written");
    db.put(b"loose", b"2", false).expect("written");
    let left = vfs.crash(Reset::DropUnsynced);
    let db = Db::open(Arc::new(left), options.clone()).expect("it opens");
    let get = |key: &[u8]| db.get(key, CHECKED, None).expect("read");
    assert_eq!((get(b"durable").as_deref(), get(b"loose")), (Some(&b"1"[..]), None));
}
