//! One run from start to end: precondition, drive, report.
//!
//! The crate does no I/O: the caller supplies the requests and watches the run; clocks, files and terminals
//! are outside.

use crate::config::{Config, GcPath, InterconnectModel, Mode};
use crate::ftl::Ftl;
use crate::ftl::plugs::Plugs;
use crate::host::ahead::Ahead;
use crate::host::device::{Device, DeviceError};
use crate::host::drive::{self, DriveError, Progress};
use crate::host::request::{Op, Request, Source, TimedRequest};
use crate::metrics::Measurements;
use crate::metrics::build::{DeviceState, Inputs};
use crate::metrics::counters::Cause;
use crate::metrics::distributions;
use crate::metrics::histogram::Histogram;
use crate::metrics::report::{Provenance, Report, TraceLines};
use crate::sim::functional::Functional;
use crate::sim::log::OpRecord;
use crate::sim::request::RequestRecord;
use crate::sim::ssd::Ssd;
use crate::units::{Lpn, Nanos, Ppn};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// The phase of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Preconditioning; counted in pages.
    Precondition,
    /// The workload; counted in requests.
    Workload,
}

/// One programmed page of the state in which a log starts.
#[derive(Clone, Copy, Debug)]
pub struct StateRow {
    /// Its address.
    pub place: crate::nand::geometry::PageAddress,
    /// The logical page it was written for.
    pub lpn: u32,
    /// Admission number of its data.
    pub sequence: u64,
    /// Whether the data are current.
    pub valid: bool,
}

/// Watches a run. Every method may end it.
pub trait Watcher {
    /// Wall-clock and processor time in nanoseconds, read before and after the workload.
    fn clock(&mut self) -> Option<(u64, u64)> {
        None
    }

    /// Called every few thousand steps; `Break` stops the run cleanly and keeps the results so far.
    fn progress(&mut self, stage: Stage, done: u64, total: Option<u64>) -> ControlFlow<()> {
        let _ = (stage, done, total);
        ControlFlow::Continue(())
    }

    /// The programmed pages when the workload starts (`metrics.op_log`).
    ///
    /// # Errors
    /// A message; the run ends with it.
    fn state(&mut self, rows: &mut dyn Iterator<Item = StateRow>) -> Result<(), String> {
        let _ = rows;
        Ok(())
    }

    /// Operations that have ended, in order of start (`metrics.op_log`).
    ///
    /// # Errors
    /// A message; the run ends with it.
    fn operations(&mut self, records: &[OpRecord]) -> Result<(), String> {
        let _ = records;
        Ok(())
    }

    /// Requests that have completed (`metrics.request_log`).
    ///
    /// # Errors
    /// A message; the run ends with it.
    fn requests(&mut self, records: &[RequestRecord]) -> Result<(), String> {
        let _ = records;
        Ok(())
    }
}

/// A watcher that watches nothing.
pub struct Unwatched;
impl Watcher for Unwatched {}

/// What the caller knows about a run, and what it contributes.
#[derive(Clone, Debug, Default)]
pub struct Circumstances {
    /// Commit of the program.
    pub commit: Option<String>,
    /// Digest of the trace.
    pub trace_digest: Option<String>,
    /// Lines of the trace.
    pub trace_lines: Option<TraceLines>,
    /// Digest of the snapshot that the run starts from.
    pub snapshot_digest: Option<String>,
    /// Warnings that go into the report.
    pub warnings: Vec<String>,
    /// Recompute all invariants once in this many instants; 0: never.
    pub audit_every: u64,
    /// External policies, which replace those that the configuration names.
    pub plugs: Plugs,
}

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Every request completed.
    Completed,
    /// The watcher stopped it.
    Interrupted,
    /// It could not continue.
    Failed(String),
}

/// A finished run.
pub struct Finished {
    /// Its report.
    pub report: Report,
    /// Rows of the time series.
    pub series: crate::metrics::series::Series,
    /// Distributions behind the report's means and percentiles, as CSV.
    pub distributions: String,
    /// How it ended.
    pub ending: Ending,
    /// Digest of all events in order.
    pub event_digest: u64,
}

