//! Events: at most one outstanding per resource, in a tournament tree of next times.
//!
//! The key of resource `r` at time `t` is `t << bits | r`, so that equal times come out in resource
//! order and the whole order is total. Eight children a node: with up to 64 resources an event changes
//! two groups, and a new event walks up only as far as it is the next one. Timers (delayed completions,
//! idle timers) wait in a small heap behind one resource of the tree.

use crate::units::{Nanos, OpSlot};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const NEVER: u64 = u64::MAX;

/// Children of a node.
const FAN: usize = 8;

/// Next times of all resources.
pub(crate) struct Events {
    /// All levels one after the other: first one key per resource, then the least key of every group below.
    groups: Vec<[u64; FAN]>,
    /// First group of each level but the lowest.
    starts: Vec<usize>,
    first: u64,
    bits: u32,
}

#[inline(always)]
fn least(group: &[u64; FAN]) -> u64 {
    let [a, b, c, d, e, f, g, h] = *group;
    a.min(b).min(c.min(d)).min(e.min(f).min(g.min(h)))
}

impl Events {
    /// For `resources` resources without events.
    pub(crate) fn new(resources: usize) -> Events {
        assert!(resources > 0 && resources <= 1 << 16, "{resources} resources");
        let mut starts = Vec::new();
        let mut level = resources.div_ceil(FAN);
        let mut groups = level;
        while level > 1 {
            starts.push(groups);
            level = level.div_ceil(FAN);
            groups += level;
        }
        let groups = vec![[NEVER; FAN]; groups];
        let bits = resources.next_power_of_two().trailing_zeros();
        Events { groups, starts, first: NEVER, bits }
    }

    /// The first time that no event can have.
    pub(crate) fn limit(&self) -> Nanos {
        Nanos(NEVER >> self.bits)
    }

    /// The next event of `resource` is at `at`; it has none now.
    #[inline]
    pub(crate) fn schedule(&mut self, resource: usize, at: Nanos) {
        debug_assert!(at < self.limit());
        let key = at.0 << self.bits | resource as u64;
        let mut node = resource;
        self.groups[node / FAN][node % FAN] = key;
        for &start in &self.starts {
            node /= FAN;
            let least_of_group = &mut self.groups[start + node / FAN][node % FAN];
            if *least_of_group <= key {
                return;
            }
            *least_of_group = key;
        }
        self.first = self.first.min(key);
    }

    /// The next event of `resource` is at `at`, whatever it was before; `NEVER` for none.
    #[inline(never)]
    pub(crate) fn reschedule(&mut self, resource: usize, at: Nanos) {
        self.clear(resource);
        if at != Nanos::NEVER {
            self.schedule(resource, at);
        }
    }

    /// `resource` has no event.
    #[inline(always)]
    fn clear(&mut self, resource: usize) {
        let mut node = resource;
        let group = &mut self.groups[node / FAN];
        group[node % FAN] = NEVER;
        let mut key = least(group);
        for &start in &self.starts {
            node /= FAN;
            let group = &mut self.groups[start + node / FAN];
            group[node % FAN] = key;
            key = least(group);
        }
        self.first = key;
    }

    /// Time of the next event.
    #[inline(always)]
    pub(crate) fn next_time(&self) -> Option<Nanos> {
        (self.first != NEVER).then_some(Nanos(self.first >> self.bits))
    }

    /// Take the next event, which must exist; returns its resource.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> usize {
        let resource = (self.first & ((1 << self.bits) - 1)) as usize;
        debug_assert_ne!(self.first, NEVER, "nothing to take");
        self.clear(resource);
        resource
    }

    /// Whether the next event is at `now`.
    #[inline(always)]
    pub(crate) fn more_at(&self, now: Nanos) -> bool {
        self.first >> self.bits == now.0
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
    CameIn(OpSlot),
    /// The page in this slot has crossed the link to the host.
    WentOut(OpSlot),
}

/// Timers by time, kind and order of setting.
#[derive(Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Nanos, u64, Timer)>>,
    set: u64,
}

impl Timers {
    pub(crate) fn push(&mut self, at: Nanos, timer: Timer) {
        self.set += 1;
        self.heap.push(Reverse((at, self.set, timer)));
    }

    pub(crate) fn next_time(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// Take the next timer if it is at `now`.
    pub(crate) fn take_at(&mut self, now: Nanos) -> Option<Timer> {
        if self.next_time()? != now {
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
        let mut rng = Stream::new(1, "events");
        for n in [1usize, 2, 3, 32, 33, 40, 137, 300] {
            let mut events = Events::new(n);
            let mut naive: Vec<Option<u64>> = vec![None; n];
            for _ in 0..4000 {
                let r = rng.below(n as u64) as usize;
                if naive[r].is_none() {
                    let at = rng.below(50);
                    naive[r] = Some(at);
                    events.schedule(r, Nanos(at));
                } else {
                    let (at, first) = naive
                        .iter()
                        .enumerate()
                        .filter_map(|(i, t)| t.map(|t| (t, i)))
                        .min()
                        .expect("one is set");
                    assert_eq!(events.next_time(), Some(Nanos(at)));
                    assert!(events.more_at(Nanos(at)) && !events.more_at(Nanos(at + 1)));
                    assert_eq!(events.take(), first);
                    naive[first] = None;
                }
            }
        }
    }
}
