use super::*;
use crate::rng::Stream;

/// `n` means around 100 with standard deviation 1, each keeping `kept` of the last one's
/// distance, raised by `rise` at the start, which decays by the factor e in `decay` batches.
fn course(seed: u64, n: usize, kept: f64, rise: f64, decay: f64) -> Vec<f64> {
    let mut random = Stream::new(seed, "course");
    let mut away = 0.0;
    let mut step = move || {
        let normal = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        away = kept * away + (1.0 - kept * kept).sqrt() * normal;
        away
    };
    (0..50).for_each(|_| {
        step();
    });
    (0..n).map(|i| 100.0 + step() + rise * libm::exp(-(i as f64) / decay)).collect()
}

fn share_of(mut found: impl FnMut(u64) -> bool) -> f64 {
    (0..1000).filter(|&seed| found(seed)).count() as f64 / 1000.0
}

#[test]
fn noise_is_no_transient() {
    for kept in [0.0, 0.3] {
        let alarms = share_of(|seed| look(&course(seed, 48, kept, 0.0, 1.0)) != Finding::Settled);
        assert!(alarms < 0.05, "{alarms} of courses without a transient, correlation {kept}");
    }
}

#[test]
fn a_transient_is_found_and_left_out() {
    let long_enough = share_of(|seed| {
        let found = look(&course(seed, 60, 0.2, 30.0, 5.0));
        matches!(found, Finding::Transient { share, .. } if (0.1..0.5).contains(&share))
    });
    assert!(long_enough > 0.9, "{long_enough} found");
    // What remains of the bias is small against the spread.
    let Finding::Transient { after, before, .. } = look(&course(1, 60, 0.2, 30.0, 5.0)) else {
        panic!("no transient found");
    };
    assert!((after - 100.0).abs() < 1.0 && before > 105.0, "{before} {after}");
}

#[test]
fn a_drift_is_unsettled() {
    let drift: Vec<f64> = course(3, 60, 0.0, 0.0, 1.0)
        .iter()
        .enumerate()
        .map(|(i, noise)| noise + i as f64)
        .collect();
    assert_eq!(look(&drift), Finding::Unsettled);
    let late = share_of(|seed| {
        let mut means = course(seed, 60, 0.0, 0.0, 1.0);
        means[..40].iter_mut().for_each(|m| *m += 30.0);
        look(&means) == Finding::Unsettled
    });
    assert!(late > 0.99, "a transient of two thirds of the run: {late}");
}

#[test]
fn the_recommendation_counts_all_requests() {
    let transient = course(1, 60, 0.2, 30.0, 5.0);
    let calm = course(2, 60, 0.0, 0.0, 1.0);
    let Finding::Transient { share, .. } = look(&transient) else { panic!("no transient") };
    let found = judge(&[("waf", calm.clone()), ("x", transient)], 500, 10_000);
    let expected = 500 + (share * 10_000.0).ceil() as u64;
    assert_eq!(found.recommended_requests, Some(expected));
    assert!(found.reason.starts_with("x over the first"), "{}", found.reason);
    let none = judge(&[("waf", calm), ("x", vec![])], 500, 10_000);
    assert_eq!((none.recommended_requests, &*none.reason), (Some(500), "no transient found"));
    assert_eq!(judge(&[("x", vec![1.0; 5])], 0, 5), unknown("too few requests"));
    assert_eq!(look(&[7.0; 40]), Finding::Settled);
}
