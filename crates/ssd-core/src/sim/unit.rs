//! Busy units, buses, and small sets of ids.

use super::op::{NONE, Queue};
use crate::units::Nanos;
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
    /// Its operation ends.
    Last,
}

/// One busy unit.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) queues: [Queue; 4],
    /// Operations waiting or running.
    pub(crate) load: u32,
    /// Of these, the host's.
    pub(crate) host_load: u32,
    /// Slot of the running operation, and those that run with it (multi-plane).
    pub(crate) running: u32,
    pub(crate) also: Vec<u32>,
    pub(crate) stage: Stage,
    /// Since when the running operation has held the unit.
    pub(crate) since: Nanos,
    /// Of its service, the array and the bus.
    pub(crate) array_ns: u64,
    pub(crate) bus_ns: u64,
    /// Bus time of the next bus phase.
    pub(crate) wants_ns: u64,
    host_running: bool,
    host_busy_ns: u64,
    /// Time held by operations that have ended, less what was before the measurement.
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
            load: 0,
            host_load: 0,
            running: NONE,
            also: Vec::new(),
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

    /// The queues with an operation, as bits.
    #[inline(always)]
    pub(crate) fn waiting(&self) -> u32 {
        let bit = |q: usize| u32::from(!self.queues[q].is_empty()) << q;
        bit(0) | bit(1) | bit(2) | bit(3)
    }

    /// Time that the unit has worked for the host up to `now`.
    #[inline(always)]
    pub(crate) fn host_busy_ns(&self, now: Nanos) -> u64 {
        self.host_busy_ns + if self.host_running { (now - self.since).0 } else { 0 }
    }

    /// Time held within the measurement, up to `now`.
    pub(crate) fn busy_ns(&self, now: Nanos) -> u64 {
        let running = if self.running == NONE { 0 } else { (now - self.since).0 };
        self.busy_ns.wrapping_add(running)
    }

    /// The measurement starts at `now`: what the running operation has held before does not count.
    pub(crate) fn restart(&mut self, now: Nanos) {
        let before = if self.running == NONE { 0 } else { (now - self.since).0 };
        self.busy_ns = 0u64.wrapping_sub(before);
    }

    /// An operation takes the unit.
    #[inline]
    pub(crate) fn acquire(&mut self, slot: u32, now: Nanos, host: bool) {
        assert!(self.running == NONE, "unit is busy");
        self.running = slot;
        self.since = now;
        self.host_running = host;
    }

    /// The operation leaves it.
    #[inline]
    pub(crate) fn vacate(&mut self, now: Nanos) {
        assert!(self.running != NONE, "unit is idle");
        let held = (now - self.since).0;
        self.busy_ns = self.busy_ns.wrapping_add(held);
        if self.host_running {
            self.host_busy_ns += held;
        }
        self.running = NONE;
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

/// A set of small ids, taken out in ascending order.
#[derive(Clone, Debug)]
pub(crate) struct IdSet {
    words: Vec<u64>,
    len: u32,
}

impl IdSet {
    pub(crate) fn new(ids: u32) -> IdSet {
        IdSet { words: vec![0; (ids as usize).div_ceil(64)], len: 0 }
    }

    #[inline(always)]
    pub(crate) fn insert(&mut self, id: u32) {
        let bit = 1u64 << (id % 64);
        let word = &mut self.words[id as usize / 64];
        self.len += u32::from(*word & bit == 0);
        *word |= bit;
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Take the lowest id out.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        for (i, word) in self.words.iter_mut().enumerate() {
            if *word != 0 {
                let id = i as u32 * 64 + word.trailing_zeros();
                *word &= *word - 1;
                self.len -= 1;
                return Some(id);
            }
        }
        unreachable!("the count says that an id is inside")
    }
}
