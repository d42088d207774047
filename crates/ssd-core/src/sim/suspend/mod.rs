//! A feature: programs and erases that reads of the host suspend (`timing.suspend`).
//!
//! A read that may start on a busy unit suspends the array phase of the operation there. After `suspend_time` the unit
//! takes the reads that may start, one after the other, and nothing else; then the operation resumes, and its array
//! works on after `resume_time`. A command that waits for the bus, or is on it, is not interrupted: the read waits
//! until the array works. A suspended operation keeps its slot, its page stays torn or its flash block half erased, and
//! it still counts towards the work of its unit.
//!
//! The route calls the hooks where a unit is dispatched, at the events of a unit, where an operation ends, and where
//! power is cut. The array implements the phases (`sim/array/suspend.rs`).

use super::array::EndedOp;
use super::array::slab::Queue;
use super::array::unit::Stage;
use super::core::Core;
use super::ssd::Ssd;
use crate::config::{Config, Suspend};
use crate::sched::order::R_HOST;
use crate::units::{Nanos, OpSlot};

/// The state of a device that suspends operations.
pub(crate) struct Suspension {
    suspend_ns: u64,
    resume_ns: u64,
    /// How often one operation may be suspended.
    limit: u32,
    units: Vec<InterruptedOp>,
}

/// The operation of a unit that has been suspended at least once.
#[derive(Clone, Copy)]
struct InterruptedOp {
    /// How often it has been suspended; 0: there is no such operation.
    times: u32,
    /// The operation while it is suspended, or `NONE` while it runs.
    slot: OpSlot,
    /// Operations that run with it (multi-plane).
    also: Queue,
    /// The rest of its array phase.
    left_ns: u64,
    /// When it took its unit, and its array and bus time.
    since: Nanos,
    array_ns: u64,
    bus_ns: u64,
}

impl InterruptedOp {
    const NONE: InterruptedOp = InterruptedOp {
        times: 0,
        slot: OpSlot::NONE,
        also: Queue::EMPTY,
        left_ns: 0,
        since: Nanos::ZERO,
        array_ns: 0,
        bus_ns: 0,
    };

    /// `ended` with the times of the whole operation.
    fn with_total_times(&self, ended: EndedOp, now: Nanos) -> EndedOp {
        let &InterruptedOp { since, array_ns, bus_ns, .. } = self;
        EndedOp { since, array_ns, bus_ns, held_ns: (now - since).0, ..ended }
    }
}

impl Suspension {
    /// `None` if operations are not suspended.
    pub(crate) fn new(config: &Config) -> Option<Box<Suspension>> {
        let timing = &config.timing;
        (timing.suspend != Suspend::None).then(|| {
            Box::new(Suspension {
                suspend_ns: timing.suspend_ns,
                resume_ns: timing.resume_ns,
                limit: timing.suspend_limit,
                units: vec![InterruptedOp::NONE; config.busy_units() as usize],
            })
        })
    }

    /// The rest of the array phase of `unit`, if a read may suspend it now.
    fn left_to_suspend(&self, core: &Core, unit: usize) -> Option<u64> {
        let left = core.array.left_to_suspend(unit)?;
        (left > self.suspend_ns && self.units[unit].times < self.limit).then_some(left)
    }

    /// How long until `unit` takes reads and nothing else, if a read that may start there suspends its operation, or
    /// has.
    pub(super) fn until_reads(&self, core: &Core, unit: usize) -> Option<u64> {
        let InterruptedOp { times, slot, .. } = self.units[unit];
        if slot != OpSlot::NONE {
            let running = core.array.under_way(unit);
            return Some(
                running.map_or(0, |op| (op.array_ns + op.bus_ns).saturating_sub(op.held_ns)),
            );
        }
        if core.array.units[unit].stage() == Stage::Suspending {
            return Some(self.suspend_ns);
        }
        let is_short = core.array.left_to_suspend(unit).is_some_and(|left| left <= self.suspend_ns);
        let until =
            core.array.until_suspendable(unit).filter(|_| times < self.limit && !is_short)?;
        Some(until + self.suspend_ns)
    }

    /// Suspend the operation on `unit`, for which a read waits and whose array phase has `left_ns` left.
    fn suspend(&mut self, core: &mut Core, unit: usize, left_ns: u64) {
        let interrupted = &mut self.units[unit];
        debug_assert_eq!(
            interrupted.slot,
            OpSlot::NONE,
            "two operations of unit {unit} are suspended"
        );
        if interrupted.times == 0 {
            let running = core.array.under_way(unit).expect("an operation to suspend");
            let EndedOp { since, array_ns, bus_ns, .. } = running;
            (interrupted.since, interrupted.array_ns, interrupted.bus_ns) =
                (since, array_ns, bus_ns);
        }
        interrupted.times += 1;
        interrupted.left_ns = left_ns;
        for slot in core.array.units[unit].executed(&core.array.ops) {
            core.ledger.measured.flash.suspensions[core.array.ops[slot].cause().at()] += 1;
        }
        core.array.suspend(unit, left_ns, self.suspend_ns);
    }

    /// Note that the array of `unit` has stopped: the unit is free for reads.
    pub(super) fn stop(&mut self, core: &mut Core, unit: usize) {
        let interrupted = &mut self.units[unit];
        debug_assert!(interrupted.times > 0, "unit {unit} has not been suspended");
        (interrupted.slot, interrupted.also) = core.array.leave_suspended(unit);
    }

