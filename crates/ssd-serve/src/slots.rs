//! The data of pages: a sparse file of slots, one page each.

use rustix::fs::{FallocateFlags, fallocate};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// No slot: the page reads as zeros.
pub const NONE: u32 = u32::MAX;

/// A file of slots.
pub struct Slots {
    file: File,
    page_bytes: usize,
    /// Slots below `end` that hold nothing of interest; the last one is used first.
    free: Vec<u32>,
    end: u32,
}

impl Slots {
    /// The slots in the file `path`, which is created if there is none; nothing in it is of interest yet.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: &Path, page_bytes: usize) -> io::Result<Slots> {
        assert!(page_bytes > 0, "pages without bytes");
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        Ok(Slots { file, page_bytes, free: Vec::new(), end: 0 })
    }

    /// From now on these slots are of interest, and no others.
    ///
    /// # Errors
    /// The room of the others cannot be given back.
    pub fn keep_only(&mut self, used: &[u32]) -> io::Result<()> {
        let used = || used.iter().filter(|&&slot| slot != NONE);
        self.end = used().max().map_or(0, |&slot| slot + 1);
        let mut is_used = vec![false; self.end as usize];
        used().for_each(|&slot| is_used[slot as usize] = true);
        self.file.set_len(self.at(self.end))?;
        self.free = (0..self.end).rev().filter(|&slot| !is_used[slot as usize]).collect();
        self.free.iter().try_for_each(|&slot| self.punch(slot))
    }

    fn at(&self, slot: u32) -> u64 {
        u64::from(slot) * self.page_bytes as u64
    }

    /// Write a page to a slot of its own.
    ///
    /// # Errors
    /// There is no room for it, or the disk fails. Nothing has changed.
    pub fn add(&mut self, page: &[u8]) -> io::Result<u32> {
        assert_eq!(page.len(), self.page_bytes, "it is not a page");
        let slot = self.free.last().copied().unwrap_or(self.end);
        if slot == NONE {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if let Err(error) = self.file.write_all_at(page, self.at(slot)) {
            // A part of the page takes room now.
            let _ = self.punch(slot);
            return Err(error);
        }
        if self.free.pop().is_none() {
            self.end += 1;
        }
        Ok(slot)
    }

    /// Read from byte `from` of the page in `slot` on.
    ///
    /// # Errors
    /// The disk fails.
    pub fn read(&self, slot: u32, from: usize, bytes: &mut [u8]) -> io::Result<()> {
        debug_assert!(from + bytes.len() <= self.page_bytes, "beyond a page");
        if slot == NONE {
            bytes.fill(0);
            return Ok(());
        }
        debug_assert!(slot < self.end, "there is no slot {slot}");
        self.file.read_exact_at(bytes, self.at(slot) + from as u64)
    }

    /// The data in `slot` are of no interest any more; its room will be used again.
    pub fn free(&mut self, slot: u32) {
        debug_assert!(slot < self.end && !self.free.contains(&slot), "slot {slot} is free");
        self.free.push(slot);
    }

    /// Give the room of at most `most` free slots back to the disk.
    ///
    /// # Errors
    /// The disk fails.
    pub fn punch_free(&self, most: usize) -> io::Result<()> {
        self.free.iter().take(most).try_for_each(|&slot| self.punch(slot))
    }

    /// Give the room of a free slot back to the disk.
    ///
    /// # Errors
    /// The disk fails.
    pub fn punch(&self, slot: u32) -> io::Result<()> {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fallocate(&self.file, hole, self.at(slot), self.page_bytes as u64) {
            // A file system without holes keeps the room for the next page.
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
