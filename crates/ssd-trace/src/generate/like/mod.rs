//! Requests drawn from the statistics of a recorded trace.
//!
//! Each recorded request is reduced to a [`Mark`]: operation, size, flags, the time since the previous request, and the
//! history of its block instead of the address. The history says whether the block follows the last request of the same
//! operation or resumes an interrupted run, and how many other blocks were written since its last write (its stack
//! distance; Mattson, Gecsei, Slutz, Traiger, "Evaluation Techniques for Storage Hierarchies", IBM Systems Journal
//! 1970). Only a block that was never used keeps its address. A discard counts only the blocks that it frees, because
//! Linux repeats discards of free blocks.
//!
//! The marks are replayed in another order: pieces of consecutive marks, of a random length with mean [`PIECE`] (as in
//! Politis, Romano, "The Stationary Bootstrap", JASA 1994), each once and within [`STRETCH`] of its original position.
//! Mixes are therefore exact, and bursts, phases and the growth of the written area remain. Addresses follow from the
//! marks on a separate volume with as many blocks as the recording touches, from the start of the space. After the end
//! of the recording the marks start again.

mod recency;
mod volume;

use crate::config::{Fit, Workload, WorkloadKind};
use crate::generate::app::deck::{BLOCK, BLOCK_BYTES};
use crate::read::fit::Record;
use crate::read::input::Step;
use crate::read::replay::TraceSource;
use ssd_core::host::request::{Op, Request, TimedRequest, flags};
use ssd_core::host::source::{Source, SourceError};
use ssd_core::rng::Stream;
use ssd_core::units::Nanos;
use std::ops::{ControlFlow, Range};
use volume::{FEW, MOST_BLOCKS, State, Volume};

/// Mean number of successive requests from one position of the recording.
const PIECE: f64 = 64.0;
/// Requests in a stretch, within which pieces change their order.
const STRETCH: usize = 1024;
/// Latest arrival, ns.
const LATEST: u64 = 1 << 62;

/// What is recorded of a request.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// Time since the previous request, ns.
    gap: u64,
    /// State of the first block; of a discard, of the first block that it frees.
    state: State,
    start: Start,
    /// Sectors; of a discard, blocks with data that it frees.
    length: u32,
    op: Op,
    flags: u8,
    /// Offset in the first block, sectors.
    within: u8,
}

/// Start of a request relative to earlier requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Start {
    /// At the end of the previous request of the same operation.
    Follows,
    /// After the block with this stack distance, where it resumes an interrupted run.
    Resumes(u32),
    /// Elsewhere.
    Jumps,
}

/// Requests drawn from a recorded trace; the same trace, number and seed give the same requests.
pub(crate) struct LikeTrace {
    marks: Vec<Mark>,
    volume: Volume,
    /// End of the last request of each operation, in sectors.
    ends: [u64; 4],
    /// Remaining marks of the current piece, remaining pieces of the stretch (the next one last), and the start of the
    /// next stretch.
    piece: Range<usize>,
    pieces: Vec<Range<usize>>,
    stretch: usize,
    /// Factor for all times between requests.
    scale: f64,
    at: u64,
    requests: u64,
    count: u64,
    random: Stream,
}

impl LikeTrace {
    /// Opens `workload.requests` requests drawn from `workload.like`, on the first `span_bytes` of a volume,
    /// `workload.arrival.interval` apart on average, or as recorded if that is 0.
    ///
    /// # Errors
    /// The trace cannot be read, contains only discards, or touches more than `span_bytes`.
    pub(crate) fn open(
        workload: &Workload,
        span_bytes: u64,
        seed: u64,
        watch: &mut dyn FnMut(Step) -> ControlFlow<()>,
    ) -> Result<LikeTrace, SourceError> {
        let path = workload.like.clone().expect("the caller has a trace");
        let read = Workload {
            kind: WorkloadKind::Trace,
            trace: Some(path.clone()),
            fit: Fit::Compact,
            loops: 1,
            time_scale: 1.0,
            ..workload.clone()
        };
        let (trace, facts) =
            TraceSource::open(&path, &read, BLOCK_BYTES as u32, MOST_BLOCKS, None, watch)?;
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
        // There are at most MOST_BLOCKS.
        let blocks = blocks as u32;
        let marks = marks(&trace.into_records(), blocks);
        let interval_ns = workload.arrival.interval_ns;
        Ok(LikeTrace::new(marks, blocks, interval_ns, workload.requests, seed))
    }

