//! Traces that the runs of a process share.
#![allow(clippy::disallowed_types, reason = "the age of a file is found here, not in the core")]

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use ssd_trace::TraceCache;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Traces that have been read, kept in memory for later runs, up to a bound.
#[pyclass(frozen, module = "ssdlab._core")]
pub(crate) struct Traces(pub(crate) Arc<TraceCache>);

#[pymethods]
impl Traces {
    #[new]
    fn new(bound_bytes: u64) -> Traces {
        Traces(Arc::new(TraceCache::new(bound_bytes, seconds)))
    }

    /// How often a file was read in order to keep it.
    #[getter]
    fn readings(&self) -> u64 {
        self.0.readings()
    }

    /// What is kept.
    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}

/// Seconds since 1970.
fn seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.ok().and_then(|since| i64::try_from(since.as_secs()).ok()).unwrap_or(0)
}

/// An upper estimate of the memory that the requests of a trace take. Raises `OSError`.
#[pyfunction]
pub(crate) fn trace_memory_bytes(py: Python<'_>, path: PathBuf) -> PyResult<u64> {
    py.detach(|| ssd_trace::memory_bytes(&path))
        .map_err(|e| PyOSError::new_err(format!("{}: {e}", path.display())))
}
