//! The log: the requests that the drive received, with their arrivals, and how far its time has advanced.
//!
//! Little endian. A request has 24 bytes; those of a write are followed by 4 bytes per page, which say where its data
//! are. A mark has 24 bytes. What a kill has cut off at the end was not promised to anybody.

use crate::disk::Disk;
use crate::slots::NONE;
use rustix::fs::{FallocateFlags, fallocate};
use ssd_core::host::request::{Op, Request};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read as _};
use std::path::Path;
use std::sync::Arc;

const RECORD_BYTES: usize = 24;
const REQUEST: u8 = 1;
const MARK: u8 = 2;

/// Space on the disk that the log reserves: the marks of requests that are under way must fit into it.
pub const AHEAD: u64 = 1 << 20;

/// Most bytes by which the snapshot grows per page written.
const SNAPSHOT_BYTES: u64 = 16;

/// One record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Record {
    /// A request.
    Request {
        /// When it arrives.
        at: u64,
        /// The request.
        request: Request,
        /// The slots of its pages, if it writes.
        slots: Vec<u32>,
    },
    /// Simulated time has reached this.
    Mark(u64),
}

/// A log that is being written.
pub struct Log {
    file: Arc<File>,
    /// Bytes in the file once the disk has carried out its orders, and bytes that the disk has reserved.
    length: u64,
    reserved: u64,
    /// Records not yet passed to the disk.
    waiting: Vec<u8>,
    /// Bytes of the generation to which the log belongs, without the log.
    generation: u64,
    /// Pages for which it has slots, and slots up to the last one of these.
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
    /// A new log in the file `path`, of a generation that has this many bytes without it.
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

    /// Bytes in it.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.length
    }

    /// Where the next record goes.
    fn end(&self) -> u64 {
        self.length + self.waiting.len() as u64
    }

    /// Space for the generation that replaces this one.
    fn next_generation(&self) -> u64 {
        self.generation + SNAPSHOT_BYTES * self.pages.min(self.slots)
    }

    /// Append a request; it goes to the file with the next [`Log::mark`].
    ///
    /// # Errors
    /// There is no space on the disk: nothing has been appended. A request that needs none for data may use what is
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
    /// There is none. There may be enough without the next generation; then that is reserved.
    pub fn hold(&mut self, more: u64) -> io::Result<()> {
        let (marks, next) = (self.end() + more + AHEAD, self.next_generation());
        // A little more than a quarter more, to leave some time between the first refusal and the next generation.
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
            // Without reservations a full disk ends the server at a mark.
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => self.reserved = end,
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Whether the next generation is due: the disk has no space for more of this log.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.reserved < self.end() + AHEAD + self.next_generation()
    }

    /// Whether it has reserved the space for the marks of requests.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.reserved >= self.end() + AHEAD
    }

    /// Whether the log takes so much space that the next generation is worth it, if the disk is full.
    #[must_use]
    pub fn is_large(&self) -> bool {
        self.length > (64 << 10) + self.next_generation() / 64
    }

    /// Reserve again, as far as possible, the space that [`release`] has given back.
    pub fn hold_again(&mut self) {
        self.reserved = self.length;
        // Requests are refused if there is none.
        let _ = self.hold(0);
    }

    /// Note that simulated time has reached `at`. Everything so far is in the file when `disk` has reached this
    /// position.
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

/// Give back the space that the log in the file `path` has reserved.
///
/// # Errors
/// The file cannot be changed.
pub fn release(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    file.set_len(file.metadata()?.len())
}

/// Call `take` with every record of the log in the file `path`; a write has a slot for each page of
/// `sectors_of_page` sectors that it touches.
///
/// # Errors
/// The file cannot be read or is not a log, at this byte; or what `take` returns.
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

/// The pages that `request` touches: the first, and how many; `None` if it touches none, or the drive has no such
/// pages.
#[must_use]
pub fn pages_of(request: &Request, sectors_of_page: u64) -> Option<(u32, u32)> {
    let last = request.sector.checked_add(u64::from(request.sectors).checked_sub(1)?)?;
    let (first, last) = (request.sector / sectors_of_page, last / sectors_of_page);
    let pages = u32::try_from(last - first + 1).ok()?;
    u32::try_from(last).ok().filter(|&last| last != NONE)?;
    Some((first as u32, pages))
}
