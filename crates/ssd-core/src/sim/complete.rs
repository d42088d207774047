//! Completion: operations end, and their pages commit. Timers fire.

use super::array::EndedOp;
use super::array::event::Timer;
use super::array::op::{MovedPage, OpKind, Work};
use super::core::Core;
use super::ssd::Ssd;
use crate::ftl::owners::Claim;
use crate::metrics::counters::{Cause, Parts};
use crate::units::{Lpn, Nanos, OpSlot, PlaneId, PoolId, Ppn};

impl Core {
    /// Where the time of the host operation in `slot`, which has ended, has gone so far. If it held its unit for longer
    /// than array and bus took, it waited for bus or interconnect.
    #[inline(always)]
    fn parts_of(&self, slot: OpSlot, [held_ns, array_ns, bus_ns]: [u64; 3]) -> Parts {
        debug_assert!(self.array.ops[slot].kind().is_host(), "nobody waits for {slot:?}");
        let before = &self.array.ops[slot].parts;
        assert!(held_ns >= array_ns + bus_ns, "an operation was shorter than its phases");
        Parts {
            queue_ns: before.queue_ns + (held_ns - array_ns - bus_ns),
            chip_ns: before.chip_ns + array_ns,
            transfer_ns: before.transfer_ns + bus_ns,
            gc_wait_ns: before.gc_wait_ns,
            metadata_ns: before.metadata_ns,
        }
    }

    /// Note that a page has become invalid; pools that found nothing to collect are considered again.
    #[inline(always)]
    pub(crate) fn page_disowned(&mut self, ppn: Ppn) {
        debug_assert!(!self.ftl.owners.is_valid(ppn), "{ppn:?} still has an owner");
        if self.gc.agenda.watches_releases() {
            self.gc.agenda.page_released(self.ftl.blocks.pool_of(self.ftl.geo.block_of(ppn)));
        }
    }

    /// Note that an owner has left `page`, which may have others.
    pub(crate) fn page_left(&mut self, page: Ppn) {
        debug_assert!(!self.ftl.flash.is_torn(page), "{page:?} had an owner and is torn");
        if !self.ftl.owners.is_valid(page) {
            self.page_disowned(page);
        }
        self.wake_readers(page);
    }

    /// Note that a program has ended, which may have sealed the block of `written`, and that `disowned` has lost an
    /// owner by it.
    #[inline(never)]
    pub(super) fn released(&mut self, disowned: Option<Ppn>, written: Ppn) {
        debug_assert!(self.gc.agenda.watches_releases(), "no pool waits for a page");
        let disowned = disowned.filter(|&page| !self.ftl.owners.is_valid(page));
        for ppn in disowned.into_iter().chain([written]) {
            self.gc.agenda.page_released(self.ftl.blocks.pool_of(self.ftl.geo.block_of(ppn)));
        }
    }

    /// Decode a GC page that has been read, then program it.
    #[inline(always)]
    fn gc_read_ends<const FULL: bool>(&mut self, slot: OpSlot, moved: MovedPage) {
        debug_assert_eq!(self.array.ops[slot].ppn, moved.source, "another page was read");
        if FULL && self.gc.watches_way && self.gc_read_is_judged(slot) {
            return;
        }
        let ecc = self.gc.ecc_ns;
        if !FULL || ecc == 0 {
            self.gc_decoded::<FULL>(slot, moved);
        } else {
            self.array.set_timer(Nanos(self.array.now.0 + ecc), Timer::Decoded(slot));
        }
    }
}

impl Ssd {
    /// End the operation on `unit`, and those that ran with it.
    #[inline(never)]
    pub(crate) fn operation_ends<const FULL: bool>(&mut self, unit: usize) {
        let mut ended = self.core.array.end::<FULL>(&self.core.ftl.geo, unit);
        if FULL && let Some(suspension) = &mut self.suspension {
            ended = suspension.end(&self.core, unit, ended);
        }
        debug_assert!(
            ended.also == OpSlot::NONE || self.core.array.multi_plane,
            "two operations ran"
        );
        debug_assert!(ended.since <= self.core.array.now, "an operation ends before it began");
        if FULL && self.logs.operations.is_some() {
            self.log_operations(ended, false);
        }
        self.ended::<FULL>(ended.slot, ended);
        if FULL && ended.also != OpSlot::NONE {
            self.end_others(unit, ended);
        }
        if ended.host {
            self.core.gc.note_idle(unit, &mut self.core.array);
        }
        self.note_end::<FULL>();
    }

    /// End the operations that ran together with the first one on `unit`.
    #[inline(never)]
    fn end_others(&mut self, unit: usize, ended: EndedOp) {
        let mut also = ended.also;
        while also != OpSlot::NONE {
            let next = self.core.array.ops[also].next;
            debug_assert_eq!(
                self.core.array.ops[also].kind().is_host(),
                ended.host,
                "kinds are mixed"
            );
            self.core.array.units[unit].leaves(ended.host);
            self.ended::<true>(also, ended);
            also = next;
        }
    }

