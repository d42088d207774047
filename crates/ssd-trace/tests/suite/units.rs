//! In which unit a trace counts: what is certain is read, what is not is refused with both readings.

use crate::workloads::{self, drain};
use ssd_core::config::Word;
use ssd_core::host::request::{Op, TimedRequest};
use ssd_core::rng::Stream;
use ssd_trace::config::{Fit, TraceUnit, Workload, WorkloadKind};
use ssd_trace::formats::TraceFormat;
use ssd_trace::{TraceFacts, TraceSource};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Formats whose copies differ in their unit.
const OPEN: [TraceFormat; 4] =
    [TraceFormat::Disksim, TraceFormat::Mqsim, TraceFormat::Ssdsim, TraceFormat::Tencent];

fn of(format: TraceFormat, unit: TraceUnit) -> Workload {
    let trace = workloads::workload(WorkloadKind::Trace);
    Workload { format, unit, fit: Fit::Compact, ..trace }
}

fn read(text: &str, workload: &Workload) -> Result<(Vec<TimedRequest>, TraceFacts), String> {
    let read = TraceSource::read("t", text.as_bytes(), workload, 4096, 1 << 28);
    read.map(|(mut source, facts)| (drain(&mut source), facts)).map_err(|error| error.0)
}

/// First address and length, in some unit; every tenth is a read.
type Range = (u64, u64);

fn text(format: TraceFormat, ranges: &[Range]) -> String {
    let mut text = String::new();
    for (number, (start, length)) in (0u64..).zip(ranges) {
        let read = u64::from(number % 10 == 0);
        // A request each millisecond, or each second.
        let line = match format {
            TraceFormat::Tencent => format!("{number},{start},{length},{},1", 1 - read),
            TraceFormat::Disksim => format!("{number} 0 {start} {length} {read}"),
            _ => format!("{} 0 {start} {length} {read}", 1_000_000 * number),
        };
        writeln!(text, "{line}").expect("writing to a string cannot fail");
    }
    text
}

/// Requests as of a file system, in sectors: from a partition that begins at sector 63.
fn files(count: u64) -> Vec<Range> {
    let mut random = Stream::new(11, "files");
    let lengths = [8, 8, 8, 8, 16, 64, 1, 24, 128, 2048];
    (0..count)
        .map(|_| (63 + 8 * random.below(1 << 22), lengths[random.below(10) as usize]))
        .collect()
}

fn in_bytes(ranges: &[Range]) -> Vec<Range> {
    ranges.iter().map(|&(start, length)| (512 * start, 512 * length)).collect()
}

/// The pages that each of them touches.
fn in_pages(ranges: &[Range], sectors: u64) -> Vec<Range> {
    let page = |&(start, length): &Range| {
        (start / sectors, (start + length).div_ceil(sectors) - start / sectors)
    };
    ranges.iter().map(page).collect()
}

fn places(requests: &[TimedRequest]) -> Vec<Range> {
    requests.iter().map(|r| (r.request.sector, u64::from(r.request.sectors))).collect()
}

#[test]
fn sectors_are_read_and_other_units_refused_until_said() {
    for format in OPEN {
        let auto = of(format, TraceUnit::Auto);
        // The command repeats what is set already.
        let command = |unit: &str| {
            format!(
                "\n  ssdlab trace info t --format {} --unit {unit}  # requests of",
                format.word()
            )
        };
        let ranges = files(1000);
        let (expected, facts) = read(&text(format, &ranges), &auto).unwrap();
        assert!(facts.units.contains("512 B sectors"), "{}", facts.units);
        assert!(facts.warnings().is_empty(), "{:?}", facts.warnings());
        let bytes = text(format, &in_bytes(&ranges));
        let error = read(&bytes, &auto).unwrap_err();
        for part in
            ["t: the unit of its", &command("sectors"), &command("bytes"), "(1,000 requests"]
        {
            assert!(error.contains(part), "{part} is not in {error}");
        }
        assert!(error.lines().count() == 3 && error.len() < 600, "{error}");
        let (found, facts) = read(&bytes, &of(format, TraceUnit::Bytes)).unwrap();
        assert_eq!(found, expected);
        assert!(facts.units.ends_with("in bytes"), "{}", facts.units);
        let pages = text(format, &in_pages(&ranges, 8));
        let error = read(&pages, &auto).unwrap_err();
        for part in [&command("sectors"), &command("pages --page-size 4KiB")] {
            assert!(error.contains(part), "{part} is not in {error}");
        }
        // Whoever says sectors means it.
        assert_eq!(read(&pages, &of(format, TraceUnit::Sectors)).unwrap().0.len(), 1000);
    }
}

#[test]
fn pages_have_the_size_that_is_said() {
    let ranges = [(3, 2), (10, 1)];
    for (page_bytes, sectors) in [(4096, 8), (16_384, 32), (512, 1)] {
        let pages =
            Workload { page_bytes, fit: Fit::None, ..of(TraceFormat::Disksim, TraceUnit::Pages) };
        let (requests, _) = read(&text(TraceFormat::Disksim, &ranges), &pages).unwrap();
        let expected = ranges.map(|(start, length)| (sectors * start, sectors * length));
        assert_eq!(places(&requests), expected);
    }
    let beyond = format!("1 0 {} 1 0\n", u64::MAX / 8 + 1);
    let error = read(&beyond, &of(TraceFormat::Disksim, TraceUnit::Pages)).unwrap_err();
    assert!(error.contains("line 1") && error.contains("pages below sector 2^64"), "{error}");
}

