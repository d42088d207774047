//! Writes a table.

use super::Table;
use crate::error::{Error, Result};
use crate::format::block::{Block, BlockIter};
use crate::format::block_builder::BlockBuilder;
use crate::format::coding::masked;
use crate::format::filter::{FILTER_NAME, FilterBuilder};
use crate::format::footer::{FOOTER, Footer, Handle, TRAILER};
use crate::format::key;
use crate::options::{Compression, Options};
use crate::policy::{OpenBlock, Policy};
use crate::vfs::{AppendCounts, Writer};
use std::sync::Arc;

/// The options of a table.
#[derive(Clone, Copy)]
pub(crate) struct TableOptions {
    block_size: usize,
    restart_interval: usize,
    compression: Compression,
    bloom_bits_per_key: Option<u32>,
}

impl TableOptions {
    pub(crate) fn of(options: &Options) -> TableOptions {
        assert!(options.check().is_ok(), "options are checked where they come in");
        TableOptions {
            block_size: options.block_size,
            restart_interval: options.block_restart_interval,
            compression: options.compression,
            bloom_bits_per_key: options.bloom_bits_per_key,
        }
    }
}

/// A data block of another table.
#[derive(Clone)]
pub(crate) struct Origin {
    pub(crate) table: Arc<Table>,
    pub(crate) handle: Handle,
    pub(crate) block: Block,
}

impl Origin {
    /// The first key of the block.
    pub(crate) fn first_key(&self) -> Result<Vec<u8>> {
        debug_assert!(self.block.restarts() > 0, "a block has a first key");
        let key = self.block.restart_key(0).map(<[u8]>::to_vec);
        key.map_err(|damage| self.table.damage(self.handle, damage))
    }
}

/// Data blocks of a table, as far as they are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Blocks {
    pub(crate) total: u64,
    /// Blocks that another table has, too.
    pub(crate) reused: u64,
    /// Blocks that had an origin and came out differently.
    pub(crate) different: u64,
}

/// A table being written.
pub(crate) struct TableWriter {
    file: Writer,
    options: TableOptions,
    data: BlockBuilder,
    index: BlockBuilder,
    filter: Option<FilterBuilder>,
    last_key: Vec<u8>,
    entries: u64,
    /// A block whose index entry is written when the key after it is known.
    pending: Option<Handle>,
    /// The block of another table whose pairs the open block has so far; it may come out as the same.
    origin: Option<(Origin, usize)>,
    blocks: Blocks,
    /// Bytes of the file that were not built here: zeros after blocks, and blocks of other tables.
    unbuilt: u64,
    compressor: snap::raw::Encoder,
    compressed: Vec<u8>,
}

impl TableWriter {
    pub(crate) fn new(file: Writer, options: TableOptions) -> TableWriter {
        assert_eq!(file.written(), 0, "a table begins with its file");
        let mut filter = options.bloom_bits_per_key.map(FilterBuilder::new);
        if let Some(filter) = &mut filter {
            filter.start_block(0);
        }
        TableWriter {
            file,
            options,
            data: BlockBuilder::new(options.restart_interval),
            index: BlockBuilder::new(1),
            filter,
            last_key: Vec::new(),
            entries: 0,
            pending: None,
            origin: None,
            blocks: Blocks::default(),
            unbuilt: 0,
            compressor: snap::raw::Encoder::new(),
            compressed: Vec::new(),
        }
    }
    /// What must hold between calls.
    fn check(&self) {
        debug_assert_eq!(self.entries == 0, self.last_key.is_empty(), "the key of the last entry");
        debug_assert!(
            self.pending.is_none() || self.data.entries() == 0,
            "an index entry is written before the next block"
        );
        debug_assert!(self.data.entries() as u64 <= self.entries, "an entry is not counted");
        debug_assert!(self.index.entries() as u64 <= self.entries, "a block without an entry");
        debug_assert!(
            self.pending.is_none_or(|at| at.offset + at.size < self.file.written()),
            "a block that is not written"
        );
    }

