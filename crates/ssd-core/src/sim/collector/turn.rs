//! Whose turn is it to collect? The background jobs as the concurrency rule counts them, and the pools that wait until
//! the rule allows them a job.

use crate::config::Config;
use crate::ftl::Ftl;
use crate::ftl::gc::agenda::Turn;
use crate::ftl::gc::concurrency::{Concurrency, ConcurrencyPolicy, DeviceView, LimitUnit};
use crate::ftl::gc::victim::VictimPolicy;
use crate::ftl::plugs::Plugs;
use crate::sim::array::Array;
use crate::units::{PlaneId, PoolId};
use std::collections::VecDeque;

/// Whether a pool waits for the concurrency rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wait {
    No,
    /// Since this instant, and perhaps not for long.
    New,
    /// The wait has been counted.
    Deferred,
}

/// The jobs that the concurrency rule has allowed, and the pools that wait for it.
pub(crate) struct Turns {
    rule: Concurrency,
    /// What each pool counts as: its channel or chip, if the rule counts those; otherwise its own number.
    unit: Vec<u32>,
    /// The scope of each unit: the rule limits the active units of a scope.
    scope: Vec<u32>,
    /// Counted jobs of each unit, and for each scope the number of units that have one.
    jobs: Vec<u32>,
    active: Vec<u32>,
    /// The busy units of each unit, if the rule lets only idle ones begin.
    busy_units: Vec<Vec<u32>>,
    /// Units that have no job and are active until they are idle.
    draining: Vec<usize>,
    waiting: VecDeque<PoolId>,
    waits: Vec<Wait>,
    /// Pools of `waiting` that have not been counted as deferred.
    new: u32,
}

impl Turns {
    pub(crate) fn new(config: &Config, ftl: &Ftl, plugs: &Plugs) -> Turns {
        let rule = plugs.concurrency(&config.gc.concurrency);
        let (geo, groups) = (&ftl.geo, ftl.groups.as_deref());
        let first_plane = |pool| PlaneId(geo.planes_of_pool(PoolId(pool)).start);
        let chip =
            |plane| groups.map_or_else(|| geo.chip_of(plane), |groups| groups.chip_of(plane));
        let counted = rule.counted();
        let unit: Vec<u32> = (0..geo.pools)
            .map(|pool| match counted {
                LimitUnit::Pools => pool,
                LimitUnit::Channels => geo.channel_of(first_plane(pool)).0,
                LimitUnit::Members => chip(first_plane(pool)),
            })
            .collect();
        let units = unit.iter().max().map_or(0, |last| last + 1);
        let scope: Vec<u32> = match (counted, groups) {
            (LimitUnit::Members, Some(groups)) => (0..units).map(|u| u / groups.chips()).collect(),
            _ => vec![0; units as usize],
        };
        assert!(units > 0, "{} pools are in no unit", geo.pools);
        let mut busy_units = vec![Vec::new(); units as usize];
        if rule.waits_until_idle() {
            for pool in (0..geo.pools).map(PoolId) {
                busy_units[unit[pool.at()] as usize].extend(geo.units_of_pool(pool));
            }
        }
        Turns {
            rule,
            unit,
            busy_units,
            draining: Vec::new(),
            jobs: vec![0; units as usize],
            active: vec![0; scope.iter().max().map_or(0, |last| *last as usize + 1)],
            scope,
            waiting: VecDeque::new(),
            waits: vec![Wait::No; geo.pools as usize],
            new: 0,
        }
    }

    /// Whether a job counts.
    #[inline]
    pub(crate) fn counts(&self, foreground: bool) -> bool {
        debug_assert_eq!(self.unit.len(), self.waits.len(), "pools without a unit");
        !foreground || self.rule.binds_reserve()
    }

    /// Let units that have become idle be active no longer.
    pub(crate) fn end_drained(&mut self, array: &Array) {
        let Turns { draining, busy_units, active, scope, .. } = self;
        for unit in draining.extract_if(.., |unit| is_idle(&busy_units[*unit], array)) {
            active[scope[unit] as usize] -= 1;
        }
    }

