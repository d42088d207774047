//! Numbers of the report that depend on two counters, or on one of two cases. Each test follows their description.

use super::{inputs, measured};
use crate::metrics::Measurements;
use crate::metrics::counters::Cause;
use crate::metrics::degraded::FailedChip;
use crate::metrics::inputs::{Arrivals, Inputs, ReclaimState, SeparationState};
use crate::metrics::report::{ReclaimUnits, Recovery, Report};
use crate::metrics::steady::{Course, Evidence};
use crate::metrics::warnings::{Warnings, warnings};
use crate::units::{Lpn, Nanos};
use serde_json::json;
use std::collections::BTreeMap;

/// The report of an example after a change of what it is computed from.
fn report<'a>(m: &'a Measurements, change: impl FnOnce(&mut Inputs<'a>)) -> Report {
    let mut inputs = inputs(m);
    change(&mut inputs);
    Report::build(&inputs)
}

fn near(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value / expected - 1.0).abs() < 1e-12)
}

#[test]
fn bad_blocks_are_those_from_the_factory_and_the_worn_ones() {
    let r = report(&measured(false), |i| {
        (i.device.factory_bad_blocks, i.device.worn_out_blocks) = (3, 4);
    });
    assert_eq!((r.device.bad_blocks, r.wear.factory_bad_blocks, r.wear.worn_out_blocks), (7, 3, 4));
}

#[test]
fn only_good_blocks_are_written_at_even_wear() {
    let (m, erases) = (measured(false), [0; 10]);
    let programs = m.flash.all_programs() as f64;
    for good in [10, 6] {
        let r = report(&m, |i| {
            (i.device.erases, i.device.life_erases) = (&erases, &erases[..good]);
            i.device.endurance = 50;
        });
        // 11,000 pages of 4 KiB, 50 times each, at the write amplification of 15,000 pages.
        let bytes = 11_000.0 * good as f64 / 10.0 * 50.0 * 4096.0 * 15_000.0 / programs;
        assert!(near(r.wear.host_bytes_at_even_wear, bytes), "{good}: {:?}", r.wear);
    }
}

#[test]
fn a_day_is_what_the_configuration_says_else_what_was_measured() {
    let m = measured(false);
    let life = |daily: Option<u64>| {
        let r = report(&m, |i| {
            (i.device.endurance, i.device.ends_of_life) = (50, Some((2.0, 5.0)));
            i.device.daily_writes = daily;
        });
        r.lifetime.expect("blocks wear out")
    };
    let (written, page) = (15_000.0 * 4096.0, 4096.0);
    let measured_day = written * 86_400.0 / (m.in_system.integral() as f64 / 1e9);
    for (daily, bytes) in [(None, measured_day), (Some(8_192_000), 8_192_000.0)] {
        let life = life(daily);
        // 10,000 pages before, and what was measured twice and five times.
        let (first, end) = (40_960_000.0 + 2.0 * written, 40_960_000.0 + 5.0 * written);
        assert!(near(life.daily_writes, bytes), "{life:?}");
        assert!(near(life.first_block_days, first / bytes), "{life:?}");
        assert!(near(life.bytes_written, end) && near(life.days, end / bytes), "{life:?}");
        let per_day = end / (10_000.0 * page) / (5.0 * 365.0);
        assert!(near(life.drive_writes_per_day, per_day), "{life:?}");
        // Erases of 3, 5, 4 and 4 of 50.
        assert!(near(life.left, 184.0 / 200.0), "{life:?}");
    }
}

#[test]
fn owners_beyond_the_first_count_each() {
    let r = report(&measured(false), |i| i.device.pages_by_owners = Some(&[90, 7, 5, 2]));
    let remap = r.remap.expect("pages are shared");
    assert_eq!(remap.extra_owners, 7 + 2 * 5 + 3 * 2);
    assert_eq!(remap.pages_by_owners, [90, 7, 5, 2]);
}

#[test]
fn media_bytes_are_of_every_cause_and_of_whole_blocks() {
    let mut m = measured(false);
    (m.flash.programs[Cause::Wear.at()], m.flash.erases[Cause::Wear.at()]) = (100, 3);
    let row = |host_bytes, opened| ReclaimUnits { host_bytes, opened, ..ReclaimUnits::default() };
    let state = ReclaimState {
        handles: vec![row(5, 1), row(7, 2)],
        shared: row(11, 4),
        ..ReclaimState::default()
    };
    let r = report(&m, |i| {
        i.device.reclaim = Some(&state);
        i.device.separation = Some(SeparationState { open_pages: 250, ..Default::default() });
    });
    let separation = r.separation.expect("pages are separated");
    // 1,000 pages beside the 10,000 of the host.
    assert!(near(Some(separation.open_share_of_spare), 0.25), "{separation:?}");
    let fdp = separation.fdp.expect("there are handles");
    // 15,000 pages of the host, half of which were copied, and 100 that were levelled.
    let copied = (0..20_000).filter(|i| i % 4 != 0 && i % 2 == 1).count() as u64;
    assert_eq!(fdp.media_bytes_written, (15_000 + copied + 100) * 4096);
    assert_eq!(fdp.media_bytes_erased, (200 + 3) * 256 * 4096);
    assert_eq!((fdp.host_bytes_written, fdp.units_opened), (5 + 7 + 11, 1 + 2 + 4));
}

