//! The current version, the numbers of the store, and the manifest that makes both durable.

use super::pick::Pointers;
use super::{File, FileMeta, Version};
use crate::error::{Error, Result};
use crate::format::edit::{COMPARATOR, Edit, LEVELS, NewFile};
use crate::format::key::{self, MAX_SEQUENCE};
use crate::format::log::{Entry, LogReader, LogWriter, Tail};
use crate::format::names;
use crate::format::order::Order;
use crate::vfs::Files;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

/// The state that the manifest records.
pub(crate) struct VersionSet {
    files: Files,
    pub(crate) current: Arc<Version>,
    /// Versions that iterators may still hold.
    old_versions: Vec<Weak<Version>>,
    pub(crate) next_file: u64,
    pub(crate) last_sequence: u64,
    pub(crate) log_number: u64,
    pub(crate) previous_log: u64,
    pub(crate) manifest_number: u64,
    manifest: Option<LogWriter>,
    /// The name of the manifest that was read, and its tail.
    pub(crate) tail: Option<(String, Tail)>,
    pub(crate) pointers: Pointers,
    pub(crate) order: Order,
    /// First and last stored key of each table, by its number; empty if stored keys are sortable.
    stored: BTreeMap<u64, [Vec<u8>; 2]>,
}

impl VersionSet {
    fn empty(files: Files) -> VersionSet {
        VersionSet {
            files,
            current: Arc::default(),
            old_versions: Vec::new(),
            next_file: 2,
            last_sequence: 0,
            log_number: 0,
            previous_log: 0,
            manifest_number: 0,
            manifest: None,
            tail: None,
            pointers: Pointers::default(),
            order: Order::Bytewise,
            stored: BTreeMap::new(),
        }
    }

    /// Write the files of an empty store.
    pub(crate) fn create(files: &Files) -> Result<()> {
        let edit = Edit {
            comparator: Some(COMPARATOR.to_owned()),
            log_number: Some(0),
            next_file: Some(2),
            last_sequence: Some(0),
            ..Edit::default()
        };
        write_manifest(files, 1, &edit)
    }

    /// Read the manifest that CURRENT names.
    pub(crate) fn recover(files: Files) -> Result<VersionSet> {
        let current = files.read(names::CURRENT)?;
        let name = std::str::from_utf8(&current).ok().and_then(|text| text.strip_suffix('\n'));
        let manifest =
            name.filter(|n| matches!(names::parse(n), Some(names::FileKind::Manifest(_))));
        let Some(manifest) = manifest else {
            let message = "expected the name of a manifest and a newline";
            return Err(Error::corrupt(&files.describe(names::CURRENT), 0, message));
        };
        let mut set = VersionSet::empty(files.clone());
        set.replay(manifest)?;
        set.manifest_number = set.next_file;
        set.next_file += 1;
        set.check();
        Ok(set)
    }

    fn replay(&mut self, manifest: &str) -> Result<()> {
        assert!(self.manifest.is_none(), "a manifest is read before it is continued");
        let data = self.files.read(manifest)?;
        let name = self.files.describe(manifest);
        let mut levels: [Vec<File>; LEVELS] = Default::default();
        let (mut log, mut next, mut sequence) = (None, None, None);
        let mut reader = LogReader::new(&data);
        while let Some(entry) = reader.next_entry() {
            let (offset, record) = match entry {
                Entry::Record(offset, record) => (offset, record),
                Entry::Damaged(offset, message) => {
                    return Err(Error::corrupt(&name, offset, message));
                }
            };
            let bad = |message| Error::corrupt(&name, offset, message);
            let mut edit = Edit::decoded(&record).map_err(|d| bad(d.message))?;
            self.order = Order::of_edit(&name, &edit)?.unwrap_or(self.order);
            if self.order != Order::Bytewise {
                let ends = |f: &NewFile| (f.number, [f.smallest.clone(), f.largest.clone()]);
                self.stored.extend(edit.added.iter().map(ends));
            }
            self.order.sort_edit(&mut edit).map_err(bad)?;
            apply(&mut levels, &edit).map_err(|message| Error::corrupt(&name, offset, message))?;
            log = edit.log_number.or(log);
            next = edit.next_file.or(next);
            sequence = edit.last_sequence.or(sequence);
            self.previous_log = edit.previous_log.unwrap_or(self.previous_log);
            for (level, key) in edit.compact_pointers {
                self.pointers[level] = Some(key);
            }
        }
        self.tail = reader.tail().map(|tail| (name.clone(), tail));
        let end = data.len() as u64;
        let needed = [(log, "log number"), (next, "next file number"), (sequence, "last sequence")];
        for (number, field) in needed {
            if number.is_none() {
                return Err(Error::corrupt(&name, end, format!("it ends without a {field}")));
            }
        }
        self.log_number = log.unwrap_or_default();
        self.next_file = next.unwrap_or_default();
        self.last_sequence = sequence.unwrap_or_default();
        self.use_number(self.log_number);
        self.use_number(self.previous_log);
        sort(&mut levels);
        for file in levels.iter().flatten() {
            self.use_number(file.number);
        }
        let version = Version::new(levels);
        version.audit().map_err(|message| Error::corrupt(&name, end, message))?;
        self.install(version);
        self.check();
        Ok(())
    }

