//! How busy the channels of the drive are, over time.

use ssd_core::metrics::cause::Cause;
use ssd_core::sim::ssd::Ssd;

/// The most rows that are kept.
const MOST: usize = 1 << 12;

/// The activity of the drive up to a moment.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ChannelActivity {
    /// The moment, in nanoseconds.
    pub at_ns: u64,
    /// Pages that collection has programmed.
    pub collected: u64,
    /// Time for which the chips of each channel have had an operation, in nanoseconds, added up.
    pub busy_ns: Vec<u64>,
}

/// Moments, at most one per interval.
#[derive(Clone, Debug)]
pub struct Channels {
    interval_ns: u64,
    next_ns: u64,
    /// In the order of time.
    pub rows: Vec<ChannelActivity>,
}

impl Channels {
    pub(super) fn new(interval_ns: u64) -> Channels {
        assert!(interval_ns > 0, "settings are checked");
        Channels { interval_ns, next_ns: 0, rows: Vec::new() }
    }

    /// Whether a row is due.
    pub(super) fn are_due(&self, now: u64) -> bool {
        now >= self.next_ns
    }

    /// Record the activity of the drive at `at_ns`.
    pub(super) fn look(&mut self, ssd: &Ssd, at_ns: u64) {
        if self.rows.len() >= MOST {
            // Double the interval from here on: every second row is dropped. The first stays, because everything counts
            // from there.
            let mut at = 0;
            self.rows.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.interval_ns *= 2;
        }
        let (programs, chips) = (ssd.measured().flash.programs, ssd.chip_busy_ns());
        let on_channel = chips.len() / ssd.channel_busy_ns().len();
        debug_assert!(self.rows.last().is_none_or(|last| last.at_ns <= at_ns), "time runs on");
        self.next_ns = (at_ns / self.interval_ns + 1) * self.interval_ns;
        self.rows.push(ChannelActivity {
            at_ns,
            collected: programs[Cause::Gc.at()],
            busy_ns: chips.chunks(on_channel).map(|chips| chips.iter().sum()).collect(),
        });
    }
}
