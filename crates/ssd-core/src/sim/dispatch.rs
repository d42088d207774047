//! Dispatch: an idle busy unit takes the next operation that may start.
//!
//! Addresses are bound here and not before: reads are translated, writes get their page, when the
//! operation starts.

use super::array::op::{Moved, OpKind, Work, job_cause};
use super::ssd::Ssd;
use crate::ftl::blocks::BlockState;
use crate::ftl::map::Entry;
use crate::metrics::counters::Cause;
use crate::sched::order::{Heads, OrderPolicy, R_GC, R_HOST, W_GC, W_HOST};
use crate::units::{OpSlot, PlaneId, PoolId, Ppn, UnitId};

/// An operation in a queue with its predecessor.
#[derive(Clone, Copy)]
struct Found {
    before: OpSlot,
    slot: OpSlot,
    /// Where a host write would be bound; if that is on another unit, the write moves there.
    plane: PlaneId,
}

impl Ssd {
    /// Start operations on `unit` until it is busy or nothing may start.
    #[inline(never)]
    pub(crate) fn dispatch<const FULL: bool>(&mut self, unit: usize) {
        let u = &self.array.units[unit];
        if u.running != OpSlot::NONE {
            return;
        }
        let mut waiting = u.waiting();
        while waiting != 0 {
            let queue = waiting.trailing_zeros() as usize;
            let queue = if waiting & (waiting - 1) == 0 {
                queue
            } else {
                let Some(chosen) = self.choose_queue::<FULL>(unit, waiting) else { return };
                chosen
            };
            let started = if queue >= R_GC {
                let (slot, work) = self.array.take_first(unit, queue);
                self.start_for_job::<FULL>(unit, slot, work)
            } else {
                // Searched again after the choice: cheaper than passing the result through memory.
                let Some(found) = self.first_startable::<FULL>(unit, queue) else { return };
                self.take(unit, queue, found);
                if queue == R_HOST {
                    self.start_host_read::<FULL>(unit, found.slot)
                } else {
                    self.start_host_write::<FULL>(unit, found.slot, found.plane)
                }
            };
            if started {
                return;
            }
            waiting = self.array.units[unit].waiting();
        }
    }

    /// Ask the order which of several waiting queues goes first.
    #[inline(always)]
    fn choose_queue<const FULL: bool>(&mut self, unit: usize, waiting: u32) -> Option<usize> {
        let ages = self.array.order_compares_ages;
        if !FULL && !ages {
            let mut present = waiting;
            if waiting >> W_HOST & 1 == 1 && self.first_startable::<FULL>(unit, W_HOST).is_none() {
                present &= !(1 << W_HOST);
            }
            let urgent = self.gc.is_foreground(PoolId(unit as u32));
            return self.ask_order(&Heads::without_ages(present as u8, urgent));
        }
        let mut heads = Heads::default();
        for queue in [R_HOST, W_HOST] {
            if waiting >> queue & 1 == 1
                && let Some(found) = self.first_startable::<FULL>(unit, queue)
            {
                let age = if ages { self.array.ops[found.slot].age } else { 0 };
                heads.set(queue, age, false);
            }
        }
        for queue in [R_GC, W_GC] {
            if waiting >> queue & 1 == 1 {
                let op = &self.array.ops[self.array.units[unit].head(queue)];
                heads.set(queue, op.age, self.gc.is_foreground(op.pool()));
            }
        }
        self.ask_order(&heads)
    }

    /// The queue that the order picks, if one has a head.
    #[inline(always)]
    fn ask_order(&self, heads: &Heads) -> Option<usize> {
        if heads.is_empty() {
            return None;
        }
        let queue = self.array.order.pick(heads);
        assert!(heads.has(queue), "the order picked queue {queue}, which has no head");
        Some(queue)
    }

    #[inline(always)]
    fn take(&mut self, unit: usize, queue: usize, found: Found) {
        let u = &mut self.array.units[unit];
        if found.before == OpSlot::NONE {
            u.pop(queue, self.array.ops[found.slot].next);
        } else {
            u.take(queue, &mut self.array.ops, found.before, found.slot);
        }
    }

