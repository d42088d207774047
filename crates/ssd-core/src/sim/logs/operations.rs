//! The operation log: one record per flash operation, in order of start, and the state at its start.

use crate::ftl::Ftl;
use crate::metrics::counters::Cause;
use crate::nand::geometry::PageAddress;
use crate::sim::array::op::{MovedPage, OpKind, Phases, Work};
use crate::sim::core::Core;
use crate::units::{Nanos, OpSlot, Ppn};
use std::collections::VecDeque;

/// What a logged operation did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlashOp {
    /// Read a page.
    Read,
    /// Program a page.
    Program,
    /// Erase a flash block.
    Erase,
}

impl FlashOp {
    /// Name in the log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            FlashOp::Read => "read",
            FlashOp::Program => "program",
            FlashOp::Erase => "erase",
        }
    }
}

/// One programmed page of the state in which a log starts.
#[derive(Clone, Debug)]
pub struct StateRow {
    /// Its address.
    pub place: PageAddress,
    /// The logical page it was written for.
    pub lpn: u32,
    /// Admission number of its data.
    pub sequence: u64,
    /// Whether the data are current.
    pub valid: bool,
    /// The logical pages that share it; empty if only `lpn` does.
    pub owners: Vec<u32>,
}

/// The programmed pages of `ftl`, in order of address.
pub fn state_rows(ftl: &Ftl) -> impl Iterator<Item = StateRow> + '_ {
    let mut pages: Vec<_> = (0..ftl.geo.pages)
        .map(Ppn)
        .filter(|&p| !ftl.flash.is_torn(p) && !ftl.flash.is_lost(p))
        .map(|p| (ftl.geo.place(p), p))
        .collect();
    pages.sort_unstable();
    pages.into_iter().map(|(place, p)| {
        let (lpn, valid) = (ftl.flash.lpn(p).0, ftl.owners.is_valid(p));
        let mut owners: Vec<u32> =
            if valid { ftl.owners_of(p).map(|lpn| lpn.0).collect() } else { Vec::new() };
        if owners == [lpn] {
            owners.clear();
        }
        StateRow { place, lpn, sequence: ftl.flash.sequence(p), valid, owners }
    })
}

/// One line of the operation log.
#[derive(Clone, Copy, Debug)]
pub struct OpRecord {
    /// What it did.
    pub op: FlashOp,
    /// Its cause.
    pub cause: Cause,
    /// Its address; for an erase the page has no meaning.
    pub place: PageAddress,
    /// Logical page (`u32::MAX` for an erase).
    pub lpn: u32,
    /// Admission number of the data; 0 for an erase.
    pub sequence: u64,
    /// Request, if the host asked for it.
    pub request: Option<u64>,
    /// When it was queued.
    pub queued: Nanos,
    /// When its unit was acquired.
    pub start: Nanos,
    /// When its unit was released.
    pub end: Nanos,
    /// First and last nanosecond on the bus, if it has a bus phase.
    pub bus: Option<(Nanos, Nanos)>,
    /// Array phase.
    pub array: Option<(Nanos, Nanos)>,
    /// Whether a power cut has ended it.
    pub cut_off: bool,
}

/// Records in order of start; complete ones are drained from the front.
#[derive(Default)]
pub(crate) struct OperationLog {
    rows: VecDeque<Option<OpRecord>>,
    /// Number of the first row that has not been drained.
    first: u64,
    /// The row of the operation in each slot.
    row_of: Vec<u64>,
}

impl OperationLog {
    /// Add a row for each operation that starts on `unit`, and two for a copy-back.
    #[inline(never)]
    pub(crate) fn open_rows(&mut self, core: &Core, unit: usize) {
        for slot in core.array.units[unit].executed(&core.array.ops) {
            let row = self.open();
            if core.array.ops[slot].kind() == OpKind::GcCopyback {
                self.open();
            }
            if self.row_of.len() <= slot.at() {
                self.row_of.resize(slot.at() + 1, 0);
            }
            self.row_of[slot.at()] = row;
        }
    }

