//! The counters that the simulator increments during a run.

use crate::host::request::Op;
use serde::{Deserialize, Serialize};

/// Why a flash operation happened.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Cause {
    /// A host request.
    Host = 0,
    /// Garbage collection.
    Gc = 1,
    /// The rest of a page (or stripe) of which the host writes only a part.
    Rmw = 2,
    /// Static wear levelling.
    Wear = 3,
    /// Parity of a RAID group.
    Parity = 4,
    /// The device's own metadata.
    Metadata = 5,
    /// Remapping of pages by their owner.
    Remap = 6,
}

/// Number of causes.
pub const CAUSES: usize = Cause::ALL.len();

impl Cause {
    /// All causes, in the order of their discriminants.
    pub const ALL: [Cause; 7] = [
        Cause::Host,
        Cause::Gc,
        Cause::Rmw,
        Cause::Wear,
        Cause::Parity,
        Cause::Metadata,
        Cause::Remap,
    ];
    /// Name in reports and logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Host => "host",
            Cause::Gc => "gc",
            Cause::Rmw => "rmw",
            Cause::Wear => "wear",
            Cause::Parity => "parity",
            Cause::Metadata => "metadata",
            Cause::Remap => "remap",
        }
    }
    /// As an index into the arrays of [`FlashCounts`].
    #[inline(always)]
    #[must_use]
    pub const fn at(self) -> usize {
        self as usize
    }
}

/// Flash operations by cause, counted when they start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlashCounts {
    /// Pages read.
    pub reads: [u64; CAUSES],
    /// Pages programmed.
    pub programs: [u64; CAUSES],
    /// Blocks erased.
    pub erases: [u64; CAUSES],
    /// Retries of the reads.
    pub retries: [u64; CAUSES],
}

impl FlashCounts {
    /// Pages programmed for any cause.
    #[must_use]
    pub fn all_programs(&self) -> u64 {
        self.programs.iter().sum()
    }
    /// Blocks erased for any cause.
    #[must_use]
    pub fn all_erases(&self) -> u64 {
        self.erases.iter().sum()
    }
    /// Operations of any kind and cause.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.reads.iter().sum::<u64>() + self.all_programs() + self.all_erases()
    }
}

/// Victims by who chose them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VictimCounts {
    /// The configured victim policy.
    pub policy: u64,
    /// Greedy, in foreground, where the policy made no progress.
    pub reserve_greedy: u64,
    /// Of both, victims for a demand that collection cannot meet.
    pub unmet: u64,
    /// Of those of the policy, the others.
    pub decided: u64,
}

/// What became of pages read to be moved: `moved + stale` were programmed, `dropped` were not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MoveCounts {
    /// Copies to which the map switched.
    pub moved: u64,
    /// Pages read, and overwritten or trimmed before their copy was programmed.
    pub dropped: u64,
    /// Programmed copies of pages that no longer had an owner.
    pub stale: u64,
}

/// Static wear levelling.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WearCounts {
    /// Cold blocks whose collection has started.
    pub calls: u64,
    /// What became of their pages.
    pub pages: MoveCounts,
}

/// Garbage collection.
///
/// A call is the collection of one victim: `calls = foreground + background = victims`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GcCounts {
    /// Victims whose collection has started.
    pub calls: u64,
    /// Of these, because a pool had fallen to its reserve.
    pub foreground: u64,
    /// Of these, because the trigger held.
    pub background: u64,
    /// Times the trigger held and the concurrency rule refused.
    pub deferred: u64,
    /// What became of the pages of victims.
    pub pages: MoveCounts,
    /// Who chose the victims.
    pub victims: VictimCounts,
    /// Valid pages of all victims when they were chosen.
    pub victim_valid_sum: u64,
    /// Pages of all victims.
    pub victim_pages_sum: u64,
    /// Jobs that have ended, with their erase.
    pub jobs_done: u64,
    /// Time from the choice of the victim to the end of its erase, over all jobs that have ended.
    pub job_time_ns_sum: u64,
    /// The longest of these.
    pub job_time_ns_max: u64,
    /// Times a pool's collection was promoted to foreground.
    pub reserve_promotions: u64,
}

/// Pages of writes in the write buffer. Without pages of writes before the measurement
/// `host.pages_written = coalesced + trimmed + evicted + those still there`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BufferCounts {
    /// Pages that a newer write replaced before they were evicted.
    pub coalesced: u64,
    /// Pages that a TRIM dropped before they were evicted.
    pub trimmed: u64,
    /// Pages sent to flash.
    pub evicted: u64,
    /// Pages that waited for room.
    pub waited: u64,
}

/// Pages between the flash controllers and the host side of the controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ControllerCounts {
    /// Traversals of the interconnect, counted when their operation starts; those of host pages, which
    /// follow from the flash operations, are left out.
    pub traversals: [u64; CAUSES],
    /// Time that pages waited in slices for one another.
    pub wait_ns: u64,
    /// Copies programmed from the buffer of the flash controller that had read the page.
    pub from_buffer: u64,
    /// Copied pages in which the ECC engine found an error.
    pub in_error: u64,
}

/// Host requests and pages; the arrays are indexed by `op as usize`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HostCounts {
    /// Requests submitted.
    pub submitted: [u64; Op::ALL.len()],
    /// Requests completed.
    pub completed: [u64; Op::ALL.len()],
    /// Pages of reads, however they were answered.
    pub pages_read: u64,
    /// Pages of writes; a page written in part counts as one.
    pub pages_written: u64,
    /// Pages unmapped by TRIM.
    pub pages_trimmed: u64,
    /// Of the pages read, those that held nothing: no flash operation.
    pub unmapped_pages_read: u64,
    /// Of the pages read, those still in the controller: no flash operation.
    pub controller_pages_read: u64,
    /// Pages written in part, for which the rest was read first.
    pub rmw: u64,
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
        assert!(at_ns >= self.now_ns, "time runs backwards: {at_ns} after {}", self.now_ns);
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
        assert!(self.current > 0, "a request completes at {at_ns} ns and none is in the device");
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
