//! Zones in the FTL: frontiers that are closed before their superblocks are full, and collection that only erases.
//!
//! Each active zone has a class of its own, so a superblock has pages of only one zone. A zone that has been reset has
//! no valid pages, and its superblocks are erased at once. Because nothing is ever copied, triggers and victim policies
//! have no effect.

use super::Ftl;
use crate::units::{BlockId, PoolId};

impl Ftl {
    /// Whether zones are the interface of the device.
    #[inline]
    #[must_use]
    pub fn is_zoned(&self) -> bool {
        self.separated.as_deref().is_some_and(|separated| separated.of_zones)
    }

    /// Whether no superblock of frontier `stream` has pages left.
    pub(crate) fn has_none_open(&self, stream: u32) -> bool {
        let mut pools = (0..self.geo.pools).map(PoolId);
        pools.all(|pool| self.space.first_open(pool, stream).is_none())
    }

    /// Close the open superblocks of frontier `stream`, none of whose pages is being programmed. Their other pages stay
    /// unprogrammed until the next erase.
    pub(crate) fn close_frontier(&mut self, stream: u32) {
        assert!(self.is_zoned(), "frontier {stream} is of no zone");
        for pool in (0..self.geo.pools).map(PoolId) {
            while let Some(block) = self.space.first_open(pool, stream) {
                let at = block.at();
                assert_eq!(self.blocks.fill[at].pending, 0, "{block:?} has programs pending");
                for plane in self.geo.planes_of_block(block) {
                    let torn = self.flash.close(&self.geo, block, plane);
                    assert_eq!(torn, 0, "a page of {block:?} on {plane:?} is being programmed");
                }
                let all = self.blocks.pages_per_block;
                let bound = std::mem::replace(&mut self.blocks.fill[at].bound, all);
                debug_assert!(bound < all, "{block:?} is open and full");
                self.space.close_super(pool, stream, block, u32::from(all - bound));
                self.seal(block);
            }
        }
    }

    /// The next block of `pool` to erase, whose zone has been reset. Of several, it is the one that was sealed first.
    pub(super) fn due_reset(&self, pool: PoolId) -> Option<BlockId> {
        debug_assert!(self.is_zoned(), "{pool:?} has no zones");
        let has_none = |&b: &BlockId| self.blocks.is_candidate(b) && self.blocks.valid[b.at()] == 0;
        let blocks = self.blocks.of_pool(pool).filter(has_none);
        blocks.min_by_key(|b| self.blocks.seal_order[b.at()])
    }
}
