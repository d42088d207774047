//! The steps of an update: it locks its group, reads what the new parity is computed from, waits until all of its pools
//! have room, programs, and commits all its pages at once.
//!
//! Paper: Liang et al., IEICE Electronics Express 2018, section 3.1 and 4.2. Where it is silent, decided:
//! - an update begins when the one before it in the same group has ended, in order of arrival;
//! - its programs wait for all of its reads;
//! - it holds a page in each of its pools before its first program, or in none, so that updates cannot wait for each
//!   other; a later update takes nothing from a pool that an earlier one waits for;
//! - the pages that it replaces, including the old parity, stay valid until all new ones are programmed.

use super::copies::AfterCommit;
use super::lost::{has_lost_data, restore_page};
use super::{ChangedPage, Raid, Stage};
use crate::ftl::raid::lost::LostPages;
use crate::ftl::raid::verify::mix;
use crate::ftl::raid::{Change, GroupId, Method};
use crate::metrics::counters::{Cause, Parts};
use crate::nand::flash::Payload;
use crate::sched::order::R_HOST;
use crate::sim::array::op::{Op, Work};
use crate::sim::core::Core;
use crate::sim::join::Join;
use crate::sim::ssd::Ssd;
use crate::units::{Lpn, Nanos, OpSlot, PlaneId, Ppn, UpdateSlot};

impl Ssd {
    /// Note that the page in `slot` of `update` has crossed the link.
    pub(in crate::sim) fn receive_page_of_group(&mut self, slot: OpSlot, update: UpdateSlot) {
        let (now, parts) = (self.core.array.now, self.core.array.ops[slot].parts);
        let entry = self.parity().0.get(update);
        assert_eq!(entry.stage, Stage::Queued, "{update:?} has begun without its data");
        (entry.parts, entry.since) = (parts, now);
        if entry.pages_in.part_ends() {
            self.begin_if_first(update);
        }
    }

    /// Begin `update` if it is first in line and its data are there.
    #[inline]
    pub(super) fn begin_if_first(&mut self, update: UpdateSlot) {
        let (raid, core) = self.parity();
        let entry = raid.at(update);
        debug_assert_eq!(entry.stage, Stage::Queued, "{update:?} has begun");
        let is_free = raid.lines.is_first(update) && raid.recoveries.active(entry.group).is_none();
        if entry.pages_in.is_done() && is_free && !raid.is_pinned(update) {
            raid.merge_waiting(core, update);
            self.begin_update(update);
        }
    }

    /// Begin the reads of `update`, which has locked its group.
    pub(super) fn begin_update(&mut self, update: UpdateSlot) {
        let (raid, core, contents) = self.parity_and_contents();
        if core.ftl.lost.is_some() && has_lost_data(core) {
            return;
        }
        raid.choose_shared(&core.ftl, update);
        let now = core.array.now;
        let groups = core.ftl.parity_groups();
        let entry = &raid.updates[update.at()];
        assert_eq!(entry.stage, Stage::Queued, "{update:?} begins twice");
        let group = entry.group;
        let has = |lpn| raid.read_buffer.contains(lpn) || raid.copy_of(update, lpn).is_some();
        let keeps = raid.read_buffer.is_enabled() || raid.copies.is_some();
        let kept = keeps.then_some(&has as &dyn Fn(Lpn) -> bool);
        let plan = core.ftl.plan_group(group, entry.changes, kept);
        let mut sum = Payload::default();
        for position in positions(plan.sources & !plan.reads) {
            let page = raid.kept_page(contents.as_deref(), update, groups.page(group, position));
            mix(&mut sum, page);
        }
        let entry = &mut raid.updates[update.at()];
        entry.parts.queue_ns += (now - entry.since).0;
        (entry.plan, entry.sum, entry.stage) = (plan, sum, Stage::Reading);
        entry.steps = Join::of(plan.reads.count_ones());
        let parts = entry.parts;
        raid.plans(update);
        for position in positions(plan.reads) {
            let lpn = core.ftl.parity_groups().page(group, position);
            let page = core.ftl.owners.committed(lpn).expect("a page that is read holds data");
            let plane = core.ftl.geo.plane_of(page);
            let op = Op { parts, ..Op::new(Work::GroupRead { update }, lpn, plane, now) };
            core.insert_and_enqueue(op, R_HOST);
        }
        if plan.reads == 0 {
            self.finish_reads(update);
        }
    }

