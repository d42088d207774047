//! The file layer: a `Vfs` that answers at once and notes what each call costs on the drive.
//!
//! Files are extents of pages of 4 KiB. Appended data stay in the page cache until they are written back by a sync, by
//! age or because there are too many; reads that miss the cache, and read-ahead, become requests. Changes of metadata
//! are committed in a journal, after the data that they describe ([ADR 0018]).
//!
//! [ADR 0018]: https://github.com/ssdlab/ssdlab/blob/main/docs/adr/0018-the-host-above-the-drive-runs-on-its-clock.md

mod alloc;
mod cache;
mod data;
mod file;
mod journal;
mod meta;
mod mount;
mod note;
mod share;
mod state;

pub use note::{CAUSES, Cause, Extent, Node, NotedRequest, Streams};

use meta::Layout;
use note::Pin;
use serde::{Deserialize, Serialize};
use ssd_kv::vfs::{AppendOutcome, VFile, Vfs};
use state::{ReadAhead, State};
use std::any::Any;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a page.
pub const PAGE: usize = 4096;

/// Settings of the file layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FsSettings {
    /// Pages of the page cache.
    pub cache_pages: u32,
    /// Number of dirty pages above which all of them are written back.
    pub dirty_pages: u32,
    /// Age in nanoseconds at which dirty pages are written back.
    pub dirty_age_ns: u64,
    /// Time between two periodic commits, in nanoseconds.
    pub commit_interval_ns: u64,
    /// The largest window of read-ahead in pages; 0 for none.
    pub readahead_pages: u32,
    /// Whether pages taken over enter the page cache, from the memory of the host, as written ones do. File systems
    /// that share extents do not do that.
    pub cache_shared: bool,
    /// Pages reserved for the growth of a file.
    pub set_aside_pages: u32,
    /// Whether pages of removed files are discarded after the commit.
    pub discard: bool,
    /// Which streams writes name, for a drive that separates them.
    pub streams: Streams,
    /// Processor time of a call, in nanoseconds.
    pub call_ns: u64,
    /// Processor time to copy 1 KiB, in nanoseconds.
    pub kib_ns: u64,
    /// Whether the drive must be flushed: it has a volatile write buffer.
    #[serde(skip)]
    pub flushes: bool,
    /// Whether requests carry data, for a drive that keeps contents.
    #[serde(skip)]
    pub keeps_data: bool,
    /// Whether files take over pages of others by copies on the drive.
    #[serde(skip)]
    pub copies: bool,
    /// The most pages of a copy that the drive accepts.
    #[serde(skip)]
    pub copy_pages: u32,
}

impl Default for FsSettings {
    fn default() -> FsSettings {
        FsSettings {
            cache_pages: 1 << 16,
            dirty_pages: 1 << 13,
            dirty_age_ns: 30_000_000_000,
            commit_interval_ns: 5_000_000_000,
            readahead_pages: 32,
            cache_shared: false,
            set_aside_pages: 512,
            discard: true,
            streams: Streams::None,
            call_ns: 400,
            kib_ns: 100,
            flushes: false,
            keeps_data: false,
            copies: false,
            copy_pages: file::LONGEST,
        }
    }
}

/// What the file layer has done.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FsCounts {
    /// Pages written, by [`Cause::at`].
    pub written: [u64; CAUSES],
    /// Pages copied by the drive, by cause of the file that took them over.
    pub copied: [u64; CAUSES],
    /// Pages read, by cause of the file.
    pub read: [u64; CAUSES],
    /// Pages discarded.
    pub discarded: u64,
    /// Transactions of the journal.
    pub commits: u64,
    /// Pages found in the page cache.
    pub hits: u64,
    /// Pages not found there.
    pub misses: u64,
    /// Pages read ahead.
    pub ahead: u64,
    /// Pages of files, written back or not.
    pub used: u64,
    /// Clean pages in the page cache.
    pub clean: u64,
    /// Dirty pages in the page cache.
    pub dirty: u64,
}

