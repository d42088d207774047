//! What the timed machine has done, as the functional executor counts it.

use ssd_core::ftl::gc::victim::ALL;
use ssd_core::host::device::Device;
use ssd_core::metrics::counters::{Cause, MoveCounts, SlcCounts};
use ssd_core::plug::{PolicySpec, Value};
use ssd_core::sim::functional::Tally;
use ssd_core::sim::logs::operations::{FlashOp, OpRecord};
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{BlockId, Nanos};

/// The victim policy called `name`, with a clock that both executors have.
pub(crate) fn victim(name: &str) -> PolicySpec {
    in_pages(super::named(ALL, name))
}

/// As [`victim`], for a policy of this specification.
pub(crate) fn in_pages(spec: PolicySpec) -> PolicySpec {
    if spec.policy == "invalidation-rate" {
        return spec.with("time", Value::Word("pages".to_string()));
    }
    spec
}

/// Let collection end.
pub(crate) fn settle(ssd: &mut Ssd) {
    ssd.run_until(Nanos(ssd.now().0 + 1_000_000_000), &mut Vec::new()).expect("it ends");
    assert!(ssd.at_rest(), "collection has not ended");
}

/// The blocks erased, in the order of `log`.
pub(crate) fn collected(ssd: &Ssd, log: &[OpRecord]) -> Vec<BlockId> {
    let geo = &ssd.core.ftl.geo;
    let mut blocks = Vec::new();
    for erase in log.iter().filter(|r| r.op == FlashOp::Erase) {
        let p = erase.place;
        let plane = (p.channel * geo.chips_per_channel + p.chip) * geo.planes_per_chip + p.plane;
        let pool = plane / geo.planes_per_pool();
        let per_plane = geo.blocks_per_pool * geo.members / geo.planes_per_pool();
        let block = if geo.members > 1 {
            if !plane.is_multiple_of(geo.members) {
                continue;
            }
            pool * geo.blocks_per_pool + p.block
        } else {
            plane * per_plane + p.block
        };
        blocks.push(BlockId(block));
    }
    blocks
}

/// What has been measured.
pub(crate) fn tally(ssd: &Ssd) -> Tally {
    let m = ssd.measured();
    assert_eq!(m.host.rmw, m.flash.reads[Cause::Rmw.at()], "rests read, as counted");
    Tally {
        host_pages: m.flash.programs[Cause::Host.at()],
        gc_pages: m.flash.programs[Cause::Gc.at()],
        victims: m.gc.calls,
        foreground: m.gc.foreground,
        by_reserve: m.gc.victims.reserve_greedy,
        unmet: m.gc.victims.unmet,
        decided: m.gc.victims.decided,
        victim_valid: m.gc.victim_valid_sum,
        levelled: m.wear.calls,
        slc: SlcCounts { pages: MoveCounts::default(), ..m.slc },
        fold_pages: m.flash.programs[Cause::Fold.at()],
        wear_pages: m.flash.programs[Cause::Wear.at()],
        remap_pages: m.flash.programs[Cause::Remap.at()],
        remap_reads: m.flash.reads[Cause::Remap.at()],
        rests_read: m.host.rmw,
    }
}
