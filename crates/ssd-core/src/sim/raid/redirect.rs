//! Writes of parity groups that are redirected to other chips, and the state of every chip that the redirection needs.
//!
//! The policy (`ftl/raid/redirect`) decides; this module offers it the pages that wait on a chip that warns, oldest
//! first, and moves them. Paper: Liang et al., IEICE Electronics Express 2018, section 4.3. Where it is silent,
//! decided:
//! - completion times follow the paper: a request that is queued adds the time of its operation;
//! - the next arrival at a chip is that of the first update, among the oldest `raid.queue` that have not begun to
//!   program, with a page at home there. It is estimated as now if the update waits for room, as the latest completion
//!   of the chips it reads if it reads, and as one read and one program later if it waits for its group.

use super::{Raid, Stage};
use crate::config::Config;
use crate::ftl::Ftl;
use crate::ftl::raid::redirect::{Chip, Redirect, RedirectPolicy, Write};
use crate::sched::order::W_HOST;
use crate::sim::array::Array;
use crate::sim::array::loads::ChipLoads;
use crate::sim::array::op::OpKind;
use crate::sim::core::Core;
use crate::sim::dispatch::QueuedOp;
use crate::units::{Lpn, Nanos, OpSlot, PlaneId, Ppn, UpdateSlot};
use std::collections::BTreeMap;

/// The state of the chips, by plane: chips have one plane.
pub(super) struct Chips {
    policy: Redirect,
    /// Updates that count as waiting in the controller.
    queue: usize,
    /// Pages whose data have their home elsewhere, including those about to be programmed.
    foreign: Vec<u64>,
    /// Updates that do not program yet, by age.
    by_age: BTreeMap<u64, UpdateSlot>,
    /// Programs of updates that read or wait for room, if the policy counts them; otherwise empty.
    planned: Vec<u32>,
}

impl Chips {
    /// For the device of `ftl`; `None` if nothing is redirected.
    pub(super) fn new(config: &Config, ftl: &Ftl) -> Option<Chips> {
        if config.raid.redirect.policy == "none" {
            return None;
        }
        let policy = Redirect::build(&config.raid.redirect);
        let planes = if policy.counts_planned() { ftl.geo.planes as usize } else { 0 };
        Some(Chips {
            policy,
            queue: config.raid.queue as usize,
            foreign: foreign_pages(ftl),
            by_age: BTreeMap::new(),
            planned: vec![0; planes],
        })
    }

    /// Add update number `age`, in `slot`.
    pub(super) fn add_update(&mut self, age: u64, slot: UpdateSlot) {
        let before = self.by_age.insert(age, slot);
        assert!(before.is_none(), "two updates have number {age}");
    }

    /// Remove the update, which programs from now on, or is over.
    pub(super) fn remove_update(&mut self, age: u64) {
        let was = self.by_age.remove(&age);
        assert!(was.is_some(), "update {age} programs twice");
    }

    /// Note that an update that programs on `homes` begins to read.
    pub(super) fn plan(&mut self, homes: impl Iterator<Item = PlaneId>) {
        if !self.planned.is_empty() {
            homes.for_each(|home| self.planned[home.at()] += 1);
        }
    }

    /// Note that an update that programs on `homes` neither reads nor waits for room any more.
    pub(super) fn end_plan(&mut self, homes: impl Iterator<Item = PlaneId>) {
        if !self.planned.is_empty() {
            for home in homes {
                assert!(self.planned[home.at()] > 0, "no program is planned on {home:?}");
                self.planned[home.at()] -= 1;
            }
        }
    }

    /// Note that `lpn` has left `before`.
    pub(super) fn released(&mut self, ftl: &Ftl, lpn: Lpn, before: Ppn) {
        let plane = ftl.geo.plane_of(before);
        if plane != home(ftl, lpn) {
            assert!(self.foreign[plane.at()] > 0, "{before:?} of {lpn:?} was not counted");
            self.foreign[plane.at()] -= 1;
        }
    }
}

fn home(ftl: &Ftl, lpn: Lpn) -> PlaneId {
    debug_assert!(lpn.0 < ftl.geo.logical_pages, "{lpn:?} is beyond the device");
    ftl.parity_groups().home(lpn)
}

