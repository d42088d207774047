//! The collection engine: the only place that acts on the decisions of GC policies.
//!
//! There is one job per pool: choose a victim, copy its valid pages with a window in flight, erase it. Jobs
//! start when a pool is considered, which happens at the end of an instant in which something in the pool has
//! changed.

use super::array::op::{MovedPage, Op, Work};
use super::collector::Job;
use super::collector::turn::PoolTurn;
use super::core::Core;
use super::join::Join;
use super::ssd::Ssd;
use crate::config::GcPath;
use crate::ftl::Choice;
use crate::ftl::blocks::BlockState;
use crate::ftl::gc::Demand;
use crate::ftl::gc::agenda::Next;
use crate::ftl::gc::trigger::SpaceView;
use crate::metrics::counters::Cause;
use crate::sched::order::{R_GC, R_HOST, W_GC, W_HOST};
use crate::units::{BlockId, Lpn, OpSlot, PlaneId, PoolId, UnitId};

impl Core {
    /// Promote a running background job whose pool falls to the reserve.
    fn promote(&mut self, pool: PoolId, demand: Demand) {
        let job = self.gc.jobs[pool.at()].as_mut().expect("the caller has checked");
        debug_assert_eq!(self.ftl.blocks.pool_of(job.victim), pool, "a job of another pool");
        if demand >= Demand::Urgent && !job.foreground {
            job.foreground = true;
            if !self.gc.turns.counts(true) {
                self.gc.turns.job_ends(pool, &self.array);
            }
            self.ledger.measured.gc.reserve_promotions += u64::from(demand == Demand::Reserve);
            self.wake_pool(pool);
        }
    }

    fn count_victim(&mut self, choice: Choice, foreground: bool) {
        let pool = self.ftl.blocks.pool_of(choice.block);
        let unmet = self.gc.agenda.is_unmet(&self.ftl, pool);
        let gc = &mut self.ledger.measured.gc;
        gc.calls += 1;
        gc.victims.unmet += u64::from(unmet);
        if foreground {
            gc.foreground += 1
        } else {
            gc.background += 1
        }
        debug_assert_eq!(gc.calls, gc.foreground + gc.background, "a victim of neither kind");
        if choice.by_reserve {
            gc.victims.reserve_greedy += 1
        } else {
            gc.victims.policy += 1;
            gc.victims.decided += u64::from(!unmet);
        }
        debug_assert_eq!(
            gc.calls,
            gc.victims.policy + gc.victims.reserve_greedy,
            "nobody chose it"
        );
        let valid = u32::from(self.ftl.blocks.valid[choice.block.at()]);
        debug_assert!(valid <= self.ftl.geo.pages_per_block, "{choice:?} has {valid} valid pages");
        gc.victim_valid_sum += u64::from(valid);
        gc.victim_pages_sum += u64::from(self.ftl.geo.pages_per_block);
        self.ledger.measured.victim_invalid.record(u64::from(self.ftl.geo.pages_per_block - valid));
    }

    /// The frontier of the copies of jobs with `cause`.
    #[inline(always)]
    pub(crate) fn copy_stream(&self, cause: Cause) -> u32 {
        let space = &self.ftl.space;
        if cause == Cause::Wear { space.wear_stream() } else { space.gc_stream() }
    }

    /// The frontier of the copy of a page on `home`. It may change while the copy waits, if it is that of a class.
    #[inline(always)]
    pub(crate) fn frontier_of_copy<const FULL: bool>(
        &self,
        home: PlaneId,
        moved: MovedPage,
    ) -> u32 {
        if FULL && !moved.levels() && self.ftl.separates() {
            debug_assert_eq!(self.ftl.geo.pool_of(home), moved.pool, "a copy leaves its pool");
            return self.ftl.space.class_with_page(home, u32::from(moved.class));
        }
        self.copy_stream(if FULL { moved.cause } else { Cause::Gc })
    }

