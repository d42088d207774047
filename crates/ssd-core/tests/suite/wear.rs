//! Wear: a device lives as long as its endurance allows, static levelling keeps the erases of its blocks
//! together, bad blocks are never used, and both executors agree on all of it.

use crate::cases::cases;
use crate::rig::any_config::{RandomConfig, Spare, any_config};
use crate::rig::storm::{Storm, Weather};
use crate::rig::{alone, device, finish, free_blocks, named, whole};
use proptest::prelude::*;
use ssd_core::config::{Config, DataMode, EraseUnit, PoolScope, SteadyStart};
use ssd_core::ftl::Ftl;
use ssd_core::host::device::{Device, DeviceError};
use ssd_core::host::request::Op;
use ssd_core::rng::Stream;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos, PoolId};

/// 4 planes of 64 blocks of 16 pages, 80 % of them for the host.
fn base() -> Config {
    let mut c = device([2, 2, 1], 64, 16, 4 * 64 * 16 * 8 / 10);
    c.gc.trigger = vec![free_blocks(3)];
    c
}

fn fill(c: &Config) -> Functional {
    let mut f = Functional::new(c, Ftl::new(c));
    for lpn in 0..c.device.user_pages {
        f.write(Lpn(lpn), 0).expect("the user pages fit");
    }
    f
}

/// Uniform writes until the device ends.
fn wear_out(c: &Config) -> (Functional, DeviceError) {
    let mut f = Functional::new(c, Ftl::new(c));
    let mut rng = Stream::new(c.run.seed, "until the end");
    loop {
        let lpn = Lpn(rng.below(u64::from(c.device.user_pages)) as u32);
        if let Err(end) = f.write(lpn, 0) {
            f.ftl.audit().unwrap();
            return (f, end);
        }
    }
}

/// Write hot and cold pages: 95 % of the writes go to the first 5 % of the pages.
fn hot_and_cold(f: &mut Functional, user: u32, writes: u32) {
    let mut rng = Stream::new(9, "hot and cold");
    for _ in 0..writes {
        let most = if rng.chance(0.95) { user / 20 } else { user };
        f.write(Lpn(rng.below(u64::from(most)) as u32), 0).expect("the device has room");
    }
}

/// Erases of the most and of the least worn block, in each pool.
fn spreads(f: &Functional) -> Vec<u32> {
    let erases = |p: u32| f.ftl.blocks.of_pool(PoolId(p)).map(|b| f.ftl.blocks.erases[b.at()]);
    (0..f.ftl.geo.pools).map(|p| erases(p).max().unwrap() - erases(p).min().unwrap()).collect()
}

fn factory_bad(f: &Functional, pool: u32) -> usize {
    f.ftl.blocks.of_pool(PoolId(pool)).filter(|&b| f.ftl.blocks.is_bad(b)).count()
}

#[test]
fn static_levelling_keeps_erases_within_its_threshold() {
    let user = base().device.user_pages;
    let grown = {
        let mut f = fill(&base());
        hot_and_cold(&mut f, user, user * 20);
        let early = spreads(&f);
        hot_and_cold(&mut f, user, user * 20);
        let late = spreads(&f);
        assert!(early.iter().zip(&late).all(|(e, l)| l > e), "{early:?}, {late:?}");
        assert_eq!((f.tally.levelled, f.tally.wear_pages), (0, 0));
        *late.iter().min().unwrap()
    };
    for threshold in [2, 4, 16] {
        let mut c = base();
        c.wear.static_threshold = threshold;
        let mut f = fill(&c);
        for _ in 0..8 {
            hot_and_cold(&mut f, user, user * 5);
            // A block may get one erase beyond the threshold before its pool is levelled, and another
            // one while the pool is at its reserve or the youngest block is open.
            let worst = *spreads(&f).iter().max().unwrap();
            assert!(worst <= threshold + 2, "{threshold}: {:?}", spreads(&f));
            assert!(worst < grown / 2);
        }
        assert!(f.tally.levelled > 100 && f.tally.wear_pages >= f.tally.levelled);
        f.ftl.audit().unwrap();
    }
}

