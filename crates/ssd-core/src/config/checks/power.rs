//! What power cuts cannot be combined with, each with the remedy.

use crate::config::tables::*;

/// An update of a parity group would have to be rolled back as a whole.
pub(super) fn with_parity(config: &Config) -> Option<String> {
    (!config.power.is_off() && config.raid.group > 0).then(|| {
        "power cuts with parity groups are not modelled (an update of a group that was cut off would have to be \
         rolled back): set raid.group = 0, or power.cut = \"never\""
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
