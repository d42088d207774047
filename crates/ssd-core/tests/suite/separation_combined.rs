//! Separation of pages combined with features that keep their own state: snapshots, power cuts, parity groups.

use crate::cases::cases;
use crate::rig::any_config::{RandomConfig, is_valid, separated_and_cut};
use crate::rig::cuts::{Cuts, Load};
use crate::rig::parity::{deferred, paper};
use crate::rig::runs::{Mix, Run};
use crate::rig::storm::{Storm, Weather};
use crate::rig::{alone, device, free_blocks, named, pages_of, victim, whole};
use proptest::prelude::*;
use ssd_core::config::{
    Amount, ChipFailure, Config, DataMode, EraseUnit, HostMode, PoolScope, PowerCut, SteadyStart,
};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::gc::concurrency;
use ssd_core::ftl::gc::victim::ALL as VICTIMS;
use ssd_core::ftl::plugs::{Plugs, PolicyFactory};
use ssd_core::ftl::separation::{ALL, Classes, Ground, PageCopy, PageWrite, SeparationPolicy};
use ssd_core::host::device::{Device, DeviceError};
use ssd_core::host::request::{Op, Request};
use ssd_core::metrics::counters::Cause;
use ssd_core::plug::{PolicySpec, Value};
use ssd_core::rng::Stream;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{BlockId, Lpn, Nanos, PlaneId, PoolId};
use std::sync::Arc;

/// Every policy that separates with its defaults, and what it does with others.
fn policies() -> Vec<PolicySpec> {
    let mut all: Vec<_> = ALL.iter().map(|info| PolicySpec::with_defaults(info)).collect();
    all.retain(|spec| spec.policy != "none");
    let isolated = named(ALL, "fdp").with("isolation", Value::Word("persistently".to_string()));
    all.push(isolated.with("handles", Value::Int(2)));
    all.push(named(ALL, "host-and-copies").with("victims", Value::Word("any".to_string())));
    all
}

/// Pages separated by `spec`, on a device as full as that allows except for one block of each pool.
fn separated(mut c: Config, spec: &PolicySpec) -> Config {
    c.alloc.separation = spec.clone();
    let stripe = c.data_pages_per_stripe() as u32;
    let fits = |c: &Config| c.most_classes() > c.alloc.classes().all;
    c.device.user_pages = pages_of(&c) / stripe * stripe;
    while !fits(&c) && c.device.user_pages > stripe {
        c.device.user_pages -= stripe;
    }
    is_valid(&c).unwrap_or_else(|why| panic!("{}: {why}", spec.policy));
    c
}

/// Write and read whole pages, mostly few ones, many at once, until the device is at rest. Returns the latencies.
fn work(ssd: &mut Ssd, seed: u64) -> Vec<u64> {
    let user = u64::from(ssd.core.ftl.geo.user_pages);
    let handles = ssd.core.ftl.handles().map_or(1, |(handles, _)| u64::from(handles));
    let (mut rng, mut latencies, mut done) = (Stream::new(seed, "work"), Vec::new(), Vec::new());
    for _ in 0..8 {
        let at = ssd.now();
        for _ in 0..user / 2 {
            let op = if rng.chance(0.2) { Op::Read } else { Op::Write };
            let span = if rng.chance(0.7) { user / 8 } else { user };
            let stream = rng.below(handles) as u8;
            let request = Request { stream, ..whole(op, rng.below(span) as u32, 1) };
            ssd.submit(at, &request, None).expect("a request within the device");
        }
        while ssd.outstanding() > 0 {
            ssd.run_until(Nanos::NEVER, &mut done).expect("all complete");
        }
        latencies.extend(done.drain(..).map(|c| (c.at - c.arrival).0));
    }
    ssd.run_until(Nanos(u64::MAX - 1), &mut done).expect("collection comes to rest");
    latencies
}

