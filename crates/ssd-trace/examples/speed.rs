//! Measures parsing and generating: `cargo run --release -p ssd-trace --example speed [TRACE...]`.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a measurement reads the clock and prints"
)]

use ssd_core::host::source::{Source, SourceError};
use ssd_trace::TraceSource;
use ssd_trace::columnar::Reader;
use ssd_trace::config::{Arrival, ArrivalKind, Fit, SizeShare, Workload, WorkloadKind};
use ssd_trace::formats::TraceFormat;
use ssd_trace::formats::block_event::parse_line;
use ssd_trace::formats::{Format, Line, ReadAs, alibaba, msr};
use ssd_trace::write::{Columnar, Options, TraceWriter};
use std::time::Instant;

const REQUESTS: u64 = 1_000_000;

fn workload(kind: WorkloadKind) -> Workload {
    Workload {
        kind,
        fit: Fit::Compact,
        requests: REQUESTS,
        arrival: Arrival { kind: ArrivalKind::Fixed, interval_ns: 10_000, burst: 1, pause_ns: 0 },
        ..Workload::default()
    }
}

fn best(label: &str, count: u64, repeats: u32, mut run: impl FnMut() -> u64) {
    let mut best = f64::INFINITY;
    let mut check = 0;
    for _ in 0..repeats {
        let start = Instant::now();
        check = run();
        best = best.min(start.elapsed().as_secs_f64());
    }
    let (ns, millions) = (best * 1e9 / count as f64, count as f64 / best / 1e6);
    println!("{label:32} {ns:7.1} ns each, {millions:6.1} M/s  (check {check:x})");
}

fn generate(label: &str, workload: &Workload) {
    best(label, REQUESTS, 15, || {
        let mut source = ssd_trace::open(workload, 4096, 1 << 20, 1).expect("it opens").source;
        let mut check = 0u64;
        while let Some(timed) = source.next_request().expect("it goes on") {
            check = check.rotate_left(1) ^ timed.request.sector ^ timed.at.0;
        }
        check
    });
}

fn lines() {
    let count = 400_000u64;
    let mut text = Vec::new();
    for i in 0..count {
        let (seconds, ns, sector) = (i / 10_000, i % 10_000 * 100_000, i * 7919 % (1 << 24) * 8);
        let line =
            format!("  8,0    1 {i:8} {seconds:5}.{ns:09} 20294  Q  WS {sector} + 8 [dbench]\n");
        text.extend_from_slice(line.as_bytes());
    }
    let split: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    for action in [b'Q', b'D'] {
        let label = format!("parse_line, action {}", char::from(action));
        best(&label, count, 30, || {
            let parsed = split.iter().map(|line| parse_line(line, action));
            parsed
                .flatten()
                .map(|line| if let Line::Event(event) = line { event.sector } else { 1 })
                .sum()
        });
    }
    let workload = workload(WorkloadKind::Trace);
    for (label, fit) in [("none", Fit::None), ("wrap", Fit::Wrap), ("compact", Fit::Compact)] {
        let workload = Workload { fit, ..workload.clone() };
        best(&format!("read trace, fit {label}"), count, 30, || {
            let read = TraceSource::read("text", &text[..], &workload, 4096, 1 << 24);
            read.expect("it parses").1.requests.total()
        });
    }
    let other = Workload { action: 'D', ..workload };
    best("scan for another action", count, 30, || {
        TraceSource::read("text", &text[..], &other, 4096, 1 << 24).err().map_or(0, |_| 1)
    });
}

/// The same requests in other formats: one parser each, then the whole route.
fn other_formats() {
    let count = 400_000u64;
    let (mut msr, mut alibaba) = (String::new(), String::new());
    for i in 0..count {
        let (micros, offset) = (1_577_808_000_000_046 + i * 100, i * 7919 % (1 << 24) * 4096);
        let ticks = 116_444_736_000_000_000 + micros * 10;
        let (word, letter) = if i % 4 == 0 { ("Read", 'R') } else { ("Write", 'W') };
        msr += &format!("{ticks},hm,1,{word},{offset},4096,{}\n", i % 100_000);
        alibaba += &format!("419,{letter},{offset},4096,{micros}\n");
    }
    parse::<msr::Parser>(&msr, count);
    parse::<alibaba::Parser>(&alibaba, count);
    let workload = workload(WorkloadKind::Trace);
    for (label, text, format) in
        [("msr", &msr, TraceFormat::Msr), ("alibaba", &alibaba, TraceFormat::Alibaba)]
    {
        let workload = Workload { format, ..workload.clone() };
        best(&format!("read trace, {label}, fit compact"), count, 30, || {
            let read = TraceSource::read("text", text.as_bytes(), &workload, 4096, 1 << 24);
            read.expect("it parses").1.requests.total()
        });
    }
}

