//! Busy units and buses.

use super::op::{Queue, Slab};
use crate::units::{Nanos, OpSlot};
use std::collections::VecDeque;

/// What the next event of a unit means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// It has no operation.
    Idle,
    /// It waits for the bus to take its command (and data).
    WaitIn,
    /// Its array read ends, then the data go out.
    Reading,
    /// It waits for the bus to carry its data out.
    WaitOut,
    /// Its page is about to enter the slices of the interconnect.
    Sending,
    /// Its page is in them.
    Crossing,
    /// Its operation ends.
    Last,
}

/// One busy unit, in two lines of the cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Unit {
    queues: [Queue; 4],
    /// The queues with an operation, as bits.
    waiting: u32,
    /// The queues that are open, as bits: GC reads are shut out while there is no buffer for their page.
    gate: u32,
    /// Operations waiting or running.
    pub(crate) load: u32,
    /// Of these, the host's.
    pub(crate) host_load: u32,
    /// Slot of the running operation, and those that run with it (multi-plane).
    pub(crate) running: OpSlot,
    pub(crate) also: Queue,
    pub(crate) stage: Stage,
    /// Since when the running operation has held the unit.
    pub(crate) since: Nanos,
    /// Of its service, the array and the bus.
    pub(crate) array_ns: u64,
    pub(crate) bus_ns: u64,
    /// Bus time of the next bus phase, or service time after the slices of the interconnect.
    pub(crate) wants_ns: u64,
    host_running: bool,
    host_busy_ns: u64,
    /// Time held by operations that have ended, excluding the time before the measurement.
    busy_ns: u64,
    /// Since when no host operation has waited or run.
    pub(crate) idle_since: Nanos,
    /// An idle timer is set.
    pub(crate) idle_timer: bool,
    pub(crate) channel: u32,
    /// Planes of the unit that are closed to the host, counted with multiplicity.
    pub(crate) closed: u32,
}

impl Unit {
    pub(crate) fn new(channel: u32) -> Unit {
        Unit {
            queues: [Queue::EMPTY; 4],
            waiting: 0,
            gate: u32::MAX,
            load: 0,
            host_load: 0,
            running: OpSlot::NONE,
            also: Queue::EMPTY,
            stage: Stage::Idle,
            since: Nanos::ZERO,
            array_ns: 0,
            bus_ns: 0,
            wants_ns: 0,
            host_running: false,
            host_busy_ns: 0,
            busy_ns: 0,
            idle_since: Nanos::ZERO,
            idle_timer: false,
            channel,
            closed: 0,
        }
    }

    /// The open queues with an operation, as bits.
    #[inline(always)]
    pub(crate) fn waiting(&self) -> u32 {
        self.waiting & self.gate
    }

    /// Whether `queue` is shut.
    pub(crate) fn shuts(&self, queue: usize) -> bool {
        self.gate >> queue & 1 == 0
    }

    /// Open or shut `queue`.
    pub(crate) fn set_open(&mut self, queue: usize, open: bool) {
        self.gate = self.gate & !(1 << queue) | u32::from(open) << queue;
    }

    /// The first operation of `queue`; `NONE` if it is empty.
    #[inline(always)]
    pub(crate) fn head(&self, queue: usize) -> OpSlot {
        self.queues[queue].head()
    }

    /// Append the operation in `slot` to `queue`.
    #[inline(always)]
    pub(crate) fn push(&mut self, queue: usize, slab: &mut Slab, slot: OpSlot) {
        self.queues[queue].push(slab, slot);
        self.waiting |= 1 << queue;
    }

    /// Take `slot` out of `queue`, where it stands behind `before` (`NONE` for the head).
    #[inline(always)]
    pub(crate) fn take(&mut self, queue: usize, slab: &mut Slab, before: OpSlot, slot: OpSlot) {
        self.queues[queue].take(slab, before, slot);
        if self.queues[queue].head() == OpSlot::NONE {
            self.waiting &= !(1 << queue);
        }
    }

    /// Time that the unit has worked for the host up to `now`.
    #[inline(always)]
    pub(crate) fn host_busy_ns(&self, now: Nanos) -> u64 {
        self.host_busy_ns + if self.host_running { (now - self.since).0 } else { 0 }
    }

