//! Operations start: only here are their addresses bound, and their unit takes them.

use super::array::op::{MovedPage, OpKind, Work};
use super::core::Core;
use super::ssd::Ssd;
use crate::ftl::blocks::BlockState;
use crate::metrics::counters::Cause;
use crate::sched::order::{R_HOST, W_GC, W_HOST};
use crate::units::{OpSlot, PlaneId, Ppn};

impl Core {
    /// The plane on which the copy in `slot` is bound, if its own plane has no page for it.
    #[inline(never)]
    pub(super) fn other_plane_for_copy(&self, slot: OpSlot, stream: u32) -> PlaneId {
        let op = &self.array.ops[slot];
        let plane = self.ftl.space.copy_plane(op.plane, stream, &self.ftl.blocks);
        let plane = plane.expect("the pool keeps room for its job");
        assert_eq!(self.ftl.geo.pool_of(plane), op.pool(), "a copy leaves its pool");
        plane
    }

    /// Start the operation of this slot and kind on the unit: array and bus time, and the first phase.
    #[inline(always)]
    pub(super) fn begin<const FULL: bool>(
        &mut self,
        unit: usize,
        op: (OpSlot, OpKind),
        (mut array_ns, bus_ns): (u64, u64),
    ) {
        debug_assert_eq!(self.array.ops[op.0].kind(), op.1, "another kind begins");
        if FULL && self.array.way.read_errors.is_some() && op.1.is_read() {
            array_ns += self.retries_ns(op.0);
        }
        if FULL && self.ledger.counts_work() {
            self.count_work(unit, op, array_ns);
        }
        self.array.begin::<FULL>(&self.ftl.geo, unit, op, (array_ns, bus_ns));
    }

    /// Remove an operation from its queue without running it.
    pub(super) fn leave_queue(&mut self, unit: usize, slot: OpSlot) {
        debug_assert_eq!(self.array.units[unit].running, OpSlot::NONE, "unit {unit} is busy");
        if self.array.leave_queue(unit, slot) {
            self.gc.note_idle(unit, &mut self.array);
        }
    }

    /// Move the operation to the unit of `plane`, keeping the time it has waited.
    pub(super) fn pass_on(&mut self, unit: usize, slot: OpSlot, plane: PlaneId, queue: usize) {
        debug_assert_ne!(self.ftl.geo.unit_of(plane).at(), unit);
        debug_assert!(
            queue == R_HOST
                || self.ftl.geo.pool_of(plane) == self.ftl.geo.pool_of(self.array.ops[slot].plane),
            "{slot:?} leaves its pool"
        );
        self.leave_queue(unit, slot);
        self.array.ops[slot].plane = plane;
        self.enqueue(slot, queue);
    }

    #[inline(always)]
    pub(super) fn start_gc_read<const FULL: bool>(
        &mut self,
        unit: usize,
        slot: OpSlot,
        moved: MovedPage,
    ) -> bool {
        debug_assert_eq!(self.array.ops[slot].kind(), OpKind::GcRead, "{slot:?} moves no page");
        if !self.source_is_read::<FULL>(unit, slot, moved) {
            return false;
        }
        if FULL && self.gc.watches_way {
            self.gc_read_starts(unit, slot);
        }
        let times = (self.read_ns::<FULL>(moved.source), self.array.times.gc_read_bus_ns);
        self.begin::<FULL>(unit, (slot, OpKind::GcRead), times);
        true
    }