#[test]
fn pages_of_the_host_cross_with_all_that_goes_with_them() {
    let mut m = measured(false);
    m.controller.traversals[Cause::Gc.at()] = 9;
    let with_them =
        [(Cause::Rmw, 40), (Cause::Parity, 7), (Cause::Remap, 5), (Cause::Reconstruct, 3)];
    for (cause, reads) in with_them {
        m.flash.reads[cause.at()] = reads;
    }
    (m.flash.reads[Cause::Rebuild.at()], m.flash.programs[Cause::Rebuild.at()]) = (11, 4);
    m.flash.programs[Cause::Metadata.at()] = 6;
    m.controller.wait_ns = 20_049;
    let controller = |crosses| report(&m, |i| i.device.host_crosses = crosses).controller;
    assert_eq!(controller(None), None);
    for crosses in [false, true] {
        let c = controller(Some(crosses)).expect("there is an interconnect");
        let mut expected = BTreeMap::from(Cause::ALL.map(|cause| (cause, 0)));
        expected.insert(Cause::Gc, 9);
        if crosses {
            expected.extend(with_them);
            expected.extend([(Cause::Host, 20_000), (Cause::Rebuild, 11 + 4)]);
        }
        let all = expected.values().sum::<u64>() as f64;
        assert_eq!(c.traversals, expected);
        assert!(near(c.traversal_wait_mean, 20_049.0 / all), "{c:?}");
    }
}

#[test]
fn parity_is_no_spare_space() {
    // The host wrote 15,000 pages: more than 14,000 pages of spare, fewer than 15,001.
    let steady = |groups: Option<u64>| {
        let m = measured(false);
        let r = report(&m, |i| {
            (i.device.physical_pages, i.device.parity_groups) = (25_001, groups);
        });
        (r.steady_state.reached, r.steady_state.reason)
    };
    let (reached, reason) = steady(None);
    assert!(!reached && reason.contains("fewer than the 15,001 spare pages"), "{reason}");
    assert!(steady(Some(1)).0, "{}", steady(Some(1)).1);
}

#[test]
fn what_is_left_out_already_is_part_of_the_advice() {
    let mut m = measured(false);
    m.warmup = 500;
    let r = report(&m, |_| ());
    assert_eq!(r.warmup.recommended_requests, Some(500), "{}", r.warmup.reason);
    assert!(!r.warnings.iter().any(|w| w.contains("transient")), "{:?}", r.warnings);
    let advised = |wanted| {
        let mut r = r.clone();
        r.warmup.recommended_requests = Some(wanted);
        let Warnings { invalidating, .. } = warnings(&r, Arrivals::Workload);
        invalidating.iter().any(|w| w.contains("starts with a transient"))
    };
    assert_eq!([499, 500, 501].map(advised), [false, false, true]);
}

/// Whether a warning of a run with this configuration begins so.
fn warned(m: &Measurements, config: serde_json::Value, completed: bool, words: &str) -> bool {
    let r = report(m, |i| {
        (i.config, i.completed) = (config, completed);
        (i.device.records, i.device.parity_groups) = (Some(Default::default()), Some(1));
    });
    r.warnings.iter().any(|w| w.starts_with(words))
}

#[test]
fn cuts_that_did_not_come_are_told_where_the_configuration_cuts() {
    let mut m = measured(false);
    let told = |m: &Measurements, cut: serde_json::Value| {
        warned(m, json!({"power": {"cut": cut}}), true, "power was not cut")
    };
    assert!(told(&m, json!({"every": 5})));
    assert!(!told(&m, json!("never")) && !told(&m, json!("on-request")));
    m.power.cuts = 1;
    m.recoveries.push(Recovery::default());
    assert!(!told(&m, json!({"every": 5})));
}

#[test]
fn failures_that_did_not_come_are_told_of_completed_runs() {
    let mut m = measured(false);
    let chip = FailedChip { chip: 1, failed: Nanos(5), replaced: None, group: vec![0, 1] };
    m.degraded = Some(Box::default());
    m.degraded.as_mut().expect("just set").chips = vec![chip];
    let told = |m: &Measurements, count: usize, completed: bool| {
        let fail = vec![json!({"chip": 1, "at": 5}); count];
        let words = format!("1 of {count} failures of chips did not happen");
        warned(m, json!({"raid": {"fail": fail}}), completed, &words)
    };
    assert_eq!([1, 2, 3].map(|count| told(&m, count, true)), [false, true, false]);
    assert!(!told(&m, 2, false), "a run that was stopped has an end of its own");
    // Data that are gone for good end the run, and it does not end degraded.
    let ended = |m: &Measurements| warned(m, json!({}), true, "the run ended degraded");
    assert!(ended(&m));
    let degraded = m.degraded.as_mut().expect("a chip has failed");
    degraded.gone = vec![Lpn(3)];
    assert!(!ended(&m));
}

#[test]
fn amplification_may_drift_by_a_twentieth_of_the_last_quarter() {
    // 250 pages in each quarter: 476 programs are 4.8 % fewer than 500, and 500 are 5.04 % more than 476.
    for (third, fourth, reached) in [(476, 500, true), (500, 476, false)] {
        let mut course = Course::default();
        course.record(500, 500);
        course.record(750, 500 + third);
        let state = course.judge(&Evidence {
            host_pages: 1000,
            programs: 500 + third + fourth,
            pages_before: 1000,
            user_pages: 1000,
            spare_pages: 100,
            live_pages: 1000,
            starts_steady: false,
            reserve_decided: false,
            gc_calls: 1000,
        });
        assert_eq!(state.reached, reached, "{}", state.reason);
        let quarters = [state.wa_first, state.wa_second];
        assert!(near(quarters[0], third as f64 / 250.0), "{quarters:?}");
        assert!(near(quarters[1], fourth as f64 / 250.0), "{quarters:?}");
    }
}
