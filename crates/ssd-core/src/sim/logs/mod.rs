//! A feature: the logs of operations, of power and of requests (`metrics.op_log`, `metrics.request_log`).
//!
//! The route calls them where an operation starts and ends, where a request completes, and where power is cut. The
//! route looks up what a record needs from another feature, such as the request behind a group update (`recording`).

pub mod operations;
pub mod power;
pub mod requests;

use crate::config::Config;
use operations::OperationLog;
use power::PowerLog;
use requests::RequestLog;

/// The logs that a run keeps.
pub(crate) struct Logs {
    pub(crate) operations: Option<Box<OperationLog>>,
    /// With the log of operations.
    pub(crate) power: Option<Box<PowerLog>>,
    pub(crate) requests: Option<Box<RequestLog>>,
}

impl Logs {
    pub(super) fn new(config: &Config) -> Logs {
        Logs {
            operations: config.metrics.op_log.then(Box::default),
            power: config.metrics.op_log.then(Box::default),
            requests: config.metrics.request_log.then(Box::default),
        }
    }

    /// Check that no request is logged that is not one of the `submitted` ones.
    pub(super) fn audit(&self, submitted: u64) -> Result<(), String> {
        self.requests.as_ref().map_or(Ok(()), |log| log.audit(submitted))
    }
}
