//! Sorts any number of events by time with an external merge sort (Knuth, TAOCP 3, section 5.4).
//!
//! Events are collected until [`RUN`] of them fill the memory, sorted, and written as a run to a temporary file. The
//! runs are merged at the end, [`FAN_IN`] at a time. Events at equal times remain in order: their numbers are part of
//! the sort key, so an unstable sort is enough.
//!
//! Memory: 48 bytes for each of [`RUN`] events during the collection (48 MiB), then [`PIECE`] events for each of at
//! most [`FAN_IN`] runs (10 MiB), whatever the length of the trace. Disk: 40 bytes per event, twice that while more
//! than [`FAN_IN`] runs (67 million events) are merged to fewer; none up to [`RUN`] events. The file has no name, so it
//! is removed when it is closed, however the process ends.

use crate::read::formats::Event;
use ssd_core::host::request::Op;
use ssd_core::host::source::SourceError;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Maximum number of events that are sorted in memory.
pub(crate) const RUN: usize = 1 << 20;
/// Maximum number of runs that are merged at a time.
const FAN_IN: usize = 64;
/// Events of a run that are read or written at a time.
const PIECE: usize = 4096;
/// Number of names that are tried for the temporary file.
const ATTEMPTS: u32 = 100;
/// Bytes of an event on disk.
const BYTES: usize = 40;

/// An event and its number in the file, in the order of [`Entry::key`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub(crate) event: Event,
    pub(crate) number: u64,
}

const _: () = assert!(size_of::<Entry>() == 48, "what the head of this file says of memory");

impl Entry {
    fn key(&self) -> (u64, u64) {
        (self.event.at_ns, self.number)
    }

    fn encode(&self, bytes: &mut [u8]) {
        let Event { at_ns, volume, sector, sectors, op, flags, stream } = self.event;
        let words = [at_ns, self.number, volume, sector];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes[32..36].copy_from_slice(&sectors.to_le_bytes());
        bytes[36..].copy_from_slice(&[op as u8, flags, stream, 0]);
    }

    fn decode(bytes: &[u8]) -> Entry {
        let word = |at: usize| {
            u64::from_le_bytes(bytes[at..at + 8].try_into().expect("a word has eight bytes"))
        };
        let sectors = u32::from_le_bytes(bytes[32..36].try_into().expect("it has four bytes"));
        let (op, flags, stream) = (Op::ALL[usize::from(bytes[36])], bytes[37], bytes[38]);
        let (at_ns, volume, sector) = (word(0), word(16), word(24));
        Entry {
            event: Event { at_ns, volume, sector, sectors, op, flags, stream },
            number: word(8),
        }
    }
}

/// Memory limits, and the folder for the rest.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    /// Maximum number of events sorted in memory.
    pub(crate) run: usize,
    /// Maximum number of runs merged at a time, at least two.
    pub(crate) fan_in: usize,
    /// Folder of the temporary files.
    pub(crate) folder: PathBuf,
}

impl Default for Room {
    fn default() -> Room {
        Room { run: RUN, fan_in: FAN_IN, folder: std::env::temp_dir() }
    }
}

/// Collects events in any order and returns them in order of time.
pub(crate) struct Sorter {
    room: Room,
    /// Name of the trace in messages.
    file: String,
    entries: Vec<Entry>,
    runs: SpilledRuns,
    total: u64,
}

impl Sorter {
    pub(crate) fn new(file: &str, room: Room) -> Sorter {
        assert!(room.run > 0 && room.fan_in > 1, "a merge makes fewer runs of more");
        let (entries, runs) = (Vec::new(), SpilledRuns::default());
        Sorter { room, file: file.to_owned(), entries, runs, total: 0 }
    }

    /// Returns the number of collected events.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Adds the event with this number; numbers ascend.
    #[inline]
    pub(crate) fn push(&mut self, event: Event, number: u64) -> Result<(), SourceError> {
        if self.entries.len() == self.room.run {
            self.spill()?;
        }
        self.entries.push(Entry { event, number });
        self.total += 1;
        Ok(())
    }

    /// Writes the collected events as a run.
    #[cold]
    fn spill(&mut self) -> Result<(), SourceError> {
        self.entries.sort_unstable_by_key(Entry::key);
        let entries = std::mem::take(&mut self.entries);
        let written =
            entries.chunks(PIECE).try_for_each(|piece| self.runs.append(&self.room, piece));
        written.map_err(|error| self.failed(&error))?;
        self.runs.end();
        self.entries = entries;
        self.entries.clear();
        Ok(())
    }

