//! What the report is computed from.

use super::Measurements;
use super::report::{Provenance, ReclaimUnits, TraceLines};
use crate::units::Nanos;
use std::collections::BTreeMap;

/// Who decides when requests arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrivals {
    /// The table `[workload]`: open loop.
    Workload,
    /// The table `[workload]`, when others have completed: closed loop.
    Completions,
    /// A program that drives the device. There is no `[workload]`.
    Program,
}

/// All that a report is made of.
#[derive(Clone, Debug)]
pub struct Inputs<'a> {
    /// What the run was made with.
    pub provenance: Provenance,
    /// The resolved configuration, as JSON.
    pub config: serde_json::Value,
    /// What was measured.
    pub measured: &'a Measurements,
    /// The device at the end.
    pub device: DeviceState<'a>,
    /// Name of the configured victim policy.
    pub victim_policy: &'a str,
    /// Who decides when requests arrive.
    pub arrivals: Arrivals,
    /// Every request was completed.
    pub completed: bool,
    /// No flash operation is queued or running.
    pub at_rest: bool,
    /// Simulated time at the end.
    pub ended: Nanos,
    /// Wall-clock time, nanoseconds.
    pub wall_ns: Option<u64>,
    /// Processor time, nanoseconds.
    pub cpu_ns: Option<u64>,
    /// Memory of the device model, bytes.
    pub memory_bytes: Option<u64>,
    /// Names of the files with series and logs, by what they hold.
    pub series: BTreeMap<String, String>,
    /// Lines of the trace; `None` for a synthetic workload.
    pub trace_lines: Option<TraceLines>,
    /// Warnings of others (trace, configuration): they come first.
    pub warnings: Vec<String>,
}

/// Records in the NVRAM and those that wait for room there. A record is *live* while a mount needs it: one of a TRIM
/// while one of its pages has no newer data on flash, one of an owner while it names the page of the newest data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RecordCounts {
    /// Live ones.
    pub live: u64,
    /// Their bytes.
    pub live_bytes: u64,
    /// The others.
    pub stale: u64,
    /// Their bytes.
    pub stale_bytes: u64,
}

/// Power of flash, buses and drive, microwatts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PowerDraw {
    /// A plane that reads.
    pub read_uw: u64,
    /// A plane that programs.
    pub program_uw: u64,
    /// A plane that erases.
    pub erase_uw: u64,
    /// A channel on which a page crosses.
    pub bus_uw: u64,
    /// The drive at all times.
    pub idle_uw: u64,
}

/// Classes of pages at the end of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SeparationState {
    /// Classes.
    pub classes: u64,
    /// Classes that the host alone fills.
    pub host_classes: u64,
    /// Copies that went to another class.
    pub diverted_copies: u64,
    /// Pages of open blocks that are not written.
    pub open_pages: u64,
}

/// The reclaim units of a device with handles, within the measurement.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ReclaimState {
    /// By handle.
    pub handles: Vec<ReclaimUnits>,
    /// Of units that hold data of several handles.
    pub shared: ReclaimUnits,
    /// Copies that went to units of another handle.
    pub diverted_copies: u64,
}

/// The device at the end of the run.
#[derive(Clone, Copy, Debug)]
pub struct DeviceState<'a> {
    /// Bytes in a page.
    pub page_bytes: u64,
    /// Bytes in a flash block.
    pub flash_block_bytes: u64,
    /// Pages the host can address.
    pub user_pages: u64,
    /// Groups of pages with a parity; `None` without parity.
    pub parity_groups: Option<u64>,
    /// Valid pages by their number of owners, from 1 on; `None` where no page is shared.
    pub pages_by_owners: Option<&'a [u64]>,
    /// Bytes held for owners beyond the first.
    pub extra_owner_bytes: u64,
    /// Records that survive a power cut; `None` if power is never cut.
    pub records: Option<RecordCounts>,
    /// SLC blocks that are not erased; `None` on a device without any.
    pub slc_blocks: Option<u64>,
    /// Zones; `None` where the interface is another.
    pub zones: Option<u64>,
    /// Classes of pages; `None` where no policy separates them.
    pub separation: Option<SeparationState>,
    /// Reclaim units by handle; `None` without handles.
    pub reclaim: Option<&'a ReclaimState>,
    /// Power; `None` where none is given.
    pub power: Option<PowerDraw>,
    /// Pages there are.
    pub physical_pages: u64,
    /// Pages that are not erased.
    pub used_pages: u64,
    /// Pages that hold current data.
    pub valid_pages: u64,
    /// Erased blocks.
    pub free_blocks: u64,
    /// The fewest erased blocks there were within the measurement.
    pub lowest_free_blocks: u64,
    /// Pages written before the measurement: preconditioning and warm-up.
    pub pages_before: u64,
    /// Pages in the write buffer; `None` without one.
    pub buffered_pages: Option<u64>,
    /// Whether host pages cross an interconnect; `None` if the path of pages has no special features.
    pub host_crosses: Option<bool>,
    /// Erases of every block within the measurement.
    pub erases: &'a [u32],
    /// Erases since the device was new of every block that was good then.
    pub life_erases: &'a [u32],
    /// Blocks that were bad from the start.
    pub factory_bad_blocks: u64,
    /// Blocks that have reached their endurance.
    pub worn_out_blocks: u64,
    /// Erases a block survives; 0: any number.
    pub endurance: u32,
    /// How often what was measured can be repeated before the first block is worn out, and before a pool has lost
    /// its spare; `None`: blocks do not wear out.
    pub ends_of_life: Option<(f64, f64)>,
    /// Bytes that the host writes in a day, if not as measured.
    pub daily_writes: Option<u64>,
    /// Years for which writes a day are told.
    pub warranty_years: f64,
    /// Bytes that the host has written to the flash since the device was new.
    pub host_bytes_written: u64,
    /// Time each channel was busy within the measurement, nanoseconds.
    pub channel_busy_ns: &'a [u64],
    /// Time each chip was busy within the measurement, nanoseconds.
    pub chip_busy_ns: &'a [u64],
}

impl Inputs<'_> {
    /// Whether blocks wear out, and all erases wear them alike.
    pub(super) fn wears_evenly(&self) -> bool {
        self.device.endurance > 0 && self.device.slc_blocks.is_none()
    }

    /// Length of the measurement.
    pub(super) fn span_ns(&self) -> u64 {
        (self.ended - self.measured.since).0
    }
}
