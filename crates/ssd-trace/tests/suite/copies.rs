//! Copies in traces: their records, what is written comes back, and what is no copy is refused.

use crate::folder::Folder;
use ssd_core::config::Word;
use ssd_core::host::copy::SourceRange;
use ssd_core::host::request::{Op, TimedRequest, flags};
use ssd_core::host::source::Source;
use ssd_trace::config::{AllVolumes, Fit, VolumeKey, Workload, WorkloadKind};
use ssd_trace::formats::TraceFormat;
use ssd_trace::info::{Collector, Options as InfoOptions};
use ssd_trace::raw::each_request;
use ssd_trace::write::{Options, Target, convert, convert_trace};
use ssd_trace::{TraceSource, open};
use std::ops::ControlFlow::Continue;
use std::path::Path;

/// Pages of eight sectors on a device of 4,096 of them.
const DEVICE: (u32, u32) = (4096, 4096);

fn of(format: TraceFormat) -> Workload {
    Workload { format, fit: Fit::None, ..crate::workloads::workload(WorkloadKind::Trace) }
}

/// A line of the text of blkparse for each operation with its sectors.
fn text(requests: &[(&str, u64, u64)]) -> String {
    let line = |(number, (op, sector, sectors)): (usize, &(&str, u64, u64))| {
        format!("8,0 0 {number} 0.{number:09} 0 Q {op} {sector} + {sectors} [x]\n")
    };
    requests.iter().enumerate().map(line).collect()
}

fn read(text: &str, workload: &Workload) -> Result<(TraceSource, ssd_trace::TraceFacts), String> {
    TraceSource::read("t", text.as_bytes(), workload, DEVICE.0, DEVICE.1)
        .map_err(|error| error.to_string())
}

type Copies = Vec<(TimedRequest, Vec<SourceRange>)>;

/// All requests, copies with their sources.
fn all(source: &mut dyn Source) -> Copies {
    let mut found = Vec::new();
    while let Some(timed) = source.next_request().expect("a good trace") {
        let copies = timed.request.op == Op::Copy;
        found.push((timed, if copies { source.copy_sources() } else { Vec::new() }));
    }
    found
}

const TWO: &[(&str, u64, u64)] = &[
    ("W", 0, 32),
    ("RC", 0, 16),
    ("RC", 24, 8),
    ("WC", 96, 24),
    ("R", 100, 3),
    ("RC", 96, 8),
    ("WCS", 0, 8),
    ("D", 8, 8),
];

#[test]
fn parts_become_one_request_and_are_counted_as_one() {
    let (mut source, facts) = read(&text(TWO), &of(TraceFormat::BlockEvent)).unwrap();
    assert_eq!(source.expected(), Some(5));
    let found = all(&mut source);
    let told: Vec<_> = found
        .iter()
        .map(|(timed, from)| {
            let from: Vec<_> = from.iter().map(|range| (range.sector, range.sectors)).collect();
            (timed.at.0, timed.request.op, timed.request.sector, timed.request.sectors, from)
        })
        .collect();
    assert_eq!(
        told,
        [
            (0, Op::Write, 0, 32, vec![]),
            (3, Op::Copy, 96, 24, vec![(0, 16), (24, 8)]),
            (4, Op::Read, 100, 3, vec![]),
            (6, Op::Copy, 0, 8, vec![(96, 8)]),
            (7, Op::Trim, 8, 8, vec![]),
        ]
    );
    assert_eq!(found[3].0.request.flags, flags::SYNC, "the part of a copy is no flag of a request");
    let counts = facts.requests;
    assert_eq!((counts.write, counts.read, counts.trim, counts.copy), (1, 1, 1, 2));
    assert_eq!((facts.bytes_read, facts.bytes_written), (3 * 512, 32 * 512));
    assert_eq!(counts.total(), 5);
}