    /// Note that a page has been read for `update`; its time went to `parts` so far.
    #[inline(never)]
    pub(in crate::sim) fn group_read_ends(
        &mut self,
        slot: OpSlot,
        update: UpdateSlot,
        parts: &Parts,
    ) {
        let (raid, core) = self.parity();
        let (lpn, ppn) = (core.array.ops[slot].lpn, core.array.ops[slot].ppn);
        let entry = &mut raid.updates[update.at()];
        assert_eq!(
            entry.stage,
            Stage::Reading,
            "{lpn:?} is read for {update:?}, which does not read"
        );
        assert_ne!(ppn, Ppn::NONE, "{lpn:?} was read nowhere");
        if core.ftl.flash.keeps_contents() {
            let page = core.ftl.flash.payload(ppn);
            if entry.plan.has_source(core.ftl.parity_groups().position(lpn)) {
                mix(&mut entry.sum, &page);
            }
            raid.read_buffer.insert(lpn, &page);
        } else {
            raid.read_buffer.insert(lpn, &Payload::default());
        }
        if core.array.times.host_ecc_ns > 0 {
            core.decode(slot, parts);
        } else {
            self.receive_source(slot, update, parts);
        }
    }

    /// Take in the page that `slot` has read.
    #[inline]
    pub(in crate::sim) fn receive_source(
        &mut self,
        slot: OpSlot,
        update: UpdateSlot,
        parts: &Parts,
    ) {
        let (raid, core) = self.parity();
        core.array.ops.remove(slot);
        let entry = raid.get(update);
        assert_eq!(entry.stage, Stage::Reading, "{update:?} does not read");
        entry.parts = *parts;
        if entry.steps.part_ends() {
            self.finish_reads(update);
        }
    }

    /// Handle a read in `slot` for `update` whose page is lost.
    #[inline(never)]
    pub(in crate::sim) fn group_read_fails(&mut self, slot: OpSlot, update: UpdateSlot) {
        let (raid, core) = self.parity();
        core.array.ops.remove(slot);
        let entry = raid.get(update);
        assert_eq!(entry.stage, Stage::Reading, "{update:?} does not read");
        entry.reads_again = true;
        if entry.steps.part_ends() {
            self.finish_reads(update);
        }
    }

    /// Restart `update`, which was to read a page that is lost; it keeps the lock of its group.
    pub(super) fn restart_update(&mut self, update: UpdateSlot) {
        let (raid, core) = self.parity();
        raid.plans_again(update);
        let entry = raid.get(update);
        (entry.reads_again, entry.stage, entry.sum) = (false, Stage::Queued, Default::default());
        // The last read that ended may have ended before the failure.
        entry.since = Nanos(entry.cause.from.0 + entry.parts.total());
        assert!(entry.since <= core.array.now, "{update:?} has read in the future");
        self.begin_update(update);
    }

    /// Finish the reads of `update`, whose parity is known: it programs as soon as there is room for all of its pages.
    pub(super) fn finish_reads(&mut self, update: UpdateSlot) {
        let (raid, core) = self.parity();
        let now = core.array.now;
        let entry = &mut raid.updates[update.at()];
        assert!(
            entry.stage == Stage::Reading && entry.steps.is_done(),
            "{update:?} has pages to read"
        );
        if entry.reads_again {
            return self.restart_update(update);
        }
        if entry.plan.method == Method::Drop {
            entry.stage = Stage::Programming;
            core.ledger.measured.raid.dropped += 1;
            raid.programs(update);
            return self.commit_update(update);
        }
        (entry.stage, entry.since) = (Stage::WaitsForRoom, now);
        if raid.waiting.is_empty() && raid.hold_room(core, update) {
            let (raid, core, contents) = self.parity_and_contents();
            if raid.program_update(core, contents, update) {
                self.commit_update(update);
            }
        } else {
            raid.wait_for_room(&core.ftl, update);
            core.note_room();
        }
    }

