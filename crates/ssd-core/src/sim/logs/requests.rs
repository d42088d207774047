//! The request log: one record per request, in order of completion.

use crate::host::copy::SourceRange;
use crate::host::request::Request;
use crate::metrics::counters::Parts;
use crate::nand::geometry::Geometry;
use crate::sim::front::pages_of;
use crate::sim::front::request::InFlightRequest;
use crate::units::Nanos;
use std::collections::BTreeMap;

/// One line of the request log.
#[derive(Clone, Debug)]
pub struct RequestRecord {
    /// Number.
    pub id: u64,
    /// The request.
    pub request: Request,
    /// First page touched.
    pub lpn: u32,
    /// Pages touched.
    pub pages: u32,
    /// Arrival.
    pub arrival: Nanos,
    /// Completion.
    pub completion: Nanos,
    /// Where its time went.
    pub parts: Parts,
    /// Digest of the data read (digest and bytes mode).
    pub digest: u64,
    /// First pages and lengths of the source ranges of a copy.
    pub sources: Vec<(u32, u32)>,
}

/// Records that have not been drained.
#[derive(Default)]
pub(crate) struct RequestLog {
    records: Vec<RequestRecord>,
    /// The source ranges of copies under way, by number.
    copied_from: BTreeMap<u64, Vec<SourceRange>>,
}

impl RequestLog {
    /// Note that copy `id` of these source ranges arrives.
    pub(crate) fn note_copy(&mut self, id: u64, ranges: Vec<SourceRange>) {
        debug_assert!(!ranges.is_empty(), "copy {id} has no source");
        self.copied_from.insert(id, ranges);
    }

    /// Log that request `r` completes at `now`; `parts`: where its time went.
    #[inline(never)]
    pub(crate) fn log_request(
        &mut self,
        now: Nanos,
        r: &InFlightRequest,
        parts: &Parts,
        geo: &Geometry,
    ) {
        let pages = pages_of(geo, &r.request);
        debug_assert!(pages.first + pages.count <= geo.user_pages, "pages {pages:?}");
        let page = |sectors: u64| (sectors >> geo.sector_shift) as u32;
        let ranges = self.copied_from.remove(&r.id).unwrap_or_default();
        let sources = ranges.iter().map(|range| (page(range.sector), page(range.sectors)));
        self.records.push(RequestRecord {
            id: r.id,
            request: r.request,
            lpn: pages.first,
            pages: pages.count,
            arrival: r.arrival,
            completion: now,
            parts: *parts,
            digest: r.digest,
            sources: sources.collect(),
        });
    }

    /// Return the records of completed requests, in order of completion.
    pub(crate) fn drain(&mut self, out: &mut Vec<RequestRecord>) {
        out.append(&mut self.records);
    }

    pub(super) fn audit(&self, submitted: u64) -> Result<(), String> {
        if self.copied_from.keys().any(|&id| id >= submitted) {
            return Err("a copy that has not been submitted has source ranges".to_string());
        }
        let logged = self.records.len() as u64;
        if logged > submitted {
            return Err(format!("{logged} requests are logged, {submitted} submitted"));
        }
        Ok(())
    }
}
