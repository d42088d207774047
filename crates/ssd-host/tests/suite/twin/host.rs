//! Clients, groups of writers, background work, processor cores and write-back on one clock, written again from their
//! rules (docs/simulate.md, ADR 0018), over a store and a drive of the same kind.

use super::directory::Directory;
use super::files::Step;
use ssd_core::config::Config;
use ssd_core::ftl::Ftl;
use ssd_core::host::copy::{SourceRange, encode};
use ssd_core::host::device::Device as _;
use ssd_core::host::request::{Op, Request};
use ssd_core::metrics::cause::Cause as Collected;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::Nanos;
use ssd_host::HostSettings;
use ssd_host::executor::{Activity, RecordEntry, TimeSums};
use ssd_host::fs::{Cause, FsCounts};
use ssd_host::workload::Workload;
use ssd_kv::{Backlog, Db, NextWork, ReadOptions, WriteBatch, WriteRoom};
use ssd_trace::keys::KeyOp;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The actors: background work of the store, write-back of the file layer, and clients from 2 on.
const BACKGROUND: usize = 0;
const WRITE_BACK: usize = 1;
const CLIENTS: usize = 2;

/// Why an actor does not continue.
enum WaitReason {
    No,
    /// For its processor time, or for a core.
    Core,
    /// For this many requests of its own.
    Drive(usize),
    /// For requests of others.
    Others(Step),
    /// A client: for its sleep to end, for background work, for its turn.
    Asleep,
    Stopped,
    Turn,
    /// Background work: for free pages.
    Space,
    /// For something to do.
    Idle,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Event {
    CoreDone(usize),
    Awake(usize),
    Tick,
}

/// What a client does next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Take,
    End,
    Queue,
    Lead,
    Apply,
}

struct Client {
    next: Next,
    op: KeyOp,
    began: u64,
    write: u64,
    sync: bool,
    batch: WriteBatch,
    was_slowed: bool,
    stopped_at: Option<u64>,
}

/// What a phase leaves.
pub(crate) struct Phase {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) before: FsCounts,
    pub(crate) after: FsCounts,
    pub(crate) slowed: u64,
    /// Waits for background work, each with its start and end.
    pub(crate) stops: Vec<(u64, u64)>,
    pub(crate) groups: (u64, u64),
    pub(crate) user_bytes: u64,
    pub(crate) found: u64,
    pub(crate) time: [TimeSums; 2],
}

pub(crate) struct Host {
    drive: Ssd,
    pub(crate) directory: Directory,
    db: Option<Db>,
    settings: HostSettings,
    workload: Workload,
    pub(crate) now: u64,
    /// In the order in which they were set.
    events: Vec<(u64, Event)>,
    ready: VecDeque<usize>,
    steps: Vec<VecDeque<Step>>,
    waits: Vec<WaitReason>,
    clients: Vec<Client>,
    /// Actors that wait for requests of others, in the order in which they began.
    blocked: Vec<usize>,
    idle_cores: u32,
    for_a_core: VecDeque<(usize, u64)>,
    /// Requests on the drive: their number in the file layer, who waits for them, and what they do.
    on_drive: BTreeMap<u64, (u64, Option<usize>, Op)>,
    /// What the actors have done with the time so far.
    time: TimeSums,
    /// Writers, the leader first; the group in the log.
    queue: VecDeque<usize>,
    group: (WriteBatch, usize),
    writes: u64,
    values: u64,
    seen: Backlog,
    has_committed: bool,
    working: Option<(NextWork, u64)>,
    /// Something is to be written back, or a tick has come.
    write_back_due: bool,
    at_rest: usize,
    stopping: bool,
    pub(crate) phases: Vec<Phase>,
    /// Level, begin and end of each piece of background work.
    pub(crate) spans: Vec<(usize, u64, u64)>,
    pub(crate) record: Vec<RecordEntry>,
    pub(crate) waits_for_space: u64,
    /// Pages that the drive has collected, and how long the chips of its channels have been busy, at some times.
    pub(crate) looks: BTreeMap<u64, (u64, Vec<u64>)>,
}

