//! Events of wiscsee: `PID ACTION OPERATION OFFSET SIZE TIME GAP SYNC`.
//!
//! Source: junhe/wiscsee, `event_file_column_names` of its configuration and utilities that write them from blkparse.
//! Offset and size are in bytes, the time in seconds. Decided: events of action D (issued) are the requests, events of
//! action C (completed) are counted; a negative offset, which is before the traced partition, is refused.

use super::mapping::known::{KnownFormat, Mapped};
use super::{Clock, FormatInfo, Reject, TimeRule, TraceFormat, UnitRule};

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Wiscsee,
    name: "wiscsee",
    summary: "Events of wiscsee.",
    title: "events of wiscsee",
    form: "`PID D|C read|write|discard OFFSET SIZE TIME GAP True|False`; \
           `--columns time=6:s,op=3,offset=4,size=5,event=2:D`",
    unit: UnitRule::Fixed,
    time: TimeRule::Fixed,
    actions: false,
    units: "time in s, offset and size in bytes",
    clock: Clock::FirstRecord,
    volume: "0, the only one",
    order: "ascending",
    source: "junhe/wiscsee, event_file_column_names",
    traps: "every request has two lines, D (issued) and C (completed): D counts; negative offsets: refused",
};

/// Properties of the format.
pub struct Wiscsee;

impl KnownFormat for Wiscsee {
    const INFO: &'static FormatInfo = &INFO;
    const COLUMNS: &'static str = "time=6:s,op=3,offset=4,size=5,event=2:D,separator=blanks";

    fn check(line: &[u8]) -> Result<(), Reject> {
        let cells: Vec<&[u8]> =
            line.split(u8::is_ascii_whitespace).filter(|cell| !cell.is_empty()).collect();
        let is_event = matches!(cells[..], [_, b"D" | b"C", _, _, _, _, _, b"True" | b"False"]);
        if is_event {
            return Ok(());
        }
        Err(Reject::new("eight columns, the second D or C, the last True or False", 0))
    }
}

/// The parser.
pub type Parser = Mapped<Wiscsee>;
