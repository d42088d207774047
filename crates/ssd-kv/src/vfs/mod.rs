//! The file layer: all that the engine asks of the world. One `Vfs` is one directory.
//!
//! Calls return when the effect is visible to later calls. What a call *costs* is the backend's
//! business: a backend in simulated time notes the operations of one `Db::step` and lets them take
//! their time before it lets the engine go on (`docs/adr/0009-the-store-acts-in-steps.md`).

pub(crate) mod fault;
pub(crate) mod memory;
pub(crate) mod posix;
mod read_only;
pub(crate) mod region;

use crate::error::{Error, Result};
use std::io;
use std::sync::Arc;

pub use fault::{FaultVfs, Faults, Reset};
pub use memory::MemoryVfs;
pub use posix::PosixVfs;
pub(crate) use read_only::ReadOnlyVfs;
pub use region::Region;

/// A directory of files with flat names. Visible at once; durable only after `sync`.
pub trait Vfs: Send + Sync {
    /// A file for appending; an existing one is emptied.
    ///
    /// # Errors
    /// What the medium says: no space, no permission.
    fn create(&self, name: &str) -> io::Result<Box<dyn VFile>>;

    /// A file for reading.
    ///
    /// # Errors
    /// `NotFound` if there is none, or what the medium says.
    fn open(&self, name: &str) -> io::Result<Arc<dyn VFile>>;

    /// Give a file another name, atomically; a file of that name is replaced.
    ///
    /// # Errors
    /// `NotFound`, or what the medium says.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Remove a file. Those who have it open may read on.
    ///
    /// # Errors
    /// `NotFound`, or what the medium says.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// The names of all files, sorted.
    ///
    /// # Errors
    /// What the medium says; `NotFound` if there is no directory.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Make the names durable: creations, renames and removals so far.
    ///
    /// # Errors
    /// What the medium says.
    fn sync_dir(&self) -> io::Result<()>;

    /// Make the directory itself, if there is none.
    ///
    /// # Errors
    /// What the medium says.
    fn create_dir(&self) -> io::Result<()>;

    /// Remove the directory itself, which is empty.
    ///
    /// # Errors
    /// What the medium says.
    fn remove_dir(&self) -> io::Result<()>;

    /// Hold the directory against other stores until the result is dropped.
    ///
    /// # Errors
    /// `WouldBlock` if it is held by another one.
    fn lock(&self, name: &str) -> io::Result<Box<dyn Send + Sync>>;

    /// The same against those that `lock`, beside others that share it; changes nothing. Where there is
    /// no file of this name, nobody has ever locked the directory, and nobody is held off.
    ///
    /// # Errors
    /// As `lock`.
    fn lock_shared(&self, name: &str) -> io::Result<Box<dyn Send + Sync>>;

    /// Whether to go on with long work: opening, verifying, repairing, dumping, measuring. Asked
    /// about every MiB of it, and never where stopping would leave an open store unable to write.
    ///
    /// # Errors
    /// Why not.
    fn go_on(&self) -> io::Result<()> {
        Ok(())
    }

    /// A name for messages: the whole path where there is one.
    fn describe(&self, name: &str) -> String {
        name.to_owned()
    }
}

/// An open file: appended to by its creator, read at any place by others.
pub trait VFile: Send + Sync {
    /// Write at the end.
    ///
    /// # Errors
    /// What the medium says. Part of `data` may have been written.
    fn append(&mut self, data: &[u8]) -> io::Result<()>;

    /// Fill `buffer` from `offset` on; the number of bytes is smaller only at the end of the file.
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

    /// Whether there is nothing in it.
    ///
    /// # Errors
    /// What the medium says.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// The whole file as memory, where that is to be had: reads then copy nothing.
    fn region(&self) -> Option<Arc<Region>> {
        None
    }
}

