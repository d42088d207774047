//! The operations of the clients: streams of `ssd_trace::keys`, as keys and values of the store.

use ssd_core::rng::Stream as Random;
use ssd_trace::keys::{KeyOp, KeyRequest, Stream, Wanted, db_bench, stream, ycsb};

/// One phase: a name and its operations.
pub struct Phase {
    /// The name of its stream.
    pub name: String,
    /// Whether keys are those of YCSB.
    ycsb: bool,
    operations: Stream,
}

/// Operations on keys, of one phase after the other.
pub struct Workload {
    /// The phases, the last one first.
    phases: Vec<Phase>,
    values: Values,
}

/// Values that do not compress, each found again from its key and version.
#[derive(Clone)]
pub struct Values {
    pool: Vec<u8>,
}

impl Default for Values {
    fn default() -> Values {
        let mut random = Random::new(301, "values");
        let bytes = (0..1 << 18).flat_map(|_| random.bits().to_le_bytes());
        Values { pool: bytes.collect() }
    }
}

impl Values {
    /// The value of `bytes` bytes that operation `version` writes.
    #[must_use]
    pub fn value(&self, version: u64, bytes: usize) -> &[u8] {
        let mixed = version.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let at = mixed as usize % (self.pool.len() - bytes.min(self.pool.len() - 1));
        &self.pool[at..at + bytes]
    }
}

/// The stream of a name on the command line: "ycsb-a" is "ycsb:a", "fillrandom" is `db_bench:fillrandom`.
#[must_use]
pub fn stream_name(name: &str) -> String {
    if name.contains(':') || name == "mixgraph" {
        return name.to_owned();
    }
    match name.split_once('-') {
        Some(("ycsb", phase)) => format!("ycsb:{phase}"),
        _ => format!("db_bench:{name}"),
    }
}

/// Whether a store must be filled before this stream.
fn needs_records(name: &str) -> bool {
    !(name == "ycsb:load" || name.starts_with("db_bench:fill"))
}

impl Workload {
    /// The phases of the workload `name`: what fills the store, if that is needed, and the workload.
    ///
    /// # Errors
    /// There is no such workload, or its parameters do not suit it.
    pub fn named(name: &str, wanted: &Wanted) -> Result<Workload, String> {
        let name = stream_name(name);
        let phase = |name: &str, wanted: &Wanted| {
            let operations = stream(name, wanted).map_err(|error| error.to_string())?;
            Ok::<_, String>(Phase {
                name: name.to_owned(),
                ycsb: name.starts_with("ycsb"),
                operations,
            })
        };
        let mut phases = vec![phase(&name, wanted)?];
        if needs_records(&name) {
            let fill = if name.starts_with("ycsb") { "ycsb:load" } else { "db_bench:fillseq" };
            let value_bytes = wanted.value_bytes.or(Some(100));
            let fills = Wanted { operations: wanted.records, value_bytes, keys: None, ..*wanted };
            phases.push(phase(fill, &fills)?);
        }
        Ok(Workload { phases, values: Values::default() })
    }

    /// The name of the phase under way.
    #[must_use]
    pub fn phase(&self) -> Option<&str> {
        self.phases.last().map(|phase| phase.name.as_str())
    }

    /// End the phase; false if it was the last one.
    pub fn next_phase(&mut self) -> bool {
        self.phases.pop();
        !self.phases.is_empty()
    }

    /// The next operation of the phase, with its key.
    pub fn next_operation(&mut self) -> Option<(KeyRequest, Vec<u8>)> {
        let phase = self.phases.last_mut()?;
        let request = phase.operations.next()?;
        let key = if phase.ycsb { ycsb::name(request.key) } else { db_bench::name(request.key) };
        Some((request, key.into_bytes()))
    }

    /// The values that writes store.
    #[must_use]
    pub fn values(&self) -> &Values {
        &self.values
    }
}

/// The name of a kind of operation.
#[must_use]
pub const fn op_name(op: KeyOp) -> &'static str {
    match op {
        KeyOp::Read => "read",
        KeyOp::Insert => "insert",
        KeyOp::Update => "update",
        KeyOp::ReadModifyWrite => "read-modify-write",
        KeyOp::Scan => "scan",
        KeyOp::Delete => "delete",
    }
}
