//! The push driver: a client submits requests at given times and gets their completions.

use crate::caller::{Caller, Stage};
use crate::page_file::in_files;
use crate::report::{self, Circumstances, Ending, FinishedRun};
use crate::start::load_snapshot;
use crate::submission::Submission;
use ssd_core::config::DeviceConfig;
use ssd_core::ftl::Ftl;
use ssd_core::ftl::plugs::{Fault, Plugs};
use ssd_core::ftl::snapshot::DeviceSnapshot;
use ssd_core::host::copy::{self, SourceRange};
use ssd_core::host::device::{Device as _, DeviceError};
use ssd_core::host::request::{Op, Request};
use ssd_core::metrics::report::Recovery;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::Nanos;
use ssd_trace::config::RunConfig;
use ssd_trace::snapshots::{self, LoadError, SaveError};
use std::path::Path;
use step::StopCondition;
pub use zones::ZoneAnswer;

mod step;
mod zones;

/// Why a call of a [`PushDriver`] failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PushError {
    /// The call is not possible in this state, or a request is not valid. Nothing has changed.
    #[error("{0}")]
    Refused(String),
    /// A snapshot cannot be used for this device.
    #[error("{0}")]
    Snapshot(String),
    /// A file cannot be written.
    #[error("{0}")]
    File(String),
    /// The caller ended the call; the device can continue.
    #[error("interrupted")]
    Interrupted,
    /// The device failed in this call: it cannot continue.
    #[error(transparent)]
    Failed(DeviceError),
    /// The device failed in an earlier call.
    #[error("{0}")]
    Stuck(String),
}

/// A device that a client drives.
pub struct PushDriver {
    /// As the client specified it, for reports.
    original: RunConfig,
    /// With what the driver needs.
    config: RunConfig,
    /// The device as requests see it.
    device: DeviceConfig,
    /// `None` until it is first used.
    ssd: Option<Ssd>,
    plugs: Plugs,
    /// Digest of the snapshot that it was loaded from.
    snapshot_digest: Option<String>,
    /// Latest arrival that was submitted.
    last_ns: u64,
    /// Instants so far.
    instants: u64,
    /// Why it cannot continue.
    stuck: Option<String>,
}

/// The machine of `config`; a client decides itself what it measures, so there is no warm-up.
fn machine(config: &RunConfig, ftl: Ftl, sequence: u64, plugs: &Plugs) -> Ssd {
    let mut ssd = Ssd::with_plugs(config, ftl, sequence, plugs);
    ssd.measure(0, config.splits());
    ssd
}

impl PushDriver {
    /// The erased device of `config`, with external policies.
    #[must_use]
    pub fn new(original: RunConfig, plugs: Plugs) -> PushDriver {
        let mut config = original.clone();
        config.metrics.request_log = true;
        let plugs = in_files(plugs);
        let device = config.of_drive().device.clone();
        let (ssd, snapshot_digest, stuck) = (None, None, None);
        PushDriver {
            original,
            config,
            device,
            ssd,
            plugs,
            snapshot_digest,
            last_ns: 0,
            instants: 0,
            stuck,
        }
    }

    /// The device, erased flash if it has not been used yet.
    pub fn ssd(&mut self) -> &mut Ssd {
        self.ssd.get_or_insert_with(|| {
            let ftl = Ftl::with_plugs(&self.config, &self.plugs);
            machine(&self.config, ftl, 0, &self.plugs)
        })
    }

    /// An error if the device cannot continue.
    fn check_going(&self) -> Result<(), PushError> {
        self.stuck.as_ref().map_or(Ok(()), |reason| Err(PushError::Stuck(reason.clone())))
    }

    /// An error if the device has been used.
    fn check_unused(&self) -> Result<(), PushError> {
        self.check_going()?;
        let used = |ssd: &Ssd| ssd.submitted() > 0 || ssd.core.ftl.space.used() > 0;
        if self.ssd.as_ref().is_some_and(used) {
            let message = "the device has been written or used already: make a new one";
            return Err(PushError::Refused(message.into()));
        }
        Ok(())
    }

    /// Mark the device as unable to continue. (A policy that was interrupted has lost its answer.)
    fn failed(&mut self, error: DeviceError) -> PushError {
        self.stuck = Some(error.to_string());
        PushError::Failed(error)
    }

