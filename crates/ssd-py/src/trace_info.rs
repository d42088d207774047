//! The statistics of a trace, with the interpreter released and asked again for progress.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::json;
use ssd_core::config::Config;
use ssd_trace::info::{Collector, Options};
use ssd_trace::raw::{Stopped, each_request};
use std::ops::ControlFlow;

/// Statistics of the trace that a resolved configuration (JSON) names, as JSON.
///
/// `journal` holds ranges of sectors, `memory` the bytes that the table of pages may take.
/// `progress(done)` is called now and then with the bytes read of the file. Raises `WorkloadError`
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
    let config: Config = crate::parsed("config", config)?;
    let mut raised = None;
    let read = py.detach(|| {
        let mut collector = Collector::new(Options { journal, memory });
        let watch = |done: u64| {
            let asked = Python::attach(|py| {
                py.check_signals()?;
                match &progress {
                    Some(callback) => callback.call1(py, (done,)).map(|_| ()),
                    None => Ok(()),
                }
            });
            match asked {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    raised = Some(error);
                    ControlFlow::Break(())
                }
            }
        };
        let reading = each_request(&config.workload, watch, |timed| collector.push(timed))?;
        Ok((reading, collector.finish()))
    });
    match read {
        Ok((reading, info)) => {
            let mut values = json!(info);
            values["version"] = json!(1);
            values["source"] = json!(reading);
            Ok(values.to_string())
        }
        Err(Stopped::Refused(error)) => Err(crate::WorkloadError::new_err(error.to_string())),
        Err(Stopped::Interrupted) => {
            Err(raised.unwrap_or_else(|| PyKeyboardInterrupt::new_err("interrupted")))
        }
    }
}
