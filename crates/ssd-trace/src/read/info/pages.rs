//! History of every page: a table with 16 bytes per page in areas of 16 pages.

use super::shape::Distribution;
use super::{PAGE_BYTES, PAGE_SECTORS, share};
use crate::read::worker::Consumer;
use serde::Serialize;
use ssd_core::host::request::Op;
use ssd_core::host::source::SourceError;
use ssd_core::memory::{huge_reserved, prefetch};
use ssd_core::metrics::histogram::Histogram;

mod survey;
#[cfg(test)]
mod tests;

pub(crate) use survey::{Footprint, Hot, TouchedPages};

/// Number of requests whose pages are fetched from memory together.
const TOGETHER: usize = 64;
/// Pages of an area (64 KiB of addresses). The size keeps the index small, and limits the memory of untouched pages
/// around scattered requests.
const AREA_PAGES: u64 = 16;
/// Areas for which memory is reserved at once: 32 MiB, which the system provides as it is used, nearly all of it in
/// huge pages if available.
const SLAB_AREAS: usize = 1 << 17;
/// Bits of the number of the last write.
const NUMBER_BITS: u32 = 36;
/// Bits for the time of the last write, nanoseconds: 208 days.
const TIME_BITS: u32 = 54;
/// A page is just written if its last write is among this many last page writes.
pub(crate) const RECENT_PAGES: u64 = 64;

/// A page. `count` has its number of writes, above the number of its last write among all page writes. `state` has the
/// time of that write, above its sectors ever written (8 bits), read, mapped.
#[derive(Clone, Copy, Default)]
struct Page {
    count: u64,
    state: u64,
}

const _: () = assert!(size_of::<Page>() == 16, "the memory that is promised");
const MAPPED: u64 = 1;
const READ: u64 = 2;
const SECTORS_AT: u32 = 2;
const TIME_AT: u32 = 10;
const MAX_WRITES: u64 = u64::MAX >> NUMBER_BITS;

impl Page {
    const fn writes(self) -> u64 {
        self.count >> NUMBER_BITS
    }
    const fn number(self) -> u64 {
        self.count & ((1 << NUMBER_BITS) - 1)
    }
    const fn time(self) -> u64 {
        self.state >> TIME_AT
    }
    const fn sectors_written(self) -> u32 {
        ((self.state >> SECTORS_AT) & 0xff).count_ones()
    }
    const fn is(self, flag: u64) -> bool {
        self.state & flag != 0
    }
}

type Area = [Page; AREA_PAGES as usize];

/// Memory of an area, including the number of its volume.
const AREA_BYTES: usize = size_of::<Area>() + size_of::<u16>();

/// A slot of the index.
#[derive(Clone, Copy)]
struct Slot {
    area: u64,
    volume: u16,
    /// Number of the area in the slabs, or `FREE`.
    index: u32,
}

const FREE: u32 = u32::MAX;
const EMPTY: Slot = Slot { area: 0, volume: 0, index: FREE };

/// Updates.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Updates {
    pub(crate) page_writes: u64,
    pub(crate) rewrites: u64,
    pub(crate) rewrite_share: Option<f64>,
    pub(crate) interval_pages: Distribution,
    pub(crate) interval_ns: Distribution,
}

/// Discards.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Discards {
    pub(crate) nominal_bytes: u64,
    pub(crate) effective_bytes: u64,
    pub(crate) effective_share: Option<f64>,
    pub(crate) effective_mean_bytes: Option<f64>,
    pub(crate) without_effect: u64,
}

/// A read, write or discard.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub(super) op: Op,
    pub(super) volume: u16,
    /// First sector.
    pub(super) sector: u64,
    /// The sector after the last one.
    pub(super) end: u64,
    /// Nanoseconds after the first request.
    pub(super) after: u64,
}

