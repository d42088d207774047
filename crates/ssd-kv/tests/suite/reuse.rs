//! Reuse of unchanged blocks: what is shared, what is counted, and that no reader can see it.

use crate::rig::{self, CHECKED, Map, assert_equal};
use ssd_core::rng::Stream;
use ssd_kv::policy::{Base, BlockEvent, InputBlock, OpenBlock, OpenOutput, Pages, Policy};
use ssd_kv::policy::{Retention, Reuse, Stock};
use ssd_kv::vfs::{FaultVfs, Faults, MemoryVfs, Reset, Vfs};
use ssd_kv::{Background, Compression, Db, Error, Options, ReuseStats};
use std::sync::Arc;

fn options(bloom: Option<u32>) -> Options {
    Options {
        create_if_missing: true,
        paranoid_checks: true,
        write_buffer_size: 64 << 10,
        max_file_size: 1 << 20,
        compression: Compression::None,
        bloom_bits_per_key: bloom,
        ..Options::default()
    }
}

/// Random writes, a fortieth of them deletions.
fn write(db: &mut Db, model: &mut Map, (seed, keys, value): (u64, u64, usize), count: u64) {
    let mut random = Stream::new(seed, "reuse");
    for i in 0..count {
        let key = format!("{:016}", random.below(keys)).into_bytes();
        if random.below(40) == 0 {
            db.delete(&key, false).expect("deleted");
            model.remove(&key);
        } else {
            let value: Vec<u8> = (0..value as u64).map(|at| (i ^ (at * 7)) as u8).collect();
            db.put(&key, &value, false).expect("written");
            model.insert(key, value);
        }
    }
}

fn opened(vfs: impl Vfs + 'static, policy: Box<dyn Policy>, options: &Options) -> Db {
    Db::open_with(Arc::new(vfs), options.clone(), policy).expect("it opens")
}

fn sum(db: &Db) -> ReuseStats {
    db.stats().reuse.iter().fold(ReuseStats::default(), |a, b| ReuseStats {
        input_blocks: a.input_blocks + b.input_blocks,
        unchanged_blocks: a.unchanged_blocks + b.unchanged_blocks,
        output_blocks: a.output_blocks + b.output_blocks,
        reused_blocks: a.reused_blocks + b.reused_blocks,
        bytes_shared: a.bytes_shared + b.bytes_shared,
        bytes_copied: a.bytes_copied + b.bytes_copied,
        calls: a.calls + b.calls,
        lost_dropped: a.lost_dropped + b.lost_dropped,
        lost_switched: a.lost_switched + b.lost_switched,
        lost_cut: a.lost_cut + b.lost_cut,
        lost_unaligned: a.lost_unaligned + b.lost_unaligned,
        lost_declined: a.lost_declined + b.lost_declined,
        lost_different: a.lost_different + b.lost_different,
    })
}

/// Every input block is reused or lost for one reason, and every reused byte is shared or copied.
fn check_sums(db: &Db) {
    for (level, reuse) in db.stats().reuse.iter().enumerate() {
        assert_eq!(reuse.input_blocks, reuse.reused_blocks + reuse.lost(), "{level}: {reuse:?}");
        let changed = reuse.lost_dropped + reuse.lost_switched;
        assert!(reuse.unchanged_blocks + changed <= reuse.input_blocks, "{level}: {reuse:?}");
        assert!(reuse.reused_blocks <= reuse.unchanged_blocks.min(reuse.output_blocks));
        assert!((reuse.bytes_shared + reuse.bytes_copied) >= reuse.reused_blocks * 4096);
    }
}

const VALUES: [usize; 6] = [100, 256, 992, 1024, 4000, 4096];

/// Fill a store, overwrite a part of it, and compact it in between, so that blocks of all levels are merged.
fn fill(db: &mut Db, model: &mut Map, value: usize) {
    let keys = 1_200_000 / value as u64;
    for round in 0..4 {
        write(db, model, (round, keys, value), keys / 2 + 1);
        if round % 2 == 0 {
            db.compact_range(None, None).expect("compacted");
        }
    }
    db.compact_range(Some(b"0000000000000100"), Some(b"0000000000000900")).expect("compacted");
    write(db, model, (9, keys, value), keys / 8 + 1);
}

