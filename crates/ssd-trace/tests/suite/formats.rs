//! Every format: what its lines become, what is refused and where, and how it is found out.

use crate::cases::cases;
use crate::samples::{RequestTuple, sample, samples, texts};
use crate::workloads::{drain, workload};
use proptest::prelude::*;
use ssd_core::config::Word;
use ssd_core::host::request::{Op, TimedRequest, flags};
use ssd_trace::config::{Fit, VolumeKey, Workload, WorkloadKind};
use ssd_trace::formats;
use ssd_trace::formats::TraceFormat;
use ssd_trace::{TraceFacts, TraceSource};

fn of(format: TraceFormat) -> Workload {
    Workload { format, fit: Fit::Compact, ..workload(WorkloadKind::Trace) }
}

fn auto() -> Workload {
    of(TraceFormat::Auto)
}

fn read(text: &[u8], workload: &Workload) -> Result<(Vec<TimedRequest>, TraceFacts), String> {
    let read = TraceSource::read("t", text, workload, 4096, 1 << 20);
    read.map(|(mut source, facts)| (drain(&mut source), facts)).map_err(|error| error.0)
}

/// The error of `text`, which must hold all of `parts`.
fn refuse(text: &str, workload: &Workload, parts: &[&str]) {
    let error = read(text.as_bytes(), workload).expect_err("it is refused");
    for part in parts {
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
    assert!(error.len() < 800, "{error}");
}

fn simple(requests: &[TimedRequest]) -> Vec<RequestTuple> {
    let one = |t: &TimedRequest| (t.at.0, t.request.op, t.request.sector, t.request.sectors);
    requests.iter().map(one).collect()
}

/// Requests as they stand in the trace: nothing renumbered.
fn as_it_is(format: TraceFormat) -> Workload {
    Workload { fit: Fit::None, ..of(format) }
}

#[test]
fn every_format_is_read() {
    let samples = samples();
    // Every word of the config but `auto` is a format; our own trace files have tests of their own.
    assert_eq!(formats::ALL.len() + 1, TraceFormat::WORDS.len());
    // Tables and records have the columns of their user, logs of fio by the clock are asked for: they have tests of
    // their own.
    assert_eq!(samples.len() + 4, formats::ALL.len());
    for (format, bytes, expected) in samples {
        let (found, facts) = read(&bytes, &as_it_is(format)).unwrap();
        assert_eq!(simple(&found), expected, "{}", format.word());
        assert_eq!(facts.format, format.word());
        assert!(!facts.units.is_empty() && facts.skipped_lines == 0);
    }
}

/// fio's manual and fio itself differ: intervals in microseconds, or milliseconds since the start.
#[test]
fn the_waits_of_fio_have_two_meanings() {
    let log = "fio version 2 iolog\n/d add\n/d open\n/d write 0 4096\n/d wait 3000 0\n/d write 8192 4096\n\
        /d wait 2000 0\n/d write 16384 4096\n/d wait 5000\n/d write 24576 4096\n/d close\n";
    let times = |workload: &Workload| {
        let (found, facts) = read(log.as_bytes(), workload).unwrap();
        let times: Vec<u64> = simple(&found).iter().map(|one| one.0 / 1_000_000).collect();
        (times, facts.warnings())
    };
    let (found, warnings) = times(&auto());
    assert_eq!(found, [0, 3, 5, 10]);
    let told = "3 `wait` lines are read as pauses in microseconds, as fio's manual describes them: 10.0 ms in all; fio \
        3.33 itself reads the numbers as milliseconds since the start, 5.00 s at the end; to read them as fio does: \
        ssdlab trace info t --format fio-v2-clock; to keep the pauses: ssdlab trace info t --format fio-v2";
    assert!(warnings.iter().any(|warning| warning.contains(told)), "{warnings:?}");
    // Who says which is not told.
    assert_eq!(times(&of(TraceFormat::FioV2)), (vec![0, 3, 5, 10], vec![]));
    assert_eq!(times(&of(TraceFormat::FioV2Clock)), (vec![0, 3000, 3000, 5000], vec![]));
    // Without a `wait` there is nothing to tell.
    let (_, facts) = read(
        log.replace("wait 3000 0", "sync")
            .replace("wait 2000 0", "sync")
            .replace("wait 5000", "sync")
            .as_bytes(),
        &auto(),
    )
    .unwrap();
    assert_eq!(facts.warnings(), [] as [String; 0]);
}

#[test]
fn line_ends_do_not_matter() {
    for (format, text, expected) in texts() {
        let dos = text.replace('\n', "\r\n");
        let (found, _) = read(dos.as_bytes(), &as_it_is(format)).unwrap();
        assert_eq!(simple(&found), expected, "{}", format.word());
    }
}

#[test]
fn every_sample_is_of_one_format() {
    use TraceFormat::{Disksim, Mqsim, Ssdsim};
    for (own, bytes, _) in samples() {
        let lines: Vec<&[u8]> =
            bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect();
        for (other, share) in formats::detect(&formats::Head { bytes: &bytes, lines: &lines }) {
            // Five whole numbers are a line of three formats: the file cannot say of which.
            let alike = [Disksim, Ssdsim];
            let expected =
                if own == other || (own == Mqsim && alike.contains(&other)) { 100 } else { 0 };
            let one = own == Disksim && [Mqsim, Ssdsim].contains(&other);
            assert!(share == expected || (one && share < 50), "{own:?} as {other:?}: {share} %");
        }
    }
}

#[test]
fn formats_are_found_out_or_asked_for() {
    for (format, bytes, _) in samples() {
        if format == TraceFormat::Mqsim {
            let error = read(&bytes, &auto()).unwrap_err();
            let names = "\"disksim\" or \"mqsim\" or \"ssdsim\"";
            assert!(error.contains(names) && error.contains("workload.format"), "{error}");
            continue;
        }
        let (_, facts) = read(&bytes, &auto()).unwrap();
        assert_eq!(facts.format, format.word());
    }
    refuse("hello\nworld\n", &auto(), &["no known format", "workload.format", "alibaba", "msr"]);
    refuse("", &auto(), &["empty"]);
    // A few bad lines do not hide the format.
    let text = "128166372003061629,hm,1,Read,0,4096,1\nbad\n128166372003061629,hm,1,Read,0,512,1\n";
    refuse(text, &auto(), &["t, line 2", "the timestamp"]);
}

/// Every line, after the sample of its format, is an error where it stands, or skipped and counted.
fn refuse_lines(lines: &[(TraceFormat, &str, &str)]) {
    for &(format, line, expected) in lines {
        let (_, good, _) = texts().into_iter().find(|sample| sample.0 == format).unwrap();
        let count = read(good.as_bytes(), &of(format)).unwrap().0.len();
        let text = format!("{good}{line}\n");
        let place = format!("t, line {}: expected ", good.lines().count() + 1);
        refuse(&text, &of(format), &[&place, expected, "found \""]);
        let skip = Workload { skip_bad: true, ..of(format) };
        let (requests, facts) = read(text.as_bytes(), &skip).unwrap();
        assert_eq!((requests.len(), facts.skipped_lines), (count, 1), "{line}");
    }
}

#[test]
fn wrong_units_and_garbage_are_refused_by_line() {
    use TraceFormat::*;
    refuse_lines(&[
        (Msr, "1166372003,hm,1,Read,0,4096,1", "FILETIME"),
        (Msr, "5.5,hm,1,Read,0,4096,1", "FILETIME"),
        (Msr, "128166372003061631,hm,1,Read,383,4096,22", "an offset in bytes, a multiple of 512"),
        (Msr, "128166372003061631,hm,1,Read,512,8,22", "a length in bytes, a multiple of 512"),
        (Msr, "128166372003061631,usr,1,Read,512,512,2", "the host of the first record, hm"),
        (Msr, "128166372003061631,hm,1,read,512,512,2", "`Read` or `Write`"),
        (Msr, "128166372003061631,hm,1,Read,-512,512,2", "the offset, bytes"),
        (Msr, "128166372003061631,hm,1,Read,18446744073709551616,512,2", "below 2^64"),
        (Msr, "928166372003061631,hm,1,Read,512,512,2", "584 years"),
        (Msr, "128166372003061631,hm,1,Read,512,0,2", "at least one sector"),
        (Msr, "128166372003061600,hm,1,Read,512,512,2", "a time not before"),
        (Alibaba, "419,R,3,4096,1577808000000051", "a multiple of 512"),
        (Alibaba, "419,R,512,512,1577808000.5", "whole microseconds"),
        (Alibaba, "419,0,512,512,1577808000000051", "`R` or `W`"),
        (Tencent, "1538323200123,1,2,0,1283", "is it in ms or us?"),
        (Tencent, "1538323202,1,2,2,1283", "0 (read) or 1 (write)"),
        (Tencent, "1538323202,1,4194304,0,1283", "1 GiB; is it another unit?"),
        (Systor17, "1455592316.1,0.1,W,4,8191,4096", "a multiple of 512"),
        (Systor17, "1455592316.1,x,W,4,8192,4096", "the response time"),
        (Systor17, "1455592316.1,,T,4,8192,4096", "`R` or `W`"),
        (Spc, "0,16,8,W,0.6", "a size in bytes, a multiple of 512"),
        (Spc, "0,16,4096,T,0.6", "`R` or `W`"),
        (Disksim, "3.1234567 0 16 8 0", "at most six decimals"),
        (Disksim, "3.5 0 16 8 x", "hexadecimal"),
        (Disksim, "3.5 0 1048576 4194304 1", "is it another unit?"),
        (Ssdsim, "300.5 0 16 8 1", "DiskSim's milliseconds"),
        (Ssdsim, "300 0 16 8 2", "0 (write) or 1 (read)"),
        (Mqsim, "300.5 0 16 8 1", "DiskSim's milliseconds"),
        (Mqsim, "300 0 16 8 1 5eb6", "the end of the line"),
        (Fiu, "329131208.190 4 a 16 8 W 6 0 531e779a531e779a531e779a531e779a", "whole nanoseconds"),
        (Fiu, "329131208190449 4 a 16 8 W 6 0 531e", "32 hexadecimal digits"),
        (Fiu, "329131208190449 4 16 8 W 6 0 531e779a531e779a531e779a531e779a", "a process"),
        (FioV2, "/e read 512 512", "an `add` line"),
        (FioV2, "/d read 100 512", "a multiple of 512"),
        (FioV2, "/d erase 512 512", "an action: add"),
        (FioV3, "400 /d wait 5 0", "an action: add"),
        (FioV3, "/d read 512 512", "the time, microseconds"),
        (Blkreplay, "2.0 ; 16 ; 8 ; X ; 0 ; 0", "`R`, `W` or `RA`"),
        (Blkreplay, "more text", "the start, seconds"),
        (BlockEvent, "8,0 1 1 0.6 7 Q Y 16 + 8", "R, W, D, N or F"),
    ]);
    // A garbage address is located by its line when it exceeds the device.
    let text = "419,W,0,4096,1\n419,W,1125899906842624,4096,2\n";
    refuse(text, &as_it_is(Alibaba), &["t, line 2:", "addresses on the device"]);
    refuse("fio version 2 iolog\n", &of(FioV3), &["line 1", "fio version 3 iolog"]);
    refuse("1,2,3\n", &of(Msr), &["line 1: this is not an MSR Cambridge trace", "Hostname"]);
    let other = Workload { action: 'D', ..of(Alibaba) };
    refuse("419,W,0,4096,1\n", &other, &["workload.action"]);
}

#[test]
fn more_garbage_is_refused_by_line() {
    use TraceFormat::*;
    refuse_lines(&[
        (Diskmon, "2\t10:15:02 AM\t0.1\t1\tRead\t1\t2", "times of day"),
        (Diskmon, "2\t0,6\t0.1\t1\tRead\t1\t2", "times of day"),
        (Diskmon, "2\t0.6\t0.1\t1\tread\t1\t2", "`Read` or `Write`"),
        (Diskmon, "2\t0.6\t-1\t1\tRead\t1\t2", "the duration"),
        (Diskmon, "2\t0.6\t0.1\t1\tRead\t1\t4194304", "is it another unit?"),
        (Biotracer, "1\t\t2\t\t4096\t\t0\t\t0.9\t\t1\t\t1\t\t1", "512 bytes for each"),
        (Biotracer, "1\t\t2\t\t1024\t\tW\t\t0.9\t\t1\t\t1\t\t1", "the type, a number"),
        (Biotracer, "1\t\t2\t\t1024\t\t0\t\t0.9\t\t1\t\t1", "a blank and a time"),
        (Biotracer, "1\t\t2\t\t1024\t\t0\t\t0.4\t\t1\t\t1\t\t1", "--sort"),
        (Etw, "DiskRead, 160, a (7), 7, 0xf, 512, 0x400, 5, 0", "ByteOffset, hexadecimal"),
        (Etw, "DiskRead, 160.5, a (7), 7, 0xf, 0x200, 0x400, 5, 0", "whole microseconds"),
        (Etw, "DiskRead, 160, a (7), 7, 0xf, 0x201, 0x400, 5, 0", "a multiple of 512"),
        (Etw, "DiskRead, 160, a (7), 7, 0xf, 0x200, 0xfffffffffffffffff, 5, 0", "IOSize"),
        (Etw, "DiskReed, 160, a (7), 7, 0xf, 0x200, 0x400, 5, 0", "an event of the disk"),
    ]);
}

#[test]
fn requests_are_taken_at_their_issue_only_if_nothing_earlier_is_there() {
    let line =
        |at: u64, action: char| format!("8,0 0 {at} {at}.5 7 {action} W {} + 8 [a]\n", 8 * at);
    // Longer than what the format is detected from.
    let issues: String = (0..3000).map(|at| line(at, 'D')).collect();
    let (requests, facts) = read(issues.as_bytes(), &auto()).unwrap();
    assert_eq!((requests.len(), facts.action), (3000, 'D'));
    let warnings = facts.warnings().concat();
    assert!(
        warnings.contains("taken at its issue (D): its requests have no events before their issue"),
        "{warnings}"
    );
    let both = format!("{issues}{}{}", line(3000, 'Q'), line(3001, 'D'));
    let texts = [
        "only issues (D) and completions of requests, but Q events follow further down",
        "workload.action=D  # D: 0 reads, 3,001 writes, 11.7 MiB",
        "tail -n +3001 t | ssdlab trace info -  # Q: 1 event, the first in line 3,001",
    ];
    refuse(&both, &auto(), &texts);
    let (requests, facts) = read(both.as_bytes(), &Workload { action: 'D', ..auto() }).unwrap();
    assert_eq!((requests.len(), facts.action), (3001, 'D'));
    refuse(
        &format!("{issues}{}", line(3000, 'M')),
        &auto(),
        &["but M events follow further down", "action=D"],
    );
    // An event before the issue may tell when the request arrived.
    refuse(&format!("{}{issues}", line(0, 'I')), &auto(), &["no usable Q events", "action=D"]);
}

#[test]
fn one_volume_of_several_is_named() {
    const BASE: u64 = 1_577_808_000_000_000;
    let text = [
        (7, 'W', 0, 4096, 5),
        (3, 'R', 0, 4096, 3),
        (7, 'W', 4096, 4096, 6),
        (70000, 'R', 0, 512, 9),
    ]
    .map(|(volume, op, offset, size, at)| format!("{volume},{op},{offset},{size},{}\n", BASE + at))
    .concat();
    let text = text.as_str();
    let each = [
        "=3  # 1 read, 0 writes, 4 KiB over a span of 4 KiB in 0 ns\n",
        "=7  # 0 reads, 2 writes, 8 KiB over a span of 8 KiB in 1.00 us",
        "=70000  # 1 read, 0 writes, 512 B over a span of 512 B in 0 ns\n",
        "=all  # all 3, their addresses one after another on one drive: 2 reads, 2 writes, 12.5 KiB in",
    ];
    refuse(text, &auto(), &[&["3 volumes"], &each[..]].concat());
    // The order counts within the volume only, and so does time 0.
    let seven = Workload { volume: Some(VolumeKey::One(7)), ..auto() };
    let (requests, facts) = read(text.as_bytes(), &seven).unwrap();
    assert_eq!(simple(&requests), [(0, Op::Write, 0, 8), (1000, Op::Write, 8, 8)]);
    assert_eq!(
        (facts.volume, facts.events_of_other_volumes, facts.base_ns),
        (7, 2, (BASE + 5) * 1000)
    );
    let four = Workload { volume: Some(VolumeKey::One(4)), ..auto() };
    refuse(text, &four, &[&["no volume 4"], &each[..]].concat());
    let events = "8,0 0 0 0.5 0 Q W 8 + 8\n8,16 0 0 0.6 0 Q W 8 + 8\n";
    let two = ["=34359738368  # 8,0: 0 reads, 1 write", "=34359738384  # 8,16: 0 reads, 1 write"];
    refuse(events, &auto(), &[&["2 volumes"], &two[..]].concat());
    let second = Workload { volume: Some(VolumeKey::One(34_359_738_384)), ..auto() };
    assert_eq!(read(events.as_bytes(), &second).unwrap().1.device, "8,16");
    let fio = "fio version 2 iolog\n/a add\n/b add\n/a read 0 512\n/b read 0 512\n";
    refuse(fio, &auto(), &["=0  # /a: 1 read, 0 writes", "=1  # /b: 1 read, 0 writes"]);
    let many: String =
        (0..70_000).map(|i| format!("{},W,0,512,{}\n", 100_000 + i, BASE + i)).collect();
    refuse(&many, &auto(), &["more than 65536 volumes"]);
}

#[test]
fn digits_that_a_spreadsheet_cut_are_noted() {
    let kept = |times: &[u64]| {
        let row = |time: &u64| format!("{time},usr,0,Write,8192,4096,1000\n");
        let text: String = times.iter().map(row).collect();
        read(text.as_bytes(), &auto()).unwrap().1.notes.join("\n")
    };
    let cut: Vec<u64> = (0..9).map(|n| 128_166_372_003_061_000 + n * 7000).collect();
    let note =
        "all numbers in column 1 end in 000, perhaps because a spreadsheet kept only 15 digits";
    assert!(kept(&cut).contains(note), "{}", kept(&cut));
    // A clock of milliseconds, one that has the digits, and few rows.
    let coarse: Vec<u64> = cut.iter().map(|time| time / 10_000 * 10_000).collect();
    let whole: Vec<u64> = cut.iter().map(|time| time + 306).collect();
    for times in [&coarse[..], &whole, &cut[..7]] {
        assert_eq!(kept(times), "");
    }
    // A clock of 10 us.
    let row = |n: u64| format!("{},0,R,4096,8192\n", 1_700_000_000_000_010 + n * 10);
    let text: String = (0..9).map(row).collect();
    let columns = Some("time=1:us,op=3,offset=4,size=5".to_owned());
    let (_, facts) = read(text.as_bytes(), &Workload { columns, ..auto() }).unwrap();
    assert!(!facts.notes.join("\n").contains("spreadsheet"));
}

#[test]
fn a_line_of_another_format_names_it() {
    let line = "128166372003061629,usr,0,Write,8192,4096,1000\n";
    refuse(
        line,
        &of(TraceFormat::Spc),
        &["this is not an SPC", "it looks like a file of format msr", "--format msr"],
    );
}

#[test]
fn a_share_of_bad_lines_is_offered_only_of_a_whole_file() {
    let line = |n: u64| match n % 20 {
        19 => "no request\n".to_owned(),
        _ => format!("{},usr,0,Write,{},4096,1000\n", 128_166_372_003_061_629 + n, n * 4096),
    };
    let text = |lines: u64| (0..lines).map(line).collect::<String>();
    let of_msr = of(TraceFormat::Msr);
    let skipping = "--set workload.skip_bad=true";
    refuse(&text(40), &of_msr, &[skipping, "--set workload.max_bad=0.06"]);
    // Of a long file only the beginning is known.
    let error = read(text(4000).as_bytes(), &of_msr).unwrap_err();
    assert!(error.ends_with(skipping), "{error}");
}

#[test]
fn doubled_records_are_seen_and_dropped() {
    // 0.9 ms later is a double, 1 ms later is not; another length is another record.
    let text = "8,0 0 0 0.0000 0 Q W 8 + 8\n8,0 0 0 0.0009 0 Q W 8 + 8\n\
                8,0 0 0 0.0009 0 Q W 8 + 16\n8,0 0 0 0.0010 0 Q W 8 + 8\n\
                8,0 0 0 0.0010 0 Q R 8 + 8\n8,0 0 0 0.0010 0 Q FF 0 + 0\n\
                8,0 0 0 0.0010 0 Q FF 0 + 0\n";
    let (requests, facts) = read(text.as_bytes(), &auto()).unwrap();
    assert_eq!((requests.len(), facts.doubled_records), (7, 1));
    let warnings = facts.warnings().join("\n");
    assert!(warnings.contains("1 of 7 records repeats"), "{warnings}");
    assert!(warnings.contains("workload.dedup = true"), "{warnings}");
    let (requests, facts) = read(text.as_bytes(), &Workload { dedup: true, ..auto() }).unwrap();
    assert_eq!((requests.len(), facts.doubled_records), (6, 1));
    assert!(facts.warnings().is_empty());
}

#[test]
fn flags_of_blkreplay() {
    let (requests, facts) = read(&sample(TraceFormat::Blkreplay).1, &auto()).unwrap();
    assert_eq!(requests[1].request.flags, flags::AHEAD);
    assert_eq!(facts.header_lines, 2);
}

proptest! {
    #![proptest_config(cases(200, 84))]

    #[test]
    fn what_is_written_is_what_is_read(
        requests in proptest::collection::vec(
            (0u64..5_000_000, any::<bool>(), 0u64..1_000_000, 1u32..2000), 1..30),
    ) {
        let mut micros = 1_577_808_000_000_000u64;
        let (mut alibaba, mut msr, mut spc) = (String::new(), String::new(), String::new());
        let (mut expected, first) = (Vec::new(), micros + requests[0].0);
        for (gap, write, sector, sectors) in requests {
            micros += gap;
            let (op, letter) = if write { (Op::Write, 'W') } else { (Op::Read, 'R') };
            let word = if write { "Write" } else { "Read" };
            let (offset, length) = (sector * 512, u64::from(sectors) * 512);
            alibaba += &format!("1,{letter},{offset},{length},{micros}\n");
            let ticks = 116_444_736_000_000_000 + micros * 10;
            msr += &format!("{ticks},h,1,{word},{offset},{length},0\n");
            let from_first = micros - first;
            let (s, us) = (from_first / 1_000_000, from_first % 1_000_000);
            spc += &format!("1,{sector},{length},{letter},{s}.{us:06}\n");
            expected.push((from_first * 1000, op, sector, sectors));
        }
        for (text, format) in
            [(alibaba, TraceFormat::Alibaba), (msr, TraceFormat::Msr), (spc, TraceFormat::Spc)]
        {
            let (found, _) = read(text.as_bytes(), &as_it_is(format)).unwrap();
            prop_assert_eq!(simple(&found), expected.clone());
            prop_assert_eq!(read(text.as_bytes(), &auto()).unwrap().1.format, format.word());
        }
    }
}

#[test]
fn what_formats_say_of_letters_times_and_events() {
    let found = |format, text: &str| simple(&read(text.as_bytes(), &as_it_is(format)).unwrap().0);
    // Opcodes in either case.
    let spc = "0,0,512,w,0\n0,1,512,r,0\n0,2,512,W,0\n0,3,512,R,0\n";
    let ops = [Op::Write, Op::Read, Op::Write, Op::Read];
    let expected = [0, 1, 2, 3].map(|sector| (0, ops[sector as usize], sector, 1));
    assert_eq!(found(TraceFormat::Spc, spc), expected);
    // The first of four times counts, wherever the others lie.
    let early = "0\t\t1\t\t512\t\t1\t\t0.1\t\t0.2\t\t0.3\t\t0.4\n";
    let late = "1\t\t1\t\t512\t\t1\t\t0.9\t\t0.3\t\t0.2\t\t0.1\n";
    let at: Vec<u64> =
        found(TraceFormat::Biotracer, &format!("{early}{late}")).iter().map(|one| one.0).collect();
    assert_eq!(at, [0, 800_000_000]);
    // The beginning of a flush is no request, as that of a read or a write.
    let begins = ["Read", "Write", "Flush"].map(|op| format!("Disk{op}Init, 95, a ( 5), 7, 0xf\n"));
    let etw = format!("{}DiskFlush, 100, a ( 5), 7, 0xf, 3, 0\n", begins.concat());
    assert_eq!(found(TraceFormat::Etw, &etw), [(100_000, Op::Flush, 0, 0)]);
}
