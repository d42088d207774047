//! Wear: blocks that are bad from the factory, blocks that wear out, and static wear levelling.
//!
//! Paper: Chang, "On efficient wear leveling for large-scale flash-memory storage systems", SAC 2007 (when a worn and a
//! young block differ by more than a threshold, the cold data of the young one move to the worn one).
//! Where it is silent, decided: each pool is levelled by itself, one block at a time, after an erase; the worn block is
//! an erased one, so nothing has to be moved out of it; copies go to a separate frontier, so that data known to be cold
//! stay together.
//!
//! A superblock is bad as soon as one of its flash blocks is.

mod lifetime;

pub use lifetime::EndsOfLife;

use super::Ftl;
use super::blocks::BlockState;
use crate::config::Config;
use crate::nand::geometry::Geometry;
use crate::rng::Stream;
use crate::units::{BlockId, PlaneId, PoolId};
use std::ops::RangeInclusive;

/// State of wear besides the erases of the blocks.
#[derive(Clone, Debug)]
pub struct Wear {
    /// Difference of erases beyond which cold data move; 0: never.
    threshold: u32,
    /// Erases that each erase unit survives; empty: any number.
    limits: Vec<u32>,
    /// Erases of an SLC block that wear it as much as so many others.
    slc: SlcWear,
    /// Pools in which a block has been erased since they were levelled.
    due: Vec<bool>,
    /// Lower bound on the erases of the good blocks of a pool, which saves most searches.
    floor: Vec<u32>,
}

impl Wear {
    /// From `[wear]`.
    #[must_use]
    pub fn new(config: &Config, geo: &Geometry) -> Wear {
        let wear = &config.wear;
        Wear {
            threshold: wear.static_threshold,
            slc: SlcWear::new(config),
            limits: if wear.endurance == 0 { Vec::new() } else { limits(config, geo) },
            due: vec![false; geo.pools as usize],
            floor: vec![0; geo.pools as usize],
        }
    }

    /// Whether a block of `pool` has been erased since [`Ftl::take_cold`] last examined it.
    #[inline(always)]
    #[must_use]
    pub fn is_due(&self, pool: PoolId) -> bool {
        self.due[pool.at()]
    }

    /// Pools in which a block has been erased since they were levelled.
    pub(super) fn due(&self) -> &[bool] {
        debug_assert!(self.threshold > 0 || !self.due.contains(&true), "wear is not levelled");
        &self.due
    }

    /// Continue with a device at rest in which these pools are due; none if wear is not levelled, even if the device
    /// has been levelled before.
    pub(super) fn load(&mut self, due: impl Iterator<Item = bool>) {
        let pools = self.due.len();
        self.due = due.map(|due| due && self.threshold > 0).collect();
        assert_eq!(self.due.len(), pools, "the caller has checked the number of pools");
    }

    /// The fewest and the most erases that an erase unit survives; `None`: any number.
    pub(super) fn lives(config: &Config) -> Option<RangeInclusive<u32>> {
        let lives = (config.wear.endurance > 0).then(|| life(config, -1.0)..=life(config, 1.0));
        debug_assert!(
            lives.as_ref().is_none_or(|range| !range.is_empty()),
            "the weakest lives longest"
        );
        lives
    }

    /// The erases that `block` survives; `None`: any number.
    pub(super) fn limit(&self, block: BlockId) -> Option<u32> {
        let limit = self.limits.get(block.at()).copied();
        assert!(limit.is_some() || self.limits.is_empty(), "{block:?} has no endurance");
        assert!(limit != Some(0), "{block:?} survives no erase");
        limit
    }

    /// Whether `block` is worn out by its `erases`-th erase, of which `of_slc` ended its use as an SLC block.
    #[inline]
    #[must_use]
    pub fn ends(&self, block: BlockId, erases: u32, of_slc: u32) -> bool {
        debug_assert!(
            self.limits.is_empty() || block.at() < self.limits.len(),
            "{block:?} has no endurance"
        );
        self.limits.get(block.at()).is_some_and(|&limit| self.slc.reach(erases, of_slc, limit))
    }
}

