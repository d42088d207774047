//! Traces out of order: what is said of them, what sorting makes of them, and what losing lines takes.

use crate::folder::Folder;
use crate::samples::vscsi;
use crate::workloads::drain;
use ssd_core::host::request::{Op, TimedRequest};
use ssd_core::rng::Stream;
use ssd_trace::config::{Fit, TraceUnit, Workload, WorkloadKind};
use ssd_trace::formats::TraceFormat;
use ssd_trace::raw::{Reading, ReadingError, each_request};
use ssd_trace::write::{Options, Target, split_trace};
use ssd_trace::{Step, TraceFacts, TraceSource};
use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

fn disksim() -> Workload {
    Workload {
        format: TraceFormat::Disksim,
        unit: TraceUnit::Sectors,
        fit: Fit::Compact,
        max_bad: 0.01,
        ..crate::workloads::workload(WorkloadKind::Trace)
    }
}

fn sorting() -> Workload {
    Workload { sort: true, ..disksim() }
}

fn read(bytes: &[u8], workload: &Workload) -> Result<(Vec<TimedRequest>, TraceFacts), String> {
    let read = TraceSource::read("t", bytes, workload, 4096, 1 << 20);
    read.map(|(mut source, facts)| (drain(&mut source), facts)).map_err(|error| error.0)
}

/// The error of `bytes`, which must hold all of `parts`, in this order.
fn refuse(bytes: &[u8], workload: &Workload, parts: &[&str]) -> String {
    let error = read(bytes, workload).expect_err("it is refused");
    let mut rest = &error[..];
    for part in parts {
        let Some(at) = rest.find(part) else { panic!("{part:?} is not there in: {error}") };
        rest = &rest[at..];
    }
    assert!(error.len() < 700 && !error.contains('\n'), "{error}");
    error
}

/// Line `number` holds a write of sector 8 * number at these milliseconds.
fn lines(times: &[u64]) -> String {
    times.iter().zip(0u64..).fold(String::new(), |mut text, (time, number)| {
        writeln!(text, "{time} 0 {} 8 0", 8 * number).expect("writing to a string cannot fail");
        text
    })
}

/// Times that are nearly in order, some equal.
fn jitter(count: u64) -> Vec<u64> {
    let mut random = Stream::new(3, "jitter");
    (0..count).map(|number| number / 2 + random.below(20)).collect()
}

#[test]
fn sorting_is_a_stable_sort_of_every_line() {
    let times = jitter(3000);
    let text = lines(&times);
    let (requests, facts) = read(text.as_bytes(), &sorting()).unwrap();
    let mut expected: Vec<(u64, u64)> = times.iter().copied().zip(0..).collect();
    expected.sort_by_key(|&(time, _)| time);
    let found: Vec<(u64, u64)> =
        requests.iter().map(|r| (r.at.0 / 1_000_000, r.request.sector / 8)).collect();
    assert_eq!(found, expected);
    let mut latest = 0;
    let late = times.iter().filter(|&&time| {
        latest = latest.max(time);
        time < latest
    });
    assert_eq!((facts.late_requests, facts.skipped_lines), (late.count() as u64, 0));
    assert!(facts.sorted && facts.line_counts().loss.is_none());
    // Of a trace in order it changes nothing but what it says of itself.
    let ordered = lines(&(0..100).collect::<Vec<u64>>());
    let (plain, its) = read(ordered.as_bytes(), &disksim()).unwrap();
    let (same, facts) = read(ordered.as_bytes(), &sorting()).unwrap();
    assert_eq!(plain, same);
    assert_eq!(its, TraceFacts { sorted: false, ..facts });
}

#[test]
fn what_is_said_of_a_trace_out_of_order_names_the_least_loss_first() {
    let text = lines(&[1, 5, 4, 3, 9, 2, 10]);
    let parts = [
        "t, line 3: expected a time not before that of an event above it (5000000 ns)",
        "3 of 7 requests are earlier than one above them, by up to 7",
        "workload.sort = true (--sort)",
        "skip_bad = true would drop these 3",
    ];
    refuse(text.as_bytes(), &disksim(), &parts);
    // The latest of them need not come last.
    let early = "2 of 5 requests are earlier than one above them, by up to 7";
    refuse(lines(&[1, 9, 2, 10, 8]).as_bytes(), &disksim(), &[early]);
    // What is wrong with lines after that is for later, and ends the counting.
    let error = refuse(format!("{text}bad\n1 0 8 8 0\n").as_bytes(), &disksim(), &parts);
    assert!(!error.contains("line 8"), "{error}");
    // Sorted, the bad line is what is wrong.
    refuse(format!("{text}bad\n").as_bytes(), &sorting(), &["t, line 8: expected the time", "bad"]);
}

