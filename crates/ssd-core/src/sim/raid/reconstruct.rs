//! A *reconstruction*: a page of a parity group is computed from all others of the group, because its chip is busy
//! (`raid.reads`), has failed, or to rebuild it.
//!
//! The others are read at the same time, each where its committed page is when its read starts; collection may move it
//! meanwhile, because the copy holds the same data. But no update of the group may commit between two of the reads,
//! because the sum of a new page and an old parity is neither. So a reconstruction holds the lock of its group: it
//! begins while no update has begun, and no update begins before it has ended. A waiting reconstruction goes after the
//! update that has the lock, and then the next update goes: they take turns, so none waits forever. Data newer than the
//! committed ones are in the controller, and reads of them come from there. Reads of a page that is being reconstructed
//! join the reconstruction.

use super::fail::remove_queued;
use super::lost::has_lost_data;
use super::recoveries::{Recovery, Step};
use super::shortest_queue::is_wait_avoided;
use super::{Raid, Stage};
use crate::config::GroupReads;
use crate::ftl::Ftl;
use crate::ftl::map::Entry;
use crate::ftl::raid::GroupId;
use crate::metrics::counters::Parts;
use crate::nand::flash::Payload;
use crate::sched::order::R_HOST;
use crate::sim::array::event::Timer;
use crate::sim::array::op::{Op, OpKind, Work};
use crate::sim::core::Core;
use crate::sim::dispatch::QueuedOp;
use crate::sim::join::Join;
use crate::sim::ssd::Ssd;
use crate::sim::waits::Waits;
use crate::units::{Lpn, Nanos, OpSlot, PlaneId, PoolId, Ppn, RecoverySlot};

impl Raid {
    /// Whether reads of the host may be answered by reconstructions.
    #[inline]
    pub(in crate::sim) fn can_recover(&self) -> bool {
        self.can_avoid_chips() || self.failures.is_some()
    }

    /// Whether reads may be answered by reconstructions because their chip is busy.
    pub(in crate::sim) fn can_avoid_chips(&self) -> bool {
        self.recoveries.reads != GroupReads::Home
    }

    /// Whether the read in `slot`, just admitted, of a page on flash page `on_flash` goes elsewhere.
    #[inline(never)]
    pub(in crate::sim) fn is_recovered_at_once(
        &self,
        waits: Waits<'_>,
        slot: OpSlot,
        on_flash: Option<Ppn>,
    ) -> bool {
        debug_assert!(self.can_recover(), "{slot:?} is read where it is");
        let core = waits.core;
        let lpn = core.array.ops[slot].lpn;
        match on_flash {
            None => core.ftl.owners.newest(lpn) == Entry::Unmapped && core.ftl.is_lost(lpn),
            // What the write buffer lacks of a page is read from where it is.
            Some(page) if self.can_avoid_chips() => {
                core.ftl.owners.newest(lpn) == Entry::Page(page)
                    && self.is_better_computed(waits, (lpn, page), OpSlot::NONE)
            }
            Some(_) => false,
        }
    }

    /// Whether an update of `group` has begun.
    pub(super) fn has_begun(&self, group: GroupId) -> bool {
        debug_assert!(
            self.lines.first(group).is_none_or(|u| self.at(u).group == group),
            "{group:?}"
        );
        let first = self.lines.first(group).map(|first| self.at(first));
        first.is_some_and(|update| update.stage != Stage::Queued)
    }

    /// Whether no reconstruction of `group` may begin: an update of it waits to commit or, where chips may fail, has
    /// begun, because it may change which pages are lost.
    pub(super) fn is_shut(&self, ftl: &Ftl, group: GroupId) -> bool {
        debug_assert!(ftl.groups.is_some(), "{group:?} of a device without parity");
        if ftl.lost.is_some() {
            return self.has_begun(group);
        }
        let first = self.lines.first(group).map(|first| self.at(first));
        first.is_some_and(|update| update.stage == Stage::WaitsForReads)
    }
}