/// A store that was filled under a policy, and its files.
fn filled(vfs: &MemoryVfs, policy: Box<dyn Policy>, options: &Options, value: usize) -> Db {
    let mut model = Map::new();
    let mut db = opened(vfs.clone(), policy, options);
    fill(&mut db, &mut model, value);
    assert_equal(&db, &model, None);
    for key in model.keys() {
        assert!(db.get(key, CHECKED, None).expect("read").is_some(), "the filter denies {key:?}");
    }
    db.verify().expect("whole");
    check_sums(&db);
    db
}

/// Reuse that closes no block early changes no byte of any file, whatever the values.
#[test]
fn base_writes_the_files_of_a_store_without_reuse() {
    for (pages, value) in [1, 2, 4].into_iter().flat_map(|p| VALUES.map(|v| (p, v))) {
        let bloom = (value % 3 == 1).then_some(10);
        let (layout, options) = (Pages::new(4096, pages), options(bloom));
        let (plain, base) = (MemoryVfs::new(), MemoryVfs::sharing());
        drop(filled(&plain, Box::new(layout), &options, value));
        let db = filled(&base, Box::new(Base(layout)), &options, value);
        let shares = base.shares();
        assert_eq!((shares.copied, shares.bytes), (0, sum(&db).bytes_shared));
        assert!(shares.bytes > 0 || value < 900, "{value} B, {pages} pages: nothing is shared");
        drop(db);
        assert!(base.snapshot() == plain.snapshot(), "{value} B, {pages} pages: a file differs");
    }
}

/// Tables that end among the pairs of a block, because they overlap enough of the level after theirs, end at the same
/// place as without reuse.
#[test]
fn tables_end_where_they_end_without_reuse() {
    let layout = Pages::new(4096, 4);
    let options = Options { write_buffer_size: 1 << 20, ..options(Some(10)) };
    let fill = |vfs: &MemoryVfs, policy: Box<dyn Policy>| {
        let mut db = opened(vfs.clone(), policy, &options);
        let key = |i: u64| format!("{i:016}").into_bytes();
        for i in 0..26_000 {
            db.put(&key(i), &[i as u8; 992], false).expect("written");
        }
        db.compact_range(None, None).expect("compacted");
        for i in 0..800 {
            db.put(&key(i * 32), &[i as u8; 300], false).expect("written");
        }
        db.compact_range(None, None).expect("compacted");
        check_sums(&db);
        db.stats().reuse[1]
    };
    let (plain, base) = (MemoryVfs::new(), MemoryVfs::sharing());
    fill(&plain, Box::new(layout));
    // No two tables of level 0 have keys between those of each other.
    let reuse = fill(&base, Box::new(Base(layout)));
    assert!(reuse.lost_cut > 0, "no table ends among the pairs of a block");
    assert_eq!((reuse.lost_switched, reuse.lost_dropped), (0, 0));
    assert!(base.snapshot() == plain.snapshot(), "a file differs");
}

/// Blocks of the same pairs and the same size are different blocks if their restarts are elsewhere.
#[test]
fn blocks_with_other_restarts_are_written_again() {
    let layout = Pages::new(4096, 1);
    let compacted = |vfs: &MemoryVfs, policy: fn(Pages) -> Box<dyn Policy>| {
        let before = Options { block_restart_interval: 3, ..options(None) };
        let (mut model, after) =
            (Map::new(), Options { block_restart_interval: 4, ..options(None) });
        let mut db = opened(vfs.clone(), policy(layout), &before);
        write(&mut db, &mut model, (1, 1500, 760), 1500);
        db.compact_range(None, None).expect("compacted");
        drop(db);
        let mut db = opened(vfs.clone(), policy(layout), &after);
        write(&mut db, &mut model, (2, 1500, 760), 60);
        db.compact_range(None, None).expect("compacted");
        sum(&db)
    };
    let (plain, base) = (MemoryVfs::new(), MemoryVfs::sharing());
    compacted(&plain, |layout| Box::new(layout));
    let reuse = compacted(&base, |layout| Box::new(Base(layout)));
    assert!(reuse.lost_different > 50, "{reuse:?}");
    assert!(base.snapshot() == plain.snapshot(), "a file differs");
}