fn parse<F: Format>(text: &str, count: u64) {
    let split: Vec<&[u8]> = text.lines().map(str::as_bytes).collect();
    best(&format!("parse, {}", F::INFO.title), count, 30, || {
        let mut parser = F::new(&ReadAs::default());
        let mut sum = 0;
        for line in &split {
            if let Ok(Line::Event(event)) = parser.parse(line) {
                sum += event.sector;
            }
        }
        sum
    });
}

/// A trace file of the usual 12 bytes a request: written, and read plain and as zstd.
fn trace_files() {
    let count = 4_000_000u64;
    let folder = std::env::temp_dir();
    let path = folder.join(format!("ssd-trace-speed-{}.ssdtrace", std::process::id()));
    let mut mixed = workload(WorkloadKind::Uniform);
    mixed.sizes.push(SizeShare { bytes: 16_384, weight: 0.5 });
    (mixed.read, mixed.arrival.kind, mixed.requests) = (0.3, ArrivalKind::Poisson, count);
    let mut source = ssd_trace::open(&mixed, 4096, 1 << 24, 1).expect("it opens").source;
    let mut all = Vec::new();
    source.fill(&mut all, count as usize).expect("it goes on");
    let options = Options { replace: true, ..Options::default() };
    best("trace file: write", count, 3, || {
        let mut writer = Box::new(Columnar::create(&path, options).expect("it opens"));
        for timed in &all {
            writer.write(timed).expect("it is written");
        }
        writer.finish().expect("it is written").bytes
    });
    let packed = path.with_extension("ssdtrace.zst");
    let bytes = std::fs::read(&path).expect("it is there");
    std::fs::write(&packed, zstd::encode_all(&bytes[..], 3).expect("memory")).expect("room");
    let read = |label: &str, open: &dyn Fn() -> Result<Reader, SourceError>| {
        let mut batch = Vec::with_capacity(1024);
        best(label, count, 15, || {
            let (mut reader, mut check) = (open().expect("it opens"), 0);
            loop {
                batch.clear();
                reader.fill(&mut batch, 1024).expect("it is whole");
                let Some(last) = batch.last() else { break check };
                check ^= last.at.0 ^ last.request.sector;
            }
        });
    };
    read("trace file: read", &|| Reader::open(&path));
    read("trace file: read, zstd", &|| Reader::open(&packed));
    best("trace file: next_request", count, 15, || {
        let (mut reader, mut check) = (Reader::open(&path).expect("it opens"), 0u64);
        while let Some(timed) = reader.next_request().expect("it goes on") {
            check = check.rotate_left(1) ^ timed.request.sector ^ timed.at.0;
        }
        check
    });
    for file in [&path, &packed] {
        std::fs::remove_file(file).expect("it was there");
    }
}

fn main() {
    lines();
    trace_files();
    other_formats();
    for (label, kind) in [
        ("uniform 4 KiB", WorkloadKind::Uniform),
        ("zipf 0.99 4 KiB", WorkloadKind::Zipf),
        ("hot-cold 4 KiB", WorkloadKind::HotCold),
        ("sequential 4 KiB", WorkloadKind::Sequential),
    ] {
        generate(label, &workload(kind));
    }
    let mut mixed = workload(WorkloadKind::Uniform);
    mixed.sizes.push(SizeShare { bytes: 16_384, weight: 0.5 });
    (mixed.read, mixed.trim, mixed.arrival.kind) = (0.3, 0.1, ArrivalKind::Poisson);
    generate("uniform, mixed, Poisson", &mixed);
    for (label, kind) in [
        ("app:cassandra", WorkloadKind::AppCassandra),
        ("app:mongodb", WorkloadKind::AppMongodb),
        ("app:mysql", WorkloadKind::AppMysql),
        ("app:rocksdb", WorkloadKind::AppRocksdb),
        ("app:sqlite", WorkloadKind::AppSqlite),
        ("app:dbench", WorkloadKind::AppDbench),
        ("app:varmail", WorkloadKind::AppVarmail),
    ] {
        let mut application = workload(kind);
        application.arrival.kind = ArrivalKind::Model;
        generate(label, &application);
    }
    for path in std::env::args().skip(1) {
        let workload = Workload { trace: Some(path.clone()), ..workload(WorkloadKind::Trace) };
        let facts = ssd_trace::open(&workload, 4096, 1 << 20, 1).expect("it opens").facts;
        let lines = facts.map_or(1, |facts| facts.lines);
        best(&path, lines, 5, || {
            let opened = ssd_trace::open(&workload, 4096, 1 << 20, 1).expect("it opens");
            opened.source.expected().unwrap_or(0)
        });
    }
}
