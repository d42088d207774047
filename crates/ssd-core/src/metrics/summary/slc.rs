//! SLC blocks in the summary.

use super::numbers::{count, percent};
use crate::metrics::report::Report;

/// What the host has written to them, and how many were folded.
pub(super) fn cache(r: &Report, out: &mut String) {
    let Some(slc) = r.slc.as_ref() else { return };
    let share = slc.host_share.map_or(String::new(), |share| format!(" ({})", percent(share)));
    row!(
        out,
        "slc             {} pages of the host in SLC blocks{share}; {} blocks folded, {} of them ahead of the host, {} \
         copies",
        count(slc.host_pages),
        count(slc.folds),
        count(slc.foreground),
        count(slc.pages_moved + slc.pages_stale)
    );
}
