//! Greedy: the sealed block with the fewest valid pages.
//!
//! Paper: Desnoyers, "Analytic modeling of SSD write performance", SYSTOR 2012, section 3.
//! Where it is silent: which of the blocks with the fewest valid pages is taken. The mean field draws one of
//! them (`ties = "random"`). The default, `lowest-id`, takes the first in the order of block numbers, which
//! has no meaning for the data, and draws nothing. Under uniform writes the rule hardly matters; with hot and
//! cold data it changes write amplification by a few per cent (docs/model.md). `oldest` takes the block that
//! was sealed first.
//! Where an order of all blocks is needed (`amount = "all-candidates"`), `random` uses block numbers: an
//! order draws nothing.
//! Index: the minimum of each group of 64 blocks (`groups`). An invalidation is one `min`; a choice
//! costs `blocks / 64 + 64` steps over contiguous memory, and where ties are compared or drawn 64 more
//! for each group that has one.

use super::VictimPolicy;
use super::groups::GroupMinima;
use crate::ftl::blocks::{BlockState, BlockTable};
use crate::plug::{ParamInfo, ParamKind, PolicyInfo, PolicySpec};
use crate::rng::Stream;
use crate::units::{BlockId, PoolId};

/// Registry entry of greedy.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "greedy",
    summary: "the sealed block with the fewest valid pages",
    paper: "Desnoyers, Analytic modeling of SSD write performance, SYSTOR 2012, section 3",
    params: &[ParamInfo {
        name: "ties",
        kind: ParamKind::Choice(&["lowest-id", "oldest", "random"]),
        default: Some("lowest-id"),
        doc: "of the blocks with the fewest valid pages: the one with the lowest number, the one sealed \
              first, or a random one",
    }],
};

/// How ties between the blocks with the fewest valid pages are broken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ties {
    LowestId,
    Oldest,
    Random,
}

/// Index of the greedy policy.
pub struct Policy {
    least: GroupMinima,
    ties: Ties,
}

impl Policy {
    pub(super) fn build(spec: &PolicySpec, table: &BlockTable) -> Policy {
        let ties = match spec.word("ties") {
            "lowest-id" => Ties::LowestId,
            "oldest" => Ties::Oldest,
            random => {
                assert_eq!(random, "random", "greedy has no such rule for ties");
                Ties::Random
            }
        };
        Policy { least: GroupMinima::new(table), ties }
    }
}

impl VictimPolicy for Policy {
    fn init(&mut self, table: &BlockTable, _clock: u64) {
        self.least.init(table, &table.state, BlockState::Sealed);
    }

    fn on_seal(&mut self, block: BlockId, table: &BlockTable, _clock: u64) {
        debug_assert!(table.is_candidate(block), "{block:?} is not sealed");
        self.least.lower(block, table);
    }

    #[inline(always)]
    fn on_invalidate(&mut self, block: BlockId, table: &BlockTable, _clock: u64) {
        debug_assert!(table.is_candidate(block), "{block:?} is not sealed");
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
        rng: &mut Stream,
    ) -> Option<BlockId> {
        let (state, sealed) = (&table.state, BlockState::Sealed);
        let ties = || self.least.ties(pool, table, state, sealed);
        let chosen = match self.ties {
            Ties::LowestId => self.least.select(pool, table, state, sealed),
            Ties::Oldest => ties().min_by_key(|&b| table.seal_order[b.at()]),
            Ties::Random => match ties().count() as u64 {
                0 => None,
                n => ties().nth(rng.below(n) as usize),
            },
        };
        debug_assert!(
            chosen.is_none_or(|b| ties().any(|tie| tie == b)),
            "{chosen:?} is no minimum"
        );
        chosen
    }

    /// Every sealed block with an invalid page, fewest valid pages first, then by the tie rule.
    fn candidates(&self, pool: PoolId, table: &BlockTable, _clock: u64) -> Vec<BlockId> {
        let sealed = |b: &BlockId| table.is_candidate(*b) && table.invalid(*b) > 0;
        let mut candidates: Vec<BlockId> = table.of_pool(pool).filter(sealed).collect();
        let order = |b: BlockId| match self.ties {
            Ties::Oldest => table.seal_order[b.at()],
            Ties::LowestId | Ties::Random => u64::from(b.0),
        };
        candidates.sort_by_key(|&b| (table.valid[b.at()], order(b)));
        candidates
    }
}
