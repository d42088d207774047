//! Clients: each starts its next operation when the last one is done. Writers form groups like LevelDB's.

use super::{Acknowledged, Activity, Event, FIRST_CLIENT, HostError, Machine, RecordEntry};
use ssd_kv::{ReadOptions, WriteBatch, WriteRoom};
use ssd_trace::keys::KeyOp;
use std::collections::VecDeque;

/// LevelDB: a write that should slow down sleeps once for a millisecond.
const SLOW_NS: u64 = 1_000_000;
/// LevelDB: the largest group, and how much a group that begins small may grow.
const GROUP: usize = 1 << 20;
const SMALL: usize = 128 << 10;

/// What a client does next.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Next {
    /// Take an operation.
    #[default]
    Take,
    /// The operation is done.
    Finish,
    /// Queue up for a write.
    Write,
    /// First of the writers: asks for room. The flag says whether it may still be slowed.
    Ask(bool),
    /// The group is in the log.
    Apply,
}

/// A client.
#[derive(Default)]
pub(super) struct Client {
    next: Next,
    op: Option<KeyOp>,
    began: u64,
    /// The number of the write, from 1 on; 0 for a read.
    write: u64,
    /// Whether its write is to be durable.
    sync: bool,
    batch: WriteBatch,
    /// When it began to wait for background work.
    parked_at: Option<u64>,
}

/// Clients with a write, in order; the first one leads.
#[derive(Default)]
pub(super) struct Writers {
    queue: VecDeque<usize>,
    /// The batch in the log, and its number of writers.
    group: WriteBatch,
    members: usize,
    /// Writes so far.
    pub(super) begun: u64,
    /// The leader, while it waits for background work.
    pub(super) parked: Option<usize>,
}

impl Machine {
    /// Take the next step of a client; false if it waits.
    pub(super) fn client(&mut self, actor: usize) -> Result<bool, HostError> {
        let at = actor - FIRST_CLIENT;
        match self.clients[at].next {
            Next::Take => self.take(actor),
            Next::Finish => {
                self.finish(actor);
                Ok(true)
            }
            Next::Write => {
                self.writers.queue.push_back(actor);
                self.clients[at].next = Next::Ask(true);
                let leads = self.writers.queue.len() == 1;
                self.actors[actor].waits = !leads;
                if !leads {
                    self.enter(actor, Activity::Group);
                }
                Ok(leads)
            }
            Next::Ask(may_slow) => self.ask(actor, may_slow),
            Next::Apply => self.apply(),
        }
    }

    fn take(&mut self, actor: usize) -> Result<bool, HostError> {
        let at = actor - FIRST_CLIENT;
        let next = if self.stopping { None } else { self.workload.next_operation() };
        let Some((request, key)) = next else {
            self.at_rest += 1;
            self.enter(actor, Activity::Idle);
            return Ok(false);
        };
        self.clients[at].op = Some(request.op);
        self.clients[at].began = self.now;
        let costs = self.settings.costs;
        if matches!(request.op, KeyOp::Read | KeyOp::ReadModifyWrite) {
            self.fs.cpu(costs.read);
            let answer = self.db().get(&key, ReadOptions::default(), None)?;
            self.measured.count_lookup(answer.is_some());
        }
        if request.op == KeyOp::Scan {
            self.fs.cpu(costs.seek);
            let mut iter = self.db().iter(ReadOptions::default(), None)?;
            iter.seek(&key)?;
            for _ in 0..request.scan {
                if !iter.valid() {
                    break;
                }
                self.fs.cpu(costs.next);
                iter.next()?;
            }
        }
        let reads = matches!(request.op, KeyOp::Read | KeyOp::Scan);
        self.clients[at].next = if reads { Next::Finish } else { Next::Write };
        (self.clients[at].write, self.clients[at].sync) = (0, false);
        if !reads {
            let batch = &mut self.clients[at].batch;
            batch.clear();
            if request.op == KeyOp::Delete {
                batch.delete(&key);
            } else {
                let value = self.workload.values();
                let value = value.value(self.measured.versions, request.value_bytes as usize);
                batch.put(&key, value);
                self.measured.wrote(key.len() + value.len());
            }
            self.writers.begun += 1;
            let every = self.settings.sync_every;
            self.clients[at].write = self.writers.begun;
            self.clients[at].sync = every > 0 && self.writers.begun.is_multiple_of(every);
        }
        self.take_nodes(actor);
        if self.db().has_work() {
            self.wake_background();
        }
        Ok(true)
    }

