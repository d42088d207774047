//! The report of a run: its measurements, the device's end, and what the caller knows about it.

use ssd_core::config::{Energy, GcPath, HostMode, InterconnectModel};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::plugs::Plugs;
use ssd_core::ftl::reclaim::UnitCounts;
use ssd_core::functional_run::FunctionalResult;
use ssd_core::host::device::Device as _;
use ssd_core::metrics::Measurements;
use ssd_core::metrics::counters::Cause;
use ssd_core::metrics::distributions;
use ssd_core::metrics::inputs::{
    Arrivals, DeviceState, Inputs, PowerDraw, ReclaimState, RecordCounts, SeparationState,
};
use ssd_core::metrics::report::{Provenance, RESULTS_VERSION, ReclaimUnits, Report, TraceLines};
use ssd_core::metrics::series::Series;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::Nanos;
use ssd_trace::config::RunConfig;
use std::collections::BTreeMap;

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
    /// A program drives the device, and the table `[workload]` is not used.
    pub driven: bool,
    /// Warnings that go into the report.
    pub warnings: Vec<String>,
    /// Recompute all invariants every this many instants; 0: never.
    pub audit_every: u64,
    /// External policies, which replace those that the configuration names.
    pub plugs: Plugs,
}

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Every request completed.
    Completed,
    /// The caller stopped it.
    Interrupted,
    /// It could not continue.
    Failed(String),
    /// A log could not be written.
    Unwritable(String),
}

/// A finished run.
pub struct FinishedRun {
    /// Its report.
    pub report: Report,
    /// Rows of the time series.
    pub series: Series,
    /// The distributions from which the report's means and percentiles are computed, as CSV.
    pub distributions: String,
    /// How it ended.
    pub ending: Ending,
    /// Digest of all events in order.
    pub event_digest: u64,
}

/// The report of a device that a caller has driven itself, as it is now.
#[must_use]
pub fn report_of(config: &RunConfig, ssd: &Ssd, commit: Option<String>) -> Report {
    let ending = if ssd.outstanding() > 0 { Ending::Interrupted } else { Ending::Completed };
    let circumstances = Circumstances { commit, driven: true, ..Circumstances::default() };
    report_timed(config, ssd, &circumstances, &ending, None)
}

/// The run of `ssd` so far, as a finished one that ended with `ending`; `clock` is the wall-clock and processor time
/// that it took, in nanoseconds.
pub(crate) fn timed(
    config: &RunConfig,
    ssd: &Ssd,
    circumstances: &Circumstances,
    ending: Ending,
    clock: Option<(u64, u64)>,
) -> FinishedRun {
    FinishedRun {
        report: report_timed(config, ssd, circumstances, &ending, clock),
        series: ssd.measured().series.clone(),
        distributions: distributions::csv(ssd.measured(), &ssd.erases()),
        ending,
        event_digest: ssd.event_digest(),
    }
}

/// A functional run with its result.
pub(crate) fn functional(
    config: &RunConfig,
    result: FunctionalResult,
    circumstances: &Circumstances,
    ending: Ending,
    clock: Option<(u64, u64)>,
) -> FinishedRun {
    let end = RunEnd {
        ended: Nanos::ZERO,
        at_rest: true,
        pages_before: result.pages_before,
        buffered_pages: None,
        host_crosses: None,
        erases: &result.erases,
        records: None,
        busy: (&[], &[]),
        clock,
    };
    let report = report(config, &result.ftl, &result.measured, circumstances, &ending, end);
    let distributions = distributions::csv(&result.measured, &result.erases);
    FinishedRun { report, series: result.measured.series, distributions, ending, event_digest: 0 }
}

/// The end of a run.
struct RunEnd<'a> {
    ended: Nanos,
    at_rest: bool,
    pages_before: u64,
    /// Pages in the write buffer; `None` without one.
    buffered_pages: Option<u64>,
    /// See [`DeviceState::host_crosses`].
    host_crosses: Option<bool>,
    erases: &'a [u32],
    records: Option<RecordCounts>,
    /// Busy time of channels and chips.
    busy: (&'a [u64], &'a [u64]),
    /// Wall-clock and processor time.
    clock: Option<(u64, u64)>,
}

fn report_timed(
    config: &RunConfig,
    ssd: &Ssd,
    c: &Circumstances,
    ending: &Ending,
    clock: Option<(u64, u64)>,
) -> Report {
    let end = RunEnd {
        ended: ssd.now(),
        at_rest: ssd.at_rest(),
        pages_before: ssd.pages_before(),
        buffered_pages: (config.host.write_buffer_pages > 0).then(|| ssd.buffered_pages()),
        host_crosses: host_crosses(config),
        erases: &ssd.erases(),
        records: ssd.records_kept(),
        busy: (&ssd.channel_busy_ns(), &ssd.chip_busy_ns()),
        clock,
    };
    let mut report = report(config, &ssd.core.ftl, ssd.measured(), c, ending, end);
    report.gc.pages_in_flight = ssd.pages_in_flight(Cause::Gc);
    report.wear.pages_in_flight = ssd.pages_in_flight(Cause::Wear);
    if let Some(slc) = &mut report.slc {
        slc.pages_in_flight = ssd.pages_in_flight(Cause::Fold);
    }
    report.provenance.event_digest = Some(format!("{:016x}", ssd.event_digest()));
    report
}

