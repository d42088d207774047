//! I/O log of fio, version 3: `TIME FILE ACTION OFFSET LENGTH`.
//!
//! Source: HOWTO of fio, "Trace file format v3", and its iolog.c. Offset and length are in bytes, the time counts from
//! the start of the run. Decided: the HOWTO states no unit of the time; it is read as whole microseconds, because fio
//! writes these (`log_io_u`). Sync and datasync are flushes.

use super::iolog::{Iolog, Times, Version};
use super::{Clock, FormatInfo, TimeRule, TraceFormat, UnitRule};

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::FioV3,
    name: "fio-v3",
    summary: "I/O log of fio, version 3.",
    title: "an I/O log of fio, version 3",
    form: "`TIME_US FILE ACTION [OFFSET LENGTH]`",
    unit: UnitRule::Fixed,
    time: TimeRule::Fixed,
    actions: false,
    units: "time in us, offset and length in bytes",
    clock: Clock::File,
    volume: "number of the file, from 0, in the order of the `add` lines",
    order: "ascending",
    source: "fio, HOWTO, trace file format v3; iolog.c",
    traps: "has no `wait`; the unit of the time is known only from the program; each file is a separate volume",
};

/// Version 3.
pub struct Version3;

impl Version for Version3 {
    const INFO: &'static FormatInfo = &INFO;
    const HEAD: &'static str = "fio version 3 iolog";
    const TIMES: Times = Times::Lines;
    const FOUND: bool = true;
}

/// The parser.
pub type Parser = Iolog<Version3>;
