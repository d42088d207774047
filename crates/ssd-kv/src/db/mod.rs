//! The store itself: concurrency of calls and background work.

mod background;
mod destroy;
mod dump;
mod flush;
mod foreign;
mod iter;
mod manual;
mod open;
mod paced;
mod properties;
mod read_view;
mod repair;
mod room;
mod salvage;
mod verify;
mod write;

pub use destroy::destroy;
pub use dump::dump;
pub use iter::{DbIter, LockedIter};
pub use paced::{NextWork, WriteRoom};
pub use properties::{LevelStats, ReuseStats, Stats, TableInfo};
pub use read_view::ReadView;
pub use repair::{RepairResult, repair};
pub use room::Backlog;
pub use verify::VerifyResult;

use crate::compaction::Compaction;
use crate::error::{Error, Result};
use crate::format::batch::WriteBatch;
use crate::format::log::LogWriter;
use crate::format::order::Order;
use crate::memtable::MemTable;
use crate::merge::{Merge, Source};
use crate::options::{Options, ReadOptions};
use crate::policy::Policy;
use crate::table::Tables;
use crate::version::set::VersionSet;
use crate::vfs::Files;
use flush::Flush;
use manual::ManualCompaction;
use read_view::ReadViews;
use std::sync::Arc;

/// An open store. Dropping it closes the store; all written data are in its files, and durable if they were
/// written with `sync`.
pub struct Db {
    options: Options,
    pub(crate) files: Files,
    tables: Arc<Tables>,
    set: VersionSet,
    memory: Arc<MemTable>,
    /// A full memtable that is being written to level 0.
    full: Option<Arc<MemTable>>,
    log: LogWriter,
    /// Number of `log`.
    log_number: u64,
    /// Whether the name of `log` is durable.
    log_name_synced: bool,
    views: Arc<ReadViews>,
    flush: Option<Flush>,
    compaction: Option<Box<Compaction>>,
    manual: Option<ManualCompaction>,
    /// How many compactions were requested.
    requests: u64,
    policy: Box<dyn Policy>,
    poisoned: Option<Error>,
    stats: Stats,
    tails: Vec<Error>,
    /// A buffer that is reused.
    scratch: WriteBatch,
    /// A batch is in the log and not yet in the memtable (`paced`).
    logged: bool,
    _lock: Box<dyn Send + Sync>,
}

impl Db {
    /// The value of `key`, now or at the time of a read view.
    ///
    /// # Errors
    /// If a file cannot be read or is damaged.
    pub fn get(
        &self,
        key: &[u8],
        options: ReadOptions,
        view: Option<&ReadView>,
    ) -> Result<Option<Vec<u8>>> {
        if self.set.order != Order::Bytewise {
            return self.get_sorted(key, options, view);
        }
        match self.get_in_memory(key, view, |value| value.map(<[u8]>::to_vec))? {
            Some(value) => Ok(value),
            None => self.get_in_tables(key, options, view),
        }
    }

    /// The first half of `get`, which reads no file. If a memtable has the key, `on_value` is called with the value, or
    /// with None if the key was deleted, and its result is returned. None if no memtable has the key: then
    /// [`Db::get_in_tables`] is next.
    ///
    /// # Errors
    /// The view is of another store.
    #[inline]
    pub fn get_in_memory<T>(
        &self,
        key: &[u8],
        view: Option<&ReadView>,
        mut on_value: impl FnMut(Option<&[u8]>) -> T,
    ) -> Result<Option<T>> {
        let sequence = self.sequence_of(view)?;
        debug_assert!(sequence <= self.set.last_sequence, "a read sees what was written");
        if self.set.order != Order::Bytewise {
            return Ok(None);
        }
        // Newest first: what the memtable in use holds hides what the full one holds.
        let in_use = self.memory.find(key, sequence, &mut on_value);
        Ok(in_use.or_else(|| self.full.as_ref()?.find(key, sequence, &mut on_value)))
    }

    /// The second half of `get`. It may find a value that was written after the first half and is already in a table.
    /// The whole read then counts as one after that write.
    ///
    /// # Errors
    /// As `get`.
    pub fn get_in_tables(
        &self,
        key: &[u8],
        options: ReadOptions,
        view: Option<&ReadView>,
    ) -> Result<Option<Vec<u8>>> {
        if self.set.order != Order::Bytewise {
            return self.get_sorted(key, options, view);
        }
        self.set.current.get(&self.tables, key, self.sequence_of(view)?, options)
    }

