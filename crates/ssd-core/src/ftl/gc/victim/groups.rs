//! The fewest valid pages in each group of neighbouring blocks: shared by the greedy policies.
//!
//! Valid counts of sealed blocks only fall, so the minimum of a group follows an invalidation with
//! one `min`; the group is scanned again only when a block leaves it.

use crate::ftl::blocks::BlockTable;
use crate::units::{BlockId, PoolId};
use std::ops::Range;

/// "No member": more valid pages than a block can have.
pub(super) const NONE: u16 = u16::MAX;

/// Blocks of a group. Groups do not cross pools.
const GROUP: u32 = 64;

/// The member with the fewest valid pages, by the minimum of each group. The caller owns the array that defines
/// membership (`member[block] == yes`).
pub(super) struct GroupMinima {
    per_pool: u32,
    /// All groups have the same size, so the number of a block alone determines its group.
    aligned: bool,
    /// Fewest valid pages among the members of each group; `NONE` if it has no members.
    least: Vec<u16>,
}

impl GroupMinima {
    pub(super) fn new(table: &BlockTable) -> GroupMinima {
        assert!(table.pages_per_block < NONE, "valid counts need one value for \"no block\"");
        let per_pool = table.blocks_per_pool().div_ceil(GROUP);
        let aligned = table.blocks_per_pool().is_multiple_of(GROUP);
        GroupMinima { per_pool, aligned, least: vec![NONE; (per_pool * table.pools()) as usize] }
    }

    /// Build from the table and the membership.
    pub(super) fn init<M: Copy + PartialEq>(&mut self, table: &BlockTable, member: &[M], yes: M) {
        let groups = (self.per_pool * table.pools()) as usize;
        assert_eq!(self.least.len(), groups, "groups of another table");
        for group in 0..self.least.len() {
            self.rescan(group, table, member, yes);
        }
    }

    /// Note that member `block` is new or has fewer valid pages than before.
    #[inline(always)]
    pub(super) fn lower(&mut self, block: BlockId, table: &BlockTable) {
        let group = self.group_of(block, table);
        debug_assert!(self.blocks(group, table).contains(&block.at()), "{block:?} is elsewhere");
        debug_assert!(table.valid[block.at()] <= table.pages_per_block, "{block:?} overflows");
        self.least[group] = self.least[group].min(table.valid[block.at()]);
    }

    /// Note that `block` is no longer a member.
    pub(super) fn leave<M>(&mut self, block: BlockId, table: &BlockTable, member: &[M], yes: M)
    where
        M: Copy + PartialEq,
    {
        debug_assert!(member[block.at()] != yes, "{block:?} leaves and is still a member");
        let group = self.group_of(block, table);
        let before = if cfg!(debug_assertions) { self.least[group] } else { 0 };
        self.rescan(group, table, member, yes);
        debug_assert!(self.least[group] >= before, "{block:?}: the minimum was not the least");
    }

    #[inline(always)]
    fn group_of(&self, block: BlockId, table: &BlockTable) -> usize {
        if self.aligned {
            debug_assert!(table.blocks_per_pool().is_multiple_of(GROUP), "groups of another table");
            return (block.0 / GROUP) as usize;
        }
        let pool = table.pool_of(block).0;
        let within = block.0 - pool * table.blocks_per_pool();
        (pool * self.per_pool + within / GROUP) as usize
    }

    fn blocks(&self, group: usize, table: &BlockTable) -> Range<usize> {
        let (pool, index) = (group as u32 / self.per_pool, group as u32 % self.per_pool);
        let n = table.blocks_per_pool();
        let start = pool * n + index * GROUP;
        debug_assert!(start < (pool + 1) * n, "group {group} has no blocks");
        start as usize..(start + GROUP).min((pool + 1) * n) as usize
    }

    fn rescan<M>(&mut self, group: usize, table: &BlockTable, member: &[M], yes: M)
    where
        M: Copy + PartialEq,
    {
        let blocks = self.blocks(group, table);
        debug_assert_eq!(member.len(), table.len(), "membership is known of every block");
        let mut least = NONE;
        for (&valid, &is) in table.valid[blocks.clone()].iter().zip(&member[blocks]) {
            least = least.min(if is == yes { valid } else { NONE });
        }
        self.least[group] = least;
    }

    /// The member of `pool` with the fewest valid pages, ties to the lowest id.
    pub(super) fn select<M>(
        &self,
        pool: PoolId,
        table: &BlockTable,
        member: &[M],
        yes: M,
    ) -> Option<BlockId>
    where
        M: Copy + PartialEq,
    {
        let groups = self.groups(pool);
        let least = *self.least[groups.clone()].iter().min().expect("a pool has groups");
        if least == NONE {
            return None;
        }
        let group = self.least[groups.clone()].iter().position(|&valid| valid == least)?;
        let blocks = self.blocks(groups.start + group, table);
        let mut pairs = table.valid[blocks.clone()].iter().zip(&member[blocks.clone()]);
        let first = pairs.position(|(&valid, &is)| valid == least && is == yes);
        let first = first.expect("the minimum of a group belongs to a member");
        let block = BlockId((blocks.start + first) as u32);
        assert_eq!(table.pool_of(block), pool, "{block:?} is in a group of {pool:?}");
        Some(block)
    }

    fn groups(&self, pool: PoolId) -> Range<usize> {
        let first = pool.at() * self.per_pool as usize;
        debug_assert!(first + self.per_pool as usize <= self.least.len(), "there is no {pool:?}");
        first..first + self.per_pool as usize
    }

    /// All members of `pool` with the fewest valid pages, lowest id first.
    pub(super) fn ties<'a, M>(
        &'a self,
        pool: PoolId,
        table: &'a BlockTable,
        member: &'a [M],
        yes: M,
    ) -> impl Iterator<Item = BlockId> + Clone + 'a
    where
        M: Copy + PartialEq,
    {
        let groups = self.groups(pool);
        let least = *self.least[groups.clone()].iter().min().expect("a pool has groups");
        groups
            .filter(move |&g| least != NONE && self.least[g] == least)
            .flat_map(move |g| self.blocks(g, table))
            .filter(move |&b| table.valid[b] == least && member[b] == yes)
            .map(|b| BlockId(b as u32))
    }
}
