//! Records: a TRIM or a copy is acknowledged when its records survive a cut. An erase waits for all records before it,
//! including those of the owners of pages that were moved out of its block.

use super::{Power, UnrecordedPart};
use crate::ftl::map::Entry;
use crate::ftl::owners::Claim;
use crate::metrics::counters::Parts;
use crate::metrics::inputs::RecordCounts;
use crate::nand::nvram::Record;
use crate::sched::order::W_GC;
use crate::sim::array::event::Timer;
use crate::sim::array::op::OpKind;
use crate::sim::core::Core;
use crate::sim::front::Pages;
use crate::sim::ssd::Ssd;
use crate::units::{Lpn, Nanos, OpSlot, Ppn, RequestSlot};

impl Power {
    /// Whether a cut at `now` would lose records.
    pub(crate) fn lacks_records(&self, now: Nanos) -> bool {
        debug_assert!(self.off_since.is_none(), "nothing is acknowledged without power");
        !self.backlog.is_empty() || self.nvram.safe_at() > now
    }
}

impl Core {
    /// Whether a mount would need `record`.
    fn is_live(&self, record: &Record) -> bool {
        debug_assert!(record.sequence() <= self.front.sequence, "{record:?} is to come");
        let committed = |lpn: Lpn| self.ftl.owners.committed(lpn);
        match *record {
            Record::Trim { first, pages, .. } => {
                (first.0..first.0 + pages).any(|lpn| committed(Lpn(lpn)).is_none())
            }
            Record::Share { lpn, page, sequence, .. } => {
                committed(lpn) == Some(page) && self.ftl.owner_sequence(lpn, page) == sequence
            }
        }
    }

    /// Claim a page of the host that has been programmed where power may be cut: it may become the committed one under
    /// newer data.
    #[inline(never)]
    pub(crate) fn claim_under_cuts(&mut self, slot: OpSlot, lpn: Lpn, ppn: Ppn) -> Claim {
        let sequence = self.array.ops[slot].sequence;
        let claim = self.ftl.claim_under_cuts(lpn, slot, ppn, sequence);
        if let Claim::Committed(before) = claim
            && matches!(self.ftl.owners.newest(lpn), Entry::Slot(_))
        {
            before.into_iter().for_each(|page| self.wake_readers(page));
        }
        claim
    }

    /// Start the erase in `slot`, because the records for which it has waited survive a cut.
    pub(crate) fn erase_may_start(&mut self, slot: OpSlot) {
        debug_assert_eq!(self.array.ops[slot].kind(), OpKind::Erase, "{slot:?} waits for nothing");
        debug_assert!(self.gc.collects(self.array.ops[slot].pool()), "{slot:?} has no job");
        self.enqueue(slot, W_GC);
    }
}

impl Ssd {
    /// The records that survive a power cut, now or once written; `None` if power is never cut.
    #[must_use]
    pub fn records_kept(&self) -> Option<RecordCounts> {
        let power = self.power.as_ref()?;
        let mut counts = RecordCounts::default();
        for record in power.nvram.records().chain(power.backlog.iter().copied()) {
            let (number, bytes) = if self.core.is_live(&record) {
                (&mut counts.live, &mut counts.live_bytes)
            } else {
                (&mut counts.stale, &mut counts.stale_bytes)
            };
            *number += 1;
            *bytes += record.bytes();
        }
        debug_assert!(
            counts.live + counts.stale >= power.nvram.len() as u64,
            "a record is nowhere"
        );
        Some(counts)
    }

    /// Admit the TRIM of `pages` in request slot `slot` where power may be cut: it takes effect now, and completes when
    /// its record survives a cut.
    ///
    /// `repeated`: it has been submitted before, and its pages count only once.
    #[inline(never)]
    pub(crate) fn trim_with_record(&mut self, slot: RequestSlot, pages: Pages, repeated: bool) {
        debug_assert!(
            pages.first + pages.count <= self.core.ftl.geo.user_pages,
            "beyond the device"
        );
        debug_assert!(!self.is_off(), "a TRIM arrives without power");
        if self.raid.is_some() {
            return self.trim_groups_with_records(slot, pages, repeated);
        }
        let lpns = (pages.first..pages.first + pages.count).map(Lpn);
        if lpns.clone().any(|lpn| self.core.ftl.owners.newest(lpn) != Entry::Unmapped) {
            let (first, sequence) = (Lpn(pages.first), self.core.front.sequence);
            let trimmed = lpns.map(|lpn| u64::from(self.unmap(lpn))).sum::<u64>();
            if !repeated {
                self.core.ledger.measured.host.pages_trimmed += trimmed;
            }
            let (power, core) = self.power_cuts();
            power.backlog.push_back(Record::Trim { first, pages: pages.count, sequence });
            // A checkpoint that begins now includes its effect.
            power.write_records(core);
            let waits = !power.backlog.is_empty();
            core.ledger.measured.power.trims_waited += u64::from(waits);
        }
        let (power, core) = self.power_cuts();
        power.end_when_recorded(core, slot, core.array.now);
    }
}

