//! Jobs: the options of a section, parsed.

use super::JobFileError;
use super::ini::{IniKey, Section};
use super::kinds::{Distribution, ExitScope, Mix, Sequencer, SetResult, Sizes, Strides};
use super::option::{self, Class};
use super::pace::Pacing;
use super::value::{
    Amount, Units, count, flag, real, seconds_range_ns, set_three, share, shared_out, word,
};
use ssd_core::config::nearest;
use std::collections::BTreeSet;

/// One job. Arrays are of reads, writes and trims.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) name: String,
    pub(super) line: usize,
    units: Units,
    pub(super) mix: Mix,
    pub(super) random: bool,
    /// A random job moves to a new place once in this many requests.
    pub(super) seek_every: u64,
    /// Bytes between two requests of a sequential job; negative: backwards.
    pub(super) step: i64,
    pub(super) sequencer: Sequencer,
    /// Share of reads in a mix.
    pub(super) read: f64,
    bs: [u64; 3],
    range: [Option<(u64, u64)>; 3],
    split: [Vec<(u64, f64)>; 3],
    pub(super) align: [Option<u64>; 3],
    pub(super) size: Option<Amount>,
    pub(super) file_size: Option<u64>,
    pub(super) offset: Amount,
    pub(super) offset_align: u64,
    pub(super) offset_increment: Amount,
    pub(super) io_size: Option<Amount>,
    pub(super) number_ios: Option<u64>,
    pub(super) loops: u64,
    pub(super) distribution: Distribution,
    /// Every block is visited once before any is visited twice.
    pub(super) map: bool,
    /// Every block is visited once, in the fixed order of a linear feedback shift register.
    pub(super) lfsr: bool,
    /// Later rounds repeat the requests of the first.
    pub(super) repeats: bool,
    pub(super) seed: Option<u64>,
    pub(super) strides: Strides,
    pub(super) pacing: Pacing,
    /// Share of the random reads, writes and trims that are actually random; the others are sequential.
    pub(super) randomness: [f64; 3],
    /// Writes between two flushes, for `fsync` and for `fdatasync`; 0: none.
    pub(super) flush_every: [u64; 2],
    /// A flush at the end.
    pub(super) end_flush: bool,
    /// Every write reaches the flash before it completes.
    pub(super) sync: bool,
    /// Continues until its runtime ends, regardless of the other limits.
    pub(super) time_based: bool,
    pub(super) instances: u64,
    /// Begins between these two times after the jobs that it waits for have ended.
    pub(super) start_ns: (u64, u64),
    /// Begins when all jobs before it have ended.
    pub(super) waits: bool,
    /// Begins when the job of this name has ended.
    pub(super) waits_for: Option<String>,
    /// Starts a group of reports, the unit in which `exitall` ends jobs.
    pub(super) new_group: bool,
    pub(super) exit_all: bool,
    pub(super) exit_what: ExitScope,
    /// Its file; without a name each instance has a separate file.
    pub(super) file: Option<String>,
}

impl Job {
    fn new() -> Job {
        Job {
            name: String::new(),
            line: 0,
            units: Units::Binary,
            mix: Mix::Read,
            random: false,
            seek_every: 1,
            step: 0,
            sequencer: Sequencer::Sequential,
            read: 0.5,
            bs: [4096; 3],
            range: [None; 3],
            split: [const { Vec::new() }; 3],
            align: [None; 3],
            size: None,
            file_size: None,
            offset: Amount::Bytes(0),
            offset_align: 0,
            offset_increment: Amount::Bytes(0),
            io_size: None,
            number_ios: None,
            loops: 1,
            distribution: Distribution::Uniform,
            map: true,
            lfsr: false,
            repeats: true,
            seed: None,
            strides: Strides { on: false, size: 0, range: 0, skip: 0 },
            pacing: Pacing::default(),
            randomness: [1.0; 3],
            flush_every: [0; 2],
            end_flush: false,
            sync: false,
            time_based: false,
            instances: 1,
            start_ns: (0, 0),
            waits: false,
            waits_for: None,
            new_group: false,
            exit_all: false,
            exit_what: ExitScope::Group,
            file: None,
        }
    }