    fn finish(&mut self, actor: usize) {
        let (at_ns, at) = (self.now, actor - FIRST_CLIENT);
        let client = &mut self.clients[at];
        client.next = Next::Take;
        let (began_ns, write, sync) = (client.began, client.write, client.sync);
        if let Some(op) = client.op.take() {
            self.measured.finished(op, began_ns, at_ns);
            if write > 0 && self.settings.cut_ns.is_some() {
                self.acknowledged.push(Acknowledged { number: write, sync, at_ns });
            }
            self.note_event(RecordEntry::Ended { at_ns, client: at, op, began_ns, write, sync });
        }
    }

    /// Ask for room as the leader, and write the group to the log if there is room.
    fn ask(&mut self, actor: usize, may_slow: bool) -> Result<bool, HostError> {
        let at = actor - FIRST_CLIENT;
        debug_assert_eq!(self.writers.queue.front(), Some(&actor), "only the first one leads");
        let last_seen = self.last_seen;
        let before = self.db().backlog();
        let room = self.db_mut().ask_room(may_slow, last_seen)?;
        let after = self.db().backlog();
        if after.full && !before.full {
            self.wake_background();
        }
        match room {
            WriteRoom::Slow => {
                self.measured.slowed(SLOW_NS);
                self.enter(actor, Activity::Slowed);
                self.clients[at].next = Next::Ask(false);
                self.actors[actor].waits = true;
                self.at(self.now + SLOW_NS, Event::Awake(actor));
                self.wake_background();
                Ok(false)
            }
            WriteRoom::Wait => {
                self.clients[at].parked_at.get_or_insert(self.now);
                self.actors[actor].waits = true;
                self.writers.parked = Some(actor);
                self.enter(actor, Activity::Stopped);
                self.clients[at].next = Next::Ask(may_slow);
                self.wake_background();
                Ok(false)
            }
            WriteRoom::Ready => {
                if let Some(since) = self.clients[at].parked_at.take() {
                    self.measured.stopped(since, self.now);
                }
                self.log_group()?;
                self.clients[at].next = Next::Apply;
                self.take_nodes(actor);
                Ok(true)
            }
        }
    }

    /// Log the batches of the first writers as one.
    fn log_group(&mut self) -> Result<(), HostError> {
        let mut group = std::mem::take(&mut self.writers.group);
        group.clear();
        let (mut members, mut size) = (0, 0);
        let (mut most, mut sync) = (GROUP, false);
        for &writer in &self.writers.queue {
            let client = &self.clients[writer - FIRST_CLIENT];
            let batch = &client.batch;
            size += batch.size();
            if members == 0 {
                sync = client.sync;
                if batch.size() <= SMALL {
                    most = batch.size() + SMALL;
                }
            } else if client.sync && !sync || size > most {
                break;
            }
            group.extend(batch);
            members += 1;
        }
        let costs = self.settings.costs;
        let bytes = group.size() as u64;
        self.fs.cpu(costs.write * members as u64 + costs.write_kib * bytes / 1024);
        self.db_mut().log_batch(&mut group, sync)?;
        self.measured.grouped(members as u64);
        (self.writers.group, self.writers.members) = (group, members);
        Ok(())
    }

    /// Apply the group, which is in the log: readers see it, its writers are done, and the next one leads.
    fn apply(&mut self) -> Result<bool, HostError> {
        let group = std::mem::take(&mut self.writers.group);
        self.db_mut().apply_logged(&group)?;
        self.writers.group = group;
        let mut leads = true;
        for _ in 0..self.writers.members {
            let Some(writer) = self.writers.queue.pop_front() else { break };
            self.finish(writer);
            if !std::mem::take(&mut leads) {
                self.wake(writer);
            }
        }
        if let Some(&next) = self.writers.queue.front() {
            self.wake(next);
        }
        if self.db().has_work() {
            self.wake_background();
        }
        Ok(true)
    }
}
