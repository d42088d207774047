//! `[remap]`: what the device answers to a copy.

use super::prelude::*;

crate::config_table! {
    "What the device does with a request to copy pages (as with NVMe Copy): it may let several logical pages share \
    one flash page."
    Remap: remap in Config {
        mode: word() => mode: RemapMode = RemapMode::Off,
            "Whether the device accepts copies, and how it answers them.";
    }
}

impl Remap {
    /// It refuses copies.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.mode == RemapMode::Off
    }
}
