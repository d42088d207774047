//! The data of pages: a sparse file of slots, one page each.

use crate::disk::{Disk, Range, punch};
use crate::table::SlotTable;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

/// No slot: the page reads as zeros.
pub const NONE: u32 = u32::MAX;

/// When fewer slots are ready, this many more are prepared.
const STOCK: usize = 256;

/// A file of slots. A ready slot has space on the disk, so that writing to it cannot fail for lack of space.
pub struct Slots {
    file: Arc<File>,
    page_bytes: usize,
    /// Unused slots that are ready; the first one is used first, so that the file stays short.
    ready: BTreeSet<u32>,
    /// Unused slots that take no space.
    holes: BTreeSet<u32>,
    end: u32,
    /// Slots that the disk is preparing.
    coming: Vec<u32>,
    /// Whether the last attempt to prepare slots has failed.
    is_full: bool,
    /// What is on its way to the disk, by slot, with its position in the order of the disk; and the positions in order.
    waiting: BTreeMap<u32, (u64, Arc<[u8]>)>,
    places: VecDeque<(u64, u32)>,
}

impl Slots {
    /// The slots in the file `path`, which is created if it does not exist; none is in use yet.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: &Path, page_bytes: usize) -> io::Result<Slots> {
        assert!(page_bytes > 0, "pages without bytes");
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        Ok(Slots {
            file: Arc::new(file),
            page_bytes,
            ready: BTreeSet::new(),
            holes: BTreeSet::new(),
            end: 0,
            coming: Vec::new(),
            is_full: false,
            waiting: BTreeMap::new(),
            places: VecDeque::new(),
        })
    }

    /// Mark the slots in `table`, and no others, as in use.
    ///
    /// # Errors
    /// The disk fails.
    pub fn keep_only(&mut self, table: &SlotTable, disk: &Disk) -> io::Result<()> {
        disk.settle()?;
        while disk.next_hold().is_some() {}
        let used = || table.used().map(|(_, slot)| slot);
        self.end = used().max().map_or(0, |slot| slot + 1);
        let mut is_used = vec![false; self.end as usize];
        used().for_each(|slot| is_used[slot as usize] = true);
        self.file.set_len(self.range(self.end).at)?;
        self.holes = (0..self.end).filter(|&slot| !is_used[slot as usize]).collect();
        (self.ready, self.coming, self.is_full) = (BTreeSet::new(), Vec::new(), false);
        (self.waiting, self.places) = (BTreeMap::new(), VecDeque::new());
        self.runs(self.holes.iter().copied()).into_iter().try_for_each(|run| punch(&self.file, run))
    }

    /// Slots whose data are in use, or have not been released yet.
    #[must_use]
    pub fn used(&self) -> u64 {
        let free = self.ready.len() + self.holes.len() + self.coming.len();
        u64::from(self.end) - free as u64
    }

    fn range(&self, slot: u32) -> Range {
        let bytes = self.page_bytes as u64;
        Range { at: u64::from(slot) * bytes, bytes }
    }

    /// Ascending slots as ranges of neighbours.
    fn runs(&self, slots: impl Iterator<Item = u32>) -> Vec<Range> {
        let mut runs: Vec<Range> = Vec::new();
        for range in slots.map(|slot| self.range(slot)) {
            match runs.last_mut().filter(|last| last.at + last.bytes == range.at) {
                Some(last) => last.bytes += range.bytes,
                None => runs.push(range),
            }
        }
        runs
    }

    /// Let the disk write a page to a new slot.
    ///
    /// # Errors
    /// There is no space for it, or the disk fails. Nothing has changed.
    pub fn add(&mut self, page: &[u8], disk: &mut Disk) -> io::Result<u32> {
        assert_eq!(page.len(), self.page_bytes, "it is not a page");
        self.take_held(disk);
        if self.ready.len() < STOCK && self.coming.is_empty() && !self.is_full {
            self.make_ready(STOCK, disk);
        }
        let slot = match self.ready.pop_first() {
            Some(slot) => slot,
            None => self.next_ready(disk)?,
        };
        let page: Arc<[u8]> = page.into();
        while let Some(&(place, slot)) = self.places.front().filter(|&&(at, _)| at <= disk.done()) {
            self.places.pop_front();
            if self.waiting.get(&slot).is_some_and(|waits| waits.0 == place) {
                self.waiting.remove(&slot);
            }
        }
        let place = disk.place() + 1;
        self.waiting.insert(slot, (place, Arc::clone(&page)));
        self.places.push_back((place, slot));
        disk.write(&self.file, self.range(slot).at, page)?;
        Ok(slot)
    }

    /// Wait until a slot is ready.
    fn next_ready(&mut self, disk: &mut Disk) -> io::Result<u32> {
        let mut failure = io::Error::from(io::ErrorKind::StorageFull);
        // What is being prepared, or else a single one: a full disk may have space for no more.
        for _ in 0..2 {
            if self.coming.is_empty() {
                self.make_ready(1, disk);
            }
            disk.settle()?;
            if let Some(error) = self.take_held(disk) {
                failure = error;
            }
            if let Some(slot) = self.ready.pop_first() {
                return Ok(slot);
            }
        }
        Err(failure)
    }

    /// Let the disk prepare `count` slots, or fewer.
    fn make_ready(&mut self, count: usize, disk: &mut Disk) {
        while let Some(slot) = self.holes.pop_first() {
            self.coming.push(slot);
            if self.coming.len() == count {
                break;
            }
        }
        if self.coming.is_empty() {
            let end = self.end.saturating_add(count as u32);
            self.coming = (self.end..end).collect();
            self.end = end;
        }
        if !self.coming.is_empty() {
            let runs = self.runs(self.coming.iter().copied());
            disk.hold(&self.file, runs, self.page_bytes as u64);
        }
    }

    /// Take the slots that the disk has prepared. Returns why there are none, if it has failed.
    fn take_held(&mut self, disk: &Disk) -> Option<io::Error> {
        let hold = disk.next_hold()?;
        let mut slots = std::mem::take(&mut self.coming);
        let lacking = slots.split_off(hold.as_ref().map_or(0, |&count| count));
        self.is_full = !lacking.is_empty();
        self.holes.extend(lacking);
        self.ready.extend(slots);
        hold.err()
    }

    /// Read from byte `from` of the page in `slot` on.
    ///
    /// # Errors
    /// The disk fails.
    pub fn read(&self, slot: u32, from: usize, bytes: &mut [u8]) -> io::Result<()> {
        debug_assert!(from + bytes.len() <= self.page_bytes, "beyond a page");
        if slot == NONE {
            bytes.fill(0);
            return Ok(());
        }
        debug_assert!(slot < self.end, "there is no slot {slot}");
        if let Some((_, page)) = self.waiting.get(&slot) {
            bytes.copy_from_slice(&page[from..from + bytes.len()]);
            return Ok(());
        }
        self.file.read_exact_at(bytes, self.range(slot).at + from as u64)
    }

    /// Release the data in `slot`; its space will be used again.
    pub fn free(&mut self, slot: u32) {
        debug_assert!(slot < self.end && !self.ready.contains(&slot), "slot {slot} is free");
        self.ready.insert(slot);
    }

    /// Release the data in `slots`; the disk gets their space back, in one piece for neighbours.
    pub fn give_back(&mut self, mut slots: Vec<u32>, disk: &mut Disk) {
        slots.sort_unstable();
        debug_assert!(slots.is_sorted_by(|a, b| a < b), "a slot is given back twice");
        for run in self.runs(slots.iter().copied()) {
            disk.punch(&self.file, run);
        }
        for slot in slots {
            let is_new = slot < self.end && self.holes.insert(slot);
            debug_assert!(is_new, "slot {slot} is a hole");
            self.is_full = false;
        }
    }

    /// Give the space of at most `most` free slots back to the disk, and wait until it has it.
    ///
    /// # Errors
    /// The disk fails.
    pub fn give_back_ready(&mut self, most: usize, disk: &mut Disk) -> io::Result<()> {
        let slots = (0..most).map_while(|_| self.ready.pop_last()).collect();
        self.give_back(slots, disk);
        // They are for the log.
        self.is_full = true;
        disk.settle()
    }
}
