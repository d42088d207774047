//! The collection engine: the only place that acts on what GC policies decide.
//!
//! There is one job per pool: choose a victim, copy its valid pages with a window in flight, erase it. Jobs
//! start when a pool is considered, which happens at the end of an instant in which something in the pool has
//! changed.

use super::event::Timer;
use super::held::RelocatedPages;
use super::op::{Moved, Op, OpKind, Work};
use super::ssd::Ssd;
use super::turn::{InTurn, Turns};
use crate::config::{Blocking, BlockingScope, Config, GcPath, Granularity, InterconnectModel};
use crate::ftl::gc::Demand;
use crate::ftl::gc::agenda::{Agenda, Next};
use crate::ftl::gc::trigger::SpaceView;
use crate::ftl::plugs::Plugs;
use crate::ftl::{Choice, Ftl};
use crate::metrics::counters::CAUSES;
use crate::nand::geometry::Geometry;
use crate::sched::order::{R_GC, W_GC, W_HOST};
use crate::units::{BlockId, Lpn, Nanos, OpSlot, PlaneId, PoolId, Ppn};

/// The collection of one block.
#[derive(Clone, Copy, Debug)]
struct Job {
    victim: BlockId,
    /// First page of the victim that has not been examined.
    scan: u32,
    /// Page copies in flight.
    in_flight: u32,
    /// Flash blocks still to be erased; 0 until the erase is queued.
    erases_left: u32,
    foreground: bool,
    /// Static wear levelling, not garbage collection.
    levels: bool,
    since: Nanos,
}

/// State of collection over the device.
pub(crate) struct Collector {
    pub(crate) agenda: Agenda,
    /// What the concurrency rule allows.
    pub(crate) turns: Turns,
    blocking: Blocking,
    pub(crate) path: GcPath,
    /// The path of GC pages takes more than bus time: an interconnect, buffers, errors, the selective path.
    pub(crate) watches_way: bool,
    window: u32,
    pub(crate) ecc_ns: u64,
    jobs: Vec<Option<Job>>,
    /// Scopes closed to the host.
    pub(crate) closings: u32,
    /// How often each plane is closed to the host.
    closed_planes: Vec<u32>,
    /// Blocks closed to host reads.
    pub(crate) closed_blocks: u32,
    block_closings: Vec<u32>,
    /// The pages that the jobs of closed blocks have moved.
    pub(crate) held: RelocatedPages,
    /// Units whose idle timer has fired at this instant.
    pub(crate) idle_units: Vec<u32>,
    /// Pages read to be moved and neither programmed nor dropped yet, by cause.
    pub(crate) pages_read: [u64; CAUSES],
}

impl Collector {
    pub(crate) fn new(config: &Config, ftl: &Ftl, plugs: &Plugs) -> Collector {
        let geo = &ftl.geo;
        let pools = geo.pools as usize;
        let mut agenda = Agenda::new(&config.gc, ftl, plugs);
        agenda.consider_all();
        Collector {
            agenda,
            turns: Turns::new(config, geo, plugs),
            blocking: config.gc.blocking,
            path: config.gc.path,
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
            held: match config.gc.blocking {
                Blocking { scope: BlockingScope::Block, granularity: Granularity::Job } => {
                    RelocatedPages::new(geo)
                }
                _ => RelocatedPages::default(),
            },
            idle_units: Vec::new(),
            pages_read: [0; CAUSES],
        }
    }

    /// A pool has changed, or waits for the concurrency rule.
    #[inline(always)]
    pub(crate) fn something_to_consider(&self) -> bool {
        !self.agenda.is_empty() || self.turns.somebody_waits()
    }

    /// Jobs running.
    pub(crate) fn active(&self) -> u32 {
        self.jobs.iter().flatten().count() as u32
    }

    pub(crate) fn is_foreground(&self, pool: PoolId) -> bool {
        self.jobs[pool.at()].is_some_and(|j| j.foreground)
    }

    #[inline(always)]
    pub(crate) fn is_closed(&self, plane: PlaneId) -> bool {
        self.closed_planes[plane.at()] > 0
    }

