//! Sequences of requests: sequential runs and repeated records.

use super::ADDRESSED;
use ssd_core::host::request::TimedRequest;
use ssd_core::metrics::histogram::Histogram;
use ssd_core::units::SECTOR_BYTES;

/// Runs of one operation, over all volumes.
pub(super) struct Runs {
    /// Requests that begin at the end of the previous one.
    pub(super) followers: u64,
    pub(super) follower_bytes: u64,
    /// Lengths of runs.
    pub(super) requests: Histogram,
    pub(super) sectors: Histogram,
}

impl Default for Runs {
    fn default() -> Runs {
        let (requests, sectors) = (Histogram::new(), Histogram::new());
        Runs { followers: 0, follower_bytes: 0, requests, sectors }
    }
}

/// The current run of an operation.
#[derive(Clone, Copy)]
struct Run {
    end: u64,
    requests: u64,
    sectors: u64,
}

/// Ends of the last requests of a volume.
#[derive(Default)]
pub(super) struct Order {
    /// Requests that begin at the end of the previous one, regardless of both operations.
    pub(super) any: u64,
    /// Requests that begin at the end of the previous one of the same operation.
    pub(super) same: u64,
    last_end: Option<u64>,
    runs: [Option<Run>; ADDRESSED],
}

impl Order {
    pub(super) fn add(&mut self, runs_by_op: &mut [Runs], op: usize, sector: u64, end: u64) {
        let sectors = end - sector;
        self.any += u64::from(self.last_end == Some(sector));
        self.last_end = Some(end);
        match &mut self.runs[op] {
            Some(run) if run.end == sector => {
                self.same += 1;
                runs_by_op[op].followers += 1;
                runs_by_op[op].follower_bytes += sectors * SECTOR_BYTES;
                *run = Run { end, requests: run.requests + 1, sectors: run.sectors + sectors };
            }
            other => {
                if let Some(run) = other.replace(Run { end, requests: 1, sectors }) {
                    run.record(&mut runs_by_op[op]);
                }
            }
        }
    }

    /// Ends the open runs.
    pub(super) fn end(&mut self, runs_by_op: &mut [Runs]) {
        for (run, runs) in self.runs.iter_mut().zip(runs_by_op) {
            if let Some(run) = run.take() {
                run.record(runs);
            }
        }
    }
}

impl Run {
    fn record(self, runs: &mut Runs) {
        runs.requests.record(self.requests);
        runs.sectors.record(self.sectors);
    }
}

/// Number of earlier requests that are searched for repetitions.
const LOOK_BACK: usize = 64;
/// Maximum distance of a repetition, nanoseconds.
const DOUBLED_WITHIN: u64 = 1_000_000;

/// Size of the hash table of the searched requests.
const PLACES: usize = 1024;

/// What is stored of a searched request.
#[derive(Clone, Copy)]
struct RecentRequest {
    at: u64,
    sector: u64,
    /// Sectors, operation and volume.
    rest: u64,
}

impl RecentRequest {
    /// Returns its index in the hash table; equal requests have the same index.
    fn place(&self) -> usize {
        let mixed = (self.sector ^ self.rest.rotate_left(20)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 54) as usize // The upper ten bits select one of 1024 entries.
    }
}

/// Detects repeated records, as in logs of stacked devices.
pub(super) struct DuplicateDetector {
    pub(super) count: u64,
    /// The last requests: request `n` is at `n` modulo [`LOOK_BACK`].
    recent: [RecentRequest; LOOK_BACK],
    requests: usize,
    /// Number of recent requests per index; at 0 no search is needed.
    places: Box<[u8; PLACES]>,
}

impl Default for DuplicateDetector {
    fn default() -> DuplicateDetector {
        let recent = [RecentRequest { at: 0, sector: 0, rest: 0 }; LOOK_BACK];
        DuplicateDetector { count: 0, recent, requests: 0, places: Box::new([0; PLACES]) }
    }
}

impl DuplicateDetector {
    pub(super) fn add(&mut self, timed: &TimedRequest) {
        let request = timed.request;
        let rest = u64::from(request.sectors) << 32
            | (request.op as u64) << 16
            | u64::from(request.volume);
        let new = RecentRequest { at: timed.at.0, sector: request.sector, rest };
        if self.places[new.place()] > 0 {
            self.count += u64::from(self.repeats(&new));
        }
        let oldest = std::mem::replace(&mut self.recent[self.requests % LOOK_BACK], new);
        if self.requests >= LOOK_BACK {
            self.places[oldest.place()] -= 1;
        }
        self.places[new.place()] += 1;
        self.requests += 1;
    }

    /// Returns whether one of the last requests, less than [`DOUBLED_WITHIN`] earlier, is the same.
    fn repeats(&self, new: &RecentRequest) -> bool {
        let back = 1..=self.requests.min(LOOK_BACK);
        back.map(|back| &self.recent[(self.requests - back) % LOOK_BACK])
            .take_while(|earlier| new.at - earlier.at < DOUBLED_WITHIN)
            .any(|earlier| (earlier.sector, earlier.rest) == (new.sector, new.rest))
    }
}
