//! Requests and completions.

use super::copy::SourceRange;
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
    /// Volume (disk, LUN) it belongs to, for statistics.
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
    /// Arrival; never earlier than that of the request before it.
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
    /// Digest of the data read, in admission order over its pages (digest mode; else 0).
    pub digest: u64,
}

/// Where requests come from: a trace, a generator, an application.
pub trait Source {
    /// The next request in order of arrival, or `None` at the end.
    ///
    /// # Errors
    /// [`SourceError`] names the place (file and line, or parameter) and the remedy.
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError>;

    /// Append up to `most` requests to `batch`; fewer only at the end. (A provided method: each source gets a
    /// copy of it in which the request is built in place.)
    ///
    /// # Errors
    /// As [`Source::next_request`]; requests before the error are in `batch`.
    fn fill(&mut self, batch: &mut Vec<TimedRequest>, most: usize) -> Result<(), SourceError> {
        for _ in 0..most {
            match self.next_request()? {
                Some(request) => batch.push(request),
                None => break,
            }
        }
        Ok(())
    }

    /// The source ranges of a copy: of the first one returned, at the first call, then of the next.
    fn copy_sources(&mut self) -> Vec<SourceRange> {
        Vec::new()
    }

    /// Total number of requests, where it is known (for progress).
    fn expected(&self) -> Option<u64> {
        None
    }
}

/// Why a source cannot continue.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct SourceError(pub String);
