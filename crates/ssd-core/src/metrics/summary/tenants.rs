//! Volumes and streams in the summary.

use super::numbers::{count, percent, ratio};
use crate::metrics::report::{Report, TenantStats};
use std::fmt::Write as _;

/// The most rows: those with the most programs.
const MOST_ROWS: usize = 16;

/// What is written for each volume and stream.
pub(super) fn table(r: &Report, out: &mut String) {
    let Some(tenants) = &r.tenants else { return };
    let volumes = tenants.by_volume.iter().map(|(n, stats)| (format!("volume {n}"), stats));
    let streams = tenants.by_stream.iter().map(|(n, stats)| (format!("stream {n}"), stats));
    let mut rows: Vec<(String, &TenantStats)> = Vec::new();
    for kind in [volumes.collect::<Vec<_>>(), streams.collect()] {
        // One alone has all that the others have not.
        if kind.len() > 1 {
            rows.extend(most(kind));
        }
    }
    rows.push(("others".to_owned(), &tenants.others));
    line!(out, "");
    let heads = ["written", "programmed", "copied", "WAF", "of copies"];
    line!(out, "{:<16}{}", "pages of", heads.map(|head| format!("{head:>12}")).concat());
    for (name, stats) in rows {
        let cells = [
            count(stats.pages_written),
            count(stats.programs),
            count(stats.copies),
            ratio(stats.waf.unwrap_or(f64::NAN)),
            percent(stats.share_of_copies.unwrap_or(f64::NAN)),
        ];
        line!(out, "  {name:<14}{}", cells.map(|cell| format!("{cell:>12}")).concat());
    }
}

/// The rows with the most programs, in their order.
fn most(rows: Vec<(String, &TenantStats)>) -> Vec<(String, &TenantStats)> {
    let mut programs: Vec<u64> = rows.iter().map(|(_, stats)| stats.programs).collect();
    programs.sort_unstable_by(|a, b| b.cmp(a));
    let least = programs.get(MOST_ROWS - 1).copied().unwrap_or(0);
    rows.into_iter().filter(|(_, stats)| stats.programs >= least).take(MOST_ROWS).collect()
}
