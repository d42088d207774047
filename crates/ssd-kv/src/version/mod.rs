//! The tables that make up the store: versions, and how a version becomes the next.

mod level_iter;
pub(crate) mod pick;
mod ranges;
pub(crate) mod set;

pub(crate) use level_iter::LevelIter;
pub(crate) use ranges::{overlapping, total_size};

use crate::error::{Error, Result};
use crate::format::bloom;
use crate::format::edit::LEVELS;
use crate::format::key::{self, Tag, ValueKind};
use crate::merge::Source;
use crate::options::ReadOptions;
use crate::table::{TableIter, Tables};
use crate::vfs::memory::locked;
use std::cmp::Ordering;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// A table of the store.
#[derive(Debug)]
pub(crate) struct FileMeta {
    pub(crate) number: u64,
    pub(crate) size: u64,
    /// The smallest and largest internal key.
    pub(crate) smallest: Vec<u8>,
    pub(crate) largest: Vec<u8>,
    /// How many more reads may search it in vain before it is compacted.
    pub(crate) allowed_seeks: AtomicI64,
}

impl FileMeta {
    pub(crate) fn new(number: u64, size: u64, smallest: Vec<u8>, largest: Vec<u8>) -> FileMeta {
        assert!(smallest.len() >= 8 && largest.len() >= 8, "internal keys end in a tag");
        // One look costs about as much as compacting 40 KiB; 16 KiB is on the safe side.
        let allowed_seeks = AtomicI64::new((size / (16 << 10)).max(100) as i64);
        FileMeta { number, size, smallest, largest, allowed_seeks }
    }

    fn may_hold(&self, user: &[u8]) -> bool {
        debug_assert!(self.smallest.len() >= 8, "internal keys end in a tag");
        key::compare_user(user, key::user(&self.smallest)) != Ordering::Less
            && key::compare_user(user, key::user(&self.largest)) != Ordering::Greater
    }
}

pub(crate) type File = Arc<FileMeta>;

/// The tables of the store at one time. In levels from 1 on, tables are sorted and do not overlap.
#[derive(Default)]
pub(crate) struct Version {
    /// Sorted by smallest key, then number.
    pub(crate) files: [Vec<File>; LEVELS],
    /// Level 0, newest first.
    newest_first: Vec<File>,
    /// The level that needs compaction most, and its score: from 1 on, compaction is due.
    pub(crate) score: f64,
    pub(crate) score_level: usize,
    /// A table that too many reads searched in vain, and its level.
    to_compact: Mutex<Option<(usize, File)>>,
    /// Whether there is such a table: every write reads this.
    seeks_due: AtomicBool,
}

/// What a lookup in the tables found.
enum LookupResult {
    Nothing,
    Deleted,
    Value(Vec<u8>),
    Unknown,
}

impl Version {
    /// A version of files that are sorted already.
    pub(crate) fn new(files: [Vec<File>; LEVELS]) -> Version {
        for files in &files {
            let order = |f: &File, g: &File| key::compare(&f.smallest, &g.smallest).is_le();
            assert!(files.is_sorted_by(order), "searches bisect the files of a level");
        }
        let mut newest_first = files[0].clone();
        // Numbers ascend with time, so a larger one means newer data.
        newest_first.sort_by_key(|f| std::cmp::Reverse(f.number));
        let mut version = Version { files, newest_first, ..Version::default() };
        for level in 0..LEVELS - 1 {
            let files = &version.files[level];
            // Level 0 by files: each costs every read a look, however small it is.
            let score = match level {
                0 => files.len() as f64 / 4.0,
                _ => total_size(files) as f64 / pick::level_limit(level),
            };
            if score > version.score {
                (version.score, version.score_level) = (score, level);
            }
        }
        assert!(version.score_level + 1 < LEVELS, "the last level is not compacted");
        assert!(version.score.is_finite(), "a level without a limit");

        version
    }

