//! SLC blocks: blocks that the host fills with one bit a cell, and the collection that folds them.
//!
//! An SLC block has the first 1 / `device.bits` of its pages; the others count as used from the time when it is opened
//! until its erase. So it is full, sealed and a candidate like any other block, with that many invalid pages at least,
//! and collecting it, which is *folding*, always gains pages. A host frontier decides with each block that it opens
//! whether that is an SLC block ([`SlcBlocks::may_open`]). The room rule ([`super::space`]) knows no SLC blocks: opening
//! one takes a block from the room, its erase gives a block back.

use super::Ftl;
use super::gc::Demand;
use super::gc::trigger::SpaceView;
use crate::config::{Config, Fold, SlcFull};
use crate::nand::geometry::Geometry;
use crate::nand::timing::SLC_TYPE;
use crate::units::{BlockId, Nanos, PoolId, Ppn};

/// What the device may have of SLC blocks, and has.
#[derive(Clone, Debug)]
pub(crate) struct SlcBlocks {
    /// Blocks of a pool that are allowed however few are erased.
    fixed: u32,
    /// Share of the erased blocks, and of those that became SLC blocks, allowed beyond that.
    share: f64,
    /// Erased blocks of a pool at which collection is wanted.
    kept: u32,
    /// Whether the host waits for folding.
    waits: bool,
    /// How long a pool is idle before it folds, if it does.
    pub(crate) idle_after: Option<Nanos>,
    /// Pages of a flash block that is an SLC block.
    pub(super) pages_on_plane: u32,
    pools: Vec<PoolBlocks>,
}

/// SLC blocks of a pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct PoolBlocks {
    /// All that are not erased.
    pub(super) used: u32,
    /// Of these, those with pages that the host may still bind.
    pub(super) filling: u32,
}

impl SlcBlocks {
    /// None so far; `None` if the device has none at all.
    pub(super) fn new(config: &Config, geo: &Geometry) -> Option<SlcBlocks> {
        let slc = &config.slc;
        if slc.is_off() {
            return None;
        }
        let soft = config.gc.trigger.iter().filter(|spec| spec.policy == "free-blocks");
        let kept = soft.map(|spec| spec.int("soft")).max().unwrap_or(0);
        assert!(config.device.bits > 1, "the config layer has checked the bits");
        Some(SlcBlocks {
            fixed: u32::try_from(config.static_slc_units()).unwrap_or(u32::MAX),
            share: if slc.mode.has_share() { slc.share } else { 0.0 },
            kept: config.gc.reserve.max(u32::try_from(kept).unwrap_or(u32::MAX)),
            waits: slc.full == SlcFull::Wait,
            idle_after: (slc.fold == Fold::Idle).then_some(Nanos(slc.idle_ns)),
            pages_on_plane: geo.pages_per_flash_block / config.device.bits,
            pools: vec![PoolBlocks::default(); geo.pools as usize],
        })
    }

    /// Whether the next block that the host opens in `pool`, of whose blocks `free` are erased, is an SLC block: the
    /// pool has fewer than its fixed ones or, with the block opened, no watermark is reached and its other SLC blocks
    /// are at most their share of themselves and the erased blocks.
    pub(super) fn may_open(&self, pool: PoolId, free: u32) -> bool {
        let Some(others) = self.pools[pool.at()].used.checked_sub(self.fixed) else { return true };
        // Products of shares such as 0.3 may lie a little below the whole number that is meant.
        let most = self.share * f64::from(others + free) + 1e-9;
        free > self.kept.saturating_add(1) && f64::from(others + 1) <= most
    }

    /// Whether the host has to wait until a block of `pool` has been folded.
    pub(super) fn lets_host_wait(&self, pool: PoolId, free: u32) -> bool {
        let PoolBlocks { used, filling } = self.pools[pool.at()];
        debug_assert!(filling <= used, "{pool:?} fills {filling} of {used} SLC blocks");
        self.waits && used > filling && !self.may_open(pool, free)
    }

    /// Whether the host may ever have to wait.
    pub(crate) fn waits(&self) -> bool {
        debug_assert!(self.share <= 1.0, "more than all");
        self.waits
    }

    pub(super) fn opened(&mut self, pool: PoolId) {
        let blocks = &mut self.pools[pool.at()];
        (blocks.used, blocks.filling) = (blocks.used + 1, blocks.filling + 1);
        debug_assert!(blocks.filling <= blocks.used, "{pool:?} fills erased blocks");
    }

    pub(super) fn filled(&mut self, pool: PoolId) {
        let blocks = &mut self.pools[pool.at()];
        blocks.filling = blocks.filling.checked_sub(1).expect("one was being filled");
    }

    pub(super) fn erased(&mut self, pool: PoolId) {
        let blocks = &mut self.pools[pool.at()];
        blocks.used = blocks.used.checked_sub(1).expect("one was in use");
        debug_assert!(blocks.filling <= blocks.used, "{pool:?} has erased a block being filled");
    }

    /// Count `pools`, of a restored device.
    pub(super) fn load(&mut self, pools: Vec<PoolBlocks>) {
        assert_eq!(pools.len(), self.pools.len(), "pools of another device");
        self.pools = pools;
    }
}

