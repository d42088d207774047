//! Small sets of ids, such as the pools or units to which something has happened.

/// A set of small ids, returned in ascending order. The first 63, which suffice for most devices, need no memory
/// besides the set itself.
#[derive(Clone, Debug)]
pub(crate) struct IdSet {
    /// Ids below 63, as bits; bit 63: whether there are others.
    low: u64,
    /// Bit `i`: whether a word from `i << shift` up to those of the next bit is not zero.
    summary: u64,
    /// Ids from 63 on, as bits.
    words: Vec<u64>,
    shift: u32,
}

/// Ids in [`IdSet::low`].
const LOW: u32 = 63;

impl IdSet {
    /// An empty set of ids below `ids`.
    pub(crate) fn new(ids: u32) -> IdSet {
        let words = (ids as usize).saturating_sub(LOW as usize).div_ceil(64);
        let shift = words.div_ceil(64).next_power_of_two().trailing_zeros();
        IdSet { low: 0, summary: 0, words: vec![0; words.next_multiple_of(1 << shift)], shift }
    }

    /// Put an id in.
    #[inline(always)]
    pub(crate) fn insert(&mut self, id: u32) {
        if id < LOW {
            self.low |= 1 << id;
            return;
        }
        let word = (id - LOW) as usize / 64;
        self.low |= 1 << LOW;
        self.words[word] |= 1 << ((id - LOW) % 64);
        self.summary |= 1 << (word >> self.shift);
    }

    /// Whether the set is empty.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.low == 0
    }

    /// Take the lowest id out.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<u32> {
        if self.low == 0 {
            return None;
        }
        let id = self.low.trailing_zeros();
        if id == LOW {
            // Most devices have only low ids, so this is rarely reached.
            std::hint::cold_path();
            return Some(self.pop_from_words());
        }
        self.low &= self.low - 1;
        Some(id)
    }

    #[inline(never)]
    fn pop_from_words(&mut self) -> u32 {
        assert!(self.summary != 0, "there is an id");
        let mut at = (self.summary.trailing_zeros() as usize) << self.shift;
        while self.words[at] == 0 {
            at += 1;
        }
        let word = &mut self.words[at];
        let id = LOW + at as u32 * 64 + word.trailing_zeros();
        *word &= *word - 1;
        let end = (at | ((1 << self.shift) - 1)) + 1;
        if *word == 0 && self.words[at + 1..end].iter().all(|&w| w == 0) {
            self.summary &= self.summary - 1;
            self.low &= !(u64::from(self.summary == 0) << LOW);
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use std::collections::BTreeSet;

    #[test]
    fn ids_come_out_as_from_a_sorted_set() {
        for n in [1u32, 63, 64, 65, 127, 128, 129, 4096, 4097, 4160, 4161, 20_000] {
            let (mut ids, mut naive) = (IdSet::new(n), BTreeSet::new());
            let mut rng = Stream::new(u64::from(n), "ids");
            for _ in 0..3000 {
                if rng.chance(0.6) {
                    let id = rng.below(u64::from(n)) as u32;
                    ids.insert(id);
                    naive.insert(id);
                } else {
                    assert_eq!(ids.pop(), naive.pop_first());
                }
                assert_eq!(ids.is_empty(), naive.is_empty());
            }
        }
    }
}
