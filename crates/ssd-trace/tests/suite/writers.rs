//! Writers: what a format carries comes back, what it cannot carry is refused or counted.

use crate::cases::cases;
use crate::folder::{Folder, List, Shape, requests, shape, timed, write};
use crate::workloads;
use proptest::prelude::*;
use ssd_core::host::request::{Op, Request, TimedRequest, flags};
use ssd_core::units::Nanos;
use ssd_trace::TraceSource;
use ssd_trace::columnar::Reader;
use ssd_trace::config::WorkloadKind;
use ssd_trace::write::{
    Allow, BATCH, BlockEvent, Columnar, ConvertError, Counts, EPOCH_1970, Fio, Form, Mqsim, Msr,
    Options, TARGETS, TextWriter, TraceWriter, WriteError, convert,
};
use std::ops::ControlFlow;
use std::sync::atomic::AtomicU32;

const ALL_LOSSES: Options = Options {
    replace: false,
    allow: Allow { drop_requests: true, round_times: true, forget_fields: true },
};

/// Text and counts of `list` in a format.
fn text<F: Form + 'static>(
    list: &[TimedRequest],
    form: F,
    options: Options,
) -> Result<(String, Counts), ConvertError> {
    let folder = Folder::new();
    let path = folder.file("t.txt");
    let counts = write(list, TextWriter::create(&path, form, options)?);
    assert_eq!(folder.names().is_empty(), counts.is_err(), "nothing half-written is left");
    let text = std::fs::read_to_string(&path);
    counts.map(|counts| (text.unwrap(), counts))
}

/// The error of writing `list`, which names request `number` and holds `part`.
fn refused<F: Form + 'static>(list: &[TimedRequest], form: F, number: u64, part: &str) {
    let error = text(list, form, Options::default()).unwrap_err();
    let place = format!("t.txt: request {number} (");
    let message = error.to_string();
    assert!(message.contains(&place) && message.contains(part), "{part:?} not in {message}");
}

/// What is left of a request in a format that rounds and forgets.
fn reduced(
    list: &[TimedRequest],
    unit: u64,
    keep: impl Fn(&mut Request) -> bool,
) -> Vec<TimedRequest> {
    let mut kept = Vec::new();
    for timed in list {
        let mut timed = TimedRequest { at: Nanos(timed.at.0 / unit * unit), ..*timed };
        if keep(&mut timed.request) {
            kept.push(timed);
        }
    }
    kept
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is a number"))
}

fn request(op: Op, at: u64, sector: u64, sectors: u64, volume: u64) -> TimedRequest {
    let request = Request::new(op, sector, sectors as u32);
    TimedRequest { at: Nanos(at), request: Request { volume: volume as u16, ..request } }
}

fn read_msr(text: &str) -> Vec<TimedRequest> {
    let line = |line: &str| {
        let [time, "host", disk, verb, offset, size, "0"] = line.split(',').collect::<Vec<_>>()[..]
        else {
            panic!("{line}");
        };
        let op = if verb == "Read" { Op::Read } else { Op::Write };
        let at = (number(time) - EPOCH_1970) * 100;
        request(op, at, number(offset) / 512, number(size) / 512, number(disk))
    };
    text.lines().map(line).collect()
}

fn read_mqsim(text: &str) -> Vec<TimedRequest> {
    let line = |line: &str| {
        let [at, device, sector, sectors, kind] =
            line.split(' ').map(number).collect::<Vec<_>>()[..]
        else {
            panic!("{line}");
        };
        request([Op::Write, Op::Read][kind as usize], at, sector, sectors, device)
    };
    text.lines().map(line).collect()
}

fn read_fio(text: &str) -> Vec<TimedRequest> {
    let mut lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..3], ["fio version 3 iolog", "0 /dev/x add", "0 /dev/x open"]);
    assert!(lines.pop().unwrap().ends_with(" /dev/x close"));
    let line = |line: &&str| {
        let [time, "/dev/x", verb, offset, length] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let op = match verb {
            "read" => Op::Read,
            "write" => Op::Write,
            "trim" => Op::Trim,
            "sync" => Op::Flush,
            other => panic!("{other}"),
        };
        request(op, number(time) * 1000, number(offset) / 512, number(length) / 512, 0)
    };
    lines[3..].iter().map(line).collect()
}

fn read_block_event(text: &[u8]) -> Vec<TimedRequest> {
    let mut workload = workloads::workload(WorkloadKind::Trace);
    workload.fit = ssd_trace::config::Fit::None;
    let read = TraceSource::read("t", text, &workload, 1 << 30, 1 << 20).unwrap();
    workloads::drain(&mut { read.0 })
}

/// Forgets the fields that no text format but MSR and MQSim has.
fn plain(request: &mut Request) {
    (request.volume, request.stream, request.flags) = (0, 0, 0);
}

