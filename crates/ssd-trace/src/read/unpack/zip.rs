//! Reads zip sequentially, as from a pipe, by the headers before the members.
//!
//! Source: PKWARE, APPNOTE.TXT 6.3, 4.3.7 (local file header), 4.3.9 (data descriptor), 4.5.3 (Zip64).

use super::archive::Members;
use super::{Bytes, final_error};
use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};

type Packed<'a> = BufReader<Bytes<'a>>;

/// Reads the members of an archive.
pub(super) struct Zip<'a> {
    member: Member<'a>,
    crc: Crc,
    /// Checksum in the header; without it a descriptor follows the member.
    expected: Option<u32>,
    /// The sizes in a descriptor have eight bytes.
    zip64: bool,
}

enum Member<'a> {
    None(Packed<'a>),
    Stored(io::Take<Packed<'a>>),
    Deflated(Box<DeflateDecoder<Packed<'a>>>),
    /// Being replaced, or at the end.
    Gone,
}

/// Names of unsupported methods (APPNOTE.TXT 4.4.5).
const METHODS: [(u64, &str); 9] = [
    (1, "shrink"),
    (6, "implode"),
    (9, "Deflate64"),
    (12, "bzip2"),
    (14, "LZMA"),
    (93, "zstd"),
    (95, "xz"),
    (98, "PPMd"),
    (99, "AES encryption"),
];

fn method_name(method: u64) -> &'static str {
    METHODS
        .iter()
        .find(|(number, _)| *number == method)
        .map_or("an unknown method", |entry| entry.1)
}

fn little(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn damaged(message: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("the zip archive is damaged: {message}"))
}

impl<'a> Zip<'a> {
    pub(super) fn new(packed: Packed<'a>) -> Zip<'a> {
        Zip { member: Member::None(packed), crc: Crc::new(), expected: None, zip64: false }
    }

    /// Reads the current member to its end, checks it, and returns the archive after it.
    fn finish_member(&mut self) -> io::Result<Option<Packed<'a>>> {
        if matches!(self.member, Member::Stored(_) | Member::Deflated(_)) {
            let mut scratch = [0; 4096];
            while self.read_file(&mut scratch)? > 0 {}
        }
        let mut packed = match std::mem::replace(&mut self.member, Member::Gone) {
            Member::None(packed) => return Ok(Some(packed)),
            Member::Stored(take) => take.into_inner(),
            Member::Deflated(decoder) => decoder.into_inner(),
            Member::Gone => return Ok(None),
        };
        let expected = match self.expected {
            Some(expected) => expected,
            None => descriptor(&mut packed, self.zip64)?,
        };
        if expected != self.crc.sum() {
            return Err(damaged("a checksum is wrong"));
        }
        Ok(Some(packed))
    }
}

/// Reads the checksum in the descriptor after a member; its signature may be missing.
fn descriptor(packed: &mut Packed<'_>, zip64: bool) -> io::Result<u32> {
    let mut first = [0; 4];
    packed.read_exact(&mut first)?;
    if first == *b"PK\x07\x08" {
        packed.read_exact(&mut first)?;
    }
    let mut sizes = [0; 16];
    packed.read_exact(&mut sizes[..if zip64 { 16 } else { 8 }])?;
    Ok(u32::from_le_bytes(first))
}

/// Returns the packed size in a Zip64 extra field, and whether there is such a field.
fn zip64(mut extra: &[u8], of_data: u64, of_packed: u64) -> (u64, bool) {
    while let Some((head, rest)) = extra.split_first_chunk::<4>() {
        let length = little(&head[2..]) as usize;
        let Some(field) = rest.get(..length) else { break };
        if little(&head[..2]) == 1 {
            let skipped = if of_data == u64::from(u32::MAX) { 8 } else { 0 };
            let size = field.get(skipped..skipped + 8).map_or(of_packed, little);
            return (if of_packed == u64::from(u32::MAX) { size } else { of_packed }, true);
        }
        extra = &rest[length..];
    }
    (of_packed, false)
}

impl Members for Zip<'_> {
    const COMMAND: &'static str = "unzip -p FILE";
    const UNPACK: &'static str = "unzip FILE";

    /// unzip matches patterns, and reads a hyphen at the start as an option.
    fn selecting(name: &str) -> String {
        let (hyphen, rest) = name.strip_prefix('-').map_or(("", name), |rest| ("[-]", rest));
        let escape = |letter: char| {
            let is_special = matches!(letter, '*' | '?' | '[' | ']' | '\\');
            is_special.then_some('\\').into_iter().chain([letter])
        };
        format!("{hyphen}{}", rest.chars().flat_map(escape).collect::<String>())
    }

    fn next_file(&mut self) -> io::Result<Option<String>> {
        loop {
            let Some(mut packed) = self.finish_member()? else { return Ok(None) };
            let mut header = [0; 30];
            packed.read_exact(&mut header[..4])?;
            match &header[..4] {
                b"PK\x03\x04" => {}
                b"PK\x01\x02" | b"PK\x05\x06" | b"PK\x06\x06" | b"PK\x06\x08" => return Ok(None),
                b"PK\x07\x08" => {
                    return Err(final_error(
                        "one part of a split zip archive; join the parts: zip -s 0 FILE --out OUT.zip",
                    ));
                }
                _ => return Err(damaged("no header behind a member")),
            }
            packed.read_exact(&mut header[4..])?;
            let number = |at: usize, length: usize| little(&header[at..at + length]);
            let (flags, method) = (number(6, 2), number(8, 2));
            let (of_packed, of_data) = (number(18, 4), number(22, 4));
            let mut name = vec![0; number(26, 2) as usize];
            packed.read_exact(&mut name)?;
            let mut extra = vec![0; number(28, 2) as usize];
            packed.read_exact(&mut extra)?;
            let name = String::from_utf8_lossy(&name).into_owned();
            let shown = name.escape_debug();
            if flags & 1 != 0 {
                return Err(final_error(format!(
                    "a zip archive whose {shown} is encrypted; unpack it with its password: 7z x FILE"
                )));
            }
            let (length, zip64) = zip64(&extra, of_data, of_packed);
            let described = flags & 8 != 0;
            self.zip64 = zip64;
            self.expected = (!described).then(|| number(14, 4) as u32);
            self.crc = Crc::new();
            self.member = match method {
                0 if described && length == 0 && !name.ends_with('/') => {
                    return Err(final_error(format!(
                        "a zip archive that does not state the size of {shown}; unpack it: unzip FILE"
                    )));
                }
                0 => Member::Stored(packed.take(length)),
                8 => Member::Deflated(Box::new(DeflateDecoder::new(packed))),
                _ => {
                    return Err(final_error(format!(
                        "a zip archive whose {shown} is packed with {} (method {method} of zip); unpack it: 7z x \
                         FILE, or pack it with deflate, which zip uses by default",
                        method_name(method)
                    )));
                }
            };
            if !name.ends_with('/') {
                return Ok(Some(name));
            }
            if described && method == 0 {
                self.expected = Some(0);
                self.skip_descriptor()?;
            }
        }
    }

    fn read_file(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match &mut self.member {
            Member::Stored(take) => {
                let count = take.read(buffer)?;
                if count == 0 && take.limit() > 0 && !buffer.is_empty() {
                    return Err(ErrorKind::UnexpectedEof.into());
                }
                count
            }
            Member::Deflated(decoder) => decoder.read(buffer)?,
            Member::None(_) | Member::Gone => 0,
        };
        self.crc.update(&buffer[..count]);
        Ok(count)
    }
}

impl Zip<'_> {
    /// Skips the descriptor after a folder, which has no bytes.
    fn skip_descriptor(&mut self) -> io::Result<()> {
        if let Member::Stored(take) = &mut self.member {
            let packed = take.get_mut();
            if packed.fill_buf()?.starts_with(b"PK\x07\x08") {
                descriptor(packed, self.zip64)?;
            }
        }
        Ok(())
    }
}
