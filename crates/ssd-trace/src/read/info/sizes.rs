//! Sizes of the requests of one operation.

use super::PAGE_SECTORS;
use super::shape::Distribution;
use serde::Serialize;
use ssd_core::metrics::histogram::Histogram;
use ssd_core::units::SECTOR_BYTES;

/// Largest size that is counted exactly, sectors (4 MiB).
const COUNTED: usize = 8192;
/// Number of listed sizes.
const LISTED: usize = 5;

/// A frequent size.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct FrequentSize {
    pub(crate) bytes: u64,
    pub(crate) requests: u64,
    pub(crate) share: f64,
}

pub(super) struct Sizes {
    /// Requests that begin and end at page boundaries.
    pub(super) aligned: u64,
    lengths: Histogram,
    exact: Vec<u64>,
}

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes { aligned: 0, lengths: Histogram::new(), exact: vec![0; COUNTED + 1] }
    }
}

impl Sizes {
    pub(super) fn add(&mut self, sector: u64, sectors: u32) {
        let length = u64::from(sectors);
        let is_aligned = sector.is_multiple_of(PAGE_SECTORS) && length.is_multiple_of(PAGE_SECTORS);
        self.aligned += u64::from(is_aligned);
        self.lengths.record(length);
        if let Some(count) = self.exact.get_mut(sectors as usize) {
            *count += 1;
        }
    }

    /// Returns the distribution of sizes, bytes.
    pub(super) fn distribution(&self) -> Distribution {
        Distribution::of(&self.lengths, SECTOR_BYTES)
    }

    /// Returns the most frequent sizes; of equally frequent sizes, the smaller comes first.
    pub(super) fn frequent(&self) -> Vec<FrequentSize> {
        let mut counts: Vec<(u64, u64)> =
            (0u64..).zip(self.exact.iter().copied()).filter(|&(_, count)| count > 0).collect();
        counts.sort_by_key(|&(sectors, count)| (u64::MAX - count, sectors));
        let total = self.lengths.count() as f64;
        let listed = counts.into_iter().take(LISTED);
        listed
            .map(|(sectors, requests)| FrequentSize {
                bytes: sectors * SECTOR_BYTES,
                requests,
                share: requests as f64 / total,
            })
            .collect()
    }
}
