//! Opening a store: the manifest, then the changes in logs that it does not cover.

use super::flush::Flush;
use super::read_view::ReadViews;
use super::{Db, Stats, foreign, write};
use crate::error::{Error, Result};
use crate::format::batch::WriteBatch;
use crate::format::edit::Edit;
use crate::format::key::MAX_SEQUENCE;
use crate::format::log::{Entry, LogReader, LogWriter, Tail};
use crate::format::names::{self, FileKind};
use crate::memtable::MemTable;
use crate::options::{Background, Options};
use crate::policy::{Policy, Stock};
use crate::table::Tables;
use crate::version::set::VersionSet;
use crate::vfs::{Files, ReadOnlyVfs, Vfs, Work};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Bytes of memory that logs may take in a read-only store, which does not write them to tables.
const MOST_IN_MEMORY: usize = 8 << 30;

/// The parts of the store that recovery uses.
struct Recovery {
    files: Files,
    options: Options,
    tables: Arc<Tables>,
    set: VersionSet,
    policy: Box<dyn Policy>,
    edit: Edit,
    stats: Stats,
    /// The changes of the logs, if they are not written to tables.
    memory: Arc<MemTable>,
    /// Name and tail of the last log with records.
    tail: Option<(String, Tail)>,
    /// Logs that were only partly recovered.
    damaged: Vec<u64>,
}

impl Db {
    /// Open the store in a directory, with LevelDB's table layout.
    ///
    /// # Errors
    /// As `open_with`.
    pub fn open(vfs: Arc<dyn Vfs>, options: Options) -> Result<Db> {
        Db::open_with(vfs, options, Box::new(Stock))
    }

    /// Open the store in a directory; `policy` decides the layout of tables, also while opening.
    ///
    /// # Errors
    /// If options are out of range, the directory holds no store or is in use, a file of it is missing or
    /// damaged, or the file layer asks to stop; no data are lost then. If only a compaction that is due
    /// fails, the store is open, but refuses writes.
    pub fn open_with(vfs: Arc<dyn Vfs>, options: Options, policy: Box<dyn Policy>) -> Result<Db> {
        options.check()?;
        let vfs = if options.read_only { Arc::new(ReadOnlyVfs(vfs)) } else { vfs };
        let files = Files::new(vfs);
        let exists = files.exists(names::CURRENT)?;
        if exists && options.error_if_exists {
            return Err(Error::invalid(format!("{}: there is a store", files.describe(""))));
        }
        if !exists {
            check_may_create(&files, &options)?;
            files.create_dir()?;
        } else if let (order, manifest) = foreign::check(&files, &files.list()?)?
            && !options.read_only
        {
            order.check_writable(&manifest)?;
        }
        let lock = files.lock(names::LOCK)?;
        if !exists {
            VersionSet::create(&files)?;
            assert!(!options.read_only, "a read-only store is not created");
        }
        let set = VersionSet::recover(files.clone())?;
        if !options.read_only {
            set.order.check_writable(&files.describe(""))?;
        }
        let tables = Arc::new(Tables::new(files.clone(), &options, set.order));
        let (edit, stats) = (Edit::default(), Stats::default());
        let (memory, tail, damaged) = (Arc::new(MemTable::new(0)), None, Vec::new());
        let mut recovery =
            Recovery { files, options, tables, set, policy, edit, stats, memory, tail, damaged };
        recovery.logs()?;
        if recovery.options.read_only {
            return Ok(recovery.into_reader(lock));
        }
        recovery.into_writer(lock)
    }
}

