//! From counters to report, JSON, schema and summary.

#[allow(unreachable_pub, reason = "what `section!` declares is public in the report")]
mod declared;
mod fields;

use super::Measurements;
use super::build::audit;
use super::counters::{Cause, MoveCounts, Parts};
use super::inputs::{Arrivals, DeviceState, Inputs};
use super::report::{Provenance, Report};
use super::series::Gauges;
use super::verdict::DecidedBy;
use super::{schema, summary, warnings};
use crate::host::request::{Op, Request};
use crate::units::Nanos;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const ERASES: [u32; 4] = [3, 5, 4, 4];

#[test]
fn a_run_that_the_reserve_decided_says_so_first() {
    let mut m = measured(false);
    (m.gc.victims.unmet, m.gc.victims.decided) = (150, 46);
    let r = example(&m);
    assert_eq!((r.verdict.decided_by, r.verdict.policy_share), (DecidedBy::Reserve, Some(0.23)));
    assert!(!r.steady_state.reached, "{}", r.steady_state.reason);
    let text = summary::text(&r);
    let verdict =
        "verdict         the reserve decided, not your policy: 23.0 % of the victims were";
    // Behind the two lines of the head, and a blank one.
    assert!(text.lines().nth(3).unwrap().starts_with(verdict), "{text}");
    assert!(
        text.contains("  ! the reserve decided, not your policy: for 75.0 % of the victims"),
        "{text}"
    );
    assert!(text.contains("steady state    no: the reserve decided"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

/// One request at a time: 20 000 of them, a tenth of them slow because of GC.
fn measured(split: bool) -> Measurements {
    let mut m = Measurements::new(Nanos::millis(100), split);
    let mut now = 0;
    for i in 0..20_000u64 {
        let op = if i % 4 == 0 { Op::Read } else { Op::Write };
        let gc_wait_ns = if i % 10 == 0 { 1_500_000 } else { 0 };
        let chip_ns = if op == Op::Read { 50_000 } else { 600_000 };
        let parts = Parts {
            queue_ns: i * 7919 % 9973,
            chip_ns,
            transfer_ns: 12_300,
            gc_wait_ns,
            metadata_ns: 0,
        };
        let mut request = Request::new(op, i * 8, 8);
        request.volume = (i % 2) as u16;
        m.arrive(Nanos(now), op);
        now += parts.total();
        m.complete(Nanos(now), &request, Nanos(parts.total()), &parts);
        if op == Op::Read {
            m.host.pages_read += 1;
            m.flash.reads[Cause::Host.at()] += 1;
        } else {
            m.host.pages_written += 1;
            m.flash.programs[Cause::Host.at()] += 1;
            m.flash.programs[Cause::Gc.at()] += i % 2;
            m.note_write();
        }
        if i % 1000 == 999 {
            let gauges = Gauges { used_pages: 900, free_blocks: 2, gc_active_pools: 1 };
            m.sample(Nanos(now), gauges);
        }
    }
    collect(&mut m);
    m
}

fn collect(m: &mut Measurements) {
    let copied = m.flash.programs[Cause::Gc.at()];
    m.flash.reads[Cause::Gc.at()] = copied + 7;
    m.flash.erases[Cause::Gc.at()] = 200;
    (m.gc.calls, m.gc.foreground, m.gc.background, m.gc.deferred) = (200, 10, 190, 42);
    (m.gc.victims.policy, m.gc.victims.reserve_greedy) = (196, 4);
    m.gc.victims.decided = 196;
    m.gc.pages = MoveCounts { moved: copied - 3, stale: 3, dropped: 7 };
    (m.gc.victim_valid_sum, m.gc.victim_pages_sum) = (copied + 7, 25_600);
    (m.gc.jobs_done, m.gc.job_time_ns_sum, m.gc.job_time_ns_max) = (200, 9_000_000_000, 71_000_000);
    m.gc.reserve_promotions = 5;
}

pub(super) fn inputs(m: &Measurements) -> Inputs<'_> {
    let span = m.in_system.integral() as u64;
    Inputs {
        provenance: Provenance {
            ssdlab: "0.1.0".into(),
            results: Some(1),
            commit: None,
            seed: 1,
            config_digest: "3f2a9c0d17be44aa".into(),
            event_digest: None,
            external_policies: BTreeMap::new(),
            trace_digest: None,
            snapshot_digest: None,
        },
        config: json!({"run": {"name": "example", "seed": 1}}),
        measured: m,
        device: DeviceState {
            page_bytes: 4096,
            flash_block_bytes: 256 * 4096,
            user_pages: 10_000,
            slc_blocks: None,
            zones: None,
            parity_groups: None,
            pages_by_owners: None,
            extra_owner_bytes: 0,
            records: None,
            power: None,
            physical_pages: 11_000,
            used_pages: 10_450,
            valid_pages: 9_990,
            free_blocks: 2,
            lowest_free_blocks: 1,
            pages_before: 10_000,
            separation: None,
            reclaim: None,
            buffered_pages: None,
            host_crosses: None,
            erases: &ERASES,
            life_erases: &ERASES,
            factory_bad_blocks: 0,
            worn_out_blocks: 0,
            endurance: 0,
            ends_of_life: None,
            daily_writes: None,
            warranty_years: 5.0,
            host_bytes_written: 40_960_000,
            channel_busy_ns: &[],
            chip_busy_ns: &[],
        },
        victim_policy: "cost-benefit",
        arrivals: Arrivals::Workload,
        completed: true,
        at_rest: true,
        ended: Nanos(span),
        wall_ns: Some(12_500_000),
        cpu_ns: Some(12_000_000),
        memory_bytes: Some(88_000),
        series: BTreeMap::from([("series".into(), "series.csv".into())]),
        trace_lines: None,
        warnings: vec!["trace: 3 lines skipped".into()],
    }
}

fn example(m: &Measurements) -> Report {
    let span = m.in_system.integral() as u64;
    let (channels, chips) = ([span / 2, span / 4], [span / 2, span / 8, span / 4, span / 10]);
    let mut inputs = inputs(m);
    (inputs.device.channel_busy_ns, inputs.device.chip_busy_ns) = (&channels, &chips);
    Report::build(&inputs)
}

#[test]
fn parts_sum_to_the_whole() {
    let m = measured(false);
    let r = example(&m);
    assert_eq!((r.requests.submitted, r.requests.completed), (20_000, 20_000));
    assert_eq!((r.requests.read, r.requests.write), (5_000, 15_000));
    let waf: f64 = r.waf.by_cause.values().map(|p| p.unwrap()).sum();
    assert!((waf - r.waf.total.unwrap()).abs() < 1e-12);
    assert!((r.waf.by_cause[&Cause::Host].unwrap() - 1.0).abs() < 1e-12);
    for (parts, stats) in [
        (r.latency_parts.read.as_ref(), &r.latency.read),
        (r.latency_parts.write.as_ref(), &r.latency.write),
    ] {
        let sum: f64 = parts.unwrap().by_name().iter().map(|p| p.1).sum();
        assert!((sum / stats.mean.unwrap() - 1.0).abs() < 1e-12);
    }
    let l = &r.little;
    let right = l.throughput.unwrap() / 1e9 * l.mean_response.unwrap();
    assert!((l.mean_in_system.unwrap() - right).abs() < 1e-9, "Little's law");
    assert!((l.mean_in_system.unwrap() - 1.0).abs() < 1e-9, "always exactly one");
    assert!((r.device.erase_mean - 4.0).abs() < 1e-12);
    assert!((r.device.erase_stddev - 0.5f64.sqrt()).abs() < 1e-12);
    assert!(r.steady_state.reached, "{}", r.steady_state.reason);
    assert_eq!(m.series.rows.len(), 20);
    assert_eq!(m.series.rows.iter().map(|row| row.write.count).sum::<u64>(), 15_000);
}

#[test]
fn audit_accepts_the_example_and_names_what_is_wrong() {
    let m = measured(false);
    assert_eq!(audit(&inputs(&m)), Vec::<String>::new());
    let broken = |change: &dyn Fn(&mut Measurements), words: &str| {
        let mut m = measured(false);
        change(&mut m);
        let found = audit(&inputs(&m));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains(words), "{found:?}");
    };
    broken(&|m| m.read_parts.queue += 1, "parts of reads");
    broken(&|m| m.write_parts.gc_wait += 1, "parts of writes");
    broken(&|m| m.host.submitted[1] += 1, "submitted");
    broken(&|m| m.gc.victims.policy -= 1, "victims");
    broken(&|m| m.gc.background -= 1, "background");
    broken(&|m| m.gc.pages.dropped += 1, "GC reads");
    broken(&|m| m.gc.pages.stale += 1, "GC programs");
    let mut m = measured(false);
    (m.buffer.coalesced, m.buffer.trimmed, m.buffer.evicted) = (3, 2, 14_995);
    let mut buffered = inputs(&m);
    buffered.device.buffered_pages = Some(0);
    assert_eq!(audit(&buffered), Vec::<String>::new(), "15,000 pages written");
    m.buffer.evicted += 1;
    let mut buffered = inputs(&m);
    buffered.device.buffered_pages = Some(0);
    let fates = "pages written = coalesced + trimmed + evicted: 15000 != 15001";
    assert_eq!(audit(&buffered), [fates]);
    let m = measured(false);
    // All the time is not too much.
    let (mut late, busy) = (inputs(&m), [m.in_system.integral() as u64]);
    late.device.chip_busy_ns = &busy;
    assert_eq!(audit(&late), Vec::<String>::new());
    let busy = [u64::MAX];
    late.device.chip_busy_ns = &busy;
    assert!(audit(&late)[0].contains("busy for"));
    let report = Report::build(&late);
    assert!(report.warnings.iter().any(|w| w.starts_with("internal error")));
}

#[test]
fn json_survives_a_round_trip() {
    for split in [false, true] {
        let report = example(&measured(split));
        let text = report.to_json();
        let back: Report = serde_json::from_str(&text).unwrap();
        // The parser may be off by the last bit of a float: compare after one pass.
        let again: Report = serde_json::from_str(&back.to_json()).unwrap();
        assert_eq!(back, again);
        assert_eq!(back.latency.write.p99, report.latency.write.p99);
        assert_eq!(back.latency.by_volume.is_some(), split);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["latency"]["by_volume"].is_object(), split);
        assert_eq!(value["waf"]["parity"], json!(0.0));
        assert_eq!(value["flash"]["erases"], json!(200));
        assert_eq!(value["latency"]["trim"]["mean"], Value::Null);
    }
    let quiet = example(&measured(false)).without_clock();
    assert_eq!((quiet.time.wall, quiet.speed.requests_per_s), (None, None));
}

