//! Jobs: the options of a section, parsed.

use super::ini::{Said, Section};
use super::value::{Amount, amount, count, flag, real, seconds_ns, share, size, three, time_ns};
use super::{Trouble, option};
use ssd_core::config::nearest;

/// Reads, writes and trims of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mix {
    Read,
    Write,
    Trim,
    /// Reads by `rwmixread`, else writes.
    ReadWrite,
    /// Each block is trimmed, then written.
    TrimWrite,
}

/// Where random requests go.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Distribution {
    Uniform,
    Zipf(f64),
    Pareto(f64),
    /// Standard deviation, as a share of the space.
    Normal(f64),
    /// Shares of the accesses and of the space, each from 0 to 1.
    Zoned(Vec<(f64, f64)>),
}

/// Pace of a job with a rate: requests arrive and do not wait for one another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Rate {
    BytesPerS(u64),
    RequestsPerS(u64),
}

/// One job.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) mix: Mix,
    pub(super) random: bool,
    /// Share of reads in a mix.
    pub(super) read: f64,
    /// Sizes in bytes with weights, of reads, writes, trims.
    pub(super) sizes: [Vec<(u64, f64)>; 3],
    pub(super) size: Option<Amount>,
    pub(super) offset: Amount,
    pub(super) io_size: Option<Amount>,
    pub(super) number_ios: Option<u64>,
    pub(super) loops: u64,
    pub(super) distribution: Distribution,
    /// Every block once, before any comes twice.
    pub(super) map: bool,
    pub(super) rate: Option<Rate>,
    pub(super) poisson: bool,
    pub(super) think_ns: u64,
    /// Requests between two pauses.
    pub(super) think_every: u32,
    /// Share of the random reads, writes and trims that are actually random; the others are sequential.
    pub(super) randomness: [f64; 3],
    /// Writes between two flushes, for `fsync` and for `fdatasync`; 0: none.
    pub(super) flush_every: [u64; 2],
    /// A flush at the end.
    pub(super) end_flush: bool,
    /// Every write reaches the flash before it completes.
    pub(super) sync: bool,
    /// 0: none.
    pub(super) runtime_ns: u64,
    /// Continues until `runtime_ns`, regardless of the other limits.
    pub(super) time_based: bool,
    pub(super) depth: u64,
    pub(super) instances: u64,
    pub(super) start_ns: u64,
    /// Begins when all jobs before it have ended.
    pub(super) waits: bool,
    /// The file it works on; without a name each instance has a separate file.
    pub(super) file: Option<String>,
}

impl Job {
    fn new() -> Job {
        Job {
            name: String::new(),
            line: 0,
            mix: Mix::Read,
            random: false,
            read: 0.5,
            sizes: [(); 3].map(|()| vec![(4096, 1.0)]),
            size: None,
            offset: Amount::Bytes(0),
            io_size: None,
            number_ios: None,
            loops: 1,
            distribution: Distribution::Uniform,
            map: true,
            rate: None,
            poisson: false,
            think_ns: 0,
            think_every: 1,
            randomness: [1.0; 3],
            flush_every: [0; 2],
            end_flush: false,
            sync: false,
            runtime_ns: 0,
            time_based: false,
            depth: 1,
            instances: 1,
            start_ns: 0,
            waits: false,
            file: None,
        }
    }

    /// Length of pauses, ns, and requests between them.
    pub(super) fn pauses(&self) -> (u64, u32) {
        (self.think_ns, self.think_every)
    }

    /// What the clock says about its end.
    pub(super) fn clock(&self) -> (u64, bool) {
        (self.runtime_ns, self.time_based)
    }
}

/// The jobs of all sections; a `[global]` holds for those that come after it.
pub(super) fn jobs(sections: &[Section]) -> Result<Vec<Job>, Trouble> {
    let (mut global, mut found) = (Job::new(), Vec::new());
    for section in sections {
        let mut job = global.clone();
        for said in &section.said {
            set(&mut job, said)?;
        }
        if section.name == "global" {
            global = job;
            continue;
        }
        (job.name, job.line) = (section.name.clone(), section.line);
        found.push(job);
    }
    Ok(found)
}

