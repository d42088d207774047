//! The structure of `report.json`. Field names are a contract: fields may be added, never renamed.
//!
//! Integers are bytes, pages, blocks or nanoseconds; means and ratios are floating point; unknown
//! values are `null`, never a guess. Only `time.wall`, `time.cpu` and `speed` differ between
//! two runs of the same configuration: [`Report::without_clock`] leaves them out.

use super::counters::Cause;
use super::steady::SteadyState;
use super::verdict::Verdict;
use super::warmup::Warmup;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the form; it changes when a name changes its meaning.
pub const VERSION: u32 = 1;

/// The results of one run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Report {
    /// [`VERSION`].
    pub version: u32,
    /// What it was made with.
    pub provenance: Provenance,
    /// The resolved configuration.
    pub config: serde_json::Value,
    /// Every request submitted was completed.
    pub completed: bool,
    /// Requests.
    pub requests: Requests,
    /// Lines of the trace; `null` for a synthetic workload.
    #[serde(default)]
    pub trace_lines: Option<TraceLines>,
    /// Host pages.
    pub host: Host,
    /// The write buffer; `null` without one.
    #[serde(default)]
    pub write_buffer: Option<WriteBuffer>,
    /// The path between flash controllers and host side; `null` if it has no special features.
    #[serde(default)]
    pub controller: Option<Controller>,
    /// Latencies.
    pub latency: Latency,
    /// Flash operations.
    pub flash: Flash,
    /// Write amplification.
    pub waf: Waf,
    /// Garbage collection.
    pub gc: Gc,
    /// Whether the victim policy is what the run measures.
    #[serde(default)]
    pub verdict: Verdict,
    /// Wear levelling and lifetime.
    #[serde(default)]
    pub wear: Wear,
    /// Where the time of requests went.
    pub latency_parts: LatencyParts,
    /// The device at the end.
    pub device: Device,
    /// Whether write amplification has settled.
    pub steady_state: SteadyState,
    /// Whether the measurement starts with a transient.
    #[serde(default)]
    pub warmup: Warmup,
    /// Little's law.
    pub little: Little,
    /// Time.
    pub time: Time,
    /// Speed of the simulator.
    pub speed: Speed,
    /// Names of the files with series and logs, by what they hold.
    pub series: BTreeMap<String, String>,
    /// What a reader should know before using the numbers.
    pub warnings: Vec<String>,
}

/// What a run was made with: enough to repeat it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Provenance {
    /// Version of ssdlab.
    pub ssdlab: String,
    /// Commit it was built from, where known.
    pub commit: Option<String>,
    /// Seed of every random stream.
    pub seed: u64,
    /// Digest of the resolved configuration.
    pub config_digest: String,
    /// Digest of the trace; `null` for a synthetic workload.
    pub trace_digest: Option<String>,
    /// Digest of the snapshot that the run started from; `null` where it was preconditioned.
    #[serde(default)]
    pub snapshot_digest: Option<String>,
    /// Digest of all events of the run in order; `null` in functional mode.
    pub event_digest: Option<String>,
    /// External policies (Python) by the key that they replace; only their author can
    /// repeat the run.
    #[serde(default)]
    pub external_policies: BTreeMap<String, String>,
}

/// Requests, by what became of them and by operation.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Requests {
    /// First requests that were simulated and left out of all statistics.
    pub warmup: u64,
    /// Submitted.
    pub submitted: u64,
    /// Completed: the sum of the four below.
    pub completed: u64,
    /// Reads completed.
    pub read: u64,
    /// Writes completed.
    pub write: u64,
    /// TRIMs completed.
    pub trim: u64,
    /// Flushes completed.
    pub flush: u64,
}

/// What became of the lines of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TraceLines {
    /// Lines of the file; records of a binary one.
    pub lines: u64,
    /// Lines that could not be used and were skipped (`workload.skip_bad`).
    pub skipped: u64,
    /// Requests that are earlier than one above them: sorted, or among the lines skipped.
    pub late: u64,
    /// Whether the requests were sorted by time (`workload.sort`).
    pub sorted: bool,
    /// A message to show before all results: more than 1 % of the lines were skipped.
    pub loss: Option<String>,
}

