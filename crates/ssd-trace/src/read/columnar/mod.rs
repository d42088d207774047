//! Trace files: ssdlab's binary format for traces that are read more than once.
//!
//! A file (`.ssdtrace`) is a header and blocks of columns: time, sector, length with operation, and, where used,
//! volume, stream and flags. A request of a typical trace takes 12 bytes, one of a regular workload fewer, and no value
//! is ever truncated. Checksums cover every byte. `docs/trace-file.md` specifies the layout byte by byte.
//!
//! [`Reader`] reads trace files, [`crate::write::Columnar`] writes them.

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

/// Extension of trace files, without the dot.
pub const EXTENSION: &str = "ssdtrace";
