//! A session: a server from its start to the drive at rest.

use crate::engine::Engine;
use crate::life::{Life, WearState};
use crate::listener::Listener;
use crate::nbd::handshake::Export;
use crate::pace::{Delays, Pacing, VALID_NS};
use crate::server::{Attendant, Server, ServerStats};
use crate::state::{Folder, StateError, new_drive, served, without_state};
use crate::view::{Channel, SlowRequest, Space};
use serde::Serialize;
use ssd_core::ftl::snapshot::DeviceSnapshot;
use ssd_core::metrics::report::{Recovery, Report};
use ssd_run::{Caller, Stage};
use ssd_trace::config::RunConfig;
use ssd_trace::snapshots;
use ssd_trace::write::{Columnar, Options, TraceWriter, WriteError};
use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The address on which the server listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Address {
    /// A Unix socket.
    Unix(PathBuf),
    /// A TCP socket on the loopback interface.
    Tcp(SocketAddr),
}

/// The options of a session.
#[derive(Clone, PartialEq, Debug)]
pub struct Order {
    /// The address on which the server listens.
    pub address: Address,
    /// The folder that keeps the drive between servers.
    pub state: Option<PathBuf>,
    /// A new folder for a recording, with which `ssdlab run` repeats the session.
    pub record: Option<PathBuf>,
    /// How the clock of the drive follows wall time.
    pub pacing: Pacing,
    /// The length of the log, in bytes, above which it is folded.
    pub most_log: u64,
    /// The name of the export.
    pub name: String,
    /// The folder for the data of a drive without a state.
    pub temporary: PathBuf,
    /// The commit of the program, for the report.
    pub commit: Option<String>,
}

/// Name of the file with the initial state of the drive, in the folder of a recording.
pub const START: &str = "start.snap";
/// Name of the file with the requests, in the folder of a recording.
pub const REQUESTS: &str = "requests.ssdtrace";

/// The report when clients may connect.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ReadyReport {
    /// Size of the drive in bytes.
    pub bytes: u64,
    /// The port of a TCP socket.
    pub port: Option<u16>,
    /// The recovery, if the last server was killed.
    pub recovered: Option<RecoveryReport>,
}

/// The recovery after a kill.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RecoveryReport {
    /// Requests that were replayed.
    pub requests: u64,
    /// Pages that lost newer data.
    pub pages_lost: u64,
    /// The mount.
    pub mount: Recovery,
}

/// The recipient of the reports of a session.
pub trait Audience {
    /// Called when clients may connect.
    fn ready(&mut self, ready: &ReadyReport);

    /// Whether the summary of the session so far is requested.
    fn wants_summary(&mut self) -> bool;

    /// Called with the requested summary.
    fn receive(&mut self, summary: &Summary);
}

/// The summary of a session, so far or at its end.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Summary {
    /// Clients that have connected.
    pub clients: u64,
    /// Clients that were disconnected because they violated the protocol or did not complete the handshake.
    pub clients_refused: u64,
    /// The reason for the last of these.
    pub refused_because: Option<String>,
    /// Requests that were answered after the drive had completed them.
    pub requests: u64,
    /// Time for which the drive was served, ns of wall time.
    pub served_ns: u64,
    /// Replies per second of wall time, over about the last second.
    pub replies_per_s: Option<f64>,
    /// The scale: wall time per simulated time, at present.
    pub scale: f64,
    /// Stops of the drive's clock because the server was behind.
    pub stops: Delays,
    /// Periods in which the server was behind and the clock continued.
    pub lags: Delays,
    /// The lateness of replies since the scale last changed.
    pub late: LatenessSummary,
    /// The folds of the log.
    pub folds: Folds,
    /// The slowest requests since the last fold, the slowest one first.
    pub slowest: Vec<SlowRequest>,
    /// The space that the drive uses.
    pub space: Space,
    /// The counters of the drive since it was first served.
    pub life: Life,
    /// The wear of the drive.
    pub worn: WearState,
    /// The blocks of each channel.
    pub channels: Vec<Channel>,
    /// The reports that ended with a fold of the log, oldest first.
    pub earlier: Vec<Report>,
    /// The report of the drive since the last fold.
    pub report: Report,
}

