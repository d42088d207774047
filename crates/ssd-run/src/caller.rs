//! What the caller of a run supplies.

use ssd_core::config::Metrics;
use ssd_core::ftl::reclaim::UnitRecord;
use ssd_core::sim::logs::operations::{OpRecord, StateRow};
use ssd_core::sim::logs::power::PowerRecord;
use ssd_core::sim::logs::requests::RequestRecord;
use ssd_trace::TraceCache;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The phase of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Reading a trace or a snapshot; counted in bytes.
    Reading,
    /// Sorting the requests of a trace by arrival time; counted in requests.
    Sorting,
    /// A first pass over the workload, for a policy that knows the future; counted in requests.
    Foreseeing,
    /// Preconditioning; counted in pages.
    Precondition,
    /// The workload; counted in requests.
    Workload,
    /// Saving a snapshot; counted in bytes.
    Writing,
}

impl Stage {
    /// Its name, as front ends show it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Reading => "reading",
            Stage::Sorting => "sorting",
            Stage::Foreseeing => "foreseeing",
            Stage::Precondition => "precondition",
            Stage::Workload => "workload",
            Stage::Writing => "writing",
        }
    }
}

/// A reading of the caller's clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockReading {
    /// Wall-clock time, from an arbitrary start.
    pub wall_ns: u64,
    /// Processor time of the running thread, from an arbitrary start.
    pub cpu_ns: u64,
}

/// The caller of a run. Every method has a default: no clock, no progress, no traces, no logs.
pub trait Caller {
    /// The clocks, read before and after the workload.
    fn clock(&mut self) -> Option<ClockReading> {
        None
    }

    /// Called regularly, in the thread that called the run: `done` of `total`, if that is known. `Break` ends the
    /// run cleanly. A run that has started keeps its results so far.
    fn progress(&mut self, stage: Stage, done: u64, total: Option<u64>) -> ControlFlow<()> {
        let _ = (stage, done, total);
        ControlFlow::Continue(())
    }

    /// Where traces are kept for later runs; `None`: the run reads its own trace.
    fn traces(&self) -> Option<Arc<TraceCache>> {
        None
    }

    /// Where the logs that `metrics` requests go; `None`: they are not written.
    ///
    /// # Errors
    /// A message; the run does not start.
    fn log(&mut self, metrics: &Metrics) -> Result<Option<Box<dyn RunLog>>, String> {
        let _ = metrics;
        Ok(None)
    }
}

/// A caller that supplies nothing and lets the run continue to its end.
pub struct Unattended;
impl Caller for Unattended {}

/// Receives the logs of a run. An error is a message that ends the run ([`crate::Ending::Unwritable`]).
pub trait RunLog {
    /// The programmed pages when the workload starts (`metrics.op_log`).
    ///
    /// # Errors
    /// They cannot be written.
    fn state(&mut self, rows: &mut dyn Iterator<Item = StateRow>) -> Result<(), String>;

    /// Operations that have ended, in the order in which they began (`metrics.op_log`).
    ///
    /// # Errors
    /// They cannot be written.
    fn operations(&mut self, records: &[OpRecord]) -> Result<(), String>;

    /// Power cuts and mounts, in order (`metrics.op_log`).
    ///
    /// # Errors
    /// They cannot be written.
    fn power(&mut self, records: &[PowerRecord]) -> Result<(), String>;

    /// Reclaim units that have been opened or collected, in order (`metrics.op_log`).
    ///
    /// # Errors
    /// They cannot be written.
    fn units(&mut self, records: &[UnitRecord]) -> Result<(), String>;

    /// Requests that have completed, in that order (`metrics.request_log`).
    ///
    /// # Errors
    /// They cannot be written.
    fn requests(&mut self, records: &[RequestRecord]) -> Result<(), String>;

    /// The run has ended: nothing follows.
    ///
    /// # Errors
    /// The end cannot be written.
    fn finish(self: Box<Self>) -> Result<(), String>;
}
