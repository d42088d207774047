//! The timed machine: it orders what happens within an instant, and passes its parts to each other.
//!
//! At one instant: completions in resource order (operations, then served and decoded pages, then pages in
//! the slices of the interconnect), then arrivals, then idle timers, then collection is considered, then
//! units are dispatched in order, then free buses are granted. Nothing else moves time.

use super::array::Array;
use super::collector::Collector;
use super::front::{Arrival, Front};
use super::ledger::Ledger;
use crate::config::Config;
use crate::ftl::Ftl;
use crate::ftl::plugs::{Fault, Plugs};
use crate::ftl::snapshot::DeviceSnapshot;
use crate::host::device::{Device, DeviceError};
use crate::host::request::{Completion, Op as HostOp, Request, RequestId};
use crate::metrics::Measurements;
use crate::metrics::counters::Cause;
use crate::metrics::series::Gauges;
use crate::units::{Lpn, Nanos, OpSlot, Ppn};

pub use super::front::MAX_SECTORS;
pub use super::ledger::MAX_SAMPLES;

/// A simulated SSD.
pub struct Ssd {
    /// Page decisions.
    pub ftl: Ftl,
    pub(crate) front: Front,
    pub(crate) array: Array,
    pub(crate) gc: Collector,
    pub(crate) ledger: Ledger,
    /// Why the run ends at this instant.
    pub(crate) failure: Option<DeviceError>,
    /// Completions of this instant have been processed, the rest of it has not.
    mid_instant: bool,
    audit_every: u64,
    until_audit: u64,
    plugs: Plugs,
    /// Its configuration needs no more than the plain loop.
    plain: bool,
}

impl Ssd {
    /// Over the device `ftl`, preconditioned or not, with `sequence` pages admitted so far.
    #[must_use]
    pub fn new(config: &Config, ftl: Ftl, sequence: u64) -> Ssd {
        Ssd::with_plugs(config, ftl, sequence, &Plugs::default())
    }

    /// The same with external policies.
    #[must_use]
    pub fn with_plugs(config: &Config, mut ftl: Ftl, sequence: u64, plugs: &Plugs) -> Ssd {
        plugs.begin();
        ftl.blocks.now = Nanos::ZERO;
        ftl.set_victim(plugs.victim(&config.gc.victim, &ftl.blocks));
        let mut ssd = Ssd {
            front: Front::new(config, plugs, sequence),
            array: Array::new(config, &ftl.geo),
            gc: Collector::new(config, &ftl, plugs),
            ledger: Ledger::new(config, &ftl, sequence),
            failure: None,
            mid_instant: false,
            audit_every: 0,
            until_audit: 0,
            plugs: plugs.clone(),
            plain: false,
            ftl,
        };
        ssd.plain = ssd.is_plain() && config.wear.static_threshold == 0;
        // A unit that the host never uses is idle from the start.
        (0..ssd.array.units.len()).for_each(|unit| ssd.gc.arm_idle_timer(unit, &mut ssd.array));
        ssd
    }

    /// A device in the state of `snapshot`, at time zero, under the policies of `config`.
    ///
    /// # Errors
    /// The snapshot does not fit the configuration.
    pub fn restore(config: &Config, snapshot: &DeviceSnapshot) -> Result<Ssd, String> {
        Ok(Ssd::new(config, Ftl::restore(config, snapshot)?, snapshot.counters().sequence))
    }

    /// Whether the plain loop suffices: it leaves out what only other configurations need (logs, contents,
    /// link and buffer, closed scopes, several planes in a unit or pool, whatever makes the way of a page longer
    /// than unit and bus). Methods with a parameter `FULL` are compiled for both.
    fn is_plain(&self) -> bool {
        let geo = &self.ftl.geo;
        let one_plane = geo.planes_per_unit() == 1 && geo.planes_per_pool() == 1;
        let keeps = self.ledger.keeps_more_than_numbers() || self.ftl.flash.keeps_contents();
        let own = !self.plugs.any() && self.front.writes_go_straight;
        one_plane && own && !keeps && self.array.is_plain() && self.gc.is_plain()
    }

