//! The timed machine: it orders what happens within an instant, and passes its parts to each other
//! (`instant`).

use super::array::event::Timer;
use super::contents::Contents;
use super::copies::Copies;
use super::core::Core;
use super::logs::Logs;
use super::logs::operations::OpRecord;
use super::logs::power::PowerRecord;
use super::logs::requests::RequestRecord;
use super::power::Power;
use super::raid::{Raid, degradation};
use super::suspend::Suspension;
use super::zones::{TimedZones, Zones};
use crate::config::Config;
use crate::ftl::Ftl;
use crate::ftl::plugs::{Fault, Plugs};
use crate::ftl::reclaim::UnitRecord;
use crate::ftl::snapshot::DeviceSnapshot;
use crate::host::device::{Device, DeviceError};
use crate::host::request::{Completion, Op as HostOp, Request, RequestId};
use crate::metrics::Measurements;
use crate::metrics::counters::Cause;
use crate::units::{Lpn, Nanos, OpSlot};

pub use super::front::MAX_SECTORS;
pub use super::ledger::MAX_SAMPLES;

/// A simulated SSD.
pub struct Ssd {
    /// The layer below the route and the features.
    pub core: Core,
    /// The contents of the pages, if the device knows them.
    pub(super) contents: Option<Box<Contents>>,
    /// The logs that the run keeps.
    pub(super) logs: Logs,
    /// Updates of parity groups, if the device has them.
    pub(crate) raid: Option<Box<Raid>>,
    /// Copies under way, if the device answers them.
    pub(crate) copies: Option<Box<Copies>>,
    /// Operations that reads suspend, if they do.
    pub(super) suspension: Option<Box<Suspension>>,
    /// What survives a power cut besides the flash, if power may be cut.
    pub(crate) power: Option<Box<Power>>,
    /// The zones, if they are the interface.
    pub(super) zones: Option<Box<TimedZones>>,
    /// Whether completions of this instant have been processed, but not the rest of it.
    pub(super) mid_instant: bool,
    pub(super) audits: Audits,
    pub(super) plugs: Plugs,
    /// The loop that its configuration needs.
    pub(super) machine: Loop,
}

/// When all invariants are recomputed.
#[derive(Clone, Copy, Default)]
pub(super) struct Audits {
    /// Instants between two audits; 0 for none.
    pub(super) every: u64,
    /// Instants until the next.
    pub(super) left: u64,
}

/// Which of the compiled loops runs. All that suffice give equal results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Loop {
    /// Without what most configurations do not use ([`Ssd::is_plain`]).
    Plain,
    /// As `Plain`, but with parity groups.
    Groups,
    /// Everything.
    Full,
}

impl Ssd {
    /// A machine with the device `ftl`, preconditioned or not, to which `sequence` pages have been admitted so far.
    #[must_use]
    pub fn new(config: &Config, ftl: Ftl, sequence: u64) -> Ssd {
        Ssd::with_plugs(config, ftl, sequence, &Plugs::default())
    }

    /// As [`Ssd::new`], with external policies.
    #[must_use]
    pub fn with_plugs(config: &Config, mut ftl: Ftl, sequence: u64, plugs: &Plugs) -> Ssd {
        plugs.begin();
        ftl.number_owners(sequence);
        ftl.blocks.now = Nanos::ZERO;
        ftl.begin_run(&config.gc.victim, plugs);
        let zones = Zones::new(config);
        let config = &*config.of_drive();
        let mut ssd = Ssd {
            contents: Contents::new(config, &ftl),
            logs: Logs::new(config),
            raid: Raid::new(config, &ftl),
            copies: Copies::new(config),
            suspension: Suspension::new(config),
            power: Power::new(config, &mut ftl, sequence),
            zones: zones.map(|zones| Box::new(TimedZones::new(zones))),
            mid_instant: false,
            audits: Audits::default(),
            plugs: plugs.clone(),
            machine: Loop::Full,
            core: Core::new(config, ftl, sequence, plugs),
        };
        if ssd.is_plain() && config.wear.static_threshold == 0 {
            ssd.machine = if ssd.raid.is_some() { Loop::Groups } else { Loop::Plain };
        }
        if ssd.core.ftl.separates() {
            ssd.core.ftl.restart_classes();
            if config.metrics.op_log && ssd.core.ftl.handles().is_some() {
                ssd.core.ftl.space.log_units();
            }
        }
        // A unit that the host never uses is idle from the start.
        (0..ssd.core.array.units.len())
            .for_each(|unit| ssd.core.gc.arm_idle_timer(unit, &mut ssd.core.array));
        for (number, failure) in (0..).zip(&config.raid.fail) {
            ssd.core.array.set_timer(Nanos(failure.at_ns), Timer::ChipFails(number));
        }
        ssd
    }

