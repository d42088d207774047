//! Runs composed from a configuration: what the caller supplies is used, and its refusals end the run.

use ssd_core::config::{Host, Input, Metrics, load};
use ssd_core::ftl::reclaim::UnitRecord;
use ssd_core::host::request::{Op, Request, TimedRequest};
use ssd_core::metrics::counters::Cause;
use ssd_core::sim::logs::operations::{OpRecord, StateRow};
use ssd_core::sim::logs::power::PowerRecord;
use ssd_core::sim::logs::requests::RequestRecord;
use ssd_core::units::Nanos;
use ssd_run::logs::Logs;
use ssd_run::{Caller, ClockReading, Ending, RunError, RunLog, Setup, Stage, Unattended, run};
use ssd_trace::config::RunConfig;
use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;

const SMALL: &str = "
    [device]
    channels = 2
    chips_per_channel = 1
    blocks_per_plane = 64
    pages_per_block = 32
    [precondition]
    fill = 0.5
    [workload]
    requests = 6000
    [metrics]
    op_log = true
    request_log = true
";

/// `SMALL` with more settings.
fn config(sets: &[(&str, &str)]) -> RunConfig {
    let file = Some(("run.toml".to_owned(), SMALL.to_owned()));
    let sets = sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    load(&Input { file, sets, ..Input::default() }).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ssd-run-{name}-{}", std::process::id()));
    // Left over from an aborted run of another process with this number.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder of its own");
    folder
}

/// What the log refuses.
#[derive(Clone, Copy, PartialEq)]
enum FailurePoint {
    State,
    Requests,
    End,
}

struct FailingLog(FailurePoint);

impl FailingLog {
    fn write(&self, now: FailurePoint) -> Result<(), String> {
        if self.0 == now { Err("the disk is full".into()) } else { Ok(()) }
    }
}

impl RunLog for FailingLog {
    fn state(&mut self, _rows: &mut dyn Iterator<Item = StateRow>) -> Result<(), String> {
        self.write(FailurePoint::State)
    }

    fn operations(&mut self, _records: &[OpRecord]) -> Result<(), String> {
        Ok(())
    }

    fn power(&mut self, _records: &[PowerRecord]) -> Result<(), String> {
        Ok(())
    }

    fn units(&mut self, _records: &[UnitRecord]) -> Result<(), String> {
        Ok(())
    }

    fn requests(&mut self, _records: &[RequestRecord]) -> Result<(), String> {
        self.write(FailurePoint::Requests)
    }

    fn finish(self: Box<Self>) -> Result<(), String> {
        self.write(FailurePoint::End)
    }
}

/// Keeps what it receives, and stops the run at a stage.
#[derive(Default)]
struct Observer {
    stages: Vec<Stage>,
    stop_at: Option<Stage>,
    full: Option<FailurePoint>,
    folder: Option<PathBuf>,
    readings: u64,
}

impl Caller for Observer {
    fn clock(&mut self) -> Option<ClockReading> {
        self.readings += 1;
        Some(ClockReading { wall_ns: self.readings * 1000, cpu_ns: self.readings * 10 })
    }

