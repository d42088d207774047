//! Who owns a physical page.
//!
//! A logical page has at most one *committed* page: the one that its map entry names or, while its newest data are in
//! the controller, the one under its in-flight slot. A physical page is valid while a logical page owns it in this way.
//! Only these steps change ownership:
//!
//! - *admit*: a slot holds the newest data of an LPN; its committed page stays under the slot.
//! - *claim*: a programmed page becomes the committed one, unless its slot has been overtaken. Under parity it does so
//!   in any case, because the parity covers it: if newer data are in the controller, it becomes the page under them.
//! - *disown*: a page loses one owner, by a claim or a TRIM; with the last one it becomes invalid.
//! - *relocate*: the owners of a page move to its copy.
//! - *adopt*: a page gets its owner without an admission (in the initial state of a device).
//! - *share*: an LPN becomes one more owner of a page (`share`; only on a device that remaps).
//!
//! A page that was never shared has one owner, whose LPN is in its out-of-band area; that costs no memory. Further
//! owners are in an ordered side table, which exists from the first share on. Checkpoints keep the map of an earlier
//! instant (`earlier`).

mod earlier;
mod in_group;
mod load;
pub mod of_block;
mod records;
mod restored;
mod share;
mod side_table;
mod under_cuts;

use super::Ftl;
use super::blocks::{BlockState, BlockTable};
use super::gc::victim::VictimPolicy;
use super::map::{Entry, Map};
use super::validity::Validity;
use crate::units::{BlockId, Lpn, OpSlot, Ppn};
use earlier::EarlierMaps;
use of_block::ValidPages;
pub use records::OwnerRecords;
pub use share::ShareOutcome;
use share::Side;

/// Which logical pages own which physical pages.
#[derive(Clone)]
pub struct Owners {
    map: Map,
    validity: Validity,
    /// By in-flight slot, the committed page under it. For a slot that has been overtaken, the one it had then.
    under: Vec<Ppn>,
    valid_pages: u64,
    extras: Option<Box<Extras>>,
}

/// What most devices do without.
#[derive(Clone, Default)]
struct Extras {
    /// Further owners of pages, if a page has ever been shared.
    side: Option<Side>,
    earlier: EarlierMaps,
}

/// What became of a programmed page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// It is the committed page of its LPN; the previous one, if any, has lost this owner.
    Committed(Option<Ppn>),
    /// Newer data were admitted in the meantime, or the LPN was trimmed: the page was never valid.
    Overtaken,
}

impl Owners {
    /// Create the owners of an erased device.
    #[must_use]
    pub fn new(logical_pages: u32, pages: u32) -> Owners {
        assert!(logical_pages > 0, "a device without logical pages");
        Owners {
            map: Map::new(logical_pages, pages),
            validity: Validity::new(pages),
            under: Vec::new(),
            valid_pages: 0,
            extras: None,
        }
    }

    /// Where the newest admitted data of `lpn` are.
    #[inline(always)]
    #[must_use]
    pub fn newest(&self, lpn: Lpn) -> Entry {
        self.map.get(lpn)
    }

    /// Whether the newest data of `lpn` are in `slot`.
    #[inline(always)]
    #[must_use]
    pub fn is_newest(&self, lpn: Lpn, slot: OpSlot) -> bool {
        self.map.get(lpn) == Entry::Slot(slot)
    }

    /// The committed page of `lpn`.
    #[inline]
    #[must_use]
    pub fn committed(&self, lpn: Lpn) -> Option<Ppn> {
        match self.map.get(lpn) {
            Entry::Unmapped => None,
            Entry::Page(ppn) => Some(ppn),
            Entry::Slot(slot) => self.under(slot),
        }
    }

    /// The committed page under `slot`.
    #[inline(always)]
    #[must_use]
    pub fn under(&self, slot: OpSlot) -> Option<Ppn> {
        let page = self.under[slot.at()];
        (page != Ppn::NONE).then_some(page)
    }

    /// Whether a page has an owner, that is, holds live data.
    #[inline(always)]
    #[must_use]
    pub fn is_valid(&self, ppn: Ppn) -> bool {
        self.validity.is_valid(ppn)
    }

    /// Valid pages of the device.
    #[inline(always)]
    #[must_use]
    pub fn valid_pages(&self) -> u64 {
        self.valid_pages
    }

    /// Logical pages.
    #[must_use]
    pub fn logical_pages(&self) -> u32 {
        self.map.len()
    }

