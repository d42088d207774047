//! What a power cut loses, and how it is rebuilt from the flash, the NVRAM and the last checkpoint (ADR 0016).
//!
//! [`Ftl::lose_power`] overwrites everything that a controller keeps in its own memory. [`Ftl::recover`] sees only what
//! is left: cells and out-of-band data, erase counts, bad blocks, records and the checkpoint.

mod groups;
pub mod image;
mod scan;

use super::Ftl;
use super::blocks::BlockState;
use super::owners::Owners;
use super::plugs::Plugs;
use super::snapshot::columns::Columns;
use super::space::Ground;
use super::wear::Wear;
use crate::config::{Config, MOST_TYPES};
use crate::nand::geometry::Geometry;
use crate::nand::nvram::Record;
use crate::units::{BlockId, Lpn, PlaneId, PoolId, Ppn};
use groups::FoundGroups;
use image::Image;
use scan::{NewestPages, Places};

/// No page.
const NONE: u32 = u32::MAX;

/// How many steps of a mount that change the flash are taken before power is cut again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Steps {
    left: Option<u64>,
}

impl Steps {
    /// All of them.
    #[must_use]
    pub const fn all() -> Steps {
        Steps { left: None }
    }

    /// The first `steps`.
    #[must_use]
    pub const fn first(steps: u64) -> Steps {
        Steps { left: Some(steps) }
    }

    /// One more step.
    fn take(&mut self) -> Result<(), MountFailure> {
        match &mut self.left {
            None => Ok(()),
            Some(0) => Err(MountFailure::PowerCut),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
        }
    }
}

/// Why a mount ended early.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MountFailure {
    /// Power was cut again.
    PowerCut,
    /// A pool has neither an erased block nor one without data. This is an error in the simulator.
    NoBlock(PoolId),
}

/// Pages of each type that are read.
pub type PagesRead = [u64; MOST_TYPES];

/// The first `pages` pages of flash blocks that are filled one after the other, by type.
#[must_use]
pub fn first_pages(geo: &Geometry, pages: u64) -> PagesRead {
    let mut reads = PagesRead::default();
    for page in 0..pages {
        let page = (page % u64::from(geo.pages_per_flash_block)) as u32;
        reads[geo.type_in_block(page)] += 1;
    }
    reads
}

/// What a mount has read and found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MountFindings {
    /// Pages whose out-of-band data were read, by plane and type.
    pub scanned: Vec<PagesRead>,
    /// Pages of the checkpoint whose out-of-band data were compared with those of newer pages or records, by plane and
    /// type.
    pub compared: Vec<PagesRead>,
    /// Flash blocks erased, by plane: their erase had been interrupted, or their pool had no other erased block.
    pub erased: Vec<u64>,
    /// These flash blocks, in order.
    pub erased_blocks: Vec<(BlockId, PlaneId)>,
    /// Torn pages.
    pub torn: u64,
    /// Erased pages that are not used before their next erase.
    pub skipped: u64,
    /// Logical pages with data, parity and lost pages included.
    pub mapped: u64,
    /// Updates of parity groups that had been programmed in part.
    pub undone: u64,
    /// The highest admission number.
    pub sequence: u64,
}

impl Ftl {
    /// Forget what the controller keeps in its own memory, as a power cut does. The clock, which counts the host's
    /// pages since the device was new, is one of the counters that a drive keeps.
    pub(crate) fn lose_power(&mut self, config: &Config) {
        // By name, so that the compiler asks for every field whether it survives.
        let Ftl {
            geo,
            owners,
            flash: _,
            blocks,
            space,
            wear,
            // Rebuilt by a mount once the state is known.
            victim: _,
            victim_spec: _,
            clock: _,
            seals,
            policy_declines,
            // A function of the configuration.
            groups: _,
            lost,
            landed,
            floors,
            recorded,
            // It continues: restarted, it would repeat its choices after every cut.
            rng: _,
            shape: _,
            // Rebuilt by a mount, except for what is on flash and what has been counted.
            separated: _,
        } = self;
        if let Some(lost) = lost {
            lost.lose_power();
        }
        *owners = Owners::new(geo.logical_pages, geo.pages);
        space.lose_power(geo, config, blocks);
        *wear = Wear::new(config, geo);
        *floors = Some(Vec::new());
        *recorded = recorded.is_some().then(Box::default);
        (*seals, *landed, *policy_declines) = (0, 0, false);
        blocks.lose_power();
    }

