//! The costs of the calls of the file layer: nodes that an executor plays in order.

use serde::{Deserialize, Serialize};
use ssd_core::host::request::Op;
use std::sync::Arc;

/// Pages in a range on the drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// The first page.
    pub start: u32,
    /// How many.
    pub pages: u32,
}

/// What pages are written for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cause {
    /// The write-ahead log of the store.
    Log,
    /// Its manifest.
    Manifest,
    /// Its other small files.
    Other,
    /// Tables from memtables.
    Flush,
    /// Tables of a compaction into this level (1 to 6).
    Level(u8),
    /// The journal of the file system.
    Journal,
    /// Its metadata at their home.
    Home,
}

/// Which stream writes name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Streams {
    /// Stream 0.
    #[default]
    None,
    /// Tables of level L stream L + 1; logs, journal and metadata stream 0.
    Levels,
}

impl Streams {
    /// How many there are.
    #[must_use]
    pub const fn count(self) -> u32 {
        match self {
            Streams::None => 1,
            Streams::Levels => 8,
        }
    }

    /// The stream of what is written for `cause`.
    pub(crate) fn of(self, cause: Cause) -> u8 {
        let stream = match (self, cause) {
            (Streams::Levels, Cause::Flush) => 1,
            (Streams::Levels, Cause::Level(level)) => level + 1,
            _ => 0,
        };
        debug_assert!(u32::from(stream) < self.count(), "{cause:?} has no stream");
        stream
    }
}

/// Number of causes.
pub const CAUSES: usize = 12;

impl Cause {
    /// All, in the order of [`Cause::at`].
    pub const ALL: [Cause; CAUSES] = [
        Cause::Log,
        Cause::Manifest,
        Cause::Other,
        Cause::Flush,
        Cause::Level(1),
        Cause::Level(2),
        Cause::Level(3),
        Cause::Level(4),
        Cause::Level(5),
        Cause::Level(6),
        Cause::Journal,
        Cause::Home,
    ];

    /// As an index.
    #[must_use]
    pub const fn at(self) -> usize {
        match self {
            Cause::Log => 0,
            Cause::Manifest => 1,
            Cause::Other => 2,
            Cause::Flush => 3,
            Cause::Level(level) => 3 + level as usize,
            Cause::Journal => 10,
            Cause::Home => 11,
        }
    }

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        const NAMES: [&str; CAUSES] = [
            "log", "manifest", "other", "flush", "level-1", "level-2", "level-3", "level-4",
            "level-5", "level-6", "journal", "home",
        ];
        NAMES[self.at()]
    }
}

/// Keeps the extents of a file while something refers to them.
pub(crate) type Pin = Arc<()>;

/// A request to the drive.
pub struct NotedRequest {
    /// In the order in which requests were noted, from 1 on.
    pub number: u64,
    /// Read, write, TRIM, flush or copy.
    pub op: Op,
    /// Its pages; none for a flush.
    pub extent: Extent,
    /// Bits of [`ssd_core::host::request::flags`].
    pub flags: u8,
    /// The stream of a write or copy.
    pub stream: u8,
    /// What is written, if the drive keeps contents; for a copy, the source ranges.
    pub data: Option<Vec<u8>>,
    /// The files that are read or copied from.
    pub(crate) _pins: Vec<Pin>,
}

impl NotedRequest {
    /// A request without data, which reads the files behind `pins`, if any.
    pub(crate) fn without_data(number: u64, op: Op, extent: Extent, pins: Vec<Pin>) -> Self {
        NotedRequest { number, op, extent, flags: 0, stream: 0, data: None, _pins: pins }
    }
}

/// A part of the cost of a step.
pub enum Node {
    /// Processor time in nanoseconds.
    Cpu(u64),
    /// Issue these together and wait for all of them.
    Io(Vec<NotedRequest>),
    /// Issue these and do not wait.
    ReadAhead(Vec<NotedRequest>),
    /// Wait for the requests with these numbers, first and last.
    After(u64, u64),
    /// Wait for all writes with smaller numbers.
    Barrier(u64),
    /// Nothing on the drive refers to these pages any more: they are free.
    Free(Vec<Extent>),
}
