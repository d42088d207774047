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
        let entry = |&key: &&str| Some((key.to_string(), shown(config, key)?));
        let values: BTreeMap<_, _> = KEYS.iter().filter_map(entry).collect();
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
        let (current, default) = (Shape::of(config), Shape::of(&Config::default()));
        let mut differences = Vec::new();
        for (key, expected) in current.values() {
            let stored = self.0.get(key).or_else(|| default.0.get(key)).map_or("?", String::as_str);
            if stored != expected {
                differences.push(format!("{key} is {stored} in the snapshot and {expected} here"));
            }
        }
        for (key, stored) in self.values().filter(|(key, _)| !current.0.contains_key(*key)) {
            differences
                .push(format!("{key} is {stored} in the snapshot and unknown to this version"));
        }
        differences
    }
}
