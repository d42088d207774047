//! The reconstructions under way: the group that each of them reads, its state, and what waits behind it. `reconstruct`
//! has their steps.

use super::Raid;
use crate::config::GroupReads;
use crate::ftl::Ftl;
use crate::ftl::raid::GroupId;
use crate::metrics::counters::Parts;
use crate::nand::flash::Payload;
use crate::sim::join::Join;
use crate::units::{Lpn, Nanos, OpSlot, PlaneId, RecoverySlot};
use std::collections::{BTreeMap, VecDeque};

/// Where a reconstruction stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// It waits for the group.
    Queued,
    /// It reads the other pages.
    Reading,
    /// The page is known, and is programmed.
    Programming,
}

/// One reconstruction.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    pub(super) lpn: Lpn,
    /// The plane on which the page will be programmed, if it is.
    pub(super) target: Option<PlaneId>,
    /// Whether room is held for it: from when the group is locked until the page is bound.
    pub(super) holds: bool,
    /// The class of the page, while room is held.
    pub(super) class: u8,
    /// Reads of the host that it answers, each with the time since which it waits.
    pub(super) readers: Vec<(OpSlot, Nanos)>,
    pub(super) step: Step,
    /// Reads that have not ended.
    pub(super) steps: Join,
    pub(super) began: Nanos,
    /// Where the time of the last read has gone since it began.
    pub(super) parts: Parts,
    pub(super) sum: Payload,
    /// The digest that the page must have, if contents are kept.
    pub(super) expected: Option<u64>,
    /// Whether a page that it needs is lost.
    pub(super) failed: bool,
}

/// The reconstructions of one group.
#[derive(Default)]
pub(super) struct GroupRecoveries {
    /// It has the lock.
    pub(super) active: Option<RecoverySlot>,
    pub(super) waiting: VecDeque<RecoverySlot>,
}

/// All reconstructions under way.
pub(crate) struct Recoveries {
    pub(super) entries: Vec<Recovery>,
    free: Vec<RecoverySlot>,
    pub(super) groups: BTreeMap<GroupId, GroupRecoveries>,
    /// Which reads of the host are answered by reconstructions.
    pub(super) reads: GroupReads,
}

impl Recoveries {
    pub(super) fn new(reads: GroupReads) -> Recoveries {
        Recoveries { entries: Vec::new(), free: Vec::new(), groups: BTreeMap::new(), reads }
    }

    pub(super) fn get(&mut self, slot: RecoverySlot) -> &mut Recovery {
        debug_assert!(!self.free.contains(&slot), "{slot:?} is over");
        &mut self.entries[slot.at()]
    }

    /// The reconstruction that has locked `group`.
    pub(super) fn active(&self, group: GroupId) -> Option<RecoverySlot> {
        debug_assert!(self.free.len() <= self.entries.len(), "more are over than were");
        self.groups.get(&group).and_then(|state| state.active)
    }

    /// All under way, with or without the lock.
    pub(super) fn slots(&self) -> impl Iterator<Item = RecoverySlot> + '_ {
        self.groups
            .values()
            .flat_map(|state| state.active.into_iter().chain(state.waiting.iter().copied()))
    }

    /// The reconstruction of `lpn` under way.
    pub(super) fn of_page(&self, group: GroupId, lpn: Lpn) -> Option<RecoverySlot> {
        debug_assert_ne!(lpn, Lpn::NONE, "no page is computed");
        let state = self.groups.get(&group)?;
        let slots = state.active.iter().chain(&state.waiting);
        slots
            .copied()
            .find(|slot| self.entries[slot.at()].lpn == lpn && !self.entries[slot.at()].failed)
    }

    /// Whether `lpn` is being rebuilt.
    pub(super) fn rebuilds(&self, group: GroupId, lpn: Lpn) -> bool {
        debug_assert_ne!(lpn, Lpn::NONE, "no page is rebuilt");
        let Some(state) = self.groups.get(&group) else { return false };
        let mut recoveries =
            state.active.iter().chain(&state.waiting).map(|slot| &self.entries[slot.at()]);
        recoveries.any(|recovery| recovery.lpn == lpn && recovery.target.is_some())
    }

    /// The read of the host for which it was begun; `None` for a rebuild.
    pub(crate) fn first_reader(&self, slot: RecoverySlot) -> Option<OpSlot> {
        let recovery = &self.entries[slot.at()];
        debug_assert!(recovery.target.is_some() || !recovery.readers.is_empty(), "for nobody");
        if recovery.target.is_some() { None } else { recovery.readers.first().map(|r| r.0) }
    }

    /// Note that the page of a rebuild is about to be programmed: its room is no longer held.
    pub(crate) fn note_bound(&mut self, slot: RecoverySlot) {
        let recovery = self.get(slot);
        assert!(std::mem::take(&mut recovery.holds), "{slot:?} is programmed without room");
    }

    pub(super) fn insert(&mut self, group: GroupId, recovery: Recovery) -> RecoverySlot {
        assert_eq!(recovery.step, Step::Queued, "{recovery:?} has begun");
        let slot = match self.free.pop() {
            Some(slot) => {
                self.entries[slot.at()] = recovery;
                slot
            }
            None => {
                self.entries.push(recovery);
                RecoverySlot((self.entries.len() - 1) as u32)
            }
        };
        self.groups.entry(group).or_default().waiting.push_back(slot);
        slot
    }

    /// Remove the reconstruction that has locked `group`.
    pub(super) fn release(&mut self, group: GroupId) {
        let state = self.groups.get_mut(&group).expect("it is locked");
        let slot = state.active.take().expect("by a reconstruction");
        assert!(!self.free.contains(&slot), "{slot:?} ends twice");
        if state.waiting.is_empty() {
            self.groups.remove(&group);
        }
        self.free.push(slot);
    }

    /// Lists and locks agree.
    pub(super) fn audit(&self, raid: &Raid, ftl: &Ftl) -> Result<(), String> {
        assert!(self.free.len() <= self.entries.len(), "more are over than were");
        let slots: Vec<RecoverySlot> = self.slots().collect();
        if slots.len() + self.free.len() != self.entries.len() {
            return Err(format!(
                "{} reconstructions of {} in line",
                slots.len(),
                self.entries.len()
            ));
        }
        for (group, state) in &self.groups {
            let (active, shut) = (state.active.is_some(), raid.is_shut(ftl, *group));
            if active && shut && ftl.lost.is_some() || !active && !shut {
                return Err(format!("{group:?}: reconstruction and update: {active}"));
            }
            let idle = |slot: &RecoverySlot| self.entries[slot.at()].step == Step::Queued;
            if !state.waiting.iter().all(idle) {
                return Err(format!("a reconstruction of {group:?} waits and has begun"));
            }
        }
        Ok(())
    }
}
