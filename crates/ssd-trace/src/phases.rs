//! Updates that are independent of one another: `workload.phases = "independent"`.
//!
//! A recorded trace on a drive of its size is one application: pages that are written together also become invalid
//! together. On a drive that many such applications share, their bursts mix. Independent phases are the limit of that
//! mixture: every page keeps the intervals between its updates, but starts at its own point of the loop.

use ssd_core::host::request::{Op, Request, TimedRequest};
use ssd_core::host::source::{Source, SourceError};
use ssd_core::rng::Stream;
use ssd_core::units::{Nanos, SECTOR_BYTES};

/// What an update is beside its page: by default a write of the first stream.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Kind {
    stream: u8,
    is_trim: bool,
}

/// Updates of one page each, in order.
#[derive(Default)]
struct Updates {
    pages: Vec<u32>,
    /// Empty while all are of the default kind: long traces have neither streams nor TRIMs, and are held once a run.
    kinds: Vec<Kind>,
}

impl Updates {
    fn push(&mut self, page: u32, kind: Kind) {
        if kind != Kind::default() && self.kinds.is_empty() {
            self.kinds.resize(self.pages.len(), Kind::default());
        }
        if kind != Kind::default() || !self.kinds.is_empty() {
            self.kinds.push(kind);
        }
        self.pages.push(page);
    }

    fn kind(&self, at: usize) -> Kind {
        self.kinds.get(at).copied().unwrap_or_default()
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.pages.swap(a, b);
        if !self.kinds.is_empty() {
            self.kinds.swap(a, b);
        }
    }
}

/// The updates of a trace, page by page, each page shifted cyclically by a phase of its own.
///
/// Time is counted in pages written: an update that follows `t` of the `n` page writes of a loop is moved to
/// `(t + phase) mod n`. Every loop has the same order. Reads and flushes, which change no page, are left out,
/// and so are TRIMs of parts of pages.
pub(crate) struct Phased {
    updates: Updates,
    sectors_per_page: u32,
    next: usize,
    round: u32,
    loops: u32,
}

impl Phased {
    /// The updates of one loop, `source`, on pages of `page_bytes`, repeated `loops` times; `seed` draws the phases.
    ///
    /// # Errors
    /// `source` fails, holds copies, or updates no page.
    pub(crate) fn new(
        mut source: Box<dyn Source + Send>,
        page_bytes: u32,
        loops: u32,
        seed: u64,
    ) -> Result<Phased, SourceError> {
        let sectors_per_page = page_bytes / SECTOR_BYTES as u32;
        let (mut recorded, mut written) = (Updates::default(), 0_u64);
        while let Some(TimedRequest { request, .. }) = source.next_request()? {
            let is_trim = match request.op {
                Op::Write => false,
                Op::Trim => true,
                Op::Read | Op::Flush => continue,
                Op::Copy => {
                    let text = "workload.phases = \"independent\": the trace holds copies, which tie pages to \
                                one another; set workload.phases = \"recorded\"";
                    return Err(SourceError(text.to_owned()));
                }
            };
            for page in pages(&request, sectors_per_page) {
                recorded.push(page, Kind { stream: request.stream, is_trim });
                written += u64::from(!is_trim);
            }
        }
        if written == 0 {
            let text = "workload.phases = \"independent\": the trace writes no page, so there is nothing to shift";
            return Err(SourceError(text.to_owned()));
        }
        if u32::try_from(recorded.pages.len()).is_err() {
            let text = "workload.phases = \"independent\": the trace updates pages 2^32 times or more; cut it with \
                        workload.from, workload.until or workload.requests";
            return Err(SourceError(text.to_owned()));
        }
        // It may have a copy of the trace.
        drop(source);
        let updates = shifted(recorded, written, seed);
        Ok(Phased { updates, sectors_per_page, next: 0, round: 0, loops })
    }
}

/// The updates of a loop of `written` page writes, each moved by the phase of its page. A TRIM stays before the write
/// that follows it.
fn shifted(mut updates: Updates, written: u64, seed: u64) -> Updates {
    // Traces are long, so this is a counting sort of narrow numbers, in place.
    let mut targets = places(&updates, written, seed);
    let mut next = vec![0_u32; written as usize + 1];
    targets.iter().for_each(|&place| next[place as usize + 1] += 1);
    for place in 1..next.len() {
        next[place] += next[place - 1];
    }
    for target in &mut targets {
        let place = *target as usize;
        *target = next[place];
        next[place] += 1;
    }
    for at in 0..targets.len() {
        while targets[at] as usize != at {
            let target = targets[at] as usize;
            updates.swap(at, target);
            targets.swap(at, target);
        }
    }
    updates
}

