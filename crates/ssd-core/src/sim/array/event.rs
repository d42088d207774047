//! Events: at most one outstanding per resource, in lanes of ascending times.
//!
//! The key of resource `r` at time `t` is `(t << bits | r) << 2 | lane`, so equal times come out in resource order, the
//! whole order is total, and a key identifies its lane. Operations of one kind take about equally long, so their events
//! are scheduled in about the order in which they happen: a lane for each kind is a queue to which events are appended,
//! nearly always at the end, and the next event is the first of some lane. Timers (delayed completions, idle timers)
//! wait in a small heap behind one resource.

use crate::units::{Nanos, OpSlot};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const NEVER: u64 = u64::MAX;

/// Kinds of events that are scheduled in about the order in which they happen. Any event may be in any lane; the wrong
/// lane takes longer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lane {
    /// Transfers end, and buses become free.
    Bus = 0,
    /// Array reads end.
    Read = 1,
    /// Array programs and copy-backs end.
    Program = 2,
    /// Erases end; also rare events: those of timers and of the interconnect.
    Long = 3,
}

/// Bits of the lane in a key.
const LANE_BITS: u32 = 2;
const LANES: usize = 1 << LANE_BITS;

/// Keys in ascending order, in a ring. The slot after the last one holds `NEVER`.
struct Ring {
    keys: Box<[u64]>,
    head: usize,
    tail: usize,
}

impl Ring {
    fn new(capacity: usize) -> Ring {
        let keys = vec![NEVER; (capacity + 1).next_power_of_two()];
        Ring { keys: keys.into_boxed_slice(), head: 0, tail: 0 }
    }

    /// Insert a key. Returns whether it is now the first one.
    #[inline(always)]
    fn insert(&mut self, key: u64) -> bool {
        debug_assert_ne!(key, NEVER, "an event that never happens");
        let mask = self.keys.len() - 1;
        let mut at = self.tail;
        self.tail = at + 1;
        debug_assert!(self.tail - self.head <= mask, "a resource has two events");
        self.keys[self.tail & mask] = NEVER;
        while at != self.head && self.keys[(at - 1) & mask] > key {
            self.keys[at & mask] = self.keys[(at - 1) & mask];
            at -= 1;
        }
        self.keys[at & mask] = key;
        debug_assert!(at == self.head || self.keys[(at - 1) & mask] < key, "keys ascend");
        at == self.head
    }

    /// Remove the first key. Returns the new first one.
    #[inline(always)]
    fn pop(&mut self) -> u64 {
        debug_assert_ne!(self.head, self.tail, "nothing to take");
        let popped = self.keys[self.head & (self.keys.len() - 1)];
        debug_assert_ne!(popped, NEVER, "an event that never happens");
        self.head += 1;
        let first = self.keys[self.head & (self.keys.len() - 1)];
        debug_assert!(first > popped, "a key follows a greater one");
        first
    }

    /// Remove the key of `resource`, if there is one. Returns the new first one.
    fn remove(&mut self, resource: usize, resources: u64) -> u64 {
        let mask = self.keys.len() - 1;
        let resource_of = |at: usize| self.keys[at & mask] >> LANE_BITS & resources;
        if let Some(place) = (self.head..self.tail).find(|&at| resource_of(at) == resource as u64) {
            // Up to the place behind the last one, which holds `NEVER`.
            (place..self.tail).for_each(|at| self.keys[at & mask] = self.keys[(at + 1) & mask]);
            self.tail -= 1;
            let resource_of = |at: usize| self.keys[at & mask] >> LANE_BITS & resources;
            let more = (self.head..self.tail).any(|at| resource_of(at) == resource as u64);
            debug_assert!(!more, "resource {resource} has two events");
        }
        self.keys[self.head & mask]
    }
}

/// Next times of all resources.
pub(crate) struct Events {
    lanes: [Ring; LANES],
    /// First key of each lane.
    firsts: [u64; LANES],
    /// The least of them.
    first: u64,
    /// Bits of resource and lane in a key.
    bits: u32,
    /// Keys of one time.
    span: u64,
}