    /// Run the full loop, also where the plain one suffices: the results are equal. Returns whether it does.
    pub fn use_full_loop(&mut self) -> bool {
        std::mem::take(&mut self.plain)
    }

    /// Recompute all invariants every `n` instants, check after each that no idle unit has been forgotten,
    /// and panic on a violation; 0: never.
    pub fn audit_every(&mut self, n: u64) {
        self.audit_every = n;
        self.until_audit = n;
    }

    /// Recompute all invariants now.
    ///
    /// # Errors
    /// The first violated one.
    pub fn audit(&self) -> Result<(), String> {
        self.ftl.audit()?;
        self.front.audit()?;
        self.array.audit()?;
        self.array.audit_way(self.gc.pages_read.iter().sum())?;
        self.gc.audit(&self.ftl)?;
        self.audit_buffer()
    }

    /// The flash page with the newest data of `lpn` on flash; newer data may be in the controller.
    #[must_use]
    pub fn page_on_flash(&self, lpn: Lpn) -> Option<Ppn> {
        self.ftl.owners.committed(lpn)
    }

    /// What has been measured.
    #[must_use]
    pub fn measured(&self) -> &Measurements {
        &self.ledger.measured
    }

    /// Digest of all events so far: equal runs have equal digests.
    #[must_use]
    pub fn event_digest(&self) -> u64 {
        self.ledger.event_digest
    }

    /// Requests submitted so far.
    #[must_use]
    pub fn submitted(&self) -> u64 {
        self.front.submitted
    }

    /// Requests submitted and not completed.
    #[must_use]
    pub fn outstanding(&self) -> u64 {
        self.front.outstanding()
    }

    /// The time of the next instant, if one comes by itself.
    #[inline(always)]
    fn next_time(&self) -> Option<Nanos> {
        let event = self.array.events.next_time();
        let Some(arrival) = self.front.arrivals.front() else { return event };
        let arrival = arrival.at.max(self.array.now);
        Some(event.map_or(arrival, |event| event.min(arrival)))
    }

    /// Advance to `t`, however much is due by then.
    #[inline(never)]
    fn advance_to(&mut self, t: Nanos) -> Result<(), DeviceError> {
        while self.ledger.sample_is_due(t) {
            self.sample()?;
        }
        if t > self.array.latest {
            return Err(DeviceError::TimeRange { limit_ns: self.array.latest.0 });
        }
        self.set_time(t);
        Ok(())
    }

    #[inline(always)]
    fn set_time(&mut self, t: Nanos) {
        assert!(t >= self.array.now, "time runs backwards");
        self.array.now = t;
        self.ftl.blocks.now = t;
    }

    /// The last time up to `limit` to which [`Ssd::set_time`] alone may advance.
    #[inline]
    fn quiet_until(&self, limit: Nanos) -> Nanos {
        limit.min(self.array.latest).min(self.ledger.quiet_until())
    }

