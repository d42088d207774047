//! The host against a twin written from its rules: every request to the drive with its time, every operation that ends
//! with its time, the contents of the page cache, and every count of the report.

use crate::cases::cases;
use crate::twin::host::{Host, Phase};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;
use ssd_core::config::{BufferPower, Config, PowerCut, RemapMode};
use ssd_core::host::request::Op;
use ssd_core::metrics::histogram::Histogram;
use ssd_core::nand::nvram::SHARE_BYTES;
use ssd_core::rng::Stream;
use ssd_host::executor::{Interval, RecordEntry};
use ssd_host::fs::Cause;
use ssd_host::fs::{FsSettings, Streams};
use ssd_host::settings::Reuse;
use ssd_host::workload::Workload;
use ssd_host::{HostSettings, Machine};
use ssd_trace::keys::{KeyOp, StreamParameters};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const MS: u64 = 1_000_000;

/// What differs between runs besides the settings.
#[derive(Clone, Debug)]
struct Case {
    settings: HostSettings,
    /// Pages of the write buffer of the drive, and whether capacitors save it in a cut.
    buffer: u32,
    is_protected: bool,
    pages: u32,
    /// Which unchanged pages compactions take over, and NVRAM of the drive for the records of their owners.
    reuse: Option<u64>,
    /// `None`: random operations of any kind.
    workload: Option<&'static str>,
    seed: u64,
}

fn config(case: &Case) -> Config {
    let mut c = Config::default();
    let d = &mut c.device;
    [d.channels, d.chips_per_channel, d.planes_per_chip] = [2, 2, 1];
    (d.pages_per_block, d.page_bytes) = (32, 4096);
    (d.blocks_per_plane, d.user_pages) = (case.pages.div_ceil(32 * 4) * 5 / 4 + 4, case.pages);
    c.host.write_buffer_pages = case.buffer;
    if case.is_protected {
        (c.power.cut, c.power.buffer) = (PowerCut::OnRequest, BufferPower::Protected);
    }
    if let Some(bytes) = case.reuse {
        (c.remap.mode, c.power.nvram_bytes) = (RemapMode::Share, bytes);
        c.power.cut = PowerCut::OnRequest;
    }
    c.precondition.fill = 0.0;
    c.metrics.interval_ns = 0;
    c
}

fn any_fs() -> impl Strategy<Value = FsSettings> {
    (
        (select(vec![64, 64, 100, 4000]), select(vec![1, 5, 30, 90, 2000])),
        (select(vec![0, 3 * MS, 20 * MS, 70 * MS, 10_000 * MS]), MS..30 * MS),
        (select(vec![0, 1, 5, 8, 32]), select(vec![0, 0, 1, 8, 64, 512]), any::<bool>()),
        (select(vec![0, 400]), select(vec![0, 100, 3000]), any::<bool>(), any::<bool>()),
    )
        .prop_map(
            |((cache_pages, dirty_pages), (age, commit), (ahead, aside, discard), cpu)| {
                FsSettings {
                    cache_pages,
                    dirty_pages,
                    dirty_age_ns: age,
                    commit_interval_ns: commit,
                    readahead_pages: ahead,
                    set_aside_pages: aside,
                    discard,
                    call_ns: cpu.0,
                    kib_ns: cpu.1,
                    cache_shared: cpu.2,
                    streams: if cpu.3 { Streams::Levels } else { Streams::None },
                    ..FsSettings::default()
                }
            },
        )
}

