//! Files of the operating system: the only file of this crate that touches `std::fs`.

use super::memory::{SharedLock, locked};
use super::region::{Region, lock_file, share_range};
use super::{AppendOutcome, VFile, Vfs};
use std::any::Any;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex};

/// A directory on disk.
pub struct PosixVfs {
    folder: PathBuf,
    go_on: Option<Box<ContinueCheck>>,
    /// Whether and how files share storage; None: they do not.
    reflinks: Option<Arc<Reflinks>>,
}

/// Whether the file system of a directory shares storage, as far as it is known.
#[derive(Default)]
struct Reflinks {
    /// Why it does not, once that is known.
    refused: Mutex<Option<String>>,
}

impl Reflinks {
    fn are_refused(&self) -> bool {
        locked(&self.refused).is_some()
    }

    /// Note what the file system answered, if it means that it never shares.
    fn failed(&self, error: &io::Error) {
        let never = [libc::EOPNOTSUPP, libc::ENOTTY, libc::ENOSYS, libc::EXDEV, libc::EINVAL];
        let never = error.raw_os_error().is_none_or(|code| never.contains(&code));
        if never {
            *locked(&self.refused) = Some(format!("the file system has no reflinks ({error})"));
        }
    }
}

type ContinueCheck = dyn Fn() -> io::Result<()> + Send + Sync;

impl PosixVfs {
    /// The directory `folder`; it need not exist.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> PosixVfs {
        PosixVfs { folder: folder.into(), go_on: None, reflinks: None }
    }

    /// As `new`; `append_shared` shares by reflinks where the file system has them.
    #[must_use]
    pub fn reflinking(self) -> PosixVfs {
        PosixVfs { reflinks: Some(Arc::default()), ..self }
    }

    /// As `new`; `go_on` decides whether long work continues.
    #[must_use]
    pub fn asking(self, go_on: impl Fn() -> io::Result<()> + Send + Sync + 'static) -> PosixVfs {
        assert!(self.go_on.is_none(), "two answers to one question");
        PosixVfs { go_on: Some(Box::new(go_on)), ..self }
    }

    /// Open a regular file for reading. Anything else of that name is refused: a pipe could block its reader forever.
    fn opened(&self, name: &str) -> io::Result<File> {
        let mut options = OpenOptions::new();
        let file = options.read(true).custom_flags(libc::O_NONBLOCK).open(self.path(name))?;
        match file.metadata()?.file_type() {
            kind if kind.is_file() => Ok(file),
            kind if kind.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            _ => Err(io::Error::other("expected a regular file")),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        assert!(!name.is_empty() && !name.contains(['/', '\0']), "{name:?} is not a flat name");
        self.folder.join(name)
    }
}

