//! The map of an earlier instant, stored as its differences from the present map.
//!
//! A checkpoint lists the committed page of every LPN at the instant at which the checkpoint began. Nothing reads it
//! before a power cut, and most of these pages are still the committed ones.

use super::Owners;
use crate::units::{Lpn, Ppn};

/// LPNs of a group. A group has entries once one of its LPNs has changed.
const GROUP: usize = 64;
/// The entry of an LPN whose committed page has not changed. Pages have lower numbers.
const UNCHANGED: u32 = u32::MAX - 1;

/// By LPN, the committed page of an earlier instant if it has changed since.
#[derive(Clone)]
struct EarlierMap {
    /// By group of LPNs, the index of its entries plus 1; 0 if none of its LPNs has changed. Parts that have always
    /// been 0 take no memory.
    group: Vec<u32>,
    entries: Vec<[u32; GROUP]>,
}

impl EarlierMap {
    /// The map of this instant.
    fn new(logical_pages: u32) -> EarlierMap {
        let groups = (logical_pages as usize).div_ceil(GROUP);
        EarlierMap { group: vec![0; groups], entries: Vec::new() }
    }

    /// Note that the committed page of `lpn` changes. It was `before`.
    fn changes(&mut self, lpn: Lpn, before: u32) {
        let group = &mut self.group[lpn.at() / GROUP];
        if *group == 0 {
            self.entries.push([UNCHANGED; GROUP]);
            *group = self.entries.len() as u32;
        }
        let entry = &mut self.entries[*group as usize - 1][lpn.at() % GROUP];
        if *entry == UNCHANGED {
            *entry = before;
        }
    }

    /// The entry of `lpn`.
    fn get(&self, lpn: Lpn) -> u32 {
        match self.group[lpn.at() / GROUP] {
            0 => UNCHANGED,
            group => self.entries[group as usize - 1][lpn.at() % GROUP],
        }
    }
}

/// At most two earlier maps: those of the last checkpoint and of the one that is being written.
#[derive(Clone, Default)]
pub(super) struct EarlierMaps([Option<Box<EarlierMap>>; 2]);

impl Owners {
    /// Store the map of this instant as number `which`, 0 or 1, in place of the earlier map of that number.
    pub(in crate::ftl) fn keep_map(&mut self, which: usize) {
        let earlier = Box::new(EarlierMap::new(self.logical_pages()));
        self.extras.get_or_insert_default().earlier.0[which] = Some(earlier);
    }

    /// Drop map number `which`.
    pub(crate) fn drop_map(&mut self, which: usize) {
        if let Some(extras) = &mut self.extras {
            extras.earlier.0[which] = None;
        }
    }

    /// The committed page of every LPN, in order, at the instant of map `which`; `u32::MAX` for none.
    pub(in crate::ftl) fn earlier_pages(&self, which: usize) -> Vec<u32> {
        let extras = self.extras.as_ref().expect("a map has been kept");
        let earlier = extras.earlier.0[which].as_ref().expect("a map has been kept");
        let page = |lpn| match earlier.get(lpn) {
            UNCHANGED => self.committed(lpn).unwrap_or(Ppn::NONE).0,
            page => page,
        };
        (0..self.logical_pages()).map(Lpn).map(page).collect()
    }

    /// Store `pages`, as [`Owners::earlier_pages`] returns them, as map number `which`.
    pub(in crate::ftl) fn keep_pages(&mut self, which: usize, pages: &[u32]) {
        assert_eq!(pages.len(), self.logical_pages() as usize, "the map of another device");
        let mut earlier = Box::new(EarlierMap::new(self.logical_pages()));
        for (lpn, &page) in (0..).map(Lpn).zip(pages) {
            if self.committed(lpn).unwrap_or(Ppn::NONE).0 != page {
                earlier.changes(lpn, page);
            }
        }
        self.extras.get_or_insert_default().earlier.0[which] = Some(earlier);
    }

    /// Note that the committed page of `lpn` changes. It was `before`.
    #[cold]
    #[inline(never)]
    pub(super) fn note_change(&mut self, lpn: Lpn, before: Option<Ppn>) {
        let Some(extras) = &mut self.extras else { return };
        for earlier in extras.earlier.0.iter_mut().flatten() {
            earlier.changes(lpn, before.unwrap_or(Ppn::NONE).0);
        }
    }
}
