//! `[raid]`: parity over the chips of the device.

use super::prelude::*;

crate::config_table! {
    "Parity over the chips of the device, so that it survives the loss of one (RAID-5)."
    Raid: raid in Config {
        group: int(0, 64) => group: u32 = 0,
            "Chips of a parity group; 0: no parity. Chips are grouped in striping order. Of each group one \
            page of a stripe is parity, on each chip in turn.";
        update: word() => update: ParityUpdate = ParityUpdate::Fewest,
            "What is read to update the parity of a group of which the host writes a part.";
        redirect: policy(REDIRECTS) => redirect: PolicySpec = named(REDIRECTS, "none"),
            "Which writes go to a chip of another parity group.";
        queue: int(1, 1 << 20) => queue: u32 = 20,
            "Updates of groups that count as waiting in the controller when the next request for a chip is \
            estimated (`raid.redirect`).";
        read_buffer_pages: int(0, 1 << 24) => read_buffer_pages: u32 = 0,
            "Pages last read for the update of a parity that the controller keeps: they are not read again \
            until they are overwritten; 0: none.";
    }
}

impl Raid {
    /// There is no parity; then no key of the table has an effect.
    pub(crate) fn is_off(&self) -> bool {
        self.group == 0
    }
}
