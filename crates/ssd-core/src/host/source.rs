//! Where requests come from.

use super::copy::SourceRange;
use super::request::TimedRequest;

/// Where requests come from: a trace, a generator, an application.
pub trait Source {
    /// The next request in order of arrival, or `None` at the end.
    ///
    /// # Errors
    /// [`SourceError`] names the place (file and line, or parameter) and the remedy.
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError>;

    /// Append up to `most` requests to `batch`; fewer only at the end. (A provided method: each source gets a
    /// copy of it in which the request is built in place.)
    ///
    /// # Errors
    /// As [`Source::next_request`]; requests before the error are in `batch`.
    fn fill(&mut self, batch: &mut Vec<TimedRequest>, most: usize) -> Result<(), SourceError> {
        for _ in 0..most {
            match self.next_request()? {
                Some(request) => batch.push(request),
                None => break,
            }
        }
        Ok(())
    }

    /// The source ranges of a copy: of the first one returned, at the first call, then of the next.
    fn copy_sources(&mut self) -> Vec<SourceRange> {
        Vec::new()
    }

    /// Total number of requests, where it is known (for progress).
    fn expected(&self) -> Option<u64> {
        None
    }
}

/// Why a source cannot continue.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct SourceError(pub String);
