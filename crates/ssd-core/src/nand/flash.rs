//! The flash: the contents of the cells and of their out-of-band area, and the legality of operations.
//!
//! It is separate from the controller's state (maps, queues), because a power cut preserves the former and loses the
//! latter. The out-of-band area of a page holds its LPN and, if requested, its sequence number.

use super::contents::Contents;
use super::geometry::Geometry;
use super::group_lists::GroupLists;
use super::page_store::{PageStore, Slabs};
use super::sequences::Sequences;
use crate::config::DataMode;
use crate::memory::{huge_vec, prefetch};
use crate::units::{BlockId, Lpn, PlaneId, Ppn};

/// Contents of one page as the host wrote them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Payload {
    /// Digest of the contents (0: never written).
    pub digest: u64,
    /// The bytes (bytes mode).
    pub bytes: Option<Box<[u8]>>,
}

/// Digest of page `lpn` as written functionally under admission number `sequence`.
#[must_use]
pub fn fill_digest(lpn: Lpn, sequence: u64) -> u64 {
    let x = (u64::from(lpn.0) << 32 ^ sequence).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) | 1
}

/// In the out-of-band area of a page that is erased or, once its program has begun, torn: no LPN.
const TORN: u32 = u32::MAX;

/// In that of a page whose program was cut off, or that has been skipped since.
const LOST: u32 = u32::MAX - 1;

/// Cells and out-of-band data of the device.
pub struct Flash {
    /// LPN in the out-of-band area of each page, as last programmed.
    lpn: Vec<u32>,
    /// Pages programmed in each flash block, by `plane * blocks per plane + block` (superblocks:
    /// `erase unit * members + member`).
    programmed: Vec<u16>,
    /// Whether the erase of each flash block has begun and not ended.
    erasing: Vec<bool>,
    /// Admission number of the data in each page (with logs and data modes).
    sequence: Option<Sequences>,
    /// Contents (digest and bytes mode).
    digest: Option<Vec<u64>>,
    bytes: Option<Contents>,
    /// What pages of parity groups say about their groups, if power may be cut.
    lists: Option<Box<GroupLists>>,
    members: u32,
}

impl Flash {
    /// Erased flash. `store`: where bytes are kept, if pages hold them; `None`: in memory.
    #[must_use]
    pub fn new(
        geo: &Geometry,
        data: DataMode,
        sequences: bool,
        store: Option<Box<dyn PageStore>>,
    ) -> Flash {
        let pages = geo.pages as usize;
        let flash_blocks = (geo.pools * geo.blocks_per_pool * geo.members) as usize;
        Flash {
            lpn: huge_vec(pages, TORN),
            programmed: vec![0; flash_blocks],
            erasing: vec![false; flash_blocks],
            sequence: (sequences || data != DataMode::None).then(|| Sequences::new(pages)),
            digest: (data != DataMode::None).then(|| vec![0; pages]),
            bytes: data.keeps_bytes().then(|| {
                let store = store.unwrap_or_else(|| Box::new(Slabs::default()));
                Contents::new(geo.pages, 512 << geo.sector_shift, store)
            }),
            lists: None,
            members: geo.members,
        }
    }

    #[inline(always)]
    fn flash_block(&self, block: BlockId, plane: PlaneId) -> usize {
        if self.members == 1 {
            block.at()
        } else {
            block.at() * self.members as usize + (plane.0 % self.members) as usize
        }
    }

    /// Whether `ppn` is erased, or its program has begun and not ended.
    #[inline(always)]
    #[must_use]
    pub fn is_torn(&self, ppn: Ppn) -> bool {
        self.lpn[ppn.at()] == TORN
    }

    /// Pages of the flash block of `block` on `plane` whose program has begun.
    #[inline(always)]
    #[must_use]
    pub fn programmed(&self, block: BlockId, plane: PlaneId) -> u32 {
        u32::from(self.programmed[self.flash_block(block, plane)])
    }

    /// Begin the program of the next page of the flash block of `block` on `plane`: the pages of a block are programmed
    /// once each, in ascending order. Returns the page, which is torn until its program ends.
    #[inline(always)]
    pub fn begin_program(&mut self, geo: &Geometry, block: BlockId, plane: PlaneId) -> Ppn {
        let at = self.flash_block(block, plane);
        let page = u32::from(self.programmed[at]);
        assert!(page < geo.pages_per_flash_block, "program beyond the end of {:?}", { block });
        let ppn = geo.page_on(block, plane, page);
        self.programmed[at] = page as u16 + 1;
        // The cache line of its address, written when the program ends.
        prefetch(&self.lpn, ppn.at());
        ppn
    }

