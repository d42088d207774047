//! Trace files: our own binary form of a trace, for traces that are read more than once.
//!
//! A file (`.ssdtrace`) is a header and blocks of columns: time, sector, length with operation, and
//! where they are used volume, stream and flags. A request of a usual trace takes 12 bytes, one of
//! a regular workload fewer, none is ever cut. Every byte is under a checksum; the layout, byte by
//! byte, is in `docs/trace-file.md`.
//!
//! [`Reader`] reads them, [`crate::write::Columnar`] writes them.

mod decode;
pub(crate) mod encode;
pub(crate) mod layout;
mod reader;
#[cfg(test)]
mod tests;

pub use layout::{
    BLOCK_HEADER_BYTES, Columns, HEADER_BYTES, Header, MAGIC, MAX_BLOCK_REQUESTS, VERSION,
};
pub use reader::Reader;

use crate::formats::{Clock, FormatInfo};
use ssd_core::config::TraceFormat;

/// Extension of trace files, without the dot.
pub const EXTENSION: &str = "ssdtrace";

/// What the format says of itself.
pub const INFO: FormatInfo = FormatInfo {
    format: TraceFormat::Ssdtrace,
    title: "a trace file of ssdlab",
    form: "columns of binary numbers (docs/trace-file.md)",
    units: "time in ns, address and length in 512 B sectors",
    clock: Clock::File,
    volume: "volume of the request",
    order: "ascending",
    source: "docs/trace-file.md",
    traps: "none: every byte is under a checksum; `ssdlab trace convert` writes it",
};
