//! Encodings of text: a byte order mark is removed, and UTF-16 with or without a mark becomes UTF-8.

use super::Bytes;
use std::io::{self, BufRead, BufReader, Read};

/// An encoding of text in units of two bytes.
#[derive(Clone, Copy)]
pub(crate) enum Encoding {
    /// UTF-16 with the low byte first.
    Little,
    /// UTF-16 with the high byte first.
    Big,
}

impl Encoding {
    /// Returns the encoding of text that begins with `head`. A mark must be followed by an ASCII character.
    pub(crate) fn of(head: &[u8]) -> Option<Encoding> {
        match head {
            [0xff, 0xfe, 0x09..=0x7e, 0, ..] => Some(Encoding::Little),
            [0xfe, 0xff, 0, 0x09..=0x7e, ..] => Some(Encoding::Big),
            _ if is_ascii_in_pairs(head, 0) => Some(Encoding::Little),
            _ if is_ascii_in_pairs(head, 1) => Some(Encoding::Big),
            _ => None,
        }
    }
}

/// Returns the bytes of `reader`, which begins with `head`, as UTF-8 if they are Unicode.
pub(super) fn decoded<'a>(head: &[u8], mut reader: Bytes<'a>) -> Bytes<'a> {
    if head.starts_with(&[0xef, 0xbb, 0xbf]) {
        // The three bytes are already in memory.
        let mut mark = [0; 3];
        return match reader.read_exact(&mut mark) {
            Ok(()) => reader,
            Err(error) => Box::new(FailingReader(Some(error))),
        };
    }
    match Encoding::of(head) {
        Some(Encoding::Little) => Box::new(Utf16::new(reader, u16::from_le_bytes)),
        Some(Encoding::Big) => Box::new(Utf16::new(reader, u16::from_be_bytes)),
        None => reader,
    }
}

/// Minimum number of bytes to recognise UTF-16 without a mark.
const UNMARKED: usize = 16;

/// Returns whether `head` is ASCII text in pairs of a zero byte and a character, which is at index `at`.
fn is_ascii_in_pairs(head: &[u8], at: usize) -> bool {
    let is_ascii = |pair: &[u8]| matches!(pair[at], 0x09..=0x7e) && pair[1 - at] == 0;
    head.len() >= UNMARKED && head.chunks_exact(2).all(is_ascii)
}

struct FailingReader(Option<io::Error>);

impl Read for FailingReader {
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// Converts UTF-16 to UTF-8. Invalid units become U+FFFD, which no number or word contains.
struct Utf16<'a> {
    packed: BufReader<Bytes<'a>>,
    join: fn([u8; 2]) -> u16,
    ready: Vec<u8>,
    done: usize,
    /// An upper surrogate that a lower one may follow.
    upper: Option<u16>,
}

/// Units that are converted at a time.
const UNITS: usize = 32 << 10;

impl<'a> Utf16<'a> {
    fn new(packed: Bytes<'a>, join: fn([u8; 2]) -> u16) -> Utf16<'a> {
        Utf16 { packed: BufReader::new(packed), join, ready: Vec::new(), done: 0, upper: None }
    }

    fn refill(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.done = 0;
        let mut units = Vec::with_capacity(UNITS);
        units.extend(self.upper.take());
        while units.len() < UNITS {
            let mut pair = [0; 2];
            if self.packed.fill_buf()?.is_empty() {
                break;
            }
            self.packed.read_exact(&mut pair)?;
            units.push((self.join)(pair));
        }
        if units.len() == UNITS && units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit))
        {
            self.upper = units.pop();
        }
        for letter in char::decode_utf16(units) {
            let letter = letter.unwrap_or(char::REPLACEMENT_CHARACTER);
            if letter != '\u{feff}' {
                self.ready.extend(letter.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        Ok(())
    }
}

impl Read for Utf16<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.done == self.ready.len() {
            if self.packed.fill_buf()?.is_empty() && self.upper.is_none() {
                return Ok(0);
            }
            self.refill()?;
        }
        let count = buffer.len().min(self.ready.len() - self.done);
        buffer[..count].copy_from_slice(&self.ready[self.done..self.done + count]);
        self.done += count;
        Ok(count)
    }
}
