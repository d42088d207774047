//! A limit on the growth of unpacked bytes.

use super::final_error;
use ssd_core::metrics::numbers::size;
use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// A ratio that no trace reaches: times or addresses differ between lines, so a line costs some bits. Repeated lines
/// reach 1032 with deflate, and 20,000 and more with zstd and bzip2.
const MOST: u64 = 250;
/// Bytes from which the ratio is checked; this much is read of any file.
const FROM: u64 = 64 << 20;

/// A reader that fails when the ratio is exceeded.
pub(super) struct BoundedReader<R> {
    reader: R,
    packed: Rc<Cell<u64>>,
    count: u64,
    command: &'static str,
}

impl<R> BoundedReader<R> {
    /// Creates the reader; `packed` counts the bytes of the file, `command` unpacks them to standard output.
    pub(super) fn new(reader: R, packed: Rc<Cell<u64>>, command: &'static str) -> BoundedReader<R> {
        BoundedReader { reader, packed, count: 0, command }
    }
}

impl<R: Read> Read for BoundedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.count += count as u64;
        if self.count > FROM && self.count / MOST > self.packed.get() {
            return Err(final_error(format!(
                "an archive bomb: {} of the file unpacked to {}, more than {MOST} times as much; if you \
                 trust the file: {} | ssdlab trace info -",
                size(self.packed.get() as f64),
                size(self.count as f64),
                self.command
            )));
        }
        Ok(count)
    }
}
