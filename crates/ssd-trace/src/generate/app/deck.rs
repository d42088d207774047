//! Draws without replacement: every pass through a deck yields its shares exactly.
//!
//! Traces of any length must match the published statistics. Shares and mean sizes therefore come from decks
//! (stratified sampling); the means of independent draws would deviate by the square root of their number.

use libm::log;
use ssd_core::rng::Stream;
use ssd_core::units::SECTOR_BYTES;

/// Cards of a deck: shares are met to 0.05 %, means to a 2048th of a block.
const CARDS: usize = 1024;
/// A block of the file system, bytes and sectors.
pub(crate) const BLOCK_BYTES: u64 = 4096;
pub(crate) const BLOCK: u64 = BLOCK_BYTES / SECTOR_BYTES;

/// Cards in random order, reshuffled when all are drawn.
pub(crate) struct Deck<T> {
    cards: Vec<T>,
    drawn: usize,
    random: Stream,
}

impl<T: Copy> Deck<T> {
    fn new(cards: Vec<T>, random: Stream) -> Deck<T> {
        assert_eq!(cards.len(), CARDS, "a deck is full");
        Deck { cards, drawn: 0, random }
    }

    /// Draws the next card.
    #[inline]
    pub(crate) fn draw(&mut self) -> T {
        let left = self.cards.len() - self.drawn;
        let chosen = self.drawn + self.random.below(left as u64) as usize;
        self.cards.swap(self.drawn, chosen);
        let card = self.cards[self.drawn];
        self.drawn = if left == 1 { 0 } else { self.drawn + 1 };
        card
    }
}

impl Deck<bool> {
    /// Returns a deck of booleans that are true with probability `share`, 0 to 1.
    pub(crate) fn coin(share: f64, random: Stream) -> Deck<bool> {
        assert!((0.0..=1.0).contains(&share), "{share} is no share");
        let heads = (share * CARDS as f64).round() as usize;
        Deck::new((0..CARDS).map(|card| card < heads).collect(), random)
    }
}

impl Deck<u32> {
    /// Returns a deck of sizes in sectors with this mean, at least 512 bytes: a geometric number of blocks from `least`
    /// up, or from 1 up if the mean is below that. A mean below one block mixes in parts of a block.
    pub(crate) fn sizes(mean_bytes: f64, least: u64, random: Stream) -> Deck<u32> {
        let sector = SECTOR_BYTES as f64;
        assert!((sector..=(1u64 << 30) as f64).contains(&mean_bytes), "a mean of {mean_bytes} B");
        let block = BLOCK_BYTES as f64;
        let cards = if mean_bytes < block {
            // 2 KiB and a block; means below 2 KiB mix 512 B and 2 KiB.
            let low = if mean_bytes < block / 2.0 { 1 } else { BLOCK / 2 };
            let high = if mean_bytes < block / 2.0 { BLOCK / 2 } else { BLOCK };
            let share = (mean_bytes / sector - low as f64) / (high - low) as f64;
            let large = (share * CARDS as f64).round() as usize;
            (0..CARDS).map(|card| if card < large { high as u32 } else { low as u32 }).collect()
        } else {
            let blocks = mean_bytes / block;
            let least = if blocks < least as f64 { 1 } else { least };
            geometric(blocks, least).into_iter().map(|n| (n * BLOCK) as u32).collect()
        };
        Deck::new(cards, random)
    }

    /// Returns the probability that two successive cards are equal.
    pub(crate) fn pairs(&self) -> f64 {
        let mut cards = self.cards.clone();
        cards.sort_unstable();
        let equal = cards.chunk_by(|a, b| a == b).map(|equal| equal.len() * (equal.len() - 1));
        equal.sum::<usize>() as f64 / (CARDS * (CARDS - 1)) as f64
    }

    /// Returns the largest card.
    pub(crate) fn largest(&self) -> u64 {
        u64::from(self.cards.iter().copied().max().unwrap_or(0))
    }
}

/// Returns ascending quantiles of `least` plus a geometric number; their mean is `mean` up to rounding.
fn geometric(mean: f64, least: u64) -> Vec<u64> {
    let more = mean - least as f64;
    assert!(more >= 0.0, "a mean of {mean} from {least} on");
    // P(more than k) = (more / (1 + more))^(k + 1).
    let ratio = log(more / (1.0 + more));
    let quantile = |card: usize| {
        let beyond = 1.0 - (card as f64 + 0.5) / CARDS as f64;
        least + if more > 0.0 { (log(beyond) / ratio).floor() as u64 } else { 0 }
    };
    let mut cards: Vec<u64> = (0..CARDS).map(quantile).collect();
    // Quantiles miss part of the tail, so the difference is spread over the largest, one each.
    let target = (mean * CARDS as f64).round() as i64;
    let mut lacking = target - cards.iter().sum::<u64>().cast_signed();
    while lacking != 0 {
        for card in cards.iter_mut().rev() {
            if lacking > 0 {
                (*card, lacking) = (*card + 1, lacking - 1);
            } else if lacking < 0 && *card > least {
                (*card, lacking) = (*card - 1, lacking + 1);
            }
        }
    }
    cards
}

#[cfg(test)]
mod tests;
