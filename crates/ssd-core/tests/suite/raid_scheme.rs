//! Collection on demand, redirected writes and deferred GC (Liang et al., 2018): when each acts, that nothing but time
//! depends on them, and any combination with other policies under the audit.

use crate::cases::cases;
use crate::rig::parity::{baseline, deferred, on_demand, paper};
use crate::rig::storm::{Storm, Weather};
use crate::rig::{self, any_config::is_valid};
use crate::rig::{closed, device, filled, finish, named, whole};
use proptest::prelude::*;
use ssd_core::config::{
    Blocking, BlockingScope, BusyUnit, Config, DataMode, EraseUnit, Frontiers, GcPath, Granularity,
    ParityUpdate, TimingModel, Word,
};
use ssd_core::ftl::blocks::BlockState;
use ssd_core::ftl::gc::{concurrency, victim};
use ssd_core::ftl::raid::redirect;
use ssd_core::host::device::Device;
use ssd_core::host::request::Op;
use ssd_core::metrics::counters::Cause;
use ssd_core::plug::{PolicySpec, Value};
use ssd_core::rng::Stream;
use ssd_core::sched::order;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos, PlaneId, PoolId};
use std::collections::BTreeMap;

/// Let `ns` pass.
fn pass(ssd: &mut Ssd, ns: u64) {
    ssd.run_until(Nanos(ssd.now().0 + ns), &mut Vec::new()).unwrap();
}

/// Write single pages of group 0 until its chips are at the threshold of `soft` erased blocks.
fn wear_down(ssd: &mut Ssd, soft: u32, blocks: usize) {
    for i in 0.. {
        let at_threshold =
            (0..blocks as u32).any(|p| ssd.core.ftl.space.free_blocks(PoolId(p)) <= soft);
        if at_threshold {
            return;
        }
        rig::alone(ssd, whole(Op::Write, i % 3, 1));
    }
}

#[test]
fn a_chip_at_its_threshold_is_collected_when_a_request_waits_or_when_idle() {
    for (by, idle) in [("any", false), ("write", false), ("any", true)] {
        let mut c = baseline(2, 4, 4);
        c.gc.trigger = vec![on_demand(4, by, idle)];
        let mut ssd = filled(&c);
        wear_down(&mut ssd, 4, 4);
        assert_eq!(ssd.measured().gc.calls, 0, "no request has waited yet");
        pass(&mut ssd, 100_000_000);
        let calls = ssd.measured().gc.calls;
        assert_eq!(calls > 0, idle, "{calls} calls while idle");
        assert_eq!(ssd.measured().raid.deferred_gcs, calls);
        if idle {
            continue;
        }
        // A read of every chip: only `any` collects for it.
        for lpn in 0..12 {
            rig::alone(&mut ssd, whole(Op::Read, lpn, 1));
        }
        assert_eq!(ssd.measured().gc.calls > 0, by == "any");
        let before = ssd.measured().gc.calls;
        // A group of four chips, one of which is at its threshold in any case.
        let took = rig::alone(&mut ssd, whole(Op::Write, 0, 3));
        if by == "write" {
            assert!(ssd.measured().gc.calls > before, "collected in the path of the write");
            assert!(took >= 200_000 + 1_500_000, "{took}");
        }
        assert_eq!(ssd.measured().gc.background, 0);
        assert_eq!(ssd.measured().raid.deferred_gcs, 0);
    }
}

