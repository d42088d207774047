//! The open tables of a store.

use super::Table;
use super::reader::BlockCache;
use crate::error::{Error, Result};
use crate::format::names;
use crate::format::order::Order;
use crate::lru::Lru;
use crate::options::Options;
use crate::vfs::{Files, Reader, memory};
use std::sync::{Arc, Mutex};

/// Opens tables by number and keeps a bounded number of them open.
pub(crate) struct Tables {
    files: Files,
    open: Mutex<Lru<Arc<Table>>>,
    blocks: Arc<BlockCache>,
    verify: bool,
    order: Order,
}

impl Tables {
    pub(crate) fn new(files: Files, options: &Options, order: Order) -> Tables {
        assert!(options.check().is_ok(), "options are checked where they come in");
        Tables {
            files,
            open: Mutex::new(Lru::new(options.max_open_tables)),
            blocks: Arc::new(Mutex::new(Lru::new(options.block_cache_size))),
            verify: options.paranoid_checks,
            order,
        }
    }

    /// The table with this number and size in bytes.
    pub(crate) fn table(&self, number: u64, size: u64) -> Result<Arc<Table>> {
        if let Some(table) = memory::locked(&self.open).get((number, 0)) {
            debug_assert_eq!(table.number(), number, "the table of another number");
            return Ok(table);
        }
        let table = self.open_file(number)?;
        let blocks = self.blocks.clone();
        let table = Table::open(table, number, size, self.verify, blocks, self.order)?;
        let table = Arc::new(table);
        memory::locked(&self.open).insert((number, 0), table.clone(), 1);
        Ok(table)
    }

    /// The table, opened again with all checks; it is not kept.
    pub(crate) fn opened_anew(&self, number: u64, size: u64) -> Result<Table> {
        self.opened(number, size, true)
    }

    /// The table, opened again even if its index or filter is damaged; it is not kept.
    pub(crate) fn opened_unchecked(&self, number: u64, size: u64) -> Result<Table> {
        self.opened(number, size, false)
    }

    fn opened(&self, number: u64, size: u64, verify: bool) -> Result<Table> {
        let no_cache = Arc::new(Mutex::new(Lru::new(0)));
        Table::open(self.open_file(number)?, number, size, verify, no_cache, self.order)
    }

    fn open_file(&self, number: u64) -> Result<Reader> {
        match self.files.open(&names::table(number)) {
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                // Written before LevelDB 1.14? If not, the file with the new name is missing.
                let old = self.files.open(&names::old_table(number));
                old.map_err(|_| Error::Io { file: self.name(number), doing: "open", source })
            }
            other => other,
        }
    }

    /// Drop a table that is removed.
    pub(crate) fn forget(&self, number: u64) {
        memory::locked(&self.open).remove((number, 0));
    }

    /// The name of a table for messages.
    pub(crate) fn name(&self, number: u64) -> String {
        self.files.describe(&names::table(number))
    }

    /// Size of the cached blocks in bytes.
    pub(crate) fn block_bytes(&self) -> usize {
        memory::locked(&self.blocks).weight()
    }
}
