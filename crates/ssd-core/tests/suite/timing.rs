//! Time is exact: idle latencies to the nanosecond, Lindley's recursion for every request, saturation, Little's law,
//! queueing formulas, and the guarantees of orders and blocking scopes.

use crate::rig::{self, alone, closed, device, free_blocks, named, whole, with_pages};
use ssd_core::config::{
    Blocking, BlockingScope, BusyUnit, Config, DataMode, Frontiers, Granularity, PoolScope,
    TimingModel,
};
use ssd_core::host::device::Device;
use ssd_core::host::request::{Completion, Op, Request};
use ssd_core::metrics::counters::Cause;
use ssd_core::plug::Value;
use ssd_core::rng::Stream;
use ssd_core::sim::logs::operations::{FlashOp, OpRecord};
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::Nanos;

const MODELS: [TimingModel; 2] = [TimingModel::Serial, TimingModel::Pipelined];

fn timed(model: TimingModel, shape: [u32; 3], blocks: u32, pages: u32) -> Config {
    let planes: u32 = shape.iter().product();
    let mut c = device(shape, blocks, pages, planes * (blocks - 4) * pages);
    let t = &mut c.timing;
    t.model = model;
    (t.read_ns, t.program_ns, t.erase_ns) = (50_001, 600_007, 3_000_011);
    (t.transfer_ns, t.command_ns, t.sram_ns) = (20_003, 305, 71);
    c.gc.reserve = 1;
    c.gc.trigger = vec![free_blocks(0)];
    c
}

#[test]
fn idle_latencies_are_exact() {
    for model in MODELS {
        let c = timed(model, [1, 1, 1], 16, 8);
        let command = if model == TimingModel::Serial { 0 } else { 305 };
        let page = 20_003 + 2 * 71;
        let (read, write) = (command + 50_001 + page, command + page + 600_007);
        let mut ssd = with_pages(&c, 40);
        assert_eq!(alone(&mut ssd, whole(Op::Read, 3, 1)), read);
        assert_eq!(alone(&mut ssd, whole(Op::Write, 3, 1)), write);
        assert_eq!(alone(&mut ssd, whole(Op::Read, 3, 1)), read);
        assert_eq!(alone(&mut ssd, whole(Op::Trim, 3, 1)), 71);
        assert_eq!(alone(&mut ssd, whole(Op::Read, 3, 1)), 71, "unmapped");
        assert_eq!(alone(&mut ssd, Request::new(Op::Flush, 0, 0)), 0);
        // Part of a page: existing data are read first; without data, nothing is read.
        assert_eq!(alone(&mut ssd, Request::new(Op::Write, 5 * 4 + 1, 2)), read + write);
        assert_eq!(alone(&mut ssd, Request::new(Op::Write, 3 * 4 + 1, 2)), write);
        assert_eq!(alone(&mut ssd, Request::new(Op::Read, 5 * 4 + 1, 1)), read);
        // A TRIM of parts of pages unmaps nothing.
        assert_eq!(alone(&mut ssd, Request::new(Op::Trim, 6 * 4 + 1, 6)), 71);
        assert_eq!(alone(&mut ssd, whole(Op::Read, 6, 1)), read);
    }
}

