//! The steps of pages with several owners: *share*, and the others where a page may have more than one.
//!
//! The owners of a page are the LPN in its out-of-band area, if the page is its committed one, and those in the side
//! table. The LPN in the out-of-band area is never in the side table, so an LPN that leaves and returns counts once.

use super::of_block::ValidPages;
use super::side_table::SideTable;
use super::{Claim, Owners};
use crate::ftl::Ftl;
use crate::ftl::map::Entry;
use crate::units::{BlockId, Lpn, OpSlot, Ppn};

/// What became of the previous page of an LPN that now shares another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShareOutcome {
    /// Where the newest data of the LPN were.
    pub newest: Entry,
    /// Its committed page before.
    pub before: Option<Ppn>,
}

impl Owners {
    /// Owners beyond the first of every page.
    #[must_use]
    pub fn extra_owners(&self) -> u64 {
        debug_assert!(self.mapped() >= self.valid_pages, "pages are valid without an owner");
        self.mapped() - self.valid_pages
    }

    /// Logical pages with a committed page.
    #[must_use]
    pub fn mapped(&self) -> u64 {
        let mapped = self.valid_pages + self.side().map_or(0, |side| side.further);
        debug_assert!(mapped <= u64::from(self.logical_pages()), "{mapped} pages are mapped");
        mapped
    }

    /// Bytes held for further owners.
    #[must_use]
    pub fn side_table_bytes(&self) -> usize {
        self.side().map_or(0, |side| side.table.bytes_held())
    }

    /// Whether a page has ever been shared.
    #[inline(always)]
    pub(in crate::ftl) fn shares(&self) -> bool {
        self.side().is_some()
    }

    /// Further owners, if a page has ever been shared.
    #[inline(always)]
    pub(super) fn side(&self) -> Option<&Side> {
        self.extras.as_ref()?.side.as_ref()
    }

    fn side_mut(&mut self) -> Option<&mut Side> {
        self.extras.as_mut()?.side.as_mut()
    }

    /// Further owners, from now on.
    pub(super) fn begin_sharing(&mut self) -> &mut Side {
        self.extras.get_or_insert_default().side.get_or_insert_default()
    }

    /// All owners of `page`, of which `carried` is in its out-of-band area: that one first, the others ascending.
    pub(super) fn owners(&self, page: Ppn, carried: Lpn) -> impl Iterator<Item = Lpn> + '_ {
        debug_assert_ne!(page, Ppn::NONE, "owners of no page");
        let first = self.owns(carried, page).then_some(carried);
        first.into_iter().chain(self.side().into_iter().flat_map(move |side| side.table.lpns(page)))
    }

    /// Whether `page` is the committed page of `lpn`.
    fn owns(&self, lpn: Lpn, page: Ppn) -> bool {
        lpn.0 < self.map.len() && self.committed(lpn) == Some(page)
    }

    /// Move `lpn`, which is on `source`, perhaps under a slot, to `target`.
    fn moves(&mut self, lpn: Lpn, source: Ppn, target: Ppn) {
        if !self.map.moves(lpn, source, target) {
            self.moves_under(lpn, source, target);
        }
        debug_assert_eq!(self.committed(lpn), Some(target), "{lpn:?} has not moved");
    }
}

/// Further owners, and their number. A page that the LPN in its out-of-band area has left has one owner fewer than
/// pairs.
#[derive(Clone, Default)]
pub(super) struct Side {
    pub(super) table: SideTable,
    /// Mapped logical pages beyond the number of valid pages.
    pub(super) further: u64,
}