proptest! {
    #![proptest_config(cases(48, 87))]

    #[test]
    fn what_a_format_carries_comes_back(
        shape in shape(), seed in any::<u64>(), count in 0..600usize,
    ) {
        let list = requests(&shape, count, seed);
        let (msr, counts) = text(&list, Msr::new("host", EPOCH_1970).unwrap(), ALL_LOSSES).unwrap();
        let is_transfer = |op: Op| op == Op::Read || op == Op::Write;
        let kept = reduced(&list, 100, |r| {
            (r.stream, r.flags) = (0, 0);
            is_transfer(r.op) && r.sector >> 55 == 0
        });
        prop_assert_eq!(&read_msr(&msr), &kept);
        prop_assert_eq!(counts.requests, kept.len() as u64);
        prop_assert_eq!(counts.dropped.iter().sum::<u64>(), (list.len() - kept.len()) as u64);
        prop_assert_eq!(counts.bytes, msr.len() as u64);

        let (mqsim, _) = text(&list, Mqsim, ALL_LOSSES).unwrap();
        let kept = reduced(&list, 1, |r| {
            (r.stream, r.flags) = (0, 0);
            is_transfer(r.op)
        });
        prop_assert_eq!(read_mqsim(&mqsim), kept);

        let (fio, _) = text(&list, Fio::new("/dev/x").unwrap(), ALL_LOSSES).unwrap();
        let kept = reduced(&list, 1000, |r| {
            plain(r);
            r.sector >> 55 == 0 && r.sectors < 1 << 23
        });
        prop_assert_eq!(read_fio(&fio), kept);
    }

    #[test]
    fn block_events_come_back_through_our_own_parser(
        seed in any::<u64>(), count in 1..600usize, gap in prop::sample::select(vec![1u64, 1 << 33]),
    ) {
        let shape = Shape { gap, unit: 1, sector_bits: 40, sectors: 1 << 21, ops: 4, fields: true };
        let mut list = requests(&shape, count, seed);
        for timed in &mut list {
            (timed.request.volume, timed.request.stream) = (0, 0);
            timed.request.flags &= if timed.request.op == Op::Flush { 0x17 } else { 0x1f };
        }
        // Nothing but flushes and trims would be nothing to replay.
        list[0].request = Request::new(Op::Write, 0, 8);
        let form = BlockEvent::new('Q').unwrap();
        let (written, counts) = text(&list, form, Options::default()).unwrap();
        prop_assert_eq!(counts.requests, list.len() as u64);
        prop_assert_eq!(read_block_event(written.as_bytes()), list);
    }
}

#[test]
fn what_a_format_cannot_carry_is_refused_by_number() {
    let write = timed(1_000, Op::Write, 8, 8);
    let with = |change: fn(&mut TimedRequest)| {
        let mut other = write;
        change(&mut other);
        [write, write, other]
    };
    let msr = || Msr::new("h", 0).unwrap();
    let fio = || Fio::new("/dev/x").unwrap();
    let event = BlockEvent::new('Q').unwrap();
    let trim = with(|t| t.request.op = Op::Trim);
    let flush = with(|t| t.request = Request::new(Op::Flush, 0, 0));
    refused(&trim, msr(), 3, "MSR CSV has no trims");
    refused(&flush, msr(), 3, "MSR CSV has no flushes");
    refused(&trim, Mqsim, 3, "MQSim text has no trims");
    refused(&flush, Mqsim, 3, "MQSim text has no flushes");
    let far = with(|t| t.request.sector = 1 << 55);
    refused(&far, msr(), 3, "no addresses from byte 2^64");
    refused(&far, fio(), 3, "no addresses from byte 2^64");
    refused(&with(|t| t.request.sectors = 1 << 23), fio(), 3, "4 GiB");
    refused(&with(|t| t.request.sectors = 1 + (1 << 21)), event, 3, "1 GiB");
    let addressed = with(|t| t.request = Request::new(Op::Flush, 8, 0));
    refused(&addressed, event, 3, "no flush of an address");
    refused(&addressed, fio(), 3, "no flush of an address");
    refused(&with(|t| t.at = Nanos(1_001)), msr(), 3, "units of 100 ns");
    refused(&with(|t| t.at = Nanos(1_100)), fio(), 3, "units of 1000 ns");
    refused(&with(|t| t.request.flags = flags::SYNC), Mqsim, 3, "no streams and flags");
    refused(&with(|t| t.request.volume = 2), fio(), 3, "no volumes");
    refused(&with(|t| t.request.volume = 2), event, 3, "no volumes");
    refused(&with(|t| t.request.flags = 128), event, 3, "no letter");
}