    /// Rebuild the state after [`Ftl::lose_power`]. Recovering again, even after an early end, gives the same data.
    ///
    /// # Errors
    /// [`MountFailure`].
    pub(crate) fn recover(
        &mut self,
        config: &Config,
        plugs: &Plugs,
        records: &[Record],
        image: Option<&Image>,
        steps: &mut Steps,
    ) -> Result<MountFindings, MountFailure> {
        assert_eq!(self.owners.valid_pages(), 0, "the map has not been lost");
        assert_eq!(self.space.used(), 0, "the space has not been lost");
        assert_eq!(self.landed, 0, "updates of parity groups have not been lost");
        assert!(self.flash.keeps_contents(), "pages carry no admission numbers");
        let planes = self.geo.planes as usize;
        let zero = || vec![[0u64; MOST_TYPES]; planes];
        let mut findings = MountFindings {
            scanned: zero(),
            compared: zero(),
            erased: vec![0; planes],
            ..MountFindings::default()
        };
        self.wipe_missing_chips();
        self.count_scan(image, &mut findings);
        for block in self.good_blocks() {
            let interrupted = |plane| self.flash.is_erasing(block, plane);
            if self.geo.planes_of_block(block).any(interrupted) {
                self.erase_again(block, &mut findings, steps)?;
            }
        }
        if self.groups.is_some() {
            self.find_groups(records, image, &mut findings);
        } else {
            self.find_pages(records, image, &mut findings);
        }
        let lost = self.lost.as_ref().map_or(0, |lost| lost.count());
        findings.mapped = self.owners.mapped() + lost;
        assert!(findings.mapped <= u64::from(self.geo.logical_pages), "more pages than addresses");
        for pool in (0..self.geo.pools).map(PoolId) {
            self.keep_one_erased(pool, &mut findings, steps)?;
        }
        self.close_blocks(&mut findings);
        self.order_blocks();
        self.load_space(config);
        self.begin_separation_anew(config, plugs);
        self.set_victim(&config.gc.victim, plugs);
        Ok(findings)
    }

    /// Load the newest page of each LPN.
    fn find_pages(
        &mut self,
        records: &[Record],
        image: Option<&Image>,
        findings: &mut MountFindings,
    ) {
        debug_assert!(self.groups.is_none(), "pages of groups are found together");
        let newest = NewestPages::of(self, records, image, findings);
        self.load_owners(newest.places);
    }

    /// Load the owners of the pages in `places`.
    fn load_owners(&mut self, places: Places) {
        let (valid, shared) = (places.valid(self.geo.pages), places.shared(self));
        debug_assert!(places.copied.is_empty() || self.recorded.is_some(), "owners of no copy");
        self.owners.load(&valid, self.flash.lpns(), &shared).expect("one page each");
        if let Some(recorded) = &mut self.recorded {
            recorded.sequences = places.copied;
        }
    }

    /// Load the newest state of each parity group.
    fn find_groups(
        &mut self,
        records: &[Record],
        image: Option<&Image>,
        findings: &mut MountFindings,
    ) {
        let found = FoundGroups::of(self, records, image);
        debug_assert!(found.undone == 0 || image.is_some(), "updates before the first checkpoint");
        self.load_owners(found.places);
        for (lpn, numbers) in found.lost {
            self.lose(lpn, numbers);
        }
        if let Some(lost) = &mut self.lost {
            lost.end_mount();
        }
        (findings.sequence, findings.undone) = (found.sequence, found.undone);
    }

