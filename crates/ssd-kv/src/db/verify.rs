//! Reads all that a store holds and checks it.

use super::Db;
use crate::error::{Error, Result};
use crate::format::key;
use crate::format::names;
use crate::options::ReadOptions;
use crate::table::{Table, TableIter};
use crate::version::FileMeta;
use crate::vfs::Work;
use std::sync::Arc;

/// What was read and found right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Tables.
    pub tables: u64,
    /// Entries of tables, hidden ones too.
    pub entries: u64,
    /// Bytes of tables.
    pub bytes: u64,
}

impl Db {
    /// Check the set of tables, and every table: checksums, order, range, filter.
    ///
    /// # Errors
    /// The first thing found wrong, or that the file layer says not to go on.
    pub fn verify(&self) -> Result<Verified> {
        let mut found = Verified::default();
        self.set.current.audit().map_err(|what| {
            Error::corrupt(
                &self.files.describe(&names::manifest(self.set.manifest_number)),
                0,
                what,
            )
        })?;
        let mut work = Work::new(&self.files);
        for file in self.set.current.files.iter().flatten() {
            let table = self.tables.opened_anew(file.number, file.size)?;
            found.entries +=
                verify_table(&Arc::new(table), file, self.set.last_sequence, &mut work)?;
            found.tables += 1;
            found.bytes += file.size;
        }
        Ok(found)
    }
}

/// The number of entries of a table that is as the manifest says.
fn verify_table(
    table: &Arc<Table>,
    file: &FileMeta,
    last_sequence: u64,
    work: &mut Work,
) -> Result<u64> {
    let options = ReadOptions { verify_checksums: true, fill_cache: false };
    let mut iter = TableIter::new(table.clone(), options);
    let (mut count, mut last) = (0, Vec::new());
    iter.first()?;
    while iter.valid() {
        work.of(iter.key().len() + iter.value().len())?;
        let bad = |what| Err(Error::corrupt(table.name(), iter.block().offset, what));
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
        let what = "the last key is not that of the manifest";
        return Err(Error::corrupt(table.name(), table.data_end(), what));
    }
    Ok(count)
}
