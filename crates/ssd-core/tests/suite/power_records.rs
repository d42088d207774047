//! Records of TRIMs and owners: which of them a mount needs, and the time to read and compare them.

use crate::rig::{self, alone, device, whole};
use ssd_core::config::{
    BusyUnit, Config, EraseUnit, Frontiers, PoolScope, PowerCut, RemapMode, TimingModel,
};
use ssd_core::ftl::Ftl;
use ssd_core::host::copy::{SourceRange, encode};
use ssd_core::host::device::Device;
use ssd_core::host::request::{Op, Request};
use ssd_core::metrics::counters::Cause;
use ssd_core::metrics::inputs::RecordCounts;
use ssd_core::rng::Stream;
use ssd_core::sched::order;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos};

/// One chip of 16 blocks of 8 pages, whose records take 7 ns per line.
fn chip() -> Config {
    let mut c = device([1, 1, 1], 16, 8, 90);
    (c.timing.model, c.timing.busy_unit) = (TimingModel::Serial, BusyUnit::Chip);
    (c.power.cut, c.power.nvram_ns) = (PowerCut::OnRequest, 7);
    c
}

fn written(c: &Config, pages: u32) -> Ssd {
    let mut ssd = Ssd::new(c, Ftl::new(c), 0);
    for lpn in 0..pages {
        alone(&mut ssd, whole(Op::Write, lpn, 1));
    }
    ssd
}

/// Let everything under way end.
fn rest(ssd: &mut Ssd) {
    while let Some(next) = ssd.next_event() {
        ssd.run_until(next, &mut Vec::new()).expect("it goes on");
    }
}

fn counts_of(ssd: &Ssd) -> [u64; 4] {
    let RecordCounts { live, live_bytes, stale, stale_bytes } =
        ssd.records_kept().expect("power may be cut");
    [live, live_bytes, stale, stale_bytes]
}

#[test]
fn the_record_of_a_trim_is_live_while_one_of_its_pages_has_no_newer_data() {
    let mut ssd = written(&chip(), 8);
    assert_eq!(counts_of(&ssd), [0, 0, 0, 0]);
    alone(&mut ssd, whole(Op::Trim, 2, 3));
    for lpn in [3, 2] {
        assert_eq!(counts_of(&ssd), [1, 16, 0, 0], "page {lpn} has no data");
        alone(&mut ssd, whole(Op::Write, lpn, 1));
    }
    assert_eq!(counts_of(&ssd), [1, 16, 0, 0], "page 4 has none");
    alone(&mut ssd, whole(Op::Write, 4, 1));
    assert_eq!(counts_of(&ssd), [0, 0, 1, 16]);
}

#[test]
fn the_record_of_an_owner_is_live_while_its_data_are_there() {
    let mut c = chip();
    c.remap.mode = RemapMode::Share;
    let mut ssd = written(&c, 8);
    let sources = encode(&[SourceRange { sector: 0, sectors: 2 * rig::PAGE }]);
    ssd.submit(ssd.now(), &whole(Op::Copy, 20, 2), Some(&sources)).expect("a copy");
    rest(&mut ssd);
    assert_eq!(counts_of(&ssd), [2, 64, 0, 0]);
    // The owner that wrote the page may leave it.
    alone(&mut ssd, whole(Op::Write, 0, 1));
    assert_eq!(counts_of(&ssd), [2, 64, 0, 0]);
    alone(&mut ssd, whole(Op::Write, 21, 1));
    assert_eq!(counts_of(&ssd), [1, 32, 1, 32]);
    alone(&mut ssd, whole(Op::Trim, 20, 1));
    assert_eq!(counts_of(&ssd), [1, 16, 2, 64]);
}

/// A mount after this many TRIMs of one written page each.
fn mounted(c: &Config, trims: u32) -> (u64, u64, u64) {
    let mut ssd = written(c, 20);
    rest(&mut ssd);
    for lpn in 0..trims {
        alone(&mut ssd, whole(Op::Trim, lpn, 1));
    }
    rest(&mut ssd);
    let waited = ssd.measured().power.trims_waited;
    assert_eq!(waited, 0, "there is room for all of them");
    ssd.power_cut().expect("power is on");
    let recovery = ssd.mount(false).expect("it mounts");
    assert_eq!((recovery.records, recovery.mapped_pages), (trims.into(), (20 - trims).into()));
    (recovery.time, recovery.reads, recovery.checkpoint_pages)
}

