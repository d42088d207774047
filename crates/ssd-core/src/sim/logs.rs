//! Logs of operations and requests: the record of an operation is written when it ends.

use super::array::Ended;
use super::array::op::{Moved, OpKind, Phases, Work};
use super::core::Core;
use super::front::request::RequestRecord;
use super::ledger::log::{FlashOp, OpRecord, phase_times};
use super::ledger::power_log::PowerRecord;
use super::ssd::Ssd;
use crate::ftl::reclaim::UnitRecord;
use crate::units::{Nanos, OpSlot, Ppn};

impl Core {
    /// When the read of a copy-back that began at `start` has ended, or was cut off.
    fn copy_is_read(&self, start: Nanos, phases: &Phases, cut_off: bool) -> Nanos {
        let (now, program_ns) = (self.array.now, self.array.times.program_ns);
        if !cut_off {
            debug_assert!(now.0 >= program_ns, "its program began before time");
            return Nanos(now.0 - program_ns);
        }
        // Until its array works it has no phase.
        let end = phases.array_end;
        let read = if end > Nanos::ZERO { Nanos(end.0 - program_ns) } else { now };
        debug_assert!(start <= read, "it was read before it began");
        read.min(now)
    }

    /// Admission number of the data that the operation in `slot`, which has ended, has read or programmed.
    fn sequence_of(&self, slot: OpSlot) -> u64 {
        let op = &self.array.ops[slot];
        match op.work {
            Work::HostWrite { .. } | Work::GroupWrite { .. } | Work::RebuildWrite { .. } => {
                op.sequence
            }
            // The number of the owner that the copy carries, which may not be the one of its source.
            Work::GcWrite(_) | Work::GcCopyback(_) if self.ftl.may_lose_power() => op.sequence,
            Work::GcWrite(moved) | Work::GcCopyback(moved) => self.ftl.flash.sequence(moved.source),
            Work::Erase { .. } | Work::MetadataProgram { .. } | Work::MetadataErase { .. } => 0,
            _ => self.ftl.flash.sequence(op.ppn),
        }
    }
}

impl Ssd {
    /// Write the records of the operations that have ended.
    #[inline(never)]
    pub(super) fn log_operations(&mut self, ended: Ended) {
        let phases = self.core.array.ops.detail(ended.slot).phases;
        self.log_as_one(ended, &phases, false);
    }

    /// The same of operations that a power cut ends now: as far as they have come.
    pub(super) fn log_cut_off(&mut self, under_way: Ended) {
        let phases = self.core.array.ops.detail(under_way.slot).phases;
        debug_assert!(under_way.since <= self.core.array.now, "it begins after the cut");
        self.log_as_one(under_way, &phases, true);
    }

    fn log_as_one(&mut self, ended: Ended, phases: &Phases, cut_off: bool) {
        debug_assert!(self.core.ledger.operations.is_some(), "there is no log");
        self.log_operation(ended.slot, ended.since, phases, cut_off);
        let mut also = ended.also;
        while also != OpSlot::NONE {
            self.log_operation(also, ended.since, phases, cut_off);
            also = self.core.array.ops[also].next;
        }
    }

