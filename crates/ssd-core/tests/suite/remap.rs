//! Copies: every read returns what was newest, with pages shared and with pages copied, through chains and circles of
//! copies, under every collection policy; and the audit counts the owners of every page.

use crate::cases::cases;
use crate::rig::any_config::{RandomConfig, Spare, any_config, levelled_config};
use crate::rig::storm::{Storm, Weather};
use crate::rig::{device, free_blocks, pages_of, victim};
use proptest::prelude::*;
use ssd_core::config::{
    Blocking, BlockingScope, BusyUnit, Config, DataMode, Frontiers, Granularity, PoolScope,
    RemapMode, TimingModel,
};
use ssd_core::ftl::gc::victim::ALL;
use ssd_core::host::device::DeviceError;

const MODES: [RemapMode; 2] = [RemapMode::Share, RemapMode::Copy];

/// A shared page stays in the pool of its source: one of several pools can be crowded, as with other placements.
fn may_run_out(storm: &Storm, c: &Config) -> bool {
    storm.ssd.core.ftl.geo.pools > 1 || c.alloc.placement.policy != "static"
}

fn storm(c: &Config, weather: Weather, copies: u64) -> Storm {
    let mut storm = Storm::new(c, weather);
    storm.copies = copies;
    match storm.run() {
        Ok(()) => {}
        Err(e @ DeviceError::NoSpace { .. }) if may_run_out(&storm, c) => storm.gave_up(&e),
        Err(e) => panic!("{e}"),
    }
    storm
}

/// 2 % over-provisioning.
fn tight(name: &str) -> Config {
    let mut c = device([2, 1, 2], 40, 8, 0);
    c.device.user_pages = (f64::from(pages_of(&c)) / 1.02) as u32 - 20;
    c.alloc.pool = PoolScope::Device;
    c.gc.reserve = 1;
    c.gc.trigger = vec![free_blocks(2)];
    c.gc.victim = victim(name);
    c.gc.blocking = Blocking { scope: BlockingScope::Block, granularity: Granularity::Step };
    c
}

fn tight_storms(requests: u64, seeds: std::ops::Range<u64>, audit: u64) {
    for seed in seeds {
        for mode in MODES {
            let name = ALL[seed as usize % ALL.len()].name;
            let mut c = tight(name);
            c.remap.mode = mode;
            c.run.data = if seed % 4 == 3 { DataMode::Bytes } else { DataMode::Digest };
            c.timing.model = [TimingModel::Serial, TimingModel::Pipelined][seed as usize % 2];
            c.timing.busy_unit =
                [BusyUnit::Plane, BusyUnit::Chip, BusyUnit::Channel][seed as usize % 3];
            c.alloc.frontiers =
                if seed.is_multiple_of(4) { Frontiers::Single } else { Frontiers::HostGc };
            let weather = Weather { requests, depth: 64, seed, audit, mix: [20, 8, 2], pause: 0 };
            let storm = storm(&c, weather, 40);
            let m = storm.ssd.measured();
            assert!(m.gc.calls > 20, "{name}: hardly any collection");
            let remap = &m.remap;
            let counts = [remap.shared, remap.copied][usize::from(mode == RemapMode::Copy)];
            assert!(storm.circles > 10, "{} circles of copies", storm.circles);
            assert!(counts > 100 && remap.waited > 20 && remap.unmapped > 0, "{remap:?}");
        }
    }
}

#[test]
fn storms_of_copies_with_two_percent_of_spare() {
    tight_storms(1500, 0..8, 11);
}

/// A million requests, audited after every instant.
#[test]
#[ignore = "long"]
fn storms_of_copies_with_two_percent_of_spare_at_length() {
    tight_storms(25_000, 0..20, 1);
}

fn any_storm(c: &Config, seed: u64, [share, buffer]: [bool; 2], pause: u64) {
    let mut c = c.clone();
    c.run.data = if seed.is_multiple_of(2) { DataMode::Digest } else { DataMode::Bytes };
    c.remap.mode = if share { RemapMode::Share } else { RemapMode::Copy };
    if buffer {
        c.host.write_buffer_pages = 1 + (seed % 40) as u32;
        c.host.write_buffer_threshold = 0.5;
    }
    let weather = Weather { requests: 400, depth: 48, seed, audit: 29, mix: [25, 8, 3], pause };
    storm(&c, weather, 45);
}

proptest! {
    #![proptest_config(cases(150, 91))]
    #[test]
    fn any_device_answers_copies(
        RandomConfig(c) in any_config(Spare::Tight),
        seed in any::<u64>(),
        answers in any::<[bool; 2]>(),
        pause in prop_oneof![Just(0), Just(3000)],
    ) {
        any_storm(&c, seed, answers, pause);
    }
}

proptest! {
    #![proptest_config(cases(3000, 92))]
    #[test]
    #[ignore = "long"]
    fn any_device_answers_copies_at_length(
        RandomConfig(c) in any_config(Spare::Tight),
        seed in any::<u64>(),
        answers in any::<[bool; 2]>(),
        pause in prop_oneof![Just(0), Just(3000)],
    ) {
        any_storm(&c, seed, answers, pause);
    }
}

/// Blocks levelled in a storm of copies on a device that levels its wear all the time, and may wear out.
fn levelled(c: &Config, seed: u64, requests: u64) -> u64 {
    let mut c = c.clone();
    c.run.data = DataMode::Digest;
    c.remap.mode = MODES[seed as usize % 2];
    let weather = Weather { requests, depth: 48, seed, audit: 16, mix: [20, 6, 1], pause: 0 };
    let mut storm = Storm::new(&c, weather);
    storm.copies = 40;
    if let Err(error) = storm.run() {
        storm.gave_up(&error);
    }
    storm.ssd.measured().wear.calls
}

proptest! {
    #![proptest_config(cases(150, 93))]
    #[test]
    fn levelling_moves_a_page_for_all_its_owners(
        RandomConfig(c) in levelled_config(), seed in any::<u64>(),
    ) {
        levelled(&c, seed, 400);
    }
}

#[test]
fn storms_of_copies_level() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::new(cases(1, 94));
    let some = (0..60u64).filter(|&seed| {
        let RandomConfig(c) =
            levelled_config().new_tree(&mut runner).expect("one is valid").current();
        levelled(&c, seed, 600) > 0
    });
    let count = some.count();
    assert!(count >= 20, "{count} of 60");
}