    /// Returns the lengths of its reads, writes or trims: shares override a range, and a range overrides a single size,
    /// in any order of the options.
    pub(super) fn sizes(&self, op: usize) -> Sizes {
        match (&self.split[op][..], self.range[op]) {
            (&[(bytes, _)], _) => Sizes::Same(bytes),
            ([], None) => Sizes::Same(self.bs[op]),
            ([], Some((from, to))) if from == to => Sizes::Same(from),
            ([], Some((from, to))) => Sizes::Range(from, to),
            (shares, _) => Sizes::Split(shares.to_vec()),
        }
    }

    /// Returns the sizes of its smallest and its largest request.
    pub(super) fn extremes(&self) -> (u64, u64) {
        let sizes = self.mix.used().iter().map(|&op| self.sizes(op));
        sizes.fold((u64::MAX, 0), |(small, large), size| {
            (small.min(size.smallest()), large.max(size.largest()))
        })
    }
}

/// Returns the jobs of all sections, and options without effect; a `[global]` applies to the jobs after it.
pub(super) fn jobs(sections: &[Section]) -> Result<(Vec<Job>, Vec<&'static str>), JobFileError> {
    check_engines(sections)?;
    let (mut global, mut jobs) = (Job::new(), Vec::new());
    let mut ignored = BTreeSet::new();
    for section in sections {
        let mut job = Job { new_group: false, ..global.clone() };
        // Units are set first, because they determine how other values are read.
        let (units, options): (Vec<&IniKey>, Vec<&IniKey>) =
            section.settings.iter().partition(|setting| setting.key == "kb_base");
        for setting in units.into_iter().chain(options) {
            ignored.extend(set(&mut job, setting)?);
        }
        if section.name == "global" {
            global = job;
            continue;
        }
        if job.time_based && job.pacing.runtime_ns == 0 {
            // fio ignores it, too.
            job.time_based = false;
            ignored.insert("time_based");
        }
        (job.name, job.line) = (section.name.clone(), section.line);
        jobs.push(job);
    }
    Ok((jobs, ignored.into_iter().collect()))
}

/// Refuses a job whose engine has no block device, before its other options are checked.
fn check_engines(sections: &[Section]) -> Result<(), JobFileError> {
    let mut global = None;
    for section in sections {
        let engine = section.settings.iter().rfind(|setting| setting.key == "ioengine");
        if section.name == "global" {
            global = engine.or(global);
            continue;
        }
        let Some(setting) = engine.or(global) else { continue };
        // `external:FILE` names an engine in a file.
        let name = setting.value.as_deref().unwrap_or_default();
        if let Some(message) = option::no_device(name) {
            let job = &section.name;
            return Err(JobFileError::at(
                setting.line,
                &format!("ioengine={name} {message} (job {job})"),
            ));
        }
    }
    Ok(())
}

