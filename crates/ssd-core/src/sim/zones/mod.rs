//! Zones on the flash: the frontier to which each active zone is written, and what the commands do to the flash.
//!
//! A zone is a range of logical pages. An active zone gets a frontier, its *handle*, with its first write, and returns
//! it when it becomes full or empty or fails. So a superblock has pages of only one zone. The zone fills its
//! superblocks unless a finish or a failure closes the last ones. A reset trims the pages, and collection erases the
//! superblocks without copies ([`crate::ftl`], `zones`).

mod functional;
mod host;
mod in_use;
mod store;
mod timed;

use crate::config::Config;
use crate::ftl::Ftl;
use crate::ftl::map::Entry;
use crate::host::zones::{Limits, ZoneFailure, ZoneStatus, ZoneTable};
use crate::units::{BlockId, Lpn, Ppn};

pub(super) use in_use::ZonesInUse;
pub use store::ZoneStore;
pub(super) use timed::TimedZones;
pub use timed::{ZoneAction, ZoneReply};

/// The zones of a device, and their handles.
#[derive(Clone)]
pub(crate) struct Zones {
    table: ZoneTable,
    /// By zone.
    handles: Vec<Option<u8>>,
    /// Free handles.
    free: Vec<u8>,
}

impl Zones {
    /// Empty zones; `None` if the device has no zones.
    pub(crate) fn new(config: &Config) -> Option<Zones> {
        if !config.is_zoned() {
            return None;
        }
        let (zones, pages) = (config.zones() as u32, config.zone_pages() as u32);
        let limits = Limits { open: config.zns.open, active: config.zns.active };
        Some(Zones {
            table: ZoneTable::new(zones, pages, limits),
            handles: vec![None; zones as usize],
            free: (0..config.zns.active as u8).rev().collect(),
        })
    }

    pub(crate) fn table(&self) -> &ZoneTable {
        &self.table
    }

    /// The first page of `zone`.
    fn first_page(&self, zone: u32) -> Lpn {
        Lpn(zone * self.table.zone_pages())
    }

    /// Begin a write. Returns its zone, and the handle for its pages.
    fn begin_write(&mut self, first: Lpn, pages: u32) -> Result<(u32, u8), ZoneStatus> {
        let zone = self.table.write(first.0, pages)?;
        Ok((zone, self.handle(zone)))
    }

    /// Begin an append. Returns the first of its pages, and their handle.
    fn begin_append(&mut self, zone: u32, pages: u32) -> Result<(Lpn, u8), ZoneStatus> {
        let first = self.table.append(zone, pages)?;
        Ok((Lpn(first), self.handle(zone)))
    }

    /// The handle of `zone`, which is open.
    fn handle(&mut self, zone: u32) -> u8 {
        let free = &mut self.free;
        let take = || free.pop().expect("there are as many handles as active zones");
        *self.handles[zone as usize].get_or_insert_with(take)
    }

    /// Note that a write of `pages` pages of `zone` has completed.
    fn write_completes(&mut self, zone: u32, pages: u32, ftl: &Ftl) {
        if self.table.write_completes(zone, pages) {
            let handle = self.release(zone).expect("the zone has been written");
            debug_assert!(ftl.has_none_open(u32::from(handle)), "zone {zone} ends in a superblock");
        }
    }

    /// Take back the handle of `zone`, if it has one.
    fn release(&mut self, zone: u32) -> Option<u8> {
        let handle = self.handles[zone as usize].take();
        self.free.extend(handle);
        handle
    }

    /// Finish `zone`.
    fn finish(&mut self, zone: u32, ftl: &mut Ftl) -> Result<(), ZoneStatus> {
        self.table.finish(zone)?;
        self.close(zone, ftl);
        Ok(())
    }

    /// Reset `zone`, whose pages are then trimmed.
    fn reset(&mut self, zone: u32, ftl: &mut Ftl) -> Result<(), ZoneStatus> {
        self.table.reset(zone)?;
        self.close(zone, ftl);
        Ok(())
    }

    /// Let `zone` fail.
    fn fail(&mut self, zone: u32, failure: ZoneFailure, ftl: &mut Ftl) -> Result<(), ZoneStatus> {
        self.table.fail(zone, failure)?;
        self.close(zone, ftl);
        Ok(())
    }

    /// Leave the rest of the superblocks of `zone` erased.
    fn close(&mut self, zone: u32, ftl: &mut Ftl) {
        if let Some(handle) = self.release(zone) {
            ftl.close_frontier(u32::from(handle));
        }
    }

    /// Check that the counts of zones are right, and that each superblock has pages of only one zone. If `quiet`, check
    /// that exactly the pages before each write pointer have data, in zones without writes in flight.
    pub(crate) fn audit(&self, ftl: &Ftl, quiet: bool) -> Result<(), String> {
        self.table.audit()?;
        let held = self.handles.iter().flatten().count() + self.free.len();
        if held != ftl.handles().map_or(0, |(handles, _)| handles as usize) {
            return Err(format!("{held} handles are with zones or free"));
        }
        for (zone, state) in (0..).zip(self.table.zones()) {
            let first = self.first_page(zone);
            if !quiet || state.in_flight > 0 {
                continue;
            }
            let is_written = |i: u32| ftl.owners.newest(Lpn(first.0 + i)) != Entry::Unmapped;
            if let Some(i) =
                (0..self.table.zone_pages()).find(|&i| is_written(i) != (i < state.written))
            {
                return Err(format!(
                    "zone {zone} has {} pages, and page {i} does not fit",
                    state.written
                ));
            }
        }
        for block in (0..ftl.blocks.len() as u32).map(BlockId) {
            let first = ftl.geo.first_page(block).0;
            let pages = (first..first + ftl.geo.pages_per_block).map(Ppn);
            let valid = pages.filter(|&page| ftl.owners.is_valid(page));
            let mut zones = valid.map(|page| ftl.flash.lpn(page).0 / self.table.zone_pages());
            let zone = zones.next();
            if zones.any(|other| Some(other) != zone) {
                return Err(format!("superblock {} has pages of several zones", block.0));
            }
        }
        Ok(())
    }
}
