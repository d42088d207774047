//! The promises of the invalidation-rate and adaptive-channel papers, on their own presets: algorithm 1 over the
//! device, the time of one block, what PBGC and BBGC block, and G(t) at every instant.

use crate::oracle::algorithm_1::Algorithm1;
use crate::rig::{closed, finish, operations_of};
use ssd_core::config::{Config, Input, Kernel, load};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::blocks::{BlockState, BlockTable, Fill};
use ssd_core::ftl::gc::victim::{ALL, Victim, VictimPolicy};
use ssd_core::ftl::plugs::{Plugs, PolicyFactory};
use ssd_core::host::device::Device;
use ssd_core::host::request::{Op, Request};
use ssd_core::metrics::counters::Cause;
use ssd_core::plug::{PolicySpec, Value};
use ssd_core::rng::Stream;
use ssd_core::sim::logs::operations::{FlashOp, OpRecord};
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{BlockId, Nanos, PoolId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A preset with some keys overridden.
fn preset(name: &str, sets: &[(&str, &str)]) -> Config {
    let mut all = vec![("metrics.op_log", "true"), ("metrics.interval", "0 s")];
    all.extend(sets);
    let sets = all.iter().map(|(k, v)| ((*k).to_string(), (*v).to_string())).collect();
    let input = Input { preset: Some(name.to_string()), sets, ..Input::default() };
    let config: Kernel = load(&input).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
    config.0
}

/// Whole pages of 4 KiB.
fn pages(op: Op, lpn: u64, count: u64) -> Request {
    Request::new(op, lpn * 8, (count * 8) as u32)
}

// ---------------------------------------------------------------- equation 1

fn rates(sets: &[(&str, &str)]) -> PolicySpec {
    let info = ALL.iter().find(|info| info.name == "invalidation-rate").unwrap();
    let plain = PolicySpec::with_defaults(info).with("ratio", Value::Real(0.0));
    sets.iter().fold(plain, |spec, (key, word)| spec.with(key, Value::Word((*word).to_string())))
}

/// Four sealed blocks of ten pages, in two pools: times (us) of the invalidations of each.
const TIMES: [&[u64]; 4] = [
    // 4 more in 40 us: 0.1 per us.
    &[10, 20, 30, 40, 50],
    // 2 more in 10 us: 0.2 per us.
    &[30, 35, 40],
    // One page: 0.
    &[60],
    // 3 at one instant: infinite.
    &[70, 70, 70],
];

/// The list of each pool when all this has happened, at `now` (us).
fn lists(spec: &PolicySpec, times: [&[u64]; 4], now: u64) -> [Vec<u32>; 2] {
    let mut table = BlockTable::new(2, 2, 10);
    table.valid.fill(10);
    table.fill.fill(Fill { bound: 10, pending: 0 });
    table.state.fill(BlockState::Sealed);
    let mut policy = Victim::build(spec, &table);
    policy.init(&table, 0);
    let mut events: Vec<(u64, u32)> =
        (0..4).flat_map(|b| times[b as usize].iter().map(move |&t| (t, b))).collect();
    events.sort_unstable();
    for (us, block) in events {
        table.now = Nanos::micros(us);
        table.valid[block as usize] -= 1;
        policy.on_invalidate(BlockId(block), &table, us);
    }
    table.now = Nanos::micros(now);
    let mut rng = Stream::new(1, "victim");
    [PoolId(0), PoolId(1)].map(|pool| {
        let list = policy.candidates(pool, &table, now);
        assert_eq!(policy.select(pool, &table, now, &mut rng), list.first().copied());
        list.iter().map(|b| b.0).collect()
    })
}

#[test]
fn rates_computed_by_hand() {
    assert_eq!(lists(&rates(&[]), TIMES, 100), [vec![0, 1], vec![2, 3]]);
    // A block that has gone quiet keeps its rate, unless T_c is now: then block 0 is at 4 / 90 and block 1 at 2 / 70.
    let now = rates(&[("clock", "now")]);
    assert_eq!(lists(&now, TIMES, 100), [vec![1, 0], vec![2, 3]]);
    // Then several invalidations at one instant no longer have an infinite rate, and they age: 2 / 1 against 2 / 0.
    let twins: [&[u64]; 4] = [&[99, 99, 99], &[100, 100, 100], &[], &[5]];
    assert_eq!(lists(&now, twins, 100), [vec![0, 1], vec![3]]);
    // Equal rates, 2 / 20 and 4 / 40: the lowest id.
    let equal: [&[u64]; 4] = [&[10, 20, 30, 40, 50], &[10, 20, 30], &[3], &[4]];
    assert_eq!(lists(&rates(&[]), equal, 100), [vec![0, 1], vec![2, 3]]);
    // A block without invalid pages is in no list.
    assert_eq!(lists(&rates(&[]), [&[], &[], &[], &[1]], 100), [vec![], vec![3]]);
}

#[test]
fn fully_invalid_blocks_have_their_place() {
    // Block 1 is fully invalid at 9 / 9 us, block 0 at rate 1 / 50 us.
    let full: [&[u64]; 4] =
        [&[10, 60], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], &[1; 10], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]];
    assert_eq!(lists(&rates(&[]), full, 100), [vec![1, 0], vec![3, 2]]);
    let by_rate = rates(&[("fully_invalid", "by-rate")]);
    assert_eq!(lists(&by_rate, full, 100), [vec![0, 1], vec![3, 2]]);
}