fn restorable(spec: &PolicySpec, parity: bool) -> Config {
    let mut c = if parity { paper([2, 2, 1], 4, 1) } else { device([2, 1, 2], 24, 8, 1) };
    (c.device.blocks_per_plane, c.device.pages_per_block) = (if parity { 36 } else { 24 }, 8);
    (c.run.data, c.host.mode) = (DataMode::Digest, HostMode::Closed);
    c.alloc.pool = if parity { PoolScope::Plane } else { PoolScope::Channel };
    c.gc.trigger = vec![free_blocks(2)];
    separated(c, spec)
}

#[test]
fn a_restored_device_separates_like_the_device_itself() {
    for spec in policies() {
        for parity in [false, true] {
            let c = restorable(&spec, parity);
            let mut first = Ssd::new(&c, Ftl::new(&c), 0);
            work(&mut first, 1);
            let snapshot = first.snapshot().expect("the device is at rest");
            let mut second = Ssd::restore(&c, &snapshot).expect("the same configuration");
            second.audit().expect("the restored device is sound");
            assert_eq!(second.snapshot().unwrap().digest(), snapshot.digest(), "{spec:?}");
            let (calls, erases) = (first.measured().gc.calls, first.erases());
            assert_eq!(work(&mut first, 2), work(&mut second, 2), "{spec:?}, parity {parity}");
            let collected = second.measured().gc.calls;
            assert_eq!(first.measured().gc.calls - calls, collected, "{spec:?}");
            assert!(collected > 100, "{spec:?}: {collected} victims");
            let gained: Vec<u32> = first.erases().iter().zip(&erases).map(|(n, b)| n - b).collect();
            assert_eq!(gained, second.erases(), "{spec:?}");
            assert_eq!(first.snapshot().unwrap().digest(), second.snapshot().unwrap().digest());
        }
    }
}

/// A policy that is not in the configuration.
struct External;

impl SeparationPolicy for External {
    fn classes(&self) -> Classes {
        Classes { host: 0, all: 2 }
    }

    fn of_write(&mut self, page: &PageWrite) -> u32 {
        page.lpn.0 % 2
    }

    fn of_copy(&mut self, page: &PageCopy) -> u32 {
        page.lpn.0 % 2
    }
}

impl PolicyFactory for External {
    fn separation(&self, _: &Ground) -> Option<Box<dyn SeparationPolicy>> {
        Some(Box::new(External))
    }
}

#[test]
fn a_snapshot_is_for_its_policy_alone() {
    let dac = named(ALL, "dac");
    let c = restorable(&dac, false);
    let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
    work(&mut ssd, 1);
    let snapshot = ssd.snapshot().unwrap();
    for other in [named(ALL, "none"), named(ALL, "fadac"), dac.with("classes", Value::Int(3))] {
        let mut c = c.clone();
        c.alloc.separation = other;
        let why = Ssd::restore(&c, &snapshot).err().expect("it has other classes");
        assert!(why.contains("alloc.separation is"), "{why}");
    }
    // An external policy is not in the configuration.
    let mut plain = c.clone();
    plain.alloc.separation = named(ALL, "none");
    let plugs = Plugs::new(Arc::new(External));
    let mut device = Functional::with_plugs(&plain, &plugs);
    (0..plain.device.user_pages).for_each(|lpn| device.write(Lpn(lpn), 0).unwrap());
    let snapshot = device.ftl.snapshot(device.sequence()).unwrap();
    let why = Ssd::restore(&plain, &snapshot).err().expect("blocks have classes");
    assert!(why.contains("alloc.separation is external in the snapshot and none here"), "{why}");
    let again = Functional::restore(&plain, &snapshot, &plugs).expect("the same policy");
    again.ftl.audit().unwrap();
    let without = Functional::new(&plain, Ftl::new(&plain));
    let empty = without.ftl.snapshot(0).unwrap();
    let why = Functional::restore(&plain, &empty, &plugs).err().expect("blocks have no classes");
    assert!(why.contains("alloc.separation is none in the snapshot and external here"), "{why}");
}