    /// Start the read of the page that `slot` moves on `unit`, unless the page has been overwritten or trimmed while it
    /// waited: then its move ends.
    #[inline(always)]
    pub(super) fn source_is_read<const FULL: bool>(
        &mut self,
        unit: usize,
        slot: OpSlot,
        moved: MovedPage,
    ) -> bool {
        let MovedPage { pool, source, cause, .. } = moved;
        let plane = self.ftl.geo.plane_of(source);
        debug_assert_eq!(self.ftl.geo.unit_of(plane).at(), unit, "{source:?} is on another unit");
        debug_assert!(self.gc.collects(pool), "{pool:?} moves {source:?} without a job");
        if !self.ftl.owners.is_valid(source) {
            self.leave_queue(unit, slot);
            self.end_page::<FULL>(slot, pool);
            return false;
        }
        if FULL {
            self.gc.step_begins(pool, &self.ftl.geo, &mut self.array);
            if self.ftl.may_lose_power() {
                self.name_heir(slot, source);
            }
        }
        self.array.ops[slot].ppn = source;
        let cause = if FULL { cause } else { Cause::Gc };
        self.ledger.measured.flash.reads[cause.at()] += 1;
        self.gc.pages_read[cause.at()] += 1;
        true
    }

    /// Let the copy of `source` in `slot` carry a present owner of the page, with the number of its data.
    #[inline(never)]
    fn name_heir(&mut self, slot: OpSlot, source: Ppn) {
        debug_assert!(self.ftl.owners.is_valid(source), "{source:?} has no owner");
        debug_assert!(self.ftl.may_lose_power(), "no mount looks for the owner");
        let lpn = self.ftl.heir(source);
        let sequence = self.ftl.owner_sequence(lpn, source);
        let op = &mut self.array.ops[slot];
        (op.lpn, op.sequence) = (lpn, sequence);
    }

    #[inline(never)]
    pub(super) fn start_copyback(&mut self, unit: usize, slot: OpSlot, moved: MovedPage) -> bool {
        debug_assert_eq!(
            self.array.ops[slot].kind(),
            OpKind::GcCopyback,
            "{slot:?} is no copy-back"
        );
        if !self.source_is_read::<true>(unit, slot, moved) {
            return false;
        }
        let plane = self.array.ops[slot].plane;
        debug_assert_eq!(
            self.ftl.geo.plane_of(moved.source),
            plane,
            "a copy-back leaves its plane"
        );
        if self.ftl.space.has_page(plane, self.frontier_of_copy::<true>(plane, moved)) {
            self.bind_copy::<true>(slot, moved, plane);
            let program_ns = self.program_ns::<true>(slot);
            let array_ns = self.read_ns::<true>(moved.source) + program_ns;
            self.begin::<true>(unit, (slot, OpKind::GcCopyback), (array_ns, 0));
            return true;
        }
        // The plane has no page left for a copy-back: use the controller path.
        self.array.ops[slot].becomes_gc_read();
        if self.gc.watches_way {
            self.gc_read_starts(unit, slot);
        }
        let times = (self.read_ns::<true>(moved.source), self.array.times.gc_read_bus_ns);
        self.begin::<true>(unit, (slot, OpKind::GcRead), times);
        true
    }

    #[inline(always)]
    pub(crate) fn start_gc_write<const FULL: bool>(
        &mut self,
        unit: usize,
        slot: OpSlot,
        moved: MovedPage,
    ) -> bool {
        debug_assert!(self.gc.collects(moved.pool), "{moved:?} has no job");
        debug_assert_eq!(self.array.ops[slot].kind(), OpKind::GcWrite, "{slot:?} is no copy");
        if FULL && self.ftl.pool_is_dead(moved.pool) {
            self.leave_queue(unit, slot);
            self.drop_page(slot, moved);
            return false;
        }
        let own = if FULL { self.array.ops[slot].plane } else { PlaneId(unit as u32) };
        let stream = self.frontier_of_copy::<FULL>(own, moved);
        let plane = if self.copy_may_bind(own, stream) {
            own
        } else {
            let plane = self.other_plane_for_copy(slot, stream);
            if self.ftl.geo.unit_of(plane).at() != unit {
                self.pass_on(unit, slot, plane, W_GC);
                return false;
            }
            plane
        };
        self.bind_copy::<FULL>(slot, moved, plane);
        let mut array_ns = self.program_ns::<FULL>(slot);
        let mut bus_ns = self.array.times.gc_program_bus_ns;
        if FULL && self.gc.watches_way {
            bus_ns = self.copy_bus_ns(slot);
        }
        if FULL && self.array.multi_plane {
            let mut planes = self.bit_of(plane);
            while let Some((next_slot, plane)) = self.next_for_multi_plane(unit, W_GC, planes) {
                let moved = *self.array.ops[next_slot].moved();
                self.bind_copy::<FULL>(next_slot, moved, plane);
                planes |= self.bit_of(plane);
                array_ns = array_ns.max(self.program_ns::<FULL>(next_slot));
                bus_ns += self.array.times.gc_program_bus_ns;
                self.array.units[unit].also.push(&mut self.array.ops, next_slot);
            }
        }
        self.begin::<FULL>(unit, (slot, OpKind::GcWrite), (array_ns, bus_ns));
        true
    }

