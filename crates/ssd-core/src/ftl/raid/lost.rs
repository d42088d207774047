//! The pages that a failed chip has taken, and the planes that cannot be written.
//!
//! A lost page holds data (or parity) that no flash page holds: the other pages of its group determine it. It has no
//! committed page, and the map has no entry for it, so nothing collects, moves or reads it by mistake. A page becomes
//! lost when its chip fails, or when an update writes it while its chip is missing; it ceases to be lost when an update
//! programs it, when it is rebuilt, or when it is trimmed. At most one page of a group may be lost.

use super::{Changes, GroupId, GroupState, Method, Plan};
use crate::config::{Config, ParityUpdate};
use crate::ftl::Ftl;
use crate::ftl::blocks::BlockState;
use crate::ftl::map::Entry;
use crate::ftl::raid::verify::mix;
use crate::nand::flash::Payload;
use crate::nand::geometry::Geometry;
use crate::units::{BlockId, Lpn, OpSlot, PlaneId, PoolId, Ppn};
use std::collections::BTreeMap;

/// Lost pages, and planes without a chip.
#[derive(Clone, Debug)]
pub struct LostPages {
    /// Each lost page with what its out-of-band area held, as the group holds these areas, too.
    pages: BTreeMap<Lpn, Numbers>,
    /// Planes whose chip has failed and has not been replaced.
    dead: Vec<bool>,
    /// By plane, lost pages that are at home there.
    at_home: Vec<u32>,
    /// Planes that lack pages which are at home there: their chip is missing, or not all of its pages have been
    /// rebuilt. The drive keeps this in a table that survives power cuts.
    lacking: Vec<bool>,
}

/// The numbers of a page of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Numbers {
    /// The admission number in its out-of-band area.
    pub(crate) sequence: u64,
    /// The number by which the lists of its group name it ([`Ftl::number_of`]).
    pub(crate) listed: u64,
}

impl LostPages {
    /// For a device whose chips may fail; otherwise `None`.
    pub(crate) fn new(config: &Config, geo: &Geometry) -> Option<LostPages> {
        let fails = !config.raid.fail.is_empty();
        assert!(!fails || config.raid.group > 0, "the config layer has checked it");
        let planes = geo.planes as usize;
        fails.then(|| LostPages {
            pages: BTreeMap::new(),
            dead: vec![false; planes],
            at_home: vec![0; planes],
            lacking: vec![false; planes],
        })
    }

