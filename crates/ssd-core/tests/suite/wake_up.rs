//! What waits starts at the instant at which it may: writes when there is room, whichever chip has made it, and reads
//! when their page is open, somewhere else or gone.

use crate::rig::storm::{Storm, Weather};
use crate::rig::{alone, device, finish, free_blocks, named, whole};
use ssd_core::config::{
    Blocking, BlockingScope, BusyUnit, Config, DataMode, Frontiers, Granularity, PoolScope,
};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::blocks::BlockState;
use ssd_core::host::device::Device;
use ssd_core::host::request::Op;
use ssd_core::metrics::counters::Cause;
use ssd_core::rng::Stream;
use ssd_core::sim::logs::operations::{FlashOp, OpRecord};
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos, PlaneId};

/// Two chips share their blocks. The first write that waits for a whole collection waits in the queue of its own chip,
/// where nothing happens. It starts on the other chip at the instant at which that has erased a block, although the
/// next collection begins then.
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

/// A device without spare room, whose only write waits on chip 0, and a TRIM that lets chip 1 collect: its job reserves
/// less room than is reserved for any job, so the write starts with it.
#[test]
fn a_write_starts_when_a_job_keeps_less_room_than_any_may() {
    let mut c = device([1, 2, 1], 4, 4, 31);
    (c.alloc.pool, c.timing.busy_unit) = (PoolScope::Channel, BusyUnit::Chip);
    (c.alloc.frontiers, c.gc.reserve) = (Frontiers::Single, 1);
    c.gc.trigger = vec![free_blocks(1)];
    let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
    for lpn in 0..28 {
        alone(&mut ssd, whole(Op::Write, lpn, 1));
    }
    let at = ssd.now();
    ssd.submit(at, &whole(Op::Write, 28, 1), None).unwrap();
    ssd.submit(Nanos(at.0 + 100), &whole(Op::Trim, 1, 1), None).unwrap();
    let done = finish(&mut ssd).expect("the TRIM makes room");
    let write = done.iter().find(|c| c.op == Op::Write).expect("it completes");
    assert_eq!(write.at.0, at.0 + 100 + 20 + 500);
}

/// Two planes with a pool each; between two moves of a job the ECC decoder has the page, and the plane is idle.
fn slow_decoder(blocking: Blocking) -> Config {
    let mut c = device([1, 1, 2], 12, 8, 120);
    c.timing.busy_unit = BusyUnit::Plane;
    c.alloc.placement = named(ssd_core::ftl::place::ALL, "least-busy");
    (c.gc.reserve, c.gc.trigger) = (1, vec![free_blocks(2)]);
    (c.gc.blocking, c.gc.window, c.controller.ecc_ns) = (blocking, 1, 10_000);
    c
}

/// Write until a block with several valid pages is being collected. Returns these pages when the first is in the
/// decoder.
fn pages_of_a_victim(ssd: &mut Ssd, rng: &mut Stream) -> Vec<u32> {
    let user = ssd.core.ftl.geo.user_pages;
    for n in 0..100 * user {
        let lpn = if n < user { n } else { rng.below(u64::from(user)) as u32 };
        alone(ssd, whole(Op::Write, lpn, 1));
        let now = ssd.now();
        ssd.run_until(Nanos(now.0 + 100), &mut Vec::new()).unwrap();
        let in_victim = |&lpn: &u32| {
            let block =
                ssd.core.ftl.owners.committed(Lpn(lpn)).map(|page| ssd.core.ftl.geo.block_of(page));
            block.filter(|b| ssd.core.ftl.blocks.state[b.at()] == BlockState::Collecting)
        };
        let mut pages: Vec<u32> = (0..user).filter(|lpn| in_victim(lpn).is_some()).collect();
        if pages.len() > 3 {
            pages.sort_by_key(|&lpn| ssd.core.ftl.owners.committed(Lpn(lpn)));
            return pages;
        }
        ssd.run_until(Nanos(now.0 + 1_000_000), &mut Vec::new()).unwrap();
    }
    panic!("no victim has several valid pages");
}

/// A read of a closed block no longer waits when its page is trimmed or newer data are admitted.
#[test]
fn a_read_stops_waiting_when_its_page_is_trimmed_or_overwritten() {
    let blocking = Blocking { scope: BlockingScope::Block, granularity: Granularity::Job };
    for op in [Op::Trim, Op::Write] {
        let mut ssd = Ssd::new(&slow_decoder(blocking), Ftl::new(&slow_decoder(blocking)), 0);
        let pages = pages_of_a_victim(&mut ssd, &mut Stream::new(1, "writes"));
        let lpn = *pages.last().expect("several");
        let at = ssd.now();
        ssd.submit(at, &whole(Op::Read, lpn, 1), None).unwrap();
        ssd.submit(Nanos(at.0 + 300), &whole(op, lpn, 1), None).unwrap();
        let done = finish(&mut ssd).unwrap();
        let read = done.iter().find(|c| c.op == Op::Read).expect("it completes");
        assert_eq!(read.at.0, at.0 + 300, "{op:?}");
    }
}

