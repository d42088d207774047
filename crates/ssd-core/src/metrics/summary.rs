//! The report as text, for people: at most 80 columns wide.

use super::counters::Cause;
use super::numbers::{self, bandwidth, count, duration, percent, significant, size};
use super::report::{LatencyStats, PartMeans, Report};
use super::steady::TOLERANCE;
use super::verdict::DecidedBy;
use std::fmt::Write as _;

const WIDTH: usize = 80;
const BAR: usize = 10;

/// The human summary of a run.
#[must_use]
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    head(report, &mut out);
    requests(report, &mut out);
    latency(report, &mut out);
    parts(report, &mut out);
    flash(report, &mut out);
    energy(report, &mut out);
    collection(report, &mut out);
    slc::cache(report, &mut out);
    zones::host(report, &mut out);
    device(report, &mut out);
    failure::chips(report, &mut out);
    separation::classes(report, &mut out);
    separation::handles(report, &mut out);
    tenants::table(report, &mut out);
    durable::copies(report, &mut out);
    durable::power(report, &mut out);
    steady_and_speed(report, &mut out);
    warnings(report, &mut out);
    // Rows end with padding where their last cell is empty.
    let mut trimmed = String::with_capacity(out.len());
    for line in out.lines() {
        trimmed.push_str(line.trim_end());
        trimmed.push('\n');
    }
    trimmed
}

macro_rules! line {
    ($out:expr, $($arg:tt)*) => {
        writeln!($out, $($arg)*).expect("writing to a string cannot fail")
    };
}

/// A label of 16 columns and text behind it, in as many lines as it takes.
macro_rules! row {
    ($out:expr, $($arg:tt)*) => {{
        let text = format!($($arg)*);
        let (label, rest) = text.split_at(16);
        $crate::metrics::summary::wrapped(label, rest, $out);
    }};
}

mod durable;
mod failure;
mod separation;
mod slc;
mod tenants;
mod zones;

/// A count in at most 10 columns.
fn short_count(n: u64) -> String {
    if n < 100_000_000 { count(n) } else { numbers::rate(n as f64) }
}

fn duration_or_dash(ns: Option<f64>) -> String {
    duration(ns.unwrap_or(f64::NAN))
}

/// `1.60 M requests/s`; nothing if it is not known.
fn rate(per_second: Option<f64>, noun: &str) -> String {
    per_second.map_or_else(String::new, |r| format!("{} {noun}/s", numbers::rate(r)))
}

/// `text` behind `label`, broken at spaces, further lines indented by the label's width.
fn wrapped(label: &str, text: &str, out: &mut String) {
    let indent = label.chars().count();
    let mut at = indent;
    out.push_str(label);
    for (i, word) in text.split_whitespace().enumerate() {
        let length = word.chars().count();
        if i > 0 && at + 1 + length > WIDTH {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            at = indent;
        } else if i > 0 {
            out.push(' ');
            at += 1;
        }
        out.push_str(word);
        at += length;
    }
    out.push('\n');
}

fn head(r: &Report, out: &mut String) {
    if let Some(loss) = r.trace_lines.as_ref().and_then(|lines| lines.loss.as_ref()) {
        wrapped("LOST  ", loss, out);
    }
    let name = r.config["run"]["name"].as_str().unwrap_or("run");
    let state = if r.completed { "all requests completed" } else { "NOT COMPLETED" };
    let line = format!(
        "{name}: {state}, {} simulated, seed {}, config {}, ssdlab {}",
        duration(r.time.simulated as f64),
        r.provenance.seed,
        r.provenance.config_digest.get(..12).unwrap_or(&r.provenance.config_digest),
        r.provenance.ssdlab
    );
    wrapped("", &line, out);
    if r.verdict.decided_by == DecidedBy::Reserve {
        line!(out, "");
        let share = percent(r.verdict.policy_share.unwrap_or(0.0));
        let detail = format!("{share} of the victims were its choice (see the warnings)");
        wrapped(
            "verdict         ",
            &format!("the reserve decided, not your policy: {detail}"),
            out,
        );
    }
}

