//! Reads suspend programs and erases: times to the nanosecond, reads that no write delays, a queueing formula, and
//! power cuts meanwhile.

use crate::rig::{self, device, free_blocks, named, whole, with_pages};
use ssd_core::config::{
    BusyUnit, Config, DataMode, GcPath, PoolScope, PowerCut, Suspend, TimingModel,
};
use ssd_core::host::device::{Device, DeviceError};
use ssd_core::host::request::{Completion, Op};
use ssd_core::metrics::counters::Cause;
use ssd_core::nand::flash::fill_digest;
use ssd_core::rng::Stream;
use ssd_core::sim::logs::operations::{FlashOp, OpRecord};
use ssd_core::sim::logs::power::PowerEvent;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{BlockId, Lpn, Nanos, PlaneId};

/// Of the preset `modern-tlc`, in nanoseconds: command, page on the bus, read, program, erase.
const C: u64 = 200;
const X: u64 = 13_653;
const R: u64 = 60_000;
const P: u64 = 650_000;
const E: u64 = 3_500_000;
const SUSPEND: u64 = 20_000;
const RESUME: u64 = 5_000;

fn one_die(suspend: Suspend) -> Config {
    let mut c = device([1, 1, 1], 16, 8, 12 * 8);
    let t = &mut c.timing;
    (t.model, t.suspend) = (TimingModel::Pipelined, suspend);
    (t.command_ns, t.transfer_ns) = (C, X);
    (t.read_ns, t.program_ns, t.erase_ns) = (R, P, E);
    c.gc.trigger = vec![free_blocks(2)];
    c.metrics.op_log = true;
    c
}

/// Overwrite every page twice, one write after the other, read one page at the times `reads`, and let the device come
/// to rest, with an audit after every instant.
fn run(c: &Config, reads: &[u64]) -> (Vec<OpRecord>, Vec<Completion>, Ssd) {
    let mut ssd = with_pages(c, c.device.user_pages);
    ssd.audit_every(1);
    let writes = (0..2 * u64::from(c.device.user_pages)).map(|n| (n * 40_000_000, Op::Write, n));
    let reads = reads.iter().map(|&at| (at, Op::Read, 3));
    let mut requests: Vec<_> = writes.chain(reads).collect();
    requests.sort_by_key(|&(at, ..)| at);
    for (at, op, page) in requests {
        let lpn = page as u32 % c.device.user_pages;
        ssd.submit(Nanos(at), &whole(op, lpn, 1), None).unwrap();
    }
    let done = rig::finish(&mut ssd).unwrap();
    ssd.quiesce().unwrap();
    let mut log = Vec::new();
    ssd.drain_operations(&mut log);
    (log, done, ssd)
}

/// The third erase.
fn third_erase(log: &[OpRecord]) -> &OpRecord {
    log.iter().filter(|r| r.op == FlashOp::Erase).nth(2).expect("collection")
}

fn latencies(done: &[Completion], op: Op) -> Vec<u64> {
    done.iter().filter(|c| c.op == op).map(|c| (c.at - c.arrival).0).collect()
}

#[test]
fn a_read_suspends_an_erase_and_the_erase_goes_on() {
    let (log, ..) = run(&one_die(Suspend::None), &[]);
    let start = third_erase(&log).start.0;
    for (suspend, read, end) in [
        (Suspend::None, E + C - 1_000_000 + C + R + X, E + C),
        (Suspend::Program, E + C - 1_000_000 + C + R + X, E + C),
        (Suspend::Erase, SUSPEND + C + R + X, E + C + SUSPEND + C + R + X + RESUME),
        (Suspend::Both, 93_853, 3_599_053),
    ] {
        let (log, done, ssd) = run(&one_die(suspend), &[start + 1_000_000]);
        assert_eq!(latencies(&done, Op::Read), [read], "{suspend:?}");
        let erase = third_erase(&log);
        assert_eq!((erase.start.0, erase.end.0 - start), (start, end), "{suspend:?}");
        let suspensions = ssd.measured().flash.suspensions;
        assert_eq!(suspensions[Cause::Gc.at()], u64::from(suspend.has_erases()));
        assert_eq!(suspensions.iter().sum::<u64>(), u64::from(suspend.has_erases()));
    }
}