#[test]
fn the_doubt_comes_before_what_follows_from_it() {
    // In sectors the second request is longer than any, and none is on the device.
    let long = text(TraceFormat::Disksim, &[(1 << 30, 4096), (1 << 31, 4 << 20)]);
    let error = read(&long, &of(TraceFormat::Disksim, TraceUnit::Auto)).unwrap_err();
    assert!(error.contains("--unit bytes"), "{error}");
    let fitted = Workload { fit: Fit::None, ..of(TraceFormat::Disksim, TraceUnit::Auto) };
    let far = text(TraceFormat::Disksim, &in_bytes(&files(50)));
    let error = read(&far, &fitted).unwrap_err();
    assert!(error.contains("--unit bytes") && !error.contains("on the device"), "{error}");
    // The first request alone says nothing, but where to look.
    let one = text(TraceFormat::Disksim, &[(1 << 31, 4 << 20)]);
    let error = read(&one, &of(TraceFormat::Disksim, TraceUnit::Auto)).unwrap_err();
    assert!(error.contains("is it another unit? workload.unit"), "{error}");
}

#[test]
fn what_a_benchmark_or_a_log_does_is_read_in_sectors() {
    let auto = of(TraceFormat::Mqsim, TraceUnit::Auto);
    // Large aligned requests in sequence.
    let sequential: Vec<Range> = (0..500).map(|number| (2048 * number, 2048)).collect();
    // Appends of whatever there is, to several logs.
    let appends: Vec<Range> =
        (0..500).map(|number| (10 * number + number % 7, 9 + number % 3)).collect();
    // A few short requests: too few to say anything.
    let few: Vec<Range> = (0..15).map(|number| (3 * number, 1)).collect();
    // Records that begin at blocks and are longer than one.
    let records: Vec<Range> = (0..500).map(|number| (24 * number, 9 + number % 5)).collect();
    // Blocks of 2 KiB, at any of them.
    let halves: Vec<Range> = (0..500)
        .map(|number| (4 * (number * 7919 % 10_000), [4, 4, 4, 12][number as usize % 4]))
        .collect();
    for ranges in [sequential, appends, few, records, halves] {
        let (requests, facts) = read(&text(TraceFormat::Mqsim, &ranges), &auto).unwrap();
        assert_eq!(requests.len(), ranges.len());
        assert!(facts.warnings().is_empty(), "{:?}", facts.warnings());
    }
    // Lengths in pages beside addresses in sectors, as in FlashSim, are read with a warning.
    let mixed: Vec<Range> = files(100).iter().map(|&(start, _)| (start - 63, 1)).collect();
    let (_, facts) = read(&text(TraceFormat::Mqsim, &mixed), &auto).unwrap();
    assert!(facts.warnings()[0].contains("FlashSim"), "{:?}", facts.warnings());
    // Even if most of them are of 16 KiB, so that in sectors they would be half a block.
    let database =
        (0..500).map(|number| (8 * (number * 7919 % 10_000), if number % 20 == 0 { 1 } else { 4 }));
    let (_, facts) =
        read(&text(TraceFormat::Mqsim, &database.collect::<Vec<Range>>()), &auto).unwrap();
    assert!(facts.warnings()[0].contains("FlashSim"), "{:?}", facts.warnings());
}

#[test]
fn formats_that_define_their_unit_keep_it() {
    let msr = "128166372003061629,hm,1,Write,8192,4096,2212\n";
    assert!(read(msr, &of(TraceFormat::Msr, TraceUnit::Auto)).is_ok());
    let error = read(msr, &of(TraceFormat::Msr, TraceUnit::Bytes)).unwrap_err();
    assert!(error.contains("\"msr\", whose unit is defined: time in 100 ns"), "{error}");
    let load = |factor: u64| {
        files(200).iter().zip(0u64..).fold(String::new(), |mut text, ((start, length), at)| {
            writeln!(text, "{at} ; {} ; {} ; W", start * factor, length * factor).unwrap();
            text
        })
    };
    let blkreplay = of(TraceFormat::Blkreplay, TraceUnit::Auto);
    assert!(read(&load(1), &blkreplay).unwrap().1.warnings().is_empty());
    let (_, facts) = read(&load(512), &blkreplay).unwrap();
    assert!(
        facts.warnings()[0].contains("as in a copy that counts bytes"),
        "{:?}",
        facts.warnings()
    );
    // More than any device could do: 1 GiB each nanosecond.
    let fast: String =
        (0..2000).map(|at| format!("{}.000000000 ; 8 ; 2097152 ; W\n", at / 1000)).collect();
    let (_, facts) = read(&fast, &blkreplay).unwrap();
    assert!(facts.notes[0].contains("more than any device"), "{:?}", facts.notes);
    // However short the trace.
    let short = "0.000000000 ; 8 ; 4096 ; W\n0.000000900 ; 8 ; 4096 ; W\n";
    let (_, facts) = read(short, &blkreplay).unwrap();
    assert!(facts.notes[0].contains("is the time in another unit?"), "{:?}", facts.notes);
    // All at once is a queue, and no rate.
    let queue = "0.5 ; 8 ; 4096 ; W\n0.5 ; 8 ; 4096 ; W\n";
    assert!(read(queue, &blkreplay).unwrap().1.notes.is_empty());
}

