//! Parity groups and power cuts (ADR 0033): pages carry lists of what their groups hold, TRIMs have records, and a
//! mount continues with missing chips and with the rebuild.

use super::Raid;
use super::fail::Failures;
use super::lost::{degradation, end_with_loss, note_lost_pages};
use crate::config::Config;
use crate::ftl::Ftl;
use crate::ftl::map::Entry;
use crate::metrics::counters::Parts;
use crate::nand::nvram::Record;
use crate::sim::array::event::Timer;
use crate::sim::core::Core;
use crate::sim::front::Pages;
use crate::sim::ssd::Ssd;
use crate::units::{Lpn, Nanos, OpSlot, Ppn, RequestSlot, UpdateSlot};

impl Raid {
    /// As it is after a power cut of the device `ftl`. Updates are numbered on.
    pub(in crate::sim) fn after_cut(self: Box<Raid>, config: &Config, ftl: &Ftl) -> Box<Raid> {
        let mut new = Raid::new(config, ftl).expect("a device with parity");
        debug_assert!(new.lines.firsts().next().is_none(), "an update survives");
        new.count = self.count;
        new.failures = self.failures.map(|failures| Failures::after_cut(failures, config));
        new
    }
}

impl Ssd {
    /// Write into the out-of-band area of the page in `slot`, which `update` has programmed, what the group will hold
    /// when the update commits.
    #[inline(never)]
    pub(in crate::sim) fn write_list(&mut self, slot: OpSlot, update: UpdateSlot) {
        let (raid, core) = self.parity();
        let (entry, page) = (raid.at(update), core.array.ops[slot].ppn);
        let mut list = core.ftl.list_of(entry.group);
        let groups = core.ftl.parity_groups();
        debug_assert_ne!(page, Ppn::NONE, "{update:?} has programmed nothing");
        for changed in &entry.pages {
            let number =
                if changed.is_written() { core.array.ops[changed.slot].sequence } else { 0 };
            list[groups.position(changed.lpn) as usize] = number;
        }
        *list.last_mut().expect("a group has parity") = entry.age;
        core.ftl.flash.set_list(page, &list);
    }

    /// Admit the TRIM of `pages` in request slot `slot` where power may be cut: it completes when all of its groups
    /// have been updated and its records survive a cut. `repeated`: it has been submitted before.
    #[inline(never)]
    pub(in crate::sim) fn trim_groups_with_records(
        &mut self,
        slot: RequestSlot,
        pages: Pages,
        repeated: bool,
    ) {
        debug_assert!(!self.is_off(), "a TRIM arrives without power");
        let trimmed = self.trim_groups(slot, pages);
        if !repeated {
            self.core.ledger.measured.host.pages_trimmed += trimmed;
        }
        let (power, core) = self.power_cuts();
        power.end_when_recorded(core, slot, core.array.now);
    }

    /// Let the TRIM in request slot `slot` wait for the updates under way that trim some of its pages already: a cut
    /// could bring these pages back.
    pub(super) fn join_trims(&mut self, slot: RequestSlot, lpns: std::ops::Range<u32>) {
        let (raid, core) = self.parity();
        debug_assert!(lpns.end <= core.ftl.geo.user_pages, "pages {lpns:?}");
        for lpn in lpns.map(Lpn) {
            let Entry::Slot(newest) = core.ftl.owners.newest(lpn) else { continue };
            let update = core.array.ops[newest].update().filter(|_| core.is_trim(newest));
            let Some(update) = update else { continue };
            let joined = &mut raid.get(update).joined;
            if !joined.contains(&slot) {
                joined.push(slot);
                core.front.requests.get(slot).parts.add(1);
            }
        }
    }

    /// Record that `pages`, of one group and ascending, have been trimmed, and all that was admitted of them until
    /// `sequence`. A checkpoint that begins now includes it.
    pub(super) fn record_trim(&mut self, pages: &[Lpn], sequence: u64) {
        let (Some(&first), Some(last)) = (pages.iter().min(), pages.iter().max()) else { return };
        debug_assert!(last.0 < self.core.ftl.geo.user_pages, "{last:?} is not the host's");
        if self.power.is_none() {
            return;
        }
        let (power, core) = self.power_cuts();
        let record = Record::Trim { first, pages: last.0 - first.0 + 1, sequence };
        power.backlog.push_back(record);
        power.write_records(core);
        core.ledger.measured.power.trims_waited += u64::from(!power.backlog.is_empty());
    }

    /// End the part of `request` whose update has trimmed these `pages` and committed; its time went to `parts`. If
    /// power may be cut, it ends when their record, of what was admitted until `sequence`, survives a cut, as do the
    /// parts of those that have `joined`.
    #[inline(never)]
    pub(super) fn end_trim_of_group(
        &mut self,
        (request, joined): (RequestSlot, Vec<RequestSlot>),
        pages: &[Lpn],
        (sequence, parts): (u64, Parts),
    ) {
        debug_assert!(!pages.is_empty(), "nothing has been trimmed");
        if self.power.is_none() {
            return self.part_ends(request, &parts);
        }
        self.record_trim(pages, sequence);
        let (power, core) = self.power_cuts();
        power.end_part_when_recorded(core, request, (core.array.now, parts));
        for request in joined {
            power.end_when_recorded(core, request, core.array.now);
        }
    }

    /// The next chip failure.
    pub(in crate::sim) fn next_failure(&self) -> Option<Nanos> {
        let failures = self.raid.as_deref()?.failures.as_deref()?;
        failures.to_come().map(|(_, at)| at).min()
    }

    /// Fail the chips that fail until `at`, while a mount reads: it will begin again without them.
    pub(in crate::sim) fn chip_fails_during_mount(&mut self, at: Nanos) {
        debug_assert!(self.is_off(), "the device has power");
        let due = self.parity().0.failures().to_come().filter(|failure| failure.1 <= at);
        for (number, at) in due.collect::<Vec<_>>() {
            for plane in self.lose_chip(number, at).unwrap_or_default() {
                self.core.ftl.lose_plane(plane);
            }
        }
    }

    /// Continue after a mount: chips that fail later have timers, and the rebuild goes on.
    pub(in crate::sim) fn continue_groups(&mut self) {
        debug_assert!(!self.is_off(), "the device has not been mounted");
        let (power, core) = self.power_cuts();
        power.end_last_step(core);
        let (raid, core) = self.parity();
        let Some(failures) = raid.failures.as_deref_mut() else { return };
        for (number, at) in failures.to_come() {
            core.array.set_timer(at.max(core.array.now), Timer::ChipFails(number));
        }
        failures.rebuild.enlist(Lpn(0));
        let lost = core.ftl.lost.as_deref().map_or(0, |lost| lost.count());
        let before = core.ledger.measured.degraded.as_deref().map_or(0, |d| d.pages_left);
        if lost > before {
            degradation(core).pages_lost += lost - before;
        }
        note_lost_pages(core);
        if core.ftl.has_lost_two() {
            end_with_loss(core);
        }
        core.note_room();
        self.mid_instant = true;
    }
}

/// Write into the out-of-band area of `page`, rebuilt for `lpn`, what its group holds, if power may be cut.
pub(super) fn write_list_of_rebuilt(core: &mut Core, lpn: Lpn, page: Ppn) {
    debug_assert!(core.ftl.is_lost(lpn), "{lpn:?} is on flash already");
    if core.ftl.may_lose_power() {
        let list = core.ftl.list_of(core.ftl.parity_groups().group_of(lpn));
        core.ftl.flash.set_list(page, &list);
    }
}
