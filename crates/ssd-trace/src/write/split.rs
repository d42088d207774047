//! Splits a trace into one file per volume, in one pass over the trace.
//!
//! The files of [`MOST_OPEN`] volumes are written while the trace is read. The requests of all other volumes first go
//! to temporary files, one for every further [`MOST_OPEN`] volumes, which are then read back one after the other. The
//! number of open files and the memory are therefore bounded.

use super::spill::Spill;
use super::traces::{ended, keep_error};
use super::{ConvertError, Counts, Options, Target, TraceWriter, WriteError};
use crate::config::Workload;
use crate::read::input::Step;
use crate::read::raw::{self, Reading, VolumesReading};
use ssd_core::host::request::TimedRequest;
use ssd_core::host::source::SourceError;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Maximum number of volume files open at a time, with half a megabyte of memory each; also the maximum number of
/// temporary files.
pub const MOST_OPEN: usize = 256;
/// Maximum number of volumes.
const MOST_VOLUMES: usize = MOST_OPEN * (MOST_OPEN + 1);
/// Requests between two calls of the progress callback while a temporary file is read.
const BATCH: u64 = 1 << 16;

/// A volume that was split off.
#[derive(Clone, PartialEq, Debug)]
pub struct SplitVolume {
    /// Number of the volume, as in `workload.volume`.
    pub volume: u64,
    /// Name of the volume, such as "MAJ,MIN".
    pub name: String,
    /// Path of its file.
    pub path: PathBuf,
    /// What was written.
    pub counts: Counts,
}

/// Writes every volume of the trace that `workload` names to a separate file in `folder`, which must exist:
/// `volume-NUMBER` with the extension of the target. Each file equals what [`super::convert_trace`] writes for that
/// volume. `progress` is called periodically.
///
/// # Errors
/// [`ConvertError`], also for more than 65,792 volumes. The folder is incomplete then, and the caller must remove its
/// contents.
pub fn split_trace(
    workload: &Workload,
    folder: &Path,
    target: &Target,
    options: Options,
    mut progress: impl FnMut(Step) -> ControlFlow<()>,
) -> Result<(Reading, Vec<SplitVolume>), ConvertError> {
    let mut open = OpenVolumes { folder, target, options, writers: BTreeMap::new() };
    let mut later = SpilledVolumes { folder, spills: Vec::new(), places: BTreeMap::new() };
    let (mut failed, mut done, mut last) = (None, 0, Step::Read(0));
    let watch = |step| {
        last = step;
        progress(step)
    };
    let read = raw::each_request_by_volume(workload, watch, |volume, timed| {
        done += 1;
        let written = if open.takes(volume) {
            open.write(volume, timed)
        } else {
            later.place(volume)?.and_then(|spill| spill.append(volume, timed))
        };
        written.map_err(|error| keep_error(&mut failed, error))
    });
    let VolumesReading { reading, mut names } = ended(failed, read, done)?;
    let mut traces = open.finish()?;
    for spill in later.spills {
        let (mut part, mut back) = (OpenVolumes { writers: BTreeMap::new(), ..open }, 0);
        let mut interrupted = false;
        spill.read(|volume, timed| {
            back += 1;
            interrupted = interrupted || (back % BATCH == 0 && progress(last).is_break());
            if interrupted { Ok(()) } else { part.write(volume, timed) }
        })?;
        if interrupted {
            return Err(ConvertError::Interrupted { done });
        }
        traces.append(&mut part.finish()?);
    }
    assert_eq!(
        traces.iter().map(|(_, counts)| counts.requests + left_out(counts)).sum::<u64>(),
        done
    );
    traces.sort_unstable_by_key(|(volume, _)| *volume);
    let volumes = traces.into_iter().map(|(volume, counts)| SplitVolume {
        volume,
        name: names.remove(&volume).unwrap_or_default(),
        path: path_of(folder, target, volume),
        counts,
    });
    Ok((reading, volumes.collect()))
}

fn left_out(counts: &Counts) -> u64 {
    counts.dropped.iter().sum()
}

fn path_of(folder: &Path, target: &Target, volume: u64) -> PathBuf {
    folder.join(format!("volume-{volume}.{}", target.extension))
}

/// The volumes whose files are open.
struct OpenVolumes<'a> {
    folder: &'a Path,
    target: &'a Target,
    options: Options,
    writers: BTreeMap<u64, Box<dyn TraceWriter>>,
}

impl OpenVolumes<'_> {
    /// Returns whether the file of `volume` is open or can be opened.
    fn takes(&self, volume: u64) -> bool {
        self.writers.len() < MOST_OPEN || self.writers.contains_key(&volume)
    }

    fn write(&mut self, volume: u64, timed: &TimedRequest) -> Result<(), WriteError> {
        assert!(self.takes(volume), "more volumes than files");
        if !self.writers.contains_key(&volume) {
            let path = path_of(self.folder, self.target, volume);
            self.writers.insert(volume, self.target.create(&path, self.options)?);
        }
        self.writers.get_mut(&volume).expect("it has just been put there").write(timed)
    }

    /// Completes all files; returns what was written of each volume.
    fn finish(&mut self) -> Result<Vec<(u64, Counts)>, WriteError> {
        let writers = std::mem::take(&mut self.writers).into_iter();
        writers.map(|(volume, writer)| Ok((volume, writer.finish()?))).collect()
    }
}

/// The volumes that wait in temporary files.
struct SpilledVolumes<'a> {
    folder: &'a Path,
    spills: Vec<Spill>,
    places: BTreeMap<u64, usize>,
}

impl SpilledVolumes<'_> {
    /// Returns the temporary file of `volume`; the outer error refuses the trace.
    fn place(&mut self, volume: u64) -> Result<Result<&mut Spill, WriteError>, SourceError> {
        let next = self.places.len();
        let place = *self.places.entry(volume).or_insert(next / MOST_OPEN);
        if place == MOST_OPEN {
            let remedy = "convert them one by one with workload.volume";
            return Err(SourceError(format!("more than {MOST_VOLUMES} volumes; {remedy}")));
        }
        if place == self.spills.len() {
            match Spill::create(&self.folder.join(format!(".spilled-{place}"))) {
                Ok(spill) => self.spills.push(spill),
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(&mut self.spills[place]))
    }
}