/// Folds of the log: replacements by a snapshot of the drive at rest.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Folds {
    /// How often.
    pub count: u64,
    /// The longest pause, ns of wall time.
    pub longest_ns: u64,
    /// The error of the last fold that failed.
    pub fold_failure: Option<String>,
}

/// The state of a session beside its server.
struct Session<'a> {
    config: &'a RunConfig,
    order: &'a Order,
    folder: &'a mut Option<Folder>,
    caller: &'a mut dyn Caller,
    audience: &'a mut dyn Audience,
    earlier: Vec<Report>,
    fold_failure: Option<String>,
}

impl Session<'_> {
    fn summary(&self, engine: &Engine, served: &ServerStats) -> Summary {
        let (replies, [p50_ns, p99_ns, p999_ns, max_ns]) = served.lateness.percentiles();
        let drive_ns = |wall: u64| (wall as f64 / served.scale) as u64;
        Summary {
            served_ns: served.time.as_nanos() as u64,
            replies_per_s: served.rate.per_second(),
            space: engine.space(),
            life: engine.life(),
            worn: engine.worn(),
            scale: served.scale,
            stops: served.stops,
            lags: served.lags,
            requests: served.replies,
            folds: Folds {
                count: self.earlier.len() as u64,
                longest_ns: served.longest_fold,
                fold_failure: self.fold_failure.clone(),
            },
            earlier: self.earlier.clone(),
            clients: served.clients,
            clients_refused: served.refused.0,
            refused_because: served.refused.1.clone(),
            late: LatenessSummary {
                replies,
                p50_ns,
                p99_ns,
                p999_ns,
                max_ns,
                valid_within_ns: VALID_NS,
                is_valid: p99_ns.map(|wall| drive_ns(wall) <= VALID_NS),
            },
            slowest: engine.slowest(),
            channels: engine.channels(),
            report: engine.report(self.order.commit.clone()),
        }
    }
}

impl Attendant for Session<'_> {
    fn tick(&mut self, engine: &Engine, served: &ServerStats) -> ControlFlow<()> {
        if self.audience.wants_summary() {
            let summary = self.summary(engine, served);
            self.audience.receive(&summary);
        }
        self.caller.progress(Stage::Workload, served.clients, None)
    }

    fn most_log(&self) -> u64 {
        // `ssdlab run` repeats a recorded session as a whole.
        if self.order.record.is_some() { u64::MAX } else { self.order.most_log }
    }

    fn fold(&mut self, engine: &mut Engine) -> Result<(), StateError> {
        let Some(folder) = self.folder else { return Ok(()) };
        engine.finish().map_err(StateError::Failed)?;
        let report = engine.report(self.order.commit.clone());
        let (snapshot, _) = engine.rest().map_err(StateError::Failed)?;
        match folder.fold(self.config, &snapshot, engine) {
            Ok(()) => self.earlier.push(report),
            Err(StateError::File(message)) => self.fold_failure = Some(message),
            Err(other) => return Err(other),
        }
        Ok(())
    }
}

/// Lateness of replies, in wall time: from the arrival of the request to its reading, and from its completion by the
/// drive to its reply. Percentiles are `None` if there are too few replies.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LatenessSummary {
    /// Number of replies.
    pub replies: u64,
    /// Median, ns.
    pub p50_ns: Option<u64>,
    /// 99th percentile, ns.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile, ns.
    pub p999_ns: Option<u64>,
    /// Maximum, ns.
    pub max_ns: Option<u64>,
    /// The largest valid 99th percentile, in ns of the drive's time; see [`VALID_NS`].
    pub valid_within_ns: u64,
    /// Whether the latencies that clients measure are those of the drive; `None` if there are too few replies.
    pub is_valid: Option<bool>,
}

fn written(error: WriteError) -> StateError {
    match error {
        WriteError::Exists(_) => StateError::Refused(error.to_string()),
        other => StateError::File(other.to_string()),
    }
}

