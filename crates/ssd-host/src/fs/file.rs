//! A file: its data in memory and its extents on the drive.

use super::PAGE;
use super::meta::Inode;
use super::note::{Cause, Extent, Pin};

/// Pages of the longest request.
pub(crate) const LONGEST: u32 = 128;

/// Pages of a file that has not been written back, and their owner.
#[derive(Debug)]
pub(crate) struct SharedPages {
    /// The first of them.
    pub(super) page: u32,
    pub(super) pages: u32,
    /// The file that has them on the drive, and where.
    pub(super) from: u32,
    pub(super) source: u32,
    /// Keeps them there.
    pub(super) pin: Pin,
}

impl SharedPages {
    pub(super) fn end(&self) -> u32 {
        self.page + self.pages
    }
}

/// A file.
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) data: Vec<u8>,
    pub(crate) extents: Vec<Extent>,
    /// Pages in `extents`.
    pub(crate) mapped: u32,
    /// Bytes of it that have been written back.
    pub(crate) written: u64,
    /// Pages reserved for its growth.
    pub(crate) aside: Option<Extent>,
    pub(crate) leaf: Option<u32>,
    /// Whether it has no name any more.
    pub(crate) removed: bool,
    pub(crate) cause: Cause,
    pub(crate) pin: Pin,
    /// Numbers of the requests of the last write back.
    pub(crate) writing: (u64, u64),
    /// Pages that other files have on the drive, in order; none of them has been written back.
    pub(crate) shared: Vec<SharedPages>,
    /// When the oldest bytes that have not been written back were appended, in nanoseconds.
    pub(crate) dirty_since: u64,
}

impl File {
    pub(crate) fn new(name: &str, cause: Cause) -> File {
        File {
            name: name.to_owned(),
            data: Vec::new(),
            extents: Vec::new(),
            mapped: 0,
            written: 0,
            aside: None,
            leaf: None,
            removed: false,
            cause,
            pin: Pin::default(),
            writing: (0, 0),
            shared: Vec::new(),
            dirty_since: 0,
        }
    }

    /// A file that mount has found.
    pub(crate) fn from_inode(name: String, data: Vec<u8>, inode: Inode) -> File {
        let mapped = inode.extents.iter().map(|e| e.pages).sum();
        let (written, cause) = (inode.size, cause_of(&name, Cause::Flush));
        let Inode { extents, leaf, .. } = inode;
        File { data, extents, mapped, written, leaf, ..File::new(&name, cause) }
    }

    /// What it has taken over since it was last written back.
    pub(crate) fn take_taken(&mut self) -> Vec<SharedPages> {
        std::mem::take(&mut self.shared)
    }

    pub(crate) fn size_pages(&self) -> u32 {
        self.data.len().div_ceil(PAGE) as u32
    }

    /// The first page that has not been written back; none after it has been either.
    pub(crate) fn clean_pages(&self) -> u32 {
        if self.written == self.data.len() as u64 {
            return self.size_pages();
        }
        (self.written / PAGE as u64) as u32
    }

    /// Pages that are to be written back. A removed file has none, because nobody will read it from the drive: its
    /// dirty bytes stay in memory while a handle can read them.
    pub(crate) fn dirty_pages(&self) -> u64 {
        if self.removed { 0 } else { u64::from(self.size_pages() - self.clean_pages()) }
    }

    /// Pages that it will need when it is written back.
    pub(crate) fn promised(&self) -> u64 {
        if self.removed { 0 } else { u64::from(self.size_pages().saturating_sub(self.mapped)) }
    }

    /// Where its pages `from..to` are, in extents that one request may have.
    pub(crate) fn extents_of(&self, from: u32, to: u32) -> Vec<Extent> {
        self.extents_within(from, to, LONGEST)
    }

    /// As [`File::extents_of`], in extents of at most `longest` pages.
    pub(crate) fn extents_within(&self, from: u32, to: u32, longest: u32) -> Vec<Extent> {
        assert!(0 < longest && longest <= LONGEST, "a request of {longest} pages");
        let (mut extents, mut first) = (Vec::new(), 0);
        for extent in &self.extents {
            let (low, high) = (from.max(first), to.min(first + extent.pages));
            let mut at = low;
            while at < high {
                let pages = (high - at).min(longest);
                extents.push(Extent { start: extent.start + at - first, pages });
                at += pages;
            }
            first += extent.pages;
        }
        extents
    }
}

/// The purpose of a file of this name.
pub(crate) fn cause_of(name: &str, table: Cause) -> Cause {
    match name {
        _ if name.ends_with(".log") => Cause::Log,
        _ if name.ends_with(".ldb") || name.ends_with(".sst") => table,
        _ if name.starts_with("MANIFEST") => Cause::Manifest,
        _ => Cause::Other,
    }
}
