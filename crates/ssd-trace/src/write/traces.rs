//! From a trace in any readable format to any writable one, request by request: in memory for a few thousand
//! of them, whatever the length of the trace.

use super::{ConvertError, Counts, Options, Target, TraceWriter, WriteError};
use crate::config::Workload;
use crate::read::input::Step;
use crate::read::raw::{self, Reading, Stopped, VolumesReading};
use ssd_core::host::source::SourceError;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Largest number of volumes that are written in parallel; each takes half a megabyte.
pub const MAX_VOLUMES: usize = 256;

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

/// One volume that was split off.
#[derive(Clone, PartialEq, Debug)]
pub struct SplitVolume {
    /// Its number, as in `workload.volume`.
    pub volume: u64,
    /// Its name, such as "MAJ,MIN".
    pub name: String,
    /// Where it was written.
    pub path: PathBuf,
    /// What was written.
    pub counts: Counts,
}

/// Writes every volume of the trace that `workload` names to a separate file in `folder`, which must exist:
/// `volume-NUMBER` with the extension of the target. Each file is what [`convert_trace`] writes of that
/// volume. `progress` is called from time to time.
///
/// # Errors
/// [`ConvertError`], also for more than [`MAX_VOLUMES`] volumes. The folder is then incomplete, and the
/// caller has to remove its contents.
pub fn split_trace(
    workload: &Workload,
    folder: &Path,
    target: &Target,
    options: Options,
    progress: impl FnMut(Step) -> ControlFlow<()>,
) -> Result<(Reading, Vec<SplitVolume>), ConvertError> {
    let mut writers: BTreeMap<u64, Box<dyn TraceWriter>> = BTreeMap::new();
    let path_of = |volume| folder.join(format!("volume-{volume}.{}", target.extension));
    let (mut failed, mut done) = (None, 0);
    let read = raw::each_request_by_volume(workload, progress, |volume, timed| {
        done += 1;
        if !writers.contains_key(&volume) {
            if writers.len() == MAX_VOLUMES {
                let remedy = "convert them one by one with workload.volume";
                let text = format!("more than {MAX_VOLUMES} volumes; {remedy}");
                return Err(SourceError(text));
            }
            let writer = target.create(&path_of(volume), options);
            writers.insert(volume, writer.map_err(|error| kept(&mut failed, error))?);
        }
        let writer = writers.get_mut(&volume).expect("it has just been put there");
        writer.write(timed).map_err(|error| kept(&mut failed, error))
    });
    let VolumesReading { reading, mut names } = ended(failed, read, done)?;
    let mut all = Vec::with_capacity(writers.len());
    for (volume, writer) in writers {
        let name = names.remove(&volume).unwrap_or_default();
        all.push(SplitVolume { volume, name, path: path_of(volume), counts: writer.finish()? });
    }
    Ok((reading, all))
}

/// Keeps the error of a writer while the reading ends.
#[cold]
fn kept(failed: &mut Option<WriteError>, error: WriteError) -> SourceError {
    let text = SourceError(error.to_string());
    *failed = Some(error);
    text
}

/// The result of a reading.
fn ended<T>(
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
