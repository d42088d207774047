//! Chips that fail: every page is reconstructed, to the nanosecond and the byte, updates continue, and spares are
//! rebuilt.

use crate::rig::storm::{Storm, Weather};
use crate::rig::{
    self,
    parity::{PROGRAM, READ, with_bytes},
};
use crate::rig::{alone, closed, filled, finish, named, whole};
use ssd_core::config::{
    BusyUnit, ChipFailure, Config, DataMode, GroupReads, LinkDuplex, ParityUpdate, TimingModel,
};
use ssd_core::ftl::Ftl;
use ssd_core::host::device::{Device, DeviceError};
use ssd_core::host::request::{Op, Request};
use ssd_core::metrics::counters::Cause;
use ssd_core::plug::Value;
use ssd_core::rng::Stream;
use ssd_core::sim::logs::operations::FlashOp;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos};

fn fails(chip: u32, at_ns: u64) -> ChipFailure {
    ChipFailure { chip, at_ns }
}

/// Let the failure at 1 us happen.
fn degraded(c: &Config) -> Ssd {
    let mut ssd = filled(c);
    ssd.run_until(Nanos(2_000), &mut Vec::new()).unwrap();
    assert!(ssd.measured().degraded.is_some(), "no chip has failed");
    ssd
}

#[test]
fn a_degraded_read_is_a_read_of_the_other_members() {
    for (group, chip) in [(2, 0), (4, 3), (8, 5)] {
        let mut c = with_bytes([8, 1, 1], group, 64);
        c.raid.fail = vec![fails(chip, 1_000)];
        let mut ssd = degraded(&c);
        let stripe = c.data_pages_per_stripe() as u32;
        let mut lost = 0;
        for lpn in 0..8 * stripe {
            let before = ssd.measured().flash.reads[Cause::Reconstruct.at()];
            let is_lost = ssd.core.ftl.is_lost(Lpn(lpn));
            assert_eq!(alone(&mut ssd, whole(Op::Read, lpn, 1)), READ, "LPN {lpn}");
            let reads = ssd.measured().flash.reads[Cause::Reconstruct.at()] - before;
            assert_eq!(reads, if is_lost { u64::from(group) - 1 } else { 0 });
            lost += u32::from(is_lost);
        }
        assert_eq!(lost, stripe, "a stripe has a page on each chip, and of eight one is parity");
    }
}

#[test]
fn degraded_reads_share_the_bus_as_others_do() {
    let (read, bus, command, ecc) = (50_001, 2_003, 305, 811);
    let mut c = with_bytes([1, 4, 1], 4, 64);
    let t = &mut c.timing;
    t.model = TimingModel::Pipelined;
    (t.read_ns, t.transfer_ns, t.command_ns) = (read, bus, command);
    c.controller.host_ecc_ns = ecc;
    c.raid.fail = vec![fails(2, 1_000)];
    let mut ssd = degraded(&c);
    let lost = (0..c.device.user_pages).find(|&lpn| ssd.core.ftl.is_lost(Lpn(lpn))).unwrap();
    assert_eq!(alone(&mut ssd, whole(Op::Read, lost, 1)), command + read + 3 * bus + ecc);
    let m = ssd.measured();
    assert_eq!(m.read_parts.total(), m.latencies.of(Op::Read).histogram.sum());
}