#[test]
fn losses_that_are_allowed_are_counted() {
    let mut list = vec![
        timed(0, Op::Write, 8, 8),
        timed(150, Op::Trim, 8, 8),
        timed(150, Op::Read, 8, 8),
        timed(250, Op::Flush, 0, 0),
        timed(300, Op::Read, 16, 8),
    ];
    list[4].request.flags = flags::META;
    let (text, counts) = text(&list, Msr::new("h", 5).unwrap(), ALL_LOSSES).unwrap();
    assert_eq!(text, "5,h,0,Write,4096,4096,0\n6,h,0,Read,4096,4096,0\n8,h,0,Read,8192,4096,0\n");
    let expected = Counts {
        requests: 3,
        dropped: [0, 0, 1, 1],
        times_rounded: 1,
        fields_forgotten: 1,
        bytes: text.len() as u64,
    };
    assert_eq!(counts, expected);
}

#[test]
fn every_letter_of_a_block_event_is_written() {
    let mut list = vec![timed(1_500_000_000, Op::Write, 64, 8), timed(u64::MAX, Op::Flush, 0, 0)];
    list[0].request.flags = flags::PREFLUSH | flags::FUA | flags::AHEAD | flags::SYNC | flags::META;
    list[1].request.flags = flags::FUA | flags::SYNC;
    let form = BlockEvent::new('D').unwrap();
    let (text, _) = text(&list, form, Options::default()).unwrap();
    let expected = "8,0 0 1 1.500000000 0 D FWFASM 64 + 8 [ssdlab]\n\
                    8,0 0 2 18446744073.709551615 0 D FFFS 0 + 0 [ssdlab]\n";
    assert_eq!(text, expected);
    assert!(BlockEvent::new('G').is_none());
}

#[test]
fn values_that_would_break_a_format_are_refused() {
    for host in ["", "a,b", "a\nb", "a\"b"] {
        assert!(matches!(Msr::new(host, 0), Err(WriteError::Option(_))), "{host:?}");
    }
    for file in ["", "a b", "a\tb", &"x".repeat(257)] {
        assert!(matches!(Fio::new(file), Err(WriteError::Option(_))), "{file:?}");
    }
    let folder = Folder::new();
    for target in TARGETS {
        let refused = target.create(&folder.file("t.gz"), Options::default());
        assert!(matches!(refused, Err(WriteError::Option(_))), "{target:?}");
    }
    assert!(folder.names().is_empty());
    // A FILETIME that does not fit in 64 bits.
    let list = [timed(0, Op::Read, 0, 1), timed(100, Op::Read, 0, 1)];
    refused(&list, Msr::new("h", u64::MAX).unwrap(), 2, "cannot represent times this late");
}

#[test]
fn a_name_that_ends_in_zst_compresses() {
    let folder = Folder::new();
    let path = folder.file("t.txt.zst");
    let list = [timed(1, Op::Write, 8, 8)];
    let form = BlockEvent::new('Q').unwrap();
    let counts =
        write(&list, TextWriter::create(&path, form, Options::default()).unwrap()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(counts.bytes, bytes.len() as u64);
    assert_eq!(read_block_event(&bytes), list);
}

#[test]
fn a_file_that_exists_is_replaced_only_on_request() {
    let folder = Folder::new();
    let path = folder.file("t.txt");
    std::fs::write(&path, "old").unwrap();
    let create =
        |replace| TextWriter::create(&path, Mqsim, Options { replace, ..Options::default() });
    assert!(matches!(create(false), Err(WriteError::Exists(_))));
    let writer = create(true).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"old", "until the end");
    assert_eq!(folder.names().len(), 2);
    write(&[timed(1, Op::Write, 8, 8)], writer).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"1 0 8 8 0\n");
    assert_eq!(folder.names(), ["t.txt"]);
    // It appears between opening and end.
    let other = folder.file("u.txt");
    let writer = TextWriter::create(&other, Mqsim, Options::default()).unwrap();
    std::fs::write(&other, "theirs").unwrap();
    let error = write(&[], writer).unwrap_err();
    assert!(matches!(error, ConvertError::Write(WriteError::Exists(_))), "{error}");
    assert_eq!((std::fs::read(&other).unwrap(), folder.names().len()), (b"theirs".to_vec(), 2));
    let nowhere = folder.file("no/such/t.txt");
    let error = TextWriter::create(&nowhere, Mqsim, Options::default()).err().unwrap();
    assert!(error.to_string().contains("no/such/t.txt: cannot be written"), "{error}");
}

