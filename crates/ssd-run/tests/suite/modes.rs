//! A run without time reports what the same run with time reports, except for what depends on time.

use crate::rig::{alone, device, free_blocks, named, whole, with_pages};
use ssd_core::config::{
    Blocking, BlockingScope, BusyUnit, EraseUnit, Granularity, HostMode, Mode, PoolScope,
};
use ssd_core::ftl::gc::concurrency;
use ssd_core::host::request::{Op, TimedRequest};
use ssd_core::host::source::{Source, SourceError};
use ssd_core::metrics::report::Report;
use ssd_core::plug::Value;
use ssd_core::rng::Stream;
use ssd_core::units::Nanos;
use ssd_run::{Circumstances, Ending, FinishedRun, PullDriver, Unattended};
use ssd_trace::config::RunConfig;

/// Reads, writes and TRIMs of one to three pages, mostly of the first tenth, spaced so that each finds an idle device.
/// Reads at the end.
struct SpacedRequests {
    rng: Stream,
    user: u64,
    sent: u64,
    all: u64,
}

impl Source for SpacedRequests {
    fn expected(&self) -> Option<u64> {
        Some(self.all)
    }

    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        if self.sent == self.all {
            return Ok(None);
        }
        let op = match self.rng.below(10) {
            _ if self.sent + 5 > self.all => Op::Read,
            0..2 => Op::Read,
            2 => Op::Trim,
            _ => Op::Write,
        };
        let span = if self.rng.chance(0.9) { self.user / 10 } else { self.user - 3 };
        let (lpn, pages) = (self.rng.below(span) as u32, 1 + self.rng.below(3) as u32);
        self.sent += 1;
        let at = Nanos(self.sent * 1_000_000);
        Ok(Some(TimedRequest { at, request: whole(op, lpn, pages) }))
    }
}

/// Superblocks of two planes, levelled; collection is in the foreground at `hard` or fewer erased ones.
fn config(hard: u64) -> RunConfig {
    let mut c = device([1, 1, 2], 64, 8, 2 * 64 * 8 * 3 / 4);
    (c.alloc.pool, c.timing.busy_unit) = (PoolScope::Chip, BusyUnit::Chip);
    c.alloc.erase_unit = EraseUnit::Superblock;
    c.alloc.placement = named(ssd_core::ftl::place::ALL, "round-robin");
    c.gc.trigger = vec![free_blocks(5).with("hard", Value::Int(hard))];
    c.gc.concurrency = named(concurrency::ALL, "fixed").with("k", Value::Int(1));
    c.gc.blocking = Blocking { scope: BlockingScope::Device, granularity: Granularity::Job };
    c.wear.static_threshold = 3;
    c.host.mode = HostMode::Open;
    (c.precondition.fill, c.precondition.overwrite) = (1.0, 0.5);
    RunConfig { kernel: c, ..RunConfig::default() }
}

fn finished(c: &RunConfig, mode: Mode) -> FinishedRun {
    let mut c = c.clone();
    c.run.mode = mode;
    let user = u64::from(c.device.user_pages);
    let mut source = SpacedRequests { rng: Stream::new(3, "apart"), user, sent: 0, all: 6000 };
    let circumstances = &Circumstances::default();
    PullDriver { config: &c, circumstances, caller: &mut Unattended, log: None }.run(&mut source)
}

fn report(c: &RunConfig, mode: Mode) -> Report {
    let done = finished(c, mode);
    assert_eq!(done.ending, Ending::Completed);
    done.report
}

#[test]
fn a_run_that_is_all_warmup_has_measured_nothing() {
    for mode in [Mode::Timed, Mode::Functional] {
        let mut c = config(0);
        c.workload.warmup_requests = 6000;
        let done = finished(&c, mode);
        let Ending::Failed(why) = &done.ending else { panic!("{:?}", done.ending) };
        assert!(why.starts_with("the run ended after 6000 requests, within its warm-up"), "{why}");
        let (r, host) = (&done.report.requests, &done.report.host);
        assert_eq!((r.warmup, r.read + r.write + r.trim), (6000, 0), "{mode:?}");
        assert_eq!((host.pages_read, host.pages_written, done.report.gc.calls), (0, 0, 0));
    }
}

