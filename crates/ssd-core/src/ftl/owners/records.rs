//! Owners that no out-of-band area names, where power may be cut: their admission numbers, and the records of them (ADR
//! 0016).

use super::Claim;
use crate::ftl::Ftl;
use crate::ftl::map::Entry;
use crate::nand::nvram::Record;
use crate::units::{Lpn, OpSlot, Ppn};
use std::collections::BTreeMap;

/// What a device keeps if it shares pages and its power may be cut.
#[derive(Clone, Default)]
pub struct OwnerRecords {
    /// By LPN whose committed page carries another LPN or older data of it: the admission number of its copy.
    pub(in crate::ftl) sequences: BTreeMap<Lpn, u64>,
    /// Records that have not been written.
    records: Vec<Record>,
}

impl Ftl {
    /// Records since they were last taken, in order.
    pub(crate) fn take_records(&mut self) -> Vec<Record> {
        self.recorded.as_mut().map_or_else(Vec::new, |r| std::mem::take(&mut r.records))
    }

    /// Write this record, too.
    pub(crate) fn add_record(&mut self, record: Record) {
        debug_assert!(record.sequence() > 0, "{record:?} has no admission number");
        if let Some(recorded) = &mut self.recorded {
            recorded.records.push(record);
        }
    }

    /// Note that the data of `lpn` are those that its page carries, or that it has none, so it needs no record.
    #[inline]
    pub(super) fn needs_no_record(&mut self, lpn: Lpn) {
        debug_assert_ne!(lpn, Lpn::NONE, "no page tells of no data");
        if let Some(recorded) = &mut self.recorded {
            recorded.sequences.remove(&lpn);
        }
    }

    /// Admission number of the data that `lpn` has on `page`; if it does not own the page, of those programmed there.
    #[must_use]
    pub fn owner_sequence(&self, lpn: Lpn, page: Ppn) -> u64 {
        let copied = self.recorded.as_ref().and_then(|r| r.sequences.get(&lpn)).copied();
        let copied = copied.filter(|_| self.owners.committed(lpn) == Some(page));
        copied.unwrap_or_else(|| self.flash.sequence(page))
    }

    /// Start the device with this state after `sequence` admitted pages: owners whose data no out-of-band area names
    /// get that number, which is higher than those of their older data on flash.
    pub(crate) fn number_owners(&mut self, sequence: u64) {
        if self.recorded.is_none() {
            return;
        }
        let highest = self.highest_sequences();
        let is_recorded = |lpn: Lpn, page| {
            self.flash.lpn(page) == lpn && self.flash.sequence(page) == highest[lpn.at()]
        };
        let committed = |lpn: Lpn| self.owners.committed(lpn).map(|page| (lpn, page));
        let pairs = (0..self.geo.user_pages).map(Lpn).filter_map(committed);
        let numbered =
            pairs.filter(|&(lpn, page)| !is_recorded(lpn, page)).map(|(lpn, _)| (lpn, sequence));
        let sequences: BTreeMap<Lpn, u64> = numbered.collect();
        debug_assert!(highest.iter().all(|&number| number <= sequence), "pages of the future");
        debug_assert!(
            sequences.is_empty() || sequence > 0,
            "pages are owned, and none is admitted"
        );
        self.recorded = Some(Box::new(OwnerRecords { sequences, records: Vec::new() }));
    }

    /// `lpn` has become an owner of `page` by the copy with admission number `sequence`.
    pub(crate) fn record_owner(&mut self, lpn: Lpn, page: Ppn, sequence: u64) {
        debug_assert_eq!(self.owners.committed(lpn), Some(page), "{lpn:?} is elsewhere");
        let record = self.share_record(lpn, page, sequence);
        let Some(recorded) = &mut self.recorded else { return };
        debug_assert!(sequence > 0, "{lpn:?} owns {page:?} by no copy");
        recorded.sequences.insert(lpn, sequence);
        recorded.records.push(record);
    }

