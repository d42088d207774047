//! Fits a trace's addresses to the device: unchanged, renumbered, or modulo its capacity.

use crate::config::Fit;
use crate::read::formats::{Event, Flaw, Reject};
use crate::read::page_set::{NumberedPages, PageSet};
use crate::read::scan::Refusal;
use crate::read::unit;
use ssd_core::host::request::{Op, flags};
use ssd_core::host::source::SourceError;

/// One request of a trace in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    /// Nanoseconds after the start of the time range.
    pub(crate) at: u64,
    /// First sector.
    pub(crate) sector: u64,
    /// Sectors; 0 for a flush.
    pub(crate) sectors: u32,
    /// Operation, as an index into [`Op::ALL`].
    pub(crate) op_index: u8,
    /// Bits of [`flags`].
    pub(crate) flags: u8,
    /// Stream hint.
    pub(crate) stream: u8,
}

const _: () = assert!(size_of::<Record>() == 24, "a trace of n requests takes 24 n bytes");

impl Record {
    /// Returns the record of an event that arrives at `at`.
    #[inline(always)]
    pub(crate) fn of(event: &Event, at: u64) -> Record {
        let Event { sector, sectors, op, flags, stream, .. } = *event;
        Record { at, sector, sectors, op_index: op as u8, flags, stream }
    }

    /// Returns the event, of volume 0.
    #[inline(always)]
    pub(crate) fn event(&self) -> Event {
        let Record { at, sector, sectors, flags, stream, .. } = *self;
        let op = self.op();
        Event { at_ns: at, volume: 0, sector, sectors, op, flags, stream }
    }

    /// Returns the operation.
    #[inline(always)]
    pub(crate) fn op(&self) -> Op {
        Op::ALL[usize::from(self.op_index)]
    }

    /// Returns the end, one more than the last sector.
    #[inline(always)]
    pub(crate) fn end(&self) -> u64 {
        self.sector + u64::from(self.sectors)
    }

    /// Returns the first and last page that it touches.
    #[inline(always)]
    pub(crate) fn pages(&self, sectors_per_page: u64) -> (u64, u64) {
        let last = self.sector + u64::from(self.sectors).max(1) - 1;
        (self.sector / sectors_per_page, last / sectors_per_page)
    }
}

/// Fits events to the device one after the other.
pub(crate) struct Fitter {
    /// Requests so far; for [`Fit::Compact`] not yet renumbered.
    pub(crate) records: Vec<Record>,
    /// Maximum number of requests in memory.
    pub(crate) limit: usize,
    /// See [`crate::TraceFacts`].
    pub(crate) empty_discards: u64,
    pub(crate) split_requests: u64,
    pub(crate) whole_device_discards: u64,
    fit: Fit,
    sectors_per_page: u64,
    user_pages: u32,
    touched: PageSet,
}

impl Fitter {
    pub(crate) fn new(fit: Fit, sectors_per_page: u64, user_pages: u32) -> Fitter {
        Fitter {
            records: Vec::new(),
            limit: u32::MAX as usize,
            empty_discards: 0,
            split_requests: 0,
            whole_device_discards: 0,
            fit,
            sectors_per_page,
            user_pages,
            touched: PageSet::default(),
        }
    }

    /// Returns the sectors of the device.
    pub(crate) fn capacity(&self) -> u64 {
        u64::from(self.user_pages) * self.sectors_per_page
    }

    /// Adds an event that arrives at `at`.
    #[inline(always)]
    pub(crate) fn add(&mut self, event: &Event, at: u64) -> Result<(), Refusal> {
        let record = Record::of(event, at);
        let end = record.end();
        match self.fit {
            Fit::None if end > self.capacity() => Err(self.beyond(event)),
            Fit::Wrap if end > self.capacity() => self.wrap(record),
            Fit::Compact if matches!(event.op, Op::Read | Op::Write) => {
                let (first, last) = record.pages(self.sectors_per_page);
                self.touched.add(first, last);
                self.push(record)
            }
            Fit::None | Fit::Wrap | Fit::Compact => self.push(record),
        }
    }

    #[cold]
    fn beyond(&self, event: &Event) -> Refusal {
        let (capacity, last) = (self.capacity(), event.sector + u64::from(event.sectors) - 1);
        let expected = format!(
            "addresses on the device, whose last sector is {} (this request ends at {last}; \
             device.fit = \"trace\" sizes the device, workload.fit = \"compact\" renumbers the \
             touched pages, \"wrap\" takes addresses modulo the capacity)",
            capacity - 1
        );
        // An address beyond any device is a flaw of the line.
        let is_damaged = unit::beyond_any_device(last).is_some();
        let flaw = if is_damaged { Flaw::Text } else { Flaw::OutOfRange };
        Refusal::Line(Reject { flaw, ..Reject::new(expected, 0) })
    }

    #[inline(always)]
    fn push(&mut self, record: Record) -> Result<(), Refusal> {
        if self.records.len() == self.records.capacity() {
            grow(&mut self.records, self.limit)?;
        }
        self.records.push(record);
        Ok(())
    }