    /// In-flight slots that can exist at once.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.map.slots()
    }

    /// The first valid page in `from..end`.
    #[inline]
    #[must_use]
    pub fn next_valid(&self, from: Ppn, end: Ppn) -> Option<Ppn> {
        self.validity.next(from, end)
    }

    /// Valid pages in `from..end`, counted.
    #[must_use]
    pub fn count_valid(&self, from: Ppn, end: Ppn) -> u32 {
        self.validity.count(from, end)
    }

    /// The valid pages in `from..end`: words of [`Owners::validity`] with their numbers, without other pages.
    #[inline(always)]
    pub(super) fn valid_words(&self, from: Ppn, end: Ppn) -> impl Iterator<Item = (usize, u64)> {
        self.validity.words_of(from, end)
    }

    /// Which pages are valid: page `p` is bit `p % 64` of word `p / 64`.
    #[must_use]
    pub fn validity(&self) -> &[u64] {
        self.validity.words()
    }

    /// Prefetch where `lpn` is.
    #[inline(always)]
    pub fn prefetch(&self, lpn: Lpn) {
        self.map.prefetch(lpn);
    }

    /// Prefetch the validity of the page where `lpn` is; call after [`Owners::prefetch`] had time.
    #[inline(always)]
    #[must_use]
    pub fn prefetch_valid(&self, lpn: Lpn) -> Option<Ppn> {
        let ppn = self.map.page_hint(lpn)?;
        self.validity.prefetch(ppn);
        Some(ppn)
    }

    /// Prefetch the validity of a page.
    #[inline(always)]
    pub fn prefetch_validity(&self, ppn: Ppn) {
        self.validity.prefetch(ppn);
    }

    /// Bytes held, without the slots.
    #[must_use]
    pub fn bytes_held(&self) -> usize {
        self.map.bytes_held() + self.validity.bytes_held() + self.side_table_bytes()
    }

    /// Whether more depends on the committed page of an LPN than its map entry.
    #[inline(always)]
    fn has_extras(&self) -> bool {
        self.extras.is_some()
    }

    /// Move the committed page `source` of `lpn`, which is under a slot, to `target`.
    fn moves_under(&mut self, lpn: Lpn, source: Ppn, target: Ppn) {
        match self.map.get(lpn) {
            Entry::Page(ppn) => panic!("{lpn:?} is elsewhere: on {ppn:?}, not on {source:?}"),
            Entry::Slot(newer) => {
                let under = &mut self.under[newer.at()];
                assert_eq!(*under, source, "{lpn:?} was committed elsewhere");
                *under = target;
            }
            Entry::Unmapped => panic!("valid page {} of {lpn:?} has no owner", source.0),
        }
    }

    /// For the page under `slot`.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, slot: OpSlot) {
        assert!(slot.0 < self.slots(), "more writes in flight than the map has slots");
        assert!(slot.at() >= self.under.len(), "{slot:?} has room, and what is above it is in use");
        self.under.resize(slot.at() + 1, Ppn::NONE);
    }

    #[inline(always)]
    fn mark(&mut self, ppn: Ppn, block: BlockId, blocks: &mut BlockTable) {
        self.validity.mark(ppn);
        blocks.valid[block.at()] += 1;
        debug_assert!(blocks.valid[block.at()] <= blocks.pages_per_block, "{block:?} overflows");
    }
}

/// The steps. They keep the counts of blocks and the victim policy up to date.
impl Ftl {
    /// An owner of a valid page; a copy of the page carries this LPN.
    #[inline(always)]
    #[must_use]
    pub fn owner(&self, ppn: Ppn) -> Option<Lpn> {
        let owner = self.owners.is_valid(ppn).then(|| self.heir(ppn));
        debug_assert!(
            owner.is_none_or(|l| l.0 < self.geo.logical_pages),
            "{ppn:?} carries {owner:?}"
        );
        owner
    }

    /// Make `slot` the newest admitted data of `lpn`. Returns the committed page under it.
    #[inline(always)]
    pub fn admit(&mut self, lpn: Lpn, slot: OpSlot) -> Option<Ppn> {
        let owners = &mut self.owners;
        let committed = match owners.map.take(lpn, slot) {
            Entry::Unmapped => None,
            Entry::Page(ppn) => Some(ppn),
            Entry::Slot(older) => owners.under(older),
        };
        debug_assert!(
            committed.is_none_or(|ppn| owners.validity.is_valid(ppn)),
            "{lpn:?} was committed to an invalid page"
        );
        if owners.under.len() <= slot.at() {
            owners.make_room(slot);
        }
        owners.under[slot.at()] = committed.unwrap_or(Ppn::NONE);
        committed
    }

