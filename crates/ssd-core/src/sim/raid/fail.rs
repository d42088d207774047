//! A chip fails (`raid.fail`), the device continues without it, and a spare takes its place.
//!
//! At the failure every committed page of the chip is lost: it is nowhere on flash, and the others of its group
//! determine it ([`crate::ftl::raid::lost`]). What runs on the chip at that moment ends: a read still delivers, a
//! program is given up. What waits for it goes elsewhere: reads are answered by a reconstruction, updates that wanted
//! to read there read again, and pages that were to be programmed there are lost, too. A job that collects there finds
//! nothing to copy and ends with its erase. Nothing new begins on the chip. When it is quiet, a spare, if there is one,
//! takes its place, and the rebuild begins (`rebuild`).
//!
//! Two lost pages of one group cannot be restored: the run ends, and the error names the pages of the host.

use super::lost::{degradation, end_with_loss, has_lost_data, note_lost_pages};
use super::rebuild::Rebuild;
use super::{ChangedPage, Raid, Stage};
use crate::config::{ChipFailure, Config};
use crate::ftl::raid::lost::Numbers;
use crate::metrics::degraded::FailedChip;
use crate::nand::geometry::Geometry;
use crate::sched::order::{R_HOST, W_HOST};
use crate::sim::array::op::{OpKind, Work};
use crate::sim::core::Core;
use crate::sim::dispatch::QueuedOp;
use crate::sim::join::Join;
use crate::sim::ssd::Ssd;
use crate::units::{Lpn, Nanos, OpSlot, PlaneId, Ppn, UpdateSlot};

/// The state of failed chips.
pub(super) struct Failures {
    /// The chips that fail, as in the configuration.
    failures: Vec<ChipFailure>,
    /// Which of them have failed.
    over: Vec<bool>,
    /// Whether a chip has failed during the present mount.
    pub(super) during_mount: bool,
    /// Spares left.
    spares: u32,
    /// Failed chips for which a spare is ready, with their index in the measurement.
    awaited: Vec<(u32, usize)>,
    pub(super) rebuild: Rebuild,
}

impl Failures {
    /// If chips fail.
    pub(super) fn new(config: &Config, geo: &Geometry) -> Option<Box<Failures>> {
        let failures = config.raid.fail.clone();
        let chips = geo.planes / geo.planes_per_chip;
        debug_assert!(failures.iter().all(|failure| failure.chip < chips), "no chip");
        let rebuild = Rebuild::new(config);
        let spares = config.raid.spares;
        let over = vec![false; failures.len()];
        let awaited = Vec::new();
        (!failures.is_empty()).then(|| {
            Box::new(Failures { failures, over, during_mount: false, spares, awaited, rebuild })
        })
    }

    /// As it is after a power cut: a drive knows which chips have failed, and which spares it has left.
    pub(super) fn after_cut(self, config: &Config) -> Failures {
        debug_assert_eq!(self.over.len(), self.failures.len(), "failures of another device");
        Failures { rebuild: Rebuild::new(config), ..self }
    }

    /// The failures to come: their numbers and times.
    pub(super) fn to_come(&self) -> impl Iterator<Item = (u32, Nanos)> + '_ {
        debug_assert_eq!(self.over.len(), self.failures.len(), "failures of another device");
        let all = (0..).zip(&self.failures).zip(&self.over);
        all.filter(|&(_, &over)| !over).map(|((number, failure), _)| (number, Nanos(failure.at_ns)))
    }
}

impl Ssd {
    /// Fail the chip of entry `number` of `raid.fail`.
    #[inline(never)]
    pub(in crate::sim) fn chip_fails(&mut self, number: u32) {
        let now = self.core.array.now;
        let Some(planes) = self.lose_chip(number, now) else { return };
        let (lost, is_recoverable) = self.core.ftl.chip_fails(&planes);
        degradation(&mut self.core).pages_lost += lost;
        if let Some(power) = &mut self.power {
            power.chip_fails(&self.core, &planes);
        }
        let reads = remove_all_queued(&mut self.core, &planes, R_HOST);
        let mut ready = self.give_up_programs(&planes);
        let (raid, core) = self.parity();
        ready.extend(raid.give_up_landed(core, &planes));
        raid.give_up_rebuilds(core, &planes);
        raid.recount_foreign(&core.ftl, &core.array);
        ready.sort_unstable();
        ready.dedup();
        note_lost_pages(&mut self.core);
        self.core.note_room();
        self.core.array.wake_all();
        for plane in planes {
            self.core.gc.agenda.consider(self.core.ftl.geo.pool_of(plane));
        }
        if !is_recoverable {
            end_with_loss(&mut self.core);
        }
        for slot in reads {
            match self.core.read_target(slot) {
                Some(page) => {
                    self.core.array.ops[slot].plane = self.core.ftl.geo.plane_of(page);
                    self.core.enqueue(slot, R_HOST);
                }
                None => self.read_finds_nothing(slot),
            }
        }
        for update in ready {
            let entry = self.parity().0.get(update);
            if entry.stage == Stage::Programming && entry.steps.is_done() {
                self.commit_update(update);
            }
        }
    }

