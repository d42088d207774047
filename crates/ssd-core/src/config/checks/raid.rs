//! What parity over chips cannot be combined with, each with the remedy.

use crate::config::tables::*;
use crate::config::words::Word;

/// The groups fit the chips.
pub(super) fn groups(config: &Config) -> Option<String> {
    let (group, chips) = (u64::from(config.raid.group), config.chips());
    if group == 0 || (group > 1 && chips % group == 0) {
        return None;
    }
    let fitting: Vec<String> =
        (2..=chips.min(64)).filter(|g| chips % g == 0).map(|g| g.to_string()).collect();
    assert!(!fitting.contains(&group.to_string()), "{group} divides {chips}");
    let remedy = match &fitting[..] {
        [] => "use more chips, or 0 for no parity".to_string(),
        fitting => format!("use {}, or 0 for no parity", fitting.join(", ")),
    };
    Some(match group {
        1 => format!("a group of one chip has no page that parity could restore: {remedy}"),
        _ => format!("groups of {group} chips do not divide the {chips} chips: {remedy}"),
    })
}

/// Where pages of the host go, and from which erased blocks.
pub(super) fn places(config: &Config) -> Option<String> {
    if config.raid.group == 0 {
        return None;
    }
    let alloc = &config.alloc;
    let placement = &alloc.placement.policy;
    let mut wrong = Vec::new();
    if placement != "static" {
        wrong.push(format!(
            "alloc.placement = \"static\", as a stripe has one page on each chip (it is {placement:?})"
        ));
    }
    if config.planes_per_pool() > 1 {
        wrong.push(format!(
            "alloc.pool = \"plane\" (or \"chip\" with one plane), as the room for a group is reserved \
             plane by plane (it is {:?})",
            alloc.pool.word()
        ));
    }
    if alloc.erase_unit == EraseUnit::Superblock {
        wrong.push("alloc.erase_unit = \"block\"".to_string());
    }
    if alloc.frontiers == Frontiers::Single {
        wrong.push(
            "alloc.frontiers = \"host+gc\", as copies would use the room of a group".to_string(),
        );
    }
    (!wrong.is_empty()).then(|| format!("parity groups need {}", wrong.join(", and ")))
}

/// What the host sees of them.
pub(super) fn parts(config: &Config) -> Option<String> {
    if config.raid.group == 0 {
        return None;
    }
    let mut wrong = Vec::new();
    if config.host.write_buffer_pages > 0 {
        wrong.push("host.write_buffer_pages = 0");
    }
    if config.precondition.steady_state == SteadyStart::MeanField {
        wrong.push(
            "precondition.steady_state = \"none\" (parity is rewritten more often than data, and the mean \
             field assumes equal rates)",
        );
    }
    (!wrong.is_empty()).then(|| format!("parity groups need {}", wrong.join(" and ")))
}
