//! A steady state built at once equals that of a device after many writes.

use crate::rig::{device, finish, free_blocks, whole};
use ssd_core::config::{Config, DataMode, EraseUnit, Frontiers, PoolScope, SteadyStart};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::blocks::BlockState;
use ssd_core::host::device::{Device, DeviceError};
use ssd_core::host::request::Op;
use ssd_core::rng::Stream;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos};

/// Preconditioned as `c` says.
fn prepared(c: &Config) -> Functional {
    let mut f = Functional::new(c, Ftl::new(c));
    assert!(f.precondition(c, &mut |_, _| true).expect("the pages fit"));
    f
}

/// Write amplification of the next `writes` uniform writes.
fn amplification(c: &Config, f: &mut Functional, rng: &mut Stream, writes: u64) -> f64 {
    f.tally = Default::default();
    for _ in 0..writes {
        f.write(Lpn(rng.below(u64::from(c.device.user_pages)) as u32), 0).expect("room");
    }
    1.0 + f.tally.gc_pages as f64 / f.tally.host_pages as f64
}

fn big(frontiers: Frontiers, load: f64) -> Config {
    let (blocks, pages) = (2048, 64);
    let user = (f64::from(4 * blocks * pages) * load) as u32;
    let mut c = device([2, 2, 1], blocks, pages, user);
    c.precondition.fill = 1.0;
    c.alloc.frontiers = frontiers;
    c.gc.trigger = vec![free_blocks(3)];
    c
}

#[test]
fn write_amplification_is_there_at_once() {
    for (frontiers, load) in
        [(Frontiers::Single, 0.72), (Frontiers::HostGc, 0.80), (Frontiers::HostGc, 0.90)]
    {
        let mut c = big(frontiers, load);
        let user = u64::from(c.device.user_pages);
        let mut rng = Stream::new(7, "after");
        c.precondition.overwrite = 5.0;
        let warmed = amplification(&c, &mut prepared(&c), &mut rng, 2 * user);
        (c.precondition.overwrite, c.precondition.steady_state) = (0.0, SteadyStart::MeanField);
        let mut f = prepared(&c);
        // Also over the first tenth: nothing settles.
        let first = amplification(&c, &mut f, &mut rng, user / 10);
        let then = amplification(&c, &mut f, &mut rng, user);
        assert!((first / warmed - 1.0).abs() < 0.01, "{frontiers:?} {load}: {first} {warmed}");
        assert!((then / warmed - 1.0).abs() < 0.01, "{frontiers:?} {load}: {then} {warmed}");
    }
}

#[test]
fn every_shape_of_device_passes_the_audit() {
    let shapes: [fn(&mut Config); 7] = [
        |_| {},
        |c| c.alloc.frontiers = Frontiers::Single,
        |c| c.alloc.frontiers = Frontiers::Streams(3),
        |c| c.alloc.pool = PoolScope::Chip,
        |c| (c.alloc.pool, c.alloc.erase_unit) = (PoolScope::Chip, EraseUnit::Superblock),
        |c| c.run.data = DataMode::Digest,
        |c| c.precondition.fill = 0.8,
    ];
    for (i, change) in shapes.iter().enumerate() {
        let mut c = device([2, 1, 2], 40, 16, 1800);
        c.gc.trigger = vec![free_blocks(3)];
        c.precondition.fill = 1.0;
        c.precondition.steady_state = SteadyStart::MeanField;
        change(&mut c);
        let f = prepared(&c);
        f.ftl.audit().unwrap_or_else(|e| panic!("shape {i}: {e}"));
        let written = (1800.0 * c.precondition.fill) as u64;
        assert_eq!((f.ftl.owners.valid_pages(), f.sequence()), (written, written));
        for lpn in 0..1800 {
            let mapped = f.ftl.owners.committed(Lpn(lpn)).is_some();
            assert_eq!(mapped, u64::from(lpn) < written, "shape {i}: LPN {lpn}");
        }
        let sequence = f.sequence();
        let mut ssd = Ssd::new(&c, f.ftl, sequence);
        ssd.audit_every(7);
        let mut rng = Stream::new(i as u64, "after");
        for _ in 0..500 {
            let lpn = rng.below(1790) as u32;
            let request = whole(Op::ALL[rng.below(3) as usize], lpn, 1 + rng.below(8) as u32);
            ssd.submit(Nanos(ssd.now().0), &request, None).expect("a good request");
        }
        assert_eq!(finish(&mut ssd).expect("it completes").len(), 500, "shape {i}");
    }
}

#[test]
fn one_seed_gives_one_state() {
    let mut c = big(Frontiers::HostGc, 0.8);
    c.precondition.steady_state = SteadyStart::MeanField;
    let (a, b) = (prepared(&c), prepared(&c));
    assert_eq!(a.ftl.blocks.valid, b.ftl.blocks.valid);
    c.run.seed += 1;
    assert_ne!(a.ftl.blocks.valid, prepared(&c).ftl.blocks.valid);
}

#[test]
fn a_block_with_fewer_valid_pages_is_older() {
    let mut c = device([2, 1, 2], 40, 16, 1800);
    c.gc.trigger = vec![free_blocks(3)];
    c.precondition.fill = 1.0;
    c.precondition.steady_state = SteadyStart::MeanField;
    let f = prepared(&c);
    let blocks = &f.ftl.blocks;
    let sealed = (0..blocks.state.len()).filter(|&b| blocks.state[b] == BlockState::Sealed);
    let mut by_age: Vec<_> = sealed.map(|b| (blocks.seal_order[b], blocks.valid[b])).collect();
    by_age.sort_unstable();
    // 160 blocks, minus 4 erased and 2 open ones on each plane.
    assert_eq!(by_age.len(), 160 - 4 * (4 + 2));
    assert!(by_age.iter().zip(0..).all(|(&(order, _), i)| order == i), "{by_age:?}");
    assert!(by_age.is_sorted_by_key(|&(_, valid)| valid), "{by_age:?}");
    assert!(by_age[0].1 < 10 && by_age[135].1 == 16, "{by_age:?}");
}

/// Progress counts all pages that will be written.
#[test]
fn progress_counts_towards_the_pages_and_their_overwrites() {
    for start in [SteadyStart::None, SteadyStart::MeanField] {
        let mut c = device([2, 1, 2], 40, 16, 1800);
        c.gc.trigger = vec![free_blocks(3)];
        (c.precondition.fill, c.precondition.overwrite) = (0.5, 2.0);
        c.precondition.steady_state = start;
        let mut f = Functional::new(&c, Ftl::new(&c));
        let mut told = Vec::new();
        let mut watch = |done, all| {
            told.push((done, all));
            true
        };
        assert!(f.precondition(&c, &mut watch).expect("the pages fit"));
        assert!(told.iter().all(|&(done, all)| done <= all && all == 900 + 1800), "{told:?}");
        assert_eq!(told.first(), Some(&(0, 2700)));
    }
}

#[test]
fn a_device_too_full_says_so() {
    let mut c = device([1, 1, 1], 40, 16, 36 * 16);
    c.gc.trigger = vec![free_blocks(3)];
    c.precondition.fill = 1.0;
    c.precondition.steady_state = SteadyStart::MeanField;
    let mut f = Functional::new(&c, Ftl::new(&c));
    let error = f.precondition(&c, &mut |_, _| true).expect_err("no room");
    assert!(matches!(error, DeviceError::NoSteadyState { pool: 0, .. }), "{error}");
    assert!(error.to_string().contains("over-provisioning"), "{error}");
}