    /// A device in the state of `snapshot`, at time zero, under the policies of `config`.
    ///
    /// # Errors
    /// The snapshot does not fit the configuration.
    pub fn restore(config: &Config, snapshot: &DeviceSnapshot) -> Result<Ssd, String> {
        Ok(Ssd::new(config, Ftl::restore(config, snapshot)?, snapshot.counters().sequence))
    }

    /// Whether a plain loop suffices: it leaves out what only other configurations need (logs, contents, link and
    /// buffer, closed scopes, several planes in a unit or pool, and whatever makes the path of a page longer than unit
    /// and bus). Methods with a parameter `FULL` are compiled with and without that; those with a parameter `GROUPS`
    /// with and without updates of parity groups.
    fn is_plain(&self) -> bool {
        let geo = &self.core.ftl.geo;
        let one_plane = geo.planes_per_unit() == 1 && geo.planes_per_pool() == 1;
        let keeps = self.logs.operations.is_some() || self.core.ftl.flash.keeps_contents();
        let own = !self.plugs.any() && self.core.front.writes_go_straight && self.copies.is_none();
        let own = own && !self.core.gc.agenda.watches_requests() && self.core.ftl.lost.is_none();
        let own = own && !self.core.ftl.may_lose_power() && !self.core.ftl.separates();
        let own = own && self.core.front.firmware.is_none() && !self.core.ledger.counts_work();
        one_plane && own && !keeps && self.core.array.is_plain() && self.core.gc.is_plain()
    }

    /// Run the full loop even if a plain one suffices: the results are equal. Returns whether one does.
    pub fn use_full_loop(&mut self) -> bool {
        std::mem::replace(&mut self.machine, Loop::Full) != Loop::Full
    }

    /// Recompute all invariants every `n` instants, check after each instant that no idle unit has been forgotten, and
    /// panic on a violation; 0: never.
    pub fn audit_every(&mut self, n: u64) {
        self.audits = Audits { every: n, left: n };
    }

    /// What has been measured.
    #[must_use]
    pub fn measured(&self) -> &Measurements {
        &self.core.ledger.measured
    }

    /// Digest of all events so far: equal runs have equal digests.
    #[must_use]
    pub fn event_digest(&self) -> u64 {
        self.core.ledger.event_digest
    }

    /// Requests submitted so far.
    #[must_use]
    pub fn submitted(&self) -> u64 {
        self.core.front.submitted
    }

    /// Requests submitted and not completed.
    #[must_use]
    pub fn outstanding(&self) -> u64 {
        self.core.front.outstanding()
    }

    /// Pages of writes in the buffer, those on their way to flash included.
    #[must_use]
    pub fn buffered_pages(&self) -> u64 {
        self.core.front.buffered_pages()
    }

    /// Time that each channel has been busy since the measurement started.
    #[must_use]
    pub fn channel_busy_ns(&self) -> Vec<u64> {
        self.core.array.channel_busy_ns()
    }

    /// Time that each chip has had an operation since the measurement started.
    #[must_use]
    pub fn chip_busy_ns(&self) -> Vec<u64> {
        self.core.array.chip_busy_ns()
    }

    /// Erases of each erase unit since the measurement started.
    #[must_use]
    pub fn erases(&self) -> Vec<u32> {
        self.core.ledger.erases(&self.core.ftl)
    }

    /// Host pages admitted before the measurement started, including preconditioning.
    #[must_use]
    pub fn pages_before(&self) -> u64 {
        self.core.ledger.pages_before
    }

    /// Pages read, or being read, for `cause` and neither programmed nor dropped yet.
    #[must_use]
    pub fn pages_in_flight(&self, cause: Cause) -> u64 {
        self.core.gc.pages_read[cause.at()]
    }

