//! The store: a key-value engine that reads and writes LevelDB's files, on a small file layer.
//!
//! Path of a write: `db` (batch, log, memtable) -> `db::flush` (level 0) -> `compaction` -> `version`
//! (manifest). Path of a read: memtables, then `version`, `table`, `format::block`. The engine uses
//! no file system, clock, thread or random source: files come from `vfs`, background work runs in
//! `Db::step`. See docs/store.md.

pub mod bench;
#[cfg(test)]
#[path = "../../cases.rs"]
mod cases;
mod compaction;
mod db;
mod error;
mod format;
mod lru;
mod memtable;
mod merge;
mod options;
pub mod policy;
mod table;
mod version;
pub mod vfs;

pub use db::{
    Backlog, Db, DbIter, LevelStats, LockedIter, NextWork, ReadView, RepairResult, ReuseStats,
    Stats, TableInfo, VerifyResult, WriteRoom, destroy, dump, repair,
};
pub use error::{Error, Result};
pub use format::batch::{Change, WriteBatch};
pub use options::{Background, Compression, Options, RANGES, ReadOptions};
