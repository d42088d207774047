//! Room: whatever the pool, the reserve, the frontiers, the erase unit and the wear, collection and wear levelling find
//! the pages that have been kept for them (the head of `ftl/space.rs` explains why).

use crate::cases::cases;
use crate::rig::any_config::{RandomConfig, levelled_config};
use crate::rig::storm::{Storm, Weather};
use crate::rig::{device, free_blocks, named};
use proptest::prelude::*;
use ssd_core::config::{Config, DataMode, PoolScope};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::place;
use ssd_core::host::device::DeviceError;
use ssd_core::rng::Stream;
use ssd_core::sim::functional::Functional;
use ssd_core::units::{Lpn, PoolId};

/// Eight planes that share their erased blocks, and a reserve of one.
fn shared_by_planes() -> Config {
    let mut c = device([2, 2, 2], 48, 4, 8 * 48 * 4 * 10 / 13);
    c.alloc.pool = PoolScope::Device;
    (c.gc.reserve, c.gc.trigger) = (1, vec![free_blocks(2)]);
    (c.wear.static_threshold, c.run.data) = (2, DataMode::Digest);
    c
}

/// While levelling is about to open its block, the open blocks of GC on the eight planes may hold more pages than
/// collection needs: even then the host must not open the last erased block.
#[test]
fn levelling_keeps_its_erased_block_beside_open_blocks_of_gc() {
    for seed in [11, 17] {
        let weather =
            Weather { requests: 10_000, depth: 64, seed, audit: 64, mix: [30, 0, 0], pause: 0 };
        let mut storm = Storm::new(&shared_by_planes(), weather);
        storm.run().expect("there is room");
        assert!(
            storm.ssd.measured().wear.calls > 500,
            "{} levelled",
            storm.ssd.measured().wear.calls
        );
    }
}

/// Blocks levelled in a timed storm of writes, reads and TRIMs.
fn timed(c: &Config, seed: u64, requests: u64) -> u64 {
    let mut c = c.clone();
    c.run.data = DataMode::Digest;
    let weather = Weather { requests, depth: 64, seed, audit: 16, mix: [20, 5, 1], pause: 0 };
    let mut storm = Storm::new(&c, weather);
    if let Err(error) = storm.run() {
        storm.gave_up(&error);
    }
    storm.ssd.measured().wear.calls
}

/// Blocks levelled without time: writes to hot and cold pages, and TRIMs.
fn functional(c: &Config, seed: u64, writes: u64) -> u64 {
    let mut f = Functional::new(c, Ftl::new(c));
    let (user, mut rng) = (u64::from(c.device.user_pages), Stream::new(seed, "room"));
    for write in 0..writes {
        let most = if rng.chance(0.8) { user.div_ceil(8) } else { user };
        let (lpn, stream) = (Lpn(rng.below(most) as u32), rng.below(5) as u8);
        if rng.chance(0.05) {
            f.trim(lpn);
        } else if let Err(error) = f.write(lpn, stream) {
            f.ftl.audit().unwrap_or_else(|e| panic!("audit after {error}: {e}"));
            let pool = match error {
                DeviceError::NoSpace { pool, .. } | DeviceError::WornOut { pool, .. } => pool,
                other => panic!("{other}"),
            };
            let left = f.ftl.fewest_valid(PoolId(pool)).filter(|&block| f.ftl.fits(block));
            assert_eq!(left, None, "a block with invalid pages is left: {error}");
            break;
        }
        if write % 16 == 0 {
            f.ftl.audit().unwrap_or_else(|e| panic!("audit after {write} writes: {e}"));
        }
    }
    f.tally.levelled
}

proptest! {
    #![proptest_config(cases(300, 51))]
    #[test]
    fn levelling_and_collection_find_room(
        RandomConfig(c) in levelled_config(), seed in any::<u64>(),
    ) {
        timed(&c, seed, 500);
        functional(&c, seed, 1500);
    }
}

proptest! {
    #![proptest_config(cases(6_000, 52))]
    #[test]
    #[ignore = "long"]
    fn levelling_and_collection_find_room_at_length(
        RandomConfig(c) in levelled_config(), seed in any::<u64>(),
    ) {
        timed(&c, seed, 3000);
        functional(&c, seed, 6000);
    }
}

/// The storms do level: most cases move cold data in both executors.
#[test]
fn storms_level() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::new(cases(1, 53));
    let levelled = (0..600u64).filter(|&seed| {
        let RandomConfig(c) =
            levelled_config().new_tree(&mut runner).expect("one is valid").current();
        timed(&c, seed, 500) > 0 && functional(&c, seed, 1500) > 0
    });
    let count = levelled.count();
    assert!(count >= 300, "{count} of 600");
}

/// Cold and hot pages are written in turn, so that every second pool gets only cold pages.
#[test]
fn a_pool_crowded_by_placement_is_reported_with_the_remedy() {
    let mut c = device([2, 1, 1], 32, 8, 2 * 32 * 8 * 3 / 4);
    c.gc.trigger = vec![free_blocks(2)];
    let user = c.device.user_pages;
    let write = |c: &Config| {
        let mut f = Functional::new(c, Ftl::new(c));
        (0..4 * user).try_for_each(|write| {
            let lpn = if write % 2 == 0 { write % 16 } else { 16 + write / 2 % (user - 16) };
            f.write(Lpn(lpn), 0)
        })
    };
    for (placement, remedy) in [("round-robin", "use alloc.placement = \"static\""), ("static", "")]
    {
        c.alloc.placement = named(place::ALL, placement);
        match write(&c) {
            Ok(()) => assert_eq!(placement, "static", "nothing was crowded"),
            Err(error) => {
                assert!(error.to_string().contains(remedy) && !remedy.is_empty(), "{error}")
            }
        }
    }
}