#[test]
fn a_page_lost_before_the_seal_counts_from_then() {
    let mut table = BlockTable::new(1, 2, 10);
    let mut policy = Victim::build(&rates(&[]), &table);
    policy.init(&table, 0);
    for (block, lost) in [(0usize, 10), (1, 40)] {
        (table.valid[block], table.fill[block].bound) = (9, 9);
        table.state[block] = BlockState::Open;
        table.now = Nanos(lost);
        table.valid[block] -= 1;
        policy.on_invalidate_open(BlockId(block as u32), &table, 0);
    }
    for block in 0..2 {
        (table.valid[block], table.state[block]) = (9, BlockState::Sealed);
        policy.on_seal(BlockId(block as u32), &table, 0);
        table.now = Nanos(50);
        table.valid[block] -= 1;
        policy.on_invalidate(BlockId(block as u32), &table, 0);
    }
    // 1 / 40 against 1 / 10.
    assert_eq!(policy.candidates(PoolId(0), &table, 0), [BlockId(0), BlockId(1)]);
}

// ---------------------------------------------------------------- algorithm 1 over the device

/// The policy, and algorithm 1 to the letter beside it: every victim must be the first of the algorithm's list.
struct CheckedVictim {
    policy: Victim,
    literal: Algorithm1,
    asked: Option<BlockId>,
    /// Victims, and pages that became invalid in open blocks.
    seen: Arc<[AtomicU64; 2]>,
}

impl VictimPolicy for CheckedVictim {
    fn init(&mut self, table: &BlockTable, clock: u64) {
        self.policy.init(table, clock);
        self.literal.restart(table, clock);
    }
    fn on_seal(&mut self, block: BlockId, table: &BlockTable, clock: u64) {
        self.policy.on_seal(block, table, clock);
        self.literal.sealed(block, table, clock);
    }
    fn on_invalidate(&mut self, block: BlockId, table: &BlockTable, clock: u64) {
        self.policy.on_invalidate(block, table, clock);
        self.literal.invalid_page(block, table, clock);
    }
    fn on_invalidate_open(&mut self, block: BlockId, table: &BlockTable, clock: u64) {
        self.seen[1].fetch_add(1, Ordering::Relaxed);
        self.policy.on_invalidate_open(block, table, clock);
        self.literal.invalid_page(block, table, clock);
    }
    fn on_leave(&mut self, block: BlockId, table: &BlockTable) {
        assert_eq!(self.asked.take(), Some(block), "the victim is not the first of the list");
        self.policy.on_leave(block, table);
        self.literal.leaves(block);
        self.seen[0].fetch_add(1, Ordering::Relaxed);
    }
    fn select(
        &mut self,
        pool: PoolId,
        table: &BlockTable,
        clock: u64,
        rng: &mut Stream,
    ) -> Option<BlockId> {
        self.asked = self.literal.prioritized(table, clock).first().copied();
        self.policy.select(pool, table, clock, rng)
    }
    fn orders_pools(&self) -> bool {
        self.policy.orders_pools()
    }
    fn first_pool(
        &self,
        pools: &mut dyn Iterator<Item = PoolId>,
        table: &BlockTable,
        clock: u64,
    ) -> Option<PoolId> {
        self.policy.first_pool(pools, table, clock)
    }
}

