//! The bottom layer of the timed machine: its four parts, and what all of them need together.
//!
//! The route (`Ssd`) and the features call it. It cannot reach the state of parity, copies or power cuts, and
//! reports to them through fields that they read, such as [`Core::room_changed`]. Its methods are in the files
//! named after the steps.

use super::array::Array;
use super::array::loads::ChipLoads;
use super::array::op::{Op, OpKind};
use super::collector::Collector;
use super::front::Front;
use super::ledger::Ledger;
use crate::config::{Config, Suspend};
use crate::ftl::Ftl;
use crate::ftl::plugs::Plugs;
use crate::host::device::DeviceError;
use crate::sched::order::{R_HOST, W_HOST};
use crate::units::{OpSlot, PlaneId, Ppn};

/// Host, flash array, collection and measurement over the page decisions.
pub struct Core {
    /// Page decisions.
    pub ftl: Ftl,
    pub(crate) front: Front,
    pub(crate) array: Array,
    pub(crate) gc: Collector,
    pub(crate) ledger: Ledger,
    /// The work that waits on each chip, if the redirection of writes needs it.
    pub(super) loads: Option<Box<ChipLoads>>,
    /// Whether `loads`, a trigger or suspended operations must be told of every queued host operation.
    pub(super) watches_queues: bool,
    /// Whether updates of parity groups may find room, or the redirection a write, at the end of this instant.
    pub(super) groups_due: bool,
    /// Whether something has happened that may have made room for updates of parity groups.
    pub(super) room_changed: bool,
    /// Units on which a program has started from a page buffer at this instant, outside of dispatch; recorded only with
    /// a log.
    pub(super) buffer_starts: Vec<usize>,
    /// Why the run ends at this instant.
    pub(crate) failure: Option<Box<DeviceError>>,
}

impl Core {
    /// Over the device `ftl`, with `sequence` pages admitted so far.
    pub(super) fn new(config: &Config, ftl: Ftl, sequence: u64, plugs: &Plugs) -> Core {
        let front = Front::new(config, plugs, sequence);
        let gc = Collector::new(config, &ftl, plugs);
        let loads = ChipLoads::new(config, &ftl.geo);
        debug_assert!(loads.is_none() || ftl.groups.is_some(), "writes without parity redirected");
        Core {
            front,
            array: Array::new(config, &ftl.geo),
            ledger: Ledger::new(config, &ftl, sequence),
            watches_queues: gc.agenda.watches_requests()
                || loads.is_some()
                || config.timing.suspend != Suspend::None,
            loads,
            groups_due: false,
            room_changed: false,
            buffer_starts: Vec::new(),
            failure: None,
            gc,
            ftl,
        }
    }

    /// Overwrite what a power cut loses.
    pub(super) fn lose_power(&mut self, config: &Config, plugs: &Plugs) {
        // By name, so that the compiler asks for every field whether it survives.
        let Core {
            ftl,
            front,
            array,
            gc,
            ledger: _,
            loads,
            watches_queues: _,
            groups_due,
            room_changed,
            buffer_starts,
            failure,
        } = self;
        debug_assert!(buffer_starts.is_empty(), "power is cut within an instant");
        let now = array.now;
        *front = front.after_cut(Front::new(config, plugs, front.sequence));
        ftl.lose_power(config);
        let mut new_array = Array::new(config, &ftl.geo);
        new_array.take_over(array);
        *array = new_array;
        *gc = Collector::new(config, ftl, plugs);
        *loads = ChipLoads::new(config, &ftl.geo);
        (*failure, *groups_due, *room_changed) = (None, false, false);
        debug_assert_eq!(self.array.now, now, "a cut takes no time");
        debug_assert!(self.array.events.next_time().is_none(), "an event survives");
        debug_assert!(self.array.timers.next_time().is_none(), "a timer survives");
    }

    /// The measurement starts now.
    #[inline(never)]
    pub(crate) fn restart_measurement(&mut self) {
        self.ledger.restart(self.array.now, &self.ftl, self.front.sequence);
        self.array.restart_activity();
        self.ftl.space.restart_lowest();
        self.ftl.restart_classes();
    }

    /// Queue the new host operation `op` in `queue` of the unit of its plane.
    #[inline]
    pub(crate) fn insert_and_enqueue(&mut self, op: Op, queue: usize) -> OpSlot {
        debug_assert!(queue <= W_HOST, "queue {queue} is not the host's");
        let unit = self.ftl.geo.unit_of(op.plane);
        let slot = self.array.insert_host(unit, op, queue);
        if self.watches_queues {
            self.host_waits(slot, queue);
        }
        slot
    }

    /// Queue the operation in `slot` on the unit of its plane.
    #[inline]
    pub(crate) fn enqueue(&mut self, slot: OpSlot, queue: usize) {
        debug_assert!(queue < 4, "there is no queue {queue}");
        self.array.enqueue(&self.ftl.geo, slot, queue);
        if queue <= W_HOST && self.watches_queues {
            self.host_waits(slot, queue);
        }
    }

    /// Note that the host operation in `slot` now waits in `queue` of the unit of its plane: triggers and the
    /// redirection may have to act.
    #[inline(never)]
    fn host_waits(&mut self, slot: OpSlot, queue: usize) {
        let plane = self.array.ops[slot].plane;
        if self.gc.agenda.watches_requests() {
            self.gc.agenda.consider(self.ftl.geo.pool_of(plane));
        }
        if queue == R_HOST && self.array.times.suspend != Suspend::None {
            // It may suspend what runs there.
            self.array.ready.insert(self.ftl.geo.unit_of(plane).0);
        }
        if self.loads.is_none() {
            return;
        }
        let program = queue == W_HOST;
        let times = &self.array.times;
        let on_flash = self.ftl.owners.committed(self.array.ops[slot].lpn);
        // A page that is not known takes as long as pages do on average.
        let ns = match on_flash {
            _ if program => times.program_ns,
            Some(page) => times.read_of::<true>(|| self.ftl.type_of(page)),
            None => times.read_ns,
        };
        debug_assert!(plane.0 < self.ftl.geo.planes, "{slot:?} waits nowhere");
        let program = program && self.array.ops[slot].kind() == OpKind::GroupWrite;
        let loads = self.loads.as_mut().expect("seen");
        loads.queued(plane, (self.array.now, ns), program);
        self.groups_due = true;
    }

    /// Array read of `page`.
    #[inline(always)]
    pub(super) fn read_ns<const FULL: bool>(&self, page: Ppn) -> u64 {
        self.array.times.read_of::<FULL>(|| self.ftl.type_of(page))
    }

    /// Array program of the operation in `slot`, which is bound to a page. The plain loop looks up no page.
    #[inline(always)]
    pub(super) fn program_ns<const FULL: bool>(&self, slot: OpSlot) -> u64 {
        let times = &self.array.times;
        if FULL {
            times.program_of(|| self.ftl.type_of(self.array.ops[slot].ppn))
        } else {
            times.program_ns
        }
    }

    /// End the run at this instant, with the first error of all.
    #[cold]
    pub(super) fn fail(&mut self, error: DeviceError) {
        self.failure.get_or_insert_with(|| Box::new(error));
    }

    /// Note that a program of a group page that has waited on `plane` starts, or is given up.
    pub(super) fn program_leaves(&mut self, plane: PlaneId) {
        if let Some(loads) = &mut self.loads {
            loads.starts(plane);
        }
    }
}
