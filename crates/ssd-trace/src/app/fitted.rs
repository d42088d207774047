//! A model made to a recorded trace: the same statistics, other requests.

use super::model::{Model, Pace, Shape};
use super::{CYCLE, OPS};
use ssd_core::host::request::{Op, SourceError, TimedRequest};
use ssd_core::units::SECTOR_BYTES;
use std::ops::Range;

/// Parts of a cycle by which it is told when requests arrive: 16 requests each in the mean, so that one
/// of a steady stream is almost never empty.
const SLICES: usize = 64;
/// A stream that is active in more of its cycle than this has no pauses to speak of.
const BUSY: f64 = 0.8;

/// Sees the requests of a trace, in order, and makes a model of them.
#[derive(Default)]
pub struct Fitted {
    /// Of reads, writes, deletes: requests and sectors, random and sequential ones.
    counts: [[u64; 2]; 3],
    sectors: [[u64; 2]; 3],
    ends: [Option<u64>; 3],
    journal: Vec<Range<u64>>,
    journaled: u64,
    /// The cycle that is being seen: arrival and whether it is a read; and the end of the one before.
    cycle: Vec<(u64, bool)>,
    began: Option<u64>,
    /// Of each cycle: share of the slices in which requests, reads, others arrived.
    active: Vec<[f64; 3]>,
}

impl Fitted {
    /// For a trace whose journal lies in these sectors.
    #[must_use]
    pub fn new(journal: Vec<Range<u64>>) -> Fitted {
        Fitted { journal, ..Fitted::default() }
    }

    /// The next request. Flushes are left out.
    pub fn see(&mut self, at: &TimedRequest) {
        let request = &at.request;
        let Some(op) = OPS.iter().position(|&op| op == request.op) else { return };
        let kind = usize::from(self.ends[op] == Some(request.sector));
        self.ends[op] = request.sector.checked_add(u64::from(request.sectors));
        self.counts[op][kind] += 1;
        self.sectors[op][kind] += u64::from(request.sectors);
        let journals = self.journal.iter().any(|range| range.contains(&request.sector));
        self.journaled += u64::from(request.op == Op::Write && journals);
        self.cycle.push((at.at.0, request.op == Op::Read));
        if self.cycle.len() as u64 == CYCLE {
            // A pause before the first request belongs to the cycle.
            let began = self.began.unwrap_or(self.cycle[0].0);
            self.began = Some(at.at.0);
            self.active.extend(activity(began, &self.cycle));
            self.cycle.clear();
        }
    }

    /// The model.
    ///
    /// # Errors
    /// The trace has no request, or some that a model cannot make.
    pub fn model(&self, name: &str) -> Result<Model, SourceError> {
        let all: u64 = self.counts.iter().flatten().sum();
        if all == 0 {
            return Err(SourceError(format!("{name}: no request to make a model of")));
        }
        let shapes = [0, 1, 2].map(|op| {
            let (counts, sectors) = (self.counts[op], self.sectors[op]);
            let mean = |kind: usize| match counts[kind] {
                0 => 0.0,
                n => (sectors[kind] * SECTOR_BYTES) as f64 / n as f64,
            };
            let made = counts[0] + counts[1];
            Shape {
                share: made as f64 / all as f64,
                sequential: if made == 0 { 0.0 } else { counts[1] as f64 / made as f64 },
                sequential_bytes: mean(1),
                random_bytes: mean(0),
            }
        });
        let writes: u64 = self.counts[1].iter().sum();
        let journal = if writes == 0 { 0.0 } else { self.journaled as f64 / writes as f64 };
        Model { name: name.to_owned(), shapes, journal, pace: self.pace() }.checked()
    }

    fn pace(&self) -> Pace {
        let n = self.active.len() as f64;
        let mean = |which: usize| self.active.iter().map(|part| part[which]).sum::<f64>() / n;
        // Too short to tell.
        if self.active.is_empty() || mean(0) > BUSY && mean(2) > BUSY {
            return Pace::Steady;
        }
        if mean(1) > BUSY {
            return Pace::WriteSpikes;
        }
        let spread = self.active.iter().map(|part| (part[0] - mean(0)) * (part[0] - mean(0)));
        if spread.sum::<f64>() / n < 0.01 { Pace::Periodic } else { Pace::Dynamic }
    }
}

/// Shares of the slices of a cycle from `first` on with requests, with reads, with others; of the slices
/// that could have some. None for a cycle at one instant.
fn activity(first: u64, cycle: &[(u64, bool)]) -> Option<[f64; 3]> {
    let length = cycle.last()?.0.checked_sub(first).filter(|&length| length > 0)?;
    let mut seen = [[false; SLICES]; 3];
    let mut counts = [0usize; 3];
    for &(at, read) in cycle {
        let slice = (u128::from(at - first) * SLICES as u128 / (u128::from(length) + 1)) as usize;
        for kind in [0, if read { 1 } else { 2 }] {
            seen[kind][slice] = true;
            counts[kind] += 1;
        }
    }
    // Few requests cannot be in many slices.
    Some([0, 1, 2].map(|kind| {
        let hit = seen[kind].iter().filter(|&&hit| hit).count();
        hit as f64 / expected(counts[kind]).max(1.0)
    }))
}

/// Slices that `n` requests at uniformly random times hit in the mean.
fn expected(n: usize) -> f64 {
    let slices = SLICES as f64;
    slices * (1.0 - libm::pow(1.0 - 1.0 / slices, n as f64))
}
