//! Blocks of a volume by what was done with them last.

use super::recency::Recency;
use ssd_core::rng::Stream;

/// Places from which blocks that were never used are taken, so that those taken one after the other
/// do not follow each other.
const FRONTIERS: u64 = 64;
/// Blocks that a volume may have (4 TiB).
pub(super) const MOST_BLOCKS: u32 = (1 << 30) - 1;

/// Where a request begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// Where the one before of the same operation ended.
    Follows,
    /// At a block that was neither written nor trimmed so far.
    Fresh,
    /// At the block after whose last write so many others were written that are still there.
    Written(u32),
    /// The same of blocks that were trimmed and not written since.
    Trimmed(u32),
}

/// The blocks.
pub(super) struct Volume {
    blocks: u32,
    written: Recency,
    trimmed: Recency,
    /// The first fresh block from each on, or one on the way there; `blocks` if there is none.
    fresh: Vec<u32>,
    frontiers: Vec<u32>,
}

impl Volume {
    /// All blocks are fresh.
    pub(super) fn new(blocks: u32) -> Volume {
        let frontier = |i| (i * u64::from(blocks) / FRONTIERS) as u32;
        Volume {
            blocks,
            written: Recency::new(blocks),
            trimmed: Recency::new(blocks),
            fresh: (0..=blocks).collect(),
            frontiers: (0..FRONTIERS).map(frontier).collect(),
        }
    }

    pub(super) fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Whether `block` may hold data: written, or from before.
    pub(super) fn holds_data(&self, block: u32) -> bool {
        !self.trimmed.contains(block)
    }

    /// What `block` is, as a place.
    pub(super) fn place_of(&self, block: u32) -> Place {
        if self.written.contains(block) {
            Place::Written(self.written.depth(block))
        } else if self.trimmed.contains(block) {
            Place::Trimmed(self.trimmed.depth(block))
        } else {
            Place::Fresh
        }
    }

    /// The block at `place`, or where there is none, one most like it. `anywhere`: fresh ones are not
    /// taken in order.
    pub(super) fn find(&mut self, place: Place, anywhere: bool, random: &mut Stream) -> u32 {
        if anywhere && place == Place::Fresh {
            let from = random.below(u64::from(self.blocks)) as u32;
            let found = self.fresh_from(from);
            return if found < self.blocks { found } else { from };
        }
        let found = match place {
            Place::Written(depth) => self.written.at(depth).or_else(|| self.trimmed.at(depth)),
            Place::Trimmed(depth) => self.trimmed.at(depth),
            Place::Fresh | Place::Follows => None,
        };
        found
            .or_else(|| self.next_fresh(random))
            .or_else(|| self.written.at(u32::MAX))
            .unwrap_or_else(|| random.below(u64::from(self.blocks)) as u32)
    }

    /// A fresh block: the next one of a random frontier.
    fn next_fresh(&mut self, random: &mut Stream) -> Option<u32> {
        let chosen = random.below(FRONTIERS) as usize;
        let mut found = self.fresh_from(self.frontiers[chosen]);
        if found == self.blocks {
            found = self.fresh_from(0);
        }
        self.frontiers[chosen] = found;
        (found < self.blocks).then_some(found)
    }

    /// The first fresh block from `block` on; those on the way learn where it is.
    fn fresh_from(&mut self, block: u32) -> u32 {
        let mut found = block;
        while self.fresh[found as usize] != found {
            found = self.fresh[found as usize];
        }
        let mut at = block;
        while at != found {
            at = std::mem::replace(&mut self.fresh[at as usize], found);
        }
        found
    }

    /// `block` is written.
    pub(super) fn write(&mut self, block: u32) {
        self.use_up(block);
        self.trimmed.remove(block);
        self.written.push(block);
    }

    /// `block` is trimmed.
    pub(super) fn trim(&mut self, block: u32) {
        self.use_up(block);
        if self.holds_data(block) {
            self.written.remove(block);
            self.trimmed.push(block);
        }
    }

    fn use_up(&mut self, block: u32) {
        if self.fresh[block as usize] == block {
            self.fresh[block as usize] = block + 1;
        }
    }
}
