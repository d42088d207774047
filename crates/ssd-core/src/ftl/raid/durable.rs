//! What a group holds, as numbers: the lists by which a mount after a power cut recognizes it (ADR 0033).
//!
//! The list of a group has the admission number of each page of data, 0 where there are none, and last the number of
//! the update that programmed the parity.

use super::GroupId;
use crate::ftl::Ftl;
use crate::units::{Lpn, Ppn};

impl Ftl {
    /// The number by which lists name the data on `page`: of data their admission number, of parity the number of its
    /// update. That is 0 for a parity that the device started with.
    pub(in crate::ftl) fn number_on(&self, page: Ppn) -> u64 {
        debug_assert!(!self.flash.is_torn(page), "{page:?} holds nothing");
        if self.parity_groups().is_parity(self.flash.lpn(page)) {
            let list = self.flash.lists().map(|lists| lists.get(page));
            return list.and_then(|list| list.last()).copied().unwrap_or(0);
        }
        self.flash.sequence(page)
    }

    /// The number by which lists name the committed data of `lpn`, on flash or lost; 0 if there are none.
    pub(crate) fn number_of(&self, lpn: Lpn) -> u64 {
        debug_assert!(lpn.0 < self.geo.logical_pages, "{lpn:?} is beyond the device");
        match self.owners.committed(lpn) {
            Some(page) => self.number_on(page),
            None => self.lost.as_ref().and_then(|lost| lost.listed(lpn)).unwrap_or(0),
        }
    }

    /// The list of what `group` holds now.
    pub(crate) fn list_of(&self, group: GroupId) -> Vec<u64> {
        debug_assert!(self.may_lose_power(), "nobody reads the list of {group:?}");
        self.parity_groups().pages(group).map(|lpn| self.number_of(lpn)).collect()
    }

    /// Write into the out-of-band area of `page`, rebuilt for `lpn`, what its group holds, if power may be cut.
    pub(crate) fn write_list_of_rebuilt(&mut self, lpn: Lpn, page: Ppn) {
        debug_assert!(self.is_lost(lpn), "{lpn:?} is on flash already");
        if self.may_lose_power() {
            let list = self.list_of(self.parity_groups().group_of(lpn));
            self.flash.set_list(page, &list);
        }
    }

    /// The pages that a checkpoint of this instant cannot cover, given those that updates have programmed and not
    /// committed (`landed`): these, and what has been programmed after them in their blocks.
    pub(crate) fn not_covered(&self, landed: &[Ppn]) -> Vec<Ppn> {
        let mut pages = Vec::new();
        for &first in landed {
            let (block, plane) = (self.geo.block_of(first), self.geo.plane_of(first));
            debug_assert!(!self.flash.is_torn(first), "{first:?} has not landed");
            let programmed = self.flash.programmed(block, plane);
            let numbers = (0..programmed).map(|number| self.geo.page_on(block, plane, number));
            pages.extend(numbers.filter(|&page| page >= first && !self.flash.is_torn(page)));
        }
        pages.sort_unstable();
        pages.dedup();
        pages
    }
}
