//! The time of a mount follows from the pages read, the times and the parallelism.

use crate::rig::{closed, device, filled, whole};
use ssd_core::config::{BufferPower, BusyUnit, Config, PowerCut, TimingModel};
use ssd_core::ftl::Ftl;
use ssd_core::host::device::{Device, DeviceError};
use ssd_core::host::request::Op;
use ssd_core::metrics::report::Recovery;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos};

/// Two channels of two chips of two planes, each of 10 blocks of 8 pages, with 160 pages written: 20 on each plane.
fn written() -> Config {
    let mut c = device([2, 2, 2], 10, 8, 320);
    c.power.cut = PowerCut::OnRequest;
    c
}

fn mounted(c: &Config) -> (Recovery, Ssd) {
    let mut functional = Functional::new(c, Ftl::new(c));
    functional.write_run(Lpn(0), 160, 0).expect("the pages fit");
    let sequence = functional.sequence();
    let mut ssd = Ssd::new(c, functional.ftl, sequence);
    assert_eq!(ssd.power_cut().expect("power is on").len(), 0);
    let recovery = ssd.mount(false).expect("it mounts");
    assert_eq!(ssd.now(), Nanos(recovery.time), "time has passed");
    (recovery, ssd)
}

/// On each plane: two full blocks, 4 pages and the first erased page of the third, and the first page of 7 more.
const PER_PLANE: u64 = 2 * 8 + 5 + 7;

#[test]
fn an_idle_mount_reads_each_page_and_the_first_erased_one() {
    let mut c = written();
    c.timing.model = TimingModel::Serial;
    for (unit, planes) in [(BusyUnit::Plane, 1), (BusyUnit::Chip, 2), (BusyUnit::Channel, 4)] {
        c.timing.busy_unit = unit;
        let (recovery, _) = mounted(&c);
        assert_eq!(recovery.reads, 8 * PER_PLANE);
        // 50 ns in the array and 20 on the bus, one page after the other on each unit.
        assert_eq!(recovery.time, planes * PER_PLANE * 70, "{unit:?}");
        assert_eq!((recovery.mapped_pages, recovery.skipped_pages), (160, 8 * 4));
        assert_eq!((recovery.torn_pages, recovery.erases, recovery.requests), (0, 0, 0));
    }
}

#[test]
fn a_shared_bus_is_the_limit_where_it_is_slower_than_the_arrays() {
    let mut c = written();
    (c.timing.model, c.timing.busy_unit) = (TimingModel::Pipelined, BusyUnit::Plane);
    assert_eq!(mounted(&c).0.time, 4 * PER_PLANE * 20 + 50, "four planes share a bus");
    c.timing.read_ns = 500;
    assert_eq!(mounted(&c).0.time, PER_PLANE * 520, "the arrays take longer");
}

#[test]
fn with_a_checkpoint_it_reads_that_and_what_came_after() {
    let mut c = written();
    (c.timing.model, c.timing.busy_unit) = (TimingModel::Serial, BusyUnit::Plane);
    // Due with the 16th page; 320 entries of 4 B and 80 blocks of 6 B are one page of 2 KiB on each plane.
    c.power.checkpoint_bytes = 16 * 2048;
    let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
    closed(&mut ssd, 1, (0..20).map(|lpn| whole(Op::Write, lpn, 1))).expect("they complete");
    while let Some(next) = ssd.next_event() {
        ssd.run_until(next, &mut Vec::new()).expect("the checkpoint ends");
    }
    assert_eq!(ssd.measured().power.checkpoints, 1);
    ssd.power_cut().expect("power is on");
    let recovery = ssd.mount(false).expect("it mounts");
    assert_eq!(recovery.checkpoint_pages, 8);
    // The first page of every block; where the checkpoint covers it, also the next page and the first erased one.
    let covered = 15;
    let of_plane = |plane: u64| {
        let (pages, before) =
            (20 / 8 + u64::from(plane < 20 % 8), covered / 8 + u64::from(plane < covered % 8));
        9 + if before > 0 { 1 + pages + 1 - before } else { pages + 1 }
    };
    let reads: Vec<u64> = (0..8).map(of_plane).collect();
    assert_eq!(recovery.reads, reads.iter().sum::<u64>());
    assert_eq!(recovery.time, 70 + 70 * reads.iter().max().expect("eight planes"));
}

/// Capacitors save the pages of the buffer to all planes in turn, and a mount reads them from there.
#[test]
fn saved_pages_are_read_on_all_planes_side_by_side() {
    let mut c = written();
    (c.host.write_buffer_pages, c.host.write_buffer_threshold) = (40, 1.0);
    c.power.buffer = BufferPower::Protected;
    for (model, unit, planes) in [
        (TimingModel::Serial, BusyUnit::Plane, 1),
        (TimingModel::Serial, BusyUnit::Channel, 4),
        (TimingModel::Pipelined, BusyUnit::Plane, 4),
    ] {
        (c.timing.model, c.timing.busy_unit) = (model, unit);
        // That many pages on each of the planes that share a unit or a bus.
        let reads = |pages: u64| match model {
            _ if pages == 0 => 0,
            TimingModel::Serial => planes * pages * 70,
            TimingModel::Pipelined => planes * pages * 20 + 50,
        };
        for saved in [0u32, 1, 7, 8, 9, 15, 16, 17, 33] {
            let mut functional = Functional::new(&c, Ftl::new(&c));
            functional.write_run(Lpn(0), 160, 0).expect("the pages fit");
            let sequence = functional.sequence();
            let mut ssd = Ssd::new(&c, functional.ftl, sequence);
            closed(&mut ssd, 1, (0..saved).map(|lpn| whole(Op::Write, lpn, 1))).expect("room");
            ssd.power_cut().expect("power is on");
            let recovery = ssd.mount(false).expect("it mounts");
            assert_eq!(recovery.saved_pages, u64::from(saved));
            let mut on_each = [0; 8];
            (0..saved as usize).for_each(|page| on_each[page % 8] += 1);
            let most = on_each.into_iter().max().expect("eight planes");
            let expected = reads(PER_PLANE) + reads(most);
            assert_eq!(recovery.time, expected, "{model:?} {unit:?}: {saved} pages saved");
        }
    }
}

