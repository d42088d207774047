//! YCSB's Zipfian numbers: a closed form that approximates a Zipf law.
//!
//! Gray, Sundaresan, Englert, Baclawski, Weinberger, "Quickly Generating Billion-Record Synthetic Databases", SIGMOD
//! 1994. (`synthetic::Zipf` is exact; YCSB draws from this approximation.)

use ssd_core::rng::Stream;

/// Zipf exponent of YCSB.
pub(super) const THETA: f64 = 0.99;

/// Numbers from 0 to n - 1, of which lower ones are more likely. The range may grow.
#[derive(Clone, Debug)]
pub struct Zipfian {
    n: u64,
    theta: f64,
    zeta_n: f64,
    zeta_2: f64,
    eta: f64,
}

impl Zipfian {
    /// Creates a distribution over `n` numbers, at least 1, with exponent `theta`, above 0 and below 1. Takes time
    /// proportional to `n`.
    #[must_use]
    pub fn new(n: u64, theta: f64) -> Zipfian {
        Zipfian::with_zeta(n, theta, zeta(0, n, theta, 0.0))
    }

    /// Like [`Zipfian::new`] for a known sum of k^-theta over k from 1 to n.
    #[must_use]
    pub fn with_zeta(n: u64, theta: f64, zeta_n: f64) -> Zipfian {
        assert!(n > 0 && theta > 0.0 && theta < 1.0, "{n} numbers with skew {theta}");
        let zeta_2 = zeta(0, 2, theta, 0.0);
        let mut zipfian = Zipfian { n, theta, zeta_n, zeta_2, eta: 0.0 };
        zipfian.eta = zipfian.eta();
        zipfian
    }

    fn eta(&self) -> f64 {
        let rest = libm::pow(2.0 / self.n as f64, 1.0 - self.theta);
        (1.0 - rest) / (1.0 - self.zeta_2 / self.zeta_n)
    }

    /// Extends the range to `n`, which is not lower than before.
    pub fn grow(&mut self, n: u64) {
        assert!(n >= self.n, "{} numbers cannot become {n}", self.n);
        if n > self.n {
            self.zeta_n = zeta(self.n, n, self.theta, self.zeta_n);
            self.n = n;
            self.eta = self.eta();
        }
    }

    /// Draws a number.
    pub fn draw(&self, random: &mut Stream) -> u64 {
        let u = random.unit();
        let area = u * self.zeta_n;
        if area < 1.0 || self.n == 1 {
            return 0;
        }
        if area < 1.0 + libm::pow(0.5, self.theta) || self.n == 2 {
            return 1;
        }
        let alpha = 1.0 / (1.0 - self.theta);
        let at = self.n as f64 * libm::pow(self.eta * u - self.eta + 1.0, alpha);
        (at as u64).min(self.n - 1)
    }

    /// Returns the probability of `number` under the closed form that [`Zipfian::draw`] uses.
    #[must_use]
    pub fn probability(&self, number: u64) -> f64 {
        // End of the interval of the uniform number for draws below `k`.
        let below = |k: u64| match k {
            0 => 0.0,
            1 => 1.0 / self.zeta_n,
            2 => (1.0 + libm::pow(0.5, self.theta)) / self.zeta_n,
            k if k >= self.n => 1.0,
            k => {
                let root = libm::pow(k as f64 / self.n as f64, 1.0 - self.theta);
                ((root - 1.0) / self.eta + 1.0)
                    .max((1.0 + libm::pow(0.5, self.theta)) / self.zeta_n)
            }
        };
        below(number + 1) - below(number)
    }
}

/// Returns `sum` plus k^-theta for k from `from` + 1 to `to`.
fn zeta(from: u64, to: u64, theta: f64, sum: f64) -> f64 {
    (from + 1..=to).fold(sum, |sum, k| sum + libm::pow(k as f64, -theta))
}