    /// The only file of a sorted level that may hold `user`: the first that ends at or after the key.
    fn candidate(&self, level: usize, internal: &[u8]) -> Option<&File> {
        debug_assert!(level > 0, "tables of level 0 overlap: there may be several");
        let files = &self.files[level];
        let at = files.partition_point(|f| key::compare(&f.largest, internal) == Ordering::Less);
        let file = files.get(at)?;
        let reaches =
            key::compare_user(key::user(internal), key::user(&file.smallest)) != Ordering::Less;
        debug_assert!(!reaches || file.may_hold(key::user(internal)), "the key is elsewhere");
        reaches.then_some(file)
    }

    /// Pass the files that may hold the key to `f`, newest data first, until it breaks.
    fn each_candidate(
        &self,
        internal: &[u8],
        mut f: impl FnMut(usize, &File) -> Result<bool>,
    ) -> Result<()> {
        debug_assert!(internal.len() >= 8, "an internal key ends in a tag");
        debug_assert_eq!(self.newest_first.len(), self.files[0].len(), "level 0 in two orders");
        for file in self.newest_first.iter().filter(|f| f.may_hold(key::user(internal))) {
            if !f(0, file)? {
                return Ok(());
            }
        }
        for level in 1..LEVELS {
            if let Some(file) = self.candidate(level, internal)
                && !f(level, file)?
            {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The value of a user key as of `sequence`.
    pub(crate) fn get(
        &self,
        tables: &Tables,
        user: &[u8],
        sequence: u64,
        options: ReadOptions,
    ) -> Result<Option<Vec<u8>>> {
        let target = key::internal(user, Tag::seek(sequence));
        let hash = bloom::key_hash(user);
        let (mut value, mut looks) = (None, 0);
        let mut first: Option<(usize, File)> = None;
        self.each_candidate(&target, |level, file| {
            debug_assert!(value.is_none(), "the newest entry ends the search");
            looks += 1;
            if looks == 1 {
                first = Some((level, file.clone()));
            }
            let table = tables.table(file.number, file.size)?;
            let look =
                table.get((&target, hash), options, |key, data| classify(user, key, data))?;
            match look.unwrap_or(LookupResult::Nothing) {
                LookupResult::Nothing => Ok(true),
                LookupResult::Deleted => Ok(false),
                LookupResult::Value(data) => {
                    value = Some(data);
                    Ok(false)
                }
                LookupResult::Unknown => Err(unknown_kind(tables, file)),
            }
        })?;
        if looks > 1
            && let Some((level, file)) = first
        {
            self.charge(level, &file);
        }
        Ok(value)
    }

    /// Count a read that searched the file in vain.
    fn charge(&self, level: usize, file: &File) {
        debug_assert!(level + 1 < LEVELS, "below the last level no second look follows");
        debug_assert!(self.files[level].iter().any(|f| Arc::ptr_eq(f, file)), "another version's");
        if file.allowed_seeks.fetch_sub(1, Relaxed) <= 1 {
            locked(&self.to_compact).get_or_insert_with(|| (level, file.clone()));
            self.seeks_due.store(true, Relaxed);
        }
    }

    /// Sample a key that an iterator read: if several files may hold it, the read counts against the first.
    pub(crate) fn sample_read(&self, internal: &[u8]) -> Result<()> {
        let (mut first, mut count) = (None, 0);
        self.each_candidate(internal, |level, file| {
            count += 1;
            if first.is_none() {
                first = Some((level, file.clone()));
            }
            Ok(count < 2)
        })?;
        debug_assert!(count <= 2, "the search continues after its end");
        if let (Some((level, file)), 2) = (first, count) {
            self.charge(level, &file);
        }
        Ok(())
    }

    pub(crate) fn to_compact(&self) -> Option<(usize, File)> {
        let is_due = self.seeks_due.load(Relaxed);
        let candidate = locked(&self.to_compact).clone();
        assert!(candidate.is_some() || !is_due, "the table is noted before it is announced");
        assert!(
            candidate.as_ref().is_none_or(|(level, _)| level + 1 < LEVELS),
            "the last level is not compacted"
        );
        candidate
    }

    /// Whether a compaction is due.
    pub(crate) fn needs_compaction(&self) -> bool {
        debug_assert!(self.score_level + 1 < LEVELS, "the last level is not compacted");
        self.score >= 1.0 || self.seeks_due.load(Relaxed)
    }

    /// Iterators that together yield all entries.
    pub(crate) fn sources(
        self: &Arc<Version>,
        tables: &Arc<Tables>,
        options: ReadOptions,
    ) -> Result<Vec<Source>> {
        let mut sources = Vec::new();
        for file in &self.files[0] {
            let table = tables.table(file.number, file.size)?;
            sources.push(Source::Table(Box::new(TableIter::new(table, options))));
        }
        for level in 1..LEVELS {
            if !self.files[level].is_empty() {
                let files = self.files[level].clone();
                let iter = LevelIter::new(files, tables.clone(), options);
                sources.push(Source::Level(Box::new(iter)));
            }
        }
        debug_assert_eq!(sources.len(), self.ranks().len(), "a rank for each source");
        Ok(sources)
    }

    /// For each of `sources`, its place in the order in which a get searches them.
    pub(crate) fn ranks(&self) -> Vec<usize> {
        let mut ranks: Vec<usize> = Vec::new();
        for file in &self.files[0] {
            let place = self.newest_first.iter().position(|newer| newer.number == file.number);
            debug_assert!(place.is_some(), "a table of level 0 is in both lists");
            ranks.extend(place);
        }
        let lower = self.files[1..].iter().filter(|files| !files.is_empty()).count();
        ranks.extend(ranks.len()..ranks.len() + lower);
        let places: std::collections::BTreeSet<usize> = ranks.iter().copied().collect();
        assert!(places.into_iter().eq(0..ranks.len()), "every place of the order is taken once");
        ranks
    }

    /// Whether some file of the level overlaps this range of user keys.
    pub(crate) fn overlaps(&self, level: usize, smallest: &[u8], largest: &[u8]) -> bool {
        assert!(smallest <= largest, "a range of a table, from its first to its last key");
        debug_assert!(level < LEVELS, "level {level}");
        self.files[level].iter().any(|f| {
            key::compare_user(key::user(&f.largest), smallest) != Ordering::Less
                && key::compare_user(key::user(&f.smallest), largest) != Ordering::Greater
        })
    }

    /// Check what must hold for the files of a store; returns the first violation.
    pub(crate) fn audit(&self) -> std::result::Result<(), String> {
        for (level, files) in self.files.iter().enumerate() {
            for file in files {
                if key::compare(&file.smallest, &file.largest) == Ordering::Greater {
                    return Err(format!("table {}: smallest key after largest", file.number));
                }
            }
            for pair in files.windows(2).filter(|_| level > 0) {
                if key::compare(&pair[0].largest, &pair[1].smallest) != Ordering::Less {
                    let (a, b) = (pair[0].number, pair[1].number);
                    return Err(format!("level {level}: tables {a} and {b} overlap"));
                }
            }
        }
        let mut numbers: Vec<u64> = self.files.iter().flatten().map(|f| f.number).collect();
        numbers.sort_unstable();
        match numbers.windows(2).find(|w| w[0] == w[1]) {
            Some(twice) => Err(format!("table {} is listed twice", twice[0])),
            None => Ok(()),
        }
    }
}

fn classify(user: &[u8], key: &[u8], value: &[u8]) -> LookupResult {
    debug_assert!(key::user(key) >= user, "a seek ends at its target or after it");
    if key::user(key) != user {
        return LookupResult::Nothing;
    }
    match key::tag(key).kind() {
        Some(ValueKind::Value) => LookupResult::Value(value.to_vec()),
        Some(ValueKind::Deletion) => LookupResult::Deleted,
        None => LookupResult::Unknown,
    }
}

fn unknown_kind(tables: &Tables, file: &File) -> Error {
    Error::corrupt(&tables.name(file.number), 0, "an entry of an unknown kind")
}
