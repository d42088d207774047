//! The results of a run, for Python.

use pyo3::prelude::*;
use ssd_run::Ending;

/// A finished run.
#[pyclass(frozen, get_all, module = "ssdlab._core")]
pub(crate) struct Finished {
    /// "completed", "interrupted", "failed", or "unwritable" if a log could not be written.
    pub(crate) ending: String,
    /// Why it failed or what could not be written; empty otherwise.
    pub(crate) message: String,
    /// report.json.
    pub(crate) report: String,
    /// The time series as CSV.
    pub(crate) series: String,
    /// The distributions from which means and percentiles are computed, as CSV.
    pub(crate) distributions: String,
    /// The statistics of the trace, as JSON; None for a synthetic workload.
    pub(crate) trace: Option<String>,
    /// The exception of a policy in Python that ended the run, if one did.
    pub(crate) error: Option<Py<PyAny>>,
}

impl Finished {
    /// Without trace and policies.
    pub(crate) fn of(done: ssd_run::FinishedRun) -> Finished {
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
