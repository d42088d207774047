//! Windows DiskMon: `# TIME DURATION DISK Read|Write SECTOR LENGTH`.
//!
//! Source: Sysinternals DiskMon 2, the columns of its saved list. Times are in seconds, SECTOR and LENGTH in 512-byte
//! sectors. Decided: the number of the record and the duration are ignored. With its clock enabled, DiskMon writes
//! times of day, which restart at midnight and are refused.

use super::cursor::Cursor;
use super::{
    Clock, Format, FormatInfo, Line, Reject, TimeRule, TraceFormat, UnitRule, in_sectors, is_header,
};
use ssd_core::host::request::Op;

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Diskmon,
    name: "diskmon",
    summary: "Windows DiskMon.",
    title: "a DiskMon trace",
    form: "`SEQUENCE TIME DURATION DISK Read|Write SECTOR SECTORS`",
    unit: UnitRule::Sectors,
    time: TimeRule::Fixed,
    actions: false,
    units: "time in s with up to nine decimals, address and length in 512 B sectors",
    clock: Clock::File,
    volume: "DISK",
    order: "ascending",
    source: "Sysinternals DiskMon 2, columns of a saved list",
    traps: "times of day (DiskMon's clock) or with a decimal comma, and lengths that look like bytes: refused",
};

/// The parser.
#[derive(Default)]
pub struct Parser;

impl Format for Parser {
    const INFO: &'static FormatInfo = &INFO;

    fn parse(&mut self, line: &[u8]) -> Result<Line, Reject> {
        let Some(mut cursor) = Cursor::of(line) else { return Ok(Line::Blank) };
        if is_header(line, "#\tTime\tDuration (s)\tDisk\tRequest\tSector\tLength") {
            return Ok(Line::Header);
        }
        cursor.digits("the number of the record")?;
        cursor.gap("a blank after the number of the record")?;
        let exact = "a time in s with at most nine decimals";
        let at_ns = cursor.decimal(1_000_000_000, "the time, seconds", exact)?;
        cursor.gap("a blank after the time in seconds (times of day cannot be used)")?;
        cursor.digits("the duration, seconds")?;
        if cursor.peek() == Some(b'.') {
            cursor.at += 1;
            cursor.digits("decimals of the duration")?;
        }
        cursor.gap("a blank after the duration")?;
        let disk = cursor.value("the disk number")?;
        cursor.gap("a blank after the disk number")?;
        let op_at = cursor.at;
        let op = match cursor.token("the request, `Read` or `Write`")? {
            b"Read" => Op::Read,
            b"Write" => Op::Write,
            _ => return Err(Reject::new("the request, `Read` or `Write`", op_at)),
        };
        cursor.gap("a blank after the request")?;
        let range = cursor.sectors()?;
        cursor.end("the end of the line after the number of sectors")?;
        in_sectors(at_ns, disk, op, 0, range)
    }
}
