//! A run, called from Python with the interpreter released and asked again for progress.
#![allow(clippy::disallowed_types, reason = "wall time of a run is measured here, not in the core")]

use crate::device::{self, Device};
use crate::policies::{self, Policies};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use ssd_core::config::Metrics;
use ssd_run::logs::Logs;
use ssd_run::{Caller, ClockReading, Ending, RunError, RunLog, Setup, Stage};
use ssd_trace::config::RunConfig;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

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
    /// Without trace and policies.
    pub(crate) fn of(done: ssd_run::Finished) -> Finished {
        let (ending, message) = match done.ending {
            Ending::Completed => ("completed", String::new()),
            Ending::Interrupted => ("interrupted", String::new()),
            Ending::Failed(message) => ("failed", message),
            Ending::Unwritable(message) => ("unwritable", message),
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

/// The caller of a run or of a device: Python, which handles signals and receives the progress.
pub(crate) struct Bridge {
    progress: Option<Py<PyAny>>,
    /// Where the logs go; they are not written without it.
    folder: Option<PathBuf>,
    started: Instant,
    /// What a signal handler or the callback raised.
    raised: Option<PyErr>,
}

impl Bridge {
    pub(crate) fn new(progress: Option<Py<PyAny>>) -> Bridge {
        Bridge { progress, folder: None, started: Instant::now(), raised: None }
    }

    /// The exception that interrupted the work.
    pub(crate) fn interrupt(&mut self) -> PyErr {
        self.raised.take().unwrap_or_else(|| PyKeyboardInterrupt::new_err(()))
    }
}

impl Caller for Bridge {
    fn clock(&mut self) -> Option<ClockReading> {
        let wall_ns = u64::try_from(self.started.elapsed().as_nanos()).ok()?;
        let cpu = Python::attach(|py| {
            py.import("time")?.call_method0("thread_time_ns")?.extract::<u64>()
        });
        Some(ClockReading { wall_ns, cpu_ns: cpu.ok()? })
    }

    fn progress(&mut self, stage: Stage, done: u64, total: Option<u64>) -> ControlFlow<()> {
        let heard = Python::attach(|py| {
            py.check_signals()?;
            match &self.progress {
                Some(callback) => callback.call1(py, (stage.name(), done, total)).map(|_| ()),
                None => Ok(()),
            }
        });
        match heard {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.raised = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn log(&mut self, metrics: &Metrics) -> Result<Option<Box<dyn RunLog>>, String> {
        let Some(folder) = &self.folder else { return Ok(None) };
        if !metrics.op_log && !metrics.request_log {
            return Ok(None);
        }
        let logs = Logs::create(folder, metrics.op_log, metrics.request_log)?;
        Ok(Some(Box::new(logs)))
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
    let config: RunConfig = crate::parsed("config", config)?;
    let (outside, plugs) = Policies::plugs(py, &config, policies)?;
    let device = device.map(Device::snapshot).transpose()?;
    let mut bridge = Bridge { folder, ..Bridge::new(progress) };
    let setup = Setup { commit, audit_every, plugs, device };
    let done = py.detach(|| ssd_run::run(config, setup, &mut bridge)).map_err(|e| match e {
        RunError::Workload(why) => crate::WorkloadError::new_err(why),
        RunError::Config(why) => device::refused(why),
        RunError::Log(why) => PyOSError::new_err(why),
        RunError::Interrupted => bridge.interrupt(),
    })?;
    // An interrupt leaves its results; another exception of the callback does not.
    if let Some(error) = bridge.raised.filter(|e| !e.is_instance_of::<PyKeyboardInterrupt>(py)) {
        return Err(error);
    }
    Ok(Finished {
        trace: done.facts.map(|f| serde_json::json!(f).to_string()),
        error: outside.and_then(|o| o.exception()).map(|e| e.into_value(py).into_any()),
        ..Finished::of(done.finished)
    })
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
    py.detach(|| ssd_run::excerpt::operations(&path, from_ns, most))
        .map_err(|e| PyOSError::new_err(format!("{}: {e}", path.display())))
}
