//! The rebuild: lost pages are computed from the others of their groups and programmed, in the order of their numbers,
//! while the host continues.
//!
//! A page is programmed at home, even if it had been redirected. Once it has locked its group, it takes room like a
//! page of the host, or lets the group go. So it neither holds room while it waits for a group, because the update that
//! has locked the group may wait for that room, nor holds a group while it waits for room. At most
//! `raid.rebuild_window` pages are under way, and they begin no faster than `raid.rebuild_rate` allows. Pages with
//! newer data in the controller are left to the update that writes them.

use super::Raid;
use super::lost::{degradation, has_lost_data, note_lost_pages};
use super::update::note_committed;
use crate::config::Config;
use crate::ftl::map::Entry;
use crate::sim::array::event::Timer;
use crate::sim::array::op::Op;
use crate::sim::core::Core;
use crate::sim::ssd::Ssd;
use crate::units::{Lpn, Nanos, OpSlot, PlaneId, PoolId, Ppn, RecoverySlot};

/// The rebuild of a device.
pub(super) struct Rebuild {
    /// There are spares.
    enabled: bool,
    /// Least time between the starts of two pages.
    interval: Nanos,
    window: u32,
    under_way: u32,
    /// When the next page may begin.
    next_at: Nanos,
    /// No page before this one has to be rebuilt.
    from: Lpn,
    timer: bool,
    /// The pool that has no room for the next page.
    pub(super) lacks: Option<PoolId>,
}

impl Rebuild {
    pub(super) fn new(config: &Config) -> Rebuild {
        let raid = &config.raid;
        assert!(raid.rebuild_window > 0, "no page could be rebuilt");
        let bytes = u64::from(config.device.page_bytes);
        let interval = raid.rebuild_rate.map_or(0, |rate| (bytes * 1_000_000_000).div_ceil(rate));
        Rebuild {
            enabled: raid.spares > 0,
            interval: Nanos(interval),
            window: raid.rebuild_window,
            under_way: 0,
            next_at: Nanos::ZERO,
            from: Lpn(0),
            timer: false,
            lacks: None,
        }
    }

    /// Note that `lpn` may have to be rebuilt.
    pub(super) fn enlist(&mut self, lpn: Lpn) {
        debug_assert_ne!(lpn, Lpn::NONE, "no page is lost");
        self.from = self.from.min(lpn);
    }
}

impl Ssd {
    /// Whether pages are being rebuilt, or will be: not if every page left waits for a chip that nothing replaces.
    #[must_use]
    pub fn rebuilds(&self) -> bool {
        let raid = self.raid.as_deref().filter(|_| !has_lost_data(&self.core));
        raid.is_some_and(|raid| raid.rebuilds(&self.core))
    }

    /// Rebuild pages as far as room, window and rate allow.
    pub(super) fn continue_rebuild(&mut self) {
        // The page that found no room may have been overwritten or trimmed meanwhile.
        self.parity().0.failures().rebuild.lacks = None;
        loop {
            let (raid, core) = self.parity();
            let Some((lpn, plane)) = raid.begin_rebuild(core) else { return };
            self.new_recovery(lpn, None, Some(plane));
        }
    }

    /// Note that the page in `op`, rebuilt by the reconstruction `slot`, is on flash.
    #[inline(never)]
    pub(in crate::sim) fn rebuild_write_ends(&mut self, op: OpSlot, slot: RecoverySlot) {
        let Op { lpn, ppn, plane, .. } = self.core.array.ops[op];
        assert_ne!(ppn, Ppn::NONE, "{lpn:?} was programmed nowhere");
        self.program_ends::<true>(op, lpn, ppn);
        let (raid, core) = self.parity();
        core.array.ops.remove(op);
        let group = core.ftl.parity_groups().group_of(lpn);
        if core.ftl.is_dead(plane) {
            core.ftl.abandon(ppn, false);
            raid.give_up_rebuild(core, slot);
        } else {
            debug_assert_eq!(core.ftl.parity_groups().home(lpn), plane, "{lpn:?} is not at home");
            core.ftl.write_list_of_rebuilt(lpn, ppn);
            core.ftl.land(ppn);
            core.ftl.restore_in_group(lpn, ppn);
            note_committed(core, ppn);
            raid.failures().rebuild.under_way -= 1;
            degradation(core).rebuilt += 1;
            note_lost_pages(core);
        }
        core.note_room();
        self.end_recovery(group);
    }
}

impl Raid {
    /// Whether a page is being rebuilt, or will be.
    fn rebuilds(&self, core: &Core) -> bool {
        let failures = self.failures.as_deref();
        let Some(rebuild) = failures.map(|failures| &failures.rebuild) else { return false };
        debug_assert!(core.ftl.lost.is_some(), "chips may fail");
        let is_under_way = rebuild.under_way > 0 || self.awaits_spare();
        rebuild.enabled && (is_under_way || self.next_to_rebuild(core, Lpn(0)).is_some())
    }