#[test]
fn collection_takes_what_its_operations_take() {
    for model in MODELS {
        let mut c = timed(model, [1, 1, 1], 16, 8);
        c.metrics.op_log = true;
        c.controller.ecc_ns = 977;
        c.gc.trigger = vec![free_blocks(4)];
        let mut ssd = with_pages(&c, 90);
        for lpn in [0, 2, 4, 6, 8, 10] {
            alone(&mut ssd, whole(Op::Write, lpn, 1));
        }
        rig::finish(&mut ssd).unwrap();
        ssd.run_until(Nanos(ssd.now().0 + 1_000_000_000), &mut Vec::new()).unwrap();
        let mut log = Vec::new();
        ssd.drain_operations(&mut log);
        let command = if model == TimingModel::Serial { 0 } else { 305 };
        let mut seen = [0; 3];
        for r in log.iter().filter(|r| r.cause == Cause::Gc) {
            let (kind, expected) = match r.op {
                FlashOp::Read => (0, command + 50_001 + 20_003 + 71),
                FlashOp::Program => (1, command + 20_003 + 71 + 600_007),
                FlashOp::Erase => (2, command + 3_000_011),
            };
            seen[kind] += 1;
            assert_eq!((r.end - r.start).0, expected, "{:?}", r.op);
        }
        assert_eq!(seen, [10, 10, 2], "reads, programs and erases");
        let reads = log.iter().filter(|r| r.cause == Cause::Gc && r.op == FlashOp::Read);
        for read in reads {
            let program = log.iter().find(|w| {
                w.cause == Cause::Gc
                    && w.op == FlashOp::Program
                    && w.lpn == read.lpn
                    && w.queued >= read.end
            });
            assert_eq!(program.map(|w| w.queued.0), Some(read.end.0 + 977), "ECC lies between");
        }
    }
}

#[test]
fn copies_programmed_together_cross_the_bus_one_after_the_other() {
    let mut c = timed(TimingModel::Pipelined, [1, 1, 2], 16, 8);
    (c.timing.multi_plane, c.timing.busy_unit) = (true, BusyUnit::Chip);
    (c.alloc.pool, c.gc.window, c.controller.ecc_ns) = (PoolScope::Chip, 2, 0);
    (c.gc.trigger, c.metrics.op_log) = (vec![free_blocks(8)], true);
    c.sched.order = named(ssd_core::sched::order::ALL, "fifo");
    let mut ssd = with_pages(&c, 180);
    // Seven pages of its block are left to move: two reads, then two programs.
    alone(&mut ssd, whole(Op::Write, 0, 1));
    ssd.run_until(Nanos(1_000_000_000), &mut Vec::new()).unwrap();
    let mut log = Vec::new();
    ssd.drain_operations(&mut log);
    let copies: Vec<_> =
        log.iter().filter(|r| r.cause == Cause::Gc && r.op == FlashOp::Program).collect();
    let mut sizes = Vec::new();
    for together in copies.chunk_by(|a, b| a.start == b.start) {
        let pages = together.len() as u64;
        for copy in together {
            assert_eq!((copy.end - copy.start).0, 305 + pages * (20_003 + 71) + 600_007);
        }
        let mut planes: Vec<_> = together.iter().map(|r| r.place.plane).collect();
        planes.sort_unstable();
        sizes.push(planes);
    }
    assert_eq!(sizes[..3], [[0, 1], [0, 1], [0, 1]]);
    assert_eq!(sizes[3..], [[0]]);
}

/// One unit, first come, first served: reads of written pages, writes of other pages.
fn queue(
    reads: f64,
    load: f64,
    arrivals: u64,
    seed: u64,
) -> (Vec<(u64, u64)>, Vec<Completion>, Ssd) {
    let mut c = timed(TimingModel::Serial, [1, 1, 1], 64 + (arrivals / 1000) as u32, 1024);
    c.sched.order = named(ssd_core::sched::order::ALL, "fifo");
    let (first_write, user) = (1024, c.device.user_pages);
    let mut ssd = with_pages(&c, first_write);
    let t = ssd_core::nand::timing::Times::new(&c);
    let service = [t.read_ns + t.host_bus_ns, t.program_ns + t.host_bus_ns];
    let mean = reads * service[0] as f64 + (1.0 - reads) * service[1] as f64;
    let mut rng = Stream::new(seed, "arrivals");
    let (mut now, mut done, mut jobs, mut next) = (0.0, Vec::new(), Vec::new(), first_write);
    for _ in 0..arrivals {
        now += rng.exponential() * mean / load;
        let read = rng.chance(reads);
        let request = if read {
            whole(Op::Read, rng.below(u64::from(first_write)) as u32, 1)
        } else {
            next += 1;
            assert!(next < user, "the device is too small");
            whole(Op::Write, next, 1)
        };
        ssd.submit(Nanos(now as u64), &request, None).unwrap();
        jobs.push((now as u64, service[usize::from(!read)]));
    }
    while ssd.outstanding() > 0 {
        ssd.run_until(Nanos::NEVER, &mut done).unwrap();
    }
    assert_eq!(ssd.measured().gc.calls, 0);
    done.sort_by_key(|c| c.id);
    (jobs, done, ssd)
}

