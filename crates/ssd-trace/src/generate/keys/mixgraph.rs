//! mixgraph: the key-value mix of Cao, Dong, Vemuri, Du, "Characterizing, Modeling, and Benchmarking
//! `RocksDB` Key-Value Workloads at Facebook", FAST 2020, with the parameters of `RocksDB`'s `db_bench`.

use super::{KeyOp, KeyRequest, fnv64};
use ssd_core::host::source::SourceError;
use ssd_core::rng::Stream;

/// Parameters of the mix.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mix {
    /// Shares of reads and of writes; the rest is scans.
    pub get: f64,
    /// See `get`.
    pub put: f64,
    /// Number of key ranges; few of them are hot.
    pub ranges: u64,
    /// Share of the accesses in range x: a e^(b x) + c e^(d x).
    pub range: [f64; 4],
    /// Distribution of keys within a range: P(key below y) = a y^b.
    pub key: [f64; 2],
    /// Generalised Pareto distribution of value sizes: k and sigma (theta is 0).
    pub value: [f64; 2],
    /// The same for the lengths of scans.
    pub scan: [f64; 2],
    /// Larger sizes are taken modulo this, bytes.
    pub most_value_bytes: u32,
}

impl Default for Mix {
    fn default() -> Mix {
        Mix {
            get: 0.85,
            put: 0.14,
            ranges: 30,
            range: [14.18, -2.917, 0.0164, -0.08082],
            key: [0.002_312, 0.3467],
            value: [0.2615, 25.45],
            scan: [2.517, 14.236],
            most_value_bytes: 1024,
        }
    }
}

/// Keys in the longest scan.
const SCAN: u64 = 10_000;
/// Smallest value, bytes.
const LEAST_VALUE_BYTES: u32 = 10;

/// Operations of the mix.
pub struct MixGraph {
    mix: Mix,
    records: u64,
    operations: u64,
    count: u64,
    /// Cumulated shares of the ranges in the order in which they are drawn, and the index of each range.
    ranges: Vec<(f64, u64)>,
    random: Stream,
}

impl MixGraph {
    /// Creates `operations` over `records` keys.
    ///
    /// # Errors
    /// There are fewer keys than ranges, or shares beyond 1.
    pub fn new(
        mix: Mix,
        records: u64,
        operations: u64,
        seed: u64,
    ) -> Result<MixGraph, SourceError> {
        if mix.ranges == 0 || records < mix.ranges {
            let text = format!("mixgraph: {} ranges of {records} keys", mix.ranges);
            return Err(SourceError(format!("{text}; expected a key in each range")));
        }
        if !(mix.get >= 0.0 && mix.put >= 0.0 && mix.get + mix.put <= 1.0) {
            let text = format!("mixgraph: {} reads and {} writes", mix.get, mix.put);
            return Err(SourceError(format!("{text}; expected shares that sum to at most 1")));
        }
        let [a, b, c, d] = mix.range;
        let share = |x: u64| {
            let x = x as f64;
            a * libm::exp(b * x) + c * libm::exp(d * x)
        };
        // The hot ranges do not depend on the seed, because they are a property of the store.
        let mut order: Vec<u64> = (0..mix.ranges).collect();
        order.sort_by_key(|&range| fnv64(range));
        let mut sum = 0.0;
        let mut ranges = Vec::new();
        for (x, range) in (1..=mix.ranges).zip(order) {
            sum += share(x).max(0.0);
            ranges.push((sum, range));
        }
        Ok(MixGraph {
            mix,
            records,
            operations,
            count: 0,
            ranges,
            random: Stream::new(seed, "mixgraph"),
        })
    }

    fn key(&mut self) -> u64 {
        let total = self.ranges.last().expect("there are ranges").0;
        let draw = self.random.unit() * total;
        let at = self.ranges.partition_point(|range| range.0 <= draw).min(self.ranges.len() - 1);
        let [a, b] = self.mix.key;
        // The inverse of a y^b. It wraps beyond the range, and is hashed to spread hot keys.
        let seed = libm::ceil(libm::pow(self.random.unit() / a, 1.0 / b)) as u64;
        let size = self.records / self.mix.ranges;
        self.ranges[at].1 * size + fnv64(seed) % size
    }

    /// Draws from the generalised Pareto distribution with k and sigma.
    fn pareto(&mut self, [k, sigma]: [f64; 2]) -> f64 {
        let u = 1.0 - self.random.unit();
        libm::ceil(sigma * (libm::pow(u, -k) - 1.0) / k)
    }
}

impl Iterator for MixGraph {
    type Item = KeyRequest;

    fn next(&mut self) -> Option<KeyRequest> {
        if self.count == self.operations {
            return None;
        }
        self.count += 1;
        let draw = self.random.unit();
        let key = self.key();
        Some(if draw < self.mix.get {
            KeyRequest::new(KeyOp::Read, key, 0)
        } else if draw < self.mix.get + self.mix.put {
            let bytes = self.pareto(self.mix.value) as u64;
            let most = u64::from(self.mix.most_value_bytes);
            let bytes = if bytes > most { bytes % most } else { bytes } as u32;
            KeyRequest::new(KeyOp::Update, key, bytes.max(LEAST_VALUE_BYTES))
        } else {
            let scan = (self.pareto(self.mix.scan) as u64 % SCAN).max(1) as u32;
            KeyRequest { scan, ..KeyRequest::new(KeyOp::Scan, key, 0) }
        })
    }
}