    /// Whether an operation of `unit` is suspended, and reads may run.
    fn is_suspended(&self, unit: usize) -> bool {
        self.units[unit].slot != OpSlot::NONE
    }

    /// Resume the suspended operation of `unit`.
    fn resume(&mut self, core: &mut Core, unit: usize) {
        let interrupted = &mut self.units[unit];
        let slot = std::mem::replace(&mut interrupted.slot, OpSlot::NONE);
        let also = std::mem::replace(&mut interrupted.also, Queue::EMPTY);
        core.array.resume(unit, (slot, also), interrupted.left_ns, self.resume_ns);
    }

    /// Resume the operations that are suspended on idle units, because nothing new starts.
    pub(super) fn resume_all(&mut self, core: &mut Core) {
        for unit in 0..self.units.len() {
            if self.is_suspended(unit) && core.array.units[unit].running == OpSlot::NONE {
                self.resume(core, unit);
            }
        }
    }

    /// Note that an operation has ended on `unit`. Returns `ended`, with its whole times if it has been suspended.
    pub(super) fn end(&mut self, core: &Core, unit: usize, ended: EndedOp) -> EndedOp {
        let interrupted = &mut self.units[unit];
        if interrupted.times == 0 || interrupted.slot != OpSlot::NONE {
            return ended;
        }
        let total = interrupted.with_total_times(ended, core.array.now);
        *interrupted = InterruptedOp::NONE;
        total
    }

    /// The operations under way on `unit`, as if they ended now: suspended and running.
    pub(super) fn under_way(&self, core: &Core, unit: usize) -> impl Iterator<Item = EndedOp> {
        let (interrupted, now) = (self.units[unit], core.array.now);
        let running = core.array.under_way(unit);
        let nothing = EndedOp {
            slot: interrupted.slot,
            also: interrupted.also.head(),
            host: false,
            since: now,
            array_ns: 0,
            bus_ns: 0,
            held_ns: 0,
        };
        let is_running = interrupted.times > 0 && interrupted.slot == OpSlot::NONE;
        let running = running
            .map(|ended| if is_running { interrupted.with_total_times(ended, now) } else { ended });
        let suspended =
            (interrupted.slot != OpSlot::NONE).then(|| interrupted.with_total_times(nothing, now));
        suspended.into_iter().chain(running)
    }

    /// The operations of `unit` that are suspended.
    pub(super) fn suspended(&self, core: &Core, unit: usize) -> impl Iterator<Item = OpSlot> {
        let interrupted = &self.units[unit];
        let slot = (interrupted.slot != OpSlot::NONE).then_some(interrupted.slot);
        slot.into_iter().chain(core.array.ops.linked(interrupted.also.head()))
    }

    /// Check that at the end of an instant no read that may start waits for an operation that it may suspend, and no
    /// operation is suspended on an idle unit.
    pub(super) fn audit_instant(&self, core: &Core) -> Result<(), String> {
        for (unit, interrupted) in self.units.iter().enumerate() {
            let idle = core.array.units[unit].running == OpSlot::NONE;
            if self.is_suspended(unit) && idle {
                return Err(format!(
                    "unit {unit} is idle, and {:?} is suspended",
                    interrupted.slot
                ));
            }
            if let Some(left) = self.left_to_suspend(core, unit)
                && let Some(slot) = awaited_read(core, unit)
            {
                return Err(format!("unit {unit}: {slot:?} waits for {left} ns of the array"));
            }
        }
        Ok(())
    }
}

/// The first read of the host that may start on `unit` and reads from its flash.
fn awaited_read(core: &Core, unit: usize) -> Option<OpSlot> {
    let is_here = |slot| {
        let page = core.read_target(slot);
        page.is_some_and(|page| core.ftl.geo.unit_of(core.ftl.geo.plane_of(page)).at() == unit)
    };
    let queued = core.array.ops.linked(core.array.units[unit].head(R_HOST));
    let mut queued = queued.take(core.array.pick.look_ahead as usize);
    queued.find(|&slot| core.read_may_start(unit, slot) && is_here(slot))
}

impl Ssd {
    /// What `unit` does if a read suspends its operation, or has: `None` if it is dispatched as usual, otherwise as
    /// [`Ssd::dispatch`].
    pub(super) fn dispatch_suspended(&mut self, unit: usize) -> Option<bool> {
        let suspension = self.suspension.as_mut()?;
        let waiting = self.core.array.units[unit].waiting() >> R_HOST & 1 == 1;
        if self.core.array.units[unit].running != OpSlot::NONE {
            if waiting
                && let Some(left) = suspension.left_to_suspend(&self.core, unit)
                && awaited_read(&self.core, unit).is_some()
            {
                suspension.suspend(&mut self.core, unit, left);
            }
            return Some(true);
        }
        if !suspension.is_suspended(unit) {
            return None;
        }
        let entry = if waiting { self.core.first_startable::<true>(unit, R_HOST) } else { None };
        let Some(entry) = entry else {
            suspension.resume(&mut self.core, unit);
            return Some(true);
        };
        self.core.take(unit, R_HOST, entry);
        let started = self.start_host_read::<true>(unit, entry.slot);
        if started {
            self.log_start(unit);
        }
        Some(started)
    }
}