/// `w' = max(0, w + S - (a' - a))`, in integers, for every request.
fn lindley(jobs: &[(u64, u64)], done: &[Completion]) -> f64 {
    let (mut free_at, mut waited) = (0, 0u128);
    for (&(at, service), c) in jobs.iter().zip(done) {
        let start = free_at.max(at);
        free_at = start + service;
        assert_eq!((c.arrival.0, c.at.0), (at, free_at), "request {}", c.id.0);
        waited += u128::from(start - at);
    }
    assert_eq!(jobs.len(), done.len());
    waited as f64 / jobs.len() as f64
}

#[test]
fn every_request_obeys_lindley_and_the_means_their_formulas() {
    // (share of reads, load, tolerance): M/D/1 first, then Pollaczek-Khinchine.
    for (reads, load, within) in
        [(1.0, 0.5, 0.02), (1.0, 0.8, 0.04), (0.7, 0.3, 0.03), (0.7, 0.6, 0.03)]
    {
        let (jobs, done, ssd) = queue(reads, load, 200_000, 5);
        let waited = lindley(&jobs, &done);
        let [r, w] = [70_146.0, 620_152.0];
        let mean = reads * r + (1.0 - reads) * w;
        let square = reads * r * r + (1.0 - reads) * w * w;
        let expected = load / mean * square / (2.0 * (1.0 - load));
        assert!((waited / expected - 1.0).abs() < within, "{waited} against {expected}");
        // Little's law, exactly, and the utilisation law.
        let m = &ssd.measured();
        let latencies: u128 = done.iter().map(|c| u128::from((c.at - c.arrival).0)).sum();
        assert!(m.in_system.closed());
        assert_eq!(m.in_system.integral(), latencies);
        assert_eq!(m.read_parts.total() + m.write_parts.total(), latencies);
        let busy: u64 = jobs.iter().map(|j| j.1).sum();
        assert_eq!((ssd.chip_busy_ns(), ssd.channel_busy_ns()), (vec![busy], vec![busy]));
    }
}

#[test]
fn regular_arrivals_never_wait() {
    let c = timed(TimingModel::Serial, [1, 1, 1], 16, 8);
    let mut ssd = with_pages(&c, 40);
    let service = 50_001 + 20_003 + 142;
    for i in 0..1000 {
        ssd.submit(Nanos(i * service), &whole(Op::Read, (i % 40) as u32, 1), None).unwrap();
    }
    let mut done = Vec::new();
    while ssd.outstanding() > 0 {
        ssd.run_until(Nanos::NEVER, &mut done).unwrap();
    }
    assert!(done.iter().all(|c| (c.at - c.arrival).0 == service));
    assert_eq!(ssd.chip_busy_ns(), [1000 * service]);
}

/// Pages per nanosecond after the start.
fn throughput(c: &Config, op: Op, count: u64, written: u32) -> f64 {
    let mut ssd = with_pages(c, written);
    let planes: u32 = c.device.channels * c.device.chips_per_channel * c.device.planes_per_chip;
    let base = if op == Op::Write { written } else { 0 };
    let requests = (0..count).map(|i| {
        whole(
            op,
            base + (i % u64::from(if op == Op::Write { u32::MAX } else { written })) as u32,
            1,
        )
    });
    let done = closed(&mut ssd, 8 * planes as usize, requests).unwrap();
    assert_eq!(ssd.measured().gc.calls, 0);
    // Both ends at an instant of completions, so that whole rounds are counted.
    let (start, end) = (done[done.len() / 4].at, done[done.len() * 3 / 4].at);
    let between = done.iter().filter(|c| c.at > start && c.at <= end).count();
    between as f64 / (end - start).0 as f64
}

