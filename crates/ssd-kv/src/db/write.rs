//! Writes: the log first, then the memtable.

use super::Db;
use super::room::{Backlog, Room};
use crate::error::{Error, Result};
use crate::format::batch::{Change, WriteBatch};
use crate::format::key::{MAX_SEQUENCE, Tag, ValueKind};
use crate::format::log::LogWriter;
use crate::format::names;
use crate::memtable::MemTable;
use crate::options::Background;
use std::sync::Arc;

/// Numbers of level-0 tables from which on writes are delayed, and from which on they wait.
const SLOW_AT: usize = 8;
const STOP_AT: usize = 12;
/// The largest size of a batch in bytes: offsets in a memtable have 32 bits.
const MAX_BATCH: usize = 2 << 30;

impl Db {
    /// Set the value of `key`.
    ///
    /// # Errors
    /// As `write`.
    pub fn put(&mut self, key: &[u8], value: &[u8], sync: bool) -> Result<()> {
        WriteBatch::check_lengths(key, value)?;
        let mut batch = std::mem::take(&mut self.scratch);
        batch.clear();
        batch.put(key, value);
        debug_assert_eq!(batch.count(), 1, "a put is a batch of one change");
        let result = self.write_own(&mut batch, sync);
        self.scratch = batch;
        result
    }

    /// Delete `key`, whether or not it has a value.
    ///
    /// # Errors
    /// As `write`.
    pub fn delete(&mut self, key: &[u8], sync: bool) -> Result<()> {
        WriteBatch::check_lengths(key, b"")?;
        let mut batch = std::mem::take(&mut self.scratch);
        batch.clear();
        batch.delete(key);
        debug_assert_eq!(batch.count(), 1, "a deletion is a batch of one change");
        let result = self.write_own(&mut batch, sync);
        self.scratch = batch;
        result
    }

    /// Apply all changes of a batch, or none. With `sync`, they are durable afterwards, as are all earlier
    /// ones; without, they survive the end of the process, but perhaps not a crash of the machine.
    ///
    /// # Errors
    /// `Applied` if the batch was applied and background work failed after it; `Uncertain` if the log could
    /// not be written or synced: after reopening, the store has the whole batch or none of it. After any
    /// other error, the batch was not applied. If a file could not be read or written, the store refuses
    /// further writes until it is reopened.
    pub fn write(&mut self, batch: &WriteBatch, sync: bool) -> Result<()> {
        check_changes(batch)?;
        self.write_own(&mut batch.clone(), sync)
    }

    fn write_own(&mut self, batch: &mut WriteBatch, sync: bool) -> Result<()> {
        check_size(batch)?;
        self.make_room()?;
        self.log_own(batch, sync)?;
        self.insert_own(batch);
        self.after_write().map_err(|error| Error::Applied(Box::new(error)))
    }

    /// Number the changes of a batch and append it to the log.
    #[inline(always)]
    pub(super) fn log_own(&mut self, batch: &mut WriteBatch, sync: bool) -> Result<()> {
        let first = self.set.last_sequence + 1;
        if first + u64::from(batch.count()) > MAX_SEQUENCE {
            return Err(Error::invalid("the sequence numbers of this store are used up"));
        }
        batch.set_sequence(first);
        if let Err(error) = self.append_to_log(batch, sync) {
            return Err(Error::Uncertain(Box::new(self.poison(error))));
        }
        Ok(())
    }

    /// Add a batch that is in the log to the memtable.
    #[inline(always)]
    pub(super) fn insert_own(&mut self, batch: &WriteBatch) {
        let first = self.set.last_sequence + 1;
        debug_assert_eq!(batch.sequence(), first, "a batch is applied in its turn");
        let inserted = insert(&self.memory, batch);
        assert!(inserted.is_ok(), "a batch whose changes were read before");
        let is_readable = |(sequence, change)| match change {
            Change::Put(key, value) => self.memory.get(key, sequence) == Some(Some(value.to_vec())),
            Change::Delete(key) => self.memory.get(key, sequence) == Some(None),
        };
        // Not of the largest ones, of which this makes copies.
        debug_assert!(
            batch.size() > 1 << 20 || (first..).zip(batch.changes().flatten()).all(is_readable),
            "readers find another change"
        );
        self.set.last_sequence += u64::from(batch.count());
        assert_eq!(self.set.last_sequence, batch.last_sequence(), "a number for each change");
    }

    #[inline(always)]
    fn append_to_log(&mut self, batch: &WriteBatch, sync: bool) -> Result<()> {
        assert_eq!(batch.sequence(), self.set.last_sequence + 1, "replay looks for gaps");
        assert!(self.poisoned.is_none(), "a log whose contents are uncertain");
        debug_assert!(!self.options.read_only, "the log of a read-only store takes no data");
        self.log.add(batch.bytes())?;
        if sync {
            self.log.sync()?;
            if !self.log_name_synced {
                self.files.sync_dir()?;
                self.log_name_synced = true;
            }
        }
        Ok(())
    }

    /// Run the background work that is due, if `background` is `Eager`.
    pub(super) fn after_write(&mut self) -> Result<()> {
        match self.options.background {
            Background::Eager if self.has_work() => self.settle(),
            _ => Ok(()),
        }
    }

