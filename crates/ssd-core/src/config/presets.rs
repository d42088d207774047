//! Presets are data: one TOML file each in `presets/`, embedded here with one line each. The first
//! comment line of a file is its summary; every number has its source next to it.

/// A preset: a configuration to start from.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Name, as after `preset =`.
    pub name: &'static str,
    /// Its TOML.
    pub text: &'static str,
}

impl Preset {
    /// Its summary in one line.
    #[must_use]
    pub fn summary(&self) -> &'static str {
        let line = self.text.lines().next().unwrap_or_default();
        line.trim_start_matches('#').trim()
    }
}

macro_rules! presets {
    ($($name:literal),+ $(,)?) => {
        /// Every preset, sorted by name.
        pub const PRESETS: &[Preset] = &[$(Preset {
            name: $name,
            text: include_str!(concat!("../../../../presets/", $name, ".toml")),
        }),+];
    };
}

// One line a preset, sorted.
presets! {
    "adaptive-channel",
    "adaptive-channel-conv-0-all",
    "adaptive-channel-conv-0.7-all",
    "adaptive-channel-conv-0.7-half",
    "deferred-gc-raid",
    "deferred-gc-raid-conventional",
    "greedy-8ch",
    "invalidation-rate",
    "invalidation-rate-bbgc",
    "invalidation-rate-conventional",
    "invalidation-rate-conventional-bbgc",
    "modern-tlc",
    "noc-copyback",
    "noc-copyback-conventional",
    "remapcom",
}

/// The preset called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}
