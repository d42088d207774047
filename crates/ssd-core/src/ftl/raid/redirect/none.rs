//! No redirection: every page is written to the chip at home.
//!
//! Source: the conventional scheme of a chip-level RAID, with which the paper on deferred GC compares itself.
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