    /// Lost pages.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.pages.len() as u64
    }

    /// The lost pages from `from` on, ascending.
    pub fn pages(&self, from: Lpn) -> impl Iterator<Item = Lpn> + '_ {
        self.pages.range(from..).map(|(&lpn, _)| lpn)
    }

    /// The admission number of the data of a lost page.
    #[must_use]
    pub fn sequence(&self, lpn: Lpn) -> u64 {
        debug_assert!(self.pages.contains_key(&lpn), "{lpn:?} is not lost");
        self.pages.get(&lpn).map_or(0, |numbers| numbers.sequence)
    }

    /// The number by which the lists of its group name `lpn`, if it is lost.
    pub(crate) fn listed(&self, lpn: Lpn) -> Option<u64> {
        debug_assert_ne!(lpn, Lpn::NONE, "no page is lost");
        self.pages.get(&lpn).map(|numbers| numbers.listed)
    }

    /// Whether pages that are at home on `plane` may be missing there.
    pub(in crate::ftl) fn lacks(&self, plane: PlaneId) -> bool {
        debug_assert!(self.lacking[plane.at()] || !self.dead[plane.at()], "{plane:?} is dead");
        self.lacking[plane.at()]
    }

    /// Whether pages may be missing on any plane.
    pub(in crate::ftl) fn lacks_some(&self) -> bool {
        debug_assert!(!self.misses_a_chip() || self.lacking.contains(&true), "it lacks a chip");
        self.lacking.contains(&true)
    }

    /// Forget which pages are lost, as a power cut does.
    pub(in crate::ftl) fn lose_power(&mut self) {
        self.pages.clear();
        self.at_home.fill(0);
    }

    /// Note that a mount has found out which pages are lost.
    pub(in crate::ftl) fn end_mount(&mut self) {
        for (plane, lacking) in self.lacking.iter_mut().enumerate() {
            *lacking = self.dead[plane] || self.at_home[plane] > 0;
        }
    }

    fn insert(&mut self, lpn: Lpn, home: PlaneId, numbers: Numbers) {
        debug_assert_ne!(home, PlaneId::NONE, "{lpn:?} is at home nowhere");
        if self.pages.insert(lpn, numbers).is_none() {
            self.at_home[home.at()] += 1;
            self.lacking[home.at()] = true;
        }
    }

    fn remove(&mut self, lpn: Lpn, home: PlaneId) -> bool {
        let was_lost = self.pages.remove(&lpn).is_some();
        if was_lost {
            self.at_home[home.at()] -= 1;
            self.lacking[home.at()] = self.dead[home.at()] || self.at_home[home.at()] > 0;
        }
        was_lost
    }

    /// Whether any plane has no chip.
    #[must_use]
    pub fn misses_a_chip(&self) -> bool {
        self.dead.contains(&true)
    }

    /// Whether the chip of `plane` is missing.
    pub(crate) fn misses(lost: Option<&LostPages>, plane: PlaneId) -> bool {
        debug_assert_ne!(plane, PlaneId::NONE, "no plane has a chip");
        lost.is_some_and(|lost| lost.dead[plane.at()])
    }

    /// Note that the chip of `plane` is missing, or has been replaced.
    pub(in crate::ftl) fn set_dead(&mut self, plane: PlaneId, dead: bool) {
        assert_ne!(self.dead[plane.at()], dead, "the chip of {plane:?} is so already");
        self.dead[plane.at()] = dead;
        self.lacking[plane.at()] = dead || self.at_home[plane.at()] > 0;
    }
}

impl Ftl {
    /// Whether `lpn` is lost.
    #[inline]
    #[must_use]
    pub fn is_lost(&self, lpn: Lpn) -> bool {
        debug_assert!(lpn.0 < self.geo.logical_pages, "{lpn:?} is beyond the device");
        self.lost.as_ref().is_some_and(|lost| lost.pages.contains_key(&lpn))
    }

    /// Whether the chip of `plane` is missing.
    #[inline]
    #[must_use]
    pub fn is_dead(&self, plane: PlaneId) -> bool {
        LostPages::misses(self.lost.as_deref(), plane)
    }

    /// Whether a chip of `pool` is missing.
    #[inline]
    pub(crate) fn pool_is_dead(&self, pool: PoolId) -> bool {
        debug_assert!(pool.0 < self.geo.pools, "there is no {pool:?}");
        self.lost.is_some()
            && self.geo.planes_of_pool(pool).any(|plane| self.is_dead(PlaneId(plane)))
    }

    /// The chips that form parity groups with `chip`, itself included.
    pub(crate) fn chips_of_group(&self, chip: u32) -> Vec<u32> {
        let (geo, groups) = (&self.geo, self.parity_groups());
        let number = |chip: u32| groups.chip_of(geo.planes_of_chip(chip)[0]);
        let among =
            |candidate: &u32| number(*candidate) / groups.chips() == number(chip) / groups.chips();
        let chips: Vec<u32> = (0..geo.planes / geo.planes_per_chip).filter(among).collect();
        assert_eq!(chips.len(), groups.chips() as usize, "the group of chip {chip} is {chips:?}");
        chips
    }

    /// Whether `lpn` holds committed data, on flash or lost.
    #[must_use]
    pub fn holds(&self, lpn: Lpn) -> bool {
        self.owners.committed(lpn).is_some() || self.is_lost(lpn)
    }

    /// The lost page of `group`.
    #[must_use]
    pub fn lost_of(&self, group: GroupId) -> Option<Lpn> {
        debug_assert!(self.groups.is_some(), "{group:?} of a device without parity");
        let mut lost = self.parity_groups().pages(group).filter(|&lpn| self.is_lost(lpn));
        if self.lost.is_some() { lost.next() } else { None }
    }