/// Bits of a key below its time.
fn bits_below(resources: usize) -> u32 {
    assert!(resources > 0 && resources <= 1 << 16, "{resources} resources");
    resources.next_power_of_two().trailing_zeros() + LANE_BITS
}

/// The first time that no event of `resources` resources can have.
pub(crate) fn limit(resources: usize) -> Nanos {
    Nanos(NEVER >> bits_below(resources))
}

impl Events {
    /// For `resources` resources without events.
    pub(crate) fn new(resources: usize) -> Events {
        let bits = bits_below(resources);
        Events {
            lanes: std::array::from_fn(|_| Ring::new(resources)),
            firsts: [NEVER; LANES],
            first: NEVER,
            bits,
            span: 1 << bits,
        }
    }

    /// The first time that no event can have.
    fn limit(&self) -> Nanos {
        Nanos(NEVER >> self.bits)
    }

    /// Schedule the next event of `resource`, which has none now, at `at`.
    #[inline(always)]
    pub(crate) fn schedule(&mut self, resource: usize, at: Nanos, lane: Lane) {
        debug_assert!(at < self.limit());
        let low = (resource as u64) << LANE_BITS | lane as u64;
        debug_assert!(low < self.span, "there is no resource {resource}");
        let key = at.0 << self.bits | low;
        if self.lanes[lane as usize].insert(key) {
            self.firsts[lane as usize] = key;
            self.first = self.first.min(key);
            debug_assert!(self.first <= key, "an event is missed");
        }
    }

    /// Schedule the next rare event of `resource` at `at`, replacing any earlier one; `NEVER` for none.
    #[inline(never)]
    pub(crate) fn reschedule(&mut self, resource: usize, at: Nanos) {
        self.cancel(resource, Lane::Long);
        if at != Nanos::NEVER {
            self.schedule(resource, at, Lane::Long);
        }
    }

    /// Cancel the event of `resource` in `lane`, if it has one there.
    pub(super) fn cancel(&mut self, resource: usize, lane: Lane) {
        self.firsts[lane as usize] =
            self.lanes[lane as usize].remove(resource, (self.span >> LANE_BITS) - 1);
        self.find_first();
    }

    #[inline(always)]
    fn find_first(&mut self) {
        let [a, b, c, d] = self.firsts;
        self.first = a.min(b).min(c.min(d));
        debug_assert!(self.firsts.iter().all(|&key| key >= self.first), "an event is missed");
    }

    /// Time of the next event.
    #[inline(always)]
    pub(crate) fn next_time(&self) -> Option<Nanos> {
        (self.first != NEVER).then_some(self.first_time())
    }

    /// The time of the first event; without an event [`Events::limit`].
    #[inline(always)]
    pub(crate) fn first_time(&self) -> Nanos {
        Nanos(self.first >> self.bits)
    }

    /// The lowest key of events at `now`, for [`Events::take`].
    #[inline(always)]
    pub(crate) fn key_at(&self, now: Nanos) -> u64 {
        debug_assert!(now < self.limit(), "no event can be so late");
        // The caller needs `span` next; a shift would also load `bits`.
        now.0 * self.span
    }

    /// Whether the next event is at the time of `key_at`; there is none before.
    #[inline(always)]
    pub(crate) fn is_due(&self, key_at: u64) -> bool {
        debug_assert!(self.first >= key_at, "an event has been missed");
        self.first.wrapping_sub(key_at) < self.span
    }

    /// Take the next event if it is at the time of `key_at`, before which there is none. Returns its resource.
    #[inline(always)]
    pub(crate) fn take(&mut self, key_at: u64) -> Option<usize> {
        // One comparison checks both: a key before `key_at` would wrap to more than any span.
        let low = self.first.wrapping_sub(key_at);
        if low >= self.span {
            debug_assert!(self.first > key_at, "an event has been missed");
            return None;
        }
        let lane = low as usize % LANES;
        debug_assert_eq!(self.firsts[lane], self.first, "the first event is in another lane");
        self.firsts[lane] = self.lanes[lane].pop();
        self.find_first();
        Some((low >> LANE_BITS) as usize)
    }
}

