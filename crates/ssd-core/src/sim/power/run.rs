//! Runs with cuts: power is cut when the configuration says so, the device mounts, and the run continues.

use super::Power;
use crate::config::{Config, PowerCut};
use crate::host::device::DeviceError;
use crate::host::request::Completion;
use crate::rng::Stream;
use crate::sim::ssd::Ssd;
use crate::units::Nanos;

/// A run with this many successive cuts without a completion will not finish.
const MOST_BARREN: u32 = 1000;

/// When power is cut.
pub(super) struct Schedule {
    kind: PowerCut,
    next: Nanos,
    rng: Stream,
    /// Cuts since the last completion of a request.
    barren: u32,
}

impl Schedule {
    pub(super) fn new(config: &Config) -> Schedule {
        let rng = Stream::new(config.run.seed, "power cuts");
        let kind = config.power.cut.clone();
        let mut schedule = Schedule { kind, next: Nanos::NEVER, rng, barren: 0 };
        schedule.draw(Nanos::ZERO);
        schedule
    }

    /// The cut after one from which the device has recovered at `now`; those in the meantime are skipped.
    fn draw(&mut self, now: Nanos) {
        self.next = match &self.kind {
            PowerCut::Never | PowerCut::OnRequest => Nanos::NEVER,
            PowerCut::At(times) => {
                let next = times.iter().find(|&&at| at > now.0);
                next.map_or(Nanos::NEVER, |&at| Nanos(at))
            }
            PowerCut::Every(ns) => Nanos(now.0.saturating_add(*ns)),
            PowerCut::Random(mean) => Nanos(now.0.saturating_add(1 + self.rng.below(2 * mean))),
        };
        debug_assert!(self.next > now, "a cut in the past");
    }
}

impl Ssd {
    /// [`crate::host::device::Device::run_until`] of a device whose power may be cut.
    #[inline(never)]
    pub(crate) fn run_with_cuts(
        &mut self,
        limit: Nanos,
        done: &mut Vec<Completion>,
    ) -> Result<Nanos, DeviceError> {
        if self.is_off() {
            return Err(DeviceError::Power("power is off: mount the device first".into()));
        }
        let before = done.len();
        loop {
            let cut = self.power_cuts().0.schedule.next;
            // Without an event nothing happens until the cut: the run has stalled, or is over.
            let over = !self.mid_instant && self.core.next_time().is_none();
            let none = cut == Nanos::NEVER || (limit == Nanos::NEVER && over);
            if none || cut > limit {
                let reached = self.run::<true, true>(limit, done)?;
                self.power_cuts().0.note_completions(&done[before..]);
                return Ok(reached);
            }
            self.run::<true, true>(cut, done)?;
            if done.len() > before {
                self.power_cuts().0.note_completions(&done[before..]);
                return Ok(self.core.array.now);
            }
            debug_assert!(
                self.core.next_time().is_none_or(|next| next > cut),
                "an event is missed"
            );
            self.core.advance_to(cut)?;
            self.cut_and_mount(limit)?;
        }
    }

    /// The next time at which the configuration cuts power.
    #[must_use]
    pub fn next_cut(&self) -> Option<Nanos> {
        let next = self.power.as_ref().map(|power| power.schedule.next);
        next.filter(|&at| at != Nanos::NEVER)
    }

    /// Cut power now, and let the device mount; cuts at given times may come before it has.
    fn cut_and_mount(&mut self, limit: Nanos) -> Result<(), DeviceError> {
        // Checked before the cut, so that the report of a run that ends here shows a device with power.
        if self.power_cuts().0.schedule.barren == MOST_BARREN {
            return Err(DeviceError::Power(format!(
                "no request has completed between {MOST_BARREN} power cuts: give a longer power.cut, or fewer \
                 requests at a time (host.queue_depth, host.max_outstanding)"
            )));
        }
        self.power_cut()?;
        debug_assert!(self.core.array.now <= limit, "a cut beyond the limit");
        debug_assert!(self.is_off(), "power has not been cut");
        let (power, _) = self.power_cuts();
        power.schedule.barren += 1;
        let has_times = matches!(power.config.power.cut, PowerCut::At(_));
        loop {
            let (power, core) = self.power_cuts();
            if has_times {
                power.schedule.draw(core.array.now);
            }
            let next = power.schedule.next;
            if !self.mount_until(has_times.then_some(next))?.interrupted {
                break;
            }
        }
        self.accept_requests(true)?;
        debug_assert!(!self.is_off(), "the device has not been mounted");
        let (power, core) = self.power_cuts();
        power.schedule_next_cut(core.array.now);
        Ok(())
    }
}

impl Power {
    /// The host sees these completions.
    fn note_completions(&mut self, done: &[Completion]) {
        debug_assert!(done.is_sorted_by_key(|c| c.at), "completions out of order");
        for completion in done {
            self.brought.remove(&completion.id.0);
            self.schedule.barren = 0;
        }
    }

    /// Schedule the next cut after a mount. Cuts that were due before its end are skipped, because power was off.
    pub(super) fn schedule_next_cut(&mut self, now: Nanos) {
        self.schedule.draw(now);
    }
}
