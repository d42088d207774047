//! What the route passes to the logs: operations that start and end, and the parts of a record that other features
//! know.

use super::array::EndedOp;
use super::array::op::{GroupPage, Work};
use super::logs::operations::OperationEnd;
use super::ssd::Ssd;
use crate::nand::geometry::PageAddress;
use crate::units::{OpSlot, Ppn};
use std::iter;

impl Ssd {
    /// Operations have started on `unit`.
    pub(super) fn log_start(&mut self, unit: usize) {
        debug_assert_ne!(self.core.array.units[unit].running, OpSlot::NONE, "unit {unit} is idle");
        if let Some(log) = &mut self.logs.operations {
            log.open_rows(&self.core, unit);
        }
    }

    /// Log the programs that have started from page buffers at this instant.
    #[inline(never)]
    pub(super) fn log_starts_from_buffers(&mut self) {
        for unit in std::mem::take(&mut self.core.buffer_starts) {
            self.log_start(unit);
        }
    }

    /// Write the records of operations that have ended or, with `cut_off`, that a power cut ends now.
    #[inline(never)]
    pub(super) fn log_operations(&mut self, ended: EndedOp, cut_off: bool) {
        debug_assert!(ended.since <= self.core.array.now, "it begins after its end");
        let phases = *self.core.array.ops.phases(ended.slot);
        for slot in iter::once(ended.slot).chain(self.core.array.ops.linked(ended.also)) {
            let is_host = self.core.array.ops[slot].kind().is_host();
            let request = if is_host { self.request_of(slot) } else { None };
            let place = self.place_of(slot);
            let end = OperationEnd { start: ended.since, phases, place, request, cut_off };
            if let Some(log) = &mut self.logs.operations {
                log.log_operation(&self.core, slot, &end);
            }
        }
    }

    /// Log the operations under way, as far as they got before power is cut now.
    pub(super) fn log_cut(&mut self) {
        if self.logs.operations.is_some() {
            for unit in 0..self.core.array.units.len() {
                let under_way: Vec<EndedOp> = match &self.suspension {
                    Some(suspension) => suspension.under_way(&self.core, unit).collect(),
                    None => self.core.array.under_way(unit).into_iter().collect(),
                };
                under_way.into_iter().for_each(|ended| self.log_operations(ended, true));
            }
        }
        if let Some(log) = &mut self.logs.power {
            log.log_cut(self.core.array.now);
        }
    }

    /// The address at which the operation in `slot` works.
    fn place_of(&self, slot: OpSlot) -> PageAddress {
        let op = &self.core.array.ops[slot];
        match (op.work, &self.power) {
            (Work::MetadataProgram { step }, Some(power)) => {
                power.metadata_place(&self.core, slot, (step, false))
            }
            (Work::MetadataErase { step }, Some(power)) => {
                power.metadata_place(&self.core, slot, (step, true))
            }
            (Work::Erase { first, .. }, _) => self.core.ftl.geo.place(first),
            _ => {
                debug_assert_ne!(op.ppn, Ppn::NONE, "{slot:?} works on no page");
                self.core.ftl.geo.place(op.ppn)
            }
        }
    }

    /// Number of the request behind the host operation in `slot`; `None` for a rebuilt page.
    #[inline(never)]
    pub(crate) fn request_of(&self, slot: OpSlot) -> Option<u64> {
        let op = &self.core.array.ops[slot];
        debug_assert!(op.kind().is_host(), "{:?} serves no request", op.kind());
        if let (Some(update), Some(raid)) = (op.update(), &self.raid) {
            let data = matches!(op.work, Work::GroupWrite { page: GroupPage::Data, .. });
            return Some(match raid.origin(update, slot) {
                Ok(request) => self.core.front.requests.at(request).id,
                Err(page) => self.core.buffered_page(if data { slot } else { page }).request,
            });
        }
        if let (Some(recovery), Some(raid)) = (op.recovery(), &self.raid) {
            return self.request_of(raid.recoveries.first_reader(recovery)?);
        }
        Some(match &self.core.front.buffer {
            Some(buffer) if op.passes_buffer() => buffer.page(slot).request,
            _ => self.core.front.requests.at(op.part().request).id,
        })
    }
}
