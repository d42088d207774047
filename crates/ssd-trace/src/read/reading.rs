//! The common part of all readings of a trace: from the bytes of a file to the events of the chosen action in the time
//! range.

use crate::config::{TraceUnit, Workload};
use crate::read::commands::{command, filter_of, list, one_of, options_without, word};
use crate::read::detect::{self, DetectedFormat};
use crate::read::formats::{self, Event, Format, ReadAs, TraceFormat, Work};
use crate::read::input::{Watch, WatchedReader, unreadable};
use crate::read::readings::{self, Counts};
use crate::read::scan::{Refusal, Scan};
use crate::read::tally::{LETTERS_AT_ISSUE, Tally};
use crate::read::unpack::unpacked;
use crate::read::volumes::VolumeSelection;
use ssd_core::config::Word;
use ssd_core::host::source::SourceError;
use ssd_core::metrics::numbers::count;
use std::collections::BTreeMap;
use std::io::Read;

/// The warning about a trace without any time.
const AT_ONCE: &str = "all of its requests arrive at the same time; to keep a fixed number of them outstanding \
                       instead, run it with --pace closed";

/// What was read.
pub(crate) struct ReadingSummary {
    /// The format, configured or detected.
    pub(crate) format: TraceFormat,
    /// The chosen action.
    pub(crate) action: char,
    pub(crate) tally: Tally,
    /// Events of the chosen action outside the time range.
    pub(crate) outside: u64,
    /// Units of times, addresses and lengths, as text.
    pub(crate) units: String,
    /// Anomalies of the file.
    pub(crate) warnings: Vec<String>,
}

impl ReadingSummary {
    /// Returns the warnings for readers of any results of the trace `file`; `dedup`: repeated records were dropped.
    pub(crate) fn all_warnings(&self, file: &str, dedup: bool) -> Vec<String> {
        let anomalies = Anomalies {
            file,
            skipped_lines: self.tally.skipped_lines,
            first_skipped: self.tally.first_skipped.as_deref(),
            doubled_records: self.tally.doubled,
            dedup,
            events: &self.tally.events(self.action as u8),
            action: self.action,
            notes: &self.warnings,
        };
        anomalies.warnings()
    }
}

/// Reads the trace `raw`, called `file` in messages, and passes every event of the chosen action in the time range to
/// `take`, in order, with its time after the start of the range, nanoseconds.
///
/// Only the keys of `workload` about reading apply: format, action, range, bad lines, doubled records; `volumes`
/// selects the volumes used.
pub(crate) fn each_event(
    file: &str,
    raw: impl Read,
    watch: &Watch<'_>,
    workload: &Workload,
    volume: VolumeSelection,
    mut take: impl FnMut(&Event, u64) -> Result<(), Refusal>,
) -> Result<ReadingSummary, SourceError> {
    let Workload { from_ns: from, skip_bad, dedup, sort, .. } = *workload;
    check_options(workload)?;
    let plain = unpacked(WatchedReader::new(raw, watch))
        .map_err(|error| unreadable(file, "line 1", &error))?;
    let DetectedFormat { format, read_as, is_detected, notes, skipping, instead, actions, reader } =
        detect::format_of(file, workload, plain)?;
    let action = char::from(read_as.action);
    if action != 'Q' && !formats::has_actions(format) {
        let text = "only traces of blktrace have actions; leave workload.action at \"Q\"";
        return Err(SourceError(format!("{file} is of format {:?}: {text}", format.word())));
    }
    let units = read_as.units(format);
    let until = workload.until_ns.unwrap_or(u64::MAX);
    let (mut count, mut outside) = (0u64, 0u64);
    let open = formats::unit_varies(format) && workload.unit == TraceUnit::Auto;
    let scan = Scan {
        file,
        workload,
        read_as,
        skip_bad,
        skipping,
        instead,
        volume,
        dedup,
        sort,
        unit_of_pages: open.then_some(workload.page_bytes),
        watch,
    };
    let tally = run_as(format, &scan, reader, |event| {
        if event.at_ns < from || event.at_ns >= until {
            outside += 1;
            return Ok(());
        }
        count += 1;
        take(event, event.at_ns - from)
    })
    .map_err(|error| with_given(error, workload))?;
    if count == 0 {
        return Err(nothing(file, &tally, (format, action), &actions, workload));
    }
    refuse_loss(file, &tally, workload)?;
    if action != workload.action {
        refuse_queued(file, &tally, workload)?;
    }
    if is_detected {
        refuse_impossible(file, &tally, format, &scan.read_as)?;
    }
    let warnings = doubts(file, workload, (format, is_detected), &scan.read_as, &tally);
    let warnings = warnings.into_iter().map(|text| format!("{file}: {text}"));
    let warnings = notes.into_iter().chain(warnings).collect();
    Ok(ReadingSummary { format, action, tally, outside, units, warnings })
}

