//! The log: the requests that the drive received with their arrival times, and marks of the time that it had reached.
//!
//! Numbers are little-endian. A record has 24 bytes; that of a write is followed by the slots of its pages, 4 bytes
//! each. A kill can truncate the last record. No reply depended on it.

use crate::disk::Disk;
use crate::table::NONE;
use rustix::fs::{FallocateFlags, fallocate};
use ssd_core::host::request::{Op, Request};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read as _};
use std::path::Path;
use std::sync::Arc;

const RECORD_BYTES: usize = 24;
const REQUEST: u8 = 1;
const MARK: u8 = 2;

/// Bytes that the log reserves on the disk beyond its end, for the marks of outstanding requests.
pub const AHEAD: u64 = 1 << 20;

/// Upper bound on the growth of the next snapshot, in bytes per page written.
const SNAPSHOT_BYTES: u64 = 16;

/// One record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Record {
    /// A request.
    Request {
        /// Its arrival, ns of simulated time.
        at: u64,
        /// The request.
        request: Request,
        /// The slots of its pages, if it is a write.
        slots: Vec<u32>,
    },
    /// Simulated time has reached this, ns.
    Mark(u64),
}

/// A log that is being written.
pub struct Log {
    file: Arc<File>,
    /// Length of the file once the disk has done all operations, and space reserved for it, in bytes.
    length: u64,
    reserved: u64,
    /// Records not yet passed to the disk.
    waiting: Vec<u8>,
    /// Bytes of the generation of the log, without the log.
    generation: u64,
    /// Pages written, and slots up to the highest one used by them.
    pages: u64,
    slots: u64,
}

fn header(kind: u8, at: u64, request: &Request) -> [u8; RECORD_BYTES] {
    let mut bytes = [0; RECORD_BYTES];
    bytes[..8].copy_from_slice(&at.to_le_bytes());
    bytes[8..16].copy_from_slice(&request.sector.to_le_bytes());
    bytes[16..20].copy_from_slice(&request.sectors.to_le_bytes());
    bytes[20..].copy_from_slice(&[request.op as u8, request.flags, request.stream, kind]);
    bytes
}

impl Log {
    /// A new log in the file `path`, of a generation that has `generation` bytes without it.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(path: &Path, generation: u64) -> io::Result<Log> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
        Ok(Log {
            file: Arc::new(file),
            length: 0,
            reserved: 0,
            waiting: Vec::new(),
            generation,
            pages: 0,
            slots: 0,
        })
    }

    /// Length of the log in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.length
    }

    /// The position of the next record, in bytes.
    fn end(&self) -> u64 {
        self.length + self.waiting.len() as u64
    }

    /// Upper bound on the bytes of the next generation.
    fn next_generation(&self) -> u64 {
        self.generation + SNAPSHOT_BYTES * self.pages.min(self.slots)
    }

    /// Append a request. It is written to the file with the next [`Log::mark`].
    ///
    /// # Errors
    /// There is no space on the disk. Nothing has been appended. A request other than a write may use the space that is
    /// reserved for the next generation.
    pub fn append(&mut self, at: u64, request: &Request, slots: &[u32]) -> io::Result<()> {
        let more = (RECORD_BYTES + 4 * slots.len()) as u64;
        let result = self.hold(more);
        if request.op == Op::Write || self.end() + more + AHEAD > self.reserved {
            result?;
        }
        self.waiting.extend(header(REQUEST, at, request));
        for &slot in slots {
            self.waiting.extend(slot.to_le_bytes());
            if slot != NONE {
                (self.pages, self.slots) = (self.pages + 1, self.slots.max(u64::from(slot) + 1));
            }
        }
        Ok(())
    }

    /// Reserve space for `more` bytes, for marks, and for the next generation.
    ///
    /// # Errors
    /// There is not enough. The space for `more` bytes and for marks is reserved if possible.
    pub fn hold(&mut self, more: u64) -> io::Result<()> {
        let (marks, next) = (self.end() + more + AHEAD, self.next_generation());
        // A margin of a quarter leaves time between the first failure to reserve and the next generation.
        let end = marks + next + next / 4 + AHEAD;
        if end <= self.reserved {
            return Ok(());
        }
        let result = self.reserve(end + AHEAD).or_else(|_| self.reserve(end));
        if result.is_err() && marks > self.reserved {
            self.reserve(marks)?;
        }
        result
    }

    fn reserve(&mut self, end: u64) -> io::Result<()> {
        match fallocate(&self.file, FallocateFlags::KEEP_SIZE, 0, end) {
            // On a file system that cannot reserve space, a full disk ends the server at the next mark.
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => self.reserved = end,
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Whether the next generation is due, because the disk has no space for a longer log.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.reserved < self.end() + AHEAD + self.next_generation()
    }

    /// Whether space for the marks of outstanding requests is reserved.
    #[must_use]
    pub fn has_space(&self) -> bool {
        self.reserved >= self.end() + AHEAD
    }

    /// Whether the log is so long that the next generation frees a useful amount of a full disk.
    #[must_use]
    pub fn is_large(&self) -> bool {
        self.length > (64 << 10) + self.next_generation() / 64
    }

    /// Reserve the space that [`release`] has freed again, as far as possible.
    pub fn hold_again(&mut self) {
        self.reserved = self.length;
        // If there is none, requests are refused.
        let _ = self.hold(0);
    }

    /// Append a mark that simulated time has reached `at`, and queue all records so far for `disk`.
    ///
    /// # Errors
    /// The disk has failed.
    pub fn mark(&mut self, at: u64, disk: &mut Disk) -> io::Result<()> {
        self.waiting.extend(header(MARK, at, &Request::new(Op::Read, 0, 0)));
        let (from, bytes) = (self.length, std::mem::take(&mut self.waiting));
        self.length += bytes.len() as u64;
        disk.write(&self.file, from, bytes.into())
    }
}

