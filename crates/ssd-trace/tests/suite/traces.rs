//! Which traces are accepted, what they become, and what is said about the others.

use crate::cases::cases;
use crate::workloads::{drain, workload};
use proptest::prelude::*;
use ssd_core::host::request::{Op, Request, TimedRequest, flags};
use ssd_core::units::Nanos;
use ssd_trace::config::{Fit, Workload, WorkloadKind};
use ssd_trace::{TraceFacts, TraceSource};
use std::io::Write;

/// 4 KiB pages.
const PAGE: u32 = 4096;

fn trace() -> Workload {
    workload(WorkloadKind::Trace)
}

fn read(text: &[u8], workload: &Workload) -> Result<(Vec<TimedRequest>, TraceFacts), String> {
    let read = TraceSource::read("t.txt", text, workload, PAGE, 1 << 20);
    read.map(|(mut source, facts)| (drain(&mut source), facts)).map_err(|error| error.0)
}

/// The error of `text`, which must hold all of `parts`.
fn refuse(text: &[u8], workload: &Workload, parts: &[&str]) {
    let error = read(text, workload).expect_err("it is refused");
    for part in parts {
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
    assert!(error.len() < 600, "{error}");
}

const BLKPARSE: &[u8] = b"Input file sda.blktrace.0 added
  8,0    1        1     0.000000000  3486  A   W 64 + 8 <- (8,1) 0
  8,0    1        2     0.000000100  3486  Q   W 64 + 8 [a b [c] + 9]
  8,0    1        3     0.000003446  3486  G   W 64 + 8 [a.out]
  8,0    1        4     0.000004205  3486  P   N [a.out]
  8,0    1        0     0.000004300     0  m   N cfq3486S / alloced
  8,0    1        5     0.000004721  3486  U   N [a.out] 1
  8,0    1        6     0.000005308  3486 UT   N [a.out] 1
  8,0    1        6     0.000005308  3486  I   W 64 + 8 (    1862) [a.out]
  8,0    1        7     0.000009648  3486  D   W 64 + 8 (    4340) [a.out]
  8,0    1        8     0.000100000  3486  Q FWFSM 800 + 16 [jbd2/sda1-8]
  8,0    1        9     0.000100000  3486  Q FWS [jbd2/sda1-8]
  8,0    1       10     0.000200000  3486  D   R 36 (12 00 00 00 24 00 ..) [udevd]
  8,0    1       11     0.001027448     0  C   W 64 + 8 ( 1017800) [0]
  8,0    1       12     1.500000000  3486  Q  DS 4096 + 1024 [kworker]
  8,0    1       13     1.500000001  3486  Q  RA 8 + 8 [a.out]

CPU1 (8,0):
 Reads Queued:           1,        4KiB\t Writes Queued:           0,        0KiB
 Read depth:             1        \t Write depth:             1
 IO unplugs:             1        \t Timer unplugs:           0

Total (8,0):
 PC Reads Queued:        0,        0KiB\t PC Writes Queued:        0,        0KiB
Throughput (R/W): 4,000KiB/s / 0KiB/s
Events (8,0): 7 entries
Skips: 0 forward (0 -   0.0%)
";

/// A stream whose every second read is interrupted by a signal, and the others bring a few bytes.
struct InterruptedReader<'a>(&'a [u8], bool);

impl std::io::Read for InterruptedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        let few = buffer.len().min(100);
        self.0.read(&mut buffer[..few])
    }
}

#[test]
fn interrupted_reads_are_repeated() {
    let raw = InterruptedReader(BLKPARSE, false);
    let (mut source, facts) = TraceSource::read("t.txt", raw, &trace(), PAGE, 1 << 20).unwrap();
    let (expected, whole) = read(BLKPARSE, &trace()).unwrap();
    assert_eq!(drain(&mut source), expected);
    assert_eq!(facts, whole);
}

