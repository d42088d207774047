//! How many pages of a device a trace touches.

use crate::config::Workload;
use crate::read::input::{self, Step, Watch};
use crate::read::page_set::PageSet;
use crate::read::reading;
use crate::read::volumes::Chosen;
use ssd_core::host::request::Op;
use ssd_core::host::source::SourceError;
use ssd_core::units::SECTOR_BYTES;
use std::ops::ControlFlow;

/// Pages of `page_bytes` bytes (a multiple of 512) that the reads and writes of the trace of `workload` touch: what a
/// device needs for it with `workload.fit = "compact"`. `watch` receives the progress, and `Break` ends it.
///
/// # Errors
/// No trace is named, it cannot be read, or it touches no page; also if `watch` has ended it.
pub fn footprint_pages(
    workload: &Workload,
    page_bytes: u32,
    watch: &mut dyn FnMut(Step) -> ControlFlow<()>,
) -> Result<u64, SourceError> {
    let path = workload.trace.as_deref().unwrap_or_default();
    let file = input::display_name(path);
    let sectors_per_page = u64::from(page_bytes) / SECTOR_BYTES;
    assert!(sectors_per_page > 0, "a page has at least a sector");
    let mut touched = PageSet::default();
    let volume = Chosen::of(workload.volume);
    reading::each_event(
        &file,
        input::open(path)?,
        &Watch::new(watch),
        workload,
        volume,
        |event, _| {
            if matches!(event.op, Op::Read | Op::Write) {
                let last = event.sector + u64::from(event.sectors).max(1) - 1;
                touched.add(event.sector / sectors_per_page, last / sectors_per_page);
            }
            Ok(())
        },
    )?;
    match touched.finish().pages() {
        0 => {
            Err(SourceError(format!("{file}: no page is read or written; use a longer time range")))
        }
        pages => Ok(pages),
    }
}