#[test]
fn a_write_that_would_make_its_chip_collect_goes_to_another_group() {
    // The same writes on both devices: the chip of the page that is written all the time runs out of room.
    let run = |c: &Config| {
        let mut ssd = filled(c);
        // Until the chip of page 0 may start exactly one more program before its trigger holds.
        let left = |ssd: &Ssd| {
            let free = u64::from(ssd.core.ftl.space.free_blocks(PoolId(0)));
            (free - 4 - 1) * 16
                + u64::from(ssd.core.ftl.space.least_open(ssd_core::units::PlaneId(0)))
                + 1
        };
        while left(&ssd) > 1 {
            rig::alone(&mut ssd, whole(Op::Write, 0, 1));
        }
        let start = ssd.now().0;
        // Two pages of chip 0, in two groups, at once: one of them has no room before the trigger holds.
        ssd.submit(ssd.now(), &whole(Op::Write, 0, 1), None).unwrap();
        ssd.submit(ssd.now(), &whole(Op::Write, 6, 1), None).unwrap();
        let done = finish(&mut ssd).unwrap();
        let times: Vec<u64> = done.iter().map(|c| c.at.0 - start).collect();
        (times, ssd)
    };
    let (base, ssd) = run(&baseline(2, 4, 4));
    // Both read at once; the second program waits for the first and for the collection that it causes.
    let gc = ssd.measured().gc.pages.moved * 225_000 + 1_500_000;
    assert_eq!(ssd.measured().gc.calls, 1);
    assert_eq!(base[0], 50_000 + 200_000);
    assert_eq!(base[1], 50_000 + 200_000 + gc + 200_000);
    let (times, mut ssd) = run(&deferred(2, 4, 4));
    assert_eq!(times, [50_000 + 200_000; 2], "on another chip at the same time");
    let m = ssd.measured();
    assert_eq!((m.raid.redirected, m.gc.foreground), (1, 0));
    // Which of the two went to the other parity group: the older one.
    let away = ssd.page_on_flash(Lpn(0)).expect("written");
    let home = ssd.page_on_flash(Lpn(6)).expect("written");
    let chip = |page| ssd.core.ftl.geo.chip_of(ssd.core.ftl.geo.plane_of(page));
    assert!(chip(away) >= 4, "page 0 is on chip {}", chip(away));
    assert_eq!(chip(home), 0);
    // The chip has reached its threshold: it is collected in idle time.
    pass(&mut ssd, 50_000_000);
    assert!(ssd.measured().raid.deferred_gcs >= 1);
    // Once overwritten, the page is at home again.
    rig::alone(&mut ssd, whole(Op::Write, 0, 1));
    let page = ssd.page_on_flash(Lpn(0)).expect("written");
    assert_eq!(ssd.core.ftl.geo.chip_of(ssd.core.ftl.geo.plane_of(page)), 0);
    ssd.audit().unwrap();
}

/// Bursts of random writes with pauses, the same for every device.
fn bursts(c: &Config, seed: u64, count: u64) -> Ssd {
    let mut ssd = filled(c);
    ssd.audit_every(40);
    let mut rng = Stream::new(seed, "bursts");
    let user = u64::from(c.device.user_pages);
    for _ in 0..count {
        let burst = 1 + rng.below(30);
        let requests = (0..burst).map(|_| {
            let pages = 1 + rng.below(5) as u32;
            let op = if rng.chance(0.3) { Op::Read } else { Op::Write };
            whole(op, rng.below(user - u64::from(pages)) as u32, pages)
        });
        closed(&mut ssd, 64, requests.collect::<Vec<_>>()).unwrap();
        pass(&mut ssd, rng.below(8) * 1_000_000);
    }
    ssd
}

#[test]
fn redirection_and_deferred_gc_change_when_pages_are_written_and_not_how_many() {
    let (base, with) = (bursts(&baseline(4, 4, 5), 3, 400), bursts(&deferred(4, 4, 5), 3, 400));
    let programs = |ssd: &Ssd| {
        let programs = ssd.measured().flash.programs;
        (programs[Cause::Host.at()], programs[Cause::Parity.at()])
    };
    assert_eq!(programs(&base), programs(&with), "the host's pages and their parity");
    let (m, n) = (base.measured(), with.measured());
    assert!(n.raid.redirected > 100, "{} redirected", n.raid.redirected);
    assert!(n.raid.deferred_gcs > 100 && m.raid.deferred_gcs == 0);
    let mean = |ssd: &Ssd| {
        let histogram = &ssd.measured().latencies.of(Op::Write).histogram;
        histogram.sum() as f64 / histogram.count() as f64
    };
    assert!(mean(&with) < 0.9 * mean(&base), "{} and {}", mean(&with), mean(&base));
}

#[test]
fn a_threshold_out_of_reach_changes_nothing() {
    let run = |mut c: Config| {
        c.device.user_pages = 200 * c.data_pages_per_stripe() as u32;
        bursts(&c, 5, 40)
    };
    let (base, with) = (run(baseline(4, 4, 4)), run(deferred(4, 4, 4)));
    assert_eq!(base.measured().gc.calls, 0);
    assert_eq!(base.event_digest(), with.event_digest());
}

