//! Traces in any format become traces in any other; trace files are read wherever a trace is.

use crate::cases::cases;
use crate::folder::{Folder, drain, requests, shape, write};
use crate::workloads;
use proptest::prelude::*;
use ssd_core::config::Word;
use ssd_core::host::request::{Op, Request, TimedRequest, flags};
use ssd_core::units::Nanos;
use ssd_trace::config::{AllVolumes, Fit, TraceUnit, VolumeKey, Workload, WorkloadKind};
use ssd_trace::formats::TraceFormat;
use ssd_trace::raw::{Reading, ReadingError, each_request};
use ssd_trace::write::{
    Allow, ConvertError, Counts, MOST_OPEN, Options, TARGETS, Target, convert_trace, merge_traces,
    split_trace,
};
use ssd_trace::{Step, TraceSource};
use std::ops::ControlFlow;
use std::ops::ControlFlow::Continue;
use std::path::Path;

const ALL_LOSSES: Options = Options {
    replace: false,
    allow: Allow { drop_requests: true, round_times: true, forget_fields: true },
};

fn go_on(_: Step) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn of(path: &Path, format: TraceFormat) -> Workload {
    let trace = Some(path.display().to_string());
    Workload { trace, format, fit: Fit::Compact, ..workloads::workload(WorkloadKind::Trace) }
}

fn target(format: TraceFormat) -> &'static Target {
    Target::named(format.word()).unwrap()
}

fn read(workload: &Workload) -> Result<(Vec<TimedRequest>, Reading), ReadingError> {
    let mut found = Vec::new();
    let reading = each_request(workload, go_on, |timed| {
        found.push(*timed);
        Ok(())
    })?;
    Ok((found, reading))
}

fn convert(
    workload: &Workload,
    path: &Path,
    to: TraceFormat,
    options: Options,
) -> Result<Counts, ConvertError> {
    let writer = target(to).create(path, options)?;
    convert_trace(workload, writer, go_on).map(|(_, counts)| counts)
}

/// What `list` is after it went through a format, where it went through it at all.
fn expected(list: &[TimedRequest], format: TraceFormat) -> Vec<TimedRequest> {
    let unit = match format {
        TraceFormat::Msr => 100,
        TraceFormat::FioV3 => 1000,
        _ => 1,
    };
    let letters = flags::FUA | flags::SYNC | flags::META | flags::PREFLUSH | flags::AHEAD;
    let mut left = Vec::new();
    for timed in list {
        let Request { op, sector, sectors, flags, .. } = timed.request;
        let transfers = matches!(op, Op::Read | Op::Write);
        let known = letters | if transfers { flags::COPY } else { 0 };
        let carried = match format {
            TraceFormat::Ssdtrace => true,
            TraceFormat::BlockEvent => matches!(op, Op::Trim | Op::Flush) || sectors <= 1 << 21,
            TraceFormat::FioV3 => op == Op::Flush || (sectors < 1 << 23 && sector < 1 << 55),
            TraceFormat::Msr => matches!(op, Op::Read | Op::Write) && sector < 1 << 55,
            _ => matches!(op, Op::Read | Op::Write),
        };
        let flags = match format {
            TraceFormat::Ssdtrace => flags,
            TraceFormat::BlockEvent if op == Op::Flush => flags & known & !flags::PREFLUSH,
            TraceFormat::BlockEvent => flags & known,
            _ => 0,
        };
        if carried {
            let request = Request { flags, ..Request::new(op, sector, sectors) };
            left.push(TimedRequest { at: Nanos(timed.at.0 / unit * unit), request });
        }
    }
    if format == TraceFormat::Msr {
        // Its clock starts with the first record.
        let first = left.first().map_or(0, |timed| timed.at.0);
        left.iter_mut().for_each(|timed| timed.at.0 -= first);
    }
    left
}

