//! SLC blocks and their folds.

use super::gc::MoveCounts;
use super::ratio;
use crate::metrics::cause::Cause;
use crate::metrics::declare::section;
use crate::metrics::inputs::Inputs;

section! {
    /// SLC blocks, and folding: the collection of such blocks, which `gc` does not count.
    pub struct Slc;
    /// SLC blocks.
    counters SlcCounts in slc {
        /// Pages that the host, or a copy for it, has programmed in SLC blocks.
        host_pages: u64 [Number, shown("slc_pages", "pages written to SLC blocks")],
        /// SLC blocks whose folding started.
        folds: u64 [Number, shown("folds", "SLC blocks folded")],
        /// Of these, ahead of the host: a pool was at its reserve, or its trigger was urgent.
        foreground: u64,
    }
    sums {
        /// What became of their pages.
        pages: MoveCounts,
    }
    values(inputs) {
        let (slc, flash) = (&inputs.measured.slc, &inputs.measured.flash);
        let written = flash.programs[Cause::Host.at()] + flash.programs[Cause::Remap.at()];
    } {
        /// Pages programmed for the host in SLC blocks, over all that were programmed for it.
        host_share: Option<f64> [Percent] = ratio(slc.host_pages, written),
        /// Copies that were committed.
        pages_moved: u64 = slc.pages.moved,
        /// Pages overwritten or trimmed between their read and the program of the copy.
        pages_dropped: u64 = slc.pages.dropped,
        /// Copies programmed after their page had been overwritten or trimmed.
        pages_stale: u64 = slc.pages.stale,
        /// Pages read but neither programmed nor dropped by the end of the run.
        pages_in_flight: u64 = 0,
        /// SLC blocks that are not erased at the end of the run.
        blocks: u64 = inputs.device.slc_blocks.unwrap_or_default(),
    }
}

impl SlcCounts {
    /// Count a fold that starts.
    pub fn count_fold(&mut self, foreground: bool) {
        debug_assert!(self.foreground <= self.folds, "{self:?}");
        self.folds += 1;
        self.foreground += u64::from(foreground);
    }
}