    /// Begin a counted job of `pool`.
    pub(crate) fn job_begins(&mut self, pool: PoolId) {
        let unit = self.unit[pool.at()] as usize;
        let (jobs, active) = (&mut self.jobs[unit], &mut self.active[self.scope[unit] as usize]);
        *active += u32::from(*jobs == 0);
        *jobs += 1;
        debug_assert!(!self.draining.contains(&unit), "{pool:?} is not idle");
        debug_assert!(*jobs as usize <= self.unit.len(), "{pool:?} has two jobs");
        assert!(*active as usize <= self.scope.len(), "more units are active than there are");
    }

    /// End the job, or stop counting it.
    pub(crate) fn job_ends(&mut self, pool: PoolId, array: &Array) {
        let unit = self.unit[pool.at()] as usize;
        let drains = !is_idle(&self.busy_units[unit], array);
        let (jobs, active) = (&mut self.jobs[unit], &mut self.active[self.scope[unit] as usize]);
        assert!(*jobs > 0, "{pool:?} has no job that counts");
        assert!(*active > 0, "the job of {pool:?} ends, and no unit is active");
        *jobs -= 1;
        match (*jobs, drains) {
            (0, true) => self.draining.push(unit),
            (0, false) => *active -= 1,
            _ => {}
        }
    }

