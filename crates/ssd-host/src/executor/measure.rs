//! What a simulation measures.

use super::channels::Channels;
use super::time::TimeSums;
use crate::fs::FsCounts;
use ssd_core::metrics::counters::CAUSES;
use ssd_core::metrics::histogram::Histogram;
use ssd_kv::NextWork;
use ssd_trace::keys::KeyOp;

/// Kinds of operations.
const OPS: usize = KeyOp::ALL.len();
/// The most rows of the course, and spans of background work, that are kept.
const MOST: usize = 1 << 16;

/// Pages programmed, by cause.
type Programs = [u64; CAUSES];

/// A row of the course.
#[derive(Clone, Copy, Default, Debug)]
pub struct Interval {
    /// When it begins, in nanoseconds.
    pub start_ns: u64,
    /// Operations that ended in it.
    pub operations: u64,
    /// Sum of their latencies.
    pub latency_ns: u64,
    /// The longest of them.
    pub longest_ns: u64,
    /// Time for which writers waited for background work, counted where it ended.
    pub stalled_ns: u64,
    /// Their median and 99th percentile; 0 if there are too few. For rows that have been joined, the larger.
    pub p50_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
}

/// A piece of background work: flush, or compaction into a level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The level into which a compaction writes; 0 for a flush.
    pub level: usize,
    /// When it began, in nanoseconds.
    pub start_ns: u64,
    /// When its last step ended.
    pub end_ns: u64,
}

/// One phase.
#[derive(Clone, Debug)]
pub struct PhaseMeasurements {
    /// Its name.
    pub name: String,
    /// When it began and ended, in nanoseconds.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Latencies by kind of operation.
    pub latencies: Vec<Histogram>,
    /// Writes that were slowed, and for how long.
    pub slowed: (u64, u64),
    /// Waits for background work, and their time.
    pub stopped: (u64, u64),
    /// Groups of writes, and writes in them.
    pub groups: (u64, u64),
    /// Bytes of keys and values written.
    pub user_bytes: u64,
    /// Reads that found their key.
    pub hits: u64,
    /// What the file layer had done when it began.
    pub before: FsCounts,
    /// What it had done when it ended.
    pub after: FsCounts,
    /// Pages that the drive had programmed, by cause, when it began and ended.
    pub programs: [[u64; CAUSES]; 2],
    /// Time of the actors by activity since the start of the simulation, when it began and ended.
    pub time: [TimeSums; 2],
}

/// All that is measured.
#[derive(Clone, Debug)]
pub struct Measurements {
    interval_ns: u64,
    /// The current row, its latencies, and the percentiles of earlier rows that have been joined with it.
    row: usize,
    latencies: Histogram,
    joined: (u64, u64),
    /// The phases so far.
    pub phases: Vec<PhaseMeasurements>,
    /// The course over all of them.
    pub course: Vec<Interval>,
    /// Background work.
    pub spans: Vec<Span>,
    /// The channels of the drive below it.
    pub channels: Channels,
    /// Writes so far, from which the version of each value follows.
    pub versions: u64,
}

impl Measurements {
    pub(super) fn new(interval_ns: u64) -> Measurements {
        let (phases, course, spans) = (Vec::new(), Vec::new(), Vec::new());
        let (row, latencies) = (0, Histogram::new());
        let channels = Channels::new(interval_ns);
        Measurements {
            interval_ns,
            row,
            latencies,
            joined: (0, 0),
            phases,
            course,
            spans,
            channels,
            versions: 0,
        }
    }

    pub(super) fn begin(
        &mut self,
        name: &str,
        now: u64,
        counts: FsCounts,
        programs: Programs,
        time: TimeSums,
    ) {
        self.phases.push(PhaseMeasurements {
            name: name.to_owned(),
            start_ns: now,
            end_ns: now,
            latencies: (0..OPS).map(|_| Histogram::new()).collect(),
            slowed: (0, 0),
            stopped: (0, 0),
            groups: (0, 0),
            user_bytes: 0,
            hits: 0,
            before: counts,
            after: counts,
            programs: [programs; 2],
            time: [time; 2],
        });
    }

