//! Idle: collect while no host operation waits or runs on the pool's busy units.
//!
//! Paper: "Adaptive Channel-Aware Garbage Collection Control for Multi-Channel SSDs", Electronics 14(23):4741, 2025
//! (collection starts on a channel only when it is idle).
//! Where it is silent, decided: the pool counts as idle after `after` without host work (0 in the paper), and a job
//! that has started finishes even if the host comes back.

use super::{SpaceView, TriggerPolicy};
use crate::plug::{ParamInfo, ParamKind, PolicyInfo, PolicySpec};
use crate::units::Nanos;

/// Registry entry of this trigger.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "idle",
    summary: "while the pool's busy units have had no host operation for `after`",
    paper: "Adaptive Channel-Aware Garbage Collection Control, Electronics 14(23):4741, 2025",
    params: &[ParamInfo {
        name: "after",
        kind: ParamKind::Time,
        default: Some("0"),
        doc: "idle time before collection starts",
    }],
};

/// The idle time asked for.
pub struct Policy {
    after: Nanos,
}

impl Policy {
    pub(super) fn build(spec: &PolicySpec) -> Policy {
        Policy { after: Nanos(spec.int("after")) }
    }
}

impl TriggerPolicy for Policy {
    fn holds(&self, view: &SpaceView) -> bool {
        view.idle_for.is_some_and(|idle| idle >= self.after)
    }

    fn idle_after(&self) -> Option<Nanos> {
        Some(self.after)
    }
}
