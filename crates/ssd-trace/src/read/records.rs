//! Records of a binary trace in one or more files: any bytes, counted from 1.

use crate::read::formats::Format;
use crate::read::lines::{Pieces, Text};
use std::io::{self, BufReader, Read};

/// Bytes read at a time.
const BUFFER: usize = 256 << 10;
/// Maximum number of bytes of a bad record in a message.
const SHOWN: usize = 32;

/// A file of a trace: its name in messages, and its bytes.
pub(crate) type Part<'a> = (String, Box<dyn Read + 'a>);

/// Splits files into records and returns the earliest record of all files first. If no record begins at a position, all
/// bytes up to the next record are one bad record.
pub(crate) struct Records<'a> {
    files: Vec<File<'a>>,
    /// The file of the last returned record.
    last: Option<usize>,
    number: u64,
}

/// One of the files, with its next record.
struct File<'a> {
    name: String,
    reader: BufReader<Box<dyn Read + 'a>>,
    /// Bytes of a record that determine its length.
    head: usize,
    /// The record, the first bytes of a bad one, or nothing at the end of the file.
    record: Vec<u8>,
    /// Whether the file does not end within the record.
    is_whole: bool,
    /// Whether no record begins here.
    bad: bool,
    /// The sort key.
    time: u64,
    number: u64,
    offset: u64,
}

impl<'a> Records<'a> {
    /// Creates the reader; `head` is from [`crate::read::formats::Cut::Records`].
    pub(crate) fn new(parts: Vec<Part<'a>>, head: usize) -> Records<'a> {
        assert!(head > 0 && !parts.is_empty(), "there is something to read");
        let open = |(name, reader)| File {
            name,
            reader: BufReader::with_capacity(BUFFER, reader),
            head,
            record: Vec::new(),
            is_whole: true,
            bad: false,
            time: 0,
            number: 0,
            offset: 0,
        };
        Records { files: parts.into_iter().map(open).collect(), last: None, number: 0 }
    }
}

impl File<'_> {
    /// Moves to the next record.
    fn advance<P: Format>(&mut self, parser: &P) -> io::Result<()> {
        if self.bad {
            self.skip(parser)?;
        } else {
            self.offset += self.record.len() as u64;
            self.record.clear();
        }
        self.is_whole = self.fill(self.head)?;
        let length = if self.is_whole { parser.length(&self.record) } else { None };
        if let Some(length) = length {
            self.is_whole = self.fill(length)?;
        }
        self.bad = self.is_whole && length.is_none();
        // A record that has no place in the order is reported at once.
        self.time = if self.is_whole && !self.bad { parser.time(&self.record) } else { 0 };
        self.number += 1;
        Ok(())
    }

    /// Reads until the record has `length` bytes; returns false if the file ends before.
    fn fill(&mut self, length: usize) -> io::Result<bool> {
        let missing = length.saturating_sub(self.record.len());
        self.reader.by_ref().take(missing as u64).read_to_end(&mut self.record)?;
        Ok(self.record.len() >= length)
    }

    /// Drops bytes of a bad record until the head of a good one, or the end of the file.
    #[cold]
    fn skip<P: Format>(&mut self, parser: &P) -> io::Result<()> {
        loop {
            self.record.remove(0);
            self.offset += 1;
            if !self.fill(self.head)? {
                self.record.clear();
            }
            if self.record.is_empty() || parser.length(&self.record).is_some() {
                return Ok(());
            }
        }
    }
}

impl<P: Format> Pieces<P> for Records<'_> {
    const NOUN: &'static str = "record";
    const WHOLE: &'static str = "a whole record (the file ends inside it)";

    fn next_piece(&mut self, parser: &P) -> io::Result<Option<Text<'_>>> {
        match self.last {
            Some(last) => self.files[last].advance(parser)?,
            None => self.files.iter_mut().try_for_each(|file| file.advance(parser))?,
        }
        let left = self.files.iter().enumerate().filter(|(_, file)| !file.record.is_empty());
        let earliest = left.min_by_key(|(_, file)| file.time);
        let Some((at, file)) = earliest else { return Ok(None) };
        (self.last, self.number) = (Some(at), self.number + 1);
        Ok(Some(Text { bytes: &file.record, is_whole: file.is_whole }))
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn place(&self) -> String {
        let Some(file) = self.last.map(|last| &self.files[last]) else {
            return "record 1".to_owned();
        };
        let file_name =
            if self.files.len() > 1 { format!(" of {}", file.name) } else { String::new() };
        format!("record {}{file_name} (offset {})", file.number, file.offset)
    }

    fn shown(bytes: &[u8]) -> String {
        let hex: String = bytes.iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
        format!("0x{hex}{}", if bytes.len() > SHOWN { "..." } else { "" })
    }
}
