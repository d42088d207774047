//! SYSTOR '17 LUN traces: `Timestamp,Response,IOType,LUN,Offset,Size`.
//!
//! Source: Lee et al., "Understanding Storage Traffic Characteristics on Enterprise Virtual Desktop Infrastructure",
//! SYSTOR 2017; SNIA IOTTA. Times are in seconds, offset and size in bytes. Decided: the response time may be empty and
//! is ignored.

use super::cursor::Cursor;
use super::{
    Clock, Format, FormatInfo, Line, Reject, TimeRule, TraceFormat, UnitRule, in_bytes, is_header,
};

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Systor17,
    name: "systor17",
    summary: "SYSTOR '17 LUN traces.",
    title: "a SYSTOR '17 trace",
    form: "`Timestamp,[Response],R|W,LUN,Offset,Size`",
    unit: UnitRule::Fixed,
    time: TimeRule::Fixed,
    actions: false,
    units: "time in s with up to nine decimals, offset and size in bytes",
    clock: Clock::FirstRecord,
    volume: "LUN",
    order: "ascending within the volume used",
    source: "Lee et al., SYSTOR 2017; SNIA IOTTA",
    traps: "the response time may be empty; copies in sectors: refused",
};

/// The parser.
#[derive(Default)]
pub struct Parser;

impl Format for Parser {
    const INFO: &'static FormatInfo = &INFO;

    fn parse(&mut self, line: &[u8]) -> Result<Line, Reject> {
        let Some(mut cursor) = Cursor::of(line) else { return Ok(Line::Blank) };
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
        let op = cursor.op(b"R", b"W", "the operation, `R` or `W`")?;
        cursor.comma("`,` after the operation")?;
        let lun = cursor.value("the LUN")?;
        cursor.comma("`,` after the LUN")?;
        let range = cursor.range(
            "the offset, bytes",
            Cursor::comma,
            "`,` after the offset",
            "the size, bytes",
        )?;
        cursor.end("the end of the line after the size")?;
        in_bytes(at_ns, lun, op, range)
    }
}
