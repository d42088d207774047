//! The file layer: everything that the engine needs from its environment. A `Vfs` is a directory.
//!
//! Calls return when the effect is visible to later calls. The backend decides what a call *costs*:
//! a backend in simulated time records the operations of a `Db::step` and runs them on the device before
//! the engine continues (`docs/adr/0009-the-store-acts-in-steps.md`).

pub(crate) mod fault;
pub(crate) mod memory;
pub(crate) mod posix;
mod read_only;
pub(crate) mod region;

use crate::error::{Error, Result};
use crate::format::names;
use std::any::Any;
use std::io;
use std::sync::Arc;

pub use fault::{FaultVfs, Faults, Reset};
pub use memory::{MemoryVfs, Shares};
pub use posix::PosixVfs;
pub(crate) use read_only::ReadOnlyVfs;
pub use region::Region;

/// A directory of files with flat names. Changes are visible at once, but durable only after `sync`.
pub trait Vfs: Send + Sync {
    /// Create a file for appending; an existing file is truncated.
    ///
    /// # Errors
    /// An error of the medium, such as no space or no permission.
    fn create(&self, name: &str) -> io::Result<Box<dyn VFile>>;

    /// Open a file for reading.
    ///
    /// # Errors
    /// `NotFound` if there is no such file, or an error of the medium.
    fn open(&self, name: &str) -> io::Result<Arc<dyn VFile>>;

    /// Rename a file atomically; an existing file with the new name is replaced.
    ///
    /// # Errors
    /// `NotFound`, or an error of the medium.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Remove a file. Handles that are open can still read it.
    ///
    /// # Errors
    /// `NotFound`, or an error of the medium.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// The names of all files, sorted.
    ///
    /// # Errors
    /// `NotFound` if there is no directory, or an error of the medium.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Make all creations, renames and removals so far durable.
    ///
    /// # Errors
    /// What the medium says.
    fn sync_dir(&self) -> io::Result<()>;

    /// Create the directory itself, if it does not exist.
    ///
    /// # Errors
    /// What the medium says.
    fn create_dir(&self) -> io::Result<()>;

    /// Remove the directory itself, which must be empty.
    ///
    /// # Errors
    /// What the medium says.
    fn remove_dir(&self) -> io::Result<()>;

    /// Lock the directory against other stores until the result is dropped.
    ///
    /// # Errors
    /// `WouldBlock` if another store has locked it.
    fn lock(&self, name: &str) -> io::Result<Box<dyn Send + Sync>>;

    /// Lock the directory against `lock`, shared with other read-only stores; changes nothing. If there is
    /// no file with this name, nobody has ever locked the directory, and there is nothing to lock.
    ///
    /// # Errors
    /// As `lock`.
    fn lock_shared(&self, name: &str) -> io::Result<Box<dyn Send + Sync>>;

    /// Whether long work may continue: opening, verifying, repairing, dumping, measuring. Called about
    /// once per MiB of it, and never where stopping would leave an open store unable to write.
    ///
    /// # Errors
    /// The reason to stop.
    fn go_on(&self) -> io::Result<()> {
        Ok(())
    }

    /// Why tables are copied although this file layer was asked to share; None as long as it shares.
    fn why_copied(&self) -> Option<String> {
        None
    }

    /// A name for messages: the whole path if there is one.
    fn describe(&self, name: &str) -> String {
        name.to_owned()
    }
}

/// How bytes that another file holds came into a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendOutcome {
    /// Both files now share the storage of these bytes: nothing was written.
    Shared,
    /// The bytes were written.
    Copied,
}

/// An open file: its creator appends to it, others read it at any offset.
///
/// A backend that shares storage finds its own type behind `from` by `(from as &dyn Any).downcast_ref()`.
pub trait VFile: Any + Send + Sync {
    /// Append `data`.
    ///
    /// # Errors
    /// An error of the medium. Part of `data` may have been written.
    fn append(&mut self, data: &[u8]) -> io::Result<()>;