#[test]
fn degraded_updates_read_and_program_what_is_left() {
    let mut c = with_bytes([8, 1, 1], 8, 64);
    c.raid.fail = vec![fails(7, 1_000)];
    // In stripe 0 the parity is on chip 7, in stripe 1 page 13 is, the last of its group.
    let mut ssd = degraded(&c);
    assert!(ssd.core.ftl.is_lost(Lpn(c.device.user_pages)) && ssd.core.ftl.is_lost(Lpn(13)));
    let counts = |ssd: &Ssd| {
        let (m, parity) = (ssd.measured(), Cause::Parity.at());
        let f = &m.flash;
        [f.reads[Cause::Rmw.at()], f.programs[Cause::Host.at()], f.programs[parity]]
    };
    let mut last = counts(&ssd);
    let mut takes = |request: Request, ns: u64, expected: [u64; 3]| {
        assert_eq!(alone(&mut ssd, request), ns, "{request:?}");
        let now = counts(&ssd);
        let spent = [0, 1, 2].map(|i| now[i] - last[i]);
        assert_eq!(spent, expected, "{request:?}");
        last = now;
    };
    // Without parity nothing is read, unless a page is written in part.
    takes(whole(Op::Write, 3, 1), PROGRAM, [0, 1, 0]);
    takes(whole(Op::Write, 0, 7), PROGRAM, [0, 7, 0]);
    takes(Request::new(Op::Write, 3 * rig::PAGE, 1), READ + PROGRAM, [1, 1, 0]);
    takes(whole(Op::Trim, 3, 1), 0, [0, 0, 0]);
    // The lost page stays: read-modify-write, even if it takes more operations.
    takes(whole(Op::Write, 7, 1), READ + PROGRAM, [2, 1, 1]);
    takes(whole(Op::Write, 7, 6), READ + PROGRAM, [7, 6, 1]);
    // It is written: the others that stay are read, and only the parity is programmed.
    takes(whole(Op::Write, 13, 1), READ + PROGRAM, [6, 0, 1]);
    takes(whole(Op::Write, 7, 7), PROGRAM, [0, 6, 1]);
    // In part: its rest follows from all others.
    takes(Request::new(Op::Write, 13 * rig::PAGE, 1), READ + PROGRAM, [7, 0, 1]);
    takes(whole(Op::Trim, 13, 1), READ + PROGRAM, [6, 0, 1]);
    assert!(!ssd.core.ftl.holds(Lpn(13)));
    // It comes back: again only the parity knows it.
    assert_eq!(alone(&mut ssd, whole(Op::Write, 13, 1)), READ + PROGRAM);
    assert!(ssd.core.ftl.is_lost(Lpn(13)));
    closed(&mut ssd, 8, (0..56).map(|lpn| whole(Op::Read, lpn, 1))).unwrap();
    ssd.audit().unwrap();
}

#[test]
fn a_rebuild_reads_the_others_once_and_programs_each_lost_page_once() {
    for (group, window) in [(2, 1), (4, 3), (8, 16)] {
        let mut c = with_bytes([8, 1, 1], group, 64);
        c.raid.fail = vec![fails(5, 1_000)];
        (c.raid.spares, c.raid.rebuild_window) = (1, window);
        let mut ssd = degraded(&c);
        let lost = ssd.measured().degraded.as_ref().unwrap().pages_lost;
        assert_eq!(lost, 64, "a page of each stripe");
        finish(&mut ssd).unwrap();
        ssd.run_until(Nanos(1_000_000_000), &mut Vec::new()).unwrap();
        let m = ssd.measured();
        assert_eq!(m.flash.reads[Cause::Rebuild.at()], lost * u64::from(group - 1));
        assert_eq!(m.flash.programs[Cause::Rebuild.at()], lost);
        let d = m.degraded.as_ref().unwrap();
        assert_eq!((d.pages_left, d.chips[0].replaced), (0, Some(Nanos(1_000))));
        let one_by_one = lost * (READ + PROGRAM);
        let took = d.until(ssd.now());
        if window == 1 {
            assert_eq!(took, one_by_one, "page after page");
        } else {
            assert!(took >= lost * PROGRAM && took < one_by_one, "{took} with {window} at a time");
        }
        // Then it is as if nothing had happened.
        let read = alone(&mut ssd, whole(Op::Read, 0, c.data_pages_per_stripe() as u32));
        assert!(read <= 2 * READ);
        assert_eq!(ssd.measured().flash.reads[Cause::Reconstruct.at()], 0);
        ssd.snapshot().expect("all has been rebuilt");
    }
}

