//! `LevelDB`'s `db_bench`: its benchmarks as streams of operations on keys.

use super::{KeyOp, KeyRequest};
use ssd_core::host::source::SourceError;
use ssd_core::rng::Stream;

/// The benchmarks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bench {
    /// Writes in ascending order of keys.
    FillSeq,
    /// Writes of random keys.
    FillRandom,
    /// Writes of random keys into a filled store.
    Overwrite,
    /// A scan of all keys, upward.
    ReadSeq,
    /// Reads of random keys.
    ReadRandom,
    /// Reads of keys that do not exist.
    ReadMissing,
    /// Reads of random keys in the first hundredth.
    ReadHot,
    /// Seeks to random keys.
    SeekRandom,
    /// Deletes in ascending order of keys.
    DeleteSeq,
    /// Deletes of random keys.
    DeleteRandom,
}

/// Benchmarks by name.
const NAMES: [(&str, Bench); 10] = [
    ("fillseq", Bench::FillSeq),
    ("fillrandom", Bench::FillRandom),
    ("overwrite", Bench::Overwrite),
    ("readseq", Bench::ReadSeq),
    ("readrandom", Bench::ReadRandom),
    ("readmissing", Bench::ReadMissing),
    ("readhot", Bench::ReadHot),
    ("seekrandom", Bench::SeekRandom),
    ("deleteseq", Bench::DeleteSeq),
    ("deleterandom", Bench::DeleteRandom),
];

impl Bench {
    /// Returns the benchmark called `name`.
    ///
    /// # Errors
    /// There is no such benchmark.
    pub fn named(name: &str) -> Result<Bench, SourceError> {
        NAMES.iter().find(|entry| entry.0 == name).map(|entry| entry.1).ok_or_else(|| {
            let names: Vec<&str> = NAMES.iter().map(|entry| entry.0).collect();
            SourceError(format!("no benchmark {name:?}; there are: {}", names.join(", ")))
        })
    }
}

/// Returns the key with this number in the notation of `db_bench`; a missing key has a dot appended.
#[must_use]
pub fn name(key: u64) -> String {
    format!("{key:016}")
}

/// Operations of one benchmark.
pub struct DbBench {
    bench: Bench,
    records: u64,
    operations: u64,
    value_bytes: u32,
    count: u64,
    random: Stream,
}

impl DbBench {
    /// Creates `operations` of `bench` over `records` keys, at least 1.
    ///
    /// # Errors
    /// There are no keys.
    pub fn new(
        bench: Bench,
        records: u64,
        operations: u64,
        value_bytes: u32,
        seed: u64,
    ) -> Result<DbBench, SourceError> {
        if records == 0 {
            return Err(SourceError("db_bench: expected at least one record".to_owned()));
        }
        let random = Stream::new(seed, "db_bench");
        Ok(DbBench { bench, records, operations, value_bytes, count: 0, random })
    }
}

impl Iterator for DbBench {
    type Item = KeyRequest;

    fn next(&mut self) -> Option<KeyRequest> {
        if self.count == self.operations {
            return None;
        }
        let index = self.count;
        self.count += 1;
        let request = |op, key| KeyRequest::new(op, key, self.value_bytes);
        let records = self.records;
        Some(match self.bench {
            Bench::FillSeq => request(KeyOp::Update, index % records),
            Bench::FillRandom | Bench::Overwrite => {
                let key = self.random.below(records);
                request(KeyOp::Update, key)
            }
            Bench::ReadSeq => {
                self.count = self.operations;
                KeyRequest {
                    scan: u32::try_from(records).unwrap_or(u32::MAX),
                    ..request(KeyOp::Scan, 0)
                }
            }
            Bench::ReadRandom | Bench::ReadMissing => {
                request(KeyOp::Read, self.random.below(records))
            }
            Bench::ReadHot => {
                let key = self.random.below(records.div_ceil(100));
                request(KeyOp::Read, key)
            }
            Bench::SeekRandom => {
                let key = self.random.below(records);
                KeyRequest { scan: 1, ..request(KeyOp::Scan, key) }
            }
            Bench::DeleteSeq => request(KeyOp::Delete, index % records),
            Bench::DeleteRandom => request(KeyOp::Delete, self.random.below(records)),
        })
    }
}
