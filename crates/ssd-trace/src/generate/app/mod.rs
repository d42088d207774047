//! Models of applications: their block-level load below a file system, with published statistics.
//!
//! [`Model`] holds the published numbers. [`App`] generates the requests: operations and arrivals in cycles of a fixed
//! number of requests, sizes and sequential runs from decks (so that statistics hold for short traces), and addresses
//! from `volume`. A request is *sequential* if it begins where the previous request of the same operation ended. With
//! this definition a paper's share of all requests is the average of its shares by operation.

pub(crate) mod deck;
mod model;
mod published;
mod volume;

pub use model::{Habits, Model, NAMES, Pace, SETS, Shape};

use deck::Deck;
use ssd_core::host::request::{Op, Request, TimedRequest};
use ssd_core::host::source::{Source, SourceError};
use ssd_core::rng::Stream;
use ssd_core::units::{Nanos, SECTOR_BYTES};
use volume::Volume;

/// Minimum blocks of a sequential read or write; a delete has at least one.
const RUN_BLOCKS: u64 = 2;
const OPS: [Op; 3] = [Op::Read, Op::Write, Op::Trim];

/// Random draws for the requests of one operation.
struct Draws {
    coin: Deck<bool>,
    sequential: Deck<u32>,
    random: Deck<u32>,
    /// Whether the next request follows the last one.
    follows: bool,
}

/// A generated trace of an application; the same model, size and seed give the same requests.
pub struct App {
    draws: [Option<Draws>; 3],
    volume: Volume,
    cycle: Cycle,
    requests: u64,
    count: u64,
}

impl App {
    /// Generates `requests` of `model` on the first `span_bytes` of a volume, `interval_ns` apart on average.
    ///
    /// # Errors
    /// The numbers of the model cannot be met at all, or not in this space; the message names a remedy.
    pub fn new(
        model: Model,
        span_bytes: u64,
        interval_ns: u64,
        requests: u64,
        seed: u64,
    ) -> Result<App, SourceError> {
        let model = model.checked()?;
        let mut index = 0;
        let draws = model.shapes.map(|shape| {
            let op = OPS[index];
            index += 1;
            (shape.share > 0.0).then(|| Draws::new(op, &shape, seed))
        });
        let largest = draws.iter().flatten().map(Draws::largest).max().unwrap_or(1);
        let sectors = span_bytes / SECTOR_BYTES;
        Ok(App {
            volume: Volume::new(sectors, largest, &model, seed)?,
            cycle: Cycle::new(&model, interval_ns, seed)?,
            draws,
            requests,
            count: 0,
        })
    }
}

impl Draws {
    fn new(op: Op, shape: &Shape, seed: u64) -> Draws {
        let stream = |name: &str| Stream::new(seed, &format!("app.{}.{name}", op.name()));
        let least = if op == Op::Trim { 1 } else { RUN_BLOCKS };
        // A mean that applies to no request is not checked.
        let mean = |bytes: f64, used: bool| if used { bytes } else { SECTOR_BYTES as f64 };
        let sequential = mean(shape.sequential_bytes, shape.sequential > 0.0);
        let random = mean(shape.random_bytes, shape.sequential < 1.0);
        Draws {
            coin: Deck::coin(shape.sequential, stream("sequential")),
            sequential: Deck::sizes(sequential, least, stream("sequential size")),
            random: Deck::sizes(random, 1, stream("random size")),
            follows: false,
        }
    }

    fn largest(&self) -> u64 {
        self.sequential.largest().max(self.random.largest())
    }

    /// Returns the sectors of the next request, whether it follows the last one, and whether the next one follows it.
    #[inline]
    fn draw(&mut self) -> (u32, bool, bool) {
        let follows = self.follows;
        self.follows = self.coin.draw();
        let sectors = if follows { self.sequential.draw() } else { self.random.draw() };
        (sectors, follows, self.follows)
    }
}

