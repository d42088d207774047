//! What the host did, one by one, for a test or a tool that asks for it.

use super::Machine;
use ssd_core::host::request::Request;
use ssd_trace::keys::KeyOp;

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Happened {
    /// A request went to the drive.
    Submitted {
        /// When, in nanoseconds.
        at_ns: u64,
        /// The request.
        request: Request,
    },
    /// An operation of a client ended; a write is acknowledged.
    Ended {
        /// When, in nanoseconds.
        at_ns: u64,
        /// Whose, from 0 on.
        client: usize,
        /// What it was.
        op: KeyOp,
        /// When the client began it.
        began_ns: u64,
        /// Which write it was, in the order in which clients took them, from 1 on; 0: a read.
        write: u64,
        /// The write had to be durable.
        sync: bool,
    },
}

impl Machine {
    /// Keep what happens from now on.
    pub fn keep_record(&mut self) {
        self.record = Some(Vec::new());
    }

    /// What has happened, in order, since [`Machine::keep_record`]. Writes of a group end in the order of the log.
    #[must_use]
    pub fn record(&self) -> &[Happened] {
        self.record.as_deref().unwrap_or_default()
    }

    pub(super) fn happened(&mut self, what: Happened) {
        if let Some(record) = &mut self.record {
            record.push(what);
        }
    }
}
