//! Every number of the report, recomputed from the record of the same simulation and from the files of the store.

use serde_json::{Value, json};
use ssd_core::config::Config;
use ssd_core::metrics::cause::Cause;
use ssd_core::metrics::histogram::Histogram;
use ssd_host::executor::{PhaseMeasurements, RecordEntry};
use ssd_host::fs::{CAUSES, FsCounts};
use ssd_host::workload::Workload;
use ssd_host::{HostSettings, Machine, Origin, simulate};
use ssd_kv::vfs::MemoryVfs;
use ssd_kv::{Db, Options, ReadOptions};
use ssd_trace::config::RunConfig;
use ssd_trace::keys::{KeyOp, StreamParameters};
use std::sync::Arc;

const NAMES: [&str; CAUSES] = [
    "log", "manifest", "other", "flush", "level-1", "level-2", "level-3", "level-4", "level-5",
    "level-6", "journal", "home",
];

/// A small drive that collects.
fn config() -> RunConfig {
    let mut kernel = Config::default();
    let d = &mut kernel.device;
    [d.channels, d.chips_per_channel, d.planes_per_chip] = [2, 2, 1];
    (d.blocks_per_plane, d.pages_per_block, d.page_bytes) = (60, 32, 4096);
    d.user_pages = 6600;
    kernel.precondition.fill = 0.97;
    kernel.metrics.interval_ns = 0;
    RunConfig { kernel, ..RunConfig::default() }
}

fn settings() -> HostSettings {
    let mut s = HostSettings { records: 9000, operations: 9000, ..HostSettings::default() };
    (s.clients, s.sync_every, s.interval_ns, s.value_bytes) = (3, 700, 500_000_000, 900);
    (s.store.write_buffer_size, s.store.max_file_size) = (256 << 10, 1 << 20);
    (s.store.block_cache_size, s.fs.cache_pages, s.fs.dirty_pages) = (64 << 10, 300, 100);
    s
}

fn machine(config: &RunConfig, settings: &HostSettings) -> Machine {
    let wanted = StreamParameters {
        records: settings.records,
        operations: settings.operations,
        value_bytes: Some(settings.value_bytes),
        keys: None,
        seed: config.workload_seed(),
    };
    let workload = Workload::named("ycsb-a", &wanted).expect("a workload");
    let mut machine = Machine::new(config, settings.clone(), workload).expect("a machine");
    machine.keep_record();
    machine.run(&mut |_| true).expect("a run");
    machine.rest(true).expect("it comes to rest");
    machine
}

fn by_cause(pages: impl Fn(usize) -> u64) -> Value {
    let all = NAMES.iter().enumerate().map(|(at, name)| (*name, pages(at)));
    all.filter(|one| one.1 > 0).map(|(name, pages)| (name.to_owned(), json!(pages))).collect()
}

fn sum(pages: &Value) -> f64 {
    pages.as_object().expect("pages by cause").values().filter_map(Value::as_f64).sum()
}

/// Latencies of the operations of a kind that ended from `start` on and before the end of the phase.
fn latency(
    record: &[RecordEntry],
    wanted: KeyOp,
    span: &std::ops::RangeInclusive<u64>,
) -> Histogram {
    let mut all = Histogram::new();
    for one in record {
        if let RecordEntry::Ended { at_ns, op, began_ns, .. } = *one
            && op == wanted
            && span.contains(&began_ns)
            && span.contains(&at_ns)
        {
            all.record(at_ns - began_ns);
        }
    }
    all
}

