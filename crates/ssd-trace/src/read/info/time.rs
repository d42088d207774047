//! Arrivals: rate, bursts, idle periods.

use super::shape::Distribution;
use crate::config::SHORT_GAP_NS;
use serde::Serialize;
use ssd_core::host::source::SourceError;
use ssd_core::metrics::histogram::Histogram;

/// Windows for the counts of arrivals, nanoseconds.
const WINDOWS: [u64; 3] = [10_000_000, 100_000_000, 1_000_000_000];
/// Thresholds of gaps, nanoseconds; gaps from the first threshold up are idle periods.
const IDLE: [u64; 5] = [SHORT_GAP_NS, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000];

/// Arrivals in windows of one length.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Burst {
    pub(crate) window_ns: u64,
    pub(crate) windows: u64,
    pub(crate) mean: f64,
    pub(crate) peak: u64,
    pub(crate) peak_to_mean: Option<f64>,
    pub(crate) dispersion: Option<f64>,
}

/// Idle periods.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Idle {
    pub(crate) periods: Distribution,
    pub(crate) share: Option<f64>,
    pub(crate) threshold_ns: [u64; IDLE.len()],
    pub(crate) count: [u64; IDLE.len()],
    pub(crate) time_share: [Option<f64>; IDLE.len()],
}

/// The current window, and the sums over the previous ones.
#[derive(Clone, Copy, Default)]
struct Window {
    index: u64,
    /// Its end, nanoseconds after the first arrival.
    ends: u64,
    arrivals: u64,
    squares: u128,
    peak: u64,
}

impl Window {
    /// Closes the window.
    fn closed(mut self) -> Window {
        self.squares += u128::from(self.arrivals).pow(2);
        self.peak = self.peak.max(self.arrivals);
        self
    }
}

#[derive(Default)]
pub(super) struct Arrivals {
    /// First and last arrival.
    ends: Option<(u64, u64)>,
    count: u64,
    windows: [Window; WINDOWS.len()],
    gaps: Gaps,
    idle: Gaps,
    idle_count: [u64; IDLE.len()],
    idle_ns: [u64; IDLE.len()],
}

/// A histogram, which has no default.
struct Gaps(Histogram);

impl Default for Gaps {
    fn default() -> Gaps {
        Gaps(Histogram::new())
    }
}

impl Arrivals {
    /// Counts an arrival; returns the nanoseconds since the first one.
    pub(super) fn add(&mut self, at: u64) -> Result<u64, SourceError> {
        self.count += 1;
        let (first, before) = *self.ends.get_or_insert((at, at));
        if at < before {
            let text = format!("a request arrives at {at} ns, after one at {before} ns");
            return Err(SourceError(text));
        }
        self.ends = Some((first, at));
        if self.count > 1 {
            self.gap(at - before);
        }
        for (window, length) in self.windows.iter_mut().zip(WINDOWS) {
            if at - first >= window.ends {
                let index = (at - first) / length;
                let ends = (index + 1).saturating_mul(length);
                *window = Window { index, ends, arrivals: 0, ..window.closed() };
            }
            window.arrivals += 1;
        }
        Ok(at - first)
    }

    /// Returns the time from the last arrival to `at`, if there was an arrival.
    pub(super) fn since_last(&self, at: u64) -> Option<u64> {
        self.ends.map(|(_, last)| at.saturating_sub(last))
    }

    fn gap(&mut self, gap: u64) {
        self.gaps.0.record(gap);
        if gap < IDLE[0] {
            return;
        }
        self.idle.0.record(gap);
        for (i, _) in IDLE.iter().enumerate().filter(|&(_, &threshold)| gap >= threshold) {
            self.idle_count[i] += 1;
            self.idle_ns[i] += gap;
        }
    }

    pub(super) fn first(&self) -> u64 {
        self.ends.map_or(0, |ends| ends.0)
    }

    pub(super) fn duration(&self) -> u64 {
        self.ends.map_or(0, |(first, last)| last - first)
    }

    /// Returns the requests per second.
    pub(super) fn rate(&self) -> Option<f64> {
        let duration = self.duration();
        (duration > 0).then(|| self.count as f64 * 1e9 / duration as f64)
    }

    pub(super) fn bursts(&self) -> Vec<Burst> {
        let burst = |(window, length): (&Window, u64)| {
            let (closed, windows) = (window.closed(), window.index + 1);
            let (n, w) = (u128::from(self.count), u128::from(windows));
            let is_defined = windows > 1;
            // Variance over mean, both multiplied by the number of windows, so that integers suffice.
            let spread = (w * closed.squares - n * n) as f64 / (w * n).max(1) as f64;
            let mean = self.count as f64 / windows as f64;
            Burst {
                window_ns: length,
                windows,
                mean,
                peak: closed.peak,
                peak_to_mean: is_defined.then(|| closed.peak as f64 / mean),
                dispersion: is_defined.then_some(spread),
            }
        };
        if self.count == 0 {
            Vec::new()
        } else {
            self.windows.iter().zip(WINDOWS).map(burst).collect()
        }
    }

    pub(super) fn gaps(&self) -> Distribution {
        Distribution::of(&self.gaps.0, 1)
    }

    pub(super) fn idle(&self) -> Idle {
        let shares = self.idle_ns.map(|ns| super::share(ns, self.duration()));
        Idle {
            periods: Distribution::of(&self.idle.0, 1),
            share: shares[0],
            threshold_ns: IDLE,
            count: self.idle_count,
            time_share: shares,
        }
    }
}
