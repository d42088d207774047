//! A directory that is only read: every call that would change it fails.

use super::{VFile, Vfs};
use std::io;
use std::sync::Arc;

/// A read-only view of another directory.
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
pub(super) struct NullFile;

impl VFile for NullFile {
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

#[cfg(test)]
mod tests {
    use super::ReadOnlyVfs;
    use crate::vfs::{MemoryVfs, Vfs};
    use std::io;
    use std::sync::Arc;

    #[test]
    fn whatever_would_change_something_is_refused() {
        let files = [("a".to_owned(), b"held".to_vec())].into();
        let below = MemoryVfs::of(files);
        let (before, vfs) = (below.snapshot(), ReadOnlyVfs(Arc::new(below.clone())));
        let calls = [
            vfs.create("a").map(drop),
            vfs.create("b").map(drop),
            vfs.rename("a", "b"),
            vfs.remove("a"),
            vfs.sync_dir(),
            vfs.create_dir(),
            vfs.remove_dir(),
        ];
        for call in calls {
            let refusal = call.expect_err("it is refused").kind();
            assert_eq!(refusal, io::ErrorKind::ReadOnlyFilesystem);
        }
        assert_eq!(below.snapshot(), before);
        assert_eq!(vfs.open("a").and_then(|file| file.len()).expect("it is read"), 4);
    }
}
