//! Requirements on combinations of the keys of `[workload]`, and on these keys and the device.

use super::words::*;
use super::{Arrival, PatternKeys, RunConfig, VolumeKey, Workload};
use ssd_core::config::checks::needs::{Need, need};
use ssd_core::config::checks::{Check, check};
use ssd_core::config::text::quantity::show_size;
use ssd_core::config::{DeviceFit, Mode, Word};
use ssd_core::nand::nvram::SHARE_BYTES;

const KIND: &[&str] = &["workload.kind", "workload.trace", "workload.job"];
const FILES: &[&str] =
    &["workload.kind", "workload.trace", "workload.job", "workload.msr", "workload.like"];

/// Ordered like the keys, except that a key that others need comes before them.
pub(super) const NEEDS: &[Need<RunConfig>] = &[
    need(
        &["workload.like"],
        KIND,
        |c| matches!(c.workload.kind.origin(), Origin::Application(_)),
        "a workload.kind of \"app:...\"",
    ),
    need(
        &["workload.msr"],
        KIND,
        |c| matches!(c.workload.kind.origin(), Origin::Volume(_)),
        "a workload.kind of \"msr:...\"",
    ),
    need(
        &["workload.format"],
        FILES,
        |c| c.workload.kind == WorkloadKind::Trace || c.workload.like.is_some(),
        "workload.trace or workload.like",
    ),
    need(
        &[
            "workload.volume",
            "workload.action",
            "workload.from",
            "workload.until",
            "workload.unit",
            "workload.time_unit",
            "workload.columns",
            "workload.sort",
            "workload.skip_bad",
            "workload.dedup",
        ],
        FILES,
        |c| replays(&c.workload) || c.workload.like.is_some(),
        "workload.trace, workload.like or workload.msr",
    ),
    need(
        &["workload.page_size"],
        &["workload.unit"],
        |c| c.workload.unit == TraceUnit::Pages,
        "workload.unit = \"pages\"",
    ),
    need(
        &["workload.max_bad"],
        &["workload.skip_bad"],
        |c| c.workload.skip_bad,
        "workload.skip_bad = true",
    ),
    need(
        &["workload.fit", "workload.loops", "workload.time_scale"],
        FILES,
        |c| replays(&c.workload),
        "workload.trace or workload.msr",
    ),
    need(&["workload.phases"], FILES, |c| c.workload.kind == WorkloadKind::Trace, "workload.trace"),
    need(
        &["workload.set", "workload.cycle", "workload.journal_run", "workload.table_skew"],
        FILES,
        |c| matches!(c.workload.kind.origin(), Origin::Application(_)) && c.workload.like.is_none(),
        "a workload.kind of \"app:...\" without workload.like",
    ),
    need(
        &["workload.size", "workload.read", "workload.trim"],
        KIND,
        |c| matches!(c.workload.kind.origin(), Origin::Shares | Origin::Trace),
        "a workload.kind of uniform, zipf, hot-cold or sequential",
    ),
    need(
        &[
            "workload.pattern",
            "workload.short_gaps",
            "workload.gap_cv",
            "workload.same_size",
            "workload.sequential_writes",
            "workload.read_recent",
            "workload.shrink",
        ],
        FILES,
        |c| matches!(c.workload.kind.origin(), Origin::Volume(_)) && c.workload.msr.is_none(),
        "a workload.kind of \"msr:...\" without workload.msr",
    ),
    need(
        &["workload.short_gaps", "workload.gap_cv"],
        &["workload.arrival"],
        |c| c.workload.arrival.kind == ArrivalKind::Model,
        "workload.arrival.kind = \"model\"",
    ),
    need(
        &["workload.train_gap", "workload.train_cv", "workload.same_size"],
        &["workload.short_gaps", "workload.pattern"],
        |c| c.workload.short_gaps > 0.0,
        "workload.short_gaps above 0",
    ),
    need(
        &["workload.requests"],
        KIND,
        |c| c.workload.kind.origin() != Origin::Jobs,
        "a synthetic workload other than fio",
    ),
    need(&["workload.seed"], FILES, |c| !replays(&c.workload), "synthetic requests"),
    need(
        &["workload.theta"],
        KIND,
        |c| c.workload.kind == WorkloadKind::Zipf,
        "workload.kind = \"zipf\"",
    ),
    need(
        &["workload.hot_space", "workload.hot_access"],
        KIND,
        |c| c.workload.kind == WorkloadKind::HotCold,
        "workload.kind = \"hot-cold\"",
    ),
];