/// Whether host pages cross an interconnect; `None` if the path of pages has no special features.
fn host_crosses(config: &RunConfig) -> Option<bool> {
    let crosses = config.interconnect.model != InterconnectModel::None;
    let special =
        config.gc.path == GcPath::Selective || config.controller.page_error_probability > 0.0;
    (crosses || special).then_some(crosses && config.controller.traversals_host > 0)
}

/// The power of flash, buses and drive, if it is given.
fn power(config: &RunConfig) -> Option<PowerDraw> {
    let &Energy { read_uw, program_uw, erase_uw, bus_uw, idle_uw } = &config.energy;
    let power = PowerDraw { read_uw, program_uw, erase_uw, bus_uw, idle_uw };
    (!config.energy.is_off()).then_some(power)
}

/// The classes of pages, if a policy separates them. (Those of a drive with zones are its active zones.)
fn separation(ftl: &Ftl) -> Option<SeparationState> {
    let classes = ftl.classes().filter(|_| !ftl.is_zoned())?;
    Some(SeparationState {
        classes: u64::from(classes.all),
        host_classes: u64::from(classes.host),
        diverted_copies: ftl.diverted_copies(),
        open_pages: ftl.space.open_pages(),
    })
}

/// The reclaim units, if the host names handles.
fn reclaimed(ftl: &Ftl, page_bytes: u64) -> Option<ReclaimState> {
    let reclaimed = ftl.reclaimed().filter(|_| !ftl.is_zoned())?;
    let row = |counts: &UnitCounts| ReclaimUnits {
        host_bytes: counts.host_pages * page_bytes,
        copied_bytes: counts.copied_pages * page_bytes,
        opened: counts.opened,
        collected: counts.collected,
        moved_bytes: counts.moved_pages * page_bytes,
    };
    Some(ReclaimState {
        handles: reclaimed.handles.iter().map(row).collect(),
        shared: row(&reclaimed.shared),
        diverted_copies: reclaimed.diverted_copies,
    })
}

fn report(
    config: &RunConfig,
    ftl: &Ftl,
    measured: &Measurements,
    circumstances: &Circumstances,
    ending: &Ending,
    end: RunEnd<'_>,
) -> Report {
    let bad = ftl.bad_blocks();
    let page_bytes = u64::from(config.device.page_bytes);
    let reclaim = reclaimed(ftl, page_bytes);
    let owners = (!config.remap.is_off()).then(|| ftl.pages_by_owners());
    Report::build(&Inputs {
        provenance: Provenance {
            ssdlab: env!("CARGO_PKG_VERSION").to_string(),
            results: Some(RESULTS_VERSION),
            commit: circumstances.commit.clone(),
            seed: config.run.seed,
            config_digest: ssd_core::config::digest(config),
            trace_digest: circumstances.trace_digest.clone(),
            snapshot_digest: circumstances.snapshot_digest.clone(),
            event_digest: None,
            external_policies: circumstances.plugs.names(),
        },
        config: serde_json::to_value(config).expect("a config is plain data"),
        measured,
        device: DeviceState {
            page_bytes,
            flash_block_bytes: page_bytes * u64::from(config.device.pages_per_block),
            user_pages: u64::from(ftl.geo.user_pages),
            slc_blocks: ftl.slc_blocks(),
            zones: config.is_zoned().then(|| config.zones()),
            parity_groups: ftl.groups.as_ref().map(|groups| u64::from(groups.count())),
            pages_by_owners: owners.as_deref(),
            extra_owner_bytes: ftl.owners.side_table_bytes() as u64,
            records: end.records,
            separation: separation(ftl),
            reclaim: reclaim.as_ref(),
            power: power(config),
            physical_pages: u64::from(ftl.geo.pages),
            used_pages: ftl.used_pages(),
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
            ends_of_life: ends_of_life(config, ftl, end.erases),
            daily_writes: config.wear.daily_writes_bytes,
            warranty_years: config.wear.warranty_years,
            host_bytes_written: ftl.host_bytes_written(),
            channel_busy_ns: end.busy.0,
            chip_busy_ns: end.busy.1,
        },
        victim_policy: &config.gc.victim.policy,
        arrivals: match config.host.mode {
            _ if circumstances.driven => Arrivals::Program,
            HostMode::Open => Arrivals::Workload,
            HostMode::Closed => Arrivals::Completions,
        },
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

/// Repetitions of the measurement before the first block is worn out, and before a pool has lost its spare.
fn ends_of_life(config: &RunConfig, ftl: &Ftl, erases: &[u32]) -> Option<(f64, f64)> {
    let spare = config.spare_units_per_pool().saturating_sub(u64::from(config.gc.reserve));
    ftl.ends_of_life(erases, spare).map(|ends| (ends.first_block, ends.spare))
}

/// The warnings of a report, the reason for a failure first.
fn all_warnings(circumstances: &Circumstances, ending: &Ending) -> Vec<String> {
    let mut warnings = circumstances.warnings.clone();
    if let Ending::Failed(message) | Ending::Unwritable(message) = ending
        && !warnings.contains(message)
    {
        warnings.insert(0, message.clone());
    }
    warnings
}