    /// Passes every event to `take`, in order of time; `Break` ends it.
    ///
    /// # Errors
    /// The temporary file cannot be written or read.
    pub(crate) fn finish<B>(
        mut self,
        mut take: impl FnMut(Entry) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, SourceError> {
        if self.runs.ends.is_empty() {
            self.entries.sort_unstable_by_key(Entry::key);
            return Ok(self.entries.into_iter().try_for_each(take));
        }
        if !self.entries.is_empty() {
            self.spill()?;
        }
        self.entries = Vec::new();
        while self.runs.ends.len() > self.room.fan_in {
            let fewer = self.runs.merged(&self.room);
            // Closes the file of the merged runs, which removes it.
            self.runs = fewer.map_err(|error| self.failed(&error))?;
        }
        let runs = 0..self.runs.ends.len();
        let done = self.runs.merge(runs, |entry| Ok(take(entry)));
        done.map_err(|error| self.failed(&error))
    }

    #[cold]
    fn failed(&self, error: &io::Error) -> SourceError {
        let (file, folder) = (&self.file, self.room.folder.display());
        let bytes = self.total * BYTES as u64;
        SourceError(format!(
            "{file}: cannot sort it: temporary file in {folder}: {error} (after {} requests, {bytes} \
             bytes); set TMPDIR to a folder on a disk with room for {BYTES} bytes a request",
            self.total
        ))
    }
}

/// Sorted runs, one after the other in a file without a name.
#[derive(Default)]
struct SpilledRuns {
    file: Option<File>,
    /// Events up to the end of each run, and of the current run.
    ends: Vec<u64>,
    written: u64,
    buffer: Vec<u8>,
}

impl SpilledRuns {
    /// Adds events to the current run.
    fn append(&mut self, room: &Room, entries: &[Entry]) -> io::Result<()> {
        self.buffer.resize(entries.len() * BYTES, 0);
        for (bytes, entry) in self.buffer.chunks_exact_mut(BYTES).zip(entries) {
            entry.encode(bytes);
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(nameless(room)?),
        };
        file.write_all_at(&self.buffer, self.written * BYTES as u64)?;
        self.written += entries.len() as u64;
        Ok(())
    }

    /// Ends the current run.
    fn end(&mut self) {
        self.ends.push(self.written);
    }

    /// Returns the same events in fewer runs.
    fn merged(&self, room: &Room) -> io::Result<SpilledRuns> {
        let mut fewer = SpilledRuns::default();
        for first in (0..self.ends.len()).step_by(room.fan_in) {
            let mut piece = Vec::with_capacity(PIECE);
            let group = first..self.ends.len().min(first + room.fan_in);
            let done: ControlFlow<()> = self.merge(group, |entry| {
                piece.push(entry);
                if piece.len() == PIECE {
                    fewer.append(room, &piece)?;
                    piece.clear();
                }
                Ok(ControlFlow::Continue(()))
            })?;
            assert!(done.is_continue(), "nothing above ends it");
            fewer.append(room, &piece)?;
            fewer.end();
        }
        Ok(fewer)
    }

