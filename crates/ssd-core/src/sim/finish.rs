//! The ends of pages and requests: a page has been programmed, leaves the device or is unmapped. Then a part of its
//! request ends, flushes may complete, and pages may enter the write buffer.
//!
//! The features and the other steps of the route call these methods before they have finished. So these methods call
//! nothing of the route but each other.

use super::array::event::Timer;
use super::array::op::OpKind;
use super::contents;
use super::front::byte_range;
use super::ssd::Ssd;
use crate::ftl::map::Entry;
use crate::host::link::Destination;
use crate::host::request::Op as HostOp;
use crate::metrics::counters::Parts;
use crate::sched::order::W_HOST;
use crate::units::{Lpn, OpSlot, Ppn, RequestSlot};

impl Ssd {
    /// Note that the page of the operation in `slot` is on flash.
    #[inline(always)]
    pub(super) fn program_ends<const FULL: bool>(&mut self, slot: OpSlot, lpn: Lpn, ppn: Ppn) {
        debug_assert!(self.core.ftl.flash.is_torn(ppn), "{ppn:?} is not being programmed");
        self.core.ftl.flash.end_program(ppn, lpn);
        if FULL && self.core.ftl.flash.keeps_contents() {
            contents::store(self.contents.as_deref(), &mut self.core, slot);
        }
    }

    /// Program the page of a partial write whose rest has been read (or need not be).
    pub(crate) fn rmw_becomes_write(&mut self, slot: OpSlot) {
        debug_assert!(self.core.array.ops[slot].sequence > 0, "{slot:?} has not been admitted");
        let lpn = self.core.array.ops[slot].lpn;
        let plane = self.core.place::<true>(lpn, self.core.array.ops[slot].stream());
        let op = &mut self.core.array.ops[slot];
        op.becomes_host_write();
        op.plane = plane;
        if op.copies()
            && let Some(copies) = &mut self.copies
        {
            copies.count_read(&mut self.core, slot);
        }
        if let Some(page) = self.core.ftl.owners.under(slot) {
            // Its page is complete now: reads do not need the rest from flash.
            self.core.wake_readers(page);
        }
        self.core.enqueue(slot, W_HOST);
    }

    /// Serve a read from the controller: its page is in flight or unmapped.
    pub(super) fn serve(&mut self, slot: OpSlot) {
        debug_assert!(self.core.array.ops[slot].kind().is_read(), "{slot:?} is not read");
        if let Some(contents) = &mut self.contents {
            contents.check_served(&mut self.core, slot);
        }
        self.core.serve(slot);
    }

    /// Note that the page in `slot` is complete for its request; if it belongs to a read, it crosses the link.
    #[inline(always)]
    pub(crate) fn page_goes_out(&mut self, slot: OpSlot, parts: &Parts) {
        debug_assert!(self.core.array.ops[slot].kind().is_host(), "{slot:?} serves no request");
        if self.core.front.link.is_none() {
            self.finish_part(slot, parts);
        } else {
            self.send_to_host(slot, parts);
        }
    }

    #[inline(never)]
    fn send_to_host(&mut self, slot: OpSlot, parts: &Parts) {
        let op = &mut self.core.array.ops[slot];
        let request = &self.core.front.requests.at(op.part().request).request;
        if request.op != HostOp::Read {
            return self.finish_part(slot, parts);
        }
        debug_assert_eq!(op.kind(), OpKind::HostRead, "part of a read");
        let (range, _) = byte_range(&self.core.ftl.geo, request, op.lpn);
        let link = self.core.front.link.as_mut().expect("the caller has checked");
        let (begin, end) =
            link.carry(self.core.array.now, Destination::Host, (range.1 - range.0) as u64);
        debug_assert!(
            self.core.array.now <= begin && begin <= end,
            "a page crosses before it is read"
        );
        op.parts = *parts;
        op.parts.queue_ns += (begin - self.core.array.now).0;
        op.parts.transfer_ns += (end - begin).0;
        self.core.array.set_timer(end, Timer::TransferredOut(slot));
    }

    /// Finish a page operation of a request; `parts`: where its time went.
    #[inline(always)]
    pub(crate) fn finish_part(&mut self, slot: OpSlot, parts: &Parts) {
        let owner = self.core.array.ops[slot].part().request;
        self.finish_part_of(owner, slot, parts);
    }

    /// Finish a page operation of the request `owner`; `parts`: where its time went.
    #[inline(always)]
    pub(super) fn finish_part_of(&mut self, owner: RequestSlot, slot: OpSlot, parts: &Parts) {
        debug_assert_eq!(
            self.core.array.ops[slot].part().request,
            owner,
            "a part of another request"
        );
        self.core.array.ops.remove(slot);
        self.part_ends(owner, parts);
    }

    /// Finish the page in `slot`, which has been programmed; the parts in its operation say where its time went.
    #[inline(never)]
    pub(crate) fn release_held(&mut self, slot: OpSlot, parts: &Parts) {
        let page = self.core.buffered_page(slot);
        debug_assert!(
            !self.core.ftl.flash.is_torn(self.core.array.ops[slot].ppn),
            "{slot:?} is programmed"
        );
        debug_assert_eq!(
            self.core.array.ops[slot].kind(),
            OpKind::HostWrite,
            "it was not programmed"
        );
        if page.fua {
            self.finish_part(slot, parts);
        } else {
            self.core.array.ops.remove(slot);
        }
        self.core.front.buffer.as_mut().expect("it was held").leave();
        self.core.front.epochs.write_completes(page.epoch);
        self.let_in(parts.gc_wait_ns);
        if self.core.front.epochs.flush_waits() {
            self.complete_flushes();
        }
    }