    /// The first operation of a queue that may start now, looking past those that may not.
    #[inline(always)]
    fn first_startable<const FULL: bool>(&mut self, unit: usize, queue: usize) -> Option<Found> {
        let head = self.array.units[unit].head(queue);
        debug_assert_ne!(head, OpSlot::NONE, "queue {queue} of unit {unit} is empty");
        if !FULL && queue == R_HOST {
            return Some(Found { before: OpSlot::NONE, slot: head, plane: PlaneId::NONE });
        }
        let one_open_plane =
            !FULL || (self.ftl.geo.planes_per_unit() == 1 && self.array.units[unit].closed == 0);
        if queue == W_HOST && one_open_plane {
            // The common case: one plane, open to the host, and it has room.
            let op = &self.array.ops[head];
            if self.ftl.space.host_may_bind(op.plane, self.ftl.space.host_stream(op.stream())) {
                return Some(Found { before: OpSlot::NONE, slot: head, plane: op.plane });
            }
        }
        self.search(unit, queue)
    }

    /// The same, by a search.
    #[inline(never)]
    fn search(&mut self, unit: usize, queue: usize) -> Option<Found> {
        let head = self.array.units[unit].head(queue);
        let mut found = Found { before: OpSlot::NONE, slot: head, plane: PlaneId::NONE };
        for _ in 0..self.array.look_ahead {
            if found.slot == OpSlot::NONE {
                return None;
            }
            if queue == R_HOST {
                if self.read_may_start(unit, found.slot) {
                    return Some(found);
                }
            } else if let Some(plane) = self.write_may_start(unit, found.slot) {
                return Some(Found { plane, ..found });
            }
            let next = self.array.ops[found.slot].next;
            found = Found { before: found.slot, slot: next, ..found };
        }
        None
    }

    /// A host read may start unless collection has closed the scope of its page. If the page is on another
    /// unit, the read moves there, closed or not: it waits where it is woken.
    #[inline]
    pub(crate) fn read_may_start(&self, unit: usize, slot: OpSlot) -> bool {
        if self.array.units[unit].closed == 0 && self.gc.closed_blocks == 0 {
            return true;
        }
        let Some(ppn) = self.read_target(slot) else { return true };
        let plane = self.ftl.geo.plane_of(ppn);
        if self.ftl.geo.unit_of(plane).at() != unit {
            return true;
        }
        if self.gc.is_closed(plane) {
            return false;
        }
        let state = self.ftl.blocks.state[self.ftl.geo.block_of(ppn).at()];
        let collected = matches!(state, BlockState::Collecting | BlockState::Erasing);
        if self.gc.closed_blocks > 0 && collected && self.gc.closes_block(ppn, &self.ftl.geo) {
            return false;
        }
        !self.gc.held.holds(ppn)
    }

    /// The page that a host read or the read of a read-modify-write would read now.
    fn read_target(&self, slot: OpSlot) -> Option<Ppn> {
        let op = &self.array.ops[slot];
        match self.ftl.owners.newest(op.lpn) {
            Entry::Page(ppn) if op.kind() == OpKind::HostRead => Some(ppn),
            Entry::Slot(s) if s == slot => self.ftl.owners.under(slot),
            Entry::Slot(s) if op.kind() == OpKind::HostRead => {
                self.rest_on_flash(s, op.part().request, op.lpn)
            }
            // Also when a newer write, on flash by now, has overtaken a partial one.
            Entry::Page(_) | Entry::Slot(_) | Entry::Unmapped => None,
        }
    }

    /// The plane where a host write may be bound: one of this unit that is open to it and has room, or,
    /// when its pool has room only elsewhere, one of another unit.
    #[inline]
    fn write_may_start(&mut self, unit: usize, slot: OpSlot) -> Option<PlaneId> {
        let target = self.write_target(unit, slot);
        if target.is_none() && self.array.units[unit].closed == 0 {
            self.gc.agenda.consider(self.ftl.geo.pool_of(self.array.ops[slot].plane));
        }
        target
    }

    /// The same, without side effects.
    #[inline]
    pub(crate) fn write_target(&self, unit: usize, slot: OpSlot) -> Option<PlaneId> {
        let op = &self.array.ops[slot];
        let here = self.write_plane(unit, op.plane, op.stream(), &[]);
        let target = here.or_else(|| self.other_plane(op.plane, op.stream()));
        debug_assert!(
            target.is_none_or(|p| self.ftl.geo.pool_of(p) == self.ftl.geo.pool_of(op.plane)),
            "a write would leave its pool"
        );
        target
    }

