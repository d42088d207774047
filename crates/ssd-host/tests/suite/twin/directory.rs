//! The twin's files as the store sees them.

use super::files::{Files, ReadAhead};
use ssd_host::fs::FsSettings;
use ssd_kv::vfs::{AppendOutcome, VFile, Vfs};
use std::any::Any;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone)]
pub(crate) struct Directory(Arc<Mutex<Files>>);

struct Handle {
    directory: Directory,
    file: u64,
    _user: Arc<()>,
    ahead: Mutex<ReadAhead>,
    writes: bool,
}

impl Directory {
    pub(crate) fn format(pages: u32, settings: FsSettings) -> Directory {
        Directory(Arc::new(Mutex::new(Files::format(pages, settings))))
    }

    pub(crate) fn files(&self) -> MutexGuard<'_, Files> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handle(&self, file: u64, writes: bool) -> Handle {
        let user = self.files().user(file);
        Handle { directory: self.clone(), file, _user: user, ahead: Mutex::default(), writes }
    }
}

impl Vfs for Directory {
    fn create(&self, name: &str) -> io::Result<Box<dyn VFile>> {
        let file = self.files().create(name);
        Ok(Box::new(self.handle(file, true)))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn VFile>> {
        let file = self.files().find(name)?;
        Ok(Arc::new(self.handle(file, false)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.files().rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.files().remove(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.files().names())
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.files().commit_durably();
        Ok(())
    }

    fn create_dir(&self) -> io::Result<()> {
        Ok(())
    }

    fn remove_dir(&self) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, name: &str) -> io::Result<Box<dyn Send + Sync>> {
        self.files().create(name);
        Ok(Box::new(()))
    }

    fn lock_shared(&self, name: &str) -> io::Result<Box<dyn Send + Sync>> {
        self.lock(name)
    }
}

impl VFile for Handle {
    fn append(&mut self, data: &[u8]) -> io::Result<()> {
        self.directory.files().append(self.file, data);
        Ok(())
    }

    fn append_shared(
        &mut self,
        from: &dyn VFile,
        offset: u64,
        bytes: &[u8],
    ) -> io::Result<AppendOutcome> {
        let source = (from as &dyn Any).downcast_ref::<Handle>().expect("a file of the twin");
        let mut files = self.directory.files();
        if files.share(self.file, source.file, offset as usize, bytes) {
            return Ok(AppendOutcome::Shared);
        }
        files.append(self.file, bytes);
        Ok(AppendOutcome::Copied)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut ahead = self.ahead.lock().expect("one thread");
        let offset = usize::try_from(offset).expect("a small file");
        Ok(self.directory.files().read(self.file, offset, buffer, &mut ahead))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.directory.files().sync(self.file);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.directory.files().length(self.file) as u64)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.writes {
            self.directory.files().close(self.file);
        }
    }
}
