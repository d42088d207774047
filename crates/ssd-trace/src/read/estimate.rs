//! Estimates the memory of a trace without reading all of it.

use crate::read::columnar::{MAGIC, Reader};
use crate::read::fit::Record;
use crate::read::input;
use crate::read::unpack::unpacked;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::rc::Rc;

/// Bytes of the content that are examined.
const SAMPLE: u64 = 4 << 20;
/// Lines after the sample may be shorter, or compressed better, by this many per cent.
const MARGIN: u64 = 25;
/// Length of the shortest record of a binary format.
const RECORD_BYTES: usize = 32;

/// Returns an upper estimate of the memory of the requests of the trace at `path`, 24 bytes each. The header of an
/// ssdlab trace file has the number of requests; for other files it follows from the lines of the first 4 MiB.
///
/// # Errors
/// The file cannot be read, or its compressed data is damaged.
pub fn memory_bytes(path: &Path) -> io::Result<u64> {
    let file = File::open(input::file_of(&path.display().to_string()))?;
    let size = file.metadata()?.len();
    let read = Rc::new(Cell::new(0));
    let mut content = unpacked(CountingReader { file, read: Rc::clone(&read) })?;
    let mut sample = Vec::new();
    content.by_ref().take(SAMPLE).read_to_end(&mut sample)?;
    let requests = if sample.starts_with(&MAGIC) {
        let reader = Reader::of("", &sample[..]).map_err(|error| io::Error::other(error.0))?;
        reader.header().requests
    } else {
        let lines = sample.iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
        let text = !sample.contains(&0);
        let records = if text { lines } else { (sample.len() / RECORD_BYTES) as u64 };
        if (sample.len() as u64) < SAMPLE {
            records
        } else {
            let total = u128::from(records) * u128::from(size) / u128::from(read.get().max(1));
            u64::try_from(total * u128::from(100 + MARGIN) / 100).unwrap_or(u64::MAX)
        }
    };
    Ok(requests.saturating_mul(size_of::<Record>() as u64))
}

/// Counts the bytes read from a file.
struct CountingReader {
    file: File,
    read: Rc<Cell<u64>>,
}

impl Read for CountingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read(buffer)?;
        self.read.set(self.read.get() + bytes as u64);
        Ok(bytes)
    }
}
