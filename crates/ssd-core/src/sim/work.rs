//! What operations are worth: array and bus times, from which the report computes energy, and programs by the volume
//! and stream that has written the page.

use super::array::Array;
use super::array::op::OpKind;
use super::core::Core;
use super::front::Pages;
use crate::host::request::{Op as HostOp, Request};
use crate::units::{Lpn, OpSlot};
use std::iter::{once, successors};

impl Core {
    /// Note who writes the pages of `request`, of which `counted` count as written by the host.
    #[inline(never)]
    pub(super) fn note_writer(&mut self, request: &Request, pages: Pages, counted: u64) {
        let counted = match request.op {
            HostOp::Write => counted,
            HostOp::Copy => 0,
            _ => return,
        };
        let tenants = self.ledger.measured.tenants.as_mut().expect("the caller has checked");
        tenants.writes(request, Lpn(pages.first), pages.count, counted);
    }

    /// Count the operation in `slot`, a `kind` that is about to start on `unit` and takes `array_ns` in its array, and
    /// those that are programmed together with it.
    #[inline(never)]
    pub(super) fn count_work(&mut self, unit: usize, op: (OpSlot, OpKind), array_ns: u64) {
        debug_assert!(self.ledger.counts_work(), "nobody asks for the work");
        if self.ledger.counts_energy {
            self.count_times(unit, op, array_ns);
        }
        let (slot, kind) = op;
        let programs = !kind.is_read() && !kind.is_erase();
        if programs && let Some(tenants) = &mut self.ledger.measured.tenants {
            for slot in together(&self.array, unit, slot) {
                let op = &self.array.ops[slot];
                tenants.programs(op.lpn, op.cause());
            }
        }
    }

    fn count_times(&mut self, unit: usize, (slot, kind): (OpSlot, OpKind), array_ns: u64) {
        let (times, ftl, ops) = (&self.array.times, &self.ftl, &self.array.ops);
        let asked = times.partial && kind == OpKind::HostRead;
        let crossing =
            if asked { times.part_ns(self.sectors_asked(slot)) } else { times.page_ns() };
        let work = &mut self.ledger.measured.work;
        if kind.is_erase() {
            work.erase_time += array_ns;
        } else if kind.is_read() {
            work.read_time += array_ns;
            work.bus_time += crossing;
        } else if kind == OpKind::GcCopyback {
            // It reads a page and programs another, and neither crosses.
            let program_ns = times.program_of(|| ftl.type_of(ops[slot].ppn));
            work.program_time += program_ns;
            work.read_time += array_ns - program_ns;
        } else if kind == OpKind::MetadataProgram {
            work.program_time += array_ns;
            work.bus_time += crossing;
        } else {
            for slot in together(&self.array, unit, slot) {
                work.program_time += times.program_of(|| ftl.type_of(ops[slot].ppn));
                work.bus_time += crossing;
            }
        }
    }
}

/// `slot`, and the programs that are about to start together with it on `unit`.
fn together(array: &Array, unit: usize, slot: OpSlot) -> impl Iterator<Item = OpSlot> {
    let some = |slot: OpSlot| (slot != OpSlot::NONE).then_some(slot);
    let also =
        successors(some(array.units[unit].also.head()), move |&slot| some(array.ops[slot].next));
    once(slot).chain(also)
}
