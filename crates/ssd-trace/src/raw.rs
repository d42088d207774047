//! The requests of a trace as they stand in the file: neither fitted to a device nor repeated.

use crate::detect;
use crate::formats;
use crate::input;
use crate::scan::{Refusal, Scan};
use serde::Serialize;
use ssd_core::config::{TraceFormat, Workload};
use ssd_core::host::request::{Request, SourceError, TimedRequest};
use ssd_core::units::Nanos;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::rc::Rc;

/// Requests between two looks at the progress.
const LOOK_EVERY: u64 = 1 << 15;

/// What was read.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Reading {
    /// Name of the file; "standard input" for "-".
    pub file: String,
    /// Lines of the file.
    pub lines: u64,
    /// Lines that could not be used and were skipped.
    pub skipped_lines: u64,
    /// Message for the first of them.
    pub first_skipped: Option<String>,
    /// Events of every action in the file, by its letter.
    pub events: BTreeMap<char, u64>,
    /// The action that was taken.
    pub action: char,
    /// Events of that action without data that are no flush.
    pub dataless_events: u64,
    /// Events of that action outside the time range.
    pub events_outside_range: u64,
}

/// Why reading ended early.
#[derive(Clone, PartialEq, Debug)]
pub enum Stopped {
    /// The trace cannot be used.
    Refused(SourceError),
    /// The watcher said so.
    Interrupted,
}

/// Counts the bytes that pass.
struct Counted<R> {
    reader: R,
    bytes: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.bytes.set(self.bytes.get() + count as u64);
        Ok(count)
    }
}

/// Reads the trace that `workload` names and hands every request in its time range to `take`, in
/// order; time 0 is the start of the range. Of `workload` only the keys that say how to read count:
/// action, range, bad lines. `progress` is told the bytes read of the file now and then.
///
/// # Errors
/// The file cannot be read, a line is bad, there are no requests, or `take` refused one.
pub fn each_request(
    workload: &Workload,
    mut progress: impl FnMut(u64) -> ControlFlow<()>,
    mut take: impl FnMut(&TimedRequest) -> Result<(), SourceError>,
) -> Result<Reading, Stopped> {
    let refused = |text: String| Stopped::Refused(SourceError(text));
    let path = workload.trace.as_deref().unwrap_or("-");
    let file = input::display_name(path);
    if !matches!(workload.action, 'Q' | 'D' | 'C') {
        let text = format!("workload.action is {:?}; it must be Q, D or C", workload.action);
        return Err(refused(text));
    }
    let bytes = Rc::new(Cell::new(0));
    let raw = input::open(path).map_err(Stopped::Refused)?;
    let counted = Counted { reader: raw, bytes: Rc::clone(&bytes) };
    let reader = input::decompress(Box::new(counted)).map_err(|error| {
        refused(format!("{file}: cannot read the trace: {error}; check the file"))
    })?;
    let (from, until) = (workload.from_ns, workload.until_ns.unwrap_or(u64::MAX));
    let (mut taken, mut outside, mut seen, mut interrupted) = (0u64, 0u64, 0u64, false);
    let (format, reader) = match workload.format {
        TraceFormat::Auto => detect::format_of(&file, reader).map_err(Stopped::Refused)?,
        format => (format, reader),
    };
    let Workload { skip_bad, volume, dedup, .. } = *workload;
    let scan = Scan { file: &file, action: workload.action as u8, skip_bad, volume, dedup };
    let done = formats::scan(format, &scan, reader, |event| {
        seen += 1;
        if seen.is_multiple_of(LOOK_EVERY) && progress(bytes.get()).is_break() {
            interrupted = true;
            return Err(Refusal::Trace(SourceError(String::new())));
        }
        if event.at_ns < from || event.at_ns >= until {
            outside += 1;
            return Ok(());
        }
        taken += 1;
        let request =
            Request { flags: event.flags, ..Request::new(event.op, event.sector, event.sectors) };
        let timed = TimedRequest { at: Nanos(event.at_ns - from), request };
        take(&timed).map_err(|SourceError(why)| {
            Refusal::Trace(SourceError(format!("{file}, request {taken}: {why}")))
        })
    });
    if interrupted {
        return Err(Stopped::Interrupted);
    }
    let tally = done.map_err(Stopped::Refused)?;
    let events = tally.events(workload.action as u8);
    let reading = Reading {
        lines: tally.lines,
        skipped_lines: tally.skipped_lines,
        first_skipped: tally.first_skipped,
        events,
        action: workload.action,
        dataless_events: tally.dataless,
        events_outside_range: outside,
        file,
    };
    if taken == 0 { Err(refused(reading.nothing())) } else { Ok(reading) }
}

impl Reading {
    /// The message when there is no request.
    fn nothing(&self) -> String {
        let Reading { file, lines, action, events, .. } = self;
        if *lines == 0 {
            return format!("{file}: the trace is empty (0 bytes); check the file");
        }
        if self.events_outside_range > 0 {
            let remedy = "change workload.from and workload.until";
            return format!("{file}: no {action} events in the time range; {remedy}");
        }
        if let Some(message) = &self.first_skipped {
            return format!("{file}: no usable {action} events; the first line skipped: {message}");
        }
        if events.is_empty() {
            return format!("{file}: no events in {lines} lines; check the file");
        }
        let found: Vec<String> =
            events.iter().map(|(name, count)| format!("{name}: {count}")).collect();
        let found = found.join(", ");
        format!("{file}: no usable {action} events; found {found}; set workload.action")
    }
}
