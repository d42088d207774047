//! `[device]`: geometry and capacity.

use super::prelude::*;
use crate::config::text::parse::Node;

/// The most types of pages: bits of a cell.
pub const MOST_TYPES: usize = 4;

crate::config_table! {
    "Geometry and capacity."
    DeviceConfig: device in Config {
        channels: int(1, 4096) => channels: u32 = 8,
            "Channels.";
        chips_per_channel: int(1, 4096) => chips_per_channel: u32 = 4,
            "Chips (dies) on each channel.";
        planes_per_chip: int(1, 64) => planes_per_chip: u32 = 1,
            "Planes in each chip.";
        blocks_per_plane: int(4, 1 << 24) => blocks_per_plane: u32 = 256,
            "Blocks in each plane.";
        pages_per_block: int(1, 4096) => pages_per_block: u32 = 128,
            "Pages in each block.";
        bits: int(1, MOST_TYPES as u64) =>
            #[serde(default = "one", skip_serializing_if = "is_one")]
            bits: u32 = one(),
            "Bits of a cell, and so types of pages, each with its own times (`timing.read_types`, \
            `timing.program_types`: without either it has no effect).";
        word_line: special(WORD_LINE) =>
            #[serde(default = "one", skip_serializing_if = "is_one")]
            word_line: u32 = one(),
            "Pages of a block that share a word line, one after the other: a multiple of `bits` that divides \
            `pages_per_block`. The first `word_line / bits` of them are of the first type, and so on.";
        page_size: special(PAGE_SIZE) => page_bytes: u32 = 4096,
            "Page size: a power of two.";
        over_provisioning: special(OVER_PROVISIONING),
            "(physical - user) / user pages. Alternative to `user_capacity`. User pages are rounded \
            down. With `raid.group`, parity counts as user pages here, and whole stripes are used.";
        user_capacity: special(USER_CAPACITY) => user_pages: u32 = 0,
            "Capacity visible to the host, rounded down to whole pages (with `raid.group`: to whole \
            stripes). Alternative to `over_provisioning`.";
        fit: word() =>
            #[serde(default = "as_said", skip_serializing_if = "is_as_said")]
            fit: DeviceFit = as_said(),
            "What the capacity follows. trace: the pages that the trace touches, renumbered (`workload.fit = \
            \"compact\"`); `blocks_per_plane` is the smallest number that holds them at the over-provisioning \
            set, all other keys stay. The resolved configuration holds the number that was found.";
    }
}

// Newer than the first reports: a configuration that does not set it keeps its digest.

const fn as_said() -> DeviceFit {
    DeviceFit::None
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_as_said(fit: &DeviceFit) -> bool {
    *fit == as_said()
}

const fn one() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_one(n: &u32) -> bool {
    *n == one()
}

static WORD_LINE: Special<Config> = Special {
    form: "integer, 1 to 4096",
    default: Some("`bits`"),
    read: |draft, errors, path, node| {
        let set = read::int(node, 1, 4096).map(|n| {
            draft.config.device.word_line = n as u32;
            draft.pending.word_line = Some(n as u32);
        });
        report(errors, path, node, set);
    },
    show: |config| Some(config.device.word_line.to_string()),
    text: false,
    types: &["integer"],
};

static PAGE_SIZE: Special<Config> = Special {
    form: "size, 2 KiB to 64 KiB",
    default: None,
    read: |draft, errors, path, node| {
        let result = read::block_size(node, 2048, 65_536).and_then(|n| {
            if !n.is_power_of_two() {
                let value = node.describe();
                return Err(format!("found {value}; expected 2, 4, 8, 16, 32 or 64 KiB"));
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

static OVER_PROVISIONING: Special<Config> = Special {
    form: "number above 0 and up to 100 (a whole number must be below 3), or a percentage up to \"10000%\"",
    default: Some(draft::OVER_PROVISIONING),
    read: |draft, errors, path, node| {
        let ratio = read::decimal(node, Span::above(0.0, 100.0));
        let ratio = ratio.and_then(|ratio| match doubtful_ratio(node) {
            Some(percent) => {
                let [share, multiple] = [percent, percent * 100.0]
                    .map(|percent| node.setting(path, &format!("{percent}%")));
                Err(format!(
                    "found {percent}: is it a percentage ({share}), or {percent} times the \
                             capacity of the host ({multiple})?"
                ))
            }
            None => Ok(ratio),
        });
        let set = ratio.map(|ratio| draft.pending.capacity = Capacity::OverProvisioning(ratio));
        report(errors, path, node, set);
    },
    show: |_| None,
    text: false,
    types: &["number", "string"],
};

/// A whole number of at least 3 without "%", which is as likely a percentage: no known drive has three times its
/// capacity to spare. Ratios that a program computes for a small device mostly have a fraction.
fn doubtful_ratio(node: &Node) -> Option<f64> {
    let number = match &node.literal {
        RawValue::Int(Some(n)) => *n as f64,
        RawValue::Float(text) => text.parse().ok()?,
        _ => return None,
    };
    (number >= 3.0 && number.fract() == 0.0).then_some(number)
}

static USER_CAPACITY: Special<Config> = Special {
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
