//! The newest page of each LPN, from out-of-band data, records and a checkpoint.

use super::image::Image;
use super::{MountFindings, NONE};
use crate::ftl::Ftl;
use crate::nand::nvram::Record;
use crate::units::{BlockId, Lpn, Ppn};
use std::collections::{BTreeMap, BTreeSet};

/// Where the data of each LPN are.
pub(super) struct Places {
    page: Vec<u32>,
    /// The admission numbers of copies that only a record or the checkpoint names.
    pub(super) copied: BTreeMap<Lpn, u64>,
}

/// The page with the newest data of each LPN.
pub(super) struct NewestPages {
    pub(super) places: Places,
    /// By block, how far its programs got.
    filled: Vec<FillState>,
}

/// How far the programs of a block got.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum FillState {
    /// Some of its pages are erased or torn.
    Partial,
    /// It was closed by a mount.
    Closed,
    /// All of its pages hold what was programmed.
    Whole,
}

impl FillState {
    /// Of every block.
    pub(super) fn of_all(ftl: &Ftl) -> Vec<FillState> {
        debug_assert!(!ftl.blocks.is_empty(), "a device without blocks");
        (0..ftl.blocks.len() as u32).map(|block| FillState::of(ftl, BlockId(block))).collect()
    }

    fn of(ftl: &Ftl, block: BlockId) -> FillState {
        let first = ftl.geo.first_page(block).0;
        debug_assert!(first + ftl.geo.pages_per_block <= ftl.geo.pages, "{block:?} is beyond it");
        let mut pages = (first..first + ftl.geo.pages_per_block).map(Ppn);
        if ftl.programmed_in(block) < ftl.geo.pages_per_block {
            return FillState::Partial;
        }
        match pages.find(|&page| ftl.flash.is_torn(page) || ftl.flash.is_lost(page)) {
            None => FillState::Whole,
            Some(page) if ftl.flash.is_lost(page) => FillState::Closed,
            Some(_) => FillState::Partial,
        }
    }
}

/// The admission number up to which data are trimmed, by LPN; empty without records.
pub(super) struct Trims(Vec<u64>);

impl Trims {
    pub(super) fn of(ftl: &Ftl, records: &[Record], image: Option<&Image>) -> Trims {
        let checkpoint = image.filter(|image| !image.trims.is_empty());
        let none = records.is_empty() && checkpoint.is_none();
        let mut last = vec![0; if none { 0 } else { ftl.geo.logical_pages as usize }];
        for (lpn, &sequence) in checkpoint.into_iter().flat_map(|image| &image.trims) {
            last[lpn.at()] = sequence;
        }
        for record in records {
            let Record::Trim { first, pages, sequence } = *record else { continue };
            assert!(first.0 + pages <= ftl.geo.user_pages, "{record:?} is beyond the device");
            for last in &mut last[first.at()..first.at() + pages as usize] {
                *last = sequence.max(*last);
            }
        }
        Trims(last)
    }

    /// Whether data of `lpn` with this admission number are trimmed.
    pub(super) fn end(&self, lpn: Lpn, sequence: u64) -> bool {
        self.0.get(lpn.at()).is_some_and(|&last| sequence <= last)
    }
}