#[test]
fn blkparse_output_with_its_summary() {
    let (requests, facts) = read(BLKPARSE, &trace()).unwrap();
    let expected = [
        (100, Op::Write, 64, 8, 0),
        (100_000, Op::Write, 800, 16, flags::PREFLUSH | flags::FUA | flags::SYNC | flags::META),
        (100_000, Op::Flush, 0, 0, flags::SYNC),
        (1_500_000_000, Op::Trim, 4096, 1024, flags::SYNC),
        (1_500_000_001, Op::Read, 8, 8, flags::AHEAD),
    ]
    .map(|(at, op, sector, sectors, flags)| TimedRequest {
        at: Nanos(at),
        request: Request { flags, ..Request::new(op, sector, sectors) },
    });
    assert_eq!(requests, expected);
    assert_eq!((facts.lines, facts.summary_lines, facts.skipped_lines), (27, 10, 0));
    let events: String = facts.events.iter().map(|(name, n)| format!("{name}{n} ")).collect();
    assert_eq!(events, "A1 C1 D2 G1 I1 P1 Q5 U2 m1 ");
    assert_eq!((facts.footprint_pages, facts.unique_pages_written), (4, 3));
    assert_eq!((facts.bytes_written, facts.bytes_trimmed), (24 * 512, 1024 * 512));
    assert_eq!(facts.device, "8,0");
    let json = serde_json::to_string(&facts).unwrap();
    assert!(
        json.contains("\"requests\":{\"read\":1,\"write\":2,\"trim\":1,\"flush\":1,\"copy\":0}"),
        "{json}"
    );
    assert!(json.contains("\"trace_digest\":\"") && json.contains("\"fit\":\"none\""), "{json}");

    let (requests, facts) = read(BLKPARSE, &Workload { action: 'D', ..trace() }).unwrap();
    assert_eq!((requests.len(), facts.dataless_events), (1, 1));
}

#[test]
fn an_event_after_a_summary_is_an_event_again() {
    let twice = [BLKPARSE, BLKPARSE].concat();
    refuse(&twice, &trace(), &["line 30:", "a time not before", "1500000001 ns"]);
}

#[test]
fn line_ends_and_blanks_do_not_matter() {
    let plain = b"8,0 0 0 0.5 0 Q W 8 + 8\n8,0 0 0 0.6 0 Q W 8 + 8 [x]\n".to_vec();
    let (expected, facts) = read(&plain, &trace()).unwrap();
    for text in [
        &b"8,0 0 0 0.5 0 Q W 8 + 8\r\n\r\n8,0 0 0 0.6 0 Q W 8 + 8 [x]\r\n"[..],
        b"\n  8,0\t0 0 0.500000000 0 Q   W 8 + 8\n8,0 0 0 0.6 0 Q W 8 + 8 [x]",
        b"8,0 0 0 0.5 0 Q W 8 + 8 \xff\x00\n8,0 0 0 0.6 0 Q W 8 + 8 [\x00\n",
        b"8,0 0 99999999999999999999999 0.5 0 Q W 8 + 8\n\
          8,0 0 0 0.6 0 Q W 00000000000000000000008 + 8",
    ] {
        let (found, other) = read(text, &trace()).unwrap();
        assert_eq!(found, expected, "{:?}", String::from_utf8_lossy(text));
        assert_eq!(other.trace_digest, facts.trace_digest);
    }
}