fn close(found: f64, expected: f64, what: &str) {
    assert!((found / expected - 1.0).abs() < 1e-3, "{what}: {found} pages/ns, not {expected}");
}

fn saturated(w: u32, planes: u32) -> Config {
    let mut c = timed(TimingModel::Pipelined, [2, w, planes], 8, 2048);
    let t = &mut c.timing;
    (t.read_ns, t.program_ns, t.transfer_ns, t.command_ns, t.sram_ns) =
        (50_000, 200_000, 25_000, 0, 0);
    c
}

#[test]
fn programs_saturate_as_the_formula_says() {
    for w in [1, 2, 4, 8, 9, 12] {
        let c = saturated(w, 1);
        let (chips, tx, tp) = (f64::from(w), 25_000.0, 200_000.0);
        let expected = 2.0 * chips / f64::max(chips * tx, tx + tp);
        close(throughput(&c, Op::Write, 8_000, 0), expected, "pipelined programs");
        let mut serial = c.clone();
        serial.timing.model = TimingModel::Serial;
        close(throughput(&serial, Op::Write, 8_000, 0), 2.0 * chips / (tx + tp), "serial programs");
        serial.timing.busy_unit = BusyUnit::Channel;
        close(throughput(&serial, Op::Write, 8_000, 0), 2.0 / (tx + tp), "one unit a channel");
    }
}

#[test]
fn multi_plane_programs_saturate_as_the_formula_says() {
    for (w, planes) in [(1, 2), (2, 2), (4, 2), (1, 4), (6, 2)] {
        let mut c = saturated(w, planes);
        (c.timing.multi_plane, c.alloc.pool) = (true, PoolScope::Chip);
        let all = f64::from(w * planes);
        let (tx, tp) = (25_000.0, 200_000.0);
        let expected = 2.0 * all / f64::max(all * tx, f64::from(planes) * tx + tp);
        close(throughput(&c, Op::Write, 16_000, 0), expected, "multi-plane programs");
    }
}

fn reads_saturate(chips: &[u32]) {
    for &w in chips {
        let mut c = saturated(w, 1);
        let t = &mut c.timing;
        (t.command_ns, t.read_ns, t.transfer_ns) = (1_000, 50_000, 20_000);
        let (chips, tc, tr, tx) = (f64::from(w), 1e3, 50e3, 20e3);
        let expected = 2.0 * f64::min(1.0 / (tc + tx), chips / (tc + tr + tx));
        close(throughput(&c, Op::Read, 16_000, 4000), expected, "reads");
    }
}

#[test]
fn reads_saturate_as_the_formula_says() {
    reads_saturate(&[1, 2, 3, 4, 6, 8]);
}

/// A read leaves the array at the instant in which the last request completes: its page still crosses the bus.
#[test]
fn what_waits_for_a_bus_as_a_run_stops_is_logged() {
    let mut c = device([2, 1, 1], 8, 8, 64);
    (c.timing.model, c.metrics.op_log) = (TimingModel::Pipelined, true);
    let mut ssd = with_pages(&c, 64);
    ssd.submit(Nanos(0), &whole(Op::Write, 0, 1), None).expect("a valid request");
    ssd.submit(Nanos(470), &whole(Op::Read, 1, 1), None).expect("a valid request");
    let mut done = Vec::new();
    assert_eq!(ssd.run_until(Nanos::NEVER, &mut done).expect("the write completes"), Nanos(520));
    assert_eq!((done.len(), done[0].op), (1, Op::Write));
    let log = rig::operations_of(&mut ssd);
    let rows: Vec<_> = log.iter().map(|op| (op.op, op.start.0, op.end.0, op.bus)).collect();
    let [in_at, out_at] = [(0, 20), (520, 540)].map(|(from, to)| Some((Nanos(from), Nanos(to))));
    assert_eq!(rows, [(FlashOp::Program, 0, 520, in_at), (FlashOp::Read, 470, 540, out_at)]);
}