/// How much less erases of SLC blocks wear: `slc` of them as much as `all` others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SlcWear {
    slc: u64,
    all: u64,
}

impl SlcWear {
    /// From `slc.endurance` and `wear.endurance`.
    pub(super) fn new(config: &Config) -> SlcWear {
        let (slc, all) = (config.slc.endurance, config.wear.endurance.max(1));
        assert!(slc > 0, "SLC blocks survive no erase");
        SlcWear { slc: u64::from(slc), all: u64::from(all) }
    }

    /// Whether `erases`, of which `of_slc` were of an SLC block, wear as much as `limit` erases with all bits.
    #[inline]
    pub(super) fn reach(self, erases: u32, of_slc: u32, limit: u32) -> bool {
        debug_assert!(of_slc <= erases, "{of_slc} of {erases} erases");
        if of_slc == 0 {
            return erases >= limit;
        }
        let worn = u64::from(erases - of_slc) * self.slc + u64::from(of_slc) * self.all;
        worn >= u64::from(limit) * self.slc
    }
}

/// The erases that each erase unit survives: as many as the weakest of its flash blocks.
fn limits(config: &Config, geo: &Geometry) -> Vec<u32> {
    assert!(config.wear.endurance > 0, "blocks do not wear out");
    let units = geo.pools * geo.blocks_per_pool;
    if config.wear.endurance_spread <= 0.0 {
        return vec![config.wear.endurance; units as usize];
    }
    let mut rng = Stream::new(config.run.seed, "endurance");
    let mut draw = || life(config, 2.0 * rng.unit() - 1.0);
    (0..units).map(|_| (0..geo.members).map(|_| draw()).min().expect("it has members")).collect()
}

/// The erases that a flash block survives, by its `place` between the weakest, -1, and the best, 1.
fn life(config: &Config, place: f64) -> u32 {
    assert!((-1.0..=1.0).contains(&place), "{place} is not between the weakest and the best");
    let (mean, spread) = (f64::from(config.wear.endurance), config.wear.endurance_spread);
    assert!((0.0..=1.0).contains(&spread), "the config layer has checked the spread");
    (mean * (1.0 + spread * place)).round().max(1.0) as u32
}

/// Bad erase units of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BadBlocks {
    /// From the factory on.
    pub factory: u64,
    /// Worn out.
    pub worn_out: u64,
}

impl Ftl {
    /// Mark the blocks that are bad from the factory, and let pages carry what a power cut needs.
    pub(super) fn begin_life(&mut self, config: &Config) {
        self.isolate_handles();
        if let (Some(groups), true) = (&self.groups, self.may_lose_power()) {
            self.flash.keep_lists(groups.chips());
        }
        for block in config.factory_bad_units().into_iter().map(BlockId) {
            assert!(!self.blocks.is_bad(block), "{block:?} is bad twice");
            self.blocks.state[block.at()] = BlockState::Bad;
            self.space.never_good(block, self.geo.first_plane(block));
        }
        assert_eq!(self.bad_blocks().worn_out, 0, "blocks of a new device are worn out");
    }

    /// Note that a block of `pool` has been erased, so the pool may have to be levelled.
    pub(super) fn note_erase(&mut self, pool: PoolId) {
        self.wear.due[pool.at()] = self.wear.threshold > 0;
    }

