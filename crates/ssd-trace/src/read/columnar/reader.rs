//! Reads a trace file, plain or compressed.

use super::decode;
use super::layout::{
    BLOCK_HEADER_BYTES, BlockHeader, Fault, HEADER_BYTES, Header, Summary, checksum, u64_at,
};
use crate::read::input::copying_again;
use crate::read::unpack::unpacked;
use ssd_core::host::request::TimedRequest;
use ssd_core::host::source::{Source, SourceError};
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::Path;

/// Bytes read from the system at a time.
const BUFFER: usize = 1 << 18;
/// Requests decoded at a time for [`Source::next_request`].
const AHEAD: usize = 256;

/// A reader of a trace file, which has one block in memory.
pub struct Reader<R = Box<dyn Read>> {
    /// Name of the file in messages.
    file: String,
    header: Header,
    /// Remaining unpacked bytes.
    plain: R,
    /// Bytes of the file up to the end of the current block.
    position: u64,
    /// Current block: its header, its columns, and their position in the file.
    block: BlockHeader,
    columns: Vec<u8>,
    columns_at: u64,
    /// Requests of the current block that have been decoded, and the arrival of the last of them.
    decoded: usize,
    at: u64,
    blocks: u64,
    requests: u64,
    /// Requests decoded and not yet returned; only `next_request` fills it.
    ahead: Vec<TimedRequest>,
    handed_out: usize,
    failed: Option<SourceError>,
}

impl Reader {
    /// Opens the trace file at `path`, plain or packed.
    ///
    /// # Errors
    /// The file cannot be read, is not a trace file, or its header is damaged; the message names the file, the byte,
    /// and the expected and actual content. A damaged block is detected when it is reached.
    pub fn open(path: &Path) -> Result<Reader, SourceError> {
        let name = path.display().to_string();
        let file = File::open(path)
            .map_err(|error| SourceError(format!("{name}: cannot open the trace file: {error}")))?;
        Reader::stream(&name, file)
    }

    /// Reads a trace file from any reader, plain or packed; `name` is its name in messages.
    ///
    /// # Errors
    /// As for [`Reader::open`].
    pub fn stream(name: &str, raw: impl Read + 'static) -> Result<Reader, SourceError> {
        let plain = unpacked(BufReader::with_capacity(BUFFER, raw));
        Reader::of(name, plain.map_err(|error| unreadable(name, 0, &error))?)
    }
}

