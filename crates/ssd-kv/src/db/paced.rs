//! Writes whose caller waits itself, in simulated time: the engine answers whether a write may proceed, and takes the
//! write in two halves. What happens in between (waiting for the log to be durable, collecting other batches for the
//! next write) is up to the caller.

use super::Db;
use super::room::{Backlog, Room};
use super::write::{check_changes, check_size};
use crate::error::{Error, Result};
use crate::format::batch::WriteBatch;
use crate::format::edit::LEVELS;

/// Whether a write may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteRoom {
    /// Yes.
    Ready,
    /// It should wait for a millisecond, once, so that compaction keeps up.
    Slow,
    /// It must wait for background work.
    Wait,
}

/// What the next step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextWork {
    /// Write a memtable to a table.
    Flush,
    /// Continue a compaction into this level.
    Compact(usize),
    /// Begin a compaction, or move a table.
    Pick,
    /// Nothing.
    Nothing,
}

impl Db {
    /// Background work that is left.
    #[must_use]
    #[inline(always)]
    pub fn backlog(&self) -> Backlog {
        Backlog { full: self.full.is_some(), level0: self.set.current.files[0].len() }
    }

    /// What the next step does.
    #[must_use]
    pub fn next_work(&self) -> NextWork {
        if !self.has_work() {
            return NextWork::Nothing;
        }
        if self.full.is_some() {
            return NextWork::Flush;
        }
        let level = self.compaction.as_ref().map(|compaction| compaction.picked.level + 1);
        debug_assert!(level.is_none_or(|level| level < LEVELS), "a level that there is not");
        level.map_or(NextWork::Pick, NextWork::Compact)
    }

    /// Whether a write may proceed, for a caller that has seen `last_seen` of the background work: the engine is ahead
    /// of a caller that still waits for the files of a step. A full memtable is put aside, if possible. `may_slow`: the
    /// write has not been slowed yet. No step is done.
    ///
    /// # Errors
    /// The store takes no writes, or a new log cannot be begun.
    pub fn ask_room(&mut self, may_slow: bool, last_seen: Backlog) -> Result<WriteRoom> {
        self.check_writable()?;
        let now = self.backlog();
        assert!(!self.logged, "a write between the halves of another");
        let (full, level0) = (last_seen.full || now.full, last_seen.level0.max(now.level0));
        let backlog = Backlog { full, level0 };
        Ok(match self.room_behind(may_slow, backlog) {
            Room::Yes => WriteRoom::Ready,
            Room::Slow => {
                self.stats.slowed += 1;
                WriteRoom::Slow
            }
            Room::Wait => {
                // Work that is done here, but whose end the caller has yet to see, is waited for, too.
                let is_stale = last_seen.full || last_seen.level0 > now.level0;
                assert!(is_stale || self.has_work(), "a write would wait for ever");
                WriteRoom::Wait
            }
            Room::Switch => {
                self.switch_memory()?;
                assert!(self.memory.is_empty(), "a new memtable takes the write");
                WriteRoom::Ready
            }
        })
    }

    /// The first half of a write for which there is room: number the changes and append the batch to the log, durable
    /// if `sync` is set. Readers see nothing of it before [`Db::apply_logged`], which must be next; other writes
    /// are refused in between, steps and reads are not.
    ///
    /// # Errors
    /// As `write`.
    pub fn log_batch(&mut self, batch: &mut WriteBatch, sync: bool) -> Result<()> {
        check_changes(batch)?;
        check_size(batch)?;
        debug_assert!(!self.options.read_only || self.full.is_none(), "a memtable to be flushed");
        self.check_writable()?;
        self.log_own(batch, sync)?;
        assert!(batch.sequence() > self.set.last_sequence, "readers would see it");
        self.logged = true;
        Ok(())
    }

    /// The second half: readers see the changes of the batch.
    ///
    /// # Errors
    /// The batch is not the one that was logged.
    pub fn apply_logged(&mut self, batch: &WriteBatch) -> Result<()> {
        if !self.logged || batch.sequence() != self.set.last_sequence + 1 {
            return Err(Error::invalid("the batch is not the one that was logged"));
        }
        assert!(
            self.poisoned.is_some() || !self.options.read_only,
            "a read-only store logs nothing"
        );
        self.logged = false;
        self.insert_own(batch);
        debug_assert_eq!(self.set.last_sequence, batch.last_sequence(), "all of it is applied");
        Ok(())
    }
}