#[test]
fn a_mount_reads_records_to_the_line_begun_last() {
    // 20 pages, the first erased one behind them, and the first page of each of 13 erased blocks.
    let pages = 20 + 1 + 13;
    for (trims, lines) in [(0, 0), (1, 1), (3, 1), (4, 1), (5, 2), (8, 2), (9, 3)] {
        assert_eq!(mounted(&chip(), trims), (70 * pages + 7 * lines, pages, 0), "{trims} TRIMs");
    }
}

#[test]
fn pages_that_a_checkpoint_covers_are_compared_with_records() {
    let mut c = chip();
    // Due with the 20th page, all of whose programs but the last have ended; 90 entries of 4 B and 16 blocks of 6 B
    // are one page.
    c.power.checkpoint_bytes = 20 * 2048;
    for trims in [0, 1, 4, 5, 9] {
        let (time, reads, checkpoint) = mounted(&c, trims);
        assert_eq!(checkpoint, 1);
        // The first page of two blocks that it covers; of the third that page, the 20th page and the first erased one;
        // the first page of 13 others; and the page of each record.
        let pages = 2 + 3 + 13 + u64::from(trims);
        let lines = (16 * u64::from(trims)).div_ceil(64);
        assert_eq!((time, reads), (70 * (1 + pages) + 7 * lines, pages), "{trims} TRIMs");
    }
}

#[test]
fn a_checkpoint_has_two_bytes_a_flash_block_and_four_an_erase_unit() {
    // 900 pages, and 64 superblocks of two flash blocks: 4 x 900 + 2 x 128 + 4 x 64 bytes, 16 more than two pages.
    for (pages, stripes) in [(896, 1), (900, 2)] {
        let mut c = device([1, 1, 2], 64, 16, pages);
        c.alloc.pool = PoolScope::Chip;
        c.alloc.erase_unit = EraseUnit::Superblock;
        c.alloc.placement = rig::named(ssd_core::ftl::place::ALL, "round-robin");
        (c.power.cut, c.power.checkpoint_bytes) = (PowerCut::OnRequest, 20 * 2048);
        let mut ssd = written(&c, 20);
        rest(&mut ssd);
        assert_eq!(ssd.measured().power.checkpoints, 1);
        ssd.power_cut().expect("power is on");
        let recovery = ssd.mount(false).expect("it mounts");
        assert_eq!(recovery.checkpoint_pages, 2 * stripes, "{pages} pages");
    }
}

#[test]
fn a_checkpoint_names_the_trims_of_data_under_way() {
    // 488 pages and 16 blocks are one page of 2 KiB: 4 x 488 + 6 x 16 bytes.
    for (trims, pages) in [(0, 1), (1, 2), (2, 2)] {
        let mut c = chip();
        (c.device.pages_per_block, c.device.user_pages) = (64, 488);
        c.power.checkpoint_bytes = 21 * 2048;
        let mut ssd = written(&c, 18);
        let now = ssd.now();
        // Two pages are on their way to flash and trimmed when the checkpoint begins with the 21st page.
        for lpn in [30, 31] {
            ssd.submit(now, &whole(Op::Write, lpn, 1), None).expect("a write");
        }
        for lpn in 0..trims {
            ssd.submit(Nanos(now.0 + 1), &whole(Op::Trim, 30 + lpn, 1), None).expect("a TRIM");
        }
        ssd.submit(Nanos(now.0 + 2), &whole(Op::Write, 40, 1), None).expect("a write");
        rest(&mut ssd);
        assert_eq!(ssd.measured().power.checkpoints, 1);
        ssd.power_cut().expect("power is on");
        let recovery = ssd.mount(false).expect("it mounts");
        assert_eq!(recovery.checkpoint_pages, pages, "{trims} TRIMs");
        assert_eq!(recovery.mapped_pages, 21 - u64::from(trims));
    }
}

