//! The *expected wait* of a read of the host: how long until its chip starts it, as far as the controller can know.
//!
//! That is the rest of the operation that runs there, the rest of the job that has closed its page, and the operations
//! that the order of the chip takes before the read, each with its own time on chip and bus (the mean of the page
//! types). What is queued later does not count, unless it is a job that the order prefers. Not foreseen are waits for a
//! bus or an interconnect, retries, and pages of a job that become invalid.

use super::array::op::{Op, OpKind};
use super::core::Core;
use super::ssd::Ssd;
use super::suspend::Suspension;
use crate::config::{GcPath, Granularity};
use crate::sched::order::{Heads, OrderPolicy, R_GC, R_HOST, W_GC, W_HOST};
use crate::units::{OpSlot, PlaneId, PoolId, Ppn, UnitId};

/// The age of a read that is not queued yet, and that of an operation that will be queued after it.
const ARRIVES: u64 = u64::MAX - 1;
const COMES_LATER: u64 = u64::MAX;

/// The queues of the host, and all, as bits.
const HOST: u32 = 1 << R_HOST | 1 << W_HOST;
const ALL: u32 = HOST | 1 << R_GC | 1 << W_GC;

/// What expected waits depend on.
#[derive(Clone, Copy)]
pub(super) struct Waits<'a> {
    pub(super) core: &'a Core,
    pub(super) suspension: Option<&'a Suspension>,
}

impl Ssd {
    /// What tells how long reads of the host will wait.
    pub(super) fn waits(&self) -> Waits<'_> {
        debug_assert!(self.raid.is_some(), "nobody compares waits");
        Waits { core: &self.core, suspension: self.suspension.as_deref() }
    }
}

