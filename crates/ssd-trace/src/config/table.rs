//! `[workload]`: its keys, each once: field, type, default, range and meaning.

use super::special::*;
use super::words::*;
use super::{Arrival, CYCLE, PatternKeys, RunConfig, SizeShare, TABLE_SKEW, VolumeKey};
use crate::read::formats::TraceFormat;
use ssd_core::config::text::read::Span;

const YEAR: u64 = 365 * 86_400 * 1_000_000_000;
const SHARE: Span = Span::closed(0.0, 1.0);

ssd_core::config_table! {
    "The requests: recorded in a trace, or synthetic."
    Workload: workload in RunConfig {
        trace: special(TRACE) => trace: Option<String> = None,
            "Path of a trace; \"-\" reads standard input. Implies `kind = \"trace\"`.";
        kind: word() => kind: WorkloadKind = WorkloadKind::Uniform,
            "A trace, or a kind of synthetic requests.";
        format: word() => format: TraceFormat = TraceFormat::Auto,
            "Format of the trace.";
        volume: special(VOLUME) => volume: Option<VolumeKey> = None,
            "Number of the volume (disk, LUN, ASU) to use, if the trace has several. all: each is a tenant; they \
            lie one behind the other on the device, and the stream of a request is the place of its volume among \
            them, by number from 0 on. Implies `fit = \"compact\"`.";
        action: special(ACTION) => action: char = 'Q',
            "Which action of block-event text is used: queued, dispatched or completed. If the first lines have \
             dispatches and completions only, requests are taken at their dispatch although this is \"Q\".";
        from: time(100 * YEAR) => from_ns: u64 = 0,
            "Start of the part of the trace that is used.";
        until: special(UNTIL) => until_ns: Option<u64> = None,
            "End of the part of the trace that is used, exclusive.";
        fit: word() => fit: Fit = Fit::None,
            "How the trace's addresses are fitted to the device.";
        loops: int(1, 1 << 24) => loops: u32 = 1,
            "Number of times the trace is run.";
        phases: word() =>
            #[serde(default = "recorded", skip_serializing_if = "is_recorded")]
            phases: Phases = recorded(),
            "Order of the updates of a trace. `independent` shifts the updates of each page by a random phase, which \
            `run.seed` draws, and keeps the intervals between them. Pages are then no longer updated together, and \
            every request updates one page. It needs `run.mode = \"functional\"`.";
        time_scale: real(Span::above(0.0, 1e9)) => time_scale: f64 = 1.0,
            "All arrival times of the trace are multiplied by this.";
        unit: word() =>
            #[serde(default = "unit", skip_serializing_if = "is_unit")]
            unit: TraceUnit = unit(),
            "Unit of addresses and lengths, in the formats whose files differ in it: disksim, mqsim, \
            ssdsim, tencent; and of columns without one (`columns`).";
        time_unit: word() =>
            #[serde(default = "time_unit", skip_serializing_if = "is_time_unit")]
            time_unit: TimeUnit = time_unit(),
            "Unit of times, in the formats whose files differ in it: disksim, libcachesim, midas, mqsim, ssdsim, \
            tencent; and of a column without one (`columns`).";
        columns: special(COLUMNS) =>
            #[serde(default, skip_serializing_if = "Option::is_none")]
            columns: Option<String> = None,
            "Columns of a table, as `time=2:us,op=3,offset=5:512B,size=4`: names in its header or numbers from 1 \
            (-1 is the last), with units behind them. Implies the format `table`, or with `record` `records`; \
            docs/formats.md has the rest.";
        page_size: special(UNIT_PAGE) =>
            #[serde(default = "unit_page", skip_serializing_if = "is_unit_page")]
            page_bytes: u32 = unit_page(),
            "Size of a page where `unit = \"pages\"`.";
        sort: flag() =>
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            sort: bool = false,
            "Sort the requests of the trace by time (equal times stay in the order of the lines). Large \
            traces are sorted on disk, below TMPDIR: 40 bytes a request, and at most 64 MiB of memory. \
            Otherwise a line with an earlier time than the line above is a bad line.";
        skip_bad: flag() => skip_bad: bool = false,
            "Count and skip lines that cannot be used, instead of ending the run.";
        max_bad: real(SHARE) =>
            #[serde(default = "max_bad", skip_serializing_if = "is_max_bad")]
            max_bad: f64 = max_bad(),
            "Largest share of the lines that `skip_bad` may skip; a trace that loses more is refused.";
        dedup: flag() => dedup: bool = false,
            "Drop records that repeat an identical one less than 1 ms earlier (logs of stacked devices \
            contain each request twice).";
        set: word() => set: ParameterSet = ParameterSet::AdaptiveChannel,
            "Published statistics that an application (`app:...`) matches.";
        cycle: int(1, 1 << 24) =>
            #[serde(default = "cycle", skip_serializing_if = "is_cycle")]
            cycle: u64 = cycle(),
            "Requests of a cycle of arrivals of an application: the longer it is, the longer its surges.";
        journal_run: int(0, 1 << 24) =>
            #[serde(default, skip_serializing_if = "is_none")]
            journal_run: u64 = 0,
            "Writes by which the journal of an application may be ahead of its share, and behind it. Above 0, \
            journal and data are written in stretches, which fill blocks of their own.";
        table_skew: real(Span::closed(0.0, 10.0)) =>
            #[serde(default = "table_skew", skip_serializing_if = "is_table_skew")]
            table_skew: f64 = table_skew(),
            "Skew of the overwrites of an application's tables, as `theta` of `zipf`.";
        like: special(LIKE) => like: Option<String> = None,
            "Trace whose statistics an application matches, instead of `set`. Arrivals are as recorded \
            unless `arrival.interval` is set.";
        msr: special(MSR) => msr: Option<String> = None,
            "Folder of the original MSR Cambridge files (`hm_0.csv.gz` and so on), which replace the \
            synthetic volumes (`msr:...`).";
        pattern: word() =>
            #[serde(default = "pattern", skip_serializing_if = "is_pattern")]
            pattern: Pattern = pattern(),
            "Values of the seven keys below, where they are not set: `independent` requests, or those of \
            10,000 recorded requests of an MSR volume. The keys are for stand-ins (`msr:...`); \
            `ssdlab trace info` measures the same values of a trace, in `trains`, `ops.write` and \
            `footprint`.";
        short_gaps: real(Span::closed(0.0, 0.99)) =>
            #[serde(default, skip_serializing_if = "is_zero")]
            short_gaps: f64 = 0.0,
            "Share of the gaps between requests that are below 1 ms. Requests with such gaps between them \
            form a train, of 1 / (1 - share) requests on average. 0 with `gap_cv = 1`: Poisson arrivals, in \
            which few gaps are short.";
        gap_cv: real(Span::closed(0.0, 20.0)) =>
            #[serde(default = "one", skip_serializing_if = "is_one")]
            gap_cv: f64 = one(),
            "Coefficient of variation of all gaps. If short gaps are 0, it is at least the square root of \
            short_gaps / (1 - short_gaps). The mean gap is that of the volume.";
        train_gap: special(TRAIN_GAP) =>
            #[serde(default = "train_gap", skip_serializing_if = "is_train_gap")]
            train_gap_ns: u64 = train_gap(),
            "Mean gap within a train. Most are far shorter than the mean.";
        train_cv: real(Span::closed(0.5, 10.0)) =>
            #[serde(default = "one", skip_serializing_if = "is_one")]
            train_cv: f64 = one(),
            "Coefficient of variation of the lengths of trains, in requests.";
        same_size: real(SHARE) =>
            #[serde(default, skip_serializing_if = "is_zero")]
            same_size: f64 = 0.0,
            "Share of the requests that have the size of the previous request of their operation in \
            the train, of those that have one; at least the share by chance.";
        sequential_writes: real(Span::closed(0.0, 0.95)) =>
            #[serde(default, skip_serializing_if = "is_zero")]
            sequential_writes: f64 = 0.0,
            "Share of the writes that start where the previous write ended; at least the share by chance.";
        read_recent: real(SHARE) =>
            #[serde(default, skip_serializing_if = "is_zero")]
            read_recent: f64 = 0.0,
            "Share of the reads that start at one of the last 64 pages written; at least the share by \
            chance.";
        shrink: int(1, 64) =>
            #[serde(default = "whole", skip_serializing_if = "is_whole")]
            shrink: u32 = whole(),
            "The requests, addresses and written space of a stand-in are divided by this, for a device that \
            is smaller by as much. Times, sizes and shares stay.";
        job: special(JOB) => job: Option<String> = None,
            "Path of a fio job file (docs/fio.md). Implies `kind = \"fio\"`. The job file sets the number of \
            requests and how they reach the device, in place of `host.mode`, `queue_depth`, `think_time`, \
            `think_every` and `stop_after`.";
        requests: int(1, 1 << 40) => requests: u64 = 100_000,
            "Number of requests of a synthetic workload.";
        seed: special(WORKLOAD_SEED) =>
            #[serde(default, skip_serializing_if = "Option::is_none")]
            seed: Option<u64> = None,
            "Seed of the synthetic requests. If it is set, runs with different `run.seed` have the \
            same requests and differ only in the other random streams.";
        size: special(SIZES) => sizes: Vec<SizeShare> = vec![SizeShare { bytes: 4096, weight: 1.0 }],
            "Size of the requests, or a list of { size, weight }: multiples of 512 B up to 1 GiB.";
        read: real(SHARE) => read: f64 = 0.0,
            "Share of reads.";
        trim: real(SHARE) => trim: f64 = 0.0,
            "Share of TRIMs.";
        copy: real(SHARE) =>
            #[serde(default, skip_serializing_if = "is_zero")]
            copy: f64 = 0.0,
            "Share of the writes of whole pages, of any workload, that are copies from a random place instead \
            (`remap.mode`).";
        theta: real(Span::closed(0.0, 10.0)) => theta: f64 = 0.99,
            "Skew of `zipf`: P(rank k) is proportional to k^-theta.";
        hot_space: real(Span::inside(0.0, 1.0)) => hot_space: f64 = 0.1,
            "Share of the space that is hot (`hot-cold`).";
        hot_access: real(Span::inside(0.0, 1.0)) => hot_access: f64 = 0.9,
            "Share of the requests that go to the hot space (`hot-cold`).";
        span: real(Span::above(0.0, 1.0)) => span: f64 = 1.0,
            "Share of the user space that a synthetic workload addresses, from its start.";
        arrival: special(ARRIVAL) => arrival: Arrival = Arrival::default(),
            "Arrivals of a synthetic workload in the open loop: { kind, interval or rate, burst, \
            pause }, or the kind alone. Only `bursty` has bursts and pauses.";
        whole_pages: flag() =>
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            whole_pages: bool = false,
            "Reads and writes cover whole pages of the device: their starts are rounded down, their ends up.";
        warmup_requests: int(0, 1 << 40) => warmup_requests: u64 = 0,
            "Number of initial requests that are simulated but left out of all statistics.";
        warmup_share: real(SHARE) =>
            #[serde(default, skip_serializing_if = "is_zero")]
            warmup_share: f64 = 0.0,
            "Share of all requests, counted from the first, that are simulated but left out of all statistics, in \
            place of `warmup_requests`. With 6 loops of a trace, 0.5 leaves out the first 3. A job file of fio takes \
            `warmup_requests` only.";
    }
}

