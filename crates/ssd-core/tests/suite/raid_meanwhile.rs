//! Chips that fail, and spares that arrive, while updates and reconstructions are under way.

use crate::rig::storm::{Storm, Weather};
use crate::rig::{self, parity::with_bytes};
use crate::rig::{PAGE, alone, closed, filled, finish, whole};
use ssd_core::config::{ChipFailure, DataMode, GroupReads, LinkDuplex, TimingModel};
use ssd_core::host::device::{Device, DeviceError};
use ssd_core::host::request::{Op, Request};
use ssd_core::rng::Stream;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos};

const MS: u64 = 1_000_000;

fn fails(chip: u32, at_ns: u64) -> ChipFailure {
    ChipFailure { chip, at_ns }
}

/// The first page of the host for which `is` holds of its home and of that of its parity.
fn page_where(ssd: &Ssd, is: impl Fn(u32, u32) -> bool) -> u32 {
    let groups = ssd.core.ftl.parity_groups();
    let parity = |lpn: Lpn| groups.home(groups.parity(groups.group_of(lpn))).0;
    let mut pages = (0..ssd.core.ftl.geo.user_pages).map(Lpn);
    pages.find(|&lpn| is(groups.home(lpn).0, parity(lpn))).expect("there is one").0
}

fn submit(ssd: &mut Ssd, at: u64, request: Request) {
    let data = vec![7; request.sectors as usize * 512];
    let data = (request.op == Op::Write).then_some(&data[..]);
    ssd.submit(Nanos(at), &request, data).expect("a valid request");
}

#[test]
fn a_parity_that_was_planned_without_its_chip_is_not_programmed_on_the_spare() {
    let mut c = with_bytes([4, 1, 1], 4, 64);
    c.raid.fail = vec![fails(3, 110_000), fails(0, 800 * MS)];
    c.raid.spares = 1;
    let mut ssd = filled(&c);
    // The spare has to wait for the read. The update began before, and reads a rest until after.
    let read = page_where(&ssd, |home, _| home == 3);
    let written = page_where(&ssd, |home, parity| home == 1 && parity == 3);
    submit(&mut ssd, 100_000, whole(Op::Read, read, 1));
    submit(&mut ssd, 120_000, Request::new(Op::Write, u64::from(written) * PAGE, 1));
    finish(&mut ssd).unwrap();
    ssd.run_until(Nanos(900 * MS), &mut Vec::new()).unwrap();
    let d = ssd.measured().degraded.as_ref().unwrap();
    assert_eq!((d.chips[0].replaced, d.not_programmed), (Some(Nanos(125_000)), 1));
    closed(&mut ssd, 4, (0..c.device.user_pages).map(|lpn| whole(Op::Read, lpn, 1))).unwrap();
}

#[test]
fn what_was_counted_before_the_measurement_is_not_taken_back_in_it() {
    // A read that waits for the update before it, and is answered by the page that the next one writes.
    let mut c = with_bytes([4, 1, 1], 4, 64);
    c.raid.fail = vec![fails(2, 110_000)];
    let mut ssd = filled(&c);
    ssd.measure(2, false);
    let groups = ssd.core.ftl.parity_groups();
    let lost = (0..3).find(|&lpn| groups.home(Lpn(lpn)).0 == 2).unwrap();
    submit(&mut ssd, 200_000, whole(Op::Write, (lost + 1) % 3, 1));
    submit(&mut ssd, 210_000, whole(Op::Read, lost, 1));
    submit(&mut ssd, 220_000, whole(Op::Write, lost, 1));
    finish(&mut ssd).unwrap();
    assert_eq!(ssd.measured().raid.reconstructed, 0);
    assert!(ssd.measured().raid.rmw <= 2, "{:?}", ssd.measured().raid);
    // An update that has to read again.
    let mut c = with_bytes([4, 1, 1], 4, 64);
    c.raid.fail = vec![fails(3, 109_000)];
    let mut ssd = filled(&c);
    ssd.measure(2, false);
    let read = page_where(&ssd, |home, parity| home == 3 && parity != 3);
    let written = page_where(&ssd, |home, parity| home == 1 && parity == 3);
    let other = page_where(&ssd, |home, parity| home == 0 && parity == 2);
    submit(&mut ssd, 100_000, whole(Op::Read, read, 1));
    submit(&mut ssd, 101_000, whole(Op::Write, written, 1));
    submit(&mut ssd, 108_000, whole(Op::Write, other, 1));
    finish(&mut ssd).unwrap();
    let raid = &ssd.measured().raid;
    assert_eq!(raid.rmw + raid.rcw + raid.full, 2, "{raid:?}");
}