/// Returns whether recorded requests are replayed.
fn replays(workload: &Workload) -> bool {
    workload.kind == WorkloadKind::Trace
        || (workload.msr.is_some() && matches!(workload.kind.origin(), Origin::Volume(_)))
}

pub(super) const CHECKS: &[Check<RunConfig>] = &[
    check(&["workload.read", "workload.trim"], shares),
    check(&["workload.copy", "remap.mode"], copies_are_answered),
    check(
        &["power.nvram", "power.cut", "workload.copy", "workload.size", "workload.kind", "device"],
        records_of_copies_fit,
    ),
    check(&["workload.kind", "workload.trace", "workload.job"], file_is_named),
    check(&["workload.arrival", "workload.kind"], arrivals_of_a_model),
    check(&["workload.arrival"], bursts_of_bursty),
    check(&["workload.gap_cv", "workload.short_gaps", "workload.train_gap"], gaps_of_trains),
    check(&["workload.until", "workload.from"], window_of_trace),
    check(&["workload.volume", "workload.fit"], volumes_are_laid_out),
    check(&["workload.phases", "run.mode"], phases_have_no_arrivals),
    check(
        &["device.fit", "workload.kind", "workload.trace", "workload.fit"],
        trace_sizes_the_device,
    ),
    check(&["workload.warmup_requests", "workload.requests", "workload.kind"], warmup),
    check(
        &["workload.warmup_share", "workload.warmup_requests", "workload.kind"],
        share_of_known_requests,
    ),
    check(&["workload.size", "workload.span", "workload.kind", "device"], sizes),
];

fn shares(config: &RunConfig) -> Option<String> {
    let workload = &config.workload;
    let sum = workload.read + workload.trim;
    // The tolerance is for rounding: shares such as 0.7 and 0.3 need not add up to exactly 1.
    (sum > 1.0 + 5e-10).then(|| {
        format!(
            "read {} and trim {} add up to more than 1; the rest are writes",
            workload.read, workload.trim
        )
    })
}

fn copies_are_answered(config: &RunConfig) -> Option<String> {
    let refused = config.workload.copy > 0.0 && config.remap.is_off();
    refused.then(|| "the device refuses copies: set remap.mode = \"share\" or \"copy\"".to_string())
}

fn records_of_copies_fit(config: &RunConfig) -> Option<String> {
    let (power, workload) = (&config.power, &config.workload);
    let page = config.device.page_bytes;
    let whole = workload.sizes.iter().map(|share| share.bytes).filter(|n| n.is_multiple_of(page));
    let needed = u64::from(whole.max()? / page) * SHARE_BYTES;
    let copies = workload.copy > 0.0 && workload.kind.origin() == Origin::Shares;
    (copies && !power.is_off() && needed > power.nvram_bytes).then(|| {
        format!(
            "{} cannot hold the records of the largest copy of workload.copy, which take {}: use that or more, or \
             a smaller workload.size",
            show_size(power.nvram_bytes),
            show_size(needed)
        )
    })
}

fn file_is_named(config: &RunConfig) -> Option<String> {
    let workload = &config.workload;
    let nothing = |key: &str| {
        let kind = workload.kind.word();
        Some(format!("kind is {kind:?}, but workload.{key} names no file"))
    };
    match workload.kind {
        WorkloadKind::Trace if workload.trace.is_none() => nothing("trace"),
        WorkloadKind::Fio if workload.job.is_none() => nothing("job"),
        _ => None,
    }
}

fn volumes_are_laid_out(config: &RunConfig) -> Option<String> {
    let Workload { volume, fit, .. } = &config.workload;
    let all = matches!(volume, Some(VolumeKey::Every(_)));
    let text = "volume is \"all\": pages are renumbered to lie one volume behind the other; set workload.fit = \
                \"compact\"";
    (all && *fit != Fit::Compact).then(|| text.to_string())
}