    /// Give room that may have become available to the updates that wait for it, first come first served in each pool.
    #[inline(never)]
    pub(in crate::sim) fn let_updates_in(&mut self) {
        let (raid, core, mut contents) = self.parity_and_contents();
        core.room_changed = false;
        debug_assert!(raid.waiting.iter().all(|&s| raid.at(s).stage == Stage::WaitsForRoom));
        raid.pool_waits.fill(false);
        // Once every pool is wanted, the others must wait, too: each of them wants one.
        let mut unwanted = raid.pool_waits.len();
        let mut still = Vec::new();
        // Those with nothing to program are over. The next ones of their groups begin after all of these have had their
        // turn.
        let mut over = Vec::new();
        while unwanted > 0
            && let Some(update) = raid.waiting.pop_front()
        {
            let is_wanted = |plane| raid.pool_waits[core.ftl.geo.pool_of(plane).at()];
            let lost = core.ftl.lost.as_deref();
            // Nobody waits for room on a missing chip.
            let must_wait =
                raid.at(update).homes().any(|p| !LostPages::misses(lost, p) && is_wanted(p));
            if !must_wait && raid.hold_room(core, update) {
                raid.got_room(&core.ftl, update);
                if raid.program_update(core, contents.as_deref_mut(), update) {
                    over.push(update);
                }
                continue;
            }
            let lost = core.ftl.lost.as_deref();
            let Raid { updates, pool_waits, .. } = raid;
            for plane in updates[update.at()].homes().filter(|&p| !LostPages::misses(lost, p)) {
                let waits = &mut pool_waits[core.ftl.geo.pool_of(plane).at()];
                unwanted -= usize::from(!std::mem::replace(waits, true));
            }
            still.push(update);
        }
        still.into_iter().rev().for_each(|update| raid.waiting.push_front(update));
        over.into_iter().for_each(|update| self.commit_update(update));
    }

    /// Note that a page of `update` has been programmed; its time went to `parts` so far.
    #[inline(never)]
    pub(in crate::sim) fn group_write_ends(
        &mut self,
        slot: OpSlot,
        update: UpdateSlot,
        parts: &Parts,
    ) {
        let (raid, core) = self.parity();
        let ppn = core.array.ops[slot].ppn;
        assert_ne!(ppn, Ppn::NONE, "{update:?} has programmed nothing");
        if core.ftl.is_dead(core.array.ops[slot].plane) {
            core.ftl.abandon(ppn, false);
            raid.give_up_page(core, slot);
        } else {
            core.ftl.land(ppn);
        }
        let entry = raid.get(update);
        assert_eq!(entry.stage, Stage::Programming, "{ppn:?} is programmed for {update:?}");
        entry.parts = *parts;
        if entry.steps.part_ends() {
            self.commit_or_wait(update);
        }
    }

    /// Commit `update`, whose pages are all on flash, unless a reconstruction reads the old pages of its group.
    #[inline]
    fn commit_or_wait(&mut self, update: UpdateSlot) {
        let (raid, core) = self.parity();
        let entry = &mut raid.updates[update.at()];
        debug_assert!(entry.steps.is_done(), "{update:?} has pages left");
        if raid.recoveries.active(entry.group).is_some() {
            (entry.stage, entry.since) = (Stage::WaitsForReads, core.array.now);
            return;
        }
        self.commit_update(update);
    }

    /// Commit `update`, because the reconstruction for which it has waited is over.
    pub(super) fn commit_after_reads(&mut self, update: UpdateSlot) {
        let (raid, core) = self.parity();
        let entry = raid.get(update);
        assert_eq!(entry.stage, Stage::WaitsForReads, "{update:?} has not waited");
        entry.parts.queue_ns += (core.array.now - entry.since).0;
        entry.stage = Stage::Programming;
        self.commit_update(update);
    }

