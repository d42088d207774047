//! The settings of the host: store, processor times, clients.

use crate::fs::FsSettings;
use serde::{Deserialize, Serialize};
use ssd_kv::policy::{Base, Pages, Policy, Retention, Stock};
use ssd_kv::{Background, Compression, Options};

/// The longest interval of anything periodic: a year.
const LONGEST_NS: u64 = 365 * 24 * 3600 * 1_000_000_000;
/// The longest processor time of anything, so that the sum for a large file is still a valid time.
const MOST_CPU_NS: u64 = 1 << 40;

/// Settings of a simulation of the store.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostSettings {
    /// Clients, each of which issues its next operation when the last one is done.
    pub clients: u32,
    /// Processor cores.
    pub cores: u32,
    /// One in this many writes is durable before it is acknowledged; 0: none, 1: all.
    pub sync_every: u64,
    /// Pairs in the store.
    pub records: u64,
    /// Operations of the workload, unless it determines their number.
    pub operations: u64,
    /// Bytes of a value.
    pub value_bytes: u32,
    /// Simulated time between two rows of the course, in nanoseconds.
    pub interval_ns: u64,
    /// Simulated time from the first operation to a power cut, in nanoseconds; `None`: there is none. The drive must
    /// keep contents and be prepared for cuts on request.
    pub cut_ns: Option<u64>,
    /// The store.
    pub store: StoreSettings,
    /// Processor times.
    pub costs: Costs,
    /// The file layer.
    pub fs: FsSettings,
}

impl Default for HostSettings {
    fn default() -> HostSettings {
        HostSettings {
            clients: 1,
            cores: 4,
            sync_every: 0,
            records: 100_000,
            operations: 100_000,
            value_bytes: 1024,
            interval_ns: 1_000_000_000,
            cut_ns: None,
            store: StoreSettings::default(),
            costs: Costs::default(),
            fs: FsSettings::default(),
        }
    }
}

impl HostSettings {
    /// An error that names a setting out of its range.
    ///
    /// # Errors
    /// One is.
    pub fn check(&self) -> Result<(), String> {
        let ranges = [
            ("clients", u64::from(self.clients), 1, 4096),
            ("cores", u64::from(self.cores), 1, 4096),
            ("records", self.records, 1, 1 << 40),
            ("value_bytes", u64::from(self.value_bytes), 0, (1 << 20) - 1),
            ("interval_ns", self.interval_ns, 1_000_000, LONGEST_NS),
            ("cut_ns", self.cut_ns.unwrap_or(1), 1, LONGEST_NS),
            ("store.pages_per_block", u64::from(self.store.pages_per_block), 0, 64),
            ("fs.cache_pages", u64::from(self.fs.cache_pages), 64, 1 << 30),
            ("fs.dirty_pages", u64::from(self.fs.dirty_pages), 1, 1 << 30),
            ("fs.commit_interval_ns", self.fs.commit_interval_ns, 1_000_000, LONGEST_NS),
            ("fs.dirty_age_ns", self.fs.dirty_age_ns, 0, LONGEST_NS),
        ];
        let costs = self.costs;
        let times = [
            ("costs.write", costs.write),
            ("costs.write_kib", costs.write_kib),
            ("costs.read", costs.read),
            ("costs.seek", costs.seek),
            ("costs.next", costs.next),
            ("costs.step", costs.step),
            ("costs.merge_kib", costs.merge_kib),
            ("costs.step_kib", costs.step_kib),
            ("fs.call_ns", self.fs.call_ns),
            ("fs.kib_ns", self.fs.kib_ns),
        ];
        let times = times.map(|(name, ns)| (name, ns, 0, MOST_CPU_NS));
        for (name, value, least, most) in ranges.into_iter().chain(times) {
            if !(least..=most).contains(&value) {
                return Err(format!("{name} = {value}: expected {least} to {most}"));
            }
        }
        if self.store.reuse != Reuse::Off && self.store.pages_per_block == 0 {
            return Err(
                "store.reuse needs blocks that begin at pages: set store.pages_per_block to \
                        1 or more"
                    .to_owned(),
            );
        }
        self.store.options().check().map_err(|error| format!("store: {error}"))
    }
}

