//! SSDSim's ASCII requests: `TIME_NS DEVICE SECTOR SECTORS TYPE [DIGEST]`.
//!
//! Source: the requests that SSDSim reads (example.ascii of its distribution). The time is in whole nanoseconds,
//! address and length are in 512-byte sectors, type 0 is a write and 1 a read. Decided: a sixth column, a digest of the
//! data in some copies, is allowed and ignored. A time with decimals is refused, because the file is for DiskSim, in
//! milliseconds.

use super::cursor::Cursor;
use super::{
    Clock, Format, FormatInfo, Line, ReadAs, Reject, TimeRule, TraceFormat, Unit, UnitRule, ascii,
};

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Ssdsim,
    name: "ssdsim",
    summary: "SSDSim's ASCII requests, times in ns.",
    title: "an SSDSim trace",
    form: "`TIME_NS DEVICE SECTOR SECTORS 0|1 [DIGEST]`",
    unit: UnitRule::Varies,
    time: TimeRule::Varies(1),
    actions: false,
    units: "time in ns, address and length in 512 B sectors",
    clock: Clock::File,
    volume: "DEVICE",
    order: "ascending",
    source: "SSDSim, example.ascii",
    traps: "0 is a write and 1 a read; decimals in the time are DiskSim's milliseconds: refused; \
            five columns look like MQSim's, so set workload.format; copies in bytes or pages: \
            workload.unit",
};

/// The parser.
pub struct Parser {
    unit: Unit,
    /// Nanoseconds per unit of the time.
    time_ns: u64,
}

impl Default for Parser {
    fn default() -> Parser {
        Parser::new(&ReadAs::default())
    }
}

impl Format for Parser {
    const INFO: &'static FormatInfo = &INFO;

    fn new(read_as: &ReadAs) -> Parser {
        Parser { unit: read_as.unit, time_ns: read_as.time_ns.unwrap_or(1) }
    }

    fn parse(&mut self, line: &[u8]) -> Result<Line, Reject> {
        let Some(mut cursor) = Cursor::of(line) else { return Ok(Line::Blank) };
        let record = ascii::record(&mut cursor, self.unit, self.time_ns)?;
        if !cursor.is_end() {
            cursor.gap("a blank after the type")?;
            if !cursor.is_end() {
                cursor.token("a digest")?;
            }
        }
        cursor.end("the end of the line after the digest")?;
        Ok(record)
    }
}
