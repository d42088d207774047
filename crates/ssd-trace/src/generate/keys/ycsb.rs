//! YCSB's core workloads as its program draws them: Cooper, Silberstein, Tam, Ramakrishnan, Sears, "Benchmarking Cloud
//! Serving Systems with YCSB", `SoCC` 2010.
//!
//! An update writes the whole value here, of 1000 bytes by default (ten fields of 100).

use super::zipfian::THETA;
use super::{KeyOp, KeyRequest, Zipfian, fnv64};
use ssd_core::host::source::SourceError;
use ssd_core::rng::Stream;

/// Range of the scrambled distribution before hashing, and its zeta at 0.99.
const SCRAMBLED: (u64, f64) = (10_000_000_000, 26.469_028_201_783_02);
/// Keys in the longest scan.
const SCAN: u64 = 100;

/// The load phase and the core workloads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Inserts every record once.
    Load,
    /// Half reads, half updates.
    A,
    /// 95 % reads, 5 % updates.
    B,
    /// Reads only.
    C,
    /// 95 % reads of the latest records, 5 % inserts.
    D,
    /// 95 % scans, 5 % inserts.
    E,
    /// Half reads, half read-modify-writes of one record.
    F,
}

impl Phase {
    /// Returns the phase called `name` ("load", "a" to "f").
    ///
    /// # Errors
    /// There is no such phase.
    pub fn named(name: &str) -> Result<Phase, SourceError> {
        Ok(match name.to_ascii_lowercase().as_str() {
            "load" => Phase::Load,
            "a" => Phase::A,
            "b" => Phase::B,
            "c" => Phase::C,
            "d" => Phase::D,
            "e" => Phase::E,
            "f" => Phase::F,
            _ => {
                let text = format!("no YCSB workload {name:?}; expected load or a to f");
                return Err(SourceError(text));
            }
        })
    }

    /// Returns the operations with their shares; the last one gets the rest.
    fn mix(self) -> &'static [(KeyOp, f64)] {
        use KeyOp::{Insert, Read, ReadModifyWrite, Scan, Update};
        match self {
            Phase::Load => &[(Insert, 1.0)],
            Phase::A => &[(Read, 0.5), (Update, 0.5)],
            Phase::B => &[(Read, 0.95), (Update, 0.05)],
            Phase::C => &[(Read, 1.0)],
            Phase::D => &[(Read, 0.95), (Insert, 0.05)],
            Phase::E => &[(Scan, 0.95), (Insert, 0.05)],
            Phase::F => &[(Read, 0.5), (ReadModifyWrite, 0.5)],
        }
    }
}

/// Distribution of keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keys {
    /// Zipf, with hot keys spread over all keys.
    Zipfian,
    /// Zipf over age; the newest key is the most likely.
    Latest,
    /// All keys are equally likely.
    Uniform,
}

impl Keys {
    /// Returns the distribution called `name` ("zipfian", "latest", "uniform").
    ///
    /// # Errors
    /// There is no such choice.
    pub fn named(name: &str) -> Result<Keys, SourceError> {
        Ok(match name {
            "zipfian" => Keys::Zipfian,
            "latest" => Keys::Latest,
            "uniform" => Keys::Uniform,
            _ => {
                let text = format!("no choice of keys {name:?}; expected zipfian, latest, uniform");
                return Err(SourceError(text));
            }
        })
    }
}

/// Returns the key with this number in the notation of YCSB, whose inserts come in hashed order.
#[must_use]
pub fn name(key: u64) -> String {
    // YCSB uses Java's absolute value of a 64-bit integer.
    format!("user{}", fnv64(key).cast_signed().unsigned_abs())
}

/// Operations of one phase.
pub struct Ycsb {
    phase: Phase,
    keys: Keys,
    value_bytes: u32,
    /// Records inserted so far; all lower keys exist.
    records: u64,
    /// Range of keys of the scrambled distribution.
    space: u64,
    zipfian: Zipfian,
    operations: u64,
    count: u64,
    random: Stream,
}

impl Ycsb {
    /// Creates `operations` of `phase` on a store of `records` (Load: that many inserts, at least 1).
    ///
    /// # Errors
    /// There are no records.
    pub fn new(
        phase: Phase,
        keys: Option<Keys>,
        records: u64,
        operations: u64,
        value_bytes: u32,
        seed: u64,
    ) -> Result<Ycsb, SourceError> {
        if records == 0 {
            return Err(SourceError("YCSB: expected at least one record".to_owned()));
        }
        let keys = keys.unwrap_or(if phase == Phase::D { Keys::Latest } else { Keys::Zipfian });
        let load = phase == Phase::Load;
        let inserts: f64 =
            phase.mix().iter().filter(|entry| entry.0 == KeyOp::Insert).map(|entry| entry.1).sum();
        let zipfian = match keys {
            Keys::Zipfian => Zipfian::with_zeta(SCRAMBLED.0, THETA, SCRAMBLED.1),
            Keys::Latest => Zipfian::new(records, THETA),
            Keys::Uniform => Zipfian::new(1, THETA),
        };
        Ok(Ycsb {
            phase,
            keys,
            value_bytes,
            records: if load { 0 } else { records },
            space: records + (operations as f64 * inserts * 2.0) as u64,
            zipfian,
            operations: if load { records } else { operations },
            count: 0,
            random: Stream::new(seed, "ycsb"),
        })
    }

    /// Draws a key that exists.
    fn key(&mut self) -> u64 {
        match self.keys {
            Keys::Uniform => self.random.below(self.records),
            Keys::Latest => {
                self.zipfian.grow(self.records);
                self.records - 1 - self.zipfian.draw(&mut self.random)
            }
            Keys::Zipfian => loop {
                let drawn = fnv64(self.zipfian.draw(&mut self.random));
                let key = drawn.cast_signed().unsigned_abs() % self.space;
                if key < self.records {
                    break key;
                }
            },
        }
    }
}

impl Iterator for Ycsb {
    type Item = KeyRequest;

    fn next(&mut self) -> Option<KeyRequest> {
        if self.count == self.operations {
            return None;
        }
        self.count += 1;
        let mix = self.phase.mix();
        let mut draw = if mix.len() == 1 { 0.0 } else { self.random.unit() };
        let mut op = mix[mix.len() - 1].0;
        for &(candidate, share) in mix {
            if draw < share {
                op = candidate;
                break;
            }
            draw -= share;
        }
        if op == KeyOp::Insert {
            self.records += 1;
            return Some(KeyRequest::new(op, self.records - 1, self.value_bytes));
        }
        let key = self.key();
        let mut request = KeyRequest::new(op, key, self.value_bytes);
        if op == KeyOp::Scan {
            request.scan = 1 + self.random.below(SCAN) as u32;
        }
        Some(request)
    }
}
