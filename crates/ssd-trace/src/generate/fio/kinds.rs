//! What the options of a job choose from.

use super::value::Amount;

/// Reads, writes and trims of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mix {
    Read,
    Write,
    Trim,
    /// Reads by `rwmixread`, else writes.
    ReadWrite,
    /// Each block is trimmed, then written.
    TrimWrite,
}

impl Mix {
    /// Which of reads, writes and trims it has sizes and places of.
    pub(super) fn used(self) -> &'static [usize] {
        match self {
            Mix::Read => &[0],
            Mix::Write => &[1],
            Mix::Trim | Mix::TrimWrite => &[2],
            Mix::ReadWrite => &[0, 1],
        }
    }
}

/// Where random requests go.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Distribution {
    Uniform,
    /// Exponent, and where the most frequent block lies, as a share of the space.
    Zipf(f64, Option<f64>),
    /// As `Zipf`.
    Pareto(f64, Option<f64>),
    /// Standard deviation, as a share of the space; as `Zipf`.
    Normal(f64, Option<f64>),
    /// Of reads, writes and trims: shares of the accesses, each with its space.
    Zoned([Vec<(f64, Amount)>; 3]),
}

/// Which requests of a random job go to a new place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sequencer {
    /// Between two new places, requests continue where the last one ended.
    Sequential,
    /// They go to the place of the last one.
    Identical,
}

/// `zonemode=strided`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Strides {
    pub(super) on: bool,
    /// Bytes of requests in a zone, bytes of a zone (0: the same), bytes between two.
    pub(super) size: u64,
    pub(super) range: u64,
    pub(super) skip: u64,
}

/// Lengths of requests.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Sizes {
    /// All have this many bytes.
    Same(u64),
    /// Multiples of the smallest, up to the largest.
    Range(u64, u64),
    /// Bytes, with shares that sum to 1.
    Split(Vec<(u64, f64)>),
}

impl Sizes {
    pub(super) fn smallest(&self) -> u64 {
        match self {
            Sizes::Same(bytes) | Sizes::Range(bytes, _) => *bytes,
            Sizes::Split(all) => all.iter().map(|size| size.0).min().expect("a size"),
        }
    }

    pub(super) fn largest(&self) -> u64 {
        match self {
            Sizes::Same(bytes) | Sizes::Range(_, bytes) => *bytes,
            Sizes::Split(all) => all.iter().map(|size| size.0).max().expect("a size"),
        }
    }
}

/// Which jobs end with a job that has `exitall`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ExitWhat {
    Group,
    /// Those that run.
    Stonewall,
    All,
}

/// Whether an option could be set, else what was expected; `None`: it is of another kind.
pub(super) type Set = Option<Result<(), &'static str>>;