#[test]
fn bad_traces_are_refused_with_their_place() {
    let good = "8,0 0 0 0.5 0 Q W 8 + 8 [x]\n";
    let skip = Workload { skip_bad: true, ..trace() };
    for (line, expected) in [
        ("8,0 0 0 0.6 0 Q W 18446744073709551616 + 8", "a number below 2^64"),
        ("8,0 0 0 0.6 0 Q W -8 + 8", "the first sector"),
        ("8,0 0 0 0.6 0 Q W 8 8", "`+`"),
        ("8,0 0 0 0.6 0 Q W 8 + 8x", "a blank after the number of sectors"),
        ("8,0 0 0 0.6 0 Q W 8", "a blank after the sector"),
        ("8,0 0 0 0.6 0 Q W", "a blank after the operation"),
        ("8,0 0 0 0.6 0 Q Y 8 + 8", "R, W, D, N or F"),
        ("8,0 0 0 0,6 0 Q W 8 + 8", "a blank after the time"),
        ("8,0 0 0 0.6 0 QQQ W 8 + 8", "the action"),
        ("128166372003061629,hm,1,Read,383,3276,22", "a number below 2^32"),
        ("8,0 0 0 0.4 0 Q W 8 + 8", "a time not before that of an event above it (500000000 ns)"),
        ("8,0 0 0 0.6 0 Q W 8 + 0", "a write of at least one sector"),
        ("8,0 0 0 0.6 0 Q R 8 + 0", "a read of at least one sector"),
        ("8,0 0 0 0.6 0 Q W 8 + 2097153", "1 GiB"),
        ("8,0 0 0 0.6 0 Q W 8388608 + 8", "last sector is 8388607"),
        ("Reads Queued: 7", "the device's major number"),
        ("\0\u{1}\u{2}", "the device's major number"),
    ] {
        let text = format!("{good}\n{line}\n{good}");
        refuse(text.as_bytes(), &trace(), &["t.txt, line 3:", "expected ", expected, "found \""]);
        let (requests, facts) = read(text.as_bytes(), &skip).unwrap();
        assert_eq!((requests.len(), facts.skipped_lines), (2, 1), "{line}");
        assert!(facts.first_skipped.unwrap().contains("line 3"));
    }
    let long = format!("{good}8,0 0 0 0.6 0 Q W 8 + 8 [{}]\n{good}", "x".repeat(70_000));
    refuse(long.as_bytes(), &trace(), &["line 2:", "a line of at most 65536 bytes", "..."]);
    assert_eq!(read(long.as_bytes(), &skip).unwrap().1.skipped_lines, 1);
}

#[test]
fn what_holds_no_requests_is_refused() {
    refuse(b"", &trace(), &["t.txt", "empty (0 bytes)"]);
    refuse(b"\n\n", &trace(), &["no events in 2 lines"]);
    refuse(b"\x7fELF\x02\x01\x01\0\0", &trace(), &["line 1", "not block-event text", "ELF"]);
    refuse(&[0; 200_000], &trace(), &["line 1", "not block-event text"]);
    refuse(
        b"Timestamp,Hostname\n",
        &trace(),
        &["line 1", "not block-event text", "plain or compressed"],
    );
    let first = b"8,0 0 0 0.5 0 Q W 8 + 0 [x]\n";
    refuse(first, &trace(), &["line 1: expected a write of at least one sector"]);
    let skip = Workload { skip_bad: true, ..trace() };
    refuse(b"a\nb\n", &skip, &["all 2 lines were skipped", "line 1"]);
    let only_c = b"8,0 0 0 0.5 0 C W 8 + 8 [0]\n";
    let gives = "--set workload.action=C  # 0 reads, 1 write, 4 KiB";
    refuse(only_c, &trace(), &["no usable Q events; found C: 1", gives]);
    let late = Workload { from_ns: 600_000_000, ..trace() };
    let one = b"8,0 0 0 0.5 0 Q W 8 + 8 [x]\n";
    refuse(one, &late, &["no Q events in the time range", "from 500000000 ns", "workload.from"]);
    let discard = b"8,0 0 0 0.5 0 Q D 8 + 8 [x]\n";
    let compact = Workload { fit: Fit::Compact, ..trace() };
    refuse(discard, &compact, &["no page is read or written, and discards"]);
    let part = Workload { until_ns: Some(600_000_000), ..compact };
    refuse(discard, &part, &["no page is read or written in the time range; widen it"]);
}

