//! Statistics of a store, and LevelDB's property strings.

use super::Db;
use crate::compaction::Loss;
use crate::error::{Error, Result};
use crate::format::edit::LEVELS;
use crate::format::key::{self, MAX_SEQUENCE, Tag};
use crate::table::TableWriter;
use crate::version::FileMeta;
use std::fmt::Write;
use std::sync::Arc;

/// Work for a level since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelStats {
    /// Compactions that wrote to the level; moves do not count.
    pub compactions: u64,
    /// Bytes of tables read for these compactions.
    pub bytes_read: u64,
    /// Bytes of tables written to the level.
    pub bytes_written: u64,
}

/// Reuse of unchanged data blocks by the compactions that wrote to a level, since the store was opened.
/// Zero without reuse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReuseStats {
    /// Data blocks that the compactions read.
    pub input_blocks: u64,
    /// Those that ended unchanged: all pairs kept, no pair of another block between them.
    pub unchanged_blocks: u64,
    /// Data blocks that the compactions wrote, reused ones too.
    pub output_blocks: u64,
    /// Those that were reused: a table that was read has the same block.
    pub reused_blocks: u64,
    /// Bytes of them for which two tables share the storage.
    pub bytes_shared: u64,
    /// Bytes of them that were copied, because the file layer does not share.
    pub bytes_copied: u64,
    /// Calls of the file layer for reused blocks: neighbours take one.
    pub calls: u64,
    /// Input blocks not reused because a pair was dropped.
    pub lost_dropped: u64,
    /// Input blocks not reused because a pair of another block came between their pairs.
    pub lost_switched: u64,
    /// Input blocks not reused because a table ended among their pairs: by its size, or by what it overlaps
    /// on the level after it.
    pub lost_cut: u64,
    /// Unchanged blocks that do not fill whole pages, or are compressed.
    pub lost_unaligned: u64,
    /// Unchanged blocks that the policy declined, or wanted only if the open block was empty.
    pub lost_declined: u64,
    /// Unchanged blocks that came out as other blocks.
    pub lost_different: u64,
}

impl ReuseStats {
    pub(crate) fn wrote(&mut self, table: &TableWriter) {
        let (blocks, reused) = (table.blocks(), table.reused());
        assert!(blocks.reused + blocks.different <= blocks.total, "blocks that were not written");
        assert_eq!(blocks.reused == 0, reused.calls == 0, "blocks are reused by calls");
        assert!(reused.calls <= blocks.reused, "a call appends a block at least");
        self.output_blocks += blocks.total;
        self.reused_blocks += blocks.reused;
        self.lost_different += blocks.different;
        self.bytes_shared += reused.shared;
        self.bytes_copied += reused.copied;
        self.calls += reused.calls;
    }

    pub(crate) fn lose(&mut self, loss: Loss) {
        debug_assert!(self.lost() < self.input_blocks, "a block is lost once");
        *match loss {
            Loss::Dropped => &mut self.lost_dropped,
            Loss::Switched => &mut self.lost_switched,
            Loss::Cut => &mut self.lost_cut,
            Loss::Unaligned => &mut self.lost_unaligned,
            Loss::Declined => &mut self.lost_declined,
        } += 1;
    }

    /// Input blocks that were not reused.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost_dropped
            + self.lost_switched
            + self.lost_cut
            + self.lost_unaligned
            + self.lost_declined
            + self.lost_different
    }
}

/// Work since the store was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// For each level.
    pub levels: [LevelStats; LEVELS],
    /// For each level.
    pub reuse: [ReuseStats; LEVELS],
    /// Tables that were moved to the next level unchanged.
    pub moved: u64,
    /// Bytes of the pairs that flushes and compactions read, whether they then wrote them, dropped them or left them
    /// in a reused block.
    pub merged_bytes: u64,
    /// Bytes of tables that flushes and compactions built from pairs: all that they wrote except padding and reused
    /// blocks.
    pub built_bytes: u64,
    /// Writes that were delayed by one step.
    pub slowed: u64,
    /// Steps for which writes had to wait.
    pub stalled_steps: u64,
    /// Changes recovered from logs while opening.
    pub logged: u64,
    /// Damaged log records that were left out while opening, plus places where records were missing.
    pub damaged_log_records: u64,
    /// The current names of the logs that held them; logs that were renamed can be removed.
    pub damaged_logs: Vec<String>,
}

/// A table of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableInfo {
    /// The level.
    pub level: usize,
    /// The number in its file name.
    pub number: u64,
    /// The size in bytes.
    pub bytes: u64,
    /// The first key, with sequence number and kind, as text.
    pub smallest: String,
    /// The last key, in the same form.
    pub largest: String,
}

impl Stats {
    pub(crate) fn wrote(&mut self, level: usize, bytes: u64) {
        debug_assert!(bytes > 0, "a table of no bytes on level {level}");
        self.levels[level].bytes_written += bytes;
    }

    pub(crate) fn read(&mut self, level: usize, bytes: u64) {
        debug_assert!(level > 0, "a compaction writes below what it reads");
        self.levels[level].bytes_read += bytes;
    }

    pub(crate) fn compacted(&mut self, level: usize) {
        assert!(level > 0, "a compaction writes below what it reads");
        self.levels[level].compactions += 1;
    }