    fn log_operation(&mut self, slot: OpSlot, start: Nanos, phases: &Phases, cut_off: bool) {
        debug_assert!(start <= self.core.array.now, "an operation ends before it began");
        let row = self.core.array.ops.detail(slot).row;
        let op = &self.core.array.ops[slot];
        let begun = |times: Option<(Nanos, Nanos)>| {
            let times = times.map(|(from, to)| (from, to.min(self.core.array.now)));
            times.filter(|(from, to)| from < to)
        };
        let [bus, array] = phase_times(phases).map(begun);
        let at = match op.work {
            Work::Erase { first, .. } => first,
            Work::MetadataProgram { .. } | Work::MetadataErase { .. } => Ppn(0),
            _ => op.ppn,
        };
        let request = if op.kind().is_host() { self.request_of(slot) } else { None };
        let what = match op.kind() {
            kind if kind.is_read() => FlashOp::Read,
            OpKind::Erase | OpKind::MetadataErase => FlashOp::Erase,
            _ => FlashOp::Program,
        };
        let mut record = OpRecord {
            op: what,
            cause: op.cause(),
            place: match op.work {
                Work::MetadataProgram { step } => self.metadata_place(slot, step, false),
                Work::MetadataErase { step } => self.metadata_place(slot, step, true),
                _ => self.core.ftl.geo.place(at),
            },
            lpn: op.lpn.0,
            sequence: self.core.sequence_of(slot),
            request,
            queued: op.queued,
            start,
            end: self.core.array.now,
            bus,
            array,
            cut_off,
        };
        let work = op.work;
        let log = self.core.ledger.operations.as_mut().expect("only with a log");
        if let Work::GcCopyback(Moved { source, .. }) = work {
            // A copy-back is a read and a program on one plane, one after the other.
            let between = self.core.copy_is_read(start, phases, cut_off);
            let place = self.core.ftl.geo.place(source);
            let first = record.array.map(|(start, _)| (start, between)).filter(|(a, b)| a < b);
            let lpn = self.core.ftl.flash.lpn(source).0;
            let read = OpRecord {
                op: FlashOp::Read,
                place,
                lpn,
                sequence: self.core.ftl.flash.sequence(source),
                end: between,
                array: first,
                cut_off: cut_off && between == self.core.array.now,
                ..record
            };
            let log = self.core.ledger.operations.as_mut().expect("only with a log");
            log.close(row, read);
            record.start = between;
            record.array =
                (between < self.core.array.now).then_some((between, self.core.array.now));
            log.close(row + 1, OpRecord { bus: None, ..record });
        } else {
            log.close(row, record);
        }
    }

    /// Number of the request behind the host operation in `slot`; a page is rebuilt for none.
    #[inline(never)]
    pub(crate) fn request_of(&self, slot: OpSlot) -> Option<u64> {
        let op = &self.core.array.ops[slot];
        debug_assert!(op.kind().is_host(), "{:?} serves no request", op.kind());
        if let (Some(update), Some(raid)) = (op.update(), &self.raid) {
            let data = matches!(op.work, Work::GroupWrite { parity: false, .. });
            return Some(match raid.behind(update) {
                Ok(request) => self.core.front.requests.at(request).id,
                Err(page) => self.core.held(if data { slot } else { page }).request,
            });
        }
        if let (Some(recovery), Some(raid)) = (op.recovery(), &self.raid) {
            let reader = raid.recoveries.first_reader(recovery)?;
            return Some(
                self.core.front.requests.at(self.core.array.ops[reader].part().request).id,
            );
        }
        Some(match &self.core.front.buffer {
            Some(buffer) if op.passes_buffer() => buffer.held(slot).request,
            _ => self.core.front.requests.at(op.part().request).id,
        })
    }

    /// Return the records of cuts and mounts, in order.
    pub fn drain_power(&mut self, out: &mut Vec<PowerRecord>) {
        if let Some(log) = &mut self.core.ledger.operations {
            out.append(&mut log.power);
        }
    }

    /// Return the reclaim units opened and collected, in order.
    pub fn drain_units(&mut self, out: &mut Vec<UnitRecord>) {
        debug_assert!(out.iter().all(|unit| unit.at <= self.core.array.now), "a unit of later");
        out.append(&mut self.core.ftl.take_units());
    }

    /// Return the operation records that are complete, in order of start.
    pub fn drain_operations(&mut self, out: &mut Vec<OpRecord>) {
        if let Some(log) = &mut self.core.ledger.operations {
            log.drain(out);
        }
    }

    /// Return the records of completed requests, in order of completion.
    pub fn drain_requests(&mut self, out: &mut Vec<RequestRecord>) {
        if let Some(log) = &mut self.core.ledger.requests {
            out.append(log);
        }
    }
}
