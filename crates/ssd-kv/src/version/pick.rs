//! Picks the tables of the next compaction.
//!
//! Source: google/leveldb `db/version_set.cc`, release 1.23 and the boundary files of later ones.

use super::ranges::{add_boundary, overlapping, range, total_size};
use super::{File, Version};
use crate::format::edit::LEVELS;
use crate::format::key;
use std::cmp::Ordering;
use std::sync::Arc;

/// The size limit of a level from 1 on, in bytes.
pub(crate) fn level_limit(level: usize) -> f64 {
    debug_assert!((1..LEVELS).contains(&level), "level {level} has no limit of bytes");
    (1..level).fold(10.0 * 1_048_576.0, |limit, _| limit * 10.0)
}

/// For each level, the internal key after which its next compaction begins.
pub(crate) type Pointers = [Option<Vec<u8>>; LEVELS];

/// Files of `level`, and those of the next level that overlap them and are merged with them.
pub(crate) struct CompactionInputs {
    pub(crate) version: Arc<Version>,
    pub(crate) level: usize,
    /// Files of the level and of the next one.
    pub(crate) inputs: [Vec<File>; 2],
    /// Files of the level after next that overlap the range.
    pub(crate) grandparents: Vec<File>,
    /// The key after which the next compaction of the level begins: the largest of its inputs.
    pub(crate) pointer: Vec<u8>,
    pub(crate) manual: bool,
}

impl CompactionInputs {
    /// What a compaction of these files relies on. Were it wrong, an older entry could come to lie above a
    /// newer one, where gets find it first.
    fn check(&self) {
        let CompactionInputs { version, level, inputs: [upper, lower], .. } = self;
        assert!(
            lower.is_sorted_by(|f, g| key::compare(&f.largest, &g.smallest).is_lt()),
            "tables of the next level overlap"
        );
        assert!(
            upper.iter().all(|f| lower.iter().all(|g| f.number != g.number)),
            "a table is on two levels"
        );
        assert!(level + 1 < LEVELS, "the last level is not compacted");
        assert!(!upper.is_empty(), "a compaction has inputs");
        let is_new = |(i, f): (usize, &File)| upper[..i].iter().all(|g| g.number != f.number);
        assert!(upper.iter().enumerate().all(is_new), "a table is an input twice");
        assert!(self.pointer.len() >= 8, "internal keys end in a tag");
        let (first, last) = range(upper);
        assert_eq!(last, self.pointer, "the next compaction continues where this one ends");
        let span = (key::user(&first), key::user(&last));
        let left_out = |level: usize, inputs: &[File]| -> Vec<File> {
            let is_input = |f: &File| inputs.iter().any(|input| input.number == f.number);
            version.files[level].iter().filter(|f| !is_input(f)).cloned().collect()
        };
        let overlaps =
            |f: &File| key::user(&f.smallest) <= span.1 && key::user(&f.largest) >= span.0;
        let stay = left_out(*level, upper);
        assert_eq!(stay.len() + upper.len(), version.files[*level].len(), "inputs of the level");
        let stay_below = left_out(level + 1, lower);
        assert!(!stay_below.iter().any(overlaps), "a table of the next level is left out");
        let continues = |f: &File| key::compare(&f.smallest, &last).is_gt();
        let older = |f: &&File| *level == 0 || continues(f);
        assert!(!stay.iter().filter(older).any(overlaps), "older entries of a key stay above it");
        let deeper = version.files.get(level + 2).map_or(&[][..], Vec::as_slice);
        let is_there = |f: &File| deeper.iter().any(|candidate| Arc::ptr_eq(candidate, f));
        assert!(self.grandparents.iter().all(is_there), "files of the level after next");
        let bounds = range(upper.iter().chain(lower));
        let bounds = (key::user(&bounds.0), key::user(&bounds.1));
        let meets =
            |f: &File| key::user(&f.smallest) <= bounds.1 && key::user(&f.largest) >= bounds.0;
        assert!(self.grandparents.iter().all(meets), "a grandparent beyond the range");
        let left_out = deeper.iter().filter(|f| meets(f)).count() - self.grandparents.len();
        assert_eq!(left_out, 0, "a grandparent is left out");
    }

    /// Whether the span of the inputs' user keys overlaps the range from `smallest` to `largest`.
    pub(crate) fn spans(&self, smallest: &[u8], largest: &[u8]) -> bool {
        debug_assert!(smallest <= largest, "a range of a table, from its first to its last key");
        let (first, last) = range(self.inputs.iter().flatten());
        key::user(&first) <= largest && key::user(&last) >= smallest
    }

