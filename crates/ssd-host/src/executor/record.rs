//! A record of requests to the drive and of operations of clients, for tests and tools that ask for it.

use super::Machine;
use ssd_core::host::request::Request;
use ssd_trace::keys::KeyOp;

/// An entry of the record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordEntry {
    /// A request went to the drive.
    Submitted {
        /// Time in nanoseconds.
        at_ns: u64,
        /// The request.
        request: Request,
    },
    /// An operation of a client ended; a write is acknowledged.
    Ended {
        /// Time in nanoseconds.
        at_ns: u64,
        /// Number of the client, from 0 on.
        client: usize,
        /// The operation.
        op: KeyOp,
        /// Time at which the client began it, in nanoseconds.
        began_ns: u64,
        /// Number of the write, from 1 on, in the order in which clients took writes; 0 for a read.
        write: u64,
        /// Whether the write had to be durable.
        sync: bool,
    },
}

/// A write that has been acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Acknowledged {
    /// Its number, from 1 on, in the order in which clients took writes.
    pub number: u64,
    /// Whether it had to be durable.
    pub sync: bool,
    /// When it was acknowledged, in nanoseconds.
    pub at_ns: u64,
}

impl Machine {
    /// Start the record.
    pub fn keep_record(&mut self) {
        self.record = Some(Vec::new());
    }

    /// The entries since [`Machine::keep_record`], in order. Writes of a group end in the order of the log.
    #[must_use]
    pub fn record(&self) -> &[RecordEntry] {
        self.record.as_deref().unwrap_or_default()
    }

    /// The acknowledged writes in the order of the log, and the number of writes that clients have taken.
    pub(crate) fn take_acknowledged(&mut self) -> (Vec<Acknowledged>, u64) {
        (std::mem::take(&mut self.acknowledged), self.writers.begun)
    }

    pub(super) fn note_event(&mut self, event: RecordEntry) {
        if let Some(record) = &mut self.record {
            record.push(event);
        }
    }
}
