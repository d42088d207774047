//! The parts of a record of a log, in blocks of 32 KiB.
//!
//! A record is one FULL fragment, or FIRST, MIDDLE ..., LAST. A fragment: masked CRC-32C of kind and
//! payload (4 bytes), length (2), kind (1), payload. What remains of a block below 7 bytes is zero.

use super::coding::{fixed32, masked};

pub(super) const BLOCK: usize = 32 << 10;
pub(super) const HEADER: usize = 7;
pub(super) const FULL: u8 = 1;
pub(super) const FIRST: u8 = 2;
pub(super) const MIDDLE: u8 = 3;
pub(super) const LAST: u8 = 4;

/// The whole fragment at `at` of a block that ends at `end`: its kind and payload.
pub(super) fn whole_at(data: &[u8], at: usize, end: usize) -> Option<(u8, &[u8])> {
    let header = data.get(at..at + HEADER)?;
    let stop = at + HEADER + length_of(header);
    let (kind, payload) = (header[6], data.get(at + HEADER..stop)?);
    let is_whole = (FULL..=LAST).contains(&kind)
        && stop <= end
        && masked(crc32c::crc32c(&data[at + 6..stop])) == fixed32(header, 0);
    is_whole.then_some((kind, payload))
}

/// The length of a fragment as given in its header.
pub(super) fn length_of(header: &[u8]) -> usize {
    debug_assert!(header.len() >= HEADER, "a header of {} bytes", header.len());
    usize::from(header[4]) | usize::from(header[5]) << 8
}
