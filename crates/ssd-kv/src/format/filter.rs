//! The filter block of a table: one bloom filter for every 2 KiB of file offset.
//!
//! A data block uses the filter of the 2 KiB in which it begins. So padding comes after a block and before
//! the call of `start_block` with the offset of the next one.

use super::bloom;
use super::coding::fixed32;
use crate::vfs::region::Piece;

/// Key of the filter block in the metaindex.
pub(crate) const FILTER_NAME: &[u8] = b"filter.leveldb.BuiltinBloomFilter2";
const BASE_LOG: u8 = 11;

/// Collects the keys of a table and builds their filters.
pub(crate) struct FilterBuilder {
    bits_per_key: u32,
    hashes: Vec<u32>,
    result: Vec<u8>,
    offsets: Vec<u32>,
}

impl FilterBuilder {
    pub(crate) fn new(bits_per_key: u32) -> FilterBuilder {
        assert!(bits_per_key > 0, "a filter without bits denies every key");
        let (hashes, result, offsets) = (Vec::new(), Vec::new(), Vec::new());
        FilterBuilder { bits_per_key, hashes, result, offsets }
    }

    /// The next data block begins at this offset of the file.
    pub(crate) fn start_block(&mut self, offset: u64) {
        let index = offset >> BASE_LOG;
        debug_assert!(index >= self.offsets.len() as u64, "blocks come in order");
        while index > self.offsets.len() as u64 {
            self.generate();
        }
    }

    pub(crate) fn add(&mut self, user_key: &[u8]) {
        let end = self.offsets.last().copied().unwrap_or(0) as usize;
        debug_assert!(end <= self.result.len(), "a filter begins beyond the last one");
        self.hashes.push(bloom::key_hash(user_key));
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        if !self.hashes.is_empty() {
            self.generate();
        }
        assert!(self.hashes.is_empty(), "keys that no filter has");
        assert!(self.offsets.is_sorted(), "a filter ends where the next one begins");
        let array = self.result.len() as u32;
        assert!(self.result.len() <= u32::MAX as usize, "offsets have 32 bits");
        for offset in &self.offsets {
            self.result.extend_from_slice(&offset.to_le_bytes());
        }
        self.result.extend_from_slice(&array.to_le_bytes());
        self.result.push(BASE_LOG);
        debug_assert!(
            FilterReader::new(Piece::from(self.result.clone()))
                .is_some_and(|filter| filter.count == self.offsets.len()),
            "readers find other filters"
        );
        self.result
    }

    fn generate(&mut self) {
        self.offsets.push(self.result.len() as u32);
        debug_assert!(u32::try_from(self.result.len()).is_ok(), "offsets have 32 bits");
        debug_assert_eq!(self.offsets.first(), Some(&0), "the first filter comes first");
        if !self.hashes.is_empty() {
            bloom::append(&mut self.result, &self.hashes, self.bits_per_key);
            self.hashes.clear();
        }
    }
}

/// The filter block of a table, for reading.
pub(crate) struct FilterReader {
    data: Piece,
    array: usize,
    count: usize,
    base_log: u8,
}

impl FilterReader {
    /// None if this is not a filter block; without a filter, a block may contain any key.
    pub(crate) fn new(data: Piece) -> Option<FilterReader> {
        let length = data.len();
        if length < 5 {
            return None;
        }
        let array = fixed32(&data, length - 5) as usize;
        let base_log = data[length - 1];
        if array > length - 5 || base_log > 63 {
            return None;
        }
        Some(FilterReader { array, count: (length - 5 - array) / 4, base_log, data })
    }

    /// Whether the data block that begins at `offset` may contain a key with this hash.
    pub(crate) fn may_contain(&self, offset: u64, key_hash: u32) -> bool {
        let index = offset >> self.base_log;
        if index >= self.count as u64 {
            return true;
        }
        let place = self.array + index as usize * 4;
        debug_assert!(place + 8 < self.data.len(), "each offset is followed by another one");
        let start = fixed32(&self.data, place) as usize;
        let end = fixed32(&self.data, place + 4) as usize;
        // Outside of the array the filter is damaged, and may contain every key.
        start > end
            || end > self.array
            || (start < end && bloom::may_contain(&self.data[start..end], key_hash))
    }
}