fn requests(r: &Report, out: &mut String) {
    let q = &r.requests;
    line!(out, "");
    line!(out, "{:<14}{:>14}{:>14}{:>16}", "requests", "completed", "pages", "bandwidth");
    let rows = [
        ("read", q.read, Some(r.host.pages_read), r.host.read_bytes_per_s),
        ("write", q.write, Some(r.host.pages_written), r.host.write_bytes_per_s),
        ("trim", q.trim, Some(r.host.pages_trimmed), None),
        ("flush", q.flush, None, None),
    ];
    for (op, done, pages, bytes) in rows.into_iter().filter(|row| row.1 > 0) {
        let pages = pages.map_or_else(String::new, count);
        let bytes = bytes.map_or_else(String::new, bandwidth);
        line!(out, "  {op:<12}{:>14}{pages:>14}{bytes:>16}", count(done));
    }
    let rate = rate(r.little.throughput, "requests");
    let submitted = format!("of {} submitted   {rate}", count(q.submitted));
    line!(out, "  {:<12}{:>14}  {submitted}", "all", count(q.completed));
    if let Some(b) = &r.write_buffer {
        let text = format!(
            "{} pages evicted, {} replaced, {} trimmed, {} waited for room, {} left; {} read",
            count(b.pages_evicted),
            count(b.pages_coalesced),
            count(b.pages_trimmed),
            count(b.pages_waited),
            count(b.pages_left),
            count(b.pages_read)
        );
        wrapped("write buffer    ", &text, out);
    }
    if let Some(c) = &r.controller {
        let text = format!(
            "{} traversals, {} of host pages; of the copies {} from the buffer, {} in error",
            count(c.traversals.values().sum()),
            count(
                [Cause::Host, Cause::Rmw].iter().filter_map(|cause| c.traversals.get(cause)).sum()
            ),
            count(c.pages_from_buffer),
            count(c.pages_in_error)
        );
        let waited = c.traversal_wait_mean.filter(|&ns| ns > 0.0);
        let waited =
            waited.map_or_else(String::new, |ns| format!("; waited {} on average", duration(ns)));
        wrapped("interconnect    ", &(text + &waited), out);
    }
}

fn latency(r: &Report, out: &mut String) {
    let l = &r.latency;
    let groups = [("read", &l.read), ("write", &l.write), ("trim", &l.trim), ("flush", &l.flush)];
    let shown: Vec<(&str, &LatencyStats)> =
        groups.into_iter().filter(|(_, s)| s.count > 0).collect();
    if shown.is_empty() {
        return;
    }
    line!(out, "");
    let heads = ["mean", "95 % +-", "min", "max", "stddev"];
    line!(out, "{:<16}{}", "latency", heads.map(|h| format!("{h:>10}")).concat());
    for (op, s) in &shown {
        let as_real = |ns: Option<u64>| ns.map(|ns| ns as f64);
        let cells = [s.mean, s.ci95, as_real(s.min), as_real(s.max), s.stddev];
        let cells = cells.map(|ns| format!("{:>10}", duration_or_dash(ns)));
        line!(out, "  {op:<14}{}", cells.concat());
    }
    let heads = LatencyStats::PERCENTILES.map(|(name, _)| format!("{name:>10}"));
    line!(out, "{:<16}{}", "percentiles", heads.concat());
    for (op, s) in &shown {
        let cells = s.percentiles().map(|ns| duration_or_dash(ns.map(|ns| ns as f64)));
        line!(out, "  {op:<14}{}", cells.map(|c| format!("{c:>10}")).concat());
    }
}

fn parts(r: &Report, out: &mut String) {
    let (read, write) = (r.latency_parts.read.as_ref(), r.latency_parts.write.as_ref());
    if read.is_none() && write.is_none() {
        return;
    }
    line!(out, "");
    let title = |name: &str, parts: Option<&PartMeans>| {
        if parts.is_some() { format!("{name:>11}{:>21}", "") } else { String::new() }
    };
    let heads = title("read", read) + &title("write", write);
    line!(out, "{:<16}{heads}", "time went to");
    let cell = |parts: Option<&PartMeans>, i: usize| {
        let Some(parts) = parts else { return String::new() };
        let total: f64 = parts.by_name().iter().map(|p| p.1).sum();
        let value = parts.by_name()[i].1;
        let share = if total > 0.0 { value / total } else { 0.0 };
        let bar = "#".repeat((share * BAR as f64).round() as usize);
        format!("{:>11}{:>9}  {bar:<BAR$}", duration(value), percent(share))
    };
    for (i, (name, _)) in PartMeans::default().by_name().iter().enumerate() {
        line!(out, "  {:<14}{}{}", name.replace('_', " "), cell(read, i), cell(write, i));
    }
}

