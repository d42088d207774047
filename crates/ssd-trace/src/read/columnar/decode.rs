//! Decodes the bytes of one block into requests.

use super::layout::{BlockHeader, LENGTH_BITS, op_of};
use ssd_core::host::request::{Request, TimedRequest};
use ssd_core::units::Nanos;
use std::iter::repeat_n;
use std::ops::Range;

/// A column of a block, with one value per request.
#[derive(Clone, Copy)]
enum Column<'a> {
    /// All values are 0; the column has no bytes.
    None,
    /// Four bytes each, least significant first.
    Four(&'a [[u8; 4]]),
    /// Eight bytes each, least significant first.
    Eight(&'a [[u8; 8]]),
}

impl<'a> Column<'a> {
    fn of(bytes: &'a [u8], width: u8) -> Column<'a> {
        match width {
            0 => Column::None,
            4 => Column::Four(bytes.as_chunks().0),
            _ => Column::Eight(bytes.as_chunks().0),
        }
    }
}

/// Appends requests `range` of a block to `batch`. `at` is the arrival of the request before the range (the block's
/// first arrival at the start of the block), and becomes the arrival of its last request.
///
/// Returns false and appends nothing if a request is impossible: no sectors, sectors beyond 2^64, time running
/// backwards. A block whose bases rule out such values is decoded without these checks; nearly every file written by
/// ssdlab has only such blocks.
#[must_use]
pub(super) fn requests(
    header: &BlockHeader,
    payload: &[u8],
    range: Range<usize>,
    at: &mut u64,
    batch: &mut Vec<TimedRequest>,
) -> bool {
    let total = header.requests as usize;
    assert!(range.start <= range.end && range.end <= total);
    assert_eq!(payload.len(), header.payload_bytes());
    let (before, mut parts, mut from) = (batch.len(), [&payload[..0]; 6], 0);
    for (part, width) in parts.iter_mut().zip(header.widths) {
        let width = usize::from(width);
        *part = &payload[from + range.start * width..from + range.end * width];
        from += total * width;
    }
    let [time, sector, length, volume, stream, flags] = parts;
    let [time_width, sector_width, length_width, ..] = header.widths;
    let sectors = Column::of(sector, sector_width);
    let lengths = Column::of(length, length_width);
    let mut core = Core { header, at: *at, impossible: false, batch };
    match Column::of(time, time_width) {
        // All distances are equal; the first request of the block has no distance.
        Column::None => core.with_time(range.map(|i| u64::from(i != 0)), sectors, lengths),
        Column::Four(time) => core.with_time(time.iter().map(four), sectors, lengths),
        Column::Eight(time) => core.with_time(time.iter().map(eight), sectors, lengths),
    }
    let impossible = core.impossible;
    *at = core.at;
    if impossible {
        batch.truncate(before);
        return false;
    }
    let new = &mut batch[before..];
    for (timed, volume) in new.iter_mut().zip(volume.as_chunks().0) {
        timed.request.volume = u16::from_le_bytes(*volume);
    }
    for (timed, stream) in new.iter_mut().zip(stream) {
        timed.request.stream = *stream;
    }
    for (timed, flags) in new.iter_mut().zip(flags) {
        timed.request.flags = *flags;
    }
    true
}

fn four(bytes: &[u8; 4]) -> u64 {
    u64::from(u32::from_le_bytes(*bytes))
}

fn eight(bytes: &[u8; 8]) -> u64 {
    u64::from_le_bytes(*bytes)
}

/// The columns that every request has. The widths are chosen once per call, so that each combination has its own loop
/// without branches.
struct Core<'a> {
    header: &'a BlockHeader,
    at: u64,
    impossible: bool,
    batch: &'a mut Vec<TimedRequest>,
}

impl Core<'_> {
    fn with_time(
        &mut self,
        time: impl ExactSizeIterator<Item = u64>,
        sectors: Column<'_>,
        lengths: Column<'_>,
    ) {
        let count = time.len();
        match sectors {
            Column::None => self.with_sectors(time, repeat_n(0, count), lengths),
            Column::Four(sectors) => self.with_sectors(time, sectors.iter().map(four), lengths),
            Column::Eight(sectors) => self.with_sectors(time, sectors.iter().map(eight), lengths),
        }
    }

    fn with_sectors(
        &mut self,
        time: impl ExactSizeIterator<Item = u64>,
        sectors: impl Iterator<Item = u64>,
        lengths: Column<'_>,
    ) {
        let count = time.len();
        let columns = time.zip(sectors);
        match (lengths, self.header.is_always_possible()) {
            (Column::None, true) => self.append::<false>(columns.zip(repeat_n(0, count))),
            (Column::None, false) => self.append::<true>(columns.zip(repeat_n(0, count))),
            (Column::Four(lengths), true) => {
                self.append::<false>(columns.zip(lengths.iter().map(four)));
            }
            (Column::Four(lengths), false) => {
                self.append::<true>(columns.zip(lengths.iter().map(four)));
            }
            (Column::Eight(lengths), _) => {
                self.append::<true>(columns.zip(lengths.iter().map(eight)));
            }
        }
    }

    #[inline(always)]
    fn append<const LOOK: bool>(&mut self, columns: impl Iterator<Item = ((u64, u64), u64)>) {
        let BlockHeader { unit, sector, length, volume, stream, flags, .. } = *self.header;
        let (mut at, mut impossible) = (self.at, false);
        // Sums wrap only in a file that no writer produced. Such a request is impossible and detected below.
        self.batch.extend(columns.map(|((tick, offset), above)| {
            let now = at.wrapping_add(tick.wrapping_mul(unit));
            let backwards = now < at;
            at = now;
            let (sector, length) = (sector.wrapping_add(offset), length.wrapping_add(above));
            let sectors = (length >> 2) as u32;
            // A value below 3 is a read, write or trim of no sectors.
            let no_length = length < 3 || length >> LENGTH_BITS != 0;
            let beyond = sector.checked_add(u64::from(sectors)).is_none();
            debug_assert!(LOOK || !(backwards || no_length || beyond));
            if LOOK {
                impossible |= backwards || no_length || beyond;
            }
            let op = op_of(length);
            let request = Request { sector, sectors, op, volume, stream, flags };
            TimedRequest { at: Nanos(now), request }
        }));
        (self.at, self.impossible) = (at, impossible);
    }
}
