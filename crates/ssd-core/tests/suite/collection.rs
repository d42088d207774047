//! Collection to the nanosecond: when an idle pool starts, what a closed channel holds back, and what its
//! reads cost.

use crate::rig::{
    alone, closed, device, finish, free_blocks, named, used_space, victim, whole, with_pages,
};
use ssd_core::config::{
    Amount, Blocking, BlockingScope, BusyUnit, Config, EraseUnit, Frontiers, Gc, Granularity,
    PoolScope, TimingModel,
};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::blocks::BlockTable;
use ssd_core::ftl::gc::victim::VictimPolicy;
use ssd_core::ftl::gc::{concurrency, trigger};
use ssd_core::ftl::plugs::{Plugs, PolicyFactory};
use ssd_core::host::device::Device;
use ssd_core::host::request::{Op, Request};
use ssd_core::metrics::counters::Cause;
use ssd_core::plug::{PolicySpec, Value};
use ssd_core::rng::Stream;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::logs::operations::{FlashOp, OpRecord};
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{BlockId, Lpn, Nanos, PoolId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const READ: u64 = 50 + 20;
const PROGRAM: u64 = 500 + 20;
const ERASE: u64 = 2000;

/// Serial chips that log every operation.
fn chips(shape: [u32; 3], user_pages: u32) -> Config {
    let mut c = device(shape, 16, 8, user_pages);
    (c.timing.model, c.timing.busy_unit) = (TimingModel::Serial, BusyUnit::Chip);
    (c.gc.reserve, c.metrics.op_log) = (1, true);
    c
}

fn log_of(ssd: &mut Ssd) -> Vec<OpRecord> {
    let mut log = Vec::new();
    ssd.drain_operations(&mut log);
    log
}

/// When operations of collection were queued, if the host writes at these times.
fn queued_by_collection(after: u64, writes: &[u64]) -> Vec<u64> {
    let mut c = chips([1, 1, 1], 96);
    c.gc.trigger = vec![named(trigger::ALL, "idle").with("after", Value::Int(after))];
    let mut ssd = with_pages(&c, 90);
    ssd.audit_every(1);
    for (&at, lpn) in writes.iter().zip(0..) {
        ssd.submit(Nanos(at), &whole(Op::Write, lpn, 1), None).unwrap();
    }
    finish(&mut ssd).unwrap();
    ssd.run_until(Nanos(1_000_000), &mut Vec::new()).unwrap();
    log_of(&mut ssd).iter().filter(|r| r.cause == Cause::Gc).map(|r| r.queued.0).collect()
}

#[test]
fn an_idle_pool_starts_exactly_when_it_has_been_idle_for_so_long() {
    // The unit's timer is set at 0 for 10,000 and finds a host that has worked since, or works then.
    for at in [0, 5_000, 9_479, 9_480, 9_481, 9_900, 9_999] {
        let queued = queued_by_collection(10_000, &[at]);
        assert_eq!(queued.len(), 15, "seven pages and the erase");
        assert_eq!(queued[0], at + PROGRAM + 10_000, "written at {at}");
    }
    // Twice too early.
    let queued = queued_by_collection(10_000, &[0, 9_000, 17_000, 19_520]);
    assert_eq!(queued[0], 19_520 + PROGRAM + 10_000);
    // At once, as in the paper.
    assert_eq!(queued_by_collection(0, &[7])[0], 7 + PROGRAM);
}

#[test]
fn a_closed_channel_is_every_channel_of_the_superblock() {
    let mut c = chips([2, 1, 1], 12 * 16);
    (c.alloc.pool, c.alloc.erase_unit) = (PoolScope::Device, EraseUnit::Superblock);
    c.alloc.frontiers = Frontiers::Single;
    c.alloc.placement = named(ssd_core::ftl::place::ALL, "round-robin");
    (c.gc.trigger, c.gc.window) = (vec![free_blocks(2)], 1);
    c.gc.blocking = Blocking { scope: BlockingScope::Channel, granularity: Granularity::Job };
    let mut ssd = with_pages(&c, 12 * 16);
    ssd.audit_every(1);
    // All of the first superblock but two pages, and one more superblock, the second to be opened.
    let writes = (0..16).filter(|lpn| ![3, 8].contains(lpn)).chain(40..43);
    closed(&mut ssd, 1, writes.map(|lpn| whole(Op::Write, lpn, 1))).unwrap();
    let at = ssd.now();
    for lpn in 100..104 {
        ssd.submit(at, &whole(Op::Read, lpn, 1), None).unwrap();
    }
    finish(&mut ssd).unwrap();
    ssd.quiesce().unwrap();
    let log = log_of(&mut ssd);
    let erases: Vec<_> = log.iter().filter(|r| r.op == FlashOp::Erase).collect();
    assert_eq!(erases.len(), 2);
    assert_eq!(erases[0].end, erases[1].end);
    // The copies go one after the other.
    assert_eq!((erases[0].end - at).0, 2 * (READ + PROGRAM) + ERASE);
    let mut reads: Vec<_> = log
        .iter()
        .filter(|r| r.cause == Cause::Host && r.op == FlashOp::Read)
        .map(|r| (r.place.channel, r.start.0 - erases[0].end.0))
        .collect();
    reads.sort_unstable();
    assert_eq!(reads, [(0, 0), (0, READ), (1, 0), (1, READ)]);
}

#[test]
fn reads_of_every_cause_are_tried_again() {
    for model in [TimingModel::Serial, TimingModel::Pipelined] {
        let mut c = chips([2, 1, 1], 2 * 10 * 8);
        (c.timing.model, c.gc.trigger) = (model, vec![free_blocks(3)]);
        c.wear.static_threshold = 2;
        c.controller.retry_probability = 1.0;
        (c.controller.retry_limit, c.controller.retry_factor) = (3, 1.5);
        let mut ssd = with_pages(&c, c.device.user_pages);
        let mut rng = Stream::new(5, "requests");
        // A cold half, so that wear differs.
        let requests = (0..4000u64).map(|i| {
            let sector = 4 * rng.below(u64::from(c.device.user_pages) / 2);
            match i % 4 {
                0 => Request::new(Op::Read, sector, 4),
                1 => Request::new(Op::Write, sector + 1, 2),
                _ => Request::new(Op::Write, sector, 4),
            }
        });
        closed(&mut ssd, 2, requests.collect::<Vec<_>>()).unwrap();
        ssd.quiesce().unwrap();
        let flash = ssd.measured().flash;
        for cause in [Cause::Host, Cause::Rmw, Cause::Gc, Cause::Wear] {
            let reads = flash.reads[cause.at()];
            assert!(reads > 100, "{reads} reads, {cause:?}");
            assert_eq!(flash.retries[cause.at()], 3 * reads, "{cause:?}");
        }
        for r in log_of(&mut ssd).iter().filter(|r| r.op == FlashOp::Read) {
            // A serial unit is held for the transfer, too.
            let (start, end) = r.array.expect("it reads the array");
            let transfer = if model == TimingModel::Serial { 20 } else { 0 };
            assert_eq!((end - start).0, 50 + 3 * 75 + transfer, "{model:?}, {:?}", r.cause);
        }
    }
}

/// A device written without collection: the first `filled` pages, then `again`.
fn written(c: &Config, filled: u32, again: &[u32]) -> Ssd {
    let quiet = Config { gc: Gc { trigger: vec![free_blocks(0)], ..c.gc.clone() }, ..c.clone() };
    let mut f = Functional::new(&quiet, Ftl::new(&quiet));
    for &lpn in (0..filled).collect::<Vec<_>>().iter().chain(again) {
        f.write(Lpn(lpn), 0).expect("there is room");
    }
    let sequence = f.sequence();
    let mut ssd = Ssd::new(c, f.ftl, sequence);
    ssd.audit_every(1);
    ssd
}

#[test]
fn a_page_is_in_flight_from_its_read_to_its_program() {
    let mut c = chips([1, 1, 1], 96);
    c.gc.trigger = vec![named(trigger::ALL, "idle").with("after", Value::Int(10_000))];
    c.gc.window = 1;
    let mut ssd = written(&c, 90, &[0]);
    for (at, pages) in [
        (9_999, 0),
        (10_000, 1),
        (10_000 + READ - 1, 1),
        (10_000 + READ, 0),
        (10_000 + READ + PROGRAM, 1),
    ] {
        ssd.run_until(Nanos(at), &mut Vec::new()).unwrap();
        let in_flight = [Cause::Gc, Cause::Wear].map(|cause| ssd.pages_in_flight(cause));
        assert_eq!(in_flight, [pages, 0], "at {at}");
    }
    ssd.run_until(Nanos(1_000_000), &mut Vec::new()).unwrap();
    assert_eq!(ssd.pages_in_flight(Cause::Gc), 0);
    assert_eq!(ssd.measured().gc.pages.moved, 7);
}

/// Planes of the operations of collection in order of start, where both planes of a chip want to collect a block from
/// the start: two invalid pages on plane 0, one on plane 1.
fn planes_collected(policy: PolicySpec, k: u64) -> Vec<u32> {
    let mut c = chips([1, 1, 2], 192);
    c.alloc.pool = PoolScope::Plane;
    (c.gc.trigger, c.gc.amount, c.gc.window) = (vec![free_blocks(3)], Amount::One, 1);
    c.gc.concurrency = named(concurrency::ALL, "fixed").with("k", Value::Int(k));
    c.gc.victim = policy;
    let mut ssd = written(&c, 192, &[0, 2, 1]);
    alone(&mut ssd, Request::new(Op::Flush, 0, 0));
    ssd.run_until(Nanos(1_000_000), &mut Vec::new()).unwrap();
    let mut log = log_of(&mut ssd);
    log.sort_by_key(|r| r.start);
    log.iter().map(|r| r.place.plane).collect()
}

#[test]
fn pools_take_turns_as_the_rule_and_the_policy_say() {
    // Six or seven pages, and the erase.
    let (plane_0, plane_1) = (vec![0; 13], vec![1; 15]);
    let by_rate = || victim("invalidation-rate").with("ratio", Value::Real(0.1));
    assert_eq!(planes_collected(victim("greedy"), 1), [&plane_0[..], &plane_1].concat());
    // One invalid page means rate 0: that block is first in the device.
    assert_eq!(planes_collected(by_rate(), 1), [&plane_1[..], &plane_0].concat());
    // Nobody waits if the rule lets all begin.
    for policy in [victim("greedy"), by_rate()] {
        let planes = planes_collected(policy, 2);
        assert_eq!((planes.len(), planes[0]), (28, 0));
        assert!(planes[..13].contains(&1), "both at once: {planes:?}");
    }
}

#[test]
fn a_trigger_that_held_collects_every_candidate_of_that_moment() {
    // No page of block 0 is valid, and seven of block 1 are; with one more erased block the trigger no longer holds.
    for (amount, calls) in [(Amount::UntilSatisfied, 1), (Amount::AllCandidates, 2)] {
        let mut c = chips([1, 1, 1], 96);
        (c.gc.trigger, c.gc.amount) = (vec![free_blocks(3)], amount);
        let mut ssd = written(&c, 90, &[0, 1, 2, 3, 4, 5, 6, 7, 8]);
        alone(&mut ssd, Request::new(Op::Flush, 0, 0));
        ssd.run_until(Nanos(1_000_000), &mut Vec::new()).unwrap();
        assert_eq!(ssd.measured().gc.calls, calls, "{amount:?}");
        assert_eq!(ssd.measured().gc.pages.moved, 7 * (calls - 1));
    }
}

#[test]
fn a_share_of_used_pages_counts_with_every_page_and_not_only_with_every_block() {
    let mut c = chips([1, 1, 1], 96);
    // 91 of 128 pages are used at the start; the trigger holds from 93 on. The open block has room.
    c.gc.trigger = vec![used_space(0.72, "pool")];
    let mut ssd = written(&c, 90, &[0]);
    for (lpn, calls) in [(50, 0), (51, 1)] {
        alone(&mut ssd, whole(Op::Write, lpn, 1));
        // The rest of the instant in which it completed.
        ssd.run_until(ssd.now(), &mut Vec::new()).unwrap();
        assert_eq!(ssd.measured().gc.calls, calls, "after LPN {lpn}");
    }
}

/// A listed block that becomes fully invalid is collected at once, and not again later.
#[test]
fn a_listed_block_that_was_collected_at_once_is_left_out() {
    let mut c = chips([1, 1, 1], 96);
    (c.gc.trigger, c.gc.amount) = (vec![free_blocks(3)], Amount::AllCandidates);
    c.gc.victim = victim("invalidation-rate")
        .with("ratio", Value::Real(0.1))
        .with("fully_invalid", Value::Word("immediate".into()));
    // One invalid page in block 0: rate 0. Seven at one time in block 1: its rate is infinite.
    let mut ssd = written(&c, 90, &[0, 8, 9, 10, 11, 12, 13, 14]);
    alone(&mut ssd, whole(Op::Write, 15, 1));
    ssd.run_until(Nanos(1_000_000), &mut Vec::new()).unwrap();
    let gc = &ssd.measured().gc;
    assert_eq!((gc.calls, gc.pages.moved), (2, 7));
    assert_eq!(ssd.core.ftl.blocks.erases[..3], [1, 1, 0]);
}

// ---------------------------------------------------------------- which losses reach a policy

/// Counts the invalid pages of every block from the hooks; collects the block with the fewest valid pages.
struct CountingVictim {
    invalid: Vec<u32>,
    open: Arc<AtomicU64>,
}

impl CountingVictim {
    fn lost(&mut self, block: BlockId) {
        self.invalid[block.at()] += 1;
    }

    fn agrees(&self, block: BlockId, table: &BlockTable) {
        assert_eq!(self.invalid[block.at()], u32::from(table.invalid(block)), "{block:?}");
    }
}

impl VictimPolicy for CountingVictim {
    fn init(&mut self, table: &BlockTable, _clock: u64) {
        self.invalid = vec![0; table.len()];
    }
    fn on_seal(&mut self, block: BlockId, table: &BlockTable, _clock: u64) {
        self.agrees(block, table);
    }
    fn on_invalidate(&mut self, block: BlockId, table: &BlockTable, _clock: u64) {
        self.lost(block);
        self.agrees(block, table);
    }
    fn on_invalidate_open(&mut self, block: BlockId, _table: &BlockTable, _clock: u64) {
        self.open.fetch_add(1, Ordering::Relaxed);
        self.lost(block);
    }
    fn on_leave(&mut self, block: BlockId, _table: &BlockTable) {
        self.invalid[block.at()] = 0;
    }
    fn select(
        &mut self,
        pool: PoolId,
        table: &BlockTable,
        _clock: u64,
        _rng: &mut Stream,
    ) -> Option<BlockId> {
        let sealed = table.of_pool(pool).filter(|&b| table.is_candidate(b));
        sealed.min_by_key(|b| (table.valid[b.at()], *b))
    }
}

struct Counter(Arc<AtomicU64>);

impl PolicyFactory for Counter {
    fn victim(&self, _table: &BlockTable) -> Option<Box<dyn VictimPolicy>> {
        Some(Box::new(CountingVictim { invalid: Vec::new(), open: self.0.clone() }))
    }
}

#[test]
fn a_policy_hears_of_every_page_that_becomes_invalid() {
    // Two chips at different distances from their end: an older write of a page often ends after a newer one, and
    // its page is invalid from the start.
    let mut config = device([2, 2, 1], 16, 8, 300);
    config.alloc.placement = named(ssd_core::ftl::place::ALL, "least-busy");
    config.gc.trigger = vec![free_blocks(4)];
    let open = Arc::new(AtomicU64::new(0));
    let plugs = Plugs::new(Arc::new(Counter(open.clone())));
    let mut ssd = Ssd::with_plugs(&config, Ftl::with_plugs(&config, &plugs), 0, &plugs);
    let mut rng = Stream::new(5, "writes");
    let writes = (0..20_000).map(|_| {
        let lpn = if rng.chance(0.5) { rng.below(8) } else { rng.below(300) };
        whole(Op::Write, lpn as u32, 1)
    });
    closed(&mut ssd, 24, writes).unwrap();
    finish(&mut ssd).unwrap();
    ssd.audit().unwrap();
    assert!(open.load(Ordering::Relaxed) > 1_000, "no page of an open block was lost");
}

/// Two planes of one pool, and a few hot pages: which plane is erased, and the time of 4000 writes.
fn hot_pages_on_two_planes(ties: &str) -> ([u32; 2], u64) {
    let mut c = device([1, 2, 1], 16, 8, 150);
    c.alloc.pool = PoolScope::Device;
    c.gc.victim = victim("greedy").with("ties", Value::Word(ties.into()));
    let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
    let writes = |n: u32| (0..n).map(|i| whole(Op::Write, i % 8, 1));
    closed(&mut ssd, 8, writes(2000)).expect("there is room");
    let (before, start) = (ssd.core.ftl.blocks.erases.clone(), ssd.now().0);
    closed(&mut ssd, 8, writes(4000)).expect("there is room");
    let erases = |blocks: std::ops::Range<usize>| {
        blocks.map(|b| ssd.core.ftl.blocks.erases[b] - before[b]).sum()
    };
    ([erases(0..16), erases(16..32)], ssd.now().0 - start)
}

/// docs/model.md, "Pools of several planes".
#[test]
fn ties_by_number_leave_planes_of_a_pool_without_erased_blocks() {
    let (first, slow) = hot_pages_on_two_planes("lowest-id");
    assert!(first[0] > 400 && first[1] < 50, "{first:?}");
    let (both, fast) = hot_pages_on_two_planes("oldest");
    assert!(both[0].abs_diff(both[1]) < 10, "{both:?}");
    assert!(slow > fast * 19 / 10, "{slow} and {fast} ns");
}
