//! Wake-ups: whatever makes an operation startable wakes its unit in the same instant, and the audit checks
//! that none has been forgotten (`audit`).
//!
//! Units also wake when they become idle, when something is queued on them, when a scope reopens (`collect`) or when a
//! page buffer is free (`crossing`).

use super::core::Core;
use crate::units::{PoolId, Ppn};

impl Core {
    /// Wake the units of `pool`: a host operation may be able to start.
    pub(crate) fn wake_pool(&mut self, pool: PoolId) {
        self.array.wake_pool(&self.ftl.geo, pool);
        self.note_room();
    }

    /// Note that there may be room for updates of parity groups.
    pub(super) fn note_room(&mut self) {
        if self.ftl.groups.is_some() {
            (self.room_changed, self.groups_due) = (true, true);
        }
    }

    /// Note that the owner of `page` has newer data, another page or none: reads that wait on the page's unit because
    /// collection has closed it may no longer need to wait.
    #[inline(always)]
    pub(crate) fn wake_readers(&mut self, page: Ppn) {
        debug_assert!(page.0 < self.ftl.geo.pages, "{page:?} is beyond the device");
        if self.gc.closings > 0 {
            let plane = self.ftl.geo.plane_of(page);
            self.array.ready.insert(self.ftl.geo.unit_of(plane).0);
        }
    }

    /// Note that a page of `pool` has been bound. A write moves to another unit only if its unit, closed or not, has no
    /// room, and this may have taken the last room.
    #[inline(always)]
    pub(crate) fn wake_movers(&mut self, pool: PoolId) {
        debug_assert!(self.gc.closed_blocks <= self.gc.closings, "a block is closed by no job");
        let planes_close = self.gc.closings > 0 && self.gc.closed_blocks == 0;
        if planes_close && self.ftl.geo.planes_per_pool() > self.ftl.geo.planes_per_unit() {
            self.wake_pool(pool);
        }
    }
}
