//! A host that stores logical pages in zones, without time.

use super::in_use::ZonesInUse;
use crate::host::device::DeviceError;
use crate::host::request::{Op, Request};
use crate::host::zones::ZoneTable;
use crate::metrics::counters::ZoneCounts;
use crate::sim::front::pages_of;
use crate::sim::functional::Functional;
use crate::units::Lpn;

impl Functional {
    /// The zones; `None` if the device has no zones.
    #[must_use]
    pub fn zones(&self) -> Option<&ZoneTable> {
        self.zones.as_deref().map(|used| used.zones.table())
    }

    /// The counts of the host since they were last reset.
    #[must_use]
    pub fn zone_counts(&self) -> Option<ZoneCounts> {
        self.zones.as_deref().map(|used| used.counts)
    }

    /// Reset the counts of the host.
    pub(crate) fn restart_zones(&mut self) {
        if let Some(used) = self.zones.as_deref_mut() {
            used.counts = ZoneCounts::default();
        }
    }

    /// Check that `r`, request `id`, which is valid for the drive, lies within the logical pages of the host.
    #[inline]
    pub(crate) fn check_zoned(&self, id: u64, r: &Request) -> Result<(), DeviceError> {
        let Some(used) = self.zones.as_deref() else { return Ok(()) };
        let pages = pages_of(&self.ftl.geo, r);
        if r.op == Op::Flush || pages.first + pages.count <= used.host.pages() {
            return Ok(());
        }
        let (first, count, user) = (pages.first, pages.count, used.host.pages());
        let reason = format!("pages {first} + {count} lie beyond the {user} pages of the host");
        Err(DeviceError::BadRequest { id, reason })
    }

    /// Logical pages of the host.
    pub(in crate::sim) fn host_pages(&self) -> u32 {
        self.zones.as_deref().map_or(self.ftl.geo.user_pages, |used| used.host.pages())
    }

    /// Whether the host has data of `lpn` on flash.
    pub(in crate::sim) fn has_data(&self, lpn: Lpn) -> bool {
        let place = match self.zones.as_deref() {
            Some(used) => used.host.place(lpn),
            None => Some(lpn),
        };
        place.is_some_and(|place| self.ftl.owners.committed(place).is_some())
    }

    /// Append logical page `lpn` to the zone of request stream `stream`.
    pub(in crate::sim) fn write_to_zone(
        &mut self,
        lpn: Lpn,
        stream: u8,
    ) -> Result<(), DeviceError> {
        let mut used = self.zones.take().expect("the caller has checked");
        let done = self.write_in_turn(&mut used, lpn, stream);
        self.zones = Some(used);
        done
    }

    fn write_in_turn(
        &mut self,
        used: &mut ZonesInUse,
        lpn: Lpn,
        stream: u8,
    ) -> Result<(), DeviceError> {
        let slot = used.host.slot_of(stream);
        let zone = loop {
            match used.host.zone_for(slot, used.zones.table()) {
                Some(zone) => break zone,
                None => self.collect_zone(used)?,
            }
        };
        used.counts.host_pages += 1;
        self.append(used, zone, lpn)
    }

    /// Append `lpn` to `zone`, which has a page left.
    fn append(&mut self, used: &mut ZonesInUse, zone: u32, lpn: Lpn) -> Result<(), DeviceError> {
        let begun = used.zones.begin_append(zone, 1);
        let (page, handle) = begun.expect("the host observes the limits of the zones");
        self.write_page_below(page, handle)?;
        used.zones.write_completes(zone, 1, &self.ftl);
        used.host.written(lpn, page, used.zones.table());
        Ok(())
    }

    /// Copy the live pages of a zone to the zone for copies, and reset it.
    fn collect_zone(&mut self, used: &mut ZonesInUse) -> Result<(), DeviceError> {
        let victim = used.host.victim(used.zones.table());
        let victim = victim.expect("the config layer has checked the room");
        for (lpn, _) in used.host.live_pages(victim, used.zones.table()) {
            let slot = used.host.slot_of_copies();
            let zone = used.host.zone_for(slot, used.zones.table());
            used.counts.copied_pages += 1;
            self.append(used, zone.expect("one empty zone is reserved for copies"), lpn)?;
        }
        let reset = used.zones.reset(victim, &mut self.ftl);
        assert_eq!(reset, Ok(()), "zone {victim} is full");
        used.counts.resets += 1;
        let (first, pages) = (used.zones.first_page(victim), used.zones.table().zone_pages());
        used.host.was_reset(victim, used.zones.table());
        self.trim_run_below(first, pages);
        Ok(())
    }

    /// TRIM `count` logical pages from `first` on. Returns how many had data.
    pub(in crate::sim) fn trim_in_zones(&mut self, first: Lpn, count: u32) -> u64 {
        let used = self.zones.as_deref_mut().expect("the caller has checked");
        let pages = (first.0..first.0 + count).map(Lpn);
        pages.filter(|&lpn| used.host.forget(lpn, used.zones.table())).count() as u64
    }

    /// Check the zones, and the host that writes them.
    ///
    /// # Errors
    /// The first violated invariant.
    pub fn audit_zones(&self) -> Result<(), String> {
        let Some(used) = self.zones.as_deref() else { return Ok(()) };
        used.zones.audit(&self.ftl, true)?;
        used.host.audit(used.zones.table())
    }
}