/// Where in the loop each update is moved to.
fn places(recorded: &Updates, written: u64, seed: u64) -> Vec<u32> {
    // One phase a page, drawn in the order in which the pages first occur. No phase is as large as `NONE`.
    const NONE: u32 = u32::MAX;
    let pages = recorded.pages.iter().max().map_or(0, |&page| page as usize + 1);
    let (mut random, mut phases) = (Stream::new(seed, "workload.phases"), vec![NONE; pages]);
    let mut before = 0;
    let place = |(at, &page): (usize, &u32)| {
        let phase = &mut phases[page as usize];
        if *phase == NONE {
            *phase = random.below(written) as u32;
        }
        let place = (before + u64::from(*phase)) % written;
        before += u64::from(!recorded.kind(at).is_trim);
        place as u32
    };
    recorded.pages.iter().enumerate().map(place).collect()
}

/// The pages that a write touches, or a TRIM covers.
fn pages(request: &Request, sectors_per_page: u32) -> std::ops::Range<u32> {
    let page = u64::from(sectors_per_page);
    let end = request.sector + u64::from(request.sectors);
    let (first, end) = match request.op {
        Op::Trim => (request.sector.div_ceil(page), end / page),
        _ => (request.sector / page, end.div_ceil(page)),
    };
    first as u32..end as u32
}

