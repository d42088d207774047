//! Copies in a workload: a share of its writes of whole pages becomes copies from other addresses.

use ssd_core::host::copy::SourceRange;
use ssd_core::host::request::{Op, TimedRequest};
use ssd_core::host::source::{Clients, Source, SourceError, clients_of};
use ssd_core::rng::Stream;
use ssd_core::units::{Nanos, SECTOR_BYTES};
use std::collections::VecDeque;

/// A source in which some writes become copies, each from one random range of the device.
pub(crate) struct CopyingSource {
    source: Box<dyn Source + Send>,
    share: f64,
    sectors_per_page: u64,
    user_pages: u64,
    random: Stream,
    /// Source ranges of the copies returned so far, until they are asked for.
    ranges: VecDeque<Vec<SourceRange>>,
}

impl CopyingSource {
    /// Turns `share` of the writes of `source` to a device of `user_pages` pages of `page_bytes` bytes into copies.
    pub(crate) fn new(
        source: Box<dyn Source + Send>,
        share: f64,
        (page_bytes, user_pages): (u32, u32),
        seed: u64,
    ) -> CopyingSource {
        CopyingSource {
            source,
            share,
            sectors_per_page: u64::from(page_bytes) / SECTOR_BYTES,
            user_pages: u64::from(user_pages),
            random: Stream::new(seed, "workload.copy"),
            ranges: VecDeque::new(),
        }
    }

    /// Returns the source of a copy of `pages` pages to page `first`: any range that does not overlap it, or `None` if
    /// no such range exists.
    fn place(&mut self, first: u64, pages: u64) -> Option<u64> {
        // Starts before and behind the destination.
        let before = (first + 1).saturating_sub(pages);
        let after = (self.user_pages + 1).saturating_sub(first + 2 * pages);
        if before + after == 0 {
            return None;
        }
        let drawn = self.random.below(before + after);
        Some(if drawn < before { drawn } else { first + pages + drawn - before })
    }

    /// Returns `timed`, or a copy that replaces it.
    fn replaced(&mut self, mut timed: TimedRequest) -> TimedRequest {
        if timed.request.op == Op::Copy {
            self.ranges.push_back(self.source.copy_sources());
        }
        let (request, page) = (&mut timed.request, self.sectors_per_page);
        let sectors = u64::from(request.sectors);
        let is_whole = request.sector.is_multiple_of(page) && sectors.is_multiple_of(page);
        if request.op == Op::Write && is_whole && self.random.chance(self.share) {
            let (first, pages) = (request.sector / page, sectors / page);
            if let Some(from) = self.place(first, pages) {
                timed.request.op = Op::Copy;
                self.ranges.push_back(vec![SourceRange { sector: from * page, sectors }]);
            }
        }
        timed
    }
}

impl Source for CopyingSource {
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        Ok(self.source.next_request()?.map(|timed| self.replaced(timed)))
    }

    fn copy_sources(&mut self) -> Vec<SourceRange> {
        self.ranges.pop_front().unwrap_or_default()
    }

    fn expected(&self) -> Option<u64> {
        self.source.expected()
    }

    fn clients(&mut self) -> Option<&mut dyn Clients> {
        self.source.clients()?;
        Some(self)
    }
}

impl Clients for CopyingSource {
    fn arrive(&mut self, now: Nanos) -> Result<Option<TimedRequest>, SourceError> {
        let next = clients_of(&mut *self.source).arrive(now)?;
        Ok(next.map(|timed| self.replaced(timed)))
    }

    fn due(&mut self) -> Option<Nanos> {
        clients_of(&mut *self.source).due()
    }

    fn completed(&mut self, number: u64) {
        clients_of(&mut *self.source).completed(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssd_core::host::request::Request;

    struct Writes(u64);

    impl Source for Writes {
        fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
            self.0 += 1;
            let request = Request::new(Op::Write, self.0 % 9 * 8, 16);
            Ok((self.0 <= 5000).then_some(TimedRequest { at: Nanos(self.0), request }))
        }
    }

    #[test]
    fn a_share_of_the_writes_comes_from_every_place_that_does_not_overlap() {
        let mut source = CopyingSource::new(Box::new(Writes(0)), 0.25, (4096, 10), 1);
        let (mut copies, mut places) = (0, std::collections::BTreeSet::new());
        while let Ok(Some(timed)) = source.next_request() {
            if timed.request.op == Op::Copy {
                copies += 1;
                let to = timed.request.sector / 8;
                let [range] = source.copy_sources()[..] else { panic!("one range") };
                assert_eq!((range.sectors, range.sector % 8), (16, 0));
                let from = range.sector / 8;
                assert!(from + 2 <= to || to + 2 <= from, "{from} to {to}");
                assert!(from + 2 <= 10);
                places.insert((from, to));
            }
        }
        assert!((1150..1350).contains(&copies), "{copies}");
        assert_eq!(places.len(), 2 * (1..=7).sum::<usize>(), "all pairs of places");
        assert_eq!(source.copy_sources(), []);
    }
}
