//! Frontiers that are classes of a separation policy, and the open blocks that count as room.

use super::Space;
use crate::ftl::blocks::{BlockTable, Origin};
use crate::ftl::reclaim::{UnitEvent, UnitStep};
use crate::units::{BlockId, PlaneId, PoolId};

impl Space {
    /// Whether frontiers are classes that a separation policy names.
    #[inline]
    #[must_use]
    pub fn separates(&self) -> bool {
        debug_assert!(self.opened.is_empty() || self.for_host == self.streams, "a class is closed");
        !self.opened.is_empty()
    }

    /// Pages written (of the host, and of parity), on a device that separates.
    pub(in crate::ftl) fn clock(&self) -> u64 {
        debug_assert!(self.separates(), "nobody counts the pages written here");
        self.clock
    }

    /// Note that a page is written, on a device that separates pages.
    pub(in crate::ftl) fn page_is_written(&mut self) {
        debug_assert!(self.separates(), "nobody counts the pages written here");
        self.clock += 1;
    }

    /// Take over `clock` from a device that is being restored.
    pub(in crate::ftl) fn take_clock(&mut self, clock: u64) {
        assert!(self.separates(), "nobody counts the pages written here");
        assert_eq!(self.clock, 0, "pages have been written");
        self.clock = clock;
    }

    /// Note that `block` is opened for frontier `stream`, on a device that separates pages.
    pub(super) fn note_opened(&mut self, block: BlockId, stream: u32, blocks: &mut BlockTable) {
        debug_assert!(self.separates(), "nobody notes how {block:?} was opened");
        debug_assert!(stream < self.frontiers, "{block:?} is opened for frontier {stream}");
        blocks.origins[block.at()] = Origin { class: stream, opened: self.clock };
        self.opened[stream as usize] += 1;
        self.log_unit(UnitStep::Opened, block, 0, blocks);
    }

    /// Log that collection of `block` begins, on a device that separates pages.
    pub(in crate::ftl) fn log_collected(&mut self, block: BlockId, blocks: &BlockTable) {
        let valid = u32::from(blocks.valid[block.at()]);
        debug_assert!(valid <= self.pages_per_block, "{block:?} has {valid} valid pages");
        self.log_unit(UnitStep::Collected, block, valid, blocks);
    }

    fn log_unit(&mut self, step: UnitStep, block: BlockId, pages: u32, blocks: &BlockTable) {
        let (class, at) = (blocks.origin(block).class, blocks.now);
        debug_assert!(class < self.frontiers, "{block:?} is of frontier {class}");
        if let Some(units) = &mut self.units {
            debug_assert!(units.last().is_none_or(|last| last.at <= at), "{block:?} is late");
            units.push(UnitEvent { at, step, class, block, pages });
        }
    }

    /// Keep a log of the blocks that are opened and collected from now on.
    pub(crate) fn log_units(&mut self) {
        assert!(self.separates(), "blocks have no classes");
        self.units = Some(Vec::new());
    }

