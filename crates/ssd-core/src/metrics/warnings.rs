//! What a reader should know before using the numbers, with the remedy.

use super::histogram::samples_needed;
use super::report::{LatencyStats, RESERVE_GREEDY, Report};
use super::verdict::DecidedBy;

/// A peak of fewer pending requests is not called an overload.
const OVERLOAD_PENDING: u64 = 1000;

/// All warnings about `report`, the most serious first. `open_loop`: requests arrived when the
/// workload said.
#[must_use]
pub fn warnings(report: &Report, open_loop: bool) -> Vec<String> {
    if !report.completed && report.requests.submitted == 0 {
        // Of a run that never began there is no advice to give.
        return vec!["the run did not finish: it ended before its first request".to_owned()];
    }
    let mut all = Vec::new();
    all.extend(incomplete(report));
    all.extend(overload(report, open_loop));
    // More writes would not make the policy decide, so nothing else is advised then.
    let verdict = not_the_policy(report);
    let others =
        || no_gc(report).or_else(|| not_steady(report)).into_iter().chain(too_much_live(report));
    match verdict {
        Some(text) => all.push(text),
        None => all.extend(others()),
    }
    all.extend(transient(report));
    all.extend(foreground(report));
    all.extend(unmapped(report));
    let l = &report.latency;
    let groups = [("read", &l.read), ("write", &l.write), ("trim", &l.trim), ("flush", &l.flush)];
    all.extend(groups.iter().filter_map(|(name, stats)| left_out(name, stats)));
    all
}

fn incomplete(report: &Report) -> Option<String> {
    let (done, all) = (report.requests.completed, report.requests.submitted);
    (!report.completed)
        .then(|| format!("the run did not finish: {done} of {all} requests completed"))
}

/// The queue grew as if without end: it was long on average too, or something was always busy.
fn overload(report: &Report, open_loop: bool) -> Option<String> {
    let peak = report.little.peak_in_system;
    let u = &report.device.utilisation;
    let busiest = u.channel.iter().chain(&u.chip).copied().fold(0.0, f64::max);
    let long = report.little.mean_in_system.is_some_and(|mean| mean * 3.0 >= peak as f64);
    if !open_loop || peak < OVERLOAD_PENDING || !(long || busiest >= 0.95) {
        return None;
    }
    Some(format!(
        "utilisation {:.0} %: the open-loop queue grew to {peak} pending requests: the device is \
         overloaded and latencies grow with the length of the run (host.mode = \"closed\", or a \
         larger workload.time_scale)",
        100.0 * busiest
    ))
}

fn not_the_policy(report: &Report) -> Option<String> {
    let verdict = &report.verdict;
    (verdict.decided_by == DecidedBy::Reserve)
        .then(|| format!("the reserve decided, not your policy: {}", verdict.reason))
}

fn no_gc(report: &Report) -> Option<String> {
    if report.gc.calls > 0 {
        return None;
    }
    if report.host.pages_written == 0 {
        return Some("no GC happened, because the host wrote nothing".to_owned());
    }
    if report.gc.deferred > 0 {
        return Some(format!(
            "no GC happened: the trigger held {} times and the concurrency rule never allowed it \
             (gc.concurrency)",
            report.gc.deferred
        ));
    }
    Some(format!(
        "no GC happened: the trigger ({}) never held, or the victim policy named no block (fewest free \
         blocks: {} of {}; used space at the end: {:.1} %): write more (workload.requests, \
         workload.loops) or precondition (precondition.fill, precondition.overwrite)",
        triggers(report),
        report.device.lowest_free_blocks,
        report.device.blocks,
        100.0 * report.device.used_ratio
    ))
}

/// Names of the configured triggers, which must all hold.
fn triggers(report: &Report) -> String {
    let listed = report.config["gc"]["trigger"].as_array();
    let names = listed.into_iter().flatten().filter_map(|t| t["policy"].as_str());
    names.collect::<Vec<_>>().join(" and ")
}

/// Live data alone hold the trigger on used space: collection never stops, and what a scheme leaves for
/// later it collects now.
fn too_much_live(report: &Report) -> Option<String> {
    let listed = report.config["gc"]["trigger"].as_array();
    let of_device = |t: &&serde_json::Value| t["policy"] == "used-space" && t["scope"] == "device";
    let at = listed.into_iter().flatten().find(of_device)?["at"].as_f64()?;
    let live = report.device.valid_pages as f64 / report.device.physical_pages.max(1) as f64;
    (at > 0.0 && live >= at && report.gc.calls > 0).then(|| {
        format!(
            "live data are {:.1} % of the pages, so that the trigger used-space at {at} always holds: \
             write less, or say a larger threshold (gc.trigger)",
            100.0 * live
        )
    })
}

fn not_steady(report: &Report) -> Option<String> {
    let s = &report.steady_state;
    (!s.reached && report.host.pages_written > 0).then(|| {
        format!(
            "not in steady state: {}; write more (workload.requests, workload.loops) or \
             precondition (precondition.overwrite)",
            s.reason
        )
    })
}

fn transient(report: &Report) -> Option<String> {
    let wanted = report.warmup.recommended_requests?;
    (wanted > report.requests.warmup).then(|| {
        format!(
            "the measurement begins with a transient: {}; leave it out with \
             workload.warmup_requests = {wanted}",
            report.warmup.reason
        )
    })
}

fn foreground(report: &Report) -> Option<String> {
    let gc = &report.gc;
    let greedy = gc.victims_by_policy.get(RESERVE_GREEDY).copied().unwrap_or(0);
    if gc.foreground == 0 && greedy == 0 {
        return None;
    }
    let share = 100.0 * gc.foreground as f64 / gc.calls.max(1) as f64;
    Some(format!(
        "{share:.1} % of GC in foreground, at the reserve: the victim policy chose {} of {} \
         victims, greedy the other {greedy}",
        gc.calls.saturating_sub(greedy),
        gc.calls
    ))
}

fn unmapped(report: &Report) -> Option<String> {
    let (none, all) = (report.host.unmapped_pages_read, report.host.pages_read);
    (none > 0 && none >= all / 100).then(|| {
        format!(
            "{none} of {all} pages read held nothing and took no flash read: precondition \
             (precondition.fill)"
        )
    })
}

fn left_out(name: &str, stats: &LatencyStats) -> Option<String> {
    let missing: Vec<&(&str, f64)> = LatencyStats::PERCENTILES
        .iter()
        .zip(stats.percentiles())
        .filter_map(|(which, value)| value.is_none().then_some(which))
        .collect();
    let (first, q) = missing.first()?;
    let names: Vec<&str> = missing.iter().map(|m| m.0).collect();
    let needed = samples_needed(*q).unwrap_or(u64::MAX);
    (stats.count > 0).then(|| {
        format!(
            "{name} latency: {} left out: only {} samples ({first} needs {needed})",
            names.join(", "),
            stats.count
        )
    })
}
