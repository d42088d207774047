//! Read errors: the number of retries that a read of the array takes, and whether a page has errors.
//!
//! Every attempt fails independently with probability `min(1, base + growth * erases of the block)`, up to
//! a limit of retries. A read thus takes k retries with probability `p^k (1 - p)` below the limit, and
//! otherwise the limit. A retry costs one more array read, times a factor, as read-retry in Park et al.,
//! "Reducing Solid-State Drive Read Latency by Optimizing Read-Retry", ASPLOS 2021, where a read with k
//! retries costs about k + 1 reads.

use crate::config::Config;
use crate::rng::Stream;

/// Draws the errors of every read.
pub(crate) struct ReadErrors {
    probability: f64,
    growth: f64,
    limit: u32,
    factor: f64,
    stream: Stream,
}

impl ReadErrors {
    /// From a resolved config; `None` if no read fails.
    pub(crate) fn new(config: &Config) -> Option<ReadErrors> {
        let c = &config.controller;
        if c.retry_probability <= 0.0 && c.retry_growth <= 0.0 {
            return None;
        }
        assert!(c.retry_limit > 0 && c.retry_factor > 0.0, "the config layer has checked them");
        Some(ReadErrors {
            probability: c.retry_probability,
            growth: c.retry_growth,
            limit: c.retry_limit,
            factor: c.retry_factor,
            stream: Stream::new(config.run.seed, "read retries"),
        })
    }

    /// Retries of a read of a block with this many erases.
    pub(crate) fn retries(&mut self, erases: u32) -> u32 {
        let p = (self.probability + self.growth * f64::from(erases)).min(1.0);
        let mut retries = 0;
        while retries < self.limit && self.stream.chance(p) {
            retries += 1;
        }
        assert!(retries <= self.limit, "{retries} retries");
        retries
    }

    /// Array time of a retry of a read that takes `read_ns`, nanoseconds.
    pub(crate) fn retry_ns(&self, read_ns: u64) -> u64 {
        (read_ns as f64 * self.factor).round() as u64
    }
}

/// Draws whether the ECC engine finds an error in a page: for every page it sees, with one probability. It
/// corrects all of them.
pub(crate) struct PageErrors {
    probability: f64,
    stream: Stream,
}

impl PageErrors {
    /// From a resolved config; `None` if no page has an error.
    pub(crate) fn new(config: &Config) -> Option<PageErrors> {
        let probability = config.controller.page_error_probability;
        let stream = || Stream::new(config.run.seed, "page errors");
        (probability > 0.0).then(|| PageErrors { probability, stream: stream() })
    }

    /// Whether the next page has an error.
    pub(crate) fn next(&mut self) -> bool {
        self.stream.chance(self.probability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_are_geometric_and_grow_with_erases() {
        let mut config = Config::default();
        assert!(ReadErrors::new(&config).is_none());
        (config.controller.retry_probability, config.controller.retry_growth) = (0.1, 0.01);
        config.controller.retry_limit = 3;
        let mut errors = ReadErrors::new(&config).expect("reads fail");
        for (erases, p) in [(0u32, 0.1), (10, 0.2), (1000, 1.0)] {
            let n = 200_000;
            let sum: u64 = (0..n).map(|_| u64::from(errors.retries(erases))).sum();
            let expected: f64 = p + p * p + p * p * p;
            assert!((sum as f64 / f64::from(n) - expected).abs() < 0.01, "{erases} erases");
        }
    }
}
