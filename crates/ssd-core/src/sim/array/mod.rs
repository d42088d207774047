//! The array: busy units, buses and the path of pages between them, the operations in it, and time.
//!
//! It knows what each unit does and until when; its callers decide which operation starts next, and with which page. It
//! reads no map, counts nothing for the report and knows no requests.

mod bus;
pub(crate) mod event;
pub(crate) mod loads;
pub(crate) mod op;
pub(crate) mod slab;
mod suspend;
pub(crate) mod unit;
pub(crate) mod way;

use crate::config::{BusyUnit, Config, Suspend, TimingModel};
use crate::id_set::IdSet;
use crate::nand::geometry::Geometry;
use crate::nand::timing::Times;
use crate::sched::order::{Choices, Order, OrderPolicy};
use crate::units::{Nanos, OpSlot, PlaneId, PoolId, UnitId};
use event::{Events, Timer, Timers, limit};
use op::{Op, OpKind, Phases, Work};
use slab::Slab;
use unit::{Activity, Bus, Service, Stage, Unit};
use way::Way;

/// How many operations of a queue are examined when the first ones may not start (all of them before a run is
/// declared stalled).
const LOOK_AHEAD: u32 = 64;

/// When chips and channels have operations, if units and buses do not show it.
pub(crate) struct Activities {
    /// Whether they are notified when operations begin and end: not if the chip is the busy unit and the bus keeps
    /// track of its channel.
    watched: bool,
    chips: Vec<Activity>,
    /// Serial model: operations on each channel.
    channels: Vec<Activity>,
}

/// What determines which operation an idle unit takes.
pub(crate) struct DispatchRule {
    pub(crate) order: Order,
    /// Its picks, unless it compares ages or takes turns.
    pub(crate) choices: Option<Choices>,
    /// Whether it looks at what a unit started last.
    pub(crate) takes_turns: bool,
    /// How many operations of a queue are examined when the first ones may not start.
    pub(crate) look_ahead: u32,
}

/// Busy units, buses, operations and time.
pub(crate) struct Array {
    pub(crate) times: Times,
    /// Simulated time.
    pub(crate) now: Nanos,
    pub(crate) events: Events,
    /// Half of what event keys can hold, so that no operation can end beyond them.
    pub(crate) latest: Nanos,
    pub(crate) timers: Timers,
    pub(crate) units: Vec<Unit>,
    buses: Vec<Bus>,
    activity: Activities,
    pub(crate) ops: Slab,
    /// Idle units that may be able to start an operation.
    pub(crate) ready: IdSet,
    buses_to_grant: IdSet,
    pub(crate) pick: DispatchRule,
    pub(crate) multi_plane: bool,
    /// Operations queued so far.
    age: u64,
    pub(crate) way: Way,
    /// Running operations finish, and no new ones start.
    pub(crate) quiescing: bool,
}

/// An operation that has ended, and those that ran with it, from `also` on.
#[derive(Clone, Copy)]
pub(crate) struct EndedOp {
    pub(crate) slot: OpSlot,
    pub(crate) also: OpSlot,
    /// They are the host's.
    pub(crate) host: bool,
    /// When it took its unit.
    pub(crate) since: Nanos,
    pub(crate) array_ns: u64,
    pub(crate) bus_ns: u64,
    /// How long it has held its unit.
    pub(crate) held_ns: u64,
}

/// What has events: buses, units, timers, and slices of the interconnect.
fn resources(geo: &Geometry, way: &Way) -> usize {
    (geo.channels + geo.units + 1 + u32::from(way.slices.is_some())) as usize
}

fn latest(geo: &Geometry, way: &Way) -> Nanos {
    Nanos(limit(resources(geo, way)).0 / 2)
}

/// The largest time that a device of `config` can reach. The more units it has, the shorter it is.
#[must_use]
pub fn last_time(config: &Config) -> Nanos {
    latest(&Geometry::new(config), &Way::new(config))
}