#[test]
fn uniform_writes_live_as_long_as_endurance_allows() {
    for (endurance, bad) in [(60, 0.0), (120, 0.0), (60, 0.03)] {
        let mut c = base();
        (c.wear.endurance, c.wear.static_threshold) = (endurance, 4);
        c.wear.factory_bad_blocks = bad;
        let (f, end) = wear_out(&c);
        let DeviceError::WornOut { pool, worn_out, blocks, good, host_bytes, .. } = end else {
            panic!("{end}")
        };
        assert_eq!(blocks, good + worn_out + factory_bad_from_start(&c, pool));
        assert_eq!(host_bytes, f.ftl.clock * 2048);
        // Levelling holds the blocks of that pool within threshold + 2 of the endurance.
        let lived = |b: &ssd_core::units::BlockId| f.ftl.blocks.erases[b.at()] > 0;
        let blocks: Vec<_> = f.ftl.blocks.of_pool(PoolId(pool)).filter(lived).collect();
        for &b in &blocks {
            let erases = f.ftl.blocks.erases[b.at()];
            assert!((endurance - 6..=endurance).contains(&erases), "{b:?}: {erases}");
            assert_eq!(erases == endurance, f.ftl.blocks.is_bad(b));
        }
        // Programs of a life = erases * pages, plus what is still programmed. Other pools get as many writes except for
        // chance (1 % at 10 000 writes per pool) and die a little later.
        let pages = 16 * f.ftl.life_erases().len() as u64;
        let waf = f.tally.programs() as f64 / f.tally.host_pages as f64;
        let expected = f64::from(endurance) * pages as f64 / waf;
        let ratio = f.tally.host_pages as f64 / expected;
        if bad == 0.0 {
            let least = 1.0 - 7.0 / f64::from(endurance);
            assert!((least..=1.02).contains(&ratio), "{endurance}: {ratio}");
        } else {
            // The pool with the most bad blocks amplifies most and ends the life of the device early.
            assert!(ratio < 0.9, "{ratio}");
        }
    }
}

fn factory_bad_from_start(c: &Config, pool: u32) -> u32 {
    factory_bad(&Functional::new(c, Ftl::new(c)), pool) as u32
}

#[test]
fn blocks_differ_in_endurance_as_drawn() {
    let mut c = base();
    (c.wear.endurance, c.wear.endurance_spread) = (100, 0.25);
    let (f, _) = wear_out(&c);
    let ends: Vec<u32> = (0..f.ftl.blocks.len())
        .filter(|&b| f.ftl.blocks.is_bad(ssd_core::units::BlockId(b as u32)))
        .map(|b| f.ftl.blocks.erases[b])
        .collect();
    assert!(ends.iter().all(|e| (75..=125).contains(e)), "{ends:?}");
    assert_eq!((ends.len(), ends.iter().min(), ends.iter().max()), (20, Some(&75), Some(&85)));
    assert_eq!(f.ftl.life_erases(), f.ftl.blocks.erases, "a block that is worn out has lived");
}

#[test]
fn factory_bad_blocks_are_drawn_by_share_and_seed_and_never_used() {
    let mut c = base();
    c.wear.factory_bad_blocks = 0.05;
    let mut f = fill(&c);
    let bad: Vec<usize> = (0..4).map(|pool| factory_bad(&f, pool)).collect();
    assert_eq!(bad.iter().sum::<usize>(), 13, "5 % of 256");
    assert!(bad.iter().any(|&n| n != bad[0]), "pools differ: {bad:?}");
    hot_and_cold(&mut f, c.device.user_pages, 40_000);
    assert_eq!(f.ftl.bad_blocks().factory, 13, "none was erased");
    f.ftl.audit().unwrap();
    assert_eq!(f.ftl.life_erases().len(), 256 - 13, "those bad from the factory have no life");
    c.run.seed += 1;
    let other = Functional::new(&c, Ftl::new(&c));
    assert_ne!(
        other.ftl.blocks.state,
        Functional::new(&base(), Ftl::new(&base())).ftl.blocks.state
    );
    assert_ne!(bad, (0..4).map(|pool| factory_bad(&other, pool)).collect::<Vec<_>>());
    // A superblock is bad if any of its flash blocks is.
    c.alloc.placement = named(ssd_core::ftl::place::ALL, "round-robin");
    (c.alloc.pool, c.alloc.erase_unit) = (PoolScope::Device, EraseUnit::Superblock);
    let supers = Ftl::new(&c).bad_blocks().factory;
    assert!((4..=13).contains(&supers), "{supers} of 64");
}

#[test]
fn a_steady_state_is_built_around_bad_blocks() {
    for pool in [PoolScope::Plane, PoolScope::Device] {
        let mut c = base();
        (c.wear.factory_bad_blocks, c.alloc.pool) = (0.05, pool);
        (c.precondition.fill, c.precondition.steady_state) = (1.0, SteadyStart::MeanField);
        let mut f = Functional::new(&c, Ftl::new(&c));
        assert!(f.precondition(&c, &mut |_, _| true).expect("the pages fit"));
        f.ftl.audit().unwrap();
        hot_and_cold(&mut f, c.device.user_pages, 20_000);
        f.ftl.audit().unwrap();
    }
}

