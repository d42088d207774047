//! The steps of a page's life without timing, for the functional executor: bind, commit and release in one
//! call, with nothing pending in between.

use super::Ftl;
use crate::memory::prefetch;
use crate::units::{BlockId, Lpn, Nanos, PlaneId, Ppn};

impl Ftl {
    /// Write `lpn` to the host frontier `stream` on `plane`. Returns the page and the one it replaces.
    #[inline]
    pub fn write_now(&mut self, plane: PlaneId, stream: u32, lpn: Lpn) -> (Ppn, Option<Ppn>) {
        self.clock += 1;
        self.blocks.now = Nanos(self.clock);
        let ppn = self.bind(plane, stream, lpn);
        let replaced = self.claim_now(lpn, ppn);
        self.settle(ppn);
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
            self.media.set_lpn(target, lpn);
            if self.media.keeps_contents() {
                self.media.copy(source, target);
            }
        }
        self.bound(block, plane, count as u16);
        self.relocate_run(sources, first);
        self.settled(block, count as u16);
        self.space.job_pages_done(self.blocks.pool_of(victim), stream, count);
        count as usize
    }

    /// The valid pages of `block` with their addresses, in `pages`; their map entries are fetched ahead
    /// of their copying.
    pub fn valid_pages_ahead(&self, block: BlockId, pages: &mut Vec<(Ppn, Lpn)>) {
        pages.clear();
        self.for_each_owned(block, |page, lpn| {
            self.owners.prefetch(lpn);
            pages.push((page, lpn));
        });
    }

    /// Prefetch the validity of the pages of `block` and the addresses in them, ahead of its collection.
    pub fn prefetch_block(&self, block: BlockId) {
        let first = self.geo.first_page(block).at();
        self.owners.prefetch_validity(Ppn(first as u32));
        for line in 0..self.geo.pages_per_block as usize / 16 {
            prefetch(self.media.lpns(), first + line * 16);
        }
    }
}