#[test]
fn an_update_of_a_group_that_has_lost_two_pages_does_not_begin() {
    let mut c = with_bytes([4, 1, 1], 4, 64);
    c.raid.fail = vec![fails(3, MS), fails(2, 2_045_000)];
    (c.raid.spares, c.raid.rebuild_rate) = (1, Some(1_000));
    let mut ssd = filled(&c);
    let groups = ssd.core.ftl.parity_groups();
    let at = |chip| (0..3).find(|&lpn| groups.home(Lpn(lpn)).0 == chip).unwrap();
    let (two, one) = (at(2), at(1));
    submit(&mut ssd, 2 * MS, whole(Op::Read, two, 1));
    submit(&mut ssd, 2 * MS, whole(Op::Read, two, 1));
    submit(&mut ssd, 2 * MS + 1_000, whole(Op::Write, one, 1));
    let error = finish(&mut ssd).expect_err("two of a group");
    assert!(matches!(error, DeviceError::DataLost { .. }), "{error}");
    ssd.audit().unwrap();
    ssd.quiesce().unwrap();
}

#[test]
fn the_spare_may_come_at_time_0_and_the_end_of_the_rebuild_is_known() {
    let mut c = with_bytes([4, 1, 1], 4, 16);
    c.raid.fail = vec![fails(3, 0)];
    c.raid.spares = 1;
    let mut ssd = filled(&c);
    ssd.run_until(Nanos(100_000), &mut Vec::new()).unwrap();
    let d = ssd.measured().degraded.as_ref().unwrap();
    assert_eq!((d.chips[0].replaced, d.whole_again), (Some(Nanos(0)), None));
    assert_eq!(d.chips[0].group, [0, 1, 2, 3]);
    ssd.run_until(Nanos(1_000 * MS), &mut Vec::new()).unwrap();
    let d = ssd.measured().degraded.as_ref().unwrap();
    assert_eq!(d.whole_again, Some(Nanos(d.until(ssd.now()))), "degraded from 0 until then");
    assert_eq!((d.rebuilt, d.pages_left), (d.pages_lost, 0));
}

#[test]
fn a_rebuild_that_lacked_room_does_not_wait_for_it_when_its_page_is_gone() {
    let mut c = with_bytes([4, 1, 1], 4, 64);
    c.raid.fail = vec![fails(3, MS)];
    let mut ssd = filled(&c);
    ssd.run_until(Nanos(2 * MS), &mut Vec::new()).unwrap();
    alone(&mut ssd, whole(Op::Trim, 0, c.device.user_pages));
    let d = ssd.measured().degraded.as_ref().unwrap();
    assert_eq!((d.pages_left, d.whole_again), (0, None), "no spare stands in its place");
}

/// A storm of everything that may interfere with a plan: failures, some at once, spares that wait for a long erase,
/// TRIMs, parts of pages, updates that wait for room, a warm-up. Returns whether it ended, and what was not programmed
/// and reconstructed.
fn storm(seed: u64, requests: u64) -> (bool, u64, u64) {
    let mut rng = Stream::new(seed, "meanwhile");
    let shapes = [([4, 1, 1], 4), ([4, 2, 1], 4), ([2, 2, 2], 4), ([2, 3, 1], 3), ([2, 1, 1], 2)];
    let (shape, group) = shapes[rng.below(5) as usize];
    let mut c = with_bytes(shape, group, 1);
    (c.device.blocks_per_plane, c.device.pages_per_block) = (14, 8);
    let stripes = rig::pages_of(&c) / (shape[0] * shape[1]) * (11 + rng.below(4) as u32) / 20;
    c.device.user_pages = stripes * c.data_pages_per_stripe() as u32;
    (c.run.seed, c.run.data) =
        (seed, if rng.chance(0.5) { DataMode::Bytes } else { DataMode::Digest });
    c.timing.erase_ns = [300_000, 1_500_000, 5 * MS][rng.below(3) as usize];
    c.raid.read_buffer_pages = 6 * rng.below(2) as u32;
    if rng.chance(0.3) {
        c.raid.reads = GroupReads::ReconstructIfBusy;
    }
    if rng.chance(0.3) {
        (c.timing.model, c.timing.transfer_ns) = (TimingModel::Pipelined, 3000);
        (c.host.link_bytes_per_s, c.host.link_duplex) = (Some(300_000_000), LinkDuplex::Half);
        c.controller.host_ecc_ns = 700;
    }
    let chips = u64::from(shape[0] * shape[1]);
    let failures = 1 + rng.below(3);
    let apart = [0, 40_000, 3 * MS, 80 * MS][rng.below(4) as usize];
    let first = rng.below(50 * MS);
    c.raid.fail = (0..failures)
        .map(|i| fails(rng.below(chips) as u32, first + i * rng.below(apart + 1)))
        .collect();
    c.raid.spares = [0, 1, 1, 2, 3][rng.below(5) as usize];
    c.raid.rebuild_window = 1 + rng.below(6) as u32;
    if rng.chance(0.3) {
        c.raid.rebuild_rate = Some(20_000 + rng.below(20_000_000));
    }
    let weather = Weather {
        requests,
        depth: [1, 4, 16, 64][rng.below(4) as usize],
        seed,
        audit: 1 + rng.below(5),
        mix: [10 + rng.below(30), 10 + rng.below(30), 2],
        pause: [0, 50_000, 400_000][rng.below(3) as usize],
    };
    let mut storm = Storm::new(&c, weather);
    if rng.chance(0.5) {
        storm.warms_up = true;
        storm.ssd.measure(1 + rng.below(requests / 2), false);
    }
    let ended = match storm.run() {
        Ok(()) => true,
        Err(DeviceError::DataLost { lpns, .. }) if failures > 1 => {
            let gone = &storm.ssd.measured().degraded.as_ref().expect("chips have failed").gone;
            assert_eq!(gone.iter().map(|lpn| lpn.0).collect::<Vec<_>>(), lpns);
            storm.ssd.audit().unwrap_or_else(|e| panic!("seed {seed}: after the loss: {e}"));
            storm.ssd.quiesce().unwrap_or_else(|e| panic!("seed {seed}: {e}"));
            false
        }
        Err(e) => panic!("seed {seed}, {shape:?}: {e}"),
    };
    let m = storm.ssd.measured();
    (ended, m.degraded.as_ref().map_or(0, |d| d.not_programmed), m.raid.reconstructions)
}

