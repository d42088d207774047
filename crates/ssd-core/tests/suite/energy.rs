//! Energy: array and bus times of single operations by hand, and of whole runs by the operation log.

use crate::cases::cases;
use crate::rig::any_config::{RandomConfig, Spare, any_config};
use crate::rig::{
    alone, closed, device, free_blocks, load, named, operations_of, whole, with_pages,
};
use proptest::prelude::*;
use ssd_core::config::{
    self, BusyUnit, Config, Frontiers, GcPath, Input, Kernel, PoolScope, PowerCut, SlcMode,
    TimingModel, to_toml,
};
use ssd_core::ftl::Ftl;
use ssd_core::host::request::{Op, Request};
use ssd_core::metrics::counters::{Cause, WorkTimes};
use ssd_core::rng::Stream;
use ssd_core::sim::logs::operations::{FlashOp, OpRecord};
use ssd_core::sim::ssd::Ssd;

/// Numbers of a modern TLC die.
const R: u64 = 60_000;
const P: u64 = 650_000;
const E: u64 = 3_500_000;
const X: u64 = 13_653;

fn work(read_time: u64, program_time: u64, erase_time: u64, bus_time: u64) -> WorkTimes {
    WorkTimes { read_time, program_time, erase_time, bus_time }
}

/// A die whose energy is measured.
fn measured() -> Config {
    with_planes(1)
}

fn with_planes(planes: u32) -> Config {
    let mut c = device([1, 1, planes], 16, 12, 96);
    let t = &mut c.timing;
    t.model = TimingModel::Pipelined;
    (t.read_ns, t.program_ns, t.erase_ns) = (R, P, E);
    (t.command_ns, t.transfer_ns, t.sram_ns) = (200, X, 70);
    c.energy.read_uw = 82_500;
    c.gc.trigger = vec![free_blocks(2)];
    c
}

#[test]
fn commands_sram_and_waiting_take_no_time_of_arrays_and_buses() {
    let mut ssd = with_pages(&measured(), 40);
    alone(&mut ssd, whole(Op::Read, 3, 1));
    assert_eq!(ssd.measured().work, work(R, 0, 0, X));
    alone(&mut ssd, whole(Op::Write, 3, 1));
    assert_eq!(ssd.measured().work, work(R, P, 0, 2 * X));
    // What no flash operation answers takes none.
    alone(&mut ssd, whole(Op::Trim, 3, 1));
    alone(&mut ssd, whole(Op::Read, 3, 1));
    assert_eq!(ssd.measured().work, work(R, P, 0, 2 * X));
    // Two reads of the same chip wait for each other.
    closed(&mut ssd, 2, [whole(Op::Read, 5, 1), whole(Op::Read, 6, 1)]).expect("they complete");
    assert_eq!(ssd.measured().work, work(3 * R, P, 0, 4 * X));
}

#[test]
fn parts_of_a_page_and_retries_take_what_they_take() {
    let mut c = measured();
    c.timing.partial = true;
    let k = &mut c.controller;
    (k.retry_probability, k.retry_limit, k.retry_factor) = (1.0, 2, 0.5);
    let mut ssd = with_pages(&c, 40);
    // A page has four sectors: one takes 3413.25 ns.
    alone(&mut ssd, Request::new(Op::Read, 13, 1));
    assert_eq!(ssd.measured().work, work(2 * R, 0, 0, 3413));
    // The rest of a page that is written in part crosses with all of it.
    alone(&mut ssd, Request::new(Op::Write, 13, 1));
    assert_eq!(ssd.measured().work, work(4 * R, P, 0, 3413 + 2 * X));
}

