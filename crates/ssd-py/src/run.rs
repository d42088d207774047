//! A run, called from Python with the interpreter released, except for calls for progress.

use crate::bridge::Bridge;
use crate::device::{self, Device};
use crate::finished::Finished;
use crate::policies::{self, Policies};
use crate::trace_cache::Traces;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use ssd_run::{RunError, Setup, StartState, start_key};
use ssd_trace::config::RunConfig;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Run a resolved configuration (JSON).
///
/// `progress(stage, done, total)` is called every few thousand steps. Logs that the configuration requests are written
/// into `folder`, which must exist. All invariants are recomputed every `audit_every` instants. `policies` holds a key
/// of the configuration, the object that replaces its policy, and its name. The run starts from the state of `device`,
/// which is not changed, from that of `start`, which is used up, or from the snapshot that the configuration names,
/// otherwise by preconditioning. Its trace is taken from `traces`, or kept there. Raises `ConfigError` if that does not
/// fit, `WorkloadError` if the workload cannot be opened, `OSError` if a log cannot be created. An interrupt ends the
/// run early and is reported in `ending`; while a snapshot is read, it is raised.
#[pyfunction]
#[pyo3(signature = (config, *, progress=None, folder=None, commit=None, audit_every=0,
    policies=Vec::new(), device=None, start=None, traces=None))]
#[allow(clippy::too_many_arguments, reason = "in Python they have names")]
pub(crate) fn run(
    py: Python<'_>,
    config: &str,
    progress: Option<Py<PyAny>>,
    folder: Option<PathBuf>,
    commit: Option<String>,
    audit_every: u64,
    policies: Vec<policies::PolicyArgument>,
    device: Option<&Device>,
    start: Option<&Start>,
    traces: Option<&Traces>,
) -> PyResult<Finished> {
    let config: RunConfig = crate::parsed("config", config)?;
    let (outside, plugs) = Policies::plugs(py, &config, policies)?;
    let device = device.map(Device::snapshot).transpose()?;
    let mut bridge = Bridge::new(progress);
    bridge.folder = folder;
    bridge.traces = traces.map(|traces| Arc::clone(&traces.0));
    let start = start.map(Start::take).transpose()?;
    let setup = Setup { commit, audit_every, plugs, device, start };
    let done = py.detach(|| ssd_run::run(config, setup, &mut bridge)).map_err(|e| match e {
        RunError::Workload(message) => crate::WorkloadError::new_err(message),
        RunError::Config(message) => device::refused(message),
        RunError::Log(message) => PyOSError::new_err(message),
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

/// A preconditioned device for one run, or for one in each process that is forked from this one.
#[pyclass(module = "ssdlab._core")]
pub(crate) struct Start(Mutex<Option<StartState>>);

#[pymethods]
impl Start {
    /// Precondition the device of a resolved configuration (JSON). Raises `ConfigError` if that is not possible.
    #[new]
    #[pyo3(signature = (config, *, progress=None))]
    fn new(py: Python<'_>, config: &str, progress: Option<Py<PyAny>>) -> PyResult<Start> {
        let config: RunConfig = crate::parsed("config", config)?;
        let mut bridge = Bridge::new(progress);
        let state = py.detach(|| StartState::new(&config, &mut bridge));
        if let Some(error) = bridge.raised {
            return Err(error);
        }
        let state = state.map_err(|error| device::refused(error.to_string()))?;
        Ok(Start(Mutex::new(Some(state))))
    }

    /// What determines the preconditioned device of a resolved configuration (JSON), as text. None if its run cannot
    /// start from a `Start`.
    #[staticmethod]
    fn key(config: &str) -> PyResult<Option<String>> {
        let config: RunConfig = crate::parsed("config", config)?;
        Ok(start_key(&config))
    }
}

impl Start {
    fn take(&self) -> PyResult<StartState> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
            .ok_or_else(|| device::refused("a run has used it up".into()))
    }
}

/// Lines of an operation log: its header and at most `most` operations that start at `from_ns` or later. Raises
/// `OSError` if it cannot be read.
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