/// Both executors over the same writes, until they end if they do: the same blocks, counts and places.
fn compare(c: &Config, writes: u32) {
    let user = c.device.user_pages;
    let mut rng = Stream::new(c.run.seed, "compare");
    let mut steps: Vec<u32> = (0..user).collect();
    steps.extend((0..writes).map(|_| {
        let most = if rng.chance(0.9) { user / 10 } else { user };
        rng.below(u64::from(most)) as u32
    }));
    let mut f = Functional::new(c, Ftl::new(c));
    let end = steps.iter().find_map(|&lpn| f.write(Lpn(lpn), 0).err());
    let mut ssd = Ssd::new(c, Ftl::new(c), 0);
    ssd.audit_every(499);
    for &lpn in &steps[..f.ftl.clock as usize] {
        alone(&mut ssd, whole(Op::Write, lpn, 1));
    }
    ssd.run_until(Nanos(ssd.now().0 + 1_000_000_000), &mut Vec::new()).expect("it comes to rest");
    assert_eq!(f.ftl.blocks.erases, ssd.core.ftl.blocks.erases);
    assert_eq!(f.ftl.blocks.state, ssd.core.ftl.blocks.state);
    assert_eq!(f.ftl.blocks.valid, ssd.core.ftl.blocks.valid);
    let m = &ssd.measured();
    assert_eq!((f.tally.victims, f.tally.levelled), (m.gc.calls, m.wear.calls));
    let places = |ftl: &Ftl| (0..user).map(|l| ftl.owners.committed(Lpn(l))).collect::<Vec<_>>();
    assert!(places(&f.ftl) == places(&ssd.core.ftl), "pages lie elsewhere");
    assert!(f.tally.levelled > 5, "hardly any levelling: {:?}", f.tally);
    if end.is_some() {
        let now = ssd.now();
        ssd.submit(now, &whole(Op::Write, steps[f.ftl.clock as usize], 1), None).expect("valid");
        assert_eq!(ssd.run_until(Nanos::NEVER, &mut Vec::new()).err(), end);
    }
}

#[test]
fn both_executors_level_and_wear_out_alike() {
    for (pool, erase_unit) in [
        (PoolScope::Plane, EraseUnit::Block),
        (PoolScope::Channel, EraseUnit::Block),
        (PoolScope::Device, EraseUnit::Superblock),
    ] {
        for endurance in [0, 30] {
            let mut c = device([2, 2, 1], 24, 8, 4 * 24 * 8 * 7 / 10);
            if erase_unit == EraseUnit::Superblock {
                c.alloc.placement = named(ssd_core::ftl::place::ALL, "round-robin");
            }
            (c.alloc.pool, c.alloc.erase_unit) = (pool, erase_unit);
            c.gc.trigger = vec![free_blocks(3)];
            c.gc.blocking.scope = ssd_core::config::BlockingScope::Device;
            c.gc.blocking.granularity = ssd_core::config::Granularity::Job;
            (c.wear.static_threshold, c.wear.endurance) = (3, endurance);
            c.wear.factory_bad_blocks = 0.02;
            compare(&c, 30_000);
        }
    }
}

#[test]
fn the_timed_machine_ends_when_its_first_pool_does() {
    let mut c = base();
    (c.wear.endurance, c.device.blocks_per_plane) = (10, 24);
    c.device.user_pages = 4 * 24 * 16 * 7 / 10;
    let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
    let mut rng = Stream::new(3, "open loop");
    let user = u64::from(c.device.user_pages);
    for at in 0..200_000u64 {
        let write = whole(Op::Write, rng.below(user) as u32, 1);
        ssd.submit(Nanos(at * 100_000), &write, None).expect("a valid request");
    }
    let end = finish(&mut ssd).expect_err("it wears out");
    assert!(matches!(end, DeviceError::WornOut { .. }), "{end}");
    assert!(ssd.outstanding() > 1000, "the rest of the trace is not waited for");
    assert!(ssd.now() < Nanos(199_999 * 100_000), "it ended at {:?}", ssd.now());
    ssd.audit().unwrap();
}

/// Some wear: threshold, endurance, its spread, bad blocks.
fn wears() -> impl Strategy<Value = (u32, u32, f64, f64)> {
    let endurance = prop_oneof![Just(0u32), 1u32..6, 6u32..30];
    (0u32..5, endurance, 0.0f64..1.0, prop_oneof![Just(0.0), 0.0f64..0.15])
}

fn lives_or_says_why(c: &mut Config, wear: (u32, u32, f64, f64), seed: u64, requests: u64) {
    let w = &mut c.wear;
    (w.static_threshold, w.endurance, w.endurance_spread, w.factory_bad_blocks) = wear;
    if w.endurance == 0 {
        w.endurance_spread = 0.0;
    }
    c.run.data = DataMode::Digest;
    let weather = Weather { requests, depth: 32, seed, audit: 64, mix: [20, 8, 2], pause: 0 };
    let mut storm = Storm::new(c, weather);
    if let Err(error) = storm.run() {
        storm.gave_up(&error);
    }
}

proptest! {
    #![proptest_config(cases(1500, 31))]
    #[test]
    fn any_combination_lives_or_says_why(
        RandomConfig(mut c) in any_config(Spare::Any), wear in wears(), seed in any::<u64>(),
    ) {
        lives_or_says_why(&mut c, wear, seed, 400);
    }
}

proptest! {
    #![proptest_config(cases(30_000, 32))]
    #[test]
    #[ignore = "long"]
    fn any_combination_lives_at_length(
        RandomConfig(mut c) in any_config(Spare::Any), wear in wears(), seed in any::<u64>(),
    ) {
        lives_or_says_why(&mut c, wear, seed, 1500);
    }
}
