//! Sets of pages: runs in the trace's address space, and a bitmap of the device's.

/// Number of ranges collected before the first merge.
const FIRST_MERGE: usize = 1 << 16;

/// Collects page ranges; memory is proportional to the number of separate runs, not of ranges.
#[derive(Default)]
pub(crate) struct RunCollector {
    /// Disjoint, ascending runs with gaps between them: (first, last).
    merged: Vec<(u64, u64)>,
    fresh: Vec<(u64, u64)>,
}

impl RunCollector {
    /// Adds pages `first..=last`.
    #[inline]
    pub(crate) fn add(&mut self, first: u64, last: u64) {
        debug_assert!(first <= last, "a range has at least one page");
        if let Some(run) = self.fresh.last_mut()
            && run.0 <= first
            && first <= run.1.saturating_add(1)
        {
            run.1 = run.1.max(last);
            return;
        }
        if self.fresh.len() >= self.merged.len().max(FIRST_MERGE) {
            self.merge();
        }
        self.fresh.push((first, last));
    }

    fn merge(&mut self) {
        self.fresh.sort_unstable();
        let mut runs: Vec<(u64, u64)> = Vec::with_capacity(self.merged.len() + self.fresh.len());
        let mut old = self.merged.iter().copied().peekable();
        let mut new = self.fresh.drain(..).peekable();
        while let Some(run) = match (old.peek(), new.peek()) {
            (Some(left), Some(right)) if right < left => new.next(),
            (Some(_), _) => old.next(),
            (None, _) => new.next(),
        } {
            match runs.last_mut() {
                Some(last) if run.0 <= last.1.saturating_add(1) => last.1 = last.1.max(run.1),
                _ => runs.push(run),
            }
        }
        drop(new);
        self.merged = runs;
    }

    /// Returns the number of pages in the set.
    pub(crate) fn count(mut self) -> u64 {
        self.merge();
        self.merged.iter().map(|(first, last)| last - first + 1).sum()
    }
}

/// A set of device pages.
pub(crate) struct PageBits {
    words: Vec<u64>,
}

impl PageBits {
    /// Creates an empty set of pages below `pages`.
    pub(crate) fn new(pages: u32) -> PageBits {
        PageBits { words: vec![0; (pages as usize).div_ceil(64)] }
    }

    /// Adds pages `first..=last`.
    pub(crate) fn add(&mut self, first: u64, last: u64) {
        let (low, high) = ((first / 64) as usize, (last / 64) as usize);
        let (from, to) = (u64::MAX << (first % 64), u64::MAX >> (63 - last % 64));
        if low == high {
            self.words[low] |= from & to;
            return;
        }
        self.words[low] |= from;
        self.words[low + 1..high].fill(u64::MAX);
        self.words[high] |= to;
    }

    /// Returns the number of pages in the set.
    pub(crate) fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::cases;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #![proptest_config(cases(256, 73))]

        #[test]
        fn both_sets_equal_a_plain_one(
            ranges in proptest::collection::vec((0u64..300, 0u64..90), 1..60),
            merge_at in 0usize..60,
        ) {
            let mut collector = RunCollector::default();
            let (mut bits, mut plain) = (PageBits::new(400), BTreeSet::new());
            for (index, &(first, length)) in ranges.iter().enumerate() {
                collector.add(first, first + length);
                bits.add(first, first + length);
                plain.extend(first..=first + length);
                if index == merge_at {
                    collector.merge();
                }
            }
            prop_assert_eq!(collector.count(), plain.len() as u64);
            prop_assert_eq!(bits.count(), plain.len() as u64);
        }
    }
}
