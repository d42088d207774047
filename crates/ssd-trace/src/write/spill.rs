//! A temporary file for requests of volumes whose output files cannot be open yet.

use super::WriteError;
use ssd_core::host::request::{Op, Request, TimedRequest};
use ssd_core::units::Nanos;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes of a record.
const RECORD: usize = 40;
/// Bytes passed to the system at a time.
const BUFFER: usize = 1 << 16;

/// A file of records, which is removed when dropped.
pub(super) struct Spill {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Spill {
    /// Creates the file, which must not exist.
    pub(super) fn create(path: &Path) -> Result<Spill, WriteError> {
        let file = File::create_new(path).map_err(|error| failed(path, &error))?;
        Ok(Spill { path: path.to_owned(), file: BufWriter::with_capacity(BUFFER, file) })
    }

    /// Appends a request of a volume.
    pub(super) fn append(&mut self, volume: u64, timed: &TimedRequest) -> Result<(), WriteError> {
        self.file.write_all(&packed(volume, timed)).map_err(|error| failed(&self.path, &error))
    }

    /// Ends the writing, and passes every record to `take` in the order in which it was appended.
    pub(super) fn read(
        mut self,
        mut take: impl FnMut(u64, &TimedRequest) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        self.file.flush().map_err(|error| failed(&self.path, &error))?;
        let file = File::open(&self.path).map_err(|error| failed(&self.path, &error))?;
        let (mut file, mut record) = (BufReader::with_capacity(BUFFER, file), [0; RECORD]);
        loop {
            match file.read_exact(&mut record) {
                Ok(()) => {
                    let (volume, timed) = unpacked(&record);
                    take(volume, &timed)?;
                }
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(failed(&self.path, &error)),
            }
        }
    }
}

impl Drop for Spill {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn failed(path: &Path, error: &io::Error) -> WriteError {
    WriteError::File { file: path.display().to_string(), cause: error.to_string() }
}

fn packed(volume: u64, timed: &TimedRequest) -> [u8; RECORD] {
    let Request { sector, sectors, op, volume: number, stream, flags } = timed.request;
    let [low, high] = number.to_le_bytes();
    let rest = u64::from_le_bytes([op as u8, low, high, stream, flags, 0, 0, 0]);
    let words = [volume, timed.at.0, sector, u64::from(sectors), rest];
    let mut record = [0; RECORD];
    for (place, word) in record.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    record
}

fn unpacked(record: &[u8; RECORD]) -> (u64, TimedRequest) {
    let word = |i: usize| u64::from_le_bytes(record[8 * i..8 * i + 8].try_into().expect("8 bytes"));
    let rest = word(4).to_le_bytes();
    let request = Request {
        sector: word(2),
        sectors: u32::try_from(word(3)).expect("it was one"),
        op: Op::ALL[usize::from(rest[0])],
        volume: u16::from_le_bytes([rest[1], rest[2]]),
        stream: rest[3],
        flags: rest[4],
    };
    (word(0), TimedRequest { at: Nanos(word(1)), request })
}

#[cfg(test)]
mod tests {
    use super::{packed, unpacked};
    use ssd_core::host::request::{Op, Request, TimedRequest};
    use ssd_core::units::Nanos;

    #[test]
    fn a_record_keeps_everything() {
        for op in Op::ALL {
            let (sector, sectors) = (u64::MAX - 9, u32::MAX);
            let request = Request { sector, sectors, op, volume: 65_535, stream: 7, flags: 63 };
            let timed = TimedRequest { at: Nanos(u64::MAX - 1), request };
            assert_eq!(unpacked(&packed(u64::MAX, &timed)), (u64::MAX, timed));
        }
    }
}
