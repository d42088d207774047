//! All settings of a store, with unit, range and default: those of LevelDB 1.23.

use crate::error::{Error, Result};

/// Compression of blocks that are written. Both kinds can always be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// No compression.
    None,
    /// Snappy, for blocks of which it saves at least an eighth.
    Snappy,
}

/// When compaction runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Background {
    /// All compactions that are due run before the write that made them due returns.
    Eager,
    /// Only in `Db::step`, except that a write that must wait runs the work that it waits for.
    Steps,
}

/// Settings of a store.
#[derive(Clone, Debug)]
pub struct Options {
    /// Create the store if there is none. Default: no.
    pub create_if_missing: bool,
    /// Refuse a store that exists. Default: no.
    pub error_if_exists: bool,
    /// Open the store read-only: nothing in the directory changes, and logs are read into memory.
    /// Default: no.
    pub read_only: bool,
    /// Treat all damage as an error: of logs at opening, and of the index or filter of a table. Default: no.
    pub paranoid_checks: bool,
    /// Size in bytes at which a memtable becomes a table, 64 KiB to 1 GiB. Default: 4 MiB.
    pub write_buffer_size: usize,
    /// How many tables are kept open, at least 10. Default: 990.
    pub max_open_tables: usize,
    /// Bytes of decompressed or copied blocks kept in memory. Default: 8 MiB.
    pub block_cache_size: usize,
    /// Size of a data block before compression in bytes, 1 KiB to 4 MiB. Default: 4 KiB.
    pub block_size: usize,
    /// Entries of a data block between whole keys, at least 1. Default: 16.
    pub block_restart_interval: usize,
    /// Size in bytes at which a table ends and the next begins, 1 MiB to 1 GiB. Default: 2 MiB.
    pub max_file_size: u64,
    /// Compression of new blocks. Default: Snappy.
    pub compression: Compression,
    /// Bits per key of bloom filters, 1 to 100; None writes tables without filters. Default: None.
    pub bloom_bits_per_key: Option<u32>,
    /// When compaction runs. Default: eager.
    pub background: Background,
    /// Sync a log before the next one is begun, so that a crash leaves a beginning of the history, synced or
    /// not. LevelDB does not, and most logs never reach the medium: their tables do. Without it, a crash of
    /// the machine may leave a gap among writes that were not synced. Default: yes.
    pub sync_logs: bool,
}

impl Default for Options {
    fn default() -> Options {
        let options = Options {
            create_if_missing: false,
            error_if_exists: false,
            read_only: false,
            paranoid_checks: false,
            write_buffer_size: 4 << 20,
            max_open_tables: 990,
            block_cache_size: 8 << 20,
            block_size: 4 << 10,
            block_restart_interval: 16,
            max_file_size: 2 << 20,
            compression: Compression::Snappy,
            bloom_bits_per_key: None,
            background: Background::Eager,
            sync_logs: true,
        };
        debug_assert!(options.check().is_ok(), "a default is out of range");
        options
    }
}

/// Names, smallest and largest values of the settings that have a range.
pub const RANGES: [(&str, u64, u64); 6] = [
    ("write_buffer_size", 64 << 10, 1 << 30),
    ("max_open_tables", 10, 50_000),
    ("block_size", 1 << 10, 4 << 20),
    ("block_restart_interval", 1, 1 << 20),
    ("max_file_size", 1 << 20, 1 << 30),
    ("bloom_bits_per_key", 1, 100),
];

impl Options {
    /// An error that names a setting out of its range.
    ///
    /// # Errors
    /// One is.
    pub fn check(&self) -> Result<()> {
        let values = [
            self.write_buffer_size as u64,
            self.max_open_tables as u64,
            self.block_size as u64,
            self.block_restart_interval as u64,
            self.max_file_size,
            self.bloom_bits_per_key.unwrap_or(10).into(),
        ];
        assert_eq!(values.len(), RANGES.len(), "a setting without a range");
        for ((name, least, most), value) in RANGES.into_iter().zip(values) {
            if !(least..=most).contains(&value) {
                return Err(Error::invalid(format!(
                    "{name} = {value}: expected {least} to {most}"
                )));
            }
        }
        if self.read_only && self.create_if_missing {
            return Err(Error::invalid("read_only: such a store cannot be created if missing"));
        }
        Ok(())
    }
}

/// How to read.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions {
    /// Check the checksum of every block read from a file. Default: no.
    pub verify_checksums: bool,
    /// Keep the blocks read in the cache. Default: yes.
    pub fill_cache: bool,
}

impl Default for ReadOptions {
    fn default() -> ReadOptions {
        ReadOptions { verify_checksums: false, fill_cache: true }
    }
}
