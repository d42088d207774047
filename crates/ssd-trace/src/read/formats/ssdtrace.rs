//! The description of ssdlab's own trace files; `read/columnar` reads them.

use super::{Clock, FormatInfo, TimeRule, TraceFormat, UnitRule};

/// Description of the format.
pub(super) const SSDTRACE: FormatInfo = FormatInfo {
    format: TraceFormat::Ssdtrace,
    name: "ssdtrace",
    summary: "Trace files of ssdlab.",
    title: "a trace file of ssdlab",
    form: "columns of binary numbers (docs/trace-file.md)",
    unit: UnitRule::Fixed,
    time: TimeRule::Fixed,
    actions: false,
    units: "time in ns, address and length in 512 B sectors",
    clock: Clock::File,
    volume: "volume of the request",
    order: "ascending",
    source: "docs/trace-file.md",
    traps: "none: every byte is under a checksum; `ssdlab trace convert` writes it",
};