/// Free the reserved space after the end of the log in the file `path`.
///
/// # Errors
/// The file cannot be changed.
pub fn release(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    file.set_len(file.metadata()?.len())
}

/// Call `take` with every record of the log in the file `path`. `sectors_of_page` is the size of a page in sectors; a
/// write has a slot for each page that it touches.
///
/// # Errors
/// The file cannot be read, has no valid record at some byte, or `take` fails.
pub fn read(
    path: &Path,
    sectors_of_page: u64,
    take: &mut dyn FnMut(Record) -> Result<(), String>,
) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let file = File::open(path).map_err(|error| failed(&error))?;
    let mut file = BufReader::with_capacity(1 << 20, file);
    let mut at = 0;
    loop {
        let mut bytes = [0; RECORD_BYTES];
        match file.read_exact(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            read => read.map_err(|error| failed(&error))?,
        }
        let damaged = || failed(&format_args!("the log is damaged: no record at byte {at}"));
        let (time, request, kind) = parse(&bytes).ok_or_else(damaged)?;
        if kind == MARK {
            take(Record::Mark(time))?;
            at += RECORD_BYTES;
            continue;
        }
        let pages = match request.op {
            Op::Write => pages_of(&request, sectors_of_page).ok_or_else(damaged)?.1,
            _ => 0,
        };
        let mut slots = vec![0; 4 * pages as usize];
        match file.read_exact(&mut slots) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            read => read.map_err(|error| failed(&error))?,
        }
        at += RECORD_BYTES + slots.len();
        let words = slots.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]));
        take(Record::Request { at: time, request, slots: words.collect() })?;
    }
}

fn parse(bytes: &[u8; RECORD_BYTES]) -> Option<(u64, Request, u8)> {
    let word = |at: usize| bytes[at..at + 8].try_into().map(u64::from_le_bytes).ok();
    let sectors = bytes[16..20].try_into().map(u32::from_le_bytes).ok()?;
    let [op, flags, stream, kind] = *bytes.last_chunk()?;
    let op = *Op::ALL.get(usize::from(op))?;
    if (kind != REQUEST && kind != MARK) || op == Op::Copy {
        return None;
    }
    let request = Request { flags, stream, ..Request::new(op, word(8)?, sectors) };
    Some((word(0)?, request, kind))
}

/// The first page that `request` touches, and the number of pages. `None` if it touches none, or has page numbers that
/// are too large.
#[must_use]
pub fn pages_of(request: &Request, sectors_of_page: u64) -> Option<(u32, u32)> {
    let last = request.sector.checked_add(u64::from(request.sectors).checked_sub(1)?)?;
    let (first, last) = (request.sector / sectors_of_page, last / sectors_of_page);
    let pages = u32::try_from(last - first + 1).ok()?;
    u32::try_from(last).ok().filter(|&last| last != NONE)?;
    Some((first as u32, pages))
}
