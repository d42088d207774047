//! Python as the caller of a run, which calls it for progress and to handle signals.
#![allow(clippy::disallowed_types, reason = "wall time of a run is measured here, not in the core")]

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use ssd_core::config::Metrics;
use ssd_run::logs::Logs;
use ssd_run::{Caller, ClockReading, RunLog, Stage};
use ssd_trace::TraceCache;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// The caller of a run or of a device: Python, which handles signals and receives the progress.
pub(crate) struct Bridge {
    progress: Option<Py<PyAny>>,
    /// Where the logs go; `None`: they are not written.
    pub(crate) folder: Option<PathBuf>,
    /// Where traces are kept for later runs.
    pub(crate) traces: Option<Arc<TraceCache>>,
    started: Instant,
    /// What a signal handler or the callback raised.
    pub(crate) raised: Option<PyErr>,
}

impl Bridge {
    pub(crate) fn new(progress: Option<Py<PyAny>>) -> Bridge {
        Bridge { progress, folder: None, traces: None, started: Instant::now(), raised: None }
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
        let answer = Python::attach(|py| {
            py.check_signals()?;
            match &self.progress {
                Some(callback) => callback.call1(py, (stage.name(), done, total)).map(|_| ()),
                None => Ok(()),
            }
        });
        match answer {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.raised = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn traces(&self) -> Option<Arc<TraceCache>> {
        self.traces.clone()
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