proptest! {
    #![proptest_config(cases(48, 82))]

    /// Our own file to a text format and back to our own file: what the format carries is the same.
    #[test]
    fn every_format_that_is_written_is_read(
        shape in shape(), seed in any::<u64>(), count in 1usize..300,
        index in 0..TARGETS.len(),
    ) {
        let mut list = requests(&shape, count, seed);
        list.iter_mut().for_each(|timed| {
            // MSR counts in 100 ns since 1601, believed up to 2185.
            timed.at.0 %= 1 << 61;
            (timed.request.volume, timed.request.stream) = (0, 0);
            timed.request.sectors = timed.request.sectors.min(1 << 21);
        });
        list.sort_by_key(|timed| timed.at);
        let (folder, to) = (Folder::new(), &TARGETS[index]);
        let (own, text) = (folder.file("t.ssdtrace"), folder.file("t.txt"));
        write(&list, ssd_trace::write::Columnar::create(&own, Options::default()).unwrap()).unwrap();
        let counts = convert(&of(&own, TraceFormat::Auto), &text, to.format, ALL_LOSSES).unwrap();
        let expected = expected(&list, to.format);
        prop_assert_eq!(counts.requests, expected.len() as u64);
        prop_assert_eq!(counts.dropped.iter().sum::<u64>() + counts.requests, list.len() as u64);
        if expected.is_empty() {
            return Ok(());
        }
        let mut written = of(&text, to.format);
        if to.format == TraceFormat::Mqsim {
            // Such a file does not say what it counts, and requests drawn at random may look like pages.
            written.unit = TraceUnit::Sectors;
        }
        let (found, reading) = read(&written).unwrap();
        prop_assert_eq!(&found, &expected, "{}", to.format.word());
        prop_assert_eq!(reading.format, to.format.word());
        let again = folder.file("again.ssdtrace");
        convert(&written, &again, TraceFormat::Ssdtrace, Options::default()).unwrap();
        prop_assert_eq!(&read(&of(&again, TraceFormat::Auto)).unwrap().0, &expected);
    }
}

const TEXT: &str = "8,0 1 1 0.000000100 7 Q WS 16 + 8 [a]\n8,0 1 1 0.5 7 Q R 1 + 2 [a]\n\
                    8,0 1 1 0.5 7 Q FF 0 + 0 [a]\n8,0 1 1 0.75 7 Q D 8 + 16 [a]\n";

#[test]
fn a_trace_file_is_replayed_like_its_text() {
    let folder = Folder::new();
    let (text, own) = (folder.file("t.txt"), folder.file("t.ssdtrace"));
    std::fs::write(&text, TEXT).unwrap();
    let workload = of(&text, TraceFormat::Auto);
    convert(&workload, &own, TraceFormat::Ssdtrace, Options::default()).unwrap();
    let packed = folder.file("t.zst");
    std::fs::write(&packed, zstd::encode_all(&std::fs::read(&own).unwrap()[..], 1).unwrap())
        .unwrap();
    let replay = |path: &Path| {
        let workload = Workload { from_ns: 50, loops: 2, ..of(path, TraceFormat::Auto) };
        let name = path.display().to_string();
        let (mut source, facts) =
            TraceSource::open(&name, &workload, 4096, 1 << 20, None, &mut |_| Continue(()))
                .unwrap();
        (workloads::drain(&mut source), facts)
    };
    let (requests, facts) = replay(&text);
    for path in [&own, &packed] {
        let (same, own_facts) = replay(path);
        assert_eq!(same, requests);
        assert_eq!(own_facts.trace_digest, facts.trace_digest);
        assert_eq!((own_facts.format, own_facts.requests), ("ssdtrace", facts.requests));
    }
    // An action is a matter of block-event text; an empty file and half a file are refused.
    let other = Workload { action: 'D', ..of(&own, TraceFormat::Auto) };
    let refusal = |workload: &Workload| match read(workload) {
        Err(ReadingError::Refused(error)) => error.0,
        other => panic!("{other:?}"),
    };
    assert!(refusal(&other).contains("workload.action at \"Q\""));
    let bytes = std::fs::read(&own).unwrap();
    std::fs::write(&own, &bytes[..bytes.len() - 1]).unwrap();
    assert!(refusal(&of(&own, TraceFormat::Auto)).contains("byte 192: not a whole trace file"));
    std::fs::write(&own, b"").unwrap();
    assert!(refusal(&of(&own, TraceFormat::Ssdtrace)).contains("found an empty file"));
    let nobody = folder.file("none.ssdtrace");
    write(&[], ssd_trace::write::Columnar::create(&nobody, Options::default()).unwrap()).unwrap();
    assert!(refusal(&of(&nobody, TraceFormat::Auto)).contains("holds no requests"));
}

