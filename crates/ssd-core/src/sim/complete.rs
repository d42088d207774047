//! Completion: operations end, pages commit, requests complete.

use super::event::Timer;
use super::log::{FlashOp, OpRecord, phase_times};
use super::op::{Moved, OpKind, Part, Phases, Queue, Work};
use super::request::RequestRecord;
use super::ssd::Ssd;
use crate::ftl::map::Entry;
use crate::ftl::owners::Claim;
use crate::host::device::DeviceError;
use crate::host::request::{Completion, Op as HostOp, RequestId};
use crate::metrics::counters::Parts;
use crate::nand::media::Payload;
use crate::sched::order::W_HOST;
use crate::units::{Nanos, OpSlot, Ppn, RequestSlot};

impl Ssd {
    /// The operation on `unit`, and those that ran with it, end.
    #[inline(always)]
    pub(crate) fn operation_ends(&mut self, unit: usize) {
        let u = &mut self.units[unit];
        let slot = u.running;
        let kind = self.ops[slot].kind();
        let (array_ns, bus_ns, since) = (u.array_ns, u.bus_ns, u.since);
        u.vacate(self.now);
        self.ready.insert(unit as u32);
        if self.watch_activity {
            let plane = self.ops[slot].plane;
            self.activity_ends(plane);
        }
        let service = (self.now - since).0;
        assert!(service >= array_ns + bus_ns, "an operation was shorter than its phases");
        let waited_ns = service - array_ns - bus_ns;
        let mut also = std::mem::replace(&mut self.units[unit].also, Queue::EMPTY).head();
        if self.log.is_some() {
            self.log_operations(slot, also, since);
        }
        self.ended(unit, slot, array_ns, bus_ns, waited_ns);
        while also != OpSlot::NONE {
            let next = self.ops[also].next;
            self.ended(unit, also, array_ns, bus_ns, waited_ns);
            also = next;
        }
        if kind.is_host() {
            self.note_idle(unit);
        }
    }

    #[inline]
    fn ended(&mut self, unit: usize, slot: OpSlot, array_ns: u64, bus_ns: u64, waited_ns: u64) {
        let op = &mut self.ops[slot];
        let (kind, ppn, lpn) = (op.kind(), op.ppn, op.lpn);
        let parts = Parts {
            queue_ns: op.parts.queue_ns + waited_ns,
            chip_ns: op.parts.chip_ns + array_ns,
            transfer_ns: op.parts.transfer_ns + bus_ns,
            gc_wait_ns: op.parts.gc_wait_ns,
            metadata_ns: op.parts.metadata_ns,
        };
        self.units[unit].load -= 1;
        self.units[unit].host_load -= u32::from(kind.is_host());
        self.note(u64::from(lpn.0) << 32 | u64::from(ppn.0), kind as u64);
        match kind {
            OpKind::HostRead => {
                self.check_read(slot);
                self.page_is_read(slot, &parts);
            }
            OpKind::RmwRead => {
                self.check_read(slot);
                self.ops[slot].parts = parts;
                if self.times.host_ecc_ns > 0 {
                    self.decode(slot, &parts);
                } else {
                    self.rmw_becomes_write(slot);
                }
            }
            OpKind::HostWrite => self.commit_host(slot, &parts),
            OpKind::GcRead => self.gc_read_ends(slot),
            OpKind::GcWrite | OpKind::GcCopyback => self.commit_copy(slot),
            OpKind::Erase => self.erase_ends(slot),
        }
    }

    /// The host's page has been programmed: the map switches if it is still the newest admitted write.
    #[inline(always)]
    fn commit_host(&mut self, slot: OpSlot, parts: &Parts) {
        let op = &self.ops[slot];
        let (lpn, ppn) = (op.lpn, op.ppn);
        if let Claim::Committed(Some(before)) = self.ftl.claim(lpn, slot, ppn) {
            self.page_disowned(before);
        }
        self.settle(ppn);
        let pool = self.ftl.geo.pool_of(self.ops[slot].plane);
        let opened = self.ftl.space.take_opened(pool);
        self.gc.agenda.page_written(pool, opened);
        if self.buffer.is_none() {
            self.finish_part(slot, parts);
        } else {
            self.held_is_on_flash(slot, parts);
        }
    }

    /// A copy has been programmed: the map switches to it if the page still has its owner.
    fn commit_copy(&mut self, slot: OpSlot) {
        let op = &self.ops[slot];
        let (lpn, target, Moved { source, pool, .. }) = (op.lpn, op.ppn, *op.moved());
        let cause = op.job_cause();
        if self.ftl.relocate(source, target, lpn) {
            self.page_disowned(source);
            self.wake_readers(source);
            self.gc.held.hold(pool, target);
            self.measured.moves(cause).moved += 1;
        } else {
            self.measured.moves(cause).stale += 1;
        }
        self.settle(target);
        if self.gc.watches_way && self.ops[slot].kind() == OpKind::GcWrite {
            self.give_buffer(slot);
        }
        self.gc_page_ends(slot);
    }