    /// Forget what was on chips that are missing: nothing can be read there, and a spare comes erased.
    fn wipe_missing_chips(&mut self) {
        debug_assert!(self.owners.valid_pages() == 0, "the map has not been lost");
        for block in self.good_blocks() {
            for plane in self.geo.planes_of_block(block).collect::<Vec<PlaneId>>() {
                if !self.is_dead(plane) {
                    continue;
                }
                if !self.flash.is_erasing(block, plane) {
                    self.flash.begin_erase(block, plane);
                }
                self.flash.end_erase(&self.geo, block, plane);
            }
        }
    }

    fn good_blocks(&self) -> Vec<BlockId> {
        debug_assert!(!self.blocks.is_empty(), "a device without blocks");
        let blocks = (0..self.blocks.len() as u32).map(BlockId);
        blocks.filter(|&block| !self.blocks.is_bad(block)).collect()
    }

    /// Pages programmed in `block`, including torn and lost ones.
    fn programmed_in(&self, block: BlockId) -> u32 {
        debug_assert!(block.at() < self.blocks.len(), "there is no {block:?}");
        self.geo.planes_of_block(block).map(|plane| self.flash.programmed(block, plane)).sum()
    }

    /// Erase what is left of `block`, which holds no data.
    fn erase_again(
        &mut self,
        block: BlockId,
        findings: &mut MountFindings,
        steps: &mut Steps,
    ) -> Result<(), MountFailure> {
        assert!(!self.blocks.is_bad(block), "{block:?} is bad and erased");
        for plane in self.geo.planes_of_block(block).collect::<Vec<PlaneId>>() {
            if !self.flash.is_erasing(block, plane) {
                if self.flash.programmed(block, plane) == 0 {
                    continue;
                }
                steps.take()?;
                self.flash.begin_erase(block, plane);
            }
            steps.take()?;
            self.flash.end_erase(&self.geo, block, plane);
            findings.erased[plane.at()] += 1;
            findings.erased_blocks.push((block, plane));
        }
        assert_eq!(self.programmed_in(block), 0, "{block:?} was erased in part");
        self.blocks.erases[block.at()] += 1;
        Ok(())
    }

    /// If no block of `pool` is erased, erase one without data. If a cut has ended a collection that used the block
    /// kept for recovery, that block or its victim has none.
    fn keep_one_erased(
        &mut self,
        pool: PoolId,
        findings: &mut MountFindings,
        steps: &mut Steps,
    ) -> Result<(), MountFailure> {
        let good = |block: &BlockId| !self.blocks.is_bad(*block);
        debug_assert!(pool.0 < self.geo.pools, "there is no {pool:?}");
        let mut blocks = self.blocks.of_pool(pool).filter(good);
        if blocks.any(|block| self.programmed_in(block) == 0) {
            return Ok(());
        }
        let first = |block: BlockId| self.geo.first_page(block);
        let end = |block: BlockId| Ppn(first(block).0 + self.geo.pages_per_block);
        let mut blocks = self.blocks.of_pool(pool).filter(good);
        let empty = blocks.find(|&block| self.owners.count_valid(first(block), end(block)) == 0);
        let block = empty.ok_or(MountFailure::NoBlock(pool))?;
        self.erase_again(block, findings, steps)
    }

    /// Seal blocks that are not erased: their remaining pages are not used before their next erase.
    fn close_blocks(&mut self, findings: &mut MountFindings) {
        for block in self.good_blocks() {
            let at = block.at();
            let programmed = self.programmed_in(block);
            debug_assert_eq!(self.blocks.state[at], BlockState::Free, "{block:?} is in use");
            debug_assert_eq!(self.blocks.fill[at].pending, 0, "programs have not been lost");
            if programmed == 0 {
                self.blocks.state[at] = BlockState::Free;
                continue;
            }
            for plane in self.geo.planes_of_block(block).collect::<Vec<PlaneId>>() {
                findings.torn += u64::from(self.flash.close(&self.geo, block, plane));
            }
            findings.skipped += u64::from(self.geo.pages_per_block - programmed);
            self.find_origin(block);
            let first = self.geo.first_page(block);
            let end = Ppn(first.0 + self.geo.pages_per_block);
            self.blocks.state[at] = BlockState::Sealed;
            self.blocks.fill[at].bound = self.geo.pages_per_block as u16;
            self.blocks.valid[at] = self.owners.count_valid(first, end) as u16;
        }
    }