    /// Claim `ppn`, programmed with the data of `lpn` in `slot`.
    #[inline(always)]
    pub fn claim(&mut self, lpn: Lpn, slot: OpSlot, ppn: Ppn) -> Claim {
        debug_assert_eq!(self.flash.lpn(ppn), lpn, "{ppn:?} carries another address");
        debug_assert!(
            self.blocks.state[self.geo.block_of(ppn).at()] == BlockState::Open,
            "{ppn:?} was programmed in a block that is not open"
        );
        if !self.owners.map.is_in(lpn, slot) {
            debug_assert!(!self.owners.is_valid(ppn), "{ppn:?} is overtaken and valid");
            self.lost_page(self.geo.block_of(ppn));
            return Claim::Overtaken;
        }
        let before = self.owners.under(slot);
        self.commit(lpn, ppn, before);
        Claim::Committed(before)
    }

    /// Make `ppn` the committed page of `lpn`; the previous one, if any, loses this owner.
    #[inline(always)]
    fn commit(&mut self, lpn: Lpn, ppn: Ppn, before: Option<Ppn>) {
        debug_assert_ne!(before, Some(ppn), "{lpn:?} replaces a page with itself");
        self.owners.map.set(lpn, Entry::Page(ppn));
        self.takes_over(lpn, ppn, before);
    }

    /// Make `ppn` valid; the previous page `before`, if any, loses its owner `lpn`.
    #[inline(always)]
    fn takes_over(&mut self, lpn: Lpn, ppn: Ppn, before: Option<Ppn>) {
        self.owners.mark(ppn, self.geo.block_of(ppn), &mut self.blocks);
        match before {
            Some(before) => {
                self.release(before, lpn);
            }
            None => {
                self.owners.valid_pages += 1;
                if self.owners.has_extras() {
                    self.owners.note_change(lpn, None);
                }
            }
        }
        debug_assert!(
            self.owners.valid_pages <= u64::from(self.owners.logical_pages()),
            "more pages are valid than addresses exist"
        );
    }

    /// Remove the owner `lpn` of a page. Without owners the page is invalid.
    #[inline]
    fn disown(&mut self, ppn: Ppn, lpn: Lpn) {
        debug_assert!(self.owners.valid_pages > 0, "{ppn:?} is valid although no page is");
        self.owners.valid_pages -= 1;
        self.release(ppn, lpn);
    }

    /// As [`Ftl::disown`], but leaves the count of valid pages alone, because another page makes up for it. Returns
    /// whether the page is invalid.
    #[inline(always)]
    fn release(&mut self, ppn: Ppn, lpn: Lpn) -> bool {
        if self.owners.has_extras() && self.leaves(lpn, ppn) {
            self.owners.valid_pages += 1;
            return false;
        }
        self.owners.validity.unmark(ppn);
        self.lose_valid(self.geo.block_of(ppn));
        true
    }

    /// Note that a page of `block` has become invalid.
    #[inline(always)]
    fn lose_valid(&mut self, block: BlockId) {
        let valid = &mut self.blocks.valid[block.at()];
        // (The message gets a copy of the number, which otherwise stays in a register.)
        assert!(*valid > 0, "{:?} has no valid page to release", { block });
        *valid -= 1;
        match self.blocks.state[block.at()] {
            BlockState::Sealed => self.victim.on_invalidate(block, &self.blocks, self.clock),
            BlockState::Open => self.victim.on_invalidate_open(block, &self.blocks, self.clock),
            _ => {}
        }
    }

    /// Unmap `lpn`. Returns where its newest data were, and its committed page, which is disowned.
    pub fn trim(&mut self, lpn: Lpn) -> (Entry, Option<Ppn>) {
        let (newest, committed) = (self.owners.newest(lpn), self.owners.committed(lpn));
        if let Some(ppn) = committed {
            self.disown(ppn, lpn);
        }
        self.owners.map.set(lpn, Entry::Unmapped);
        self.needs_no_record(lpn);
        debug_assert!(
            self.owners.shares() || committed.is_none_or(|p| !self.owners.is_valid(p)),
            "{lpn:?} keeps a page"
        );
        (newest, committed)
    }

    /// Let `target`, programmed as a copy of `source` with `lpn`, take over the owners. False if there are none any
    /// more: then the copy was never valid.
    #[inline(always)]
    pub fn relocate(&mut self, source: Ppn, target: Ppn, lpn: Lpn) -> bool {
        debug_assert_eq!(self.flash.lpn(target), lpn, "{target:?} carries another address");
        debug_assert_ne!(
            self.geo.block_of(source),
            self.geo.block_of(target),
            "a copy stays in its block"
        );
        debug_assert!(
            self.blocks.state[self.geo.block_of(target).at()] == BlockState::Open,
            "{target:?} was programmed in a block that is not open"
        );
        if !self.owners.validity.take(source) {
            debug_assert!(!self.owners.is_valid(target), "{target:?} is valid before its commit");
            self.lost_page(self.geo.block_of(target));
            return false;
        }
        if self.owners.has_extras() {
            self.owners_move(source, target, lpn);
        } else if !self.owners.map.moves(lpn, source, target) {
            self.owners.moves_under(lpn, source, target);
        }
        // The number of valid pages is unchanged, and policies do not track a block under collection.
        let (from, to) = (self.geo.block_of(source), self.geo.block_of(target));
        debug_assert!(self.blocks.state[from.at()] == BlockState::Collecting, "{from:?} is in use");
        let left = &mut self.blocks.valid[from.at()];
        assert!(*left > 0, "{from:?} has no valid page to move");
        *left -= 1;
        self.owners.mark(target, to, &mut self.blocks);
        true
    }

