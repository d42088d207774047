//! Room: how many pages of a pool collection may still bind, and how many it must be able to bind.
//!
//! The room rule: for every pool `gc_need <= gc_room`. Host writes and wear levelling take a page or a block only if
//! the rule still holds afterwards.

use super::{PoolSpace, Space};
use crate::units::PoolId;

impl Space {
    /// Erased blocks that wear levelling will still open for its running job in a pool.
    #[must_use]
    pub fn promised(&self, pool: PoolId) -> u32 {
        u32::from(self.pools[pool.at()].promised)
    }

    /// Erased blocks of a pool that are neither promised to wear levelling nor kept for held pages.
    #[inline(always)]
    pub(super) fn unpromised(&self, pool: PoolId) -> u32 {
        let PoolSpace { free, promised, kept, .. } = self.pools[pool.at()];
        let reserved = u32::from(promised) + u32::from(kept);
        debug_assert!(reserved <= free, "{pool:?} broke a promise: {reserved} of {free}");
        free - reserved
    }

    /// Pages that GC may still bind in a pool.
    #[must_use]
    pub fn gc_room(&self, pool: PoolId) -> u64 {
        let PoolSpace { gc_open, held, .. } = self.pools[pool.at()];
        let room =
            u64::from(self.unpromised(pool)) * u64::from(self.pages_per_block) + u64::from(gc_open);
        debug_assert!(room >= u64::from(held), "{pool:?} holds {held} pages of {room}");
        room - u64::from(held)
    }

    /// Pages that the collection of a pool must be able to bind.
    #[must_use]
    pub fn gc_need(&self, pool: PoolId) -> u64 {
        u64::from(self.pools[pool.at()].gc_need)
    }

    /// Begin a job that moves `pages` pages of `pool`. `gives_back`: its block can be used again, so no other room need
    /// be kept for what comes after it.
    pub fn job_begins(&mut self, pool: PoolId, pages: u32, gives_back: bool) {
        debug_assert!(pages <= self.pages_per_block, "{pages} pages of one block of {pool:?}");
        debug_assert_eq!(self.pools[pool.at()].promised, 0, "{pool:?} collects while it levels");
        assert!(u64::from(pages) <= self.gc_room(pool), "no room for a job in {pool:?}");
        self.keep(pool, pages + if gives_back { 0 } else { self.pages_per_block });
    }

    /// Whether there is an erased block for wear levelling besides the one reserved for collection.
    #[must_use]
    pub fn may_level(&self, pool: PoolId) -> bool {
        // The promised block no longer counts as room.
        self.unpromised(pool) >= 2 && self.gc_room(pool) >= 2 * u64::from(self.pages_per_block)
    }

    /// Begin to move `pages` pages of `pool`, which is above its reserve, for wear levelling: an erased block is
    /// promised to it unless its open blocks suffice, and a block is reserved for collection.
    pub fn levelling_begins(&mut self, pool: PoolId, pages: u32) {
        assert!(pages <= self.pages_per_block, "{pages} pages of one block of {pool:?}");
        assert_eq!(self.pools[pool.at()].promised, 0, "{pool:?} levels two blocks at a time");
        assert!(self.may_level(pool), "{pool:?} levels at its reserve");
        self.pools[pool.at()].promised = u16::from(pages > self.pools[pool.at()].wear_open);
        self.pools[pool.at()].gc_need = self.pages_per_block;
        assert!(self.gc_room(pool) >= self.gc_need(pool), "{pool:?} levels without room for GC");
        self.check(pool);
    }

    /// Reserve room for this many pages, or as much as there is.
    pub(super) fn keep(&mut self, pool: PoolId, pages: u32) {
        debug_assert!(
            pages <= 2 * self.pages_per_block,
            "{pool:?} keeps {pages} pages for one job"
        );
        self.pools[pool.at()].gc_need = self.gc_room(pool).min(u64::from(pages)) as u32;
    }

    /// Note that this many pages of the job, bound on frontier `stream` or dropped, no longer need room. Those of wear
    /// levelling have room in its open blocks.
    pub fn job_pages_done(&mut self, pool: PoolId, stream: u32, pages: u32) {
        debug_assert!(stream >= self.gc_stream(), "a job of {pool:?} fills frontier {stream}");
        if stream == self.wear_stream() {
            return;
        }
        assert!(
            self.pools[pool.at()].gc_need >= pages,
            "{pool:?} moves more pages than its job has"
        );
        self.pools[pool.at()].gc_need -= pages;
    }

    /// Note that the job has no page left to move.
    pub fn job_moved_all(&mut self, pool: PoolId, gives_back: bool) {
        self.pools[pool.at()].promised = 0;
        self.keep(pool, if gives_back { 0 } else { self.pages_per_block });
    }

    /// End the job without its block being erased.
    pub fn job_is_off(&mut self, pool: PoolId) {
        debug_assert_eq!(self.pools[pool.at()].promised, 0, "the job of {pool:?} has pages left");
        self.keep(pool, self.pages_per_block);
    }

    /// Check that the counts of `pool` fit each other and that the room rule holds. (Only with debug assertions: blocks
    /// are opened and erased often enough for it to show in the instruction count.)
    pub(in crate::ftl) fn check(&self, pool: PoolId) {
        let counts = &self.pools[pool.at()];
        let pages = u64::from(counts.good) * u64::from(self.pages_per_block);
        debug_assert!(
            counts.free <= counts.good,
            "{pool:?} has erased blocks that are bad: {counts:?}"
        );
        debug_assert!(
            u64::from(counts.used) <= pages,
            "{pool:?} has used pages that it lacks: {counts:?}"
        );
        debug_assert!(
            u32::from(counts.promised) + u32::from(counts.kept) <= counts.free,
            "{pool:?} broke a promise: {counts:?}"
        );
        debug_assert!(
            counts.promised <= 1,
            "{pool:?} has promised more than one block: {counts:?}"
        );
        debug_assert!(self.gc_need(pool) <= self.gc_room(pool), "{pool:?} has no room: {counts:?}");
        debug_assert!(
            self.lowest_free <= self.free_total,
            "the lowest number of erased blocks is higher"
        );
        debug_assert!(self.free_total <= self.good_total, "erased blocks are bad");
        let erased = u64::from(counts.free) * u64::from(self.pages_per_block);
        let open = u64::from(counts.gc_open) + u64::from(counts.wear_open);
        debug_assert!(
            u64::from(counts.used) + erased + open <= pages,
            "{pool:?} counts pages twice: {counts:?}"
        );
    }
}
