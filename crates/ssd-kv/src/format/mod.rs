//! LevelDB's encodings: how each kind of file and record is written and read. No file is accessed here.
//!
//! Source: google/leveldb `doc/log_format.md`, `doc/table_format.md`, `doc/impl.md`, release 1.23.

pub(crate) mod batch;
pub(crate) mod block;
pub(crate) mod block_builder;
pub(crate) mod bloom;
pub(crate) mod coding;
pub(crate) mod edit;
pub(crate) mod filter;
pub(crate) mod footer;
mod fragment;
mod idb;
pub(crate) mod key;
pub(crate) mod log;
pub(crate) mod names;
pub(crate) mod order;
mod resync;

/// Bytes that violate their format: the offset from the start of decoding, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) offset: usize,
    pub(crate) message: &'static str,
}

impl Damage {
    pub(crate) fn at(offset: usize, message: &'static str) -> Damage {
        Damage { offset, message }
    }
}
