//! Rebuilds a store from everything that can still be read.
//!
//! LevelDB's repair puts all tables on level 0 and relies on their numbers to distinguish old data from new.
//! This repair merges everything by sequence number into new tables on one level. Files that a whole
//! manifest does not name are left out: a deletion that hid their values may be gone.

use super::foreign;
use super::open::{Inventory, MISSING};
use super::salvage::{READ, follows, intervals, listed};
use crate::compaction::finish;
use crate::error::{Error, Result};
use crate::format::batch::WriteBatch;
use crate::format::edit::{COMPARATOR, Edit, LEVELS};
use crate::format::key::{self, MAX_SEQUENCE, ValueKind};
use crate::format::log::{Entry, LogReader, Tail};
use crate::format::names::{self, FileKind};
use crate::memtable::{MemIter, MemTable};
use crate::merge::{Merge, Source};
use crate::options::Options;
use crate::policy::Stock;
use crate::table::{Table, TableIter, TableOptions, TableWriter, Tables};
use crate::version::set::{VersionSet, write_manifest};
use crate::vfs::{Files, Vfs, Work};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The result of a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairResult {
    /// Pairs of the repaired store.
    pub pairs: u64,
    /// Tables of the repaired store.
    pub tables: u64,
    /// A message for each part that could not be read.
    pub lost: Vec<String>,
    /// The current names of the old files; they can be removed.
    pub kept: Vec<String>,
}

/// Rebuild the store in a directory from its logs and tables. Old files are renamed (`.lost`), none
/// is removed.
///
/// # Errors
/// If there is no file of a store, the store is in use, its keys are in another order, files cannot be
/// written, or the file layer asks to stop; then the old files still exist, and repair can be run again.
pub fn repair(vfs: Arc<dyn Vfs>, options: &Options) -> Result<RepairResult> {
    options.check()?;
    let files = Files::new(vfs);
    let listed = files.list()?;
    let (order, manifest) = foreign::check_contents(&files, &listed)?;
    order.check_writable(&manifest)?;
    let mut names: Vec<String> = listed.into_iter().filter(|n| names::parse(n).is_some()).collect();
    // Tables first: the logs go on from them, in the order of their numbers.
    names.sort_by_key(|name| match names::parse(name) {
        Some(FileKind::Log(n)) => (1, n),
        _ => (0, 0),
    });
    let _lock = files.lock(names::LOCK)?;
    let manifest_numbers = named_by_manifests(&files, &names);
    let tables = Arc::new(Tables::new(files.clone(), options, order));
    let (work, report) = (Work::new(&files), RepairResult::default());
    let (next, last, tail) = (1, None, None);
    let mut repair =
        Repair { files: files.clone(), options, tables, next, last, tail, work, report };
    let mut sources = Vec::new();
    let manifest = ManifestContents::of(&files);
    repair.report_missing(manifest.as_ref(), &manifest_numbers, &names);
    repair.last = manifest.as_ref().map(|manifest| manifest.last);
    let manifest_tail = manifest.as_ref().and_then(|manifest| manifest.tail.clone());
    let manifest = manifest.filter(|manifest| manifest.missing.is_empty());
    for name in &names {
        repair.gather(name, manifest.as_ref(), &mut sources)?;
    }
    let tails = manifest_tail.into_iter().chain(repair.tail.take());
    repair.report.lost.extend(tails.map(|(name, tail)| tail.error(&name).to_string()));
    let first = repair.next;
    let edit = repair.merge(sources).inspect_err(|_| repair.remove_from(first))?;

    let above = |f: &crate::format::edit::NewFile| (first..repair.next).contains(&f.number);
    assert!(edit.added.iter().all(above), "a new table has the number of an old file");
    assert_eq!(edit.added.is_empty(), repair.report.pairs == 0, "tables hold the pairs");
    assert_eq!(edit.added.len() as u64, repair.report.tables, "the tables that are reported");
    repair.replace(&names, &edit)?;
    Ok(repair.report)
}

