//! The statistics of a trace.

use crate::device;
use crate::traces::{described, refused, watched};
use pyo3::prelude::*;
use serde_json::json;
use ssd_core::host::source::SourceError;
use ssd_run::fit;
use ssd_trace::Totals;
use ssd_trace::config::RunConfig;
use ssd_trace::info::{Collector, Options};
use ssd_trace::raw::{ReadingError, each_request, file_name};

/// Statistics of the trace that a resolved configuration (JSON) names, as JSON.
///
/// `journal` holds ranges of sectors, `memory` the bytes that the table of pages may take. `progress(done, total)` is
/// called regularly, see `watched`. Raises `WorkloadError` if the trace cannot be used, `KeyboardInterrupt` if it was
/// interrupted.
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
        let mut collector =
            Collector::new(Options { journal, memory }).map_err(|error| refused(&error))?;
        let mut failed = None;
        let read = each_request(&config.workload, watch, |timed| {
            collector.push(timed).inspect_err(|error| failed = Some(error.clone()))
        });
        // The timing of the threads determines when an error is noticed, so the message names no request.
        let of_file = |SourceError(message)| {
            refused(&SourceError(format!("{}: {message}", file_name(&config.workload))))
        };
        match read {
            Ok(reading) => match collector.finish() {
                Ok(info) => Ok(Some((reading, info))),
                Err(error) => Err(of_file(error)),
            },
            // The collector has only requests that precede what reading refuses.
            Err(ReadingError::Refused(error)) => {
                let failed = failed.or_else(|| collector.finish().err());
                Err(failed.map_or_else(|| refused(&error), of_file))
            }
            Err(ReadingError::Interrupted) => Ok(None),
        }
    })?;
    let (reading, info) = read;
    let mut values = json!(info);
    values["version"] = json!(1);
    values["source"] = described(&reading);
    Ok(values.to_string())
}

/// Pages of the device that the trace named by a resolved configuration (JSON) touches.
///
/// `progress` and errors are those of `trace_info`; `WorkloadError` also if the trace is a pipe.
#[pyfunction]
#[pyo3(signature = (config, *, progress=None))]
pub(crate) fn footprint_pages(
    py: Python<'_>,
    config: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<u64> {
    Ok(totals(py, config, u64::MAX, progress)?.pages)
}

/// The sums of the trace that a resolved configuration (JSON) names, as JSON; if it writes more than `most_page_writes`
/// pages, those of its beginning.
///
/// `progress` and errors are those of `footprint_pages`.
#[pyfunction]
#[pyo3(signature = (config, most_page_writes, *, progress=None))]
pub(crate) fn trace_totals(
    py: Python<'_>,
    config: &str,
    most_page_writes: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let totals = totals(py, config, most_page_writes, progress)?;
    Ok(json!(totals).to_string())
}

fn totals(
    py: Python<'_>,
    config: &str,
    most_page_writes: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<Totals> {
    let config: RunConfig = crate::parsed("config", config)?;
    fit::readable_twice(&config).map_err(|e| crate::WorkloadError::new_err(e.to_string()))?;
    let (workload, page_bytes) = (config.workload, config.kernel.device.page_bytes);
    watched(py, progress, |watch| {
        let mut ended = false;
        let mut noted = |step| {
            let go_on = watch(step);
            ended |= go_on.is_break();
            go_on
        };
        match ssd_trace::totals(&workload, page_bytes, most_page_writes, &mut noted) {
            Ok(totals) => Ok(Some(totals)),
            Err(_) if ended => Ok(None),
            Err(error) => Err(refused(&error)),
        }
    })
}

/// A resolved configuration (JSON) whose device holds `pages` pages of the host, as JSON. Raises `ConfigError` if no
/// device of its form does.
#[pyfunction]
pub(crate) fn fitted(config: &str, pages: u64) -> PyResult<String> {
    let config: RunConfig = crate::parsed("config", config)?;
    let fitted = fit::sized(&config, pages.max(1));
    Ok(json!(fitted.map_err(|e| device::refused(e.to_string()))?).to_string())
}