    fn new(marks: Vec<Mark>, blocks: u32, interval_ns: u64, requests: u64, seed: u64) -> LikeTrace {
        let mean = marks.iter().map(|mark| mark.gap).sum::<u64>() as f64 / marks.len() as f64;
        let as_recorded = interval_ns == 0 || mean == 0.0;
        LikeTrace {
            marks,
            volume: Volume::new(blocks),
            ends: [u64::MAX; 4],
            piece: 0..0,
            pieces: Vec::new(),
            stretch: 0,
            scale: if as_recorded { 1.0 } else { interval_ns as f64 / mean },
            at: 0,
            requests,
            count: 0,
            random: Stream::new(seed, "like"),
        }
    }

    /// Returns the next mark.
    #[inline]
    fn mark(&mut self) -> Mark {
        if let Some(next) = self.piece.next() {
            return self.marks[next];
        }
        if self.pieces.is_empty() {
            self.cut();
        }
        self.piece = self.pieces.pop().expect("a stretch has pieces");
        self.marks[self.piece.next().expect("a piece has marks")]
    }

    /// Cuts the next stretch of the recording into pieces.
    fn cut(&mut self) {
        let end = (self.stretch + STRETCH).min(self.marks.len());
        while self.stretch < end {
            let length = 1 + (PIECE * self.random.exponential()) as usize;
            let next = (self.stretch + length).min(end);
            self.pieces.push(self.stretch..next);
            self.stretch = next;
        }
        self.random.shuffle(&mut self.pieces);
        self.stretch %= self.marks.len();
    }

    /// Returns the first sector of a request of `mark` that needs `sectors`.
    fn start(&mut self, mark: &Mark, sectors: u64) -> u64 {
        let space = u64::from(self.volume.blocks()) * BLOCK;
        let end = self.ends[mark.op as usize];
        let start = match mark.start {
            Start::Follows if end < space => {
                self.volume.fits((end / BLOCK) as u32, mark.state).then_some(end)
            }
            Start::Resumes(depth) => {
                let block = self.volume.resume(depth, mark.state);
                block.map(|block| u64::from(block) * BLOCK + u64::from(mark.within))
            }
            _ => None,
        };
        let at = start.unwrap_or_else(|| {
            let block = self.volume.find(mark.state);
            u64::from(block) * BLOCK + u64::from(mark.within)
        });
        at.min(space - sectors)
    }

    /// Returns a discard that frees as many blocks with data as `mark` did, or none if that freed none.
    fn trim(&mut self, mark: &Mark) -> (u64, u64) {
        if mark.length == 0 {
            // A discard of less than a block frees nothing.
            return (self.start(&Mark { within: 0, ..*mark }, 1), 1);
        }
        let start = self.start(&Mark { within: 0, ..*mark }, BLOCK) / BLOCK;
        let (mut end, mut freed) = (start as u32, 0);
        // Skips blocks that are already free, up to a limit.
        let last = start + 2 * u64::from(mark.length) + FEW;
        let last = last.min(u64::from(self.volume.blocks()));
        while freed < mark.length && u64::from(end) < last {
            freed += u32::from(self.volume.holds_data(end));
            self.volume.trim(end);
            end += 1;
        }
        (start * BLOCK, (u64::from(end) - start) * BLOCK)
    }
}

impl Source for LikeTrace {
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        if self.count == self.requests {
            return Ok(None);
        }
        let mark = self.mark();
        self.count += 1;
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
            // (A recording has no copies.)
            Op::Flush | Op::Copy => (0, 0),
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
        if mark.op != Op::Trim || mark.length > 0 {
            self.ends[mark.op as usize] = sector + sectors;
        }
        // The cast is safe: a recorded length, or at most about twice the blocks that one frees.
        let request = Request::new(mark.op, sector, sectors as u32);
        let request = Request { flags: mark.flags, ..request };
        Ok(Some(TimedRequest { at: Nanos(self.at), request }))
    }

    fn expected(&self) -> Option<u64> {
        Some(self.requests)
    }
}

/// Returns the blocks that a request touches.
fn blocks_of(sector: u64, sectors: u64) -> std::ops::RangeInclusive<u32> {
    (sector / BLOCK) as u32..=((sector + sectors - 1) / BLOCK) as u32
}

