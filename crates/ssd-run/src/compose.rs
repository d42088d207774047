//! A whole run: open the workload, find the starting state, drive, report.

use crate::caller::Caller;
use crate::error::RunError;
use crate::fit;
use crate::foresee;
use crate::page_file::in_files;
use crate::pull::PullDriver;
use crate::report::{Circumstances, Ending, FinishedRun};
use crate::start::{self, StartState};
use crate::workload::open_workload;
use ssd_core::ftl::plugs::Plugs;
use ssd_core::ftl::separation::foresees;
use ssd_core::ftl::snapshot::DeviceSnapshot;
use ssd_trace::TraceFacts;
use ssd_trace::config::RunConfig;

/// What belongs to a run besides its configuration.
#[derive(Default)]
pub struct Setup {
    /// Commit of the program, for the report.
    pub commit: Option<String>,
    /// Recompute all invariants every this many instants; 0: never.
    pub audit_every: u64,
    /// External policies, which replace those that the configuration names.
    pub plugs: Plugs,
    /// State of the device to start from, instead of preconditioning or a snapshot file.
    pub device: Option<DeviceSnapshot>,
    /// The preconditioned device to start from, instead of preconditioning one.
    pub start: Option<StartState>,
}

/// A run that has started and ended.
pub struct EndedRun {
    /// Its results, and how it ended.
    pub finished: FinishedRun,
    /// Statistics of the trace; `None` for a synthetic workload.
    pub facts: Option<TraceFacts>,
}

/// Run `config`. The settings of a fio job file replace those of `config.host`.
///
/// # Errors
/// The run did not start. Once it has started, [`FinishedRun::ending`] says how it ended.
pub fn run(config: RunConfig, setup: Setup, caller: &mut dyn Caller) -> Result<EndedRun, RunError> {
    let mut config = fit::resolved(config, caller)?;
    foresee::check(&config)?;
    let opened = open_workload(&mut config, caller)?;
    let mut log = caller.log(&config.metrics).map_err(RunError::Log)?;
    let Setup { commit, audit_every, plugs, device, start } = setup;
    let mut plugs = in_files(plugs);
    if foresees(&config.alloc.separation) {
        plugs = plugs.foreseeing(foresee::future_of(&config, caller)?);
    }
    let preconditioned = start.map(|start| start.into_device(&config)).transpose()?;
    let start = start::device(&config, device.as_ref(), &plugs, caller)?;
    drop(device);
    let warnings = opened.warnings();
    let facts = opened.facts;
    let circumstances = Circumstances {
        plugs,
        commit,
        trace_lines: facts.as_ref().map(TraceFacts::line_counts),
        trace_digest: facts.as_ref().map(|f| f.trace_digest.clone()),
        snapshot_digest: start.as_ref().map(|(_, digest)| digest.clone()),
        driven: false,
        warnings,
        audit_every,
    };
    let mut driver = PullDriver {
        config: &config,
        circumstances: &circumstances,
        caller,
        log: log.as_deref_mut().map(|log| log as &mut dyn crate::RunLog),
    };
    let mut source = opened.source;
    let start = preconditioned.or_else(|| start.map(|(device, _)| device));
    let mut finished = match start {
        Some(device) => driver.run_from(device, &mut *source),
        None => driver.run(&mut *source),
    };
    if let Some(Err(message)) = log.map(crate::RunLog::finish)
        && !matches!(finished.ending, Ending::Unwritable(_))
    {
        finished.ending = Ending::Unwritable(message);
    }
    Ok(EndedRun { finished, facts })
}
