//! Dispatch: an idle busy unit takes the next operation that may start.
//!
//! Addresses are bound only here: when the operation starts, reads are translated and writes get their page.

use super::array::op::{OpKind, Work};
use super::core::Core;
use super::ssd::Ssd;
use crate::ftl::blocks::BlockState;
use crate::ftl::map::Entry;
use crate::sched::order::{Heads, OrderPolicy, R_GC, R_HOST, W_GC, W_HOST};
use crate::units::{OpSlot, PlaneId, PoolId, Ppn};

/// An operation in a queue with its predecessor.
#[derive(Clone, Copy)]
pub(super) struct QueuedOp {
    pub(super) before: OpSlot,
    pub(super) slot: OpSlot,
    /// Where a host write would be bound; if that is on another unit, the write moves there.
    pub(super) plane: PlaneId,
}

impl Core {
    /// Whether the unit takes an operation of `queue`.
    #[inline(always)]
    fn has_turn<const FULL: bool>(&mut self, unit: usize, queue: usize) {
        debug_assert!(FULL || !self.array.pick.takes_turns, "the plain loops know no turns");
        if FULL && self.array.pick.takes_turns {
            self.array.units[unit].turn.starts(queue);
        }
    }

    #[inline(always)]
    pub(super) fn take(&mut self, unit: usize, queue: usize, entry: QueuedOp) {
        debug_assert_ne!(entry.slot, OpSlot::NONE, "queue {queue} of unit {unit} is empty");
        debug_assert_ne!(entry.before, entry.slot, "an operation follows itself");
        let u = &mut self.array.units[unit];
        if entry.before == OpSlot::NONE {
            u.pop(queue, self.array.ops[entry.slot].next);
        } else {
            u.take(queue, &mut self.array.ops, entry.before, entry.slot);
        }
    }

    /// The first operation of a queue that may start now, skipping those that may not.
    #[inline(always)]
    pub(super) fn first_startable<const FULL: bool>(
        &mut self,
        unit: usize,
        queue: usize,
    ) -> Option<QueuedOp> {
        let head = self.array.units[unit].head(queue);
        debug_assert_ne!(head, OpSlot::NONE, "queue {queue} of unit {unit} is empty");
        if !FULL && queue == R_HOST {
            return Some(QueuedOp { before: OpSlot::NONE, slot: head, plane: PlaneId::NONE });
        }
        let one_open_plane =
            !FULL || (self.ftl.geo.planes_per_unit() == 1 && self.array.units[unit].closed == 0);
        if queue == W_HOST && one_open_plane {
            // The common case: one plane, open to the host, and it has room.
            let op = &self.array.ops[head];
            if self.ftl.space.host_may_bind(op.plane, self.ftl.space.host_stream(op.stream())) {
                return Some(QueuedOp { before: OpSlot::NONE, slot: head, plane: op.plane });
            }
        }
        self.search(unit, queue)
    }

    /// The first operation of a queue of the host that may start now, found by a search.
    #[inline(never)]
    pub(super) fn search(&mut self, unit: usize, queue: usize) -> Option<QueuedOp> {
        debug_assert!(queue == R_HOST || queue == W_HOST, "queue {queue} is not the host's");
        let head = self.array.units[unit].head(queue);
        let mut entry = QueuedOp { before: OpSlot::NONE, slot: head, plane: PlaneId::NONE };
        // The place of the write before, which may not start: the same place has no room for the next one either.
        let mut refused = None;
        for _ in 0..self.array.pick.look_ahead {
            if entry.slot == OpSlot::NONE {
                return None;
            }
            if queue == R_HOST {
                if self.read_may_start(unit, entry.slot) {
                    return Some(entry);
                }
            } else {
                let op = &self.array.ops[entry.slot];
                let place = (op.plane, self.ftl.space.host_stream(op.stream()));
                if refused != Some(place) {
                    if let Some(plane) = self.write_may_start(unit, entry.slot) {
                        return Some(QueuedOp { plane, ..entry });
                    }
                    refused = Some(place);
                }
            }
            let next = self.array.ops[entry.slot].next;
            entry = QueuedOp { before: entry.slot, slot: next, ..entry };
        }
        None
    }