impl Array {
    /// Idle.
    pub(crate) fn new(config: &Config, geo: &Geometry) -> Array {
        assert!(geo.channels > 0 && geo.units > 0, "an array without units");
        assert!(geo.units.is_multiple_of(geo.channels), "channels of unequal size");
        let channel_of = |u: u32| geo.channel_of(PlaneId(geo.planes_of_unit(UnitId(u)).start)).0;
        let way = Way::new(config);
        let order = Order::build(&config.sched.order);
        Array {
            times: Times::new(config),
            now: Nanos::ZERO,
            latest: latest(geo, &way),
            events: Events::new(resources(geo, &way)),
            timers: Timers::default(),
            units: (0..geo.units).map(|u| Unit::new(channel_of(u))).collect(),
            buses: vec![Bus::FREE; geo.channels as usize],
            activity: Activities {
                watched: config.timing.busy_unit != BusyUnit::Chip
                    || config.timing.model == TimingModel::Serial,
                chips: vec![Activity::default(); (geo.channels * geo.chips_per_channel) as usize],
                channels: vec![Activity::default(); geo.channels as usize],
            },
            ops: Slab::new(config.metrics.op_log || config.timing.suspend != Suspend::None),
            ready: IdSet::new(geo.units),
            buses_to_grant: IdSet::new(geo.channels),
            pick: DispatchRule {
                choices: Choices::of(&order),
                takes_turns: order.takes_turns(),
                order,
                look_ahead: LOOK_AHEAD,
            },
            multi_plane: config.timing.multi_plane,
            age: 0,
            way,
            quiescing: false,
        }
    }

    /// Take over time, measurements and random errors from `former`, whose power was cut and in which nothing runs.
    pub(crate) fn take_over(&mut self, former: &mut Array) {
        let now = former.now;
        assert_eq!(self.ops.len(), 0, "operations have been queued already");
        debug_assert_eq!(self.units.len(), former.units.len(), "units of another device");
        self.now = now;
        let chips = self.activity.chips.iter_mut().zip(&former.activity.chips);
        let channels = self.activity.channels.iter_mut().zip(&former.activity.channels);
        chips.chain(channels).for_each(|(new, old)| new.take_over(old, now));
        for (new, old) in self.units.iter_mut().zip(&former.units) {
            new.take_over(old, now);
        }
        for (new, old) in self.buses.iter_mut().zip(&former.buses) {
            new.busy_ns = old.busy_ns - old.free_at.0.saturating_sub(now.0);
        }
        self.way.read_errors = former.way.read_errors.take();
        self.way.page_errors = former.way.page_errors.take();
    }

    pub(crate) fn buses(&self) -> usize {
        self.buses.len()
    }

    pub(crate) fn timer_resource(&self) -> usize {
        self.buses.len() + self.units.len()
    }

    fn slices_resource(&self) -> usize {
        debug_assert!(self.way.slices.is_some(), "there are no slices");
        self.timer_resource() + 1
    }

    #[inline(always)]
    fn unit_resource(&self, unit: usize) -> usize {
        debug_assert!(unit < self.units.len(), "there is no unit {unit}");
        self.buses.len() + unit
    }

    /// Queue the operation in `slot` on the unit of its plane.
    #[inline]
    pub(crate) fn enqueue(&mut self, geo: &Geometry, slot: OpSlot, queue: usize) {
        debug_assert!(self.ops[slot].plane.0 < geo.planes, "{slot:?} is for no plane");
        let op = &self.ops[slot];
        let (unit, host) = (geo.unit_of(op.plane), op.kind().is_host());
        self.enqueue_on(unit, slot, queue, host, |_| ());
        self.wake_if_idle(unit);
    }

    /// Dispatch `unit` at this instant if it is idle.
    #[inline(always)]
    pub(crate) fn wake_if_idle(&mut self, unit: UnitId) {
        if self.units[unit.at()].running == OpSlot::NONE {
            self.ready.insert(unit.0);
        }
    }

