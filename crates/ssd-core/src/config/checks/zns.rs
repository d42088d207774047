//! What zones need, and what they cannot be combined with, each with the remedy.

use crate::config::tables::*;
use crate::config::text::quantity::show_size;
use crate::ftl::separation::separates;

/// A zone has superblocks of its own.
pub(super) fn superblocks(config: &Config) -> Option<String> {
    let superblocks =
        config.alloc.erase_unit == EraseUnit::Superblock && config.planes_per_pool() > 1;
    (config.is_zoned() && !superblocks).then(|| {
        "a zone consists of superblocks: expected alloc.erase_unit = \"superblock\" with several planes in a pool, or \
         host.interface = \"block\""
            .to_string()
    })
}

/// Features that do not know of zones.
pub(super) fn not_with(config: &Config) -> Option<String> {
    if !config.is_zoned() {
        return None;
    }
    let remedies = [
        ("parity groups", "raid.group = 0", config.raid.group > 0),
        ("power cuts", "power.cut = \"never\"", !config.power.is_off()),
        ("copies of the device", "remap.mode = \"off\"", !config.remap.is_off()),
        ("classes of pages", "alloc.separation = \"none\"", separates(&config.alloc.separation)),
        ("SLC blocks", "slc.mode = \"off\"", !config.slc.is_off()),
        ("static wear levelling", "wear.static_threshold = 0", config.wear.static_threshold > 0),
        ("an endurance of blocks", "wear.endurance = 0", config.wear.endurance > 0),
        ("a write buffer", "host.write_buffer_pages = 0", config.host.write_buffer_pages > 0),
        ("several submission queues", "host.queues = 1", config.host.queues > 1),
        (
            "a steady state of collection",
            "precondition.steady_state = \"none\"",
            config.precondition.steady_state != SteadyStart::None,
        ),
        ("snapshots", "precondition.snapshot = \"none\"", config.precondition.snapshot.is_some()),
    ];
    let (what, remedy, _) = remedies.into_iter().find(|(_, _, on)| *on)?;
    Some(format!(
        "zones with {what} are not modelled: expected {remedy}, or host.interface = \"block\""
    ))
}

/// An open zone is active.
pub(super) fn limits(config: &Config) -> Option<String> {
    let (open, active) = (config.zns.open, config.zns.active);
    (config.is_zoned() && open > active).then(|| {
        format!(
            "{open} open zones are also active, of which there are at most {active}: expected zns.open <= zns.active"
        )
    })
}

/// The host has room to collect its zones.
pub(super) fn room(config: &Config) -> Option<String> {
    if !config.is_zoned() || config.zone_streams() > 0 {
        return None;
    }
    let (zones, pages) = (config.zones(), config.zone_pages());
    let size = |pages: u64| show_size(pages * u64::from(config.device.page_bytes));
    if config.zns.open < 2 || config.zns.active < 2 {
        return Some(
            "a host needs two open zones, one for its writes and one for its copies: expected zns.open and zns.active \
             of at least 2"
                .to_string(),
        );
    }
    Some(format!(
        "{} of user capacity do not fit into {zones} zones of {}, of which the host keeps one that it writes, one for \
         its copies and one empty: expected more device.over_provisioning, more blocks, or fewer zns.units",
        size(u64::from(config.device.user_pages)),
        size(pages)
    ))
}

/// Pages of zones have numbers of 31 bits.
pub(super) fn too_many_pages(config: &Config) -> Option<String> {
    let pages = config.zones().saturating_mul(config.zone_pages());
    (config.is_zoned() && pages > 1 << 31).then(|| {
        format!("{pages} pages in zones; expected at most {}: fewer or smaller blocks", 1u64 << 31)
    })
}