    /// Return the records of cuts and mounts, in order.
    pub fn drain_power(&mut self, out: &mut Vec<PowerRecord>) {
        if let Some(log) = &mut self.logs.power {
            log.drain(out);
        }
    }

    /// Return the reclaim units opened and collected, in order.
    pub fn drain_units(&mut self, out: &mut Vec<UnitRecord>) {
        debug_assert!(out.iter().all(|unit| unit.at <= self.core.array.now), "a unit of later");
        out.append(&mut self.core.ftl.take_units());
    }

    /// Return the operation records that are complete, in order of start.
    pub fn drain_operations(&mut self, out: &mut Vec<OpRecord>) {
        if let Some(log) = &mut self.logs.operations {
            log.drain(out);
        }
    }

    /// Return the records of completed requests, in order of completion.
    pub fn drain_requests(&mut self, out: &mut Vec<RequestRecord>) {
        if let Some(log) = &mut self.logs.requests {
            log.drain(out);
        }
    }

    /// Whether no flash operation is queued or running.
    #[must_use]
    pub fn at_rest(&self) -> bool {
        debug_assert!(
            self.core.array.ops.len() > 0
                || self.core.array.units.iter().all(|unit| unit.load.total == 0),
            "a unit has an operation that does not exist"
        );
        self.core.array.ops.len() == 0
    }

    /// Start nothing new, and run until every flash operation has ended (for complete logs): no operation is
    /// counted from here on.
    ///
    /// # Errors
    /// As [`Device::run_until`].
    pub fn quiesce(&mut self) -> Result<(), DeviceError> {
        assert!(!self.core.array.quiescing, "the device stops already");
        self.core.array.quiescing = true;
        self.core.array.timers.forget_failures();
        self.core.array.arm_timers();
        loop {
            // What has left the array at this instant waits for a bus, which grants it when the instant ends.
            self.core.array.grant_buses::<true>();
            // Reads that have ended leave operations suspended.
            if let Some(suspension) = &mut self.suspension {
                suspension.resume_all(&mut self.core);
            }
            let Some(t) = self.core.array.events.next_time() else { break };
            self.core.advance_to(t)?;
            self.begin_instant::<true>();
            self.mid_instant = true;
        }
        assert!(self.core.array.timers.next_time().is_none(), "a timer has no event");
        debug_assert!(
            self.core.array.units.iter().all(|unit| unit.running == OpSlot::NONE),
            "an operation runs and has no event"
        );
        self.core.array.quiescing = false;
        self.core.failure.take().map_or(Ok(()), |error| Err(*error))
    }

    /// Before the first request, exclude `warmup` requests from the statistics; `split` keeps separate latencies for
    /// volumes and streams.
    pub fn measure(&mut self, warmup: u64, split: bool) {
        assert_eq!(self.core.front.submitted, 0, "requests have been submitted");
        assert_eq!(self.core.array.now, Nanos::ZERO, "time has passed");
        self.core.ledger.measure(warmup, split);
        // Preconditioning may have had fewer erased blocks; the run counts only its own.
        self.core.ftl.space.restart_lowest();
    }

    /// Whether the run is still in its warm-up; if so, forget what has been measured.
    pub fn discard_warmup(&mut self) -> bool {
        let warming = self.core.ledger.warms_up(self.core.front.submitted);
        if warming {
            self.core.restart_measurement();
        }
        warming
    }

    /// Write what the buffer holds to flash, once every request has completed.
    ///
    /// # Errors
    /// As [`crate::host::device::Device::run_until`].
    pub fn empty_buffer(&mut self) -> Result<(), DeviceError> {
        assert_eq!(self.outstanding(), 0, "requests have not completed");
        debug_assert!(self.core.front.arrivals.is_empty(), "requests are still to arrive");
        while self.buffered_pages() > 0 {
            // After a power cut capacitors have saved pages, which are kept again.
            self.evict_all();
            self.step()?;
        }
        Ok(())
    }

    /// Run the next instant of the rebuild after every request has completed. False if it has ended, or its pool will
    /// have no room for it.
    ///
    /// # Errors
    /// As [`crate::host::device::Device::run_until`].
    pub fn rebuild_further(&mut self) -> Result<bool, DeviceError> {
        assert_eq!(self.outstanding(), 0, "requests have not completed");
        let before = self.core.array.now;
        if !self.rebuilds() || self.next_event().is_none() {
            return Ok(false);
        }
        self.step()?;
        let after = self.core.array.now - before;
        degradation(&mut self.core).after_requests += after.0;
        Ok(true)
    }

