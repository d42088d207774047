//! Final contents of the table of pages: footprint, volumes, hot and cold pages.

use super::{PAGE_BYTES, PAGE_SECTORS, Pages, READ, share};
use serde::Serialize;
use std::collections::BTreeMap;

/// Examined shares of the written pages, per cent.
pub(super) const HOTTEST: [u64; 4] = [1, 5, 10, 20];
/// Pages with fewer writes than this are counted in an array.
const FEW_WRITES: usize = 256;

/// Footprint.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub(crate) struct Footprint {
    pub(crate) pages_touched: u64,
    pub(crate) pages_read: u64,
    pub(crate) pages_written: u64,
    pub(crate) pages_both: u64,
    pub(crate) pages_trimmed: u64,
    pub(crate) distinct_bytes_written: u64,
    pub(crate) overwrite_factor: Option<f64>,
    pub(crate) page_reads: u64,
    pub(crate) read_after_write_share: Option<f64>,
    pub(crate) read_recent_share: Option<f64>,
}

/// Hot and cold.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Hot {
    pub(crate) hottest: [f64; HOTTEST.len()],
    pub(crate) write_share: [Option<f64>; HOTTEST.len()],
}

/// Pages of a volume.
#[derive(Clone, Copy, Default)]
pub(crate) struct TouchedPages {
    pub(crate) touched: u64,
    pub(crate) written: u64,
}

/// Pages by their history.
#[derive(Clone, Default)]
pub(crate) struct Survey {
    touched: TouchedPages,
    read: u64,
    sectors_written: u64,
    pub(crate) volumes: BTreeMap<u16, TouchedPages>,
    /// Written pages by the number of their writes.
    by_writes: BTreeMap<u64, u64>,
}

impl Pages {
    /// Returns a survey of the final table.
    pub(crate) fn survey(&self) -> Survey {
        let mut survey = Survey::default();
        let mut few = [0u64; FEW_WRITES];
        for (area, &volume) in self.slabs.iter().flatten().zip(&self.volumes) {
            let (mut touched, mut written, mut read) = (0, 0, 0);
            for page in area {
                let (is_read, writes) = (page.is(READ), page.writes());
                let is_written = writes > 0;
                read += u64::from(is_read);
                written += u64::from(is_written);
                touched += u64::from(is_read || is_written);
                survey.sectors_written += u64::from(page.sectors_written());
                match few.get_mut(writes as usize) {
                    Some(count) => *count += 1,
                    None => *survey.by_writes.entry(writes).or_default() += 1,
                }
            }
            let volume = survey.volumes.entry(volume).or_default();
            *volume = TouchedPages {
                touched: volume.touched + touched,
                written: volume.written + written,
            };
            survey.touched.touched += touched;
            survey.touched.written += written;
            survey.read += read;
        }
        let few = (1u64..).zip(few.into_iter().skip(1)).filter(|&(_, count)| count > 0);
        survey.by_writes.extend(few);
        survey
    }
}

impl Survey {
    pub(crate) fn footprint(
        &self,
        pages: &Pages,
        bytes_written: u64,
        pages_trimmed: u64,
    ) -> Footprint {
        let distinct_bytes_written = self.sectors_written * PAGE_BYTES / PAGE_SECTORS;
        Footprint {
            pages_touched: self.touched.touched,
            pages_read: self.read,
            pages_written: self.touched.written,
            pages_both: self.read + self.touched.written - self.touched.touched,
            pages_trimmed,
            distinct_bytes_written,
            overwrite_factor: share(bytes_written, distinct_bytes_written),
            page_reads: pages.page_reads,
            read_after_write_share: share(pages.reads_after_write, pages.page_reads),
            read_recent_share: share(pages.reads_recent, pages.reads),
        }
    }

    pub(crate) fn hot(&self) -> Hot {
        let writes = self.by_writes.iter().map(|(writes, count)| writes * count).sum();
        let hottest = |percent: u64| {
            let (mut left, mut sum) = ((self.touched.written * percent).div_ceil(100), 0);
            for (writes, count) in self.by_writes.iter().rev() {
                let pages = left.min(*count);
                sum += pages * writes;
                left -= pages;
            }
            share(sum, writes)
        };
        Hot { hottest: HOTTEST.map(|part| part as f64 / 100.0), write_share: HOTTEST.map(hottest) }
    }
}
