//! What power cuts cannot be combined with, each with the remedy.

use crate::config::tables::*;

/// What power cuts need of parity groups: a page is at home where it is looked for, and what survives is on flash.
pub(super) fn with_parity(config: &Config) -> Option<String> {
    if config.power.is_off() || config.raid.group == 0 {
        return None;
    }
    let mut wrong = Vec::new();
    if config.raid.redirect.policy != "none" {
        wrong.push("raid.redirect = \"none\", as a mount knows the chip of a page by its address");
    }
    if config.power.buffer == BufferPower::Protected && config.host.write_buffer_pages > 0 {
        wrong.push("power.buffer = \"volatile\", as updates of groups are not saved");
    }
    let reason = "power cuts with parity groups need";
    (!wrong.is_empty()).then(|| format!("{reason} {}", wrong.join(", and ")))
}

/// An erase that is repeated could be the last one of its block.
pub(super) fn with_endurance(config: &Config) -> Option<String> {
    (!config.power.is_off() && config.wear.endurance > 0).then(|| {
        "power cuts with blocks that wear out are not modelled: set wear.endurance = 0, or \
         power.cut = \"never\""
            .to_string()
    })
}

/// Functional mode has no time at which power could be cut.
pub(super) fn without_time(config: &Config) -> Option<String> {
    (!config.power.is_off() && config.run.mode == Mode::Functional).then(|| {
        "functional mode has no time at which power could be cut: set run.mode = \"timed\", or \
         power.cut = \"never\""
            .to_string()
    })
}