    /// Replace the old pages of `update` by its new ones, which are all on flash; the next update of the group begins.
    pub(super) fn commit_update(&mut self, update: UpdateSlot) {
        let (raid, core) = self.parity();
        let entry = raid.get(update);
        assert!(
            entry.stage == Stage::Programming && entry.steps.is_done(),
            "{update:?} has pages left"
        );
        let (pages, parity, method) =
            (std::mem::take(&mut entry.pages), entry.parity.slot, entry.plan.method);
        let (group, request, parts) = (entry.group, entry.cause.request, entry.parts);
        let (sequence, waits) = (entry.sequence, std::mem::take(&mut entry.trim));
        assert!(!pages.is_empty(), "{update:?} changes nothing");
        let (mut trimmed, mut shared) = (Vec::new(), Vec::new());
        for page in &pages {
            match page.change {
                Change::Shared => shared.extend(raid.commit_shared(core, page.lpn, page.slot)),
                Change::Trim => {
                    trimmed.push(page.lpn);
                    raid.commit_trim(core, page.lpn, page.slot);
                }
                _ => raid.commit_page(core, page.lpn, page.slot),
            }
        }
        let lpn = core.ftl.parity_groups().parity(group);
        if method == Method::Drop {
            raid.drop_parity(core, lpn);
        } else {
            raid.commit_page(core, lpn, parity);
        }
        let merge = raid.end_merge(update);
        let own = merge.as_ref().map_or(pages.len(), |merge| merge.own);
        if self.core.front.buffer.is_some() {
            self.release_buffered(&pages[..own], &parts);
            for (member, parts) in merge.iter().flat_map(|merge| merge.shares(&parts)) {
                self.release_buffered(&pages[member.pages.clone()], &parts);
            }
        }
        self.record_shared(&shared);
        let (raid, core) = self.parity();
        let copies = raid.end_copies(core, &pages);
        raid.updates[update.at()].pages = pages;
        let next = raid.remove(update);
        if let Some(request) = request {
            if trimmed.is_empty() {
                self.end_part_of_update(request, &parts);
            } else {
                self.end_trim_of_group((request, waits), &trimmed, (sequence, parts));
            }
        }
        for (member, parts) in merge.iter().flat_map(|merge| merge.shares(&parts)) {
            if let Some(request) = member.cause.request {
                self.end_part_of_update(request, &parts);
            }
        }
        self.release_group(group, next);
        if let Some(after) = copies {
            self.begin_after_copies(after);
        }
    }

    /// Read the sources that are on flash now, and begin the updates for which no page is pinned any more.
    fn begin_after_copies(&mut self, AfterCommit { sources, groups }: AfterCommit) {
        for page in sources {
            let (raid, core) = self.parity();
            let read = raid.new_source_read(core, page);
            self.read_again(read, self.core.array.now);
        }
        for group in groups {
            let (raid, _) = self.parity();
            if let Some(first) = raid.lines.first(group)
                && raid.at(first).stage == Stage::Queued
            {
                self.begin_if_first(first);
            }
        }
    }

    /// Let a waiting reconstruction or `next`, the next update, begin: the update that had locked `group` is over.
    #[inline]
    fn release_group(&mut self, group: GroupId, next: Option<UpdateSlot>) {
        let (raid, _) = self.parity();
        debug_assert!(!raid.has_begun(group), "{group:?} is locked");
        if raid.can_recover() {
            self.begin_recovery_of(group);
            if self.parity().0.has_begun(group) {
                return;
            }
        }
        if let Some(next) = next {
            self.begin_if_first(next);
        }
    }

    /// Note that the update of `pages`, whose time went to `parts`, has committed: they have left the buffer.
    #[inline(never)]
    fn release_buffered(&mut self, pages: &[ChangedPage], parts: &Parts) {
        for page in pages.iter().filter(|page| page.is_written()) {
            let (raid, core) = self.parity();
            let buffer = core.front.buffer.as_mut().expect("they were held");
            let buffered = *buffer.page(page.slot);
            buffer.leave();
            let before = raid.before_update.remove(&page.slot);
            assert_eq!(before.is_some(), buffered.fua, "{page:?} is waited for, or is not");
            if let Some(before) = before {
                self.part_ends(buffered.owner, &before.then(parts));
            }
            self.core.front.epochs.write_completes(buffered.epoch);
        }
        self.let_in(parts.gc_wait_ns);
    }
}

/// The positions in `set`, in ascending order.
fn positions(mut set: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let next = (set != 0).then(|| set.trailing_zeros());
        set &= set.wrapping_sub(1);
        next
    })
}