    /// Keep the window full; when nothing is left to copy, queue the erase. The page in slot `spare` is
    /// done, and the slot moves the next one.
    #[inline(always)]
    fn advance<const FULL: bool>(&mut self, pool: PoolId, mut spare: Option<OpSlot>) {
        let window = self.gc.window;
        let mut job = self.gc.jobs[pool.at()].as_mut().expect("the pool has a job");
        if spare.is_some() {
            assert!(job.in_flight > 0, "{pool:?} moves no page");
            job.in_flight -= 1;
        }
        debug_assert!(job.in_flight <= window, "{pool:?} moves more pages than its window holds");
        debug_assert!(job.scan <= self.ftl.geo.pages_per_block, "{pool:?} scans another block");
        while job.in_flight < window && job.erases.is_done() {
            let (victim, cause) = (job.victim, if FULL { job.cause } else { Cause::Gc });
            let Some(source) = self.ftl.next_valid(victim, job.scan) else {
                let moved_all = job.in_flight == 0;
                spare.into_iter().for_each(|slot| self.array.ops.remove(slot));
                if moved_all {
                    self.queue_erase(pool, victim);
                }
                return;
            };
            debug_assert!(
                self.ftl.blocks.state[victim.at()] == BlockState::Collecting,
                "{victim:?} is not being collected"
            );
            job.scan = source.0 - self.ftl.geo.first_page(victim).0 + 1;
            job.in_flight += 1;
            let last = job.in_flight == window;
            let separates = FULL && cause != Cause::Wear && self.ftl.separates();
            let class = if separates { self.ftl.class_of_copy(source) } else { 0 };
            let moved = MovedPage { pool, source, cause, in_buffer: false, class };
            let path = if FULL && cause == Cause::Fold { self.gc.fold_path } else { self.gc.path };
            let work = match path {
                GcPath::Copyback if FULL => Work::GcCopyback(moved),
                _ => Work::GcRead(moved),
            };
            let lpn = self.ftl.flash.lpn(source);
            self.ftl.owners.prefetch(lpn);
            let plane = if FULL { self.ftl.geo.plane_of(source) } else { PlaneId(pool.0) };
            if let Some(slot) = spare.take() {
                let next = |op: &mut Op| op.becomes_next_move(work, lpn, plane);
                self.enqueue_for_job::<FULL>(slot, plane, R_GC, next);
            } else {
                let slot = self.array.ops.insert(Op::new(work, lpn, plane, self.array.now));
                self.enqueue_for_job::<FULL>(slot, plane, R_GC, |_| ());
            }
            if last {
                break;
            }
            job = self.gc.job(pool);
        }
        if let Some(slot) = spare {
            self.array.ops.remove(slot);
        }
    }

    /// Queue the operation of a job in `slot` on the unit of its plane. In the plain loop that unit is awake: an
    /// operation on it has ended at this instant, or it is being dispatched. `change` as in
    /// [`super::array::Array::enqueue_on`].
    #[inline(always)]
    pub(super) fn enqueue_for_job<const FULL: bool>(
        &mut self,
        slot: OpSlot,
        plane: PlaneId,
        queue: usize,
        change: impl FnOnce(&mut Op),
    ) {
        if FULL {
            let unit = self.ftl.geo.unit_of(plane);
            self.array.enqueue_on(unit, slot, queue, false, change);
            self.array.wake_if_idle(unit);
        } else {
            debug_assert_eq!(
                self.ftl.geo.unit_of(plane),
                UnitId(plane.0),
                "a unit of several planes"
            );
            self.array.enqueue_on(UnitId(plane.0), slot, queue, false, change);
        }
    }

    #[inline(never)]
    fn queue_erase(&mut self, pool: PoolId, victim: BlockId) {
        self.ftl.begin_erase(victim);
        let members = self.ftl.geo.members;
        let job = self.gc.job(pool);
        assert_eq!(job.victim, victim, "{pool:?} erases the block of another job");
        assert_eq!(job.in_flight, 0, "{victim:?} is erased while its pages move");
        assert!(job.erases.is_done(), "{victim:?} is erased twice");
        job.erases = Join::of(members);
        let cause = job.cause;
        for plane in self.ftl.geo.planes_of_block(victim) {
            let first = self.ftl.geo.page_on(victim, plane, 0);
            let work = Work::Erase { pool, first, cause };
            let slot = self.array.ops.insert(Op::new(work, Lpn::NONE, plane, self.array.now));
            self.enqueue(slot, W_GC);
        }
        self.wake_pool(pool);
    }

