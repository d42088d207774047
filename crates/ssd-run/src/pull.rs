//! The pull driver: a source drives a device to the source's end.

use crate::caller::{Caller, ClockReading, RunLog, Stage};
use crate::report::{self, Circumstances, Ending, FinishedRun};
use crate::start::precondition;
use ssd_core::config::Mode;
use ssd_core::functional_run::FunctionalRun;
use ssd_core::host::device::{Device, DeviceError};
use ssd_core::host::drive::{self, DriveError, Outcome, Progress};
use ssd_core::host::source::Source;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::logs::operations::state_rows;
use ssd_core::sim::ssd::Ssd;
use ssd_trace::config::RunConfig;
use std::ops::ControlFlow;

mod zoned;

/// Instants of a rebuild between two calls of the caller.
const WATCH_EVERY: u64 = 4096;

/// Drives a device with the requests of a source.
pub struct PullDriver<'a> {
    /// The configuration.
    pub config: &'a RunConfig,
    /// What goes into the report.
    pub circumstances: &'a Circumstances,
    /// Supplies the time, and decides whether to continue.
    pub caller: &'a mut dyn Caller,
    /// The logs, if they are kept; their end is left to the owner.
    pub log: Option<&'a mut dyn RunLog>,
}

impl PullDriver<'_> {
    /// Precondition the device of the configuration and run `source` on it.
    ///
    /// # Panics
    /// The configuration names a snapshot, which is for [`PullDriver::run_from`].
    pub fn run(&mut self, source: &mut dyn Source) -> FinishedRun {
        assert_eq!(self.config.precondition.snapshot, None, "a snapshot is loaded before the run");
        let mut device = Functional::with_plugs(self.config, &self.circumstances.plugs);
        let ending = match precondition(&mut device, self.config, &mut *self.caller) {
            Ok(true) => None,
            Ok(false) | Err(DeviceError::Interrupted) => Some(Ending::Interrupted),
            Err(e) => Some(Ending::Failed(format!("preconditioning failed: {e}"))),
        };
        self.run_over(device, ending, source)
    }

    /// Run `source` on `device` in its present state, for example one made by [`Functional::restore`].
    pub fn run_from(&mut self, device: Functional, source: &mut dyn Source) -> FinishedRun {
        self.run_over(device, None, source)
    }

    /// Run on a preconditioned device, or report how its preconditioning ended.
    fn run_over(
        &mut self,
        device: Functional,
        ending: Option<Ending>,
        source: &mut dyn Source,
    ) -> FinishedRun {
        let mut annotated = self.circumstances.clone();
        if ending == Some(Ending::Interrupted) {
            let text = "interrupted while preconditioning: the workload did not begin";
            annotated.warnings.push(text.into());
        }
        match self.config.run.mode {
            Mode::Functional => self.run_functional(device, ending, source, annotated),
            Mode::Timed if self.config.is_zoned() => {
                self.run_zoned(device, ending, source, annotated)
            }
            Mode::Timed => self.run_timed(device, ending, source, annotated),
        }
    }

    fn run_timed(
        &mut self,
        device: Functional,
        ending: Option<Ending>,
        source: &mut dyn Source,
        mut annotated: Circumstances,
    ) -> FinishedRun {
        let sequence = device.sequence();
        let mut ssd = Ssd::with_plugs(self.config, device.ftl, sequence, &annotated.plugs);
        let warmup = self.config.warmup(source.expected());
        ssd.measure(warmup, self.config.splits());
        ssd.audit_every(annotated.audit_every);
        let before = self.caller.clock();
        let mut ending = ending.unwrap_or_else(|| self.drive(&mut ssd, source));
        let clock = elapsed(before, self.caller.clock());
        if ssd.discard_warmup() {
            let requests = (ssd.submitted(), warmup);
            ending = all_warmup(self.config, ending, requests, &mut annotated);
        }
        self.report_timed(&mut ssd, &annotated, ending, clock)
    }

    /// The results of a run on `ssd`, whose logs end.
    fn report_timed(
        &mut self,
        ssd: &mut Ssd,
        annotated: &Circumstances,
        ending: Ending,
        clock: Option<(u64, u64)>,
    ) -> FinishedRun {
        let mut finished = report::timed(self.config, ssd, annotated, ending, clock);
        match self.finish_logs(ssd) {
            Err(Ending::Failed(_)) if finished.ending != Ending::Completed => {}
            Err(ending) => finished.ending = ending,
            Ok(()) => {}
        }
        finished
    }

    fn drive(&mut self, ssd: &mut Ssd, source: &mut dyn Source) -> Ending {
        let outcome = match self.drive_logged(ssd, |ssd| ssd, source) {
            Ok(outcome) if !outcome.interrupted => outcome,
            Ok(outcome) => return driven(Ok(outcome)),
            Err(ending) => return ending,
        };
        match ssd.empty_buffer().map_err(DriveError::from) {
            Ok(()) if self.config.raid.until_rebuilt => self.finish_rebuild(ssd, &outcome),
            emptied => driven(emptied.map(|()| outcome)),
        }
    }

    /// Drive `device`, whose machine `ssd` returns, with the requests of `source`, and write the logs of the machine.
    ///
    /// # Errors
    /// How the run ends if it cannot continue.
    fn drive_logged<D: Device>(
        &mut self,
        device: &mut D,
        ssd: fn(&mut D) -> &mut Ssd,
        source: &mut dyn Source,
    ) -> Result<Outcome, Ending> {
        if self.config.metrics.op_log
            && let Some(log) = self.log.as_deref_mut()
            && let Err(message) = log.state(&mut state_rows(&ssd(device).core.ftl))
        {
            return Err(Ending::Unwritable(message));
        }
        let total = source.expected();
        let (config, mut trouble) = (self.config, None);
        let mut observer = |device: &mut D, p: &Progress| {
            if let Err(message) = self.hand_over(ssd(device)) {
                trouble = Some(message);
                return ControlFlow::Break(());
            }
            self.caller.progress(Stage::Workload, p.completed, total)
        };
        let outcome = drive::drive(device, &config.host, source, &mut observer);
        match trouble {
            Some(message) => Err(Ending::Unwritable(message)),
            None => outcome.map_err(|error| driven(Err(error))),
        }
    }

    /// Continue the run, whose requests have all completed, until the rebuild has ended.
    fn finish_rebuild(&mut self, ssd: &mut Ssd, outcome: &Outcome) -> Ending {
        let completed = outcome.progress.completed;
        for instant in 1u64.. {
            match ssd.rebuild_further() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => return driven(Err(error.into())),
            }
            if instant % WATCH_EVERY == 0 {
                if let Err(message) = self.hand_over(ssd) {
                    return Ending::Unwritable(message);
                }
                if self.caller.progress(Stage::Workload, completed, Some(completed)).is_break() {
                    return Ending::Interrupted;
                }
            }
        }
        Ending::Completed
    }

    /// Pass the log records so far to the log.
    fn hand_over(&mut self, ssd: &mut Ssd) -> Result<(), String> {
        if self.config.metrics.op_log {
            self.hand_over_operations(ssd)?;
        }
        if self.config.metrics.request_log {
            let mut records = Vec::new();
            ssd.drain_requests(&mut records);
            if let Some(log) = self.log.as_deref_mut() {
                log.requests(&records)?;
            }
        }
        Ok(())
    }

    fn hand_over_operations(&mut self, ssd: &mut Ssd) -> Result<(), String> {
        let mut records = Vec::new();
        ssd.drain_operations(&mut records);
        let mut power = Vec::new();
        ssd.drain_power(&mut power);
        let mut units = Vec::new();
        ssd.drain_units(&mut units);
        let Some(log) = self.log.as_deref_mut() else { return Ok(()) };
        log.operations(&records)?;
        log.power(&power)?;
        log.units(&units)
    }

    /// Let running operations end, so that each has a log record, and pass the remaining records on.
    fn finish_logs(&mut self, ssd: &mut Ssd) -> Result<(), Ending> {
        self.hand_over(ssd).map_err(Ending::Unwritable)?;
        if !self.config.metrics.op_log {
            return Ok(());
        }
        // Requests of a stopped run that complete only now count as not completed in its report.
        ssd.quiesce().map_err(|e| Ending::Failed(e.to_string()))?;
        self.hand_over_operations(ssd).map_err(Ending::Unwritable)
    }

    fn run_functional(
        &mut self,
        device: Functional,
        ending: Option<Ending>,
        source: &mut dyn Source,
        mut annotated: Circumstances,
    ) -> FinishedRun {
        let mut run = FunctionalRun::new(self.config, device);
        let before = self.caller.clock();
        let ending = ending.unwrap_or_else(|| {
            let total = source.expected();
            let warmup = self.config.warmup(total);
            let mut watch = |done| self.caller.progress(Stage::Workload, done, total);
            let ending = driven(run.drive(warmup, source, &mut watch));
            let requests = run.submitted();
            if run.discard_warmup(warmup) {
                all_warmup(self.config, ending, (requests, warmup), &mut annotated)
            } else {
                ending
            }
        });
        let clock = elapsed(before, self.caller.clock());
        report::functional(self.config, run.finish(), &annotated, ending, clock)
    }
}

