//! Separation of pages: any combination completes, classes match those of a literal version, and a permutation of the
//! addresses changes nothing.

use crate::cases::cases;
use crate::rig::any_config::{RandomConfig, separated_config};
use crate::rig::storm::{Storm, Weather};
use crate::rig::{device, free_blocks, named, victim};
use proptest::prelude::*;
use ssd_core::config::{Config, DataMode};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::separation::future::FutureWrites;
use ssd_core::ftl::separation::{
    ALL, CollectedBlock, Ground, PageCopy, PageWrite, ReplacedPage, Separation,
    SeparationPolicy as _,
};
use ssd_core::host::device::Device as _;
use ssd_core::rng::Stream;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{BlockId, Lpn};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

fn completes_or_says_why(c: &Config, seed: u64, requests: u64) {
    let weather = Weather { requests, depth: 32, seed, audit: 64, mix: [20, 8, 2], pause: 0 };
    let mut storm = Storm::new(c, weather);
    if let Err(error) = storm.run() {
        return storm.gave_up(&error);
    }
    // The state can be stored, and a device that starts from it knows the same.
    if storm.ssd.quiesce().is_ok()
        && let Ok(stored) = storm.ssd.snapshot()
    {
        let again = Ssd::restore(c, &stored).expect("the same device");
        again.audit().unwrap_or_else(|e| panic!("restored: {e}"));
        assert_eq!(again.snapshot().map(|again| again.digest()), Ok(stored.digest()));
    }
}

proptest! {
    #![proptest_config(cases(600, 21))]
    #[test]
    fn any_separation_with_any_other_answer(
        RandomConfig(mut c) in separated_config(), seed in any::<u64>(),
    ) {
        c.run.data = DataMode::Digest;
        completes_or_says_why(&c, seed, 400);
    }
}

proptest! {
    #![proptest_config(cases(20_000, 22))]
    #[test]
    #[ignore = "long"]
    fn any_separation_at_length(RandomConfig(mut c) in separated_config(), seed in any::<u64>()) {
        c.run.data = DataMode::Digest;
        completes_or_says_why(&c, seed, 800);
    }
}

/// A step of a literal version of a policy.
enum PolicyStep {
    Write(PageWrite),
    Copy(u32, Option<u32>),
    Collect(CollectedBlock),
}

const PAGES: u32 = 300;
const GROUND: Ground = Ground {
    pages: PAGES,
    host_pages: PAGES,
    data_pages: 0,
    pages_per_block: 8,
    most_classes: 6,
    pools: 1,
    blocks_per_pool: 64,
    seed: 7,
};

/// Random steps with the answers of the policy: writes, most of them to few pages, collections and copies.
fn steps(name: &str, then: impl FnMut(&PolicyStep, u64, Option<u32>)) {
    steps_on(&GROUND, name, 30_000, then);
}

fn steps_on(
    ground: &Ground,
    name: &str,
    number: u32,
    mut then: impl FnMut(&PolicyStep, u64, Option<u32>),
) {
    let spec = named(ALL, name);
    let mut policy = Separation::build(&spec, ground);
    let classes = policy.classes();
    let (mut rng, mut clock) = (Stream::new(9, name), 0);
    for _ in 0..number {
        let hot = rng.chance(0.8);
        let lpn =
            rng.below(u64::from(if hot { ground.pages.min(20) } else { ground.pages })) as u32;
        let class = rng.below(u64::from(classes.all) + 1) as u32;
        let class = (class < classes.all).then_some(class);
        let (told, answer) = if rng.chance(0.6) {
            let age = rng.below(400).min(clock);
            let replaces = (clock > 0).then_some(ReplacedPage { class, age });
            let page = PageWrite { lpn: Lpn(lpn), stream: 0, pages: 1, replaces, clock };
            (PolicyStep::Write(page), Some(policy.of_write(&page)))
        } else if rng.chance(0.7) {
            let answer = policy.of_copy(&PageCopy { lpn: Lpn(lpn), class, clock });
            assert!(answer >= classes.host, "a copy in class {answer} of the host");
            (PolicyStep::Copy(lpn, class), Some(answer))
        } else {
            let opened = clock.saturating_sub(rng.below(200));
            let block = CollectedBlock { class: class.unwrap_or(0), valid: 3, opened, clock };
            policy.on_collect(&block);
            (PolicyStep::Collect(block), None)
        };
        assert!(answer.is_none_or(|class| class < classes.all), "there is no class {answer:?}");
        then(&told, clock, answer);
        clock += u64::from(matches!(told, PolicyStep::Write(_)));
    }
}