    /// Run the next instant; if there is none, check whether there could be one.
    ///
    /// # Errors
    /// As [`Device::run_until`].
    pub(crate) fn step(&mut self) -> Result<(), DeviceError> {
        match self.next_event() {
            Some(next) => self.run_until(next, &mut Vec::new()).map(drop),
            None => {
                self.look_further()?;
                self.mid_instant = true;
                Ok(())
            }
        }
    }
}

/// The end of a run because a policy failed; `place`: when it was asked.
pub(crate) fn policy_error(fault: Fault, place: impl FnOnce() -> String) -> DeviceError {
    match fault {
        Fault::Interrupted => DeviceError::Interrupted,
        Fault::Failed { policy, pool, message } => {
            let pool = pool.map_or_else(String::new, |pool| format!(", pool {}", pool.0));
            DeviceError::Policy(format!("{policy}, {}{pool}: {message}", place()))
        }
    }
}

impl Device for Ssd {
    type Snapshot = DeviceSnapshot;

    fn submit(
        &mut self,
        at: Nanos,
        request: &Request,
        data: Option<&[u8]>,
    ) -> Result<RequestId, DeviceError> {
        if request.op == HostOp::Copy {
            self.check_copy(request, data)?;
        }
        if self.machine == Loop::Full {
            if self.zones.is_some() {
                return self.submit_to_zones(at, request, data);
            }
            self.core.check_handle(request)?;
        }
        self.enter(at, request, data)
    }

    fn now(&self) -> Nanos {
        self.core.array.now
    }

    fn next_event(&self) -> Option<Nanos> {
        if self.mid_instant { Some(self.core.array.now) } else { self.core.next_time() }
    }

    fn run_until(
        &mut self,
        limit: Nanos,
        done: &mut Vec<Completion>,
    ) -> Result<Nanos, DeviceError> {
        debug_assert!(self.machine == Loop::Full || self.is_plain(), "something is left out");
        match self.machine {
            Loop::Plain => self.run::<false, false>(limit, done),
            Loop::Groups => self.run::<false, true>(limit, done),
            Loop::Full if self.core.ftl.may_lose_power() => self.run_with_cuts(limit, done),
            Loop::Full => {
                let before = done.len();
                let reached = self.run::<true, true>(limit, done)?;
                self.zone_writes_complete(&done[before..]);
                Ok(reached)
            }
        }
    }

    fn snapshot(&self) -> Result<DeviceSnapshot, DeviceError> {
        if self.outstanding() > 0 || !self.at_rest() {
            let (requests, operations) = (self.outstanding(), self.core.array.ops.len());
            return Err(DeviceError::Busy(format!(
                "{requests} requests and {operations} flash operations are under way"
            )));
        }
        if let Some(lost) = self.core.ftl.lost.as_deref()
            && (lost.count() > 0 || lost.misses_a_chip())
        {
            return Err(DeviceError::Degraded { lost: lost.count(), rebuilds: self.rebuilds() });
        }
        let snapshot =
            self.core.ftl.snapshot(self.core.front.sequence).map_err(DeviceError::Busy)?;
        debug_assert_eq!(self.core.gc.active(), 0, "a job runs without an operation");
        match self.core.ftl.flash.failure() {
            Some(error) => Err(DeviceError::Contents(error.to_string())),
            None => Ok(snapshot),
        }
    }

    fn hint(&self, request: &Request) {
        if request.op == HostOp::Write {
            let lpn = request.sector >> self.core.ftl.geo.sector_shift;
            self.core.ftl.owners.prefetch(Lpn(lpn as u32));
        }
    }

    fn hint_soon(&self, request: &Request) {
        if request.op == HostOp::Write {
            let lpn = request.sector >> self.core.ftl.geo.sector_shift;
            self.core.ftl.prefetch_write(Lpn(lpn as u32));
        }
    }

    fn take_data(&mut self, id: RequestId) -> Option<Vec<u8>> {
        self.contents.as_mut()?.take(id)
    }
}
