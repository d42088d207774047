//! A set of pages in the trace's address space, and the rank of each page.

use std::collections::BTreeMap;

/// Words of a chunk.
const WORDS: u64 = 8;
/// Pages of a chunk.
const CHUNK: u64 = 64 * WORDS;
/// Chunks below this number are in a list (pages below 2^31), others in a tree.
const LISTED: u64 = 1 << 22;
/// Marks a missing chunk.
const NONE: u32 = u32::MAX;

/// 64 pages.
#[derive(Clone, Copy, Default)]
struct Word {
    /// A bit for each page of the set.
    bits: u64,
    /// Number of pages of the set before this word, once the set is numbered.
    before: u64,
}

/// Collects pages; memory is 128 bytes for each chunk of 512 pages that has any, and 4 bytes of index for each chunk
/// below the highest, up to [`LISTED`].
#[derive(Default)]
pub(crate) struct PageSet {
    /// Position of each chunk, by its number.
    list: Vec<u32>,
    tree: BTreeMap<u64, u32>,
    chunks: Vec<[Word; WORDS as usize]>,
}

impl PageSet {
    /// Adds pages `first..=last`.
    #[inline(always)]
    pub(crate) fn add(&mut self, first: u64, last: u64) {
        debug_assert!(first <= last, "a range has at least one page");
        let (mut page, mut left) = (first, last - first + 1);
        while left > 0 {
            let at = self.chunk(page / CHUNK);
            // As many pages as fit the word.
            let count = left.min(64 - page % 64);
            let bits = u64::MAX >> (64 - count) << (page % 64);
            self.chunks[at][word_of(page)].bits |= bits;
            page += count;
            left -= count;
        }
    }

    /// Returns the number of chunks with a page.
    #[inline(always)]
    pub(crate) fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// Returns the number of pages.
    pub(crate) fn count(&self) -> u64 {
        self.chunks.iter().flatten().map(|word| u64::from(word.bits.count_ones())).sum()
    }

    /// Returns the position of chunk `number`, which is created if necessary.
    #[inline(always)]
    fn chunk(&mut self, number: u64) -> usize {
        match self.find(number) {
            Some(at) => at,
            None => self.make(number),
        }
    }

    #[inline(always)]
    fn find(&self, number: u64) -> Option<usize> {
        if number >= LISTED {
            return self.tree.get(&number).map(|&at| at as usize);
        }
        // The cast is safe: the number is below 2^22.
        let at = *self.list.get(number as usize)?;
        (at != NONE).then_some(at as usize)
    }

    #[cold]
    fn make(&mut self, number: u64) -> usize {
        let at = self.chunks.len();
        let index = u32::try_from(at).expect("fewer than 2^32 chunks fit into memory");
        self.chunks.push([Word::default(); WORDS as usize]);
        if number >= LISTED {
            self.tree.insert(number, index);
            return at;
        }
        let place = number as usize;
        if place >= self.list.len() {
            self.list.resize(place + 1, NONE);
        }
        self.list[place] = index;
        at
    }

    /// Numbers the set.
    pub(crate) fn finish(mut self) -> NumberedPages {
        let listed = (0u64..).zip(&self.list).filter(|&(_, &at)| at != NONE);
        let order: Vec<(u64, u32)> =
            listed.map(|(number, &at)| (number, at)).chain(self.tree.clone()).collect();
        let mut pages = 0;
        for &(_, at) in &order {
            for word in &mut self.chunks[at as usize] {
                word.before = pages;
                pages += u64::from(word.bits.count_ones());
            }
        }
        NumberedPages { set: self, order, pages }
    }
}

/// A set of pages, numbered from 0 in ascending order.
pub(crate) struct NumberedPages {
    set: PageSet,
    /// All chunks and their positions, ascending.
    order: Vec<(u64, u32)>,
    pages: u64,
}

impl NumberedPages {
    /// Returns the number of pages.
    pub(crate) const fn pages(&self) -> u64 {
        self.pages
    }

    /// Returns the number of pages of the set below `page`, which is the rank of `page` if the set contains it.
    #[inline(always)]
    pub(crate) fn below(&self, page: u64) -> u64 {
        let number = page / CHUNK;
        if let Some(at) = self.set.find(number) {
            let word = self.set.chunks[at][word_of(page)];
            let below = word.bits & !(u64::MAX << (page % 64));
            return word.before + u64::from(below.count_ones());
        }
        let after = self.order.partition_point(|&(chunk, _)| chunk < number);
        self.order.get(after).map_or(self.pages, |&(_, at)| self.set.chunks[at as usize][0].before)
    }

    /// Returns whether the set contains `page`.
    pub(crate) fn contains(&self, page: u64) -> bool {
        let at = self.set.find(page / CHUNK);
        at.is_some_and(|at| self.set.chunks[at][word_of(page)].bits >> (page % 64) & 1 != 0)
    }
}

/// Returns the index of a page's word in its chunk.
#[inline(always)]
const fn word_of(page: u64) -> usize {
    (page / 64 % WORDS) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::cases;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #![proptest_config(cases(256, 71))]

        #[test]
        fn it_equals_a_plain_set(
            ranges in proptest::collection::vec((0u64..3000, 0u64..1100), 0..20),
            far in prop::sample::select(vec![0u64, (LISTED - 2) * CHUNK, LISTED * CHUNK, 1 << 60]),
        ) {
            let (mut set, mut plain) = (PageSet::default(), BTreeSet::new());
            for (index, &(first, length)) in ranges.iter().enumerate() {
                let first = if index % 2 == 0 { first } else { far + first };
                set.add(first, first + length);
                plain.extend(first..=first + length);
            }
            prop_assert_eq!(set.count(), plain.len() as u64);
            let set = set.finish();
            prop_assert_eq!(set.pages(), plain.len() as u64);
            let sorted: Vec<u64> = plain.iter().copied().collect();
            for page in (0..5000).chain(far..far + 5000).chain([1 << 61]) {
                prop_assert_eq!(set.contains(page), plain.contains(&page));
                prop_assert_eq!(set.below(page), sorted.partition_point(|&one| one < page) as u64);
            }
        }
    }
}
