//! The write buffer of a device with parity: pages leave by groups, and what waits for them waits for their parity.

use crate::rig::parity::{paper, storms};
use crate::rig::storm::Weather;
use crate::rig::{PAGE, alone, filled, finish, whole};
use ssd_core::config::{ChipFailure, Config, DataMode, Frontiers, GroupReads};
use ssd_core::ftl::Ftl;
use ssd_core::host::device::Device;
use ssd_core::host::request::{Op, Request, flags};
use ssd_core::metrics::counters::Cause;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::Nanos;

/// Eight chips that form one group, behind a buffer of `pages`.
fn buffered(pages: u32, threshold: f64) -> Config {
    let mut c = paper([8, 1, 1], 8, 64);
    (c.host.write_buffer_pages, c.host.write_buffer_threshold) = (pages, threshold);
    c.run.data = DataMode::Digest;
    c
}

fn flagged(lpn: u32, count: u32, flags: u8) -> Request {
    Request { flags, ..whole(Op::Write, lpn, count) }
}

const FLUSH: Request = Request::new(Op::Flush, 0, 0);

/// Reads for parity, programs of the host, and programs of parity.
fn operations(ssd: &Ssd) -> (u64, u64, u64) {
    let flash = &ssd.measured().flash;
    let programs = |cause: Cause| flash.programs[cause.at()];
    (flash.reads[Cause::Rmw.at()], programs(Cause::Host), programs(Cause::Parity))
}

#[test]
fn pages_of_a_group_leave_together_and_a_whole_group_without_a_read() {
    let mut ssd = filled(&buffered(32, 1.0));
    // The pages come one by one, in no order.
    for lpn in [9, 7, 13, 8, 12, 10, 11] {
        assert_eq!(alone(&mut ssd, whole(Op::Write, lpn, 1)), 0);
    }
    assert_eq!(alone(&mut ssd, FLUSH), 200_000);
    assert_eq!(operations(&ssd), (0, 7, 1));
    // Two pages of one group, one of another: two updates at the same time.
    for lpn in [21, 26, 30] {
        alone(&mut ssd, whole(Op::Write, lpn, 1));
    }
    assert_eq!(alone(&mut ssd, FLUSH), 225_000, "no chip has a page of both");
    assert_eq!(operations(&ssd), (3 + 2, 7 + 3, 1 + 2));
    let m = ssd.measured();
    assert_eq!((m.raid.full, m.raid.rmw, m.buffer.evicted), (1, 2, 10));
    assert_eq!(ssd.buffered_pages(), 0);
    ssd.audit().unwrap();
}

#[test]
fn beyond_the_threshold_the_page_written_longest_ago_leaves_with_its_group() {
    let mut ssd = filled(&buffered(8, 0.5));
    for lpn in [0, 7, 1, 14] {
        alone(&mut ssd, whole(Op::Write, lpn, 1));
    }
    assert_eq!((ssd.buffered_pages(), operations(&ssd).1), (4, 0));
    // A fifth page: page 0 leaves, and page 1 with it.
    alone(&mut ssd, whole(Op::Write, 21, 1));
    finish(&mut ssd).unwrap();
    ssd.run_until(Nanos(ssd.now().0 + 1_000_000), &mut Vec::new()).unwrap();
    assert_eq!((ssd.buffered_pages(), operations(&ssd)), (3, (3, 2, 1)));
    // Without room for pages at rest the pages of a request still leave together.
    let mut ssd = filled(&buffered(8, 0.0));
    alone(&mut ssd, whole(Op::Write, 7, 7));
    ssd.empty_buffer().unwrap();
    assert_eq!(operations(&ssd), (0, 7, 1));
    ssd.audit().unwrap();
}

#[test]
fn a_write_with_fua_ends_with_its_parity_and_its_pages_go_together() {
    let mut ssd = filled(&buffered(32, 1.0));
    assert_eq!(alone(&mut ssd, flagged(7, 7, flags::FUA)), 200_000);
    assert_eq!(operations(&ssd), (0, 7, 1));
    assert_eq!(alone(&mut ssd, flagged(14, 1, flags::FUA)), 225_000);
    // The buffer keeps the other six pages of a group: they go along, and nothing is read.
    assert_eq!(alone(&mut ssd, whole(Op::Write, 21, 6)), 0);
    assert_eq!(alone(&mut ssd, flagged(27, 1, flags::FUA)), 200_000);
    assert_eq!(operations(&ssd), (2, 7 + 1 + 7, 1 + 1 + 1));
    // Its parity waits for a read on the chip of the parity, and so does the write.
    let parity_reads = 25_000;
    ssd.submit(ssd.now(), &whole(Op::Read, 28 + 7 * 6 + 6, 1), None).unwrap();
    let before = ssd.now().0;
    ssd.submit(ssd.now(), &flagged(0, 1, flags::FUA), None).unwrap();
    let done = finish(&mut ssd).unwrap();
    assert!(done[1].at.0 - before >= 225_000 && done[1].at.0 - before <= 225_000 + parity_reads);
    // Preflush: what the buffer keeps is on flash first, with its parity, then the write enters.
    alone(&mut ssd, whole(Op::Write, 35, 1));
    assert_eq!(alone(&mut ssd, flagged(42, 7, flags::PREFLUSH)), 225_000);
    assert_eq!(ssd.buffered_pages(), 7);
    assert_eq!(alone(&mut ssd, flagged(49, 7, flags::PREFLUSH | flags::FUA)), 400_000);
    ssd.audit().unwrap();
}