    /// Whether the block of `ppn`, which is being collected, is closed to host reads now.
    pub(crate) fn closes_block(&self, ppn: Ppn, geo: &Geometry) -> bool {
        self.block_closings[geo.pool_of(geo.plane_of(ppn)).at()] > 0
    }
}

impl Ssd {
    /// Consider every pool that has changed, then those that the concurrency rule has kept waiting.
    #[inline(never)]
    pub(crate) fn consider_collection(&mut self) {
        self.gc.agenda.watch_device(&self.ftl);
        while let Some(pool) = self.gc.agenda.pop() {
            self.consider(pool, false);
        }
        for _ in 0..self.gc.turns.waiting() {
            let Some(pool) = self.gc.turns.next_in_turn(&mut self.ftl) else { break };
            self.consider(pool, true);
        }
        self.measured.gc.deferred += self.gc.turns.count_deferred();
    }

    /// Promote the job of `pool`, or do what is next if it has none; `in_turn`: the pool has waited for its turn.
    fn consider(&mut self, pool: PoolId, in_turn: bool) {
        let view = SpaceView { idle_for: self.idle_for(pool), ..self.ftl.space_view(pool) };
        if self.gc.jobs[pool.at()].is_some() {
            self.promote(pool, self.gc.agenda.demand(&view));
            return;
        }
        let gc = &mut self.gc;
        let turn = InTurn { turns: &gc.turns, in_turn };
        match gc.agenda.next(&mut self.ftl, &view, &turn) {
            Next::Collect(choice, demand) => self.start_job(pool, choice, demand),
            Next::Wait => gc.turns.wait(pool),
            Next::Nothing => self.give_up_if_worn_out(pool, &view),
        }
    }

    /// Nothing will make room in `pool` any more if it is worn out, at its reserve and without a victim.
    fn give_up_if_worn_out(&mut self, pool: PoolId, view: &SpaceView) {
        let at_reserve = || self.gc.agenda.demand(view) == Demand::Reserve;
        let at_its_end = self.gc.agenda.is_starved(pool) && self.ftl.is_worn_out(pool);
        if at_its_end && at_reserve() && self.host_waits_for(pool) {
            let end = super::functional::worn_out(&self.ftl, pool);
            self.failure.get_or_insert(end);
        }
    }

    /// Whether a write of the host waits for room in `pool`.
    fn host_waits_for(&self, pool: PoolId) -> bool {
        self.ftl.geo.units_of_pool(pool).any(|unit| {
            let first = self.units[unit as usize].head(W_HOST);
            let waiting = |slot: OpSlot| (slot != OpSlot::NONE).then_some(slot);
            std::iter::successors(waiting(first), |&slot| waiting(self.ops[slot].next))
                .any(|slot| self.ftl.geo.pool_of(self.ops[slot].plane) == pool)
        })
    }

    /// A running background job is promoted when its pool falls to the reserve.
    fn promote(&mut self, pool: PoolId, demand: Demand) {
        let job = self.gc.jobs[pool.at()].as_mut().expect("the caller has checked");
        if demand >= Demand::Urgent && !job.foreground {
            job.foreground = true;
            self.gc.turns.job_ends(pool);
            self.measured.gc.reserve_promotions += u64::from(demand == Demand::Reserve);
            for unit in self.ftl.geo.units_of_pool(pool) {
                self.ready.insert(unit);
            }
        }
    }

    fn start_job(&mut self, pool: PoolId, choice: Choice, demand: Demand) {
        let block = choice.block;
        let foreground = demand >= Demand::Urgent;
        if choice.levels {
            self.measured.wear.calls += 1;
        } else {
            self.count_victim(choice, foreground);
        }
        if !foreground {
            self.gc.turns.job_begins(pool);
        }
        self.ftl.begin_collection(choice);
        self.ftl.prefetch_block(block);
        self.note(u64::from(block.0), u64::from(pool.0) << 32 | 0xc0);
        self.gc.jobs[pool.at()] = Some(Job {
            victim: block,
            scan: 0,
            in_flight: 0,
            erases_left: 0,
            foreground,
            levels: choice.levels,
            since: self.now,
        });
        if self.gc.blocking.granularity != Granularity::Step {
            self.close(pool);
        }
        // A job may need less room than has been reserved for any job.
        self.wake_pool(pool);
        self.advance(pool);
    }

