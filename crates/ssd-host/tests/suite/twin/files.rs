//! Page cache, journal, allocation and write-back, written again from their rules (docs/simulate.md, ADR 0018): lists
//! that are searched, a page at a time. It keeps no metadata, only which of its pages are written.

use ssd_core::host::request::{Op, flags};
use ssd_host::fs::{Cause, FsCounts, FsSettings, PAGE, Streams};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

/// A longer request is split.
const LONGEST: usize = 128;
/// Pages that are never promised to data.
const MARGIN: usize = 8;

/// A request.
pub(crate) struct TwinRequest {
    pub(crate) number: u64,
    pub(crate) op: Op,
    pub(crate) start: u32,
    pub(crate) pages: u32,
    pub(crate) flags: u8,
    pub(crate) stream: u8,
    /// From where a copy comes.
    pub(crate) sources: Vec<(u32, u32)>,
    /// The files that it reads.
    pub(crate) _of: Vec<Arc<()>>,
}

/// What an actor has to do next.
pub(crate) enum Step {
    Cpu(u64),
    /// Issue them and wait for all.
    Io(Vec<TwinRequest>),
    /// Issue them.
    ReadAhead(Vec<TwinRequest>),
    /// Wait until these requests have ended.
    After(Vec<u64>),
    /// Wait until all writes with smaller numbers have ended.
    Barrier(u64),
    /// These pages are free.
    Free(Vec<u32>),
}

/// How far the pages of an open file have been read ahead.
#[derive(Default)]
pub(crate) struct ReadAhead {
    next: usize,
    window: usize,
    end: usize,
}

pub(super) struct File {
    pub(super) inode: u32,
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    /// Bytes that have been written back.
    pub(super) clean: usize,
    /// Where each page is.
    pub(super) places: Vec<u32>,
    pub(super) aside: Vec<u32>,
    pub(super) leaf: Option<u32>,
    pub(super) removed: bool,
    pub(super) cause: Cause,
    /// Who refers to it.
    pub(super) users: Arc<()>,
    /// The requests of its last write back.
    pub(super) writes: Vec<u64>,
    /// When its oldest dirty byte was appended.
    pub(super) since: u64,
    /// Dirty pages that another file has on the drive: which one, its page there, and who keeps it.
    pub(super) taken: BTreeMap<usize, (u64, usize, Arc<()>)>,
}

impl File {
    fn pages(&self) -> usize {
        self.bytes.len().div_ceil(PAGE)
    }

    fn is_dirty(&self) -> bool {
        self.clean < self.bytes.len()
    }

    /// The first dirty page: that of the first dirty byte.
    fn first_dirty(&self) -> usize {
        if self.is_dirty() { self.clean / PAGE } else { self.pages() }
    }

    fn dirty(&self) -> usize {
        self.pages() - self.first_dirty()
    }

    /// Pages that have no place yet.
    fn promised(&self) -> usize {
        self.pages().saturating_sub(self.places.len())
    }
}

/// Pages as ranges of neighbours, each of at most `longest`.
pub(super) fn ranges(pages: &[u32], longest: usize) -> Vec<(u32, u32)> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &page in pages {
        match ranges.last_mut() {
            Some((start, n)) if *start + *n == page && (*n as usize) < longest => *n += 1,
            _ => ranges.push((page, 1)),
        }
    }
    ranges
}

/// The pages of metadata, by what they describe.
pub(super) struct Places {
    pub(super) journal: u32,
    pub(super) bitmap: u32,
    pub(super) groups: u32,
    pub(super) inodes: u32,
    pub(super) entries: u32,
    pub(super) data: u32,
    pub(super) files: u32,
}

impl Places {
    fn of(pages: u32) -> Places {
        // Room for a file in each 128 KiB; inodes have 256 B, directory entries 64 B.
        let files = (pages / 32).clamp(128, 65_536).next_multiple_of(64);
        let journal = (pages / 64).clamp(64, 16_384);
        let bitmap = 1 + journal;
        let groups = bitmap + pages.div_ceil(32_768);
        let inodes = groups + (groups - bitmap).div_ceil(64);
        let entries = inodes + files / 16;
        Places { journal, bitmap, groups, inodes, entries, data: entries + files / 64, files }
    }
}