/// They take the time of the slowest, and each the power of a program for its own time.
#[test]
fn pages_programmed_together_take_the_energy_of_each() {
    let mut c = with_planes(2);
    (c.device.bits, c.device.word_line) = (3, 3);
    c.timing.program_types_ns = vec![P, P + 100_000, P + 200_000];
    c.timing.program_ns = P + 100_000;
    (c.timing.multi_plane, c.timing.busy_unit, c.alloc.pool) =
        (true, BusyUnit::Chip, PoolScope::Chip);
    c.alloc.placement = named(ssd_core::ftl::place::ALL, "round-robin");
    let mut ssd = with_pages(&c, 0);
    alone(&mut ssd, whole(Op::Write, 0, 1));
    assert_eq!(ssd.measured().work, work(0, P, 0, X));
    // The planes are one page apart.
    let took = alone(&mut ssd, whole(Op::Write, 1, 2));
    assert!(took < 2 * P, "one program for two planes");
    assert_eq!(ssd.measured().work, work(0, 3 * P + 100_000, 0, 3 * X));
}

#[test]
fn energy_changes_no_event() {
    let run = |energy: bool, full: bool| {
        let mut c = measured();
        if !energy {
            c.energy = Config::default().energy;
        }
        let mut ssd = with_pages(&c, 96);
        let plain = full && ssd.use_full_loop();
        assert!(!plain || !energy, "the plain loop counts no work");
        let mut rng = Stream::new(1, "requests");
        let requests = (0..800).map(|_| {
            let op = [Op::Read, Op::Write, Op::Write][rng.below(3) as usize];
            whole(op, rng.below(96) as u32, 1)
        });
        closed(&mut ssd, 4, requests.collect::<Vec<_>>()).expect("they complete");
        (ssd.event_digest(), ssd.measured().work)
    };
    let (without, none) = run(false, false);
    let (with, counted) = run(true, false);
    assert_eq!((with, none), (without, WorkTimes::default()));
    assert!(counted.erase_time > 0);
    assert_eq!(run(true, true), (with, counted));
}

/// What the operations of a log take, from the configuration.
fn by_the_log(c: &Config, log: &[OpRecord]) -> WorkTimes {
    let t = &c.timing;
    let mut sum = WorkTimes::default();
    for r in log {
        let kind =
            (r.place.page % c.device.word_line * c.device.bits / c.device.word_line) as usize;
        let of = |types: &[u64], ns: u64| types.get(kind).copied().unwrap_or(ns);
        let of_job = matches!(r.cause, Cause::Gc | Cause::Wear);
        let crosses = !(of_job && c.gc.path == GcPath::Copyback) || r.bus.is_some();
        match r.op {
            FlashOp::Read => sum.read_time += of(&t.read_types_ns, t.read_ns),
            FlashOp::Program => sum.program_time += of(&t.program_types_ns, t.program_ns),
            FlashOp::Erase => sum.erase_time += t.erase_ns,
        }
        if r.op != FlashOp::Erase && crosses {
            sum.bus_time += t.transfer_ns;
        }
    }
    sum
}

/// Writes and reads of whole pages in a device with energy and a log.
fn run(c: &Config, seed: u64) -> Option<(WorkTimes, WorkTimes)> {
    let mut c = c.clone();
    (c.metrics.op_log, c.energy.idle_uw) = (true, 1);
    let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
    let mut rng = Stream::new(seed, "requests");
    let user = u64::from(c.device.user_pages);
    let requests = (0..400).map(|_| {
        let op = [Op::Read, Op::Write, Op::Write][rng.below(3) as usize];
        whole(op, rng.below(user) as u32, 1)
    });
    // A device may refuse to go on, when placement has crowded a pool.
    closed(&mut ssd, 8, requests.collect::<Vec<_>>()).ok()?;
    ssd.quiesce().expect("it comes to rest");
    let expected = by_the_log(&c, &operations_of(&mut ssd));
    Some((ssd.measured().work, expected))
}