#[test]
fn a_clock_that_wraps_is_not_taken_for_jitter() {
    // A counter of 32 bits in microseconds: from 4294.9 s back to 0 at line 51.
    let times: Vec<u64> = (0..100).map(|number| (4_290_000 + 100 * number) % 4_294_967).collect();
    let text = lines(&times);
    let seam = "the times step back in 1 place only, first at line 51: if a clock wrapped";
    refuse(text.as_bytes(), &disksim(), &["line 51", "--sort", seam, "cut the file there"]);
    let (requests, facts) = read(text.as_bytes(), &sorting()).unwrap();
    assert_eq!(requests.len(), 100);
    let warnings = facts.warnings();
    assert!(warnings[0].contains("sorted: 50 of 100 requests"), "{warnings:?}");
    assert!(warnings[1].contains(seam), "{warnings:?}");
    // A step back that is short beside the whole span is no seam, however many requests come after it.
    let times: Vec<u64> = (0..100).map(|n| if n < 50 { 100 * n } else { 100 * n - 2400 }).collect();
    let (_, facts) = read(lines(&times).as_bytes(), &sorting()).unwrap();
    assert_eq!(facts.warnings().len(), 1, "{:?}", facts.warnings());
    // Jitter has many small steps.
    let (_, facts) = read(lines(&jitter(3000)).as_bytes(), &sorting()).unwrap();
    assert_eq!(facts.warnings().len(), 1, "{:?}", facts.warnings());
}

#[test]
fn a_loss_of_more_than_one_line_in_a_hundred_is_refused_unless_said() {
    let skipping = Workload { skip_bad: true, ..disksim() };
    let good = lines(&(0..99).collect::<Vec<u64>>());
    let (requests, facts) = read(format!("{good}bad\n").as_bytes(), &skipping).unwrap();
    assert_eq!((requests.len(), facts.skipped_lines, facts.lines), (99, 1, 100));
    assert_eq!(facts.line_counts().loss, None);
    let two = format!("{good}bad\nbad\n");
    let parts =
        ["t: 2 of 101 lines (2.0 %) were skipped", "max_bad = 0.01", "line 100", "max_bad=0.020"];
    refuse(two.as_bytes(), &skipping, &parts);
    let allowed = Workload { max_bad: 0.02, ..skipping.clone() };
    let (_, facts) = read(two.as_bytes(), &allowed).unwrap();
    let loss = "t: 2 of 101 lines (2.0 %) were skipped: the results below are those of the rest";
    assert_eq!(facts.line_counts().loss.as_deref(), Some(loss));
    // Where the lines are late, sorting is named before the loss is allowed.
    let late = lines(&[&[1_000_000], &(0..98).collect::<Vec<u64>>()[..]].concat());
    let parts = ["98 of 99 lines (99.0 %)", "98 of 99 requests are earlier", "--sort", "max_bad="];
    refuse(late.as_bytes(), &skipping, &parts);
    // Sorted, nothing is lost.
    let (requests, facts) = read(late.as_bytes(), &Workload { sort: true, ..skipping }).unwrap();
    assert_eq!((requests.len(), facts.skipped_lines), (99, 0));
}

#[test]
fn bad_files_are_refused_sorted_or_not() {
    for workload in [disksim(), sorting()] {
        refuse(b"", &workload, &["t: the trace is empty"]);
        refuse(b"\n\n", &workload, &["no requests in 2 lines"]);
        refuse(b"bad\nworse\n", &workload, &["line 1", "this is not a DiskSim trace"]);
        let skipping = Workload { skip_bad: true, max_bad: 1.0, ..workload.clone() };
        refuse(b"bad\nworse\n", &skipping, &["all 2 lines were skipped"]);
        // The message names the number of the line that does not fit the device, although others precede it.
        let wide = Workload { fit: Fit::None, ..workload };
        let text = "1 0 0 8 0\n3 0 99999999999 8 0\n3 0 8 8 0\n";
        refuse(text.as_bytes(), &wide, &["line 2: expected addresses on the device"]);
        let skipping = Workload { skip_bad: true, max_bad: 0.4, ..wide };
        let (requests, facts) = read(text.as_bytes(), &skipping).unwrap();
        assert_eq!((requests.len(), facts.skipped_lines), (2, 1));
    }
}