    /// Whether a host read may start: not while collection has closed the scope of its page. If the page is on another
    /// unit, the read moves there, closed or not, to wait where it will be woken.
    #[inline]
    pub(crate) fn read_may_start(&self, unit: usize, slot: OpSlot) -> bool {
        debug_assert!(self.array.ops[slot].kind().is_read(), "{slot:?} reads nothing");
        if self.array.units[unit].closed == 0 && self.gc.closed_blocks == 0 {
            return true;
        }
        let Some(ppn) = self.read_target(slot) else { return true };
        let is_elsewhere = self.ftl.geo.unit_of(self.ftl.geo.plane_of(ppn)).at() != unit;
        is_elsewhere || !self.is_page_closed(ppn)
    }

    /// Whether collection has closed the scope of `ppn` to reads.
    pub(super) fn is_page_closed(&self, ppn: Ppn) -> bool {
        debug_assert!(ppn.0 < self.ftl.geo.pages, "{ppn:?} is beyond the device");
        if self.gc.is_closed(self.ftl.geo.plane_of(ppn)) {
            return true;
        }
        let state = self.ftl.blocks.state[self.ftl.geo.block_of(ppn).at()];
        let collected = matches!(state, BlockState::Collecting | BlockState::Erasing);
        if self.gc.closed_blocks > 0 && collected && self.gc.closes_block(ppn, &self.ftl.geo) {
            return true;
        }
        self.gc.relocated.holds(ppn)
    }

    /// The page that a host read or the read of a read-modify-write would read now.
    pub(super) fn read_target(&self, slot: OpSlot) -> Option<Ppn> {
        let op = &self.array.ops[slot];
        if matches!(op.kind(), OpKind::GroupRead | OpKind::RecoveryRead | OpKind::SourceRead) {
            return self.ftl.owners.committed(op.lpn);
        }
        debug_assert!(matches!(op.kind(), OpKind::HostRead | OpKind::RmwRead), "it reads nothing");
        match self.ftl.owners.newest(op.lpn) {
            Entry::Page(ppn) if op.kind() == OpKind::HostRead => Some(ppn),
            Entry::Slot(s) if s == slot => self.ftl.owners.under(slot),
            Entry::Slot(s) if op.kind() == OpKind::HostRead => {
                self.rest_on_flash(s, op.part().request, op.lpn)
            }
            // Also when a newer write, by now on flash, has overtaken a partial one.
            Entry::Page(_) | Entry::Slot(_) | Entry::Unmapped => None,
        }
    }

    /// The plane where a host write may be bound: one of this unit that is open to it and has room or, if its pool has
    /// room only elsewhere, one of another unit.
    #[inline]
    pub(super) fn write_may_start(&mut self, unit: usize, slot: OpSlot) -> Option<PlaneId> {
        let target = self.write_target(unit, slot);
        if target.is_none() && self.array.units[unit].closed == 0 {
            self.gc.agenda.consider(self.ftl.geo.pool_of(self.array.ops[slot].plane));
        }
        target
    }

    /// The answer of [`Core::write_may_start`], without its side effects.
    #[inline]
    pub(crate) fn write_target(&self, unit: usize, slot: OpSlot) -> Option<PlaneId> {
        let op = &self.array.ops[slot];
        let writes =
            matches!(op.kind(), OpKind::HostWrite | OpKind::GroupWrite | OpKind::RebuildWrite);
        debug_assert!(writes, "a {:?} writes nothing", op.kind());
        debug_assert_eq!(self.ftl.geo.unit_of(op.plane).at(), unit, "{slot:?} is elsewhere");
        let stream = self.ftl.space.host_stream(op.stream());
        let target = self.ftl.host_plane(op.plane, stream, |p| !self.gc.is_closed(p));
        debug_assert!(
            target.is_none_or(|p| self.ftl.geo.pool_of(p) == self.ftl.geo.pool_of(op.plane)),
            "a write would leave its pool"
        );
        target
    }
}