    /// A plane of `unit` and of the pool of `plane` where a host write may be bound now, `plane` first,
    /// except those in `except`.
    #[inline]
    fn write_plane(
        &self,
        unit: usize,
        plane: PlaneId,
        stream: u8,
        except: &[PlaneId],
    ) -> Option<PlaneId> {
        let stream = self.ftl.space.host_stream(stream);
        let geo = &self.ftl.geo;
        debug_assert_eq!(geo.unit_of(plane).at(), unit, "{plane:?} is on another unit");
        let fits = |p: PlaneId| {
            !self.gc.is_closed(p) && !except.contains(&p) && self.ftl.space.host_may_bind(p, stream)
        };
        if geo.planes_per_unit() == 1 {
            return fits(plane).then_some(plane);
        }
        let (a, b) =
            (geo.planes_of_unit(UnitId(unit as u32)), geo.planes_of_pool(geo.pool_of(plane)));
        let (start, end) = (a.start.max(b.start), a.end.min(b.end));
        if start + 1 == end {
            return fits(plane).then_some(plane);
        }
        let n = end - start;
        (0..n).map(|i| PlaneId(start + (plane.0 - start + i) % n)).find(|&p| fits(p))
    }

    /// A plane of the same pool on another unit where a host write may be bound now, when none of its
    /// own unit has any room at all.
    fn other_plane(&self, plane: PlaneId, stream: u8) -> Option<PlaneId> {
        let geo = &self.ftl.geo;
        if geo.planes_per_pool() <= geo.planes_per_unit() {
            return None;
        }
        let stream = self.ftl.space.host_stream(stream);
        let own = geo.unit_of(plane);
        let pool = geo.planes_of_pool(geo.pool_of(plane));
        let mut own_planes = geo.planes_of_unit(own).map(PlaneId);
        if own_planes.any(|p| self.ftl.space.host_may_bind(p, stream)) {
            return None;
        }
        pool.map(PlaneId).find(|&p| {
            geo.unit_of(p) != own
                && !self.gc.is_closed(p)
                && self.ftl.space.host_may_bind(p, stream)
        })
    }

    /// Bind the operation in `slot`, taken from a queue of `unit`, and begin it. False: it has been passed on, or
    /// needs no flash. The same for the other kinds below.
    #[inline(always)]
    fn start_for_job<const FULL: bool>(&mut self, unit: usize, slot: OpSlot, work: Work) -> bool {
        match work {
            Work::GcRead(moved) => self.start_gc_read::<FULL>(unit, slot, moved),
            Work::GcWrite(moved) => self.start_gc_write::<FULL>(unit, slot, moved),
            Work::Erase { .. } => self.start_erase(unit, slot),
            Work::GcCopyback(moved) => self.start_copyback(unit, slot, moved),
            _ => unreachable!("{:?} is queued as if for a job", self.array.ops[slot].kind()),
        }
    }

    #[inline(never)]
    fn start_erase(&mut self, unit: usize, slot: OpSlot) -> bool {
        let op = &self.array.ops[slot];
        let (pool, cause, plane) = (op.pool(), op.job_cause(), op.plane);
        let block = op.erased_block(&self.ftl.geo);
        assert_eq!(self.ftl.blocks.state[block.at()], BlockState::Erasing, "{block:?} is in use");
        assert_eq!(self.ftl.geo.unit_of(plane).at(), unit, "{block:?} is erased on another unit");
        self.ftl.flash.begin_erase(block, plane);
        self.gc.step_begins(pool, &self.ftl.geo, &mut self.array);
        self.ledger.measured.flash.erases[cause.at()] += 1;
        let times = (self.array.times.erase_ns, 0);
        self.begin::<true>(unit, (slot, OpKind::Erase), times);
        true
    }