fn storms(seeds: std::ops::Range<u64>, requests: u64) {
    let (all, mut ended, mut left_out, mut work) = (seeds.end - seeds.start, 0, 0, 0);
    for seed in seeds {
        let (whole, pages, reconstructions) = storm(seed, requests);
        (ended, left_out, work) =
            (ended + u64::from(whole), left_out + pages, work + reconstructions);
    }
    assert!(ended > all / 3 && all - ended > all / 10, "{ended} of {all} storms ended");
    assert!(left_out > all && work > all * 10, "{left_out} not programmed, {work} reconstructions");
}

#[test]
fn storms_in_which_plans_are_overtaken_by_failures_and_spares() {
    storms(0..60, 500);
}

#[test]
fn an_update_without_a_chip_left_ends_after_the_turns_of_the_others() {
    // Of the long storms, the one in which such an update ends, and the next of its group finds no room.
    storm(1083, 700);
}

#[test]
#[ignore = "long"]
fn long_storms_in_which_plans_are_overtaken_by_failures_and_spares() {
    storms(1_000..3_000, 700);
}

/// Rebuild a full drive with this window while the host overwrites it 64 deep, `pages` pages at a time, so that
/// rebuilds and updates want the same groups and the same room. Returns how much was rebuilt.
fn full_drive(window: u32, pages: u32, seed: u64) -> u64 {
    let mut c = with_bytes([4, 1, 1], 4, 1);
    (c.device.blocks_per_plane, c.device.pages_per_block) = (256, 2);
    let stripes = rig::pages_of(&c) / 4 * 10 / 11;
    c.device.user_pages = stripes * c.data_pages_per_stripe() as u32;
    (c.run.seed, c.run.data) = (seed, DataMode::Digest);
    c.raid.fail = vec![fails(3, MS)];
    (c.raid.spares, c.raid.rebuild_window) = (1, window);
    let mut ssd = filled(&c);
    ssd.audit_every(1000);
    let mut rng = Stream::new(seed, "full drive");
    let last = u64::from(c.device.user_pages - pages);
    let writes = (0..1000).map(|_| whole(Op::Write, rng.below(last + 1) as u32, pages));
    closed(&mut ssd, 64, writes).unwrap_or_else(|e| panic!("window {window}, seed {seed}: {e}"));
    ssd.audit().unwrap();
    ssd.measured().degraded.as_ref().expect("a chip has failed").rebuilt
}

#[test]
fn full_drives_are_rebuilt_while_they_are_written() {
    for window in [4, 8, 16, 24] {
        for (pages, seed) in [(16, 1), (16, 2), (8, 3), (4, 4)] {
            assert!(full_drive(window, pages, seed) > 0, "nothing is rebuilt");
        }
    }
}

#[test]
#[ignore = "long"]
fn many_full_drives_are_rebuilt_while_they_are_written() {
    let mut rng = Stream::new(1, "many full drives");
    let rebuilt = (0..300).map(|seed| {
        let (window, pages) = (1 + rng.below(64) as u32, 1 + rng.below(24) as u32);
        full_drive(window, pages, seed)
    });
    assert!(rebuilt.sum::<u64>() > 10_000);
}