/// The tables that the manifests name, as far as these can be read.
fn named_by_manifests(files: &Files, names: &[String]) -> BTreeSet<u64> {
    let mut numbers = BTreeSet::new();
    for name in names {
        if !matches!(names::parse(name), Some(FileKind::Manifest(_))) {
            continue;
        }
        let Ok(data) = files.read(name) else { continue };
        let mut reader = LogReader::new(&data);
        while let Some(entry) = reader.next_entry() {
            if let Entry::Record(_, record) = entry
                && let Ok(edit) = Edit::decoded(&record)
            {
                for (_, number) in &edit.deleted {
                    numbers.remove(number);
                }
                numbers.extend(edit.added.iter().map(|file| file.number));
            }
        }
    }
    numbers
}

/// The contents of a whole manifest.
struct ManifestContents {
    logs: Vec<u64>,
    tables: BTreeSet<u64>,
    /// Names of missing files. If there are none, files that are not named are left over, and may hold
    /// deleted data.
    missing: Vec<String>,
    /// The sequence number of the last change that it records.
    last: u64,
    tail: Option<(String, Tail)>,
}

impl ManifestContents {
    /// `None` if the manifest is damaged.
    fn of(files: &Files) -> Option<ManifestContents> {
        let set = VersionSet::recover(files.clone()).ok()?;
        let Inventory { logs, missing } = Inventory::of(&set, files).ok()?;
        Some(ManifestContents {
            logs,
            tables: set.live(),
            missing,
            last: set.last_sequence,
            tail: set.tail,
        })
    }
}

struct Repair<'a> {
    files: Files,
    options: &'a Options,
    tables: Arc<Tables>,
    next: u64,
    /// The sequence number that the next log record continues, if it is known.
    last: Option<u64>,
    /// Name and tail of the last log with records.
    tail: Option<(String, Tail)>,
    work: Work,
    report: RepairResult,
}