    #[inline(always)]
    fn ended<const FULL: bool>(&mut self, slot: OpSlot, times: EndedOp) {
        // One by one: otherwise they would be written to memory for every operation, and few need them.
        let EndedOp { held_ns, array_ns, bus_ns, .. } = times;
        let op = &self.core.array.ops[slot];
        let (work, lpn, ppn, plane) = (op.work, op.lpn, op.ppn, op.plane);
        let page = u64::from(lpn.0) << 32 | u64::from(ppn.0);
        self.core.ledger.note(self.core.array.now, page, op.kind() as u64);
        match work {
            Work::GcRead(moved) => self.core.gc_read_ends::<FULL>(slot, moved),
            Work::GcWrite(moved) | Work::GcCopyback(moved) => {
                self.program_ends::<FULL>(slot, lpn, ppn);
                self.commit_copy::<FULL>(slot, (lpn, ppn), moved);
            }
            Work::Erase { pool, .. } => self.erase_ends(slot, pool),
            Work::HostWrite { part, .. } => {
                let parts = self.core.parts_of(slot, [held_ns, array_ns, bus_ns]);
                self.program_ends::<FULL>(slot, lpn, ppn);
                self.commit_host::<FULL>(slot, (lpn, ppn, plane));
                if FULL && self.core.front.buffer.is_some() && !self.core.array.ops[slot].copies() {
                    self.release_held(slot, &parts);
                } else {
                    self.finish_part_of(part.request, slot, &parts);
                }
            }
            Work::HostRead { .. } => self.host_read_ends(slot, held_ns, array_ns, bus_ns),
            Work::RmwRead { .. } => self.rmw_read_ends(slot, held_ns, array_ns, bus_ns),
            Work::GroupRead { update } => {
                let parts = self.core.parts_of(slot, [held_ns, array_ns, bus_ns]);
                self.group_read_ends(slot, update, &parts);
            }
            Work::GroupWrite { update, .. } => {
                let parts = self.core.parts_of(slot, [held_ns, array_ns, bus_ns]);
                self.program_ends::<true>(slot, lpn, ppn);
                if FULL && self.power.is_some() {
                    self.write_list(slot, update);
                }
                self.group_write_ends(slot, update, &parts);
            }
            Work::RebuildWrite { recovery, .. } => self.rebuild_write_ends(slot, recovery),
            Work::RecoveryRead { .. }
            | Work::SourceRead { .. }
            | Work::GroupTrim { .. }
            | Work::HostCopy { .. }
            | Work::MetadataProgram { .. }
            | Work::MetadataErase { .. } => {
                self.rare_operation_ends(slot, [held_ns, array_ns, bus_ns])
            }
        }
    }

    /// End an operation of a kind that few devices have. Kept out of line so that the common path keeps its registers.
    #[inline(never)]
    fn rare_operation_ends(&mut self, slot: OpSlot, times: [u64; 3]) {
        let op = &self.core.array.ops[slot];
        match op.work {
            Work::RecoveryRead { recovery, .. } => {
                let parts = self.core.parts_of(slot, times);
                self.recovery_read_ends(slot, recovery, &parts);
            }
            Work::RebuildWrite { recovery, .. } => self.rebuild_write_ends(slot, recovery),
            Work::SourceRead { .. } => {
                let parts = self.core.parts_of(slot, times);
                self.source_read_ends(slot, &parts);
            }
            Work::MetadataProgram { .. } | Work::MetadataErase { .. } => {
                if let Some(power) = &mut self.power {
                    power.end_metadata(&mut self.core, slot);
                }
            }
            _ => unreachable!("{:?} is on no unit", op.lpn),
        }
    }

    #[inline(never)]
    fn host_read_ends(&mut self, slot: OpSlot, held_ns: u64, array_ns: u64, bus_ns: u64) {
        debug_assert!(self.core.array.ops[slot].ppn != Ppn::NONE, "{slot:?} has read no page");
        let parts = self.core.parts_of(slot, [held_ns, array_ns, bus_ns]);
        if let Some(contents) = &mut self.contents {
            contents.check_read(&mut self.core, slot);
        }
        self.page_is_read(slot, &parts);
    }

    #[inline(never)]
    fn rmw_read_ends(&mut self, slot: OpSlot, held_ns: u64, array_ns: u64, bus_ns: u64) {
        debug_assert!(self.core.array.ops[slot].ppn != Ppn::NONE, "{slot:?} has read no page");
        let parts = self.core.parts_of(slot, [held_ns, array_ns, bus_ns]);
        if let Some(contents) = &mut self.contents {
            contents.check_read(&mut self.core, slot);
        }
        self.core.array.ops[slot].parts = parts;
        if self.core.array.times.host_ecc_ns > 0 {
            self.core.decode(slot, &parts);
        } else {
            self.rmw_becomes_write(slot);
        }
    }

