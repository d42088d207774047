//! Pages under newer data that are in the controller.

use crate::ftl::Ftl;
use crate::ftl::map::Entry;
use crate::units::{Lpn, Ppn};

impl Ftl {
    /// Make `ppn` the committed page under the newest data of `lpn`, which are in the controller. Returns the one
    /// before.
    pub(in crate::ftl) fn takes_under(&mut self, lpn: Lpn, ppn: Ppn) -> Option<Ppn> {
        let Entry::Slot(newest) = self.owners.newest(lpn) else {
            panic!("nothing of {lpn:?} is in the controller")
        };
        let before = self.owners.under(newest);
        assert_eq!(self.flash.lpn(ppn), lpn, "{ppn:?} carries another address");
        assert_ne!(before, Some(ppn), "{lpn:?} replaces a page with itself");
        self.owners.under[newest.at()] = ppn;
        self.takes_over(lpn, ppn, before);
        before
    }

    /// Disown the committed page of `lpn`, which is lost; newer data in the controller stay.
    pub(in crate::ftl) fn disown_committed(&mut self, lpn: Lpn) {
        let committed = self.owners.committed(lpn).expect("it is on flash");
        debug_assert!(self.owners.is_valid(committed), "{committed:?} has no owner");
        self.needs_no_record(lpn);
        self.disown(committed, lpn);
        match self.owners.newest(lpn) {
            Entry::Slot(newest) => self.owners.under[newest.at()] = Ppn::NONE,
            _ => self.owners.map.set(lpn, Entry::Unmapped),
        }
    }
}