#[test]
fn redirected_data_never_fill_a_chip() {
    for foreign in [0.0, 0.01, 0.05] {
        let mut c = deferred(2, 2, 6);
        c.raid.redirect = c.raid.redirect.with("foreign", Value::Real(foreign));
        let ssd = bursts(&c, 11, 500);
        let (geo, groups) = (&ssd.core.ftl.geo, ssd.core.ftl.groups.as_deref().expect("parity"));
        let mut away = vec![0u32; geo.planes as usize];
        for lpn in (0..geo.logical_pages).map(Lpn) {
            if let Some(page) = ssd.core.ftl.owners.committed(lpn) {
                let plane = geo.plane_of(page);
                away[plane.at()] += u32::from(plane != groups.home(lpn));
            }
        }
        let most = (foreign * 640.0) as u32;
        assert!(away.iter().all(|&n| n <= most), "at most {most}: {away:?}");
        assert_eq!(ssd.measured().raid.redirected > 0, foreign > 0.0);
    }
}

fn word<W: Word + std::fmt::Debug>() -> impl Strategy<Value = W> + Clone {
    let all: Vec<W> = W::WORDS.iter().filter_map(|(w, _)| W::from_word(w)).collect();
    proptest::sample::select(all)
}

fn any_of(
    names: &'static [&'static ssd_core::plug::PolicyInfo],
) -> impl Strategy<Value = PolicySpec> {
    proptest::sample::select(names.to_vec()).prop_map(PolicySpec::with_defaults)
}

/// Any combination that the config layer accepts, on a small device.
fn any_scheme() -> impl Strategy<Value = Config> {
    let shape = proptest::sample::select(vec![
        ([4, 2, 1], 4),
        ([4, 1, 1], 2),
        ([3, 2, 1], 3),
        ([2, 2, 2], 2),
    ]);
    let gc =
        (any_of(victim::ALL), any_of(concurrency::ALL), word::<BlockingScope>(), 1u32..4, 0u64..4);
    let rest =
        (word::<BusyUnit>(), word::<TimingModel>(), any_of(order::ALL), word::<ParityUpdate>());
    let path = proptest::sample::select(vec![GcPath::Controller, GcPath::Copyback]);
    let raid = (any::<bool>(), any::<[bool; 3]>(), 0u32..9, path, 0u32..3);
    (shape, gc, rest, raid, any::<u64>()).prop_map(|((shape, group), gc, rest, raid, seed)| {
        let mut c = device(shape, 16, 8, 1);
        c.raid.group = group;
        let chips = shape[0] * shape[1];
        c.device.user_pages = 16 * 8 * shape[2] * 7 / 10 * c.data_pages_per_stripe() as u32;
        assert!(chips % group == 0);
        (c.gc.victim, c.gc.concurrency, c.gc.window) = (gc.0, gc.1, gc.3);
        c.gc.blocking.scope = gc.2;
        (c.timing.busy_unit, c.timing.model, c.sched.order, c.raid.update) = rest;
        let (redirects, [any, idle, job], kept, path, wear) = raid;
        c.gc.trigger = vec![on_demand(gc.4, if any { "any" } else { "write" }, idle)];
        c.gc.blocking.granularity = if job { Granularity::Job } else { Granularity::Step };
        (c.raid.read_buffer_pages, c.gc.path) = (kept, path);
        c.wear.static_threshold = 2 * wear;
        c.run.data = if seed % 2 == 0 { DataMode::Digest } else { DataMode::Bytes };
        c.run.seed = seed >> 32;
        if redirects && shape[2] == 1 && c.timing.busy_unit != BusyUnit::Channel {
            c.raid.redirect =
                named(redirect::ALL, "deferred-gc").with("foreign", Value::Real(0.04));
        }
        c
    })
}

proptest! {
    #![proptest_config(cases(60, 61))]
    #[test]
    fn any_combination_answers_right_and_keeps_every_group_whole(c in any_scheme()) {
        let accepted = rig::any_config::is_valid(&c);
        prop_assume!(accepted.is_ok());
        let weather = Weather {
            requests: 700,
            depth: 1 + (c.run.seed % 40) as usize,
            seed: c.run.seed,
            audit: 11,
            mix: [20, 10, 2],
            pause: 4_000,
        };
        let mut storm = Storm::new(&c, weather);
        storm.run().unwrap_or_else(|e| panic!("{e}"));
        let m = storm.ssd.measured();
        prop_assert!(m.gc.calls > 0);
        prop_assert!(m.raid.redirected == 0 || c.raid.redirect.policy != "none");
    }
}

