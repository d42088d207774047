//! Greedy: the sealed block with the fewest valid pages.
//!
//! Paper: Desnoyers, "Analytic modeling of SSD write performance", SYSTOR 2012, section 3.
//! Where it is silent: ties go to the lowest block id (decided: any rule gives the same write
//! amplification in the mean field).
//! Index: the minimum of each group of 64 blocks (`groups`). An invalidation is one `min`; a choice
//! costs `blocks / 64 + 64` steps over contiguous memory.

use super::VictimPolicy;
use super::groups::Least;
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

/// Index of the greedy policy.
pub struct Policy {
    least: Least,
}

impl Policy {
    pub(super) fn build(_spec: &PolicySpec, table: &BlockTable) -> Policy {
        Policy { least: Least::new(table) }
    }
}

impl VictimPolicy for Policy {
    fn init(&mut self, table: &BlockTable, _clock: u64) {
        self.least.init(table, &table.state, BlockState::Sealed);
    }

    fn on_seal(&mut self, block: BlockId, table: &BlockTable, _clock: u64) {
        self.least.lower(block, table);
    }

    #[inline(always)]
    fn on_invalidate(&mut self, block: BlockId, table: &BlockTable, _clock: u64) {
        self.least.lower(block, table);
    }

    fn on_leave(&mut self, block: BlockId, table: &BlockTable) {
        self.least.leave(block, table, &table.state, BlockState::Sealed);
    }

    fn select(
        &mut self,
        pool: PoolId,
        table: &BlockTable,
        _clock: u64,
        _rng: &mut Stream,
    ) -> Option<BlockId> {
        self.least.select(pool, table, &table.state, BlockState::Sealed)
    }
}
