//! The block table: state of every erase unit, as a struct of arrays.

use crate::units::{BlockId, Divisor, Nanos, PoolId};

/// State of an erase unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum BlockState {
    /// Erased and in the free list of its pool.
    Free = 0,
    /// A frontier: being programmed.
    Open = 1,
    /// Fully programmed, every program completed: may be a victim.
    Sealed = 2,
    /// Chosen as victim; its pages are being moved.
    Collecting = 3,
    /// Its erase is queued or running.
    Erasing = 4,
    /// Never used again: bad from the factory, or worn out (after erases).
    Bad = 5,
}

/// How far an erase unit is filled. A program changes both fields, so they lie together.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Fill {
    /// Pages bound (programmed or being programmed) since the last erase.
    pub bound: u16,
    /// Programs bound and not yet completed.
    pub pending: u16,
}

/// How a block was opened.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Origin {
    /// Its class.
    pub class: u32,
    /// Pages that had been written when it was opened.
    pub opened: u64,
}

/// State of every erase unit. 19 bytes per unit, 16 more on a device that separates pages, 5 on one with SLC blocks.
///
/// The units of a pool are a contiguous range of ids.
#[derive(Clone, Debug)]
pub struct BlockTable {
    /// Valid pages.
    pub valid: Vec<u16>,
    /// Pages bound and programs under way.
    pub fill: Vec<Fill>,
    /// State.
    pub state: Vec<BlockState>,
    /// Erases so far.
    pub erases: Vec<u32>,
    /// Position in the order of sealing over the device (meaningful while sealed).
    pub seal_order: Vec<u64>,
    /// The clock of policies that count time; in functional mode it advances 1 ns per host page.
    pub now: Nanos,
    /// How each unit was last opened, on a device that separates pages; empty on others.
    pub origins: Vec<Origin>,
    /// Whether each unit that is not erased is an SLC block; empty on a device without any.
    pub slc: Vec<bool>,
    /// Erases of each unit that ended its use as an SLC block; empty likewise.
    pub slc_erases: Vec<u32>,
    /// Pages that an SLC block lacks.
    pub slc_lacks: u16,
    /// Pages of one erase unit.
    pub pages_per_block: u16,
    blocks_per_pool: Divisor,
}

impl BlockTable {
    /// `pools * blocks_per_pool` erased units of `pages_per_block` pages.
    #[must_use]
    pub fn new(pools: u32, blocks_per_pool: u32, pages_per_block: u16) -> BlockTable {
        assert!(pools > 0 && blocks_per_pool > 0 && pages_per_block > 0, "an empty device");
        let ids = u64::from(pools) * u64::from(blocks_per_pool);
        assert!(ids < u64::from(u32::MAX), "{ids} blocks have no ids of 32 bits");
        let n = pools as usize * blocks_per_pool as usize;
        BlockTable {
            valid: vec![0; n],
            fill: vec![Fill::default(); n],
            state: vec![BlockState::Free; n],
            erases: vec![0; n],
            seal_order: vec![0; n],
            now: Nanos::ZERO,
            origins: Vec::new(),
            slc: Vec::new(),
            slc_erases: Vec::new(),
            slc_lacks: 0,
            pages_per_block,
            blocks_per_pool: Divisor::new(blocks_per_pool),
        }
    }

    /// Forget what a power cut loses: all but erase counts, bad blocks and the time.
    pub(super) fn lose_power(&mut self) {
        let BlockTable {
            valid,
            fill,
            state,
            erases: _,
            seal_order,
            now: _,
            // In the out-of-band data, as what follows.
            slc: _,
            slc_erases: _,
            slc_lacks: _,
            // The out-of-band data of every page of a block contain it.
            origins: _,
            pages_per_block: _,
            blocks_per_pool: _,
        } = self;
        debug_assert_eq!(valid.len(), state.len(), "columns of different lengths");
        valid.fill(0);
        fill.fill(Fill::default());
        seal_order.fill(0);
        for state in state.iter_mut().filter(|state| **state != BlockState::Bad) {
            *state = BlockState::Free;
        }
    }

    /// Whether `block` is an SLC block.
    #[inline]
    #[must_use]
    pub fn is_slc(&self, block: BlockId) -> bool {
        debug_assert!(block.at() < self.len(), "there is no {block:?}");
        self.slc.get(block.at()).is_some_and(|&slc| slc)
    }

