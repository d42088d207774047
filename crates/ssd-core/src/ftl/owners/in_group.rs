//! The steps of pages in parity groups, whose updates commit as one (ADR 0013).

use crate::ftl::Ftl;
use crate::ftl::map::Entry;
use crate::units::{Lpn, OpSlot, Ppn};

impl Ftl {
    /// Commit `ppn`, programmed with `lpn`: data in `slot`, or the parity of a group. Updates of a group commit in the
    /// order of admission, so the page is committed even under newer data. Returns the committed page before it.
    #[inline]
    pub fn claim_in_group(&mut self, lpn: Lpn, slot: OpSlot, ppn: Ppn) -> Option<Ppn> {
        debug_assert_eq!(self.flash.lpn(ppn), lpn, "{ppn:?} carries another address");
        debug_assert!(self.groups.is_some(), "{lpn:?} is in no group");
        self.needs_no_record(lpn);
        let before = match self.owners.newest(lpn) {
            Entry::Slot(newest) if newest != slot => return self.takes_under(lpn, ppn),
            Entry::Slot(newest) => self.owners.under(newest),
            at => {
                // Parity is in no slot of the map: only its update refers to it.
                assert!(lpn.0 >= self.geo.user_pages, "nothing of {lpn:?} is in the controller");
                if let Entry::Page(page) = at { Some(page) } else { None }
            }
        };
        self.commit(lpn, ppn, before);
        debug_assert_eq!(self.owners.committed(lpn), Some(ppn), "{lpn:?} is elsewhere");
        before
    }

    /// Commit the copy in `slot`: `lpn` becomes an owner of `page`, which holds the data of its source. Returns the
    /// committed page of `lpn` before it.
    pub fn share_in_group(&mut self, lpn: Lpn, slot: OpSlot, page: Ppn) -> Option<Ppn> {
        assert!(self.owners.is_valid(page), "{lpn:?} is to share {page:?}, which holds no data");
        let newest = self.newest_slot(lpn);
        let before = self.owners.under(newest);
        if newest == slot {
            self.owners.map.set(lpn, Entry::Page(page));
        } else {
            self.owners.under[newest.at()] = page;
        }
        if before != Some(page) {
            self.gains_instead(lpn, page, before);
        }
        debug_assert!(self.owners_of(page).any(|owner| owner == lpn), "{lpn:?} owns no {page:?}");
        before
    }

    /// Commit the TRIM in `slot` of a page in a parity group: `lpn` no longer has a page. Returns the one before it.
    pub fn trim_in_group(&mut self, lpn: Lpn, slot: OpSlot) -> Option<Ppn> {
        debug_assert!(lpn.0 < self.geo.user_pages, "{lpn:?} is not the host's");
        self.needs_no_record(lpn);
        let newest = self.newest_slot(lpn);
        let before = self.owners.under(newest);
        if let Some(before) = before {
            self.disown(before, lpn);
        }
        if newest == slot {
            self.owners.map.set(lpn, Entry::Unmapped);
        } else {
            self.owners.under[newest.at()] = Ppn::NONE;
        }
        debug_assert!(self.owners.committed(lpn).is_none(), "{lpn:?} keeps a page");
        before
    }

    /// Which of the `count` pages from `first` on hold committed data, as bits.
    #[inline]
    #[must_use]
    pub fn committed_of(&self, first: Lpn, count: u32) -> u64 {
        debug_assert!(count < 64, "{count} pages are no bits of a word");
        debug_assert!(first.0 + count <= self.geo.user_pages, "{first:?} is too far for {count}");
        let (mut committed, nowhere) = self.owners.map.states(first, count);
        let mut in_slots = !(committed | nowhere) & !(u64::MAX << count);
        while in_slots != 0 {
            let at = in_slots.trailing_zeros();
            let has = self.owners.committed(Lpn(first.0 + at)).is_some();
            committed |= u64::from(has) << at;
            in_slots &= in_slots - 1;
        }
        debug_assert_eq!(committed & nowhere, 0, "a page that is nowhere is committed");
        committed
    }

    /// The slot with the newest data of `lpn`, if they are in the controller.
    fn newest_slot(&self, lpn: Lpn) -> OpSlot {
        debug_assert!(self.groups.is_some(), "{lpn:?} is in no group");
        match self.owners.newest(lpn) {
            Entry::Slot(slot) => slot,
            other => panic!("nothing of {lpn:?} is in the controller: it is at {other:?}"),
        }
    }

    /// Make `ppn`, programmed with the parity of a group or without time, the committed page of `lpn`. Returns the one
    /// before it.
    #[inline]
    pub fn replace_in_group(&mut self, lpn: Lpn, ppn: Ppn) -> Option<Ppn> {
        assert!(!self.flash.is_torn(ppn), "{ppn:?} is being programmed");
        let before = self.claim_now::<true>(lpn, ppn, self.geo.block_of(ppn));
        if before.is_none() {
            self.owners.note_change(lpn, None);
        }
        before
    }
}
