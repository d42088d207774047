//! Blocks of a volume by the last operation on them.

use super::recency::Recency;

/// Maximum number of blocks of a volume (4 TiB).
pub(super) const MOST_BLOCKS: u32 = (1 << 30) - 1;
/// Two blocks are not alike if one was written more than `ALIKE` times as long ago as the other, plus `FEW` blocks.
const ALIKE: u64 = 2;
pub(super) const FEW: u64 = 64;

/// History of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Never written or trimmed. Holds the number of the block.
    Fresh(u32),
    /// Written. Holds the number of other valid blocks written since.
    Written(u32),
    /// Trimmed and not written since. Holds the number of other such blocks trimmed since.
    Trimmed(u32),
}

impl State {
    /// Returns whether a block in this state may replace a block in state `other`.
    fn is_like(self, other: State) -> bool {
        match (self, other) {
            (State::Fresh(_), State::Fresh(_)) | (State::Trimmed(_), State::Trimmed(_)) => true,
            (State::Written(depth), State::Written(two)) => {
                let (low, high) = (u64::from(depth.min(two)), u64::from(depth.max(two)));
                high <= ALIKE * low + FEW
            }
            _ => false,
        }
    }
}

/// The blocks and their states.
pub(super) struct Volume {
    blocks: u32,
    written: Recency,
    trimmed: Recency,
    /// For each block, the first fresh block at or after it, or a link towards that; `blocks` if there is none.
    fresh: Vec<u32>,
}

impl Volume {
    /// Creates a volume of fresh blocks.
    pub(super) fn new(blocks: u32) -> Volume {
        let (written, trimmed) = (Recency::new(blocks), Recency::new(blocks));
        Volume { blocks, written, trimmed, fresh: (0..=blocks).collect() }
    }

    pub(super) fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Returns whether `block` may hold data: it was written, or not used yet.
    pub(super) fn holds_data(&self, block: u32) -> bool {
        !self.trimmed.contains(block)
    }

    pub(super) fn state(&self, block: u32) -> State {
        if self.written.contains(block) {
            State::Written(self.written.depth(block))
        } else if self.trimmed.contains(block) {
            State::Trimmed(self.trimmed.depth(block))
        } else {
            State::Fresh(block)
        }
    }

    /// Returns the stack distance of the block before `block` if that was written later than `block`.
    pub(super) fn resumed(&self, block: u32) -> Option<u32> {
        let before = block.checked_sub(1).filter(|&before| self.written.contains(before))?;
        let depth = self.written.depth(before);
        let later = !self.written.contains(block) || depth < self.written.depth(block);
        later.then_some(depth)
    }

    /// Returns the block after the one with this stack distance if its state is like `state`.
    pub(super) fn resume(&self, depth: u32, state: State) -> Option<u32> {
        let block = self.written.at(depth)? + 1;
        self.fits(block, state).then_some(block)
    }

    /// Returns whether `block` exists and its state is like `state`.
    pub(super) fn fits(&self, block: u32, state: State) -> bool {
        block < self.blocks && self.state(block).is_like(state)
    }

    /// Returns a block in `state`, or else one that is similar.
    pub(super) fn find(&mut self, state: State) -> u32 {
        let candidate = match state {
            State::Written(depth) => self.written.at(depth).or_else(|| self.trimmed.at(depth)),
            State::Trimmed(depth) => self.trimmed.at(depth),
            State::Fresh(block) => self.fresh_from(block),
        };
        candidate
            .or_else(|| self.fresh_from(0))
            .or_else(|| self.written.at(u32::MAX))
            .or_else(|| self.trimmed.at(u32::MAX))
            .expect("a block is fresh, written or trimmed")
    }

    /// Returns the first fresh block at or after `block`, and shortens the links on the way.
    fn fresh_from(&mut self, block: u32) -> Option<u32> {
        let mut free = block;
        while self.fresh[free as usize] != free {
            free = self.fresh[free as usize];
        }
        let mut at = block;
        while at != free {
            at = std::mem::replace(&mut self.fresh[at as usize], free);
        }
        (free < self.blocks).then_some(free)
    }

    /// Records a write of `block`.
    pub(super) fn write(&mut self, block: u32) {
        self.use_up(block);
        self.trimmed.remove(block);
        self.written.push(block);
    }

    /// Records a trim of `block`.
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
