//! From counters to the report: what its sections are computed from, and the checks of the whole.

use super::Measurements;
use super::counters::Cause;
use super::report::{Provenance, Report, TraceLines};
use super::steady::{Evidence, SteadyState};
use super::verdict::{self, DecidedBy};
use super::warmup::{self, Warmup};
use super::warnings;
use crate::host::request::Op;
use crate::units::Nanos;
use std::collections::BTreeMap;

/// Largest number of stretches of the host's writes over which write amplification is examined: as many as
/// there are batches of latencies.
const MOST_SLOPES: usize = 63;

/// All that a report is made of.
#[derive(Clone, Debug)]
pub struct Inputs<'a> {
    /// What the run was made with.
    pub provenance: Provenance,
    /// The resolved configuration, as JSON.
    pub config: serde_json::Value,
    /// What was measured.
    pub measured: &'a Measurements,
    /// The device at the end.
    pub device: DeviceState<'a>,
    /// Name of the configured victim policy.
    pub victim_policy: &'a str,
    /// Requests arrive when the workload says (not when others complete).
    pub open_loop: bool,
    /// Every request was completed.
    pub completed: bool,
    /// No flash operation is queued or running.
    pub at_rest: bool,
    /// Simulated time at the end.
    pub ended: Nanos,
    /// Wall-clock time, nanoseconds.
    pub wall_ns: Option<u64>,
    /// Processor time, nanoseconds.
    pub cpu_ns: Option<u64>,
    /// Memory of the device model, bytes.
    pub memory_bytes: Option<u64>,
    /// Names of the files with series and logs, by what they hold.
    pub series: BTreeMap<String, String>,
    /// Lines of the trace; `None` for a synthetic workload.
    pub trace_lines: Option<TraceLines>,
    /// Warnings of others (trace, configuration): they come first.
    pub warnings: Vec<String>,
}

/// Records in the NVRAM and those that wait for room there. A record is *live* while a mount needs it: one of a TRIM
/// while one of its pages has no newer data on flash, one of an owner while it names the page of the newest data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RecordsKept {
    /// Live ones.
    pub live: u64,
    /// Their bytes.
    pub live_bytes: u64,
    /// The others.
    pub stale: u64,
    /// Their bytes.
    pub stale_bytes: u64,
}

/// The device at the end of the run.
#[derive(Clone, Copy, Debug)]
pub struct DeviceState<'a> {
    /// Bytes in a page.
    pub page_bytes: u64,
    /// Pages the host can address.
    pub user_pages: u64,
    /// Groups of pages with a parity; `None` without parity.
    pub parity_groups: Option<u64>,
    /// Valid pages by their number of owners, from 1 on; `None` where no page is shared.
    pub pages_by_owners: Option<&'a [u64]>,
    /// Bytes held for owners beyond the first.
    pub extra_owner_bytes: u64,
    /// Records that survive a power cut; `None` if power is never cut.
    pub records: Option<RecordsKept>,
    /// Pages there are.
    pub physical_pages: u64,
    /// Pages that are not erased.
    pub used_pages: u64,
    /// Pages that hold current data.
    pub valid_pages: u64,
    /// Erased blocks.
    pub free_blocks: u64,
    /// The fewest erased blocks there were within the measurement.
    pub lowest_free_blocks: u64,
    /// Pages written before the measurement: preconditioning and warm-up.
    pub pages_before: u64,
    /// Pages in the write buffer; `None` without one.
    pub buffered_pages: Option<u64>,
    /// Whether host pages cross an interconnect; `None` if the path of pages has no special features.
    pub host_crosses: Option<bool>,
    /// Erases of every block within the measurement.
    pub erases: &'a [u32],
    /// Erases since the device was new of every block that was good then.
    pub life_erases: &'a [u32],
    /// Blocks that were bad from the start.
    pub factory_bad_blocks: u64,
    /// Blocks that have reached their endurance.
    pub worn_out_blocks: u64,
    /// Erases a block survives; 0: any number.
    pub endurance: u32,
    /// Bytes that the host has written to the flash since the device was new.
    pub host_bytes_written: u64,
    /// Time each channel was busy within the measurement, nanoseconds.
    pub channel_busy_ns: &'a [u64],
    /// Time each chip was busy within the measurement, nanoseconds.
    pub chip_busy_ns: &'a [u64],
}