/// Host pages.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Host {
    /// Read, however they were answered.
    pub pages_read: u64,
    /// Written; a page written in part counts as one.
    pub pages_written: u64,
    /// Unmapped by TRIM.
    pub pages_trimmed: u64,
    /// Of the pages read, those that held nothing.
    pub unmapped_pages_read: u64,
    /// Of the pages read, those still in the controller.
    pub controller_pages_read: u64,
    /// Pages written in part.
    pub rmw: u64,
    /// Bytes read a second of simulated time, in whole pages.
    pub read_bytes_per_s: Option<f64>,
    /// Bytes written a second of simulated time, in whole pages.
    pub write_bytes_per_s: Option<f64>,
}

/// Latencies by operation.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct LatencyByOp {
    /// Reads.
    pub read: LatencyStats,
    /// Writes.
    pub write: LatencyStats,
    /// TRIMs.
    pub trim: LatencyStats,
    /// Flushes.
    pub flush: LatencyStats,
}

/// Latencies by operation and, if distinguished, by volume and stream.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Latency {
    /// Reads.
    pub read: LatencyStats,
    /// Writes.
    pub write: LatencyStats,
    /// TRIMs.
    pub trim: LatencyStats,
    /// Flushes.
    pub flush: LatencyStats,
    /// By volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_volume: Option<BTreeMap<u16, LatencyByOp>>,
    /// By stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_stream: Option<BTreeMap<u8, LatencyByOp>>,
}

/// Statistics of one group of latencies, nanoseconds.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct LatencyStats {
    /// Requests.
    pub count: u64,
    /// Mean, exact.
    pub mean: Option<f64>,
    /// Half width of the 95 % confidence interval of the mean, by batch means.
    pub ci95: Option<f64>,
    /// Smallest, exact.
    pub min: Option<u64>,
    /// Largest, exact.
    pub max: Option<u64>,
    /// Standard deviation, exact (of the population).
    pub stddev: Option<f64>,
    /// Median; like all percentiles within 0.4 %, and `null` with fewer than 10 values beyond it.
    pub p50: Option<u64>,
    /// 90 % lie at or below.
    pub p90: Option<u64>,
    /// 95 % lie at or below.
    pub p95: Option<u64>,
    /// 99 % lie at or below.
    pub p99: Option<u64>,
    /// 99.9 % lie at or below.
    pub p99_9: Option<u64>,
    /// 99.99 % lie at or below.
    pub p99_99: Option<u64>,
}

impl LatencyStats {
    /// Names and quantiles of the percentiles, in the order of [`LatencyStats::percentiles`].
    pub const PERCENTILES: [(&'static str, f64); 6] = [
        ("p50", 0.5),
        ("p90", 0.9),
        ("p95", 0.95),
        ("p99", 0.99),
        ("p99.9", 0.999),
        ("p99.99", 0.9999),
    ];
    /// The percentiles, ascending.
    #[must_use]
    pub const fn percentiles(&self) -> [Option<u64>; 6] {
        [self.p50, self.p90, self.p95, self.p99, self.p99_9, self.p99_99]
    }
}

/// Flash operations.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Flash {
    /// Pages read, by cause.
    pub reads: BTreeMap<Cause, u64>,
    /// Pages programmed, by cause.
    pub programs: BTreeMap<Cause, u64>,
    /// Blocks erased.
    pub erases: u64,
    /// Blocks erased, by cause.
    pub erases_by_cause: BTreeMap<Cause, u64>,
    /// Retries of reads, by the cause of the read.
    #[serde(default)]
    pub retries: BTreeMap<Cause, u64>,
}

