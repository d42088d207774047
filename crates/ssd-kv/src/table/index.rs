//! The index of a table in memory, with the heads of its keys side by side.
//!
//! A search in the block alone touches two places for every step: an offset and a key. Eight bytes of
//! each key, behind what all keys begin with, lie together in a few cache lines and tell most keys
//! apart.

use crate::format::Damage;
use crate::format::block::{Block, BlockIter};
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
    /// Heads are left out if the keys of the block are damaged: a search says so.
    pub(crate) fn new(block: Block) -> Index {
        let users = || (0..block.restarts()).map(|i| Ok(key::user(block.restart_key(i)?)));
        let ends = || -> Result<Option<Vec<u8>>, Damage> {
            let (Some(first), Some(last)) = (users().next(), users().last()) else {
                return Ok(None);
            };
            let (first, last) = (first?, last?);
            Ok(Some(first[..key::shared_prefix(first, last)].to_vec()))
        };
        let common = ends().ok().flatten().unwrap_or_default();
        let skip = common.len();
        let heads = users().map(|user| match user {
            Ok(user) if user.starts_with(&common) => Some(head(user, skip)),
            Ok::<_, Damage>(_) | Err(_) => None,
        });
        let heads: Vec<u64> = heads.collect::<Option<_>>().unwrap_or_default();
        let heads = if heads.is_sorted() { heads } else { Vec::new() };
        Index { block, common, heads }
    }

    pub(crate) fn block(&self) -> &Block {
        &self.block
    }

    /// Let `iter`, which is of this block, go to the first entry not below the internal key.
    #[inline]
    pub(crate) fn seek(&self, iter: &mut BlockIter, target: &[u8]) -> Result<(), Damage> {
        let user = key::user(target);
        if self.heads.is_empty() || !user.starts_with(&self.common) {
            return iter.seek(target);
        }
        let wanted = head(user, self.common.len());
        let low = self.heads.partition_point(|&h| h < wanted);
        let equal = self.heads[low..].iter().take_while(|&&h| h == wanted).count();
        iter.seek_among(target, low, low + equal)
    }
}