/// Every field of `value` is in `schema` with a fitting type, and every required one is there.
fn check(path: &str, schema: &Value, value: &Value) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let allowed = match &schema["type"] {
        Value::Array(kinds) => kinds.clone(),
        one => vec![one.clone()],
    };
    let number = kind == "integer" && allowed.contains(&json!("number"));
    assert!(number || allowed.contains(&json!(kind)), "{path}: {kind}, but {allowed:?}");
    if let Some(items) = value.as_array() {
        items.iter().for_each(|item| check(path, &schema["items"], item));
    }
    let Some(fields) = value.as_object() else { return };
    for name in schema["required"].as_array().into_iter().flatten() {
        assert!(fields.contains_key(name.as_str().unwrap()), "{path}: {name} is missing");
    }
    for (name, field) in fields {
        let named = &schema["properties"][name];
        let inner = if named.is_null() { &schema["additionalProperties"] } else { named };
        let free = path == ".config" || schema == &json!({"type": "object"});
        assert!(free || !inner.is_null(), "{path}.{name} is not in the schema");
        if !free {
            check(&format!("{path}.{name}"), inner, field);
        }
    }
}

#[test]
fn the_schema_describes_the_structs() {
    for m in [measured(true), measured(false), Measurements::new(Nanos::ZERO, false)] {
        let value = serde_json::to_value(example(&m)).unwrap();
        check("", &schema::schema(), &value);
    }
}