/// Adds the options from `workload` to the command at the end of the message, which reads the same trace from standard
/// input.
fn with_given(error: SourceError, workload: &Workload) -> SourceError {
    if !error.0.ends_with("| ssdlab trace info -") {
        return error;
    }
    SourceError(format!("{} {}", error.0, options_without(workload, "")).trim_end().to_owned())
}

/// Returns notes for readers of the results about a trace in `format`, which was detected or configured.
fn doubts(
    file: &str,
    workload: &Workload,
    (format, is_detected): (TraceFormat, bool),
    read_as: &ReadAs,
    tally: &Tally,
) -> Vec<String> {
    let in_pages = in_pages(format, workload, read_as);
    let mut warnings = tally.shape.warnings(format, in_pages.as_deref());
    let is_timed = read_as.columns.as_ref().is_none_or(|columns| columns.time.is_some());
    if is_timed && tally.shape.is_at_once() {
        warnings.push(AT_ONCE.to_owned());
    }
    if is_detected {
        warnings.extend(tally.waits.doubt(file));
    }
    warnings.extend(tally.doubt_of_end(format));
    if let Some(skips) = &tally.skips {
        warnings.push(format!("events are missing: blkparse reports at the end, Skips: {skips}"));
    }
    if workload.sort && tally.late.events > 0 {
        warnings.push(format!("sorted: {}", tally.late.describe()));
        warnings.extend(tally.late.seams());
    }
    warnings
}

/// Returns the options that read a trace in pages of 4 KiB instead of sectors, if its unit is not set and may be pages.
fn in_pages(format: TraceFormat, workload: &Workload, read_as: &ReadAs) -> Option<String> {
    match &read_as.columns {
        None if format == TraceFormat::Fiu => {
            let columns = "separator=blanks,time=1:ns,op=6,offset=4:4KiB,size=5:4KiB";
            Some(format!("--columns {columns}"))
        }
        None => (formats::unit_varies(format) && workload.unit == TraceUnit::Auto)
            .then(|| "--unit pages".to_owned()),
        Some(columns) => (workload.columns.is_none() && columns.is_in_sectors())
            .then(|| format!("--columns {}", word(&columns.text.replace(":512B", ":4KiB")))),
    }
}

/// A pass with the parser of a format.
struct Pass<'s, 'a, 'w, R, T> {
    scan: &'s Scan<'a, 'w>,
    reader: R,
    take: T,
}

impl<R: Read, T: FnMut(&Event) -> Result<(), Refusal>> Work for Pass<'_, '_, '_, R, T> {
    type Output = Result<Tally, SourceError>;

    fn with<P: Format>(self) -> Self::Output {
        self.scan.run(P::new(&self.scan.read_as), self.reader, self.take)
    }
}

/// Reads all of `reader` as `format`, the detected format; see [`Scan::run`].
fn run_as(
    format: TraceFormat,
    scan: &Scan<'_, '_>,
    reader: impl Read,
    take: impl FnMut(&Event) -> Result<(), Refusal>,
) -> Result<Tally, SourceError> {
    assert_ne!(format, TraceFormat::Auto, "the format is detected before the trace is read");
    if format == TraceFormat::Ssdtrace {
        return scan.run_trace_file(reader, take);
    }
    formats::with(format, Pass { scan, reader, take }).expect("the format has a parser")
}