    /// Log the operation in `slot`, which has ended or is cut off by a power cut.
    pub(crate) fn log_operation(&mut self, core: &Core, slot: OpSlot, end: &OperationEnd) {
        let &OperationEnd { start, ref phases, place, request, cut_off } = end;
        let (now, op) = (core.array.now, &core.array.ops[slot]);
        debug_assert!(start <= now, "an operation ends before it began");
        let until_now = |times: Option<(Nanos, Nanos)>| {
            let times = times.map(|(from, to)| (from, to.min(now)));
            times.filter(|(from, to)| from < to)
        };
        let [bus, array] = phase_times(phases).map(until_now);
        let record = OpRecord {
            op: match op.kind() {
                kind if kind.is_read() => FlashOp::Read,
                OpKind::Erase | OpKind::MetadataErase => FlashOp::Erase,
                _ => FlashOp::Program,
            },
            cause: op.cause(),
            place,
            lpn: op.lpn.0,
            sequence: sequence_of(core, slot),
            request,
            queued: op.queued,
            start,
            end: now,
            bus,
            array,
            cut_off,
        };
        let row = self.row_of[slot.at()];
        let Work::GcCopyback(MovedPage { source, .. }) = op.work else {
            return self.close(row, record);
        };
        // A copy-back is a read and a program on one plane, one after the other.
        let between = end_of_copyback_read(core, op.ppn, end);
        let read = OpRecord {
            op: FlashOp::Read,
            place: core.ftl.geo.place(source),
            lpn: core.ftl.flash.lpn(source).0,
            sequence: core.ftl.flash.sequence(source),
            end: between,
            array: array.map(|(start, _)| (start, between)).filter(|(from, to)| from < to),
            cut_off: cut_off && between == now,
            ..record
        };
        self.close(row, read);
        let array = (between < now).then_some((between, now));
        self.close(row + 1, OpRecord { start: between, array, bus: None, ..record });
    }

    /// The number of a new row.
    fn open(&mut self) -> u64 {
        self.rows.push_back(None);
        self.first + self.rows.len() as u64 - 1
    }

    /// The operation of `row` has ended.
    fn close(&mut self, row: u64, record: OpRecord) {
        assert!(row >= self.first, "row {row} is closed after it was drained");
        assert!(record.queued <= record.start, "row {row} starts before it is queued: {record:?}");
        assert!(record.start <= record.end, "row {row} ends before it starts: {record:?}");
        let at = (row - self.first) as usize;
        assert!(self.rows[at].is_none(), "row {row} is closed twice");
        self.rows[at] = Some(record);
    }

    /// Return the records whose predecessors have all ended.
    pub(crate) fn drain(&mut self, out: &mut Vec<OpRecord>) {
        while let Some(Some(_)) = self.rows.front() {
            out.extend(self.rows.pop_front().flatten());
            self.first += 1;
        }
        debug_assert!(self.rows.front().is_none_or(Option::is_none), "a record is kept back");
    }
}

/// What the route knows of an operation that ends.
pub(crate) struct OperationEnd {
    /// When it took its unit.
    pub(crate) start: Nanos,
    pub(crate) phases: Phases,
    pub(crate) place: PageAddress,
    pub(crate) request: Option<u64>,
    pub(crate) cut_off: bool,
}

/// When the read of a copy-back, which programs `page`, has ended, or was cut off.
fn end_of_copyback_read(core: &Core, page: Ppn, end: &OperationEnd) -> Nanos {
    let (now, program_ns) =
        (core.array.now, core.array.times.program_of(|| core.ftl.type_of(page)));
    if !end.cut_off {
        debug_assert!(now.0 >= program_ns, "its program began before time");
        return Nanos(now.0 - program_ns);
    }
    // It has no phase until its array works.
    let array_end = end.phases.array_end;
    let read = if array_end > Nanos::ZERO { Nanos(array_end.0 - program_ns) } else { now };
    debug_assert!(end.start <= read, "it was read before it began");
    read.min(now)
}

/// Admission number of the data that the operation in `slot`, which has ended, has read or programmed.
fn sequence_of(core: &Core, slot: OpSlot) -> u64 {
    let op = &core.array.ops[slot];
    match op.work {
        Work::HostWrite { .. } | Work::GroupWrite { .. } | Work::RebuildWrite { .. } => op.sequence,
        // The number of the owner that the copy carries, which may differ from that of its source.
        Work::GcWrite(_) | Work::GcCopyback(_) if core.ftl.may_lose_power() => op.sequence,
        Work::GcWrite(moved) | Work::GcCopyback(moved) => core.ftl.flash.sequence(moved.source),
        Work::Erase { .. } | Work::MetadataProgram { .. } | Work::MetadataErase { .. } => 0,
        _ => core.ftl.flash.sequence(op.ppn),
    }
}

/// The bus and array phases of an operation for its record, `None` for a phase that it does not have.
fn phase_times(p: &Phases) -> [Option<(Nanos, Nanos)>; 2] {
    debug_assert!(p.bus_start <= p.bus_end, "a bus phase ends before it begins: {p:?}");
    debug_assert!(p.array_start <= p.array_end, "an array phase ends before it begins: {p:?}");
    let phase = |a: Nanos, b: Nanos| (b > a).then_some((a, b));
    [phase(p.bus_start, p.bus_end), phase(p.array_start, p.array_end)]
}
