//! Stand-ins for volumes of the MSR Cambridge traces, which must not be redistributed.
//!
//! Each stand-in is generated in two phases. The first million requests have the statistics measured on the first
//! million of the real volume. The remaining requests complete these to the statistics of the whole week (Liang et al.,
//! "Boosting Performance of SSD with Chip-level RAID by Deferring Garbage Collection", IEICE Electronics Express 2018,
//! table II). Both therefore hold, and the trace is not stationary. Assumptions where nothing is published:
//!
//! - The paper's *working set* exceeds what the requests can touch (`src2_0` reads 2 GB in total, writes 1.2 GB of
//!   pages, and has 15.6 GB). It is therefore taken as the range of addresses.
//! - A written page is new with the probability that leads to the *unique write space*, and otherwise was written
//!   before: recently written pages are more likely, as in journals and tables.
//! - Half of the reads go to written pages, half to random addresses in the range.
//! - `wdev_0` has no statistics of its first million requests. It has the means of the other four volumes, and one
//!   phase.
//! - Requests arrive as a Poisson process with the mean gap of the phase; a trace lasts a week.
//!
//! The last assumption, and the independence of sizes and addresses from the previous request, are defaults of the keys
//! of the pattern ([`PatternKeys`], module `pattern`): real volumes have bursts.

mod pattern;

use crate::config::PatternKeys;
use crate::generate::app::deck::{BLOCK, BLOCK_BYTES, Deck};
use crate::generate::synthetic::Scatter;
use crate::read::info::RECENT_PAGES;
pub use crate::week::{FIRST_REQUESTS, Phase, VOLUMES, Week};
use pattern::{Gaps, Quota};
use ssd_core::host::request::{Op, Request, TimedRequest};
use ssd_core::host::source::{Source, SourceError};
use ssd_core::rng::Stream;
use ssd_core::units::Nanos;
use std::collections::VecDeque;

/// Written blocks are contiguous in chunks of this many blocks (16 MiB); the chunks are scattered.
const CHUNK: u64 = 4096;
/// Share of the reads that go to written pages.
const READ_WRITTEN: f64 = 0.5;

/// Returns the path of the real trace of `volume` in `folder`.
///
/// # Errors
/// There is no such file; the message lists the names that were tried.
pub(crate) fn real_file(folder: &str, volume: &str) -> Result<String, SourceError> {
    let names = ["csv", "csv.gz", "csv.zst"].map(|end| format!("{volume}.{end}"));
    let mut paths = names.iter().map(|name| std::path::Path::new(folder).join(name));
    if let Some(file) = paths.find(|path| path.is_file()) {
        return Ok(file.to_string_lossy().into_owned());
    }
    let reason = match std::fs::read_dir(folder).map(Iterator::count) {
        Err(error) => format!("cannot be read: {error}"),
        Ok(0) => "is empty".to_owned(),
        Ok(_) => format!("has no volume {volume}"),
    };
    let expected = names.join(", ");
    Err(SourceError(format!("workload.msr: {folder} {reason}; expected one of {expected}")))
}

/// Random draws of one phase.
struct Draws {
    left: u64,
    writes: Deck<bool>,
    updates: Deck<bool>,
    write_sectors: Deck<u32>,
    read_sectors: Deck<u32>,
    /// Probability that a read or a write repeats the size of the previous one in its train.
    repeats: [f64; 2],
    gaps: Gaps,
}

impl Draws {
    fn new(
        phase: &Phase,
        keys: &PatternKeys,
        number: usize,
        seed: u64,
    ) -> Result<Draws, SourceError> {
        let stream = |part: &str| Stream::new(seed, &format!("stand-in.{number}.{part}"));
        let write_sectors = Deck::sizes(phase.write_bytes, 1, stream("write size"));
        let read_sectors = Deck::sizes(phase.read_bytes, 1, stream("read size"));
        // Two sizes may also be equal by chance. Repetition does not depend on the size, so the means hold.
        let repeats = [&read_sectors, &write_sectors].map(|deck| {
            let by_chance = deck.pairs();
            ((keys.same_size - by_chance) / (1.0 - by_chance).max(f64::EPSILON)).clamp(0.0, 1.0)
        });
        Ok(Draws {
            left: phase.requests,
            writes: Deck::coin(phase.write, stream("op")),
            updates: Deck::coin(phase.update, stream("update")),
            write_sectors,
            read_sectors,
            repeats,
            gaps: Gaps::new(keys, phase.gap_ns, stream("gap"))?,
        })
    }

