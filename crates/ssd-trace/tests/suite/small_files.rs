//! Small files of all kinds, each with its right reading (`files/expected.txt`).

use crate::resident::resident_bytes;
use ssd_core::config::Word;
use ssd_core::host::request::Op;
use ssd_core::rng::Stream;
use ssd_trace::TraceSource;
use ssd_trace::config::{AllVolumes, Fit, TimeUnit, TraceUnit, VolumeKey, Workload, WorkloadKind};
use ssd_trace::formats::TraceFormat;
use ssd_trace::raw::{ReadingError, each_request};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The workload that reads `file` as `options` say.
fn workload(file: &str, options: &str) -> Workload {
    let mut workload = Workload {
        kind: WorkloadKind::Trace,
        trace: Some(folder().join(file).display().to_string()),
        ..Workload::default()
    };
    // Columns may have blanks in them: an option ends where the next one begins.
    let keys = [
        "format=",
        "unit=",
        "time_unit=",
        "columns=",
        "action=",
        "volume=",
        "until=",
        "sort=",
        "skip_bad=",
        "max_bad=",
    ];
    let starts = |at: usize| {
        (at == 0 || options[..at].ends_with(' '))
            && keys.iter().any(|key| options[at..].starts_with(key))
    };
    let places: Vec<usize> = (0..options.len()).filter(|&at| starts(at)).collect();
    let ends = places.iter().skip(1).copied().chain([options.len()]);
    // `columns=` has `volume=` and `event=` within, which follow a comma and no blank.
    for (start, end) in places.iter().copied().zip(ends) {
        let (key, value) = options[start..end].trim().split_once('=').expect("it has a key");
        match key {
            "format" => workload.format = TraceFormat::from_word(value).expect("a format"),
            "unit" => workload.unit = TraceUnit::from_word(value).expect("a unit"),
            "time_unit" => workload.time_unit = TimeUnit::from_word(value).expect("a unit"),
            "columns" => workload.columns = Some(value.to_owned()),
            "action" => workload.action = value.chars().next().expect("a letter"),
            "volume" if value == "all" => {
                workload.volume = Some(VolumeKey::Every(AllVolumes::All));
            }
            "volume" => workload.volume = Some(VolumeKey::One(value.parse().expect("a number"))),
            "until" => workload.until_ns = Some(value.parse().expect("nanoseconds")),
            "sort" => workload.sort = value == "true",
            "skip_bad" => workload.skip_bad = value == "true",
            "max_bad" => workload.max_bad = value.parse().expect("a share"),
            _ => panic!("{options}"),
        }
    }
    workload
}

/// What is read of a file, in the words of `expected.txt`; or the message.
fn reading(workload: &Workload) -> Result<String, String> {
    let (mut reads, mut writes, mut discards, mut bytes) = (0u64, 0u64, 0u64, 0u64);
    let (mut low, mut high, mut first, mut last) = (u64::MAX, 0u64, u64::MAX, 0u64);
    let read = each_request(
        workload,
        |_| ControlFlow::Continue(()),
        |timed| {
            let request = timed.request;
            match request.op {
                Op::Read => reads += 1,
                Op::Write => writes += 1,
                Op::Trim => discards += 1,
                Op::Flush | Op::Copy => {}
            }
            if matches!(request.op, Op::Read | Op::Write) {
                bytes += u64::from(request.sectors) * 512;
                low = low.min(request.sector);
                high = high.max(request.sector + u64::from(request.sectors));
            }
            (first, last) = (first.min(timed.at.0), last.max(timed.at.0));
            Ok(())
        },
    );
    match read {
        Ok(reading) => Ok(format!(
            "{} {} {reads} {writes} {discards} {bytes} {} {}",
            reading.format,
            reads + writes + discards,
            high.saturating_sub(low) * 512,
            last - first
        )),
        // As if the command had been given in the folder.
        Err(ReadingError::Refused(error)) => {
            Err(error.0.replace(&format!("{}/", folder().display()), ""))
        }
        Err(ReadingError::Interrupted) => panic!("nobody interrupts it"),
    }
}

/// What is read of a file by the command in its message, the first one of several: `FILTER | ssdlab trace info -
/// [--columns ...]`. `None` where the tool is not installed.
fn filtered(file: &str, options: &str) -> Option<Result<String, String>> {
    let message = reading(&workload(file, "")).expect_err("it is refused");
    let parts = message.lines().find_map(|line| line.split_once(" | ssdlab trace info -"));
    let Some((filter, reader)) = parts else { return Some(Err(message)) };
    let tools = ["awk", "sed", "perl", "jq", "grep", "tr", "iconv", "gzip", "tar"];
    // In a list, a command is a line.
    let starts = tools.map(|tool| filter.find(&format!(": {tool} ")).map(|at| at + 2));
    let start = starts.into_iter().flatten().min().unwrap_or(0);
    let run = Command::new("sh").current_dir(folder()).args(["-c", &filter[start..]]).output();
    let run = run.expect("there is a shell");
    if run.status.code() == Some(127) {
        return None;
    }
    assert!(run.status.success() && run.stderr.is_empty(), "{file}: {run:?}");
    let path = std::env::temp_dir().join(format!("ssdlab-filtered-{}-{file}", std::process::id()));
    std::fs::write(&path, run.stdout).expect("there is room");
    let mut workload = workload(file, options);
    let reader = reader.split("  # ").next().expect("a part").trim();
    workload.sort = reader.ends_with(" --sort");
    let columns = reader.trim_end_matches(" --sort").strip_prefix("--columns ");
    workload.columns = columns.map(|columns| columns.trim_matches('\'').to_owned());
    workload.trace = Some(path.display().to_string());
    let read = reading(&workload);
    std::fs::remove_file(&path).expect("it was written");
    Some(read)
}

