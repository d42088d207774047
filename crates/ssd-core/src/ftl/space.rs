//! Space: erased blocks, open blocks (frontiers), and the room that collection must keep.
//!
//! # The room rule
//!
//! Copies always find a page. For each pool, with S the pages of an erase unit:
//!
//! - `free` is its erased blocks, `promised` those that will be opened for others: 0 or 1 by the running levelling
//!   job, and those kept for the pages of parity groups (`held`);
//! - `room = (free - promised) * S + gc_open` is what GC may bind, `gc_open` being the unbound pages in open
//!   blocks of the frontiers that take copies, on all planes of the pool, without those that are held (`held`);
//! - `need` is the reserved part of it: what the running job has to move, or S without a job.
//!
//! At every instant `promised <= free` and `need <= room` hold. A copy may go to any plane of its pool
//! ([`Space::copy_plane`]), so a page of room can be bound wherever it is, even in an open block of a plane to which
//! nobody writes. Pages in open blocks of the host and of levelling are not part of the room.
//!
//! Binding a page preserves the rule:
//!
//! - A *host page* in an open block of the host's frontier changes neither side. Opening a block takes S from the room
//!   and requires `room >= need + S`. In a frontier that also takes copies, the page takes 1 and requires `room >
//!   need`; opening only turns S erased pages into `gc_open`. In both cases opening requires `free > promised`:
//!   `gc_open` alone may satisfy the inequality, and levelling needs an erased block.
//! - A *GC copy* takes 1 from both sides: `need` began as the valid pages of the victim. A pool has one job at a time,
//!   so nothing is promised then. With several classes that take copies, it opens a block for its own class or, if none
//!   is left, goes to an open block of another ([`Space::class_with_page`]).
//! - A *levelling copy* goes to an open block of levelling on any plane of the pool. Only if there is none does it open
//!   the promised block, which takes 1 from `free` and from `promised`. The victim's pages fit into these blocks: they
//!   are at most S, and nothing is promised only if the open ones suffice.
//!
//! Changes of the other side preserve it, too:
//!
//! - *GC begins* with a victim that fits into the room; without worn-out blocks every one does, because `room >= need =
//!   S`. *Levelling begins* above the reserve: `free >= 2`, so S pages of room are left besides the promised block.
//! - When a job has *moved all*, nothing is promised any more, and `need` is 0 until its block is *erased*,
//!   which adds S to the room, or is kept at S if the erase wears the block out.
//! - A *worn-out* block adds nothing. From then on the room that exists, up to S, is kept, and a victim has to fit into
//!   it. Victims whose own erase gives nothing back keep S in addition to their pages, or what there is.
//!
//! None of this depends on the size of the reserve (which is at least 1) or of the pool, on the number of frontiers, or
//! on what an erase unit is.

mod at_rest;
mod classes;
mod free_list;
mod frontiers;
mod held;
mod renew;
mod room;
mod spare;

pub(super) use at_rest::Ground;

use crate::config::{Config, GcPath};
use crate::ftl::blocks::BlockTable;
use crate::ftl::reclaim::UnitEvent;
use crate::ftl::separation::Classes;
use crate::ftl::slc::SlcBlocks;
use crate::nand::geometry::Geometry;
use crate::units::{BlockId, Divisor, PlaneId, PoolId};
use free_list::FreeList;

const NONE: u32 = u32::MAX;

/// The open block of one frontier on one plane.
#[derive(Clone, Copy, Debug)]
struct OpenBlock {
    block: u32,
    /// Pages left on this plane.
    left: u32,
}

/// Counts of one pool.
#[derive(Clone, Copy, Debug)]
struct PoolSpace {
    /// Erased blocks.
    free: u32,
    /// Blocks that are not bad.
    good: u32,
    /// Pages that are not erased.
    used: u32,
    /// Unbound pages in open blocks of the GC frontier.
    gc_open: u32,
    /// Unbound pages in open blocks of the frontier of wear levelling.
    wear_open: u32,
    /// Pages that the running job may still have to bind; one block without a job.
    gc_need: u32,
    /// Erased blocks that the running levelling job will open: 0 or 1.
    promised: u16,
    /// Erased blocks that are kept: for held pages, and the `spare`.
    kept: u16,
    /// Of these, the one that is kept for the recovery from a power cut: 0 or 1.
    spare: u16,
    /// Pages held for frontiers that take copies, which are not available to others.
    held: u16,
    /// Whether a block has been opened since the last [`Space::take_opened`].
    opened: bool,
}