fn flash(r: &Report, out: &mut String) {
    let f = &r.flash;
    let rows = [("read", &f.reads), ("program", &f.programs), ("erase", &f.erases_by_cause)];
    let at = |map: &std::collections::BTreeMap<Cause, u64>, cause| map.get(&cause).copied();
    let causes: Vec<Cause> = Cause::ALL
        .into_iter()
        .filter(|&c| rows.iter().any(|(_, map)| at(map, c).unwrap_or(0) > 0))
        .collect();
    if causes.is_empty() {
        return;
    }
    // As many as the width holds.
    for causes in causes.chunks(5) {
        line!(out, "");
        let heads: String = causes.iter().map(|c| format!("{:>11}", c.name())).collect();
        line!(out, "{:<11}{:>11}{heads}", "flash", "all");
        for (op, map) in rows {
            let sum = short_count(map.values().sum());
            let cells =
                causes.iter().map(|&c| format!("{:>11}", short_count(at(map, c).unwrap_or(0))));
            line!(out, "  {op:<9}{sum:>11}{}", cells.collect::<String>());
        }
    }
    let retries: u64 = f.retries.values().sum();
    if retries > 0 {
        line!(out, "  retries  {:>11}", short_count(retries));
    }
    let suspensions: u64 = f.suspensions.values().sum();
    if suspensions > 0 {
        line!(out, "  suspended{:>11}", short_count(suspensions));
    }
    let Some(total) = r.waf.total else { return };
    let parts: Vec<String> = Cause::ALL
        .into_iter()
        .filter_map(|c| {
            let part = r.waf.by_cause.get(&c).copied().flatten()?;
            (part > 0.0).then(|| format!("{} {}", c.name(), numbers::ratio(part)))
        })
        .collect();
    let label = format!("  write amplification {} = ", numbers::ratio(total));
    wrapped(&label, &parts.join(" + "), out);
}

fn energy(r: &Report, out: &mut String) {
    let Some(e) = &r.energy else { return };
    let parts = [
        ("reads", e.read),
        ("programs", e.program),
        ("erases", e.erase),
        ("buses", e.bus),
        ("idle", e.idle),
    ];
    let parts = parts.iter().filter(|part| part.1 > 0);
    let parts: Vec<String> =
        parts.map(|(name, pj)| format!("{name} {}", numbers::energy(*pj as f64))).collect();
    let each = e
        .per_host_byte
        .map_or_else(String::new, |pj| format!("; {} a byte of the host", numbers::energy(pj)));
    let label = format!("  energy {} = ", numbers::energy(e.total as f64));
    wrapped(&label, &(parts.join(" + ") + &each), out);
}

fn collection(r: &Report, out: &mut String) {
    let gc = &r.gc;
    line!(out, "");
    if gc.calls == 0 {
        line!(out, "{:<16}none (deferred {} times)", "gc", count(gc.deferred));
        return;
    }
    let share = percent(gc.foreground as f64 / gc.calls as f64);
    row!(
        out,
        "{:<16}{} calls: {} background, {} foreground ({share}); deferred {} times",
        "gc",
        count(gc.calls),
        count(gc.background),
        count(gc.foreground),
        count(gc.deferred)
    );
    let victims: Vec<String> = gc
        .victims_by_policy
        .iter()
        .filter(|(_, n)| **n > 0)
        .map(|(name, n)| format!("{} by {name}", count(*n)))
        .collect();
    let invalid = gc.mean_victim_invalid_ratio.map_or_else(|| "-".to_owned(), percent);
    wrapped("  victims       ", &format!("{}; {invalid} invalid", victims.join(", ")), out);
    if let Some(share) = r.verdict.policy_share {
        let decider =
            if r.verdict.decided_by == DecidedBy::Policy { "the policy" } else { "the reserve" };
        let unmet = r.verdict.unmet_share.filter(|&share| share > 0.0);
        let unmet = unmet.map_or_else(String::new, |share| {
            format!(", {} for a demand that cannot be met", percent(share))
        });
        let text =
            format!("{decider}: {} of the victims were the policy's choice{unmet}", percent(share));
        wrapped("  decided by    ", &text, out);
    }
    row!(
        out,
        "  pages         {} moved, {} dropped, {} stale",
        count(gc.pages_moved),
        count(gc.pages_dropped),
        count(gc.pages_stale)
    );
    if let (Some(mean), Some(max)) = (gc.job_time_mean, gc.job_time_max) {
        line!(out, "  one block     {} mean, {} max", duration(mean), duration(max as f64));
    }
}

fn device(r: &Report, out: &mut String) {
    let d = &r.device;
    line!(out, "");
    row!(
        out,
        "{:<16}{} used, {} valid, {} of {} blocks free (lowest {})",
        "device",
        percent(d.used_ratio),
        percent(d.valid_pages as f64 / d.physical_pages.max(1) as f64),
        count(d.free_blocks),
        count(d.blocks),
        count(d.lowest_free_blocks)
    );
    row!(
        out,
        "  erases        {} mean, {} min, {} max, {} stddev per block",
        significant(d.erase_mean),
        count(d.erase_min),
        count(d.erase_max),
        significant(d.erase_stddev)
    );
    wear(r, out);
    let rows = [("channels busy", &d.utilisation.channel), ("chips busy", &d.utilisation.chip)];
    for (name, shares) in rows.into_iter().filter(|(_, shares)| !shares.is_empty()) {
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        let min = shares.iter().copied().fold(f64::INFINITY, f64::min);
        let max = shares.iter().copied().fold(0.0, f64::max);
        line!(
            out,
            "  {name:<14}{} mean, {} min, {} max ({})",
            percent(mean),
            percent(min),
            percent(max),
            shares.len()
        );
    }
    if let Some(mean) = r.little.mean_in_system {
        line!(
            out,
            "  pending       {} requests mean, {} at most",
            significant(mean),
            count(r.little.peak_in_system)
        );
    }
}