#[test]
fn dac_is_its_literal_version() {
    let mut regions = BTreeMap::<u32, u32>::new();
    steps("dac", |told, _, answer| match told {
        PolicyStep::Write(PageWrite { lpn: Lpn(lpn), .. }) => {
            let next =
                regions.get(lpn).map_or(0, |&region| if region < 5 { region + 1 } else { 5 });
            regions.insert(*lpn, next);
            assert_eq!(answer, Some(next));
        }
        PolicyStep::Copy(lpn, _) => {
            let next =
                regions.get(lpn).map_or(0, |&region| if region > 0 { region - 1 } else { 0 });
            regions.insert(*lpn, next);
            assert_eq!(answer, Some(next));
        }
        PolicyStep::Collect(_) => {}
    });
}

#[test]
fn fadac_is_its_literal_version() {
    let mut counters = BTreeMap::<u32, i64>::new();
    let mut seen = [0; 6];
    steps("fadac", |told, _, answer| {
        let (lpn, change) = match told {
            PolicyStep::Write(PageWrite { lpn: Lpn(lpn), .. }) => (*lpn, 1),
            PolicyStep::Copy(lpn, _) => (*lpn, -1),
            PolicyStep::Collect(_) => return,
        };
        let counter = counters.entry(lpn).or_default();
        *counter = (*counter + change).max(0);
        let above = [1, 10, 100, 1000, 10_000].iter().filter(|&bound| *counter > *bound).count();
        seen[above] += 1;
        assert_eq!(answer, Some(above as u32), "a counter of {counter}");
    });
    assert!(seen[..4].iter().all(|&n| n > 100), "{seen:?}");
}

#[test]
fn sepbit_is_its_literal_version() {
    let mut queue = VecDeque::<u32>::new();
    let mut last = BTreeMap::<u32, u64>::new();
    let (mut lifespan, mut batch) = (f64::INFINITY, Vec::<u64>::new());
    let mut seen = [0; 6];
    steps("sepbit", |told, clock, answer| match told {
        PolicyStep::Write(PageWrite { lpn: Lpn(lpn), .. }) => {
            // A page is in the queue if its last write is among the entries.
            let age = last.get(lpn).map(|&at| clock - at);
            let recent = age.is_some_and(|age| age < queue.len() as u64);
            let short = recent && (age.unwrap_or(0) as f64) < lifespan;
            assert!(!recent || queue.contains(lpn));
            queue.push_back(*lpn);
            let most = lifespan.min(f64::from(PAGES));
            for _ in 0..2 {
                if queue.len() as f64 > most {
                    queue.pop_front();
                }
            }
            last.insert(*lpn, clock);
            seen[usize::from(!short)] += 1;
            assert_eq!(answer, Some(u32::from(!short)), "a page of age {age:?}");
        }
        PolicyStep::Copy(lpn, class) => {
            let age = last.get(lpn).map_or(f64::INFINITY, |&at| (clock - at) as f64);
            let expected = match age {
                _ if *class == Some(0) => 2,
                _ if age < 4.0 * lifespan => 3,
                _ if age < 16.0 * lifespan => 4,
                _ => 5,
            };
            seen[expected as usize] += 1;
            assert_eq!(answer, Some(expected), "a copy of age {age}");
        }
        PolicyStep::Collect(block) => {
            batch.extend((block.class == 0).then_some(block.clock - block.opened));
            if batch.len() == 16 {
                lifespan = (batch.drain(..).sum::<u64>() / 16) as f64;
            }
        }
    });
    assert!(seen.iter().all(|&n| n > 100), "{seen:?}");
}

