//! TRIMs without time.

use super::Functional;
use crate::host::device::DeviceError;
use crate::units::Lpn;

impl Functional {
    /// Unmap one page. Returns whether it was mapped.
    pub fn trim(&mut self, lpn: Lpn) -> bool {
        assert!(self.ftl.groups.is_none(), "a TRIM of {lpn:?} changes its parity: use trim_run");
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
        let mut trimmed = 0;
        if self.ftl.groups.is_none() {
            (first.0..first.0 + count).for_each(|lpn| trimmed += u64::from(self.unmap(Lpn(lpn))));
            if !self.agenda.is_empty() {
                self.meet_demands();
            }
            return Ok(trimmed);
        }
        assert!(first.0 + count <= self.ftl.geo.user_pages, "{first:?} + {count} is too far");
        let mut left = first.0..first.0 + count;
        while let Some((group, positions)) = self.next_group(&mut left) {
            trimmed += self.trim_group(group, positions, count)?;
        }
        Ok(trimmed)
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
