//! Conversion of addresses and lengths from the units of a file to sectors.

use super::{Event, Line, MAX_DISCARD_SECTORS, MAX_TRANSFER_SECTORS, Reject};
use ssd_core::host::request::Op;

/// Address and length of a read or write, with the columns of both.
#[derive(Clone, Copy)]
pub(crate) struct Range {
    pub(crate) start: u64,
    pub(crate) length: u64,
    pub(crate) start_at: usize,
    pub(crate) length_at: usize,
}

impl Range {
    /// Converts the length from bytes to sectors.
    pub(super) fn of_length_in_bytes(self) -> Result<Range, Reject> {
        if self.length.is_multiple_of(512) {
            return Ok(Range { length: self.length / 512, ..self });
        }
        Err(Reject::new("a length in bytes, a multiple of 512", self.length_at))
    }

    /// Converts bytes to sectors. A value that is not a whole number of sectors cannot belong to a block device, and
    /// suggests a copy of the format in other units.
    #[inline(always)]
    pub(crate) fn of_bytes(self) -> Result<Range, Reject> {
        if !self.start.is_multiple_of(512) {
            let expected = "an offset in bytes, a multiple of 512 (is it in sectors or pages?)";
            return Err(Reject::new(expected, self.start_at));
        }
        if !self.length.is_multiple_of(512) {
            let expected = "a length in bytes, a multiple of 512 (is it in sectors or pages?)";
            return Err(Reject::new(expected, self.length_at));
        }
        Ok(Range { start: self.start / 512, length: self.length / 512, ..self })
    }
}

/// The message for a request of length 0.
pub(crate) const EMPTY: &str = "a length of at least one sector";

/// Returns a request in sectors.
#[inline(always)]
pub(super) fn in_sectors(
    at_ns: u64,
    volume: u64,
    op: Op,
    flags: u8,
    range: Range,
) -> Result<Line, Reject> {
    let Range { start: sector, length: sectors, start_at, length_at } = range;
    if sectors == 0 {
        return Err(Reject::new(EMPTY, length_at));
    }
    if sectors > MAX_TRANSFER_SECTORS && op != Op::Trim {
        let expected = "a length of at most 2097152 sectors (1 GiB; is it another unit?)";
        return Err(Reject::new(expected, length_at));
    }
    if sector.checked_add(sectors).is_none() {
        return Err(Reject::new("a range that ends below sector 2^64", start_at));
    }
    match u32::try_from(sectors) {
        Ok(sectors) => {
            Ok(Line::Event(Event { at_ns, volume, sector, sectors, op, flags, stream: 0 }))
        }
        Err(_) if sectors > MAX_DISCARD_SECTORS => {
            Err(Reject::new("a discard of at most 1 PiB (is it another unit?)", length_at))
        }
        Err(_) => {
            let event = Event { at_ns, volume, sector, sectors: 0, op, flags, stream: 0 };
            Ok(Line::LongDiscard(event, sectors))
        }
    }
}

/// Returns a request from a range in bytes.
#[inline(always)]
pub(super) fn in_bytes(at_ns: u64, volume: u64, op: Op, range: Range) -> Result<Line, Reject> {
    in_sectors(at_ns, volume, op, 0, range.of_bytes()?)
}