impl Ssd {
    /// Reconstruct host reads that wait on the chip of `pool`, where collection has begun, if their groups allow it.
    #[inline(never)]
    pub(in crate::sim) fn reads_avoid_collection(&mut self, pool: PoolId) {
        debug_assert!(self.core.gc.collects(pool), "{pool:?} does not collect");
        debug_assert!(self.parity().0.can_avoid_chips(), "reads wait for collection");
        let plane = self.core.ftl.geo.planes_of_pool(pool).next().expect("a pool has planes");
        let unit = self.core.ftl.geo.unit_of(PlaneId(plane)).at();
        let (mut before, mut slot) = (OpSlot::NONE, self.core.array.units[unit].head(R_HOST));
        while slot != OpSlot::NONE {
            let Op { next, plane, .. } = self.core.array.ops[slot];
            let avoids = self
                .raid
                .as_ref()
                .is_some_and(|raid| raid.avoids_collection(self.waits(), unit, slot));
            if avoids {
                let (_, core) = self.parity();
                remove_queued(core, unit, R_HOST, QueuedOp { before, slot, plane });
                // The others of its group are on other chips: nothing joins this queue.
                self.recover(slot);
            } else {
                before = slot;
            }
            slot = next;
        }
    }

    /// Handle the read of the host in `slot`, which waits nowhere and finds no page on flash.
    pub(in crate::sim) fn serve_or_recover(&mut self, slot: OpSlot) {
        debug_assert_eq!(self.core.array.ops[slot].ppn, Ppn::NONE, "{slot:?} has read its page");
        let (lpn, now) = (self.core.array.ops[slot].lpn, self.core.array.now);
        match self.core.ftl.owners.newest(lpn) {
            Entry::Unmapped if self.core.ftl.is_lost(lpn) => self.recover(slot),
            Entry::Slot(newest)
                if self.raid.as_mut().is_some_and(|r| r.waits_for_copy(newest, slot, now)) => {}
            _ => self.serve(slot),
        }
    }

    /// Answer the read in `slot`, of the host or of the source of a copy, by a reconstruction: that of its page, if
    /// there is one.
    #[inline(never)]
    pub(in crate::sim) fn recover(&mut self, slot: OpSlot) {
        let (raid, core, contents) = self.parity_and_contents();
        let (lpn, now) = (core.array.ops[slot].lpn, core.array.now);
        let group = core.ftl.parity_groups().group_of(lpn);
        let is_source = core.array.ops[slot].kind() == OpKind::SourceRead;
        assert!(!is_source || core.ftl.is_lost(lpn), "{lpn:?} is copied and nowhere");
        debug_assert!(
            is_source || !matches!(core.ftl.owners.newest(lpn), Entry::Slot(_)),
            "newer data exist"
        );
        if let Some(recovery) = raid.recoveries.of_page(group, lpn) {
            let joined = raid.recoveries.get(recovery);
            if joined.step != Step::Programming {
                joined.readers.push((slot, now));
                return;
            }
            // The page is in the controller.
            let page = joined.sum.clone();
            if !is_source {
                core.ledger.measured.raid.reconstructed += 1;
                if let Some(contents) = contents {
                    contents.deliver(core, slot, &page);
                }
            }
            let delay = core.array.times.controller_ns;
            core.array.ops[slot].parts.transfer_ns += delay;
            return core.array.set_timer(Nanos(now.0 + delay), Timer::Served(slot));
        }
        self.new_recovery(lpn, Some(slot), None);
    }

