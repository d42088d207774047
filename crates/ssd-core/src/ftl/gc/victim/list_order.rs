//! List order: blocks join a list when their share of invalid pages reaches a ratio; first come,
//! first collected.
//!
//! Paper: the conventional scheme of the invalidation-rate GC paper of 2023 (70 %, in list order); the
//! adaptive-channel paper of 2025 has the same list.
//! Where they are silent, decided: an open block that has reached the ratio joins when it is
//! sealed. The table does not say when a block joined, so `init` lists blocks in the order of
//! sealing. `ratio` has nine decimals; with 0 every block joins when sealed, fully valid ones too.
//! Index: a linked queue for each pool; every hook and a choice take constant time.

use super::VictimPolicy;
use super::queue::Queue;
use crate::ftl::blocks::BlockTable;
use crate::plug::{ParamInfo, ParamKind, PolicyInfo, PolicySpec};
use crate::rng::Stream;
use crate::units::{BlockId, PoolId};

/// Registry entry of list order.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "list-order",
    summary: "the block whose share of invalid pages reached a ratio first",
    paper: "Invalidation-rate garbage collection, 2023 (conventional scheme)",
    params: &[ParamInfo {
        name: "ratio",
        kind: ParamKind::Ratio(0.0, 1.0),
        default: Some("0.7"),
        doc: "share of invalid pages at which a block enters the list",
    }],
};

/// Index of the list-order policy.
pub struct Policy {
    list: Queue,
    /// The most valid pages with which a sealed block is in the list.
    most_valid: u16,
}

impl Policy {
    pub(super) fn build(spec: &PolicySpec, table: &BlockTable) -> Policy {
        let ppb = (spec.real("ratio") * 1e9 + 0.5) as u64;
        let invalid = (ppb * u64::from(table.pages_per_block)).div_ceil(1_000_000_000);
        let most = u64::from(table.pages_per_block);
        assert!(invalid <= most, "no block reaches {invalid} invalid pages of {most}");
        Policy { list: Queue::new(table), most_valid: table.pages_per_block - invalid as u16 }
    }
}

impl VictimPolicy for Policy {
    fn init(&mut self, table: &BlockTable, _clock: u64) {
        let most = self.most_valid;
        self.list.rebuild(table, |b| table.valid[b.at()] <= most);
    }

    fn on_seal(&mut self, block: BlockId, table: &BlockTable, clock: u64) {
        self.on_invalidate(block, table, clock);
    }

    #[inline(always)]
    fn on_invalidate(&mut self, block: BlockId, table: &BlockTable, _clock: u64) {
        debug_assert!(table.is_candidate(block), "{block:?} is not sealed");
        if table.valid[block.at()] <= self.most_valid && !self.list.contains(block) {
            self.list.push(block, table);
        }
    }

    fn on_leave(&mut self, block: BlockId, table: &BlockTable) {
        debug_assert!(!table.is_candidate(block), "{block:?} leaves and is still a candidate");
        let belongs = table.valid[block.at()] <= self.most_valid;
        debug_assert_eq!(self.list.contains(block), belongs, "{block:?} and the ratio disagree");
        if self.list.contains(block) {
            self.list.remove(block, table);
        }
    }

    fn select(
        &mut self,
        pool: PoolId,
        table: &BlockTable,
        _clock: u64,
        _rng: &mut Stream,
    ) -> Option<BlockId> {
        let first = self.list.first(pool);
        debug_assert!(
            first.is_none_or(|b| table.valid[b.at()] <= self.most_valid),
            "{first:?} is not listed"
        );
        debug_assert!(first.is_none_or(|b| table.is_candidate(b)), "{first:?} is not sealed");
        first
    }

    /// The list, in its order.
    fn candidates(&self, pool: PoolId, table: &BlockTable, _clock: u64) -> Vec<BlockId> {
        let list: Vec<BlockId> = self.list.iter(pool).collect();
        debug_assert!(list.iter().all(|&b| table.is_candidate(b)), "{list:?} are not sealed");
        list
    }
}