    /// Commit the host's page, which has been programmed: the map switches if it is still the newest admitted write.
    #[inline(always)]
    fn commit_host<const FULL: bool>(
        &mut self,
        slot: OpSlot,
        (lpn, ppn, plane): (Lpn, Ppn, PlaneId),
    ) {
        debug_assert_eq!(
            self.core.array.ops[slot].kind(),
            OpKind::HostWrite,
            "{lpn:?} was not written"
        );
        if FULL && self.copies.as_ref().is_some_and(|copies| copies.has_heirs(slot)) {
            return self.commit_with_heirs(slot, ppn, plane);
        }
        let claim = if FULL && self.core.ftl.may_lose_power() {
            let claim = self.core.claim_under_cuts(slot, lpn, ppn);
            if matches!(claim, Claim::Committed(_))
                && let Some(contents) = &mut self.contents
            {
                contents.expect_page_below(&self.core, lpn, ppn);
            }
            claim
        } else {
            self.core.ftl.claim(lpn, slot, ppn)
        };
        self.core.ftl.settle(ppn);
        if self.core.gc.agenda.watches_releases() {
            let before = if let Claim::Committed(before) = claim { before } else { None };
            self.core.released(before, ppn);
        }
        let pool = if FULL { self.core.ftl.geo.pool_of(plane) } else { PoolId(plane.0) };
        debug_assert_eq!(self.core.ftl.geo.pool_of(plane), pool, "a pool of several planes");
        debug_assert_eq!(self.core.ftl.geo.plane_of(ppn), plane, "{ppn:?} was bound elsewhere");
        let opened = self.core.ftl.space.take_opened(pool);
        self.core.gc.agenda.page_written(pool, opened);
    }

    /// Commit a copy that has been programmed: the map switches to it if the page still has its owner.
    #[inline(always)]
    fn commit_copy<const FULL: bool>(
        &mut self,
        slot: OpSlot,
        (lpn, target): (Lpn, Ppn),
        MovedPage { source, pool, cause, .. }: MovedPage,
    ) {
        debug_assert!(self.core.gc.collects(pool), "{source:?} has moved without a job");
        debug_assert_eq!(
            self.core.ftl.geo.pool_of(self.core.ftl.geo.plane_of(target)),
            pool,
            "it left its pool"
        );
        let cause = if FULL { cause } else { Cause::Gc };
        let relocated = self.core.ftl.relocate(source, target, lpn);
        if relocated {
            if FULL {
                if let Some(power) = &mut self.power {
                    power.note_moved(&mut self.core, pool, source, target);
                }
                self.core.wake_readers(source);
                self.core.gc.relocated.hold(pool, target);
            }
            self.core.ledger.measured.moves(cause).moved += 1;
        } else {
            self.core.ledger.measured.moves(cause).stale += 1;
        }
        self.core.ftl.settle(target);
        if self.core.gc.agenda.watches_releases() {
            self.core.released(relocated.then_some(source), target);
        }
        if FULL {
            if self.core.gc.watches_way && self.core.array.ops[slot].kind() == OpKind::GcWrite {
                self.core.array.give_buffer(&self.core.ftl.geo, slot);
            }
            self.core.gc.step_ends(pool, &self.core.ftl.geo, &mut self.core.array);
        }
        self.core.end_page::<FULL>(slot, pool);
    }

    pub(crate) fn timer_events(&mut self) {
        while let Some(timer) = self.core.array.timers.take_at(self.core.array.now) {
            match timer {
                Timer::Served(slot) => {
                    let parts = self.core.array.ops[slot].parts;
                    if self.core.array.ops[slot].kind() == OpKind::SourceRead {
                        self.receive_copied(slot, &parts);
                    } else {
                        self.page_goes_out(slot, &parts);
                    }
                }
                Timer::TransferredOut(slot) => {
                    let parts = self.core.array.ops[slot].parts;
                    self.finish_part(slot, &parts);
                    self.admit_after_flush();
                }
                Timer::Answered(slot) => {
                    let parts = self.core.array.ops[slot].parts;
                    self.finish_part(slot, &parts);
                }
                Timer::TransferredIn(slot) => self.page_is_in(slot),
                Timer::Decoded(slot) => self.page_is_decoded(slot),
                Timer::Idle(unit) => self.core.gc.idle_units.push(unit),
                Timer::ChipFails(number) => self.chip_fails(number),
                Timer::Rebuild => {
                    let (raid, core) = self.parity();
                    raid.rebuild_timer_fires(core);
                }
                Timer::Recorded(slot) => self.core.erase_may_start(slot),
            }
        }
        self.core.array.arm_timers();
    }

    #[inline(never)]
    fn erase_ends(&mut self, slot: OpSlot, pool: PoolId) {
        debug_assert!(self.core.gc.collects(pool), "{pool:?} has erased a block without a job");
        let op = &self.core.array.ops[slot];
        let (block, plane) = (op.erased_block(&self.core.ftl.geo), op.plane);
        assert_eq!(self.core.ftl.geo.pool_of(plane), pool, "{block:?} was erased for another pool");
        self.core.ftl.flash.end_erase(&self.core.ftl.geo, block, plane);
        self.core.array.ops.remove(slot);
        self.member_erased(pool);
    }
}