/// Erased and open blocks of every pool.
#[derive(Clone)]
pub struct Space {
    /// Erased blocks by home (plane; with superblocks: pool), next to be opened first.
    free: Vec<FreeList>,
    pools: Vec<PoolSpace>,
    good_total: u64,
    /// Frontiers, `plane * frontiers + stream`; the last one is that of wear levelling.
    open: Vec<OpenBlock>,
    /// Pages held by frontier, numbered as `open`; empty until the first is held.
    held: Vec<u32>,
    /// Superblocks that still have unbound pages, oldest first, `pool * frontiers + stream`.
    open_supers: Vec<Vec<BlockId>>,
    /// With superblocks: the plane of the pool that takes the next copy, indexed like `open_supers`.
    copy_turn: Vec<u32>,
    /// With superblocks: the plane, in striping order, of the next page of each frontier that the host may fill.
    host_turn: Vec<u32>,
    used: u64,
    free_total: u64,
    lowest_free: u64,
    streams: u32,
    /// Frontiers of the host alone, which come first. The others, up to `streams`, take copies.
    of_host: u32,
    /// Frontiers that the host may fill, which come first.
    for_host: u32,
    /// `streams` and that of wear levelling.
    frontiers: u32,
    /// The clock of a device that separates pages.
    clock: u64,
    /// If frontiers are classes, blocks opened for each frontier.
    opened: Vec<u64>,
    /// Likewise, pages of blocks of each frontier that power cuts have closed before they were bound.
    closed: Vec<u64>,
    /// With `log_units`: the blocks opened and collected, in order.
    units: Option<Vec<UnitEvent>>,
    /// Whether the host leaves an erased block in each pool, so that a copy never has to go to another class.
    isolates: bool,
    /// Whether a block of each pool is kept for the recovery from a power cut.
    recovers: bool,
    /// Whether erased blocks may be kept while copies have room in open blocks of other classes.
    keeps: bool,
    /// SLC blocks, if the device has them.
    pub(crate) slc: Option<Box<SlcBlocks>>,
    /// Most superblocks that a frontier may have open in a pool.
    open_at_most: u32,
    dynamic_wear: bool,
    releases: u32,
    superblock: bool,
    /// Whether copies go to the planes of superblocks in turn.
    copies_in_turn: bool,
    planes_per_pool: Divisor,
    blocks_per_home: u32,
    pages_per_block: u32,
    pages_on_plane: u32,
}

impl Space {
    /// All blocks erased, none open, with a frontier on each plane for each of `classes`, which a separation policy
    /// names if the device `separates`.
    #[must_use]
    pub fn new(geo: &Geometry, config: &Config, classes: Classes, separates: bool) -> Space {
        let Classes { host: of_host, all: streams } = classes;
        let for_host = classes.of_host(separates);
        let homes = if geo.members > 1 { geo.pools } else { geo.planes };
        let per_home = geo.pools * geo.blocks_per_pool / homes;
        let pools = geo.pools as usize;
        let all = u64::from(geo.blocks_per_pool) * pools as u64;
        assert_eq!(u64::from(per_home) * u64::from(homes), all, "homes of unequal size");
        assert_eq!(geo.pages_per_block, geo.pages_per_flash_block * geo.members, "pages of a unit");
        let most = u64::from(geo.blocks_per_pool) * u64::from(geo.pages_per_block);
        assert!(most <= u64::from(u32::MAX), "pages of a pool are counted in 32 bits");
        let pool = PoolSpace {
            free: geo.blocks_per_pool,
            good: geo.blocks_per_pool,
            used: 0,
            gc_open: 0,
            wear_open: 0,
            gc_need: geo.pages_per_block,
            promised: 0,
            kept: u16::from(!config.power.is_off()),
            spare: u16::from(!config.power.is_off()),
            held: 0,
            opened: false,
        };
        Space {
            free: (0..homes)
                .map(|h| FreeList::new((h * per_home..(h + 1) * per_home).map(|b| (0, b))))
                .collect(),
            pools: vec![pool; pools],
            good_total: all,
            open: vec![OpenBlock { block: NONE, left: 0 }; (geo.planes * (streams + 1)) as usize],
            held: Vec::new(),
            open_supers: vec![Vec::new(); pools * (streams as usize + 1)],
            copy_turn: vec![0; if geo.members > 1 { pools * (streams as usize + 1) } else { 0 }],
            host_turn: vec![0; if geo.members > 1 { for_host as usize } else { 0 }],
            used: 0,
            free_total: all,
            lowest_free: all,
            streams,
            of_host,
            for_host,
            frontiers: streams + 1,
            clock: 0,
            opened: vec![0; if separates { streams as usize + 1 } else { 0 }],
            closed: vec![0; if separates { streams as usize + 1 } else { 0 }],
            units: None,
            isolates: false,
            recovers: !config.power.is_off(),
            keeps: !config.power.is_off() || (separates && config.raid.group > 0),
            slc: SlcBlocks::new(config, geo).map(Box::new),
            open_at_most: (config.most_classes() / streams).clamp(1, 2),
            dynamic_wear: config.wear.dynamic,
            releases: 0,
            superblock: geo.members > 1,
            copies_in_turn: geo.members > 1 && config.gc.path == GcPath::Controller,
            planes_per_pool: Divisor::new(geo.planes_per_pool()),
            blocks_per_home: per_home,
            pages_per_block: geo.pages_per_block,
            pages_on_plane: geo.pages_per_flash_block,
        }
    }

