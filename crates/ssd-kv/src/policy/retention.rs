//! Retention: the open output block ends early, so that an unchanged block stays whole and is reused.
//!
//! Blocks that end early leave the rest of their pages empty. Two limits bound what that costs: a least
//! size of the block that would end early, and a share of all bytes written.
//!
//! Paper: RemapCom with retention of unchanged data blocks; both limits are ours.

use super::{InputBlock, OpenBlock, OpenOutput, Pages, Policy, Reuse};
use crate::format::footer::TRAILER;

/// Page-aligned blocks, kept whole where they are unchanged.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    pages: Pages,
    least_fill: usize,
    most_zeros: Option<u32>,
    /// Zeros after blocks that ended early and after blocks that were kept, in bytes.
    zeros: u64,
}

impl Retention {
    /// Every unchanged block is kept.
    #[must_use]
    pub fn new(pages: Pages) -> Retention {
        Retention { pages, least_fill: 0, most_zeros: None, zeros: 0 }
    }

    /// End no block early that has fewer bytes than this.
    #[must_use]
    pub fn with_least_fill(self, bytes: usize) -> Retention {
        Retention { least_fill: bytes, ..self }
    }

    /// Keep blocks only while the zeros that this costs, after the blocks that ended early and after the
    /// blocks that were kept, are at most this many percent of the bytes that compactions write.
    #[must_use]
    pub fn with_space_budget(self, percent: u32) -> Retention {
        Retention { most_zeros: Some(percent), ..self }
    }

    fn zeros_after(&self, size: usize) -> u64 {
        debug_assert!(size > 0, "a block of no bytes");
        let used = size + TRAILER;
        (used.next_multiple_of(self.pages.page()) - used) as u64
    }
}

impl Policy for Retention {
    fn cut_before(&mut self, open: &OpenBlock<'_>) -> bool {
        self.pages.cut_before(open)
    }

    fn cut_after(&mut self, size: usize, target: usize) -> bool {
        self.pages.cut_after(size, target)
    }

    fn padding(&mut self, end: u64) -> u64 {
        self.pages.padding(end)
    }

    fn reuses(&self) -> Option<usize> {
        Some(self.pages.page())
    }

    fn reuse(&mut self, block: InputBlock, open: OpenOutput) -> Reuse {
        if open.entries > 0 && open.size < self.least_fill {
            return Reuse::IfEmpty;
        }
        let early = if open.entries > 0 { self.zeros_after(open.size) } else { 0 };
        let zeros = early + self.zeros_after(block.size as usize);
        if let Some(percent) = self.most_zeros {
            let allowed = u128::from(open.written) * u128::from(percent);
            if u128::from(self.zeros + zeros) * 100 > allowed {
                return Reuse::IfEmpty;
            }
        }
        debug_assert!(zeros < 2 * self.pages.page() as u64, "zeros of two blocks");
        self.zeros += zeros;
        Reuse::CloseFirst
    }
}
