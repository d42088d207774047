//! The `Device` trait: the driver advances time.
//!
//! A device simulates on demand. Drivers (trace replay, closed loop, an application) submit requests
//! and let the device run; `run_until` returns at the first instant with completions, before that
//! instant's arrivals and dispatch, so that a driver can submit at the same instant.

use super::request::{Completion, Request, RequestId};
use crate::units::Nanos;

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
        /// Its blocks (erase units) that are worn out.
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
         groups hold no data of theirs any more (chips {chips}): LPN {some}"
    )]
    DataLost {
        /// When.
        at_ns: u64,
        /// The chips that have failed.
        chips: String,
        /// How many pages of the host.
        count: u64,
        /// The first of them.
        some: String,
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

/// A simulated device that owns time.
pub trait Device {
    /// What [`Device::snapshot`] returns.
    type Snapshot;

    /// Submit `request` to arrive at `at`, not earlier than the last submission. An `at` in the past is the
    /// intended arrival: the request is admitted now, and its latency counts from `at`. In bytes mode `data`
    /// holds the payload of a write; the data of a copy are its source ranges ([`super::copy::encode`]).
    ///
    /// # Errors
    /// [`DeviceError::BadRequest`] for an address range that is empty, too large or beyond the device.
    fn submit(
        &mut self,
        at: Nanos,
        request: &Request,
        data: Option<&[u8]>,
    ) -> Result<RequestId, DeviceError>;

    /// Simulated time.
    fn now(&self) -> Nanos;

    /// The time of the next event; `None` if nothing will happen without a submission.
    fn next_event(&self) -> Option<Nanos>;

    /// Run until the first instant with completions, or until `limit` if none comes before. The
    /// completions of that instant are appended to `done` in order. Returns the time reached.
    ///
    /// # Errors
    /// A [`DeviceError`] when the run cannot complete every request.
    fn run_until(&mut self, limit: Nanos, done: &mut Vec<Completion>)
    -> Result<Nanos, DeviceError>;

    /// The state of the device at rest: flash and map, without policies and queues. A device built from it
    /// continues as this one would, if its policies keep no state beyond that of the blocks.
    ///
    /// # Errors
    /// [`DeviceError::Busy`] while a request or a flash operation is in progress.
    fn snapshot(&self) -> Result<Self::Snapshot, DeviceError>;

    /// Announce a request about thirty requests ahead, so that the device can prefetch its map entry. No
    /// effect on results.
    fn hint(&self, request: &Request) {
        let _ = request;
    }

    /// The same about fifteen requests ahead: the map entry is cached, so prefetch what it points to.
    fn hint_soon(&self, request: &Request) {
        let _ = request;
    }

    /// The data of a completed read in bytes mode; returned once.
    fn take_data(&mut self, id: RequestId) -> Option<Vec<u8>> {
        let _ = id;
        None
    }
}