/// One chip under collection with reads and writes of other blocks queued all the time.
fn busy_log(
    order: &str,
    blocking: Blocking,
    shape: [u32; 3],
    pool: PoolScope,
) -> (Ssd, Vec<OpRecord>) {
    let mut c = timed(TimingModel::Serial, shape, 16, 8);
    let planes: u32 = shape.iter().product();
    (c.gc.trigger, c.gc.blocking) = (vec![free_blocks(5)], blocking);
    (c.timing.busy_unit, c.alloc.pool) = (BusyUnit::Plane, pool);
    c.alloc.frontiers = Frontiers::HostGc;
    c.sched.order = named(ssd_core::sched::order::ALL, order);
    c.metrics.op_log = true;
    c.run.data = DataMode::Digest;
    let user = planes * 9 * 8;
    let mut ssd = with_pages(&c, user);
    ssd.audit_every(50);
    let mut rng = Stream::new(8, "busy");
    let requests = (0..3000).map(|_| {
        let op = if rng.chance(0.5) { Op::Read } else { Op::Write };
        whole(op, rng.below(u64::from(user)) as u32, 1)
    });
    closed(&mut ssd, 16, requests).unwrap();
    ssd.quiesce().unwrap();
    let mut log = Vec::new();
    ssd.drain_operations(&mut log);
    assert!(ssd.measured().gc.calls > 30, "{}", ssd.measured().gc.calls);
    (ssd, log)
}

const OPEN: Blocking = Blocking { scope: BlockingScope::None, granularity: Granularity::Step };

/// Pairs (started, passed over) of operations: the second waited when the first started.
fn overtakings(log: &[OpRecord]) -> impl Iterator<Item = (&OpRecord, &OpRecord)> {
    log.iter().enumerate().flat_map(move |(i, first)| {
        let waiting = move |w: &&OpRecord| w.queued < first.start && w.start > first.start;
        log[i + 1..].iter().take(64).filter(waiting).map(move |w| (first, w))
    })
}

#[test]
fn orders_do_what_they_say() {
    let rank = |r: &OpRecord| match (r.cause, r.op) {
        (Cause::Gc, FlashOp::Read) => 2,
        (Cause::Gc, _) => 3,
        (_, FlashOp::Read) => 0,
        _ => 1,
    };
    let one = [1, 1, 1];
    let (ssd, log) = busy_log("gc-first", OPEN, one, PoolScope::Plane);
    assert!(overtakings(&log).all(|(a, b)| rank(a) >= 2 || rank(b) < 2), "the host before GC");
    assert!(overtakings(&log).any(|(a, b)| rank(a) >= 2 && rank(b) < 2));
    drop(ssd);
    let (_, log) = busy_log("fifo", OPEN, one, PoolScope::Plane);
    // Only a host write may wait for room and be overtaken.
    let good = |a: &OpRecord, b: &OpRecord| rank(b) == 1 || a.queued <= b.queued;
    assert!(overtakings(&log).all(|(a, b)| good(a, b)), "younger before older");
    let (ssd, log) = busy_log("host-first", OPEN, one, PoolScope::Plane);
    let all_background = ssd.measured().gc.foreground == 0;
    let good = |a: &OpRecord, b: &OpRecord| match (rank(a), rank(b)) {
        (2 | 3, 0) => false,
        (2 | 3, 1) => !all_background,
        (1, 0) => false,
        (2, 3) => false,
        _ => true,
    };
    assert!(overtakings(&log).all(|(a, b)| good(a, b)), "host reads, host writes, GC");
    let (_, log) = busy_log("read-first", OPEN, one, PoolScope::Plane);
    let good = |a: &OpRecord, b: &OpRecord| match (rank(a), rank(b)) {
        (0, _) => true,
        (_, 0) => false,
        (_, 1) => true,
        _ => a.queued <= b.queued,
    };
    assert!(overtakings(&log).all(|(a, b)| good(a, b)), "reads, then by age");
}

