//! What is collected next. The timed and the functional machine both ask [`Agenda::next`] and act on the answer;
//! neither makes decisions itself.
//!
//! The answer depends on the tables of the device and on the state kept here: the demands of the triggers, pools whose
//! demand found nothing to collect, what is left of `amount = "one"` and `"all-candidates"`, and whether a device-wide
//! trigger holds. A pool is considered only after something in it has changed.

use super::trigger::SpaceView;
use super::unmet::UnmetDemand;
use super::victim::VictimPolicy;
use super::{Demand, Demands};
use crate::config::{Amount, Gc};
use crate::ftl::plugs::Plugs;
use crate::ftl::{Choice, Ftl};
use crate::id_set::IdSet;
use crate::units::{BlockId, Nanos, PoolId};
use std::collections::VecDeque;

/// What a pool does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Nothing: it wants no collection, or collection would gain nothing.
    Nothing,
    /// It wants collection, but the concurrency rule makes it wait.
    Wait,
    /// This block is its victim now.
    Collect(Choice, Demand),
}

/// The concurrency rule's answer for a pool, asked only when it matters.
pub trait Turn {
    /// Whether wear levelling of `pool` may begin.
    fn may_level(&self, ftl: &Ftl, pool: PoolId) -> bool;
    /// Whether background collection of `pool` may begin, after the pools before it have been considered.
    fn may_collect(&self, ftl: &Ftl, pool: PoolId) -> bool;
    /// Whether collection at the reserve has to ask as well.
    fn binds_reserve(&self) -> bool;
}

/// Without time, pools are collected one after the other, so it is always a pool's turn.
#[derive(Clone, Copy, Debug)]
pub struct AlwaysItsTurn;

impl Turn for AlwaysItsTurn {
    fn may_level(&self, _: &Ftl, _: PoolId) -> bool {
        true
    }
    fn may_collect(&self, _: &Ftl, _: PoolId) -> bool {
        true
    }
    fn binds_reserve(&self) -> bool {
        false
    }
}

/// The decisions of collection, and the state that they need beyond the tables of the device.
pub struct Agenda {
    demands: Demands,
    /// Pools in which something has changed since they were last considered.
    pending: IdSet,
    /// Pools whose demand found nothing to collect, and their number.
    starved: Vec<bool>,
    starving: u32,
    /// Pools that have used up `amount = "one"` since their last host page.
    spent: Vec<bool>,
    /// Reasons to examine every page written: starved or spent pools, blocks that are collected at once, triggers that
    /// watch pages.
    watched: u32,
    /// What is left of `amount = "all-candidates"`.
    lists: Vec<VecDeque<BlockId>>,
    unmet: UnmetDemand,
    /// The victim policy has blocks that are collected regardless of the triggers.
    at_once: bool,
    /// The demand of a pool may change with every page written, not only with every block opened.
    watches_pages: bool,
    /// How long a pool is idle before its SLC blocks are folded, if that is so.
    fold_after: Option<Nanos>,
    /// The demand of a pool may change because of events in other pools.
    watches_device: bool,
    /// The demand of a pool may change with every request that waits for it.
    watches_requests: bool,
    /// Whether the device-wide triggers held when they were last asked.
    device_held: bool,
}

impl Agenda {
    /// For the device of `ftl` under `[gc]`; no pool is pending yet.
    #[must_use]
    pub fn new(gc: &Gc, ftl: &Ftl, plugs: &Plugs) -> Agenda {
        let (demands, pools) = (Demands::new(gc, plugs), ftl.geo.pools);
        assert_eq!(pools, ftl.blocks.pools(), "pools of another device");
        let per_pool = ftl.blocks.blocks_per_pool();
        assert_eq!(per_pool, ftl.geo.blocks_per_pool, "blocks of another device");
        let host_waits = ftl.space.slc.as_ref().is_some_and(|slc| slc.waits());
        let at_once = ftl.victim.collects_at_once() || ftl.is_zoned();
        let watches_pages = demands.watches_pages() || host_waits;
        Agenda {
            pending: IdSet::new(pools),
            starved: vec![false; pools as usize],
            starving: 0,
            spent: vec![false; pools as usize],
            lists: vec![VecDeque::new(); pools as usize],
            unmet: UnmetDemand::new(pools, ftl.geo.blocks_per_pool),
            watched: u32::from(at_once) + u32::from(watches_pages),
            at_once,
            watches_pages,
            fold_after: ftl.space.slc.as_ref().and_then(|slc| slc.idle_after),
            watches_device: demands.watches_device(),
            watches_requests: demands.watches_requests(),
            device_held: false,
            demands,
        }
    }

