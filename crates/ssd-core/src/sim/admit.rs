//! Admission: a request arrives and becomes page operations.

use super::array::Array;
use super::array::event::Timer;
use super::array::op::{Op, Part, Work};
use super::collector::Collector;
use super::core::Core;
use super::front::{Pages, byte_range, is_of_whole_pages, pages_of};
use super::join::Join;
use super::raid::parts_of_write;
use super::ssd::{Loop, Ssd};
use crate::ftl::Ftl;
use crate::ftl::gc::Demand;
use crate::ftl::map::Entry;
use crate::ftl::place::{PlacementPolicy, Planes};
use crate::host::device::DeviceError;
use crate::host::request::{Op as HostOp, Request, RequestId};
use crate::metrics::counters::Parts;
use crate::sched::order::{R_HOST, W_HOST};
use crate::units::{Lpn, Nanos, OpSlot, PlaneId, Ppn, RequestSlot, UnitId};

/// What a placement sees.
struct PlanesView<'a> {
    ftl: &'a Ftl,
    array: &'a Array,
    gc: &'a Collector,
}

impl Planes for PlanesView<'_> {
    #[inline]
    fn load(&self, plane: PlaneId) -> u32 {
        debug_assert!(plane.0 < self.ftl.geo.planes, "there is no {plane:?}");
        self.array.units[self.ftl.geo.unit_of(plane).at()].load.total
    }

    fn demand(&self, plane: PlaneId) -> Demand {
        self.gc.agenda.demand(&self.ftl.space_view(self.ftl.geo.pool_of(plane)))
    }

    fn collects(&self, plane: PlaneId) -> bool {
        self.gc.collects(self.ftl.geo.pool_of(plane))
    }
}

impl Core {
    /// Whether a write has a reclaim unit handle, if the device has handles.
    #[inline(never)]
    pub(super) fn check_handle(&self, request: &Request) -> Result<(), DeviceError> {
        debug_assert!(self.ftl.separates() || self.ftl.handles().is_none(), "half of a policy");
        let writes = matches!(request.op, HostOp::Write | HostOp::Copy);
        let lacks = if writes { self.ftl.lacks_handle(request.stream) } else { None };
        let id = self.front.submitted;
        lacks.map_or(Ok(()), |reason| Err(DeviceError::BadRequest { id, reason }))
    }

    /// An operation for a request, which may have waited in the host.
    pub(super) fn host_op(&self, work: Work, lpn: Lpn, plane: PlaneId) -> Op {
        let mut op = Op::new(work, lpn, plane, self.array.now);
        debug_assert!(
            self.front.requests.at(op.part().request).arrival <= self.array.now,
            "an operation of a request that has not arrived"
        );
        let waited = self.array.now - self.front.requests.at(op.part().request).arrival;
        op.parts.queue_ns = waited.0;
        op
    }

    /// A page of a write that overwrites all of it and has waited in the host before.
    #[inline(always)]
    fn admit_whole_page<const FULL: bool>(
        &mut self,
        part: Part,
        lpn: Lpn,
        (stream, pages): (u8, u32),
        waited: Nanos,
    ) {
        debug_assert!(self.front.writes_go_straight, "{lpn:?} passes link or buffer first");
        self.front.sequence += 1;
        let stream = if FULL { self.ftl.class_of_write(lpn, stream, pages) } else { stream };
        let plane = self.place::<FULL>(lpn, stream);
        let unit = if FULL { self.ftl.geo.unit_of(plane) } else { UnitId(plane.0) };
        debug_assert_eq!(self.ftl.geo.unit_of(plane), unit, "a unit of several planes");
        let work = Work::HostWrite { part, stream, copies: false };
        let op = Op {
            sequence: self.front.sequence,
            parts: Parts { queue_ns: waited.0, ..Parts::default() },
            ..Op::new(work, lpn, plane, self.array.now)
        };
        let slot = self.array.insert_host(unit, op, W_HOST);
        let left = self.ftl.admit(lpn, slot);
        if FULL && let Some(page) = left {
            self.wake_readers(page);
        }
        debug_assert!(self.ftl.owners.is_newest(lpn, slot), "{lpn:?} is not admitted");
    }

