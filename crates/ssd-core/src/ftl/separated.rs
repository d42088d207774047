//! The classes of pages on a device that separates.

use super::Ftl;
use super::blocks::Origin;
use super::gc::victim::VictimPolicy;
use super::map::Entry;
use super::plugs::Plugs;
use super::reclaim::Counts;
use super::separation::{
    Classes, CollectedBlock, Ground, PageCopy, PageWrite, ReplacedPage, Separation,
    SeparationPolicy, VictimScope, fdp,
};
use crate::config::Config;
use crate::units::{BlockId, Lpn, PoolId, Ppn};

/// The policy, and its state.
pub(super) struct Separator {
    /// The policy as the user names it.
    pub(super) name: String,
    policy: Separation,
    classes: Classes,
    /// Whether the classes are the active zones of a device whose interface they are.
    pub(super) of_zones: bool,
    /// Whether the policy names the classes of victims.
    names_victims: bool,
    /// By pool, consecutive victims without an invalid page; without pools until there is one.
    passed_on: Vec<u32>,
    /// Counts of blocks and copies, in total and before the measurement.
    pub(super) counts: Counts,
    pub(super) before: Counts,
}

impl Separator {
    pub(super) fn new((name, policy): (String, Separation), of_zones: bool) -> Separator {
        let classes = policy.classes();
        assert!(classes.all > classes.host && classes.all <= 255, "{classes:?}");
        let counts = Counts::new(classes.all + 1);
        let names_victims = policy.names_victims();
        let before = counts.clone();
        let passed_on = Vec::new();
        Separator { name, policy, classes, of_zones, names_victims, passed_on, before, counts }
    }

    /// The number of classes, if the policy names those of victims.
    pub(super) fn classes_of_victims(&self) -> Option<u32> {
        debug_assert!(self.classes.all > 0, "a policy without classes");
        self.names_victims.then_some(self.classes.all)
    }

    /// The policy as FDP, if it is FDP.
    pub(super) fn fdp(&self) -> Option<&fdp::Policy> {
        debug_assert!(self.classes.all > 0, "a policy without classes");
        if let Separation::Fdp(policy) = &self.policy { Some(policy) } else { None }
    }

    pub(super) fn classes(&self) -> Classes {
        self.classes
    }

    /// Reset the separation to `policy` after a power cut. What does not live in the memory of a controller remains:
    /// the future of the mark, and the handles of FDP, which are in the out-of-band data of pages.
    fn begin_anew(&mut self, policy: Separation) {
        assert_eq!(policy.classes(), self.classes, "another policy");
        let remains = matches!(self.policy, Separation::Future(_) | Separation::Fdp(_));
        if !remains {
            self.policy = policy;
        }
        self.passed_on.clear();
    }

    /// Append what is known of pages and victims, for a snapshot. Counts are not included: a measurement begins with a
    /// run.
    pub(super) fn save(&self, bytes: &mut Vec<u8>) {
        debug_assert!(self.passed_on.len() < 1 << 16, "a device has fewer pools");
        bytes.extend_from_slice(&(self.passed_on.len() as u32).to_le_bytes());
        self.passed_on.iter().for_each(|turns| bytes.extend_from_slice(&turns.to_le_bytes()));
        self.policy.save(bytes);
    }

    /// Restore it, and remove it from `bytes`.
    ///
    /// # Errors
    /// The bytes end early or contain an impossible state.
    pub(super) fn load(&mut self, bytes: &mut &[u8]) -> Result<(), String> {
        debug_assert!(self.passed_on.is_empty(), "victims have been chosen");
        let mut number = || {
            let (first, rest) = bytes.split_first_chunk().ok_or("its victims end early")?;
            *bytes = rest;
            Ok::<u32, String>(u32::from_le_bytes(*first))
        };
        for _ in 0..number()? {
            self.passed_on.push(number()?);
        }
        self.policy.load(bytes)
    }
}

impl Ftl {
    /// Whether a policy separates pages.
    #[inline(always)]
    #[must_use]
    pub fn separates(&self) -> bool {
        debug_assert_eq!(self.separated.is_some(), self.space.separates(), "half of a policy");
        self.separated.is_some()
    }

