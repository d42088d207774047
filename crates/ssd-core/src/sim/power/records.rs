//! TRIMs and their records: a TRIM is acknowledged when its record survives a cut, and an erase waits for all records
//! before it.

use super::WaitingTrim;
use crate::ftl::map::Entry;
use crate::ftl::owners::Claim;
use crate::metrics::counters::Parts;
use crate::nand::nvram::Record;
use crate::sched::order::W_GC;
use crate::sim::array::event::Timer;
use crate::sim::array::op::{Op, OpKind, Part, Work};
use crate::sim::front::Pages;
use crate::sim::ssd::Ssd;
use crate::units::{Lpn, Nanos, OpSlot, PlaneId, Ppn, RequestSlot};

impl Ssd {
    /// A page of the host has been programmed where power may be cut: it may become the committed one under newer data.
    #[inline(never)]
    pub(crate) fn claim_under_cuts(&mut self, slot: OpSlot, lpn: Lpn, ppn: Ppn) -> Claim {
        let sequence = self.array.ops[slot].sequence;
        let claim = self.ftl.claim_under_cuts(lpn, slot, ppn, sequence);
        let Entry::Slot(newer) = self.ftl.owners.newest(lpn) else { return claim };
        if let Claim::Committed(before) = claim {
            // What is missing of a newer partial write is read from this page, unless it is being read already.
            let waits = self.array.ops[newer].ppn == Ppn::NONE;
            if waits && self.ledger.content.is_some() {
                self.array.ops.detail(newer).expected = self.ftl.flash.digest(ppn);
            }
            before.into_iter().for_each(|page| self.wake_readers(page));
        }
        claim
    }

    /// The TRIM of `pages` in request slot `slot`, where power may be cut.
    #[inline(never)]
    pub(crate) fn trim_with_record(&mut self, slot: RequestSlot, pages: Pages) {
        debug_assert!(pages.first + pages.count <= self.ftl.geo.user_pages, "beyond the device");
        debug_assert!(!self.is_off(), "a TRIM arrives without power");
        let waiting =
            WaitingTrim { slot, first: pages.first, pages: pages.count, since: self.array.now };
        self.power.as_mut().expect("the caller has checked").waiting.push_back(waiting);
        self.let_trims_in();
        if self.power.as_ref().is_some_and(|power| !power.waiting.is_empty()) {
            self.ledger.measured.power.trims_waited += 1;
        }
    }

    /// TRIMs take effect in the order of their arrival as long as there is room for their records.
    pub(super) fn let_trims_in(&mut self) {
        while let Some(next) = self.power.as_ref().and_then(|power| power.waiting.front()) {
            let lpns = (next.first..next.first + next.pages).map(Lpn);
            let changes = lpns.clone().any(|l| self.ftl.owners.newest(l) != Entry::Unmapped);
            let power = self.power.as_mut().expect("seen");
            if changes && !power.nvram.has_room() {
                break;
            }
            let next = power.waiting.pop_front().expect("seen");
            if changes {
                let (first, sequence) = (Lpn(next.first), self.front.sequence);
                let record = Record::Trim { first, pages: next.pages, sequence };
                power.nvram.write(self.array.now, record);
                self.ledger.measured.power.trim_records += 1;
                self.ledger.measured.power.nvram_peak = power.nvram.peak();
                lpns.for_each(|lpn| self.trim(lpn));
            }
            self.trim_ends(&next);
        }
        self.checkpoint_if_due();
    }

    /// The TRIM completes when the records so far survive a cut: pages that it found unmapped may be so by one of them.
    fn trim_ends(&mut self, trim: &WaitingTrim) {
        let now = self.array.now;
        let power = self.power.as_ref().expect("a device whose power may be cut");
        let controller = self.array.times.controller_ns;
        let end = Nanos(now.0 + controller).max(power.nvram.safe_at());
        let arrival = self.front.requests.at(trim.slot).arrival;
        debug_assert!(arrival <= trim.since && trim.since <= now, "it waits from the future");
        let part = Part { request: trim.slot, number: 0 };
        let work = Work::HostRead { part, rest: Ppn::NONE };
        let mut op = Op::new(work, Lpn::NONE, PlaneId(0), now);
        op.parts = Parts {
            queue_ns: (trim.since - arrival).0,
            transfer_ns: controller,
            metadata_ns: (now - trim.since).0 + (end.0 - now.0 - controller),
            ..Parts::default()
        };
        let slot = self.array.ops.insert(op);
        self.array.set_timer(end, Timer::Served(slot));
    }

    /// Whether the erase in `slot`, taken from a queue of `unit`, has to wait for records: then it is queued again when
    /// they survive a cut.
    pub(crate) fn erase_waits(&mut self, unit: usize, slot: OpSlot) -> bool {
        let Some(power) = &self.power else { return false };
        let safe = power.nvram.safe_at();
        debug_assert_eq!(self.array.units[unit].running, OpSlot::NONE, "unit {unit} is busy");
        if safe <= self.array.now {
            return false;
        }
        self.leave_queue(unit, slot);
        self.ledger.measured.power.erases_waited += 1;
        self.array.set_timer(safe, Timer::Recorded(slot));
        true
    }

    /// The records for which the erase in `slot` has waited survive a cut.
    pub(crate) fn erase_may_start(&mut self, slot: OpSlot) {
        debug_assert_eq!(self.array.ops[slot].kind(), OpKind::Erase, "{slot:?} waits for nothing");
        debug_assert!(self.gc.collects(self.array.ops[slot].pool()), "{slot:?} has no job");
        self.enqueue(slot, W_GC);
    }
}
