//! Energy in the report of a run: closed forms, sums, and a byte of the host.

use ssd_core::config::{Input, load};
use ssd_core::metrics::counters::Cause;
use ssd_core::metrics::report::{Energy, Report};
use ssd_core::metrics::summary;
use ssd_run::{Setup, Unattended, run};
use ssd_trace::config::RunConfig;

/// 3.3 V and 25 mA, as in SimpleSSD.
const POWER: [(&str, &str); 3] =
    [("energy.read", "82.5 mW"), ("energy.program", "82.5 mW"), ("energy.erase", "82.5 mW")];
/// Picojoules of a read, a program and an erase in the times of the preset `modern-tlc`.
const READ: u64 = 4_950_000;
const PROGRAM: u64 = 53_625_000;
const ERASE: u64 = 288_750_000;

/// The report of a run of a small device of the preset `modern-tlc`.
fn report(sets: &[(&str, &str)]) -> Report {
    let small = [
        ("device.channels", "1"),
        ("device.chips_per_channel", "2"),
        ("workload.warmup_requests", "0"),
        ("precondition.overwrite", "0"),
    ];
    let sets = small.iter().chain(sets).map(|(key, value)| ((*key).into(), (*value).into()));
    let (preset, sets) = (Some("modern-tlc".to_owned()), sets.collect());
    let config: RunConfig = load(&Input { preset, sets, ..Input::default() }).expect("a run");
    run(config, Setup::default(), &mut Unattended).expect("it goes on").finished.report
}

fn energy(report: &Report) -> &Energy {
    report.energy.as_ref().expect("powers are given")
}

#[test]
fn a_read_and_a_program_take_their_power_for_their_time() {
    for (read, expected) in [("1.0", [READ, 0]), ("0.0", [0, PROGRAM])] {
        let one = [("workload.requests", "1"), ("workload.read", read)];
        let report = report(&[&POWER[..], &one].concat());
        let e = energy(&report);
        assert_eq!([e.read, e.program], expected);
        assert_eq!((e.total, e.bus, e.idle), (expected.iter().sum(), 0, 0));
        let each = e.per_host_byte.expect("a page");
        assert!((each - e.total as f64 / 16_384.0).abs() < 1e-9, "{each}");
    }
}

#[test]
fn energies_add_up_and_are_exact_to_a_picojoule() {
    let more = [("energy.bus", "31.257 mW"), ("energy.idle", "1.000001 W")];
    let work = [("workload.requests", "30_000"), ("workload.read", "0.2")];
    let report = report(&[&POWER[..], &more, &work].concat());
    let e = energy(&report);
    let f = &report.flash;
    let sum = |by_cause: &std::collections::BTreeMap<Cause, u64>| by_cause.values().sum::<u64>();
    assert_eq!(e.read, READ * sum(&f.reads));
    assert_eq!(e.program, PROGRAM * sum(&f.programs));
    assert_eq!(e.erase, ERASE * f.erases);
    assert!(f.erases > 100, "{f:?}");
    // 13,653 ns a page; microwatts times nanoseconds are femtojoules, to the nearest thousand.
    let pages = sum(&f.reads) + sum(&f.programs);
    assert_eq!(e.bus, (31_257 * 13_653 * pages + 500) / 1000);
    let idle = u128::from(report.time.simulated) * 1_000_001 + 500;
    assert_eq!(u128::from(e.idle), idle / 1000);
    assert_eq!(e.total, e.read + e.program + e.erase + e.bus + e.idle);
    // A page of the host with write amplification W takes W programs, W - 1 reads of copies, and its share of erases.
    let (written, copied) = (report.host.pages_written, f.programs[&Cause::Gc]);
    assert_eq!(written + copied, sum(&f.programs));
    assert_eq!(e.program + READ * copied, PROGRAM * written + (PROGRAM + READ) * copied);
    let of_two = (2 * PROGRAM + READ) as f64 + 2.0 * ERASE as f64 / 768.0;
    assert!((of_two / 1e6 - 112.95).abs() < 0.005, "{of_two}");
    let text = summary::text(&report);
    assert!(text.contains("  energy ") && text.contains(" a byte of the host"), "{text}");
}

#[test]
fn without_powers_there_is_no_energy() {
    let report = report(&[("workload.requests", "10")]);
    assert!(report.energy.is_none() && report.tenants.is_none());
    let text = summary::text(&report);
    assert!(!text.contains("energy") && !text.contains("others"), "{text}");
    assert!(!report.to_json().contains("idle_uw"));
}

#[test]
fn volumes_and_streams_of_a_run_are_in_the_report_and_in_a_table() {
    let work = [("workload.requests", "30_000"), ("metrics.tenants", "true")];
    let report = report(&work);
    let tenants = report.tenants.as_ref().expect("they are told apart");
    let (volume, others) = (&tenants.by_volume[&0], &tenants.others);
    assert_eq!(tenants.by_stream.get(&0), Some(volume), "a workload has one of each");
    assert_eq!(volume.pages_written, report.host.pages_written);
    assert_eq!(volume.programs + others.programs, report.flash.programs.values().sum::<u64>());
    assert_eq!(volume.copies + others.copies, report.flash.programs[&Cause::Gc]);
    assert!(others.copies > 0 && others.waf.is_none(), "{others:?}");
    let shares = [volume, others].map(|stats| stats.share_of_copies.expect("there are copies"));
    assert!((shares[0] + shares[1] - 1.0).abs() < 1e-12, "{shares:?}");
    let text = summary::text(&report);
    assert!(text.contains("pages of ") && text.contains("  others"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}