fn has(warnings: &[String], words: &str) -> bool {
    warnings.iter().any(|w| w.contains(words))
}

#[test]
fn warnings_come_with_their_condition_only() {
    let m = measured(false);
    let good = example(&m);
    assert_eq!(good.warnings[0], "trace: 3 lines skipped");
    assert!(has(&good.warnings, "5.00 % of GC calls in the foreground"));
    assert!(has(&good.warnings, "chose 196 of 200 victims"));
    assert!(has(&good.warnings, "read latency: p99.9, p99.99 not reported: only 5,000 samples"));
    assert!(has(&good.warnings, "(p99.9 needs 10,000)"));
    for words in ["no GC", "steady", "overloaded", "finish", "unmapped", "internal"] {
        assert!(!has(&good.warnings, words), "{words}: {:?}", good.warnings);
    }

    let with = |change: &dyn Fn(&mut Report)| {
        let mut report = good.clone();
        change(&mut report);
        let found = warnings::warnings(&report, Arrivals::Workload);
        [found.invalidating, found.notes].concat()
    };
    assert_eq!(good.invalidating, 0, "{:?}", good.warnings);
    let mut unsteady = good.clone();
    unsteady.steady_state.reached = false;
    let found = warnings::warnings(&unsteady, Arrivals::Workload);
    assert!(has(&found.invalidating, "not in steady state") && found.invalidating.len() == 1);
    assert!(has(&found.notes, "5.00 % of GC calls in the foreground"), "{:?}", found.notes);
    assert!(has(&with(&|r| r.gc.calls = 0), "the trigger held 42 times"));
    assert!(has(&found.invalidating, "write more (workload.requests, workload.loops) or"));
    let found = warnings::warnings(&unsteady, Arrivals::Program);
    assert!(has(&found.invalidating, "; write more or precondition"), "{:?}", found.invalidating);
    let none = with(&|r| (r.gc.calls, r.gc.deferred) = (0, 0));
    assert!(has(&none, "fewest free blocks: 1 of 4"));
    assert!(has(&with(&|r| r.steady_state.reached = false), "not in steady state"));
    let reserve = with(&|r| {
        (r.verdict.decided_by, r.steady_state.reached) = (DecidedBy::Reserve, false);
        r.verdict.reason = "why".into();
    });
    assert!(has(&reserve, "the reserve decided, not your policy: why"));
    assert!(!has(&reserve, "write more"), "{reserve:?}");
    assert!(has(&with(&|r| r.completed = false), "20,000 of 20,000 requests completed"));
    assert!(has(&with(&|r| r.host.unmapped_pages_read = 50), "50 of 5,000 pages read"));
    assert!(!has(&with(&|r| r.host.unmapped_pages_read = 49), "unmapped"));
    let trigger = |at: f64, scope: &str| {
        let trigger = json!({"policy": "used-space", "at": at, "scope": scope});
        with(&|r| r.config = json!({"gc": {"trigger": [trigger.clone()]}}))
    };
    assert!(has(&trigger(0.9, "device"), "live data occupy 90.8 % of the pages"));
    assert!(!has(&trigger(0.91, "device"), "live data"));
    assert!(!has(&trigger(0.9, "pool"), "live data"));
    let queue = |peak: u64, mean: f64, busy: f64| {
        with(&|r| {
            r.little.peak_in_system = peak;
            r.little.mean_in_system = Some(mean);
            r.device.utilisation.chip = vec![busy];
            r.device.utilisation.channel = Vec::new();
        })
    };
    assert!(has(&queue(5000, 2500.0, 0.4), "grew to 5,000 pending"), "half of the peak on average");
    assert!(has(&queue(5000, 100.0, 1.0), "utilisation 100 %"));
    assert!(!has(&queue(5000, 100.0, 0.9), "overloaded"), "a burst that was served");
    assert!(!has(&queue(999, 900.0, 1.0), "overloaded"));
    assert!(!has(&warnings::warnings(&good, Arrivals::Completions).invalidating, "overloaded"));
}

