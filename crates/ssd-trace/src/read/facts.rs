//! Facts about a trace, for `trace info` and for the provenance in reports.

use crate::config::Fit;
use crate::read::fit::Record;
use crate::read::page_runs::PageBits;
use crate::read::{reading, readings};
use serde::Serialize;
use ssd_core::host::request::Op;
use ssd_core::metrics::report::TraceLines;
use std::collections::BTreeMap;

/// What was read, which part is used, and how. Counts of requests, pages and bytes are for one loop.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TraceFacts {
    /// Name of the file as given; "standard input" for "-".
    pub file: String,
    /// Format, as in `workload.format`.
    pub format: &'static str,
    /// Units in which times, addresses and lengths were read.
    pub units: String,
    /// Lines of the file, including blank ones; for a binary file, records, here and below.
    pub lines: u64,
    /// Lines of blkparse's and blktrace's own reports, such as the closing summary.
    pub summary_lines: u64,
    /// Lines that could not be used and were skipped (`skip_bad`).
    pub skipped_lines: u64,
    /// Message for the first skipped line.
    pub first_skipped: Option<String>,
    /// Requests before an earlier request in time, which were sorted or skipped.
    pub late_requests: u64,
    /// Whether the requests were sorted by time.
    pub sorted: bool,
    /// Anomalies of the file, for [`TraceFacts::warnings`].
    #[serde(skip)]
    pub notes: Vec<String>,
    /// Events of every action in the whole file, by letter.
    pub events: BTreeMap<char, u64>,
    /// The chosen action.
    pub action: char,
    /// Lines of the format without a request: column names, pauses.
    pub header_lines: u64,
    /// Number of the volume used, as in `workload.volume`.
    pub volume: u64,
    /// Unused records of other volumes.
    pub events_of_other_volumes: u64,
    /// Records that repeat an identical record of the same volume less than 1 ms later; all of them with `dedup`, at
    /// least this many without.
    pub doubled_records: u64,
    /// Whether doubled records were dropped.
    pub dedup: bool,
    /// Time of the file that is time 0 of `from` and `until`, nanoseconds in the file's clock: 0, or the time of the
    /// first record if the format counts from a distant date.
    pub base_ns: u64,
    /// Name of the volume used, such as "MAJ,MIN".
    pub device: String,
    /// Events of the chosen action without data that are not flushes: packet commands, ends of flush sequences. They
    /// are not replayed.
    pub dataless_events: u64,
    /// Events of the chosen action outside the time range.
    pub events_outside_range: u64,
    /// Replayed requests, after the fit.
    pub requests: RequestCounts,
    /// Discards without any page that the range reads or writes, which `fit = "compact"` drops.
    pub empty_discards: u64,
    /// Requests that `fit = "wrap"` split at the end of the device.
    pub split_requests: u64,
    /// Discards at least as long as the device, which `fit = "wrap"` replays as one discard of the whole device.
    pub whole_device_discards: u64,
    /// Device pages read or written.
    pub footprint_pages: u64,
    /// Device pages written.
    pub unique_pages_written: u64,
    /// Streams of the writes and copies, ascending.
    #[serde(skip)]
    pub write_streams: Vec<u8>,
    /// Bytes read, sector by sector as requested.
    pub bytes_read: u64,
    /// Bytes written, sector by sector as requested.
    pub bytes_written: u64,
    /// Bytes discarded, sector by sector, after the fit.
    pub bytes_trimmed: u64,
    /// Start of the range in the file's clock, nanoseconds: time 0 of the replay.
    pub from_ns: u64,
    /// First request, nanoseconds after `from_ns`, before `time_scale`.
    pub first_ns: u64,
    /// Last request, nanoseconds after `from_ns`, before `time_scale`: the length of one loop.
    pub duration_ns: u64,
    /// Digest of the chosen events (time, address, length, operation, flags), before the fit: 16 hexadecimal digits. It
    /// does not depend on compression, on other lines and fields of the file, or on the device.
    pub trace_digest: String,
    /// How addresses were fitted to the device.
    pub fit: Fit,
    /// Number of loops of the trace.
    pub loops: u32,
    /// Factor for all arrival times.
    pub time_scale: f64,
}

/// Requests by operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct RequestCounts {
    /// Reads.
    pub read: u64,
    /// Writes.
    pub write: u64,
    /// Discards.
    pub trim: u64,
    /// Flushes without data.
    pub flush: u64,
    /// Copies.
    pub copy: u64,
}

impl RequestCounts {
    /// Returns the sum.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.read + self.write + self.trim + self.flush + self.copy
    }
}

/// The requests of one loop, counted on the device.
#[derive(Default)]
pub(crate) struct Volume {
    pub(crate) requests: RequestCounts,
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    pub(crate) bytes_trimmed: u64,
    pub(crate) footprint_pages: u64,
    pub(crate) unique_pages_written: u64,
    pub(crate) write_streams: Vec<u8>,
}

impl Volume {
    /// Counts fitted records, on `user_pages` pages of `sectors_per_page` sectors.
    pub(crate) fn of(records: &[Record], sectors_per_page: u64, user_pages: u32) -> Volume {
        let mut volume = Volume::default();
        let (mut touched, mut written) = (PageBits::new(user_pages), PageBits::new(user_pages));
        let mut streams = [false; 256];
        for record in records {
            streams[usize::from(record.stream)] |= record.op() == Op::Write;
            let (first, last) = record.pages(sectors_per_page);
            let bytes = u64::from(record.sectors) * 512;
            match record.op() {
                Op::Read | Op::Write if record.copies() => {
                    volume.requests.copy += u64::from(record.op() == Op::Write);
                    touched.add(first, last);
                }
                Op::Read => {
                    volume.requests.read += 1;
                    volume.bytes_read += bytes;
                    touched.add(first, last);
                }
                Op::Write => {
                    volume.requests.write += 1;
                    volume.bytes_written += bytes;
                    touched.add(first, last);
                    written.add(first, last);
                }
                Op::Trim => {
                    volume.requests.trim += 1;
                    volume.bytes_trimmed += bytes;
                }
                Op::Flush => volume.requests.flush += 1,
                Op::Copy => unreachable!("a copy is several records"),
            }
        }
        volume.footprint_pages = touched.count();
        volume.unique_pages_written = written.count();
        volume.write_streams = (0..=u8::MAX).filter(|&s| streams[usize::from(s)]).collect();
        volume
    }
}

impl TraceFacts {
    /// Returns the counts of lines, for the report.
    #[must_use]
    pub fn line_counts(&self) -> TraceLines {
        TraceLines {
            lines: self.lines,
            skipped: self.skipped_lines,
            late: self.late_requests,
            sorted: self.sorted,
            loss: reading::loss(&self.file, self.skipped_lines, self.lines),
        }
    }

    /// Returns warnings for readers of the results.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let anomalies = reading::Anomalies {
            file: &self.file,
            skipped_lines: self.skipped_lines,
            first_skipped: self.first_skipped.as_deref(),
            doubled_records: self.doubled_records,
            dedup: self.dedup,
            events: &self.events,
            action: self.action,
            notes: &self.notes,
        };
        let mut warnings = anomalies.warnings();
        if self.empty_discards > 0 {
            let touch = if self.empty_discards == 1 { "touches" } else { "touch" };
            warnings.push(format!(
                "{}: {} {touch} no page that the trace reads or writes; left out by fit = \"compact\"",
                self.file,
                readings::of(self.empty_discards, "discard")
            ));
        }
        warnings
    }
}
