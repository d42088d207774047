//! Choosing a victim: the blocks to choose from, the victim policy, and what happens if its choice gains nothing.

use super::gc::victim::VictimPolicy;
use super::separation::VictimScope;
use super::{Choice, Ftl};
use crate::units::{BlockId, PoolId};

impl Ftl {
    /// The victim of `pool`: the policy's choice among the blocks that a separation policy names. If that makes no
    /// progress and `must_progress` is set (foreground), the block with the fewest valid pages. `None` if there is
    /// nothing to gain.
    pub fn choose(&mut self, pool: PoolId, must_progress: bool) -> Option<Choice> {
        debug_assert_eq!(self.space.promised(pool), 0, "{pool:?} collects while it levels");
        let (chosen, among) = if self.separates() {
            self.select_by_class(pool)
        } else {
            (self.select(pool, VictimScope::All), VictimScope::All)
        };
        if let Some(block) = chosen {
            assert!(self.blocks.is_candidate(block), "victim {block:?} is not sealed");
            assert_eq!(self.blocks.pool_of(block), pool, "victim {block:?} of another pool");
            if self.is_worth_it(pool, block, among) && self.fits(block) {
                return Some(Choice::of_policy(block));
            }
        }
        if chosen.is_none() && !self.policy_declines {
            self.policy_declines = self.fewest_valid(pool).is_some();
        }
        if must_progress {
            let block = self.fewest_valid(pool).filter(|&block| self.fits(block))?;
            return Some(Choice { by_reserve: true, ..Choice::of_policy(block) });
        }
        // A fully valid victim gains nothing by itself, but other blocks may follow it.
        chosen
            .filter(|&block| self.fits(block) && self.fewest_valid(pool).is_some())
            .map(Choice::of_policy)
    }

    /// The policy's choice among the blocks that the separation policy names, and these blocks. If such a choice would
    /// gain nothing, now and forever, all blocks are eligible.
    #[inline(never)]
    fn select_by_class(&mut self, pool: PoolId) -> (Option<BlockId>, VictimScope) {
        debug_assert!(self.separates(), "{pool:?} has no classes");
        let among = self.victim_among(pool);
        let chosen = self.select(pool, among);
        if among == VictimScope::All
            || chosen.is_some_and(|block| self.is_worth_it(pool, block, among))
        {
            return (chosen, among);
        }
        (self.select(pool, VictimScope::All), VictimScope::All)
    }

    /// Whether collecting `block` gains a page, or passes its pages on to another class.
    #[inline(always)]
    fn is_worth_it(&self, pool: PoolId, block: BlockId, among: VictimScope) -> bool {
        debug_assert_eq!(self.blocks.pool_of(block), pool, "{block:?} of another pool");
        self.blocks.invalid(block) > 0 || self.passes_on(pool, block, among)
    }

    /// The victim policy's choice for `pool` within `among`; among all blocks if `among` is empty.
    fn select(&mut self, pool: PoolId, among: VictimScope) -> Option<BlockId> {
        let Ftl { victim, blocks, clock, rng, .. } = self;
        let choice = match among {
            VictimScope::All => None,
            _ => victim.select_among(among, pool, blocks, *clock, rng),
        };
        debug_assert!(choice.is_none_or(|b| blocks.is_candidate(b)), "{choice:?} is not sealed");
        choice.or_else(|| victim.select(pool, blocks, *clock, rng))
    }

    /// The blocks of `pool` that `amount = "all-candidates"` collects now: those that the policy names, or none if no
    /// block has an invalid page.
    #[must_use]
    pub fn candidates(&mut self, pool: PoolId) -> Vec<BlockId> {
        debug_assert_eq!(self.space.promised(pool), 0, "{pool:?} collects while it levels");
        if self.fewest_valid(pool).is_none() {
            return Vec::new();
        }
        let candidates = self.victim.candidates(pool, &self.blocks, self.clock);
        self.policy_declines |= candidates.is_empty();
        let sealed = |&b: &BlockId| self.blocks.is_candidate(b);
        assert!(
            candidates.iter().all(sealed),
            "candidates of {pool:?} that are not sealed: {candidates:?}"
        );
        let in_pool = |&b: &BlockId| self.blocks.pool_of(b) == pool;
        assert!(
            candidates.iter().all(in_pool),
            "candidates of {pool:?} from elsewhere: {candidates:?}"
        );
        candidates
    }

    /// The sealed block of `pool` with the fewest valid pages, if it has an invalid page.
    #[must_use]
    pub fn fewest_valid(&self, pool: PoolId) -> Option<BlockId> {
        self.blocks
            .of_pool(pool)
            .filter(|&b| self.blocks.is_candidate(b) && self.blocks.invalid(b) > 0)
            .min_by_key(|&b| (self.blocks.valid[b.at()], b))
    }
}
