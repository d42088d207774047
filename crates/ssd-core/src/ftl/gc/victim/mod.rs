//! Which block? One file per victim policy; the macro line below lists them.
//!
//! The folder also contains the indexes that several policies share: `aged`, `groups`, `queue`.

mod aged;
mod groups;
mod queue;

use crate::ftl::blocks::BlockTable;
use crate::plug::{PolicyInfo, PolicySpec};
use crate::rng::Stream;
use crate::units::{BlockId, PoolId};

/// A victim policy: keeps an index over the sealed blocks and names one of them on request.
///
/// It decides and never acts: it moves no page and changes no table. All ages are counted in
/// `clock`, the number of host pages bound so far, so that they do not depend on the timing model,
/// unless a policy is defined over time, which is `table.now`.
/// Ties go to the lowest block id unless the policy's file says otherwise. Only sealed blocks may
/// be returned.
pub trait VictimPolicy: Send {
    /// Build the index from the state of the table, whatever it is: one preconditioned device
    /// serves every policy.
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

    /// All blocks of `pool` the policy would collect now, in its order (`amount =
    /// "all-candidates"`). Default: every sealed block with an invalid page, fewest valid pages
    /// first, then lowest id.
    fn candidates(&self, pool: PoolId, table: &BlockTable, clock: u64) -> Vec<BlockId> {
        let _ = clock;
        let mut all: Vec<BlockId> = table
            .of_pool(pool)
            .filter(|&b| table.is_candidate(b) && table.invalid(b) > 0)
            .collect();
        all.sort_by_key(|&b| (table.valid[b.at()], b));
        all
    }

    /// Whether the policy orders the blocks of all pools together. Of the pools that wait for the concurrency
    /// rule, [`VictimPolicy::first_pool`] then goes first; otherwise the one that has waited longest.
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

    /// Whether some blocks are collected whatever the triggers say.
    fn collects_at_once(&self) -> bool {
        false
    }

    /// The next such block in `pool`; it has no valid page. Does not remove it.
    fn at_once(&self, pool: PoolId) -> Option<BlockId> {
        let _ = pool;
        None
    }
}

macro_rules! victims {
    ($($file:ident $variant:ident),+ $(,)?) => {
        $(pub mod $file;)+

        /// Every victim policy, dispatched by `match`.
        pub enum Victim {
            $(#[doc = stringify!($file)] $variant($file::Policy),)+
            /// An external policy (Python).
            External(Box<dyn VictimPolicy>),
        }

        /// Registry entries of all policies, sorted by name.
        pub const ALL: &[&PolicyInfo] = &[$(&$file::INFO),+];

        impl Victim {
            /// The policy that `spec` names, over devices shaped like `table`; not yet initialised.
            ///
            /// # Panics
            /// If the name is unknown: the config layer has checked it.
            #[must_use]
            pub fn build(spec: &PolicySpec, table: &BlockTable) -> Victim {
                $(if spec.policy == $file::INFO.name {
                    return Victim::$variant($file::Policy::build(spec, table));
                })+
                panic!("victim policy {:?} is not in the registry", spec.policy)
            }
        }

        impl VictimPolicy for Victim {
            fn init(&mut self, table: &BlockTable, clock: u64) {
                match self {
                    $(Victim::$variant(p) => p.init(table, clock),)+
                    Victim::External(p) => p.init(table, clock),
                }
            }
            fn on_seal(&mut self, block: BlockId, table: &BlockTable, clock: u64) {
                match self {
                    $(Victim::$variant(p) => p.on_seal(block, table, clock),)+
                    Victim::External(p) => p.on_seal(block, table, clock),
                }
            }
            #[inline(always)]
            fn on_invalidate(&mut self, block: BlockId, table: &BlockTable, clock: u64) {
                match self {
                    $(Victim::$variant(p) => p.on_invalidate(block, table, clock),)+
                    Victim::External(p) => p.on_invalidate(block, table, clock),
                }
            }
            #[inline(always)]
            fn on_invalidate_open(&mut self, block: BlockId, table: &BlockTable, clock: u64) {
                match self {
                    $(Victim::$variant(p) => p.on_invalidate_open(block, table, clock),)+
                    Victim::External(p) => p.on_invalidate_open(block, table, clock),
                }
            }
            fn on_leave(&mut self, block: BlockId, table: &BlockTable) {
                match self {
                    $(Victim::$variant(p) => p.on_leave(block, table),)+
                    Victim::External(p) => p.on_leave(block, table),
                }
            }
            fn select(
                &mut self,
                pool: PoolId,
                table: &BlockTable,
                clock: u64,
                rng: &mut Stream,
            ) -> Option<BlockId> {
                match self {
                    $(Victim::$variant(p) => p.select(pool, table, clock, rng),)+
                    Victim::External(p) => p.select(pool, table, clock, rng),
                }
            }
            fn candidates(&self, pool: PoolId, table: &BlockTable, clock: u64) -> Vec<BlockId> {
                match self {
                    $(Victim::$variant(p) => p.candidates(pool, table, clock),)+
                    Victim::External(p) => p.candidates(pool, table, clock),
                }
            }
            fn orders_pools(&self) -> bool {
                match self {
                    $(Victim::$variant(p) => p.orders_pools(),)+
                    Victim::External(p) => p.orders_pools(),
                }
            }
            fn first_pool(
                &self,
                pools: &mut dyn Iterator<Item = PoolId>,
                table: &BlockTable,
                clock: u64,
            ) -> Option<PoolId> {
                match self {
                    $(Victim::$variant(p) => p.first_pool(pools, table, clock),)+
                    Victim::External(p) => p.first_pool(pools, table, clock),
                }
            }
            fn collects_at_once(&self) -> bool {
                match self {
                    $(Victim::$variant(p) => p.collects_at_once(),)+
                    Victim::External(p) => p.collects_at_once(),
                }
            }
            fn at_once(&self, pool: PoolId) -> Option<BlockId> {
                match self {
                    $(Victim::$variant(p) => p.at_once(pool),)+
                    Victim::External(p) => p.at_once(pool),
                }
            }
        }
    };
}

// One line a policy, sorted by file name.
victims! {
    cost_age_times CostAgeTimes,
    cost_benefit CostBenefit,
    d_choices DChoices,
    fifo Fifo,
    greedy Greedy,
    invalidation_rate InvalidationRate,
    list_order ListOrder,
    random Random,
    windowed_greedy WindowedGreedy,
}
