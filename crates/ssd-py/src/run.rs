//! A run, called from Python with the interpreter released and asked again for progress.
#![allow(clippy::disallowed_types, reason = "wall time of a run is measured here, not in the core")]

use crate::device::{self, Device};
use crate::policies::{self, Policies};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use ssd_core::config::{ArrivalKind, Config, Host, HostMode, Mode};
use ssd_core::experiment::{self, Circumstances, Ending, Stage, StateRow, Watcher};
use ssd_core::ftl::plugs::Plugs;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::log::OpRecord;
use ssd_core::sim::request::RequestRecord;
use ssd_trace::fio::Drive;
use ssd_trace::logs::Logs;
use ssd_trace::snapshots;
use ssd_trace::{OpenedSource, Step};
use std::fs::Metadata;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// A finished run.
#[pyclass(frozen, get_all, module = "ssdlab._core")]
pub(crate) struct Finished {
    /// "completed", "interrupted", "failed", or "unwritable" when a log could not be written.
    ending: String,
    /// Why it failed or what could not be written; empty otherwise.
    message: String,
    /// report.json.
    report: String,
    /// The time series as CSV.
    series: String,
    /// The distributions behind means and percentiles, as CSV.
    distributions: String,
    /// What was found in the trace, as JSON; None for a synthetic workload.
    trace: Option<String>,
    /// The exception of a policy in Python that ended the run; None: none did.
    error: Option<Py<PyAny>>,
}

impl Finished {
    /// Of a run whose logs, trace and policies are nobody's concern.
    pub(crate) fn of(done: experiment::Finished) -> Finished {
        let (ending, message) = match done.ending {
            Ending::Completed => ("completed", String::new()),
            Ending::Interrupted => ("interrupted", String::new()),
            Ending::Failed(message) => ("failed", message),
        };
        Finished {
            ending: ending.to_string(),
            message,
            report: done.report.to_json(),
            series: done.series.to_csv(),
            distributions: done.distributions,
            trace: None,
            error: None,
        }
    }
}

/// Let Python heed signals and tell it how far the work is; what either raises.
pub(crate) fn tell(
    progress: Option<&Py<PyAny>>,
    stage: &str,
    done: u64,
    total: Option<u64>,
) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        match progress {
            Some(callback) => callback.call1(py, (stage, done, total)).map(|_| ()),
            None => Ok(()),
        }
    })
}

/// Time between two looks for signals.
const POLL: Duration = Duration::from_millis(100);

/// How far a reading is, shared by the thread that reads and the one that looks after it.
#[derive(Default)]
struct Reading {
    bytes: AtomicU64,
    /// Requests put in order of time, and of how many; 0: none are.
    sorted: AtomicU64,
    to_sort: AtomicU64,
    /// Nobody waits for it any more.
    left: AtomicBool,
}

