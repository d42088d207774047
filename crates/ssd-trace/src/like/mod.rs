//! Requests like those of a recorded trace: its statistics, drawn anew.
//!
//! Of every recorded request a [`Mark`] is kept: operation, size, flags, the time since the one before,
//! and in place of its address what that block had been through: whether it follows the last request of
//! its operation, was never used, or how many other blocks were written after it was last written (its
//! stack distance; Mattson, Gecsei, Slutz, Traiger, "Evaluation Techniques for Storage Hierarchies", IBM
//! Systems Journal 1970). Discards count with what they free: those of Linux repeat what is free already.
//!
//! Requests are made by a bootstrap: pieces of successive marks, of a random length of [`PIECE`] in the
//! mean (Politis, Romano, "The Stationary Bootstrap", JASA 1994), from about where in the recording the
//! made trace has come to (within a [`WINDOW`]th of its length), so that bursts, phases and the growth of
//! what was ever written remain. Addresses follow from the marks on a volume of their own: as many
//! blocks as the recording touches, from the start of the space. After the end of the recording its
//! marks begin anew.

mod recency;
mod volume;

use crate::app::deck::{BLOCK, BLOCK_BYTES};
use crate::fit::Record;
use crate::replay::TraceSource;
use ssd_core::config::{Fit, Workload, WorkloadKind};
use ssd_core::host::request::{Op, Request, Source, SourceError, TimedRequest};
use ssd_core::rng::Stream;
use ssd_core::units::Nanos;
use volume::{MOST_BLOCKS, Place, Volume};

/// Mean number of successive requests that are taken from one place of the recording.
const PIECE: f64 = 256.0;
/// Pieces come from within this share of the recording, to either side.
const WINDOW: u64 = 64;
/// Latest arrival, ns.
const LATEST: u64 = 1 << 62;

/// What is kept of a request.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// Since the request before, ns.
    gap: u64,
    place: Place,
    /// Sectors; of a discard, blocks with data that it frees.
    length: u32,
    op: Op,
    flags: u8,
    /// Sectors between the start of its first block and its own.
    within: u8,
}

/// Requests like those of a recorded trace; the same trace, number and seed give the same requests.
pub(crate) struct Like {
    marks: Vec<Mark>,
    volume: Volume,
    /// Ends of the last request of each operation, in sectors.
    ends: [u64; 4],
    /// The next mark, and how many come before another piece begins.
    next: usize,
    left: u64,
    /// Factor of all times between requests.
    scale: f64,
    at: u64,
    requests: u64,
    made: u64,
    random: Stream,
}

impl Like {
    /// `workload.requests` requests like those of `workload.like`, on the first `span_bytes` of a volume,
    /// `workload.arrival.interval` apart in the mean, or as recorded if that is 0.
    ///
    /// # Errors
    /// The trace cannot be read, holds nothing but discards, or touches more than `span_bytes`.
    pub(crate) fn open(workload: &Workload, span_bytes: u64, seed: u64) -> Result<Like, SourceError> {
        let path = workload.like.clone().expect("the caller has a trace");
        let read = Workload {
            kind: WorkloadKind::Trace,
            trace: Some(path.clone()),
            fit: Fit::Compact,
            loops: 1,
            time_scale: 1.0,
            ..workload.clone()
        };
        let (trace, facts) = TraceSource::open(&path, &read, BLOCK_BYTES as u32, MOST_BLOCKS)?;
        let blocks = facts.footprint_pages;
        if blocks * BLOCK_BYTES > span_bytes {
            return Err(SourceError(format!(
                "{path}: the recording touches {} MiB, the workload's space is {} MiB; enlarge the \
                 device (device.user_capacity) or workload.span, or use a part of it \
                 (workload.from, workload.until)",
                (blocks * BLOCK_BYTES).div_ceil(1 << 20),
                span_bytes >> 20
            )));
        }
        // At most MOST_BLOCKS.
        let blocks = blocks as u32;
        let marks = marks(&trace.into_records(), blocks);
        let interval = workload.arrival.interval_ns;
        let mean = marks.iter().map(|mark| mark.gap).sum::<u64>() as f64 / marks.len() as f64;
        let scale = if interval == 0 || mean == 0.0 { 1.0 } else { interval as f64 / mean };
        Ok(Like {
            marks,
            volume: Volume::new(blocks),
            ends: [u64::MAX; 4],
            next: 0,
            left: 0,
            scale,
            at: 0,
            requests: workload.requests,
            made: 0,
            random: Stream::new(seed, "like"),
        })
    }

    /// The next mark of the bootstrap.
    #[inline]
    fn mark(&mut self) -> Mark {
        let all = self.marks.len() as u64;
        if self.left == 0 {
            let window = (all / WINDOW).max(1);
            let around = self.made % all + self.random.below(2 * window + 1);
            self.next = around.saturating_sub(window).min(all - 1) as usize;
            self.left = 1 + (PIECE * self.random.exponential()) as u64;
        }
        let mark = self.marks[self.next];
        self.next = (self.next + 1) % self.marks.len();
        self.left -= 1;
        mark
    }

