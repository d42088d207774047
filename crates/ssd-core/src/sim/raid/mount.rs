//! Parity groups after a power cut (ADR 0033): the mount does without missing chips, and the rebuild goes on.

use super::Raid;
use super::lost::{degradation, end_with_loss, note_lost_pages};
use crate::config::Config;
use crate::ftl::Ftl;
use crate::sim::array::event::Timer;
use crate::sim::ssd::Ssd;
use crate::units::{Lpn, Nanos};

impl Raid {
    /// As it is after a power cut of the device `ftl`. Updates are numbered on.
    pub(in crate::sim) fn after_cut(self: Box<Raid>, config: &Config, ftl: &Ftl) -> Box<Raid> {
        let mut new = Raid::new(config, ftl).expect("a device with parity");
        debug_assert!(new.lines.firsts().next().is_none(), "an update survives");
        new.count = self.count;
        new.failures = self.failures.map(|failures| Box::new(failures.after_cut(config)));
        new
    }
}

impl Ssd {
    /// The next chip failure.
    pub(in crate::sim) fn next_failure(&self) -> Option<Nanos> {
        let failures = self.raid.as_deref()?.failures.as_deref()?;
        failures.to_come().map(|(_, at)| at).min()
    }

    /// Fail the chips that fail until `at`, while a mount reads: it will begin again without them.
    pub(in crate::sim) fn chip_fails_during_mount(&mut self, at: Nanos) {
        debug_assert!(self.is_off(), "the device has power");
        let failures = self.parity().0.failures();
        failures.during_mount = true;
        let due: Vec<_> = failures.to_come().filter(|failure| failure.1 <= at).collect();
        for (number, at) in due {
            for plane in self.lose_chip(number, at).unwrap_or_default() {
                self.core.ftl.lose_plane(plane);
                degradation(&mut self.core).set(at, true);
            }
        }
    }

    /// Continue after a mount: chips that fail later have timers, and the rebuild goes on.
    pub(in crate::sim) fn continue_groups(&mut self) {
        debug_assert!(!self.is_off(), "the device has not been mounted");
        let (power, core) = self.power_cuts();
        power.end_last_step(core);
        let (raid, core) = self.parity();
        raid.recount_foreign(&core.ftl, &core.array);
        let Some(failures) = raid.failures.as_deref_mut() else { return };
        for (number, at) in failures.to_come() {
            core.array.set_timer(at.max(core.array.now), Timer::ChipFails(number));
        }
        failures.rebuild.enlist(Lpn(0));
        let lost = core.ftl.lost.as_deref().map_or(0, |lost| lost.count());
        let before = core.ledger.measured.degraded.as_deref().map_or(0, |d| d.pages_left);
        if std::mem::take(&mut failures.during_mount) {
            degradation(core).pages_lost += lost.saturating_sub(before);
        }
        note_lost_pages(core);
        if core.ftl.has_lost_two() {
            end_with_loss(core);
        }
        core.note_room();
        self.mid_instant = true;
    }
}
