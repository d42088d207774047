//! A directory that is only read: all that would change it fails.

use super::{VFile, Vfs};
use std::io;
use std::sync::Arc;

/// Another directory, to be read only.
pub(crate) struct ReadOnlyVfs(pub(crate) Arc<dyn Vfs>);

fn refused<T>() -> io::Result<T> {
    Err(io::ErrorKind::ReadOnlyFilesystem.into())
}

impl Vfs for ReadOnlyVfs {
    fn create(&self, _: &str) -> io::Result<Box<dyn VFile>> {
        refused()
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn VFile>> {
        self.0.open(name)
    }

    fn rename(&self, _: &str, _: &str) -> io::Result<()> {
        refused()
    }

    fn remove(&self, _: &str) -> io::Result<()> {
        refused()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.0.list()
    }

    fn sync_dir(&self) -> io::Result<()> {
        refused()
    }

    fn create_dir(&self) -> io::Result<()> {
        refused()
    }

    fn remove_dir(&self) -> io::Result<()> {
        refused()
    }

    fn lock(&self, name: &str) -> io::Result<Box<dyn Send + Sync>> {
        self.lock_shared(name)
    }

    fn lock_shared(&self, name: &str) -> io::Result<Box<dyn Send + Sync>> {
        self.0.lock_shared(name)
    }

    fn go_on(&self) -> io::Result<()> {
        self.0.go_on()
    }

    fn describe(&self, name: &str) -> String {
        self.0.describe(name)
    }
}

/// The log of a store that takes no writes.
pub(super) struct Nowhere;

impl VFile for Nowhere {
    fn append(&mut self, _: &[u8]) -> io::Result<()> {
        refused()
    }

    fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<usize> {
        Ok(0)
    }

    fn sync(&mut self) -> io::Result<()> {
        refused()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(0)
    }
}
