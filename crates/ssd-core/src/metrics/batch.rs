//! Confidence intervals of a mean over correlated values: batch means in bounded memory.
//!
//! Latencies of neighbouring requests are correlated, so the textbook interval for independent
//! values is far too narrow. The stream is divided into 32 to 63 batches of equal length (when the 64th
//! is full, neighbours are joined and the length doubles). The remaining correlation between the
//! means of neighbouring batches is modelled as a first-order autoregressive process: with a
//! correlation `r` of neighbours, `n` means are worth `n (1 - r) / (1 + r)` independent ones. The
//! interval is Student's t with that number of values; below [`MIN_EFFECTIVE`] there is no interval.
//!
//! Sources: Law and Carson, "A Sequential Procedure for Determining the Length of a Steady-State
//! Simulation", Operations Research 27(5), 1979 (joining batches); Steiger et al., "ASAP3: A Batch
//! Means Procedure for Steady-State Simulation Analysis", ACM TOMACS 15(1), 2005 (batch means as an
//! autoregressive process); Marriott and Pope, "Bias in the Estimation of Autocorrelations",
//! Biometrika 41, 1954 (the bias of `r`). Those papers give stopping rules and do not determine the
//! lengths used here, which the coverage tests below check.

/// Batches kept at most.
const MAX_BATCHES: usize = 64;
/// Shorter batches give no interval: 32 of them make 1024 values.
pub const MIN_BATCH_LENGTH: u64 = 32;
/// Batches that tell as much as fewer independent ones give no interval.
pub const MIN_EFFECTIVE: f64 = 10.0;

/// Batch means of a stream of values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BatchMeans {
    /// Sums of the full batches.
    sums: Vec<u128>,
    /// Values in a full batch.
    length: u64,
    /// Sum of the batch that is being filled.
    open: u128,
    /// Values still missing in it.
    missing: u64,
}

impl Default for BatchMeans {
    fn default() -> BatchMeans {
        BatchMeans::new()
    }
}

impl BatchMeans {
    /// Empty.
    #[must_use]
    pub const fn new() -> BatchMeans {
        BatchMeans { sums: Vec::new(), length: 1, open: 0, missing: 1 }
    }

    /// Take the next value of the stream.
    #[inline(always)]
    pub fn record(&mut self, value: u64) {
        self.open += u128::from(value);
        self.missing -= 1;
        if self.missing == 0 {
            self.close();
        }
    }

    #[inline(never)]
    fn close(&mut self) {
        self.sums.push(self.open);
        if self.sums.len() == MAX_BATCHES {
            self.sums = joined(&self.sums);
            self.length *= 2;
        }
        self.open = 0;
        self.missing = self.length;
    }

    /// Means of the full batches; `None` with too few values (1024 suffice).
    #[must_use]
    pub fn means(&self) -> Option<Vec<f64>> {
        let mean = |&sum: &u128| sum as f64 / self.length as f64;
        (self.length >= MIN_BATCH_LENGTH).then(|| self.sums.iter().map(mean).collect())
    }

    /// Half the width of the 95 % confidence interval of the mean; `None` with too few values, or
    /// too few for how slowly they vary.
    #[must_use]
    pub fn half_width_95(&self) -> Option<f64> {
        half_width_95(&self.means()?)
    }
}

/// Half the width of the 95 % confidence interval of the mean of a process of which these are the
/// means of equal batches in order; `None` where they tell too little.
#[must_use]
pub fn half_width_95(means: &[f64]) -> Option<f64> {
    if (means.len() as f64) < MIN_EFFECTIVE {
        return None;
    }
    let n = means.len() as f64;
    let mean = means.iter().sum::<f64>() / n;
    let square: f64 = means.iter().map(|m| (m - mean) * (m - mean)).sum();
    let product: f64 = means.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum();
    let correlation = if square > 0.0 { product / square } else { 0.0 };
    // Found correlations are too low, by (1 + 4 r) / n on average; negative ones would narrow the
    // interval below that of independent batches.
    let r = (correlation + (1.0 + 4.0 * correlation) / n).max(0.0);
    let effective = n * (1.0 - r) / (1.0 + r);
    if effective < MIN_EFFECTIVE {
        return None;
    }
    let variance = square / (n - 1.0);
    Some(student_t_95(effective as u64 - 1) * (variance / effective).sqrt())
}

/// Neighbours joined; an odd last batch is left out.
fn joined(sums: &[u128]) -> Vec<u128> {
    sums.chunks_exact(2).map(|pair| pair[0] + pair[1]).collect()
}