    /// The frontier of a request stream or, if the device separates, of the class of a write.
    #[inline(always)]
    #[must_use]
    pub fn host_stream(&self, stream: u8) -> u32 {
        let host = if self.for_host == 1 { 0 } else { u32::from(stream) % self.for_host };
        debug_assert!(self.is_for_host(host), "frontier {host} is not the host's");
        host
    }

    /// Whether the host may fill frontier `stream`.
    #[inline(always)]
    pub(super) fn is_for_host(&self, stream: u32) -> bool {
        debug_assert!(self.for_host >= 1 && self.for_host >= self.of_host, "the host has none");
        stream < self.for_host
    }

    /// The frontier of GC copies: the only one or, if the device separates, the first of those that take some.
    #[inline(always)]
    #[must_use]
    pub fn gc_stream(&self) -> u32 {
        self.of_host
    }

    /// The frontier of wear levelling.
    #[inline(always)]
    #[must_use]
    pub fn wear_stream(&self) -> u32 {
        self.streams
    }

    /// Whether pages of frontier `stream` count as room because it takes copies of collection.
    #[inline(always)]
    pub(super) fn takes_copies(&self, stream: u32) -> bool {
        debug_assert!(stream < self.frontiers, "there is no frontier {stream}");
        stream >= self.of_host && stream < self.streams
    }

    #[inline(always)]
    fn frontier_at(&self, plane: PlaneId, stream: u32) -> usize {
        debug_assert!(stream < self.frontiers, "{plane:?} has no frontier {stream}");
        let at = (plane.0 * self.frontiers + stream) as usize;
        debug_assert!(at < self.open.len(), "there is no {plane:?}");
        at
    }

    fn supers_at(&self, pool: PoolId, stream: u32) -> usize {
        debug_assert!(self.superblock, "{pool:?} has no superblocks");
        debug_assert!(stream < self.frontiers, "{pool:?} has no frontier {stream}");
        (pool.0 * self.frontiers + stream) as usize
    }

    /// Blocks of a pool that are not bad.
    #[inline(always)]
    #[must_use]
    pub fn good_blocks(&self, pool: PoolId) -> u32 {
        self.pools[pool.at()].good
    }

    /// Pages of the blocks of the device that are not bad.
    #[inline(always)]
    #[must_use]
    pub fn good_pages(&self) -> u64 {
        let pages = self.good_total * u64::from(self.pages_per_block);
        debug_assert!(self.used <= pages, "{} of {pages} pages are used", self.used);
        pages
    }

    /// Erased blocks of a pool.
    #[inline(always)]
    #[must_use]
    pub fn free_blocks(&self, pool: PoolId) -> u32 {
        self.pools[pool.at()].free
    }

    /// Whether a block of `pool` has been opened since the last call.
    #[inline(always)]
    pub fn take_opened(&mut self, pool: PoolId) -> bool {
        std::mem::take(&mut self.pools[pool.at()].opened)
    }

