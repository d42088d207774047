//! ssd-trace: the sources of requests, which are recorded traces and synthetic workloads.
//!
//! [`config`] declares `[workload]`, which the kernel does not know, and composes it with the kernel's tables. `read`
//! contains the readers of trace files, `generate` the generators of requests, some of which imitate a trace, and
//! [`mod@write`] the writers. `read` uses neither `generate` nor `write`.
//!
//! [`open`] turns `[workload]` into a [`Source`]. Route of a trace: `input` (file) -> `unpack` (archives, encodings) ->
//! `detect` (format, and what is uncertain: `readings`) -> `lines` (`records` of binary files) -> [`formats`] (one
//! line) -> `scan` (the whole file: counts, errors with line numbers, `unit`; `order`, `sort`) -> `reading` (time
//! range) -> `fit` (onto the device's addresses) -> [`replay`] (loops, time scale) -> simulator. [`raw`] leaves this
//! route after `reading`, for the statistics of [`info`] and for [`mod@write`]. ssdlab's trace files ([`columnar`])
//! enter at `scan`.

#[cfg(test)]
#[path = "../../cases.rs"]
mod cases;
pub mod config;
mod device;
mod generate;
mod papers;
mod read;
pub mod snapshots;
mod week;
mod whole_pages;
pub mod write;

pub use generate::synthetic::Synthetic;
pub use generate::{app, fio, keys, stand_in, synthetic};
pub use read::estimate::memory_bytes;
pub use read::facts::TraceFacts;
pub use read::footprint::{Totals, footprint_pages, totals};
pub use read::input::Step;
pub use read::replay::TraceSource;
pub use read::trace_cache::TraceCache;
pub use read::{columnar, facts, formats, info, raw, replay};

use crate::config::{ArrivalKind, Origin, PatternKeys, Phases, Workload};
use crate::read::formats::TraceFormat;
use generate::copies::CopyingSource;
use generate::like;
use read::phases::PhasedUpdates;
use ssd_core::config::Word as _;
use ssd_core::host::source::{Source, SourceError};
use std::io::{self, Read};
use std::ops::ControlFlow;
use whole_pages::WholePages;

/// Returns the bytes of `raw` after unpacking (compression, an archive of one file, UTF-16); other bytes are unchanged.
///
/// # Errors
/// The first bytes cannot be read.
pub fn decompressed<'a>(raw: impl Read + 'a) -> io::Result<impl Read + 'a> {
    read::unpack::unpacked(raw)
}

/// A workload that is ready to run.
pub struct OpenedSource {
    /// The requests, in order of arrival.
    pub source: Box<dyn Source + Send>,
    /// Facts about the trace; `None` for a synthetic workload.
    pub facts: Option<TraceFacts>,
    /// What the workload requires of the host; only a job file of fio requires anything.
    pub hosting: Option<fio::HostRequirements>,
}

impl OpenedSource {
    /// Returns the warnings that a reader of the results needs.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let of_trace = self.facts.as_ref().map_or_else(Vec::new, TraceFacts::warnings);
        let of_jobs = self.hosting.as_ref().and_then(fio::HostRequirements::note);
        of_trace.into_iter().chain(of_jobs).collect()
    }
}

/// Returns the source that `workload` describes, for a device of `user_pages` pages of `page_bytes` bytes (a multiple
/// of 512). `seed` is the seed of the run, which only synthetic workloads use.
///
/// A trace is read to its end here, so that its errors are reported before the simulation starts.
/// [`RunConfig::warmup`](config::RunConfig::warmup) is left to the caller, because it affects what is measured and not
/// what arrives.
///
/// # Errors
/// The file cannot be read or is not a trace, its addresses do not fit the device, or a value of
/// `workload` is out of range; the message names file and line, or the key, and the remedy.
pub fn open(
    workload: &Workload,
    page_bytes: u32,
    user_pages: u32,
    seed: u64,
) -> Result<OpenedSource, SourceError> {
    open_watched(workload, page_bytes, user_pages, seed, None, &mut |_| ControlFlow::Continue(()))
}

/// Like [`open`], but takes a trace from `store` or stores it there. `watch` receives the progress of reading, and ends
/// it by `Break`.
///
/// # Errors
/// As for [`open`]; also an error if `watch` has ended the reading.
pub fn open_watched(
    workload: &Workload,
    page_bytes: u32,
    user_pages: u32,
    seed: u64,
    store: Option<&TraceCache>,
    watch: &mut dyn FnMut(Step) -> ControlFlow<()>,
) -> Result<OpenedSource, SourceError> {
    device::check(page_bytes, user_pages)?;
    let opened = open_as_is(workload, page_bytes, user_pages, seed, store, watch)?;
    let mut source = opened.source;
    if workload.whole_pages {
        source = Box::new(WholePages::new(source, page_bytes));
    }
    if workload.copy > 0.0 {
        source =
            Box::new(CopyingSource::new(source, workload.copy, (page_bytes, user_pages), seed));
    }
    Ok(OpenedSource { source, ..opened })
}

