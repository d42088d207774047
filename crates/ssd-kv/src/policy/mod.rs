//! Plugs, one file each, that lay out tables and watch compactions.
//!
//! A policy sees every event of every input block of a compaction and answers where output blocks
//! end, how they are padded, and which unchanged blocks are reused. It never reads, writes or moves
//! anything itself.

mod base;
mod pages;
mod retention;
mod stock;

pub use base::Base;
pub use pages::Pages;
pub use retention::Retention;
pub use stock::Stock;

use crate::format::block_builder::BlockBuilder;

/// A data block that a compaction reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InputBlock {
    /// The level it is read from.
    pub level: usize,
    /// Number of its file.
    pub file: u64,
    /// Where it begins in the file, in bytes.
    pub offset: u64,
    /// Its size in the file without the trailer, in bytes.
    pub size: u64,
}

/// What happens to an input block, in order: it starts, its pairs are kept or dropped, pairs of other
/// blocks come between them (a switch), it ends.
///
/// Paper: the five events of RemapCom's state machine. A block can be reused unchanged if all its
/// pairs are kept and no other pair came between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockEvent {
    /// Its first pair comes next.
    Start,
    /// One of its pairs is kept.
    KvReserved,
    /// One of its pairs is dropped: overwritten, or a deletion that hides nothing any more.
    KvDropped,
    /// A pair of another block comes before its next one.
    Switch,
    /// Its last pair has been passed.
    End,
}

/// The output block being filled, and the pair that comes next.
pub struct OpenBlock<'a> {
    pub(crate) builder: &'a BlockBuilder,
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
}

impl OpenBlock<'_> {
    /// Pairs in the block.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.builder.entries()
    }

    /// Size of the block before compression in bytes, if it ended here.
    #[must_use]
    pub fn size(&self) -> usize {
        self.builder.size()
    }

    /// Size of the block before compression in bytes, if it ended after the next pair.
    #[must_use]
    pub fn size_with_next(&self) -> usize {
        let size = self.builder.size_with(self.key, self.value);
        debug_assert!(size > self.builder.size(), "a pair takes bytes");
        size
    }
}

/// What to do with an input block that ended unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// Its pairs are written again.
    No,
    /// It is reused if the output block is empty when it begins and ends where it ends: then the table
    /// gets the same bytes as if its pairs were written again.
    IfEmpty,
    /// The open output block ends first, so that this one can be reused as it is.
    CloseFirst,
}

/// What a compaction has written when an input block has ended unchanged; pairs of that block excluded.
#[derive(Clone, Copy, Debug)]
pub struct OpenOutput {
    /// Pairs in the open output block.
    pub entries: usize,
    /// Its size in bytes before compression, if it ended here.
    pub size: usize,
    /// Bytes of tables that compactions have written since the store was opened.
    pub written: u64,
}

/// Decides the layout of tables and watches compactions.
pub trait Policy: Send + Sync {
    /// Whether it wants to receive events.
    fn watches(&self) -> bool {
        false
    }

    /// An event of an input block.
    fn event(&mut self, block: InputBlock, event: BlockEvent) {
        let _ = (block, event);
    }

    /// Whether the open block ends before the next pair. The block is not empty.
    fn cut_before(&mut self, open: &OpenBlock<'_>) -> bool {
        debug_assert!(open.entries() > 0, "an empty block does not end");
        false
    }

    /// Whether a block of `size` bytes ends here; `target` is the block size in the options.
    fn cut_after(&mut self, size: usize, target: usize) -> bool {
        size >= target
    }

    /// The page in bytes, a power of two, if compactions reuse unchanged blocks: each must begin at a page
    /// and be followed by zeros up to the next one. The layout aligns its blocks to the same page.
    fn reuses(&self) -> Option<usize> {
        None
    }

    /// What to do with an input block that ended unchanged.
    fn reuse(&mut self, block: InputBlock, open: OpenOutput) -> Reuse {
        let _ = (block, open);
        Reuse::No
    }

    /// Zero bytes to write after a data block that ends, with its trailer, at offset `end` of the file.
    fn padding(&mut self, end: u64) -> u64 {
        let _ = end;
        0
    }
}