#[test]
fn pages_repeated_are_those_that_reads_and_writes_repeat() {
    let mut ssd = written(&chip(), 8);
    let now = ssd.now();
    for request in [whole(Op::Trim, 2, 3), whole(Op::Write, 20, 2), whole(Op::Read, 0, 1)] {
        ssd.submit(now, &request, None).expect("a valid request");
    }
    // The record of the TRIM takes 7 ns.
    ssd.run_until(Nanos(now.0 + 3), &mut Vec::new()).expect("they are under way");
    ssd.wait_until(Nanos(now.0 + 3)).expect("nothing happens before");
    assert_eq!(ssd.power_cut().expect("power is on").len(), 3);
    ssd.mount(true).expect("it mounts");
    rest(&mut ssd);
    let power = &ssd.measured().power;
    assert_eq!((power.requests_repeated, power.pages_repeated), (3, 2 + 1));
}

#[test]
fn a_cut_loses_the_copies_of_collection_and_of_levelling() {
    let mut c = chip();
    (c.alloc.frontiers, c.wear.static_threshold) = (Frontiers::HostGc, 1);
    c.gc.trigger = vec![rig::free_blocks(4)];
    let mut ssd = written(&c, 64);
    let mut rng = Stream::new(3, "cuts");
    let mut lost = [0; 2];
    for _ in 0..40 {
        // Until levelling, or collection, has read a page that is not programmed yet.
        let wanted = if rng.chance(0.5) { Cause::Wear } else { Cause::Gc };
        while ssd.pages_in_flight(wanted) == 0 {
            if ssd.outstanding() == 0 {
                let span = if rng.chance(0.9) { 6 } else { 64 };
                let write = whole(Op::Write, rng.below(span) as u32, 1);
                ssd.submit(ssd.now(), &write, None).expect("a write");
            }
            let next = ssd.next_event().expect("a write is under way");
            ssd.run_until(next, &mut Vec::new()).expect("there is room");
        }
        let (before, in_flight) = (
            ssd.measured().power.copies_lost,
            [Cause::Gc, Cause::Wear].map(|of| ssd.pages_in_flight(of)),
        );
        ssd.power_cut().expect("power is on");
        let now_lost = ssd.measured().power.copies_lost - before;
        assert_eq!(now_lost, in_flight.iter().sum::<u64>(), "{in_flight:?}");
        lost = [0, 1].map(|at| lost[at] + in_flight[at]);
        ssd.mount(false).expect("it mounts");
    }
    assert!(lost.iter().all(|&lost| lost > 5), "{lost:?} copies were lost");
}

#[test]
fn after_a_mount_blocks_are_in_the_order_of_their_newest_data() {
    let mut c = chip();
    c.alloc.frontiers = Frontiers::Streams(2);
    let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
    // The first block of stream 0 is begun first and full last.
    for lpn in 0..16 {
        let stream = u8::from((7..15).contains(&lpn));
        alone(&mut ssd, Request { stream, ..whole(Op::Write, lpn, 1) });
    }
    let block = |ssd: &Ssd, lpn| {
        ssd.core.ftl.geo.block_of(ssd.page_on_flash(Lpn(lpn)).expect("it has been written"))
    };
    let of = [0, 7].map(|lpn| block(&ssd, lpn));
    assert_eq!([15, 14].map(|lpn| block(&ssd, lpn)), of, "eight pages are a block");
    ssd.power_cut().expect("power is on");
    ssd.mount(false).expect("it mounts");
    let [late, early] = of.map(|block| ssd.core.ftl.blocks.seal_order[block.at()]);
    assert!(early < late, "{early} and {late}");
}

#[test]
fn a_checkpoint_goes_before_the_host_when_the_next_one_is_due() {
    // 30 writes come within the time of one. A checkpoint begins with the first `due` pages; the next one is due with
    // as many more.
    for (due, first) in [(4, true), (14, true), (15, true), (16, false), (29, false)] {
        let mut c = chip();
        c.sched.order = rig::named(order::ALL, "host-first");
        c.power.checkpoint_bytes = due * 2048;
        let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
        for lpn in 0..30 {
            ssd.submit(Nanos(lpn.into()), &whole(Op::Write, lpn, 1), None).expect("a write");
        }
        let mut done = Vec::new();
        while done.len() < 20 {
            ssd.run_until(Nanos::NEVER, &mut done).expect("they complete");
        }
        let programs = ssd.measured().flash.programs[Cause::Metadata.at()];
        assert_eq!(programs > 0, first, "every {due} pages: {programs} in front of 20 writes");
        rest(&mut ssd);
        assert!(ssd.measured().power.checkpoints > 0, "it is written in the end");
    }
}
