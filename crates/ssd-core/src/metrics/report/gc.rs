//! Garbage collection and static wear levelling.

use super::device::EraseStats;
use super::ratio;
use crate::metrics::declare::section;
use crate::metrics::inputs::Inputs;
use std::collections::BTreeMap;

/// Name under which greedy victims of the reserve are counted.
pub const RESERVE_GREEDY: &str = "reserve-greedy";

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

section! {
    /// Garbage collection. A call is the collection of one victim.
    pub struct Gc;
    /// Garbage collection: `calls = foreground + background = victims`.
    counters GcCounts in gc {
        /// Victims whose collection started.
        calls: u64 [Number, shown("gc_calls", "GC calls")],
        /// Calls ahead of the host: a pool was at its reserve, or its trigger was urgent.
        foreground: u64 [
            Number,
            measure("gc_foreground"),
            paged("gc_foreground_share", "in foreground").share_of("calls")
        ],
        /// Calls because the trigger held.
        background: u64,
        /// Times the trigger held but the concurrency rule did not allow collection.
        deferred: u64,
        /// Times a pool's collection was promoted to foreground.
        reserve_promotions: u64,
    }
    sums {
        /// What became of the pages of victims.
        pages: MoveCounts,
        /// Who chose the victims.
        victims: VictimCounts,
        /// Valid pages of all victims when they were chosen.
        victim_valid_sum: u64,
        /// Pages of all victims.
        victim_pages_sum: u64,
        /// Jobs that have ended, with their erase.
        jobs_done: u64,
        /// Time from the choice of the victim to the end of its erase, over all jobs that have ended.
        job_time_ns_sum: u64,
        /// The longest of these.
        job_time_ns_max: u64,
    }
    values(inputs) {
        let gc = &inputs.measured.gc;
        let mut victims = BTreeMap::from([(RESERVE_GREEDY.to_owned(), gc.victims.reserve_greedy)]);
        *victims.entry(inputs.victim_policy.to_owned()).or_default() += gc.victims.policy;
        let invalid = gc.victim_pages_sum.saturating_sub(gc.victim_valid_sum);
    } {
        /// Copies that were committed.
        pages_moved: u64 [Number, shown("gc_pages_moved", "pages moved")] = gc.pages.moved,
        /// Pages overwritten or trimmed between their read and the program of the copy.
        pages_dropped: u64 = gc.pages.dropped,
        /// Copies programmed after their page had been overwritten or trimmed.
        pages_stale: u64 = gc.pages.stale,
        /// Pages read but neither programmed nor dropped by the end of the run.
        pages_in_flight: u64 = 0,
        /// Invalid pages over all pages of the victims at the time of the choice.
        mean_victim_invalid_ratio: Option<f64> [Percent] = ratio(invalid, gc.victim_pages_sum),
        /// Victims by the policy that chose them: the configured one, or `reserve-greedy`.
        victims_by_policy: BTreeMap<String, u64> = victims,
        /// Mean time from the choice of a victim to the end of its erase, nanoseconds.
        job_time_mean: Option<f64> [Duration] = ratio(gc.job_time_ns_sum, gc.jobs_done),
        /// Longest such time, nanoseconds.
        job_time_max: Option<u64> [Duration] = (gc.jobs_done > 0).then_some(gc.job_time_ns_max),
    }
}

section! {
    /// Static wear levelling within the measurement, and wear over the life of the device.
    ///
    /// The life of the device includes preconditioning and warm-up.
    pub struct Wear;
    /// Static wear levelling.
    counters WearCounts in wear {
        /// Cold blocks whose collection started.
        calls: u64,
    }
    sums {
        /// What became of their pages.
        pages: MoveCounts,
    }
    values(inputs) {
        let (pages, device) = (&inputs.measured.wear.pages, &inputs.device);
        let programs = inputs.measured.flash.all_programs();
        let life = EraseStats::of(device.life_erases);
        let good = ratio(device.life_erases.len() as u64, device.erases.len() as u64);
        let good_pages = device.physical_pages as f64 * good.unwrap_or(0.0);
        let survived = good_pages * f64::from(device.endurance) * device.page_bytes as f64;
    } {
        /// Copies that were committed.
        pages_moved: u64 = pages.moved,
        /// Pages overwritten or trimmed between their read and the program of the copy.
        pages_dropped: u64 = pages.dropped,
        /// Copies programmed after their page had been overwritten or trimmed.
        pages_stale: u64 = pages.stale,
        /// Pages read but neither programmed nor dropped by the end of the run.
        pages_in_flight: u64 = 0,
        /// Blocks (erase units) that were bad from the start.
        factory_bad_blocks: u64 = device.factory_bad_blocks,
        /// Blocks that reached their endurance.
        worn_out_blocks: u64 = device.worn_out_blocks,
        /// Fewest erases of a block; this and the next three exclude factory-bad blocks.
        erase_min: u64 = life.min,
        /// Most erases of a block.
        erase_max: u64 = life.max,
        /// Mean erases of a block.
        erase_mean: f64 = life.mean,
        /// Standard deviation of the erases.
        erase_stddev: f64 = life.stddev,
        /// Bytes that the host wrote over the life of the device, in whole pages: its TBW if it is
        /// worn out at the end of the run.
        host_bytes_written: u64 [Size] = device.host_bytes_written,
        /// Bytes that the host could write in total if every block reached its endurance, at the write
        /// amplification of the measurement; `null` without an endurance, and with SLC blocks.
        host_bytes_at_even_wear: Option<f64> [Size] =
            ratio(inputs.measured.host.pages_written, programs)
                .filter(|_| inputs.wears_evenly())
                .map(|per_program| survived * per_program),
    }
}
