//! The planes on which copies may be bound, and programs of several planes of a chip at once.

use super::array::op::Work;
use super::core::Core;
use super::dispatch::QueuedOp;
use crate::sched::order::W_HOST;
use crate::units::{OpSlot, PlaneId, UnitId};

impl Core {
    /// The head of `queue` and a further plane for it, to be programmed together with the planes `companions` of the
    /// unit, as bits.
    pub(super) fn next_for_multi_plane(
        &mut self,
        unit: usize,
        queue: usize,
        companions: u64,
    ) -> Option<(OpSlot, PlaneId)> {
        debug_assert!(companions > 0, "unit {unit} programs no page yet");
        debug_assert!(self.array.multi_plane, "unit {unit} programs one page at a time");
        let slot = self.array.units[unit].head(queue);
        if slot == OpSlot::NONE || companions.count_ones() >= self.ftl.geo.planes_per_unit() {
            return None;
        }
        let is_taken = |p: PlaneId| companions & self.bit_of(p) > 0;
        let op = &self.array.ops[slot];
        let plane = if queue == W_HOST {
            let stream = self.ftl.space.host_stream(op.stream());
            let fits = |p: PlaneId| {
                !is_taken(p) && !self.gc.is_closed(p) && self.ftl.space.host_may_bind(p, stream)
            };
            self.ftl.plane_of_unit(op.plane, fits)?
        } else {
            let Work::GcWrite(moved) = op.work else { return None };
            let stream = self.frontier_of_copy::<true>(op.plane, moved);
            let mut planes = self.ftl.geo.planes_of_unit(UnitId(unit as u32)).map(PlaneId);
            planes.find(|p| !is_taken(*p) && self.copy_may_bind(*p, stream))?
        };
        self.take(unit, queue, QueuedOp { before: OpSlot::NONE, slot, plane });
        Some((slot, plane))
    }

    /// The bit of a plane among those of its unit, a chip with at most 64 planes.
    #[inline(always)]
    pub(super) fn bit_of(&self, plane: PlaneId) -> u64 {
        debug_assert!(self.array.multi_plane, "a unit of more planes");
        1 << (plane.0 % self.ftl.geo.planes_per_unit())
    }

    /// Whether a copy to frontier `stream` may be bound on `plane` without a search. Wear levelling opens a block only
    /// if no plane has an open one.
    #[inline(always)]
    pub(super) fn copy_may_bind(&self, plane: PlaneId, stream: u32) -> bool {
        debug_assert!(stream >= self.ftl.space.gc_stream(), "frontier {stream} takes no copies");
        let space = &self.ftl.space;
        if stream == space.gc_stream() || stream != space.wear_stream() {
            space.has_page(plane, stream)
        } else {
            space.has_open(plane, stream)
        }
    }
}
