//! Files in memory: for tests, and for runs that must not use a disk.

use super::region::Region;
use super::{AppendOutcome, VFile, Vfs};
use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A directory in memory. Clones are the same directory.
#[derive(Clone, Default)]
pub struct MemoryVfs {
    inner: Arc<Mutex<Inner>>,
}

/// What `append_shared` did in a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// Calls that shared.
    pub calls: u64,
    /// Bytes that they shared.
    pub bytes: u64,
    /// Calls that copied.
    pub copied: u64,
}

#[derive(Default)]
struct Inner {
    files: BTreeMap<String, Content>,
    lock: SharedLock,
    /// `None` if nothing is shared.
    shares: Option<Arc<Mutex<Shares>>>,
}

/// Locked by one store, or shared by several.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum SharedLock {
    #[default]
    Free,
    Held,
    Shared(usize),
}

impl SharedLock {
    pub(super) fn take(&mut self) -> io::Result<()> {
        debug_assert!(*self != SharedLock::Shared(0), "the last holder frees the lock");
        if *self != SharedLock::Free {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        *self = SharedLock::Held;
        Ok(())
    }

    pub(super) fn share(&mut self) -> io::Result<()> {
        *self = SharedLock::Shared(match *self {
            SharedLock::Free => 1,
            SharedLock::Held => return Err(io::ErrorKind::WouldBlock.into()),
            SharedLock::Shared(holders) => {
                assert!(holders > 0, "the last holder frees the lock");
                holders + 1
            }
        });
        Ok(())
    }

    pub(super) fn release(&mut self) {
        assert!(*self != SharedLock::Free, "a lock is released by its holders, each once");
        assert!(*self != SharedLock::Shared(0), "the last holder frees the lock");
        *self = match *self {
            SharedLock::Shared(holders) if holders > 1 => SharedLock::Shared(holders - 1),
            _ => SharedLock::Free,
        };
    }
}

type Content = Arc<Mutex<Vec<u8>>>;

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryVfs {
    /// An empty directory.
    #[must_use]
    pub fn new() -> MemoryVfs {
        MemoryVfs::default()
    }

    /// An empty directory that shares, and counts it. What is shared comes from the other file, not from
    /// the bytes of the caller.
    #[must_use]
    pub fn sharing() -> MemoryVfs {
        let vfs = MemoryVfs::new();
        locked(&vfs.inner).shares = Some(Arc::default());
        vfs
    }

    /// What was shared so far.
    #[must_use]
    pub fn shares(&self) -> Shares {
        locked(&self.inner).shares.as_ref().map(|s| *locked(s)).unwrap_or_default()
    }

    /// All files with their contents.
    #[must_use]
    pub fn snapshot(&self) -> BTreeMap<String, Vec<u8>> {
        let inner = locked(&self.inner);
        inner.files.iter().map(|(name, content)| (name.clone(), locked(content).clone())).collect()
    }

    /// A directory with these files.
    #[must_use]
    pub fn of(files: BTreeMap<String, Vec<u8>>) -> MemoryVfs {
        debug_assert!(files.keys().all(|name| !name.is_empty()), "a file without a name");
        let contents = files.into_iter().map(|(name, data)| (name, Arc::new(Mutex::new(data))));
        let inner = Inner { files: contents.collect(), ..Inner::default() };
        MemoryVfs { inner: Arc::new(Mutex::new(inner)) }
    }
}

impl Vfs for MemoryVfs {
    fn create(&self, name: &str) -> io::Result<Box<dyn VFile>> {
        let content = Content::default();
        let mut inner = locked(&self.inner);
        inner.files.insert(name.to_owned(), content.clone());
        Ok(Box::new(Memory { content, shares: inner.shares.clone() }))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn VFile>> {
        let inner = locked(&self.inner);
        let content = inner.files.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(Arc::new(Memory { content: content.clone(), shares: None }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut inner = locked(&self.inner);

        let content = inner.files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        inner.files.insert(to.to_owned(), content);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        locked(&self.inner).files.remove(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(())
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(locked(&self.inner).files.keys().cloned().collect())
    }

    fn sync_dir(&self) -> io::Result<()> {
        Ok(())
    }

    fn create_dir(&self) -> io::Result<()> {
        Ok(())
    }

    fn remove_dir(&self) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, name: &str) -> io::Result<Box<dyn Send + Sync>> {
        let mut inner = locked(&self.inner);
        inner.lock.take()?;
        inner.files.entry(name.to_owned()).or_default();
        Ok(Box::new(Lock(self.inner.clone())))
    }

    fn lock_shared(&self, _: &str) -> io::Result<Box<dyn Send + Sync>> {
        locked(&self.inner).lock.share()?;
        Ok(Box::new(Lock(self.inner.clone())))
    }
}

struct Lock(Arc<Mutex<Inner>>);

impl Drop for Lock {
    fn drop(&mut self) {
        debug_assert!(locked(&self.0).lock != SharedLock::Free, "a lock is released once");
        locked(&self.0).lock.release();
    }
}

struct Memory {
    content: Content,
    /// The contents that the directory shares, if it shares any.
    shares: Option<Arc<Mutex<Shares>>>,
}

impl VFile for Memory {
    fn append(&mut self, data: &[u8]) -> io::Result<()> {
        locked(&self.content).extend_from_slice(data);
        Ok(())
    }

    fn append_shared(
        &mut self,
        from: &dyn VFile,
        offset: u64,
        bytes: &[u8],
    ) -> io::Result<AppendOutcome> {
        let Some(shares) = self.shares.clone() else {
            self.append(bytes)?;
            return Ok(AppendOutcome::Copied);
        };
        let shared_data = (from as &dyn Any).downcast_ref::<Memory>().and_then(|from| {
            assert!(!Arc::ptr_eq(&from.content, &self.content), "a file shares with itself");
            let start = usize::try_from(offset).ok()?;
            locked(&from.content).get(start..start.checked_add(bytes.len())?).map(<[u8]>::to_vec)
        });
        debug_assert!(
            shared_data.as_ref().is_none_or(|t| t == bytes),
            "not what the other file has"
        );
        let mut counts = locked(&shares);
        let Some(shared_data) = shared_data else {
            counts.copied += 1;
            self.append(bytes)?;
            return Ok(AppendOutcome::Copied);
        };
        locked(&self.content).extend_from_slice(&shared_data);
        counts.calls += 1;
        counts.bytes += shared_data.len() as u64;
        Ok(AppendOutcome::Shared)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let data = locked(&self.content);
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(data.len());
        let length = buffer.len().min(data.len() - start);
        buffer[..length].copy_from_slice(&data[start..start + length]);
        Ok(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(locked(&self.content).len() as u64)
    }

    /// None: a file may still grow, and blocks read through `read_at` exercise the cache.
    fn region(&self) -> Option<Arc<Region>> {
        None
    }
}
