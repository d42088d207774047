//! The audit: every invariant of maps, blocks and space, recomputed from scratch.

use super::Ftl;
use super::blocks::{BlockState, BlockTable};
use crate::units::{BlockId, PoolId, Ppn};

/// Fail with a message unless `condition` holds.
macro_rules! hold {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}

impl Ftl {
    /// Recompute every invariant.
    ///
    /// # Errors
    /// The first violated invariant, with its numbers.
    pub fn audit(&self) -> Result<(), String> {
        assert_eq!(
            self.owners.logical_pages(),
            self.geo.logical_pages,
            "the map of another device"
        );
        self.flash.audit()?;
        self.owners.audit(|ppn| self.flash.lpn(ppn), self.geo.pages)?;
        self.audit_groups()?;
        self.audit_blocks_and_space()
    }

    /// For a device at rest: recompute what does not follow from the map alone.
    pub(super) fn audit_blocks_and_space(&self) -> Result<(), String> {
        let blocks = self.geo.pools * self.geo.blocks_per_pool;
        assert_eq!(self.blocks.len(), blocks as usize, "the block table of another device");
        self.audit_blocks()?;
        self.audit_space()
    }

    /// Counts, states and programmed pages of every block agree.
    fn audit_blocks(&self) -> Result<(), String> {
        let BlockTable { fill, state, erases, seal_order, .. } = &self.blocks;
        let lengths = [fill.len(), state.len(), erases.len(), seal_order.len()];
        assert_eq!(lengths, [self.blocks.len(); 4], "columns of the block table of unequal length");
        let mut landed = 0;
        for b in 0..self.blocks.len() {
            let block = BlockId(b as u32);
            let first = self.geo.first_page(block).0;
            let valid = (first..first + self.geo.pages_per_block)
                .filter(|&p| self.owners.is_valid(Ppn(p)))
                .count();
            let (counted, bound) = (self.blocks.valid[b], self.blocks.fill[b].bound);
            let (pending, state) = (self.blocks.fill[b].pending, self.blocks.state[b]);
            hold!(valid == usize::from(counted), "block {b}: {valid} valid, counted {counted}");
            let programmed: u32 =
                self.geo.planes_of_block(block).map(|p| self.flash.programmed(block, p)).sum();
            // Members of a superblock are erased one by one.
            let has = u32::from(bound - self.blocks.lacks(block));
            let erased_in_part = state == BlockState::Erasing && programmed < has;
            hold!(
                programmed == has || erased_in_part,
                "block {b}: {programmed} programmed, {bound} bound"
            );
            let torn = self.geo.planes_of_block(block).flat_map(|plane| {
                let pages = 0..self.flash.programmed(block, plane);
                pages.filter(move |&page| self.flash.is_torn(self.geo.page_on(block, plane, page)))
            });
            let torn = torn.count();
            hold!(torn <= usize::from(pending), "block {b}: {torn} torn pages, {pending} pending");
            landed += u64::from(pending) - torn as u64;
            hold!(
                u32::from(counted) + u32::from(pending) <= u32::from(bound),
                "block {b}: {counted} valid + {pending} pending of {bound}"
            );
            let full = bound == self.blocks.pages_per_block;
            match state {
                BlockState::Free => hold!(bound == 0 && pending == 0, "block {b} is free and used"),
                BlockState::Open => hold!(!full || pending > 0, "block {b} is full and not sealed"),
                BlockState::Sealed | BlockState::Collecting => {
                    hold!(full && pending == 0, "block {b} is {state:?} with {bound} bound");
                }
                BlockState::Erasing => hold!(valid == 0, "block {b} erases {valid} valid pages"),
                BlockState::Bad => hold!(bound == 0 && pending == 0, "block {b} is bad and used"),
            }
        }
        let counted = self.landed;
        hold!(landed == counted, "{landed} pages pending and not torn, {counted} have landed");
        Ok(())
    }

    /// Free lists, frontiers, used space and GC room agree with the blocks.
    fn audit_space(&self) -> Result<(), String> {
        self.audit_slc()?;
        self.space.audit_held()?;
        self.space.audit_open(&self.blocks)?;
        let mut listed = vec![false; self.blocks.len()];
        for block in self.space.free_list() {
            assert!(block.at() < listed.len(), "{block:?} is erased and beyond the device");
            hold!(!listed[block.at()], "block {} is in two free lists", block.0);
            listed[block.at()] = true;
        }
        for (plane, stream, block, left) in self.space.open_list() {
            assert!(block.at() < listed.len(), "{block:?} is open and beyond the device");
            let programmed = self.flash.programmed(block, plane);
            hold!(
                programmed + left == self.space.pages_of(block, &self.blocks),
                "frontier {stream} of plane {}: {programmed} programmed, {left} left",
                plane.0
            );
        }
        let (mut used_total, mut good_total) = (0, 0);
        for p in 0..self.geo.pools {
            let pool = PoolId(p);
            let free = self.blocks.of_pool(pool).filter(|b| listed[b.at()]).count() as u32;
            hold!(
                free == self.space.free_blocks(pool),
                "pool {p}: {free} free, {} counted",
                self.space.free_blocks(pool)
            );
            let good = self.blocks.of_pool(pool).filter(|&b| !self.blocks.is_bad(b)).count();
            hold!(
                good == self.space.good_blocks(pool) as usize,
                "pool {p}: {good} good blocks, {} counted",
                self.space.good_blocks(pool)
            );
            good_total += good;
            for b in self.blocks.of_pool(pool) {
                let is_free = self.blocks.state[b.at()] == BlockState::Free;
                hold!(is_free == listed[b.at()], "block {} is lost or not free", b.0);
            }
            let used: u64 =
                self.blocks.of_pool(pool).map(|b| u64::from(self.blocks.fill[b.at()].bound)).sum();
            hold!(used == self.space.used_in_pool(pool), "pool {p}: {used} pages used");
            used_total += used;
            hold!(
                self.space.promised(pool) <= self.space.free_blocks(pool),
                "pool {p}: a block is promised to wear levelling and none is erased"
            );
            hold!(
                self.space.gc_room(pool) >= self.space.gc_need(pool),
                "pool {p}: GC needs {} pages and has room for {}",
                self.space.gc_need(pool),
                self.space.gc_room(pool)
            );
        }
        let good_pages = good_total as u64 * u64::from(self.geo.pages_per_block);
        hold!(good_pages == self.space.good_pages(), "{good_pages} pages of good blocks");
        let free_total = listed.iter().filter(|&&l| l).count() as u64;
        hold!(free_total == self.space.free_blocks_total(), "{free_total} blocks are free");
        hold!(
            used_total == self.space.used(),
            "{used_total} pages used, {} counted",
            self.space.used()
        );
        self.audit_wear_frontiers()
    }

    /// The open blocks of wear levelling have as many unbound pages as counted.
    fn audit_wear_frontiers(&self) -> Result<(), String> {
        for p in 0..self.geo.pools {
            let pool = PoolId(p);
            let is_open = |b: &BlockId| self.blocks.state[b.at()] == BlockState::Open;
            assert!(
                self.space.wear_blocks(pool).iter().all(is_open),
                "{pool:?} levels into blocks that are not open"
            );
            let open: u32 = self
                .space
                .wear_blocks(pool)
                .iter()
                .map(|b| u32::from(self.blocks.pages_per_block - self.blocks.fill[b.at()].bound))
                .sum();
            hold!(
                open == self.space.wear_open(pool),
                "pool {p}: wear levelling has {open} open pages, {} counted",
                self.space.wear_open(pool)
            );
        }
        Ok(())
    }
}
