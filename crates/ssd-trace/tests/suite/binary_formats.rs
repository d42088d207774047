//! The binary formats: both byte orders and versions, bad records, the files of several CPUs, and
//! blkparse's word for what a file of blktrace says.

use crate::folder::Folder;
use crate::samples::*;
use crate::workloads::{drain, workload};
use proptest::prelude::*;
use ssd_core::host::request::{Op, Request, flags};
use ssd_trace::config::{Workload, WorkloadKind};
use ssd_trace::formats::TraceFormat;
use ssd_trace::{TraceFacts, TraceSource};
use std::ops::ControlFlow::Continue;
use std::process::Command;

/// Time after the first request, and the request.
type RequestAt = (u64, Request);

fn of(format: TraceFormat) -> Workload {
    Workload { format, ..workload(WorkloadKind::Trace) }
}

fn read(bytes: &[u8], workload: &Workload) -> Result<(Vec<RequestAt>, TraceFacts), String> {
    let read = TraceSource::read("t", bytes, workload, 4096, 1 << 20);
    read.map(timed).map_err(|error| error.0)
}

fn open(path: &str, workload: &Workload) -> Result<(Vec<RequestAt>, TraceFacts), String> {
    TraceSource::open(path, workload, 4096, 1 << 20, None, &mut |_| Continue(()))
        .map(timed)
        .map_err(|error| error.0)
}

fn timed((mut source, facts): (TraceSource, TraceFacts)) -> (Vec<RequestAt>, TraceFacts) {
    let all = drain(&mut source);
    let first = all.first().map_or(0, |timed| timed.at.0);
    (all.iter().map(|timed| (timed.at.0 - first, timed.request)).collect(), facts)
}

/// The error of `bytes`, which must hold all of `parts`.
fn refuse(bytes: &[u8], format: TraceFormat, parts: &[&str]) {
    let error = read(bytes, &of(format)).expect_err("it is refused");
    for part in parts {
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
}

/// Events of all kinds that blktrace knows: action, sector, bytes, tail.
const EVENTS: &[(u32, u64, u32, &[u8])] = &[
    (NOTIFY, 0, 0, b"fio\0"),
    (1 | NOTIFY, 0, 0, &[0; 8]),
    (2 | NOTIFY, 0, 0, b"a message"),
    (1 | QUEUE | WRITE, 16, 4096, b""),
    (15 | QUEUE | WRITE, 16, 4096, &[0, 128, 0, 1, 0, 128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8]),
    (1 | QUEUE | AHEAD, 1, 1024, b""),
    (1 | QUEUE | WRITE | FLUSH, 0, 0, b""),
    (1 | QUEUE | WRITE | FLUSH | SYNC, 0, 0, b""),
    (1 | QUEUE | WRITE | FLUSH | FUA | SYNC | META, 64, 4096, b""),
    (1 | QUEUE | WRITE | DISCARD | SYNC, 64, 1 << 20, b""),
    (1 | QUEUE | WRITE | DISCARD, 64, 0, b""),
    (1 | QUEUE, 0, 0, b""),
    (1 | QUEUE | FLUSH, 0, 0, b""),
    (1 | QUEUE | FLUSH, 7, 0, b""),
    (1 | QUEUE | WRITE, 5, 0, b""),
    (1 | QUEUE | PACKET, 0, 36, &[0x12, 0, 0, 0, 36, 0]),
    (2 | QUEUE | WRITE, 8, 4096, b""),
    (3 | QUEUE | WRITE, 8, 4096, b""),
    (4 | QUEUE | WRITE, 8, 4096, b""),
    (5 | QUEUE | WRITE, 8, 4096, b""),
    (6 | REQUEUE | WRITE, 8, 4096, b""),
    (7 | ISSUE | WRITE, 8, 4096, b""),
    (8 | COMPLETE | WRITE, 8, 4096, b""),
    (9 | QUEUE, 0, 0, b""),
    (10 | QUEUE, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 3]),
    (11 | QUEUE, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 3]),
    (12 | QUEUE | WRITE, 8, 4096, b""),
    (13 | WRITE, 8, 4096, &[0, 0, 0, 0, 0, 0, 0, 12]),
    (14 | QUEUE | WRITE, 8, 4096, b""),
    (16 | QUEUE | WRITE, 8, 4096, b""),
    (17 | DRIVER_DATA, 0, 0, b"driver"),
    (8 | COMPLETE | WRITE | FLUSH, 4096, 0, b""),
    (8 | COMPLETE | FLUSH, 0, 0, b""),
    (8 | COMPLETE | WRITE | FUA | SYNC, 4096, 512, b""),
    (1 | QUEUE, 100, 8192, b""),
];