/// Which unchanged blocks compactions reuse.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reuse {
    /// None.
    #[default]
    Off,
    /// Blocks that end where a block ends anyway.
    Base,
    /// All unchanged blocks; blocks end early for them.
    Retention,
}

/// Settings of the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreSettings {
    /// Bytes of a memtable.
    pub write_buffer_size: usize,
    /// Bytes of a table.
    pub max_file_size: u64,
    /// Bytes of a block.
    pub block_size: usize,
    /// Bytes of the cache of blocks.
    pub block_cache_size: usize,
    /// Bits of the filter for each key; 0: no filter.
    pub bloom_bits: u32,
    /// Whether blocks are compressed.
    pub snappy: bool,
    /// Blocks begin at page boundaries and fill this many pages; 0: LevelDB's layout.
    pub pages_per_block: u32,
    /// Which unchanged blocks compactions reuse: the drive shares their pages if it answers copies.
    pub reuse: Reuse,
    /// With `retention`: the least size in bytes at which a block may end early.
    pub least_fill: usize,
    /// With `retention`: the most zeros, as a percentage of the bytes that compactions write; `None` for no limit.
    pub space_budget: Option<u32>,
    /// Whether a log is synced when the next one begins. LevelDB does not do that, so pages of a log that is soon
    /// removed may never reach the drive.
    pub sync_logs: bool,
}

impl Default for StoreSettings {
    fn default() -> StoreSettings {
        let stock = Options::default();
        StoreSettings {
            write_buffer_size: stock.write_buffer_size,
            max_file_size: stock.max_file_size,
            block_size: stock.block_size,
            block_cache_size: stock.block_cache_size,
            bloom_bits: 0,
            snappy: false,
            pages_per_block: 0,
            reuse: Reuse::Off,
            least_fill: 0,
            space_budget: None,
            sync_logs: stock.sync_logs,
        }
    }
}

impl StoreSettings {
    /// As options of the store; background work is done in steps.
    #[must_use]
    pub fn options(&self) -> Options {
        Options {
            create_if_missing: true,
            write_buffer_size: self.write_buffer_size,
            max_file_size: self.max_file_size,
            block_size: self.block_size,
            sync_logs: self.sync_logs,
            block_cache_size: self.block_cache_size,
            bloom_bits_per_key: (self.bloom_bits > 0).then_some(self.bloom_bits),
            compression: if self.snappy { Compression::Snappy } else { Compression::None },
            background: Background::Steps,
            ..Options::default()
        }
    }

    /// The layout of tables, and which blocks are reused.
    #[must_use]
    pub fn policy(&self) -> Box<dyn Policy> {
        if self.pages_per_block == 0 {
            return Box::new(Stock);
        }
        let pages = Pages::new(crate::fs::PAGE, self.pages_per_block as usize);
        match self.reuse {
            Reuse::Off => Box::new(pages),
            Reuse::Base => Box::new(Base(pages)),
            Reuse::Retention => {
                let retention = Retention::new(pages).with_least_fill(self.least_fill);
                let within = |percent| retention.with_space_budget(percent);
                Box::new(self.space_budget.map_or(retention, within))
            }
        }
    }
}

/// Processor times in nanoseconds, besides those of calls of the file layer. The defaults are fitted to
/// `bench/history.jsonl` by `tools/kv_costs.py`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Costs {
    /// A pair that is written: log and memtable.
    pub write: u64,
    /// 1 KiB of it.
    pub write_kib: u64,
    /// A read of a key.
    pub read: u64,
    /// A scan's seek.
    pub seek: u64,
    /// A pair of a scan.
    pub next: u64,
    /// A step of background work.
    pub step: u64,
    /// 1 KiB of pairs that background work merges, whether they are written, dropped or left in a block that is taken
    /// over.
    pub merge_kib: u64,
    /// 1 KiB of blocks that background work builds, without padding and blocks that are taken over.
    pub step_kib: u64,
}

impl Default for Costs {
    fn default() -> Costs {
        Costs {
            write: 1040,
            write_kib: 1260,
            read: 2700,
            seek: 1900,
            next: 115,
            step: 0,
            merge_kib: 895,
            step_kib: 275,
        }
    }
}