    /// Pages that `block` lacks because it is an SLC block, which count as bound.
    #[must_use]
    pub fn lacks(&self, block: BlockId) -> u16 {
        debug_assert!(self.slc_lacks < self.pages_per_block, "SLC blocks without pages");
        if self.is_slc(block) { self.slc_lacks } else { 0 }
    }

    /// How `block` was last opened, on a device that separates pages.
    #[must_use]
    pub fn origin(&self, block: BlockId) -> Origin {
        debug_assert_eq!(self.origins.len(), self.len(), "nobody notes how {block:?} was opened");
        self.origins[block.at()]
    }

    /// Erase units of the device.
    #[must_use]
    pub fn len(&self) -> usize {
        self.valid.len()
    }

    /// Never true: a device has blocks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.valid.is_empty()
    }

    /// Erase units of one pool.
    #[inline(always)]
    #[must_use]
    pub fn blocks_per_pool(&self) -> u32 {
        self.blocks_per_pool.get()
    }

    /// Pools of the device.
    #[must_use]
    pub fn pools(&self) -> u32 {
        debug_assert!((self.len() as u32).is_multiple_of(self.blocks_per_pool()), "half a pool");
        self.blocks_per_pool.div(self.len() as u32)
    }

    /// The pool of `block`.
    #[inline(always)]
    #[must_use]
    pub fn pool_of(&self, block: BlockId) -> PoolId {
        debug_assert!(block.at() < self.len(), "there is no {block:?}");
        PoolId(self.blocks_per_pool.div(block.0))
    }

    /// Ids of the erase units of `pool`, ascending.
    #[must_use]
    pub fn of_pool(&self, pool: PoolId) -> impl DoubleEndedIterator<Item = BlockId> + use<> {
        let n = self.blocks_per_pool.get();
        debug_assert!(((pool.0 + 1) * n) as usize <= self.len(), "there is no {pool:?}");
        (pool.0 * n..(pool.0 + 1) * n).map(BlockId)
    }

    /// Whether `block` may be a victim.
    #[inline(always)]
    #[must_use]
    pub fn is_candidate(&self, block: BlockId) -> bool {
        debug_assert!(
            self.state[block.at()] != BlockState::Sealed || self.fill[block.at()].pending == 0,
            "{block:?} is sealed and has programs pending"
        );
        self.state[block.at()] == BlockState::Sealed
    }

    /// Whether `block` is never used again.
    #[inline]
    #[must_use]
    pub fn is_bad(&self, block: BlockId) -> bool {
        self.state[block.at()] == BlockState::Bad
    }

    /// Invalid pages of a sealed block.
    #[inline(always)]
    #[must_use]
    pub fn invalid(&self, block: BlockId) -> u16 {
        debug_assert!(self.valid[block.at()] <= self.pages_per_block, "{block:?} has more pages");
        self.pages_per_block - self.valid[block.at()]
    }

    /// Check that the counts of `block` fit its state. (Only with debug assertions: states change often enough for the
    /// check to show in the instruction count.)
    pub(super) fn check(&self, block: BlockId) {
        let at = block.at();
        let (state, valid) = (self.state[at], self.valid[at]);
        let (bound, pending) = (self.fill[at].bound, self.fill[at].pending);
        debug_assert!(bound <= self.pages_per_block, "{block:?} has {bound} pages bound");
        debug_assert!(
            u32::from(valid) + u32::from(pending) <= u32::from(bound),
            "{block:?}: {valid} valid and {pending} pending pages of {bound}"
        );
        debug_assert!(valid <= bound, "{block:?} has {valid} valid pages of {bound}");
        match state {
            BlockState::Free | BlockState::Bad => {
                debug_assert_eq!(bound, 0, "{block:?} is {state:?} and used");
                debug_assert_eq!(pending, 0, "{block:?} is {state:?} and has programs pending");
            }
            BlockState::Open => debug_assert!(pending <= bound, "{block:?} programs unbound pages"),
            BlockState::Sealed | BlockState::Collecting => {
                debug_assert_eq!(
                    bound, self.pages_per_block,
                    "{block:?} is {state:?} and not full"
                );
                debug_assert_eq!(pending, 0, "{block:?} is {state:?} and has programs pending");
            }
            BlockState::Erasing => {
                debug_assert_eq!(valid, 0, "{block:?} is erased with valid pages");
                debug_assert_eq!(pending, 0, "{block:?} is erased with programs pending");
            }
        }
    }
}
