//! A host that stores logical pages in zones. It has a log of appends for each stream and a map, and it collects zones.
//!
//! A write goes to the open zone of its stream. If that is full, the stream takes the zone that has been empty for the
//! longest time, as long as another empty zone remains. Otherwise the host collects the full zone with the fewest live
//! pages, or, of several, the one with the lowest number. It copies the live pages to a zone for copies and resets the
//! victim. Only copies may take the last empty zone. Streams share zones if there are more streams than the host may
//! have zones open for (`Config::zone_streams`).

use crate::config::Config;
use crate::host::zones::{ZoneState, ZoneTable};
use crate::units::Lpn;
use std::collections::VecDeque;

/// No page.
const NONE: u32 = u32::MAX;

/// The map of the host, and the zones that it writes.
#[derive(Clone)]
pub(super) struct ZoneHost {
    /// The page of a zone that holds each logical page.
    places: Box<[u32]>,
    /// The logical page that each page of a zone holds, or held before it was overwritten.
    holds: Box<[u32]>,
    /// Live pages of each zone.
    live: Vec<u32>,
    /// The zone that each stream writes to, then the zone for copies.
    open: Vec<Option<u32>>,
    /// Empty zones, in the order in which they became empty.
    empty: VecDeque<u32>,
}

impl ZoneHost {
    /// A host without data.
    pub(super) fn new(config: &Config, table: &ZoneTable) -> ZoneHost {
        let zones = table.zones().len() as u32;
        let streams = config.zone_streams() as usize;
        assert!(streams > 0, "the config layer has checked the room");
        ZoneHost {
            places: vec![NONE; config.device.user_pages as usize].into(),
            holds: vec![NONE; (zones * table.zone_pages()) as usize].into(),
            live: vec![0; zones as usize],
            open: vec![None; streams + 1],
            empty: (0..zones).collect(),
        }
    }

    /// Logical pages.
    pub(super) fn pages(&self) -> u32 {
        self.places.len() as u32
    }

    /// The slot of the open zones that request stream `stream` writes to.
    pub(super) fn slot_of(&self, stream: u8) -> usize {
        usize::from(stream) % (self.open.len() - 1)
    }

    /// The slot of the zone for copies.
    pub(super) fn slot_of_copies(&self) -> usize {
        self.open.len() - 1
    }

    /// The zone that takes the next page of `slot`; `None` if the host has to collect first.
    pub(super) fn zone_for(&mut self, slot: usize, table: &ZoneTable) -> Option<u32> {
        let has_page = |&zone: &u32| table.zones()[zone as usize].written < table.zone_pages();
        if let Some(zone) = self.open[slot].filter(has_page) {
            return Some(zone);
        }
        let kept = usize::from(slot != self.slot_of_copies());
        if self.empty.len() <= kept {
            return None;
        }
        self.open[slot] = self.empty.pop_front();
        self.open[slot]
    }

    /// The full zone with the fewest live pages, unless all its pages are live.
    pub(super) fn victim(&self, table: &ZoneTable) -> Option<u32> {
        let is_full = |&zone: &u32| table.zones()[zone as usize].state == ZoneState::Full;
        let zones = (0..self.live.len() as u32).filter(is_full);
        let victim = zones.min_by_key(|&zone| self.live[zone as usize])?;
        (self.live[victim as usize] < table.zone_pages()).then_some(victim)
    }

    /// The live pages of `zone`, in order, each with its logical page.
    pub(super) fn live_pages(&self, zone: u32, table: &ZoneTable) -> Vec<(Lpn, Lpn)> {
        let first = zone * table.zone_pages();
        let pages = first..first + table.zone_pages();
        let pages = pages.map(|page| (self.holds[page as usize], page));
        let is_live = |&(lpn, page): &(u32, u32)| lpn != NONE && self.places[lpn as usize] == page;
        pages.filter(is_live).map(|(lpn, page)| (Lpn(lpn), Lpn(page))).collect()
    }

    /// The page of a zone that holds `lpn`.
    pub(super) fn place(&self, lpn: Lpn) -> Option<Lpn> {
        Some(Lpn(self.places[lpn.at()])).filter(|place| place.0 != NONE)
    }

    /// Note that `lpn` has been written to `page` of a zone.
    pub(super) fn written(&mut self, lpn: Lpn, page: Lpn, table: &ZoneTable) {
        self.forget(lpn, table);
        self.places[lpn.at()] = page.0;
        self.holds[page.at()] = lpn.0;
        self.live[(page.0 / table.zone_pages()) as usize] += 1;
    }

    /// Remove `lpn` from the map. Returns whether it had data.
    pub(super) fn forget(&mut self, lpn: Lpn, table: &ZoneTable) -> bool {
        let Some(old) = self.place(lpn) else { return false };
        self.places[lpn.at()] = NONE;
        self.live[(old.0 / table.zone_pages()) as usize] -= 1;
        true
    }

    /// Note that `zone`, which has no live page, has been reset.
    pub(super) fn was_reset(&mut self, zone: u32, table: &ZoneTable) {
        assert_eq!(self.live[zone as usize], 0, "zone {zone} has live pages");
        let first = (zone * table.zone_pages()) as usize;
        self.holds[first..first + table.zone_pages() as usize].fill(NONE);
        if let Some(slot) = self.open.iter_mut().find(|open| **open == Some(zone)) {
            *slot = None;
        }
        self.empty.push_back(zone);
    }

    /// Check the counts of live pages.
    pub(super) fn audit(&self, table: &ZoneTable) -> Result<(), String> {
        let zones = 0..self.live.len() as u32;
        let wrong =
            |zone: &u32| self.live_pages(*zone, table).len() as u32 != self.live[*zone as usize];
        match zones.into_iter().find(wrong) {
            Some(zone) => Err(format!("the count of live pages of zone {zone} is wrong")),
            None => Ok(()),
        }
    }
}