    /// What must hold between edits.
    pub(crate) fn check(&self) {
        let number = self.current.files.iter().flatten().map(|f| f.number).max().unwrap_or(0);
        assert!(number < self.next_file, "table {number}: a number would be given twice");
        assert!(self.log_number < self.next_file, "a log with a number not yet given");
        assert!(self.manifest_number < self.next_file, "a manifest with a number not yet given");
        assert!(self.previous_log < self.next_file, "a log with a number not yet given");
        assert!(self.last_sequence <= MAX_SEQUENCE, "sequence numbers have 56 bits");
        let pointers = self.pointers.iter().flatten();
        let versions = self.old_versions.iter().filter_map(Weak::upgrade);
        let is_current = |version: &Arc<Version>| Arc::ptr_eq(version, &self.current);
        assert!(!versions.into_iter().any(|v| is_current(&v)), "the current version is an old one");
        // Until the manifest has a number, it is 0.
        let mut tables = self.current.files.iter().flatten();
        let is_manifest = |f: &File| f.number == self.manifest_number;
        assert!(self.manifest_number == 0 || !tables.any(is_manifest), "a number is given twice");
        assert!(pointers.into_iter().all(|key| key.len() >= 8), "internal keys end in a tag");
        assert!(self.manifest.is_none() || self.manifest_number > 0, "the manifest has a number");
    }

    fn install(&mut self, version: Version) {
        debug_assert_eq!(version.audit(), Ok(()), "a version that cannot be read is installed");
        self.old_versions.retain(|v| v.strong_count() > 0);
        self.old_versions.push(Arc::downgrade(&self.current));
        self.current = Arc::new(version);
    }

    pub(crate) fn new_number(&mut self) -> u64 {
        assert!(self.next_file > self.manifest_number, "a number is given once");
        self.next_file += 1;
        self.next_file - 1
    }

    /// Return a number that was not used, if it is the last one.
    pub(crate) fn reuse_number(&mut self, number: u64) {
        assert!(number < self.next_file, "a number that was never given");
        debug_assert!(!self.live().contains(&number), "table {number} is in use");
        if self.next_file == number + 1 {
            self.next_file = number;
        }
    }

    /// Note that a file with this number exists.
    pub(crate) fn use_number(&mut self, number: u64) {
        debug_assert!(number < u64::MAX, "a number with no next one");
        self.next_file = self.next_file.max(number + 1);
    }

    /// Numbers of the tables of all versions that are in use.
    pub(crate) fn live(&self) -> BTreeSet<u64> {
        let versions = self.old_versions.iter().filter_map(Weak::upgrade);
        let numbers = |v: &Version| v.files.iter().flatten().map(|f| f.number).collect::<Vec<_>>();
        let mut live: BTreeSet<u64> = numbers(&self.current).into_iter().collect();
        versions.for_each(|v| live.extend(numbers(&v)));
        assert!(live.last().is_none_or(|&n| n < self.next_file), "a number not yet given");
        live
    }

