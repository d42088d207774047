//! Whether the measurement starts with a transient, and how long the transient is.
//!
//! MSER: discard the first k means of equal batches, with k such that the estimated error of the mean
//! of the others (their sum of squared deviations over the square of their number) is smallest.
//! With a minimum in the second half the run is not settled. Source: White, "An Effective
//! Truncation Heuristic for Bias Reduction in Simulation Output", Simulation 69(6), 1997; White, Cobb
//! and Spratt, "A Comparison of Five Steady-State Truncation Heuristics for Simulation", WSC 2000, use
//! batches of five values (MSER-5). Here the batch length is chosen for at most 63 batches.
//!
//! MSER finds such a point in pure noise, too. It counts as a transient only if discarding it moves the
//! mean by more than half the 95 % confidence interval of the rest; that rule is our own.

use super::batch::half_width_95;
use super::declare::section;

/// Batches that must remain, so that their mean has an interval.
const MIN_REST: usize = 10;

section! {
    /// The transient at the start of the measurement, and what to do about it.
    pub struct Warmup;
    fields {
        /// Recommended `workload.warmup_requests`, including those already left out; `null` if there is
        /// no recommendation.
        recommended_requests: Option<u64>,
        /// The result, or why there is no recommendation.
        reason: String,
    }
}

/// The shape of a course of batch means.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Finding {
    /// Too few batches.
    TooFew,
    /// It drifts over its whole length, or varies too slowly for that length.
    Unsettled,
    /// No transient that matters.
    Settled,
    /// The first `share` (0 to 0.5) has mean `before`, the rest `after`.
    Transient {
        /// Part of the measurement.
        share: f64,
        /// Mean of that part.
        before: f64,
        /// Mean of the rest.
        after: f64,
    },
}

/// Look for a transient in the means of equal batches.
#[must_use]
pub fn look(means: &[f64]) -> Finding {
    let n = means.len();
    if n < 2 * MIN_REST {
        return Finding::TooFew;
    }
    let least = least_error(means);
    let skip = least.min(n / 2);
    let (first, rest) = means.split_at(skip);
    let Some(half_width) = half_width_95(rest) else { return Finding::Unsettled };
    let (all, after) = (mean(means), mean(rest));
    if (all - after).abs() <= half_width {
        return Finding::Settled;
    }
    if least > skip {
        return Finding::Unsettled;
    }
    Finding::Transient { share: skip as f64 / n as f64, before: mean(first), after }
}

fn mean(values: &[f64]) -> f64 {
    assert!(!values.is_empty(), "the mean of no values");
    values.iter().sum::<f64>() / values.len() as f64
}

/// The number of initial means to discard so that the error of the mean of the others is smallest.
fn least_error(means: &[f64]) -> usize {
    assert!(means.len() >= MIN_REST, "{} batches", means.len());
    let error = |skip: usize| {
        let rest = &means[skip..];
        let centre = mean(rest);
        let square: f64 = rest.iter().map(|m| (m - centre) * (m - centre)).sum();
        square / (rest.len() * rest.len()) as f64
    };
    let errors = (0..=means.len() - MIN_REST).map(|skip| (skip, error(skip)));
    errors.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(skip, _)| skip)
}

/// The transient in the courses of a run, by name, over `measured` requests after `warmup` ones.
#[must_use]
pub fn judge(courses: &[(&str, Vec<f64>)], warmup: u64, measured: u64) -> Warmup {
    let (mut longest, mut looked, mut reasons) = (0.0f64, 0, Vec::new());
    for (name, means) in courses {
        match look(means) {
            Finding::TooFew => continue,
            Finding::Settled => {}
            Finding::Unsettled => {
                let reason =
                    format!("{name} drifts, or varies too slowly for the length of the run");
                return Warmup { recommended_requests: None, reason };
            }
            Finding::Transient { share, before, after } => {
                longest = longest.max(share);
                let (percent, ratio) = (100.0 * share, before / after);
                reasons.push(format!(
                    "{name} over the first {percent:.0} % of the measurement is {ratio:.3} times that \
                     of the rest"
                ));
            }
        }
        looked += 1;
    }
    if looked == 0 {
        return unknown("too few requests");
    }
    if reasons.is_empty() {
        reasons.push("no transient found".to_owned());
    }
    let more = (longest * measured as f64).ceil() as u64;
    Warmup { recommended_requests: Some(warmup + more), reason: reasons.join("; ") }
}

/// No recommendation, because of `reason`.
#[must_use]
pub fn unknown(reason: &str) -> Warmup {
    Warmup { recommended_requests: None, reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
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
            let alarms =
                share_of(|seed| look(&course(seed, 48, kept, 0.0, 1.0)) != Finding::Settled);
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
}
