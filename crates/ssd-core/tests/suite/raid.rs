//! Parity groups in the timed machine: latencies to the nanosecond, storms of requests under the audit, and the
//! comparison with the functional machine and with a device without parity.

use crate::rig::storm::Weather;
use crate::rig::{
    self,
    parity::{paper, storms},
};
use crate::rig::{PAGE, alone, closed, filled, finish, free_blocks, whole};
use ssd_core::config::{BusyUnit, Config, DataMode, TimingModel};
use ssd_core::ftl::Ftl;
use ssd_core::host::device::Device;
use ssd_core::host::request::{Op, Request};
use ssd_core::metrics::counters::Cause;
use ssd_core::rng::Stream;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos, PlaneId};

#[test]
fn idle_updates_take_one_read_and_one_program_or_one_program() {
    for unit in [BusyUnit::Chip, BusyUnit::Plane] {
        let mut c = paper([8, 1, 1], 8, 64);
        c.timing.busy_unit = unit;
        let mut ssd = filled(&c);
        let mut takes = |lpn, count| alone(&mut ssd, whole(Op::Write, lpn, count));
        // One page: read-modify-write, 2 reads and 2 programs. Five pages: reconstruct-write, 2 and 6.
        assert_eq!(takes(3, 1), 225_000);
        assert_eq!(takes(7, 5), 225_000);
        // Whole groups, one and three at a time.
        assert_eq!(takes(14, 7), 200_000);
        assert_eq!(takes(21, 21), 600_000, "three groups share eight chips");
        assert_eq!(alone(&mut ssd, whole(Op::Read, 3, 1)), 25_000);
        let m = ssd.measured();
        assert_eq!((m.raid.rmw, m.raid.rcw, m.raid.full), (1, 1, 4));
        assert_eq!(m.flash.reads[Cause::Rmw.at()], 2 + 2);
        assert_eq!(m.flash.programs[Cause::Host.at()], 1 + 5 + 7 + 21);
        assert_eq!(m.flash.programs[Cause::Parity.at()], 1 + 1 + 1 + 3);
    }
}

#[test]
fn members_on_one_channel_take_turns_where_the_channel_is_busy() {
    // Two channels of four chips: a group of eight has four members on each.
    let mut c = paper([2, 4, 1], 8, 64);
    c.timing.busy_unit = BusyUnit::Channel;
    let mut ssd = filled(&c);
    // k reads, then k programs, taken apart: of a whole group 4 programs on each channel.
    assert_eq!(alone(&mut ssd, whole(Op::Write, 7, 7)), 4 * 200_000);
    // Stripe 0: chips in striping order are channel 0, 1, 0, 1, ...; parity is on the last chip, channel 1.
    assert_eq!(
        alone(&mut ssd, whole(Op::Write, 1, 1)),
        2 * 25_000 + 2 * 200_000,
        "both on channel 1"
    );
    assert_eq!(alone(&mut ssd, whole(Op::Write, 2, 1)), 25_000 + 200_000, "on two channels");
    // Pages 0 to 3 are written; 4, 5 and 6 are read: two on channel 0, one on channel 1.
    assert_eq!(alone(&mut ssd, whole(Op::Write, 0, 4)), 2 * 25_000 + 3 * 200_000);
}

#[test]
fn pipelined_updates_wait_for_the_bus_as_pages_do() {
    let (read, program, bus, command) = (50_001, 600_007, 2_003, 305);
    let mut c = paper([1, 4, 1], 4, 64);
    let t = &mut c.timing;
    t.model = TimingModel::Pipelined;
    (t.read_ns, t.program_ns, t.transfer_ns, t.command_ns) = (read, program, bus, command);
    let mut ssd = filled(&c);
    let reads = |k: u64| command + read + k * bus;
    let programs = |k: u64| k * (command + bus) + program;
    assert_eq!(alone(&mut ssd, whole(Op::Write, 0, 3)), programs(4), "a whole group");
    assert_eq!(alone(&mut ssd, whole(Op::Write, 3, 1)), reads(2) + programs(2));
    assert_eq!(alone(&mut ssd, whole(Op::Write, 6, 2)), reads(1) + programs(3));
}

