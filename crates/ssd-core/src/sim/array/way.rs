//! The path of pages between flash controllers and host side: page buffers of the controllers, and the slices of the
//! interconnect.
//!
//! With the formula a page crosses in a known time, which is part of its operation's service. With slices a
//! page enters them when the preceding service has ended, and the rest of the service begins when it has
//! arrived; the operation holds its unit throughout. Only running operations have pages in the slices, so
//! every packet arrives. Only GC reads wait for buffers, and they hold nothing while they wait, so whatever
//! holds a buffer can always proceed and release it.

use super::Array;
use super::event::Lane;
use super::op::{OpKind, Work};
use super::unit::Stage;
use crate::config::Config;
use crate::nand::geometry::Geometry;
use crate::nand::read_errors::{PageErrors, ReadErrors};
use crate::nand::slices::{ArrivedPacket, Port, Slices};
use crate::sched::order::{R_GC, R_HOST, W_GC, W_HOST};
use crate::units::{Nanos, OpSlot};

/// What pages pass on the path, if configured.
pub(crate) struct Way {
    pub(crate) read_errors: Option<ReadErrors>,
    pub(crate) page_errors: Option<PageErrors>,
    pub(super) page_buffers: Option<PageBuffers>,
    pub(super) slices: Option<Slices>,
}

impl Way {
    pub(super) fn new(config: &Config) -> Way {
        Way {
            read_errors: ReadErrors::new(config),
            page_errors: PageErrors::new(config),
            page_buffers: PageBuffers::new(config),
            slices: Slices::new(config),
        }
    }
}

/// Free page slots of the flash controllers.
pub(super) struct PageBuffers {
    slots: u32,
    free: Vec<u32>,
}

impl PageBuffers {
    /// From a resolved config; `None` if their number is unlimited.
    fn new(config: &Config) -> Option<PageBuffers> {
        let slots = config.controller.buffers?;
        assert!(slots > 0, "no GC read could start");
        Some(PageBuffers { slots, free: vec![slots; config.device.channels as usize] })
    }
}

impl Array {
    /// Whether the page that the operation in `slot` programs comes from the same channel.
    pub(crate) fn stays_on_channel(&self, geo: &Geometry, slot: OpSlot) -> bool {
        let op = &self.ops[slot];
        geo.channel_of(op.plane) == geo.channel_of(geo.plane_of(op.moved().source))
    }

    /// Take a page buffer of the channel of `unit` for a GC read, if there are buffers.
    pub(crate) fn take_buffer(&mut self, unit: usize) {
        let channel = self.units[unit].channel;
        debug_assert!((channel as usize) < self.buses.len(), "there is no channel {channel}");
        let Some(buffers) = &mut self.way.page_buffers else { return };
        let free = &mut buffers.free[channel as usize];
        assert!(*free > 0, "a GC read has started without a buffer");
        *free -= 1;
        if *free == 0 {
            self.set_gates(channel, false);
        }
    }

    /// Release the buffer of the GC page in `slot`, if there are buffers.
    #[inline(never)]
    pub(crate) fn give_buffer(&mut self, geo: &Geometry, slot: OpSlot) {
        let source = geo.plane_of(self.ops[slot].moved().source);
        let channel = geo.channel_of(source).0;
        let Some(buffers) = &mut self.way.page_buffers else { return };
        let free = &mut buffers.free[channel as usize];
        *free += 1;
        assert!(*free <= buffers.slots, "a buffer is released twice");
        if *free == 1 {
            self.set_gates(channel, true);
        }
    }

    /// Let GC reads on the units of `channel` start, or not.
    fn set_gates(&mut self, channel: u32, open: bool) {
        let units = self.units.len() / self.buses.len();
        debug_assert!(
            self.units.len().is_multiple_of(self.buses.len()),
            "channels of unequal size"
        );
        for unit in channel as usize * units..(channel as usize + 1) * units {
            debug_assert_eq!(self.units[unit].channel, channel);
            self.units[unit].set_open(R_GC, open);
            if open {
                self.ready.insert(unit as u32);
            }
        }
    }

    /// The ports between which the page of the operation in `slot` crosses; `None` if it does not.
    fn route(&self, geo: &Geometry, slot: OpSlot) -> Option<(Port, Port)> {
        debug_assert!(self.way.slices.is_some(), "there are no slices");
        let op = &self.ops[slot];
        let channel = geo.channel_of(op.plane).0;
        let controller = Port::Controller(channel);
        let port = |queue| Port::Queue { channel, queue };
        match op.work {
            Work::HostRead { .. }
            | Work::RmwRead { .. }
            | Work::GroupRead { .. }
            | Work::SourceRead { .. }
            | Work::RecoveryRead { .. } => {
                self.times.host_crosses.then_some((controller, port(R_HOST)))
            }
            Work::HostWrite { .. }
            | Work::GroupWrite { .. }
            | Work::GroupTrim { .. }
            | Work::RebuildWrite { .. } => {
                self.times.host_crosses.then_some((port(W_HOST), controller))
            }
            Work::GcRead(_) => Some((controller, port(R_GC))),
            Work::GcWrite(moved) if !moved.in_buffer => Some((port(W_GC), controller)),
            Work::GcWrite(_) if self.stays_on_channel(geo, slot) => None,
            Work::GcWrite(moved) => {
                let source = geo.channel_of(geo.plane_of(moved.source));
                Some((Port::Controller(source.0), controller))
            }
            Work::GcCopyback(_)
            | Work::Erase { .. }
            | Work::HostCopy { .. }
            | Work::MetadataProgram { .. }
            | Work::MetadataErase { .. } => None,
        }
    }

