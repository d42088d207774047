//! Random streams: one per component, derived from (seed, name), integers only.
//!
//! xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number generators", TOMS 2021)
//! from `rand_xoshiro`; seeded through `SplitMix64` from an FNV-1a hash of the name, so that no two
//! components share a stream and adding a component changes no other one's numbers.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A named, seeded stream of random integers.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream of component `name` under `seed`.
    #[must_use]
    pub fn new(seed: u64, name: &str) -> Stream {
        assert!(!name.is_empty(), "a stream has a name");
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Stream(Xoshiro256PlusPlus::seed_from_u64(seed ^ hash.rotate_left(17)))
    }

    /// Its state, from which [`Stream::in_state`] continues.
    #[must_use]
    pub fn state(&self) -> [u8; 32] {
        let state = self.0.state();
        debug_assert!(state != [0; 32], "a stream of zeros");
        state
    }

    /// The stream that continues from `state`; `None` if no stream has that state.
    #[must_use]
    pub fn in_state(state: [u8; 32]) -> Option<Stream> {
        let stream = Stream(Xoshiro256PlusPlus::from_seed(state));
        debug_assert!(state == [0; 32] || stream.state() == state, "another state");
        (state != [0; 32]).then_some(stream)
    }

    /// 64 random bits.
    #[inline(always)]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..n` (Lemire's multiply-shift; bias below `n / 2^64`). `n >= 1`.
    #[inline(always)]
    pub fn below(&mut self, n: u64) -> u64 {
        debug_assert!(n > 0, "an empty range has no element");
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// Uniform in [0, 1) with 53 bits.
    #[inline(always)]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with probability `p`.
    #[inline(always)]
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Bring `items` into a uniformly random order (Fisher-Yates, from the end).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }

    /// The numbers below `n` in a random order.
    #[must_use]
    pub fn permutation(&mut self, n: u32) -> Vec<u32> {
        let mut numbers: Vec<u32> = (0..n).collect();
        self.shuffle(&mut numbers);
        debug_assert_eq!(numbers.len(), n as usize, "a number has been lost");
        numbers
    }

    /// Exponential with mean 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }
}
