//! Workloads of a key-value store, as streams of operations on keys: YCSB, `db_bench`, mixgraph.
//!
//! Keys are numbers here; [`ycsb::name`] and [`db_bench::name`] write them as those programs do.

pub mod db_bench;
pub mod mixgraph;
pub mod ycsb;
mod zipfian;

pub use zipfian::Zipfian;

/// What is done with a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum KeyOp {
    /// Read its value.
    Read,
    /// Write a key that is not there yet.
    Insert,
    /// Write a new value. The whole value: a plain store has no fields.
    Update,
    /// Read the value, then write a new one.
    ReadModifyWrite,
    /// Read `scan` keys from it on.
    Scan,
    /// Remove it.
    Delete,
}

/// One operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyRequest {
    /// What is done.
    pub op: KeyOp,
    /// The key's number.
    pub key: u64,
    /// Bytes of the value written; 0 if none is.
    pub value_bytes: u32,
    /// Keys read by a scan; 0 otherwise.
    pub scan: u32,
}

impl KeyRequest {
    fn new(op: KeyOp, key: u64, value_bytes: u32) -> KeyRequest {
        let writes = matches!(op, KeyOp::Insert | KeyOp::Update | KeyOp::ReadModifyWrite);
        KeyRequest { op, key, value_bytes: if writes { value_bytes } else { 0 }, scan: 0 }
    }
}

/// FNV-1a with 64 bits of the eight octets of `value`, the lowest first, as YCSB hashes numbers.
fn fnv64(value: u64) -> u64 {
    value.to_le_bytes().iter().fold(0xcbf2_9ce4_8422_2325, |hash, &octet| {
        (hash ^ u64::from(octet)).wrapping_mul(1_099_511_628_211)
    })
}
