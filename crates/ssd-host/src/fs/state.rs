//! Files, pages and the journal, and what is noted for each call.

use super::alloc::FreeSpace;
use super::cache::Cache;
use super::file::{File, cause_of};
use super::meta::{self, Layout};
use super::note::{CAUSES, Cause, Extent, Node, NotedRequest, Pin};
use super::{FsSettings, PAGE};
use ssd_core::host::request::{Op, flags};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Pages kept free for metadata.
const MARGIN: u64 = 8;
/// How far the pages of an open file have been read ahead.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct ReadAhead {
    pub(crate) next: u32,
    pub(crate) window: u32,
    pub(crate) end: u32,
}

pub(crate) struct State {
    pub(crate) layout: Layout,
    pub(crate) settings: FsSettings,
    pub(crate) files: Vec<Option<File>>,
    pub(crate) names: BTreeMap<String, u32>,
    /// Removed files that are still referred to, or whose removal has not been committed.
    pub(crate) removed: Vec<u32>,
    pub(crate) free: FreeSpace,
    /// Pages whose discard is under way.
    pub(crate) freeing: u64,
    /// Pages set aside for files.
    pub(crate) aside: u64,
    /// Pages that will be free once the journal does not name them.
    pub(crate) limbo: Vec<Extent>,
    /// Pages used in each page of the bitmap.
    pub(crate) used_in: Vec<u32>,
    pub(crate) bitmap: Vec<u8>,
    pub(crate) goal: u32,
    pub(crate) cache: Cache,
    pub(crate) dirty: u64,
    /// Pages that dirty pages will need.
    pub(crate) promised: u64,
    /// Pages of metadata that differ from those committed.
    pub(crate) changed: BTreeSet<u32>,
    /// Committed pages that are not at home yet.
    pub(crate) homeless: BTreeMap<u32, Vec<u8>>,
    /// Where the next transaction begins, its number, and how many pages of the journal count.
    pub(crate) head: u32,
    pub(crate) sequence: u64,
    pub(crate) used: u32,
    /// Numbers of the first and the last request of the last commit; 0 before the first commit.
    pub(crate) committing: (u64, u64),
    pub(crate) now: u64,
    pub(crate) table_cause: Cause,
    pub(crate) number: u64,
    pub(crate) writing: BTreeSet<u64>,
    pub(crate) reading: BTreeSet<u64>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) written: [u64; CAUSES],
    pub(crate) copied: [u64; CAUSES],
    pub(crate) read: [u64; CAUSES],
    pub(crate) discarded: u64,
    pub(crate) commits: u64,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) ahead: u64,
}

impl State {
    /// An empty file system that is not on the drive yet.
    pub(crate) fn new(layout: Layout, settings: FsSettings) -> State {
        let mut free = FreeSpace::default();
        free.give(Extent { start: layout.data(), pages: layout.pages - layout.data() });
        let bits = (layout.groups() - layout.bitmap()) as usize * PAGE;
        let mut state = State {
            layout,
            settings,
            files: (0..layout.files).map(|_| None).collect(),
            names: BTreeMap::new(),
            removed: Vec::new(),
            free,
            freeing: 0,
            aside: 0,
            limbo: Vec::new(),
            used_in: vec![0; bits / PAGE],
            bitmap: vec![0; bits],
            goal: layout.data(),
            cache: Cache::new(),
            dirty: 0,
            promised: 0,
            changed: BTreeSet::new(),
            homeless: BTreeMap::new(),
            head: 1,
            sequence: 1,
            used: 0,
            committing: (0, 0),
            now: 0,
            table_cause: Cause::Flush,
            number: 0,
            writing: BTreeSet::new(),
            reading: BTreeSet::new(),
            nodes: Vec::new(),
            written: [0; CAUSES],
            copied: [0; CAUSES],
            read: [0; CAUSES],
            discarded: 0,
            commits: 0,
            hits: 0,
            misses: 0,
            ahead: 0,
        };
        state.set_bits(Extent { start: 0, pages: layout.data() }, true);
        state.changed.clear();
        state
    }

    /// Write what a mount needs: the superblock.
    pub(crate) fn format(&mut self) {
        let page = meta::superblock(self.layout, 1, 1);
        let write = self.write(Extent { start: 0, pages: 1 }, flags::FUA, Cause::Home, || page);
        self.nodes.push(Node::Io(vec![write]));
    }

    /// Continue the journal that mount has read: `homeless` are its pages.
    pub(crate) fn continue_journal(
        &mut self,
        homeless: BTreeMap<u32, Vec<u8>>,
        (tail, head): (u32, u32),
        sequence: u64,
    ) {
        let length = self.layout.journal;
        (self.homeless, self.head, self.sequence) = (homeless, head, sequence);
        self.used = (head + length - tail) % length;
        self.goal = self.layout.data();
        // What a cut has left unfinished: the bitmap still contains files that are gone.
        self.changed.extend(self.layout.bitmap()..self.layout.inodes());
    }

    /// Mount has found this file.
    pub(crate) fn put(&mut self, number: u32, file: File) {
        self.names.insert(file.name.clone(), number);
        self.files[number as usize] = Some(file);
    }

