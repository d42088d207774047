//! Superblocks: however unevenly the pages of a frontier are spread over the planes, it has few superblocks open, so
//! that the spare is left for erased blocks.

use crate::cases::cases;
use crate::rig::any_config::{RandomConfig, superblocks};
use crate::rig::storm::{Storm, Weather};
use crate::rig::{alone, device, free_blocks, named, pages_of, victim, whole};
use proptest::prelude::*;
use ssd_core::config::{Config, DataMode, EraseUnit, Frontiers, PoolScope};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::place;
use ssd_core::ftl::plugs::Plugs;
use ssd_core::ftl::separation::ALL;
use ssd_core::host::device::Device as _;
use ssd_core::host::request::{Op, Request};
use ssd_core::rng::Stream;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, PoolId};
use std::collections::{BTreeMap, BTreeSet};

/// Dies of 16 planes with blocks of three pages, like those of drives fitted to small traces.
fn small_drive(separation: &str) -> Config {
    let mut c = device([2, 1, 16], 131, 3, 0);
    c.device.user_pages = pages_of(&c) * 100 / 115;
    (c.alloc.pool, c.alloc.erase_unit) = (PoolScope::Chip, EraseUnit::Superblock);
    c.alloc.placement = named(place::ALL, "round-robin");
    c.alloc.separation = named(ALL, separation);
    c.gc.victim = victim("cost-benefit");
    (c.gc.reserve, c.gc.trigger) = (2, vec![free_blocks(4)]);
    c
}

/// Write a third of the pages, then, in a second run, `writes` pages, nearly all of them from a small set.
fn write_few(c: &Config, writes: u32, seed: u64) -> Functional {
    let mut f = Functional::new(c, Ftl::new(c));
    let (third, mut rng) = (c.device.user_pages / 3, Stream::new(seed, "few"));
    let streams = if let Frontiers::Streams(n) = c.alloc.frontiers { u64::from(n) } else { 1 };
    for write in 0..third + writes {
        if write == third {
            f = f.begin_run(c);
        }
        let span = if rng.chance(0.9) { third / 20 } else { third };
        let lpn = if write < third { write } else { rng.below(u64::from(span.max(1))) as u32 };
        let stream = rng.below(streams) as u8;
        if let Err(error) = f.write(Lpn(lpn), stream) {
            f.ftl.audit().unwrap_or_else(|e| panic!("audit after {error}: {e}"));
            panic!("after {write} writes: {error}");
        }
    }
    f
}

/// Write page `lpn` of `stream`, the only request.
fn write_in_time(ssd: &mut Ssd, lpn: Lpn, stream: u8) {
    alone(ssd, Request { stream, ..whole(Op::Write, lpn.0, 1) });
}

/// In every run, whether it begins on the device or on a snapshot of it, with or without time.
#[test]
fn the_pages_of_each_stream_come_to_the_planes_in_turn() {
    let mut c = small_drive("none");
    c.alloc.frontiers = Frontiers::Streams(3);
    (c.gc.reserve, c.device.blocks_per_plane) = (2, 300);
    let layout = place::Layout::new([2, 1, 16]);
    let mut f = Functional::new(&c, Ftl::new(&c));
    let (mut rng, mut written) = (Stream::new(5, "turns"), [0; 3]);
    let mut check = |ftl: &Ftl, lpn: Lpn, stream: usize| {
        let page = ftl.owners.committed(lpn).expect("it is on flash");
        let plane = layout.striped(written[stream] % 32);
        assert_eq!(ftl.geo.plane_of(page), plane, "page {} of stream {stream}", written[stream]);
        written[stream] += 1;
    };
    let mut lpns = (0..5000).map(Lpn);
    for run in 0..5 {
        for lpn in lpns.by_ref().take(500) {
            let stream = rng.below(3) as u8;
            f.write(lpn, stream).expect("there is room");
            check(&f.ftl, lpn, usize::from(stream));
        }
        f = f.begin_run(&c);
        if run < 2 {
            continue;
        }
        let admitted = f.sequence();
        let mut ssd = Ssd::new(&c, f.ftl, admitted);
        for lpn in lpns.by_ref().take(100) {
            let stream = rng.below(3) as u8;
            write_in_time(&mut ssd, lpn, stream);
            check(&ssd.core.ftl, lpn, usize::from(stream));
        }
        let snapshot = ssd.snapshot().expect("at rest");
        f = Functional::restore(&c, &snapshot, &Plugs::default()).expect("it fits");
    }
}

