//! FIFO: the oldest operation first, from host or GC.
//!
//! Paper: "High-Performance Garbage Collection Scheme with Low Data Transfer Overhead for NoC-Based SSDC", 2024.
//! Where it is silent on ties, decided: `W_gc` before `R_gc` (it frees a buffer), then the host.

use super::{Heads, OrderPolicy, R_GC, R_HOST, W_GC, W_HOST};
use crate::plug::{PolicyInfo, PolicySpec};

/// Registry entry of this order.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "fifo",
    summary: "the oldest operation first",
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
        heads.oldest_of(&[W_GC, R_GC, R_HOST, W_HOST]).expect("a head is present")
    }
}
