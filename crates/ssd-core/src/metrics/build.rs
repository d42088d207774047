//! From counters to the report, and the checks of the whole.

use super::cause::Cause;
use super::inputs::Inputs;
use super::report::Report;
use super::warnings::{Warnings, warnings};
use crate::host::request::Op;
use crate::units::Nanos;

impl Report {
    /// Compute everything, warnings included.
    #[must_use]
    pub fn build(inputs: &Inputs) -> Report {
        let mut report = Report::of(inputs);
        let run_warnings = std::mem::take(&mut report.warnings);
        let errors = audit(inputs).into_iter().map(|e| format!("internal error: {e}"));
        let Warnings { invalidating, notes } = warnings(&report, inputs.arrivals);
        // What comes with a run that has failed says why.
        let (reasons, about) =
            if inputs.completed { (Vec::new(), run_warnings) } else { (run_warnings, Vec::new()) };
        report.warnings = reasons.into_iter().chain(errors).chain(invalidating).collect();
        report.invalidating = report.warnings.len() as u64;
        report.warnings.extend(about.into_iter().chain(notes));
        report
    }
}

/// Equations between the counters that do not hold: each one is an error in the simulator.
#[must_use]
pub fn audit(inputs: &Inputs) -> Vec<String> {
    let m = inputs.measured;
    let mut broken = Vec::new();
    let mut equal = |identity: &str, left: u128, right: u128| {
        if left != right {
            broken.push(format!("{identity}: {left} != {right}"));
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
    let is_whole_run = m.since == Nanos::ZERO && m.power.cuts == 0;
    if inputs.completed && inputs.device.buffered_pages == Some(0) && is_whole_run {
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
        for (name, cause, pages) in [
            ("GC", Cause::Gc, &m.gc.pages),
            ("wear levelling", Cause::Wear, &m.wear.pages),
            ("folding", Cause::Fold, &m.slc.pages),
        ] {
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