/// Set the option that `said` names.
fn set(job: &mut Job, said: &Said) -> Result<(), Trouble> {
    let key = option::canonical(&said.key);
    let text = said.value.as_deref().unwrap_or("1");
    let wrong = |expected: &str| {
        let found = said.value.as_ref().map_or("no value".to_owned(), |value| format!("{value:?}"));
        Trouble::at(said.line, &format!("{}: found {found}; expected {expected}", said.key))
    };
    let needs = |value: Option<u64>, expected: &str| value.ok_or_else(|| wrong(expected));
    match key {
        "rw" => (job.mix, job.random) = pattern(text).ok_or_else(|| wrong(option::PATTERNS))?,
        "rwmixread" => job.read = share(text).ok_or_else(|| wrong("0 to 100"))?,
        "rwmixwrite" => job.read = 1.0 - share(text).ok_or_else(|| wrong("0 to 100"))?,
        "bs" => {
            let one = |part: &str| request_size(part).map(|bytes| vec![(bytes, 1.0)]);
            job.sizes = three(text, one).ok_or_else(|| wrong(option::SIZE))?;
        }
        "bssplit" => job.sizes = three(text, split).ok_or_else(|| wrong(option::SPLIT))?,
        "size" => job.size = Some(amount(text).ok_or_else(|| wrong(option::AMOUNT))?),
        "offset" => job.offset = amount(text).ok_or_else(|| wrong(option::AMOUNT))?,
        "io_size" => job.io_size = Some(amount(text).ok_or_else(|| wrong(option::AMOUNT))?),
        "number_ios" => job.number_ios = Some(needs(count(text), "a whole number from 1 on")?),
        "loops" => job.loops = needs(count(text), "a whole number from 1 on")?,
        "iodepth" => job.depth = needs(count(text), "a whole number from 1 on")?,
        "numjobs" => {
            let few = count(text).filter(|&n| n <= 4096);
            job.instances = needs(few, "a whole number from 1 to 4096")?;
        }
        "random_distribution" => {
            job.distribution = distribution(text).ok_or_else(|| wrong(option::DISTRIBUTIONS))?;
        }
        "norandommap" => job.map = text == "0",
        "rate" => job.rate = Some(Rate::BytesPerS(needs(count(text), "bytes a second, as 10m")?)),
        "rate_iops" => {
            job.rate = Some(Rate::RequestsPerS(needs(count(text), "requests a second")?));
        }
        "rate_process" => {
            job.poisson = match text {
                "linear" => false,
                "poisson" => true,
                _ => return Err(wrong("linear or poisson")),
            }
        }
        "thinktime" => job.think_ns = needs(time_ns(text), "a time, as 100us")?,
        "thinktime_blocks" => {
            let few = count(text).and_then(|n| u32::try_from(n).ok()).filter(|&n| n <= 1 << 24);
            job.think_every = few.ok_or_else(|| wrong("a whole number from 1 to 16777216"))?;
        }
        "percentage_random" => {
            job.randomness = three(text, share).ok_or_else(|| wrong("0 to 100"))?;
        }
        "fsync" => job.flush_every[0] = needs(size(text), "a number of writes, 0 for none")?,
        "fdatasync" => job.flush_every[1] = needs(size(text), "a number of writes, 0 for none")?,
        "end_fsync" => job.end_flush = flag(text).ok_or_else(|| wrong("0 or 1"))?,
        "sync" => {
            job.sync = match text {
                "none" | "0" => false,
                "sync" | "dsync" | "1" => true,
                _ => return Err(wrong("none, sync, dsync, 0 or 1")),
            }
        }
        "startdelay" => job.start_ns = needs(seconds_ns(text), "a time, as 10s")?,
        "runtime" => job.runtime_ns = needs(seconds_ns(text), "a time, as 60s")?,
        "time_based" => job.time_based = flag(text).ok_or_else(|| wrong("0 or 1"))?,
        "filename" => job.file = Some(text.to_owned()),
        "stonewall" => job.waits = text != "0",
        _ if option::without_effect(key) => {}
        _ => return Err(refused(said, key)),
    }
    Ok(())
}

