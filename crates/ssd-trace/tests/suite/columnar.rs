//! Trace files: what is written is read, and nothing else is.

use crate::cases::cases;
use crate::folder::{Folder, Shape, drain, requests, shape, timed, write};
use crate::workloads;
use proptest::prelude::*;
use ssd_core::host::request::{Op, Request, TimedRequest};
use ssd_core::host::source::Source;
use ssd_core::units::Nanos;
use ssd_trace::columnar::{HEADER_BYTES, Header, Reader};
use ssd_trace::write::{Columnar, ConvertError, Options, WriteError};
use std::io::Cursor;
use std::path::Path;

/// Writes `list` into a trace file and hands back its bytes.
fn bytes_of(list: &[TimedRequest]) -> Vec<u8> {
    let folder = Folder::new();
    let path = folder.file("t.ssdtrace");
    let counts = write(list, Columnar::create(&path, Options::default()).unwrap()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!((counts.requests, counts.bytes), (list.len() as u64, bytes.len() as u64));
    assert_eq!(folder.names(), ["t.ssdtrace"]);
    bytes
}

/// Everything in `bytes`, read as a stream.
fn stream(bytes: Vec<u8>) -> Result<(Header, Vec<TimedRequest>), String> {
    let mut reader = Reader::stream("t.ssdtrace", Cursor::new(bytes)).map_err(|error| error.0)?;
    let list = drain(&mut reader).map_err(|error| error.0)?;
    Ok((*reader.header(), list))
}

/// Everything in the file, in batches of `most`, and once more request by request.
fn open(path: &Path, most: usize) -> Result<Vec<TimedRequest>, String> {
    let mut reader = Reader::open(path).map_err(|error| error.0)?;
    let mut list = Vec::new();
    while reader.fill(&mut list, most).map(|()| list.len() % most == 0).map_err(|e| e.0)? {
        if list.len() as u64 == reader.header().requests {
            break;
        }
    }
    reader.fill(&mut list, 1).map_err(|error| error.0)?;
    let single = drain(&mut Reader::open(path).unwrap()).map_err(|error| error.0)?;
    assert_eq!(single, list);
    Ok(list)
}

/// A small file with every kind of column.
fn small() -> Vec<TimedRequest> {
    let mut list = requests(
        &Shape { gap: 900, unit: 1, sector_bits: 30, sectors: 64, ops: 4, fields: true },
        40,
        1,
    );
    let last = list[39].at.0;
    list.push(timed(last + (1 << 40), Op::Trim, 1 << 50, u32::MAX));
    list
}

proptest! {
    #![proptest_config(cases(64, 81))]

    #[test]
    fn what_is_written_is_read(
        shape in shape(), seed in any::<u64>(),
        count in prop::sample::select(vec![0usize, 1, 2, 100, 4095, 4096, 4097, 9000]),
        most in prop::sample::select(vec![1usize, 7, 1000, 4096, 10_000]),
    ) {
        let list = requests(&shape, count, seed);
        let folder = Folder::new();
        let path = folder.file("t.ssdtrace");
        write(&list, Columnar::create(&path, Options::default()).unwrap()).unwrap();
        prop_assert_eq!(&open(&path, most).unwrap(), &list);
        let header = Reader::open(&path).unwrap().verify().unwrap();
        prop_assert_eq!(header.requests, count as u64);
        prop_assert_eq!(header.first, list.first().map_or(Nanos(0), |timed| timed.at));
        prop_assert_eq!(header.last, list.last().map_or(Nanos(0), |timed| timed.at));
        prop_assert_eq!(header.columns.volume, list.iter().any(|t| t.request.volume != 0));
        prop_assert_eq!(&drain(&mut Reader::open(&path).unwrap()).unwrap(), &list);
        let packed = folder.file("t.ssdtrace.zst");
        let writer = Columnar::create(&packed, Options::default()).unwrap();
        let counts = write(&list, writer).unwrap();
        prop_assert_eq!(&open(&packed, most).unwrap(), &list);
        let bytes = std::fs::read(&packed).unwrap();
        prop_assert_eq!(counts.bytes, bytes.len() as u64);
        prop_assert!(zstd::decode_all(&bytes[..]).unwrap() == std::fs::read(&path).unwrap());
        prop_assert_eq!(folder.names(), ["t.ssdtrace", "t.ssdtrace.zst"]);
    }
}

#[test]
fn the_header_says_what_is_in_the_file() {
    let list = small();
    let (header, read) = stream(bytes_of(&list)).unwrap();
    assert_eq!(read, list);
    let sum = |op| list.iter().filter(|timed| timed.request.op == op).count() as u64;
    // No trace file has copies.
    assert_eq!([&header.by_op[..], &[0]].concat(), Op::ALL.map(sum));
    let ranged = || list.iter().map(|t| &t.request).filter(|request| request.sectors > 0);
    assert_eq!(header.first_sector, ranged().map(|request| request.sector).min().unwrap());
    assert_eq!(header.end_sector, (1 << 50) + u64::from(u32::MAX));
    assert!(header.columns.volume && header.columns.stream && header.columns.flags);
    assert_eq!(header.blocks, 1);
    let (empty, none) = stream(bytes_of(&[])).unwrap();
    assert_eq!((empty.file_bytes, empty.end_sector, none.len()), (HEADER_BYTES as u64, 0, 0));
}

#[test]
fn the_header_says_which_columns_hold_anything() {
    let plain = Request::new(Op::Write, 8, 8);
    let cases = [
        (plain, [false, false, false]),
        (Request { volume: 2, ..plain }, [true, false, false]),
        (Request { stream: 2, ..plain }, [false, true, false]),
        (Request { flags: 2, ..plain }, [false, false, true]),
    ];
    for (request, expected) in cases {
        let list = [timed(1, Op::Write, 8, 8), TimedRequest { at: Nanos(2), request }];
        let columns = stream(bytes_of(&list)).unwrap().0.columns;
        assert_eq!([columns.volume, columns.stream, columns.flags], expected);
    }
}

#[test]
fn the_extremes_of_every_field_are_carried() {
    let top = u64::MAX;
    let list = [
        timed(0, Op::Read, 0, 1),
        timed(0, Op::Write, top - u64::from(u32::MAX), u32::MAX),
        timed(0, Op::Flush, top, 0),
        timed(1, Op::Trim, top - 1, 1),
        TimedRequest {
            at: Nanos(top),
            request: Request {
                volume: u16::MAX,
                stream: u8::MAX,
                flags: u8::MAX,
                ..Request::new(Op::Read, 5, 9)
            },
        },
    ];
    for length in 0..=list.len() {
        assert_eq!(stream(bytes_of(&list[..length])).unwrap().1, list[..length]);
    }
}

#[test]
fn the_usual_trace_takes_12_bytes_a_request() {
    let usual =
        Shape { gap: 1 << 20, unit: 100, sector_bits: 31, sectors: 512, ops: 2, fields: false };
    let list = requests(&usual, 1 << 16, 3);
    let bytes = bytes_of(&list).len();
    assert_eq!(bytes, HEADER_BYTES + 16 * (64 + 12 * 4096));
}

#[test]
fn every_changed_byte_is_an_error() {
    let bytes = bytes_of(&small());
    assert!(bytes.len() < 2500, "{}", bytes.len());
    for place in 0..bytes.len() {
        for mask in [0x01, 0x80, 0xff, 0x10] {
            let mut changed = bytes.clone();
            changed[place] ^= mask;
            let error = stream(changed).expect_err("a changed byte is found");
            assert!(error.contains("t.ssdtrace"), "{error}");
            assert!(error.len() < 400, "{error}");
        }
    }
}

#[test]
fn every_shortened_or_lengthened_file_is_an_error() {
    let bytes = bytes_of(&small());
    let folder = Folder::new();
    let path = folder.file("t.ssdtrace");
    for length in 0..bytes.len() {
        let error = stream(bytes[..length].to_vec()).expect_err("it is cut");
        assert!(error.contains("byte "), "{error}");
        std::fs::write(&path, &bytes[..length]).unwrap();
        let error = open(&path, 100).expect_err("it is cut");
        assert!(error.contains("t.ssdtrace") && error.contains("expected"), "{error}");
    }
    for more in 1..130 {
        let longer = [&bytes[..], &vec![0; more]].concat();
        std::fs::write(&path, &longer).unwrap();
        assert!(open(&path, 100).is_err());
        assert!(stream(longer).unwrap_err().contains("more bytes"));
    }
}

#[test]
fn blocks_may_not_change_places() {
    let shape = Shape { gap: 5, unit: 1, sector_bits: 9, sectors: 8, ops: 2, fields: false };
    let mut bytes = bytes_of(&requests(&shape, 3 * 4096, 9));
    let length = (bytes.len() - HEADER_BYTES) / 3;
    let (first, second) = bytes[HEADER_BYTES..].split_at_mut(length);
    first.swap_with_slice(&mut second[..length]);
    assert!(stream(bytes).unwrap_err().contains("an arrival not before"));
}

#[test]
fn compressed_files_that_are_cut_or_damaged_are_errors() {
    let packed = zstd::encode_all(&bytes_of(&small())[..], 3).unwrap();
    for length in 0..packed.len() {
        assert!(stream(packed[..length].to_vec()).is_err(), "{length}");
    }
    for place in 0..packed.len() {
        let mut changed = packed.clone();
        changed[place] ^= 0x40;
        if let Ok((_, list)) = stream(changed) {
            assert_eq!(list, small());
        }
    }
}

#[test]
fn foreign_files_and_other_versions_are_named() {
    let cases: [(&[u8], [&str; 3]); 5] = [
        (b"", ["byte 0", "a trace file", "an empty file"]),
        (b"8,0 1 2 0.5 3 Q W 8 + 8\n", ["byte 0", "SSDTR", "\"8,0 1 2 \""]),
        (b"\x89SSDTR\r\n\x02\0\0\0more", ["byte 8", "version 1", "found 2"]),
        (b"\x89SSDTR\n", ["byte 0", "\\r\\n", "convert"]),
        (b"\x89SSD", ["byte 4", "a header of 128 bytes", "after 4 bytes"]),
    ];
    for (bytes, parts) in cases.iter().take(3).chain(&cases[4..]) {
        let error = stream(bytes.to_vec()).unwrap_err();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
    // A copy in text mode that lost the carriage return.
    assert!(stream(cases[3].0.to_vec()).unwrap_err().contains("\\r\\n"));
    let missing = Reader::open(Path::new("no-such.ssdtrace")).err().unwrap().0;
    assert!(missing.contains("no-such.ssdtrace: cannot open"), "{missing}");
    assert!(Reader::open(Folder::new().path()).is_err());
}

#[test]
fn an_error_comes_after_the_requests_before_it_and_again() {
    let shape = Shape { gap: 5, unit: 1, sector_bits: 9, sectors: 8, ops: 2, fields: false };
    let list = requests(&shape, 10_000, 9);
    let mut bytes = bytes_of(&list);
    let end = bytes.len() - 1;
    bytes[end - 100] ^= 1;
    let mut reader = Reader::stream("t", Cursor::new(bytes)).unwrap();
    let mut read = Vec::new();
    let error = loop {
        match reader.next_request() {
            Ok(Some(timed)) => read.push(timed),
            Ok(None) => panic!("the error is lost"),
            Err(error) => break error,
        }
    };
    assert_eq!(read, list[..8192]);
    assert_eq!(reader.next_request(), Err(error.clone()));
    assert_eq!(reader.fill(&mut read, 5), Err(error));
}

#[test]
fn impossible_requests_are_not_written() {
    let good = timed(10, Op::Write, 8, 8);
    for (bad, part) in [
        (timed(9, Op::Write, 8, 8), "it arrives before"),
        (timed(10, Op::Trim, 8, 0), "only a flush has no sectors"),
        (timed(10, Op::Read, u64::MAX, 1), "beyond sector 2^64"),
    ] {
        let folder = Folder::new();
        let path = folder.file("t.ssdtrace");
        let writer = Columnar::create(&path, Options::default()).unwrap();
        let Err(ConvertError::Write(error)) = write(&[good, bad], writer) else { panic!() };
        assert!(matches!(error, WriteError::Request { number: 2, .. }), "{error}");
        assert!(error.to_string().contains(part), "{error}");
        assert!(folder.names().is_empty());
    }
}

#[test]
fn the_digest_is_that_of_the_trace_it_was_made_from() {
    let text = "8,0 0 0 0.5 0 Q WS 8 + 8\n8,0 0 0 0.6 0 Q FWFSM 16 + 8\n8,0 0 0 0.7 0 Q FF 0 + 0\n";
    let mut workload = workloads::workload(ssd_trace::config::WorkloadKind::Trace);
    workload.fit = ssd_trace::config::Fit::None;
    let read = ssd_trace::TraceSource::read("t", text.as_bytes(), &workload, 4096, 1 << 20);
    let (mut source, facts) = read.unwrap();
    let list = workloads::drain(&mut source);
    let (header, _) = stream(bytes_of(&list)).unwrap();
    assert_eq!(header.digest_hex(), facts.trace_digest);
    let mut others = list;
    others[1].request.stream = 1;
    let (streamed, _) = stream(bytes_of(&others)).unwrap();
    others[1].request.volume = 1;
    let (both, _) = stream(bytes_of(&others)).unwrap();
    assert!(header.digest != streamed.digest && streamed.digest != both.digest);
}

/// Values of `docs/trace-file.md`'s formula, computed outside of this crate.
#[test]
fn the_digest_is_the_documented_one() {
    let first = timed(1000, Op::Write, 8, 8);
    let other = Request { volume: 3, stream: 5, flags: 2, ..Request::new(Op::Read, 4096, 16) };
    let second = TimedRequest { at: Nanos(2500), request: other };
    let digest = |list: &[TimedRequest]| stream(bytes_of(list)).unwrap().0.digest;
    assert_eq!(digest(&[]), 0xcbf2_9ce4_8422_2325);
    assert_eq!(digest(&[first]), 0x97c7_8629_8901_f305);
    assert_eq!(digest(&[first, second]), 0x82bb_3e57_d699_989b);
}

#[test]
fn a_reader_that_has_begun_is_not_verified() {
    let list = [timed(1, Op::Write, 8, 8), timed(2, Op::Write, 8, 8)];
    let mut reader = Reader::stream("t", Cursor::new(bytes_of(&list))).unwrap();
    assert_eq!(reader.next_request(), Ok(Some(list[0])));
    let error = reader.verify().unwrap_err().0;
    assert_eq!(error, "t: only a reader just opened can be verified");
}

#[test]
fn streams_are_replayed() {
    let mut list = vec![timed(10, Op::Write, 8, 8), timed(20, Op::Write, 8, 8)];
    list[1].request.stream = 3;
    let mut workload = workloads::workload(ssd_trace::config::WorkloadKind::Trace);
    workload.format = ssd_trace::formats::TraceFormat::Auto;
    let bytes = std::io::Cursor::new(bytes_of(&list));
    let (mut source, _) = ssd_trace::TraceSource::read("t", bytes, &workload, 4096, 64).unwrap();
    let streams: Vec<u8> =
        workloads::drain(&mut source).iter().map(|one| one.request.stream).collect();
    assert_eq!(streams, [0, 3]);
}