    /// A page has become invalid; pools that found nothing to collect look again.
    #[inline(always)]
    pub(crate) fn page_disowned(&mut self, ppn: Ppn) {
        if self.gc.agenda.watches_releases() {
            self.gc.agenda.page_released(self.ftl.blocks.pool_of(self.ftl.geo.block_of(ppn)));
        }
    }

    fn settle(&mut self, ppn: Ppn) {
        self.ftl.settle(ppn);
        if self.gc.agenda.watches_releases() {
            self.gc.agenda.page_released(self.ftl.blocks.pool_of(self.ftl.geo.block_of(ppn)));
        }
    }

    /// The page of a partial write has been read (or need not be): program it.
    pub(crate) fn rmw_becomes_write(&mut self, slot: OpSlot) {
        let lpn = self.ops[slot].lpn;
        let plane = self.place(lpn);
        let op = &mut self.ops[slot];
        op.becomes_host_write();
        op.plane = plane;
        if let Some(page) = self.ftl.owners.under(slot) {
            // Its page is complete now: reads do not need the rest of it from flash.
            self.wake_readers(page);
        }
        self.enqueue(slot, W_HOST);
    }

    /// A read of flash returns: check that its data are the newest admitted.
    fn check_read(&mut self, slot: OpSlot) {
        let Some(content) = &mut self.content else { return };
        let expected = self.ops.detail(slot).expected;
        let op = &self.ops[slot];
        if op.reads_rest() {
            return;
        }
        let payload = self.ftl.media.payload(op.ppn);
        if payload.digest != expected {
            self.failure.get_or_insert(DeviceError::Data(format!(
                "LPN {} read from page {} has digest {:016x}, newest admitted is {:016x}",
                op.lpn.0, op.ppn.0, payload.digest, expected
            )));
        }
        if op.kind() == OpKind::HostRead {
            let (part, lpn) = (op.part(), op.lpn);
            deliver(content, &mut self.requests, part, lpn, &payload, &self.ftl.geo);
        }
    }

    /// The controller serves a read: check that its data are the newest admitted.
    pub(crate) fn check_served(&mut self, slot: OpSlot) {
        let Some(content) = &mut self.content else { return };
        let (lpn, part) = (self.ops[slot].lpn, self.ops[slot].part());
        let payload = match self.ftl.owners.newest(lpn) {
            Entry::Slot(newer) => content.of_slot(newer).clone(),
            _ => Payload::default(),
        };
        if payload.digest != content.expected(lpn) {
            self.failure.get_or_insert(DeviceError::Data(format!(
                "LPN {} served by the controller is not the newest admitted",
                lpn.0
            )));
        }
        deliver(content, &mut self.requests, part, lpn, &payload, &self.ftl.geo);
    }

    pub(crate) fn timer_events(&mut self) {
        while let Some(timer) = self.timers.take_at(self.now) {
            match timer {
                Timer::Served(slot) => {
                    let parts = self.ops[slot].parts;
                    self.page_goes_out(slot, &parts);
                }
                Timer::WentOut(slot) => {
                    let parts = self.ops[slot].parts;
                    self.finish_part(slot, &parts);
                }
                Timer::CameIn(slot) => self.page_is_in(slot),
                Timer::Decoded(slot) => self.page_is_decoded(slot),
                Timer::Idle(unit) => self.gc.idle_units.push(unit),
            }
        }
        self.arm_timers();
    }

    pub(crate) fn set_timer(&mut self, at: Nanos, timer: Timer) {
        // A time that is too late ends the run when it comes; no event can be later.
        self.timers.push(at.min(Nanos(self.latest_ns + 1)), timer);
        self.arm_timers();
    }

    fn arm_timers(&mut self) {
        let resource = self.timer_resource();
        let next = self.timers.next_time().unwrap_or(Nanos::NEVER);
        self.events.reschedule(resource, next);
    }

    /// One page operation of a request has finished; `parts`: where its time went.
    #[inline(always)]
    pub(crate) fn finish_part(&mut self, slot: OpSlot, parts: &Parts) {
        let owner = self.ops[slot].part().request;
        self.ops.remove(slot);
        let request = self.requests.get(owner);
        assert!(request.left > 0, "request {} has no part left", request.id);
        request.left -= 1;
        if request.left == 0 {
            self.complete_request(owner, parts);
        }
    }

    /// The last page operation of a request has finished; `parts` are those of that operation.
    #[inline]
    fn complete_request(&mut self, slot: RequestSlot, parts: &Parts) {
        let r = self.requests.remove(slot);
        let latency = self.now - r.arrival;
        assert_eq!(parts.total(), latency.0, "parts of request {}: {parts:?}", r.id);
        if r.id >= self.warmup {
            self.measured.complete(self.now, &r.request, latency, parts);
        } else {
            self.measured.complete_unmeasured(self.now);
        }
        let completion = Completion {
            id: RequestId(r.id),
            arrival: r.arrival,
            at: self.now,
            op: r.request.op,
            digest: r.digest,
        };
        if r.request.op == HostOp::Write {
            self.epochs.write_completes(r.epoch);
        }
        if self.requests.log.is_some() {
            self.log_request(slot, parts);
        }
        self.note(completion.id.0, completion.digest);
        self.done.push(completion);
        if self.epochs.flush_waits() {
            self.complete_flushes();
        }
    }