impl Source for Phased {
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        if self.next == self.updates.pages.len() {
            if self.round + 1 >= self.loops {
                return Ok(None);
            }
            (self.round, self.next) = (self.round + 1, 0);
        }
        let (page, Kind { stream, is_trim }) =
            (self.updates.pages[self.next], self.updates.kind(self.next));
        self.next += 1;
        let op = if is_trim { Op::Trim } else { Op::Write };
        let sector = u64::from(page) * u64::from(self.sectors_per_page);
        let request = Request { stream, ..Request::new(op, sector, self.sectors_per_page) };
        Ok(Some(TimedRequest { at: Nanos::ZERO, request }))
    }

    fn expected(&self) -> Option<u64> {
        Some(self.updates.pages.len() as u64 * u64::from(self.loops))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, VecDeque};

    const PAGE: u32 = 8;

    struct Listed(VecDeque<Request>);

    impl Source for Listed {
        fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
            Ok(self.0.pop_front().map(|request| TimedRequest { at: Nanos(3), request }))
        }
    }

    fn phased(requests: &[Request], loops: u32, seed: u64) -> Result<Phased, SourceError> {
        Phased::new(Box::new(Listed(requests.iter().copied().collect())), PAGE * 512, loops, seed)
    }

    fn updates(mut source: Phased) -> Vec<(Op, u64)> {
        let mut all = Vec::new();
        while let Some(TimedRequest { request, .. }) = source.next_request().unwrap() {
            assert_eq!((request.sector % 8, request.sectors), (0, 8), "one whole page");
            all.push((request.op, request.sector / 8));
        }
        all
    }

    /// For each page the numbers of writes before its updates, in a loop of `n` writes.
    fn times(updates: &[(Op, u64)]) -> BTreeMap<u64, Vec<(u64, Op)>> {
        let (mut written, mut times) = (0, BTreeMap::new());
        for &(op, page) in updates {
            times.entry(page).or_insert_with(Vec::new).push((written, op));
            written += u64::from(op == Op::Write);
        }
        times
    }

    /// Writes of 1 to 3 pages of 40, some of them in part, reads, flushes, and TRIMs.
    fn requests(seed: u64) -> Vec<Request> {
        let mut random = Stream::new(seed, "requests");
        let mut drawn = || match random.below(10) {
            0 => Request::new(Op::Read, random.below(300), 8),
            1 => Request::new(Op::Flush, 0, 0),
            2 => Request::new(Op::Trim, random.below(300), 1 + random.below(20) as u32),
            _ => Request::new(Op::Write, random.below(300), 1 + random.below(20) as u32),
        };
        (0..400).map(|_| drawn()).collect()
    }

    #[test]
    fn every_page_keeps_its_updates_in_their_cyclic_order() {
        for seed in 0..20 {
            let recorded = requests(seed);
            let mut as_is = Vec::new();
            for r in &recorded {
                let end = r.sector + u64::from(r.sectors);
                match r.op {
                    Op::Write => {
                        as_is.extend((r.sector / 8..=(end - 1) / 8).map(|page| (r.op, page)))
                    }
                    Op::Trim => {
                        let covered =
                            (0..=300 / 8 + 4).filter(|p| r.sector <= p * 8 && (p + 1) * 8 <= end);
                        as_is.extend(covered.map(|page| (r.op, page)));
                    }
                    _ => {}
                }
            }
            let shifted = updates(phased(&recorded, 1, seed).unwrap());
            assert_eq!(shifted.len(), as_is.len());
            let (before, after) = (times(&as_is), times(&shifted));
            for (page, updates) in before {
                let ops: Vec<Op> = updates.iter().map(|&(_, op)| op).collect();
                let actual: Vec<Op> = after[&page].iter().map(|&(_, op)| op).collect();
                let turned = (0..ops.len()).any(|by| [&ops[by..], &ops[..by]].concat() == actual);
                assert!(turned, "page {page}: {ops:?} became {actual:?}");
            }
        }
    }

    /// A literal version: for each place of the loop, the updates that are shifted to it, in recorded order.
    #[test]
    fn updates_come_where_their_page_is_shifted_to() {
        for seed in 0..20 {
            let mut random = Stream::new(seed, "pages");
            let pages: Vec<u64> = (0..200).map(|_| random.below(30)).collect();
            let requests: Vec<Request> =
                pages.iter().map(|page| Request::new(Op::Write, page * 8, 8)).collect();
            let mut phases = [None; 30];
            let mut drawn = Stream::new(seed, "workload.phases");
            for &page in &pages {
                phases[page as usize].get_or_insert_with(|| drawn.below(200));
            }
            let mut expected = Vec::new();
            for place in 0..200 {
                for (at, &page) in pages.iter().enumerate() {
                    if (at as u64 + phases[page as usize].unwrap()) % 200 == place {
                        expected.push((Op::Write, page));
                    }
                }
            }
            assert_eq!(updates(phased(&requests, 1, seed).unwrap()), expected);
        }
    }

    #[test]
    fn every_update_keeps_its_stream() {
        // The first updates have no stream: kinds are noted from the first other one on.
        for first in [0, 1, 50] {
            let mut recorded = requests(first);
            for request in recorded.iter_mut().skip(first as usize) {
                request.stream = (request.sector % 5) as u8;
            }
            let of_page = |op, page, stream| (page, op == Op::Trim, stream);
            let mut before: Vec<(u64, bool, u8)> = recorded
                .iter()
                .filter(|r| matches!(r.op, Op::Write | Op::Trim))
                .flat_map(|r| pages(r, PAGE).map(|page| of_page(r.op, u64::from(page), r.stream)))
                .collect();
            let mut source = phased(&recorded, 1, 3).unwrap();
            let mut after = Vec::new();
            while let Some(TimedRequest { request: r, .. }) = source.next_request().unwrap() {
                after.push(of_page(r.op, r.sector / u64::from(PAGE), r.stream));
            }
            before.sort_unstable();
            after.sort_unstable();
            assert_eq!(before, after);
            assert!(after.iter().any(|one| one.2 > 0));
        }
    }

    #[test]
    fn every_loop_has_the_same_order_and_another_seed_another() {
        let of = |loops, seed| updates(phased(&requests(1), loops, seed).unwrap());
        let once = of(1, 5);
        assert_eq!(of(3, 5), [once.clone(), once.clone(), once.clone()].concat());
        assert_ne!(of(1, 6), once);
        let three = phased(&requests(1), 3, 5).unwrap();
        assert_eq!(three.expected(), Some(3 * once.len() as u64));
    }

    #[test]
    fn what_has_no_updates_or_ties_pages_together_is_refused() {
        let why = |requests: &[Request]| phased(requests, 1, 1).err().expect("refused").0;
        assert!(why(&[Request::new(Op::Read, 0, 8)]).contains("writes no page"));
        assert!(why(&[Request::new(Op::Trim, 0, 8)]).contains("writes no page"));
        assert!(why(&[Request::new(Op::Copy, 0, 8)]).contains("holds copies"));
    }
}