impl Vfs for PosixVfs {
    fn create(&self, name: &str) -> io::Result<Box<dyn VFile>> {
        let file = File::create(self.path(name))?;
        Ok(Box::new(WritableFile { file, reflinks: self.reflinks.clone() }))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn VFile>> {
        let file = self.opened(name)?;
        let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        // A file system that cannot map is read instead.
        let region = Region::map(file.as_raw_fd(), length).ok().map(Arc::new);
        let mapped = region.as_ref().map_or(length, |region| region.len());
        assert_eq!(mapped, length, "a mapping has all of the file");
        Ok(Arc::new(ReadableFile { file, region }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            // A name that is not text is none of ours.
            names.extend(entry?.file_name().into_string());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn sync_dir(&self) -> io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }

    fn create_dir(&self) -> io::Result<()> {
        if self.folder.is_dir() {
            return Ok(());
        }
        fs::create_dir(&self.folder)?;
        match self.folder.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
            _ => File::open(".")?.sync_all(),
        }
    }

    fn remove_dir(&self) -> io::Result<()> {
        fs::remove_dir(&self.folder)
    }

    fn lock(&self, name: &str) -> io::Result<Box<dyn Send + Sync>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        self.lock_as(SharedLock::take, || {
            let file = options.open(self.path(name))?;
            lock_file(file.as_raw_fd(), true)?;
            Ok(Some(file))
        })
    }

    fn lock_shared(&self, name: &str) -> io::Result<Box<dyn Send + Sync>> {
        self.lock_as(SharedLock::share, || match self.opened(name) {
            Ok(file) => lock_file(file.as_raw_fd(), false).map(|()| Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        })
    }

    fn go_on(&self) -> io::Result<()> {
        self.go_on.as_ref().map_or(Ok(()), |go_on| go_on())
    }

    fn why_copied(&self) -> Option<String> {
        self.reflinks.as_ref().and_then(|reflinks| locked(&reflinks.refused).clone())
    }

    fn describe(&self, name: &str) -> String {
        // Messages also contain names that no store would open.
        let path = if name.is_empty() { self.folder.clone() } else { self.folder.join(name) };
        // A message has one line, even if the name of the folder has several.
        let text = path.display().to_string();
        if text.contains(char::is_control) { text.escape_debug().to_string() } else { text }
    }
}

impl PosixVfs {
    /// The lock of the system belongs to the process and is released when any of its handles of the file is
    /// closed. So stores within the process exclude each other here, and share one handle.
    fn lock_as(
        &self,
        take: impl FnOnce(&mut SharedLock) -> io::Result<()>,
        open: impl FnOnce() -> io::Result<Option<File>>,
    ) -> io::Result<Box<dyn Send + Sync>> {
        let folder = self.folder.canonicalize()?;
        let mut locks = locked(&HELD);
        assert!(
            locks.values().all(|(lock, _)| *lock != SharedLock::Free),
            "a folder is listed while it is locked"
        );
        let (lock, file) = locks.entry(folder.clone()).or_default();
        let was_free = *lock == SharedLock::Free;
        assert!(!was_free || file.is_none(), "a lock of the system that nobody holds");
        take(lock)?;
        assert!(*lock != SharedLock::Free, "a lock that was taken is held");
        // Whatever fails from here on is released again.
        let holder = Box::new(Lock { folder });
        if was_free {
            match open() {
                Ok(opened) => *file = opened,
                Err(error) => {
                    drop(locks);
                    return Err(error);
                }
            }
        }
        Ok(holder)
    }
}

/// The locked folders, each with the file that holds the lock of the system.
static HELD: LazyLock<Mutex<Locks>> = LazyLock::new(Mutex::default);

type Locks = BTreeMap<PathBuf, (SharedLock, Option<File>)>;

struct Lock {
    folder: PathBuf,
}

impl Drop for Lock {
    fn drop(&mut self) {
        let mut locks = locked(&HELD);
        debug_assert!(locks.contains_key(&self.folder), "a folder is listed while it is locked");
        if let Some((lock, _)) = locks.get_mut(&self.folder) {
            lock.release();
            if *lock == SharedLock::Free {
                locks.remove(&self.folder);
            }
        }
    }
}

struct WritableFile {
    file: File,
    reflinks: Option<Arc<Reflinks>>,
}

impl VFile for WritableFile {
    fn append(&mut self, data: &[u8]) -> io::Result<()> {
        self.file.write_all(data)
    }

    fn append_shared(
        &mut self,
        from: &dyn VFile,
        offset: u64,
        bytes: &[u8],
    ) -> io::Result<AppendOutcome> {
        let from = (from as &dyn Any).downcast_ref::<ReadableFile>();
        if let (Some(reflinks), Some(from)) = (&self.reflinks, from)
            && !bytes.is_empty()
            && !reflinks.are_refused()
        {
            let at = self.file.stream_position()?;
            let (to, length) = ((self.file.as_raw_fd(), at), bytes.len() as u64);
            match share_range(to, (from.file.as_raw_fd(), offset), length) {
                Ok(()) => {
                    self.file.seek(SeekFrom::Start(at + length))?;
                    return Ok(AppendOutcome::Shared);
                }
                // Nothing was shared: the bytes are written instead.
                Err(error) => reflinks.failed(&error),
            }
        }
        self.append(bytes)?;
        Ok(AppendOutcome::Copied)
    }

    fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}

struct ReadableFile {
    file: File,
    region: Option<Arc<Region>>,
}

impl VFile for ReadableFile {
    fn append(&mut self, _: &[u8]) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut count = 0;
        while count < buffer.len() {
            match self.file.read_at(&mut buffer[count..], offset + count as u64) {
                Ok(0) => break,
                // A system may return less than requested, even before the end.
                Ok(n) => count += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(count)
    }

    fn sync(&mut self) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn region(&self) -> Option<Arc<Region>> {
        self.region.clone()
    }
}
