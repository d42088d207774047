//! The page map: logical to physical, and which physical pages are valid.
//!
//! 4 bytes a user page and 1 bit a physical page. Values of the map beyond the last physical page are
//! in-flight slots: the newest admitted write of that page is still in the controller.

use crate::memory::{huge_vec, prefetch};
use crate::units::{Lpn, Ppn};

const UNMAPPED: u32 = u32::MAX;

/// Where the newest admitted data of a logical page are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// Nowhere: never written, or trimmed.
    Unmapped,
    /// On flash.
    Page(Ppn),
    /// In the controller, in this slot.
    Slot(u32),
}

/// The page map of one device.
#[derive(Clone)]
pub struct Map {
    l2p: Vec<u32>,
    valid: Vec<u64>,
    pages: u32,
}

impl Map {
    /// An empty map of `user_pages` logical over `pages` physical pages.
    #[must_use]
    pub fn new(user_pages: u32, pages: u32) -> Map {
        assert!(pages < UNMAPPED / 2 + 1, "in-flight slots need room above the physical pages");
        Map {
            l2p: huge_vec(user_pages as usize, UNMAPPED),
            valid: huge_vec((pages as usize).div_ceil(64), 0),
            pages,
        }
    }

    /// Logical pages.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.l2p.len() as u32
    }

    /// Never true: a device has user pages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.l2p.is_empty()
    }

    /// In-flight slots that can exist at once.
    #[must_use]
    pub fn slots(&self) -> u32 {
        UNMAPPED - self.pages
    }

    /// Where `lpn` is.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, lpn: Lpn) -> Entry {
        match self.l2p[lpn.at()] {
            UNMAPPED => Entry::Unmapped,
            v if v < self.pages => Entry::Page(Ppn(v)),
            v => Entry::Slot(v - self.pages),
        }
    }

    /// Set where `lpn` is.
    #[inline(always)]
    pub fn set(&mut self, lpn: Lpn, entry: Entry) {
        self.l2p[lpn.at()] = match entry {
            Entry::Unmapped => UNMAPPED,
            Entry::Page(ppn) => {
                debug_assert!(ppn.0 < self.pages, "{ppn:?} is not a page");
                ppn.0
            }
            Entry::Slot(slot) => {
                debug_assert!(slot < self.slots(), "slot {slot} out of range");
                self.pages + slot
            }
        };
    }

    /// Whether a physical page holds live data.
    #[inline(always)]
    #[must_use]
    pub fn is_valid(&self, ppn: Ppn) -> bool {
        self.valid[ppn.at() / 64] >> (ppn.0 % 64) & 1 == 1
    }

    /// Mark a page valid.
    #[inline(always)]
    pub fn mark(&mut self, ppn: Ppn) {
        debug_assert!(!self.is_valid(ppn), "{ppn:?} is valid already");
        self.valid[ppn.at() / 64] |= 1 << (ppn.0 % 64);
    }

    /// Mark a page invalid.
    #[inline(always)]
    pub fn unmark(&mut self, ppn: Ppn) {
        assert!(self.is_valid(ppn), "{ppn:?} is released twice");
        self.valid[ppn.at() / 64] &= !(1 << (ppn.0 % 64));
    }

    /// Mark `count` pages from `first` on valid.
    pub fn mark_range(&mut self, first: Ppn, count: u32) {
        debug_assert!((first.0..first.0 + count).all(|p| !self.is_valid(Ppn(p))));
        for (word, mask) in words(first, Ppn(first.0 + count)) {
            self.valid[word] |= mask;
        }
    }

    /// Mark the pages `first..=last` invalid. Returns how many of them were valid.
    pub fn unmark_range(&mut self, first: Ppn, last: Ppn) -> u32 {
        let mut count = 0;
        for (word, mask) in words(first, Ppn(last.0 + 1)) {
            count += (self.valid[word] & mask).count_ones();
            self.valid[word] &= !mask;
        }
        count
    }

    /// Call `each` with every valid page in `from..end`, ascending.
    #[inline(always)]
    pub fn for_each_valid(&self, from: Ppn, end: Ppn, mut each: impl FnMut(Ppn)) {
        for (word, mask) in words(from, end) {
            let mut bits = self.valid[word] & mask;
            while bits != 0 {
                each(Ppn(word as u32 * 64 + bits.trailing_zeros()));
                bits &= bits - 1;
            }
        }
    }

    /// The first valid page in `from..end`.
    #[must_use]
    pub fn next_valid(&self, from: Ppn, end: Ppn) -> Option<Ppn> {
        let mut word = from.at() / 64;
        let mut bits = if from < end { self.valid[word] & (!0 << (from.0 % 64)) } else { 0 };
        loop {
            if bits != 0 {
                let found = word as u32 * 64 + bits.trailing_zeros();
                return (found < end.0).then_some(Ppn(found));
            }
            word += 1;
            if word * 64 >= end.at() {
                return None;
            }
            bits = self.valid[word];
        }
    }

    /// Valid pages in `from..end`.
    #[must_use]
    pub fn count_valid(&self, from: Ppn, end: Ppn) -> u32 {
        words(from, end).map(|(word, mask)| (self.valid[word] & mask).count_ones()).sum()
    }

    /// Which physical pages are valid: page `p` is bit `p % 64` of word `p / 64`.
    #[must_use]
    pub fn validity(&self) -> &[u64] {
        &self.valid
    }

    /// Fill an empty map from what the media hold: which pages are valid, and the LPN in each. Returns
    /// the number of valid pages.
    ///
    /// # Errors
    /// A valid page beyond the device, of an LPN beyond the device, or of an LPN that has another valid page.
    pub(crate) fn load(&mut self, valid: &[u64], lpns: &[u32]) -> Result<u64, String> {
        assert!(valid.len() == self.valid.len() && lpns.len() == self.pages as usize);
        let mut count = 0;
        for (word, &all) in valid.iter().enumerate() {
            let mut bits = all;
            while bits != 0 {
                let page = word as u32 * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                let Some(&lpn) = lpns.get(page as usize) else {
                    return Err(format!("page {page} is valid and beyond the device"));
                };
                match self.l2p.get_mut(lpn as usize) {
                    Some(entry) if *entry == UNMAPPED => *entry = page,
                    Some(entry) => {
                        return Err(format!("LPN {lpn} has two valid pages, {entry} and {page}"));
                    }
                    None => return Err(format!("page {page} holds LPN {lpn}, beyond the device")),
                }
                count += 1;
            }
        }
        self.valid.copy_from_slice(valid);
        Ok(count)
    }

    /// Prefetch the map entry of `lpn`.
    #[inline(always)]
    pub fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.l2p, lpn.at());
    }

    /// Prefetch the validity of the page where `lpn` is now; call some time after [`Map::prefetch`].
    #[inline(always)]
    #[must_use]
    pub fn prefetch_valid(&self, lpn: Lpn) -> Option<Ppn> {
        let v = *self.l2p.get(lpn.at())?;
        if v >= self.pages {
            return None;
        }
        prefetch(&self.valid, v as usize / 64);
        Some(Ppn(v))
    }

    /// Prefetch the validity of a page.
    #[inline(always)]
    pub fn prefetch_validity(&self, ppn: Ppn) {
        prefetch(&self.valid, ppn.at() / 64);
    }

    /// Memory in bytes.
    #[must_use]
    pub fn bytes_held(&self) -> usize {
        self.l2p.len() * 4 + self.valid.len() * 8
    }
}

/// The words that hold the bits `from..end`, each with the mask of these.
#[inline(always)]
fn words(from: Ppn, end: Ppn) -> impl Iterator<Item = (usize, u64)> {
    let (first, last) = (from.at() / 64, end.at().div_ceil(64));
    (first..last).map(move |word| {
        let low = if word == first { !0 << (from.0 % 64) } else { !0 };
        let high = if word == end.at() / 64 { (1 << (end.0 % 64)) - 1 } else { !0 };
        (word, low & high)
    })
}
