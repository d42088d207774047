//! Adaptive: the number of channels that may collect at once follows the used space.
//!
//! Paper: "Adaptive Channel-Aware Garbage Collection Control for Multi-Channel SSDs", Electronics 14(23):4741, 2025,
//! section 3.2: `G(t) = 0` for `U < theta1`, `Gmax (U - theta1) / (theta2 - theta1)` up to `theta2`, and `Gmax` beyond;
//! U is the share of pages that are not erased, Gmax half the channels.
//! Where it is silent, decided: G(t) is rounded up (option: down). A channel is active from the choice of a victim on
//! it to the end of that victim's erase, including waits, and counts once however many of its pools collect; a pool
//! over all channels counts as one. When G(t) falls, running jobs finish, and no new job begins, even on an active
//! channel, until fewer than G(t) other channels are active. Work at the hard reserve is not counted against G(t).
//! `theta1 = theta2`: a step. The arithmetic is exact.

use super::{ConcurrencyPolicy, DeviceView, LimitUnit};
use crate::plug::{ParamInfo, ParamKind, PolicyInfo, PolicySpec};

/// Registry entry of this rule.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "adaptive",
    summary: "at most G(t) channels collect at once, growing with the used space from `theta1` to `theta2`",
    paper: "Adaptive Channel-Aware Garbage Collection Control, Electronics 14(23):4741, 2025, section 3.2",
    params: &[
        ParamInfo {
            name: "theta1",
            kind: ParamKind::Ratio(0.0, 1.0),
            default: Some("0.5"),
            doc: "share of used pages up to which no channel collects",
        },
        ParamInfo {
            name: "theta2",
            kind: ParamKind::Ratio(0.0, 1.0),
            default: Some("0.85"),
            doc: "share of used pages from which `gmax` channels collect; at least `theta1`",
        },
        ParamInfo {
            name: "gmax",
            kind: ParamKind::Int(0, 4096),
            default: Some("0"),
            doc: "maximum number of channels that collect at once; 0: half of the channels, rounded up",
        },
        ParamInfo {
            name: "rounding",
            kind: ParamKind::Choice(&["ceil", "floor"]),
            default: Some("ceil"),
            doc: "rounding of G(t) between the thresholds",
        },
    ],
};

/// One, in parts per billion.
const ONE: u128 = 1_000_000_000;

/// Thresholds in parts per billion, and the rest of the parameters.
pub struct Policy {
    theta1: u128,
    theta2: u128,
    gmax: u32,
    up: bool,
}

impl Policy {
    pub(super) fn build(spec: &PolicySpec) -> Policy {
        let ppb = |key| (spec.real(key) * 1e9 + 0.5) as u128;
        let (theta1, theta2) = (ppb("theta1"), ppb("theta2"));
        assert!(theta1 <= theta2, "the config layer has checked the order of the thresholds");
        assert!(theta2 <= ONE, "the config layer has checked the shares");
        let up = spec.word("rounding") == "ceil";
        Policy { theta1, theta2, gmax: spec.int("gmax") as u32, up }
    }
}

impl ConcurrencyPolicy for Policy {
    fn limit(&self, view: &DeviceView) -> u32 {
        debug_assert!(view.used_pages <= view.pages, "the device overflows: {view:?}");
        debug_assert!(view.channels > 0, "no channel may ever collect: {view:?}");
        let gmax = if self.gmax == 0 { view.channels.div_ceil(2) } else { self.gmax };
        // All shares in parts per billion of `pages`.
        let (used, pages) = (u128::from(view.used_pages) * ONE, u128::from(view.pages));
        if used < self.theta1 * pages {
            return 0;
        }
        if used >= self.theta2 * pages {
            return gmax;
        }
        let share = u128::from(gmax) * (used - self.theta1 * pages);
        let range = (self.theta2 - self.theta1) * pages;
        debug_assert!(range > 0, "a step has no pages between its thresholds: {view:?}");
        let channels = if self.up { share.div_ceil(range) } else { share / range };
        assert!(channels <= u128::from(gmax), "{channels} channels may collect, at most {gmax}");
        channels as u32
    }

    fn counted(&self) -> LimitUnit {
        LimitUnit::Channels
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plug::Value;

    fn limit(spec: &PolicySpec, channels: u32, used_pages: u64, pages: u64) -> u32 {
        Policy::build(spec).limit(&DeviceView { pools: 99, channels, used_pages, pages })
    }

    #[test]
    fn the_limit_at_between_and_outside_the_thresholds() {
        let up = PolicySpec::with_defaults(&INFO);
        let down = up.clone().with("rounding", Value::Word("floor".into()));
        // 4 (U - 0.5) / 0.35 of 1000 pages: 1 at 587.5, 2 at 675, 3 at 762.5, 4 at 850.
        for (used, ceil, floor) in [
            (0, 0, 0),
            (499, 0, 0),
            (500, 0, 0),
            (501, 1, 0),
            (587, 1, 0),
            (588, 2, 1),
            (675, 2, 2),
            (676, 3, 2),
            (762, 3, 2),
            (763, 4, 3),
            (849, 4, 3),
            (850, 4, 4),
            (851, 4, 4),
            (1000, 4, 4),
        ] {
            let limits = (limit(&up, 8, used, 1000), limit(&down, 8, used, 1000));
            assert_eq!(limits, (ceil, floor), "{used} of 1000 pages used");
        }
    }

    #[test]
    fn half_of_the_channels_unless_said() {
        let spec = PolicySpec::with_defaults(&INFO);
        for (channels, most) in [(1, 1), (2, 1), (5, 3), (8, 4)] {
            assert_eq!(limit(&spec, channels, 90, 100), most);
        }
        assert_eq!(limit(&spec.with("gmax", Value::Int(6)), 8, 90, 100), 6);
    }

    #[test]
    fn equal_thresholds_are_a_step() {
        for theta in [0.0, 0.7, 1.0] {
            let spec = PolicySpec::with_defaults(&INFO)
                .with("theta1", Value::Real(theta))
                .with("theta2", Value::Real(theta));
            let at = (theta * 1000.0) as u64;
            assert_eq!(limit(&spec, 8, at, 1000), 4);
            if at > 0 {
                assert_eq!(limit(&spec, 8, at - 1, 1000), 0);
            }
        }
    }
}