fn check_may_create(files: &Files, options: &Options) -> Result<()> {
    debug_assert!(options.check().is_ok(), "options are checked where they come in");
    let folder = files.describe("");
    let names = match files.list() {
        Ok(names) => names,
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Vec::new()
        }
        Err(error) => return Err(error),
    };
    foreign::check(files, &names)?;
    if !options.create_if_missing {
        return Err(Error::invalid(format!(
            "{folder}: there is no store here, and it is not to be created"
        )));
    }
    for name in names {
        match names::parse(&name) {
            Some(FileKind::Table(_) | FileKind::Log(_)) => {
                return Err(Error::invalid(format!(
                    "{folder}: there is {name} of a store, but no CURRENT: repair it"
                )));
            }
            None => {
                return Err(Error::invalid(format!(
                    "{folder}: there is {name}, no file of a store: a store wants its own directory"
                )));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// The logs that a store needs, oldest first. All files that its manifest names must exist.
fn logs_of(set: &VersionSet, files: &Files) -> Result<Vec<u64>> {
    let inventory = Inventory::of(set, files)?;
    match inventory.missing.split_first() {
        None => {
            debug_assert!(inventory.logs.is_sorted(), "the oldest log comes first");
            Ok(inventory.logs)
        }
        Some((first, rest)) => {
            let conjunction = if rest.is_empty() { "" } else { ", as are " };
            let message = format!("{MISSING}{conjunction}{}", rest.join(", "));
            Err(Error::corrupt(&files.describe(first), 0, message))
        }
    }
}

/// The error message for a file that the manifest names but that is missing.
pub(super) const MISSING: &str = "the manifest names this file, but it is missing";

/// The files of a store, compared with its manifest.
pub(super) struct Inventory {
    /// The logs that the store needs, oldest first.
    pub(super) logs: Vec<u64>,
    /// The names of missing files.
    pub(super) missing: Vec<String>,
}

impl Inventory {
    pub(super) fn of(set: &VersionSet, files: &Files) -> Result<Inventory> {
        let (mut tables, mut logs) = (BTreeSet::new(), Vec::new());
        for name in files.list()? {
            match names::parse(&name) {
                Some(FileKind::Table(n)) => drop(tables.insert(n)),
                Some(FileKind::Log(n)) => logs.push(n),
                _ => {}
            }
        }
        let live = set.live();
        let mut missing: Vec<String> = live.difference(&tables).map(|n| names::table(*n)).collect();
        let needed = set.log_number;
        if needed > 0 && !logs.contains(&needed) {
            missing.push(names::log(needed));
        }
        logs.retain(|&n| n >= needed || n == set.previous_log);
        logs.sort_unstable();
        Ok(Inventory { logs, missing })
    }
}

impl Recovery {
    /// Write the changes in the logs that the manifest does not cover to tables of level 0.
    fn logs(&mut self) -> Result<()> {
        for number in logs_of(&self.set, &self.files)? {
            assert!(
                self.options.read_only || self.memory.is_empty(),
                "what earlier logs hold is in tables"
            );
            let damaged = self.stats.damaged_log_records;
            self.replay(number)?;
            if self.stats.damaged_log_records > damaged {
                self.damaged.push(number);
            }
            self.set.use_number(number);
        }
        assert!(self.damaged.is_sorted(), "logs are read in the order of their numbers");
        let damaged = self.damaged.len() as u64;
        assert!(self.stats.damaged_log_records >= damaged, "a damaged log without damage");
        assert!(self.edit.added.iter().all(|f| f.level == 0), "logs are newer than every table");
        assert!(self.set.last_sequence <= MAX_SEQUENCE, "sequence numbers have 56 bits");
        Ok(())
    }

    fn replay(&mut self, number: u64) -> Result<()> {
        let file = names::log(number);
        let name = self.files.describe(&file);
        let data = self.files.read(&file)?;
        // A log is synced before anything is added to the next one.
        if !data.is_empty()
            && let Some((name, tail)) = self.tail.take()
            && let Some(message) = tail.what_before_another_log()
        {
            self.damaged(&name, tail.offset, &message)?;
        }
        let mut memory = std::mem::replace(&mut self.memory, Arc::new(MemTable::new(0)));
        let mut reader = LogReader::of_batches(&data);
        let mut work = Work::new(&self.files);
        while let Some(entry) = reader.next_entry() {
            let damage = match entry {
                Entry::Record(offset, record) => match WriteBatch::decoded(record)
                    .and_then(|batch| self.set.order.sort_batch(batch))
                {
                    Ok(batch) => {
                        work.add(batch.size())?;
                        self.check_gap(&name, offset, &batch)?;
                        write::insert(&memory, &batch)?;
                        self.stats.logged += u64::from(batch.count());
                        let last = batch.sequence() + u64::from(batch.count());
                        self.set.last_sequence = self.set.last_sequence.max(last.saturating_sub(1));
                        let last_sequence = self.set.last_sequence;
                        debug_assert!(
                            batch.last_sequence() <= last_sequence,
                            "a change is not counted"
                        );
                        None
                    }
                    Err(damage) => Some((offset + damage.offset as u64, damage.message)),
                },
                Entry::Damaged(offset, message) => Some((offset, message)),
            };
            if let Some((offset, message)) = damage {
                self.damaged(&name, offset, message)?;
            }
            if self.options.read_only {
                self.check_fits(&memory)?;
            } else if memory.usage() > self.options.write_buffer_size {
                self.write_table(std::mem::replace(&mut memory, Arc::new(MemTable::new(0))))?;
            }
        }
        if let Some(tail) = reader.tail() {
            self.tail = Some((name, tail));
        }
        if self.options.read_only {
            self.memory = memory;
            return Ok(());
        }
        self.write_table(memory)
    }

    fn check_fits(&self, memory: &MemTable) -> Result<()> {
        debug_assert!(self.options.read_only, "only readers keep the logs in memory");
        if memory.usage() <= MOST_IN_MEMORY {
            return Ok(());
        }
        let folder = self.files.describe("");
        Err(Error::invalid(format!(
            "{folder}: the logs hold more than {MOST_IN_MEMORY} bytes: open the store for writing, \
             which makes tables of them"
        )))
    }

    /// Part of a log cannot be recovered.
    fn damaged(&mut self, name: &str, offset: u64, message: &str) -> Result<()> {
        if self.options.paranoid_checks {
            debug_assert!(
                !name.is_empty() && !message.is_empty(),
                "damage without a place or a reason"
            );
            return Err(Error::corrupt(name, offset, message));
        }
        self.stats.damaged_log_records += 1;
        Ok(())
    }

    /// Sequence numbers have no gaps, unless damage that was already reported has made one.
    fn check_gap(&mut self, name: &str, offset: u64, batch: &WriteBatch) -> Result<()> {
        let missing = batch.sequence().saturating_sub(self.set.last_sequence).saturating_sub(1);
        debug_assert!(batch.sequence() <= MAX_SEQUENCE, "a checked batch");
        if missing == 0 || self.stats.damaged_log_records > 0 {
            return Ok(());
        }
        self.damaged(name, offset, &format!("{missing} changes before this record are missing"))
    }

    fn write_table(&mut self, memory: Arc<MemTable>) -> Result<()> {
        if memory.is_empty() {
            return Ok(());
        }
        assert!(!self.options.read_only, "a read-only store writes no tables");
        let number = self.set.new_number();
        let mut flush = Flush::begin(memory, number, &self.files, &self.options)?;
        let file = loop {
            self.files.go_on()?;
            if let Some(file) = flush.advance(&mut *self.policy, &self.tables, &mut self.stats)? {
                break file;
            }
        };
        assert_eq!((file.level, file.number), (0, number), "the table that was begun");
        self.stats.wrote(0, file.size);
        let last = self.edit.added.last();
        assert!(last.is_none_or(|f| f.number < file.number), "later changes, larger numbers");
        self.edit.added.push(file);
        Ok(())
    }

    /// Open a read-only store: its files are not changed.
    fn into_reader(mut self, lock: Box<dyn Send + Sync>) -> Db {
        let damaged = self.damaged.iter().map(|&number| self.files.describe(&names::log(number)));
        assert!(self.options.read_only, "a store that writes has a log");
        self.stats.damaged_logs = damaged.collect();
        assert!(self.edit.added.is_empty(), "what a read-only store recovers stays in memory");
        let log = LogWriter::new(self.files.nowhere(&names::log(self.set.log_number)));
        let db = self.into_db(log, lock);
        db.check();
        db
    }

    fn into_writer(mut self, lock: Box<dyn Send + Sync>) -> Result<Db> {
        assert!(self.memory.is_empty(), "what the logs hold is in tables");
        assert!(!self.options.read_only, "a read-only store has no log to write");
        let log_number = self.set.new_number();
        assert!(self.damaged.iter().all(|&n| n < log_number), "logs have numbers of their own");
        assert!(
            self.edit.added.iter().all(|f| f.number < log_number),
            "the log comes after tables"
        );
        let log = LogWriter::new(self.files.create(&names::log(log_number))?);
        self.edit.log_number = Some(log_number);
        self.edit.previous_log = Some(0);
        self.set.apply(std::mem::take(&mut self.edit))?;
        for number in std::mem::take(&mut self.damaged) {
            let (log, new_name) = (names::log(number), names::lost_name(&names::log(number)));
            self.files.rename(&log, &new_name)?;
            self.stats.damaged_logs.push(self.files.describe(&new_name));
        }
        self.memory = Arc::new(MemTable::new(self.options.write_buffer_size));
        let mut db = self.into_db(log, lock);
        db.log_number = log_number;
        assert_eq!(db.set.log_number, log_number, "the manifest names the log in use");
        db.check();
        db.remove_obsolete()?;
        // A step that fails makes the store refuse writes and say why; it can still be read.
        while db.options.background == Background::Eager && db.step().unwrap_or(false) {
            db.files.go_on()?;
        }
        Ok(db)
    }

    fn into_db(self, log: LogWriter, lock: Box<dyn Send + Sync>) -> Db {
        assert!(self.edit.added.is_empty(), "tables that no manifest names");
        let tails = self.set.tail.iter().chain(&self.tail);
        let tails = tails.map(|(name, tail)| tail.error(name)).collect();
        Db {
            tails,
            options: self.options,
            files: self.files,
            tables: self.tables,
            log_number: self.set.log_number,
            set: self.set,
            memory: self.memory,
            full: None,
            log,
            log_name_synced: true,
            views: Arc::new(ReadViews::default()),
            flush: None,
            compaction: None,
            manual: None,
            requests: 0,
            policy: self.policy,
            poisoned: None,
            stats: self.stats,
            scratch: WriteBatch::new(),
            logged: false,
            _lock: lock,
        }
    }
}