/// Shared and copied blocks produce the same files: only the sharing differs.
#[test]
fn retention_writes_the_same_files_shared_or_copied() {
    let layout = Pages::new(4096, 1);
    let limits: [fn(Retention) -> Retention; 3] =
        [|r| r, |r| r.with_least_fill(2048), |r| r.with_space_budget(5)];
    for (value, limit) in VALUES.into_iter().flat_map(|v| limits.map(|l| (v, l))) {
        let options = options((value % 3 == 1).then_some(10));
        let policy = || Box::new(limit(Retention::new(layout)));
        let (copied, shared) = (MemoryVfs::new(), MemoryVfs::sharing());
        let one = filled(&copied, policy(), &options, value);
        let other = filled(&shared, policy(), &options, value);
        let (copying, sharing) = (sum(&one), sum(&other));
        assert_eq!((copying.bytes_copied, copying.bytes_shared), (sharing.bytes_shared, 0));
        let moved = ReuseStats { bytes_shared: 0, bytes_copied: sharing.bytes_shared, ..sharing };
        assert_eq!(copying, moved, "all else is equal");
        assert_eq!(shared.shares().bytes, sharing.bytes_shared);
        drop((one, other));
        assert!(copied.snapshot() == shared.snapshot(), "{value} B: a file differs");
    }
}

/// Retention reuses more than base, its limits lie between, and it costs space.
#[test]
fn limits_of_retention_lie_between() {
    let layout = Pages::new(4096, 1);
    let keeps = |policy: Box<dyn Policy>| {
        let vfs = MemoryVfs::sharing();
        let db = filled(&vfs, policy, &options(None), 992);
        let reuse = sum(&db);
        let bytes: u64 = db.tables().iter().map(|table| table.bytes).sum();
        (reuse.reused_blocks * 1000 / reuse.output_blocks, bytes / 4096)
    };
    let all = Retention::new(layout);
    let found = [
        keeps(Box::new(Base(layout))),
        keeps(Box::new(all.with_least_fill(2048))),
        keeps(Box::new(all.with_space_budget(5))),
        keeps(Box::new(all)),
    ];
    let [base, fill, budget, whole] = found;
    assert!(base.0 < fill.0 && fill.0 < whole.0, "per mille reused, and pages: {found:?}");
    assert!(base.0 < budget.0 && budget.0 < whole.0, "per mille reused, and pages: {found:?}");
    assert!(base.1 < whole.1 && fill.1 < whole.1 && budget.1 < whole.1, "{found:?}");
}

/// If every pair has its own block, of one page or of two, no block is ever changed: everything that is merged is
/// reused.
#[test]
fn a_pair_that_fills_a_block_is_written_once() {
    for value in [4000, 4096] {
        let policy = Box::new(Base(Pages::new(4096, 1)));
        let mut db = opened(MemoryVfs::sharing(), policy, &options(None));
        let mut random = Stream::new(6, "whole");
        for i in 0..900_u64 {
            let key = format!("{:016}", random.below(300));
            db.put(key.as_bytes(), &vec![i as u8; value], false).expect("written");
        }
        db.compact_range(None, None).expect("compacted");
        check_sums(&db);
        let reuse = sum(&db);
        assert_eq!(reuse.reused_blocks, reuse.output_blocks, "{value} B");
        assert_eq!(reuse.lost_switched + reuse.lost_different + reuse.lost_declined, 0);
        assert_eq!(reuse.lost(), reuse.lost_dropped, "{reuse:?}");
        assert!(reuse.lost_dropped > 0 && reuse.calls < reuse.reused_blocks);
    }
}

/// Records the events of blocks, and reuses like another policy.
struct Watcher<P>(P, Arc<std::sync::Mutex<Vec<(InputBlock, BlockEvent)>>>);

