//! Zones in the summary.

use super::numbers::{count, ratio};
use crate::metrics::report::Report;

/// What the host that writes them has copied.
pub(super) fn host(r: &Report, out: &mut String) {
    let Some(zones) = r.zones.as_ref() else { return };
    let waf = zones.host_waf.map_or(String::new(), |waf| format!(", WAF {}", ratio(waf)));
    row!(
        out,
        "host of zones   {} pages written, {} copied{waf}; {} zones reset",
        count(zones.host_pages),
        count(zones.copied_pages),
        count(zones.resets)
    );
}