    /// The plane for which an admitted write of stream or class `stream` is queued.
    #[inline]
    pub(crate) fn place<const FULL: bool>(&mut self, lpn: Lpn, stream: u8) -> PlaneId {
        let space = &mut self.ftl.space;
        let turn = if FULL { space.take_turn(space.host_stream(stream)) } else { None };
        let now = PlanesView { ftl: &self.ftl, array: &self.array, gc: &self.gc };
        let plane = match turn {
            Some(turn) => self.front.layout.striped(turn),
            None => self.front.placement.place(lpn, &now),
        };
        debug_assert!(plane.0 < self.ftl.geo.planes, "{lpn:?} goes to {plane:?}");
        plane
    }

    /// End a part of `request` with a timer at time `at`.
    fn ends_with(
        &mut self,
        timer: fn(OpSlot) -> Timer,
        at: Nanos,
        request: RequestSlot,
        parts: Parts,
    ) {
        debug_assert!(at >= self.array.now, "a part has ended before");
        debug_assert!(!self.front.requests.at(request).parts.is_done(), "it has no part to end");
        let work = Work::HostRead { part: Part { request, number: 0 }, rest: Ppn::NONE };
        let op = Op { parts, ..Op::new(work, Lpn::NONE, PlaneId(0), self.array.now) };
        let slot = self.array.ops.insert(op);
        self.array.set_timer(at, timer(slot));
    }

    /// Note that a part of the request in `slot` has ended while others are left; `parts` says where its time went. If
    /// only the firmware is left, its time begins.
    #[inline(never)]
    pub(super) fn firmware_may_begin(&mut self, slot: RequestSlot, parts: &Parts) {
        if self.front.requests.at(slot).parts.left() > self.front.own_parts() {
            return;
        }
        let pages = pages_of(&self.ftl.geo, &self.front.requests.at(slot).request);
        let firmware = self.front.firmware.as_mut().expect("the caller has checked");
        let (transfer_ns, metadata_ns) = (firmware.next_ns(), firmware.metadata_ns(pages.count));
        let added = Parts { transfer_ns, metadata_ns, ..Parts::default() };
        let at = Nanos(self.array.now.0 + added.total());
        self.ends_with(Timer::Answered, at, slot, parts.then(&added));
    }

    /// Whether the admission of a page records more than its place: contents, what a power cut may leave, a path
    /// through link and buffer, or queues that somebody watches.
    fn is_admission_tracked(&self) -> bool {
        let keeps = self.ftl.flash.keeps_contents() || self.ftl.may_lose_power();
        keeps || self.watches_queues || !self.front.writes_go_straight
    }

    /// Serve a read from the controller: its page is in flight or unmapped.
    pub(crate) fn serve(&mut self, slot: OpSlot) {
        let lpn = self.array.ops[slot].lpn;
        debug_assert!(self.array.ops[slot].kind().is_read(), "{lpn:?} is not read");
        debug_assert_eq!(self.array.ops[slot].ppn, Ppn::NONE, "{lpn:?} has been read from flash");
        match self.ftl.owners.newest(lpn) {
            Entry::Unmapped => self.ledger.measured.host.unmapped_pages_read += 1,
            Entry::Slot(newest) if self.is_trim(newest) => {
                self.ledger.measured.host.unmapped_pages_read += 1;
            }
            Entry::Slot(_) => self.ledger.measured.host.controller_pages_read += 1,
            Entry::Page(_) => unreachable!("a page on flash is not served by the controller"),
        }
        let delay = self.array.times.controller_ns;
        self.array.ops[slot].parts.transfer_ns += delay;
        self.array.set_timer(Nanos(self.array.now.0 + delay), Timer::Served(slot));
    }