/// What blkparse 1.2.0 prints of them, one each microsecond, without blanks before the device.
const PRINTED: &str = "\
8,0    0        0     0.000000000     0  m   N a message
8,0    0        1     0.000001000    42  Q   W 16 + 8 [fio]
8,0    0        1     0.000002000    42  A   W 16 + 8 <- (8,1) 8
8,0    0        1     0.000003000    42  Q  RA 1 + 2 [fio]
8,0    0        1     0.000004000    42  Q  FW [fio]
8,0    0        1     0.000005000    42  Q FWS [fio]
8,0    0        1     0.000006000    42  Q FWFSM 64 + 8 [fio]
8,0    0        1     0.000007000    42  Q  DS 64 + 2048 [fio]
8,0    0        1     0.000008000    42  Q   D [fio]
8,0    0        1     0.000009000    42  Q   N [fio]
8,0    0        1     0.000010000    42  Q  FN [fio]
8,0    0        1     0.000011000    42  Q  FN [fio]
8,0    0        1     0.000012000    42  Q   W [fio]
8,0    0        1     0.000013000    42  Q   R 36 [fio]
8,0    0        1     0.000014000    42  M   W 8 + 8 [fio]
8,0    0        1     0.000015000    42  F   W 8 + 8 [fio]
8,0    0        1     0.000016000    42  G   W 8 + 8 [fio]
8,0    0        1     0.000017000    42  S   W 8 + 8 [fio]
8,0    0        1     0.000018000    42  R   W 8 + 8 [0]
8,0    0        1     0.000019000    42  D   W 8 + 8 [fio]
8,0    0        1     0.000020000    42  C   W 8 + 8 [0]
8,0    0        1     0.000021000    42  P   N [fio]
8,0    0        1     0.000022000    42  U   N [fio] 3
8,0    0        1     0.000023000    42 UT   N [fio] 3
8,0    0        1     0.000024000    42  I   W 8 + 8 [fio]
8,0    0        1     0.000025000    42  X   W 8 / 12 [fio]
8,0    0        1     0.000026000    42  B   W 8 + 8 [fio]
8,0    0        1     0.000029000    42  C  FW 4096 [0]
8,0    0        1     0.000030000    42  C  FN 0 [0]
8,0    0        1     0.000031000    42  C WFS 4096 + 1 [0]
8,0    0        1     0.000032000    42  Q   R 100 + 16 [fio]
";

fn events(order: Order) -> Vec<Vec<u8>> {
    let times = (1u64..).map(|number| number * 1000);
    let all = EVENTS.iter().zip(times);
    all.map(|(&(action, sector, bytes, tail), time)| {
        blktrace(order, time, action, sector, bytes, tail)
    })
    .collect()
}

/// Both readings of the same events, for every action.
fn compare(binary: &[u8], text: &str) {
    for action in ['Q', 'D', 'C'] {
        let options = Workload { action, ..of(TraceFormat::Auto) };
        let of_binary = read(binary, &options);
        let of_text = read(text.as_bytes(), &options);
        match (of_binary, of_text) {
            (Ok((requests, facts)), Ok((printed, printed_facts))) => {
                assert_eq!((facts.format, printed_facts.format), ("blktrace", "block-event"));
                assert_eq!(requests, printed, "{action}");
                assert_eq!(facts.requests, printed_facts.requests);
                assert_eq!(facts.dataless_events, printed_facts.dataless_events);
                assert_eq!(facts.device, "8,0");
            }
            (binary, text) => {
                assert!(binary.is_err() && text.is_err(), "{action}: {binary:?} {text:?}");
            }
        }
    }
}

