//! Reads a table.

use super::index::Index;
use crate::error::{Error, Result};
use crate::format::block::{Block, BlockIter};
use crate::format::coding::{fixed32, masked};
use crate::format::filter::{FILTER_NAME, FilterReader};
use crate::format::footer::{FOOTER, Footer, Handle, TRAILER};
use crate::format::order::Order;
use crate::format::{Damage, bloom};
use crate::lru::Lru;
use crate::options::ReadOptions;
use crate::vfs::region::{Piece, Region};
use crate::vfs::{Reader, memory};
use std::sync::{Arc, Mutex};

/// Blocks of all tables, by table number and offset.
pub(crate) type BlockCache = Mutex<Lru<Block>>;

/// An open table.
pub(crate) struct Table {
    file: Reader,
    region: Option<Arc<Region>>,
    number: u64,
    size: u64,
    index: Index,
    filter: Option<FilterReader>,
    /// An upper bound of the end of the data blocks.
    metaindex: Handle,
    /// The offset of the filter, if the metaindex names one.
    filter_at: Option<u64>,
    cache: Arc<BlockCache>,
    order: Order,
}

impl Table {
    /// Open the table in `file`; `size` is its size in bytes by the manifest.
    pub(crate) fn open(
        file: Reader,
        number: u64,
        size: u64,
        verify: bool,
        cache: Arc<BlockCache>,
        order: Order,
    ) -> Result<Table> {
        let length = file.len()?;
        if length != size {
            let message = format!("a table of {length} bytes, its manifest says {size}");
            return Err(Error::corrupt(file.name(), length.min(size), message));
        }
        if size < FOOTER as u64 {
            return Err(Error::corrupt(file.name(), 0, "too short to be a table"));
        }
        let at = size - FOOTER as u64;
        let footer = Footer::decoded(&file.read_exact(at, FOOTER)?)
            .map_err(|d| Error::corrupt(file.name(), at + d.offset as u64, d.message))?;
        let region = file.region().filter(|r| r.len() as u64 >= size);
        let empty = Block::new(Piece::from(vec![0; 4]))
            .map_err(|d| Error::corrupt(file.name(), 0, d.message))?;
        let metaindex = footer.metaindex;
        let mut table = Table {
            file,
            region,
            number,
            size,
            index: Index::new(empty),
            filter: None,
            metaindex,
            filter_at: None,
            cache,
            order,
        };
        let index = table.block_of(footer.index, table.read(footer.index, verify)?)?;
        let index = order.sort_block(index, true).map_err(|d| table.index_damage(d))?;
        table.index = Index::new(index);
        // A filter knows the keys as they are stored.
        if order == Order::Bytewise {
            table.read_filter(verify)?;
        }
        debug_assert!(table.filter.is_none() || table.filter_at.is_some(), "a filter of no offset");
        debug_assert_eq!(table.size, length, "a table is as long as its file");
        Ok(table)
    }

    /// Read the filter. It is optional: without a usable filter, every block is read.
    fn read_filter(&mut self, verify: bool) -> Result<()> {
        match self.find_filter(verify) {
            Err(e) if verify => Err(e),
            _ => Ok(()),
        }
    }

