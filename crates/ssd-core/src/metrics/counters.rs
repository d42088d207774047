//! The counters that the simulator increments during a run. Those of a section of the report are declared
//! with it (`report`).

pub use super::report::controller::{BufferCounts, ControllerCounts};
pub use super::report::flash::FlashCounts;
pub use super::report::gc::{GcCounts, MoveCounts, VictimCounts, WearCounts};
pub use super::report::host::HostCounts;
pub use super::report::power::PowerCounts;
pub use super::report::raid::RaidCounts;
pub use super::report::remap::RemapCounts;

use super::declare::words;

words! {
    /// Why a flash operation happened.
    pub enum Cause {
        /// A host request.
        Host = "host",
        /// Garbage collection.
        Gc = "gc",
        /// The rest of a page (or stripe) of which the host writes only a part.
        Rmw = "rmw",
        /// Static wear levelling.
        Wear = "wear",
        /// Parity of a RAID group.
        Parity = "parity",
        /// The device's own metadata.
        Metadata = "metadata",
        /// Remapping of pages by their owner.
        Remap = "remap",
        /// A page of a parity group that is computed from the others, for a read of the host.
        Reconstruct = "reconstruct",
        /// A page that a failed chip held, for the spare.
        Rebuild = "rebuild",
    }
}

/// Number of causes.
pub const CAUSES: usize = Cause::ALL.len();

impl Cause {
    /// As an index into the arrays of [`FlashCounts`].
    #[inline(always)]
    #[must_use]
    pub const fn at(self) -> usize {
        self as usize
    }
}

/// Where the time of one request went, along the part that finished last; sums to its latency.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Parts {
    /// Waiting for other host operations.
    pub queue_ns: u64,
    /// In the flash array.
    pub chip_ns: u64,
    /// On buses, links and in SRAM.
    pub transfer_ns: u64,
    /// Waiting for garbage collection.
    pub gc_wait_ns: u64,
    /// Fetching the device's own metadata.
    pub metadata_ns: u64,
}

impl Parts {
    /// The latency.
    #[inline(always)]
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.queue_ns + self.chip_ns + self.transfer_ns + self.gc_wait_ns + self.metadata_ns
    }
}

/// Sums of [`Parts`] over requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PartSums {
    /// Requests.
    pub count: u64,
    /// See [`Parts::queue_ns`].
    pub queue: u128,
    /// See [`Parts::chip_ns`].
    pub chip: u128,
    /// See [`Parts::transfer_ns`].
    pub transfer: u128,
    /// See [`Parts::gc_wait_ns`].
    pub gc_wait: u128,
    /// See [`Parts::metadata_ns`].
    pub metadata: u128,
}

impl PartSums {
    /// Count one request.
    #[inline(always)]
    pub fn record(&mut self, parts: &Parts) {
        self.count += 1;
        self.queue += u128::from(parts.queue_ns);
        self.chip += u128::from(parts.chip_ns);
        self.transfer += u128::from(parts.transfer_ns);
        self.gc_wait += u128::from(parts.gc_wait_ns);
        self.metadata += u128::from(parts.metadata_ns);
    }
    /// The sum of all latencies.
    #[must_use]
    pub const fn total(&self) -> u128 {
        self.queue + self.chip + self.transfer + self.gc_wait + self.metadata
    }
}

/// Requests in the device over time, integrated event by event: one side of Little's law, which the
/// latencies are the other side of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InSystem {
    now_ns: u64,
    current: u64,
    peak: u64,
    integral: u128,
    /// Requests that were inside when the measurement started.
    inherited: u64,
    /// Time that requests waited in the host beyond their intended arrival.
    outside: u128,
}