    pub(crate) fn file(&self, number: u32) -> &File {
        self.files[number as usize].as_ref().expect("a handle keeps its file")
    }

    pub(crate) fn file_mut(&mut self, number: u32) -> &mut File {
        self.files[number as usize].as_mut().expect("a handle keeps its file")
    }

    pub(crate) fn data(&self, number: u32) -> &[u8] {
        &self.file(number).data
    }

    pub(crate) fn find(&self, name: &str) -> io::Result<(u32, Pin)> {
        let number = *self.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok((number, self.file(number).pin.clone()))
    }

    pub(crate) fn list(&self) -> Vec<String> {
        self.names.keys().cloned().collect()
    }

    // ------------------------------------------------------------ what is noted

    pub(crate) fn cpu(&mut self, ns: u64) {
        if let Some(Node::Cpu(before)) = self.nodes.last_mut() {
            *before += ns;
        } else if ns > 0 {
            self.nodes.push(Node::Cpu(ns));
        }
    }

    pub(crate) fn take_nodes(&mut self) -> Vec<Node> {
        std::mem::take(&mut self.nodes)
    }

    pub(crate) fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    pub(crate) fn write(
        &mut self,
        extent: Extent,
        flags: u8,
        cause: Cause,
        data: impl FnOnce() -> Vec<u8>,
    ) -> NotedRequest {
        let number = self.next_number();
        self.writing.insert(number);
        self.written[cause.at()] += u64::from(extent.pages);
        let stream = self.settings.streams.of(cause);
        let data = self.settings.keeps_data.then(data);
        debug_assert!(data.as_ref().is_none_or(|d| d.len() == extent.pages as usize * PAGE));
        NotedRequest { number, op: Op::Write, extent, flags, stream, data, _pins: Vec::new() }
    }

    /// Make what has been written durable before what follows is written, with a flush that is waited for. (A write
    /// with PREFLUSH may be on flash before what it flushes.)
    pub(crate) fn flush(&mut self) {
        if self.settings.flushes {
            let number = self.next_number();
            self.writing.insert(number);
            let (op, extent) = (Op::Flush, Extent { start: 0, pages: 0 });
            let flush = NotedRequest::without_data(number, op, extent, Vec::new());
            self.nodes.push(Node::Io(vec![flush]));
        }
    }

    /// A request has completed.
    pub(crate) fn done(&mut self, number: u64) {
        if !self.writing.remove(&number) {
            self.reading.remove(&number);
        }
    }

    /// Whether all writes with smaller numbers have completed.
    pub(crate) fn is_past(&self, number: u64) -> bool {
        self.writing.first().is_none_or(|&oldest| oldest >= number)
    }

    /// Whether none of these requests is open.
    pub(crate) fn are_done(&self, first: u64, last: u64) -> bool {
        self.writing.range(first..=last).next().is_none()
            && self.reading.range(first..=last).next().is_none()
    }

    // ------------------------------------------------------------ space

    pub(crate) fn set_bits(&mut self, extent: Extent, used: bool) {
        let layout = self.layout;
        for page in extent.start..extent.start + extent.pages {
            let group = (layout.bitmap_page(page) - layout.bitmap()) as usize;
            let count = &mut self.used_in[group];
            *count = if used { *count + 1 } else { *count - 1 };
            let (byte, bit) = (&mut self.bitmap[page as usize / 8], 1 << (page % 8));
            assert_eq!(*byte & bit == 0, used, "page {page} is allocated or freed twice");
            *byte ^= bit;
        }
        let last = layout.bitmap_page(extent.start + extent.pages - 1);
        let first = layout.bitmap_page(extent.start);
        self.changed.extend(first..=last);
        self.changed.extend(layout.group_page(first)..=layout.group_page(last));
    }

    pub(crate) fn full(&self) -> io::Error {
        let (free, promised) = (self.free.pages() + self.aside, self.promised + MARGIN);
        let total = u64::from(self.layout.pages - self.layout.data());
        io::Error::new(
            io::ErrorKind::StorageFull,
            format!(
                "the file system is full: {free} of {total} pages are free, and {promised} of them are for data not \
                 yet written back and for metadata"
            ),
        )
    }

    /// Pages that can still be promised.
    pub(crate) fn spare(&self) -> u64 {
        (self.free.pages() + self.aside).saturating_sub(self.promised + MARGIN)
    }

    pub(crate) fn freeing(&self) -> u64 {
        // Those of leaves wait for the journal to be empty, which may never be requested.
        self.freeing - self.limbo.len() as u64
    }

    /// Give back all reserved pages.
    pub(super) fn give_up_aside(&mut self) {
        for file in self.files.iter_mut().flatten() {
            if let Some(extent) = file.aside.take() {
                self.aside -= u64::from(extent.pages);
                self.free.give(extent);
            }
        }
    }