    /// `get` for a store whose order is not bytewise.
    #[cold]
    fn get_sorted(
        &self,
        key: &[u8],
        options: ReadOptions,
        view: Option<&ReadView>,
    ) -> Result<Option<Vec<u8>>> {
        let (order, sequence) = (self.set.order, self.sequence_of(view)?);
        let key = order.sortable(key)?;
        let entry = match self.memory.get(&key, sequence) {
            Some(entry) => entry,
            None => self.set.current.get(&self.tables, &key, sequence, options)?,
        };
        Ok(entry.map(|value| order.pair(&[], &value).1.to_vec()))
    }

    /// An iterator over all pairs, now or at the time of a read view. It sees no later writes.
    ///
    /// # Errors
    /// If a table cannot be opened.
    pub fn iter(&self, options: ReadOptions, view: Option<&ReadView>) -> Result<DbIter> {
        let sequence = self.sequence_of(view)?;
        let merge = self.merged(options)?;
        debug_assert!(sequence <= self.set.last_sequence, "a read sees what was written");
        Ok(DbIter::new(merge, sequence, self.set.current.clone(), self.set.order))
    }

    /// What must hold between steps, unless one has failed.
    fn check(&self) {
        self.set.check();
        assert!(self.poisoned.is_none(), "a step that failed is followed by none");
        assert!(self.flush.is_none() || self.full.is_some(), "a flush of no memtable");
        assert!(self.full.as_ref().is_none_or(|m| !m.is_empty()), "a full memtable has entries");
        assert!(self.log_number >= self.set.log_number, "the log in use is the newest one");
        let full = self.full.as_ref();
        assert!(
            full.is_none() || self.log_number > self.set.log_number,
            "no log of the full memtable"
        );
        assert!(
            full.is_none_or(|m| !Arc::ptr_eq(m, &self.memory)),
            "a full memtable is written to"
        );
        assert!(full.is_none() || !self.options.read_only, "a read-only store fills no memtable");
        let read_only = self.options.read_only;
        assert!(read_only || self.set.previous_log == 0, "an old log is in tables");
        assert_eq!(self.stats.levels[0].compactions, 0, "a compaction to level 0");
        let idle = |level: &LevelStats| level.compactions == 0 || level.bytes_read > 0;
        assert!(self.stats.levels.iter().all(idle), "a compaction of nothing");
        let flushed = self.flush.as_ref().map(|f| f.number());
        assert!(flushed < Some(self.set.next_file), "a flush with a number not yet given");
        debug_assert!(
            flushed.is_none_or(|n| !self.set.live().contains(&n)),
            "table {flushed:?} is live"
        );
        let mut outputs = self.compaction.iter().flat_map(|c| c.outputs());
        assert!(outputs.all(|n| Some(n) != flushed), "one number for a flush and a compaction");
        if let Some(compaction) = &self.compaction {
            let picked = &compaction.picked;
            for (level, inputs) in (picked.level..).zip(&picked.inputs) {
                let is_current = |f: &crate::version::File| {
                    self.set.current.files[level]
                        .iter()
                        .any(|candidate| candidate.number == f.number)
                };
                debug_assert!(inputs.iter().all(is_current), "an input of level {level} is gone");
            }
        }
        assert!(self.log_number < self.set.next_file, "the number of the log would be given again");
        let oldest = self.views.oldest().unwrap_or(0);
        assert!(oldest <= self.set.last_sequence, "a view of what is not yet written");
        let works = self.flush.is_some() || self.compaction.is_some() || self.manual.is_some();
        assert!(!works || !self.options.read_only, "a read-only store has no work");
    }

    fn merged(&self, options: ReadOptions) -> Result<Merge> {
        let memories = std::iter::once(&self.memory).chain(&self.full);
        let iter = |m: &Arc<MemTable>| Source::Memory(crate::memtable::MemIter::new(m.clone()));
        let mut sources: Vec<Source> = memories.map(iter).collect();
        let memories = sources.len();
        sources.extend(self.set.current.sources(&self.tables, options)?);
        let ranks = self.set.current.ranks().len();
        debug_assert_eq!(sources.len(), memories + ranks, "a rank for each source");
        debug_assert!(!sources.is_empty(), "a store has a memtable");
        Ok(Merge::new(sources))
    }

    fn sequence_of(&self, view: Option<&ReadView>) -> Result<u64> {
        match view {
            None => Ok(self.set.last_sequence),
            Some(s) if s.is_of(&self.views) => Ok(s.sequence()),
            Some(_) => Err(Error::invalid("the snapshot is of another store")),
        }
    }

    /// A read view of the current state, which stays readable until the view is dropped.
    #[must_use]
    pub fn read_view(&self) -> ReadView {
        ReadView::new(&self.views, self.set.last_sequence)
    }

    /// Use `policy` from now on for the layout of tables and to watch compactions.
    pub fn set_policy(&mut self, policy: Box<dyn Policy>) {
        self.policy = policy;
    }

    /// The settings in use.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }
}
