//! Phases on the channel's bus, and the event of a unit.
//!
//! Commands (with the data of a program) go before data-out: a chip that waits to start costs more than one
//! that waits to finish. Data-out is therefore granted at the end of an instant, after the units that have
//! become idle in it have sent their commands. The bus has an event only while a unit waits for it.

use super::Array;
use super::event::Lane;
use super::unit::{Bus, Stage, Unit};
use crate::units::{Nanos, OpSlot};

/// Let `u` send its command (and data) if its bus is free: its array works until then. Returns the lane of that event.
#[inline(always)]
pub(super) fn sends_now(u: &mut Unit, buses: &mut [Bus], now: Nanos) -> Option<(Nanos, Lane)> {
    debug_assert_eq!(u.stage, Stage::Idle, "a command is sent twice");
    debug_assert_ne!(u.running, OpSlot::NONE, "a command of no operation");
    let wants = u.service.wants_ns;
    if wants > 0 {
        let bus = &mut buses[u.channel as usize];
        if bus.free_at > now || !bus.wait_in.is_empty() {
            return None;
        }
        bus.carry(now, wants);
    }
    Some(u.goes_in(now, wants))
}

impl Array {
    /// Let `unit` send its command (and data) as soon as the bus is free.
    #[inline(always)]
    pub(super) fn send_command(&mut self, unit: usize) {
        let u = &mut self.units[unit];
        debug_assert_eq!(u.stage, Stage::Idle, "unit {unit} has sent a command");
        let wants = u.service.wants_ns;
        match sends_now(u, &mut self.buses, self.now) {
            None => self.waits_for_command(unit),
            Some((end, lane)) => {
                if self.ops.keeps_phases() {
                    self.note_command(unit, Nanos(self.now.0 + wants), end);
                    self.await_array(unit, end, lane);
                } else {
                    self.events.schedule(self.buses.len() + unit, end, lane);
                }
            }
        }
    }

    /// Let `unit` wait for the bus to send its command.
    #[inline(never)]
    pub(super) fn waits_for_command(&mut self, unit: usize) {
        let u = &mut self.units[unit];
        debug_assert!(u.service.wants_ns > 0, "unit {unit} needs no bus");
        u.stage = Stage::WaitIn;
        let channel = u.channel as usize;
        self.buses[channel].wait_in.push(&mut self.units, unit as u32);
        self.wait_for_bus(channel);
    }

    /// End the array read of `unit`, if nothing else is left to happen at this instant and its bus is free: its data go
    /// out now. Otherwise returns false and changes nothing.
    #[inline(always)]
    pub(crate) fn sends_data_at_once(&mut self, unit: usize) -> bool {
        let u = &mut self.units[unit];
        let bus = &mut self.buses[u.channel as usize];
        debug_assert_eq!(u.stage, Stage::Reading, "unit {unit} has no data");
        debug_assert_ne!(u.running, OpSlot::NONE, "unit {unit} has no operation");
        debug_assert!(!self.ops.keeps_phases(), "the log needs the phases of unit {unit}");
        debug_assert!(u.service.bus_ns >= self.times.command_ns, "unit {unit} sent no command");
        if bus.free_at > self.now || bus.awaited() {
            return false;
        }
        u.service.wants_ns = u.service.bus_ns - self.times.command_ns;
        bus.carry(self.now, u.service.wants_ns);
        u.stage = Stage::Last;
        let end = bus.free_at;
        self.events.schedule(self.buses.len() + unit, end, Lane::Bus);
        true
    }

    /// Send the data that `unit` has read as soon as the bus is free.
    #[inline(always)]
    pub(crate) fn send_data<const FULL: bool>(&mut self, unit: usize) {
        let u = &mut self.units[unit];
        debug_assert_eq!(u.stage, Stage::Reading, "unit {unit} has no data");
        debug_assert!(u.service.bus_ns >= self.times.command_ns, "unit {unit} has sent no command");
        u.service.wants_ns = u.service.bus_ns - self.times.command_ns;
        if u.service.wants_ns == 0 {
            return self.goes_out::<FULL>(unit, 0);
        }
        u.stage = Stage::WaitOut;
        let channel = u.channel as usize;
        self.buses[channel].wait_out.push(&mut self.units, unit as u32);
        self.wait_for_bus(channel);
    }

