//! The order of an instant, and of instants.
//!
//! An instant has these steps, and nothing else moves time:
//!
//! 1. Completions, in the order of their resources: buses, units, timers, slices of the interconnect.
//! 2. Arrivals.
//! 3. Idle timers.
//! 4. Redirection of writes of parity groups, which may make collection unnecessary.
//! 5. Collection is considered.
//! 6. Updates of parity groups that have waited for room take it.
//! 7. Units are dispatched.
//! 8. Free buses are granted.

use super::array::unit::Stage;
use super::core::Core;
use super::front::Arrival;
use super::raid::is_redirection_due;
use super::ssd::{Ssd, policy_error};
use crate::host::device::DeviceError;
use crate::host::request::Completion;
use crate::metrics::series::Gauges;
use crate::units::Nanos;

impl Core {
    /// The time of the next instant, if one is due without a submission.
    #[inline(always)]
    pub(super) fn next_time(&self) -> Option<Nanos> {
        let event = self.array.events.next_time();
        debug_assert!(event.is_none_or(|t| t >= self.array.now), "an event has been missed");
        let Some(arrival) = self.front.arrivals.front() else { return event };
        let arrival = arrival.at.max(self.array.now);
        Some(event.map_or(arrival, |event| event.min(arrival)))
    }

    /// Advance to `t`, even past events that are due by then.
    #[inline(never)]
    pub(super) fn advance_to(&mut self, t: Nanos) -> Result<(), DeviceError> {
        debug_assert_ne!(t, Nanos::NEVER, "an instant that never comes");
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
    pub(super) fn set_time(&mut self, t: Nanos) {
        assert!(t >= self.array.now, "time runs backwards");
        debug_assert_eq!(self.ftl.blocks.now, self.array.now, "policies have another clock");
        self.array.now = t;
        self.ftl.blocks.now = t;
    }

    /// The last time up to `limit` to which [`Core::set_time`] alone may advance.
    #[inline]
    pub(super) fn quiet_until(&self, limit: Nanos) -> Nanos {
        limit.min(self.array.latest).min(self.ledger.quiet_until())
    }

    /// Whether nothing is left to happen at this instant, whose events have `key`.
    #[inline(always)]
    pub(super) fn is_quiet(&self, key: u64) -> bool {
        !self.array.events.is_due(key)
            && self.array.is_quiet()
            && !self.gc.something_to_consider()
            && self.gc.idle_units.is_empty()
            && self.front.arrivals.front().is_none_or(|a| a.at > self.array.now)
    }

    #[inline(never)]
    pub(super) fn sample(&mut self) -> Result<(), DeviceError> {
        self.ledger.sample(Gauges {
            used_pages: self.ftl.used_pages(),
            free_blocks: self.ftl.space.free_blocks_total(),
            gc_active_pools: u64::from(self.gc.active()),
        })
    }
}

impl Ssd {
    /// The largest time that the device can reach.
    #[must_use]
    pub fn last_time(&self) -> Nanos {
        self.core.array.latest
    }

    /// Let time pass up to `at`; no event may be due before.
    ///
    /// # Errors
    /// Time would leave its range.
    pub fn wait_until(&mut self, at: Nanos) -> Result<(), DeviceError> {
        assert!(!self.mid_instant, "the instant is not over");
        if at > self.core.array.now { self.core.advance_to(at) } else { Ok(()) }
    }

