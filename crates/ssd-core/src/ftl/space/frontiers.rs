//! Frontiers: which block takes the next page of a stream on a plane, and when the next block is opened.

use super::{NONE, OpenBlock, PoolSpace, Space};
use crate::ftl::blocks::{BlockState, BlockTable};
use crate::units::{BlockId, PlaneId, PoolId};
use std::cmp::Reverse;

impl Space {
    /// Whether an open block of `stream` has an unbound page on `plane`.
    #[inline(always)]
    #[must_use]
    pub fn has_open(&self, plane: PlaneId, stream: u32) -> bool {
        let open = self.open[self.frontier_at(plane, stream)];
        debug_assert!(open.left <= self.pages_on_plane, "{open:?} on {plane:?}");
        open.left > 0 || (self.superblock && self.next_super(plane, stream, open.block).is_some())
    }

    #[inline(never)]
    pub(super) fn next_super(&self, plane: PlaneId, stream: u32, current: u32) -> Option<BlockId> {
        let list = &self.open_supers[self.supers_at(self.pool(plane), stream)];
        let at = list.iter().position(|b| b.0 == current);
        // A superblock that has left the list is full on every plane, so the oldest one is next.
        list.get(at.map_or(0, |i| i + 1)).copied()
    }

    /// Whether a host write of frontier `stream` may bind a page on `plane` now.
    #[inline(always)]
    #[must_use]
    pub fn host_may_bind(&self, plane: PlaneId, stream: u32) -> bool {
        debug_assert!(self.is_for_host(stream), "frontier {stream} is not the host's");
        let has_open = self.has_open(plane, stream);
        (has_open && stream < self.of_host) || self.host_may_open(plane, stream, has_open)
    }

    /// Whether there is room besides what collection and wear levelling need.
    #[inline(never)]
    pub(super) fn host_may_open(&self, plane: PlaneId, stream: u32, has_open: bool) -> bool {
        let pool = self.pool(plane);
        debug_assert!(self.gc_need(pool) <= self.gc_room(pool), "{pool:?} has no room already");
        if self.held_pages(plane, stream) > 0 {
            return true;
        }
        if self.lacks_spare(pool) || !(has_open || self.needs_block(plane, stream)) {
            return false;
        }
        if !has_open && self.waits_for_fold(pool) {
            return false;
        }
        // Copies of isolated classes need an erased block.
        let spare = || self.unpromised(pool) > u32::from(self.isolates);
        let may_open = || spare() && !self.free[self.home(plane)].is_empty();
        let takes = if self.takes_copies(stream) { 1 } else { self.pages_per_block };
        (has_open || may_open()) && self.gc_room(pool) >= self.gc_need(pool) + u64::from(takes)
    }

    /// Whether `plane` has a page for frontier `stream`, regardless of other demands.
    #[inline(always)]
    #[must_use]
    pub fn has_page(&self, plane: PlaneId, stream: u32) -> bool {
        self.has_open(plane, stream)
            || (!self.free[self.home(plane)].is_empty() && self.may_be_opened(plane, stream))
    }

    /// Whether `stream` needs an erased block of the pool of `plane`, and one is not kept.
    #[inline]
    fn may_be_opened(&self, plane: PlaneId, stream: u32) -> bool {
        if stream == self.wear_stream() || !(self.keeps || self.superblock) {
            return true;
        }
        (!self.keeps || self.unpromised(self.pool(plane)) > 0) && self.needs_block(plane, stream)
    }

    /// Whether frontier `stream`, which has no page left on `plane`, needs another block.
    ///
    /// The pages of one class or stream are not spread evenly over the planes of a superblock. If a plane that has
    /// filled its part opened the next superblock, the others would leave one half-full superblock after another
    /// behind, until these fill the spare. So a frontier has one open at a time, or two if the spare holds two of each:
    /// then a plane need not wait for the last page of another. Pages for a plane without a free page go to another
    /// plane.
    #[inline]
    fn needs_block(&self, plane: PlaneId, stream: u32) -> bool {
        debug_assert!(!self.has_open(plane, stream), "{plane:?} has a page left");
        !self.superblock || {
            let open = &self.open_supers[self.supers_at(self.pool(plane), stream)];
            open.len() < self.open_at_most as usize
        }
    }

