//! A checkpoint: the map at one instant, and how far each flash block was programmed then.

use super::NONE;
use crate::ftl::Ftl;
use crate::nand::nvram::Record;
use crate::units::{BlockId, Lpn, PlaneId, Ppn};
use std::collections::BTreeMap;

/// The contents of a checkpoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Image {
    /// The number of its map among the earlier ones that the owners of the device keep.
    which: usize,
    /// Committed page of each LPN. Empty while the device has power: its owners keep the differences from the present
    /// map, which take less memory.
    pub(super) map: Vec<u32>,
    /// The same map, to check the differences.
    #[cfg(debug_assertions)]
    copy: Vec<u32>,
    logical_pages: u32,
    /// For LPNs that own a page that carries another LPN, or older data of theirs: the admission numbers of their
    /// copies.
    pub(super) sequences: BTreeMap<Lpn, u64>,
    /// For LPNs whose page was a copy in the block that their pool had kept for recovery, while the victim still
    /// existed: their page in the victim, and the admission number of their data.
    pub(super) sources: BTreeMap<Lpn, (Ppn, u64)>,
    /// For LPNs with data on their way to flash that had been trimmed: up to which admission number.
    pub(super) trims: BTreeMap<Lpn, u64>,
    /// On a device with parity groups, the number by which lists name the data of each LPN; 0 if there are none.
    pub(super) numbers: Vec<u64>,
    /// Pages of each flash block whose programs had ended, by erase unit, then by plane of its pool.
    pub(super) settled: Vec<u16>,
    /// Erases of each erase unit.
    pub(super) erases: Vec<u32>,
    /// Planes whose chip has been replaced since.
    replaced: Vec<PlaneId>,
}

impl Image {
    /// A checkpoint of the present state. The owners of the device keep its map as number `which`, 0 or 1. `moved` are
    /// pages of victims that still exist, with their copies, in pools that have given up their block for recovery.
    /// `not_covered`, ascending, are the pages at the ends of their blocks that it cannot cover.
    #[must_use]
    pub fn of(ftl: &mut Ftl, which: usize, moved: &[(Ppn, Ppn)], not_covered: &[Ppn]) -> Image {
        ftl.owners.keep_map(which);
        let ftl = &*ftl;
        debug_assert_eq!(ftl.owners.logical_pages(), ftl.geo.logical_pages, "another device");
        let mut settled = Vec::with_capacity(ftl.blocks.len() * ftl.geo.members as usize);
        for block in (0..ftl.blocks.len() as u32).map(BlockId) {
            for plane in ftl.geo.planes_of_block(block) {
                // Programs of a flash block end in order, so torn pages are the last ones.
                let mut pages = ftl.flash.programmed(block, plane);
                while pages > 0 && ftl.flash.is_torn(ftl.geo.page_on(block, plane, pages - 1)) {
                    pages -= 1;
                }
                while pages > 0
                    && not_covered.binary_search(&ftl.geo.page_on(block, plane, pages - 1)).is_ok()
                {
                    pages -= 1;
                }
                settled.push(pages as u16);
            }
        }
        debug_assert!(moved.iter().all(|&(from, to)| from != to), "a page is moved to itself");
        let owned = moved.iter().filter(|&&(_, target)| ftl.owners.is_valid(target));
        let sources = owned.flat_map(|&(source, target)| {
            let entry = move |lpn| (lpn, (source, ftl.owner_sequence(lpn, target)));
            ftl.owners_of(target).map(entry)
        });
        Image {
            which,
            sources: sources.collect(),
            map: Vec::new(),
            #[cfg(debug_assertions)]
            copy: ftl.owners.earlier_pages(which),
            logical_pages: ftl.geo.logical_pages,
            sequences: ftl.recorded.as_ref().map_or_else(BTreeMap::new, |r| r.sequences.clone()),
            trims: BTreeMap::new(),
            numbers: if ftl.groups.is_some() {
                (0..ftl.geo.logical_pages).map(|lpn| ftl.number_of(Lpn(lpn))).collect()
            } else {
                Vec::new()
            },
            settled,
            erases: ftl.blocks.erases.clone(),
            replaced: Vec::new(),
        }
    }

    /// Take the map over from the owners of the device, before they are lost. Again, it changes nothing.
    pub(crate) fn take_map(&mut self, ftl: &Ftl) {
        if self.map.is_empty() {
            self.map = ftl.owners.earlier_pages(self.which);
            #[cfg(debug_assertions)]
            assert_eq!(self.map, self.copy, "the owners have not noted every change");
        }
    }

    /// Leave the map to the owners of the device, which have been rebuilt.
    pub(crate) fn leave_map(&mut self, ftl: &mut Ftl) {
        ftl.owners.keep_pages(self.which, &std::mem::take(&mut self.map));
    }

    /// The checkpoint replaces `records` and the one `before`: what they end of the pages that are still `under_way`,
    /// with these admission numbers, it ends itself when they are found.
    pub(crate) fn end_later(
        &mut self,
        under_way: &[(Lpn, u64)],
        records: &[Record],
        before: Option<&Image>,
    ) {
        debug_assert!(self.trims.is_empty(), "it has been told before");
        for &(lpn, number) in under_way {
            let ends = records.iter().filter(|record| record.ends(lpn, number));
            let carried = before.and_then(|before| before.trims.get(&lpn)).copied();
            let carried = carried.filter(|&last| number <= last);
            if let Some(last) = ends.map(Record::sequence).chain(carried).max() {
                let entry = self.trims.entry(lpn).or_default();
                *entry = last.max(*entry);
            }
        }
    }