    /// Note that the chip of entry `number` of `raid.fail` fails at `at`. Returns its planes; `None` if it is missing
    /// already, or the run ends.
    pub(super) fn lose_chip(&mut self, number: u32, at: Nanos) -> Option<Vec<PlaneId>> {
        let failures = self.parity().0.failures();
        assert!(!std::mem::replace(&mut failures.over[number as usize], true), "it fails twice");
        let chip = failures.failures[number as usize].chip;
        let planes = self.core.ftl.geo.planes_of_chip(chip);
        assert!(!planes.is_empty(), "chip {chip} has no plane");
        if has_lost_data(&self.core) || planes.iter().any(|&plane| self.core.ftl.is_dead(plane)) {
            return None;
        }
        let group = self.core.ftl.chips_of_group(chip);
        let degraded = degradation(&mut self.core);
        let place = degraded.chips.len();
        degraded.chips.push(FailedChip { chip, failed: at, replaced: None, group });
        let failures = self.parity().0.failures();
        if failures.spares > 0 {
            failures.spares -= 1;
            failures.awaited.push((chip, place));
        }
        Some(planes)
    }

    /// Give up programs that wait for the failed chip of `planes`. Returns their updates.
    fn give_up_programs(&mut self, planes: &[PlaneId]) -> Vec<UpdateSlot> {
        debug_assert!(
            planes.iter().all(|&plane| self.core.ftl.is_dead(plane)),
            "{planes:?} have a chip"
        );
        let mut updates = Vec::new();
        for slot in remove_all_queued(&mut self.core, planes, W_HOST) {
            let (raid, core) = self.parity();
            match core.array.ops[slot].work {
                Work::GroupWrite { update, .. } => {
                    let (plane, stream) =
                        (core.array.ops[slot].plane, core.array.ops[slot].stream());
                    core.ftl.space.let_go(plane, core.ftl.space.host_stream(stream));
                    core.program_leaves(plane);
                    raid.give_up_page(core, slot);
                    let entry = raid.get(update);
                    entry.parts = core.array.ops[slot].parts;
                    entry.steps.part_ends();
                    updates.push(update);
                }
                Work::RebuildWrite { recovery, .. } => {
                    core.array.ops.remove(slot);
                    raid.give_up_rebuild(core, recovery);
                    let lpn = raid.recoveries.get(recovery).lpn;
                    let group = core.ftl.parity_groups().group_of(lpn);
                    self.end_recovery(group);
                }
                _ => unreachable!("{slot:?} writes no page of a group"),
            }
        }
        updates
    }

    /// Note that an operation has ended, so a failed chip may be quiet now.
    #[inline(always)]
    pub(in crate::sim) fn note_end<const FULL: bool>(&mut self) {
        debug_assert!(FULL || self.core.ftl.lost.is_none(), "a plain loop in which chips fail");
        if FULL && self.raid.as_deref().is_some_and(Raid::awaits_spare) {
            self.core.note_room();
        }
    }

    /// Note that something has happened that may let a spare in, or a page be rebuilt.
    pub(in crate::sim) fn advance_failures(&mut self) {
        debug_assert!(self.raid.is_some(), "a device without parity");
        if self.core.ftl.lost.is_none() || has_lost_data(&self.core) {
            return;
        }
        for (chip, place) in std::mem::take(&mut self.parity().0.failures().awaited) {
            let (raid, core) = self.parity();
            let planes = core.ftl.geo.planes_of_chip(chip);
            if !is_chip_idle(core, &planes) {
                raid.failures().awaited.push((chip, place));
                continue;
            }
            raid.install_spare(core, &planes, place);
            if let Some(power) = &mut self.power {
                power.chip_replaced(&mut self.core, &planes);
            }
        }
        self.continue_rebuild();
    }
}

