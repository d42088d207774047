//! A simulation from its settings to its report.

use crate::cut::recover;
use crate::executor::{Activity, ActivityTimes, HostError, Machine, PhaseMeasurements};
use crate::fs::{Cause, PAGE};
use crate::settings::HostSettings;
use crate::workload::{Workload, op_name};
use serde_json::{Map, Value, json};
use ssd_core::metrics::counters::Cause as DriveCause;
use ssd_core::metrics::histogram::Histogram;
use ssd_kv::ReadOptions;
use ssd_trace::config::RunConfig;
use ssd_trace::keys::{KeyOp, StreamParameters};

/// Version of the form of the report.
const VERSION: u32 = 1;

/// What a simulation leaves.
pub struct Outcome {
    /// The report.
    pub report: Value,
    /// The files of the store.
    pub files: Vec<(String, Vec<u8>)>,
    /// Why it did not finish.
    pub error: Option<HostError>,
}

/// Where the operations come from.
pub enum Origin<'a> {
    /// A stream by name.
    Named(&'a str),
    /// The name and the text of a trace.
    Traced(&'a str, &'a str),
}

/// Run the store of `settings` on the drive of `config`. `keep_going` is called regularly with the operations done. A
/// failure after the start is in the outcome, with the report so far.
///
/// # Errors
/// It cannot begin.
pub fn simulate(
    config: &RunConfig,
    settings: &HostSettings,
    origin: &Origin<'_>,
    keep_going: &mut dyn FnMut(u64) -> bool,
) -> Result<Outcome, HostError> {
    settings.check().map_err(HostError::Refused)?;
    let mut machine = Machine::new(config, settings.clone(), workload(config, settings, origin)?)?;
    let mut stopped = false;
    let mut asking = |done| {
        stopped |= !keep_going(done);
        !stopped
    };
    let ended = machine.run(&mut asking).and_then(|()| machine.rest(!stopped));
    let error = match (ended, settings.cut_ns) {
        (Err(HostError::PowerCut(_)), _) => None,
        (Ok(()), Some(cut)) if !stopped => Some(HostError::NoCut(cut, machine.now())),
        (ended, _) => ended.err(),
    };
    if error.is_some() {
        // Let requests under way finish, if the drive still works; the first error is the one to report.
        let _ = machine.end_requests();
    }
    let mut report = report(config, &machine, error.as_ref(), stopped);
    if settings.cut_ns.is_some() && error.is_none() && !stopped {
        let again = workload(config, settings, origin)?;
        let (cut, recovered) = recover(machine, config, settings, again)?;
        (report["cut"], machine) = (cut, recovered);
    }
    Ok(Outcome { report, files: machine.fs().files(), error })
}

/// The operations of the clients.
fn workload(
    config: &RunConfig,
    settings: &HostSettings,
    origin: &Origin<'_>,
) -> Result<Workload, HostError> {
    let parameters = StreamParameters {
        records: settings.records,
        operations: settings.operations,
        value_bytes: Some(settings.value_bytes),
        keys: None,
        seed: config.workload_seed(),
    };
    let workload = match *origin {
        Origin::Named("mixgraph") => {
            Workload::named("mixgraph", &StreamParameters { value_bytes: None, ..parameters })
        }
        Origin::Named(name) => Workload::named(name, &parameters),
        Origin::Traced(name, text) => Workload::traced(name, text),
    };
    workload.map_err(HostError::Refused)
}

fn ratio(a: u64, b: u64) -> Value {
    if b == 0 { Value::Null } else { json!(a as f64 / b as f64) }
}

fn latency(histogram: &Histogram) -> Value {
    json!({
        "count": histogram.count(),
        "mean_ns": histogram.mean(),
        "p50_ns": histogram.percentile(0.5),
        "p90_ns": histogram.percentile(0.9),
        "p99_ns": histogram.percentile(0.99),
        "p999_ns": histogram.percentile(0.999),
        "max_ns": histogram.max(),
    })
}