#[test]
fn a_conversion_tells_its_progress_and_can_be_interrupted() {
    let shape = Shape { gap: 9, unit: 1, sector_bits: 20, sectors: 8, ops: 2, fields: false };
    let list = requests(&shape, 3 * BATCH + 1, 5);
    let folder = Folder::new();
    let path = folder.file("t.ssdtrace");
    let create = || Box::new(Columnar::create(&path, Options::default()).unwrap());
    let mut seen = Vec::new();
    let mut source = List(list.clone(), 0);
    let stopped = convert(&mut source, create(), &mut |progress| {
        seen.push(progress.done);
        if seen.len() == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let done = 2 * BATCH as u64;
    assert_eq!(stopped, Err(ConvertError::Interrupted { done }));
    assert_eq!(seen, [0, BATCH as u64, done]);
    assert!(folder.names().is_empty());
    write(&list, *create()).unwrap();
    let mut reader = Reader::open(&path).unwrap();
    let mut expected = Vec::new();
    let again = folder.file("again.ssdtrace");
    let writer = Box::new(Columnar::create(&again, Options::default()).unwrap());
    let counts = convert(&mut reader, writer, &mut |progress| {
        expected.push(progress.expected);
        ControlFlow::Continue(())
    });
    assert_eq!(counts.unwrap().requests, list.len() as u64);
    assert!(expected.iter().all(|known| *known == Some(list.len() as u64)));
    // Equal requests, equal bytes.
    assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(&again).unwrap());
    assert_eq!(create_format(&folder), ["trace file", "MQSim text"]);
}

fn create_format(folder: &Folder) -> [&'static str; 2] {
    let first = Columnar::create(&folder.file("a.ssdtrace"), Options::default()).unwrap();
    let second = TextWriter::create(&folder.file("b.txt"), Mqsim, Options::default()).unwrap();
    [first.format(), second.format()]
}

#[test]
fn a_source_that_fails_leaves_nothing() {
    struct FailingSource(u32);
    impl ssd_core::host::source::Source for FailingSource {
        fn next_request(
            &mut self,
        ) -> Result<Option<TimedRequest>, ssd_core::host::source::SourceError> {
            self.0 += 1;
            if self.0 > 10_000 {
                return Err(ssd_core::host::source::SourceError("line 10001 is bad".to_owned()));
            }
            Ok(Some(timed(u64::from(self.0), Op::Write, 8, 8)))
        }
    }
    let folder = Folder::new();
    let writer = Columnar::create(&folder.file("t.ssdtrace"), Options::default()).unwrap();
    let failed =
        convert(&mut FailingSource(0), Box::new(writer), &mut |_| ControlFlow::Continue(()));
    assert_eq!(failed.unwrap_err().to_string(), "line 10001 is bad");
    assert!(folder.names().is_empty());
}

/// 20 million requests from source to file and back, in less than 100 MB at the peak.
/// `cargo test -p ssd-trace --test suite writers -- --ignored`
#[cfg(target_os = "linux")]
#[test]
#[ignore = "writes 240 MB and takes seconds"]
fn a_long_trace_needs_little_memory() {
    const ALONE: &str = "SSDLAB_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        // The peak is that of a process, in which other tests run, too.
        let mut test = std::process::Command::new(std::env::current_exe().unwrap());
        test.args(["--exact", "writers::a_long_trace_needs_little_memory", "--ignored"]);
        let said = String::from_utf8(test.env(ALONE, "").output().unwrap().stdout).unwrap();
        assert!(said.contains("1 passed"), "{said}");
        return;
    }
    let peak = || -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        number(line.split_whitespace().nth(1).unwrap()) << 10
    };
    let mut workload = workloads::workload(WorkloadKind::Uniform);
    (workload.requests, workload.read) = (20_000_000, 0.5);
    let folder = Folder::new();
    let path = folder.file("t.ssdtrace");
    let mut source = ssd_trace::open(&workload, 4096, 1 << 24, 1).unwrap().source;
    let writer = Box::new(Columnar::create(&path, Options::default()).unwrap());
    let counts = convert(&mut *source, writer, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(counts.bytes > 150 << 20, "{counts:?}");
    let mut reader = Reader::open(&path).unwrap();
    let form = BlockEvent::new('Q').unwrap();
    let text = folder.file("t.txt.zst");
    let writer = Box::new(TextWriter::create(&text, form, Options::default()).unwrap());
    let again = convert(&mut reader, writer, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(again.requests, 20_000_000);
    assert!(peak() < 100 << 20, "{} bytes", peak());
}

#[test]
fn folders_of_tests_are_new_whatever_an_aborted_run_left() {
    // The other tests of this process count from 0.
    let next = AtomicU32::new(1 << 30);
    let first = Folder::numbered(&next);
    std::fs::write(first.file("left"), "").unwrap();
    let again = AtomicU32::new(1 << 30);
    let second = Folder::numbered(&again);
    assert_eq!((first.names().len(), second.names().len()), (1, 0));
}