    /// Queue the operation in `slot` on the unit `at`, which is that of its plane, without waking the unit; `host`: of
    /// the host. `change` gets the operation first.
    #[inline(always)]
    pub(crate) fn enqueue_on(
        &mut self,
        at: UnitId,
        slot: OpSlot,
        queue: usize,
        host: bool,
        change: impl FnOnce(&mut Op),
    ) {
        self.age += 1;
        debug_assert_eq!(self.ops[slot].kind().is_host(), host, "{slot:?} is another's");
        let unit = &mut self.units[at.at()];
        unit.load.total += 1;
        debug_assert!(unit.load.of_host < unit.load.total, "the host has more operations than all");
        let op = &mut self.ops[slot];
        change(op);
        op.age = self.age;
        op.queued = self.now;
        if host {
            op.host_busy_ns = unit.host_busy_ns(self.now);
            unit.load.of_host += 1;
        }
        op.next = OpSlot::NONE;
        unit.push(queue, &mut self.ops, slot);
    }

    /// Queue the new host operation `op` on the unit `at`, which is that of its plane.
    #[inline(always)]
    pub(crate) fn insert_host(&mut self, at: UnitId, op: Op, queue: usize) -> OpSlot {
        debug_assert!(op.kind().is_host(), "{:?} is not the host's", op.kind());
        self.age += 1;
        let unit = &mut self.units[at.at()];
        unit.load.total += 1;
        unit.load.of_host += 1;
        let host_busy_ns = unit.host_busy_ns(self.now);
        let slot = self.ops.insert(Op { age: self.age, queued: self.now, host_busy_ns, ..op });
        unit.push(queue, &mut self.ops, slot);
        self.wake_if_idle(at);
        slot
    }

    /// Whether no unit and no bus waits for the end of this instant.
    #[inline(always)]
    pub(crate) fn is_quiet(&self) -> bool {
        self.ready.is_empty() && self.buses_to_grant.is_empty()
    }

    /// Take the first operation out of `queue` of `unit`, which must have one.
    #[inline(always)]
    pub(crate) fn take_first(&mut self, unit: usize, queue: usize) -> (OpSlot, Work) {
        let u = &mut self.units[unit];
        debug_assert_eq!(u.running, OpSlot::NONE, "unit {unit} is busy");
        let slot = u.head(queue);
        debug_assert_ne!(slot, OpSlot::NONE, "queue {queue} of unit {unit} is empty");
        let op = &self.ops[slot];
        u.pop(queue, op.next);
        (slot, op.work)
    }

    /// Wake the units of `pool`: a host operation may be able to start.
    pub(crate) fn wake_pool(&mut self, geo: &Geometry, pool: PoolId) {
        geo.units_of_pool(pool).for_each(|unit| self.ready.insert(unit));
    }

    /// Wake all units.
    pub(crate) fn wake_all(&mut self) {
        (0..self.units.len() as u32).for_each(|unit| self.ready.insert(unit));
    }

    /// Add to the host operation in `slot` the time that it has waited on `unit` since it was queued.
    fn count_waiting(&mut self, unit: usize, slot: OpSlot) {
        debug_assert!(self.ops[slot].kind().is_host(), "nobody waits for {slot:?}");
        self.ops[slot].has_waited(self.now, self.units[unit].host_busy_ns(self.now));
    }

    /// The operations that will run with the one that `unit` is about to take have waited, too.
    #[inline(never)]
    fn others_have_waited(&mut self, unit: usize) {
        let mut also = self.units[unit].also.head();
        while also != OpSlot::NONE {
            self.count_waiting(unit, also);
            also = self.ops[also].next;
        }
    }

    /// Remove the operation in `slot` from its queue on `unit` without running it. Returns whether the host had queued
    /// it.
    pub(crate) fn leave_queue(&mut self, unit: usize, slot: OpSlot) -> bool {
        debug_assert_ne!(self.units[unit].running, slot, "{slot:?} runs");
        let host = self.ops[slot].kind().is_host();
        if host {
            self.count_waiting(unit, slot);
        }
        self.units[unit].leaves(host);
        host
    }

