//! Presets are data: one TOML file each in `presets/`, embedded here with one line each. The first
//! comment line of a file is its summary; every number has its source next to it. The file of a drive
//! ends with the table `[published]`: what is known of that drive apart from its configuration. A CSV file beside it
//! has the measurements of the drive.

/// A preset: a configuration to start from.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Name, as after `preset =`.
    pub name: &'static str,
    /// Its file.
    file: &'static str,
    /// Measurements as CSV; only drives have them.
    pub measured: Option<&'static str>,
}

const PUBLISHED: &str = "\n[published]\n";

impl Preset {
    /// Its TOML.
    #[must_use]
    pub fn text(&self) -> &'static str {
        self.file.split_once(PUBLISHED).map_or(self.file, |(text, _)| text)
    }

    /// What is known of the drive apart from its configuration, as TOML; only drives have it.
    #[must_use]
    pub fn published(&self) -> Option<&'static str> {
        self.file.split_once(PUBLISHED).map(|(_, published)| published)
    }

    /// Its summary in one line.
    #[must_use]
    pub fn summary(&self) -> &'static str {
        let line = self.file.lines().next().unwrap_or_default();
        line.trim_start_matches('#').trim()
    }
}

/// A preset. The files of a drive have the name given second; other presets have one file of their own name.
macro_rules! preset {
    ($name:literal) => {
        Preset {
            name: $name,
            file: include_str!(concat!("../../../../presets/", $name, ".toml")),
            measured: None,
        }
    };
    ($name:literal $drive:literal) => {
        Preset {
            name: $name,
            file: include_str!(concat!("../../../../presets/drives/", $drive, ".toml")),
            measured: Some(include_str!(concat!("../../../../presets/drives/", $drive, ".csv"))),
        }
    };
}

macro_rules! presets {
    ($($name:literal $(is $drive:literal)?),+ $(,)?) => {
        /// Every preset, sorted by name.
        pub const PRESETS: &[Preset] = &[$(preset!($name $($drive)?)),+];
    };
}

// One line a preset, sorted.
presets! {
    "adaptive-channel",
    "adaptive-channel-conv-0-all",
    "adaptive-channel-conv-0.7-all",
    "adaptive-channel-conv-0.7-half",
    "consumer-qlc",
    "deferred-gc-raid",
    "deferred-gc-raid-conventional",
    "drive:adata-atom-50-1t" is "adata-atom-50-1t",
    "drive:hp-fx700-2t" is "hp-fx700-2t",
    "drive:hynix-pe8110" is "hynix-pe8110",
    "drive:kioxia-cm7-r-3.84t" is "kioxia-cm7-r-3.84t",
    "drive:micron-7450-max-800" is "micron-7450-max-800",
    "drive:micron-7450-pro-960" is "micron-7450-pro-960",
    "drive:msi-m480-play-2t" is "msi-m480-play-2t",
    "drive:samsung-980-1t" is "samsung-980-1t",
    "drive:samsung-pm9a3" is "samsung-pm9a3",
    "drive:solidigm-p5520-1.92t" is "solidigm-p5520-1.92t",
    "drive:team-mp44s-1t" is "team-mp44s-1t",
    "femu-tlc",
    "greedy-8ch",
    "invalidation-rate",
    "invalidation-rate-bbgc",
    "invalidation-rate-conventional",
    "invalidation-rate-conventional-bbgc",
    "modern-tlc",
    "noc-copyback",
    "noc-copyback-conventional",
    "remapcom",
    "tlc-960gb",
    "zns",
}

/// The preset called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}