/// Sets the option that `setting` names; returns its name if it has no effect here.
fn set(job: &mut Job, setting: &IniKey) -> Result<Option<&'static str>, JobFileError> {
    let Some(option) = option::find(&setting.key) else {
        let near = nearest(&setting.key, option::names())
            .map_or(String::new(), |word| format!("; did you mean {word:?}?"));
        let text = format!("{}: no option of fio 3.33 or of its block devices{near}", setting.key);
        return Err(JobFileError::at(setting.line, &text));
    };
    let text = setting.value.as_deref().unwrap_or("1");
    match option.class {
        Class::Host => return Ok(Some(option.name)),
        Class::Refused(_) if text == "0" => return Ok(None),
        Class::Refused(reason) => {
            return Err(JobFileError::at(setting.line, &format!("{}: {reason}", setting.key)));
        }
        Class::Modelled => {}
    }
    // A name may be any text.
    let is_name = ["filename", "uri"].contains(&option.name);
    if let Some(reason) = not_a_value(text).filter(|_| !is_name) {
        return Err(JobFileError::at(
            setting.line,
            &format!("{}: {text} {reason}: write the value itself", setting.key),
        ));
    }
    let set = set_requests(job, option.name, text)
        .or_else(|| set_places(job, option.name, text))
        .or_else(|| set_order(job, option.name, text))
        .or_else(|| job.pacing.set(job.units, option.name, text));
    match set.expect("a modelled option is set somewhere") {
        Ok(()) => Ok(None),
        Err(expected) => {
            let value = setting.value.as_ref();
            let value = value.map_or("no value".to_owned(), |value| format!("{value:?}"));
            let text = format!("{}: found {value}; expected {expected}", setting.key);
            Err(JobFileError::at(setting.line, &text))
        }
    }
}

/// Returns why `text` is not a value but an expression that fio evaluates.
fn not_a_value(text: &str) -> Option<&'static str> {
    if text.contains("${") {
        return Some("is what the environment says when fio runs");
    }
    if ["$pagesize", "$mb_memory", "$ncpus"].iter().any(|word| text.contains(word)) {
        return Some("is what the machine says where fio runs");
    }
    (text.starts_with('(') && text.ends_with(')')).then_some("is an expression for fio to compute")
}

/// Sets options of operations and lengths.
fn set_requests(job: &mut Job, name: &str, text: &str) -> SetResult {
    let (units, words) = (job.units, "0 or 1");
    let done = match name {
        "ioengine" => Ok(()),
        "kb_base" => word(text, &[("1024", Units::Binary), ("1000", Units::Standard)])
            .map(|set| job.units = set)
            .ok_or("1024 or 1000"),
        "rw" => pattern(job, text).ok_or(option::PATTERNS),
        "rw_sequencer" => word(
            text,
            &[("sequential", Sequencer::Sequential), ("identical", Sequencer::Identical)],
        )
        .map(|set| job.sequencer = set)
        .ok_or("sequential or identical"),
        "rwmixread" => share(text).map(|share| job.read = share).ok_or("0 to 100"),
        "rwmixwrite" => share(text).map(|share| job.read = 1.0 - share).ok_or("0 to 100"),
        "bs" => set_three(&mut job.bs, text, |text| units.request(text)).ok_or(option::SIZE),
        "bsrange" => {
            // A slash separates ranges, too.
            let text = text.replace('/', ",");
            set_three(&mut job.range, &text, |text| units.range(text).map(Some))
                .ok_or(option::RANGE)
        }
        "bssplit" => set_three(&mut job.split, text, |text| units.split(text)).ok_or(option::SPLIT),
        "ba" => set_three(&mut job.align, text, |text| units.request(text).map(Some))
            .ok_or(option::SIZE),
        "fsync" => units.size(text).map(|n| job.flush_every[0] = n).ok_or(WRITES),
        "fdatasync" => units.size(text).map(|n| job.flush_every[1] = n).ok_or(WRITES),
        "end_fsync" | "fsync_on_close" => flag(text).map(|on| job.end_flush = on).ok_or(words),
        "sync" => word(
            text,
            &[("none", false), ("0", false), ("sync", true), ("dsync", true), ("1", true)],
        )
        .map(|set| job.sync = set)
        .ok_or("none, sync, dsync, 0 or 1"),
        _ => return None,
    };
    Some(done)
}

const WRITES: &str = "a number of writes, 0 for none";
const COUNT: &str = "a whole number from 1 on";