    /// The superblock that frontier `stream` has begun first in `pool` and not filled.
    pub(in crate::ftl) fn first_open(&self, pool: PoolId, stream: u32) -> Option<BlockId> {
        self.open_supers[self.supers_at(pool, stream)].first().copied()
    }

    /// Leave the last `left` pages of superblock `block` of frontier `stream` unbound until its next erase. They count
    /// as used.
    pub(in crate::ftl) fn close_super(
        &mut self,
        pool: PoolId,
        stream: u32,
        block: BlockId,
        left: u32,
    ) {
        assert!(stream < self.of_host, "frontier {stream} takes copies");
        for plane in self.planes_of(pool) {
            let at = self.frontier_at(plane, stream);
            if self.open[at].block == block.0 {
                self.open[at].left = 0;
            }
        }
        let first = self.first_of_pool(pool);
        self.superblock_is_full(block, first);
        self.closed[stream as usize] += u64::from(left);
        self.pools[pool.at()].used += left;
        self.used += u64::from(left);
        self.check(pool);
    }

    fn first_of_pool(&self, pool: PoolId) -> PlaneId {
        debug_assert!(pool.at() < self.pools.len(), "there is no {pool:?}");
        PlaneId(pool.0 * self.planes_per_pool.get())
    }

    /// The block in which the next page of `stream` on `plane` is bound, opened if necessary.
    #[inline(always)]
    pub fn frontier(&mut self, plane: PlaneId, stream: u32, blocks: &mut BlockTable) -> BlockId {
        let at = self.frontier_at(plane, stream);
        if self.open[at].left == 0 {
            self.advance_frontier(plane, stream, blocks);
        }
        let open = &mut self.open[at];
        debug_assert_ne!(open.block, NONE, "frontier {stream} of {plane:?} has no block");
        debug_assert!(open.left > 0, "frontier {stream} of {plane:?} has no page");
        open.left -= 1;
        let block = BlockId(open.block);
        self.bound(self.pool(plane), stream, 1);
        block
    }

    /// Bind a page of the open block of host frontier `stream` on `plane`, if there is one and it may be bound
    /// regardless of what collection needs. Returns the block, and whether this was its last page or a block of the
    /// pool has been opened since the last [`Space::take_opened`].
    #[inline(always)]
    pub fn take_open(&mut self, plane: PlaneId, stream: u32) -> Option<(BlockId, bool)> {
        debug_assert!(!self.superblock, "superblocks are not considered");
        debug_assert!(stream < self.gc_stream(), "frontier {stream} is not the host's");
        let at = self.frontier_at(plane, stream);
        let pool = self.pool(plane).at();
        let open = &mut self.open[at];
        open.left = open.left.checked_sub(1)?;
        debug_assert_ne!(open.block, NONE, "frontier {stream} of {plane:?} has no block");
        let pool = &mut self.pools[pool];
        pool.used += 1;
        self.used += 1;
        Some((BlockId(open.block), pool.opened | (open.left == 0)))
    }