#[test]
fn collection_in_the_way_of_an_update_delays_it_by_its_copies_and_its_erase() {
    let mut c = paper([4, 1, 1], 4, 64);
    c.gc.blocking = ssd_core::config::Blocking {
        scope: ssd_core::config::BlockingScope::Plane,
        granularity: ssd_core::config::Granularity::Job,
    };
    let mut ssd = filled(&c);
    let mut rng = Stream::new(3, "single pages");
    let (mut delayed, user) = (0, u64::from(c.device.user_pages));
    for _ in 0..4000 {
        let before = (ssd.measured().gc.calls, ssd.measured().gc.pages.moved);
        let took = alone(&mut ssd, whole(Op::Write, rng.below(user) as u32, 1));
        let after = (ssd.measured().gc.calls, ssd.measured().gc.pages.moved);
        // The writes of a quiet device follow each other: what delays this one is the rest of the collection that the
        // previous one has caused, on up to two chips at a time.
        assert!(took >= 225_000, "{took}");
        if took == 225_000 {
            continue;
        }
        delayed += 1;
        let most = 2 * (1_500_000 + 16 * 225_000);
        assert!(took <= 225_000 + most, "{took} with {before:?} to {after:?}");
    }
    assert!(delayed > 100, "{delayed} writes met collection");
    let m = ssd.measured();
    assert_eq!(m.write_parts.total(), m.latencies.of(Op::Write).histogram.sum());
}

#[test]
fn updates_of_a_group_are_served_in_order_and_reads_see_the_newest_data_at_once() {
    let mut c = paper([4, 1, 1], 4, 64);
    c.run.data = DataMode::Digest;
    let mut ssd = filled(&c);
    for _ in 0..3 {
        ssd.submit(Nanos::ZERO, &whole(Op::Write, 0, 1), None).unwrap();
    }
    ssd.submit(Nanos::ZERO, &whole(Op::Write, 1, 1), None).unwrap();
    ssd.submit(Nanos::ZERO, &whole(Op::Read, 0, 1), None).unwrap();
    ssd.submit(Nanos::ZERO, &Request::new(Op::Flush, 0, 0), None).unwrap();
    let done = finish(&mut ssd).unwrap();
    let times: Vec<(u64, u64)> = done.iter().map(|c| (c.id.0, c.at.0)).collect();
    let write = 225_000;
    let expected =
        [(4, 0), (0, write), (1, 2 * write), (2, 3 * write), (3, 4 * write), (5, 4 * write)];
    assert_eq!(times, expected);
    let m = ssd.measured();
    assert_eq!(m.host.controller_pages_read, 1);
    assert_eq!(m.flash.reads[Cause::Rmw.at()], 8);
}

#[test]
fn pages_just_read_are_not_read_again() {
    let mut c = paper([8, 1, 1], 8, 64);
    c.raid.read_buffer_pages = 64;
    c.run.data = DataMode::Digest;
    let mut ssd = filled(&c);
    // Five pages of the group are written: pages 5 and 6 are read and kept.
    alone(&mut ssd, whole(Op::Write, 0, 5));
    assert_eq!(ssd.measured().flash.reads[Cause::Rmw.at()], 2);
    // Repeating that costs no read.
    assert_eq!(alone(&mut ssd, whole(Op::Write, 0, 5)), 200_000);
    assert_eq!(ssd.measured().raid.kept, 2);
    // Page 5 is kept, but the parity is not; afterwards neither is, because both are overwritten.
    alone(&mut ssd, whole(Op::Write, 5, 1));
    assert_eq!(ssd.measured().flash.reads[Cause::Rmw.at()], 3);
    alone(&mut ssd, whole(Op::Write, 5, 1));
    assert_eq!(ssd.measured().flash.reads[Cause::Rmw.at()], 5);
    ssd.audit().unwrap();
}

