//! DiskSim's ASCII requests: `TIME_MS DEVICE SECTOR SECTORS FLAGS`.
//!
//! Source: DiskSim's ASCII input as used by its SSD extension (valid/*.trace). The time is in milliseconds with
//! decimals, address and length are in 512-byte sectors, and FLAGS is hexadecimal: bit 0 is set for a read, clear for a
//! write. Decided: the other bits, hints for DiskSim's scheduler, are ignored. More than six decimals would lose
//! precision below a nanosecond and are refused. Copies in bytes (Heimdall) and in pages have the same columns. A
//! single line does not distinguish them, but all lines together usually do: see [`crate::read::unit`]. FlashSim's
//! traces have lengths in pages and addresses in sectors: ssdlab detects them with a warning, but does not read them.

use super::cursor::Cursor;
use super::{
    Clock, Format, FormatInfo, Line, ReadAs, Reject, TimeRule, TraceFormat, Unit, UnitRule, ascii,
    in_sectors,
};
use ssd_core::host::request::Op;

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Disksim,
    name: "disksim",
    summary: "DiskSim's ASCII requests, times in ms.",
    title: "a DiskSim trace",
    form: "`TIME_MS DEVICE SECTOR SECTORS FLAGS`",
    unit: UnitRule::Varies,
    time: TimeRule::Varies(1_000_000),
    actions: false,
    units: "time in ms with up to six decimals, address and length in 512 B sectors",
    clock: Clock::File,
    volume: "DEVICE",
    order: "ascending",
    source: "DiskSim, ASCII input",
    traps: "bit 0 of FLAGS (hexadecimal): 1 is a read, 0 a write; copies in bytes (Heimdall) or \
            pages have the same columns: workload.unit; with lengths in pages beside addresses in \
            sectors (FlashSim): convert them first",
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
        Parser { unit: read_as.unit, time_ns: read_as.time_ns.unwrap_or(1_000_000) }
    }

    fn parse(&mut self, line: &[u8]) -> Result<Line, Reject> {
        let Some(mut cursor) = Cursor::of(line) else { return Ok(Line::Blank) };
        let exact = "a time in ms with at most six decimals (is it in s? --time-unit s)";
        let at_ns = cursor.decimal(self.time_ns, "the time, milliseconds", exact)?;
        cursor.gap("a blank after the time")?;
        let (device, range) = ascii::place(&mut cursor, self.unit)?;
        let flags_at = cursor.at;
        let flags = cursor.token("the flags, hexadecimal")?;
        let digits = flags.strip_prefix(b"0x").unwrap_or(flags);
        let (Some(&last), true) =
            (digits.last(), digits.len() <= 8 && digits.iter().all(u8::is_ascii_hexdigit))
        else {
            return Err(Reject::new("the flags, up to eight hexadecimal digits", flags_at));
        };
        cursor.end("the end of the line after the flags")?;
        let odd = char::from(last).to_digit(16).is_some_and(|digit| digit % 2 == 1);
        in_sectors(at_ns, device, if odd { Op::Read } else { Op::Write }, 0, range)
    }
}
