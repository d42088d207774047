//! Reads suspend programs and erases: times to the nanosecond, reads that no write delays, and a queueing formula.

use crate::rig::{self, device, free_blocks, named, whole, with_pages};
use ssd_core::config::{Config, Suspend, TimingModel};
use ssd_core::host::device::Device;
use ssd_core::host::request::{Completion, Op};
use ssd_core::metrics::counters::Cause;
use ssd_core::rng::Stream;
use ssd_core::sim::logs::operations::{FlashOp, OpRecord};
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::Nanos;

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
    // A write that finds nothing else to do.
    let start = 5 * 40_000_000;
    let array = start + C + X;
    for (at, latency) in [
        // The program has this long to go: no longer than the suspension would take.
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
    // A read that comes while the array is to go on waits for that; the next suspension leaves what was left.
    let resumes = SUSPEND + C + R + X;
    let (log, done, _) = run(&c, &[array + 1000, array + 1000 + resumes + 1]);
    let wait = RESUME - 1;
    assert_eq!(latencies(&done, Op::Read), [resumes, wait + SUSPEND + C + R + X]);
    let program = log.iter().find(|r| r.op == FlashOp::Program && r.start.0 == start).unwrap();
    assert_eq!(program.end.0 - start, C + X + P + 2 * (resumes + RESUME));
}

/// One die whose commands, transfers and suspensions take no time: reads at the times of a Poisson process of `rate` a
/// second, of pages that are not written, beside `writes` of other pages.
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
    // The read ends inside the program, and nothing else is to come at that instant.
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
    // One read is trimmed before it may start: the command of the write is on the bus.
    ssd.submit(Nanos(1), &whole(Op::Read, 3, 1), None).unwrap();
    ssd.submit(Nanos(2), &whole(Op::Trim, 3, 1), None).unwrap();
    rig::finish(&mut ssd).unwrap();
    assert_eq!(ssd.measured().flash.suspensions.iter().sum::<u64>(), 0);
}
