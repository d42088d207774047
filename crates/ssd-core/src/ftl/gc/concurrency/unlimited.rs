//! Unlimited: every pool collects when its trigger holds.
//!
//! Source: the conventional scheme of all five papers.
//! Decided: nothing.

use super::{ConcurrencyPolicy, DeviceView};
use crate::plug::{PolicyInfo, PolicySpec};

/// Registry entry of this rule.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "unlimited",
    summary: "every pool collects when its trigger holds",
    paper: "conventional",
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
        debug_assert!(view.pools > 0, "no pool may ever collect: {view:?}");
        view.pools
    }
}
