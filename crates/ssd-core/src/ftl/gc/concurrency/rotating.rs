//! Rotating: at most `k` chips of each parity group collect at once, at the hard reserve too.
//!
//! Source: Kim, Lee, Oral, Dillow, Wang and Shipman, "Harmonia: a globally coordinated garbage collector for arrays of
//! SSDs", MSST 2011, lets the drives of an array collect together; Skourtis et al., "Flash on Rails", ATC 2014, and Kim
//! et al., "Alleviating Garbage Collection Interference through Spatial Separation in All Flash Arrays" (SWAN), ATC
//! 2019, let them take turns, so that the others of a stripe answer. Here the chips of a parity group take turns. Where
//! they are silent, decided: a chip whose pool is at its reserve waits too, or a second member of its group would be
//! busy just when collection is heaviest (its writes wait longer; the chip before it always finishes, because room is
//! reserved for its copies); the pool that has waited longest is next; a chip with several planes counts once.
//!
//! With `idle` a turn begins on a chip that has no operation of the host, and ends when those that came meanwhile have
//! left. Otherwise a second chip of the group collects while the first one works off its queue, and no read avoids
//! both; and reads that wait on a chip, perhaps in order to avoid another one, wait for its collection. A chip that is
//! never idle never collects. This, too, was decided here.

use super::{ConcurrencyPolicy, DeviceView, LimitUnit};
use crate::plug::{ParamInfo, ParamKind, PolicyInfo, PolicySpec};

/// Registry entry of this rule.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "rotating",
    summary: "at most `k` chips of each parity group collect at once, at the hard reserve too",
    paper: "Flash on Rails (ATC 2014), SWAN (ATC 2019), applied to the chips of a drive",
    params: &[
        ParamInfo {
            name: "k",
            kind: ParamKind::Int(1, 64),
            default: Some("1"),
            doc: "chips of a parity group that may collect at once",
        },
        ParamInfo {
            name: "idle",
            kind: ParamKind::Bool,
            default: Some("false"),
            doc: "a chip begins its turn only without operations of the host, and ends it when it has none again",
        },
    ],
};

/// The limit.
pub struct Policy {
    k: u32,
    idle: bool,
}

impl Policy {
    pub(super) fn build(spec: &PolicySpec) -> Policy {
        let k = spec.int("k") as u32;
        assert!(k > 0, "no chip may ever collect: the config layer has checked it");
        Policy { k, idle: spec.flag("idle") }
    }
}

impl ConcurrencyPolicy for Policy {
    fn limit(&self, _view: &DeviceView) -> u32 {
        self.k
    }

    fn counted(&self) -> LimitUnit {
        LimitUnit::Members
    }

    fn waits_until_idle(&self) -> bool {
        self.idle
    }

    fn binds_reserve(&self) -> bool {
        true
    }
}