    /// End the program of `ppn`: it holds data of `lpn`.
    #[inline(always)]
    pub fn end_program(&mut self, ppn: Ppn, lpn: Lpn) {
        let carried = &mut self.lpn[ppn.at()];
        assert!(*carried == TORN, "{:?} is programmed twice", { ppn });
        debug_assert_ne!(lpn.0, TORN, "{ppn:?} is programmed with nothing");
        *carried = lpn.0;
    }

    /// Program the next page of the flash block of `block` on `plane` at once. Returns the page.
    #[inline(always)]
    pub fn program(&mut self, geo: &Geometry, block: BlockId, plane: PlaneId, lpn: Lpn) -> Ppn {
        let ppn = self.begin_program(geo, block, plane);
        self.end_program(ppn, lpn);
        // The next cache line of addresses of this block, written soon.
        prefetch(&self.lpn, ppn.at() + 16);
        ppn
    }

    /// As [`Flash::program`], for erase units of one flash block.
    #[inline(always)]
    pub fn program_plain(&mut self, geo: &Geometry, block: BlockId, lpn: Lpn) -> Ppn {
        debug_assert!(self.members == 1, "pages of {block:?} lie on several planes");
        let programmed = &mut self.programmed[block.at()];
        let page = u32::from(*programmed);
        assert!(page < geo.pages_per_flash_block, "program beyond the end of {:?}", { block });
        *programmed += 1;
        let ppn = Ppn(block.0 * geo.pages_per_block + page);
        debug_assert!(self.is_torn(ppn), "{ppn:?} is programmed twice");
        self.lpn[ppn.at()] = lpn.0;
        // The next cache line of addresses of this block, written soon.
        prefetch(&self.lpn, ppn.at() + 16);
        ppn
    }

    /// Program the next `count` pages, whose addresses follow by [`Flash::set_lpn`]. Returns the first.
    pub fn program_run(
        &mut self,
        geo: &Geometry,
        block: BlockId,
        plane: PlaneId,
        count: u32,
    ) -> u32 {
        let at = self.flash_block(block, plane);
        let page = u32::from(self.programmed[at]);
        assert!(page + count <= geo.pages_per_flash_block, "program beyond the end of {block:?}");
        self.programmed[at] += count as u16;
        page
    }

    /// Write the address into the out-of-band area of a page just programmed.
    #[inline(always)]
    pub fn set_lpn(&mut self, ppn: Ppn, lpn: Lpn) {
        self.lpn[ppn.at()] = lpn.0;
    }

    /// Write the addresses into the out-of-band area of consecutive pages just programmed, beginning with `first`.
    #[inline(always)]
    pub fn set_lpns(&mut self, first: Ppn, lpns: &[Lpn]) {
        let pages = &mut self.lpn[first.at()..first.at() + lpns.len()];
        pages.iter_mut().zip(lpns).for_each(|(page, lpn)| *page = lpn.0);
    }

    /// Store the contents of a page just programmed.
    pub fn store(&mut self, ppn: Ppn, sequence: u64, payload: &Payload) {
        if let Some(all) = &mut self.sequence {
            all.set(ppn.at(), sequence);
        }
        if let Some(all) = &mut self.digest {
            all[ppn.at()] = payload.digest;
        }
        if let Some(all) = &mut self.bytes {
            all.put(ppn, payload.bytes.as_deref());
        }
    }

    /// Copy contents and sequence number of one page to another, as GC does.
    pub fn copy(&mut self, from: Ppn, to: Ppn) {
        if let Some(all) = &mut self.sequence {
            all.set(to.at(), all.get(from.at()));
        }
        if let Some(all) = &mut self.digest {
            all[to.at()] = all[from.at()];
        }
        if let Some(all) = &mut self.bytes {
            all.share(from, to);
        }
        if let Some(all) = &mut self.lists {
            all.copy(from, to);
        }
    }

    /// Give the data in a page just programmed an admission number other than that of the page they were copied from.
    pub(crate) fn set_sequence(&mut self, ppn: Ppn, sequence: u64) {
        debug_assert!(!self.is_torn(ppn), "{ppn:?} is being programmed");
        if let Some(all) = &mut self.sequence {
            all.set(ppn.at(), sequence);
        }
    }

    /// Let pages carry lists of what their parity groups, of `chips` chips, hold.
    pub(crate) fn keep_lists(&mut self, chips: u32) {
        assert!(self.lists.is_none(), "the lists would be lost");
        self.lists = Some(Box::new(GroupLists::new(self.lpn.len(), chips)));
    }

    /// What pages say about their parity groups, if they do.
    #[must_use]
    pub fn lists(&self) -> Option<&GroupLists> {
        self.lists.as_deref()
    }

