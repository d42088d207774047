//! The instances of a job file as clients of a device.

use super::instance::Instance;
use super::job::Job;
use super::kinds::ExitScope;
use ssd_core::host::request::{Op, TimedRequest};
use ssd_core::host::source::{Clients, Source, SourceError};
use ssd_core::units::Nanos;
use std::collections::{BTreeMap, BTreeSet};

/// Requests of a job file. They depend only on the file, the device, the seed and the answers of the device.
pub struct FioSource {
    instances: Vec<Instance>,
    /// For each instance: its entries in the two sets below, and its turns so far.
    entries: Vec<Entry>,
    /// Times at which instances continue without a completion.
    timers: BTreeSet<(u64, usize)>,
    /// Instances that submit now, the one with the fewest turns first.
    ready: BTreeSet<(u64, usize)>,
    /// Turns of the ready instances so far.
    turn: u64,
    /// Instances of outstanding requests, and whether the request is a flush.
    outstanding: BTreeMap<u64, (usize, bool)>,
    arrived: u64,
    /// Instances with completions in this instant, which they process together.
    completed: Vec<usize>,
    /// For each job: its group of reports, and which jobs end with it.
    ends: Vec<(usize, Option<ExitScope>)>,
    /// Time on a device that takes none, and why such a device is refused.
    now: u64,
    needs_time: Option<SourceError>,
    /// Whether a job without a pace repeats until its time is over.
    is_endless: bool,
    /// The latest time, and the number of requests that had arrived before it.
    latest: u64,
    earlier: u64,
    /// No instance has begun yet.
    is_new: bool,
}

#[derive(Clone, Copy, Default)]
struct Entry {
    timer: Option<u64>,
    ready: Option<u64>,
    turns: u64,
}

/// Turns per request of an instance with a depth of 1; deeper instances get as many turns as their depth.
const TURN: u64 = 1 << 32;
/// Maximum number of requests at one time, beyond which a job that repeats until its time is over stands still.
const STANDSTILL: u64 = 1 << 22;

impl FioSource {
    /// Creates the clients `instances` of `jobs`.
    pub(super) fn new(
        instances: Vec<Instance>,
        jobs: &[Job],
        needs_time: Option<SourceError>,
    ) -> FioSource {
        // `exitall` in one job applies to all jobs.
        let exits = jobs.iter().any(|job| job.exit_all);
        let mut group = 0;
        let ends = jobs.iter().map(|job| {
            group += usize::from(job.waits || job.new_group);
            (group, exits.then_some(job.exit_what))
        });
        FioSource {
            entries: vec![Entry::default(); instances.len()],
            ends: ends.collect(),
            instances,
            timers: BTreeSet::new(),
            ready: BTreeSet::new(),
            turn: 0,
            outstanding: BTreeMap::new(),
            arrived: 0,
            completed: Vec::new(),
            now: 0,
            needs_time,
            is_endless: jobs.iter().any(|job| job.time_based && job.pacing.is_timeless(job.mix)),
            latest: 0,
            earlier: 0,
            is_new: true,
        }
    }

    /// Advances instance `at`; instances that wait for its end begin.
    fn advance(&mut self, at: usize, now: u64) {
        let had_ended = self.instances[at].has_ended();
        self.instances[at].advance(now);
        self.enter(at);
        if !had_ended && self.instances[at].has_ended() {
            self.exit(at, now);
            self.unblock(now);
        }
    }

    /// Updates the timer and the turn of instance `at` by its state.
    fn enter(&mut self, at: usize) {
        let (entry, instance) = (&mut self.entries[at], &self.instances[at]);
        if entry.timer != instance.due() {
            if let Some(due) = entry.timer {
                self.timers.remove(&(due, at));
            }
            entry.timer = instance.due();
            self.timers.extend(entry.timer.map(|due| (due, at)));
        }
        if entry.ready.is_some() != instance.is_ready() {
            if let Some(turns) = entry.ready.take() {
                self.ready.remove(&(turns, at));
            } else {
                // Turns missed while it was not ready are not made up for.
                entry.turns = entry.turns.max(self.turn);
                entry.ready = Some(entry.turns);
                self.ready.insert((entry.turns, at));
            }
        }
    }

