//! Power cuts and copies: the records of the owners that a copy adds, and of the pages that it unmaps.

use super::Power;
use crate::nand::nvram::Record;
use crate::sim::core::Core;
use crate::units::{Lpn, Ppn};

impl Power {
    /// Record that `lpn` shares `page` from now on.
    pub(in crate::sim) fn record_shared(&self, core: &mut Core, lpn: Lpn, page: Ppn) {
        // In the mode `copy` its own page gets a higher number, so that a mount prefers it.
        core.front.sequence += 1;
        self.record_owner(core, (lpn, core.front.sequence), page);
    }

    /// Record that the data of `lpn` with admission number `sequence` are on `page`, which it shares from now on.
    pub(in crate::sim) fn record_owner(
        &self,
        core: &mut Core,
        (lpn, sequence): (Lpn, u64),
        page: Ppn,
    ) {
        debug_assert!(core.ftl.owners.is_valid(page), "{lpn:?} shares old data");
        core.ftl.record_owner(lpn, page, sequence);
        // A cut may bring back the page of a victim from which the owners of `page` have moved.
        if let Some(&(source, _)) = self.moved.iter().find(|&&(_, target)| target == page) {
            core.ftl.record_owner_too(lpn, source, sequence);
        }
    }

    /// Record that `lpn` has been unmapped as the copy of a page without data.
    pub(in crate::sim) fn record_unmapped(&self, core: &mut Core, lpn: Lpn) {
        debug_assert!(core.ftl.owners.committed(lpn).is_none(), "{lpn:?} has data");
        let sequence = core.front.sequence;
        core.ftl.add_record(Record::Trim { first: lpn, pages: 1, sequence });
    }

    /// Count the second admission number of a page of a copy.
    pub(in crate::sim) fn count_second_number(&mut self) {
        debug_assert!(self.off_since.is_none(), "a page is admitted without power");
        self.area.extra_numbers += 1;
    }
}
