//! What parity over chips cannot be combined with, each with the remedy.

use crate::config::tables::*;
use crate::config::words::Word;
use crate::plug::PolicySpec;

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
    if config.timing.multi_plane {
        wrong.push(
            "timing.multi_plane = false, as programs of several planes need a pool of several planes"
                .to_string(),
        );
    }
    (!wrong.is_empty()).then(|| format!("parity groups need {}", wrong.join(", and ")))
}

/// What copies need in parity groups.
pub(super) fn copies(config: &Config) -> Option<String> {
    if config.raid.group == 0 || config.remap.is_off() {
        return None;
    }
    (config.host.write_buffer_pages > 0).then(|| {
        "copies with parity groups need host.write_buffer_pages = 0, as a source in the buffer is \
         in no update yet"
            .to_string()
    })
}

/// The state that they begin with.
pub(super) fn start(config: &Config) -> Option<String> {
    if config.raid.group == 0 {
        return None;
    }
    (config.precondition.steady_state == SteadyStart::MeanField).then(|| {
        "parity groups need precondition.steady_state = \"none\" (parity is rewritten more often than data, and the \
         mean field assumes equal rates)"
            .to_string()
    })
}

/// The chips that fail exist.
pub(super) fn failures(config: &Config) -> Option<String> {
    let chips = config.chips();
    assert!(chips > 0, "a device without chips");
    let missing = config.raid.fail.iter().find(|failure| u64::from(failure.chip) >= chips);
    let Some(missing) = missing else { return fails_again(config) };
    Some(format!(
        "there is no chip {}: use 0 to {} (channel * device.chips_per_channel + chip)",
        missing.chip,
        chips - 1
    ))
}

/// A chip that is gone does not fail again: a spare has to stand in its place.
fn fails_again(config: &Config) -> Option<String> {
    let failures = &config.raid.fail;
    debug_assert!(
        failures.iter().all(|failure| u64::from(failure.chip) < config.chips()),
        "no chip"
    );
    let chip = failures.iter().enumerate().find_map(|(i, failure)| {
        let before = |earlier: &&ChipFailure| earlier.chip == failure.chip;
        let previous: Vec<_> = failures[..i].iter().filter(before).collect();
        let at_once =
            previous.iter().any(|previous_failure| previous_failure.at_ns == failure.at_ns);
        (at_once || previous.len() > config.raid.spares as usize).then_some(failure.chip)
    })?;
    Some(format!(
        "chip {chip} would fail while it is gone: leave the second failure out, or let a spare take its place \
         before (raid.spares, a later at)"
    ))
}

/// What the redirection needs to know of a chip, and the room for what it redirects.
pub(super) fn redirection(config: &Config) -> Option<String> {
    let redirect = &config.raid.redirect;
    if config.raid.group == 0 || redirect.policy == "none" {
        return None;
    }
    let mut wrong = Vec::new();
    let on_demand = |spec: &PolicySpec| spec.policy == "on-demand";
    if !config.gc.trigger.iter().any(on_demand) {
        wrong.push("gc.trigger = \"on-demand\", of which it knows when it would hold".to_string());
    }
    if config.device.planes_per_chip > 1 || config.timing.busy_unit == BusyUnit::Channel {
        let chips = "chips of one plane that work by themselves (timing.busy_unit = \"chip\")";
        wrong.push(chips.to_string());
    }
    if config.chips() == u64::from(config.raid.group) {
        let most = config.chips() / 2;
        wrong.push(format!("another parity group (a raid.group of at most {most})"));
    }
    if config.run.mode == Mode::Functional {
        wrong.push("run.mode = \"timed\"".to_string());
    }
    let (spare, units) = (config.spare_units_per_pool(), config.units_per_pool());
    let keep = u64::from(config.gc.reserve) + u64::from(config.alloc.classes().all);
    let most = spare.saturating_sub(keep) as f64 / units as f64;
    let is_excessive = redirect.params.contains_key("foreign") && redirect.real("foreign") > most;
    let reason = format!(
        "a chip has {spare} of {units} blocks to spare, and {keep} of them are for collection and open blocks"
    );
    if is_excessive && spare > keep {
        // Enough digits to show the share of one block.
        let digits = units.to_string().len() + 1;
        let scale = 10f64.powi(digits as i32);
        let most = (most * scale).floor() / scale;
        wrong.push(format!("raid.redirect.foreign of at most {most:.digits$}, as {reason}"));
    } else if is_excessive {
        wrong.push(format!(
            "blocks for pages of other chips: {reason} (raise device.over_provisioning, or lower gc.reserve)"
        ));
    }
    (!wrong.is_empty()).then(|| format!("redirected writes need {}", wrong.join(", and ")))
}

/// Within what chips take turns.
pub(super) fn rotation(config: &Config) -> Option<String> {
    let rotation = &config.gc.concurrency;
    if rotation.policy != "rotating" {
        return None;
    }
    let group = config.raid.group;
    if group > 0 && rotation.int("k") >= u64::from(group) {
        return Some(format!(
            "all {group} chips of a group may collect at once, so that they do not take turns: use a k of at \
             most {}, or gc.concurrency = \"unlimited\"",
            group - 1
        ));
    }
    (group == 0).then(|| {
        "chips take turns within their parity group, and there is none: set raid.group, or use \
         gc.concurrency = { policy = \"fixed\", k = 1 }"
            .to_string()
    })
}