#[test]
fn blktrace_reads_what_blkparse_prints() {
    let little = events(Order::Little).concat();
    compare(&little, PRINTED);
    compare(&events(Order::Big).concat(), PRINTED);
    let (requests, facts) = read(&little, &of(TraceFormat::Auto)).unwrap();
    let ahead = Request { flags: flags::AHEAD, ..Request::new(Op::Read, 1, 2) };
    assert_eq!(requests[1], (2000, ahead));
    let counts: String =
        facts.events.iter().map(|(name, count)| format!("{name}{count} ")).collect();
    assert_eq!(counts, "A1 B1 C4 D1 F1 G1 I1 M1 P1 Q13 R1 S1 U2 X1 ");
    // Three notifications, an abort and data of a driver.
    assert_eq!((facts.lines, facts.header_lines, facts.dataless_events), (35, 5, 4));
}

#[test]
fn the_bit_of_cgroups_changes_nothing() {
    let plain = blktrace(Order::Little, 5, 1 | QUEUE | WRITE, 8, 512, b"");
    let grouped = blktrace(Order::Little, 5, 1 | QUEUE | WRITE | 1 << 8, 8, 512, &[7; 8]);
    let options = of(TraceFormat::Auto);
    assert_eq!(read(&plain, &options).unwrap().0, read(&grouped, &options).unwrap().0);
}

/// The events that blkparse prints of a file.
fn printed(binary: &[u8]) -> String {
    let folder = Folder::new();
    std::fs::write(folder.file("x.blktrace.0"), binary).unwrap();
    let mut blkparse = Command::new("blkparse");
    blkparse.args(["-q", "-i", "x"]).current_dir(folder.path());
    let output = blkparse.output().expect("blkparse can be run");
    let text = String::from_utf8(output.stdout).unwrap();
    let events = text.lines().map(str::trim_start).filter(|line| line.starts_with("8,0"));
    events.map(|line| format!("{line}\n")).collect()
}

#[test]
#[ignore = "needs blkparse (Debian: blktrace), without which it proves nothing: part of `make test-all`"]
fn blkparse_still_prints_this() {
    if Command::new("blkparse").arg("-V").output().is_err() {
        return;
    }
    for order in [Order::Little, Order::Big] {
        assert_eq!(printed(&events(order).concat()), PRINTED);
    }
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let event = (
        prop::sample::select(vec![1 | QUEUE, 7 | ISSUE, 8 | COMPLETE, 12 | QUEUE, 15 | QUEUE]),
        prop::bits::u32::masked(WRITE | FLUSH | SYNC | AHEAD | META | DISCARD | FUA),
        (0u64..1 << 22, 0u32..64, 1u64..1_000_000_000),
    );
    let all = (proptest::collection::vec(event, 1..20), any::<bool>());
    let done = runner.run(&all, |(events, little)| {
        let order = if little { Order::Little } else { Order::Big };
        let mut time = 0;
        let mut binary = Vec::new();
        for (action, bits, (sector, sectors, gap)) in events {
            time += gap;
            binary.extend(blktrace(order, time, action | bits, sector, sectors * 512, b""));
        }
        compare(&binary, &printed(&binary));
        Ok(())
    });
    done.unwrap();
}