#[test]
fn updates_that_share_only_a_missing_chip_do_not_wait_for_each_other() {
    let mut c = with_bytes([4, 1, 1], 4, 248);
    c.raid.fail = vec![fails(3, 1_000)];
    let mut ssd = degraded(&c);
    // Updates of them program one page and nothing on the missing chip, the home of their parity.
    let at_home = |ssd: &Ssd, chip: u32| -> Vec<Lpn> {
        let groups = ssd.core.ftl.parity_groups();
        let there = |&lpn: &Lpn| {
            let parity = groups.parity(groups.group_of(lpn));
            groups.home(lpn).0 == chip && ssd.core.ftl.is_lost(parity)
        };
        (0..c.device.user_pages).map(Lpn).filter(there).collect()
    };
    let (crowded, free) = (at_home(&ssd, 0), at_home(&ssd, 1));
    let data = ssd.core.ftl.parity_groups().data_pages();
    let group = |lpn: Lpn| lpn.0 / data;
    let mut waited = 0;
    assert!(free.len() >= 8, "{} groups have no page on chip 0", free.len());
    for (round, &lpn) in free.iter().enumerate().take(8) {
        let at = Nanos(ssd.now().0 + 1_000_000);
        let before = ssd.measured().raid.waited_for_room;
        for other in crowded.iter().filter(|&&other| group(other) != group(lpn)) {
            ssd.submit(at, &whole(Op::Write, other.0, 1), None).unwrap();
        }
        let id = ssd.submit(Nanos(at.0 + 1_000), &whole(Op::Write, lpn.0, 1), None).unwrap();
        let done = finish(&mut ssd).unwrap();
        let took = done.iter().find(|c| c.id == id).expect("it completes").at.0 - at.0 - 1_000;
        assert_eq!(took, PROGRAM, "round {round}");
        waited += ssd.measured().raid.waited_for_room - before;
        ssd.run_until(Nanos(ssd.now().0 + 100_000_000), &mut Vec::new()).unwrap();
    }
    assert!(waited > 50, "{waited} updates waited for room");
    ssd.audit().unwrap();
}

#[test]
fn a_rebuild_goes_no_faster_than_its_rate() {
    let mut c = with_bytes([4, 1, 1], 4, 64);
    c.raid.fail = vec![fails(1, 1_000)];
    // A page of 2 KiB every 682,666.7 ns at most, so every 682,667 ns.
    (c.raid.spares, c.raid.rebuild_rate) = (1, Some(3_000_000));
    let mut ssd = degraded(&c);
    ssd.run_until(Nanos(10_000_000_000), &mut Vec::new()).unwrap();
    let d = ssd.measured().degraded.as_ref().unwrap();
    assert_eq!(d.until(ssd.now()), 63 * 682_667 + READ + PROGRAM);
    // A page of 2 KiB every 2.048 ms.
    c.raid.rebuild_rate = Some(1_000_000);
    let mut ssd = degraded(&c);
    let refused = |ssd: &Ssd| ssd.snapshot().err().map(|error| error.to_string());
    // The first page is on flash, and the next one begins later.
    ssd.run_until(Nanos(1_000_000), &mut Vec::new()).unwrap();
    assert!(
        refused(&ssd).unwrap().contains("let it run until it is idle, so that the rebuild ends")
    );
    ssd.run_until(Nanos(10_000_000_000), &mut Vec::new()).unwrap();
    let d = ssd.measured().degraded.as_ref().unwrap();
    assert_eq!(d.until(ssd.now()), 63 * 2_048_000 + READ + PROGRAM);
    assert_eq!(refused(&ssd), None);
}

#[test]
fn a_device_without_a_chip_is_degraded_whether_or_not_it_held_data() {
    for (spares, degraded_ns) in [(0, 4_000_000 - 1_000), (1, 0)] {
        let mut c = with_bytes([4, 1, 1], 4, 64);
        (c.raid.fail, c.raid.spares) = (vec![fails(1, 1_000)], spares);
        let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
        ssd.run_until(Nanos(4_000_000), &mut Vec::new()).unwrap();
        ssd.wait_until(Nanos(4_000_000)).unwrap();
        let d = ssd.measured().degraded.as_ref().expect("a chip has failed");
        assert_eq!((d.pages_lost, d.until(ssd.now())), (0, degraded_ns), "{spares} spares");
    }
}