/// The write buffer: what became of the pages of writes. Of a completed run without warm-up
/// `host.pages_written = pages_coalesced + pages_trimmed + pages_evicted`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct WriteBuffer {
    /// Pages of reads that it answered; those it holds in part are read from flash (cause `rmw`).
    pub pages_read: u64,
    /// Pages of writes that newer ones replaced before they were evicted.
    pub pages_coalesced: u64,
    /// Pages of writes that a TRIM dropped before they were evicted.
    pub pages_trimmed: u64,
    /// Pages of writes sent to flash.
    pub pages_evicted: u64,
    /// Pages of writes that waited for room.
    pub pages_waited: u64,
    /// Pages in it at the end, on their way to flash or not: 0 unless the run did not complete.
    pub pages_left: u64,
}

/// Pages between the flash controllers and the host side of the controller.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Controller {
    /// Traversals of the interconnect, by the cause of the operation they belong to.
    pub traversals: BTreeMap<Cause, u64>,
    /// What a traversal waited for others in the slices, mean nanoseconds; `null` without traversals.
    pub traversal_wait_mean: Option<f64>,
    /// Copies programmed from the buffer of the flash controller that had read the page: they cross once.
    pub pages_from_buffer: u64,
    /// Pages read to be moved in which the ECC engine found an error.
    pub pages_in_error: u64,
}

/// Write amplification: pages programmed over pages written by the host; `null` without host
/// writes.
///
/// The parts sum to the total. `host` is 1, unless the run ended with writes in flight or a buffer
/// absorbed overwrites.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Waf {
    /// All causes together.
    pub total: Option<f64>,
    /// By cause.
    #[serde(flatten)]
    pub by_cause: BTreeMap<Cause, Option<f64>>,
}

/// Garbage collection. A call is the collection of one victim.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Gc {
    /// Victims whose collection has started.
    pub calls: u64,
    /// Of these, because a pool had fallen to its reserve.
    pub foreground: u64,
    /// Of these, because the trigger held.
    pub background: u64,
    /// Times the trigger held and the concurrency rule refused.
    pub deferred: u64,
    /// Times a pool's collection was promoted to foreground.
    pub reserve_promotions: u64,
    /// Copies to which the map switched.
    pub pages_moved: u64,
    /// Pages read, and overwritten or trimmed before their copy was programmed.
    pub pages_dropped: u64,
    /// Programmed copies of pages that no longer had an owner.
    pub pages_stale: u64,
    /// Pages read and, at the end of the run, neither programmed nor dropped yet.
    pub pages_in_flight: u64,
    /// Invalid pages over all pages of the victims when they were chosen.
    pub mean_victim_invalid_ratio: Option<f64>,
    /// Victims by who chose them: the configured policy, or `reserve-greedy` in foreground.
    pub victims_by_policy: BTreeMap<String, u64>,
    /// Mean time from the choice of a victim to the end of its erase, nanoseconds.
    pub job_time_mean: Option<f64>,
    /// The longest of these.
    pub job_time_max: Option<u64>,
}

/// Static wear levelling within the measurement, and what the device has lived through since it was
/// new (preconditioning and warm-up included).
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Wear {
    /// Cold blocks whose collection has started.
    pub calls: u64,
    /// Copies to which the map switched.
    pub pages_moved: u64,
    /// Pages read, and overwritten or trimmed before their copy was programmed.
    pub pages_dropped: u64,
    /// Programmed copies of pages that no longer had an owner.
    pub pages_stale: u64,
    /// Pages read and, at the end of the run, neither programmed nor dropped yet.
    pub pages_in_flight: u64,
    /// Blocks (erase units) that were bad from the start.
    pub factory_bad_blocks: u64,
    /// Blocks that have reached their endurance.
    pub worn_out_blocks: u64,
    /// Fewest erases of a block; like the three below without those bad from the start.
    pub erase_min: u64,
    /// Most erases of a block.
    pub erase_max: u64,
    /// Mean erases of a block.
    pub erase_mean: f64,
    /// Standard deviation of the erases.
    pub erase_stddev: f64,
    /// Bytes that the host has written to the flash, in whole pages: the TBW of a device that is worn
    /// out at the end of the run.
    pub host_bytes_written: u64,
    /// Bytes that the host could write in all if every block were erased as often as its endurance
    /// allows, at the write amplification of the measurement; `null` without an endurance.
    pub host_bytes_at_even_wear: Option<f64>,
}

