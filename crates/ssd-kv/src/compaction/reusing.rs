//! Compactions that reuse unchanged blocks: the mechanism for what `policy` decides.
//!
//! Pairs come out in the order of the merge, as without reuse, only later: those of a held block come when its fate is
//! known. Everything that decides where tables end is asked at the same pairs and in the same order, so a policy that
//! never closes an open block gets the tables of a compaction without reuse.

use super::unchanged::{HeldBlock, Loss, Step, UnchangedBlocks};
use super::watch::Watch;
use super::{Compaction, CompactionContext, Output, Progress, STEP};
use crate::error::Result;
use crate::format::block::BlockIter;
use crate::policy::{BlockEvent, OpenOutput, Reuse};
use crate::table::Origin;

/// What a compaction that reuses blocks needs.
pub(super) struct ReuseState {
    page: usize,
    watch: Watch,
    unchanged: UnchangedBlocks,
    /// Reads the pairs of held blocks again.
    pairs: Option<BlockIter>,
}

impl ReuseState {
    pub(super) fn new(page: usize, levels: Vec<usize>) -> ReuseState {
        assert!(page.is_power_of_two(), "a page of {page} bytes");
        let unchanged = UnchangedBlocks::default();
        ReuseState { page, watch: Watch::new(levels), unchanged, pairs: None }
    }
}

impl Compaction {
    /// As `step`.
    pub(super) fn step_reusing(&mut self, context: &mut CompactionContext<'_>) -> Result<Progress> {
        assert!(self.watch.is_none(), "one watch follows the merge");
        let start = context.stats.merged_bytes;
        let before = self.done.len();
        while self.merge.valid() {
            if context.stats.merged_bytes - start >= STEP || self.done.len() > before {
                return Ok(Progress::More);
            }
            let key = self.merge.key();
            context.stats.merged_bytes += (key.len() + self.merge.value().len()) as u64;
            let holds = self.reusing.as_ref().is_some_and(|r| r.unchanged.held().is_some());
            if self.limit.stops_before(key) && (self.open.is_some() || holds) {
                if let Some(held) = self.unchanged().give_up() {
                    self.lost(Loss::Cut, context);
                    self.write_again(&held, false, context)?;
                }
                if self.open.is_some() {
                    self.finish_output(context)?;
                }
            }
            self.pass(context)?;
            debug_assert!(self.done.len() <= before + 3, "a step ends with the table it finished");
        }
        let is_held = self.reusing.as_ref().is_some_and(|r| r.unchanged.held().is_some());
        assert!(!is_held, "every block ends with the last of its pairs");
        if self.done.len() > before {
            return Ok(Progress::More);
        }
        self.end(context)
    }

    fn unchanged(&mut self) -> &mut UnchangedBlocks {
        &mut self.reusing.as_mut().expect("a compaction that reuses blocks").unchanged
    }

    fn lost(&self, loss: Loss, context: &mut CompactionContext<'_>) {
        debug_assert!(self.reusing.is_some(), "losses are counted with reuse");
        context.stats.reuse[self.picked.level + 1].lose(loss);
    }

    /// Pass the current pair of the merge.
    fn pass(&mut self, context: &mut CompactionContext<'_>) -> Result<()> {
        assert!(self.merge.valid(), "a pair of a merge that has ended");
        let dropped = self.rule.drops(self.merge.key());
        let reusing = self.reusing.as_mut().expect("a compaction that reuses blocks");
        let passing = reusing.watch.pair(&self.merge, dropped).expect("compactions read tables");
        debug_assert_eq!(passing.dropped, dropped, "what the rule says");
        if context.policy.watches() {
            passing.tell(context.policy);
        }
        if let Some((held, loss)) = reusing.unchanged.changed_by(&passing) {
            self.lost(loss, context);
            self.write_again(&held, false, context)?;
        }
        if passing.starts {
            context.stats.reuse[self.picked.level + 1].input_blocks += 1;
            if dropped {
                self.lost(Loss::Dropped, context);
            }
        }
        let origin = || {
            let (table, handle, block) = self.merge.source().table()?.whole_block();
            Some(Origin { table: table.clone(), handle, block: block.clone() })
        };
        let reusing = self.reusing.as_mut().expect("a compaction that reuses blocks");
        if let Step::Write = reusing.unchanged.pass(&passing, origin) {
            self.add(context)?;
            self.finish_if_full(context)?;
        }
        let source = self.merge.current();
        self.merge.next()?;
        let reusing = self.reusing.as_mut().expect("a compaction that reuses blocks");
        let Some(ended) = reusing.watch.after(&self.merge, source) else { return Ok(()) };
        if context.policy.watches() {
            context.policy.event(ended, BlockEvent::End);
        }
        debug_assert_eq!(ended, passing.block, "the block of the pair ends");
        match reusing.unchanged.ended(ended) {
            Some(held) => self.settle(&held, context),
            None => Ok(()),
        }
    }

