//! Copies and power cuts in the summary.

use super::numbers::{count, duration, size};
use crate::metrics::report::Report;
use std::fmt::Write as _;

/// Copies, and the pages that they share.
pub(super) fn copies(r: &Report, out: &mut String) {
    let Some(remap) = r.remap.as_ref().filter(|m| m.commands + m.refused > 0) else { return };
    line!(out, "");
    row!(
        out,
        "copies          {}; {} pages shared, {} copied, {} unmapped; {} refused",
        count(remap.commands),
        count(remap.shared),
        count(remap.copied),
        count(remap.unmapped),
        count(remap.refused)
    );
    row!(
        out,
        "  owners        {} beyond the first of their page at the end, {} of memory",
        count(remap.extra_owners),
        size(remap.extra_owner_bytes as f64)
    );
}

/// Power cuts, what the recoveries from them took, and what the device did to survive them.
pub(super) fn power(r: &Report, out: &mut String) {
    let Some(p) = r.power.as_ref() else { return };
    let records = p.trim_records + p.owner_records;
    if p.cuts + p.checkpoints + records == 0 {
        return;
    }
    line!(out, "");
    row!(
        out,
        "power cuts      {}; {} requests submitted again",
        count(p.cuts),
        count(p.requests_repeated)
    );
    if p.cuts > 0 {
        let times = || p.recoveries.iter().map(|recovery| recovery.time);
        let [torn, reads] = p.recoveries.iter().fold([0, 0], |[torn, reads], recovery| {
            [torn + recovery.torn_pages, reads + recovery.reads + recovery.checkpoint_pages]
        });
        let mean = times().sum::<u64>() as f64 / times().count().max(1) as f64;
        line!(
            out,
            "  recovery      {} mean, {} longest; {} pages read, {} torn",
            duration(mean),
            duration(times().max().unwrap_or(0) as f64),
            count(reads),
            count(torn)
        );
    }
    if records > 0 {
        line!(
            out,
            "  records       {} of TRIMs, {} of owners; {} live and {} stale at the end, {} at most",
            count(p.trim_records),
            count(p.owner_records),
            size(p.live_record_bytes as f64),
            size(p.stale_record_bytes as f64),
            size(p.nvram_peak as f64)
        );
    }
    if p.checkpoints > 0 {
        line!(out, "  checkpoints   {}", count(p.checkpoints));
    }
}
