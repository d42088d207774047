//! What the loss of a chip did: how long the device was degraded, and the latencies of that time.

use super::latency::Recorder;
use crate::host::request::Op;
use crate::units::{Lpn, Nanos};

/// A chip that has failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailedChip {
    /// Counted over the device.
    pub chip: u32,
    /// When it failed.
    pub failed: Nanos,
    /// When a spare took its place.
    pub replaced: Option<Nanos>,
    /// The chips that form parity groups with it, itself included.
    pub group: Vec<u32>,
}

/// Failed chips, and the time without them. Times and latencies are of the measurement, counts of the whole run: a
/// page lost in the warm-up may be rebuilt after it. A device is degraded from the failure of a chip until all that it
/// held has been rebuilt, overwritten or trimmed, and a spare stands in its place.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DegradedStats {
    /// The chips, in the order of their failures.
    pub chips: Vec<FailedChip>,
    /// Pages that were lost when their chip failed.
    pub pages_lost: u64,
    /// Pages rebuilt since.
    pub rebuilt: u64,
    /// Pages that updates did not program because their chip was gone.
    pub not_programmed: u64,
    /// Pages that are lost now.
    pub pages_left: u64,
    /// The pages of the host that no chip can restore.
    pub gone: Vec<Lpn>,
    /// Time that the run went on for the rebuild after its last request.
    pub after_requests: u64,
    /// When it last ceased to be degraded; `None` while it is.
    pub whole_again: Option<Nanos>,
    /// Since when it is degraded.
    since: Option<Nanos>,
    /// Time degraded before that, within the measurement.
    ns: u64,
    /// Latencies of reads and writes that completed while it was.
    pub latencies: [Recorder; 2],
}

impl DegradedStats {
    /// It is degraded from `now` on, or not.
    pub fn set(&mut self, now: Nanos, degraded: bool) {
        match (self.since, degraded) {
            (None, true) => (self.since, self.whole_again) = (Some(now), None),
            (Some(since), false) => {
                self.ns += (now - since).0;
                (self.since, self.whole_again) = (None, Some(now));
            }
            _ => {}
        }
    }

    /// Time degraded until `now`.
    #[must_use]
    pub fn until(&self, now: Nanos) -> u64 {
        self.ns + self.since.map_or(0, |since| (now - since).0)
    }

    /// A request completes.
    #[cold]
    #[inline(never)]
    pub fn complete(&mut self, op: Op, ns: u64) {
        let at = match op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Trim | Op::Flush | Op::Copy => return,
        };
        if self.since.is_some() {
            self.latencies[at].record(ns);
        }
    }

    /// The measurement starts at `now`.
    pub(super) fn restart(&mut self, now: Nanos) {
        (self.ns, self.latencies) = (0, <[Recorder; 2]>::default());
        self.since = self.since.map(|_| now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_latencies_count_while_it_is_degraded_and_from_the_measurement_on() {
        let mut d = DegradedStats::default();
        d.complete(Op::Read, 5);
        d.set(Nanos(10), true);
        d.set(Nanos(12), true);
        d.complete(Op::Read, 7);
        d.restart(Nanos(15));
        d.complete(Op::Write, 9);
        d.complete(Op::Flush, 1);
        assert_eq!((d.until(Nanos(20)), d.whole_again), (5, None));
        d.set(Nanos(30), false);
        d.complete(Op::Write, 8);
        assert_eq!((d.until(Nanos(99)), d.whole_again), (15, Some(Nanos(30))));
        assert_eq!(d.latencies.each_ref().map(|r| r.histogram.count()), [0, 1]);
    }
}
