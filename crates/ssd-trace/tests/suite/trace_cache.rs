//! Traces that are kept: what runs get is what they would have read, and each is read once.
#![cfg(unix)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "several threads, times of files"
)]

use crate::folder::{self, Folder};
use crate::workloads::{drain, workload};
use ssd_core::host::request::{Op, TimedRequest};
use ssd_trace::config::{AllVolumes, Fit, Phases, VolumeKey, Workload, WorkloadKind};
use ssd_trace::formats::TraceFormat;
use ssd_trace::write::{Columnar, Options};
use ssd_trace::{OpenedSource, TraceCache};
use std::ops::ControlFlow::{Break, Continue};
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::time::{Duration, SystemTime};

/// 4 KiB pages.
const DEVICE: (u32, u32) = (4096, 1 << 12);

/// A clock by which every file is old.
fn late() -> i64 {
    i64::MAX
}

/// A file with this text in a folder that goes with the test.
fn file(text: &str) -> (Folder, PathBuf) {
    let folder = Folder::new();
    let path = folder.file("t.csv");
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

/// 1,000 requests of two volumes, some of them late, doubled, bad or beyond the device.
fn msr(odd: bool) -> String {
    let mut lines = Vec::new();
    for i in 0..1000u64 {
        let at = 128_166_372_003_061_629 + i * 10_000 + u64::from(odd && i % 100 == 99) * 90_000;
        let place = (i * 7919) % (DEVICE.1 as u64) * 4096;
        let beyond = if odd && i % 250 == 7 { 1 << 40 } else { 0 };
        let kind = if i % 3 == 0 { "Read" } else { "Write" };
        lines.push(format!(
            "{at},web,{},{kind},{},{},100",
            i % 2,
            place + beyond,
            512 * (1 + i % 8)
        ));
        if odd && i % 400 == 200 {
            lines.push("not a request".to_owned());
            lines.push(lines[lines.len() - 2].clone());
        }
    }
    lines.join("\n") + "\n"
}

type ReadResult = Result<(Vec<TimedRequest>, String, Vec<String>), String>;

fn outcome_of(opened: Result<OpenedSource, ssd_core::host::source::SourceError>) -> ReadResult {
    let mut opened = opened.map_err(|error| error.0)?;
    let facts = opened.facts.expect("a trace");
    let json = serde_json::to_string(&facts).unwrap();
    let expected = opened.source.expected();
    let requests = drain(&mut *opened.source);
    assert_eq!(expected, Some(requests.len() as u64));
    Ok((requests, json, facts.warnings()))
}

fn alone(workload: &Workload) -> ReadResult {
    outcome_of(ssd_trace::open(workload, DEVICE.0, DEVICE.1, 1))
}

fn with(kept: &TraceCache, workload: &Workload) -> ReadResult {
    let mut nobody = |_| Continue(());
    outcome_of(ssd_trace::open_watched(workload, DEVICE.0, DEVICE.1, 1, Some(kept), &mut nobody))
}

fn of(path: &Path) -> Workload {
    let trace = Some(path.to_str().unwrap().to_owned());
    Workload { trace, format: TraceFormat::Auto, ..workload(WorkloadKind::Trace) }
}

#[test]
fn what_is_replayed_is_what_would_be_read() {
    let ((_even, even), (_odd, odd)) = (file(&msr(false)), file(&msr(true)));
    let kept = TraceCache::new(1 << 20, late);
    let (mut alike, mut refused) = (0, 0);
    for path in [&even, &odd] {
        for fit in [Fit::None, Fit::Wrap, Fit::Compact] {
            for volume in [None, Some(VolumeKey::One(1)), Some(VolumeKey::Every(AllVolumes::All))] {
                for (from_ns, until_ns) in [
                    (0, None),
                    (0, Some(50_000_000)),
                    (200_000_000, Some(700_000_000)),
                    (1 << 60, None),
                ] {
                    for (skip_bad, sort, dedup) in
                        [(false, false, false), (true, false, true), (true, true, false)]
                    {
                        let (loops, time_scale) = (2, if sort { 0.5 } else { 1.0 });
                        let read = Workload { fit, volume, from_ns, until_ns, ..of(path) };
                        let read = Workload { skip_bad, sort, dedup, loops, time_scale, ..read };
                        let read = Workload { max_bad: 0.5, ..read };
                        let expected = alone(&read);
                        assert_eq!(with(&kept, &read), expected, "{read:?}");
                        assert_eq!(with(&kept, &read), expected, "{read:?}");
                        (alike, refused) = (
                            alike + u32::from(expected.is_ok()),
                            refused + u32::from(expected.is_err()),
                        );
                    }
                }
            }
        }
    }
    assert!(alike > 80 && refused > 40, "{alike} are alike, {refused} refused");
    // Once for each file and way of reading it, whatever the range and the fit; once more where all is renumbered.
    assert_eq!(kept.readings(), 30);
}

#[test]
fn messages_name_the_file_as_it_was_given() {
    let (_folder, first) = file(&msr(true));
    let second = first.with_extension("link");
    std::os::unix::fs::symlink(&first, &second).unwrap();
    let kept = TraceCache::new(1 << 20, late);
    for path in [&first, &second] {
        let read = Workload { skip_bad: true, fit: Fit::Wrap, ..of(path) };
        let read = Workload { volume: Some(VolumeKey::One(0)), max_bad: 0.5, ..read };
        let (_, facts, warnings) = with(&kept, &read).unwrap();
        assert!(facts.contains("t.csv") != facts.contains("t.link") && !warnings.is_empty());
        assert_eq!(Ok((facts, warnings)), alone(&read).map(|(_, facts, told)| (facts, told)));
        let late = Workload { from_ns: 1 << 60, ..read };
        assert_eq!(with(&kept, &late), alone(&late));
    }
    assert_eq!(kept.readings(), 1);
}

#[test]
fn threads_that_want_a_trace_at_once_read_it_once() {
    let (_folder, path) = file(&msr(false));
    let read = Workload { volume: Some(VolumeKey::One(0)), ..of(&path) };
    let (kept, expected, start) = (TraceCache::new(1 << 20, late), alone(&read), Barrier::new(8));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                start.wait();
                assert_eq!(with(&kept, &read), expected);
            });
        }
    });
    assert_eq!((kept.readings(), kept.bytes()), (1, 500 * 24));
}

