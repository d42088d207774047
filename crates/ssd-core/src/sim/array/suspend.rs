//! Array phases that may be suspended: they also have an event at their start, and leave their unit before their end.

use super::Array;
use super::event::Lane;
use super::op::OpKind;
use super::slab::Queue;
use super::unit::{Service, Stage};
use crate::units::{Nanos, OpSlot};

impl Array {
    /// Whether reads may suspend the array phase of an operation.
    fn is_suspendable(&self, kind: OpKind) -> bool {
        match kind.lane() {
            Lane::Long => self.times.suspend.has_erases(),
            // Its read and its program are one phase.
            Lane::Program => self.times.suspend.has_programs() && kind != OpKind::GcCopyback,
            Lane::Bus | Lane::Read => false,
        }
    }

    /// Await the array phase of `unit`, whose command has the bus: it ends at `end`.
    pub(super) fn await_array(&mut self, unit: usize, end: Nanos, lane: Lane) {
        if self.is_suspendable(self.ops[self.units[unit].running].kind()) {
            let u = &mut self.units[unit];
            u.stage = Stage::Loading;
            let start = Nanos(end.0 - u.service.array_ns);
            debug_assert!(start >= self.now, "unit {unit} works before its command has come");
            return self.events.schedule(self.buses.len() + unit, start, Lane::Bus);
        }
        self.events.schedule(self.buses.len() + unit, end, lane);
    }

    /// Begin or resume the array phase of `unit`, which may be suspended.
    pub(crate) fn array_works(&mut self, unit: usize) {
        let u = &mut self.units[unit];
        debug_assert_eq!(u.stage, Stage::Loading, "the array of unit {unit} works already");
        u.stage = Stage::Last;
        let end = Nanos(self.now.0 + u.service.array_ns);
        let (slot, lane) = (u.running, u.lane);
        self.ops.phases(slot).array_end = end;
        self.events.schedule(self.buses.len() + unit, end, lane);
        // A read may wait.
        self.ready.insert(unit as u32);
    }

    /// The rest of the array phase of `unit`; `None` if it has none that may be suspended now.
    pub(crate) fn left_to_suspend(&self, unit: usize) -> Option<u64> {
        let u = &self.units[unit];
        if u.stage != Stage::Last || !self.is_suspendable(self.ops[u.running].kind()) {
            return None;
        }
        let end = self.ops.array_end(u.running);
        debug_assert!(end >= self.now, "unit {unit} has missed its event");
        Some(end.0 - self.now.0)
    }

    /// How long until the array of `unit` works on something that may be suspended; `None` if it does not.
    pub(crate) fn until_suspendable(&self, unit: usize) -> Option<u64> {
        let u = &self.units[unit];
        if !matches!(u.stage, Stage::Loading | Stage::Last)
            || !self.is_suspendable(self.ops[u.running].kind())
        {
            return None;
        }
        let sent_ns = (self.now - u.service.since).0;
        Some(if u.stage == Stage::Last { 0 } else { u.service.bus_ns.saturating_sub(sent_ns) })
    }

    /// Suspend the array phase of `unit`, with `left_ns` left: the unit is free after `suspend_ns`.
    pub(crate) fn suspend(&mut self, unit: usize, left_ns: u64, suspend_ns: u64) {
        debug_assert_eq!(
            self.left_to_suspend(unit),
            Some(left_ns),
            "unit {unit} cannot be suspended"
        );
        let (resource, lane) = (self.buses.len() + unit, self.units[unit].lane);
        self.events.cancel(resource, lane);
        self.units[unit].stage = Stage::Suspending;
        self.events.schedule(resource, Nanos(self.now.0 + suspend_ns), Lane::Bus);
    }

    /// Let the suspended operation on `unit`, and those that run with it, leave it. Returns them.
    pub(crate) fn leave_suspended(&mut self, unit: usize) -> (OpSlot, Queue) {
        let u = &mut self.units[unit];
        debug_assert_eq!(u.stage, Stage::Suspending, "unit {unit} is not suspended");
        let ops = (u.running, u.also);
        u.stage = Stage::Last;
        u.vacate(self.now);
        self.ready.insert(unit as u32);
        ops
    }

    /// Resume the suspended operation in `slot`, and those with it in `also`, on `unit`: `left_ns` in its array, after
    /// `resume_ns`.
    pub(crate) fn resume(
        &mut self,
        unit: usize,
        (slot, also): (OpSlot, Queue),
        left_ns: u64,
        resume_ns: u64,
    ) {
        let (now, kind) = (self.now, self.ops[slot].kind());
        debug_assert!(self.is_suspendable(kind), "a {kind:?} was suspended");
        let u = &mut self.units[unit];
        u.acquire(slot, kind, Service { since: now, array_ns: left_ns, bus_ns: 0, wants_ns: 0 });
        (u.also, u.stage) = (also, Stage::Loading);
        self.events.schedule(self.buses.len() + unit, Nanos(now.0 + resume_ns), Lane::Bus);
    }
}
