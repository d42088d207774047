//! From counters to the report.

use super::Measurements;
use super::counters::{CAUSES, Cause, PartSums};
use super::latency::{ByOp, Recorder};
use super::report::{
    Controller, Device, Flash, Gc, Host, Latency, LatencyByOp, LatencyParts, LatencyStats, Little,
    PartMeans, Provenance, RESERVE_GREEDY, Report, Requests, Speed, Time, TraceLines, Utilisation,
    VERSION, Waf, Wear, WriteBuffer,
};
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

/// The device at the end of the run.
#[derive(Clone, Copy, Debug)]
pub struct DeviceState<'a> {
    /// Bytes in a page.
    pub page_bytes: u64,
    /// Pages the host can address.
    pub user_pages: u64,
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
    fn span_ns(&self) -> u64 {
        (self.ended - self.measured.since).0
    }
}

impl Report {
    /// Compute everything, warnings included.
    #[must_use]
    pub fn build(inputs: &Inputs) -> Report {
        let mut report = Report {
            version: VERSION,
            provenance: inputs.provenance.clone(),
            config: inputs.config.clone(),
            completed: inputs.completed,
            requests: requests(inputs),
            trace_lines: inputs.trace_lines.clone(),
            host: host(inputs),
            write_buffer: write_buffer(inputs),
            controller: controller(inputs),
            latency: latency(inputs),
            flash: flash(inputs),
            waf: waf(inputs),
            gc: gc(inputs),
            verdict: verdict::judge(&inputs.measured.gc),
            wear: wear(inputs),
            latency_parts: LatencyParts {
                read: part_means(&inputs.measured.read_parts),
                write: part_means(&inputs.measured.write_parts),
            },
            device: device(inputs),
            steady_state: steady_state(inputs),
            warmup: warmup(inputs),
            little: little(inputs),
            time: Time {
                measured_from: inputs.measured.since.0,
                simulated: inputs.span_ns(),
                wall: inputs.wall_ns,
                cpu: inputs.cpu_ns,
            },
            speed: speed(inputs),
            series: inputs.series.clone(),
            warnings: inputs.warnings.clone(),
        };
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
    if inputs.completed && inputs.device.buffered_pages == Some(0) && m.since == Nanos::ZERO {
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

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn per_second(count: u64, ns: u64) -> Option<f64> {
    (ns > 0).then(|| count as f64 * 1e9 / ns as f64)
}

fn requests(inputs: &Inputs) -> Requests {
    let host = &inputs.measured.host;
    Requests {
        warmup: inputs.measured.warmup,
        submitted: host.submitted.iter().sum(),
        completed: host.completed.iter().sum(),
        read: host.completed[Op::Read as usize],
        write: host.completed[Op::Write as usize],
        trim: host.completed[Op::Trim as usize],
        flush: host.completed[Op::Flush as usize],
    }
}

fn host(inputs: &Inputs) -> Host {
    let host = &inputs.measured.host;
    let rate = |pages: u64| per_second(pages * inputs.device.page_bytes, inputs.span_ns());
    Host {
        pages_read: host.pages_read,
        pages_written: host.pages_written,
        pages_trimmed: host.pages_trimmed,
        unmapped_pages_read: host.unmapped_pages_read,
        controller_pages_read: host.controller_pages_read,
        rmw: host.rmw,
        read_bytes_per_s: rate(host.pages_read),
        write_bytes_per_s: rate(host.pages_written),
    }
}

fn write_buffer(inputs: &Inputs) -> Option<WriteBuffer> {
    let (m, left) = (inputs.measured, inputs.device.buffered_pages?);
    Some(WriteBuffer {
        pages_read: m.host.controller_pages_read,
        pages_coalesced: m.buffer.coalesced,
        pages_trimmed: m.buffer.trimmed,
        pages_evicted: m.buffer.evicted,
        pages_waited: m.buffer.waited,
        pages_left: left,
    })
}

fn controller(inputs: &Inputs) -> Option<Controller> {
    let (m, host_crosses) = (inputs.measured, inputs.device.host_crosses?);
    let mut traversals = m.controller.traversals;
    if host_crosses {
        for cause in [Cause::Host, Cause::Rmw] {
            traversals[cause.at()] = m.flash.reads[cause.at()] + m.flash.programs[cause.at()];
        }
    }
    Some(Controller {
        traversal_wait_mean: ratio(m.controller.wait_ns, traversals.iter().sum()),
        traversals: named(&traversals),
        pages_from_buffer: m.controller.from_buffer,
        pages_in_error: m.controller.in_error,
    })
}

/// Statistics of one group of latencies.
#[must_use]
pub fn stats(recorder: &Recorder) -> LatencyStats {
    let h = &recorder.histogram;
    let [p50, p90, p95, p99, p99_9, p99_99] =
        LatencyStats::PERCENTILES.map(|(_, q)| h.percentile(q));
    LatencyStats {
        count: h.count(),
        mean: h.mean(),
        ci95: recorder.batches.half_width_95(),
        min: h.min(),
        max: h.max(),
        stddev: h.stddev(),
        p50,
        p90,
        p95,
        p99,
        p99_9,
        p99_99,
    }
}

fn by_op(group: &ByOp) -> LatencyByOp {
    LatencyByOp {
        read: stats(&group[Op::Read as usize]),
        write: stats(&group[Op::Write as usize]),
        trim: stats(&group[Op::Trim as usize]),
        flush: stats(&group[Op::Flush as usize]),
    }
}

fn latency(inputs: &Inputs) -> Latency {
    let l = &inputs.measured.latencies;
    let LatencyByOp { read, write, trim, flush } = by_op(&l.by_op);
    Latency {
        read,
        write,
        trim,
        flush,
        by_volume: l.split.then(|| l.by_volume.iter().map(|(&k, g)| (k, by_op(g))).collect()),
        by_stream: l.split.then(|| l.by_stream.iter().map(|(&k, g)| (k, by_op(g))).collect()),
    }
}

fn named(counts: &[u64; CAUSES]) -> BTreeMap<Cause, u64> {
    Cause::ALL.iter().map(|&cause| (cause, counts[cause.at()])).collect()
}

fn flash(inputs: &Inputs) -> Flash {
    let f = &inputs.measured.flash;
    Flash {
        reads: named(&f.reads),
        programs: named(&f.programs),
        erases: f.all_erases(),
        erases_by_cause: named(&f.erases),
        retries: named(&f.retries),
    }
}

fn waf(inputs: &Inputs) -> Waf {
    let (f, written) = (&inputs.measured.flash, inputs.measured.host.pages_written);
    let part = |&cause: &Cause| (cause, ratio(f.programs[cause.at()], written));
    Waf { total: ratio(f.all_programs(), written), by_cause: Cause::ALL.iter().map(part).collect() }
}

fn gc(inputs: &Inputs) -> Gc {
    let g = &inputs.measured.gc;
    let mut victims = BTreeMap::from([(RESERVE_GREEDY.to_owned(), g.victims.reserve_greedy)]);
    *victims.entry(inputs.victim_policy.to_owned()).or_default() += g.victims.policy;
    Gc {
        calls: g.calls,
        foreground: g.foreground,
        background: g.background,
        deferred: g.deferred,
        reserve_promotions: g.reserve_promotions,
        pages_moved: g.pages.moved,
        pages_dropped: g.pages.dropped,
        pages_stale: g.pages.stale,
        pages_in_flight: 0,
        mean_victim_invalid_ratio: ratio(
            g.victim_pages_sum.saturating_sub(g.victim_valid_sum),
            g.victim_pages_sum,
        ),
        victims_by_policy: victims,
        job_time_mean: ratio(g.job_time_ns_sum, g.jobs_done),
        job_time_max: (g.jobs_done > 0).then_some(g.job_time_ns_max),
    }
}

fn wear(inputs: &Inputs) -> Wear {
    let (counts, d) = (&inputs.measured.wear, &inputs.device);
    let programs = inputs.measured.flash.all_programs();
    let life = erase_stats(d.life_erases);
    let good = ratio(d.life_erases.len() as u64, d.erases.len() as u64).unwrap_or(0.0);
    let pages = d.physical_pages as f64 * good;
    let survived = pages * f64::from(d.endurance) * d.page_bytes as f64;
    Wear {
        calls: counts.calls,
        pages_moved: counts.pages.moved,
        pages_dropped: counts.pages.dropped,
        pages_stale: counts.pages.stale,
        pages_in_flight: 0,
        factory_bad_blocks: d.factory_bad_blocks,
        worn_out_blocks: d.worn_out_blocks,
        erase_min: life.min,
        erase_max: life.max,
        erase_mean: life.mean,
        erase_stddev: life.stddev,
        host_bytes_written: d.host_bytes_written,
        host_bytes_at_even_wear: ratio(inputs.measured.host.pages_written, programs)
            .filter(|_| d.endurance > 0)
            .map(|per_program| survived * per_program),
    }
}

fn part_means(sums: &PartSums) -> Option<PartMeans> {
    let mean = |sum: u128| sum as f64 / sums.count as f64;
    (sums.count > 0).then(|| PartMeans {
        queue: mean(sums.queue),
        chip: mean(sums.chip),
        transfer: mean(sums.transfer),
        gc_wait: mean(sums.gc_wait),
        metadata: mean(sums.metadata),
    })
}

/// Erases over blocks; zeros without blocks.
struct EraseStats {
    min: u64,
    max: u64,
    mean: f64,
    stddev: f64,
}

fn erase_stats(erases: &[u32]) -> EraseStats {
    let n = erases.len().max(1) as f64;
    let mean = erases.iter().map(|&e| u64::from(e)).sum::<u64>() as f64 / n;
    let square = |e: &u32| (f64::from(*e) - mean) * (f64::from(*e) - mean);
    let variance = erases.iter().map(square).sum::<f64>() / n;
    EraseStats {
        min: erases.iter().copied().min().unwrap_or(0).into(),
        max: erases.iter().copied().max().unwrap_or(0).into(),
        mean,
        stddev: variance.sqrt(),
    }
}

fn device(inputs: &Inputs) -> Device {
    let d = &inputs.device;
    let erases = erase_stats(d.erases);
    let shares = |busy: &[u64]| -> Vec<f64> {
        busy.iter().map(|&ns| ratio(ns, inputs.span_ns()).unwrap_or(0.0)).collect()
    };
    Device {
        page_bytes: d.page_bytes,
        user_pages: d.user_pages,
        physical_pages: d.physical_pages,
        used_pages: d.used_pages,
        valid_pages: d.valid_pages,
        used_ratio: ratio(d.used_pages, d.physical_pages).unwrap_or(0.0),
        blocks: d.erases.len() as u64,
        free_blocks: d.free_blocks,
        bad_blocks: d.factory_bad_blocks + d.worn_out_blocks,
        lowest_free_blocks: d.lowest_free_blocks,
        erase_min: erases.min,
        erase_max: erases.max,
        erase_mean: erases.mean,
        erase_stddev: erases.stddev,
        utilisation: Utilisation {
            channel: shares(d.channel_busy_ns),
            chip: shares(d.chip_busy_ns),
        },
    }
}

fn steady_state(inputs: &Inputs) -> SteadyState {
    let m = inputs.measured;
    m.course.judge(&Evidence {
        host_pages: m.host.pages_written,
        programs: m.flash.all_programs(),
        pages_before: inputs.device.pages_before,
        user_pages: inputs.device.user_pages,
        spare_pages: inputs.device.physical_pages - inputs.device.user_pages,
        live_pages: inputs.device.valid_pages,
        starts_steady: inputs.config["precondition"]["steady_state"] == "mean-field",
        gc_calls: m.gc.calls,
        reserve_decided: verdict::judge(&m.gc).decided_by == DecidedBy::Reserve,
    })
}

fn warmup(inputs: &Inputs) -> Warmup {
    let m = inputs.measured;
    if inputs.config["workload"]["kind"] == "trace" {
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

fn little(inputs: &Inputs) -> Little {
    let (m, span) = (inputs.measured, inputs.span_ns());
    let histograms = || m.latencies.by_op.iter().map(|r| &r.histogram);
    let count: u64 = histograms().map(|h| h.count()).sum();
    let sum: u128 = histograms().map(|h| h.sum()).sum();
    Little {
        mean_in_system: (span > 0)
            .then(|| m.in_system.integral_until(inputs.ended.0) as f64 / span as f64),
        peak_in_system: m.in_system.peak(),
        throughput: per_second(count, span),
        mean_response: (count > 0).then(|| sum as f64 / count as f64),
    }
}

fn speed(inputs: &Inputs) -> Speed {
    let m = inputs.measured;
    let rate = |count: u64| inputs.wall_ns.and_then(|ns| per_second(count, ns));
    Speed {
        requests_per_s: rate(m.host.completed.iter().sum()),
        flash_ops_per_s: rate(m.flash.all()),
        bytes_per_page: inputs.memory_bytes.and_then(|b| ratio(b, inputs.device.physical_pages)),
    }
}
