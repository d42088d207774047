//! Writes a full memtable to a table, in steps.

use super::{Db, Stats};
use crate::compaction::finish;
use crate::error::{Error, Result};
use crate::format::edit::{Edit, NewFile};
use crate::format::{key, names};
use crate::memtable::{Cursor, MemTable};
use crate::options::Options;
use crate::policy::Policy;
use crate::table::{TableOptions, TableWriter, Tables};
use crate::version::pick::CompactionInputs;
use crate::version::set::VersionSet;
use crate::version::{Version, overlapping, total_size};
use crate::vfs::Files;
use std::sync::Arc;

/// Bytes of entries after which a step ends.
const STEP: u64 = 256 << 10;
/// The deepest level to which a new table may go, if nothing overlaps it.
const LOWEST: usize = 2;

/// A memtable that is being written to a table.
pub(super) struct Flush {
    number: u64,
    memory: Arc<MemTable>,
    /// Where the next step continues; None at the end.
    cursor: Option<Cursor>,
    smallest: Vec<u8>,
    writer: TableWriter,
}

impl Flush {
    /// Begin to write a memtable. It must not be empty.
    pub(super) fn begin(
        memory: Arc<MemTable>,
        number: u64,
        files: &Files,
        options: &Options,
    ) -> Result<Flush> {
        assert!(number > 0, "0 is no number of a table");
        let file = files.create(&names::table(number))?;
        let writer = TableWriter::new(file, TableOptions::of(options));
        let cursor = memory.begin();
        assert!(cursor.is_some(), "a memtable without an entry makes no table");
        Ok(Flush { number, memory, cursor, smallest: Vec::new(), writer })
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Do a step. Returns the table, for level 0, when it is complete and durable.
    pub(super) fn advance(
        &mut self,
        policy: &mut dyn Policy,
        tables: &Tables,
        stats: &mut Stats,
    ) -> Result<Option<NewFile>> {
        let built = self.writer.built();
        let table = self.write(policy, stats);
        stats.built_bytes += self.writer.built() - built;
        let table = table?;
        if let Some(table) = &table {
            tables.table(table.number, table.size)?;
        }
        Ok(table)
    }

    /// Write the entries of one step; the finished table if they were the last.
    fn write(&mut self, policy: &mut dyn Policy, stats: &mut Stats) -> Result<Option<NewFile>> {
        let is_begun = self.writer.entries() > 0;
        debug_assert_eq!(is_begun, !self.smallest.is_empty(), "the first key belongs to the table");
        debug_assert!(is_begun || self.cursor.is_some(), "an empty flush is not at its end");
        if let Some(cursor) = self.cursor {
            let start = stats.merged_bytes;
            let (writer, smallest) = (&mut self.writer, &mut self.smallest);
            self.cursor = self.memory.read_on(cursor, |key, value| {
                if writer.entries() == 0 {
                    *smallest = key.to_vec();
                }
                writer.add(key, value, policy)?;
                stats.merged_bytes += (key.len() + value.len()) as u64;
                Ok::<_, Error>(stats.merged_bytes - start < STEP)
            })?;
            if self.cursor.is_some() {
                return Ok(None);
            }
        }
        assert!(self.writer.entries() > 0 && !self.smallest.is_empty(), "a table of its entries");
        let smallest = std::mem::take(&mut self.smallest);
        finish(&mut self.writer, smallest, (0, self.number), policy).map(Some)
    }
}

impl Db {
    /// Do a step for the full memtable: write entries, or make the table part of the store.
    pub(super) fn step_flush(&mut self, memory: &Arc<MemTable>) -> Result<()> {
        let full = self.full.as_ref();
        assert!(full.is_some_and(|full| Arc::ptr_eq(full, memory)), "a memtable in use is flushed");
        let Some(flush) = &mut self.flush else {
            let number = self.set.new_number();
            let flush = Flush::begin(memory.clone(), number, &self.files, &self.options)?;
            self.flush = Some(flush);
            return Ok(());
        };
        assert!(Arc::ptr_eq(&flush.memory, memory), "the flush is that of the full memtable");
        let advanced = flush.advance(&mut *self.policy, &self.tables, &mut self.stats)?;
        let Some(mut file) = advanced else { return Ok(()) };
        assert_eq!(file.level, 0, "a memtable is newer than every table");
        let compacted = self.compaction.as_ref().map(|compaction| &compaction.picked);
        file.level = level_for(&self.set, &file, compacted, self.options.max_file_size);
        self.stats.wrote(file.level, file.size);
        assert!(self.log_number > self.set.log_number, "the full memtable has a log of its own");
        // All older logs are in tables now.
        let edit = Edit {
            log_number: Some(self.log_number),
            previous_log: Some(0),
            added: vec![file],
            ..Edit::default()
        };
        self.set.apply(edit)?;
        self.log.forget_before();
        assert!(self.log_number == self.set.log_number, "the log in use is the oldest one");
        self.flush = None;
        self.full = None;
        self.remove_obsolete()
    }
}

/// The level of a new table: the deepest one down to which it overlaps nothing, which saves compactions of
/// levels 0 and 1, but not so deep that its space is hard to reclaim. A running compaction may write tables that
/// span all keys between those that it merges. LevelDB looks only at existing tables, which may leave gaps.
fn level_for(
    set: &VersionSet,
    file: &NewFile,
    compacted: Option<&CompactionInputs>,
    max_file_size: u64,
) -> usize {
    let version: &Version = &set.current;
    let (smallest, largest) = (key::user(&file.smallest), key::user(&file.largest));
    assert!(smallest <= largest, "a range of a table, from its first to its last key");
    if version.overlaps(0, smallest, largest) {
        return 0;
    }
    let comes = |level: usize| {
        compacted.is_some_and(|picked| picked.level + 1 == level && picked.spans(smallest, largest))
    };
    let mut level = 0;
    while level < LOWEST {
        let next = level + 1;
        let after = overlapping(version, next + 1, Some(smallest), Some(largest));
        let meets = version.overlaps(next, smallest, largest) || comes(next);
        if meets || total_size(&after) > 10 * max_file_size {
            break;
        }
        level += 1;
    }
    debug_assert!(level <= LOWEST, "level {level} is hard to reclaim");
    debug_assert!(
        (0..=level).all(|above| level == 0 || !version.overlaps(above, smallest, largest)),
        "newer entries would lie below older ones"
    );
    level
}