    /// Begin the operation in `slot`, which has taken `unit`, in the model with slices. False if its page does not
    /// cross.
    #[inline(never)]
    pub(super) fn begin_on_slices(&mut self, geo: &Geometry, unit: usize, slot: OpSlot) -> bool {
        let Some((from, to)) = self.route(geo, slot) else { return false };
        let alone_ns = self.way.slices.as_ref().expect("the caller has checked").alone_ns(from, to);
        let kind = self.ops[slot].kind();
        let u = &mut self.units[unit];
        debug_assert_eq!(u.stage, Stage::Idle, "unit {unit} has begun");
        let local_ns = u.service.array_ns + u.service.bus_ns;
        let sram_ns = if kind.is_host() { self.times.sram_ns } else { 0 };
        let after_ns = match kind {
            OpKind::GcRead => self.times.gc_read_bus_ns - self.times.gc_local_bus_ns,
            _ if kind.is_read() => sram_ns,
            _ => local_ns - sram_ns,
        };
        assert!(after_ns <= local_ns, "{kind:?} has {after_ns} ns left of {local_ns} ns");
        assert_eq!(u.running, slot, "unit {unit} runs another operation");
        u.service.bus_ns += alone_ns;
        u.service.wants_ns = after_ns;
        u.stage = Stage::Sending;
        let resource = self.unit_resource(unit);
        self.events.schedule(resource, Nanos(self.now.0 + local_ns - after_ns), Lane::Bus);
        true
    }

    /// Let the page of the operation on `unit` enter the slices.
    #[inline(never)]
    pub(crate) fn page_enters(&mut self, geo: &Geometry, unit: usize) {
        let stage = self.units[unit].stage;
        assert_eq!(stage, Stage::Sending, "unit {unit} has an event");
        assert!(self.units[unit].running != OpSlot::NONE, "unit {unit} has no operation");
        let (from, to) = self.route(geo, self.units[unit].running).expect("it crosses");
        self.units[unit].stage = Stage::Crossing;
        let slices = self.way.slices.as_mut().expect("it crosses them");
        slices.enter(self.now, unit as u32, from, to);
        self.await_slices();
    }

    /// Advance the pages in the slices; the operations of those that have arrived continue. Returns how long these have
    /// waited.
    pub(crate) fn slices_event(&mut self) -> u64 {
        let mut all_waited_ns = 0;
        while let Some(ArrivedPacket { owner, waited_ns }) =
            self.way.slices.as_mut().expect("they have an event").advance(self.now)
        {
            let unit = owner as usize;
            all_waited_ns += waited_ns;
            let u = &mut self.units[unit];
            assert_eq!(u.stage, Stage::Crossing, "unit {unit} waits for no page");
            u.stage = Stage::Last;
            let (slot, since, end) =
                (u.running, u.service.since, Nanos(self.now.0 + u.service.wants_ns));
            if self.ops.keeps_phases() {
                let phases = self.ops.phases(slot);
                (phases.array_start, phases.array_end) = (since, end);
            }
            let resource = self.unit_resource(unit);
            self.events.schedule(resource, end, Lane::Bus);
        }
        self.await_slices();
        all_waited_ns
    }

    /// Schedule the one event of the slices at the next time at which a page moves in them.
    fn await_slices(&mut self) {
        let next = self.way.slices.as_ref().and_then(|slices| slices.next_time());
        let resource = self.slices_resource();
        debug_assert!(next.is_none_or(|at| at >= self.now), "a page was to move earlier");
        self.events.reschedule(resource, next.unwrap_or(Nanos::NEVER));
    }

    /// Check that buffers belong to pages that have been read and not yet programmed (`pages_read`: those whose program
    /// has not begun), and packets to units. `suspended`: the suspended operations of a unit.
    pub(crate) fn audit_way(
        &self,
        pages_read: u64,
        suspended: impl Fn(usize) -> Vec<OpSlot>,
    ) -> Result<(), String> {
        let crossing = self.units.iter().filter(|u| u.stage == Stage::Crossing).count();
        let packets = self.way.slices.as_ref().map_or(0, |slices| slices.len());
        if crossing != packets {
            return Err(format!("{packets} pages in the slices, {crossing} units wait for one"));
        }
        let Some(buffers) = &self.way.page_buffers else { return Ok(()) };
        assert!(buffers.free.iter().all(|&free| free <= buffers.slots), "a buffer is free twice");
        let mut pages = pages_read;
        for (at, unit) in self.units.iter().enumerate() {
            let programs = |&slot: &OpSlot| self.ops[slot].kind() == OpKind::GcWrite;
            let begun = unit.executed(&self.ops).chain(suspended(at));
            pages += begun.filter(programs).count() as u64;
            let none_left = buffers.free[unit.channel as usize] == 0;
            if unit.shuts(R_GC) != none_left {
                return Err(format!("GC reads of channel {}: the gate is wrong", unit.channel));
            }
        }
        let used: u64 = buffers.free.iter().map(|free| u64::from(buffers.slots - free)).sum();
        if used != pages {
            return Err(format!("{pages} GC pages are in buffers, {used} buffers are taken"));
        }
        Ok(())
    }
}