#[test]
fn an_erase_is_suspended_up_to_its_limit() {
    let mut c = one_die(Suspend::Both);
    let (log, ..) = run(&c, &[]);
    let start = third_erase(&log).start.0;
    // Each finds the erase at work again.
    let reads: Vec<u64> = (1..=12).map(|n| start + n * 200_000).collect();
    for limit in [1, 2, 10] {
        c.timing.suspend_limit = limit;
        let (log, done, _) = run(&c, &reads);
        let erase = third_erase(&log);
        let end = E + C + u64::from(limit) * (SUSPEND + C + R + X + RESUME);
        assert_eq!(erase.end.0 - erase.start.0, end);
        assert!(limit < 10 || end == 4_488_730);
        let reads = latencies(&done, Op::Read);
        assert!(reads[..limit as usize].iter().all(|&ns| ns == SUSPEND + C + R + X), "{reads:?}");
        assert!(reads[limit as usize] > SUSPEND + C + R + X, "{reads:?}");
    }
}

#[test]
fn what_ends_soon_is_not_suspended_and_a_command_on_the_bus_is_waited_for() {
    let c = one_die(Suspend::Both);
    // A write that has nothing else to do.
    let start = 5 * 40_000_000;
    let array = start + C + X;
    for (at, latency) in [
        // The rest of the program is no longer than the suspension would take.
        (array + P - SUSPEND, SUSPEND + C + R + X),
        (array + P - SUSPEND - 1, SUSPEND + C + R + X),
        (array + P - 1, 1 + C + R + X),
        // The array does not work yet.
        (start + 1, C + X - 1 + SUSPEND + C + R + X),
        (array, SUSPEND + C + R + X),
    ] {
        let (.., done, ssd) = run(&c, &[at]);
        assert_eq!(latencies(&done, Op::Read), [latency], "at {} ns of the program", at - start);
        let suspended = ssd.measured().flash.suspensions[Cause::Host.at()];
        assert_eq!(suspended, u64::from(at < array + P - SUSPEND), "at {} ns", at - start);
    }
    // A read that comes while the array is about to resume waits for that; the next suspension leaves what was left.
    let resumes = SUSPEND + C + R + X;
    let (log, done, _) = run(&c, &[array + 1000, array + 1000 + resumes + 1]);
    let wait = RESUME - 1;
    assert_eq!(latencies(&done, Op::Read), [resumes, wait + SUSPEND + C + R + X]);
    let program = log.iter().find(|r| r.op == FlashOp::Program && r.start.0 == start).unwrap();
    assert_eq!(program.end.0 - start, C + X + P + 2 * (resumes + RESUME));
}

/// Programs of the host on two planes: when they end, and how often they were suspended.
fn on_two_planes(suspend: Suspend) -> (Vec<u64>, u64) {
    let mut c = one_die(suspend);
    (c.device.planes_per_chip, c.device.user_pages) = (2, 2 * 12 * 8);
    (c.timing.multi_plane, c.timing.busy_unit) = (true, BusyUnit::Chip);
    c.alloc.pool = PoolScope::Chip;
    c.alloc.placement = named(ssd_core::ftl::place::ALL, "round-robin");
    let mut ssd = with_pages(&c, 8);
    ssd.audit_every(1);
    ssd.submit(Nanos(0), &whole(Op::Write, 4, 2), None).unwrap();
    ssd.submit(Nanos(100_000), &whole(Op::Read, 2, 1), None).unwrap();
    rig::finish(&mut ssd).unwrap();
    let programs = operations(&mut ssd).into_iter().filter(|r| r.op == FlashOp::Program);
    (programs.map(|r| r.end.0).collect(), ssd.measured().flash.suspensions[Cause::Host.at()])
}

#[test]
fn programs_on_several_planes_are_suspended_together() {
    let (plain, never) = on_two_planes(Suspend::None);
    let together = C + 2 * X + P;
    assert_eq!((&plain[..], never), (&[together, together][..], 0));
    let end = together + SUSPEND + C + R + X + RESUME;
    assert_eq!(on_two_planes(Suspend::Program), (vec![end, end], 2));
}