impl InSystem {
    #[inline(always)]
    fn advance(&mut self, at_ns: u64) {
        // (The message gets copies of the numbers, which otherwise stay in registers.)
        let now_ns = self.now_ns;
        assert!(at_ns >= now_ns, "time runs backwards: {} after {}", { at_ns }, { now_ns });
        self.integral += u128::from(self.current) * u128::from(at_ns - self.now_ns);
        self.now_ns = at_ns;
    }
    /// A request arrives. Called at that instant, in order with the completions, not when a driver
    /// announces a later arrival.
    #[inline(always)]
    pub fn arrive(&mut self, at_ns: u64) {
        self.advance(at_ns);
        self.current += 1;
        self.peak = self.peak.max(self.current);
    }
    /// The request that has just arrived was meant to arrive `ns` earlier.
    #[inline(always)]
    pub fn waited_outside(&mut self, ns: u64) {
        self.outside += u128::from(ns);
    }
    /// Request-nanoseconds spent in the host, past the intended arrival.
    #[must_use]
    pub const fn outside(&self) -> u128 {
        self.outside
    }
    /// A request completes.
    #[inline(always)]
    pub fn leave(&mut self, at_ns: u64) {
        self.advance(at_ns);
        assert!(self.current > 0, "a request completes at {} ns and none is in the device", {
            at_ns
        });
        self.current -= 1;
    }
    /// Forget the past and measure from here; the requests inside stay inside.
    pub fn restart(&mut self, at_ns: u64) {
        self.advance(at_ns);
        (self.integral, self.peak, self.inherited) = (0, self.current, self.current);
        self.outside = 0;
    }
    /// Requests in the device.
    #[must_use]
    pub const fn current(&self) -> u64 {
        self.current
    }
    /// The most there have been.
    #[must_use]
    pub const fn peak(&self) -> u64 {
        self.peak
    }
    /// Request-nanoseconds up to the last arrival or completion.
    #[must_use]
    pub const fn integral(&self) -> u128 {
        self.integral
    }
    /// Request-nanoseconds up to `at_ns`, which is not before the last arrival or completion.
    #[must_use]
    pub fn integral_until(mut self, at_ns: u64) -> u128 {
        self.advance(at_ns);
        self.integral
    }
    /// The measurement started and ended with an empty device: the integral then equals the sum of
    /// the latencies.
    #[must_use]
    pub const fn closed(&self) -> bool {
        self.inherited == 0 && self.current == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_have_distinct_names_and_stand_in_order() {
        for (i, cause) in Cause::ALL.iter().enumerate() {
            assert_eq!(cause.at(), i);
            let json = serde_json::to_string(cause).unwrap();
            assert_eq!(json, format!("\"{}\"", cause.name()), "one name everywhere");
        }
    }

    #[test]
    fn the_integral_is_the_sum_of_latencies() {
        let mut s = InSystem::default();
        // Requests over [0, 30), [10, 40), [10, 20), [100, 101).
        for (at, arrives) in [(0, true), (10, true), (10, true), (20, false), (30, false)] {
            if arrives { s.arrive(at) } else { s.leave(at) }
        }
        assert!(!s.closed());
        s.leave(40);
        s.arrive(100);
        s.leave(101);
        assert!(s.closed());
        assert_eq!((s.integral(), s.peak(), s.current()), (30 + 30 + 10 + 1, 3, 0));
        s.arrive(200);
        s.restart(210);
        assert_eq!((s.integral(), s.peak(), s.current(), s.closed()), (0, 1, 1, false));
        assert_eq!((s.integral_until(213), s.integral()), (3, 0));
        s.leave(215);
        assert_eq!((s.integral(), s.closed()), (5, false));
    }

    #[test]
    fn the_total_is_the_sum_of_the_five_parts() {
        let parts = Parts {
            queue_ns: 1,
            chip_ns: 20,
            transfer_ns: 300,
            gc_wait_ns: 4000,
            metadata_ns: 50_000,
        };
        let mut sums = PartSums::default();
        sums.record(&parts);
        sums.record(&parts);
        assert_eq!((sums.count, sums.total()), (2, 108_642));
    }

    #[test]
    fn time_in_the_host_adds_up_until_the_measurement_restarts() {
        let mut s = InSystem::default();
        s.arrive(10);
        s.waited_outside(7);
        s.arrive(12);
        s.waited_outside(5);
        assert_eq!((s.outside(), s.integral()), (12, 2));
        s.restart(20);
        assert_eq!(s.outside(), 0);
    }

    #[test]
    #[should_panic(expected = "none is in the device")]
    fn a_completion_without_arrival_is_a_bug() {
        InSystem::default().leave(5);
    }
}