    /// As [`Ftl::relocate`], for valid pages of one block copied to the pages from `first` on, with nothing in flight.
    /// (Policies do not track a block under collection.)
    pub(super) fn relocate_run(&mut self, sources: ValidPages<'_>, first: Ppn) {
        let count = sources.pages.len() as u32;
        assert!(count > 0, "a run of no page");
        debug_assert_eq!(sources.pages.len(), sources.lpns.len(), "pages without addresses");
        debug_assert!(sources.pages.is_sorted(), "pages of a block are copied in order");
        let owners = &mut self.owners;
        debug_assert!(
            sources
                .pages
                .iter()
                .zip(sources.lpns)
                .all(|(&s, &l)| owners.newest(l) == Entry::Page(s)),
            "an owner is elsewhere"
        );
        owners.map.set_run(sources.lpns, first);
        if owners.shares() {
            self.further_owners_move(sources, first);
        }
        let owners = &mut self.owners;
        let (from, to) = (sources.pages[0], sources.pages[sources.pages.len() - 1]);
        let victim = self.geo.block_of(from);
        let moved = owners.validity.unmark_range(from, to);
        assert_eq!(moved, count, "{victim:?} has other valid pages");
        owners.validity.mark_range(first, count);
        let target = self.geo.block_of(first);
        debug_assert_ne!(victim, target, "copies stay in their block");
        debug_assert!(
            self.blocks.state[victim.at()] == BlockState::Collecting,
            "{victim:?} is not collected"
        );
        debug_assert!(self.blocks.state[target.at()] == BlockState::Open, "{target:?} is not open");
        debug_assert!(u32::from(self.blocks.valid[victim.at()]) >= count, "{victim:?} has fewer");
        self.blocks.valid[victim.at()] -= count as u16;
        self.blocks.valid[target.at()] += count as u16;
        debug_assert!(
            self.blocks.valid[target.at()] <= self.blocks.fill[target.at()].bound,
            "unbound pages of {target:?} are valid"
        );
    }

    /// Commit `ppn` of `block`, programmed with the newest data of `lpn`, which has nothing in flight. Returns the page
    /// that becomes invalid. `SHARES`: pages of this device may have several owners.
    #[inline(always)]
    pub(super) fn claim_now<const SHARES: bool>(
        &mut self,
        lpn: Lpn,
        ppn: Ppn,
        block: BlockId,
    ) -> Option<Ppn> {
        debug_assert_eq!(self.geo.block_of(ppn), block, "{ppn:?} is in another block");
        debug_assert_eq!(self.flash.lpn(ppn), lpn, "{ppn:?} carries another address");
        debug_assert!(self.blocks.state[block.at()] == BlockState::Open, "{block:?} is not open");
        self.owners.validity.mark(ppn);
        self.blocks.valid[block.at()] += 1;
        debug_assert!(
            self.blocks.valid[block.at()] <= self.blocks.fill[block.at()].bound,
            "unbound pages of {block:?} are valid"
        );
        debug_assert!(
            self.owners.valid_pages <= u64::from(self.owners.logical_pages()),
            "more pages are valid than addresses exist"
        );
        let Some(old) = self.owners.map.replace(lpn, ppn) else {
            self.owners.valid_pages += 1;
            return None;
        };
        if SHARES {
            return self.release(old, lpn).then_some(old);
        }
        debug_assert!(!self.owners.shares(), "{old:?} may have other owners");
        self.owners.validity.unmark(old);
        self.lose_valid(self.geo.block_of(old));
        Some(old)
    }

    /// Commit `ppn`, programmed with the data of `lpn`, which had none.
    #[inline]
    pub(super) fn adopt(&mut self, lpn: Lpn, ppn: Ppn) {
        debug_assert_eq!(self.owners.newest(lpn), Entry::Unmapped, "{lpn:?} is given out twice");
        debug_assert_eq!(self.flash.lpn(ppn), lpn, "{ppn:?} carries another address");
        self.commit(lpn, ppn, None);
    }
}