impl NewestPages {
    /// Scan the device `ftl`, whose interrupted erases have been finished.
    pub(super) fn of(
        ftl: &Ftl,
        records: &[Record],
        image: Option<&Image>,
        findings: &mut MountFindings,
    ) -> NewestPages {
        let trims = Trims::of(ftl, records, image);
        let mut page = vec![NONE; ftl.geo.logical_pages as usize];
        let (mut compared, mut copied) = (Vec::new(), BTreeMap::new());
        let filled = FillState::of_all(ftl);
        if let Some(image) = image {
            for lpn in (0..ftl.geo.logical_pages).map(Lpn) {
                let rank = |page| rank(ftl, &filled, page);
                let Some((before, number)) = image.place(ftl, lpn, rank) else { continue };
                let trimmed = trims.0.get(lpn.at()).is_some_and(|&last| last > 0);
                if trimmed {
                    compared.push(before.0);
                }
                let sequence = number.unwrap_or_else(|| ftl.flash.sequence(before));
                if !(trimmed && trims.end(lpn, sequence)) {
                    page[lpn.at()] = before.0;
                    copied.extend(number.map(|number| (lpn, number)));
                }
            }
        }
        let mut newest = NewestPages { places: Places { page, copied }, filled };
        for block in ftl.good_blocks() {
            for (member, plane) in ftl.geo.planes_of_block(block).enumerate() {
                let covered = image.map_or(0, |image| image.covered(ftl, block, member));
                for number in covered..ftl.flash.programmed(block, plane) {
                    newest.see(
                        ftl,
                        ftl.geo.page_on(block, plane, number),
                        &trims,
                        image,
                        &mut compared,
                    );
                }
            }
        }
        for record in records {
            newest.apply_record(ftl, record, &trims, image, &mut compared);
        }
        compared.sort_unstable();
        compared.dedup();
        for page in compared {
            let page = Ppn(page);
            findings.compared[ftl.geo.plane_of(page).at()][ftl.geo.type_of(page)] += 1;
        }
        let pages = newest.places.page.iter().filter(|&&page| page != NONE);
        let highest = pages.map(|&page| ftl.flash.sequence(Ppn(page))).max();
        let recorded = records.iter().map(Record::sequence).max();
        let copied = newest.places.copied.values().copied().max();
        findings.sequence = highest.max(recorded).max(copied).unwrap_or(0);
        newest
    }

    /// Take the out-of-band data of `page` into account.
    fn see(
        &mut self,
        ftl: &Ftl,
        page: Ppn,
        trims: &Trims,
        image: Option<&Image>,
        compared: &mut Vec<u32>,
    ) {
        if ftl.flash.is_torn(page) || ftl.flash.is_lost(page) {
            return;
        }
        let (lpn, sequence) = (ftl.flash.lpn(page), ftl.flash.sequence(page));
        debug_assert!(lpn.0 < ftl.geo.logical_pages, "{page:?} carries {lpn:?}");
        debug_assert!(sequence > 0, "{page:?} carries no admission number");
        if trims.end(lpn, sequence) {
            return;
        }
        let before = self.places.page[lpn.at()];
        if before != NONE {
            let previous = Ppn(before);
            if image.is_some_and(|image| image.names(lpn, previous)) {
                compared.push(before);
            }
            let rank = |page: Ppn| rank(ftl, &self.filled, page);
            if (self.sequence(ftl, lpn, previous), rank(previous)) >= (sequence, rank(page)) {
                return;
            }
        }
        self.places.page[lpn.at()] = page.0;
        self.places.copied.remove(&lpn);
    }

    /// Admission number of the data of `lpn` on `page`, the newest so far.
    fn sequence(&self, ftl: &Ftl, lpn: Lpn, page: Ppn) -> u64 {
        debug_assert_eq!(self.places.page[lpn.at()], page.0, "{lpn:?} has newer data");
        self.places.copied.get(&lpn).copied().unwrap_or_else(|| ftl.flash.sequence(page))
    }

    /// Take a record of where the data of an LPN are into account. It is stale if that page has been programmed again.
    fn apply_record(
        &mut self,
        ftl: &Ftl,
        record: &Record,
        trims: &Trims,
        image: Option<&Image>,
        compared: &mut Vec<u32>,
    ) {
        let Record::Share { lpn, page, sequence, carried, .. } = *record else { return };
        debug_assert!(lpn.0 < ftl.geo.user_pages, "{record:?} is beyond the device");
        // The others have just been read.
        if image.is_some_and(|image| image.covers(ftl, page)) {
            compared.push(page.0);
        }
        if (ftl.flash.lpn(page), ftl.flash.sequence(page)) != carried || trims.end(lpn, sequence) {
            return;
        }
        let before = self.places.page[lpn.at()];
        if before != NONE {
            let previous = Ppn(before);
            let rank = |page: Ppn| rank(ftl, &self.filled, page);
            if (self.sequence(ftl, lpn, previous), rank(previous)) >= (sequence, rank(page)) {
                return;
            }
        }
        self.places.page[lpn.at()] = page.0;
        self.places.copied.insert(lpn, sequence);
    }
}

