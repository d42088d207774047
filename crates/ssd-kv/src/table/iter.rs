//! Iterates over a table: the index names the blocks, a block holds the entries.

use super::Table;
use crate::error::Result;
use crate::format::block::{Block, BlockIter};
use crate::format::footer::Handle;
use crate::options::ReadOptions;
use std::sync::Arc;

/// A position in a table.
pub(crate) struct TableIter {
    table: Arc<Table>,
    options: ReadOptions,
    index: BlockIter,
    data: BlockIter,
    /// The handle of the block that `data` iterates over, if there is one.
    handle: Option<Handle>,
}

impl TableIter {
    pub(crate) fn new(table: Arc<Table>, options: ReadOptions) -> TableIter {
        let index = BlockIter::new(table.index().block().clone());
        let data = BlockIter::new(table.index().block().clone());
        TableIter { table, options, index, data, handle: None }
    }

    pub(crate) fn file(&self) -> u64 {
        self.table.number()
    }

    /// The table, and the block of the current entry.
    pub(crate) fn whole_block(&self) -> (&Arc<Table>, Handle, &Block) {
        debug_assert!(self.valid(), "no entry");
        (&self.table, self.block(), self.data.block())
    }

    /// The block of the current entry.
    pub(crate) fn block(&self) -> Handle {
        debug_assert!(self.valid(), "no entry");
        self.handle.unwrap_or_default()
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        self.handle.is_some() && self.data.valid()
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        debug_assert!(self.handle.is_some(), "the keys of the index are none of the table's");
        self.data.key()
    }

    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        debug_assert!(self.valid(), "no entry");
        self.data.value()
    }

    /// Load the block at which the index stands; none if the index is at the end.
    fn load(&mut self) -> Result<()> {
        if !self.index.valid() {
            self.handle = None;
            return Ok(());
        }
        let handle = self.table.handle(self.index.value())?;
        // A seek often ends in the block where the last one ended.
        if self.handle != Some(handle) {
            self.handle = None;
            let block: Block = self.table.block(handle, self.options)?;
            self.data.reset(block);
            debug_assert!(!self.data.valid(), "a block begins before its first entry");
            self.handle = Some(handle);
        }
        Ok(())
    }

    fn moved(&mut self, result: std::result::Result<(), crate::format::Damage>) -> Result<()> {
        result.map_err(|damage| match self.handle.take() {
            Some(handle) => self.table.damage(handle, damage),
            None => self.table.index_damage(damage),
        })
    }

    fn index_moved(
        &mut self,
        result: std::result::Result<(), crate::format::Damage>,
    ) -> Result<()> {
        result.map_err(|damage| {
            self.handle = None;
            self.table.index_damage(damage)
        })?;
        let loaded = self.load();
        debug_assert!(
            loaded.is_err() || self.handle.is_some() == self.index.valid(),
            "the block is that of the index"
        );
        loaded
    }

    pub(crate) fn first(&mut self) -> Result<()> {
        let result = self.index.first();
        self.index_moved(result)?;
        if self.handle.is_some() {
            let result = self.data.first();
            self.moved(result)?;
        }
        self.skip_forward()
    }

    pub(crate) fn last(&mut self) -> Result<()> {
        let result = self.index.last();
        self.index_moved(result)?;
        if self.handle.is_some() {
            let result = self.data.last();
            self.moved(result)?;
        }
        self.skip_backward()
    }

    pub(crate) fn seek(&mut self, target: &[u8]) -> Result<()> {
        let result = self.table.index().seek(&mut self.index, target);
        self.index_moved(result)?;
        if self.handle.is_some() {
            let result = self.data.seek(target);
            self.moved(result)?;
        }
        self.skip_forward()
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        debug_assert!(self.index.valid(), "the index names the block that is loaded");
        debug_assert!(self.valid(), "after the last entry nothing follows");
        let result = self.data.next();
        if result.is_ok() && self.data.valid() {
            return Ok(());
        }
        self.moved(result)?;
        self.skip_forward()
    }

    pub(crate) fn prev(&mut self) -> Result<()> {
        debug_assert!(self.index.valid(), "the index names the block that is loaded");
        debug_assert!(self.valid(), "the entry before none");
        let result = self.data.prev();
        self.moved(result)?;
        self.skip_backward()
    }

    fn skip_forward(&mut self) -> Result<()> {
        while self.handle.is_some() && !self.data.valid() {
            debug_assert!(self.index.valid(), "the index names the block that is loaded");
            let result = self.index.next();
            self.index_moved(result)?;
            if self.handle.is_some() {
                let result = self.data.first();
                self.moved(result)?;
            }
        }
        Ok(())
    }

    fn skip_backward(&mut self) -> Result<()> {
        while self.handle.is_some() && !self.data.valid() {
            debug_assert!(self.index.valid(), "the index names the block that is loaded");
            let result = self.index.prev();
            self.index_moved(result)?;
            if self.handle.is_some() {
                let result = self.data.last();
                self.moved(result)?;
            }
        }
        Ok(())
    }
}
