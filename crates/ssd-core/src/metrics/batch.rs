//! Confidence intervals of a mean over correlated values: batch means in bounded memory.
//!
//! Latencies of neighbouring requests resemble each other, so the textbook interval of independent
//! values is far too narrow. The stream is cut into 32 to 64 batches of equal length (when the 64th
//! is full, neighbours are joined and the length doubles); the means of long batches are close to
//! independent, and Student's t gives the interval. Whether they are is tested: while the
//! correlation of neighbouring means exceeds [`MAX_CORRELATION`], neighbours are joined further,
//! down to [`MIN_BATCHES`]; where that does not help there is no interval.
//!
//! Source: Law and Carson, "A Sequential Procedure for Determining the Length of a Steady-State
//! Simulation", Operations Research 27(5), 1979 (joining batches until they are uncorrelated).
//! Theirs is a stopping rule; the thresholds here are ours, checked by the coverage tests below.

/// Batches kept at most.
const MAX_BATCHES: usize = 64;
/// Fewer batches give no interval.
pub const MIN_BATCHES: usize = 16;
/// Shorter batches give no interval: 32 of them make 1024 values.
pub const MIN_BATCH_LENGTH: u64 = 32;
/// Correlation of neighbouring batch means up to which they pass as independent.
pub const MAX_CORRELATION: f64 = 0.3;

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

    /// Half the width of the 95 % confidence interval of the mean; `None` with too few values (1024
    /// suffice if they are independent) or where even the longest batches are correlated.
    #[must_use]
    pub fn half_width_95(&self) -> Option<f64> {
        let (mut sums, mut length) = (self.sums.clone(), self.length);
        while sums.len() >= 2 * MIN_BATCHES && length < MIN_BATCH_LENGTH {
            (sums, length) = (joined(&sums), length * 2);
        }
        while sums.len() >= 2 * MIN_BATCHES && correlation(&sums) > MAX_CORRELATION {
            (sums, length) = (joined(&sums), length * 2);
        }
        if sums.len() < MIN_BATCHES
            || length < MIN_BATCH_LENGTH
            || correlation(&sums) > MAX_CORRELATION
        {
            return None;
        }
        let n = sums.len() as f64;
        let means: Vec<f64> = sums.iter().map(|&s| s as f64 / length as f64).collect();
        let mean = means.iter().sum::<f64>() / n;
        let variance = means.iter().map(|m| (m - mean) * (m - mean)).sum::<f64>() / (n - 1.0);
        Some(student_t_95(sums.len() as u64 - 1) * (variance / n).sqrt())
    }
}

/// Neighbours joined; an odd last batch is left out.
fn joined(sums: &[u128]) -> Vec<u128> {
    sums.chunks_exact(2).map(|pair| pair[0] + pair[1]).collect()
}

/// Correlation of neighbours (lag 1); 0 where nothing varies.
fn correlation(sums: &[u128]) -> f64 {
    let values: Vec<f64> = sums.iter().map(|&s| s as f64).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let square: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    let product: f64 = values.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum();
    if square > 0.0 { product / square } else { 0.0 }
}

/// The 97.5 % point of Student's t, by degrees of freedom (two-sided 95 %), within 0.001.
///
/// # Panics
/// If `freedom` is 0.
#[must_use]
pub fn student_t_95(freedom: u64) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    assert!(freedom > 0, "an interval needs at least two values");
    if let Some(&t) = usize::try_from(freedom - 1).ok().and_then(|i| TABLE.get(i)) {
        return t;
    }
    // Linear in 1 / freedom between these points.
    let points = [(30.0, 2.042), (40.0, 2.021), (60.0, 2.000), (120.0, 1.980)];
    let x = 1.0 / freedom as f64;
    let mut right = (0.0, 1.960);
    for &(f, t) in points.iter().rev() {
        let left = (1.0 / f, t);
        if x <= left.0 {
            return right.1 + (left.1 - right.1) * (x - right.0) / (left.0 - right.0);
        }
        right = left;
    }
    unreachable!("{freedom} is above the first point")
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

    /// Repetitions of 200 whose interval covers the true mean, and those with an interval.
    fn coverage(length: usize, mut next: impl FnMut(&mut Noise, &mut f64) -> u64) -> (u32, u32) {
        let (mut covered, mut answered) = (0, 0);
        for seed in 0..200 {
            let mut noise = Noise(seed * 7_919);
            let (mut b, mut sum, mut state) = (BatchMeans::new(), 0u64, MEAN);
            for _ in 0..length {
                let v = next(&mut noise, &mut state);
                b.record(v);
                sum += v;
            }
            if let Some(h) = b.half_width_95() {
                answered += 1;
                covered += u32::from((sum as f64 / length as f64 - MEAN).abs() <= h);
            }
        }
        (covered, answered)
    }

    #[test]
    fn independent_values_are_covered_as_promised() {
        let (covered, answered) = coverage(20_000, |noise, _| noise.normal());
        assert!(answered >= 198, "{answered} of 200 answered");
        assert!((183..=199).contains(&covered), "{covered} of {answered} covered, 190 expected");
    }

    #[test]
    fn correlated_values_are_covered_too() {
        // Each value keeps 98 % of the last one's distance from the mean: 99 times the variance of
        // the mean of independent values, so a naive interval covers about one in six.
        let (covered, answered) = coverage(40_000, |noise, state| {
            *state = MEAN + 0.98 * (*state - MEAN) + 0.2 * (noise.normal() as f64 - MEAN);
            *state as u64
        });
        assert!(answered >= 190, "{answered} of 200 answered");
        let share = f64::from(covered) / f64::from(answered);
        assert!(share > 0.88, "{covered} of {answered} covered");
    }

    #[test]
    fn the_half_width_is_that_of_the_formula() {
        let mut noise = Noise(1);
        let mut b = BatchMeans::new();
        for _ in 0..65_536 {
            b.record(noise.normal());
        }
        let h = b.half_width_95().unwrap();
        let expected = 2.04 * 1000.0 / 256.0; // t s / sqrt(n)
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
        assert!((student_t_95(1) - 12.706).abs() < 1e-9);
        assert!((student_t_95(31) - 2.0395).abs() < 1e-3);
        assert!((student_t_95(50) - 2.0086).abs() < 1e-3);
        assert!((student_t_95(63) - 1.9983).abs() < 1e-3);
        assert!((student_t_95(1_000_000) - 1.960).abs() < 1e-3);
        assert!((1..500).all(|f| student_t_95(f) >= student_t_95(f + 1)));
    }
}