fn any_settings() -> impl Strategy<Value = HostSettings> {
    (
        (1u32..8, 1u32..4, select(vec![0, 1, 2, 3, 7]), MS..10 * MS),
        (select(vec![64 << 10, 100 << 10, 400 << 10]), select(vec![1024, 4096]), any::<bool>()),
        (select(vec![0, 8 << 10, 1 << 20]), select(vec![0, 10]), any::<bool>()),
        (select(vec![0, 2000]), select(vec![895, 400_000])),
        any_fs(),
    )
        .prop_map(|((clients, cores, sync_every, interval_ns), store, more, work, fs)| {
            let mut s = HostSettings {
                clients,
                cores,
                sync_every,
                interval_ns,
                fs,
                ..HostSettings::default()
            };
            (s.records, s.operations, s.value_bytes) = (400, 400, 700);
            (s.store.write_buffer_size, s.store.block_size, s.store.sync_logs) = store;
            (s.store.block_cache_size, s.store.bloom_bits, s.store.snappy) = more;
            s.store.max_file_size = 1 << 20;
            (s.costs.step, s.costs.merge_kib) = work;
            s
        })
}

fn any_case() -> impl Strategy<Value = Case> {
    let workload =
        select(vec![None, None, None, Some("ycsb-a"), Some("ycsb-e"), Some("overwrite")]);
    let reuse = select(vec![None, None, Some(300), Some(1 << 16)]);
    let buffer = select(vec![(0, false), (0, false), (8, false), (64, false), (8, true)]);
    let drive = (buffer, 900u32..3500, reuse);
    (any_settings(), drive, workload, prop::bool::weighted(0.4), any::<u64>()).prop_map(
        |(mut settings, ((buffer, is_protected), pages, reuse), workload, is_tight, seed)| {
            let mut case = Case {
                settings: HostSettings::default(),
                buffer,
                is_protected,
                pages,
                reuse,
                workload,
                seed,
            };
            if reuse.is_some() {
                (settings.store.reuse, settings.store.pages_per_block) = (Reuse::Retention, 1);
            }
            if is_tight {
                // A drive on which compactions wait for pages to be discarded.
                (case.pages, settings.store.write_buffer_size) = (780 + pages % 160, 64 << 10);
                (settings.sync_every, settings.clients, settings.fs.discard) = (1, 4, true);
            }
            Case { settings, ..case }
        },
    )
}

fn workload(case: &Case) -> Workload {
    let s = &case.settings;
    if let Some(name) = case.workload {
        let (records, operations) = (s.records, s.operations);
        let value_bytes = Some(s.value_bytes);
        let wanted =
            StreamParameters { records, operations, value_bytes, keys: None, seed: case.seed };
        return Workload::named(name, &wanted).expect("a workload");
    }
    let (mut random, mut text) = (Stream::new(case.seed, "operations"), String::new());
    for _ in 0..900 {
        let key = random.below(300);
        let bytes = if random.below(30) == 0 { random.below(100_000) } else { random.below(3000) };
        let _ = match random.below(16) {
            0..9 => writeln!(text, "put {key} {bytes}"),
            9..12 => writeln!(text, "get {key}"),
            12 => writeln!(text, "update {key} {bytes}"),
            13 => writeln!(text, "delete {key}"),
            _ => writeln!(text, "scan {key} {}", random.below(60)),
        };
    }
    Workload::traced("operations", &text).expect("a trace")
}

/// Report the first place where two records differ, with what comes before it.
fn assert_same(real: &[RecordEntry], twin: &[RecordEntry]) {
    let same = real.iter().zip(twin).take_while(|(a, b)| a == b).count();
    if same < real.len().max(twin.len()) {
        let before = &real[same.saturating_sub(4)..same];
        let (real, twin) = (real.get(same), twin.get(same));
        panic!("event {same}: {real:?}\nthe twin has: {twin:?}\nbefore: {before:#?}");
    }
}

/// Operations that ended: time, kind, latency.
fn ended(record: &[RecordEntry]) -> Vec<(u64, KeyOp, u64)> {
    let ended = record.iter().filter_map(|one| match *one {
        RecordEntry::Ended { at_ns, op, began_ns, .. } => Some((at_ns, op, at_ns - began_ns)),
        RecordEntry::Submitted { .. } => None,
    });
    ended.collect()
}

fn histogram(values: impl Iterator<Item = u64>) -> Histogram {
    let mut all = Histogram::new();
    values.for_each(|value| all.record(value));
    all
}

