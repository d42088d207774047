//! The clock of the drive: simulated time is wall time divided by the scale. And how late replies are.
#![allow(clippy::disallowed_types, reason = "a served drive runs on wall time")]

use ssd_core::metrics::histogram::Histogram;
use std::time::{Duration, Instant};

/// A clock that starts at simulated time 0.
pub struct Pace {
    started: Instant,
    /// Wall time passes so many times as fast as that of the drive.
    scale: f64,
}

impl Pace {
    /// Simulated time starts now.
    #[must_use]
    pub fn start(scale: f64) -> Pace {
        assert!(scale > 0.0 && scale.is_finite(), "a scale of {scale}");
        Pace { started: Instant::now(), scale }
    }

    /// Simulated time, ns.
    #[must_use]
    pub fn now(&self) -> u64 {
        (self.started.elapsed().as_nanos() as f64 / self.scale) as u64
    }

    /// How long to wait for simulated time `at`.
    #[must_use]
    pub fn until(&self, at: u64) -> Duration {
        let due = Duration::from_nanos((at as f64 * self.scale) as u64);
        due.saturating_sub(self.started.elapsed())
    }

    /// Wall time since simulated time `at`, ns.
    #[must_use]
    pub fn late(&self, at: u64) -> u64 {
        let due = Duration::from_nanos((at as f64 * self.scale) as u64);
        self.started.elapsed().saturating_sub(due).as_nanos() as u64
    }
}

/// How late replies were handed to the system after the drive had completed them, wall time.
#[derive(Clone)]
pub struct Lateness(Histogram);

impl Default for Lateness {
    fn default() -> Lateness {
        Lateness(Histogram::new())
    }
}

impl Lateness {
    /// A reply was this late.
    pub fn record(&mut self, ns: u64) {
        self.0.record(ns);
    }

    /// Number of replies, and the 50th, 99th and 99.9th percentile and the maximum of their lateness, if there are
    /// enough of them.
    #[must_use]
    pub fn percentiles(&self) -> (u64, [Option<u64>; 4]) {
        let of = |q| self.0.percentile(q);
        (self.0.count(), [of(0.5), of(0.99), of(0.999), self.0.max()])
    }
}
