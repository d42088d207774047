//! Frontiers that are classes of a separation policy, and the open blocks that count as room.

use super::{Origin, Space};
use crate::ftl::blocks::BlockTable;
use crate::units::{BlockId, PlaneId, PoolId};

impl Space {
    /// Whether frontiers are classes that a separation policy names.
    #[inline]
    #[must_use]
    pub fn separates(&self) -> bool {
        debug_assert!(
            self.origins.is_empty() || self.for_host == self.streams,
            "a class is closed"
        );
        !self.origins.is_empty()
    }

    /// How `block` was opened last, on a device that separates.
    #[must_use]
    pub fn origin(&self, block: BlockId) -> Origin {
        debug_assert!(self.separates(), "nobody notes how {block:?} was opened");
        self.origins[block.at()]
    }

    /// Pages that the host has written, on a device that separates.
    pub(in crate::ftl) fn clock(&self) -> u64 {
        debug_assert!(self.separates(), "nobody counts the pages of the host here");
        self.clock
    }

    /// The host writes a page, on a device that separates.
    pub(in crate::ftl) fn host_writes(&mut self) {
        debug_assert!(self.separates(), "nobody counts the pages of the host here");
        self.clock += 1;
    }

    /// The frontier of a copy that belongs to class `class` of the pool of `home`: that class if the pool has a page
    /// for it, otherwise the first other one that takes copies and has a page left in an open block. Room is counted
    /// over all of them, so there is one.
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
        let other = (self.of_host..self.streams).find(has_open);
        other.expect("the pool keeps room for its job")
    }

    /// Pages of open blocks that are not bound, without superblocks that a plane has not begun.
    #[must_use]
    pub fn open_pages(&self) -> u64 {
        let left: u64 = self.open.iter().map(|open| u64::from(open.left)).sum();
        debug_assert!(left + self.used <= self.good_pages(), "open pages are counted twice");
        left
    }

    /// The unbound pages in open blocks of frontiers that take copies are those counted as room.
    pub(in crate::ftl) fn audit_open(&self, blocks: &BlockTable) -> Result<(), String> {
        let unbound = |b: &BlockId| self.pages_per_block - u32::from(blocks.fill[b.at()].bound);
        for pool in (0..self.pools.len() as u32).map(PoolId) {
            let of_copies = self.of_host..self.streams;
            assert!(!of_copies.is_empty(), "no frontier of {pool:?} takes copies");
            let left: u32 = if self.superblock {
                let lists = of_copies.map(|stream| &self.open_supers[self.supers_at(pool, stream)]);
                lists.flatten().map(unbound).sum()
            } else {
                let planes = self.planes_of(pool);
                let open = planes.flat_map(|p| of_copies.clone().map(move |s| (p, s)));
                open.map(|(plane, stream)| self.open[self.frontier_at(plane, stream)].left).sum()
            };
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