    /// Whether a page that the host binds in an open block depends on neither room nor other planes.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.of_host > 0 && !self.superblock && !self.separates() && self.slc.is_none()
    }

    /// Count this many more pages of `pool` as used.
    #[inline(always)]
    pub(super) fn bound(&mut self, pool: PoolId, stream: u32, pages: u32) {
        let (gc_stream, wear_stream) = (self.gc_stream(), self.wear_stream());
        self.used += u64::from(pages);
        let pool = &mut self.pools[pool.at()];
        pool.used += pages;
        debug_assert!(
            u64::from(pool.used) <= u64::from(pool.good) * u64::from(self.pages_per_block),
            "more pages are used than there are: {pool:?}"
        );
        // The only frontier of copies first, which costs a device without classes nothing.
        if stream == gc_stream || (stream > gc_stream && stream != wear_stream) {
            debug_assert!(pool.gc_open >= pages, "GC has no such page: {pool:?}");
            pool.gc_open -= pages;
        } else if stream > gc_stream {
            debug_assert!(pool.wear_open >= pages, "wear levelling has no such page: {pool:?}");
            pool.wear_open -= pages;
        }
    }

    /// As [`Space::frontier`], for up to `requested` pages on one plane: the block, and how many it takes.
    pub fn frontier_run(
        &mut self,
        plane: PlaneId,
        stream: u32,
        requested: u32,
        blocks: &mut BlockTable,
    ) -> (BlockId, u32) {
        assert!(requested > 0, "a run of no page");
        debug_assert!(
            requested == 1 || !self.superblock,
            "pages of a superblock lie on its planes in turn"
        );
        let block = self.frontier(plane, stream, blocks);
        let at = self.frontier_at(plane, stream);
        let open = &mut self.open[at];
        let more = (requested - 1).min(open.left);
        open.left -= more;
        self.bound(self.pool(plane), stream, more);
        (block, more + 1)
    }

    #[inline(never)]
    pub(super) fn advance_frontier(
        &mut self,
        plane: PlaneId,
        stream: u32,
        blocks: &mut BlockTable,
    ) {
        let at = self.frontier_at(plane, stream);
        debug_assert_eq!(
            self.open[at].left, 0,
            "frontier {stream} of {plane:?} leaves pages unbound"
        );
        let next = if self.superblock {
            self.next_super(plane, stream, self.open[at].block)
        } else {
            None
        };
        let block = next.unwrap_or_else(|| self.open_block(plane, stream, blocks));
        debug_assert_eq!(blocks.state[block.at()], BlockState::Open, "{block:?} is not open");
        debug_assert_eq!(blocks.pool_of(block), self.pool(plane), "{block:?} of another pool");
        debug_assert!(
            u32::from(blocks.fill[block.at()].bound) < self.pages_per_block,
            "{block:?} is open and full"
        );
        self.open[at] = OpenBlock { block: block.0, left: self.pages_of(block, blocks) };
    }

    /// Pages of the flash block of `block` on a plane.
    pub(in crate::ftl) fn pages_of(&self, block: BlockId, blocks: &BlockTable) -> u32 {
        debug_assert!(self.slc.is_some() || !blocks.is_slc(block), "{block:?} is an SLC block");
        let slc = self.slc.as_ref().filter(|_| blocks.is_slc(block));
        slc.map_or(self.pages_on_plane, |slc| slc.pages_on_plane)
    }

    /// Whether the host may open no block of `pool` until one has been folded.
    pub(super) fn waits_for_fold(&self, pool: PoolId) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.lets_host_wait(pool, self.pools[pool.at()].free))
    }

    /// Make `block` of `pool`, which the host opens, an SLC block if it may be one; before it, `free` blocks of the
    /// pool were erased. The pages that it lacks count as used.
    fn open_as_slc(&mut self, block: BlockId, pool: PoolId, free: u32, blocks: &mut BlockTable) {
        let Some(slc) = self.slc.as_mut().filter(|slc| slc.may_open(pool, free)) else { return };
        slc.opened(pool);
        blocks.slc[block.at()] = true;
        let lacks = blocks.lacks(block);
        blocks.fill[block.at()].bound = lacks;
        self.pools[pool.at()].used += u32::from(lacks);
        self.used += u64::from(lacks);
    }

    pub(super) fn open_block(
        &mut self,
        plane: PlaneId,
        stream: u32,
        blocks: &mut BlockTable,
    ) -> BlockId {
        let (block, pool) = (self.take_free(plane, stream, blocks), self.pool(plane));
        assert_eq!(blocks.state[block.at()], BlockState::Free);
        assert_eq!(blocks.fill[block.at()].bound, 0, "{block:?} is free and programmed");
        assert_eq!(blocks.valid[block.at()], 0, "{block:?} is free and holds data");
        assert!(self.pools[pool.at()].free > 0, "{block:?} is erased and not counted");
        blocks.state[block.at()] = BlockState::Open;
        if stream < self.of_host {
            self.open_as_slc(block, pool, self.pools[pool.at()].free, blocks);
        }
        self.pools[pool.at()].free -= 1;
        self.free_total -= 1;
        self.pools[pool.at()].opened = true;
        self.lowest_free = self.lowest_free.min(self.free_total);
        if self.separates() {
            self.note_opened(block, stream, blocks);
        }
        if self.takes_copies(stream) {
            self.pools[pool.at()].gc_open += self.pages_per_block;
        } else if stream == self.wear_stream() {
            self.pools[pool.at()].wear_open += self.pages_per_block;
            assert_eq!(self.pools[pool.at()].promised, 1, "{pool:?} levels unasked");
            self.pools[pool.at()].promised = 0;
        }
        let PoolSpace { promised, free, .. } = self.pools[pool.at()];
        assert!(u32::from(promised) <= free, "{pool:?} broke a promise");
        self.check(pool);
        if self.superblock {
            self.forget_former(pool, stream, block);
            let supers = self.supers_at(pool, stream);
            self.open_supers[supers].push(block);
        }
        block
    }

    /// Remove the erased block that `stream` opens next on `plane` from its list.
    pub(super) fn take_free(
        &mut self,
        plane: PlaneId,
        stream: u32,
        blocks: &BlockTable,
    ) -> BlockId {
        let home = self.home(plane);
        let next = if stream == self.wear_stream() {
            self.most_worn_at(home, blocks).filter(|key| self.free[home].remove(key))
        } else {
            self.free[home].pop_first()
        };
        let block = next.expect("the caller has checked for a free block").1;
        debug_assert_eq!(
            block / self.blocks_per_home,
            home as u32,
            "block {block} was kept elsewhere"
        );
        BlockId(block)
    }

    /// The erased block of a home with the most erases, then the lowest number.
    pub(super) fn most_worn_at(&self, home: usize, blocks: &BlockTable) -> Option<(u32, u32)> {
        let erases = |key: &&(u32, u32)| (blocks.erases[key.1 as usize], Reverse(key.1));
        self.free[home].iter().max_by_key(erases).copied()
    }

    /// The erased block of `pool` with the most erases, then the lowest number.
    #[must_use]
    pub fn most_worn(&self, pool: PoolId, blocks: &BlockTable) -> Option<BlockId> {
        // The planes of a superblock share their list.
        let planes = self.planes_of(pool).take(if self.superblock { 1 } else { usize::MAX });
        let worn = planes
            .filter_map(|plane| self.most_worn_at(self.home(plane), blocks))
            .map(|(_, id)| BlockId(id))
            .max_by_key(|b| (blocks.erases[b.at()], Reverse(*b)))?;
        assert_eq!(blocks.state[worn.at()], BlockState::Free, "{worn:?} is not erased");
        assert_eq!(blocks.pool_of(worn), pool, "{worn:?} of another pool");
        Some(worn)
    }

    /// The plane of the pool of `home` where the next copy to frontier `stream` is bound; `home` itself if it has a
    /// page.
    #[inline(always)]
    #[must_use]
    pub fn copy_plane(&self, home: PlaneId, stream: u32, blocks: &BlockTable) -> Option<PlaneId> {
        debug_assert!(stream >= self.gc_stream(), "frontier {stream} is the host's");
        let copies = stream == self.gc_stream() || stream != self.wear_stream();
        if copies && self.has_page(home, stream) {
            return Some(home);
        }
        self.other_copy_plane(home, stream, blocks)
    }

    /// With superblocks the plane, in striping order, for which the next page of the host's frontier `stream` is
    /// planned.
    ///
    /// Each frontier has its own turn, so that its pages are spread evenly over the planes. The turn continues where
    /// the pages before stopped, in whatever run or mode they were written. If it started over with a run, the planes
    /// would stay a page apart, and every superblock would be sealed only after the next one has been opened.
    #[inline(always)]
    pub(crate) fn take_turn(&mut self, stream: u32) -> Option<u32> {
        let planes = self.planes();
        let turn = self.host_turn.get_mut(stream as usize)?;
        debug_assert!(*turn < planes, "it is the turn of plane {turn} of {planes}");
        let next = if *turn + 1 == planes { 0 } else { *turn + 1 };
        Some(std::mem::replace(turn, next))
    }

    /// Planes of the device.
    #[inline(always)]
    pub(super) fn planes(&self) -> u32 {
        let planes = self.planes_per_pool.get() * self.pools.len() as u32;
        debug_assert_eq!((planes * self.frontiers) as usize, self.open.len(), "a plane lacks one");
        planes
    }

    /// Whether [`Space::copy_plane_in_turn`] selects the plane of collection's copies.
    #[inline(always)]
    #[must_use]
    pub fn copies_in_turn(&self) -> bool {
        self.copies_in_turn
    }

    /// The plane in the pool of `home` for the next copy to frontier `stream`, if copies go to the planes of
    /// superblocks in turn so that the planes fill evenly. A plane without a free page is skipped.
    ///
    /// If copies stayed on the plane of their source, planes would fill at different rates, and each frontier would
    /// spread its pages over two superblocks.
    #[inline(never)]
    pub fn copy_plane_in_turn(&mut self, home: PlaneId, stream: u32) -> Option<PlaneId> {
        debug_assert!(
            self.copies_in_turn && self.takes_copies(stream),
            "copies stay on their plane"
        );
        let (pool, planes) = (self.pool(home), self.planes_per_pool.get());
        let at = self.supers_at(pool, stream);
        let turns = (0..planes).map(|i| (self.copy_turn[at] + i) % planes);
        let mut fits = turns.filter(|turn| self.has_page(PlaneId(pool.0 * planes + turn), stream));
        let turn = fits.next()?;
        self.copy_turn[at] = (turn + 1) % planes;
        Some(PlaneId(pool.0 * planes + turn))
    }

    #[inline(never)]
    pub(super) fn other_copy_plane(
        &self,
        home: PlaneId,
        stream: u32,
        blocks: &BlockTable,
    ) -> Option<PlaneId> {
        if stream == self.wear_stream() {
            return self.wear_plane(home, blocks);
        }
        debug_assert!(self.takes_copies(stream), "frontier {stream} takes no copies");
        self.planes_of(self.pool(home)).find(|&p| self.has_page(p, stream))
    }

    pub(super) fn planes_of(&self, pool: PoolId) -> impl Iterator<Item = PlaneId> + use<> {
        debug_assert!(pool.at() < self.pools.len(), "there is no {pool:?}");
        let planes = self.planes_per_pool.get();
        (pool.0 * planes..(pool.0 + 1) * planes).map(PlaneId)
    }

    /// For wear levelling: a plane with a page left in an open block, so that no more blocks are opened than
    /// necessary; otherwise the plane of the most worn erased block.
    pub(super) fn wear_plane(&self, home: PlaneId, blocks: &BlockTable) -> Option<PlaneId> {
        let (stream, pool) = (self.wear_stream(), self.pool(home));
        let mut planes = std::iter::once(home).chain(self.planes_of(pool));
        let open = planes.find(|&p| self.has_open(p, stream));
        open.or_else(|| {
            let block = self.most_worn(pool, blocks)?;
            if self.superblock {
                return Some(home);
            }
            let plane = PlaneId(block.0 / self.blocks_per_home);
            assert_eq!(self.pool(plane), pool, "{block:?} is at home in another pool");
            Some(plane)
        })
    }

    /// Forget planes that filled superblock `block` before its last erase and no superblock since: they have not begun
    /// it.
    pub(super) fn forget_former(&mut self, pool: PoolId, stream: u32, block: BlockId) {
        for plane in self.planes_of(pool) {
            let at = self.frontier_at(plane, stream);
            let open = &mut self.open[at];
            if open.block == block.0 {
                assert_eq!(open.left, 0, "{block:?} is opened and open");
                open.block = NONE;
            }
        }
    }

    /// Note that every page of an open block has been bound.
    #[inline]
    pub fn fully_bound(&mut self, block: BlockId, plane: PlaneId, is_slc: bool) {
        if self.superblock {
            self.superblock_is_full(block, plane);
        }
        if is_slc && let Some(slc) = &mut self.slc {
            slc.filled(PoolId(self.planes_per_pool.div(plane.0)));
        }
    }

    #[inline(never)]
    pub(super) fn superblock_is_full(&mut self, block: BlockId, plane: PlaneId) {
        let first = self.supers_at(self.pool(plane), 0);
        let mut open_in = 0;
        for list in &mut self.open_supers[first..=first + self.streams as usize] {
            let before = list.len();
            list.retain(|&b| b != block);
            open_in += before - list.len();
        }
        assert_eq!(open_in, 1, "{block:?} belonged to other than one frontier");
    }
}
