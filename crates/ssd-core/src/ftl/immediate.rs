//! The steps of a page's life without timing, for the functional executor: bind, commit and release in one
//! call, with nothing pending in between.

use super::Ftl;
use super::blocks::BlockState;
use super::owners::of_block::ValidPages;
use crate::memory::prefetch;
use crate::units::{BlockId, Lpn, Nanos, PlaneId, Ppn};

impl Ftl {
    /// Write `lpn` to the host frontier `stream` on `plane`. Returns the page and the one it replaces.
    #[inline]
    pub fn write_now(&mut self, plane: PlaneId, stream: u32, lpn: Lpn) -> (Ppn, Option<Ppn>) {
        debug_assert!(lpn.0 < self.geo.logical_pages, "{lpn:?} is beyond the device");
        debug_assert!(
            self.space.host_may_bind(plane, stream),
            "{plane:?} has no page for the host"
        );
        self.clock += 1;
        self.blocks.now = Nanos(self.clock);
        let ppn = self.bind(plane, stream);
        self.flash.end_program(ppn, lpn);
        let block = self.geo.block_of(ppn);
        let replaced = self.claim_now::<true>(lpn, ppn, block);
        self.settled(block, 1);
        debug_assert_eq!(self.blocks.fill[block.at()].pending, 0, "{block:?} has programs pending");
        debug_assert_eq!(
            self.owners.newest(lpn),
            super::map::Entry::Page(ppn),
            "{lpn:?} is elsewhere"
        );
        (ppn, replaced)
    }

    /// Whether [`Ftl::write_open`] may be used.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        let is_single = self.geo.members == 1 && self.groups.is_none();
        self.space.is_plain() && is_single && !self.flash.keeps_contents()
    }

    /// Write `lpn` to the open block of the host frontier `stream` on `plane`, if it has one, of a plain device.
    /// Returns the page that it replaces, and whether a block of the pool may have been opened since the last
    /// [`super::space::Space::take_opened`].
    #[inline(always)]
    pub fn write_open(
        &mut self,
        plane: PlaneId,
        stream: u32,
        lpn: Lpn,
    ) -> Option<(Option<Ppn>, bool)> {
        debug_assert!(self.is_plain(), "a page of this device has more than one step");
        let (block, eventful) = self.space.take_open(plane, stream)?;
        debug_assert_eq!(self.geo.first_plane(block), plane, "{block:?} is on another plane");
        debug_assert!(self.blocks.state[block.at()] == BlockState::Open, "{block:?} is not open");
        self.clock += 1;
        self.blocks.now = Nanos(self.clock);
        let ppn = self.flash.program_plain(&self.geo, block, lpn);
        // Bound and settled at once, so nothing is ever pending.
        self.blocks.fill[block.at()].bound += 1;
        debug_assert!(self.blocks.fill[block.at()].pending == 0, "{block:?} has programs pending");
        debug_assert!(
            eventful || self.blocks.fill[block.at()].bound < self.blocks.pages_per_block,
            "{block:?} is full and stays open"
        );
        let replaced = self.claim_now::<false>(lpn, ppn, block);
        if eventful && self.blocks.fill[block.at()].bound == self.blocks.pages_per_block {
            self.seal(block);
        }
        Some((replaced, eventful))
    }

    /// Copy valid pages of `victim` to frontier `stream` (of GC or of wear levelling) on `plane`: as many of `sources`
    /// (its remaining valid pages) as fit into the open block. Returns their number.
    pub fn copy_now(
        &mut self,
        sources: ValidPages<'_>,
        victim: BlockId,
        plane: PlaneId,
        stream: u32,
    ) -> usize {
        let requested = sources.pages.len() as u32;
        debug_assert!(stream >= self.space.gc_stream(), "frontier {stream} is the host's");
        debug_assert_eq!(sources.pages.len(), sources.lpns.len(), "pages without addresses");
        debug_assert!(
            self.blocks.state[victim.at()] == BlockState::Collecting,
            "{victim:?} is in use"
        );
        let (block, count) = self.space.frontier_run(plane, stream, requested, &mut self.blocks);
        debug_assert!(
            count > 0 && count <= requested,
            "{block:?} takes {count} pages of {requested}"
        );
        debug_assert_ne!(block, victim, "copies stay in their block");
        let sources = sources.first(count as usize);
        let page = self.flash.program_run(&self.geo, block, plane, count);
        let first = self.geo.page_on(block, plane, page);
        // More than one only if pages of a block are consecutive.
        self.flash.set_lpns(first, sources.lpns);
        if self.flash.keeps_contents() {
            for (&source, target) in sources.pages.iter().zip(first.0..) {
                self.flash.copy(source, Ppn(target));
            }
        }
        self.bound(block, plane, count as u16);
        self.relocate_run(sources, first);
        self.settled(block, count as u16);
        debug_assert_eq!(self.blocks.fill[block.at()].pending, 0, "{block:?} has programs pending");
        self.space.job_pages_done(self.blocks.pool_of(victim), stream, count);
        count as usize
    }

    /// Prefetch the validity of the pages of `block` and the addresses in them before it is collected.
    pub fn prefetch_block(&self, block: BlockId) {
        debug_assert!(block.at() < self.blocks.len(), "there is no {block:?}");
        let first = self.geo.first_page(block).at();
        self.owners.prefetch_validity(Ppn(first as u32));
        for line in 0..self.geo.pages_per_block as usize / 16 {
            prefetch(self.flash.lpns(), first + line * 16);
        }
    }
}
