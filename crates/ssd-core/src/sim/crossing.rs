//! GC pages between the read of the page and the program of its copy, if they pass buffers, errors or an interconnect
//! (`array/way.rs`).

use super::array::op::{MovedPage, Work};
use super::core::Core;
use crate::config::GcPath;
use crate::sched::order::W_GC;
use crate::units::OpSlot;

impl Core {
    /// Program a GC page that is in the controller and decoded, or drop it if it no longer has an owner.
    #[inline(always)]
    pub(crate) fn gc_decoded<const FULL: bool>(&mut self, slot: OpSlot, moved: MovedPage) {
        debug_assert!(self.gc.collects(moved.pool), "{moved:?} has no job");
        if !self.ftl.owners.is_valid(moved.source) {
            return self.drop_page(slot, moved);
        }
        if FULL && moved.in_buffer {
            self.program_from_buffer(slot);
            return;
        }
        let own = self.array.ops[slot].plane;
        let stream = self.frontier_of_copy::<FULL>(own, moved);
        debug_assert_eq!(own, self.ftl.geo.plane_of(moved.source));
        let plane = if FULL && self.ftl.space.copies_in_turn() && !moved.levels() {
            self.ftl.space.copy_plane_in_turn(own, stream)
        } else {
            self.ftl.space.copy_plane(own, stream, &self.ftl.blocks)
        };
        let plane = plane.expect("the pool keeps room for its job");
        debug_assert_eq!(self.ftl.geo.pool_of(plane), moved.pool, "a copy leaves its pool");
        self.enqueue_for_job::<FULL>(slot, plane, W_GC, |op| {
            op.work = Work::GcWrite(MovedPage { in_buffer: false, ..moved });
            op.plane = plane;
        });
    }

    /// Handle a GC page that has been read and checked by the ECC engine. True if the selective path, which has waited
    /// for the verdict, continues with it.
    #[inline(never)]
    pub(crate) fn gc_read_is_judged(&mut self, slot: OpSlot) -> bool {
        debug_assert!(self.gc.watches_way, "a page on its way meets nothing");
        debug_assert!(matches!(self.array.ops[slot].work, Work::GcRead(_)), "no page was read");
        let in_error = self.array.way.page_errors.as_mut().is_some_and(|errors| errors.next());
        self.ledger.measured.controller.in_error += u64::from(in_error);
        if self.gc.path != GcPath::Selective {
            return false;
        }
        if let Work::GcRead(moved) = &mut self.array.ops[slot].work {
            moved.in_buffer = !in_error;
        }
        let moved = *self.array.ops[slot].moved();
        self.gc_decoded::<true>(slot, moved);
        true
    }

    /// Continue the task of the page in `slot`, which has no error, with the program, without queueing, unless the copy
    /// has to go to another unit or no new operation may start.
    #[inline(never)]
    pub(crate) fn program_from_buffer(&mut self, slot: OpSlot) {
        let source = self.array.ops[slot].moved().source;
        debug_assert!(
            self.ftl.owners.is_valid(source),
            "{source:?} is programmed without an owner"
        );
        let op = &mut self.array.ops[slot];
        op.becomes_gc_write(true);
        op.queued = self.array.now;
        if self.array.quiescing {
            self.enqueue(slot, W_GC);
            return;
        }
        let unit = self.ftl.geo.unit_of(op.plane).at();
        assert!(self.array.units[unit].running == OpSlot::NONE, "unit {unit} has another task");
        self.array.units[unit].load.total += 1;
        let moved = *self.array.ops[slot].moved();
        if self.start_gc_write::<true>(unit, slot, moved) && self.array.ops.keeps_phases() {
            self.buffer_starts.push(unit);
        }
    }
}