#[test]
fn an_interrupt_and_a_refusal_leave_no_file() {
    let folder = Folder::new();
    let (text, out) = (folder.file("t.txt"), folder.file("t.csv"));
    std::fs::write(&text, TEXT).unwrap();
    let workload = of(&text, TraceFormat::Auto);
    let writer = target(TraceFormat::Msr).create(&out, ALL_LOSSES).unwrap();
    let stopped = convert_trace(&workload, writer, |_| ControlFlow::Break(()));
    assert_eq!(stopped.unwrap_err(), ConvertError::Interrupted { done: 0 });
    let refused = convert(&workload, &out, TraceFormat::Msr, Options::default()).unwrap_err();
    assert!(refused.to_string().contains("t.csv: request 1 (write of 8 sectors"), "{refused}");
    assert!(refused.to_string().contains("forget-fields"), "{refused}");
    std::fs::write(&text, format!("{TEXT}8,0 1 1 0.9 7 Q R 1 + 2\nbad\n")).unwrap();
    let bad = convert(&workload, &out, TraceFormat::Msr, ALL_LOSSES).unwrap_err();
    assert!(bad.to_string().contains("t.txt, line 6"), "{bad}");
    assert_eq!(folder.names(), ["t.txt"]);
    let gzip = target(TraceFormat::Msr).create(&folder.file("t.csv.gz"), ALL_LOSSES);
    assert!(gzip.err().unwrap().to_string().contains(".zst"));
    assert!(Target::named("msrr").unwrap_err().to_string().contains("block-event, fio-v3"));
    assert!(Allow::named(&["round".to_owned()]).unwrap_err().to_string().contains("round-times"));
}

/// Lines of Alibaba's format: one device's times do not run with another's.
fn two_devices() -> String {
    let mut text = String::new();
    for i in 0..50 {
        let time = 1_577_808_000_000_000u64 + 1000 * i;
        text += &format!("419,W,{},4096,{time}\n7,R,{},512,{}\n", i * 8192, i * 512, time - 300);
        // A double of the other device's record is none.
        text += &format!("7,W,{},4096,{}\n", i * 8192, time - 300);
    }
    text
}

#[test]
fn a_split_trace_is_what_each_volume_is_alone() {
    let folder = Folder::new();
    let text = folder.file("t.csv");
    std::fs::write(&text, two_devices()).unwrap();
    let workload = Workload { dedup: true, ..of(&text, TraceFormat::Auto) };
    let parts = folder.file("parts");
    std::fs::create_dir(&parts).unwrap();
    let options = Options::default();
    let own = target(TraceFormat::Ssdtrace);
    let (_, volumes) = split_trace(&workload, &parts, own, options, go_on).unwrap();
    assert_eq!(volumes.iter().map(|part| part.volume).collect::<Vec<_>>(), [7, 419]);
    for part in &volumes {
        let alone = folder.file(&format!("alone-{}.ssdtrace", part.volume));
        let one = Workload { volume: Some(VolumeKey::One(part.volume)), ..workload.clone() };
        let counts = convert(&one, &alone, TraceFormat::Ssdtrace, options).unwrap();
        assert_eq!(counts, part.counts);
        assert_eq!(std::fs::read(&part.path).unwrap(), std::fs::read(alone).unwrap());
    }
    assert_eq!(volumes[0].counts.requests, 100);
    let refused = convert(&workload, &folder.file("x"), TraceFormat::Ssdtrace, options);
    assert!(refused.unwrap_err().to_string().contains("the trace has 2 volumes"));
}

#[test]
fn a_merge_of_an_ambiguous_trace_says_to_convert_it_first() {
    let folder = Folder::new();
    let path = folder.file("open.csv");
    std::fs::write(&path, "time,op,offset,size\n1,R,8,8\n2,W,16,8\n").unwrap();
    let writer =
        target(TraceFormat::Ssdtrace).create(&folder.file("x"), Options::default()).unwrap();
    let parts = [of(&path, TraceFormat::Auto), of(&path, TraceFormat::Auto)];
    let error = merge_traces(&parts, writer, go_on).unwrap_err().to_string();
    assert!(error.contains("convert this file first (ssdlab trace convert FILE OUT)"), "{error}");
    assert!(error.contains("open.csv --columns time=time:s,op=op,"), "{error}");
}