/// Committed pages away from home, by plane.
fn foreign_pages(ftl: &Ftl) -> Vec<u64> {
    let mut foreign = vec![0; ftl.geo.planes as usize];
    for lpn in (0..ftl.geo.logical_pages).map(Lpn) {
        if let Some(page) = ftl.owners.committed(lpn) {
            let plane = ftl.geo.plane_of(page);
            foreign[plane.at()] += u64::from(plane != home(ftl, lpn));
        }
    }
    foreign
}

impl Raid {
    /// Check the counts of chips against their queues and the map.
    pub(super) fn audit_chips(&self, Core { ftl, array, loads, .. }: &Core) -> Result<(), String> {
        assert_eq!(self.chips.is_some(), loads.is_some(), "loads that nobody compares, or none");
        let (Some(chips), Some(loads)) = (&self.chips, loads) else { return Ok(()) };
        assert_eq!(chips.foreign.len(), array.units.len(), "chips of another device");
        let foreign = self.count_foreign(ftl, array);
        for plane in (0..ftl.geo.planes).map(PlaneId) {
            let queued = array.ops.linked(array.units[plane.at()].head(W_HOST));
            let waits = queued.filter(|&slot| array.ops[slot].kind() == OpKind::GroupWrite).count();
            let counted = loads.waiting(plane);
            if waits != counted as usize {
                return Err(format!("{waits} programs wait on {plane:?}, {counted} counted"));
            }
            let planned = chips.planned.get(plane.at()).copied().unwrap_or(0);
            if chips.policy.counts_planned() && self.count_planned(plane) != planned {
                return Err(format!("{planned} programs planned on {plane:?} are counted"));
            }
            let (is, counted) = (foreign[plane.at()], chips.foreign[plane.at()]);
            if is != counted {
                return Err(format!("{is} redirected pages on {plane:?}, {counted} counted"));
            }
        }
        Ok(())
    }

    /// Programs on `plane` of updates that read or wait for room.
    fn count_planned(&self, plane: PlaneId) -> u32 {
        debug_assert!(self.redirection().policy.counts_planned(), "they are not counted");
        let begun = self.redirection().by_age.values().map(|&slot| self.at(slot));
        let begun = begun.filter(|update| update.stage != Stage::Queued);
        begun.map(|update| update.homes().filter(|&home| home == plane).count() as u32).sum()
    }

    /// Pages away from home, by plane, including those under way.
    fn count_foreign(&self, ftl: &Ftl, array: &Array) -> Vec<u64> {
        assert_eq!(array.units.len(), ftl.geo.planes as usize, "chips of another device");
        let mut foreign = foreign_pages(ftl);
        let programming = self.lines.firsts().map(|first| self.at(first));
        let programs = |stage| matches!(stage, Stage::Programming | Stage::WaitsForReads);
        for update in programming.filter(|update| programs(update.stage)) {
            let data = update.data().map(|page| page.slot);
            for slot in
                data.chain((update.parity.slot != OpSlot::NONE).then_some(update.parity.slot))
            {
                let op = &array.ops[slot];
                foreign[op.plane.at()] += u64::from(op.plane != home(ftl, op.lpn));
            }
        }
        foreign
    }

    /// Recount after a chip has failed, because what was away from home there is lost, or after a mount.
    pub(super) fn recount_foreign(&mut self, ftl: &Ftl, array: &Array) {
        if self.chips.is_some() {
            let foreign = self.count_foreign(ftl, array);
            self.chips.iter_mut().for_each(|chips| chips.foreign.clone_from(&foreign));
        }
    }

    /// Count `lpn`, which shares `page` from now on, if it is away from home there.
    pub(super) fn count_foreign_page(&mut self, ftl: &Ftl, lpn: Lpn, page: Ppn) {
        let plane = ftl.geo.plane_of(page);
        if let Some(chips) = self.chips.as_mut().filter(|_| plane != home(ftl, lpn)) {
            chips.foreign[plane.at()] += 1;
        }
    }

    /// Stop counting a page with its home on `home` that was under way to `from`, but does not go there.
    pub(super) fn uncount_foreign(&mut self, from: PlaneId, home: PlaneId) {
        if let Some(chips) = self.chips.as_mut().filter(|_| from != home) {
            assert!(chips.foreign[from.at()] > 0, "a page on {from:?} was not counted");
            chips.foreign[from.at()] -= 1;
        }
    }
}

fn loads(core: &Core) -> &ChipLoads {
    core.loads.as_deref().expect("there is a redirection")
}

