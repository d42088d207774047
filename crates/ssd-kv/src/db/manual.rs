//! Compaction on request: a range of keys, level by level.

use super::Db;
use crate::error::Result;
use crate::format::edit::LEVELS;
use crate::format::key;
use crate::version::pick::{self, Picked};

/// A range of one level that is being compacted, file by file.
pub(super) struct Manual {
    level: usize,
    /// User keys, both included; none for no bound.
    begin: Option<Vec<u8>>,
    end: Option<Vec<u8>>,
}

impl Db {
    /// Compact all that overlaps the user keys from `begin` to `end`, both included; none for no
    /// bound. What was overwritten or deleted there is gone afterwards, unless a snapshot needs it.
    ///
    /// # Errors
    /// As `step`.
    pub fn compact_range(&mut self, begin: Option<&[u8]>, end: Option<&[u8]>) -> Result<()> {
        self.check_writable()?;
        let version = &self.set.current;
        let overlaps =
            |level: &usize| !crate::version::overlapping(version, *level, begin, end).is_empty();
        let deepest = (1..LEVELS).rev().find(overlaps).unwrap_or(1);
        self.flush_memory()?;
        for level in 0..deepest {
            self.manual = Some(Manual {
                level,
                begin: begin.map(<[u8]>::to_vec),
                end: end.map(<[u8]>::to_vec),
            });
            while self.manual.is_some() {
                self.step()?;
            }
        }
        self.after_write()
    }

    pub(super) fn pick_manual(&self) -> Option<Picked> {
        let manual = self.manual.as_ref()?;
        let (begin, end) = (manual.begin.as_deref(), manual.end.as_deref());
        let size = self.options.max_file_size;
        pick::pick_range(&self.set.current, manual.level, begin, end, size)
    }

    /// A part is done, or nothing is left.
    pub(super) fn manual_went_on(&mut self, done: Option<&Picked>) {
        match (&mut self.manual, done.and_then(|p| p.inputs[0].last())) {
            (Some(manual), Some(last)) => manual.begin = Some(key::user(&last.largest).to_vec()),
            _ => self.manual = None,
        }
    }
}