    /// Erased blocks of the device.
    #[must_use]
    pub fn free_blocks_total(&self) -> u64 {
        debug_assert!(self.free_total <= self.good_total, "erased blocks are bad");
        self.free_total
    }

    /// The fewest erased blocks of the device since the last [`Space::restart_lowest`].
    #[must_use]
    pub fn lowest_free_blocks(&self) -> u64 {
        debug_assert!(self.lowest_free <= self.free_total, "fewer blocks are erased now");
        self.lowest_free
    }

    /// Forget the lowest number of erased blocks so far.
    pub fn restart_lowest(&mut self) {
        debug_assert!(self.lowest_free <= self.free_total, "fewer blocks are erased now");
        self.lowest_free = self.free_total;
    }

    /// Continue counting from `lowest`, the fewest erased blocks before the state of the blocks was lost.
    pub(super) fn take_lowest(&mut self, lowest: u64) {
        self.lowest_free = lowest.min(self.free_total);
        debug_assert!(self.lowest_free <= lowest, "the lowest number rises");
    }

    /// Forget the state of the blocks, as a power cut does, but neither measurements nor the clock of a device that
    /// separates pages.
    pub(super) fn lose_power(&mut self, geo: &Geometry, config: &Config, blocks: &BlockTable) {
        let lowest = self.lowest_free_blocks();
        let classes = Classes { host: self.of_host, all: self.streams };
        let left = self.left_by_frontier(blocks);
        let new = Space::new(geo, config, classes, self.separates());
        *self = Space {
            clock: self.clock,
            opened: std::mem::take(&mut self.opened),
            closed: std::mem::take(&mut self.closed),
            units: self.units.take(),
            isolates: self.isolates,
            ..new
        };
        self.closed.iter_mut().zip(left).for_each(|(closed, left)| *closed += left);
        self.take_lowest(lowest);
        debug_assert!(self.lowest_free_blocks() <= lowest, "the lowest number rises");
    }

    /// Pages of a pool that are not erased.
    #[must_use]
    pub fn used_in_pool(&self, pool: PoolId) -> u64 {
        let used = u64::from(self.pools[pool.at()].used);
        debug_assert!(used <= self.used, "{pool:?} uses more than all");
        used
    }

