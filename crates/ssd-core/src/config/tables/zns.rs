//! `[zns]`: the zones of a device with `host.interface = "zns"`.

use super::prelude::*;
use crate::ftl::separation::fdp;
use crate::plug::{PolicySpec, Value};
use std::borrow::Cow;

crate::config_table! {
    "Zones, which the host writes in order and resets as a whole; the device collects nothing."
    Zns: zns in Config {
        units: int(1, 65_536) => units: u32 = 1,
            "Superblocks of each pool that make up a zone.";
        open: int(1, 64) => open: u32 = 14,
            "Most zones that are open at a time.";
        active: int(1, 64) => active: u32 = 14,
            "Most zones that are open or closed at a time. Each writes to superblocks of its own.";
    }
}

impl Zns {
    /// All keys have their defaults.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Zns::default()
    }
}

impl Config {
    /// Whether zones are the interface of the device.
    #[must_use]
    pub fn is_zoned(&self) -> bool {
        !self.host.interface.is_block()
    }

    /// Pages of a zone, which consists of the same number of superblocks in each pool.
    #[must_use]
    pub fn zone_pages(&self) -> u64 {
        u64::from(self.zns.units) * self.pages_per_unit() * self.pools()
    }

    /// Zones of the device. They leave out the superblocks of the reserve in each pool, and one more, to which a zone
    /// can be written while the superblock of a reset zone is being erased.
    #[must_use]
    pub fn zones(&self) -> u64 {
        let kept = u64::from(self.gc.reserve) + 1;
        self.units_per_pool().saturating_sub(kept) / u64::from(self.zns.units.max(1))
    }

    /// Zones that a host with the user capacity opens at a time for its streams. One of the zones that may be open is
    /// for copies, and two zones are left for collection.
    #[must_use]
    pub fn zone_streams(&self) -> u64 {
        let data = u64::from(self.device.user_pages).div_ceil(self.zone_pages().max(1));
        let open = u64::from(self.zns.open.min(self.zns.active)).saturating_sub(1);
        open.min(self.zones().saturating_sub(data + 2))
    }

    /// The drive of this configuration. Below the interface, zones are logical pages that the device separates by the
    /// zone that they are written to, with a handle for each active one.
    #[must_use]
    pub fn of_drive(&self) -> Cow<'_, Config> {
        if !self.is_zoned() {
            return Cow::Borrowed(self);
        }
        let mut drive = self.clone();
        let pages = self.zones() * self.zone_pages();
        drive.device.user_pages = u32::try_from(pages).expect("checked by the config layer");
        let handles = Value::Int(u64::from(self.zns.active));
        drive.alloc.separation = PolicySpec::with_defaults(&fdp::INFO).with("handles", handles);
        Cow::Owned(drive)
    }
}