/// The recorded traces of the repository: in sectors none is refused or warned about, in bytes all are
/// refused, in pages all but one, which is warned of.
#[test]
#[ignore = "reads every recorded trace of the repository four times: part of `make test-all`"]
fn recorded_requests_are_told_apart() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../traces");
    let mut tried = 0;
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "zst") {
            continue;
        }
        let recorded = Workload {
            trace: Some(path.display().to_string()),
            until_ns: None,
            ..of(TraceFormat::BlockEvent, TraceUnit::Auto)
        };
        let mut ranges = Vec::new();
        let go_on = |_| std::ops::ControlFlow::Continue(());
        ssd_trace::raw::each_request(&recorded, go_on, |timed| {
            if matches!(timed.request.op, Op::Read | Op::Write) {
                ranges.push((timed.request.sector, u64::from(timed.request.sectors)));
            }
            Ok(())
        })
        .unwrap();
        let auto = of(TraceFormat::Ssdsim, TraceUnit::Auto);
        let name = path.display();
        let notes = |ranges: &[Range]| {
            read(&text(TraceFormat::Ssdsim, ranges), &auto).map(|(_, facts)| facts.notes)
        };
        assert_eq!(notes(&ranges), Ok(Vec::new()), "{name}");
        let error = notes(&in_bytes(&ranges)).expect_err("it is in bytes");
        assert!(error.contains("--unit bytes"), "{name}: {error}");
        let odd = match notes(&in_pages(&ranges, 8)) {
            Err(error) => error,
            Ok(notes) => {
                assert!(path.ends_with("cassandra.trace.zst"), "{name}: {notes:?}");
                notes[0].clone()
            }
        };
        assert!(odd.contains("--unit pages"), "{name}: {odd}");
        tried += 1;
    }
    assert!(tried >= 7, "{tried} recorded traces");
}

#[test]
fn no_unit_of_time_is_offered_that_makes_all_times_equal() {
    let auto = of(TraceFormat::Auto, TraceUnit::Auto);
    for names in ["Time,op,offset,size\n", ""] {
        let rows = "0.0001,write,40960000,4096\n0.0002,read,12288,4096\n0.0003,write,4096,8192\n";
        let message = read(&format!("{names}{rows}"), &auto).unwrap_err();
        assert!(message.contains("in 200 us") && !message.contains("in 0 ns"), "{message}");
    }
}

#[test]
fn columns_whose_numbers_no_device_has_are_refused_wherever_they_stand() {
    let mut text: String = (0..8_000).map(|at| format!("{at},W,{},4096\n", at * 4096)).collect();
    let columns = Some("time=1:us,op=2,offset=3,size=4".to_owned());
    let workload = Workload { columns, fit: Fit::Compact, ..Workload::default() };
    let read = |text: &str, workload: &Workload| {
        TraceSource::read("t", text.as_bytes(), workload, 4096, 1 << 20).map(|_| ())
    };
    assert_eq!(read(&text, &workload), Ok(()));
    text.push_str("8000,W,4611686018427387904,4096\n");
    let error = read(&text, &workload).unwrap_err().0;
    assert!(
        error.contains("fit its lines, but the numbers are impossible: addresses up to"),
        "{error}"
    );
    let command = "ssdlab trace info t --format table --columns time=1:us,op=2,offset=3,size=4";
    assert!(error.ends_with(command), "{error}");
    let insisted = Workload { format: TraceFormat::Table, ..workload };
    assert_eq!(read(&text, &insisted), Ok(()));
}

#[test]
fn numbers_only_are_read_with_a_note_on_their_meaning() {
    let line = |(at, (start, length)): (u64, Range)| format!("{at}.25 0 {start} {length} 0\n");
    let lines: String = (0..).zip(files(20)).map(line).collect();
    let note = "its lines have only numbers, which are read as a DiskSim trace: `TIME_MS DEVICE SECTOR SECTORS \
                FLAGS`; an odd flag is a read, an even one a write";
    let warnings = |format| read(&lines, &of(format, TraceUnit::Auto)).unwrap().1.warnings();
    assert!(warnings(TraceFormat::Auto).join("\n").contains(note));
    // Set, it is no doubt. With words, there is none either.
    assert!(!warnings(TraceFormat::Disksim).join("\n").contains("only numbers"));
    let spc = "0,303567,3584,w,0.026214\n0,303574,3584,w,0.026682\n";
    let facts = read(spc, &of(TraceFormat::Auto, TraceUnit::Auto)).unwrap().1;
    assert!(!facts.warnings().join("\n").contains("only numbers"));
}