    /// Draws the sectors of the next request.
    fn size(&mut self, op: Op) -> u32 {
        if op == Op::Write { self.write_sectors.draw() } else { self.read_sectors.draw() }
    }
}

/// The last write.
#[derive(Clone, Copy)]
struct LastWrite {
    /// Index of the block after it, in the numbering of `StandIn::written`.
    end: u64,
    sector_end: u64,
    update: bool,
}

/// A generated trace of a volume; the same statistics and seed give the same requests.
pub struct StandIn {
    /// Remaining phases, the next one last.
    phases: Vec<Draws>,
    scatter: Scatter,
    range_blocks: u64,
    /// Blocks written so far, counted as if they were consecutive.
    written: u64,
    at_ns: f64,
    random: Stream,
    /// Decides whether sizes are repeated.
    repeat: Stream,
    sequential: Quota,
    recent: Quota,
    /// Sizes of the last read and of the last write of the current train.
    sizes: [Option<u32>; 2],
    last_write: Option<LastWrite>,
    /// Sectors of the last written pages, the newest last; used only with `recent`.
    last_pages: VecDeque<u64>,
    requests: u64,
    count: u64,
}

impl StandIn {
    /// Creates the first `requests` of `week` (`None`: all) on a volume of `span_bytes`, with the pattern of `keys`.
    ///
    /// # Errors
    /// The volume is smaller than the range of addresses, or no gaps match `keys`.
    pub fn new(
        week: &Week,
        keys: &PatternKeys,
        span_bytes: u64,
        requests: Option<u64>,
        seed: u64,
    ) -> Result<StandIn, SourceError> {
        if span_bytes < week.range_bytes {
            return Err(SourceError(format!(
                "the trace has addresses up to {:.1} GB, the workload's space is {:.1} GB; enlarge \
                 the device or workload.span",
                week.range_bytes as f64 / 1e9,
                span_bytes as f64 / 1e9
            )));
        }
        let total = week.requests();
        let requests = requests.unwrap_or(total);
        if requests > total {
            let text = format!("the trace has {total} requests; workload.requests asks for more");
            return Err(SourceError(text));
        }
        let phases = week.phases.iter().enumerate();
        let range_blocks = week.range_bytes / BLOCK_BYTES;
        let draws = phases.map(|(i, phase)| Draws::new(phase, keys, i, seed));
        let mut draws = draws.collect::<Result<Vec<_>, _>>()?;
        draws.reverse();
        let quota = |share: f64, part: &str| {
            Quota::new(share, Stream::new(seed, &format!("stand-in.{part}")))
        };
        Ok(StandIn {
            phases: draws,
            scatter: Scatter::new(range_blocks / CHUNK),
            range_blocks,
            written: 0,
            at_ns: 0.0,
            random: Stream::new(seed, "stand-in.address"),
            repeat: Stream::new(seed, "stand-in.same size"),
            sequential: quota(keys.sequential_writes, "sequential"),
            recent: quota(keys.read_recent, "recent"),
            sizes: [None; 2],
            last_write: None,
            last_pages: VecDeque::new(),
            requests,
            count: 0,
        })
    }

    /// Draws the sectors of the next request of this operation.
    fn size(&mut self, op: Op) -> u32 {
        let (phase, kind) =
            (self.phases.last_mut().expect("a phase"), usize::from(op == Op::Write));
        let repeats = phase.repeats[kind];
        let sectors = match self.sizes[kind] {
            Some(size) if repeats > 0.0 && self.repeat.chance(repeats) => size,
            _ => phase.size(op),
        };
        self.sizes[kind] = Some(sectors);
        sectors
    }