    #[inline(never)]
    fn start_host_read<const FULL: bool>(&mut self, unit: usize, slot: OpSlot) -> bool {
        let Some(ppn) = self.read_target(slot) else {
            // Overwritten or trimmed while it waited: no flash operation.
            self.leave_queue(unit, slot);
            if self.array.ops[slot].kind() == OpKind::HostRead {
                self.serve(slot);
            } else {
                self.rmw_becomes_write(slot);
            }
            return false;
        };
        let plane = self.ftl.geo.plane_of(ppn);
        debug_assert!(self.ftl.owners.is_valid(ppn), "{ppn:?} is read and holds no live data");
        if self.ftl.geo.unit_of(plane).at() != unit {
            self.pass_on(unit, slot, plane, R_HOST);
            return false;
        }
        if let Some(content) = &self.ledger.content
            && self.array.ops[slot].kind() == OpKind::HostRead
        {
            let expected = content.expected(self.array.ops[slot].lpn);
            self.array.ops.detail(slot).expected = expected;
        }
        let op = &mut self.array.ops[slot];
        (op.ppn, op.plane) = (ppn, plane);
        if self.front.buffer.is_some() && op.kind() == OpKind::HostRead {
            self.note_rest_read(slot);
        }
        let (kind, cause) = (self.array.ops[slot].kind(), self.array.ops[slot].cause());
        self.ledger.measured.flash.reads[cause.at()] += 1;
        let times = (self.array.times.read_ns, self.array.times.host_bus_ns);
        self.begin::<FULL>(unit, (slot, kind), times);
        true
    }

    #[inline(always)]
    fn start_host_write<const FULL: bool>(
        &mut self,
        unit: usize,
        slot: OpSlot,
        target: PlaneId,
    ) -> bool {
        if FULL && self.ftl.geo.unit_of(target).at() != unit {
            self.pass_on(unit, slot, target, W_HOST);
            return false;
        }
        self.bind_host::<FULL>(slot, target);
        let mut bus_ns = self.array.times.host_bus_ns;
        if FULL && self.array.multi_plane {
            let mut taken = vec![target];
            while let Some((other, plane)) = self.next_for_multi_plane(unit, W_HOST, &taken) {
                self.bind_host::<FULL>(other, plane);
                taken.push(plane);
                bus_ns += self.array.times.host_bus_ns;
                self.array.units[unit].also.push(&mut self.array.ops, other);
            }
        }
        let times = (self.array.times.program_ns, bus_ns);
        self.begin::<FULL>(unit, (slot, OpKind::HostWrite), times);
        true
    }

    #[inline(always)]
    fn bind_host<const FULL: bool>(&mut self, slot: OpSlot, plane: PlaneId) {
        let op = &mut self.array.ops[slot];
        let (stream, lpn) = (self.ftl.space.host_stream(op.stream()), op.lpn);
        debug_assert_eq!(op.kind(), OpKind::HostWrite, "{lpn:?} is bound and not written");
        debug_assert!(lpn.0 < self.ftl.geo.user_pages, "{lpn:?} is beyond the device");
        op.plane = plane;
        op.ppn = self.ftl.bind_host(plane, stream);
        // The commit will need them.
        self.ftl.owners.prefetch(lpn);
        self.ftl.prefetch_claim(slot);
        if FULL {
            self.wake_movers(self.ftl.geo.pool_of(plane));
        }
        self.ledger.measured.flash.programs[Cause::Host.at()] += 1;
        self.ledger.measured.note_write();
    }

    /// The head of `queue` and a further plane for it, to be programmed together with `taken`.
    fn next_for_multi_plane(
        &mut self,
        unit: usize,
        queue: usize,
        taken: &[PlaneId],
    ) -> Option<(OpSlot, PlaneId)> {
        debug_assert!(!taken.is_empty(), "unit {unit} programs no page yet");
        let slot = self.array.units[unit].head(queue);
        if slot == OpSlot::NONE || taken.len() >= self.ftl.geo.planes_per_unit() as usize {
            return None;
        }
        let op = &self.array.ops[slot];
        let plane = if queue == W_HOST {
            self.write_plane(unit, op.plane, op.stream(), taken)?
        } else {
            let Work::GcWrite(moved) = op.work else { return None };
            let stream = self.copy_stream(moved.levels);
            let mut planes = self.ftl.geo.planes_of_unit(UnitId(unit as u32)).map(PlaneId);
            planes.find(|p| !taken.contains(p) && self.copy_may_bind(*p, stream))?
        };
        self.take(unit, queue, Found { before: OpSlot::NONE, slot, plane });
        Some((slot, plane))
    }