struct CheckedFactory(PolicySpec, Arc<[AtomicU64; 2]>);

impl PolicyFactory for CheckedFactory {
    fn victim(&self, table: &BlockTable) -> Option<Box<dyn VictimPolicy>> {
        let literal = Algorithm1::new(&self.0, table.len());
        let policy = Victim::build(&self.0, table);
        Some(Box::new(CheckedVictim { policy, literal, asked: None, seen: self.1.clone() }))
    }
}

#[test]
fn the_next_victim_is_the_first_of_the_whole_devices_list() {
    let small = [
        ("device.blocks_per_plane", "64"),
        ("device.pages_per_block", "16"),
        ("device.user_capacity", "24 MiB"),
    ];
    for name in ["invalidation-rate", "invalidation-rate-bbgc"] {
        for clock in ["last-invalidation", "now"] {
            let config = preset(name, &[&small[..], &[("gc.victim.clock", clock)]].concat());
            let seen: Arc<[AtomicU64; 2]> = Arc::default();
            let watch = CheckedFactory(config.gc.victim.clone(), seen.clone());
            let plugs = Plugs::new(Arc::new(watch));
            let ftl = Ftl::with_plugs(&config, &plugs);
            let mut ssd = Ssd::with_plugs(&config, ftl, 0, &plugs);
            ssd.audit_every(997);
            let mut rng = Stream::new(3, "writes");
            let user = u64::from(config.device.user_pages);
            // Slowly, because one collection at a time has to keep up, or the reserve steps in.
            for i in 0..25_000 {
                let lpn = if rng.chance(0.8) { rng.below(user / 5) } else { rng.below(user) };
                let op = if rng.chance(0.05) { Op::Trim } else { Op::Write };
                let request = pages(op, lpn, 1 + rng.below(3).min(user - lpn - 1));
                ssd.submit(Nanos::millis(i), &request, None).unwrap();
            }
            finish(&mut ssd).unwrap();
            let gc = ssd.measured().gc;
            assert_eq!((gc.foreground, gc.reserve_promotions), (0, 0), "{name}");
            let [victims, early] = [0, 1].map(|i: usize| seen[i].load(Ordering::Relaxed));
            assert!(gc.calls == victims && early > 100, "{name}: {victims} victims, {early} early");
            assert!(gc.calls > 300 && gc.deferred > 300, "{name}: {gc:?}");
        }
    }
}

#[test]
fn fully_invalid_blocks_may_be_collected_at_once() {
    for (word, calls) in [("head", 0), ("immediate", 3)] {
        let config = preset(
            "invalidation-rate",
            &[
                ("device.blocks_per_plane", "24"),
                ("device.pages_per_block", "16"),
                ("device.user_capacity", "12 MiB"),
                ("gc.victim.fully_invalid", word),
            ],
        );
        let mut ssd = Ssd::new(&config, Ftl::new(&config), 0);
        // 16 planes in turn: 3 blocks of plane 0, then all of their pages are overwritten.
        let writes = (0..48).chain(0..48).map(|i| pages(Op::Write, i * 16, 1));
        closed(&mut ssd, 1, writes).unwrap();
        finish(&mut ssd).unwrap();
        assert_eq!(
            (ssd.measured().gc.calls, ssd.measured().gc.victim_valid_sum),
            (calls, 0),
            "{word}"
        );
        ssd.audit().unwrap();
    }
}

// ---------------------------------------------------------------- one block; PBGC and BBGC