impl Ssd {
    /// Start an operation on `unit` if it is idle and one may start. False: try again, because the one chosen needed no
    /// flash or went to another unit.
    #[inline(never)]
    pub(crate) fn dispatch<const FULL: bool, const GROUPS: bool>(&mut self, unit: usize) -> bool {
        if FULL
            && self.suspension.is_some()
            && let Some(over) = self.dispatch_suspended(unit)
        {
            return over;
        }
        let u = &self.core.array.units[unit];
        let mut waiting = u.waiting();
        if waiting == 0 || u.running != OpSlot::NONE {
            return true;
        }
        let (queue, entry) = loop {
            // A single bit: only one queue waits, and the order need not be asked.
            let queue = if waiting & (waiting - 1) == 0 {
                waiting.trailing_zeros() as usize
            } else if let Some(choices) = &self.core.array.pick.choices {
                let urgent = self.collection_is_urgent::<FULL>(unit, waiting);
                let queue = choices.pick(waiting, urgent);
                debug_assert!(waiting >> queue & 1 == 1, "queue {queue} is empty: {waiting:b}");
                queue
            } else {
                let Some(chosen) = self.choose_by_heads::<FULL>(unit, waiting) else { return true };
                chosen
            };
            if queue >= R_GC {
                self.core.has_turn::<FULL>(unit, queue);
                let (slot, work) = self.core.array.take_first(unit, queue);
                let started = self.start_for_job::<FULL>(unit, slot, work);
                if FULL && started {
                    self.log_start(unit);
                }
                return started;
            }
            if let Some(entry) = self.core.first_startable::<FULL>(unit, queue) {
                break (queue, entry);
            }
            waiting &= !(1 << queue);
            if waiting == 0 {
                return true;
            }
        };
        self.core.has_turn::<FULL>(unit, queue);
        self.core.take(unit, queue, entry);
        let started = if queue == R_HOST {
            self.start_host_read::<FULL>(unit, entry.slot)
        } else {
            self.start_host_write::<FULL, GROUPS>(unit, entry.slot, entry.plane)
        };
        debug_assert_eq!(
            started,
            self.core.array.units[unit].running != OpSlot::NONE,
            "unit {unit} is not in the stated condition"
        );
        if FULL && started {
            self.log_start(unit);
        }
        started
    }

    /// Choose again on `unit`, whose chosen operation has not started, until one starts or none may. This is rare; as
    /// an inner loop of [`Ssd::end_instant`] it would cost every dispatch an instruction.
    #[cold]
    #[inline(never)]
    pub(super) fn dispatch_again<const FULL: bool, const GROUPS: bool>(&mut self, unit: usize) {
        while !self.dispatch::<FULL, GROUPS>(unit) {}
    }

    /// Whether a collection operation at the head of a queue of `unit` belongs to foreground collection.
    #[inline(always)]
    pub(super) fn collection_is_urgent<const FULL: bool>(&self, unit: usize, waiting: u32) -> bool {
        if !FULL {
            debug_assert_eq!(self.core.ftl.geo.planes_per_unit(), 1, "a unit of several planes");
            return self.core.gc.is_foreground(PoolId(unit as u32));
        }
        let is_urgent = |queue: usize| {
            waiting >> queue & 1 == 1 && self.is_urgent(self.core.array.units[unit].head(queue))
        };
        is_urgent(R_GC) || is_urgent(W_GC)
    }

    /// Whether a collection operation belongs to the foreground, or a checkpoint operation cannot wait.
    #[inline]
    fn is_urgent(&self, slot: OpSlot) -> bool {
        let op = &self.core.array.ops[slot];
        match op.work {
            Work::MetadataProgram { .. } | Work::MetadataErase { .. } => {
                self.power.as_ref().is_some_and(|power| power.checkpoint_is_urgent(&self.core))
            }
            _ => self.core.gc.is_foreground(op.pool()),
        }
    }

    /// Ask an order that compares ages or takes turns which of several waiting queues goes first.
    #[inline(never)]
    pub(super) fn choose_by_heads<const FULL: bool>(
        &mut self,
        unit: usize,
        waiting: u32,
    ) -> Option<usize> {
        debug_assert!(waiting.count_ones() > 1, "there is no choice: {waiting:b}");
        debug_assert!(self.core.array.pick.choices.is_none(), "a table lists its picks");
        let mut heads = Heads::default();
        for queue in [R_HOST, W_HOST] {
            if waiting >> queue & 1 == 1
                && let Some(entry) = self.core.first_startable::<FULL>(unit, queue)
            {
                heads.set(queue, self.core.array.ops[entry.slot].age, false);
            }
        }
        for queue in [R_GC, W_GC] {
            if waiting >> queue & 1 == 1 {
                let head = self.core.array.units[unit].head(queue);
                heads.set(queue, self.core.array.ops[head].age, self.is_urgent(head));
            }
        }
        if heads.is_empty() {
            return None;
        }
        heads.set_turn(self.core.array.units[unit].turn);
        let queue = self.core.array.pick.order.pick(&heads);
        assert!(heads.has(queue), "the order picked queue {queue}, which has no head");
        Some(queue)
    }
}