/// A file system on a drive. Clones refer to the same one.
#[derive(Clone)]
pub struct Fs {
    state: Arc<Mutex<State>>,
    lock: Arc<Mutex<bool>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Fs {
    fn of(state: State) -> Fs {
        Fs { state: Arc::new(Mutex::new(state)), lock: Arc::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// A new file system on a drive of `pages`; its writes are noted.
    ///
    /// # Errors
    /// The drive is too small.
    pub fn format(pages: u32, settings: FsSettings) -> Result<Fs, String> {
        let layout = Layout::new(pages).ok_or_else(|| {
            format!("a drive of {pages} pages of 4 KiB is too small for a file system")
        })?;
        let mut state = State::new(layout, settings);
        state.format();
        Ok(Fs::of(state))
    }

    /// What has been noted since the last call.
    #[must_use]
    pub fn take_nodes(&self) -> Vec<Node> {
        self.state().take_nodes()
    }

    /// Note processor time before what is noted next.
    pub fn cpu(&self, ns: u64) {
        self.state().cpu(ns);
    }

    /// Simulated time in nanoseconds, for the age of pages.
    pub fn set_now(&self, ns: u64) {
        self.state().now = ns;
    }

    /// Set the cause for which tables that are created from now on are written.
    pub fn set_table_cause(&self, cause: Cause) {
        self.state().table_cause = cause;
    }

    /// Note that the request with this number has completed.
    pub fn done(&self, number: u64) {
        self.state().done(number);
    }

    /// Whether all writes with smaller numbers have completed.
    #[must_use]
    pub fn is_past(&self, number: u64) -> bool {
        self.state().is_past(number)
    }

    /// Whether the requests with these numbers have completed.
    #[must_use]
    pub fn are_done(&self, first: u64, last: u64) -> bool {
        self.state().are_done(first, last)
    }

    /// Whether the request with this number is a read that has not completed.
    #[must_use]
    pub fn is_reading(&self, number: u64) -> bool {
        self.state().reading.contains(&number)
    }

    /// Note that a node [`Node::Free`] has been reached.
    pub fn freed(&self, extents: &[Extent]) {
        self.state().freed(extents);
    }

    /// Pages that files can still take, and those that will soon be free.
    #[must_use]
    pub fn spare_pages(&self) -> (u64, u64) {
        let state = self.state();
        (state.spare(), state.freeing())
    }

    /// Whether there are too many dirty pages.
    #[must_use]
    pub fn wants_write_back(&self) -> bool {
        self.state().wants_write_back()
    }

    /// Write back old pages, or all if there are too many, and commit.
    ///
    /// # Errors
    /// The file system is full.
    pub fn write_back(&self) -> io::Result<()> {
        let mut state = self.state();
        let age = state.settings.dirty_age_ns;
        state.write_back_old(age)
    }

    /// Commit what has changed; false if nothing has.
    ///
    /// # Errors
    /// The file system is full.
    pub fn commit(&self) -> io::Result<bool> {
        self.state().commit()
    }

    /// What has been done so far.
    #[must_use]
    pub fn counts(&self) -> FsCounts {
        let state = self.state();
        FsCounts {
            written: state.written,
            copied: state.copied,
            read: state.read,
            discarded: state.discarded,
            commits: state.commits,
            hits: state.hits,
            misses: state.misses,
            ahead: state.ahead,
            used: state.pages_used(),
            clean: state.cache.page_count() as u64,
            dirty: state.dirty,
        }
    }

    /// All files with their contents.
    #[must_use]
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let state = self.state();
        let with_data = |name: String| {
            let data = state.find(&name).map(|(number, _)| state.data(number).to_vec());
            (name, data.unwrap_or_default())
        };
        state.list().into_iter().map(with_data).collect()
    }
}

impl Vfs for Fs {
    fn create(&self, name: &str) -> io::Result<Box<dyn VFile>> {
        let (file, pin) = self.state().create(name)?;
        Ok(Box::new(Handle {
            fs: self.clone(),
            file,
            _pin: pin,
            ahead: Mutex::default(),
            writes: true,
        }))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn VFile>> {
        let (file, pin) = self.state().find(name)?;
        let handle =
            Handle { fs: self.clone(), file, _pin: pin, ahead: Mutex::default(), writes: false };
        Ok(Arc::new(handle))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.state().rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.state().remove(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.state().list())
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.state().commit_durably().map(|_| ())
    }

    fn create_dir(&self) -> io::Result<()> {
        Ok(())
    }

    fn remove_dir(&self) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, name: &str) -> io::Result<Box<dyn Send + Sync>> {
        if std::mem::replace(&mut *locked(&self.lock), true) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let holder = Lock(self.lock.clone());
        let mut state = self.state();
        if state.find(name).is_err() {
            state.create(name)?;
        }
        drop(state);
        Ok(Box::new(holder))
    }

    fn lock_shared(&self, name: &str) -> io::Result<Box<dyn Send + Sync>> {
        self.lock(name)
    }
}

struct Lock(Arc<Mutex<bool>>);

impl Drop for Lock {
    fn drop(&mut self) {
        *locked(&self.0) = false;
    }
}

/// An open file.
struct Handle {
    fs: Fs,
    file: u32,
    _pin: Pin,
    ahead: Mutex<ReadAhead>,
    writes: bool,
}

impl VFile for Handle {
    fn append(&mut self, data: &[u8]) -> io::Result<()> {
        self.fs.state().append(self.file, data)
    }

    fn append_shared(
        &mut self,
        from: &dyn VFile,
        offset: u64,
        bytes: &[u8],
    ) -> io::Result<AppendOutcome> {
        let mut state = self.fs.state();
        if let Some(source) = (from as &dyn Any).downcast_ref::<Handle>()
            && Arc::ptr_eq(&source.fs.state, &self.fs.state)
            && state.share(self.file, source.file, offset, bytes)?
        {
            return Ok(AppendOutcome::Shared);
        }
        state.append(self.file, bytes)?;
        Ok(AppendOutcome::Copied)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut ahead = locked(&self.ahead);
        Ok(self.fs.state().read_at(self.file, offset, buffer, &mut ahead))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.fs.state().sync(self.file)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.fs.state().data(self.file).len() as u64)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.writes {
            self.fs.state().close(self.file);
        }
    }
}