    /// Mark `lpn` lost, with data of these `numbers`. False if another page of its group is lost.
    pub(crate) fn lose(&mut self, lpn: Lpn, numbers: Numbers) -> bool {
        debug_assert_eq!(self.owners.committed(lpn), None, "{lpn:?} is on flash");
        let alone = self.lost_of(self.parity_groups().group_of(lpn)).is_none_or(|l| l == lpn);
        let home = self.parity_groups().home(lpn);
        self.lost.as_deref_mut().expect("a chip has failed").insert(lpn, home, numbers);
        alone
    }

    /// Note that `lpn` is not lost any more.
    pub(crate) fn forget_loss(&mut self, lpn: Lpn) -> bool {
        debug_assert!(lpn.0 < self.geo.logical_pages, "{lpn:?} is beyond the device");
        let (Some(lost), Some(groups)) = (&mut self.lost, &self.groups) else { return false };
        lost.remove(lpn, groups.home(lpn))
    }

    /// The contents of `lpn`, computed from the present committed pages of the others of its group.
    #[must_use]
    pub fn reconstructed(&self, lpn: Lpn) -> Payload {
        debug_assert!(self.groups.is_some(), "{lpn:?} is in no group");
        let groups = self.parity_groups();
        let mut sum = Payload::default();
        for member in groups.pages(groups.group_of(lpn)).filter(|&member| member != lpn) {
            if let Some(page) = self.owners.committed(member) {
                mix(&mut sum, &self.flash.payload(page));
            }
        }
        sum
    }

    /// Note that an update has written `lpn`, a page of data in `slot` with admission number `sequence`, while its chip
    /// is missing: only the parity holds it. Returns the committed page before it; `false` if the group has lost too
    /// much.
    pub(crate) fn lose_in_group(
        &mut self,
        lpn: Lpn,
        slot: OpSlot,
        sequence: u64,
    ) -> (Option<Ppn>, bool) {
        let before = self.trim_in_group(lpn, slot);
        (before, self.lose(lpn, Numbers { sequence, listed: sequence }))
    }

    /// Note that the lost page `lpn` has been programmed to `ppn`.
    pub(crate) fn restore_in_group(&mut self, lpn: Lpn, ppn: Ppn) {
        assert!(self.is_lost(lpn), "{lpn:?} is restored and was not lost");
        let before = match self.owners.newest(lpn) {
            // Newer data are in the controller; the update that writes them waits for the group.
            Entry::Slot(_) => self.takes_under(lpn, ppn),
            Entry::Unmapped => self.replace_in_group(lpn, ppn),
            Entry::Page(other) => panic!("{lpn:?} is lost, and on {other:?}"),
        };
        assert_eq!(before, None, "{lpn:?} was lost and had a page");
        self.forget_loss(lpn);
    }

    /// Give up the erase of `block`, which has not begun, because its chip has failed. The block stays as it is until a
    /// spare chip comes.
    pub(crate) fn give_up_erase(&mut self, block: BlockId) {
        let (at, pool) = (block.at(), self.blocks.pool_of(block));
        assert_eq!(self.blocks.state[at], BlockState::Erasing, "{block:?} is not to be erased");
        assert!(self.is_dead(self.geo.first_plane(block)), "the chip of {block:?} is there");
        self.space.job_is_off(pool);
        // The victim policy sees a block that has just been sealed.
        self.blocks.state[at] = BlockState::Open;
        self.seal(block);
    }

    /// Give up a page that was programmed on a chip that has failed meanwhile; `landed`: its program had ended before.
    pub(crate) fn abandon(&mut self, ppn: Ppn, landed: bool) {
        debug_assert!(!self.owners.is_valid(ppn), "{ppn:?} has an owner");
        self.lost_page(self.geo.block_of(ppn));
        if landed { self.settle_landed(ppn) } else { self.settle(ppn) }
    }
}