impl Inputs<'_> {
    /// Length of the measurement.
    pub(super) fn span_ns(&self) -> u64 {
        (self.ended - self.measured.since).0
    }

    /// Whether write amplification has settled.
    pub(super) fn steady_state(&self) -> SteadyState {
        let m = self.measured;
        m.course.judge(&Evidence {
            host_pages: m.host.pages_written,
            programs: m.flash.all_programs(),
            pages_before: self.device.pages_before,
            user_pages: self.device.user_pages,
            spare_pages: self.device.physical_pages
                - self.device.user_pages
                - self.device.parity_groups.unwrap_or(0),
            live_pages: self.device.valid_pages,
            starts_steady: self.config["precondition"]["steady_state"] == "mean-field",
            gc_calls: m.gc.calls,
            reserve_decided: verdict::judge(&m.gc).decided_by == DecidedBy::Reserve,
        })
    }

    /// Whether the measurement starts with a transient.
    pub(super) fn warmup(&self) -> Warmup {
        let m = self.measured;
        if self.trace_lines.is_some() {
            return warmup::unknown(
                "changes in a trace cannot be distinguished from a transient of the device",
            );
        }
        let latency = |op: Op| m.latencies.of(op).batches.means().unwrap_or_default();
        let courses = [
            ("write amplification", m.course.slopes(MOST_SLOPES)),
            ("write latency", latency(Op::Write)),
            ("read latency", latency(Op::Read)),
        ];
        warmup::judge(&courses, m.warmup, m.host.submitted.iter().sum())
    }
}

impl Report {
    /// Compute everything, warnings included.
    #[must_use]
    pub fn build(inputs: &Inputs) -> Report {
        let mut report = Report::of(inputs);
        report.warnings.extend(audit(inputs).into_iter().map(|e| format!("internal error: {e}")));
        let more = warnings::warnings(&report, inputs.open_loop);
        report.warnings.extend(more);
        report
    }
}

/// Equations between the counters that do not hold: each one is an error in the simulator.
#[must_use]
pub fn audit(inputs: &Inputs) -> Vec<String> {
    let m = inputs.measured;
    let mut broken = Vec::new();
    let mut equal = |what: &str, left: u128, right: u128| {
        if left != right {
            broken.push(format!("{what}: {left} != {right}"));
        }
    };
    let sum = |op: Op| m.latencies.of(op).histogram.sum();
    equal("latency parts of reads = their latencies", m.read_parts.total(), sum(Op::Read));
    equal("latency parts of writes = their latencies", m.write_parts.total(), sum(Op::Write));
    if m.in_system.closed() {
        let latencies = Op::ALL.iter().map(|&op| sum(op)).sum();
        equal(
            "requests in the device over time = latencies",
            m.in_system.integral() + m.in_system.outside(),
            latencies,
        );
    }
    if inputs.completed {
        let submitted = m.host.submitted.iter().sum::<u64>();
        let completed = m.host.completed.iter().sum::<u64>();
        equal("submitted = completed", submitted.into(), completed.into());
    }
    let whole = m.since == Nanos::ZERO && m.power.cuts == 0;
    if inputs.completed && inputs.device.buffered_pages == Some(0) && whole {
        let fates = m.buffer.coalesced + m.buffer.trimmed + m.buffer.evicted;
        equal(
            "pages written = coalesced + trimmed + evicted",
            m.host.pages_written.into(),
            fates.into(),
        );
    }
    let victims = m.gc.victims.policy + m.gc.victims.reserve_greedy;
    equal("GC calls = victims", m.gc.calls.into(), victims.into());
    let kinds = m.gc.foreground + m.gc.background;
    equal("GC calls = foreground + background", m.gc.calls.into(), kinds.into());
    if inputs.at_rest && m.since == Nanos::ZERO {
        for (name, cause, pages) in
            [("GC", Cause::Gc, &m.gc.pages), ("wear levelling", Cause::Wear, &m.wear.pages)]
        {
            let (reads, programs) = (m.flash.reads[cause.at()], m.flash.programs[cause.at()]);
            let ends = pages.moved + pages.stale;
            equal(&format!("{name} programs = moved + stale"), programs.into(), ends.into());
            let fates = programs + pages.dropped;
            equal(&format!("{name} reads = programs + dropped"), reads.into(), fates.into());
        }
    }
    let busy = inputs.device.channel_busy_ns.iter().chain(inputs.device.chip_busy_ns);
    if let Some(most) = busy.max().filter(|&&most| most > inputs.span_ns()) {
        broken.push(format!("busy for {most} ns of {} ns", inputs.span_ns()));
    }
    broken
}
