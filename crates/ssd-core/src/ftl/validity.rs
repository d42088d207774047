//! Which physical pages have an owner: one bit per page. Only [`super::owners`] changes it.

use crate::memory::{huge_vec, prefetch};
use crate::units::Ppn;

/// The pages with live data of one device.
#[derive(Clone)]
pub(super) struct Validity {
    words: Vec<u64>,
}

impl Validity {
    /// No page of `pages` is valid.
    pub(super) fn new(pages: u32) -> Validity {
        assert!(pages > 0, "a device without pages");
        Validity { words: huge_vec((pages as usize).div_ceil(64), 0) }
    }

    /// Whether a page holds live data.
    #[inline(always)]
    pub(super) fn is_valid(&self, ppn: Ppn) -> bool {
        self.words[ppn.at() / 64] >> (ppn.0 % 64) & 1 == 1
    }

    /// Mark a page valid.
    #[inline(always)]
    pub(super) fn mark(&mut self, ppn: Ppn) {
        debug_assert!(!self.is_valid(ppn), "{ppn:?} is valid already");
        self.words[ppn.at() / 64] |= 1 << (ppn.0 % 64);
    }

    /// Mark a page invalid.
    #[inline(always)]
    pub(super) fn unmark(&mut self, ppn: Ppn) {
        let (word, bit) = (&mut self.words[ppn.at() / 64], 1 << (ppn.0 % 64));
        assert!(*word & bit != 0, "{:?} is released twice", { ppn });
        *word ^= bit;
    }

    /// As `clear`, for a page that may be invalid already. Returns whether it was valid.
    #[inline(always)]
    pub(super) fn take(&mut self, ppn: Ppn) -> bool {
        let (word, bit) = (&mut self.words[ppn.at() / 64], 1 << (ppn.0 % 64));
        let was = *word & bit != 0;
        *word &= !bit;
        was
    }

    /// Mark `count` pages from `first` on valid.
    pub(super) fn mark_range(&mut self, first: Ppn, count: u32) {
        debug_assert!((first.0..first.0 + count).all(|p| !self.is_valid(Ppn(p))));
        for (word, mask) in words(first, Ppn(first.0 + count)) {
            self.words[word] |= mask;
        }
    }

    /// Mark the pages `first..=last` invalid. Returns how many of them were valid.
    pub(super) fn unmark_range(&mut self, first: Ppn, last: Ppn) -> u32 {
        let mut count = 0;
        for (word, mask) in words(first, Ppn(last.0 + 1)) {
            count += (self.words[word] & mask).count_ones();
            self.words[word] &= !mask;
        }
        count
    }

    /// The words with the pages `from..end`, with their numbers, without the bits of other pages.
    #[inline(always)]
    pub(super) fn words_of(&self, from: Ppn, end: Ppn) -> impl Iterator<Item = (usize, u64)> {
        words(from, end).map(|(word, mask)| (word, self.words[word] & mask))
    }

    /// The first valid page in `from..end`.
    #[inline]
    pub(super) fn next(&self, from: Ppn, end: Ppn) -> Option<Ppn> {
        debug_assert!(from <= end, "pages from {from:?} to {end:?}");
        debug_assert!(end.at() <= self.words.len() * 64, "{end:?} is beyond the device");
        let mut word = from.at() / 64;
        let mut bits = if from < end { self.words[word] & (!0 << (from.0 % 64)) } else { 0 };
        loop {
            if bits != 0 {
                let page = word as u32 * 64 + bits.trailing_zeros();
                return (page < end.0).then_some(Ppn(page));
            }
            word += 1;
            if word * 64 >= end.at() {
                return None;
            }
            bits = self.words[word];
        }
    }

    /// Valid pages in `from..end`.
    pub(super) fn count(&self, from: Ppn, end: Ppn) -> u32 {
        debug_assert!(end.at() <= self.words.len() * 64, "{end:?} is beyond the device");
        words(from, end).map(|(word, mask)| (self.words[word] & mask).count_ones()).sum()
    }

    /// Page `p` is bit `p % 64` of word `p / 64`.
    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Take over the validity of all pages.
    pub(super) fn load(&mut self, words: &[u64]) {
        debug_assert!(self.words.iter().all(|&word| word == 0), "validity is loaded over data");
        self.words.copy_from_slice(words);
    }

    /// Prefetch the validity of a page.
    #[inline(always)]
    pub(super) fn prefetch(&self, ppn: Ppn) {
        prefetch(&self.words, ppn.at() / 64);
    }

    /// Bytes held.
    pub(super) fn bytes_held(&self) -> usize {
        self.words.len() * 8
    }
}

/// The words that hold the bits `from..end`, each with a mask of those bits.
#[inline(always)]
fn words(from: Ppn, end: Ppn) -> impl Iterator<Item = (usize, u64)> {
    debug_assert!(from <= end, "pages from {from:?} to {end:?}");
    let (first, last) = (from.at() / 64, end.at().div_ceil(64));
    (first..last).map(move |word| {
        let low = if word == first { !0 << (from.0 % 64) } else { !0 };
        let high = if word == end.at() / 64 { (1 << (end.0 % 64)) - 1 } else { !0 };
        (word, low & high)
    })
}
