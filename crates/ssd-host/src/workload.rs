//! The operations of the clients: streams of `ssd_trace::keys`, as keys and values of the store.

use ssd_core::rng::Stream as Random;
use ssd_trace::keys::{KeyOp, KeyRequest, Stream, StreamParameters, db_bench, stream, ycsb};

/// One phase: a name and its operations.
pub struct Phase {
    /// The name of its stream.
    pub name: String,
    operations: Operations,
}

/// Operations with their keys.
type Operations = Box<dyn Iterator<Item = (KeyRequest, Vec<u8>)> + Send>;

/// The operations of a stream with the keys of its program.
fn with_keys(name: &str, operations: Stream) -> Operations {
    let key = if name.starts_with("ycsb") { ycsb::name } else { db_bench::name };
    Box::new(operations.map(move |request| (request, key(request.key).into_bytes())))
}

/// Operations on keys, of one phase after the other.
pub struct Workload {
    /// The phases, the last one first.
    phases: Vec<Phase>,
    values: Values,
}

/// Values that do not compress; each follows from its key and version.
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
    /// The phases of the workload `name`: filling the store, if needed, and the workload.
    ///
    /// # Errors
    /// There is no such workload, or its parameters do not suit it.
    pub fn named(name: &str, parameters: &StreamParameters) -> Result<Workload, String> {
        let name = stream_name(name);
        let phase = |name: &str, parameters: &StreamParameters| {
            let operations = stream(name, parameters).map_err(|error| {
                format!("{error}; and mixgraph, ycsb-load, ycsb-a to ycsb-f, or a file")
            })?;
            Ok::<_, String>(Phase {
                name: name.to_owned(),
                operations: with_keys(name, operations),
            })
        };
        let mut phases = vec![phase(&name, parameters)?];
        if needs_records(&name) {
            let fill = if name.starts_with("ycsb") { "ycsb:load" } else { "db_bench:fillseq" };
            let value_bytes = parameters.value_bytes.or(Some(100));
            let fills = StreamParameters {
                operations: parameters.records,
                value_bytes,
                keys: None,
                ..*parameters
            };
            phases.push(phase(fill, &fills)?);
        }
        Ok(Workload { phases, values: Values::default() })
    }

    /// The operations in the text of a trace, one per line: `put KEY BYTES`, `get KEY`, `delete KEY`, `update KEY
    /// BYTES` (read, then write), `scan KEY COUNT`. Empty lines and everything from `#` on are ignored.
    ///
    /// # Errors
    /// The number of the first line that is none of these.
    pub fn traced(name: &str, text: &str) -> Result<Workload, String> {
        let lines = text.lines().map(str::trim).enumerate();
        let counted = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let operation = |(at, line): (usize, &str)| {
            parsed(line).map_err(|error| format!("{name}:{}: {error}", at + 1))
        };
        let operations = counted.map(operation).collect::<Result<Vec<_>, String>>()?;
        let operations = Box::new(operations.into_iter());
        let phase = Phase { name: name.to_owned(), operations };
        Ok(Workload { phases: vec![phase], values: Values::default() })
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
        self.phases.last_mut()?.operations.next()
    }

    /// The values that writes store.
    #[must_use]
    pub fn values(&self) -> &Values {
        &self.values
    }
}

/// The operation on a line of a trace.
fn parsed(line: &str) -> Result<(KeyRequest, Vec<u8>), String> {
    let expected =
        "expected put KEY BYTES, get KEY, delete KEY, update KEY BYTES or scan KEY COUNT";
    let wrong = || format!("{line:?}: {expected}");
    let words: Vec<&str> = line.split_whitespace().collect();
    let (op, numbers) = match words.first() {
        Some(&"put") => (KeyOp::Insert, 1),
        Some(&"get") => (KeyOp::Read, 0),
        Some(&"delete") => (KeyOp::Delete, 0),
        Some(&"update") => (KeyOp::ReadModifyWrite, 1),
        Some(&"scan") => (KeyOp::Scan, 1),
        _ => return Err(wrong()),
    };
    if words.len() != 2 + numbers {
        return Err(wrong());
    }
    let number = words.get(2).map_or(Ok(0), |word| word.parse::<u32>());
    let number = number.ok().filter(|&number| number < 1 << 20);
    let number = number.ok_or_else(|| format!("{line:?}: expected a number below 1048576"))?;
    let scans = op == KeyOp::Scan;
    let (value_bytes, scan) = if scans { (0, number) } else { (number, 0) };
    Ok((KeyRequest { op, key: 0, value_bytes, scan }, words[1].as_bytes().to_vec()))
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
