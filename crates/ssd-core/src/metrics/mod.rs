//! Metrics: counters, the report computed from them, and its text.
//!
//! The simulator owns one [`Measurements`], increments its counters and calls its few methods. At
//! the end `report::Report::build` turns it into the numbers of `report.json`, and `summary::text`
//! into a summary for people.

pub mod batch;
pub mod build;
pub mod cause;
pub mod column;
pub mod columns;
pub mod counters;
pub mod declare;
pub mod degraded;
pub mod describe;
pub mod distributions;
pub mod field;
pub mod form;
pub mod histogram;
pub mod in_system;
pub mod inputs;
pub mod latency;
pub mod numbers;
pub mod parts;
pub mod report;
pub mod schema;
pub mod series;
pub mod steady;
pub mod summary;
pub mod tenants;
pub mod verdict;
pub mod warmup;
pub mod warnings;
pub mod words;

#[cfg(test)]
mod tests;

use crate::host::request::{Op, Request};
use crate::units::Nanos;
use counters::{
    BufferCounts, Cause, ControllerCounts, FlashCounts, GcCounts, HostCounts, MoveCounts, PartSums,
    Parts, RaidCounts, RemapCounts, RequestsInSystem, SlcCounts, WearCounts, WorkTimes, ZoneCounts,
};
use degraded::DegradedStats;
use histogram::Histogram;
use latency::{ByOp, Latencies};
use report::power::{PowerCounts, Recovery};
use series::{Gauges, IntervalLatency, Sample, Series};
use steady::Course;
use tenants::Tenants;

/// Everything that is measured in a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Measurements {
    /// When the measurement started: after preconditioning and warm-up.
    pub since: Nanos,
    /// Requests that arrived before that and are left out.
    pub warmup: u64,
    /// Flash operations.
    pub flash: FlashCounts,
    /// Array and bus times, where the power is given.
    pub work: WorkTimes,
    /// Pages written and programmed by volume and stream, if they are told apart.
    pub tenants: Option<Box<Tenants>>,
    /// Garbage collection.
    pub gc: GcCounts,
    /// Static wear levelling.
    pub wear: WearCounts,
    /// SLC blocks.
    pub slc: SlcCounts,
    /// The host that writes zones.
    pub zones: ZoneCounts,
    /// Latencies of the requests of such a host, if it has time.
    pub zone_latencies: Option<Box<ByOp>>,
    /// Invalid pages of each victim when it was chosen.
    pub victim_invalid: Histogram,
    /// Host requests and pages.
    pub host: HostCounts,
    /// Pages in the write buffer.
    pub buffer: BufferCounts,
    /// Pages between flash controllers and host side.
    pub controller: ControllerCounts,
    /// Parity groups.
    pub raid: RaidCounts,
    /// The loss of chips, if one has failed.
    pub degraded: Option<Box<DegradedStats>>,
    /// Copies.
    pub remap: RemapCounts,
    /// Power cuts.
    pub power: PowerCounts,
    /// Recoveries from them.
    pub recoveries: Vec<Recovery>,
    /// Latencies.
    pub latencies: Latencies,
    /// Where the time of reads went.
    pub read_parts: PartSums,
    /// Where the time of writes went.
    pub write_parts: PartSums,
    /// Requests in the device.
    pub in_system: RequestsInSystem,
    /// The course of write amplification.
    pub course: Course,
    /// Rows over time.
    pub series: Series,
    interval: [IntervalLatency; 2],
}

impl Measurements {
    /// Nothing measured yet. `interval` is that of the series (zero: none); `split` keeps the
    /// latencies of volumes and streams apart.
    #[must_use]
    pub fn new(interval: Nanos, split: bool) -> Measurements {
        Measurements {
            since: Nanos::ZERO,
            warmup: 0,
            flash: FlashCounts::default(),
            work: WorkTimes::default(),
            tenants: None,
            gc: GcCounts::default(),
            wear: WearCounts::default(),
            slc: SlcCounts::default(),
            zones: ZoneCounts::default(),
            zone_latencies: None,
            victim_invalid: Histogram::new(),
            host: HostCounts::default(),
            buffer: BufferCounts::default(),
            controller: ControllerCounts::default(),
            raid: RaidCounts::default(),
            degraded: None,
            remap: RemapCounts::default(),
            power: PowerCounts::default(),
            recoveries: Vec::new(),
            latencies: Latencies::new(split),
            read_parts: PartSums::default(),
            write_parts: PartSums::default(),
            in_system: RequestsInSystem::default(),
            course: Course::default(),
            series: Series::new(interval.0),
            interval: [IntervalLatency::default(); 2],
        }
    }

