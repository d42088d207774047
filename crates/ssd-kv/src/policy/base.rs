//! Reuse that changes no byte of any table: an unchanged block is reused if it comes out the same.
//!
//! Paper: RemapCom-Base, RemapCom without retention of unchanged data blocks.

use super::{InputBlock, OpenBlock, OpenOutput, Pages, Policy, Reuse};

/// Page-aligned blocks, reused if the tables do not depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Base(pub Pages);

impl Policy for Base {
    fn cut_before(&mut self, open: &OpenBlock<'_>) -> bool {
        self.0.cut_before(open)
    }

    fn cut_after(&mut self, size: usize, target: usize) -> bool {
        self.0.cut_after(size, target)
    }

    fn padding(&mut self, end: u64) -> u64 {
        self.0.padding(end)
    }

    fn reuses(&self) -> Option<usize> {
        Some(self.0.page())
    }

    fn reuse(&mut self, _: InputBlock, _: OpenOutput) -> Reuse {
        Reuse::IfEmpty
    }
}
