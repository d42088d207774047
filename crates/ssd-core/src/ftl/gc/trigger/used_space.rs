//! Used space: collect while the share of pages that are not erased is at or above a threshold.
//!
//! Paper: the invalidation-rate GC paper of 2023 (`S_used >= 70 %`); the adaptive-channel (2025) and noc-copyback
//! (2024) papers have the same rule.
//! Where they are silent, decided: S_used is measured over the device (`scope = "pool"`: over each pool).

use super::{SpaceView, TriggerPolicy};
use crate::plug::{ParamInfo, ParamKind, PolicyInfo, PolicySpec};

/// Registry entry of this trigger.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "used-space",
    summary: "while the share of pages that are not erased is `at` or more",
    paper: "Invalidation-rate garbage collection, 2023, algorithm 1",
    params: &[
        ParamInfo {
            name: "at",
            kind: ParamKind::Ratio(0.0, 1.0),
            default: Some("0.7"),
            doc: "share of used pages, (valid + invalid) / all",
        },
        ParamInfo {
            name: "scope",
            kind: ParamKind::Choice(&["device", "pool"]),
            default: Some("device"),
            doc: "whose pages are counted",
        },
    ],
};

/// The threshold in parts per billion, so that the comparison is exact in integers.
pub struct Policy {
    at_ppb: u64,
    pool: bool,
}

impl Policy {
    pub(super) fn build(spec: &PolicySpec) -> Policy {
        let at_ppb = (spec.real("at") * 1e9 + 0.5) as u64;
        assert!(at_ppb <= 1_000_000_000, "the config layer has checked the share");
        Policy { at_ppb, pool: spec.word("scope") == "pool" }
    }
}

impl TriggerPolicy for Policy {
    fn holds(&self, view: &SpaceView) -> bool {
        let (used, total) = if self.pool {
            (view.pool_used_pages, view.pool_pages)
        } else {
            (view.used_pages, view.pages)
        };
        debug_assert!(used <= total, "more pages are used than there are: {view:?}");
        u128::from(used) * 1_000_000_000 >= u128::from(total) * u128::from(self.at_ppb)
    }

    fn outlasts(&self, best: &SpaceView) -> bool {
        self.holds(best)
    }

    fn watches_device(&self) -> bool {
        !self.pool
    }
}