#[test]
fn over_a_link_the_pages_of_a_write_with_fua_wait_for_each_other() {
    let mut c = buffered(32, 1.0);
    // 4 us a page.
    c.host.link_bytes_per_s = Some(PAGE * 512 * 250_000);
    let mut ssd = filled(&c);
    assert_eq!(alone(&mut ssd, flagged(7, 7, flags::FUA)), 7 * 4_000 + 200_000);
    assert_eq!(operations(&ssd), (0, 7, 1));
    // In a buffer that has no room for the group, it leaves in parts.
    c.host.write_buffer_pages = 2;
    let mut ssd = filled(&c);
    alone(&mut ssd, flagged(7, 7, flags::FUA));
    assert_eq!(operations(&ssd).1, 7);
    assert!(operations(&ssd).2 > 1, "seven pages in a buffer of two are several updates");
    // The last page is trimmed while it crosses: the others do not wait for it.
    c.host.write_buffer_pages = 32;
    let mut ssd = filled(&c);
    let write = ssd.submit(Nanos(0), &flagged(7, 3, flags::FUA), None).unwrap();
    let trim = ssd.submit(Nanos(9_000), &whole(Op::Trim, 9, 1), None).unwrap();
    let done = finish(&mut ssd).unwrap();
    assert!(done.iter().any(|c| c.id == write) && done.iter().any(|c| c.id == trim));
    ssd.audit().unwrap();
}

#[test]
fn what_the_buffer_alone_has_is_trimmed_free_and_the_rest_is_an_update() {
    let mut ssd = filled(&buffered(32, 1.0));
    // A whole group is trimmed, then written into the buffer: nothing of it is on flash.
    alone(&mut ssd, whole(Op::Trim, 7, 7));
    alone(&mut ssd, whole(Op::Write, 7, 7));
    assert_eq!(alone(&mut ssd, whole(Op::Trim, 7, 3)), 0);
    assert_eq!((operations(&ssd), ssd.measured().buffer.trimmed), ((0, 0, 0), 3));
    // The others leave: nothing has to be read.
    assert_eq!(alone(&mut ssd, FLUSH), 200_000);
    assert_eq!(operations(&ssd), (0, 4, 1));
    // Newer data of a page on flash are in the buffer: they are dropped, and the page on flash needs an update.
    alone(&mut ssd, whole(Op::Write, 10, 2));
    assert_eq!(alone(&mut ssd, whole(Op::Trim, 10, 1)), 225_000);
    assert_eq!((ssd.buffered_pages(), ssd.measured().buffer.trimmed), (1, 4));
    // All of the group, which is dropped.
    assert_eq!(alone(&mut ssd, whole(Op::Trim, 7, 7)), 0);
    assert_eq!((ssd.buffered_pages(), ssd.measured().raid.dropped), (0, 2));
    ssd.audit().unwrap();
}

/// A write with FUA waits for room while its page is trimmed and then written again: the update of the TRIM comes
/// before what enters later, so its data must not.
#[test]
fn a_page_that_is_trimmed_on_its_way_in_is_not_programmed_though_it_is_written_again() {
    let mut ssd = filled(&buffered(1, 1.0));
    let at = |us: u64| Nanos(us * 1000);
    for lpn in [28, 42] {
        ssd.submit(at(0), &flagged(lpn, 1, flags::FUA), None).unwrap();
    }
    let trimmed = ssd.submit(at(10), &flagged(7, 1, flags::FUA), None).unwrap();
    ssd.submit(at(20), &whole(Op::Trim, 7, 1), None).unwrap();
    let newest = ssd.submit(at(30), &whole(Op::Write, 7, 1), None).unwrap();
    let done = finish(&mut ssd).unwrap();
    let end = |id| done.iter().find(|c| c.id == id).expect("it completes").at;
    assert!(end(trimmed) < end(newest), "it needs no room");
    alone(&mut ssd, FLUSH);
    let m = ssd.measured();
    assert_eq!((operations(&ssd).1, m.buffer.evicted, m.buffer.trimmed), (3, 3, 1));
    ssd.audit().unwrap();
}