#[test]
fn a_copy_back_is_not_suspended() {
    for (path, suspended) in [(GcPath::Controller, 1), (GcPath::Copyback, 0)] {
        let mut c = one_die(Suspend::Program);
        c.gc.path = path;
        c.sched.order = named(ssd_core::sched::order::ALL, "read-first");
        let run = |reads: &[u64]| {
            let mut ssd = with_pages(&c, c.device.user_pages);
            // Victims keep valid pages.
            let writes = (0..96).map(|n| (n * 40_000_000, whole(Op::Write, n as u32 * 37 % 96, 1)));
            let reads = reads.iter().map(|&at| (at, whole(Op::Read, 3, 1)));
            let mut requests: Vec<_> = writes.chain(reads).collect();
            requests.sort_by_key(|&(at, _)| at);
            for (at, request) in requests {
                ssd.submit(Nanos(at), &request, None).unwrap();
            }
            let done = rig::finish(&mut ssd).unwrap();
            ssd.quiesce().unwrap();
            let suspensions = ssd.measured().flash.suspensions[Cause::Gc.at()];
            (operations(&mut ssd), latencies(&done, Op::Read), suspensions)
        };
        let copied = |r: &&OpRecord| (r.op, r.cause) == (FlashOp::Program, Cause::Gc);
        let copy = *run(&[]).0.iter().find(copied).expect("a copy");
        let at = copy.end.0 - P / 2;
        let (_, reads, times) = run(&[at]);
        let wait = if suspended == 1 { SUSPEND } else { P / 2 };
        assert_eq!((reads, times), (vec![wait + C + R + X], suspended), "{path:?}");
    }
}

/// One die whose commands, transfers and suspensions take no time: reads of pages that are not written, at the times of
/// a Poisson process of `rate` per second, and `writes` of other pages.
fn beside(writes: bool, suspend: Suspend, rate: f64, reads: usize) -> Vec<u64> {
    let mut c = device([1, 1, 1], 400, 64, 100 * 64);
    let t = &mut c.timing;
    (t.model, t.suspend, t.suspend_limit) = (TimingModel::Pipelined, suspend, 1000);
    (t.read_ns, t.program_ns, t.erase_ns, t.suspend_ns, t.resume_ns) = (R, P, E, 0, 0);
    (t.command_ns, t.transfer_ns) = (0, 0);
    c.gc.trigger = vec![free_blocks(0)];
    c.sched.order = named(ssd_core::sched::order::ALL, "read-first");
    let mut ssd = with_pages(&c, 64);
    let mut rng = Stream::new(7, "arrivals");
    let mut at = 0.0;
    let mut requests: Vec<(u64, Op, u32)> = (0..reads)
        .map(|_| {
            at += rng.exponential() * 1e9 / rate;
            (at as u64, Op::Read, rng.below(64) as u32)
        })
        .collect();
    if writes {
        let every = 1_000_000;
        let last = at as u64 / every;
        let write = |n| (n * every, Op::Write, 64 + (n % (99 * 64)) as u32);
        requests.extend((0..last).map(write));
        requests.sort_by_key(|&(at, ..)| at);
    }
    for (at, op, lpn) in requests {
        ssd.submit(Nanos(at), &whole(op, lpn, 1), None).unwrap();
    }
    let mut done = rig::finish(&mut ssd).unwrap();
    done.sort_by_key(|c| c.id.0);
    latencies(&done, Op::Read)
}

#[test]
fn reads_that_suspend_for_nothing_are_as_fast_as_without_writes() {
    let without = beside(false, Suspend::None, 5_000.0, 20_000);
    assert_eq!(beside(true, Suspend::Program, 5_000.0, 20_000), without);
    let delayed = beside(true, Suspend::None, 5_000.0, 20_000);
    assert!(delayed.iter().zip(&without).filter(|(a, b)| a > b).count() > 10_000);
    // M/D/1, utilisation 0.3: 72,857 ns.
    let mean = without.iter().sum::<u64>() as f64 / without.len() as f64;
    assert!((mean / 72_857.0 - 1.0).abs() < 0.01, "{mean}");
}

#[test]
fn what_the_last_read_has_suspended_is_finished() {
    let c = one_die(Suspend::Both);
    let mut ssd = with_pages(&c, 8);
    ssd.audit_every(1);
    ssd.submit(Nanos(0), &whole(Op::Write, 9, 1), None).unwrap();
    ssd.submit(Nanos(100_000), &whole(Op::Read, 3, 1), None).unwrap();
    // The read ends inside the program, and nothing else follows at that instant.
    let first = ssd.run_until(Nanos(100_000 + SUSPEND + C + R + X), &mut Vec::new());
    assert!(first.is_ok());
    ssd.audit().unwrap();
    ssd.quiesce().unwrap();
    let mut log = Vec::new();
    ssd.drain_operations(&mut log);
    let program = log.iter().rfind(|r| r.op == FlashOp::Program).unwrap();
    assert_eq!(program.end.0 - program.start.0, C + X + P + SUSPEND + C + R + X + RESUME);
}

