//! From a trace in any readable format to any writable one, request by request: in memory for a few thousand
//! of them, whatever the length of the trace.

use super::{ConvertError, Counts, TraceWriter, WriteError};
use crate::config::Workload;
use crate::read::input::Step;
use crate::read::raw::{self, Reading, Stopped};
use ssd_core::host::source::SourceError;
use std::ops::ControlFlow;

/// Writes the trace that `workload` names with `writer`. Time 0 of the result is time 0 of `workload.from`,
/// its volume 0; see [`raw::each_request`] for the keys that count. `progress` is called from time to time.
///
/// # Errors
/// [`ConvertError`]. The target is then unchanged.
pub fn convert_trace(
    workload: &Workload,
    mut writer: Box<dyn TraceWriter>,
    progress: impl FnMut(Step) -> ControlFlow<()>,
) -> Result<(Reading, Counts), ConvertError> {
    let (mut failed, mut done) = (None, 0);
    let read = raw::each_request(workload, progress, |timed| {
        done += 1;
        writer.write(timed).map_err(|error| kept(&mut failed, error))
    });
    let reading = ended(failed, read, done)?;
    Ok((reading, writer.finish()?))
}

/// Keeps the error of a writer while the reading ends.
#[cold]
pub(super) fn kept(failed: &mut Option<WriteError>, error: WriteError) -> SourceError {
    let text = SourceError(error.to_string());
    *failed = Some(error);
    text
}

/// The result of a reading.
pub(super) fn ended<T>(
    failed: Option<WriteError>,
    read: Result<T, Stopped>,
    done: u64,
) -> Result<T, ConvertError> {
    match (failed, read) {
        (Some(error), _) => Err(error.into()),
        (None, Ok(reading)) => Ok(reading),
        (None, Err(Stopped::Refused(error))) => Err(error.into()),
        (None, Err(Stopped::Interrupted)) => Err(ConvertError::Interrupted { done }),
    }
}