/// The file layer with names in its errors: what the engine talks to.
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

    fn named<T>(&self, name: &str, doing: &'static str, result: io::Result<T>) -> Result<T> {
        result.map_err(|source| Error::io(self.describe(name), doing, source))
    }

    pub(crate) fn create(&self, name: &str) -> Result<Writer> {
        let file = self.named(name, "create", self.vfs.create(name))?;
        Ok(Writer { file, name: self.describe(name), buffer: Vec::new(), written: 0 })
    }

    /// A file that is nowhere and takes nothing.
    pub(crate) fn nowhere(&self, name: &str) -> Writer {
        let file = Box::new(read_only::Nowhere);
        Writer { file, name: self.describe(name), buffer: Vec::new(), written: 0 }
    }

    pub(crate) fn open(&self, name: &str) -> Result<Reader> {
        let file = self.named(name, "open", self.vfs.open(name))?;
        Ok(Reader { file, name: self.describe(name) })
    }

    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>> {
        let reader = self.open(name)?;
        let length = self.named(name, "measure", reader.file.len())?;
        let mut data = vec![0; usize::try_from(length).map_err(|_| Error::invalid("too long"))?];
        let got = self.named(name, "read", reader.file.read_at(0, &mut data))?;
        data.truncate(got);
        Ok(data)
    }

    pub(crate) fn go_on(&self) -> Result<()> {
        self.vfs.go_on().map_err(|why| Error::Stopped(Arc::new(why)))
    }

    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.named(from, "rename", self.vfs.rename(from, to))
    }

    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        self.named(name, "remove", self.vfs.remove(name))
    }

    pub(crate) fn list(&self) -> Result<Vec<String>> {
        self.named("", "list", self.vfs.list())
    }

    /// Whether a directory with this file is there; any other failure is an error.
    pub(crate) fn exists(&self, name: &str) -> Result<bool> {
        self.exists_any(|n| n == name)
    }

    /// Whether a directory with a file of such a name is there; any other failure is an error.
    pub(crate) fn exists_any(&self, such: impl Fn(&str) -> bool) -> Result<bool> {
        match self.vfs.list() {
            Ok(names) => Ok(names.iter().any(|n| such(n))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(Error::io(self.describe(""), "list", e)),
        }
    }

    pub(crate) fn sync_dir(&self) -> Result<()> {
        self.named("", "sync", self.vfs.sync_dir())
    }

    pub(crate) fn create_dir(&self) -> Result<()> {
        self.named("", "create", self.vfs.create_dir())
    }

    pub(crate) fn remove_dir(&self) -> Result<()> {
        self.named("", "remove", self.vfs.remove_dir())
    }

    pub(crate) fn lock(&self, name: &str) -> Result<Box<dyn Send + Sync>> {
        self.vfs.lock(name).map_err(|e| match e.kind() {
            io::ErrorKind::WouldBlock => Error::Locked(self.describe("")),
            _ => Error::io(self.describe(name), "lock", e),
        })
    }
}

/// Long work: asks at its begin and then about every MiB whether to go on.
pub(crate) struct Work {
    files: Files,
    until_asked: usize,
}

impl Work {
    pub(crate) fn new(files: &Files) -> Work {
        Work { files: files.clone(), until_asked: 0 }
    }

    /// So many bytes of it come next, or have been done.
    #[inline]
    pub(crate) fn of(&mut self, bytes: usize) -> Result<()> {
        if bytes < self.until_asked {
            self.until_asked -= bytes;
            return Ok(());
        }
        self.until_asked = 1 << 20;
        self.files.go_on()
    }
}

/// How much a `Writer` gathers before it asks the file layer.
const GATHER: usize = 64 << 10;

/// A file being written: gathers small appends, and knows its name for errors.
pub(crate) struct Writer {
    file: Box<dyn VFile>,
    name: String,
    buffer: Vec<u8>,
    written: u64,
}

impl Writer {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn append(&mut self, data: &[u8]) -> Result<()> {
        self.written += data.len() as u64;
        if self.buffer.len() + data.len() > GATHER {
            self.flush()?;
            if data.len() >= GATHER {
                return self.file.append(data).map_err(|e| self.failed("append to", e));
            }
        }
        self.buffer.extend_from_slice(data);
        Ok(())
    }

    /// Append and hand over at once, without a copy.
    pub(crate) fn append_now(&mut self, data: &[u8]) -> Result<()> {
        self.flush()?;
        self.written += data.len() as u64;
        self.file.append(data).map_err(|e| self.failed("append to", e))
    }

    /// Bytes appended so far.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            self.file.append(&self.buffer).map_err(|e| self.failed("append to", e))?;
            self.buffer.clear();
        }
        Ok(())
    }

    pub(crate) fn sync(&mut self) -> Result<()> {
        self.flush()?;
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

    /// Exactly `length` bytes at `offset`; the end of the file before that is damage.
    pub(crate) fn read_exact(&self, offset: u64, length: usize) -> Result<Vec<u8>> {
        let mut data = vec![0; length];
        let got = self
            .file
            .read_at(offset, &mut data)
            .map_err(|e| Error::io(self.name.clone(), "read", e))?;
        if got == length {
            return Ok(data);
        }
        let what = format!("the file ends after {got} of {length} bytes");
        Err(Error::corrupt(&self.name, offset, what))
    }
}