    pub(super) fn check_writable(&self) -> Result<()> {
        if self.options.read_only {
            let folder = self.files.describe("");
            return Err(Error::invalid(format!("{folder}: the store is open for reading only")));
        }
        if self.logged {
            return Err(Error::invalid("a write is in the log and not yet applied"));
        }
        match &self.poisoned {
            None => Ok(()),
            Some(error) => Err(Error::Poisoned(Box::new(error.clone()))),
        }
    }

    #[inline(always)]
    fn room(&self, may_slow: bool) -> Room {
        self.room_behind(may_slow, self.backlog())
    }

    /// Whether a write can proceed if this much background work is left.
    #[inline(always)]
    pub(super) fn room_behind(&self, may_slow: bool, backlog: Backlog) -> Room {
        let tables = backlog.level0;
        debug_assert!(tables >= self.set.current.files[0].len(), "work that is done is left");
        if may_slow && tables >= SLOW_AT {
            Room::Slow
        } else if self.memory.usage() <= self.options.write_buffer_size {
            Room::Yes
        } else if backlog.full || tables >= STOP_AT {
            Room::Wait
        } else {
            Room::Switch
        }
    }

    /// Whether a write would have to wait for steps, or should wait for one.
    #[must_use]
    pub fn is_stalled(&self) -> bool {
        matches!(self.room(true), Room::Slow | Room::Wait)
    }

    fn make_room(&mut self) -> Result<()> {
        self.check_writable()?;
        let mut may_slow = true;
        loop {
            match self.room(may_slow) {
                Room::Yes => return Ok(()),
                Room::Slow => {
                    may_slow = false;
                    self.stats.slowed += 1;
                    self.step()?;
                }
                Room::Wait => {
                    self.stats.stalled_steps += 1;
                    let worked = self.step()?;
                    assert!(worked, "a write would wait for ever");
                }
                Room::Switch => self.switch_memory()?,
            }
        }
    }

    /// Begin a new memtable with a new log; the full memtable waits to be written to a table.
    pub(super) fn switch_memory(&mut self) -> Result<()> {
        assert!(self.full.is_none(), "the full memtable would be lost");
        assert!(!self.logged, "the log of a batch that is not yet applied would be removed");
        assert!(!self.memory.is_empty(), "a memtable without an entry makes no table");
        assert!(self.flush.is_none(), "a flush of no memtable");
        let number = self.set.new_number();
        assert!(number > self.log_number, "logs are read in the order of their numbers");
        let file = match self.files.create(&names::log(number)) {
            Ok(file) => file,
            Err(error) => {
                self.set.reuse_number(number);
                return Err(error);
            }
        };
        // What is written from now on must not survive a crash that what was written before does not: two files may
        // become durable in any order.
        if self.options.sync_logs
            && let Err(error) = self.log.sync()
        {
            return Err(self.poison(error));
        }
        let before = std::mem::replace(&mut self.log, LogWriter::new(file));
        if !self.options.sync_logs {
            self.log.begin_after(before);
        }
        self.log_number = number;
        self.log_name_synced = false;
        let fresh = Arc::new(MemTable::new(self.options.write_buffer_size));
        self.full = Some(std::mem::replace(&mut self.memory, fresh));
        Ok(())
    }

    /// Write all memtables to tables.
    pub(super) fn flush_memory(&mut self) -> Result<()> {
        debug_assert!(!self.options.read_only, "a read-only store writes no tables");
        self.flush_full()?;
        if !self.memory.is_empty() {
            self.switch_memory()?;
            self.flush_full()?;
        }
        assert!(self.memory.is_empty() && self.flush.is_none(), "all is in tables");
        Ok(())
    }

    fn flush_full(&mut self) -> Result<()> {
        while self.full.is_some() {
            let worked = self.step()?;
            assert!(worked, "a full memtable waits for ever");
        }
        Ok(())
    }
}

/// An error if the batch has a change that a store does not accept.
pub(super) fn check_changes(batch: &WriteBatch) -> Result<()> {
    for change in batch.changes() {
        match change? {
            Change::Put(key, value) => WriteBatch::check_lengths(key, value)?,
            Change::Delete(key) => WriteBatch::check_lengths(key, b"")?,
        }
    }
    Ok(())
}

/// An error if the batch is too large for a memtable.
#[inline(always)]
pub(super) fn check_size(batch: &WriteBatch) -> Result<()> {
    if batch.size() > MAX_BATCH {
        let size = batch.size();
        return Err(Error::invalid(format!("a batch of {size} bytes: at most {MAX_BATCH}")));
    }
    Ok(())
}

/// Add the changes of a batch to a memtable.
pub(super) fn insert(memory: &MemTable, batch: &WriteBatch) -> Result<()> {
    let mut next = batch.sequence();

    for (sequence, change) in (batch.sequence()..).zip(batch.changes()) {
        next = sequence + 1;
        match change? {
            Change::Put(key, value) => memory.add(key, Tag::new(sequence, ValueKind::Value), value),
            Change::Delete(key) => memory.add(key, Tag::new(sequence, ValueKind::Deletion), b""),
        }
    }
    assert_eq!(next, batch.sequence() + u64::from(batch.count()), "the count is that of changes");
    Ok(())
}
