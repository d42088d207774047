//! Block tracepoints as text: ftrace's `trace` and `trace_pipe`, `trace-cmd report` and `perf script`.
//!
//! `COMM-PID [CPU] FLAGS TIME: EVENT: MAJ,MIN RWBS ...` and `COMM PID [CPU] TIME: block:EVENT: MAJ,MIN RWBS
//! ...`.
//!
//! Source: include/trace/events/block.h of the Linux kernel, which prints `BYTES (CMD) SECTOR + N` for requests,
//! `SECTOR + N` for bios and an I/O priority after N since 6.10; trace-input.c of trace-cmd for the first lines of a
//! report. Decided: events have the letters of blkparse's actions; events of other tracepoints in the file are counted
//! and ignored.

use super::block_event::Rwbs;
use super::cursor::Cursor;
use super::{
    Clock, Format, FormatInfo, Line, Range, ReadAs, Reject, TimeRule, TraceFormat, UnitRule,
};

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Tracepoint,
    name: "tracepoint",
    summary: "Block tracepoints as text: ftrace's trace_pipe, trace-cmd report, perf script.",
    title: "text of block tracepoints",
    form: "`... TIME: [block:]block_rq_issue: MAJ,MIN RWBS BYTES () SECTOR + N [COMM]`",
    unit: UnitRule::Fixed,
    time: TimeRule::Fixed,
    actions: true,
    units: "time in s with up to nine decimals, SECTOR and N in 512 B sectors",
    clock: Clock::FirstRecord,
    volume: "MAJ * 2^32 + MIN",
    order: "ascending (workload.sort makes it so)",
    source: "include/trace/events/block.h of the Linux kernel",
    traps: "block_bio_queue is action Q, block_rq_issue D, block_rq_complete C: one is used (workload.action); \
            events of other tracepoints are counted",
};

/// Tracepoints and the letters of their actions.
const EVENTS: [(&[u8], u8); 15] = [
    (b"block_bio_queue", b'Q'),
    (b"block_rq_issue", b'D'),
    (b"block_rq_complete", b'C'),
    (b"block_rq_insert", b'I'),
    (b"block_getrq", b'G'),
    (b"block_bio_backmerge", b'M'),
    (b"block_bio_frontmerge", b'F'),
    (b"block_bio_remap", b'A'),
    (b"block_plug", b'P'),
    (b"block_unplug", b'U'),
    (b"block_split", b'X'),
    (b"block_rq_requeue", b'R'),
    (b"block_rq_merge", b'M'),
    (b"block_rq_remap", b'A'),
    // Between the allocation of a request and its insertion.
    (b"block_io_start", b'G'),
];

/// The parser.
pub struct Parser {
    /// Letter of the chosen action.
    action: u8,
}

impl Default for Parser {
    fn default() -> Parser {
        Parser { action: b'Q' }
    }
}

impl Format for Parser {
    const INFO: &'static FormatInfo = &INFO;

    fn new(read_as: &ReadAs) -> Parser {
        Parser { action: read_as.action }
    }

    fn parse(&mut self, line: &[u8]) -> Result<Line, Reject> {
        let Some(mut cursor) = Cursor::of(line) else { return Ok(Line::Blank) };
        let rest = line[cursor.at..].trim_ascii_end();
        if rest.starts_with(b"#") || is_of_cpus(rest) {
            return Ok(Line::Header);
        }
        let at_ns = time(&mut cursor)?;
        let event_at = cursor.at;
        let event = cursor.until(b':', "the name of an event and `:`")?;
        // perf prints the system first.
        let event = if event == b"block" {
            cursor.until(b':', "the name of an event and `:`")?
        } else {
            event
        };
        let Some(&(_, letter)) = EVENTS.iter().find(|(name, _)| *name == event) else {
            let is_identifier =
                event.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
            return if is_identifier {
                Ok(Line::Other(b'?'))
            } else {
                Err(Reject::new("the name of an event", event_at))
            };
        };
        if letter != self.action {
            return Ok(Line::Other(letter));
        }
        cursor.blanks();
        let major = cursor.u32("the device's major number")?;
        cursor.byte(b',', "`,` and the device's minor number")?;
        let minor = cursor.u32("the device's minor number")?;
        cursor.gap("a blank after the device")?;
        let letters_at = cursor.at;
        let letters = cursor.word(8, "the operation (RWBS), up to eight letters")?;
        let rwbs = Rwbs::parse(letters).map_err(|text| Reject::new(text, letters_at))?;
        let volume = super::major_minor(major, minor);
        let address_at = cursor.at;
        let rest = &line[address_at..];
        let Some(plus) = rest.windows(3).position(|three| three == b" + ") else {
            return Ok(Line::Dataless);
        };
        let from = rest[..plus].iter().rposition(|byte| *byte == b' ').map_or(0, |at| at + 1);
        cursor.at = address_at + from;
        let start_at = cursor.at;
        let start = cursor.value("the first sector")?;
        cursor.at = address_at + plus + 3;
        let length_at = cursor.at;
        let length = cursor.value("the number of sectors")?;
        rwbs.request(letter, at_ns, volume, Range { start, length, start_at, length_at })
    }

    fn volume_name(&self, volume: u64) -> String {
        super::major_minor_name(volume)
    }

    fn detect(head: &super::Head<'_>) -> u32 {
        // Other tracepoints alone are not a trace of requests.
        let starts_with_event = |part: &[u8]| EVENTS.iter().any(|(name, _)| part.starts_with(name));
        let has_event = |line: &&[u8]| (0..line.len()).any(|at| starts_with_event(&line[at..]));
        if head.lines.iter().any(has_event) {
            super::share(&mut Parser::default(), head.lines)
        } else {
            0
        }
    }
}

/// Returns whether a line is from the start of `trace-cmd report`: the version of the file, the number of CPUs, or a
/// CPU without events.
fn is_of_cpus(line: &[u8]) -> bool {
    let number = line.strip_prefix(b"cpus=");
    let number = number.or_else(|| line.strip_prefix(b"CPU ")?.strip_suffix(b" is empty"));
    let number = number.or_else(|| line.strip_prefix(b"version = "));
    number.is_some_and(|number| number.iter().all(u8::is_ascii_digit))
}

/// Reads the time of a line, the first word of digits with a colon after it, and leaves the cursor at the event.
fn time(cursor: &mut Cursor<'_>) -> Result<u64, Reject> {
    let line = cursor.line;
    let mut at = cursor.at;
    while at < line.len() {
        let end = line[at..]
            .iter()
            .position(|byte| matches!(byte, b' ' | b'\t'))
            .map_or(line.len(), |n| at + n);
        let word = &line[at..end];
        let number = word.iter().rev().skip(1).all(|byte| byte.is_ascii_digit() || *byte == b'.');
        if word.len() > 2 && word.ends_with(b":") && number && word.contains(&b'.') {
            cursor.at = at;
            let ns = cursor.decimal(
                1_000_000_000,
                "the time, seconds",
                "a time with at most nine decimals",
            )?;
            cursor.byte(b':', "`:` after the time")?;
            cursor.blanks();
            // perf may print a period before the event.
            let digits = line[cursor.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            cursor.at += digits;
            cursor.blanks();
            return Ok(ns);
        }
        at = end + line[end..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    }
    Err(Reject::new("a time in seconds and `:`, as in 12.345678:", cursor.at))
}
