//! What SLC blocks need, and what they cannot be combined with, each with the remedy.

use crate::config::tables::*;
use crate::config::text::quantity::show_size;
use crate::ftl::separation::separates;

/// A cell of one bit holds one bit in every block.
pub(super) fn bits(config: &Config) -> Option<String> {
    (!config.slc.is_off() && config.device.bits < 2).then(|| {
        "SLC blocks hold fewer bits than others, and device.bits = 1 holds one: expected device.bits of 2 to 4, or \
         slc.mode = \"off\""
            .to_string()
    })
}

/// The host needs frontiers of its own.
pub(super) fn frontiers(config: &Config) -> Option<String> {
    (!config.slc.is_off() && config.alloc.frontiers == Frontiers::Single).then(|| {
        "SLC blocks take writes of the host and no copies: expected alloc.frontiers = \"host+gc\" or \"streams:N\", \
         or slc.mode = \"off\""
            .to_string()
    })
}

/// Features that do not know of SLC blocks yet.
pub(super) fn not_with(config: &Config) -> Option<String> {
    if config.slc.is_off() {
        return None;
    }
    let remedies = [
        ("parity groups", "raid.group = 0", config.raid.group > 0),
        ("power cuts", "power.cut = \"never\"", !config.power.is_off()),
        ("classes of pages", "alloc.separation = \"none\"", separates(&config.alloc.separation)),
        (
            "the selective path",
            "gc.path = \"controller\" or \"copyback\"",
            config.gc.path == GcPath::Selective,
        ),
    ];
    let (what, remedy, _) = remedies.into_iter().find(|(_, _, on)| *on)?;
    Some(format!(
        "SLC blocks with {what} are not modelled: expected {remedy}, or slc.mode = \"off\""
    ))
}

/// Without time no pool is idle.
pub(super) fn idle_without_time(config: &Config) -> Option<String> {
    let idle = !config.slc.is_off() && config.slc.fold == Fold::Idle;
    (idle && config.run.mode == Mode::Functional).then(|| {
        "functional mode has no time for which a pool could be idle: expected slc.fold = \"full\", or run.mode = \
         \"timed\""
            .to_string()
    })
}

/// A unit has one idle timer.
pub(super) fn two_idle_times(config: &Config) -> Option<String> {
    let idle = !config.slc.is_off() && config.slc.fold == Fold::Idle;
    let trigger = config.gc.trigger.iter().any(|trigger| trigger.policy == "idle");
    (idle && trigger).then(|| {
        "the trigger idle collects SLC blocks, too: expected slc.fold = \"full\" with it, or another gc.trigger"
            .to_string()
    })
}

/// A copy-back stays in its plane.
pub(super) fn path(config: &Config) -> Option<String> {
    let copyback = !config.slc.is_off() && config.slc.path == FoldPath::Copyback;
    (copyback && config.planes_per_pool() > 1).then(|| {
        format!(
            "copy-back stays inside a plane, but {} planes share their erased blocks: expected alloc.pool = \
             \"plane\" or slc.path = \"controller\"",
            config.planes_per_pool()
        )
    })
}

/// The static blocks, full, and the data of the host fit into the device.
pub(super) fn static_blocks(config: &Config) -> Option<String> {
    if !config.slc.mode.has_static() {
        return None;
    }
    let (bits, units) = (u64::from(config.device.bits), config.static_slc_units());
    let of_units = |units: u64| {
        let pages = units * config.pages_per_unit() / bits.max(1) * config.pools();
        show_size(pages * u64::from(config.device.page_bytes))
    };
    if units == 0 {
        return Some(format!(
            "found {}, less than an SLC block of each pool; expected at least {}",
            show_size(config.slc.static_bytes),
            of_units(1)
        ));
    }
    let frontiers = u64::from(config.alloc.classes().all) * config.open_units_per_frontier();
    let spare = config.spare_units_per_pool();
    let room = spare.saturating_sub(u64::from(config.gc.reserve) + frontiers);
    // A full one holds 1 / bits of a block of data, so it takes the rest from the spare.
    let most = if bits > 1 { room * bits / (bits - 1) } else { 0 };
    (units > most).then(|| {
        let expected = if most > 0 {
            format!("at most {}", of_units(most))
        } else {
            "more device.over_provisioning".to_string()
        };
        format!(
            "{units} SLC blocks of each pool do not fit beside the data of the host: of {spare} spare erase units, \
             gc.reserve = {} and {frontiers} open ones leave {room}, and a full SLC block takes {} of one; expected \
             {expected}",
            config.gc.reserve,
            format_args!("{}/{bits}", bits.saturating_sub(1))
        )
    })
}
