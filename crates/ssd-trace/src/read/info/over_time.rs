//! Requests over time, and pages over time and address: counts in a bounded number of bins.
//!
//! The span of a trace and its addresses are known only at its end. Bins start as small as possible, and neighbours are
//! merged whenever a request lies outside of all bins. Bins are aligned (to the first arrival, and to address 0), so a
//! merged bin has exactly the counts of its parts, in any order of addresses.

use serde::Serialize;
use ssd_core::host::request::Op;
use std::ops::RangeInclusive;

/// Maximum number of bins of the rate, about the pixels of a plot.
const RATE_BINS: usize = 512;
/// Maximum number of columns (bins of time) of the map.
const COLUMNS: usize = 128;
/// Maximum number of rows (bins of addresses) of the map.
const ROWS: u64 = 64;
/// 5^9 ns, 1.95 ms. Shorter bins are powers of 5, longer ones are this times a power of 2: whole fractions and whole
/// multiples of a second.
const FINE_NS: u64 = 1_953_125;

/// Requests in bins of time.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Rate {
    pub(crate) bin_ns: u64,
    pub(crate) reads: Vec<u64>,
    pub(crate) writes: Vec<u64>,
    pub(crate) trims: Vec<u64>,
    pub(crate) others: Vec<u64>,
}

/// Pages in bins of time and address.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct AddressMap {
    pub(crate) bin_ns: u64,
    pub(crate) bin_pages: u64,
    pub(crate) first_page: u64,
    pub(crate) reads: Vec<Vec<u64>>,
    pub(crate) writes: Vec<Vec<u64>>,
}

/// Counts of a bin of time.
trait Counts {
    /// Returns counts of 0.
    fn none() -> Self;
    /// Adds the counts of a neighbour.
    fn merge(&mut self, other: &Self);
}

/// Bins of time, from the first arrival to the last.
struct Bins<T> {
    /// Length of a bin, nanoseconds.
    width: u64,
    most: usize,
    bins: Vec<T>,
    /// The last used bin, and its start. Most requests arrive in the bin of the previous request.
    last: usize,
    begins: u64,
}

impl<T: Counts> Bins<T> {
    fn new(most: usize) -> Bins<T> {
        assert!(most > 1, "one bin has no neighbour to be merged with");
        Bins { width: 1, most, bins: Vec::new(), last: 0, begins: 0 }
    }

    /// Returns the bin of a request `after` nanoseconds after the first.
    #[inline]
    fn at(&mut self, after: u64) -> &mut T {
        if after.wrapping_sub(self.begins) >= self.width || self.bins.is_empty() {
            self.find(after);
        }
        &mut self.bins[self.last]
    }

    fn find(&mut self, after: u64) {
        while after / self.width >= self.most as u64 {
            let parts: u64 = if self.width < FINE_NS { 5 } else { 2 };
            let groups = self.bins.chunks(parts as usize);
            self.bins = groups.map(|group| sum(group)).collect();
            self.width *= parts;
        }
        let at = (after / self.width) as usize;
        while self.bins.len() <= at {
            self.bins.push(T::none());
        }
        (self.last, self.begins) = (at, at as u64 * self.width);
    }
}

fn sum<T: Counts>(group: &[T]) -> T {
    let mut sum = T::none();
    group.iter().for_each(|part| sum.merge(part));
    sum
}

/// Reads, writes, discards, and others.
impl Counts for [u64; 4] {
    fn none() -> Self {
        [0; 4]
    }
    fn merge(&mut self, other: &Self) {
        self.iter_mut().zip(other).for_each(|(count, more)| *count += more);
    }
}

/// Pages read and written by row; a row is stored at its number modulo [`ROWS`].
struct Column(Box<[[u64; 2]; ROWS as usize]>);