/// One plane with 70 % used, just before the write that starts the collection of block 0, which has `valid` valid
/// pages: 0 to `valid - 1`.
fn about_to_collect(name: &str, valid: u64, sets: &[(&str, &str)]) -> Ssd {
    let one_plane = [
        ("device.channels", "2"),
        ("device.planes_per_chip", "1"),
        ("device.blocks_per_plane", "16"),
        ("device.user_capacity", "12 MiB"),
        ("gc.victim.ratio", "0.69"),
        ("gc.trigger.scope", "pool"),
    ];
    let config = preset(name, &[&one_plane[..], sets].concat());
    let mut ssd = Ssd::new(&config, Ftl::new(&config), 0);
    // Even pages are on plane 0: 1434 of its 2048 pages are 70 %.
    let first = 0..128;
    let again = valid..128;
    let rest = 128..1434 - (128 - valid) - 1;
    for i in first.chain(again).chain(rest) {
        closed(&mut ssd, 1, [pages(Op::Write, 2 * i, 1)]).unwrap();
    }
    assert_eq!(ssd.measured().gc.calls, 0);
    ssd
}

#[test]
fn one_block_takes_as_long_as_the_paper_says() {
    for name in ["invalidation-rate", "invalidation-rate-conventional", "invalidation-rate-bbgc"] {
        for (valid, us) in [(38, 10_390), (39, 10_645), (0, 700), (1, 955)] {
            let mut ssd = about_to_collect(name, valid, &[]);
            closed(&mut ssd, 1, [pages(Op::Write, 2 * 1434, 1)]).unwrap();
            finish(&mut ssd).unwrap();
            ssd.quiesce().unwrap();
            let gc = ssd.measured().gc;
            assert_eq!((gc.calls, gc.jobs_done, gc.victim_valid_sum), (1, 1, valid), "{name}");
            assert_eq!(gc.job_time_ns_max, us * 1000, "{name}: {valid} valid pages");
        }
    }
}

/// Latencies in us of a read of a page that is moved first, of one of another block, and of a write, on the plane that
/// collects, and of a read elsewhere; all arrive in the middle of the second move. Also the duration of the job.
fn during_a_job(name: &str, sets: &[(&str, &str)]) -> ([u64; 4], u64) {
    let mut ssd = about_to_collect(name, 39, sets);
    closed(&mut ssd, 1, [pages(Op::Write, 1, 1)]).unwrap();
    let last = closed(&mut ssd, 1, [pages(Op::Write, 76, 1)]).unwrap()[0].at;
    let at = Nanos(last.0 + 300_000);
    let others = [(Op::Read, 0), (Op::Read, 256), (Op::Write, 258), (Op::Read, 1)];
    let first = ssd.submitted();
    for (op, lpn) in others {
        ssd.submit(at, &pages(op, lpn, 1), None).unwrap();
    }
    let mut done = finish(&mut ssd).unwrap();
    ssd.quiesce().unwrap();
    done.sort_by_key(|c| c.id);
    assert_eq!(done[0].id.0, first);
    assert_eq!(ssd.measured().gc.calls, 1, "{name}");
    let latencies = std::array::from_fn(|i| (done[i].at.0 - at.0) / 1000);
    (latencies, ssd.measured().gc.job_time_ns_max / 1000)
}

#[test]
fn pbgc_blocks_its_plane_and_bbgc_its_block() {
    // The job begins with the last write and takes 38 moves and an erase; 300 us of it have passed.
    let rest = 10_390 - 300;
    let ([moved, other, write, elsewhere], took) = during_a_job("invalidation-rate", &[]);
    assert_eq!((took, elsewhere), (10_390, 25), "only the plane is closed");
    // Then the reads and the write follow in order of their arrival.
    assert_eq!((moved, other, write), (rest + 25, rest + 50, rest + 280));

    // The second move programs until 510 us; then the host's read and write alternate with the moves, first come first
    // served, and the read of what has been moved waits for the erase.
    let ([moved, other, write, elsewhere], took) = during_a_job("invalidation-rate-bbgc", &[]);
    assert_eq!((other, elsewhere), (210 + 25, 25));
    assert_eq!(write, 210 + 25 + 230);
    assert_eq!((took, moved), (10_390 + 255, rest + 255 + 25), "the whole job");

    let page = ("gc.blocking.granularity", "page");
    let ([moved, other, write, _], took) = during_a_job("invalidation-rate-bbgc", &[page]);
    assert_eq!((moved, other, write), (210 + 25, 210 + 50, 210 + 280), "it has been moved");
    assert_eq!(took, 10_390 + 280);

    // Giving way is another order: nothing changes for a read whose page is moved.
    let host_first = ("sched.order", "host-first");
    let ([_, other, ..], _) = during_a_job("invalidation-rate-bbgc", &[page, host_first]);
    assert_eq!(other, 210 + 50);
}