#[test]
fn keys_out_of_range_are_named() {
    for (workload, key) in [
        (Workload { action: 'X', ..trace() }, "workload.action"),
        (Workload { loops: 0, ..trace() }, "workload.loops"),
        (Workload { time_scale: 0.0, ..trace() }, "workload.time_scale"),
        (Workload { time_scale: f64::NAN, ..trace() }, "workload.time_scale"),
        (Workload { time_scale: 1e18, ..trace() }, "146 years"),
        (Workload { from_ns: 5, until_ns: Some(5), ..trace() }, "workload.until"),
    ] {
        refuse(BLKPARSE, &workload, &[key]);
    }
    let named = |path: &str| {
        let workload = Workload { trace: Some(path.to_owned()), ..trace() };
        ssd_trace::open(&workload, PAGE, 100, 1).err().expect("it is refused").0
    };
    assert!(named("no/such.trace").contains("no/such.trace: cannot open the trace"));
    assert!(named(env!("CARGO_MANIFEST_DIR")).contains("cannot read the trace"));
    assert!(ssd_trace::open(&trace(), PAGE, 100, 1).err().unwrap().0.contains("workload.trace"));
    assert!(ssd_trace::open(&trace(), 1000, 100, 1).err().unwrap().0.contains("page_size"));
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zstd_long(text: &[u8], window_log: u32) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.long_distance_matching(true).unwrap();
    encoder.window_log(window_log).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// `count` writes of 4 KiB to scattered pages.
fn many(count: u64) -> Vec<u8> {
    let line = |i| format!("8,0 0 {i} 0.{i:09} 7 Q WS {} + 8 [x]\n", i * 7919 % 99_991 * 8);
    (0..count).map(line).collect::<String>().into_bytes()
}

#[test]
fn compression_does_not_matter_and_damage_is_found() {
    let text = many(20_000);
    let plain = read(&text, &trace()).unwrap();
    let (head, tail) = text.split_at(text.len() / 3);
    let (zst, gz) = (zstd_long(&text, 27), gzip(&text));
    let frames = [zstd_long(head, 27), zstd_long(tail, 30)].concat();
    let members = [gzip(head), gzip(tail)].concat();
    for packed in [&zst, &gz, &frames, &members] {
        assert_eq!(read(packed, &trace()).unwrap(), plain);
    }
    for packed in [&zst, &gz] {
        for length in [5, packed.len() / 2, packed.len() - 1] {
            refuse(&packed[..length], &trace(), &["t.txt: the compressed data are", "line "]);
        }
        let mut damaged = packed.clone();
        damaged[packed.len() - 5] ^= 0x10;
        refuse(&damaged, &trace(), &["t.txt: the compressed data are damaged", "zstd -t"]);
    }
    refuse(&zstd_long(b"", 20), &trace(), &["empty"]);
}

proptest! {
    #![proptest_config(cases(300, 86))]

    #[test]
    fn any_bytes_are_read_or_refused(
        bytes in proptest::collection::vec(any::<u8>(), 0..2000),
        magic in 0usize..4,
    ) {
        let starts: [&[u8]; 4] =
            [b"", &[0x28, 0xb5, 0x2f, 0xfd], &[0x1f, 0x8b, 8], b"8,0 0 0 0.5 0 Q W 8 + 8\n"];
        let text = [starts[magic], &bytes[..]].concat();
        for skip_bad in [false, true] {
            if let Err(error) = read(&text, &Workload { skip_bad, ..trace() }) {
                prop_assert!(error.starts_with("t.txt"), "{}", error);
                prop_assert!(error.len() < 2000, "{}", error);
            }
        }
    }

    #[test]
    fn a_damaged_line_is_read_or_refused(
        at in 0usize..1500,
        byte in any::<u8>(),
        action in prop::sample::select(vec!['Q', 'D', 'C']),
    ) {
        let mut text = BLKPARSE.to_vec();
        let at = at % text.len();
        text[at] = byte;
        for skip_bad in [false, true] {
            let _ = read(&text, &Workload { skip_bad, action, ..trace() });
        }
    }

    #[test]
    fn what_is_printed_is_what_is_read(
        events in proptest::collection::vec(
            (0u64..5_000_000_000, 0usize..3, 0u64..8_000_000, 1u32..2000), 1..50),
    ) {
        let (mut at, mut text, mut expected) = (0, String::new(), Vec::new());
        for (gap, kind, sector, sectors) in events {
            at += gap;
            let (op, letter) = [(Op::Read, 'R'), (Op::Write, 'W'), (Op::Trim, 'D')][kind];
            let (seconds, ns) = (at / 1_000_000_000, at % 1_000_000_000);
            text += &format!("8,0 0 0 {seconds}.{ns:09} 0 Q {letter} {sector} + {sectors}\n");
            let request = Request::new(op, sector, sectors);
            expected.push(TimedRequest { at: Nanos(at), request });
        }
        prop_assert_eq!(read(text.as_bytes(), &trace()).unwrap().0, expected);
    }
}
