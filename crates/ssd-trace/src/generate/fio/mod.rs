//! fio's job files as workloads: the options that concern a device.
//!
//! Route: `ini` (sections, keys) -> `job` (options) -> `source` (requests). Patterns are fio's (checked
//! against fio itself, `tests/suite/fio_jobs.rs`), its random numbers are not. Differences:
//!
//! - `runtime` ends jobs with a rate by their arrivals, others by the clock of the device, which is one for
//!   all of them.
//! - Without a rate, jobs share one queue of the sum of their depths, and take turns; with a rate,
//!   requests arrive by it. Jobs of both kinds do not mix.
//! - Jobs without `filename` have one file each, one after the other on the device.

mod free;
mod ini;
mod job;
mod option;
mod source;
mod value;

use job::Job;
use source::Instance;
use ssd_core::host::request::TimedRequest;
use ssd_core::host::source::{Source, SourceError};
use std::collections::BTreeMap;

/// What is wrong with a job file, and where.
#[derive(Debug)]
struct Trouble {
    line: usize,
    text: String,
}

impl Trouble {
    fn at(line: usize, text: &str) -> Trouble {
        Trouble { line, text: text.to_owned() }
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
}

/// How the requests of a job file reach the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Drive {
    /// This many outstanding, with pauses of `think_ns`.
    Closed {
        /// Sum of the depths of the jobs that run at once.
        depth: u64,
        /// Pause, ns.
        think_ns: u64,
        /// Requests between two pauses.
        think_every: u32,
        /// Time from which on none is submitted, ns; 0: none.
        stop_ns: u64,
    },
    /// By rates.
    Open,
}

impl JobFile {
    /// The jobs in `text`; `name` is that of the file, for messages.
    ///
    /// # Errors
    /// Names file, line and option.
    pub fn parse(text: &str, name: &str) -> Result<JobFile, SourceError> {
        let jobs = ini::sections(text).and_then(|sections| job::jobs(&sections));
        let jobs = jobs.map_err(|trouble| trouble.of(name))?;
        let file = JobFile { name: name.to_owned(), jobs };
        file.check().map_err(|trouble| trouble.of(name))?;
        Ok(file)
    }

    fn check(&self) -> Result<(), Trouble> {
        let first = &self.jobs[0];
        for job in &self.jobs {
            if job.rate.is_some() != first.rate.is_some() {
                let text =
                    "jobs with and without a rate do not mix: set a rate for all or for none";
                return Err(Trouble::at(job.line, text));
            }
            if job.rate.is_none() && job.pauses() != first.pauses() {
                let text = "thinktime, thinktime_blocks: all jobs need the same pauses here";
                return Err(Trouble::at(job.line, text));
            }
            if job.time_based && job.runtime_ns == 0 {
                return Err(Trouble::at(job.line, "time_based: expected a runtime"));
            }
            if job.rate.is_none() && job.clock() != first.clock() {
                let text = "runtime, time_based: jobs without a rate need the same clock here";
                return Err(Trouble::at(job.line, text));
            }
            if job.rate.is_none() && job.runtime_ns > 0 && job.waits {
                let text = "stonewall: jobs with a runtime and without a rate run all at once here";
                return Err(Trouble::at(job.line, text));
            }
            if job.rate.is_none() && job.start_ns > 0 {
                return Err(Trouble::at(
                    job.line,
                    "startdelay: only jobs with a rate have a clock",
                ));
            }
            if job.rate.is_some() && job.think_ns > 0 {
                return Err(Trouble::at(job.line, "thinktime: jobs with a rate do not pause"));
            }
        }
        Ok(())
    }

    /// How its requests reach the device.
    #[must_use]
    pub fn drive(&self) -> Drive {
        if self.jobs[0].rate.is_some() {
            return Drive::Open;
        }
        let mut deepest = 0;
        let mut depth = 0;
        for job in &self.jobs {
            depth = if job.waits { 0 } else { depth } + job.depth * job.instances;
            deepest = deepest.max(depth);
        }
        let ((think_ns, think_every), stop_ns) = (self.jobs[0].pauses(), self.jobs[0].runtime_ns);
        Drive::Closed { depth: deepest, think_ns, think_every, stop_ns }
    }

