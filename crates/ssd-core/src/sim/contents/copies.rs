//! Contents and copies: what the pages of a copy hold.

use super::Contents;
use crate::ftl::map::Entry;
use crate::sim::core::Core;
use crate::units::{Lpn, OpSlot, Ppn};

impl Contents {
    /// Give `lpn` the newest data of `source`.
    pub(crate) fn copy(&mut self, lpn: Lpn, source: Lpn) {
        debug_assert_ne!(lpn, source, "a page is copied to itself");
        debug_assert_ne!(self.newest(source), 0, "{source:?} has no data to copy");
        self.newest[lpn.at()] = self.newest(source);
    }

    /// Let the page in `slot`, about to be admitted as a copy of `source` to `lpn` in a parity group, carry the newest
    /// data of `source`.
    pub(crate) fn carry_source(&mut self, core: &Core, slot: OpSlot, (lpn, source): (Lpn, Lpn)) {
        let payload = match core.ftl.owners.newest(source) {
            Entry::Page(page) => core.ftl.flash.payload(page),
            Entry::Slot(newest) => self.payload(newest).clone(),
            Entry::Unmapped => core.ftl.reconstructed(source),
        };
        debug_assert_eq!(payload.digest, self.newest(source), "{source:?} holds other data");
        self.carry(slot, payload);
        self.copy(lpn, source);
    }

    /// Let the copy in `slot` program what it reads from `page`.
    pub(crate) fn carry_page(&mut self, core: &Core, slot: OpSlot, page: Ppn) {
        debug_assert!(core.array.ops[slot].copies(), "{slot:?} is no copy");
        self.carry(slot, core.ftl.flash.payload(page));
    }

    /// Let `heir` copy the page in `source`, with the same data.
    pub(crate) fn carry_same(&mut self, heir: OpSlot, source: OpSlot) {
        debug_assert_ne!(heir, source, "{heir:?} waits for itself");
        self.carry(heir, self.payload(source).clone());
    }

    /// Let the copy in `slot` read the data that it programs.
    pub(crate) fn expect_own(&mut self, slot: OpSlot) {
        let page = self.page(slot);
        debug_assert_ne!(page.payload.digest, 0, "{slot:?} copies nothing");
        page.expected = page.payload.digest;
    }
}
