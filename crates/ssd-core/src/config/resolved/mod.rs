//! The resolved configuration: plain data, every value in base units. `words` has the keys that are one of a
//! few words, `default` the defaults, `derived` the values that two keys set in different ways, `shape` the
//! counts that follow from all.

mod default;
mod derived;
mod shape;
mod words;

pub(crate) use default::MODEL_INTERVAL_NS;
pub(crate) use derived::{BUS_RATE, Capacity, OVER_PROVISIONING, Transfer};
pub use words::*;

use crate::plug::PolicySpec;
use serde::{Deserialize, Serialize};

/// A complete, checked description of one run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Config {
    /// Name of the preset it started from, if any.
    pub preset: Option<String>,
    /// The run as a whole.
    pub run: Run,
    /// Geometry and capacity.
    pub device: DeviceConfig,
    /// Flash and bus times.
    pub timing: Timing,
    /// The network between the flash controllers and the host side of the controller.
    pub interconnect: Interconnect,
    /// How the driver feeds the device.
    pub host: Host,
    /// Where writes go.
    pub alloc: Alloc,
    /// Order of operations on a busy unit.
    pub sched: Sched,
    /// Controller.
    pub controller: Controller,
    /// Garbage collection: the seven questions.
    pub gc: Gc,
    /// Wear levelling, endurance and bad blocks.
    pub wear: Wear,
    /// State of the device before the workload.
    pub precondition: Precondition,
    /// The requests.
    pub workload: Workload,
    /// What is measured and logged.
    pub metrics: Metrics,
}

impl Config {
    /// Notes to print before a run begins.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        crate::ftl::gc::endless::of(self).map(|found| found.warning()).into_iter().collect()
    }

    /// Seed of the synthetic requests: `workload.seed`, or that of the run.
    #[must_use]
    pub fn workload_seed(&self) -> u64 {
        self.workload.seed.unwrap_or(self.run.seed)
    }
}

/// `[run]`
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Run {
    /// Seed of every random stream.
    pub seed: u64,
    /// With or without timing.
    pub mode: Mode,
    /// What pages contain.
    pub data: DataMode,
    /// Name of the run, used for its folder.
    pub name: String,
}

/// `[device]`
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DeviceConfig {
    /// Channels, at least 1.
    pub channels: u32,
    /// Chips (dies) on each channel, at least 1.
    pub chips_per_channel: u32,
    /// Planes in each chip, at least 1.
    pub planes_per_chip: u32,
    /// Blocks in each plane, at least 4.
    pub blocks_per_plane: u32,
    /// Pages in each block, 1 to 4096.
    pub pages_per_block: u32,
    /// Bytes in a page: 2 to 64 KiB, a power of two.
    pub page_bytes: u32,
    /// User pages, as resolved from `over_provisioning = (physical - user) / user` or from
    /// `user_capacity`.
    pub user_pages: u32,
}

/// `[timing]`, all times in nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Timing {
    /// Which of the two models.
    pub model: TimingModel,
    /// What one operation occupies.
    pub busy_unit: BusyUnit,
    /// Array read (tR).
    pub read_ns: u64,
    /// Array program (tPROG).
    pub program_ns: u64,
    /// Block erase (tBERS).
    pub erase_ns: u64,
    /// Transfer of one page over the bus or interconnect.
    pub transfer_ns: u64,
    /// Command and address cycles on the bus, before each operation (pipelined model).
    pub command_ns: u64,
    /// One page into or out of the controller's SRAM.
    pub sram_ns: u64,
    /// Program one page on every plane of a chip at once (pipelined model, `busy_unit = "chip"`).
    pub multi_plane: bool,
}

/// `[interconnect]`
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Interconnect {
    /// How long a page takes to cross it.
    pub model: InterconnectModel,
    /// Bits that move from slice to slice at once, at least 1.
    pub flit_bits: u32,
    /// From one slice to the next, nanoseconds, at least 1.
    pub slice_ns: u64,
    /// Slices side by side, at least 1 (`slices`).
    pub columns: u32,
    /// Slices between the flash controllers and the host side, at least 1 (`slices`).
    pub rows: u32,
    /// Slices that a page passes on average, at least 1 (`formula`).
    pub mean_path: f64,
    /// A traversal takes the nearest multiple of it, nanoseconds, at least 1 (`formula`).
    pub rounding_ns: u64,
}