proptest! {
    #![proptest_config(cases(150, 191))]

    #[test]
    fn the_work_of_a_run_is_that_of_its_operations(
        RandomConfig(mut c) in any_config(Spare::Tight), seed in 0u64..1000
    ) {
        // The log of the serial model does not tell a copy-back from a copy that has left its plane.
        if c.timing.model == TimingModel::Serial && c.gc.path == GcPath::Copyback {
            c.gc.path = GcPath::Controller;
        }
        // The log does not tell pages of SLC blocks: `pages_of_slc_blocks_take_their_own_times`.
        c.slc = Config::default().slc;
        if let Some((counted, expected)) = run(&c, seed) {
            prop_assert_eq!(counted, expected);
        }
    }
}

#[test]
fn pages_of_slc_blocks_take_their_own_times() {
    let mut c = measured();
    (c.device.bits, c.device.word_line) = (3, 3);
    (c.slc.mode, c.slc.read_ns, c.slc.program_ns) = (SlcMode::Dynamic, R / 3, P / 3);
    c.alloc.frontiers = Frontiers::HostGc;
    let mut ssd = with_pages(&c, 0);
    alone(&mut ssd, whole(Op::Write, 3, 1));
    assert_eq!(ssd.measured().work, work(0, P / 3, 0, X));
    alone(&mut ssd, whole(Op::Read, 3, 1));
    assert_eq!(ssd.measured().work, work(R / 3, P / 3, 0, 2 * X));
}

#[test]
fn copy_backs_cross_no_bus_and_checkpoints_do() {
    let mut c = measured();
    (c.gc.path, c.alloc.pool) = (GcPath::Copyback, PoolScope::Plane);
    (c.device.bits, c.device.word_line) = (3, 3);
    c.timing.read_types_ns = vec![R, R + 10_000, R + 20_000];
    c.timing.program_types_ns = vec![P, P + 100_000, P + 200_000];
    (c.timing.read_ns, c.timing.program_ns) = (R + 10_000, P + 100_000);
    (c.power.cut, c.power.checkpoint_bytes) = (PowerCut::OnRequest, 100 * 2048);
    let (counted, expected) = run(&c, 7).expect("it goes on");
    assert_eq!(counted, expected);
    // Of some 400 reads and writes of the host, and of some checkpoints; copies would double it.
    assert!(counted.bus_time / X < 420, "{}", counted.bus_time / X);
    assert!(counted.erase_time > 10 * E, "{counted:?}");
}

#[test]
fn powers_have_units_and_need_time() {
    for (value, uw) in [("82.5 mW", 82_500), ("3 W", 3_000_000), ("1 uW", 1), ("0 W", 0)] {
        let c = load(&[("energy.read", value)]).expect(value);
        assert_eq!((c.energy.read_uw, c.energy.is_off()), (uw, uw == 0), "{value}");
        let text = to_toml(&Kernel(c.clone()));
        let file = Some(("run.toml".to_owned(), text));
        let again = config::load::<Kernel>(&Input { file, ..Input::default() }).expect(value).0;
        assert_eq!(again.energy, c.energy, "{value}");
    }
    for (sets, words) in [
        (vec![("energy.read", "82.5")], "expected a power with its unit, such as \"82.5 mW\""),
        (vec![("energy.idle", "3 V")], "there is no unit \"V\"; expected one of uW, mW or W"),
        (vec![("energy.bus", "3 us")], "which is a time; expected a power"),
        (vec![("energy.erase", "0.5 uW")], "expected a whole number of microwatts"),
        (vec![("energy.program", "1001 W")], "expected a power of at most 1000000 mW"),
        (vec![("timing.read", "3 mW")], "which is a power; expected a time"),
        (
            vec![("run.mode", "functional"), ("energy.read", "1 mW"), ("energy.idle", "1 W")],
            "functional mode has no time, so energy.read, energy.idle would have no effect",
        ),
    ] {
        let error = load(&sets).expect_err(words);
        assert!(error.contains(words), "{error}\nwithout: {words}");
    }
}
