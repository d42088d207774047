//! `[device]` and `[timing]`: sizes, capacities, times and rates.

use super::{SIZE_TYPES, Special, TEXT, quoted, report};
use crate::config::resolved::{self, Capacity, Config, Transfer};
use crate::config::text::quantity::{show_size, show_time};
use crate::config::text::read::{self, Span};
pub(crate) static PAGE_SIZE: Special<Config> = Special {
    form: "size, 2 KiB to 64 KiB",
    default: None,
    read: |draft, errors, path, node| {
        let result = read::size(node, 2048, 65_536).and_then(|n| {
            if !n.is_power_of_two() {
                let found = node.found();
                return Err(format!("found {found}; expected 2, 4, 8, 16, 32 or 64 KiB"));
            }
            draft.config.device.page_bytes = n as u32;
            Ok(())
        });
        report(errors, path, node, result);
    },
    show: |config| Some(quoted(&show_size(u64::from(config.device.page_bytes)))),
    text: false,
    types: SIZE_TYPES,
};

pub(crate) static OVER_PROVISIONING: Special<Config> = Special {
    form: "number above 0 and up to 100",
    default: Some(resolved::OVER_PROVISIONING),
    read: |draft, errors, path, node| {
        let ratio = read::decimal(node, Span::above(0.0, 100.0));
        let set = ratio.map(|ratio| draft.pending.capacity = Capacity::OverProvisioning(ratio));
        report(errors, path, node, set);
    },
    show: |_| None,
    text: false,
    types: &["number"],
};

pub(crate) static USER_CAPACITY: Special<Config> = Special {
    form: "size",
    default: Some("from `over_provisioning`"),
    read: |draft, errors, path, node| {
        let set = read::bytes(node).map(|(n, _)| draft.pending.capacity = Capacity::Bytes(n));
        report(errors, path, node, set);
    },
    show: |config| {
        let device = &config.device;
        Some(quoted(&show_size(u64::from(device.user_pages) * u64::from(device.page_bytes))))
    },
    text: false,
    types: SIZE_TYPES,
};

pub(crate) static TRANSFER: Special<Config> = Special {
    form: "time, at most 60 s",
    default: Some("from `bus_rate`"),
    read: |draft, errors, path, node| {
        let set =
            read::time(node, 60_000_000_000).map(|ns| draft.pending.transfer = Transfer::Time(ns));
        report(errors, path, node, set);
    },
    show: |config| Some(quoted(&show_time(config.timing.transfer_ns))),
    text: false,
    types: TEXT,
};

pub(crate) static BUS_RATE: Special<Config> = Special {
    form: "rate",
    default: Some(resolved::BUS_RATE),
    read: |draft, errors, path, node| {
        let set = read::rate(node).map(|rate| draft.pending.transfer = Transfer::Rate(rate));
        report(errors, path, node, set);
    },
    show: |_| None,
    text: false,
    types: TEXT,
};