    /// The block of `pool` whose data are to move to its most worn erased block, if there is one: the sealed block with
    /// the fewest erases, then the fewest invalid pages, then the lowest number. It is searched for once after each
    /// erase.
    pub fn take_cold(&mut self, pool: PoolId) -> Option<BlockId> {
        assert!(self.wear.threshold > 0, "the caller has checked that levelling is due");
        assert!(self.wear.due[pool.at()], "no block of {pool:?} has been erased since");
        assert_eq!(self.space.promised(pool), 0, "{pool:?} levels already");
        self.wear.due[pool.at()] = false;
        let worn = self.blocks.erases[self.space.most_worn(pool, &self.blocks)?.at()];
        assert!(worn >= self.wear.floor[pool.at()], "{pool:?} has become younger");
        let is_young = |erases: u32| worn.saturating_sub(erases) > self.wear.threshold;
        if !is_young(self.wear.floor[pool.at()]) {
            return None;
        }
        let erases = |b: BlockId| self.blocks.erases[b.at()];
        let good = self.blocks.of_pool(pool).filter(|&b| !self.blocks.is_bad(b));
        let floor = good.map(erases).min().expect("an erased block is good");
        assert!(floor >= self.wear.floor[pool.at()], "{pool:?} has become younger");
        self.wear.floor[pool.at()] = floor;
        self.blocks
            .of_pool(pool)
            .filter(|&b| self.blocks.is_candidate(b) && is_young(erases(b)))
            .min_by_key(|&b| (erases(b), self.blocks.invalid(b), b))
    }

    /// Blocks of `pool` that are worn out.
    #[must_use]
    pub fn worn_out_in(&self, pool: PoolId) -> u32 {
        let lost = |b: &BlockId| self.blocks.is_bad(*b) && self.blocks.erases[b.at()] > 0;
        let lost = self.blocks.of_pool(pool).filter(lost).count() as u32;
        assert!(
            self.space.good_blocks(pool) <= self.geo.blocks_per_pool,
            "{pool:?} has more good blocks than blocks"
        );
        let bad = self.geo.blocks_per_pool - self.space.good_blocks(pool);
        assert!(lost <= bad, "{pool:?} has lost {lost} blocks, and {bad} are bad");
        lost
    }

    /// Whether `pool` has lost blocks to wear and can bind no more host pages, and nothing is under way in it that
    /// could change that.
    #[must_use]
    pub fn is_worn_out(&self, pool: PoolId) -> bool {
        let idle = |b: BlockId| self.blocks.fill[b.at()].pending == 0;
        let streams = 0..self.space.streams().max(2) - 1;
        let full = |p: PlaneId| streams.clone().all(|s| !self.space.host_may_bind(p, s));
        self.worn_out_in(pool) > 0
            && self.blocks.of_pool(pool).all(idle)
            && self.geo.planes_of_pool(pool).map(PlaneId).all(full)
    }

    /// Bad blocks of the device.
    #[must_use]
    pub fn bad_blocks(&self) -> BadBlocks {
        let mut bad = BadBlocks::default();
        for (&state, &erases) in self.blocks.state.iter().zip(&self.blocks.erases) {
            let is_bad = u64::from(state == BlockState::Bad);
            if erases == 0 { bad.factory += is_bad } else { bad.worn_out += is_bad }
        }
        let good = self.blocks.len() as u64 - bad.factory - bad.worn_out;
        let pages = good * u64::from(self.geo.pages_per_block);
        assert_eq!(pages, self.space.good_pages(), "{bad:?} disagree with the space");
        bad
    }

    /// Erases of each erase unit since the device was new, without those bad from the factory.
    #[must_use]
    pub fn life_erases(&self) -> Vec<u32> {
        let lived =
            |&(&state, &erases): &(&BlockState, &u32)| state != BlockState::Bad || erases > 0;
        let blocks = self.blocks.state.iter().zip(&self.blocks.erases);
        let lives: Vec<u32> = blocks.filter(lived).map(|(_, &erases)| erases).collect();
        let never = self.bad_blocks().factory;
        assert_eq!(lives.len() as u64 + never, self.blocks.len() as u64, "a block is not counted");
        lives
    }

    /// Bytes that the host has written to the flash since the device was new, in whole pages.
    #[must_use]
    pub fn host_bytes_written(&self) -> u64 {
        self.clock << (self.geo.sector_shift + 9)
    }
}
