//! Free-block watermarks: collect while few erased blocks are left in the pool.
//!
//! Paper: Tavakkol et al., "MQSim: a framework for enabling realistic studies of modern multi-queue SSD devices", FAST
//! 2018, section 4.2 (soft and hard thresholds of free blocks).
//! Where it is silent, decided: thresholds are numbers of blocks of the pool, and collection is due at the threshold,
//! not below it.

use super::{SpaceView, TriggerPolicy};
use crate::plug::{ParamInfo, ParamKind, PolicyInfo, PolicySpec};

/// Registry entry of this trigger.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "free-blocks",
    summary: "while `soft` or fewer blocks of the pool are erased; ahead of the host at `hard` or fewer",
    paper: "Tavakkol et al., MQSim, FAST 2018, section 4.2",
    params: &[
        ParamInfo {
            name: "soft",
            kind: ParamKind::Int(0, 1 << 31),
            default: Some("4"),
            doc: "erased blocks of the pool at which collection starts",
        },
        ParamInfo {
            name: "hard",
            kind: ParamKind::Int(0, 1 << 31),
            default: Some("0"),
            doc: "erased blocks of the pool at which collection goes before host operations",
        },
    ],
};

/// The two watermarks.
pub struct Policy {
    soft: u32,
    hard: u32,
}

impl Policy {
    pub(super) fn build(spec: &PolicySpec) -> Policy {
        let (soft, hard) = (spec.int("soft"), spec.int("hard"));
        assert!(soft.max(hard) <= u64::from(u32::MAX), "the config layer has checked both");
        Policy { soft: soft as u32, hard: hard as u32 }
    }
}

impl TriggerPolicy for Policy {
    fn holds(&self, view: &SpaceView) -> bool {
        let most = view.pool_pages.max(u64::from(view.blocks));
        debug_assert!(u64::from(view.free_blocks) <= most, "blocks without pages: {view:?}");
        view.free_blocks <= self.soft
    }

    fn urgent(&self, view: &SpaceView) -> bool {
        view.free_blocks <= self.hard
    }

    fn outlasts(&self, best: &SpaceView) -> bool {
        self.holds(best)
    }

    fn watches_pages(&self) -> bool {
        false
    }
}