#[test]
fn two_regions_are_their_literal_version() {
    let (mut last, mut mean) = (BTreeMap::<u32, u64>::new(), f64::from(PAGES));
    let mut seen = [0; 2];
    steps("two-regions", |told, clock, answer| {
        let (PolicyStep::Write(PageWrite { lpn: Lpn(lpn), .. }) | PolicyStep::Copy(lpn, _)) = told
        else {
            return;
        };
        let age = last.get(lpn).map(|&at| (clock - at) as f64);
        let hot = age.is_some_and(|age| age < mean);
        if let PolicyStep::Write(_) = told {
            last.insert(*lpn, clock);
            if let Some(age) = age {
                mean += (age.max(1.0) - mean) / f64::from(PAGES);
            }
        }
        seen[usize::from(!hot)] += 1;
        assert_eq!(answer, Some(u32::from(!hot)), "age {age:?}, mean {mean}");
    });
    assert!(seen.iter().all(|&n| n > 1000), "{seen:?}");
}

/// A page as old as the mean is cold, and one that is one write younger is hot.
#[test]
fn data_as_old_as_the_mean_are_cold() {
    let mut policy = Separation::build(&named(ALL, "two-regions"), &GROUND);
    let write = |lpn: u32, clock: u32| {
        let (lpn, clock) = (Lpn(lpn), u64::from(clock));
        PageWrite { lpn, stream: 0, pages: 1, replaces: None, clock }
    };
    // New pages leave the mean at its initial value: the number of pages.
    for page in 0..PAGES {
        assert_eq!(policy.of_write(&write(page, page)), 1, "page {page} is new");
    }
    let copy = |page| PageCopy { lpn: Lpn(page), class: None, clock: u64::from(PAGES) };
    assert_eq!([0, 1].map(|page| policy.of_copy(&copy(page))), [1, 0]);
    assert_eq!(policy.of_write(&write(0, PAGES)), 1, "it has replaced data of the mean age");
    assert_eq!(policy.of_write(&write(2, PAGES + 1)), 0, "these are younger");
}

#[test]
fn multilog_is_its_literal_version() {
    let mut rng = Stream::new(GROUND.seed, "multilog");
    // For each page, its last write and its log; for each log, the valid share of its collected blocks.
    let (mut pages, mut valid) = (BTreeMap::<u32, (u64, u32)>::new(), vec![1.0, 1.0]);
    let mut seen = [0; 6];
    steps("multilog", |told, clock, answer| match told {
        PolicyStep::Write(PageWrite { lpn: Lpn(lpn), .. }) => {
            let log = pages.get(lpn).map_or(0, |&(last, log)| {
                let inside = pages.values().filter(|page| page.1 == log).count() as f64;
                let expected = inside * valid[log as usize] / 2.0;
                let early = 1.0 - (clock - last) as f64 / expected;
                if log > 0 && early > 0.0 && rng.chance(early) { log - 1 } else { log }
            });
            pages.insert(*lpn, (clock, log));
            assert_eq!(answer, Some(log));
        }
        PolicyStep::Copy(lpn, _) => {
            let from = pages.get(lpn).map_or(0, |page| page.1);
            let last = valid.len() as u32 - 1;
            let inside = pages.values().filter(|page| page.1 == last).count();
            if from == last && inside >= 8 && valid.len() < 6 {
                valid.push(1.0);
            }
            let log = (from + 1).min(valid.len() as u32 - 1);
            if let Some(page) = pages.get_mut(lpn) {
                page.1 = log;
            }
            seen[log as usize] += 1;
            assert_eq!(answer, Some(log));
        }
        PolicyStep::Collect(block) => {
            if let Some(share) = valid.get_mut(block.class as usize) {
                *share += (f64::from(block.valid) / 8.0 - *share) / 16.0;
            }
        }
    });
    assert!(seen[1..].iter().all(|&n| n > 100), "{seen:?}");
}

/// The literal version of SFS.
struct Sfs {
    device_pages: u32,
    rng: Stream,
    /// For each page, its last write and its count.
    pages: BTreeMap<u32, (u64, i32)>,
    centres: Vec<f64>,
    copied: u32,
}

