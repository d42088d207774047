//! From any source to any writer.

use super::{Counts, TraceWriter, WriteError};
use ssd_core::host::request::{Source, SourceError};
use std::ops::ControlFlow;

/// Requests between two calls of the progress callback.
pub const BATCH: usize = 4096;

/// Progress of a conversion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Requests taken from the source.
    pub done: u64,
    /// Requests that will be taken, if the source knows.
    pub expected: Option<u64>,
}

/// Why a conversion did not complete. No file is left.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConvertError {
    /// The source cannot continue.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The writer cannot continue.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The callback asked to stop.
    #[error("interrupted after {done} requests; nothing was written")]
    Interrupted {
        /// Requests taken from the source until then.
        done: u64,
    },
}

/// Writes all requests of `source` with `writer`, in memory for [`BATCH`] of them.
///
/// `progress` is called before the first request, after every [`BATCH`] requests and at the end;
/// [`ControlFlow::Break`] interrupts.
///
/// # Errors
/// [`ConvertError`]. The target is then unchanged.
pub fn convert(
    source: &mut dyn Source,
    mut writer: Box<dyn TraceWriter + '_>,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Counts, ConvertError> {
    let (mut batch, mut done) = (Vec::with_capacity(BATCH), 0);
    loop {
        if progress(Progress { done, expected: source.expected() }).is_break() {
            return Err(ConvertError::Interrupted { done });
        }
        batch.clear();
        source.fill(&mut batch, BATCH)?;
        assert!(batch.len() <= BATCH);
        if batch.is_empty() {
            break;
        }
        for timed in &batch {
            writer.write(timed)?;
        }
        done += batch.len() as u64;
    }
    let counts = writer.finish()?;
    assert_eq!(counts.requests + counts.dropped.iter().sum::<u64>(), done);
    Ok(counts)
}
