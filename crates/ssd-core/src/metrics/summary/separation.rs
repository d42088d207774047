//! Classes of pages in the summary.

use super::numbers::{count, percent};
use crate::metrics::report::Report;
use std::fmt::Write as _;

/// The classes, and what they take of the spare.
pub(super) fn classes(r: &Report, out: &mut String) {
    let Some(s) = r.separation.as_ref() else { return };
    line!(out, "");
    line!(
        out,
        "separation      {} classes, {} of the host alone; {} of the spare in open blocks; {} copies in another",
        count(s.classes),
        count(s.host_classes),
        percent(s.open_share_of_spare),
        count(s.diverted_copies)
    );
}