#[test]
fn trims_are_updates_and_whole_groups_are_dropped_free() {
    let mut c = paper([8, 1, 1], 8, 64);
    c.run.data = DataMode::Digest;
    let mut ssd = filled(&c);
    let valid = ssd.core.ftl.owners.valid_pages();
    assert_eq!(alone(&mut ssd, whole(Op::Trim, 7, 14)), 0);
    assert_eq!(ssd.core.ftl.owners.valid_pages(), valid - 16, "two groups with their parity");
    assert_eq!(alone(&mut ssd, whole(Op::Trim, 0, 2)), 225_000, "old data and parity, then parity");
    assert_eq!(ssd.core.ftl.owners.valid_pages(), valid - 18);
    assert_eq!(alone(&mut ssd, whole(Op::Read, 0, 7)), 25_000);
    assert_eq!(ssd.measured().host.unmapped_pages_read, 2);
    // The rest of the group: nothing is left.
    assert_eq!(alone(&mut ssd, whole(Op::Trim, 0, 7)), 0);
    assert_eq!(ssd.core.ftl.owners.valid_pages(), valid - 24);
    // A page of an empty group: nothing is read.
    assert_eq!(alone(&mut ssd, whole(Op::Write, 9, 1)), 200_000);
    assert_eq!(ssd.measured().raid.dropped, 3);
    // A TRIM of everything left waits for an update under way, and then costs nothing.
    ssd.submit(ssd.now(), &whole(Op::Write, 9, 1), None).unwrap();
    ssd.submit(ssd.now(), &whole(Op::Trim, 7, 7), None).unwrap();
    ssd.submit(ssd.now(), &whole(Op::Read, 9, 1), None).unwrap();
    let start = ssd.now().0;
    let done: Vec<(u64, u64)> =
        finish(&mut ssd).unwrap().iter().map(|c| (c.at.0 - start, c.digest)).collect();
    assert_eq!(done[0].0, 0, "the read is served by the controller");
    assert_eq!((done[1].0, done[2].0), (200_000, 200_000), "nothing else of the group stays");
    assert_eq!(ssd.measured().raid.dropped, 4);
    ssd.audit().unwrap();
}

#[test]
fn part_of_a_page_is_read_once_for_its_rest_and_for_its_parity() {
    let mut c = paper([8, 1, 1], 8, 64);
    c.run.data = DataMode::Bytes;
    let mut ssd = filled(&c);
    assert_eq!(alone(&mut ssd, Request::new(Op::Write, 3 * PAGE + 1, 2)), 225_000);
    assert_eq!(ssd.measured().flash.reads[Cause::Rmw.at()], 2);
    // All pages of a group, the first in part: that one is read.
    let all = Request::new(Op::Write, 7 * PAGE + 1, (7 * PAGE - 1) as u32);
    assert_eq!(alone(&mut ssd, all), 225_000);
    assert_eq!(ssd.measured().flash.reads[Cause::Rmw.at()], 3);
    assert_eq!(ssd.measured().host.rmw, 2);
    ssd.audit().unwrap();
}

#[test]
fn every_answer_of_a_storm_is_right_and_every_group_whole_at_every_instant() {
    let depths = [(1, DataMode::Digest), (16, DataMode::Bytes), (64, DataMode::Digest)];
    let weather =
        Weather { requests: 1200, depth: 0, seed: 0, audit: 7, mix: [25, 12, 2], pause: 20_000 };
    let keeps_pages = |c: &mut Config, number| c.raid.read_buffer_pages = 5 * (number % 2);
    storms(&depths, weather, keeps_pages, |m| assert!(m.gc.calls > 20, "little collection"));
}