    /// Start the bound operation in `slot`, a `kind`, on `unit`: it takes `array_ns` in its array and `bus_ns` for its
    /// data on the bus. The first phase begins.
    #[inline(always)]
    pub(crate) fn begin<const FULL: bool>(
        &mut self,
        geo: &Geometry,
        unit: usize,
        (slot, kind): (OpSlot, OpKind),
        (array_ns, bus_ns): (u64, u64),
    ) {
        let (now, host) = (self.now, kind.is_host());
        debug_assert!(!self.quiescing, "unit {unit} starts a {kind:?} while the device stops");
        debug_assert_eq!(geo.unit_of(self.ops[slot].plane).at(), unit, "it is for another unit");
        debug_assert_eq!(self.ops[slot].kind(), kind);
        let command_ns = self.times.command_ns;
        let wants_ns = command_ns + if kind.is_read() { 0 } else { bus_ns };
        let bus_ns = bus_ns + command_ns;
        let service = Service { since: now, array_ns, bus_ns, wants_ns };
        let u = &mut self.units[unit];
        if host {
            self.ops[slot].has_waited(now, u.host_busy_ns(now));
        }
        u.acquire(slot, kind, service);
        if !FULL {
            return match bus::sends_now(u, &mut self.buses, now) {
                None => self.waits_for_command(unit),
                Some((end, lane)) => self.events.schedule(self.buses.len() + unit, end, lane),
            };
        }
        if host && self.units[unit].also.head() != OpSlot::NONE {
            self.others_have_waited(unit);
        }
        if self.activity.watched {
            self.activity_begins(geo, slot);
        }
        if self.ops.keeps_phases() {
            *self.ops.phases(slot) = Phases::default();
        }
        if self.times.serial {
            self.begin_serial(geo, unit, slot);
        } else {
            self.send_command(unit);
        }
    }

    /// Whether operations pass through no more than their unit and the bus of its channel, one at a time, and no unit
    /// takes turns.
    pub(crate) fn is_plain(&self) -> bool {
        let times = &self.times;
        let extras = times.serial
            || times.partial
            || times.has_types()
            || self.multi_plane
            || self.activity.watched;
        let way = &self.way;
        let stations = way.slices.is_some() || way.page_buffers.is_some();
        let errors = way.read_errors.is_some() || way.page_errors.is_some();
        !(extras || stations || errors || self.pick.takes_turns || self.ops.keeps_phases())
    }

    /// Serial model: the operation in `slot` holds its unit for its whole duration.
    #[inline(never)]
    fn begin_serial(&mut self, geo: &Geometry, unit: usize, slot: OpSlot) {
        debug_assert!(self.times.serial, "unit {unit} has phases");
        if self.way.slices.is_some() && self.begin_on_slices(geo, unit, slot) {
            return;
        }
        let u = &mut self.units[unit];
        debug_assert_eq!(u.running, slot, "unit {unit} runs another operation");
        u.stage = Stage::Last;
        let end = Nanos(self.now.0 + u.service.array_ns + u.service.bus_ns);
        let lane = u.lane;
        if self.ops.keeps_phases() {
            let start = self.now;
            let phases = self.ops.phases(slot);
            (phases.array_start, phases.array_end) = (start, end);
        }
        let resource = self.unit_resource(unit);
        self.events.schedule(resource, end, lane);
    }

    /// End the running operation of `unit`, which becomes idle.
    #[inline(always)]
    pub(crate) fn end<const FULL: bool>(&mut self, geo: &Geometry, unit: usize) -> EndedOp {
        let u = &mut self.units[unit];
        let (slot, also, Service { since, array_ns, bus_ns, .. }) =
            (u.running, u.also.head(), u.service);
        let (held_ns, host) = u.vacate(self.now);
        u.leaves(host);
        self.ready.insert(unit as u32);
        if FULL && self.activity.watched {
            self.activity_ends(geo, slot);
        }
        debug_assert!(held_ns >= array_ns + bus_ns, "an operation was shorter than its phases");
        EndedOp { slot, also, host, since, array_ns, bus_ns, held_ns }
    }

    /// The operation that runs on `unit`, if any, as if it ended now.
    pub(crate) fn under_way(&self, unit: usize) -> Option<EndedOp> {
        let u = &self.units[unit];
        let Service { since, array_ns, bus_ns, .. } = u.service;
        let (slot, also) = (u.running, u.also.head());
        debug_assert!(slot == OpSlot::NONE || since <= self.now, "unit {unit} starts later");
        let held_ns = self.now.0.saturating_sub(since.0);
        let ended = EndedOp { slot, also, host: false, since, array_ns, bus_ns, held_ns };
        (slot != OpSlot::NONE).then_some(ended)
    }

