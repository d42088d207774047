//! Disk events of Windows as CSV: `xperf`'s output for an ETW log, and Microsoft's traces of its servers.
//!
//! Source: the header between `BeginHeader` and `EndHeader` in such a file; Kavalanekar et al., "Characterization of
//! Storage Workload Traces from Production Windows Servers", IISWC 2008; SNIA IOTTA. TimeStamp is in microseconds,
//! ByteOffset and IOSize are hexadecimal bytes. Decided: requests are `DiskRead`, `DiskWrite` and `DiskFlush`, but no
//! other disk events or events in the header. Windows logs these three on completion, so TimeStamp, the only time with
//! an address, is the completion time. Newer versions have a column CPU before IrpPtr. The columns after DiskNum are
//! ignored.

use super::cursor::Cursor;
use super::{
    Clock, Event, Format, FormatInfo, Head, Line, Range, Reject, TimeRule, TraceFormat, UnitRule,
    in_bytes, share,
};
use ssd_core::host::request::Op;
use std::collections::BTreeSet;

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Etw,
    name: "etw",
    summary: "Windows disk events (ETW) as CSV, Microsoft's servers.",
    title: "a CSV file of Windows disk events (ETW)",
    form: "`DiskRead|DiskWrite, TimeStamp, Process (PID), ThreadID, [CPU,] IrpPtr, ByteOffset, \
           IOSize, ElapsedTime, DiskNum, ...`",
    unit: UnitRule::Fixed,
    time: TimeRule::Fixed,
    actions: false,
    units: "time in us, offset and size in hexadecimal bytes",
    clock: Clock::File,
    volume: "DiskNum",
    order: "ascending",
    source: "header of the file; Kavalanekar et al., IISWC 2008; SNIA IOTTA",
    traps: "the time is that of completion; `DiskFlush` has no offset and size; events that are not \
            requests (`DiskReadInit` and the like) occur between them; offsets in decimal: refused",
};

/// Events of the disk that are not requests.
const OTHERS: [&[u8]; 3] = [b"DiskReadInit", b"DiskWriteInit", b"DiskFlushInit"];
/// Start of the lines between the header and the first event.
const PREAMBLE: [&[u8]; 2] = [b"OS Version:", b"FirstReliable"];
/// Maximum number of events in a header.
const MAX_EVENTS: usize = 4096;
/// Maximum length of the name of an event, bytes.
const MAX_NAME: usize = 64;

/// The parser.
#[derive(Default)]
pub struct Parser {
    /// Whether it is between `BeginHeader` and `EndHeader`.
    in_header: bool,
    /// Events that the header describes.
    events: BTreeSet<Vec<u8>>,
}

impl Format for Parser {
    const INFO: &'static FormatInfo = &INFO;

    fn parse(&mut self, line: &[u8]) -> Result<Line, Reject> {
        let Some(mut cursor) = Cursor::of(line) else { return Ok(Line::Blank) };
        if let word @ (b"BeginHeader" | b"EndHeader") = line.trim_ascii() {
            self.in_header = word == b"BeginHeader";
            return Ok(Line::Header);
        }
        let name_at = cursor.at;
        let name = cursor.until(b',', "the name of an event and `,`")?.trim_ascii_end();
        if PREAMBLE.iter().any(|start| name.starts_with(start)) {
            return Ok(Line::Header);
        }
        if self.in_header {
            return self.name_event(name, name_at);
        }
        let op = match name {
            b"DiskRead" => Op::Read,
            b"DiskWrite" => Op::Write,
            b"DiskFlush" => Op::Flush,
            _ if OTHERS.contains(&name) || self.events.contains(name) => return Ok(Line::Header),
            _ => {
                let expected = "an event of the disk, such as DiskRead, or of the file's header";
                return Err(Reject::new(expected, name_at));
            }
        };
        cursor.blanks();
        if cursor.line[cursor.at..].starts_with(b"TimeStamp") {
            // A header line in a file from which the marks of the header were removed.
            return Ok(Line::Header);
        }
        let at_ns = cursor.time(1000, "the time stamp, whole microseconds")?;
        comma(&mut cursor, "`,` after whole microseconds")?;
        cursor.until(b',', "the process and `,`")?;
        cursor.blanks();
        cursor.digits("the thread")?;
        comma(&mut cursor, "`,` after the thread")?;
        if !cursor.line[cursor.at..].starts_with(b"0x") {
            cursor.digits("the CPU, or IrpPtr with its 0x")?;
            comma(&mut cursor, "`,` after the CPU")?;
        }
        hexadecimal(&mut cursor, "IrpPtr, hexadecimal with its 0x")?;
        comma(&mut cursor, "`,` after IrpPtr")?;
        let range = if op == Op::Flush { None } else { Some(range(&mut cursor)?) };
        cursor.digits("the elapsed time")?;
        comma(&mut cursor, "`,` after the elapsed time")?;
        let volume = cursor.value("the disk number")?;
        cursor.blanks();
        if !cursor.is_end() {
            cursor.comma("`,` or the end of the line after the disk number")?;
        }
        match range {
            Some(range) => in_bytes(at_ns, volume, op, range),
            None => Ok(Line::Event(Event {
                at_ns,
                volume,
                sector: 0,
                sectors: 0,
                op,
                flags: 0,
                stream: 0,
            })),
        }
    }

    fn detect(head: &Head<'_>) -> u32 {
        // The header may be longer than the head.
        let header = head.lines.first().is_some_and(|line| line.trim_ascii() == b"BeginHeader");
        if header { 100 } else { share(&mut Parser::default(), head.lines) }
    }
}

impl Parser {
    /// Stores the name of an event that a line of the header describes.
    fn name_event(&mut self, name: &[u8], column: usize) -> Result<Line, Reject> {
        if name.len() > MAX_NAME || self.events.len() == MAX_EVENTS {
            return Err(Reject::new(
                "at most 4096 events, their names up to 64 bytes long",
                column,
            ));
        }
        self.events.insert(name.to_vec());
        Ok(Line::Header)
    }
}

/// Reads ByteOffset and IOSize, and the comma after them.
fn range(cursor: &mut Cursor<'_>) -> Result<Range, Reject> {
    let start_at = cursor.at;
    let start = hexadecimal(cursor, "ByteOffset, hexadecimal with its 0x")?;
    comma(cursor, "`,` after ByteOffset")?;
    let length_at = cursor.at;
    let length = hexadecimal(cursor, "IOSize, hexadecimal with its 0x")?;
    comma(cursor, "`,` after IOSize")?;
    Ok(Range { start, length, start_at, length_at })
}

/// Reads a comma between blanks.
fn comma(cursor: &mut Cursor<'_>, expected: &'static str) -> Result<(), Reject> {
    cursor.blanks();
    cursor.comma(expected)?;
    cursor.blanks();
    Ok(())
}

/// Reads `0x` and up to sixteen digits.
fn hexadecimal(cursor: &mut Cursor<'_>, expected: &'static str) -> Result<u64, Reject> {
    let start = cursor.at;
    let digits = cursor.line[start..].strip_prefix(b"0x").unwrap_or_default();
    let count = digits.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    if !(1..=16).contains(&count) {
        return Err(Reject::new(expected, start));
    }
    cursor.at += 2 + count;
    let digit = |byte: &u8| u64::from(char::from(*byte).to_digit(16).unwrap_or_default());
    Ok(digits[..count].iter().map(digit).fold(0, |value, digit| value << 4 | digit))
}