#[test]
fn compressed_and_binary_traces_are_sorted_too() {
    let text = lines(&jitter(500));
    let (expected, _) = read(text.as_bytes(), &sorting()).unwrap();
    let zstd = zstd::encode_all(text.as_bytes(), 1).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    for bytes in [zstd, gzip.finish().unwrap()] {
        let (found, _) = read(&bytes, &sorting()).unwrap();
        assert_eq!(found, expected);
    }
    let records: Vec<u8> =
        [70, 50, 60].iter().flat_map(|&at| vscsi(1, 1, 0x2a, 4096, 8 * at, at)).collect();
    let vscsi = |sort| {
        let unit = TraceUnit::Auto;
        Workload { format: TraceFormat::Vscsi, unit, sort, ..disksim() }
    };
    refuse(&records, &vscsi(false), &["record 2", "--sort"]);
    let (requests, _) = read(&records, &vscsi(true)).unwrap();
    // Its time 0 is the first record, which is the earliest now.
    let found: Vec<u64> = requests.iter().map(|r| r.at.0).collect();
    assert_eq!(found, [0, 10_000, 20_000]);
}

#[test]
fn doubles_and_time_ranges_are_those_of_the_sorted_trace() {
    // The double comes 0.5 ms after what it repeats, and stands above it.
    let text = "8.5 0 8 8 0\n7 0 16 8 0\n8 0 8 8 0\n9 0 24 8 0\n";
    let dedup = Workload { dedup: true, ..sorting() };
    let (requests, facts) = read(text.as_bytes(), &dedup).unwrap();
    let at: Vec<u64> = requests.iter().map(|r| r.at.0).collect();
    assert_eq!((at, facts.doubled_records), (vec![7_000_000, 8_000_000, 9_000_000], 1));
    let range = Workload { from_ns: 8_000_000, until_ns: Some(9_000_000), ..sorting() };
    let (requests, facts) = read(text.as_bytes(), &range).unwrap();
    let at: Vec<u64> = requests.iter().map(|r| r.at.0).collect();
    assert_eq!((at, facts.events_outside_range), (vec![0, 500_000], 2));
}

fn of(path: &Path) -> Workload {
    Workload { trace: Some(path.display().to_string()), ..sorting() }
}

fn outcome_of(
    workload: &Workload,
    mut tell: impl FnMut(Step) -> ControlFlow<()>,
) -> (u64, Result<Reading, ReadingError>) {
    let mut count = 0;
    let read = each_request(workload, &mut tell, |timed| {
        count += u64::from(timed.request.op == Op::Write);
        Ok(())
    });
    (count, read)
}

#[test]
fn progress_is_told_while_it_sorts_and_may_end_it() {
    let folder = Folder::new();
    let path = folder.file("t.trace");
    std::fs::write(&path, lines(&jitter(40_000))).unwrap();
    let mut steps = Vec::new();
    let (count, read) = outcome_of(&of(&path), |step| {
        steps.push(step);
        ControlFlow::Continue(())
    });
    assert!(read.unwrap().sorted && count == 40_000);
    assert!(matches!(steps[0], Step::Read(_)));
    assert!(steps.contains(&Step::Sorted { done: 1 << 14, total: 40_000 }), "{steps:?}");
    let (count, read) = outcome_of(&of(&path), |step| match step {
        Step::Sorted { done: 1.., .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    assert_eq!((count, read), (1 << 14, Err(ReadingError::Interrupted)));
}

#[test]
fn volumes_are_sorted_each_for_itself() {
    let folder = Folder::new();
    let path = folder.file("t.trace");
    std::fs::write(&path, "5 0 8 8 0\n9 1 8 8 0\n4 0 16 8 0\n8 1 16 8 0\n").unwrap();
    let own = Target::named("ssdtrace").unwrap();
    let go_on = |_| ControlFlow::Continue(());
    let (reading, volumes) =
        split_trace(&of(&path), folder.path(), own, Options::default(), go_on).unwrap();
    assert_eq!((reading.late_requests, volumes.len()), (2, 2));
    let requests: Vec<u64> = volumes.iter().map(|volume| volume.counts.requests).collect();
    assert_eq!(requests, [2, 2]);
}
