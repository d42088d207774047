//! Read first: host reads before everything, the rest oldest first.
//!
//! Source: read priority is common in SSD controllers because a program delays every read behind it.
//! Decided: ties among the rest as in `fifo`.

use super::{Heads, OrderPolicy, R_GC, R_HOST, W_GC, W_HOST};
use crate::plug::{PolicyInfo, PolicySpec};

/// Registry entry of this order.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "read-first",
    summary: "host reads first, the rest oldest first",
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

impl OrderPolicy for Policy {
    fn pick(&self, heads: &Heads) -> usize {
        if heads.has(R_HOST) {
            return R_HOST;
        }
        heads.oldest_of(&[W_GC, R_GC, W_HOST]).expect("a head is present")
    }
}