    fn count_victim(&mut self, choice: Choice, foreground: bool) {
        let pool = self.ftl.blocks.pool_of(choice.block);
        let unmet = self.gc.agenda.is_unmet(&self.ftl, pool);
        let gc = &mut self.measured.gc;
        gc.calls += 1;
        gc.victims.unmet += u64::from(unmet);
        if foreground {
            gc.foreground += 1
        } else {
            gc.background += 1
        }
        if choice.by_reserve {
            gc.victims.reserve_greedy += 1
        } else {
            gc.victims.policy += 1;
            gc.victims.decided += u64::from(!unmet);
        }
        let valid = u32::from(self.ftl.blocks.valid[choice.block.at()]);
        gc.victim_valid_sum += u64::from(valid);
        gc.victim_pages_sum += u64::from(self.ftl.geo.pages_per_block);
        self.measured.victim_invalid.record(u64::from(self.ftl.geo.pages_per_block - valid));
    }

    /// The frontier to which the copy in `slot` goes.
    #[inline(always)]
    pub(crate) fn copy_stream(&self, slot: OpSlot) -> u32 {
        let space = &self.ftl.space;
        if self.ops[slot].levels() { space.wear_stream() } else { space.gc_stream() }
    }

    fn job(&mut self, pool: PoolId) -> &mut Job {
        self.gc.jobs[pool.at()].as_mut().expect("the pool has a job")
    }

    /// Keep the window full; when nothing is left to copy, queue the erase.
    fn advance(&mut self, pool: PoolId) {
        loop {
            let window = self.gc.window;
            let job = *self.job(pool);
            let levels = job.levels;
            if job.in_flight >= window || job.erases_left > 0 {
                return;
            }
            let Some(source) = self.ftl.next_valid(job.victim, job.scan) else {
                if job.in_flight == 0 {
                    self.queue_erase(pool, job.victim);
                }
                return;
            };
            let page = source.0 - self.ftl.geo.first_page(job.victim).0;
            let job = self.job(pool);
            job.scan = page + 1;
            job.in_flight += 1;
            let moved = Moved { pool, source, levels, in_buffer: false };
            let work = match self.gc.path {
                GcPath::Controller | GcPath::Selective => Work::GcRead(moved),
                GcPath::Copyback => Work::GcCopyback(moved),
            };
            let lpn = self.ftl.owner(source).expect("a valid page has an owner");
            self.ftl.owners.prefetch(lpn);
            let plane = self.ftl.geo.plane_of(source);
            let slot = self.ops.insert(Op::new(work, lpn, plane, self.now));
            self.enqueue(slot, R_GC);
        }
    }

    fn queue_erase(&mut self, pool: PoolId, victim: BlockId) {
        self.ftl.begin_erase(victim);
        let members = self.ftl.geo.members;
        let job = self.job(pool);
        job.erases_left = members;
        let levels = job.levels;
        for plane in self.ftl.geo.planes_of_block(victim) {
            let first = self.ftl.geo.page_on(victim, plane, 0);
            let work = Work::Erase { pool, first, levels };
            let slot = self.ops.insert(Op::new(work, Lpn::NONE, plane, self.now));
            self.enqueue(slot, W_GC);
        }
        self.wake_pool(pool);
    }

    /// A step (page copy, or erase of a member) begins: with step granularity it closes its scope.
    pub(crate) fn gc_step_begins(&mut self, slot: OpSlot) {
        if self.gc.blocking.granularity == Granularity::Step
            && self.gc.blocking.scope != BlockingScope::None
        {
            self.close(self.ops[slot].pool());
        }
    }

    fn gc_step_ends(&mut self, pool: PoolId) {
        if self.gc.blocking.granularity == Granularity::Step
            && self.gc.blocking.scope != BlockingScope::None
        {
            self.open(pool);
        }
    }