    /// A new reconstruction of `lpn`, for the read in `reader` or to be programmed on `target`.
    pub(super) fn new_recovery(
        &mut self,
        lpn: Lpn,
        reader: Option<OpSlot>,
        target: Option<PlaneId>,
    ) {
        let (raid, core) = self.parity();
        let now = core.array.now;
        let group = core.ftl.parity_groups().group_of(lpn);
        assert_ne!(reader.is_some(), target.is_some(), "{lpn:?} is computed for nobody");
        let recovery = Recovery {
            lpn,
            target,
            holds: false,
            class: 0,
            readers: reader.map(|slot| (slot, now)).into_iter().collect(),
            step: Step::Queued,
            steps: Join::default(),
            began: now,
            parts: Parts::default(),
            sum: Payload::default(),
            expected: None,
            failed: false,
        };
        raid.recoveries.insert(group, recovery);
        self.begin_recovery_of(group);
    }

    /// Begin the first waiting reconstruction of `group`, if nothing has locked the group.
    pub(super) fn begin_recovery_of(&mut self, group: GroupId) {
        if has_lost_data(&self.core) {
            return;
        }
        loop {
            let (raid, core) = self.parity();
            if raid.is_shut(&core.ftl, group) {
                return;
            }
            let Some(state) = raid.recoveries.groups.get_mut(&group) else { return };
            if state.active.is_some() {
                return;
            }
            let Some(slot) = state.waiting.pop_front() else {
                raid.recoveries.groups.remove(&group);
                return;
            };
            state.active = Some(slot);
            if self.begin_recovery(slot, group) {
                return;
            }
            self.parity().0.recoveries.release(group);
        }
    }

    /// Begin the reads of the reconstruction in `slot`, which has locked `group`. False if nobody needs it any more.
    fn begin_recovery(&mut self, slot: RecoverySlot, group: GroupId) -> bool {
        let (raid, core) = self.parity();
        let now = core.array.now;
        let recovery = raid.recoveries.get(slot);
        let (lpn, target, failed) = (recovery.lpn, recovery.target, recovery.failed);
        let mut readers = std::mem::take(&mut recovery.readers);
        let waited = now > recovery.began;
        (recovery.step, recovery.began) = (Step::Reading, now);
        let newest = core.ftl.owners.newest(lpn);
        let is_source = |slot: OpSlot| core.array.ops[slot].kind() == OpKind::SourceRead;
        // While it waited, the page may have been overwritten, trimmed or rebuilt.
        let is_wanted = match newest {
            Entry::Unmapped => core.ftl.is_lost(lpn),
            Entry::Page(_) => !waited && target.is_none(),
            // A copy needs what is committed.
            Entry::Slot(_) => {
                core.ftl.is_lost(lpn) && readers.iter().any(|&(reader, _)| is_source(reader))
            }
        };
        let is_for_copies = is_wanted && !failed && matches!(newest, Entry::Slot(_));
        if is_for_copies {
            let others;
            (readers, others) = readers.into_iter().partition(|&(reader, _)| is_source(reader));
            others.into_iter().for_each(|(reader, since)| self.read_again(reader, since));
            let (raid, core) = self.parity();
            raid.give_up_rebuild(core, slot);
            raid.recoveries.get(slot).target = None;
        }
        if !is_wanted || failed {
            let (raid, _) = self.parity();
            let recovery = raid.recoveries.get(slot);
            recovery.failed = true;
            readers.into_iter().for_each(|(reader, since)| self.read_again(reader, since));
            let (raid, core) = self.parity();
            raid.give_up_rebuild(core, slot);
            return false;
        }
        let (raid, core, contents) = self.parity_and_contents();
        raid.hold_room_to_rebuild(core, slot);
        let target = raid.recoveries.get(slot).target;
        if target.is_none() && readers.is_empty() {
            return false;
        }
        let groups = core.ftl.parity_groups();
        let members = groups.pages(group).filter(|&member| member != lpn);
        let mut reads = Vec::new();
        for member in members {
            assert!(!core.ftl.is_lost(member), "{group:?} has lost two");
            if let Some(page) = core.ftl.owners.committed(member) {
                reads.push((member, core.ftl.geo.plane_of(page)));
            }
        }
        let contents = contents.filter(|_| !groups.is_parity(lpn) && !is_for_copies);
        let expected = contents.map(|contents| contents.newest(lpn));
        let recovery = raid.recoveries.get(slot);
        recovery.steps = Join::of(reads.len() as u32);
        (recovery.expected, recovery.readers) = (expected, readers);
        core.ledger.measured.raid.reconstructions += 1;
        let rebuilds = target.is_some();
        assert!(!reads.is_empty(), "{lpn:?} is computed from nothing");
        for (member, plane) in reads {
            let work = Work::RecoveryRead { recovery: slot, rebuilds };
            let read = core.array.ops.insert(Op::new(work, member, plane, now));
            core.enqueue(read, R_HOST);
        }
        true
    }