    pub(super) fn end(&mut self, now: u64, counts: FsCounts, programs: Programs, time: TimeSums) {
        self.end_row();
        let phase = self.phase();
        (phase.end_ns, phase.after) = (now, counts);
        (phase.programs[1], phase.time[1]) = (programs, time);
    }

    /// The phase under way.
    fn phase(&mut self) -> &mut PhaseMeasurements {
        self.phases.last_mut().expect("a phase has begun")
    }

    /// The row of time `now`, after joining rows until there is room for it.
    fn row_of(&mut self, now: u64) -> usize {
        while now / self.interval_ns >= MOST as u64 {
            self.join_rows();
        }
        let at = (now / self.interval_ns) as usize;
        while self.course.len() <= at {
            let start_ns = self.course.len() as u64 * self.interval_ns;
            self.course.push(Interval { start_ns, ..Interval::default() });
        }
        at
    }

    /// Double the length of rows: each pair becomes one row.
    fn join_rows(&mut self) {
        self.end_row();
        if self.row % 2 == 1 {
            let before = self.course[self.row - 1];
            self.joined = (self.joined.0.max(before.p50_ns), self.joined.1.max(before.p99_ns));
        }
        self.interval_ns *= 2;
        self.row /= 2;
        let halves = self.course.chunks(2).map(|pair| {
            pair.iter().skip(1).fold(pair[0], |sum, row| Interval {
                start_ns: sum.start_ns,
                operations: sum.operations + row.operations,
                latency_ns: sum.latency_ns + row.latency_ns,
                longest_ns: sum.longest_ns.max(row.longest_ns),
                stalled_ns: sum.stalled_ns + row.stalled_ns,
                p50_ns: sum.p50_ns.max(row.p50_ns),
                p99_ns: sum.p99_ns.max(row.p99_ns),
            })
        });
        self.course = halves.collect();
    }

    /// Set the percentiles of the current row from its latencies so far.
    fn end_row(&mut self) {
        if let Some(row) = self.course.get_mut(self.row) {
            row.p50_ns = self.joined.0.max(self.latencies.percentile(0.5).unwrap_or(0));
            row.p99_ns = self.joined.1.max(self.latencies.percentile(0.99).unwrap_or(0));
        }
    }

    pub(super) fn finished(&mut self, op: KeyOp, began: u64, now: u64) {
        let latency = now - began;
        let at = self.row_of(now);
        if at != self.row {
            self.end_row();
            (self.row, self.latencies, self.joined) = (at, Histogram::new(), (0, 0));
        }
        self.latencies.record(latency);
        self.phase().latencies[op as usize].record(latency);
        let row = &mut self.course[at];
        row.operations += 1;
        row.latency_ns += latency;
        row.longest_ns = row.longest_ns.max(latency);
    }

    pub(super) fn slowed(&mut self, ns: u64) {
        let slowed = &mut self.phase().slowed;
        *slowed = (slowed.0 + 1, slowed.1 + ns);
    }

    pub(super) fn stopped(&mut self, since: u64, now: u64) {
        let stopped = &mut self.phase().stopped;
        *stopped = (stopped.0 + 1, stopped.1 + now - since);
        let at = self.row_of(now);
        self.course[at].stalled_ns += now - since;
    }

    pub(super) fn grouped(&mut self, members: u64) {
        let groups = &mut self.phase().groups;
        *groups = (groups.0 + 1, groups.1 + members);
    }

    pub(super) fn wrote(&mut self, bytes: usize) {
        self.versions += 1;
        self.phase().user_bytes += bytes as u64;
    }

    pub(super) fn count_lookup(&mut self, has_value: bool) {
        self.phase().hits += u64::from(has_value);
    }

    pub(super) fn worked(&mut self, work: NextWork, start_ns: u64, end_ns: u64) {
        let level = match work {
            NextWork::Flush => 0,
            NextWork::Compact(level) => level,
            NextWork::Pick | NextWork::Nothing => return,
        };
        let more = self.spans.len() < MOST;
        match self.spans.last_mut() {
            Some(last) if last.level == level && last.end_ns == start_ns => last.end_ns = end_ns,
            _ if more => self.spans.push(Span { level, start_ns, end_ns }),
            _ => {}
        }
    }

    /// Operations that have ended.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.course.iter().map(|row| row.operations).sum()
    }
}
