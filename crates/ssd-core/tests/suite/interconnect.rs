//! The interconnect, the buffers of the flash controllers and the selective path: times to the nanosecond, what crosses
//! how often, what never enters a queue, and that nothing waits in a circle.

use crate::cases::cases;
use crate::rig::{
    self,
    any_config::{RandomConfig, Spare, any_config},
};
use crate::rig::{alone, closed, device, filled, finish, free_blocks, used_space, whole};
use proptest::prelude::*;
use ssd_core::config::{
    BusyUnit, Config, GcPath, Input, InterconnectModel, Kernel, PoolScope, TimingModel, load,
};
use ssd_core::ftl::Ftl;
use ssd_core::host::device::Device;
use ssd_core::host::request::Op;
use ssd_core::metrics::counters::Cause;
use ssd_core::nand::interconnect::through;
use ssd_core::rng::Stream;
use ssd_core::sim::logs::operations::{FlashOp, OpRecord};
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::Nanos;

const PRESETS: [&str; 2] = ["noc-copyback", "noc-copyback-conventional"];

fn preset(name: &str) -> Config {
    let input = Input { preset: Some(name.into()), ..Input::default() };
    load::<Kernel>(&input).expect("a preset is valid").0
}

fn fresh(c: &Config) -> Ssd {
    Ssd::new(c, Ftl::new(c), 0)
}

/// A small, filled serial device with odd times and flits of half a page; its collection is busy.
fn busy(path: GcPath) -> Config {
    let mut c = device([2, 1, 2], 24, 8, 2 * 2 * 17 * 8);
    c.timing.model = TimingModel::Serial;
    c.timing.busy_unit = BusyUnit::Channel;
    (c.timing.transfer_ns, c.timing.sram_ns) = (20, 7);
    (c.alloc.pool, c.gc.path) = (PoolScope::Channel, path);
    (c.gc.reserve, c.gc.trigger) = (1, vec![free_blocks(3)]);
    c.sched.order = rig::named(ssd_core::sched::order::ALL, "fifo");
    c.interconnect.model = InterconnectModel::Formula;
    (c.interconnect.flit_bits, c.interconnect.slice_ns) = (128, 3);
    (c.controller.ecc_ns, c.metrics.op_log) = (11, true);
    c
}

/// Eight channels, and room for some writes without collection.
fn wide(model: InterconnectModel) -> Config {
    let mut c = busy(GcPath::Selective);
    (c.device.channels, c.interconnect.model) = (8, model);
    c.device.user_pages *= 4;
    c.gc.trigger = vec![free_blocks(0)];
    c
}

/// 128 flits of 128 bits through 13.5 slices of 3 ns: 421.5 ns.
const TRAVERSAL: u64 = 422;

/// Random overwrites at depth 8, run to the end. Returns the log.
fn overwritten(c: &Config, n: u32) -> (Ssd, Vec<OpRecord>) {
    let mut ssd = filled(c);
    let mut rng = Stream::new(5, "overwrites");
    let user = u64::from(c.device.user_pages);
    let requests = (0..n).map(|_| {
        let op = if rng.chance(0.2) { Op::Read } else { Op::Write };
        whole(op, rng.below(user) as u32, 1)
    });
    let requests: Vec<_> = requests.collect();
    assert_eq!(closed(&mut ssd, 8, requests).expect("it runs").len(), n as usize);
    finish(&mut ssd).expect("it ends");
    ssd.run_until(Nanos(ssd.now().0 + 1_000_000_000), &mut Vec::new()).expect("it ends");
    ssd.audit().expect("invariants hold");
    assert!(ssd.at_rest() && ssd.measured().gc.calls > 20);
    let mut log = Vec::new();
    ssd.drain_operations(&mut log);
    (ssd, log)
}

/// Each program of a copy with its preceding read.
fn copies(log: &[OpRecord]) -> Vec<(OpRecord, OpRecord)> {
    let of_gc = |op| log.iter().filter(move |r| r.cause == Cause::Gc && r.op == op);
    of_gc(FlashOp::Program)
        .map(|program| {
            let before = |r: &&OpRecord| {
                (r.lpn, r.sequence) == (program.lpn, program.sequence) && r.end <= program.start
            };
            (*of_gc(FlashOp::Read).rfind(before).expect("it was read"), *program)
        })
        .collect()
}

fn took(r: &OpRecord) -> u64 {
    (r.end - r.start).0
}

