//! The erased blocks of one home, in the order in which they are opened.

use std::collections::VecDeque;

/// Erased blocks by key and number, ascending. The next key is nearly always the largest, so a queue needs fewer steps
/// than a tree.
#[derive(Clone, Default)]
pub(super) struct FreeList(VecDeque<(u32, u32)>);

impl FreeList {
    /// With these blocks, in any order.
    pub(super) fn new(blocks: impl Iterator<Item = (u32, u32)>) -> FreeList {
        let mut list: Vec<(u32, u32)> = blocks.collect();
        list.sort_unstable();
        debug_assert!(list.array_windows().all(|[a, b]| a < b), "a block is erased twice");
        FreeList(list.into())
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(u32, u32)> {
        self.0.iter()
    }

    /// Insert a block; false if it is already in the list.
    pub(super) fn insert(&mut self, new: (u32, u32)) -> bool {
        if self.0.back().is_none_or(|&last| last < new) {
            self.0.push_back(new);
            return true;
        }
        let place = self.0.binary_search(&new);
        if let Err(at) = place {
            self.0.insert(at, new);
        }
        debug_assert!(self.0.iter().is_sorted(), "{new:?} is out of order");
        place.is_err()
    }

    /// Remove a block; false if it is not in the list.
    pub(super) fn remove(&mut self, old: &(u32, u32)) -> bool {
        let place = self.0.binary_search(old);
        debug_assert!(place.is_ok() || !self.0.contains(old), "{old:?} is out of order");
        place.is_ok_and(|at| self.0.remove(at).is_some())
    }

    /// Take the first block out.
    pub(super) fn pop_first(&mut self) -> Option<(u32, u32)> {
        let first = self.0.pop_front();
        debug_assert!(
            self.0.front().is_none_or(|next| Some(*next) > first),
            "{first:?} is not first"
        );
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use std::collections::BTreeSet;

    #[test]
    fn blocks_come_out_as_from_a_sorted_set() {
        let start = (0..20).rev().map(|block| (0, block));
        let (mut list, mut naive) = (FreeList::new(start.clone()), start.collect::<BTreeSet<_>>());
        let mut rng = Stream::new(1, "free list");
        for _ in 0..3000 {
            let block = (rng.below(6) as u32, rng.below(6) as u32);
            match rng.below(4) {
                0 => assert_eq!(list.pop_first(), naive.pop_first()),
                1 => assert_eq!(list.remove(&block), naive.remove(&block)),
                _ => assert_eq!(list.insert(block), naive.insert(block)),
            }
            assert!(list.iter().eq(&naive) && list.is_empty() == naive.is_empty());
        }
    }
}
