//! CSV of libCacheSim from CloudPhysics traces: `VERSION,TIME,OP,SIZE,LBN`.
//!
//! Source: 1a1a11a/libCacheSim, data/trace.csv and the flags `time-col=2,obj-id-col=5,obj-size-col=4` of its examples;
//! FAQ.md states the unit of the time. OP is the SCSI command in hexadecimal, SIZE is in bytes, LBN in sectors of 512
//! bytes. Decided: for other tables of libCacheSim, whose columns the user chooses there, use `--columns` here.

use super::mapping::known::{KnownFormat, Mapped};
use super::{Clock, FormatInfo, Reject, TimeRule, TraceFormat, UnitRule};

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Libcachesim,
    name: "libcachesim",
    summary: "CSV of libCacheSim from CloudPhysics traces.",
    title: "a CSV trace of libCacheSim",
    form: "`1|2,TIME,28|2a,SIZE,LBN`; `--columns time=2:s,op=3,offset=5:512B,size=4,read=28,write=2a`",
    unit: UnitRule::Fixed,
    time: TimeRule::Varies(1_000_000_000),
    actions: false,
    units: "time in s, address in 512 B sectors, length in bytes",
    clock: Clock::FirstRecord,
    volume: "0, the only one",
    order: "ascending",
    source: "1a1a11a/libCacheSim, data/trace.csv, FAQ.md",
    traps: "28 is a read and 2a a write (SCSI); times are whole seconds, so arrivals come in bursts; older copies \
            have microseconds (workload.time_unit)",
};

/// Properties of the format.
pub struct Libcachesim;

impl KnownFormat for Libcachesim {
    const INFO: &'static FormatInfo = &INFO;
    const COLUMNS: &'static str =
        "time=2:s,op=3,offset=5:512B,size=4,read=28,write=2a,separator=comma";

    fn check(line: &[u8]) -> Result<(), Reject> {
        let mut cells = line.trim_ascii().split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        if !cells.next().is_some_and(|version| version == b"1" || version == b"2") {
            return Err(Reject::new("the version, 1 or 2", 0));
        }
        let op = cells.nth(1).unwrap_or_default();
        if ![&b"28"[..], b"2a", b"2A"].contains(&op) {
            return Err(Reject::new("the command, 28 (read) or 2a (write)", 0));
        }
        if cells.count() != 2 {
            return Err(Reject::new("the end of the line after the LBN", line.len()));
        }
        Ok(())
    }
}

/// The parser.
pub type Parser = Mapped<Libcachesim>;
