//! Phases on the channel's bus, and the end of operations on their unit.
//!
//! Commands (with the data of a program) go before data-out: a chip that waits to start costs more than one
//! that waits to finish. Data-out is therefore granted at the end of an instant, after the units that have
//! become idle in it have sent their commands. The bus has an event only while a unit waits for it.

use super::Array;
use super::unit::Stage;
use crate::nand::geometry::Geometry;
use crate::units::{Nanos, OpSlot};

impl Array {
    /// `unit` requests its channel for `wants_ns`; `stage`: whether its data go in or out.
    #[inline(always)]
    pub(super) fn request_bus(&mut self, unit: usize, stage: Stage) {
        let wants = self.units[unit].wants_ns;
        if wants == 0 {
            self.bus_granted(unit, stage, 0);
            return;
        }
        let channel = self.units[unit].channel as usize;
        let bus = &mut self.buses[channel];
        if stage == Stage::WaitIn && bus.free_at <= self.now && bus.wait_in.is_empty() {
            bus.free_at = Nanos(self.now.0 + wants);
            bus.busy_ns += wants;
            self.bus_granted(unit, stage, wants);
        } else {
            self.wait_for_bus(unit, stage);
        }
    }

    #[inline]
    fn wait_for_bus(&mut self, unit: usize, stage: Stage) {
        self.units[unit].stage = stage;
        let channel = self.units[unit].channel;
        let bus = &mut self.buses[channel as usize];
        if stage == Stage::WaitIn {
            bus.wait_in.push_back(unit as u32);
        } else {
            bus.wait_out.push_back(unit as u32);
        }
        if bus.free_at <= self.now {
            self.buses_to_grant.insert(channel);
        } else {
            self.await_bus(channel);
        }
    }

    /// The bus has an event when it becomes free.
    #[inline]
    fn await_bus(&mut self, channel: u32) {
        let bus = &mut self.buses[channel as usize];
        if !bus.scheduled {
            bus.scheduled = true;
            let at = bus.free_at;
            self.events.schedule(channel as usize, at);
        }
    }

    /// The bus is free and a unit waits for it: it is granted at the end of the instant.
    pub(crate) fn bus_event(&mut self, channel: usize) {
        self.buses[channel].scheduled = false;
        self.buses_to_grant.insert(channel as u32);
    }

    /// Grant the free buses that are waited for.
    pub(crate) fn grant_buses(&mut self) {
        while let Some(channel) = self.buses_to_grant.pop() {
            let bus = &mut self.buses[channel as usize];
            if bus.free_at <= self.now {
                let (unit, stage) = match bus.wait_in.pop_front() {
                    Some(unit) => (unit, Stage::WaitIn),
                    None => (bus.wait_out.pop_front().expect("a unit waits"), Stage::WaitOut),
                };
                let wants = self.units[unit as usize].wants_ns;
                bus.free_at = Nanos(self.now.0 + wants);
                bus.busy_ns += wants;
                self.bus_granted(unit as usize, stage, wants);
            }
            if self.buses[channel as usize].awaited() {
                self.await_bus(channel);
            }
        }
    }

    /// `unit` has the bus for `ns` from now on; returns the time of its next event.
    #[inline(always)]
    fn bus_granted(&mut self, unit: usize, stage: Stage, ns: u64) {
        let bus_end = Nanos(self.now.0 + ns);
        let (slot, array_ns) = (self.units[unit].running, self.units[unit].array_ns);
        let going_in = stage == Stage::WaitIn;
        let end = if going_in { Nanos(bus_end.0 + array_ns) } else { bus_end };
        if self.ops.keeps_phases() {
            self.note_phases(slot, going_in, bus_end, end);
        }
        let out = going_in && self.ops[slot].kind().is_read();
        self.units[unit].stage = if out { Stage::Reading } else { Stage::Last };
        let resource = self.unit_resource(unit);
        self.events.schedule(resource, end);
    }

    /// For the log: the transfer of data, without the command before it, and the array phase.
    #[inline(never)]
    fn note_phases(&mut self, slot: OpSlot, going_in: bool, bus_end: Nanos, end: Nanos) {
        let command = if going_in { self.times.command_ns } else { 0 };
        let now = self.now;
        let phases = &mut self.ops.detail(slot).phases;
        if bus_end.0 > now.0 + command {
            (phases.bus_start, phases.bus_end) = (Nanos(now.0 + command), bus_end);
        }
        if going_in {
            (phases.array_start, phases.array_end) = (bus_end, end);
        }
    }

    /// The event of a unit. True: its operation ends. Else its array read has ended, or its page has entered
    /// the interconnect.
    #[inline(always)]
    pub(crate) fn unit_event(&mut self, geo: &Geometry, unit: usize) -> bool {
        let u = &mut self.units[unit];
        match u.stage {
            Stage::Last => return true,
            Stage::Reading => {
                u.wants_ns = u.bus_ns - self.times.command_ns;
                self.request_bus(unit, Stage::WaitOut);
            }
            _ => self.page_enters(geo, unit),
        }
        false
    }
}