    /// Whether the compaction has one input that can move to the next level unchanged. It cannot if it
    /// overlaps so much of the level after next that compacting it from there would be very expensive.
    pub(crate) fn is_trivial_move(&self, max_file_size: u64) -> bool {
        debug_assert!(!self.inputs[0].is_empty(), "a compaction has inputs");
        self.inputs[0].len() == 1
            && self.inputs[1].is_empty()
            && total_size(&self.grandparents) <= 10 * max_file_size
    }
}

fn user_overlap(version: &Version, level: usize, span: &(Vec<u8>, Vec<u8>)) -> Vec<File> {
    overlapping(version, level, Some(key::user(&span.0)), Some(key::user(&span.1)))
}

/// The most urgent compaction, if one is due.
pub(crate) fn pick(
    version: &Arc<Version>,
    pointers: &Pointers,
    max_file_size: u64,
) -> Option<CompactionInputs> {
    let (level, file) = if version.score >= 1.0 {
        let level = version.score_level;
        let files = &version.files[level];
        assert!(!files.is_empty(), "level {level} is full of nothing");
        let after = |f: &&File| {
            let pointer = pointers[level].as_ref();
            pointer.is_none_or(|p| key::compare(&f.largest, p) == Ordering::Greater)
        };
        // At the end of the keys it starts over.
        (level, files.iter().find(after).unwrap_or(&files[0]).clone())
    } else {
        version.to_compact()?
    };
    let is_it = |candidate: &File| Arc::ptr_eq(candidate, &file);
    assert!(version.files[level].iter().any(is_it), "a table of another version");
    let mut inputs = vec![file];
    if level == 0 {
        let span = range(&inputs);
        inputs = user_overlap(version, 0, &span);
        assert!(!inputs.is_empty(), "a table overlaps its own range");
    }
    let picked = with_others(version, level, inputs, max_file_size);
    picked.check();
    Some(picked)
}

/// A compaction of the files of a level that overlap a range of user keys, or of a part of them.
pub(crate) fn pick_range(
    version: &Arc<Version>,
    level: usize,
    begin: Option<&[u8]>,
    end: Option<&[u8]>,
    max_file_size: u64,
) -> Option<CompactionInputs> {
    let mut inputs = overlapping(version, level, begin, end);
    if level > 0 {
        let mut sum = 0;
        let full = inputs.iter().position(|f| {
            sum += f.size;
            sum >= max_file_size
        });
        if let Some(last) = full {
            inputs.truncate(last + 1);
        }
    }
    if inputs.is_empty() {
        return None;
    }
    let mut picked = with_others(version, level, inputs, max_file_size);
    picked.check();
    picked.manual = true;
    Some(picked)
}

/// Add the files of the next level, and further files of this level if that adds none of the next.
fn with_others(
    version: &Arc<Version>,
    level: usize,
    mut inputs: Vec<File>,
    max_file_size: u64,
) -> CompactionInputs {
    assert!(level + 1 < LEVELS, "the last level is not compacted");
    add_boundary(&version.files[level], &mut inputs);
    let mut span = range(&inputs);
    let mut below = user_overlap(version, level + 1, &span);
    add_boundary(&version.files[level + 1], &mut below);
    let mut bounds = range(inputs.iter().chain(&below));
    if !below.is_empty() {
        let mut more = user_overlap(version, level, &bounds);
        add_boundary(&version.files[level], &mut more);
        assert!(more.len() >= inputs.len(), "a wider range has all files of the narrower one");
        if more.len() > inputs.len() && total_size(&below) + total_size(&more) < 25 * max_file_size
        {
            let wider = range(&more);
            let mut more_below = user_overlap(version, level + 1, &wider);
            add_boundary(&version.files[level + 1], &mut more_below);
            if more_below.len() == below.len() {
                (span, inputs, below) = (wider, more, more_below);
                bounds = range(inputs.iter().chain(&below));
            }
        }
    }
    let grandparents =
        if level + 2 < LEVELS { user_overlap(version, level + 2, &bounds) } else { Vec::new() };
    let pointer = span.1;
    let version = version.clone();
    CompactionInputs {
        version,
        level,
        inputs: [inputs, below],
        grandparents,
        pointer,
        manual: false,
    }
}