    /// Complete a request without page operations after the controller's time.
    pub(super) fn finish_later(&mut self, request: RequestSlot) {
        debug_assert!(!self.front.requests.at(request).parts.is_done(), "it has no part to end");
        let (now, transfer_ns) = (self.array.now, self.array.times.controller_ns);
        let queue_ns = (now - self.front.requests.at(request).arrival).0;
        let parts = Parts { queue_ns, transfer_ns, ..Parts::default() };
        self.part_ends_at(Nanos(now.0 + transfer_ns), request, parts);
    }

    /// Let the controller end a part of `request` at time `at`; `parts` say where its time went until then.
    pub(super) fn part_ends_at(&mut self, at: Nanos, request: RequestSlot, parts: Parts) {
        // The part of a write may be its flush.
        let writes = self.ftl.may_lose_power()
            && self.front.requests.at(request).request.op == HostOp::Write;
        let timer = if writes { Timer::TransferredOut } else { Timer::Served };
        self.ends_with(timer, at, request, parts);
    }
}

impl Ssd {
    /// Give `request` its number, and let it arrive at `at`.
    #[inline(always)]
    pub(super) fn enter(
        &mut self,
        at: Nanos,
        request: &Request,
        data: Option<&[u8]>,
    ) -> Result<RequestId, DeviceError> {
        let now = self.core.array.now;
        let id = self.core.front.number(&self.core.ftl.geo, (at, now), request)?;
        debug_assert!(
            request.op == HostOp::Copy
                || data.is_none_or(|data| data.len() as u64 == u64::from(request.sectors) * 512),
            "request {id} has data of another length"
        );
        if self.mid_instant && at <= self.core.array.now && self.core.front.arrivals.is_empty() {
            // Arrivals are next in this instant.
            match self.machine {
                Loop::Plain => self.admit::<false, false>(at, id, request, data),
                Loop::Groups => self.admit_with_groups(at, id, request, data),
                Loop::Full => self.admit_full(at, id, request, data),
            }
        } else {
            self.core.front.arrives_later(at, id, request, data);
        }
        Ok(RequestId(id))
    }

    #[inline(never)]
    fn admit_full(&mut self, at: Nanos, id: u64, request: &Request, data: Option<&[u8]>) {
        debug_assert!(
            self.machine == Loop::Full,
            "the other loops admit their requests themselves"
        );
        self.admit::<true, true>(at, id, request, data);
    }

    #[inline(never)]
    fn admit_with_groups(&mut self, at: Nanos, id: u64, request: &Request, data: Option<&[u8]>) {
        debug_assert!(self.machine == Loop::Groups, "another loop admits more or less");
        self.admit::<false, true>(at, id, request, data);
    }

