//! Space: erased blocks, open blocks (frontiers), and the room that collection must keep.
//!
//! The invariant that makes collection always possible: the pages that GC may still bind in a pool
//! (erased blocks and its open block) never fall below what the running job still has to move, nor,
//! without a job, below one whole block. The host may bind only what leaves that room.

mod at_rest;

pub(super) use at_rest::Ground;

use super::blocks::{BlockState, BlockTable};
use crate::config::{Config, Frontiers};
use crate::nand::geometry::Geometry;
use crate::units::{BlockId, Divisor, PlaneId, PoolId};
use std::collections::BTreeSet;

const NONE: u32 = u32::MAX;

/// The open block of one frontier on one plane.
#[derive(Clone, Copy, Debug)]
struct Open {
    block: u32,
    /// Pages left on this plane.
    left: u32,
}

/// Erased and open blocks of every pool.
#[derive(Clone)]
pub struct Space {
    /// Erased blocks by home (plane; with superblocks: pool), next to be opened first.
    free: Vec<BTreeSet<(u32, u32)>>,
    free_in_pool: Vec<u32>,
    /// Frontiers, `plane * streams + stream`.
    open: Vec<Open>,
    /// Superblocks that still have unbound pages, oldest first, `pool * streams + stream`.
    open_supers: Vec<Vec<BlockId>>,
    /// Unbound pages in open blocks of the GC frontier.
    gc_open: Vec<u32>,
    /// Pages that the running job may still have to bind; one block without a job.
    gc_need: Vec<u32>,
    used_in_pool: Vec<u32>,
    /// Pools in which a block has been opened since they were asked.
    opened: Vec<bool>,
    used: u64,
    free_total: u64,
    lowest_free: u64,
    streams: u32,
    shared: bool,
    dynamic_wear: bool,
    releases: u32,
    superblock: bool,
    planes_per_pool: Divisor,
    pages_per_block: u32,
    pages_on_plane: u32,
}

impl Space {
    /// All blocks erased, none open.
    #[must_use]
    pub fn new(geo: &Geometry, config: &Config) -> Space {
        let streams = match config.alloc.frontiers {
            Frontiers::Single => 1,
            Frontiers::HostGc => 2,
            Frontiers::Streams(n) => u32::from(n) + 1,
        };
        let homes = if geo.members > 1 { geo.pools } else { geo.planes };
        let per_home = geo.pools * geo.blocks_per_pool / homes;
        let pools = geo.pools as usize;
        Space {
            free: (0..homes)
                .map(|h| (h * per_home..(h + 1) * per_home).map(|b| (0, b)).collect())
                .collect(),
            free_in_pool: vec![geo.blocks_per_pool; pools],
            open: vec![Open { block: NONE, left: 0 }; (geo.planes * streams) as usize],
            open_supers: vec![Vec::new(); pools * streams as usize],
            gc_open: vec![0; pools],
            gc_need: vec![geo.pages_per_block; pools],
            used_in_pool: vec![0; pools],
            opened: vec![false; pools],
            used: 0,
            free_total: u64::from(geo.blocks_per_pool) * pools as u64,
            lowest_free: u64::from(geo.blocks_per_pool) * pools as u64,
            streams,
            shared: config.alloc.frontiers == Frontiers::Single,
            dynamic_wear: config.wear.dynamic,
            releases: 0,
            superblock: geo.members > 1,
            planes_per_pool: Divisor::new(geo.planes_per_pool()),
            pages_per_block: geo.pages_per_block,
            pages_on_plane: geo.pages_per_flash_block,
        }
    }

    /// The host frontier of a request stream.
    #[inline(always)]
    #[must_use]
    pub fn host_stream(&self, stream: u8) -> u32 {
        if self.streams <= 2 { 0 } else { u32::from(stream) % (self.streams - 1) }
    }

    /// The frontier of GC copies.
    #[inline(always)]
    #[must_use]
    pub fn gc_stream(&self) -> u32 {
        self.streams - 1
    }

    /// Erased blocks of a pool.
    #[inline(always)]
    #[must_use]
    pub fn free_blocks(&self, pool: PoolId) -> u32 {
        self.free_in_pool[pool.at()]
    }

    /// Whether a block of `pool` has been opened since this was last asked.
    #[inline(always)]
    pub fn take_opened(&mut self, pool: PoolId) -> bool {
        std::mem::take(&mut self.opened[pool.at()])
    }

    /// Erased blocks of the device.
    #[must_use]
    pub fn free_blocks_total(&self) -> u64 {
        self.free_total
    }

    /// The fewest erased blocks of the device since the last [`Space::restart_lowest`].
    #[must_use]
    pub fn lowest_free_blocks(&self) -> u64 {
        self.lowest_free
    }

    /// Forget the lowest number of erased blocks so far.
    pub fn restart_lowest(&mut self) {
        self.lowest_free = self.free_total;
    }

    /// Pages of a pool that are not erased.
    #[must_use]
    pub fn used_in_pool(&self, pool: PoolId) -> u64 {
        u64::from(self.used_in_pool[pool.at()])
    }