impl Power {
    /// Write records; those that find no room wait for the end of a checkpoint.
    pub(crate) fn write_records(&mut self, core: &mut Core) {
        let records = core.ftl.take_records();
        debug_assert!(self.off_since.is_none(), "records are written without power");
        self.backlog.extend(records);
        while let Some(record) = self.backlog.front() {
            if !self.nvram.has_room(record.bytes()) {
                break;
            }
            self.nvram.write(core.array.now, *record);
            let counts = &mut core.ledger.measured.power;
            match record {
                Record::Trim { .. } => counts.trim_records += 1,
                Record::Share { .. } => counts.owner_records += 1,
            }
            self.backlog.pop_front();
            self.passed += 1;
        }
        core.ledger.measured.power.nvram_peak = self.nvram.peak();
        self.checkpoint_if_due(core);
    }

    /// Continue what has waited for records, because a checkpoint has made room.
    pub(super) fn release_recorded(&mut self, core: &mut Core) {
        self.write_records(core);
        let passed = self.passed;
        while let Some(next) = self.unrecorded.pop_front_if(|next| next.passed <= passed) {
            self.end_when_written(core, next);
        }
        if self.backlog.is_empty() {
            debug_assert!(self.unrecorded.is_empty(), "a request waits for no record");
            let erases = std::mem::take(&mut self.erases);
            erases.into_iter().for_each(|slot| core.erase_may_start(slot));
        }
    }

    /// Complete a part of `request` when the records so far survive a cut: one of them may be why it found pages
    /// unmapped. It has waited for room since `since`.
    pub(crate) fn end_when_recorded(
        &mut self,
        core: &mut Core,
        request: RequestSlot,
        since: Nanos,
    ) {
        let queue_ns = (since - core.front.requests.at(request).arrival).0;
        debug_assert!(since <= core.array.now, "it waits from the future");
        let parts = Parts { queue_ns, ..Parts::default() };
        self.end_part_when_recorded(core, request, (since, parts));
    }

    /// As [`Power::end_when_recorded`]; until `since` the time of the request has gone to `parts`.
    pub(in crate::sim) fn end_part_when_recorded(
        &mut self,
        core: &mut Core,
        request: RequestSlot,
        (since, parts): (Nanos, Parts),
    ) {
        let passed = self.passed + self.backlog.len() as u64;
        let part = UnrecordedPart { request, since, parts, passed };
        if self.backlog.is_empty() {
            return self.end_when_written(core, part);
        }
        debug_assert!(passed > self.passed, "it waits for no record");
        self.unrecorded.push_back(part);
    }

    /// Complete a part of a request, whose records have found room, when they survive a cut.
    fn end_when_written(&mut self, core: &mut Core, part: UnrecordedPart) {
        let (now, UnrecordedPart { request, since, parts, .. }) = (core.array.now, part);
        let controller = core.array.times.controller_ns;
        let end = Nanos(now.0 + controller).max(self.nvram.safe_at());
        debug_assert!(since <= now, "it waits from the future");
        let parts = Parts {
            transfer_ns: parts.transfer_ns + controller,
            metadata_ns: parts.metadata_ns + (now - since).0 + (end.0 - now.0 - controller),
            ..parts
        };
        core.part_ends_at(end, request, parts);
    }

    /// Whether the erase in `slot`, taken from a queue of `unit`, has to wait for records. It is then queued again when
    /// they survive a cut.
    pub(crate) fn defer_erase(&mut self, core: &mut Core, unit: usize, slot: OpSlot) -> bool {
        let safe = self.nvram.safe_at();
        if !self.backlog.is_empty() {
            self.erases.push(slot);
            core.leave_queue(unit, slot);
            core.ledger.measured.power.erases_waited += 1;
            return true;
        }
        debug_assert_eq!(core.array.units[unit].running, OpSlot::NONE, "unit {unit} is busy");
        if safe <= core.array.now {
            return false;
        }
        core.leave_queue(unit, slot);
        core.ledger.measured.power.erases_waited += 1;
        core.array.set_timer(safe, Timer::Recorded(slot));
        true
    }
}