    /// Returns the sector of a write of `blocks`.
    fn write(&mut self, blocks: u64, sectors: u32) -> u64 {
        let is_sequential = self.sequential.asks();
        let following =
            self.last_write.filter(|_| is_sequential).filter(|last| self.follows(last, blocks));
        let phase = self.phases.last_mut().expect("a phase");
        let (index, update) = if let Some(last) = following {
            // A run of writes is entirely new or entirely old; otherwise it would end at every change between them.
            (last.end, last.update)
        } else {
            let update = phase.updates.draw();
            (self.placed(blocks, update), update)
        };
        self.written = self.written.max(index + blocks);
        let sector = self.sector(index);
        let followed = self.last_write.is_some_and(|last| last.sector_end == sector);
        self.sequential.count(followed);
        let sector_end = sector + u64::from(sectors);
        self.last_write = Some(LastWrite { end: index + blocks, sector_end, update });
        if self.recent.is_used() {
            self.last_pages.extend((0..blocks).map(|block| sector + block * BLOCK));
            let older = self.last_pages.len().saturating_sub(RECENT_PAGES as usize);
            self.last_pages.drain(..older);
        }
        sector
    }

    /// Returns whether a write of `blocks` may follow `last`, with the same age.
    fn follows(&self, last: &LastWrite, blocks: u64) -> bool {
        let within = last.end % CHUNK;
        let same_age =
            if last.update { last.end + blocks <= self.written } else { last.end == self.written };
        within != 0 && within + blocks <= CHUNK && same_age
    }

    /// Returns the index of a write of `blocks` that follows no other write.
    fn placed(&mut self, blocks: u64, update: bool) -> u64 {
        if update && self.written >= blocks {
            return self.rewritten(blocks);
        }
        // Requests do not cross the end of their chunk; the rest of it remains unwritten.
        let room = CHUNK - self.written % CHUNK;
        let new = if room < blocks { self.written + room } else { self.written };
        if new / CHUNK >= self.range_blocks / CHUNK {
            return self.rewritten(blocks);
        }
        new
    }

    /// Returns the index of `blocks` written before; recent writes are more likely.
    fn rewritten(&mut self, blocks: u64) -> u64 {
        let unit = self.random.unit();
        let ago = (unit * unit * unit * (self.written - blocks) as f64) as u64;
        let index = self.written - blocks - ago;
        let over = (index % CHUNK + blocks).saturating_sub(CHUNK);
        index - over
    }

    /// Returns the sector of a read of `blocks`.
    fn read(&mut self, blocks: u64) -> u64 {
        if !self.recent.asks() {
            let sector = self.independent_read(blocks);
            self.recent.count(self.last_pages.contains(&sector));
            return sector;
        }
        let newest = self.random.below(RECENT_PAGES) as usize;
        let fits = |sector: u64| sector / BLOCK + blocks <= self.range_blocks;
        let recent = self.last_pages.iter().rev().nth(newest % self.last_pages.len().max(1));
        if let Some(&sector) = recent.filter(|&&sector| fits(sector)) {
            self.recent.count(true);
            return sector;
        }
        self.independent_read(blocks)
    }

    fn independent_read(&mut self, blocks: u64) -> u64 {
        if self.written >= blocks && self.random.chance(READ_WRITTEN) {
            let index = self.rewritten(blocks);
            return self.sector(index);
        }
        self.random.below(self.range_blocks - blocks) * BLOCK
    }

    /// Returns the sector of the block that was written `index`-th.
    fn sector(&self, index: u64) -> u64 {
        (self.scatter.place(index / CHUNK) * CHUNK + index % CHUNK) * BLOCK
    }
}

impl Source for StandIn {
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        if self.count == self.requests {
            return Ok(None);
        }
        self.count += 1;
        if self.phases.last().is_some_and(|phase| phase.left == 0) {
            self.phases.pop();
        }
        let phase = self.phases.last_mut().expect("as many requests as the phases have");
        phase.left -= 1;
        let (gap, begins_train) = phase.gaps.next(&mut self.random);
        self.at_ns += gap;
        if begins_train {
            self.sizes = [None; 2];
        }
        let op = if phase.writes.draw() { Op::Write } else { Op::Read };
        let sectors = self.size(op);
        let blocks = u64::from(sectors).div_ceil(BLOCK);
        let sector = if op == Op::Write { self.write(blocks, sectors) } else { self.read(blocks) };
        let at = Nanos(self.at_ns as u64);
        Ok(Some(TimedRequest { at, request: Request::new(op, sector, sectors) }))
    }

    fn expected(&self) -> Option<u64> {
        Some(self.requests)
    }
}