#[test]
fn bad_records_are_located_and_skipped() {
    use TraceFormat::{Blktrace, Vscsi};
    let order = Order::Little;
    let good = |time| blktrace(order, time, 1 | QUEUE | WRITE, 16, 4096, b"tail");
    let one = good(100);
    let changed = |at: usize, byte: u8| {
        let mut record = good(200);
        record[at] = byte;
        record
    };
    let (second, third) = ("t, record 2 (offset 52): ", "t, record 3 (offset 100): ");
    for (bad, place, expected) in [
        (changed(24, 1), second, "a length in bytes, a multiple of 512 at byte 25"),
        (changed(28, 99), second, "an action, 1 to 17 at byte 29"),
        (changed(0, 8), second, "0x65617407 (blktrace, version 7) in either byte order at byte 1"),
        (changed(23, 0xff), second, "addresses on the device"),
        (blktrace(order, 99, 1 | QUEUE, 16, 512, b""), second, "a time not before"),
        (b"hello".repeat(20), second, "the magic number"),
        // Without the length of its tail the record is good, and the tail is what is bad.
        (changed(46, 0), third, "the magic number"),
    ] {
        let bytes = [one.clone(), bad, good(300)].concat();
        refuse(&bytes, Blktrace, &[place, expected, "found 0x", "skip_bad"]);
        let skip = Workload { skip_bad: true, ..of(Blktrace) };
        let (requests, facts) = read(&bytes, &skip).unwrap();
        assert_eq!(facts.skipped_lines, 1, "{expected}");
        assert_eq!(requests.last().unwrap().0, 200);
    }
    let cut = &[one.clone(), good(200)].concat()[..90];
    refuse(cut, Blktrace, &["record 2 (offset 52)", "the file ends inside it"]);
    refuse(&one[..30], Blktrace, &["record 1", "the file ends inside it"]);
    refuse(b"8,0 1 1 0.5 7 Q W 16 + 8 [a]\n", Blktrace, &["this is not a binary file of blktrace"]);
    refuse(&[7, 8, 9], TraceFormat::Auto, &["no known format"]);

    let one = vscsi(1, 1, 0x2a, 4096, 16, 50);
    for (bad, expected) in [
        (vscsi(1, 2, 0x88, 512, 1, 60), "the command, 0x28 (read) or 0x2a (write) at byte 13"),
        (vscsi(1, 2, 0x28, 100, 1, 60), "a length in bytes, a multiple of 512 at byte 5"),
        (vscsi(1, 2, 0x28, 0, 1, 60), "a length of at least one sector"),
        (vscsi(1, 2, 0x28, 512, 1, 40), "a time not before"),
        (vscsi(1, 2, 0x28, 512, 1, u64::MAX), "584 years"),
        (vscsi(3, 2, 0x28, 512, 1, 60)[..32].to_vec(), "version 1, as of the records above"),
    ] {
        let bytes = [one.clone(), bad, vscsi(1, 3, 0x28, 512, 1, 70)].concat();
        refuse(&bytes, Vscsi, &["t, record 2 (offset 32): ", expected, "found 0x"]);
        let skip = Workload { skip_bad: true, ..of(Vscsi) };
        let (requests, facts) = read(&bytes, &skip).unwrap();
        assert_eq!((requests.len(), facts.skipped_lines), (2, 1), "{expected}");
    }
}

#[test]
fn vscsi_of_version_2_says_the_same() {
    let of_version = |version| {
        let write = vscsi(version, 1, 0x2a, 4096, 16, 1_000_000_007);
        let read = vscsi(version, 2, 0x28, 512, 1 << 20, 1_000_000_011);
        [write, read].concat()
    };
    let options = of(TraceFormat::Auto);
    let (first, facts) = read(&of_version(1), &options).unwrap();
    assert_eq!((facts.format, facts.lines), ("vscsi", 2));
    assert_eq!(first[1], (4000, Request::new(Op::Read, 1 << 20, 1)));
    assert_eq!(read(&of_version(2), &options).unwrap().0, first);
}

#[test]
fn files_of_several_cpus_are_one_trace() {
    let record = |time, sector| blktrace(Order::Little, time, 1 | QUEUE | WRITE, sector, 512, b"");
    let (zero, two) = ([record(10, 1), record(40, 4)], [record(20, 2), record(30, 3)]);
    let folder = Folder::new();
    std::fs::write(folder.file("sda.blktrace.0"), zero.concat()).unwrap();
    std::fs::write(folder.file("sda.blktrace.1"), b"").unwrap();
    std::fs::write(folder.file("sda.blktrace.10"), two.concat()).unwrap();
    // Other traces, and compressed copies, are none of it.
    for name in ["sdb.blktrace.1", "sda.blktrace.10.gz", "sda.blktrace.x", "sda"] {
        std::fs::write(folder.file(name), b"of no use").unwrap();
    }
    let options = of(TraceFormat::Auto);
    for name in ["sda.blktrace.0", "sda.blktrace.10"] {
        let path = folder.file(name).display().to_string();
        let (requests, facts) = open(&path, &options).unwrap();
        let sectors: Vec<u64> = requests.iter().map(|(_, request)| request.sector).collect();
        assert_eq!((sectors, facts.lines), (vec![1, 2, 3, 4], 4));
    }
    let mut bad = two.concat();
    bad[48] = 0;
    std::fs::write(folder.file("sda.blktrace.10"), bad).unwrap();
    let path = folder.file("sda.blktrace.0").display().to_string();
    let error = open(&path, &options).unwrap_err();
    let other = folder.file("sda.blktrace.10").display().to_string();
    assert!(error.contains(&format!("record 2 of {other} (offset 48)")), "{error}");
}