    /// Admit request `id`, meant to arrive at `at`; `data` as in [`crate::host::device::Device::submit`].
    #[inline(always)]
    pub(crate) fn admit<const FULL: bool, const GROUPS: bool>(
        &mut self,
        at: Nanos,
        id: u64,
        request: &Request,
        data: Option<&[u8]>,
    ) {
        if self.core.ledger.warmup_ends_with(id) {
            self.core.restart_measurement();
        }
        let power = self.power.as_ref().filter(|_| FULL);
        let outside_since = power.and_then(|power| power.outside_since(id));
        if FULL && outside_since.is_some() {
            self.core.ledger.measured.arrive_again(self.core.array.now);
        } else {
            self.core.ledger.measured.arrive(self.core.array.now, request.op);
        }
        let waited = self.core.array.now - at;
        debug_assert!(at <= self.core.array.now, "request {id} arrives before its time");
        debug_assert!(id < self.core.front.submitted, "request {id} has not been submitted");
        let outside = outside_since.map_or(waited, |since| self.core.array.now - since);
        self.core.ledger.measured.in_system.waited_outside(outside.0);
        if FULL
            && let Some(power) = &mut self.power
            && let Some(data) = data
        {
            power.keep_data(id, data);
        }
        let pages = pages_of(&self.core.ftl.geo, request);
        debug_assert!(
            request.op == HostOp::Flush
                || pages.first + pages.count <= self.core.ftl.geo.user_pages,
            "request {id} reaches beyond the device: {pages:?}"
        );
        let counted = if FULL && outside_since.is_some() {
            self.core.ledger.measured.power.pages_repeated += u64::from(match request.op {
                HostOp::Read | HostOp::Write => pages.count,
                _ => 0,
            });
            0
        } else {
            u64::from(pages.count)
        };
        if FULL && self.core.ledger.measured.tenants.is_some() {
            self.core.note_writer(request, pages, counted);
        }
        let arrived = (id, at, request);
        let own = if FULL { self.core.front.own_parts() } else { 0 };
        match request.op {
            HostOp::Read => {
                let slot =
                    self.core.front.requests.insert(arrived, (Join::of(pages.count + own), 0));
                self.core.ledger.measured.host.pages_read += counted;
                for part in 0..pages.count {
                    let part = Part { request: slot, number: part };
                    self.admit_read(part, Lpn(pages.first + part.number));
                }
            }
            HostOp::Write => {
                self.core.ledger.measured.host.pages_written += counted;
                self.admit_pages_written::<FULL, GROUPS>(arrived, waited, pages, data);
            }
            HostOp::Trim => {
                let slot = self.core.front.requests.insert(arrived, (Join::of(1 + own), 0));
                if FULL && self.core.ftl.may_lose_power() {
                    self.trim_with_record(slot, pages, outside_since.is_some());
                } else {
                    self.trim_pages(slot, pages);
                }
            }
            HostOp::Copy => self.admit_copy(arrived, pages, data),
            HostOp::Flush => {
                let slot = self.core.front.requests.insert(arrived, (Join::of(1 + own), 0));
                self.flush(slot);
            }
        }
    }

    /// Admit the write `arrived` of `pages`, which may bring `data`, after it has waited in the host.
    #[inline(always)]
    fn admit_pages_written<const FULL: bool, const GROUPS: bool>(
        &mut self,
        arrived: (u64, Nanos, &Request),
        waited: Nanos,
        pages: Pages,
        data: Option<&[u8]>,
    ) {
        let request = arrived.2;
        let by_group = GROUPS && self.raid.is_some() && self.core.front.buffer.is_none();
        let parts = if by_group { parts_of_write(&self.core, pages) } else { pages.count };
        let own = if FULL { self.core.front.own_parts() } else { 0 };
        let slot = if FULL && !self.core.front.writes_go_straight {
            let slot = self.core.front.requests.insert(arrived, (Join::of(own), 0));
            self.flush_before(slot, request);
            let epoch = self.core.front.epochs.write_arrives();
            let inside = self.core.front.requests.get(slot);
            inside.parts.add(parts);
            inside.epoch = epoch;
            slot
        } else {
            let epoch = self.core.front.epochs.write_arrives();
            self.core.front.requests.insert(arrived, (Join::of(parts + own), epoch))
        };
        if by_group {
            self.admit_to_groups(slot, pages, request, data);
            return self.begin_checkpoint_if_due::<FULL>();
        }
        let straight = is_of_whole_pages(&self.core.ftl.geo, request)
            && !(FULL && self.core.is_admission_tracked());
        for part in 0..pages.count {
            let lpn = Lpn(pages.first + part);
            let part = Part { request: slot, number: part };
            if straight {
                self.core.admit_whole_page::<FULL>(
                    part,
                    lpn,
                    (request.stream, pages.count),
                    waited,
                );
            } else {
                self.admit_write(part, lpn, (request, pages.count), data);
            }
        }
        self.begin_checkpoint_if_due::<FULL>();
    }

