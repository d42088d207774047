//! Greedy: the sealed block with the fewest valid pages.
//!
//! Paper: Desnoyers, "Analytic modeling of SSD write performance", SYSTOR 2012, section 3.
//! Where it is silent: ties go to the lowest block id (decided: any rule gives the same write
//! amplification in the mean field).
//! Index: the minimum of each group of 64 blocks. Valid counts of sealed blocks only fall, so an
//! invalidation is one `min`; a group is scanned again only when a block leaves it. A choice costs
//! `blocks / 64 + 64` steps over contiguous memory.

use super::VictimPolicy;
use crate::ftl::blocks::{BlockState, BlockTable};
use crate::plug::{PolicyInfo, PolicySpec};
use crate::rng::Stream;
use crate::units::{BlockId, PoolId};

/// What greedy says of itself.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "greedy",
    summary: "the sealed block with the fewest valid pages",
    paper: "Desnoyers, Analytic modeling of SSD write performance, SYSTOR 2012, section 3",
    params: &[],
};

const GROUP: u32 = 64;
const NONE: u16 = u16::MAX;

/// Index of the greedy policy.
pub struct Policy {
    /// Fewest valid pages among the sealed blocks of each group; `NONE` without any. Groups do not
    /// cross pools.
    least: Vec<u16>,
    groups_per_pool: u32,
}

impl Policy {
    pub(super) fn build(_spec: &PolicySpec, table: &BlockTable) -> Policy {
        let groups_per_pool = table.blocks_per_pool().div_ceil(GROUP);
        let groups = (groups_per_pool * table.pools()) as usize;
        Policy { least: vec![NONE; groups], groups_per_pool }
    }

    #[inline(always)]
    fn group_of(&self, block: BlockId, table: &BlockTable) -> usize {
        let pool = table.pool_of(block).0;
        let within = block.0 - pool * table.blocks_per_pool();
        (pool * self.groups_per_pool + within / GROUP) as usize
    }

    fn range_of(&self, group: usize, table: &BlockTable) -> std::ops::Range<usize> {
        let (pool, index) =
            (group as u32 / self.groups_per_pool, group as u32 % self.groups_per_pool);
        let n = table.blocks_per_pool();
        let start = pool * n + index * GROUP;
        start as usize..(start + GROUP).min((pool + 1) * n) as usize
    }

    fn rescan(&mut self, group: usize, table: &BlockTable) {
        let range = self.range_of(group, table);
        let mut least = NONE;
        for (&valid, &state) in table.valid[range.clone()].iter().zip(&table.state[range]) {
            least = least.min(if state == BlockState::Sealed { valid } else { NONE });
        }
        self.least[group] = least;
    }
}

impl VictimPolicy for Policy {
    fn init(&mut self, table: &BlockTable, _clock: u64) {
        for group in 0..self.least.len() {
            self.rescan(group, table);
        }
    }

    fn on_seal(&mut self, block: BlockId, table: &BlockTable, _clock: u64) {
        self.on_invalidate(block, table, 0);
    }

    #[inline(always)]
    fn on_invalidate(&mut self, block: BlockId, table: &BlockTable, _clock: u64) {
        let group = self.group_of(block, table);
        self.least[group] = self.least[group].min(table.valid[block.at()]);
    }

    fn on_leave(&mut self, block: BlockId, table: &BlockTable) {
        debug_assert!(!table.is_candidate(block), "{block:?} leaves and is still a candidate");
        self.rescan(self.group_of(block, table), table);
    }

    fn select(
        &mut self,
        pool: PoolId,
        table: &BlockTable,
        _clock: u64,
        _rng: &mut Stream,
    ) -> Option<BlockId> {
        let first = (pool.0 * self.groups_per_pool) as usize;
        let groups = &self.least[first..first + self.groups_per_pool as usize];
        let least = *groups.iter().min().expect("a pool has groups");
        if least == NONE {
            return None;
        }
        let group = first + groups.iter().position(|&v| v == least).expect("the minimum is there");
        let block = self
            .range_of(group, table)
            .find(|&b| table.valid[b] == least && table.state[b] == BlockState::Sealed)
            .expect("a group's minimum belongs to a sealed block");
        Some(BlockId(block as u32))
    }
}