/// Refuses a trace that has lost a larger share of its lines than `workload.max_bad`.
fn refuse_loss(file: &str, tally: &Tally, workload: &Workload) -> Result<(), SourceError> {
    let (skipped, lines, most) = (tally.skipped_lines, tally.lines, workload.max_bad);
    if skipped as f64 <= most * lines as f64 {
        return Ok(());
    }
    let late = if tally.late.events > 0 && tally.sorted == 0 {
        let text = tally.late.describe();
        format!(" ({text}: workload.sort = true (--sort) reads these in order of time)")
    } else {
        String::new()
    };
    let first = tally.first_skipped.as_deref().unwrap_or("not recorded");
    let share = (skipped as f64 / lines as f64 * 1000.0).ceil() / 1000.0;
    Err(SourceError(format!(
        "{file}: {} of {} lines ({:.1} %) were skipped{late}; workload.max_bad = {most} allows {:.1} %; \
         the first: {first}; correct them, or accept a trace without them: {}",
        count(skipped),
        count(lines),
        100.0 * skipped as f64 / lines as f64,
        100.0 * most,
        command(
            file,
            &format!("{}--set workload.max_bad={share:.3}", options_without(workload, ""))
        ),
    )))
}

/// Checks the keys that can be checked without a trace.
pub(crate) fn check_options(workload: &Workload) -> Result<(), SourceError> {
    let Workload { action, from_ns, until_ns, .. } = workload;
    if !matches!(action, 'Q' | 'D' | 'C') {
        let text = format!("workload.action is {action:?}; it must be \"Q\", \"D\" or \"C\"");
        return Err(SourceError(text));
    }
    if let Some(until) = until_ns
        && until <= from_ns
    {
        return Err(SourceError(format!(
            "workload.until ({until} ns) is not after workload.from ({from_ns} ns); set a later end"
        )));
    }
    Ok(())
}

/// Returns the error if no event can be used.
pub(crate) fn nothing(
    file: &str,
    tally: &Tally,
    (format, action): (TraceFormat, char),
    actions: &[(char, String)],
    workload: &Workload,
) -> SourceError {
    let events: Vec<String> =
        tally.events(action as u8).iter().map(|(name, count)| format!("{name}: {count}")).collect();
    let has_actions = formats::has_actions(format);
    let requested = if has_actions { format!("{action} events") } else { "requests".to_owned() };
    SourceError(if tally.lines == 0 && format == TraceFormat::Ssdtrace {
        format!("{file}: the trace file holds no requests")
    } else if tally.lines == 0 {
        format!("{file}: the trace is empty (0 bytes)")
    } else if let Some((first, last)) = tally.times {
        format!(
            "{file}: no {requested} in the time range; the trace has them from {first} ns to {last} ns; \
             change workload.from and workload.until"
        )
    } else if let Some(message) = &tally.first_skipped
        && events.is_empty()
    {
        format!("{file}: all {} lines were skipped; the first: {message}", tally.skipped_lines)
    } else if events.is_empty() {
        let noun = if has_actions { "events" } else { "requests" };
        format!("{file}: no {noun} in {} lines", tally.lines)
    } else {
        let names = events.join(", ");
        let settled = if has_actions {
            remedy(file, &options_without(workload, "action"), &tally.events(action as u8), actions)
        } else {
            None
        };
        let settled = settled.unwrap_or_else(|| "none of these is a request".to_owned());
        format!("{file}: no usable {requested}; found {names}; {settled}")
    })
}

/// Refuses a trace in a detected format if no device has its addresses.
fn refuse_impossible(
    file: &str,
    tally: &Tally,
    format: TraceFormat,
    read_as: &ReadAs,
) -> Result<(), SourceError> {
    let Some(reason) = tally.shape.impossible() else { return Ok(()) };
    let line = tally.far_line.map(|line| format!(" (first in line {})", count(line)));
    let text = reason + &line.unwrap_or_default();
    let reading = command(file, &detect::insisted(format, read_as));
    Err(SourceError(if read_as.columns.is_some() {
        format!(
            "{file}: its columns fit its lines, but the numbers are impossible: {text}; correct \
             them or workload.columns (--columns), or read them anyway: {reading}"
        )
    } else {
        format!(
            "{file}: its lines fit format {:?}, but the numbers are impossible: {text}; correct them, \
             name its columns (--columns), or read it in that format anyway: {reading}",
            format.word()
        )
    }))
}

