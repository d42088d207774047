//! Write batches: changes that are written together, and the payload of a record of the write-ahead log.
//!
//! First sequence number (8 bytes), count (4), then for each change its kind, the key and, unless it is a
//! deletion, the value, both with their lengths in front.

use super::Damage;
use super::coding::{fixed32, fixed64, prefixed, put_prefixed};
use super::key::{MAX_SEQUENCE, ValueKind};
use crate::error::{Error, Result};

pub(crate) const HEADER: usize = 12;
/// The largest key or value, in bytes. Lengths have 32 bits and files join several of them.
pub(crate) const MAX_LENGTH: usize = 1 << 30;

/// Changes that are applied together or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteBatch {
    data: Vec<u8>,
}

impl Default for WriteBatch {
    fn default() -> WriteBatch {
        WriteBatch { data: vec![0; HEADER] }
    }
}

/// One change of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// Set the value of a key.
    Put(&'a [u8], &'a [u8]),
    /// Delete a key.
    Delete(&'a [u8]),
}

impl WriteBatch {
    /// An empty batch.
    #[must_use]
    pub fn new() -> WriteBatch {
        WriteBatch::default()
    }

    /// Set the value of `key`. Both may be empty.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        let start = self.data.len();
        self.data.push(ValueKind::Value as u8);
        put_prefixed(&mut self.data, key);
        put_prefixed(&mut self.data, value);
        self.set_count(self.count() + 1);
        let put = Change::Put(key, value);
        debug_assert!(self.ends_with(start, put), "readers find another change");
    }

    /// Delete `key`, whether or not it has a value.
    pub fn delete(&mut self, key: &[u8]) {
        let start = self.data.len();
        self.data.push(ValueKind::Deletion as u8);
        put_prefixed(&mut self.data, key);
        self.set_count(self.count() + 1);
        debug_assert!(self.ends_with(start, Change::Delete(key)), "readers find another change");
    }

    /// Whether `change` takes the bytes from `start` on, as readers see them.
    fn ends_with(&self, start: usize, change: Change<'_>) -> bool {
        debug_assert!(start >= HEADER, "a change in the header");
        change_at(&self.data, start).is_ok_and(|decoded| decoded == (change, self.data.len()))
    }

    /// Remove all changes.
    pub fn clear(&mut self) {
        self.data.clear();
        self.data.resize(HEADER, 0);
        debug_assert_eq!(self.count(), 0, "a header of zeros has no changes");
    }

    /// Append the changes of another batch.
    pub fn extend(&mut self, other: &WriteBatch) {
        debug_assert!(other.data.len() >= HEADER, "even an empty batch has its header");
        self.data.extend_from_slice(&other.data[HEADER..]);
        self.set_count(self.count() + other.count());
        debug_assert!(
            self.count() as usize <= (self.data.len() - HEADER) / 2,
            "a change takes two bytes at least"
        );
    }

    /// The number of changes.
    #[must_use]
    pub fn count(&self) -> u32 {
        fixed32(&self.data, 8)
    }

    /// Size of the batch in the write-ahead log, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.data.len()
    }

    /// The changes in order.
    ///
    /// # Errors
    /// If the batch was read from a file and its bytes are damaged.
    pub fn changes(&self) -> impl Iterator<Item = Result<Change<'_>>> {
        debug_assert!(self.data.len() >= HEADER, "even an empty batch has its header");
        let mut at = HEADER;
        std::iter::from_fn(move || {
            (at < self.data.len()).then(|| {
                let (change, end) = change_at(&self.data, at)
                    .map_err(|d| Error::corrupt("batch", d.offset as u64, d.message))
                    .inspect_err(|_| at = self.data.len())?;
                debug_assert!(end > at, "reading moves on");
                at = end;
                Ok(change)
            })
        })
    }

    /// Whether a store accepts these changes.
    pub(crate) fn check_lengths(key: &[u8], value: &[u8]) -> Result<()> {
        for (name, bytes) in [("key", key), ("value", value)] {
            if bytes.len() > MAX_LENGTH {
                let length = bytes.len();
                return Err(Error::invalid(format!(
                    "a {name} of {length} bytes: at most {MAX_LENGTH} are taken"
                )));
            }
        }
        Ok(())
    }

    fn set_count(&mut self, count: u32) {
        assert!(count >= self.count(), "changes are counted in 32 bits");
        self.data[8..HEADER].copy_from_slice(&count.to_le_bytes());
    }

    pub(crate) fn sequence(&self) -> u64 {
        fixed64(&self.data, 0)
    }

    /// The sequence number of the last change; of an empty batch, the number before its first.
    pub(crate) fn last_sequence(&self) -> u64 {
        debug_assert!(self.sequence() <= MAX_SEQUENCE, "a sequence number has 56 bits");
        (self.sequence() + u64::from(self.count())).saturating_sub(1)
    }

    pub(crate) fn set_sequence(&mut self, sequence: u64) {
        let next = sequence + u64::from(self.count());
        assert!(sequence > 0 && next <= MAX_SEQUENCE, "numbers from 1 on, of 56 bits");
        self.data[..8].copy_from_slice(&sequence.to_le_bytes());
        let stored = WriteBatch::numbers(&self.data);
        debug_assert_eq!(stored, Some((sequence, next)), "readers find other numbers");
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.data
    }

    /// The batch of a log record, checked: it is complete and its count is right.
    pub(crate) fn decoded(data: Vec<u8>) -> std::result::Result<WriteBatch, Damage> {
        if data.len() < HEADER {
            return Err(Damage::at(0, "a batch shorter than its header"));
        }
        if WriteBatch::numbers(&data).is_none() {
            return Err(Damage::at(0, "a sequence number of more than 56 bits"));
        }
        let batch = WriteBatch { data };
        let (mut at, mut count) = (HEADER, 0);
        while at < batch.data.len() {
            at = change_at(&batch.data, at)?.1;
            count += 1;
        }
        if count != batch.count() {
            return Err(Damage::at(8, "a batch with a wrong count"));
        }
        debug_assert!(batch.last_sequence() <= MAX_SEQUENCE, "a sequence number has 56 bits");
        Ok(batch)
    }

    /// Sequence numbers of the batch at the start of `data`: of its first change, and the one after its last.
    pub(crate) fn numbers(data: &[u8]) -> Option<(u64, u64)> {
        if data.len() < HEADER {
            return None;
        }
        let first = fixed64(data, 0);
        let next = first.checked_add(fixed32(data, 8).into())?;
        (next <= MAX_SEQUENCE).then_some((first, next))
    }

    /// Where the batch at the start of `data` ends by its count and lengths, and the sequence number after it.
    pub(crate) fn extent(data: &[u8]) -> Option<(usize, u64)> {
        let (first, next) = WriteBatch::numbers(data)?;
        let mut at = HEADER;
        for _ in first..next {
            at = change_at(data, at).ok()?.1;
        }
        debug_assert!(at <= data.len(), "changes end in the data");
        Some((at, next))
    }
}

/// The change at `at` of the bytes of a batch, and where it ends.
fn change_at(data: &[u8], at: usize) -> std::result::Result<(Change<'_>, usize), Damage> {
    let bad = |message| Damage::at(at, message);
    match data.get(at) {
        Some(0) => {
            let (key, end) = prefixed(data, at + 1).ok_or(bad("bad deletion"))?;
            Ok((Change::Delete(key), end))
        }
        Some(1) => {
            let (key, next) = prefixed(data, at + 1).ok_or(bad("bad key"))?;
            let (value, end) = prefixed(data, next).ok_or(bad("bad value"))?;
            Ok((Change::Put(key, value), end))
        }
        _ => Err(bad("an unknown kind of change")),
    }
}
