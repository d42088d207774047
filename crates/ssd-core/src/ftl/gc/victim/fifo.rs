//! FIFO: the block that was sealed first.
//!
//! Paper: Desnoyers, "Analytic modeling of SSD write performance", SYSTOR 2012, where it is called
//! LRU.
//! Where it is silent, decided: age is the order of sealing, over all frontiers of the pool; a
//! fully valid block is chosen like any other.
//! Index: a linked queue for each pool; every hook and a choice take constant time.

use super::VictimPolicy;
use super::queue::Queue;
use crate::ftl::blocks::BlockTable;
use crate::plug::{PolicyInfo, PolicySpec};
use crate::rng::Stream;
use crate::units::{BlockId, PoolId};

/// Registry entry of FIFO.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "fifo",
    summary: "the block that was sealed first",
    paper: "Desnoyers, Analytic modeling of SSD write performance, SYSTOR 2012 (there LRU)",
    params: &[],
};

/// Index of the FIFO policy.
pub struct Policy {
    sealed: Queue,
}

impl Policy {
    pub(super) fn build(_spec: &PolicySpec, table: &BlockTable) -> Policy {
        Policy { sealed: Queue::new(table) }
    }
}

impl VictimPolicy for Policy {
    fn init(&mut self, table: &BlockTable, _clock: u64) {
        self.sealed.rebuild(table, |_| true);
    }

    fn on_seal(&mut self, block: BlockId, table: &BlockTable, _clock: u64) {
        debug_assert!(table.is_candidate(block), "{block:?} is not sealed");
        self.sealed.push(block, table);
    }

    fn on_leave(&mut self, block: BlockId, table: &BlockTable) {
        debug_assert!(!table.is_candidate(block), "{block:?} leaves and is still a candidate");
        self.sealed.remove(block, table);
    }

    fn select(
        &mut self,
        pool: PoolId,
        table: &BlockTable,
        _clock: u64,
        _rng: &mut Stream,
    ) -> Option<BlockId> {
        let first = self.sealed.first(pool);
        debug_assert!(first.is_none_or(|b| table.is_candidate(b)), "{first:?} is not sealed");
        let order = |b: BlockId| table.seal_order[b.at()];
        let next = first.and_then(|b| self.sealed.after(b));
        debug_assert!(next.map(order) >= next.and(first).map(order), "{next:?} is older");
        first
    }

    /// Every sealed block with an invalid page, earliest sealed first.
    fn candidates(&self, pool: PoolId, table: &BlockTable, _clock: u64) -> Vec<BlockId> {
        self.sealed.iter(pool).filter(|&b| table.invalid(b) > 0).collect()
    }
}