fn assert_same_course(rows: &[Interval], interval: u64, twin: &Host) {
    let ended = ended(&twin.record);
    let stops: Vec<(u64, u64)> = twin.phases.iter().flat_map(|phase| phase.stops.clone()).collect();
    for (at, row) in rows.iter().enumerate() {
        let (from, to) = (at as u64 * interval, (at as u64 + 1) * interval);
        let inside = || ended.iter().filter(|one| (from..to).contains(&one.0)).map(|one| one.2);
        let of = histogram(inside());
        let stalled = stops.iter().filter(|stop| (from..to).contains(&stop.1));
        let expected = [
            from,
            inside().count() as u64,
            inside().sum(),
            inside().max().unwrap_or(0),
            stalled.map(|stop| stop.1 - stop.0).sum(),
            of.percentile(0.5).unwrap_or(0),
            of.percentile(0.99).unwrap_or(0),
        ];
        let found = [
            row.start_ns,
            row.operations,
            row.latency_ns,
            row.longest_ns,
            row.stalled_ns,
            row.p50_ns,
            row.p99_ns,
        ];
        assert_eq!(found, expected, "row {at} of {interval} ns");
    }
    let in_rows: u64 = rows.iter().map(|row| row.operations).sum();
    assert_eq!(in_rows, ended.len() as u64);
}

/// What the drive demands: a buffer that a cut empties is flushed, and a copy has no more pages than NVRAM has room for
/// records of their owners.
fn fitted(case: &Case) -> HostSettings {
    let mut settings = case.settings.clone();
    settings.fs.flushes = case.buffer > 0 && !case.is_protected;
    settings.fs.copies = case.reuse.is_some();
    if let Some(bytes) = case.reuse {
        settings.fs.copy_pages = (bytes / SHARE_BYTES).clamp(1, 128) as u32;
    }
    settings
}

/// The twin after the same run, and how many looks at the channels of the drive were compared; `None` if the drive is
/// full.
fn compare(case: &Case) -> Option<(Host, u64)> {
    let (config, settings) = (config(case), &case.settings);
    let mut real = Machine::new(&config, settings.clone(), workload(case)).expect("a machine");
    let fitted = fitted(case);
    assert_eq!(*real.settings(), fitted);
    let mut twin = Host::new(&config, fitted, workload(case));
    assert_eq!(real.fs().counts(), twin.counts(), "the open store");
    real.keep_record();
    let ended = real.run(&mut |_| true).and_then(|()| real.rest(true));
    if ended.as_ref().is_err_and(|why| why.to_string().contains("the file system is full")) {
        return None;
    }
    twin.run();
    assert_same(real.record(), &twin.record);
    ended.expect("it runs to its end");
    assert_eq!(real.fs().counts(), twin.counts(), "at rest");
    assert_eq!(real.now(), twin.now);
    let measured = real.measured();
    assert_same_course(&measured.course, settings.interval_ns, &twin);
    assert_eq!(measured.phases.len(), twin.phases.len());
    let mut all = self::ended(&twin.record).into_iter();
    for (real, twin) in measured.phases.iter().zip(&twin.phases) {
        assert_eq!((real.start_ns, real.end_ns), (twin.start, twin.end));
        assert_eq!((real.before, real.after), (twin.before, twin.after), "{}", real.name);
        let stops = &twin.stops;
        assert_eq!(real.slowed, (twin.slowed, twin.slowed * MS));
        let stopped = stops.iter().map(|stop| stop.1 - stop.0).sum::<u64>();
        assert_eq!(real.stopped, (stops.len() as u64, stopped));
        assert_eq!((real.groups, real.hits), (twin.groups, twin.found));
        assert_eq!(real.user_bytes, twin.user_bytes);
        assert_eq!(real.time, twin.time, "{}", real.name);
        let operations = real.latencies.iter().map(Histogram::count).sum::<u64>() as usize;
        let own: Vec<(u64, KeyOp, u64)> = all.by_ref().take(operations).collect();
        assert!(own.iter().all(|one| (twin.start..=twin.end).contains(&one.0)));
        for op in KeyOp::ALL {
            let of = histogram(own.iter().filter(|one| one.1 == op).map(|one| one.2));
            assert_eq!(real.latencies[op as usize], of, "{op:?}");
        }
    }
    // Each interval in which a request ended has a row.
    let interval = |at: u64| at / settings.interval_ns;
    let rows: BTreeSet<u64> =
        measured.channels.rows.iter().map(|row| interval(row.at_ns)).collect();
    assert!(twin.looks.keys().all(|&at| rows.contains(&interval(at))), "an interval has no row");
    let mut looked = 0;
    for rows in measured.channels.rows.windows(2) {
        assert!(interval(rows[0].at_ns) < interval(rows[1].at_ns), "two rows in an interval");
        if let Some((collected, busy)) = twin.looks.get(&rows[1].at_ns) {
            assert_eq!((rows[1].collected, &rows[1].busy_ns), (*collected, busy));
            looked += 1;
        }
    }
    let spans = measured.spans.iter().map(|span| (span.level, span.start_ns, span.end_ns));
    assert_eq!(spans.collect::<Vec<_>>(), twin.spans);
    Some((twin, looked))
}