    /// Passes on the events of a `group` of runs in order.
    fn merge<B>(
        &self,
        group: std::ops::Range<usize>,
        mut take: impl FnMut(Entry) -> io::Result<ControlFlow<B>>,
    ) -> io::Result<ControlFlow<B>> {
        let file = self.file.as_ref().expect("there are runs only with their file");
        let mut heads = BinaryHeap::with_capacity(group.len());
        let mut cursors: Vec<RunReader> = group
            .map(|run| {
                RunReader::new(if run == 0 { 0 } else { self.ends[run - 1] }, self.ends[run])
            })
            .collect();
        for (index, cursor) in cursors.iter_mut().enumerate() {
            if let Some(entry) = cursor.next(file)? {
                heads.push(Reverse((entry.key(), index)));
                cursor.head = Some(entry);
            }
        }
        while let Some(Reverse((_, index))) = heads.pop() {
            let cursor = &mut cursors[index];
            let entry = cursor.head.take().expect("a cursor with a key has its event");
            if let Some(next) = cursor.next(file)? {
                heads.push(Reverse((next.key(), index)));
                cursor.head = Some(next);
            }
            if let ControlFlow::Break(end) = take(entry)? {
                return Ok(ControlFlow::Break(end));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Position of a merge in a run.
struct RunReader {
    /// Events of the file that are not in `bytes` yet.
    next: u64,
    end: u64,
    bytes: Vec<u8>,
    at: usize,
    head: Option<Entry>,
}

impl RunReader {
    fn new(start: u64, end: u64) -> RunReader {
        RunReader { next: start, end, bytes: Vec::new(), at: 0, head: None }
    }

    fn next(&mut self, file: &File) -> io::Result<Option<Entry>> {
        if self.at == self.bytes.len() {
            let count = (self.end - self.next).min(PIECE as u64);
            if count == 0 {
                return Ok(None);
            }
            self.bytes.resize(count as usize * BYTES, 0);
            file.read_exact_at(&mut self.bytes, self.next * BYTES as u64)?;
            (self.next, self.at) = (self.next + count, 0);
        }
        let entry = Entry::decode(&self.bytes[self.at..self.at + BYTES]);
        self.at += BYTES;
        Ok(Some(entry))
    }
}

/// Creates a file without a name in the folder for temporary files.
fn nameless(room: &Room) -> io::Result<File> {
    for attempt in 0..ATTEMPTS {
        let path = room.folder.join(format!(".ssdlab-sort.{}.{attempt}.tmp", std::process::id()));
        match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => {
                fs::remove_file(&path)?;
                return Ok(file);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("too many temporary files; remove those that begin with .ssdlab-sort"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssd_core::rng::Stream;

    fn event(at_ns: u64, sector: u64) -> Event {
        Event { at_ns, volume: 1 << 40 | 3, sector, sectors: 8, op: Op::Trim, flags: 31, stream: 9 }
    }

    fn sorted(room: &Room, events: &[Event]) -> Result<Vec<Entry>, SourceError> {
        let mut sorter = Sorter::new("t", room.clone());
        for (number, event) in events.iter().enumerate() {
            sorter.push(*event, number as u64 + 1)?;
        }
        assert_eq!(sorter.total(), events.len() as u64);
        let mut found = Vec::new();
        let done: ControlFlow<()> = sorter.finish(|entry| {
            found.push(entry);
            ControlFlow::Continue(())
        })?;
        assert!(done.is_continue());
        Ok(found)
    }

    /// Returns minimal memory limits, so that merges are merged again.
    fn small(run: usize, fan_in: usize) -> Room {
        Room { run, fan_in, ..Room::default() }
    }

    #[test]
    fn it_is_a_stable_sort_whatever_the_room() {
        let mut random = Stream::new(7, "sort");
        // Few distinct times, so that most are equal.
        let events: Vec<Event> =
            (0..20_000).map(|number| event(random.below(500) << 33, number)).collect();
        let mut expected: Vec<Entry> =
            (1..).zip(&events).map(|(number, event)| Entry { event: *event, number }).collect();
        expected.sort_by_key(|entry| entry.event.at_ns);
        for (run, fan_in) in
            [(1 << 20, 64), (20_000, 2), (19_999, 2), (7001, 2), (130, 3), (97, 64)]
        {
            assert!(sorted(&small(run, fan_in), &events).unwrap() == expected, "{run}, {fan_in}");
        }
        for count in 0..6 {
            let all = sorted(&small(2, 2), &events[..count]).unwrap();
            assert_eq!(all.len(), count);
        }
    }

    #[test]
    fn the_temporary_file_has_no_name() {
        let folder = std::env::temp_dir().join(format!("ssdlab-sort-test-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let room = Room { run: 10, fan_in: 2, folder: folder.clone() };
        let mut sorter = Sorter::new("t", room);
        for number in 0..95 {
            sorter.push(event(95 - number, number), number + 1).unwrap();
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "while it sorts");
        let ended = sorter.finish(|entry| {
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "while it merges");
            if entry.event.at_ns == 50 {
                ControlFlow::Break(entry.number)
            } else {
                ControlFlow::Continue(())
            }
        });
        assert_eq!(ended.unwrap(), ControlFlow::Break(46));
        fs::remove_dir(&folder).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_told_with_the_remedy() {
        let room = Room { run: 10, fan_in: 2, folder: "/no/such/folder".into() };
        let error = sorted(&room, &[event(1, 1); 11]).unwrap_err().0;
        for part in ["t: cannot sort it", "/no/such/folder", "No such file", "TMPDIR", "40 bytes"] {
            assert!(error.contains(part), "{part:?} is not in: {error}");
        }
        assert_eq!(sorted(&room, &[event(1, 1); 10]).unwrap().len(), 10, "it takes no disk");
    }
}
