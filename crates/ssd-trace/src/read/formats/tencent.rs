//! Tencent cloud block storage: `Timestamp,Offset,Size,IOType,VolumeID`.
//!
//! Source: Zhang et al., "OSCA: An Online-Model Based Cache Allocation Scheme in Cloud Block Storage Systems", USENIX
//! ATC 2020; SNIA IOTTA. The time is in seconds, offset and size are in 512-byte sectors, IOType 0 is a read and 1 a
//! write. Decided: the units follow existing readers, because the data set does not state them.

use super::cursor::Cursor;
use super::{
    Clock, Format, FormatInfo, Line, ReadAs, Reject, TimeRule, TraceFormat, Unit, UnitRule,
    in_sectors, is_header,
};

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Tencent,
    name: "tencent",
    summary: "Tencent cloud block storage.",
    title: "a Tencent block trace",
    form: "`Timestamp,Offset,Size,0|1,VolumeID`",
    unit: UnitRule::Varies,
    time: TimeRule::Varies(1_000_000_000),
    actions: false,
    units: "time in s, offset and size in 512 B sectors",
    clock: Clock::FirstRecord,
    volume: "VolumeID",
    order: "ascending within the volume used",
    source: "Zhang et al., OSCA, USENIX ATC 2020; SNIA IOTTA",
    traps: "0 is a read here and 1 a write, the opposite of SSDSim and MQSim; times are \
            whole seconds, so arrivals come in bursts; times in ms or us: refused; many volumes in \
            one file: set workload.volume; copies in bytes or pages: workload.unit",
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
        Parser { unit: read_as.unit, time_ns: read_as.time_ns.unwrap_or(1_000_000_000) }
    }

    fn parse(&mut self, line: &[u8]) -> Result<Line, Reject> {
        let Some(mut cursor) = Cursor::of(line) else { return Ok(Line::Blank) };
        if is_header(line, "Timestamp,Offset,Size,IOType,VolumeID") {
            return Ok(Line::Header);
        }
        let exact = "a time in s with at most nine decimals";
        let time_at = cursor.at;
        let at_ns = cursor.decimal(self.time_ns, "the time, seconds", exact).map_err(|reject| {
            let late = reject.expected == super::cursor::TOO_LATE;
            let expected = "a time in seconds below 2^64 ns (is it in ms or us?)";
            if late { Reject::new(expected, time_at) } else { reject }
        })?;
        cursor.comma("`,` after the time")?;
        let range = cursor.range(
            "the offset, sectors",
            Cursor::comma,
            "`,` after the offset",
            "the size, sectors",
        )?;
        cursor.comma("`,` after the size")?;
        let op = cursor.op(b"0", b"1", "the type, 0 (read) or 1 (write)")?;
        cursor.comma("`,` after the type")?;
        let volume = cursor.value("the volume number")?;
        cursor.end("the end of the line after the volume number")?;
        in_sectors(at_ns, volume, op, 0, self.unit.in_sectors(range)?)
    }
}