/// Refuses a log with requests taken at their issue if it has events that occur only before the issue.
fn refuse_queued(file: &str, tally: &Tally, workload: &Workload) -> Result<(), SourceError> {
    let events = tally.events(b'D');
    let early = |letter: &&char| !LETTERS_AT_ISSUE.contains(&(**letter as u8));
    let early_events: Vec<String> = events.keys().filter(early).map(char::to_string).collect();
    if early_events.is_empty() {
        return Ok(());
    }
    let options = options_without(workload, "action");
    let issues = Counts::from(&tally.shape).summary();
    let mut choices =
        vec![(command(file, &format!("{options}--set workload.action=D")), format!("D: {issues}"))];
    if let (Some(line), Some(queued)) = (tally.queued_line, events.get(&'Q')) {
        let filter = format!("tail -n +{line} FILE");
        let filter = filter_of(file, [filter.as_str()].into_iter());
        let queued = readings::of(*queued, "event");
        let command = format!("{filter} | ssdlab trace info - {options}").trim_end().to_owned();
        choices.push((command, format!("Q: {queued}, the first in line {}", count(line))));
    }
    Err(SourceError(format!(
        "{file}: its first lines have only issues (D) and completions of requests, but {} events follow further down; \
         {}",
        early_events.join(", "),
        list(&choices, str::to_owned)
    )))
}

/// Returns the commands that choose one of the actions in the file.
fn remedy(
    file: &str,
    options: &str,
    events: &BTreeMap<char, u64>,
    actions: &[(char, String)],
) -> Option<String> {
    let usable = ['D', 'Q', 'C'].into_iter().filter(|letter| events.contains_key(letter));
    let choice = |letter: char| {
        let gives = actions.iter().find(|(action, _)| *action == letter);
        let gives = gives
            .map_or_else(|| readings::of(events[&letter], "event"), |(_, gives)| gives.clone());
        let note =
            if letter == 'C' { " (at the times of completions, not of arrivals)" } else { "" };
        (format!("{options}--set workload.action={letter}"), gives + note)
    };
    let choices: Vec<(String, String)> = usable.map(choice).collect();
    (!choices.is_empty()).then(|| one_of(file, &choices))
}

/// Returns the error if there are events, but none reads or writes a page.
pub(crate) fn no_page(file: &str, workload: &Workload) -> SourceError {
    let is_part = workload.from_ns > 0 || workload.until_ns.is_some();
    let rest = if is_part {
        " in the time range; widen it (workload.from, workload.until)"
    } else {
        ", and discards and flushes of an empty drive have no effect"
    };
    SourceError(format!("{file}: no page is read or written{rest}"))
}

/// Share of lines above which a loss is reported before all results.
const MUCH: f64 = 0.01;

/// Returns the message before all results if many of `lines` lines were `skipped`.
pub(crate) fn loss(file: &str, skipped: u64, lines: u64) -> Option<String> {
    (skipped as f64 > MUCH * lines as f64).then(|| {
        format!(
            "{file}: {} of {} lines ({:.1} %) were skipped: the results below are those of the rest",
            count(skipped),
            count(lines),
            100.0 * skipped as f64 / lines as f64
        )
    })
}

/// What readers of any results should know about a trace.
pub(crate) struct Anomalies<'a> {
    pub(crate) file: &'a str,
    /// Number of skipped lines, and the message for the first of them.
    pub(crate) skipped_lines: u64,
    pub(crate) first_skipped: Option<&'a str>,
    /// Number of records that repeat another, and whether they were dropped.
    pub(crate) doubled_records: u64,
    pub(crate) dedup: bool,
    /// Events by action, and the chosen action.
    pub(crate) events: &'a BTreeMap<char, u64>,
    pub(crate) action: char,
    pub(crate) notes: &'a [String],
}

impl Anomalies<'_> {
    pub(crate) fn warnings(&self) -> Vec<String> {
        let (file, skipped, doubled) = (self.file, self.skipped_lines, self.doubled_records);
        let records = self.events.get(&self.action).copied().unwrap_or(0);
        let mut warnings = Vec::new();
        if skipped > 0 {
            let first = self.first_skipped.unwrap_or("not recorded");
            warnings.push(format!(
                "{file}: {} could not be read and {} skipped; the first: {first}",
                readings::of(skipped, "line"),
                if skipped == 1 { "was" } else { "were" }
            ));
        }
        if !self.dedup && doubled > 0 && doubled * 100 >= records {
            warnings.push(format!(
                "{file}: at least {doubled} of {records} records repeat{} an identical one less than 1 ms \
                 earlier, as logs of stacked devices do; workload.dedup = true drops them",
                if doubled == 1 { "s" } else { "" }
            ));
        }
        warnings.extend(self.notes.iter().cloned());
        warnings
    }
}