    #[inline(always)]
    fn start_gc_read<const FULL: bool>(&mut self, unit: usize, slot: OpSlot, moved: Moved) -> bool {
        if !self.source_is_read::<FULL>(unit, slot, moved) {
            return false;
        }
        if FULL && self.gc.watches_way {
            self.gc_read_starts(unit, slot);
        }
        let times = (self.array.times.read_ns, self.array.times.gc_read_bus_ns);
        self.begin::<FULL>(unit, (slot, OpKind::GcRead), times);
        true
    }

    /// The read of the page that `slot` moves is about to start on `unit`, unless the page has been overwritten
    /// or trimmed while it waited: then its move ends.
    #[inline(always)]
    fn source_is_read<const FULL: bool>(
        &mut self,
        unit: usize,
        slot: OpSlot,
        moved: Moved,
    ) -> bool {
        let Moved { pool, source, levels, .. } = moved;
        let plane = self.ftl.geo.plane_of(source);
        debug_assert_eq!(self.ftl.geo.unit_of(plane).at(), unit, "{source:?} is on another unit");
        debug_assert!(self.gc.collects(pool), "{pool:?} moves {source:?} without a job");
        if !self.ftl.owners.is_valid(source) {
            self.leave_queue(unit, slot);
            self.end_page::<FULL>(slot, pool);
            return false;
        }
        if FULL {
            self.gc.step_begins(pool, &self.ftl.geo, &mut self.array);
        }
        self.array.ops[slot].ppn = source;
        let cause = if FULL { job_cause(levels) } else { Cause::Gc };
        self.ledger.measured.flash.reads[cause.at()] += 1;
        self.gc.pages_read[cause.at()] += 1;
        true
    }

    #[inline(never)]
    fn start_copyback(&mut self, unit: usize, slot: OpSlot, moved: Moved) -> bool {
        if !self.source_is_read::<true>(unit, slot, moved) {
            return false;
        }
        let plane = self.array.ops[slot].plane;
        debug_assert_eq!(
            self.ftl.geo.plane_of(moved.source),
            plane,
            "a copy-back leaves its plane"
        );
        if self.ftl.space.has_page(plane, self.copy_stream(moved.levels)) {
            self.bind_copy::<true>(slot, moved, plane);
            let times = (self.array.times.read_ns + self.array.times.program_ns, 0);
            self.begin::<true>(unit, (slot, OpKind::GcCopyback), times);
            return true;
        }
        // The plane has no page left for a copy-back: use the controller path.
        self.array.ops[slot].becomes_gc_read();
        if self.gc.watches_way {
            self.gc_read_starts(unit, slot);
        }
        let times = (self.array.times.read_ns, self.array.times.gc_read_bus_ns);
        self.begin::<true>(unit, (slot, OpKind::GcRead), times);
        true
    }

    #[inline(always)]
    pub(crate) fn start_gc_write<const FULL: bool>(
        &mut self,
        unit: usize,
        slot: OpSlot,
        moved: Moved,
    ) -> bool {
        let own = if FULL { self.array.ops[slot].plane } else { PlaneId(unit as u32) };
        let stream = self.copy_stream(FULL && moved.levels);
        let plane = if self.copy_may_bind(own, stream) {
            own
        } else {
            let plane = self.other_plane_for_copy(unit, slot, stream);
            if self.ftl.geo.unit_of(plane).at() != unit {
                self.pass_on(unit, slot, plane, W_GC);
                return false;
            }
            plane
        };
        self.bind_copy::<FULL>(slot, moved, plane);
        let mut bus_ns = self.array.times.gc_program_bus_ns;
        if FULL && self.gc.watches_way {
            bus_ns = self.copy_bus_ns(slot);
        }
        if FULL && self.array.multi_plane {
            let mut taken = vec![plane];
            while let Some((other, plane)) = self.next_for_multi_plane(unit, W_GC, &taken) {
                let moved = *self.array.ops[other].moved();
                self.bind_copy::<FULL>(other, moved, plane);
                taken.push(plane);
                bus_ns += self.array.times.gc_program_bus_ns;
                self.array.units[unit].also.push(&mut self.array.ops, other);
            }
        }
        let times = (self.array.times.program_ns, bus_ns);
        self.begin::<FULL>(unit, (slot, OpKind::GcWrite), times);
        true
    }

