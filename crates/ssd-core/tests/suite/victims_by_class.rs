//! Separation policies that name the class of a victim: the device chooses only among its blocks, and each such policy
//! matches its literal version.

use crate::rig::{device, free_blocks, named, victim};
use ssd_core::config::Config;
use ssd_core::ftl::Ftl;
use ssd_core::ftl::gc::victim::{self as victims, Victim, VictimPolicy as _};
use ssd_core::ftl::plugs::{Plugs, PolicyFactory};
use ssd_core::ftl::separation::{
    ALL, ClassBlocks, Classes, CollectedBlock, Ground, PageCopy, PageWrite, ReplacedPage,
    Separation, SeparationPolicy, VictimScope,
};
use ssd_core::rng::Stream;
use ssd_core::sim::functional::Functional;
use ssd_core::units::{BlockId, Lpn, PoolId};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The answers of the policy, and what it was last told.
type Shared = Arc<Mutex<(VictimScope, Vec<ClassBlocks>)>>;

/// Classes by address; victims among the blocks that the test names.
struct NamedVictims(Shared);

impl SeparationPolicy for NamedVictims {
    fn classes(&self) -> Classes {
        Classes { host: 0, all: 3 }
    }
    fn of_write(&mut self, page: &PageWrite) -> u32 {
        page.lpn.0 % 3
    }
    fn of_copy(&mut self, page: &PageCopy) -> u32 {
        page.lpn.0 % 3
    }
    fn names_victims(&self) -> bool {
        true
    }
    fn victim_among(&mut self, _: PoolId, classes: &[ClassBlocks]) -> VictimScope {
        let mut told = self.0.lock().unwrap();
        told.1 = classes.to_vec();
        told.0
    }
}

impl PolicyFactory for NamedVictims {
    fn separation(&self, _: &Ground) -> Option<Box<dyn SeparationPolicy>> {
        Some(Box::new(NamedVictims(Arc::clone(&self.0))))
    }
}

/// A device of two pools after random writes, and what its policy was told.
fn written(name: &str, seed: u64) -> (Config, Functional, Shared) {
    let mut c = device([1, 2, 1], 64, 8, 2 * 64 * 8 * 7 / 10);
    (c.gc.victim, c.gc.trigger) = (victim(name), vec![free_blocks(2)]);
    let told = Arc::new(Mutex::new((VictimScope::All, Vec::new())));
    let plugs = Plugs::new(Arc::new(NamedVictims(Arc::clone(&told))));
    let mut f = Functional::with_plugs(&c, &plugs);
    let mut rng = Stream::new(seed, "written");
    for _ in 0..4000 {
        let class = rng.below(4) as u32;
        let among =
            [VictimScope::All, VictimScope::Class(class % 3), VictimScope::Oldest(class % 3)];
        told.lock().unwrap().0 = among[rng.below(3) as usize];
        f.write(Lpn(rng.below(u64::from(c.device.user_pages)) as u32), 0).expect("there is room");
    }
    f.ftl.audit().unwrap();
    (c, f, told)
}

fn sealed(f: &Functional, pool: PoolId, class: u32) -> Vec<BlockId> {
    let blocks = &f.ftl.blocks;
    let of_class = |b: &BlockId| blocks.is_candidate(*b) && blocks.origin(*b).class == class;
    blocks.of_pool(pool).filter(of_class).collect()
}

#[test]
fn victims_are_of_the_class_that_is_named() {
    let mut chosen = 0;
    for (name, seed) in ["greedy", "fifo", "windowed-greedy"].into_iter().zip(1..) {
        let (c, mut f, told) = written(name, seed);
        for (pool, class) in (0..2).map(PoolId).flat_map(|pool| (0..3).map(move |c| (pool, c))) {
            let of_class = sealed(&f, pool, class);
            let order = |b: &BlockId| f.ftl.blocks.seal_order[b.at()];
            let oldest = of_class.iter().copied().min_by_key(order);
            // The policy on a device on which only these blocks are sealed.
            let mut table = f.ftl.blocks.clone();
            for block in (0..table.len() as u32).map(BlockId).filter(|b| !of_class.contains(b)) {
                table.state[block.at()] = ssd_core::ftl::blocks::BlockState::Open;
            }
            let mut alone = Victim::build(&named(victims::ALL, &c.gc.victim.policy), &table);
            alone.init(&table, f.ftl.clock);
            let mut rng = Stream::new(0, "unused");
            let best = alone.select(pool, &table, f.ftl.clock, &mut rng);
            for (among, expected) in
                [(VictimScope::Oldest(class), oldest), (VictimScope::Class(class), best)]
            {
                told.lock().unwrap().0 = among;
                let found = f.ftl.choose(pool, false).map(|choice| choice.block);
                // A block without an invalid page is passed on as the oldest; otherwise it gains nothing.
                let gains = expected.is_some_and(|b| f.ftl.blocks.invalid(b) > 0);
                if gains || matches!(among, VictimScope::Oldest(_)) && expected.is_some() {
                    assert_eq!(found, expected, "{name}: {among:?} of {pool:?}");
                    chosen += 1;
                }
            }
        }
    }
    assert!(chosen > 30, "{chosen} victims were compared");
}

