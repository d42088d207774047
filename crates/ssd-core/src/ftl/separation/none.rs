//! None: `alloc.frontiers` determines the open blocks.
//!
//! Source: the baseline of every paper on separation. Decided: the policy is never asked, so a device without
//! separation pays neither memory nor time for it.

use super::{Classes, Ground, PageCopy, PageWrite, SeparationPolicy};
use crate::plug::{PolicyInfo, PolicySpec};

/// Registry entry of none.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "none",
    summary: "open blocks as alloc.frontiers says",
    paper: "the baseline: one frontier, or one for the host and one for copies",
    params: &[],
};

/// No separation.
pub struct Policy;

impl Policy {
    pub(super) fn build(_spec: &PolicySpec, _ground: &Ground) -> Policy {
        Policy
    }
}

impl SeparationPolicy for Policy {
    fn classes(&self) -> Classes {
        unreachable!("alloc.frontiers says it")
    }

    fn of_write(&mut self, page: &PageWrite) -> u32 {
        unreachable!("{page:?} has no class")
    }

    fn of_copy(&mut self, page: &PageCopy) -> u32 {
        unreachable!("{page:?} has no class")
    }
}