impl Waits<'_> {
    /// The time of a read of the host alone.
    pub(super) fn read_ns(&self) -> u64 {
        let times = &self.core.array.times;
        times.command_ns + times.read_ns + times.host_bus_ns
    }

    /// How long a read of `page` will wait: the one queued in `slot`, or one that arrives now (`NONE`).
    pub(super) fn of_read(&self, page: Ppn, slot: OpSlot) -> u64 {
        let geo = &self.core.ftl.geo;
        let plane = geo.plane_of(page);
        let unit = geo.unit_of(plane);
        let running = self.rest_of_running(unit);
        if self.core.is_page_closed(page) {
            let jobs = self.core.gc.jobs_that_close(plane, geo);
            let closed = jobs.map(|pool| self.rest_of_job(pool)).max().unwrap_or(0);
            return running.max(closed) + self.of_those_before(unit, slot, HOST);
        }
        let suspension = self.suspension.and_then(|s| s.until_reads(self.core, unit.at()));
        if let Some(until) = suspension {
            return until.min(running) + self.of_those_before(unit, slot, 1 << R_HOST);
        }
        let jobs = geo.pools_of_unit(unit).map(PoolId).filter(|&pool| self.core.gc.collects(pool));
        let preferred: Vec<PoolId> = jobs.filter(|&pool| self.job_goes_first(slot, pool)).collect();
        if preferred.is_empty() {
            return running + self.of_those_before(unit, slot, ALL);
        }
        let jobs = preferred.into_iter().map(|pool| self.rest_of_job(pool) - running);
        running + jobs.sum::<u64>() + self.of_those_before(unit, slot, HOST)
    }

    /// The rest of what runs on `unit`.
    fn rest_of_running(&self, unit: UnitId) -> u64 {
        let running = self.core.array.under_way(unit.at());
        running.map_or(0, |op| (op.array_ns + op.bus_ns).saturating_sub(op.held_ns))
    }

    /// The time of `op` alone.
    fn time_of(&self, op: &Op) -> u64 {
        let times = &self.core.array.times;
        let bus_and_array = match op.kind() {
            OpKind::GcRead => times.gc_read_bus_ns + times.read_ns,
            OpKind::GcWrite => self.copy_program_ns(op.moved().in_buffer),
            OpKind::GcCopyback => times.read_ns + times.program_ns,
            OpKind::Erase | OpKind::MetadataErase => times.erase_ns,
            kind if kind.is_read() => return self.read_ns(),
            _ => times.host_bus_ns + times.program_ns,
        };
        times.command_ns + bus_and_array
    }

    fn copy_program_ns(&self, in_buffer: bool) -> u64 {
        let times = &self.core.array.times;
        let bus_ns = if in_buffer { times.gc_local_bus_ns } else { times.gc_program_bus_ns };
        bus_ns + times.program_ns
    }

    /// The rest of the job of `pool`, of which steps alone close their scope with step granularity: then that of the
    /// steps that are queued or run.
    fn rest_of_job(&self, pool: PoolId) -> u64 {
        let Core { ftl, array, gc, .. } = self.core;
        let job = gc.jobs[pool.at()].expect("the pool has a job");
        let first = ftl.geo.planes_of_pool(pool).start;
        let unit = ftl.geo.unit_of(PlaneId(first));
        let u = &array.units[unit.at()];
        let of_job = |op: &Op| match op.kind() {
            OpKind::GcRead | OpKind::GcWrite | OpKind::GcCopyback | OpKind::Erase => {
                op.pool() == pool
            }
            _ => false,
        };
        let command_ns = array.times.command_ns;
        let program_ns = command_ns + self.copy_program_ns(false);
        let after = |op: &Op| if op.kind() == OpKind::GcRead { program_ns } else { 0 };
        let queued = [R_GC, W_GC].into_iter().flat_map(|queue| array.ops.linked(u.head(queue)));
        let queued = queued.map(|slot| &array.ops[slot]).filter(|op| of_job(op));
        let queued: u64 = queued.map(|op| self.time_of(op) + after(op)).sum();
        let running = u.executed(&array.ops).map(|slot| &array.ops[slot]);
        let behind: u64 = running.filter(|op| of_job(op)).map(after).sum();
        let rest = self.rest_of_running(unit) + queued + behind;
        if !job.erases.is_done() || gc.granularity() == Granularity::Step {
            return rest;
        }
        let valid = u32::from(ftl.blocks.valid[job.victim.at()]);
        let copies = u64::from(valid.saturating_sub(job.in_flight));
        let copy_ns = match gc.path {
            GcPath::Copyback => command_ns + array.times.read_ns + array.times.program_ns,
            _ => command_ns + array.times.gc_read_bus_ns + array.times.read_ns + program_ns,
        };
        rest + copies * copy_ns + command_ns + array.times.erase_ns
    }

    /// Whether the order takes what the job of `pool` will queue before the read in `slot`.
    fn job_goes_first(&self, slot: OpSlot, pool: PoolId) -> bool {
        let pick = &self.core.array.pick;
        let mut heads = Heads::default();
        heads.set(R_HOST, self.age(slot), false);
        heads.set(R_GC, COMES_LATER, self.core.gc.is_foreground(pool));
        debug_assert!(self.core.gc.collects(pool), "{pool:?} has no job");
        !pick.takes_turns && pick.order.pick(&heads) == R_GC
    }

    fn age(&self, slot: OpSlot) -> u64 {
        if slot == OpSlot::NONE { ARRIVES } else { self.core.array.ops[slot].age }
    }

    /// The time of what waits in `queues` of `unit` and is taken before the read in `slot`: operations are taken as the
    /// order says until it is the turn of the read.
    fn of_those_before(&self, unit: UnitId, slot: OpSlot, queues: u32) -> u64 {
        let array = &self.core.array;
        let u = &array.units[unit.at()];
        let open = u.waiting() & queues;
        let mut next: [OpSlot; 4] =
            std::array::from_fn(
                |queue| {
                    if open >> queue & 1 == 1 { u.head(queue) } else { OpSlot::NONE }
                },
            );
        let (mut turn, mut wait) = (u.turn, 0);
        loop {
            let mut heads = Heads::default();
            heads.set_turn(turn);
            for (queue, &head) in next.iter().enumerate() {
                if queue == R_HOST && head == slot {
                    heads.set(queue, self.age(slot), false);
                } else if head != OpSlot::NONE {
                    let op = &array.ops[head];
                    heads.set(queue, op.age, self.is_urgent(op));
                }
            }
            let queue = array.pick.order.pick(&heads);
            let head = next[queue];
            if queue == R_HOST && head == slot {
                return wait;
            }
            turn.starts(queue);
            wait += self.time_of(&array.ops[head]);
            next[queue] = array.ops[head].next;
        }
    }

    /// Whether `op` belongs to foreground collection.
    fn is_urgent(&self, op: &Op) -> bool {
        match op.kind() {
            OpKind::GcRead | OpKind::GcWrite | OpKind::GcCopyback | OpKind::Erase => {
                self.core.gc.is_foreground(op.pool())
            }
            _ => false,
        }
    }
}