/// Whether each chip, which is a pool of its own, collects.
fn collecting(ssd: &Ssd) -> Vec<bool> {
    let groups = ssd.core.ftl.groups.as_deref().expect("a device with parity");
    let busy = |pool: PoolId| {
        let states = ssd.core.ftl.blocks.of_pool(pool).map(|b| ssd.core.ftl.blocks.state[b.at()]);
        states.into_iter().any(|s| matches!(s, BlockState::Collecting | BlockState::Erasing))
    };
    let mut chips = vec![false; ssd.core.ftl.geo.pools as usize];
    for plane in (0..ssd.core.ftl.geo.planes).map(PlaneId) {
        chips[groups.chip_of(plane) as usize] = busy(ssd.core.ftl.geo.pool_of(plane));
    }
    chips
}

/// The largest number of chips in a parity group of `chips` that collect at once.
fn most_collecting(ssd: &Ssd, chips: usize) -> usize {
    let groups = collecting(ssd);
    let count = |group: &[bool]| group.iter().filter(|&&collects| collects).count();
    groups.chunks(chips).map(count).max().unwrap_or(0)
}

#[test]
fn chips_of_a_group_take_turns_at_the_reserve_too() {
    for (rule, k) in [("rotating", 1), ("rotating", 2), ("unlimited", 0)] {
        let mut c = baseline(2, 4, 4);
        (c.device.blocks_per_plane, c.device.pages_per_block) = (20, 8);
        c.device.user_pages = 130 * c.data_pages_per_stripe() as u32;
        c.gc.blocking = Blocking { scope: BlockingScope::None, ..c.gc.blocking };
        c.gc.trigger = vec![rig::free_blocks(4)];
        let spec = named(concurrency::ALL, rule);
        c.gc.concurrency = if k > 0 { spec.with("k", Value::Int(k)) } else { spec };
        let mut ssd = filled(&c);
        ssd.audit_every(31);
        let mut rng = Stream::new(3, "turns");
        let user = u64::from(c.device.user_pages);
        let (mut done, mut most, mut left) = (Vec::new(), 0, 3_000);
        while left + ssd.outstanding() > 0 {
            while left > 0 && ssd.outstanding() < 24 {
                left -= 1;
                let write = whole(Op::Write, rng.below(user) as u32, 1);
                ssd.submit(ssd.now(), &write, None).unwrap();
            }
            let next = ssd.next_event().expect("requests are under way");
            ssd.run_until(next, &mut done).unwrap();
            most = most.max(most_collecting(&ssd, 4));
        }
        assert_eq!(done.len(), 3_000, "{rule} {k}");
        assert!(if k > 0 { most == k as usize } else { most > 2 }, "{rule} {k}: {most} collect");
        let gc = ssd.measured().gc;
        assert!(gc.foreground > 50 && gc.calls > 500, "{rule} {k}: {gc:?}");
        assert!(k == 0 || gc.deferred > 50, "{rule} {k}: nobody has waited");
    }
}