// ---------------------------------------------------------------- adaptive-channel

/// G(t), as the paper writes it, rounded up; `used` and `all` pages.
fn g_of_t(used: u64, all: u64) -> u64 {
    let (used, all) = (u128::from(used), u128::from(all));
    if used * 100 < 50 * all {
        return 0;
    }
    if used * 100 > 85 * all {
        return 4;
    }
    (4 * (100 * used - 50 * all)).div_ceil(35 * all) as u64
}

/// Random writes, TRIMs and reads with pauses, slowed down by this factor. Returns the log, and the pages of the
/// device.
fn with_pauses(name: &str, slowly: u64, sets: &[(&str, &str)]) -> (Ssd, Vec<OpRecord>, u64) {
    let small = [
        ("device.planes_per_chip", "1"),
        ("device.blocks_per_plane", "64"),
        ("device.pages_per_block", "16"),
        ("device.user_capacity", "14 MiB"),
    ];
    let config = preset(name, &[&small[..], sets].concat());
    let mut ssd = Ssd::new(&config, Ftl::new(&config), 0);
    ssd.audit_every(101);
    let mut rng = Stream::new(5, "pauses");
    let user = u64::from(config.device.user_pages);
    let mut at = 0;
    for _ in 0..20_000 {
        at += slowly * if rng.chance(0.02) { 30_000_000 } else { rng.below(200_000) };
        let lpn = rng.below(user);
        let op = match rng.below(10) {
            0 => Op::Trim,
            1 | 2 => Op::Read,
            _ => Op::Write,
        };
        let count = 1 + rng.below(3).min(user - lpn - 1);
        ssd.submit(Nanos(at), &pages(op, lpn, count), None).unwrap();
    }
    finish(&mut ssd).unwrap();
    let log = operations_of(&mut ssd);
    (ssd, log, 8 * 64 * 16)
}

/// Channel, begin (the choice of the victim) and end of every job.
fn jobs(log: &[OpRecord]) -> Vec<(u32, u64, u64)> {
    let mut jobs = Vec::new();
    for channel in 0..8 {
        let mut begin = None;
        for r in log.iter().filter(|r| r.cause == Cause::Gc && r.place.channel == channel) {
            let from = *begin.get_or_insert(r.queued.0);
            if r.op == FlashOp::Erase {
                jobs.push((channel, from, r.end.0));
                begin = None;
            }
        }
    }
    jobs
}

#[test]
fn no_more_than_g_channels_are_active() {
    let (ssd, log, all) = with_pauses("adaptive-channel", 1, &[]);
    let gc = ssd.measured().gc;
    assert_eq!((gc.foreground, gc.reserve_promotions), (0, 0), "no reserve work in this run");
    let jobs = jobs(&log);
    assert!(jobs.len() > 500 && gc.deferred > 100, "{} jobs, {gc:?}", jobs.len());
    // Pages bound when programs start and freed when erases end.
    let mut changes: Vec<(u64, i64)> = log
        .iter()
        .filter_map(|r| match r.op {
            FlashOp::Read => None,
            FlashOp::Program => Some((r.start.0, 1)),
            FlashOp::Erase => Some((r.end.0, -16)),
        })
        .collect();
    changes.sort_unstable();
    let mut most = [0; 5];
    for &(channel, begin, _) in &jobs {
        // What is bound at this instant is bound after collection has been considered.
        let before = changes.iter().filter(|c| c.0 < begin || (c.0 == begin && c.1 < 0));
        let used: i64 = before.map(|c| c.1).sum();
        let active = jobs.iter().filter(|j| j.1 <= begin && begin < j.2).count() as u64;
        let allowed = g_of_t(used as u64, all);
        assert!(
            active <= allowed,
            "{active} > {allowed} channels at {begin} ns, channel {channel}"
        );
        most[allowed as usize] = most[allowed as usize].max(active);
    }
    assert!(most[1] == 1 && most[2] == 2, "the limit is reached: {most:?}");
}

