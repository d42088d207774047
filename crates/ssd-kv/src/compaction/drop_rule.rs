//! Decides which pairs a compaction may drop, and where its output files must end.

use crate::format::edit::LEVELS;
use crate::format::key::{self, MAX_SEQUENCE, ValueKind};
use crate::version::pick::CompactionInputs;
use crate::version::{File, Version};
use std::cmp::Ordering;
use std::sync::Arc;

/// Drops versions that no reader can see: values hidden by a newer version that every read view sees,
/// and deletions that hide nothing on the levels below.
pub(super) struct DropRule {
    version: Arc<Version>,
    /// The first level below the outputs.
    below: usize,
    oldest_view: u64,
    user: Vec<u8>,
    /// Sequence number of the previous version of the same key.
    newer: Option<u64>,
    /// For each level below, the first file that is not yet passed.
    passed: [usize; LEVELS],
}

impl DropRule {
    pub(super) fn new(picked: &CompactionInputs, oldest_view: u64) -> DropRule {
        assert!(picked.level + 1 < LEVELS, "the last level is not compacted");
        assert!(oldest_view <= MAX_SEQUENCE, "a sequence number has 56 bits");
        DropRule {
            version: picked.version.clone(),
            below: picked.level + 2,
            oldest_view,
            user: Vec::new(),
            newer: None,
            passed: [0; LEVELS],
        }
    }

    /// Whether the pair with this key is dropped. Keys must come in order.
    #[inline]
    pub(super) fn drops(&mut self, internal: &[u8]) -> bool {
        debug_assert!(internal.len() >= 8, "an internal key ends in a tag");
        debug_assert!(self.below >= 2, "level {} is not below the outputs", self.below);
        let (user, tag) = (key::user(internal), key::tag(internal));
        if self.newer.is_none() || user != self.user.as_slice() {
            self.user.clear();
            self.user.extend_from_slice(user);
            self.newer = Some(MAX_SEQUENCE);
        }
        let hidden = self.newer.is_some_and(|s| s <= self.oldest_view);
        self.newer = Some(tag.sequence());
        hidden
            || (tag.kind() == Some(ValueKind::Deletion)
                && tag.sequence() <= self.oldest_view
                && self.is_lowest(user))
    }

    /// Whether no level below the outputs can hold the key.
    fn is_lowest(&mut self, user: &[u8]) -> bool {
        debug_assert_eq!(user, self.user, "the key of the pair that is being looked at");
        for level in self.below..LEVELS {
            let files = &self.version.files[level];
            while let Some(file) = files.get(self.passed[level]) {
                if key::compare_user(user, key::user(&file.largest)) != Ordering::Greater {
                    if key::compare_user(user, key::user(&file.smallest)) != Ordering::Less {
                        return false;
                    }
                    break;
                }
                self.passed[level] += 1;
            }
        }
        debug_assert!(
            (self.below..LEVELS).all(|level| self.passed[level] <= self.version.files[level].len()),
            "more files are passed than there are"
        );
        true
    }
}

/// Ends an output before it overlaps too much of the level below.
pub(super) struct OutputLimit {
    grandparents: Vec<File>,
    at: usize,
    begun: bool,
    overlapped: u64,
    limit: u64,
}

impl OutputLimit {
    pub(super) fn new(picked: &CompactionInputs, max_file_size: u64) -> OutputLimit {
        assert!(max_file_size > 0, "every output would overlap too much");
        let (grandparents, limit) = (picked.grandparents.clone(), 10 * max_file_size);
        let ascends = |pair: &[File]| key::compare(&pair[0].largest, &pair[1].smallest).is_lt();
        assert!(grandparents.windows(2).all(ascends), "each is passed once, in the order of keys");
        OutputLimit { grandparents, at: 0, begun: false, overlapped: 0, limit }
    }

    #[inline]
    pub(super) fn stops_before(&mut self, internal: &[u8]) -> bool {
        debug_assert!(self.at <= self.grandparents.len(), "more files are passed than there are");
        debug_assert!(
            self.begun || self.overlapped == 0,
            "nothing is overlapped before the first key"
        );
        while let Some(file) = self.grandparents.get(self.at)
            && key::compare(internal, &file.largest) == Ordering::Greater
        {
            if self.begun {
                self.overlapped += file.size;
            }
            self.at += 1;
        }
        self.begun = true;
        let stops = self.overlapped > self.limit;
        if stops {
            self.overlapped = 0;
        }
        stops
    }
}
