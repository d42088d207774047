//! The operation log: one record a flash operation, in order of start, and the state in which it starts.

use super::super::array::op::Phases;
use super::power_log::PowerRecord;
use crate::ftl::Ftl;
use crate::metrics::counters::Cause;
use crate::nand::geometry::PageAddress;
use crate::units::{Nanos, Ppn};
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
    /// The logical pages that share it; none where it is only that of `lpn`.
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
    /// Its address; the page of an erase has no meaning.
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
    /// A power cut has ended it.
    pub cut_off: bool,
}

/// Records in order of start; complete ones are drained from the front.
#[derive(Default)]
pub(crate) struct OpLog {
    rows: VecDeque<Option<OpRecord>>,
    /// Number of the first row that is still kept.
    first: u64,
    /// Lines of the log of power, in order.
    pub(crate) power: Vec<PowerRecord>,
}

impl OpLog {
    /// An operation starts: its row.
    pub(crate) fn open(&mut self) -> u64 {
        self.rows.push_back(None);
        self.first + self.rows.len() as u64 - 1
    }

    /// The operation of `row` has ended.
    pub(crate) fn close(&mut self, row: u64, record: OpRecord) {
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

/// The bus and array phases of an operation for its record, `None` where it has none.
pub(crate) fn phase_times(p: &Phases) -> [Option<(Nanos, Nanos)>; 2] {
    debug_assert!(p.bus_start <= p.bus_end, "a bus phase ends before it begins: {p:?}");
    debug_assert!(p.array_start <= p.array_end, "an array phase ends before it begins: {p:?}");
    let some = |a: Nanos, b: Nanos| (b > a).then_some((a, b));
    [some(p.bus_start, p.bus_end), some(p.array_start, p.array_end)]
}
