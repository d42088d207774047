//! I/O log of fio, version 2, as fio itself replays it: `FILE ACTION OFFSET LENGTH`.
//!
//! Source: fio 3.33, measured: after `wait 3000`, `wait 2000` and `wait 5000` the requests come 3, 3 and 5 s after the
//! start, so the numbers are milliseconds since the start. Its HOWTO says otherwise (`fio_v2`). Decided: a time that
//! has passed causes no wait; a log does not show which meaning was intended, so this format must be set explicitly.

use super::iolog::{Iolog, Times, Version};
use super::{Clock, FormatInfo, TimeRule, TraceFormat, UnitRule};

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::FioV2Clock,
    name: "fio-v2-clock",
    summary: "I/O log of fio, version 2, with waits as fio replays them.",
    title: "an I/O log of fio, version 2, with waits as fio replays them",
    form: "`FILE ACTION [OFFSET LENGTH]`",
    unit: UnitRule::Fixed,
    time: TimeRule::Fixed,
    actions: false,
    units: "time in ms since the start (only `wait` lines have one), offset and length in bytes",
    clock: Clock::File,
    volume: "number of the file, from 0, in the order of the `add` lines",
    order: "ascending",
    source: "fio 3.33, as it replays logs",
    traps: "is not detected: set it; a `wait` of a number that has passed takes no time",
};

/// Version 2 with waits as times since the start.
pub struct Version2Clock;

impl Version for Version2Clock {
    const INFO: &'static FormatInfo = &INFO;
    const HEAD: &'static str = "fio version 2 iolog";
    const TIMES: Times = Times::Clock;
    const FOUND: bool = false;
}

/// The parser.
pub type Parser = Iolog<Version2Clock>;
