//! The collector: the running jobs, whose turn it is, which scopes they close to the host, and when units have been
//! idle for long enough.
//!
//! It keeps this state for the collection engine (`sim/collect.rs`), which moves pages and erases blocks.

pub(super) mod held;
pub(super) mod turn;

use super::array::Array;
use super::array::event::Timer;
use super::join::Join;
use crate::config::{
    Blocking, BlockingScope, Config, FoldPath, GcPath, Granularity, InterconnectModel,
};
use crate::ftl::Ftl;
use crate::ftl::gc::agenda::Agenda;
use crate::ftl::plugs::Plugs;
use crate::metrics::counters::{CAUSES, Cause};
use crate::nand::geometry::Geometry;
use crate::units::{BlockId, Nanos, PlaneId, PoolId, Ppn, UnitId};
use held::RelocatedPages;
use turn::Turns;

/// The collection of one block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) victim: BlockId,
    /// First page of the victim that has not been examined.
    pub(super) scan: u32,
    /// Page copies in flight.
    pub(super) in_flight: u32,
    /// Flash blocks to be erased, once the erase is queued.
    pub(super) erases: Join,
    pub(super) foreground: bool,
    /// Why it runs: collection, static wear levelling, or folding.
    pub(super) cause: Cause,
    pub(super) since: Nanos,
}

/// State of collection over the device.
pub(crate) struct Collector {
    pub(crate) agenda: Agenda,
    /// What the concurrency rule allows.
    pub(crate) turns: Turns,
    blocking: Blocking,
    pub(crate) path: GcPath,
    /// That of folds.
    pub(crate) fold_path: GcPath,
    /// Whether the path of GC pages takes more than bus time: an interconnect, buffers, errors, the selective path.
    pub(crate) watches_way: bool,
    pub(super) window: u32,
    pub(crate) ecc_ns: u64,
    pub(super) jobs: Vec<Option<Job>>,
    /// Scopes closed to the host.
    pub(crate) closings: u32,
    /// How often each plane is closed to the host.
    closed_planes: Vec<u32>,
    /// Blocks closed to host reads.
    pub(crate) closed_blocks: u32,
    block_closings: Vec<u32>,
    /// The pages that the jobs of closed blocks have moved.
    pub(crate) relocated: RelocatedPages,
    /// Units whose idle timer has fired at this instant.
    pub(crate) idle_units: Vec<u32>,
    /// Pages read to be moved and neither programmed nor dropped yet, by cause.
    pub(crate) pages_read: [u64; CAUSES],
}

impl Collector {
    pub(crate) fn new(config: &Config, ftl: &Ftl, plugs: &Plugs) -> Collector {
        let geo = &ftl.geo;
        let pools = geo.pools as usize;
        assert!(config.gc.window > 0, "no page could be moved: the config layer has checked it");
        let mut agenda = Agenda::new(&config.gc, ftl, plugs);
        agenda.consider_all();
        Collector {
            agenda,
            turns: Turns::new(config, ftl, plugs),
            blocking: config.gc.blocking,
            path: config.gc.path,
            fold_path: match config.slc.path {
                FoldPath::Controller => GcPath::Controller,
                FoldPath::Copyback => GcPath::Copyback,
            },
            watches_way: config.gc.path == GcPath::Selective
                || config.interconnect.model != InterconnectModel::None
                || config.controller.buffers.is_some()
                || config.controller.page_error_probability > 0.0,
            window: config.gc.window,
            ecc_ns: config.controller.ecc_ns,
            jobs: vec![None; pools],
            closings: 0,
            closed_planes: vec![0; geo.planes as usize],
            closed_blocks: 0,
            block_closings: vec![0; pools],
            relocated: match config.gc.blocking {
                Blocking { scope: BlockingScope::Block, granularity: Granularity::Job } => {
                    RelocatedPages::new(geo)
                }
                _ => RelocatedPages::default(),
            },
            idle_units: Vec::new(),
            pages_read: [0; CAUSES],
        }
    }

    /// Whether pages go over the controller, which takes no time besides that of unit and bus, and nothing is closed to
    /// the host.
    pub(crate) fn is_plain(&self) -> bool {
        let over_controller = self.path == GcPath::Controller && !self.watches_way;
        over_controller && self.ecc_ns == 0 && self.blocking.scope == BlockingScope::None
    }

    /// Note that a pool has changed, or waits for the concurrency rule.
    #[inline(always)]
    pub(crate) fn something_to_consider(&self) -> bool {
        !self.agenda.is_empty() || self.turns.has_waiters()
    }

    /// Whether `pool` has a job.
    pub(crate) fn collects(&self, pool: PoolId) -> bool {
        self.jobs[pool.at()].is_some()
    }

    /// Jobs running.
    pub(crate) fn active(&self) -> u32 {
        self.jobs.iter().flatten().count() as u32
    }

    #[inline(always)]
    pub(crate) fn is_foreground(&self, pool: PoolId) -> bool {
        self.jobs[pool.at()].is_some_and(|j| j.foreground)
    }

