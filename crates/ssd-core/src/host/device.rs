//! The `Device` trait: the driver advances time.
//!
//! A device simulates on demand. Drivers (trace replay, closed loop, an application) submit requests
//! and let the device run; `run_until` returns at the first instant with completions, before that
//! instant's arrivals and dispatch, so that a driver can submit at the same instant.

pub use super::error::DeviceError;
use super::request::{Completion, Request, RequestId};
use crate::units::Nanos;

/// A simulated device that owns time.
pub trait Device {
    /// What [`Device::snapshot`] returns.
    type Snapshot;

    /// Submit `request` to arrive at `at`, not earlier than the last submission. An `at` in the past is the
    /// intended arrival: the request is admitted now, and its latency counts from `at`, which may be earlier than the
    /// last submission if no request is still to arrive. In bytes mode `data` holds the payload of a write; the data of
    /// a copy are its source ranges ([`super::copy::encode`]).
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

    /// Run until the first instant with completions, or until `limit` if there is none before. The completions of that
    /// instant are appended to `done` in order. Returns the time reached.
    ///
    /// # Errors
    /// A [`DeviceError`] when the run cannot complete every request.
    fn run_until(&mut self, limit: Nanos, done: &mut Vec<Completion>)
    -> Result<Nanos, DeviceError>;

    /// The state of the device at rest: flash and map, without policies and queues. A device built from it continues as
    /// this one would, if its policies keep no state besides that of the blocks.
    ///
    /// # Errors
    /// [`DeviceError::Busy`] while a request or a flash operation is in progress, [`DeviceError::Degraded`] without the
    /// pages of a failed chip.
    fn snapshot(&self) -> Result<Self::Snapshot, DeviceError>;

    /// Announce a request about thirty requests ahead, so that the device can prefetch its map entry. No
    /// effect on results.
    fn hint(&self, request: &Request) {
        let _ = request;
    }

    /// As [`Device::hint`], about fifteen requests ahead: the map entry is cached, so prefetch what it points to.
    fn hint_soon(&self, request: &Request) {
        let _ = request;
    }

    /// The data of a completed read in bytes mode; returned once.
    fn take_data(&mut self, id: RequestId) -> Option<Vec<u8>> {
        let _ = id;
        None
    }
}
