//! Iterates over the tables of a sorted level, one after the other.

use super::File;
use crate::error::Result;
use crate::format::key;
use crate::options::ReadOptions;
use crate::table::{TableIter, Tables};
use std::cmp::Ordering;
use std::sync::Arc;

/// A position in a level.
pub(crate) struct LevelIter {
    files: Vec<File>,
    tables: Arc<Tables>,
    options: ReadOptions,
    at: usize,
    table: Option<TableIter>,
}

impl LevelIter {
    pub(crate) fn new(files: Vec<File>, tables: Arc<Tables>, options: ReadOptions) -> LevelIter {
        debug_assert!(!files.is_empty(), "a level without files has no iterator");
        debug_assert!(
            files.windows(2).all(|f| key::compare(&f[0].largest, &f[1].smallest).is_lt()),
            "tables of a sorted level do not overlap"
        );
        LevelIter { files, tables, options, at: 0, table: None }
    }

    pub(crate) fn table(&self) -> Option<&TableIter> {
        self.table.as_ref()
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        self.table.as_ref().is_some_and(TableIter::valid)
    }

    /// # Panics
    /// If the place is not valid.
    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        self.table.as_ref().expect("a valid place").key()
    }

    /// # Panics
    /// If the place is not valid.
    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        self.table.as_ref().expect("a valid place").value()
    }

    /// Switch to the file at `at`; beyond the last one there is no table.
    fn open(&mut self, at: usize) -> Result<Option<&mut TableIter>> {
        debug_assert!(
            at <= self.files.len() || at == usize::MAX,
            "place {at} of {}",
            self.files.len()
        );
        let Some(file) = self.files.get(at) else {
            self.table = None;
            return Ok(None);
        };
        if self.table.as_ref().is_none_or(|t| t.file() != file.number) {
            self.table = None;
            let table = self.tables.table(file.number, file.size)?;
            self.table = Some(TableIter::new(table, self.options));
        }
        self.at = at;
        debug_assert!(self.is_open(at), "the table is that of its place");
        Ok(self.table.as_mut())
    }

    /// Whether the table at this place is the one that is open.
    fn is_open(&self, at: usize) -> bool {
        let number = self.files.get(at).map(|file| file.number);
        self.table.as_ref().map(TableIter::file) == number
    }

    pub(crate) fn first(&mut self) -> Result<()> {
        if let Some(table) = self.open(0)? {
            table.first()?;
        }
        self.skip_forward()
    }

    pub(crate) fn last(&mut self) -> Result<()> {
        if let Some(table) = self.open(self.files.len().wrapping_sub(1))? {
            table.last()?;
        }
        self.skip_backward()
    }

    pub(crate) fn seek(&mut self, target: &[u8]) -> Result<()> {
        // Tables that end before the target are not opened.
        let at = self.files.partition_point(|f| key::compare(&f.largest, target) == Ordering::Less);
        debug_assert!(
            self.files[..at].iter().all(|f| key::compare(&f.largest, target).is_lt()),
            "a table that may hold the target is passed"
        );
        if let Some(table) = self.open(at)? {
            table.seek(target)?;
        }
        self.skip_forward()
    }

    /// # Panics
    /// If the place is not valid.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        debug_assert!(self.valid(), "after the last entry nothing follows");
        debug_assert!(self.is_open(self.at), "the table is that of its place");
        self.table.as_mut().expect("a valid place").next()?;
        if self.valid() { Ok(()) } else { self.skip_forward() }
    }

    /// # Panics
    /// If the place is not valid.
    pub(crate) fn prev(&mut self) -> Result<()> {
        debug_assert!(self.valid(), "the entry before none");
        debug_assert!(self.is_open(self.at), "the table is that of its place");
        self.table.as_mut().expect("a valid place").prev()?;
        self.skip_backward()
    }

    fn skip_forward(&mut self) -> Result<()> {
        while self.table.is_some() && !self.valid() {
            debug_assert!(self.is_open(self.at), "the table is that of its place");
            if let Some(table) = self.open(self.at + 1)? {
                table.first()?;
            }
        }
        Ok(())
    }

    fn skip_backward(&mut self) -> Result<()> {
        while self.table.is_some() && !self.valid() {
            debug_assert!(self.is_open(self.at), "the table is that of its place");
            // Before the first table lies `usize::MAX`, where there is none.
            if let Some(table) = self.open(self.at.wrapping_sub(1))? {
                table.last()?;
            }
        }
        Ok(())
    }
}