    /// Order sealed blocks by their newest data.
    fn order_blocks(&mut self) {
        let newest = |block: BlockId| {
            let first = self.geo.first_page(block).0;
            let pages = (first..first + self.geo.pages_per_block).map(Ppn);
            let intact = pages.filter(|&page| !self.flash.is_lost(page));
            intact.map(|page| self.flash.sequence(page)).max().unwrap_or(0)
        };
        let mut sealed: Vec<(u64, BlockId)> = self
            .good_blocks()
            .into_iter()
            .filter(|block| self.blocks.state[block.at()] == BlockState::Sealed)
            .map(|block| (newest(block), block))
            .collect();
        sealed.sort_unstable();
        for (order, &(_, block)) in (0..).zip(&sealed) {
            self.blocks.seal_order[block.at()] = order;
        }
        debug_assert!(sealed.len() <= self.blocks.len(), "more blocks than there are");
        self.seals = sealed.len() as u64;
    }

    /// Erased blocks and no open ones.
    fn load_space(&mut self, config: &Config) {
        let frontiers = self.space.frontiers();
        let lists = if self.geo.members > 1 { self.geo.pools * frontiers } else { 0 };
        // The order in which blocks were erased is lost.
        let order = |&erases: &u32| if config.wear.dynamic { erases } else { erases.min(1) };
        let erases: u32 = self.blocks.erases.iter().sum();
        let columns = Columns {
            free_order: self.blocks.erases.iter().map(order).collect(),
            frontiers: [NONE, 0].repeat((self.geo.planes * frontiers) as usize),
            open_superblocks: [0, 0].repeat(lists as usize),
            opened: vec![1; self.geo.pools as usize],
            ..Columns::default()
        };
        let ground = Ground { geo: &self.geo, blocks: &self.blocks, flash: &self.flash };
        let lowest = self.space.lowest_free_blocks();
        self.space.load(&ground, &columns, erases, 0).expect("no block is open");
        for pool in (0..self.geo.pools).map(PoolId) {
            assert!(self.space.free_blocks(pool) > 0, "{pool:?} has no erased block");
            self.space.check(pool);
        }
        assert_eq!(self.space.releases(), erases, "an erase has released no block");
        self.space.take_lowest(lowest);
    }

    /// Whether the page with the highest admission number of each LPN is the committed one, so that a mount without
    /// records and checkpoint would find this state.
    pub(crate) fn is_in_its_pages(&self) -> bool {
        let highest = self.highest_sequences();
        let sequence_of =
            |lpn: u32| self.owners.committed(Lpn(lpn)).map_or(0, |p| self.flash.sequence(p));
        (0..).zip(&highest).all(|(lpn, &highest)| sequence_of(lpn) == highest)
    }

    /// The highest admission number of a page that carries each LPN; 0 if there is none.
    pub(super) fn highest_sequences(&self) -> Vec<u64> {
        assert!(self.flash.keeps_contents(), "pages carry no admission numbers");
        let mut highest = vec![0u64; self.geo.logical_pages as usize];
        for page in (0..self.geo.pages).map(Ppn) {
            if !self.flash.is_torn(page) && !self.flash.is_lost(page) {
                let highest = &mut highest[self.flash.lpn(page).at()];
                *highest = self.flash.sequence(page).max(*highest);
            }
        }
        debug_assert_eq!(highest.len(), self.owners.logical_pages() as usize, "pages are missing");
        highest
    }
}