#[test]
fn a_policy_sees_the_sealed_blocks_of_each_class() {
    let (_, mut f, told) = written("greedy", 4);
    for pool in (0..2).map(PoolId) {
        let _ = f.ftl.choose(pool, false);
        let seen = told.lock().unwrap().1.clone();
        for (class, seen) in (0..3).zip(seen) {
            let of_class = sealed(&f, pool, class);
            let valid = |b: &BlockId| u32::from(f.ftl.blocks.valid[b.at()]);
            let expected = ClassBlocks {
                sealed: of_class.len() as u32,
                invalid: of_class.iter().map(|&b| u64::from(f.ftl.blocks.invalid(b))).sum(),
                least_valid: of_class.iter().map(valid).min().unwrap_or(0),
            };
            assert_eq!(seen, expected, "class {class} of {pool:?}");
        }
    }
}

/// Class 1 is written once, the others again and again; victims are always chosen from `among`.
fn only_of_one_class(among: VictimScope, victims: &str) -> Functional {
    let mut c = device([1, 1, 1], 64, 8, 64 * 8 * 8 / 10);
    (c.gc.victim, c.gc.trigger) = (victim(victims), vec![free_blocks(2)]);
    let plugs = Plugs::new(Arc::new(NamedVictims(Arc::new(Mutex::new((among, Vec::new()))))));
    let mut f = Functional::with_plugs(&c, &plugs);
    for lpn in 0..c.device.user_pages {
        f.write(Lpn(lpn), 0).unwrap();
    }
    for turn in 0..3000 {
        f.write(Lpn(turn % 8 * 3), 0).expect("collection makes room");
    }
    f.ftl.audit().unwrap();
    f
}

/// The oldest block is collected even without an invalid page, and this ends.
#[test]
fn naming_the_oldest_block_of_a_class_ends() {
    for victims in ["greedy", "fifo", "cost-benefit", "d-choices"] {
        let moved = only_of_one_class(VictimScope::Oldest(1), victims).tally.gc_pages;
        assert!(moved > 3000, "{victims}: full blocks are passed on: {moved} copies");
    }
}

/// No other block of such a class is collected without an invalid page, because that would never end.
#[test]
fn naming_a_class_without_an_invalid_page_ends() {
    let moved = only_of_one_class(VictimScope::Class(1), "greedy").tally.gc_pages;
    assert!(moved < 3000, "full blocks are moved within their class: {moved} copies");
    for victims in ["fifo", "cost-benefit", "d-choices"] {
        let _ = only_of_one_class(VictimScope::Class(1), victims);
    }
}

const PAGES: u32 = 300;
const GROUND: Ground = Ground {
    pages: PAGES,
    host_pages: PAGES,
    data_pages: 0,
    pages_per_block: 8,
    most_classes: 20,
    pools: 1,
    blocks_per_pool: 50,
    seed: 7,
};

/// A step of a literal version of a policy.
enum Step {
    Write(PageWrite, u32),
    Copy(PageCopy, u32),
    Collect(CollectedBlock),
    Victim(Vec<ClassBlocks>, VictimScope),
}

/// Random steps with the answers of the policy.
fn steps(name: &str, mut then: impl FnMut(&Step)) {
    let mut policy = Separation::build(&named(ALL, name), &GROUND);
    let classes = policy.classes();
    assert!(policy.names_victims(), "{name} names no victims");
    let (mut rng, mut clock) = (Stream::new(3, name), 0);
    for _ in 0..40_000 {
        let hot = rng.chance(0.8);
        let lpn = Lpn(rng.below(if hot { 20 } else { u64::from(PAGES) }) as u32);
        let low = rng.chance(0.6);
        let class = rng.below(if low { 2 } else { u64::from(classes.all) }) as u32;
        let step = match rng.below(10) {
            0..=5 => {
                let age = rng.below(400).min(clock);
                let replaces = rng.chance(0.9).then_some(ReplacedPage { class: Some(class), age });
                let page = PageWrite { lpn, stream: 0, pages: 1, replaces, clock };
                Step::Write(page, policy.of_write(&page))
            }
            6 | 7 => {
                let page = PageCopy { lpn, class: Some(class), clock };
                Step::Copy(page, policy.of_copy(&page))
            }
            8 => {
                let opened = clock.saturating_sub(rng.below(300));
                let valid = 3 + rng.below(5) as u32;
                let block = CollectedBlock { class, valid, opened, clock };
                policy.on_collect(&block);
                Step::Collect(block)
            }
            _ => {
                let mut of_class = || ClassBlocks {
                    sealed: 1 + rng.below(3) as u32,
                    invalid: rng.below(20),
                    least_valid: rng.below(9) as u32,
                };
                let seen: Vec<ClassBlocks> = (0..classes.all).map(|_| of_class()).collect();
                let among = policy.victim_among(PoolId(0), &seen);
                Step::Victim(seen, among)
            }
        };
        clock += u64::from(matches!(step, Step::Write(..)));
        then(&step);
    }
}

