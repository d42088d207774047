//! Key ranges of files: which files overlap, and what range they span.

use super::{File, Version};
use crate::format::key;
use std::cmp::Ordering;
use std::sync::Arc;

/// Total size of these files in bytes.
pub(crate) fn total_size(files: &[File]) -> u64 {
    // A damaged manifest may state any sizes; that they are wrong shows when the tables are opened.
    files.iter().fold(0, |sum, f| sum.saturating_add(f.size))
}

/// Smallest and largest internal key of these files.
///
/// # Panics
/// If there are no files.
pub(crate) fn range<'a>(files: impl IntoIterator<Item = &'a File>) -> (Vec<u8>, Vec<u8>) {
    let (mut smallest, mut largest): (Option<&[u8]>, Option<&[u8]>) = (None, None);
    for file in files {
        if smallest.is_none_or(|s| key::compare(&file.smallest, s) == Ordering::Less) {
            smallest = Some(&file.smallest);
        }
        if largest.is_none_or(|l| key::compare(&file.largest, l) == Ordering::Greater) {
            largest = Some(&file.largest);
        }
    }
    let message = "a range covers at least one file";
    let (smallest, largest) = (smallest.expect(message), largest.expect(message));
    debug_assert!(key::compare(smallest, largest).is_le(), "audited files");
    (smallest.to_vec(), largest.to_vec())
}

/// Files of the level that overlap a range of user keys; None is no bound. Files of level 0 may
/// overlap each other: the range grows until it contains every file that overlaps it.
pub(crate) fn overlapping(
    version: &Version,
    level: usize,
    begin: Option<&[u8]>,
    end: Option<&[u8]>,
) -> Vec<File> {
    let (mut begin, mut end) = (begin.map(<[u8]>::to_vec), end.map(<[u8]>::to_vec));
    let mut overlap: Vec<File> = Vec::new();
    let files = &version.files[level];
    let mut at = 0;
    while at < files.len() {
        let file = &files[at];
        at += 1;
        let (first, last) = (key::user(&file.smallest), key::user(&file.largest));
        let outside = begin.as_ref().is_some_and(|b| key::compare_user(last, b) == Ordering::Less)
            || end.as_ref().is_some_and(|e| key::compare_user(first, e) == Ordering::Greater);
        if outside {
            continue;
        }
        overlap.push(file.clone());
        if level > 0 {
            continue;
        }
        if begin.as_ref().is_some_and(|b| key::compare_user(first, b) == Ordering::Less) {
            begin = Some(first.to_vec());
        } else if end.as_ref().is_some_and(|e| key::compare_user(last, e) == Ordering::Greater) {
            end = Some(last.to_vec());
        } else {
            continue;
        }
        // The range has grown: files that were outside may overlap it now.
        overlap.clear();
        at = 0;
    }
    debug_assert!(overlap.len() <= files.len(), "a file is found twice");
    overlap
}

/// Add the files that begin with the last user key of `chosen`. Without them, a compaction would leave
/// older versions of that key above newer ones.
pub(crate) fn add_boundary(files: &[File], chosen: &mut Vec<File>) {
    if chosen.is_empty() {
        return;
    }
    debug_assert!(
        chosen.iter().all(|file| files.iter().any(|f| Arc::ptr_eq(f, file))),
        "files of another level"
    );
    let mut largest = range(&*chosen).1;
    loop {
        let boundary = files.iter().filter(|f| {
            key::compare(&f.smallest, &largest) == Ordering::Greater
                && key::user(&f.smallest) == key::user(&largest)
        });
        let Some(next) = boundary.min_by(|a, b| key::compare(&a.smallest, &b.smallest)) else {
            return;
        };
        assert!(key::compare(&next.largest, &largest).is_gt(), "each one found goes further");
        largest.clone_from(&next.largest);
        chosen.push(next.clone());
    }
}
