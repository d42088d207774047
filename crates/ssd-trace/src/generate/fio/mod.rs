//! fio's job files as workloads.
//!
//! Route: `ini` (sections, keys) -> `option` (how a key is treated) -> `job` (options of a job) -> `instance`, which
//! follows fio's main loop: `content` determines the next request, `places` its address, `pace` its time. `source` lets
//! the instances take turns. Access patterns are fio's, its random numbers are not (checked against fio itself,
//! `tests/suite/fio_like.rs`). Differences:
//!
//! - Jobs without `filename` have one file each, laid out one after the other on the device.
//! - All requests reach the device: `direct`, page cache and engine make no difference.

mod content;
mod free;
mod ini;
mod instance;
mod job;
mod kinds;
mod option;
mod pace;
mod places;
mod source;
mod value;

pub use option::{Class, FioOption, all as options, engines_without_device};
pub use source::FioSource;

use instance::Instance;
use job::Job;
use ssd_core::host::source::SourceError;
use std::collections::BTreeMap;

/// An error in a job file, and its line.
#[derive(Debug)]
struct JobFileError {
    line: usize,
    text: String,
}

impl JobFileError {
    fn at(line: usize, text: &str) -> JobFileError {
        JobFileError { line, text: text.to_owned() }
    }

    fn of(self, file: &str) -> SourceError {
        SourceError(format!("{file}: line {}: {}", self.line, self.text))
    }
}

/// A job file.
#[derive(Debug)]
pub struct JobFile {
    name: String,
    jobs: Vec<Job>,
    ignored: Vec<&'static str>,
}

/// What a job file requires of the host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostRequirements {
    /// Maximum of outstanding requests: the sum of the depths of the jobs that run at the same time.
    pub depth: u64,
    /// Arrivals of a job follow its rate, regardless of completions.
    pub is_open: bool,
    /// Why its requests have no end on a device that takes no time.
    pub needs_time: Option<String>,
    /// Options without effect.
    pub ignored: Vec<&'static str>,
}

impl HostRequirements {
    /// Returns a warning that lists the options without effect.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        (!self.ignored.is_empty()).then(|| {
            format!(
                "workload.job: options of fio without effect on a device: {}",
                self.ignored.join(", ")
            )
        })
    }
}

