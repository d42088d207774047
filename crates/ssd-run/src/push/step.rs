//! Runs a device until it is idle, to a time, or to the next completion.

use super::{PushDriver, PushError};
use crate::caller::{Caller, Stage};
use ssd_core::host::device::{Device as _, DeviceError};
use ssd_core::sim::logs::requests::RequestRecord;
use ssd_core::units::Nanos;
use std::ops::ControlFlow;

/// Instants between two reports of progress.
const WATCH_EVERY: u64 = 4096;

/// How far a call runs.
#[derive(Clone, Copy)]
pub(super) enum StopCondition {
    /// Nothing is left to do.
    Idle,
    /// This time.
    Time(Nanos),
    /// The first completion, or this time.
    Completion(Option<Nanos>),
}

impl StopCondition {
    /// The time through which the call runs at most.
    fn end(self) -> Nanos {
        match self {
            StopCondition::Idle | StopCondition::Completion(None) => Nanos::NEVER,
            StopCondition::Time(end) | StopCondition::Completion(Some(end)) => end,
        }
    }
}

impl PushDriver {
    /// Run until requests, collection and every other flash operation have finished. Returns the requests that have
    /// completed since the last call that ran the device, in the order of their completion.
    ///
    /// # Errors
    /// The device failed, or the caller ended the call; the next call then returns these completions too.
    pub fn run_until_idle(
        &mut self,
        caller: &mut dyn Caller,
    ) -> Result<Vec<RequestRecord>, PushError> {
        self.check_on()?;
        self.advance(StopCondition::Idle, caller)?;
        Ok(self.completions())
    }

    /// Run up to and including time `end`, which the clock then shows; only a mount after a cut of the configuration
    /// may end later. Returns the requests that have completed since the last call.
    ///
    /// # Errors
    /// `end` is in the past or out of range, or as [`PushDriver::run_until_idle`].
    pub fn run_until(
        &mut self,
        end: Nanos,
        caller: &mut dyn Caller,
    ) -> Result<Vec<RequestRecord>, PushError> {
        self.check_on()?;
        self.check_ahead("a run until", end)?;
        self.advance(StopCondition::Time(end), caller)?;
        Ok(self.completions())
    }

    /// Run to the first instant with completions, or through `limit` if there is none by then. Returns the requests
    /// that have completed since the last call. That instant is not over: a request that is submitted now arrives in
    /// it, as in the closed loop. If an earlier call has left completions, they are returned at once. Without a limit,
    /// nothing happens if no request is outstanding.
    ///
    /// # Errors
    /// As [`PushDriver::run_until`].
    pub fn run_until_completion(
        &mut self,
        limit: Option<Nanos>,
        caller: &mut dyn Caller,
    ) -> Result<Vec<RequestRecord>, PushError> {
        self.check_on()?;
        limit.map_or(Ok(()), |limit| self.check_ahead("a limit at", limit))?;
        let completed = self.completions();
        if !completed.is_empty() || (limit.is_none() && self.ssd().outstanding() == 0) {
            return Ok(completed);
        }
        self.advance(StopCondition::Completion(limit), caller)?;
        Ok(self.completions())
    }

    /// The time of the next event: now if this instant is not over, `None` if nothing happens without a submission.
    ///
    /// # Errors
    /// The device cannot continue or has no power.
    pub fn next_event(&mut self) -> Result<Option<Nanos>, PushError> {
        self.check_on()?;
        Ok(self.ssd().next_event())
    }

    /// The requests that have completed since the last call.
    fn completions(&mut self) -> Vec<RequestRecord> {
        let mut records = Vec::new();
        self.ssd().drain_requests(&mut records);
        records
    }

    /// An error, about `subject`, if time `at` is in the past or beyond the end of simulated time.
    pub(super) fn check_ahead(&mut self, subject: &str, at: Nanos) -> Result<(), PushError> {
        let (now, last) = (self.ssd().now(), self.ssd().last_time());
        let reason = if at < now {
            format!("is in the past: the device is at {} ns; give that time or a later one", now.0)
        } else if at > last {
            format!("is out of range: simulated time ends at {} ns; give an earlier one", last.0)
        } else {
            return Ok(());
        };
        Err(PushError::Refused(format!("{subject} {} ns {reason}", at.0)))
    }

    /// Run instant by instant as far as `until`. Time passes up to a given time even if nothing happens.
    pub(super) fn advance(
        &mut self,
        until: StopCondition,
        caller: &mut dyn Caller,
    ) -> Result<(), PushError> {
        match self.step_through(until, caller) {
            Ok(ControlFlow::Continue(())) => Ok(()),
            Ok(ControlFlow::Break(())) => Err(PushError::Interrupted),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// The loop of [`PushDriver::advance`]; `Break` if the caller ended it.
    fn step_through(
        &mut self,
        until: StopCondition,
        caller: &mut dyn Caller,
    ) -> Result<ControlFlow<()>, DeviceError> {
        let end = until.end();
        let (mut done, mut logged) = (Vec::new(), Vec::new());
        loop {
            let ssd = self.ssd();
            // Power is also cut at rest, but a call without an end does not continue just for a cut.
            let cut = ssd.next_cut().filter(|_| end != Nanos::NEVER);
            match ssd.next_event().into_iter().chain(cut).min() {
                Some(at) if at <= end => ssd.run_until(at, &mut done)?,
                None if ssd.outstanding() > 0 && end == Nanos::NEVER => {
                    ssd.run_until(end, &mut done)?
                }
                _ if end == Nanos::NEVER => break,
                _ => {
                    ssd.wait_until(end)?;
                    break;
                }
            };
            let completed = !done.is_empty();
            // The caller wants no contents: drop them.
            for completion in done.drain(..) {
                ssd.take_data(completion.id);
            }
            if completed && matches!(until, StopCondition::Completion(_)) {
                break;
            }
            self.instants += 1;
            if self.instants.is_multiple_of(WATCH_EVERY) {
                let ssd = self.ssd();
                ssd.drain_operations(&mut logged);
                logged.clear();
                let total = ssd.submitted();
                let completed = total - ssd.outstanding();
                if caller.progress(Stage::Workload, completed, Some(total)).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