#[test]
fn a_started_job_runs_to_its_erase_and_starts_on_an_idle_channel() {
    let together = |log: &[OpRecord]| {
        let jobs = jobs(log);
        let inside = |r: &&OpRecord| {
            let mine = |&(c, begin, end): &(u32, u64, u64)| {
                c == r.place.channel && begin < r.start.0 && r.start.0 < end
            };
            r.cause == Cause::Host && jobs.iter().any(mine)
        };
        log.iter().filter(inside).count()
    };
    for name in [
        "adaptive-channel",
        "adaptive-channel-conv-0-all",
        "adaptive-channel-conv-0.7-all",
        "adaptive-channel-conv-0.7-half",
    ] {
        let (ssd, log, _) = with_pauses(name, 1, &[]);
        assert_eq!(ssd.measured().gc.foreground, 0, "{name}");
        assert_eq!(together(&log), 0, "{name}: a host operation within a job");
        for (channel, begin, _) in jobs(&log) {
            let busy = log.iter().any(|r| {
                let here = r.place.channel == channel && r.cause == Cause::Host;
                here && r.queued.0 <= begin && begin < r.end.0
            });
            assert!(!busy, "{name}: channel {channel} is not idle at {begin} ns");
        }
    }
    let by_age = [("gc.blocking", "none"), ("sched.order", "fifo")];
    let (_, log, _) = with_pauses("adaptive-channel", 1, &by_age);
    assert!(together(&log) > 100, "operations alternate by age");
}

#[test]
fn the_baselines_start_where_they_say_and_half_is_half() {
    for (name, from, most) in [
        ("adaptive-channel-conv-0-all", 0, 8),
        ("adaptive-channel-conv-0.7-all", 70, 8),
        ("adaptive-channel-conv-0.7-half", 70, 4),
    ] {
        let (_, log, all) = with_pauses(name, 1, &[]);
        let jobs = jobs(&log);
        let first = jobs.iter().map(|j| j.1).min().unwrap();
        let programs = log.iter().filter(|r| r.op == FlashOp::Program && r.start.0 < first).count();
        assert!(programs as u64 * 100 >= from * all, "{name}: {programs} of {all} pages used");
        let active = |at: u64| jobs.iter().filter(|j| j.1 <= at && at < j.2).count();
        let found = jobs.iter().map(|j| active(j.1)).max().unwrap();
        assert!(found <= most && found > most / 2, "{name}: {found} channels at once");
    }
}

#[test]
fn channels_are_counted_whatever_the_pools_are() {
    // Two planes per channel, each its own pool: both may collect while their channel is active.
    for pool in ["plane", "channel", "device"] {
        let sets = [
            ("device.planes_per_chip", "2"),
            ("device.channels", "2"),
            ("device.user_capacity", "6 MiB"),
            ("alloc.pool", pool),
            ("gc.concurrency.gmax", "1"),
            ("gc.concurrency.theta1", "0"),
            ("gc.concurrency.theta2", "0"),
        ];
        let (ssd, log, _) = with_pauses("adaptive-channel", 6, &sets);
        assert_eq!(ssd.measured().gc.foreground, 0, "{pool}");
        let mut open: Vec<(u32, u32, u64, u64)> = Vec::new();
        let (mut begun, mut both) = (std::collections::BTreeMap::new(), false);
        for r in log.iter().filter(|r| r.cause == Cause::Gc) {
            let place = (r.place.channel, r.place.plane);
            let from = *begun.entry(place).or_insert(r.queued.0);
            if r.op == FlashOp::Erase {
                open.push((place.0, place.1, from, r.end.0));
                begun.remove(&place);
            }
        }
        if pool != "device" {
            for a in &open {
                for b in open.iter().filter(|b| a.2 <= b.2 && b.2 < a.3) {
                    assert_eq!(a.0, b.0, "{pool}: two channels at {} ns", b.2);
                    both |= a.1 != b.1;
                }
            }
        }
        assert!(open.len() > 50, "{pool}: {} jobs", open.len());
        assert_eq!(both, pool == "plane", "{pool}");
    }
}
