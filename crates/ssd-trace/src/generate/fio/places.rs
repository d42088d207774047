//! Addresses of the requests of a job, in bytes from the start of its region.

use super::free::Free;
use super::job::Job;
use super::kinds::{Distribution, Sequencer, Sizes, Strides};
use super::value::Amount;
use crate::generate::synthetic::{Scatter, Zipf};
use ssd_core::host::source::SourceError;
use ssd_core::rng::Stream;

/// Where a request begins, and its limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct StartPosition {
    pub(super) start: u64,
    pub(super) limit: u64,
    /// It takes blocks of the map, and ends at a block that is taken.
    pub(super) mapped: bool,
}

/// Places of the requests of an instance. Arrays are for reads, writes and trims.
pub(super) struct Places {
    bytes: u64,
    smallest: [u64; 3],
    /// Where the last request began and ended.
    last: [(u64, u64); 3],
    order: Order,
    randomness: [f64; 3],
    seek_every: u64,
    /// Requests until the next new place.
    seek_in: u64,
    sequencer: Sequencer,
    step: i64,
    strides: Strides,
    /// First byte of the current zone, and bytes of requests in it so far.
    zone: (u64, u64),
    /// A region that has been visited completely is visited again.
    wraps: bool,
}

enum Order {
    Sequential,
    /// Each block once, in units of the smallest size.
    Map(Free, u64),
    /// Like `Map`, but in the same order each time and without cutting lengths, so requests may overlap.
    Lfsr {
        free: Free,
        unit: u64,
        random: Stream,
        fresh: Stream,
    },
    /// Independent draws.
    Random([Option<RandomPlaces>; 3]),
}

/// Draws over the places for requests of one operation.
struct RandomPlaces {
    /// Places are multiples of this many bytes.
    unit: u64,
    blocks: u64,
    law: Law,
}

enum Law {
    Uniform,
    /// Ranks by a law, scattered over the blocks; `shift` moves the most frequent block to its configured place.
    Ranked {
        rank: Rank,
        scatter: Scatter,
        shift: u64,
    },
    /// Shares of the accesses, each with its first block and its end.
    Zoned(Vec<(f64, u64, u64)>),
}

enum Rank {
    Zipf(Zipf),
    Pareto(f64),
    Normal(f64),
}

impl Places {
    /// Creates the places of `job` in `bytes`; `name` is the name of a stream of random numbers.
    pub(super) fn new(job: &Job, bytes: u64, seed: u64, name: &str) -> Result<Places, String> {
        let smallest = [0, 1, 2].map(|op| job.sizes(op).smallest());
        let unit = job.extremes().0;
        let aligned = job.mix.used().iter().any(|&op| job.align[op].is_some());
        let mapped = job.distribution == Distribution::Uniform && !aligned;
        let order = if !job.random {
            Order::Sequential
        } else if mapped && (job.map || job.lfsr) {
            if bytes / unit > 1 << 34 {
                return Err("too many blocks to visit each once: use norandommap".to_owned());
            }
            let free = Free::new(bytes / unit);
            let fresh = Stream::new(seed, &format!("{name}.lfsr"));
            match job.lfsr {
                false => Order::Map(free, unit),
                true => Order::Lfsr { free, unit, random: fresh.clone(), fresh },
            }
        } else {
            let mut drawn = [None, None, None];
            for &op in job.mix.used() {
                let unit = job.align[op].unwrap_or(smallest[op]);
                drawn[op] =
                    Some(RandomPlaces::new(job, op, unit, (bytes - smallest[op]) / unit + 1)?);
            }
            Order::Random(drawn)
        };
        Ok(Places {
            bytes,
            smallest,
            last: [(0, 0); 3],
            order,
            randomness: job.randomness,
            seek_every: job.seek_every,
            seek_in: 0,
            sequencer: job.sequencer,
            step: job.step,
            strides: job.strides,
            zone: (0, 0),
            wraps: job.time_based,
        })
    }

    /// Marks all places as new.
    pub(super) fn reset(&mut self) {
        self.last = [(0, 0); 3];
        (self.seek_in, self.zone) = (0, (0, 0));
        self.visit_again();
    }

    fn visit_again(&mut self) {
        match &mut self.order {
            Order::Map(free, _) => free.fill(),
            Order::Lfsr { free, random, fresh, .. } => {
                free.fill();
                random.clone_from(fresh);
            }
            Order::Sequential | Order::Random(_) => {}
        }
    }