pub(crate) struct Files {
    pub(super) settings: FsSettings,
    pub(super) at: Places,
    pub(crate) now: u64,
    pub(crate) table_cause: Cause,
    /// By a number that is never used again.
    pub(super) files: BTreeMap<u64, File>,
    pub(super) next_file: u64,
    /// In the order in which they were removed.
    pub(super) removals: Vec<u64>,
    pub(super) is_free: Vec<bool>,
    /// Pages whose discard has not ended; those that the journal still names.
    pub(super) freeing: usize,
    pub(super) limbo: Vec<u32>,
    pub(super) goal: u32,
    /// Clean pages in memory, with the read that brings each; the least recently used one first.
    pub(super) cache: Vec<(u64, usize, u64)>,
    /// Pages of metadata that have changed; those that are committed and not at home.
    pub(super) changed: BTreeSet<u32>,
    pub(super) homeless: BTreeSet<u32>,
    /// Where the journal continues, and how many of its pages count.
    pub(super) head: u32,
    pub(super) used: u32,
    pub(super) number: u64,
    pub(super) open_writes: BTreeSet<u64>,
    pub(super) open_reads: BTreeSet<u64>,
    /// The requests of the last commit.
    pub(super) commit: Vec<u64>,
    pub(super) steps: Vec<Step>,
    pub(crate) counts: FsCounts,
    pub(crate) leaves_taken: u64,
}

impl Files {
    pub(crate) fn format(pages: u32, settings: FsSettings) -> Files {
        let at = Places::of(pages);
        let mut files = Files {
            settings,
            now: 0,
            table_cause: Cause::Flush,
            files: BTreeMap::new(),
            next_file: 0,
            removals: Vec::new(),
            is_free: (0..pages).map(|page| page >= at.data).collect(),
            freeing: 0,
            limbo: Vec::new(),
            goal: at.data,
            cache: Vec::new(),
            changed: BTreeSet::new(),
            homeless: BTreeSet::new(),
            head: 1,
            used: 0,
            number: 0,
            open_writes: BTreeSet::new(),
            open_reads: BTreeSet::new(),
            commit: Vec::new(),
            steps: Vec::new(),
            counts: FsCounts::default(),
            leaves_taken: 0,
            at,
        };
        let superblock = files.write((0, 1), flags::FUA, Cause::Home);
        files.steps.push(Step::Io(vec![superblock]));
        files
    }

    pub(crate) fn take_steps(&mut self) -> Vec<Step> {
        std::mem::take(&mut self.steps)
    }

    /// Consecutive processor times are merged.
    pub(crate) fn cpu(&mut self, ns: u64) {
        match self.steps.last_mut() {
            Some(Step::Cpu(before)) => *before += ns,
            _ if ns > 0 => self.steps.push(Step::Cpu(ns)),
            _ => {}
        }
    }

    fn call(&mut self, bytes: usize) {
        self.cpu(self.settings.call_ns + self.settings.kib_ns * bytes as u64 / 1024);
    }

    // ---------------------------------------------------------------- requests

    pub(super) fn request(
        &mut self,
        op: Op,
        (start, pages): (u32, u32),
        flags: u8,
        stream: u8,
    ) -> TwinRequest {
        self.number += 1;
        let open = if op == Op::Read { &mut self.open_reads } else { &mut self.open_writes };
        open.insert(self.number);
        TwinRequest {
            number: self.number,
            op,
            start,
            pages,
            flags,
            stream,
            sources: Vec::new(),
            _of: Vec::new(),
        }
    }

    /// The stream of what is written for `cause`: tables of each level have their own, if configured.
    fn stream(&self, cause: Cause) -> u8 {
        match cause {
            Cause::Flush if self.settings.streams == Streams::Levels => 1,
            Cause::Level(level) if self.settings.streams == Streams::Levels => level + 1,
            _ => 0,
        }
    }

    pub(super) fn write(&mut self, range: (u32, u32), flags: u8, cause: Cause) -> TwinRequest {
        self.counts.written[cause.at()] += u64::from(range.1);
        let stream = self.stream(cause);
        self.request(Op::Write, range, flags, stream)
    }

    pub(crate) fn done(&mut self, number: u64) {
        self.open_writes.remove(&number);
        self.open_reads.remove(&number);
    }

    pub(crate) fn is_over(&self, step: &Step) -> bool {
        match step {
            Step::After(all) => !all.iter().any(|n| self.is_open(*n)),
            Step::Barrier(number) => self.open_writes.iter().all(|open| open >= number),
            _ => true,
        }
    }

    fn is_open(&self, number: u64) -> bool {
        self.open_writes.contains(&number) || self.open_reads.contains(&number)
    }