    /// The demand of the pool behind `view` now.
    #[inline]
    #[must_use]
    pub fn demand(&self, view: &SpaceView) -> Demand {
        debug_assert!(view.pool.at() < self.starved.len(), "there is no {:?}", view.pool);
        self.demands.of(view)
    }

    /// Whether a request that starts to wait may change the demand of its pool.
    #[inline(always)]
    #[must_use]
    pub fn watches_requests(&self) -> bool {
        self.watches_requests
    }

    /// Blocks that the pool of `view` may open before its triggers hold, if the triggers know it.
    #[must_use]
    pub fn blocks_left(&self, view: &SpaceView) -> Option<u32> {
        debug_assert!(view.pool.at() < self.starved.len(), "there is no {:?}", view.pool);
        self.demands.blocks_left(view)
    }

    /// The longest idle time that a trigger waits for, if any does.
    #[must_use]
    pub fn idle_after(&self) -> Option<Nanos> {
        self.demands.idle_after().max(self.fold_after)
    }

    /// Whether the next victim of `pool` serves a demand that collection cannot meet ([`UnmetDemand`]).
    #[inline]
    pub fn is_unmet(&mut self, ftl: &Ftl, pool: PoolId) -> bool {
        self.unmet.at(ftl, &self.demands, pool)
    }

    /// Consider `pool` soon.
    #[inline(always)]
    pub fn consider(&mut self, pool: PoolId) {
        debug_assert!(pool.at() < self.starved.len(), "there is no {pool:?}");
        self.pending.insert(pool.0);
    }

    /// Consider every pool soon.
    pub fn consider_all(&mut self) {
        (0..self.starved.len()).for_each(|pool| self.pending.insert(pool as u32));
    }

    /// Note that a host page has been programmed in `pool`, and whether a block was `opened` for it. `amount = "one"`
    /// may collect again.
    #[inline(always)]
    pub fn page_written(&mut self, pool: PoolId, opened: bool) {
        debug_assert!(pool.at() < self.spent.len(), "there is no {pool:?}");
        if opened || self.watches_pages || self.spent[pool.at()] {
            self.set_spent(pool, false);
            self.consider(pool);
        }
    }

    /// Whether a pool may be waiting for a page to become invalid or for a block to be sealed.
    #[inline(always)]
    #[must_use]
    pub fn watches_releases(&self) -> bool {
        debug_assert!(self.starving as usize <= self.starved.len(), "more pools starve than exist");
        self.starving > 0 || self.at_once
    }

    /// Note that a page of `pool` has become invalid, or that a block of it has been sealed; called only if
    /// [`Agenda::watches_releases`].
    pub fn page_released(&mut self, pool: PoolId) {
        debug_assert!(self.watches_releases(), "nothing waits for a page of {pool:?}");
        if self.starved[pool.at()] || self.at_once {
            self.consider(pool);
        }
    }