impl<R: Read> Reader<R> {
    /// Reads a trace file that is not packed.
    pub(crate) fn of(name: &str, mut plain: R) -> Result<Reader<R>, SourceError> {
        let mut start = Vec::with_capacity(HEADER_BYTES);
        let read = plain.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut start);
        read.map_err(|error| unreadable(name, 0, &error))?;
        let header = Header::decode(&start).map_err(|fault| report(name, &fault))?;
        Ok(Reader::new(name.to_owned(), header, plain))
    }

    fn new(file: String, header: Header, plain: R) -> Reader<R> {
        Reader {
            file,
            header,
            plain,
            position: HEADER_BYTES as u64,
            block: BlockHeader::default(),
            columns: Vec::new(),
            columns_at: HEADER_BYTES as u64,
            decoded: 0,
            at: 0,
            blocks: 0,
            requests: 0,
            ahead: Vec::new(),
            handed_out: 0,
            failed: None,
        }
    }

    /// Returns the header of the file.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Reads the rest of a newly opened reader and compares it with the header: counts, time range, sector range,
    /// columns, digest. Reading without this call compares only the number of requests, the number of blocks, the last
    /// arrival and all checksums.
    ///
    /// # Errors
    /// As for [`Source::next_request`], or a number differs. A reader that has already returned requests is refused.
    pub fn verify(mut self) -> Result<Header, SourceError> {
        if self.requests > 0 {
            let text = format!("{}: only a reader just opened can be verified", self.file);
            return Err(SourceError(text));
        }
        let (mut summary, mut batch) = (Summary::new(), Vec::new());
        loop {
            batch.clear();
            self.fill(&mut batch, 4096)?;
            batch.iter().for_each(|timed| summary.add(timed));
            if batch.is_empty() {
                break;
            }
        }
        // Length and number of blocks were compared while reading.
        let Header { file_bytes, blocks, .. } = self.header;
        let actual = Header { file_bytes, blocks, ..*summary.header() };
        if actual != self.header {
            let expected = format!("a header of {actual:?}");
            return Err(report(
                &self.file,
                &Fault::new(16, expected, format!("{:?}", self.header)),
            ));
        }
        Ok(actual)
    }

    /// Moves to the next block; returns false at the end of the file.
    #[inline(never)]
    fn next_block(&mut self) -> Result<bool, SourceError> {
        assert_eq!(self.decoded, self.block.requests as usize);
        if self.blocks == self.header.blocks {
            return self.at_end().map(|()| false);
        }
        let start = self.position;
        let mut head = [0; BLOCK_HEADER_BYTES];
        self.read_head(&mut head)?;
        let fault = |fault: Fault| report(&self.file, &fault);
        let block = BlockHeader::decode(&head, start).map_err(fault)?;
        self.position += BLOCK_HEADER_BYTES as u64;
        self.columns_at = self.position;
        self.position += block.payload_bytes() as u64;
        if self.position > self.header.file_bytes {
            return Err(self.cut(self.header.file_bytes));
        }
        self.columns.resize(block.payload_bytes(), 0);
        let read = self.plain.read_exact(&mut self.columns);
        read.map_err(|error| unreadable(&self.file, self.columns_at, &error))?;
        // The checksum is right, so the remaining errors concern the contents of the block.
        self.check_block(&block, &head, start).map_err(|fault| report(&self.file, &fault))?;
        self.block = block;
        (self.decoded, self.at) = (0, block.time);
        self.blocks += 1;
        Ok(true)
    }

    fn check_block(&self, block: &BlockHeader, head: &[u8], start: u64) -> Result<(), Fault> {
        let columns = &self.columns[..];
        let (sum, stored) = (checksum(&head[..56], columns), u64_at(head, 56));
        if sum != stored {
            let expected = format!("checksum {sum:016x} of block {}", self.blocks + 1);
            return Err(Fault::new(start + 56, expected, format!("{stored:016x}")));
        }
        block.check(start)?;
        if columns[block.column_bytes()..].iter().any(|byte| *byte != 0) {
            return Err(Fault::new(start, "zero bytes after the columns", "others"));
        }
        if columns[..usize::from(block.widths[0])].iter().any(|byte| *byte != 0) {
            let expected = "a first distance of 0 in the time column";
            return Err(Fault::new(start + BLOCK_HEADER_BYTES as u64, expected, "another"));
        }
        let (earliest, name) = match self.blocks {
            0 => (self.header.first.0, "the first arrival of the header"),
            _ => (self.at, "the arrival before it"),
        };
        if block.time < earliest || (self.blocks == 0 && block.time != earliest) {
            let expected = format!("an arrival not before {name}, {earliest} ns");
            return Err(Fault::new(start + 16, expected, format!("{} ns", block.time)));
        }
        Ok(())
    }

    /// Reads the header of the next block.
    fn read_head(&mut self, head: &mut [u8; BLOCK_HEADER_BYTES]) -> Result<(), SourceError> {
        let end = self.position + BLOCK_HEADER_BYTES as u64;
        if end > self.header.file_bytes {
            return Err(self.cut(self.header.file_bytes));
        }
        let read = self.plain.read_exact(head);
        read.map_err(|error| unreadable(&self.file, self.position, &error))
    }

    /// Checks that the file ends where its header says, with the stated content.
    fn at_end(&mut self) -> Result<(), SourceError> {
        let Header { file_bytes, requests, last, .. } = self.header;
        if self.position != file_bytes {
            let expected = format!("the end of the last block at byte {file_bytes}");
            return Err(report(&self.file, &Fault::new(16, expected, self.position)));
        }
        if self.requests != requests || self.at != last.0 {
            let expected = format!("{} requests up to {} ns", self.requests, self.at);
            let actual = format!("{requests} requests up to {} ns in the header", last.0);
            return Err(report(&self.file, &Fault::new(24, expected, actual)));
        }
        let more = self.plain.read(&mut [0]);
        if more.map_err(|error| unreadable(&self.file, file_bytes, &error))? > 0 {
            let fault = Fault::new(file_bytes, "the end of the file", "more bytes");
            return Err(report(&self.file, &fault));
        }
        Ok(())
    }

    /// Returns the error for a block that reaches beyond the end in the file header.
    #[cold]
    fn cut(&self, end: u64) -> SourceError {
        let expected = format!("block {} of {}", self.blocks + 1, self.header.blocks);
        report(&self.file, &Fault::new(end, expected, "the end of the file"))
    }

    /// Appends up to `most` requests to `batch`, after those decoded ahead.
    fn decode(&mut self, batch: &mut Vec<TimedRequest>, most: usize) -> Result<(), SourceError> {
        let mut left = most;
        while left > 0 {
            let total = self.block.requests as usize;
            if self.decoded == total {
                if !self.next_block()? {
                    break;
                }
                continue;
            }
            let range = self.decoded..total.min(self.decoded + left);
            let (count, mut at) = (range.len(), self.at);
            if !decode::requests(&self.block, &self.columns, range, &mut at, batch) {
                let expected = format!(
                    "requests of at least one sector, in order of arrival, below sector 2^64, in \
                     block {} of {}",
                    self.blocks, self.header.blocks
                );
                let fault = Fault::new(self.columns_at, expected, "others");
                return Err(report(&self.file, &fault));
            }
            self.at = at;
            self.decoded += count;
            self.requests += count as u64;
            left -= count;
        }
        Ok(())
    }

    /// Stores an error, because a source that has failed does not continue.
    fn remember<T>(&mut self, result: Result<T, SourceError>) -> Result<T, SourceError> {
        if let Err(error) = &result {
            self.failed = Some(error.clone());
        }
        result
    }
}

