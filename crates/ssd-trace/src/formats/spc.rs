//! SPC text, as in the UMass repository: `ASU,LBA,Size,Opcode,Timestamp`.
//!
//! Source: Storage Performance Council, "SPC trace file format specification", revision 1.0.1.
//! LBA in 512-byte blocks, size in bytes, opcode R or W in either case, time in seconds from the
//! start. Decided: fields after the time, which the specification leaves to the user, are not used.

use super::cursor::Cursor;
use super::{Clock, Format, FormatInfo, Line, Range, Reject, in_sectors};
use ssd_core::config::TraceFormat;
use ssd_core::host::request::Op;

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Spc,
    title: "an SPC trace",
    form: "`ASU,LBA,Size,R|W,Timestamp`",
    units: "time in s with up to nine decimals, LBA in 512 B sectors, size in bytes",
    clock: Clock::File,
    volume: "ASU",
    order: "ascending within the volume used",
    source: "SPC trace file format specification 1.0.1; UMass trace repository",
    traps: "the address is in sectors but the size in bytes (no multiple of 512: refused); opcodes \
            in either case; seconds, which some converters take for microseconds",
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
        let asu = cursor.value("the ASU")?;
        cursor.comma("`,` after the ASU")?;
        let start_at = cursor.at;
        let start = cursor.value("the LBA, sectors")?;
        cursor.comma("`,` after the LBA")?;
        let length_at = cursor.at;
        let bytes = cursor.value("the size, bytes")?;
        if !bytes.is_multiple_of(512) {
            let expected = "a size in bytes, a multiple of 512 (is it in sectors?)";
            return Err(Reject::new(expected, length_at));
        }
        cursor.comma("`,` after the size")?;
        let op = match cursor.peek() {
            Some(b'R' | b'r') => Op::Read,
            Some(b'W' | b'w') => Op::Write,
            _ => return Err(Reject::new("the opcode, `R` or `W`", cursor.at)),
        };
        cursor.at += 1;
        cursor.comma("`,` after the opcode")?;
        let exact = "a time in s with at most nine decimals";
        let at_ns = cursor.decimal(1_000_000_000, "the time, seconds", exact)?;
        cursor.blanks();
        if !cursor.is_end() {
            cursor.comma("the end of the line or `,` after the time")?;
        }
        in_sectors(at_ns, asu, op, 0, Range { start, length: bytes / 512, start_at, length_at })
    }
}