/// Sets options of files and of places in them.
fn set_places(job: &mut Job, name: &str, text: &str) -> SetResult {
    let units = job.units;
    let size = || units.size(text).ok_or("a size as 256m");
    let amount = || units.amount(text).ok_or(option::AMOUNT);
    let done = match name {
        "filename" if text.replace("\\:", "").contains(':') => {
            Err("one file; a colon in its name has a backslash before it")
        }
        // `uri` names the device of engines for remote devices.
        "filename" | "uri" => {
            job.file = Some(text.to_owned());
            Ok(())
        }
        "nrfiles" if text != "1" => Err("1: a job has one file here"),
        "nrfiles" => Ok(()),
        "size" => amount().map(|size| job.size = Some(size)),
        "filesize" => units.size(text).map(|size| job.file_size = Some(size)).ok_or("one size"),
        "offset" => amount().map(|offset| job.offset = offset),
        "offset_align" => size().map(|bytes| job.offset_align = bytes),
        "offset_increment" => amount().map(|offset| job.offset_increment = offset),
        "io_size" => amount().map(|size| job.io_size = Some(size)),
        "random_distribution" => distribution(units, text)
            .map(|zones| job.distribution = zones)
            .ok_or(option::DISTRIBUTIONS),
        "norandommap" => flag(text).map(|on| job.map = !on).ok_or("0 or 1"),
        "random_generator" => {
            word(text, &[("tausworthe", false), ("tausworthe64", false), ("lfsr", true)])
                .map(|set| job.lfsr = set)
                .ok_or("tausworthe, tausworthe64 or lfsr")
        }
        "randrepeat" | "allrandrepeat" => flag(text).map(|on| job.repeats = on).ok_or("0 or 1"),
        "randseed" => units.size(text).map(|seed| job.seed = Some(seed)).ok_or("a number"),
        "percentage_random" => set_three(&mut job.randomness, text, share).ok_or("0 to 100"),
        "zonemode" => word(text, &[("none", false), ("strided", true)])
            .map(|set| job.strides.on = set)
            .ok_or("none or strided: zoned devices are not simulated"),
        "zonesize" => size().map(|bytes| job.strides.size = bytes),
        "zonerange" => size().map(|bytes| job.strides.range = bytes),
        "zoneskip" => size().map(|bytes| job.strides.skip = bytes),
        _ => return None,
    };
    Some(done)
}

/// Sets options of starts and ends.
fn set_order(job: &mut Job, name: &str, text: &str) -> SetResult {
    let done = match name {
        "number_ios" => count(text).map(|n| job.number_ios = Some(n)).ok_or(COUNT),
        "loops" => count(text).map(|n| job.loops = n).ok_or(COUNT),
        "numjobs" => count(text)
            .filter(|&n| n <= 4096)
            .map(|n| job.instances = n)
            .ok_or("a whole number from 1 to 4096"),
        "time_based" => flag(text).map(|on| job.time_based = on).ok_or("0 or 1"),
        "startdelay" => {
            seconds_range_ns(text).map(|range| job.start_ns = range).ok_or("a time, as 10s")
        }
        "stonewall" => flag(text).map(|on| job.waits = on).ok_or("0 or 1"),
        "wait_for" => {
            job.waits_for = Some(text.to_owned());
            Ok(())
        }
        "new_group" => flag(text).map(|on| job.new_group = on).ok_or("0 or 1"),
        "exitall" => flag(text).map(|on| job.exit_all = on).ok_or("0 or 1"),
        "exit_what" => word(
            text,
            &[
                ("group", ExitScope::Group),
                ("stonewall", ExitScope::Stonewall),
                ("all", ExitScope::All),
            ],
        )
        .map(|set| job.exit_what = set)
        .ok_or("group, stonewall or all"),
        _ => return None,
    };
    Some(done)
}

