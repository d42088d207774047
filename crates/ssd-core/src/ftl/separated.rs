//! The classes of pages on a device that separates.

use super::Ftl;
use super::map::Entry;
use super::reclaim::Counts;
use super::separation::{
    Classes, Collected, Copied, Replaced, Separation, SeparationPolicy, Written, fdp,
};
use crate::units::{BlockId, Lpn, Ppn};

/// The policy, and what has been asked of it.
pub(super) struct Separated {
    policy: Separation,
    classes: Classes,
    /// What has been counted of blocks and copies, in all and before the measurement.
    pub(super) counts: Counts,
    pub(super) before: Counts,
}

impl Separated {
    pub(super) fn new(policy: Separation) -> Separated {
        let classes = policy.classes();
        assert!(classes.all > classes.host && classes.all <= 255, "{classes:?}");
        let counts = Counts::new(classes.all + 1);
        Separated { policy, classes, before: counts.clone(), counts }
    }

    /// The policy as FDP, if it is that.
    pub(super) fn fdp(&self) -> Option<&fdp::Policy> {
        debug_assert!(self.classes.all > 0, "a policy without classes");
        if let Separation::Fdp(policy) = &self.policy { Some(policy) } else { None }
    }

    pub(super) fn classes(&self) -> Classes {
        self.classes
    }
}

impl Ftl {
    /// Whether a policy separates pages.
    #[inline(always)]
    #[must_use]
    pub fn separates(&self) -> bool {
        debug_assert_eq!(self.separated.is_some(), self.space.separates(), "half of a policy");
        self.separated.is_some()
    }

    /// The class of a write of `lpn` in a request of `pages` pages and stream `stream`, which is being
    /// admitted; without separation, the stream.
    #[inline]
    pub fn class_of_write(&mut self, lpn: Lpn, stream: u8, pages: u32) -> u8 {
        if self.separated.is_none() { stream } else { self.ask_class(lpn, stream, pages) }
    }

    #[inline(never)]
    fn ask_class(&mut self, lpn: Lpn, stream: u8, pages: u32) -> u8 {
        debug_assert!(lpn.0 < self.geo.user_pages, "{lpn:?} is not the host's");
        let replaces = match self.owners.newest(lpn) {
            Entry::Page(page) => {
                let block = self.geo.block_of(page);
                let age = self.space.clock() - self.space.origin(block).opened;
                Some(Replaced { class: self.class_of_block(block), age })
            }
            Entry::Slot(_) | Entry::Unmapped => None,
        };
        let separated = self.separated.as_deref_mut().expect("the caller has checked");
        let page = Written { lpn, stream, pages, replaces, clock: self.space.clock() };
        let class = separated.policy.of_write(&page);
        assert!(class < separated.classes.all, "{page:?} is in class {class}");
        self.space.host_writes();
        class as u8
    }

    /// The class of `block`; none if wear levelling has filled it.
    fn class_of_block(&self, block: BlockId) -> Option<u32> {
        let class = self.space.origin(block).class;
        debug_assert!(class <= self.space.streams(), "{block:?} is in class {class}");
        Some(class).filter(|&class| class < self.space.streams())
    }

    /// The class of the copy of `source`, a valid page of a victim.
    pub fn class_of_copy(&mut self, source: Ppn) -> u8 {
        debug_assert!(self.owners.is_valid(source), "{source:?} is copied and has no owner");
        let class = self.class_of_block(self.geo.block_of(source));
        let separated = self.separated.as_deref_mut().expect("the device separates");
        let page = Copied { lpn: self.flash.lpn(source), class, clock: self.space.clock() };
        let class = separated.policy.of_copy(&page);
        let Classes { host, all } = separated.classes;
        assert!((host..all).contains(&class), "the copy of {page:?} is in class {class}");
        class as u8
    }

    /// A copy of class `class` is bound on `frontier`.
    pub fn note_class(&mut self, class: u8, frontier: u32) {
        let separated = self.separated.as_deref_mut().expect("the device separates");
        debug_assert!(frontier >= separated.classes.host, "a copy in class {frontier}");
        separated.counts.diverted += u64::from(frontier != u32::from(class));
    }

    /// Collection of `block` begins on a device that separates.
    pub(super) fn tell_victim(&mut self, block: BlockId) {
        let (class, opened) = (self.class_of_block(block), self.space.origin(block).opened);
        let valid = u32::from(self.blocks.valid[block.at()]);
        debug_assert!(valid <= self.geo.pages_per_block, "{block:?} has {valid} valid pages");
        let from = self.space.origin(block).class;
        let separated = self.separated.as_deref_mut().expect("the device separates");
        separated.counts.collected[from as usize] += 1;
        self.space.log_collected(block, valid, self.blocks.now);
        let clock = self.space.clock();
        if let Some(class) = class {
            separated.policy.on_collect(&Collected { class, valid, opened, clock });
        }
    }

    /// The classes, where a policy separates pages.
    #[must_use]
    pub fn classes(&self) -> Option<Classes> {
        let classes = self.separated.as_ref().map(|separated| separated.classes);
        debug_assert!(classes.is_none_or(|classes| classes.all == self.space.streams()));
        classes
    }

    /// Copies that went to another class so far, because the pool had no page for their own.
    #[must_use]
    pub fn diverted_copies(&self) -> u64 {
        self.separated.as_ref().map_or(0, |separated| separated.counts.diverted)
    }
}
