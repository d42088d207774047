//! Alibaba block traces: `device_id,opcode,offset,length,timestamp`.
//!
//! Source: README of alibaba/block-traces; Li et al., "An In-Depth Analysis of Cloud Block Storage Workloads in
//! Large-Scale Production", IISWC 2020. Offset and length are in bytes, the time in whole microseconds, and the opcode
//! is R or W. Decided: a time with decimals is in another unit and refused.

use super::cursor::Cursor;
use super::{
    Clock, Format, FormatInfo, Line, Reject, TimeRule, TraceFormat, UnitRule, in_bytes, is_header,
};

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Alibaba,
    name: "alibaba",
    summary: "Alibaba block traces of 2020.",
    title: "an Alibaba block trace",
    form: "`device_id,R|W,offset,length,timestamp`",
    unit: UnitRule::Fixed,
    time: TimeRule::Fixed,
    actions: false,
    units: "time in us, offset and length in bytes",
    clock: Clock::FirstRecord,
    volume: "device_id",
    order: "ascending within the volume used",
    source: "alibaba/block-traces, README.md; Li et al., IISWC 2020",
    traps: "the time is the last field; one file holds many devices: set workload.volume; copies in \
            sectors or with decimals in the time: refused",
};

/// The parser.
#[derive(Default)]
pub struct Parser;

impl Format for Parser {
    const INFO: &'static FormatInfo = &INFO;

    #[inline(always)]
    fn parse(&mut self, line: &[u8]) -> Result<Line, Reject> {
        let Some(mut cursor) = Cursor::of(line) else { return Ok(Line::Blank) };
        if is_header(line, "device_id,opcode,offset,length,timestamp") {
            return Ok(Line::Header);
        }
        let device = cursor.value("the device number")?;
        cursor.comma("`,` after the device number")?;
        let op = cursor.op(b"R", b"W", "the operation, `R` or `W`")?;
        cursor.comma("`,` after the operation")?;
        let range = cursor.range(
            "the offset, bytes",
            Cursor::comma,
            "`,` after the offset",
            "the length, bytes",
        )?;
        cursor.comma("`,` after the length")?;
        let at_ns = cursor.time(1000, "the time, microseconds")?;
        cursor.end("the end of the line after whole microseconds")?;
        in_bytes(at_ns, device, op, range)
    }
}