#[test]
fn without_a_spare_it_stays_degraded_and_refuses_a_snapshot() {
    let mut c = with_bytes([4, 1, 1], 4, 64);
    c.raid.fail = vec![fails(1, 1_000)];
    let mut ssd = degraded(&c);
    alone(&mut ssd, whole(Op::Write, 0, 30));
    ssd.run_until(Nanos(1_000_000_000), &mut Vec::new()).unwrap();
    let why = ssd.snapshot().err().expect("it is degraded").to_string();
    assert!(why.contains("a chip has failed, and 64 pages are lost"), "{why}");
    assert!(why.contains("nothing rebuilds them, however long it runs"), "{why}");
    let d = ssd.measured().degraded.as_ref().unwrap();
    assert_eq!(d.until(ssd.now()), ssd.now().0 - 1_000);
}

#[test]
fn a_spare_takes_the_place_of_one_chip() {
    let mut c = with_bytes([8, 1, 1], 4, 16);
    // The chips are of different groups.
    (c.raid.fail, c.raid.spares) = (vec![fails(1, 1_000), fails(6, 50_000)], 1);
    let mut ssd = degraded(&c);
    ssd.run_until(Nanos(1_000_000_000), &mut Vec::new()).unwrap();
    let d = ssd.measured().degraded.as_ref().unwrap();
    let replaced: Vec<_> = d.chips.iter().map(|chip| (chip.chip, chip.replaced)).collect();
    assert_eq!(replaced, [(1, Some(Nanos(1_000))), (6, None)]);
    assert_eq!((d.pages_lost, d.rebuilt, d.pages_left), (2 * 16, 16, 16));
    assert_eq!(d.until(ssd.now()), ssd.now().0 - 1_000);
    let why = ssd.snapshot().err().expect("it is degraded").to_string();
    assert!(why.contains("a chip has failed, and 16 pages are lost"), "{why}");
    ssd.audit().unwrap();
}

#[test]
fn a_second_loss_ends_the_run_with_the_pages_that_are_gone() {
    let mut c = with_bytes([8, 1, 1], 4, 16);
    c.raid.fail = vec![fails(1, 1_000), fails(6, 50_000), fails(2, 10_000_000)];
    let mut ssd = degraded(&c);
    // Chip 6 is in another group of chips: nothing is lost.
    ssd.run_until(Nanos(60_000), &mut Vec::new()).unwrap();
    alone(&mut ssd, whole(Op::Read, 0, 96));
    let DeviceError::DataLost { at_ns, count, lpns, .. } =
        ssd.run_until(Nanos(20_000_000), &mut Vec::new()).expect_err("two of a group")
    else {
        panic!("another error")
    };
    // Chips 0 to 3 hold one group per stripe. The pages on chips 1 and 2 are host pages except for the parity, which is
    // on chip 3 - (stripe mod 4).
    assert_eq!((at_ns, count), (10_000_000, 8 * 2 + 8));
    let groups = ssd.core.ftl.parity_groups();
    let homes = |lpn: &u32| [1, 2].contains(&groups.home(Lpn(*lpn)).0);
    let expected: Vec<u32> = (0..96).filter(homes).collect();
    assert_eq!(lpns, expected);
    assert_eq!(ssd.measured().degraded.as_ref().unwrap().gone.len(), lpns.len());
}

#[test]
fn after_a_rebuild_another_chip_may_fail() {
    let mut c = with_bytes([4, 1, 1], 4, 64);
    c.raid.fail = (0..4).map(|i| fails(i, 1_000 + u64::from(i) * 100_000_000)).collect();
    c.raid.spares = 4;
    let mut ssd = degraded(&c);
    ssd.run_until(Nanos(1_000_000_000), &mut Vec::new()).unwrap();
    let d = ssd.measured().degraded.as_ref().unwrap();
    assert_eq!((d.chips.len(), d.pages_lost, d.pages_left), (4, 4 * 64, 0));
    ssd.audit().unwrap();
    closed(&mut ssd, 4, (0..192).map(|lpn| whole(Op::Read, lpn, 1))).unwrap();
}