    /// Drop the page that `slot` has read, which no longer has an owner.
    #[inline(never)]
    pub(crate) fn drop_page(&mut self, slot: OpSlot, MovedPage { pool, cause, .. }: MovedPage) {
        assert!(self.gc.pages_read[cause.at()] > 0, "{pool:?} drops a page that was not read");
        self.ledger.measured.moves(cause).dropped += 1;
        self.gc.pages_read[cause.at()] -= 1;
        self.ftl.space.job_pages_done(pool, self.copy_stream(cause), 1);
        if self.gc.watches_way {
            self.array.give_buffer(&self.ftl.geo, slot);
        }
        self.gc.step_ends(pool, &self.ftl.geo, &mut self.array);
        self.wake_pool(pool);
        self.end_page::<true>(slot, pool);
    }

    /// Note that a page of the job is done: programmed, or found without an owner before that.
    #[inline(always)]
    pub(crate) fn end_page<const FULL: bool>(&mut self, slot: OpSlot, pool: PoolId) {
        debug_assert!(self.gc.collects(pool), "{slot:?} moves a page of {pool:?} without a job");
        self.advance::<FULL>(pool, Some(slot));
    }

    /// End the job of `pool`, whose chip has failed before the erase of its victim has begun.
    #[inline(never)]
    pub(crate) fn job_is_off(&mut self, pool: PoolId) {
        assert!(self.ftl.pool_is_dead(pool), "the job of {pool:?} ends before its erase");
        let job = self.gc.job(pool);
        // A pool with parity has one plane.
        job.erases = Join::default();
        let victim = job.victim;
        self.ftl.give_up_erase(victim);
        self.gc.job_ends(pool, &self.ftl.geo, &mut self.array);
        self.wake_pool(pool);
    }
}

impl Ssd {
    /// Consider every pool that has changed, then those that the concurrency rule has made wait.
    #[inline(never)]
    pub(crate) fn consider_collection(&mut self) {
        self.core.gc.agenda.watch_device(&self.core.ftl);
        self.core.gc.turns.end_drained(&self.core.array);
        while let Some(pool) = self.core.gc.agenda.pop() {
            self.consider(pool, false);
        }
        for _ in 0..self.core.gc.turns.waiting() {
            let Core { gc, ftl, array, .. } = &mut self.core;
            let Some(pool) = gc.turns.next_in_turn(ftl, array) else { break };
            self.consider(pool, true);
        }
        debug_assert!(
            self.core.gc.turns.waiting() <= self.core.gc.jobs.len(),
            "a pool waits twice"
        );
        self.core.ledger.measured.gc.deferred += self.core.gc.turns.count_deferred();
    }

    /// Promote the job of `pool`, or do what is next if it has none; `in_turn`: whether the pool has waited for its
    /// turn.
    fn consider(&mut self, pool: PoolId, in_turn: bool) {
        let mut view = SpaceView {
            idle_for: self.core.gc.idle_for(pool, &self.core.ftl.geo, &self.core.array),
            ..self.core.ftl.space_view(pool)
        };
        if self.core.gc.agenda.watches_requests() {
            (view.read_waits, view.write_waits) = self.waits_for(pool);
        }
        let idle = view.idle_for.unwrap_or_default();
        debug_assert!(idle <= self.core.array.now, "{pool:?} was idle before time began");
        if self.core.gc.jobs[pool.at()].is_some() {
            self.core.promote(pool, self.core.gc.agenda.demand(&view));
            return;
        }
        if self.core.ftl.pool_is_dead(pool) {
            return;
        }
        let gc = &mut self.core.gc;
        let turn = PoolTurn { turns: &gc.turns, array: &self.core.array, in_turn };
        match gc.agenda.next(&mut self.core.ftl, &view, &turn) {
            Next::Collect(choice, demand) => self.start_job(pool, choice, demand),
            Next::Wait => gc.turns.wait(pool),
            Next::Nothing => self.give_up_if_worn_out(pool, &view),
        }
    }

    /// Give up a worn-out `pool` at its reserve that has no victim: nothing will make room in it any more.
    fn give_up_if_worn_out(&mut self, pool: PoolId, view: &SpaceView) {
        let at_reserve = || self.core.gc.agenda.demand(view) == Demand::Reserve;
        let at_its_end = self.core.gc.agenda.is_starved(pool) && self.core.ftl.is_worn_out(pool);
        if at_its_end && at_reserve() && self.host_waits_for(pool) {
            let end = super::no_room::worn_out(&self.core.ftl, pool);
            self.core.fail(end);
        }
    }

