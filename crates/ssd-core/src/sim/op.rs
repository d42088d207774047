//! Operations and their queues.
//!
//! An operation lives in a slab; its slot is also the in-flight slot of the map. Queues are singly
//! linked through the slab: four for each busy unit.

use crate::metrics::counters::{Cause, Parts};
use crate::units::{Lpn, Nanos, PlaneId, Ppn};

/// No slot, no page.
pub(crate) const NONE: u32 = u32::MAX;

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OpKind {
    /// Read a page for the host.
    HostRead,
    /// Read the page of which the host writes a part; becomes a `HostWrite`.
    RmwRead,
    /// Program a page of the host.
    HostWrite,
    /// Read a valid page of a victim; becomes a `GcWrite`.
    GcRead,
    /// Program the copy of a page.
    GcWrite,
    /// Copy a page inside its plane.
    GcCopyback,
    /// Erase the flash block of a victim on one plane.
    Erase,
}

impl OpKind {
    /// Whether the host waits for it.
    #[inline(always)]
    pub(crate) fn is_host(self) -> bool {
        matches!(self, OpKind::HostRead | OpKind::RmwRead | OpKind::HostWrite)
    }
    /// Whether it reads one page and programs none.
    #[inline(always)]
    pub(crate) fn is_read(self) -> bool {
        matches!(self, OpKind::HostRead | OpKind::RmwRead | OpKind::GcRead)
    }
}

/// Times of the phases of an operation on its unit and channel (zero where it has none).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Phases {
    /// First nanosecond on the bus.
    pub(crate) bus_start: Nanos,
    /// End of the (last) bus phase.
    pub(crate) bus_end: Nanos,
    /// Start of the array phase.
    pub(crate) array_start: Nanos,
    /// End of the array phase.
    pub(crate) array_end: Nanos,
}

/// One operation.
#[derive(Clone, Debug)]
pub(crate) struct Op {
    pub(crate) next: u32,
    pub(crate) kind: OpKind,
    /// It belongs to a job of static wear levelling.
    pub(crate) levels: bool,
    /// GC program: the flash controller that read the page holds it (otherwise the host side does).
    pub(crate) in_buffer: bool,
    pub(crate) stream: u8,
    /// Page of the request it belongs to, counted from 0.
    pub(crate) part: u32,
    pub(crate) plane: PlaneId,
    pub(crate) lpn: Lpn,
    /// The page read or programmed, once started.
    pub(crate) ppn: Ppn,
    /// GC: the page copied. Host read: the page read, if the write buffer holds a part of its LPN. Else
    /// `NONE`.
    pub(crate) base: u32,
    /// Slot of its request (host) or its pool (GC).
    pub(crate) owner: u32,
    /// Order of queueing over the device.
    pub(crate) age: u64,
    /// Admission number of the data.
    pub(crate) sequence: u64,
    /// When it was queued, and how long its unit had worked for the host by then.
    pub(crate) queued: Nanos,
    pub(crate) host_busy_ns: u64,
    /// Where the time of a host operation went so far.
    pub(crate) parts: Parts,
}

impl Op {
    /// A host read that returns what the write buffer holds, and the rest from flash.
    pub(crate) fn reads_rest(&self) -> bool {
        self.kind == OpKind::HostRead && self.base != NONE
    }

    /// Its cause.
    #[inline(always)]
    pub(crate) fn cause(&self) -> Cause {
        match self.kind {
            OpKind::HostRead if self.base != NONE => Cause::Rmw,
            OpKind::HostRead | OpKind::HostWrite => Cause::Host,
            OpKind::RmwRead => Cause::Rmw,
            OpKind::GcRead | OpKind::GcWrite | OpKind::GcCopyback | OpKind::Erase => {
                self.job_cause()
            }
        }
    }

    /// The cause of its job, if it belongs to one.
    #[inline(always)]
    pub(crate) fn job_cause(&self) -> Cause {
        debug_assert!(!self.kind.is_host(), "{:?} belongs to no job", self.kind);
        if self.levels { Cause::Wear } else { Cause::Gc }
    }
}

/// What only logs and data modes need to know about an operation, kept apart to keep [`Op`] small.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Detail {
    /// Phases on unit and bus.
    pub(crate) phases: Phases,
    /// Its row in the operation log.
    pub(crate) row: u64,
    /// Digest the host must see.
    pub(crate) expected: u64,
}

/// Slab of operations with a free list.
#[derive(Default)]
pub(crate) struct Slab {
    ops: Vec<Op>,
    free: Vec<u32>,
    details: Vec<Detail>,
}

impl Slab {
    /// Insert an operation; returns its slot.
    #[inline]
    pub(crate) fn insert(&mut self, op: Op) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.ops[slot as usize] = op;
            return slot;
        }
        assert!(self.ops.len() < NONE as usize, "too many operations in flight");
        self.ops.push(op);
        (self.ops.len() - 1) as u32
    }

    /// Remove an operation.
    #[inline]
    pub(crate) fn remove(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// What logs and data modes know about the operation in `slot`.
    pub(crate) fn detail(&mut self, slot: u32) -> &mut Detail {
        if self.details.len() <= slot as usize {
            self.details.resize(self.ops.len(), Detail::default());
        }
        &mut self.details[slot as usize]
    }

    /// Number of operations.
    pub(crate) fn len(&self) -> usize {
        self.ops.len() - self.free.len()
    }
}

impl std::ops::Index<u32> for Slab {
    type Output = Op;
    #[inline(always)]
    fn index(&self, slot: u32) -> &Op {
        &self.ops[slot as usize]
    }
}
impl std::ops::IndexMut<u32> for Slab {
    #[inline(always)]
    fn index_mut(&mut self, slot: u32) -> &mut Op {
        &mut self.ops[slot as usize]
    }
}

/// A first-in-first-out queue through the slab.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    head: u32,
    tail: u32,
}

impl Queue {
    pub(crate) const EMPTY: Queue = Queue { head: NONE, tail: NONE };

    #[inline]
    pub(crate) fn push(&mut self, slab: &mut Slab, slot: u32) {
        slab[slot].next = NONE;
        if self.tail == NONE {
            debug_assert_eq!(self.head, NONE);
            self.head = slot;
        } else {
            slab[self.tail].next = slot;
        }
        self.tail = slot;
    }

    /// Remove `slot`, whose predecessor is `before` (`NONE` for the head).
    #[inline]
    pub(crate) fn take(&mut self, slab: &mut Slab, before: u32, slot: u32) {
        let next = slab[slot].next;
        if self.tail == slot {
            self.tail = before;
        }
        if before == NONE {
            debug_assert_eq!(self.head, slot);
            self.head = next;
        } else {
            debug_assert_eq!(slab[before].next, slot);
            slab[before].next = next;
        }
    }

    /// The first operation; `NONE` if the queue is empty.
    #[inline(always)]
    pub(crate) fn head(&self) -> u32 {
        self.head
    }
}