impl Counts for Column {
    fn none() -> Self {
        Column(Box::new([[0; 2]; ROWS as usize]))
    }
    fn merge(&mut self, other: &Self) {
        for (cell, more) in self.0.iter_mut().zip(other.0.iter()) {
            cell[0] += more[0];
            cell[1] += more[1];
        }
    }
}

/// Counts the requests and pages of a trace.
pub(super) struct ActivityCollector {
    rate: Bins<[u64; 4]>,
    map: Bins<Column>,
    /// Binary logarithm of the pages of a row.
    bin_shift: u32,
    /// Numbers of the lowest and the highest row, if any.
    rows: Option<(u64, u64)>,
}

impl Default for ActivityCollector {
    fn default() -> ActivityCollector {
        ActivityCollector {
            rate: Bins::new(RATE_BINS),
            map: Bins::new(COLUMNS),
            bin_shift: 0,
            rows: None,
        }
    }
}

impl ActivityCollector {
    /// Counts a request that arrives `after` nanoseconds after the first.
    pub(super) fn add(&mut self, after: u64, op: Op) {
        self.rate.at(after)[kind(op)] += 1;
    }

    /// Counts the pages that a read or write touches.
    pub(super) fn touch(&mut self, after: u64, op: Op, pages: RangeInclusive<u64>) {
        let (first, last) = pages.into_inner();
        assert!(first <= last, "a request touches at least one page");
        assert!(matches!(op, Op::Read | Op::Write), "only reads and writes are mapped");
        self.hold(first, last);
        let (shift, width) = (self.bin_shift, 1u64 << self.bin_shift);
        let column = &mut self.map.at(after).0;
        for row in first >> shift..=last >> shift {
            let from = first.max(row << shift);
            let until = last.min((row << shift) + (width - 1));
            column[(row % ROWS) as usize][kind(op)] += until - from + 1;
        }
    }

    /// Merges rows until there are at most [`ROWS`], including those of the pages `first` to `last`.
    fn hold(&mut self, first: u64, last: u64) {
        loop {
            let (a, b) = (first >> self.bin_shift, last >> self.bin_shift);
            let (low, high) = self.rows.map_or((a, b), |(low, high)| (low.min(a), high.max(b)));
            if high - low < ROWS {
                self.rows = Some((low, high));
                return;
            }
            if let Some((low, high)) = self.rows {
                self.map.bins.iter_mut().for_each(|column| column.halve(low, high));
                self.rows = Some((low / 2, high / 2));
            }
            self.bin_shift += 1;
        }
    }

    /// Returns the counts over time, and over time and address.
    pub(super) fn finish(self) -> (Rate, AddressMap) {
        let rates = &self.rate.bins;
        let of_kind = |kind: usize| rates.iter().map(|counts| counts[kind]).collect();
        let rate = Rate {
            bin_ns: self.rate.width,
            reads: of_kind(0),
            writes: of_kind(1),
            trims: of_kind(2),
            others: of_kind(3),
        };
        let (low, rows) = self.rows.map_or((0, 0..0), |(low, high)| (low, low..high + 1));
        let columns = &self.map.bins;
        let of_kind = |kind: usize| {
            let row =
                |row| columns.iter().map(|column| column.0[(row % ROWS) as usize][kind]).collect();
            rows.clone().map(row).collect()
        };
        let map = AddressMap {
            bin_ns: self.map.width,
            bin_pages: 1 << self.bin_shift,
            first_page: low << self.bin_shift,
            reads: of_kind(0),
            writes: of_kind(1),
        };
        (rate, map)
    }
}

impl Column {
    /// Merges the rows `low` to `high` in pairs.
    fn halve(&mut self, low: u64, high: u64) {
        let before = std::mem::replace(self, Column::none());
        for row in low..=high {
            let cell = before.0[(row % ROWS) as usize];
            let into = &mut self.0[(row / 2 % ROWS) as usize];
            into[0] += cell[0];
            into[1] += cell[1];
        }
    }
}

const fn kind(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Trim => 2,
        Op::Flush | Op::Copy => 3,
    }
}