    /// The record that says that the data of `lpn` with admission number `sequence` are on `page`.
    fn share_record(&self, lpn: Lpn, page: Ppn, sequence: u64) -> Record {
        let carried = (self.flash.lpn(page), self.flash.sequence(page));
        debug_assert!(!self.flash.is_torn(page), "{page:?} carries nothing");
        let parity = self.groups.as_ref().map(|groups| groups.parity(groups.group_of(lpn)));
        let update = parity.map_or(0, |parity| self.number_of(parity));
        Record::Share { lpn, page, sequence, carried, update }
    }

    /// Owners of which only a record or the checkpoint has the admission numbers.
    pub(crate) fn recorded_owners(&self) -> u64 {
        self.recorded.as_ref().map_or(0, |recorded| recorded.sequences.len() as u64)
    }

    /// Note that `lpn` owns the copy of `source`, a page of a victim that still exists. A mount may have to give up the
    /// block with the copies, so this page is recorded, too.
    pub(crate) fn record_owner_too(&mut self, lpn: Lpn, source: Ppn, sequence: u64) {
        debug_assert_ne!(self.owners.committed(lpn), Some(source), "{lpn:?} owns its victim");
        self.add_record(self.share_record(lpn, source, sequence));
    }

    /// Record the owners of `source` that its out-of-band area does not name, before they all move to its copy
    /// `target`.
    pub(super) fn record_owners_moved(&mut self, source: Ppn, target: Ppn) {
        if self.recorded.is_none() {
            return;
        }
        let carried = (self.flash.lpn(target), self.flash.sequence(target));
        debug_assert_ne!(source, target, "{source:?} is copied to itself");
        let owners: Vec<Lpn> = self.owners.owners(source, self.flash.lpn(source)).collect();
        for lpn in owners {
            let sequence = self.owner_sequence(lpn, source);
            let record = self.share_record(lpn, target, sequence);
            let Some(recorded) = &mut self.recorded else { return };
            if (lpn, sequence) == carried {
                recorded.sequences.remove(&lpn);
            } else {
                recorded.sequences.insert(lpn, sequence);
                recorded.records.push(record);
            }
        }
    }

    /// As [`Ftl::claim_with`] where power may be cut: an heir with newer data in the controller gets the page under
    /// them, as in [`Ftl::claim_under_cuts`]. `heirs` come with the admission numbers of their copies.
    pub(crate) fn claim_with_under_cuts(
        &mut self,
        (lpn, slot, page): (Lpn, OpSlot, Ppn),
        heirs: &[(Lpn, OpSlot, u64)],
        under: bool,
    ) -> (Claim, Vec<Ppn>) {
        debug_assert!(!heirs.is_empty(), "nobody waits for {page:?}");
        let sequence = self.flash.sequence(page);
        let own = self.is_wanted(lpn, slot, sequence);
        let has_heir = heirs.iter().any(|&(heir, slot, number)| self.is_wanted(heir, slot, number));
        let claim = if own || !has_heir {
            self.claim_under_cuts(lpn, slot, page, sequence)
        } else {
            Claim::Overtaken
        };
        let mut left = Vec::new();
        for &(heir, slot, number) in heirs {
            if !self.is_wanted(heir, slot, number) {
                continue;
            }
            let Entry::Slot(newest) = self.owners.newest(heir) else { unreachable!("it waits") };
            let before = self.owners.under(newest);
            if newest == slot && !under {
                self.owners.map.set(heir, Entry::Page(page));
            } else {
                self.owners.under[newest.at()] = page;
            }
            if before != Some(page) {
                // The number of the previous copy, if there was one, belongs to the page that it leaves.
                self.needs_no_record(heir);
                self.gains_instead(heir, page, before);
                left.extend(before);
            }
            self.record_owner(heir, page, number);
        }
        (claim, left)
    }

    /// Whether the data of `lpn` in `slot`, with admission number `sequence`, are the newest that can be on flash: any
    /// newer ones are still in the controller.
    fn is_wanted(&self, lpn: Lpn, slot: OpSlot, sequence: u64) -> bool {
        debug_assert_ne!(slot, OpSlot::NONE, "{lpn:?} is in no slot");
        match self.owners.newest(lpn) {
            Entry::Slot(newest) if newest == slot => true,
            Entry::Slot(_) => self.is_missed(lpn, sequence),
            Entry::Page(_) | Entry::Unmapped => false,
        }
    }
}