impl Repair<'_> {
    /// Take the contents of a file, unless the store is known not to need it.
    fn gather(
        &mut self,
        name: &str,
        manifest: Option<&ManifestContents>,
        sources: &mut Vec<Source>,
    ) -> Result<()> {
        assert_eq!(self.report.pairs, 0, "files are gathered before they are merged");
        assert!(self.report.kept.is_empty(), "files are gathered before they are renamed");
        debug_assert!(self.last <= Some(MAX_SEQUENCE), "a sequence number has 56 bits");
        let Some(kind) = names::parse(name) else { return Ok(()) };
        if let FileKind::Log(n) | FileKind::Table(n) | FileKind::Manifest(n) | FileKind::Temp(n) =
            kind
        {
            self.next = self.next.max(n + 1);
        }
        // A manifest that names all that is there knows what is left over: that may hold deleted data.
        let source = match kind {
            FileKind::Log(n) if manifest.is_none_or(|k| k.logs.contains(&n)) => self.log(name),
            FileKind::Table(n) if manifest.is_none_or(|k| k.tables.contains(&n)) => {
                self.table(name, n)
            }
            _ => return Ok(()),
        };
        match source {
            Ok(source) => sources.push(source),
            Err(error) => self.lose(error)?,
        }
        Ok(())
    }

    /// Note the files that a manifest names but that are missing.
    fn report_missing(
        &mut self,
        manifest: Option<&ManifestContents>,
        manifest_numbers: &BTreeSet<u64>,
        names: &[String],
    ) {
        let is_present = |number: &u64| {
            names.iter().any(|name| names::parse(name) == Some(FileKind::Table(*number)))
        };
        let missing = match manifest {
            Some(manifest) => manifest.missing.clone(),
            None => manifest_numbers
                .iter()
                .filter(|n| !is_present(n))
                .map(|n| names::table(*n))
                .collect(),
        };
        for name in missing {
            self.report
                .lost
                .push(Error::corrupt(&self.files.describe(&name), 0, MISSING).to_string());
        }
    }

    /// Note a part that cannot be read.
    fn lose(&mut self, error: Error) -> Result<()> {
        if matches!(error, Error::Stopped(_)) {
            return Err(error);
        }
        self.report.lost.push(error.to_string());
        Ok(())
    }

    /// Remove the tables that were begun; `first` is the smallest of their numbers.
    fn remove_from(&self, first: u64) {
        debug_assert!(first > 0, "0 is no number of a table");
        for number in first..self.next {
            // What stays does no harm: the next repair reads it like any other table.
            let _ = self.files.remove(&names::table(number));
        }
    }

    fn log(&mut self, name: &str) -> Result<Source> {
        let data = self.files.read(name)?;
        if !data.is_empty()
            && let Some((path, tail)) = self.tail.take()
            && let Some(message) = tail.what_before_another_log()
        {
            self.report.lost.push(Error::corrupt(&path, tail.offset, message).to_string());
        }
        let path = self.files.describe(name);
        let memory = MemTable::new(data.len());
        let mut reader = LogReader::of_batches(&data);
        while let Some(entry) = reader.next_entry() {
            let (offset, message) = match entry {
                Entry::Record(offset, record) => match WriteBatch::decoded(record) {
                    Ok(batch) => {
                        self.work.add(batch.size())?;
                        self.check_gap(&path, offset, &batch);
                        super::write::insert(&memory, &batch)?;
                        continue;
                    }
                    Err(damage) => (offset + damage.offset as u64, damage.message),
                },
                Entry::Damaged(offset, message) => (offset, message),
            };
            self.report.lost.push(Error::corrupt(&path, offset, message).to_string());
        }
        if let Some(tail) = reader.tail() {
            self.tail = Some((path, tail));
        }
        Ok(Source::Memory(MemIter::new(Arc::new(memory))))
    }

    /// Report a gap in the sequence numbers, unless a loss that is already reported explains it.
    fn check_gap(&mut self, path: &str, offset: u64, batch: &WriteBatch) {
        debug_assert!(batch.last_sequence() <= MAX_SEQUENCE, "a checked batch");
        let (first, last) = (batch.sequence(), batch.last_sequence());

        if let Some(before) = self.last
            && first > before + 1
            && self.report.lost.is_empty()
        {
            let message = format!("{} changes before this record are missing", first - before - 1);
            self.report.lost.push(Error::corrupt(path, offset, message).to_string());
        }
        self.last = self.last.max(Some(last));
    }

    /// Take a whole table unchanged; of a damaged table, the pairs that its blocks prove.
    fn table(&mut self, name: &str, number: u64) -> Result<Source> {
        let size = self.files.open(name)?.len()?;
        let (table, index) = match self.tables.opened_anew(number, size) {
            Ok(table) => (Arc::new(table), None),
            Err(error @ Error::Stopped(_)) => return Err(error),
            Err(error) => match self.tables.opened_unchecked(number, size) {
                Ok(table) => (Arc::new(table), Some(error)),
                Err(_) => return Err(error),
            },
        };
        if index.is_none() && self.is_in_order(&table)? {
            return Ok(Source::Table(Box::new(TableIter::new(table, READ))));
        }
        self.good_blocks(&table, index)
    }

    /// Whether every entry of a table can be read and comes after the previous one.
    fn is_in_order(&mut self, table: &Arc<Table>) -> Result<bool> {
        debug_assert!(self.next > table.number(), "the number of a table would be given again");
        let mut iter = TableIter::new(table.clone(), READ);
        let mut result = iter.first();
        let mut last = Vec::new();
        while result.is_ok() && iter.valid() && follows(&last, iter.key()) {
            self.work.add(iter.key().len() + iter.value().len())?;
            last.clear();
            last.extend_from_slice(iter.key());
            result = iter.next();
        }
        Ok(result.is_ok() && !iter.valid())
    }

    /// Take the pairs that the blocks of a damaged table prove; `index` is the damage of its index or filter.
    fn good_blocks(&mut self, table: &Table, index: Option<Error>) -> Result<Source> {
        debug_assert!(self.next > table.number(), "the number of a table would be given again");
        let memory = MemTable::new(self.options.max_file_size as usize);
        let (blocks, damage) = listed(table, index.is_none());
        let index = index.or(damage.map(|damage| table.index_damage(damage)));
        let mut read = Vec::new();
        for block in &blocks {
            self.work.add(self.options.block_size)?;
            let intervals = match intervals(table, block) {
                Ok(intervals) => intervals,
                // A damaged index may be wrong: bytes that it does not refer to are lost.
                Err(Error::Corruption { .. }) if index.is_some() => continue,
                Err(error) => {
                    self.lose(error)?;
                    continue;
                }
            };
            read.push(block.handle);
            for interval in intervals {
                match interval {
                    Ok(entries) => entries.iter().for_each(|(internal, value)| {
                        memory.add(key::user(internal), key::tag(internal), value);
                    }),
                    Err(damage) => self.lose(table.damage(block.handle, damage))?,
                }
            }
        }
        if let Some(error) = index {
            for at in table.unnamed(&read)? {
                let message = format!("no block is found here, and the index is damaged ({error})");
                self.lose(Error::corrupt(table.name(), at, message))?;
            }
        }
        Ok(Source::Memory(MemIter::new(Arc::new(memory))))
    }

    /// Write the newest version of every key to new tables. Returns the edit for the manifest.
    fn merge(&mut self, sources: Vec<Source>) -> Result<Edit> {
        assert_eq!(self.report.pairs, 0, "a repair merges once");
        assert_eq!(self.report.tables, 0, "a repair merges once");
        let mut merge = Merge::new(sources);
        let (mut last_user, mut last_sequence): (Option<Vec<u8>>, u64) = (None, 0);
        let mut edit = Edit::default();
        let mut open: Option<(u64, Vec<u8>, TableWriter)> = None;
        merge.first()?;
        while merge.valid() {
            let (user, tag) = (key::user(merge.key()), key::tag(merge.key()));
            self.work.add(user.len() + merge.value().len())?;
            last_sequence = last_sequence.max(tag.sequence());
            if last_user.as_deref() == Some(user) {
                merge.next()?;
                continue;
            }
            assert!(last_user.as_deref() < Some(user), "sources are in order, or are put in order");
            last_user = Some(user.to_vec());
            if tag.kind() == Some(ValueKind::Value) {
                if open.as_ref().is_some_and(|(_, _, w)| w.size() >= self.options.max_file_size) {
                    self.finish(&mut open, &mut edit)?;
                }
                if open.is_none() {
                    let number = self.next;
                    self.next += 1;
                    let file = self.files.create(&names::table(number))?;
                    let writer = TableWriter::new(file, TableOptions::of(self.options));
                    open = Some((number, merge.key().to_vec(), writer));
                }
                if let Some((_, _, writer)) = &mut open {
                    writer.add(merge.key(), merge.value(), &mut Stock)?;
                }
                self.report.pairs += 1;
            }
            merge.next()?;
        }
        self.finish(&mut open, &mut edit)?;
        edit.comparator = Some(COMPARATOR.to_owned());
        edit.last_sequence = Some(last_sequence);
        Ok(edit)
    }

    fn finish(
        &mut self,
        open: &mut Option<(u64, Vec<u8>, TableWriter)>,
        edit: &mut Edit,
    ) -> Result<()> {
        if let Some((number, smallest, mut writer)) = open.take() {
            assert!(number < self.next, "a table with a number not yet given");
            let at = (LEVELS - 1, number);
            let last = edit.added.last();
            assert!(last.is_none_or(|f| f.number < number), "numbers of tables ascend");
            assert!(
                last.is_none_or(|f| key::compare(&f.largest, &smallest).is_lt()),
                "tables of a sorted level do not overlap"
            );
            edit.added.push(finish(&mut writer, smallest, at, &mut Stock)?);
            self.report.tables += 1;
            assert_eq!(edit.added.len() as u64, self.report.tables, "the tables that are reported");
        }
        Ok(())
    }

    /// Make the new tables the store. Old logs and tables are kept under other names.
    fn replace(&mut self, old: &[String], edit: &Edit) -> Result<()> {
        assert!(old.iter().all(|name| names::parse(name).is_some()), "files of others stay");
        let number = self.next;
        // An empty log, so that no old one is replayed if the renaming below is cut short.
        let log = number + 1;
        self.files.create(&names::log(log))?.sync()?;
        assert!(self.report.tables <= self.report.pairs, "a table without a pair");
        let edit = Edit { log_number: Some(log), next_file: Some(log + 1), ..edit.clone() };
        assert!(edit.added.iter().all(|f| f.number < number), "numbers of files ascend");
        write_manifest(&self.files, number, &edit)?;
        for name in old {
            let kind = names::parse(name);
            if let Some(FileKind::Log(_) | FileKind::Table(_) | FileKind::Manifest(_)) = kind {
                let new_name = names::lost_name(name);
                self.files.rename(name, &new_name)?;
                self.report.kept.push(new_name);
            }
        }
        self.files.sync_dir()
    }
}
