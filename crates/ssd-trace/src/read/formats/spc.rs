//! SPC text, as in the UMass repository: `ASU,LBA,Size,Opcode,Timestamp`.
//!
//! Source: Storage Performance Council, "SPC trace file format specification", revision 1.0.1. LBA is in 512-byte
//! blocks, the size in bytes, the opcode R or W in either case, the time in seconds from the start. Decided: fields
//! after the time, which the specification leaves to the user, are ignored.

use super::cursor::Cursor;
use super::{
    Clock, Format, FormatInfo, Line, Range, Reject, TimeRule, TraceFormat, UnitRule, in_sectors,
};

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Spc,
    name: "spc",
    summary: "SPC text, as in the UMass repository.",
    title: "an SPC trace",
    form: "`ASU,LBA,Size,R|W,Timestamp`",
    unit: UnitRule::Fixed,
    time: TimeRule::Fixed,
    actions: false,
    units: "time in s with up to nine decimals, LBA in 512 B sectors, size in bytes",
    clock: Clock::File,
    volume: "ASU",
    order: "ascending within the volume used",
    source: "SPC trace file format specification 1.0.1; UMass trace repository",
    traps: "the address is in sectors but the size in bytes (not a multiple of 512: refused); opcodes \
            in either case; seconds, which some converters mistake for microseconds",
};

/// The parser.
#[derive(Default)]
pub struct Parser;

impl Format for Parser {
    const INFO: &'static FormatInfo = &INFO;

    fn parse(&mut self, line: &[u8]) -> Result<Line, Reject> {
        let Some(mut cursor) = Cursor::of(line) else { return Ok(Line::Blank) };
        let asu = cursor.value("the ASU")?;
        cursor.comma("`,` after the ASU")?;
        let bytes = cursor.range(
            "the LBA, sectors",
            Cursor::comma,
            "`,` after the LBA",
            "the size, bytes",
        )?;
        if !bytes.length.is_multiple_of(512) {
            let expected = "a size in bytes, a multiple of 512 (is it in sectors?)";
            return Err(Reject::new(expected, bytes.length_at));
        }
        cursor.comma("`,` after the size")?;
        let op = cursor.op(b"Rr", b"Ww", "the opcode, `R` or `W`")?;
        cursor.comma("`,` after the opcode")?;
        let exact = "a time in s with at most nine decimals";
        let at_ns = cursor.decimal(1_000_000_000, "the time, seconds", exact)?;
        cursor.blanks();
        if !cursor.is_end() {
            cursor.comma("the end of the line or `,` after the time")?;
        }
        in_sectors(at_ns, asu, op, 0, Range { length: bytes.length / 512, ..bytes })
    }
}
