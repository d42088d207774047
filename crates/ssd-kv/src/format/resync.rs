//! Finds where reading a log resumes after a damaged fragment.
//!
//! Values may hold anything, even the bytes of a record with a correct checksum. So a checksum alone does not
//! prove that a record begins at an offset: an offset is accepted only if two of these agree on it.
//!
//! - The length in the header of the damaged fragment.
//! - The contents of the damaged record: the count and lengths of its batch imply where it ends.
//! - A whole record that begins there with the right sequence number, in a chain of records whose sequence
//!   numbers have no gap up to the next damage.
//!
//! Bytes in a value pass the third test only if they continue the preceding sequence numbers, and the record
//! after the value then contradicts them. One damaged field cannot mislead the other two. If no two agree,
//! the rest of the block is lost, as in LevelDB: the next block always begins with a fragment.

use super::batch::{HEADER as BATCH_HEADER, WriteBatch};
use super::fragment::{BLOCK, FIRST, FULL, HEADER, MIDDLE, whole_at};

/// A fragment that cannot be read.
pub(super) struct LostFragment<'a> {
    /// The whole log.
    pub(super) data: &'a [u8],
    pub(super) start: usize,
    /// The end of its block, or of the log.
    pub(super) end: usize,
    /// The part of its record that the preceding fragments hold.
    pub(super) begun: &'a [u8],
    /// The highest sequence number before it.
    pub(super) last: u64,
}

impl LostFragment<'_> {
    /// The offset at which the next fragment begins: the end of the block if nothing is proven.
    pub(super) fn resume(&self) -> usize {
        debug_assert!(self.start < self.end && self.end <= self.data.len(), "a place in the log");
        let (by_length, by_contents) = (self.by_length(), self.by_contents());
        let resume = match (by_length, by_contents) {
            (Some(length), Some((contents, _))) if length == contents => length,
            _ if self.is_the_last(by_length, by_contents) => self.end,
            _ => self.by_sequence(by_length, by_contents).unwrap_or(self.end),
        };
        assert!((self.start + 1..=self.end).contains(&resume), "reading moves on, in the block");
        resume
    }

    /// If header and contents disagree on the end: the one at which a record begins.
    fn by_sequence(
        &self,
        by_length: Option<usize>,
        by_contents: Option<(usize, u64)>,
    ) -> Option<usize> {
        let expected = by_contents.map(|(_, next)| next);
        let ends = [by_length, by_contents.map(|(at, _)| at)].into_iter().flatten();
        // If both have such a record, the later one lies in a value of the earlier one.
        let exact = ends.filter(|&at| expected.is_some() && self.chain_at(at) == expected).min();
        let is_later = |at: &usize| self.chain_at(*at).is_some_and(|sequence| sequence > self.last);
        exact.or_else(|| by_length.filter(is_later))
    }

    /// The end of the fragment by its header.
    fn by_length(&self) -> Option<usize> {
        let length = self.data.get(self.start + 4..self.start + 6)?;
        let at = self.start + HEADER + usize::from(length[0]) + (usize::from(length[1]) << 8);
        (at <= self.end).then_some(at)
    }

    /// The end of the record by the lengths in its batch, and the sequence number that follows it.
    fn by_contents(&self) -> Option<(usize, u64)> {
        let fragment = self.data.get(self.start + HEADER..self.end)?;
        let (length, next) = WriteBatch::extent(&[self.begun, fragment].concat())?;
        let at = self.start + HEADER + length.checked_sub(self.begun.len())?;
        debug_assert!(at <= self.end, "contents that end beyond the block");
        Some((at, next))
    }

    /// Whether the block has no room for a fragment after the damaged one, by header or contents.
    fn is_the_last(&self, by_length: Option<usize>, by_contents: Option<(usize, u64)>) -> bool {
        debug_assert!(by_length.is_none_or(|at| at <= self.end), "an end beyond the block");
        debug_assert!(by_contents.is_none_or(|(at, _)| at <= self.end), "an end beyond the block");
        let at_end = |at: usize| self.end - at < HEADER;
        let kind = self.data.get(self.start + HEADER - 1);
        kind.is_some_and(|kind| [FIRST, MIDDLE].contains(kind))
            || by_length.is_some_and(at_end)
            || by_contents.is_some_and(|(at, _)| at_end(at))
    }

    /// The sequence number of the record that begins at `at`, if it is whole and all later records continue it.
    fn chain_at(&self, at: usize) -> Option<u64> {
        let (first, mut next, mut at) = self.begin_at(at)?;
        while let Some((sequence, after, end)) = self.begin_at(at) {
            if sequence != next {
                return None;
            }
            debug_assert!(end > at, "a chain goes on");
            (next, at) = (after, end);
        }
        Some(first)
    }

    /// The whole fragment at `at` that begins a record: its sequence number, the next one, and its end.
    fn begin_at(&self, at: usize) -> Option<(u64, u64, usize)> {
        let (kind, payload) = whole_at(self.data, at, self.end)?;
        let end = at + HEADER + payload.len();
        debug_assert!(end <= self.end, "a whole fragment lies in its block");
        let (sequence, next) = match kind {
            FULL => WriteBatch::numbers(payload)?,
            // The head of the batch may continue in the next block.
            FIRST if end == self.end && end.is_multiple_of(BLOCK) => {
                let rest = self.data.get(end + HEADER..).unwrap_or_default();
                let head: Vec<u8> =
                    payload.iter().chain(rest).take(BATCH_HEADER).copied().collect();
                WriteBatch::numbers(&head)?
            }
            _ => return None,
        };
        debug_assert!(sequence <= next, "sequence numbers ascend");
        Some((sequence, next, end))
    }
}