impl Source for App {
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        if self.count == self.requests {
            return Ok(None);
        }
        let (at, op) = self.cycle.next()?;
        self.count += 1;
        let draws = self.draws[op].as_mut().expect("a cycle has operations with a share");
        let (sectors, follows, followed) = draws.draw();
        let sector = match OPS[op] {
            Op::Write => self.volume.write(sectors, follows, followed),
            Op::Read => self.volume.read(sectors, follows),
            _ => self.volume.delete(sectors, follows),
        };
        Ok(Some(TimedRequest { at: Nanos(at), request: Request::new(OPS[op], sector, sectors) }))
    }

    fn expected(&self) -> Option<u64> {
        Some(self.requests)
    }
}

/// Operations and arrivals.
struct Cycle {
    shares: [f64; 3],
    pace: Pace,
    /// Requests of a cycle.
    requests: u64,
    interval_ns: u64,
    /// Cycles generated so far, and their requests by operation.
    cycles: u64,
    counts: [u64; 3],
    /// Arrival within the cycle, shifted by two bits, and the operation; the latest arrival comes first.
    waiting: Vec<u64>,
    random: Stream,
}

impl Cycle {
    fn new(model: &Model, interval_ns: u64, seed: u64) -> Result<Cycle, SourceError> {
        if interval_ns > 1 << 40 {
            let text = "workload.arrival.interval: expected at most 18 minutes for an application";
            return Err(SourceError(text.to_owned()));
        }
        if interval_ns.checked_mul(model.habits.cycle).is_none_or(|length| length >= 1 << 60) {
            let text = "workload.cycle: a cycle of arrivals would take more than 36 years";
            return Err(SourceError(text.to_owned()));
        }
        Ok(Cycle {
            shares: model.shapes.map(|shape| shape.share),
            pace: model.pace,
            requests: model.habits.cycle,
            interval_ns,
            cycles: 0,
            counts: [0; 3],
            waiting: Vec::with_capacity(model.habits.cycle as usize),
            random: Stream::new(seed, "app.arrival"),
        })
    }

    /// Returns the arrival, ns, and the index of the operation.
    #[inline]
    fn next(&mut self) -> Result<(u64, usize), SourceError> {
        if self.waiting.is_empty() {
            self.begin();
        }
        let key = self.waiting.pop().expect("a cycle has requests");
        let start = (self.cycles - 1).checked_mul(self.requests * self.interval_ns);
        match start.and_then(|start| start.checked_add(key >> 2)) {
            Some(at) if at < 1 << 62 => Ok((at, (key & 3) as usize)),
            _ => Err(SourceError(
                "requests would arrive after 146 years; lower workload.arrival.interval or \
                 workload.requests"
                    .to_owned(),
            )),
        }
    }

    /// Generates the requests of another cycle.
    #[cold]
    fn begin(&mut self) {
        self.cycles += 1;
        let total = self.cycles * self.requests;
        // Each operation gets its share of all requests so far; writes get the rest.
        let due = |share: f64| (share * total as f64).round() as u64;
        let deletes = due(self.shares[2]);
        let reads = due(self.shares[0]).min(total - deletes);
        let due = [reads, total - reads - deletes, deletes];
        let length = self.requests * self.interval_ns;
        let (active, first) = self.window();
        for (op, due) in due.into_iter().enumerate() {
            let fewer = due.saturating_sub(self.counts[op]);
            let (active, first) = if op == 0 && self.pace == Pace::WriteSpikes {
                (length, 0)
            } else {
                ((active * length as f64) as u64, (first * length as f64) as u64)
            };
            for _ in 0..fewer {
                let at = first + self.random.below(active.max(1));
                self.waiting.push(at << 2 | op as u64);
            }
            self.counts[op] += fewer;
        }
        self.waiting.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// Returns the share of the cycle in which requests arrive, and where that part begins.
    fn window(&mut self) -> (f64, f64) {
        let active = match self.pace {
            Pace::Steady => 1.0,
            Pace::Periodic => return (0.5, 0.0),
            Pace::Dynamic => libm::pow(0.02, self.random.unit()),
            Pace::WriteSpikes => 0.05,
        };
        (active, self.random.unit() * (1.0 - active))
    }
}
