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
    let (overall, after) = (mean(means), mean(rest));
    if (overall - after).abs() <= half_width {
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
    let (mut longest, mut judged, mut reasons) = (0.0f64, 0, Vec::new());
    for (name, means) in courses {
        match look(means) {
            Finding::TooFew => continue,
            Finding::Settled => {}
            Finding::Unsettled => {
                return unknown(&format!(
                    "{name} drifts, or varies too slowly for the length of the run"
                ));
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
        judged += 1;
    }
    if judged == 0 {
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
mod tests;