    /// Write into the out-of-band area of a page just programmed what its parity group holds, if pages carry that.
    pub(crate) fn set_list(&mut self, ppn: Ppn, list: &[u64]) {
        debug_assert!(!self.is_torn(ppn), "{ppn:?} is being programmed");
        if let Some(all) = &mut self.lists {
            all.set(ppn, list);
        }
    }

    /// Whether contents or sequence numbers are kept.
    #[inline(always)]
    #[must_use]
    pub fn keeps_contents(&self) -> bool {
        self.sequence.is_some()
    }

    /// Which of sequence numbers, digests and bytes are kept.
    #[must_use]
    pub fn keeps(&self) -> [bool; 3] {
        [self.sequence.is_some(), self.digest.is_some(), self.bytes.is_some()]
    }

    /// The digest of a page; 0 if none is kept.
    #[must_use]
    pub fn digest(&self, ppn: Ppn) -> u64 {
        self.digest.as_ref().map_or(0, |all| all[ppn.at()])
    }

    /// The contents of a page.
    #[must_use]
    pub fn payload(&self, ppn: Ppn) -> Payload {
        Payload {
            digest: self.digest(ppn),
            bytes: self.bytes.as_ref().and_then(|all| all.get(ppn)),
        }
    }

    /// LPN in the out-of-band area.
    #[inline(always)]
    #[must_use]
    pub fn lpn(&self, ppn: Ppn) -> Lpn {
        Lpn(self.lpn[ppn.at()])
    }

    /// The out-of-band LPNs of all pages, for prefetching.
    #[inline(always)]
    #[must_use]
    pub fn lpns(&self) -> &[u32] {
        &self.lpn
    }

    /// Admission number of the data in a page; 0 if none is kept.
    #[must_use]
    pub fn sequence(&self, ppn: Ppn) -> u64 {
        self.sequence.as_ref().map_or(0, |all| all.get(ppn.at()))
    }

    /// Begin the erase of the flash block of `block` on `plane`: what its pages held is lost.
    pub fn begin_erase(&mut self, block: BlockId, plane: PlaneId) {
        let at = self.flash_block(block, plane);
        assert!(!self.erasing[at], "{block:?} is erased twice at a time");
        self.erasing[at] = true;
    }

    /// End the erase: the pages may be programmed again.
    pub fn end_erase(&mut self, geo: &Geometry, block: BlockId, plane: PlaneId) {
        let at = self.flash_block(block, plane);
        assert!(self.erasing[at], "the erase of {block:?} has not begun");
        (self.erasing[at], self.programmed[at]) = (false, 0);
        if self.members == 1 {
            let first = geo.first_page(block).at();
            self.lpn[first..first + geo.pages_per_flash_block as usize].fill(u32::MAX);
            if !self.keeps_contents() {
                return;
            }
        }
        for page in 0..geo.pages_per_flash_block {
            let ppn = geo.page_on(block, plane, page);
            self.lpn[ppn.at()] = TORN;
            if let Some(all) = &mut self.digest {
                all[ppn.at()] = 0;
            }
            if let Some(all) = &mut self.bytes {
                all.clear(ppn);
            }
        }
    }

    /// Pages programmed in each flash block, by erase unit, then by plane of its pool.
    #[must_use]
    pub fn programmed_by_flash_block(&self) -> &[u16] {
        &self.programmed
    }

    /// Admission numbers and digests by page; empty if they are not kept.
    #[must_use]
    pub fn out_of_band(&self) -> [Vec<u64>; 2] {
        let sequences = self.sequence.as_ref().map(Sequences::all);
        [sequences, self.digest.clone()].map(Option::unwrap_or_default)
    }

    /// The pages that hold bytes, ascending (bytes mode).
    pub fn pages_with_bytes(&self) -> impl Iterator<Item = (Ppn, Box<[u8]>)> {
        let with = |all: &'_ Contents, page| Some((page, all.get(page)?));
        self.bytes.iter().flat_map(move |all| all.pages().filter_map(move |page| with(all, page)))
    }

    /// Load the contents for erased flash of the same geometry. Columns that are not kept are ignored.
    ///
    /// # Errors
    /// A flash block in which the pages with an LPN of the device are not exactly the first ones programmed, or an
    /// admission number of more than 48 bits.
    pub(crate) fn load(
        &mut self,
        geo: &Geometry,
        lpn: &[u32],
        programmed: &[u16],
        [sequences, digests]: [&[u64]; 2],
    ) -> Result<(), String> {
        assert!(lpn.len() == self.lpn.len() && programmed.len() == self.programmed.len());
        self.lpn.copy_from_slice(lpn);
        self.programmed.copy_from_slice(programmed);
        if let Some(own) = &mut self.sequence {
            own.load(sequences)?;
        }
        if let Some(own) = &mut self.digest {
            own.copy_from_slice(digests);
        }
        for block in (0..geo.pools * geo.blocks_per_pool).map(BlockId) {
            for plane in geo.planes_of_block(block) {
                let count = self.programmed(block, plane);
                let sound = |page| {
                    let lpn = self.lpn[geo.page_on(block, plane, page).at()];
                    if page < count { lpn < geo.logical_pages || lpn == LOST } else { lpn == TORN }
                };
                if count > geo.pages_per_flash_block || !(0..geo.pages_per_flash_block).all(sound) {
                    let (block, plane) = (block.0, plane.0);
                    return Err(format!(
                        "of block {block} on plane {plane} {count} pages are programmed, and other pages \
                         hold an LPN of the device"
                    ));
                }
            }
        }
        Ok(())
    }

