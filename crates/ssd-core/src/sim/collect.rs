//! The collection engine: the only place that acts on what GC policies decide.
//!
//! There is one job per pool: choose a victim, copy its valid pages with a window in flight, erase it. Jobs
//! start when a pool is considered, which happens at the end of an instant in which something in the pool has
//! changed.

use super::array::op::{Moved, Op, OpKind, Work};
use super::collector::Job;
use super::collector::turn::InTurn;
use super::join::Join;
use super::ssd::Ssd;
use crate::config::GcPath;
use crate::ftl::Choice;
use crate::ftl::gc::Demand;
use crate::ftl::gc::agenda::Next;
use crate::ftl::gc::trigger::SpaceView;
use crate::sched::order::{R_GC, W_GC, W_HOST};
use crate::units::{BlockId, Lpn, OpSlot, PoolId, Ppn};

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
        self.ledger.measured.gc.deferred += self.gc.turns.count_deferred();
    }

    /// Promote the job of `pool`, or do what is next if it has none; `in_turn`: the pool has waited for its turn.
    fn consider(&mut self, pool: PoolId, in_turn: bool) {
        let view = SpaceView {
            idle_for: self.gc.idle_for(pool, &self.ftl.geo, &self.array),
            ..self.ftl.space_view(pool)
        };
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
            let first = self.array.units[unit as usize].head(W_HOST);
            let waiting = |slot: OpSlot| (slot != OpSlot::NONE).then_some(slot);
            std::iter::successors(waiting(first), |&slot| waiting(self.array.ops[slot].next))
                .any(|slot| self.ftl.geo.pool_of(self.array.ops[slot].plane) == pool)
        })
    }

    /// A running background job is promoted when its pool falls to the reserve.
    fn promote(&mut self, pool: PoolId, demand: Demand) {
        let job = self.gc.jobs[pool.at()].as_mut().expect("the caller has checked");
        if demand >= Demand::Urgent && !job.foreground {
            job.foreground = true;
            self.gc.turns.job_ends(pool);
            self.ledger.measured.gc.reserve_promotions += u64::from(demand == Demand::Reserve);
            for unit in self.ftl.geo.units_of_pool(pool) {
                self.array.ready.insert(unit);
            }
        }
    }

    fn start_job(&mut self, pool: PoolId, choice: Choice, demand: Demand) {
        let block = choice.block;
        let foreground = demand >= Demand::Urgent;
        if choice.levels {
            self.ledger.measured.wear.calls += 1;
        } else {
            self.count_victim(choice, foreground);
        }
        if !foreground {
            self.gc.turns.job_begins(pool);
        }
        self.ftl.begin_collection(choice);
        self.ftl.prefetch_block(block);
        self.ledger.note(self.array.now, u64::from(block.0), u64::from(pool.0) << 32 | 0xc0);
        self.gc.jobs[pool.at()] = Some(Job {
            victim: block,
            scan: 0,
            in_flight: 0,
            erases: Join::default(),
            foreground,
            levels: choice.levels,
            since: self.array.now,
        });
        self.gc.job_begins(pool, &self.ftl.geo, &mut self.array);
        // A job may need less room than has been reserved for any job.
        self.wake_pool(pool);
        self.advance(pool);
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
        if choice.by_reserve {
            gc.victims.reserve_greedy += 1
        } else {
            gc.victims.policy += 1;
            gc.victims.decided += u64::from(!unmet);
        }
        let valid = u32::from(self.ftl.blocks.valid[choice.block.at()]);
        gc.victim_valid_sum += u64::from(valid);
        gc.victim_pages_sum += u64::from(self.ftl.geo.pages_per_block);
        self.ledger.measured.victim_invalid.record(u64::from(self.ftl.geo.pages_per_block - valid));
    }

    /// The frontier to which the copy in `slot` goes.
    #[inline(always)]
    pub(crate) fn copy_stream(&self, slot: OpSlot) -> u32 {
        let space = &self.ftl.space;
        if self.array.ops[slot].levels() { space.wear_stream() } else { space.gc_stream() }
    }

    /// Keep the window full; when nothing is left to copy, queue the erase.
    fn advance(&mut self, pool: PoolId) {
        loop {
            let window = self.gc.window;
            let job = *self.gc.job(pool);
            let levels = job.levels;
            if job.in_flight >= window || !job.erases.is_done() {
                return;
            }
            let Some(source) = self.ftl.next_valid(job.victim, job.scan) else {
                if job.in_flight == 0 {
                    self.queue_erase(pool, job.victim);
                }
                return;
            };
            let page = source.0 - self.ftl.geo.first_page(job.victim).0;
            let job = self.gc.job(pool);
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
            let slot = self.array.ops.insert(Op::new(work, lpn, plane, self.array.now));
            self.enqueue(slot, R_GC);
        }
    }

    fn queue_erase(&mut self, pool: PoolId, victim: BlockId) {
        self.ftl.begin_erase(victim);
        let members = self.ftl.geo.members;
        let job = self.gc.job(pool);
        job.erases = Join::of(members);
        let levels = job.levels;
        for plane in self.ftl.geo.planes_of_block(victim) {
            let first = self.ftl.geo.page_on(victim, plane, 0);
            let work = Work::Erase { pool, first, levels };
            let slot = self.array.ops.insert(Op::new(work, Lpn::NONE, plane, self.array.now));
            self.enqueue(slot, W_GC);
        }
        self.wake_pool(pool);
    }

    /// A GC page is in the controller and decoded: program it, or drop it if it no longer has an owner.
    pub(crate) fn gc_decoded(&mut self, slot: OpSlot) {
        let Moved { source, pool, in_buffer, .. } = *self.array.ops[slot].moved();
        if !self.ftl.owners.is_valid(source) {
            let cause = self.array.ops[slot].job_cause();
            self.ledger.measured.moves(cause).dropped += 1;
            self.gc.pages_read[cause.at()] -= 1;
            self.ftl.space.job_pages_done(pool, self.copy_stream(slot), 1);
            if self.gc.watches_way {
                self.array.give_buffer(&self.ftl.geo, slot);
            }
            self.gc.step_ends(pool, &self.ftl.geo, &mut self.array);
            self.wake_pool(pool);
            self.end_page(slot, pool);
            return;
        }
        if in_buffer {
            self.program_from_buffer(slot);
            return;
        }
        let home = self.array.ops[slot].plane;
        debug_assert_eq!(home, self.ftl.geo.plane_of(source));
        let stream = self.copy_stream(slot);
        let plane = self.ftl.space.copy_plane(home, stream, &self.ftl.blocks);
        let plane = plane.expect("the pool keeps room for its job");
        let op = &mut self.array.ops[slot];
        op.becomes_gc_write(false);
        op.plane = plane;
        self.enqueue(slot, W_GC);
    }

    /// A page of the job is done: programmed, or found invalid before its read.
    #[inline(always)]
    pub(crate) fn gc_page_ends(&mut self, slot: OpSlot) {
        let pool = self.array.ops[slot].pool();
        if self.array.ops[slot].kind() == OpKind::GcWrite || self.array.ops[slot].ppn != Ppn::NONE {
            self.gc.step_ends(pool, &self.ftl.geo, &mut self.array);
        }
        self.end_page(slot, pool);
    }

    #[inline(always)]
    fn end_page(&mut self, slot: OpSlot, pool: PoolId) {
        self.array.ops.remove(slot);
        let job = self.gc.job(pool);
        assert!(job.in_flight > 0, "{pool:?} moves no page");
        job.in_flight -= 1;
        self.advance(pool);
    }

    /// One flash block of the victim has been erased.
    pub(crate) fn member_erased(&mut self, pool: PoolId) {
        self.gc.step_ends(pool, &self.ftl.geo, &mut self.array);
        let job = self.gc.job(pool);
        if !job.erases.part_ends() {
            return;
        }
        self.ftl.finish_erase(job.victim);
        let job = self.gc.job_ends(pool, &self.ftl.geo, &mut self.array);
        if !job.levels {
            let took = (self.array.now - job.since).0;
            let gc = &mut self.ledger.measured.gc;
            gc.jobs_done += 1;
            gc.job_time_ns_sum += took;
            gc.job_time_ns_max = gc.job_time_ns_max.max(took);
        }
        self.gc.agenda.consider(pool);
        self.wake_pool(pool);
    }
}