    /// Append `bytes`, which a file of the same directory has at `offset`. A backend that can lets both
    /// files share their storage; if it cannot, or if sharing fails, the bytes are appended as by `append`.
    /// The length of this file, `offset` and the length of `bytes` are multiples of the page of the table
    /// layout. `from` is durable and does not change; it may be removed while it is open, and what was
    /// shared stays. What was appended is durable after `sync`, shared or not.
    ///
    /// # Errors
    /// As `append`.
    fn append_shared(
        &mut self,
        from: &dyn VFile,
        offset: u64,
        bytes: &[u8],
    ) -> io::Result<AppendOutcome> {
        let _ = (from, offset);
        self.append(bytes)?;
        Ok(AppendOutcome::Copied)
    }

    /// Fill `buffer` from `offset` on. Returns the number of bytes; it is smaller only at the end of the file.
    ///
    /// # Errors
    /// What the medium says.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Make the contents durable.
    ///
    /// # Errors
    /// What the medium says.
    fn sync(&mut self) -> io::Result<()>;

    /// Length in bytes.
    ///
    /// # Errors
    /// What the medium says.
    fn len(&self) -> io::Result<u64>;

    /// Whether the file is empty.
    ///
    /// # Errors
    /// What the medium says.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// The whole file in memory, if the backend supports this: reads then copy nothing.
    fn region(&self) -> Option<Arc<Region>> {
        None
    }
}

/// The file layer as the engine uses it: errors name the file.
#[derive(Clone)]
pub(crate) struct Files {
    vfs: Arc<dyn Vfs>,
}

impl Files {
    pub(crate) fn new(vfs: Arc<dyn Vfs>) -> Files {
        Files { vfs }
    }

    pub(crate) fn describe(&self, name: &str) -> String {
        self.vfs.describe(name)
    }

    fn with_name<T>(&self, name: &str, doing: &'static str, result: io::Result<T>) -> Result<T> {
        result.map_err(|source| Error::io(self.describe(name), doing, source))
    }

    pub(crate) fn create(&self, name: &str) -> Result<Writer> {
        debug_assert!(names::parse(name).is_some(), "{name}: a store creates its own files only");
        let file = self.with_name(name, "create", self.vfs.create(name))?;
        Ok(Writer::new(file, self.describe(name)))
    }

    /// Why tables are copied although the file layer was asked to share.
    pub(crate) fn why_copied(&self) -> Option<String> {
        self.vfs.why_copied()
    }

    /// A file that does not exist and accepts no data.
    pub(crate) fn nowhere(&self, name: &str) -> Writer {
        let is_log = matches!(names::parse(name), Some(names::FileKind::Log(_)));
        debug_assert!(is_log, "{name}: only the log of a read-only store is nowhere");
        let file = Box::new(read_only::NullFile);
        Writer::new(file, self.describe(name))
    }

    pub(crate) fn open(&self, name: &str) -> Result<Reader> {
        debug_assert!(names::parse(name).is_some(), "{name}: a store reads its own files only");
        let file = self.with_name(name, "open", self.vfs.open(name))?;
        Ok(Reader { file, name: self.describe(name) })
    }

    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>> {
        let reader = self.open(name)?;
        let length = self.with_name(name, "measure", reader.file.len())?;
        let mut data = vec![0; usize::try_from(length).map_err(|_| Error::invalid("too long"))?];
        let count = self.with_name(name, "read", reader.file.read_at(0, &mut data))?;
        assert!(count <= data.len(), "{name}: {count} bytes in a buffer of {}", data.len());
        data.truncate(count);
        Ok(data)
    }

