//! Contents of pages in a file, for devices that hold more than memory does (`run.data = "file"`).

use ssd_core::ftl::plugs::Plugs;
use ssd_core::nand::page_store::PageStore;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A sparse file in the folder for temporary files. It has no name, so nothing is left of it after the run, however
/// that ends.
#[derive(Default)]
struct PageFile {
    /// Created with the first page.
    file: Option<File>,
}

/// `plugs` for machines that keep the contents of pages in such a file.
pub(crate) fn in_files(plugs: Plugs) -> Plugs {
    plugs.with_page_store(Arc::new(|| Box::new(PageFile::default())))
}

impl PageFile {
    fn create(folder: &Path) -> Result<File, String> {
        static CREATED: AtomicU64 = AtomicU64::new(0);
        let number = CREATED.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("ssdlab-pages-{}-{number}", std::process::id()));
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
        let file = file.map_err(|e| format!("{}: {e}; set TMPDIR", path.display()))?;
        std::fs::remove_file(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(file)
    }
}

fn at(slot: u32, bytes: &[u8]) -> u64 {
    u64::from(slot) * bytes.len() as u64
}

impl PageStore for PageFile {
    fn write(&mut self, slot: u32, bytes: &[u8]) -> Result<(), String> {
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(PageFile::create(&std::env::temp_dir())?),
        };
        file.write_all_at(bytes, at(slot, bytes)).map_err(|e| {
            format!("{e} in the temporary file; set TMPDIR to a folder with enough room")
        })
    }

    fn read(&self, slot: u32, bytes: &mut [u8]) -> Result<(), String> {
        let file = self.file.as_ref().ok_or("no page has been written")?;
        file.read_exact_at(bytes, at(slot, bytes)).map_err(|e| format!("{e} in the temporary file"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_come_back() {
        let mut store = PageFile::default();
        assert!(store.read(0, &mut [0; 8]).is_err(), "nothing has been written");
        for slot in [0u32, 1, 2, 1] {
            store.write(slot, &[slot as u8 + 5; 8]).expect("there is room");
        }
        let mut page = [0; 8];
        store.read(2, &mut page).expect("it has been written");
        assert_eq!(page, [7; 8]);
        assert!(store.read(3, &mut page).is_err(), "it lies beyond the end");
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let message = PageFile::create(Path::new("nowhere")).expect_err("there is no such folder");
        assert!(message.contains("nowhere") && message.contains("TMPDIR"), "{message}");
    }
}