#[test]
fn a_read_of_a_page_that_is_gone_suspends_nothing() {
    let c = one_die(Suspend::Both);
    let mut ssd = with_pages(&c, 8);
    ssd.submit(Nanos(0), &whole(Op::Write, 9, 1), None).unwrap();
    // One read is trimmed before it may start, while the command of the write is on the bus.
    ssd.submit(Nanos(1), &whole(Op::Read, 3, 1), None).unwrap();
    ssd.submit(Nanos(2), &whole(Op::Trim, 3, 1), None).unwrap();
    rig::finish(&mut ssd).unwrap();
    assert_eq!(ssd.measured().flash.suspensions.iter().sum::<u64>(), 0);
}

/// The instants at which the steps of a single suspension begin.
struct Steps {
    suspends: u64,
    stopped: u64,
    resumes: u64,
    works: u64,
}

impl Steps {
    fn of_read_at(at: u64) -> Steps {
        let stopped = at + SUSPEND;
        let resumes = stopped + C + R + X;
        Steps { suspends: at, stopped, resumes, works: resumes + RESUME }
    }

    /// The first and the last instant of each step, up to `end`, when the operation ends.
    fn instants(&self, end: u64) -> [u64; 9] {
        let &Steps { suspends, stopped, resumes, works } = self;
        [suspends, stopped - 1, stopped, resumes - 1, resumes, works - 1, works, end - 1, end]
    }

    /// Whether a cut at this instant finds the read on its way or in the array; it has completed from `resumes` on.
    fn reads(&self, at: u64) -> bool {
        at < self.resumes
    }

    /// Whether it finds the read in the array.
    fn is_inside(&self, at: u64) -> bool {
        (self.stopped..self.resumes).contains(&at)
    }
}

fn with_cuts() -> Config {
    let mut c = one_die(Suspend::Both);
    (c.run.data, c.power.cut) = (DataMode::Digest, PowerCut::OnRequest);
    c
}

/// Run up to and including the instant `at`.
fn run_to(ssd: &mut Ssd, at: u64) -> Vec<Completion> {
    let mut done = Vec::new();
    loop {
        let before = done.len();
        ssd.run_until(Nanos(at), &mut done).unwrap();
        if done.len() == before {
            ssd.wait_until(Nanos(at)).unwrap();
            return done;
        }
    }
}

/// What `lpn` holds on flash.
fn held(ssd: &Ssd, lpn: Lpn) -> u64 {
    ssd.page_on_flash(lpn).map_or(0, |ppn| ssd.core.ftl.flash.digest(ppn))
}

fn operations(ssd: &mut Ssd) -> Vec<OpRecord> {
    let mut log = Vec::new();
    ssd.drain_operations(&mut log);
    log
}

/// The rules of docs/model.md: the page of a program under way is torn and never read, its previous data are still
/// there, and the host writes it again.
#[test]
fn a_cut_tears_a_program_that_is_suspended() {
    let (write, steps) = (1000, Steps::of_read_at(101_000));
    let end = steps.works + P - (steps.suspends - (write + C + X));
    for at in steps.instants(end) {
        let mut ssd = with_pages(&with_cuts(), 8);
        ssd.audit_every(1);
        let (old, new) = (held(&ssd, Lpn(5)), fill_digest(Lpn(5), 9));
        assert_ne!(old, new);
        ssd.submit(Nanos(write), &whole(Op::Write, 5, 1), None).unwrap();
        ssd.submit(Nanos(steps.suspends), &whole(Op::Read, 3, 1), None).unwrap();
        run_to(&mut ssd, at);
        let ended = at == end;
        let lost = ssd.power_cut().unwrap().len();
        assert_eq!(lost, usize::from(!ended) + usize::from(steps.reads(at)), "at {at} ns");
        let log = operations(&mut ssd);
        let program = log.iter().find(|r| r.op == FlashOp::Program).unwrap();
        assert_eq!((program.start.0, program.end.0), (write, at));
        assert_eq!(program.cut_off, !ended, "at {at} ns");
        let reads: Vec<_> = log.iter().filter(|r| r.op == FlashOp::Read).collect();
        assert_eq!(reads.len(), usize::from(at >= steps.stopped), "at {at} ns");
        for read in reads {
            assert_eq!((read.start.0, read.cut_off), (steps.stopped, steps.is_inside(at)));
        }
        let recovery = ssd.mount(true).unwrap();
        assert_eq!(recovery.torn_pages, u64::from(!ended), "at {at} ns");
        assert_eq!(recovery.erases, 0, "at {at} ns");
        assert_eq!(held(&ssd, Lpn(5)), if ended { new } else { old }, "at {at} ns");
        ssd.audit().unwrap();
        // Nothing is suspended any more: what the host submits again takes the times of an idle unit.
        let done = rig::finish(&mut ssd).unwrap();
        assert_eq!(done.len(), lost);
        assert_ne!(held(&ssd, Lpn(5)), old, "at {at} ns");
        for op in operations(&mut ssd) {
            let alone = C + X + if op.op == FlashOp::Read { R } else { P };
            assert_eq!((op.end - op.start).0, alone, "at {at} ns");
        }
        assert_eq!(ssd.measured().flash.suspensions[Cause::Host.at()], 1);
    }
}

