//! Which block? One file per victim policy; the macro line below lists them.
//!
//! Beside them stand the indexes that several policies share: `aged`, `groups`, `queue`.

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
/// `clock`, the number of host pages bound so far, so that they do not depend on the timing model.
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
}

macro_rules! victims {
    ($($file:ident $variant:ident),+ $(,)?) => {
        $(pub mod $file;)+

        /// Every victim policy, dispatched by `match`.
        pub enum Victim {
            $(#[doc = stringify!($file)] $variant($file::Policy),)+
            /// A policy from outside the crate (Python).
            External(Box<dyn VictimPolicy>),
        }

        /// What the policies say of themselves, sorted by name.
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
    list_order ListOrder,
    random Random,
    windowed_greedy WindowedGreedy,
}