impl<P: Policy> Policy for Watcher<P> {
    fn watches(&self) -> bool {
        true
    }

    fn event(&mut self, block: InputBlock, event: BlockEvent) {
        self.1.lock().expect("no panic").push((block, event));
    }

    fn cut_before(&mut self, open: &OpenBlock<'_>) -> bool {
        self.0.cut_before(open)
    }

    fn cut_after(&mut self, size: usize, target: usize) -> bool {
        self.0.cut_after(size, target)
    }

    fn padding(&mut self, end: u64) -> u64 {
        self.0.padding(end)
    }

    fn reuses(&self) -> Option<usize> {
        self.0.reuses()
    }

    fn reuse(&mut self, block: InputBlock, open: OpenOutput) -> Reuse {
        self.0.reuse(block, open)
    }
}

/// Records the budget that a policy may count on.
struct BudgetRecorder(Retention, Arc<std::sync::Mutex<Vec<u64>>>);

impl Policy for BudgetRecorder {
    fn cut_before(&mut self, open: &OpenBlock<'_>) -> bool {
        self.0.cut_before(open)
    }

    fn cut_after(&mut self, size: usize, target: usize) -> bool {
        self.0.cut_after(size, target)
    }

    fn padding(&mut self, end: u64) -> u64 {
        self.0.padding(end)
    }

    fn reuses(&self) -> Option<usize> {
        self.0.reuses()
    }

    fn reuse(&mut self, block: InputBlock, open: OpenOutput) -> Reuse {
        self.1.lock().expect("no panic").push(open.written);
        self.0.reuse(block, open)
    }
}

/// The total of which a budget is a share grows with every block, including those of the table that is being written.
#[test]
fn the_bytes_of_the_open_table_count_for_the_budget() {
    let noted = Arc::default();
    let policy = BudgetRecorder(
        Retention::new(Pages::new(4096, 1)).with_space_budget(50),
        Arc::clone(&noted),
    );
    let db = filled(&MemoryVfs::new(), Box::new(policy), &options(None), 4000);
    let noted = noted.lock().expect("no panic");
    assert!(noted.is_sorted(), "a budget shrinks");
    let distinct: std::collections::BTreeSet<_> = noted.iter().collect();
    assert!(distinct.len() * 2 > noted.len(), "{} of {} differ", distinct.len(), noted.len());
    let written: u64 = db.stats().levels[1..].iter().map(|level| level.bytes_written).sum();
    let last = noted.last().copied().expect("a block ended unchanged");
    assert!(last <= written && last + (1 << 20) >= written, "{last} of {written}");
}

/// What a store has built, taken over and padded is what it has written.
#[test]
fn what_is_written_is_built_taken_over_or_padding() {
    let layout = Pages::new(4096, 1);
    let policies: [fn(Pages) -> Box<dyn Policy>; 3] =
        [|_| Box::new(Stock), |layout| Box::new(layout), |layout| Box::new(Retention::new(layout))];
    for (at, policy) in policies.into_iter().enumerate() {
        let db = filled(&MemoryVfs::new(), policy(layout), &options(Some(10)), 992);
        let (stats, reuse) = (db.stats(), sum(&db));
        let taken = reuse.bytes_shared + reuse.bytes_copied;
        let rest = stats.bytes_written().checked_sub(stats.built_bytes + taken);
        let padding = rest.unwrap_or_else(|| panic!("more than was written: {stats:?}"));
        assert_eq!((padding > 0, taken > 0), (at > 0, at > 1), "{stats:?}");
        assert!(padding <= stats.bytes_written() / 2, "{padding}: {stats:?}");
        // Everything ever written was in a memtable before, and compactions merge it again.
        let read: u64 = stats.levels.iter().map(|level| level.bytes_read).sum();
        assert!(read > 0 && stats.merged_bytes > stats.built_bytes, "{stats:?}");
    }
}

