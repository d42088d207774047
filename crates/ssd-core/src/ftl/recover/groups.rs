//! The newest state of each parity group (ADR 0033).
//!
//! Each page carries the list of what its group held after the update that programmed it. An update counts if every
//! page of its list is on flash. One of them may be missing if the chip where it is at home is missing, too, or has not
//! been rebuilt: then the others determine it. The newest update that counts is the state of the group. Its pages have
//! not been erased, since they were valid when power was cut; the pages of a newer one were programmed in part.

use super::NONE;
use super::image::Image;
use super::scan::{FillState, Trims, rank};
use crate::ftl::Ftl;
use crate::ftl::raid::GroupId;
use crate::ftl::raid::lost::Numbers;
use crate::nand::nvram::Record;
use crate::units::{Lpn, Ppn};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The pages and lists on flash.
struct GroupScan<'a> {
    ftl: &'a Ftl,
    image: &'a Image,
    trims: Trims,
    /// By block, how far its programs got.
    filled: Vec<FillState>,
    /// By LPN and number, the page to use.
    pages: BTreeMap<(Lpn, u64), Ppn>,
    /// Updates newer than those of the checkpoint, newest first, each with a page that has its list.
    updates: BTreeMap<(GroupId, Reverse<u64>), Ppn>,
}

/// What a mount has found of the groups.
pub(super) struct FoundGroups {
    /// The valid pages as bits.
    pub(super) valid: Vec<u64>,
    /// Lost pages.
    pub(super) lost: Vec<(Lpn, Numbers)>,
    /// Updates that had been programmed in part.
    pub(super) undone: u64,
    /// The highest admission number.
    pub(super) sequence: u64,
}

/// The pages of a list: on flash, or missing.
#[derive(Default)]
struct GroupPages {
    pages: Vec<Ppn>,
    missing: Vec<(Lpn, u64)>,
    /// The highest admission number of the data.
    sequence: u64,
}

impl FoundGroups {
    /// Scan the device `ftl`, whose interrupted erases have been finished.
    pub(super) fn of(ftl: &Ftl, records: &[Record], image: Option<&Image>) -> FoundGroups {
        let image = image.expect("a device with parity begins with a checkpoint");
        let scan = GroupScan::of(ftl, records, image);
        let mut found = FoundGroups {
            valid: vec![0u64; ftl.geo.pages.div_ceil(64) as usize],
            lost: Vec::new(),
            undone: 0,
            sequence: records.iter().map(Record::sequence).max().unwrap_or(0),
        };
        for group in (0..ftl.parity_groups().count()).map(GroupId) {
            found.add(&scan, group);
        }
        found
    }

    fn add(&mut self, scan: &GroupScan<'_>, group: GroupId) {
        let (state, undone) = scan.state_of(group);
        for page in state.pages {
            debug_assert!(page.0 != NONE, "{group:?} is on no page");
            self.valid[page.at() / 64] |= 1 << (page.0 % 64);
        }
        let sequence = state.sequence;
        for (lpn, listed) in state.missing {
            let is_parity = scan.ftl.parity_groups().is_parity(lpn);
            let numbers = Numbers { sequence: if is_parity { sequence } else { listed }, listed };
            self.lost.push((lpn, numbers));
        }
        self.undone += undone;
        self.sequence = sequence.max(self.sequence);
    }
}

