//! Contents: appended, read, written back.

use super::PAGE;
use super::note::{Node, NotedRequest};
use super::state::{ReadAhead, State};
use ssd_core::host::request::Op;
use std::io;

impl State {
    pub(crate) fn append(&mut self, number: u32, data: &[u8]) -> io::Result<()> {
        let settings = self.settings;
        self.cpu(settings.call_ns + settings.kib_ns * data.len() as u64 / 1024);
        self.add(number, data)
    }

    /// Append these bytes to the file; they have to be written back.
    pub(super) fn add(&mut self, number: u32, data: &[u8]) -> io::Result<()> {
        let file = self.file(number);
        let before = (file.dirty_pages(), file.promised());
        let after = ((file.data.len() + data.len()).div_ceil(PAGE) as u64)
            .saturating_sub(u64::from(file.mapped));
        if !file.removed && after > before.1 && after - before.1 > self.spare() {
            return Err(self.full());
        }
        let tail = file.clean_pages().checked_sub(1);
        let clean = file.written == file.data.len() as u64;
        let partial = tail.filter(|_| clean && !file.data.len().is_multiple_of(PAGE));
        if let Some(page) = partial {
            if !self.cache.holds(number, page) && self.file(number).mapped > page {
                let reads = self.reads(number, page, page + 1);
                self.nodes.push(Node::Io(reads));
            }
            self.cache.remove(number, page);
        }
        let now = self.now;
        let file = self.file_mut(number);
        if clean {
            file.dirty_since = now;
        }
        file.data.extend_from_slice(data);
        let file = self.file(number);
        let after = (file.dirty_pages(), file.promised());
        self.dirty = self.dirty + after.0 - before.0;
        self.promised = self.promised + after.1 - before.1;
        self.shrink();
        Ok(())
    }

    fn shrink(&mut self) {
        let most = (self.settings.cache_pages as u64).saturating_sub(self.dirty);
        self.cache.shrink(most as usize);
    }

    /// Make what is noted next wait for the last write-back of a file.
    pub(super) fn after_writes_of(&mut self, number: u32) {
        self.after(self.file(number).writing);
    }

    /// Make what is noted next wait for the requests `first` to `last`, or for none if `last` is 0.
    pub(super) fn after(&mut self, (first, last): (u64, u64)) {
        debug_assert!(first <= last, "{first} to {last} are no requests");
        if last > 0 && !self.are_done(first, last) {
            self.nodes.push(Node::After(first, last));
        }
    }

    /// Requests that read pages `from..to` of a file from the drive, once the pages are there.
    fn reads(&mut self, number: u32, from: u32, to: u32) -> Vec<NotedRequest> {
        self.after_writes_of(number);
        let file = self.file(number);
        let (cause, pin) = (file.cause, file.pin.clone());
        let (mut reads, mut page) = (Vec::new(), from);
        for extent in self.file(number).extents_of(from, to) {
            let id = self.next_number();
            self.reading.insert(id);
            self.read[cause.at()] += u64::from(extent.pages);
            for page in page..page + extent.pages {
                self.cache.insert(number, page, id);
            }
            page += extent.pages;
            let (op, pins) = (Op::Read, vec![pin.clone()]);
            reads.push(NotedRequest::without_data(id, op, extent, pins));
        }
        reads
    }