    /// Pages of the device that are not erased.
    #[inline(always)]
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used
    }

    fn home(&self, plane: PlaneId) -> usize {
        let home =
            if self.superblock { self.planes_per_pool.div(plane.0) as usize } else { plane.at() };
        debug_assert!(home < self.free.len(), "{plane:?} has no list of erased blocks");
        home
    }

    fn pool(&self, plane: PlaneId) -> PoolId {
        let pool = PoolId(self.planes_per_pool.div(plane.0));
        debug_assert!(pool.at() < self.pools.len(), "{plane:?} is in no pool");
        pool
    }

    /// Note that `block`, with `bound` used pages, has been erased for the `erases`-th time; its job in `pool` ends.
    pub fn erased(&mut self, block: BlockId, first_plane: PlaneId, bound: u32, erases: u32) {
        let pool = self.pool(first_plane);
        let home = self.home(first_plane);
        debug_assert!(block.0 / self.blocks_per_home == home as u32, "{block:?} is not at home");
        debug_assert!(
            self.free[home].iter().all(|&(_, erased)| erased != block.0),
            "{block:?} is erased twice"
        );
        self.releases += 1;
        let key = if self.dynamic_wear { erases } else { self.releases };
        assert!(self.free[home].insert((key, block.0)), "{block:?} is erased twice");
        debug_assert!(
            self.pools[pool.at()].used >= bound,
            "{pool:?} has used fewer than {bound} pages"
        );
        let PoolSpace { free, good, .. } = self.pools[pool.at()];
        assert!(free < good, "{block:?} is erased, and all {good} blocks of {pool:?} were");
        debug_assert_eq!(self.pools[pool.at()].promised, 0, "{pool:?} has pages left to level");
        self.pools[pool.at()].free += 1;
        self.free_total += 1;
        self.pools[pool.at()].used -= bound;
        self.used -= u64::from(bound);
        self.pools[pool.at()].gc_need = self.pages_per_block;
        assert!(self.gc_room(pool) >= self.gc_need(pool), "a job of {pool:?} used up its room");
        self.keep_spare(pool);
        self.check(pool);
    }

    /// Note that a block at home on `plane`, with `bound` used pages, has been erased for the last time; its job ends.
    pub fn worn_out(&mut self, plane: PlaneId, bound: u32) {
        let pool = self.pool(plane);
        debug_assert_eq!(self.pools[pool.at()].promised, 0, "{pool:?} has pages left to level");
        assert!(self.pools[pool.at()].good > self.pools[pool.at()].free, "none was in use");
        assert!(self.pools[pool.at()].used >= bound, "{pool:?} has used fewer than {bound} pages");
        self.pools[pool.at()].good -= 1;
        self.good_total -= 1;
        self.pools[pool.at()].used -= bound;
        self.used -= u64::from(bound);
        self.keep(pool, self.pages_per_block);
        self.check(pool);
    }

    /// Note that `block`, whose home is `plane`, is bad from the factory.
    pub fn never_good(&mut self, block: BlockId, plane: PlaneId) {
        assert_eq!(self.used, 0, "{block:?} is found bad on a device in use");
        self.take_unused(block, plane);
        let pool = self.pool(plane);
        assert!(self.pools[pool.at()].good > 0, "{pool:?} has no good block left");
        self.pools[pool.at()].good -= 1;
        self.good_total -= 1;
        self.keep(pool, self.pages_per_block);
    }

    /// Remove `block`, never used so far, whose home is `plane`, from the free list.
    fn take_unused(&mut self, block: BlockId, plane: PlaneId) {
        let (pool, home) = (self.pool(plane), self.home(plane));
        assert!(self.free[home].remove(&(0, block.0)), "{block:?} has been used");
        self.pools[pool.at()].free -= 1;
        self.free_total -= 1;
        self.lowest_free = self.lowest_free.min(self.free_total);
    }

    /// Count `block`, never used so far, whose home is `plane`, as fully programmed from now on.
    pub fn adopt(&mut self, block: BlockId, plane: PlaneId, pages: u32) {
        assert_eq!(pages, self.pages_per_block, "{block:?} is adopted in part");
        self.take_unused(block, plane);
        let pool = self.pool(plane);
        self.pools[pool.at()].used += pages;
        self.used += u64::from(pages);
        let PoolSpace { used, good, .. } = self.pools[pool.at()];
        assert!(
            u64::from(used) <= u64::from(good) * u64::from(self.pages_per_block),
            "{pool:?} has fewer than {used} pages"
        );
    }

    /// The blocks in the free lists, for the audit.
    pub fn free_list(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.free.iter().flat_map(FreeList::iter).map(|&(_, b)| BlockId(b))
    }

    /// The open blocks with pages left on some plane, for the audit: (plane, stream, block, left).
    pub fn open_list(&self) -> impl Iterator<Item = (PlaneId, u32, BlockId, u32)> + '_ {
        self.open.iter().enumerate().filter(|(_, o)| o.left > 0).map(|(i, o)| {
            let i = i as u32;
            (PlaneId(i / self.frontiers), i % self.frontiers, BlockId(o.block), o.left)
        })
    }

    /// Unbound pages in open blocks of the frontier of wear levelling.
    #[must_use]
    pub fn wear_open(&self, pool: PoolId) -> u32 {
        self.pools[pool.at()].wear_open
    }

    /// The open blocks of wear levelling that have unbound pages, for the audit.
    #[must_use]
    pub fn wear_blocks(&self, pool: PoolId) -> Vec<BlockId> {
        let stream = self.wear_stream();
        if self.superblock {
            return self.open_supers[self.supers_at(pool, stream)].clone();
        }
        let open = self.planes_of(pool).map(|p| self.open[self.frontier_at(p, stream)]);
        open.filter(|o| o.left > 0).map(|o| BlockId(o.block)).collect()
    }

    /// Frontiers of host and GC on each plane.
    #[must_use]
    pub fn streams(&self) -> u32 {
        self.streams
    }

    /// All frontiers on each plane, including that of wear levelling.
    #[must_use]
    pub fn frontiers(&self) -> u32 {
        self.frontiers
    }

    /// Unbound pages in the open blocks of a pool that take copies of collection.
    #[must_use]
    pub fn gc_open(&self, pool: PoolId) -> u32 {
        self.pools[pool.at()].gc_open
    }
}