    /// Give the file `pages` more.
    pub(crate) fn grow(&mut self, number: u32, mut pages: u32) -> io::Result<()> {
        while pages > 0 {
            let file = self.files[number as usize].as_mut().expect("a handle keeps its file");
            let last = file.extents.last().map(|e| e.start + e.pages);
            let grant = match file.aside.take() {
                Some(extent) => {
                    self.aside -= u64::from(extent.pages);
                    Some(extent)
                }
                None => {
                    let most = pages.max(self.settings.set_aside_pages);
                    self.free.take(last.unwrap_or(self.goal), most)
                }
            };
            let Some(grant) = grant else {
                if self.aside == 0 {
                    return Err(self.full());
                }
                self.give_up_aside();
                continue;
            };
            let used = Extent { start: grant.start, pages: grant.pages.min(pages) };
            let rest = Extent { start: grant.start + used.pages, pages: grant.pages - used.pages };
            self.goal = rest.start + rest.pages;
            file.aside = (rest.pages > 0).then_some(rest);
            self.aside += u64::from(rest.pages);
            let extents = file.extents.len();
            match file.extents.last_mut() {
                Some(last) if last.start + last.pages == used.start => last.pages += used.pages,
                _ if extents == meta::MAX_EXTENTS => {
                    self.free.give(used);
                    let message = format!("{}: more than {} extents", file.name, meta::MAX_EXTENTS);
                    return Err(io::Error::new(io::ErrorKind::StorageFull, message));
                }
                _ => file.extents.push(used),
            }
            file.mapped += used.pages;
            pages -= used.pages;
            self.set_bits(used, true);
        }
        Ok(())
    }

    /// The pages of removed files that are no longer referred to; the commit that follows removes them on the drive.
    pub(crate) fn reap(&mut self) -> Vec<Extent> {
        let mut freed = Vec::new();
        let removed = std::mem::take(&mut self.removed);
        for number in removed {
            if Pin::strong_count(&self.file(number).pin) > 1 {
                self.removed.push(number);
                continue;
            }
            let Some(mut file) = self.files[number as usize].take() else { continue };
            self.cache.forget(number);
            if let Some(extent) = file.aside.take() {
                self.aside -= u64::from(extent.pages);
                self.free.give(extent);
            }
            if let Some(start) = file.leaf {
                // Replaying the journal would write it again.
                self.homeless.remove(&start);
                self.set_bits(Extent { start, pages: 1 }, false);
                self.freeing += 1;
                self.limbo.push(Extent { start, pages: 1 });
            }
            for extent in file.extents {
                self.set_bits(extent, false);
                self.freeing += u64::from(extent.pages);
                freed.push(extent);
            }
        }
        freed
    }

    /// Note that the drive has discarded these pages.
    pub(crate) fn freed(&mut self, extents: &[Extent]) {
        for &extent in extents {
            self.freeing -= u64::from(extent.pages);
            self.free.give(extent);
        }
    }

    // ------------------------------------------------------------ names

    pub(crate) fn touch(&mut self, number: u32) {
        self.changed.insert(self.layout.inode_page(number));
        self.changed.insert(self.layout.entry_page(number));
    }

    pub(crate) fn create(&mut self, name: &str) -> io::Result<(u32, Pin)> {
        if name.is_empty() || name.len() > meta::MAX_NAME {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        if self.names.contains_key(name) {
            self.remove(name)?;
        }
        let free = self.files.iter().position(Option::is_none);
        let number = free.ok_or_else(|| {
            let message = format!("the file system is full: {} files", self.layout.files);
            io::Error::new(io::ErrorKind::StorageFull, message)
        })? as u32;
        let file = File::new(name, cause_of(name, self.table_cause));
        let pin = file.pin.clone();
        self.files[number as usize] = Some(file);
        self.names.insert(name.to_owned(), number);
        self.touch(number);
        Ok((number, pin))
    }

    pub(crate) fn remove(&mut self, name: &str) -> io::Result<()> {
        let number = self.names.remove(name).ok_or(io::ErrorKind::NotFound)?;
        let file = self.file(number);
        let (dirty, promised) = (file.dirty_pages(), file.promised());
        self.dirty -= dirty;
        self.promised -= promised;
        let file = self.file_mut(number);
        file.removed = true;
        file.take_taken();
        self.removed.push(number);
        self.touch(number);
        Ok(())
    }

    pub(crate) fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        if !self.names.contains_key(from) {
            return Err(io::ErrorKind::NotFound.into());
        }
        if from == to {
            return Ok(());
        }
        if self.names.contains_key(to) {
            self.remove(to)?;
        }
        let number = self.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        self.names.insert(to.to_owned(), number);
        to.clone_into(&mut self.file_mut(number).name);
        self.touch(number);
        Ok(())
    }

    /// Note that nobody will append to the file any more.
    pub(crate) fn close(&mut self, number: u32) {
        if let Some(extent) = self.file_mut(number).aside.take() {
            self.aside -= u64::from(extent.pages);
            self.free.give(extent);
        }
    }

    /// Pages of the files that have a name, written back or not.
    pub(crate) fn pages_used(&self) -> u64 {
        let files = self.files.iter().flatten().filter(|file| !file.removed);
        files.map(|file| u64::from(file.mapped.max(file.size_pages()))).sum()
    }
}