    #[inline(never)]
    pub(crate) fn complete_flushes(&mut self) {
        while let Some(slot) = self.epochs.next_flush() {
            let request = self.requests.get(slot);
            assert!(request.left > 0, "flush {} has completed", request.id);
            request.left -= 1;
            if request.left == 0 {
                let waited = self.now - request.arrival;
                let parts = Parts { queue_ns: waited.0, ..Parts::default() };
                self.complete_request(slot, &parts);
            }
        }
    }

    /// Append a line to the request log.
    #[inline(never)]
    fn log_request(&mut self, slot: RequestSlot, parts: &Parts) {
        let r = self.requests.get(slot);
        let pages = super::admit::pages_of(&self.ftl.geo, &r.request);
        let record = RequestRecord {
            id: r.id,
            request: r.request,
            lpn: pages.first,
            pages: pages.count,
            arrival: r.arrival,
            completion: self.now,
            parts: *parts,
            digest: r.digest,
        };
        self.requests.log.as_mut().expect("only with a log").push(record);
    }

    /// Write the records of the operation in `slot` and of those that ran with it, from `also` on.
    #[inline(never)]
    fn log_operations(&mut self, slot: OpSlot, mut also: OpSlot, start: Nanos) {
        let phases = self.ops.detail(slot).phases;
        self.log_operation(slot, start, &phases);
        while also != OpSlot::NONE {
            self.log_operation(also, start, &phases);
            also = self.ops[also].next;
        }
    }

    fn log_operation(&mut self, slot: OpSlot, start: Nanos, phases: &Phases) {
        let row = self.ops.detail(slot).row;
        let op = &self.ops[slot];
        let [bus, array] = phase_times(phases);
        let (at, erase) = match op.work {
            Work::Erase { first, .. } => (first, true),
            _ => (op.ppn, false),
        };
        let request = op.kind().is_host().then(|| self.request_of(slot));
        let what = match op.kind() {
            OpKind::HostRead | OpKind::RmwRead | OpKind::GcRead => FlashOp::Read,
            OpKind::HostWrite | OpKind::GcWrite | OpKind::GcCopyback => FlashOp::Program,
            OpKind::Erase => FlashOp::Erase,
        };
        let mut record = OpRecord {
            op: what,
            cause: op.cause(),
            place: self.ftl.geo.place(at),
            lpn: op.lpn.0,
            sequence: if erase { 0 } else { self.ftl.media.sequence(op.ppn) },
            request,
            queued: op.queued,
            start,
            end: self.now,
            bus,
            array,
        };
        let work = op.work;
        let log = self.log.as_mut().expect("only with a log");
        if let Work::GcCopyback(Moved { source, .. }) = work {
            // A copy-back is a read and a program on one plane, one after the other.
            let between = Nanos(self.now.0 - self.times.program_ns);
            let place = self.ftl.geo.place(source);
            let first = record.array.map(|(start, _)| (start, between));
            let read = OpRecord { op: FlashOp::Read, place, end: between, array: first, ..record };
            log.close(row, read);
            record.start = between;
            record.array = Some((between, self.now));
            log.close(row + 1, OpRecord { bus: None, ..record });
        } else {
            log.close(row, record);
        }
    }

    /// Return the operation records that are complete, in order of start.
    pub fn drain_operations(&mut self, out: &mut Vec<super::log::OpRecord>) {
        if let Some(log) = &mut self.log {
            log.drain(out);
        }
    }

    /// Return the records of completed requests, in order of completion.
    pub fn drain_requests(&mut self, out: &mut Vec<RequestRecord>) {
        if let Some(log) = &mut self.requests.log {
            out.append(log);
        }
    }

    /// A GC page has been read: decode it, then program it.
    fn gc_read_ends(&mut self, slot: OpSlot) {
        if self.gc.watches_way && self.gc_read_is_judged(slot) {
            return;
        }
        let ecc = self.gc.ecc_ns;
        if ecc == 0 {
            self.gc_decoded(slot);
        } else {
            self.set_timer(Nanos(self.now.0 + ecc), Timer::Decoded(slot));
        }
    }

    fn erase_ends(&mut self, slot: OpSlot) {
        let pool = self.ops[slot].pool();
        self.ops.remove(slot);
        self.member_erased(pool);
    }
}

/// Give the bytes and the digest of one page read to its request.
fn deliver(
    content: &mut super::content::Content,
    requests: &mut super::request::Requests,
    part: Part,
    lpn: crate::units::Lpn,
    page: &Payload,
    geo: &crate::nand::geometry::Geometry,
) {
    let request = requests.get(part.request);
    let mixed = (page.digest ^ u64::from(part.number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    request.digest = request.digest.wrapping_add(mixed);
    let r = &request.request;
    let (range, at) = super::admit::byte_range(geo, r, lpn);
    content.deliver(request.id, r.sectors as usize * 512, at, range, page);
}
