//! TRIMs without time.

use super::Functional;
use crate::host::device::DeviceError;
use crate::units::Lpn;

impl Functional {
    /// Unmap one page. Returns whether it was mapped.
    pub fn trim(&mut self, lpn: Lpn) -> bool {
        assert!(self.ftl.groups.is_none(), "a TRIM of {lpn:?} changes its parity: use trim_run");
        if self.zones.is_some() {
            return self.trim_in_zones(lpn, 1) > 0;
        }
        let was_mapped = self.unmap(lpn);
        if !self.agenda.is_empty() {
            self.meet_demands();
        }
        was_mapped
    }

    /// Unmap `count` pages from `first` on. Returns how many were mapped.
    ///
    /// # Errors
    /// As [`Functional::write`]: with parity a TRIM writes.
    pub fn trim_run(&mut self, first: Lpn, count: u32) -> Result<u64, DeviceError> {
        if self.zones.is_some() {
            return Ok(self.trim_in_zones(first, count));
        }
        if self.ftl.groups.is_none() {
            return Ok(self.trim_run_below(first, count));
        }
        let mut trimmed = 0;
        assert!(first.0 + count <= self.ftl.geo.user_pages, "{first:?} + {count} is too far");
        let mut left = first.0..first.0 + count;
        while let Some((group, positions)) = self.next_group(&mut left) {
            trimmed += self.trim_group(group, positions, count)?;
        }
        Ok(trimmed)
    }

    /// Unmap `count` pages of the flash from `first` on, on a device without parity. Returns how many were mapped.
    pub(in crate::sim) fn trim_run_below(&mut self, first: Lpn, count: u32) -> u64 {
        let pages = (first.0..first.0 + count).map(Lpn);
        let trimmed = pages.filter(|&lpn| self.unmap(lpn)).count();
        if !self.agenda.is_empty() {
            self.meet_demands();
        }
        trimmed as u64
    }

    /// Unmap `lpn` without meeting the demands that follow.
    fn unmap(&mut self, lpn: Lpn) -> bool {
        assert!(lpn.0 < self.ftl.geo.user_pages, "{lpn:?} is beyond the device");
        let (_, Some(old)) = self.ftl.trim(lpn) else { return false };
        debug_assert!(self.ftl.owners.committed(lpn).is_none(), "{lpn:?} is mapped after its TRIM");
        if !self.ftl.owners.is_valid(old) && self.agenda.watches_releases() {
            self.page_released(Some(old));
        }
        true
    }
}
