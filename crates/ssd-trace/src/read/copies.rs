//! Copies in traces: a read record for each source range, then a write record for the destination, all with the flag
//! [`flags::COPY`].

use crate::read::fit::Record;
use ssd_core::host::copy::SourceRange;
use ssd_core::host::request::{Op, Request, TimedRequest, flags};
use ssd_core::host::source::SourceError;

impl Record {
    /// Returns whether it is a part of a copy.
    #[inline(always)]
    pub(crate) fn copies(&self) -> bool {
        self.flags & flags::COPY != 0
    }

    fn range(&self) -> SourceRange {
        SourceRange { sector: self.sector, sectors: u64::from(self.sectors) }
    }
}

/// Returns the records of the copy `timed` from `sources`.
pub(crate) fn records(timed: &TimedRequest, sources: &[SourceRange]) -> Option<Vec<TimedRequest>> {
    debug_assert_eq!(timed.request.op, Op::Copy, "another request has no sources");
    let copy = Request { flags: timed.request.flags | flags::COPY, ..timed.request };
    let source = |range: &SourceRange| {
        let sectors = u32::try_from(range.sectors).ok()?;
        let request = Request { op: Op::Read, sector: range.sector, sectors, ..copy };
        Some(TimedRequest { request, ..*timed })
    };
    let mut records = sources.iter().map(source).collect::<Option<Vec<_>>>()?;
    records.push(TimedRequest { request: Request { op: Op::Write, ..copy }, ..*timed });
    Some(records)
}

/// Checks the copies among `records`, for a device with pages of `page` sectors. Returns the number of records that are
/// sources.
///
/// # Errors
/// A copy is incomplete, or not possible on a device; the message names its records, counted from 1.
pub(crate) fn check(records: &[Record], page: u64) -> Result<u64, SourceError> {
    let (mut sources, mut open): (u64, &[Record]) = (0, &[]);
    for (at, record) in records.iter().enumerate() {
        let error = |reason: String| Err(SourceError(format!("record {}: {reason}", at + 1)));
        if !record.copies() {
            if !open.is_empty() {
                return error("the copy before it has sources and no destination".to_string());
            }
            continue;
        }
        let (sector, sectors) = (record.sector, u64::from(record.sectors));
        if !sector.is_multiple_of(page) || !sectors.is_multiple_of(page) {
            return error(format!(
                "part of a copy of sectors {sector} + {sectors}; copies are of whole pages: use multiples of {page} \
                 sectors"
            ));
        }
        match record.op() {
            Op::Read => {
                sources += 1;
                open = &records[at - open.len()..=at];
            }
            Op::Write => {
                let total: u64 = open.iter().map(|source| u64::from(source.sectors)).sum();
                if total != sectors {
                    return error(format!(
                        "a copy of {total} sectors to {sectors}; the sources come before their destination, which is \
                         as long as they are together"
                    ));
                }
                let overlaps = |s: &&Record| {
                    s.sector < sector + sectors && sector < s.sector + u64::from(s.sectors)
                };
                if let Some(source) = open.iter().find(overlaps) {
                    return error(format!(
                        "a copy of sectors {} + {} to sectors {sector} + {sectors}, which overlap; copy to another \
                         place, or in parts that do not overlap",
                        source.sector, source.sectors
                    ));
                }
                open = &[];
            }
            op => return error(format!("a {} is not part of a copy", op.name())),
        }
    }
    if open.is_empty() {
        return Ok(sources);
    }
    Err(SourceError("the last copy has sources and no destination".to_string()))
}

/// Returns the source ranges of the copy that begins with the first of `records`.
pub(crate) fn sources(records: &[Record]) -> Vec<SourceRange> {
    let is_source = |record: &&Record| record.copies() && record.op() == Op::Read;
    let ranges: Vec<_> = records.iter().take_while(is_source).map(Record::range).collect();
    debug_assert!(!ranges.is_empty(), "no copy begins here");
    ranges
}