/// Where blocks have worn out, are bad or have been levelled.
fn wear(r: &Report, out: &mut String) {
    let w = &r.wear;
    if w.calls > 0 {
        line!(
            out,
            "  levelling     {} cold blocks, {} pages moved, {} dropped, {} stale",
            count(w.calls),
            count(w.pages_moved),
            count(w.pages_dropped),
            count(w.pages_stale)
        );
    }
    if r.device.bad_blocks == 0 && w.calls == 0 && w.host_bytes_at_even_wear.is_none() {
        return;
    }
    row!(
        out,
        "  since new     {} erases mean, {} min, {} max, {} stddev per good block",
        significant(w.erase_mean),
        count(w.erase_min),
        count(w.erase_max),
        significant(w.erase_stddev)
    );
    row!(
        out,
        "  bad blocks    {} worn out, {} from the factory",
        count(w.worn_out_blocks),
        count(w.factory_bad_blocks)
    );
    let limit = w.host_bytes_at_even_wear.map_or_else(String::new, |bytes| {
        format!(" of {} at even wear and this write amplification", size(bytes))
    });
    row!(out, "  host wrote    {}{limit}, since new", size(w.host_bytes_written as f64));
    lifetime(r, out);
}

/// When blocks are worn out, if the host goes on as measured.
fn lifetime(r: &Report, out: &mut String) {
    let Some(life) = &r.lifetime else { return };
    let Some((first, end)) = life.first_block_bytes.zip(life.bytes_written) else { return };
    let days = |days: Option<f64>| {
        days.map_or_else(String::new, |days| format!(", {} days", significant(days)))
    };
    let text = format!(
        "{}{} to the first worn block, {}{} to the end of the spare",
        size(first),
        days(life.first_block_days),
        size(end),
        days(life.days)
    );
    wrapped("  lifetime      ", &text, out);
    let daily = life
        .daily_writes
        .map_or_else(String::new, |bytes| format!(" (the host writes {} a day)", size(bytes)));
    let per_day = life.drive_writes_per_day.map_or_else(String::new, significant);
    let years = &r.config["wear"]["warranty_years"];
    let years = if years.is_null() { "5".to_owned() } else { years.to_string() };
    wrapped(
        "  endurance     ",
        &format!("{per_day} drive writes a day for {years} years{daily}"),
        out,
    );
}

fn steady_and_speed(r: &Report, out: &mut String) {
    line!(out, "");
    // The warm-up is about latencies too, and may drift within what the rule allows.
    let answer = if r.steady_state.reached {
        format!("yes, within {:.0} %", 100.0 * TOLERANCE)
    } else {
        "no".to_owned()
    };
    wrapped("steady state    ", &format!("{answer}: {}", r.steady_state.reason), out);
    let more = r.warmup.recommended_requests.filter(|&n| n > r.requests.warmup);
    let advice = more.map_or_else(String::new, |n| format!("; leave out {} requests", count(n)));
    wrapped("warm-up         ", &format!("{}{advice}", r.warmup.reason), out);
    if let Some(wall) = r.time.wall {
        let bytes = r.speed.bytes_per_page;
        let memory =
            bytes.map_or_else(String::new, |b| format!(", {} bytes per page", significant(b)));
        row!(
            out,
            "simulated in    {}: {}, {}{memory}",
            duration(wall as f64),
            rate(r.speed.requests_per_s, "requests"),
            rate(r.speed.flash_ops_per_s, "flash operations")
        );
    }
}

fn warnings(r: &Report, out: &mut String) {
    let severe = r.warnings.len().min(r.invalidating as usize);
    let (invalidating, notes) = r.warnings.split_at(severe);
    for (head, mark, texts) in
        [("invalidates the result", "  ! ", invalidating), ("notes", "  - ", notes)]
    {
        if !texts.is_empty() {
            line!(out, "");
            line!(out, "{head}");
        }
        texts.iter().for_each(|text| wrapped(mark, text, out));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_broken_and_indented() {
        let mut out = String::new();
        wrapped("  ! ", &"word ".repeat(40), &mut out);
        assert_eq!(out.lines().count(), 3);
        assert!(out.lines().all(|l| l.len() <= WIDTH));
        assert!(out.lines().skip(1).all(|l| l.starts_with("    word")));
    }
}
