//! A histogram of latencies with log buckets: exact moments, percentiles within 0.4 %.
//!
//! Values below 256 ns have a bucket each. Every octave above has 128 buckets of equal width, so
//! that the middle of a bucket is at most half a width, 1/256 of the value (0.39 %), from any value
//! in it. Count, sum, minimum, maximum and standard deviation are exact. Memory grows octave by octave
//! with the largest recorded value, to at most 58 KiB; an empty histogram uses none.

/// Buckets of an octave, as a power of two.
const SUB_BITS: u32 = 7;
const SUB: usize = 1 << SUB_BITS;
/// Most buckets a histogram can have: 57 octaves above the 128 smallest values.
const BUCKETS: usize = (64 - SUB_BITS as usize + 1) * SUB;
/// A percentile needs this many values on its thinner side.
pub const SAMPLES_BEYOND: u64 = 10;
/// Quantiles are taken to the nearest millionth, so that their ranks are integers.
const MILLION: u64 = 1_000_000;

/// Counts of values by size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    sum: u128,
    /// Modulo 2^128, which is enough: see [`Histogram::stddev`].
    squares: u128,
    min: u64,
    max: u64,
}

/// Values from `low` to `high`, both included, and how many of them there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bucket {
    /// Smallest value that falls into this bucket.
    pub low: u64,
    /// Largest value that falls into this bucket.
    pub high: u64,
    /// Values in it.
    pub count: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram::new()
    }
}

#[inline(always)]
const fn index(ns: u64) -> usize {
    let top = 63 - (ns | (SUB as u64)).leading_zeros();
    let shift = top - SUB_BITS;
    ((shift as usize) << SUB_BITS) + (ns >> shift) as usize
}

/// Smallest and largest value of bucket `i`.
const fn bounds(i: usize) -> (u64, u64) {
    let shift = (i >> SUB_BITS).saturating_sub(1) as u32;
    let low = ((i - ((shift as usize) << SUB_BITS)) as u64) << shift;
    (low, low + ((1u64 << shift) - 1))
}

impl Histogram {
    /// Empty.
    #[must_use]
    pub const fn new() -> Histogram {
        Histogram { buckets: Vec::new(), count: 0, sum: 0, squares: 0, min: u64::MAX, max: 0 }
    }

    /// Count one value.
    #[inline(always)]
    pub fn record(&mut self, ns: u64) {
        let i = index(ns);
        if i >= self.buckets.len() {
            self.grow(i);
        }
        self.buckets[i] += 1;
        self.count += 1;
        self.sum += u128::from(ns);
        self.squares = self.squares.wrapping_add(u128::from(ns) * u128::from(ns));
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, i: usize) {
        let len = (i / SUB + 1) * SUB;
        assert!(len <= BUCKETS, "bucket {i} is outside the histogram");
        self.buckets.resize(len, 0);
    }