#[test]
fn an_empty_run_has_a_report_without_invented_numbers() {
    let m = Measurements::new(Nanos::ZERO, false);
    let report = Report::build(&inputs(&m));
    assert_eq!((report.waf.total, report.latency.read.mean), (None, None));
    assert_eq!(report.latency_parts.read, None);
    assert_eq!(report.little.throughput, None);
    assert!(has(&report.warnings, "the host wrote nothing"));
    assert!(report.invalidating > 0, "{:?}", report.warnings);
    assert!(!report.to_json().contains("NaN"));
    assert!(summary::text(&report).contains("steady state    no"));
}

#[test]
fn numbers_of_reads_alone_need_no_collection() {
    let m = Measurements::new(Nanos::ZERO, false);
    let mut report = Report::build(&inputs(&m));
    let told = |report: &Report| {
        let found = warnings::warnings(report, Arrivals::Completions);
        (found.invalidating.len(), has(&found.notes, "the host wrote nothing"))
    };
    assert_eq!(told(&report), (1, false), "a run without requests has measured nothing");
    report.host.pages_read = 1;
    assert_eq!(told(&report), (0, true));
}

#[test]
fn restart_forgets_the_past_and_keeps_what_is_inside() {
    let mut m = measured(true);
    let end = m.series.rows.last().unwrap().time_ns;
    m.arrive(Nanos(end), Op::Read);
    m.restart(Nanos(end + 10));
    assert_eq!(m.since, Nanos(end + 10));
    assert_eq!((m.host.submitted, m.flash.all()), ([0; 5], 0));
    assert!(m.latencies.split && m.latencies.by_volume.is_empty() && m.series.rows.is_empty());
    assert_eq!((m.series.interval_ns, m.in_system.current()), (100_000_000, 1));
    m.complete_unmeasured(Nanos(end + 15));
    assert_eq!((m.in_system.current(), m.in_system.integral()), (0, 5));
}

#[test]
fn the_summary_reads_like_this() {
    let text = summary::text(&example(&measured(false)));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text == include_str!("summary_example.txt"), "the summary changed:\n{text}");
}
