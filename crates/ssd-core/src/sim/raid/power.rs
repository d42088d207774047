//! Parity groups and power cuts (ADR 0033): pages carry lists of what their groups hold, and TRIMs have records.

use super::TrimWaits;
use crate::ftl::map::Entry;
use crate::ftl::raid::Change;
use crate::metrics::counters::Parts;
use crate::nand::nvram::Record;
use crate::sim::array::op::Op;
use crate::sim::ssd::Ssd;
use crate::units::{Lpn, OpSlot, Ppn, RequestSlot, UpdateSlot};

impl Ssd {
    /// Write into the out-of-band area of the page in `slot`, which `update` has programmed, what the group will hold
    /// when the update commits.
    #[inline(never)]
    pub(in crate::sim) fn write_list(&mut self, slot: OpSlot, update: UpdateSlot) {
        let (raid, core) = self.parity();
        let (entry, page) = (raid.at(update), core.array.ops[slot].ppn);
        let mut list = core.ftl.list_of(entry.group);
        let groups = core.ftl.parity_groups();
        debug_assert_ne!(page, Ppn::NONE, "{update:?} has programmed nothing");
        for changed in &entry.pages {
            let Op { sequence, plane, .. } = core.array.ops[changed.slot];
            let number = if changed.change == Change::Trim { 0 } else { sequence };
            let plane = raid.shared_plane(changed.slot).unwrap_or(plane);
            list[groups.position(changed.lpn) as usize] =
                core.ftl.entry_of(changed.lpn, number, plane);
        }
        let parity = match entry.parity.slot {
            OpSlot::NONE => entry.parity.home,
            slot => core.array.ops[slot].plane,
        };
        *list.last_mut().expect("a group has parity") =
            core.ftl.entry_of(groups.parity(entry.group), entry.age, parity);
        core.ftl.flash.set_list(page, &list);
    }

    /// Let the TRIM or copy in request slot `slot` wait for the updates under way that trim some of its pages already:
    /// a cut could bring these pages back.
    pub(super) fn join_trims(&mut self, slot: RequestSlot, lpns: std::ops::Range<u32>) {
        let (raid, core) = self.parity();
        debug_assert!(lpns.end <= core.ftl.geo.user_pages, "pages {lpns:?}");
        for lpn in lpns.map(Lpn) {
            let Entry::Slot(newest) = core.ftl.owners.newest(lpn) else { continue };
            let update = core.array.ops[newest].update().filter(|_| core.is_trim(newest));
            let Some(update) = update else { continue };
            let requests = &mut raid.get(update).trim.requests;
            if !requests.contains(&slot) {
                requests.push(slot);
                core.front.requests.get(slot).parts.add(1);
            }
        }
    }

    /// Record that `pages`, of one group and ascending, have been trimmed, and all that was admitted of them until
    /// `sequence`. A checkpoint that begins now includes it.
    pub(super) fn record_trim(&mut self, pages: &[Lpn], sequence: u64) {
        debug_assert!(pages.is_sorted(), "{pages:?} are out of order");
        if self.power.is_none() || pages.is_empty() {
            return;
        }
        let (power, core) = self.power_cuts();
        // A page between them that a copy has given data is not trimmed.
        let is_run = |a: &Lpn, b: &Lpn| !(a.0 + 1..b.0).any(|lpn| core.ftl.holds(Lpn(lpn)));
        for run in pages.chunk_by(is_run) {
            let (first, last) = (run[0], run[run.len() - 1]);
            let record = Record::Trim { first, pages: last.0 - first.0 + 1, sequence };
            power.backlog.push_back(record);
        }
        power.write_records(core);
        core.ledger.measured.power.trims_waited += u64::from(!power.backlog.is_empty());
    }

    /// Record the owners of pages that an update, which has just committed, shares: each with its admission number.
    #[inline(never)]
    pub(super) fn record_shared(&mut self, shared: &[(Lpn, u64)]) {
        if shared.is_empty() || self.power.is_none() {
            return;
        }
        let (power, core) = self.power_cuts();
        for &named in shared {
            let page = core.ftl.owners.committed(named.0).expect("it shares a page");
            power.record_owner(core, named, page);
        }
        power.write_records(core);
    }

    /// End a part of `request`, whose update has committed; its time went to `parts`. Where a cut would lose records,
    /// it ends when they survive one: the group of the update may hold a page that is found by a record only.
    #[inline]
    pub(super) fn end_part_of_update(&mut self, request: RequestSlot, parts: &Parts) {
        if let Some(power) = &mut self.power
            && self.copies.is_some()
            && power.lacks_records(self.core.array.now)
        {
            let since = self.core.array.now;
            return power.end_part_when_recorded(&mut self.core, request, (since, *parts));
        }
        self.part_ends(request, parts);
    }

    /// End the part of `request` whose update has trimmed these `pages` and committed; its time went to `parts`. If
    /// power may be cut, it ends when their record, of what was admitted until `sequence`, survives a cut, and with it
    /// all that `waits`.
    #[inline(never)]
    pub(super) fn end_trim_of_group(
        &mut self,
        (request, waits): (RequestSlot, TrimWaits),
        pages: &[Lpn],
        (sequence, parts): (u64, Parts),
    ) {
        debug_assert!(!pages.is_empty(), "nothing has been trimmed");
        if self.power.is_none() {
            return self.part_ends(request, &parts);
        }
        self.record_trim(pages, sequence);
        let (power, core) = self.power_cuts();
        power.end_part_when_recorded(core, request, (core.array.now, parts));
        for request in waits.requests {
            power.end_when_recorded(core, request, core.array.now);
        }
        if let Some(epoch) = waits.epoch {
            core.front.epochs.write_completes(epoch);
            core.trim_ends(pages, sequence);
            self.let_in(0);
        }
    }
}