impl Places {
    /// No LPN has data.
    pub(super) fn empty(ftl: &Ftl) -> Places {
        let logical = ftl.geo.logical_pages as usize;
        Places { page: vec![NONE; logical], copied: BTreeMap::new() }
    }

    /// Note that the data of `lpn` with this `number` are on `page`.
    pub(super) fn put(&mut self, ftl: &Ftl, (lpn, number): (Lpn, u64), page: Ppn) {
        debug_assert_eq!(self.page[lpn.at()], NONE, "{lpn:?} has two pages");
        self.page[lpn.at()] = page.0;
        if (ftl.flash.lpn(page), ftl.flash.sequence(page)) != (lpn, number) {
            self.copied.insert(lpn, number);
        }
    }

    /// The owners of every page that has others than the LPN that it carries, as `page << 32 | LPN`, ascending.
    pub(super) fn shared(&self, ftl: &Ftl) -> Vec<u64> {
        let pages = |&lpn: &Lpn| self.page[lpn.at()];
        let foreign = |lpn: &&Lpn| ftl.flash.lpn(Ppn(pages(lpn))) != **lpn;
        let shared: BTreeSet<u32> = self.copied.keys().filter(foreign).map(pages).collect();
        if shared.is_empty() {
            return Vec::new();
        }
        let owners = (0..).zip(&self.page).filter(|(_, page)| shared.contains(page));
        let mut pairs: Vec<u64> =
            owners.map(|(lpn, &page): (u64, &u32)| u64::from(page) << 32 | lpn).collect();
        pairs.sort_unstable();
        pairs
    }

    /// These pages as bits.
    pub(super) fn valid(&self, pages: u32) -> Vec<u64> {
        debug_assert!(self.page.iter().all(|&page| page < pages || page == NONE), "beyond it");
        let mut words = vec![0u64; pages.div_ceil(64) as usize];
        for &page in self.page.iter().filter(|&&page| page != NONE) {
            words[page as usize / 64] |= 1 << (page % 64);
        }
        words
    }
}

/// Of two copies of the same data, prefers the one in the block that was full, then the one in the lower block: so
/// either all copies that a collection has left in a block lose, or all originals in its victim.
pub(super) fn rank(
    ftl: &Ftl,
    filled: &[FillState],
    page: Ppn,
) -> (FillState, std::cmp::Reverse<BlockId>) {
    let block = ftl.geo.block_of(page);
    debug_assert!(!ftl.flash.is_torn(page), "{page:?} holds no data");
    (filled[block.at()], std::cmp::Reverse(block))
}

impl Ftl {
    /// Count the pages whose out-of-band data are read. Of each flash block these are the programmed pages and the
    /// first erased one; of pages that the checkpoint covers, only the first, for the erase count.
    pub(super) fn count_scan(&self, image: Option<&Image>, findings: &mut MountFindings) {
        debug_assert!(
            findings.scanned.iter().flatten().all(|&pages| pages == 0),
            "it is counted twice"
        );
        let pages = self.geo.pages_per_flash_block;
        for block in self.good_blocks() {
            let planes = self.geo.planes_of_block(block).enumerate();
            for (member, plane) in planes.filter(|&(_, plane)| !self.is_dead(plane)) {
                let programmed = self.flash.programmed(block, plane);
                let covered = image.map_or(0, |image| image.covered(self, block, member));
                let scanned = &mut findings.scanned[plane.at()];
                let is_erasing = self.flash.is_erasing(block, plane);
                if is_erasing || covered > 0 {
                    scanned[self.geo.type_in_block(0)] += 1;
                }
                if !is_erasing {
                    let read = covered..(programmed + 1).min(pages);
                    read.for_each(|page| scanned[self.geo.type_in_block(page)] += 1);
                }
            }
        }
    }
}