    /// Where the copy in `slot`, whose plane has no page for it, is bound: on `unit` if possible.
    #[inline(never)]
    fn other_plane_for_copy(&self, unit: usize, slot: OpSlot, stream: u32) -> PlaneId {
        let (geo, op) = (&self.ftl.geo, &self.array.ops[slot]);
        let mut planes = geo.planes_of_unit(UnitId(unit as u32)).map(PlaneId);
        let plane = planes
            .find(|&p| geo.pool_of(p) == op.pool() && self.copy_may_bind(p, stream))
            .or_else(|| self.ftl.space.copy_plane(op.plane, stream, &self.ftl.blocks))
            .expect("the pool keeps room for its job");
        assert_eq!(geo.pool_of(plane), op.pool(), "a copy leaves its pool");
        plane
    }

    /// Whether a copy to frontier `stream` may be bound on `plane` without a search. Wear
    /// levelling opens a block only where no plane has an open one.
    #[inline(always)]
    fn copy_may_bind(&self, plane: PlaneId, stream: u32) -> bool {
        let space = &self.ftl.space;
        if stream == space.gc_stream() {
            space.has_page(plane, stream)
        } else {
            space.has_open(plane, stream)
        }
    }

    #[inline(always)]
    fn bind_copy<const FULL: bool>(&mut self, slot: OpSlot, moved: Moved, plane: PlaneId) {
        let Moved { pool, levels, .. } = moved;
        let (stream, cause) = if FULL {
            (self.copy_stream(levels), job_cause(levels))
        } else {
            (self.ftl.space.gc_stream(), Cause::Gc)
        };
        let ppn = self.ftl.bind_copy(plane, stream);
        let op = &mut self.array.ops[slot];
        (op.plane, op.ppn) = (plane, ppn);
        self.ftl.space.job_pages_done(pool, stream, 1);
        if FULL {
            self.wake_movers(pool);
        }
        self.ledger.measured.flash.programs[cause.at()] += 1;
        self.gc.pages_read[cause.at()] -= 1;
    }

    /// The unit takes the operation of this slot and kind: array and bus time, and the first phase.
    #[inline(always)]
    fn begin<const FULL: bool>(
        &mut self,
        unit: usize,
        op: (OpSlot, OpKind),
        (mut array_ns, bus_ns): (u64, u64),
    ) {
        if FULL {
            if self.ledger.operations.is_some() {
                self.open_rows(unit, op.0);
            }
            if self.array.way.read_errors.is_some() && op.1.is_read() {
                array_ns += self.retries_ns(op.0);
            }
        }
        self.array.begin::<FULL>(&self.ftl.geo, unit, op, (array_ns, bus_ns));
    }

    /// Rows in the log for the operation in slot `first` and those that run with it.
    #[inline(never)]
    fn open_rows(&mut self, unit: usize, first: OpSlot) {
        let mut next = first;
        while next != OpSlot::NONE {
            let slot = next;
            next = if slot == first {
                self.array.units[unit].also.head()
            } else {
                self.array.ops[slot].next
            };
            let copyback = self.array.ops[slot].kind() == OpKind::GcCopyback;
            let log = self.ledger.operations.as_mut().expect("only with a log");
            let row = log.open();
            if copyback {
                log.open();
            }
            let detail = self.array.ops.detail(slot);
            (detail.row, detail.phases) = (row, super::array::op::Phases::default());
        }
    }

    /// Remove an operation from its queue without running it.
    fn leave_queue(&mut self, unit: usize, slot: OpSlot) {
        if self.array.leave_queue(unit, slot) {
            self.gc.note_idle(unit, &mut self.array);
        }
    }

    /// Move the operation to the unit of `plane`, keeping the time it has waited.
    fn pass_on(&mut self, unit: usize, slot: OpSlot, plane: PlaneId, queue: usize) {
        debug_assert_ne!(self.ftl.geo.unit_of(plane).at(), unit);
        self.leave_queue(unit, slot);
        self.array.ops[slot].plane = plane;
        self.enqueue(slot, queue);
    }
}
