//! A resolved config as text: TOML that loads to the same config, and its digest.

use super::composed::{AnyKey, Composed, tables};
use super::keys::Key;
use super::tables::Config;
use serde::Serialize;
use std::fmt::Write;

/// The config as TOML with units; `load` gives the same config back.
#[must_use]
pub fn to_toml<T: Composed>(config: &T) -> String {
    let mut out = String::new();
    if let Some(preset) = &config.preset {
        let _ = writeln!(out, "preset = {}\n", toml::Value::String(preset.clone()));
    }
    for (section, _) in tables::<T>() {
        let shown = AnyKey::<T>::of_table(section).filter_map(|key| Some((key, key.show(config)?)));
        let lines: Vec<String> =
            shown.map(|(key, value)| format!("{} = {value}\n", key.name())).collect();
        if !lines.is_empty() {
            let _ = writeln!(out, "[{section}]\n{}", lines.concat());
        }
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// The value of the kernel's key `path` in `config` as TOML; `None` if there is no such key, if another key prints it,
/// or if there is nothing to print.
#[must_use]
pub fn shown(config: &Config, path: &str) -> Option<String> {
    Key::find(path)?.show(config)
}

/// FNV-1a, 64 bits, of the canonical JSON of the config without its names (`preset`, `run.name`, `run.drive`):
/// equal digests are equal runs.
#[must_use]
pub fn digest<T: Composed + Serialize>(config: &T) -> String {
    let mut bare = config.clone();
    bare.preset = None;
    (bare.run.name, bare.run.drive) = (String::new(), String::new());
    let json = serde_json::to_value(&bare).expect("a config is plain data");
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    hash.value(&json);
    format!("{:016x}", hash.0)
}

struct Fnv(u64);

impl Fnv {
    fn text(&mut self, text: &str) {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// JSON with sorted keys and without spaces.
    fn value(&mut self, value: &serde_json::Value) {
        match value {
            serde_json::Value::Object(map) => {
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_by_key(|(key, _)| *key);
                self.text("{");
                for (i, (key, value)) in entries.into_iter().enumerate() {
                    self.text(if i == 0 { "\"" } else { ",\"" });
                    self.text(key);
                    self.text("\":");
                    self.value(value);
                }
                self.text("}");
            }
            serde_json::Value::Array(items) => {
                self.text("[");
                for (i, item) in items.iter().enumerate() {
                    self.text(if i == 0 { "" } else { "," });
                    self.value(item);
                }
                self.text("]");
            }
            scalar => self.text(&scalar.to_string()),
        }
    }
}

/// Every key path, by table.
#[must_use]
pub fn key_paths<T: Composed>() -> Vec<&'static str> {
    AnyKey::<T>::all().map(AnyKey::path).collect()
}