/// Precondition the device of `config` and run `source` on it. (If the device starts from a snapshot, the
/// caller loads it: [`run_from`].)
pub fn run(
    config: &Config,
    source: &mut dyn Source,
    circumstances: &Circumstances,
    watcher: &mut dyn Watcher,
) -> Finished {
    assert_eq!(config.precondition.snapshot, None, "the caller loads snapshots");
    let mut functional = Functional::with_plugs(config, &circumstances.plugs);
    let mut keep_going =
        |done, total| watcher.progress(Stage::Precondition, done, Some(total)).is_continue();
    let ending = match functional.precondition(config, &mut keep_going) {
        Ok(true) => None,
        Ok(false) | Err(DeviceError::Interrupted) => Some(Ending::Interrupted),
        Err(e) => Some(Ending::Failed(format!("preconditioning failed: {e}"))),
    };
    run_over(config, functional, ending, source, circumstances, watcher)
}

/// Run `source` on a device of `config` in its present state, such as one made by [`Functional::restore`].
pub fn run_from(
    config: &Config,
    device: Functional,
    source: &mut dyn Source,
    circumstances: &Circumstances,
    watcher: &mut dyn Watcher,
) -> Finished {
    run_over(config, device, None, source, circumstances, watcher)
}

/// Run on a preconditioned device, or report how its preconditioning ended.
fn run_over(
    config: &Config,
    functional: Functional,
    ending: Option<Ending>,
    source: &mut dyn Source,
    circumstances: &Circumstances,
    watcher: &mut dyn Watcher,
) -> Finished {
    if config.run.mode == Mode::Functional {
        return run_functional(config, functional, source, circumstances, watcher, ending);
    }
    let sequence = functional.sequence();
    let mut ssd = Ssd::with_plugs(config, functional.ftl, sequence, &circumstances.plugs);
    ssd.audit_every(circumstances.audit_every);
    let before = watcher.clock();
    let mut annotated = circumstances.clone();
    let mut ending = match ending {
        Some(ending) => unfinished_precondition(ending, &mut annotated),
        None => run_timed(config, &mut ssd, source, watcher),
    };
    let clock = elapsed(before, watcher.clock());
    if ssd.discard_warmup() {
        ending = all_warmup(config, ending, ssd.submitted(), &mut annotated);
    }
    let report = report_timed(config, &ssd, &annotated, &ending, clock);
    let series = ssd.measured.series.clone();
    let distributions = distributions::csv(&ssd.measured, &ssd.erases());
    let event_digest = ssd.event_digest;
    let ending = match finish_logs(config, &mut ssd, watcher) {
        Err(message) if ending == Ending::Completed => Ending::Failed(message),
        _ => ending,
    };
    Finished { report, series, distributions, ending, event_digest }
}

/// Report the run so far of a device that the caller drives; `Interrupted` while requests are outstanding.
#[must_use]
pub fn so_far(config: &Config, ssd: &Ssd, circumstances: &Circumstances) -> Finished {
    let under_way = ssd.outstanding() > 0;
    let ending = if under_way { Ending::Interrupted } else { Ending::Completed };
    Finished {
        report: report_timed(config, ssd, circumstances, &ending, None),
        series: ssd.measured.series.clone(),
        distributions: distributions::csv(&ssd.measured, &ssd.erases()),
        ending,
        event_digest: ssd.event_digest,
    }
}

/// The run ended before its workload began.
fn unfinished_precondition(ending: Ending, annotated: &mut Circumstances) -> Ending {
    if ending == Ending::Interrupted {
        annotated
            .warnings
            .push("interrupted while preconditioning: the workload did not begin".into());
    }
    ending
}

/// The run ended within its warm-up: nothing was measured.
fn all_warmup(
    config: &Config,
    ending: Ending,
    requests: u64,
    annotated: &mut Circumstances,
) -> Ending {
    let message = format!(
        "the run ended after {requests} requests, within its warm-up of {}: nothing was measured; \
         lower workload.warmup_requests",
        config.workload.warmup_requests
    );
    annotated.warnings.push(message.clone());
    if ending == Ending::Completed { Ending::Failed(message) } else { ending }
}

/// Wall and processor time between two readings.
fn elapsed(before: Option<(u64, u64)>, after: Option<(u64, u64)>) -> Option<(u64, u64)> {
    let ((wall, cpu), (wall_end, cpu_end)) = (before?, after?);
    Some((wall_end.saturating_sub(wall), cpu_end.saturating_sub(cpu)))
}

