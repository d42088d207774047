//! The logs line by line: what goes in, and the lines that come out.

use ssd_core::host::request::{Op, Request, flags};
use ssd_core::metrics::counters::{Cause, Parts};
use ssd_core::nand::geometry::PageAddress;
use ssd_core::sim::logs::operations::{FlashOp, OpRecord};
use ssd_core::sim::logs::power::{PowerEvent, PowerRecord};
use ssd_core::sim::logs::requests::RequestRecord;
use ssd_core::units::Nanos;
use ssd_run::RunLog;
use ssd_run::excerpt::operations;
use ssd_run::logs::Logs;
use std::fs;
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ssd-run-{name}-{}", std::process::id()));
    // Left over from an aborted run of another process with this number.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder of its own");
    folder
}

/// The lines of a log after its header.
fn lines(folder: &Path, name: &str) -> Vec<String> {
    let bytes = fs::read(folder.join(name)).expect("a log");
    let text = String::from_utf8(zstd::decode_all(&bytes[..]).expect("a whole one"));
    text.expect("text").lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn a_line_says_what_a_request_asked_for() {
    let folder = folder("durability");
    let mut logs = Logs::create(&folder, false, true).expect("files");
    let record = |id, bits| RequestRecord {
        id,
        request: Request { volume: 3, stream: 2, flags: bits, ..Request::new(Op::Write, 16, 8) },
        lpn: 4,
        pages: 2,
        arrival: Nanos(100),
        completion: Nanos(115),
        parts: Parts { queue_ns: 1, chip_ns: 2, transfer_ns: 3, gc_wait_ns: 4, metadata_ns: 5 },
        digest: 0xab,
        sources: vec![(7, 1), (9, 1)],
    };
    let both = flags::FUA | flags::PREFLUSH;
    let all = [(0, 0), (1, flags::FUA), (2, flags::PREFLUSH), (3, both)];
    logs.requests(&all.map(|(id, bits)| record(id, bits))).expect("there is room");
    Box::new(logs).finish().expect("there is room");
    let expected = ["", "fua", "preflush", "preflush+fua"].iter().enumerate().map(|(id, asked)| {
        format!("{id},3,2,write,4,2,100,115,1,2,3,4,5,00000000000000ab,7+1;9+1,{asked},16,8")
    });
    assert_eq!(lines(&folder, "requests.csv.zst"), expected.collect::<Vec<_>>());
    fs::remove_dir_all(folder).expect("the folder goes");
}

#[test]
fn a_mount_reads_pages_of_each_type() {
    let folder = folder("types");
    let mut logs = Logs::create(&folder, false, false).expect("files");
    let place = PageAddress { channel: 1, chip: 2, plane: 3, block: 0, page: 0 };
    let mount = PowerRecord {
        event: PowerEvent::Mount,
        start: Nanos(7),
        end: Nanos(90),
        place: None,
        pages: Vec::new(),
        interrupted: true,
    };
    let event = PowerEvent::Scan;
    let scan = PowerRecord { event, place: Some(place), pages: vec![4, 0, 11], ..mount.clone() };
    logs.power(&[scan, mount]).expect("there is room");
    Box::new(logs).finish().expect("there is room");
    let expected = ["scan,7,90,1,2,3,,15,cut,4;0;11", "mount,7,90,,,,,,cut,"];
    assert_eq!(lines(&folder, "power.csv.zst"), expected);
    fs::remove_dir_all(folder).expect("the folder goes");
}

#[test]
fn operations_stand_in_the_order_of_their_starts() {
    let folder = folder("order");
    let mut logs = Logs::create(&folder, true, false).expect("files");
    let record = |op, plane, (queued, start, end)| OpRecord {
        op,
        cause: Cause::Gc,
        place: PageAddress { channel: 0, chip: 1, plane, block: 5, page: 6 },
        lpn: 8,
        sequence: 9,
        request: None,
        queued: Nanos(queued),
        start: Nanos(start),
        end: Nanos(end),
        bus: None,
        array: Some((Nanos(start), Nanos(end))),
        cut_off: false,
    };
    // The program of a copy-back comes with its read, and starts when the read ends; others start meanwhile.
    let all = [
        record(FlashOp::Read, 0, (1, 10, 60)),
        record(FlashOp::Program, 0, (1, 60, 560)),
        record(FlashOp::Read, 1, (20, 30, 80)),
        OpRecord { cut_off: true, ..record(FlashOp::Erase, 1, (70, 80, 2080)) },
    ];
    logs.operations(&all[..3]).expect("there is room");
    logs.operations(&all[3..]).expect("there is room");
    Box::new(logs).finish().expect("there is room");
    let expected = [
        "read,gc,0,1,0,5,6,8,9,,1,10,60,,,10,60,ended",
        "read,gc,0,1,1,5,6,8,9,,20,30,80,,,30,80,ended",
        "program,gc,0,1,0,5,6,8,9,,1,60,560,,,60,560,ended",
        "erase,gc,0,1,1,5,,,,,70,80,2080,,,80,2080,cut",
    ];
    assert_eq!(lines(&folder, "ops.csv.zst"), expected);
    // An excerpt begins with what starts at its time.
    let excerpt = |from| operations(&folder.join("ops.csv.zst"), from, 2).expect("a log");
    for (from, found) in [(30, &expected[1..3]), (31, &expected[2..4]), (80, &expected[3..])] {
        assert_eq!(excerpt(from).lines().skip(1).collect::<Vec<_>>(), found, "from {from} ns");
    }
    fs::remove_dir_all(folder).expect("the folder goes");
}
