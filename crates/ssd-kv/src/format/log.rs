//! Records in blocks of 32 KiB: the write-ahead log and the manifest.
//!
//! `fragment` has the parts of a record.

use super::batch::WriteBatch;
use super::coding::{fixed32, masked};
use super::fragment::{BLOCK, FIRST, FULL, HEADER, LAST, MIDDLE, length_of, whole_at};
use super::resync::LostFragment;
use crate::error::{Error, Result};
use crate::vfs::Writer;

/// Appends records to a file.
pub(crate) struct LogWriter {
    file: Writer,
    /// Offset in the current block.
    place: usize,
    record: Vec<u8>,
    /// The previous log, if it is not synced and its records are in no table.
    before: Option<Writer>,
}

impl LogWriter {
    pub(crate) fn new(file: Writer) -> LogWriter {
        assert_eq!(file.written(), 0, "the first block begins with the file");
        LogWriter { file, place: 0, record: Vec::new(), before: None }
    }

    /// Append a record and pass it to the file layer.
    pub(crate) fn add(&mut self, mut payload: &[u8]) -> Result<()> {
        self.record.clear();
        let mut first = true;
        loop {
            debug_assert!(self.place <= BLOCK, "fragments end with their block");
            let left = BLOCK - self.place;
            if left < HEADER {
                self.record.resize(self.record.len() + left, 0);
                self.place = 0;
                continue;
            }
            let length = payload.len().min(left - HEADER);
            debug_assert!(length <= usize::from(u16::MAX), "a length of 16 bits");
            let (fragment, rest) = payload.split_at(length);
            let kind = match (first, rest.is_empty()) {
                (true, true) => FULL,
                (true, false) => FIRST,
                (false, true) => LAST,
                (false, false) => MIDDLE,
            };
            let crc = crc32c::crc32c_append(crc32c::crc32c(&[kind]), fragment);
            self.record.extend_from_slice(&masked(crc).to_le_bytes());
            self.record.extend_from_slice(&(length as u16).to_le_bytes());
            self.record.push(kind);
            self.record.extend_from_slice(fragment);
            let begin = self.record.len() - HEADER - length;
            let stored = || whole_at(&self.record, begin, self.record.len());
            debug_assert!(stored() == Some((kind, fragment)), "readers find another fragment");
            self.place += HEADER + length;
            payload = rest;
            first = false;
            if payload.is_empty() {
                break;
            }
        }
        assert!(
            self.place <= BLOCK && self.record.len() >= HEADER,
            "fragments fill a block at most"
        );
        self.file.append_now(&self.record)?;
        let place = (self.file.written() % BLOCK as u64) as usize;
        assert_eq!(self.place % BLOCK, place, "readers count blocks from the begin of the file");
        Ok(())
    }

    /// Make all records durable, including those of a previous log that is not synced.
    pub(crate) fn sync(&mut self) -> Result<()> {
        let place = (self.file.written() % BLOCK as u64) as usize;
        debug_assert_eq!(self.place % BLOCK, place, "a record was appended in part");
        if let Some(mut before) = self.before.take() {
            before.sync()?;
        }
        self.file.sync()
    }

    /// Start after a log that was not synced: the first `sync` of this one syncs it, unless it is forgotten.
    pub(crate) fn begin_after(&mut self, before: LogWriter) {
        assert_eq!(self.file.written(), 0, "records that do not wait for the log before");
        debug_assert!(before.before.is_none(), "the log before that one is in a table");
        self.before = Some(before.file);
    }

    /// Forget the previous log, whose records are in a table.
    pub(crate) fn forget_before(&mut self) {
        self.before = None;
    }
}

/// An item of a log, in order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A record that begins at this offset.
    Record(u64, Vec<u8>),
    /// Bytes that are not a record, and the reason.
    Damaged(u64, &'static str),
}