    /// Begin the next page to be rebuilt, if room, window and rate allow one. Returns it with its plane.
    fn begin_rebuild(&mut self, core: &mut Core) -> Option<(Lpn, PlaneId)> {
        let now = core.array.now;
        let rebuild = &self.failures().rebuild;
        debug_assert!(rebuild.under_way <= rebuild.window, "too many pages are rebuilt");
        if !rebuild.enabled || rebuild.under_way >= rebuild.window {
            return None;
        }
        let from = rebuild.from;
        let lpn = self.next_to_rebuild(core, from)?;
        let rebuild = &mut self.failures().rebuild;
        if now < rebuild.next_at {
            if !std::mem::replace(&mut rebuild.timer, true) {
                core.array.set_timer(rebuild.next_at, Timer::Rebuild);
            }
            return None;
        }
        let plane = core.ftl.parity_groups().home(lpn);
        let class = core.ftl.class_of_rebuilt(lpn);
        if !self.find_room_to_rebuild(core, plane, class) {
            return None;
        }
        let rebuild = &mut self.failures().rebuild;
        rebuild.under_way += 1;
        rebuild.next_at = Nanos(now.0 + rebuild.interval.0);
        rebuild.from = Lpn(lpn.0 + 1);
        Some((lpn, plane))
    }

    /// Handle the timer of the rebuild.
    pub(in crate::sim) fn rebuild_timer_fires(&mut self, core: &mut Core) {
        debug_assert!(self.failures().rebuild.timer, "a timer that was not set has fired");
        self.failures().rebuild.timer = false;
        core.note_room();
    }

    /// Look for room for a rebuilt page of this class on `plane`, and ask for the collection of a block of the pool if
    /// there is none. Returns whether there is room.
    fn find_room_to_rebuild(&mut self, core: &mut Core, plane: PlaneId, class: u8) -> bool {
        debug_assert!(!core.ftl.is_dead(plane), "{plane:?} is missing");
        let fits = core.ftl.space.can_hold(plane, core.ftl.space.host_stream(class));
        if !fits {
            let pool = core.ftl.geo.pool_of(plane);
            self.failures().rebuild.lacks = Some(pool);
            core.gc.agenda.consider(pool);
        }
        fits
    }

    /// Take room for the page of the reconstruction in `slot`, which has locked its group, if it is a rebuild. If there
    /// is none, or the chip is missing, it only answers its readers, and the page is tried again later.
    pub(super) fn hold_room_to_rebuild(&mut self, core: &mut Core, slot: RecoverySlot) {
        let recovery = self.recoveries.get(slot);
        assert!(!recovery.holds, "{slot:?} has taken room before it locked its group");
        let Some(plane) = recovery.target else { return };
        let class = core.ftl.class_of_rebuilt(recovery.lpn);
        if !core.ftl.is_dead(plane) && self.find_room_to_rebuild(core, plane, class) {
            core.ftl.space.hold(plane, core.ftl.space.host_stream(class));
            let recovery = self.recoveries.get(slot);
            (recovery.holds, recovery.class) = (true, class);
        } else {
            self.give_up_rebuild(core, slot);
            self.recoveries.get(slot).target = None;
        }
    }

    /// The first lost page from `from` on that can be programmed and is not being programmed.
    fn next_to_rebuild(&self, core: &Core, from: Lpn) -> Option<Lpn> {
        debug_assert!(from.0 <= core.ftl.geo.logical_pages, "{from:?} is beyond the device");
        let groups = core.ftl.parity_groups();
        let lost = core.ftl.lost.as_deref().expect("chips may fail");
        let mut pages = lost.pages(from);
        pages.find(|&lpn| {
            core.ftl.owners.newest(lpn) == Entry::Unmapped
                && !core.ftl.is_dead(groups.home(lpn))
                && !self.recoveries.rebuilds(groups.group_of(lpn), lpn)
        })
    }

    /// End the reconstruction in `slot` without its page: if it was a rebuild, its room is released, and the page is
    /// tried again if it is still lost.
    pub(super) fn give_up_rebuild(&mut self, core: &mut Core, slot: RecoverySlot) {
        let recovery = self.recoveries.get(slot);
        let (lpn, class) = (recovery.lpn, recovery.class);
        let holds = std::mem::take(&mut recovery.holds);
        let Some(plane) = recovery.target else { return };
        if holds {
            let stream = core.ftl.space.host_stream(class);
            core.ftl.space.let_go(plane, stream);
        }
        let rebuild = &mut self.failures().rebuild;
        assert!(rebuild.under_way > 0, "{lpn:?} is not being rebuilt");
        rebuild.under_way -= 1;
        rebuild.enlist(lpn);
        core.note_room();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ChipFailure;
    use crate::ftl::Ftl;

    #[test]
    fn nothing_waits_for_room_when_no_page_is_lost_any_more() {
        let mut c = Config::default();
        (c.device.channels, c.device.chips_per_channel, c.raid.group) = (4, 1, 4);
        (c.device.blocks_per_plane, c.device.pages_per_block) = (16, 8);
        c.device.user_pages = 3 * 64;
        c.raid.fail = vec![ChipFailure { chip: 1, at_ns: 1_000 }];
        c.raid.spares = 1;
        let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
        // The last lost page found no room, and was then trimmed.
        ssd.parity().0.failures().rebuild.lacks = Some(PoolId(1));
        let waits = |ssd: &Ssd| ssd.raid.as_ref().unwrap().waits_for(&ssd.core.ftl, PoolId(1));
        assert!(waits(&ssd) && ssd.audit().is_err());
        ssd.continue_rebuild();
        assert!(!waits(&ssd));
        ssd.audit().unwrap();
    }
}
