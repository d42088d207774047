//! A write that waits for room starts when there is room, whichever chip has made it.

mod rig;

use rig::{alone, device, free_blocks, whole};
use ssd_core::config::{BusyUnit, PoolScope};
use ssd_core::ftl::Ftl;
use ssd_core::host::request::Op;
use ssd_core::metrics::counters::Cause;
use ssd_core::rng::Stream;
use ssd_core::sim::log::{FlashOp, OpRecord};
use ssd_core::sim::ssd::Ssd;

/// Two chips share their blocks. The first write that waits for a whole collection does so in the queue of its own
/// chip, where nothing happens; it starts on the other one at the instant in which that has erased a block,
/// although the next collection begins then.
#[test]
fn a_write_starts_when_the_other_chip_has_erased_a_block() {
    let mut c = device([1, 2, 1], 8, 8, 102);
    (c.alloc.pool, c.timing.busy_unit) = (PoolScope::Channel, BusyUnit::Chip);
    (c.gc.trigger, c.gc.reserve) = (vec![free_blocks(0)], 1);
    c.metrics.op_log = true;
    let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
    let mut rng = Stream::new(1, "writes");
    let user = c.device.user_pages;
    for n in 0..2 * user {
        let lpn = if n < user { n } else { rng.below(u64::from(user)) as u32 };
        alone(&mut ssd, whole(Op::Write, lpn, 1));
    }
    let mut log = Vec::new();
    ssd.drain_operations(&mut log);
    let long = |r: &&OpRecord| r.cause == Cause::Host && (r.start - r.queued).0 > 10_000;
    let write = log.iter().find(long).expect("a write waits for a whole collection");
    assert_ne!(write.place.chip, write.lpn % 2, "it goes to the other chip");
    let erase = log.iter().rfind(|r| r.op == FlashOp::Erase && r.end <= write.start);
    let erase = erase.expect("it waited for an erase");
    assert_eq!((write.place.chip, write.start), (erase.place.chip, erase.end));
    let next = log.iter().find(|r| r.cause == Cause::Gc && r.start == erase.end);
    assert_eq!(next.map(|r| r.place.chip), Some(write.lpn % 2), "its own chip collects next");
}
