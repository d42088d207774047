//! The index of a table in memory, with the heads of its keys in one array.
//!
//! A search in the block alone accesses two places at every step: an offset and a key. The heads, eight bytes
//! of each key after the common prefix, lie together in a few cache lines and distinguish most keys. The
//! handles are kept in an array too, so that most searches never access the block.

use crate::format::Damage;
use crate::format::block::{Block, BlockIter};
use crate::format::footer::Handle;
use crate::format::key;

/// An index block, and the heads of the keys at its restarts.
pub(crate) struct Index {
    block: Block,
    heads: Heads,
}

/// The last key has no head: writers shorten it, so it may not share the prefix.
#[derive(Default)]
struct Heads {
    /// The common prefix of all user keys but the last.
    common: Vec<u8>,
    /// Heads of all keys but the last.
    keys: Vec<u64>,
    /// The handles in the values, that of the last entry included.
    handles: Vec<Handle>,
}

/// Eight bytes of a user key from offset `skip`, as a number that sorts like the keys.
fn head(user: &[u8], skip: usize) -> u64 {
    debug_assert!(skip <= user.len(), "a key with the common prefix");
    let mut bytes = [0; 8];
    let rest = &user[skip..user.len().min(skip + 8)];
    bytes[..rest.len()].copy_from_slice(rest);
    u64::from_be_bytes(bytes)
}

impl Index {
    /// There are no heads if the block is too small or not as every writer makes it (a key at each restart,
    /// in order): a search in the block then reports what is wrong.
    pub(crate) fn new(block: Block) -> Index {
        let heads = Heads::of(&block).unwrap_or_default();
        let has_heads = !heads.keys.is_empty();
        let entries = if has_heads { block.restarts() } else { 0 };
        assert_eq!(heads.handles.len(), entries, "a handle for each entry, or no heads at all");
        assert!(!has_heads || heads.keys.len() + 1 == entries, "the last key has no head");
        assert!(heads.keys.is_sorted(), "searches bisect the heads");
        Index { block, heads }
    }

    pub(crate) fn block(&self) -> &Block {
        &self.block
    }

    /// Entries before the first number are below the internal key, those from the second on above.
    #[inline]
    fn around(&self, target: &[u8]) -> Option<(usize, usize)> {
        let (user, Heads { common, keys, .. }) = (key::user(target), &self.heads);
        if keys.is_empty() {
            return None;
        }
        let (low, high) = if user.starts_with(common) {
            let target_head = head(user, common.len());
            let low = keys.partition_point(|&h| h < target_head);
            (low, low + keys[low..].partition_point(|&h| h == target_head))
        } else if user < common.as_slice() {
            (0, 0)
        } else {
            (keys.len(), keys.len())
        };
        debug_assert!(low <= high && high <= keys.len(), "a range of heads");
        // If all heads are passed, the last key may still be below.
        Some((low, if high == keys.len() { high + 1 } else { high }))
    }

    /// Move `iter`, an iterator of this block, to the first entry not below the internal key.
    pub(crate) fn seek(&self, iter: &mut BlockIter, target: &[u8]) -> Result<(), Damage> {
        let result = match self.around(target) {
            Some((low, high)) if low == high => iter.seek_to_restart(low),
            Some((low, high)) => iter.seek_among(target, low, high),
            None => iter.seek(target),
        };
        debug_assert!(
            result.is_err() || !iter.valid() || key::compare(iter.key(), target).is_ge(),
            "a seek ends at its target or after it"
        );
        result
    }

    /// The handle of the block that may hold the internal key; None if all blocks are below it.
    pub(crate) fn find(&self, target: &[u8]) -> Result<Option<Handle>, Damage> {
        let Some((mut low, mut high)) = self.around(target) else {
            let mut iter = BlockIter::new(self.block.clone());
            iter.seek(target)?;
            if !iter.valid() {
                return Ok(None);
            }
            let handle = Handle::get(iter.value(), 0).ok_or(Damage::at(0, "a bad handle"))?.0;
            return Ok(Some(handle));
        };
        while low < high {
            let middle = usize::midpoint(low, high);
            if key::compare(self.block.restart_key(middle)?, target).is_lt() {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        debug_assert!(
            low == 0 || key::compare(self.block.restart_key(low - 1)?, target).is_lt(),
            "the blocks before end before the key"
        );
        Ok(self.heads.handles.get(low).copied())
    }
}

impl Heads {
    fn of(block: &Block) -> Option<Heads> {
        let last = block.restarts().checked_sub(1)?;
        let user = |i| block.restart_key(i).ok().map(key::user);
        let (begin, end) = (user(0)?, user(last.checked_sub(1)?)?);
        let common = begin[..key::shared_prefix(begin, end)].to_vec();
        let (mut keys, mut handles) = (Vec::with_capacity(last), Vec::with_capacity(last + 1));
        for i in 0..=last {
            let (key, value) = block.restart_pair(i).ok()?;
            handles.push(Handle::get(value, 0)?.0);
            if !block.is_alone(i) {
                return None;
            }
            if i < last {
                let user = key::user(key);
                keys.push(user.starts_with(&common).then(|| head(user, common.len()))?);
            }
        }
        let in_order = keys.is_sorted() && end <= user(last)?;
        debug_assert_eq!(keys.len() + 1, handles.len(), "the last key has no head");
        in_order.then_some(Heads { common, keys, handles })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::cases;
    use crate::format::block_builder::BlockBuilder;
    use crate::format::key::{Tag, internal};
    use crate::vfs::region::Piece;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #![proptest_config(cases(256, 92))]

        /// Against a walk; keys differ before, in and behind their heads, or are equal but for tags.
        #[test]
        fn finds_what_a_walk_finds(
            keys in proptest::collection::btree_set("(ab|b){0,1}[ac]{0,12}", 0..40),
            targets in proptest::collection::vec("(ab|b){0,1}[abc]{0,12}", 1..20),
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
            prop_assert_eq!(index.heads.keys.is_empty(), keys.is_empty() || interval > 1);
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
