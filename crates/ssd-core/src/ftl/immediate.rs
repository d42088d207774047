//! The steps of a page's life without timing, for the functional executor: bind, commit and release in one
//! call, with nothing pending in between.

use super::Ftl;
use super::map::Entry;
use crate::memory::prefetch;
use crate::units::{BlockId, Lpn, Nanos, PlaneId, Ppn};

impl Ftl {
    /// Write `lpn` to the host frontier `stream` on `plane`. Returns the page and the one it replaces.
    #[inline]
    pub fn write_now(&mut self, plane: PlaneId, stream: u32, lpn: Lpn) -> (Ppn, Option<Ppn>) {
        self.clock += 1;
        self.blocks.now = Nanos(self.clock);
        let (block, ppn) = self.program_now(plane, stream, lpn);
        self.map.mark(ppn);
        self.valid_pages += 1;
        let old = self.map.get(lpn);
        self.map.set(lpn, Entry::Page(ppn));
        let replaced = match old {
            Entry::Page(old) => {
                self.release(old);
                Some(old)
            }
            Entry::Unmapped => None,
            Entry::Slot(_) => unreachable!("nothing is in flight in functional mode"),
        };
        self.seal_if_full(block, plane);
        (ppn, replaced)
    }

    /// Copy valid pages of `victim` to frontier `stream` (that of GC or of wear levelling) on `plane`: as
    /// many of `sources` (all its valid pages from the first of them on, with their addresses) as the open
    /// block takes. Returns their number.
    pub fn copy_now(
        &mut self,
        sources: &[(Ppn, Lpn)],
        victim: BlockId,
        plane: PlaneId,
        stream: u32,
    ) -> usize {
        let wanted = sources.len() as u32;
        let (block, count) = self.space.frontier_run(plane, stream, wanted, &mut self.blocks);
        let page = self.media.program_run(&self.geo, block, plane, count);
        let first = self.geo.page_on(block, plane, page);
        let sources = &sources[..count as usize];
        for (i, &(source, lpn)) in sources.iter().enumerate() {
            // More than one only if pages of a block are consecutive.
            let target = Ppn(first.0 + i as u32);
            debug_assert_eq!(self.map.get(lpn), Entry::Page(source), "{lpn:?} is elsewhere");
            self.media.set_lpn(target, lpn);
            self.map.set(lpn, Entry::Page(target));
            if self.media.keeps_contents() {
                self.media.copy(source, target);
            }
        }
        let (&(from, _), &(to, _)) = (&sources[0], &sources[sources.len() - 1]);
        assert_eq!(self.map.unmark_range(from, to), count, "{victim:?} has other valid pages");
        self.map.mark_range(first, count);
        self.blocks.bound[block.at()] += count as u16;
        self.blocks.valid[block.at()] += count as u16;
        self.blocks.valid[victim.at()] -= count as u16;
        self.space.job_pages_done(self.blocks.pool_of(victim), stream, count);
        self.seal_if_full(block, plane);
        count as usize
    }

    /// Program the next page of a frontier with data that the caller marks as valid.
    #[inline]
    pub(super) fn program_now(&mut self, plane: PlaneId, stream: u32, lpn: Lpn) -> (BlockId, Ppn) {
        let block = self.space.frontier(plane, stream, &mut self.blocks);
        let ppn = self.media.program(&self.geo, block, plane, lpn);
        self.blocks.bound[block.at()] += 1;
        self.blocks.valid[block.at()] += 1;
        (block, ppn)
    }

    #[inline(always)]
    fn seal_if_full(&mut self, block: BlockId, plane: PlaneId) {
        if self.blocks.bound[block.at()] == self.blocks.pages_per_block {
            self.space.fully_bound(block, plane);
            self.seal(block);
        }
    }

    /// Put the valid pages of `block` into `pages`, with their addresses, and prefetch the map entries that
    /// copying them will access.
    pub fn valid_pages_ahead(&self, block: BlockId, pages: &mut Vec<(Ppn, Lpn)>) {
        pages.clear();
        let first = self.geo.first_page(block);
        let end = Ppn(first.0 + self.geo.pages_per_block);
        self.map.for_each_valid(first, end, |page| {
            let lpn = self.media.lpn(page);
            self.map.prefetch(lpn);
            pages.push((page, lpn));
        });
    }

    /// Prefetch the validity of the pages of `block` and the addresses in them, ahead of its collection.
    pub fn prefetch_block(&self, block: BlockId) {
        let first = self.geo.first_page(block).at();
        self.map.prefetch_validity(Ppn(first as u32));
        for line in 0..self.geo.pages_per_block as usize / 16 {
            prefetch(self.media.lpns(), first + line * 16);
        }
    }
}