    /// A GC page is in the controller and decoded: program it, or drop it if it no longer has an owner.
    pub(crate) fn gc_decoded(&mut self, slot: OpSlot) {
        let Moved { source, pool, in_buffer, .. } = *self.ops[slot].moved();
        if !self.ftl.owners.is_valid(source) {
            let cause = self.ops[slot].job_cause();
            self.measured.moves(cause).dropped += 1;
            self.gc.pages_read[cause.at()] -= 1;
            self.ftl.space.job_pages_done(pool, self.copy_stream(slot), 1);
            if self.gc.watches_way {
                self.give_buffer(slot);
            }
            self.gc_step_ends(pool);
            self.wake_pool(pool);
            self.end_page(slot, pool);
            return;
        }
        if in_buffer {
            self.program_from_buffer(slot);
            return;
        }
        let home = self.ops[slot].plane;
        debug_assert_eq!(home, self.ftl.geo.plane_of(source));
        let stream = self.copy_stream(slot);
        let plane = self.ftl.space.copy_plane(home, stream, &self.ftl.blocks);
        let plane = plane.expect("the pool keeps room for its job");
        let op = &mut self.ops[slot];
        op.becomes_gc_write(false);
        op.plane = plane;
        self.enqueue(slot, W_GC);
    }

    /// A page of the job is done: programmed, or found invalid before its read.
    pub(crate) fn gc_page_ends(&mut self, slot: OpSlot) {
        let pool = self.ops[slot].pool();
        if self.ops[slot].kind() == OpKind::GcWrite || self.ops[slot].ppn != Ppn::NONE {
            self.gc_step_ends(pool);
        }
        self.end_page(slot, pool);
    }

    fn end_page(&mut self, slot: OpSlot, pool: PoolId) {
        self.ops.remove(slot);
        let job = self.job(pool);
        assert!(job.in_flight > 0, "{pool:?} moves no page");
        job.in_flight -= 1;
        self.advance(pool);
    }

    /// One flash block of the victim has been erased.
    pub(crate) fn member_erased(&mut self, pool: PoolId) {
        self.gc_step_ends(pool);
        let job = self.job(pool);
        job.erases_left -= 1;
        if job.erases_left > 0 {
            return;
        }
        let job = self.gc.jobs[pool.at()].expect("it was there");
        self.ftl.finish_erase(job.victim);
        self.gc.held.let_go(pool);
        if self.gc.blocking.granularity != Granularity::Step {
            self.open(pool);
        }
        if !job.levels {
            let took = (self.now - job.since).0;
            let gc = &mut self.measured.gc;
            gc.jobs_done += 1;
            gc.job_time_ns_sum += took;
            gc.job_time_ns_max = gc.job_time_ns_max.max(took);
        }
        self.gc.jobs[pool.at()] = None;
        if !job.foreground {
            self.gc.turns.job_ends(pool);
        }
        self.gc.agenda.consider(pool);
        self.wake_pool(pool);
    }

    fn close(&mut self, pool: PoolId) {
        self.change_closings(pool, true);
    }

    fn open(&mut self, pool: PoolId) {
        self.change_closings(pool, false);
    }

    fn change_closings(&mut self, pool: PoolId, close: bool) {
        let victim = self.job(pool).victim;
        let geo = &self.ftl.geo;
        let change = |n: &mut u32| if close { *n += 1 } else { *n -= 1 };
        let planes: Vec<u32> = match self.gc.blocking.scope {
            BlockingScope::None => return,
            BlockingScope::Block => {
                change(&mut self.gc.closings);
                change(&mut self.gc.closed_blocks);
                change(&mut self.gc.block_closings[pool.at()]);
                if !close {
                    self.wake_pool(pool);
                }
                return;
            }
            BlockingScope::Plane => geo.planes_of_block(victim).map(|p| p.0).collect(),
            BlockingScope::Channel => {
                let mine: Vec<_> = geo.planes_of_block(victim).map(|p| geo.channel_of(p)).collect();
                (0..geo.planes).filter(|&p| mine.contains(&geo.channel_of(PlaneId(p)))).collect()
            }
            BlockingScope::Device => (0..geo.planes).collect(),
        };
        change(&mut self.gc.closings);
        for p in planes {
            change(&mut self.gc.closed_planes[p as usize]);
            let unit = self.ftl.geo.unit_of(PlaneId(p));
            change(&mut self.units[unit.at()].closed);
            if !close {
                self.ready.insert(unit.0);
            }
        }
        if !close {
            // Writes of other units may have waited to move here.
            self.wake_pool(pool);
        }
    }

