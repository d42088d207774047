//! GC pages between the read of the page and the program of its copy, where they meet buffers, errors or an
//! interconnect (`array/way.rs`).

use super::array::op::Work;
use super::core::Core;
use crate::config::GcPath;
use crate::sched::order::W_GC;
use crate::units::OpSlot;

impl Core {
    /// A GC read starts: it takes a page buffer of its channel, and its page will cross.
    #[inline(never)]
    pub(crate) fn gc_read_starts(&mut self, unit: usize, slot: OpSlot) {
        debug_assert!(self.gc.watches_way, "a page on its way meets nothing");
        debug_assert!(matches!(self.array.ops[slot].work, Work::GcRead(_)), "another kind starts");
        self.array.take_buffer(unit);
        if self.array.times.gc_crosses {
            self.ledger.measured.controller.traversals[self.array.ops[slot].job_cause().at()] += 1;
        }
    }

    /// Bus time of the program of a copy that has been bound.
    #[inline(never)]
    pub(crate) fn copy_bus_ns(&mut self, slot: OpSlot) -> u64 {
        debug_assert!(self.gc.watches_way, "a page on its way meets nothing");
        debug_assert!(matches!(self.array.ops[slot].work, Work::GcWrite(_)), "it is no copy");
        if self.array.ops[slot].moved().in_buffer
            && self.array.stays_on_channel(&self.ftl.geo, slot)
        {
            self.ledger.measured.controller.from_buffer += 1;
            return self.array.times.gc_local_bus_ns;
        }
        if self.array.times.gc_crosses {
            self.ledger.measured.controller.traversals[self.array.ops[slot].job_cause().at()] += 1;
        }
        self.array.times.gc_program_bus_ns
    }

    /// A GC page has been read and checked by the ECC engine: true if the selective path, which has waited
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

    /// The page in `slot` has no error: its task continues with the program, without queueing, unless the
    /// copy has to go to another unit or no new operation may start.
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
        self.array.units[unit].load.all += 1;
        let moved = *self.array.ops[slot].moved();
        if self.start_gc_write::<true>(unit, slot, moved) && self.array.ops.keeps_phases() {
            self.buffer_starts.push(unit);
        }
    }
}
