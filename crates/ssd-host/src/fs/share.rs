//! Pages that one file takes over from another: copies of the drive instead of writes, when the file is written back.

use super::PAGE;
use super::file::{LONGEST, SharedPages};
use super::note::{Extent, NotedRequest};
use super::state::State;
use ssd_core::host::copy::{SourceRange, encode};
use ssd_core::host::request::Op;
use std::io;

/// Sectors of a page.
const SECTORS: u64 = PAGE as u64 / 512;

/// The runs of pages `from..to` of a file that are taken over, or not: the end of each run, and whether it is taken
/// over.
fn runs(shared: &[SharedPages], from: u32, to: u32) -> Vec<(u32, bool)> {
    let mut runs: Vec<(u32, bool)> = Vec::new();
    let mut at = from;
    for piece in shared {
        debug_assert!(
            at <= piece.page && piece.end() <= to,
            "{piece:?} is not between {at} and {to}"
        );
        if piece.page > at {
            runs.push((piece.page, false));
        }
        at = piece.end();
        match runs.last_mut() {
            Some((end, true)) => *end = at,
            _ => runs.push((at, true)),
        }
    }
    if at < to {
        runs.push((to, false));
    }
    runs
}

impl State {
    /// Whether file `to` can take over `length` bytes of file `from` at `offset`: whole pages that are on the drive.
    fn can_share(&self, to: u32, from: u32, offset: u64, length: usize) -> bool {
        let (source, target) = (self.file(from), self.file(to));
        let is_aligned = offset.is_multiple_of(PAGE as u64)
            && length.is_multiple_of(PAGE)
            && target.data.len().is_multiple_of(PAGE);
        let clean = u64::from(source.clean_pages()) * PAGE as u64;
        let is_clean = offset.checked_add(length as u64).is_some_and(|end| end <= clean);
        self.settings.copies && is_aligned && is_clean && length > 0 && to != from && !target.removed
            // Pages of a removed file may never have been written back.
            && !source.removed
    }

    /// Append to `to` the bytes that `from` has at `offset`; the drive copies them when `to` is written back. False if
    /// that is impossible; then nothing was done.
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
        let cached = if self.settings.cache_shared { bytes.len() as u64 / 1024 } else { 0 };
        self.cpu(self.settings.call_ns + self.settings.kib_ns * cached);
        let pages = (bytes.len() / PAGE) as u32;
        let page = self.file(to).size_pages();
        self.add(to, bytes)?;
        let (source, pin) = ((start / PAGE) as u32, self.file(from).pin.clone());
        let shared = &mut self.file_mut(to).shared;
        match shared.last_mut() {
            Some(last)
                if last.end() == page
                    && last.from == from
                    && last.source + last.pages == source =>
            {
                last.pages += pages;
            }
            _ => shared.push(SharedPages { page, pages, from, source, pin }),
        }
        Ok(true)
    }

    /// Requests that write or copy pages `from..to` of a file, which have their extents. They wait for the writes of
    /// the files from which pages are taken over.
    pub(super) fn written_back(
        &mut self,
        number: u32,
        (from, to): (u32, u32),
        shared: &[SharedPages],
    ) -> Vec<NotedRequest> {
        for piece in shared {
            self.after_writes_of(piece.from);
        }
        let (mut requests, mut page) = (Vec::new(), from);
        for (end, is_taken) in runs(shared, from, to) {
            if !is_taken || self.settings.cache_shared {
                (page..end).for_each(|page| self.cache.insert(number, page, 0));
            }
            let longest = if is_taken { self.settings.copy_pages } else { LONGEST };
            for extent in self.file(number).extents_within(page, end, longest) {
                let request = if is_taken {
                    self.copy(number, page, extent, shared)
                } else {
                    self.written_pages(number, page, extent)
                };
                page += extent.pages;
                requests.push(request);
            }
            debug_assert_eq!(page, end, "the file has other extents");
        }
        requests
    }

    /// The request that writes the pages of an extent, from `page` of the file on.
    fn written_pages(&mut self, number: u32, page: u32, extent: Extent) -> NotedRequest {
        let cause = self.file(number).cause;
        let data = if self.settings.keeps_data {
            let data = &self.file(number).data;
            let (low, high) = (page as usize * PAGE, (page + extent.pages) as usize * PAGE);
            let mut pages = data[low..high.min(data.len())].to_vec();
            pages.resize(high - low, 0);
            pages
        } else {
            Vec::new()
        };
        self.write(extent, 0, cause, || data)
    }

    /// The command that copies the pages of an extent, from `page` of the file on.
    fn copy(
        &mut self,
        number: u32,
        page: u32,
        extent: Extent,
        shared: &[SharedPages],
    ) -> NotedRequest {
        let (mut ranges, mut pins) = (Vec::<SourceRange>::new(), Vec::new());
        let end = page + extent.pages;
        for piece in shared.iter().filter(|piece| piece.page < end && page < piece.end()) {
            let (low, high) = (page.max(piece.page), end.min(piece.end()));
            let source = piece.source + low - piece.page;
            for part in self.file(piece.from).extents_of(source, source + high - low) {
                let (sector, sectors) =
                    (u64::from(part.start) * SECTORS, u64::from(part.pages) * SECTORS);
                match ranges.last_mut() {
                    Some(last) if last.sector + last.sectors == sector => last.sectors += sectors,
                    _ => ranges.push(SourceRange { sector, sectors }),
                }
            }
            pins.push(piece.pin.clone());
        }
        let cause = self.file(number).cause;
        let number = self.next_number();
        self.writing.insert(number);
        self.copied[cause.at()] += u64::from(extent.pages);
        let (data, stream) = (Some(encode(&ranges)), self.settings.streams.of(cause));
        NotedRequest { number, op: Op::Copy, extent, flags: 0, stream, data, _pins: pins }
    }
}