#[test]
fn a_full_device_with_two_percent_to_spare_never_stalls() {
    for (shape, group, seed) in [([4, 2, 1], 8, 1u64), ([4, 1, 1], 4, 2), ([2, 1, 1], 2, 3)] {
        let mut c = paper(shape, group, 1);
        (c.device.blocks_per_plane, c.device.pages_per_block) = (200, 4);
        // 2 % of the pages, and what the reserve and the two open blocks take.
        let spare = 200 * 4 * 2 / 102 + 4;
        let stripes = 200 * 4 - spare;
        c.device.user_pages = stripes * c.data_pages_per_stripe() as u32;
        (c.run.data, c.gc.reserve) = (DataMode::Digest, 1);
        c.gc.trigger = vec![free_blocks(1)];
        let mut ssd = filled(&c);
        ssd.audit_every(500);
        let mut rng = Stream::new(seed, "tight");
        let user = u64::from(c.device.user_pages);
        let requests = (0..12_000).map(|_| {
            let count = 1 + rng.below(u64::from(2 * group)) as u32;
            whole(Op::Write, rng.below(user - u64::from(count)) as u32, count)
        });
        let done = closed(&mut ssd, 64, requests.collect::<Vec<_>>()).unwrap();
        assert_eq!(done.len(), 12_000);
        let waited = ssd.measured().raid.waited_for_room;
        assert!(waited > 1000, "{shape:?}: {waited} updates waited for room");
        ssd.audit().unwrap();
    }
}

#[test]
fn without_time_the_same_pages_are_collected() {
    for (shape, group) in [([4, 2, 1], 8), ([2, 2, 1], 2), ([2, 3, 1], 3)] {
        let mut c = paper(shape, group, 400);
        c.gc.blocking = ssd_core::config::Blocking {
            scope: ssd_core::config::BlockingScope::Device,
            granularity: ssd_core::config::Granularity::Job,
        };
        let mut f = Functional::new(&c, Ftl::new(&c));
        f.write_run(Lpn(0), c.device.user_pages, 0).unwrap();
        let mut ssd = filled(&c);
        ssd.audit_every(50);
        let mut rng = Stream::new(5, "same");
        let user = u64::from(c.device.user_pages);
        for _ in 0..6000 {
            // Within a group: several groups of one request are under way together.
            let first = rng.below(user) as u32;
            let left = group - 1 - first % (group - 1);
            let count = 1 + rng.below(u64::from(left)) as u32;
            // The block being collected would lose pages to a TRIM.
            ssd.run_until(Nanos(ssd.now().0 + 100_000_000), &mut Vec::new()).unwrap();
            if rng.chance(0.1) {
                f.trim_run(Lpn(first), count).unwrap();
                alone(&mut ssd, whole(Op::Trim, first, count));
            } else {
                f.write_run(Lpn(first), count, 0).unwrap();
                alone(&mut ssd, whole(Op::Write, first, count));
            }
        }
        finish(&mut ssd).unwrap();
        ssd.run_until(Nanos(ssd.now().0 + 1_000_000_000), &mut Vec::new()).unwrap();
        let m = ssd.measured();
        assert!(m.gc.calls > 500, "{} calls", m.gc.calls);
        assert_eq!(ssd.core.ftl.blocks.erases, f.ftl.blocks.erases, "{shape:?}");
        assert_eq!(m.gc.pages.moved, f.tally.gc_pages);
        assert_eq!(m.flash.reads[Cause::Rmw.at()], f.groups.reads);
        assert_eq!(
            m.flash.programs[Cause::Parity.at()] + u64::from(c.device.user_pages / (group - 1)),
            f.groups.parity_pages
        );
    }
}

