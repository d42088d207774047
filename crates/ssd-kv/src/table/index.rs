//! The index of a table in memory, with the heads of its keys side by side.
//!
//! A search in the block alone touches two places for every step: an offset and a key. Eight bytes of
//! each key, behind what all keys begin with, lie together in a few cache lines and tell most keys
//! apart.

use crate::format::Damage;
use crate::format::block::{Block, BlockIter};
use crate::format::footer::Handle;
use crate::format::key;

/// An index block, and the heads of the keys at its restarts.
pub(crate) struct Index {
    block: Block,
    /// What all user keys begin with.
    common: Vec<u8>,
    heads: Vec<u64>,
}

/// Eight bytes of a user key behind `skip` ones, as a number in the order of keys.
fn head(user: &[u8], skip: usize) -> u64 {
    let mut bytes = [0; 8];
    let rest = &user[skip..user.len().min(skip + 8)];
    bytes[..rest.len()].copy_from_slice(rest);
    u64::from_be_bytes(bytes)
}

impl Index {
    /// Heads are left out if the block is not as every writer makes it, a key at each restart and
    /// those in order: a search in the block says what is wrong.
    pub(crate) fn new(block: Block) -> Index {
        let (common, heads) = heads_of(&block).unwrap_or_default();
        Index { block, common, heads }
    }

    pub(crate) fn block(&self) -> &Block {
        &self.block
    }

    /// Entries before the first number are below the internal key, those from the second on above.
    #[inline]
    fn around(&self, target: &[u8]) -> Option<(usize, usize)> {
        let user = key::user(target);
        if self.heads.is_empty() || !user.starts_with(&self.common) {
            return None;
        }
        let wanted = head(user, self.common.len());
        let low = self.heads.partition_point(|&h| h < wanted);
        let equal = self.heads[low..].partition_point(|&h| h == wanted);
        Some((low, low + equal))
    }

    /// Let `iter`, which is of this block, go to the first entry not below the internal key.
    pub(crate) fn seek(&self, iter: &mut BlockIter, target: &[u8]) -> Result<(), Damage> {
        match self.around(target) {
            Some((low, high)) => iter.seek_among(target, low, high),
            None => iter.seek(target),
        }
    }

    /// The handle of the block that may hold the internal key; none if all blocks are below it.
    pub(crate) fn find(&self, target: &[u8]) -> Result<Option<Handle>, Damage> {
        let handle = |value| match Handle::get(value, 0) {
            Some((handle, _)) => Ok(Some(handle)),
            None => Err(Damage::at(0, "a bad handle")),
        };
        let Some((mut low, mut high)) = self.around(target) else {
            let mut iter = BlockIter::new(self.block.clone());
            iter.seek(target)?;
            return if iter.valid() { handle(iter.value()) } else { Ok(None) };
        };
        while low < high {
            let middle = usize::midpoint(low, high);
            if key::compare(self.block.restart_key(middle)?, target).is_lt() {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low == self.heads.len() { Ok(None) } else { handle(self.block.restart_pair(low)?.1) }
    }
}

/// What all user keys of an index begin with, and their heads behind that.
fn heads_of(block: &Block) -> Option<(Vec<u8>, Vec<u64>)> {
    let count = block.restarts();
    let user = |i| block.restart_key(i).ok().map(key::user);
    let (first, last) = (user(0)?, user(count.checked_sub(1)?)?);
    let common = first[..key::shared_prefix(first, last)].to_vec();
    let heads = (0..count).map(|i| {
        let user = user(i).filter(|u| u.starts_with(&common))?;
        block.is_alone(i).then(|| head(user, common.len()))
    });
    let heads: Vec<u64> = heads.collect::<Option<_>>()?;
    heads.is_sorted().then_some((common, heads))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::block::BlockBuilder;
    use crate::format::key::{Tag, internal};
    use crate::vfs::region::Piece;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against a walk; keys differ before, in and behind their heads, or are equal but for tags.
        #[test]
        fn finds_what_a_walk_finds(
            keys in proptest::collection::btree_set("(ab){0,1}[ac]{0,12}", 0..40),
            targets in proptest::collection::vec("(ab){0,1}[abc]{0,12}", 1..20),
            interval in 1_usize..3,
        ) {
            let keys: BTreeSet<String> = keys;
            let mut builder = BlockBuilder::new(interval);
            let mut entries = Vec::new();
            for key in &keys {
                for sequence in [9, 5] {
                    let key = internal(key.as_bytes(), Tag::seek(sequence));
                    let handle = Handle { offset: entries.len() as u64, size: 7 };
                    let mut value = Vec::new();
                    handle.put(&mut value);
                    value.extend_from_slice(b"more");
                    builder.add(&key, &value);
                    entries.push((key, handle));
                }
            }
            let block = Block::new(Piece::from(builder.finish().to_vec())).expect("a good block");
            let index = Index::new(block.clone());
            prop_assert_eq!(index.heads.is_empty(), keys.is_empty() || interval > 1);
            for target in targets.iter().chain(&keys) {
                for sequence in [10, 9, 7, 5, 1] {
                    let target = internal(target.as_bytes(), Tag::seek(sequence));
                    let expected = entries.iter().find(|(k, _)| key::compare(k, &target).is_ge());
                    prop_assert_eq!(index.find(&target), Ok(expected.map(|e| e.1)));
                    let mut iter = BlockIter::new(block.clone());
                    index.seek(&mut iter, &target).expect("a good block");
                    let found = iter.valid().then(|| iter.key().to_vec());
                    prop_assert_eq!(found.as_ref(), expected.map(|e| &e.0));
                }
            }
        }
    }
}