    /// Reuse a block that ended unchanged, or write its pairs again.
    fn settle(&mut self, held: &HeldBlock, context: &mut CompactionContext<'_>) -> Result<()> {
        let level = self.picked.level + 1;
        debug_assert_eq!(held.origin.table.number(), held.block.file, "the block of its table");
        debug_assert_eq!(held.origin.handle.offset, held.block.offset, "the block of its place");
        let page = self.reusing.as_ref().expect("a compaction that reuses blocks").page;
        let (entries, size) = self.open.as_ref().map_or((0, 0), |open| open.writer.open_block());
        let done: u64 = context.stats.levels[1..].iter().map(|level| level.bytes_written).sum();
        let open = self.open.as_ref().map_or(0, |open| open.writer.size());
        debug_assert!(entries == 0 || self.open.is_some(), "pairs of no output");
        debug_assert!(open < context.options.max_file_size, "a full table is finished");
        context.stats.reuse[level].unchanged_blocks += 1;
        let open = OpenOutput { entries, size, written: done + open };
        match context.policy.reuse(held.block, open) {
            Reuse::No => {
                self.lost(Loss::Declined, context);
                self.write_again(held, false, context)
            }
            Reuse::IfEmpty => self.write_again(held, true, context),
            Reuse::CloseFirst => {
                let Some(pages) = held.origin.table.pages(held.origin.handle, page)? else {
                    self.lost(Loss::Unaligned, context);
                    return self.write_again(held, false, context);
                };
                assert!(pages.len().is_multiple_of(page), "whole pages");
                if let Some(open) = &mut self.open {
                    open.writer.end_block(context.policy)?;
                    assert_eq!(open.writer.open_block().0, 0, "the open block has ended");
                    self.finish_if_full(context)?;
                }
                let first = held.origin.first_key()?;
                let output = Output::opened(&mut self.open, &first, context)?;
                let before = output.writer.entries();
                output.writer.add_block(&held.origin, &pages)?;
                let added = output.writer.entries() - before;
                assert_eq!(added, held.pairs as u64, "all pairs of the block were kept");
                self.finish_if_full(context)
            }
        }
    }

    /// Write the pairs of a block that have been passed, as if it had not been held. With `expecting`, the block is
    /// reused if it comes out the same.
    fn write_again(
        &mut self,
        held: &HeldBlock,
        expecting: bool,
        context: &mut CompactionContext<'_>,
    ) -> Result<()> {
        assert!(held.pairs > 0, "a block is held from its first pair on");
        let reusing = self.reusing.as_mut().expect("a compaction that reuses blocks");
        let page = reusing.page;
        debug_assert!(reusing.unchanged.held().is_none(), "the block is no longer held");
        let block = held.origin.block.clone();
        let mut pairs = match reusing.pairs.take() {
            Some(mut pairs) => {
                pairs.reset(block);
                pairs
            }
            None => BlockIter::new(block),
        };
        let damage = |d| held.origin.table.damage(held.origin.handle, d);
        pairs.first().map_err(damage)?;
        for passed in 0..held.pairs {
            assert!(pairs.valid(), "a block has the pairs that were passed");
            let output = Output::opened(&mut self.open, pairs.key(), context)?;
            let pair = (pairs.key(), pairs.value());
            if !expecting || passed > 0 {
                output.writer.add(pair.0, pair.1, context.policy)?;
            } else if !output.writer.add_first(pair, (&held.origin, page), context.policy)? {
                context.stats.reuse[self.picked.level + 1].lose(Loss::Declined);
            }
            let full = output.writer.size() >= context.options.max_file_size;
            if full && passed + 1 < held.pairs && output.writer.expect_nothing() {
                self.lost(Loss::Cut, context);
            }
            self.finish_if_full(context)?;
            pairs.next().map_err(damage)?;
        }
        debug_assert!(!expecting || !pairs.valid(), "an unchanged block is written as a whole");
        let reusing = self.reusing.as_mut().expect("a compaction that reuses blocks");
        reusing.pairs = Some(pairs);
        Ok(())
    }

    fn finish_if_full(&mut self, context: &mut CompactionContext<'_>) -> Result<()> {
        let most = context.options.max_file_size;
        debug_assert!(most > 0, "every table would be full");
        if self.open.as_ref().is_some_and(|open| open.writer.size() >= most) {
            self.finish_output(context)?;
            debug_assert!(self.open.is_none(), "a finished table is closed");
        }
        Ok(())
    }
}
