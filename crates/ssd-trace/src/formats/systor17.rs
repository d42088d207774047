//! SYSTOR '17 LUN traces: `Timestamp,Response,IOType,LUN,Offset,Size`.
//!
//! Source: Lee et al., "Understanding Storage Traffic Characteristics on Enterprise Virtual Desktop
//! Infrastructure", SYSTOR 2017; SNIA IOTTA. Times in seconds, offset and size in bytes.
//! Decided: the response time may be empty and is not used.

use super::cursor::Cursor;
use super::{Clock, Format, FormatInfo, Line, Range, Reject, in_bytes, is_header};
use ssd_core::config::TraceFormat;
use ssd_core::host::request::Op;

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Systor17,
    title: "a SYSTOR '17 trace",
    form: "`Timestamp,[Response],R|W,LUN,Offset,Size`",
    units: "time in s with up to nine decimals, offset and size in bytes",
    clock: Clock::FirstRecord,
    volume: "LUN",
    order: "ascending within the volume used",
    source: "Lee et al., SYSTOR 2017; SNIA IOTTA",
    traps: "the response time may be empty; copies in sectors: refused",
};

/// The parser.
pub struct Parser;

impl Format for Parser {
    const INFO: &'static FormatInfo = &INFO;

    fn new(_action: u8) -> Parser {
        Parser
    }

    fn parse(&mut self, line: &[u8]) -> Result<Line, Reject> {
        let mut cursor = Cursor { line, at: 0 };
        cursor.blanks();
        if cursor.is_end() {
            return Ok(Line::Blank);
        }
        if is_header(line, "Timestamp,Response,IOType,LUN,Offset,Size") {
            return Ok(Line::Header);
        }
        let exact = "a time in s with at most nine decimals";
        let at_ns = cursor.decimal(1_000_000_000, "the time, seconds", exact)?;
        cursor.comma("`,` after the time")?;
        while let Some(b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E') = cursor.peek() {
            cursor.at += 1;
        }
        cursor.comma("the response time, a number or nothing, and `,`")?;
        let op = match cursor.peek() {
            Some(b'R') => Op::Read,
            Some(b'W') => Op::Write,
            _ => return Err(Reject::new("the operation, `R` or `W`", cursor.at)),
        };
        cursor.at += 1;
        cursor.comma("`,` after the operation")?;
        let lun = cursor.value("the LUN")?;
        cursor.comma("`,` after the LUN")?;
        let start_at = cursor.at;
        let start = cursor.value("the offset, bytes")?;
        cursor.comma("`,` after the offset")?;
        let length_at = cursor.at;
        let length = cursor.value("the size, bytes")?;
        cursor.end("the end of the line after the size")?;
        in_bytes(at_ns, lun, op, Range { start, length, start_at, length_at })
    }
}
