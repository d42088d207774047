//! A cache of traces that have been read, for later runs of the process.
//!
//! A trace is cached whole, before its time range and its fit to a device are applied, so that runs which differ in
//! these share it. It is cached in replayed form only if it is renumbered completely, as for a device of its size;
//! otherwise every run would need a copy.

use crate::config::{Fit, Workload};
use crate::read::cpu_files;
use crate::read::digest::Digest;
use crate::read::fit::{self, Record, RenumberedPages};
use crate::read::input::{Step, Watch};
use crate::read::page_set::PageSet;
use crate::read::reading::{self, ReadingSummary};
use crate::read::scan::Refusal;
use crate::read::updates::SharedUpdates;
use crate::read::volumes::VolumeSelection;
use ssd_core::host::request::Op;
use ssd_core::host::source::SourceError;
use ssd_core::units::SECTOR_BYTES;
use std::fs::File;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A file that changed at most this many seconds before it was opened may change again without a new modification time.
const FRESH_S: u64 = 2;
/// Time between two checks whether a run still waits for another run's reading.
const POLL: Duration = Duration::from_millis(100);

/// A trace in memory, with the times of its file.
#[derive(Clone)]
pub(crate) struct CachedTrace {
    pub(crate) records: Arc<Vec<Record>>,
    pub(crate) reading: Arc<ReadingSummary>,
    /// Name of the file in the messages of `found`.
    pub(crate) file: Arc<str>,
    /// Set if the pages of the records have been renumbered; the digest is of the requests before that.
    pub(crate) renumbered: Option<(RenumberedPages, Digest)>,
}

impl CachedTrace {
    /// Returns the records at or after `from` and before `until`.
    pub(crate) fn range(&self, from: u64, until: u64) -> Range<usize> {
        let before = |time: u64| self.records.partition_point(|record| record.at < time);
        before(from)..before(until)
    }

    /// Returns a message of `found` with the name `file`.
    pub(crate) fn with_name(&self, message: &str, file: &str) -> String {
        let rest = message.strip_prefix(&*self.file).expect("a message begins with its file");
        format!("{file}{rest}")
    }

    fn bytes(&self) -> u64 {
        bytes_of(self.records.len() as u64)
    }

    fn in_use(&self) -> bool {
        Arc::strong_count(&self.records) > 1
    }
}

/// Returns the memory for the records of `requests` requests.
const fn bytes_of(requests: u64) -> u64 {
    requests * size_of::<Record>() as u64
}

