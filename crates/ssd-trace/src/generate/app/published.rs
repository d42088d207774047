//! Models of applications from the statistics that papers published of their traces.
//!
//! - *adaptive-channel* gives shares of operations and of sequential requests (table 4) and mean sizes of all and of
//!   sequential requests (table 5), for each operation. They determine the mean of random requests, which is 4.0 KiB in
//!   most cases: a single block. Where it is lower (MongoDB's writes 3.8 KiB, RocksDB's and Cassandra's reads 3.9 and
//!   3.7 KiB), some requests have half a block.
//! - *invalidation-rate* and *noc-copyback* give shares of reads and writes, one share of sequential requests, and mean
//!   sizes (table 3 of each). They do not count deletes. Assumed here: sequential shares of reads and writes have the
//!   ratio of adaptive-channel, random requests are single blocks, and the journal has the share of adaptive-channel.
//! - The journal's share of the writes is from table 3 of adaptive-channel.
//! - "n/a" in a table counts as 0.
//! - Arrival patterns are from noc-copyback, section 4.2 (Cassandra: steady reads, surges of writes; MongoDB: active
//!   and idle phases; SQLite: static; MySQL, `RocksDB`, Dbench: dynamic). Varmail is in no table: steady.

use super::deck::BLOCK_BYTES;
use super::model::{Habits, Model, NAMES, Pace, SETS, Shape};
use crate::papers::{ADAPTIVE_CHANNEL, Column, INVALIDATION_RATE, NOC_COPYBACK, Paper};
use ssd_core::host::source::SourceError;

const KIB: f64 = 1024.0;

impl Model {
    /// Returns the application `name` with the numbers of `set`; see [`NAMES`] and [`SETS`].
    ///
    /// # Errors
    /// There is no such application or set, or the set has no numbers for it.
    pub fn published(name: &str, set: &str) -> Result<Model, SourceError> {
        let unknown = |noun: &str, word: &str, names: &[&str]| {
            Err(SourceError(format!(
                "{noun} {word:?} is not known; there are: {}",
                names.join(", ")
            )))
        };
        if !NAMES.contains(&name) {
            return unknown("application", name, &NAMES);
        }
        if !SETS.contains(&set) {
            return unknown("parameter set", set, &SETS);
        }
        let Some(shapes) = shapes(name, set) else {
            let sets: Vec<&str> =
                SETS.into_iter().filter(|candidate| shapes(name, candidate).is_some()).collect();
            return Err(SourceError(format!(
                "the set {set} has no numbers for {name}; there are some in: {}",
                sets.join(", ")
            )));
        };
        let journal = column(&ADAPTIVE_CHANNEL, "table3_file_types_percent", name);
        Model {
            name: format!("{name} ({set})"),
            shapes,
            journal: journal.map_or(0.0, |column| column.number("journal") / 100.0),
            pace: pace(name),
            habits: Habits::USUAL,
        }
        .checked()
    }
}

fn shapes(name: &str, set: &str) -> Option<[Shape; 3]> {
    match set {
        "adaptive-channel" => full(name),
        "invalidation-rate" => brief(&INVALIDATION_RATE, name),
        _ => brief(&NOC_COPYBACK, name),
    }
}

fn pace(name: &str) -> Pace {
    match name {
        "cassandra" => Pace::WriteSpikes,
        "mongodb" => Pace::Periodic,
        "mysql" | "rocksdb" | "dbench" => Pace::Dynamic,
        _ => Pace::Steady,
    }
}

/// Returns the column of one application in a table.
fn column(paper: &'static Paper, table: &str, name: &str) -> Option<Column> {
    Column::of(paper, table, "workloads", name)
}

/// Returns the shapes from a set with sequential shares and sizes for each operation.
fn full(name: &str) -> Option<[Shape; 3]> {
    let shares = column(&ADAPTIVE_CHANNEL, "table4_operations_percent", name)?;
    let sizes = shares.beside("table5_mean_size_kib");
    Some(["read", "write", "delete"].map(|op| {
        let follower = format!("sequential_{op}");
        let sequential = shares.number(&follower) / 100.0;
        let (mean, followers) = (sizes.number(op) * KIB, sizes.number(&follower) * KIB);
        Shape {
            share: shares.number(op) / 100.0,
            sequential,
            sequential_bytes: followers,
            random_bytes: (mean - sequential * followers) / (1.0 - sequential),
        }
    }))
}

/// Returns the shapes from a set with a single sequential share.
fn brief(paper: &'static Paper, name: &str) -> Option<[Shape; 3]> {
    let column = column(paper, "table3_traces", name)?;
    let full_shapes = full(name)?;
    let shares = ["read_percent", "write_percent"].map(|key| column.number(key) / 100.0);
    let sequential = column.number("sequential_percent") / 100.0;
    let expected = shares[0] * full_shapes[0].sequential + shares[1] * full_shapes[1].sequential;
    let block = BLOCK_BYTES as f64;
    let shape = |op: usize, key: &str| {
        let sequential = full_shapes[op].sequential * sequential / expected;
        let mean = column.number(key) * KIB;
        let sequential_bytes =
            if sequential > 0.0 { (mean - (1.0 - sequential) * block) / sequential } else { 0.0 };
        Shape { share: shares[op], sequential, sequential_bytes, random_bytes: block }
    };
    let none = Shape { share: 0.0, sequential: 0.0, sequential_bytes: 0.0, random_bytes: block };
    Some([shape(0, "mean_read_kib"), shape(1, "mean_write_kib"), none])
}
