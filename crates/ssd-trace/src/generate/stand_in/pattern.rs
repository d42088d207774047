//! Dependence between the requests of a stand-in: trains of arrivals, repeated sizes, and requests that return to
//! recently written pages.

use crate::config::{PatternKeys, SHORT_GAP_NS};
use libm::{pow, sqrt};
use ssd_core::host::source::SourceError;
use ssd_core::rng::Stream;

/// Positive numbers with a given mean and coefficient of variation. Up to 1, they are the sum of a constant and an
/// exponential number; above 1, exponential numbers with one of two means, which contribute half of the sum each. Two
/// such phases fit the gaps of recorded storage traces best among twenty distributions (Wajahat et al., "Analyzing the
/// distribution fit for storage workload and Internet traffic traces", Performance Evaluation 2020).
#[derive(Clone, Copy)]
struct Spread {
    constant: f64,
    /// Probability of the first mean.
    first: f64,
    means: [f64; 2],
}

impl Spread {
    fn new(mean: f64, cv: f64) -> Spread {
        if cv <= 1.0 {
            let exponential = mean * cv;
            return Spread { constant: mean - exponential, first: 1.0, means: [exponential; 2] };
        }
        let square = cv * cv;
        let first = f64::midpoint(1.0, sqrt((square - 1.0) / (square + 1.0)));
        let means = [first, 1.0 - first].map(|share| mean / (2.0 * share));
        Spread { constant: 0.0, first, means }
    }

    fn draw(&self, random: &mut Stream) -> f64 {
        let mean = self.means[usize::from(!random.chance(self.first))];
        self.constant + mean * random.exponential()
    }
}

/// Times between requests.
pub(super) enum Gaps {
    /// A Poisson process with this mean gap, ns.
    Poisson(f64),
    /// Trains of requests.
    Trains(Trains),
}

/// Trains of requests, with the gaps within and between them.
pub(super) struct Trains {
    random: Stream,
    /// Remaining requests of the current train.
    left: u64,
    /// A short gap is `SHORT_GAP_NS` times a uniform number to the power of this exponent; `None`: all are 0.
    exponent: Option<f64>,
    /// Excess of a gap between trains over `SHORT_GAP_NS`, ns.
    longer: Spread,
    /// Mean of the Poisson number of requests after the first of a train.
    further: Spread,
}

impl Gaps {
    /// Creates the gaps of `keys` with a mean of `mean_ns`.
    ///
    /// # Errors
    /// No gaps have these statistics.
    pub(super) fn new(
        keys: &PatternKeys,
        mean_ns: f64,
        random: Stream,
    ) -> Result<Gaps, SourceError> {
        let PatternKeys { short_gaps: short, gap_cv, train_cv, .. } = *keys;
        if short.to_bits() == 0 && gap_cv.to_bits() == 1f64.to_bits() {
            return Ok(Gaps::Poisson(mean_ns));
        }
        let limit = SHORT_GAP_NS as f64;
        let short_mean = keys.train_gap_ns as f64;
        let short_square = keys.short_gap_square();
        let long_mean = (mean_ns - short * short_mean) / (1.0 - short);
        let square = (1.0 + gap_cv * gap_cv) * mean_ns * mean_ns;
        let variance = (square - short * short_square) / (1.0 - short) - long_mean * long_mean;
        // Rounding alone may make it negative if all long gaps are equal.
        if long_mean <= limit || variance < -1e-9 * long_mean * long_mean {
            return Err(SourceError(format!(
                "no gaps with a mean of {:.3} ms have workload.short_gaps = {short}, workload.gap_cv = \
                 {gap_cv} and workload.train_gap = {short_mean} ns; raise gap_cv or lower short_gaps",
                mean_ns / 1e6
            )));
        }
        let longer = long_mean - limit;
        let length = 1.0 / (1.0 - short);
        let more = length - 1.0;
        let spread = (train_cv * length).powi(2) - more;
        let further_cv = if more > 0.0 { sqrt(spread.max(0.0)) / more } else { 0.0 };
        Ok(Gaps::Trains(Trains {
            random,
            left: 0,
            exponent: keys.short_gap_exponent(),
            longer: Spread::new(longer, sqrt(variance.max(0.0)) / longer),
            further: Spread::new(more, further_cv),
        }))
    }

    /// Returns the time to the next request, ns, and whether it begins a train; `random` serves the Poisson process.
    pub(super) fn next(&mut self, random: &mut Stream) -> (f64, bool) {
        match self {
            Gaps::Poisson(mean) => (random.exponential() * *mean, true),
            Gaps::Trains(trains) => trains.next(),
        }
    }
}