impl Sfs {
    fn writes_and_age(&self, lpn: u32, clock: u64) -> Option<(f64, f64)> {
        let &(last, count) = self.pages.get(&lpn)?;
        Some(((1.05f64.powi(count) - 1.0) / (1.05 - 1.0), (clock - last).max(1) as f64))
    }

    fn class(&self, hotness: f64) -> usize {
        let far = |class: usize| (self.centres[class] - hotness).abs();
        (0..self.centres.len())
            .fold(0, |best, class| if far(class) < far(best) { class } else { best })
    }

    /// About every fifth page is copied before the centres are computed from 1,024 pages, 16 at a time.
    fn copy(&mut self, clock: u64) {
        self.copied += 1;
        if self.copied < self.device_pages.div_ceil(64) {
            return;
        }
        self.copied = 0;
        let draw = |_| self.rng.below(u64::from(self.device_pages)) as u32;
        let drawn: Vec<u32> = (0..1024).map(draw).collect();
        let mut pages: Vec<_> =
            drawn.iter().filter_map(|&lpn| self.writes_and_age(lpn, clock)).collect();
        pages.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
        let mut blocks: Vec<f64> = pages
            .chunks(16)
            .map(|some| {
                let (mut writes, mut age) = (0.0, 0.0);
                some.iter().for_each(|page| (writes, age) = (writes + page.0, age + page.1));
                writes / age
            })
            .collect();
        blocks.sort_by(f64::total_cmp);
        if self.centres.is_empty() {
            self.centres =
                (0..6).map(|class| blocks[(2 * class + 1) * blocks.len() / 12]).collect();
        }
        for _ in 0..3 {
            let mut groups = vec![Vec::new(); 6];
            blocks.iter().for_each(|&hotness| groups[self.class(hotness)].push(hotness));
            for (centre, group) in self.centres.iter_mut().zip(groups) {
                if !group.is_empty() {
                    *centre = group.iter().sum::<f64>() / group.len() as f64;
                }
            }
        }
        self.centres.sort_by(f64::total_cmp);
    }
}

#[test]
fn sfs_is_its_literal_version() {
    // With few pages several centres coincide: a page as near to two goes to the colder one.
    for (device_pages, number) in [(PAGES, 30_000), (2, 300)] {
        let rng = Stream::new(GROUND.seed, "sfs");
        let mut sfs =
            Sfs { device_pages, rng, pages: BTreeMap::new(), centres: Vec::new(), copied: 0 };
        let (mut seen, mut ties) = ([0; 6], 0);
        let ground = Ground { pages: device_pages, host_pages: device_pages, ..GROUND };
        steps_on(&ground, "sfs", number, |told, clock, answer| {
            let expected = match told {
                PolicyStep::Write(PageWrite { lpn: Lpn(lpn), .. }) => {
                    let age = sfs.pages.get(lpn).map(|page| (clock - page.0).max(1) as f64);
                    let count = sfs.pages.get(lpn).map_or(0, |page| page.1);
                    let next = count < 255 && sfs.rng.chance(1.05f64.powi(-count));
                    sfs.pages.insert(*lpn, (clock, count + i32::from(next)));
                    let (writes, _) = sfs.writes_and_age(*lpn, clock).unwrap();
                    age.map_or(0, |age| sfs.class(writes / age))
                }
                PolicyStep::Copy(lpn, _) => {
                    sfs.copy(clock);
                    let hotness = sfs.writes_and_age(*lpn, clock).map(|(writes, age)| writes / age);
                    hotness.map_or(0, |hotness| sfs.class(hotness))
                }
                PolicyStep::Collect(_) => return,
            };
            seen[expected] += 1;
            let same = |centre: &&f64| sfs.centres.get(expected) == Some(*centre);
            ties += u32::from(sfs.centres.iter().filter(same).count() > 1);
            assert_eq!(answer, Some(expected as u32));
        });
        let enough = if device_pages == PAGES { seen.iter().all(|&n| n > 50) } else { ties > 5 };
        assert!(enough, "{device_pages} pages: {seen:?}, {ties} ties");
    }
}

