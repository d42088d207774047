//! The path between host and flash queues: over the link, and through the ECC decoder. How a page leaves the device is
//! in `finish`.

use super::array::event::Timer;
use super::array::op::OpKind;
use super::core::Core;
use super::front::byte_range;
use super::ssd::Ssd;
use crate::ftl::map::Entry;
use crate::host::link::Destination;
use crate::metrics::counters::Parts;
use crate::sched::order::{R_HOST, W_HOST};
use crate::units::{Nanos, OpSlot};

impl Core {
    /// Let the page in `slot` enter the ECC decoder.
    #[inline(never)]
    pub(crate) fn decode(&mut self, slot: OpSlot, parts: &Parts) {
        let ns = self.array.times.host_ecc_ns;
        assert!(ns > 0, "there is no decoder");
        assert!(self.array.ops[slot].kind().is_read(), "a page that was not read is decoded");
        self.array.ops[slot].parts = Parts { transfer_ns: parts.transfer_ns + ns, ..*parts };
        self.array.set_timer(Nanos(self.array.now.0 + ns), Timer::Decoded(slot));
    }

    /// Sectors of the page in `slot` that the request of this read asks for, also where the write buffer holds some of
    /// them.
    #[inline(never)]
    pub(crate) fn sectors_asked(&self, slot: OpSlot) -> u64 {
        let op = &self.array.ops[slot];
        debug_assert_eq!(op.kind(), OpKind::HostRead, "the host does not read {slot:?}");
        let request = &self.front.requests.at(op.part().request).request;
        let ((from, to), _) = byte_range(&self.ftl.geo, request, op.lpn);
        (to - from) as u64 / 512
    }

    /// Array time of the retries of the read in `slot`, which is about to start.
    #[inline(never)]
    pub(crate) fn retries_ns(&mut self, slot: OpSlot) -> u64 {
        let page = self.array.ops[slot].ppn;
        let read_ns = self.array.times.read_of::<true>(|| self.ftl.type_of(page));
        let op = &self.array.ops[slot];
        let erases = self.ftl.blocks.erases[self.ftl.geo.block_of(op.ppn).at()];
        let errors = self.array.way.read_errors.as_mut().expect("the caller has checked");
        debug_assert!(op.kind().is_read(), "{:?} is repeated", op.kind());
        let retries = u64::from(errors.retries(erases));
        self.ledger.measured.flash.retries[op.cause().at()] += retries;
        retries * errors.retry_ns(read_ns)
    }
}

impl Ssd {
    /// Start the page of a write in `slot`, which has been admitted over `old`, on its way.
    #[inline(never)]
    pub(crate) fn page_comes_in(&mut self, slot: OpSlot, old: Entry) {
        debug_assert!(!self.core.front.writes_go_straight, "a page passes neither link nor buffer");
        let op = &self.core.array.ops[slot];
        let request = &self.core.front.requests.at(op.part().request).request;
        let (range, _) = byte_range(&self.core.ftl.geo, request, op.lpn);
        if self.core.front.buffer.is_some() {
            self.hold(slot, old, range);
        }
        let Some(link) = &mut self.core.front.link else { return self.page_is_in(slot) };
        let (begin, end) =
            link.carry(self.core.array.now, Destination::Device, (range.1 - range.0) as u64);
        assert!(end >= link.write_from, "a page has crossed before its write began to");
        let op = &mut self.core.array.ops[slot];
        if op.part().number == 0 {
            link.write_from = begin;
        }
        // The pages of a write cross one after the other; their sum is its time on the link.
        op.parts.queue_ns += (link.write_from - self.core.array.now).0;
        op.parts.transfer_ns += (end - link.write_from).0;
        self.core.array.set_timer(end, Timer::TransferredIn(slot));
    }

    /// Note that the page in `slot` has crossed the link.
    pub(crate) fn page_is_in(&mut self, slot: OpSlot) {
        if let Some(update) = self.core.array.ops[slot].update() {
            return self.receive_page_of_group(slot, update);
        }
        let kind = self.core.array.ops[slot].kind();
        debug_assert!(matches!(kind, OpKind::HostWrite | OpKind::RmwRead), "a {kind:?} comes in");
        if self.core.front.buffer.is_some() {
            self.page_waits(slot);
        } else {
            let reads = self.core.array.ops[slot].kind() == OpKind::RmwRead;
            self.core.enqueue(slot, if reads { R_HOST } else { W_HOST });
        }
    }

    /// End a read for the host; `parts`: where its time went so far. The page is decoded, then goes to the host.
    #[inline(always)]
    pub(crate) fn page_is_read(&mut self, slot: OpSlot, parts: &Parts) {
        debug_assert!(self.core.array.ops[slot].kind().is_read(), "{slot:?} has read nothing");
        if self.core.array.times.host_ecc_ns > 0 {
            self.core.decode(slot, parts);
        } else {
            self.page_goes_out(slot, parts);
        }
    }

    /// Note that the page in `slot` leaves the decoder.
    pub(crate) fn page_is_decoded(&mut self, slot: OpSlot) {
        debug_assert!(self.core.array.ops[slot].kind().is_read(), "{slot:?} has read nothing");
        let parts = self.core.array.ops[slot].parts;
        match self.core.array.ops[slot].kind() {
            OpKind::HostRead => self.page_goes_out(slot, &parts),
            OpKind::RmwRead => self.rmw_becomes_write(slot),
            OpKind::GroupRead => {
                let update = self.core.array.ops[slot].update().expect("a read for an update");
                self.receive_source(slot, update, &parts);
            }
            OpKind::SourceRead => self.receive_copied(slot, &parts),
            OpKind::RecoveryRead => {
                let recovery = self.core.array.ops[slot].recovery().expect("a read for one");
                self.receive_recovery_page(slot, recovery, &parts);
            }
            _ => {
                let moved = *self.core.array.ops[slot].moved();
                self.core.gc_decoded::<true>(slot, moved);
            }
        }
    }
}
