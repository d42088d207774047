//! The words of the kernel's keys.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

crate::word_enum! {
    /// `run.mode`
    Mode {
        /// Every operation takes simulated time.
        Timed = "timed",
        /// Page decisions only: write amplification, no latency.
        Functional = "functional",
    }
}

crate::word_enum! {
    /// `device.fit`
    DeviceFit {
        /// Geometry and capacity are those of the keys.
        None = "none",
        /// The capacity is that of the pages which the trace touches; over-provisioning stays.
        Trace = "trace",
    }
}

crate::word_enum! {
    /// `host.interface`
    Interface {
        /// Logical pages, which the host overwrites in any order.
        Block = "block",
        /// Zones, as NVMe's zoned namespaces have them: the host writes each in order and resets it as a whole.
        Zns = "zns",
    }
}

impl Interface {
    /// Logical pages are overwritten.
    #[must_use]
    pub fn is_block(&self) -> bool {
        *self == Interface::Block
    }
}

crate::word_enum! {
    /// `host.link_duplex`
    LinkDuplex {
        /// Each direction has the full rate, as with PCIe (NVMe).
        Full = "full",
        /// Both directions take turns, as with SATA.
        Half = "half",
    }
}

crate::word_enum! {
    /// `run.data`
    DataMode {
        /// No contents.
        None = "none",
        /// A 64-bit digest per page; every read is checked.
        Digest = "digest",
        /// The bytes themselves; every read is checked.
        Bytes = "bytes",
        /// The bytes, in a temporary sparse file instead of in memory; every read is checked.
        File = "file",
    }
}

impl DataMode {
    /// Whether pages hold what the host wrote, byte by byte.
    #[must_use]
    pub const fn keeps_bytes(self) -> bool {
        matches!(self, DataMode::Bytes | DataMode::File)
    }
}

crate::word_enum! {
    /// `power.buffer`
    BufferPower {
        /// Nothing: what no flush has covered is lost.
        Volatile = "volatile",
        /// All of it: capacitors keep the power up until it is on flash.
        Protected = "protected",
    }
}

crate::word_enum! {
    /// `timing.model`
    TimingModel {
        /// An operation occupies its busy unit for its whole duration: array, SRAM and transfer.
        Serial = "serial",
        /// Command, bus and array phases; the channel is held only while something crosses it.
        Pipelined = "pipelined",
    }
}

crate::word_enum! {
    /// `timing.suspend`
    Suspend {
        /// None: a read waits until the operation before it has ended.
        None = "none",
        /// Erases.
        Erase = "erase",
        /// Programs, except those of copy-backs.
        Program = "program",
        /// Both.
        Both = "both",
    }
}

impl Suspend {
    /// Whether erases are suspended.
    #[must_use]
    pub const fn has_erases(self) -> bool {
        matches!(self, Suspend::Erase | Suspend::Both)
    }

    /// Whether programs are suspended.
    #[must_use]
    pub const fn has_programs(self) -> bool {
        matches!(self, Suspend::Program | Suspend::Both)
    }
}

crate::word_enum! {
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

crate::word_enum! {
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

crate::word_enum! {
    /// `host.mode`
    HostMode {
        /// Requests arrive at the times of the workload.
        Open = "open",
        /// A request arrives when another completes.
        Closed = "closed",
    }
}

crate::word_enum! {
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

crate::word_enum! {
    /// `alloc.erase_unit`
    EraseUnit {
        /// A flash block.
        Block = "block",
        /// One block of every plane of the pool.
        Superblock = "superblock",
    }
}

crate::word_enum! {
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

crate::word_enum! {
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

crate::word_enum! {
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

crate::word_enum! {
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

crate::word_enum! {
    /// `raid.update`
    ParityUpdate {
        /// Whichever reads fewer pages; old data and parity if both read as many.
        Fewest = "fewest",
        /// Old data and old parity (read-modify-write), unless the whole group is written.
        ReadModify = "read-modify",
        /// The pages of the group that stay (reconstruct-write).
        Reconstruct = "reconstruct",
    }
}

crate::word_enum! {
    /// `raid.reads`
    GroupReads {
        /// Where the page is, also if its chip collects.
        Home = "home",
        /// From the other pages of the group, if its chip collects and no other chip of the group does; decided when
        /// the read arrives, and when collection begins in front of it.
        ReconstructIfBusy = "reconstruct-if-busy",
        /// From the other pages of the group, if the wait for its chip is longer than the longest wait for the chips
        /// of the others, by more than the reads take that this adds; decided when the read arrives, and when
        /// collection begins in front of it.
        ShortestQueue = "shortest-queue",
    }
}

crate::word_enum! {
    /// `remap.mode`
    RemapMode {
        /// It refuses them.
        Off = "off",
        /// The destination shares the flash pages of the source: no data are programmed. In parity groups a page
        /// is copied if another of its group may need the chip of its source.
        Share = "share",
        /// The device reads the source and programs the destination (cause `remap`).
        Copy = "copy",
    }
}

crate::word_enum! {
    /// `slc.mode`
    SlcMode {
        /// There are no SLC blocks.
        Off = "off",
        /// As many as `slc.static` holds, whatever is erased.
        Static = "static",
        /// As many as `slc.share` of the erased blocks allows.
        Dynamic = "dynamic",
        /// Those of `static`, and beyond them those of `dynamic`.
        Hybrid = "hybrid",
    }
}

impl SlcMode {
    /// Whether `slc.static` counts.
    #[must_use]
    pub const fn has_static(self) -> bool {
        matches!(self, SlcMode::Static | SlcMode::Hybrid)
    }

    /// Whether `slc.share` counts.
    #[must_use]
    pub const fn has_share(self) -> bool {
        matches!(self, SlcMode::Dynamic | SlcMode::Hybrid)
    }
}

crate::word_enum! {
    /// `slc.fold`
    Fold {
        /// When collection chooses them, as any other block.
        Full = "full",
        /// Also when their pool has been idle for `slc.idle`.
        Idle = "idle",
    }
}

crate::word_enum! {
    /// `slc.path`
    FoldPath {
        /// To the controller and back.
        Controller = "controller",
        /// Inside the plane: array read, array program, no transfer.
        Copyback = "copyback",
    }
}

crate::word_enum! {
    /// `slc.full`
    SlcFull {
        /// It writes to blocks with all bits.
        Direct = "direct",
        /// It waits until a block is folded, if there is one to fold.
        Wait = "wait",
    }
}

crate::word_enum! {
    /// `precondition.steady_state`
    SteadyStart {
        /// The device is filled page by page.
        None = "none",
        /// Valid pages are distributed as in the mean field of greedy collection under uniform writes.
        MeanField = "mean-field",
    }
}

crate::word_enum! {
    /// `precondition.order`
    FillOrder {
        /// Ascending.
        Sequential = "sequential",
        /// A random permutation.
        Random = "random",
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