/// The literal version of WARCIP, whose reviews are due after 256 blocks of 8 pages.
struct Warcip {
    last: BTreeMap<u32, u64>,
    /// Mean and writes of each cluster.
    clusters: Vec<(f64, u64)>,
    /// Writes of the host since the last review of the clusters.
    since: u32,
    /// How often two clusters were equally near, and how often different ones had equally few writes.
    ties: [u32; 2],
}

impl Warcip {
    fn new(pages: u32) -> Warcip {
        Warcip {
            last: BTreeMap::new(),
            clusters: vec![(f64::from(pages), 0)],
            since: 0,
            ties: [0; 2],
        }
    }

    /// The cluster of a write; `copied`: when the page was copied since its last write.
    fn write(&mut self, lpn: u32, clock: u64, copied: Option<u64>) -> usize {
        let cluster = match self.last.insert(lpn, clock) {
            Some(before) => {
                let waited = copied.map_or(0, |at| at.saturating_sub(before));
                let interval = (clock - before + waited) as f64;
                let far: Vec<f64> =
                    self.clusters.iter().map(|cluster| (cluster.0 - interval).abs()).collect();
                let least = far.iter().copied().fold(f64::INFINITY, f64::min);
                let is_least = |far: &f64| far.total_cmp(&least).is_eq();
                let at = far.iter().position(is_least).unwrap();
                let as_near =
                    |(far, of): (&f64, &(f64, u64))| is_least(far) && of.0 > self.clusters[at].0;
                self.ties[0] += u32::from(far.iter().zip(&self.clusters).any(as_near));
                self.clusters[at].1 += 1;
                self.clusters[at].0 +=
                    (interval - self.clusters[at].0) / self.clusters[at].1 as f64;
                at
            }
            None => self.clusters.len() - 1,
        };
        self.since += 1;
        if self.since == 256 * 8 {
            self.look();
            self.since = 0;
        }
        cluster
    }

    /// Split the cluster with more than half of the writes, or remove the one with less than a block of 8 pages.
    fn look(&mut self) {
        let clusters = &mut self.clusters;
        let all: u64 = clusters.iter().map(|cluster| cluster.1).sum();
        let large = clusters.iter().position(|cluster| cluster.1 * 2 > all);
        let least = clusters.iter().map(|cluster| cluster.1).min().unwrap();
        if let Some(at) = large.filter(|_| clusters.len() < 5) {
            let mean = clusters[at].0;
            clusters[at].0 = mean / 2.0;
            clusters.push((mean * 1.5, 0));
        } else if least < 8 && clusters.len() > 1 {
            let at = clusters.iter().position(|cluster| cluster.1 == least).unwrap();
            let (mean, _) = clusters.remove(at);
            let as_few = clusters.iter().any(|other| other.1 == least && other.0 > mean);
            self.ties[1] += u32::from(as_few);
        }
        clusters.sort_by(|a, b| a.0.total_cmp(&b.0));
        clusters.iter_mut().for_each(|cluster| cluster.1 = 0);
    }
}

#[test]
fn warcip_is_its_literal_version() {
    let mut warcip = Warcip::new(PAGES);
    let mut seen = [0; 6];
    steps("warcip", |told, clock, answer| match told {
        PolicyStep::Write(PageWrite { lpn: Lpn(lpn), replaces, .. }) => {
            let copied = replaces.filter(|old| old.class == Some(5)).map(|old| clock - old.age);
            let expected = warcip.write(*lpn, clock, copied);
            seen[expected] += 1;
            assert_eq!(answer, Some(expected as u32));
        }
        PolicyStep::Copy(..) => assert_eq!(answer, Some(5)),
        PolicyStep::Collect(_) => {}
    });
    assert!(seen[0] > 1000 && seen[1] > 1000, "{seen:?}");
}

