//! MQSim's ASCII requests: `TIME DEVICE SECTOR SECTORS TYPE`.
//!
//! Source: README of MQSim (Request_Arrival_Time, Device_Number, Starting_Logical_Sector_Address,
//! Request_Size_In_Sectors, Type). Address and length are in 512-byte sectors, type 0 is a write and 1 a read. Decided:
//! MQSim's workload file sets the unit of the time (Time_Unit), which the trace does not state; it is assumed to be
//! nanoseconds, as in its samples. For another unit set `workload.time_unit`.

use super::cursor::Cursor;
use super::{
    Clock, Format, FormatInfo, Line, ReadAs, Reject, TimeRule, TraceFormat, Unit, UnitRule, ascii,
};

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Mqsim,
    name: "mqsim",
    summary: "MQSim's ASCII requests, times in ns.",
    title: "an MQSim trace",
    form: "`TIME_NS DEVICE SECTOR SECTORS 0|1`",
    unit: UnitRule::Varies,
    time: TimeRule::Varies(1),
    actions: false,
    units: "time in ns (another Time_Unit: workload.time_unit), address and length in 512 B sectors",
    clock: Clock::File,
    volume: "DEVICE",
    order: "ascending",
    source: "MQSim, README.md",
    traps: "0 is a write and 1 a read; the file does not state the unit of the time; it looks like \
            SSDSim's, so set workload.format; copies in bytes or pages: workload.unit",
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
        cursor.end("the end of the line after the type")?;
        Ok(record)
    }
}
