//! Latencies, and where their time went.

use crate::host::request::Op;
use crate::metrics::declare::section;
use crate::metrics::inputs::Inputs;
use crate::metrics::latency::{ByOp, Recorder};
use crate::metrics::parts::PartSums;
use std::collections::BTreeMap;

section! {
    /// Statistics of one group of latencies, nanoseconds.
    pub struct LatencyStats;
    fields {
        /// Requests.
        count: u64,
        /// Mean, exact.
        mean: Option<f64> [Duration, ranked("{}_mean_ns", "mean {} latency").short("mean {}")],
        /// Half width of the 95 % confidence interval of the mean, by batch means.
        ci95: Option<f64> [Duration],
        /// Smallest, exact.
        min: Option<u64> [Duration],
        /// Largest, exact.
        max: Option<u64> [Duration, paged("{}_max_ns", "longest {} latency").short("longest {}").last()],
        /// Standard deviation, exact (of the population).
        stddev: Option<f64> [Duration],
        /// Median; like all percentiles within 0.4 %, and `null` with fewer than 10 values beyond it.
        p50: Option<u64> [Duration, measure("{}_p50_ns")],
        /// 90 % lie at or below.
        p90: Option<u64> [Duration],
        /// 95 % lie at or below.
        p95: Option<u64> [Duration],
        /// 99 % lie at or below.
        p99: Option<u64> [Duration, shown("{}_p99_ns", "p99 {} latency").short("p99 {}")],
        /// 99.9 % lie at or below.
        p99_9: Option<u64> [
            Duration,
            ranked("{}_p99_9_ns", "p99.9 {} latency").short("p99.9 {}")
        ],
        /// 99.99 % lie at or below.
        p99_99: Option<u64> [Duration],
    }
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
    /// Statistics of one group of latencies.
    #[must_use]
    pub fn of(recorder: &Recorder) -> LatencyStats {
        let h = &recorder.histogram;
        let [p50, p90, p95, p99, p99_9, p99_99] =
            LatencyStats::PERCENTILES.map(|(_, q)| h.percentile(q));
        LatencyStats {
            count: h.count(),
            mean: h.mean(),
            ci95: recorder.batches.half_width_95(),
            min: h.min(),
            max: h.max(),
            stddev: h.stddev(),
            p50,
            p90,
            p95,
            p99,
            p99_9,
            p99_99,
        }
    }
}

section! {
    /// Latencies by operation.
    pub struct LatencyByOp;
    fields {
        /// Reads.
        read: LatencyStats,
        /// Writes.
        write: LatencyStats,
        /// TRIMs.
        trim: LatencyStats,
        /// Flushes.
        flush: LatencyStats,
    }
}

pub(super) fn by_op(group: &ByOp) -> LatencyByOp {
    LatencyByOp {
        read: LatencyStats::of(&group[Op::Read as usize]),
        write: LatencyStats::of(&group[Op::Write as usize]),
        trim: LatencyStats::of(&group[Op::Trim as usize]),
        flush: LatencyStats::of(&group[Op::Flush as usize]),
    }
}

section! {
    /// Latencies by operation and, where recorded separately, by volume and stream.
    pub struct Latency;
    values(inputs) {
        let latencies = &inputs.measured.latencies;
        let LatencyByOp { read, write, trim, flush } = by_op(&latencies.by_op);
    } {
        /// Reads.
        read: LatencyStats [Number, subject("read")] = read,
        /// Writes.
        write: LatencyStats [Number, subject("write")] = write,
        /// TRIMs.
        trim: LatencyStats = trim,
        /// Flushes.
        flush: LatencyStats = flush,
        /// By volume.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by_volume: Option<BTreeMap<u16, LatencyByOp>> =
            latencies.split.then(|| latencies.by_volume.iter().map(|(&k, group)| (k, by_op(group))).collect()),
        /// By stream.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by_stream: Option<BTreeMap<u8, LatencyByOp>> =
            latencies.split.then(|| latencies.by_stream.iter().map(|(&k, group)| (k, by_op(group))).collect()),
    }
}

section! {
    /// Means over requests, nanoseconds; they sum to the mean latency.
    pub struct PartMeans;
    fields {
        /// Waiting for other host operations.
        queue: f64 [Duration],
        /// In the flash array.
        chip: f64 [Duration],
        /// On buses, links and in SRAM.
        transfer: f64 [Duration],
        /// Waiting for garbage collection.
        gc_wait: f64 [Duration],
        /// Fetching the device's own metadata.
        metadata: f64 [Duration],
    }
}

impl PartMeans {
    /// Names and values, in the order of the contract.
    #[must_use]
    pub const fn by_name(&self) -> [(&'static str, f64); 5] {
        [
            ("queue", self.queue),
            ("chip", self.chip),
            ("transfer", self.transfer),
            ("gc_wait", self.gc_wait),
            ("metadata", self.metadata),
        ]
    }
    /// `None` without requests.
    fn of(sums: &PartSums) -> Option<PartMeans> {
        let mean = |sum: u128| sum as f64 / sums.count as f64;
        (sums.count > 0).then(|| PartMeans {
            queue: mean(sums.queue),
            chip: mean(sums.chip),
            transfer: mean(sums.transfer),
            gc_wait: mean(sums.gc_wait),
            metadata: mean(sums.metadata),
        })
    }
}

section! {
    /// Where the time went.
    pub struct LatencyParts;
    values(inputs) {} {
        /// Of reads; `null` without reads.
        read: Option<PartMeans> = PartMeans::of(&inputs.measured.read_parts),
        /// Of writes; `null` without writes.
        write: Option<PartMeans> = PartMeans::of(&inputs.measured.write_parts),
    }
}