impl Host {
    /// On an empty drive; `settings` are already fitted to the drive.
    pub(crate) fn new(config: &Config, settings: HostSettings, workload: Workload) -> Host {
        let mut functional = Functional::new(config, Ftl::new(config));
        functional.precondition(config, &mut |_, _| true).expect("a drive");
        let sequence = functional.sequence();
        let mut drive = Ssd::new(config, functional.ftl, sequence);
        drive.measure(0, false);
        let n = settings.clients as usize;
        let client = || Client {
            next: Next::Take,
            op: KeyOp::Read,
            began: 0,
            write: 0,
            sync: false,
            batch: WriteBatch::new(),
            was_slowed: false,
            stopped_at: None,
        };
        let directory = Directory::format(config.device.user_pages, settings.fs);
        let mut host = Host {
            drive,
            directory,
            db: None,
            workload,
            now: 0,
            events: Vec::new(),
            ready: VecDeque::new(),
            steps: (0..CLIENTS + n).map(|_| VecDeque::new()).collect(),
            waits: (0..CLIENTS + n).map(|_| WaitReason::Idle).collect(),
            clients: (0..n).map(|_| client()).collect(),
            blocked: Vec::new(),
            idle_cores: settings.cores,
            for_a_core: VecDeque::new(),
            on_drive: BTreeMap::new(),
            time: TimeSums::default(),
            queue: VecDeque::new(),
            group: (WriteBatch::new(), 0),
            writes: 0,
            values: 0,
            seen: Backlog::default(),
            has_committed: false,
            working: None,
            write_back_due: false,
            at_rest: n,
            stopping: false,
            phases: Vec::new(),
            spans: Vec::new(),
            record: Vec::new(),
            waits_for_space: 0,
            looks: BTreeMap::new(),
            settings,
        };
        host.alone();
        let (options, policy) = (host.settings.store.options(), host.settings.store.policy());
        let directory = Arc::new(host.directory.clone());
        host.db = Some(Db::open_with(directory, options, policy).expect("a store"));
        host.alone();
        host.record.clear();
        host
    }

    fn db(&mut self) -> &mut Db {
        self.db.as_mut().expect("it is open")
    }

    /// Play what has been noted while nobody else acts.
    fn alone(&mut self) {
        self.take_steps(WRITE_BACK);
        self.write_back_due = false;
        self.wake(WRITE_BACK);
        self.act_all();
        while !self.on_drive.is_empty() || self.idle_cores < self.settings.cores {
            self.advance();
            self.act_all();
        }
    }

    /// All phases, and then all background work.
    pub(crate) fn run(&mut self) {
        self.events.push((self.now + self.settings.fs.commit_interval_ns, Event::Tick));
        loop {
            let before = self.counts();
            self.phases.push(Phase {
                start: self.now,
                end: 0,
                before,
                after: before,
                slowed: 0,
                stops: Vec::new(),
                groups: (0, 0),
                user_bytes: 0,
                found: 0,
                time: [self.time; 2],
            });
            self.at_rest = 0;
            (CLIENTS..self.waits.len()).for_each(|client| self.wake(client));
            self.wake_background();
            self.act_all();
            while self.at_rest < self.clients.len() {
                self.advance();
                self.act_all();
            }
            let after = self.counts();
            let (now, time) = (self.now, self.time);
            (self.phase().end, self.phase().after, self.phase().time[1]) = (now, after, time);
            if !self.workload.next_phase() {
                break;
            }
        }
        self.stopping = true;
        self.wake_background();
        self.act_all();
        let acts = |host: &Host| {
            let is_busy = |actor: usize| match host.waits[actor] {
                WaitReason::Drive(_) | WaitReason::Others(_) => true,
                _ => !host.steps[actor].is_empty(),
            };
            (0..host.waits.len()).any(is_busy) || !host.on_drive.is_empty()
        };
        while self.db().has_work() || acts(self) {
            self.advance();
            self.act_all();
        }
    }