    /// Precondition the unused device according to the configuration, without timing, or load the snapshot that it
    /// names.
    ///
    /// # Errors
    /// A [`PushError`].
    pub fn precondition(&mut self, caller: &mut dyn Caller) -> Result<(), PushError> {
        if let Some(file) = self.config.precondition.snapshot.clone() {
            return self.load(file.as_ref(), caller);
        }
        self.check_unused()?;
        if self.config.is_zoned() {
            let message =
                "a client that writes zones starts with empty ones: leave out precondition()";
            return Err(PushError::Refused(message.into()));
        }
        let mut device = Functional::with_plugs(&self.config, &self.plugs);
        let mut keep_going =
            |done, total| caller.progress(Stage::Precondition, done, Some(total)).is_continue();
        match device.precondition(&self.config, &mut keep_going) {
            Ok(true) => {
                self.take_over(device);
                Ok(())
            }
            Ok(false) => Err(PushError::Interrupted),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn take_over(&mut self, device: Functional) {
        let sequence = device.sequence();
        self.ssd = Some(machine(&self.config, device.ftl, sequence, &self.plugs));
    }

    /// Give the unused device the state in the snapshot file `path`.
    ///
    /// # Errors
    /// A [`PushError`].
    pub fn load(&mut self, path: &Path, caller: &mut dyn Caller) -> Result<(), PushError> {
        self.check_unused()?;
        let loaded = load_snapshot(path, Some(&self.config), caller);
        let (snapshot, digest) = loaded.map_err(|error| match error {
            LoadError::Refused(message) => PushError::Snapshot(message),
            LoadError::Interrupted => PushError::Interrupted,
        })?;
        let restored = Functional::restore(&self.config, &snapshot, &self.plugs);
        let refused = |message| PushError::Snapshot(format!("{}: {message}", path.display()));
        self.take_over(restored.map_err(refused)?);
        self.snapshot_digest = Some(digest);
        Ok(())
    }

    /// The state of the device, which is at rest.
    ///
    /// # Errors
    /// It is not at rest, or cannot continue.
    pub fn snapshot(&mut self) -> Result<DeviceSnapshot, PushError> {
        if let Some(reason) = &self.stuck {
            return Err(PushError::Refused(format!("the device cannot go on: {reason}")));
        }
        self.check_on()?;
        if self.config.is_zoned() {
            let message = "a snapshot does not hold the states of zones";
            return Err(PushError::Refused(message.into()));
        }
        let refused = |error| match error {
            DeviceError::Degraded { .. } => PushError::Refused(error.to_string()),
            _ => PushError::Refused(format!("{error}; flush it and let it run until it is idle")),
        };
        let snapshot = self.ssd().snapshot().map_err(refused)?;
        // A policy in Python has been called for its state.
        match self.plugs.fault() {
            None => Ok(snapshot),
            Some(Fault::Interrupted) => Err(PushError::Interrupted),
            Some(Fault::Failed { policy, message, .. }) => {
                Err(PushError::Refused(format!("{policy} failed: {message}")))
            }
        }
    }

    /// Save the state of the device at rest to the file `path`, over an existing file only if `replace` is set. Returns
    /// the digest of the state.
    ///
    /// # Errors
    /// As [`PushDriver::snapshot`]; the file cannot be written; the caller ended it.
    pub fn save(
        &mut self,
        path: &Path,
        replace: bool,
        caller: &mut dyn Caller,
    ) -> Result<String, PushError> {
        let snapshot = self.snapshot()?;
        let total = Some(snapshot.bytes());
        let mut watch = |done| caller.progress(Stage::Writing, done, total);
        match snapshots::save(&snapshot, path, replace, &mut watch) {
            Ok(saved) => Ok(saved.digest),
            Err(SaveError::Write(error)) => Err(PushError::File(error.to_string())),
            Err(SaveError::Interrupted) => Err(PushError::Interrupted),
        }
    }

    /// Submit requests in order of arrival, all of them or none. Returns the number of the first.
    ///
    /// # Errors
    /// One of them is not valid, or the device cannot continue.
    pub fn submit(&mut self, submissions: &[Submission]) -> Result<u64, PushError> {
        self.check_on()?;
        let now = self.ssd().now().0;
        let (mut requests, mut earliest) = (Vec::with_capacity(submissions.len()), self.last_ns);
        for (i, submission) in submissions.iter().enumerate() {
            let bad = |message: String| PushError::Refused(format!("request {i}: {message}"));
            let request = submission.request(&self.device).map_err(bad)?;
            earliest = arrival(submission.at_ns, earliest, now).map_err(bad)?;
            if matches!(request.op, Op::Write | Op::Copy)
                && let Some(message) = self.ssd().core.ftl.lacks_handle(request.stream)
            {
                return Err(bad(message));
            }
            self.check_zoned(&request).map_err(bad)?;
            let data = submission.brings(&self.device).map_err(bad)?;
            if let Some(data) = &data {
                let checked = self.ssd().check_copy(&request, Some(data));
                checked.map_err(|error| match error {
                    DeviceError::BadRequest { reason, .. } => bad(reason),
                    other => PushError::Refused(other.to_string()),
                })?;
            }
            requests.push((Nanos(earliest), request, data));
        }
        let ssd = self.ssd();
        let first = ssd.submitted();
        for (at, request, data) in requests {
            let submitted = ssd.submit(at, &request, data.as_deref());
            submitted.map_err(|e| PushError::Refused(e.to_string()))?;
        }
        self.last_ns = earliest;
        Ok(first)
    }

    /// Submit a copy of the page ranges `sources` (first page, pages) to the pages from `lpn` on. Returns its number.
    ///
    /// # Errors
    /// The device refuses it, or cannot continue.
    pub fn copy(
        &mut self,
        lpn: i64,
        sources: &[(i64, i64)],
        at_ns: Option<i64>,
    ) -> Result<u64, PushError> {
        self.check_on()?;
        let bad = |message: String| PushError::Refused(format!("a copy: {message}"));
        let pages = sources.iter().fold(0i64, |sum, &(_, pages)| sum.saturating_add(pages.max(0)));
        let device = &self.device;
        let to_request = |lpn, pages| {
            let submission = Submission { at_ns, ..Submission::new(Op::Copy, lpn, pages) };
            submission.request(device).map_err(bad)
        };
        let ranges = sources.iter().map(|&(lpn, pages)| {
            let range = to_request(lpn, pages)?;
            Ok(SourceRange { sector: range.sector, sectors: u64::from(range.sectors) })
        });
        let ranges = ranges.collect::<Result<Vec<_>, PushError>>()?;
        let request =
            if ranges.is_empty() { Request::new(Op::Copy, 0, 0) } else { to_request(lpn, pages)? };
        let now = self.ssd().now().0;
        let at = arrival(at_ns, self.last_ns, now).map_err(bad)?;
        let data = copy::encode(&ranges);
        let id = self.ssd().submit(Nanos(at), &request, Some(&data));
        let id = id.map_err(|e| PushError::Refused(e.to_string()))?;
        self.last_ns = at;
        Ok(id.0)
    }

    /// Cut the power at time `at` (`None`: now). Returns the numbers of the requests in the device, which are lost.
    ///
    /// # Errors
    /// The time is in the past, the device is not prepared for a cut, or as [`PushDriver::run_until`].
    pub fn power_cut(
        &mut self,
        at: Option<Nanos>,
        caller: &mut dyn Caller,
    ) -> Result<Vec<u64>, PushError> {
        self.check_on()?;
        let refused = |error: DeviceError| PushError::Refused(error.to_string());
        self.ssd().check_cut().map_err(refused)?;
        let at = at.unwrap_or(self.ssd().now());
        self.check_ahead("a power cut at", at)?;
        self.advance(StopCondition::Time(at), caller)?;
        let lost = self.ssd().power_cut().map_err(refused)?;
        let lost = lost.iter().map(|request| request.id).collect();
        // What was to arrive later is lost, too.
        self.last_ns = self.ssd().now().0;
        Ok(lost)
    }

    /// Mount the device after power is back. Returns what that took.
    ///
    /// # Errors
    /// Power is on, or the device cannot continue.
    pub fn mount(&mut self) -> Result<Recovery, PushError> {
        self.check_going()?;
        if !self.ssd().is_off() {
            let message = "power is on: there is nothing to mount before a power_cut()";
            return Err(PushError::Refused(message.into()));
        }
        let mounted = self.ssd().mount(false);
        mounted.map_err(|error| self.failed(error))
    }

    /// Whether power has been cut and the device not mounted since.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.ssd.as_ref().is_some_and(Ssd::is_off)
    }

    /// An error if the device cannot continue or has no power.
    fn check_on(&self) -> Result<(), PushError> {
        self.check_going()?;
        if self.is_off() {
            return Err(PushError::Refused("power is off: mount() the device first".into()));
        }
        Ok(())
    }

    /// The run so far, as a finished one; its ending is `Interrupted` while requests are outstanding.
    pub fn report(&mut self, commit: Option<String>) -> FinishedRun {
        let circumstances = Circumstances {
            commit,
            driven: true,
            snapshot_digest: self.snapshot_digest.clone(),
            plugs: self.plugs.clone(),
            ..Circumstances::default()
        };
        let under_way = self.ssd().outstanding() > 0;
        let ending = if under_way { Ending::Interrupted } else { Ending::Completed };
        let original = self.original.clone();
        report::timed(&original, self.ssd(), &circumstances, ending, None)
    }
}

/// When a request arrives to which the client gives `at_ns`, or no time: not before `earliest`.
fn arrival(at_ns: Option<i64>, earliest: u64, now: u64) -> Result<u64, String> {
    let Some(requested) = at_ns else { return Ok(earliest.max(now)) };
    let at = u64::try_from(requested).ok().filter(|&at| at >= earliest);
    at.ok_or_else(|| format!("it arrives at {requested} ns; expected {earliest} or later"))
}