impl Ftl {
    /// [`Ftl::plan_group`] where a chip may have failed; `before` refers to the pages on flash.
    pub(super) fn plan_degraded(
        &self,
        group: GroupId,
        changes: Changes,
        before: GroupState,
        is_kept: Option<&dyn Fn(Lpn) -> bool>,
    ) -> Plan {
        debug_assert!(self.lost.is_some(), "no page of {group:?} can be lost");
        let groups = self.parity_groups();
        let (mut before, mut lost) = (before, None);
        if let Some(lpn) = self.lost_of(group) {
            let position = groups.position(lpn);
            before.mapped |= 1 << position;
            if is_kept.is_some_and(|is_kept| is_kept(lpn)) {
                before.kept |= 1 << position;
            } else {
                lost = Some(position);
            }
        }
        let no_parity = self.is_dead(groups.home(groups.parity(group)));
        Plan::around(groups.update(), groups.data_pages(), changes, before, (lost, no_parity))
    }
}

impl Plan {
    /// The update if the page at position `lost` of the group cannot be read; the parity is not written if `no_parity`.
    /// Exactly one of the two methods does not need a lost page: RMW if the page stays, otherwise RCW.
    #[must_use]
    pub fn around(
        update: ParityUpdate,
        data_pages: u32,
        changes: Changes,
        before: GroupState,
        (lost, no_parity): (Option<u32>, bool),
    ) -> Plan {
        let method = match lost {
            None => update,
            Some(at) if at < data_pages && changes.changed() >> at & 1 == 0 => {
                ParityUpdate::ReadModify
            }
            Some(_) => ParityUpdate::Reconstruct,
        };
        let mut plan = Plan::new(method, data_pages, changes, before);
        if plan.method == Method::Drop {
            return plan;
        }
        let on_flash = before.mapped & !before.kept & !lost.map_or(0, |at| 1 << at);
        if no_parity {
            (plan.reads, plan.sources) = (changes.in_part() & on_flash, 0);
            // A spare may arrive before the update programs.
            plan.without_parity = true;
        }
        if lost.is_some_and(|at| changes.in_part() >> at & 1 == 1) {
            // The rest of it follows from all other pages.
            plan.reads = on_flash;
        }
        debug_assert!(lost.is_none_or(|at| !plan.reads(at)), "{plan:?} reads a lost page");
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftl::raid::Change;

    #[test]
    fn an_update_never_reads_what_is_lost_and_knows_all_that_its_parity_is_made_of() {
        let kinds = [None, Some(Change::Whole), Some(Change::Part), Some(Change::Trim)];
        for n in 1..5u32 {
            let before = GroupState { mapped: (2 << n) - 1, kept: 0 };
            for code in 1..4u32.pow(n) {
                let mut changes = Changes::default();
                for at in 0..n {
                    if let Some(change) = kinds[(code / 4u32.pow(at) % 4) as usize] {
                        changes.add(at, change);
                    }
                }
                for lost in 0..=n {
                    for update in
                        [ParityUpdate::Fewest, ParityUpdate::ReadModify, ParityUpdate::Reconstruct]
                    {
                        let plan = Plan::around(update, n, changes, before, (Some(lost), false));
                        assert!(!plan.reads(lost), "{changes:?} {lost}: {plan:?}");
                        assert_eq!(plan.sources & !plan.reads, 0, "{changes:?} {lost}: {plan:?}");
                        let needs = changes.in_part() >> lost & 1 == 1;
                        assert!(!needs || plan.reads.count_ones() == n, "{plan:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn without_a_chip_for_the_parity_only_rests_are_read() {
        let mut changes = Changes::default();
        changes.add(0, Change::Whole);
        changes.add(1, Change::Part);
        let before = GroupState { mapped: 0b1111, kept: 0 };
        let plan = Plan::around(ParityUpdate::Fewest, 3, changes, before, (Some(3), true));
        assert_eq!((plan.reads, plan.sources, plan.without_parity), (0b010, 0, true));
    }
}