    /// Count all values of `other` too.
    pub fn merge(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        if other.buckets.len() > self.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (bucket, added) in self.buckets.iter_mut().zip(&other.buckets) {
            *bucket += added;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.squares = self.squares.wrapping_add(other.squares);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Number of values.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Their sum.
    #[must_use]
    pub const fn sum(&self) -> u128 {
        self.sum
    }

    /// The smallest.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Their mean.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Their standard deviation, as that of a whole population (divided by the count, like
    /// `numpy.std`).
    ///
    /// With `m` the integer part of the mean and `r` the remainder, the sum of squared distances
    /// from `m` is `squares - m (count m + 2 r)`, computed in integers. It is exact modulo 2^128,
    /// so it is exact wherever it is below 2^128 itself, whatever the sum of squares is.
    #[must_use]
    pub fn stddev(&self) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let n = u128::from(self.count);
        let (m, r) = (self.sum / n, self.sum % n);
        let around_m = self.squares.wrapping_sub(m.wrapping_mul((n * m).wrapping_add(2 * r)));
        let (n, r) = (n as f64, r as f64);
        let variance = (around_m as f64 - r * r / n) / n;
        Some(variance.max(0.0).sqrt())
    }

    /// The value with the share `q` of all values at or below it, within 0.4 % and never outside
    /// the recorded range; `q` to the nearest millionth.
    ///
    /// `None` where the values do not suffice: at least [`SAMPLES_BEYOND`] of them must lie on the
    /// thinner side of the quantile. p50 needs 20 values, p90 100, p99 1000, p99.9 10 000 and
    /// p99.99 100 000.
    ///
    /// # Panics
    /// If `q` is not between 0 and 1.
    #[must_use]
    pub fn percentile(&self, q: f64) -> Option<u64> {
        let q = millionths(q);
        if self.count < samples_for(q)? {
            return None;
        }
        let rank = (u128::from(self.count) * u128::from(q)).div_ceil(u128::from(MILLION));
        let rank = rank.clamp(1, u128::from(self.count)) as u64;
        let mut cumulative = 0;
        for bucket in self.buckets() {
            cumulative += bucket.count;
            if cumulative >= rank {
                let middle = bucket.low + (bucket.high - bucket.low) / 2;
                return Some(middle.clamp(self.min, self.max));
            }
        }
        unreachable!("the buckets hold {cumulative} values, {} were counted", self.count)
    }

    /// The buckets that are not empty, in ascending order (for distributions).
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.buckets.iter().enumerate().filter(|&(_, &count)| count > 0).map(|(i, &count)| {
            let (low, high) = bounds(i);
            Bucket { low, high, count }
        })
    }
}

fn millionths(q: f64) -> u64 {
    assert!((0.0..=1.0).contains(&q), "a quantile lies between 0 and 1, {q} does not");
    (q * MILLION as f64).round() as u64
}

/// Values needed for a quantile in millionths; `None`: no number suffices (minimum and maximum).
fn samples_for(q: u64) -> Option<u64> {
    let thinner = q.min(MILLION - q);
    (thinner > 0).then(|| (SAMPLES_BEYOND * MILLION).div_ceil(thinner))
}