#[test]
fn idle_latencies_are_those_of_the_paper() {
    for name in PRESETS {
        let mut ssd = fresh(&preset(name));
        assert_eq!(alone(&mut ssd, rig_page(Op::Write)), 938_000);
        assert_eq!(alone(&mut ssd, rig_page(Op::Read)), 763_000);
        let mut c = preset(name);
        c.controller.traversals_host = 0;
        let mut ssd = fresh(&c);
        assert_eq!(alone(&mut ssd, rig_page(Op::Write)), 938_000 - 714_000);
        assert_eq!(alone(&mut ssd, rig_page(Op::Read)), 763_000 - 714_000);
        // As the formula says, not rounded to a microsecond.
        let mut c = preset(name);
        c.interconnect.rounding_ns = 1;
        let mut ssd = fresh(&c);
        assert_eq!(alone(&mut ssd, rig_page(Op::Write)), 224_000 + 713_792);
    }
}

/// Page 0 of a device with 4 KiB pages.
fn rig_page(op: Op) -> ssd_core::host::request::Request {
    ssd_core::host::request::Request::new(op, 0, 8)
}

#[test]
fn a_page_without_error_crosses_once_and_passes_no_queue() {
    let (ssd, log) = overwritten(&busy(GcPath::Selective), 1500);
    let copies = copies(&log);
    for (read, program) in &copies {
        assert_eq!(took(read), 50 + 20 + 7 + TRAVERSAL + 11, "up to the verdict");
        assert_eq!(took(program), 20 + 7 + 500, "from the buffer");
        // In W_gc it would wait behind what the host has sent meanwhile.
        assert_eq!((read.end, program.queued), (program.start, program.start));
        assert_eq!(read.place.channel, program.place.channel);
    }
    let (m, gc) = (&ssd.measured().controller, Cause::Gc.at());
    assert_eq!((m.from_buffer, m.in_error), (copies.len() as u64, 0));
    assert_eq!(m.traversals[gc], ssd.measured().flash.reads[gc]);
}

#[test]
fn a_page_in_error_comes_back_and_waits_in_its_queue() {
    for (path, probability) in [(GcPath::Selective, 1.0), (GcPath::Controller, 0.0)] {
        let mut c = busy(path);
        c.controller.page_error_probability = probability;
        let verdict = if path == GcPath::Selective { 11 } else { 0 };
        let (ssd, log) = overwritten(&c, 1500);
        let copies = copies(&log);
        for (read, program) in &copies {
            assert_eq!(took(read), 50 + 20 + 7 + TRAVERSAL + verdict);
            assert_eq!(took(program), TRAVERSAL + 7 + 20 + 500);
            assert_eq!(program.queued.0, read.end.0 + 11 - verdict, "decoded in both cases");
        }
        assert!(copies.iter().any(|(_, program)| program.start > program.queued), "W_gc waits");
        let (m, flash, gc) = (&ssd.measured().controller, &ssd.measured().flash, Cause::Gc.at());
        let in_error = if probability > 0.0 { flash.reads[gc] } else { 0 };
        assert_eq!((m.from_buffer, m.in_error), (0, in_error));
        assert_eq!(m.traversals[gc], flash.reads[gc] + flash.programs[gc]);
    }
}

#[test]
fn some_pages_in_error_cross_twice() {
    let mut c = busy(GcPath::Selective);
    c.controller.page_error_probability = 0.3;
    let (ssd, log) = overwritten(&c, 3000);
    let (m, flash, gc) = (&ssd.measured().controller, &ssd.measured().flash, Cause::Gc.at());
    let once = copies(&log).iter().filter(|(_, program)| took(program) == 527).count() as u64;
    assert_eq!(m.from_buffer, once);
    assert_eq!(m.traversals[gc], flash.reads[gc] + flash.programs[gc] - once);
    let share = m.in_error as f64 / flash.reads[gc] as f64;
    assert!((share - 0.3).abs() < 0.04, "{share}");
    assert_eq!((flash.reads[gc], flash.programs[gc], m.in_error, once), (1691, 1691, 507, 1184));
}

#[test]
fn a_copy_to_another_channel_crosses_again() {
    let mut c = busy(GcPath::Selective);
    c.alloc.pool = PoolScope::Device;
    c.alloc.placement = rig::named(ssd_core::ftl::place::ALL, "round-robin");
    c.device.user_pages = 2 * 2 * 22 * 8;
    c.gc.trigger = vec![free_blocks(2)];
    let (ssd, log) = overwritten(&c, 3000);
    let (mut here, mut there) = (0, 0);
    for (read, program) in copies(&log) {
        if read.place.channel == program.place.channel {
            assert_eq!((took(&program), program.start), (527, read.end));
            here += 1;
        } else {
            assert_eq!((took(&program), program.queued), (TRAVERSAL + 527, read.end));
            there += 1;
        }
    }
    assert!(here > 100 && there > 10, "{here} and {there}");
    let (m, gc) = (&ssd.measured().controller, Cause::Gc.at());
    assert_eq!(m.from_buffer, here);
    assert_eq!(m.traversals[gc], ssd.measured().flash.reads[gc] + there);
}