    /// The class of a write of `lpn` that is being admitted, in a request of `pages` pages and stream `stream`; without
    /// separation, the stream.
    #[inline]
    pub fn class_of_write(&mut self, lpn: Lpn, stream: u8, pages: u32) -> u8 {
        if self.separated.is_none() { stream } else { self.ask_class(lpn, stream, pages) }
    }

    #[inline(never)]
    fn ask_class(&mut self, lpn: Lpn, stream: u8, pages: u32) -> u8 {
        debug_assert!(lpn.0 < self.geo.logical_pages, "{lpn:?} is beyond the device");
        let replaces = match self.owners.newest(lpn) {
            Entry::Page(page) => {
                let block = self.geo.block_of(page);
                let age = self.space.clock() - self.blocks.origin(block).opened;
                Some(ReplacedPage { class: self.class_of_block(block), age })
            }
            Entry::Slot(_) | Entry::Unmapped => None,
        };
        let separated = self.separated.as_deref_mut().expect("the caller has checked");
        let page = PageWrite { lpn, stream, pages, replaces, clock: self.space.clock() };
        let class = separated.policy.of_write(&page);
        assert!(class < separated.classes.all, "{page:?} is in class {class}");
        self.space.page_is_written();
        class as u8
    }

    /// The class of `block`; `None` if wear levelling has filled it.
    fn class_of_block(&self, block: BlockId) -> Option<u32> {
        let class = self.blocks.origin(block).class;
        debug_assert!(class <= self.space.streams(), "{block:?} is in class {class}");
        Some(class).filter(|&class| class < self.space.streams())
    }

    /// The class of the copy of `source`, a valid page of a victim.
    pub fn class_of_copy(&mut self, source: Ppn) -> u8 {
        debug_assert!(self.owners.is_valid(source), "{source:?} is copied and has no owner");
        let class = self.class_of_block(self.geo.block_of(source));
        let separated = self.separated.as_deref_mut().expect("the device separates");
        let page = PageCopy { lpn: self.flash.lpn(source), class, clock: self.space.clock() };
        let class = separated.policy.of_copy(&page);
        let Classes { host, all } = separated.classes;
        assert!((host..all).contains(&class), "the copy of {page:?} is in class {class}");
        class as u8
    }

    /// The class of a page that is rebuilt, which is known from its parity group alone. Without separation it is 0.
    #[must_use]
    pub fn class_of_rebuilt(&self, lpn: Lpn) -> u8 {
        debug_assert!(lpn.0 < self.geo.logical_pages, "{lpn:?} is beyond the device");
        let Some(separated) = self.separated.as_deref() else { return 0 };
        let Classes { host, all } = separated.classes;
        let class = separated.policy.of_rebuilt(lpn).unwrap_or(all - 1);
        assert!((host..all).contains(&class), "the rebuilt {lpn:?} is in class {class}");
        class as u8
    }

    /// Note that a copy of class `class`, or a page of a parity group, is bound on `frontier`.
    pub fn note_class(&mut self, class: u8, frontier: u32) {
        let separated = self.separated.as_deref_mut().expect("the device separates");
        debug_assert!(frontier >= separated.classes.host, "a copy in class {frontier}");
        separated.counts.diverted += u64::from(frontier != u32::from(class));
    }

    /// Tell the policy that collection of `block` begins, on a device that separates pages.
    pub(super) fn notify_victim(&mut self, block: BlockId) {
        let (class, opened) = (self.class_of_block(block), self.blocks.origin(block).opened);
        let valid = u32::from(self.blocks.valid[block.at()]);
        debug_assert!(valid <= self.geo.pages_per_block, "{block:?} has {valid} valid pages");
        let from = self.blocks.origin(block).class;
        let separated = self.separated.as_deref_mut().expect("the device separates");
        separated.counts.collected[from as usize] += 1;
        self.space.log_collected(block, &self.blocks);
        let pool = self.blocks.pool_of(block).at();
        separated.passed_on.resize(separated.passed_on.len().max(pool + 1), 0);
        let gains = valid < self.geo.pages_per_block;
        separated.passed_on[pool] = if gains { 0 } else { separated.passed_on[pool] + 1 };
        let clock = self.space.clock();
        if let Some(class) = class {
            separated.policy.on_collect(&CollectedBlock { class, valid, opened, clock });
        }
    }

