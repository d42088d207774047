//! Parity groups.

use super::latency::LatencyStats;
use crate::metrics::declare::section;
use crate::metrics::degraded::{DegradedStats, FailedChip};
use crate::metrics::inputs::Inputs;

section! {
    /// Parity groups: how their parity was updated.
    ///
    /// Every write and TRIM of a group is one update, or a part of one (`merged`);
    /// `flash.programs.parity = rmw + rcw + full` in a completed run without warm-up in which no chip fails.
    pub struct Raid;
    /// Updates of parity groups by what they read, counted when they program.
    counters RaidCounts in raid {
        /// Updates that read old data and old parity (read-modify-write).
        rmw: u64,
        /// Updates that read the pages that stay (reconstruct-write).
        rcw: u64,
        /// Updates that left no page as it was: none is read for the parity.
        full: u64,
        /// Pages written to a chip of another parity group.
        redirected: u64,
        /// Groups that TRIMs left without data, and so without parity.
        dropped: u64,
    }
    sums {
        /// Pages that were not read, because the read buffer kept them or a copy had read them.
        kept: u64,
        /// Updates that waited for room.
        waited_for_room: u64,
        /// Updates that joined another one.
        merged: u64,
        /// Blocks whose collection began while nothing of the host waited.
        deferred_gcs: u64,
        /// Reads of pages by the host that a reconstruction has answered.
        reconstructed: u64,
        /// Reconstructions.
        reconstructions: u64,
    }
    values(inputs) {
        let raid = &inputs.measured.raid;
    } {
        /// Groups of the device.
        groups: u64 = inputs.device.parity_groups.unwrap_or(0),
        /// Pages that were not read because the controller kept them.
        reads_saved: u64 = raid.kept,
        /// Updates that became a part of the one before them in their group (`raid.merge`), and do not count above.
        #[serde(default)]
        merged: u64 = raid.merged,
        /// Updates that waited for room in one of their pools.
        waited_for_room: u64 = raid.waited_for_room,
        /// Blocks whose collection began while no request waited for their chip.
        deferred_gcs: u64 = raid.deferred_gcs,
        /// Pages that the host read and that were computed from the others of their group, because their chip
        /// collected (`raid.reads`) or had failed. Reads of one page at a time share a reconstruction.
        reconstructed_pages: u64 = raid.reconstructed,
        /// Reconstructions, those for a rebuild included.
        reconstructions: u64 = raid.reconstructions,
        /// The failure of chips; `null` before the first.
        failure: Option<Failure> = inputs.measured.degraded.as_ref().map(|_| Failure::of(inputs)),
    }
}

section! {
    /// Failed chips (`raid.fail`): how long the device was degraded, and what it cost.
    ///
    /// The device is degraded from the failure of a chip until a spare stands in its place and every page that it
    /// held has been rebuilt, overwritten or trimmed.
    pub struct Failure;
    values(inputs) {
        let none = DegradedStats::default();
        let degraded = inputs.measured.degraded.as_deref().unwrap_or(&none);
        let [read, write] = degraded.latencies.each_ref().map(LatencyStats::of);
    } {
        /// The chips that have failed, counted over the device, in the order of their failures.
        chips: Vec<u64> = degraded.chips.iter().map(|c| u64::from(c.chip)).collect(),
        /// When they failed, simulated nanoseconds.
        failed_at: Vec<u64> = degraded.chips.iter().map(|c| c.failed.0).collect(),
        /// When a spare took the place of each, simulated nanoseconds; `null`: never.
        replaced_at: Vec<Option<u64>> =
            degraded.chips.iter().map(|c| c.replaced.map(|at| at.0)).collect(),
        /// The chips that form parity groups with each, itself included.
        group_chips: Vec<Vec<u64>> = {
            let group = |c: &FailedChip| c.group.iter().map(|&chip| u64::from(chip)).collect();
            degraded.chips.iter().map(group).collect()
        },
        /// When the rebuild ended: a spare stood in the place of every failed chip, and no page was lost any more,
        /// simulated nanoseconds; `null`: the run ended degraded.
        rebuilt_at: Option<u64> = degraded.whole_again.map(|at| at.0),
        /// Time that the run went on for the rebuild after its last request (`raid.until_rebuilt`).
        after_requests: u64 [Duration] = degraded.after_requests,
        /// Time that the device was degraded, in the measurement.
        degraded: u64 [Duration] = degraded.until(inputs.ended),
        /// Pages that were lost when their chip failed, parity included, in the whole run.
        pages_lost: u64 = degraded.pages_lost,
        /// Pages rebuilt: each read from the others of its group and programmed, both with the cause `rebuild`,
        /// in the whole run.
        pages_rebuilt: u64 = degraded.rebuilt,
        /// Pages of updates, parity included, that were not programmed because their chip was gone, in the
        /// whole run.
        pages_not_programmed: u64 = degraded.not_programmed,
        /// Pages that are lost at the end of the run: the others of their groups determine them.
        pages_left: u64 = degraded.pages_left,
        /// The pages of the host that are gone for good, as two of their group were lost: the run has ended.
        gone: Vec<u64> = degraded.gone.iter().map(|lpn| u64::from(lpn.0)).collect(),
        /// Latencies of reads that completed while the device was degraded.
        read: LatencyStats = read,
        /// Latencies of writes that completed while the device was degraded.
        write: LatencyStats = write,
    }
}