/// All time of all actors has an activity, and that of clients that are not idle is the sum of their latencies.
fn assert_times(time: &Value, phase: &PhaseMeasurements, clients: u64) {
    let span = phase.end_ns - phase.start_ns;
    for (actors, number) in [("clients", clients), ("background", 1), ("write_back", 1)] {
        assert_eq!(sum(&time[actors]) as u64, number * span, "{actors}");
    }
    let of = |name: &str| time["clients"][name].as_u64().unwrap_or(0);
    let latencies: f64 =
        phase.latencies.iter().map(|of| of.mean().unwrap_or(0.0) * of.count() as f64).sum();
    let busy = (clients * span - of("idle_ns")) as f64;
    assert!((busy - latencies).abs() <= 1e-9 * latencies, "{busy} {latencies}");
    assert_eq!((of("slowed_ns"), of("stopped_ns")), (phase.slowed.1, phase.stopped.1));
    let waits = ["processor_ns", "read_ns", "write_ns", "group_ns"];
    assert!(waits.iter().all(|name| of(name) > 0), "{time}");
}

fn assert_phase(report: &Value, machine: &Machine, at: usize) {
    let (phase, measured) = (&report["phases"][at], &machine.measured().phases[at]);
    let (before, after): (&FsCounts, &FsCounts) = (&measured.before, &measured.after);
    let span = measured.start_ns..=measured.end_ns;
    assert_eq!((&phase["start_ns"], &phase["end_ns"]), (&json!(span.start()), &json!(span.end())));
    let kinds = [(KeyOp::Read, "read"), (KeyOp::Insert, "insert"), (KeyOp::Update, "update")];
    let mut operations = 0;
    for (op, name) in kinds {
        let of = latency(machine.record(), op, &span);
        operations += of.count();
        let expected = json!({
            "count": of.count(), "mean_ns": of.mean(), "max_ns": of.max(),
            "p50_ns": of.percentile(0.5), "p90_ns": of.percentile(0.9),
            "p99_ns": of.percentile(0.99), "p999_ns": of.percentile(0.999),
        });
        let found = &phase["latency"][name];
        assert_eq!(*found, if of.count() > 0 { expected } else { Value::Null }, "{name}");
    }
    assert_eq!(phase["operations"], json!(operations));
    let seconds = (span.end() - span.start()) as f64 / 1e9;
    let rate = phase["operations_per_s"].as_f64().expect("a rate");
    assert!((rate * seconds - operations as f64).abs() < 1e-6 * operations as f64);
    assert_eq!(phase["pages_written"], by_cause(|at| after.written[at] - before.written[at]));
    assert_eq!(phase["pages_read"], by_cause(|at| after.read[at] - before.read[at]));
    assert_eq!(phase["pages_discarded"], json!(after.discarded - before.discarded));
    assert_eq!(phase["commits"], json!(after.commits - before.commits));
    let cache =
        [after.hits - before.hits, after.misses - before.misses, after.ahead - before.ahead];
    let found = ["hits", "misses", "read_ahead"].map(|name| phase["cache"][name].as_u64());
    assert_eq!(found, cache.map(Some));
    assert_times(&phase["time"], measured, machine.settings().clients.into());
    let (slowed, stopped, groups) = (measured.slowed, measured.stopped, measured.groups);
    assert_eq!(phase["slowed"], json!({"writes": slowed.0, "ns": slowed.1}));
    assert_eq!(phase["stopped"], json!({"waits": stopped.0, "ns": stopped.1}));
    assert_eq!(phase["groups"], json!({"groups": groups.0, "writes": groups.1}));
    assert_eq!(phase["found"], json!(measured.hits));
    // What the host writes for each byte of the user, and what the drive adds.
    let bytes = phase["user_bytes"].as_u64().expect("bytes") as f64;
    let parts = &phase["write_amplification"];
    let part = |pages: u64| pages as f64 * 4096.0 / bytes;
    for (at, name) in NAMES.iter().enumerate() {
        let pages = after.written[at] - before.written[at];
        let written = parts[name].as_f64().unwrap_or(0.0);
        assert!((written - part(pages)).abs() < 1e-9, "{name}: {written}");
    }
    let programs =
        |cause: Cause| measured.programs[1][cause.at()] - measured.programs[0][cause.at()];
    let own =
        Cause::ALL.iter().filter(|cause| **cause != Cause::Host).map(|cause| programs(*cause));
    let pages = own.sum::<u64>() + sum(&phase["pages_written"]) as u64;
    assert!((parts["total"].as_f64().expect("a sum") - part(pages)).abs() < 1e-9);
    let collected = parts["gc"].as_f64().unwrap_or(0.0);
    assert!((collected - part(programs(Cause::Gc))).abs() < 1e-9);
}