    /// Forget what the policy knew of pages, as a power cut does.
    pub(super) fn begin_separation_anew(&mut self, config: &Config, plugs: &Plugs) {
        let Some(separated) = self.separated.as_deref_mut() else { return };
        // With the same random numbers it would repeat its choices after every cut.
        let seed = config.run.seed.wrapping_add(self.space.clock());
        let ground = Ground { seed, ..Ground::of(config, &self.geo) };
        debug_assert_eq!(self.owners.logical_pages(), ground.pages, "another device");
        plugs.power_cut();
        let policy = plugs.separation(&config.alloc.separation, &ground);
        separated.begin_anew(policy.expect("a device that separates has a policy").1);
    }

    /// Restore how `block`, which a mount has closed, was opened: its class and time are in the out-of-band data of its
    /// pages. If no page can be read, it counts as filled by wear levelling.
    pub(super) fn find_origin(&mut self, block: BlockId) {
        let first = self.geo.first_page(block).0;
        let mut pages = (first..first + self.geo.pages_per_block).map(Ppn);
        debug_assert!(block.at() < self.blocks.len(), "there is no {block:?}");
        let lost = |page| self.flash.is_torn(page) || self.flash.is_lost(page);
        if self.separates() && pages.all(lost) {
            let (class, opened) = (self.space.streams(), self.space.clock());
            self.blocks.origins[block.at()] = Origin { class, opened };
        }
    }

    /// The blocks of `pool` among which its next victim is chosen, on a device that separates pages.
    pub(super) fn victim_among(&mut self, pool: PoolId) -> VictimScope {
        let separated = self.separated.as_deref_mut().expect("the device separates");
        if !separated.names_victims {
            return VictimScope::All;
        }
        let classes = self.victim.by_class(pool);
        assert_eq!(classes.len(), separated.classes.all as usize, "a class has no index");
        let among = separated.policy.victim_among(pool, &classes);
        if let VictimScope::Class(class) | VictimScope::Oldest(class) = among {
            assert!(class < separated.classes.all, "a victim of {pool:?} in class {class}");
        }
        among
    }

    /// Whether `block` of `pool`, which has no invalid page and was chosen among these, is collected nevertheless, so
    /// that its pages go to the next class. This must end, so it happens fewer times in a row than the pool has blocks.
    pub(super) fn passes_on(&self, pool: PoolId, block: BlockId, among: VictimScope) -> bool {
        debug_assert_eq!(self.blocks.invalid(block), 0, "{block:?} gains something");
        if !matches!(among, VictimScope::Oldest(_)) || self.fewest_valid(pool).is_none() {
            return false;
        }
        let class = self.class_of_block(block);
        let separated = self.separated.as_deref().expect("the device separates");
        let turns = separated.passed_on.get(pool.at()).copied().unwrap_or(0);
        among == VictimScope::Oldest(class.unwrap_or(separated.classes.all - 1))
            && turns < self.blocks.blocks_per_pool()
    }

    /// The classes, where a policy separates pages.
    #[must_use]
    pub fn classes(&self) -> Option<Classes> {
        let classes = self.separated.as_ref().map(|separated| separated.classes);
        debug_assert!(classes.is_none_or(|classes| classes.all == self.space.streams()));
        classes
    }

    /// Copies in the measurement that went to another class because the pool had no page for their own.
    #[must_use]
    pub fn diverted_copies(&self) -> u64 {
        self.separated.as_ref().map_or(0, |separated| {
            debug_assert!(
                separated.counts.diverted >= separated.before.diverted,
                "copies are counted back"
            );
            separated.counts.diverted - separated.before.diverted
        })
    }
}