    /// The first and the last key of a table, as they are stored.
    pub(crate) fn stored_ends<'a>(&'a self, file: &'a FileMeta) -> [&'a [u8]; 2] {
        match self.stored.get(&file.number) {
            Some([smallest, largest]) => [smallest, largest],
            None => [&file.smallest, &file.largest],
        }
    }

    /// Make a change durable, then current. The files that it adds must be durable already.
    pub(crate) fn apply(&mut self, mut edit: Edit) -> Result<()> {
        assert!(edit.comparator.is_none(), "the order of keys is in the first record");
        assert!(edit.next_file.is_none(), "the set gives the numbers");
        edit.log_number.get_or_insert(self.log_number);
        edit.previous_log.get_or_insert(self.previous_log);
        edit.next_file = Some(self.next_file);
        edit.last_sequence = Some(self.last_sequence);
        for (level, key) in &edit.compact_pointers {
            self.pointers[*level] = Some(key.clone());
        }
        assert!(edit.log_number >= Some(self.log_number), "logs that are in tables stay there");
        let numbers = edit.added.iter().map(|f| f.number);
        assert!(numbers.max() < Some(self.next_file), "a table with a number not yet given");
        let live = self.live();
        let is_moved =
            |number: u64| edit.deleted.iter().any(|&(_, deleted_number)| deleted_number == number);
        let fits = |f: &NewFile| !live.contains(&f.number) || is_moved(f.number);
        assert!(edit.added.iter().all(fits), "a table is added twice");
        let mut levels = self.current.files.clone();
        apply(&mut levels, &edit).map_err(Error::Invalid)?;
        sort(&mut levels);
        let version = Version::new(levels);
        let manifest = || self.files.describe(&names::manifest(self.manifest_number));
        version.audit().map_err(|message| Error::corrupt(&manifest(), 0, message))?;

        // The names of new tables and logs must be durable before the record that refers to them.
        self.files.sync_dir()?;
        let record = edit.encoded();
        if let Some(manifest) = &mut self.manifest {
            manifest.add(&record)?;
            manifest.sync()?;
        } else {
            let name = names::manifest(self.manifest_number);
            let mut manifest = LogWriter::new(self.files.create(&name)?);
            manifest.add(&self.snapshot().encoded())?;
            manifest.add(&record)?;
            manifest.sync()?;
            self.files.sync_dir()?;
            point_current_to(&self.files, self.manifest_number)?;
            self.manifest = Some(manifest);
        }
        self.install(version);
        self.log_number = edit.log_number.unwrap_or(self.log_number);
        self.previous_log = edit.previous_log.unwrap_or(self.previous_log);
        self.check();
        Ok(())
    }

    /// The current state as one edit.
    fn snapshot(&self) -> Edit {
        debug_assert!(self.manifest.is_none(), "a manifest begins with the state");
        let pointers = self.pointers.iter().enumerate();
        let mut edit = Edit {
            comparator: Some(COMPARATOR.to_owned()),
            compact_pointers: pointers.filter_map(|(l, p)| Some((l, p.clone()?))).collect(),
            ..Edit::default()
        };
        for (level, files) in self.current.files.iter().enumerate() {
            edit.added.extend(files.iter().map(|f| described(level, f)));
        }
        debug_assert!(edit.added.len() < self.next_file as usize, "more tables than numbers");
        edit
    }
}

/// The description of a file in an edit.
pub(crate) fn described(level: usize, file: &FileMeta) -> NewFile {
    debug_assert!(level < LEVELS, "a table of level {level}");
    let (smallest, largest) = (file.smallest.clone(), file.largest.clone());
    NewFile { level, number: file.number, size: file.size, smallest, largest }
}

/// Write a manifest of one edit and point CURRENT to it.
pub(crate) fn write_manifest(files: &Files, number: u64, edit: &Edit) -> Result<()> {
    // What `replay` needs from a manifest.
    assert!(edit.log_number.is_some() && edit.last_sequence.is_some(), "nothing could open it");
    assert!(edit.next_file > Some(number), "the number of the manifest would be given again");
    assert!(edit.comparator.is_some(), "the order of keys is in the first record");
    let mut manifest = LogWriter::new(files.create(&names::manifest(number))?);
    manifest.add(&edit.encoded())?;
    manifest.sync()?;
    files.sync_dir()?;
    point_current_to(files, number)
}

/// Replace CURRENT by renaming a new file, so that a complete one exists at any time.
fn point_current_to(files: &Files, number: u64) -> Result<()> {
    assert!(number > 0, "0 is not the number of a manifest");
    let temp = names::temp(number);
    let mut file = files.create(&temp)?;
    file.append(format!("{}\n", names::manifest(number)).as_bytes())?;
    file.sync()?;
    files.rename(&temp, names::CURRENT)?;
    files.sync_dir()
}

fn apply(levels: &mut [Vec<File>; LEVELS], edit: &Edit) -> std::result::Result<(), String> {
    for &(level, number) in &edit.deleted {
        let Some(at) = levels[level].iter().position(|f| f.number == number) else {
            return Err(format!("table {number} is deleted from level {level}, but not in it"));
        };
        // Out of order until `sort`: an edit may delete many.
        levels[level].swap_remove(at);
    }
    for new in &edit.added {
        let (smallest, largest) = (new.smallest.clone(), new.largest.clone());
        let file = FileMeta::new(new.number, new.size, smallest, largest);
        levels[new.level].push(Arc::new(file));
    }
    Ok(())
}

fn sort(levels: &mut [Vec<File>; LEVELS]) {
    for files in levels {
        files.sort_by(|a, b| key::compare(&a.smallest, &b.smallest).then(a.number.cmp(&b.number)));
    }
}
