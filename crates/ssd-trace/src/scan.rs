//! A whole trace: every line is an event, a part of the format, of blkparse's own report, blank, or an
//! error.

use crate::doubles::Doubles;
use crate::formats::{Clock, Event, Format, Line, Reject};
use crate::lines::{Lines, MAX_LINE, Text};
use crate::volumes::Volumes;
use ssd_core::config::TraceFormat;
use ssd_core::host::request::SourceError;
use std::collections::BTreeMap;
use std::io::{self, Read};

/// Characters of a bad line that are shown.
const SHOWN: usize = 60;
/// Volumes that are listed in a message.
const LISTED: usize = 8;

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
    /// Time of the first record, which [`Clock::FirstRecord`] makes time 0; nanoseconds.
    pub(crate) base_ns: Option<u64>,
    /// The volume used, by number and name.
    pub(crate) volume: Option<(u64, String)>,
    /// Lines that are part of the format and hold no request.
    pub(crate) header_lines: u64,
    /// Records of other volumes than the one chosen.
    pub(crate) other_volumes: u64,
    /// Records that repeat an identical one less than 1 ms earlier.
    pub(crate) doubled: u64,
    volumes: Volumes,
    /// A second volume has been seen, and none was chosen.
    several: bool,
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
    /// The volume that is used; `None`: the only one.
    pub(crate) volume: Option<u64>,
    /// Drop doubled records.
    pub(crate) dedup: bool,
}

/// What a pass carries from line to line.
struct State<P> {
    parser: P,
    tally: Tally,
    doubles: Doubles,
    /// Time of the event above, nanoseconds.
    after: Option<u64>,
}