    /// How long the units of `pool` have had no host operation.
    fn idle_for(&self, pool: PoolId) -> Option<Nanos> {
        self.gc.agenda.idle_after()?;
        self.ftl
            .geo
            .units_of_pool(pool)
            .map(|u| {
                let unit = &self.units[u as usize];
                (unit.host_load == 0).then(|| self.now - unit.idle_since)
            })
            .min()
            .flatten()
    }

    /// If the unit has no host operation left, its pools may be idle from now on.
    pub(crate) fn note_idle(&mut self, unit: usize) {
        if self.units[unit].host_load > 0 {
            return;
        }
        self.units[unit].idle_since = self.now;
        self.arm_idle_timer(unit);
    }

    /// One timer per unit: if it fires too early, it is set again.
    pub(crate) fn arm_idle_timer(&mut self, unit: usize) {
        let Some(after) = self.gc.agenda.idle_after() else { return };
        if !self.units[unit].idle_timer {
            self.units[unit].idle_timer = true;
            let at = Nanos(self.units[unit].idle_since.0 + after.0);
            self.set_timer(at.max(self.now), Timer::Idle(unit as u32));
        }
    }

    /// Consider the pools of units whose idle timer has fired.
    pub(crate) fn idle_timers(&mut self) {
        while let Some(unit) = self.gc.idle_units.pop() {
            let u = &mut self.units[unit as usize];
            u.idle_timer = false;
            if u.host_load > 0 {
                continue;
            }
            let idle = self.now - u.idle_since;
            if self.gc.agenda.idle_after().is_some_and(|after| idle < after) {
                self.arm_idle_timer(unit as usize);
                continue;
            }
            for pool in self.ftl.geo.pools_of_unit(crate::units::UnitId(unit)) {
                self.gc.agenda.consider(PoolId(pool));
            }
        }
    }

    /// Wear levelling has a page for everything it has not bound yet.
    fn audit_levelling(&self, pool: PoolId, job: &Job) -> Result<(), String> {
        let (space, geo) = (&self.ftl.space, &self.ftl.geo);
        let has = space.wear_open(pool) + space.promised(pool) * geo.pages_per_block;
        let left = u32::from(self.ftl.blocks.valid[job.victim.at()]);
        // Moves in flight may have bound their pages and not committed them.
        if has + job.in_flight < left {
            return Err(format!("{pool:?} levels {left} pages and has {has} for them"));
        }
        Ok(())
    }

    /// Jobs and blocks under collection agree.
    pub(crate) fn audit_gc(&self) -> Result<(), String> {
        use crate::ftl::blocks::BlockState;
        for p in 0..self.ftl.geo.pools {
            let collected: Vec<BlockId> = self
                .ftl
                .blocks
                .of_pool(PoolId(p))
                .filter(|b| {
                    let state = self.ftl.blocks.state[b.at()];
                    matches!(state, BlockState::Collecting | BlockState::Erasing)
                })
                .collect();
            if let Some(job) = self.gc.jobs[p as usize].filter(|job| job.levels) {
                self.audit_levelling(PoolId(p), &job)?;
            }
            let job: Vec<BlockId> = self.gc.jobs[p as usize].iter().map(|j| j.victim).collect();
            if collected != job {
                return Err(format!(
                    "pool {p}: jobs {job:?}, blocks under collection {collected:?}"
                ));
            }
        }
        let background = |p: &PoolId| self.gc.jobs[p.at()].is_some_and(|job| !job.foreground);
        self.gc.held.audit(|p| self.gc.jobs[p.at()].is_some())?;
        self.gc.turns.audit((0..self.ftl.geo.pools).map(PoolId).filter(background))
    }
}