/// Collections in the log: block, from its first operation to the end of its erase.
struct Collection {
    plane: (u32, u32, u32),
    block: u32,
    start: u64,
    end: u64,
    steps: Vec<(u64, u64)>,
}

fn collections(log: &[OpRecord]) -> Vec<Collection> {
    let place = |r: &OpRecord| (r.place.channel, r.place.chip, r.place.plane);
    let erases = log.iter().filter(|r| r.op == FlashOp::Erase);
    let mut found = Vec::new();
    for e in erases {
        let last =
            found.iter().rfind(|c: &&Collection| (c.plane, c.block) == (place(e), e.place.block));
        let since = last.map_or(0, |c| c.end);
        let mut steps = Vec::new();
        let reads = log.iter().filter(|r| {
            let here = (place(r), r.place.block) == (place(e), e.place.block);
            r.cause == Cause::Gc
                && r.op == FlashOp::Read
                && here
                && r.start.0 >= since
                && r.end <= e.start
        });
        for r in reads {
            let w = log.iter().find(|w| {
                w.cause == Cause::Gc
                    && w.op == FlashOp::Program
                    && w.lpn == r.lpn
                    && w.queued >= r.end
            });
            // Without a program: dropped when its read had ended.
            let end = w.filter(|w| w.queued == r.end).map_or(r.end, |w| w.end);
            steps.push((r.start.0, end.0));
        }
        steps.push((e.start.0, e.end.0));
        let start = steps[0].0;
        found.push(Collection {
            plane: place(e),
            block: e.place.block,
            start,
            end: e.end.0,
            steps,
        });
    }
    found
}

/// Whether a host operation that starts lies in the scope of `c`.
fn in_scope(scope: BlockingScope, c: &Collection, r: &OpRecord) -> bool {
    let plane = (r.place.channel, r.place.chip, r.place.plane);
    match scope {
        BlockingScope::None => false,
        BlockingScope::Block => {
            r.op == FlashOp::Read && (plane, r.place.block) == (c.plane, c.block)
        }
        BlockingScope::Plane => plane == c.plane,
        BlockingScope::Channel => plane.0 == c.plane.0,
        BlockingScope::Device => true,
    }
}

#[test]
fn what_is_blocked_waits_and_nothing_else_does() {
    use BlockingScope::{Block, Channel, Device, None, Plane};
    for scope in [None, Block, Plane, Channel, Device] {
        for granularity in [Granularity::Job, Granularity::Page, Granularity::Step] {
            let blocking = Blocking { scope, granularity };
            let (_, log) = busy_log("host-first", blocking, [2, 1, 2], PoolScope::Plane);
            let (mut inside_scope, mut outside_scope, mut between) = (0, 0, 0);
            let jobs = collections(&log);
            for r in log.iter().filter(|r| r.cause == Cause::Host) {
                for c in jobs.iter().filter(|c| c.start < r.start.0 && r.start.0 < c.end) {
                    let step = c.steps.iter().any(|s| s.0 < r.start.0 && r.start.0 < s.1);
                    match (in_scope(scope, c, r), step || granularity != Granularity::Step) {
                        (true, true) => inside_scope += 1,
                        (true, false) => between += 1,
                        (false, _) => outside_scope += 1,
                    }
                }
            }
            let name = format!("{blocking:?}");
            assert_eq!(inside_scope, 0, "{name}: it starts in what is closed");
            assert!(outside_scope > 0 || scope == Device, "{name}: others have to go on");
            if granularity == Granularity::Step && matches!(scope, Plane | Channel | Device) {
                assert!(between > 0, "{name}: it opens between steps");
            }
        }
    }
}

