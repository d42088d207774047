//! Half: at most half of the pools collect at once.
//!
//! Paper: "Adaptive Channel-Aware Garbage Collection Control for Multi-Channel SSDs", Electronics
//! 14(23):4741, 2025 (baseline `Conv_0.7_HalfCh`).
//! Decided: an odd number of pools is rounded up, so that one pool can collect.

use super::{ConcurrencyPolicy, DeviceView};
use crate::plug::{PolicyInfo, PolicySpec};

/// Registry entry of this rule.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "half",
    summary: "at most half of the pools collect at once",
    paper: "Adaptive Channel-Aware Garbage Collection Control, Electronics 14(23):4741, 2025",
    params: &[],
};

/// No state.
pub struct Policy;

impl Policy {
    pub(super) fn build(_spec: &PolicySpec) -> Policy {
        Policy
    }
}

impl ConcurrencyPolicy for Policy {
    fn limit(&self, view: &DeviceView) -> u32 {
        let limit = view.pools.div_ceil(2);
        debug_assert!(limit > 0, "no pool may ever collect: {view:?}");
        debug_assert!(limit <= view.pools, "more pools may collect than there are: {view:?}");
        limit
    }
}