#[test]
fn every_number_is_computed_once_more() {
    let (config, settings) = (config(), settings());
    let outcome = simulate(&config, &settings, &Origin::Named("ycsb-a"), &mut |_| true);
    let outcome = outcome.expect("a simulation");
    let (report, machine) = (&outcome.report, machine(&config, &settings));
    assert_eq!(report["digest"], json!(format!("{:016x}", machine.digest())));
    assert_eq!((&report["completed"], &report["error"]), (&json!(true), &Value::Null));
    assert_eq!(report["simulated_ns"], json!(machine.now()));
    (0..2).for_each(|at| assert_phase(report, &machine, at));
    let counts = machine.fs().counts();
    let total = &report["total"];
    assert_eq!(total["pages_written"], by_cause(|at| counts.written[at]));
    assert_eq!(total["pages_noted"].as_f64(), Some(sum(&total["pages_written"])));
    assert_eq!(total["pages_noted"], total["pages_written_on_drive"]);
    let bytes: u64 = machine.measured().phases.iter().map(|phase| phase.user_bytes).sum();
    assert_eq!(total["user_bytes"], json!(bytes));
    let programs: u64 = machine.ssd().measured().flash.programs.iter().sum();
    let amplification = total["write_amplification"]["total"].as_f64().expect("a sum");
    let expected = programs as f64 * 4096.0 / bytes as f64;
    assert!((amplification - expected).abs() < 1e-9 * expected, "{amplification} {expected}");
    assert!(programs > counts.written.iter().sum::<u64>(), "the drive has collected");
    assert_space(report, outcome.files);
    let course = &machine.measured().course;
    assert_eq!(
        report["course"]["columns"],
        json!([
            "start_ns",
            "operations",
            "latency_ns",
            "longest_ns",
            "stalled_ns",
            "p50_ns",
            "p99_ns"
        ])
    );
    let rows = course.iter().map(|row| {
        json!([
            row.start_ns,
            row.operations,
            row.latency_ns,
            row.longest_ns,
            row.stalled_ns,
            row.p50_ns,
            row.p99_ns
        ])
    });
    assert_eq!(report["course"]["rows"], Value::Array(rows.collect()));
    assert!(course.iter().any(|row| row.stalled_ns > 0 && row.p99_ns > row.p50_ns));
    let spans = machine.measured().spans.iter().map(|s| json!([s.level, s.start_ns, s.end_ns]));
    assert_eq!(report["background"]["rows"], Value::Array(spans.collect()));
    let channels = machine.measured().channels.rows.iter();
    let channels = channels.map(|row| json!([row.at_ns, row.collected, row.busy_ns]));
    assert_eq!(report["channels"]["rows"], Value::Array(channels.collect()));
}

/// The bytes of all pairs, and of the files that hold them.
fn assert_space(report: &Value, files: Vec<(String, Vec<u8>)>) {
    let pages: u64 = files.iter().map(|file| file.1.len().div_ceil(4096) as u64).sum();
    let files = MemoryVfs::of(files.into_iter().collect());
    let db = Db::open(Arc::new(files), Options::default()).expect("it opens");
    let mut iter = db.iter(ReadOptions::default(), None).expect("an iterator");
    let mut live = 0;
    iter.seek_to_first().expect("a seek");
    while iter.valid() {
        live += (iter.key().len() + iter.value().len()) as u64;
        iter.next().expect("a pair");
    }
    let space = &report["space"];
    assert_eq!(space["live_bytes"], json!(live));
    assert_eq!(space["used_bytes"], json!(pages * 4096));
    let ratio = space["amplification"].as_f64().expect("a ratio");
    assert!((ratio * live as f64 - (pages * 4096) as f64).abs() < 1.0);
}
