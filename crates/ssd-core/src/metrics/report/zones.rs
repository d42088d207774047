//! Zones, and the host that writes them.

use super::latency::{LatencyByOp, by_op};
use super::ratio;
use crate::metrics::declare::section;
use crate::metrics::inputs::Inputs;

section! {
    /// The host that stores its pages in zones; the other sections are of its drive.
    pub struct Zones;
    /// What such a host has done.
    counters ZoneCounts in zones {
        /// Pages that requests of the workload, or of a client, have written.
        host_pages: u64 [Number],
        /// Pages that the host has copied to collect its zones.
        copied_pages: u64 [Number, shown("zone_copies", "pages that the host copied out of zones")],
        /// Zones that it has reset.
        resets: u64 [Number, shown("zone_resets", "zones reset")],
    }
    sums {}
    values(inputs) {
        let zones = &inputs.measured.zones;
    } {
        /// Zones of the drive.
        zones: u64 [Number] = inputs.device.zones.unwrap_or_default(),
        /// Latencies of the requests of the workload; `null` without time, and for a client.
        latency: Option<LatencyByOp> = inputs.measured.zone_latencies.as_deref().map(by_op),
        /// Write amplification of the host: pages that it has written and copied over those that it has written.
        host_waf: Option<f64> [
            Ratio,
            shown("host_waf", "write amplification of the host").short("host WAF")
        ] = ratio(zones.host_pages + zones.copied_pages, zones.host_pages),
    }
}

impl ZoneCounts {
    /// Note that `pages` pages, which count as written, are copies.
    pub fn was_copied(&mut self, pages: u64) {
        debug_assert!(self.host_pages >= pages, "{pages} pages are not written: {self:?}");
        self.host_pages -= pages;
        self.copied_pages += pages;
    }
}
