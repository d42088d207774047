//! Claims where power may be cut: an acknowledged write becomes the committed page, even under newer data that are
//! still in the controller (ADR 0016).

use super::Claim;
use crate::ftl::Ftl;
use crate::ftl::map::Entry;
use crate::units::{Lpn, OpSlot, Ppn};

impl Ftl {
    /// Note that `lpn`, whose newest data were at `old`, has been admitted to `slot` with admission number `sequence`.
    /// If the LPN was unmapped, older writes count as trimmed from here on.
    pub fn note_floor(&mut self, slot: OpSlot, old: Entry, sequence: u64) {
        if self.groups.is_some() {
            // Updates of a group, TRIMs too, commit in the order of admission.
            return;
        }
        let Some(floors) = &mut self.floors else { return };
        debug_assert!(sequence > 0, "{slot:?} has not been admitted");
        let floor = match old {
            Entry::Unmapped => sequence - 1,
            Entry::Slot(older) => floors[older.at()],
            Entry::Page(_) => 0,
        };
        if floors.len() <= slot.at() {
            floors.resize(slot.at() + 1, 0);
        }
        floors[slot.at()] = floor;
    }

    /// Whether data of `lpn` in the controller, with admission number `sequence`, are still needed: neither newer data
    /// on flash nor a TRIM have replaced them.
    pub(crate) fn is_missed(&self, lpn: Lpn, sequence: u64) -> bool {
        let floors = self.floors.as_ref().expect("a device whose power may be cut");
        match self.owners.newest(lpn) {
            Entry::Slot(newest) => {
                let old_page = self.owners.under(newest);
                sequence > floors[newest.at()]
                    && old_page.is_none_or(|page| self.owner_sequence(lpn, page) < sequence)
            }
            Entry::Page(_) | Entry::Unmapped => false,
        }
    }

    /// Claim `ppn`, programmed with the data of `lpn` in `slot` with admission number `sequence`. If newer data are in
    /// the controller, `ppn` becomes the committed page under them, unless a newer page has been committed or a TRIM
    /// came between.
    pub fn claim_under_cuts(&mut self, lpn: Lpn, slot: OpSlot, ppn: Ppn, sequence: u64) -> Claim {
        debug_assert_eq!(self.flash.lpn(ppn), lpn, "{ppn:?} carries another address");
        debug_assert_eq!(self.flash.sequence(ppn), sequence, "{ppn:?} carries other data");
        let claim = match self.owners.newest(lpn) {
            Entry::Slot(newer) if newer != slot && self.is_missed(lpn, sequence) => {
                Claim::Committed(self.takes_under(lpn, ppn))
            }
            _ => self.claim(lpn, slot, ppn),
        };
        if claim != Claim::Overtaken {
            self.needs_no_record(lpn);
        }
        claim
    }
}