/// While it has no plan: hot victims have too many valid pages for one.
#[test]
fn midas_is_its_literal_version() {
    let mut counters = BTreeMap::<u32, i32>::new();
    let (mut hot_age, mut hot) = (None::<f64>, [0; 2]);
    steps("midas", |step| match step {
        Step::Write(page, class) => {
            let counter = counters.entry(page.lpn.0).or_default();
            if let Some(old) = page.replaces {
                let young = hot_age.is_none_or(|age| old.age as f64 <= age);
                let rises = old.class == Some(0) || old.class == Some(1) && young;
                *counter = (*counter + if rises { 1 } else { -1 }).clamp(0, 3);
            }
            hot[usize::from(*counter < 3)] += 1;
            assert_eq!(*class, u32::from(*counter < 3), "{page:?} with counter {counter}");
        }
        Step::Copy(page, class) => {
            let counter = counters.entry(page.lpn.0).or_default();
            *counter = (*counter - if page.class == Some(0) { 1 } else { 2 }).max(0);
            let from = page.class.unwrap();
            assert_eq!(*class, if from < 3 { from + 1 } else { 9 }, "{page:?}");
        }
        Step::Collect(block) if block.class == 0 => {
            let age = (block.clock - block.opened) as f64;
            let former = hot_age.unwrap_or(age);
            hot_age = Some(former + (age - former) / 16.0);
        }
        Step::Collect(_) => {}
        Step::Victim(_, among) => assert_eq!(*among, VictimScope::All),
    });
    assert!(hot[0] > 300 && hot[1] > 3000, "hot and other writes: {hot:?}");
}

#[test]
fn host_and_copies_are_their_literal_version() {
    // What is left to gain, the region, and how often each was chosen.
    let (mut wanted, mut region, mut seen) = (0i64, 0, [0; 2]);
    steps("host-and-copies", |step| match step {
        Step::Write(_, class) => assert_eq!(*class, 0),
        Step::Copy(_, class) => assert_eq!(*class, 1),
        Step::Collect(block) => {
            let left = if wanted == 0 { 8 } else { wanted };
            wanted = (left - (8 - i64::from(block.valid))).max(0);
        }
        Step::Victim(classes, among) => {
            let few = [0, 1].map(|at: usize| classes[at].invalid < 8);
            if wanted == 0 || few[region] {
                let better = classes[1].least_valid <= classes[0].least_valid;
                region = usize::from(!few[1] && (few[0] || better));
            }
            seen[region] += 1;
            assert_eq!(*among, VictimScope::Class(region as u32), "{classes:?}");
        }
    });
    assert!(seen.iter().all(|&times| times > 100), "{seen:?}");
}

/// Groups have the sizes of a plan, and the plan saves copies.
#[test]
fn a_plan_of_midas_saves_copies() {
    let mut c = device([1, 1, 1], 400, 32, 400 * 32 * 8 / 10);
    c.alloc.separation = named(ALL, "midas");
    (c.gc.victim, c.gc.trigger) = (victim("greedy"), vec![free_blocks(2)]);
    let mut f = Functional::new(&c, Ftl::new(&c));
    let mut rng = Stream::new(5, "skewed");
    let user = u64::from(c.device.user_pages);
    (0..c.device.user_pages).for_each(|lpn| f.write(Lpn(lpn), 0).unwrap());
    let mut copies = Vec::new();
    for _ in 0..10 {
        let before = f.tally.gc_pages;
        for _ in 0..user {
            let reach = (user >> rng.below(13)).max(1);
            f.write(Lpn(rng.below(reach) as u32), 0).unwrap();
        }
        copies.push(f.tally.gc_pages - before);
    }
    f.ftl.audit().unwrap();
    // A plan follows the first windows, in which less is copied than it promises.
    assert!(copies[9] * 100 < copies[4] * 80, "copies by turn: {copies:?}");
    let all: Vec<usize> = (0..10).map(|class| sealed(&f, PoolId(0), class).len()).collect();
    assert!(all[0] > 0 && all[1] > all[0], "blocks by group: {all:?}");
}
