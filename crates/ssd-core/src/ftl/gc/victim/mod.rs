//! Which block? One file per victim policy; the list below names them.
//!
//! The folder also contains the indexes that several policies share (`aged`, `groups`, `queue`), the combination of
//! policies for separation policies that name the class of a victim (`by_class`), and `memory`, for the state of
//! policies in snapshots.

mod aged;
pub(in crate::ftl) mod by_class;
mod groups;
mod memory;
mod queue;

use crate::ftl::blocks::BlockTable;
use crate::ftl::separation::{ClassBlocks, VictimScope};
use crate::plug::PolicySpec;
use crate::rng::Stream;
use crate::units::{BlockId, PoolId};

crate::plugs! {
    /// A victim policy: keeps an index over the sealed blocks and names one of them on request.
    ///
    /// It decides and never acts: it moves no page and changes no table. Ages count in `clock`, the number of host
    /// pages bound so far, so they do not depend on the timing model; a policy that is defined over time uses
    /// `table.now` instead. Ties go to the lowest block id unless the policy's file says otherwise. Only sealed blocks
    /// may be returned.
    pub trait VictimPolicy, victim_hooks! {
        /// Build the index from any state of the table: one preconditioned device serves every policy.
        fn init(&mut self, table: &BlockTable, clock: u64);

        /// `block` has become sealed.
        fn on_seal(&mut self, block: BlockId, table: &BlockTable, clock: u64) {
            let _ = (block, table, clock);
        }

        /// A page of sealed `block` has become invalid; `table.valid` is already decremented.
        #[inline(always)]
        fn on_invalidate(&mut self, block: BlockId, table: &BlockTable, clock: u64) {
            let _ = (block, table, clock);
        }

        /// A page of open `block` has become invalid. (The policy knows nothing else about open blocks; their
        /// counts in the table are not final.)
        #[inline(always)]
        fn on_invalidate_open(&mut self, block: BlockId, table: &BlockTable, clock: u64) {
            let _ = (block, table, clock);
        }

        /// `block` has stopped being a candidate (it is being collected, by this policy's choice or
        /// not). Its state in the table is no longer sealed.
        fn on_leave(&mut self, block: BlockId, table: &BlockTable) {
            let _ = (block, table);
        }

        /// The next victim of `pool`, or `None` if the policy has no candidate there. Does not remove
        /// it.
        fn select(
            &mut self,
            pool: PoolId,
            table: &BlockTable,
            clock: u64,
            rng: &mut Stream,
        ) -> Option<BlockId>;

        /// The next victim among the blocks that a separation policy names, if there are any. Only an index per class
        /// can tell them apart.
        fn select_among(
            &mut self,
            among: VictimScope,
            pool: PoolId,
            table: &BlockTable,
            clock: u64,
            rng: &mut Stream,
        ) -> Option<BlockId> {
            let _ = (among, pool, table, clock, rng);
            None
        }

        /// The sealed blocks of `pool` by class, if there is an index per class.
        fn by_class(&self, pool: PoolId) -> Vec<ClassBlocks> {
            let _ = pool;
            Vec::new()
        }

        /// All blocks of `pool` the policy would collect now, in its order (`amount =
        /// "all-candidates"`). Default: every sealed block with an invalid page, fewest valid pages
        /// first, then lowest id.
        fn candidates(&self, pool: PoolId, table: &BlockTable, clock: u64) -> Vec<BlockId> {
            let _ = clock;
            let mut candidates: Vec<BlockId> = table
                .of_pool(pool)
                .filter(|&b| table.is_candidate(b) && table.invalid(b) > 0)
                .collect();
            candidates.sort_by_key(|&b| (table.valid[b.at()], b));
            candidates
        }

        /// Whether the policy orders the blocks of all pools together. If so, [`VictimPolicy::first_pool`] decides
        /// which of the pools that wait for the concurrency rule is next; otherwise it is the one that has waited
        /// longest.
        fn orders_pools(&self) -> bool {
            false
        }

        /// The one of `pools` whose victim goes first; `None` if none has a candidate.
        fn first_pool(
            &self,
            pools: &mut dyn Iterator<Item = PoolId>,
            table: &BlockTable,
            clock: u64,
        ) -> Option<PoolId> {
            let _ = (pools, table, clock);
            None
        }

        /// Append to `bytes`, for a snapshot, the state of the policy that `table` does not contain. A policy that
        /// starts every run afresh appends nothing.
        fn save(&self, table: &BlockTable, bytes: &mut Vec<u8>) {
            let _ = (table, bytes);
        }

        /// Restore the state that [`VictimPolicy::save`] has appended for the same policy, and remove it from `bytes`.
        /// The index must have been built from `table` before.
        ///
        /// # Errors
        /// `bytes` do not contain a valid state of the policy.
        fn load(
            &mut self,
            bytes: &mut &[u8],
            table: &BlockTable,
            clock: u64,
        ) -> Result<(), String> {
            let _ = (bytes, table, clock);
            Ok(())
        }

        /// Whether some blocks are collected regardless of the triggers.
        fn collects_at_once(&self) -> bool {
            false
        }

        /// The next such block in `pool`; it has no valid page. Does not remove it.
        fn at_once(&self, pool: PoolId) -> Option<BlockId> {
            let _ = pool;
            None
        }
    }

    /// Every victim policy, dispatched by `match`.
    // One line a policy, sorted by file name.
    pub enum Victim = "victim policy", build(spec: &PolicySpec, table: &BlockTable) (spec, table) {
        cost_age_times CostAgeTimes,
        cost_benefit CostBenefit,
        d_choices DChoices,
        fifo Fifo,
        greedy Greedy,
        invalidation_rate InvalidationRate,
        list_order ListOrder,
        random Random,
        second_chance SecondChance,
        windowed_greedy WindowedGreedy,
    }
}

/// Whether the policy of `spec` counts time rather than host pages.
pub(in crate::ftl) fn counts_time(spec: &PolicySpec) -> bool {
    let is_rate = spec.policy == invalidation_rate::INFO.name;
    is_rate && invalidation_rate::counts_time(spec)
}
