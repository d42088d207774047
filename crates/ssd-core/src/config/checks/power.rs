//! What power cuts cannot be combined with, each with the remedy.

use crate::config::tables::*;

/// With parity groups, what survives a cut is on flash.
pub(super) fn with_parity(config: &Config) -> Option<String> {
    let is_saved =
        config.power.buffer == BufferPower::Protected && config.host.write_buffer_pages > 0;
    (!config.power.is_off() && config.raid.group > 0 && is_saved).then(|| {
        "power cuts with parity groups need power.buffer = \"volatile\", as updates of groups are \
         not saved"
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
