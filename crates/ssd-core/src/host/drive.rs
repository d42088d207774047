//! Drivers, which feed a device from a source, open-loop or closed-loop.
//!
//! *Open loop*: requests arrive at the times of the source, and latency counts from arrival, whether or not the device
//! keeps up. Those that have to wait in the host wait in one queue, or in several that take turns. *Closed loop*: a
//! fixed number of requests is outstanding; a request arrives when another completes and the think time has passed, or
//! after a pause of all of them, until a given time. *Clients*: the source decides what arrives when, and is told of
//! every completion.

use super::ahead::Lookahead;
use super::copy;
use super::device::{Device, DeviceError};
use super::queues::{QueuedRequest, SubmissionQueues};
use super::request::{Completion, Op, Request, RequestId, TimedRequest};
use super::source::{Source, SourceError, clients_of};
use crate::config::{Host, HostMode};
use crate::units::Nanos;
use std::ops::ControlFlow;

/// Completions between two reports of progress.
const PROGRESS_EVERY: u64 = 4096;

/// How far a run has got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Requests submitted.
    pub submitted: u64,
    /// Requests completed.
    pub completed: u64,
    /// Simulated time.
    pub now: Nanos,
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Requests submitted and completed.
    pub progress: Progress,
    /// The observer asked to stop before the source was exhausted.
    pub interrupted: bool,
}

/// Why a run could not continue.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DriveError {
    /// The source failed.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Watches a run: called every few thousand completions with the device, for progress and logs.
/// `Break` stops the run cleanly.
pub type Observer<'a, D> = dyn FnMut(&mut D, &Progress) -> ControlFlow<()> + 'a;

/// Requests fetched ahead of their submission.
struct Feed<'a> {
    source: &'a mut dyn Source,
    ahead: Lookahead<TimedRequest>,
}

impl<'a> Feed<'a> {
    fn new(source: &'a mut dyn Source) -> Feed<'a> {
        Feed { source, ahead: Lookahead::new() }
    }

    /// The next request; the device prefetches for some of the following ones.
    #[inline(always)]
    fn next<D: Device>(&mut self, device: &D) -> Result<Option<&TimedRequest>, SourceError> {
        if self.ahead.must_turn()
            && !self.ahead.turn(|batch, most| self.source.fill(batch, most))?
        {
            return Ok(None);
        }
        let far = |next: &TimedRequest| device.hint(&next.request);
        let near = |next: &TimedRequest| device.hint_soon(&next.request);
        Ok(self.ahead.next_in_place(far, near))
    }
}

impl Feed<'_> {
    /// Submit the request that the last `next` returned; a copy with its source ranges.
    #[inline(always)]
    fn submit<D: Device>(
        &mut self,
        device: &mut D,
        at: Nanos,
        request: Request,
    ) -> Result<(), DeviceError> {
        if request.op == Op::Copy {
            submit_copy(device, self.source, at, &request)?;
        } else {
            device.submit(at, &request, None)?;
        }
        Ok(())
    }
}

#[cold]
#[inline(never)]
fn submit_copy<D: Device>(
    device: &mut D,
    source: &mut dyn Source,
    at: Nanos,
    request: &Request,
) -> Result<RequestId, DeviceError> {
    let ranges = copy::encode(&source.copy_sources());
    device.submit(at, request, Some(&ranges))
}

/// Run `source`, whose times count from the device's present, on `device` until every request has completed
/// or the observer stops the run.
///
/// # Errors
/// A [`DriveError`] when the source or the device fails.
pub fn drive<D: Device>(
    device: &mut D,
    host: &Host,
    source: &mut dyn Source,
    observer: &mut Observer<'_, D>,
) -> Result<Outcome, DriveError> {
    if source.clients().is_some() {
        return serve_clients(device, source, observer);
    }
    let mut feed = Feed::new(source);
    match host.mode {
        HostMode::Open if host.queues > 1 => open_loop_by_turns(device, host, &mut feed, observer),
        HostMode::Open => open_loop(device, host.max_outstanding, &mut feed, observer),
        HostMode::Closed => closed_loop(device, host, &mut feed, observer),
    }
}

fn open_loop<D: Device>(
    device: &mut D,
    max_outstanding: u32,
    feed: &mut Feed<'_>,
    observer: &mut Observer<'_, D>,
) -> Result<Outcome, DriveError> {
    let most = if max_outstanding == 0 { u64::MAX } else { u64::from(max_outstanding) };
    let mut done = Vec::new();
    let start = device.now();
    let mut p = Progress { submitted: 0, completed: 0, now: start };
    let mut next = feed.next(device)?.copied();
    loop {
        while let Some(request) = next {
            // Distant arrivals wait in the feed, so that a device holds no more than it must.
            let at = start + request.at;
            let due = at <= p.now || p.submitted - p.completed < 2;
            if !due || p.submitted - p.completed >= most {
                break;
            }
            feed.submit(device, at, request.request)?;
            p.submitted += 1;
            next = feed.next(device)?.copied();
        }
        if next.is_none() && p.submitted == p.completed {
            break;
        }
        let full = p.submitted - p.completed >= most;
        // Up to the instant before the next arrival, which must be submitted before its instant begins.
        let arrival = next.filter(|_| !full).map(|request| start + request.at);
        let limit = arrival.map_or(Nanos::NEVER, |at| Nanos(at.0.saturating_sub(1)));
        let reached = device.run_until(limit, &mut done)?;
        p.now = arrival.filter(|_| done.is_empty()).unwrap_or(reached);
        if count(&mut p, &mut done) && observer(device, &p).is_break() {
            return Ok(Outcome { progress: p, interrupted: true });
        }
    }
    Ok(Outcome { progress: p, interrupted: false })
}