fn run_timed(
    config: &Config,
    ssd: &mut Ssd,
    source: &mut dyn Source,
    watcher: &mut dyn Watcher,
) -> Ending {
    if config.metrics.op_log
        && let Err(message) = watcher.state(&mut state_rows(&ssd.ftl))
    {
        return Ending::Failed(message);
    }
    let total = source.expected();
    let mut trouble = None;
    let mut observer = |ssd: &mut Ssd, p: &Progress| {
        if let Err(message) = hand_over(config, ssd, watcher) {
            trouble = Some(message);
            return ControlFlow::Break(());
        }
        watcher.progress(Stage::Workload, p.completed, total)
    };
    let outcome = drive::drive(ssd, &config.host, source, &mut observer);
    match (trouble, outcome) {
        (Some(message), _) => Ending::Failed(message),
        (None, Ok(outcome)) if outcome.interrupted => Ending::Interrupted,
        (None, Ok(_)) => ended(ssd.empty_buffer()),
        (None, Err(DriveError::Source(e))) => Ending::Failed(e.to_string()),
        (None, Err(DriveError::Device(DeviceError::Interrupted))) => Ending::Interrupted,
        (None, Err(DriveError::Device(e))) => Ending::Failed(e.to_string()),
    }
}

/// Pass the log records so far to the watcher.
fn hand_over(config: &Config, ssd: &mut Ssd, watcher: &mut dyn Watcher) -> Result<(), String> {
    if config.metrics.op_log {
        let mut records = Vec::new();
        ssd.drain_operations(&mut records);
        watcher.operations(&records)?;
    }
    if config.metrics.request_log {
        let mut records = Vec::new();
        ssd.drain_requests(&mut records);
        watcher.requests(&records)?;
    }
    Ok(())
}

/// Let running operations end, so that each has a log record, and pass the remaining records on.
fn finish_logs(config: &Config, ssd: &mut Ssd, watcher: &mut dyn Watcher) -> Result<(), String> {
    hand_over(config, ssd, watcher)?;
    if !config.metrics.op_log {
        return Ok(());
    }
    // Requests of a stopped run that complete only now count as not completed in its report.
    ssd.quiesce().map_err(|e: DeviceError| e.to_string())?;
    let mut records = Vec::new();
    ssd.drain_operations(&mut records);
    watcher.operations(&records)
}

fn state_rows(ftl: &Ftl) -> impl Iterator<Item = StateRow> + '_ {
    let mut pages: Vec<_> = (0..ftl.geo.pages)
        .map(Ppn)
        .filter(|&p| ftl.media.lpn(p).0 != u32::MAX)
        .map(|p| (ftl.geo.place(p), p))
        .collect();
    pages.sort_unstable();
    pages.into_iter().map(|(place, p)| StateRow {
        place,
        lpn: ftl.media.lpn(p).0,
        sequence: ftl.media.sequence(p),
        valid: ftl.owners.is_valid(p),
    })
}

fn run_functional(
    config: &Config,
    mut f: Functional,
    source: &mut dyn Source,
    circumstances: &Circumstances,
    watcher: &mut dyn Watcher,
    ending: Option<Ending>,
) -> Finished {
    let mut annotated = circumstances.clone();
    let mut start_of_measurement = Baseline::take(&mut f);
    let mut measured = Measurements::new(Nanos::ZERO, false);
    let start = watcher.clock();
    let warmup = config.workload.warmup_requests;
    let ending = match ending {
        Some(ending) => unfinished_precondition(ending, &mut annotated),
        None => {
            let mut warm = |f: &mut Functional, m: &mut Measurements| {
                start_of_measurement = Baseline::take(f);
                m.restart(Nanos::ZERO);
            };
            let ending =
                drive_functional(config, &mut f, source, &mut measured, watcher, &mut warm);
            let done = measured.host.submitted.iter().sum::<u64>();
            if warmup > 0 && measured.warmup == 0 {
                warm(&mut f, &mut measured);
                all_warmup(config, ending, done, &mut annotated)
            } else {
                ending
            }
        }
    };
    let clock = elapsed(start, watcher.clock());
    let t = f.tally;
    measured.victim_invalid = std::mem::take(&mut f.victim_invalid);
    measured.host.pages_written = t.host_pages;
    measured.flash.programs[Cause::Host.at()] = t.host_pages;
    measured.flash.programs[Cause::Gc.at()] = t.gc_pages;
    measured.flash.reads[Cause::Gc.at()] = t.gc_pages;
    measured.flash.erases[Cause::Gc.at()] = t.victims * u64::from(f.ftl.geo.members);
    measured.flash.programs[Cause::Wear.at()] = t.wear_pages;
    measured.flash.reads[Cause::Wear.at()] = t.wear_pages;
    measured.flash.erases[Cause::Wear.at()] = t.levelled * u64::from(f.ftl.geo.members);
    measured.wear.calls = t.levelled;
    measured.wear.pages.moved = t.wear_pages;
    let gc = &mut measured.gc;
    (gc.calls, gc.foreground, gc.background) = (t.victims, t.foreground, t.victims - t.foreground);
    gc.victims.reserve_greedy = t.by_reserve;
    gc.victims.policy = t.victims - t.by_reserve;
    (gc.victims.unmet, gc.victims.decided) = (t.unmet, t.decided);
    gc.pages.moved = t.gc_pages;
    gc.victim_valid_sum = t.victim_valid;
    gc.victim_pages_sum = t.victims * u64::from(f.ftl.geo.pages_per_block);
    let erased: Vec<u32> =
        f.ftl.blocks.erases.iter().zip(&start_of_measurement.erases).map(|(n, b)| n - b).collect();
    let end = End {
        ended: Nanos::ZERO,
        at_rest: true,
        pages_before: start_of_measurement.sequence,
        buffered_pages: None,
        host_crosses: None,
        erases: &erased,
        busy: (&[], &[]),
        clock,
    };
    let report = report(config, &f.ftl, &measured, &annotated, &ending, end);
    let distributions = distributions::csv(&measured, &erased);
    Finished { report, series: measured.series, distributions, ending, event_digest: 0 }
}

