//! Conversion of a trace from any readable to any writable format, request by request: at most a few thousand requests
//! are in memory, whatever the length of the trace.

use super::{ConvertError, Counts, TraceWriter, WriteError};
use crate::config::Workload;
use crate::read::input::Step;
use crate::read::raw::{self, Reading, ReadingError};
use ssd_core::host::source::SourceError;
use std::ops::ControlFlow;

/// Writes the trace that `workload` names with `writer`. Time 0 of the result is `workload.from`, and its volume is 0;
/// see [`raw::each_request`] for the keys that apply. `progress` is called periodically.
///
/// # Errors
/// [`ConvertError`]. The target is unchanged then.
pub fn convert_trace(
    workload: &Workload,
    mut writer: Box<dyn TraceWriter>,
    progress: impl FnMut(Step) -> ControlFlow<()>,
) -> Result<(Reading, Counts), ConvertError> {
    let (mut failed, mut done) = (None, 0);
    let read = raw::each_request(workload, progress, |timed| {
        done += 1;
        writer.write(timed).map_err(|error| keep_error(&mut failed, error))
    });
    let reading = ended(failed, read, done)?;
    Ok((reading, writer.finish()?))
}

/// Stores the error of a writer, and returns the error that ends the reading.
#[cold]
pub(super) fn keep_error(failed: &mut Option<WriteError>, error: WriteError) -> SourceError {
    let text = SourceError(error.to_string());
    *failed = Some(error);
    text
}

/// Returns the result of a reading.
pub(super) fn ended<T>(
    failed: Option<WriteError>,
    read: Result<T, ReadingError>,
    done: u64,
) -> Result<T, ConvertError> {
    match (failed, read) {
        (Some(error), _) => Err(error.into()),
        (None, Ok(reading)) => Ok(reading),
        (None, Err(ReadingError::Refused(error))) => Err(error.into()),
        (None, Err(ReadingError::Interrupted)) => Err(ConvertError::Interrupted { done }),
    }
}