#[test]
fn two_versions_of_a_page_are_two_updates_of_which_the_older_comes_first() {
    let mut ssd = filled(&buffered(32, 1.0));
    let now = ssd.now();
    ssd.submit(now, &flagged(7, 1, flags::FUA), None).unwrap();
    ssd.submit(now, &flagged(7, 2, flags::FUA), None).unwrap();
    ssd.submit(now, &whole(Op::Read, 7, 2), None).unwrap();
    finish(&mut ssd).unwrap();
    assert_eq!(operations(&ssd).1, 3);
    assert_eq!(operations(&ssd).2, 2);
    // A third version, for which nobody waits, does not overtake the second one.
    let now = ssd.now();
    for flags in [flags::FUA, flags::FUA, 0] {
        ssd.submit(now, &flagged(28, 1, flags), None).unwrap();
    }
    let before = operations(&ssd);
    finish(&mut ssd).unwrap();
    alone(&mut ssd, FLUSH);
    assert_eq!((operations(&ssd).1 - before.1, operations(&ssd).2 - before.2), (3, 3));
    // The device compares what it reads with what was written last.
    alone(&mut ssd, whole(Op::Read, 28, 1));
    // A page that nobody waits for is replaced where it is.
    let now = ssd.now();
    for _ in 0..3 {
        ssd.submit(now, &whole(Op::Write, 14, 1), None).unwrap();
    }
    finish(&mut ssd).unwrap();
    assert_eq!((ssd.buffered_pages(), ssd.measured().buffer.coalesced), (1, 2));
    ssd.audit().unwrap();
}

#[test]
fn part_of_a_page_is_read_when_it_leaves() {
    let mut c = buffered(32, 1.0);
    c.run.data = DataMode::Bytes;
    let mut ssd = filled(&c);
    alone(&mut ssd, Request::new(Op::Write, 7 * PAGE + 1, (7 * PAGE - 1) as u32));
    assert_eq!(operations(&ssd), (0, 0, 0));
    // The part that the buffer lacks is read from flash; the part that it has is not.
    assert_eq!(alone(&mut ssd, Request::new(Op::Read, 7 * PAGE + 1, 1)), 0);
    assert_eq!(alone(&mut ssd, whole(Op::Read, 7, 1)), 25_000);
    let before = operations(&ssd).0;
    assert_eq!(alone(&mut ssd, FLUSH), 225_000);
    assert_eq!(operations(&ssd).0 - before, 1);
    assert_eq!((ssd.measured().raid.full, ssd.measured().host.rmw), (1, 1));
    ssd.audit().unwrap();
}

/// The buffer of device `number` of a storm.
fn with_buffer(c: &mut Config, number: u32) {
    c.host.write_buffer_pages = [1, 3, 16, 64, 200][number as usize % 5];
    c.host.write_buffer_threshold = [0.0, 0.5, 1.0][number as usize % 3];
    if number % 2 == 1 {
        c.alloc.frontiers = Frontiers::Streams(3);
    }
}

#[test]
fn every_answer_of_a_storm_over_a_buffer_is_right_and_every_group_whole() {
    let depths = [(1, DataMode::Digest), (16, DataMode::Bytes), (64, DataMode::Digest)];
    let weather =
        Weather { requests: 900, depth: 0, seed: 5, audit: 5, mix: [25, 12, 2], pause: 20_000 };
    let (mut full, mut waited) = (0, 0);
    storms(&depths, weather, with_buffer, |m| {
        assert!(m.buffer.evicted > 200 && m.gc.calls > 20, "{:?}", m.buffer);
        full += m.raid.full;
        waited += m.buffer.waited;
    });
    assert!(full > 100 && waited > 100, "{full} whole groups, {waited} waited for room");
}

#[test]
fn a_chip_fails_under_a_buffer_and_nothing_is_lost() {
    let depths = [(8, DataMode::Bytes), (32, DataMode::Digest)];
    let weather =
        Weather { requests: 1200, depth: 0, seed: 6, audit: 11, mix: [30, 8, 2], pause: 20_000 };
    let change = |c: &mut Config, number| {
        with_buffer(c, number + 1);
        c.alloc.frontiers = Frontiers::HostGc;
        c.raid.fail = vec![ChipFailure { chip: number % 2, at_ns: 60_000_000 }];
        c.raid.spares = 1;
        c.raid.reads = [GroupReads::Home, GroupReads::ReconstructIfBusy][number as usize % 2];
    };
    let mut computed = 0;
    storms(&depths, weather, change, |m| {
        let degraded = m.degraded.as_ref().expect("a chip has failed");
        let (lost, left) = (degraded.pages_lost, degraded.pages_left);
        assert!(lost > 15 && left == 0, "{lost} pages lost, {left} left");
        assert!(m.buffer.evicted > 100, "{:?}", m.buffer);
        computed += m.raid.reconstructed;
    });
    assert!(computed > 20, "{computed} pages computed for reads");
}

#[test]
fn what_the_buffer_holds_is_stored_with_the_device() {
    let c = buffered(32, 1.0);
    let mut ssd = filled(&c);
    alone(&mut ssd, whole(Op::Write, 3, 9));
    assert_eq!(ssd.buffered_pages(), 9);
    ssd.empty_buffer().unwrap();
    ssd.quiesce().unwrap();
    let again = Ssd::restore(&c, &ssd.snapshot().unwrap()).unwrap();
    again.audit().unwrap();
    assert_eq!(ssd.buffered_pages(), 0);
    assert_eq!(Ftl::new(&c).geo.user_pages, again.core.ftl.geo.user_pages);
}