/// `[host]`
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Host {
    /// Open loop (at the trace's times) or closed loop (a fixed number outstanding).
    pub mode: HostMode,
    /// Requests outstanding in the closed loop, at least 1.
    pub queue_depth: u32,
    /// Pause between a completion and the next submission of its slot (closed loop).
    pub think_time_ns: u64,
    /// Requests between two pauses, at least 1; above 1, a pause begins when all have completed.
    pub think_every: u32,
    /// Time from which on no request is submitted (closed loop), counted from the first one; 0: none.
    pub stop_after_ns: u64,
    /// Largest number of outstanding requests in the open loop; 0: unlimited. Later requests wait in the
    /// host, and their latency counts from the intended arrival.
    pub max_outstanding: u32,
    /// Rate of the link, bytes a second; `None`: data take no time to cross it.
    pub link_bytes_per_s: Option<u64>,
    /// Whether the two directions of the link share its rate.
    pub link_duplex: LinkDuplex,
    /// Pages of the write buffer; 0: none.
    pub write_buffer_pages: u32,
    /// Share of the write buffer that may keep pages for later writes to merge with, 0 to 1.
    pub write_buffer_threshold: f64,
}

/// `[alloc]`
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Alloc {
    /// Which plane an admitted write goes to.
    pub placement: PolicySpec,
    /// Open blocks per plane.
    pub frontiers: Frontiers,
    /// Which planes share free blocks and are collected together.
    pub pool: PoolScope,
    /// What is erased together.
    pub erase_unit: EraseUnit,
}

/// `[sched]`
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sched {
    /// Order over the four queues of a busy unit.
    pub order: PolicySpec,
}

/// `[controller]`
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Controller {
    /// ECC decoding of a GC page between its read and its program.
    pub ecc_ns: u64,
    /// ECC decoding of a page read for the host.
    pub host_ecc_ns: u64,
    /// Probability that a read of a page has to be retried, in a block without erases, 0 to 1.
    pub retry_probability: f64,
    /// Growth of that probability with every erase of the block, 0 to 1.
    pub retry_growth: f64,
    /// Most retries of one read, at least 1.
    pub retry_limit: u32,
    /// Array time of a retry over that of a read.
    pub retry_factor: f64,
    /// Page slots of each flash controller for GC pages; `None`: any number.
    pub buffers: Option<u32>,
    /// Probability that the ECC engine finds an error in a GC page, 0 to 1.
    pub page_error_probability: f64,
    /// Traversals of the interconnect by a page of the host, 0 or 1.
    pub traversals_host: u32,
}

/// `[gc]`: the seven questions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Gc {
    /// Erased blocks of a pool at which its collection is promoted to foreground, at least 1.
    pub reserve: u32,
    /// When: all of them must hold.
    pub trigger: Vec<PolicySpec>,
    /// Which block.
    pub victim: PolicySpec,
    /// How many blocks once triggered.
    pub amount: Amount,
    /// How many pools at once.
    pub concurrency: PolicySpec,
    /// Over which path pages move.
    pub path: GcPath,
    /// What is closed to the host meanwhile.
    pub blocking: Blocking,
    /// Page moves of one job in flight, at least 1.
    pub window: u32,
}

/// `gc.blocking`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Blocking {
    /// What is closed to host operations.
    pub scope: BlockingScope,
    /// For how long.
    pub granularity: Granularity,
}

/// `[wear]`
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Wear {
    /// Dynamic wear levelling: the erased block with the fewest erases is opened next (else the one
    /// erased first).
    pub dynamic: bool,
    /// Static wear levelling: cold data of a block move when an erased block of its pool has more erases than
    /// that block, by more than this number; 0: never.
    pub static_threshold: u32,
    /// Erases a block survives; 0: any number.
    pub endurance: u32,
    /// Blocks survive from `1 - endurance_spread` to `1 + endurance_spread` times `endurance`, 0 to 1.
    pub endurance_spread: f64,
    /// Share of the blocks that are bad from the start, 0 to 1.
    pub factory_bad_blocks: f64,
}