#[test]
fn runs_that_share_independent_updates_get_those_of_a_run_alone() {
    let (_folder, path) = file(&msr(false));
    let (kept, start) = (TraceCache::new(1 << 20, late), Barrier::new(12));
    let of = |volume, phases, until_ns, loops| {
        let volume = Some(VolumeKey::One(volume));
        Workload { volume, phases, until_ns, loops, fit: Fit::Compact, ..of(&path) }
    };
    let reads = [
        of(0, Phases::Independent, None, 1),
        of(0, Phases::Independent, None, 3),
        of(1, Phases::Independent, None, 2),
        of(0, Phases::Independent, Some(300_000_000), 2),
        of(0, Phases::Independent, Some(500_000_000), 2),
        of(0, Phases::Recorded, None, 2),
    ];
    let open = |read: &Workload, seed, kept| {
        let mut nobody = |_| Continue(());
        outcome_of(ssd_trace::open_watched(read, DEVICE.0, DEVICE.1, seed, kept, &mut nobody))
            .unwrap()
    };
    std::thread::scope(|scope| {
        for (seed, read) in
            [1, 2].into_iter().flat_map(|seed| reads.iter().map(move |read| (seed, read)))
        {
            let (kept, start, open) = (&kept, &start, &open);
            scope.spawn(move || {
                start.wait();
                for _ in 0..20 {
                    assert_eq!(open(read, seed, Some(kept)), open(read, seed, None), "{read:?}");
                }
            });
        }
    });
}

#[test]
fn a_file_that_has_changed_is_read_again() {
    let (_folder, path) = file(&msr(false));
    let read = Workload { volume: Some(VolumeKey::One(0)), ..of(&path) };
    let kept = TraceCache::new(1 << 20, late);
    let before = with(&kept, &read).unwrap();
    let times = std::fs::metadata(&path).unwrap().modified().unwrap();
    // As long as before, in the same file, with the old time of modification.
    std::fs::write(&path, msr(false).replace(",100\n", ",200\n")).unwrap();
    std::fs::File::options().append(true).open(&path).unwrap().set_modified(times).unwrap();
    assert_eq!(with(&kept, &read), alone(&read));
    std::fs::write(&path, msr(false).replace(",web,0,Write", ",web,0,Read")).unwrap();
    let after = with(&kept, &read).unwrap();
    assert_eq!(Ok(&after), alone(&read).as_ref());
    assert_ne!(before.0, after.0);
    assert_eq!(kept.readings(), 3);
}