    #[inline(never)]
    fn activity_begins(&mut self, geo: &Geometry, slot: OpSlot) {
        debug_assert!(self.activity.watched, "nobody counts operations");
        let plane = self.ops[slot].plane;
        self.activity.chips[geo.chip_of(plane) as usize].begins(self.now);
        self.activity.channels[geo.channel_of(plane).at()].begins(self.now);
    }

    #[inline(never)]
    fn activity_ends(&mut self, geo: &Geometry, slot: OpSlot) {
        debug_assert!(self.activity.watched, "nobody counts operations");
        let plane = self.ops[slot].plane;
        self.activity.chips[geo.chip_of(plane) as usize].ends(self.now);
        self.activity.channels[geo.channel_of(plane).at()].ends(self.now);
    }

    /// The measurement starts now.
    pub(crate) fn restart_activity(&mut self) {
        let now = self.now;
        let Activities { chips, channels, .. } = &mut self.activity;
        chips.iter_mut().chain(channels).for_each(|a| a.restart(now));
        self.units.iter_mut().for_each(|u| u.restart(now));
        for bus in &mut self.buses {
            // What the bus still has to transfer belongs to the measurement.
            bus.busy_ns = bus.free_at.0.saturating_sub(now.0);
        }
    }

    /// Time that each channel has been busy since the measurement started.
    pub(crate) fn channel_busy_ns(&self) -> Vec<u64> {
        if self.times.serial {
            return self.activity.channels.iter().map(|a| a.busy_ns(self.now)).collect();
        }
        // The future part of a transfer was counted when it was granted.
        let busy = |b: &Bus| {
            let ahead = b.free_at.0.saturating_sub(self.now.0);
            debug_assert!(b.busy_ns >= ahead, "a transfer was not counted: {b:?}");
            b.busy_ns - ahead
        };
        self.buses.iter().map(busy).collect()
    }

    /// Time that each chip has had an operation since the measurement started.
    pub(crate) fn chip_busy_ns(&self) -> Vec<u64> {
        if self.activity.watched {
            return self.activity.chips.iter().map(|a| a.busy_ns(self.now)).collect();
        }
        let busy: Vec<u64> = self.units.iter().map(|u| u.busy_ns(self.now)).collect();
        debug_assert!(busy.iter().all(|&ns| ns <= self.now.0), "a chip worked before time began");
        busy
    }

    pub(crate) fn set_timer(&mut self, at: Nanos, timer: Timer) {
        assert!(at >= self.now, "{timer:?} is set for the past");
        // A time that is too late ends the run when it is reached; no event can be later.
        self.timers.push(at.min(Nanos(self.latest.0 + 1)), timer);
        self.arm_timers();
    }

    pub(crate) fn arm_timers(&mut self) {
        let resource = self.timer_resource();
        let next = self.timers.next_time().unwrap_or(Nanos::NEVER);
        debug_assert!(next >= self.now, "a timer has been missed: it was set for {next:?}");
        self.events.reschedule(resource, next);
    }

    /// Check that units have the operations that they count, and that those that wait for a bus are in its queues.
    /// `suspended`: the suspended operations of a unit.
    pub(crate) fn audit(&self, suspended: impl Fn(usize) -> Vec<OpSlot>) -> Result<(), String> {
        for (at, unit) in self.units.iter().enumerate() {
            unit.audit(&self.ops, &suspended(at)).map_err(|e| format!("unit {at}: {e}"))?;
        }
        for (channel, bus) in self.buses.iter().enumerate() {
            let waiting = bus.wait_in.iter(&self.units).chain(bus.wait_out.iter(&self.units));
            let mut astray =
                waiting.filter(|u| !u.waits_for_bus() || u.channel as usize != channel);
            if astray.next().is_some() {
                return Err(format!(
                    "channel {channel} is to be granted to a unit that does not wait"
                ));
            }
        }
        Ok(())
    }
}