    /// Whether no pool is pending, and no pool waits for a page to be written or released (other than a page for which
    /// a block is opened).
    #[inline(always)]
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        debug_assert!(self.watched >= self.starving, "starved pools are not watched");
        self.watched == 0 && self.pending.is_empty()
    }

    /// Whether no pool is pending.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// The next pending pool, in order of their numbers.
    #[inline]
    pub fn pop(&mut self) -> Option<PoolId> {
        let next = self.pending.pop().map(PoolId);
        debug_assert!(next.is_none_or(|p| p.at() < self.starved.len()), "{next:?} does not exist");
        next
    }

    /// Consider every pool when a device-wide trigger begins to hold.
    pub fn watch_device(&mut self, ftl: &Ftl) {
        if !self.watches_device {
            return;
        }
        debug_assert_eq!(ftl.geo.pools as usize, self.starved.len(), "pools of another device");
        let holds = self.demands.device_holds(&ftl.space_view(PoolId(0)));
        if holds && !self.device_held {
            self.consider_all();
        }
        self.device_held = holds;
    }

    /// A pool at its reserve that has nothing to collect; otherwise one that wants collection but has nothing to
    /// collect.
    #[must_use]
    pub fn starved_pool(&self, ftl: &Ftl) -> Option<PoolId> {
        let mut pools = (0..ftl.geo.pools).map(PoolId).filter(|p| self.starved[p.at()]);
        let at_reserve = |p: &PoolId| self.demand(&ftl.space_view(*p)) == Demand::Reserve;
        assert_eq!(self.starving > 0, self.starved.contains(&true), "starved pools, as counted");
        let pool = pools.clone().find(at_reserve).or_else(|| pools.next());
        assert_eq!(pool.is_some(), self.starving > 0, "{pool:?} of {} starved", self.starving);
        pool
    }

    /// Whether the demand of `pool` found nothing to collect when it was last considered.
    #[must_use]
    pub fn is_starved(&self, pool: PoolId) -> bool {
        debug_assert!(!self.starved[pool.at()] || self.starving > 0, "{pool:?} is not counted");
        self.starved[pool.at()]
    }

    /// What the pool behind `view`, in which nothing is being collected, does next. The order is: blocks that are
    /// collected at once, wear levelling, folds that are due, the concurrency rule, what is left of a list of all
    /// candidates, the victim policy. At the reserve only the last two apply.
    pub fn next(&mut self, ftl: &mut Ftl, view: &SpaceView, turn: &impl Turn) -> Next {
        let pool = view.pool;
        debug_assert_eq!(
            view.free_blocks,
            ftl.space.free_blocks(pool) - ftl.space.spares(pool),
            "the view is out of date"
        );
        debug_assert_eq!(
            view.pool_used_pages,
            ftl.space.used_in_pool(pool),
            "the view is out of date"
        );
        debug_assert_eq!(view.clock, ftl.clock, "the view is out of date");
        if ftl.is_zoned() {
            return next_reset(ftl, pool, turn);
        }
        let demand = self.demands.of(view);
        let reserve = demand == Demand::Reserve;
        let at_once = if reserve { None } else { ftl.at_once(pool) };
        self.drop_stale(ftl, pool);
        let has_victims = at_once.is_some() || !self.lists[pool.at()].is_empty();
        if !has_victims
            && demand < Demand::Urgent
            && ftl.wear.is_due(pool)
            && ftl.space.may_level(pool)
            && turn.may_level(ftl, pool)
            && let Some(block) = ftl.take_cold(pool)
        {
            let choice = Choice { levels: true, ..Choice::of_policy(block) };
            check_choice(ftl, pool, choice);
            return Next::Collect(choice, Demand::Background);
        }
        if !reserve
            && let Some((block, demand)) = ftl.due_fold(view, demand)
            && (demand == Demand::Urgent || !has_victims)
        {
            let exempt = demand == Demand::Urgent && !turn.binds_reserve();
            if !(exempt || turn.may_collect(ftl, pool)) {
                return Next::Wait;
            }
            self.set_starved(pool, false);
            let choice = Choice::of_policy(block);
            check_choice(ftl, pool, choice);
            return Next::Collect(choice, demand);
        }
        if demand == Demand::None && !has_victims {
            self.set_starved(pool, false);
            return Next::Nothing;
        }
        if !reserve && self.spent[pool.at()] && !has_victims {
            return Next::Nothing;
        }
        if !(reserve && !turn.binds_reserve() || turn.may_collect(ftl, pool)) {
            return Next::Wait;
        }
        let chosen = at_once.map(Choice::of_policy);
        let Some(choice) = chosen.or_else(|| self.choose(ftl, pool, reserve)) else {
            self.set_starved(pool, true);
            return Next::Nothing;
        };
        self.set_starved(pool, false);
        if at_once.is_none() {
            self.set_spent(pool, self.demands.amount == Amount::One);
        }
        debug_assert!(
            reserve || !choice.by_reserve,
            "the reserve chooses for {demand:?} of {pool:?}"
        );
        debug_assert!(ftl.fits(choice.block), "the pages of {choice:?} find no room");
        check_choice(ftl, pool, choice);
        Next::Collect(choice, demand)
    }

    /// Drop the blocks at the head of the list of `pool` that have been collected since, or do not fit.
    fn drop_stale(&mut self, ftl: &Ftl, pool: PoolId) {
        let list = &mut self.lists[pool.at()];
        let stale = |b: &BlockId| !(ftl.blocks.is_candidate(*b) && ftl.fits(*b));
        while list.front().is_some_and(stale) {
            list.pop_front();
        }
        debug_assert!(list.iter().all(|&b| ftl.blocks.pool_of(b) == pool), "blocks from elsewhere");
    }

    fn choose(&mut self, ftl: &mut Ftl, pool: PoolId, reserve: bool) -> Option<Choice> {
        let list = &mut self.lists[pool.at()];
        debug_assert!(
            list.is_empty() || self.demands.amount == Amount::AllCandidates,
            "{pool:?} has a list, and one block is chosen at a time"
        );
        if let Some(block) = list.pop_front() {
            return Some(Choice::of_policy(block));
        }
        if self.demands.amount == Amount::AllCandidates && !reserve {
            *list = ftl.candidates(pool).into();
            return list.pop_front().map(Choice::of_policy);
        }
        ftl.choose(pool, reserve)
    }

    #[inline]
    fn set_starved(&mut self, pool: PoolId, starved: bool) {
        if self.starved[pool.at()] != starved {
            self.starved[pool.at()] = starved;
            self.starving = if starved { self.starving + 1 } else { self.starving - 1 };
            self.watched = if starved { self.watched + 1 } else { self.watched - 1 };
            debug_assert!(self.counts_fit(), "starved pools are counted wrongly: {pool:?}");
        }
    }

    #[inline]
    fn set_spent(&mut self, pool: PoolId, spent: bool) {
        if self.spent[pool.at()] != spent {
            self.spent[pool.at()] = spent;
            self.watched = if spent { self.watched + 1 } else { self.watched - 1 };
            debug_assert!(self.counts_fit(), "spent pools are counted wrongly: {pool:?}");
        }
    }

    /// Whether the counts of starved and spent pools match a recount.
    fn counts_fit(&self) -> bool {
        let count = |pools: &[bool]| pools.iter().filter(|&&is| is).count() as u32;
        let (starved, spent) = (count(&self.starved), count(&self.spent));
        let always = u32::from(self.at_once) + u32::from(self.watches_pages);
        self.starving == starved && self.watched == always + starved + spent
    }
}

