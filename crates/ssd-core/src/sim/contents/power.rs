//! Contents and power cuts: after the mount the device knows again what capacitors have saved.

use super::Contents;
use crate::ftl::map::Entry;
use crate::nand::flash::Payload;
use crate::sim::core::Core;
use crate::units::{Lpn, OpSlot, Ppn};

impl Contents {
    /// Note that `page` has become the committed page of `lpn`, under a newer write. If that covers only a part of the
    /// page, it reads the rest from `page`, unless it is reading already.
    pub(crate) fn expect_page_below(&mut self, core: &Core, lpn: Lpn, page: Ppn) {
        debug_assert!(core.ftl.may_lose_power(), "{page:?} was programmed for nobody");
        if let Entry::Slot(newer) = core.ftl.owners.newest(lpn)
            && core.array.ops[newer].ppn == Ppn::NONE
        {
            self.page(newer).expected = core.ftl.flash.digest(page);
        }
    }

    /// Make `payload`, which capacitors have saved, the newest of `lpn` again, in `slot`.
    pub(crate) fn restore_saved(&mut self, slot: OpSlot, lpn: Lpn, payload: Payload) {
        debug_assert_ne!(payload.digest, 0, "nothing of {lpn:?} was saved");
        self.page(slot).expected = self.newest(lpn);
        self.carry_newest(slot, lpn, payload);
    }
}