/// The 97.5 % point of Student's t, by degrees of freedom (two-sided 95 %), within 0.000001.
///
/// Beyond the table: Cornish and Fisher's expansion about the normal (Abramowitz and Stegun, Handbook of
/// Mathematical Functions, 26.7.5).
///
/// # Panics
/// If `freedom` is 0.
#[must_use]
pub fn student_t_95(freedom: u64) -> f64 {
    const TABLE: [f64; 20] = [
        12.706_204_7,
        4.302_652_7,
        3.182_446_3,
        2.776_445_1,
        2.570_581_8,
        2.446_911_9,
        2.364_624_3,
        2.306_004_1,
        2.262_157_2,
        2.228_138_9,
        2.200_985_2,
        2.178_812_8,
        2.160_368_7,
        2.144_786_7,
        2.131_449_5,
        2.119_905_3,
        2.109_815_6,
        2.100_922_0,
        2.093_024_1,
        2.085_963_4,
    ];
    /// The same of the normal distribution.
    const X: f64 = 1.959_963_984_540_054;
    assert!(freedom > 0, "an interval needs at least two values");
    if let Some(&t) = usize::try_from(freedom - 1).ok().and_then(|i| TABLE.get(i)) {
        return t;
    }
    let x2 = X * X;
    // A polynomial in the square of X, highest power first.
    let poly = |terms: &[f64]| X * terms.iter().fold(0.0, |sum, term| sum * x2 + term);
    let terms = [
        poly(&[1.0, 1.0]) / 4.0,
        poly(&[5.0, 16.0, 3.0]) / 96.0,
        poly(&[3.0, 19.0, 17.0, -15.0]) / 384.0,
        poly(&[79.0, 776.0, 1482.0, -1920.0, -945.0]) / 92_160.0,
    ];
    let n = freedom as f64;
    X + terms.iter().rev().fold(0.0, |sum, term| (sum + term) / n)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sum of twelve uniform values: mean 6000, standard deviation 1000, nearly normal.
    struct Noise(u64);
    impl Noise {
        fn uniform(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (z ^ (z >> 31)) % 1000
        }
        fn normal(&mut self) -> u64 {
            (0..12).map(|_| self.uniform()).sum()
        }
    }

    const MEAN: f64 = 12.0 * 499.5;
    const REPETITIONS: u32 = 1000;

    /// Of [`REPETITIONS`] runs of `length` values, those that have an interval, and of these the
    /// share whose interval holds `mean`.
    fn coverage<N: FnMut(&mut Noise) -> f64>(
        (mean, length): (f64, usize),
        process: impl Fn(&mut Noise) -> N,
    ) -> (u32, f64) {
        let (mut held, mut intervals) = (0, 0);
        for seed in 0..REPETITIONS {
            let mut noise = Noise(u64::from(seed) * 7_919);
            let mut next = process(&mut noise);
            let (mut b, mut sum) = (BatchMeans::new(), 0u64);
            for _ in 0..length {
                let v = next(&mut noise) as u64;
                b.record(v);
                sum += v;
            }
            if let Some(h) = b.half_width_95() {
                intervals += 1;
                held += u32::from((sum as f64 / length as f64 - mean).abs() <= h);
            }
        }
        (intervals, f64::from(held) / f64::from(intervals))
    }

    /// Nearly all runs have an interval and 95 % of these hold the mean: give or take three standard
    /// deviations of that share, and `bias` for what the method neglects at this length.
    fn covers<N: FnMut(&mut Noise) -> f64>(
        (mean, length, bias): (f64, usize, f64),
        process: impl Fn(&mut Noise) -> N,
    ) {
        let (intervals, share) = coverage((mean, length), process);
        assert!(intervals * 100 >= REPETITIONS * 98, "{intervals} have an interval");
        let chance = 3.0 * (0.95 * 0.05 / f64::from(intervals)).sqrt();
        assert!((share - 0.95).abs() <= chance + bias, "{share} of {intervals} hold the mean");
    }

    #[test]
    #[ignore = "takes ten seconds"]
    fn the_page_tells_the_coverage_of_short_runs() {
        let page = include_str!("../../../../docs/statistics.md");
        for (load, mean) in [(0.5, 5_000.0), (0.8, 20_000.0), (0.9, 45_000.0)] {
            let cell = |length| {
                let (intervals, share) = coverage((mean, length), waiting(load));
                let answered = f64::from(intervals) / f64::from(REPETITIONS);
                format!("{:.0} % of {:.0} %", 100.0 * share, 100.0 * answered)
            };
            let row = [2_000, 10_000, 40_000].map(cell).join(" | ");
            assert!(page.contains(&format!("| {load} | {row} |")), "| {load} | {row} |");
        }
    }

    /// Each value keeps the share `kept` of the last one's distance from the mean.
    fn autoregressive(kept: f64) -> impl Fn(&mut Noise) -> Box<dyn FnMut(&mut Noise) -> f64> {
        move |_| {
            let mut state = MEAN;
            Box::new(move |noise| {
                state = MEAN + kept * (state - MEAN) + 0.2 * (noise.normal() as f64 - MEAN);
                state
            })
        }
    }

    /// Waiting times of M/D/1 with service times of 10,000, by Lindley's recursion.
    fn waiting(load: f64) -> impl Fn(&mut Noise) -> Box<dyn FnMut(&mut Noise) -> f64> {
        move |noise| {
            let mut wait = 0.0f64;
            let mut step = move |noise: &mut Noise| {
                let unit = (noise.uniform() * 1000 + noise.uniform()) as f64 / 1e6;
                let gap = -libm::log(1.0 - unit) * 10_000.0 / load;
                wait = (wait + 10_000.0 - gap).max(0.0);
                wait
            };
            (0..2000).for_each(|_| {
                step(noise);
            });
            Box::new(step)
        }
    }

    #[test]
    fn independent_values_are_covered_as_promised() {
        covers((MEAN, 10_000, 0.0), autoregressive(0.0));
    }

    #[test]
    fn autoregressive_values_are_covered_as_promised() {
        // With 0.98 the mean has 99 times the variance of that of independent values: a naive
        // interval would cover about one in six.
        covers((MEAN, 10_000, 0.01), autoregressive(0.9));
        covers((MEAN, 20_000, 0.01), autoregressive(0.98));
    }

    #[test]
    fn waiting_times_are_covered_as_promised() {
        // Of skewed values the mean of a short run is too low more often than not.
        covers((5_000.0, 10_000, 0.01), waiting(0.5));
        covers((20_000.0, 40_000, 0.02), waiting(0.8));
    }

    #[test]
    fn too_short_for_its_correlation_has_no_interval() {
        let mut noise = Noise(9);
        let mut next = autoregressive(0.999)(&mut noise);
        let mut b = BatchMeans::new();
        (0..2000).for_each(|_| b.record(next(&mut noise) as u64));
        assert_eq!(b.half_width_95(), None);
    }

    #[test]
    fn the_half_width_is_that_of_the_formula() {
        let mut noise = Noise(1);
        let mut b = BatchMeans::new();
        for _ in 0..65_536 {
            b.record(noise.normal());
        }
        let h = b.half_width_95().unwrap();
        let expected = 2.0 * 1000.0 / 256.0; // t s / sqrt(n)
        assert!((0.6..1.5).contains(&(h / expected)), "{h} where about {expected} is expected");
    }

    #[test]
    fn too_few_values_have_no_interval() {
        let mut noise = Noise(3);
        let mut b = BatchMeans::new();
        for n in 0..5000 {
            if n < 500 {
                assert_eq!(b.half_width_95(), None, "after {n} values");
            }
            if n == 1024 {
                assert!(b.half_width_95().is_some(), "1024 values suffice");
            }
            b.record(noise.normal());
            assert!(b.sums.len() < MAX_BATCHES);
        }
    }

    #[test]
    fn a_trend_has_no_interval_and_a_constant_has_width_zero() {
        let (mut trend, mut constant) = (BatchMeans::new(), BatchMeans::new());
        for n in 0..100_000 {
            trend.record(n);
            constant.record(75_000);
        }
        assert_eq!(trend.half_width_95(), None);
        assert_eq!(constant.half_width_95(), Some(0.0));
    }

    #[test]
    fn student_t_falls_towards_the_normal() {
        // Exact: the distribution is a finite series for every number of degrees of freedom.
        for (freedom, exact) in [
            (1, 12.706_204_736),
            (2, 4.302_652_730),
            (20, 2.085_963_447),
            (21, 2.079_613_845),
            (31, 2.039_513_446),
            (63, 1.998_340_543),
            (120, 1.979_930_405),
            (1_000_000, 1.959_966_357),
        ] {
            let found = student_t_95(freedom);
            assert!((found - exact).abs() < 1e-6, "{freedom}: {found}, not {exact}");
        }
        assert!((1..500).all(|f| student_t_95(f) >= student_t_95(f + 1)));
    }
}
