//! Busy units and buses.

use super::event::Lane;
use super::op::OpKind;
use super::slab::{Queue, Slab};
use crate::sched::order::Turn;
use crate::units::{Nanos, OpSlot};

/// What the next event of a unit means. A `match` tests the variants in this order, so the most frequent come first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// It has no operation.
    Idle,
    /// Its operation ends.
    Last,
    /// Its array read ends, then the data go out.
    Reading,
    /// It waits for the bus to take its command (and data).
    WaitIn,
    /// Its command is on the way, or its array is about to resume; then the array works, and may be suspended.
    Loading,
    /// Its array stops, and its operation leaves it suspended.
    Suspending,
    /// It waits for the bus to carry its data out.
    WaitOut,
    /// Its page is about to enter the slices of the interconnect.
    Sending,
    /// Its page is in them.
    Crossing,
}

/// The time that the running operation takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Service {
    /// When it took the unit.
    pub(super) since: Nanos,
    /// The array and bus time of its service.
    pub(super) array_ns: u64,
    pub(super) bus_ns: u64,
    /// Bus time of the next bus phase, or service time after the slices of the interconnect.
    pub(super) wants_ns: u64,
}

/// How long a unit has worked.
#[derive(Clone, Copy, Debug)]
struct BusyTime {
    /// Time held by host operations that have ended.
    host_ns: u64,
    /// Time held by operations that have ended, excluding the time before the measurement.
    all_ns: u64,
}

/// Operations that wait or run on a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) total: u32,
    /// Operations of the host among them.
    pub(crate) of_host: u32,
}

/// Which queues of a unit are considered.
#[derive(Clone, Copy, Debug)]
struct Lines {
    /// The queues with an operation, as bits.
    filled: u8,
    /// The queues that are open, as bits: GC reads are excluded while there is no buffer for their page.
    open: u8,
}

/// One busy unit, in two cache lines.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Unit {
    queues: [Queue; 4],
    lines: Lines,
    /// Whether the running operation is the host's.
    host_now: bool,
    pub(crate) load: Load,
    /// Slot of the running operation, and those that run with it (multi-plane).
    pub(crate) running: OpSlot,
    pub(crate) also: Queue,
    pub(crate) channel: u32,
    /// Planes of the unit that are closed to the host, counted with multiplicity.
    pub(crate) closed: u32,
    pub(super) service: Service,
    /// The lane of the event at which the array phase of the running operation ends.
    pub(super) lane: Lane,
    pub(super) stage: Stage,
    /// The unit that waits for the bus behind it.
    next_for_bus: u32,
    worked: BusyTime,
    /// Since when no host operation has been waiting or running.
    pub(crate) idle_since: Nanos,
    /// An idle timer is set.
    pub(crate) idle_timer: bool,
    /// What it started last, if the order takes turns.
    pub(crate) turn: Turn,
}

const _: () = assert!(size_of::<Unit>() == 128);

impl Unit {
    pub(crate) fn new(channel: u32) -> Unit {
        let since = Nanos::ZERO;
        Unit {
            queues: [Queue::EMPTY; 4],
            lines: Lines { filled: 0, open: u8::MAX },
            host_now: false,
            load: Load { total: 0, of_host: 0 },
            running: OpSlot::NONE,
            also: Queue::EMPTY,
            channel,
            closed: 0,
            service: Service { since, array_ns: 0, bus_ns: 0, wants_ns: 0 },
            lane: Lane::Bus,
            stage: Stage::Idle,
            next_for_bus: NONE,
            worked: BusyTime { host_ns: 0, all_ns: 0 },
            idle_since: Nanos::ZERO,
            idle_timer: false,
            turn: Turn::default(),
        }
    }

    /// The open queues with an operation, as bits.
    #[inline(always)]
    pub(crate) fn waiting(&self) -> u32 {
        debug_assert!(self.lines.filled < 16, "a queue that no unit has: {:b}", self.lines.filled);
        u32::from(self.lines.filled & self.lines.open)
    }

