//! The load of an application on a volume, in numbers.

use crate::config::{CYCLE, TABLE_SKEW};
use ssd_core::host::source::SourceError;
use ssd_core::units::SECTOR_BYTES;

/// The applications.
pub const NAMES: [&str; 7] =
    ["cassandra", "mongodb", "mysql", "rocksdb", "sqlite", "dbench", "varmail"];

/// The parameter sets, named after the papers that published them.
pub const SETS: [&str; 3] = ["adaptive-channel", "invalidation-rate", "noc-copyback"];

/// Requests of one operation type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shape {
    /// Share of all requests, 0 to 1.
    pub share: f64,
    /// Share of these that begin where the previous request of the same operation ended.
    pub sequential: f64,
    /// Mean size of sequential requests, bytes.
    pub sequential_bytes: f64,
    /// Mean size of the other requests, bytes.
    pub random_bytes: f64,
}

/// Arrival of requests within cycles of equal length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// Throughout the cycle.
    Steady,
    /// In the first half of each cycle only.
    Periodic,
    /// In a part of each cycle, between a fiftieth and all of it.
    Dynamic,
    /// Reads throughout, writes and deletes in a twentieth of each cycle.
    WriteSpikes,
}

/// An application.
#[derive(Clone, PartialEq, Debug)]
pub struct Model {
    /// Its name, for messages.
    pub name: String,
    /// Reads, writes, deletes (TRIMs); their shares sum to 1.
    pub shapes: [Shape; 3],
    /// Share of the writes that go to a journal.
    pub journal: f64,
    /// Arrival pattern.
    pub pace: Pace,
    /// Parameters without published numbers.
    pub habits: Habits,
}

/// Parameters without published numbers, which a configuration may change.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Habits {
    /// Requests per cycle of arrivals, at least 1.
    pub cycle: u64,
    /// Writes by which the journal may be ahead of or behind its share.
    pub journal_run: u64,
    /// Zipf exponent of the overwrites of tables.
    pub table_skew: f64,
}

impl Habits {
    /// A cycle lasts about a second at a thousand requests per second; journal and data alternate; the Zipf exponent is
    /// that of YCSB.
    pub const USUAL: Habits = Habits { cycle: CYCLE, journal_run: 0, table_skew: TABLE_SKEW };
}

impl Model {
    /// Returns the model if its numbers can be met together.
    ///
    /// # Errors
    /// Names the number that cannot be met, and why.
    pub fn checked(self) -> Result<Model, SourceError> {
        let fail =
            |message: String| Err(SourceError(format!("application {}: {message}", self.name)));
        let total: f64 = self.shapes.iter().map(|shape| shape.share).sum();
        if (total - 1.0).abs() > 1e-3 {
            return fail(format!(
                "the shares of reads, writes and deletes sum to {total:.4}, not to 1"
            ));
        }
        if self.habits.cycle == 0 {
            return fail("a cycle of arrivals has no requests".to_string());
        }
        if !(0.0..=1.0).contains(&self.journal) {
            return fail(format!("the journal's share is {}: expected 0 to 1", self.journal));
        }
        for (shape, op) in self.shapes.iter().zip(["reads", "writes", "deletes"]) {
            for (name, share) in [("share", shape.share), ("sequential share", shape.sequential)] {
                if !(0.0..=1.0).contains(&share) {
                    return fail(format!("the {name} of {op} is {share}: expected 0 to 1"));
                }
            }
            let means = [
                ("sequential", shape.sequential_bytes, shape.sequential > 0.0),
                ("random", shape.random_bytes, shape.sequential < 1.0),
            ];
            for (kind, bytes, used) in means {
                let fits = (SECTOR_BYTES as f64..=(64 << 20) as f64).contains(&bytes);
                if shape.share > 0.0 && used && !fits {
                    return fail(format!(
                        "{kind} {op} have {bytes:.0} bytes in the mean: expected 512 to 64 MiB"
                    ));
                }
            }
        }
        Ok(self)
    }
}
