//! Alibaba block traces: `device_id,opcode,offset,length,timestamp`.
//!
//! Source: README of alibaba/block-traces; Li et al., "An In-Depth Analysis of Cloud Block Storage
//! Workloads in Large-Scale Production", IISWC 2020. Offset and length in bytes, time in whole
//! microseconds, opcode R or W. Decided: a time with decimals is another unit: refused.

use super::cursor::{Cursor, TOO_LATE};
use super::{Clock, Format, FormatInfo, Line, Range, Reject, in_bytes, is_header};
use ssd_core::config::TraceFormat;
use ssd_core::host::request::Op;

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Alibaba,
    title: "an Alibaba block trace",
    form: "`device_id,R|W,offset,length,timestamp`",
    units: "time in us, offset and length in bytes",
    clock: Clock::FirstRecord,
    volume: "device_id",
    order: "ascending within the volume used",
    source: "alibaba/block-traces, README.md; Li et al., IISWC 2020",
    traps: "the time stands last; one file holds many devices: say workload.volume; copies in \
            sectors or with decimals in the time: refused",
};

/// The parser.
pub struct Parser;

impl Format for Parser {
    const INFO: &'static FormatInfo = &INFO;

    fn new(_action: u8) -> Parser {
        Parser
    }

    #[inline(always)]
    fn parse(&mut self, line: &[u8]) -> Result<Line, Reject> {
        let mut cursor = Cursor { line, at: 0 };
        cursor.blanks();
        if cursor.is_end() {
            return Ok(Line::Blank);
        }
        if is_header(line, "device_id,opcode,offset,length,timestamp") {
            return Ok(Line::Header);
        }
        let device = cursor.value("the device number")?;
        cursor.comma("`,` after the device number")?;
        let op = match cursor.peek() {
            Some(b'R') => Op::Read,
            Some(b'W') => Op::Write,
            _ => return Err(Reject::new("the operation, `R` or `W`", cursor.at)),
        };
        cursor.at += 1;
        cursor.comma("`,` after the operation")?;
        let start_at = cursor.at;
        let start = cursor.value("the offset, bytes")?;
        cursor.comma("`,` after the offset")?;
        let length_at = cursor.at;
        let length = cursor.value("the length, bytes")?;
        cursor.comma("`,` after the length")?;
        let time_at = cursor.at;
        let micros = cursor.value("the time, microseconds")?;
        let at_ns = micros.checked_mul(1000).ok_or_else(|| Reject::new(TOO_LATE, time_at))?;
        cursor.end("the end of the line after whole microseconds")?;
        in_bytes(at_ns, device, op, Range { start, length, start_at, length_at })
    }
}