/// An erase under way is repeated by the mount, and no page that was acknowledged is lost.
#[test]
fn a_cut_repeats_an_erase_that_is_suspended() {
    let c = with_cuts();
    let every = 40_000_000;
    let (log, ..) = run(&c, &[]);
    let erase = *third_erase(&log);
    let steps = Steps::of_read_at(erase.start.0 + 1_000_000);
    let end = steps.works + E - (steps.suspends - (erase.start.0 + C));
    for at in steps.instants(end) {
        let mut ssd = with_pages(&c, c.device.user_pages);
        ssd.audit_every(1);
        let writes = at / every + 1;
        for n in 0..writes {
            let lpn = n as u32 % c.device.user_pages;
            ssd.submit(Nanos(n * every), &whole(Op::Write, lpn, 1), None).unwrap();
        }
        ssd.submit(Nanos(steps.suspends), &whole(Op::Read, 3, 1), None).unwrap();
        let done = run_to(&mut ssd, at);
        assert_eq!(latencies(&done, Op::Write).len() as u64, writes, "all have been acknowledged");
        let ended = at == end;
        assert_eq!(ssd.power_cut().unwrap().len(), usize::from(steps.reads(at)), "at {at} ns");
        let log = operations(&mut ssd);
        let cut = third_erase(&log);
        assert_eq!((cut.start, cut.end.0, cut.cut_off), (erase.start, at, !ended), "at {at} ns");
        let inside = log.iter().filter(|r| r.op == FlashOp::Read && r.cut_off).count();
        assert_eq!(inside, usize::from(steps.is_inside(at)), "at {at} ns");
        let recovery = ssd.mount(false).unwrap();
        assert_eq!((recovery.erases, recovery.torn_pages), (u64::from(!ended), 0), "at {at} ns");
        let mut mount = Vec::new();
        ssd.drain_power(&mut mount);
        let erased = mount.iter().filter(|record| record.event == PowerEvent::Erase);
        let erased: Vec<u32> = erased.map(|record| record.place.unwrap().block).collect();
        assert_eq!(erased, if ended { vec![] } else { vec![erase.place.block] }, "at {at} ns");
        let flash = &ssd.core.ftl.flash;
        assert_eq!(flash.programmed(BlockId(erase.place.block), PlaneId(0)), 0, "at {at} ns");
        for page in 0..u64::from(c.device.user_pages) {
            let lpn = Lpn(page as u32);
            // The last write of the page, after the fill.
            let user = u64::from(c.device.user_pages);
            let newest = (0..writes).rfind(|n| n % user == page).map_or(page + 1, |n| user + n + 1);
            assert_eq!(held(&ssd, lpn), fill_digest(lpn, newest), "at {at} ns, {lpn:?}");
        }
        ssd.audit().unwrap();
        ssd.submit(ssd.now(), &whole(Op::Write, 0, 1), None).unwrap();
        rig::finish(&mut ssd).unwrap();
        ssd.quiesce().unwrap();
        ssd.audit().unwrap();
    }
}

#[test]
fn there_is_no_snapshot_of_what_is_suspended() {
    let c = one_die(Suspend::Both);
    let mut ssd = with_pages(&c, 8);
    ssd.submit(Nanos(0), &whole(Op::Write, 5, 1), None).unwrap();
    ssd.submit(Nanos(100_000), &whole(Op::Read, 3, 1), None).unwrap();
    for at in Steps::of_read_at(100_000).instants(C + X + P + SUSPEND + C + R + X + RESUME) {
        run_to(&mut ssd, at);
        let busy = matches!(ssd.snapshot(), Err(DeviceError::Busy(_)));
        assert_eq!(busy, !ssd.at_rest(), "at {at} ns");
    }
    let mut plain = with_pages(&one_die(Suspend::None), 8);
    plain.submit(Nanos(0), &whole(Op::Write, 5, 1), None).unwrap();
    rig::finish(&mut plain).unwrap();
    assert!(ssd.snapshot().unwrap() == plain.snapshot().unwrap(), "another state");
}
