//! Failed chips in the summary.

use super::numbers::{count, duration};
use super::{duration_or_dash, wrapped};
use crate::metrics::report::Report;
use std::fmt::Write as _;

/// Chips that have failed, what became of their pages, and what reads and writes took meanwhile.
pub(super) fn chips(r: &Report, out: &mut String) {
    let Some(f) = r.raid.as_ref().and_then(|raid| raid.failure.as_ref()) else { return };
    line!(out, "");
    let spares = f.replaced_at.iter().zip(&f.group_chips);
    for ((chip, &failed), (&replaced, group)) in f.chips.iter().zip(&f.failed_at).zip(spares) {
        let spare = match replaced {
            None => "no spare took its place".to_owned(),
            Some(at) => format!("a spare took its place at {}", duration(at as f64)),
        };
        let group: Vec<String> = group.iter().map(u64::to_string).collect();
        let (failed, group) = (duration(failed as f64), group.join(", "));
        let text = format!("chip {chip}, of the group of chips {group}, at {failed}; {spare}");
        wrapped("failed chip     ", &text, out);
    }
    row!(out, "  degraded      {} of the measurement", duration(f.degraded as f64));
    let pages = format!(
        "{} lost with their chip, {} rebuilt, {} left at the end; {} not programmed",
        count(f.pages_lost),
        count(f.pages_rebuilt),
        count(f.pages_left),
        count(f.pages_not_programmed)
    );
    wrapped("  pages         ", &pages, out);
    let end = f.rebuilt_at.map_or("not in this run".to_owned(), |at| duration(at as f64));
    let after = match f.after_requests {
        0 => String::new(),
        ns => format!(", {} after the last request", duration(ns as f64)),
    };
    row!(out, "  rebuilt at    {end}{after}");
    if let Some(first) = f.gone.first() {
        let gone = f.gone.len() as u64;
        line!(out, "  GONE          {} pages of the host, LPN {first} first", count(gone));
    }
    for (op, s) in [("read", &f.read), ("write", &f.write)].into_iter().filter(|s| s.1.count > 0) {
        let [mean, p99, max] = [s.mean, s.p99.map(|ns| ns as f64), s.max.map(|ns| ns as f64)];
        line!(
            out,
            "  {op:<14}{} while degraded: {} mean, {} p99, {} max",
            count(s.count),
            duration_or_dash(mean),
            duration_or_dash(p99),
            duration_or_dash(max)
        );
    }
}