/// The folder of the files.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files")
}

/// File, options and what is expected, of every line of `expected.txt`.
fn samples() -> Vec<[String; 3]> {
    let lines = std::fs::read_to_string(folder().join("expected.txt")).unwrap();
    let lines = lines.lines().filter(|line| !line.starts_with('#'));
    let parts = lines.map(|line| line.splitn(3, " | ").map(str::to_owned).collect::<Vec<_>>());
    parts.map(|parts| parts.try_into().expect("three parts")).collect()
}

#[test]
#[allow(clippy::print_stderr, reason = "it says what it does not prove")]
fn every_kept_file_has_its_right_reading() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for [file, options, expected] in &samples() {
        count += 1;
        let found = match options.strip_prefix("filter") {
            Some(others) => match filtered(file, others) {
                Some(found) => found,
                None => {
                    eprintln!("{file}: skipped: its filter needs a tool that is not installed");
                    continue;
                }
            },
            None => reading(&workload(file, options)),
        };
        let right = match (expected.strip_prefix("! "), &found) {
            (None, Ok(found)) => *found == *expected,
            (Some(parts), Err(message)) => {
                let text = message.replace("\n  ", "");
                parts.split(" && ").all(|part| message.contains(part))
                    && !text.chars().any(char::is_control)
            }
            _ => false,
        };
        if !right {
            wrong.push(format!("{file} ({options})\n  expected {expected}\n  found    {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 100);
}

#[test]
fn the_likeliest_reading_of_times_since_1970_makes_dates_of_them() {
    let message = reading(&workload("times-epoch-ms.csv", "")).expect_err("its unit is open");
    let commands: Vec<&str> =
        message.lines().filter(|line| line.contains("--columns time=timestamp:")).collect();
    assert!(commands.len() > 1, "{message}");
    assert!(commands[0].contains("time=timestamp:ms,"), "{message}");
}

/// Every command of a message selects one file of the archive: it gives as many lines as the file has requests.
#[test]
#[allow(clippy::print_stderr, reason = "it says what it does not prove")]
fn commands_for_archives_select_their_files() {
    for (archive, count) in [("bad-member-names.zip", 6), ("bad-member-names.tar", 5)] {
        let message = reading(&workload(archive, "")).expect_err("it has several files");
        let commands: Vec<(&str, &str)> = message
            .lines()
            .filter_map(|line| line.split_once(" | ssdlab trace info -  # "))
            .collect();
        assert_eq!(commands.len(), count, "{message}");
        for (command, gives) in commands {
            let run = Command::new("sh").current_dir(folder()).args(["-c", command]).output();
            let run = run.expect("there is a shell");
            if run.status.code() == Some(127) {
                eprintln!("{archive}: skipped: the tool is not installed");
                break;
            }
            assert!(run.status.success() && run.stderr.is_empty(), "{command}: {run:?}");
            let lines = run.stdout.iter().filter(|&&byte| byte == b'\n').count();
            assert!(gives.contains(&format!("msr: 0 reads, {lines} write")), "{command}: {gives}");
        }
    }
}

/// Reads at least so many changed copies of the kept files, all of them equally often. A copy differs in up to three
/// bytes, cuts or repetitions; it is read to its end or refused with a message.
fn mutated(count: usize) {
    let mut random = Stream::new(39, "mutations");
    let kept = samples();
    let files = kept.iter().filter(|[_, options, _]| !options.starts_with("filter")).filter_map(
        |[file, options, _]| {
            Some((std::fs::read(folder().join(file)).ok()?, workload(file, options)))
        },
    );
    let files: Vec<_> = files.collect();
    let times = count.div_ceil(files.len());
    for (bytes, workload) in files {
        let workload = Workload { fit: Fit::Compact, trace: None, ..workload };
        for _ in 0..times {
            let mut changed = bytes.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(changed.len() as u64 + 1) as usize;
                match random.below(6) {
                    0 => changed.truncate(at),
                    1 => changed.extend_from_within(at..),
                    2 => changed.insert(at, b"0,-.\n\" \0\xff"[random.below(9) as usize]),
                    _ if at < changed.len() => changed[at] ^= 1 << random.below(8),
                    _ => {}
                }
            }
            let skip_bad = random.below(2) == 0;
            let workload = Workload { skip_bad, max_bad: 1.0, ..workload.clone() };
            let read = TraceSource::read("t", &changed[..], &workload, 4096, 1 << 20);
            if let Err(error) = read {
                assert!(error.0.len() < 4000, "{}", error.0);
                // Lines of their own are those of commands.
                let text = error.0.replace("\n  ", "");
                assert!(!text.chars().any(char::is_control), "{}", error.0);
            }
        }
    }
}

/// Maximum growth of memory while a million files are read, bytes; other tests run at the same time.
const GROWTH: u64 = 256 << 20;

#[test]
fn changed_files_are_read_or_refused() {
    mutated(10_000);
}

#[test]
#[ignore = "a million files, minutes: part of `make test-all`"]
fn a_million_changed_files_are_read_or_refused() {
    // The first files fill what stays.
    mutated(10_000);
    let before = resident_bytes();
    mutated(1_000_000);
    let (Some(before), Some(after)) = (before, resident_bytes()) else { return };
    assert!(after < before + GROWTH, "{before} bytes in memory have become {after}");
}
