//! Values that the options of a job select.

use super::value::Amount;

/// Reads, writes and trims of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mix {
    Read,
    Write,
    Trim,
    /// Reads with probability `rwmixread`, else writes.
    ReadWrite,
    /// Each block is trimmed, then written.
    TrimWrite,
}

impl Mix {
    /// Returns the operations, of reads, writes and trims, that have sizes and places.
    pub(super) fn used(self) -> &'static [usize] {
        match self {
            Mix::Read => &[0],
            Mix::Write => &[1],
            Mix::Trim | Mix::TrimWrite => &[2],
            Mix::ReadWrite => &[0, 1],
        }
    }
}

/// Distribution of random requests over the space.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Distribution {
    Uniform,
    /// Exponent, and the position of the most frequent block as a share of the space.
    Zipf(f64, Option<f64>),
    /// The parameter h, and the position as in `Zipf`.
    Pareto(f64, Option<f64>),
    /// Standard deviation as a share of the space, and position as in `Zipf`.
    Normal(f64, Option<f64>),
    /// For reads, writes and trims: shares of the accesses, each with its space.
    Zoned([Vec<(f64, Amount)>; 3]),
}

/// Where a random job continues between two new places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sequencer {
    /// Requests continue where the last one ended.
    Sequential,
    /// Requests repeat the place of the last one.
    Identical,
}

/// `zonemode=strided`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Strides {
    pub(super) on: bool,
    /// Bytes of requests in a zone, bytes of a zone (0: the same), bytes skipped between zones.
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
            Sizes::Split(sizes) => sizes.iter().map(|size| size.0).min().expect("a size"),
        }
    }

    pub(super) fn largest(&self) -> u64 {
        match self {
            Sizes::Same(bytes) | Sizes::Range(_, bytes) => *bytes,
            Sizes::Split(sizes) => sizes.iter().map(|size| size.0).max().expect("a size"),
        }
    }
}

/// Which jobs end with a job that has `exitall`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ExitScope {
    Group,
    /// Jobs that are running.
    Stonewall,
    All,
}

/// Whether an option was set, else the expected value; `None`: the option is of another kind.
pub(super) type SetResult = Option<Result<(), &'static str>>;