    /// The blocks opened and collected since the last call, in order.
    pub(in crate::ftl) fn take_units(&mut self) -> Vec<UnitEvent> {
        debug_assert!(self.separates() || self.units.is_none(), "a log of blocks without classes");
        self.units.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Leave an erased block in each pool to copies from now on, so that a copy always has a page in its class: one
    /// block takes the pages of any victim.
    pub(in crate::ftl) fn isolate(&mut self) {
        assert!(self.separates(), "there are no classes");
        assert_eq!(self.used, 0, "classes are isolated from the start");
        self.isolates = true;
    }

    /// Blocks opened for each frontier, and pages bound in them, on a device that separates.
    pub(in crate::ftl) fn filled(&self, blocks: &BlockTable) -> (Vec<u64>, Vec<u64>) {
        debug_assert_eq!(self.opened.len(), self.frontiers as usize, "a frontier is not counted");
        let left = self.left_by_frontier(blocks).into_iter().zip(&self.closed);
        let bound = |(&opened, (left, &closed)): (&u64, (u64, &u64))| {
            opened * u64::from(self.pages_per_block) - left - closed
        };
        (self.opened.clone(), self.opened.iter().zip(left).map(bound).collect())
    }

    /// Unbound pages in the open blocks of each frontier, on a device that separates.
    pub(super) fn left_by_frontier(&self, blocks: &BlockTable) -> Vec<u64> {
        let pools = || (0..self.pools.len() as u32).map(PoolId);
        let left =
            |stream| pools().map(|pool| u64::from(self.left(pool, stream, blocks))).sum::<u64>();
        debug_assert!(self.opened.len() <= self.frontiers as usize, "a frontier is counted twice");
        (0..self.opened.len() as u32).map(left).collect()
    }

    /// Count the blocks that are open, of a restored device that separates pages, as opened for their frontiers.
    pub(super) fn count_opened(&mut self) {
        debug_assert!(self.opened.iter().all(|&opened| opened == 0), "blocks were opened before");
        if self.superblock {
            for (list, at) in self.open_supers.iter().zip(0u32..) {
                self.opened[(at % self.frontiers) as usize] += list.len() as u64;
            }
            return;
        }
        for (open, at) in self.open.iter().zip(0u32..) {
            debug_assert!(open.left <= self.pages_on_plane, "{open:?} has too many pages");
            self.opened[(at % self.frontiers) as usize] += u64::from(open.left > 0);
        }
    }

    /// Unbound pages in the open blocks of frontier `stream` of `pool`.
    fn left(&self, pool: PoolId, stream: u32, blocks: &BlockTable) -> u32 {
        debug_assert!(stream < self.frontiers, "{pool:?} has no frontier {stream}");
        let unbound = |b: &BlockId| self.pages_per_block - u32::from(blocks.fill[b.at()].bound);
        if self.superblock {
            return self.open_supers[self.supers_at(pool, stream)].iter().map(unbound).sum();
        }
        self.planes_of(pool).map(|plane| self.open[self.frontier_at(plane, stream)].left).sum()
    }

    /// The frontier of a copy that belongs to class `class` of the pool of `home`: that class if the pool has a page
    /// for it, otherwise the first other one that takes copies and has a page left in an open block. There is one,
    /// because room is counted over all of them.
    #[must_use]
    pub fn class_with_page(&self, home: PlaneId, class: u32) -> u32 {
        debug_assert!(
            self.separates() && self.takes_copies(class),
            "class {class} takes no copies"
        );
        let pool = self.pool(home);
        if self.planes_of(pool).any(|plane| self.has_page(plane, class)) {
            return class;
        }
        let has_open = |&class: &u32| self.planes_of(pool).any(|p| self.has_open(p, class));
        let open_class = (self.of_host..self.streams).find(has_open);
        open_class.expect("the pool keeps room for its job")
    }

    /// Unbound pages of open blocks, without superblocks that a plane has not begun.
    #[must_use]
    pub fn open_pages(&self) -> u64 {
        let left: u64 = self.open.iter().map(|open| u64::from(open.left)).sum();
        debug_assert!(left + self.used <= self.good_pages(), "open pages are counted twice");
        left
    }

    /// Check that the unbound pages in open blocks of frontiers that take copies are those counted as room.
    pub(in crate::ftl) fn audit_open(&self, blocks: &BlockTable) -> Result<(), String> {
        for pool in (0..self.pools.len() as u32).map(PoolId) {
            let of_copies = self.of_host..self.streams;
            assert!(!of_copies.is_empty(), "no frontier of {pool:?} takes copies");
            let left: u32 = of_copies.map(|stream| self.left(pool, stream, blocks)).sum();
            let counted = self.gc_open(pool);
            if left != counted {
                return Err(format!(
                    "{pool:?} has {left} open pages for copies, {counted} counted"
                ));
            }
        }
        Ok(())
    }
}