    /// Checks that time advances if a job repeats until its time is over.
    ///
    /// # Errors
    /// More than [`STANDSTILL`] requests have arrived at one time.
    fn check_time_advances(&mut self, now: u64) -> Result<(), SourceError> {
        if now > self.latest {
            (self.latest, self.earlier) = (now, self.arrived);
        }
        if !self.is_endless || self.arrived - self.earlier <= STANDSTILL {
            return Ok(());
        }
        Err(SourceError(format!(
            "more than {STANDSTILL} requests have arrived at one time ({now} ns), so that a job with time_based never \
             ends: reads of pages that were never written take no time; fill the drive (--set precondition.fill=1), or \
             let another job write the file first"
        )))
    }

    /// Ends the jobs that `exitall` names after instance `at` has ended.
    fn exit(&mut self, at: usize, now: u64) {
        let (group, scope) = self.ends[self.instances[at].job];
        let Some(scope) = scope else { return };
        for index in 0..self.instances.len() {
            let instance = &mut self.instances[index];
            let is_named = match scope {
                ExitScope::All => true,
                ExitScope::Group => self.ends[instance.job].0 == group,
                ExitScope::Stonewall => instance.is_running(),
            };
            if is_named && !instance.has_ended() {
                instance.terminate();
                instance.advance(now);
                self.enter(index);
            }
        }
    }

    /// Starts blocked instances whose predecessors have ended, until there are none.
    fn unblock(&mut self, now: u64) {
        let ended = |instances: &[Instance], matches: &dyn Fn(&Instance) -> bool| {
            instances.iter().filter(|instance| matches(instance)).all(Instance::has_ended)
        };
        for at in 0..self.instances.len() {
            let instance = &self.instances[at];
            if !instance.is_blocked() {
                continue;
            }
            let (group, awaited) = (instance.group, instance.waits_for);
            let is_free = ended(&self.instances, &|candidate| candidate.group < group)
                && awaited
                    .is_none_or(|job| ended(&self.instances, &|candidate| candidate.job == job));
            if is_free {
                self.instances[at].unblock(now);
                self.advance(at, now);
            }
        }
    }
}

impl Clients for FioSource {
    fn arrive(&mut self, now: Nanos) -> Result<Option<TimedRequest>, SourceError> {
        let now = now.0;
        self.check_time_advances(now)?;
        if std::mem::take(&mut self.is_new) {
            self.unblock(now);
        }
        for at in std::mem::take(&mut self.completed) {
            self.advance(at, now);
        }
        while let Some(&(due, at)) = self.timers.first().filter(|timer| timer.0 <= now) {
            debug_assert_eq!(self.entries[at].timer, Some(due), "a timer of another state");
            self.advance(at, now);
        }
        while let Some(&(turns, at)) = self.ready.first() {
            self.turn = turns;
            self.entries[at].turns = turns + TURN / self.instances[at].depth().min(TURN);
            let submitted = self.instances[at].submit(now);
            if let Some((_, request)) = submitted {
                self.outstanding.insert(self.arrived, (at, request.op == Op::Flush));
                self.arrived += 1;
            }
            self.enter(at);
            self.advance(at, now);
            if let Some((intended, request)) = submitted {
                return Ok(Some(TimedRequest { at: Nanos(intended), request }));
            }
        }
        Ok(None)
    }

    fn due(&mut self) -> Option<Nanos> {
        self.timers.first().map(|timer| Nanos(timer.0))
    }

    fn completed(&mut self, number: u64) {
        let Some((at, is_flush)) = self.outstanding.remove(&number) else {
            unreachable!("request {number} completes once");
        };
        self.instances[at].completed(is_flush);
        self.completed.push(at);
    }
}

impl Source for FioSource {
    /// Returns the next request on a device that takes no time.
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        if let Some(error) = &self.needs_time {
            return Err(error.clone());
        }
        loop {
            if let Some(next) = self.arrive(Nanos(self.now))? {
                self.completed(self.arrived - 1);
                return Ok(Some(next));
            }
            match self.due() {
                Some(due) => self.now = due.0,
                None => return Ok(None),
            }
        }
    }

    fn clients(&mut self) -> Option<&mut dyn Clients> {
        Some(self)
    }
}