/// Watchers see the same events with reuse, and the state machine counts accordingly.
#[test]
fn the_state_machine_follows_the_events() {
    let layout = Pages::new(4096, 1);
    let seen = |policy: fn(Pages) -> Box<dyn Policy>, noted: &Arc<_>| {
        struct BoxedPolicy(Box<dyn Policy>);
        impl Policy for BoxedPolicy {
            fn cut_before(&mut self, open: &OpenBlock<'_>) -> bool {
                self.0.cut_before(open)
            }
            fn cut_after(&mut self, size: usize, target: usize) -> bool {
                self.0.cut_after(size, target)
            }
            fn padding(&mut self, end: u64) -> u64 {
                self.0.padding(end)
            }
            fn reuses(&self) -> Option<usize> {
                self.0.reuses()
            }
            fn reuse(&mut self, block: InputBlock, open: OpenOutput) -> Reuse {
                self.0.reuse(block, open)
            }
        }
        let policy = Watcher(BoxedPolicy(policy(layout)), Arc::clone(noted));
        filled(&MemoryVfs::new(), Box::new(policy), &options(None), 992)
    };
    let (plain, base) = (Arc::default(), Arc::default());
    drop(seen(|layout| Box::new(layout), &plain));
    let db = seen(|layout| Box::new(Base(layout)), &base);
    let events = base.lock().expect("no panic").clone();
    assert!(events == *plain.lock().expect("no panic"), "the events differ");
    // An independent state machine: a block is changed by a dropped pair or a switch.
    let mut changed = std::collections::BTreeMap::new();
    let [mut blocks, mut unchanged] = [0_u64; 2];
    for (block, event) in events {
        match event {
            BlockEvent::Start => assert!(changed.insert(block, false).is_none(), "started twice"),
            BlockEvent::KvReserved => {}
            BlockEvent::KvDropped | BlockEvent::Switch => {
                changed.insert(block, true);
            }
            BlockEvent::End => {
                blocks += 1;
                unchanged += u64::from(!changed.remove(&block).expect("started"));
            }
        }
    }
    let reuse = sum(&db);
    assert_eq!(reuse.input_blocks, blocks);
    assert!(unchanged > blocks / 10, "{unchanged} of {blocks}");
    // Blocks that a table cut before they ended are changed, whatever came after.
    assert!(
        reuse.unchanged_blocks <= unchanged && reuse.unchanged_blocks + reuse.lost_cut >= unchanged
    );
}

/// A policy that declines every block gets the tables of a store without reuse.
#[test]
fn a_policy_that_declines_changes_nothing() {
    struct DecliningPolicy(Pages);
    impl Policy for DecliningPolicy {
        fn cut_before(&mut self, open: &OpenBlock<'_>) -> bool {
            self.0.cut_before(open)
        }
        fn cut_after(&mut self, size: usize, target: usize) -> bool {
            self.0.cut_after(size, target)
        }
        fn padding(&mut self, end: u64) -> u64 {
            self.0.padding(end)
        }
        fn reuses(&self) -> Option<usize> {
            Some(self.0.page())
        }
    }
    let layout = Pages::new(4096, 2);
    let (plain, declined) = (MemoryVfs::new(), MemoryVfs::sharing());
    drop(filled(&plain, Box::new(layout), &options(Some(10)), 256));
    let db = filled(&declined, Box::new(DecliningPolicy(layout)), &options(Some(10)), 256);
    let reuse = sum(&db);
    assert_eq!((reuse.reused_blocks, reuse.lost_declined), (0, reuse.unchanged_blocks));
    drop(db);
    assert!(plain.snapshot() == declined.snapshot());
}