/// Pages held by a controller at once: from the start of their read to the end of their program.
fn most_held(log: &[OpRecord], channel: u32) -> usize {
    let held: Vec<_> = copies(log)
        .into_iter()
        .filter(|(read, _)| read.place.channel == channel)
        .map(|(read, program)| (read.start, program.end))
        .collect();
    let at = |t: Nanos| held.iter().filter(|(start, end)| *start <= t && t < *end).count();
    held.iter().map(|&(start, _)| at(start)).max().unwrap_or(0)
}

#[test]
fn buffers_limit_the_pages_of_a_channel_and_never_block_for_good() {
    for path in [GcPath::Controller, GcPath::Selective] {
        for model in
            [InterconnectModel::None, InterconnectModel::Formula, InterconnectModel::Slices]
        {
            let most = [1, 2, 3].map(|buffers| {
                let mut c = busy(path);
                (c.timing.busy_unit, c.alloc.pool) = (BusyUnit::Plane, PoolScope::Plane);
                (c.gc.window, c.interconnect.model) = (4, model);
                c.controller.page_error_probability = 0.5;
                c.controller.buffers = Some(buffers);
                let (_, log) = overwritten(&c, 1500);
                (0..2).map(|channel| most_held(&log, channel)).max().expect("two channels")
            });
            assert_eq!(most, [1, 2, 3], "{path:?} {model:?}");
        }
    }
}

/// Collection at the reserve, over pools of all channels, with one buffer each.
#[test]
fn one_buffer_is_enough_at_the_reserve() {
    for unit in [BusyUnit::Channel, BusyUnit::Plane] {
        let mut c = busy(GcPath::Selective);
        (c.timing.busy_unit, c.alloc.pool) = (unit, PoolScope::Device);
        c.alloc.placement = rig::named(ssd_core::ftl::place::ALL, "round-robin");
        (c.gc.window, c.controller.buffers) = (8, Some(1));
        c.controller.page_error_probability = 0.5;
        c.device.user_pages = 2 * 2 * 22 * 8;
        c.gc.trigger = vec![free_blocks(0)];
        let (ssd, _) = overwritten(&c, 3000);
        assert_eq!(ssd.measured().gc.foreground, ssd.measured().gc.calls);
    }
}

#[test]
fn slices_take_what_the_formula_says_when_alone_and_longer_when_not() {
    let c = wide(InterconnectModel::Slices);
    let mut ssd = filled(&c);
    let mut lengths = std::collections::BTreeSet::new();
    let mut sum = 0;
    for lpn in 0..64 {
        let (read, write) =
            (alone(&mut ssd, whole(Op::Read, lpn, 1)), alone(&mut ssd, whole(Op::Write, lpn, 1)));
        sum += read + write;
        for over in [read - 50 - 20 - 14, write - 500 - 20 - 14] {
            let slices = (over - through(&c, 1)) / 3 + 1;
            assert_eq!(over, through(&c, slices));
            lengths.insert(slices);
        }
    }
    assert!(lengths.len() > 2 && lengths.iter().all(|n| (8..=23).contains(n)), "{lengths:?}");
    assert_eq!(ssd.measured().controller.wait_ns, 0);
    let parts = |ssd: &Ssd| {
        let m = &ssd.measured();
        assert_eq!(m.read_parts.total() + m.write_parts.total(), m.in_system.integral());
        (m.read_parts.queue + m.write_parts.queue, m.read_parts.transfer + m.write_parts.transfer)
    };
    let alone = parts(&ssd);
    assert_eq!((alone.0, alone.1), (0, u128::from(sum) - 64 * 550));
    // At depth 8, as many bytes are carried, and the slices make pages wait.
    let mut ssd = filled(&c);
    let requests: Vec<_> =
        (0..64).flat_map(|lpn| [Op::Read, Op::Write].map(|op| whole(op, lpn, 1))).collect();
    closed(&mut ssd, 8, requests).expect("it runs");
    let loaded = parts(&ssd);
    assert_eq!(ssd.measured().controller.wait_ns, 37_352);
    assert!(loaded.0 >= u128::from(ssd.measured().controller.wait_ns));
}

