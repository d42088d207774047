//! Host first: reads, then writes, then collection.
//!
//! Source: the usual order of SSD controllers; foreground collection goes before writes because a
//! write cannot start without space.
//! Decided: GC programs and erases before GC reads, since they free a buffer.

use super::{Heads, OrderPolicy, R_GC, R_HOST, W_GC, W_HOST};
use crate::plug::{PolicyInfo, PolicySpec};

/// Registry entry of this order.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "host-first",
    summary: "host reads, host writes, then GC; foreground GC before writes",
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
    #[inline(always)]
    fn pick(&self, heads: &Heads) -> usize {
        let order = if heads.gc_is_urgent() {
            [R_HOST, W_GC, R_GC, W_HOST]
        } else {
            [R_HOST, W_HOST, W_GC, R_GC]
        };
        heads.first_of(&order).expect("a head is present")
    }

    fn compares_ages(&self) -> bool {
        false
    }
}
