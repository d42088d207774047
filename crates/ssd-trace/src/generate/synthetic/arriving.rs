//! A source with replaced arrival times.

use super::arrivals::Arrivals;
use crate::config::Workload;
use ssd_core::host::request::TimedRequest;
use ssd_core::host::source::{Source, SourceError};
use ssd_core::rng::Stream;

/// The requests of a source with other arrival times.
pub struct RetimedSource<S> {
    source: S,
    arrivals: Arrivals,
    count: u64,
}

impl<S: Source> RetimedSource<S> {
    /// Gives the requests of `source` the times of `workload.arrival`.
    ///
    /// # Errors
    /// A value of `workload.arrival` is out of range.
    pub fn new(source: S, workload: &Workload, seed: u64) -> Result<RetimedSource<S>, SourceError> {
        let arrivals = Arrivals::new(workload, Stream::new(seed, "workload.arrival"))?;
        Ok(RetimedSource { source, arrivals, count: 0 })
    }
}

impl<S: Source> Source for RetimedSource<S> {
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        let Some(request) = self.source.next_request()? else { return Ok(None) };
        let at = self.arrivals.next_arrival(self.count)?;
        self.count += 1;
        Ok(Some(TimedRequest { at, ..request }))
    }

    fn expected(&self) -> Option<u64> {
        self.source.expected()
    }
}