#[test]
fn every_chip_may_fail_and_every_page_redirected_ones_too_is_rebuilt() {
    for chip in 0..8 {
        let mut c = with_bytes([4, 2, 1], 4, 200);
        c.raid.redirect = named(ssd_core::ftl::raid::redirect::ALL, "deferred-gc")
            .with("foreign", Value::Real(0.05));
        let on_demand = named(ssd_core::ftl::gc::trigger::ALL, "on-demand");
        c.gc.trigger = vec![on_demand.with("soft", Value::Int(3)).with("idle", Value::Bool(true))];
        c.raid.fail = vec![fails(chip, 200_000_000)];
        c.raid.spares = 1;
        let mut ssd = filled(&c);
        ssd.audit_every(40);
        let mut rng = Stream::new(u64::from(chip), "redirected");
        let user = u64::from(c.device.user_pages);
        let writes = (0..4000).map(|_| whole(Op::Write, rng.below(user) as u32, 1));
        closed(&mut ssd, 12, writes.collect::<Vec<_>>()).unwrap();
        ssd.run_until(Nanos(20_000_000_000), &mut Vec::new()).unwrap();
        let m = ssd.measured();
        assert!(m.raid.redirected > 50, "{:?}", m.raid);
        let d = m.degraded.as_ref().expect("it has failed");
        assert_eq!(d.pages_left, 0, "{:?}", m.raid);
        assert!(d.rebuilt > 100, "{:?}", m.raid);
        closed(&mut ssd, 8, (0..user as u32).map(|lpn| whole(Op::Read, lpn, 1))).unwrap();
        ssd.audit().unwrap();
    }
}

/// Check in the operation log that nothing has started on a missing chip. Returns the programs and erases of collection
/// on the chips that have failed.
fn nothing_starts_on_missing_chips(ssd: &mut Ssd) -> [usize; 2] {
    let mut log = Vec::new();
    ssd.drain_operations(&mut log);
    let chips = &ssd.measured().degraded.as_ref().expect("a chip has failed").chips;
    let mut collected = [0; 2];
    for r in &log {
        let number = r.place.channel * ssd.core.ftl.geo.chips_per_channel + r.place.chip;
        for chip in chips.iter().filter(|chip| chip.chip == number) {
            let gone = r.start > chip.failed && chip.replaced.is_none_or(|back| r.start < back);
            assert!(!gone, "chip {number} failed at {:?}: {r:?}", chip.failed);
            let gc = r.cause == Cause::Gc;
            collected[0] += usize::from(gc && r.op == FlashOp::Program);
            collected[1] += usize::from(gc && r.op == FlashOp::Erase);
        }
    }
    collected
}

#[test]
fn a_job_whose_chip_fails_neither_copies_on_nor_erases() {
    let (mut copied, mut off) = (0, 0);
    // A job takes up to 16 * (READ + PROGRAM) + ERASE.
    for step in 0..24 {
        let mut c = with_bytes([4, 1, 1], 4, 248);
        (c.metrics.op_log, c.gc.window) = (true, 1 + step % 3);
        c.raid.fail = vec![fails(1, 60_000_000 + u64::from(step) * 241_000)];
        c.raid.spares = step % 2;
        let mut ssd = filled(&c);
        ssd.audit_every(211);
        let (mut rng, user) = (Stream::new(9, "jobs"), u64::from(c.device.user_pages));
        let writes = (0..700).map(|_| whole(Op::Write, rng.below(user) as u32, 1));
        closed(&mut ssd, 4, writes.collect::<Vec<_>>()).unwrap();
        ssd.run_until(Nanos(20_000_000_000), &mut Vec::new()).unwrap();
        assert_eq!(ssd.measured().degraded.as_ref().unwrap().pages_left > 0, step % 2 == 0);
        let [copies, _] = nothing_starts_on_missing_chips(&mut ssd);
        copied += copies;
        let (gc, erases) = (&ssd.measured().gc, &ssd.measured().flash.erases);
        off += gc.calls - erases[Cause::Gc.at()];
        assert_eq!(gc.calls - gc.jobs_done, gc.calls - erases[Cause::Gc.at()]);
        closed(&mut ssd, 8, (0..user as u32).map(|lpn| whole(Op::Read, lpn, 1))).unwrap();
    }
    assert!(copied > 500 && off > 10, "{copied} copies on the chip, {off} jobs without an erase");
}

