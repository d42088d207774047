//! Options of a store, by name.

use pyo3::prelude::*;
use serde_json::json;
use ssd_kv::policy::{Base, Pages, Policy, Retention, Stock};
use ssd_kv::{Background, Compression, Options};

/// The settings, by the names of the Rust options.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    create_if_missing: bool,
    error_if_exists: bool,
    read_only: bool,
    paranoid_checks: bool,
    write_buffer_size: usize,
    max_open_tables: usize,
    block_cache_size: usize,
    block_size: usize,
    block_restart_interval: usize,
    max_file_size: u64,
    snappy: bool,
    bloom_bits_per_key: u32,
    eager: bool,
    sync_logs: bool,
    pages_per_block: usize,
    reuse: String,
    reflink: bool,
    least_fill: usize,
    space_budget: Option<u32>,
}

impl Settings {
    pub(super) fn options(&self) -> Options {
        Options {
            create_if_missing: self.create_if_missing,
            error_if_exists: self.error_if_exists,
            read_only: self.read_only,
            paranoid_checks: self.paranoid_checks,
            write_buffer_size: self.write_buffer_size,
            max_open_tables: self.max_open_tables,
            block_cache_size: self.block_cache_size,
            block_size: self.block_size,
            block_restart_interval: self.block_restart_interval,
            max_file_size: self.max_file_size,
            compression: if self.snappy { Compression::Snappy } else { Compression::None },
            bloom_bits_per_key: Some(self.bloom_bits_per_key).filter(|&bits| bits > 0),
            background: if self.eager { Background::Eager } else { Background::Steps },
            sync_logs: self.sync_logs,
        }
    }

    /// Whether files share storage by reflinks.
    pub(super) fn reflinks(&self) -> bool {
        self.reflink
    }

    pub(super) fn policy(&self) -> Box<dyn Policy> {
        if self.pages_per_block == 0 {
            return Box::new(Stock);
        }
        let pages = Pages::new(4096, self.pages_per_block);
        match self.reuse.as_str() {
            "base" => Box::new(Base(pages)),
            "retention" => {
                let retention = Retention::new(pages).with_least_fill(self.least_fill);
                let budget = |percent| retention.with_space_budget(percent);
                Box::new(self.space_budget.map_or(retention, budget))
            }
            _ => Box::new(pages),
        }
    }
}

/// The ranges of the settings that have one, as JSON: from, to.
#[pyfunction]
pub(crate) fn kv_ranges() -> String {
    let ranges =
        ssd_kv::RANGES.iter().map(|&(name, least, most)| (name.to_owned(), json!([least, most])));
    serde_json::Value::Object(ranges.collect()).to_string()
}

/// The defaults of all settings, as JSON.
#[pyfunction]
pub(crate) fn kv_defaults() -> String {
    let o = Options::default();
    json!({
        "create_if_missing": o.create_if_missing,
        "error_if_exists": o.error_if_exists,
        "read_only": o.read_only,
        "paranoid_checks": o.paranoid_checks,
        "write_buffer_size": o.write_buffer_size,
        "max_open_tables": o.max_open_tables,
        "block_cache_size": o.block_cache_size,
        "block_size": o.block_size,
        "block_restart_interval": o.block_restart_interval,
        "max_file_size": o.max_file_size,
        "snappy": o.compression == Compression::Snappy,
        "bloom_bits_per_key": o.bloom_bits_per_key.unwrap_or(0),
        "eager": o.background == Background::Eager,
        "sync_logs": o.sync_logs,
        "pages_per_block": 0,
        "reuse": "off",
        "reflink": false,
        "least_fill": 0,
        "space_budget": null,
    })
    .to_string()
}
