//! Clients, background work, write back, processor cores and the drive on one clock.
//!
//! An *actor* plays the nodes that the file layer has noted for its last call, one after the other, and then takes its
//! next step. All events are ordered by (time, sequence); events on the drive precede others of the same time.

mod background;
mod begin;
mod channels;
mod clients;
mod measure;
mod mounted;
mod play;
mod record;
mod time;

pub use channels::{ChannelActivity, Channels};
pub use measure::{Interval, Measurements, PhaseMeasurements, Span};
pub use mounted::mounted;
pub use record::{Acknowledged, RecordEntry};
pub use time::{ACTIVITIES, Activity, ActivityTimes, TimeSums};

use crate::fs::{Fs, Node};
use crate::settings::HostSettings;
use crate::workload::Workload;
use clients::{Client, Writers};
use ssd_core::host::device::{Device as _, DeviceError};
use ssd_core::host::request::Completion;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::Nanos;
use ssd_kv::{Backlog, Db, NextWork};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use time::TimeSheet;

/// Why a simulation cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A setting is not possible.
    #[error("{0}")]
    Refused(String),
    /// The store failed; a full file system is an error of this kind.
    #[error("the store: {0}")]
    Store(#[from] ssd_kv::Error),
    /// The file system failed.
    #[error("the file system: {0}")]
    Files(#[from] std::io::Error),
    /// The drive failed.
    #[error("the drive: {0}")]
    Drive(#[from] DeviceError),
    /// The drive has taken as many steps as were allowed.
    #[error("stopped after its steps at {0} ns")]
    Stopped(u64),
    /// Power has been cut.
    #[error("power was cut at {0} ns")]
    PowerCut(u64),
    /// The simulation ended before power was to be cut.
    #[error("cut_ns = {0}: the simulation ended before, at {1} ns")]
    NoCut(u64, u64),
    /// Nothing more will happen, but operations wait: an error in the simulator.
    #[error("all actors wait at {0} ns")]
    Deadlock(u64),
}

/// After this many looks for old pages with nothing else due, nothing more will happen.
const MOST_TICKS: u32 = 1000;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    /// The processor time of an actor is over.
    CpuDone(usize),
    /// An actor has slept.
    Awake(usize),
    /// The file layer looks for old pages.
    Tick,
}

/// Actors that are not clients.
const BACKGROUND: usize = 0;
const WRITE_BACK: usize = 1;
const FIRST_CLIENT: usize = 2;

/// What an actor is playing.
#[derive(Default)]
struct Actor {
    nodes: VecDeque<Node>,
    /// Requests that it waits for.
    pending: u32,
    /// It is in a queue or waits for an event.
    waits: bool,
}

/// The store on the drive.
pub struct Machine {
    ssd: Ssd,
    fs: Fs,
    db: Option<Db>,
    settings: HostSettings,
    workload: Workload,
    now: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    sequence: u64,
    ready: VecDeque<usize>,
    actors: Vec<Actor>,
    time: TimeSheet,
    clients: Vec<Client>,
    writers: Writers,
    /// Actors at a node that waits for requests of others.
    blocked: Vec<usize>,
    idle_cores: u32,
    cpu_queue: VecDeque<(usize, u64)>,
    /// Requests on the drive: their number in the file layer, and who waits for them.
    requests: BTreeMap<u64, (u64, Option<usize>)>,
    /// Background work as its writers have seen it.
    last_seen: Backlog,
    background_idle: bool,
    /// Whether background work waits for free pages.
    short_of_space: bool,
    /// The step of background work under way, and when it began.
    working: Option<(NextWork, u64)>,
    write_back_idle: bool,
    /// Clients with nothing left to do.
    at_rest: usize,
    /// Whether the clients take no further operations.
    stopping: bool,
    /// Whether noted work is played, but no actor takes a further step.
    halting: bool,
    /// Whether a commit has been made to free pages for the next step.
    committed: bool,
    /// How often the file layer has looked for old pages since something else happened.
    ticks: u32,
    /// Steps that the drive may still take; `None`: any number.
    steps: Option<u64>,
    measured: Measurements,
    /// When power is cut.
    cut_at: u64,
    record: Option<Vec<RecordEntry>>,
    /// In the order of the log, if power is going to be cut.
    acknowledged: Vec<Acknowledged>,
    digest: u64,
    finished: Vec<Completion>,
}

impl Machine {
    fn over(ssd: Ssd, fs: Fs, settings: HostSettings, workload: Workload) -> Machine {
        let clients = settings.clients as usize;
        let interval = settings.interval_ns;
        Machine {
            ssd,
            fs,
            db: None,
            workload,
            now: 0,
            events: BinaryHeap::new(),
            sequence: 0,
            ready: VecDeque::new(),
            actors: (0..FIRST_CLIENT + clients).map(|_| Actor::default()).collect(),
            time: TimeSheet::new(FIRST_CLIENT + clients),
            clients: (0..clients).map(|_| Client::default()).collect(),
            writers: Writers::default(),
            blocked: Vec::new(),
            idle_cores: settings.cores,
            cpu_queue: VecDeque::new(),
            requests: BTreeMap::new(),
            last_seen: Backlog::default(),
            background_idle: true,
            short_of_space: false,
            working: None,
            write_back_idle: true,
            at_rest: clients,
            stopping: false,
            halting: false,
            committed: false,
            ticks: 0,
            steps: None,
            measured: Measurements::new(interval),
            cut_at: u64::MAX,
            record: None,
            acknowledged: Vec::new(),
            digest: 0xcbf2_9ce4_8422_2325,
            finished: Vec::new(),
            settings,
        }
    }

    /// Run all phases of the workload. `keep_going` is called regularly with the operations done.
    ///
    /// # Errors
    /// A [`HostError`]. The state stays as it is.
    pub fn run(&mut self, keep_going: &mut dyn FnMut(u64) -> bool) -> Result<(), HostError> {
        let ended = self.run_phases(keep_going);
        if ended.is_err() {
            self.end_phase();
        }
        ended
    }

    fn run_phases(&mut self, keep_going: &mut dyn FnMut(u64) -> bool) -> Result<(), HostError> {
        self.at(self.now + self.settings.fs.commit_interval_ns, Event::Tick);
        self.cut_at = self.settings.cut_ns.map_or(u64::MAX, |after| self.now + after);
        loop {
            let name = self.workload.phase().unwrap_or_default().to_owned();
            let programs = self.ssd.measured().flash.programs;
            self.measured.begin(
                &name,
                self.now,
                self.fs.counts(),
                programs,
                self.time.sums(self.now),
            );
            self.stopping = false;
            self.at_rest = 0;
            self.ready.extend(FIRST_CLIENT..self.actors.len());
            self.wake_background();
            let mut look = 0;
            loop {
                self.act_all()?;
                if self.at_rest == self.clients.len() {
                    break;
                }
                self.advance()?;
                look += 1;
                if look % 4096 == 0 && !keep_going(self.measured.operations()) {
                    self.stopping = true;
                }
            }
            self.end_phase();
            if self.stopping || !self.workload.next_phase() {
                return Ok(());
            }
        }
    }

    /// The measurements of the phase up to now.
    fn end_phase(&mut self) {
        let programs = self.ssd.measured().flash.programs;
        self.measured.end(self.now, self.fs.counts(), programs, self.time.sums(self.now));
    }

    /// As [`Machine::run`], for this many steps of the drive: [`HostError::Stopped`] if they are used up.
    ///
    /// # Errors
    /// As [`Machine::run`].
    pub fn run_for(&mut self, steps: u64) -> Result<(), HostError> {
        self.steps = Some(steps);
        let ended = self.run(&mut |_| true);
        self.steps = None;
        ended
    }

    /// Let all background work and all requests end; with `settle`, also compactions that are due.
    ///
    /// # Errors
    /// As [`Machine::run`].
    pub fn rest(&mut self, settle: bool) -> Result<(), HostError> {
        (self.stopping, self.halting) = (true, !settle);
        self.wake_background();
        loop {
            self.act_all()?;
            let busy = |actor: &Actor| actor.pending > 0 || !actor.nodes.is_empty();
            let works = settle && self.db().has_work();
            if !works && !self.actors.iter().any(busy) && self.requests.is_empty() {
                return Ok(());
            }
            self.advance()?;
        }
    }

    /// Let the drive finish the requests that it has; nobody acts any more.
    ///
    /// # Errors
    /// The drive fails.
    pub fn end_requests(&mut self) -> Result<(), HostError> {
        while !self.requests.is_empty() {
            self.advance()?;
        }
        Ok(())
    }

    fn db(&self) -> &Db {
        self.db.as_ref().expect("the store is open")
    }

    fn db_mut(&mut self) -> &mut Db {
        self.db.as_mut().expect("the store is open")
    }

    /// Something happens at `time`.
    fn at(&mut self, time: u64, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((time, self.sequence, event)));
    }

    fn note(&mut self, value: u64) {
        let mixed = self.digest ^ self.now.rotate_left(32) ^ value;
        self.digest = mixed.wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    }

    /// Let all actors act that can.
    fn act_all(&mut self) -> Result<(), HostError> {
        while let Some(actor) = self.ready.pop_front() {
            self.act(actor)?;
        }
        Ok(())
    }

    /// Advance time to the next event, and handle it.
    fn advance(&mut self) -> Result<(), HostError> {
        let (event, drive) = (self.events.peek().map(|e| e.0.0), self.ssd.next_event());
        let limit = match (event, drive) {
            (None, None) => {
                let stalled = self.ssd.outstanding() > 0;
                let deadlock = HostError::Deadlock(self.now);
                return Err(if stalled { self.ssd.stalled().into() } else { deadlock });
            }
            (Some(event), Some(drive)) if drive.0 > event => None,
            (Some(_), None) if self.ssd.outstanding() == 0 => None,
            (event, _) => Some(event.unwrap_or(u64::MAX)),
        };
        let (limit, cut) = (limit.map(|limit| limit.min(self.cut_at)), self.cut_at);
        if event.into_iter().chain(drive.map(|time| time.0)).all(|next| next > cut) {
            self.ssd.wait_until(Nanos(cut))?;
            self.now = cut;
            return Err(HostError::PowerCut(cut));
        }
        if let Some(limit) = limit {
            let mut finished = std::mem::take(&mut self.finished);
            let end = match (&mut self.steps, drive) {
                (Some(0), _) => return Err(HostError::Stopped(self.now)),
                (Some(left), Some(next)) => {
                    *left -= 1;
                    next
                }
                _ if limit == u64::MAX => Nanos::NEVER,
                _ => Nanos(limit),
            };
            let reached = self.ssd.run_until(end, &mut finished)?.0;
            if self.measured.channels.are_due(reached) {
                self.measured.channels.look(&self.ssd, reached);
            }
            self.now = self.now.max(reached);
            self.fs.set_now(self.now);
            let any = !finished.is_empty();
            for completion in finished.drain(..) {
                self.completed(completion.id.0);
            }
            self.finished = finished;
            if any {
                self.unblock();
                return Ok(());
            }
        }
        while let Some(&Reverse((time, _, event))) = self.events.peek() {
            if time > self.now && limit.is_some() {
                break;
            }
            if time > self.now {
                self.now = time;
                self.fs.set_now(time);
            }
            self.events.pop();
            let is_alone = event == Event::Tick && self.events.is_empty();
            self.ticks = if is_alone { self.ticks + 1 } else { 0 };
            if self.ticks > MOST_TICKS {
                return Err(HostError::Deadlock(self.now));
            }
            self.handle(event);
            if self.events.peek().is_none_or(|next| next.0.0 > time) {
                break;
            }
        }
        Ok(())
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::CpuDone(actor) => {
                self.note(actor as u64);
                self.idle_cores += 1;
                if let Some((next, ns)) = self.cpu_queue.pop_front() {
                    self.start_processing(next, ns);
                }
                self.wake(actor);
            }
            Event::Awake(actor) => self.wake(actor),
            Event::Tick => {
                self.at(self.now + self.settings.fs.commit_interval_ns, Event::Tick);
                self.wake_write_back();
            }
        }
    }

    /// Give the actor a core for this long.
    fn start_processing(&mut self, actor: usize, ns: u64) {
        self.idle_cores -= 1;
        self.enter(actor, Activity::Processor);
        self.at(self.now + ns, Event::CpuDone(actor));
    }

    /// What the actor does or waits for from now on.
    fn enter(&mut self, actor: usize, activity: Activity) {
        self.time.enter(actor, activity, self.now);
    }

    fn wake(&mut self, actor: usize) {
        self.actors[actor].waits = false;
        self.ready.push_back(actor);
    }

    fn wake_background(&mut self) {
        if std::mem::take(&mut self.background_idle) {
            self.ready.push_back(BACKGROUND);
        }
    }

    fn wake_write_back(&mut self) {
        if std::mem::take(&mut self.write_back_idle) {
            self.ready.push_back(WRITE_BACK);
        }
    }

    /// Play the nodes of an actor; then its next steps, until it waits.
    fn act(&mut self, actor: usize) -> Result<(), HostError> {
        while self.play(actor)? {
            if self.halting {
                break;
            }
            let goes_on = match actor {
                BACKGROUND => self.background()?,
                WRITE_BACK => self.write_back()?,
                _ => self.client(actor)?,
            };
            if !goes_on {
                break;
            }
        }
        Ok(())
    }

    /// Let the actor play what has been noted next.
    fn take_nodes(&mut self, actor: usize) {
        debug_assert!(self.actors[actor].nodes.is_empty(), "a step before the last one has ended");
        self.actors[actor].nodes.extend(self.fs.take_nodes());
        if self.fs.wants_write_back() {
            self.wake_write_back();
        }
    }

    /// The drive.
    #[must_use]
    pub fn ssd(&self) -> &Ssd {
        &self.ssd
    }

    /// The file layer.
    #[must_use]
    pub fn fs(&self) -> &Fs {
        &self.fs
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Db {
        self.db()
    }

    /// What has been measured.
    #[must_use]
    pub fn measured(&self) -> &Measurements {
        &self.measured
    }

    /// Simulated time in nanoseconds.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// The settings in use.
    #[must_use]
    pub fn settings(&self) -> &HostSettings {
        &self.settings
    }

    /// A digest of all events in order, including those of the drive.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest ^ self.ssd.event_digest().rotate_left(1)
    }

    /// The drive as a power cut finds it now, without store and file layer.
    #[must_use]
    pub fn into_drive(self) -> Ssd {
        self.ssd
    }
}