/// Two planes of blocks of 8 pages, and a window of two copies.
fn cuttable(spec: &PolicySpec) -> Config {
    let mut c = device([1, 2, 1], 20, 8, 1);
    c.run.data = DataMode::Digest;
    c.power.cut = PowerCut::OnRequest;
    (c.gc.window, c.alloc.pool) = (2, PoolScope::Plane);
    separated(c, spec)
}

#[test]
fn cuts_lose_no_page_of_any_class() {
    for (number, spec) in policies().iter().enumerate() {
        let c = cuttable(spec);
        let filled = c.device.user_pages;
        for at in (0..900).step_by(13) {
            let load = Load { seed: number as u64, ..Load::MIXED };
            let mut run = Cuts::new(&c, load, filled);
            run.run(at);
            for later in [0, 7, 31, 120] {
                run.cut_after(later, &(&spec.policy, at, later));
            }
            run.read_back();
        }
    }
}

#[test]
fn a_mount_that_is_cut_off_finds_the_blocks_of_all_classes() {
    for name in ["dac", "sepbit", "midas"] {
        let c = cuttable(&named(ALL, name));
        for at in (0..600).step_by(29) {
            for steps in 0.. {
                let mut run = Cuts::new(&c, Load::MIXED, c.device.user_pages);
                run.run(at);
                run.cut();
                let again = run.ssd.mount_in_part(steps).expect("it can be recovered");
                run.mount_and_judge(&(name, at, steps));
                run.cut_after(40, &(name, at, steps, "later"));
                if !again {
                    break;
                }
            }
        }
    }
}

#[test]
fn a_mount_finds_the_classes_of_blocks_and_nothing_else() {
    let mut c = cuttable(&named(ALL, "sepbit"));
    c.gc.trigger = vec![free_blocks(2)];
    let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
    ssd.audit_every(31);
    work(&mut ssd, 3);
    let (clock, origins) = (ssd.core.ftl.clock, ssd.core.ftl.blocks.origins.clone());
    let before = ssd.core.ftl.blocks.clone();
    ssd.power_cut().unwrap();
    ssd.mount(false).unwrap();
    assert_eq!(ssd.core.ftl.clock, clock);
    let held = |b: &usize| before.valid[*b] > 0;
    let known: Vec<usize> = (0..origins.len()).filter(held).collect();
    assert!(known.len() > 10, "{known:?}");
    known.iter().for_each(|&b| assert_eq!(ssd.core.ftl.blocks.origins[b], origins[b], "block {b}"));
    // When pages were written is unknown: every write is of a page that was not seen.
    for lpn in 0..8 {
        assert_eq!(ssd.core.ftl.class_of_write(Lpn(lpn), 0, 1), 1, "the history has survived");
    }
    assert_eq!(ssd.core.ftl.class_of_write(Lpn(7), 0, 1), 0, "it begins anew");
    work(&mut ssd, 4);
    ssd.audit().unwrap();
}