#[test]
fn whole_groups_take_as_long_as_pages_of_a_device_without_parity() {
    for (model, depth) in
        [(TimingModel::Serial, 1), (TimingModel::Serial, 24), (TimingModel::Pipelined, 24)]
    {
        let mut c = paper([4, 2, 1], 8, 470);
        (c.timing.model, c.timing.transfer_ns) = (model, 1_000);
        let mut plain = c.clone();
        plain.raid.group = 0;
        plain.device.user_pages = c.device.user_pages / 7 * 8;
        let (mut a, mut b) = (filled(&c), filled(&plain));
        let groups = c.device.user_pages / 7;
        let mut rng = Stream::new(9, "groups");
        let drawn: Vec<u32> = (0..3000).map(|_| rng.below(u64::from(groups)) as u32).collect();
        // No group is written twice at a time: the second write would wait for the group, not for its chips.
        let drawn = apart(&drawn, depth);
        let with =
            closed(&mut a, depth, drawn.iter().map(|&q| whole(Op::Write, q * 7, 7))).unwrap();
        let without =
            closed(&mut b, depth, drawn.iter().map(|&q| whole(Op::Write, q * 8, 8))).unwrap();
        let ends = |all: &[ssd_core::host::request::Completion]| {
            all.iter().map(|c| (c.id, c.at)).collect::<Vec<_>>()
        };
        if model == TimingModel::Serial {
            assert_eq!(ends(&with), ends(&without), "depth {depth}");
            assert_eq!(a.core.ftl.blocks.erases, b.core.ftl.blocks.erases);
        }
        let (m, n) = (a.measured(), b.measured());
        assert!(m.gc.calls > 300, "{} calls", m.gc.calls);
        let parity = m.flash.programs[Cause::Parity.at()];
        assert_eq!(m.flash.programs[Cause::Host.at()] + parity, n.flash.programs[Cause::Host.at()]);
        assert_eq!(parity * 7, m.flash.programs[Cause::Host.at()]);
    }
}

/// `drawn` without those that equal one of the `depth` before.
fn apart(drawn: &[u32], depth: usize) -> Vec<u32> {
    let mut kept: Vec<u32> = Vec::new();
    for &q in drawn {
        if !kept.iter().rev().take(4 * depth).any(|&other| other == q) {
            kept.push(q);
        }
    }
    kept
}

#[test]
fn a_device_with_parity_can_be_stored_and_continued() {
    let mut c = paper([4, 2, 1], 4, 300);
    c.run.data = DataMode::Digest;
    (c.precondition.fill, c.precondition.overwrite) = (1.0, 0.5);
    let snapshot = rig::preconditioned(&c);
    let mut ssd = Ssd::restore(&c, &snapshot).unwrap();
    ssd.audit_every(20);
    let mut rng = Stream::new(1, "after");
    let user = u64::from(c.device.user_pages);
    let writes = (0..500).map(|_| whole(Op::Write, rng.below(user) as u32, 1));
    closed(&mut ssd, 8, writes.collect::<Vec<_>>()).unwrap();
    ssd.run_until(Nanos(ssd.now().0 + 1_000_000_000), &mut Vec::new()).unwrap();
    let stored = ssd.snapshot().expect("at rest");
    let again = Ssd::restore(&c, &stored).unwrap();
    again.audit().unwrap();
    assert_eq!(again.core.ftl.owners.valid_pages(), ssd.core.ftl.owners.valid_pages());
    let mut other = c.clone();
    other.raid.group = 8;
    other.device.user_pages = 300 * 7;
    let why = Ssd::restore(&other, &stored).err().expect("another group");
    assert!(why.contains("raid.group is 4 in the snapshot and 8 here"), "{why}");
}