/// The bytes after the last whole record of a log.
///
/// A crash may leave a tail if the last writes were not synced, so opening a store ignores it. A medium that loses
/// synced writes may leave the same bytes, and nothing in the log tells the two apart, so verification reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tail {
    pub(crate) offset: u64,
    /// Bytes up to the end of the file.
    pub(crate) bytes: u64,
    /// Whether all of them are zeros; if not, they are the beginning of a record.
    is_zeros: bool,
}

impl Tail {
    /// The error for it; `name` is the name of its file.
    pub(crate) fn error(&self, name: &str) -> Error {
        Error::corrupt(name, self.offset, self.describe())
    }

    /// A description of it, without its place.
    pub(crate) fn describe(&self) -> String {
        let bytes = self.bytes;
        if self.is_zeros {
            format!("{bytes} zeros end the file: lost records, or preallocated space")
        } else {
            format!("a torn record of {bytes} bytes ends the file")
        }
    }

    /// A description of the damage if a later log has records. None for zeros, which are preallocated space then: lost
    /// records would leave a gap in the sequence numbers.
    pub(crate) fn what_before_another_log(&self) -> Option<String> {
        (!self.is_zeros).then(|| format!("{}, and a later log continues", self.describe()))
    }
}

/// Reads the records of a log that is in memory.
pub(crate) struct LogReader<'a> {
    data: &'a [u8],
    at: usize,
    /// From this offset on the file holds only zeros: space that was reserved, or not written before a crash.
    zeros_from: usize,
    tail: Option<Tail>,
    /// The highest sequence number so far, if the records are batches.
    last: Option<u64>,
}