#[test]
fn what_is_not_possible_is_refused_with_the_remedy() {
    let plain = device([1, 1, 1], 16, 8, 64);
    let mut ssd = Ssd::new(&plain, Ftl::new(&plain), 0);
    let refused = |result: Result<(), DeviceError>, words: &str| {
        let error = result.expect_err("it is refused").to_string();
        assert!(error.contains(words), "{error}");
    };
    refused(ssd.power_cut().map(drop), "power.cut = \"on-request\"");
    let mut ssd = mounted(&written()).1;
    refused(ssd.mount(false).map(drop), "power is on");
    ssd.power_cut().expect("power is on");
    refused(ssd.power_cut().map(drop), "mount the device first");
    refused(ssd.run_until(Nanos(5), &mut Vec::new()).map(drop), "mount the device first");
}

#[test]
fn a_run_with_cuts_repeats_what_had_not_completed() {
    let kinds = [
        PowerCut::Every(40_000),
        PowerCut::Random(30_000),
        PowerCut::At(vec![10_000, 11_000, 50_000]),
    ];
    for cut in kinds {
        let mut c = device([1, 2, 1], 16, 8, 150);
        c.run.data = ssd_core::config::DataMode::Digest;
        (c.power.cut, c.power.checkpoint_bytes) = (cut.clone(), 40 * 2048);
        let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
        ssd.audit_every(5);
        let request = |i: u32| {
            let op = [Op::Write, Op::Write, Op::Read, Op::Trim][(i % 4) as usize];
            whole(op, i * 37 % 140, 1 + i % 5)
        };
        let done = closed(&mut ssd, 8, (0..1500).map(request)).expect("it goes on after each cut");
        assert_eq!(done.len(), 1500, "{cut:?}");
        let (power, m) = (ssd.measured().power, ssd.measured());
        assert_eq!(m.host.submitted, m.host.completed, "{cut:?}");
        let recoveries = &m.recoveries;
        assert_eq!(recoveries.len() as u64, power.cuts, "{cut:?}");
        assert!(power.requests_repeated > 0, "{cut:?}: {power:?}");
        if let PowerCut::At(times) = &cut {
            let at: Vec<u64> = recoveries.iter().map(|r| r.cut_at).collect();
            assert_eq!(&at, times);
            // The second cut comes while the device mounts.
            assert_eq!(recoveries[0].interrupted, recoveries[0].time == 1000);
            assert!(recoveries[0].interrupted && !recoveries[1].interrupted);
        } else {
            assert!(recoveries.len() > 3, "{cut:?}: {} cuts", recoveries.len());
        }
    }
}

#[test]
fn cuts_without_progress_end_the_run() {
    let mut c = device([1, 1, 1], 16, 8, 100);
    c.power.cut = PowerCut::Every(300);
    let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
    let error = closed(&mut ssd, 1, [whole(Op::Write, 0, 1)]).expect_err("a program takes 500 ns");
    assert!(error.to_string().contains("give a longer power.cut"), "{error}");
}

/// A mount of parity groups ends with a checkpoint, whose area is erased first: on all units side by side, and on the
/// planes of a unit one after the other.
#[test]
fn a_mount_of_groups_erases_the_area_of_its_checkpoint_plane_after_plane() {
    for model in [TimingModel::Serial, TimingModel::Pipelined] {
        for (unit, planes) in [(BusyUnit::Plane, 1), (BusyUnit::Chip, 2)] {
            let mount_times = |erase_ns: u64| -> Vec<u64> {
                let mut c = device([2, 1, 2], 10, 8, 100);
                (c.raid.group, c.power.cut) = (2, PowerCut::OnRequest);
                (c.timing.model, c.timing.busy_unit, c.timing.erase_ns) = (model, unit, erase_ns);
                let mut ssd = filled(&c);
                let mut mount = || {
                    ssd.power_cut().expect("power is on");
                    ssd.mount(false).expect("it mounts").time
                };
                (0..5).map(|_| mount()).collect()
            };
            // The run begins with a checkpoint, and the areas take turns: the first mount finds its area erased. Each
            // later one erases the block on each plane that holds the page of the checkpoint before the last.
            let (short, long) = (mount_times(2_000), mount_times(9_000));
            let more: Vec<u64> =
                short.iter().zip(&long).map(|(short, long)| long - short).collect();
            assert_eq!(more, [0, 1, 1, 1, 1].map(|erases| erases * planes * 7_000), "{unit:?}");
        }
    }
}
