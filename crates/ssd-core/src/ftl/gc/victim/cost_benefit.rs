//! Cost-benefit: the sealed block with the greatest `(1 - u) / 2u * age`, u its share of valid
//! pages.
//!
//! Paper: Kawaguchi, Nishioka and Motoda, "A flash-memory based file system", USENIX Technical Conference 1995, whose
//! age counts from the last invalidation (`age = "invalidation"`); after Rosenblum and Ousterhout, "The design and
//! implementation of a log-structured file system", ACM TOCS 10(1), 1992, whose `(1 - u) * age / (1 + u)` takes the age
//! of the segment's youngest data, which the age since the seal approximates (`age = "seal"`, the default).
//! Where they are silent, decided: ages are host pages bound. A block without valid pages costs nothing and goes before
//! all others, the oldest of these first. Ties: fewest valid pages, then earliest sealed, then lowest id; so while
//! every age is 0 the fewest valid pages decide. At `init` all ages start from 0: the table keeps no clocks.
//! Index: see `aged`; an invalidation is one `min`, or a move to the last slot with `age = "invalidation"`.

use super::VictimPolicy;
use super::aged::{AGE, AgeIndex};
use crate::ftl::blocks::BlockTable;
use crate::plug::{PolicyInfo, PolicySpec};
use crate::rng::Stream;
use crate::units::{BlockId, PoolId};

/// Registry entry of cost-benefit.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "cost-benefit",
    summary: "the sealed block with the highest (1 - u) / 2u * age",
    paper: "Kawaguchi, Nishioka and Motoda, A flash-memory based file system, USENIX Technical \
            Conference 1995; after Rosenblum and Ousterhout, The design and implementation of a \
            log-structured file system, ACM TOCS 10(1), 1992",
    params: &[AGE],
};

/// Index of the cost-benefit policy.
pub struct Policy(AgeIndex);

impl Policy {
    pub(super) fn build(spec: &PolicySpec, table: &BlockTable) -> Policy {
        Policy(AgeIndex::new(spec, table, false))
    }
}

impl VictimPolicy for Policy {
    fn init(&mut self, table: &BlockTable, clock: u64) {
        self.0.init(table, clock);
    }

    fn on_seal(&mut self, block: BlockId, table: &BlockTable, clock: u64) {
        self.0.seal(block, table, clock);
    }

    #[inline(always)]
    fn on_invalidate(&mut self, block: BlockId, table: &BlockTable, clock: u64) {
        self.0.invalidate(block, table, clock);
    }

    fn on_leave(&mut self, block: BlockId, table: &BlockTable) {
        self.0.leave(block, table);
    }

    fn select(
        &mut self,
        pool: PoolId,
        table: &BlockTable,
        clock: u64,
        _rng: &mut Stream,
    ) -> Option<BlockId> {
        self.0.select(pool, table, clock)
    }

    fn candidates(&self, pool: PoolId, table: &BlockTable, clock: u64) -> Vec<BlockId> {
        self.0.sorted(pool, table, clock)
    }

    fn save(&self, table: &BlockTable, bytes: &mut Vec<u8>) {
        self.0.save(table, bytes);
    }

    fn load(&mut self, bytes: &mut &[u8], table: &BlockTable, clock: u64) -> Result<(), String> {
        self.0.load(bytes, table, clock)
    }
}