/// Returns the marks of `records`, which touch `blocks` blocks, numbered from 0.
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
            state: State::Fresh(0),
            start: Start::Jumps,
            length: record.sectors,
            op,
            // A copy in a recording counts as a read and a write.
            flags: record.flags & !flags::COPY,
            within: (record.sector % BLOCK) as u8,
        };
        before = record.at;
        match op {
            Op::Flush | Op::Copy => {}
            Op::Trim => {
                // Only whole blocks are freed.
                let range = record.sector.div_ceil(BLOCK) as u32..(end / BLOCK) as u32;
                let first = range.clone().find(|&block| volume.holds_data(block));
                mark.state = first.map_or(State::Trimmed(0), |block| volume.state(block));
                if first.is_some_and(|block| u64::from(block) * BLOCK == ends[op as usize]) {
                    mark.start = Start::Follows;
                }
                let freed: Vec<u32> = range.filter(|&block| volume.holds_data(block)).collect();
                mark.length = freed.len() as u32;
                if let Some(&last) = freed.last() {
                    ends[op as usize] = u64::from(last + 1) * BLOCK;
                }
                freed.into_iter().for_each(|block| volume.trim(block));
            }
            Op::Read | Op::Write => {
                let first = (record.sector / BLOCK) as u32;
                mark.state = volume.state(first);
                if record.sector == ends[op as usize] {
                    mark.start = Start::Follows;
                } else if op == Op::Write
                    && let Some(depth) = volume.resumed(first)
                {
                    mark.start = Start::Resumes(depth);
                }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a recording of a circular log, tables, files that are created and deleted, and reads.
    fn recording() -> Vec<Record> {
        let mut random = Stream::new(7, "like test");
        let (mut records, mut log) = (Vec::new(), 0);
        for i in 0..20_000u64 {
            let (op, block, blocks) = match random.below(10) {
                0..4 => {
                    log = (log + 1) % 300;
                    (Op::Write, log, 1)
                }
                4..8 => {
                    let most = 1 + random.below(500);
                    (Op::Write, 300 + random.below(most), 1)
                }
                8 => (Op::Trim, 900 + random.below(90), 8),
                _ => (Op::Read, random.below(900), 1 + random.below(4)),
            };
            let at = i * 1000 + random.below(1000);
            let (sector, sectors) = (block * BLOCK, (blocks * BLOCK) as u32);
            records.push(Record { at, sector, sectors, op_index: op as u8, flags: 0, stream: 0 });
            if op == Op::Trim && i % 2 == 0 {
                records.push(Record { op_index: Op::Write as u8, ..records[records.len() - 1] });
            }
        }
        records
    }

    fn like(records: &[Record], seed: u64) -> LikeTrace {
        let blocks = 1000;
        LikeTrace::new(marks(records, blocks), blocks, 0, records.len() as u64, seed)
    }

    fn all(mut like: LikeTrace) -> Vec<TimedRequest> {
        std::iter::from_fn(|| like.next_request().unwrap()).collect()
    }

    #[test]
    fn marks_in_their_order_are_the_recording() {
        let records = recording();
        let mut ordered = like(&records, 1);
        ordered.piece = 0..records.len();
        for (timed, record) in all(ordered).iter().zip(&records) {
            let TimedRequest { at, request } = timed;
            assert_eq!((at.0, request.op), (record.at, record.op()));
            if record.op() != Op::Trim {
                assert_eq!((request.sector, request.sectors), (record.sector, record.sectors));
            }
        }
    }

    /// Returns the number of writes to blocks that were written before and not trimmed since.
    fn rewrites(requests: impl Iterator<Item = (Op, u64, u64)>) -> f64 {
        let (mut volume, mut count) = (Volume::new(1000), 0.0);
        for (op, sector, sectors) in requests {
            for block in blocks_of(sector, sectors) {
                if op == Op::Trim {
                    volume.trim(block);
                } else if op == Op::Write {
                    count += f64::from(u8::from(matches!(volume.state(block), State::Written(_))));
                    volume.write(block);
                }
            }
        }
        count
    }

    #[test]
    fn other_orders_have_the_same_mixes_and_other_addresses() {
        let records = recording();
        let generated = all(like(&records, 1));
        assert_eq!(generated, all(like(&records, 1)));
        assert_ne!(generated, all(like(&records, 2)));
        let sizes = |requests: &mut dyn Iterator<Item = (Op, u32)>| {
            let used = requests.filter(|entry| entry.0 != Op::Trim);
            let mut sizes: Vec<_> = used.map(|(op, sectors)| (op as u8, sectors)).collect();
            sizes.sort_unstable();
            sizes
        };
        assert_eq!(
            sizes(&mut generated.iter().map(|timed| (timed.request.op, timed.request.sectors))),
            sizes(&mut records.iter().map(|record| (record.op(), record.sectors)))
        );
        assert_eq!(generated.last().unwrap().at.0, records.last().unwrap().at);
        let ratio = rewrites(generated.iter().map(|timed| {
            (timed.request.op, timed.request.sector, u64::from(timed.request.sectors))
        }));
        let expected = rewrites(
            records.iter().map(|record| (record.op(), record.sector, record.sectors.into())),
        );
        assert!((ratio / expected - 1.0).abs() < 0.15, "{ratio} rewrites, {expected}");
    }
}