/// Why an option is refused.
fn refused(said: &Said, key: &str) -> Trouble {
    let name = &said.key;
    if let Some(why) = option::why_not(key) {
        return Trouble::at(said.line, &format!("{name}: {why}"));
    }
    let near = nearest(key, option::all())
        .map_or(String::new(), |word| format!("; did you mean {word:?}?"));
    let text = format!("{name}: this option of fio is not known here{near}");
    Trouble::at(said.line, &text)
}

fn pattern(text: &str) -> Option<(Mix, bool)> {
    Some(match text {
        "read" => (Mix::Read, false),
        "write" => (Mix::Write, false),
        "trim" => (Mix::Trim, false),
        "rw" | "readwrite" => (Mix::ReadWrite, false),
        "trimwrite" => (Mix::TrimWrite, false),
        "randread" => (Mix::Read, true),
        "randwrite" => (Mix::Write, true),
        "randtrim" => (Mix::Trim, true),
        "randrw" => (Mix::ReadWrite, true),
        "randtrimwrite" => (Mix::TrimWrite, true),
        _ => return None,
    })
}

/// Bytes of a request: a multiple of 512 up to 1 GiB.
fn request_size(text: &str) -> Option<u64> {
    size(text).filter(|&bytes| bytes > 0 && bytes.is_multiple_of(512) && bytes <= 1 << 30)
}

/// "4k/60:16k/40"; sizes without a percentage share the rest.
fn split(text: &str) -> Option<Vec<(u64, f64)>> {
    let parts: Vec<(u64, Option<f64>)> = text
        .split(':')
        .map(|part| {
            let (bytes, percent) = part.split_once('/').unwrap_or((part, ""));
            let weight = if percent.is_empty() { Some(None) } else { share(percent).map(Some) };
            Some((request_size(bytes)?, weight?))
        })
        .collect::<Option<_>>()?;
    let said: f64 = parts.iter().filter_map(|part| part.1).sum();
    let open = parts.iter().filter(|part| part.1.is_none()).count();
    let rest = (1.0 - said).max(0.0) / open.max(1) as f64;
    let adds_up = if open == 0 { (said - 1.0).abs() < 1e-9 } else { said < 1.0 };
    let sizes = parts.into_iter().map(|(bytes, weight)| (bytes, weight.unwrap_or(rest)));
    adds_up.then(|| sizes.filter(|size| size.1 > 0.0).collect())
}

fn distribution(text: &str) -> Option<Distribution> {
    let (name, parameter) = text.split_once(':').unwrap_or((text, ""));
    let number = || real(parameter);
    Some(match name {
        "random" if parameter.is_empty() => Distribution::Uniform,
        // fio refuses 1, where its formula has no value; ours has one.
        "zipf" => Distribution::Zipf(if parameter.is_empty() { 1.1 } else { number()? }),
        "pareto" => {
            let h = if parameter.is_empty() { 0.2 } else { number()? };
            Distribution::Pareto(Some(h).filter(|&h| h > 0.0 && h < 1.0)?)
        }
        "normal" => Distribution::Normal(share(parameter).filter(|&deviation| deviation > 0.0)?),
        "zoned" => {
            let zone = |part: &str| {
                let (access, space) = part.split_once('/')?;
                Some((share(access)?, share(space)?))
            };
            let zones: Vec<(f64, f64)> = parameter.split(':').map(zone).collect::<Option<_>>()?;
            let whole = |sum: f64| (sum - 1.0).abs() < 1e-9;
            let fits = whole(zones.iter().map(|zone| zone.0).sum())
                && whole(zones.iter().map(|zone| zone.1).sum())
                && zones.iter().all(|zone| zone.0 == 0.0 || zone.1 > 0.0);
            Distribution::Zoned(Some(zones).filter(|_| fits)?)
        }
        _ => return None,
    })
}
