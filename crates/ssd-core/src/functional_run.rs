//! A functional run: the requests of a source, executed one after the other without timing, and measured.

use crate::config::Config;
use crate::ftl::Ftl;
use crate::host::ahead::Lookahead;
use crate::host::copy;
use crate::host::device::DeviceError;
use crate::host::drive::{DriveError, Outcome, Progress};
use crate::host::request::{Op, Request, TimedRequest};
use crate::host::source::Source;
use crate::metrics::Measurements;
use crate::metrics::counters::Cause;
use crate::metrics::histogram::Histogram;
use crate::sim::front::{check, pages_of};
use crate::sim::functional::Functional;
use crate::units::{Lpn, Nanos};
use std::ops::ControlFlow;

/// Requests between two reports of progress.
const PROGRESS_EVERY: u64 = 65_536;

/// A functional machine with its measurements so far.
pub struct FunctionalRun {
    machine: Functional,
    measured: Measurements,
    /// Where the measurement starts.
    baseline: Baseline,
}

/// The measurements of a functional run, and the device after it.
pub struct FunctionalResult {
    /// The device.
    pub ftl: Ftl,
    /// The measurements.
    pub measured: Measurements,
    /// Erases of each block while it was measured.
    pub erases: Vec<u32>,
    /// Pages that the device had admitted when the measurement started.
    pub pages_before: u64,
}

/// Pages admitted and erases of each block at the start of the measurement.
struct Baseline {
    sequence: u64,
    erases: Vec<u32>,
}

impl Baseline {
    /// Start the measurement here; the counters so far are discarded.
    fn take(f: &mut Functional) -> Baseline {
        f.tally = Default::default();
        f.restart_zones();
        f.groups = Default::default();
        f.victim_invalid = Histogram::new();
        f.ftl.space.restart_lowest();
        f.ftl.restart_classes();
        Baseline { sequence: f.sequence(), erases: f.ftl.blocks.erases.clone() }
    }
}

impl FunctionalRun {
    /// A run under `config` that starts on `machine` in its present state.
    #[must_use]
    pub fn new(config: &Config, machine: Functional) -> FunctionalRun {
        let mut machine = machine.begin_run(config);
        let baseline = Baseline::take(&mut machine);
        FunctionalRun { machine, measured: Measurements::new(Nanos::ZERO, false), baseline }
    }

    /// Start the measurement here.
    fn restart(&mut self) {
        self.baseline = Baseline::take(&mut self.machine);
        self.measured.restart(Nanos::ZERO);
    }