    /// Whether one of these requests is a read that has not ended.
    pub(crate) fn has_reads(&self, numbers: &[u64]) -> bool {
        numbers.iter().any(|number| self.open_reads.contains(number))
    }

    pub(super) fn wait_for(&mut self, numbers: Vec<u64>) {
        if numbers.iter().any(|&n| self.is_open(n)) {
            self.steps.push(Step::After(numbers));
        }
    }

    /// Put everything that a volatile buffer holds on flash before what follows.
    pub(super) fn flush(&mut self) -> Option<u64> {
        if !self.settings.flushes {
            return None;
        }
        let flush = self.request(Op::Flush, (0, 0), 0, 0);
        let number = flush.number;
        self.steps.push(Step::Io(vec![flush]));
        Some(number)
    }

    // ---------------------------------------------------------------- page cache

    pub(crate) fn dirty(&self) -> usize {
        self.files.values().filter(|file| !file.removed).map(File::dirty).sum()
    }

    fn is_cached(&self, file: u64, page: usize) -> bool {
        self.cache.iter().any(|held| (held.0, held.1) == (file, page))
    }

    /// Make the page the last one to be evicted. Returns the read that brings it, if it is there.
    fn use_page(&mut self, file: u64, page: usize) -> Option<u64> {
        let at = self.cache.iter().position(|held| (held.0, held.1) == (file, page))?;
        let held = self.cache.remove(at);
        self.cache.push(held);
        Some(held.2)
    }

    fn cache(&mut self, file: u64, page: usize, read: u64) {
        if self.use_page(file, page).is_none() {
            self.cache.push((file, page, read));
        }
    }

    /// Clean and dirty pages together are at most those of the page cache; dirty ones stay.
    fn evict(&mut self) {
        let most = (self.settings.cache_pages as usize).saturating_sub(self.dirty());
        let extra = self.cache.len().saturating_sub(most);
        self.cache.drain(..extra);
    }

    pub(crate) fn append(&mut self, id: u64, bytes: &[u8]) {
        self.call(bytes.len());
        self.add(id, bytes);
    }

    fn add(&mut self, id: u64, bytes: &[u8]) {
        let file = &self.files[&id];
        let last = file.pages().wrapping_sub(1);
        if !file.is_dirty() && !file.bytes.len().is_multiple_of(PAGE) {
            // A clean page that is appended to must be in memory, and is dirty then.
            if !self.is_cached(id, last) && last < file.places.len() {
                let reads = self.read_pages(id, last, last + 1);
                self.steps.push(Step::Io(reads));
            }
            self.cache.retain(|held| (held.0, held.1) != (id, last));
        }
        let now = self.now;
        let file = self.files.get_mut(&id).expect("it is open");
        if !file.is_dirty() {
            file.since = now;
        }
        file.bytes.extend(bytes);
        assert!(self.promised() + MARGIN <= self.free_pages(), "the twin knows no full drive");
        self.evict();
    }

    /// Take over whole pages that another file has on the drive: they are copied there when the file is written back.
    /// They are not in memory unless the settings say so; then the processor has copied them.
    pub(crate) fn share(&mut self, to: u64, from: u64, offset: usize, bytes: &[u8]) -> bool {
        let (source, target) = (&self.files[&from], &self.files[&to]);
        let is_whole = [offset, bytes.len(), target.bytes.len()].iter().all(|n| n % PAGE == 0);
        let on_drive = offset / PAGE + bytes.len() / PAGE <= source.first_dirty();
        let exist = !source.removed && !target.removed && from != to;
        if !(self.settings.copies && is_whole && on_drive && exist && !bytes.is_empty()) {
            return false;
        }
        self.call(if self.settings.cache_shared { bytes.len() } else { 0 });
        let first = self.files[&to].pages();
        self.add(to, bytes);
        let users = self.files[&from].users.clone();
        let file = self.files.get_mut(&to).expect("it is open");
        for page in 0..bytes.len() / PAGE {
            file.taken.insert(first + page, (from, offset / PAGE + page, users.clone()));
        }
        true
    }

