//! The structure of `report.json`, section by section. Field names are a contract: fields may be added,
//! never renamed. A field that older reports lack has `#[serde(default)]`.
//!
//! Integers are bytes, pages, blocks or nanoseconds; means and ratios are floating point; unknown
//! values are `null`, never a guess. Only `time.wall`, `time.cpu` and `speed` differ between
//! two runs of the same configuration: [`Report::without_clock`] leaves them out.

pub mod controller;
pub mod device;
pub mod energy;
pub mod flash;
pub mod gc;
pub mod host;
mod judged;
pub mod latency;
mod lifetime;
pub mod power;
pub mod provenance;
pub mod raid;
mod reclaim;
mod reclaim_units;
pub mod remap;
mod separation;
pub mod slc;
pub mod tenants;
pub mod time;
pub mod zones;

pub use controller::{Controller, WriteBuffer};
pub use device::{Device, Utilisation};
pub use energy::Energy;
pub use flash::{Flash, Waf};
pub use gc::{Gc, RESERVE_GREEDY, Wear};
pub use host::{Host, Requests};
pub use latency::{Latency, LatencyByOp, LatencyParts, LatencyStats, PartMeans};
pub use lifetime::Lifetime;
pub use power::{Power, Recovery};
pub use provenance::{Provenance, RESULTS_VERSION, TraceLines};
pub use raid::{Failure, Raid};
pub use reclaim::Fdp;
pub use reclaim_units::ReclaimUnits;
pub use remap::Remap;
pub use separation::Separation;
pub use slc::Slc;
pub use tenants::{TenantStats, Tenants};
pub use time::{Little, Speed, Time};
pub use zones::Zones;

use super::declare::section;
use super::inputs::Inputs;
use super::steady::SteadyState;
use super::verdict::{self, Verdict};
use super::warmup::Warmup;
use std::collections::BTreeMap;

/// Version of the form; it changes when a name changes its meaning.
pub const VERSION: u32 = 1;

section! {
    /// The results of one run. Times are nanoseconds; missing values are `null`.
    pub struct Report;
    values(inputs) {} {
        /// Version of the report format.
        version: u32 = VERSION,
        /// Everything needed to repeat the run.
        provenance: Provenance = inputs.provenance.clone(),
        /// The resolved configuration.
        config: serde_json::Value = inputs.config.clone(),
        /// All submitted requests were completed.
        completed: bool [Number, fact("completed")] = inputs.completed,
        /// Requests.
        requests: Requests = Requests::of(inputs),
        /// Lines of the trace; `null` for a synthetic workload.
        #[serde(default)]
        trace_lines: Option<TraceLines> = inputs.trace_lines.clone(),
        /// Host pages.
        host: Host = Host::of(inputs),
        /// The write buffer; `null` without one.
        #[serde(default)]
        write_buffer: Option<WriteBuffer> =
            inputs.device.buffered_pages.map(|_| WriteBuffer::of(inputs)),
        /// Pages between flash controllers and host side; `null` without an interconnect or buffers.
        #[serde(default)]
        controller: Option<Controller> = inputs.device.host_crosses.map(|_| Controller::of(inputs)),
        /// Latencies.
        latency: Latency = Latency::of(inputs),
        /// Flash operations.
        flash: Flash = Flash::of(inputs),
        /// Write amplification.
        waf: Waf = Waf::of(inputs),
        /// Energy; `null` where no power is given.
        #[serde(default)]
        energy: Option<Energy> = inputs.device.power.map(|_| Energy::of(inputs)),
        /// Parity groups; `null` without parity.
        #[serde(default)]
        raid: Option<Raid> = inputs.device.parity_groups.map(|_| Raid::of(inputs)),
        /// Copies; `null` where the device refuses them.
        #[serde(default)]
        remap: Option<Remap> = inputs.device.pages_by_owners.as_ref().map(|_| Remap::of(inputs)),
        /// SLC blocks; `null` on a device without any.
        #[serde(default)]
        slc: Option<Slc> = inputs.device.slc_blocks.map(|_| Slc::of(inputs)),
        /// The host that writes zones; `null` where the interface is another.
        #[serde(default)]
        zones: Option<Zones> = inputs.device.zones.map(|_| Zones::of(inputs)),
        /// Classes of pages; `null` where no policy separates them.
        #[serde(default)]
        separation: Option<Separation> =
            inputs.device.separation.is_some().then(|| Separation::of(inputs)),
        /// Volumes and streams; `null` without `metrics.tenants`.
        #[serde(default)]
        tenants: Option<Tenants> =
            inputs.measured.tenants.is_some().then(|| Tenants::of(inputs)),
        /// Power cuts; `null` if power is never cut.
        #[serde(default)]
        power: Option<Power> = inputs.device.records.is_some().then(|| Power::of(inputs)),
        /// Garbage collection.
        gc: Gc = Gc::of(inputs),
        /// Whether the victim policy is what the run measures.
        #[serde(default)]
        verdict: Verdict = verdict::judge(&inputs.measured.gc),
        /// Wear levelling and lifetime.
        #[serde(default)]
        wear: Wear = Wear::of(inputs),
        /// How long the device lasts; `null` where blocks do not wear out, and with SLC blocks, whose erases wear less.
        #[serde(default)]
        lifetime: Option<Lifetime> = inputs.wears_evenly().then(|| Lifetime::of(inputs)),
        /// Where the time went.
        latency_parts: LatencyParts = LatencyParts::of(inputs),
        /// The device at the end of the run.
        device: Device = Device::of(inputs),
        /// Whether write amplification has settled.
        steady_state: SteadyState = judged::steady_state(inputs),
        /// Whether the measurement starts with a transient.
        #[serde(default)]
        warmup: Warmup = judged::warmup(inputs),
        /// Little's law.
        little: Little = Little::of(inputs),
        /// Time.
        time: Time = Time::of(inputs),
        /// Speed of the simulator.
        speed: Speed = Speed::of(inputs),
        /// Names of the files with series and logs, by what they hold.
        series: BTreeMap<String, String> = inputs.series.clone(),
        /// What to check before using the numbers.
        warnings: Vec<String> = inputs.warnings.clone(),
        /// How many of the warnings invalidate numbers: the first ones. The others are notes.
        #[serde(default)]
        invalidating: u64 [Number] = 0,
    }
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

/// A part of a whole; `None` of nothing.
fn ratio(part: u64, total: u64) -> Option<f64> {
    (total > 0).then(|| part as f64 / total as f64)
}

fn per_second(count: u64, ns: u64) -> Option<f64> {
    (ns > 0).then(|| count as f64 * 1e9 / ns as f64)
}
