//! A fixed bijection over `0..n` that looks random and spreads Zipf ranks over the pages.

/// Multiplier of the first round, odd (2^64 divided by the golden ratio).
const FIRST: u64 = 0x9e37_79b9_7f4a_7c15;
/// Multiplier of the second round, odd (from the finaliser of `SplitMix64`, Steele, Lea and Flood,
/// OOPSLA 2014).
const SECOND: u64 = 0xbf58_476d_1ce4_e5b9;

/// The bijection. It depends only on `n`: the same pages are hot under every seed.
///
/// Over `0..2^b >= n`: add a constant, then shift-xor and multiply by an odd number, twice; each
/// step can be undone, so the whole is a bijection. Numbers beyond `n` are mapped again until one
/// is below it (cycle walking: Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA
/// 2002), at most twice on average.
#[derive(Clone, Copy, Debug)]
pub struct Scatter {
    n: u64,
    mask: u64,
    shift: u32,
}

impl Scatter {
    /// Creates the bijection over `0..n`, `n` from 1 to 2^63.
    #[must_use]
    pub fn new(n: u64) -> Scatter {
        assert!(n > 0 && n <= 1 << 63, "a domain of 1 to 2^63 elements, not {n}");
        let size = n.next_power_of_two().max(2);
        Scatter { n, mask: size - 1, shift: size.trailing_zeros().div_ceil(2) }
    }

    /// Returns the image of `x`, which is below `n`.
    #[inline(always)]
    #[must_use]
    pub fn place(&self, x: u64) -> u64 {
        debug_assert!(x < self.n, "{x} is not below {}", self.n);
        let mut y = x;
        loop {
            y = y.wrapping_add(SECOND) & self.mask;
            y = (y ^ (y >> self.shift)).wrapping_mul(FIRST) & self.mask;
            y = (y ^ (y >> self.shift)).wrapping_mul(SECOND) & self.mask;
            y ^= y >> self.shift;
            if y < self.n {
                return y;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_bijection() {
        for n in [1u64, 2, 3, 5, 16, 17, 100, 1000, 4097, 65_536] {
            let scatter = Scatter::new(n);
            let mut seen = vec![false; n as usize];
            for x in 0..n {
                let slot = &mut seen[scatter.place(x) as usize];
                assert!(!std::mem::replace(slot, true), "two of 0..{n} meet");
            }
        }
    }

    #[test]
    fn neighbours_are_spread() {
        let (n, first) = (1_000_000u64, 1000);
        let scatter = Scatter::new(n);
        let mut tenths = [0u32; 10];
        for x in 0..first {
            tenths[(scatter.place(x) * 10 / n) as usize] += 1;
        }
        assert!(tenths.iter().all(|&count| (60..140).contains(&count)), "{tenths:?}");
    }
}