/// The open superblocks of each frontier of a pool, except that of wear levelling.
fn open_superblocks(ftl: &Ftl) -> BTreeMap<(PoolId, u32), BTreeSet<u32>> {
    let mut open: BTreeMap<(PoolId, u32), BTreeSet<u32>> = BTreeMap::new();
    let wear = ftl.space.wear_stream();
    for (plane, stream, block, _) in ftl.space.open_list().filter(|one| one.1 != wear) {
        open.entry((ftl.geo.pool_of(plane), stream)).or_default().insert(block.0);
    }
    open
}

/// Check that no frontier of a pool has more than one superblock open, or two if the spare holds that many.
fn few_are_open(c: &Config, ftl: &Ftl) -> Result<(), String> {
    let most = if 2 * c.alloc.classes().all <= c.most_classes() { 2 } else { 1 };
    match open_superblocks(ftl).iter().find(|(_, blocks)| blocks.len() > most) {
        Some(((pool, stream), blocks)) => {
            Err(format!("{pool:?} has {blocks:?} open for frontier {stream}"))
        }
        None => Ok(()),
    }
}

#[test]
fn a_small_drive_does_not_fill_with_open_superblocks() {
    for spec in ALL {
        let mut c = small_drive("none");
        c.alloc.separation = named(ALL, spec.name);
        let f = write_few(&c, 200_000, 3);
        f.ftl.audit().unwrap();
        few_are_open(&c, &f.ftl).unwrap_or_else(|e| panic!("{}: {e}", spec.name));
        // A third of the device is written: there is room for all of it.
        let waf = f.tally.programs() as f64 / f.tally.host_pages as f64;
        assert!(waf < 1.5, "{}: write amplification {waf}", spec.name);
    }
}

#[test]
fn streams_have_few_superblocks_open_too() {
    let mut c = small_drive("none");
    c.alloc.frontiers = Frontiers::Streams(4);
    let f = write_few(&c, 200_000, 5);
    f.ftl.audit().unwrap();
    few_are_open(&c, &f.ftl).unwrap();
}

/// Write amplification under uniform writes to a full device.
fn waf_of_uniform(c: &Config) -> f64 {
    let (user, mut rng) = (c.device.user_pages, Stream::new(7, "uniform"));
    let mut f = Functional::new(c, Ftl::new(c));
    let write = |f: &mut Functional, lpn: u32| f.write(Lpn(lpn), 0).unwrap();
    (0..user).for_each(|lpn| write(&mut f, lpn));
    (0..4 * user).for_each(|_| write(&mut f, rng.below(u64::from(user)) as u32));
    let before = (f.tally.programs(), f.tally.host_pages);
    (0..2 * user).for_each(|_| write(&mut f, rng.below(u64::from(user)) as u32));
    f.ftl.audit().unwrap();
    (f.tally.programs() - before.0) as f64 / (f.tally.host_pages - before.1) as f64
}

/// A device with superblocks of `pages` on each of 16 planes, and one whose planes have blocks of as many pages.
fn shared_and_alone(frontiers: Frontiers, policy: &str, pages: u32) -> [Config; 2] {
    let mut shared = small_drive("none");
    (shared.device.pages_per_block, shared.device.blocks_per_plane) = (pages, 400);
    shared.device.user_pages = pages_of(&shared) * 100 / 115;
    (shared.alloc.frontiers, shared.gc.victim) = (frontiers, victim(policy));
    let mut alone = shared.clone();
    (alone.device.planes_per_chip, alone.device.pages_per_block) = (1, 16 * pages);
    alone.alloc.erase_unit = EraseUnit::Block;
    [shared, alone]
}