    /// Advance to the next instant; without an event, look for an operation that can start. False if the instant is
    /// beyond `limit`, or there is none.
    #[inline(never)]
    pub(super) fn next_instant(&mut self, limit: Nanos) -> Result<bool, DeviceError> {
        match self.core.next_time() {
            Some(t) if t <= limit => self.core.advance_to(t)?,
            None if limit == Nanos::NEVER && self.core.front.outstanding() > 0 => {
                self.look_further()?
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The completions of this instant. True if nothing else happens at it.
    #[inline(always)]
    pub(super) fn begin_instant<const FULL: bool>(&mut self) -> bool {
        let key = self.core.array.events.key_at(self.core.array.now);
        while let Some(resource) = self.core.array.events.take(key) {
            // The subtraction wraps for a bus.
            let unit = resource.wrapping_sub(self.core.array.buses());
            if unit < self.core.array.units.len() {
                match self.core.array.units[unit].stage() {
                    Stage::Last => self.operation_ends::<FULL>(unit),
                    Stage::Reading => {
                        // More than a quarter of all instants do no more than this.
                        if !FULL
                            && self.core.is_quiet(key)
                            && self.core.array.sends_data_at_once(unit)
                        {
                            // Whatever lets an update in makes a unit ready, too.
                            debug_assert!(
                                !self.core.groups_due,
                                "an update waits longer than needed"
                            );
                            return true;
                        }
                        self.core.array.send_data::<FULL>(unit);
                    }
                    stage => self.rare_stage(stage, unit),
                }
            } else if resource < self.core.array.buses() {
                self.core.array.bus_event(resource);
            } else {
                self.rare_event(resource);
            }
            if FULL && !self.core.buffer_starts.is_empty() {
                self.log_starts_from_buffers();
            }
        }
        false
    }

    /// The rest of the instant: arrivals, idle timers, collection, dispatch.
    #[inline(always)]
    pub(super) fn end_instant<const FULL: bool, const GROUPS: bool>(&mut self) {
        if !self.core.front.arrivals.is_empty() {
            self.admit_arrivals::<FULL, GROUPS>();
        }
        if !self.core.gc.idle_units.is_empty() {
            self.core.gc.idle_timers(&self.core.ftl.geo, &mut self.core.array);
        }
        if GROUPS && self.core.groups_due && is_redirection_due(&self.core) {
            let (raid, core) = self.parity();
            raid.redirect_writes(core);
        }
        if self.core.gc.something_to_consider() {
            self.consider_collection();
        }
        loop {
            while GROUPS && self.core.groups_due && self.core.room_changed {
                self.advance_failures();
                self.evict_groups();
                self.let_updates_in();
                let (raid, core) = self.parity();
                raid.redirect_new_writes(core);
                self.consider_collection();
            }
            while let Some(unit) = self.core.array.ready.pop() {
                if !self.dispatch::<FULL, GROUPS>(unit as usize) {
                    self.dispatch_again::<FULL, GROUPS>(unit as usize);
                }
            }
            let room = GROUPS && self.core.groups_due && self.core.room_changed;
            if self.core.gc.agenda.is_empty() && !room {
                break;
            }
            self.consider_collection();
        }
        if GROUPS && self.core.groups_due {
            self.core.groups_due = is_redirection_due(&self.core);
        }

        debug_assert!(self.core.gc.idle_units.is_empty(), "an idle timer was not heeded");
        self.core.array.grant_buses::<FULL>();
    }

    #[inline(never)]
    pub(super) fn admit_arrivals<const FULL: bool, const GROUPS: bool>(&mut self) {
        while self.core.front.arrivals.front().is_some_and(|a| a.at <= self.core.array.now) {
            let Arrival { at, id, request, data } =
                self.core.front.arrivals.pop_front().expect("seen");
            debug_assert!(id < self.core.front.submitted, "request {id} has not been submitted");
            self.admit::<FULL, GROUPS>(at, id, &request, data.as_deref());
        }
    }

    #[inline(never)]
    fn rare_stage(&mut self, stage: Stage, unit: usize) {
        match (stage, &mut self.suspension) {
            (Stage::Loading, _) => self.core.array.array_works(unit),
            (Stage::Suspending, Some(suspension)) => suspension.stop(&mut self.core, unit),
            _ => self.core.array.page_enters(&self.core.ftl.geo, unit),
        }
    }

    #[inline(never)]
    pub(super) fn rare_event(&mut self, resource: usize) {
        if resource == self.core.array.timer_resource() {
            self.timer_events();
        } else {
            debug_assert_eq!(resource, self.core.array.timer_resource() + 1, "that of the slices");
            self.core.ledger.measured.controller.wait_ns += self.core.array.slices_event();
        }
    }

    /// [`Device::run_until`] in one of the loops of [`Loop`]. The loop, the end of an operation and the dispatch of a
    /// unit are separate functions: in one function the most used values would not fit into registers.
    #[inline(never)]
    pub(super) fn run<const FULL: bool, const GROUPS: bool>(
        &mut self,
        limit: Nanos,
        done: &mut Vec<Completion>,
    ) -> Result<Nanos, DeviceError> {
        // Not stored while instants follow each other, because only submissions between two calls need it.
        let mut within = std::mem::take(&mut self.mid_instant);
        let mut quiet = self.core.quiet_until(limit);
        loop {
            if !within {
                let mut t = self.core.array.events.first_time();
                if let Some(arrival) = self.core.front.arrivals.front() {
                    t = t.min(arrival.at.max(self.core.array.now));
                }
                if t <= quiet {
                    self.core.set_time(t);
                } else {
                    if !self.next_instant(limit)? {
                        return Ok(self.core.array.now);
                    }
                    quiet = self.core.quiet_until(limit);
                }
                let over = self.begin_instant::<FULL>();
                if !self.core.front.done.is_empty() {
                    break;
                }
                if over {
                    if self.audits.every > 0 {
                        self.audit_instant();
                    }
                    continue;
                }
            }
            self.end_instant::<FULL, GROUPS>();
            if self.audits.every > 0 {
                self.audit_instant();
            }
            if self.core.failure.is_some() || (FULL && self.plugs.any()) {
                self.check_failures()?;
            }
            if !self.core.front.done.is_empty() {
                break;
            }
            within = false;
        }
        self.mid_instant = true;
        if done.is_empty() {
            std::mem::swap(done, &mut self.core.front.done);
        } else {
            done.append(&mut self.core.front.done);
        }
        debug_assert!(
            done.last().is_none_or(|c| c.at <= self.core.array.now),
            "a request completes in the future"
        );

        Ok(self.core.array.now)
    }

    /// Look whether an operation far back in a queue can start, because nothing will happen otherwise.
    ///
    /// # Errors
    /// [`Ssd::stalled`] after it has been tried.
    pub(super) fn look_further(&mut self) -> Result<(), DeviceError> {
        let front = &self.core.front;
        assert!(front.outstanding() > 0 || front.buffered_pages() > 0, "nothing is to happen");
        if self.core.array.pick.look_ahead == u32::MAX {
            return Err(self.stalled());
        }
        self.core.array.pick.look_ahead = u32::MAX;
        self.core.array.wake_all();
        self.core.note_room();
        Ok(())
    }

    /// End the run if it, or an external policy, has failed at this instant.
    #[inline(never)]
    pub(super) fn check_failures(&mut self) -> Result<(), DeviceError> {
        let place = || format!("at {} ns", self.core.array.now.0);
        let fault = self.plugs.fault().map(|fault| policy_error(fault, place));
        match fault.or_else(|| self.core.failure.take().map(|error| *error)) {
            Some(error) => {
                self.mid_instant = true;
                Err(error)
            }
            None => Ok(()),
        }
    }
}
