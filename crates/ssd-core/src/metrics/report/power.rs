//! Power cuts and recoveries.

use crate::metrics::declare::section;
use crate::metrics::inputs::Inputs;

section! {
    /// One recovery from a power cut.
    pub struct Recovery;
    fields {
        /// When power was cut, ns.
        cut_at: u64,
        /// Power was cut again before it ended.
        interrupted: bool,
        /// Time until the device accepted requests, ns.
        time: u64,
        /// Requests that were in the device and had not completed.
        requests: u64,
        /// Pages whose out-of-band data were read.
        reads: u64,
        /// Pages of a checkpoint that were read.
        checkpoint_pages: u64,
        /// Records read from the NVRAM.
        records: u64,
        /// Flash blocks erased: their erase had been interrupted, or their pool had no other erased block.
        erases: u64,
        /// Torn pages: their programs had not ended.
        torn_pages: u64,
        /// Erased pages of open blocks, which are not used before the next erase of their block.
        skipped_pages: u64,
        /// Pages of the write buffer that capacitors have saved.
        saved_pages: u64,
        /// Logical pages with data, parity and pages lost with a chip included.
        mapped_pages: u64,
        /// Updates of parity groups that had been programmed in part, and do not count.
        #[serde(default)]
        updates_undone: u64,
        /// Pages of the checkpoint with which it ended, on a device with parity groups.
        #[serde(default)]
        checkpoint_programs: u64,
    }
}

impl Eq for Recovery {}

section! {
    /// Power cuts and what the device does to survive them.
    pub struct Power;
    /// What the device does to survive power cuts.
    counters PowerCounts in power {
        /// Power cuts.
        cuts: u64,
        /// Requests that were in the device at a cut and were submitted again.
        requests_repeated: u64,
        /// Pages that these read and write; `host` counts the pages of a request once.
        pages_repeated: u64,
        /// TRIM records written.
        trim_records: u64,
        /// Records of owners written: of pages whose data a copy shares, or that collection has moved.
        owner_records: u64,
        /// TRIMs that waited for room in the NVRAM.
        trims_waited: u64,
        /// Erases that waited for records.
        erases_waited: u64,
        /// Checkpoints completed.
        checkpoints: u64,
        /// Pages that collection or wear levelling had read, and not programmed, at a cut.
        copies_lost: u64,
    }
    sums {
        /// Most bytes of the NVRAM used.
        nvram_peak: u64,
    }
    values(inputs) {
        let power = &inputs.measured.power;
        let records = inputs.device.records.unwrap_or_default();
    } {
        /// Most bytes of the NVRAM used at a time, since the start of the run.
        nvram_peak: u64 = power.nvram_peak,
        /// Records at the end of the run that a mount needs: of TRIMs of which a page has no newer data on flash, of
        /// owners that still have their data there. Those that wait for room in the NVRAM count, too.
        live_records: u64 = records.live,
        /// Their bytes.
        live_record_bytes: u64 = records.live_bytes,
        /// Records at the end of the run that newer data, TRIMs or moves of the page have made unnecessary.
        stale_records: u64 = records.stale,
        /// Their bytes.
        stale_record_bytes: u64 = records.stale_bytes,
        /// Every recovery, in order.
        recoveries: Vec<Recovery> = inputs.measured.recoveries.clone(),
    }
}