#[test]
fn slices_are_slower_than_their_formula_under_load_only() {
    let run = |model, depth: usize| {
        let c = wide(model);
        let mut ssd = filled(&c);
        let mut rng = Stream::new(9, "load");
        let user = u64::from(c.device.user_pages);
        let requests: Vec<_> =
            (0..500).map(|_| whole(Op::Read, rng.below(user) as u32, 1)).collect();
        closed(&mut ssd, depth, requests).expect("it runs");
        ssd.now().0 as f64
    };
    let ratio =
        |depth| run(InterconnectModel::Slices, depth) / run(InterconnectModel::Formula, depth);
    assert!((ratio(1) - 1.0).abs() < 0.02, "{}", ratio(1));
    assert!(ratio(8) > 1.1, "{}", ratio(8));
}

/// Recorded requests and no random policy: the seed draws only the errors.
#[test]
fn seeds_draw_errors_and_nothing_else() {
    for name in PRESETS {
        let run = |seed: u64, probability: f64| {
            let mut c = preset(name);
            c.device.blocks_per_plane = 16;
            c.device.user_pages = 8 * 4 * 9 * 64;
            (c.run.seed, c.controller.page_error_probability) = (seed, probability);
            let mut ssd = fresh(&c);
            let mut rng = Stream::new(1, "recorded");
            let requests = (0..40_000).map(|_| {
                let lpn = rng.below(u64::from(c.device.user_pages)) as u32;
                ssd_core::host::request::Request::new(Op::Write, u64::from(lpn) * 8, 8)
            });
            closed(&mut ssd, 16, requests.collect::<Vec<_>>()).expect("it runs");
            assert!(ssd.measured().gc.pages.moved > 500);
            (ssd.event_digest(), ssd.measured().controller.in_error)
        };
        assert_eq!(run(1, 0.0), run(2, 0.0));
        let (one, other) = (run(1, 0.05), run(2, 0.05));
        assert_ne!(one.1, other.1, "{name}: errors are drawn by the seed");
        // On the conventional path errors cost nothing.
        assert_eq!(one.0 == other.0, name == "noc-copyback-conventional");
    }
}

/// Without an interconnect the selective path saves only what happens between the two tasks.
#[test]
fn the_selective_path_needs_no_interconnect() {
    let mut c = busy(GcPath::Selective);
    c.interconnect.model = InterconnectModel::None;
    c.gc.trigger = vec![used_space(0.8, "device")];
    let (ssd, log) = overwritten(&c, 1500);
    for (read, program) in copies(&log) {
        assert_eq!((took(&read), took(&program)), (50 + 20 + 7 + 11, 527));
    }
    assert_eq!(ssd.measured().controller.traversals, [0; Cause::ALL.len()]);
}

/// Wherever a run stops, its log holds what it has counted: the selective path begins no program while the operations
/// under way finish.
#[test]
fn the_log_ends_where_the_counts_end() {
    use GcPath::{Controller, Copyback, Selective};
    for (path, pool) in [
        (Controller, PoolScope::Channel),
        (Copyback, PoolScope::Plane),
        (Selective, PoolScope::Channel),
        (Selective, PoolScope::Device),
    ] {
        let mut cut = 0;
        for seed in 0..24 {
            let mut c = busy(path);
            (c.alloc.pool, c.gc.window) = (pool, 1 + seed as u32 % 4);
            c.controller.page_error_probability = 0.2;
            let mut ssd = filled(&c);
            let mut rng = Stream::new(seed, "stopped");
            let user = u64::from(c.device.user_pages);
            let requests = (0..400 + seed)
                .map(|_| whole(Op::Write, rng.below(user) as u32, 1))
                .collect::<Vec<_>>();
            closed(&mut ssd, 8, requests).expect("it runs");
            let (counted, running) = (ssd.measured().flash, ssd.pages_in_flight(Cause::Gc));
            ssd.quiesce().expect("what runs ends");
            let mut log = Vec::new();
            ssd.drain_operations(&mut log);
            let logged = |op| {
                let of = |cause| move |r: &&OpRecord| (r.op, r.cause) == (op, cause);
                Cause::ALL.map(|cause| log.iter().filter(of(cause)).count() as u64)
            };
            assert_eq!(logged(FlashOp::Read), counted.reads, "{path:?}, seed {seed}");
            assert_eq!(logged(FlashOp::Program), counted.programs, "{path:?}, seed {seed}");
            assert_eq!(logged(FlashOp::Erase), counted.erases, "{path:?}, seed {seed}");
            cut += u32::from(running > 0);
        }
        // A copy-back is one operation.
        let between = path == Copyback || cut > 3;
        assert!(between, "{path:?}: {cut} runs stopped between a read and its program");
    }
}