    /// The next instant, if it is not quiet: advance to it, or without any look for an operation that can
    /// start. False: it is beyond `limit`.
    #[inline(never)]
    fn next_instant(&mut self, limit: Nanos) -> Result<bool, DeviceError> {
        match self.next_time() {
            Some(t) if t <= limit => self.advance_to(t)?,
            None if limit == Nanos::NEVER && self.outstanding() > 0 => self.look_further()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The completions of this instant.
    #[inline(always)]
    fn begin_instant<const FULL: bool>(&mut self) {
        let key = self.array.events.key_at(self.array.now);
        while let Some(resource) = self.array.events.take(key) {
            // Of a bus it wraps.
            let unit = resource.wrapping_sub(self.array.buses());
            if unit < self.array.units.len() {
                if self.array.unit_event::<FULL>(&self.ftl.geo, unit) {
                    self.operation_ends::<FULL>(unit);
                }
            } else if resource < self.array.buses() {
                self.array.bus_event(resource);
            } else {
                self.rare_event(resource);
            }
        }
    }

    /// The rest of the instant: arrivals, idle timers, collection, dispatch.
    #[inline(always)]
    fn end_instant<const FULL: bool>(&mut self) {
        if !self.front.arrivals.is_empty() {
            self.admit_arrivals::<FULL>();
        }
        if !self.gc.idle_units.is_empty() {
            self.gc.idle_timers(&self.ftl.geo, &mut self.array);
        }
        loop {
            if self.gc.something_to_consider() {
                self.consider_collection();
            }
            while let Some(unit) = self.array.ready.pop() {
                self.dispatch::<FULL>(unit as usize);
            }
            if self.gc.agenda.is_empty() {
                break;
            }
        }
        self.array.grant_buses::<FULL>();
        if self.audit_every > 0 {
            self.audit_instant()
                .unwrap_or_else(|e| panic!("audit at {} ns: {e}", self.array.now.0));
        }
    }

    #[inline(never)]
    fn admit_arrivals<const FULL: bool>(&mut self) {
        while self.front.arrivals.front().is_some_and(|a| a.at <= self.array.now) {
            let Arrival { at, id, request, data } = self.front.arrivals.pop_front().expect("seen");
            self.admit::<FULL>(at, id, &request, data.as_deref());
        }
    }

    #[inline(never)]
    fn admit_full(&mut self, at: Nanos, id: u64, request: &Request, data: Option<&[u8]>) {
        self.admit::<true>(at, id, request, data);
    }

    #[inline(never)]
    fn rare_event(&mut self, resource: usize) {
        if resource == self.array.timer_resource() {
            self.timer_events();
        } else {
            debug_assert_eq!(resource, self.array.timer_resource() + 1, "that of the slices");
            self.ledger.measured.controller.wait_ns += self.array.slices_event();
        }
    }

    /// At the end of an instant: check what no later audit would find, and all invariants when they are due.
    #[inline(never)]
    fn audit_instant(&mut self) -> Result<(), String> {
        self.audit_idle_units()?;
        self.until_audit -= 1;
        if self.until_audit > 0 {
            return Ok(());
        }
        self.until_audit = self.audit_every;
        self.audit()
    }

    #[inline(never)]
    fn sample(&mut self) -> Result<(), DeviceError> {
        self.ledger.sample(Gauges {
            used_pages: self.ftl.space.used(),
            free_blocks: self.ftl.space.free_blocks_total(),
            gc_active_pools: u64::from(self.gc.active()),
        })
    }

    /// The measurement starts now.
    #[inline(never)]
    pub(crate) fn restart_measurement(&mut self) {
        self.ledger.restart(self.array.now, &self.ftl, self.front.sequence);
        self.array.restart_activity();
        self.ftl.space.restart_lowest();
    }

    /// Time that each channel has been busy since the measurement started.
    #[must_use]
    pub fn channel_busy_ns(&self) -> Vec<u64> {
        self.array.channel_busy_ns()
    }

    /// Time that each chip has had an operation since the measurement started.
    #[must_use]
    pub fn chip_busy_ns(&self) -> Vec<u64> {
        self.array.chip_busy_ns()
    }

    /// Erases of each erase unit since the measurement started.
    #[must_use]
    pub fn erases(&self) -> Vec<u32> {
        self.ledger.erases(&self.ftl)
    }

    /// Host pages admitted before the measurement started, preconditioning included.
    #[must_use]
    pub fn pages_before(&self) -> u64 {
        self.ledger.pages_before
    }

    /// Pages read, or being read, for `cause` and neither programmed nor dropped yet.
    #[must_use]
    pub fn pages_in_flight(&self, cause: Cause) -> u64 {
        self.gc.pages_read[cause.at()]
    }

    /// Whether no flash operation is queued or running.
    #[must_use]
    pub fn at_rest(&self) -> bool {
        self.array.ops.len() == 0
    }

    /// Start nothing new, and run until every flash operation has ended (for complete logs): no operation is
    /// counted from here on.
    ///
    /// # Errors
    /// As [`Device::run_until`].
    pub fn quiesce(&mut self) -> Result<(), DeviceError> {
        self.array.quiescing = true;
        while let Some(t) = self.array.events.next_time() {
            self.advance_to(t)?;
            self.begin_instant::<true>();
            self.array.grant_buses::<true>();
            self.mid_instant = true;
        }
        assert!(self.array.timers.next_time().is_none(), "a timer has no event");
        self.array.quiescing = false;
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Before the first request: leave `warmup` requests out of the statistics; `split` keeps the latencies of
    /// volumes and streams apart.
    pub fn measure(&mut self, warmup: u64, split: bool) {
        assert_eq!(self.front.submitted, 0, "requests have been submitted");
        self.ledger.measure(warmup, split);
    }

    /// Whether the run is still in its warm-up; if so, forget what has been measured.
    pub fn discard_warmup(&mut self) -> bool {
        let warming = self.ledger.warms_up(self.front.submitted);
        if warming {
            self.restart_measurement();
        }
        warming
    }

    /// [`Device::run_until`] in the plain or the full loop. It, the end of an operation and the dispatch of a
    /// unit are functions of their own: in one, registers do not suffice for what is used most.
    #[inline(never)]
    fn run<const FULL: bool>(
        &mut self,
        limit: Nanos,
        done: &mut Vec<Completion>,
    ) -> Result<Nanos, DeviceError> {
        // Not stored while instants follow each other: only submissions between two calls ask.
        let mut within = std::mem::take(&mut self.mid_instant);
        let mut quiet = self.quiet_until(limit);
        loop {
            if !within {
                let mut t = self.array.events.first_time();
                if let Some(arrival) = self.front.arrivals.front() {
                    t = t.min(arrival.at.max(self.array.now));
                }
                if t <= quiet {
                    self.set_time(t);
                } else {
                    if !self.next_instant(limit)? {
                        return Ok(self.array.now);
                    }
                    quiet = self.quiet_until(limit);
                }
                self.begin_instant::<FULL>();
                if !self.front.done.is_empty() {
                    break;
                }
            }
            self.end_instant::<FULL>();
            if self.failure.is_some() || (FULL && self.plugs.any()) {
                self.heed_failures()?;
            }
            if !self.front.done.is_empty() {
                break;
            }
            within = false;
        }
        self.mid_instant = true;
        if done.is_empty() {
            std::mem::swap(done, &mut self.front.done);
        } else {
            done.append(&mut self.front.done);
        }
        Ok(self.array.now)
    }

    /// Run the next instant; if there is none, check whether there could be one.
    ///
    /// # Errors
    /// As [`Device::run_until`].
    pub(crate) fn step(&mut self) -> Result<(), DeviceError> {
        match self.next_event() {
            Some(next) => self.run_until(next, &mut Vec::new()).map(drop),
            None => self.look_further(),
        }
    }

    /// Nothing will happen by itself: perhaps an operation far back in a queue can start.
    ///
    /// # Errors
    /// [`Ssd::stalled`] after it has been tried.
    fn look_further(&mut self) -> Result<(), DeviceError> {
        assert!(self.outstanding() > 0 || self.buffered_pages() > 0, "nothing is to happen");
        if self.array.look_ahead == u32::MAX {
            return Err(self.stalled());
        }

        self.array.look_ahead = u32::MAX;
        self.array.wake_all();
        self.mid_instant = true;
        Ok(())
    }

    /// Why the requests in the device cannot complete.
    #[must_use]
    pub fn stalled(&self) -> DeviceError {
        let (outstanding, first) = (self.outstanding(), self.front.requests.oldest().unwrap_or(0));
        let buffered = match self.buffered_pages() {
            0 => String::new(),
            pages => format!("; {pages} pages of the write buffer are not on flash"),
        };
        match self.gc.agenda.starved_pool(&self.ftl) {
            Some(pool) => {
                let waiting = (outstanding, first);
                super::functional::no_space(&self.ftl, pool, &self.plugs, waiting, &buffered)
            }
            None => DeviceError::Stalled {
                outstanding,
                first,
                reason: format!(
                    "{} operations are queued or running{buffered}",
                    self.array.ops.len()
                ),
            },
        }
    }

    /// End the run if it has failed at this instant, or an external policy has.
    #[inline(never)]
    fn heed_failures(&mut self) -> Result<(), DeviceError> {
        let place = || format!("at {} ns", self.array.now.0);
        let fault = self.plugs.fault().map(|fault| policy_error(fault, place));
        match fault.or_else(|| self.failure.take()) {
            Some(error) => {
                self.mid_instant = true;
                Err(error)
            }
            None => Ok(()),
        }
    }

    /// Queue the operation in `slot` on the unit of its plane.
    #[inline]
    pub(crate) fn enqueue(&mut self, slot: OpSlot, queue: usize) {
        self.array.enqueue(&self.ftl.geo, slot, queue);
    }
}

/// The end of a run because of the fault of a policy; `place`: when it was asked.
pub(crate) fn policy_error(fault: Fault, place: impl FnOnce() -> String) -> DeviceError {
    match fault {
        Fault::Interrupted => DeviceError::Interrupted,
        Fault::Failed { who, pool, what } => {
            let pool = pool.map_or_else(String::new, |pool| format!(", pool {}", pool.0));
            DeviceError::Policy(format!("{who}, {}{pool}: {what}", place()))
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
        let id = self.front.number(&self.ftl.geo, at, request)?;
        if self.mid_instant && at <= self.array.now && self.front.arrivals.is_empty() {
            // Arrivals are what comes next in this instant.
            if self.plain {
                self.admit::<false>(at, id, request, data);
            } else {
                self.admit_full(at, id, request, data);
            }
        } else {
            self.front.arrives_later(at, id, request, data);
        }
        Ok(RequestId(id))
    }

    fn now(&self) -> Nanos {
        self.array.now
    }

    fn next_event(&self) -> Option<Nanos> {
        if self.mid_instant { Some(self.array.now) } else { self.next_time() }
    }

    fn run_until(
        &mut self,
        limit: Nanos,
        done: &mut Vec<Completion>,
    ) -> Result<Nanos, DeviceError> {
        if self.plain { self.run::<false>(limit, done) } else { self.run::<true>(limit, done) }
    }

    fn snapshot(&self) -> Result<DeviceSnapshot, DeviceError> {
        if self.outstanding() > 0 || !self.at_rest() {
            let (requests, operations) = (self.outstanding(), self.array.ops.len());
            return Err(DeviceError::Busy(format!(
                "{requests} requests and {operations} flash operations are under way"
            )));
        }
        self.ftl.snapshot(self.front.sequence).map_err(DeviceError::Busy)
    }

    fn hint(&self, request: &Request) {
        if request.op == HostOp::Write {
            let lpn = request.sector >> self.ftl.geo.sector_shift;
            self.ftl.owners.prefetch(Lpn(lpn as u32));
        }
    }

    fn hint_soon(&self, request: &Request) {
        if request.op == HostOp::Write {
            let lpn = request.sector >> self.ftl.geo.sector_shift;
            self.ftl.prefetch_write(Lpn(lpn as u32));
        }
    }

    fn take_data(&mut self, id: RequestId) -> Option<Vec<u8>> {
        self.ledger.content.as_mut()?.take(id)
    }
}
