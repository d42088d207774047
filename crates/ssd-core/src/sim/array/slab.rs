//! The memory of operations, and the queues that link them.

use super::op::{Op, Phases, Work};
use crate::metrics::counters::Cause;
use crate::units::{Lpn, Nanos, OpSlot, PlaneId, PoolId, Ppn};

/// Slab of operations with a free list.
pub(crate) struct Slab {
    ops: Vec<Op>,
    free: Vec<OpSlot>,
    /// Phases on unit and bus, which only the log and suspensions need; they are kept apart to keep [`Op`] small.
    phases: Vec<Phases>,
    keeps_phases: bool,
}

impl Slab {
    /// Without operations.
    pub(crate) fn new(keeps_phases: bool) -> Slab {
        Slab { ops: Vec::new(), free: Vec::new(), phases: Vec::new(), keeps_phases }
    }

    /// Whether the phases of operations are recorded.
    #[inline(always)]
    pub(crate) fn keeps_phases(&self) -> bool {
        self.keeps_phases
    }

    /// Insert an operation; returns its slot.
    #[inline(always)]
    pub(crate) fn insert(&mut self, op: Op) -> OpSlot {
        debug_assert_eq!(op.next, OpSlot::NONE, "a new operation is in a queue");
        let slot = self.free.pop().unwrap_or_else(|| self.grow());
        self.ops[slot.at()] = op;
        slot
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> OpSlot {
        assert!(self.ops.len() < u32::MAX as usize, "too many operations in flight");
        let work = Work::Erase { pool: PoolId(0), first: Ppn::NONE, cause: Cause::Gc };
        self.ops.push(Op::new(work, Lpn::NONE, PlaneId::NONE, Nanos::ZERO));
        OpSlot((self.ops.len() - 1) as u32)
    }

    /// Remove an operation.
    #[inline]
    pub(crate) fn remove(&mut self, slot: OpSlot) {
        debug_assert!(self.free.len() < self.ops.len(), "{slot:?} is removed twice");
        debug_assert!(slot.at() < self.ops.len(), "{slot:?} is no operation");
        debug_assert_ne!(self.free.last(), Some(&slot), "{slot:?} is removed twice");
        self.free.push(slot);
    }

    /// The phases of the operation in `slot`.
    pub(crate) fn phases(&mut self, slot: OpSlot) -> &mut Phases {
        debug_assert!(slot.at() < self.ops.len(), "{slot:?} is no operation");
        if self.phases.len() <= slot.at() {
            self.phases.resize(self.ops.len(), Phases::default());
        }
        &mut self.phases[slot.at()]
    }

    /// The end of the array phase of the operation in `slot`, whose phases are recorded.
    pub(super) fn array_end(&self, slot: OpSlot) -> Nanos {
        self.phases[slot.at()].array_end
    }

    /// The operations linked from `first` on, which may be `NONE`.
    pub(crate) fn linked(&self, first: OpSlot) -> impl Iterator<Item = OpSlot> {
        let to_option = |slot: OpSlot| (slot != OpSlot::NONE).then_some(slot);
        std::iter::successors(to_option(first), move |&slot| to_option(self[slot].next))
    }

    /// The slots that hold an operation, ascending.
    pub(crate) fn live_slots(&self) -> impl Iterator<Item = OpSlot> {
        debug_assert!(self.free.len() <= self.ops.len(), "a slot is free twice");
        let mut free = vec![false; self.ops.len()];
        self.free.iter().for_each(|slot| free[slot.at()] = true);
        (0..self.ops.len() as u32).map(OpSlot).filter(move |slot| !free[slot.at()])
    }

    /// Their operations.
    pub(crate) fn live(&self) -> impl Iterator<Item = &Op> {
        self.live_slots().map(|slot| &self[slot])
    }

    /// Number of operations.
    pub(crate) fn len(&self) -> usize {
        debug_assert!(self.free.len() <= self.ops.len(), "a slot is free twice");
        self.ops.len() - self.free.len()
    }
}

impl std::ops::Index<OpSlot> for Slab {
    type Output = Op;
    #[inline(always)]
    fn index(&self, slot: OpSlot) -> &Op {
        &self.ops[slot.at()]
    }
}
impl std::ops::IndexMut<OpSlot> for Slab {
    #[inline(always)]
    fn index_mut(&mut self, slot: OpSlot) -> &mut Op {
        &mut self.ops[slot.at()]
    }
}

/// A first-in-first-out queue through the slab.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    head: OpSlot,
    tail: OpSlot,
}

impl Queue {
    pub(crate) const EMPTY: Queue = Queue { head: OpSlot::NONE, tail: OpSlot::NONE };

    #[inline]
    pub(crate) fn push(&mut self, slab: &mut Slab, slot: OpSlot) {
        slab[slot].next = OpSlot::NONE;
        self.append(slab, slot);
    }

    /// As `push`, for a `slot` that is already the end of a list.
    #[inline(always)]
    pub(crate) fn append(&mut self, slab: &mut Slab, slot: OpSlot) {
        debug_assert_eq!(slab[slot].next, OpSlot::NONE);
        debug_assert_eq!(self.head == OpSlot::NONE, self.tail == OpSlot::NONE, "an end is lost");
        debug_assert_ne!(self.tail, slot, "{slot:?} would follow itself");
        if self.tail == OpSlot::NONE {
            self.head = slot;
        } else {
            slab[self.tail].next = slot;
        }
        self.tail = slot;
    }

    /// Remove the first operation, which is followed by `next`.
    #[inline(always)]
    pub(crate) fn pop(&mut self, next: OpSlot) {
        debug_assert_ne!(self.head, OpSlot::NONE, "nothing to take");
        debug_assert_eq!(next == OpSlot::NONE, self.head == self.tail, "an end is lost");
        self.head = next;
        if next == OpSlot::NONE {
            self.tail = OpSlot::NONE;
        }
    }

    /// Remove `slot`, whose predecessor is `before` (`NONE` for the head).
    #[inline]
    pub(crate) fn take(&mut self, slab: &mut Slab, before: OpSlot, slot: OpSlot) {
        debug_assert_ne!(self.head, OpSlot::NONE, "nothing to take");
        let next = slab[slot].next;
        if self.tail == slot {
            self.tail = before;
        }
        if before == OpSlot::NONE {
            debug_assert_eq!(self.head, slot);
            self.head = next;
        } else {
            debug_assert_eq!(slab[before].next, slot);
            slab[before].next = next;
        }
        debug_assert_eq!(self.head == OpSlot::NONE, self.tail == OpSlot::NONE, "an end is lost");
    }

    /// The first operation; `NONE` if the queue is empty.
    #[inline(always)]
    pub(crate) fn head(&self) -> OpSlot {
        self.head
    }
}