fn phases_have_no_arrivals(config: &RunConfig) -> Option<String> {
    let shifted = config.workload.phases == Phases::Independent;
    (shifted && config.run.mode == Mode::Timed).then(|| {
        "independent phases leave no arrival times: set run.mode = \"functional\", or workload.phases = \"recorded\""
            .to_string()
    })
}

fn trace_sizes_the_device(config: &RunConfig) -> Option<String> {
    if config.device.fit == DeviceFit::None {
        return None;
    }
    let workload = &config.workload;
    if workload.kind != WorkloadKind::Trace {
        let kind = workload.kind.word();
        return Some(format!(
            "device.fit is \"trace\": needs workload.trace, not a workload of kind {kind:?}"
        ));
    }
    (workload.fit != Fit::Compact).then(|| {
        format!(
            "device.fit is \"trace\": the device has the pages that the trace touches, renumbered; \
             workload.fit is {:?}: expected \"compact\", or leave it out",
            workload.fit.word()
        )
    })
}

fn arrivals_of_a_model(config: &RunConfig) -> Option<String> {
    let workload = &config.workload;
    let by_itself = !matches!(workload.kind.origin(), Origin::Trace | Origin::Shares);
    (workload.arrival.kind == ArrivalKind::Model && !by_itself).then(|| {
        "arrivals of kind \"model\" need an application, a volume or a job file".to_string()
    })
}

fn bursts_of_bursty(config: &RunConfig) -> Option<String> {
    let (arrival, default) = (&config.workload.arrival, Arrival::default());
    let bursts = arrival.burst != default.burst || arrival.pause_ns != default.pause_ns;
    (bursts && arrival.kind != ArrivalKind::Bursty).then(|| {
        let kind = arrival.kind.word();
        format!("kind is {kind:?}, but burst and pause need kind = \"bursty\"")
    })
}

/// Checks the variation of gaps. The mean gap is unknown here; the generator refuses what its own does not allow.
fn gaps_of_trains(config: &RunConfig) -> Option<String> {
    let (share, cv) = (config.workload.short_gaps, config.workload.gap_cv);
    let least = PatternKeys::of(&config.workload).least_gap_cv();
    // `least` may be rounded up.
    (cv < least * (1.0 - 1e-12)).then(|| {
        format!(
            "gaps of which {share} are below 1 ms have a coefficient of variation of at least \
             {:.3}, not {cv}; raise gap_cv or lower short_gaps",
            (least * 1e3).ceil() / 1e3
        )
    })
}

fn window_of_trace(config: &RunConfig) -> Option<String> {
    let workload = &config.workload;
    workload
        .until_ns
        .filter(|&until| until <= workload.from_ns)
        .map(|_| "until must be later than from: nothing of the trace would be used".to_string())
}

fn warmup(config: &RunConfig) -> Option<String> {
    let workload = &config.workload;
    let (warmup, all) = (workload.warmup_requests, workload.requests);
    let by_file = matches!(workload.kind.origin(), Origin::Trace | Origin::Jobs);
    (!by_file && warmup >= all)
        .then(|| format!("{warmup} of {all} requests are warm-up: none would be left to measure"))
}

fn share_of_known_requests(config: &RunConfig) -> Option<String> {
    let workload = &config.workload;
    let wrong = if workload.warmup_share == 0.0 {
        return None;
    } else if workload.warmup_requests > 0 {
        "warmup_requests and warmup_share are both set; keep one of them"
    } else if workload.warmup_share >= 1.0 {
        "all requests are warm-up: none would be left to measure"
    } else if workload.kind.origin() == Origin::Jobs {
        "the number of requests of a job file is not known before it runs: use workload.warmup_requests"
    } else {
        return None;
    };
    Some(wrong.to_owned())
}

fn sizes(config: &RunConfig) -> Option<String> {
    let (device, workload) = (&config.device, &config.workload);
    let user = u64::from(device.user_pages) * u64::from(device.page_bytes);
    let space = (user as f64 * workload.span) as u64;
    let largest = u64::from(workload.sizes.iter().map(|share| share.bytes).max()?);
    (workload.kind.origin() == Origin::Shares && largest > space).then(|| {
        format!(
            "a request of {} does not fit into the addressed space of {space} bytes: use smaller \
             requests, a larger device or workload.span",
            show_size(largest)
        )
    })
}