    /// Whether a host read, and whether a host write, waits on the units of `pool` or for its room.
    fn waits_for(&self, pool: PoolId) -> (bool, bool) {
        let waiting = |queue: usize| {
            let mut units = self.core.ftl.geo.units_of_pool(pool);
            units.any(|unit| self.core.array.units[unit as usize].head(queue) != OpSlot::NONE)
        };
        let for_room =
            || self.raid.as_ref().is_some_and(|raid| raid.waits_for(&self.core.ftl, pool));
        debug_assert!(pool.0 < self.core.ftl.geo.pools, "there is no {pool:?}");
        (waiting(R_HOST), waiting(W_HOST) || for_room())
    }

    /// Whether a write of the host waits for room in `pool`.
    fn host_waits_for(&self, pool: PoolId) -> bool {
        if self.raid.as_ref().is_some_and(|raid| raid.waits_for(&self.core.ftl, pool)) {
            return true;
        }
        self.core.ftl.geo.units_of_pool(pool).any(|unit| {
            let mut queued =
                self.core.array.ops.linked(self.core.array.units[unit as usize].head(W_HOST));
            queued.any(|slot| self.core.ftl.geo.pool_of(self.core.array.ops[slot].plane) == pool)
        })
    }

    fn start_job(&mut self, pool: PoolId, choice: Choice, demand: Demand) {
        let block = choice.block;
        let foreground = demand >= Demand::Urgent;
        assert!(!self.core.gc.collects(pool), "{pool:?} has a job already");
        assert_eq!(self.core.ftl.blocks.pool_of(block), pool, "{block:?} of another pool");
        assert!(!(choice.levels && foreground), "wear levelling of {pool:?} goes before the host");
        let cause = Cause::of_job(choice.levels, self.core.ftl.blocks.is_slc(block));
        match cause {
            Cause::Wear => self.core.ledger.measured.wear.calls += 1,
            Cause::Fold => self.core.ledger.measured.slc.count_fold(foreground),
            _ => self.core.count_victim(choice, foreground),
        }
        if !foreground {
            let deferred = self.core.gc.agenda.watches_requests() && !choice.levels;
            self.core.ledger.measured.raid.deferred_gcs += u64::from(deferred);
        }
        if self.core.gc.turns.counts(foreground) {
            self.core.gc.turns.job_begins(pool);
        }
        self.core.ftl.begin_collection(choice);
        assert_eq!(
            self.core.ftl.blocks.state[block.at()],
            BlockState::Collecting,
            "{block:?} is in use"
        );
        self.core.ftl.prefetch_block(block);
        // The low half says that a job starts: no kind of operation has this number.
        self.core.ledger.note(
            self.core.array.now,
            u64::from(block.0),
            u64::from(pool.0) << 32 | 0xc0,
        );
        self.core.gc.jobs[pool.at()] = Some(Job {
            victim: block,
            scan: 0,
            in_flight: 0,
            erases: Join::default(),
            foreground,
            cause,
            since: self.core.array.now,
        });
        self.core.gc.job_begins(pool, &self.core.ftl.geo, &mut self.core.array);
        // A job may need less room than has been reserved for any job.
        self.core.wake_pool(pool);
        self.core.advance::<true>(pool, None);
        if self.raid.as_ref().is_some_and(|raid| raid.can_avoid_chips()) {
            self.reads_avoid_collection(pool);
        }
    }

    /// Note that one flash block of the victim has been erased.
    pub(crate) fn member_erased(&mut self, pool: PoolId) {
        self.core.gc.step_ends(pool, &self.core.ftl.geo, &mut self.core.array);
        let job = self.core.gc.job(pool);
        assert_eq!(job.in_flight, 0, "{pool:?} erases while pages move");
        if !job.erases.part_ends() {
            return;
        }
        let victim = job.victim;
        self.core.ftl.finish_erase(victim);
        if let Some(power) = &mut self.power {
            power.forget_victim(&self.core, victim);
        }
        let job = self.core.gc.job_ends(pool, &self.core.ftl.geo, &mut self.core.array);
        if job.cause == Cause::Gc {
            let took = (self.core.array.now - job.since).0;
            let gc = &mut self.core.ledger.measured.gc;
            gc.jobs_done += 1;
            gc.job_time_ns_sum += took;
            gc.job_time_ns_max = gc.job_time_ns_max.max(took);
        }
        self.core.gc.agenda.consider(pool);
        self.core.wake_pool(pool);
    }
}