    /// Forget all that was measured and start again at `at` (end of the warm-up). Requests in the
    /// device stay there; the caller does not pass them to [`Measurements::complete`] but to
    /// [`Measurements::complete_unmeasured`].
    pub fn restart(&mut self, at: Nanos) {
        let mut in_system = self.in_system;
        in_system.restart(at.0);
        let fresh = Measurements::new(Nanos(self.series.interval_ns), self.latencies.split);
        let warmup = self.warmup + self.host.submitted.iter().sum::<u64>();
        let mut degraded = self.degraded.take();
        if let Some(degraded) = &mut degraded {
            degraded.restart(at);
        }
        let mut tenants = self.tenants.take();
        if let Some(tenants) = &mut tenants {
            tenants.restart();
        }
        *self = Measurements { since: at, warmup, in_system, degraded, tenants, ..fresh };
    }

    /// A request of kind `op` arrives. Called at that instant, in order with the completions.
    #[inline(always)]
    pub fn arrive(&mut self, at: Nanos, op: Op) {
        self.host.submitted[op as usize] += 1;
        self.in_system.arrive(at.0);
    }

    /// A request that has arrived is in the device no longer, as power was cut.
    pub fn withdraw(&mut self, at: Nanos) {
        self.in_system.leave(at.0);
    }

    /// A request that has been withdrawn arrives again: it has been counted.
    pub fn arrive_again(&mut self, at: Nanos) {
        self.in_system.arrive(at.0);
    }

    /// A `request` of so many pages that has been withdrawn will not arrive again.
    pub fn forget_arrival(&mut self, request: &Request, pages: u64) {
        let op = request.op;
        assert!(self.host.submitted[op as usize] > 0, "a {} has not arrived", op.name());
        self.host.submitted[op as usize] -= 1;
        match op {
            Op::Read => self.host.pages_read -= pages,
            Op::Write => {
                self.host.pages_written -= pages;
                if let Some(tenants) = &mut self.tenants {
                    tenants.forget(request, pages);
                }
            }
            Op::Trim | Op::Flush | Op::Copy => {}
        }
    }

    /// `request` completes at `at`, `latency` after its arrival, of which `parts` say where it went
    /// (used for reads and writes).
    #[inline(always)]
    pub fn complete(&mut self, at: Nanos, request: &Request, latency: Nanos, parts: &Parts) {
        self.in_system.leave(at.0);
        self.host.completed[request.op as usize] += 1;
        self.latencies.record(request.op, request.volume, request.stream, latency.0);
        if let Some(degraded) = &mut self.degraded {
            degraded.complete(request.op, latency.0);
        }
        match request.op {
            Op::Read => {
                debug_assert_eq!(parts.total(), latency.0, "parts of a read: {parts:?}");
                self.read_parts.record(parts);
                self.interval[0].record(latency.0);
            }
            Op::Write => {
                debug_assert_eq!(parts.total(), latency.0, "parts of a write: {parts:?}");
                self.write_parts.record(parts);
                self.interval[1].record(latency.0);
            }
            Op::Trim | Op::Flush | Op::Copy => {}
        }
    }

    /// A request that arrived before [`Measurements::restart`] completes at `at`.
    pub fn complete_unmeasured(&mut self, at: Nanos) {
        self.in_system.leave(at.0);
    }

    /// What became of the pages that are moved for `cause`.
    #[inline]
    pub fn moves(&mut self, cause: Cause) -> &mut MoveCounts {
        match cause {
            Cause::Wear => &mut self.wear.pages,
            Cause::Fold => &mut self.slc.pages,
            _ => &mut self.gc.pages,
        }
    }

    /// A host page has been written: call after `host.pages_written` and `flash` are up to date.
    #[inline(always)]
    pub fn note_write(&mut self) {
        if self.course.due(self.host.pages_written) {
            self.course.record(self.host.pages_written, self.flash.all_programs());
        }
    }

    /// Append a row to the series and start the next interval.
    pub fn sample(&mut self, at: Nanos, gauges: Gauges) {
        let [read, write] = std::mem::take(&mut self.interval);
        self.series.rows.push(Sample {
            time_ns: at.0,
            used_pages: gauges.used_pages,
            free_blocks: gauges.free_blocks,
            pending_requests: self.in_system.current(),
            gc_active_pools: gauges.gc_active_pools,
            host_pages_read: self.host.pages_read,
            host_pages_written: self.host.pages_written,
            gc_programs: self.flash.programs[Cause::Gc.at()],
            all_programs: self.flash.all_programs(),
            erases: self.flash.all_erases(),
            host_reads_completed: self.host.completed[Op::Read as usize],
            host_writes_completed: self.host.completed[Op::Write as usize],
            read,
            write,
        });
    }
}
