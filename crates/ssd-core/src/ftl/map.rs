//! The page map: where the newest admitted data of every logical page are.
//!
//! 4 bytes per logical page. Values beyond the last physical page are in-flight slots: the newest admitted write of
//! that page is still in the controller. Only [`super::owners`] changes it.

use crate::memory::{huge_vec, prefetch};
use crate::units::{Lpn, OpSlot, Ppn};

const UNMAPPED: u32 = u32::MAX;

/// Where the newest admitted data of a logical page are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// Nowhere: never written, or trimmed.
    Unmapped,
    /// On flash.
    Page(Ppn),
    /// In the controller, in this slot.
    Slot(OpSlot),
}

/// The page map of one device.
#[derive(Clone)]
pub(super) struct Map {
    l2p: Vec<u32>,
    pages: u32,
}

impl Map {
    /// An empty map of `logical_pages` logical pages to `pages` physical pages.
    pub(super) fn new(logical_pages: u32, pages: u32) -> Map {
        assert!(pages < UNMAPPED / 2 + 1, "in-flight slots need room above the physical pages");
        Map { l2p: huge_vec(logical_pages as usize, UNMAPPED), pages }
    }

    /// Logical pages.
    pub(super) fn len(&self) -> u32 {
        self.l2p.len() as u32
    }

    /// In-flight slots that can exist at once.
    pub(super) fn slots(&self) -> u32 {
        UNMAPPED - self.pages
    }

    /// Where `lpn` is.
    #[inline(always)]
    pub(super) fn get(&self, lpn: Lpn) -> Entry {
        self.entry(self.l2p[lpn.at()])
    }

    /// Which of the `count` pages from `first` on are on flash, and which are unmapped, as bits. There is no branch per
    /// page, since it could not be predicted.
    #[inline]
    pub(super) fn states(&self, first: Lpn, count: u32) -> (u64, u64) {
        assert!(count <= 64, "{count} pages are no bits of a word");
        debug_assert!(first.at() + count as usize <= self.l2p.len(), "pages beyond the device");
        let values = &self.l2p[first.at()..first.at() + count as usize];
        let (mut on_flash, mut nowhere) = (0, 0);
        for &value in values.iter().rev() {
            on_flash = on_flash << 1 | u64::from(value < self.pages);
            nowhere = nowhere << 1 | u64::from(value == UNMAPPED);
        }
        debug_assert_eq!(on_flash & nowhere, 0, "a page is on flash and nowhere");
        (on_flash, nowhere)
    }

    #[inline(always)]
    fn entry(&self, value: u32) -> Entry {
        match value {
            UNMAPPED => Entry::Unmapped,
            v if v < self.pages => Entry::Page(Ppn(v)),
            v => Entry::Slot(OpSlot(v - self.pages)),
        }
    }

    /// Whether `lpn` is in `slot`.
    #[inline(always)]
    pub(super) fn is_in(&self, lpn: Lpn, slot: OpSlot) -> bool {
        debug_assert!(slot.0 < self.slots(), "{slot:?} out of range");
        self.l2p[lpn.at()] == self.pages + slot.0
    }

    /// If `lpn` is on `source`, move it to `target`. Returns whether it was.
    #[inline(always)]
    pub(super) fn moves(&mut self, lpn: Lpn, source: Ppn, target: Ppn) -> bool {
        debug_assert!(source.0 < self.pages && target.0 < self.pages, "{target:?} is not a page");
        debug_assert_ne!(source, target, "{lpn:?} moves to where it is");
        let entry = &mut self.l2p[lpn.at()];
        let was = *entry == source.0;
        if was {
            *entry = target.0;
        }
        was
    }

    /// Point `lpn` to `slot`. Returns where it was.
    #[inline(always)]
    pub(super) fn take(&mut self, lpn: Lpn, slot: OpSlot) -> Entry {
        debug_assert!(slot.0 < self.slots(), "{slot:?} out of range");
        let entry = self.pages + slot.0;
        let before = std::mem::replace(&mut self.l2p[lpn.at()], entry);
        debug_assert_ne!(before, entry, "{lpn:?} is admitted to {slot:?} twice");
        self.entry(before)
    }

    /// Set where `lpn` is.
    #[inline(always)]
    pub(super) fn set(&mut self, lpn: Lpn, entry: Entry) {
        self.l2p[lpn.at()] = match entry {
            Entry::Unmapped => UNMAPPED,
            Entry::Page(ppn) => {
                debug_assert!(ppn.0 < self.pages, "{ppn:?} is not a page");
                ppn.0
            }
            Entry::Slot(slot) => {
                debug_assert!(slot.0 < self.slots(), "{slot:?} out of range");
                self.pages + slot.0
            }
        };
    }

    /// Point `lpn`, which has nothing in flight, to `page`. Returns where it was.
    #[inline(always)]
    pub(super) fn replace(&mut self, lpn: Lpn, page: Ppn) -> Option<Ppn> {
        debug_assert!(page.0 < self.pages, "{page:?} is not a page");
        let before = std::mem::replace(&mut self.l2p[lpn.at()], page.0);
        debug_assert_ne!(before, page.0, "{lpn:?} replaces a page with itself");
        if before < self.pages {
            return Some(Ppn(before));
        }
        assert!(before == UNMAPPED, "nothing is in flight in functional mode");
        None
    }

    /// Point `lpns` to the pages from `first` on.
    #[inline]
    pub(super) fn set_run(&mut self, lpns: &[Lpn], first: Ppn) {
        debug_assert!(first.at() + lpns.len() <= self.pages as usize, "{first:?} is too far");
        let (fours, rest) = lpns.as_chunks::<4>();
        let mut page = first.0;
        for four in fours {
            for (i, lpn) in (0..).zip(four) {
                self.l2p[lpn.at()] = page + i;
            }
            page += 4;
        }
        for (lpn, page) in rest.iter().zip(page..) {
            self.l2p[lpn.at()] = page;
        }
    }

    /// Prefetch the entry of `lpn`.
    #[inline(always)]
    pub(super) fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.l2p, lpn.at());
    }

    /// The page of `lpn` if it is on flash, for prefetching: an LPN beyond the device has none.
    #[inline(always)]
    pub(super) fn page_hint(&self, lpn: Lpn) -> Option<Ppn> {
        let v = *self.l2p.get(lpn.at())?;
        (v < self.pages).then_some(Ppn(v))
    }

    /// Bytes held.
    pub(super) fn bytes_held(&self) -> usize {
        self.l2p.len() * 4
    }
}
