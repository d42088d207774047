//! Statistics of the addresses of reads and writes.

use serde::Serialize;
use ssd_core::units::SECTOR_BYTES;

/// Addresses of reads and writes over all volumes, bytes.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Addresses {
    pub(crate) lowest_bytes: Option<u64>,
    pub(crate) end_bytes: Option<u64>,
    pub(crate) span_bytes: Option<u64>,
    pub(crate) alignment_bytes: Option<u64>,
}

/// Collects [`Addresses`].
#[derive(Default)]
pub(super) struct Collector {
    /// First sector, and the end of the last one.
    range: Option<(u64, u64)>,
    /// Bits that are set in any address or length, in sectors.
    bits: u64,
}

impl Collector {
    /// Adds a read or write of the sectors `start..end`.
    pub(super) fn add(&mut self, start: u64, end: u64) {
        let (low, high) = self.range.unwrap_or((start, end));
        self.range = Some((low.min(start), high.max(end)));
        self.bits |= start | (end - start);
    }

    pub(super) fn finish(self) -> Addresses {
        let bytes = |sectors: u64| sectors.saturating_mul(SECTOR_BYTES);
        let alignment = 1u64.checked_shl(self.bits.trailing_zeros());
        Addresses {
            lowest_bytes: self.range.map(|(low, _)| bytes(low)),
            end_bytes: self.range.map(|(_, end)| bytes(end)),
            span_bytes: self.range.map(|(low, end)| bytes(end - low)),
            alignment_bytes: alignment.map(bytes),
        }
    }
}
