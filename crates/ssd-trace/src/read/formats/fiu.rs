//! FIU traces: `TIME PID PROCESS LBA SECTORS OP MAJOR MINOR MD5`.
//!
//! Source: Verma et al., "SRCMap", FAST 2010; Koller, Rangaswami, "I/O Deduplication", FAST 2010; SNIA IOTTA. The time
//! is in nanoseconds, address and length are in 512-byte sectors, OP is W or R. Decided: the name of the process may
//! contain blanks, so the last six fields are counted from the end of the line. MD5 (of 4096 B, in `homes` of 512 B)
//! must have the form of a digest and is ignored.

use super::cursor::Cursor;
use super::{Clock, Format, FormatInfo, Line, Reject, TimeRule, TraceFormat, UnitRule, in_sectors};
use ssd_core::host::request::Op;

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Fiu,
    name: "fiu",
    summary: "FIU traces (SRCMap, IODedup).",
    title: "an FIU trace",
    form: "`TIME_NS PID PROCESS LBA SECTORS W|R MAJOR MINOR MD5`",
    unit: UnitRule::Sectors,
    time: TimeRule::Fixed,
    actions: false,
    units: "time in ns, address and length in 512 B sectors",
    clock: Clock::FirstRecord,
    volume: "MAJOR * 2^32 + MINOR",
    order: "ascending",
    source: "Verma et al., FAST 2010; Koller, Rangaswami, FAST 2010; SNIA IOTTA",
    traps: "names of processes contain blanks; times in s (decimals), and numbers that look like \
            microseconds, bytes or pages: refused",
};

/// The parser.
#[derive(Default)]
pub struct Parser;

impl Format for Parser {
    const INFO: &'static FormatInfo = &INFO;

    fn parse(&mut self, line: &[u8]) -> Result<Line, Reject> {
        let Some(mut cursor) = Cursor::of(line) else { return Ok(Line::Blank) };
        let at_ns = cursor.value("the time, nanoseconds")?;
        cursor.gap("a blank after whole nanoseconds")?;
        cursor.digits("the PID")?;
        cursor.gap("a blank after the PID")?;
        let process_at = cursor.at;
        let tail = tail(line, 6).filter(|&tail| tail > process_at);
        cursor.at = tail.ok_or_else(|| {
            Reject::new("a process and LBA SECTORS OP MAJOR MINOR MD5 after it", process_at)
        })?;
        let range = cursor.range(
            "the LBA, sectors",
            Cursor::gap,
            "a blank after the LBA",
            "the number of sectors",
        )?;
        cursor.gap("a blank after the number of sectors")?;
        let op_at = cursor.at;
        let op = match cursor.token("the operation")? {
            b"W" => Op::Write,
            b"R" => Op::Read,
            _ => return Err(Reject::new("the operation, `W` or `R`", op_at)),
        };
        cursor.gap("a blank after the operation")?;
        let major = cursor.u32("the device's major number")?;
        cursor.gap("a blank after the major number")?;
        let minor = cursor.u32("the device's minor number")?;
        cursor.gap("a blank after the minor number")?;
        let sum_at = cursor.at;
        let sum = cursor.token("the MD5 of the data")?;
        if sum.len() != 32 || !sum.iter().all(u8::is_ascii_hexdigit) {
            return Err(Reject::new("the MD5 of the data, 32 hexadecimal digits", sum_at));
        }
        cursor.end("the end of the line after the MD5")?;
        let volume = super::major_minor(major, minor);
        in_sectors(at_ns, volume, op, 0, range)
    }

    fn volume_name(&self, volume: u64) -> String {
        super::major_minor_name(volume)
    }
}

/// Returns the position of the last `fields` fields of a line.
fn tail(line: &[u8], fields: usize) -> Option<usize> {
    let (mut count, mut inside) = (0, false);
    for at in (0..line.len()).rev() {
        let blank = line[at].is_ascii_whitespace();
        if blank && inside {
            count += 1;
            if count == fields {
                return Some(at + 1);
            }
        }
        inside = !blank;
    }
    None
}