/// Where the measurement of a functional run starts.
struct Baseline {
    sequence: u64,
    erases: Vec<u32>,
}

impl Baseline {
    /// Here; the counters so far are discarded.
    fn take(f: &mut Functional) -> Baseline {
        f.tally = Default::default();
        f.victim_invalid = Histogram::new();
        f.ftl.space.restart_lowest();
        Baseline { sequence: f.sequence(), erases: f.ftl.blocks.erases.clone() }
    }
}

/// Requests of a functional run between two reports of progress.
const PROGRESS_EVERY: u64 = 65_536;

fn drive_functional(
    config: &Config,
    f: &mut Functional,
    source: &mut dyn Source,
    m: &mut Measurements,
    watcher: &mut dyn Watcher,
    warm: &mut dyn FnMut(&mut Functional, &mut Measurements),
) -> Ending {
    let total = source.expected();
    let mut ahead = Ahead::new();
    let warmup = config.workload.warmup_requests;
    for id in 0u64.. {
        let request = loop {
            let far = |next: &TimedRequest| f.ftl.owners.prefetch(first_page(f, &next.request));
            let near = |next: &TimedRequest| f.ftl.prefetch_write(first_page(f, &next.request));
            if let Some(request) = ahead.next(far, near) {
                break request;
            }
            match ahead.turn(|batch, most| source.fill(batch, most)) {
                Ok(true) => {}
                Ok(false) => return ended(f.heed_policies()),
                Err(e) => return Ending::Failed(e.to_string()),
            }
        };
        let due = id % PROGRESS_EVERY == 0 || f.is_time_to_look();
        if due && watcher.progress(Stage::Workload, id, total).is_break() {
            return Ending::Interrupted;
        }
        if id == warmup && id > 0 {
            warm(f, m);
        }
        if let failed @ Err(_) = execute(f, &request.request, id, m) {
            return ended(failed);
        }
    }
    unreachable!("requests end before their numbers do")
}

/// The ending of a run whose last step returned `done`.
fn ended(done: Result<(), DeviceError>) -> Ending {
    match done {
        Ok(()) => Ending::Completed,
        Err(DeviceError::Interrupted) => Ending::Interrupted,
        Err(e) => Ending::Failed(e.to_string()),
    }
}

/// The first page that `request` touches.
fn first_page(f: &Functional, request: &Request) -> Lpn {
    Lpn((request.sector >> f.ftl.geo.sector_shift) as u32)
}

/// One request in functional mode.
#[inline]
fn execute(
    f: &mut Functional,
    r: &Request,
    id: u64,
    m: &mut Measurements,
) -> Result<(), DeviceError> {
    crate::sim::ssd::check(&f.ftl.geo, id, r)?;
    let pages = crate::sim::admit::pages_of(&f.ftl.geo, r);
    m.host.submitted[r.op as usize] += 1;
    match r.op {
        Op::Read => m.host.pages_read += u64::from(pages.count),
        Op::Write => {
            for i in 0..pages.count {
                f.write(Lpn(pages.first + i), r.stream)?;
            }
            m.course.record(f.tally.host_pages, f.tally.programs());
        }
        Op::Trim => {
            for i in 0..pages.count {
                m.host.pages_trimmed += u64::from(f.trim(Lpn(pages.first + i)));
            }
        }
        Op::Flush => {}
    }
    m.host.completed[r.op as usize] += 1;
    Ok(())
}

