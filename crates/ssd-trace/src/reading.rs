//! What every reading of a trace shares: from the bytes of a file to the events of the chosen action
//! in the time range.

use crate::detect;
use crate::formats::{self, Event};
use crate::input;
use crate::scan::{Chosen, Refusal, Scan, Tally};
use ssd_core::config::{TraceFormat, Word, Workload};
use ssd_core::host::request::SourceError;
use std::io::Read;

/// What was read.
pub(crate) struct Found {
    /// The format, found out if it was not said.
    pub(crate) format: TraceFormat,
    pub(crate) tally: Tally,
    /// Events of the chosen action outside the time range.
    pub(crate) outside: u64,
}

/// Reads the trace `raw`, called `file` in messages, and hands every event of the chosen action in
/// the time range to `take`, in order, with its time after the start of the range, nanoseconds.
///
/// Of `workload` the keys that say how to read count: format, action, range, bad lines, doubled
/// records; `volumes` says which volumes are used.
pub(crate) fn each_event(
    file: &str,
    raw: impl Read,
    workload: &Workload,
    volume: Chosen,
    mut take: impl FnMut(&Event, u64) -> Result<(), Refusal>,
) -> Result<Found, SourceError> {
    let Workload { action, from_ns: from, skip_bad, dedup, .. } = *workload;
    check_options(workload)?;
    let plain = input::decompress(raw)
        .map_err(|error| SourceError(format!("{file}: cannot read the trace: {error}")))?;
    let (format, plain) = detect::format_of(file, workload.format, plain)?;
    if action != 'Q' && !formats::has_actions(format) {
        let text = "only traces of blktrace have actions; leave workload.action at \"Q\"";
        return Err(SourceError(format!("{file} is of format {:?}: {text}", format.word())));
    }
    let until = workload.until_ns.unwrap_or(u64::MAX);
    let (mut taken, mut outside) = (0u64, 0u64);
    let scan = Scan { file, action: action as u8, skip_bad, volume, dedup };
    let tally = formats::scan(format, &scan, plain, |event| {
        if event.at_ns < from || event.at_ns >= until {
            outside += 1;
            return Ok(());
        }
        taken += 1;
        take(event, event.at_ns - from)
    })?;
    if taken == 0 {
        return Err(nothing(file, &tally, format, action));
    }
    Ok(Found { format, tally, outside })
}

/// Checks the keys that need no trace.
fn check_options(workload: &Workload) -> Result<(), SourceError> {
    let Workload { action, from_ns, until_ns, .. } = workload;
    if !matches!(action, 'Q' | 'D' | 'C') {
        let text = format!("workload.action is {action:?}; it must be \"Q\", \"D\" or \"C\"");
        return Err(SourceError(text));
    }
    if let Some(until) = until_ns
        && until <= from_ns
    {
        return Err(SourceError(format!(
            "workload.until ({until} ns) is not after workload.from ({from_ns} ns); give a range"
        )));
    }
    Ok(())
}

/// The message when no event can be used.
fn nothing(file: &str, tally: &Tally, format: TraceFormat, action: char) -> SourceError {
    let events: Vec<String> =
        tally.events(action as u8).iter().map(|(name, count)| format!("{name}: {count}")).collect();
    let has_actions = formats::has_actions(format);
    let wanted = if has_actions { format!("{action} events") } else { "requests".to_owned() };
    SourceError(if tally.lines == 0 && format == TraceFormat::Ssdtrace {
        format!("{file}: the trace file holds no requests")
    } else if tally.lines == 0 {
        format!("{file}: the trace is empty (0 bytes)")
    } else if let Some((first, last)) = tally.times {
        format!(
            "{file}: no {wanted} in the time range; they run from {first} ns to {last} ns; \
             change workload.from and workload.until"
        )
    } else if let Some(message) = &tally.first_skipped
        && events.is_empty()
    {
        format!("{file}: all {} lines were skipped; the first: {message}", tally.skipped_lines)
    } else if events.is_empty() {
        let what = if has_actions { "events" } else { "requests" };
        format!("{file}: no {what} in {} lines", tally.lines)
    } else {
        let found = events.join(", ");
        format!("{file}: no usable {wanted}; found {found}; change workload.action")
    })
}

/// What a reader of any results should know: lines of `file` that were skipped, the message for the
/// `first` of them, and records that repeat another and were not dropped.
pub(crate) fn warnings(
    file: &str,
    skipped: u64,
    first: Option<&str>,
    doubled: u64,
    records: u64,
) -> Vec<String> {
    let mut all = Vec::new();
    if skipped > 0 {
        let first = first.unwrap_or("not recorded");
        all.push(format!(
            "{file}: {skipped} lines could not be read and were skipped; the first: {first}"
        ));
    }
    if doubled > 0 && doubled * 100 >= records {
        all.push(format!(
            "{file}: at least {doubled} of {records} records repeat an identical one less than 1 ms \
             earlier, as logs of stacked devices do; workload.dedup = true drops them"
        ));
    }
    all
}