    /// Translate the read in `slot`, of the host or of the source of a copy, which has waited since `since`, again.
    pub(super) fn read_again(&mut self, slot: OpSlot, since: Nanos) {
        assert!(since <= self.core.array.now, "{slot:?} waits since later");
        let lpn = self.core.array.ops[slot].lpn;
        self.core.array.ops[slot].parts.queue_ns += (self.core.array.now - since).0;
        let is_source = self.core.array.ops[slot].kind() == OpKind::SourceRead;
        let page = match self.core.ftl.owners.newest(lpn) {
            _ if is_source => self.core.ftl.owners.committed(lpn),
            Entry::Page(page) => Some(page),
            _ => None,
        };
        match page {
            Some(page) => {
                self.core.array.ops[slot].plane = self.core.ftl.geo.plane_of(page);
                self.core.enqueue(slot, R_HOST);
            }
            None if is_source => self.recover(slot),
            None => self.serve_or_recover(slot),
        }
    }
}

impl Raid {
    /// Whether the operation in `slot`, which waits on `unit`, is a read of a page there that is better reconstructed.
    fn avoids_collection(&self, waits: Waits<'_>, unit: usize, slot: OpSlot) -> bool {
        let core = waits.core;
        let op = &core.array.ops[slot];
        let Work::HostRead { .. } = op.work else { return false };
        match core.ftl.owners.newest(op.lpn) {
            Entry::Page(page) => {
                core.ftl.geo.unit_of(core.ftl.geo.plane_of(page)).at() == unit
                    && self.is_better_computed(waits, (op.lpn, page), slot)
            }
            Entry::Slot(_) | Entry::Unmapped => false,
        }
    }

    /// Whether the read of `page`, which holds `lpn`, is better answered by a reconstruction that can begin now:
    /// nothing has locked the group, or it is being computed. The read waits in `slot`, or arrives now (`NONE`).
    fn is_better_computed(&self, waits: Waits<'_>, (lpn, page): (Lpn, Ppn), slot: OpSlot) -> bool {
        let core = waits.core;
        debug_assert!(!core.ftl.is_lost(lpn), "{lpn:?} is on flash and lost");
        let by_wait = self.recoveries.reads == GroupReads::ShortestQueue;
        if !by_wait && !collects(core, page) {
            return false;
        }
        let groups = core.ftl.parity_groups();
        let group = groups.group_of(lpn);
        let active = self.recoveries.active(group);
        let is_open = match active {
            Some(active) => self.recoveries.entries[active.at()].lpn == lpn,
            None => !self.is_shut(&core.ftl, group),
        };
        if by_wait {
            return is_open && is_wait_avoided(waits, (lpn, page), slot, active.is_some());
        }
        let can_be_read = |other| match core.ftl.owners.committed(other) {
            Some(page) => !collects(core, page),
            None => !core.ftl.is_lost(other),
        };
        let mut others = groups.pages(group).filter(|&other| other != lpn);
        is_open && (active.is_some() || others.all(can_be_read))
    }
}

/// Whether the unit of `page` collects.
fn collects(core: &Core, page: Ppn) -> bool {
    let unit = core.ftl.geo.unit_of(core.ftl.geo.plane_of(page));
    let mut pools = core.ftl.geo.pools_of_unit(unit);
    pools.any(|pool| core.gc.collects(PoolId(pool)))
}
