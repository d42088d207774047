//! Random: any sealed block of the pool, each with the same probability.
//!
//! Paper: Van Houdt, "A mean field model for a class of garbage collection algorithms in
//! flash-based solid state drives", SIGMETRICS 2013 (the Random algorithm).
//! Where it is silent, decided: fully valid blocks may be chosen. A draw takes ids of the pool from the
//! stream until one is sealed: uniform, and a function of the table and the stream alone, whatever happened
//! before. `amount = "all-candidates"`, which needs an order, uses the default one.
//! Index: the number of sealed blocks of each pool, so that an empty pool is detected without a draw. A
//! choice takes `blocks / sealed` numbers on average, little more than one on a device in use.

use super::VictimPolicy;
use crate::ftl::blocks::BlockTable;
use crate::plug::{PolicyInfo, PolicySpec};
use crate::rng::Stream;
use crate::units::{BlockId, PoolId};

/// Registry entry of random.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "random",
    summary: "any sealed block, each with the same probability",
    paper: "Van Houdt, A mean field model for a class of garbage collection algorithms in \
            flash-based solid state drives, SIGMETRICS 2013",
    params: &[],
};

/// The number of sealed blocks, and draws among them.
pub struct Policy {
    sealed: Vec<u32>,
}

impl Policy {
    pub(super) fn build(_spec: &PolicySpec, table: &BlockTable) -> Policy {
        Policy::new(table)
    }

    /// Also used by d-choices.
    pub(super) fn new(table: &BlockTable) -> Policy {
        Policy { sealed: vec![0; table.pools() as usize] }
    }

    /// Whether `pool` has a sealed block to draw.
    pub(super) fn any(&self, pool: PoolId) -> bool {
        self.sealed[pool.at()] > 0
    }

    /// A uniform draw among the sealed blocks of `pool`, which must have one.
    pub(super) fn draw(&self, pool: PoolId, table: &BlockTable, rng: &mut Stream) -> BlockId {
        debug_assert!(self.any(pool), "{pool:?} has no sealed block to draw");
        let n = table.blocks_per_pool();
        debug_assert!(
            table.of_pool(pool).any(|b| table.is_candidate(b)),
            "a draw in {pool:?} would never end"
        );
        loop {
            let block = BlockId(pool.0 * n + rng.below(u64::from(n)) as u32);
            if table.is_candidate(block) {
                return block;
            }
        }
    }
}

impl VictimPolicy for Policy {
    fn init(&mut self, table: &BlockTable, _clock: u64) {
        for pool in 0..table.pools() {
            let sealed = table.of_pool(PoolId(pool)).filter(|&b| table.is_candidate(b)).count();
            self.sealed[pool as usize] = sealed as u32;
        }
        debug_assert_eq!(self.sealed.len(), table.pools() as usize, "pools of another device");
    }

    fn on_seal(&mut self, block: BlockId, table: &BlockTable, _clock: u64) {
        debug_assert!(table.is_candidate(block), "{block:?} is not sealed");
        let sealed = &mut self.sealed[table.pool_of(block).at()];
        *sealed += 1;
        assert!(*sealed <= table.blocks_per_pool(), "{block:?} is sealed twice");
    }

    fn on_leave(&mut self, block: BlockId, table: &BlockTable) {
        debug_assert!(!table.is_candidate(block), "{block:?} leaves and is still a candidate");
        let sealed = &mut self.sealed[table.pool_of(block).at()];
        assert!(*sealed > 0, "{block:?} leaves, and none was sealed");
        *sealed -= 1;
    }

    fn select(
        &mut self,
        pool: PoolId,
        table: &BlockTable,
        _clock: u64,
        rng: &mut Stream,
    ) -> Option<BlockId> {
        self.any(pool).then(|| self.draw(pool, table, rng))
    }
}