    /// What its next event means.
    #[inline(always)]
    pub(crate) fn stage(&self) -> Stage {
        self.stage
    }

    /// Whether `queue` is shut.
    pub(crate) fn shuts(&self, queue: usize) -> bool {
        debug_assert!(queue < 4, "there is no queue {queue}");
        self.lines.open >> queue & 1 == 0
    }

    /// Open or shut `queue`.
    pub(crate) fn set_open(&mut self, queue: usize, open: bool) {
        debug_assert!(queue < 4, "there is no queue {queue}");
        self.lines.open = self.lines.open & !(1 << queue) | u8::from(open) << queue;
    }

    /// The first operation of `queue`; `NONE` if it is empty.
    #[inline(always)]
    pub(crate) fn head(&self, queue: usize) -> OpSlot {
        debug_assert_eq!(
            self.queues[queue].head() != OpSlot::NONE,
            self.lines.filled >> queue & 1 == 1,
            "queue {queue} is not as its bit says"
        );
        self.queues[queue].head()
    }

    /// Append the operation in `slot`, which has no successor, to `queue`.
    #[inline(always)]
    pub(crate) fn push(&mut self, queue: usize, slab: &mut Slab, slot: OpSlot) {
        debug_assert_eq!(slab[slot].kind().is_host(), queue < 2, "{slot:?} joins queue {queue}");
        self.queues[queue].append(slab, slot);
        self.lines.filled |= 1 << queue;
    }

    /// Take the first operation, followed by `next`, out of `queue`, which must have one.
    #[inline(always)]
    pub(crate) fn pop(&mut self, queue: usize, next: OpSlot) {
        debug_assert!(self.lines.filled >> queue & 1 == 1, "queue {queue} is empty");
        self.queues[queue].pop(next);
        self.lines.filled &= !(u8::from(next == OpSlot::NONE) << queue);
    }

    /// Remove `slot` from `queue`, where it follows `before` (`NONE` for the head).
    #[inline(always)]
    pub(crate) fn take(&mut self, queue: usize, slab: &mut Slab, before: OpSlot, slot: OpSlot) {
        debug_assert!(self.lines.filled >> queue & 1 == 1, "queue {queue} is empty");
        self.queues[queue].take(slab, before, slot);
        if self.queues[queue].head() == OpSlot::NONE {
            self.lines.filled &= !(1 << queue);
        }
    }

    /// Time that the unit has worked for the host up to `now`.
    #[inline(always)]
    pub(crate) fn host_busy_ns(&self, now: Nanos) -> u64 {
        debug_assert!(!self.host_now || now >= self.service.since, "it began in the future");
        let running = if self.host_now { (now - self.service.since).0 } else { 0 };
        self.worked.host_ns + running
    }

    /// Time held within the measurement, up to `now`.
    pub(crate) fn busy_ns(&self, now: Nanos) -> u64 {
        // It wraps: `restart` begins below zero by the time held before.
        let busy = self.worked.all_ns.wrapping_add(self.held_ns(now));
        debug_assert!(busy <= now.0, "it has worked for {busy} of {} ns", now.0);
        busy
    }

    /// Start the measurement at `now`: the time that the running operation has held before does not count.
    pub(crate) fn restart(&mut self, now: Nanos) {
        self.worked.all_ns = 0u64.wrapping_sub(self.held_ns(now));
    }

    /// Continue the counts of `former`, with which power was cut at `now`.
    pub(crate) fn take_over(&mut self, former: &Unit, now: Nanos) {
        debug_assert_eq!(self.running, OpSlot::NONE, "it works already");
        debug_assert_eq!(self.channel, former.channel, "a unit of another channel");
        self.worked.all_ns = former.worked.all_ns.wrapping_add(former.held_ns(now));
        self.idle_since = now;
    }

    fn held_ns(&self, now: Nanos) -> u64 {
        debug_assert!(self.running == OpSlot::NONE || now >= self.service.since, "in the future");
        if self.running == OpSlot::NONE { 0 } else { (now - self.service.since).0 }
    }

    pub(super) fn waits_for_bus(&self) -> bool {
        matches!(self.stage, Stage::WaitIn | Stage::WaitOut)
    }