/// A store under changing layouts: LevelDB's layout, then reuse, then LevelDB's layout again. Blocks that do not fill
/// whole pages, are compressed, or are followed by something other than zeros are not reused.
#[test]
fn only_whole_pages_are_reused() {
    for compression in [Compression::None, Compression::Snappy] {
        let vfs = MemoryVfs::sharing();
        let stock = Options { compression, ..options(Some(10)) };
        let mut model = Map::new();
        let mut db = opened(vfs.clone(), Box::new(Stock), &stock);
        fill(&mut db, &mut model, 992);
        drop(db);
        let policy = || Box::new(Retention::new(Pages::new(4096, 1)));
        let mut db = opened(vfs.clone(), policy(), &options(Some(10)));
        write(&mut db, &mut model, (20, 1200, 992), 300);
        db.compact_range(None, None).expect("compacted");
        assert_equal(&db, &model, None);
        assert!(sum(&db).lost_unaligned > 0, "{:?}", sum(&db));
        check_sums(&db);
        drop(db);
        let mut db = opened(vfs.clone(), Box::new(Stock), &stock);
        write(&mut db, &mut model, (21, 1200, 992), 300);
        assert_equal(&db, &model, None);
        db.compact_range(None, None).expect("compacted");
        assert_equal(&db, &model, None);
    }
    // Something other than zeros after the blocks.
    let vfs = MemoryVfs::sharing();
    let policy = || Box::new(Retention::new(Pages::new(4096, 1)));
    drop(filled(&vfs, policy(), &options(None), 992));
    let dirty = vfs.snapshot().into_iter().map(|(name, mut data)| {
        let pages = data.len() / 4096;
        if name.ends_with(".ldb") && pages > 20 {
            (1..pages - 10).for_each(|page| data[page * 4096 - 1] = 0xee);
        }
        (name, data)
    });
    let vfs = MemoryVfs::of(dirty.collect());
    let mut db = opened(vfs.clone(), policy(), &options(None));
    db.compact_range(None, None).expect("compacted");
    assert!(sum(&db).lost_unaligned > 100, "{:?}", sum(&db));
    let tables = vfs.snapshot();
    let dirty = |data: &Vec<u8>| data.chunks(4096).any(|page| page.last() == Some(&0xee));
    assert!(!db.tables().iter().any(|t| dirty(&tables[&format!("{:06}.ldb", t.number)])));
}

/// A page-aligned table whose blocks are damaged fails as without reuse: damage gets no new checksum.
#[test]
fn damage_is_not_reused() {
    let vfs = MemoryVfs::sharing();
    let policy = || Box::new(Retention::new(Pages::new(4096, 1)));
    drop(filled(&vfs, policy(), &options(None), 992));
    let mut files = vfs.snapshot();
    let table = files.iter_mut().find(|(name, data)| name.ends_with(".ldb") && data.len() > 99_999);
    table.expect("a table").1[40_000] ^= 1;
    let mut db = opened(MemoryVfs::of(files), policy(), &options(None));
    let error = db.compact_range(None, None).expect_err("it is damaged");
    assert!(error.to_string().contains("checksum"), "{error}");
}

/// Iterators and read views that are older than a compaction still read what it reused.
#[test]
fn readers_are_held_over_compactions() {
    let vfs = MemoryVfs::sharing();
    let options = Options { block_cache_size: 0, max_open_tables: 10, ..options(Some(10)) };
    let mut db = opened(vfs, Box::new(Retention::new(Pages::new(4096, 1))), &options);
    let (mut model, mut held) = (Map::new(), Vec::new());
    for round in 0..6 {
        write(&mut db, &mut model, (round, 900, 992), 500);
        let mut iter = db.iter(CHECKED, None).expect("an iterator");
        iter.seek_to_first().expect("the first pair");
        held.push((iter, db.read_view(), model.clone()));
        db.compact_range(None, None).expect("compacted");
    }
    assert!(sum(&db).bytes_shared > 1 << 20);
    for (mut iter, view, model) in held {
        assert_equal(&db, &model, Some(&view));
        for (key, value) in &model {
            assert_eq!((iter.key(), iter.value()), (key.as_slice(), value.as_slice()));
            iter.next().expect("the next pair");
        }
    }
    check_sums(&db);
}

/// In steps, the pairs are those of a store without reuse.
#[test]
fn steps_reuse_as_well() {
    let options = Options { background: Background::Steps, ..options(Some(10)) };
    for value in [256, 1024] {
        let vfs = MemoryVfs::sharing();
        let policy = Box::new(Retention::new(Pages::new(4096, 2)));
        let mut db = filled(&vfs, policy, &options, value);
        db.settle().expect("settled");
        assert!(sum(&db).bytes_shared > 0);
    }
}