    /// The requests of the jobs on a device of `device_bytes`.
    ///
    /// # Errors
    /// A job does not fit the device; names file and line.
    pub fn source(&self, device_bytes: u64, seed: u64) -> Result<FioSource, SourceError> {
        let build = || {
            let files = self.files(device_bytes)?;
            let (mut instances, mut slots, mut group) = (Vec::new(), Vec::new(), 0);
            for job in &self.jobs {
                group += usize::from(job.waits && !instances.is_empty());
                for number in 0..job.instances {
                    let (base, bytes) = files[&key(job, number)];
                    let turns = if job.rate.is_some() { 1 } else { job.depth.min(1024) };
                    slots.extend((0..turns).map(|_| instances.len()));
                    instances.push(Instance::new(job, number, base, bytes, group, seed)?);
                }
            }
            Ok(FioSource { instances, slots, turn: 0, group: 0, open: self.jobs[0].rate.is_some() })
        };
        build().map_err(|trouble: Trouble| trouble.of(&self.name))
    }

    /// First byte and bytes of every file. One named file is the device.
    fn files(&self, device_bytes: u64) -> Result<BTreeMap<String, (u64, u64)>, Trouble> {
        let mut order: Vec<(String, u64, usize)> = Vec::new();
        for job in &self.jobs {
            for number in 0..job.instances {
                let name = key(job, number);
                let bytes = match job.size {
                    Some(size) => size.of(device_bytes).saturating_add(job.offset.of(device_bytes)),
                    None => device_bytes,
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
                return Err(Trouble::at(line, &text));
            }
            files.insert(name, (base, if alone { device_bytes } else { bytes }));
            // Files begin at multiples of 4 KiB.
            base = (base + bytes).next_multiple_of(4096);
        }
        Ok(files)
    }
}

/// The file of an instance.
fn key(job: &Job, number: u64) -> String {
    job.file.clone().unwrap_or_else(|| format!("{}.{number}.0", job.name))
}

/// Requests of a job file; the same file, device and seed give the same requests.
pub struct FioSource {
    instances: Vec<Instance>,
    /// Instances in turn, one entry for each request that it may have outstanding.
    slots: Vec<usize>,
    turn: usize,
    group: usize,
    open: bool,
}

impl FioSource {
    /// The instance that is next, of the current group.
    fn choose(&mut self) -> Option<usize> {
        if self.open {
            let of_group = self.slots.iter().filter(|&&i| self.instances[i].group == self.group);
            return of_group.copied().min_by(|&a, &b| {
                self.instances[a].at_ns.total_cmp(&self.instances[b].at_ns).then(a.cmp(&b))
            });
        }
        for _ in 0..self.slots.len() {
            self.turn = (self.turn + 1) % self.slots.len();
            if self.instances[self.slots[self.turn]].group == self.group {
                return Some(self.slots[self.turn]);
            }
        }
        None
    }
}

impl Source for FioSource {
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        loop {
            let Some(chosen) = self.choose() else {
                let Some(next) =
                    self.instances.iter().map(|one| one.group).find(|&g| g > self.group)
                else {
                    return Ok(None);
                };
                // The next group begins when this one has ended.
                let ended = self.instances.iter().filter(|one| one.group == self.group);
                let end = ended.map(|one| one.at_ns).fold(0.0, f64::max);
                self.group = next;
                for one in self.instances.iter_mut().filter(|one| one.group == next) {
                    one.delay(end);
                }
                continue;
            };
            if let Some(request) = self.instances[chosen].next_request() {
                return Ok(Some(request));
            }
            self.slots.retain(|&slot| slot != chosen);
            if self.slots.is_empty() {
                return Ok(None);
            }
            self.turn = 0;
        }
    }
}
