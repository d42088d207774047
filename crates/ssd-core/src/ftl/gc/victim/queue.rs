//! A queue of blocks for each pool, linked through the blocks themselves: shared by several
//! policies.
//!
//! Appending and removing from anywhere take constant time; a block takes 8 bytes.

use crate::ftl::blocks::BlockTable;
use crate::units::{BlockId, PoolId};

/// "No block": before the first and after the last.
const END: u32 = u32::MAX;
/// "Not in the queue".
const ABSENT: u32 = u32::MAX - 1;

/// One queue per pool; a block is in at most one of them.
#[derive(Clone)]
pub(super) struct Queue {
    next: Vec<u32>,
    prev: Vec<u32>,
    first: Vec<u32>,
    last: Vec<u32>,
}

impl Queue {
    pub(super) fn new(table: &BlockTable) -> Queue {
        assert!((table.len() as u64) < u64::from(ABSENT), "two block ids are reserved");
        let pools = table.pools() as usize;
        Queue {
            next: vec![ABSENT; table.len()],
            prev: vec![ABSENT; table.len()],
            first: vec![END; pools],
            last: vec![END; pools],
        }
    }

    /// Only the sealed blocks for which `joins` holds, earliest sealed first.
    pub(super) fn rebuild(&mut self, table: &BlockTable, joins: impl Fn(BlockId) -> bool) {
        *self = Queue::new(table);
        let mut sealed: Vec<BlockId> = (0..table.len() as u32)
            .map(BlockId)
            .filter(|&b| table.is_candidate(b) && joins(b))
            .collect();
        sealed.sort_unstable_by_key(|&b| (table.seal_order[b.at()], b));
        let in_order =
            |&[a, b]: &[BlockId; 2]| table.seal_order[a.at()] <= table.seal_order[b.at()];
        debug_assert!(sealed.array_windows().all(in_order), "blocks are queued out of order");
        for block in sealed {
            self.push(block, table);
        }
    }

    #[inline(always)]
    pub(super) fn contains(&self, block: BlockId) -> bool {
        self.next[block.at()] != ABSENT
    }

    /// Append `block` to the queue of its pool.
    pub(super) fn push(&mut self, block: BlockId, table: &BlockTable) {
        debug_assert!(!self.contains(block), "{block:?} is queued twice");
        debug_assert!(table.is_candidate(block), "{block:?} is not sealed");
        let pool = table.pool_of(block).at();
        let before = std::mem::replace(&mut self.last[pool], block.0);
        debug_assert_eq!(before == END, self.first[pool] == END, "an end of the queue is lost");
        self.prev[block.at()] = before;
        self.next[block.at()] = END;
        match before {
            END => self.first[pool] = block.0,
            _ => self.next[before as usize] = block.0,
        }
    }

    /// Remove `block` from the queue of its pool, wherever it is.
    pub(super) fn remove(&mut self, block: BlockId, table: &BlockTable) {
        debug_assert!(self.contains(block), "{block:?} is not queued");
        let pool = table.pool_of(block).at();
        let before = std::mem::replace(&mut self.prev[block.at()], ABSENT);
        let after = std::mem::replace(&mut self.next[block.at()], ABSENT);
        debug_assert_ne!(before, ABSENT, "{block:?} is linked on one side");
        match before {
            END => self.first[pool] = after,
            _ => self.next[before as usize] = after,
        }
        match after {
            END => self.last[pool] = before,
            _ => self.prev[after as usize] = before,
        }
        debug_assert_eq!(self.first[pool] == END, self.last[pool] == END, "an end is lost");
    }

    /// The first block of `pool`.
    pub(super) fn first(&self, pool: PoolId) -> Option<BlockId> {
        block(self.first[pool.at()])
    }

    /// The block behind queued `at`.
    pub(super) fn after(&self, at: BlockId) -> Option<BlockId> {
        debug_assert!(self.contains(at), "{at:?} is not queued");
        let after = block(self.next[at.at()]);
        debug_assert!(after.is_none_or(|b| self.prev[b.at()] == at.0), "{after:?} has lost {at:?}");
        after
    }

    /// The block before queued `at`.
    pub(super) fn before(&self, at: BlockId) -> Option<BlockId> {
        debug_assert!(self.contains(at), "{at:?} is not queued");
        let before = block(self.prev[at.at()]);
        debug_assert!(
            before.is_none_or(|b| self.next[b.at()] == at.0),
            "{before:?} has lost {at:?}"
        );
        before
    }

    /// The queue of `pool`, first to last.
    pub(super) fn iter(&self, pool: PoolId) -> impl Iterator<Item = BlockId> {
        std::iter::successors(self.first(pool), |&b| self.after(b))
    }
}

fn block(link: u32) -> Option<BlockId> {
    debug_assert_ne!(link, ABSENT, "a queue leads to a block that is not in it");
    (link != END).then_some(BlockId(link))
}
