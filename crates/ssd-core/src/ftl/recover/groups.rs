//! The newest state of each parity group (ADR 0033).
//!
//! Each page carries the list of what its group held after the update that programmed it. An update counts if every
//! page of its list is on flash. One of them may be missing if the chip where it was, or where it is at home, is
//! missing, too, or has not been rebuilt: then the others determine it. The newest update that counts is the state of
//! the group. Its pages have not been erased, since they were valid when power was cut; the pages of a newer one were
//! programmed in part.
//!
//! A TRIM, or a copy that shares a page, programs nothing but a parity, so its list goes with one chip. Then its record
//! ends or replaces pages of an older list, whose parity still covers them: this parity does not count, even if it is
//! on flash. (If the list of a copy is there and does not count, another of its records is missing.)

use super::NONE;
use super::image::Image;
use super::scan::{FillState, Places, Trims, rank};
use crate::ftl::Ftl;
use crate::ftl::raid::GroupId;
use crate::ftl::raid::durable::Listed;
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
    /// By LPN, the newest copy of which a record tells: its number, and an update from which on its group holds it.
    copied: BTreeMap<Lpn, (u64, u64)>,
    /// Updates newer than those of the checkpoint, newest first, each with a page that has its list.
    updates: BTreeMap<(GroupId, Reverse<u64>), Ppn>,
}

/// What a mount has found of the groups.
pub(super) struct FoundGroups {
    /// Where the pages are.
    pub(super) places: Places,
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
    pages: Vec<(Lpn, u64, Ppn)>,
    missing: Vec<(Lpn, Listed)>,
    /// Whether records tell of a newer update, whose parity is missing.
    is_outdated: bool,
    /// The highest admission number of the data.
    sequence: u64,
}

impl FoundGroups {
    /// Scan the device `ftl`, whose interrupted erases have been finished.
    pub(super) fn of(ftl: &Ftl, records: &[Record], image: Option<&Image>) -> FoundGroups {
        let image = image.expect("a device with parity begins with a checkpoint");
        let scan = GroupScan::of(ftl, records, image);
        let mut found = FoundGroups {
            places: Places::empty(ftl),
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
        for (lpn, number, page) in state.pages {
            debug_assert!(page.0 != NONE, "{group:?} is on no page");
            let is_parity = scan.ftl.parity_groups().is_parity(lpn);
            let number = if is_parity { scan.ftl.flash.sequence(page) } else { number };
            self.places.put(scan.ftl, (lpn, number), page);
        }
        let sequence = state.sequence;
        for (lpn, Listed { number: listed, .. }) in state.missing {
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
        let (pages, copied, updates) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut scan = GroupScan { ftl, image, trims, filled, pages, copied, updates };
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
        records.iter().for_each(|record| scan.apply_record(record));
        scan
    }

    /// Use `page` for the data of `lpn` with this `number`, unless another one is better.
    fn put(&mut self, named: (Lpn, u64), page: Ppn) {
        let rank = |page: Ppn| rank(self.ftl, &self.filled, page);
        let best = self.pages.entry(named).or_insert(page);
        if rank(page) > rank(*best) {
            *best = page;
        }
    }

    /// Take a record of where the data of an LPN are into account. It is stale if that page has been programmed again.
    fn apply_record(&mut self, record: &Record) {
        let Record::Share { lpn, page, sequence, carried, update } = *record else { return };
        let flash = &self.ftl.flash;
        let is_stale = (flash.lpn(page), flash.sequence(page)) != carried;
        if is_stale || self.trims.end(lpn, sequence) {
            return;
        }
        self.put((lpn, sequence), page);
        let newest = self.copied.entry(lpn).or_default();
        *newest = (sequence, update).max(*newest);
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
        self.put((lpn, ftl.number_on(page)), page);
        let update = ftl.flash.lists().and_then(|lists| lists.get(page).last().copied());
        let update = Listed::of(update.expect("pages carry lists")).number;
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
        let of_image = |lpn: Lpn| match self.image.map[lpn.at()] {
            NONE => self.image.numbers[lpn.at()],
            page => {
                let plane = self.ftl.geo.plane_of(Ppn(page));
                self.ftl.entry_of(lpn, self.image.numbers[lpn.at()], plane)
            }
        };
        let of_image = groups.pages(group).map(of_image).collect();
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
        let lacks = self.ftl.lost.as_ref().is_some_and(|lost| lost.lacks_some());
        assert!(lacks, "{group:?} has no state of which all pages are there");
        fallback.expect("the checkpoint has one")
    }

    /// Whether an update with these pages counts.
    fn counts(&self, state: &GroupPages) -> bool {
        let [(lpn, listed)] = state.missing[..] else { return state.missing.is_empty() };
        let Some(lost) = &self.ftl.lost else { return false };
        if state.is_outdated {
            // The newer parity may have been on any chip.
            return lost.lacks_some();
        }
        let home = self.ftl.parity_groups().home(lpn);
        lost.lacks(home) || listed.away.is_some_and(|plane| lost.lacks(plane))
    }

    /// The pages of `list`, which names what `group` held, without those that have been trimmed since, and with those
    /// that have been copied since.
    fn pages_of(&self, group: GroupId, list: &[u64]) -> GroupPages {
        let (groups, mut state) = (self.ftl.parity_groups(), GroupPages::default());
        assert_eq!(list.len(), groups.chips() as usize, "the list of another group");
        let named = groups.pages(group).zip(list.iter().map(|&entry| Listed::of(entry)));
        let mut named: Vec<(Lpn, Listed)> = named.collect();
        let parity = named.pop().expect("a group has parity");
        named.retain_mut(|(lpn, listed)| {
            if let Some(&(number, update)) = self.copied.get(lpn)
                && update > parity.1.number
                && !self.updates.contains_key(&(group, Reverse(update)))
                && number > listed.number
            {
                state.is_outdated = true;
                *listed = Listed { number, away: None };
                return true;
            }
            let is_trimmed = listed.number > 0 && self.trims.end(*lpn, listed.number);
            state.is_outdated |= is_trimmed;
            listed.number > 0 && !is_trimmed
        });
        state.sequence = named.iter().map(|named| named.1.number).max().unwrap_or(0);
        let has_parity = (!named.is_empty()).then_some(parity);
        for (lpn, listed) in named.into_iter().chain(has_parity) {
            let is_old = state.is_outdated && groups.is_parity(lpn);
            match self.pages.get(&(lpn, listed.number)).filter(|_| !is_old) {
                Some(&page) => state.pages.push((lpn, listed.number, page)),
                None => state.missing.push((lpn, listed)),
            }
        }
        state
    }
}