/// With `idle` no chip begins in front of a read that waits there, and none while another chip of its group has not
/// answered the reads that came while it collected.
#[test]
fn turns_of_idle_chips_begin_and_end_without_reads() {
    let mut c = baseline(2, 4, 4);
    (c.device.blocks_per_plane, c.device.pages_per_block) = (20, 8);
    c.device.user_pages = 130 * c.data_pages_per_stripe() as u32;
    c.gc.trigger = vec![rig::free_blocks(4)];
    for idle in [true, false] {
        let spec = named(concurrency::ALL, "rotating").with("k", Value::Int(1));
        c.gc.concurrency = spec.with("idle", Value::Bool(idle));
        let mut ssd = filled(&c);
        ssd.audit_every(31);
        let mut rng = Stream::new(3, "idle turns");
        let user = u64::from(c.device.user_pages);
        let (mut reads, mut written) = (BTreeMap::new(), BTreeMap::new());
        let (mut before, mut drains) = (collecting(&ssd), [false; 8]);
        let (mut turns, mut drained, mut broken) = (0, 0, 0);
        for _ in 0..30_000 {
            while ssd.outstanding() < 12 {
                let lpn = rng.below(user) as u32;
                let op = if rng.below(3) == 0 { Op::Write } else { Op::Read };
                let chip = ssd.page_on_flash(Lpn(lpn)).map(|page| {
                    let groups = ssd.core.ftl.groups.as_deref().expect("a device with parity");
                    groups.chip_of(ssd.core.ftl.geo.plane_of(page)) as usize
                });
                let id = ssd.submit(ssd.now(), &whole(op, lpn, 1), None).unwrap();
                if op == Op::Write {
                    written.insert(id, lpn);
                } else if !written.values().any(|&under_way| under_way == lpn) {
                    // The others are answered by the controller.
                    reads.insert(id, chip.expect("the device is full"));
                }
            }
            let mut done = Vec::new();
            let next = ssd.next_event().expect("requests are under way");
            ssd.run_until(next, &mut done).unwrap();
            for c in &done {
                reads.remove(&c.id);
                written.remove(&c.id);
            }
            let now = collecting(&ssd);
            let has_reads = |chip: usize| reads.values().any(|&other| other == chip);
            for chip in 0..8 {
                let begins = now[chip] && !before[chip];
                let of_group = (0..8).filter(|other| other / 4 == chip / 4 && *other != chip);
                let in_vain = has_reads(chip) || of_group.into_iter().any(|other| drains[other]);
                (turns, broken) =
                    (turns + u64::from(begins), broken + u64::from(begins && in_vain));
            }
            for (chip, drains) in drains.iter_mut().enumerate() {
                let ends = before[chip] && !now[chip];
                *drains = has_reads(chip) && (*drains || ends);
                drained += u64::from(*drains && ends);
            }
            before = now;
        }
        assert!(turns > 150 && drained > 100, "{turns} turns, after {drained} of which reads wait");
        assert_eq!(broken > 0, !idle, "{broken} of {turns} turns begin too early");
    }
}

#[test]
fn parity_on_superblocks_is_refused_in_one_message() {
    let mut c = paper([4, 1, 1], 4, 40);
    c.alloc.frontiers = Frontiers::HostGc;
    c.alloc.erase_unit = EraseUnit::Superblock;
    for placement in ["static", "round-robin"] {
        c.alloc.placement = named(ssd_core::ftl::place::ALL, placement);
        let why = is_valid(&c).expect_err("superblocks have no parity");
        assert!(
            why.contains("parity groups need ") && why.contains("alloc.erase_unit = \"block\"")
        );
        assert_eq!(why.trim_end().lines().count(), 1, "{why}");
        assert_eq!(why.contains("alloc.placement = \"static\""), placement == "round-robin");
        assert!(!why.contains("need alloc.placement = \"round-robin\""), "{why}");
    }
}

/// The error names how much may come from elsewhere so that it is accepted, or states that there is no room for it.
#[test]
fn the_largest_share_from_elsewhere_is_accepted_as_it_is_named() {
    let mut named_shares = 0;
    for (blocks, spare) in
        [(40, 4), (40, 5), (40, 9), (3000, 5), (3000, 6), (20_000, 5), (20_000, 7)]
    {
        let mut c = deferred(2, 4, 3);
        c.device.blocks_per_plane = blocks;
        c.device.user_pages = (blocks - spare) * 16 * c.data_pages_per_stripe() as u32;
        (c.gc.reserve, c.alloc.frontiers) = (2, Frontiers::HostGc);
        c.raid.redirect = c.raid.redirect.with("foreign", Value::Real(0.9));
        let why = is_valid(&c).expect_err("so much finds no room");
        assert!(why.contains(&format!("a chip has {spare} of {blocks} blocks to spare")), "{why}");
        let Some((_, share)) = why.split_once("foreign of at most ") else {
            assert!(spare <= 4 && why.contains("raise device.over_provisioning"), "{why}");
            continue;
        };
        let share: f64 = share.split_once(',').expect("a share").0.parse().expect("a number");
        assert!(spare > 4 && share > 0.0, "{why}");
        c.raid.redirect = c.raid.redirect.with("foreign", Value::Real(share));
        is_valid(&c).expect("the share that was named");
        named_shares += 1;
    }
    assert_eq!(named_shares, 6);
}