/// What does not live in the memory of a controller is known after a cut: handles of pages, including those that static
/// wear levelling has mixed. And units of a handle hold no data of another one.
#[test]
fn a_mount_finds_the_handles_of_pages() {
    for threshold in [0, 1] {
        let isolated = named(ALL, "fdp").with("isolation", Value::Word("persistently".to_string()));
        let planes = if threshold == 0 { 1 } else { 2 };
        let user = planes * 48 * 16 * if threshold == 0 { 75 } else { 60 } / 100;
        let mut c = device([1, 1, planes], 48, 16, user);
        (c.alloc.separation, c.alloc.pool) =
            (isolated.with("handles", Value::Int(3)), PoolScope::Chip);
        (c.power.cut, c.run.data) = (PowerCut::OnRequest, DataMode::Digest);
        (c.gc.trigger, c.wear.static_threshold) = (vec![free_blocks(2)], threshold);
        if threshold == 0 {
            // The host reaches the block that it has to leave.
            (c.gc.trigger, c.gc.reserve) = (vec![free_blocks(0)], 1);
        }
        let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
        ssd.audit_every(101);
        let (mut rng, mut done) = (Stream::new(5, "handles"), Vec::new());
        // Each third of the pages belongs to one handle, and one of them is written most.
        let handle_of = |lpn: u32| (lpn * 3 / user).min(2);
        for round in 0..40 * user / 64 {
            for _ in 0..64 {
                let third = [0, 0, 0, 1, 2][rng.below(5) as usize] * user / 3;
                let lpn = third + rng.below(u64::from(user / 3)) as u32;
                let stream = handle_of(lpn) as u8;
                let request = Request { stream, ..whole(Op::Write, lpn, 1) };
                ssd.submit(ssd.now(), &request, None).expect("a valid request");
            }
            while ssd.outstanding() > 0 {
                let next = ssd.next_event().expect("requests are under way");
                ssd.run_until(next, &mut done).expect("all complete");
                // The host leaves an erased block in addition to the one for recovery.
                let space = &ssd.core.ftl.space;
                let (pool, plane) = (PoolId(0), PlaneId(0));
                let left = space.free_blocks(pool) - space.spares(pool);
                let opens = |&handle: &u32| !space.has_open(plane, handle);
                let may = |handle: u32| space.host_may_bind(plane, handle);
                assert!(left > 1 || !(0..3).filter(opens).any(may), "{left} blocks are left");
            }
            if round % 50 == 20 {
                ssd.power_cut().unwrap();
                ssd.mount(false).unwrap();
            }
            if round % 25 > 0 {
                continue;
            }
            for block in (0..ssd.core.ftl.blocks.len() as u32).map(BlockId) {
                let class = ssd.core.ftl.blocks.origin(block).class;
                let first = ssd.core.ftl.geo.first_page(block).0;
                let pages = (first..first + 16).map(ssd_core::units::Ppn);
                for page in pages.filter(|&p| class < 6 && ssd.core.ftl.owners.is_valid(p)) {
                    let handle = handle_of(ssd.core.ftl.flash.lpn(page).0);
                    assert_eq!(class % 3, handle, "{page:?} in a block of class {class}");
                }
            }
        }
        let m = ssd.measured();
        assert_eq!(ssd.core.ftl.diverted_copies(), 0, "threshold {threshold}");
        assert!(m.gc.calls > 100 && (m.wear.calls > 20) == (threshold > 0), "{:?}", m.wear);
        // Pages that cuts have closed were not written.
        let handles = ssd.core.ftl.reclaimed().expect("there are handles").handles;
        let written: u64 = handles.iter().map(|of| of.host_pages).sum();
        assert_eq!(written, m.flash.programs[Cause::Host.at()]);
    }
}

/// Long runs with random cuts, with every policy and different victim policies, some on superblocks.
fn stormy(number: u64, requests: u64) {
    let all = policies();
    let spec = &all[number as usize % all.len()];
    let mut c = device([1, 2, 1], 26, 8, 1);
    (c.run.data, c.power.cut) = (DataMode::Bytes, PowerCut::Random(20_000));
    c.alloc.pool = [PoolScope::Device, PoolScope::Plane][number as usize % 2];
    if number % 6 == 4 {
        c.alloc.erase_unit = EraseUnit::Superblock;
        c.alloc.placement = named(ssd_core::ftl::place::ALL, "round-robin");
    }
    (c.gc.window, c.wear.static_threshold) = (1 + number as u32 % 3, (number as u32 / 3 % 2) * 3);
    c.gc.victim = victim(VICTIMS[number as usize % VICTIMS.len()].name);
    c.power.checkpoint_bytes = [0, 40 * 2048][number as usize / 2 % 2];
    let c = separated(c, spec);
    let mix = Mix { seed: number, depth: 16, copy: 0, pages: 4, span: 120, ..Mix::ALL };
    let mut run = Run::new(&c, mix);
    run.run(requests);
    let m = run.end().measured().clone();
    let what = format!("{number}: {spec:?}, {:?}", m.power);
    assert!(m.power.cuts > requests / 500 && m.gc.calls > requests / 50, "{what}");
}

#[test]
fn storms_with_random_cuts_lose_nothing() {
    (0..14).for_each(|number| stormy(number, 1200));
}