/// Take the operations that wait in `queue` for the failed chip of `planes` out of it.
fn remove_all_queued(core: &mut Core, planes: &[PlaneId], queue: usize) -> Vec<OpSlot> {
    debug_assert!(planes.iter().all(|&plane| core.ftl.is_dead(plane)), "{planes:?} have a chip");
    let mut removed = Vec::new();
    for unit in units_of(core, planes) {
        let (mut before, mut slot) = (OpSlot::NONE, core.array.units[unit].head(queue));
        while slot != OpSlot::NONE {
            let (next, plane) = (core.array.ops[slot].next, core.array.ops[slot].plane);
            if planes.contains(&plane) {
                remove_queued(core, unit, queue, QueuedOp { before, slot, plane });
                removed.push(slot);
            } else {
                before = slot;
            }
            slot = next;
        }
    }
    removed
}

fn units_of(core: &Core, planes: &[PlaneId]) -> Vec<usize> {
    debug_assert!(!planes.is_empty(), "units of no plane");
    let mut units: Vec<usize> =
        planes.iter().map(|&plane| core.ftl.geo.unit_of(plane).at()).collect();
    units.dedup();
    units
}

/// Remove `entry` from `queue`, whatever runs on `unit`.
pub(super) fn remove_queued(core: &mut Core, unit: usize, queue: usize, entry: QueuedOp) {
    debug_assert_ne!(core.array.units[unit].running, entry.slot, "{:?} runs", entry.slot);
    core.take(unit, queue, entry);
    if core.array.leave_queue(unit, entry.slot) {
        core.gc.note_idle(unit, &mut core.array);
    }
}

/// Whether nothing runs or waits on `planes`.
fn is_chip_idle(core: &Core, planes: &[PlaneId]) -> bool {
    debug_assert!(!planes.is_empty(), "a chip without planes");
    let runs = |plane: &PlaneId| {
        let unit = &core.array.units[core.ftl.geo.unit_of(*plane).at()];
        let queued = (0..4).flat_map(|queue| core.array.ops.linked(unit.head(queue)));
        let mut slots = queued.chain(unit.executed(&core.array.ops));
        slots.any(|slot| core.array.ops[slot].plane == *plane)
            || core.gc.collects(core.ftl.geo.pool_of(*plane))
    };
    !planes.iter().any(runs)
}

impl Raid {
    pub(super) fn failures(&mut self) -> &mut Failures {
        self.failures.as_deref_mut().expect("chips may fail")
    }

    /// Whether a failed chip waits for its spare.
    #[inline]
    pub(super) fn awaits_spare(&self) -> bool {
        self.failures.as_ref().is_some_and(|failures| !failures.awaited.is_empty())
    }

    /// Give up rebuilds whose room was held on the failed chip of `planes`.
    fn give_up_rebuilds(&mut self, core: &mut Core, planes: &[PlaneId]) {
        debug_assert!(
            planes.iter().all(|&plane| core.ftl.is_dead(plane)),
            "{planes:?} have a chip"
        );
        let slots: Vec<_> = self.recoveries.slots().collect();
        for slot in slots {
            let recovery = self.recoveries.get(slot);
            if let Some(plane) = recovery.target.filter(|plane| planes.contains(plane))
                && std::mem::take(&mut recovery.holds)
            {
                let stream = core.ftl.space.host_stream(recovery.class);
                core.ftl.space.let_go(plane, stream);
            }
        }
    }

    /// Give up pages of updates under way that have been programmed on the failed chip of `planes`. Returns the
    /// updates.
    fn give_up_landed(&mut self, core: &mut Core, planes: &[PlaneId]) -> Vec<UpdateSlot> {
        debug_assert!(
            planes.iter().all(|&plane| core.ftl.is_dead(plane)),
            "{planes:?} have a chip"
        );
        let firsts: Vec<UpdateSlot> = self.lines.firsts().collect();
        let mut updates = Vec::new();
        for update in firsts {
            let entry = self.at(update);
            if entry.stage != Stage::Programming {
                continue;
            }
            let slots: Vec<OpSlot> =
                entry.data().map(|page| page.slot).chain([entry.parity.slot]).collect();
            for slot in slots.into_iter().filter(|&slot| slot != OpSlot::NONE) {
                let (plane, ppn) = (core.array.ops[slot].plane, core.array.ops[slot].ppn);
                let landed = ppn != Ppn::NONE && !core.ftl.flash.is_torn(ppn);
                if landed && planes.contains(&plane) {
                    core.ftl.abandon(ppn, true);
                    self.give_up_page(core, slot);
                    updates.push(update);
                }
            }
        }
        updates
    }