    /// Execute the requests of `source` to its end; the measurement restarts after `warmup` of them. `watch` is
    /// called regularly with the number of requests executed; `Break` ends the run.
    ///
    /// # Errors
    /// The source or the device failed; the measurements so far are kept.
    pub fn drive(
        &mut self,
        warmup: u64,
        source: &mut dyn Source,
        watch: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<Outcome, DriveError> {
        let mut ahead = Lookahead::new();
        for id in 0u64.. {
            let f = &mut self.machine;
            let request = loop {
                let far = |next: &TimedRequest| f.ftl.owners.prefetch(first_page(f, &next.request));
                let near = |next: &TimedRequest| f.ftl.prefetch_write(first_page(f, &next.request));
                if let Some(request) = ahead.next(far, near) {
                    break request;
                }
                if !ahead.turn(|batch, most| source.fill(batch, most))? {
                    f.check_policies()?;
                    return Ok(outcome(id, false));
                }
            };
            let due = id % PROGRESS_EVERY == 0 || f.is_time_to_look();
            if due && watch(id).is_break() {
                return Ok(outcome(id, true));
            }
            let request = request.request;
            if id == 0 {
                // As in the timed machine, a first request that takes effect on arrival precedes the look at the pools.
                let by_update = request.op == Op::Copy && self.machine.ftl.groups.is_some();
                if by_update || !matches!(request.op, Op::Trim | Op::Copy) {
                    self.machine.meet_demands();
                }
            } else if id == warmup {
                self.restart();
            }
            if request.op == Op::Copy {
                let ranges = copy::encode(&source.copy_sources());
                self.copy(&request, id, &ranges)?;
            } else {
                execute(&mut self.machine, &request, id, &mut self.measured)?;
            }
        }
        unreachable!("requests end before their numbers do")
    }

    /// Execute a copy, with its source ranges.
    #[inline(never)]
    fn copy(&mut self, request: &Request, id: u64, ranges: &[u8]) -> Result<(), DeviceError> {
        let m = &mut self.measured;
        m.host.submitted[Op::Copy as usize] += 1;
        self.machine.copy(id, request, ranges, &mut m.remap)?;
        m.host.completed[Op::Copy as usize] += 1;
        Ok(())
    }

    /// Discard a measurement that never got past the warm-up. Returns whether it was discarded.
    pub fn discard_warmup(&mut self, warmup: u64) -> bool {
        let discard = warmup > 0 && self.measured.warmup == 0;
        if discard {
            self.restart();
        }
        discard
    }

    /// Requests executed since the measurement started.
    #[must_use]
    pub fn submitted(&self) -> u64 {
        self.measured.host.submitted.iter().sum()
    }

    /// The measurements, including the counts of the machine.
    #[must_use]
    pub fn finish(self) -> FunctionalResult {
        let FunctionalRun { machine: mut f, mut measured, baseline } = self;
        let t = f.tally;
        let members = u64::from(f.ftl.geo.members);
        measured.victim_invalid = std::mem::take(&mut f.victim_invalid);
        measured.host.pages_written = t.host_pages;
        let flash = &mut measured.flash;
        flash.programs[Cause::Host.at()] = t.host_pages;
        flash.programs[Cause::Gc.at()] = t.gc_pages;
        flash.reads[Cause::Gc.at()] = t.gc_pages;
        flash.erases[Cause::Gc.at()] = t.victims * members;
        flash.programs[Cause::Wear.at()] = t.wear_pages;
        flash.reads[Cause::Wear.at()] = t.wear_pages;
        flash.erases[Cause::Wear.at()] = t.levelled * members;
        flash.programs[Cause::Fold.at()] = t.fold_pages;
        flash.reads[Cause::Fold.at()] = t.fold_pages;
        flash.erases[Cause::Fold.at()] = t.slc.folds * members;
        flash.programs[Cause::Remap.at()] = t.remap_pages;
        flash.reads[Cause::Remap.at()] = t.remap_reads;
        flash.programs[Cause::Parity.at()] = f.groups.parity_pages;
        // A page that is read both for its other sectors and for the parity is read once.
        let parity = f.ftl.groups.is_some();
        flash.reads[Cause::Rmw.at()] = if parity { f.groups.reads } else { t.rests_read };
        measured.host.rmw = t.rests_read;
        measured.raid.rmw = f.groups.modified;
        measured.raid.rcw = f.groups.reconstructed;
        measured.raid.full = f.groups.full;
        measured.raid.dropped = f.groups.dropped;
        measured.zones = f.zone_counts().unwrap_or_default();
        measured.slc = t.slc;
        measured.slc.pages.moved = t.fold_pages;
        measured.wear.calls = t.levelled;
        measured.wear.pages.moved = t.wear_pages;
        let gc = &mut measured.gc;
        (gc.calls, gc.foreground) = (t.victims, t.foreground);
        gc.background = t.victims - t.foreground;
        gc.victims.reserve_greedy = t.by_reserve;
        gc.victims.policy = t.victims - t.by_reserve;
        (gc.victims.unmet, gc.victims.decided) = (t.unmet, t.decided);
        gc.pages.moved = t.gc_pages;
        gc.victim_valid_sum = t.victim_valid;
        gc.victim_pages_sum = t.victims * u64::from(f.ftl.geo.pages_per_block);
        let erases: Vec<u32> =
            f.ftl.blocks.erases.iter().zip(&baseline.erases).map(|(n, b)| n - b).collect();
        FunctionalResult { ftl: f.ftl, measured, erases, pages_before: baseline.sequence }
    }
}

/// The end of a run after `requests`.
fn outcome(requests: u64, interrupted: bool) -> Outcome {
    let progress = Progress { submitted: requests, completed: requests, now: Nanos::ZERO };
    Outcome { progress, interrupted }
}

/// The first page that `request` touches.
fn first_page(f: &Functional, request: &Request) -> Lpn {
    Lpn((request.sector >> f.ftl.geo.sector_shift) as u32)
}

/// Execute one request.
#[inline]
fn execute(
    f: &mut Functional,
    r: &Request,
    id: u64,
    m: &mut Measurements,
) -> Result<(), DeviceError> {
    check(&f.ftl.geo, id, r)?;
    f.check_zoned(id, r)?;
    m.host.submitted[r.op as usize] += 1;
    match r.op {
        Op::Read => m.host.pages_read += u64::from(pages_of(&f.ftl.geo, r).count),
        Op::Write => {
            f.write_request(r)?;
            m.course.record(f.tally.host_pages, f.tally.programs() + f.groups.parity_pages);
        }
        Op::Trim => {
            let pages = pages_of(&f.ftl.geo, r);
            m.host.pages_trimmed += f.trim_run(Lpn(pages.first), pages.count)?;
        }
        Op::Copy => unreachable!("request {id} has source ranges"),
        Op::Flush => {}
    }
    m.host.completed[r.op as usize] += 1;
    Ok(())
}