enum Fragment<'a> {
    Good { start: usize, kind: u8, payload: &'a [u8] },
    Bad { start: usize, message: &'static str },
}

impl<'a> LogReader<'a> {
    pub(crate) fn new(data: &'a [u8]) -> LogReader<'a> {
        let zeros_from = data.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        LogReader { data, at: 0, zeros_from, tail: None, last: None }
    }

    /// A reader of a write-ahead log: after a damaged record, it finds the next record of the block from the
    /// counts, lengths and sequence numbers of the batches.
    pub(crate) fn of_batches(data: &'a [u8]) -> LogReader<'a> {
        LogReader { last: Some(0), ..LogReader::new(data) }
    }

    /// The tail, if there is one and the end of the log has been reached.
    pub(crate) fn tail(&self) -> Option<Tail> {
        self.tail
    }

    fn end_with(&mut self, start: usize, is_zeros: bool) {
        debug_assert!(start < self.data.len(), "a tail of no bytes");
        let bytes = (self.data.len() - start) as u64;
        self.tail = Some(Tail { offset: start as u64, bytes, is_zeros });
    }

    /// The next fragment; `begun` is the part of its record that the preceding fragments hold. A torn fragment
    /// at the end of the file is left by a crash and counts as the end.
    fn fragment(&mut self, begun: Option<&[u8]>) -> Option<Fragment<'a>> {
        loop {
            debug_assert!(self.at <= self.data.len().next_multiple_of(BLOCK), "beyond the log");
            let block_end = (self.at / BLOCK + 1) * BLOCK;
            if block_end - self.at < HEADER {
                self.at = block_end;
                continue;
            }
            let end = block_end.min(self.data.len());
            let start = self.at;
            if start >= self.zeros_from {
                if start < self.data.len() {
                    self.end_with(start, true);
                }
                return None;
            }
            if start + HEADER > end {
                self.end_with(start, false);
                return None;
            }
            let header = &self.data[start..start + HEADER];

            let (length, kind) = (length_of(header), header[6]);
            let stop = start + HEADER + length;
            if stop > end {
                if end == self.data.len() && !self.record_after(start, end) {
                    self.at = end;
                    self.end_with(start, false);
                    return None;
                }
                return Some(self.bad((start, end), begun, "a length that does not fit its block"));
            }
            if kind == 0 && length == 0 {
                if begun.is_some() || self.data[start..end].iter().any(|&byte| byte != 0) {
                    return Some(self.bad((start, end), begun, "zeros in place of a record"));
                }
                // Space reserved ahead by writers that map their files.
                self.at = end;
                continue;
            }
            if masked(crc32c::crc32c(&self.data[start + 6..stop])) != fixed32(header, 0) {
                return Some(self.bad((start, end), begun, "checksum mismatch"));
            }
            self.at = stop;
            return Some(Fragment::Good { start, kind, payload: &self.data[start + HEADER..stop] });
        }
    }

    /// A fragment that cannot be read; its length may be wrong.
    fn bad(
        &mut self,
        (start, end): (usize, usize),
        begun: Option<&[u8]>,
        message: &'static str,
    ) -> Fragment<'a> {
        self.at = self.last.map_or(end, |last| {
            // A whole record behind the beginning of another one does not continue it.
            let begun = begun.filter(|_| self.data.get(start + HEADER - 1) != Some(&FULL));
            let begun = begun.unwrap_or_default();
            LostFragment { data: self.data, start, end, begun, last }.resume()
        });
        debug_assert!(self.at > start && self.at <= end, "lost bytes are within the block");
        Fragment::Bad { start, message }
    }

    /// Whether a whole record lies somewhere in `start + 1..end`. If so, the bytes before it were not
    /// torn by a crash, since records are written in order.
    fn record_after(&self, start: usize, end: usize) -> bool {
        debug_assert!(start < end && end <= self.data.len(), "a place in the log");
        (start + 1..end).any(|at| whole_at(self.data, at, end).is_some())
    }

    /// The next record or damage; None at the end.
    pub(crate) fn next_entry(&mut self) -> Option<Entry> {
        let before = self.at;
        debug_assert!(self.tail.is_none(), "the log has ended");
        let entry = self.assembled()?;
        assert!(self.at > before, "reading moves on, whatever the bytes are");
        if let (Some(last), Entry::Record(_, record)) = (&mut self.last, &entry)
            && let Some((_, next)) = WriteBatch::numbers(record)
        {
            *last = next.saturating_sub(1).max(*last);
        }
        Some(entry)
    }

    /// The next record, joined from its fragments, or damage.
    fn assembled(&mut self) -> Option<Entry> {
        let mut begun: Option<(u64, Vec<u8>)> = None;
        loop {
            let first = begun.as_ref().map(|(start, _)| *start);
            debug_assert!(first < Some(self.at as u64), "a record begins before its next fragment");
            let (start, kind, payload) =
                match self.fragment(begun.as_ref().map(|(_, record)| &record[..])) {
                    Some(Fragment::Good { start, kind, payload }) => (start, kind, payload),
                    Some(Fragment::Bad { start, message }) => {
                        return Some(Entry::Damaged(start as u64, message));
                    }
                    None => {
                        // A record without its end, at the end of the file: the writer died in it.
                        if let Some((offset, _)) = begun {
                            self.end_with(offset as usize, false);
                        }
                        return None;
                    }
                };
            match (kind, begun.take()) {
                (FULL, None) => return Some(Entry::Record(start as u64, payload.to_vec())),
                (FIRST, None) => begun = Some((start as u64, payload.to_vec())),
                (FULL | FIRST, Some((offset, _))) => {
                    self.at = start;
                    return Some(Entry::Damaged(offset, "a record without its end"));
                }
                (MIDDLE, Some((offset, mut record))) => {
                    record.extend_from_slice(payload);
                    begun = Some((offset, record));
                }
                (LAST, Some((offset, mut record))) => {
                    record.extend_from_slice(payload);
                    return Some(Entry::Record(offset, record));
                }
                (MIDDLE | LAST, None) => {
                    return Some(Entry::Damaged(
                        start as u64,
                        "part of a record without its begin",
                    ));
                }
                _ => return Some(Entry::Damaged(start as u64, "an unknown kind of record")),
            }
        }
    }
}
