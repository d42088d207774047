//! MQSim's ASCII requests: `TIME DEVICE SECTOR SECTORS TYPE`.
//!
//! Source: README of MQSim (Request_Arrival_Time, Device_Number, Starting_Logical_Sector_Address,
//! Request_Size_In_Sectors, Type). Address and length in 512-byte sectors, type 0 is a write and 1 a read.
//! Decided: the unit of the time is set in MQSim's workload file (Time_Unit) and not in the trace; it is
//! taken to be nanoseconds, as in its samples. For another unit set `workload.time_scale`.

use super::cursor::Cursor;
use super::{Clock, Format, FormatInfo, Line, ReadAs, Reject, TraceFormat, Unit, UnitRule, ascii};

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Mqsim,
    name: "mqsim",
    summary: "MQSim's ASCII requests, times in ns.",
    title: "an MQSim trace",
    form: "`TIME_NS DEVICE SECTOR SECTORS 0|1`",
    unit: UnitRule::Varies,
    actions: false,
    units: "time in ns (another Time_Unit: workload.time_scale), address and length in 512 B sectors",
    clock: Clock::File,
    volume: "DEVICE",
    order: "ascending",
    source: "MQSim, README.md",
    traps: "0 is a write and 1 a read; the file does not state the unit of the time; it looks like \
            SSDSim's, so set workload.format; copies in bytes or pages: workload.unit",
};

/// The parser.
#[derive(Default)]
pub struct Parser {
    unit: Unit,
}

impl Format for Parser {
    const INFO: &'static FormatInfo = &INFO;

    fn new(how: ReadAs) -> Parser {
        Parser { unit: how.unit }
    }

    fn parse(&mut self, line: &[u8]) -> Result<Line, Reject> {
        let Some(mut cursor) = Cursor::of(line) else { return Ok(Line::Blank) };
        let record = ascii::record(&mut cursor, self.unit)?;
        cursor.end("the end of the line after the type")?;
        Ok(record)
    }
}
