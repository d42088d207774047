//! When to start and when to stop? One file per trigger; several triggers must all hold.

use crate::plug::{PolicyInfo, PolicySpec};
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
    /// How long the busy units of the pool have had no host operation waiting or running; `None` while
    /// one has.
    pub idle_for: Option<Nanos>,
}

/// When collection of a pool may start; it stops when the trigger no longer holds
/// (`amount = "until-satisfied"`).
pub trait TriggerPolicy: Send {
    /// Whether collection is wanted.
    fn holds(&self, view: &SpaceView) -> bool;

    /// Whether collection is wanted before host operations (foreground).
    fn urgent(&self, view: &SpaceView) -> bool {
        let _ = view;
        false
    }

    /// Whether it still holds in the state `best`, in which nothing is left to collect: then only TRIMs could
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

    /// The idle time after which the answer may change without any operation on the pool.
    fn idle_after(&self) -> Option<Nanos> {
        None
    }
}

macro_rules! triggers {
    ($($file:ident $variant:ident),+ $(,)?) => {
        $(pub mod $file;)+

        /// Every trigger, dispatched by `match`.
        pub enum Trigger {
            $(#[doc = stringify!($file)] $variant($file::Policy),)+
            /// An external policy (Python).
            External(Box<dyn TriggerPolicy>),
        }

        /// Registry entries of all policies, sorted by name.
        pub const ALL: &[&PolicyInfo] = &[$(&$file::INFO),+];

        impl Trigger {
            /// The policy that `spec` names.
            ///
            /// # Panics
            /// If the name is unknown: the config layer has checked it.
            #[must_use]
            pub fn build(spec: &PolicySpec) -> Trigger {
                $(if spec.policy == $file::INFO.name {
                    return Trigger::$variant($file::Policy::build(spec));
                })+
                panic!("trigger {:?} is not in the registry", spec.policy)
            }
        }

        impl TriggerPolicy for Trigger {
            fn holds(&self, view: &SpaceView) -> bool {
                match self {
                    $(Trigger::$variant(p) => p.holds(view),)+
                    Trigger::External(p) => p.holds(view),
                }
            }
            fn urgent(&self, view: &SpaceView) -> bool {
                match self {
                    $(Trigger::$variant(p) => p.urgent(view),)+
                    Trigger::External(p) => p.urgent(view),
                }
            }
            fn outlasts(&self, best: &SpaceView) -> bool {
                match self {
                    $(Trigger::$variant(p) => p.outlasts(best),)+
                    Trigger::External(p) => p.outlasts(best),
                }
            }
            fn watches_pages(&self) -> bool {
                match self {
                    $(Trigger::$variant(p) => p.watches_pages(),)+
                    Trigger::External(p) => p.watches_pages(),
                }
            }
            fn watches_device(&self) -> bool {
                match self {
                    $(Trigger::$variant(p) => p.watches_device(),)+
                    Trigger::External(p) => p.watches_device(),
                }
            }
            fn idle_after(&self) -> Option<Nanos> {
                match self {
                    $(Trigger::$variant(p) => p.idle_after(),)+
                    Trigger::External(p) => p.idle_after(),
                }
            }
        }
    };
}

// One line a policy, sorted by file name.
triggers! {
    free_blocks FreeBlocks,
    idle Idle,
    used_space UsedSpace,
}
