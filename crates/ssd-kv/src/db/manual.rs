//! Manual compaction of a range of keys, level by level.

use super::Db;
use crate::error::Result;
use crate::format::edit::LEVELS;
use crate::format::key;
use crate::version::pick::{self, CompactionInputs};

/// A range that is being compacted, file by file, level by level.
pub(super) struct ManualCompaction {
    /// The number of the request.
    number: u64,
    level: usize,
    /// Levels from this one on are not compacted.
    end_level: usize,
    /// User keys, both included; None is no bound.
    begin: Option<Vec<u8>>,
    end: Option<Vec<u8>>,
    /// Where the compaction of the level continues.
    from: Option<Vec<u8>>,
}

impl Db {
    /// Compact all tables that overlap the user keys from `begin` to `end`, both included; None is no
    /// bound. Overwritten and deleted data in the range are gone afterwards, unless a read view needs them.
    ///
    /// # Errors
    /// As `step`.
    pub fn compact_range(&mut self, begin: Option<&[u8]>, end: Option<&[u8]>) -> Result<()> {
        let request = self.request_compaction(begin, end)?;
        while self.step_request(request)? {}
        self.after_write()
    }

    /// Request what `compact_range` does: the next steps do it before other work that is due. An earlier
    /// request is finished first. Returns the number of the request.
    ///
    /// # Errors
    /// As `step`: memtables are written to tables first.
    pub fn request_compaction(&mut self, begin: Option<&[u8]>, end: Option<&[u8]>) -> Result<u64> {
        self.check_writable()?;
        while self.is_compacting_on_request() {
            let worked = self.step()?;
            assert!(worked, "an earlier request waits for ever");
        }
        let version = &self.set.current;
        let overlaps =
            |level: &usize| !crate::version::overlapping(version, *level, begin, end).is_empty();
        let end_level = (1..LEVELS).rev().find(overlaps).unwrap_or(1);
        self.flush_memory()?;
        let [begin, end] = [begin, end].map(|bound| bound.map(<[u8]>::to_vec));
        assert!(self.manual.is_none(), "one request at a time");
        assert!((1..LEVELS).contains(&end_level), "a last level to compact into");
        self.requests += 1;
        let (number, from) = (self.requests, begin.clone());
        self.manual = Some(ManualCompaction { number, level: 0, end_level, begin, end, from });
        Ok(number)
    }

    /// Do a step for a request; false if the request is done.
    ///
    /// # Errors
    /// As `step`. If another step or write has failed, the request is dropped.
    pub fn step_request(&mut self, request: u64) -> Result<bool> {
        self.check_writable()?;
        debug_assert!(request <= self.requests, "request {request} was never made");
        if self.manual.as_ref().is_none_or(|manual| manual.number != request) {
            return Ok(false);
        }
        self.step()
    }

    /// Whether the request is not done yet.
    #[must_use]
    pub fn is_compacting_on_request(&self) -> bool {
        self.manual.is_some()
    }

    /// Cancel a request. A compaction in progress is still finished.
    pub fn cancel_request(&mut self, request: u64) {
        debug_assert!(request <= self.requests, "request {request} was never made");
        self.manual.take_if(|manual| manual.number == request);
    }

    /// The next compaction of the request; skips levels that are done.
    pub(super) fn pick_manual(&mut self) -> Option<CompactionInputs> {
        while let Some(manual) = &mut self.manual {
            let (from, end) = (manual.from.as_deref(), manual.end.as_deref());
            assert!(manual.end_level < LEVELS, "the last level is not compacted");
            assert!(self.compaction.is_none(), "one compaction at a time");
            assert!(manual.level < manual.end_level, "a request ends with its last level");
            let size = self.options.max_file_size;
            let picked = pick::pick_range(&self.set.current, manual.level, from, end, size);
            if picked.is_some() {
                return picked;
            }
            manual.level += 1;
            manual.from.clone_from(&manual.begin);
            if manual.level >= manual.end_level {
                self.manual = None;
            }
        }
        None
    }

    /// Note that a part of the request is done.
    pub(super) fn manual_went_on(&mut self, done: &CompactionInputs) {
        debug_assert!(done.manual, "a compaction that nobody requested");
        if let (Some(manual), Some(last)) = (&mut self.manual, done.inputs[0].last())
            && manual.level == done.level
        {
            let from = key::user(&last.largest);
            let before = manual.from.as_deref().unwrap_or_default();
            // On level 0 the last table need not end last, but all that overlap go together.
            assert!(manual.level == 0 || from >= before, "a request continues upwards");
            manual.from = Some(from.to_vec());
        }
    }
}
