//! Conversions for `ssdlab serve` and `ssdlab serve why`.

use crate::bridge::Bridge;
use crate::device::refused;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use ssd_serve::pace::{Pacing, Scale, sleep_cost};
use ssd_serve::session::{Address, Audience, Order, ReadyReport, Summary, serve as serve_drive};
use ssd_serve::state::StateError;
use ssd_serve::why::{ServedFolder, why};
use ssd_trace::config::RunConfig;
use std::path::PathBuf;

/// The callbacks of a session in Python, and the first exception that one of them raised.
struct PyAudience {
    ready: Py<PyAny>,
    asks: Py<PyAny>,
    hear: Py<PyAny>,
    raised: Option<PyErr>,
}

impl PyAudience {
    fn value<T>(&mut self, called: PyResult<T>) -> Option<T> {
        match called {
            Ok(value) => Some(value),
            Err(error) => {
                self.raised.get_or_insert(error);
                None
            }
        }
    }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("a report is JSON")
}

impl Audience for PyAudience {
    fn ready(&mut self, ready: &ReadyReport) {
        let called = Python::attach(|py| self.ready.call1(py, (json(ready),)).map(drop));
        self.value(called);
    }

    fn wants_summary(&mut self) -> bool {
        let called = Python::attach(|py| self.asks.call0(py)?.is_truthy(py));
        self.value(called).unwrap_or(false)
    }

    fn receive(&mut self, summary: &Summary) {
        let called = Python::attach(|py| self.hear.call1(py, (json(summary),)).map(drop));
        self.value(called);
    }
}

fn raised(error: StateError, bridge: &mut Bridge) -> PyErr {
    match error {
        StateError::Refused(message) => refused(message),
        StateError::File(message) => PyOSError::new_err(message),
        StateError::Failed(message) => crate::StuckError::new_err(message),
        StateError::Interrupted => bridge.interrupt(),
    }
}

/// Why request `id` of a served drive took as long as it did, as JSON. `folder` has the state of the drive, of which
/// `generation` is the number of the current generation, or a recording (`None`). `config` is the resolved
/// configuration (JSON) of the session. Raises `ConfigError` if there is no such request, and `OSError` if a file
/// cannot be read.
#[pyfunction]
#[pyo3(signature = (config, folder, generation, id, progress))]
pub(crate) fn served_why(
    py: Python<'_>,
    config: &str,
    folder: PathBuf,
    generation: Option<u64>,
    id: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let config: RunConfig = crate::parsed("config", config)?;
    let past = match generation {
        Some(generation) => ServedFolder::State(folder, generation),
        None => ServedFolder::Recording(folder),
    };
    let mut bridge = Bridge::new(progress);
    let report = py.detach(|| why(&config, &past, id, &mut bridge));
    report.map(|report| json(&report)).map_err(|error| raised(error, &mut bridge))
}

/// Serve the drive of a resolved configuration (JSON) until Ctrl-C. Returns the summary as JSON. `ready` is called
/// with a `ReadyReport` as JSON when clients may connect. Whenever `asks` returns true, `hear` is called with the
/// summary so far, as JSON. `unix` is the path of a Unix socket, `tcp` an address and a port. Without `scale` the
/// scale is raised until replies are on time. With `clock_continues` the clock continues when the server is behind.
/// With `polls` the server polls shortly before an event. The log is folded when it is longer than `most_log` bytes.
/// Raises `ConfigError` if the drive cannot be served, `OSError` if a file cannot be read or written, and
/// `StuckError` if the drive fails.
#[pyfunction]
#[pyo3(signature = (
    config, name, *, unix, tcp, state, record, scale, clock_continues, polls, most_log, temporary, commit,
    ready, asks, hear, progress
))]
#[expect(clippy::too_many_arguments, reason = "the options of a command")]
pub(crate) fn serve(
    py: Python<'_>,
    config: &str,
    name: String,
    unix: Option<PathBuf>,
    tcp: Option<String>,
    state: Option<PathBuf>,
    record: Option<PathBuf>,
    scale: Option<f64>,
    clock_continues: bool,
    polls: bool,
    most_log: u64,
    temporary: PathBuf,
    commit: Option<String>,
    ready: Py<PyAny>,
    asks: Py<PyAny>,
    hear: Py<PyAny>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let config: RunConfig = crate::parsed("config", config)?;
    let address = match (unix, tcp) {
        (Some(path), None) => Address::Unix(path),
        (None, Some(tcp)) => {
            let message = format!("--nbd: {tcp}: expected unix:PATH, or an IP address and a port");
            Address::Tcp(tcp.parse().map_err(|_| refused(message))?)
        }
        _ => return Err(refused("--nbd: give one address".into())),
    };
    let scale = scale.map_or(Scale::Auto, Scale::Fixed);
    let pacing = Pacing { scale, clock_continues, polls, sleep_cost: sleep_cost() };
    let order = Order { address, state, record, pacing, most_log, name, temporary, commit };
    let mut bridge = Bridge::new(progress);
    let mut audience = PyAudience { ready, asks, hear, raised: None };
    let done = py.detach(|| serve_drive(&config, &order, &mut bridge, &mut audience));
    if let Some(error) = audience.raised {
        return Err(error);
    }
    let summary = done.map_err(|error| raised(error, &mut bridge))?;
    match bridge.raised {
        // A server normally ends by Ctrl-C.
        Some(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(error),
        _ => Ok(json(&summary)),
    }
}