/// Name under which greedy victims of the reserve are counted.
pub const RESERVE_GREEDY: &str = "reserve-greedy";

/// Where the time went.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct LatencyParts {
    /// Of reads; `null` without them.
    pub read: Option<PartMeans>,
    /// Of writes; `null` without them.
    pub write: Option<PartMeans>,
}

/// Means over requests, nanoseconds; they sum to the mean latency.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct PartMeans {
    /// Waiting for other host operations.
    pub queue: f64,
    /// In the flash array.
    pub chip: f64,
    /// On buses, links and in SRAM.
    pub transfer: f64,
    /// Waiting for garbage collection.
    pub gc_wait: f64,
    /// Fetching the device's own metadata.
    pub metadata: f64,
}

impl PartMeans {
    /// Names and values, in the order of the contract.
    #[must_use]
    pub const fn named(&self) -> [(&'static str, f64); 5] {
        [
            ("queue", self.queue),
            ("chip", self.chip),
            ("transfer", self.transfer),
            ("gc_wait", self.gc_wait),
            ("metadata", self.metadata),
        ]
    }
}

/// The device at the end of the run.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Device {
    /// Bytes in a page.
    pub page_bytes: u64,
    /// Pages the host can address.
    pub user_pages: u64,
    /// Pages there are.
    pub physical_pages: u64,
    /// Pages that are not erased.
    pub used_pages: u64,
    /// Pages that hold current data.
    pub valid_pages: u64,
    /// `used_pages` over `physical_pages`.
    pub used_ratio: f64,
    /// Blocks (erase units) there are.
    pub blocks: u64,
    /// Erased blocks.
    pub free_blocks: u64,
    /// The fewest there were.
    pub lowest_free_blocks: u64,
    /// Blocks that are never used again: bad from the factory, or worn out.
    #[serde(default)]
    pub bad_blocks: u64,
    /// Fewest erases of a block within the measurement, like the three below.
    pub erase_min: u64,
    /// Most erases of a block.
    pub erase_max: u64,
    /// Mean erases of a block.
    pub erase_mean: f64,
    /// Standard deviation of the erases over all blocks.
    pub erase_stddev: f64,
    /// Shares of the simulated time in which something was busy.
    pub utilisation: Utilisation,
}

/// Shares of the simulated time in which something was busy, 0 to 1.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Utilisation {
    /// Each channel.
    pub channel: Vec<f64>,
    /// Each chip, channel by channel.
    pub chip: Vec<f64>,
}

/// Little's law: `mean_in_system = throughput * mean_response`, exact where the measurement starts
/// and ends with an empty device.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Little {
    /// Mean number of requests in the device, integrated over its events.
    pub mean_in_system: Option<f64>,
    /// The most there were.
    pub peak_in_system: u64,
    /// Requests completed a second of simulated time.
    pub throughput: Option<f64>,
    /// Mean latency over all operations, nanoseconds.
    pub mean_response: Option<f64>,
}

/// Time, nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Time {
    /// Start of the measurement (end of the warm-up), simulated nanoseconds.
    pub measured_from: u64,
    /// Simulated, from the start of the measurement.
    pub simulated: u64,
    /// Wall-clock time.
    pub wall: Option<u64>,
    /// Processor time.
    pub cpu: Option<u64>,
}

/// Speed of the simulator.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Speed {
    /// Requests completed per second of wall-clock time.
    pub requests_per_s: Option<f64>,
    /// Flash operations per second of wall-clock time.
    pub flash_ops_per_s: Option<f64>,
    /// Memory over physical pages.
    pub bytes_per_page: Option<f64>,
}

impl Report {
    /// The same without the numbers that differ from run to run.
    #[must_use]
    pub fn without_clock(&self) -> Report {
        let time = Time { wall: None, cpu: None, ..self.time.clone() };
        Report { time, speed: Speed::default(), ..self.clone() }
    }

    /// As the text of `report.json`.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("every field has a JSON form");
        text.push('\n');
        text
    }
}
