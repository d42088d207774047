//! Logs of a run for Python, a piece at a time: a log may be larger than the memory.

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ssd_run::excerpt::{self, LogText};
use std::io::Read;
use std::path::PathBuf;

/// The text of a log.
#[pyclass(module = "ssdlab._core")]
pub(crate) struct LogReader {
    path: PathBuf,
    text: LogText,
}

#[pymethods]
impl LogReader {
    /// The log at `path`. Raises `OSError` when it cannot be opened.
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        let text = excerpt::text(&path).map_err(|e| failed(&path, &e))?;
        Ok(Self { path, text })
    }

    /// The next bytes, at most `most`; empty at the end. Raises `OSError` for a damaged log.
    fn read<'py>(&mut self, py: Python<'py>, most: usize) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = Vec::new();
        let Self { path, text } = self;
        py.detach(|| text.by_ref().take(most as u64).read_to_end(&mut bytes))
            .map_err(|e| failed(path, &e))?;
        Ok(PyBytes::new(py, &bytes))
    }
}

fn failed(path: &std::path::Path, error: &std::io::Error) -> PyErr {
    PyOSError::new_err(format!("{}: {error}", path.display()))
}