    /// The command that copies pages of other files to a range, which is that of the file from `page` on.
    fn copy(&mut self, id: u64, page: usize, range: (u32, u32)) -> TwinRequest {
        let cause = self.files[&id].cause;
        let taken = &self.files[&id].taken;
        let taken: Vec<_> = (page..page + range.1 as usize).map(|at| taken[&at].clone()).collect();
        let places: Vec<u32> =
            taken.iter().map(|(from, page, _)| self.files[from].places[*page]).collect();
        self.counts.copied[cause.at()] += u64::from(range.1);
        let stream = self.stream(cause);
        let copy = self.request(Op::Copy, range, 0, stream);
        let _of = taken.into_iter().map(|page| page.2).collect();
        TwinRequest { sources: ranges(&places, usize::MAX), _of, ..copy }
    }

    /// Reads of pages that are on the drive; not before the write back that put them there has ended.
    fn read_pages(&mut self, id: u64, from: usize, to: usize) -> Vec<TwinRequest> {
        self.wait_for(self.files[&id].writes.clone());
        let (users, cause) = (self.files[&id].users.clone(), self.files[&id].cause);
        let places = self.files[&id].places[from..to].to_vec();
        let (mut reads, mut page) = (Vec::new(), from);
        for range in ranges(&places, LONGEST) {
            let read = self.request(Op::Read, range, 0, 0);
            self.counts.read[cause.at()] += u64::from(range.1);
            for _ in 0..range.1 {
                self.cache(id, page, read.number);
                page += 1;
            }
            reads.push(TwinRequest { _of: vec![users.clone()], ..read });
        }
        reads
    }

    pub(crate) fn read(
        &mut self,
        id: u64,
        offset: usize,
        buffer: &mut [u8],
        ahead: &mut ReadAhead,
    ) -> usize {
        let file = &self.files[&id];
        let start = offset.min(file.bytes.len());
        let length = buffer.len().min(file.bytes.len() - start);
        buffer[..length].copy_from_slice(&file.bytes[start..start + length]);
        let clean = file.first_dirty();
        self.call(length);
        if length == 0 {
            return 0;
        }
        let (first, end) = (start / PAGE, (start + length).div_ceil(PAGE));
        let (mut page, mut missed) = (first, false);
        while page < end {
            if page >= clean {
                // Dirty pages are in memory.
                self.counts.hits += 1;
                page += 1;
            } else if let Some(read) = self.use_page(id, page) {
                self.counts.hits += 1;
                self.wait_for(vec![read]);
                page += 1;
            } else {
                let from = page;
                while page < end.min(clean) && !self.is_cached(id, page) {
                    page += 1;
                }
                self.counts.misses += (page - from) as u64;
                missed = true;
                let reads = self.read_pages(id, from, page);
                self.steps.push(Step::Io(reads));
            }
        }
        self.read_ahead(id, (first, end, clean), missed, ahead);
        ahead.next = end;
        self.evict();
        length
    }

    /// Read ahead as Linux does. A miss that continues the last read, or follows at least one more cached page than it
    /// asks for, doubles the window (at least 4 pages) and reads that many pages behind it. A hit in the second half of
    /// what was read ahead does the same behind that. Another miss forgets the window.
    fn read_ahead(
        &mut self,
        id: u64,
        (first, end, clean): (usize, usize, usize),
        missed: bool,
        ahead: &mut ReadAhead,
    ) {
        let most = self.settings.readahead_pages as usize;
        let goes_on = if missed {
            let behind = first.saturating_sub(end - first + 1);
            let follows = first <= ahead.next && ahead.next <= first + 1;
            follows || (behind..first).all(|page| self.is_cached(id, page))
        } else {
            ahead.window > 0 && first <= ahead.end && end + ahead.window / 2 >= ahead.end
        };
        if most == 0 || !goes_on {
            if missed {
                (ahead.window, ahead.end) = (0, 0);
            }
            return;
        }
        ahead.window = (2 * ahead.window).clamp(4, most.max(4));
        let from = if missed { end } else { end.max(ahead.end) };
        ahead.end = (from + ahead.window).min(clean);
        let mut page = from;
        while page < ahead.end {
            let first = page;
            while page < ahead.end && !self.is_cached(id, page) {
                page += 1;
            }
            if page > first {
                self.counts.ahead += (page - first) as u64;
                let reads = self.read_pages(id, first, page);
                self.steps.push(Step::ReadAhead(reads));
            }
            page += 1;
        }
    }

    // ---------------------------------------------------------------- space

    fn promised(&self) -> usize {
        self.files.values().filter(|file| !file.removed).map(File::promised).sum()
    }

    /// Free pages; some of them may be reserved.
    fn free_pages(&self) -> usize {
        let aside: usize = self.files.values().map(|file| file.aside.len()).sum();
        self.is_free.iter().filter(|&&free| free).count() + aside
    }

