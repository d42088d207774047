//! Space never leaks and nothing hangs: with hardly any room, at every edge of the reserve, under
//! any combination of answers, a run completes every request or ends with an error that names the pool
//! and the request.

use crate::cases::cases;
use crate::rig::storm::{Storm, Weather};
use crate::rig::{
    self,
    any_config::{RandomConfig, Spare, any_config},
};
use crate::rig::{alone, closed, device, filled, free_blocks, used_space, victim, whole};
use proptest::prelude::*;
use ssd_core::config::{Amount, BusyUnit, Config, DataMode, Frontiers, PoolScope};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::gc::{concurrency, trigger, victim as victims};
use ssd_core::host::device::{Device, DeviceError};
use ssd_core::host::request::Op;
use ssd_core::plug::Value;
use ssd_core::rng::Stream;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Nanos, PoolId};

fn fresh(c: &Config) -> Ssd {
    let mut ssd = Ssd::new(c, Ftl::new(c), 0);
    ssd.audit_every(1);
    ssd
}

/// Host and GC share one frontier; one plane.
fn single(blocks: u32, pages: u32, user: u32) -> Config {
    let mut c = device([1, 1, 1], blocks, pages, user);
    c.alloc.frontiers = Frontiers::Single;
    (c.gc.reserve, c.gc.trigger) = (1, vec![free_blocks(1)]);
    c
}

#[test]
fn a_device_without_spare_room_says_so() {
    let c = single(4, 4, 15);
    let mut ssd = fresh(&c);
    // The last block is kept for collection; 12 distinct pages fit before it.
    for lpn in 0..12 {
        alone(&mut ssd, whole(Op::Write, lpn, 1));
    }
    for lpn in 12..15 {
        ssd.submit(ssd.now(), &whole(Op::Write, lpn, 1), None).unwrap();
    }
    let error = ssd.run_until(Nanos::NEVER, &mut Vec::new()).unwrap_err();
    let DeviceError::NoSpace { pool: 0, outstanding: 3, first: 12, .. } = &error else {
        panic!("{error:?}");
    };
    let text = error.to_string();
    for part in ["pool 0", "1 of 4 blocks are erased", "0 invalid", "3 requests", "request 12"] {
        assert!(text.contains(part), "{text:?} does not say {part:?}");
    }
    ssd.audit().unwrap();
}

#[test]
fn an_overwrite_saves_a_device_that_was_full() {
    let c = single(4, 4, 12);
    let mut ssd = fresh(&c);
    for lpn in 0..12 {
        alone(&mut ssd, whole(Op::Write, lpn, 1));
    }
    ssd.submit(ssd.now(), &whole(Op::Write, 3, 1), None).unwrap();
    let error = ssd.run_until(Nanos::NEVER, &mut Vec::new()).unwrap_err();
    assert!(matches!(error, DeviceError::NoSpace { first: 12, .. }), "{error}");
    // What waits is not lost: a TRIM makes room, and the write completes.
    let trim = whole(Op::Trim, 5, 1);
    ssd.submit(ssd.now(), &trim, None).unwrap();
    assert_eq!(rig::finish(&mut ssd).expect("room for the write").len(), 2);
    ssd.audit().unwrap();
}

#[test]
fn one_spare_block_is_enough_for_one_frontier() {
    for info in victims::ALL {
        let mut c = single(65, 16, 63 * 16);
        c.gc.victim = victim(info.name);
        let mut ssd = filled(&c);
        ssd.audit_every(64);
        let mut rng = Stream::new(3, "one spare");
        let requests = (0..1500).map(|_| whole(Op::Write, rng.below(63 * 16) as u32, 1));
        let done = closed(&mut ssd, 8, requests).unwrap_or_else(|e| panic!("{}: {e}", info.name));
        assert_eq!(done.len(), 1500);
        let gc = &ssd.measured().gc;
        assert_eq!(gc.foreground, gc.calls, "collection at the reserve is in the foreground");
        ssd.audit().unwrap();
    }
}

#[test]
fn half_a_percent_of_spare_pages() {
    for frontiers in [Frontiers::Single, Frontiers::HostGc] {
        // 2010 blocks, 10 of them spare.
        let mut c = device([1, 1, 2], 1005, 4, 2000 * 4);
        (c.alloc.frontiers, c.alloc.pool) = (frontiers, PoolScope::Device);
        c.timing.busy_unit = BusyUnit::Plane;
        (c.gc.reserve, c.gc.trigger) = (1, vec![free_blocks(2)]);
        let mut ssd = filled(&c);
        ssd.audit_every(1000);
        let mut rng = Stream::new(4, "half a percent");
        let requests = (0..2000).map(|_| whole(Op::Write, rng.below(8000) as u32, 1));
        assert_eq!(closed(&mut ssd, 64, requests).expect("there is room").len(), 2000);
        ssd.audit().unwrap();
    }
}