#[test]
#[ignore = "long"]
fn storms_with_random_cuts_lose_nothing_at_length() {
    (0..56).for_each(|number| stormy(number, 20_000));
}

proptest! {
    #![proptest_config(cases(120, 31))]
    #[test]
    fn cuts_beside_any_other_answer_lose_nothing(RandomConfig(c) in separated_and_cut(), seed in any::<u64>()) {
        let span = u64::from(c.device.user_pages.min(60));
        let mut run = Run::new(&c, Mix { seed, depth: 8, copy: 0, span, ..Mix::ALL });
        run.run(300);
        run.end();
    }
}

/// Groups of four chips whose pages are separated; in some, writes are redirected.
fn grouped(spec: &PolicySpec, redirects: bool) -> Config {
    let mut c = if redirects { deferred(2, 4, 2) } else { paper([2, 2, 1], 4, 1) };
    (c.device.blocks_per_plane, c.device.pages_per_block) = (36, 8);
    c.run.data = DataMode::Digest;
    separated(c, spec)
}

#[test]
fn groups_of_separated_pages_are_whole() {
    let mut redirected = 0;
    for (number, spec) in (0..).zip(policies()) {
        for redirects in [false, true] {
            let c = grouped(&spec, redirects);
            let weather = Weather {
                requests: 1500,
                depth: 24,
                seed: number,
                audit: 5,
                mix: [20, 8, 2],
                pause: 0,
            };
            let mut storm = Storm::new(&c, weather);
            storm.run().unwrap_or_else(|e| panic!("{spec:?}, redirects: {redirects}: {e}"));
            let m = storm.ssd.measured();
            assert!(m.gc.calls > 50, "{spec:?}: {} victims", m.gc.calls);
            redirected += m.raid.redirected;
        }
    }
    assert!(redirected > 100, "{redirected} pages");
}

#[test]
fn a_lost_chip_is_rebuilt_into_classes_that_take_copies() {
    for spec in policies() {
        let mut c = grouped(&spec, false);
        c.raid.fail = vec![ChipFailure { chip: 1, at_ns: 40_000_000 }];
        (c.raid.spares, c.raid.rebuild_window) = (1, 4);
        let weather =
            Weather { requests: 1200, depth: 16, seed: 9, audit: 5, mix: [20, 8, 2], pause: 0 };
        let mut storm = Storm::new(&c, weather);
        storm.run().unwrap_or_else(|e| panic!("{spec:?}: {e}"));
        let rebuilt = storm.ssd.measured().degraded.as_ref().map_or(0, |d| d.rebuilt);
        assert!(rebuilt > 50, "{spec:?}: {rebuilt} pages");
        storm.ssd.audit().unwrap_or_else(|e| panic!("{spec:?}: {e}"));
    }
}

/// Blocks are levelled while many pages of groups are held in the room of collection.
#[test]
fn wear_is_levelled_beside_the_room_that_is_held() {
    let mut levelled = 0;
    for seed in 0..12 {
        let mut c = paper([2, 2, 1], 4, 1);
        (c.device.blocks_per_plane, c.device.pages_per_block) = (40, 4);
        (c.run.data, c.wear.static_threshold, c.run.seed) = (DataMode::Digest, 1, seed);
        c.gc.trigger = vec![free_blocks(1)];
        let c = separated(c, &named(ALL, "dac").with("classes", Value::Int(2)));
        let weather =
            Weather { requests: 1500, depth: 64, seed, audit: 5, mix: [5, 3, 1], pause: 0 };
        let mut storm = Storm::new(&c, weather);
        storm.run().unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        levelled += storm.ssd.measured().wear.calls;
    }
    assert!(levelled > 100, "{levelled} blocks");
}

