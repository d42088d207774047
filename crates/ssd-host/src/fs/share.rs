//! Pages that one file takes over from another: a copy of the drive instead of a write.

use super::PAGE;
use super::note::{Extent, Node, Noted};
use super::state::State;
use ssd_core::host::copy::{SourceRange, encode};
use ssd_core::host::request::Op;
use std::io;

/// Sectors of a page.
const SECTORS: u64 = PAGE as u64 / 512;

impl State {
    /// Whether file `to` can take over `length` bytes of file `from` at `offset`: whole pages that are on the drive.
    fn can_share(&self, to: u32, from: u32, offset: u64, length: usize) -> bool {
        let (source, target) = (self.file(from), self.file(to));
        let whole = offset.is_multiple_of(PAGE as u64)
            && length.is_multiple_of(PAGE)
            && target.data.len().is_multiple_of(PAGE);
        let clean = u64::from(source.clean_pages()) * PAGE as u64;
        let is_clean = offset.checked_add(length as u64).is_some_and(|end| end <= clean);
        self.settings.copies && whole && is_clean && length > 0 && to != from && !target.removed
            // Pages of a removed file may never have been written back.
            && !source.removed
    }

    /// Append to `to` the bytes that `from` has at `offset`, by copies of the drive. False: nothing was done, since
    /// that cannot be.
    pub(crate) fn share(
        &mut self,
        to: u32,
        from: u32,
        offset: u64,
        bytes: &[u8],
    ) -> io::Result<bool> {
        if !self.can_share(to, from, offset, bytes.len()) {
            return Ok(false);
        }
        let start = offset as usize;
        debug_assert!(self.file(from).data[start..start + bytes.len()] == *bytes, "other bytes");
        let pages = (bytes.len() / PAGE) as u32;
        if u64::from(pages) > self.spare() {
            return Err(self.full());
        }
        self.cpu(self.settings.call_ns);
        // What is before them has its extents first: a file is written back from its beginning on.
        self.write_back(to)?;
        let first = self.file(to).size_pages();
        self.grow(to, pages)?;
        for earlier in [self.file(from).writing, self.file(to).writing] {
            if earlier.1 > 0 && !self.are_done(earlier.0, earlier.1) {
                self.nodes.push(Node::After(earlier.0, earlier.1));
            }
        }
        let before = self.number;
        let copies = self.copies(to, from, first, (start / PAGE) as u32, pages);
        self.nodes.push(Node::Io(copies));
        let range = (before + 1, self.number);
        let file = self.file_mut(to);
        file.data.extend_from_slice(bytes);
        (file.written, file.writing) = (file.data.len() as u64, range);
        self.table_bytes += bytes.len() as u64;
        self.changed.insert(self.layout.inode_page(to));
        if self.settings.cache_shared {
            self.cpu(self.settings.kib_ns * bytes.len() as u64 / 1024);
            (first..first + pages).for_each(|page| self.cache.insert(to, page, 0));
            self.shrink();
        }
        Ok(true)
    }

    /// One command for each extent of the target; its sources may lie in several ranges.
    fn copies(&mut self, to: u32, from: u32, first: u32, source: u32, pages: u32) -> Vec<Noted> {
        let (cause, pin) = (self.file(to).cause, self.file(from).pin.clone());
        let (mut copies, mut at) = (Vec::new(), source);
        for extent in self.file(to).extents_of(first, first + pages) {
            let ranges = self.file(from).extents_of(at, at + extent.pages);
            at += extent.pages;
            let number = self.next_number();
            self.writing.insert(number);
            self.copied[cause.at()] += u64::from(extent.pages);
            let data = Some(encode(&ranges.into_iter().map(sectors).collect::<Vec<_>>()));
            let (op, _pin) = (Op::Copy, Some(pin.clone()));
            copies.push(Noted { number, op, extent, flags: 0, data, _pin });
        }
        copies
    }
}

fn sectors(extent: Extent) -> SourceRange {
    let (start, pages) = (u64::from(extent.start), u64::from(extent.pages));
    SourceRange { sector: start * SECTORS, sectors: pages * SECTORS }
}
