//! The reclaim units of one handle.

use crate::metrics::declare::section;

section! {
    /// What happened to reclaim units within the measurement.
    pub struct ReclaimUnits;
    fields {
        /// Bytes that the host has written to them.
        host_bytes: u64 [Size],
        /// Bytes that have been copied to them.
        copied_bytes: u64 [Size],
        /// Units opened: the handle refers to a new one (NVMe's event "implicitly modified reclaim unit handle").
        opened: u64,
        /// Units of which collection has begun (NVMe's event "media reallocated").
        collected: u64,
        /// Bytes copied out of them.
        moved_bytes: u64 [Size],
    }
}
