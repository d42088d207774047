//! The admission numbers in the out-of-band areas of pages.

/// Values loaded at once: memory of those that are all 0 is not touched.
const PIECE: usize = 4096;

/// An admission number of up to 48 bits for each page.
///
/// Halves are allocated as zeros, so a half takes memory only where it has been other than 0: four bytes a page until
/// 2^32 host pages have been admitted, and nothing for pages that were never programmed.
#[derive(Debug)]
pub(super) struct Sequences {
    low: Vec<u32>,
    high: Vec<u16>,
    /// Whether a number of `high` may be other than 0.
    is_long: bool,
}

impl Sequences {
    /// For `pages`, all 0.
    pub(super) fn new(pages: usize) -> Sequences {
        Sequences { low: vec![0; pages], high: vec![0; pages], is_long: false }
    }

    #[inline(always)]
    pub(super) fn get(&self, page: usize) -> u64 {
        let high = if self.is_long { self.high[page] } else { 0 };
        u64::from(high) << 32 | u64::from(self.low[page])
    }

    /// # Panics
    /// The number has more than 48 bits.
    #[inline(always)]
    pub(super) fn set(&mut self, page: usize, sequence: u64) {
        self.low[page] = sequence as u32;
        let high = sequence >> 32;
        if high != 0 || self.is_long {
            self.high[page] = u16::try_from(high).expect("fewer than 2^48 admissions");
            self.is_long = true;
        }
    }

    /// The numbers of all pages.
    pub(super) fn all(&self) -> Vec<u64> {
        (0..self.low.len()).map(|page| self.get(page)).collect()
    }

    /// Load the numbers of all pages.
    ///
    /// # Errors
    /// One has more than 48 bits.
    pub(super) fn load(&mut self, all: &[u64]) -> Result<(), String> {
        assert_eq!(all.len(), self.low.len(), "the caller has checked the sizes");
        if let Some(page) = all.iter().position(|&number| number >> 48 != 0) {
            return Err(format!("page {page} has the admission number {}", all[page]));
        }
        for (piece, first) in all.chunks(PIECE).zip((0..).step_by(PIECE)) {
            if piece.iter().any(|&number| number != 0) {
                piece.iter().zip(first..).for_each(|(&number, page)| self.set(page, number));
            }
        }
        Ok(())
    }

    /// Bytes of memory of the numbers, if all are other than 0.
    pub(super) fn bytes_held(&self) -> usize {
        self.low.len() * 4 + if self.is_long { self.high.len() * 2 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    #[test]
    fn numbers_are_those_of_a_plain_array() {
        let mut random = Stream::new(1, "sequences");
        for bits in [20, 31, 32, 33, 47, 48] {
            let (mut plain, mut own) = (vec![0u64; 10_000], Sequences::new(10_000));
            for _ in 0..5_000 {
                let (page, number) = (random.below(10_000) as usize, random.below(1 << bits));
                plain[page] = number;
                own.set(page, number);
                let page = random.below(10_000) as usize;
                assert_eq!(own.get(page), plain[page]);
            }
            assert_eq!(own.all(), plain);
            let mut loaded = Sequences::new(10_000);
            loaded.load(&plain).expect("48 bits");
            assert_eq!(loaded.all(), plain);
        }
    }

    #[test]
    fn short_numbers_take_four_bytes_a_page() {
        let mut own = Sequences::new(100);
        own.set(1, u64::from(u32::MAX));
        assert_eq!(own.bytes_held(), 400);
        own.set(1, 1 << 32);
        assert_eq!((own.bytes_held(), own.get(1), own.get(2)), (600, 1 << 32, 0));
        own.set(1, 7);
        assert_eq!(own.get(1), 7, "nothing is left of the longer number");
    }

    #[test]
    fn a_number_of_more_than_48_bits_is_refused() {
        let refused = Sequences::new(2).load(&[1, 1 << 48]);
        assert_eq!(refused, Err("page 1 has the admission number 281474976710656".into()));
    }
}