/// A read of a block that is closed page by page starts when its page has been moved, even to another plane: here the
/// last page but one, after which its plane has nothing to do until the last one has been moved.
#[test]
fn a_read_starts_when_its_page_has_been_moved_elsewhere() {
    let blocking = Blocking { scope: BlockingScope::Block, granularity: Granularity::Page };
    let mut c = slow_decoder(blocking);
    (c.alloc.pool, c.metrics.op_log, c.gc.window) = (PoolScope::Chip, true, 2);
    let (mut ssd, mut rng) = (Ssd::new(&c, Ftl::new(&c), 0), Stream::new(1, "writes"));
    let elsewhere = (0..400).filter(|_| {
        let lpn = pages_of_a_victim(&mut ssd, &mut rng).into_iter().rev().nth(1).expect("several");
        ssd.drain_operations(&mut Vec::new());
        let home = ssd
            .core
            .ftl
            .geo
            .plane_of(ssd.core.ftl.owners.committed(Lpn(lpn)).expect("it is mapped"));
        alone(&mut ssd, whole(Op::Read, lpn, 1));
        let mut log = Vec::new();
        ssd.run_until(Nanos(ssd.now().0 + 1_000_000), &mut Vec::new()).unwrap();
        ssd.drain_operations(&mut log);
        let read = log.iter().find(|r| r.cause == Cause::Host).expect("it is in the log");
        let moved = log.iter().find(|r| r.op == FlashOp::Program && r.lpn == lpn);
        let moved = moved.expect("its page is moved");
        assert_eq!(read.place, moved.place);
        // At one instant units are dispatched in order: what comes from plane 1 finds plane 0 busy with the next page.
        let elsewhere = home == PlaneId(0) && moved.place.plane == 1;
        assert!(!elsewhere || read.start == moved.end, "{moved:?} {read:?}");
        elsewhere
    });
    assert_eq!(elsewhere.count(), 13, "pages whose plane has no room");
}

/// A storm over a device of `c`, which checks after every instant that nothing has been forgotten.
fn storms(c: &Config, mix: [u64; 3]) {
    for seed in 0..40 {
        let weather = Weather { requests: 600, depth: 8, seed, audit: 1000, mix, pause: 0 };
        Storm::new(c, weather).run().expect("there is room");
    }
}

/// A read waits on a busy plane while newer data of its page are programmed on another one, which is closed by then:
/// the read moves there, where it is woken.
#[test]
fn a_read_waits_where_its_page_is() {
    let blocking = Blocking { scope: BlockingScope::Plane, granularity: Granularity::Job };
    let mut c = slow_decoder(blocking);
    (c.run.data, c.device.user_pages) = (DataMode::Digest, 128);
    (c.timing.erase_ns, c.controller.host_ecc_ns) = (20_000, 3000);
    storms(&c, [70, 0, 0]);
}

/// A read that needs the rest of a page from a closed plane, until the write in the buffer has got that rest.
#[test]
fn a_read_stops_waiting_when_the_page_in_the_buffer_is_whole() {
    let blocking = Blocking { scope: BlockingScope::Plane, granularity: Granularity::Job };
    let mut c = slow_decoder(blocking);
    (c.run.data, c.device.user_pages) = (DataMode::Digest, 128);
    (c.host.write_buffer_pages, c.controller.host_ecc_ns) = (16, 3000);
    storms(&c, [70, 0, 0]);
}

/// A write waits for its closed chip as long as that has room, which writes of the other chip may take.
#[test]
fn a_write_moves_when_its_closed_chip_loses_its_room() {
    let mut c = device([1, 2, 1], 12, 8, 120);
    c.run.data = DataMode::Digest;
    (c.alloc.pool, c.timing.busy_unit) = (PoolScope::Channel, BusyUnit::Chip);
    (c.gc.reserve, c.gc.trigger) = (1, vec![free_blocks(2)]);
    c.gc.blocking = Blocking { scope: BlockingScope::Plane, granularity: Granularity::Job };
    (c.gc.window, c.controller.ecc_ns) = (1, 700);
    storms(&c, [0, 5, 0]);
}