/// The ending of a run whose driver returned `outcome`.
fn driven(outcome: Result<Outcome, DriveError>) -> Ending {
    match outcome {
        Ok(outcome) if outcome.interrupted => Ending::Interrupted,
        Ok(_) => Ending::Completed,
        Err(DriveError::Device(DeviceError::Interrupted)) => Ending::Interrupted,
        Err(error) => Ending::Failed(error.to_string()),
    }
}

/// Note that the run ended within its warm-up: nothing was measured.
fn all_warmup(
    config: &RunConfig,
    ending: Ending,
    (requests, warmup): (u64, u64),
    annotated: &mut Circumstances,
) -> Ending {
    let key = if config.workload.warmup_share > 0.0 { "warmup_share" } else { "warmup_requests" };
    let message = format!(
        "the run ended after {requests} requests, within its warm-up of {warmup}: nothing was measured; lower \
         workload.{key}"
    );
    annotated.warnings.push(message.clone());
    if ending == Ending::Completed { Ending::Failed(message) } else { ending }
}

/// Wall-clock and processor time between two readings.
fn elapsed(before: Option<ClockReading>, after: Option<ClockReading>) -> Option<(u64, u64)> {
    let (before, after) = (before?, after?);
    let wall = after.wall_ns.saturating_sub(before.wall_ns);
    Some((wall, after.cpu_ns.saturating_sub(before.cpu_ns)))
}
