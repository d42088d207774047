//! Why a request took as long as it did: the requests that were served are replayed until it has completed.

use crate::log::{self, Record};
use crate::session::START;
use crate::state::{Header, StateError};
use crate::view::{SlowRequest, slow};
use serde::Serialize;
use ssd_core::config::{BusyUnit, digest};
use ssd_core::ftl::snapshot::DeviceSnapshot;
use ssd_core::host::device::Device as _;
use ssd_core::host::request::Request;
use ssd_core::metrics::report::RESULTS_VERSION;
use ssd_core::nand::geometry::PageAddress;
use ssd_core::sim::logs::operations::OpRecord;
use ssd_core::sim::logs::requests::RequestRecord;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::Nanos;
use ssd_run::{Caller, Stage, load_snapshot};
use ssd_trace::config::RunConfig;
use ssd_trace::snapshots::LoadError;
use std::path::PathBuf;

/// A folder with requests that were served.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ServedFolder {
    /// The state of a drive, with the log of a generation.
    State(PathBuf, u64),
    /// A recording of a whole session.
    Recording(PathBuf),
}

/// Why a request took as long as it did.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Explanation {
    /// The request and the parts of its latency.
    pub request: SlowRequest,
    /// Its flash operations that ended before it completed, in the order of their starts.
    pub operations: Vec<Operation>,
    /// The operations that ended in the busy unit of the last one of these while it waited. If the request has no
    /// operations of its own, all flash operations that ended while it waited.
    pub before: Vec<Operation>,
}

/// A flash operation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Operation {
    /// `read`, `program` or `erase`.
    pub op: &'static str,
    /// Its cause, such as `host` or `gc`.
    pub cause: &'static str,
    /// Channel.
    pub channel: u32,
    /// Chip on its channel.
    pub chip: u32,
    /// Plane in its chip.
    pub plane: u32,
    /// Block in its plane.
    pub block: u32,
    /// The request for which it was executed.
    pub request: Option<u64>,
    /// When it was queued, ns of the drive's time.
    pub queued_ns: u64,
    /// When its unit was taken.
    pub start_ns: u64,
    /// When its unit was released.
    pub end_ns: u64,
}

impl Operation {
    fn of(record: &OpRecord) -> Operation {
        let PageAddress { channel, chip, plane, block, .. } = record.place;
        Operation {
            op: record.op.name(),
            cause: record.cause.name(),
            channel,
            chip,
            plane,
            block,
            request: record.request,
            queued_ns: record.queued.0,
            start_ns: record.start.0,
            end_ns: record.end.0,
        }
    }
}

/// Why request `id` of `past` took as long as it did, on the drive of `config`.
///
/// # Errors
/// There is no such request, it had not completed, or the requests cannot be replayed.
pub fn why(
    config: &RunConfig,
    past: &ServedFolder,
    id: u64,
    caller: &mut dyn Caller,
) -> Result<Explanation, StateError> {
    let history = History::open(config, past)?;
    let mut count = 0;
    history.for_each(&mut |event| {
        count += u64::from(matches!(event, Event::Request(..)));
        Ok(true)
    })?;
    if id >= count {
        return Err(StateError::Refused(unknown(id, count, past)));
    }
    let loaded = load_snapshot(&history.snapshot, Some(config), caller);
    let (snapshot, _) = loaded.map_err(|error| match error {
        LoadError::Refused(message) => StateError::Refused(message),
        LoadError::Interrupted => StateError::Interrupted,
    })?;
    let mut replay = Replay::new(config, &snapshot, id)?;
    history.for_each(&mut |event| {
        if replay.submitted.is_multiple_of(65_536)
            && caller.progress(Stage::Workload, replay.submitted, Some(id)).is_break()
        {
            return Err(StateError::Interrupted);
        }
        replay.see(&event)
    })?;
    if past.is_complete() {
        replay.run(u64::MAX);
    }
    replay.answer(config.timing.busy_unit)
}

/// The message if there are only `count` requests, and not request `id`.
fn unknown(id: u64, count: u64, past: &ServedFolder) -> String {
    let (source, folder) = match past {
        ServedFolder::State(folder, _) => ("the log", folder.display()),
        ServedFolder::Recording(folder) => ("the recording", folder.display()),
    };
    if count == 0 {
        let empty = format!("request {id}: {source} in {folder} has no requests");
        return match past {
            ServedFolder::Recording(_) => empty,
            ServedFolder::State(_, generation) => format!(
                "{empty}. It is emptied when a server starts, stops or folds it; to keep the requests of a whole \
                 session: ssdlab serve {folder}/{generation}.toml --nbd unix:drive.sock --state {folder} --record NEW"
            ),
        };
    }
    let last = count - 1;
    format!(
        "request {id}: {source} in {folder} has requests 0 to {last}; the nearest one is {last}"
    )
}

/// A request to the drive with its arrival, or a mark of the time that it had reached; ns.
enum Event {
    Request(u64, Request),
    Mark(u64),
}

/// The requests that are replayed.
struct History<'a> {
    config: &'a RunConfig,
    snapshot: PathBuf,
    /// The log; `None` for a recording, whose requests are the workload of `config`.
    log: Option<PathBuf>,
}

impl ServedFolder {
    /// Whether all requests were completed, because the session ended at rest.
    fn is_complete(&self) -> bool {
        matches!(self, ServedFolder::Recording(_))
    }
}

