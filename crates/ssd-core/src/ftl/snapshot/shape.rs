//! The configuration that a snapshot depends on.

use crate::config::{Config, shown};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Keys on which the state of a device at rest depends. A snapshot made before a key was listed here counts
/// as having its default.
const KEYS: &[&str] = &[
    "alloc.erase_unit",
    "alloc.frontiers",
    "alloc.pool",
    "alloc.separation",
    "device.blocks_per_plane",
    "device.channels",
    "device.chips_per_channel",
    "device.page_size",
    "device.pages_per_block",
    "device.planes_per_chip",
    "device.user_capacity",
    "raid.group",
    "wear.dynamic",
    "wear.endurance",
    "wear.endurance_spread",
    "wear.factory_bad_blocks",
];

/// These keys with their values as TOML.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Shape(BTreeMap<String, String>);

impl Shape {
    /// Their values in `config`.
    #[must_use]
    pub fn of(config: &Config) -> Shape {
        let said = |&key: &&str| Some((key.to_string(), shown(config, key)?));
        let values: BTreeMap<_, _> = KEYS.iter().filter_map(said).collect();
        assert_eq!(values.len(), KEYS.len(), "every key that matters has a value");
        Shape(values)
    }

    /// The keys with their values.
    pub fn values(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// One clause for each key whose value in `config` differs.
    #[must_use]
    pub fn differences(&self, config: &Config) -> Vec<String> {
        let (here, default) = (Shape::of(config), Shape::of(&Config::default()));
        let mut found = Vec::new();
        for (key, wanted) in here.values() {
            let held = self.0.get(key).or_else(|| default.0.get(key)).map_or("?", String::as_str);
            if held != wanted {
                found.push(format!("{key} is {held} in the snapshot and {wanted} here"));
            }
        }
        for (key, held) in self.values().filter(|(key, _)| !here.0.contains_key(*key)) {
            found.push(format!("{key} is {held} in the snapshot and unknown to this version"));
        }
        found
    }
}
