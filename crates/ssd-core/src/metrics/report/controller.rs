//! Pages in the controller: the write buffer, and the path between flash controllers and host side.

use super::ratio;
use crate::metrics::cause::{CAUSES, Cause};
use crate::metrics::declare::section;
use crate::metrics::form::Counter as _;
use crate::metrics::inputs::Inputs;
use std::collections::BTreeMap;

section! {
    /// The write buffer: what happened to the pages of writes.
    ///
    /// In a completed run without warm-up
    /// `host.pages_written = pages_coalesced + pages_trimmed + pages_evicted`.
    pub struct WriteBuffer;
    /// Pages of writes in the write buffer. Without pages of writes before the measurement
    /// `host.pages_written = coalesced + trimmed + evicted + those still there`.
    counters BufferCounts in buffer {}
    sums {
        /// Pages that a newer write replaced before they were evicted.
        coalesced: u64,
        /// Pages that a TRIM dropped before they were evicted.
        trimmed: u64,
        /// Pages sent to flash.
        evicted: u64,
        /// Pages that waited for room.
        waited: u64,
    }
    values(inputs) {
        let pages = &inputs.measured.buffer;
    } {
        /// Pages of reads answered by it; pages buffered in part are read from flash (cause `rmw`).
        pages_read: u64 = inputs.measured.host.controller_pages_read,
        /// Pages of writes that newer writes replaced before eviction.
        pages_coalesced: u64 = pages.coalesced,
        /// Pages of writes that a TRIM dropped before eviction.
        pages_trimmed: u64 = pages.trimmed,
        /// Pages of writes sent to flash.
        pages_evicted: u64 = pages.evicted,
        /// Pages of writes that waited for room.
        pages_waited: u64 = pages.waited,
        /// Pages left in it or on their way to flash at the end: 0 in a completed run.
        pages_left: u64 = inputs.device.buffered_pages.unwrap_or(0),
    }
}

section! {
    /// Pages between the flash controllers and the host side of the controller.
    pub struct Controller;
    /// Pages between the flash controllers and the host side of the controller.
    counters ControllerCounts in controller {}
    sums {
        /// Traversals of copies, counted when their operation starts; the others follow from the flash
        /// operations.
        traversals: [u64; CAUSES],
        /// Time that pages waited in slices for one another.
        wait_ns: u64,
        /// Copies programmed from the buffer of the flash controller that had read the page.
        from_buffer: u64,
        /// Copied pages in which the ECC engine found an error.
        in_error: u64,
    }
    values(inputs) {
        let counts = &inputs.measured.controller;
        let mut traversals = counts.traversals;
        if inputs.device.host_crosses == Some(true) {
            let flash = &inputs.measured.flash;
            // Copies cross as their path says, and metadata come from the flash controllers.
            let counted = [Cause::Gc, Cause::Wear, Cause::Fold, Cause::Metadata];
            for cause in Cause::ALL.into_iter().filter(|cause| !counted.contains(cause)) {
                traversals[cause.at()] = flash.reads[cause.at()] + flash.programs[cause.at()];
            }
        }
    } {
        /// Traversals of the interconnect, by the cause of their operation.
        traversals: BTreeMap<Cause, u64> = traversals.reported(),
        /// Mean time a traversal waited for others in the slices, ns; `null` without traversals.
        traversal_wait_mean: Option<f64> [Duration] =
            ratio(counts.wait_ns, traversals.iter().sum()),
        /// Copies programmed from the buffer of the flash controller that read the page.
        pages_from_buffer: u64 = counts.from_buffer,
        /// Pages read by GC in which the ECC engine found an error.
        pages_in_error: u64 = counts.in_error,
    }
}