/// Pages that are written in turn have one interval. If it stays the same over a review, it is the mean that is split,
/// and is equally near to both halves; and the clusters that it leaves have no writes.
#[test]
fn ties_of_warcip_go_to_the_shorter_intervals() {
    let pages = 400;
    let ground = Ground { pages, host_pages: pages, ..GROUND };
    let mut policy = Separation::build(&named(ALL, "warcip"), &ground);
    let mut warcip = Warcip::new(pages);
    let (mut rng, mut clock) = (Stream::new(8, "turns"), 0);
    for _ in 0..60 {
        let in_turn = 2 + rng.below(u64::from(pages) - 2) as u32;
        for number in 0..rng.below(8192) as u32 {
            let lpn = number % in_turn;
            let page = PageWrite { lpn: Lpn(lpn), stream: 0, pages: 1, replaces: None, clock };
            let expected = warcip.write(lpn, clock, None) as u32;
            assert_eq!(policy.of_write(&page), expected, "write {clock}: one of {in_turn} pages");
            clock += 1;
        }
    }
    assert!(warcip.ties[0] > 5 && warcip.ties[1] > 5, "{:?} ties", warcip.ties);
}

/// The parity of a group is overwritten with the first of its pages.
#[test]
fn the_future_of_parity_is_that_of_its_group() {
    let (groups, data) = (20, 3);
    let ground =
        Ground { pages: groups * 4, host_pages: groups * data, data_pages: data, ..GROUND };
    let mut rng = Stream::new(6, "parity");
    let order: Vec<Lpn> = (0..900).map(|_| Lpn(rng.below(60).min(rng.below(60)) as u32)).collect();
    let Separation::Future(policy) = Separation::build(&named(ALL, "future"), &ground) else {
        panic!("another policy")
    };
    let mut policy = policy.foreseeing(Arc::new(FutureWrites::new(groups * data, &order)));
    let mut seen = [0; 6];
    for (clock, &lpn) in (0..).zip(&order) {
        policy.of_write(&PageWrite { lpn, stream: 0, pages: 1, replaces: None, clock });
        for group in 0..groups {
            let mut class =
                |lpn| policy.of_copy(&PageCopy { lpn: Lpn(lpn), class: None, clock: clock + 1 });
            let first = (group * data..(group + 1) * data).map(&mut class).min().unwrap();
            assert_eq!(class(groups * data + group), first, "group {group} after {clock}");
            seen[first as usize] += 1;
        }
    }
    assert!(seen.iter().filter(|&&times| times > 50).count() > 2, "{seen:?}");
}

#[test]
fn the_future_is_what_follows() {
    let mut rng = Stream::new(4, "future");
    let order: Vec<Lpn> = (0..6000)
        .map(|_| {
            let reach = if rng.chance(0.8) { 20 } else { u64::from(PAGES) };
            Lpn(rng.below(reach) as u32)
        })
        .collect();
    let spec = named(ALL, "future");
    let Separation::Future(policy) = Separation::build(&spec, &GROUND) else { unreachable!() };
    // The last writes are not foreseen.
    let mut policy = policy.foreseeing(Arc::new(FutureWrites::new(PAGES, &order[..5500])));
    let class = |lpn: Lpn, clock: usize, from: usize| {
        let Some(next) = (from..5500).find(|&number| order[number] == lpn) else { return 5 };
        let left = next.saturating_sub(clock) as f64;
        // Six classes: each twice as wide as the one below, the last one beginning at four times the pages.
        (1..6).rev().find(|&class| left > 1200.0 / 2f64.powi(5 - class)).unwrap_or(0) as u32
    };
    let mut seen = [0; 6];
    for (number, &lpn) in order.iter().enumerate() {
        let page = PageWrite { lpn, stream: 0, pages: 1, replaces: None, clock: number as u64 };
        let expected = class(lpn, number, number + 1);
        assert_eq!(policy.of_write(&page), expected, "write {number} of {lpn:?}");
        seen[expected as usize] += 1;
        let copied = Lpn(rng.below(u64::from(PAGES)) as u32);
        let page = PageCopy { lpn: copied, class: None, clock: number as u64 + 1 };
        let expected = class(copied, number + 1, number + 1);
        assert_eq!(policy.of_copy(&page), expected, "a copy of {copied:?} after write {number}");
    }
    assert!(seen.iter().all(|&n| n > 50), "{seen:?}");
}