/// What `pool` of a device with zones does next: it erases the blocks of zones that have been reset.
fn next_reset(ftl: &Ftl, pool: PoolId, turn: &impl Turn) -> Next {
    let Some(block) = ftl.due_reset(pool) else { return Next::Nothing };
    if !turn.may_collect(ftl, pool) {
        return Next::Wait;
    }
    let choice = Choice::of_policy(block);
    check_choice(ftl, pool, choice);
    Next::Collect(choice, Demand::Background)
}

/// Assert that `choice` may be collected next in `pool`: policies and lists name sealed blocks of the pool, and
/// collecting one gives back a page or, for wear levelling, moves cold data.
fn check_choice(ftl: &Ftl, pool: PoolId, choice: Choice) {
    let block = choice.block;
    debug_assert!(ftl.blocks.is_candidate(block), "{choice:?} is not sealed");
    debug_assert_eq!(ftl.blocks.pool_of(block), pool, "{choice:?} is in another pool");
    debug_assert_eq!(ftl.space.promised(pool), 0, "{choice:?} while {pool:?} levels wear");
    debug_assert!(!choice.by_reserve || ftl.blocks.invalid(block) > 0, "{choice:?} gains nothing");
    debug_assert!(!(choice.by_reserve && choice.levels), "{choice:?} has two reasons");
    debug_assert_eq!(ftl.blocks.fill[block.at()].pending, 0, "{choice:?} has programs pending");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::ftl::gc::victim::invalidation_rate;
    use crate::plug::{PolicySpec, Value};
    use crate::units::{Lpn, PlaneId};

    /// 24 blocks of 8 pages, of which 18 are full and the first 4 have an invalid page each; all candidates are
    /// collected at 8 or fewer erased blocks.
    fn device() -> (Config, Ftl) {
        let mut c = Config::default();
        (c.device.channels, c.device.chips_per_channel, c.device.planes_per_chip) = (1, 1, 1);
        (c.device.blocks_per_plane, c.device.pages_per_block, c.device.user_pages) = (24, 8, 150);
        c.gc.trigger[0].params.insert("soft".into(), Value::Int(8));
        c.gc.amount = Amount::AllCandidates;
        let mut ftl = Ftl::new(&c);
        for lpn in (0..140).chain([0, 8, 16, 24]) {
            ftl.write_now(PlaneId(0), 0, Lpn(lpn));
        }
        (c, ftl)
    }

    fn next(agenda: &mut Agenda, ftl: &mut Ftl) -> Next {
        let view = ftl.space_view(PoolId(0));
        agenda.next(ftl, &view, &AlwaysItsTurn)
    }

    /// Trim the pages in `block` and erase it.
    fn clear(ftl: &mut Ftl, block: BlockId) {
        let first = ftl.geo.first_page(block).0;
        for page in (first..first + 8).map(crate::units::Ppn) {
            if let Some(lpn) = ftl.owner(page) {
                ftl.trim(lpn);
            }
        }
        ftl.begin_collection(Choice::of_policy(block));
        ftl.begin_erase(block);
        ftl.erase_now(block);
    }

    #[test]
    fn a_list_goes_on_after_the_demand_has_ended() {
        let (c, mut ftl) = device();
        let mut agenda = Agenda::new(&c.gc, &ftl, &Plugs::default());
        for block in (0..4).map(BlockId) {
            let Next::Collect(choice, _) = next(&mut agenda, &mut ftl) else { panic!("{block:?}") };
            assert_eq!(choice, Choice::of_policy(block));
            clear(&mut ftl, block);
        }
        assert!(ftl.space.free_blocks(PoolId(0)) > 8, "the trigger no longer holds");
        assert_eq!(next(&mut agenda, &mut ftl), Next::Nothing);
    }

    #[test]
    fn what_is_collected_at_once_does_not_use_up_the_amount() {
        let (mut c, _) = device();
        c.gc.amount = Amount::One;
        c.gc.victim = PolicySpec::with_defaults(&invalidation_rate::INFO)
            .with("ratio", Value::Real(0.1))
            .with("fully_invalid", Value::Word("immediate".into()));
        let mut ftl = Ftl::new(&c);
        ftl.begin_run(&c.gc.victim, &Plugs::default());
        for lpn in (0..140).chain([0, 8, 16, 24]) {
            ftl.write_now(PlaneId(0), 0, Lpn(lpn));
        }
        // Block 5 has no valid page.
        for lpn in 40..48 {
            ftl.trim(Lpn(lpn));
        }
        let mut agenda = Agenda::new(&c.gc, &ftl, &Plugs::default());
        let Next::Collect(choice, _) = next(&mut agenda, &mut ftl) else { panic!("block 5") };
        assert_eq!(choice, Choice::of_policy(BlockId(5)));
        clear(&mut ftl, BlockId(5));
        let Next::Collect(choice, _) = next(&mut agenda, &mut ftl) else { panic!("one block") };
        assert!(choice.block < BlockId(4), "{choice:?}");
        clear(&mut ftl, choice.block);
        assert!(ftl.space.free_blocks(PoolId(0)) <= 8, "the trigger holds");
        assert_eq!(next(&mut agenda, &mut ftl), Next::Nothing);
    }

    #[test]
    fn no_list_is_drawn_after_the_rest_of_one_was_collected_otherwise() {
        let (c, mut ftl) = device();
        let mut agenda = Agenda::new(&c.gc, &ftl, &Plugs::default());
        assert!(matches!(next(&mut agenda, &mut ftl), Next::Collect(..)));
        (0..4).map(BlockId).for_each(|block| clear(&mut ftl, block));
        // Another block has an invalid page now, so a new list would contain it.
        ftl.trim(Lpn(40));
        assert!(ftl.fewest_valid(PoolId(0)).is_some(), "there is something to collect");
        assert_eq!(next(&mut agenda, &mut ftl), Next::Nothing);
        assert!(!agenda.is_starved(PoolId(0)), "it does not want collection");
    }
}
