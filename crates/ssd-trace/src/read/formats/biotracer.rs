//! BIOtracer, smartphone storage traces: `SECTOR SECTORS BYTES TYPE` and four times.
//!
//! Source: Zhou, Pan, Wang, Xie, "I/O Characteristics of Smartphone Applications and Their Implications for eMMC
//! Design", IISWC 2015; SNIA IOTTA; the layout follows existing readers. Address and length are in 512-byte sectors,
//! then the length follows in bytes, TYPE, which is odd for a write, and the times in seconds at which the request was
//! generated, taken up, submitted to the device, and finished. Decided: the first time is the arrival; the higher bits
//! of TYPE, which describe how the request waited, are ignored; two different lengths are an error.

use super::cursor::Cursor;
use super::{Clock, Format, FormatInfo, Line, Reject, TimeRule, TraceFormat, UnitRule, in_sectors};
use ssd_core::host::request::Op;

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Biotracer,
    name: "biotracer",
    summary: "BIOtracer, smartphone storage traces.",
    title: "a BIOtracer trace",
    form: "`SECTOR SECTORS BYTES TYPE GENERATED TAKEN SUBMITTED FINISHED`",
    unit: UnitRule::Fixed,
    time: TimeRule::Fixed,
    actions: false,
    units: "times in s with up to nine decimals, address in 512 B sectors, length in both",
    clock: Clock::FirstRecord,
    volume: "0, the only one",
    order: "ascending (by the first time; workload.sort makes it so)",
    source: "Zhou, Pan, Wang, Xie, IISWC 2015; SNIA IOTTA",
    traps: "TYPE is a number whose lowest bit is set for a write; fields are two tabs apart; \
            sectors and bytes that differ: refused",
};

/// The parser.
#[derive(Default)]
pub struct Parser;

impl Format for Parser {
    const INFO: &'static FormatInfo = &INFO;

    fn parse(&mut self, line: &[u8]) -> Result<Line, Reject> {
        let Some(mut cursor) = Cursor::of(line) else { return Ok(Line::Blank) };
        let range = cursor.sectors()?;
        cursor.gap("a blank after the number of sectors")?;
        let bytes_at = cursor.at;
        let bytes = cursor.value("the length, bytes")?;
        if range.length.checked_mul(512) != Some(bytes) {
            return Err(Reject::new("512 bytes for each of the sectors", bytes_at));
        }
        cursor.gap("a blank after the length")?;
        let kind = cursor.value("the type, a number")?;
        let op = if kind % 2 == 0 { Op::Read } else { Op::Write };
        let exact = "a time in s with at most nine decimals";
        let mut at_ns = None;
        for _ in 0..4 {
            cursor.gap("a blank and a time, seconds")?;
            let time = cursor.decimal(1_000_000_000, "a time, seconds", exact)?;
            at_ns.get_or_insert(time);
        }
        cursor.end("the end of the line after four times")?;
        in_sectors(at_ns.unwrap_or_default(), 0, op, 0, range)
    }
}