    /// Splits a request at every end of the device that it crosses.
    #[cold]
    fn wrap(&mut self, record: Record) -> Result<(), Refusal> {
        let capacity = self.capacity();
        if record.op() == Op::Trim && u64::from(record.sectors) >= capacity {
            self.whole_device_discards += 1;
            // The cast is safe: the discard was at least this long.
            return self.push(Record { sector: 0, sectors: capacity as u32, ..record });
        }
        let mut piece = record;
        let (mut sector, mut left) = (record.sector % capacity, u64::from(record.sectors));
        self.split_requests += u64::from(sector + left > capacity);
        while left > 0 {
            let length = left.min(capacity - sector);
            self.push(Record { sector, sectors: length as u32, ..piece })?;
            (sector, left) = (0, left - length);
            piece.flags &= !flags::PREFLUSH;
        }
        Ok(())
    }

    /// Returns the requests, renumbered for [`Fit::Compact`].
    pub(crate) fn finish(&mut self) -> Result<Vec<Record>, SourceError> {
        let mut records = std::mem::take(&mut self.records);
        if self.fit == Fit::Compact {
            let touched = std::mem::take(&mut self.touched);
            let numbered = renumber(&mut records, touched, self.sectors_per_page);
            numbered.check_room(self.sectors_per_page, self.user_pages)?;
            self.empty_discards = numbered.empty_discards;
        }
        Ok(records)
    }
}

/// Results of renumbering the pages of a trace.
#[derive(Clone, Copy)]
pub(crate) struct RenumberedPages {
    /// Pages that are read or written.
    pub(crate) pages: u64,
    /// See [`crate::TraceFacts`].
    pub(crate) empty_discards: u64,
}

impl RenumberedPages {
    /// Checks that a device of `user_pages` pages has room for them.
    ///
    /// # Errors
    /// The device is too small.
    pub(crate) fn check_room(
        self,
        sectors_per_page: u64,
        user_pages: u32,
    ) -> Result<(), SourceError> {
        let pages = self.pages;
        if pages <= u64::from(user_pages) {
            return Ok(());
        }
        let bytes = u128::from(pages) * u128::from(sectors_per_page) * 512;
        Err(SourceError(format!(
            "the trace touches {pages} pages ({bytes} bytes), the device has {user_pages} user \
             pages; enlarge it (device.user_capacity), use a part of the trace (workload.from, \
             workload.until), or set workload.fit = \"wrap\""
        )))
    }
}

/// Renumbers the pages of `records`, of which `touched` are read or written, and drops discards without touched pages.
pub(crate) fn renumber(
    records: &mut Vec<Record>,
    touched: PageSet,
    sectors_per_page: u64,
) -> RenumberedPages {
    let (touched, before) = (touched.finish(), records.len());
    records.retain_mut(|record| compact(record, &touched, sectors_per_page));
    let empty_discards = (before - records.len()) as u64;
    RenumberedPages { pages: touched.pages(), empty_discards }
}

/// Makes room for further records, up to `limit`; also called at the limit, which is then not exceeded.
#[cold]
pub(crate) fn grow(records: &mut Vec<Record>, limit: usize) -> Result<(), Refusal> {
    let length = records.len();
    let remedy = "use a part of it: workload.from and workload.until";
    if length >= limit {
        let text = format!("the trace has more than {length} requests; {remedy}");
        return Err(Refusal::Trace(SourceError(text)));
    }
    let more = length.max(4096).min(limit - length);
    records.try_reserve_exact(more).map_err(|error| {
        let text = format!("no memory for a trace of more than {length} requests ({error})");
        Refusal::Trace(SourceError(format!("{text}; {remedy}")))
    })
}

/// Renumbers the pages of a request; returns false for a discard without touched pages.
///
/// A read or write lies within a run of touched pages, so its pages remain adjacent. The touched pages in a discard are
/// adjacent after renumbering, because the order does not change. If the first or last page of the request is touched,
/// the offset within that page does not change.
fn compact(record: &mut Record, touched: &NumberedPages, sectors_per_page: u64) -> bool {
    if record.op() == Op::Flush {
        return true;
    }
    let (first, last) = record.pages(sectors_per_page);
    let new_first = touched.below(first);
    if record.op() != Op::Trim {
        record.sector = new_first * sectors_per_page + record.sector % sectors_per_page;
        return true;
    }
    let end_page = touched.below(last) + u64::from(touched.contains(last));
    if end_page == new_first {
        return false;
    }
    let end = record.sector + u64::from(record.sectors);
    let head = if touched.contains(first) { record.sector % sectors_per_page } else { 0 };
    let tail = if touched.contains(last) { (last + 1) * sectors_per_page - end } else { 0 };
    record.sector = new_first * sectors_per_page + head;
    // Not longer than before: only untouched pages, or parts of them, are dropped.
    record.sectors = (end_page * sectors_per_page - tail - record.sector) as u32;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_requests_has_a_limit() {
        for limit in [1usize, 4096, 5000] {
            let mut fitter = Fitter { limit, ..Fitter::new(Fit::None, 8, 10) };
            let op = Op::Write;
            let event =
                Event { at_ns: 0, volume: 0, sector: 8, sectors: 8, op, flags: 0, stream: 0 };
            for at in 0..limit as u64 {
                assert!(fitter.add(&event, at).is_ok(), "{at} of {limit}");
            }
            let Err(Refusal::Trace(error)) = fitter.add(&event, 0) else {
                panic!("request {limit} is refused");
            };
            assert!(error.0.contains(&format!("more than {limit} requests")), "{error}");
            assert!(error.0.contains("workload.until"), "{error}");
        }
    }
}
