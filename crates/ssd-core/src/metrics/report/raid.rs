//! Parity groups.

use crate::metrics::declare::section;

section! {
    /// Parity groups: how their parity was updated.
    ///
    /// Every write and TRIM of a group is one update;
    /// `flash.programs.parity = rmw + rcw + full` in a completed run without warm-up.
    pub struct Raid;
    /// Updates of parity groups by what they read, counted when they begin.
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
        /// Pages that the read buffer saved.
        kept: u64,
        /// Updates that waited for room.
        waited_for_room: u64,
        /// Blocks whose collection began while nothing of the host waited.
        deferred_gcs: u64,
    }
    values(inputs) {
        let raid = &inputs.measured.raid;
    } {
        /// Groups of the device.
        groups: u64 = inputs.device.parity_groups.unwrap_or(0),
        /// Pages that were not read because the controller kept them.
        reads_saved: u64 = raid.kept,
        /// Updates that waited for room in one of their pools.
        waited_for_room: u64 = raid.waited_for_room,
        /// Blocks whose collection began while no request waited for their chip.
        deferred_gcs: u64 = raid.deferred_gcs,
    }
}
