//! Fixed binary records with fields from the user: `workload.columns` with `record=BYTES`.
//!
//! `mapping` reads the records; this file adds the format to the others.
//!
//! Source: the user, who names the fields. Decided: an incomplete record at the end of the file is bad, and negative
//! numbers are refused.

use super::mapping::binary;
use super::mapping::lines::Units;
use super::{
    Clock, Cut, Format, FormatInfo, Head, Line, ReadAs, Reject, TimeRule, TraceFormat, UnitRule,
};
use crate::read::formats::mapping::Mapping;
use std::sync::Arc;

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Records,
    name: "records",
    summary: "Binary records with fields of your own (workload.columns).",
    title: "binary records with the fields that workload.columns names",
    form: "records of a fixed length",
    unit: UnitRule::Mapped,
    time: TimeRule::Mapped,
    actions: false,
    units: "as workload.columns says; addresses and lengths without a unit are in bytes",
    clock: Clock::FirstRecord,
    volume: "the number in its field",
    order: "ascending",
    source: "`--columns record=24,time=u32@0:s,op=write,offset=u64@4:512B,size=u32@12`",
    traps: "u8 to u64 and i8 to i64, lowest byte first unless `be` follows; negative numbers are refused; \
            numbers for operations need their meaning (read=0,write=1)",
};

/// The parser.
#[derive(Default)]
pub struct Parser {
    mapping: Option<Arc<Mapping>>,
    time_ns: Option<u64>,
    unit: u64,
}

impl Format for Parser {
    const INFO: &'static FormatInfo = &INFO;
    const CUT: Cut = Cut::Records(1);

    fn new(read_as: &ReadAs) -> Parser {
        Parser {
            mapping: read_as.columns.clone(),
            time_ns: read_as.time_ns,
            unit: read_as.unit.bytes_of_table(),
        }
    }

    fn length(&self, _head: &[u8]) -> Option<usize> {
        self.mapping.as_ref().and_then(|mapping| mapping.record)
    }

    fn parse(&mut self, record: &[u8]) -> Result<Line, Reject> {
        let Some(mapping) = &self.mapping else {
            return Err(Reject::new(
                "workload.columns (--columns), which names the fields of a record",
                0,
            ));
        };
        binary::parse(mapping, Units { time_ns: self.time_ns, bytes: self.unit }, record)
    }

    fn detect(_head: &Head<'_>) -> u32 {
        0
    }
}