    /// Give up the page of an update in `slot`, which is not on flash and will not be because its chip is missing.
    pub(super) fn give_up_page(&mut self, core: &mut Core, slot: OpSlot) {
        let home = core.ftl.parity_groups().home(core.array.ops[slot].lpn);
        let op = &mut core.array.ops[slot];
        debug_assert_eq!(op.kind(), OpKind::GroupWrite, "{slot:?} writes no page of a group");
        let from = op.plane;
        (op.ppn, op.plane) = (Ppn::NONE, home);
        degradation(core).not_programmed += 1;
        self.uncount_foreign(from, home);
    }

    /// Let `update` program those of `pages`, and its `parity`, whose chips exist; no parity if its plan has none.
    /// Returns whether that is none: then the caller commits it.
    pub(super) fn program_remaining(
        &mut self,
        core: &mut Core,
        update: UpdateSlot,
        parity: OpSlot,
        pages: Vec<ChangedPage>,
    ) -> bool {
        debug_assert_ne!(parity, OpSlot::NONE, "{update:?} has no parity");
        let data_slots = pages.iter().filter(|page| page.is_written()).map(|page| page.slot);
        let mut written: Vec<OpSlot> = data_slots.chain([parity]).collect();
        let before = written.len();
        let without_parity = self.get(update).plan.without_parity;
        written.retain(|&slot| {
            let is_left_out = without_parity && slot == parity;
            !is_left_out && !core.ftl.is_dead(core.array.ops[slot].plane)
        });
        let left_out = (before - written.len()) as u64;
        if left_out > 0 {
            degradation(core).not_programmed += left_out;
        }
        let entry = self.get(update);
        (entry.pages, entry.steps) = (pages, Join::of(written.len() as u32));
        let (parts, nothing) = (entry.parts, written.is_empty());
        for slot in written {
            core.array.ops[slot].parts = parts;
            core.enqueue(slot, W_HOST);
        }
        nothing
    }

    /// Commit `lpn`, data or parity of an update, in `slot`, which is not on flash. Returns the page before it.
    #[cold]
    pub(super) fn commit_as_lost(
        &mut self,
        core: &mut Core,
        lpn: Lpn,
        slot: OpSlot,
    ) -> Option<Ppn> {
        assert_eq!(core.array.ops[slot].ppn, Ppn::NONE, "{lpn:?} is on flash");
        let op = &core.array.ops[slot];
        let sequence = op.sequence;
        let (before, is_recoverable) = if core.ftl.parity_groups().is_parity(lpn) {
            let listed = op.update().map_or(0, |update| self.at(update).age);
            let (_, before) = core.ftl.trim(lpn);
            (before, core.ftl.lose(lpn, Numbers { sequence, listed }))
        } else {
            core.ftl.lose_in_group(lpn, slot, sequence)
        };
        self.note_loss(core, lpn, is_recoverable);
        before
    }

    fn note_loss(&mut self, core: &mut Core, lpn: Lpn, is_recoverable: bool) {
        debug_assert!(core.ftl.is_lost(lpn), "{lpn:?} is not lost");
        self.failures().rebuild.enlist(lpn);
        note_lost_pages(core);
        core.note_room();
        if !is_recoverable {
            end_with_loss(core);
        }
    }

    /// Replace the failed chip of `planes` by a spare.
    fn install_spare(&mut self, core: &mut Core, planes: &[PlaneId], place: usize) {
        assert!(is_chip_idle(core, planes), "something is under way on {planes:?}");
        let now = core.array.now;
        core.ftl.replace_chip(planes);
        degradation(core).chips[place].replaced = Some(now);
        note_lost_pages(core);
        self.failures().rebuild.enlist(Lpn(0));
        for &plane in planes {
            let pool = core.ftl.geo.pool_of(plane);
            core.gc.agenda.consider(pool);
            core.wake_pool(pool);
        }
    }
}
