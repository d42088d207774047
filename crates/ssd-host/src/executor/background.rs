//! The steps of the store's background work, and the write back of old pages.

use super::{Activity, BACKGROUND, HostError, Machine, WRITE_BACK};
use crate::fs::Cause;
use ssd_kv::{Db, NextWork};

/// Pages that background work may need besides those of a table.
const ROOM_PAGES: u64 = 64;

impl Machine {
    /// Take the next step of background work; false if it waits.
    pub(super) fn background(&mut self) -> Result<bool, HostError> {
        self.last_seen = self.db().backlog();
        if let Some((work, since)) = self.working.take() {
            self.measured.worked(work, since, self.now);
            if let Some(writer) = self.writers.parked.take() {
                self.wake(writer);
            }
        }
        if !self.db().has_work() {
            self.background_idle = true;
            self.enter(BACKGROUND, Activity::Idle);
            return Ok(false);
        }
        let work = self.db().next_work();
        if !self.has_space(work)? {
            return Ok(!self.short_of_space);
        }
        self.fs.set_table_cause(match work {
            NextWork::Compact(level) => Cause::Level(level as u8),
            _ => Cause::Flush,
        });
        self.committed = false;
        let done = |db: &Db| (db.stats().merged_bytes, db.stats().built_bytes);
        let before = done(self.db());
        self.working = Some((work, self.now));
        self.db_mut().step()?;
        let (merged, built) = done(self.db());
        let costs = self.settings.costs;
        let pairs = costs.merge_kib * (merged - before.0) + costs.step_kib * (built - before.1);
        self.fs.cpu(costs.step + pairs / 1024);
        self.take_nodes(BACKGROUND);
        Ok(true)
    }

    /// Whether background work has the pages that it may need, or no more will become free.
    fn has_space(&mut self, work: NextWork) -> Result<bool, HostError> {
        let store = &self.settings.store;
        let table = store.max_file_size.max(store.write_buffer_size as u64) * 5 / 4 / 4096;
        let (spare, freeing) = self.fs.spare_pages();
        if work == NextWork::Pick || spare >= table + ROOM_PAGES {
            return Ok(true);
        }
        if !std::mem::replace(&mut self.committed, true) && self.fs.commit()? {
            // Files may have been removed: their pages are free after this.
            self.take_nodes(BACKGROUND);
            return Ok(false);
        }
        self.short_of_space = freeing > 0;
        if self.short_of_space {
            // A commit frees them.
            self.enter(BACKGROUND, Activity::Write);
            self.actors[BACKGROUND].waits = true;
        }
        Ok(!self.short_of_space)
    }

    /// Let the file layer write back what is old; false if it waits.
    pub(super) fn write_back(&mut self) -> Result<bool, HostError> {
        if self.write_back_idle {
            self.enter(WRITE_BACK, Activity::Idle);
            return Ok(false);
        }
        self.write_back_idle = true;
        self.fs.write_back()?;
        self.take_nodes(WRITE_BACK);
        Ok(true)
    }
}