    fn progress(&mut self, stage: Stage, done: u64, total: Option<u64>) -> ControlFlow<()> {
        assert!(total.is_none_or(|total| done <= total), "{done} of {total:?}");
        if self.stages.last() != Some(&stage) {
            self.stages.push(stage);
        }
        if self.stop_at == Some(stage) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn log(&mut self, metrics: &Metrics) -> Result<Option<Box<dyn RunLog>>, String> {
        if let Some(full) = self.full {
            return Ok(Some(Box::new(FailingLog(full))));
        }
        let Some(folder) = &self.folder else { return Ok(None) };
        Ok(Some(Box::new(Logs::create(folder, metrics.op_log, metrics.request_log)?)))
    }
}

#[test]
fn a_run_from_a_text() {
    let file = Some(("run.toml".to_owned(), SMALL.to_owned()));
    let config = load(&Input { file, ..Input::default() }).expect("a sound configuration");
    let done = run(config, Setup::default(), &mut Unattended).expect("a run");
    assert_eq!(done.finished.ending, Ending::Completed);
    assert_eq!(done.finished.report.requests.completed, 6000);
}

#[test]
fn progress_clock_and_logs_reach_the_caller() {
    let folder = folder("logs");
    let mut caller = Observer { folder: Some(folder.clone()), ..Observer::default() };
    let done = run(config(&[]), Setup::default(), &mut caller).expect("a run");
    assert_eq!(done.finished.ending, Ending::Completed);
    assert_eq!(caller.stages, [Stage::Precondition, Stage::Workload]);
    let time = &done.finished.report.time;
    assert_eq!((time.wall, time.cpu, caller.readings), (Some(1000), Some(10), 2));
    let text = |name: &str| {
        let bytes = fs::read(folder.join(name)).expect("a log");
        String::from_utf8(zstd::decode_all(&bytes[..]).expect("a whole one")).expect("text")
    };
    assert_eq!(text("requests.csv.zst").lines().count(), 1 + 6000);
    let state = text("state.csv.zst").lines().count() as u64;
    assert!(state > 1 && text("ops.csv.zst").lines().count() > 6000);
    // The files exist now: another run does not start.
    let again = run(config(&[]), Setup::default(), &mut caller).err().expect("no second run");
    let RunError::Log(why) = &again else { panic!("{again:?}") };
    assert!(why.contains("ops.csv.zst: cannot be written"), "{why}");
    fs::remove_dir_all(folder).expect("the folder goes");
}

#[test]
fn a_log_that_fails_ends_the_run() {
    for (full, completed) in
        [(FailurePoint::State, false), (FailurePoint::Requests, false), (FailurePoint::End, true)]
    {
        let mut caller = Observer { full: Some(full), ..Observer::default() };
        let done = run(config(&[]), Setup::default(), &mut caller).expect("it started").finished;
        assert_eq!(done.ending, Ending::Unwritable("the disk is full".into()));
        assert_eq!(done.report.completed, completed);
        let warned = done.report.warnings.iter().any(|w| w == "the disk is full");
        assert_eq!(warned, !completed, "{:?}", done.report.warnings);
    }
}

#[test]
fn an_interrupt_keeps_the_results_so_far() {
    for stage in [Stage::Precondition, Stage::Workload] {
        for mode in ["\"timed\"", "\"functional\""] {
            let mut caller = Observer { stop_at: Some(stage), ..Observer::default() };
            let config = config(&[
                ("run.mode", mode),
                ("metrics.op_log", "false"),
                ("metrics.request_log", "false"),
            ]);
            let done = run(config, Setup::default(), &mut caller).expect("it started").finished;
            assert_eq!((done.ending, done.report.completed), (Ending::Interrupted, false));
            assert_eq!(caller.stages.last(), Some(&stage));
            let early = done.report.warnings.iter().any(|w| w.starts_with("interrupted while"));
            assert_eq!(early, stage == Stage::Precondition);
        }
    }
}

/// A trace that never arrives: nobody writes into the pipe, and whoever waits for it waits forever.
#[cfg(unix)]
#[test]
fn an_interrupt_while_reading_leaves_the_reader_behind() {
    let folder = folder("pipe");
    let pipe = folder.join("trace.csv");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let trace = format!("{:?}", pipe.display().to_string());
    let config = config(&[("workload.kind", "\"trace\""), ("workload.trace", &trace)]);
    let mut caller = Observer { stop_at: Some(Stage::Reading), ..Observer::default() };
    let stopped = run(config, Setup::default(), &mut caller).err();
    assert_eq!(stopped, Some(RunError::Interrupted));
    assert_eq!(caller.stages, [Stage::Reading]);
    fs::remove_dir_all(folder).expect("the folder goes");
}

#[test]
fn what_is_foreseen_are_the_pages_of_the_host() {
    let sets = [
        ("device.channels", "4"),
        ("raid.group", "4"),
        ("alloc.placement", "static"),
        ("alloc.frontiers", "host+gc"),
        ("alloc.separation", "{ policy = \"future\", classes = 3 }"),
    ];
    let done = run(config(&sets), Setup::default(), &mut Unattended).expect("it started").finished;
    assert_eq!(done.ending, Ending::Completed);
    assert_eq!(done.report.separation.expect("pages have classes").classes, 3);
}

#[test]
fn preconditioning_is_foreseen_too() {
    let amplification = |separation| {
        let sets = [
            ("run.mode", "functional"),
            ("device.user_capacity", "\"12 MiB\""),
            ("precondition.fill", "1.0"),
            ("precondition.overwrite", "1.0"),
            ("workload.kind", "uniform"),
            ("workload.read", "0.0"),
            ("workload.size", "\"4 KiB\""),
            ("metrics.op_log", "false"),
            ("metrics.request_log", "false"),
            ("alloc.separation", separation),
        ];
        let done = run(config(&sets), Setup::default(), &mut Unattended).expect("it started");
        done.finished.report.waf.total.expect("the host writes")
    };
    let (future, none) = (amplification("future"), amplification("none"));
    assert!(future < 0.85 * none, "{future} with the future, {none} without classes");
}

#[test]
fn runs_share_a_start_if_their_devices_are_preconditioned_alike() {
    let key = |sets: &[(&str, &str)]| ssd_run::start_key(&config(sets)).expect("a device to share");
    let own = key(&[]);
    for later in [
        ("workload.requests", "7"),
        ("host.queue_depth", "7"),
        ("timing.read", "\"70 us\""),
        ("run.name", "\"other\""),
    ] {
        assert_eq!(key(&[later]), own, "{later:?}");
    }
    for earlier in [
        ("run.seed", "7"),
        ("timing.busy_unit", "plane"),
        ("precondition.fill", "0.6"),
        ("gc.victim", "fifo"),
    ] {
        assert_ne!(key(&[earlier]), own, "{earlier:?}");
    }
}

/// The numbers of streams count, not how many streams there are.
#[test]
fn handles_are_those_up_to_the_last_stream() {
    let folder = folder("handles");
    let file = folder.join("t.ssdtrace");
    let options = ssd_trace::write::Options::default();
    let writer = ssd_trace::write::Columnar::create(&file, options).expect("a file");
    let mut writer: Box<dyn ssd_trace::write::TraceWriter> = Box::new(writer);
    for (at, stream) in [(0, 0), (1, 2), (2, 2)] {
        let request = Request { stream, ..Request::new(Op::Write, 8 * at, 8) };
        writer.write(&TimedRequest { at: Nanos(at), request }).expect("room");
    }
    writer.finish().expect("room");
    let trace = format!("{:?}", file.display().to_string());
    let opened = |handles: u32| {
        let separation = format!("{{ policy = \"fdp\", handles = {handles} }}");
        let sets = [
            ("workload.kind", "\"trace\""),
            ("workload.trace", trace.as_str()),
            ("alloc.separation", separation.as_str()),
        ];
        let opened = ssd_run::open_workload(&mut config(&sets), &mut Unattended);
        opened.map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(opened(3), Ok(()));
    for (handles, why) in [(2, "another stream has no handle"), (4, "no write names handle 3")] {
        let error = opened(handles).expect_err("other handles");
        let told = error.contains(why) && error.contains("streams 0, 2");
        assert!(told && error.ends_with("set handles = 3"), "{error}");
    }
    fs::remove_dir_all(folder).expect("the folder goes");
}

#[test]
fn a_workload_that_cannot_be_opened_is_no_run() {
    let sets = [("workload.kind", "\"trace\""), ("workload.trace", "\"no-such-file\"")];
    let error = run(config(&sets), Setup::default(), &mut Unattended).err().expect("no trace");
    let RunError::Workload(why) = &error else { panic!("{error:?}") };
    assert!(why.starts_with("no-such-file: cannot open the trace"), "{why}");
    let sets = [("precondition.snapshot", "\"no-such-file\"")];
    let error = run(config(&sets), Setup::default(), &mut Unattended).err().expect("no snapshot");
    let RunError::Config(why) = &error else { panic!("{error:?}") };
    assert!(why.starts_with("precondition.snapshot: no-such-file: cannot be read"), "{why}");
}

#[test]
fn a_job_file_sets_the_host() {
    let folder = folder("job");
    let job = folder.join("a.fio");
    fs::write(&job, "[a]\nrw=randwrite\nbs=4k\nsize=1m\niodepth=7\nioengine=libaio\n")
        .expect("a file");
    let path = format!("{:?}", job.display().to_string());
    let mut config = config(&[("workload.kind", "\"fio\""), ("workload.job", &path)]);
    config.host.queue_depth = 1;
    // What a preset says for other workloads.
    (config.host.think_time_ns, config.host.think_every) = (5_000, 3);
    config.host.stop_after_ns = 1_000_000;
    let opened = ssd_run::open_workload(&mut config, &mut Unattended).expect("a job");
    assert_eq!(opened.hosting.expect("a job").ignored, [] as [&str; 0]);
    assert_eq!(config.host, Host { queue_depth: 7, ..Host::default() });
    fs::remove_dir_all(folder).expect("the folder goes");
}

#[test]
fn jobs_run_by_the_clock_of_the_device() {
    let folder = folder("jobs");
    let job = folder.join("a.fio");
    let text = "[global]\nsize=1m\nrw=randwrite\nruntime=20ms\ntime_based\ndirect=1\n[a]\niodepth=4\n[b]\n\
        stonewall\nrate_iops=1000\n[c]\nstonewall\nthinktime=5ms\n";
    fs::write(&job, text).expect("a file");
    let path = format!("{:?}", job.display().to_string());
    let sets = [("workload.kind", "\"fio\""), ("workload.job", &path)];
    let done = run(config(&sets), Setup::default(), &mut Unattended).expect("a job");
    assert_eq!(done.finished.ending, Ending::Completed);
    let report = &done.finished.report;
    let told = "workload.job: options of fio without effect on a device: direct";
    assert!(report.warnings.iter().any(|warning| warning == told), "{:?}", report.warnings);
    // Three times 20 ms, minus the last pause and plus the ends of the last requests.
    let simulated = report.time.simulated;
    assert!((55_000_000..75_000_000).contains(&simulated), "{simulated} ns");
    // 20 of the second job and 4 of the third, besides what the device serves of the first one.
    assert!(report.requests.write > 24 + 4, "{}", report.requests.write);
    // Without time there is no end.
    let functional = [sets[0], sets[1], ("run.mode", "\"functional\"")];
    let error = run(config(&functional), Setup::default(), &mut Unattended).err().expect("none");
    let RunError::Workload(why) = &error else { panic!("{error:?}") };
    assert!(why.contains("line 7: runtime: this job ends by the clock of a device"), "{why}");
    fs::remove_dir_all(folder).expect("the folder goes");
}

#[test]
fn contents_in_a_file_are_those_in_memory() {
    let done = |data: &str| {
        let sets = [("run.data", data), ("workload.read", "0.3"), ("precondition.fill", "1.0")];
        let done = run(config(&sets), Setup::default(), &mut Unattended).expect("it is composed");
        // Every read is checked against what was written.
        assert_eq!(done.finished.ending, Ending::Completed, "{data}");
        let gc = &done.finished.report.gc;
        assert!(gc.pages_moved > 100, "{data}: collection has moved {} pages", gc.pages_moved);
        done.finished.event_digest
    };
    let digests = ["bytes", "file", "digest"].map(done);
    // Digests of bytes differ from those of a page's stamp.
    assert_eq!(digests[0], digests[1]);
    assert_ne!(digests[0], digests[2]);
}

#[test]
fn a_report_has_the_parts_that_its_device_has() {
    let report = |sets: &[(&str, &str)]| {
        run(config(sets), Setup::default(), &mut Unattended).expect("a run").finished.report
    };
    let plain = report(&[]);
    assert!(plain.write_buffer.is_none() && plain.controller.is_none());
    assert!(report(&[("host.write_buffer_pages", "16")]).write_buffer.is_some());
    for traversals in ["0", "1"] {
        let sets = [
            ("timing.model", "\"serial\""),
            ("interconnect.model", "\"formula\""),
            ("controller.traversals_host", traversals),
        ];
        let crossed = report(&sets).controller.expect("an interconnect").traversals[&Cause::Host];
        assert_eq!(crossed > 0, traversals == "1");
    }
}

#[test]
fn a_device_that_follows_its_trace_can_be_interrupted_while_the_trace_is_read() {
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/wiredtiger.trace.zst");
    let trace = format!("{trace:?}");
    let config = config(&[
        ("device.fit", "\"trace\""),
        ("workload.kind", "\"trace\""),
        ("workload.trace", &trace),
    ]);
    let mut caller = Observer { stop_at: Some(Stage::Reading), ..Observer::default() };
    let stopped = run(config, Setup::default(), &mut caller).err();
    assert_eq!(stopped, Some(RunError::Interrupted));
}
