//! d-choices: of `d` sealed blocks drawn at random, the one with the fewest valid pages.
//!
//! Paper: Van Houdt, "A mean field model for a class of garbage collection algorithms in
//! flash-based solid state drives", SIGMETRICS 2013 (the d-Choices algorithm; d = 10 is close to
//! greedy there).
//! Where it is silent, decided: draws are with replacement and may hit fully valid blocks; ties go
//! to the lowest id. With d = 1 the victims are those of `random` on the same stream.
//! `amount = "all-candidates"`, which needs an order, uses the default one.
//! Index: that of `random`; a choice takes `d * blocks / sealed` numbers on average.

use super::VictimPolicy;
use super::random;
use crate::ftl::blocks::BlockTable;
use crate::plug::{ParamInfo, ParamKind, PolicyInfo, PolicySpec};
use crate::rng::Stream;
use crate::units::{BlockId, PoolId};

/// Registry entry of d-choices.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "d-choices",
    summary: "of d sealed blocks drawn at random, the one with the fewest valid pages",
    paper: "Van Houdt, A mean field model for a class of garbage collection algorithms in \
            flash-based solid state drives, SIGMETRICS 2013",
    params: &[ParamInfo {
        name: "d",
        kind: ParamKind::Int(1, 1_000_000),
        default: Some("10"),
        doc: "blocks drawn for each choice, with replacement",
    }],
};

/// Index of the d-choices policy.
pub struct Policy {
    sealed: random::Policy,
    d: u64,
}

impl Policy {
    pub(super) fn build(spec: &PolicySpec, table: &BlockTable) -> Policy {
        let d = spec.int("d");
        assert!(d > 0, "nothing would be drawn: the config layer has checked it");
        Policy { sealed: random::Policy::new(table), d }
    }
}

impl VictimPolicy for Policy {
    fn init(&mut self, table: &BlockTable, clock: u64) {
        self.sealed.init(table, clock);
    }

    fn on_seal(&mut self, block: BlockId, table: &BlockTable, clock: u64) {
        self.sealed.on_seal(block, table, clock);
    }

    fn on_leave(&mut self, block: BlockId, table: &BlockTable) {
        self.sealed.on_leave(block, table);
    }

    fn select(
        &mut self,
        pool: PoolId,
        table: &BlockTable,
        _clock: u64,
        rng: &mut Stream,
    ) -> Option<BlockId> {
        if !self.sealed.any(pool) {
            return None;
        }
        let best = (0..self.d)
            .map(|_| self.sealed.draw(pool, table, rng))
            .min_by_key(|&b| (table.valid[b.at()], b));
        debug_assert!(
            best.is_some_and(|b| table.pool_of(b) == pool),
            "{best:?} was drawn elsewhere"
        );
        best
    }
}