/// Pages of the host and copies go to the planes of a superblock in turn, in separate frontiers: it is written, and
/// collected, exactly like one block with all its pages. This also holds in a run that begins when some of the planes
/// have had their turn.
#[test]
fn a_superblock_is_written_like_one_block() {
    for (policy, pages) in [("greedy", 3), ("fifo", 5), ("cost-benefit", 12), ("d-choices", 4)] {
        let moved = shared_and_alone(Frontiers::HostGc, policy, pages).map(|mut c| {
            // The first run ends within the turn of the planes, but not within that of the pools.
            c.device.user_pages = c.device.user_pages / 96 * 96 + 30;
            let f = write_few(&c, 3 * c.device.user_pages, 9);
            f.ftl.audit().unwrap();
            assert!(f.tally.gc_pages > 0, "{policy}: nothing is collected");
            (f.tally.gc_pages, f.tally.programs(), f.ftl.space.free_blocks_total())
        });
        assert_eq!(moved[0], moved[1], "{policy}, {pages} pages a plane");
    }
}

/// Where both share a frontier, each takes its own turn at the planes, and the planes differ by a few pages.
#[test]
fn a_superblock_of_one_frontier_amplifies_writes_as_a_block_of_its_size() {
    for pages in [3, 12] {
        let [shared, alone] = shared_and_alone(Frontiers::Single, "greedy", pages);
        let (shared, alone) = (waf_of_uniform(&shared), waf_of_uniform(&alone));
        let more = shared / alone - 1.0;
        assert!(more.abs() < 0.015, "{pages} pages: {shared:.3} beside {alone:.3}");
    }
}

/// The most superblocks that a frontier had open at once while pages were written at random.
fn most_open(c: &Config, writes: u32) -> usize {
    let (user, mut rng) = (c.device.user_pages, Stream::new(11, "most open"));
    let mut f = Functional::new(c, Ftl::new(c));
    let mut most = 0;
    for write in 0..user + writes {
        let lpn = if write < user { write } else { rng.below(u64::from(user)) as u32 };
        f.write(Lpn(lpn), 0).unwrap();
        most = open_superblocks(&f.ftl).values().map(BTreeSet::len).fold(most, usize::max);
    }
    f.ftl.audit().unwrap();
    most
}

/// Pages of the host and copies, each in turn, share a frontier, so some planes get ahead of others. Three superblocks
/// are at rest (the reserve, and one to gain from).
#[test]
fn two_are_open_where_the_spare_holds_two() {
    for (spare, expected) in [(4, 1), (5, 2)] {
        let mut c = small_drive("none");
        c.alloc.frontiers = Frontiers::Single;
        c.device.user_pages = 2 * (131 - spare) * 16 * 3;
        assert_eq!(most_open(&c, 20_000), expected, "{spare} spare superblocks");
    }
}

fn in_time(c: &Config, seed: u64, requests: u64) {
    let mut c = c.clone();
    c.run.data = DataMode::Digest;
    let weather = Weather { requests, depth: 48, seed, audit: 16, mix: [20, 8, 2], pause: 0 };
    let mut storm = Storm::new(&c, weather);
    storm.run().unwrap_or_else(|e| panic!("{e}"));
    few_are_open(&c, &storm.ssd.core.ftl).unwrap_or_else(|e| panic!("in time: {e}"));
}

fn without_time(c: &Config, seed: u64, writes: u32) {
    let f = write_few(c, writes, seed);
    f.ftl.audit().unwrap_or_else(|e| panic!("without time: {e}"));
    few_are_open(c, &f.ftl).unwrap_or_else(|e| panic!("without time: {e}"));
}

proptest! {
    #![proptest_config(cases(300, 41))]
    #[test]
    fn any_frontiers_on_superblocks_with_any_other_answer(
        RandomConfig(c) in superblocks(), seed in any::<u64>(),
    ) {
        in_time(&c, seed, 300);
        without_time(&c, seed, 3000);
    }
}

proptest! {
    #![proptest_config(cases(2000, 42))]
    #[test]
    #[ignore = "long"]
    fn any_frontiers_on_superblocks_at_length(
        RandomConfig(c) in superblocks(), seed in any::<u64>(),
    ) {
        in_time(&c, seed, 1000);
        without_time(&c, seed, 20_000);
    }
}
