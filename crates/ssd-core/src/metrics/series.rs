//! The state of the device over time: one row per sample period, integers only.

use serde::{Deserialize, Serialize};

/// Requests of one kind that completed within a sample period.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct IntervalLatency {
    /// How many.
    pub count: u64,
    /// Sum of their latencies, nanoseconds.
    pub sum_ns: u64,
    /// The longest, nanoseconds.
    pub max_ns: u64,
}

impl IntervalLatency {
    /// Count one.
    #[inline(always)]
    pub fn record(&mut self, ns: u64) {
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.max_ns = self.max_ns.max(ns);
    }
}

/// What only the device knows at the end of a sample period.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Gauges {
    /// Pages that are not erased.
    pub used_pages: u64,
    /// Erased blocks.
    pub free_blocks: u64,
    /// Pools that are being collected.
    pub gc_active_pools: u64,
}

/// One row, taken at the end of a sample period.
///
/// The first four numbers after the time are the state at that instant. Those up to
/// `host_writes_completed` count from the start of the measurement (take differences for rates).
/// `read` and `write` count within the sample period.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Sample {
    /// Simulated time.
    pub time_ns: u64,
    /// Pages that are not erased.
    pub used_pages: u64,
    /// Erased blocks.
    pub free_blocks: u64,
    /// Requests submitted and not completed.
    pub pending_requests: u64,
    /// Pools that are being collected.
    pub gc_active_pools: u64,
    /// Pages read by the host.
    pub host_pages_read: u64,
    /// Pages written by the host.
    pub host_pages_written: u64,
    /// Pages programmed by garbage collection.
    pub gc_programs: u64,
    /// Pages programmed for any reason.
    pub all_programs: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Read requests completed.
    pub host_reads_completed: u64,
    /// Write requests completed.
    pub host_writes_completed: u64,
    /// Reads completed within the sample period.
    pub read: IntervalLatency,
    /// Writes completed within the sample period.
    pub write: IntervalLatency,
}

impl Sample {
    /// Names of the columns of [`Series::to_csv`].
    pub const COLUMNS: [&'static str; 18] = [
        "time_ns",
        "used_pages",
        "free_blocks",
        "pending_requests",
        "gc_active_pools",
        "host_pages_read",
        "host_pages_written",
        "gc_programs",
        "all_programs",
        "erases",
        "host_reads_completed",
        "host_writes_completed",
        "interval_reads",
        "interval_read_sum_ns",
        "interval_read_max_ns",
        "interval_writes",
        "interval_write_sum_ns",
        "interval_write_max_ns",
    ];

    /// The numbers under [`Sample::COLUMNS`].
    #[must_use]
    pub const fn values(&self) -> [u64; 18] {
        [
            self.time_ns,
            self.used_pages,
            self.free_blocks,
            self.pending_requests,
            self.gc_active_pools,
            self.host_pages_read,
            self.host_pages_written,
            self.gc_programs,
            self.all_programs,
            self.erases,
            self.host_reads_completed,
            self.host_writes_completed,
            self.read.count,
            self.read.sum_ns,
            self.read.max_ns,
            self.write.count,
            self.write.sum_ns,
            self.write.max_ns,
        ]
    }
}

/// Rows in order of time.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Series {
    /// Sample period, nanoseconds; 0: no series is kept. The last row may come after a shorter period, at the
    /// end of the run.
    pub interval_ns: u64,
    /// The rows.
    pub rows: Vec<Sample>,
}

impl Series {
    /// Empty, with this sample period.
    #[must_use]
    pub const fn new(interval_ns: u64) -> Series {
        Series { interval_ns, rows: Vec::new() }
    }

    /// As CSV with a header; the share of used pages is `used_pages` over the physical pages.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut text = String::with_capacity(300 + self.rows.len() * 140);
        text.push_str(&Sample::COLUMNS.join(","));
        text.push('\n');
        for row in &self.rows {
            for (i, value) in row.values().iter().enumerate() {
                if i > 0 {
                    text.push(',');
                }
                text.push_str(&value.to_string());
            }
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_has_a_header_and_a_line_a_row() {
        let mut row = Sample { time_ns: 100, used_pages: 7, ..Sample::default() };
        row.write.record(30);
        row.write.record(50);
        let series = Series { interval_ns: 100, rows: vec![row, Sample::default()] };
        let csv = series.to_csv();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0].split(',').count(), 18);
        assert_eq!(lines[1], "100,7,0,0,0,0,0,0,0,0,0,0,0,0,0,2,80,50");
        assert_eq!(Series::new(5).to_csv().lines().count(), 1);
    }
}
