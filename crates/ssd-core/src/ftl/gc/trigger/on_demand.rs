//! On demand: collect a pool at its threshold of erased blocks only when a request waits for it, before that request;
//! optionally also when it is idle.
//!
//! Paper: Liang et al., "Boosting Performance of SSD with Chip-level RAID by Deferring Garbage Collection", IEICE
//! Electronics Express 2018, section 4.3: a chip that has reached the threshold is not collected "while there is no
//! requests to invoke GC"; deferred collection works in idle time, when the pending queue is empty.
//! Where it is silent, decided: any request for the chip makes it collect (`by = "write"`: only one that writes);
//! collection goes block by block, and the pool is considered again after each, so collection ends at the threshold or
//! when nothing waits; a pool that is collected in idle time takes requests again after the block. Without time a
//! request always waits.

use super::{SpaceView, TriggerPolicy};
use crate::plug::{ParamInfo, ParamKind, PolicyInfo, PolicySpec};
use crate::units::Nanos;

/// Registry entry of this trigger.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "on-demand",
    summary: "when a request waits for a pool of which `soft` or fewer blocks are erased, ahead of it",
    paper: "Liang et al., IEICE Electronics Express 2018, section 4.3",
    params: &[
        ParamInfo {
            name: "soft",
            kind: ParamKind::Int(0, 1 << 31),
            default: Some("4"),
            doc: "erased blocks of the pool at which a request makes it collect",
        },
        ParamInfo {
            name: "by",
            kind: ParamKind::Choice(&["any", "write"]),
            default: Some("any"),
            doc: "the requests that do",
        },
        ParamInfo {
            name: "idle",
            kind: ParamKind::Bool,
            default: Some("false"),
            doc: "such a pool is also collected while nothing of the host waits or runs on it",
        },
    ],
};

/// The threshold, and which requests make a pool collect.
pub struct Policy {
    soft: u32,
    by_any: bool,
    idle: bool,
}

impl Policy {
    pub(super) fn build(spec: &PolicySpec) -> Policy {
        Policy {
            soft: spec.int("soft") as u32,
            by_any: spec.word("by") == "any",
            idle: spec.flag("idle"),
        }
    }

    /// Whether a request waits that makes the pool collect.
    fn is_wanted(&self, view: &SpaceView) -> bool {
        view.write_waits || (self.by_any && view.read_waits)
    }
}

impl TriggerPolicy for Policy {
    fn holds(&self, view: &SpaceView) -> bool {
        debug_assert!(
            view.free_blocks <= view.blocks,
            "more blocks are erased than good: {view:?}"
        );
        let idle = self.idle && view.idle_for.is_some();
        view.free_blocks <= self.soft && (idle || self.is_wanted(view))
    }

    fn urgent(&self, view: &SpaceView) -> bool {
        debug_assert!(view.blocks > 0 || view.free_blocks == 0, "no block is good: {view:?}");
        view.free_blocks <= self.soft && self.is_wanted(view)
    }

    fn outlasts(&self, best: &SpaceView) -> bool {
        debug_assert!(best.free_blocks <= best.blocks, "{best:?}");
        best.free_blocks <= self.soft
    }

    fn watches_pages(&self) -> bool {
        false
    }

    fn watches_requests(&self) -> bool {
        true
    }

    fn blocks_left(&self, view: &SpaceView) -> Option<u32> {
        debug_assert!(view.free_blocks <= view.blocks, "{view:?}");
        Some(view.free_blocks.saturating_sub(self.soft))
    }

    fn idle_after(&self) -> Option<Nanos> {
        self.idle.then_some(Nanos::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plug::Value;
    use crate::units::PoolId;

    #[test]
    fn a_pool_at_its_threshold_is_collected_for_a_request_or_when_idle() {
        let view = |free_blocks, read_waits, write_waits, idle: bool| SpaceView {
            pool: PoolId(0),
            clock: 0,
            free_blocks,
            blocks: 10,
            pool_used_pages: 0,
            pool_pages: 10,
            used_pages: 0,
            pages: 10,
            idle_for: idle.then_some(Nanos::ZERO),
            read_waits,
            write_waits,
        };
        let build = |by: &str, idle| {
            let spec = PolicySpec::with_defaults(&INFO).with("by", Value::Word(by.to_string()));
            Policy::build(&spec.with("idle", Value::Bool(idle)))
        };
        let (any, write, idle) = (build("any", false), build("write", false), build("any", true));
        let answers = |view: &SpaceView| {
            [&any, &write, &idle].map(|policy| (policy.holds(view), policy.urgent(view)))
        };
        let (no, yes, later) = ((false, false), (true, true), (true, false));
        assert_eq!(answers(&view(5, true, true, false)), [no; 3], "above the threshold");
        assert_eq!(answers(&view(4, false, true, false)), [yes; 3]);
        assert_eq!(answers(&view(4, true, false, false)), [yes, no, yes]);
        assert_eq!(answers(&view(4, false, false, false)), [no; 3]);
        assert_eq!(answers(&view(4, false, false, true)), [no, no, later]);
        assert_eq!(any.blocks_left(&view(9, false, false, false)), Some(5));
        assert_eq!(any.blocks_left(&view(2, false, false, false)), Some(0));
    }
}