/// Pages by cause, without causes that have none.
fn by_cause(pages: impl Fn(usize) -> u64) -> Map<String, Value> {
    let pairs = Cause::ALL.iter().map(|cause| (cause.name().to_owned(), pages(cause.at())));
    pairs.filter(|pair| pair.1 > 0).map(|(name, pages)| (name, json!(pages))).collect()
}

/// Write amplification by what the pages were written for, and its sum.
fn amplification(host: &Map<String, Value>, drive: &[(String, u64)], user_bytes: u64) -> Value {
    let mut parts = Map::new();
    let mut sum = 0;
    let pages = host.iter().map(|(name, pages)| (name.clone(), pages.as_u64().unwrap_or(0)));
    for (name, pages) in pages.chain(drive.iter().cloned()) {
        sum += pages;
        parts.insert(name, ratio(pages * PAGE as u64, user_bytes));
    }
    parts.insert("total".to_owned(), ratio(sum * PAGE as u64, user_bytes));
    Value::Object(parts)
}

/// Pages that the drive programmed beyond the host's writes, which are whole pages.
fn own_programs(programs: impl Fn(DriveCause) -> u64) -> Vec<(String, u64)> {
    let own = DriveCause::ALL.iter().filter(|cause| **cause != DriveCause::Host);
    let pairs = own.map(|&cause| (cause.name().to_owned(), programs(cause)));
    pairs.filter(|pair| pair.1 > 0).collect()
}

/// Time by activity between two looks.
fn activities(before: &ActivityTimes, after: &ActivityTimes) -> Map<String, Value> {
    let time = |activity: Activity| after[activity as usize] - before[activity as usize];
    let pairs = Activity::ALL.iter().map(|&activity| (activity.name(), time(activity)));
    pairs.filter(|pair| pair.1 > 0).map(|(name, ns)| (name.to_owned(), json!(ns))).collect()
}

fn phase_report(phase: &PhaseMeasurements) -> Value {
    let operations: u64 = phase.latencies.iter().map(Histogram::count).sum();
    let span = phase.end_ns - phase.start_ns;
    let latencies: Map<String, Value> = (KeyOp::ALL.iter().zip(&phase.latencies))
        .filter(|(_, histogram)| histogram.count() > 0)
        .map(|(&op, histogram)| (op_name(op).to_owned(), latency(histogram)))
        .collect();
    let (before, after) = (&phase.before, &phase.after);
    let written = by_cause(|at| after.written[at] - before.written[at]);
    let read = by_cause(|at| after.read[at] - before.read[at]);
    let own = own_programs(|cause| phase.programs[1][cause.at()] - phase.programs[0][cause.at()]);
    json!({
        "name": phase.name,
        "start_ns": phase.start_ns,
        "end_ns": phase.end_ns,
        "operations": operations,
        "operations_per_s": if span == 0 { Value::Null } else {
            json!(operations as f64 * 1e9 / span as f64)
        },
        "latency": latencies,
        "slowed": {"writes": phase.slowed.0, "ns": phase.slowed.1},
        "stopped": {"waits": phase.stopped.0, "ns": phase.stopped.1},
        "groups": {"groups": phase.groups.0, "writes": phase.groups.1},
        "user_bytes": phase.user_bytes,
        "found": phase.hits,
        "pages_written": written,
        "pages_copied": by_cause(|at| after.copied[at] - before.copied[at]),
        "pages_read": read,
        "pages_discarded": after.discarded - before.discarded,
        "commits": after.commits - before.commits,
        "cache": {
            "hits": after.hits - before.hits,
            "misses": after.misses - before.misses,
            "read_ahead": after.ahead - before.ahead,
        },
        "write_amplification": amplification(&written, &own, phase.user_bytes),
        "time": {
            "clients": activities(&phase.time[0].clients, &phase.time[1].clients),
            "background": activities(&phase.time[0].background, &phase.time[1].background),
            "write_back": activities(&phase.time[0].write_back, &phase.time[1].write_back),
        },
    })
}

