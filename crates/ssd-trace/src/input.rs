//! Bytes of a trace: a file or standard input, plain, zstd or gzip.

use ssd_core::host::request::SourceError;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};

/// Largest zstd window that is accepted, as a power of two (2 GiB, the format's `--long=31`).
const ZSTD_WINDOW_LOG: u32 = 31;

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

/// Decompresses what its first bytes say is zstd or gzip, several frames or members included;
/// passes everything else on as it is.
pub(crate) fn decompress<'a>(mut raw: Box<dyn Read + 'a>) -> io::Result<Box<dyn Read + 'a>> {
    let mut magic = Vec::with_capacity(4);
    raw.by_ref().take(4).read_to_end(&mut magic)?;
    let whole = Cursor::new(magic.clone()).chain(raw);
    Ok(match magic[..] {
        [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => {
            let mut decoder = zstd::Decoder::new(whole)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Box::new(decoder)
        }
        [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::new(whole))),
        _ => Box::new(whole),
    })
}