    pub(crate) fn counts(&self) -> FsCounts {
        self.directory.files().counts()
    }

    fn phase(&mut self) -> &mut Phase {
        self.phases.last_mut().expect("a phase")
    }

    // ---------------------------------------------------------------- time

    /// Handle the next events: first those on the drive, then all events of an instant in the order in which they were
    /// set.
    fn advance(&mut self) {
        let event = self.events.iter().map(|event| event.0).min();
        let drive = self.drive.next_event().map(|time| time.0);
        let time = event.into_iter().chain(drive).min().expect("something happens");
        if drive == Some(time) {
            let mut ended = Vec::new();
            let reached = self.drive.run_until(Nanos(time), &mut ended).expect("it works").0;
            assert!(ended.is_empty() || reached == time, "the drive is ahead");
            if !ended.is_empty() {
                let chips = self.drive.chip_busy_ns();
                let of_channel = chips.len() / self.drive.channel_busy_ns().len();
                let busy = chips.chunks(of_channel).map(|chips| chips.iter().sum()).collect();
                let collected = self.drive.measured().flash.programs[Collected::Gc.at()];
                self.looks.entry(time).or_insert((collected, busy));
                self.set_time(time);
                let mut free = Vec::new();
                for request in ended {
                    let (number, who, _) = self.on_drive.remove(&request.id.0).expect("a request");
                    self.directory.files().done(number);
                    let Some(actor) = who else { continue };
                    if let WaitReason::Drive(left) = &mut self.waits[actor] {
                        *left -= 1;
                        if *left == 0 {
                            free.push(actor);
                        }
                    }
                }
                free.into_iter().for_each(|actor| self.wake(actor));
                self.unblock();
                return;
            }
        }
        if event == Some(time) {
            self.set_time(time);
            let all = std::mem::take(&mut self.events);
            let (now, later) = all.into_iter().partition(|event| event.0 == time);
            self.events = later;
            let now: Vec<(u64, Event)> = now;
            now.into_iter().for_each(|(_, event)| self.happens(event));
        }
    }

    fn set_time(&mut self, time: u64) {
        for actor in 0..self.waits.len() {
            let activity = self.activity(actor) as usize;
            let sums = match actor {
                BACKGROUND => &mut self.time.background,
                WRITE_BACK => &mut self.time.write_back,
                _ => &mut self.time.clients,
            };
            sums[activity] += time - self.now;
        }
        self.now = time;
        self.directory.files().now = time;
    }