/// `[precondition]`, in functional mode before the clock starts.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Precondition {
    /// Share of the user pages written once, 0 to 1.
    pub fill: f64,
    /// Order of the fill.
    pub order: FillOrder,
    /// Uniformly random overwrites of the filled pages, in multiples of their number.
    pub overwrite: f64,
    /// Build the steady state directly.
    pub steady_state: SteadyStart,
    /// Path of the snapshot to start from, instead of all of the above.
    pub snapshot: Option<String>,
}

/// `[workload]`
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Workload {
    /// A trace, or one of the synthetic kinds.
    pub kind: WorkloadKind,
    /// Path of the trace (`kind = "trace"`); "-" reads standard input.
    pub trace: Option<String>,
    /// Format of the trace; `auto` detects it from the first lines.
    pub format: TraceFormat,
    /// The one volume of the trace that is used, by its number there; `None`: the only one.
    pub volume: Option<u64>,
    /// Which action of block-event text is used: "Q", "D" or "C".
    pub action: char,
    /// First time of the trace that is used, nanoseconds.
    pub from_ns: u64,
    /// First time of the trace that is no longer used, nanoseconds; `None`: the end.
    pub until_ns: Option<u64>,
    /// How the trace's addresses are fitted to the device.
    pub fit: Fit,
    /// Times the trace is run, at least 1.
    pub loops: u32,
    /// All arrival times are multiplied by this.
    pub time_scale: f64,
    /// Unit of the addresses and lengths of the trace.
    #[serde(default = "default::unit", skip_serializing_if = "default::is_unit")]
    pub unit: TraceUnit,
    /// Bytes of a page of the trace (`unit = "pages"`), a multiple of 512.
    #[serde(default = "default::unit_page", skip_serializing_if = "default::is_unit_page")]
    pub page_bytes: u32,
    /// The requests of the trace are sorted by time instead of expected in order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sort: bool,
    /// Lines that cannot be parsed are counted and skipped instead of ending the run.
    pub skip_bad: bool,
    /// Share of the lines that `skip_bad` may skip, 0 to 1.
    #[serde(default = "default::max_bad", skip_serializing_if = "default::is_max_bad")]
    pub max_bad: f64,
    /// Records that repeat an identical one less than 1 ms earlier are dropped.
    pub dedup: bool,
    /// Published statistics that an application matches.
    pub set: ParameterSet,
    /// Path of a trace whose statistics an application matches, instead of `set`.
    pub like: Option<String>,
    /// Folder of the original MSR Cambridge files, which replace the synthetic volumes.
    pub msr: Option<String>,
    /// Path of a job file of fio (`kind = "fio"`).
    pub job: Option<String>,
    /// Requests of a synthetic workload.
    pub requests: u64,
    /// Seed of the synthetic requests, if it is not that of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Request sizes in bytes with their weights.
    pub sizes: Vec<SizeShare>,
    /// Share of reads, 0 to 1.
    pub read: f64,
    /// Share of TRIMs, 0 to 1.
    pub trim: f64,
    /// Skew of `zipf`: P(rank k) is proportional to `k^-theta`, theta >= 0.
    pub theta: f64,
    /// Share of the space that is hot (`hot-cold`).
    pub hot_space: f64,
    /// Share of the requests that go to the hot space (`hot-cold`).
    pub hot_access: f64,
    /// Share of the device's user space that a synthetic workload addresses, from its start.
    pub span: f64,
    /// Arrivals of a synthetic workload in the open loop.
    pub arrival: Arrival,
    /// Number of initial requests that are simulated but left out of all statistics.
    pub warmup_requests: u64,
}

/// One request size.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct SizeShare {
    /// Bytes, a multiple of 512.
    pub bytes: u32,
    /// Weight, above 0.
    pub weight: f64,
}

/// `workload.arrival`
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Arrival {
    /// Which process.
    pub kind: ArrivalKind,
    /// Mean time between arrivals, nanoseconds (within a burst for `bursty`).
    pub interval_ns: u64,
    /// Requests in a burst (`bursty`), at least 1.
    pub burst: u32,
    /// Pause between bursts, nanoseconds (`bursty`).
    pub pause_ns: u64,
}

/// `[metrics]`
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Metrics {
    /// Sample period of the time series, simulated nanoseconds; 0: none.
    pub interval_ns: u64,
    /// Write `ops.csv.zst`.
    pub op_log: bool,
    /// Write `requests.csv.zst`.
    pub request_log: bool,
}
