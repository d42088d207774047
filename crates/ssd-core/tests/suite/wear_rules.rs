//! Wear by its rules, recomputed from the tables: how long a block lives, and when a device ends.

use crate::rig::{device, free_blocks, named};
use ssd_core::config::{Config, EraseUnit, PoolScope};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::blocks::BlockState;
use ssd_core::rng::Stream;
use ssd_core::sim::functional::Functional;
use ssd_core::units::{BlockId, Lpn, PoolId};

/// Two planes of 24 blocks of 16 pages, of which 70 % are the host's.
fn base() -> Config {
    let mut c = device([2, 1, 1], 24, 16, 2 * 24 * 16 * 7 / 10);
    c.gc.trigger = vec![free_blocks(3)];
    c
}

/// A page, mostly of the first tenth.
fn page(rng: &mut Stream, user: u32) -> Lpn {
    let most = if rng.chance(0.9) { user / 10 } else { user };
    Lpn(rng.below(u64::from(most)) as u32)
}

/// The erases that each unit survives: the fewest of its flash blocks, drawn one after the other.
fn lives(c: &Config, members: u32) -> Vec<u32> {
    let mut rng = Stream::new(c.run.seed, "endurance");
    let units = c.device.blocks_per_plane * 2 / members;
    let mut draw = || {
        let place = 2.0 * rng.unit() - 1.0;
        let life = f64::from(c.wear.endurance) * (1.0 + c.wear.endurance_spread * place);
        (life.round() as u32).max(1)
    };
    let draws: Vec<u32> = (0..units * members).map(|_| draw()).collect();
    draws.chunks(members as usize).map(|unit| *unit.iter().min().expect("members")).collect()
}

#[test]
fn a_unit_lives_as_long_as_its_weakest_flash_block_and_a_device_as_its_first_pool() {
    let mut ends = Vec::new();
    for (scope, members) in [(PoolScope::Plane, 1), (PoolScope::Device, 1), (PoolScope::Device, 2)]
    {
        for bad in [0.0, 0.1] {
            let mut c = base();
            (c.wear.endurance, c.wear.endurance_spread) = (500, 0.5);
            (c.wear.factory_bad_blocks, c.alloc.pool) = (bad, scope);
            if members == 2 {
                c.alloc.erase_unit = EraseUnit::Superblock;
                c.alloc.placement = named(ssd_core::ftl::place::ALL, "round-robin");
            }
            let lives = lives(&c, members);
            let mut f = Functional::new(&c, Ftl::new(&c));
            for (block, &life) in (0..).map(BlockId).zip(&lives) {
                let ends = |erases| f.ftl.wear.ends(block, erases, 0);
                assert!(ends(life) && !ends(life - 1), "{block:?} survives {life} erases");
            }
            let mut rng = Stream::new(5, "lives");
            (0..9000).for_each(|_| f.write(page(&mut rng, c.device.user_pages), 0).expect("room"));
            let (erases, pools) = (&f.ftl.blocks.erases, f.ftl.geo.pools);
            let good = |&b: &BlockId| f.ftl.blocks.state[b.at()] != BlockState::Bad;
            assert!(erases.iter().zip(&lives).all(|(erases, life)| erases < life), "none is worn");
            for spare in [0, 1, 3] {
                // For each pool, blocks in the order in which they end, if all are erased at the mean rate.
                let of_pool = |pool: PoolId| {
                    let blocks: Vec<BlockId> = f.ftl.blocks.of_pool(pool).filter(good).collect();
                    let all = f.ftl.geo.blocks_per_pool as usize;
                    let of = |list: &[u32]| blocks.iter().map(|b| list[b.at()]).collect::<Vec<_>>();
                    let rate = of(erases).iter().sum::<u32>() as f64 / blocks.len() as f64;
                    let mut left: Vec<u32> =
                        of(&lives).iter().zip(of(erases)).map(|(life, n)| life - n).collect();
                    left.sort_unstable();
                    // Blocks bad from the start are part of the spare that is lost.
                    let lost = (spare as usize).saturating_sub(all - blocks.len());
                    [left[0], left[lost]].map(|n| f64::from(n) / rate)
                };
                let all: Vec<[f64; 2]> = (0..pools).map(|p| of_pool(PoolId(p))).collect();
                let least = |at: usize| all.iter().map(|end| end[at]).fold(f64::INFINITY, f64::min);
                let end = f.ftl.ends_of_life(erases, spare).expect("blocks wear out");
                let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-12;
                assert!(near(end.first_block, least(0)), "{end:?}: {all:?}");
                assert!(near(end.spare, least(1)), "{end:?}: {all:?}, spare {spare}");
                ends.push(end.spare);
            }
            assert_eq!(f.ftl.ends_of_life(&vec![0; lives.len()], 1), None, "nothing was erased");
        }
    }
    ends.dedup();
    assert!(ends.len() > 12, "hardly any ends differ: {ends:?}");
}