#[test]
fn merged_traces_are_volumes_in_order_of_time() {
    let folder = Folder::new();
    let texts =
        ["100000 0 0 8 0\n300000 0 80 8 1\n", "0 0 0 16 0\n100000 0 8 8 0\n400000 0 0 8 1\n"];
    let of_text = |(number, text): (usize, &&str)| {
        let path = folder.file(&format!("{number}.trace"));
        std::fs::write(&path, text).unwrap();
        of(&path, TraceFormat::Mqsim)
    };
    let parts: Vec<Workload> = texts.iter().enumerate().map(of_text).collect();
    let both = folder.file("both.ssdtrace");
    let writer = target(TraceFormat::Ssdtrace).create(&both, Options::default()).unwrap();
    let (readings, counts) = merge_traces(&parts, writer, go_on).unwrap();
    assert_eq!((readings.len(), counts.requests), (2, 5));
    let with = |volume| Workload { volume: Some(volume), ..of(&both, TraceFormat::Ssdtrace) };
    let (all, _) = read(&with(VolumeKey::Every(AllVolumes::All))).unwrap();
    let order: Vec<(u64, u16, u64)> =
        all.iter().map(|timed| (timed.at.0, timed.request.volume, timed.request.sector)).collect();
    // Equal times are in the order of the files.
    let expected = [(0, 1, 0), (100_000, 0, 0), (100_000, 1, 8), (300_000, 0, 80), (400_000, 1, 0)];
    assert_eq!(order, expected);
    for (volume, part) in (0..).zip(&parts) {
        assert_eq!(read(&with(VolumeKey::One(volume))).unwrap().0, read(part).unwrap().0);
    }
    // What has volumes keeps them; a run puts one behind the other.
    let again = folder.file("again.csv");
    convert(&with(VolumeKey::Every(AllVolumes::All)), &again, TraceFormat::Msr, Options::default())
        .unwrap();
    let text = std::fs::read_to_string(&again).unwrap();
    assert!(text.contains(",1,Write,4096,4096,0\n"), "{text}");
    let bytes = std::fs::read(&both).unwrap();
    let fitted =
        TraceSource::read("t", &bytes[..], &with(VolumeKey::Every(AllVolumes::All)), 4096, 100);
    let (mut source, _) = fitted.unwrap();
    let sectors: Vec<u64> =
        drain(&mut source).unwrap().iter().map(|timed| timed.request.sector).collect();
    assert_eq!(sectors, [0, 16, 8, 24, 0]);
}

#[test]
fn more_volumes_than_open_files_are_split() {
    let folder = Folder::new();
    let text = folder.file("t.csv");
    let many = 2 * MOST_OPEN + 3;
    // Volumes come in turn, so none is complete before the others begin; the last ones first.
    let line = |i: usize, round: usize| {
        let at = 1_577_808_000_000_000 + (round * many + i) * 7;
        format!("{},{},{},4096,{at}\n", many - i, ["R", "W"][round % 2], 4096 * (i + round))
    };
    let lines: String = (0..3).flat_map(|r| (0..many).map(move |i| line(i, r))).collect();
    std::fs::write(&text, lines).unwrap();
    let workload = of(&text, TraceFormat::Auto);
    let parts = folder.file("parts");
    std::fs::create_dir(&parts).unwrap();
    let (own, options) = (target(TraceFormat::Ssdtrace), Options::default());
    let (reading, volumes) = split_trace(&workload, &parts, own, options, go_on).unwrap();
    assert_eq!(
        volumes.iter().map(|part| part.volume).collect::<Vec<_>>(),
        (1..=many as u64).collect::<Vec<_>>()
    );
    assert_eq!(volumes.iter().map(|part| part.counts.requests).sum::<u64>(), reading.lines);
    assert_eq!(std::fs::read_dir(&parts).unwrap().count(), many, "nothing else is left");
    for part in [&volumes[0], &volumes[MOST_OPEN], &volumes[many - 1]] {
        let alone = folder.file(&format!("alone-{}.ssdtrace", part.volume));
        let one = Workload { volume: Some(VolumeKey::One(part.volume)), ..workload.clone() };
        convert(&one, &alone, TraceFormat::Ssdtrace, options).unwrap();
        assert_eq!(std::fs::read(&part.path).unwrap(), std::fs::read(alone).unwrap());
    }
}
