//! Opening the workload, in a thread that can be abandoned.
#![allow(
    clippy::disallowed_methods,
    reason = "threads are banned in the core; this one only reads"
)]

use crate::caller::{Caller, Stage};
use crate::error::RunError;
use ssd_core::config::{Host, HostMode, Mode};
use ssd_core::ftl::separation::fdp;
use ssd_trace::config::ArrivalKind;
use ssd_trace::config::RunConfig;
use ssd_trace::fio::HostRequirements;
use ssd_trace::{OpenedSource, Step, TraceCache, TraceFacts};
use std::fs::Metadata;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between two calls of the caller.
const POLL: Duration = Duration::from_millis(100);

/// The progress of a reading, shared by the thread that reads and the one that waits for it.
#[derive(Default)]
struct Reading {
    bytes: AtomicU64,
    /// Requests sorted, and their total; 0 if none are sorted.
    sorted: AtomicU64,
    to_sort: AtomicU64,
    /// Whether nobody waits for it any more.
    abandoned: AtomicBool,
}

impl Reading {
    /// Note a step; `Break` if nobody waits.
    fn note(&self, step: Step) -> ControlFlow<()> {
        match step {
            Step::Read(bytes) => self.bytes.store(bytes, Ordering::Relaxed),
            Step::Sorted { done, total } => {
                self.sorted.store(done, Ordering::Relaxed);
                self.to_sort.store(total, Ordering::Relaxed);
            }
        }
        let abandoned = self.abandoned.load(Ordering::Relaxed);
        if abandoned { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Report the progress of reading a file of `file_bytes` to `caller`; abandon the reading if that breaks.
    fn report(
        &self,
        caller: &mut dyn Caller,
        finished: bool,
        file_bytes: Option<u64>,
    ) -> ControlFlow<()> {
        let now = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (stage, done, total) = match now(&self.to_sort) {
            0 => (Stage::Reading, now(&self.bytes), file_bytes),
            sorted_bytes => (Stage::Sorting, now(&self.sorted), Some(sorted_bytes)),
        };
        let done = if finished { total.unwrap_or(done) } else { done };
        let go_on = caller.progress(stage, done, total);
        self.abandoned.store(go_on.is_break(), Ordering::Relaxed);
        go_on
    }
}

/// Open the workload of `config`, and apply the settings of a job file to `config.host`.
///
/// A trace is read in its own thread: its bytes may come from a pipe and never arrive. If the caller ends the run
/// meanwhile, the thread is left behind and ends at its next step.
///
/// # Errors
/// [`RunError::Workload`], or [`RunError::Interrupted`] by the caller.
pub fn open_workload(
    config: &mut RunConfig,
    caller: &mut dyn Caller,
) -> Result<OpenedSource, RunError> {
    let workload = &config.workload;
    let file = workload.trace.as_ref().or(workload.like.as_ref()).map(std::fs::metadata);
    let file_bytes = file.and_then(Result::ok).filter(Metadata::is_file).map(|file| file.len());
    let reading = Arc::new(Reading::default());
    let (reader, receiver) = start_reading(config, caller.traces(), Arc::clone(&reading));
    let opened = loop {
        match receiver.recv_timeout(POLL) {
            Ok(opened) => break opened.map_err(|e| RunError::Workload(e.to_string()))?,
            Err(RecvTimeoutError::Timeout) => {
                if reading.report(caller, false, file_bytes).is_break() {
                    return Err(RunError::Interrupted);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                let panic = reader.join().err();
                std::panic::resume_unwind(panic.unwrap_or_else(|| Box::new("no workload was sent")))
            }
        }
    };
    if file_bytes.is_some() && reading.report(caller, true, file_bytes).is_break() {
        return Err(RunError::Interrupted);
    }
    let copies = opened.facts.as_ref().map_or(0, |facts| facts.requests.copy);
    if copies > 0 && config.remap.is_off() {
        let file = config.workload.trace.as_deref().unwrap_or_default();
        return Err(RunError::Workload(format!(
            "{file}: {copies} copies, and the device refuses copies: set remap.mode = \"share\" or \"copy\""
        )));
    }
    check_handles(config, opened.facts.as_ref()).map_err(RunError::Workload)?;
    if let Some(hosting) = &opened.hosting {
        if config.run.mode == Mode::Functional
            && let Some(reason) = &hosting.needs_time
        {
            return Err(RunError::Workload(reason.clone()));
        }
        follow(&mut config.host, hosting).map_err(RunError::Workload)?;
    }
    Ok(opened)
}

/// Check that the reclaim unit handles of the device are those that the writes name.
fn check_handles(config: &RunConfig, facts: Option<&TraceFacts>) -> Result<(), String> {
    let Some(handles) = fdp::handles(&config.alloc.separation) else { return Ok(()) };
    let (origin, streams) = match facts {
        Some(facts) => (facts.file.as_str(), &facts.write_streams[..]),
        // A synthetic workload.
        None => ("workload.kind", &[0][..]),
    };
    let needed = streams.last().map_or(1, |&last| u32::from(last) + 1);
    if handles == needed {
        return Ok(());
    }
    let listed: Vec<String> = streams.iter().map(u8::to_string).collect();
    let several = if streams.len() == 1 { "" } else { "s" };
    let wrong = if handles < needed {
        "a write of another stream has no handle".to_owned()
    } else {
        format!("no write names handle {}", handles - 1)
    };
    let remedy = if needed <= fdp::MOST_HANDLES {
        format!("set handles = {needed}")
    } else {
        format!("there are at most {} handles: use fewer streams or volumes", fdp::MOST_HANDLES)
    };
    Err(format!(
        "alloc.separation: \"fdp\" has handles = {handles}, and the writes of {origin} have stream{several} {}: \
         {wrong}; {remedy}",
        listed.join(", ")
    ))
}

type OpenResult = Result<OpenedSource, ssd_core::host::source::SourceError>;

/// Start the thread that opens the workload of `config`.
fn start_reading(
    config: &RunConfig,
    traces: Option<Arc<TraceCache>>,
    reading: Arc<Reading>,
) -> (JoinHandle<()>, Receiver<OpenResult>) {
    let (page_bytes, user_pages) = (config.device.page_bytes, config.device.user_pages);
    let (seed, mut workload) = (config.workload_seed(), config.workload.clone());
    if config.host.mode == HostMode::Closed || config.run.mode == Mode::Functional {
        // Arrival times are ignored, so skip the logarithms. They have their own random stream.
        workload.arrival.kind = ArrivalKind::Fixed;
    }
    let (sender, receiver) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut watch = |step| reading.note(step);
        let store = traces.as_deref();
        let opened =
            ssd_trace::open_watched(&workload, page_bytes, user_pages, seed, store, &mut watch);
        // Without a receiver the workload is not needed any more.
        let _ = sender.send(opened);
    });
    (reader, receiver)
}

/// Set `host` as a fio job file needs it. The configuration is ignored here, because a preset is meant for other
/// workloads. The jobs themselves keep to their depths and rates.
fn follow(host: &mut Host, hosting: &HostRequirements) -> Result<(), String> {
    let most = "workload.job: the job file asks for more than 65536 requests outstanding";
    host.queue_depth = u32::try_from(hosting.depth).ok().filter(|&n| n <= 65_536).ok_or(most)?;
    host.mode = if hosting.is_open { HostMode::Open } else { HostMode::Closed };
    let plain = Host::default();
    host.think_time_ns = plain.think_time_ns;
    (host.think_every, host.stop_after_ns) = (plain.think_every, plain.stop_after_ns);
    Ok(())
}
