//! A whole trace: every line is an event, a part of blkparse's own report, blank, or an error.

use crate::block_event::{Event, LINE_FORM, Line, Reject, parse_line};
use crate::lines::{Lines, MAX_LINE, Text};
use ssd_core::host::request::SourceError;
use std::collections::BTreeMap;
use std::io::{self, Read};

/// Characters of a bad line that are shown.
const SHOWN: usize = 60;

/// Why an event was not taken.
pub(crate) enum Refusal {
    /// Its line is bad (`skip_bad` skips it).
    Line(Reject),
    /// The trace cannot be used.
    Trace(SourceError),
}

/// Counts over the whole file.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) lines: u64,
    pub(crate) summary_lines: u64,
    pub(crate) skipped_lines: u64,
    pub(crate) first_skipped: Option<String>,
    pub(crate) dataless: u64,
    /// First and last time of the chosen action, nanoseconds.
    pub(crate) times: Option<(u64, u64)>,
    pub(crate) device: Option<(u32, u32)>,
    chosen: u64,
    others: Vec<u64>,
}

impl Tally {
    /// Events by action.
    pub(crate) fn events(&self, action: u8) -> BTreeMap<char, u64> {
        let mut events: BTreeMap<char, u64> = (0u8..)
            .zip(self.others.iter().copied())
            .filter(|&(_, count)| count > 0)
            .map(|(letter, count)| (char::from(letter), count))
            .collect();
        if self.chosen > 0 {
            events.insert(char::from(action), self.chosen);
        }
        events
    }
}

/// One pass over a trace.
pub(crate) struct Scan<'a> {
    /// Name in messages.
    pub(crate) file: &'a str,
    /// Letter of the chosen action.
    pub(crate) action: u8,
    /// Count and skip lines that cannot be used.
    pub(crate) skip_bad: bool,
}

impl Scan<'_> {
    /// Reads all of `reader`, hands every event of the chosen action to `take`, in order.
    pub(crate) fn run(
        &self,
        reader: impl Read,
        mut take: impl FnMut(&Event) -> Result<(), Refusal>,
    ) -> Result<Tally, SourceError> {
        let mut lines = Lines::new(reader);
        let mut tally = Tally { others: vec![0; 128], ..Tally::default() };
        let (mut in_summary, mut after) = (false, None);
        loop {
            let number = lines.number() + 1;
            let text = match lines.next_line() {
                Ok(Some(text)) => text,
                Ok(None) => break,
                Err(error) => return Err(self.unreadable(number, &error)),
            };
            tally.lines = number;
            let reject = match self.line(&text, &mut tally, &mut after, &mut take) {
                Ok(event) => {
                    in_summary &= !event;
                    continue;
                }
                Err(Refusal::Trace(error)) => return Err(error),
                Err(Refusal::Line(reject)) => reject,
            };
            in_summary |= starts_report(text.bytes);
            if in_summary && is_report(&text) {
                tally.summary_lines += 1;
                continue;
            }
            let message = self.message(number, &text, &reject, &tally);
            if !self.skip_bad {
                return Err(SourceError(message));
            }
            tally.skipped_lines += 1;
            tally.first_skipped.get_or_insert(message);
        }
        Ok(tally)
    }

    /// One line; true if it is an event.
    #[inline(always)]
    fn line(
        &self,
        text: &Text<'_>,
        tally: &mut Tally,
        after: &mut Option<u64>,
        take: &mut impl FnMut(&Event) -> Result<(), Refusal>,
    ) -> Result<bool, Refusal> {
        if !text.whole {
            let expected = format!("a line of at most {MAX_LINE} bytes");
            return Err(Refusal::Line(Reject::new(expected, 0)));
        }
        let event = match parse_line(text.bytes, self.action).map_err(Refusal::Line)? {
            Line::Blank => return Ok(false),
            Line::Other(letter) => {
                tally.others[usize::from(letter & 127)] += 1;
                return Ok(true);
            }
            Line::Dataless => {
                (tally.dataless, tally.chosen) = (tally.dataless + 1, tally.chosen + 1);
                return Ok(true);
            }
            Line::Event(event) => event,
        };
        if let Some(earliest) = *after
            && event.at_ns < earliest
        {
            let expected = format!("a time not before that of the event above it, {earliest} ns");
            return Err(Refusal::Line(Reject::new(expected, 0)));
        }
        if *tally.device.get_or_insert(event.device) != event.device {
            let (major, minor) = tally.device.unwrap_or_default();
            let expected = format!("the device of the first event, {major},{minor}, alone");
            return Err(Refusal::Line(Reject::new(expected, 0)));
        }
        take(&event)?;
        *after = Some(event.at_ns);
        tally.chosen += 1;
        tally.times = Some((tally.times.map_or(event.at_ns, |times| times.0), event.at_ns));
        Ok(true)
    }

    /// The message for a bad line.
    #[cold]
    fn message(&self, number: u64, text: &Text<'_>, reject: &Reject, tally: &Tally) -> String {
        let Scan { file, .. } = self;
        let found = shown(text.bytes);
        let events: u64 = tally.chosen + tally.others.iter().sum::<u64>();
        if events == 0 && tally.skipped_lines == 0 && parse_line(text.bytes, 0).is_err() {
            return format!(
                "{file}, line {number}: this is not block-event text: expected {LINE_FORM}, as \
                 blkparse prints it, found {found}; give a text trace, plain or as .zst or .gz \
                 (line read as far as byte {}: expected {})",
                reject.column + 1,
                reject.expected,
            );
        }
        let (expected, column) = (&reject.expected, reject.column + 1);
        let remedy = if expected.ends_with("alone") {
            "cut the trace to one device (grep its MAJ,MIN); give partitions of one disk one number"
        } else {
            "correct the line, or set workload.skip_bad = true to count and skip such lines"
        };
        format!(
            "{file}, line {number}: expected {expected} at byte {column}, found {found}; {remedy}"
        )
    }

    /// The message when bytes cannot be read or decompressed.
    #[cold]
    fn unreadable(&self, number: u64, error: &io::Error) -> SourceError {
        let cause = match error.kind() {
            io::ErrorKind::UnexpectedEof => "the compressed data are cut short",
            io::ErrorKind::Other | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                "the compressed data are damaged"
            }
            _ => "reading failed",
        };
        let remedy = "copy the file again and check it with `zstd -t` or `gzip -t`";
        let file = self.file;
        SourceError(format!("{file}: {cause} ({error}) in or before line {number}; {remedy}"))
    }
}

/// The beginning of a bad line, printable.
fn shown(bytes: &[u8]) -> String {
    let head = &bytes[..bytes.len().min(SHOWN)];
    let dots = if head.len() < bytes.len() { "..." } else { "" };
    format!("\"{}{dots}\"", String::from_utf8_lossy(head).escape_debug())
}

/// The first line of a section of what blkparse and blktrace print about themselves:
/// `CPU0 (8,0):`, `Total (8,0):`, `Throughput (R/W): ...`, `Input file ...`, `=== sda ===`.
#[cold]
fn starts_report(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    if let Some(rest) = line.strip_prefix(b"CPU") {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        return digits > 0 && rest[digits..].starts_with(b" (");
    }
    let starts: [&[u8]; 4] = [b"Total (", b"Throughput (R/W):", b"Input file ", b"=== "];
    starts.iter().any(|start| line.starts_with(start))
}

/// Whether a line inside such a section belongs to it; an event, even a bad one, starts with a
/// digit.
#[cold]
fn is_report(text: &Text<'_>) -> bool {
    let first = text.bytes.trim_ascii_start().first();
    text.whole && first.is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'=')
}