/// How often a run did each thing for which the twin has rules.
fn kinds(twin: &Host) -> [(&'static str, u64); 11] {
    let counts = twin.counts();
    let of = |op: Op| {
        let is = |one: &&RecordEntry| matches!(one, RecordEntry::Submitted { request, .. } if request.op == op);
        twin.record.iter().filter(is).count() as u64
    };
    let sum = |of: &dyn Fn(&Phase) -> u64| twin.phases.iter().map(of).sum();
    [
        ("reads", of(Op::Read)),
        ("flushes", of(Op::Flush)),
        ("discards", of(Op::Trim)),
        ("copies", of(Op::Copy)),
        ("pages at home", counts.written[Cause::Home.at()]),
        ("read ahead", counts.ahead),
        ("hits", counts.hits),
        ("slowed", sum(&|phase| phase.slowed)),
        ("stopped", sum(&|phase| phase.stops.len() as u64)),
        ("joined a group", sum(&|phase| phase.groups.1 - phase.groups.0)),
        ("waits for space", twin.waits_for_space),
    ]
}

#[test]
fn the_host_does_what_its_twin_does() {
    let runs = RefCell::new(BTreeMap::<&str, u64>::new());
    let ended = TestRunner::new(cases(60, 81)).run(&any_case(), |case| {
        let Some((twin, looked)) = compare(&case) else {
            return Err(TestCaseError::reject("the twin knows no full drive"));
        };
        for (kind, times) in kinds(&twin).into_iter().chain([("looks at channels", looked)]) {
            *runs.borrow_mut().entry(kind).or_default() += u64::from(times > 0);
        }
        Ok(())
    });
    ended.unwrap_or_else(|why| panic!("{why}"));
    let runs = runs.into_inner();
    assert!(runs.values().all(|&runs| runs >= 1), "runs in which each happened: {runs:?}");
}

#[test]
fn a_memtable_that_is_larger_than_a_file_has_its_room_before_it_is_written() {
    let mut fits = 0;
    for pages in (600..1200).step_by(20) {
        let mut settings = HostSettings { clients: 4, sync_every: 1, ..HostSettings::default() };
        (settings.store.max_file_size, settings.store.write_buffer_size) = (1 << 20, 1200 << 10);
        settings.fs.discard = true;
        let case = Case {
            settings,
            buffer: 0,
            is_protected: false,
            pages,
            reuse: None,
            workload: None,
            seed: u64::from(pages),
        };
        fits += u32::from(compare(&case).is_some());
    }
    assert!(fits > 10, "{fits} drives are large enough");
}
