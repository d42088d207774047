//! Values that two keys set in different ways: the user capacity, and the time of a page on the bus.

use crate::config::text::quantity::{Decimal, RATE};

/// Default of `device.over_provisioning`.
pub(crate) const OVER_PROVISIONING: &str = "0.15";
/// Default of `timing.bus_rate`.
pub(crate) const BUS_RATE: &str = "333 MB/s";

/// The user capacity as it was set.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Capacity {
    OverProvisioning(Decimal),
    Bytes(u128),
}

impl Default for Capacity {
    fn default() -> Capacity {
        let ratio = Decimal::parse(OVER_PROVISIONING);
        Capacity::OverProvisioning(ratio.expect("the default is a number"))
    }
}

impl Capacity {
    /// User pages, rounded down; `None` if out of range.
    pub(crate) fn user_pages(self, physical: Option<u128>, page_bytes: u32) -> Option<u128> {
        match self {
            Capacity::OverProvisioning(ratio) => ratio.share_without(physical?),
            Capacity::Bytes(bytes) => Some(bytes / u128::from(page_bytes.max(1))),
        }
    }
}

/// The time of a page on the bus as it was set.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Transfer {
    Time(u64),
    /// Bytes a second.
    Rate(u64),
}

impl Default for Transfer {
    fn default() -> Transfer {
        let rate = RATE.read(BUS_RATE).map(|(n, _)| n as u64);
        Transfer::Rate(rate.expect("the default is a rate"))
    }
}

impl Transfer {
    /// Nanoseconds for a page, to the nearest.
    pub(crate) fn of_page(self, page_bytes: u32) -> u64 {
        match self {
            Transfer::Time(ns) => ns,
            Transfer::Rate(rate) => {
                let scaled = u128::from(page_bytes) * 1_000_000_000;
                ((scaled + u128::from(rate) / 2) / u128::from(rate)) as u64
            }
        }
    }
}
