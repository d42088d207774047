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

impl Watch {
    pub(super) fn new(levels: Vec<usize>) -> Watch {
        assert!(!levels.is_empty(), "a merge without sources is not watched");
        Watch { inside: vec![None; levels.len()], levels, last: 0 }
    }

    fn block_of(&self, source: usize, of: &Source) -> Option<InputBlock> {
        debug_assert!(of.valid(), "only at an entry is there a block");
        let table = of.table()?;
        let handle = table.block();
        let (offset, size) = (handle.offset, handle.size);
        debug_assert!(size > 0, "a block with an entry");
        Some(InputBlock { level: self.levels[source], file: table.file(), offset, size })
    }

    /// The current pair of the merge is kept or dropped.
    pub(super) fn pair(&mut self, merge: &Merge, dropped: bool, policy: &mut dyn Policy) {
        debug_assert!(merge.valid(), "a pair of a merge that has ended");
        debug_assert_eq!(self.inside.len(), self.levels.len(), "a block for each source");
        let source = merge.current();
        if source != self.last
            && let Some(interrupted) = self.inside[self.last]
        {
            policy.event(interrupted, BlockEvent::Switch);
        }
        self.last = source;
        debug_assert!(
            self.inside[source].is_none_or(|block| block.level == self.levels[source]),
            "a source changes its level"
        );
        if self.inside[source].is_none() {
            self.inside[source] = self.block_of(source, merge.source());
            if let Some(block) = self.inside[source] {
                policy.event(block, BlockEvent::Start);
            }
        }
        debug_assert!(self.inside[source].is_some(), "compactions read tables only");
        if let Some(block) = self.inside[source] {
            let event = if dropped { BlockEvent::KvDropped } else { BlockEvent::KvReserved };
            policy.event(block, event);
        }
    }

    /// The merge moved on; its last pair came from `source`.
    pub(super) fn after(&mut self, merge: &Merge, source: usize, policy: &mut dyn Policy) {
        debug_assert_eq!(source, self.last, "the source whose pair was told");
        debug_assert!(self.inside[source].is_some(), "a pair is told before its end");
        let Some(block) = self.inside[source] else { return };
        let at = merge.nth(source);
        if !at.valid() || self.block_of(source, at) != Some(block) {
            self.inside[source] = None;
            policy.event(block, BlockEvent::End);
        }
    }
}
