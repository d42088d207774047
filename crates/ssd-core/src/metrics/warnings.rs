//! Warnings about the numbers of a report, each with a remedy.

use super::histogram::samples_needed;
use super::inputs::Arrivals;
use super::numbers::{count, percent};
use super::report::{LatencyStats, RESERVE_GREEDY, Report};
use super::verdict::DecidedBy;

/// Fewer pending requests than this do not count as an overload.
const OVERLOAD_PENDING: u64 = 1000;

/// Warnings about a report, the most serious first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Warnings {
    /// Numbers do not mean what their names say: of another state of the device, of part of the work, or not of
    /// the policy.
    pub invalidating: Vec<String>,
    /// What to know besides.
    pub notes: Vec<String>,
}

/// All warnings about `report`.
#[must_use]
pub fn warnings(report: &Report, arrivals: Arrivals) -> Warnings {
    let (mut invalidating, mut notes) = (Vec::new(), Vec::new());
    if !report.completed && report.requests.submitted == 0 {
        // There is no advice about a run that never started.
        let text = "the run did not finish: it ended before its first request";
        return Warnings { invalidating: vec![text.to_owned()], notes };
    }
    invalidating.extend(incomplete(report));
    invalidating.extend(ended_degraded(report));
    invalidating.extend(chips_did_not_fail(report));
    invalidating.extend(power_was_not_cut(report, arrivals));
    invalidating.extend(overload(report, arrivals));
    // More writes would not make the policy decide, so nothing else is advised then.
    match not_the_policy(report) {
        Some(text) => invalidating.push(text),
        None if is_of_reads(report) => notes.extend(no_gc(report, arrivals)),
        None => {
            invalidating.extend(no_gc(report, arrivals).or_else(|| not_steady(report, arrivals)));
            notes.extend(too_much_live(report));
        }
    }
    invalidating.extend(transient(report, arrivals));
    invalidating.extend(unmapped(report));
    notes.extend(foreground(report));
    let l = &report.latency;
    let groups = [("read", &l.read), ("write", &l.write), ("trim", &l.trim), ("flush", &l.flush)];
    notes.extend(groups.iter().filter_map(|(name, stats)| left_out(name, stats)));
    Warnings { invalidating, notes }
}

fn incomplete(report: &Report) -> Option<String> {
    let (done, total) = (count(report.requests.completed), count(report.requests.submitted));
    (!report.completed)
        .then(|| format!("the run did not finish: {done} of {total} requests completed"))
}

/// Pages are lost at the end: what was measured has no end of the rebuild in it.
fn ended_degraded(report: &Report) -> Option<String> {
    let failure = report.raid.as_ref()?.failure.as_ref()?;
    let is_whole = failure.rebuilt_at.is_some() || !failure.gone.is_empty();
    let remedy = if failure.replaced_at.contains(&None) {
        "give it a spare for each failure (raid.spares)"
    } else {
        "let the run go on until they are rebuilt (raid.until_rebuilt = true), or rebuild faster \
         (raid.rebuild_window, raid.rebuild_rate)"
    };
    (!is_whole).then(|| {
        format!("the run ended degraded: {} pages are lost: {remedy}", count(failure.pages_left))
    })
}

/// Failures of the configuration that have not happened.
fn chips_did_not_fail(report: &Report) -> Option<String> {
    let configured = match &report.config["raid"]["fail"] {
        serde_json::Value::Array(failures) => failures.len(),
        serde_json::Value::Object(_) => 1,
        _ => 0,
    };
    let failure = report.raid.as_ref().and_then(|raid| raid.failure.as_ref());
    let missing = configured.saturating_sub(failure.map_or(0, |failure| failure.chips.len()));
    (missing > 0 && report.completed).then(|| {
        format!(
            "{missing} of {configured} failures of chips did not happen: the run had ended, or the chip was \
             gone already (raid.fail)"
        )
    })
}

/// The queue apparently grew without bound: its mean was long, too, or a unit was always busy.
fn overload(report: &Report, arrivals: Arrivals) -> Option<String> {
    let peak = report.little.peak_in_system;
    let u = &report.device.utilisation;
    let busiest = u.channel.iter().chain(&u.chip).copied().fold(0.0, f64::max);
    let long = report.little.mean_in_system.is_some_and(|mean| mean * 3.0 >= peak as f64);
    if arrivals != Arrivals::Workload || peak < OVERLOAD_PENDING || !(long || busiest >= 0.95) {
        return None;
    }
    Some(format!(
        "utilisation {}: the open-loop queue grew to {} pending requests: the device is overloaded, so \
         latencies grow with the length of the run (use host.mode = \"closed\" or a larger \
         workload.time_scale)",
        percent(busiest),
        count(peak)
    ))
}

/// The keys that make a run longer, in parentheses; nothing where a program sends the requests.
fn keys_of_length(arrivals: Arrivals) -> &'static str {
    match arrivals {
        Arrivals::Program => "",
        Arrivals::Workload | Arrivals::Completions => " (workload.requests, workload.loops)",
    }
}

fn not_the_policy(report: &Report) -> Option<String> {
    let verdict = &report.verdict;
    (verdict.decided_by == DecidedBy::Reserve)
        .then(|| format!("the reserve decided, not your policy: {}", verdict.reason))
}