    #[inline(always)]
    fn wait_for_bus(&mut self, channel: usize) {
        debug_assert!(self.buses[channel].awaited(), "no unit waits for bus {channel}");
        if self.buses[channel].free_at <= self.now {
            self.buses_to_grant.insert(channel as u32);
        } else {
            self.await_bus(channel);
        }
    }

    /// Schedule an event of the bus when it becomes free.
    #[inline(always)]
    fn await_bus(&mut self, channel: usize) {
        let bus = &mut self.buses[channel];
        debug_assert!(bus.awaited(), "no unit waits for bus {channel}");
        debug_assert!(bus.free_at >= self.now, "bus {channel} has been free for some time");
        if !bus.scheduled {
            bus.scheduled = true;
            self.events.schedule(channel, bus.free_at, Lane::Bus);
        }
    }

    /// Note that the bus is free and a unit waits for it: it is granted at the end of the instant.
    #[inline(always)]
    pub(crate) fn bus_event(&mut self, channel: usize) {
        debug_assert!(self.buses[channel].scheduled, "bus {channel} has no event");
        debug_assert!(self.buses[channel].free_at <= self.now, "bus {channel} is busy");
        self.buses[channel].scheduled = false;
        self.buses_to_grant.insert(channel as u32);
    }

    /// Grant the free buses that units wait for.
    #[inline(always)]
    pub(crate) fn grant_buses<const FULL: bool>(&mut self) {
        while let Some(channel) = self.buses_to_grant.pop() {
            let channel = channel as usize;
            let bus = &mut self.buses[channel];
            if bus.free_at <= self.now {
                let (line, goes_in) = if bus.wait_in.is_empty() {
                    (&mut bus.wait_out, false)
                } else {
                    (&mut bus.wait_in, true)
                };
                let unit = line.pop(&self.units).expect("a unit waits") as usize;
                debug_assert_eq!(
                    self.units[unit].channel as usize, channel,
                    "unit {unit} is elsewhere"
                );
                let wants = self.units[unit].service.wants_ns;
                debug_assert!(wants > 0, "unit {unit} waits for a bus that it does not need");
                bus.carry(self.now, wants);
                if bus.awaited() {
                    self.await_bus(channel);
                }
                if goes_in {
                    self.goes_in::<FULL>(unit, wants);
                } else {
                    self.goes_out::<FULL>(unit, wants);
                }
            } else if bus.awaited() {
                self.await_bus(channel);
            }
        }
    }

    /// Give `unit` the bus for its command (and data), for `ns` from now on; then its array works.
    #[inline(always)]
    fn goes_in<const FULL: bool>(&mut self, unit: usize, ns: u64) {
        debug_assert_eq!(self.units[unit].stage, Stage::WaitIn, "unit {unit} waits for no bus");
        let (end, lane) = self.units[unit].goes_in(self.now, ns);
        if FULL && self.ops.keeps_phases() {
            self.note_command(unit, Nanos(self.now.0 + ns), end);
            self.await_array(unit, end, lane);
        } else {
            self.events.schedule(self.buses.len() + unit, end, lane);
        }
    }

    /// Give `unit` the bus for its data, for `ns` from now on; then its operation ends.
    #[inline(always)]
    fn goes_out<const FULL: bool>(&mut self, unit: usize, ns: u64) {
        let end = Nanos(self.now.0 + ns);
        let stage = self.units[unit].stage;
        debug_assert_ne!(self.units[unit].running, OpSlot::NONE, "unit {unit} has no operation");
        debug_assert!(matches!(stage, Stage::Reading | Stage::WaitOut), "unit {unit}: {stage:?}");
        self.units[unit].stage = Stage::Last;
        if FULL && self.ops.keeps_phases() && end > self.now {
            let phases = self.ops.phases(self.units[unit].running);
            (phases.bus_start, phases.bus_end) = (self.now, end);
        }
        self.events.schedule(self.buses.len() + unit, end, Lane::Bus);
    }

    /// For the log: the transfer of data, without the command before it, and the array phase.
    #[inline(never)]
    fn note_command(&mut self, unit: usize, bus_end: Nanos, end: Nanos) {
        debug_assert!(bus_end <= end, "the array of unit {unit} ends before it begins");
        debug_assert!(self.ops.keeps_phases(), "nobody wants the phases of unit {unit}");
        let data = Nanos(self.now.0 + self.times.command_ns);
        let phases = self.ops.phases(self.units[unit].running);
        if bus_end > data {
            (phases.bus_start, phases.bus_end) = (data, bus_end);
        }
        (phases.array_start, phases.array_end) = (bus_end, end);
    }
}