/// What a timer is for. Smaller kinds come first at one instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Timer {
    /// The controller has served the operation in this slot.
    Served(OpSlot),
    /// ECC of the page in this slot is done.
    Decoded(OpSlot),
    /// A pool may have been idle long enough.
    Idle(u32),
    /// The page in this slot has crossed the link to the device.
    TransferredIn(OpSlot),
    /// The page in this slot has crossed the link to the host.
    TransferredOut(OpSlot),
    /// The chip of this entry of `raid.fail` fails.
    ChipFails(u32),
    /// The next page may be rebuilt.
    Rebuild,
    /// The firmware has finished the request of the operation in this slot.
    Answered(OpSlot),
    /// The records for which the erase in this slot has waited survive a power cut.
    Recorded(OpSlot),
}

/// Timers by time, kind and order of setting.
#[derive(Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Nanos, u64, Timer)>>,
    set: u64,
}

impl Timers {
    pub(crate) fn push(&mut self, at: Nanos, timer: Timer) {
        debug_assert_ne!(at, Nanos::NEVER, "{timer:?} never fires");
        self.set += 1;
        self.heap.push(Reverse((at, self.set, timer)));
    }

    /// Forget what would only happen if the device continued.
    pub(crate) fn forget_failures(&mut self) {
        let goes_on = |timer: Timer| matches!(timer, Timer::ChipFails(_) | Timer::Rebuild);
        self.heap.retain(|Reverse((.., timer))| !goes_on(*timer));
    }

    pub(crate) fn next_time(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// Take the next timer if it is at `now`.
    pub(crate) fn take_at(&mut self, now: Nanos) -> Option<Timer> {
        let next = self.next_time()?;
        assert!(next >= now, "a timer has been missed: it was set for {next:?}");
        if next != now {
            return None;
        }
        self.heap.pop().map(|Reverse((.., timer))| timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    #[test]
    fn events_come_out_as_from_a_sorted_list() {
        let lanes = [Lane::Bus, Lane::Read, Lane::Program, Lane::Long];
        let mut rng = Stream::new(1, "events");
        for n in [1usize, 2, 3, 32, 33, 40, 137, 300] {
            let mut events = Events::new(n);
            let mut naive: Vec<Option<u64>> = vec![None; n];
            let mut lane_of = vec![Lane::Long; n];
            for _ in 0..8000 {
                let r = rng.below(n as u64) as usize;
                // The last two resources have rare events, which may change; the others may be in any lane.
                let rare = r + 2 >= n;
                if rare && rng.chance(0.5) {
                    naive[r] = rng.chance(0.7).then(|| rng.below(50));
                    events.reschedule(r, naive[r].map_or(Nanos::NEVER, Nanos));
                } else if naive[r].is_none() && !rare {
                    let at = rng.below(50);
                    (naive[r], lane_of[r]) = (Some(at), lanes[rng.below(4) as usize]);
                    events.schedule(r, Nanos(at), lane_of[r]);
                } else if !rare && rng.chance(0.2) {
                    naive[r] = None;
                    events.cancel(r, lane_of[r]);
                } else if naive.iter().flatten().next().is_some() {
                    let times = naive.iter().enumerate().filter_map(|(i, t)| t.map(|t| (t, i)));
                    let (at, first) = times.min().expect("one is set");
                    assert_eq!(events.next_time(), Some(Nanos(at)));
                    assert!(at == 0 || events.take(events.key_at(Nanos(at - 1))).is_none());
                    assert_eq!(events.take(events.key_at(Nanos(at))), Some(first));
                    naive[first] = None;
                } else {
                    assert_eq!(events.next_time(), None);
                }
            }
        }
    }
}