    #[inline(always)]
    pub(super) fn bind_copy<const FULL: bool>(
        &mut self,
        slot: OpSlot,
        moved: MovedPage,
        plane: PlaneId,
    ) {
        let pool = moved.pool;
        let (stream, cause) = if FULL {
            (self.frontier_of_copy::<true>(plane, moved), moved.cause)
        } else {
            (self.ftl.space.gc_stream(), Cause::Gc)
        };
        debug_assert!(
            self.gc.pages_read[cause.at()] > 0,
            "{pool:?} programs a page that it has not read"
        );
        debug_assert_eq!(self.ftl.geo.pool_of(plane), pool, "a copy leaves its pool");
        let ppn = self.ftl.bind_copy(plane, stream);
        let op = &mut self.array.ops[slot];
        (op.plane, op.ppn) = (plane, ppn);
        if FULL {
            // If all owners have left since it was read, the copy carries one that the page had then: the record of its
            // TRIM stays while the copy is under way.
            if !self.ftl.may_lose_power() {
                op.lpn = self.ftl.heir(moved.source);
            } else if self.ftl.owners.is_valid(moved.source) {
                self.name_heir(slot, moved.source);
            }
        }
        self.ftl.space.job_pages_done(pool, stream, 1);
        if FULL {
            if self.ftl.separates() {
                self.ftl.note_moved_page(moved.source);
                if !moved.levels() {
                    self.ftl.note_class(moved.class, stream);
                }
            }
            self.wake_movers(pool);
        }
        self.ledger.measured.flash.programs[cause.at()] += 1;
        self.gc.pages_read[cause.at()] -= 1;
    }

    /// Start a GC read: it takes a page buffer of its channel, and its page will cross.
    #[inline(never)]
    pub(crate) fn gc_read_starts(&mut self, unit: usize, slot: OpSlot) {
        debug_assert!(self.gc.watches_way, "a page on its way meets nothing");
        debug_assert!(matches!(self.array.ops[slot].work, Work::GcRead(_)), "another kind starts");
        self.array.take_buffer(unit);
        if self.array.times.gc_crosses {
            self.ledger.measured.controller.traversals[self.array.ops[slot].job_cause().at()] += 1;
        }
    }

    /// Bus time of the program of a copy that has been bound.
    #[inline(never)]
    pub(crate) fn copy_bus_ns(&mut self, slot: OpSlot) -> u64 {
        debug_assert!(self.gc.watches_way, "a page on its way meets nothing");
        debug_assert!(matches!(self.array.ops[slot].work, Work::GcWrite(_)), "it is no copy");
        if self.array.ops[slot].moved().in_buffer
            && self.array.stays_on_channel(&self.ftl.geo, slot)
        {
            self.ledger.measured.controller.from_buffer += 1;
            return self.array.times.gc_local_bus_ns;
        }
        if self.array.times.gc_crosses {
            self.ledger.measured.controller.traversals[self.array.ops[slot].job_cause().at()] += 1;
        }
        self.array.times.gc_program_bus_ns
    }
}