/// Identity of a file's contents, as far as the system provides it without reading the file.
#[derive(Clone, PartialEq, Eq)]
struct Version {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Version {
    #[cfg(unix)]
    fn of(file: &File) -> Option<Version> {
        use std::os::unix::fs::MetadataExt as _;
        let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some(Version {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    /// Other systems do not provide enough, so nothing is cached.
    #[cfg(not(unix))]
    fn of(_: &File) -> Option<Version> {
        None
    }
}

/// What the records of a trace depend on.
#[derive(Clone, PartialEq)]
struct Key {
    version: Version,
    /// The workload without keys that apply to the records.
    reading: Workload,
    /// Bytes of the renumbered pages.
    renumbered: Option<u32>,
}

impl Key {
    fn of(version: Version, workload: &Workload, page_bytes: u32) -> Key {
        let is_full_range = workload.from_ns == 0 && workload.until_ns.is_none();
        let alone = VolumeSelection::of(workload.volume) != VolumeSelection::All;
        let renumbered = workload.fit == Fit::Compact && is_full_range && alone;
        let Workload { from_ns, until_ns, fit, loops, phases, time_scale, .. } =
            Workload::default();
        let Workload { arrival, seed, copy, whole_pages, .. } = Workload::default();
        let Workload { warmup_requests, warmup_share, .. } = Workload::default();
        let reading = Workload {
            trace: None,
            from_ns,
            until_ns,
            fit,
            loops,
            phases,
            time_scale,
            arrival,
            seed,
            copy,
            whole_pages,
            warmup_requests,
            warmup_share,
            ..workload.clone()
        };
        Key { version, reading, renumbered: renumbered.then_some(page_bytes) }
    }
}

enum State {
    /// A run is reading it.
    Loading,
    Ready(CachedTrace),
    /// It exceeds the bound, or has errors, which every run reports itself.
    Refused,
}

struct Entry {
    key: Key,
    state: State,
    /// Time of the last use, counted in uses.
    used: u64,
}

#[derive(Default)]
struct Shelf {
    entries: Vec<Entry>,
    uses: u64,
    readings: u64,
}

impl Shelf {
    fn find(&mut self, key: &Key) -> Option<&mut Entry> {
        self.uses += 1;
        let entry = self.entries.iter_mut().find(|entry| entry.key == *key)?;
        entry.used = self.uses;
        Some(entry)
    }

    fn bytes(&self) -> u64 {
        let bytes_of = |entry: &Entry| match &entry.state {
            State::Ready(trace) => trace.bytes(),
            State::Loading | State::Refused => 0,
        };
        self.entries.iter().map(bytes_of).sum()
    }

    /// Drops the least recently used idle traces until `more` bytes fit `bound`; returns whether they do.
    fn make_room(&mut self, more: u64, bound: u64) -> bool {
        while self.bytes() + more > bound {
            let idle = |(at, entry): (usize, &Entry)| match &entry.state {
                State::Ready(trace) if !trace.in_use() => Some((entry.used, at)),
                _ => None,
            };
            let Some((_, at)) = self.entries.iter().enumerate().filter_map(idle).min() else {
                return false;
            };
            self.entries.swap_remove(at);
        }
        true
    }
}

/// A cache of traces, up to a bound. Threads share it: a trace that several threads request at once is read once.
pub struct TraceCache {
    bound_bytes: u64,
    /// Returns the seconds since 1970.
    clock: fn() -> i64,
    shelf: Mutex<Shelf>,
    changed: Condvar,
    /// Updates of cached traces.
    pub(crate) updates: SharedUpdates,
}

impl TraceCache {
    /// Creates an empty cache of at most `bound_bytes`, 24 per request. A trace that needs more is read by every run as
    /// if there were no cache. `clock` returns the seconds since 1970.
    #[must_use]
    pub fn new(bound_bytes: u64, clock: fn() -> i64) -> TraceCache {
        let (shelf, changed) = (Mutex::default(), Condvar::new());
        TraceCache { bound_bytes, clock, shelf, changed, updates: SharedUpdates::default() }
    }

    /// Returns how many files were read for the cache, to their end or to an error.
    #[must_use]
    pub fn readings(&self) -> u64 {
        self.shelf().readings
    }

    /// Returns the bytes in the cache.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.shelf().bytes()
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the trace at `path`, which is read unless it is cached. Returns `None` if it cannot be cached, or
    /// reading it failed or was ended by `watch`; the caller then reads it and reports the cause.
    pub(crate) fn get(
        &self,
        path: &str,
        workload: &Workload,
        page_bytes: u32,
        watch: &Watch<'_>,
    ) -> Option<CachedTrace> {
        if path == "-" || cpu_files::is_cpu_file(path) || !std::fs::metadata(path).ok()?.is_file() {
            return None;
        }
        let file = File::open(path).ok()?;
        let (modified, key) = key(&file, workload, page_bytes)?;
        let mut shelf = self.shelf();
        while let Some(entry) = shelf.find(&key) {
            match &entry.state {
                State::Ready(trace) => return Some(trace.clone()),
                State::Refused => return None,
                State::Loading => {}
            }
            let waited = self.changed.wait_timeout(shelf, POLL);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
            watch.at(Step::Read(0)).ok()?;
            shelf = self.shelf();
        }
        if (self.clock)().abs_diff(modified) <= FRESH_S {
            return None;
        }
        let used = shelf.uses;
        shelf.entries.push(Entry { key: key.clone(), state: State::Loading, used });
        shelf.readings += 1;
        drop(shelf);
        let coming = EntryGuard { store: self, key: Some(key) };
        self.read(coming, path, &file, (workload, page_bytes), watch)
    }

    /// Reads the trace that is `coming`.
    fn read(
        &self,
        mut coming: EntryGuard<'_>,
        path: &str,
        file: &File,
        (workload, page_bytes): (&Workload, u32),
        watch: &Watch<'_>,
    ) -> Option<CachedTrace> {
        let key = coming.key.as_ref().expect("it is coming");
        let read = whole_of(path, file, (workload, key.renumbered), watch, self.bound_bytes);
        if watch.stopped() {
            return None;
        }
        let (_, now) = self::key(file, workload, page_bytes)?;
        let mut shelf = self.shelf();
        let unchanged = now == *key;
        let fits =
            read.as_ref().is_ok_and(|trace| shelf.make_room(trace.bytes(), self.bound_bytes));
        let entry = shelf.find(key).expect("it is coming");
        match &read {
            Ok(trace) if fits && unchanged => entry.state = State::Ready(trace.clone()),
            Err(_) if unchanged => entry.state = State::Refused,
            // Not cached: the other traces are in use, or the file has changed.
            _ => return read.ok(),
        }
        coming.key = None;
        drop(shelf);
        self.changed.notify_all();
        read.ok()
    }
}

/// Returns the key of `file`, and its modification time.
fn key(file: &File, workload: &Workload, page_bytes: u32) -> Option<(i64, Key)> {
    let version = Version::of(file)?;
    Some((version.modified.0, Key::of(version, workload, page_bytes)))
}

/// Removes an entry that is still coming when its reading ends for any reason.
struct EntryGuard<'a> {
    store: &'a TraceCache,
    key: Option<Key>,
}

impl Drop for EntryGuard<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.store.shelf().entries.retain(|entry| entry.key != key);
            self.store.changed.notify_all();
        }
    }
}

