//! Trains: requests with short gaps, and repetitions within them.

use super::shape::Distribution;
use super::{ADDRESSED, share};
use crate::config::SHORT_GAP_NS;
use serde::Serialize;
use ssd_core::host::request::{Op, Request};
use ssd_core::metrics::histogram::Histogram;

/// Statistics of trains.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Trains {
    pub(crate) gap_cv: Option<f64>,
    pub(crate) short_gap_share: Option<f64>,
    pub(crate) short_gap_mean_ns: Option<f64>,
    pub(crate) requests: Distribution,
    pub(crate) requests_cv: Option<f64>,
    pub(crate) same_size_share: Option<f64>,
}

/// Moments of whole numbers.
#[derive(Clone, Copy, Default)]
struct Moments {
    count: u64,
    sum: u128,
    squares: u128,
}

impl Moments {
    fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum += u128::from(value);
        self.squares += u128::from(value).pow(2);
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Returns standard deviation (of the population) over mean; undefined if the mean is 0.
    fn cv(&self) -> Option<f64> {
        if self.sum == 0 {
            return None;
        }
        let (n, mean) = (u128::from(self.count), self.sum as f64 / self.count as f64);
        // Uses integers as long as they fit, so that equal values have a deviation of exactly 0.
        let products = n.checked_mul(self.squares).zip(self.sum.checked_mul(self.sum));
        let relative = match products {
            Some((scaled, square)) => (scaled - square) as f64 / square as f64,
            None => self.squares as f64 / self.count as f64 / mean / mean - 1.0,
        };
        Some(relative.max(0.0).sqrt())
    }
}

/// Collects the requests in order of arrival.
#[derive(Default)]
pub(super) struct Collector {
    gaps: Moments,
    short: Moments,
    lengths: Moments,
    by_length: Histogram,
    /// Requests of the current train so far.
    length: u64,
    /// Sectors of the last request of each operation in the train.
    last: [Option<u32>; ADDRESSED],
    followers: u64,
    same: u64,
}

impl Collector {
    /// Adds a request, and the time since the previous one.
    pub(super) fn add(&mut self, gap: Option<u64>, request: &Request) {
        if let Some(gap) = gap {
            self.gaps.add(gap);
            if gap < SHORT_GAP_NS {
                self.short.add(gap);
            } else {
                self.end();
            }
        }
        self.length += 1;
        if request.op == Op::Flush || request.sectors == 0 {
            return;
        }
        if let Some(before) = self.last[request.op as usize].replace(request.sectors) {
            self.followers += 1;
            self.same += u64::from(before == request.sectors);
        }
    }

    /// Ends the train.
    fn end(&mut self) {
        self.lengths.add(self.length);
        self.by_length.record(self.length);
        self.length = 0;
        self.last = [None; ADDRESSED];
    }

    pub(super) fn finish(mut self) -> Trains {
        if self.length > 0 {
            self.end();
        }
        Trains {
            gap_cv: self.gaps.cv(),
            short_gap_share: share(self.short.count, self.gaps.count),
            short_gap_mean_ns: self.short.mean(),
            requests: Distribution::of(&self.by_length, 1),
            requests_cv: self.lengths.cv(),
            same_size_share: share(self.same, self.followers),
        }
    }
}