impl Ssd {
    /// Bind the operation in `slot`, taken from a queue of `unit`, and begin it. False if it has been passed on, or
    /// needs no flash. The functions for the other kinds below return the same.
    #[inline(always)]
    pub(super) fn start_for_job<const FULL: bool>(
        &mut self,
        unit: usize,
        slot: OpSlot,
        work: Work,
    ) -> bool {
        match work {
            Work::GcRead(moved) => self.core.start_gc_read::<FULL>(unit, slot, moved),
            Work::GcWrite(moved) => self.core.start_gc_write::<FULL>(unit, slot, moved),
            Work::Erase { .. } => self.start_erase(unit, slot),
            Work::GcCopyback(moved) => self.core.start_copyback(unit, slot, moved),
            Work::MetadataProgram { .. } => self.start_step_of_checkpoint(unit, slot, false),
            Work::MetadataErase { .. } => self.start_step_of_checkpoint(unit, slot, true),
            _ => unreachable!("{:?} is queued as if for a job", self.core.array.ops[slot].kind()),
        }
    }

    #[inline(never)]
    pub(super) fn start_erase(&mut self, unit: usize, slot: OpSlot) -> bool {
        let op = &self.core.array.ops[slot];
        let (pool, cause, plane) = (op.pool(), op.job_cause(), op.plane);
        let block = op.erased_block(&self.core.ftl.geo);
        assert_eq!(
            self.core.ftl.blocks.state[block.at()],
            BlockState::Erasing,
            "{block:?} is in use"
        );
        assert_eq!(
            self.core.ftl.geo.unit_of(plane).at(),
            unit,
            "{block:?} is erased on another unit"
        );
        if let Some(power) = &mut self.power
            && power.defer_erase(&mut self.core, unit, slot)
        {
            return false;
        }
        if self.core.ftl.pool_is_dead(pool) {
            self.core.leave_queue(unit, slot);
            self.core.array.ops.remove(slot);
            self.core.job_is_off(pool);
            return false;
        }
        self.core.ftl.flash.begin_erase(block, plane);
        self.core.gc.step_begins(pool, &self.core.ftl.geo, &mut self.core.array);
        self.core.ledger.measured.flash.erases[cause.at()] += 1;
        debug_assert_eq!(self.core.ftl.blocks.valid[block.at()], 0, "{block:?} holds live data");
        let erase_ns = self.core.array.times.erase_ns;
        self.core.begin::<true>(unit, (slot, OpKind::Erase), (erase_ns, 0));
        true
    }

    #[inline(never)]
    pub(super) fn start_host_read<const FULL: bool>(&mut self, unit: usize, slot: OpSlot) -> bool {
        debug_assert_eq!(self.core.array.ops[slot].ppn, Ppn::NONE, "{slot:?} has read its page");
        let target = match self.core.array.ops[slot].work {
            Work::GroupRead { .. } => self.core.ftl.owners.committed(self.core.array.ops[slot].lpn),
            _ => self.core.read_target(slot),
        };
        let Some(ppn) = target else {
            // Overwritten or trimmed while it waited: no flash operation.
            self.core.leave_queue(unit, slot);
            self.read_finds_nothing(slot);
            return false;
        };
        let plane = self.core.ftl.geo.plane_of(ppn);
        debug_assert!(self.core.ftl.owners.is_valid(ppn), "{ppn:?} is read and holds no live data");
        if self.core.ftl.geo.unit_of(plane).at() != unit {
            self.core.pass_on(unit, slot, plane, R_HOST);
            return false;
        }
        if FULL
            && let Some(contents) = &mut self.contents
            && self.core.array.ops[slot].kind() == OpKind::HostRead
        {
            contents.expect_newest(&self.core, slot);
        }
        let op = &mut self.core.array.ops[slot];
        (op.ppn, op.plane) = (ppn, plane);
        if FULL && self.core.front.buffer.is_some() && op.kind() == OpKind::HostRead {
            let is_rest = self.core.note_rest_read(slot);
            if is_rest && let Some(contents) = &mut self.contents {
                contents.check_served(&mut self.core, slot);
            }
        }
        let (kind, cause) = (self.core.array.ops[slot].kind(), self.core.array.ops[slot].cause());
        self.core.ledger.measured.flash.reads[cause.at()] += 1;
        let mut bus_ns = self.core.array.times.host_bus_ns;
        if FULL && self.core.array.times.partial && kind == OpKind::HostRead {
            bus_ns = self.core.array.times.part_bus_ns(self.core.sectors_asked(slot));
        }
        self.core.begin::<FULL>(unit, (slot, kind), (self.core.read_ns::<FULL>(ppn), bus_ns));
        true
    }

