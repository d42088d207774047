//! Independent updates: `workload.phases = "independent"`.
//!
//! A recorded trace on a drive of its size is one application: pages that are written together also become invalid
//! together. On a drive that many such applications share, their bursts mix. Independent phases are the limit of this
//! mixture: the intervals between the updates of a page do not change, but each page has its own start in the loop.

use crate::read::input::{Step, Watch};
use crate::read::replay::TraceSource;
use crate::read::trace_cache::TraceCache;
use crate::read::updates::{Kind, Updates};
use ssd_core::host::request::{Op, Request, TimedRequest};
use ssd_core::host::source::{Source, SourceError};
use ssd_core::units::{Nanos, SECTOR_BYTES};
use std::ops::ControlFlow;
use std::sync::Arc;

/// The updates of a trace, with those of each page shifted cyclically by a separate phase ([`Updates`]). Every loop has
/// the same order.
pub(crate) struct PhasedUpdates {
    updates: Arc<Updates>,
    sectors_per_page: u32,
    next: usize,
    round: u32,
    loops: u32,
}

impl PhasedUpdates {
    /// Creates the updates of one loop, `source`, on pages of `page_bytes`, repeated `loops` times; `seed` draws the
    /// phases. They are shared with other runs that have the same trace from `store`.
    ///
    /// # Errors
    /// `source` contains copies or updates no page, or `watch` has ended it.
    pub(crate) fn new(
        source: TraceSource,
        (page_bytes, loops): (u32, u32),
        seed: u64,
        store: Option<&TraceCache>,
        watch: &mut dyn FnMut(Step) -> ControlFlow<()>,
    ) -> Result<PhasedUpdates, SourceError> {
        let (sectors_per_page, watch) = (page_bytes / SECTOR_BYTES as u32, Watch::new(watch));
        let make = || Updates::shifted(&source, sectors_per_page, seed, &watch);
        let updates = match store {
            Some(store) => {
                store.updates.get(source.key_of_updates(sectors_per_page, seed), make)?
            }
            None => Arc::new(make()?),
        };
        Ok(PhasedUpdates::of(updates, sectors_per_page, loops))
    }

    fn of(updates: Arc<Updates>, sectors_per_page: u32, loops: u32) -> PhasedUpdates {
        PhasedUpdates { updates, sectors_per_page, next: 0, round: 0, loops }
    }
}

impl Source for PhasedUpdates {
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        if self.next == self.updates.len() {
            if self.round + 1 >= self.loops {
                return Ok(None);
            }
            (self.round, self.next) = (self.round + 1, 0);
        }
        let (page, Kind { stream, is_trim }) = self.updates.at(self.next);
        self.next += 1;
        let op = if is_trim { Op::Trim } else { Op::Write };
        let sector = u64::from(page) * u64::from(self.sectors_per_page);
        let request = Request { stream, ..Request::new(op, sector, self.sectors_per_page) };
        Ok(Some(TimedRequest { at: Nanos::ZERO, request }))
    }

    fn expected(&self) -> Option<u64> {
        Some(self.updates.len() as u64 * u64::from(self.loops))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::updates::pages;
    use ssd_core::rng::Stream;
    use std::collections::{BTreeMap, VecDeque};

    const PAGE: u32 = 8;

    #[derive(Clone)]
    struct ListSource(VecDeque<Request>);

    impl Source for ListSource {
        fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
            Ok(self.0.pop_front().map(|request| TimedRequest { at: Nanos(3), request }))
        }
    }

    fn phased(requests: &[Request], loops: u32, seed: u64) -> Result<PhasedUpdates, SourceError> {
        let (round, mut nobody) =
            (ListSource(requests.iter().copied().collect()), |_| ControlFlow::Continue(()));
        let updates = Updates::shifted(&round, PAGE, seed, &Watch::new(&mut nobody))?;
        Ok(PhasedUpdates::of(Arc::new(updates), PAGE, loops))
    }

    fn updates(mut source: PhasedUpdates) -> Vec<(Op, u64)> {
        let mut updates = Vec::new();
        while let Some(TimedRequest { request, .. }) = source.next_request().unwrap() {
            assert_eq!((request.sector % 8, request.sectors), (0, 8), "one whole page");
            updates.push((request.op, request.sector / 8));
        }
        updates
    }

    /// Returns, for each page, the numbers of writes before its updates, in a loop of `n` writes.
    fn times(updates: &[(Op, u64)]) -> BTreeMap<u64, Vec<(u64, Op)>> {
        let (mut written, mut times) = (0, BTreeMap::new());
        for &(op, page) in updates {
            times.entry(page).or_insert_with(Vec::new).push((written, op));
            written += u64::from(op == Op::Write);
        }
        times
    }

    /// Returns writes of 1 to 3 pages of 40, some of them partial, reads, flushes, and TRIMs.
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

    /// A literal version: for each position of the loop, the updates that are shifted to it, in recorded order.
    #[test]
    fn updates_come_where_their_page_is_shifted_to() {
        for seed in 0..20 {
            let recorded = requests(seed);
            let updates_of = |&request: &Request| {
                pages(&request, PAGE).map(move |page| (request.op, u64::from(page)))
            };
            let updating = recorded.iter().filter(|r| matches!(r.op, Op::Write | Op::Trim));
            let as_is: Vec<(Op, u64)> = updating.flat_map(updates_of).collect();
            let written = as_is.iter().filter(|&&(op, _)| op == Op::Write).count() as u64;
            let (mut phases, mut drawn) = ([None; 50], Stream::new(seed, "workload.phases"));
            let (mut before, mut places) = (0, Vec::new());
            for &(op, page) in &as_is {
                let phase = *phases[page as usize].get_or_insert_with(|| drawn.below(written));
                places.push((before + phase) % written);
                before += u64::from(op == Op::Write);
            }
            let shifted_to = |place| {
                let here = (0..as_is.len()).filter(|&at| places[at] == place);
                here.map(|at| as_is[at]).collect::<Vec<_>>()
            };
            let expected: Vec<(Op, u64)> = (0..written).flat_map(&shifted_to).collect();
            assert_eq!(updates(phased(&recorded, 1, seed).unwrap()), expected);
        }
    }

    #[test]
    fn every_update_keeps_its_stream() {
        // The first updates have no stream; kinds are stored from the first other update on.
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
        let reason = |requests: &[Request]| phased(requests, 1, 1).err().expect("refused").0;
        assert!(reason(&[Request::new(Op::Read, 0, 8)]).contains("writes no page"));
        assert!(reason(&[Request::new(Op::Trim, 0, 8)]).contains("writes no page"));
        assert!(reason(&[Request::new(Op::Copy, 0, 8)]).contains("holds copies"));
    }
}
