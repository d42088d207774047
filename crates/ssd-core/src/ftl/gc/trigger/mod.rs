//! When to start and when to stop? One file per trigger; several triggers must all hold.

use crate::plug::PolicySpec;
use crate::units::{Nanos, PoolId};

/// What a trigger sees of one pool and of the device.
#[derive(Clone, Copy, Debug)]
pub struct SpaceView {
    /// The pool.
    pub pool: PoolId,
    /// Host pages bound so far.
    pub clock: u64,
    /// Erased blocks of the pool.
    pub free_blocks: u32,
    /// Blocks of the pool that are not bad.
    pub blocks: u32,
    /// Pages of the pool that are not erased (valid, invalid or being programmed).
    pub pool_used_pages: u64,
    /// Pages of those blocks.
    pub pool_pages: u64,
    /// Pages of the device that are not erased.
    pub used_pages: u64,
    /// Pages of the blocks of the device that are not bad.
    pub pages: u64,
    /// How long the busy units of the pool have had no host operation waiting or running. `None` while one has, without
    /// time, and if no trigger has an `idle_after`.
    pub idle_for: Option<Nanos>,
    /// Whether a host read waits on a busy unit of the pool. Tracked only for triggers that watch requests; otherwise
    /// true, as without time.
    pub read_waits: bool,
    /// Whether a write waits.
    pub write_waits: bool,
}

crate::plugs! {
    /// Decides when collection of a pool may start; it stops when the trigger no longer holds (`amount =
    /// "until-satisfied"`).
    pub trait TriggerPolicy, trigger_hooks! {
        /// Whether collection is wanted.
        fn holds(&self, view: &SpaceView) -> bool;

        /// Whether collection goes before host operations (foreground).
        fn urgent(&self, view: &SpaceView) -> bool {
            let _ = view;
            false
        }

        /// Whether it still holds in the state `best`, in which nothing is left to collect, so that only TRIMs could
        /// end it. False if something other than space ends it.
        fn outlasts(&self, best: &SpaceView) -> bool {
            let _ = best;
            false
        }

        /// Whether the answer may change with every page written (and not only with the number of erased
        /// blocks).
        fn watches_pages(&self) -> bool {
            true
        }

        /// Whether the answer may change because of events in other pools.
        fn watches_device(&self) -> bool {
            false
        }

        /// Whether the answer may change with every request that starts to wait.
        fn watches_requests(&self) -> bool {
            false
        }

        /// Blocks that the pool may open before it holds, if that depends on nothing but requests.
        fn blocks_left(&self, view: &SpaceView) -> Option<u32> {
            let _ = view;
            None
        }

        /// The idle time after which the answer may change even without an operation on the pool.
        fn idle_after(&self) -> Option<Nanos> {
            None
        }
    }

    /// Every trigger, dispatched by `match`.
    // One line a policy, sorted by file name.
    pub enum Trigger = "trigger", build(spec: &PolicySpec) (spec) {
        free_blocks FreeBlocks,
        idle Idle,
        on_demand OnDemand,
        used_space UsedSpace,
    }
}