/// Begin a recording of a drive in the state of `snapshot`.
fn record(folder: &Path, snapshot: &DeviceSnapshot) -> Result<Box<dyn TraceWriter>, StateError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => StateError::Refused(format!(
            "--record {}: the folder exists: give a new name",
            folder.display()
        )),
        _ => StateError::File(format!("--record {}: {error}", folder.display())),
    };
    std::fs::create_dir(folder).map_err(failed)?;
    begin_recording(folder, snapshot).inspect_err(|_| {
        // Remove the incomplete recording.
        let _ = std::fs::remove_dir_all(folder);
    })
}

fn begin_recording(
    folder: &Path,
    snapshot: &DeviceSnapshot,
) -> Result<Box<dyn TraceWriter>, StateError> {
    let saved =
        snapshots::save(snapshot, &folder.join(START), false, &mut |_| ControlFlow::Continue(()));
    saved.map_err(|error| StateError::File(error.to_string()))?;
    let requests = Columnar::create(&folder.join(REQUESTS), Options::default()).map_err(written)?;
    Ok(Box::new(requests))
}

fn listener(address: &Address) -> Result<Listener, StateError> {
    let (shown, bound) = match address {
        Address::Unix(path) => (path.display().to_string(), Listener::unix(path)),
        Address::Tcp(socket) => (socket.to_string(), Listener::tcp(*socket)),
    };
    bound.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => StateError::Refused(format!(
            "--nbd: {shown} is in use by another server or a file: stop the server, or give another address"
        )),
        io::ErrorKind::InvalidInput => StateError::Refused(format!(
            "--nbd: {shown}: the path of a socket has at most 107 bytes: give a shorter or a relative path"
        )),
        _ => StateError::Refused(format!("--nbd: {shown}: {error}")),
    })
}

/// Serve the drive of `config` until `caller` says to stop.
///
/// # Errors
/// The drive cannot be served, or its state cannot be written.
pub fn serve(
    config: &RunConfig,
    order: &Order,
    caller: &mut dyn Caller,
    audience: &mut dyn Audience,
) -> Result<Summary, StateError> {
    if let Address::Tcp(socket) = order.address
        && !socket.ip().is_loopback()
    {
        let message = "is not a loopback address, and NBD is not encrypted: give 127.0.0.1:PORT";
        return Err(StateError::Refused(format!("--nbd: {socket} {message}")));
    }
    let config = served(config, order.state.is_some())?;
    let mut folder = order.state.as_deref().map(Folder::open).transpose()?;
    let listener = listener(&order.address)?;
    let (mut engine, snapshot, mounted) = match &mut folder {
        Some(folder) => folder.drive(&config, caller)?,
        None => {
            let mut logged = config.clone();
            // `why` replays the recording with a log of operations, which needs the admission numbers on flash.
            logged.metrics.op_log |= order.record.is_some();
            let snapshot = new_drive(&logged, caller)?;
            (without_state(&config, &snapshot, &order.temporary)?, snapshot, None)
        }
    };
    if let Some(path) = &order.record {
        engine.record_to(record(path, &snapshot)?);
    }
    drop(snapshot);
    if let Some(folder) = &mut folder {
        folder.keep();
    }
    let bytes = engine.bytes();
    let recovered = mounted.map(|mounted| RecoveryReport {
        requests: mounted.requests,
        pages_lost: mounted.pages_lost,
        mount: mounted.recovery,
    });
    audience.ready(&ReadyReport { bytes, port: listener.port(), recovered });
    let export = Export {
        name: order.name.clone(),
        description: format!("ssdlab, {}", order.name),
        bytes,
        page_bytes: config.device.page_bytes,
    };
    let server = Server::new(listener, export, engine, order.pacing);
    let mut session = Session {
        config: &config,
        order,
        folder: &mut folder,
        caller,
        audience,
        earlier: Vec::new(),
        fold_failure: None,
    };
    let (mut engine, served) = server.run(&mut session)?;
    engine.finish().map_err(StateError::Failed)?;
    let summary = session.summary(&engine, &served);
    let (snapshot, requests) = engine.rest().map_err(StateError::Failed)?;
    if let Some(folder) = &mut folder {
        folder.close(&config, &snapshot, &engine)?;
    }
    if let Some(requests) = requests {
        requests.finish().map_err(written)?;
    }
    Ok(summary)
}