    #[inline(always)]
    pub(super) fn start_host_write<const FULL: bool, const GROUPS: bool>(
        &mut self,
        unit: usize,
        slot: OpSlot,
        target: PlaneId,
    ) -> bool {
        debug_assert_eq!(
            self.core.ftl.geo.pool_of(target),
            self.core.ftl.geo.pool_of(self.core.array.ops[slot].plane),
            "a write leaves its pool"
        );
        if FULL && self.core.ftl.geo.unit_of(target).at() != unit {
            self.core.pass_on(unit, slot, target, W_HOST);
            return false;
        }
        self.bind_host::<FULL, GROUPS>(slot, target);
        let mut array_ns = self.core.program_ns::<FULL>(slot);
        let mut bus_ns = self.core.array.times.host_bus_ns;
        if FULL && self.core.array.multi_plane {
            let mut planes = self.core.bit_of(target);
            while let Some((next_slot, plane)) =
                self.core.next_for_multi_plane(unit, W_HOST, planes)
            {
                self.bind_host::<FULL, GROUPS>(next_slot, plane);
                planes |= self.core.bit_of(plane);
                array_ns = array_ns.max(self.core.program_ns::<FULL>(next_slot));
                bus_ns += self.core.array.times.host_bus_ns;
                self.core.array.units[unit].also.push(&mut self.core.array.ops, next_slot);
            }
        }
        let kind = if GROUPS { self.core.array.ops[slot].kind() } else { OpKind::HostWrite };
        self.core.begin::<FULL>(unit, (slot, kind), (array_ns, bus_ns));
        true
    }

    #[inline(always)]
    pub(super) fn bind_host<const FULL: bool, const GROUPS: bool>(
        &mut self,
        slot: OpSlot,
        plane: PlaneId,
    ) {
        let op = &mut self.core.array.ops[slot];
        let (stream, lpn) = (self.core.ftl.space.host_stream(op.stream()), op.lpn);
        if GROUPS && matches!(op.kind(), OpKind::GroupWrite | OpKind::RebuildWrite) {
            let (raid, core) = self.parity();
            return raid.bind_page(core, slot, plane, stream);
        }
        debug_assert_eq!(op.kind(), OpKind::HostWrite, "{lpn:?} is bound and not written");
        debug_assert!(lpn.0 < self.core.ftl.geo.logical_pages, "{lpn:?} is beyond the device");
        op.plane = plane;
        op.ppn = self.core.ftl.bind_host(plane, stream);
        // The commit will need them.
        self.core.ftl.owners.prefetch(lpn);
        self.core.ftl.prefetch_claim(slot);
        if FULL {
            self.core.wake_movers(self.core.ftl.geo.pool_of(plane));
        }
        let cause = if FULL { self.core.array.ops[slot].cause() } else { Cause::Host };
        self.core.ledger.measured.flash.programs[cause.at()] += 1;
        if FULL && self.core.ftl.is_slc_page(self.core.array.ops[slot].ppn) {
            self.core.ledger.measured.slc.host_pages += 1;
        }
        self.core.ledger.measured.note_write();
    }
}
