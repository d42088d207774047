//! What a group holds, as numbers: the lists by which a mount after a power cut recognizes it (ADR 0033).
//!
//! The list of a group has the admission number of each page of data, 0 where there are none, and last the number of
//! the update that programmed the parity. With the number of a page that is away from home it has the plane, so that a
//! mount knows which chip took a page along.

use super::GroupId;
use crate::ftl::Ftl;
use crate::units::{Lpn, PlaneId, Ppn};

/// Bits of a number in an entry of a list; above them is the plane of a page away from home, counted from 1.
const NUMBER_BITS: u32 = 40;

/// What a list says of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Listed {
    /// Of data their admission number, 0 if there are none; of parity the number of its update.
    pub(crate) number: u64,
    /// Where the page is, if not at home.
    pub(crate) away: Option<PlaneId>,
}

impl Listed {
    /// What `entry` of a list says.
    pub(crate) fn of(entry: u64) -> Listed {
        let plane = (entry >> NUMBER_BITS) as u32;
        Listed {
            number: entry & ((1 << NUMBER_BITS) - 1),
            away: (plane > 0).then(|| PlaneId(plane - 1)),
        }
    }

    /// The entry of a list that says so.
    pub(crate) fn entry(self) -> u64 {
        assert!(self.number >> NUMBER_BITS == 0, "{self:?} does not fit into a list");
        self.number | self.away.map_or(0, |plane| u64::from(plane.0 + 1) << NUMBER_BITS)
    }
}

impl Ftl {
    /// The number by which lists name the data on `page`: of data their admission number, of parity the number of its
    /// update. That is 0 for a parity that the device started with.
    pub(in crate::ftl) fn number_on(&self, page: Ppn) -> u64 {
        debug_assert!(!self.flash.is_torn(page), "{page:?} holds nothing");
        if self.parity_groups().is_parity(self.flash.lpn(page)) {
            let list = self.flash.lists().map(|lists| lists.get(page));
            return list.and_then(|list| list.last()).map_or(0, |&entry| Listed::of(entry).number);
        }
        self.flash.sequence(page)
    }

    /// The number by which lists name the committed data of `lpn`, on flash or lost; 0 if there are none.
    pub(crate) fn number_of(&self, lpn: Lpn) -> u64 {
        debug_assert!(lpn.0 < self.geo.logical_pages, "{lpn:?} is beyond the device");
        match self.owners.committed(lpn) {
            Some(page) if self.parity_groups().is_parity(lpn) => self.number_on(page),
            Some(page) => self.owner_sequence(lpn, page),
            None => self.lost.as_ref().and_then(|lost| lost.listed(lpn)).unwrap_or(0),
        }
    }

    /// The entry of a list for the page of `lpn` with this `number`, which is on `plane`.
    pub(crate) fn entry_of(&self, lpn: Lpn, number: u64, plane: PlaneId) -> u64 {
        let home = self.parity_groups().home(lpn);
        Listed { number, away: (plane != home).then_some(plane) }.entry()
    }

    /// The list of what `group` holds now. A lost page will be at home when it is rebuilt.
    pub(crate) fn list_of(&self, group: GroupId) -> Vec<u64> {
        debug_assert!(self.may_lose_power(), "nobody reads the list of {group:?}");
        let entry = |lpn: Lpn| match self.owners.committed(lpn) {
            Some(page) => self.entry_of(lpn, self.number_of(lpn), self.geo.plane_of(page)),
            None => self.number_of(lpn),
        };
        self.parity_groups().pages(group).map(entry).collect()
    }

    /// Write into the out-of-band area of `page`, rebuilt for `lpn`, what its group holds, if power may be cut.
    pub(crate) fn write_list_of_rebuilt(&mut self, lpn: Lpn, page: Ppn) {
        debug_assert!(self.is_lost(lpn), "{lpn:?} is on flash already");
        if self.may_lose_power() {
            let list = self.list_of(self.parity_groups().group_of(lpn));
            self.flash.set_list(page, &list);
        }
    }

    /// If `copy`, a copy of `source` by collection, carries other data than that, as its owners are others: write into
    /// its out-of-band area what the group of these data holds, if power may be cut.
    pub(crate) fn write_list_of_copy(&mut self, source: Ppn, copy: Ppn) {
        let carried = |page: Ppn| (self.flash.lpn(page), self.flash.sequence(page));
        debug_assert!(!self.flash.is_torn(copy), "{copy:?} is being programmed");
        if self.flash.lists().is_some() && carried(copy) != carried(source) {
            let list = self.list_of(self.parity_groups().group_of(self.flash.lpn(copy)));
            self.flash.set_list(copy, &list);
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
