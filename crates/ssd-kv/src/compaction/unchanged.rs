//! Finds input blocks that a merge does not change, and holds their pairs until that is known.
//!
//! Paper: the state machine of RemapCom. A block is at its *begin*, then *in progress*, and ends
//! *unchanged* or *changed*. Only the block of the current pair can still become unchanged: as soon as a
//! pair of another block comes, it is changed. So at most one block is held, as a reference to it and the
//! number of its pairs that have been passed.

use super::watch::PairEffect;
use crate::policy::InputBlock;
use crate::table::Origin;

/// Why an input block was not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// One of its pairs was dropped.
    Dropped,
    /// A pair of another block came between its pairs.
    Switched,
    /// A table ended among its pairs.
    Cut,
    /// It does not fill whole pages, or is compressed.
    Unaligned,
    /// The policy did not want it, or wanted it only if the open block was empty.
    Declined,
}

/// A block whose pairs so far were all kept, without a pair of another block between them.
pub(super) struct HeldBlock {
    pub(super) block: InputBlock,
    pub(super) origin: Origin,
    /// Its pairs that have been passed.
    pub(super) pairs: usize,
}

/// What to do about a pair.
pub(super) enum Step {
    /// It is held with its block, or dropped.
    Nothing,
    /// It is written.
    Write,
}

/// The state machine. Without a held block, the current block is changed, or none has begun.
#[derive(Default)]
pub(super) struct UnchangedBlocks {
    held: Option<HeldBlock>,
}

impl UnchangedBlocks {
    pub(super) fn held(&self) -> Option<&HeldBlock> {
        debug_assert!(self.held.as_ref().is_none_or(|h| h.pairs > 0), "held from its first pair");
        self.held.as_ref()
    }

    /// The block that was held, if the next pair changes it, and why.
    pub(super) fn changed_by(&mut self, next: &PairEffect) -> Option<(HeldBlock, Loss)> {
        let loss = match (&self.held, next.interrupted) {
            (Some(held), Some(interrupted)) => {
                debug_assert_eq!(held.block, interrupted, "the block of the last pair is held");
                Loss::Switched
            }
            (Some(_), None) if next.dropped && !next.starts => Loss::Dropped,
            _ => return None,
        };
        let held = self.held.take()?;
        assert!(held.pairs > 0, "a block is held from its first pair on");
        debug_assert!(
            loss != Loss::Dropped || held.block == next.block,
            "a block is changed by its own pair, or interrupted"
        );
        Some((held, loss))
    }

    /// Pass a pair; `origin` is its block. Returns what to do about it.
    pub(super) fn pass(
        &mut self,
        next: &PairEffect,
        origin: impl FnOnce() -> Option<Origin>,
    ) -> Step {
        debug_assert!(next.interrupted.is_none() || self.held.is_none(), "changed by the pair");
        if next.starts {
            debug_assert!(self.held.is_none(), "the block before has ended or is changed");
            let held = || Some(HeldBlock { block: next.block, origin: origin()?, pairs: 0 });
            self.held = if next.dropped { None } else { held() };
        }
        if next.dropped {
            debug_assert!(self.held.is_none(), "a block that loses a pair is changed");
            return Step::Nothing;
        }
        let Some(held) = &mut self.held else { return Step::Write };
        debug_assert_eq!(held.block, next.block, "the block of the current pair is held");
        debug_assert_eq!(held.pairs == 0, next.starts, "held from its first pair");
        held.pairs += 1;
        Step::Nothing
    }

    /// The held block, which is changed from outside.
    pub(super) fn give_up(&mut self) -> Option<HeldBlock> {
        debug_assert!(self.held.as_ref().is_none_or(|h| h.pairs > 0), "held from its first pair");
        self.held.take()
    }

    /// Note that a block has ended; returns it if it is unchanged.
    pub(super) fn ended(&mut self, block: InputBlock) -> Option<HeldBlock> {
        let held = self.held.as_ref();
        debug_assert!(held.is_none_or(|h| h.block == block), "the current block is held");
        debug_assert!(held.is_none_or(|h| h.pairs > 0), "a block with an entry");
        self.held.take_if(|held| held.block == block)
    }
}
