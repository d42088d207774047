//! Totals of a trace on a device: the pages that it touches, and what it writes.

use crate::config::Workload;
use crate::read::formats::Event;
use crate::read::input::{self, Step, Watch};
use crate::read::page_set::PageSet;
use crate::read::reading;
use crate::read::scan::Refusal;
use crate::read::volumes::VolumeSelection;
use serde::Serialize;
use ssd_core::config::Word as _;
use ssd_core::host::request::{Op, flags};
use ssd_core::host::source::SourceError;
use ssd_core::units::SECTOR_BYTES;
use std::ops::ControlFlow;

/// Number of new chunks in the set of pages before its pages are counted again.
const COUNT_EVERY: usize = 1 << 20;

/// Totals of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Totals {
    /// Name of the file.
    pub file: String,
    /// Format, as in `workload.format`.
    pub format: &'static str,
    /// Pages of the device that reads and writes touch.
    pub pages: u64,
    /// Pages from address 0 to the last page that reads and writes touch.
    pub span_pages: u64,
    /// Requests; a copy counts as one.
    pub requests: u64,
    /// Page writes on the device; a page that is written twice counts twice.
    pub page_writes: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Time from the first arrival to the last, nanoseconds.
    pub duration_ns: u64,
    /// Whether the trace writes more than allowed; the totals are then those of its beginning.
    pub is_cut: bool,
    /// Warnings for readers of the results; empty if it is cut.
    pub warnings: Vec<String>,
}

/// Returns the pages of `page_bytes` bytes (a multiple of 512) that reads and writes of the trace of `workload` touch:
/// what a device needs with `workload.fit = "compact"`. `watch` receives the progress, and `Break` ends it.
///
/// # Errors
/// No trace is named, it cannot be read, or it touches no page, or more than any device has; also if `watch` has ended
/// the reading.
pub fn footprint_pages(
    workload: &Workload,
    page_bytes: u32,
    watch: &mut dyn FnMut(Step) -> ControlFlow<()>,
) -> Result<u64, SourceError> {
    totals(workload, page_bytes, u64::MAX, watch).map(|totals| totals.pages)
}

/// Returns the totals of the trace of `workload` on pages of `page_bytes` bytes, or of its beginning if it writes more
/// than `most_page_writes` pages.
///
/// # Errors
/// As for [`footprint_pages`].
pub fn totals(
    workload: &Workload,
    page_bytes: u32,
    most_page_writes: u64,
    watch: &mut dyn FnMut(Step) -> ControlFlow<()>,
) -> Result<Totals, SourceError> {
    let path = workload.trace.as_deref().unwrap_or_default();
    let file = input::display_name(path);
    let sectors_per_page = u64::from(page_bytes) / SECTOR_BYTES;
    assert!(sectors_per_page > 0, "a page has at least a sector");
    let mut sums = Sums { sectors_per_page, ..Sums::default() };
    let (volume, watch) = (VolumeSelection::of(workload.volume), Watch::new(watch));
    let read = reading::each_event(
        &file,
        input::open(path, &watch)?,
        &watch,
        workload,
        volume,
        |event, at| {
            if sums.add(event, at).is_break() {
                return Err(Refusal::Trace(SourceError(format!(
                    "{file}: the trace touches 2^32 pages or more, which is more than any device has; use a part of \
                     it (--set workload.until=TIME) or larger pages (--set device.page_size=SIZE)"
                ))));
            }
            if sums.totals.page_writes > most_page_writes {
                sums.totals.is_cut = true;
                return Err(Refusal::Trace(SourceError(String::new())));
            }
            Ok(())
        },
    );
    match read {
        Ok(result) => {
            sums.totals.format = result.format.word();
            sums.totals.warnings = result.all_warnings(&file, workload.dedup);
        }
        Err(_) if sums.totals.is_cut => {}
        Err(error) => return Err(error),
    }
    sums.totals.pages = sums.touched.finish().pages();
    if sums.totals.pages == 0 {
        return Err(reading::no_page(&file, workload));
    }
    Ok(Totals { file, ..sums.totals })
}

#[derive(Default)]
struct Sums {
    totals: Totals,
    touched: PageSet,
    sectors_per_page: u64,
    first_ns: Option<u64>,
    /// Chunks of the set at which its pages are counted next.
    next_count: usize,
}

impl Sums {
    /// Adds an event; returns `Break` if the trace touches more pages than a device can have.
    #[inline(always)]
    fn add(&mut self, event: &Event, at: u64) -> ControlFlow<()> {
        let Event { sector, sectors, op, .. } = *event;
        if matches!(op, Op::Read | Op::Write) {
            let last = sector + u64::from(sectors).max(1) - 1;
            let pages = sector / self.sectors_per_page..=last / self.sectors_per_page;
            self.totals.span_pages = self.totals.span_pages.max(pages.end() + 1);
            self.touched.add(*pages.start(), *pages.end());
            if self.touched.chunks() >= self.next_count {
                self.count()?;
            }
        }
        let (is_part, totals) = (event.flags & flags::COPY != 0, &mut self.totals);
        if is_part && op == Op::Read {
            return ControlFlow::Continue(());
        }
        totals.requests += 1;
        totals.duration_ns = at - *self.first_ns.get_or_insert(at);
        if op == Op::Write && !is_part && sectors > 0 {
            let (end, page) = (sector + u64::from(sectors), self.sectors_per_page);
            totals.page_writes += end.div_ceil(page) - sector / page;
            totals.bytes_written += u64::from(sectors) * SECTOR_BYTES;
        }
        ControlFlow::Continue(())
    }

    /// Returns `Break` if the trace touches more pages than a device can have, before these take all memory.
    #[cold]
    fn count(&mut self) -> ControlFlow<()> {
        self.next_count = self.touched.chunks() + COUNT_EVERY;
        if self.touched.count() <= u64::from(u32::MAX) {
            return ControlFlow::Continue(());
        }
        ControlFlow::Break(())
    }
}
