//! How many pools, or channels, at once? One file per rule. Collection at the hard reserve is exempt.

use crate::plug::{PolicyInfo, PolicySpec};

/// What a concurrency rule sees of the device.
#[derive(Clone, Copy, Debug)]
pub struct DeviceView {
    /// Pools of the device.
    pub pools: u32,
    /// Channels of the device.
    pub channels: u32,
    /// Pages that are not erased.
    pub used_pages: u64,
    /// All pages.
    pub pages: u64,
}

/// What a rule counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counted {
    /// Pools with a background job.
    Pools,
    /// Channels with one. A pool over all channels counts as one.
    Channels,
}

/// How many pools (or channels) may collect in the background at one instant.
pub trait ConcurrencyPolicy: Send {
    /// The limit now; running jobs finish when it falls.
    fn limit(&self, view: &DeviceView) -> u32;

    /// What the limit is compared with.
    fn counted(&self) -> Counted {
        Counted::Pools
    }
}

macro_rules! concurrencies {
    ($($file:ident $variant:ident),+ $(,)?) => {
        $(pub mod $file;)+

        /// Every concurrency rule, dispatched by `match`.
        pub enum Concurrency {
            $(#[doc = stringify!($file)] $variant($file::Policy),)+
            /// An external policy (Python).
            External(Box<dyn ConcurrencyPolicy>),
        }

        /// Registry entries of all policies, sorted by name.
        pub const ALL: &[&PolicyInfo] = &[$(&$file::INFO),+];

        impl Concurrency {
            /// The policy that `spec` names.
            ///
            /// # Panics
            /// If the name is unknown: the config layer has checked it.
            #[must_use]
            pub fn build(spec: &PolicySpec) -> Concurrency {
                $(if spec.policy == $file::INFO.name {
                    return Concurrency::$variant($file::Policy::build(spec));
                })+
                panic!("concurrency rule {:?} is not in the registry", spec.policy)
            }
        }

        impl ConcurrencyPolicy for Concurrency {
            fn limit(&self, view: &DeviceView) -> u32 {
                match self {
                    $(Concurrency::$variant(p) => p.limit(view),)+
                    Concurrency::External(p) => p.limit(view),
                }
            }
            fn counted(&self) -> Counted {
                match self {
                    $(Concurrency::$variant(p) => p.counted(),)+
                    Concurrency::External(p) => p.counted(),
                }
            }
        }
    };
}

// One line a policy, sorted by file name.
concurrencies! {
    adaptive Adaptive,
    fixed Fixed,
    half Half,
    unlimited Unlimited,
}
