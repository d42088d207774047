//! Records that repeat an identical record shortly after it, as in logs of stacked devices.
//!
//! Identical records have the same operation, flags, address and length on one volume. The later one is the double, and
//! its distance counts from the record that it repeats; a double cannot itself be repeated. Flushes have no address and
//! are never doubles.

use crate::read::formats::Event;
use ssd_core::host::request::{Op, flags};
use std::collections::{BTreeMap, VecDeque};

/// Maximum distance of a double from the record that it repeats, nanoseconds.
const WINDOW_NS: u64 = 1_000_000;
/// Size of the hash table of the quick search.
const PLACES: usize = 4096;

type Key = (u64, u64);

/// Detects doubles.
pub(crate) enum Doubles {
    /// Fast: two records with the same hash hide each other's doubles, so some may be missed.
    Quick(Vec<(Key, u64)>),
    /// Detects all doubles.
    Exact {
        /// Time of each recent record.
        recent: BTreeMap<Key, u64>,
        /// The same records, oldest first.
        order: VecDeque<(Key, u64)>,
    },
}

impl Doubles {
    /// Detects all doubles if `exact`, otherwise most of them in less time.
    pub(crate) fn new(exact: bool) -> Doubles {
        if exact {
            return Doubles::Exact { recent: BTreeMap::new(), order: VecDeque::new() };
        }
        Doubles::Quick(vec![((0, u64::MAX), 0); PLACES])
    }

    /// Returns whether `event` repeats an earlier one. Times do not decrease, except in events that are refused later
    /// and do not count in the order of times.
    #[inline(always)]
    pub(crate) fn repeats(&mut self, event: &Event) -> bool {
        // A copy may have a source range twice.
        if event.op == Op::Flush || event.flags & flags::COPY != 0 {
            return false;
        }
        let kind = event.op as u64 | u64::from(event.flags) << 8;
        let key = (event.sector, u64::from(event.sectors) << 16 | kind);
        let at = event.at_ns;
        match self {
            Doubles::Quick(places) => {
                let mixed = (key.0 ^ key.1 << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                // The upper twelve bits select one of 4096 entries.
                let place = &mut places[(mixed >> 52) as usize];
                if place.0 == key && at.saturating_sub(place.1) < WINDOW_NS {
                    return true;
                }
                *place = (key, at);
                false
            }
            Doubles::Exact { recent, order } => {
                while let Some(&(old, then)) = order.front()
                    && at.saturating_sub(then) >= WINDOW_NS
                {
                    recent.remove(&old);
                    order.pop_front();
                }
                if recent.contains_key(&key) {
                    return true;
                }
                recent.insert(key, at);
                order.push_back((key, at));
                false
            }
        }
    }
}