/// The end of a run.
struct End<'a> {
    ended: Nanos,
    at_rest: bool,
    pages_before: u64,
    /// Pages in the write buffer; `None` without one.
    buffered_pages: Option<u64>,
    /// See [`DeviceState::host_crosses`].
    host_crosses: Option<bool>,
    erases: &'a [u32],
    /// Busy time of channels and chips.
    busy: (&'a [u64], &'a [u64]),
    /// Wall-clock and processor time.
    clock: Option<(u64, u64)>,
}

fn report_timed(
    config: &Config,
    ssd: &Ssd,
    c: &Circumstances,
    ending: &Ending,
    clock: Option<(u64, u64)>,
) -> Report {
    let end = End {
        ended: ssd.now(),
        at_rest: ssd.at_rest(),
        pages_before: ssd.pages_before(),
        buffered_pages: (config.host.write_buffer_pages > 0).then(|| ssd.buffered_pages()),
        host_crosses: host_crosses(config),
        erases: &ssd.erases(),
        busy: (&ssd.channel_busy_ns(), &ssd.chip_busy_ns()),
        clock,
    };
    let mut report = report(config, &ssd.ftl, &ssd.measured, c, ending, end);
    report.gc.pages_in_flight = ssd.pages_in_flight(Cause::Gc);
    report.wear.pages_in_flight = ssd.pages_in_flight(Cause::Wear);
    report.provenance.event_digest = Some(format!("{:016x}", ssd.event_digest));
    report
}

/// Whether host pages cross an interconnect; `None` if the path of pages has no special features.
fn host_crosses(config: &Config) -> Option<bool> {
    let crosses = config.interconnect.model != InterconnectModel::None;
    let special =
        config.gc.path == GcPath::Selective || config.controller.page_error_probability > 0.0;
    (crosses || special).then_some(crosses && config.controller.traversals_host > 0)
}

fn report(
    config: &Config,
    ftl: &Ftl,
    measured: &Measurements,
    circumstances: &Circumstances,
    ending: &Ending,
    end: End<'_>,
) -> Report {
    let bad = ftl.bad_blocks();
    Report::build(&Inputs {
        provenance: Provenance {
            ssdlab: env!("CARGO_PKG_VERSION").to_string(),
            commit: circumstances.commit.clone(),
            seed: config.run.seed,
            config_digest: crate::config::digest(config),
            trace_digest: circumstances.trace_digest.clone(),
            snapshot_digest: circumstances.snapshot_digest.clone(),
            event_digest: None,
            external_policies: circumstances.plugs.names(),
        },
        config: serde_json::to_value(config).expect("a config is plain data"),
        measured,
        device: DeviceState {
            page_bytes: u64::from(config.device.page_bytes),
            user_pages: u64::from(ftl.geo.user_pages),
            physical_pages: u64::from(ftl.geo.pages),
            used_pages: ftl.space.used(),
            valid_pages: ftl.owners.valid_pages(),
            free_blocks: ftl.space.free_blocks_total(),
            lowest_free_blocks: ftl.space.lowest_free_blocks(),
            pages_before: end.pages_before,
            buffered_pages: end.buffered_pages,
            host_crosses: end.host_crosses,
            erases: end.erases,
            life_erases: &ftl.life_erases(),
            factory_bad_blocks: bad.factory,
            worn_out_blocks: bad.worn_out,
            endurance: config.wear.endurance,
            host_bytes_written: ftl.host_bytes_written(),
            channel_busy_ns: end.busy.0,
            chip_busy_ns: end.busy.1,
        },
        victim_policy: &config.gc.victim.policy,
        open_loop: config.host.mode == crate::config::HostMode::Open,
        completed: *ending == Ending::Completed,
        at_rest: end.at_rest,
        ended: end.ended,
        wall_ns: end.clock.map(|c| c.0),
        cpu_ns: end.clock.map(|c| c.1),
        memory_bytes: Some(ftl.bytes_held() as u64),
        series: BTreeMap::new(),
        trace_lines: circumstances.trace_lines.clone(),
        warnings: all_warnings(circumstances, ending),
    })
}

/// The warnings of a report, the reason for a failure first.
fn all_warnings(circumstances: &Circumstances, ending: &Ending) -> Vec<String> {
    let mut warnings = circumstances.warnings.clone();
    if let Ending::Failed(why) = ending
        && !warnings.contains(why)
    {
        warnings.insert(0, why.clone());
    }
    warnings
}
