//! The map from each page to the slot of its newest data.

use std::io::{self, Read, Write};

/// Instead of a slot: the page reads as zeros.
pub const NONE: u32 = u32::MAX;

/// Entries that are allocated together.
const PAGES_OF_PART: usize = 1024;

/// The slot of each page. A part of the table takes memory once one of its pages has data.
#[derive(Clone)]
pub struct SlotTable {
    parts: Vec<Option<Box<[u32]>>>,
    pages: u32,
}

impl SlotTable {
    /// A table of `pages` pages without data.
    #[must_use]
    pub fn new(pages: u32) -> SlotTable {
        SlotTable { parts: vec![None; (pages as usize).div_ceil(PAGES_OF_PART)], pages }
    }

    /// Number of pages.
    #[must_use]
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// The slot of `lpn`, or [`NONE`].
    #[must_use]
    pub fn slot(&self, lpn: u32) -> u32 {
        debug_assert!(lpn < self.pages, "page {lpn} is beyond the drive");
        let part = &self.parts[lpn as usize / PAGES_OF_PART];
        part.as_ref().map_or(NONE, |slots| slots[lpn as usize % PAGES_OF_PART])
    }

    /// Set the slot of `lpn`. Returns the previous one.
    pub fn replace(&mut self, lpn: u32, slot: u32) -> u32 {
        debug_assert!(lpn < self.pages, "page {lpn} is beyond the drive");
        let part = &mut self.parts[lpn as usize / PAGES_OF_PART];
        if part.is_none() && slot == NONE {
            return NONE;
        }
        let slots = part.get_or_insert_with(|| vec![NONE; PAGES_OF_PART].into());
        std::mem::replace(&mut slots[lpn as usize % PAGES_OF_PART], slot)
    }

    /// The pages with data, in ascending order, and their slots.
    pub fn used(&self) -> impl Iterator<Item = (u32, u32)> {
        let parts = (0u32..).step_by(PAGES_OF_PART).zip(&self.parts);
        let slots = parts.flat_map(|(first, part)| (first..).zip(part.iter().flatten().copied()));
        slots.filter(|&(_, slot)| slot != NONE)
    }

    /// Number of bytes that [`SlotTable::write`] writes for `pages` pages.
    #[must_use]
    pub fn file_bytes(pages: u32) -> u64 {
        size_of::<u32>() as u64 * u64::from(pages)
    }

    /// Write the slots of all pages, 4 bytes each, little-endian.
    ///
    /// # Errors
    /// `sink` fails.
    pub fn write(&self, sink: &mut dyn Write) -> io::Result<()> {
        let empty: Box<[u32]> = vec![NONE; PAGES_OF_PART].into();
        let mut left = self.pages as usize;
        for part in &self.parts {
            let count = left.min(PAGES_OF_PART);
            let slots = &part.as_ref().unwrap_or(&empty)[..count];
            sink.write_all(&slots.iter().flat_map(|slot| slot.to_le_bytes()).collect::<Vec<u8>>())?;
            left -= count;
        }
        Ok(())
    }

    /// Read a table of `pages` pages that [`SlotTable::write`] has written.
    ///
    /// # Errors
    /// `source` fails, or ends too early.
    pub fn read(pages: u32, source: &mut dyn Read) -> io::Result<SlotTable> {
        let mut table = SlotTable::new(pages);
        let mut bytes = [0; size_of::<u32>() * PAGES_OF_PART];
        for first in (0..pages).step_by(PAGES_OF_PART) {
            let count = (pages - first).min(PAGES_OF_PART as u32);
            let part = &mut bytes[..size_of::<u32>() * count as usize];
            source.read_exact(part)?;
            for (lpn, word) in (first..).zip(part.chunks_exact(size_of::<u32>())) {
                table.replace(lpn, u32::from_le_bytes(word.try_into().expect("four bytes")));
            }
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of `pages` pages, of which those in `used` have data.
    fn table(pages: u32, used: &[(u32, u32)]) -> SlotTable {
        let mut table = SlotTable::new(pages);
        for &(lpn, slot) in used {
            assert_eq!(table.replace(lpn, slot), NONE);
        }
        table
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let used = [(0, 7), (1023, 0), (1024, 3), (4099, 1)];
        for pages in [4100, 4101, 6000] {
            let mut bytes = Vec::new();
            table(pages, &used).write(&mut bytes).expect("memory");
            assert_eq!(bytes.len() as u64, SlotTable::file_bytes(pages));
            let read = SlotTable::read(pages, &mut &bytes[..]).expect("whole");
            assert_eq!(read.used().collect::<Vec<_>>(), used);
            assert_eq!(read.slot(1), NONE);
            bytes.pop();
            assert!(SlotTable::read(pages, &mut &bytes[..]).is_err());
        }
    }

    #[test]
    fn pages_without_data_take_no_memory() {
        let mut table = table(1 << 20, &[(5000, 9)]);
        assert_eq!(table.replace(7, NONE), NONE);
        assert_eq!(table.parts.iter().flatten().count(), 1);
        assert_eq!(table.replace(5000, NONE), 9);
        assert_eq!(table.used().count(), 0);
    }
}