    #[inline(always)]
    pub(crate) fn is_closed(&self, plane: PlaneId) -> bool {
        debug_assert!(
            self.closed_planes[plane.at()] <= self.closings,
            "{plane:?} is closed by no job"
        );
        self.closed_planes[plane.at()] > 0
    }

    /// Whether the block of `ppn`, which is being collected, is closed to host reads now.
    pub(crate) fn closes_block(&self, ppn: Ppn, geo: &Geometry) -> bool {
        debug_assert!(self.closed_blocks <= self.closings, "a block is closed by no job");
        self.block_closings[geo.pool_of(geo.plane_of(ppn)).at()] > 0
    }

    /// The pools whose jobs close scopes with `plane`.
    pub(super) fn jobs_that_close<'a>(
        &'a self,
        plane: PlaneId,
        geo: &'a Geometry,
    ) -> impl Iterator<Item = PoolId> + 'a {
        debug_assert!(self.closings > 0, "{plane:?} is closed by no job");
        let pools = match self.blocking.scope {
            BlockingScope::None => 0..0,
            BlockingScope::Block | BlockingScope::Plane => {
                let pool = geo.pool_of(plane).0;
                pool..pool + 1
            }
            BlockingScope::Channel | BlockingScope::Device => 0..geo.pools,
        };
        let channel = geo.channel_of(plane);
        let is_there = move |victim: BlockId| {
            self.blocking.scope != BlockingScope::Channel
                || geo.planes_of_block(victim).any(|p| geo.channel_of(p) == channel)
        };
        pools
            .map(PoolId)
            .filter(move |pool| self.jobs[pool.at()].is_some_and(|job| is_there(job.victim)))
    }

    /// What closes scopes.
    pub(super) fn granularity(&self) -> Granularity {
        self.blocking.granularity
    }

    /// The job of `pool`, which must have one.
    pub(super) fn job(&mut self, pool: PoolId) -> &mut Job {
        self.jobs[pool.at()].as_mut().expect("the pool has a job")
    }

    /// Begin a step (page copy, or erase of a member) of the job of `pool`: with step granularity it closes its scope.
    #[inline(always)]
    pub(super) fn step_begins(&mut self, pool: PoolId, geo: &Geometry, array: &mut Array) {
        debug_assert!(self.collects(pool), "{pool:?} takes a step without a job");
        if self.closes_steps() {
            self.change_closings(pool, true, geo, array);
        }
    }

    /// End the step; its scope reopens.
    #[inline(always)]
    pub(super) fn step_ends(&mut self, pool: PoolId, geo: &Geometry, array: &mut Array) {
        debug_assert!(self.collects(pool), "a step of {pool:?} ends without a job");
        if self.closes_steps() {
            self.change_closings(pool, false, geo, array);
        }
    }

    /// Begin a job of `pool`: it closes its scope, unless its steps do.
    pub(super) fn job_begins(&mut self, pool: PoolId, geo: &Geometry, array: &mut Array) {
        assert!(self.collects(pool), "{pool:?} has no job that could begin");
        debug_assert_eq!(self.job(pool).in_flight, 0, "{pool:?} has moved pages already");
        if !self.closes_steps() {
            self.change_closings(pool, true, geo, array);
        }
    }

    /// End the job of `pool`, whose block has been erased; its scope reopens. Always inline: the other caller, which
    /// ends a job without its erase, is rare.
    #[inline(always)]
    pub(super) fn job_ends(&mut self, pool: PoolId, geo: &Geometry, array: &mut Array) -> Job {
        self.relocated.let_go(pool);
        if !self.closes_steps() {
            self.change_closings(pool, false, geo, array);
        }
        let job = self.jobs[pool.at()].take().expect("the pool has a job");
        assert_eq!(job.in_flight, 0, "{pool:?} has pages to move: {job:?}");
        assert!(job.erases.is_done(), "{pool:?} has flash blocks to erase: {job:?}");
        assert!(job.since <= array.now, "{pool:?} ends its job before it began: {job:?}");
        if self.turns.counts(job.foreground) {
            self.turns.job_ends(pool, array);
        }
        job
    }

    /// Steps close the scope of their job, not the job itself.
    #[inline(always)]
    fn closes_steps(&self) -> bool {
        self.blocking.granularity == Granularity::Step && self.blocking.scope != BlockingScope::None
    }

    fn change_closings(&mut self, pool: PoolId, close: bool, geo: &Geometry, array: &mut Array) {
        let victim = self.job(pool).victim;
        let change = |n: &mut u32| {
            assert!(close || *n > 0, "{pool:?} reopens what is not closed");
            if close { *n += 1 } else { *n -= 1 }
        };
        let planes: Vec<u32> = match self.blocking.scope {
            BlockingScope::None => return,
            BlockingScope::Block => {
                change(&mut self.closings);
                change(&mut self.closed_blocks);
                change(&mut self.block_closings[pool.at()]);
                assert!(self.closed_blocks <= self.closings, "a block is closed by no job");
                if !close {
                    array.wake_pool(geo, pool);
                }
                return;
            }
            BlockingScope::Plane => geo.planes_of_block(victim).map(|p| p.0).collect(),
            BlockingScope::Channel => {
                let channels: Vec<_> =
                    geo.planes_of_block(victim).map(|p| geo.channel_of(p)).collect();
                (0..geo.planes)
                    .filter(|&p| channels.contains(&geo.channel_of(PlaneId(p))))
                    .collect()
            }
            BlockingScope::Device => (0..geo.planes).collect(),
        };
        assert!(!planes.is_empty(), "the scope of {pool:?} has no plane");
        change(&mut self.closings);
        for p in planes {
            change(&mut self.closed_planes[p as usize]);
            let unit = geo.unit_of(PlaneId(p));
            change(&mut array.units[unit.at()].closed);
            if !close {
                array.ready.insert(unit.0);
            }
        }
        if !close {
            // Writes of other units may have waited to move here.
            array.wake_pool(geo, pool);
        }
    }

    /// How long the units of `pool` have had no host operation.
    pub(super) fn idle_for(&self, pool: PoolId, geo: &Geometry, array: &Array) -> Option<Nanos> {
        self.agenda.idle_after()?;
        geo.units_of_pool(pool)
            .map(|u| {
                let unit = &array.units[u as usize];
                debug_assert!(unit.idle_since <= array.now, "unit {u} is idle in the future");
                (unit.load.of_host == 0).then(|| array.now - unit.idle_since)
            })
            .min()
            .flatten()
    }

    /// If the unit has no host operation left, its pools may be idle from now on.
    pub(super) fn note_idle(&self, unit: usize, array: &mut Array) {
        if array.units[unit].load.of_host > 0 {
            return;
        }
        debug_assert!(array.units[unit].idle_since <= array.now, "unit {unit} is from the future");
        array.units[unit].idle_since = array.now;
        self.arm_idle_timer(unit, array);
    }

    /// One timer per unit: if it fires too early, it is set again.
    pub(super) fn arm_idle_timer(&self, unit: usize, array: &mut Array) {
        let Some(after) = self.agenda.idle_after() else { return };
        debug_assert_eq!(array.units[unit].load.of_host, 0, "unit {unit} works for the host");
        if !array.units[unit].idle_timer {
            array.units[unit].idle_timer = true;
            let at = Nanos(array.units[unit].idle_since.0 + after.0);
            array.set_timer(at.max(array.now), Timer::Idle(unit as u32));
        }
    }

    /// Consider the pools of units whose idle timer has fired.
    pub(super) fn idle_timers(&mut self, geo: &Geometry, array: &mut Array) {
        while let Some(unit) = self.idle_units.pop() {
            let u = &mut array.units[unit as usize];
            assert!(u.idle_timer, "an idle timer of unit {unit} that was not set has fired");
            u.idle_timer = false;
            if u.load.of_host > 0 {
                continue;
            }
            let idle = array.now - u.idle_since;
            if self.agenda.idle_after().is_some_and(|after| idle < after) {
                self.arm_idle_timer(unit as usize, array);
                continue;
            }
            for pool in geo.pools_of_unit(UnitId(unit)) {
                self.agenda.consider(PoolId(pool));
            }
        }
    }

    /// Check that wear levelling has a page for everything that it has not bound yet.
    fn audit_levelling(ftl: &Ftl, pool: PoolId, job: &Job) -> Result<(), String> {
        let (space, geo) = (&ftl.space, &ftl.geo);
        let has = space.wear_open(pool) + space.promised(pool) * geo.pages_per_block;
        let left = u32::from(ftl.blocks.valid[job.victim.at()]);
        // Moves in flight may have bound their pages and not committed them.
        if has + job.in_flight < left {
            return Err(format!("{pool:?} levels {left} pages and has {has} for them"));
        }
        Ok(())
    }

    /// Check that jobs and blocks under collection agree.
    pub(super) fn audit(&self, ftl: &Ftl) -> Result<(), String> {
        assert_eq!(self.jobs.len(), ftl.geo.pools as usize, "jobs of another device");
        assert_eq!(self.closed_planes.len(), ftl.geo.planes as usize, "planes of another device");
        use crate::ftl::blocks::BlockState;
        for p in 0..ftl.geo.pools {
            let collected: Vec<BlockId> = ftl
                .blocks
                .of_pool(PoolId(p))
                .filter(|b| {
                    let state = ftl.blocks.state[b.at()];
                    matches!(state, BlockState::Collecting | BlockState::Erasing)
                })
                .collect();
            if let Some(job) = self.jobs[p as usize].filter(|job| job.cause == Cause::Wear) {
                Collector::audit_levelling(ftl, PoolId(p), &job)?;
            }
            let job: Vec<BlockId> = self.jobs[p as usize].iter().map(|j| j.victim).collect();
            if collected != job {
                return Err(format!(
                    "pool {p}: jobs {job:?}, blocks under collection {collected:?}"
                ));
            }
        }
        let counts =
            |p: &PoolId| self.jobs[p.at()].is_some_and(|job| self.turns.counts(job.foreground));
        self.relocated.audit(|p| self.jobs[p.at()].is_some())?;
        self.turns.audit((0..ftl.geo.pools).map(PoolId).filter(counts))
    }
}