#[test]
fn copies_are_repeated_in_loops_and_keep_their_sources_among_whole_pages() {
    let workload = Workload { loops: 3, ..of(TraceFormat::BlockEvent) };
    let (mut source, _) = read(&text(TWO), &workload).unwrap();
    let found = all(&mut source);
    assert_eq!((source.expected(), found.len()), (Some(15), 15));
    assert_eq!(found[1].1, found[11].1, "a later loop has the same sources");
    let folder = Folder::new();
    let path = folder.file("t.txt");
    std::fs::write(&path, text(TWO)).unwrap();
    let trace = Some(path.display().to_string());
    for copy in [0.0, 1.0] {
        let base = Workload { trace: trace.clone(), whole_pages: true, ..workload.clone() };
        let workload = Workload { copy, ..base };
        let mut opened = open(&workload, DEVICE.0, DEVICE.1, 1).unwrap().source;
        let again = all(&mut *opened);
        assert_eq!(again[1], found[1], "workload.copy = {copy}");
        assert_eq!((again[2].0.request.sector, again[2].0.request.sectors), (96, 8));
        assert_eq!(again[0].0.request.op, if copy > 0.0 { Op::Copy } else { Op::Write });
        assert_eq!(again[0].1.len(), copy as usize, "a write that has become a copy");
    }
}

fn round_trip(from: &Path, format: TraceFormat, to: &Path, target: TraceFormat) -> Copies {
    let workload = Workload { trace: Some(from.display().to_string()), ..of(format) };
    let writer = Target::named(target.word()).unwrap().create(to, Options::default()).unwrap();
    convert_trace(&workload, writer, |_| Continue(())).unwrap();
    let workload = Workload { trace: Some(to.display().to_string()), ..of(target) };
    all(&mut *open(&workload, DEVICE.0, DEVICE.1, 1).unwrap().source)
}

#[test]
fn copies_of_a_trace_and_of_a_workload_come_back_from_a_file() {
    let folder = Folder::new();
    let (first, second, third) = (folder.file("a"), folder.file("b"), folder.file("c"));
    std::fs::write(&first, text(TWO)).unwrap();
    let (mut source, _) = read(&text(TWO), &of(TraceFormat::BlockEvent)).unwrap();
    let expected = all(&mut source);
    let (event, ours) = (TraceFormat::BlockEvent, TraceFormat::Ssdtrace);
    assert_eq!(round_trip(&first, event, &second, ours), expected);
    assert_eq!(round_trip(&second, ours, &third, event), expected);
    // What a workload generates.
    let workload = Workload {
        copy: 0.3,
        requests: 20_000,
        ..crate::workloads::workload(WorkloadKind::Uniform)
    };
    let drawn = || open(&workload, DEVICE.0, DEVICE.1, 1).unwrap().source;
    let path = folder.file("d");
    let writer = Target::named("ssdtrace").unwrap().create(&path, Options::default()).unwrap();
    let counts = convert(&mut *drawn(), writer, &mut |_| Continue(())).unwrap();
    let workload = Workload { trace: Some(path.display().to_string()), ..of(ours) };
    let found = all(&mut *open(&workload, DEVICE.0, DEVICE.1, 1).unwrap().source);
    let copies = found.iter().filter(|one| one.0.request.op == Op::Copy).count();
    assert!(copies > 2_000, "{copies} copies");
    assert_eq!(counts.requests, (found.len() + copies) as u64);
    assert!(found == all(&mut *drawn()), "the trace differs from its workload");
}

#[test]
fn a_format_without_copies_refuses_them() {
    let folder = Folder::new();
    std::fs::write(folder.file("a"), text(TWO)).unwrap();
    for format in [TraceFormat::FioV3, TraceFormat::Msr, TraceFormat::Mqsim] {
        let trace = Some(folder.file("a").display().to_string());
        let workload = Workload { trace, ..of(TraceFormat::BlockEvent) };
        let target = Target::named(format.word()).unwrap();
        let mut options = Options::default();
        options.allow.drop_requests = true;
        options.allow.round_times = true;
        let writer = target.create(&folder.file("b"), options).unwrap();
        let error = convert_trace(&workload, writer, |_| Continue(())).unwrap_err().to_string();
        assert!(
            error.contains("request 2 (read of 16 sectors") && error.contains("flags"),
            "{error}"
        );
    }
}

/// A volume into which nothing but copies is written has a stream, too.
#[test]
fn copies_are_among_the_streams_of_writes() {
    let volume = Some(VolumeKey::Every(AllVolumes::All));
    let workload = Workload { volume, fit: Fit::Compact, ..of(TraceFormat::BlockEvent) };
    let reads = text(&[("R", 0, 8)]);
    let copies = text(&[("RC", 0, 8), ("WC", 64, 8)]).replace("8,0 ", "8,16 ");
    let (_, facts) = read(&format!("{reads}{copies}"), &workload).unwrap();
    assert_eq!((facts.requests.copy, facts.write_streams), (1, vec![1]));
}

