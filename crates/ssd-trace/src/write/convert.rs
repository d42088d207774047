//! Conversion from any source to any writer.

use super::{Counts, TraceWriter, WriteError};
use crate::read::copies;
use ssd_core::host::request::Op;
use ssd_core::host::source::{Source, SourceError};
use std::ops::ControlFlow;

/// Requests between two calls of the progress callback.
pub const BATCH: usize = 4096;

/// Progress of a conversion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Requests taken from the source.
    pub done: u64,
    /// Requests that the source will return in total, if known.
    pub expected: Option<u64>,
}

/// Why a conversion did not complete. No file remains.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConvertError {
    /// The source cannot continue.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The writer cannot continue.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The callback ended the conversion.
    #[error("interrupted after {done} requests; nothing was written")]
    Interrupted {
        /// Requests taken from the source before that.
        done: u64,
    },
}

/// Writes all requests of `source` with `writer`; at most [`BATCH`] of them are in memory.
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
    // The sources of copies are records in addition to the one of each request.
    let (mut batch, mut done, mut parts) = (Vec::with_capacity(BATCH), 0, 0);
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
            if timed.request.op == Op::Copy {
                let sources = source.copy_sources();
                let records = copies::records(timed, &sources).ok_or_else(|| {
                    SourceError("a copy of more than 2^32 sectors from one place".to_string())
                })?;
                records.iter().try_for_each(|part| writer.write(part))?;
                parts += records.len() as u64 - 1;
            } else {
                writer.write(timed)?;
            }
        }
        done += batch.len() as u64;
    }
    let counts = writer.finish()?;
    assert_eq!(counts.requests + counts.dropped.iter().sum::<u64>(), done + parts);
    Ok(counts)
}
