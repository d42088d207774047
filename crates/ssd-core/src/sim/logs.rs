//! Logs of operations and requests: the record of an operation is written when it ends.

use super::array::Ended;
use super::array::op::{Moved, OpKind, Phases, Work};
use super::front::request::RequestRecord;
use super::ledger::log::{FlashOp, OpRecord, phase_times};
use super::ssd::Ssd;
use crate::units::{Nanos, OpSlot, Ppn};

impl Ssd {
    /// Write the records of the operations that have ended.
    #[inline(never)]
    pub(super) fn log_operations(&mut self, ended: Ended) {
        let phases = self.array.ops.detail(ended.slot).phases;
        self.log_operation(ended.slot, ended.since, &phases);
        let mut also = ended.also;
        while also != OpSlot::NONE {
            self.log_operation(also, ended.since, &phases);
            also = self.array.ops[also].next;
        }
    }

    /// Admission number of the data that the operation in `slot`, which has ended, has read or programmed.
    fn sequence_of(&self, slot: OpSlot) -> u64 {
        let op = &self.array.ops[slot];
        match op.work {
            Work::HostWrite { .. } | Work::GroupWrite { .. } | Work::RebuildWrite { .. } => {
                op.sequence
            }
            Work::GcWrite(moved) | Work::GcCopyback(moved) => self.ftl.flash.sequence(moved.source),
            Work::Erase { .. } | Work::MetadataProgram | Work::MetadataErase => 0,
            _ => self.ftl.flash.sequence(op.ppn),
        }
    }

    fn log_operation(&mut self, slot: OpSlot, start: Nanos, phases: &Phases) {
        debug_assert!(start <= self.array.now, "an operation ends before it began");
        let row = self.array.ops.detail(slot).row;
        let op = &self.array.ops[slot];
        let [bus, array] = phase_times(phases);
        let at = match op.work {
            Work::Erase { first, .. } => first,
            Work::MetadataProgram | Work::MetadataErase => Ppn(0),
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
                Work::MetadataProgram => self.metadata_place(slot, false),
                Work::MetadataErase => self.metadata_place(slot, true),
                _ => self.ftl.geo.place(at),
            },
            lpn: op.lpn.0,
            sequence: self.sequence_of(slot),
            request,
            queued: op.queued,
            start,
            end: self.array.now,
            bus,
            array,
        };
        let work = op.work;
        let log = self.ledger.operations.as_mut().expect("only with a log");
        if let Work::GcCopyback(Moved { source, .. }) = work {
            // A copy-back is a read and a program on one plane, one after the other.
            debug_assert!(
                self.array.now.0 >= self.array.times.program_ns,
                "its program began before time"
            );
            let between = Nanos(self.array.now.0 - self.array.times.program_ns);
            let place = self.ftl.geo.place(source);
            let first = record.array.map(|(start, _)| (start, between));
            let lpn = self.ftl.flash.lpn(source).0;
            let log = self.ledger.operations.as_mut().expect("only with a log");
            let read =
                OpRecord { op: FlashOp::Read, place, lpn, end: between, array: first, ..record };
            log.close(row, read);
            record.start = between;
            record.array = Some((between, self.array.now));
            log.close(row + 1, OpRecord { bus: None, ..record });
        } else {
            log.close(row, record);
        }
    }

    /// Return the operation records that are complete, in order of start.
    pub fn drain_operations(&mut self, out: &mut Vec<OpRecord>) {
        if let Some(log) = &mut self.ledger.operations {
            log.drain(out);
        }
    }

    /// Return the records of completed requests, in order of completion.
    pub fn drain_requests(&mut self, out: &mut Vec<RequestRecord>) {
        if let Some(log) = &mut self.ledger.requests {
            out.append(log);
        }
    }
}