    /// First sector of a request of `mark` that needs `sectors`.
    fn start(&mut self, mark: &Mark, sectors: u64) -> u64 {
        let space = u64::from(self.volume.blocks()) * BLOCK;
        let end = self.ends[mark.op as usize];
        let at = if mark.place == Place::Follows && end <= space - sectors {
            end
        } else {
            let block = self.volume.find(mark.place, mark.op == Op::Read, &mut self.random);
            u64::from(block) * BLOCK + u64::from(mark.within)
        };
        at.min(space - sectors)
    }

    /// A discard: as many blocks with data from its place on as `mark` freed, and none if it freed none.
    fn trim(&mut self, mark: &Mark) -> (u64, u64) {
        if mark.length == 0 {
            // Less than a block: nothing is freed.
            return (self.start(&Mark { within: 0, ..*mark }, 1), 1);
        }
        let start = self.start(&Mark { within: 0, ..*mark }, BLOCK) / BLOCK;
        let (mut end, mut freed) = (start as u32, 0);
        // Where others are free already, it goes on, but not for ever.
        let last = (start + 2 * u64::from(mark.length)).min(u64::from(self.volume.blocks()));
        while freed < mark.length && u64::from(end) < last {
            freed += u32::from(self.volume.holds_data(end));
            self.volume.trim(end);
            end += 1;
        }
        (start * BLOCK, (u64::from(end) - start) * BLOCK)
    }
}

impl Source for Like {
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        if self.made == self.requests {
            return Ok(None);
        }
        let mark = self.mark();
        self.made += 1;
        let gap = if self.scale.to_bits() == 1.0f64.to_bits() {
            mark.gap
        } else {
            (mark.gap as f64 * self.scale + 0.5) as u64
        };
        self.at = self.at.saturating_add(gap);
        if self.at >= LATEST {
            return Err(SourceError(
                "requests would arrive after 146 years; lower workload.arrival.interval or \
                 workload.requests"
                    .to_owned(),
            ));
        }
        let (sector, sectors) = match mark.op {
            Op::Flush => (0, 0),
            Op::Trim => self.trim(&mark),
            Op::Read | Op::Write => {
                let sectors = u64::from(mark.length);
                let start = self.start(&mark, sectors);
                if mark.op == Op::Write {
                    for block in blocks_of(start, sectors) {
                        self.volume.write(block);
                    }
                }
                (start, sectors)
            }
        };
        self.ends[mark.op as usize] = sector + sectors;
        // It fits: a recorded length, or at most twice as many blocks as one frees.
        let request = Request::new(mark.op, sector, sectors as u32);
        let request = Request { flags: mark.flags, ..request };
        Ok(Some(TimedRequest { at: Nanos(self.at), request }))
    }

    fn expected(&self) -> Option<u64> {
        Some(self.requests)
    }
}

/// Blocks that a request touches.
fn blocks_of(sector: u64, sectors: u64) -> std::ops::RangeInclusive<u32> {
    (sector / BLOCK) as u32..=((sector + sectors - 1) / BLOCK) as u32
}

/// The marks of `records`, which touch `blocks` blocks, numbered from 0.
fn marks(records: &[Record], blocks: u32) -> Vec<Mark> {
    let mut volume = Volume::new(blocks);
    let mut ends = [u64::MAX; 4];
    let mut before = 0;
    let mut marks = Vec::with_capacity(records.len());
    for record in records {
        let op = record.op();
        let end = record.sector + u64::from(record.sectors);
        let mut mark = Mark {
            gap: record.at - before,
            place: Place::Fresh,
            length: record.sectors,
            op,
            flags: record.flags,
            within: (record.sector % BLOCK) as u8,
        };
        before = record.at;
        match op {
            Op::Flush => {}
            Op::Trim => {
                // Whole blocks: parts of one are kept.
                let whole = record.sector.div_ceil(BLOCK) as u32..(end / BLOCK) as u32;
                let first = whole.clone().find(|&block| volume.holds_data(block));
                mark.place = match first {
                    Some(block) if u64::from(block) * BLOCK == ends[op as usize] => Place::Follows,
                    Some(block) => volume.place_of(block),
                    None => Place::Trimmed(0),
                };
                mark.length =
                    whole.clone().filter(|&block| volume.holds_data(block)).count() as u32;
                whole.for_each(|block| volume.trim(block));
                ends[op as usize] = end;
            }
            Op::Read | Op::Write => {
                let first = (record.sector / BLOCK) as u32;
                let follows = record.sector == ends[op as usize];
                mark.place = if follows { Place::Follows } else { volume.place_of(first) };
                if op == Op::Write {
                    for block in blocks_of(record.sector, u64::from(record.sectors)) {
                        volume.write(block);
                    }
                }
                ends[op as usize] = end;
            }
        }
        marks.push(mark);
    }
    marks
}
