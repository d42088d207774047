//! Every read returns what was newest at some instant between its arrival and its completion, under every policy and
//! any valid combination of policies, and at the end the device holds what was written.

use crate::cases::cases;
use crate::rig::any_config::{RandomConfig, Spare, any_config};
use crate::rig::storm::{Storm, Weather};
use crate::rig::{alone, device, finish, free_blocks, named, pages_of, victim, whole};
use proptest::prelude::*;
use ssd_core::config::{
    Blocking, BlockingScope, BusyUnit, Config, DataMode, EraseUnit, Frontiers, Granularity,
    PoolScope, TimingModel,
};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::gc::victim::ALL;
use ssd_core::host::device::{Device, DeviceError};
use ssd_core::host::request::{Op, Request};
use ssd_core::sim::ssd::Ssd;

/// Placement by load or in turn can crowd one of several pools: only there may room run out.
fn may_run_out(c: &Config) -> bool {
    c.alloc.placement.policy != "static"
}

fn storm(c: &Config, weather: Weather) -> Storm {
    let mut storm = Storm::new(c, weather);
    match storm.run() {
        Ok(()) => {}
        Err(e @ DeviceError::NoSpace { .. }) if may_run_out(c) => storm.gave_up(&e),
        Err(e) => panic!("{e}"),
    }
    storm
}

fn weather(seed: u64, requests: u64) -> Weather {
    Weather { requests, depth: 64, seed, audit: 37, mix: [30, 8, 3], pause: 0 }
}

/// 2 % over-provisioning, several blocks per plane, collection in steps that close the block.
fn tight(name: &str) -> Config {
    let mut c = device([2, 1, 2], 160, 8, 0);
    c.device.user_pages = (f64::from(pages_of(&c)) / 1.02) as u32;
    c.alloc.pool = PoolScope::Device;
    c.gc.reserve = 1;
    c.gc.trigger = vec![free_blocks(2)];
    c.gc.victim = victim(name);
    c.gc.blocking = Blocking { scope: BlockingScope::Block, granularity: Granularity::Step };
    c
}

fn every_policy_tight(requests: u64) {
    let models = [TimingModel::Serial, TimingModel::Pipelined];
    let units = [BusyUnit::Plane, BusyUnit::Chip, BusyUnit::Channel];
    for (i, info) in ALL.iter().enumerate() {
        for combination in 0..6 {
            let mut c = tight(info.name);
            c.run.data = DataMode::Digest;
            c.timing.model = models[combination % 2];
            c.timing.busy_unit = units[combination % 3];
            let single = (i + combination) % 4 == 0;
            c.alloc.frontiers = if single { Frontiers::Single } else { Frontiers::HostGc };
            let w = Weather { mix: [20, 1, 2], audit: 500, ..weather(i as u64, requests) };
            let storm = storm(&c, w);
            assert!(storm.ssd.measured().gc.calls > 100, "{}: hardly any collection", info.name);
            assert!(storm.unjudged * 20 <= storm.completed, "{} unjudged", storm.unjudged);
        }
    }
}

#[test]
fn every_policy_with_two_percent_of_spare() {
    every_policy_tight(4000);
}

#[test]
#[ignore = "long"]
fn every_policy_with_two_percent_of_spare_at_length() {
    every_policy_tight(20_000);
}

/// A partial write waits for the read of its page; a newer write of the whole page reaches flash first.
#[test]
fn a_partial_write_overtaken_by_a_whole_one_reads_nothing() {
    let mut c = device([1, 1, 2], 8, 8, 64);
    c.run.data = DataMode::Digest;
    c.timing.busy_unit = BusyUnit::Plane;
    c.alloc.placement = named(ssd_core::ftl::place::ALL, "least-busy");
    c.sched.order = named(ssd_core::sched::order::ALL, "fifo");
    let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
    for lpn in 0..3 {
        alone(&mut ssd, whole(Op::Write, lpn, 1));
    }
    // Pages 0 and 2 are on one plane: reads of the second delay the read of the first.
    for _ in 0..20 {
        ssd.submit(ssd.now(), &whole(Op::Read, 2, 1), None).unwrap();
    }
    ssd.submit(ssd.now(), &Request::new(Op::Write, 1, 1), None).unwrap();
    ssd.submit(ssd.now(), &whole(Op::Write, 0, 1), None).unwrap();
    assert_eq!(finish(&mut ssd).expect("no data mismatch").len(), 22);
    let rmw = ssd_core::metrics::counters::Cause::Rmw.at();
    assert_eq!((ssd.measured().host.rmw, ssd.measured().flash.reads[rmw]), (1, 0));
    ssd.audit().unwrap();
}

/// Copies fill the members of a superblock unevenly; it is erased and opened again meanwhile.
#[test]
fn a_superblock_that_is_opened_again_is_filled_on_every_plane() {
    let mut c = device([1, 1, 3], 17, 1, 30);
    c.alloc.placement = named(ssd_core::ftl::place::ALL, "round-robin");
    (c.alloc.pool, c.alloc.erase_unit) = (PoolScope::Chip, EraseUnit::Superblock);
    c.alloc.frontiers = Frontiers::Streams(3);
    c.run.data = DataMode::Digest;
    c.gc.reserve = 1;
    c.gc.trigger = vec![free_blocks(0)];
    for seed in 0..20 {
        storm(&c, weather(seed, 500));
    }
}

fn in_digests(mut c: Config, seed: u64, pause: u64) {
    c.run.data = DataMode::Digest;
    let storm = storm(&c, Weather { pause, ..weather(seed, 500) });
    assert!(storm.unjudged * 20 <= storm.completed, "{} unjudged", storm.unjudged);
}

fn in_bytes(mut c: Config, seed: u64) {
    c.run.data = DataMode::Bytes;
    storm(&c, Weather { audit: 64, ..weather(seed, 250) });
}

proptest! {
    #![proptest_config(cases(2000, 1))]
    #[test]
    fn any_combination_in_digests(
        RandomConfig(c) in any_config(Spare::Tight), seed in any::<u64>(), pause in 0u64..300,
    ) {
        in_digests(c, seed, pause);
    }
}

proptest! {
    #![proptest_config(cases(300, 2))]
    #[test]
    fn any_combination_in_bytes(RandomConfig(c) in any_config(Spare::Tight), seed in any::<u64>()) {
        in_bytes(c, seed);
    }
}

proptest! {
    #![proptest_config(cases(40_000, 3))]
    #[test]
    #[ignore = "long"]
    fn any_combination_at_length(
        RandomConfig(c) in any_config(Spare::Tight), seed in any::<u64>(), pause in 0u64..300,
    ) {
        in_digests(c.clone(), seed, pause);
        if seed % 8 == 0 {
            in_bytes(c, seed);
        }
    }
}