    /// Bytes of tables written on all levels.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        self.levels.iter().map(|l| l.bytes_written).sum()
    }
}

const MIB: f64 = 1_048_576.0;

impl Db {
    /// The tails of the manifest and of the last log when the store was opened: bytes after the last whole record. A
    /// crash may leave a tail if writes were not synced, so it does not count as damage. It may also be all that is
    /// left of synced writes.
    #[must_use]
    pub fn tails(&self) -> &[Error] {
        &self.tails
    }

    /// Work since the store was opened.
    #[must_use]
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Check that the keys with a prefix are neighbours in the order of the store.
    ///
    /// # Errors
    /// They are not, because the order is not bytewise.
    pub fn check_prefix(&self, prefix: &[u8]) -> Result<()> {
        self.set.order.check_prefix(prefix)
    }

    /// Why reused blocks are copied although the file layer was asked to share them.
    #[must_use]
    pub fn why_copied(&self) -> Option<String> {
        self.files.why_copied()
    }

    /// LevelDB's property with this name: `leveldb.num-files-at-level<N>`, `leveldb.stats`,
    /// `leveldb.sstables`, `leveldb.approximate-memory-usage`. None for other names. Times are 0: the
    /// engine reads no clock.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<String> {
        let name = name.strip_prefix("leveldb.")?;
        if let Some(level) = name.strip_prefix("num-files-at-level") {
            // As in LevelDB only digits, no sign.
            let level = level.bytes().all(|b| b.is_ascii_digit()).then_some(level)?;
            let level: usize = level.parse().ok()?;
            return Some(self.tables_per_level().get(level)?.to_string());
        }
        match name {
            "stats" => Some(self.stats_text()),
            "sstables" => Some(self.tables_text()),
            "approximate-memory-usage" => {
                let full = self.full.as_ref().map_or(0, |m| m.usage());
                Some((self.tables.block_bytes() + self.memory.usage() + full).to_string())
            }
            _ => None,
        }
    }

    fn stats_text(&self) -> String {
        let mut out = String::from(
            "                               Compactions\n\
             Level  Files Size(MB) Time(sec) Read(MB) Write(MB)\n\
             --------------------------------------------------\n",
        );
        for (level, files) in self.set.current.files.iter().enumerate() {
            let done = self.stats.levels[level];
            if files.is_empty() && done.bytes_written == 0 {
                continue;
            }
            let bytes = [crate::version::total_size(files), done.bytes_read, done.bytes_written];
            let [size, read, written] = bytes.map(|b| b as f64 / MIB);
            let count = files.len();
            let _ =
                writeln!(out, "{level:3} {count:8} {size:8.0} {:9.0} {read:8.0} {written:9.0}", 0);
        }
        out
    }

    /// All tables, level by level.
    #[must_use]
    pub fn tables(&self) -> Vec<TableInfo> {
        let levels = self.set.current.files.iter().enumerate();
        let files = levels.flat_map(|(level, files)| files.iter().map(move |f| (level, f)));
        let info = |(level, f): (usize, &Arc<FileMeta>)| {
            let [smallest, largest] = self.set.stored_ends(f).map(shown);
            TableInfo { level, number: f.number, bytes: f.size, smallest, largest }
        };
        files.map(info).collect()
    }

    fn tables_text(&self) -> String {
        let (mut out, tables) = (String::new(), self.tables());
        for level in 0..LEVELS {
            let _ = writeln!(out, "--- level {level} ---");
            for t in tables.iter().filter(|t| t.level == level) {
                let (first, last) = (&t.smallest, &t.largest);
                let _ = writeln!(out, " {}:{}[{first} .. {last}]", t.number, t.bytes);
            }
        }
        out
    }

    /// The approximate size in files, in bytes, of the keys from `begin` on and below `end`.
    ///
    /// # Errors
    /// If a table cannot be opened.
    pub fn approximate_size(&self, begin: &[u8], end: &[u8]) -> Result<u64> {
        let offset = |user: &[u8]| self.approximate_offset(user);
        Ok(offset(end)?.saturating_sub(offset(begin)?))
    }

    /// The approximate size in bytes of all table data before this key.
    fn approximate_offset(&self, user: &[u8]) -> Result<u64> {
        let target = key::internal(&self.set.order.sortable(user)?, Tag::seek(MAX_SEQUENCE));
        let mut sum = 0;
        for file in self.set.current.files.iter().flatten() {
            if key::compare(&file.largest, &target).is_le() {
                sum = file.size.saturating_add(sum);
            } else if key::compare(&file.smallest, &target).is_lt() {
                let table = self.tables.table(file.number, file.size)?;
                sum = table.approximate_offset(&target)?.saturating_add(sum);
            }
        }
        Ok(sum)
    }
}

/// Bytes as text: bytes that are not printable ASCII as `\xNN`.
pub(super) fn escaped(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for &byte in bytes {
        if (b' '..=b'~').contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    debug_assert!(out.bytes().all(|b| (b' '..=b'~').contains(&b)), "a terminal can show it");
    out
}

/// An internal key as text.
pub(super) fn shown(internal: &[u8]) -> String {
    debug_assert!(internal.len() >= 8, "an internal key ends in a tag");
    let tag = key::tag(internal);
    format!("'{}' @ {} : {}", escaped(key::user(internal)), tag.sequence(), tag.0 & 0xff)
}