/// Reads a whole trace of at most `most_bytes`; renumbers its pages if their size is given.
fn whole_of(
    path: &str,
    file: &File,
    (workload, page_bytes): (&Workload, Option<u32>),
    watch: &Watch<'_>,
    most_bytes: u64,
) -> Result<CachedTrace, SourceError> {
    let mut records: Vec<Record> = Vec::new();
    let most = usize::try_from(most_bytes / bytes_of(1)).unwrap_or(usize::MAX);
    let limit = most.min(u32::MAX as usize);
    let full_workload = Workload { from_ns: 0, until_ns: None, ..workload.clone() };
    let volume = VolumeSelection::of(workload.volume);
    let sectors_per_page = page_bytes.map(|bytes| u64::from(bytes) / SECTOR_BYTES);
    let (mut touched, mut digest) = (PageSet::default(), Digest::new());
    let reading = reading::each_event(path, file, watch, &full_workload, volume, |event, at| {
        if records.len() == records.capacity() {
            fit::grow(&mut records, limit)?;
        }
        let record = Record::of(event, at);
        if let Some(sectors_per_page) = sectors_per_page {
            digest.add(&event.request(at));
            if matches!(event.op, Op::Read | Op::Write) {
                let (first, last) = record.pages(sectors_per_page);
                touched.add(first, last);
            }
        }
        records.push(record);
        Ok::<(), Refusal>(())
    })?;
    assert!(records.is_sorted_by_key(|record| record.at), "a pass hands out events in order");
    let renumbered =
        sectors_per_page.map(|sectors| (fit::renumber(&mut records, touched, sectors), digest));
    records.shrink_to_fit();
    let (records, reading) = (Arc::new(records), Arc::new(reading));
    Ok(CachedTrace { records, reading, file: path.into(), renumbered })
}
