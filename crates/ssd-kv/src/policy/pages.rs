//! Page-aligned blocks: every data block begins at a page boundary and takes at most a given number of pages.
//!
//! A block is cut *before* it would overflow its pages; LevelDB's rule, which cuts afterwards, would leave
//! every block slightly larger than a page. Padding follows the block, because readers look up the filter of
//! a block by the offset at which it begins. LevelDB reads such tables like any others.

use super::{OpenBlock, Policy};
use crate::format::footer::TRAILER;

/// Blocks of whole pages.
#[derive(Clone, Copy, Debug)]
pub struct Pages {
    page: usize,
    pages: usize,
}

impl Pages {
    /// Blocks of `pages` pages of `page` bytes; larger only if a single pair needs more. Compression
    /// should be off: compressed blocks are padded too, and leave their pages partly empty.
    ///
    /// # Panics
    /// If `pages` is 0, or `page` is not a power of two of at least 512.
    #[must_use]
    pub fn new(page: usize, pages: usize) -> Pages {
        assert!(pages > 0, "a block has a page");
        assert!(page.is_power_of_two() && page >= 512, "a page is a power of two from 512 on");
        Pages { page, pages }
    }

    /// The page in bytes.
    #[must_use]
    pub fn page(&self) -> usize {
        self.page
    }
}

impl Policy for Pages {
    fn cut_before(&mut self, open: &OpenBlock<'_>) -> bool {
        debug_assert!(open.entries() > 0, "an empty block does not end");
        open.size_with_next() + TRAILER > self.page * self.pages
    }

    fn cut_after(&mut self, size: usize, _: usize) -> bool {
        size + TRAILER >= self.page * self.pages
    }

    fn padding(&mut self, end: u64) -> u64 {
        let zeros = end.next_multiple_of(self.page as u64) - end;
        debug_assert!(zeros < self.page as u64, "a whole page of zeros");
        zeros
    }
}
