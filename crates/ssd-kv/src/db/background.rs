//! Background work, one step at a time.

use super::Db;
use crate::compaction::{Compaction, CompactionContext, Progress};
use crate::error::{Error, Result};
use crate::format::edit::{Edit, LEVELS};
use crate::format::key::MAX_SEQUENCE;
use crate::format::names::{self, FileKind};
use crate::options::Background;
use crate::version::pick::{self, CompactionInputs};
use crate::version::set::described;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Db {
    /// Whether `step` has something to do.
    #[must_use]
    pub fn has_work(&self) -> bool {
        self.poisoned.is_none()
            && !self.options.read_only
            && (self.full.is_some()
                || self.compaction.is_some()
                || self.manual.is_some()
                || self.set.current.needs_compaction())
    }

    /// Do a piece of the background work that is due, with at most a few hundred KiB of input and output: a
    /// full memtable first, then the compaction in progress, then the next one. False if nothing is due.
    ///
    /// # Errors
    /// If a file cannot be read or written. The store then refuses further writes.
    pub fn step(&mut self) -> Result<bool> {
        if !self.has_work() {
            return Ok(false);
        }
        match self.step_unguarded() {
            Ok(()) => {
                self.check();
                Ok(true)
            }
            Err(error) => Err(self.poison(error)),
        }
    }

    /// Do all background work that is due.
    ///
    /// # Errors
    /// As `step`.
    pub fn settle(&mut self) -> Result<()> {
        while self.step()? {}
        Ok(())
    }

    /// The same, if the options say that writers do background work at once.
    ///
    /// # Errors
    /// As `step`.
    pub fn settle_if_eager(&mut self) -> Result<()> {
        if self.options.background != Background::Eager || !self.has_work() {
            return Ok(());
        }
        debug_assert!(!self.options.read_only, "a read-only store has work to do");
        self.settle()
    }

    /// After this error the contents of the files are uncertain: refuse further writes.
    pub(super) fn poison(&mut self, error: Error) -> Error {
        debug_assert!(self.poisoned.is_none(), "the first failure is the one that counts");
        assert!(!self.options.read_only, "a read-only store has no work that could fail");
        self.poisoned = Some(error.clone());
        self.manual = None;
        error
    }

    fn step_unguarded(&mut self) -> Result<()> {
        if let Some(full) = self.full.clone() {
            return self.step_flush(&full);
        }
        assert!(self.flush.is_none(), "a flush of no memtable");
        if self.compaction.is_none() {
            return match self.next_compaction() {
                Some(picked)
                    if !picked.manual && picked.is_trivial_move(self.options.max_file_size) =>
                {
                    self.move_down(&picked)
                }
                Some(picked) => self.begin_compaction(picked),
                None => Ok(()),
            };
        }
        let Some(mut compaction) = self.compaction.take() else { return Ok(()) };
        let progress = compaction.step(&mut self.compaction_context());
        // Put it back before checking the error: its outputs must not be taken for stray files.
        self.compaction = Some(compaction);
        if progress? == Progress::More {
            return Ok(());
        }
        if let Some(done) = self.compaction.take()
            && done.picked.manual
        {
            self.manual_went_on(&done.picked);
        }
        self.remove_obsolete()
    }

    fn next_compaction(&mut self) -> Option<CompactionInputs> {
        debug_assert!(self.compaction.is_none(), "one compaction at a time");
        if self.manual.is_some() {
            return self.pick_manual();
        }
        pick::pick(&self.set.current, &self.set.pointers, self.options.max_file_size)
    }

    fn compaction_context(&mut self) -> CompactionContext<'_> {
        CompactionContext {
            files: &self.files,
            tables: &self.tables,
            set: &mut self.set,
            policy: &mut *self.policy,
            options: &self.options,
            stats: &mut self.stats,
        }
    }

    fn begin_compaction(&mut self, picked: CompactionInputs) -> Result<()> {
        assert!(self.compaction.is_none(), "one compaction at a time");
        assert!(Arc::ptr_eq(&picked.version, &self.set.current), "picked from an older version");
        assert!(self.full.is_none(), "a full memtable comes first");
        let oldest = self.views.oldest().unwrap_or(self.set.last_sequence);
        debug_assert!(oldest <= MAX_SEQUENCE, "sequence numbers have 56 bits");
        self.set.pointers[picked.level] = Some(picked.pointer.clone());
        assert!(oldest <= self.set.last_sequence, "a view sees what was written");
        let compaction = Compaction::begin(picked, oldest, &self.compaction_context())?;
        self.compaction = Some(Box::new(compaction));
        Ok(())
    }

    /// Move the only input to the next level unchanged.
    fn move_down(&mut self, picked: &CompactionInputs) -> Result<()> {
        assert!(self.compaction.is_none(), "one compaction at a time");
        assert!(picked.level + 1 < LEVELS, "the last level is not compacted");
        assert!(picked.inputs[0].len() == 1 && picked.inputs[1].is_empty(), "one table moves");
        assert!(Arc::ptr_eq(&picked.version, &self.set.current), "picked from an older version");
        let file = &picked.inputs[0][0];
        let edit = Edit {
            compact_pointers: vec![(picked.level, picked.pointer.clone())],
            deleted: vec![(picked.level, file.number)],
            added: vec![described(picked.level + 1, file)],
            ..Edit::default()
        };
        self.stats.moved += 1;
        self.set.apply(edit)?;
        self.remove_obsolete()
    }

    /// Remove files that are no longer needed. Files that do not belong to the store stay.
    pub(super) fn remove_obsolete(&mut self) -> Result<()> {
        assert!(!self.options.read_only, "a read-only store removes no files");
        let live = self.set.live();
        let mut writing: BTreeSet<u64> = self.flush.iter().map(|f| f.number()).collect();
        writing.extend(self.compaction.iter().flat_map(|c| c.outputs()));
        assert!(writing.is_disjoint(&live), "a table is complete before it is part of the store");
        let next = self.set.next_file;
        assert!(writing.last().is_none_or(|&n| n < next), "an output with a number not yet given");
        for name in self.files.list()? {
            let keep = match names::parse(&name) {
                Some(FileKind::Log(n)) => n >= self.set.log_number || n == self.set.previous_log,
                Some(FileKind::Manifest(n)) => n >= self.set.manifest_number,
                Some(FileKind::Table(n)) => live.contains(&n) || writing.contains(&n),
                Some(FileKind::Temp(n)) => writing.contains(&n),
                Some(FileKind::Current | FileKind::Lock | FileKind::InfoLog) | None => true,
            };
            if keep {
                continue;
            }
            if let Some(FileKind::Table(number)) = names::parse(&name) {
                self.tables.forget(number);
            }
            self.files.remove(&name)?;
        }
        Ok(())
    }

    /// The number of tables on each level.
    #[must_use]
    pub fn tables_per_level(&self) -> [usize; LEVELS] {
        self.set.current.files.each_ref().map(Vec::len)
    }
}