    /// Append a pair. Internal keys must come in order.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8], policy: &mut dyn Policy) -> Result<()> {
        self.put(key, value, policy, |_| ())
    }

    /// Append the first pair of `origin`. If a block begins with it, that block is shared if it comes out
    /// as the origin; returns whether one begins.
    pub(crate) fn add_first(
        &mut self,
        (key, value): (&[u8], &[u8]),
        (origin, page): (&Origin, usize),
        policy: &mut dyn Policy,
    ) -> Result<bool> {
        let mut begins = false;
        self.put(key, value, policy, |writer| {
            begins = writer.data.entries() == 0;
            if begins {
                writer.origin = Some((origin.clone(), page));
            }
        })?;
        debug_assert!(!begins || self.entries > 0, "the pair is added");
        Ok(begins)
    }

    #[inline(always)]
    fn put(
        &mut self,
        key: &[u8],
        value: &[u8],
        policy: &mut dyn Policy,
        before: impl FnOnce(&mut TableWriter),
    ) -> Result<()> {
        self.check();
        if self.entries > 0 && key::compare(&self.last_key, key).is_ge() {
            let message = "keys out of order: what this table is made from is damaged";
            return Err(Error::corrupt(self.file.name(), self.file.written(), message));
        }
        if self.data.entries() > 0
            && policy.cut_before(&OpenBlock { builder: &self.data, key, value })
        {
            self.end_block(policy)?;
        }
        if let Some(handle) = self.pending.take() {
            self.index_entry(&key::separator(&self.last_key, key), handle);
        }
        let wants_filter = self.options.bloom_bits_per_key.is_some();
        debug_assert_eq!(self.filter.is_some(), wants_filter, "a table is finished once");
        if let Some(filter) = &mut self.filter {
            filter.add(key::user(key));
        }
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        self.entries += 1;
        debug_assert!(self.pending.is_none(), "the index entry is written before the next block");
        before(self);
        self.data.add(key, value);
        if policy.cut_after(self.data.size(), self.options.block_size) {
            self.end_block(policy)?;
        }
        Ok(())
    }

    pub(crate) fn last_key(&self) -> &[u8] {
        assert!(self.entries > 0, "a table without an entry has no last key");
        &self.last_key
    }

    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    /// Size of the finished blocks in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.file.written()
    }

    /// Bytes of the finished blocks that were built from pairs: neither padding nor blocks of other tables.
    pub(crate) fn built(&self) -> u64 {
        self.file.written() - self.unbuilt
    }

    /// End the open data block, if it has an entry.
    pub(crate) fn end_block(&mut self, policy: &mut dyn Policy) -> Result<()> {
        self.check();
        if self.data.entries() == 0 {
            return Ok(());
        }
        assert!(self.pending.is_none(), "the index entry of the previous block would be lost");
        self.blocks.total += 1;
        if self.origin.is_none() || !self.share_origin()? {
            self.pending = Some(self.compress_and_write(BlockKind::Data)?);
            let zeros = policy.padding(self.file.written());
            self.file.append(&vec![0; zeros as usize])?;
            self.unbuilt += zeros;
        }
        if let Some(filter) = &mut self.filter {
            filter.start_block(self.file.written());
        }
        debug_assert_eq!(self.data.entries(), 0, "entries that no block has");
        Ok(())
    }

    /// Share the block that ends with its origin, if it is the same; false if it is not.
    fn share_origin(&mut self) -> Result<bool> {
        let Some((origin, page)) = self.origin.take() else { return Ok(false) };
        debug_assert!(page.is_power_of_two(), "a page of {page} bytes");
        debug_assert!(self.data.entries() > 0, "an empty block does not end");
        let is_same = self.options.compression == Compression::None
            && self.file.written().is_multiple_of(page as u64)
            && self.data.would_be(origin.block.bytes());
        let pages = if is_same { origin.table.pages(origin.handle, page)? } else { None };
        let Some(pages) = pages else {
            self.blocks.different += 1;
            return Ok(false);
        };
        self.share(&origin, &pages)?;
        self.data.clear();
        Ok(true)
    }

    /// No longer expect the open block to come out as its origin; false if that was not expected.
    pub(crate) fn expect_nothing(&mut self) -> bool {
        self.origin.take().is_some()
    }

    /// Append a block of another table as it is; `pages` are its whole pages. No block may be open.
    pub(crate) fn add_block(&mut self, origin: &Origin, pages: &[u8]) -> Result<()> {
        self.check();
        assert_eq!(self.data.entries(), 0, "the open block ends before");
        let damage = |d| origin.table.damage(origin.handle, d);
        let mut pairs = BlockIter::new(origin.block.clone());
        pairs.first().map_err(damage)?;
        let before = self.entries;
        while pairs.valid() {
            let key = pairs.key();
            if self.entries > 0 && key::compare(&self.last_key, key).is_ge() {
                let message = "keys out of order: what this table is made from is damaged";
                return Err(Error::corrupt(self.file.name(), self.file.written(), message));
            }
            if let Some(handle) = self.pending.take() {
                self.index_entry(&key::separator(&self.last_key, key), handle);
            }
            if let Some(filter) = &mut self.filter {
                filter.add(key::user(key));
            }
            self.last_key.clear();
            self.last_key.extend_from_slice(key);
            self.entries += 1;
            pairs.next().map_err(damage)?;
        }
        assert!(self.entries > before, "a block without an entry");
        self.blocks.total += 1;
        self.share(origin, pages)?;
        if let Some(filter) = &mut self.filter {
            filter.start_block(self.file.written());
        }
        self.check();
        Ok(())
    }

    /// Append the pages of a block of another table; its index entry is due.
    fn share(&mut self, origin: &Origin, pages: &[u8]) -> Result<()> {
        assert!(self.pending.is_none(), "the index entry of the previous block would be lost");
        debug_assert!(pages.len() >= origin.handle.size as usize + TRAILER, "the whole block");
        let handle = Handle { offset: self.file.written(), size: origin.handle.size };
        self.file.append_shared(origin.table.file(), origin.handle.offset, pages)?;
        self.pending = Some(handle);
        self.blocks.reused += 1;
        self.unbuilt += pages.len() as u64;
        Ok(())
    }

    /// The data blocks written so far.
    pub(crate) fn blocks(&self) -> Blocks {
        self.blocks
    }

    /// Bytes that were taken from other tables; complete when the table is finished.
    pub(crate) fn reused(&self) -> AppendCounts {
        self.file.reused()
    }

    /// Pairs in the open block, and its size in bytes if it ended here.
    pub(crate) fn open_block(&self) -> (usize, usize) {
        (self.data.entries(), self.data.size())
    }

    /// Write the rest of the table; the file is then complete, but not synced. Returns its size in bytes.
    pub(crate) fn finish(&mut self, policy: &mut dyn Policy) -> Result<u64> {
        assert!(self.index.entries() as u64 <= self.entries, "a block without an entry");
        self.end_block(policy)?;
        let mut metaindex = BlockBuilder::new(self.options.restart_interval);
        if let Some(filter) = self.filter.take() {
            let handle = write_block(&mut self.file, &filter.finish(), 0)?;
            let mut value = Vec::new();
            handle.put(&mut value);
            metaindex.add(FILTER_NAME, &value);
        }
        // Takes the place of a data block, to be compressed and written like one.
        assert_eq!(self.data.entries(), 0, "entries that no block has");
        self.data = metaindex;
        let metaindex = self.compress_and_write(BlockKind::Data)?;
        if let Some(handle) = self.pending.take() {
            self.index_entry(&key::successor(&self.last_key), handle);
        }
        assert!(self.entries == 0 || self.index.entries() > 0, "blocks without an index entry");
        let index = self.compress_and_write(BlockKind::Index)?;
        assert!(metaindex.offset + metaindex.size < index.offset, "in the order of the footer");
        self.file.append(&Footer { metaindex, index }.encoded())?;
        let end = index.offset + index.size + (TRAILER + FOOTER) as u64;
        assert_eq!(self.file.written(), end, "the footer is not where readers look");
        self.file.flush()?;
        Ok(self.file.written())
    }

    pub(crate) fn sync(&mut self) -> Result<()> {
        assert!(self.pending.is_none() && self.data.entries() == 0, "the table is not finished");
        self.file.sync()
    }

    fn index_entry(&mut self, key: &[u8], handle: Handle) {
        debug_assert!(key::compare(&self.last_key, key).is_le(), "seeks would pass the block");
        let mut value = Vec::with_capacity(20);
        debug_assert!(handle.offset < self.file.written(), "a block that is not written");
        handle.put(&mut value);
        self.index.add(key, &value);
    }

    fn compress_and_write(&mut self, kind: BlockKind) -> Result<Handle> {
        let builder = match kind {
            BlockKind::Data => &mut self.data,
            BlockKind::Index => &mut self.index,
        };
        let raw = builder.finish();
        assert!(raw.len() >= 4, "a block ends with the number of its restarts");
        let handle = match self.options.compression {
            Compression::None => write_block(&mut self.file, raw, 0)?,
            Compression::Snappy => {
                self.compressed.resize(snap::raw::max_compress_len(raw.len()), 0);
                match self.compressor.compress(raw, &mut self.compressed) {
                    Ok(n) if n < raw.len() - raw.len() / 8 => {
                        write_block(&mut self.file, &self.compressed[..n], 1)?
                    }
                    // Too large for Snappy, or not worth it.
                    _ => write_block(&mut self.file, raw, 0)?,
                }
            }
        };
        builder.clear();
        let end = handle.offset + handle.size + TRAILER as u64;
        debug_assert_eq!(end, self.file.written(), "something follows the block");
        Ok(handle)
    }
}

enum BlockKind {
    Data,
    Index,
}

fn write_block(file: &mut Writer, contents: &[u8], kind: u8) -> Result<Handle> {
    assert!(kind <= 1, "readers do not know this compression");
    let handle = Handle { offset: file.written(), size: contents.len() as u64 };
    file.append(contents)?;
    let crc = crc32c::crc32c_append(crc32c::crc32c(contents), &[kind]);
    let mut trailer = [kind, 0, 0, 0, 0];
    trailer[1..].copy_from_slice(&masked(crc).to_le_bytes());
    file.append(&trailer)?;
    assert_eq!(handle.offset + handle.size + TRAILER as u64, file.written(), "where readers look");
    Ok(handle)
}
