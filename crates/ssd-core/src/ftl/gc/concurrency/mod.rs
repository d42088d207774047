//! How many pools, channels or chips of a group at once? One file per rule. Collection at the hard reserve is exempt,
//! unless the rule says otherwise.

use crate::plug::PolicySpec;

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
pub enum LimitUnit {
    /// Pools with a background job.
    Pools,
    /// Channels with one. A pool over all channels counts as one.
    Channels,
    /// Chips with one in each parity group; without parity groups, in the device.
    Members,
}

crate::plugs! {
    /// How many pools (or channels) may collect in the background at one instant.
    pub trait ConcurrencyPolicy, concurrency_hooks! {
        /// The limit now; running jobs finish when it falls.
        fn limit(&self, view: &DeviceView) -> u32;

        /// What the limit is compared with.
        fn counted(&self) -> LimitUnit {
            LimitUnit::Pools
        }

        /// Whether a unit begins only when it has no operation of the host, and counts until it has none again.
        fn waits_until_idle(&self) -> bool {
            false
        }

        /// Whether foreground collection, even at the hard reserve, waits for its turn and counts like any other.
        fn binds_reserve(&self) -> bool {
            false
        }
    }

    /// Every concurrency rule, dispatched by `match`.
    // One line a policy, sorted by file name.
    pub enum Concurrency = "concurrency rule", build(spec: &PolicySpec) (spec) {
        adaptive Adaptive,
        fixed Fixed,
        half Half,
        rotating Rotating,
        unlimited Unlimited,
    }
}