    /// Fill `buffer` from `offset` on; note the pages that have to be read.
    pub(crate) fn read_at(
        &mut self,
        number: u32,
        offset: u64,
        buffer: &mut [u8],
        ahead: &mut ReadAhead,
    ) -> usize {
        let settings = self.settings;
        let file = self.file(number);
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(file.data.len());
        let length = buffer.len().min(file.data.len() - start);
        buffer[..length].copy_from_slice(&file.data[start..start + length]);
        let clean = file.clean_pages();
        self.cpu(settings.call_ns + settings.kib_ns * length as u64 / 1024);
        if length == 0 {
            return 0;
        }
        let (first, end) = ((start / PAGE) as u32, (start + length).div_ceil(PAGE) as u32);
        // Dirty pages are in memory.
        self.hits += u64::from(end - end.min(first.max(clean)));
        let (mut page, mut missed) = (first, false);
        while page < end.min(clean) {
            match self.cache.used(number, page) {
                Some(read) => {
                    self.hits += 1;
                    if read > 0 && self.reading.contains(&read) {
                        self.nodes.push(Node::After(read, read));
                    }
                    page += 1;
                }
                None => {
                    let from = page;
                    while page < end.min(clean) && !self.cache.holds(number, page) {
                        page += 1;
                    }
                    self.misses += u64::from(page - from);
                    missed = true;
                    let reads = self.reads(number, from, page);
                    self.nodes.push(Node::Io(reads));
                }
            }
        }
        if settings.readahead_pages > 0 && self.goes_on(number, (first, end), missed, ahead) {
            ahead.window = (ahead.window * 2).clamp(4, settings.readahead_pages.max(4));
            let from = if missed { end } else { end.max(ahead.end) };
            ahead.end = (from + ahead.window).min(clean);
            self.read_ahead(number, from, ahead.end);
        } else if missed {
            (ahead.window, ahead.end) = (0, 0);
        }
        ahead.next = end;
        self.shrink();
        length
    }

    /// Whether a read of these pages should start a read-ahead. As in Linux: a read that misses continues the last one,
    /// or follows more cached pages than it asks for; a read that hits is in the second half of what was read ahead.
    /// Reads further back in between change nothing.
    fn goes_on(
        &self,
        number: u32,
        (first, end): (u32, u32),
        missed: bool,
        ahead: &ReadAhead,
    ) -> bool {
        debug_assert!(first < end, "a read of no pages");
        if !missed {
            return ahead.window > 0 && first <= ahead.end && end + ahead.window / 2 >= ahead.end;
        }
        let before = first.saturating_sub(end - first + 1)..first;
        let from_last = first <= ahead.next && first + 1 >= ahead.next;
        from_last || before.into_iter().all(|page| self.cache.holds(number, page))
    }

    fn read_ahead(&mut self, number: u32, mut from: u32, to: u32) {
        while from < to {
            let first = from;
            while from < to && !self.cache.holds(number, from) {
                from += 1;
            }
            if from > first {
                self.ahead += u64::from(from - first);
                let reads = self.reads(number, first, from);
                self.nodes.push(Node::ReadAhead(reads));
            }
            from += 1;
        }
    }

    /// Write back what has not been written back. True if there was something.
    pub(crate) fn write_back(&mut self, number: u32) -> io::Result<bool> {
        let file = self.file(number);
        let (from, to) = (file.clean_pages(), file.size_pages());
        if from == to {
            return Ok(false);
        }
        let (needed, before) = (to.saturating_sub(file.mapped), file.promised());
        self.grow(number, needed)?;
        self.promised -= before;
        self.dirty -= u64::from(to - from);
        let shared = self.file_mut(number).take_taken();
        let writes = self.written_back(number, (from, to), &shared);
        self.after_writes_of(number);
        let range = (writes[0].number, self.number);
        self.nodes.push(Node::Io(writes));
        let file = self.file_mut(number);
        (file.written, file.writing) = (file.data.len() as u64, range);
        self.changed.insert(self.layout.inode_page(number));
        self.shrink();
        Ok(true)
    }

    pub(crate) fn sync(&mut self, number: u32) -> io::Result<()> {
        self.cpu(self.settings.call_ns);
        if self.file(number).removed {
            return Ok(());
        }
        if !self.write_back(number)? {
            // Perhaps written back by somebody else.
            self.after_writes_of(number);
        }
        if !self.commit_durably()? {
            self.flush();
        }
        Ok(())
    }

    /// Whether pages should be written back now.
    pub(crate) fn wants_write_back(&self) -> bool {
        self.dirty > u64::from(self.settings.dirty_pages)
    }

    /// Write back files with pages older than `age_ns`, or all if there are too many dirty pages, and commit.
    pub(crate) fn write_back_old(&mut self, age_ns: u64) -> io::Result<()> {
        let writes_all = self.wants_write_back();
        for number in 0..self.files.len() as u32 {
            let Some(file) = &self.files[number as usize] else { continue };
            let dirty = file.dirty_pages() > 0;
            if dirty && (writes_all || file.dirty_since + age_ns <= self.now) {
                self.write_back(number)?;
            }
        }
        self.commit().map(|_| ())
    }
}