/// Note that `ppn` is committed: its block may be full now, and the demand of its pool may have changed.
#[inline]
pub(super) fn note_committed(core: &mut Core, ppn: Ppn) {
    assert!(core.ftl.owners.is_valid(ppn), "{ppn:?} has no owner");
    core.ftl.settle_landed(ppn);
    let pool = core.ftl.geo.pool_of(core.ftl.geo.plane_of(ppn));
    if core.gc.agenda.watches_releases() {
        core.gc.agenda.page_released(pool);
    }
    let opened = core.ftl.space.take_opened(pool);
    core.gc.agenda.page_written(pool, opened);
}

impl Raid {
    /// Bind the page of a group in `slot`, for which room is held, on `plane`; it is about to be programmed.
    #[inline(never)]
    pub(in crate::sim) fn bind_page(
        &mut self,
        core: &mut Core,
        slot: OpSlot,
        plane: PlaneId,
        stream: u32,
    ) {
        let op = &mut core.array.ops[slot];
        let (cause, lpn) = (op.cause(), op.lpn);
        assert!(lpn.0 < core.ftl.geo.logical_pages, "{lpn:?} is beyond the device");
        op.plane = plane;
        let is_of_host = matches!(cause, Cause::Host | Cause::Remap);
        op.ppn = core.ftl.bind_group(plane, stream, !is_of_host);
        let recovery = op.recovery();
        match recovery {
            Some(recovery) => self.recoveries.note_bound(recovery),
            None => core.program_leaves(plane),
        }
        core.ledger.measured.flash.programs[cause.at()] += 1;
        // The commit will need what is prefetched.
        if is_of_host {
            core.ftl.owners.prefetch(lpn);
            core.ftl.prefetch_claim(slot);
            core.ledger.measured.note_write();
        } else {
            core.ftl.prefetch_page(lpn);
        }
    }

    /// Commit the page of `lpn`, data or parity, in `slot` with its update. Not inlined: otherwise the caller's loop
    /// and the parity would each contain all of it, and the code of an update would not fit into the instruction cache.
    #[inline(never)]
    pub(super) fn commit_page(&mut self, core: &mut Core, lpn: Lpn, slot: OpSlot) {
        let ppn = core.array.ops[slot].ppn;
        debug_assert!(core.array.ops[slot].update().is_some(), "{lpn:?} is in no update");
        let before = if ppn == Ppn::NONE {
            self.commit_as_lost(core, lpn, slot)
        } else {
            restore_page(core, lpn);
            let before = core.ftl.claim_in_group(lpn, slot, ppn);
            note_committed(core, ppn);
            before
        };
        self.release_page(core, lpn, before);
        core.array.ops.remove(slot);
    }

    /// Commit the TRIM of `lpn` in `slot` with its update.
    #[inline(never)]
    fn commit_trim(&mut self, core: &mut Core, lpn: Lpn, slot: OpSlot) {
        debug_assert!(core.is_trim(slot), "{lpn:?} is written");
        restore_page(core, lpn);
        let before = core.ftl.trim_in_group(lpn, slot);
        self.release_page(core, lpn, before);
        core.array.ops.remove(slot);
    }

    /// Unmap the parity `lpn` of a group in which no data are left.
    #[inline(never)]
    fn drop_parity(&mut self, core: &mut Core, lpn: Lpn) {
        debug_assert!(core.ftl.parity_groups().is_parity(lpn), "{lpn:?} holds data");
        restore_page(core, lpn);
        let (_, before) = core.ftl.trim(lpn);
        self.release_page(core, lpn, before);
    }

    /// Note that `lpn` has been overwritten or trimmed; `before` was its page.
    #[inline]
    pub(super) fn release_page(&mut self, core: &mut Core, lpn: Lpn, before: Option<Ppn>) {
        if let Some(before) = before {
            debug_assert_ne!(core.ftl.owners.committed(lpn), Some(before), "{lpn:?} has not moved");
            core.page_left(before);
            self.note_replaced(&core.ftl, lpn, before);
        }
        self.read_buffer.remove(lpn);
    }
}
