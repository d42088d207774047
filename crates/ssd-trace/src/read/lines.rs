//! Lines of a byte stream: any bytes, with bounded length, counted from 1.

use memchr::memchr;
use std::borrow::Borrow;
use std::io::{self, ErrorKind, Read};

/// Maximum number of characters of a bad line in a message.
const SHOWN: usize = 60;

/// Maximum length of a line that is returned completely, bytes.
pub(crate) const MAX_LINE: usize = 64 << 10;
/// Bytes of a longer line that are stored for the message.
const HEAD: usize = 256;
/// Bytes read at a time, more than the longest line.
const BUFFER: usize = 1 << 20;

/// A line without its newline, or a binary record.
pub(crate) struct Text<'a> {
    /// Bytes of the line; only the first ones if it is incomplete.
    pub(crate) bytes: &'a [u8],
    /// Whether it satisfies [`Pieces::WHOLE`].
    pub(crate) is_whole: bool,
}

/// Splits a stream into the lines or records of a format.
pub(crate) trait Pieces<P> {
    /// The word for a line or record in messages.
    const NOUN: &'static str;
    /// Description of a complete piece.
    const WHOLE: &'static str;

    /// Returns the next piece; `parser` determines the length of a record.
    fn next_piece(&mut self, parser: &P) -> io::Result<Option<Text<'_>>>;

    /// Returns the number of the last piece, from 1.
    fn number(&self) -> u64;

    /// Returns whether the last piece ends with the stream, without a mark of its end.
    fn is_unended(&self) -> bool {
        false
    }

    /// Returns its position, for messages.
    fn place(&self) -> String;

    /// Returns the printable start of a bad piece.
    fn shown(bytes: &[u8]) -> String;
}

/// Splits a reader into lines.
pub(crate) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    /// The first bytes of a line that is too long.
    head: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes after `start` that contain no newline.
    searched: usize,
    number: u64,
    /// Whether the last line had no newline.
    is_unended: bool,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(reader: R) -> Lines<R> {
        let buffer = vec![0; BUFFER];
        let head = Vec::new();
        Lines { reader, buffer, head, start: 0, end: 0, searched: 0, number: 0, is_unended: false }
    }

    /// Returns the next line, which may be a last line without a newline.
    #[inline]
    pub(crate) fn next_line(&mut self) -> io::Result<Option<Text<'_>>> {
        loop {
            let unseen = self.start + self.searched;
            if let Some(length) = memchr(b'\n', &self.buffer[unseen..self.end]) {
                let (from, to) = (self.start, unseen + length);
                self.start = to + 1;
                return Ok(Some(self.hand_out(from, to)));
            }
            self.searched = self.end - self.start;
            if self.searched > MAX_LINE {
                return self.too_long().map(Some);
            }
            if self.refill()? == 0 {
                let (from, to) = (self.start, self.end);
                self.start = self.end;
                self.is_unended |= from < to;
                return Ok(if from == to { None } else { Some(self.hand_out(from, to)) });
            }
        }
    }

    #[inline(always)]
    fn hand_out(&mut self, from: usize, to: usize) -> Text<'_> {
        self.searched = 0;
        self.number += 1;
        let is_whole = to - from <= MAX_LINE;
        let to = if is_whole { to } else { from + HEAD };
        Text { bytes: &self.buffer[from..to], is_whole }
    }

    /// Skips the rest of a line that is already too long.
    #[cold]
    fn too_long(&mut self) -> io::Result<Text<'_>> {
        self.head.clear();
        self.head.extend_from_slice(&self.buffer[self.start..self.start + HEAD]);
        loop {
            self.start = self.end;
            if self.refill()? == 0 {
                break;
            }
            if let Some(length) = memchr(b'\n', &self.buffer[self.start..self.end]) {
                self.start += length + 1;
                break;
            }
        }
        self.searched = 0;
        self.number += 1;
        Ok(Text { bytes: &self.head, is_whole: false })
    }

    /// Moves the unread bytes to the front and reads more; returns 0 at the end of the stream.
    fn refill(&mut self) -> io::Result<usize> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(count) => {
                    self.end += count;
                    return Ok(count);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl<P, R: Read> Pieces<P> for Lines<R> {
    const NOUN: &'static str = "line";
    const WHOLE: &'static str = "a line of at most 65536 bytes";

    #[inline(always)]
    fn next_piece(&mut self, _parser: &P) -> io::Result<Option<Text<'_>>> {
        self.next_line()
    }

    #[inline(always)]
    fn number(&self) -> u64 {
        self.number
    }

    fn is_unended(&self) -> bool {
        self.is_unended
    }

    fn place(&self) -> String {
        format!("line {}", self.number)
    }

    fn shown(bytes: &[u8]) -> String {
        shown(bytes)
    }
}

/// Returns the printable start of a bad line.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let head = &bytes[..bytes.len().min(SHOWN)];
    let dots = if head.len() < bytes.len() { "..." } else { "" };
    format!("\"{}{dots}\"", String::from_utf8_lossy(head).escape_debug())
}

/// Returns names in a sentence, such as "host, target and lun".
pub(crate) fn listed<T: Borrow<str>>(names: &[T]) -> String {
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => {
            format!("{} and {}", rest.join(", "), last.borrow())
        }
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns a few bytes at a time.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(buffer.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn split(bytes: &[u8], step: usize) -> Vec<(Vec<u8>, bool)> {
        let mut lines = Lines::new(Drip(bytes, step));
        let mut found = Vec::new();
        while let Some(text) = lines.next_line().unwrap() {
            found.push((text.bytes.to_vec(), text.is_whole));
        }
        assert_eq!(lines.number, found.len() as u64);
        found
    }

    #[test]
    fn lines_equal_a_plain_split() {
        let text = b"one\n\n\0two\xff\n0123456701234567\r\nlast";
        for step in [1, 3, 8, 100] {
            let found: Vec<Vec<u8>> = split(text, step).into_iter().map(|line| line.0).collect();
            let plain: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
            assert_eq!(found, plain, "step {step}");
        }
        assert!(split(b"", 1).is_empty());
        assert_eq!(split(b"a\n", 1), [(b"a".to_vec(), true)]);
    }

    #[test]
    fn a_long_line_is_cut_and_the_next_one_is_whole() {
        for length in [MAX_LINE, MAX_LINE + 1, BUFFER - 1, BUFFER, BUFFER + 7, 3 * BUFFER] {
            for step in [4096, 65_537, BUFFER] {
                let mut text = vec![b'x'; length];
                text.extend_from_slice(b"\nnext\n");
                let found = split(&text, step);
                assert_eq!(found.len(), 2, "{length}");
                assert_eq!(found[0].1, length <= MAX_LINE);
                assert!(found[0].0.iter().all(|&byte| byte == b'x'));
                assert_eq!(found[1], (b"next".to_vec(), true));
            }
        }
    }
}