#[test]
fn a_file_that_may_still_change_unseen_is_not_kept() {
    let (_folder, path) = file(&msr(false));
    let read = Workload { volume: Some(VolumeKey::One(0)), ..of(&path) };
    let kept = TraceCache::new(1 << 20, || 1_000_000_000);
    for (age_s, readings) in [(0, 0), (2, 0), (3, 1), (3, 1)] {
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000 - age_s);
        if readings == 0 || kept.readings() == 0 {
            std::fs::File::options().append(true).open(&path).unwrap().set_modified(at).unwrap();
        }
        assert_eq!(with(&kept, &read), alone(&read));
        assert_eq!(kept.readings(), readings, "{age_s} s old");
    }
}

#[test]
fn what_is_kept_has_a_bound() {
    let files = [(); 3].map(|()| file(&msr(false)));
    let reads = files.each_ref().map(|(_, path)| {
        let volume = Some(VolumeKey::One(0));
        Workload { volume, ..of(path) }
    });
    let kept = TraceCache::new(2 * 500 * 24, late);
    for (at, readings) in [(0, 1), (1, 2), (0, 2), (2, 3), (0, 3), (1, 4), (2, 5)] {
        assert_eq!(with(&kept, &reads[at]), alone(&reads[at]));
        assert_eq!(kept.readings(), readings, "trace {at}");
        assert!(kept.bytes() <= 2 * 500 * 24);
    }
    // What runs hold stays; a third one is then read for its run alone.
    let hold = |workload: &Workload| {
        let mut nobody = |_| Continue(());
        ssd_trace::open_watched(workload, DEVICE.0, DEVICE.1, 1, Some(&kept), &mut nobody).unwrap()
    };
    let held = [hold(&reads[1]), hold(&reads[2])];
    for readings in [6, 7] {
        assert_eq!(with(&kept, &reads[0]), alone(&reads[0]));
        assert_eq!(kept.readings(), readings);
    }
    drop(held);
    assert_eq!(with(&kept, &reads[0]), alone(&reads[0]));
    assert_eq!((with(&kept, &reads[0]), kept.readings()), (alone(&reads[0]), 8));

    // A trace beyond the bound is tried once.
    let small = TraceCache::new(499 * 24, late);
    for _ in 0..3 {
        assert_eq!(with(&small, &reads[0]), alone(&reads[0]));
        assert_eq!((small.readings(), small.bytes()), (1, 0));
    }
}

#[test]
fn a_reading_that_is_ended_leaves_nothing_behind() {
    let (_folder, path) = file(&msr(false));
    let read = Workload { volume: Some(VolumeKey::One(0)), ..of(&path) };
    let kept = TraceCache::new(1 << 20, late);
    let mut stop = |_| Break(());
    let ended = ssd_trace::open_watched(&read, DEVICE.0, DEVICE.1, 1, Some(&kept), &mut stop);
    assert!(ended.err().unwrap().0.contains("interrupted"));
    assert_eq!((with(&kept, &read), kept.readings()), (alone(&read), 2));
}

#[test]
fn memory_is_estimated_from_above() {
    for (requests, spare) in [(1u64, 1.0), (1000, 1.0), (400_000, 1.3)] {
        let line =
            |i: u64| format!("{},web,0,Write,{},4096,100\n", 128_166_372_003_061_629 + i, i * 4096);
        let (_folder, path) = file(&(0..requests).map(line).collect::<String>());
        let told = ssd_trace::memory_bytes(&path).unwrap();
        let most = (requests as f64 * spare) as u64 + 1;
        assert!((24 * requests..=24 * most).contains(&told), "{requests}: {told}");
    }
    // Lines that are longer at the beginning than later.
    let line = |i: u64| {
        let host = if i < 120_000 { "webserver" } else { "web" };
        format!("{},{host},0,Write,{},4096,100\n", 128_166_372_003_061_629 + i, i * 4096)
    };
    let (_folder, path) = file(&(0..400_000).map(line).collect::<String>());
    assert!(ssd_trace::memory_bytes(&path).unwrap() >= 24 * 400_000);
    let folder = Folder::new();
    let own = folder.file("t.ssdtrace");
    let made: Vec<_> = (0..3000).map(|i| folder::timed(i, Op::Write, 8 * i, 8)).collect();
    folder::write(&made, Columnar::create(&own, Options::default()).unwrap()).unwrap();
    assert_eq!(ssd_trace::memory_bytes(&own).unwrap(), 24 * 3000);
    assert!(ssd_trace::memory_bytes(&folder.file("none")).is_err());
}