    /// Pages that can be promised, and those that will soon be free.
    pub(crate) fn spare(&self) -> (u64, u64) {
        let spare = self.free_pages().saturating_sub(self.promised() + MARGIN);
        (spare as u64, (self.freeing - self.limbo.len()) as u64)
    }

    /// Up to `most` free neighbours: at `goal` or behind it, otherwise the first ones.
    pub(super) fn take(&mut self, goal: u32, most: usize) -> Vec<u32> {
        let pages = self.is_free.len() as u32;
        let mut order = (goal..pages).chain(0..goal);
        let Some(first) = order.find(|&page| self.is_free[page as usize]) else {
            return Vec::new();
        };
        let taken = (first..pages).take(most).take_while(|&page| self.is_free[page as usize]);
        let taken: Vec<u32> = taken.collect();
        taken.iter().for_each(|&page| self.is_free[page as usize] = false);
        taken
    }

    /// Mark the bitmap as changed for these pages.
    pub(super) fn mark(&mut self, pages: &[u32]) {
        for page in pages {
            self.changed.insert(self.at.bitmap + page / 32_768);
            self.changed.insert(self.at.groups + page / 32_768 / 64);
        }
    }

    /// Place the next pages of a file: on what was reserved for it, otherwise behind its last page, otherwise behind
    /// what was taken last; some pages beyond those that it needs are reserved.
    fn place(&mut self, id: u64, mut needed: usize) {
        while needed > 0 {
            let file = self.files.get_mut(&id).expect("it is open");
            let mut got = std::mem::take(&mut file.aside);
            if got.is_empty() {
                let goal = file.places.last().map_or(self.goal, |last| last + 1);
                got = self.take(goal, needed.max(self.settings.set_aside_pages as usize));
            }
            if got.is_empty() {
                self.give_up_aside();
                continue;
            }
            self.goal = got[got.len() - 1] + 1;
            let rest = got.split_off(needed.min(got.len()));
            needed -= got.len();
            self.mark(&got);
            let file = self.files.get_mut(&id).expect("it is open");
            file.places.extend(got);
            file.aside = rest;
        }
    }

    fn give_up_aside(&mut self) {
        let aside: Vec<u32> =
            self.files.values_mut().flat_map(|f| std::mem::take(&mut f.aside)).collect();
        assert!(!aside.is_empty(), "the twin knows no full drive");
        aside.into_iter().for_each(|page| self.is_free[page as usize] = true);
    }

    pub(crate) fn free(&mut self, pages: &[u32]) {
        self.freeing -= pages.len();
        pages.iter().for_each(|&page| self.is_free[page as usize] = true);
    }

    // ---------------------------------------------------------------- write-back

    /// Write dirty pages back: they get their places and are written, behind the last write back of the file. They stay
    /// in memory.
    fn write_back(&mut self, id: u64) -> bool {
        let file = &self.files[&id];
        let (from, to) = (file.first_dirty(), file.pages());
        if from == to {
            return false;
        }
        let (needed, cause) = (file.promised(), file.cause);
        self.place(id, needed);
        let sources: Vec<u64> = self.files[&id].taken.values().map(|taken| taken.0).collect();
        for source in sources {
            self.wait_for(self.files[&source].writes.clone());
        }
        let (mut writes, mut page) = (Vec::new(), from);
        while page < to {
            let is_taken = |file: &File, page| file.taken.contains_key(&page);
            let copies = is_taken(&self.files[&id], page);
            let same = |&at: &usize| is_taken(&self.files[&id], at) == copies;
            let run = page..(page..to).find(|at| !same(at)).unwrap_or(to);
            if !copies || self.settings.cache_shared {
                run.clone().for_each(|page| self.cache(id, page, 0));
            }
            let longest = if copies { self.settings.copy_pages as usize } else { LONGEST };
            let places = self.files[&id].places[run].to_vec();
            for range in ranges(&places, longest) {
                writes.push(if copies {
                    self.copy(id, page, range)
                } else {
                    self.write(range, 0, cause)
                });
                page += range.1 as usize;
            }
        }
        self.wait_for(self.files[&id].writes.clone());
        let file = self.files.get_mut(&id).expect("it is open");
        file.taken.clear();
        file.writes = writes.iter().map(|write| write.number).collect();
        file.clean = file.bytes.len();
        self.changed.insert(self.at.inodes + file.inode / 16);
        self.steps.push(Step::Io(writes));
        self.evict();
        true
    }

