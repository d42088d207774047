//! Unpacks the bytes of a trace: compression, an archive of one file, an encoding of text.
//!
//! Layers are recognised by their first bytes and removed until none is left. The growth of the bytes is bounded.

mod archive;
mod bound;
mod gzip;
mod tar;
mod text;
mod zip;

pub(crate) use archive::{AmbiguousArchive, Member};
pub(crate) use text::Encoding;

use archive::{Archive, Members as _};
use bound::BoundedReader;
use std::cell::Cell;
use std::io::{self, BufReader, Cursor, ErrorKind, Read};
use std::rc::Rc;

/// Any reader.
pub(crate) type Bytes<'a> = Box<dyn Read + 'a>;
/// Maximum number of layers: a compressed file in a compressed archive in another archive.
const MOST_LAYERS: usize = 4;
/// First bytes that are inspected: the header of a member of a tar archive.
const HEAD: usize = 512;
/// Largest zstd window that is accepted, as a power of two (2 GiB, the format's `--long=31`).
const ZSTD_WINDOW_LOG: u32 = 31;
/// Memory that a file of xz may ask for, KiB; `xz -9` asks for 64 MiB.
const XZ_MEMORY_KIB: u32 = 1 << 20;

/// Returns an error whose text is a complete sentence about the file, to which callers add nothing.
pub(crate) fn final_error(text: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::Unsupported, text.into())
}

/// A layer of packing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Layer {
    Zstd,
    Gzip,
    Bzip2,
    Xz,
    Lz4,
    Zip,
    Tar,
}

impl Layer {
    /// Returns the layer of bytes that begin with `head`.
    fn of(head: &[u8]) -> Option<Layer> {
        match head {
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Layer::Zstd),
            [0x1f, 0x8b, ..] => Some(Layer::Gzip),
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..] => {
                Some(Layer::Bzip2)
            }
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Layer::Xz),
            [0x04, 0x22, 0x4d, 0x18, ..] => Some(Layer::Lz4),
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] | [b'P', b'K', 7, 8, ..] => {
                Some(Layer::Zip)
            }
            _ if tar::begins(head) => Some(Layer::Tar),
            _ => None,
        }
    }

    /// Returns the command that unpacks a file to standard output.
    fn command(self) -> &'static str {
        match self {
            Layer::Zstd => "zstd -dc FILE",
            Layer::Gzip => "gzip -dc FILE",
            Layer::Bzip2 => "bzip2 -dc FILE",
            Layer::Xz => "xz -dc FILE",
            Layer::Lz4 => "lz4 -dc FILE",
            Layer::Zip => zip::Zip::COMMAND,
            Layer::Tar => tar::Tar::COMMAND,
        }
    }

    /// Returns the content of the layer.
    fn open<'a>(self, packed: Bytes<'a>) -> io::Result<Bytes<'a>> {
        let buffered = BufReader::new(packed);
        Ok(match self {
            Layer::Zstd => {
                let mut decoder = zstd::Decoder::with_buffer(buffered)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG)?;
                Box::new(Zstd(decoder))
            }
            Layer::Gzip => Box::new(gzip::Gzip::new(buffered)),
            Layer::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(buffered)),
            Layer::Xz => {
                Box::new(lzma_rust2::XzReader::new_mem_limit(buffered, true, XZ_MEMORY_KIB))
            }
            Layer::Lz4 => Box::new(Lz4(lz4_flex::frame::FrameDecoder::new(buffered))),
            Layer::Zip => Box::new(Archive::new(zip::Zip::new(buffered))),
            Layer::Tar => Box::new(Archive::new(tar::Tar::new(buffered))),
        })
    }
}

/// zstd. Its errors name a dictionary as a cause, because a file need not say that it needs one.
struct Zstd<'a>(zstd::Decoder<'static, BufReader<Bytes<'a>>>);

impl Read for Zstd<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            ErrorKind::Other => {
                let message = "or the file needs a dictionary, which ssdlab does not have (`zstd -d -D DICTIONARY`)";
                io::Error::other(format!("{error}, {message}"))
            }
            _ => error,
        })
    }
}

/// All frames of an lz4 file.
struct Lz4<'a>(lz4_flex::frame::FrameDecoder<BufReader<Bytes<'a>>>);

impl Read for Lz4<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        use std::io::BufRead as _;
        loop {
            let count = self.0.read(buffer)?;
            if count > 0 || buffer.is_empty() || self.0.get_mut().fill_buf()?.is_empty() {
                return Ok(count);
            }
        }
    }
}

/// Counts the bytes that are read.
struct ByteCounter<R> {
    reader: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for ByteCounter<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.count.set(self.count.get() + count as u64);
        Ok(count)
    }
}

/// Returns the first bytes of `reader`, and a reader of all of it.
fn peeked<'a>(mut reader: Bytes<'a>) -> io::Result<(Vec<u8>, Bytes<'a>)> {
    let mut head = Vec::with_capacity(HEAD);
    reader.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
    Ok((head.clone(), Box::new(Cursor::new(head).chain(reader))))
}

/// Returns the content of `raw`, which may be packed.
///
/// # Errors
/// The first bytes cannot be read, or show that the rest cannot be used.
pub(crate) fn unpacked<'a>(raw: impl Read + 'a) -> io::Result<Bytes<'a>> {
    let packed = Rc::new(Cell::new(0));
    let counted = ByteCounter { reader: raw, count: Rc::clone(&packed) };
    let (mut head, mut reader) = peeked(Box::new(counted))?;
    let mut layers = 0;
    while let Some(layer) = Layer::of(&head) {
        if layers == MOST_LAYERS {
            return Err(final_error(format!(
                "it is packed more than {MOST_LAYERS} times; unpack it, and give the trace itself"
            )));
        }
        layers += 1;
        let inner = layer.open(reader)?;
        (head, reader) =
            peeked(Box::new(BoundedReader::new(inner, Rc::clone(&packed), layer.command())))?;
    }
    Ok(text::decoded(&head, reader))
}

#[cfg(test)]
mod tests;