impl<R: Read> Source for Reader<R> {
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        if self.handed_out == self.ahead.len() {
            let mut ahead = std::mem::take(&mut self.ahead);
            ahead.clear();
            self.handed_out = 0;
            // Requests before an error are returned first.
            let error = self.fill(&mut ahead, AHEAD).err();
            self.ahead = ahead;
            if let Some(error) = error
                && self.ahead.is_empty()
            {
                return Err(error);
            }
        }
        let next = self.ahead.get(self.handed_out).copied();
        self.handed_out += usize::from(next.is_some());
        Ok(next)
    }

    fn fill(&mut self, batch: &mut Vec<TimedRequest>, most: usize) -> Result<(), SourceError> {
        let ready = &self.ahead[self.handed_out..];
        let count = ready.len().min(most);
        batch.extend_from_slice(&ready[..count]);
        self.handed_out += count;
        if count == most {
            return Ok(());
        }
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let result = self.decode(batch, most - count);
        self.remember(result)
    }

    fn expected(&self) -> Option<u64> {
        Some(self.header.requests)
    }
}

/// Returns the message for a fault.
#[cold]
fn report(file: &str, fault: &Fault) -> SourceError {
    let Fault { at, expected, actual } = fault;
    let remedy = if *at < 8 {
        "give a file that ssdlab has written as a trace file"
    } else if *at == 8 {
        "convert the trace again with this version of ssdlab"
    } else {
        "copy the file again, or convert the trace again"
    };
    SourceError(format!(
        "{file}, byte {at}: not a whole trace file: expected {expected}, found {actual}; {remedy}"
    ))
}

/// Returns the message for bytes that cannot be read or decompressed.
#[cold]
fn unreadable(file: &str, at: u64, error: &io::Error) -> SourceError {
    if error.kind() == ErrorKind::UnexpectedEof {
        let fault = Fault::new(at, "a block, or the rest of it", "the end of the file");
        return report(file, &fault);
    }
    let remedy = copying_again(file);
    SourceError(format!("{file}: cannot read beyond byte {at} of the trace: {error}; {remedy}"))
}
