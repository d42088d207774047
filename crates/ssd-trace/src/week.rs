//! Published statistics of volumes of the MSR Cambridge traces; see [`crate::stand_in`].

use crate::papers::{self, Column, DEFERRED_GC_RAID, MSR_FIRST_MILLION};
use ssd_core::host::source::SourceError;
use ssd_core::units::SECTOR_BYTES;

/// The volumes.
pub const VOLUMES: [&str; 5] = ["hm_0", "stg_0", "src2_0", "rsrch_0", "wdev_0"];
/// Requests of the first phase.
pub const FIRST_REQUESTS: u64 = 1_000_000;
const WEEK_NS: f64 = 7.0 * 86_400e9;

/// Statistics of the requests in one phase.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Phase {
    /// Requests.
    pub requests: u64,
    /// Share of writes.
    pub write: f64,
    /// Mean size of writes, bytes.
    pub write_bytes: f64,
    /// Mean size of reads, bytes.
    pub read_bytes: f64,
    /// Share of the written bytes that overwrite earlier writes.
    pub update: f64,
    /// Mean time between requests, ns.
    pub gap_ns: f64,
}

/// Statistics of a volume.
#[derive(Clone, PartialEq, Debug)]
pub struct Week {
    /// Size of the range of addresses, bytes.
    pub range_bytes: u64,
    /// Bytes of pages that are written at least once in the week.
    pub unique_bytes: u64,
    /// Phases of the week.
    pub phases: Vec<Phase>,
}

impl Week {
    /// Returns the published statistics of `volume`, one of [`VOLUMES`].
    ///
    /// # Errors
    /// There is no such volume.
    pub fn published(volume: &str) -> Result<Week, SourceError> {
        let column = Column::of(&DEFERRED_GC_RAID, "table2_traces", "trace", volume);
        let Some(column) = column.filter(|_| VOLUMES.contains(&volume)) else {
            let names = VOLUMES.join(", ");
            return Err(SourceError(format!("no stand-in for {volume:?}; there are: {names}")));
        };
        let figure = |key: &str| column.number(key);
        let (requests, write) = (figure("requests"), figure("write_ratio"));
        let unique_bytes = (figure("unique_write_space_gb") * 1e9).round() as u64;
        let range_bytes = (figure("working_set_gb") * 1e9).round() as u64;
        let Some(first) = Column::of(&MSR_FIRST_MILLION, "first_million", "volumes", volume) else {
            let mean = |key: &str| papers::mean(&MSR_FIRST_MILLION, "first_million", key);
            let mut only = Phase {
                requests: requests as u64,
                write,
                write_bytes: mean("mean_write") * SECTOR_BYTES as f64,
                read_bytes: mean("mean_read") * SECTOR_BYTES as f64,
                update: 0.0,
                gap_ns: WEEK_NS / requests,
            };
            only.update = 1.0 - unique_bytes as f64 / (requests * write * only.write_bytes);
            return Ok(Week { range_bytes, unique_bytes, phases: vec![only] });
        };
        let figure = |key: &str| first.number(key);
        let start = Phase {
            requests: FIRST_REQUESTS,
            write: figure("writes") / (figure("writes") + figure("reads")),
            write_bytes: figure("mean_write") * SECTOR_BYTES as f64,
            read_bytes: figure("mean_read") * SECTOR_BYTES as f64,
            update: figure("update"),
            gap_ns: figure("mean_gap_ms") * 1e6,
        };
        let (n, left) = (FIRST_REQUESTS as f64, requests - FIRST_REQUESTS as f64);
        let rest_write = (write * requests - start.write * n) / left;
        let new = start.write * n * start.write_bytes * (1.0 - start.update);
        let rest_bytes = rest_write * left * start.write_bytes;
        let rest = Phase {
            requests: left as u64,
            write: rest_write,
            update: 1.0 - (unique_bytes as f64 - new) / rest_bytes,
            gap_ns: (WEEK_NS - n * start.gap_ns) / left,
            ..start
        };
        Ok(Week { range_bytes, unique_bytes, phases: vec![start, rest] })
    }
}

impl Week {
    /// Returns the number of requests of the week.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.phases.iter().map(|phase| phase.requests).sum()
    }

    /// Returns the week of a volume that is smaller by `divisor`: requests, addresses and written space are divided;
    /// times, sizes and shares are unchanged.
    #[must_use]
    pub fn shrunk(mut self, divisor: u32) -> Week {
        assert!(divisor > 0, "a week divided by zero");
        let by = u64::from(divisor);
        self.range_bytes /= by;
        self.unique_bytes /= by;
        for phase in &mut self.phases {
            phase.requests /= by;
        }
        self
    }
}