    /// Check that its counts agree with its queues and its running operations.
    pub(super) fn audit(&self, ops: &Slab, suspended: &[OpSlot]) -> Result<(), String> {
        for (queue, slots) in self.queues.iter().enumerate() {
            if (slots.head() != OpSlot::NONE) != (self.lines.filled >> queue & 1 == 1) {
                return Err(format!("queue {queue} is not as its bit says"));
            }
        }
        if (self.running == OpSlot::NONE) != (self.stage == Stage::Idle) {
            return Err(format!("it runs {:?} and is {:?}", self.running, self.stage));
        }
        let queued = self.queues.iter().flat_map(|queue| ops.linked(queue.head()));
        let present: Vec<OpSlot> =
            queued.chain(self.executed(ops)).chain(suspended.iter().copied()).collect();
        let host = present.iter().filter(|&&slot| ops[slot].kind().is_host()).count();
        if present.len() != self.load.total as usize || host != self.load.of_host as usize {
            let (load, of_host) = (self.load.total, self.load.of_host);
            let has = present.len();
            return Err(format!("{has} operations, {host} of the host; {load}, {of_host} counted"));
        }
        Ok(())
    }

    /// The running operation and those that run with it.
    pub(crate) fn executed(&self, ops: &Slab) -> impl Iterator<Item = OpSlot> {
        let running = (self.running != OpSlot::NONE).then_some(self.running);
        running.into_iter().chain(ops.linked(self.also.head()))
    }

    /// Let its command (and data) take the bus for `ns` from `now` on; then its array works. Returns the end of that,
    /// and the lane of its event.
    #[inline(always)]
    pub(super) fn goes_in(&mut self, now: Nanos, ns: u64) -> (Nanos, Lane) {
        debug_assert_ne!(self.running, OpSlot::NONE, "a command of no operation");
        let lane = self.lane;
        debug_assert!(matches!(self.stage, Stage::Idle | Stage::WaitIn), "it is {:?}", self.stage);
        self.stage = if lane == Lane::Read { Stage::Reading } else { Stage::Last };
        (Nanos(now.0 + ns + self.service.array_ns), lane)
    }

    /// An operation takes the unit.
    #[inline(always)]
    pub(super) fn acquire(&mut self, slot: OpSlot, kind: OpKind, service: Service) {
        let host = kind.is_host();
        assert!(self.running == OpSlot::NONE, "unit is busy");
        debug_assert_ne!(slot, OpSlot::NONE, "no operation takes the unit");
        debug_assert_eq!(self.stage, Stage::Idle, "no operation runs");
        debug_assert!(
            self.load.total > 0 && self.load.of_host >= u32::from(host),
            "it was not queued"
        );
        self.running = slot;
        self.service = service;
        self.lane = kind.lane();
        self.host_now = host;
    }

    /// End its operation. Returns how long it has held the unit, and whether it was the host's.
    #[inline(always)]
    pub(super) fn vacate(&mut self, now: Nanos) -> (u64, bool) {
        assert!(self.running != OpSlot::NONE, "unit is idle");
        debug_assert!(now >= self.service.since, "it ends before it began");
        let (held_ns, host) = ((now - self.service.since).0, self.host_now);
        debug_assert_eq!(self.stage, Stage::Last, "its operation has not ended");
        self.worked.all_ns = self.worked.all_ns.wrapping_add(held_ns);
        if host {
            self.worked.host_ns += held_ns;
            self.host_now = false;
        }
        self.running = OpSlot::NONE;
        self.also = Queue::EMPTY;
        self.stage = Stage::Idle;
        (held_ns, host)
    }

    /// Note that an operation, of the host if `host`, no longer waits or runs here.
    #[inline(always)]
    pub(crate) fn leaves(&mut self, host: bool) {
        assert!(self.load.total > 0, "the unit has no operation");
        debug_assert!(self.load.of_host >= u32::from(host), "the host has no operation here");
        self.load.total -= 1;
        self.load.of_host -= u32::from(host);
        debug_assert!(
            self.load.of_host <= self.load.total,
            "the host has more operations than all"
        );
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
        debug_assert!(now >= self.since, "time runs backwards");
        if self.running == 0 {
            self.since = now;
        }
        self.running += 1;
    }

