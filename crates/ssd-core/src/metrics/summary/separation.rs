//! Classes of pages in the summary.

use super::numbers::{count, percent, size};
use crate::metrics::report::Report;
use std::fmt::Write as _;

/// The handles: what the host and the device have written.
pub(super) fn handles(r: &Report, out: &mut String) {
    let Some(fdp) = r.separation.as_ref().and_then(|s| s.fdp.as_ref()) else { return };
    row!(
        out,
        "handles         {}; {} from the host, {} written, {} erased; {} reclaim units opened, {} collected",
        count(fdp.handles.len() as u64),
        size(fdp.host_bytes_written as f64),
        size(fdp.media_bytes_written as f64),
        size(fdp.media_bytes_erased as f64),
        count(fdp.units_opened),
        count(fdp.units_collected)
    );
}

/// The classes, and what they take of the spare.
pub(super) fn classes(r: &Report, out: &mut String) {
    let Some(s) = r.separation.as_ref() else { return };
    line!(out, "");
    row!(
        out,
        "separation      {} classes, {} of the host alone; {} of the spare in open blocks; {} copies in another",
        count(s.classes),
        count(s.host_classes),
        percent(s.open_share_of_spare),
        count(s.diverted_copies)
    );
}