#[test]
fn what_is_no_copy_is_refused() {
    for (requests, part) in [
        (&[("RC", 0, 8), ("R", 0, 8)][..], "record 2: the copy before it has sources and no dest"),
        (&[("R", 0, 8), ("RC", 0, 8)], "the last copy has sources and no destination"),
        (&[("WC", 0, 8)], "record 1: a copy of 0 sectors to 8"),
        (&[("RC", 8, 8), ("RC", 16, 8), ("WC", 64, 8)], "record 3: a copy of 16 sectors to 8"),
        (
            &[("RC", 4, 8), ("WC", 64, 8)],
            "record 1: part of a copy of sectors 4 + 8; copies are of",
        ),
        (&[("RC", 8, 4), ("WC", 64, 4)], "copies are of whole pages: use multiples of 8 sectors"),
        (
            &[("RC", 0, 16), ("WC", 8, 16)],
            "record 2: a copy of sectors 0 + 16 to sectors 8 + 16, wh",
        ),
        (&[("RC", 64, 8), ("RC", 8, 8), ("WC", 0, 16)], "8 + 8 to sectors 0 + 16, which overlap"),
        (&[("RC", 32_768, 8), ("WC", 0, 8)], "line 1"),
        (&[("RC", 0, 8), ("WC", 32_768, 8)], "addresses on the device, whose last sector is 32767"),
    ] {
        let error = read(&text(requests), &of(TraceFormat::BlockEvent)).err().expect("no copy");
        assert!(error.contains(part), "{part:?} not in {error}");
    }
    let touching = [("RC", 0, 8), ("RC", 16, 8), ("WC", 24, 16), ("RC", 24, 8), ("WC", 16, 8)];
    assert!(read(&text(&touching), &of(TraceFormat::BlockEvent)).is_ok());
}

#[test]
fn statistics_count_a_copy_once_and_its_pages_in_no_other_number() {
    let folder = Folder::new();
    let info = |name: &str, requests: &[(&str, u64, u64)]| {
        std::fs::write(folder.file(name), text(requests)).unwrap();
        let trace = Some(folder.file(name).display().to_string());
        let mut collector =
            Collector::new(InfoOptions { journal: Vec::new(), memory: 1 << 20 }).unwrap();
        let workload = Workload { trace, ..of(TraceFormat::BlockEvent) };
        each_request(&workload, |_| Continue(()), |timed| collector.push(timed)).unwrap();
        serde_json::to_value(collector.finish().unwrap()).unwrap()
    };
    let (with, without) = (info("a", TWO), info("b", &[TWO[0], TWO[4], TWO[7]]));
    assert_eq!(
        (&with["requests"], &with["copies"], &with["bytes_copied"]),
        (&5.into(), &2.into(), &(32 * 512).into())
    );
    assert_eq!((&without["requests"], &without["copies"]), (&3.into(), &0.into()));
    for same in ["ops", "footprint", "updates", "write_share", "flushes", "discards"] {
        let (mut with, mut without) = (with[same].clone(), without[same].clone());
        // Volumes of requests without copies are the same; times differ.
        for one in [&mut with, &mut without] {
            if same == "updates" {
                *one = one["pages"].clone();
            }
        }
        assert_eq!(with, without, "{same}");
    }
}

#[test]
fn totals_count_a_copy_as_a_request_and_time_from_the_first() {
    let folder = Folder::new();
    let path = folder.file("t.trace");
    // Three seconds after the start of the recording.
    std::fs::write(&path, text(TWO).replace(" 0.0", " 3.0")).unwrap();
    let workload =
        Workload { trace: Some(path.display().to_string()), ..of(TraceFormat::BlockEvent) };
    let totals = ssd_trace::totals(&workload, 4096, u64::MAX, &mut |_| Continue(())).unwrap();
    assert_eq!((totals.requests, totals.duration_ns), (5, TWO.len() as u64 - 1));
    assert_eq!((totals.page_writes, totals.bytes_written), (4, 32 * 512));
}