/// Bytes of all pairs in the store.
fn live_bytes(machine: &Machine) -> Option<u64> {
    let quiet = ReadOptions { fill_cache: false, ..ReadOptions::default() };
    let mut iter = machine.store().iter(quiet, None).ok()?;
    iter.seek_to_first().ok()?;
    let mut bytes = 0;
    while iter.valid() {
        bytes += (iter.key().len() + iter.value().len()) as u64;
        iter.next().ok()?;
    }
    Some(bytes)
}

fn store_report(machine: &Machine) -> Value {
    let stats = machine.store().stats();
    let tables = machine.store().tables_per_level();
    let levels =
        stats.levels.iter().zip(&stats.reuse).zip(tables).map(|((level, reuse), tables)| {
            json!({
                "tables": tables,
                "compactions": level.compactions,
                "bytes_read": level.bytes_read,
                "bytes_written": level.bytes_written,
                "input_blocks": reuse.input_blocks,
                "unchanged_blocks": reuse.unchanged_blocks,
                "output_blocks": reuse.output_blocks,
                "reused_blocks": reuse.reused_blocks,
                "bytes_shared": reuse.bytes_shared,
                "bytes_copied": reuse.bytes_copied,
                "takeover_calls": reuse.calls,
                "udb_share": ratio(reuse.reused_blocks, reuse.output_blocks),
            })
        });
    json!({
        "levels": levels.collect::<Vec<_>>(),
        "moved": stats.moved,
        "merged_bytes": stats.merged_bytes,
        "built_bytes": stats.built_bytes,
    })
}

fn report(
    config: &RunConfig,
    machine: &Machine,
    error: Option<&HostError>,
    stopped: bool,
) -> Value {
    let (counts, measured) = (machine.fs().counts(), machine.measured());
    let host = &machine.ssd().measured().host;
    let programs = machine.ssd().measured().flash.programs;
    let user_bytes = measured.phases.iter().map(|phase| phase.user_bytes).sum();
    let written = by_cause(|at| counts.written[at]);
    let own = own_programs(|cause| programs[cause.at()]);
    let live = live_bytes(machine);
    let course = measured.course.iter().map(|row| {
        let latency = [row.latency_ns, row.longest_ns, row.stalled_ns, row.p50_ns, row.p99_ns];
        json!([[row.start_ns, row.operations].as_slice(), &latency].concat())
    });
    let spans = measured.spans.iter().map(|s| json!([s.level, s.start_ns, s.end_ns]));
    let channels = measured.channels.rows.iter().map(|row| {
        let busy = json!(row.busy_ns);
        json!([row.at_ns, row.collected, busy])
    });
    let drive = ssd_run::report_of(config, machine.ssd(), None);
    json!({
        "version": VERSION,
        "completed": error.is_none() && !stopped,
        "error": error.map(ToString::to_string),
        "digest": format!("{:016x}", machine.digest()),
        "simulated_ns": machine.now(),
        "settings": machine.settings(),
        "phases": measured.phases.iter().map(phase_report).collect::<Vec<_>>(),
        "total": {
            "user_bytes": user_bytes,
            "pages_written": written,
            "pages_copied": by_cause(|at| counts.copied[at]),
            "pages_noted": counts.written.iter().sum::<u64>(),
            "pages_written_on_drive": host.pages_written,
            "write_amplification": amplification(&written, &own, user_bytes),
        },
        "space": {
            "live_bytes": live,
            "used_bytes": counts.used * PAGE as u64,
            "amplification": live.map(|live| ratio(counts.used * PAGE as u64, live)),
        },
        "store": store_report(machine),
        "course": {
            "columns": [
                "start_ns", "operations", "latency_ns", "longest_ns", "stalled_ns", "p50_ns", "p99_ns",
            ],
            "rows": course.collect::<Vec<_>>(),
        },
        "background": {
            "columns": ["level", "start_ns", "end_ns"],
            "rows": spans.collect::<Vec<_>>(),
        },
        "channels": {
            "columns": ["at_ns", "pages_collected", "busy_ns"],
            "rows": channels.collect::<Vec<_>>(),
        },
        "drive": drive,
    })
}