/// Parses `rw` and its modifier after a colon.
fn pattern(job: &mut Job, text: &str) -> Option<()> {
    let (word, modifier) = text.split_once(':').map_or((text, None), |(a, b)| (a, Some(b)));
    let (name, random) = word.strip_prefix("rand").map_or((word, false), |name| (name, true));
    let mix = match name {
        "read" => Mix::Read,
        "write" => Mix::Write,
        "trim" => Mix::Trim,
        "rw" => Mix::ReadWrite,
        "readwrite" if !random => Mix::ReadWrite,
        "trimwrite" => Mix::TrimWrite,
        _ => return None,
    };
    let (mut seek_every, mut step) = (1, 0);
    if let Some(modifier) = modifier {
        if random {
            seek_every = count(modifier)?;
        } else {
            let (back, size) = modifier.strip_prefix('-').map_or((false, modifier), |s| (true, s));
            let size = job.units.size(size).filter(|size| size.is_multiple_of(512))?;
            let size = i64::try_from(size).ok().filter(|&size| size <= 1 << 50)?;
            step = if back { -size } else { size };
        }
    }
    (job.mix, job.random, job.seek_every, job.step) = (mix, random, seek_every, step);
    Some(())
}

fn distribution(units: Units, text: &str) -> Option<Distribution> {
    let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
    if let Some(absolute) =
        [("zoned", false), ("zoned_abs", true)].iter().find(|form| form.0 == name)
    {
        let mut zones = [const { Vec::new() }; 3];
        set_three(&mut zones, parameters, |text| zoned(units, text, absolute.1))?;
        let all_said = zones.iter().all(|zones| !zones.is_empty());
        return all_said.then_some(Distribution::Zoned(zones));
    }
    let (parameter, centre) = match parameters.split_once(':') {
        Some((parameter, centre)) => {
            (parameter, Some(real(centre).filter(|&centre| centre <= 1.0)?))
        }
        None => (parameters, None),
    };
    let number = |default| if parameter.is_empty() { default } else { real(parameter) };
    Some(match name {
        "random" if parameters.is_empty() => Distribution::Uniform,
        // fio refuses 1, for which its formula is undefined; the formula here covers it.
        "zipf" => Distribution::Zipf(number(Some(1.1))?, centre),
        "pareto" => {
            let h = number(Some(0.2)).filter(|&h| h > 0.0 && h < 1.0)?;
            Distribution::Pareto(h, centre)
        }
        "normal" => {
            let deviation = share(parameter).filter(|&deviation| deviation > 0.0)?;
            Distribution::Normal(deviation, centre)
        }
        _ => return None,
    })
}

/// Parses "60/10:30/20:10/70": zones with their accesses in percent and their spaces in percent or bytes. A space that
/// is left out gets what the others leave.
fn zoned(units: Units, text: &str, absolute: bool) -> Option<Vec<(f64, Amount)>> {
    let parts = text.split(':').map(|part| part.split_once('/'));
    let parts: Vec<(&str, &str)> = parts.collect::<Option<_>>()?;
    let accesses = parts.iter().map(|zone| share(zone.0)).collect::<Option<Vec<f64>>>()?;
    let spaces: Vec<Amount> = if absolute {
        let bytes = |zone: &(&str, &str)| units.size(zone.1).map(Amount::Bytes);
        parts.iter().map(bytes).collect::<Option<_>>()?
    } else {
        let space = |zone: &(&str, &str)| match zone.1 {
            "" => Some(((), None)),
            percent => Some(((), Some(share(percent)?))),
        };
        let spaces = parts.iter().map(space).collect::<Option<Vec<_>>>()?;
        shared_out(&spaces)?.iter().map(|space| Amount::Percent(100.0 * space.1)).collect()
    };
    let is_whole = (accesses.iter().sum::<f64>() - 1.0).abs() < 1e-9;
    let zones: Vec<(f64, Amount)> = accesses.into_iter().zip(spaces).collect();
    let empty = |zone: &(f64, Amount)| {
        zone.0 > 0.0 && matches!(zone.1, Amount::Bytes(0) | Amount::Percent(0.0))
    };
    (is_whole && zones.len() <= 256 && !zones.iter().any(empty)).then_some(zones)
}
