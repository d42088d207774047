//! Requests that cover whole pages: `workload.whole_pages`.

use ssd_core::host::copy::SourceRange;
use ssd_core::host::request::{Op, Request, TimedRequest};
use ssd_core::host::source::{Clients, Source, SourceError, clients_of};
use ssd_core::units::{Nanos, SECTOR_BYTES};

/// The requests of another source, extended to whole pages.
pub(crate) struct WholePages {
    source: Box<dyn Source + Send>,
    page_sectors: u32,
}

impl WholePages {
    /// Extends the requests of `source` to pages of `page_bytes`, a multiple of a sector.
    pub(crate) fn new(source: Box<dyn Source + Send>, page_bytes: u32) -> WholePages {
        assert!(page_bytes.is_multiple_of(SECTOR_BYTES as u32), "pages of whole sectors");
        WholePages { source, page_sectors: page_bytes / SECTOR_BYTES as u32 }
    }

    /// Returns the extended request. TRIMs are not extended, because a partially trimmed page keeps its data.
    fn widened(&self, request: Request) -> Request {
        if !matches!(request.op, Op::Read | Op::Write) {
            return request;
        }
        let page = u64::from(self.page_sectors);
        let before = request.sector % page;
        let sectors = (before + u64::from(request.sectors)).next_multiple_of(page);
        // Above 2 TiB a request exceeds any device, which refuses it unchanged.
        let sectors = u32::try_from(sectors).unwrap_or(request.sectors);
        Request { sector: request.sector - before, sectors, ..request }
    }
}

impl Source for WholePages {
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        let next = self.source.next_request()?;
        Ok(next.map(|timed| TimedRequest { request: self.widened(timed.request), ..timed }))
    }

    fn copy_sources(&mut self) -> Vec<SourceRange> {
        self.source.copy_sources()
    }

    fn expected(&self) -> Option<u64> {
        self.source.expected()
    }

    fn clients(&mut self) -> Option<&mut dyn Clients> {
        self.source.clients()?;
        Some(self)
    }
}

impl Clients for WholePages {
    fn arrive(&mut self, now: Nanos) -> Result<Option<TimedRequest>, SourceError> {
        let next = clients_of(&mut *self.source).arrive(now)?;
        Ok(next.map(|timed| TimedRequest { request: self.widened(timed.request), ..timed }))
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

    struct SingleRequest(Option<Request>);

    impl Source for SingleRequest {
        fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
            Ok(self.0.take().map(|request| TimedRequest { at: Nanos(7), request }))
        }
    }

    #[test]
    fn starts_are_rounded_down_and_ends_up() {
        for (op, stated, expected) in [
            (Op::Write, (0, 8), (0, 8)),
            (Op::Write, (1, 1), (0, 8)),
            (Op::Read, (7, 2), (0, 16)),
            (Op::Write, (8, 9), (8, 16)),
            (Op::Read, (15, 9), (8, 16)),
            (Op::Read, (9, u32::MAX), (8, u32::MAX)),
            (Op::Trim, (7, 2), (7, 2)),
            (Op::Flush, (0, 0), (0, 0)),
        ] {
            let inner = Box::new(SingleRequest(Some(Request::new(op, stated.0, stated.1))));
            let mut source = WholePages::new(inner, 4096);
            let found = source.next_request().unwrap().unwrap();
            assert_eq!(found.at, Nanos(7));
            assert_eq!(found.request.op, op);
            assert_eq!(
                (found.request.sector, found.request.sectors),
                expected,
                "{op:?} {stated:?}"
            );
            assert!(source.next_request().unwrap().is_none());
        }
    }
}
