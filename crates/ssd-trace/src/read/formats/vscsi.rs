//! CloudPhysics vscsi traces: SCSI commands of virtual disks, binary.
//!
//! Source: Waldspurger et al., "Efficient MRC Construction with SHARDS", FAST 2015; the layout follows existing
//! readers. Fields are little-endian. Version 1 has 32 bytes: serial number, length in bytes and segments (4 bytes
//! each), command and version (2), first sector and time in microseconds (8). Version 2 has 40: command and version
//! (2), serial number, length and segments (4), first sector, time and response time (8). The upper byte of `version`
//! is 1 or 2. Decided: the first record determines the version of all; the only supported commands are READ(10) and
//! WRITE(10), because no others were seen.

use super::cursor::TOO_LATE;
use super::{
    Clock, Cut, Format, FormatInfo, Line, Range, Reject, TimeRule, TraceFormat, UnitRule,
    in_sectors, little_endian,
};
use ssd_core::host::request::Op;

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Vscsi,
    name: "vscsi",
    summary: "CloudPhysics vscsi traces, versions 1 and 2.",
    title: "a CloudPhysics vscsi trace",
    form: "little-endian records of 32 bytes (version 1) or 40 bytes (version 2)",
    unit: UnitRule::Fixed,
    time: TimeRule::Fixed,
    actions: false,
    units: "time in us, address in 512 B sectors, length in bytes",
    clock: Clock::FirstRecord,
    volume: "0, the only one",
    order: "ascending",
    source: "Waldspurger et al., SHARDS, FAST 2015; layout as its readers document it",
    traps: "no magic number but a version in every record, which must not change; commands other \
            than READ(10) (0x28) and WRITE(10) (0x2a): refused",
};

/// Bytes that include the version.
const HEAD: usize = 16;
/// Offsets of the first sector and the time.
const SECTOR_AT: usize = 16;
const TIME_AT: usize = 24;

/// Differences between the two versions.
struct Layout {
    version: u8,
    record: usize,
    length_at: usize,
    command_at: usize,
    /// Offset of the upper byte of the version.
    version_at: usize,
}

const LAYOUTS: [Layout; 2] = [
    Layout { version: 1, record: 32, length_at: 4, command_at: 12, version_at: 15 },
    Layout { version: 2, record: 40, length_at: 8, command_at: 0, version_at: 3 },
];

/// The parser.
#[derive(Default)]
pub struct Parser {
    /// Layout of the first record.
    layout: Option<&'static Layout>,
}

impl Parser {
    /// Returns the layout of the record that begins with `head`.
    fn layout(&self, head: &[u8]) -> Option<&'static Layout> {
        let fits = |layout: &&Layout| head.get(layout.version_at) == Some(&layout.version);
        self.layout.or_else(|| LAYOUTS.iter().find(fits))
    }
}

impl Format for Parser {
    const INFO: &'static FormatInfo = &INFO;
    const CUT: Cut = Cut::Records(HEAD);

    fn length(&self, head: &[u8]) -> Option<usize> {
        self.layout(head).map(|layout| layout.record)
    }

    fn parse(&mut self, record: &[u8]) -> Result<Line, Reject> {
        let layout = self.layout(record).filter(|layout| layout.record == record.len());
        let Some(layout) = layout else {
            return Err(Reject::new("a record of version 1 or 2", 0));
        };
        if record[layout.version_at] != layout.version {
            let expected = format!("version {}, as of the records above", layout.version);
            return Err(Reject::new(expected, layout.version_at));
        }
        let op = match record[layout.command_at..][..2] {
            [0x28, 0] => Op::Read,
            [0x2a, 0] => Op::Write,
            _ => {
                let expected = "the command, 0x28 (read) or 0x2a (write)";
                return Err(Reject::new(expected, layout.command_at));
            }
        };
        self.layout = Some(layout);
        let range = Range {
            start: little_endian(&record[SECTOR_AT..][..8]),
            length: little_endian(&record[layout.length_at..][..4]),
            start_at: SECTOR_AT,
            length_at: layout.length_at,
        };
        let range = range.of_length_in_bytes()?;
        let at_ns = little_endian(&record[TIME_AT..][..8]).checked_mul(1000);
        in_sectors(at_ns.ok_or_else(|| Reject::new(TOO_LATE, TIME_AT))?, 0, op, 0, range)
    }
}
