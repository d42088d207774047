//! A table as text with columns from the user: `workload.columns`.
//!
//! `mapping` reads the lines; this file adds the format to the others.
//!
//! Source: the user, who names the columns. Decided: no file has this format without `workload.columns`, because
//! columns of numbers are ambiguous; digits of a time below a nanosecond are dropped.

use super::mapping::lines::{Table, Units};
use super::{
    Clock, Format, FormatInfo, Head, Line, ReadAs, Reject, TimeRule, TraceFormat, UnitRule,
};

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Table,
    name: "table",
    summary: "A table of text with columns of your own (workload.columns).",
    title: "a table with the columns that workload.columns names",
    form: "lines of cells between commas, semicolons, tabs, bars or blanks, in quotes or not, below names or not",
    unit: UnitRule::Mapped,
    time: TimeRule::Mapped,
    actions: false,
    units: "as workload.columns says; addresses and lengths without a unit are in bytes",
    clock: Clock::FirstRecord,
    volume: "the number in its column, or that of the name in it, from 0, in the order of the file",
    order: "ascending",
    source: "`--columns time=2:us,op=3,offset=5:512B,size=4`",
    traps: "numbers for operations need their meaning (read=0,write=1); without time everything arrives at \
            time 0: use the closed loop (host.mode); digits below a nanosecond are dropped; lines that begin \
            with # are comments",
};

/// The parser.
#[derive(Default)]
pub struct Parser {
    table: Option<Table>,
}

impl Format for Parser {
    const INFO: &'static FormatInfo = &INFO;

    fn new(read_as: &ReadAs) -> Parser {
        let units = Units { time_ns: read_as.time_ns, bytes: read_as.unit.bytes_of_table() };
        let lines = read_as.columns.as_deref().filter(|mapping| mapping.record.is_none());
        Parser { table: lines.map(|mapping| Table::new(mapping.clone(), units, None)) }
    }

    fn parse(&mut self, line: &[u8]) -> Result<Line, Reject> {
        match &mut self.table {
            Some(table) => table.parse(line),
            None => Err(Reject::new(
                "workload.columns (--columns), which names the columns of the table",
                0,
            )),
        }
    }

    fn volume_name(&self, volume: u64) -> String {
        self.table.as_ref().map_or_else(|| volume.to_string(), |table| table.volume_name(volume))
    }

    fn detect(_head: &Head<'_>) -> u32 {
        0
    }
}

/// How the lines of a file fit the columns of a table.
pub(crate) struct TableFit<'a> {
    /// Lines that are requests, or events that are not requests.
    pub(crate) records: usize,
    /// Lines that do not fit, and why.
    pub(crate) bad: Vec<(&'a [u8], Reject)>,
}

/// Returns how the head of a file fits the columns in `read_as`.
pub(crate) fn bad<'a>(read_as: &ReadAs, head: &Head<'a>) -> TableFit<'a> {
    let mut parser = Parser::new(read_as);
    let mut fits = TableFit { records: 0, bad: Vec::new() };
    for line in head.lines {
        match parser.parse(line) {
            Ok(Line::Blank | Line::Header) => {}
            Ok(_) => fits.records += 1,
            Err(reject) => fits.bad.push((line, reject)),
        }
    }
    fits
}
