//! A session of a server, from the drive as it was to the drive at rest.

use crate::nbd::handshake::Export;
use crate::server::{Listener, Server};
use crate::state::{Folder, StateError, new_drive, served, without_state};
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
use std::path::PathBuf;

/// Where clients come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Address {
    /// A Unix socket.
    Unix(PathBuf),
    /// A TCP socket of the loopback.
    Tcp(SocketAddr),
}

/// What is to be served, and how.
#[derive(Clone, PartialEq, Debug)]
pub struct Order {
    /// Where clients come.
    pub address: Address,
    /// The folder of a drive that outlives its server.
    pub state: Option<PathBuf>,
    /// A new folder for what `ssdlab run` needs to run the session again.
    pub record: Option<PathBuf>,
    /// Wall time passes so many times as fast as that of the drive.
    pub scale: f64,
    /// The name of the export.
    pub name: String,
    /// Where data without a state lie.
    pub temporary: PathBuf,
    /// Commit of the program, for the report.
    pub commit: Option<String>,
}

/// The state of the drive when a recording began, and its requests: files in the folder of the recording.
pub const START: &str = "start.snap";
/// See [`START`].
pub const REQUESTS: &str = "requests.ssdtrace";

/// What is said when clients may come.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Ready {
    /// Size of the drive.
    pub bytes: u64,
    /// The port of a TCP socket.
    pub port: Option<u16>,
    /// What was recovered, if the last server was killed.
    pub recovered: Option<Recovered>,
}

/// What was recovered after a kill.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Recovered {
    /// Requests that were run again.
    pub requests: u64,
    /// Pages of which newer data were lost.
    pub pages_lost: u64,
    /// The mount.
    pub mount: Recovery,
}

/// What a session was.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Summary {
    /// Clients that came.
    pub clients: u64,
    /// Clients that could not be understood.
    pub clients_refused: u64,
    /// Why the last one of these could not.
    pub refused_because: Option<String>,
    /// How late replies were sent.
    pub late: Late,
    /// The report of the drive.
    pub report: Report,
}

/// Wall time from the completion of a request by the drive to its reply; percentiles only of enough replies.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Late {
    /// Replies.
    pub replies: u64,
    /// Median, ns.
    pub p50_ns: Option<u64>,
    /// 99th percentile, ns.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile, ns.
    pub p999_ns: Option<u64>,
    /// Maximum, ns.
    pub max_ns: Option<u64>,
}

fn written(error: WriteError) -> StateError {
    match error {
        WriteError::Exists(_) => StateError::Refused(error.to_string()),
        other => StateError::File(other.to_string()),
    }
}

/// Begin a recording of a drive in the state of `snapshot`.
fn record(folder: &PathBuf, snapshot: &DeviceSnapshot) -> Result<Box<dyn TraceWriter>, StateError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => StateError::Refused(format!(
            "--record {}: it exists; give a new name",
            folder.display()
        )),
        _ => StateError::File(format!("{}: {error}", folder.display())),
    };
    std::fs::create_dir(folder).map_err(failed)?;
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
            "--nbd: {shown} is in use, by another server or a file: stop it, or give another address"
        )),
        _ => StateError::Refused(format!("--nbd: {shown}: {error}")),
    })
}

/// Serve the drive of `config` until `caller` says to stop; `ready` is called when clients may come.
///
/// # Errors
/// The drive cannot be served, or its state cannot be written. After a kill it is recovered as if power had been cut.
pub fn serve(
    config: &RunConfig,
    order: &Order,
    caller: &mut dyn Caller,
    ready: &mut dyn FnMut(&Ready),
) -> Result<Summary, StateError> {
    if let Address::Tcp(socket) = order.address
        && !socket.ip().is_loopback()
    {
        let why = "is not of this machine: NBD without encryption stays on the loopback, give 127.0.0.1:PORT";
        return Err(StateError::Refused(format!("--nbd: {socket} {why}")));
    }
    let config = served(config, order.state.is_some())?;
    let mut folder = order.state.as_deref().map(Folder::open).transpose()?;
    let listener = listener(&order.address)?;
    let (mut engine, snapshot, mounted) = match &mut folder {
        Some(folder) => folder.drive(&config, caller)?,
        None => {
            let snapshot = new_drive(&config, caller)?;
            (without_state(&config, &snapshot, &order.temporary)?, snapshot, None)
        }
    };
    if let Some(path) = &order.record {
        engine.record_to(record(path, &snapshot)?);
    }
    drop(snapshot);
    let bytes = engine.bytes();
    let recovered = mounted.map(|mounted| Recovered {
        requests: mounted.requests,
        pages_lost: mounted.pages_lost,
        mount: mounted.recovery,
    });
    ready(&Ready { bytes, port: listener.port(), recovered });
    let export = Export {
        name: order.name.clone(),
        description: format!("ssdlab, {}", order.name),
        bytes,
        page_bytes: config.device.page_bytes,
    };
    let server = Server::new(listener, export, engine, order.scale);
    let look = &mut |clients| caller.progress(Stage::Workload, clients, None);
    let (mut engine, served) = server.run(look).map_err(|error| {
        StateError::Failed(format!(
            "the server stops, and the drive is as after a power cut: {error}"
        ))
    })?;
    engine.finish().map_err(StateError::Failed)?;
    let report = engine.report(order.commit.clone());
    let (snapshot, requests) = engine.rest().map_err(StateError::Failed)?;
    if let Some(folder) = &mut folder {
        folder.close(&config, &snapshot, &engine)?;
    }
    if let Some(requests) = requests {
        requests.finish().map_err(written)?;
    }
    let (replies, [p50_ns, p99_ns, p999_ns, max_ns]) = served.lateness.percentiles();
    Ok(Summary {
        clients: served.clients,
        clients_refused: served.refused.0,
        refused_because: served.refused.1,
        late: Late { replies, p50_ns, p99_ns, p999_ns, max_ns },
        report,
    })
}
