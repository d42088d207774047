//! Zipf: rank `k` of `1..=n` has probability proportional to `k^-theta`, exactly, in O(1).
//!
//! Rejection-inversion: Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions", ACM TOMACS 6(3), 1996, with `H` the integral of `x^-theta`. Their closed forms need `theta != 1`;
//! here `(e^t - 1) / t` and `log(1 + t) / t` replace them and cover every `theta >= 0`. All logarithms and exponentials
//! are libm's, so that every machine draws the same ranks.

use ssd_core::host::source::SourceError;
use ssd_core::rng::Stream;

/// The distribution.
#[derive(Clone, Copy, Debug)]
pub struct Zipf {
    n: f64,
    theta: f64,
    /// `H(1.5) - 1`: the lower end of the inverted area.
    low: f64,
    /// `H(n + 0.5)`: its upper end.
    high: f64,
    /// A candidate at most this far right of its rank's centre is accepted without further computation.
    squeeze: f64,
}

impl Zipf {
    /// Creates the distribution over ranks `1..=n`, `n` from 1 to below 2^52, with exponent `theta >= 0` (0: uniform).
    ///
    /// # Errors
    /// `theta` is negative, infinite or not a number.
    pub fn new(n: u64, theta: f64) -> Result<Zipf, SourceError> {
        assert!(n > 0 && n < 1 << 52, "1 to 2^52 ranks, not {n}");
        if !(theta.is_finite() && theta >= 0.0) {
            let text = format!("workload.theta is {theta}; it must be 0 or above");
            return Err(SourceError(text));
        }
        let mut zipf = Zipf { n: n as f64, theta, low: 0.0, high: 0.0, squeeze: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(zipf.n + 0.5);
        zipf.squeeze = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        Ok(zipf)
    }

    /// Draws a rank; 1 is the most likely.
    #[inline]
    pub fn rank(&self, random: &mut Stream) -> u64 {
        loop {
            let area = self.high + random.unit() * (self.low - self.high);
            let x = self.inverse(area);
            // Rounding may move x just past the ends.
            let rank = (x + 0.5).floor().clamp(1.0, self.n);
            if rank - x <= self.squeeze || area >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u64;
            }
        }
    }

    /// Returns `x^-theta`.
    fn density(&self, x: f64) -> f64 {
        libm::exp(-self.theta * libm::log(x))
    }

    /// Returns `H(x)`: the integral of the density from 1 to `x`, `(x^(1 - theta) - 1) / (1 - theta)`.
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        let t = (1.0 - self.theta) * log;
        let ratio = if t.abs() > 1e-8 { libm::expm1(t) / t } else { 1.0 + t * 0.5 };
        ratio * log
    }

    /// Returns the `x` for which `H(x) = area`.
    #[inline]
    fn inverse(&self, area: f64) -> f64 {
        // Rounding may move the argument just below -1, where the logarithm is not defined.
        let t = (area * (1.0 - self.theta)).max(-1.0);
        let ratio = if t.abs() > 1e-8 { libm::log1p(t) / t } else { 1.0 - t * 0.5 };
        libm::exp(ratio * area)
    }
}

#[cfg(test)]
mod tests;