/// The open loop with several queues. A request for which there is room is submitted when it arrives, so that queues
/// are empty unless `max_outstanding` requests are in the device.
fn open_loop_by_turns<D: Device>(
    device: &mut D,
    host: &Host,
    feed: &mut Feed<'_>,
    observer: &mut Observer<'_, D>,
) -> Result<Outcome, DriveError> {
    let most = u64::from(host.max_outstanding);
    assert!(most > 0, "the config layer has checked that requests may wait");
    let mut queues = SubmissionQueues::new(host.queues);
    let mut done = Vec::new();
    let start = device.now();
    let mut p = Progress { submitted: 0, completed: 0, now: start };
    let mut next = feed.next(device)?.copied();
    loop {
        while let Some(timed) = next.take_if(|timed| start + timed.at <= p.now) {
            let sources =
                (timed.request.op == Op::Copy).then(|| copy::encode(&feed.source.copy_sources()));
            queues.push(QueuedRequest { timed, sources });
            next = feed.next(device)?.copied();
        }
        while p.submitted - p.completed < most
            && let Some(QueuedRequest { timed, sources }) = queues.pop()
        {
            device.submit(start + timed.at, &timed.request, sources.as_deref())?;
            p.submitted += 1;
        }
        if next.is_none() && p.submitted == p.completed {
            debug_assert!(queues.is_empty(), "a request waits for nothing");
            break;
        }
        let full = p.submitted - p.completed >= most;
        let arrival = next.filter(|_| !full).map(|timed| start + timed.at);
        let limit = arrival.map_or(Nanos::NEVER, |at| Nanos(at.0.saturating_sub(1)));
        let reached = device.run_until(limit, &mut done)?;
        p.now = arrival.filter(|_| done.is_empty()).unwrap_or(reached);
        if count(&mut p, &mut done) && observer(device, &p).is_break() {
            return Ok(Outcome { progress: p, interrupted: true });
        }
    }
    Ok(Outcome { progress: p, interrupted: false })
}

fn closed_loop<D: Device>(
    device: &mut D,
    host: &Host,
    feed: &mut Feed<'_>,
    observer: &mut Observer<'_, D>,
) -> Result<Outcome, DriveError> {
    let mut done = Vec::new();
    let start = device.now();
    let mut p = Progress { submitted: 0, completed: 0, now: start };
    let depth = u64::from(host.queue_depth);
    assert!(depth > 0, "the config layer has checked the queue depth");
    let end =
        if host.stop_after_ns == 0 { Nanos::NEVER } else { start + Nanos(host.stop_after_ns) };
    // Requests until all pause together; a single request follows the one before after `think_ns`.
    let (together, think_ns) = match host.think_every {
        0 | 1 => (u64::MAX, host.think_time_ns),
        every => (u64::from(every), 0),
    };
    let (mut pause_at, mut resumed) = (together, start);
    loop {
        if p.completed == pause_at {
            (pause_at, resumed) = (pause_at + together, Nanos(p.now.0 + host.think_time_ns));
        }
        let most = (p.completed + depth).min(pause_at);
        while p.submitted < most {
            let thinks = p.submitted >= depth;
            let at = Nanos(p.now.0 + if thinks { think_ns } else { 0 }).max(resumed);
            if at >= end {
                break;
            }
            let Some(request) = feed.next(device)?.map(|next| next.request) else { break };
            feed.submit(device, at, request)?;
            p.submitted += 1;
        }
        if p.submitted == p.completed {
            break;
        }
        p.now = device.run_until(Nanos::NEVER, &mut done)?;
        if count(&mut p, &mut done) && observer(device, &p).is_break() {
            return Ok(Outcome { progress: p, interrupted: true });
        }
    }
    Ok(Outcome { progress: p, interrupted: false })
}

/// Serve the clients of `source` until all of them have ended.
fn serve_clients<D: Device>(
    device: &mut D,
    source: &mut dyn Source,
    observer: &mut Observer<'_, D>,
) -> Result<Outcome, DriveError> {
    let mut done: Vec<Completion> = Vec::new();
    let start = device.now();
    let mut p = Progress { submitted: 0, completed: 0, now: start };
    let (mut first, mut last) = (None, start);
    loop {
        while let Some(next) = clients_of(source).arrive(Nanos(p.now.0 - start.0))? {
            debug_assert!(
                start + next.at == p.now || device.now() == p.now,
                "an earlier arrival without a completion"
            );
            // A device takes arrivals in order. An intended arrival before the last one counts as simultaneous with it.
            last = last.max(start + next.at);
            let id = match next.request.op {
                Op::Copy => submit_copy(device, source, last, &next.request)?,
                _ => device.submit(last, &next.request, None)?,
            };
            first.get_or_insert(id.0);
            p.submitted += 1;
        }
        let due = clients_of(source).due().map(|at| start + at);
        if due.is_none() && p.submitted == p.completed {
            break;
        }
        let limit = due.map_or(Nanos::NEVER, |at| Nanos(at.0.saturating_sub(1)));
        let reached = device.run_until(limit, &mut done)?;
        p.now = due.filter(|_| done.is_empty()).unwrap_or(reached);
        for completion in &done {
            clients_of(source).completed(completion.id.0 - first.unwrap_or(0));
        }
        if count(&mut p, &mut done) && observer(device, &p).is_break() {
            return Ok(Outcome { progress: p, interrupted: true });
        }
    }
    Ok(Outcome { progress: p, interrupted: false })
}

/// Count completions. Returns whether a progress report is due.
fn count(p: &mut Progress, done: &mut Vec<Completion>) -> bool {
    let before = p.completed / PROGRESS_EVERY;
    p.completed += done.len() as u64;
    done.clear();
    p.completed / PROGRESS_EVERY != before
}