    pub(crate) fn go_on(&self) -> Result<()> {
        self.vfs.go_on().map_err(|error| Error::Stopped(Arc::new(error)))
    }

    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<()> {
        assert_ne!(from, to, "renamed to itself");
        debug_assert!(names::parse(from).is_some(), "{from}: files of others keep their names");
        self.with_name(from, "rename", self.vfs.rename(from, to))
    }

    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        debug_assert!(names::parse(name).is_some(), "{name}: files of others are never removed");
        self.with_name(name, "remove", self.vfs.remove(name))
    }

    pub(crate) fn list(&self) -> Result<Vec<String>> {
        let names = self.with_name("", "list", self.vfs.list())?;
        assert!(names.is_sorted_by(|a, b| a < b), "a file layer lists each name once, in order");
        Ok(names)
    }

    /// Whether the directory and this file exist; any other failure is an error.
    pub(crate) fn exists(&self, name: &str) -> Result<bool> {
        self.exists_any(|n| n == name)
    }

    /// Whether the directory exists and has a file with such a name; any other failure is an error.
    pub(crate) fn exists_any(&self, matches: impl Fn(&str) -> bool) -> Result<bool> {
        match self.vfs.list() {
            Ok(names) => Ok(names.iter().any(|n| matches(n))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(Error::io(self.describe(""), "list", e)),
        }
    }

    pub(crate) fn sync_dir(&self) -> Result<()> {
        self.with_name("", "sync", self.vfs.sync_dir())
    }

    pub(crate) fn create_dir(&self) -> Result<()> {
        self.with_name("", "create", self.vfs.create_dir())
    }

    pub(crate) fn remove_dir(&self) -> Result<()> {
        self.with_name("", "remove", self.vfs.remove_dir())
    }

    pub(crate) fn lock(&self, name: &str) -> Result<Box<dyn Send + Sync>> {
        debug_assert_eq!(names::parse(name), Some(names::FileKind::Lock), "{name} is no lock");
        self.vfs.lock(name).map_err(|e| match e.kind() {
            io::ErrorKind::WouldBlock => Error::Locked(self.describe("")),
            _ => Error::io(self.describe(name), "lock", e),
        })
    }
}

/// Long work: asks at its start, and then about once per MiB, whether to continue.
pub(crate) struct Work {
    files: Files,
    until_asked: usize,
}

impl Work {
    pub(crate) fn new(files: &Files) -> Work {
        Work { files: files.clone(), until_asked: 0 }
    }

    /// Count `bytes` of work that come next or are done.
    #[inline]
    pub(crate) fn add(&mut self, bytes: usize) -> Result<()> {
        debug_assert!(self.until_asked <= 1 << 20, "the caller is asked too rarely");
        if bytes < self.until_asked {
            self.until_asked -= bytes;
            return Ok(());
        }
        self.until_asked = 1 << 20;
        self.files.go_on()
    }
}

/// How many bytes a `Writer` buffers before it calls the file layer.
const GATHER: usize = 64 << 10;

/// How many bytes of another file a `Writer` appends in one call.
const RUN: usize = 1 << 20;

/// A file being written: buffers small appends, and keeps its name for errors.
pub(crate) struct Writer {
    file: Box<dyn VFile>,
    name: String,
    buffer: Vec<u8>,
    written: u64,
    /// Bytes of another file that are appended next; the buffer is then empty.
    run: Option<Run>,
    reused: AppendCounts,
}

/// Neighbouring bytes of another file.
struct Run {
    from: Arc<dyn VFile>,
    offset: u64,
    bytes: Vec<u8>,
}

/// Bytes appended by `Writer::append_shared`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AppendCounts {
    pub(crate) shared: u64,
    pub(crate) copied: u64,
    /// Calls of the file layer.
    pub(crate) calls: u64,
}

