//! Keys whose value is one of a few words. Word, variant and description are defined once, here;
//! parsing, printing, schema and reference use them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// An enum whose variants are words of the config.
pub trait Word: Copy + PartialEq + 'static {
    /// Every word with its meaning, in the order in which they are shown.
    const WORDS: &'static [(&'static str, &'static str)];
    /// The variant of a word.
    fn from_word(word: &str) -> Option<Self>;
    /// The word of a variant.
    fn word(self) -> &'static str;
}

macro_rules! word_enum {
    ($(#[doc = $key:literal])+ $name:ident {
        $($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)+
    }) => {
        $(#[doc = $key])+
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize,
        )]
        pub enum $name {
            $($(#[doc = $doc])+ #[serde(rename = $word)] $variant,)+
        }
        impl Word for $name {
            const WORDS: &'static [(&'static str, &'static str)] =
                &[$(($word, concat!($($doc),+))),+];
            fn from_word(word: &str) -> Option<$name> {
                match word {
                    $($word => Some($name::$variant),)+
                    _ => None,
                }
            }
            fn word(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }
        }
    };
}

word_enum! {
    /// `run.mode`
    Mode {
        /// Every operation takes simulated time.
        Timed = "timed",
        /// Page decisions only: write amplification, no latency.
        Functional = "functional",
    }
}

word_enum! {
    /// `host.link_duplex`
    LinkDuplex {
        /// Each direction has the full rate, as with PCIe (NVMe).
        Full = "full",
        /// Both directions take turns, as with SATA.
        Half = "half",
    }
}

word_enum! {
    /// `run.data`
    DataMode {
        /// No contents.
        None = "none",
        /// A 64-bit digest per page; every read is checked.
        Digest = "digest",
        /// The bytes themselves; every read is checked.
        Bytes = "bytes",
    }
}

word_enum! {
    /// `timing.model`
    TimingModel {
        /// An operation occupies its busy unit for its whole duration: array, SRAM and transfer.
        Serial = "serial",
        /// Command, bus and array phases; the channel is held only while something crosses it.
        Pipelined = "pipelined",
    }
}

word_enum! {
    /// `interconnect.model`
    InterconnectModel {
        /// No interconnect.
        None = "none",
        /// Every traversal takes the same time and delays no other.
        Formula = "formula",
        /// Pages cross slice by slice and wait for one another.
        Slices = "slices",
    }
}

word_enum! {
    /// `timing.busy_unit`
    BusyUnit {
        /// One plane.
        Plane = "plane",
        /// One chip.
        Chip = "chip",
        /// One channel.
        Channel = "channel",
    }
}

word_enum! {
    /// `host.mode`
    HostMode {
        /// Requests arrive at the times of the workload.
        Open = "open",
        /// A request arrives when another completes.
        Closed = "closed",
    }
}

word_enum! {
    /// `alloc.pool`
    PoolScope {
        /// Each plane.
        Plane = "plane",
        /// Each chip.
        Chip = "chip",
        /// Each channel.
        Channel = "channel",
        /// The device.
        Device = "device",
    }
}

word_enum! {
    /// `alloc.erase_unit`
    EraseUnit {
        /// A flash block.
        Block = "block",
        /// One block of every plane of the pool.
        Superblock = "superblock",
    }
}

word_enum! {
    /// `gc.amount`
    Amount {
        /// One block; the trigger is checked again at the next write to the pool.
        One = "one",
        /// Block after block until the trigger no longer holds.
        UntilSatisfied = "until-satisfied",
        /// All candidate blocks at the time the trigger fires.
        AllCandidates = "all-candidates",
    }
}

word_enum! {
    /// `gc.path`
    GcPath {
        /// To the controller, through its ECC, and back.
        Controller = "controller",
        /// Inside the plane: array read, array program, no transfer.
        Copyback = "copyback",
        /// From the flash controller's buffer if the ECC engine finds no error in a copy; otherwise as
        /// `controller` (serial model).
        Selective = "selective",
    }
}

word_enum! {
    /// `gc.blocking.scope`
    BlockingScope {
        /// Nothing: `sched.order` orders host and GC operations.
        None = "none",
        /// Reads of pages of the block under collection.
        Block = "block",
        /// The planes of the victim.
        Plane = "plane",
        /// The channels of the victim.
        Channel = "channel",
        /// The whole device.
        Device = "device",
    }
}

word_enum! {
    /// `gc.blocking.granularity`
    Granularity {
        /// From the choice of the victim to the end of its erase; in scope `block` reads of pages that
        /// have been copied wait, too.
        Job = "job",
        /// The same, but a page is open again as soon as it has been copied (scope `block` only).
        Page = "page",
        /// During each copy (read to program) and the erase; open in between.
        Step = "step",
    }
}

word_enum! {
    /// `precondition.steady_state`
    SteadyStart {
        /// The device is filled page by page.
        None = "none",
        /// Valid pages are distributed as in the mean field of greedy collection under uniform writes.
        MeanField = "mean-field",
    }
}

word_enum! {
    /// `precondition.order`
    FillOrder {
        /// Ascending.
        Sequential = "sequential",
        /// A random permutation.
        Random = "random",
    }
}

word_enum! {
    /// `workload.kind`
    WorkloadKind {
        /// From a file.
        Trace = "trace",
        /// Uniformly random.
        Uniform = "uniform",
        /// Zipf over the pages, ranks scattered by a fixed bijection.
        Zipf = "zipf",
        /// A hot and a cold region.
        HotCold = "hot-cold",
        /// Ascending, wrapping around.
        Sequential = "sequential",
        /// Like Cassandra.
        AppCassandra = "app:cassandra",
        /// Like MongoDB.
        AppMongodb = "app:mongodb",
        /// Like MySQL.
        AppMysql = "app:mysql",
        /// Like RocksDB.
        AppRocksdb = "app:rocksdb",
        /// Like SQLite.
        AppSqlite = "app:sqlite",
        /// Like dbench.
        AppDbench = "app:dbench",
        /// Like filebench's varmail.
        AppVarmail = "app:varmail",
        /// Like volume hm_0 of the MSR Cambridge traces.
        MsrHm0 = "msr:hm_0",
        /// Like volume stg_0.
        MsrStg0 = "msr:stg_0",
        /// Like volume src2_0.
        MsrSrc20 = "msr:src2_0",
        /// Like volume rsrch_0.
        MsrRsrch0 = "msr:rsrch_0",
        /// Like volume wdev_0.
        MsrWdev0 = "msr:wdev_0",
        /// A job file of fio.
        Fio = "fio",
    }
}

/// Origin of the requests of a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A file of requests.
    Trace,
    /// Synthetic requests by the shares in `[workload]`.
    Shares,
    /// The model of an application, by its name.
    Application(&'static str),
    /// A stand-in for a volume of the MSR Cambridge traces, by its name.
    Volume(&'static str),
    /// A job file of fio.
    Jobs,
}

impl WorkloadKind {
    /// Its origin.
    #[must_use]
    pub fn origin(self) -> Origin {
        match (self, self.word().split_once(':')) {
            (WorkloadKind::Trace, _) => Origin::Trace,
            (WorkloadKind::Fio, _) => Origin::Jobs,
            (_, Some(("app", name))) => Origin::Application(name),
            (_, Some((_, name))) => Origin::Volume(name),
            (_, None) => Origin::Shares,
        }
    }
}

word_enum! {
    /// `workload.set`
    ParameterSet {
        /// Tables 4 and 5 of the adaptive-channel paper.
        AdaptiveChannel = "adaptive-channel",
        /// Table 3 of the invalidation-rate paper.
        InvalidationRate = "invalidation-rate",
        /// Table 3 of the noc-copyback paper.
        NocCopyback = "noc-copyback",
    }
}

word_enum! {
    /// `workload.unit`: unit of addresses and lengths in formats whose files differ in it.
    TraceUnit {
        /// As the format is defined; refused where the numbers fit another unit as well.
        Auto = "auto",
        /// Bytes.
        Bytes = "bytes",
        /// Sectors of 512 bytes.
        Sectors = "sectors",
        /// Pages of `workload.page_size`.
        Pages = "pages",
    }
}

word_enum! {
    /// `workload.format`: one word per plug of the trace crate, which defines the rest.
    TraceFormat {
        /// Detected from the first lines.
        Auto = "auto",
        /// Alibaba block traces of 2020.
        Alibaba = "alibaba",
        /// BIOtracer, smartphone storage traces.
        Biotracer = "biotracer",
        /// Output of blkparse, and the same fields from tracefs.
        BlockEvent = "block-event",
        /// Load files of blkreplay.
        Blkreplay = "blkreplay",
        /// Binary files of blktrace.
        Blktrace = "blktrace",
        /// Windows DiskMon.
        Diskmon = "diskmon",
        /// DiskSim's ASCII requests, times in ms.
        Disksim = "disksim",
        /// Windows disk events (ETW) as CSV, Microsoft's servers.
        Etw = "etw",
        /// I/O log of fio, version 2.
        FioV2 = "fio-v2",
        /// I/O log of fio, version 3.
        FioV3 = "fio-v3",
        /// FIU traces (SRCMap, IODedup).
        Fiu = "fiu",
        /// MQSim's ASCII requests, times in ns.
        Mqsim = "mqsim",
        /// MSR Cambridge CSV.
        Msr = "msr",
        /// SPC text, as in the UMass repository.
        Spc = "spc",
        /// SSDSim's ASCII requests, times in ns.
        Ssdsim = "ssdsim",
        /// Trace files of ssdlab.
        Ssdtrace = "ssdtrace",
        /// SYSTOR '17 LUN traces.
        Systor17 = "systor17",
        /// Tencent cloud block storage.
        Tencent = "tencent",
        /// CloudPhysics vscsi traces, versions 1 and 2.
        Vscsi = "vscsi",
    }
}

word_enum! {
    /// `workload.fit`
    Fit {
        /// Addresses as recorded; an address beyond the device is an error.
        None = "none",
        /// Touched pages are renumbered from 0 in ascending order.
        Compact = "compact",
        /// Addresses modulo the device's capacity.
        Wrap = "wrap",
    }
}

word_enum! {
    /// `workload.arrival.kind`
    ArrivalKind {
        /// Equal intervals.
        Fixed = "fixed",
        /// Exponential intervals.
        Poisson = "poisson",
        /// Bursts of Poisson arrivals with pauses between them.
        Bursty = "bursty",
        /// As in the application, the volume or the job file.
        Model = "model",
    }
}

/// `alloc.frontiers`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Frontiers {
    /// Host writes and GC copies share one open block.
    Single,
    /// One for the host, one for GC.
    HostGc,
    /// This many for the host, by request stream, and one for GC ("streams:4").
    Streams(u8),
}

impl Frontiers {
    /// Accepted forms, for messages and the reference.
    pub const FORMS: &'static str = r#""single", "host+gc" or "streams:N" with N from 1 to 64"#;
    /// Largest number of host streams.
    pub const MAX_STREAMS: u8 = 64;
}

impl fmt::Display for Frontiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Frontiers::Single => f.write_str("single"),
            Frontiers::HostGc => f.write_str("host+gc"),
            Frontiers::Streams(n) => write!(f, "streams:{n}"),
        }
    }
}

impl FromStr for Frontiers {
    type Err = String;
    fn from_str(text: &str) -> Result<Frontiers, String> {
        let streams = |n: &str| -> Option<u8> {
            n.parse().ok().filter(|n| (1..=Frontiers::MAX_STREAMS).contains(n))
        };
        match text {
            "single" => Ok(Frontiers::Single),
            "host+gc" => Ok(Frontiers::HostGc),
            _ => text
                .strip_prefix("streams:")
                .and_then(streams)
                .map(Frontiers::Streams)
                .ok_or_else(|| format!("expected {}", Frontiers::FORMS)),
        }
    }
}

impl From<Frontiers> for String {
    fn from(frontiers: Frontiers) -> String {
        frontiers.to_string()
    }
}

impl TryFrom<String> for Frontiers {
    type Error = String;
    fn try_from(text: String) -> Result<Frontiers, String> {
        text.parse()
    }
}
