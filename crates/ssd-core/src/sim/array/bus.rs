//! Phases on the channel's bus, and the event of a unit.
//!
//! Commands (with the data of a program) go before data-out: a chip that waits to start costs more than one
//! that waits to finish. Data-out is therefore granted at the end of an instant, after the units that have
//! become idle in it have sent their commands. The bus has an event only while a unit waits for it.

use super::Array;
use super::event::Lane;
use super::unit::Stage;
use crate::nand::geometry::Geometry;
use crate::units::Nanos;

impl Array {
    /// `unit` sends its command (and data) as soon as the bus is free.
    #[inline(always)]
    pub(super) fn send_command(&mut self, unit: usize) {
        let u = &mut self.units[unit];
        let (wants, channel) = (u.service.wants_ns, u.channel as usize);
        if wants > 0 {
            let bus = &mut self.buses[channel];
            if bus.free_at > self.now || !bus.wait_in.is_empty() {
                u.stage = Stage::WaitIn;
                bus.wait_in.push(&mut self.units, unit as u32);
                return self.wait_for_bus(channel);
            }
            bus.carry(self.now, wants);
        }
        self.goes_in(unit, wants);
    }

    /// The data that `unit` has read go out as soon as the bus is free.
    #[inline(always)]
    fn send_data(&mut self, unit: usize) {
        let u = &mut self.units[unit];
        u.service.wants_ns = u.service.bus_ns - self.times.command_ns;
        if u.service.wants_ns == 0 {
            return self.goes_out(unit, 0);
        }
        u.stage = Stage::WaitOut;
        let channel = u.channel as usize;
        self.buses[channel].wait_out.push(&mut self.units, unit as u32);
        self.wait_for_bus(channel);
    }

    #[inline(always)]
    fn wait_for_bus(&mut self, channel: usize) {
        if self.buses[channel].free_at <= self.now {
            self.buses_to_grant.insert(channel as u32);
        } else {
            self.await_bus(channel);
        }
    }

    /// The bus has an event when it becomes free.
    #[inline(always)]
    fn await_bus(&mut self, channel: usize) {
        let bus = &mut self.buses[channel];
        if !bus.scheduled {
            bus.scheduled = true;
            self.events.schedule(channel, bus.free_at, Lane::Bus);
        }
    }

    /// The bus is free and a unit waits for it: it is granted at the end of the instant.
    #[inline(always)]
    pub(crate) fn bus_event(&mut self, channel: usize) {
        self.buses[channel].scheduled = false;
        self.buses_to_grant.insert(channel as u32);
    }

    /// Grant the free buses that are waited for.
    #[inline(always)]
    pub(crate) fn grant_buses(&mut self) {
        while let Some(channel) = self.buses_to_grant.pop() {
            let channel = channel as usize;
            let bus = &mut self.buses[channel];
            if bus.free_at <= self.now {
                if let Some(unit) = bus.wait_in.pop(&self.units) {
                    let wants = self.units[unit as usize].service.wants_ns;
                    bus.carry(self.now, wants);
                    self.goes_in(unit as usize, wants);
                } else {
                    let unit = bus.wait_out.pop(&self.units).expect("a unit waits");
                    let wants = self.units[unit as usize].service.wants_ns;
                    bus.carry(self.now, wants);
                    self.goes_out(unit as usize, wants);
                }
            }
            if self.buses[channel].awaited() {
                self.await_bus(channel);
            }
        }
    }

    /// `unit` has the bus for its command (and data), `ns` from now on; then its array works.
    #[inline(always)]
    fn goes_in(&mut self, unit: usize, ns: u64) {
        let u = &mut self.units[unit];
        let lane = u.service.lane;
        let end = Nanos(self.now.0 + ns + u.service.array_ns);
        u.stage = if lane == Lane::Read { Stage::Reading } else { Stage::Last };
        if self.ops.keeps_phases() {
            self.note_command(unit, Nanos(self.now.0 + ns), end);
        }
        self.events.schedule(self.buses.len() + unit, end, lane);
    }

    /// `unit` has the bus for its data, `ns` from now on; then its operation ends.
    #[inline(always)]
    fn goes_out(&mut self, unit: usize, ns: u64) {
        let end = Nanos(self.now.0 + ns);
        self.units[unit].stage = Stage::Last;
        if self.ops.keeps_phases() && end > self.now {
            let phases = &mut self.ops.detail(self.units[unit].running).phases;
            (phases.bus_start, phases.bus_end) = (self.now, end);
        }
        self.events.schedule(self.buses.len() + unit, end, Lane::Bus);
    }

    /// For the log: the transfer of data, without the command before it, and the array phase.
    #[inline(never)]
    fn note_command(&mut self, unit: usize, bus_end: Nanos, end: Nanos) {
        let data = Nanos(self.now.0 + self.times.command_ns);
        let phases = &mut self.ops.detail(self.units[unit].running).phases;
        if bus_end > data {
            (phases.bus_start, phases.bus_end) = (data, bus_end);
        }
        (phases.array_start, phases.array_end) = (bus_end, end);
    }

    /// The event of a unit. True: its operation ends. Else its array read has ended, or its page has entered
    /// the interconnect.
    #[inline(always)]
    pub(crate) fn unit_event(&mut self, geo: &Geometry, unit: usize) -> bool {
        match self.units[unit].stage {
            Stage::Last => return true,
            Stage::Reading => self.send_data(unit),
            _ => self.page_enters(geo, unit),
        }
        false
    }
}
