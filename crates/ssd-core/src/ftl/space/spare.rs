//! The erased block of each pool that is kept for the recovery from a power cut.
//!
//! A cut in the middle of collection leaves torn pages in the block that collection was filling, so the room no longer
//! suffices. Therefore one erased block of each pool is not part of the room ([`Space::gc_room`]). It is given up only
//! if a cut leaves no other room, until collection has freed another block; in the meantime the host opens no block. So
//! it takes nothing but copies of one victim after the other: either a block is erased, or the block opened last holds
//! only copies of pages that the victim still has.

use super::{PoolSpace, Space};
use crate::units::PoolId;

impl Space {
    /// Erased blocks of `pool` that are kept for recovery: 0 or 1.
    #[inline]
    #[must_use]
    pub fn spares(&self, pool: PoolId) -> u32 {
        let PoolSpace { spare, kept, .. } = self.pools[pool.at()];
        debug_assert!(spare <= kept && spare <= 1, "{pool:?} keeps {spare} of {kept} blocks");
        u32::from(spare)
    }

    /// Whether the host has to wait until a block of `pool` is kept again.
    #[inline]
    pub(super) fn lacks_spare(&self, pool: PoolId) -> bool {
        self.recovers && self.pools[pool.at()].spare == 0
    }

    /// Keep an erased block of `pool` if the rest suffices for collection.
    pub(super) fn keep_spare(&mut self, pool: PoolId) {
        if !self.lacks_spare(pool) || self.unpromised(pool) == 0 {
            return;
        }
        let block = u64::from(self.pages_per_block);
        let left = self.gc_room(pool) - block;
        if left >= self.gc_need(pool).max(block) {
            self.pools[pool.at()].kept += 1;
            self.pools[pool.at()].spare = 1;
        }
    }
}
