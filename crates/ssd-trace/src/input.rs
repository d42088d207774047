//! Bytes of a trace: a file or standard input, plain, zstd or gzip.

use ssd_core::host::request::SourceError;
use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, ErrorKind, Read};
use std::ops::ControlFlow;

/// Largest zstd window that is accepted, as a power of two (2 GiB, the format's `--long=31`).
const ZSTD_WINDOW_LOG: u32 = 31;
/// Bytes of a file between two looks at the progress.
const LOOK_EVERY: u64 = 1 << 18;

/// Name of a trace in messages.
pub(crate) fn display_name(path: &str) -> String {
    if path == "-" { "standard input".to_owned() } else { path.to_owned() }
}

/// Opens `path`; "-" is standard input.
pub(crate) fn open(path: &str) -> Result<Box<dyn Read>, SourceError> {
    if path == "-" {
        return Ok(Box::new(io::stdin().lock()));
    }
    match File::open(path) {
        Ok(file) => Ok(Box::new(file)),
        Err(error) => Err(SourceError(format!(
            "{path}: cannot open the trace: {error}; check workload.trace"
        ))),
    }
}

/// A reader that tells `watch` now and then how many bytes have passed, and fails once it says so.
pub(crate) struct Watched<'a, R> {
    reader: R,
    bytes: u64,
    next_look: u64,
    watch: &'a mut dyn FnMut(u64) -> ControlFlow<()>,
    /// Whether `watch` has stopped it: the error is then no fault of the file.
    stopped: &'a mut bool,
}

impl<'a, R> Watched<'a, R> {
    pub(crate) fn new(
        reader: R,
        watch: &'a mut dyn FnMut(u64) -> ControlFlow<()>,
        stopped: &'a mut bool,
    ) -> Watched<'a, R> {
        Watched { reader, bytes: 0, next_look: 0, watch, stopped }
    }
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = self.reader.read(buffer);
        // A pipe that brings nothing is left by a signal: somebody may want to stop waiting.
        let signal = matches!(&result, Err(error) if error.kind() == ErrorKind::Interrupted);
        self.bytes += result.as_ref().map_or(0, |&count| count as u64);
        if signal || self.bytes >= self.next_look {
            self.next_look = self.bytes + LOOK_EVERY;
            if (self.watch)(self.bytes).is_break() {
                *self.stopped = true;
                return Err(io::Error::other("interrupted"));
            }
        }
        result
    }
}

/// A reader whose first bytes have been looked at.
pub(crate) type Whole<R> = Chain<Cursor<Vec<u8>>, R>;

/// The bytes inside of what may be compressed.
pub(crate) enum Plain<R: Read> {
    /// Not compressed.
    Same(Whole<R>),
    /// zstd, several frames included.
    Zstd(zstd::Decoder<'static, BufReader<Whole<R>>>),
    /// gzip, several members included.
    Gzip(Box<flate2::bufread::MultiGzDecoder<BufReader<Whole<R>>>>),
}

impl<R: Read> Read for Plain<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Plain::Same(reader) => reader.read(buffer),
            Plain::Zstd(reader) => reader.read(buffer),
            Plain::Gzip(reader) => reader.read(buffer),
        }
    }
}

/// Decompresses what its first bytes say is zstd (also in skippable frames) or gzip; passes
/// everything else on as it is.
pub(crate) fn decompress<R: Read>(mut raw: R) -> io::Result<Plain<R>> {
    let mut magic = Vec::with_capacity(4);
    raw.by_ref().take(4).read_to_end(&mut magic)?;
    let start = magic.clone();
    let whole = Cursor::new(magic).chain(raw);
    Ok(match start[..] {
        [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => {
            let mut decoder = zstd::Decoder::new(whole)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Plain::Zstd(decoder)
        }
        [0x1f, 0x8b, ..] => {
            Plain::Gzip(Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::new(whole))))
        }
        _ => Plain::Same(whole),
    })
}
