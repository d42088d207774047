//! Fixed: at most `k` pools collect at once.
//!
//! Source: the invalidation-rate paper of 2023 collects one block of the device at a time (k = 1).
//! Decided: jobs at the hard reserve do not count towards k.

use super::{ConcurrencyPolicy, DeviceView};
use crate::plug::{ParamInfo, ParamKind, PolicyInfo, PolicySpec};

/// Registry entry of this rule.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "fixed",
    summary: "at most `k` pools collect at once",
    paper: "Invalidation-rate garbage collection, 2023, algorithm 1 (k = 1)",
    params: &[ParamInfo {
        name: "k",
        kind: ParamKind::Int(1, 1 << 31),
        default: Some("1"),
        doc: "pools that may collect at once",
    }],
};

/// The limit.
pub struct Policy {
    k: u32,
}

impl Policy {
    pub(super) fn build(spec: &PolicySpec) -> Policy {
        let k = spec.int("k");
        assert!(k > 0, "no pool may ever collect: the config layer has checked it");
        assert!(k <= u64::from(u32::MAX), "{k} pools are more than a device can have");
        Policy { k: k as u32 }
    }
}

impl ConcurrencyPolicy for Policy {
    fn limit(&self, _view: &DeviceView) -> u32 {
        self.k
    }
}