/// Chips fail while pages of others are rebuilt, for which room is held.
#[test]
fn chips_fail_while_others_are_rebuilt() {
    let mut rebuilt = 0;
    for (number, spec) in (0..).zip(policies()) {
        let mut c = paper([4, 2, 1], 4, 1);
        (c.device.blocks_per_plane, c.device.pages_per_block) = (36, 8);
        c.run.data = DataMode::Digest;
        // The same chip again, and one of the other group.
        let fails = [(1, 30_000_000), (1, 60_000_000 + 700_000 * number), (5, 61_000_000)];
        c.raid.fail = fails.map(|(chip, at_ns)| ChipFailure { chip, at_ns }).to_vec();
        (c.raid.spares, c.raid.rebuild_window) = (3, 8);
        let c = separated(c, &spec);
        let weather = Weather {
            requests: 1500,
            depth: 16,
            seed: number,
            audit: 5,
            mix: [20, 8, 2],
            pause: 0,
        };
        let mut storm = Storm::new(&c, weather);
        match storm.run() {
            Ok(()) | Err(DeviceError::DataLost { .. }) => {}
            Err(error) => panic!("{spec:?}: {error}"),
        }
        rebuilt += storm.ssd.measured().degraded.as_ref().map_or(0, |d| d.rebuilt);
    }
    assert!(rebuilt > 500, "{rebuilt} pages");
}

/// Updates of groups one after the other: pages of data and parity are in the same classes with and without time.
///
/// An update may let two pools collect. Most policies do not see in which order they do. Some do, because the whole
/// device has one counter of victims, estimate or stream of random numbers: for these only one pool collects at a time,
/// and above the reserve, where the rule does not bind.
#[test]
fn groups_without_time_equal_those_with_time() {
    let ordered = ["host-and-copies", "midas", "multilog", "sepbit", "sfs"];
    for spec in policies() {
        let mut c = grouped(&spec, false);
        (c.gc.trigger, c.run.data) = (vec![free_blocks(2)], DataMode::None);
        if ordered.contains(&spec.policy.as_str()) {
            (c.gc.trigger, c.gc.amount) = (vec![free_blocks(4)], Amount::One);
            c.gc.concurrency = named(concurrency::ALL, "fixed").with("k", Value::Int(1));
        }
        let user = u64::from(c.device.user_pages);
        let (mut functional, mut ssd) =
            (Functional::new(&c, Ftl::new(&c)), Ssd::new(&c, Ftl::new(&c), 0));
        let mut rng = Stream::new(8, "groups");
        for step in 0..user * 8 {
            let span = if rng.chance(0.7) { user / 8 } else { user };
            let lpn = if step < user { step } else { rng.below(span) };
            functional.write_run(Lpn(lpn as u32), 1, 0).unwrap();
            ssd.run_until(Nanos(ssd.now().0 + 1_000_000_000), &mut Vec::new()).unwrap();
            alone(&mut ssd, whole(Op::Write, lpn as u32, 1));
        }
        ssd.run_until(Nanos(ssd.now().0 + 1_000_000_000), &mut Vec::new()).unwrap();
        assert_eq!(functional.ftl.blocks.erases, ssd.core.ftl.blocks.erases, "{spec:?}");
        assert_eq!(functional.ftl.blocks.origins, ssd.core.ftl.blocks.origins, "{spec:?}");
        assert_eq!(functional.ftl.blocks.valid, ssd.core.ftl.blocks.valid, "{spec:?}");
        let free = |ftl: &Ftl| (0..4).map(|p| ftl.space.free_blocks(PoolId(p))).collect::<Vec<_>>();
        assert_eq!(free(&functional.ftl), free(&ssd.core.ftl), "{spec:?}");
        assert!(functional.tally.victims > 200, "{spec:?}: {} victims", functional.tally.victims);
    }
}

#[test]
fn a_policy_does_not_start_in_the_mean_field() {
    let mut c = device([1, 1, 1], 64, 8, 400);
    c.alloc.separation = named(ALL, "dac");
    (c.precondition.fill, c.precondition.steady_state) = (1.0, SteadyStart::MeanField);
    let why = is_valid(&c).expect_err("the mean field has no classes");
    assert!(why.contains("precondition.overwrite") && why.contains("mean field"), "{why}");
}