pub(super) struct Pages {
    slots: Vec<Slot>,
    /// All slabs except the last are full.
    slabs: Vec<Vec<Area>>,
    /// The volume of each area.
    volumes: Vec<u16>,
    /// The area of the last search, because most requests are near the previous one.
    last: Slot,
    limit: u64,
    page_reads: u64,
    reads_after_write: u64,
    reads: u64,
    /// Reads whose first page was just written.
    reads_recent: u64,
    page_writes: u64,
    rewrites: u64,
    interval_pages: Histogram,
    interval_ns: Histogram,
    pages_unmapped: u64,
    with_effect: u64,
}

impl Consumer for Pages {
    type Item = Access;

    /// Adds accesses to the table.
    ///
    /// # Errors
    /// The touched pages take more memory than is allowed or available, or a count or time exceeds the range of the
    /// table.
    fn consume(&mut self, accesses: &[Access]) -> Result<(), SourceError> {
        accesses.chunks(TOGETHER).try_for_each(|chunk| self.settle(chunk))
    }
}

impl Pages {
    pub(super) fn new(limit: u64) -> Pages {
        Pages {
            slots: vec![EMPTY; 1 << 10],
            slabs: Vec::new(),
            volumes: Vec::new(),
            last: EMPTY,
            limit,
            page_reads: 0,
            reads_after_write: 0,
            reads: 0,
            reads_recent: 0,
            page_writes: 0,
            rewrites: 0,
            interval_pages: Histogram::new(),
            interval_ns: Histogram::new(),
            pages_unmapped: 0,
            with_effect: 0,
        }
    }

    /// Returns the size of the table, bytes.
    pub(super) fn bytes(&self) -> u64 {
        (self.slots.len() * size_of::<Slot>() + self.volumes.len() * AREA_BYTES) as u64
    }