#[test]
fn a_pool_that_an_update_waits_for_is_not_taken_from_by_a_later_one() {
    let mut c = paper([4, 1, 1], 4, 130);
    (c.device.pages_per_block, c.timing.erase_ns) = (4, 50_000_000);
    c.gc.trigger = vec![free_blocks(0)];
    let mut f = Functional::new(&c, Ftl::new(&c));
    f.write_run(Lpn(0), 300, 0).unwrap();
    let sequence = f.sequence();
    let mut ssd = Ssd::new(&c, f.ftl, sequence);
    ssd.audit_every(1);
    // Pages of chip 0, whose parities are on the other three chips in turn, until it collects.
    for i in 0.. {
        if ssd.measured().gc.calls > 0 {
            break;
        }
        alone(&mut ssd, whole(Op::Write, [0, 3, 6][i % 3], 1));
        ssd.run_until(ssd.now(), &mut Vec::new()).unwrap();
    }
    // While it erases, pages of groups never written, which need no read: chip 0, and parity on chips 1 and 2.
    let start = ssd.now();
    for stripe in (100..130).filter(|s| s % 4 == 1 || s % 4 == 2) {
        ssd.submit(start, &whole(Op::Write, 3 * stripe, 1), None).unwrap();
    }
    // Then one that needs chips 0 and 3, and one that needs chips 1 and 3.
    let first = ssd.submit(start, &whole(Op::Write, 300, 1), None).unwrap();
    let second = ssd.submit(start, &whole(Op::Write, 3 * 104 + 1, 1), None).unwrap();
    let mut done = Vec::new();
    ssd.run_until(Nanos(start.0 + 20_000_000), &mut done).unwrap();
    assert!(!ssd.core.ftl.space.can_hold(PlaneId(0), 0), "chip 0 has room");
    assert!(
        [1, 3].iter().all(|&p| ssd.core.ftl.space.can_hold(PlaneId(p), 0)),
        "1 and 3 have room"
    );
    assert!(done.is_empty(), "a later one has taken what the first waits for: {done:?}");
    let ended: Vec<_> = finish(&mut ssd).unwrap().iter().map(|c| c.id).collect();
    assert!(ended.contains(&first) && ended.contains(&second), "{ended:?}");
    assert!(ssd.measured().raid.waited_for_room >= 2);
}

#[test]
fn the_loop_of_groups_agrees_with_the_full_one() {
    let redirects = ssd_core::ftl::raid::redirect::ALL;
    for (redirect, buffer) in [("none", 0), ("none", 8), ("deferred-gc", 0)] {
        for depth in [1, 48] {
            let mut c = paper([2, 4, 1], 4, 106);
            (c.device.blocks_per_plane, c.device.pages_per_block) = (16, 8);
            c.timing.model = TimingModel::Pipelined;
            (c.timing.transfer_ns, c.timing.command_ns) = (5_000, 0);
            c.raid.redirect = rig::named(redirects, redirect);
            c.raid.read_buffer_pages = buffer;
            let run = |full: bool| {
                let mut ssd = filled(&c);
                assert!(!full || ssd.use_full_loop(), "{redirect}: it would be used anyway");
                ssd.audit_every(if full { 0 } else { 5 });
                let mut rng = Stream::new(9, "both loops");
                let user = c.device.user_pages;
                let requests = (0..2_500).map(|_| {
                    let (lpn, count) = (rng.below(u64::from(user) - 6) as u32, rng.below(5) as u32);
                    match rng.below(20) {
                        0 => whole(Op::Trim, lpn, 1 + count),
                        1..5 => whole(Op::Read, lpn, 1 + count),
                        5..8 => Request { sectors: 1, ..whole(Op::Write, lpn, 1) },
                        _ => whole(Op::Write, lpn, 1 + count / 3),
                    }
                });
                let done = closed(&mut ssd, depth, requests).unwrap();
                ssd.quiesce().unwrap();
                (done, ssd.event_digest(), ssd.erases(), ssd.measured().clone())
            };
            let plain = run(false);
            assert!(plain.3.gc.calls > 20 && plain.3.raid.rmw > 1_000, "{redirect}: idle");
            assert!(depth == 1 || plain.3.raid.waited_for_room > 100, "{:?}", plain.3.raid);
            assert!(plain == run(true), "{redirect}, buffer {buffer}, depth {depth}: they differ");
        }
    }
}
