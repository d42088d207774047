//! The requests of a trace as recorded, neither fitted to a device nor repeated.

use crate::config::Workload;
use crate::read::input::{self, Step, Watch};
use crate::read::reading::{self, Anomalies, ReadingSummary};
use crate::read::scan::Refusal;
use crate::read::volumes::{Numbers, VolumeSelection};
use serde::Serialize;
use ssd_core::config::Word;
use ssd_core::host::request::TimedRequest;
use ssd_core::host::source::SourceError;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// What was read.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Reading {
    /// Name of the file; "standard input" for "-".
    pub file: String,
    /// Format, as in `workload.format`.
    pub format: &'static str,
    /// Units in which times, addresses and lengths were read.
    pub units: String,
    /// Lines of the file; records of a binary file, requests of an ssdlab trace file.
    pub lines: u64,
    /// Lines that could not be used and were skipped.
    pub skipped_lines: u64,
    /// Message for the first skipped line.
    pub first_skipped: Option<String>,
    /// Requests before an earlier request in time, which were sorted or skipped.
    pub late_requests: u64,
    /// Whether the requests were sorted by time.
    pub sorted: bool,
    /// A message to show before all results if more than 1 % of the lines were skipped.
    pub loss: Option<String>,
    /// Anomalies of the file, for [`Reading::warnings`].
    #[serde(skip)]
    pub notes: Vec<String>,
    /// Events of every action in the file, by letter.
    pub events: BTreeMap<char, u64>,
    /// The chosen action.
    pub action: char,
    /// Events of the chosen action without data that are not flushes.
    pub dataless_events: u64,
    /// Events of the chosen action outside the time range.
    pub events_outside_range: u64,
    /// Number of the volume used, as in `workload.volume`; 0 with each volume separately.
    pub volume: u64,
    /// Name of the volume used, such as "MAJ,MIN".
    pub device: String,
    /// Records that repeat an identical record of the same volume less than 1 ms later; all of them with `dedup`, at
    /// least this many without. For [`Reading::warnings`]; [`crate::read::info`] has a separate count.
    #[serde(skip)]
    pub doubled_records: u64,
    /// Whether doubled records were dropped.
    #[serde(skip)]
    pub dedup: bool,
}

impl Reading {
    /// Returns warnings for readers of the results.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let anomalies = Anomalies {
            file: &self.file,
            skipped_lines: self.skipped_lines,
            first_skipped: self.first_skipped.as_deref(),
            doubled_records: self.doubled_records,
            dedup: self.dedup,
            events: &self.events,
            action: self.action,
            notes: &self.notes,
        };
        anomalies.warnings()
    }
}

/// The reason why reading ended early.
#[derive(Clone, PartialEq, Debug)]
pub enum ReadingError {
    /// The trace cannot be used.
    Refused(SourceError),
    /// The watcher ended it.
    Interrupted,
}

/// A trace that was read volume by volume.
#[derive(Clone, PartialEq, Debug)]
pub struct VolumesReading {
    /// What was read.
    pub reading: Reading,
    /// Name of each volume, such as "MAJ,MIN", by its number.
    pub names: BTreeMap<u64, String>,
}

/// Reads the trace that `workload` names and passes every request in its time range to `take`, in order. Time 0 is the
/// start of the range; with `workload.volume = "all"` each request has the number of its volume. Only the keys of
/// `workload` about reading apply: format, action, volume, range, bad lines, doubled records. `progress` is called
/// periodically.
///
/// # Errors
/// The file cannot be read, a line is bad, there are no requests, or `take` has refused one.
pub fn each_request(
    workload: &Workload,
    progress: impl FnMut(Step) -> ControlFlow<()>,
    mut take: impl FnMut(&TimedRequest) -> Result<(), SourceError>,
) -> Result<Reading, ReadingError> {
    let volume = VolumeSelection::of(workload.volume);
    read(workload, volume, progress, |_, timed| take(timed)).map(|result| result.reading)
}

/// Like [`each_request`], for every volume: `take` also receives its number. The requests of a volume are the same as
/// if it were the only one.
///
/// # Errors
/// As for [`each_request`].
pub fn each_request_by_volume(
    workload: &Workload,
    progress: impl FnMut(Step) -> ControlFlow<()>,
    take: impl FnMut(u64, &TimedRequest) -> Result<(), SourceError>,
) -> Result<VolumesReading, ReadingError> {
    read(workload, VolumeSelection::Each, progress, take)
}

/// Returns the name of the trace in messages.
#[must_use]
pub fn file_name(workload: &Workload) -> String {
    input::display_name(workload.trace.as_deref().unwrap_or("-"))
}

fn read(
    workload: &Workload,
    volume: VolumeSelection,
    mut progress: impl FnMut(Step) -> ControlFlow<()>,
    mut take: impl FnMut(u64, &TimedRequest) -> Result<(), SourceError>,
) -> Result<VolumesReading, ReadingError> {
    let path = workload.trace.as_deref().unwrap_or("-");
    let file = file_name(workload);
    let (mut count, watch) = (0u64, Watch::new(&mut progress));
    let raw = match input::open(path, &watch) {
        Ok(raw) => raw,
        Err(_) if watch.stopped() => return Err(ReadingError::Interrupted),
        Err(error) => return Err(ReadingError::Refused(error)),
    };
    let mut numbers = Numbers::default();
    let read = reading::each_event(&file, raw, &watch, workload, volume, |event, at| {
        count += 1;
        let timed = match volume {
            VolumeSelection::All => numbers.request(event, at),
            _ => Ok(event.request(at)),
        };
        timed.and_then(|timed| take(event.volume, &timed)).map_err(|SourceError(reason)| {
            Refusal::Trace(SourceError(format!("{file}, request {count}: {reason}")))
        })
    });
    if watch.stopped() {
        return Err(ReadingError::Interrupted);
    }
    let ReadingSummary { format, action, tally, outside, units, mut warnings } =
        read.map_err(ReadingError::Refused)?;
    warnings.extend(numbers.note(&file, &tally.names));
    let events = tally.events(action as u8);
    let (volume, device) = tally.volume.unwrap_or_default();
    let reading = Reading {
        format: format.word(),
        units,
        notes: warnings,
        loss: reading::loss(&file, tally.skipped_lines, tally.lines),
        late_requests: tally.late.events,
        sorted: workload.sort,
        volume,
        device,
        doubled_records: tally.doubled,
        dedup: workload.dedup,
        lines: tally.lines,
        skipped_lines: tally.skipped_lines,
        events,
        first_skipped: tally.first_skipped,
        action,
        dataless_events: tally.dataless,
        events_outside_range: outside,
        file,
    };
    Ok(VolumesReading { reading, names: tally.names })
}
