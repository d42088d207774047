//! Why a device refuses a request or cannot continue.

use super::zones::ZoneStatus;

/// A request that cannot be admitted, or a run that cannot continue.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DeviceError {
    /// The request is not valid on this device.
    #[error("request {id}: {reason}")]
    BadRequest {
        /// Its number.
        id: u64,
        /// What is wrong and what is allowed.
        reason: String,
    },
    /// The zones refuse the request.
    #[error("request {id}: status {:#05x}, {}", .status.code(), .status.name())]
    Zone {
        /// Its number.
        id: u64,
        /// Its status.
        status: ZoneStatus,
    },
    /// A pool cannot free a block: its victims hold only valid pages.
    #[error(
        "pool {pool} cannot free a block: {reason}; {outstanding} requests did not complete \
         (the first is request {first})"
    )]
    NoSpace {
        /// The pool.
        pool: u32,
        /// The reason, with its numbers and the remedy.
        reason: String,
        /// Requests submitted and not completed.
        outstanding: u64,
        /// The oldest of them.
        first: u64,
    },
    /// The requested steady state does not fit into a pool.
    #[error("the steady state does not fit into pool {pool}: {reason}")]
    NoSteadyState {
        /// The pool.
        pool: u32,
        /// The reason, with its numbers and the remedy.
        reason: String,
    },
    /// Too many blocks of a pool have reached their endurance.
    #[error(
        "pool {pool} is worn out: {worn_out} of its {blocks} blocks have reached their endurance \
         after {erases} erases in the pool, and its data fill the {good} good ones except for the room that \
         collection keeps; the host has written {host_bytes} bytes (TBW)"
    )]
    WornOut {
        /// The pool.
        pool: u32,
        /// Its worn-out blocks (erase units).
        worn_out: u32,
        /// All its blocks.
        blocks: u32,
        /// Those that are not bad.
        good: u32,
        /// Erases of all its blocks.
        erases: u64,
        /// Bytes that the host has written to the device since it was new.
        host_bytes: u64,
    },
    /// The time series would not fit into memory.
    #[error(
        "the time series has a row every {interval_ns} ns and reached its limit of 1048576 rows at \
         {at_ns} ns: choose a longer metrics.interval (0 s: no series)"
    )]
    SeriesTooLong {
        /// The requested interval.
        interval_ns: u64,
        /// Simulated time of the first row beyond the limit.
        at_ns: u64,
    },
    /// A chip has failed and its pages have not been rebuilt, so the state cannot be stored.
    #[error(
        "it is degraded: a chip has failed, and {lost} pages are lost and not rebuilt: {}",
        until_rebuilt(*.rebuilds)
    )]
    Degraded {
        /// Lost pages.
        lost: u64,
        /// Whether a spare is being rebuilt, or will be.
        rebuilds: bool,
    },
    /// Simulated time would leave its range.
    #[error(
        "simulated time exceeds its range of {limit_ns} ns: shorten the trace or scale its times"
    )]
    TimeRange {
        /// The largest representable time.
        limit_ns: u64,
    },
    /// Two pages of a parity group were lost.
    #[error(
        "data are lost: at {at_ns} ns {count} pages of the host cannot be restored, as two chips of their parity \
         groups hold no data of theirs any more (chips {chips}): LPN {first_lpns}"
    )]
    DataLost {
        /// The time of the failure.
        at_ns: u64,
        /// The chips that have failed.
        chips: String,
        /// The number of lost host pages.
        count: u64,
        /// The first of them.
        first_lpns: String,
        /// All of them.
        lpns: Vec<u32>,
    },
    /// Requests wait and no event is left that could complete them.
    #[error(
        "stalled: {outstanding} requests wait (the first is request {first}) and nothing is running: {reason}"
    )]
    Stalled {
        /// Requests submitted and not completed.
        outstanding: u64,
        /// The oldest of them.
        first: u64,
        /// What they wait for.
        reason: String,
    },
    /// An external policy failed or returned a value that is not allowed.
    #[error("{0}")]
    Policy(String),
    /// The user interrupted an external policy.
    #[error("interrupted in a policy")]
    Interrupted,
    /// A power cut or a mount that is not possible.
    #[error("{0}")]
    Power(String),
    /// The device is not at rest.
    #[error("the device is not at rest: {0}")]
    Busy(String),
    /// The store of page contents failed.
    #[error("the contents of pages cannot be kept: {0}")]
    Contents(String),
    /// Data read differ from the data last written: an error in the simulator.
    #[error("data mismatch: {0}")]
    Data(String),
}

/// What to do about a device with lost pages.
fn until_rebuilt(rebuilds: bool) -> &'static str {
    if rebuilds {
        "let it run until it is idle, so that the rebuild ends"
    } else {
        "nothing rebuilds them, however long it runs: store the state before the chip fails, or give the device a \
         spare for each failure (raid.spares)"
    }
}