impl History<'_> {
    fn open<'a>(config: &'a RunConfig, past: &ServedFolder) -> Result<History<'a>, StateError> {
        match past {
            ServedFolder::State(folder, generation) => {
                let file = |kind: &str| folder.join(format!("{generation}.{kind}"));
                let header = Header::read(&file("json"))?;
                if header.results != RESULTS_VERSION || header.config != digest(config) {
                    return Err(StateError::Refused(format!(
                        "{}: expected the configuration in {generation}.toml as the server wrote it, and results \
                         version {RESULTS_VERSION}; the log has results version {}: use the program that served it",
                        folder.display(),
                        header.results
                    )));
                }
                Ok(History { config, snapshot: file("snap"), log: Some(file("log")) })
            }
            ServedFolder::Recording(folder) => {
                Ok(History { config, snapshot: folder.join(START), log: None })
            }
        }
    }

    /// Call `see` with every event in order, until it returns false.
    fn for_each(
        &self,
        see: &mut dyn FnMut(Event) -> Result<bool, StateError>,
    ) -> Result<(), StateError> {
        let device = &self.config.device;
        let Some(path) = &self.log else {
            let opened =
                ssd_trace::open(&self.config.workload, device.page_bytes, device.user_pages, 0);
            let mut source = opened.map_err(|error| StateError::Refused(error.to_string()))?.source;
            loop {
                let next = source.next_request();
                let next = next.map_err(|error| StateError::Refused(error.to_string()))?;
                let Some(timed) = next else { return Ok(()) };
                if !see(Event::Request(timed.at.0, timed.request))? {
                    return Ok(());
                }
            }
        };
        let mut outcome = Ok(());
        let sectors = u64::from(device.page_bytes) / ssd_core::units::SECTOR_BYTES;
        let read = log::read(path, sectors, &mut |record| {
            let result = see(match record {
                Record::Request { at, request, .. } => Event::Request(at, request),
                Record::Mark(at) => Event::Mark(at),
            });
            match result {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) => outcome = Err(error),
            }
            Err(STOPPED.into())
        });
        match read {
            Err(message) if message != STOPPED => Err(StateError::Refused(message)),
            _ => outcome,
        }
    }
}

/// The error with which the reading of the log is stopped early.
const STOPPED: &str = "stopped";

/// A machine that replays requests until one of them has completed.
struct Replay {
    ssd: Ssd,
    id: u64,
    submitted: u64,
    failure: Option<String>,
    record: Option<RequestRecord>,
    requests: Vec<RequestRecord>,
    /// Operations that ended after the request was submitted.
    operations: Vec<OpRecord>,
}

impl Replay {
    fn new(config: &RunConfig, snapshot: &DeviceSnapshot, id: u64) -> Result<Replay, StateError> {
        let mut config = config.clone();
        (config.metrics.op_log, config.metrics.request_log) = (true, true);
        config.metrics.interval_ns = 0;
        let mut ssd = Ssd::restore(&config, snapshot).map_err(StateError::Refused)?;
        ssd.measure(0, config.splits());
        Ok(Replay {
            ssd,
            id,
            submitted: 0,
            failure: None,
            record: None,
            requests: Vec::new(),
            operations: Vec::new(),
        })
    }

    /// Replay an event. Returns whether more are needed.
    fn see(&mut self, event: &Event) -> Result<bool, StateError> {
        match event {
            Event::Mark(at) => self.run(*at),
            Event::Request(at, request) => {
                self.run(at.saturating_sub(1));
                if self.failure.is_none() && self.record.is_none() {
                    let submitted = self.ssd.submit(Nanos(*at), request, None);
                    self.failure = submitted.err().map(|error| error.to_string());
                    self.submitted += 1;
                }
            }
        }
        Ok(self.failure.is_none() && self.record.is_none())
    }

    /// Run through time `to`. Once the request has completed, run on until all operations that began before have ended.
    fn run(&mut self, to: u64) {
        while self.failure.is_none() && !self.has_all() {
            let limit = if self.record.is_some() { u64::MAX } else { to };
            let Some(at) = self.ssd.next_event().filter(|at| at.0 <= limit) else { return };
            let run = self.ssd.run_until(at, &mut Vec::new());
            self.failure = run.err().map(|error| error.to_string());
            self.ssd.drain_requests(&mut self.requests);
            let record = self.requests.drain(..).find(|record| record.id == self.id);
            self.record = self.record.take().or(record);
            self.ssd.drain_operations(&mut self.operations);
            if self.submitted <= self.id {
                self.operations.clear();
            }
        }
    }

    fn has_all(&self) -> bool {
        let last = self.operations.last().map(|operation| operation.start);
        self.record.as_ref().is_some_and(|record| last > Some(record.completion))
    }

    fn answer(self, unit: BusyUnit) -> Result<Explanation, StateError> {
        let Some(record) = self.record else {
            let reason = self.failure.unwrap_or_else(|| "it was still under way at the end".into());
            let message = format!("request {}: it has not completed: {reason}", self.id);
            return Err(StateError::Refused(message));
        };
        let candidates: Vec<Operation> = self.operations.iter().map(Operation::of).collect();
        let ended = |operation: &&Operation| operation.end_ns <= record.completion.0;
        let own = |operation: &&Operation| operation.request == Some(self.id);
        let operations: Vec<_> = candidates.iter().filter(ended).filter(own).cloned().collect();
        let last = operations.iter().max_by_key(|operation| operation.end_ns);
        let waited = |operation: &&Operation| match last {
            None => operation.end_ns > record.arrival.0 && ended(operation),
            Some(last) => {
                let same_chip = unit == BusyUnit::Channel || operation.chip == last.chip;
                let same_plane = unit != BusyUnit::Plane || operation.plane == last.plane;
                operation.channel == last.channel
                    && same_chip
                    && same_plane
                    && operation.end_ns > last.queued_ns
                    && operation.end_ns <= last.start_ns
            }
        };
        let before = candidates.iter().filter(waited).cloned().collect();
        Ok(Explanation { request: slow(&record), operations, before })
    }
}