/// Does what [`open_watched`] does, without `workload.whole_pages`.
fn open_as_is(
    workload: &Workload,
    page_bytes: u32,
    user_pages: u32,
    seed: u64,
    store: Option<&TraceCache>,
    watch: &mut dyn FnMut(Step) -> ControlFlow<()>,
) -> Result<OpenedSource, SourceError> {
    let span_bytes = (workload.span * f64::from(user_pages)) as u64 * u64::from(page_bytes);
    match workload.kind.origin() {
        Origin::Trace if workload.phases == Phases::Independent => {
            let loop_of = Workload { loops: 1, ..workload.clone() };
            let (source, facts) = read_trace(&loop_of, page_bytes, user_pages, store, watch)?;
            let form = (page_bytes, workload.loops);
            let source = Box::new(PhasedUpdates::new(source, form, seed, store, watch)?);
            let facts = Some(TraceFacts { loops: workload.loops, ..facts });
            Ok(OpenedSource { source, facts, hosting: None })
        }
        Origin::Trace => open_trace(workload, page_bytes, user_pages, store, watch),
        Origin::Shares => opened(Synthetic::new(workload, page_bytes, user_pages, seed)?),
        Origin::Application(name) => {
            if workload.like.is_some() {
                return arriving(
                    like::LikeTrace::open(workload, span_bytes, seed, watch)?,
                    workload,
                    seed,
                );
            }
            let habits = app::Habits {
                cycle: workload.cycle,
                journal_run: workload.journal_run,
                table_skew: workload.table_skew,
            };
            let published = app::Model::published(name, workload.set.word())?;
            let model = app::Model { habits, ..published };
            let interval_ns = workload.arrival.interval_ns;
            let app = app::App::new(model, span_bytes, interval_ns, workload.requests, seed)?;
            arriving(app, workload, seed)
        }
        Origin::Volume(name) => match &workload.msr {
            Some(folder) => {
                let trace = Some(stand_in::real_file(folder, name)?);
                let real = Workload { trace, format: TraceFormat::Msr, ..workload.clone() };
                open_trace(&real, page_bytes, user_pages, store, watch)
            }
            None => {
                let week = stand_in::Week::published(name)?.shrunk(workload.shrink);
                let requests = Some(workload.requests);
                let keys = PatternKeys::of(workload);
                let volume = stand_in::StandIn::new(&week, &keys, span_bytes, requests, seed)?;
                arriving(volume, workload, seed)
            }
        },
        Origin::Jobs => {
            let Some(path) = &workload.job else {
                let text = "workload.kind = \"fio\" needs a job file; name one in workload.job";
                return Err(SourceError(text.to_owned()));
            };
            let text = std::fs::read_to_string(path)
                .map_err(|error| SourceError(format!("{path}: cannot be read: {error}")))?;
            let jobs = fio::JobFile::parse(&text, path)?;
            let opened = opened(jobs.source(span_bytes, seed)?)?;
            Ok(OpenedSource { hosting: Some(jobs.hosting()), ..opened })
        }
    }
}

fn opened(source: impl Source + Send + 'static) -> Result<OpenedSource, SourceError> {
    Ok(OpenedSource { source: Box::new(source), facts: None, hosting: None })
}

/// Returns a source with its built-in arrivals, or with those of `workload.arrival`.
fn arriving(
    source: impl Source + Send + 'static,
    workload: &Workload,
    seed: u64,
) -> Result<OpenedSource, SourceError> {
    if workload.arrival.kind == ArrivalKind::Model {
        return opened(source);
    }
    opened(synthetic::RetimedSource::new(source, workload, seed)?)
}

fn open_trace(
    workload: &Workload,
    page_bytes: u32,
    user_pages: u32,
    store: Option<&TraceCache>,
    watch: &mut dyn FnMut(Step) -> ControlFlow<()>,
) -> Result<OpenedSource, SourceError> {
    let (source, facts) = read_trace(workload, page_bytes, user_pages, store, watch)?;
    Ok(OpenedSource { source: Box::new(source), facts: Some(facts), hosting: None })
}

fn read_trace(
    workload: &Workload,
    page_bytes: u32,
    user_pages: u32,
    store: Option<&TraceCache>,
    watch: &mut dyn FnMut(Step) -> ControlFlow<()>,
) -> Result<(TraceSource, TraceFacts), SourceError> {
    let Some(path) = &workload.trace else {
        let remedy = "name a file in workload.trace (\"-\" for standard input)";
        return Err(SourceError(format!("workload.kind = \"trace\" needs a trace; {remedy}")));
    };
    TraceSource::open(path, workload, page_bytes, user_pages, store, watch)
}