impl Writer {
    fn new(file: Box<dyn VFile>, name: String) -> Writer {
        let (buffer, reused) = (Vec::new(), AppendCounts::default());
        Writer { file, name, buffer, written: 0, run: None, reused }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn append(&mut self, data: &[u8]) -> Result<()> {
        self.written += data.len() as u64;
        if self.buffer.len() + data.len() > GATHER || self.run.is_some() {
            self.flush()?;
            if data.len() >= GATHER {
                debug_assert!(self.buffer.is_empty(), "bytes that were appended before");
                return self.file.append(data).map_err(|e| self.failed("append to", e));
            }
        }
        self.buffer.extend_from_slice(data);
        debug_assert!(self.buffer.len() <= GATHER, "the gathered bytes stay few");
        debug_assert!(self.written >= self.buffer.len() as u64, "all of it is counted");
        Ok(())
    }

    /// Append and pass on at once, without a copy.
    pub(crate) fn append_now(&mut self, data: &[u8]) -> Result<()> {
        self.flush()?;
        debug_assert!(self.buffer.is_empty(), "bytes in the order in which they were appended");
        self.written += data.len() as u64;
        self.file.append(data).map_err(|e| self.failed("append to", e))
    }

    /// Append `bytes`, which another file has at `offset`; neighbours are appended in one call.
    pub(crate) fn append_shared(&mut self, from: &Reader, offset: u64, bytes: &[u8]) -> Result<()> {
        debug_assert!(!bytes.is_empty(), "nothing is shared");
        debug_assert!(offset.checked_add(bytes.len() as u64).is_some(), "no file is as long");
        assert!(self.run.is_none() || self.buffer.is_empty(), "bytes in two places");
        let follows = |run: &Run| {
            std::ptr::addr_eq(Arc::as_ptr(&run.from), Arc::as_ptr(&from.file))
                && run.offset + run.bytes.len() as u64 == offset
                && run.bytes.len() + bytes.len() <= RUN
        };
        if !self.run.as_ref().is_some_and(follows) {
            self.flush()?;
        }
        let begin = || Run { from: from.file.clone(), offset, bytes: Vec::new() };
        self.run.get_or_insert_with(begin).bytes.extend_from_slice(bytes);
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// What `append_shared` did; all of it after `flush`.
    pub(crate) fn reused(&self) -> AppendCounts {
        self.reused
    }

    /// Bytes appended so far.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        debug_assert!(self.written >= self.buffer.len() as u64, "all of it is counted");
        debug_assert!(self.run.is_none() || self.buffer.is_empty(), "bytes in two places");
        if let Some(Run { from, offset, bytes }) = self.run.take() {
            let appended = self.file.append_shared(&*from, offset, &bytes);
            let count = match appended.map_err(|e| self.failed("append to", e))? {
                AppendOutcome::Shared => &mut self.reused.shared,
                AppendOutcome::Copied => &mut self.reused.copied,
            };
            *count += bytes.len() as u64;
            self.reused.calls += 1;
            let total = self.reused.shared + self.reused.copied;
            assert!(total <= self.written, "more is reused than appended");
        }
        if !self.buffer.is_empty() {
            self.file.append(&self.buffer).map_err(|e| self.failed("append to", e))?;
            self.buffer.clear();
        }
        Ok(())
    }

    pub(crate) fn sync(&mut self) -> Result<()> {
        self.flush()?;
        debug_assert!(self.buffer.is_empty(), "a sync covers all that was appended");
        self.file.sync().map_err(|e| self.failed("sync", e))
    }

    fn failed(&self, doing: &'static str, source: io::Error) -> Error {
        Error::io(self.name.clone(), doing, source)
    }
}

/// A file being read.
pub(crate) struct Reader {
    file: Arc<dyn VFile>,
    name: String,
}

impl Reader {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn region(&self) -> Option<Arc<Region>> {
        self.file.region()
    }

    pub(crate) fn len(&self) -> Result<u64> {
        self.file.len().map_err(|e| Error::io(self.name.clone(), "measure", e))
    }

    /// Exactly `length` bytes at `offset`; a file that ends before is damaged.
    pub(crate) fn read_exact(&self, offset: u64, length: usize) -> Result<Vec<u8>> {
        debug_assert!(offset.checked_add(length as u64).is_some(), "no file is as long");
        let mut data = vec![0; length];
        let count = self
            .file
            .read_at(offset, &mut data)
            .map_err(|e| Error::io(self.name.clone(), "read", e))?;
        assert!(count <= length, "{}: {count} bytes in a buffer of {length}", self.name);
        if count == length {
            return Ok(data);
        }
        let message = format!("the file ends after {count} of {length} bytes");
        Err(Error::corrupt(&self.name, offset, message))
    }
}