    /// What an actor that does not continue does or waits for.
    fn activity(&self, actor: usize) -> Activity {
        let for_reads = |is_read: bool| if is_read { Activity::Read } else { Activity::Write };
        let reads = |&(_, who, op): &(u64, Option<usize>, Op)| who == Some(actor) && op == Op::Read;
        match &self.waits[actor] {
            WaitReason::Core if self.for_a_core.iter().any(|wait| wait.0 == actor) => {
                Activity::Core
            }
            WaitReason::Core => Activity::Processor,
            WaitReason::Drive(_) => for_reads(self.on_drive.values().any(reads)),
            WaitReason::Others(Step::After(of)) => for_reads(self.directory.files().has_reads(of)),
            WaitReason::Others(_) | WaitReason::Space => Activity::Write,
            WaitReason::Asleep => Activity::Slowed,
            WaitReason::Stopped => Activity::Stopped,
            WaitReason::Turn => Activity::Group,
            WaitReason::Idle | WaitReason::No => Activity::Idle,
        }
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::CoreDone(actor) => {
                match self.for_a_core.pop_front() {
                    Some((next, ns)) => self.events.push((self.now + ns, Event::CoreDone(next))),
                    None => self.idle_cores += 1,
                }
                self.wake(actor);
            }
            Event::Awake(actor) => self.wake(actor),
            Event::Tick => {
                self.events.push((self.now + self.settings.fs.commit_interval_ns, Event::Tick));
                self.wake_write_back();
            }
        }
    }

    fn wake(&mut self, actor: usize) {
        self.waits[actor] = WaitReason::No;
        self.ready.push_back(actor);
    }

    fn wake_background(&mut self) {
        if matches!(self.waits[BACKGROUND], WaitReason::Idle) {
            self.wake(BACKGROUND);
        }
    }

    fn wake_write_back(&mut self) {
        self.write_back_due = true;
        if matches!(self.waits[WRITE_BACK], WaitReason::Idle) {
            self.wake(WRITE_BACK);
        }
    }

    fn unblock(&mut self) {
        let (over, still): (Vec<usize>, Vec<usize>) =
            std::mem::take(&mut self.blocked).into_iter().partition(|&actor| {
                matches!(&self.waits[actor], WaitReason::Others(s) if self.directory.files().is_over(s))
            });
        self.blocked = still;
        over.into_iter().for_each(|actor| self.wake(actor));
    }

    // ---------------------------------------------------------------- actors

    fn act_all(&mut self) {
        while let Some(actor) = self.ready.pop_front() {
            while matches!(self.waits[actor], WaitReason::No) {
                match self.steps[actor].pop_front() {
                    Some(step) => self.play(actor, step),
                    None => match actor {
                        BACKGROUND => self.background(),
                        WRITE_BACK => self.write_back(),
                        _ => self.client(actor),
                    },
                }
            }
        }
    }

    fn take_steps(&mut self, actor: usize) {
        let steps = self.directory.files().take_steps();
        self.steps[actor].extend(steps);
        if self.directory.files().wants_write_back() {
            self.wake_write_back();
        }
    }

    fn play(&mut self, actor: usize, step: Step) {
        match step {
            Step::Cpu(ns) => {
                self.waits[actor] = WaitReason::Core;
                if self.idle_cores > 0 {
                    self.idle_cores -= 1;
                    self.events.push((self.now + ns, Event::CoreDone(actor)));
                } else {
                    self.for_a_core.push_back((actor, ns));
                }
            }
            Step::Io(all) => {
                if !all.is_empty() {
                    self.waits[actor] = WaitReason::Drive(all.len());
                }
                self.submit(all, Some(actor));
            }
            Step::ReadAhead(all) => self.submit(all, None),
            Step::After(_) | Step::Barrier(_) => {
                if !self.directory.files().is_over(&step) {
                    self.waits[actor] = WaitReason::Others(step);
                    self.blocked.push(actor);
                }
            }
            Step::Free(pages) => {
                self.directory.files().free(&pages);
                if matches!(self.waits[BACKGROUND], WaitReason::Space) {
                    self.wake(BACKGROUND);
                }
            }
        }
    }

    fn submit(&mut self, all: Vec<super::files::TwinRequest>, who: Option<usize>) {
        for one in all {
            let sector = if one.op == Op::Flush { 0 } else { u64::from(one.start) * 8 };
            let plain = Request::new(one.op, sector, one.pages * 8);
            let request = Request { flags: one.flags, stream: one.stream, ..plain };
            self.record.push(RecordEntry::Submitted { at_ns: self.now, request });
            let range = |&(start, pages): &(u32, u32)| SourceRange {
                sector: u64::from(start) * 8,
                sectors: u64::from(pages) * 8,
            };
            let sources: Vec<SourceRange> = one.sources.iter().map(range).collect();
            let data = (one.op == Op::Copy).then(|| encode(&sources));
            let id =
                self.drive.submit(Nanos(self.now), &request, data.as_deref()).expect("it fits");
            self.on_drive.insert(id.0, (one.number, who, one.op));
        }
    }

    // ---------------------------------------------------------------- background work

    /// Writers see what is done when its requests have ended.
    fn background(&mut self) {
        self.seen = self.db().backlog();
        if let Some((work, since)) = self.working.take() {
            self.worked(work, since);
            let is_stopped = |actor: &usize| matches!(self.waits[*actor], WaitReason::Stopped);
            if let Some(writer) = (CLIENTS..self.waits.len()).find(is_stopped) {
                self.wake(writer);
            }
        }
        if !self.db().has_work() {
            self.waits[BACKGROUND] = WaitReason::Idle;
            return;
        }
        let work = self.db().next_work();
        if work != NextWork::Pick && !self.has_space() {
            return;
        }
        self.has_committed = false;
        self.directory.files().table_cause = match work {
            NextWork::Compact(level) => Cause::Level(level as u8),
            _ => Cause::Flush,
        };
        self.working = Some((work, self.now));
        let done = |db: &Db| (db.stats().merged_bytes, db.stats().built_bytes);
        let before = done(self.db());
        self.db().step().expect("it works");
        let (merged, built) = done(self.db());
        let costs = self.settings.costs;
        let per_kib = costs.merge_kib * (merged - before.0) + costs.step_kib * (built - before.1);
        self.directory.files().cpu(costs.step + per_kib / 1024);
        self.take_steps(BACKGROUND);
    }

    /// Whether a step has space: it waits until there is room for a table and a quarter more, and 64 pages, as long as
    /// more will become free. A commit may free some.
    fn has_space(&mut self) -> bool {
        let store = &self.settings.store;
        let table = store.max_file_size.max(store.write_buffer_size as u64);
        let needed = table * 5 / 4 / 4096 + 64;
        if self.directory.files().spare().0 >= needed {
            return true;
        }
        if !std::mem::replace(&mut self.has_committed, true) && self.directory.files().commit() {
            self.take_steps(BACKGROUND);
            return false;
        }
        if self.directory.files().spare().1 == 0 {
            return true;
        }
        self.waits_for_space += 1;
        self.waits[BACKGROUND] = WaitReason::Space;
        false
    }

    fn worked(&mut self, work: NextWork, since: u64) {
        let level = match work {
            NextWork::Flush => 0,
            NextWork::Compact(level) => level,
            _ => return,
        };
        match self.spans.last_mut() {
            Some(last) if last.0 == level && last.2 == since => last.2 = self.now,
            _ => self.spans.push((level, since, self.now)),
        }
    }

    fn write_back(&mut self) {
        if !std::mem::take(&mut self.write_back_due) {
            self.waits[WRITE_BACK] = WaitReason::Idle;
            return;
        }
        self.directory.files().write_back_old();
        self.take_steps(WRITE_BACK);
    }

    // ---------------------------------------------------------------- clients

    fn client(&mut self, actor: usize) {
        match self.clients[actor - CLIENTS].next {
            Next::Take => self.take(actor),
            Next::End => self.end(actor),
            Next::Queue => {
                self.queue.push_back(actor);
                self.clients[actor - CLIENTS].next = Next::Lead;
                self.clients[actor - CLIENTS].was_slowed = false;
                if self.queue.len() > 1 {
                    self.waits[actor] = WaitReason::Turn;
                }
            }
            Next::Lead => self.lead(actor),
            Next::Apply => self.apply(),
        }
    }

    fn take(&mut self, actor: usize) {
        let next = if self.stopping { None } else { self.workload.next_operation() };
        let Some((request, key)) = next else {
            self.at_rest += 1;
            self.waits[actor] = WaitReason::Idle;
            return;
        };
        let costs = self.settings.costs;
        let (op, now) = (request.op, self.now);
        if matches!(op, KeyOp::Read | KeyOp::ReadModifyWrite) {
            self.directory.files().cpu(costs.read);
            let found = self.db().get(&key, ReadOptions::default(), None).expect("a read");
            self.phase().found += u64::from(found.is_some());
        }
        if op == KeyOp::Scan {
            self.directory.files().cpu(costs.seek);
            let mut iter = self.db().iter(ReadOptions::default(), None).expect("a scan");
            iter.seek(&key).expect("a seek");
            for _ in 0..request.scan {
                if iter.valid() {
                    self.directory.files().cpu(costs.next);
                    iter.next().expect("a pair");
                }
            }
        }
        let client = &mut self.clients[actor - CLIENTS];
        (client.op, client.began, client.write, client.sync) = (op, now, 0, false);
        if matches!(op, KeyOp::Read | KeyOp::Scan) {
            client.next = Next::End;
        } else {
            client.next = Next::Queue;
            self.writes += 1;
            let every = self.settings.sync_every;
            client.write = self.writes;
            client.sync = every > 0 && self.writes.is_multiple_of(every);
            client.batch = WriteBatch::new();
            if op == KeyOp::Delete {
                client.batch.delete(&key);
            } else {
                let value = self.workload.values();
                let value = value.value(self.values, request.value_bytes as usize);
                client.batch.put(&key, value);
                self.values += 1;
                let bytes = (key.len() + value.len()) as u64;
                self.phase().user_bytes += bytes;
            }
        }
        self.take_steps(actor);
        if self.db().has_work() {
            self.wake_background();
        }
    }

    fn end(&mut self, actor: usize) {
        let client = &mut self.clients[actor - CLIENTS];
        client.next = Next::Take;
        self.record.push(RecordEntry::Ended {
            at_ns: self.now,
            client: actor - CLIENTS,
            op: client.op,
            began_ns: client.began,
            write: client.write,
            sync: client.sync,
        });
    }

    /// The first writer asks for room. It is slowed at most once, for a millisecond.
    fn lead(&mut self, actor: usize) {
        let at = actor - CLIENTS;
        let (seen, may_slow) = (self.seen, !self.clients[at].was_slowed);
        let was_full = self.db().backlog().full;
        let room = self.db().ask_room(may_slow, seen).expect("it takes writes");
        if self.db().backlog().full && !was_full {
            self.wake_background();
        }
        match room {
            WriteRoom::Slow => {
                self.phase().slowed += 1;
                self.clients[at].was_slowed = true;
                self.waits[actor] = WaitReason::Asleep;
                self.events.push((self.now + 1_000_000, Event::Awake(actor)));
                self.wake_background();
            }
            WriteRoom::Wait => {
                let now = self.now;
                self.clients[at].stopped_at.get_or_insert(now);
                self.waits[actor] = WaitReason::Stopped;
                self.wake_background();
            }
            WriteRoom::Ready => {
                if let Some(since) = self.clients[at].stopped_at.take() {
                    let now = self.now;
                    self.phase().stops.push((since, now));
                }
                self.log_group();
                self.clients[at].next = Next::Apply;
                self.take_steps(actor);
            }
        }
    }

    /// LevelDB's groups: batches in order, as long as their sizes add up to at most 1 MiB, or to at most 128 KiB more
    /// than the first if that has at most 128 KiB; and no synced write in the group of an unsynced one.
    fn log_group(&mut self) {
        let writers: Vec<&Client> = self.queue.iter().map(|w| &self.clients[w - CLIENTS]).collect();
        let first = writers[0].batch.size();
        let most = if first <= 128 << 10 { first + (128 << 10) } else { 1 << 20 };
        let (mut group, mut members, mut size) = (WriteBatch::new(), 0, 0);
        for writer in &writers {
            size += writer.batch.size();
            if members > 0 && (size > most || writer.sync && !writers[0].sync) {
                break;
            }
            group.extend(&writer.batch);
            members += 1;
        }
        let (sync, costs) = (writers[0].sync, self.settings.costs);
        let time = costs.write * members + costs.write_kib * group.size() as u64 / 1024;
        self.directory.files().cpu(time);
        self.db().log_batch(&mut group, sync).expect("it is logged");
        let groups = &mut self.phase().groups;
        *groups = (groups.0 + 1, groups.1 + members);
        self.group = (group, members as usize);
    }

    /// The whole group ends together, the leader first; it continues, then the others, then the next leader.
    fn apply(&mut self) {
        let (group, members) = std::mem::replace(&mut self.group, (WriteBatch::new(), 0));
        self.db().apply_logged(&group).expect("it was logged");
        for at in 0..members {
            let writer = self.queue.pop_front().expect("a member");
            self.end(writer);
            if at > 0 {
                self.wake(writer);
            }
        }
        if let Some(&next) = self.queue.front() {
            self.wake(next);
        }
        if self.db().has_work() {
            self.wake_background();
        }
    }
}
