//! Reads and checks all data of a store.

use super::Db;
use super::properties::escaped;
use crate::error::{Error, Result};
use crate::format::key;
use crate::format::names;
use crate::options::ReadOptions;
use crate::table::{Table, TableIter};
use crate::version::FileMeta;
use crate::vfs::Work;
use std::sync::Arc;

const CHECKED: ReadOptions = ReadOptions { verify_checksums: true, fill_cache: false };

/// What was read and passed all checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyResult {
    /// Number of tables.
    pub tables: u64,
    /// Number of entries in tables, hidden ones included.
    pub entries: u64,
    /// Size of the tables in bytes.
    pub bytes: u64,
}

impl Db {
    /// Check the set of tables and, for every table, the checksums, the order, the range and the filter. Check that
    /// gets and iterators find the same and, in a read-only store, that manifest and logs end with a whole record.
    ///
    /// # Errors
    /// The first violation, or `Stopped` if the file layer asks to stop.
    pub fn verify(&self) -> Result<VerifyResult> {
        let mut report = VerifyResult::default();
        self.set.current.audit().map_err(|message| {
            Error::corrupt(
                &self.files.describe(&names::manifest(self.set.manifest_number)),
                0,
                message,
            )
        })?;
        let mut work = Work::new(&self.files);
        for file in self.set.current.files.iter().flatten() {
            let table = self.tables.opened_anew(file.number, file.size)?;
            report.entries +=
                verify_table(&Arc::new(table), file, self.set.last_sequence, &mut work)?;
            report.tables += 1;
            report.bytes += file.size;
        }
        debug_assert!(report.entries >= report.tables, "a table without an entry");
        self.verify_precedence(&mut work)?;
        // A store that is open for writing has replaced these files.
        match self.tails.first() {
            Some(tail) if self.options.read_only => Err(tail.clone()),
            _ => Ok(report),
        }
    }

    /// Check that gets reach the newest entry of each key first: gets search tables in their order, while
    /// iterators compare sequence numbers. LevelDB's repair leaves stores in which the two differ. Memtables,
    /// which hold the logs of a read-only store, come before all tables.
    fn verify_precedence(&self, work: &mut Work) -> Result<()> {
        let memories = 1 + usize::from(self.full.is_some());
        let tables = self.set.current.ranks().into_iter().map(|rank| memories + rank);
        let ranks: Vec<usize> = (0..memories).chain(tables).collect();
        let mut merge = self.merged(CHECKED)?;
        let mut newer: Option<(Vec<u8>, usize, u64)> = None;
        merge.first()?;
        while merge.valid() {
            debug_assert!(merge.current() < ranks.len(), "a source without a rank");
            work.add(merge.key().len() + merge.value().len())?;
            let rank = ranks[merge.current()];
            // 0 is no number of a table.
            let number = merge.source().table().map_or(0, TableIter::file);
            match &mut newer {
                Some((key, before, table)) if key::user(key) == key::user(merge.key()) => {
                    // Equal entries may be in several tables: the first one that is met counts.
                    let is_copy = *key == merge.key();
                    if rank < *before && !is_copy {
                        let key = escaped(key::user(key));
                        let (name, subject) = match number {
                            0 => (self.files.describe(""), "its log hides"),
                            _ => (self.tables.name(number), "it hides"),
                        };
                        let message = format!(
                            "{subject} a newer entry of '{key}' in table {table}: gets and iterators \
                             find different values (repair mends it)"
                        );
                        return Err(Error::corrupt(&name, 0, message));
                    }
                    if !is_copy || rank < *before {
                        (*before, *table) = (rank, number);
                    }
                    key.clear();
                    key.extend_from_slice(merge.key());
                }
                _ => newer = Some((merge.key().to_vec(), rank, number)),
            }
            merge.next()?;
        }
        Ok(())
    }
}

/// Check a table against the manifest; returns its number of entries.
fn verify_table(
    table: &Arc<Table>,
    file: &FileMeta,
    last_sequence: u64,
    work: &mut Work,
) -> Result<u64> {
    debug_assert_eq!(table.number(), file.number, "another table is verified");
    let mut iter = TableIter::new(table.clone(), CHECKED);
    let (mut count, mut last) = (0, Vec::new());
    iter.first()?;
    while iter.valid() {
        work.add(iter.key().len() + iter.value().len())?;
        let bad = |message| Err(Error::corrupt(table.name(), iter.block().offset, message));
        if key::tag(iter.key()).kind().is_none() {
            return bad("an entry of an unknown kind");
        }
        if key::tag(iter.key()).sequence() > last_sequence {
            return bad("a sequence number that was never given");
        }
        if count == 0 && iter.key() != file.smallest.as_slice() {
            return bad("the first key is not that of the manifest");
        }
        if count > 0 && key::compare(&last, iter.key()).is_ge() {
            return bad("keys out of order");
        }
        if !table.filter_lets_in(iter.block(), key::user(iter.key())) {
            return bad("a key that its filter denies");
        }
        last.clear();
        last.extend_from_slice(iter.key());
        count += 1;
        iter.next()?;
    }
    if last != file.largest {
        let message = "the last key is not that of the manifest";
        return Err(Error::corrupt(table.name(), table.data_end(), message));
    }
    Ok(count)
}
