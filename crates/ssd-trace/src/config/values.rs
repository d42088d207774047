//! Values of keys of `[workload]` that have several parts.

use super::words::*;
use serde::{Deserialize, Serialize};

/// `workload.volume`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum VolumeKey {
    /// The volume with this number.
    One(u64),
    /// All volumes.
    Every(AllVolumes),
}

/// The word of [`VolumeKey::Every`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AllVolumes {
    /// Each volume is a tenant.
    All,
}

/// One request size.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct SizeShare {
    /// Bytes, a multiple of 512.
    pub bytes: u32,
    /// Weight, above 0.
    pub weight: f64,
}

/// `workload.arrival`
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Arrival {
    /// The arrival process.
    pub kind: ArrivalKind,
    /// Mean time between arrivals, nanoseconds (within a burst for `bursty`).
    pub interval_ns: u64,
    /// Requests in a burst (`bursty`), at least 1.
    pub burst: u32,
    /// Pause between bursts, nanoseconds (`bursty`).
    pub pause_ns: u64,
}

impl Default for Arrival {
    fn default() -> Arrival {
        Arrival { kind: ArrivalKind::Poisson, interval_ns: 100_000, burst: 1, pause_ns: 0 }
    }
}

/// Values of the keys of a pattern; `table` defines each key.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PatternKeys {
    /// `workload.short_gaps`
    pub short_gaps: f64,
    /// `workload.gap_cv`
    pub gap_cv: f64,
    /// `workload.train_gap`
    pub train_gap_ns: u64,
    /// `workload.train_cv`
    pub train_cv: f64,
    /// `workload.same_size`
    pub same_size: f64,
    /// `workload.sequential_writes`
    pub sequential_writes: f64,
    /// `workload.read_recent`
    pub read_recent: f64,
}

impl PatternKeys {
    /// `workload.pattern = "independent"`: every request is independent of the others.
    pub const INDEPENDENT: PatternKeys = PatternKeys {
        short_gaps: 0.0,
        gap_cv: 1.0,
        train_gap_ns: 50_000,
        train_cv: 1.0,
        same_size: 0.0,
        sequential_writes: 0.0,
        read_recent: 0.0,
    };
    /// `workload.pattern = "msr-sample"`: measured with `ssdlab trace info` on 10,000 requests of an MSR volume in
    /// Heimdall's artifact (243 s; 80 % writes of 6.2 KiB on average). The artifact does not name the volume. The mean
    /// gap and the sizes of the sample are not used.
    pub const MSR_SAMPLE: PatternKeys = PatternKeys {
        short_gaps: 0.797,
        gap_cv: 3.38,
        train_gap_ns: 48_200,
        train_cv: 1.23,
        same_size: 0.658,
        sequential_writes: 0.035,
        read_recent: 0.286,
    };
}