/// Values needed before [`Histogram::percentile`] answers for `q`; `None` for 0 and 1.
///
/// # Panics
/// If `q` is not between 0 and 1.
#[must_use]
pub fn samples_needed(q: f64) -> Option<u64> {
    samples_for(millionths(q))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::cases;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Histogram {
        let mut h = Histogram::new();
        for &v in values {
            h.record(v);
        }
        h
    }

    #[test]
    fn buckets_tile_all_values() {
        let mut next = 0u64;
        for i in 0..BUCKETS {
            let (low, high) = bounds(i);
            assert_eq!(low, next, "bucket {i} starts where the last one ended");
            assert_eq!((index(low), index(high)), (i, i), "bucket {i}: {low}..={high}");
            next = high.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bucket ends at the largest value");
        assert_eq!(index(255), 255);
        assert!((0..256).all(|v| bounds(index(v)) == (v, v)), "exact below 256 ns");
    }

    #[test]
    fn empty_has_no_numbers_and_no_memory() {
        let h = Histogram::new();
        assert_eq!((h.count(), h.sum(), h.min(), h.max()), (0, 0, None, None));
        assert_eq!((h.mean(), h.stddev(), h.percentile(0.5)), (None, None, None));
        assert_eq!(h.buckets().count(), 0);
        assert_eq!(h.buckets.capacity(), 0);
    }

    #[test]
    fn moments_are_exact_far_from_zero() {
        // Variance 2/3 around 10^15: a sum of squares in f64 would lose it all.
        let base = 1_000_000_000_000_000;
        let h = of(&[base, base + 1, base + 2]);
        assert_eq!(h.mean(), Some((base + 1) as f64));
        assert!((h.stddev().unwrap() - (2.0f64 / 3.0).sqrt()).abs() < 1e-12);
        let extreme = of(&[u64::MAX, u64::MAX, u64::MAX]);
        assert_eq!(extreme.stddev(), Some(0.0));
        assert_eq!(extreme.sum(), 3 * u128::from(u64::MAX));
        assert_eq!(of(&[7]).stddev(), Some(0.0));
    }

    #[test]
    fn a_percentile_needs_ten_values_beyond_it() {
        for (q, needed) in
            [(0.5, 20), (0.9, 100), (0.95, 200), (0.99, 1000), (0.999, 10_000), (0.9999, 100_000)]
        {
            assert_eq!(samples_needed(q), Some(needed), "q = {q}");
            let mut h = of(&vec![50_000; needed as usize - 1]);
            assert_eq!(h.percentile(q), None, "q = {q} with one value too few");
            h.record(50_000);
            assert_eq!(h.percentile(q), Some(50_000), "q = {q}: clamped to what was recorded");
        }
        assert_eq!(samples_needed(0.01), Some(1000), "the thinner side is the lower one");
        assert_eq!((samples_needed(0.0), samples_needed(1.0)), (None, None));
        assert_eq!(of(&[1; 1000]).percentile(1.0), None);
    }

    #[test]
    fn small_values_have_exact_percentiles() {
        let h = of(&(1..=200).collect::<Vec<_>>());
        assert_eq!(h.percentile(0.5), Some(100));
        assert_eq!(h.percentile(0.9), Some(180));
        assert_eq!(h.percentile(0.95), Some(190));
        assert_eq!(h.percentile(0.05), Some(10));
    }

    fn value() -> impl Strategy<Value = u64> {
        (0u32..60, any::<u64>()).prop_map(|(bits, v)| v & ((1u64 << bits) | ((1u64 << bits) - 1)))
    }

    proptest! {
        #![proptest_config(cases(64, 63))]

        #[test]
        fn percentiles_are_within_four_thousandths(
            mut values in prop::collection::vec(value(), 20..4000),
            q in 0.001f64..0.999,
        ) {
            let h = of(&values);
            values.sort_unstable();
            let n = values.len() as f64;
            let ppm = (q * 1e6).round() / 1e6;
            match h.percentile(q) {
                None => prop_assert!(n * ppm.min(1.0 - ppm) < 10.001),
                Some(got) => {
                    prop_assert!(n * ppm.min(1.0 - ppm) > 9.999);
                    let rank = (values.len() as u128 * (q * 1e6).round() as u128)
                        .div_ceil(1_000_000) as usize;
                    let exact = values[rank.max(1) - 1];
                    let error = got.abs_diff(exact) as f64;
                    prop_assert!(error <= 0.004 * exact as f64, "{got} for {exact}");
                    prop_assert!(got >= values[0] && got <= values[values.len() - 1]);
                }
            }
        }

        #[test]
        fn moments_equal_the_naive_ones(values in prop::collection::vec(0u64..1 << 40, 1..500)) {
            let h = of(&values);
            let n = values.len() as f64;
            let mean = values.iter().map(|&v| v as f64).sum::<f64>() / n;
            let deviation =
                (values.iter().map(|&v| (v as f64 - mean).powi(2)).sum::<f64>() / n).sqrt();
            prop_assert_eq!(h.sum(), values.iter().map(|&v| u128::from(v)).sum::<u128>());
            prop_assert_eq!(h.min(), values.iter().copied().min());
            prop_assert_eq!(h.max(), values.iter().copied().max());
            prop_assert!((h.mean().unwrap() - mean).abs() <= 1e-9 * mean.max(1.0));
            prop_assert!((h.stddev().unwrap() - deviation).abs() <= 1e-6 * mean.max(1.0));
        }

        #[test]
        fn merge_is_recording_both(
            a in prop::collection::vec(value(), 0..300),
            b in prop::collection::vec(value(), 0..300),
        ) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            prop_assert_eq!(&merged, &of(&[a, b].concat()));
            prop_assert_eq!(merged.buckets().map(|b| b.count).sum::<u64>(), merged.count());
        }
    }
}
