//! Workloads of a key-value store, as streams of operations on keys: YCSB, `db_bench`, mixgraph.
//!
//! Keys are numbers here; [`ycsb::name`] and [`db_bench::name`] return them in the notation of those programs.

pub mod db_bench;
pub mod mixgraph;
pub mod ycsb;
mod zipfian;

pub use zipfian::Zipfian;

use ssd_core::host::source::SourceError;

/// An operation on a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum KeyOp {
    /// Reads its value.
    Read,
    /// Writes a key that does not exist yet.
    Insert,
    /// Writes a new value. It replaces the whole value, because a plain store has no fields.
    Update,
    /// Reads the value, then writes a new one.
    ReadModifyWrite,
    /// Reads `scan` keys from this key up.
    Scan,
    /// Removes it.
    Delete,
}

/// One operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyRequest {
    /// The operation.
    pub op: KeyOp,
    /// Number of the key.
    pub key: u64,
    /// Bytes of the written value, or 0.
    pub value_bytes: u32,
    /// Keys that a scan reads; 0 for other operations.
    pub scan: u32,
}

impl KeyOp {
    /// All operations, in the order of their numbers.
    pub const ALL: [KeyOp; 6] = [
        KeyOp::Read,
        KeyOp::Insert,
        KeyOp::Update,
        KeyOp::ReadModifyWrite,
        KeyOp::Scan,
        KeyOp::Delete,
    ];
}

impl KeyRequest {
    fn new(op: KeyOp, key: u64, value_bytes: u32) -> KeyRequest {
        let writes = matches!(op, KeyOp::Insert | KeyOp::Update | KeyOp::ReadModifyWrite);
        KeyRequest { op, key, value_bytes: if writes { value_bytes } else { 0 }, scan: 0 }
    }
}

/// A stream of operations.
pub type Stream = Box<dyn Iterator<Item = KeyRequest> + Send>;

/// Parameters of a stream.
#[derive(Clone, Copy, Debug)]
pub struct StreamParameters {
    /// Keys in the store.
    pub records: u64,
    /// Operations; YCSB's load phase and a scan of all keys use the number of keys instead.
    pub operations: u64,
    /// Bytes of a value; `None`: 1000 for YCSB, 100 for `db_bench`. mixgraph draws its own sizes.
    pub value_bytes: Option<u32>,
    /// Distribution of YCSB's keys; `None`: that of the workload.
    pub keys: Option<ycsb::Keys>,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// Returns the stream called `name`: "ycsb:load", "ycsb:a" to "ycsb:f", "`db_bench`:fillrandom" and so on, "mixgraph".
///
/// # Errors
/// There is no such stream, or the parameters do not suit it.
pub fn stream(name: &str, parameters: &StreamParameters) -> Result<Stream, SourceError> {
    let StreamParameters { records, operations, value_bytes, keys, seed } = *parameters;
    let (family, member) = name.split_once(':').unwrap_or((name, ""));
    if keys.is_some() && family != "ycsb" {
        return Err(SourceError(format!("{name}: only YCSB has a choice of keys")));
    }
    Ok(match family {
        "ycsb" => {
            let phase = ycsb::Phase::named(member)?;
            let bytes = value_bytes.unwrap_or(1000);
            Box::new(ycsb::Ycsb::new(phase, keys, records, operations, bytes, seed)?)
        }
        "db_bench" => {
            let bench = db_bench::Bench::named(member)?;
            let bytes = value_bytes.unwrap_or(100);
            Box::new(db_bench::DbBench::new(bench, records, operations, bytes, seed)?)
        }
        "mixgraph" if member.is_empty() => {
            if value_bytes.is_some() {
                let text = "mixgraph determines the sizes of values; leave value_bytes out";
                return Err(SourceError(text.to_owned()));
            }
            Box::new(mixgraph::MixGraph::new(mixgraph::Mix::default(), records, operations, seed)?)
        }
        _ => {
            return Err(SourceError(format!(
                "no key stream {name:?}; expected ycsb:load, ycsb:a to ycsb:f, db_bench:NAME, or mixgraph"
            )));
        }
    })
}

/// Returns the 64-bit FNV-1a hash of the eight octets of `value`, lowest first, as YCSB hashes numbers.
fn fnv64(value: u64) -> u64 {
    value.to_le_bytes().iter().fold(0xcbf2_9ce4_8422_2325, |hash, &octet| {
        (hash ^ u64::from(octet)).wrapping_mul(1_099_511_628_211)
    })
}
