//! Distributions of values: extremes, mean, percentiles, and counts by powers of two.

use serde::Serialize;
use ssd_core::metrics::histogram::Histogram;

/// A distribution, in the unit of its field.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub(crate) struct Distribution {
    pub(crate) count: u64,
    pub(crate) min: Option<u64>,
    pub(crate) mean: Option<f64>,
    pub(crate) max: Option<u64>,
    pub(crate) p10: Option<u64>,
    pub(crate) p50: Option<u64>,
    pub(crate) p90: Option<u64>,
    pub(crate) p99: Option<u64>,
    pub(crate) p99_9: Option<u64>,
    pub(crate) bucket_low: Vec<u64>,
    pub(crate) bucket_count: Vec<u64>,
}

impl Distribution {
    /// Returns the distribution of recorded values times `unit`, a power of two, which maps buckets to buckets.
    pub(crate) fn of(values: &Histogram, unit: u64) -> Distribution {
        assert!(unit.is_power_of_two(), "buckets begin at powers of two");
        let percentile = |q| values.percentile(q).map(|value| value.saturating_mul(unit));
        let mut shape = Distribution {
            count: values.count(),
            min: values.min().map(|value| value.saturating_mul(unit)),
            mean: values.mean().map(|mean| mean * unit as f64),
            max: values.max().map(|value| value.saturating_mul(unit)),
            p10: percentile(0.1),
            p50: percentile(0.5),
            p90: percentile(0.9),
            p99: percentile(0.99),
            p99_9: percentile(0.999),
            ..Distribution::default()
        };
        for bucket in values.buckets() {
            shape.count_bucket(bucket.low.saturating_mul(unit), bucket.count);
        }
        shape
    }

    /// Adds `count` values from `value` on, in ascending order. Empty buckets between values are included, so that the
    /// arrays can be plotted directly.
    fn count_bucket(&mut self, value: u64, count: u64) {
        let low = if value == 0 { 0 } else { 1 << value.ilog2() };
        while self.bucket_low.last() != Some(&low) {
            let next = match self.bucket_low.last() {
                None => low,
                Some(0) => 1,
                Some(last) => last * 2,
            };
            self.bucket_low.push(next);
            self.bucket_count.push(0);
        }
        if let Some(last) = self.bucket_count.last_mut() {
            *last += count;
        }
    }
}