impl<'a> GroupScan<'a> {
    fn of(ftl: &'a Ftl, records: &[Record], image: &'a Image) -> GroupScan<'a> {
        let trims = Trims::of(ftl, records, Some(image));
        let filled = FillState::of_all(ftl);
        let (pages, updates) = (BTreeMap::new(), BTreeMap::new());
        let mut scan = GroupScan { ftl, image, trims, filled, pages, updates };
        for lpn in (0..ftl.geo.logical_pages).map(Lpn) {
            let place = image.place(ftl, lpn, |page| rank(ftl, &scan.filled, page));
            if let Some((page, _)) = place {
                scan.pages.insert((lpn, image.numbers[lpn.at()]), page);
            }
        }
        for block in ftl.good_blocks() {
            for (member, plane) in ftl.geo.planes_of_block(block).enumerate() {
                for number in image.covered(ftl, block, member)..ftl.flash.programmed(block, plane)
                {
                    scan.see(ftl.geo.page_on(block, plane, number));
                }
            }
        }
        scan
    }

    /// Take the out-of-band data of `page` into account.
    fn see(&mut self, page: Ppn) {
        let ftl = self.ftl;
        if ftl.flash.is_torn(page) || ftl.flash.is_lost(page) {
            return;
        }
        let (lpn, groups) = (ftl.flash.lpn(page), ftl.parity_groups());
        debug_assert!(lpn.0 < ftl.geo.logical_pages, "{page:?} carries {lpn:?}");
        let group = groups.group_of(lpn);
        let rank = |page: Ppn| rank(ftl, &self.filled, page);
        let best = self.pages.entry((lpn, ftl.number_on(page))).or_insert(page);
        if rank(page) > rank(*best) {
            *best = page;
        }
        let update = ftl.flash.lists().and_then(|lists| lists.get(page).last().copied());
        let update = update.expect("pages carry lists");
        if update > self.image.numbers[groups.parity(group).at()] {
            self.updates.insert((group, Reverse(update)), page);
        }
    }

    /// The newest state of `group`, and the number of newer updates.
    fn state_of(&self, group: GroupId) -> (GroupPages, u64) {
        let (lists, groups) = (self.ftl.flash.lists(), self.ftl.parity_groups());
        let lists = lists.expect("pages carry lists");
        let newer = self.updates.range((group, Reverse(u64::MAX))..=(group, Reverse(0)));
        let newer = newer.map(|(_, &page)| lists.get(page).to_vec());
        let of_image = groups.pages(group).map(|lpn| self.image.numbers[lpn.at()]).collect();
        let mut fallback = None;
        for (newer, list) in (0..).zip(newer.chain(std::iter::once::<Vec<u64>>(of_image))) {
            let state = self.pages_of(group, &list);
            if self.counts(&state) {
                return (state, newer);
            }
            let missing = |(state, _): &(GroupPages, u64)| state.missing.len();
            if fallback.as_ref().is_none_or(|other| state.missing.len() < missing(other)) {
                fallback = Some((state, newer));
            }
        }
        // Two chips have taken pages of the group.
        assert!(self.ftl.lost.is_some(), "{group:?} has no state of which all pages are there");
        fallback.expect("the checkpoint has one")
    }

    /// Whether an update with these pages counts.
    fn counts(&self, state: &GroupPages) -> bool {
        let groups = self.ftl.parity_groups();
        match state.missing[..] {
            [] => true,
            [(lpn, _)] => self.ftl.lost.as_ref().is_some_and(|lost| lost.lacks(groups.home(lpn))),
            _ => false,
        }
    }

    /// The pages of `list`, which names what `group` held, without those that have been trimmed since.
    fn pages_of(&self, group: GroupId, list: &[u64]) -> GroupPages {
        let (groups, mut state) = (self.ftl.parity_groups(), GroupPages::default());
        assert_eq!(list.len(), groups.chips() as usize, "the list of another group");
        let is_there = |&(lpn, number): &(Lpn, u64)| {
            groups.is_parity(lpn) || (number > 0 && !self.trims.end(lpn, number))
        };
        let named = groups.pages(group).zip(list.iter().copied());
        let named: Vec<(Lpn, u64)> = named.filter(is_there).collect();
        let (&parity, data) = named.split_last().expect("a group has parity");
        if data.is_empty() {
            return state;
        }
        state.sequence = data.iter().map(|named| named.1).max().unwrap_or(0);
        for &named in data.iter().chain([&parity]) {
            match self.pages.get(&named) {
                Some(&page) => state.pages.push(page),
                None => state.missing.push(named),
            }
        }
        state
    }
}