#[test]
fn a_read_of_the_block_under_collection_waits_until_its_page_has_moved() {
    let blocking = Blocking { scope: BlockingScope::Block, granularity: Granularity::Page };
    for (scope, waits) in [(BlockingScope::Block, true), (BlockingScope::None, false)] {
        let mut c = timed(TimingModel::Serial, [1, 1, 1], 16, 8);
        c.gc.blocking = Blocking { scope, ..blocking };
        (c.gc.trigger, c.metrics.op_log) = (vec![free_blocks(4)], true);
        let mut ssd = with_pages(&c, 80);
        // 10 blocks are full; the 12th is opened by the 9th write, and block 1 is the emptiest.
        for lpn in [1, 3, 5, 7, 11, 12, 13, 14, 15] {
            alone(&mut ssd, whole(Op::Write, lpn, 1));
        }
        assert_eq!(ssd.measured().gc.calls, 0);
        // Pages 9 and 10 are in the block that is collected now, page 70 in another.
        let start = ssd.now();
        let calls = |ssd: &Ssd| ssd.measured().gc.calls;
        ssd.submit(start, &whole(Op::Read, 9, 1), None).unwrap();
        let mut done = Vec::new();
        ssd.run_until(Nanos::NEVER, &mut done).unwrap();
        assert_eq!(calls(&ssd), 1, "a job has started");
        let at = ssd.now();
        ssd.submit(at, &whole(Op::Read, 10, 1), None).unwrap();
        ssd.submit(at, &whole(Op::Read, 70, 1), None).unwrap();
        done.clear();
        while done.len() < 2 {
            ssd.run_until(Nanos::NEVER, &mut done).unwrap();
        }
        let (of_10, of_70) =
            (done.iter().find(|c| c.id.0 == 10), done.iter().find(|c| c.id.0 == 11));
        let (of_10, of_70) = (of_10.unwrap().at.0 - at.0, of_70.unwrap().at.0 - at.0);
        assert!(of_70 < 900_000, "other blocks are open: {of_70}");
        // Queued first, it comes first unless its block is closed.
        assert_eq!(of_10 > of_70, waits, "{scope:?}: {of_10} and {of_70}");
    }
}

#[test]
fn host_latencies_do_not_depend_on_a_word_of_the_log() {
    let run = |log: bool| {
        let mut c = timed(TimingModel::Pipelined, [2, 2, 1], 16, 8);
        (c.metrics.op_log, c.metrics.request_log) = (log, log);
        c.gc.trigger = vec![free_blocks(4).with("hard", Value::Int(3))];
        let mut ssd = with_pages(&c, c.device.user_pages);
        let mut rng = Stream::new(9, "log");
        let user = u64::from(c.device.user_pages);
        let requests = (0..2000).map(|_| whole(Op::Write, rng.below(user) as u32, 1));
        let done = closed(&mut ssd, 16, requests).unwrap();
        (ssd.event_digest(), done)
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn a_bus_takes_the_data_of_a_program_before_those_of_a_read() {
    let mut c = rig::device([1, 4, 1], 16, 8, 256);
    (c.timing.model, c.timing.busy_unit) = (TimingModel::Pipelined, BusyUnit::Chip);
    let mut ssd = rig::with_pages(&c, 8);
    // The page of chip 1 has been read at 50, while the bus works for chip 2 from 45 to 65; at 65 chip 3 waits, too.
    for (at, op, lpn) in [(0, Op::Read, 1), (45, Op::Write, 2), (55, Op::Write, 3)] {
        ssd.submit(Nanos(at), &rig::whole(op, lpn, 1), None).expect("a valid request");
    }
    let mut done = rig::finish(&mut ssd).expect("they complete");
    done.sort_by_key(|c| c.id);
    let ends: Vec<u64> = done.iter().map(|c| c.at.0).collect();
    assert_eq!(ends, [65 + 20 + 20, 65 + 500, 65 + 20 + 500]);
}