    /// The bytes that page `ppn` holds (bytes mode; else nothing is kept).
    pub(crate) fn load_bytes(&mut self, ppn: Ppn, bytes: &[u8]) {
        if let Some(all) = &mut self.bytes {
            all.put(ppn, Some(bytes));
        }
    }

    /// Why contents have been lost, if they have.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.bytes.as_ref()?.failure()
    }

    /// Check that the contents kept are sound.
    ///
    /// # Errors
    /// What is not.
    pub fn audit(&self) -> Result<(), String> {
        self.bytes.as_ref().map_or(Ok(()), Contents::audit)
    }

    /// Whether the erase of the flash block of `block` on `plane` has begun and not ended.
    #[must_use]
    pub fn is_erasing(&self, block: BlockId, plane: PlaneId) -> bool {
        self.erasing[self.flash_block(block, plane)]
    }

    /// Whether the page holds no data although it may not be programmed before its next erase.
    #[must_use]
    pub fn is_lost(&self, ppn: Ppn) -> bool {
        self.lpn[ppn.at()] == LOST
    }

    /// Close the flash block of `block` on `plane`, as after a power cut: no page of it is programmed before its next
    /// erase, and pages that are torn or erased are lost. Returns how many of them were torn.
    pub(crate) fn close(&mut self, geo: &Geometry, block: BlockId, plane: PlaneId) -> u32 {
        let at = self.flash_block(block, plane);
        assert!(!self.erasing[at], "{block:?} is half erased");
        let begun = u32::from(self.programmed[at]);
        self.programmed[at] = geo.pages_per_flash_block as u16;
        let mut torn = 0;
        for page in 0..geo.pages_per_flash_block {
            let lpn = &mut self.lpn[geo.page_on(block, plane, page).at()];
            if *lpn == TORN {
                torn += u32::from(page < begun);
                *lpn = LOST;
            }
        }
        torn
    }

    /// Bytes of memory held, without those of the page store.
    #[must_use]
    pub fn bytes_held(&self) -> usize {
        self.lpn.len() * 4
            + self.programmed.len() * 2
            + self.sequence.as_ref().map_or(0, Sequences::bytes_held)
            + self.digest.as_ref().map_or(0, |v| v.len() * 8)
            + self.bytes.as_ref().map_or(0, Contents::bytes_held)
            + self.lists.as_ref().map_or(0, |lists| lists.bytes_held())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn flash() -> (Geometry, Flash) {
        let config = Config::default();
        let geo = Geometry::new(&config);
        let flash = Flash::new(&geo, DataMode::None, false, None);
        (geo, flash)
    }

    #[test]
    fn a_page_is_torn_until_its_program_ends() {
        let (geo, mut flash) = flash();
        let (block, plane) = (BlockId(0), PlaneId(0));
        let first = flash.begin_program(&geo, block, plane);
        let second = flash.begin_program(&geo, block, plane);
        assert_eq!((first, second, flash.programmed(block, plane)), (Ppn(0), Ppn(1), 2));
        flash.end_program(second, Lpn(7));
        assert_eq!((flash.is_torn(first), flash.is_torn(second)), (true, false));
        assert_eq!(flash.lpn(second), Lpn(7));
        flash.begin_erase(block, plane);
        assert_eq!(flash.programmed(block, plane), 2, "an erase that has begun has not ended");
        flash.end_erase(&geo, block, plane);
        assert_eq!(flash.programmed(block, plane), 0);
        assert_eq!(flash.begin_program(&geo, block, plane), first);
    }

    #[test]
    #[should_panic(expected = "Ppn(0) is programmed twice")]
    fn a_page_is_programmed_once() {
        let (geo, mut flash) = flash();
        let page = flash.program(&geo, BlockId(0), PlaneId(0), Lpn(1));
        flash.end_program(page, Lpn(2));
    }

    #[test]
    #[should_panic(expected = "the erase of BlockId(0) has not begun")]
    fn an_erase_begins_before_it_ends() {
        let (geo, mut flash) = flash();
        flash.end_erase(&geo, BlockId(0), PlaneId(0));
    }
}