// These keys are newer than the first reports. Each has a default function, so that a configuration that does not set
// it keeps its digest.

const fn recorded() -> Phases {
    Phases::Recorded
}

fn is_recorded(phases: &Phases) -> bool {
    *phases == recorded()
}

const fn unit() -> TraceUnit {
    TraceUnit::Auto
}

fn is_unit(value: &TraceUnit) -> bool {
    *value == unit()
}

const fn time_unit() -> TimeUnit {
    TimeUnit::Auto
}

fn is_time_unit(unit: &TimeUnit) -> bool {
    *unit == time_unit()
}

const fn unit_page() -> u32 {
    4096
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_unit_page(page: &u32) -> bool {
    *page == unit_page()
}

const fn max_bad() -> f64 {
    0.01
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_max_bad(share: &f64) -> bool {
    share.to_bits() == max_bad().to_bits()
}

const fn pattern() -> Pattern {
    Pattern::Independent
}

fn is_pattern(value: &Pattern) -> bool {
    *value == pattern()
}

const fn one() -> f64 {
    1.0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_one(factor: &f64) -> bool {
    factor.to_bits() == one().to_bits()
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &f64) -> bool {
    number.to_bits() == 0
}

const fn cycle() -> u64 {
    CYCLE
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_cycle(cycles: &u64) -> bool {
    *cycles == cycle()
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_none(number: &u64) -> bool {
    *number == 0
}

const fn table_skew() -> f64 {
    TABLE_SKEW
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_table_skew(skew: &f64) -> bool {
    skew.to_bits() == table_skew().to_bits()
}

const fn whole() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_whole(pages: &u32) -> bool {
    *pages == whole()
}

const fn train_gap() -> u64 {
    PatternKeys::INDEPENDENT.train_gap_ns
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_train_gap(gap: &u64) -> bool {
    *gap == train_gap()
}
