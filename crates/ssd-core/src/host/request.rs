//! Requests and completions.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// The operation of a request.
///
/// Eight bytes wide so that [`Request`] has no padding: requests are copied as whole words, which the
/// processor can forward from store to load (measured: 5 % of a run).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u64)]
pub enum Op {
    /// Read sectors.
    Read = 0,
    /// Write sectors.
    Write = 1,
    /// Discard sectors: whole pages inside the range become unmapped.
    Trim = 2,
    /// Completes when every write admitted before it is on flash.
    Flush = 3,
    /// Copy whole pages from the ranges in its data ([`super::copy`]) to its sectors.
    Copy = 4,
}

impl Op {
    /// All operations, in the order of their discriminants.
    pub const ALL: [Op; 5] = [Op::Read, Op::Write, Op::Trim, Op::Flush, Op::Copy];
    /// Name in reports and logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            Op::Flush => "flush",
            Op::Copy => "copy",
        }
    }
}

/// Request flags, a set of bits.
pub mod flags {
    /// Force unit access: complete only when the data are on flash.
    pub const FUA: u8 = 1;
    /// Synchronous: the issuer waits for this request.
    pub const SYNC: u8 = 2;
    /// File-system metadata.
    pub const META: u8 = 4;
    /// Flush the cache before this request.
    pub const PREFLUSH: u8 = 8;
    /// Read-ahead.
    pub const AHEAD: u8 = 16;
    /// In traces, part of a copy: a read is one of its source ranges, and the write after them its destination.
    pub const COPY: u8 = 32;
}

/// One host request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// First 512-byte sector.
    pub sector: u64,
    /// Number of sectors, at least 1 (0 only for a flush).
    pub sectors: u32,
    /// Operation.
    pub op: Op,
    /// Volume (disk, LUN) that it belongs to, for statistics.
    pub volume: u16,
    /// Stream hint for placement and statistics.
    pub stream: u8,
    /// Bits of [`flags`].
    pub flags: u8,
}

impl Request {
    /// A request of volume 0, stream 0, without flags.
    #[must_use]
    pub const fn new(op: Op, sector: u64, sectors: u32) -> Request {
        Request { sector, sectors, op, volume: 0, stream: 0, flags: 0 }
    }
}

/// A request with its intended arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimedRequest {
    /// Arrival, never earlier than that of the request before.
    pub at: Nanos,
    /// The request.
    pub request: Request,
}

/// Number of a request, counted in the order of submission.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct RequestId(pub u64);

/// A completed request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// Which request.
    pub id: RequestId,
    /// When it was submitted to arrive.
    pub arrival: Nanos,
    /// When it completed.
    pub at: Nanos,
    /// The request itself.
    pub op: Op,
    /// Digest of the data read, in admission order over its pages (digest mode; otherwise 0).
    pub digest: u64,
}