    /// Pages of the device that are not erased.
    #[inline(always)]
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Pages that GC may still bind in a pool.
    #[must_use]
    pub fn gc_room(&self, pool: PoolId) -> u64 {
        u64::from(self.free_in_pool[pool.at()]) * u64::from(self.pages_per_block)
            + u64::from(self.gc_open[pool.at()])
    }

    /// Pages that the collection of a pool must be able to bind.
    #[must_use]
    pub fn gc_need(&self, pool: PoolId) -> u64 {
        u64::from(self.gc_need[pool.at()])
    }

    /// A job is about to move `pages` pages of `pool`.
    pub fn job_begins(&mut self, pool: PoolId, pages: u32) {
        assert!(u64::from(pages) <= self.gc_room(pool), "no room for a job in {pool:?}");
        self.gc_need[pool.at()] = pages;
    }

    /// One page of the job needs no room any more: bound or dropped.
    pub fn job_page_done(&mut self, pool: PoolId) {
        assert!(self.gc_need[pool.at()] > 0, "{pool:?} moves more pages than its job has");
        self.gc_need[pool.at()] -= 1;
    }

    /// So many pages of the job need no room any more.
    pub fn job_pages_done(&mut self, pool: PoolId, pages: u32) {
        assert!(self.gc_need[pool.at()] >= pages, "{pool:?} moves more pages than its job has");
        self.gc_need[pool.at()] -= pages;
    }

    /// The job has no page left to move.
    pub fn job_moved_all(&mut self, pool: PoolId) {
        self.gc_need[pool.at()] = 0;
    }

    fn home(&self, plane: PlaneId) -> usize {
        if self.superblock { self.planes_per_pool.div(plane.0) as usize } else { plane.at() }
    }

    fn pool(&self, plane: PlaneId) -> PoolId {
        PoolId(self.planes_per_pool.div(plane.0))
    }

    /// An already open block of `stream` has an unbound page on `plane`.
    #[inline(always)]
    fn has_open(&self, plane: PlaneId, stream: u32) -> bool {
        let open = self.open[(plane.0 * self.streams + stream) as usize];
        open.left > 0 || (self.superblock && self.next_super(plane, stream, open.block).is_some())
    }

    #[inline(never)]
    fn next_super(&self, plane: PlaneId, stream: u32, current: u32) -> Option<BlockId> {
        let list =
            &self.open_supers[self.pool(plane).at() * self.streams as usize + stream as usize];
        let at = list.iter().position(|b| b.0 == current);
        // A superblock that left the list is full on every plane, so the oldest one is next.
        list.get(at.map_or(0, |i| i + 1)).copied()
    }

    /// Whether a host write of frontier `stream` may bind a page on `plane` now.
    #[inline(always)]
    #[must_use]
    pub fn host_may_bind(&self, plane: PlaneId, stream: u32) -> bool {
        let has_open = self.has_open(plane, stream);
        (has_open && !self.shared) || self.host_may_open(plane, has_open)
    }

    /// Whether there is room beside what collection needs.
    #[inline(never)]
    fn host_may_open(&self, plane: PlaneId, has_open: bool) -> bool {
        let pool = self.pool(plane);
        let need = u64::from(self.gc_need[pool.at()]);
        if self.shared {
            let room = self.gc_room(pool);
            return room > need && (has_open || !self.free[self.home(plane)].is_empty());
        }
        let block = u64::from(self.pages_per_block);
        !self.free[self.home(plane)].is_empty() && self.gc_room(pool) >= need + block
    }

    /// Whether a GC copy may bind a page on `plane` now.
    #[must_use]
    pub fn gc_may_bind(&self, plane: PlaneId) -> bool {
        self.has_open(plane, self.gc_stream()) || !self.free[self.home(plane)].is_empty()
    }

    /// The block in which the next page of `stream` on `plane` is bound, opened if need be.
    #[inline(always)]
    pub fn frontier(&mut self, plane: PlaneId, stream: u32, blocks: &mut BlockTable) -> BlockId {
        let at = (plane.0 * self.streams + stream) as usize;
        if self.open[at].left == 0 {
            self.advance_frontier(plane, stream, blocks);
        }
        let open = &mut self.open[at];
        open.left -= 1;
        let block = BlockId(open.block);
        let pool = self.pool(plane).at();
        self.used_in_pool[pool] += 1;
        self.used += 1;
        if stream == self.gc_stream() {
            self.gc_open[pool] -= 1;
        }
        block
    }

    /// The same for up to `wanted` pages on one plane: the block, and how many it takes.
    pub fn frontier_run(
        &mut self,
        plane: PlaneId,
        stream: u32,
        wanted: u32,
        blocks: &mut BlockTable,
    ) -> (BlockId, u32) {
        assert!(wanted > 0, "a run of no page");
        let block = self.frontier(plane, stream, blocks);
        let open = &mut self.open[(plane.0 * self.streams + stream) as usize];
        let more = (wanted - 1).min(open.left);
        open.left -= more;
        let pool = self.pool(plane).at();
        self.used_in_pool[pool] += more;
        self.used += u64::from(more);
        if stream == self.gc_stream() {
            self.gc_open[pool] -= more;
        }
        (block, more + 1)
    }