impl JobFile {
    /// Parses the jobs in `text`; `name` is the name of the file, for messages.
    ///
    /// # Errors
    /// Names file, line and option.
    pub fn parse(text: &str, name: &str) -> Result<JobFile, SourceError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let jobs = ini::sections(text).and_then(|sections| job::jobs(&sections));
        let (jobs, ignored) = jobs.map_err(|trouble| trouble.of(name))?;
        let file = JobFile { name: name.to_owned(), jobs, ignored };
        file.check().map_err(|trouble| trouble.of(name))?;
        Ok(file)
    }

    fn check(&self) -> Result<(), JobFileError> {
        for (at, job) in self.jobs.iter().enumerate() {
            let fail = |text: &str| Err(JobFileError::at(job.line, text));
            let pacing = &job.pacing;
            if (0..3).any(|op| pacing.rate[op] > 0 && pacing.iops[op] > 0) {
                return fail("rate, rate_iops: set one of them");
            }
            if job.lfsr && job.align.iter().any(Option::is_some) {
                return fail("random_generator=lfsr, blockalign: set one of them");
            }
            if job.strides.on && (job.random || job.step != 0) {
                return fail("zonemode=strided: only sequential jobs stay in zones here");
            }
            if let Some(name) = &job.waits_for {
                let matches = self.jobs[..at].iter().filter(|job| job.name == *name).count();
                if matches != 1 {
                    let text = format!(
                        "wait_for: {matches} jobs before {} are called {name:?}; expected one",
                        job.name
                    );
                    return fail(&text);
                }
            }
        }
        Ok(())
    }

    /// Returns what the job file requires of the host.
    #[must_use]
    pub fn hosting(&self) -> HostRequirements {
        let (mut deepest, mut depth) = (0u64, 0u64);
        for job in &self.jobs {
            depth = if job.waits { 0 } else { depth };
            depth = depth.saturating_add(job.pacing.depth.saturating_mul(job.instances));
            deepest = deepest.max(depth);
        }
        let timeless = self
            .jobs
            .iter()
            .find(|job| job.pacing.runtime_ns > 0 && job.pacing.is_timeless(job.mix));
        let needs_time = timeless.map(|job| {
            let text = "runtime: this job ends by the clock of a device: run it with run.mode = \
                        \"timed\", or set rate or thinktime";
            JobFileError::at(job.line, text).of(&self.name).0
        });
        let is_open = self.jobs.iter().any(|job| job.pacing.offload);
        HostRequirements { depth: deepest, is_open, needs_time, ignored: self.ignored.clone() }
    }

    /// Returns the requests of the jobs on a device of `device_bytes`.
    ///
    /// # Errors
    /// A job does not fit the device; names file and line.
    pub fn source(&self, device_bytes: u64, seed: u64) -> Result<FioSource, SourceError> {
        let instances = self.instances(device_bytes, seed);
        let instances = instances.map_err(|trouble| trouble.of(&self.name))?;
        let needs_time = self.hosting().needs_time.map(SourceError);
        Ok(FioSource::new(instances, &self.jobs, needs_time))
    }

    fn instances(&self, device_bytes: u64, seed: u64) -> Result<Vec<Instance>, JobFileError> {
        let files = self.files(device_bytes)?;
        let (mut instances, mut group) = (Vec::new(), 0);
        for (at, job) in self.jobs.iter().enumerate() {
            group += usize::from(job.waits && at > 0);
            let waits_for = job
                .waits_for
                .as_ref()
                .and_then(|name| self.jobs.iter().position(|job| job.name == *name));
            for number in 0..job.instances {
                let mut instance = Instance::new(job, number, files[&key(job, number)], seed)?;
                (instance.group, instance.job, instance.waits_for) = (group, at, waits_for);
                instances.push(instance);
            }
        }
        Ok(instances)
    }

    /// Returns the first byte and the bytes of every file. A single named file spans the device.
    fn files(&self, device_bytes: u64) -> Result<BTreeMap<String, (u64, u64)>, JobFileError> {
        let mut order: Vec<(String, u64, usize)> = Vec::new();
        for job in &self.jobs {
            for number in 0..job.instances {
                let name = key(job, number);
                let offset = job.offset.of(device_bytes);
                let steps = job.offset_increment.of(device_bytes).saturating_mul(number);
                let bytes = match (job.file_size, job.size) {
                    (Some(bytes), _) => bytes,
                    (None, Some(size)) => {
                        size.of(device_bytes).saturating_add(offset).saturating_add(steps)
                    }
                    (None, None) => device_bytes,
                };
                match order.iter_mut().find(|file| file.0 == name) {
                    Some(file) => file.1 = file.1.max(bytes),
                    None => order.push((name, bytes, job.line)),
                }
            }
        }
        let alone = order.len() == 1;
        let (mut base, mut files) = (0u64, BTreeMap::new());
        for (name, bytes, line) in order {
            if base.saturating_add(bytes) > device_bytes {
                let text = format!(
                    "files up to here take {} bytes, the device has {device_bytes}: lower size, or \
                     set one filename for all jobs",
                    base.saturating_add(bytes)
                );
                return Err(JobFileError::at(line, &text));
            }
            files.insert(name, (base, if alone { device_bytes } else { bytes }));
            // Files begin at multiples of 4 KiB.
            base = (base + bytes).next_multiple_of(4096);
        }
        Ok(files)
    }
}

/// Returns the name of the file of an instance.
fn key(job: &Job, number: u64) -> String {
    job.file.clone().unwrap_or_else(|| format!("{}.{number}.0", job.name))
}
