//! Turns the progress of a merge into the events of its input blocks.

use crate::merge::{Merge, Source};
use crate::policy::{BlockEvent, InputBlock, Policy};

/// The current block of each source.
pub(super) struct Watch {
    /// Level of each source.
    levels: Vec<usize>,
    inside: Vec<Option<InputBlock>>,
    /// The source of the previous pair.
    last: usize,
}

/// What the current pair of a merge means for blocks, in the order of the fields.
#[derive(Clone, Copy)]
pub(super) struct PairEffect {
    /// The block that it interrupts.
    pub(super) interrupted: Option<InputBlock>,
    /// Whether it is the first of its block.
    pub(super) starts: bool,
    /// Its block.
    pub(super) block: InputBlock,
    /// Whether it is dropped.
    pub(super) dropped: bool,
}

impl PairEffect {
    /// Tell a policy.
    pub(super) fn tell(&self, policy: &mut dyn Policy) {
        debug_assert!(self.interrupted != Some(self.block), "a block interrupts another one");
        if let Some(interrupted) = self.interrupted {
            policy.event(interrupted, BlockEvent::Switch);
        }
        if self.starts {
            policy.event(self.block, BlockEvent::Start);
        }
        let event = if self.dropped { BlockEvent::KvDropped } else { BlockEvent::KvReserved };
        policy.event(self.block, event);
    }
}

impl Watch {
    pub(super) fn new(levels: Vec<usize>) -> Watch {
        assert!(!levels.is_empty(), "a merge without sources is not watched");
        Watch { inside: vec![None; levels.len()], levels, last: 0 }
    }

    fn block_of(&self, source: usize, cursor: &Source) -> Option<InputBlock> {
        debug_assert!(cursor.valid(), "only at an entry is there a block");
        let table = cursor.table()?;
        let handle = table.block();
        let (offset, size) = (handle.offset, handle.size);
        debug_assert!(size > 0, "a block with an entry");
        Some(InputBlock { level: self.levels[source], file: table.file(), offset, size })
    }

    /// Note that the current pair of the merge is kept or dropped. `None` if it belongs to no table.
    pub(super) fn pair(&mut self, merge: &Merge, dropped: bool) -> Option<PairEffect> {
        debug_assert!(merge.valid(), "a pair of a merge that has ended");
        debug_assert_eq!(self.inside.len(), self.levels.len(), "a block for each source");
        let source = merge.current();
        let interrupted = if source == self.last { None } else { self.inside[self.last] };
        self.last = source;
        debug_assert!(
            self.inside[source].is_none_or(|block| block.level == self.levels[source]),
            "a source changes its level"
        );
        let starts = self.inside[source].is_none();
        if starts {
            self.inside[source] = self.block_of(source, merge.source());
        }
        debug_assert!(self.inside[source].is_some(), "compactions read tables only");
        let block = self.inside[source]?;
        debug_assert_ne!(interrupted, Some(block), "a block is of one source");
        debug_assert!(interrupted.is_none() || self.levels.len() > 1, "nobody interrupts");
        Some(PairEffect { interrupted, starts, block, dropped })
    }

    /// Note that the merge has moved on; its last pair came from `source`. Returns the block that has ended with it, if
    /// any.
    pub(super) fn after(&mut self, merge: &Merge, source: usize) -> Option<InputBlock> {
        debug_assert_eq!(source, self.last, "the source whose pair was reported");
        debug_assert!(self.inside[source].is_some(), "a pair is reported before its end");
        let block = self.inside[source]?;
        debug_assert_eq!(block.level, self.levels[source], "a source changes its level");
        let at = merge.nth(source);
        if at.valid() && self.block_of(source, at) == Some(block) {
            return None;
        }
        self.inside[source] = None;
        Some(block)
    }
}