    /// A sync ends when data and metadata of the file are durable, whoever has written them.
    pub(crate) fn sync(&mut self, id: u64) {
        self.call(0);
        if self.files[&id].removed {
            return;
        }
        if !self.write_back(id) {
            self.wait_for(self.files[&id].writes.clone());
        }
        if !self.commit_durably() {
            self.flush();
        }
    }

    /// Write back files that have been dirty for too long, or all of them if there are too many dirty pages. Then
    /// commit what has changed.
    pub(crate) fn write_back_old(&mut self) {
        let all = self.wants_write_back();
        let mut by_inode: Vec<(u32, u64)> =
            self.files.iter().map(|(&id, file)| (file.inode, id)).collect();
        by_inode.sort_unstable();
        for (_, id) in by_inode {
            let file = &self.files[&id];
            let is_old = self.now - file.since.min(self.now) >= self.settings.dirty_age_ns;
            if !file.removed && (all || is_old) {
                self.write_back(id);
            }
        }
        self.commit();
    }

    pub(crate) fn wants_write_back(&self) -> bool {
        self.dirty() > self.settings.dirty_pages as usize
    }

    // ---------------------------------------------------------------- names

    pub(crate) fn find(&self, name: &str) -> io::Result<u64> {
        let named = |(_, file): &(&u64, &File)| !file.removed && file.name == name;
        self.files.iter().find(named).map(|(&id, _)| id).ok_or(io::ErrorKind::NotFound.into())
    }

    /// Note that inode and entry of the file have changed.
    fn touch(&mut self, id: u64) {
        let inode = self.files[&id].inode;
        self.changed.insert(self.at.inodes + inode / 16);
        self.changed.insert(self.at.entries + inode / 64);
    }

    pub(crate) fn create(&mut self, name: &str) -> u64 {
        let _ = self.remove(name);
        let is_used = |inode: &u32| self.files.values().any(|file| file.inode == *inode);
        let inode = (0..self.at.files).find(|inode| !is_used(inode)).expect("an inode");
        let cause = match name {
            _ if name.ends_with(".log") => Cause::Log,
            _ if name.ends_with(".ldb") => self.table_cause,
            _ if name.starts_with("MANIFEST") => Cause::Manifest,
            _ => Cause::Other,
        };
        let id = self.next_file;
        self.next_file += 1;
        let file = File {
            inode,
            name: name.to_owned(),
            bytes: Vec::new(),
            clean: 0,
            places: Vec::new(),
            aside: Vec::new(),
            leaf: None,
            removed: false,
            cause,
            users: Arc::default(),
            writes: Vec::new(),
            since: 0,
            taken: BTreeMap::new(),
        };
        self.files.insert(id, file);
        self.touch(id);
        id
    }

    /// What has not been written back never will be. It stays in memory while a handle can read it.
    pub(crate) fn remove(&mut self, name: &str) -> io::Result<()> {
        let id = self.find(name)?;
        let file = self.files.get_mut(&id).expect("it is there");
        file.removed = true;
        file.taken.clear();
        self.removals.push(id);
        self.touch(id);
        Ok(())
    }

    pub(crate) fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let id = self.find(from)?;
        if from == to {
            return Ok(());
        }
        let _ = self.remove(to);
        to.clone_into(&mut self.files.get_mut(&id).expect("it is there").name);
        self.touch(id);
        Ok(())
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let named = self.files.values().filter(|file| !file.removed);
        let mut names: Vec<String> = named.map(|file| file.name.clone()).collect();
        names.sort_unstable();
        names
    }

    pub(crate) fn length(&self, id: u64) -> usize {
        self.files[&id].bytes.len()
    }

    /// As long as it is held, the file is referred to.
    pub(crate) fn user(&self, id: u64) -> Arc<()> {
        self.files[&id].users.clone()
    }

    /// Note that nobody appends to the file any more.
    pub(crate) fn close(&mut self, id: u64) {
        let aside = std::mem::take(&mut self.files.get_mut(&id).expect("it is open").aside);
        aside.into_iter().for_each(|page| self.is_free[page as usize] = true);
    }

    pub(crate) fn counts(&self) -> FsCounts {
        let named = self.files.values().filter(|file| !file.removed);
        let used = named.map(|file| file.places.len().max(file.pages()) as u64).sum();
        FsCounts { used, clean: self.cache.len() as u64, dirty: self.dirty() as u64, ..self.counts }
    }
}
