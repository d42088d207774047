//! Trace files (`.ssdtrace`), which carry all requests exactly. See [`crate::read::columnar`].

use super::output::Output;
use super::text::LEVEL;
use super::{Counts, IMPOSSIBLE_REMEDY, Options, TraceWriter, WriteError, impossible};
use crate::read::columnar::encode;
use crate::read::columnar::layout::{HEADER_BYTES, Summary};
use ssd_core::host::request::TimedRequest;
use std::path::Path;

/// Requests in a block. A small block stays in the second-level cache between checksum and decoding, and a value that
/// needs a wider column affects few other requests.
const BLOCK_REQUESTS: usize = 4096;

/// Writes a trace file.
pub struct Columnar {
    output: Output,
    /// Requests of the next block, not yet written.
    waiting: Vec<TimedRequest>,
    /// Bytes of the current block.
    bytes: Vec<u8>,
    summary: Summary,
    /// Whether the file is compressed, as its name says.
    compressed: bool,
}

impl Columnar {
    /// Opens a writer for `path`; the file is compressed with zstd if the name ends in `.zst`. The format has no
    /// losses, so `options.allow` has no effect.
    ///
    /// # Errors
    /// [`WriteError::Exists`], [`WriteError::File`].
    pub fn create(path: &Path, options: Options) -> Result<Columnar, WriteError> {
        let compressed = path.extension().is_some_and(|extension| extension == "zst");
        let mut output = Output::create(path, options.replace)?;
        // Zeros are not a valid header, so an incomplete file is never a trace file.
        output.append(&[0; HEADER_BYTES])?;
        let waiting = Vec::with_capacity(BLOCK_REQUESTS);
        Ok(Columnar { output, waiting, bytes: Vec::new(), summary: Summary::new(), compressed })
    }

    /// Writes the collected requests as one block.
    fn write_block(&mut self) -> Result<(), WriteError> {
        debug_assert!(!self.waiting.is_empty());
        self.bytes.clear();
        encode::block(&self.waiting, &mut self.bytes);
        self.waiting.clear();
        self.summary.add_block(self.bytes.len());
        self.output.append(&self.bytes)
    }
}

impl TraceWriter for Columnar {
    fn format(&self) -> &'static str {
        "trace file"
    }

    fn write(&mut self, timed: &TimedRequest) -> Result<(), WriteError> {
        let header = self.summary.header();
        if let Some(problem) = impossible(timed, header.last) {
            let (file, number) = (self.output.name(), header.requests + 1);
            return Err(WriteError::request(&file, number, timed, problem, IMPOSSIBLE_REMEDY));
        }
        self.summary.add(timed);
        self.waiting.push(*timed);
        if self.waiting.len() == BLOCK_REQUESTS {
            self.write_block()?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Counts, WriteError> {
        if !self.waiting.is_empty() {
            self.write_block()?;
        }
        let header = *self.summary.header();
        self.output.overwrite_start(&header.encode())?;
        // The header comes first but is known last, so the whole file is compressed at the end.
        let bytes = if self.compressed {
            self.output.compressed(LEVEL)?.commit()?
        } else {
            let bytes = self.output.commit()?;
            assert_eq!(bytes, header.file_bytes);
            bytes
        };
        Ok(Counts { requests: header.requests, bytes, ..Counts::default() })
    }
}