    #[inline(always)]
    pub(crate) fn ends(&mut self, now: Nanos) {
        debug_assert!(now >= self.since, "an operation ends before it began");
        debug_assert!(self.running > 0, "an operation ends, and none has begun");
        self.running -= 1;
        if self.running == 0 {
            self.busy_ns += (now - self.since).0;
        }
    }

    /// Time busy up to `now`.
    pub(crate) fn busy_ns(&self, now: Nanos) -> u64 {
        debug_assert!(now >= self.since, "an operation began in the future");
        self.busy_ns + if self.running > 0 { (now - self.since).0 } else { 0 }
    }

    /// Continue the count of `former`, with which power was cut at `now`.
    pub(crate) fn take_over(&mut self, former: &Activity, now: Nanos) {
        debug_assert_eq!(self.running, 0, "it works already");
        (self.busy_ns, self.since) = (former.busy_ns(now), now);
    }

    /// Count from `now` on.
    pub(crate) fn restart(&mut self, now: Nanos) {
        (self.busy_ns, self.since) = (0, now);
    }
}

const NONE: u32 = u32::MAX;

/// Units that wait for a bus, first come first served, linked through the units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    first: u32,
    last: u32,
}

impl Line {
    const EMPTY: Line = Line { first: NONE, last: NONE };

    #[inline(always)]
    pub(super) fn is_empty(self) -> bool {
        self.first == NONE
    }

    #[inline(always)]
    pub(super) fn push(&mut self, units: &mut [Unit], unit: u32) {
        units[unit as usize].next_for_bus = NONE;
        debug_assert!(units[unit as usize].waits_for_bus(), "unit {unit} does not wait");
        debug_assert!(self.is_empty() || self.last != unit, "unit {unit} waits twice");
        if self.is_empty() {
            self.first = unit;
        } else {
            units[self.last as usize].next_for_bus = unit;
        }
        self.last = unit;
    }

    #[inline(always)]
    pub(super) fn pop(&mut self, units: &[Unit]) -> Option<u32> {
        let first = self.first;
        if first == NONE {
            return None;
        }
        debug_assert!(units[first as usize].waits_for_bus(), "unit {first} does not wait");
        self.first = units[first as usize].next_for_bus;
        debug_assert!(self.first != NONE || self.last == first, "the line has lost its end");
        Some(first)
    }

    /// The units, first to last.
    pub(super) fn iter(self, units: &[Unit]) -> impl Iterator<Item = &Unit> {
        let at = |unit: u32| units.get(unit as usize);
        std::iter::successors(at(self.first), move |unit| at(unit.next_for_bus))
    }
}

/// One channel's bus.
#[derive(Clone, Debug)]
pub(super) struct Bus {
    pub(super) free_at: Nanos,
    /// Units waiting to send a command (and data) in.
    pub(super) wait_in: Line,
    /// Units waiting to send data out.
    pub(super) wait_out: Line,
    pub(super) busy_ns: u64,
    /// It has an event.
    pub(super) scheduled: bool,
}

impl Bus {
    pub(super) const FREE: Bus = Bus {
        free_at: Nanos::ZERO,
        wait_in: Line::EMPTY,
        wait_out: Line::EMPTY,
        busy_ns: 0,
        scheduled: false,
    };

    /// Occupy it for `ns` from `now` on; 0: data whose transfer takes no time.
    #[inline(always)]
    pub(super) fn carry(&mut self, now: Nanos, ns: u64) {
        debug_assert!(self.free_at <= now, "the bus is busy");
        self.free_at = Nanos(now.0 + ns);
        self.busy_ns += ns;
    }

    /// Whether a unit waits for the bus.
    #[inline(always)]
    pub(super) fn awaited(&self) -> bool {
        !self.wait_in.is_empty() || !self.wait_out.is_empty()
    }
}
