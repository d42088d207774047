//! The data of pages: a sparse file of slots, one page each.

use crate::disk::{Disk, Range};
use crate::table::{NONE, SlotTable};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

/// If fewer slots are ready, this many more are prepared.
const STOCK: usize = 256;

/// Ready slots beyond these are released when the disk has nothing else to do.
const MOST_READY: usize = 4 * STOCK;

/// A file of slots. A ready slot has space on the disk, so that writing to it cannot fail for lack of space.
pub struct Slots {
    file: Arc<File>,
    page_bytes: usize,
    /// Unused slots with space on the disk. The lowest one is used first, so that the file stays short.
    ready: BTreeSet<u32>,
    /// Unused slots without space on the disk.
    holes: BTreeSet<u32>,
    /// Those of `holes` that may still have space from an earlier use.
    unreleased: BTreeSet<u32>,
    /// Number of slots in the file.
    end: u32,
    /// Slots for which the disk is reserving space.
    coming: Vec<u32>,
    /// Whether the disk had no space for all slots when they were last prepared.
    is_full: bool,
    /// Pages that the disk has not yet written, by slot, with the position of the write in the queue of the disk.
    waiting: BTreeMap<u32, (u64, Arc<[u8]>)>,
    /// These positions in ascending order, with their slots.
    positions: VecDeque<(u64, u32)>,
}

impl Slots {
    /// Open the file `path`, created if it does not exist. No slot is in use until [`Slots::keep_only`].
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
            unreleased: BTreeSet::new(),
            end: 0,
            coming: Vec::new(),
            is_full: false,
            waiting: BTreeMap::new(),
            positions: VecDeque::new(),
        })
    }

    /// Keep the slots in `table` in use. [`Slots::release_some`] releases the space of the others.
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
        (self.waiting, self.positions) = (BTreeMap::new(), VecDeque::new());
        self.unreleased.clone_from(&self.holes);
        Ok(())
    }

    /// Number of slots that have space on the disk, whether they are in use or not.
    #[must_use]
    pub fn allocated(&self) -> u64 {
        let released = self.holes.len() - self.unreleased.len();
        u64::from(self.end) - released as u64
    }

    /// If the disk has nothing to do, let it release the space of some neighbouring slots that are not needed. Returns
    /// whether there were any. A file system may take milliseconds for each hole, during which the next write waits.
    pub fn release_some(&mut self, disk: &mut Disk) -> bool {
        if disk.done() < disk.position() {
            return false;
        }
        let mut slots = take_last_run(&mut self.unreleased, usize::MAX);
        if slots.is_empty() {
            let surplus = self.ready.len().saturating_sub(MOST_READY);
            slots = take_last_run(&mut self.ready, surplus);
            self.holes.extend(slots.clone());
            self.is_full &= slots.is_empty();
        }
        let runs = self.runs(slots);
        runs.iter().for_each(|&run| disk.punch(&self.file, run));
        !runs.is_empty()
    }

    fn range(&self, slot: u32) -> Range {
        let bytes = self.page_bytes as u64;
        Range { at: u64::from(slot) * bytes, bytes }
    }

    /// Merge ascending slots into ranges of the file.
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

    /// Queue a write of `page` to a free slot. Returns the slot.
    ///
    /// # Errors
    /// There is no space for the page, or the disk fails. Nothing is stored.
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
        while let Some(&(position, slot)) =
            self.positions.front().filter(|&&(at, _)| at <= disk.done())
        {
            self.positions.pop_front();
            if self.waiting.get(&slot).is_some_and(|waits| waits.0 == position) {
                self.waiting.remove(&slot);
            }
        }
        let position = disk.position() + 1;
        self.waiting.insert(slot, (position, Arc::clone(&page)));
        self.positions.push_back((position, slot));
        disk.write(&self.file, self.range(slot).at, page)?;
        Ok(slot)
    }

    /// Wait until a slot is ready.
    fn next_ready(&mut self, disk: &mut Disk) -> io::Result<u32> {
        let mut failure = io::Error::from(io::ErrorKind::StorageFull);
        // First those that are being prepared, then a single one: a full disk may have space for only one.
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

    /// Let the disk reserve space for at most `count` slots.
    fn make_ready(&mut self, count: usize, disk: &mut Disk) {
        while let Some(slot) = self.holes.pop_first() {
            self.unreleased.remove(&slot);
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

    /// Take the slots for which the disk has reserved space. Returns the error if there are none.
    fn take_held(&mut self, disk: &Disk) -> Option<io::Error> {
        let hold = disk.next_hold()?;
        let mut slots = std::mem::take(&mut self.coming);
        let lacking = slots.split_off(hold.as_ref().map_or(0, |&count| count));
        self.is_full = !lacking.is_empty();
        self.holes.extend(lacking);
        self.ready.extend(slots);
        hold.err()
    }

    /// Read the page in `slot` from byte `from` on.
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

    /// Free `slot`, but keep its space for another page.
    pub fn free(&mut self, slot: u32) {
        debug_assert!(slot < self.end && !self.ready.contains(&slot), "slot {slot} is free");
        self.ready.insert(slot);
    }

    /// Free `slots` and release their space on the disk.
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

    /// Release the space of at most `most` free slots on the disk, and wait until that is done.
    ///
    /// # Errors
    /// The disk fails.
    pub fn give_back_ready(&mut self, most: usize, disk: &mut Disk) -> io::Result<()> {
        let slots = (0..most).map_while(|_| self.ready.pop_last()).collect();
        self.give_back(slots, disk);
        // Their space is for the log: do not prepare slots with it.
        self.is_full = true;
        disk.settle()
    }
}

/// Remove the last slot of a set and the slots before it without a gap, at most this many. Returns them in ascending
/// order.
fn take_last_run(slots: &mut BTreeSet<u32>, most: usize) -> std::ops::Range<u32> {
    let end = if most > 0 { slots.last().map_or(0, |&last| last + 1) } else { 0 };
    let mut first = end;
    while first > 0 && ((end - first) as usize) < most && slots.remove(&(first - 1)) {
        first -= 1;
    }
    first..end
}