impl Ftl {
    /// The owners of a valid page.
    pub fn owners_of(&self, page: Ppn) -> impl Iterator<Item = Lpn> + '_ {
        debug_assert!(self.owners.is_valid(page), "{page:?} holds no live data");
        self.owners.owners(page, self.flash.lpn(page))
    }

    /// The LPN that a copy of the valid page `page` carries: the LPN that `page` carries, if that still owns it.
    #[inline]
    #[must_use]
    pub fn heir(&self, page: Ppn) -> Lpn {
        let carried = self.flash.lpn(page);
        if !self.owners.shares() {
            return carried;
        }
        // A page may lose its last owner while it is being moved.
        self.owners.owners(page, carried).next().unwrap_or(carried)
    }

    /// Give `lpn` the page of another LPN: its newest data, committed or not, are replaced as by a TRIM.
    pub fn share(&mut self, lpn: Lpn, page: Ppn) -> ShareOutcome {
        assert!(
            self.owners.is_valid(page),
            "{lpn:?} is to share {page:?}, which holds no live data"
        );
        let (newest, before) = (self.owners.newest(lpn), self.owners.committed(lpn));
        self.owners.map.set(lpn, Entry::Page(page));
        if before != Some(page) {
            self.gains_instead(lpn, page, before);
        }
        debug_assert!(self.owners_of(page).any(|owner| owner == lpn), "{lpn:?} owns no {page:?}");
        ShareOutcome { newest, before }
    }

    /// As [`Ftl::claim`], with `heirs`, LPNs with their slots that wait for the page, too. An heir whose newest data
    /// are still in its slot gets the page, whatever became of `lpn` itself. With `under` it becomes the committed page
    /// under their slots. Returns the claim of `lpn` and the pages that the heirs have left.
    pub fn claim_with(
        &mut self,
        (lpn, slot, page): (Lpn, OpSlot, Ppn),
        heirs: &[(Lpn, OpSlot)],
        under: bool,
    ) -> (Claim, Vec<Ppn>) {
        debug_assert!(!heirs.is_empty(), "nobody waits for {page:?}");
        debug_assert_eq!(self.flash.lpn(page), lpn, "{page:?} carries another address");
        let newest = |&&(heir, slot): &&(Lpn, OpSlot)| self.owners.is_newest(heir, slot);
        let live: Vec<(Lpn, OpSlot)> = heirs.iter().filter(newest).copied().collect();
        if live.is_empty() {
            return (self.claim(lpn, slot, page), Vec::new());
        }
        let own = self.owners.is_newest(lpn, slot);
        let claim = if own { self.claim(lpn, slot, page) } else { Claim::Overtaken };
        let mut left = Vec::new();
        for (heir, slot) in live {
            let before = self.owners.under(slot);
            if under {
                self.owners.under[slot.at()] = page;
            } else {
                self.owners.map.set(heir, Entry::Page(page));
            }
            self.gains_instead(heir, page, before);
            left.extend(before);
        }
        debug_assert!(self.owners.is_valid(page), "{page:?} has heirs and is not valid");
        (claim, left)
    }

    /// Make `lpn`, which the map has put on `page`, one of its owners, and no longer an owner of the page before.
    pub(super) fn gains_instead(&mut self, lpn: Lpn, page: Ppn, before: Option<Ppn>) {
        debug_assert_ne!(before, Some(page), "{lpn:?} has {page:?} already");
        self.gains(lpn, page);
        match before {
            Some(before) => self.disown(before, lpn),
            None => self.owners.note_change(lpn, None),
        }
    }

    /// Make `lpn`, which the map has put on `page`, one of its owners.
    fn gains(&mut self, lpn: Lpn, page: Ppn) {
        debug_assert!(!self.flash.is_torn(page), "{page:?} is being programmed");
        debug_assert_eq!(self.owners.committed(lpn), Some(page), "{lpn:?} is elsewhere");
        let side = self.owners.begin_sharing();
        if self.flash.lpn(page) != lpn {
            side.table.insert(page, lpn);
        }
        if self.owners.is_valid(page) {
            self.owners.begin_sharing().further += 1;
        } else {
            self.owners.mark(page, self.geo.block_of(page), &mut self.blocks);
            self.owners.valid_pages += 1;
        }
    }

    /// Remove `lpn` from the owners of `page`, on a device that has shared pages or keeps an earlier map. Returns
    /// whether others own it.
    #[cold]
    #[inline(never)]
    pub(super) fn leaves(&mut self, lpn: Lpn, page: Ppn) -> bool {
        let carried = self.flash.lpn(page);
        debug_assert!(self.owners.is_valid(page), "{lpn:?} leaves {page:?}, which has no owner");
        self.owners.note_change(lpn, Some(page));
        let Some(side) = self.owners.side_mut() else { return false };
        let first_stays = if carried == lpn {
            false
        } else {
            assert!(side.table.remove(page, lpn), "{lpn:?} was no owner of {page:?}");
            self.owners.owns(carried, page)
        };
        let Some(side) = self.owners.side_mut() else { return false };
        let stays = first_stays || side.table.lpns(page).next().is_some();
        if stays {
            assert!(side.further > 0, "{page:?} has further owners, and no page has");
            side.further -= 1;
        }
        stays
    }

    /// Move all present owners of `source`, including those added since it was read, to its copy `target`, which
    /// carries `to`.
    #[cold]
    #[inline(never)]
    pub(super) fn owners_move(&mut self, source: Ppn, target: Ppn, to: Lpn) {
        if !self.owners.shares() {
            self.owners.note_change(to, Some(source));
            return self.owners.moves(to, source, target);
        }
        let from = self.flash.lpn(source);
        debug_assert_ne!(source, target, "{source:?} is copied to itself");
        let first = self.owners.owns(from, source).then_some(from);
        self.record_owners_moved(source, target);
        let Some(side) = self.owners.side_mut() else { return };
        let further = side.table.take_all(source);
        assert!(first.is_some() || !further.is_empty(), "valid {source:?} has no owner");
        for lpn in first.into_iter().chain(further) {
            self.owners.note_change(lpn, Some(source));
            self.owners.moves(lpn, source, target);
            if lpn != to {
                self.owners.begin_sharing().table.insert(target, lpn);
            }
        }
    }

    /// Move the further owners of the pages of a block that are copied to the pages from `first` on. Nothing is in
    /// flight, and the addresses of `sources`, which the copies carry, have moved.
    #[cold]
    #[inline(never)]
    pub(super) fn further_owners_move(&mut self, sources: ValidPages<'_>, first: Ppn) {
        // Not by a method, since the map changes as well.
        let extras = self.owners.extras.as_mut();
        let Some(side) = extras.and_then(|extras| extras.side.as_mut()) else { return };
        let (from, last) = (sources.pages[0], sources.pages[sources.pages.len() - 1]);
        debug_assert!(sources.pages.is_sorted(), "pages are copied out of order");
        debug_assert_eq!(sources.pages.len(), sources.lpns.len(), "pages without addresses");
        let pairs: Vec<(Ppn, Lpn)> = side.table.range(from, Ppn(last.0 + 1)).collect();
        for (source, lpn) in pairs {
            side.table.remove(source, lpn);
            let at = sources.pages.binary_search(&source).expect("a page with owners is moved");
            let target = Ppn(first.0 + at as u32);
            if lpn != sources.lpns[at] {
                self.owners.map.set(lpn, Entry::Page(target));
                side.table.insert(target, lpn);
            }
        }
    }

    /// The pages of `block` whose copies may carry another LPN than they do themselves: those with further owners, each
    /// with the LPN of its copy.
    pub(in crate::ftl) fn heirs_in(&self, block: BlockId) -> Vec<(Ppn, Lpn)> {
        let first = self.geo.first_page(block);
        let end = Ppn(first.0 + self.geo.pages_per_block);
        let Some(side) = self.owners.side() else { return Vec::new() };
        let mut heirs: Vec<_> =
            side.table.range(first, end).map(|(page, _)| (page, self.heir(page))).collect();
        heirs.dedup();
        debug_assert!(heirs.is_sorted_by(|a, b| a.0 < b.0), "a page has two heirs: {heirs:?}");
        heirs
    }

    /// The owners of every page that has others than the LPN that it carries, as `page << 32 | LPN`, ascending.
    pub(in crate::ftl) fn shared_pages(&self) -> Vec<u64> {
        let Some(side) = self.owners.side() else { return Vec::new() };
        let mut pages: Vec<Ppn> = side.table.all().map(|(page, _)| page).collect();
        pages.dedup();
        let entries = |page: Ppn| {
            let mut owners: Vec<u32> = self.owners_of(page).map(|lpn| lpn.0).collect();
            owners.sort_unstable();
            owners.into_iter().map(move |lpn| u64::from(page.0) << 32 | u64::from(lpn))
        };
        let pairs: Vec<u64> = pages.into_iter().flat_map(entries).collect();
        debug_assert!(pairs.is_sorted_by(|a, b| a < b), "owners are out of order");
        pairs
    }

    /// Pages by their number of owners, from 1 on.
    #[must_use]
    pub fn pages_by_owners(&self) -> Vec<u64> {
        let mut counts = vec![self.owners.valid_pages()];
        let Some(side) = self.owners.side() else { return counts };
        let mut pairs = side.table.all().map(|(page, _)| page).peekable();
        while let Some(page) = pairs.next() {
            let mut owners = 1 + usize::from(self.owners.owns(self.flash.lpn(page), page));
            while pairs.next_if_eq(&page).is_some() {
                owners += 1;
            }
            counts.resize(counts.len().max(owners), 0);
            counts[0] -= 1;
            counts[owners - 1] += 1;
        }
        debug_assert_eq!(counts.iter().sum::<u64>(), self.owners.valid_pages(), "{counts:?}");
        counts
    }
}