    #[inline(always)]
    pub(crate) fn has_waiters(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn waits(&self, pool: PoolId) -> bool {
        self.waits[pool.at()] != Wait::No
    }

    /// `pool` waits for its turn.
    pub(crate) fn wait(&mut self, pool: PoolId) {
        if self.waits[pool.at()] == Wait::No {
            debug_assert!(!self.waiting.contains(&pool), "{pool:?} waits twice");
            self.waits[pool.at()] = Wait::New;
            self.waiting.push_back(pool);
            self.new += 1;
            debug_assert!(self.waiting.len() <= self.waits.len(), "{pool:?} waits twice");
        }
    }

    /// How many of those that began to wait at this instant still do.
    pub(crate) fn count_deferred(&mut self) -> u64 {
        if self.new == 0 {
            return 0;
        }
        let new = u64::from(std::mem::take(&mut self.new));
        let (waits, mut count) = (&mut self.waits, 0);
        for pool in &self.waiting {
            let wait = &mut waits[pool.at()];
            count += u64::from(*wait == Wait::New);
            debug_assert_ne!(*wait, Wait::No, "{pool:?} is in the queue and does not wait");
            *wait = Wait::Deferred;
        }
        assert_eq!(count, new, "pools that begin to wait are counted wrongly");
        count
    }

    /// Whether the rule lets the unit of `pool` begin as far as that depends on its own operations of the host.
    fn is_ready(&self, pool: PoolId, array: &Array) -> bool {
        let units = &self.busy_units[self.unit[pool.at()] as usize];
        debug_assert!(!units.is_empty() || !self.rule.waits_until_idle(), "{pool:?} is nowhere");
        is_idle(units, array)
    }

    /// Whether a job of `pool` may begin while the rule allows `limit`, given the other active units of its scope.
    fn allows(&self, pool: PoolId, limit: u32) -> bool {
        let unit = self.unit[pool.at()] as usize;
        let (jobs, active) = (self.jobs[unit], self.active[self.scope[unit] as usize]);
        debug_assert!(active >= u32::from(jobs > 0), "a unit with a job is not active");
        active - u32::from(jobs > 0) < limit
    }

    /// Check the jobs of each unit against a recount from the `pools` whose job counts.
    pub(crate) fn audit(&self, pools: impl Iterator<Item = PoolId>) -> Result<(), String> {
        let mut jobs = vec![0; self.jobs.len()];
        pools.for_each(|pool| jobs[self.unit[pool.at()] as usize] += 1);
        let mut active = vec![0; self.active.len()];
        let is_active = |&(unit, &n): &(usize, &u32)| n > 0 || self.draining.contains(&unit);
        for (unit, _) in jobs.iter().enumerate().filter(is_active) {
            active[self.scope[unit] as usize] += 1;
        }
        if jobs != self.jobs || active != self.active {
            let (counted, n) = (&self.jobs, &self.active);
            return Err(format!("jobs {jobs:?}, {counted:?} counted; active {active:?}, {n:?}"));
        }
        Ok(())
    }

    /// Units of a scope that may have jobs at once, according to the rule now.
    fn limit(&self, ftl: &Ftl) -> u32 {
        self.rule.limit(&DeviceView {
            pools: ftl.geo.pools,
            channels: ftl.geo.channels,
            used_pages: ftl.space.used(),
            pages: ftl.space.good_pages(),
        })
    }

    /// Whether the rule lets a background job of `pool` begin now.
    fn has_turn(&self, ftl: &Ftl, pool: PoolId, array: &Array) -> bool {
        let limit = self.limit(ftl);
        // All units at once: most devices have no other rule.
        let is_allowed = limit as usize >= self.jobs.len() || self.allows(pool, limit);
        is_allowed && self.is_ready(pool, array)
    }

    /// Whether pools that want collection line up first, since the victim policy orders them and the
    /// rule may not let all of them begin.
    fn pools_line_up(&self, ftl: &Ftl) -> bool {
        ftl.victim.orders_pools() && (self.limit(ftl) as usize) < self.jobs.len()
    }

    /// Pools that wait now.
    pub(crate) fn waiting(&self) -> usize {
        debug_assert!(self.new as usize <= self.waiting.len(), "pools that wait no longer are new");
        self.waiting.len()
    }

    /// The next waiting pool that may begin: by the victim policy's order of pools, if it has one, otherwise the one
    /// that has waited longest. It no longer waits.
    pub(crate) fn next_in_turn(&mut self, ftl: &mut Ftl, array: &Array) -> Option<PoolId> {
        let limit = self.limit(ftl);
        // Pools of active units may join; if every pool is a unit, none of them waits.
        let shared = self.jobs.len() < self.waits.len();
        if self.active.iter().all(|&n| n > limit || (n == limit && !shared)) {
            return None;
        }
        let may_begin = |&pool: &PoolId| self.allows(pool, limit) && self.is_ready(pool, array);
        let mut allowed = self.waiting.iter().copied().filter(may_begin);
        let first = if ftl.victim.orders_pools() {
            ftl.victim.first_pool(&mut allowed.clone(), &ftl.blocks, ftl.clock)
        } else {
            None
        };
        let pool = first.or_else(|| allowed.next())?;
        let at = self.waiting.iter().position(|&p| p == pool).expect("it waits");
        assert!(self.allows(pool, limit), "{pool:?} begins although the rule forbids it");
        assert!(self.waits(pool), "{pool:?} begins without having waited");
        self.waiting.remove(at);
        if std::mem::replace(&mut self.waits[pool.at()], Wait::No) == Wait::New {
            self.new -= 1;
        }
        Some(pool)
    }
}

/// Whether no operation of the host waits or runs on these busy `units`.
fn is_idle(units: &[u32], array: &Array) -> bool {
    units.iter().all(|&unit| array.units[unit as usize].load.of_host == 0)
}

/// The answer of the concurrency rule for a pool that is being considered; `in_turn`: whether the pool has waited for
/// its turn.
pub(crate) struct PoolTurn<'a> {
    pub(crate) turns: &'a Turns,
    pub(crate) array: &'a Array,
    pub(crate) in_turn: bool,
}

impl Turn for PoolTurn<'_> {
    fn may_level(&self, ftl: &Ftl, pool: PoolId) -> bool {
        self.turns.has_turn(ftl, pool, self.array)
    }

    fn may_collect(&self, ftl: &Ftl, pool: PoolId) -> bool {
        let lines_up = !self.in_turn && self.turns.pools_line_up(ftl);
        !lines_up && !self.turns.waits(pool) && self.turns.has_turn(ftl, pool, self.array)
    }

    fn binds_reserve(&self) -> bool {
        self.turns.rule.binds_reserve()
    }
}