/// The workload of `config`, opened. A trace is read by a thread of its own: what it waits for may never
/// come, and it is left behind when Python is interrupted meanwhile.
#[allow(clippy::disallowed_methods, reason = "threads are banned in the core; this one only reads")]
fn opened(py: Python<'_>, config: &Config, progress: Option<&Py<PyAny>>) -> PyResult<OpenedSource> {
    let (page_bytes, user_pages) = (config.device.page_bytes, config.device.user_pages);
    let (seed, mut workload) = (config.workload_seed(), config.workload.clone());
    if config.host.mode == HostMode::Closed || config.run.mode == Mode::Functional {
        // Nobody looks at arrival times: spare the logarithms. Their stream is their own.
        workload.arrival.kind = ArrivalKind::Fixed;
    }
    let file = workload.trace.as_ref().or(workload.like.as_ref()).map(std::fs::metadata);
    let total = file.and_then(Result::ok).filter(Metadata::is_file).map(|file| file.len());
    let (sender, receiver) = mpsc::channel();
    let reading = Arc::new(Reading::default());
    let there = Arc::clone(&reading);
    let reader = std::thread::spawn(move || {
        let mut watch = |step| {
            match step {
                Step::Read(bytes) => there.bytes.store(bytes, Ordering::Relaxed),
                Step::Sorted { done, total } => {
                    there.sorted.store(done, Ordering::Relaxed);
                    there.to_sort.store(total, Ordering::Relaxed);
                }
            }
            let left = there.left.load(Ordering::Relaxed);
            if left { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let opened = ssd_trace::open_watched(&workload, page_bytes, user_pages, seed, &mut watch);
        // Nobody receives any more: then nobody wants it.
        let _ = sender.send(opened);
    });
    let told = |reading: &Reading, done: Option<u64>| {
        let now = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let told = match now(&reading.to_sort) {
            0 => tell(progress, "reading", done.unwrap_or(now(&reading.bytes)), total),
            all => tell(progress, "sorting", done.map_or(now(&reading.sorted), |_| all), Some(all)),
        };
        reading.left.store(told.is_err(), Ordering::Relaxed);
        told
    };
    py.detach(move || {
        loop {
            match receiver.recv_timeout(POLL) {
                Ok(opened) => {
                    if let (Ok(_), Some(all)) = (&opened, total) {
                        told(&reading, Some(all))?;
                    }
                    return opened.map_err(|e| crate::WorkloadError::new_err(e.to_string()));
                }
                Err(RecvTimeoutError::Timeout) => told(&reading, None)?,
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let panic = reader.join().expect_err("a thread that ends well has sent its value");
        std::panic::resume_unwind(panic)
    })
}

/// Passes what happens on to Python.
struct Bridge {
    progress: Option<Py<PyAny>>,
    logs: Option<Logs>,
    started: Instant,
    /// An exception that Python's callback raised (not an interrupt).
    raised: Option<PyErr>,
    /// Why a log could not be written.
    unwritable: Option<String>,
}

impl Bridge {
    /// Remember that a log could not be written, so that it can be distinguished from a failure of the run.
    fn noted(&mut self, written: Result<(), String>) -> Result<(), String> {
        if let Err(message) = &written {
            self.unwritable = Some(message.clone());
        }
        written
    }
}

impl Watcher for Bridge {
    fn clock(&mut self) -> Option<(u64, u64)> {
        let wall = u64::try_from(self.started.elapsed().as_nanos()).ok()?;
        let cpu = Python::attach(|py| {
            py.import("time")?.call_method0("thread_time_ns")?.extract::<u64>()
        });
        Some((wall, cpu.ok()?))
    }

    fn progress(&mut self, stage: Stage, done: u64, total: Option<u64>) -> ControlFlow<()> {
        let name = match stage {
            Stage::Precondition => "precondition",
            Stage::Workload => "workload",
        };
        let Err(error) = tell(self.progress.as_ref(), name, done, total) else {
            return ControlFlow::Continue(());
        };
        let interrupt = Python::attach(|py| error.is_instance_of::<PyKeyboardInterrupt>(py));
        if !interrupt {
            self.raised = Some(error);
        }
        ControlFlow::Break(())
    }

    fn state(&mut self, rows: &mut dyn Iterator<Item = StateRow>) -> Result<(), String> {
        let written = self.logs.as_mut().map_or(Ok(()), |logs| logs.state(rows));
        self.noted(written)
    }

    fn operations(&mut self, records: &[OpRecord]) -> Result<(), String> {
        let written = self.logs.as_mut().map_or(Ok(()), |logs| logs.operations(records));
        self.noted(written)
    }

    fn requests(&mut self, records: &[RequestRecord]) -> Result<(), String> {
        let written = self.logs.as_mut().map_or(Ok(()), |logs| logs.requests(records));
        self.noted(written)
    }
}

/// Run a resolved configuration (JSON).
///
/// `progress(stage, done, total)` is called every few thousand steps. Logs that the configuration asks
/// for are written into `folder`, which must exist. `audit_every` recomputes all invariants every so
/// many instants. `policies` holds a key of the configuration, the object that stands in for its policy,
/// and its name. The run starts from the state of `device`, which stays as it is, or from the snapshot
/// that the configuration names, else by preconditioning. Raises `ConfigError` when that does not fit,
/// `WorkloadError` when the workload cannot be opened, `OSError` when a log cannot be created; an
/// interrupt ends the run early and is reported in `ending`; while a snapshot is read, it is raised.
#[pyfunction]
#[pyo3(signature = (config, *, progress=None, folder=None, commit=None, audit_every=0,
    policies=Vec::new(), device=None))]
#[allow(clippy::too_many_arguments, reason = "in Python they have names")]
pub(crate) fn run(
    py: Python<'_>,
    config: &str,
    progress: Option<Py<PyAny>>,
    folder: Option<PathBuf>,
    commit: Option<String>,
    audit_every: u64,
    policies: Vec<policies::Said>,
    device: Option<&Device>,
) -> PyResult<Finished> {
    let mut config: Config = crate::parsed("config", config)?;
    let opened = opened(py, &config, progress.as_ref())?;
    if let Some(drive) = opened.drive {
        follow(&mut config.host, drive).map_err(crate::WorkloadError::new_err)?;
    }
    let m = &config.metrics;
    let logs = match &folder {
        Some(folder) if m.op_log || m.request_log => {
            Some(Logs::create(folder, m.op_log, m.request_log).map_err(PyOSError::new_err)?)
        }
        _ => None,
    };
    let mut bridge =
        Bridge { progress, logs, started: Instant::now(), raised: None, unwritable: None };
    let (outside, plugs) = Policies::plugs(py, &config, policies)?;
    let start = start(py, &config, device, &plugs, bridge.progress.as_ref())?;
    let circumstances = Circumstances {
        plugs,
        commit,
        trace_lines: opened.facts.as_ref().map(ssd_trace::TraceFacts::lines_told),
        trace_digest: opened.facts.as_ref().map(|f| f.trace_digest.clone()),
        snapshot_digest: start.as_ref().map(|(_, digest)| digest.clone()),
        warnings: opened.facts.as_ref().map_or_else(Vec::new, ssd_trace::TraceFacts::warnings),
        audit_every,
    };
    let mut source = opened.source;
    let done = py.detach(|| match start {
        Some((device, _)) => {
            experiment::run_from(&config, device, &mut *source, &circumstances, &mut bridge)
        }
        None => experiment::run(&config, &mut *source, &circumstances, &mut bridge),
    });
    if let Some(error) = bridge.raised {
        return Err(error);
    }
    let finished = bridge.logs.take().map_or(Ok(()), Logs::finish);
    let unwritable = bridge.unwritable.or(finished.err());
    let mut told = Finished::of(done);
    if let Some(message) = unwritable {
        (told.ending, told.message) = ("unwritable".to_string(), message);
    }
    told.trace = opened.facts.map(|f| serde_json::json!(f).to_string());
    told.error = outside.and_then(|o| o.exception()).map(|e| e.into_value(py).into_any());
    Ok(told)
}

/// The device that a run starts from instead of preconditioning one, and the digest of its state: that
/// of `device`, or the one in the file that the configuration names.
fn start(
    py: Python<'_>,
    config: &Config,
    device: Option<&Device>,
    plugs: &Plugs,
    progress: Option<&Py<PyAny>>,
) -> PyResult<Option<(Functional, String)>> {
    let (snapshot, digest, place) = match (device, &config.precondition.snapshot) {
        (Some(device), _) => {
            let snapshot = device.snapshot()?;
            let digest = snapshots::hex(snapshot.digest());
            (snapshot, digest, "device".to_string())
        }
        (None, Some(file)) => {
            let key = "precondition.snapshot: ";
            let loaded = device::loaded(py, key, file.as_ref(), Some(config), progress)?;
            (loaded.0, loaded.1, format!("{key}{file}"))
        }
        (None, None) => return Ok(None),
    };
    let restored = py.detach(|| Functional::restore(config, &snapshot, plugs));
    let device = restored.map_err(|why| device::refused(format!("{place}: {why}")))?;
    Ok(Some((device, digest)))
}

/// `host` as a job file of fio wants it, whatever was said: a preset says something for other workloads.
fn follow(host: &mut Host, drive: Drive) -> Result<(), String> {
    let Drive::Closed { depth, think_ns, think_every, stop_ns } = drive else {
        host.mode = HostMode::Open;
        return Ok(());
    };
    let most = "host.queue_depth: the job file asks for more than 65536 requests outstanding";
    let depth = u32::try_from(depth).ok().filter(|&n| n <= 65_536).ok_or(most)?;
    (host.mode, host.queue_depth) = (HostMode::Closed, depth);
    (host.think_time_ns, host.think_every, host.stop_after_ns) = (think_ns, think_every, stop_ns);
    Ok(())
}

/// Lines of an operation log: its header and the operations that start at `from_ns` or later, at
/// most `most` of them. Raises `OSError` when it cannot be read.
#[pyfunction]
pub(crate) fn op_log_excerpt(
    py: Python<'_>,
    path: PathBuf,
    from_ns: u64,
    most: usize,
) -> PyResult<String> {
    py.detach(|| ssd_trace::excerpt::operations(&path, from_ns, most))
        .map_err(|e| PyOSError::new_err(format!("{}: {e}", path.display())))
}
