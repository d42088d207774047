//! Small sets of ids, as of pools or units that something has happened to.

/// A set of small ids, taken out in ascending order.
#[derive(Clone, Debug)]
pub(crate) struct IdSet {
    words: Vec<u64>,
    /// Bit `i`: some of the words from `i << shift` up to those of the next bit are not zero.
    summary: u64,
    shift: u32,
}

impl IdSet {
    /// Without ids, of which there are `ids`.
    pub(crate) fn new(ids: u32) -> IdSet {
        let words = (ids as usize).div_ceil(64);
        let shift = words.div_ceil(64).next_power_of_two().trailing_zeros();
        IdSet { words: vec![0; words.next_multiple_of(1 << shift)], summary: 0, shift }
    }

    /// Put an id in.
    #[inline(always)]
    pub(crate) fn insert(&mut self, id: u32) {
        let word = id as usize / 64;
        self.words[word] |= 1 << (id % 64);
        self.summary |= 1 << (word >> self.shift);
    }

    /// Whether there is no id in it.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.summary == 0
    }

    /// Take the lowest id out.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<u32> {
        if self.summary == 0 {
            return None;
        }
        let mut at = (self.summary.trailing_zeros() as usize) << self.shift;
        while self.words[at] == 0 {
            at += 1;
        }
        let word = &mut self.words[at];
        let id = (at * 64) as u32 + word.trailing_zeros();
        *word &= *word - 1;
        let end = (at | ((1 << self.shift) - 1)) + 1;
        if *word == 0 && self.words[at + 1..end].iter().all(|&w| w == 0) {
            self.summary &= self.summary - 1;
        }
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use std::collections::BTreeSet;

    #[test]
    fn ids_come_out_as_from_a_sorted_set() {
        for n in [1u32, 64, 65, 4096, 4097, 20_000] {
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