fn loads_mut(core: &mut Core) -> &mut ChipLoads {
    core.loads.as_deref_mut().expect("there is a redirection")
}

impl Raid {
    /// Redirect if programs have been added to chips.
    pub(in crate::sim) fn redirect_new_writes(&mut self, core: &mut Core) {
        if is_redirection_due(core) {
            self.redirect_writes(core);
        }
    }

    /// Offer pages that wait on chips that warn to the redirection, oldest first.
    #[inline(never)]
    pub(in crate::sim) fn redirect_writes(&mut self, core: &mut Core) {
        debug_assert!(is_redirection_due(core), "no program has been queued");
        let mut chips: Vec<Chip> = Vec::new();
        while let Some(plane) = loads_mut(core).changed.pop().map(PlaneId) {
            if !self.redirection().policy.warns(&self.chip(core, plane, u64::MAX)) {
                continue;
            }
            if chips.is_empty() {
                chips = self.every_chip(core);
            }
            let unit = core.ftl.geo.unit_of(plane).at();
            let (mut before, mut slot) = (OpSlot::NONE, core.array.units[unit].head(W_HOST));
            // Most often no chip takes any of them.
            let mut is_one_open = self.is_a_chip_open(core, &chips, plane);
            while is_one_open
                && slot != OpSlot::NONE
                && self.redirection().policy.warns(&chips[plane.at()])
            {
                let next = core.array.ops[slot].next;
                match self.other_chip(core, slot, &chips) {
                    Some(target) => {
                        core.take(unit, W_HOST, QueuedOp { before, slot, plane });
                        self.redirect(core, slot, target);
                        let (from, to) = (self.chip(core, plane, 0), self.chip(core, target, 0));
                        chips[plane.at()] =
                            Chip { next_arrival_ns: chips[plane.at()].next_arrival_ns, ..from };
                        chips[target.at()] =
                            Chip { next_arrival_ns: chips[target.at()].next_arrival_ns, ..to };
                        is_one_open = self.is_a_chip_open(core, &chips, plane);
                    }
                    None => before = slot,
                }
                slot = next;
            }
        }
    }

    /// Whether one of `chips` may take a write that waits on `plane`.
    fn is_a_chip_open(&self, core: &Core, chips: &[Chip], plane: PlaneId) -> bool {
        debug_assert!(plane.at() < chips.len(), "there is no {plane:?}");
        let (group, takes_ns) = (chips[plane.at()].group, core.array.times.program_ns);
        chips.iter().any(|chip| self.redirection().policy.is_open(chip, group, takes_ns))
    }

    fn redirection(&self) -> &Chips {
        self.chips.as_ref().expect("there is a redirection")
    }

    fn redirection_mut(&mut self) -> &mut Chips {
        self.chips.as_mut().expect("there is a redirection")
    }

    /// The state of the chip of `plane`, which expects its next request at `next_arrival_ns`.
    fn chip(&self, core: &Core, plane: PlaneId, next_arrival_ns: u64) -> Chip {
        let (geo, chips) = (&core.ftl.geo, self.redirection());
        let groups = core.ftl.parity_groups();
        let pool = geo.pool_of(plane);
        let left = match core.gc.agenda.blocks_left(&core.ftl.space_view(pool)) {
            None => u64::MAX,
            Some(0) => 0,
            Some(blocks) => {
                let open = u64::from(core.ftl.space.least_open(plane));
                open + u64::from(blocks - 1) * u64::from(geo.pages_per_block) + 1
            }
        };
        let number = groups.chip_of(plane);
        assert!(number < geo.planes, "{plane:?} is on chip {number}");
        Chip {
            number,
            group: number / groups.chips(),
            left,
            waiting: u64::from(loads(core).waiting(plane))
                + u64::from(chips.planned.get(plane.at()).copied().unwrap_or(0)),
            collects: core.gc.collects(pool) || core.ftl.is_dead(plane),
            completion_ns: loads(core).completion(plane).max(core.array.now).0,
            next_arrival_ns,
            foreign: chips.foreign[plane.at()],
            pages: u64::from(geo.blocks_per_pool) * u64::from(geo.pages_per_block),
        }
    }

