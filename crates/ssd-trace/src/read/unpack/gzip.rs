//! gzip: consecutive members, and zeros after the last one, which tapes and block devices leave.

use super::{Bytes, final_error};
use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, BufReader, Read};

/// Reads all members.
pub(super) struct Gzip<'a> {
    /// `None` after the last member.
    member: Option<GzDecoder<BufReader<Bytes<'a>>>>,
}

impl<'a> Gzip<'a> {
    pub(super) fn new(packed: BufReader<Bytes<'a>>) -> Gzip<'a> {
        Gzip { member: Some(GzDecoder::new(packed)) }
    }
}

impl Read for Gzip<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(member) = &mut self.member else { return Ok(0) };
            let count = member.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let mut rest = self.member.take().expect("it is there").into_inner();
            skip_zeros(&mut rest)?;
            match rest.fill_buf()?.first() {
                None => {}
                Some(0x1f) => self.member = Some(GzDecoder::new(rest)),
                Some(_) => {
                    return Err(final_error(
                        "the bytes after the gzip data are neither gzip nor zeros; if they are not part \
                         of the trace, unpack the file: gzip -dc FILE > OUT",
                    ));
                }
            }
        }
    }
}

/// Reads up to the first byte that is not 0.
fn skip_zeros(reader: &mut impl BufRead) -> io::Result<()> {
    loop {
        let bytes = reader.fill_buf()?;
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        let done = zeros < bytes.len() || bytes.is_empty();
        reader.consume(zeros);
        if done {
            return Ok(());
        }
    }
}
