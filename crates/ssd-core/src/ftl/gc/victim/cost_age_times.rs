//! Cost-age-times: the sealed block with the least `u / (1 - u) * erases / age`, u its share of
//! valid pages: cheap to collect, quiet for long, and little worn.
//!
//! Paper: Chiang and Chang, "Cleaning policies in mobile computers using flash memory", Journal of
//! Systems and Software 48(3), 1999 (CAT).
//! Where it is silent, decided: ages are host pages bound, from the seal by default. Erases count from 1,
//! otherwise a block that has never been erased would cost nothing, however full. A block without valid
//! pages goes before all others, and among these the greatest `age / erases` first; a fully valid block, or
//! one of age 0, goes after all others. Ties: fewest valid pages, then earliest sealed, then lowest id; so
//! while every age is 0 the fewest valid pages decide. At `init` all ages start from 0: the table keeps no
//! clocks. The paper's separation of hot and cold data concerns placement, not victim choice, and is not
//! implemented here.
//! Index: see `aged`; an invalidation is one `min`, or a move to the last slot with `age = "invalidation"`.

use super::VictimPolicy;
use super::aged::{AGE, AgeIndex};
use crate::ftl::blocks::BlockTable;
use crate::plug::{PolicyInfo, PolicySpec};
use crate::rng::Stream;
use crate::units::{BlockId, PoolId};

/// Registry entry of cost-age-times.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "cost-age-times",
    summary: "the sealed block with the lowest u / (1 - u) * erases / age",
    paper: "Chiang and Chang, Cleaning policies in mobile computers using flash memory, Journal of \
            Systems and Software 48(3), 1999",
    params: &[AGE],
};

/// Index of the cost-age-times policy.
pub struct Policy(AgeIndex);

impl Policy {
    pub(super) fn build(spec: &PolicySpec, table: &BlockTable) -> Policy {
        Policy(AgeIndex::new(spec, table, true))
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