    /// Every chip, by plane, with the estimated arrival of the next request that waits in the controller for it.
    fn every_chip(&self, core: &Core) -> Vec<Chip> {
        let chips = self.redirection();
        let groups = core.ftl.parity_groups();
        let (now, times) = (core.array.now, &core.array.times);
        let mut next = vec![u64::MAX; core.ftl.geo.planes as usize];
        debug_assert!(chips.queue > 0, "no update counts as waiting");
        for &slot in chips.by_age.values().take(chips.queue) {
            let update = self.at(slot);
            let at = match update.stage {
                Stage::WaitsForRoom => now,
                Stage::Queued => Nanos(now.0 + times.read_ns + times.program_ns),
                Stage::Reading => {
                    let reads = (0..groups.chips()).filter(|&p| update.plan.reads(p));
                    let pages = reads.map(|p| groups.page(update.group, p));
                    let planes = pages
                        .filter_map(|lpn| core.ftl.owners.committed(lpn))
                        .map(|page| loads(core).completion(core.ftl.geo.plane_of(page)));
                    planes.max().unwrap_or(now).max(now)
                }
                Stage::Programming | Stage::WaitsForReads => unreachable!("{slot:?} programs"),
            };
            let data = update.data().map(|page| page.home);
            for home in data.chain([update.parity.home]) {
                let next = &mut next[home.at()];
                *next = at.0.min(*next);
            }
        }
        (0..core.ftl.geo.planes).map(|p| self.chip(core, PlaneId(p), next[p as usize])).collect()
    }

    /// The chip to which the page in `slot` goes instead, if any.
    fn other_chip(&self, core: &Core, slot: OpSlot, chips: &[Chip]) -> Option<PlaneId> {
        let (op, groups) = (&core.array.ops[slot], core.ftl.parity_groups());
        if op.plane != groups.home(op.lpn) {
            return None;
        }
        let update = self.at(op.update()?);
        assert_eq!(update.stage, Stage::Programming, "{slot:?} waits before its update programs");
        let slots = || update.data().map(|page| page.slot).chain([update.parity.slot]);
        // The list on a page names the planes of all others.
        let is_listed = |slot: OpSlot| core.array.ops[slot].ppn != Ppn::NONE;
        if core.ftl.may_lose_power() && slots().any(is_listed) {
            return None;
        }
        let members = slots().map(|slot| core.array.ops[slot].plane);
        let committed = groups.pages(update.group).filter_map(|lpn| core.ftl.owners.committed(lpn));
        let members = members.chain(committed.map(|page| core.ftl.geo.plane_of(page)));
        let members = members.chain(self.shared_planes(op.update()?));
        let members: Vec<u32> = members.map(|plane| groups.chip_of(plane)).collect();
        let write = Write {
            group: groups.chip_of(op.plane) / groups.chips(),
            members: &members,
            takes_ns: core.array.times.program_ns,
        };
        let target = PlaneId(self.redirection().policy.target(&write, chips)? as u32);
        let stream = core.ftl.space.host_stream(op.stream());
        core.ftl.space.can_hold(target, stream).then_some(target)
    }

    /// Write the page in `slot`, taken out of its queue, on `target`.
    fn redirect(&mut self, core: &mut Core, slot: OpSlot, target: PlaneId) {
        debug_assert_eq!(
            core.array.ops[slot].kind(),
            OpKind::GroupWrite,
            "{slot:?} writes nothing"
        );
        let op = &core.array.ops[slot];
        let (plane, stream) = (op.plane, core.ftl.space.host_stream(op.stream()));
        assert_ne!(plane, target, "{slot:?} is redirected to its own chip");
        core.ftl.space.let_go(plane, stream);
        core.ftl.space.hold(target, stream);
        let (now, program_ns) = (core.array.now, core.array.times.program_ns);
        loads_mut(core).leaves(plane, (now, program_ns));
        self.redirection_mut().foreign[target.at()] += 1;
        core.ledger.measured.raid.redirected += 1;
        let unit = core.ftl.geo.unit_of(plane).at();
        if core.array.leave_queue(unit, slot) {
            core.gc.note_idle(unit, &mut core.array);
        }
        core.array.ops[slot].plane = target;
        core.enqueue(slot, W_HOST);
        core.note_room();
    }
}

/// Whether programs have been added to chips since the redirection last considered them.
#[inline(always)]
pub(in crate::sim) fn is_redirection_due(core: &Core) -> bool {
    core.loads.as_ref().is_some_and(|loads| !loads.changed.is_empty())
}

#[cfg(test)]
mod tests;
