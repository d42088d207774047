//! Blocks as they are written; [`super::block`] has the format.

use super::coding::{fixed32, put_varint, varint_length};
use super::key;

/// Builds blocks, one after the other.
pub(crate) struct BlockBuilder {
    data: Vec<u8>,
    restarts: Vec<u32>,
    interval: usize,
    since_restart: usize,
    entries: usize,
    last_key: Vec<u8>,
}

impl BlockBuilder {
    /// A builder that stores a whole key every `interval` entries.
    pub(crate) fn new(interval: usize) -> BlockBuilder {
        assert!(interval > 0, "the first key of a block is whole");
        let (data, last_key) = (Vec::new(), Vec::new());
        BlockBuilder { data, restarts: vec![0], interval, since_restart: 0, entries: 0, last_key }
    }

    fn shared(&self, key: &[u8]) -> usize {
        debug_assert!(self.since_restart <= self.interval, "restarts come at every interval");
        if self.since_restart >= self.interval {
            return 0;
        }
        key::shared_prefix(&self.last_key, key)
    }

    /// Append an entry. Keys must come in order.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        debug_assert!(
            self.entries == 0 || key::compare(&self.last_key, key).is_lt(),
            "keys in order, each once"
        );
        let shared = self.shared(key);
        let expected = cfg!(debug_assertions).then(|| self.size_with(key, value));
        if self.since_restart >= self.interval {
            self.restarts.push(self.data.len() as u32);
            self.since_restart = 0;
        }
        put_varint(&mut self.data, shared as u64);
        put_varint(&mut self.data, (key.len() - shared) as u64);
        put_varint(&mut self.data, value.len() as u64);
        self.data.extend_from_slice(&key[shared..]);
        self.data.extend_from_slice(value);
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(&key[shared..]);
        debug_assert_eq!(self.last_key, key, "what readers put together");
        self.since_restart += 1;
        self.entries += 1;
        debug_assert!(expected.is_none_or(|n| n == self.size()), "blocks are cut by this size");
        self.check();
    }

    /// What must hold between calls.
    fn check(&self) {
        debug_assert_eq!(self.restarts.first(), Some(&0), "the first key of a block is whole");
        debug_assert!(self.since_restart <= self.interval, "restarts come at every interval");
        debug_assert_eq!(self.entries == 0, self.data.is_empty(), "bytes without an entry");
        let (count, last) = (self.restarts.len(), self.restarts.last());
        debug_assert!(last.is_some_and(|&at| at as usize <= self.data.len()), "beyond entries");
        let intervals = self.entries.div_ceil(self.interval);
        debug_assert_eq!(count, intervals.max(1), "a restart at every interval");
        debug_assert!(self.since_restart <= self.entries, "entries are counted since a restart");
    }

    /// Size of the block in bytes, if it ended here.
    pub(crate) fn size(&self) -> usize {
        self.data.len() + (self.restarts.len() + 1) * 4
    }

    /// Size of the block in bytes, if it ended after this entry.
    pub(crate) fn size_with(&self, key: &[u8], value: &[u8]) -> usize {
        let shared = self.shared(key);
        let rest = key.len() - shared;
        let lengths = [shared, rest, value.len()].map(|n| varint_length(n as u64));
        let restart = if self.since_restart >= self.interval { 4 } else { 0 };
        self.size() + lengths.iter().sum::<usize>() + rest + value.len() + restart
    }

    pub(crate) fn entries(&self) -> usize {
        self.entries
    }

    /// Finish the block and return it; `clear` begins the next one.
    pub(crate) fn finish(&mut self) -> &[u8] {
        self.check();
        assert!(self.data.len() <= u32::MAX as usize, "offsets of restarts have 32 bits");
        let restarts = self.entries.div_ceil(self.interval).max(1);
        assert_eq!(self.restarts.len(), restarts, "one at every interval");
        let size = self.size();
        assert!(self.restarts.is_sorted_by(|a, b| a < b), "offsets have 32 bits, and ascend");
        for restart in &self.restarts {
            self.data.extend_from_slice(&restart.to_le_bytes());
        }
        self.data.extend_from_slice(&(self.restarts.len() as u32).to_le_bytes());
        assert_eq!(self.data.len(), size, "policies cut blocks by the stated size");
        let stored = || fixed32(&self.data, size - 4) as usize;
        debug_assert_eq!(stored(), restarts, "readers find other restarts");
        &self.data
    }

    /// Whether the block, if it ended here, would have these bytes.
    pub(crate) fn would_be(&self, bytes: &[u8]) -> bool {
        self.check();
        debug_assert!(self.entries > 0, "an empty block does not end");
        let Some((entries, end)) = bytes.split_at_checked(self.data.len()) else { return false };
        let restarts = self.restarts.iter().copied().chain([self.restarts.len() as u32]);
        entries == self.data
            && end.len() == (self.restarts.len() + 1) * 4
            && end.chunks_exact(4).zip(restarts).all(|(at, restart)| at == restart.to_le_bytes())
    }

    pub(crate) fn clear(&mut self) {
        self.data.clear();
        self.restarts.clear();
        self.restarts.push(0);
        self.since_restart = 0;
        self.entries = 0;
        self.last_key.clear();
        self.check();
    }
}
