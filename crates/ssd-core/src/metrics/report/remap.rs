//! Copies, and the pages that several logical pages share.

use super::LatencyStats;
use crate::host::request::Op;
use crate::metrics::declare::section;
use crate::metrics::inputs::Inputs;

section! {
    /// Copies (as with NVMe Copy), and the pages that several logical pages share.
    ///
    /// Pages of all admitted copies are shared, copied or unmapped when they have completed, except those that newer
    /// data or a TRIM replaced while they waited for their source or to be read. What a power cut ends counts when it
    /// is submitted again.
    pub struct Remap;
    /// What became of copies; `refused` ones change nothing.
    counters RemapCounts in remap {
        /// Pages of the destination that share the page of their source.
        shared: u64,
        /// Pages that the device has read and programmed: with `remap.mode = "copy"`, and those of parity groups
        /// that may not share.
        copied: u64,
        /// Pages copied although `remap.mode = "share"`, because their parity group has, or may have, another page
        /// on the chip of the source.
        #[serde(default)]
        copied_chip: u64,
        /// Pages copied although `remap.mode = "share"`, because their source was lost with its chip.
        #[serde(default)]
        copied_lost: u64,
        /// Pages whose source held no data: they hold none, either.
        unmapped: u64,
        /// Pages that waited until their source was on flash.
        waited: u64,
        /// Copies refused because an address or a length is not of whole pages.
        refused_alignment: u64,
        /// Copies refused because a range is empty, reaches beyond the device or differs in length, or because
        /// the NVRAM cannot hold their records.
        refused_range: u64,
        /// Copies refused because a source overlaps the destination.
        refused_overlap: u64,
    }
    sums {}
    values(inputs) {
        let remap = &inputs.measured.remap;
        let owners = inputs.device.pages_by_owners.unwrap_or_default().to_vec();
    } {
        /// Copies completed.
        commands: u64 = inputs.measured.host.completed[Op::Copy as usize],
        /// Copies refused.
        refused: u64 = remap.refused_alignment + remap.refused_range + remap.refused_overlap,
        /// Latency of copies.
        latency: LatencyStats =
            LatencyStats::of(inputs.measured.latencies.of(Op::Copy)),
        /// Owners beyond the first of all pages, at the end of the run.
        extra_owners: u64 = (1..).zip(owners.iter().skip(1)).map(|(n, pages)| n * pages).sum(),
        /// Bytes of memory that they take in the simulator.
        extra_owner_bytes: u64 = inputs.device.extra_owner_bytes,
        /// Valid pages by their number of owners, from 1 on, at the end of the run.
        pages_by_owners: Vec<u64> = owners,
    }
}