impl Trains {
    fn next(&mut self) -> (f64, bool) {
        let random = &mut self.random;
        // Gaps are whole nanoseconds, so that they are not changed when arrivals are rounded.
        if self.left > 0 {
            self.left -= 1;
            let unit = random.unit();
            let gap =
                self.exponent.map_or(0.0, |exponent| SHORT_GAP_NS as f64 * pow(unit, exponent));
            return (gap.floor().min((SHORT_GAP_NS - 1) as f64), false);
        }
        let mut mean = self.further.draw(random);
        loop {
            mean -= random.exponential();
            if mean < 0.0 {
                break;
            }
            self.left += 1;
        }
        ((SHORT_GAP_NS as f64 + self.longer.draw(random)).round(), true)
    }
}

/// Maintains the share of requests with a property; those that have it by chance count, too.
pub(super) struct Quota {
    share: f64,
    /// Requests that should have had the property, less those that had it.
    due: i64,
    random: Stream,
}

impl Quota {
    /// A `share` of 0 requires no request to have it.
    pub(super) fn new(share: f64, random: Stream) -> Quota {
        Quota { share, due: 0, random }
    }

    pub(super) fn is_used(&self) -> bool {
        self.share > 0.0
    }

    /// Returns whether the next request should have it.
    pub(super) fn asks(&mut self) -> bool {
        if !self.is_used() {
            return false;
        }
        self.due += i64::from(self.random.chance(self.share));
        self.due > 0
    }

    /// Records whether a request had it.
    pub(super) fn count(&mut self, did: bool) {
        self.due -= i64::from(did);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns mean gap, share of short gaps, their mean, and coefficient of variation of all gaps.
    fn measured(keys: &PatternKeys, mean_ns: f64) -> [f64; 4] {
        let (count, mut random) = (400_000, Stream::new(1, "unused"));
        let mut gaps = Gaps::new(keys, mean_ns, Stream::new(1, "pattern test")).unwrap();
        let all: Vec<f64> = (0..count).map(|_| gaps.next(&mut random).0).collect();
        let short: Vec<f64> =
            all.iter().copied().filter(|&gap| gap < SHORT_GAP_NS as f64).collect();
        let mean_of = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let mean = mean_of(&all);
        let squares: Vec<f64> = all.iter().map(|gap| (gap - mean) * (gap - mean)).collect();
        let share = short.len() as f64 / all.len() as f64;
        [mean, share, mean_of(&short), sqrt(mean_of(&squares)) / mean]
    }

    /// Short gaps also count if the mean gap is short.
    #[test]
    fn gaps_as_stated_at_any_mean() {
        let sample = PatternKeys::MSR_SAMPLE;
        let wide = PatternKeys { train_gap_ns: 600_000, short_gaps: 0.6, gap_cv: 0.9, ..sample };
        for (keys, mean_ns) in [(sample, 500_000.0), (wide, 1_200_000.0), (sample, 1e9)] {
            let expected = [mean_ns, keys.short_gaps, keys.train_gap_ns as f64, keys.gap_cv];
            for (found, expected) in measured(&keys, mean_ns).into_iter().zip(expected) {
                assert!((found / expected - 1.0).abs() < 0.02, "{found}, stated {expected}");
            }
        }
    }

    /// The mean at which it is least is the limit of those that the generator accepts.
    #[test]
    fn no_mean_allows_less_than_the_least_variation() {
        let sample = PatternKeys::MSR_SAMPLE;
        for (short_gaps, train_gap_ns) in [(0.8, 0), (0.797, 48_200), (0.6, 600_000)] {
            let keys = PatternKeys { short_gaps, train_gap_ns, ..sample };
            let least = keys.least_gap_cv();
            let shortest =
                short_gaps * train_gap_ns as f64 + (1.0 - short_gaps) * SHORT_GAP_NS as f64;
            let accepts = |gap_cv: f64, mean_ns: f64| {
                let keys = PatternKeys { gap_cv, ..keys };
                Gaps::new(&keys, mean_ns, Stream::new(1, "pattern test")).is_ok()
            };
            assert!(accepts(least * 1.01, shortest * 1.001));
            for mean in [1.001, 1.01, 1.1, 2.0, 10.0, 1000.0] {
                assert!(!accepts(least * 0.999, shortest * mean), "{least} at {mean} x {shortest}");
            }
        }
    }

    #[test]
    fn means_that_are_too_short_are_refused() {
        let refused = |keys: PatternKeys, mean_ns| {
            Gaps::new(&keys, mean_ns, Stream::new(1, "pattern test")).is_err()
        };
        let sample = PatternKeys::MSR_SAMPLE;
        // Long gaps have at least 1 ms: (mean - 0.797 * 48.2 us) / 0.203 is 1 ms at 241.4 us.
        assert!(refused(sample, 241_000.0) && !refused(sample, 242_000.0));
        assert!(refused(PatternKeys { short_gaps: 0.0, gap_cv: 0.0, ..sample }, 1_000_000.0));
    }
}