/// Whatever the reserve and the watermark, erased blocks never fall below what is promised.
#[test]
fn the_reserve_holds_at_every_level() {
    for (reserve, soft) in [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2), (2, 3), (5, 0), (5, 6)]
    {
        for frontiers in [Frontiers::Single, Frontiers::HostGc] {
            let mut c = device([1, 1, 1], 40, 8, 31 * 8);
            c.alloc.frontiers = frontiers;
            (c.gc.reserve, c.gc.trigger) = (reserve, vec![free_blocks(soft)]);
            let mut ssd = filled(&c);
            let mut rng = Stream::new(5, "reserve");
            for _ in 0..600 {
                alone(&mut ssd, whole(Op::Write, rng.below(31 * 8) as u32, 1));
                let space = &ssd.core.ftl.space;
                assert!(space.gc_room(PoolId(0)) >= space.gc_need(PoolId(0)));
            }
            let gc = &ssd.measured().gc;
            assert!(gc.calls > 10);
            if soft > u64::from(reserve) {
                assert!(gc.background > 0, "reserve {reserve}, soft {soft}");
            } else {
                assert_eq!(gc.background, 0, "reserve {reserve}, soft {soft}");
            }
        }
    }
}

/// Triggers in conjunction, of pool, device and idleness, under every concurrency limit.
#[test]
fn conjunctions_of_triggers_end() {
    let idle = |after| rig::named(trigger::ALL, "idle").with("after", Value::Int(after));
    let sets = [
        vec![idle(0)],
        vec![idle(5000), free_blocks(5)],
        vec![idle(300), used_space(0.5, "device")],
        vec![used_space(0.5, "pool"), used_space(0.6, "device"), free_blocks(9), idle(1)],
    ];
    for (i, triggers) in sets.iter().enumerate() {
        for rule in concurrency::ALL {
            for amount in [Amount::One, Amount::UntilSatisfied, Amount::AllCandidates] {
                let mut c = device([2, 1, 2], 16, 4, 40 * 4);
                (c.gc.trigger, c.gc.amount) = (triggers.clone(), amount);
                c.gc.concurrency = rig::named(concurrency::ALL, rule.name);
                c.run.data = DataMode::Digest;
                let weather = Weather { pause: 4000, ..weather(i as u64, 300) };
                let mut storm = Storm::new(&c, weather);
                storm.run().unwrap_or_else(|e| panic!("{triggers:?}: {e}"));
            }
        }
    }
}

/// A pool that waits for a better victim is not the one that is out of space.
#[test]
fn the_error_names_the_pool_that_is_full() {
    let mut c = device([1, 2, 2], 20, 6, 456);
    c.alloc.placement = rig::named(ssd_core::ftl::place::ALL, "round-robin");
    c.alloc.frontiers = Frontiers::Streams(3);
    c.timing.busy_unit = BusyUnit::Plane;
    c.run.data = DataMode::Digest;
    (c.gc.reserve, c.gc.trigger) = (1, vec![used_space(0.3, "device")]);
    c.gc.victim = victim("list-order").with("ratio", Value::Real(0.92));
    let gave_up = (0..10).filter(|&seed| {
        let mut storm = Storm::new(&c, weather(seed, 800));
        let error = storm.run().err();
        error.inspect(|e| storm.gave_up(e)).is_some()
    });
    assert_eq!(gave_up.count(), 9, "of ten devices");
}

/// Fully valid candidates gain nothing: collecting them would never end.
#[test]
fn a_list_of_fully_valid_blocks_is_not_collected() {
    let mut c = device([1, 1, 2], 16, 4, 48);
    c.gc.trigger = vec![used_space(0.3, "device")];
    c.gc.victim = victim("list-order").with("ratio", Value::Real(0.0));
    c.gc.amount = Amount::AllCandidates;
    let mut ssd = filled(&c);
    assert_eq!(alone(&mut ssd, whole(Op::Read, 0, 1)), 70);
    ssd.run_until(Nanos(ssd.now().0 + 1_000_000), &mut Vec::new()).unwrap();
    assert!(ssd.at_rest(), "it collects without end");
    assert_eq!(ssd.measured().gc.calls, 0);
}

fn weather(seed: u64, requests: u64) -> Weather {
    Weather { requests, depth: 32, seed, audit: 64, mix: [20, 8, 2], pause: 0 }
}

fn completes_or_says_why(c: &Config, seed: u64, requests: u64, pause: u64) {
    // A third of the runs have no pause.
    let pause = pause.saturating_sub(1000);
    let mut storm = Storm::new(c, Weather { pause, ..weather(seed, requests) });
    if let Err(error) = storm.run() {
        storm.gave_up(&error);
    }
}

proptest! {
    #![proptest_config(cases(3000, 11))]
    #[test]
    fn any_combination_completes_or_says_why(
        RandomConfig(mut c) in any_config(Spare::Any), seed in any::<u64>(), pause in 0u64..3000,
    ) {
        c.run.data = DataMode::Digest;
        completes_or_says_why(&c, seed, 400, pause);
    }
}

proptest! {
    #![proptest_config(cases(60_000, 12))]
    #[test]
    #[ignore = "long"]
    fn any_combination_at_length(
        RandomConfig(mut c) in any_config(Spare::Any), seed in any::<u64>(), pause in 0u64..3000,
    ) {
        c.run.data = DataMode::Digest;
        completes_or_says_why(&c, seed, 800, pause);
    }
}
