//! SLC blocks for valid configs of small devices, drawn by proptest.

use super::any_config::{is_valid, word};
use proptest::prelude::*;
use ssd_core::config::{Config, Fold, FoldPath, Frontiers, GcPath, Slc, SlcMode};

/// SLC blocks: most devices with several bits have some.
pub(super) fn slc_blocks() -> impl Strategy<Value = Slc> {
    let times = (0u64..60, 1u64..500, 0u64..4000);
    let drawn = (word(), 0.05f64..=1.0, times, word(), word(), word());
    drawn.prop_map(|(mode, share, (read_ns, program_ns, idle_ns), fold, path, full)| {
        let share = if share > 0.9 { 1.0 } else { share };
        let endurance = Slc::default().endurance;
        Slc {
            mode,
            static_bytes: 0,
            share,
            read_ns,
            program_ns,
            fold,
            idle_ns,
            path,
            full,
            endurance,
        }
    })
}

/// What SLC blocks demand of other keys, and keys without effect at their defaults.
pub(super) fn reconcile_slc(c: &mut Config) {
    let without = c.device.bits < 2
        || c.alloc.frontiers == Frontiers::Single
        || c.gc.path == GcPath::Selective
        || c.alloc.separation.policy != "none"
        || !c.power.is_off();
    let off = Slc::default();
    if without || c.slc.is_off() {
        c.slc = off;
        return;
    }
    let unit = c.pages_per_unit() / u64::from(c.device.bits) * u64::from(c.device.page_bytes);
    if c.slc.mode.has_static() {
        c.slc.static_bytes = unit * c.pools() * (1 + c.run.seed % 3);
        let config = is_valid(c);
        if config.is_err_and(|error| error.contains("SLC blocks of each pool")) {
            c.slc.mode = SlcMode::Dynamic;
        }
    }
    if !c.slc.mode.has_static() {
        c.slc.static_bytes = off.static_bytes;
    }
    if !c.slc.mode.has_share() {
        c.slc.share = off.share;
    }
    if c.gc.trigger.iter().any(|trigger| trigger.policy == "idle") {
        c.slc.fold = Fold::Full;
    }
    if c.slc.fold == Fold::Full {
        c.slc.idle_ns = off.idle_ns;
    }
    if c.planes_per_pool() > 1 {
        c.slc.path = FoldPath::Controller;
    }
}