/// A device of one plane whose pages are separated by `name`.
fn separated(name: &str) -> Config {
    let mut c = device([1, 1, 1], 256, 16, 256 * 16 * 4 / 5);
    c.alloc.separation = named(ALL, name);
    (c.gc.victim, c.gc.trigger) = (victim("greedy"), vec![free_blocks(2)]);
    c
}

/// Skewed writes after one pass over the device, with the addresses in the order of `order`.
fn run(c: &Config, order: &[u32], writes: u32) -> Functional {
    let mut f = Functional::new(c, Ftl::new(c));
    let mut rng = Stream::new(5, "skewed");
    let user = u64::from(c.device.user_pages);
    for &lpn in order {
        f.write(Lpn(lpn), 0).expect("the device has room");
    }
    for _ in 0..writes {
        // The first thousandth is written in every round, the second half only in every tenth.
        let reach = user >> rng.below(10);
        let page = rng.below(reach.max(1));
        f.write(Lpn(order[page as usize]), 0).expect("the device has room");
    }
    f.ftl.audit().unwrap();
    f
}

#[test]
fn blocks_know_for_which_class_and_when_they_were_opened() {
    let c = separated("sepbit");
    let mut f = Functional::new(&c, Ftl::new(&c));
    // New pages are of class 1; a block is opened by the write for which it is opened.
    (0..100).for_each(|lpn| f.write(Lpn(lpn), 0).unwrap());
    let opened = |f: &Functional, page: u32| {
        let page = f.ftl.owners.committed(Lpn(page)).unwrap();
        let origin = f.ftl.blocks.origin(f.ftl.geo.block_of(page));
        (origin.class, origin.opened)
    };
    let found: Vec<_> = (0..100).map(|lpn| opened(&f, lpn)).collect();
    let expected: Vec<_> = (0..100u64).map(|lpn| (1, lpn / 16 * 16 + 1)).collect();
    assert_eq!(found, expected);
    // It has lived for less than l, which is not known yet.
    f.write(Lpn(99), 0).unwrap();
    assert_eq!(opened(&f, 99), (0, 101));
}

#[test]
fn copies_are_in_the_class_that_the_policy_names() {
    let c = separated("sepbit");
    let f = run(&c, &(0..c.device.user_pages).collect::<Vec<_>>(), 30_000);
    let mut blocks = [0; 6];
    for block in (0..f.ftl.blocks.len() as u32).map(BlockId) {
        if f.ftl.blocks.fill[block.at()].bound > 0 {
            blocks[f.ftl.blocks.origin(block).class as usize] += 1;
        }
    }
    assert!(blocks.iter().all(|&n| n > 0), "blocks by class: {blocks:?}");
}

#[test]
fn a_permutation_of_the_addresses_changes_nothing() {
    // SFS draws addresses.
    for info in ALL.iter().filter(|info| info.name != "sfs") {
        let c = separated(info.name);
        let straight: Vec<u32> = (0..c.device.user_pages).collect();
        let mut shuffled = straight.clone();
        let mut rng = Stream::new(6, "shuffled");
        for i in (1..shuffled.len()).rev() {
            shuffled.swap(i, rng.below(i as u64 + 1) as usize);
        }
        let (a, b) = (run(&c, &straight, 30_000), run(&c, &shuffled, 30_000));
        assert_eq!(a.tally, b.tally, "{}", info.name);
        assert_eq!(a.ftl.diverted_copies(), b.ftl.diverted_copies(), "{}", info.name);
    }
}

#[test]
fn separation_pays_on_skewed_writes() {
    let copies = |name: &str| {
        let c = separated(name);
        run(&c, &(0..c.device.user_pages).collect::<Vec<_>>(), 60_000).tally.gc_pages
    };
    let without = copies("none");
    for (name, most) in [
        ("dac", 90),
        ("fadac", 90),
        ("multilog", 98),
        ("sepbit", 95),
        ("sfs", 98),
        ("two-regions", 98),
        ("warcip", 98),
    ] {
        let with = copies(name);
        assert!(with * 100 < without * most, "{name}: {with} copies, {without} without");
    }
}
