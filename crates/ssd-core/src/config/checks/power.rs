//! What power cuts cannot be combined with, each with the remedy.

use crate::config::tables::*;

/// A write with FUA has to end when its data, or what has replaced them, survive a cut.
pub(super) fn with_parity(config: &Config) -> Option<String> {
    let conflicts =
        !config.power.is_off() && config.raid.group > 0 && config.host.write_buffer_pages > 0;
    conflicts.then(|| {
        "power cuts with parity groups need host.write_buffer_pages = 0, as a write with FUA ends \
         with a TRIM of its page, which a cut may undo"
            .to_string()
    })
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
