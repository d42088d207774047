//! tar: blocks of 512 bytes, a header before each member.
//!
//! Source: POSIX.1, pax(1), "ustar interchange format"; GNU tar, "Basic Tar Format", for long names and
//! base-256 sizes.

use super::archive::Members;
use super::{Bytes, final_error};
use std::io::{self, BufReader, ErrorKind, Read};

const BLOCK: usize = 512;
/// Longest name that is read.
const LONGEST_NAME: u64 = 4096;
/// Maximum number of bytes that are read of a member's pax records.
const LONGEST_RECORDS: u64 = 64 << 10;

/// Returns whether `head` is the header of a member, with the right checksum.
pub(super) fn begins(head: &[u8]) -> bool {
    head.first_chunk::<BLOCK>().is_some_and(|block| block[0] != 0 && is_header(block))
}

fn is_header(block: &[u8; BLOCK]) -> bool {
    let sum =
        |place: usize, byte: u8| u64::from(if (148..156).contains(&place) { b' ' } else { byte });
    let computed: u64 = block.iter().enumerate().map(|(place, &byte)| sum(place, byte)).sum();
    octal(&block[148..156]) == Some(computed)
}

fn octal(field: &[u8]) -> Option<u64> {
    let digits = field.trim_ascii_start();
    let digits = digits.split(|byte| matches!(byte, 0 | b' ')).next()?;
    let value = digits.iter().try_fold(0u64, |value, byte| {
        let digit = u64::from(byte.checked_sub(b'0')?);
        (digit < 8).then_some(())?;
        value.checked_mul(8)?.checked_add(digit)
    });
    value.filter(|_| !digits.is_empty())
}

/// Returns the size of a member: octal, or 95 bits with the highest byte first.
fn size(field: &[u8]) -> Option<u64> {
    if field[0] == 0x80 {
        let (high, low) = field[1..].split_at(3);
        return high
            .iter()
            .all(|byte| *byte == 0)
            .then(|| low.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)));
    }
    octal(field)
}

/// Returns the text of a field that ends at a zero byte or fills the field.
fn until_zero(field: &[u8]) -> String {
    let text = field.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// Returns the name in a header, which may begin in a second field.
fn name_in(block: &[u8; BLOCK]) -> String {
    let name = until_zero(&block[..100]);
    if &block[257..263] == b"ustar\0" && block[345] != 0 {
        format!("{}/{name}", until_zero(&block[345..500]))
    } else {
        name
    }
}

/// Returns the name of the next member in pax records, each of which is `LENGTH KEY=VALUE` and a line feed.
fn path_of(mut records: &[u8]) -> Option<String> {
    let mut path = None;
    while let Some(blank) = records.iter().position(|byte| *byte == b' ') {
        let length: usize = std::str::from_utf8(&records[..blank]).ok()?.parse().ok()?;
        let record = records.get(blank + 1..length)?;
        if let Some(value) = record.strip_prefix(b"path=") {
            path = Some(String::from_utf8_lossy(value.strip_suffix(b"\n")?).into_owned());
        }
        records = &records[length..];
    }
    path
}

/// Reads the members of an archive.
pub(super) struct Tar<'a> {
    packed: BufReader<Bytes<'a>>,
    /// Remaining bytes of the member, and of the padding after it.
    left: u64,
    padding: u64,
}

impl<'a> Tar<'a> {
    pub(super) fn new(packed: BufReader<Bytes<'a>>) -> Tar<'a> {
        Tar { packed, left: 0, padding: 0 }
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        let skipped = io::copy(&mut self.packed.by_ref().take(bytes), &mut io::sink())?;
        if skipped == bytes { Ok(()) } else { Err(ErrorKind::UnexpectedEof.into()) }
    }

    /// Reads the first bytes of the member, at most `most`.
    fn first_bytes(&mut self, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let length = self.left.min(most);
        self.packed.by_ref().take(length).read_to_end(&mut bytes)?;
        self.left -= length;
        Ok(bytes)
    }

    /// Reads the next header; returns `None` at the end of the archive.
    fn header(&mut self) -> io::Result<Option<[u8; BLOCK]>> {
        let rest = self.left + self.padding;
        self.skip(rest)?;
        let mut block = Vec::with_capacity(BLOCK);
        self.packed.by_ref().take(BLOCK as u64).read_to_end(&mut block)?;
        let Some(block) = block.first_chunk::<BLOCK>() else {
            return if block.is_empty() { Ok(None) } else { Err(ErrorKind::UnexpectedEof.into()) };
        };
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let damaged =
            || io::Error::new(ErrorKind::InvalidData, "a header of the tar archive is damaged");
        if !is_header(block) {
            return Err(damaged());
        }
        self.left = size(&block[124..136]).ok_or_else(damaged)?;
        self.padding = self.left.wrapping_neg() % BLOCK as u64;
        Ok(Some(*block))
    }
}

impl Members for Tar<'_> {
    const COMMAND: &'static str = "tar -xOf FILE";
    const UNPACK: &'static str = "tar -xf FILE";

    /// tar reads a backslash as the start of an escape.
    fn selecting(name: &str) -> String {
        name.replace('\\', r"\\")
    }

    fn next_file(&mut self) -> io::Result<Option<String>> {
        let mut long_name = None;
        while let Some(block) = self.header()? {
            match block[156] {
                b'0' | b'7' | 0 => {
                    let name = long_name.unwrap_or_else(|| name_in(&block));
                    // Old archives put a slash after the names of folders.
                    if name.ends_with('/') {
                        long_name = None;
                        continue;
                    }
                    return Ok(Some(name));
                }
                b'L' => {
                    let name = self.first_bytes(LONGEST_NAME)?;
                    long_name = Some(until_zero(&name));
                }
                b'x' => long_name = path_of(&self.first_bytes(LONGEST_RECORDS)?),
                b'S' => {
                    return Err(final_error(
                        "a tar archive with a sparse file; unpack it: tar -xf FILE",
                    ));
                }
                _ => long_name = None,
            }
        }
        (self.left, self.padding) = (0, 0);
        Ok(None)
    }

    fn read_file(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.packed.read(&mut buffer[..most])?;
        if count == 0 && most > 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.left -= count as u64;
        Ok(count)
    }
}