/// What a run on a faulty file layer left.
struct Run {
    /// The state after each write.
    states: Vec<Map>,
    /// How many of them are durable.
    durable: usize,
    shared: u64,
    error: Option<Error>,
}

/// Writes and compactions with reuse until the first error.
fn run(vfs: &FaultVfs, options: &Options) -> Run {
    let mut run = Run { states: vec![Map::new()], durable: 0, shared: 0, error: None };
    let mut random = Stream::new(5, "faulty");
    let policy = Box::new(Retention::new(Pages::new(4096, 1)));
    let work = || {
        let mut db = Db::open_with(Arc::new(vfs.clone()), options.clone(), policy)?;
        for i in 0..150_u64 {
            // The second half of the keys once, then some of the first half on top.
            let key = if i < 100 { 99 - i } else { i / 10 };
            let (key, value) = (format!("{key:03}").into_bytes(), vec![i as u8; 1000]);
            let sync = random.below(5) == 0;
            let mut next = run.states.last().expect("a state").clone();
            next.insert(key.clone(), value.clone());
            run.states.push(next);
            db.put(&key, &value, sync)?;
            if sync {
                run.durable = run.states.len() - 1;
            }
            if i % 25 == 24 {
                db.compact_range(Some(b"0"), None)?;
            }
        }
        Ok(())
    };
    run.error = work().err();
    run.shared = vfs.shared();
    run
}

/// Check that the directory contains one of the states, no older than what is durable, and that the store continues.
fn check_left(left: &MemoryVfs, (states, durable): (&[Map], usize), options: &Options, what: &str) {
    let policy = Box::new(Retention::new(Pages::new(4096, 1)));
    let db = Db::open_with(Arc::new(left.clone()), options.clone(), policy);
    let mut db = db.unwrap_or_else(|e| panic!("{what}: it does not open: {e}"));
    let iter = db.iter(CHECKED, None).expect("an iterator");
    let found = rig::pairs(iter).unwrap_or_else(|e| panic!("{what}: {e}"));
    let place = states.iter().rposition(|state| *state == found);
    let place = place.unwrap_or_else(|| panic!("{what}: found what never was"));
    assert!(place >= durable, "{what}: lost {} durable writes", durable - place);
    db.verify().unwrap_or_else(|e| panic!("{what}: {e}"));
    db.compact_range(None, None).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_equal(&db, &found, None);
}

/// Power is cut at every call of the file layer, including shares.
#[test]
fn a_power_cut_at_every_call() {
    let options = Options { paranoid_checks: false, ..options(Some(10)) };
    let whole = FaultVfs::new().sharing();
    let shared = run(&whole, &options).shared;
    assert!(shared >= 10 * 4096, "{shared} bytes are shared");
    for n in 0..whole.calls() {
        let vfs = FaultVfs::new().sharing();
        vfs.inject(Faults::From(n));
        let Run { states, durable, error, .. } = run(&vfs, &options);
        assert!(error.is_some(), "call {n}");
        for reset in [Reset::DropUnsynced, Reset::DropUnsyncedNames, Reset::Torn(n)] {
            let what = format!("call {n}, {reset:?}");
            check_left(&vfs.crash(reset), (&states, durable), &options, &what);
        }
    }
}

/// A share that fails becomes a copy: no error, and the same files as in a run without faults.
#[test]
fn a_share_that_fails_is_a_copy() {
    let options = options(Some(10));
    let whole = FaultVfs::new().sharing();
    let shared = run(&whole, &options).shared;
    let mut copies = 0;
    for n in 0..whole.calls() {
        let vfs = FaultVfs::new().sharing();
        vfs.inject(Faults::At(n));
        let Run { shared: less, error, .. } = run(&vfs, &options);
        if error.is_none() && less < shared {
            assert!(whole.files().snapshot() == vfs.files().snapshot(), "call {n}: a file differs");
            copies += 1;
        }
    }
    assert!(copies >= 3, "{copies} calls share");
}