    /// Time held within the measurement, up to `now`.
    pub(crate) fn busy_ns(&self, now: Nanos) -> u64 {
        let running = if self.running == OpSlot::NONE { 0 } else { (now - self.since).0 };
        self.busy_ns.wrapping_add(running)
    }

    /// The measurement starts at `now`: what the running operation has held before does not count.
    pub(crate) fn restart(&mut self, now: Nanos) {
        let before = if self.running == OpSlot::NONE { 0 } else { (now - self.since).0 };
        self.busy_ns = 0u64.wrapping_sub(before);
    }

    pub(super) fn waits_for_bus(&self) -> bool {
        matches!(self.stage, Stage::WaitIn | Stage::WaitOut)
    }

    /// Its counts agree with its queues and its running operations.
    pub(super) fn audit(&self, ops: &Slab) -> Result<(), String> {
        let chain = |first: OpSlot| {
            let some = |slot: OpSlot| (slot != OpSlot::NONE).then_some(slot);
            std::iter::successors(some(first), move |&slot| some(ops[slot].next))
        };
        for (queue, slots) in self.queues.iter().enumerate() {
            if (slots.head() != OpSlot::NONE) != (self.waiting >> queue & 1 == 1) {
                return Err(format!("queue {queue} is not as its bit says"));
            }
        }
        let running = (self.running != OpSlot::NONE).then_some(self.running);
        if running.is_none() != (self.stage == Stage::Idle) {
            return Err(format!("it runs {running:?} and is {:?}", self.stage));
        }
        let queued = self.queues.iter().flat_map(|queue| chain(queue.head()));
        let all: Vec<OpSlot> = queued.chain(running).chain(chain(self.also.head())).collect();
        let host = all.iter().filter(|&&slot| ops[slot].kind().is_host()).count();
        if all.len() != self.load as usize || host != self.host_load as usize {
            let (load, of_host) = (self.load, self.host_load);
            let has = all.len();
            return Err(format!("{has} operations, {host} of the host; {load}, {of_host} counted"));
        }
        Ok(())
    }

    /// An operation takes the unit.
    #[inline]
    pub(crate) fn acquire(&mut self, slot: OpSlot, now: Nanos, host: bool) {
        assert!(self.running == OpSlot::NONE, "unit is busy");
        self.running = slot;
        self.since = now;
        self.host_running = host;
    }

    /// The operation leaves it.
    #[inline]
    pub(crate) fn vacate(&mut self, now: Nanos) {
        assert!(self.running != OpSlot::NONE, "unit is idle");
        let held = (now - self.since).0;
        self.busy_ns = self.busy_ns.wrapping_add(held);
        if self.host_running {
            self.host_busy_ns += held;
        }
        self.running = OpSlot::NONE;
        self.host_running = false;
        self.stage = Stage::Idle;
    }
}

/// How long a chip or channel has had at least one operation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Activity {
    running: u32,
    since: Nanos,
    busy_ns: u64,
}

impl Activity {
    #[inline(always)]
    pub(crate) fn begins(&mut self, now: Nanos) {
        if self.running == 0 {
            self.since = now;
        }
        self.running += 1;
    }

    #[inline(always)]
    pub(crate) fn ends(&mut self, now: Nanos) {
        self.running -= 1;
        if self.running == 0 {
            self.busy_ns += (now - self.since).0;
        }
    }

    /// Time busy up to `now`.
    pub(crate) fn busy_ns(&self, now: Nanos) -> u64 {
        self.busy_ns + if self.running > 0 { (now - self.since).0 } else { 0 }
    }

    /// Count from `now` on.
    pub(crate) fn restart(&mut self, now: Nanos) {
        (self.busy_ns, self.since) = (0, now);
    }
}

/// One channel's bus.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bus {
    pub(crate) free_at: Nanos,
    /// Units waiting to send a command (and data) in.
    pub(crate) wait_in: VecDeque<u32>,
    /// Units waiting to send data out.
    pub(crate) wait_out: VecDeque<u32>,
    pub(crate) busy_ns: u64,
    /// It has an event.
    pub(crate) scheduled: bool,
}

impl Bus {
    /// Whether a unit waits for the bus.
    #[inline(always)]
    pub(crate) fn awaited(&self) -> bool {
        !self.wait_in.is_empty() || !self.wait_out.is_empty()
    }
}
