//! The store on the simulated drive.

use crate::device::refused;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use ssd_host::{HostError, HostSettings, Origin, simulate};
use ssd_trace::config::RunConfig;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Write the files of the store into a new folder.
fn keep(folder: &Path, files: &[(String, Vec<u8>)]) -> io::Result<()> {
    fs::create_dir(folder)?;
    for (name, data) in files {
        fs::write(folder.join(name), data)?;
    }
    Ok(())
}

/// Run the store on the drive of `config` (JSON) and return the report (JSON).
///
/// `settings` is JSON; what it leaves out has its default. `workload` is a stream of keys by name or, with `trace`, the
/// name of that text of operations. `progress(done)` is called regularly. The files of the store are written into the
/// new folder `keep`, even if the simulation fails; the report then says so. Raises `ConfigError` if it cannot begin.
#[pyfunction]
#[pyo3(signature = (config, settings, workload, *, trace=None, progress=None, keep=None))]
#[allow(clippy::too_many_arguments, reason = "in Python they have names")]
pub(crate) fn kv_simulate(
    py: Python<'_>,
    config: &str,
    settings: &str,
    workload: &str,
    trace: Option<&str>,
    progress: Option<Py<PyAny>>,
    keep: Option<PathBuf>,
) -> PyResult<String> {
    let config: RunConfig = crate::parsed("config", config)?;
    let settings: HostSettings = serde_json::from_str(settings).map_err(|error| {
        // Its position is in a text that the user has not written.
        let text = error.to_string();
        refused(format!("settings: {}", text.split(" at line ").next().unwrap_or(&text)))
    })?;
    let origin = trace.map_or(Origin::Named(workload), |text| Origin::Traced(workload, text));
    let mut raised = None;
    let mut keep_going = |done: u64| {
        let answer = Python::attach(|py| {
            py.check_signals()?;
            match &progress {
                Some(callback) => callback.call1(py, (done,)).map(|_| ()),
                None => Ok(()),
            }
        });
        answer.map_err(|error| raised = Some(error)).is_ok()
    };
    let ended = py.detach(|| simulate(&config, &settings, &origin, &mut keep_going));
    // An interrupt leaves the report so far.
    if let Some(error) = raised.filter(|e| !e.is_instance_of::<PyKeyboardInterrupt>(py)) {
        return Err(error);
    }
    let outcome = ended.map_err(|error| match error {
        HostError::Refused(message) => refused(message),
        error => crate::StuckError::new_err(error.to_string()),
    })?;
    if let Some(folder) = keep {
        py.detach(|| self::keep(&folder, &outcome.files))
            .map_err(|error| PyOSError::new_err(format!("{}: {error}", folder.display())))?;
    }
    Ok(outcome.report.to_string())
}

/// The defaults of the settings of a simulation, as JSON.
#[pyfunction]
pub(crate) fn kv_simulate_defaults() -> PyResult<String> {
    serde_json::to_string(&HostSettings::default())
        .map_err(|error| PyOSError::new_err(error.to_string()))
}