    /// Returns the first slot of the search for an area.
    fn home(slots: &[Slot], volume: u16, area: u64) -> usize {
        let mixed = (area ^ (u64::from(volume) << 48)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & (slots.len() - 1)
    }

    /// Returns the slot of an area in the index, or the free slot for it.
    fn place(slots: &[Slot], volume: u16, area: u64) -> usize {
        let mask = slots.len() - 1;
        let mut at = Pages::home(slots, volume, area);
        while slots[at].index != FREE && (slots[at].area, slots[at].volume) != (area, volume) {
            at = (at + 1) & mask;
        }
        at
    }

    /// Returns the number of the area, if any page in it was touched.
    #[inline]
    fn find(&mut self, volume: u16, area: u64) -> Option<usize> {
        if (self.last.area, self.last.volume) != (area, volume) || self.last.index == FREE {
            let slot = self.slots[Pages::place(&self.slots, volume, area)];
            if slot.index == FREE {
                return None;
            }
            self.last = slot;
        }
        Some(self.last.index as usize)
    }

    /// Returns the number of the area, which is created if necessary.
    fn touch(&mut self, volume: u16, area: u64) -> Result<usize, SourceError> {
        if let Some(index) = self.find(volume, area) {
            return Ok(index);
        }
        self.create(volume, area)
    }

    /// Creates an area that is not in the index.
    #[inline(never)]
    fn create(&mut self, volume: u16, area: u64) -> Result<usize, SourceError> {
        let index = self.volumes.len();
        if self.bytes() + AREA_BYTES as u64 > self.limit || index == FREE as usize {
            return Err(self.full());
        }
        if index == self.slabs.len() * SLAB_AREAS {
            self.slabs.push(huge_reserved(SLAB_AREAS).map_err(|_| self.refused())?);
        }
        if 2 * index == self.slots.len() {
            self.widen()?;
        }
        let at = Pages::place(&self.slots, volume, area);
        self.slots[at] = Slot { area, volume, index: index as u32 };
        self.slabs[index / SLAB_AREAS].push([Page::default(); AREA_PAGES as usize]);
        self.volumes.push(volume);
        Ok(index)
    }

    /// Doubles the index, which is at most half full.
    #[cold]
    fn widen(&mut self) -> Result<(), SourceError> {
        let slots = 2 * self.slots.len();
        if self.bytes() + (slots * size_of::<Slot>()) as u64 > self.limit {
            return Err(self.full());
        }
        let mut wider = huge_reserved(slots).map_err(|_| self.refused())?;
        wider.resize(slots, EMPTY);
        for slot in self.slots.iter().filter(|slot| slot.index != FREE) {
            let at = Pages::place(&wider, slot.volume, slot.area);
            wider[at] = *slot;
        }
        self.slots = wider;
        Ok(())
    }

    /// Returns the error for an area beyond the allowed memory.
    #[cold]
    fn full(&self) -> SourceError {
        let mib = self.limit >> 20;
        self.no_memory(
            &format!("more than the {mib} MiB of memory allowed"),
            " or allow more (--memory)",
        )
    }

    /// Returns the error for an area beyond the memory of the system.
    #[cold]
    fn refused(&self) -> SourceError {
        self.no_memory("more memory than the system provides", "")
    }

    fn no_memory(&self, limit: &str, remedy: &str) -> SourceError {
        let areas = self.volumes.len();
        SourceError(format!(
            "the trace touches more than {areas} areas of 64 KiB, and the statistics of its pages need 16 bytes a \
             page: {limit}; use a part of the trace (workload.from, workload.until){remedy}"
        ))
    }

    /// Returns the areas that contain pages `first..until`.
    fn areas_of(first: u64, until: u64) -> std::ops::Range<u64> {
        first / AREA_PAGES..until.div_ceil(AREA_PAGES)
    }

    /// Returns the pages of `first..until` within an area, as positions in it.
    fn within(area: u64, first: u64, until: u64) -> std::ops::Range<usize> {
        let start = area * AREA_PAGES;
        let low = first.max(start) - start;
        let high = until.min(start + AREA_PAGES) - start;
        low as usize..high as usize
    }

    /// Adds at most [`TOGETHER`] accesses to the table.
    ///
    /// Their pages are scattered in memory, and the index that locates them is not in the caches either. Independent
    /// fetches overlap. Each step is therefore done for all accesses before the next one: fetch the slots, find the
    /// areas, fetch the pages, change them.
    fn settle(&mut self, accesses: &[Access]) -> Result<(), SourceError> {
        let area_of = |access: &Access| access.sector / PAGE_SECTORS / AREA_PAGES;
        let slots = self.slots.as_slice();
        for access in accesses {
            prefetch(slots, Pages::home(slots, access.volume, area_of(access)));
        }
        let mut areas = [FREE; TOGETHER];
        for (area, access) in areas.iter_mut().zip(accesses) {
            *area = slots[Pages::place(slots, access.volume, area_of(access))].index;
            let slab = self.slabs.get(*area as usize / SLAB_AREAS);
            if let Some(pages) = slab.and_then(|slab| slab.get(*area as usize % SLAB_AREAS)) {
                for sector in [access.sector, access.end - 1] {
                    prefetch(pages, (sector / PAGE_SECTORS % AREA_PAGES) as usize);
                }
            }
        }
        for (&area, access) in areas.iter().zip(accesses) {
            self.last = Slot { area: area_of(access), volume: access.volume, index: area };
            let Access { op, volume, sector, end, after } = *access;
            match op {
                Op::Read => self.read(volume, sector, end)?,
                Op::Write => self.write(volume, sector, end, after)?,
                Op::Trim => self.trim(volume, sector.div_ceil(PAGE_SECTORS), end / PAGE_SECTORS),
                Op::Flush | Op::Copy => unreachable!("it has no pages"),
            }
        }
        Ok(())
    }

    /// Records a read of the sectors `sector..end`.
    fn read(&mut self, volume: u16, sector: u64, end: u64) -> Result<(), SourceError> {
        let (first, until) = (sector / PAGE_SECTORS, end.div_ceil(PAGE_SECTORS));
        let (mut start, number) = (None, self.page_writes);
        for area in Pages::areas_of(first, until) {
            let index = self.touch(volume, area)?;
            let pages = &mut self.slabs[index / SLAB_AREAS][index % SLAB_AREAS];
            for page in &mut pages[Pages::within(area, first, until)] {
                page.state |= READ;
                self.reads_after_write += page.state & MAPPED;
                start.get_or_insert(*page);
            }
        }
        let recent = |page: Page| page.is(MAPPED) && number - page.number() <= RECENT_PAGES;
        self.reads_recent += u64::from(start.is_some_and(recent));
        self.reads += 1;
        self.page_reads += until - first;
        Ok(())
    }

    /// Records a write of the sectors `sector..end`, `after` nanoseconds after the first request.
    fn write(&mut self, volume: u16, sector: u64, end: u64, after: u64) -> Result<(), SourceError> {
        let (first, until) = (sector / PAGE_SECTORS, end.div_ceil(PAGE_SECTORS));
        if after >> TIME_BITS > 0 || (self.page_writes + until - first) >> NUMBER_BITS > 0 {
            let text = "statistics of pages end at 208 days and at 2^36 page writes (256 TiB)";
            let remedy = "use a part of the trace: workload.from and workload.until";
            return Err(SourceError(format!("{text}; {remedy}")));
        }
        for area in Pages::areas_of(first, until) {
            let index = self.touch(volume, area)?;
            let pages = &mut self.slabs[index / SLAB_AREAS][index % SLAB_AREAS];
            for place in Pages::within(area, first, until) {
                let page = &mut pages[place];
                let writes = page.writes();
                if writes > 0 {
                    self.rewrites += 1;
                    self.interval_pages.record(self.page_writes - page.number());
                    self.interval_ns.record(after - page.time());
                }
                let start = (area * AREA_PAGES + place as u64) * PAGE_SECTORS;
                let (low, high) =
                    (sector.max(start) - start, end.min(start + PAGE_SECTORS) - start);
                let sectors = (0xff << low) & (0xff >> (PAGE_SECTORS - high));
                let retained = page.state & (0xff << SECTORS_AT | READ);
                page.state = retained | sectors << SECTORS_AT | after << TIME_AT | MAPPED;
                page.count = (writes + 1).min(MAX_WRITES) << NUMBER_BITS | self.page_writes;
                self.page_writes += 1;
            }
        }
        Ok(())
    }

    /// Records a discard of the whole pages `first..until`.
    fn trim(&mut self, volume: u16, first: u64, until: u64) {
        if first >= until {
            return;
        }
        let areas = Pages::areas_of(first, until);
        let before = self.pages_unmapped;
        if areas.end - areas.start <= self.slots.len() as u64 {
            for area in areas {
                if let Some(index) = self.find(volume, area) {
                    self.unmap(index, Pages::within(area, first, until));
                }
            }
        } else {
            // For a discard of a large disk, visiting every existing area is cheaper.
            for at in 0..self.slots.len() {
                let Slot { area, volume: owner, index } = self.slots[at];
                if index != FREE && owner == volume && areas.contains(&area) {
                    self.unmap(index as usize, Pages::within(area, first, until));
                }
            }
        }
        self.with_effect += u64::from(self.pages_unmapped > before);
    }

    fn unmap(&mut self, index: usize, places: std::ops::Range<usize>) {
        for page in &mut self.slabs[index / SLAB_AREAS][index % SLAB_AREAS][places] {
            self.pages_unmapped += page.state & MAPPED;
            page.state &= !MAPPED;
        }
    }

    pub(super) fn updates(&self) -> Updates {
        Updates {
            page_writes: self.page_writes,
            rewrites: self.rewrites,
            rewrite_share: share(self.rewrites, self.page_writes),
            interval_pages: Distribution::of(&self.interval_pages, 1),
            interval_ns: Distribution::of(&self.interval_ns, 1),
        }
    }

    pub(super) fn discards(&self, requests: u64, nominal_bytes: u64) -> Discards {
        let effective_bytes = self.pages_unmapped * PAGE_BYTES;
        Discards {
            nominal_bytes,
            effective_bytes,
            effective_share: share(effective_bytes, nominal_bytes),
            effective_mean_bytes: share(effective_bytes, requests),
            without_effect: requests - self.with_effect,
        }
    }
}
