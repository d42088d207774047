//! Collection to the nanosecond: when an idle pool starts, what a closed channel holds back, and what its
//! reads cost.

mod rig;

use rig::{closed, device, finish, free_blocks, named, whole, with_pages};
use ssd_core::config::{
    Blocking, BlockingScope, BusyUnit, Config, EraseUnit, Frontiers, Granularity, PoolScope,
    TimingModel,
};
use ssd_core::ftl::gc::trigger;
use ssd_core::host::device::Device;
use ssd_core::host::request::{Op, Request};
use ssd_core::metrics::counters::Cause;
use ssd_core::plug::Value;
use ssd_core::rng::Stream;
use ssd_core::sim::log::{FlashOp, OpRecord};
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::Nanos;

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
    // All of the first superblock but two pages, and one more: it is the second to be opened.
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
        let flash = ssd.measured.flash;
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
