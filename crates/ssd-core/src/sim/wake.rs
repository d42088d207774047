//! Wake-ups: whatever makes an operation startable wakes its unit in the same instant, and the audit checks
//! that none has been forgotten.
//!
//! Units also wake by themselves, when they become idle or something is queued on them, and when a scope
//! reopens (`collect`) or a page buffer is free (`crossing`).

use super::core::Core;
use crate::sched::order::{R_GC, R_HOST, W_GC, W_HOST};
use crate::units::{OpSlot, PoolId, Ppn};

impl Core {
    /// Wake the units of `pool`: a host operation may be able to start.
    pub(crate) fn wake_pool(&mut self, pool: PoolId) {
        self.array.wake_pool(&self.ftl.geo, pool);
        self.note_room();
    }

    /// There may be room for updates of parity groups.
    pub(super) fn note_room(&mut self) {
        if self.ftl.groups.is_some() {
            (self.room_changed, self.groups_due) = (true, true);
        }
    }

    /// The owner of `page` has newer data, another page or none: reads that wait on the page's unit because
    /// collection has closed it may no longer need to wait.
    #[inline(always)]
    pub(crate) fn wake_readers(&mut self, page: Ppn) {
        debug_assert!(page.0 < self.ftl.geo.pages, "{page:?} is beyond the device");
        if self.gc.closings > 0 {
            let plane = self.ftl.geo.plane_of(page);
            self.array.ready.insert(self.ftl.geo.unit_of(plane).0);
        }
    }

    /// A page of `pool` has been bound. A write moves to another unit only if its unit, closed or not, has no
    /// room, and this may have taken the last room.
    #[inline(always)]
    pub(crate) fn wake_movers(&mut self, pool: PoolId) {
        debug_assert!(self.gc.closed_blocks <= self.gc.closings, "a block is closed by no job");
        let planes_close = self.gc.closings > 0 && self.gc.closed_blocks == 0;
        if planes_close && self.ftl.geo.planes_per_pool() > self.ftl.geo.planes_per_unit() {
            self.wake_pool(pool);
        }
    }

    /// At the end of an instant no idle unit has an operation that `dispatch` would start.
    pub(crate) fn audit_idle_units(&self) -> Result<(), String> {
        assert!(self.array.ready.is_empty(), "a unit that was woken has not been dispatched");
        let idle = (0..self.array.units.len())
            .filter(|&unit| self.array.units[unit].running == OpSlot::NONE);
        for unit in idle {
            for queue in [R_HOST, W_HOST, R_GC, W_GC] {
                if self.array.units[unit].waiting() >> queue & 1 == 0 {
                    continue;
                }
                if let Some(slot) = self.missed(unit, queue) {
                    let op = &self.array.ops[slot];
                    let (kind, lpn, entry) = (op.kind(), op.lpn.0, self.ftl.owners.newest(op.lpn));
                    return Err(format!(
                        "unit {unit} is idle, and the {kind:?} of LPN {lpn} ({entry:?}) could start"
                    ));
                }
            }
        }
        Ok(())
    }

    /// The first operation of `queue` that could start now.
    fn missed(&self, unit: usize, queue: usize) -> Option<OpSlot> {
        debug_assert_eq!(self.array.units[unit].running, OpSlot::NONE, "unit {unit} is busy");
        let may_start = |&slot: &OpSlot| match queue {
            R_HOST => self.read_may_start(unit, slot),
            W_HOST => self.write_target(unit, slot).is_some(),
            _ => true,
        };
        let queued = self.array.ops.linked(self.array.units[unit].head(queue));
        queued.take(self.array.pick.look_ahead as usize).find(may_start)
    }
}