    fn find_filter(&mut self, verify: bool) -> Result<()> {
        let contents = self.read(self.metaindex, verify)?;
        let mut entries = BlockIter::plain(self.block_of(self.metaindex, contents)?);
        let to_error = |d| self.damage(self.metaindex, d);
        entries.first().map_err(to_error)?;
        while entries.valid() {
            if entries.key() == FILTER_NAME
                && let Some((handle, _)) = Handle::get(entries.value(), 0)
            {
                self.filter_at = Some(handle.offset);
                self.filter = FilterReader::new(self.read(handle, verify)?);
                return Ok(());
            }
            entries.next().map_err(to_error)?;
        }
        Ok(())
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The name of its file, for messages.
    pub(crate) fn name(&self) -> &str {
        self.file.name()
    }

    /// Whether the block at `handle` may hold the key by the filter; true without a filter.
    pub(crate) fn filter_lets_in(&self, handle: Handle, user: &[u8]) -> bool {
        let hash = || bloom::key_hash(user);
        self.filter.as_ref().is_none_or(|f| f.may_contain(handle.offset, hash()))
    }

    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    /// An upper bound of the end of the data blocks, in bytes.
    pub(crate) fn data_end(&self) -> u64 {
        self.metaindex.offset
    }

    /// Where bytes other than zero lie between or after these data blocks: blocks that are missing in the list.
    pub(crate) fn unnamed(&self, blocks: &[Handle]) -> Result<Vec<u64>> {
        debug_assert!(blocks.is_sorted_by_key(|handle| handle.offset), "in the order of the file");
        let end = self.filter_at.unwrap_or(self.metaindex.offset).min(self.size);
        let (mut at, mut offsets) = (0, Vec::new());
        for next in blocks.iter().copied().chain([Handle { offset: end, size: 0 }]) {
            if next.offset > at {
                // Layouts that align blocks leave zeros between them.
                let gap = self.file.read_exact(at, (next.offset - at) as usize)?;
                let first = gap.iter().position(|&byte| byte != 0);
                offsets.extend(first.map(|first| at + first as u64));
            }
            at = at.max(next.offset.saturating_add(next.size).saturating_add(TRAILER as u64));
        }
        assert!(
            offsets.is_sorted() && offsets.iter().all(|&at| at < end),
            "gaps between the blocks"
        );
        Ok(offsets)
    }

    /// The error for damage of a block; it names the file.
    pub(crate) fn damage(&self, handle: Handle, damage: Damage) -> Error {
        Error::corrupt(self.file.name(), handle.offset + damage.offset as u64, damage.message)
    }

    /// The error for damage of the index.
    pub(crate) fn index_damage(&self, damage: Damage) -> Error {
        Error::corrupt(self.file.name(), self.data_end(), format!("index: {}", damage.message))
    }

    fn block_of(&self, handle: Handle, contents: Piece) -> Result<Block> {
        Block::new(contents).map_err(|d| self.damage(handle, d))
    }

    /// The handle in an index entry.
    pub(crate) fn handle(&self, value: &[u8]) -> Result<Handle> {
        match Handle::get(value, 0) {
            Some((handle, _)) => Ok(handle),
            None => Err(self.index_damage(Damage::at(0, "a bad handle"))),
        }
    }

    /// A data block, from the cache if possible.
    pub(crate) fn block(&self, handle: Handle, options: ReadOptions) -> Result<Block> {
        if self.order == Order::Bytewise
            && let Some(contents) = self.mapped(handle, options.verify_checksums)?
        {
            return self.block_of(handle, contents);
        }
        let key = (self.number, handle.offset);
        if let Some(block) = memory::locked(&self.cache).get(key) {
            return Ok(block);
        }
        let block = self.block_of(handle, self.read(handle, options.verify_checksums)?)?;
        let block = self.order.sort_block(block, false).map_err(|d| self.damage(handle, d))?;
        if options.fill_cache {
            memory::locked(&self.cache).insert(key, block.clone(), block.size());
        }
        Ok(block)
    }

    /// The whole pages of a block, checked, if it can be reused as it is: it begins at a page, is not
    /// compressed, and zeros follow it up to the next page.
    pub(crate) fn pages(&self, handle: Handle, page: usize) -> Result<Option<Piece>> {
        debug_assert!(page.is_power_of_two(), "a page of {page} bytes");
        let (start, size) = self.extent(handle)?;
        let (used, length) = (size + TRAILER, (size + TRAILER).next_multiple_of(page));
        if start % page != 0 || (start + length) as u64 > self.data_end() {
            return Ok(None);
        }
        let pages = match &self.region {
            Some(region) => Piece::new(region.clone(), start, start + length),
            None => Piece::from(self.file.read_exact(handle.offset, length)?),
        };
        assert_eq!(pages.len(), length, "the whole pages of the block");
        debug_assert!(used <= length, "a block in its pages");
        self.check(handle, &pages[..used])?;
        let is_padded = pages[size] == 0 && pages[used..].iter().all(|&byte| byte == 0);
        Ok(is_padded.then_some(pages))
    }

    /// Its file, for sharing.
    pub(crate) fn file(&self) -> &Reader {
        &self.file
    }

    /// The range of block and trailer in the file, checked against its size.
    fn extent(&self, handle: Handle) -> Result<(usize, usize)> {
        let end = handle.offset.checked_add(handle.size).and_then(|e| e.checked_add(5));
        match end {
            Some(end) if end <= self.size => Ok((handle.offset as usize, handle.size as usize)),
            _ => Err(Error::corrupt(
                self.file.name(),
                handle.offset.min(self.size),
                format!("a block of {} bytes reaches beyond the file", handle.size),
            )),
        }
    }

    /// An uncompressed block of a file that is in memory, neither copied nor cached.
    #[inline]
    fn mapped(&self, handle: Handle, verify: bool) -> Result<Option<Piece>> {
        let Some(region) = &self.region else { return Ok(None) };
        let (start, size) = self.extent(handle)?;
        debug_assert!(start + size + TRAILER <= region.len(), "the mapping has all of the file");
        if region[start + size] != 0 {
            return Ok(None);
        }
        if verify {
            self.check(handle, &region[start..start + size + TRAILER])?;
        }
        Ok(Some(Piece::new(region.clone(), start, start + size)))
    }

    fn check(&self, handle: Handle, raw: &[u8]) -> Result<()> {
        debug_assert_eq!(raw.len() as u64, handle.size + TRAILER as u64, "a block and its trailer");
        let size = raw.len() - TRAILER;
        if masked(crc32c::crc32c(&raw[..=size])) == fixed32(raw, size + 1) {
            return Ok(());
        }
        Err(Error::corrupt(self.file.name(), handle.offset, "block checksum mismatch"))
    }

    /// The contents of a block, decompressed.
    fn read(&self, handle: Handle, verify: bool) -> Result<Piece> {
        if let Some(contents) = self.mapped(handle, verify)? {
            return Ok(contents);
        }
        let (start, size) = self.extent(handle)?;
        let owned;
        let raw = if let Some(region) = &self.region {
            &region[start..start + size + TRAILER]
        } else {
            owned = self.file.read_exact(handle.offset, size + TRAILER)?;
            &owned[..]
        };
        if verify {
            debug_assert!(size + TRAILER <= raw.len(), "a block without its trailer");
            self.check(handle, raw)?;
        }
        let bad = |message| Error::corrupt(self.file.name(), handle.offset, message);
        match raw[size] {
            0 => Ok(Piece::from(raw[..size].to_vec())),
            1 => {
                let length = snap::raw::decompress_len(&raw[..size]).unwrap_or(usize::MAX);
                // Snappy saves at most 22 bytes of 23: more is damage, not a reason to allocate.
                if length / 24 > size {
                    return Err(bad("a bad length of a compressed block"));
                }
                let contents = snap::raw::Decoder::new().decompress_vec(&raw[..size]);
                let contents = contents.map_err(|_| bad("a bad compressed block"))?;
                debug_assert_eq!(contents.len(), length, "Snappy says how long it is");
                Ok(Piece::from(contents))
            }
            _ => Err(bad("an unknown compression")),
        }
    }

    /// Pass the first entry not below the internal key to `on_entry`, if the filter admits the hash of its
    /// user key.
    pub(crate) fn get<T>(
        &self,
        (target, hash): (&[u8], u32),
        options: ReadOptions,
        on_entry: impl FnOnce(&[u8], &[u8]) -> T,
    ) -> Result<Option<T>> {
        debug_assert_eq!(hash, bloom::key_hash(crate::format::key::user(target)), "another key's");
        let Some(handle) = self.index.find(target).map_err(|d| self.index_damage(d))? else {
            return Ok(None);
        };
        if self.filter.as_ref().is_some_and(|f| !f.may_contain(handle.offset, hash)) {
            return Ok(None);
        }
        let mut entries = BlockIter::new(self.block(handle, options)?);
        entries.seek(target).map_err(|d| self.damage(handle, d))?;
        debug_assert!(
            !entries.valid() || crate::format::key::compare(entries.key(), target).is_ge(),
            "a seek ends at its target or after it"
        );
        Ok(entries.valid().then(|| on_entry(entries.key(), entries.value())))
    }

    /// The approximate offset of the key in the file, in bytes; also if the table does not contain it.
    pub(crate) fn approximate_offset(&self, target: &[u8]) -> Result<u64> {
        let handle = self.index.find(target).map_err(|d| self.index_damage(d))?;
        Ok(handle.map_or(self.data_end(), |handle| handle.offset))
    }
}
