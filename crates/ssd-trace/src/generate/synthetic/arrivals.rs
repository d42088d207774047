//! Arrival times of a synthetic workload: fixed, Poisson, or bursts of Poisson arrivals.

use crate::config::{Arrival, ArrivalKind, Workload};
use ssd_core::host::request::{Request, TimedRequest};
use ssd_core::host::source::SourceError;
use ssd_core::rng::Stream;
use ssd_core::units::Nanos;

/// Generates arrival times; the first request arrives at 0.
pub(super) struct Arrivals {
    random: Stream,
    arrival: Arrival,
    at: u64,
    left_in_burst: u32,
}

impl Arrivals {
    pub(super) fn new(workload: &Workload, random: Stream) -> Result<Arrivals, SourceError> {
        let arrival = workload.arrival;
        if arrival.kind == ArrivalKind::Bursty && arrival.burst == 0 {
            let text = "workload.arrival.burst is 0; it must be at least 1";
            return Err(SourceError(text.to_owned()));
        }
        Ok(Arrivals { random, arrival, at: 0, left_in_burst: arrival.burst })
    }

    /// Returns the arrival of request `index`, which starts at 0 and increases by 1.
    #[inline(always)]
    pub(super) fn next_arrival(&mut self, index: u64) -> Result<Nanos, SourceError> {
        let gap = if index == 0 {
            self.left_in_burst = self.left_in_burst.saturating_sub(1);
            0
        } else {
            self.gap()
        };
        match self.at.checked_add(gap) {
            Some(at) if in_time(at) => self.at = at,
            _ => return Err(too_late(index)),
        }
        Ok(Nanos(self.at))
    }

    /// Appends `count` copies of `request`, with the arrivals of the requests from `first` on.
    ///
    /// # Errors
    /// Fails like [`Arrivals::next_arrival`]; `batch` then has the requests before the failing one.
    pub(super) fn fill(
        &mut self,
        batch: &mut Vec<TimedRequest>,
        request: Request,
        first: u64,
        count: u64,
    ) -> Result<(), SourceError> {
        let blank = |at| TimedRequest { at, request };
        let gap = self.arrival.interval_ns;
        let last = gap.checked_mul(count).and_then(|gaps| self.at.checked_add(gaps));
        if self.arrival.kind == ArrivalKind::Fixed && first > 0 && last.is_some_and(in_time) {
            let before = self.at;
            batch.extend((1..=count).map(|i| blank(Nanos(before + i * gap))));
            self.at = before + count * gap;
            return Ok(());
        }
        for index in first..first + count {
            batch.push(blank(self.next_arrival(index)?));
        }
        Ok(())
    }

    /// Returns the time to the next request.
    #[inline(always)]
    fn gap(&mut self) -> u64 {
        match self.arrival.kind {
            ArrivalKind::Fixed => self.arrival.interval_ns,
            // A workload with built-in arrivals does not get here.
            ArrivalKind::Poisson | ArrivalKind::Model => self.exponential(),
            ArrivalKind::Bursty if self.left_in_burst > 0 => {
                self.left_in_burst -= 1;
                self.exponential()
            }
            ArrivalKind::Bursty => {
                self.left_in_burst = self.arrival.burst - 1;
                self.arrival.pause_ns
            }
        }
    }

    /// Draws from an exponential distribution with the mean interval, rounded to nanoseconds.
    fn exponential(&mut self) -> u64 {
        (self.random.exponential() * self.arrival.interval_ns as f64 + 0.5) as u64
    }
}

/// Returns whether a run can last until `at`, in nanoseconds.
fn in_time(at: u64) -> bool {
    at < 1 << 62
}

#[cold]
fn too_late(index: u64) -> SourceError {
    let remedy = "lower workload.arrival.interval or workload.requests";
    SourceError(format!("request {index} would arrive after 146 years; {remedy}"))
}
