//! The statistics of a trace.

use crate::traces::{described, refused, watched};
use pyo3::prelude::*;
use serde_json::json;
use ssd_trace::config::RunConfig;
use ssd_trace::info::{Collector, Options};
use ssd_trace::raw::{Stopped, each_request};

/// Statistics of the trace that a resolved configuration (JSON) names, as JSON.
///
/// `journal` holds ranges of sectors, `memory` the bytes that the table of pages may take.
/// `progress(done, total)` is called now and then, see `watched`. Raises `WorkloadError`
/// when the trace cannot be used, `KeyboardInterrupt` when it was interrupted.
#[pyfunction]
#[pyo3(signature = (config, *, journal=Vec::new(), memory, progress=None))]
pub(crate) fn trace_info(
    py: Python<'_>,
    config: &str,
    journal: Vec<(u64, u64)>,
    memory: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let config: RunConfig = crate::parsed("config", config)?;
    let read = watched(py, progress, |watch| {
        let mut collector = Collector::new(Options { journal, memory });
        let read = each_request(&config.workload, watch, |timed| collector.push(timed));
        match read {
            Ok(reading) => Ok(Some((reading, collector.finish()))),
            Err(Stopped::Refused(error)) => Err(refused(&error)),
            Err(Stopped::Interrupted) => Ok(None),
        }
    })?;
    let (reading, info) = read;
    let mut values = json!(info);
    values["version"] = json!(1);
    values["source"] = described(&reading);
    Ok(values.to_string())
}
