//! The `Device` trait: the driver advances time.
//!
//! A device simulates on demand. Drivers (trace replay, closed loop, an application) submit requests
//! and let the device run; `run_until` returns at the first instant with completions, before that
//! instant's arrivals and dispatch, so that a driver can submit at the same instant.

use super::request::{Completion, Request, RequestId};
use crate::units::Nanos;

/// A request that cannot be admitted, or a run that cannot go on.
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
        /// Why, with its numbers and the remedy.
        reason: String,
        /// Requests submitted and not completed.
        outstanding: u64,
        /// The oldest of them.
        first: u64,
    },
    /// The steady state that was asked for does not fit into a pool.
    #[error("the steady state does not fit into pool {pool}: {reason}")]
    NoSteadyState {
        /// The pool.
        pool: u32,
        /// Why, with its numbers and the remedy.
        reason: String,
    },
    /// Too many blocks of a pool have reached their endurance.
    #[error(
        "pool {pool} is worn out: {worn_out} of its {blocks} blocks have reached their endurance \
         after {erases} erases in the pool, and its data fill the {good} good ones but for the room that \
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
        "the time series has a row every {interval_ns} ns and reached its most of 1048576 rows at \
         {at_ns} ns: choose a longer metrics.interval (0 s: no series)"
    )]
    SeriesTooLong {
        /// The interval asked for.
        interval_ns: u64,
        /// Simulated time of the row that is too many.
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
    /// A policy from outside failed or answered what it must not.
    #[error("{0}")]
    Policy(String),
    /// The user interrupted a policy from outside.
    #[error("interrupted in a policy")]
    Interrupted,
    /// The device is not at rest.
    #[error("the device is not at rest: {0}")]
    Busy(String),
    /// A page read is not the page last written: the simulator is wrong.
    #[error("data mismatch: {0}")]
    Data(String),
}

/// A simulated device that owns time.
pub trait Device {
    /// What [`Device::snapshot`] returns.
    type Snapshot;

    /// Submit `request` to arrive at `at`, not earlier than the last submission. An `at` in the past
    /// says when it was meant to arrive: it is admitted now and its latency counts from `at`. In bytes
    /// mode `data` holds the payload of a write.
    ///
    /// # Errors
    /// [`DeviceError::BadRequest`] for an empty, oversized or foreign address range.
    fn submit(
        &mut self,
        at: Nanos,
        request: &Request,
        data: Option<&[u8]>,
    ) -> Result<RequestId, DeviceError>;

    /// Simulated time.
    fn now(&self) -> Nanos;

    /// The time of the next thing to happen, `None` when nothing will happen without a submission.
    fn next_event(&self) -> Option<Nanos>;

    /// Run until the first instant with completions, or until `limit` if none comes before. The
    /// completions of that instant are appended to `done` in order. Returns the time reached.
    ///
    /// # Errors
    /// A [`DeviceError`] when the run cannot complete every request.
    fn run_until(&mut self, limit: Nanos, done: &mut Vec<Completion>)
    -> Result<Nanos, DeviceError>;

    /// The state of the device at rest: media and map, without policies and queues. A device built
    /// from it goes on as this one would under policies that keep no more than the blocks tell.
    ///
    /// # Errors
    /// [`DeviceError::Busy`] while a request or a flash operation is under way.
    fn snapshot(&self) -> Result<Self::Snapshot, DeviceError>;

    /// Tell the device of a request to come, some thirty requests ahead, so that it can fetch its map
    /// entry. No effect on results.
    fn hint(&self, request: &Request) {
        let _ = request;
    }

    /// The same some fifteen requests ahead: the map entry is there, fetch what it points to.
    fn hint_soon(&self, request: &Request) {
        let _ = request;
    }

    /// The data of a completed read in bytes mode, handed over once.
    fn take_data(&mut self, id: RequestId) -> Option<Vec<u8>> {
        let _ = id;
        None
    }
}
