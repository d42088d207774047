//! The owners of all pages of a block, for copying the pages at once.

use crate::ftl::Ftl;
use crate::ftl::blocks::BlockState;
use crate::units::{BlockId, Lpn, Ppn};

/// Valid pages of a block, ascending, and their owners.
#[derive(Clone, Copy)]
pub struct ValidPages<'a> {
    /// The pages.
    pub pages: &'a [Ppn],
    /// As many addresses.
    pub lpns: &'a [Lpn],
}

impl<'a> ValidPages<'a> {
    /// The first `count` of them.
    #[must_use]
    pub fn first(self, count: usize) -> ValidPages<'a> {
        debug_assert_eq!(self.pages.len(), self.lpns.len(), "pages without addresses");
        ValidPages { pages: &self.pages[..count], lpns: &self.lpns[..count] }
    }

    /// Those after the first `count`.
    #[must_use]
    pub fn after(self, count: usize) -> ValidPages<'a> {
        debug_assert_eq!(self.pages.len(), self.lpns.len(), "pages without addresses");
        ValidPages { pages: &self.pages[count..], lpns: &self.lpns[count..] }
    }
}

/// The valid pages of a block and their owners, in memory that is reused for the next block.
#[derive(Default)]
pub struct OwnedPages {
    pages: Vec<Ppn>,
    lpns: Vec<Lpn>,
}

impl OwnedPages {
    /// Take the valid pages of `block`; prefetches the map entries of their owners before they are copied.
    pub fn take(&mut self, ftl: &Ftl, block: BlockId) {
        debug_assert!(
            ftl.blocks.state[block.at()] == BlockState::Collecting,
            "{block:?} is not collected"
        );
        self.pages.resize(ftl.geo.pages_per_block as usize, Ppn::NONE);
        self.lpns.resize(ftl.geo.pages_per_block as usize, Lpn::NONE);
        let first = ftl.geo.first_page(block);
        let end = Ppn(first.0 + ftl.geo.pages_per_block);
        let (lpns, mut count) = (ftl.flash.lpns(), 0);
        for (word, mut bits) in ftl.owners.valid_words(first, end) {
            let (start, more) = (word * 64, bits.count_ones() as usize);
            let carried = &lpns[start..lpns.len().min(start + 64)];
            let pages = &mut self.pages[count..count + more];
            for (page, lpn) in pages.iter_mut().zip(&mut self.lpns[count..count + more]) {
                let at = bits.trailing_zeros() as usize;
                // Clears the lowest bit, that at `at`.
                bits &= bits - 1;
                *page = Ppn((start + at) as u32);
                *lpn = Lpn(carried[at]);
                ftl.owners.prefetch(*lpn);
            }
            count += more;
        }
        self.pages.truncate(count);
        self.lpns.truncate(count);
        if ftl.owners.shares() {
            for (page, heir) in ftl.heirs_in(block) {
                let at = self.pages.binary_search(&page).expect("a page with owners is valid");
                self.lpns[at] = heir;
            }
        }
        let valid = usize::from(ftl.blocks.valid[block.at()]);
        assert_eq!(count, valid, "{block:?} has other valid pages than counted");
        debug_assert!(self.pages.is_sorted(), "pages of {block:?} are out of order");
        debug_assert!(
            self.lpns.iter().all(|l| l.0 < ftl.geo.logical_pages),
            "a page of no address"
        );
    }

    /// The pages.
    #[must_use]
    pub fn get(&self) -> ValidPages<'_> {
        debug_assert_eq!(self.pages.len(), self.lpns.len(), "pages without addresses");
        ValidPages { pages: &self.pages, lpns: &self.lpns }
    }
}