    /// Returns where the next request of `op` begins; `None` if all places have been visited.
    pub(super) fn next(&mut self, op: usize, random: &mut Stream) -> Option<StartPosition> {
        if matches!(self.order, Order::Sequential) {
            return if self.strides.on { self.in_zone(op) } else { self.sequential(op) };
        }
        let seeks = self.seek_in == 0;
        self.seek_in = if seeks { self.seek_every } else { self.seek_in } - 1;
        let share = self.randomness[op];
        if !seeks && self.sequencer == Sequencer::Identical {
            let start = self.last[op].0;
            return Some(StartPosition { start, limit: self.bytes, mapped: false });
        }
        let continues = !seeks || (share < 1.0 && !random.chance(share));
        let (start, limit) = (self.last[op].1, self.bytes);
        if continues && start + self.smallest[op] <= limit {
            return Some(StartPosition { start, limit, mapped: false });
        }
        self.random(op, random)
    }

    /// Takes the blocks of a request of `op` at `spot`; returns `bytes`, or as many of them as the map has left.
    pub(super) fn take(&mut self, op: usize, spot: StartPosition, bytes: u64) -> u64 {
        let bytes = match &mut self.order {
            // A size that is not a multiple of the smallest takes every block that it touches.
            Order::Map(free, unit) if spot.mapped => {
                bytes.min(free.take(spot.start / *unit, bytes.div_ceil(*unit)) * *unit)
            }
            _ => bytes,
        };
        self.last[op] = (spot.start, spot.start + bytes);
        self.zone.1 += bytes;
        bytes
    }

    fn sequential(&self, op: usize) -> Option<StartPosition> {
        let (end, smallest) = (self.last[op].1, self.smallest[op]);
        let spot = |start| Some(StartPosition { start, limit: self.bytes, mapped: false });
        if end + smallest > self.bytes {
            return if self.wraps { spot(0) } else { None };
        }
        if end == 0 || self.step == 0 {
            return spot(end);
        }
        match end.checked_add_signed(self.step).filter(|start| start + smallest <= self.bytes) {
            Some(start) => spot(start),
            // Beyond one end, the sequence continues at the other.
            None if self.step > 0 => spot(0),
            None => spot(self.bytes - self.step.unsigned_abs()),
        }
    }

    fn in_zone(&mut self, op: usize) -> Option<StartPosition> {
        let Strides { size, range, skip, .. } = self.strides;
        let range = if range == 0 { size } else { range };
        if self.zone.1 >= size {
            self.zone = (self.zone.0 + range + skip, 0);
            self.last[op].1 = self.zone.0;
        }
        if self.zone.0 + self.smallest[op] > self.bytes {
            self.zone = (0, 0);
            self.last[op].1 = 0;
        }
        let limit = (self.zone.0 + range).min(self.bytes);
        if self.last[op].1 + self.smallest[op] > limit {
            self.last[op].1 = self.zone.0;
        }
        Some(StartPosition { start: self.last[op].1, limit, mapped: false })
    }

    fn random(&mut self, op: usize, random: &mut Stream) -> Option<StartPosition> {
        let limit = self.bytes;
        let spot = |start, mapped| Some(StartPosition { start, limit, mapped });
        if let Order::Random(drawn) = &self.order {
            let drawn = drawn[op].as_ref().expect("an operation of the job");
            return spot(drawn.draw(random) * drawn.unit, false);
        }
        for _ in 0..2 {
            match &mut self.order {
                Order::Map(free, unit) => {
                    if let Some(block) = free.pick(random) {
                        return spot(block * *unit, true);
                    }
                }
                Order::Lfsr { free, unit, random, .. } => {
                    if let Some(block) = free.pick(random) {
                        free.take(block, 1);
                        return spot(block * *unit, false);
                    }
                }
                Order::Sequential | Order::Random(_) => unreachable!("they have no map"),
            }
            if !self.wraps {
                return None;
            }
            self.visit_again();
        }
        unreachable!("a map that has been emptied has a free block")
    }
}

