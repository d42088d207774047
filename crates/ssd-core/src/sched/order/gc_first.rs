//! GC first: collection goes before every host operation.
//!
//! Source: the priority of GC within a started job in the adaptive-channel paper, Electronics 14(23):4741, 2025.
//! Decided: programs and erases before reads, since they free a buffer.

use super::{Heads, OrderPolicy, R_GC, R_HOST, W_GC, W_HOST};
use crate::plug::{PolicyInfo, PolicySpec};

/// Registry entry of this order.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "gc-first",
    summary: "GC before host operations; host reads before host writes",
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

impl OrderPolicy for Policy {
    fn pick(&self, heads: &Heads) -> usize {
        heads.first_of(&[W_GC, R_GC, R_HOST, W_HOST]).expect("a head is present")
    }

    fn compares_ages(&self) -> bool {
        false
    }
}