impl Ftl {
    /// Whether `ppn` is a page of an SLC block.
    #[inline]
    #[must_use]
    pub fn is_slc_page(&self, ppn: Ppn) -> bool {
        debug_assert!(ppn.0 < self.geo.pages, "there is no {ppn:?}");
        self.space.slc.is_some() && self.blocks.is_slc(self.geo.block_of(ppn))
    }

    /// The type of `page`, which decides how long it takes.
    #[inline]
    #[must_use]
    pub fn type_of(&self, page: Ppn) -> usize {
        if self.is_slc_page(page) { SLC_TYPE } else { self.geo.type_of(page) }
    }

    /// The block that the pool of `view` folds now, which is not at its reserve, and how urgent that is: the host waits,
    /// or the pool has been idle without a `demand`. It is the full SLC block with the fewest valid pages, of several
    /// the one sealed first.
    pub(super) fn due_fold(&self, view: &SpaceView, demand: Demand) -> Option<(BlockId, Demand)> {
        let (slc, pool) = (self.space.slc.as_deref()?, view.pool);
        let is_idle = demand == Demand::None
            && slc.idle_after.is_some_and(|after| view.idle_for >= Some(after));
        let waits = slc.lets_host_wait(pool, self.space.free_blocks(pool));
        let blocks = &slc.pools[pool.at()];
        if !(is_idle || waits) || blocks.used == blocks.filling {
            return None;
        }
        let full = |&b: &BlockId| self.blocks.is_slc(b) && self.blocks.is_candidate(b);
        let key = |b: &BlockId| (self.blocks.valid[b.at()], self.blocks.seal_order[b.at()]);
        let block = self.blocks.of_pool(pool).filter(full).min_by_key(key)?;
        debug_assert!(self.blocks.invalid(block) > 0, "{block:?} has pages that it cannot have");
        let demand = if waits { Demand::Urgent } else { Demand::Background };
        self.fits(block).then_some((block, demand))
    }

    /// SLC blocks that are not erased; `None` on a device without any.
    #[must_use]
    pub fn slc_blocks(&self) -> Option<u64> {
        let slc = self.space.slc.as_deref()?;
        debug_assert_eq!(slc.pools.len(), self.geo.pools as usize, "pools of another device");
        Some(slc.pools.iter().map(|pool| u64::from(pool.used)).sum())
    }

    /// Note that SLC block `block` has been erased.
    pub(super) fn end_slc(&mut self, block: BlockId) {
        let at = block.at();
        assert!(self.blocks.is_slc(block), "{block:?} has all bits");
        (self.blocks.slc[at], self.blocks.slc_erases[at]) = (false, self.blocks.slc_erases[at] + 1);
        let slc = self.space.slc.as_deref_mut().expect("the device has SLC blocks");
        slc.erased(self.blocks.pool_of(block));
    }

    /// SLC blocks of each pool, recounted from the block table.
    pub(super) fn count_slc(&self) -> Vec<PoolBlocks> {
        let mut pools = vec![PoolBlocks::default(); self.geo.pools as usize];
        let blocks = (0..self.blocks.len() as u32).map(BlockId);
        for block in blocks.filter(|&block| self.blocks.is_slc(block)) {
            let pool = &mut pools[self.blocks.pool_of(block).at()];
            let left = self.blocks.fill[block.at()].bound < self.blocks.pages_per_block;
            (pool.used, pool.filling) = (pool.used + 1, pool.filling + u32::from(left));
        }
        debug_assert!(self.space.slc.is_some() || pools.iter().all(|pool| pool.used == 0));
        pools
    }

    /// Pages that the SLC blocks lack.
    pub(super) fn lacking_pages(&self) -> u64 {
        debug_assert!(self.blocks.slc_lacks < self.blocks.pages_per_block, "blocks without pages");
        self.slc_blocks().unwrap_or(0) * u64::from(self.blocks.slc_lacks)
    }

    /// Pages of the device that are programmed or being programmed.
    #[must_use]
    pub fn used_pages(&self) -> u64 {
        let lacking = self.lacking_pages();
        debug_assert!(lacking <= self.space.used(), "{lacking} pages are lacking and not used");
        self.space.used() - lacking
    }

    /// Count the SLC blocks of a restored device.
    pub(super) fn load_slc(&mut self) {
        let pools = self.count_slc();
        if let Some(slc) = self.space.slc.as_deref_mut() {
            slc.load(pools);
        }
    }

    /// Check that SLC blocks are counted, and that none is erased, bad or filled beyond its pages.
    pub(super) fn audit_slc(&self) -> Result<(), String> {
        let Some(slc) = self.space.slc.as_deref() else { return Ok(()) };
        let counted = self.count_slc();
        assert_eq!(counted.len(), slc.pools.len(), "pools of another device");
        if counted != slc.pools {
            return Err(format!("SLC blocks of the pools: {counted:?}, noted {:?}", slc.pools));
        }
        for block in (0..self.blocks.len() as u32).map(BlockId) {
            let most = if self.blocks.is_slc(block) { slc.pages_on_plane } else { continue };
            let mut planes = self.geo.planes_of_block(block);
            if planes.any(|plane| self.flash.programmed(block, plane) > most) {
                return Err(format!("SLC block {} has more than {most} pages on a plane", block.0));
            }
        }
        Ok(())
    }
}