/// A storm in which chips fail at random times, with random settings; every lost page is checked at every audit.
fn storm(seed: u64) -> (bool, u64) {
    let mut rng = Stream::new(seed, "failures");
    let shapes = [([4, 2, 1], 8), ([2, 2, 2], 4), ([2, 3, 1], 3), ([2, 1, 1], 2), ([4, 2, 1], 4)];
    let (shape, group) = shapes[rng.below(5) as usize];
    let mut c = with_bytes(shape, group, 1);
    (c.device.blocks_per_plane, c.device.pages_per_block) = (14, 8);
    let stripes = rig::pages_of(&c) / (shape[0] * shape[1]) * 3 / 4;
    c.device.user_pages = stripes * c.data_pages_per_stripe() as u32;
    c.run.seed = seed;
    c.run.data = if rng.chance(0.5) { DataMode::Bytes } else { DataMode::Digest };
    c.raid.update = [ParityUpdate::Fewest, ParityUpdate::ReadModify, ParityUpdate::Reconstruct]
        [rng.below(3) as usize];
    c.raid.read_buffer_pages = 6 * rng.below(2) as u32;
    if rng.chance(0.5) {
        c.raid.reads = GroupReads::ReconstructIfBusy;
    }
    c.gc.window = 1 + rng.below(3) as u32;
    c.metrics.op_log = true;
    if rng.chance(0.5) {
        (c.timing.model, c.timing.transfer_ns) = (TimingModel::Pipelined, 3000);
        (c.host.link_bytes_per_s, c.host.link_duplex) = (Some(300_000_000), LinkDuplex::Half);
        c.controller.host_ecc_ns = 700;
    }
    c.timing.busy_unit =
        [BusyUnit::Chip, BusyUnit::Channel, BusyUnit::Plane][rng.below(3) as usize];
    c.wear.static_threshold = 3 * rng.below(2) as u32;
    let chips = u64::from(shape[0] * shape[1]);
    let failures = 1 + rng.below(2);
    c.raid.fail = (0..failures)
        .map(|i| fails(rng.below(chips) as u32, rng.below(20_000_000) + i * 60_000_000))
        .collect();
    c.raid.spares = rng.below(3) as u32;
    c.raid.rebuild_window = 1 + rng.below(6) as u32;
    if rng.chance(0.3) {
        c.raid.rebuild_rate = Some(1_000_000 + rng.below(20_000_000));
    }
    let weather = Weather {
        requests: 600,
        depth: 1 + rng.below(24) as usize,
        seed,
        audit: 1 + rng.below(5),
        mix: [35, 12, 2],
        pause: rng.below(200_000),
    };
    let mut storm = Storm::new(&c, weather);
    let ended = match storm.run() {
        Ok(()) => true,
        Err(DeviceError::DataLost { .. }) if failures > 1 => false,
        Err(e) => panic!("seed {seed}, {shape:?}: {e}"),
    };
    if storm.ssd.measured().degraded.is_some() {
        nothing_starts_on_missing_chips(&mut storm.ssd);
    }
    let m = storm.ssd.measured();
    (ended, m.raid.reconstructions + m.degraded.as_ref().map_or(0, |d| d.rebuilt))
}

#[test]
fn storms_in_which_chips_fail_at_any_time() {
    let (mut ended, mut work) = (0, 0);
    for seed in 0..40 {
        let (whole, steps) = storm(seed);
        (ended, work) = (ended + u32::from(whole), work + steps);
    }
    assert!(ended > 25 && work > 2000, "{ended} storms ended, {work} reconstructions");
}