/// The host has only read: no number counts on a collection.
fn is_of_reads(report: &Report) -> bool {
    report.host.pages_written == 0 && report.host.pages_read > 0
}

fn no_gc(report: &Report, arrivals: Arrivals) -> Option<String> {
    if report.gc.calls > 0 || report.slc.as_ref().is_some_and(|slc| slc.folds > 0) {
        return None;
    }
    if report.host.pages_written == 0 {
        return Some("no GC happened, because the host wrote nothing".to_owned());
    }
    if report.gc.deferred > 0 {
        return Some(format!(
            "no GC happened: the trigger held {} times, but the concurrency rule never permitted a job \
             (gc.concurrency)",
            count(report.gc.deferred)
        ));
    }
    Some(format!(
        "no GC happened: the trigger ({}) never held, or the victim policy chose no block (fewest free \
         blocks: {} of {}; used space at the end: {}): write more{} or precondition (precondition.fill, \
         precondition.overwrite)",
        triggers(report),
        count(report.device.lowest_free_blocks),
        count(report.device.blocks),
        percent(report.device.used_ratio),
        keys_of_length(arrivals)
    ))
}

/// The configuration cuts power, and the run was over before.
fn power_was_not_cut(report: &Report, arrivals: Arrivals) -> Option<String> {
    let cuts = report.power.as_ref()?.cuts;
    let when = &report.config["power"]["cut"];
    (cuts == 0 && when != "never" && when != "on-request").then(|| {
        format!(
            "power was not cut: the run, or what was measured of it, ended before: cut earlier (power.cut), or send \
             more requests{}",
            keys_of_length(arrivals)
        )
    })
}

/// Names of the configured triggers, which must all hold.
fn triggers(report: &Report) -> String {
    let listed = report.config["gc"]["trigger"].as_array();
    let names = listed.into_iter().flatten().filter_map(|t| t["policy"].as_str());
    names.collect::<Vec<_>>().join(" and ")
}

/// Live data alone reach the threshold of the trigger on used space, so collection never stops and no
/// scheme can defer any.
fn too_much_live(report: &Report) -> Option<String> {
    let listed = report.config["gc"]["trigger"].as_array();
    let of_device = |t: &&serde_json::Value| t["policy"] == "used-space" && t["scope"] == "device";
    let at = listed.into_iter().flatten().find(of_device)?["at"].as_f64()?;
    let live = report.device.valid_pages as f64 / report.device.physical_pages.max(1) as f64;
    (at > 0.0 && live >= at && report.gc.calls > 0).then(|| {
        format!(
            "live data occupy {} of the pages, so the trigger used-space at {at} always holds: write \
             less, or set a larger threshold (gc.trigger)",
            percent(live)
        )
    })
}

fn not_steady(report: &Report, arrivals: Arrivals) -> Option<String> {
    let s = &report.steady_state;
    (!s.reached && report.host.pages_written > 0).then(|| {
        format!(
            "not in steady state: {}; write more{} or precondition (precondition.overwrite)",
            s.reason,
            keys_of_length(arrivals)
        )
    })
}

fn transient(report: &Report, arrivals: Arrivals) -> Option<String> {
    let recommended = report.warmup.recommended_requests?;
    let remedy = if arrivals == Arrivals::Program {
        format!("start it {recommended} requests later")
    } else {
        format!("exclude it with workload.warmup_requests = {recommended}")
    };
    (recommended > report.requests.warmup).then(|| {
        format!("the measurement starts with a transient: {}; {remedy}", report.warmup.reason)
    })
}

fn foreground(report: &Report) -> Option<String> {
    let gc = &report.gc;
    let greedy = gc.victims_by_policy.get(RESERVE_GREEDY).copied().unwrap_or(0);
    if gc.foreground == 0 && greedy == 0 {
        return None;
    }
    Some(format!(
        "{} of GC calls in the foreground, ahead of the host: the victim policy chose {} of {} victims, \
         greedy {}",
        percent(gc.foreground as f64 / gc.calls.max(1) as f64),
        count(gc.calls.saturating_sub(greedy)),
        count(gc.calls),
        count(greedy)
    ))
}

fn unmapped(report: &Report) -> Option<String> {
    let (none, total) = (report.host.unmapped_pages_read, report.host.pages_read);
    (none > 0 && none >= total / 100).then(|| {
        format!(
            "{} of {} pages read were unmapped and took no flash read: precondition (precondition.fill)",
            count(none),
            count(total)
        )
    })
}

fn left_out(name: &str, stats: &LatencyStats) -> Option<String> {
    let missing: Vec<&(&str, f64)> = LatencyStats::PERCENTILES
        .iter()
        .zip(stats.percentiles())
        .filter_map(|(label, value)| value.is_none().then_some(label))
        .collect();
    let (first, q) = missing.first()?;
    let names: Vec<&str> = missing.iter().map(|m| m.0).collect();
    let needed = samples_needed(*q).unwrap_or(u64::MAX);
    (stats.count > 0).then(|| {
        format!(
            "{name} latency: {} not reported: only {} sample{} ({first} needs {})",
            names.join(", "),
            count(stats.count),
            if stats.count == 1 { "" } else { "s" },
            count(needed)
        )
    })
}