    #[inline(always)]
    fn begin_checkpoint_if_due<const FULL: bool>(&mut self) {
        debug_assert!(FULL || self.power.is_none(), "a plain loop in which power is cut");
        if FULL && let Some(power) = &mut self.power {
            power.checkpoint_if_due(&mut self.core);
        }
    }

    /// Let the TRIM of `pages` in request slot `slot` take effect.
    #[inline(never)]
    fn trim_pages(&mut self, slot: RequestSlot, pages: Pages) {
        if self.raid.is_some() {
            let trimmed = self.trim_groups(slot, pages);
            self.core.ledger.measured.host.pages_trimmed += trimmed;
        } else {
            (0..pages.count).for_each(|i| self.trim(Lpn(pages.first + i)));
        }
        self.core.finish_later(slot);
    }

    fn admit_read(&mut self, part: Part, lpn: Lpn) {
        debug_assert!(lpn.0 < self.core.ftl.geo.user_pages, "{lpn:?} is beyond the device");
        let on_flash = match self.core.ftl.owners.newest(lpn) {
            Entry::Page(ppn) => Some(ppn),
            Entry::Slot(newest) => self.core.rest_on_flash(newest, part.request, lpn),
            Entry::Unmapped => None,
        };
        let plane = on_flash.map_or(PlaneId(0), |ppn| self.core.ftl.geo.plane_of(ppn));
        let op = self.core.host_op(Work::HostRead { part, rest: Ppn::NONE }, lpn, plane);
        let slot = self.core.array.ops.insert(op);
        if let Some(raid) = &self.raid
            && raid.can_recover()
            && raid.is_recovered_at_once(self.waits(), slot, on_flash)
        {
            self.recover(slot);
        } else if on_flash.is_some() {
            self.core.enqueue(slot, R_HOST);
        } else {
            self.serve_or_recover(slot);
        }
    }

    #[inline(never)]
    fn admit_write(
        &mut self,
        part: Part,
        lpn: Lpn,
        (request, pages): (&Request, u32),
        data: Option<&[u8]>,
    ) {
        let old = self.core.ftl.owners.newest(lpn);
        let (range, _) = byte_range(&self.core.ftl.geo, request, lpn);
        let partial = range != (0, 512 << self.core.ftl.geo.sector_shift);
        self.core.front.sequence += 1;
        let stream = self.core.ftl.class_of_write(lpn, request.stream, pages);
        let mut op =
            self.core.host_op(Work::HostWrite { part, stream, copies: false }, lpn, PlaneId(0));
        op.sequence = self.core.front.sequence;
        // The rest of a partial page comes from flash, unless the page is in the controller or unmapped.
        let rmw = match old {
            Entry::Page(ppn) if partial => Some(ppn),
            _ => None,
        };
        if self.core.front.buffer.is_some() {
            // Its eviction determines its plane and what it needs from flash.
        } else if let Some(ppn) = rmw {
            op.becomes_rmw_read();
            op.plane = self.core.ftl.geo.plane_of(ppn);
            self.core.ledger.measured.host.rmw += 1;
        } else {
            op.plane = self.core.place::<true>(lpn, stream);
        }
        let slot = self.core.array.ops.insert(op);
        if let Some(contents) = &mut self.contents {
            contents.admit_write(&self.core, slot, request, data);
        }
        if let Some(page) = self.core.ftl.admit(lpn, slot) {
            debug_assert!(self.core.ftl.owners.is_newest(lpn, slot), "{lpn:?} is not admitted");
            self.core.wake_readers(page);
        }
        if self.core.ftl.may_lose_power() {
            self.core.ftl.note_floor(slot, old, self.core.front.sequence);
        }
        if self.core.front.writes_go_straight {
            self.core.enqueue(slot, if rmw.is_some() { R_HOST } else { W_HOST });
        } else {
            self.page_comes_in(slot, old);
        }
    }

    pub(super) fn trim(&mut self, lpn: Lpn) {
        self.core.ledger.measured.host.pages_trimmed += u64::from(self.unmap(lpn));
    }
}
