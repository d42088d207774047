//! Reclaim units by handle, and the totals of the device.

use super::ReclaimUnits;
use crate::metrics::declare::section;
use crate::metrics::inputs::Inputs;

section! {
    /// Reclaim unit handles, with NVMe's statistics of Flexible Data Placement.
    pub struct Fdp;
    values(inputs) {
        let state = inputs.device.reclaim.cloned().unwrap_or_default();
        let page = inputs.device.page_bytes;
        let rows = || state.handles.iter().chain([&state.shared]);
        let flash = &inputs.measured.flash;
    } {
        /// Bytes that the host has written (NVMe's HBMW), those of copies that it has asked for included.
        host_bytes_written: u64 [Size] = rows().map(|row| row.host_bytes).sum(),
        /// Bytes written to flash (NVMe's MBMW): by the host, by collection and by static wear levelling.
        media_bytes_written: u64 [Size] = flash.all_programs() * page,
        /// Bytes erased (NVMe's MBE).
        media_bytes_erased: u64 [Size] = flash.all_erases() * inputs.device.flash_block_bytes,
        /// Reclaim units opened for any handle, or for copies.
        units_opened: u64 = rows().map(|row| row.opened).sum(),
        /// Reclaim units of which collection, or wear levelling, has begun.
        units_collected: u64 = rows().map(|row| row.collected).sum(),
        /// Copies in units of another persistently isolated handle. Only units that static wear levelling has filled,
        /// and pools whose blocks wear out, can need that.
        diverted_copies: u64 = state.diverted_copies,
        /// By handle, from 0 on.
        handles: Vec<ReclaimUnits> = state.handles.clone(),
        /// Of units that hold data of several handles: the copies of handles that are initially isolated, and those
        /// of static wear levelling.
        shared: ReclaimUnits = state.shared.clone(),
    }
}
