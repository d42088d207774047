//! I/O log of fio, version 2: `FILE ACTION OFFSET LENGTH`.
//!
//! Source: HOWTO of fio, "Trace file format v2". Offset and length are in bytes. The only times are those of `wait`
//! lines: microseconds in place of the offset. Decided: waits add up, including short ones (fio drops those below 100
//! us); the requests after a wait arrive at its end. Sync and datasync are flushes. fio itself behaves differently
//! (`fio_v2_clock`): a log with waits is read according to the manual, with a warning.

use super::iolog::{Iolog, Times, Version};
use super::{Clock, FormatInfo, TimeRule, TraceFormat, UnitRule};

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::FioV2,
    name: "fio-v2",
    summary: "I/O log of fio, version 2.",
    title: "an I/O log of fio, version 2",
    form: "`FILE ACTION [OFFSET LENGTH]`",
    unit: UnitRule::Fixed,
    time: TimeRule::Fixed,
    actions: false,
    units: "time in us (only `wait` lines have one), offset and length in bytes",
    clock: Clock::File,
    volume: "number of the file, from 0, in the order of the `add` lines",
    order: "ascending",
    source: "fio, HOWTO, trace file format v2",
    traps: "without `wait` lines everything arrives at time 0: use the closed loop (host.mode); \
            each file is a separate volume; fio 3.33 itself replays `wait` lines as `fio-v2-clock`",
};

/// Version 2.
pub struct Version2;

impl Version for Version2 {
    const INFO: &'static FormatInfo = &INFO;
    const HEAD: &'static str = "fio version 2 iolog";
    const TIMES: Times = Times::Pauses;
    const FOUND: bool = true;
}

/// The parser.
pub type Parser = Iolog<Version2>;