impl Scan<'_> {
    /// Reads all of `reader`, hands every event of the chosen action to `take`, in order.
    ///
    /// Events reach `take` in the replay's clock: see [`Clock`].
    pub(crate) fn run<P: Format>(
        &self,
        parser: P,
        reader: impl Read,
        mut take: impl FnMut(&Event) -> Result<(), Refusal>,
    ) -> Result<Tally, SourceError> {
        let mut lines = Lines::new(reader);
        let tally = Tally { others: vec![0; 128], ..Tally::default() };
        let doubles = Doubles::new(self.dedup);
        let mut state = State { parser, tally, doubles, after: None };
        let mut in_summary = false;
        loop {
            let number = lines.number() + 1;
            let text = match lines.next_line() {
                Ok(Some(text)) => text,
                Ok(None) => break,
                Err(error) => return Err(unreadable(self.file, number, &error)),
            };
            state.tally.lines = number;
            let reject = match self.line(&text, &mut state, &mut take) {
                Ok(event) => {
                    in_summary &= !event;
                    continue;
                }
                Err(Refusal::Trace(error)) => return Err(error),
                Err(Refusal::Line(reject)) => reject,
            };
            in_summary |= has_report::<P>() && starts_report(text.bytes);
            if in_summary && is_report(&text) {
                state.tally.summary_lines += 1;
                continue;
            }
            let message = self.message::<P>(number, &text, &reject, &state.tally);
            if !self.skip_bad {
                return Err(SourceError(message));
            }
            state.tally.skipped_lines += 1;
            state.tally.first_skipped.get_or_insert(message);
        }
        self.check_volumes(&mut state)?;
        Ok(state.tally)
    }

    /// One line; true if it is an event.
    #[inline(always)]
    fn line<P: Format>(
        &self,
        text: &Text<'_>,
        state: &mut State<P>,
        take: &mut impl FnMut(&Event) -> Result<(), Refusal>,
    ) -> Result<bool, Refusal> {
        if !text.whole {
            let expected = format!("a line of at most {MAX_LINE} bytes");
            return Err(Refusal::Line(Reject::new(expected, 0)));
        }
        let State { parser, tally, doubles, after } = state;
        let mut event = match parser.parse(text.bytes).map_err(Refusal::Line)? {
            Line::Blank => return Ok(false),
            Line::Header => {
                tally.header_lines += 1;
                return Ok(true);
            }
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
        if !self.is_chosen(event.volume, tally)? {
            return Ok(true);
        }
        if let Some(earliest) = *after
            && event.at_ns < earliest
        {
            let expected =
                format!("a time not before that of the event above it, {earliest} ns (sort it)");
            return Err(Refusal::Line(Reject::new(expected, 0)));
        }
        let at_ns = event.at_ns;
        let double = doubles.found(&event);
        tally.doubled += u64::from(double);
        if P::INFO.clock == Clock::FirstRecord {
            event.at_ns -= *tally.base_ns.get_or_insert(at_ns);
        }
        if !(double && self.dedup) {
            take(&event)?;
        }
        *after = Some(at_ns);
        tally.chosen += 1;
        tally.times = Some((tally.times.map_or(event.at_ns, |times| times.0), event.at_ns));
        Ok(true)
    }

    /// Counts a record of `volume`; whether it is used.
    #[inline(always)]
    fn is_chosen(&self, volume: u64, tally: &mut Tally) -> Result<bool, Refusal> {
        if !tally.volumes.add(volume) {
            let text = "more than 65536 volumes; set workload.format if it is another format";
            return Err(Refusal::Trace(SourceError(format!("{}: {text}", self.file))));
        }
        if let Some(chosen) = self.volume {
            tally.other_volumes += u64::from(chosen != volume);
            return Ok(chosen == volume);
        }
        match &tally.volume {
            Some((first, _)) => tally.several |= *first != volume,
            None => tally.volume = Some((volume, String::new())),
        }
        Ok(!tally.several)
    }

    /// One volume must be left; gives it its name.
    fn check_volumes<P: Format>(&self, state: &mut State<P>) -> Result<(), SourceError> {
        let State { parser, tally, .. } = state;
        let chosen = self.volume.or(tally.volume.as_ref().map(|volume| volume.0));
        let Some(chosen) = chosen else { return Ok(()) };
        let known = tally.volumes.all().any(|(volume, _)| volume == chosen);
        let all = tally.volumes.all().count();
        if (known && !tally.several) || all == 0 {
            tally.volume = Some((chosen, parser.volume_name(chosen)));
            return Ok(());
        }
        let mut listed: Vec<String> = tally
            .volumes
            .all()
            .take(LISTED)
            .map(|(volume, count)| match parser.volume_name(volume) {
                name if name == volume.to_string() => format!("{volume}: {count}"),
                name => format!("{volume} ({name:.60}): {count}"),
            })
            .collect();
        if all > LISTED {
            listed.push(format!("and {} more", all - LISTED));
        }
        let (file, listed) = (self.file, listed.join(", "));
        Err(SourceError(if known {
            format!(
                "{file}: the trace has {all} volumes; say in workload.volume which one is used \
                 (number: records): {listed}"
            )
        } else {
            format!(
                "{file}: no volume {chosen} (workload.volume); found (number: records) {listed}"
            )
        }))
    }

    /// The message for a bad line.
    #[cold]
    fn message<P: Format>(
        &self,
        number: u64,
        text: &Text<'_>,
        reject: &Reject,
        tally: &Tally,
    ) -> String {
        let Scan { file, .. } = self;
        let found = shown(text.bytes);
        let events: u64 = tally.chosen + tally.others.iter().sum::<u64>();
        if events == 0 && tally.skipped_lines == 0 && P::new(0).parse(text.bytes).is_err() {
            return format!(
                "{file}, line {number}: this is not {}: expected {}, found {found}; give such a \
                 trace, plain or as .zst or .gz, or say what it is in workload.format (line read \
                 as far as byte {}: expected {})",
                P::INFO.title,
                P::INFO.form,
                reject.column + 1,
                reject.expected,
            );
        }
        let (expected, column) = (&reject.expected, reject.column + 1);
        let remedy =
            "correct the line, or set workload.skip_bad = true to count and skip such lines";
        format!(
            "{file}, line {number}: expected {expected} at byte {column}, found {found}; {remedy}"
        )
    }
}

/// Whether blkparse's report about itself may stand in the file.
fn has_report<P: Format>() -> bool {
    P::INFO.format == TraceFormat::BlockEvent
}

/// The message when bytes cannot be read or decompressed.
#[cold]
pub(crate) fn unreadable(file: &str, number: u64, error: &io::Error) -> SourceError {
    let cause = match error.kind() {
        io::ErrorKind::UnexpectedEof => "the compressed data are cut short",
        io::ErrorKind::Other | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            "the compressed data are damaged"
        }
        _ => "reading failed",
    };
    let remedy = "copy the file again and check it with `zstd -t` or `gzip -t`";
    SourceError(format!("{file}: {cause} ({error}) in or before line {number}; {remedy}"))
}

/// The beginning of a bad line, printable.
pub(crate) fn shown(bytes: &[u8]) -> String {
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