proptest! {
    #![proptest_config(cases(300, 31))]
    /// Paths, interconnects and buffers change when pages move, but not what happens to them.
    #[test]
    fn every_page_read_crosses_as_its_path_says(RandomConfig(mut c) in any_config(Spare::Tight)) {
        c.metrics.op_log = true;
        let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
        ssd.audit_every(16);
        let mut rng = Stream::new(3, "any");
        let user = u64::from(c.device.user_pages);
        let requests = (0..300).map(|_| whole(Op::Write, rng.below(user) as u32, 1));
        let requests: Vec<_> = requests.collect();
        if closed(&mut ssd, 8, requests).is_err() {
            return Ok(());
        }
        let _ = ssd.run_until(Nanos(ssd.now().0 + 1_000_000_000), &mut Vec::new());
        let (m, flash) = (&ssd.measured().controller, &ssd.measured().flash);
        for cause in [Cause::Gc, Cause::Wear].map(Cause::at) {
            let moved = flash.reads[cause] + flash.programs[cause];
            let crossing = c.interconnect.model != InterconnectModel::None;
            let most = if crossing && c.gc.path != GcPath::Copyback { moved } else { 0 };
            prop_assert!(c.gc.path == GcPath::Copyback || m.traversals[cause] <= most);
            if c.gc.path == GcPath::Controller {
                prop_assert_eq!(m.traversals[cause], most);
            }
        }
        if c.gc.path != GcPath::Selective {
            prop_assert_eq!(m.from_buffer, 0);
        }
    }
}

/// The noc-copyback device under `round-robin` with a backlog, small: one channel of one plane that collects with a
/// window of 8. Returns the times between the starts of host writes while GC reads and programs always wait: a cycle.
fn cycles(name: &str) -> Vec<u64> {
    let mut c = preset(name);
    (c.device.channels, c.device.planes_per_chip, c.device.blocks_per_plane) = (1, 1, 24);
    c.device.user_pages = 17 * 64;
    c.sched.order = rig::named(ssd_core::sched::order::ALL, "round-robin");
    (c.gc.window, c.controller.buffers, c.gc.reserve) = (8, Some(8), 1);
    c.gc.trigger = vec![free_blocks(4)];
    c.controller.page_error_probability = 0.0;
    (c.metrics.op_log, c.precondition.fill) = (true, 0.0);
    let (_, log) = overwritten_by_writes(&c, 12_000);
    let kind = |r: &OpRecord| (r.cause == Cause::Gc, r.op);
    let host: Vec<usize> =
        (0..log.len()).filter(|&i| kind(&log[i]) == (false, FlashOp::Program)).collect();
    // One read and one program of collection between two writes of the host; on the selective path a read that ends in
    // its program.
    let pairs = host.windows(2).filter(|w| {
        let mut between: Vec<_> = log[w[0] + 1..w[1]].iter().map(kind).collect();
        between.sort_by_key(|(_, op)| *op == FlashOp::Program);
        between == [(true, FlashOp::Read), (true, FlashOp::Program)]
            && log[w[0] + 1..w[1]].iter().all(|r| r.start >= log[w[0]].end)
    });
    pairs.map(|w| (log[w[1]].start - log[w[0]].start).0).collect()
}

/// As [`overwritten`], with writes only.
fn overwritten_by_writes(c: &Config, n: u32) -> (Ssd, Vec<OpRecord>) {
    let mut ssd = filled(c);
    let mut rng = Stream::new(5, "overwrites");
    let user = u64::from(c.device.user_pages);
    let requests: Vec<_> = (0..n).map(|_| whole(Op::Write, rng.below(user) as u32, 1)).collect();
    closed(&mut ssd, 32, requests).expect("it runs");
    ssd.audit().expect("invariants hold");
    let mut log = Vec::new();
    ssd.drain_operations(&mut log);
    log.sort_by_key(|r| r.start);
    (ssd, log)
}

#[test]
fn a_cycle_of_a_backlog_takes_as_long_as_its_tasks() {
    // A write of the host, a GC read and a GC program: 938 + 751 + 926 us; on the selective path the read and the
    // program of a page are one task of 963 us.
    for (name, cycle) in [("noc-copyback-conventional", 2_615_000), ("noc-copyback", 1_901_000)] {
        let all = cycles(name);
        assert!(all.len() > 200, "{name}: {} cycles", all.len());
        let whole = all.iter().filter(|&&ns| ns == cycle).count();
        assert!(all.iter().all(|&ns| ns == cycle), "{name}: {whole} of {} cycles", all.len());
    }
}
