//! The data that the device holds, for checks.

use super::ssd::Ssd;
use crate::ftl::map::Entry;
use crate::units::{Lpn, Ppn};

impl Ssd {
    /// The flash page with the newest data of `lpn` on flash; newer data may be in the controller.
    #[must_use]
    pub fn page_on_flash(&self, lpn: Lpn) -> Option<Ppn> {
        let page = self.core.ftl.owners.committed(lpn);
        debug_assert!(page.is_none_or(|ppn| self.core.ftl.owners.is_valid(ppn)), "{lpn:?} is lost");
        page
    }

    /// The digest of the data of `lpn` that a read returns, 0 without data; `None` if the device keeps no digests.
    #[must_use]
    pub fn newest_digest(&self, lpn: Lpn) -> Option<u64> {
        debug_assert!(!self.is_off(), "nothing is read without power");
        let on_flash = || match self.page_on_flash(lpn) {
            Some(page) => self.core.ftl.flash.digest(page),
            // A read computes it from the other pages of its group.
            None if self.core.ftl.is_lost(lpn) => self.core.ftl.reconstructed(lpn).digest,
            None => 0,
        };
        let [_, keeps_digests, _] = self.core.ftl.flash.keeps();
        keeps_digests.then(|| self.buffered_digest(lpn).unwrap_or_else(on_flash))
    }

    /// The digest of the newest data of `lpn`, if they are in the controller and contents are kept.
    #[must_use]
    pub fn buffered_digest(&self, lpn: Lpn) -> Option<u64> {
        let contents = self.contents.as_ref()?;
        debug_assert!(lpn.0 < self.core.ftl.geo.user_pages, "{lpn:?} is beyond the device");
        match self.core.ftl.owners.newest(lpn) {
            Entry::Slot(slot) => Some(contents.payload(slot).digest),
            _ => None,
        }
    }

    /// The page writes in the controller that may still reach flash: LPN and admission number of each.
    pub fn writes_in_controller(&self) -> impl Iterator<Item = (Lpn, u64)> + '_ {
        debug_assert!(!self.is_off(), "nothing is in a controller without power");
        self.core.array.ops.live().filter(|op| op.sequence > 0).map(|op| (op.lpn, op.sequence))
    }
}