    /// Finish the page of the copy in `slot`, which has its data, or newer ones, or none.
    #[inline(never)]
    pub(super) fn end_unprogrammed(&mut self, slot: OpSlot) {
        let op = &self.core.array.ops[slot];
        debug_assert!(op.copies() || op.kind() == OpKind::HostCopy, "{slot:?} is no copy");
        debug_assert!(
            !self.core.ftl.owners.is_newest(op.lpn, slot),
            "{slot:?} has to be programmed"
        );
        let request = op.part().request;
        self.core.array.ops.remove(slot);
        self.end_after_others(request);
    }

    /// End a part of the request in `slot`; if it was the last one, `parts` say where the time went.
    #[inline(never)]
    pub(super) fn part_ends(&mut self, slot: RequestSlot, parts: &Parts) {
        let now = self.core.array.now;
        debug_assert!(!self.core.front.requests.at(slot).parts.is_done(), "it has no part left");
        let Some(request) = self.core.front.part_ends(slot, now) else {
            if self.core.front.firmware.is_some() {
                self.core.firmware_may_begin(slot, parts);
            }
            return;
        };
        self.core.ledger.completed(now, request, parts);
        if let Some(log) = &mut self.logs.requests {
            log.log_request(now, request, parts, &self.core.ftl.geo);
        }
        if self.core.front.epochs.flush_waits() {
            self.complete_flushes();
        }
    }

    #[inline(never)]
    pub(crate) fn complete_flushes(&mut self) {
        while let Some(slot) = self.core.front.epochs.next_flush() {
            let waits = !self.core.front.requests.at(slot).parts.is_done();
            assert!(waits, "the request of a flush has completed before it");
            // A write that it covers may have been replaced by a copy or a TRIM, whose record is not written yet.
            self.end_after_others(slot);
        }
    }

    /// End a part of the request in `slot` that has waited for other requests; if power may be cut, once the records so
    /// far survive.
    pub(super) fn end_after_others(&mut self, slot: RequestSlot) {
        let now = self.core.array.now;
        if let Some(power) = &mut self.power
            && power.lacks_records(now)
        {
            return power.end_when_recorded(&mut self.core, slot, now);
        }
        let arrival = self.core.front.requests.at(slot).arrival;
        debug_assert!(arrival <= now, "a request ends before it arrives");
        self.part_ends(slot, &Parts { queue_ns: (now - arrival).0, ..Parts::default() });
        self.admit_after_flush();
    }

    /// Let pages of writes that waited for a flush enter, because it has ended.
    #[inline(never)]
    pub(super) fn admit_after_flush(&mut self) {
        if self.core.front.buffer.is_some() {
            self.let_in(0);
        }
    }

    /// Let pages enter the buffer, which a page that had waited `gc_wait_ns` for collection may have made room for.
    pub(crate) fn let_in(&mut self, gc_wait_ns: u64) {
        self.core.admit_waiting(gc_wait_ns);
        if self.raid.is_some() {
            self.end_void_pages();
        }
        // A page that was dropped may have been the last for which a flush has waited.
        if self.core.ftl.groups.is_some() && self.core.front.epochs.flush_waits() {
            self.complete_flushes();
        }
    }

    /// End what has waited for void pages of the buffer whose TRIMs have committed: writes with FUA when the records of
    /// the TRIMs survive a cut, and flushes, which wait for the records themselves.
    #[inline(never)]
    fn end_void_pages(&mut self) {
        let (Some(power), core) = (&mut self.power, &mut self.core) else { return };
        let Some(buffer) = &mut core.front.buffer else { return };
        for page in buffer.take_void() {
            core.front.epochs.write_completes(page.epoch);
            if let Some(request) = page.request {
                power.end_when_recorded(core, request, core.array.now);
            }
        }
    }

    /// Unmap `lpn`. Returns whether it had data.
    pub(super) fn unmap(&mut self, lpn: Lpn) -> bool {
        debug_assert!(lpn.0 < self.core.ftl.geo.user_pages, "{lpn:?} is beyond the device");
        let (old, committed) = self.core.ftl.trim(lpn);
        if old == Entry::Unmapped {
            return false;
        }
        debug_assert_eq!(
            self.core.ftl.owners.newest(lpn),
            Entry::Unmapped,
            "{lpn:?} has been trimmed"
        );
        if let Some(page) = committed {
            self.core.page_left(page);
        }
        if let Some(contents) = &mut self.contents {
            contents.trim(lpn);
        }
        if let Entry::Slot(slot) = old {
            self.trim_held(slot);
        }
        true
    }

    /// Note that an LPN whose newest data were in `slot` has been trimmed.
    #[inline(never)]
    pub(crate) fn trim_held(&mut self, slot: OpSlot) {
        if self.core.front.buffer.is_some() {
            self.core.drop_trimmed(slot);
            self.let_in(0);
        }
    }
}