/// Returns the bytes of the next request with lengths `sizes`; lengths above `room` are not drawn.
pub(super) fn length(sizes: &Sizes, room: u64, random: &mut Stream) -> u64 {
    match sizes {
        Sizes::Same(bytes) => *bytes,
        Sizes::Range(from, to) => {
            // As in fio, the largest is as frequent as the others if it is a multiple of the smallest.
            let fits = room / from * from;
            let share = if fits < *to { fits as f64 / *to as f64 } else { 1.0 };
            let drawn = from + (*to as f64 * share * random.unit()) as u64;
            (drawn / from * from).min(*to)
        }
        Sizes::Split(shares) => {
            let fitting = || shares.iter().filter(|size| size.0 <= room);
            let mut draw = random.unit() * fitting().map(|size| size.1).sum::<f64>();
            for &(bytes, share) in fitting() {
                if draw < share {
                    return bytes;
                }
                draw -= share;
            }
            fitting().next_back().expect("the smallest one fits").0
        }
    }
}

impl RandomPlaces {
    fn new(job: &Job, op: usize, unit: u64, blocks: u64) -> Result<RandomPlaces, String> {
        let ranked = |rank, most: u64, centre: Option<f64>| {
            let scatter = Scatter::new(blocks);
            let target = centre.map(|centre| ((centre * blocks as f64) as u64).min(blocks - 1));
            let shift = target.map_or(0, |at| (at + blocks - scatter.place(most)) % blocks);
            Law::Ranked { rank, scatter, shift }
        };
        let law = match &job.distribution {
            Distribution::Uniform => Law::Uniform,
            Distribution::Zipf(theta, centre) => {
                let zipf = Zipf::new(blocks, *theta).map_err(|SourceError(text)| text)?;
                ranked(Rank::Zipf(zipf), 0, *centre)
            }
            Distribution::Pareto(h, centre) => ranked(Rank::Pareto(*h), 0, *centre),
            Distribution::Normal(deviation, centre) => {
                ranked(Rank::Normal(*deviation), blocks / 2, *centre)
            }
            Distribution::Zoned(zones) => {
                let (mut before, mut laid) = (0.0, Vec::new());
                for &(access, space) in &zones[op] {
                    let space = match space {
                        Amount::Percent(percent) => percent / 100.0 * blocks as f64,
                        Amount::Bytes(bytes) => bytes as f64 / unit as f64,
                    };
                    if before + space > blocks as f64 + 1e-6 {
                        return Err("zoned_abs: its zones are larger than its file".to_owned());
                    }
                    let first = (before as u64).min(blocks - 1);
                    before += space;
                    laid.push((access, first, (before.round() as u64).clamp(first + 1, blocks)));
                }
                Law::Zoned(laid)
            }
        };
        Ok(RandomPlaces { unit, blocks, law })
    }

    /// Draws the index of a block. Ranks are scattered over the file like fio's hash does; zones are not.
    fn draw(&self, random: &mut Stream) -> u64 {
        match &self.law {
            Law::Uniform => random.below(self.blocks),
            Law::Ranked { rank, scatter, shift } => {
                let rank = rank.draw(self.blocks, random).min(self.blocks - 1);
                (scatter.place(rank) + shift) % self.blocks
            }
            Law::Zoned(zones) => {
                let mut draw = random.unit();
                let chosen = zones.iter().find(|zone| {
                    draw -= zone.0;
                    draw < 0.0
                });
                // Rounding errors go to the last zone that has accesses.
                let used = || zones.iter().rfind(|zone| zone.0 > 0.0);
                let &(_, first, end) = chosen.or_else(used).expect("accesses sum to 1");
                first + random.below(end - first)
            }
        }
    }
}

impl Rank {
    /// Draws from 0 up, the most frequent first; a normal distribution is most frequent in the middle.
    fn draw(&self, blocks: u64, random: &mut Stream) -> u64 {
        let n = blocks as f64;
        match self {
            Rank::Zipf(zipf) => zipf.rank(random) - 1,
            Rank::Pareto(h) => {
                // P(rank <= x n) = x^(log(1 - h) / log(h)): a share h of the accesses goes to 1 - h of the blocks.
                let power = libm::log(*h) / libm::log(1.0 - *h);
                ((n - 1.0) * libm::pow(random.unit(), power)) as u64
            }
            Rank::Normal(deviation) => {
                // Polar form of Box and Muller (Ann. Math. Stat. 29, 1958); a draw outside the file is repeated.
                loop {
                    let radius = libm::sqrt(2.0 * random.exponential());
                    let angle = std::f64::consts::TAU * random.unit();
                    let at = n * (0.5 + deviation * radius * libm::cos(angle));
                    if at >= 0.0 && at < n {
                        return at as u64;
                    }
                }
            }
        }
    }
}
