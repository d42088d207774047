//! The blocks of a file that a random job has not visited yet.

use ssd_core::rng::Stream;

/// Blocks, each of which is taken once before any is taken again.
pub(super) struct Free {
    /// Bitmaps by level: the lowest marks free blocks, each higher one the words below that are not zero.
    levels: Vec<Vec<u64>>,
    blocks: u64,
    left: u64,
}

impl Free {
    pub(super) fn new(blocks: u64) -> Free {
        assert!(blocks > 0, "a file has blocks");
        let mut free = Free { levels: Vec::new(), blocks, left: 0 };
        free.fill();
        free
    }

    /// Marks all blocks as free.
    pub(super) fn fill(&mut self) {
        self.levels.clear();
        let mut bits = self.blocks;
        loop {
            let mut words = vec![u64::MAX; bits.div_ceil(64) as usize];
            if !bits.is_multiple_of(64) {
                *words.last_mut().expect("there is a word") = (1 << (bits % 64)) - 1;
            }
            bits = words.len() as u64;
            self.levels.push(words);
            if bits == 1 {
                break;
            }
        }
        self.left = self.blocks;
    }

    /// Returns a random free block, or the next free one after it; `None` if all are taken.
    pub(super) fn pick(&self, random: &mut Stream) -> Option<u64> {
        if self.left == 0 {
            return None;
        }
        let from = random.below(self.blocks);
        self.next(from).or_else(|| self.next(0))
    }

    /// Takes up to `most` free blocks from the free block `first` to the next taken one, and returns their number.
    pub(super) fn take(&mut self, first: u64, most: u64) -> u64 {
        let mut count = 0;
        while count < most && first + count < self.blocks && self.is_free(first + count) {
            self.clear(first + count);
            count += 1;
        }
        count
    }

    fn is_free(&self, block: u64) -> bool {
        self.levels[0][(block / 64) as usize] >> (block % 64) & 1 == 1
    }

    fn clear(&mut self, block: u64) {
        let mut at = block;
        for words in &mut self.levels {
            let word = &mut words[(at / 64) as usize];
            *word &= !(1 << (at % 64));
            if *word != 0 {
                break;
            }
            at /= 64;
        }
        self.left -= 1;
    }

    /// Returns the first free block at or after `from`.
    fn next(&self, from: u64) -> Option<u64> {
        let (mut level, mut at) = (0, from);
        // Goes up until a word has a bit at or after the index, then down along the lowest bits.
        loop {
            let words = self.levels.get(level)?;
            let free_bits =
                words.get((at / 64) as usize).map_or(0, |word| word & (u64::MAX << (at % 64)));
            if free_bits != 0 {
                at = at / 64 * 64 + u64::from(free_bits.trailing_zeros());
                break;
            }
            (level, at) = (level + 1, at / 64 + 1);
        }
        while level > 0 {
            level -= 1;
            at = at * 64 + u64::from(self.levels[level][at as usize].trailing_zeros());
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_once_in_each_pass() {
        let mut random = Stream::new(1, "free test");
        for blocks in [1, 2, 63, 64, 65, 4096, 4097, 300_000] {
            let mut free = Free::new(blocks);
            for _ in 0..2 {
                let mut seen = vec![false; blocks as usize];
                for _ in 0..blocks {
                    let block = free.pick(&mut random).expect("a block is free");
                    assert_eq!(free.take(block, 1), 1);
                    assert!(!std::mem::replace(&mut seen[block as usize], true));
                }
                assert_eq!(free.pick(&mut random), None);
                free.fill();
            }
        }
    }

    #[test]
    fn runs_end_where_a_block_is_taken() {
        let mut random = Stream::new(2, "free test");
        let mut free = Free::new(100);
        let mut all = 0;
        while let Some(first) = free.pick(&mut random) {
            let taken = free.take(first, 8);
            assert!((1..=8).contains(&taken) && first + taken <= 100);
            all += taken;
        }
        assert_eq!(all, 100);
    }
}
