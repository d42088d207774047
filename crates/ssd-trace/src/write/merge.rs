//! Merges several traces in order of time; each becomes a volume with separate addresses.

use super::traces::ended;
use super::{ConvertError, Counts, TraceWriter};
use crate::config::Workload;
use crate::read::commands::of_merge;
use crate::read::formats::Event;
use crate::read::input::Step;
use crate::read::raw::{self, Reading, ReadingError};
use crate::read::sort::{Entry, Room, Sorter};
use ssd_core::host::source::SourceError;
use std::ops::ControlFlow;

/// Sorted requests between two calls of the progress callback.
const BATCH: u64 = 1 << 14;

/// Writes the traces that `workloads` name with `writer`: the requests of the first trace have volume 0, those of the
/// next volume 1 and so on. Time 0 of every trace is time 0 of the result. Requests at equal times are in the order of
/// the traces. `progress` is called periodically.
///
/// # Errors
/// [`ConvertError`]. The target is unchanged then.
pub fn merge_traces(
    workloads: &[Workload],
    mut writer: Box<dyn TraceWriter>,
    mut progress: impl FnMut(Step) -> ControlFlow<()>,
) -> Result<(Vec<Reading>, Counts), ConvertError> {
    let mut sorter = Sorter::new("the merged trace", Room::default());
    let (mut readings, mut done) = (Vec::new(), 0);
    for (volume, workload) in (0u64..).zip(workloads) {
        let read = raw::each_request(workload, &mut progress, |timed| {
            done += 1;
            sorter.push(Event { volume, ..Event::of(timed) }, done)
        });
        let read = read.map_err(|stopped| match stopped {
            ReadingError::Refused(error) => ReadingError::Refused(SourceError(of_merge(&error.0))),
            ReadingError::Interrupted => stopped,
        });
        readings.push(ended(None, read, done)?);
    }
    let (mut failed, mut written, total) = (None, 0, sorter.total());
    let merged = sorter.finish(|Entry { event, .. }| {
        if written % BATCH == 0 && progress(Step::Sorted { done: written, total }).is_break() {
            return ControlFlow::Break(());
        }
        written += 1;
        let mut timed = event.request(event.at_ns);
        timed.request.volume = event.volume as u16; // At most one trace per argument.
        match writer.write(&timed) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    });
    match (failed, merged) {
        (Some(error), _) => Err(error.into()),
        (None, Err(error)) => Err(error.into()),
        (None, Ok(ControlFlow::Break(_))) => Err(ConvertError::Interrupted { done }),
        (None, Ok(ControlFlow::Continue(()))) => Ok((readings, writer.finish()?)),
    }
}