    #[inline(never)]
    fn advance_frontier(&mut self, plane: PlaneId, stream: u32, blocks: &mut BlockTable) {
        let at = (plane.0 * self.streams + stream) as usize;
        let next = if self.superblock {
            self.next_super(plane, stream, self.open[at].block)
        } else {
            None
        };
        let block = next.unwrap_or_else(|| self.open_block(plane, stream, blocks));
        self.open[at] = Open { block: block.0, left: self.pages_on_plane };
    }

    fn open_block(&mut self, plane: PlaneId, stream: u32, blocks: &mut BlockTable) -> BlockId {
        let home = self.home(plane);
        let (_, id) = self.free[home].pop_first().expect("the caller has checked for a free block");
        let (block, pool) = (BlockId(id), self.pool(plane));
        assert_eq!(blocks.state[block.at()], BlockState::Free);
        assert_eq!(blocks.bound[block.at()], 0, "{block:?} is free and programmed");
        blocks.state[block.at()] = BlockState::Open;
        self.free_in_pool[pool.at()] -= 1;
        self.free_total -= 1;
        self.opened[pool.at()] = true;
        self.lowest_free = self.lowest_free.min(self.free_total);
        if stream == self.gc_stream() {
            self.gc_open[pool.at()] += self.pages_per_block;
        }
        if self.superblock {
            self.forget_former(pool, stream, block);
            self.open_supers[pool.at() * self.streams as usize + stream as usize].push(block);
        }
        block
    }

    /// Planes that filled superblock `block` before its last erase, and none since, have not begun it.
    fn forget_former(&mut self, pool: PoolId, stream: u32, block: BlockId) {
        for plane in pool.0 * self.planes_per_pool.get()..(pool.0 + 1) * self.planes_per_pool.get()
        {
            let open = &mut self.open[(plane * self.streams + stream) as usize];
            if open.block == block.0 {
                assert_eq!(open.left, 0, "{block:?} is opened and open");
                open.block = NONE;
            }
        }
    }

    /// Every page of an open block has been bound.
    #[inline]
    pub fn fully_bound(&mut self, block: BlockId, plane: PlaneId) {
        if self.superblock {
            let pool = self.pool(plane).at() * self.streams as usize;
            for list in &mut self.open_supers[pool..pool + self.streams as usize] {
                list.retain(|&b| b != block);
            }
        }
    }

    /// `block`, of which `bound` pages were used, has been erased for the `erases`-th time; its job in
    /// `pool` is over.
    pub fn erased(&mut self, block: BlockId, first_plane: PlaneId, bound: u32, erases: u32) {
        let pool = self.pool(first_plane);
        let home = self.home(first_plane);
        self.releases += 1;
        let key = if self.dynamic_wear { erases } else { self.releases };
        assert!(self.free[home].insert((key, block.0)), "{block:?} is erased twice");
        self.free_in_pool[pool.at()] += 1;
        self.free_total += 1;
        self.used_in_pool[pool.at()] -= bound;
        self.used -= u64::from(bound);
        self.gc_need[pool.at()] = self.pages_per_block;
        assert!(self.gc_room(pool) >= self.gc_need(pool), "a job of {pool:?} used up its room");
    }

    /// `block`, never used so far and at home on `plane`, counts as fully programmed from now on.
    pub fn adopt(&mut self, block: BlockId, plane: PlaneId, pages: u32) {
        let (pool, home) = (self.pool(plane), self.home(plane));
        assert!(self.free[home].remove(&(0, block.0)), "{block:?} has been used");
        self.free_in_pool[pool.at()] -= 1;
        self.free_total -= 1;
        self.lowest_free = self.lowest_free.min(self.free_total);
        self.used_in_pool[pool.at()] += pages;
        self.used += u64::from(pages);
    }

    /// The blocks in the free lists, for the audit.
    pub fn free_list(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.free.iter().flatten().map(|&(_, b)| BlockId(b))
    }

    /// The open blocks with pages left on some plane, for the audit: (plane, stream, block, left).
    pub fn open_list(&self) -> impl Iterator<Item = (PlaneId, u32, BlockId, u32)> + '_ {
        self.open.iter().enumerate().filter(|(_, o)| o.left > 0).map(|(i, o)| {
            let i = i as u32;
            (PlaneId(i / self.streams), i % self.streams, BlockId(o.block), o.left)
        })
    }

    /// Frontiers on each plane.
    #[must_use]
    pub fn streams(&self) -> u32 {
        self.streams
    }

    /// Unbound pages in the open GC blocks of a pool.
    #[must_use]
    pub fn gc_open(&self, pool: PoolId) -> u32 {
        self.gc_open[pool.at()]
    }
}