    /// Bytes of a checkpoint: 4 for each LPN, 2 for each flash block and 4 for each erase unit.
    #[must_use]
    pub fn bytes(logical_pages: u64, flash_blocks: u64, units: u64) -> u64 {
        debug_assert!(units <= flash_blocks, "a unit without a block");
        4 * logical_pages + 2 * flash_blocks + 4 * units
    }

    /// Bytes of this checkpoint: in addition to those, 12 (an LPN and a number) for each owner and each trimmed page
    /// that it names, and 16 for each page in a victim. With parity groups, 8 for the number of each LPN.
    #[must_use]
    pub fn own_bytes(&self) -> u64 {
        let (units, flash_blocks) = (self.erases.len() as u64, self.settled.len() as u64);
        let fixed = Image::bytes(u64::from(self.logical_pages), flash_blocks, units);
        let pairs = (self.sequences.len() + self.trims.len()) as u64;
        let listed = Image::OWNER * pairs + 16 * self.sources.len() as u64;
        debug_assert!(listed <= Image::MOST_LISTED * u64::from(self.logical_pages), "pages twice");
        fixed + listed + Image::NUMBER * self.numbers.len() as u64
    }

    /// Bytes of an LPN with a number, for an owner or a trimmed page.
    pub const OWNER: u64 = 12;
    /// Bytes of the number of an LPN in a parity group.
    pub const NUMBER: u64 = 8;
    /// Most bytes of the lists for each LPN. (With parity there are numbers, and owners only if pages are shared.)
    pub const MOST_LISTED: u64 = 2 * Image::OWNER + 16;

    /// Pages of the flash block of `block` on its `member`-th plane that the checkpoint covers; none if it has been
    /// erased since.
    pub(super) fn covered(&self, ftl: &Ftl, block: BlockId, member: usize) -> u32 {
        debug_assert!(member < ftl.geo.members as usize, "{block:?} has no plane {member}");
        debug_assert!(self.erases[block.at()] <= ftl.blocks.erases[block.at()], "of the future");
        if self.erases[block.at()] == ftl.blocks.erases[block.at()] {
            let plane = PlaneId(ftl.geo.first_plane(block).0 + member as u32);
            let settled = self.settled[block.at() * ftl.geo.members as usize + member];
            // A member of a superblock may have been erased alone before power was cut.
            u32::from(settled).min(ftl.flash.programmed(block, plane))
        } else {
            0
        }
    }

    /// Cover nothing on `planes`, where another chip has taken the place of the one that was there.
    pub(crate) fn uncover(&mut self, ftl: &Ftl, planes: &[PlaneId]) {
        self.replaced.extend(planes);
        let members = ftl.geo.members as usize;
        for (at, settled) in self.settled.iter_mut().enumerate() {
            let first = ftl.geo.first_plane(BlockId((at / members) as u32));
            let plane = PlaneId(first.0 + (at % members) as u32);
            debug_assert!(plane.0 < ftl.geo.planes, "there is no {plane:?}");
            if planes.contains(&plane) {
                *settled = 0;
            }
        }
    }

    /// Whether the checkpoint says that the data of `lpn` are, or were, on `page`.
    pub(super) fn names(&self, lpn: Lpn, page: Ppn) -> bool {
        debug_assert!(lpn.at() < self.map.len(), "{lpn:?} is beyond the device");
        let source = self.sources.get(&lpn).is_some_and(|&(source, _)| source == page);
        source || self.map[lpn.at()] == page.0
    }

    /// Where the checkpoint has the data of `lpn`, and their number if out-of-band data do not contain it; of two
    /// pages, the one with the higher `rank`.
    pub(super) fn place<R: Ord>(
        &self,
        ftl: &Ftl,
        lpn: Lpn,
        rank: impl Fn(Ppn) -> R,
    ) -> Option<(Ppn, Option<u64>)> {
        let is_readable = |page: Ppn| {
            // It may be one that the checkpoint does not cover. No scan finds an owner that the page does not carry.
            let (block, plane) = (ftl.geo.block_of(page).at(), ftl.geo.plane_of(page));
            let stays = self.erases[block] == ftl.blocks.erases[block];
            // A member of a superblock may have been erased alone, and closed by a mount since.
            let has_data = !ftl.flash.is_torn(page) && !ftl.flash.is_lost(page);
            stays && has_data && !self.replaced.contains(&plane)
        };
        let target = Ppn(self.map[lpn.at()]);
        if target.0 == NONE {
            return None;
        }
        let copied = is_readable(target);
        debug_assert!(target.0 < ftl.geo.pages, "{target:?} is beyond the device");
        if let Some(&(source, number)) = self.sources.get(&lpn)
            && is_readable(source)
            && (!copied || rank(source) > rank(target))
        {
            let is_recorded = (ftl.flash.lpn(source), ftl.flash.sequence(source)) == (lpn, number);
            return Some((source, (!is_recorded).then_some(number)));
        }
        copied.then(|| (target, self.sequences.get(&lpn).copied()))
    }

    /// Whether the checkpoint covers `page`.
    pub(super) fn covers(&self, ftl: &Ftl, page: Ppn) -> bool {
        debug_assert!(page.0 < ftl.geo.pages, "{page:?} is beyond the device");
        let block = ftl.geo.block_of(page);
        let number = (page.0 - ftl.geo.first_page(block).0) / ftl.geo.members;
        let member = ftl.geo.plane_of(page).0 - ftl.geo.first_plane(block).0;
        number < self.covered(ftl, block, member as usize)
    }
}
