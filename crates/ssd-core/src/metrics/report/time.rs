//! Time: simulated, spent, and Little's law.

use super::{per_second, ratio};
use crate::metrics::declare::section;
use crate::metrics::inputs::Inputs;

section! {
    /// Little's law: `mean_in_system = throughput * mean_response`.
    ///
    /// Exact if the measurement starts and ends with an empty device.
    pub struct Little;
    values(inputs) {
        let (measured, span) = (inputs.measured, inputs.span_ns());
        let histograms = || measured.latencies.by_op.iter().map(|r| &r.histogram);
        let count: u64 = histograms().map(|h| h.count()).sum();
        let sum: u128 = histograms().map(|h| h.sum()).sum();
        let integral = || measured.in_system.integral_until(inputs.ended.0);
    } {
        /// Mean number of requests in the device, integrated over its events.
        mean_in_system: Option<f64> = (span > 0).then(|| integral() as f64 / span as f64),
        /// Largest number of requests in the device.
        peak_in_system: u64 = measured.in_system.peak(),
        /// Requests completed per second of simulated time.
        throughput: Option<f64> [Rate] = per_second(count, span),
        /// Mean latency over all operations, nanoseconds.
        mean_response: Option<f64> [Duration] = (count > 0).then(|| sum as f64 / count as f64),
    }
}

section! {
    /// Time, nanoseconds.
    pub struct Time;
    values(inputs) {} {
        /// Start of the measurement (end of the warm-up), simulated nanoseconds.
        measured_from: u64 [Duration] = inputs.measured.since.0,
        /// Simulated time since the start of the measurement.
        simulated: u64 [Duration, shown("simulated_ns", "simulated time")] = inputs.span_ns(),
        /// Wall-clock time.
        wall: Option<u64> [Duration, fact("wall_ns")] = inputs.wall_ns,
        /// CPU time, without that of the threads that write logs.
        cpu: Option<u64> [Duration] = inputs.cpu_ns,
    }
}

section! {
    /// Speed of the simulator.
    pub struct Speed;
    values(inputs) {
        let host = &inputs.measured.host;
        let rate = |count: u64| inputs.wall_ns.and_then(|ns| per_second(count, ns));
    } {
        /// Requests completed per second of wall-clock time.
        requests_per_s: Option<f64> [Rate, fact("requests_per_s")] =
            rate(host.completed.iter().sum()),
        /// Flash operations per second of wall-clock time.
        flash_ops_per_s: Option<f64> [Rate, fact("flash_ops_per_s")] =
            rate(inputs.measured.flash.all()),
        /// Memory per physical page.
        bytes_per_page: Option<f64> [Size] =
            inputs.memory_bytes.and_then(|bytes| ratio(bytes, inputs.device.physical_pages)),
    }
}
