//! Classes of pages, and what they take of the spare.

use super::{Fdp, ratio};
use crate::metrics::declare::section;
use crate::metrics::inputs::Inputs;

section! {
    /// Classes of pages (`alloc.separation`), and what they take of the spare.
    pub struct Separation;
    values(inputs) {
        let state = inputs.device.separation.unwrap_or_default();
    } {
        /// Classes: open blocks on each plane, that of wear levelling apart.
        classes: u64 = state.classes,
        /// Classes that the host alone fills.
        host_classes: u64 = state.host_classes,
        /// Copies programmed in another class, because their own had no page left.
        diverted_copies: u64 = state.diverted_copies,
        /// Pages of open blocks that are not written yet, at the end of the run.
        open_pages: u64 = state.open_pages,
        /// `open_pages` over the pages beside those of the host.
        open_share_of_spare: f64 [Percent] = ratio(
            state.open_pages,
            inputs.device.physical_pages - inputs.device.user_pages
        ).unwrap_or(0.0),
        /// Reclaim unit handles; left out without them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fdp: Option<Fdp> = inputs.device.reclaim.is_some().then(|| Fdp::of(inputs)),
    }
}
