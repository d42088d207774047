//! No redirection: every page is written to its home chip.
//!
//! Source: the conventional scheme of a chip-level RAID, the baseline of the paper on deferred GC.
//! Decided: nothing.

use super::{Chip, RedirectPolicy, Write};
use crate::plug::{PolicyInfo, PolicySpec};

/// Registry entry of this redirection.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "none",
    summary: "every page is written to its home chip",
    paper: "conventional",
    params: &[],
};

/// Nothing to know.
pub struct Policy;

impl Policy {
    pub(super) fn build(_spec: &PolicySpec) -> Policy {
        Policy
    }
}

impl RedirectPolicy for Policy {
    fn warns(&self, _home: &Chip) -> bool {
        false
    }

    fn target(&self, _write: &Write, _chips: &[Chip]) -> Option<usize> {
        None
    }
}