#[test]
fn a_share_of_warmup_is_that_of_all_requests() {
    for mode in [Mode::Timed, Mode::Functional] {
        let (mut number, mut share) = (config(5), config(5));
        (number.workload.warmup_requests, share.workload.warmup_share) = (2000, 1.0 / 3.0);
        let (number, share) = (report(&number, mode), report(&share, mode));
        assert_eq!((share.requests.warmup, share.requests.write), (2000, number.requests.write));
        assert_eq!(share.flash.programs, number.flash.programs, "{mode:?}");
    }
}

#[test]
fn without_time_a_run_counts_the_same() {
    for (hard, warmup) in [(0, 0), (5, 700)] {
        let mut c = config(hard);
        c.workload.warmup_requests = warmup;
        let (t, f) = (report(&c, Mode::Timed), report(&c, Mode::Functional));
        let r =
            |r: &Report| (r.requests.read, r.requests.write, r.requests.trim, r.requests.warmup);
        assert_eq!(r(&f), r(&t));
        let h = |r: &Report| (r.host.pages_read, r.host.pages_written, r.host.pages_trimmed);
        assert_eq!(h(&f), h(&t));
        assert_eq!(f.flash.programs, t.flash.programs);
        assert_eq!(
            (f.flash.erases, &f.flash.erases_by_cause),
            (t.flash.erases, &t.flash.erases_by_cause)
        );
        let (fg, tg) = (&f.gc, &t.gc);
        assert_eq!(
            (fg.calls, fg.foreground, fg.background),
            (tg.calls, tg.foreground, tg.background)
        );
        assert_eq!(
            (fg.pages_moved, &fg.victims_by_policy),
            (tg.pages_moved, &tg.victims_by_policy)
        );
        assert_eq!(fg.mean_victim_invalid_ratio, tg.mean_victim_invalid_ratio);
        let (fw, tw) = (&f.wear, &t.wear);
        assert_eq!((fw.calls, fw.pages_moved), (tw.calls, tw.pages_moved));
        let erases = |w: &ssd_core::metrics::report::Wear| (w.erase_min, w.erase_max, w.erase_mean);
        assert_eq!((erases(fw), fw.host_bytes_written), (erases(tw), tw.host_bytes_written));
        assert_eq!(
            (f.device.used_pages, f.device.valid_pages),
            (t.device.used_pages, t.device.valid_pages)
        );
        assert_eq!((f.waf.total, &f.waf.by_cause), (t.waf.total, &t.waf.by_cause));
        assert!(fg.calls > 500 && fw.calls > 100, "{fg:?} {fw:?}");
        assert_eq!(fg.foreground, if hard == 5 { fg.calls } else { 0 });
    }
}

#[test]
fn pages_written_before_the_measurement_are_counted_apart() {
    let c = config(0);
    assert_eq!(with_pages(&c, 40).pages_before(), 40, "preconditioning");
    let mut ssd = with_pages(&c, 40);
    ssd.measure(2, false);
    for lpn in [3, 8, 20, 21] {
        alone(&mut ssd, whole(Op::Write, lpn, 2));
    }
    assert_eq!(ssd.pages_before(), 40 + 2 * 2, "preconditioning and warm-up");
}

#[test]
fn the_memory_of_a_device_is_that_of_its_tables() {
    let c = device([1, 1, 1], 16, 8, 96);
    // A word per user page and a bit per flash page; LPNs of pages, programs of blocks, and their state.
    let tables = 4 * 96 + 128 / 8 + 4 * 128 + 2 * 16 + 32 * 16;
    assert_eq!(ssd_core::ftl::Ftl::new(&c).bytes_held(), tables);
}
