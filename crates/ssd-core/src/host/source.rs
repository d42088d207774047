//! Where requests come from.

use super::copy::SourceRange;
use super::request::TimedRequest;
use crate::units::Nanos;

/// Where requests come from: a trace, a generator, an application.
pub trait Source {
    /// The next request in order of arrival, or `None` at the end.
    ///
    /// # Errors
    /// [`SourceError`] names the place (file and line, or parameter) and the remedy.
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError>;

    /// Append up to `most` requests to `batch`; fewer only at the end. (A provided method: each source gets its own
    /// copy, in which the request is built in place.)
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

    /// The source ranges of a copy: at the first call, of the first one returned, then of the next.
    fn copy_sources(&mut self) -> Vec<SourceRange> {
        Vec::new()
    }

    /// Total number of requests, if known (for progress).
    fn expected(&self) -> Option<u64> {
        None
    }

    /// The clients behind this source, if arrivals depend on completions. A driver with a clock serves them instead of
    /// [`Source::next_request`], which assumes a device that takes no time.
    fn clients(&mut self) -> Option<&mut dyn Clients> {
        None
    }
}

/// Clients that wait for completions: each has its own queue, pace and end. Times count from the start of the run.
pub trait Clients {
    /// The next request that arrives at `now`; `None` if no other request arrives until time passes or a request
    /// completes. A request that a completion at `now` has released may carry its intended, earlier arrival.
    ///
    /// # Errors
    /// As [`Source::next_request`].
    fn arrive(&mut self, now: Nanos) -> Result<Option<TimedRequest>, SourceError>;

    /// When to ask again if nothing completes before; `None` means after the next completion, or never.
    fn due(&mut self) -> Option<Nanos>;

    /// Note that request `number`, counted from 0 in the order of arrival, has completed; [`Clients::arrive`] is called
    /// at that time.
    fn completed(&mut self, number: u64);
}

/// The clients of `source`.
///
/// # Panics
/// The source has no clients.
pub fn clients_of(source: &mut dyn Source) -> &mut dyn Clients {
    source.clients().expect("a source with clients keeps them")
}

/// Why a source cannot continue.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct SourceError(pub String);
