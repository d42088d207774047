//! The audit of the machine: all invariants of its parts and features.

use super::core::Core;
use super::raid::{audit_lost, has_lost_data};
use super::ssd::{Audits, Ssd};
use crate::sched::order::{R_GC, R_HOST, W_GC, W_HOST};
use crate::units::OpSlot;

impl Core {
    /// Check that at the end of an instant no idle unit has an operation that `dispatch` would start.
    pub(crate) fn audit_idle_units(&self) -> Result<(), String> {
        assert!(self.array.ready.is_empty(), "a unit that was woken has not been dispatched");
        let idle = (0..self.array.units.len())
            .filter(|&unit| self.array.units[unit].running == OpSlot::NONE);
        for unit in idle {
            for queue in [R_HOST, W_HOST, R_GC, W_GC] {
                if self.array.units[unit].waiting() >> queue & 1 == 0 {
                    continue;
                }
                if let Some(slot) = self.missed(unit, queue) {
                    let op = &self.array.ops[slot];
                    let (kind, lpn, entry) = (op.kind(), op.lpn.0, self.ftl.owners.newest(op.lpn));
                    return Err(format!(
                        "unit {unit} is idle, and the {kind:?} of LPN {lpn} ({entry:?}) could start"
                    ));
                }
            }
        }
        Ok(())
    }

    /// The first operation of `queue` that could start now.
    fn missed(&self, unit: usize, queue: usize) -> Option<OpSlot> {
        debug_assert_eq!(self.array.units[unit].running, OpSlot::NONE, "unit {unit} is busy");
        let may_start = |&slot: &OpSlot| match queue {
            R_HOST => self.read_may_start(unit, slot),
            W_HOST => self.write_target(unit, slot).is_some(),
            _ => true,
        };
        let queued = self.array.ops.linked(self.array.units[unit].head(queue));
        queued.take(self.array.pick.look_ahead as usize).find(may_start)
    }
}

impl Ssd {
    /// Recompute all invariants now.
    ///
    /// # Errors
    /// The first violated one.
    pub fn audit(&self) -> Result<(), String> {
        assert_eq!(self.core.ftl.blocks.now, self.core.array.now, "policies have another clock");
        assert_eq!(
            self.core.array.units.len(),
            self.core.ftl.geo.units as usize,
            "units of another device"
        );
        self.core.ftl.audit()?;
        self.core.front.audit()?;
        self.core.ledger.audit(&self.core.ftl)?;
        self.logs.audit(self.core.front.submitted)?;
        let quiet = self.core.front.arrivals.is_empty();
        let zones = self.zones.as_deref();
        zones.map_or(Ok(()), |zones| zones.audit(&self.core.ftl, quiet))?;
        self.power.as_ref().map_or(Ok(()), |power| power.audit())?;
        let suspension = self.suspension.as_deref();
        let suspended = |unit| -> Vec<OpSlot> {
            suspension.map_or(Vec::new(), |s| s.suspended(&self.core, unit).collect())
        };
        self.core.array.audit(suspended)?;
        self.core.array.audit_way(self.core.gc.pages_read.iter().sum(), suspended)?;
        self.core.gc.audit(&self.core.ftl)?;
        assert!(self.raid.is_some() || !has_lost_data(&self.core), "pages are lost without parity");
        if !has_lost_data(&self.core) {
            self.raid.as_ref().map_or(Ok(()), |raid| raid.audit(&self.core))?;
            audit_lost(&self.core, self.contents.as_deref())?;
        }
        self.copies.as_ref().map_or(Ok(()), |copies| copies.audit(&self.core))?;
        self.audit_buffer()
    }

    /// At the end of an instant: check what no later audit would find, and all invariants when they are due.
    #[inline(never)]
    pub(super) fn audit_instant(&mut self) {
        let Audits { every, left } = &mut self.audits;
        assert!(*left > 0, "no audit is wanted");
        let due = *left == 1;
        *left = if due { *every } else { *left - 1 };
        let suspension = self.suspension.as_ref();
        let result = self.core.audit_idle_units();
        let result =
            result.and_then(|()| suspension.map_or(Ok(()), |s| s.audit_instant(&self.core)));
        let result = result.and_then(|()| if due { self.audit() } else { Ok(()) });
        result.unwrap_or_else(|e| panic!("audit at {} ns: {e}", self.core.array.now.0));
    }
}
