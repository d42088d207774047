//! The store on the drive: exact accounts, the same digest again, contents as in a model.

use ssd_core::config::{Config, RemapMode};
use ssd_core::metrics::histogram::Histogram;
use ssd_host::executor::{ChannelActivity, RecordEntry};
use ssd_host::fs::{CAUSES, Cause};
use ssd_host::settings::Reuse;
use ssd_host::workload::{Values, Workload};
use ssd_host::{HostSettings, Machine};
use ssd_kv::ReadOptions;
use ssd_trace::keys::{KeyOp, StreamParameters};
use std::collections::BTreeMap;

fn config(pages: u32) -> Config {
    let mut c = Config::default();
    let d = &mut c.device;
    [d.channels, d.chips_per_channel, d.planes_per_chip] = [4, 2, 1];
    (d.pages_per_block, d.page_bytes) = (64, 4096);
    d.blocks_per_plane = pages.div_ceil(64 * 8) * 5 / 4 + 4;
    d.user_pages = pages;
    c.precondition.fill = 0.0;
    c.metrics.interval_ns = 0;
    c
}

fn settings() -> HostSettings {
    let mut s = HostSettings { records: 20_000, operations: 20_000, ..HostSettings::default() };
    s.value_bytes = 400;
    s.store.write_buffer_size = 256 << 10;
    s.store.max_file_size = 1 << 20;
    s.fs.cache_pages = 512;
    s.fs.dirty_pages = 256;
    s
}

fn wanted(s: &HostSettings) -> StreamParameters {
    StreamParameters {
        records: s.records,
        operations: s.operations,
        value_bytes: Some(s.value_bytes),
        keys: None,
        seed: 5,
    }
}

fn machine(config: &Config, settings: &HostSettings, workload: &str) -> Machine {
    let workload = Workload::named(workload, &wanted(settings)).expect("a workload");
    Machine::new(config, settings.clone(), workload).expect("a machine")
}

fn finished(config: &Config, settings: &HostSettings, workload: &str) -> Machine {
    let mut machine = machine(config, settings, workload);
    machine.run(&mut |_| true).expect("a run");
    machine.rest(true).expect("it comes to rest");
    machine
}

/// Log + flush + compaction + manifest + file system = pages that the drive has written for the host.
fn assert_accounts(machine: &Machine) {
    let counts = machine.fs().counts();
    let host = &machine.ssd().measured().host;
    assert_eq!(counts.written.iter().sum::<u64>(), host.pages_written, "{counts:?}");
    assert_eq!(counts.read.iter().sum::<u64>(), host.pages_read, "{counts:?}");
    assert_eq!(counts.discarded, host.pages_trimmed, "{counts:?}");
    machine.ssd().audit().expect("a sound drive");
}

#[test]
fn each_page_on_the_drive_has_a_cause() {
    for workload in ["fillrandom", "ycsb-a", "ycsb-e", "readrandom", "overwrite"] {
        let machine = finished(&config(40_000), &settings(), workload);
        assert_accounts(&machine);
        let written = machine.fs().counts().written;
        for cause in [Cause::Log, Cause::Flush, Cause::Manifest, Cause::Journal] {
            assert!(written[cause.at()] > 0, "{workload}: no page of {}", cause.name());
        }
        assert!(Cause::ALL.iter().enumerate().all(|(i, cause)| cause.at() == i) && CAUSES == 12);
    }
}

#[test]
fn a_run_has_the_same_digest_again_and_clients_change_it() {
    for clients in [1, 8] {
        for sync_every in [0, 3, 1] {
            let s =
                HostSettings { clients, sync_every, operations: 4000, records: 4000, ..settings() };
            let digest = || finished(&config(20_000), &s, "ycsb-a").digest();
            assert_eq!(digest(), digest(), "{clients} clients, sync {sync_every}");
            // A single client leaves cores idle, because its memtable never becomes full; several clients want them at
            // once.
            let other = HostSettings { cores: 2, ..s.clone() };
            let [four, two] = [s.clone(), other].map(|mut settings| {
                settings.store.write_buffer_size = 16 << 20;
                finished(&config(20_000), &settings, "ycsb-a").digest()
            });
            assert_eq!(four == two, clients == 1, "{clients} clients, sync {sync_every}");
        }
    }
}

#[test]
fn the_contents_are_those_of_a_model() {
    let s = HostSettings { clients: 6, ..settings() };
    let machine = finished(&config(40_000), &s, "ycsb-load");
    // Which operation wrote a key depends on the order of clients, but each key has a value of some write.
    let mut stream = Workload::named("ycsb-load", &wanted(&s)).expect("a workload");
    let mut keys = 0;
    while let Some((request, key)) = stream.next_operation() {
        let found = machine.store().get(&key, ReadOptions::default(), None).expect("a read");
        assert_eq!(found.map(|value| value.len()), Some(request.value_bytes as usize));
        keys += 1;
    }
    assert_eq!(keys, s.records);
    let one = HostSettings { clients: 1, ..settings() };
    let machine = finished(&config(40_000), &one, "fillrandom");
    let mut stream = Workload::named("fillrandom", &wanted(&one)).expect("a workload");
    let (mut model, values) = (BTreeMap::new(), Values::default());
    let mut version = 0;
    while let Some((request, key)) = stream.next_operation() {
        model.insert(key, values.value(version, request.value_bytes as usize).to_vec());
        version += 1;
    }
    let mut iter = machine.store().iter(ReadOptions::default(), None).expect("an iterator");
    iter.seek_to_first().expect("a seek");
    for (key, value) in &model {
        assert!(iter.valid() && iter.key() == key && iter.value() == value, "another pair");
        iter.next().expect("the next pair");
    }
    assert!(!iter.valid(), "more pairs than the model has");
}

#[test]
fn writers_wait_for_background_work_and_sync_for_the_drive() {
    let c = config(40_000);
    let plain = finished(&c, &settings(), "fillrandom");
    let phase = &plain.measured().phases[0];
    assert!(phase.slowed.0 + phase.stopped.0 > 0, "nobody has waited");
    assert_eq!(phase.slowed.1, phase.slowed.0 * 1_000_000);
    let few = HostSettings { operations: 500, records: 500, sync_every: 1, ..settings() };
    let alone = finished(&c, &few, "fillrandom");
    let many = finished(&c, &HostSettings { clients: 16, ..few }, "fillrandom");
    let span = |m: &Machine| m.measured().phases[0].end_ns - m.measured().phases[0].start_ns;
    // A log page, a journal descriptor with its pages, and a commit page: at least three programs.
    assert!(span(&alone) > 500 * 3 * c.timing.program_ns, "{} ns", span(&alone));
    let groups = many.measured().phases[0].groups;
    assert_eq!(groups.1, 500);
    assert!(groups.0 < 100, "{} groups", groups.0);
    assert!(span(&many) * 4 < span(&alone), "{} ns in groups", span(&many));
}

#[test]
fn a_drive_that_is_too_small_is_an_error_with_its_reason() {
    let error = |pages: u32, workload: &str| {
        let s = settings();
        let workload = Workload::named(workload, &wanted(&s)).expect("a workload");
        match Machine::new(&config(pages), s, workload) {
            Err(error) => error.to_string(),
            Ok(mut machine) => {
                let error = machine.run(&mut |_| true).expect_err("it does not fit");
                machine.rest(false).expect("requests end");
                assert_accounts(&machine);
                // What was acknowledged can still be read.
                let mut iter = machine.store().iter(ReadOptions::default(), None).expect("reads");
                iter.seek_to_first().expect("a read");
                let mut pairs = 0;
                while iter.valid() {
                    pairs += 1;
                    iter.next().expect("a read");
                }
                assert!(pairs > 1000, "{pairs} pairs, {error}");
                error.to_string()
            }
        }
    };
    assert!(error(130, "fillrandom").contains("too small"));
    let full = error(1500, "fillseq");
    assert!(full.contains("the file system is full"), "{full}");
    let full = error(2000, "fillrandom");
    assert!(full.contains("the file system is full"), "{full}");
    let mut c = config(20_000);
    c.device.page_bytes = 8192;
    let w = Workload::named("fillseq", &wanted(&settings())).expect("a workload");
    let refused = Machine::new(&c, settings(), w).err().expect("refused").to_string();
    assert!(refused.contains("device.page_size"), "{refused}");
    assert!(Workload::named("ycsb-z", &wanted(&settings())).is_err_and(|e| e.contains("a to f")));
    assert!(
        Workload::named("nonsense", &wanted(&settings())).is_err_and(|e| e.contains("fillseq"))
    );
}

#[test]
fn empty_lines_and_comments_of_a_trace_do_not_count() {
    let text = "# one\nput a 10\n\n  # two\n  get a\n";
    let mut workload = Workload::traced("commented", text).expect("a trace");
    let operations = std::iter::from_fn(|| workload.next_operation()).map(|(one, _)| one.op);
    assert_eq!(operations.collect::<Vec<_>>(), [KeyOp::Insert, KeyOp::Read]);
    let why = Workload::traced("commented", &format!("{text}\nsing a\n")).err();
    assert!(why.is_some_and(|why| why.starts_with("commented:7: ")), "lines that do not count");
}

/// Many clients sync every write: those that wait while others are synced form a group, with up to 128 KiB more than
/// the first, or up to 1 MiB if the first has more than 128 KiB.
#[test]
fn a_group_of_small_writes_stays_small() {
    for (bytes, most) in [(30_000, 5), (60_000, 3), (120_000, 2), (200_000, 5)] {
        let mut s = HostSettings { clients: 24, sync_every: 1, ..settings() };
        s.store.write_buffer_size = 16 << 20;
        let text: String = (0..240).map(|key| format!("put {key} {bytes}\n")).collect();
        let workload = Workload::traced("large", &text).expect("a trace");
        let mut machine = Machine::new(&config(40_000), s, workload).expect("a machine");
        machine.run(&mut |_| true).expect("a run");
        let (groups, writes) = machine.measured().phases[0].groups;
        assert_eq!(writes, 240);
        assert!(writes <= most * groups, "{groups} groups of {bytes} bytes a write");
        assert!(writes > (most - 1) * groups, "{groups} groups of {bytes} bytes a write");
    }
}

/// The processor is so slow that the drive's part of the background work does not count: its spans follow from the
/// pairs that were merged and the blocks that were built, whatever else the tables hold.
#[test]
fn background_work_takes_the_time_of_pairs_merged_and_of_blocks_built() {
    let mut most = config(40_000);
    most.remap.mode = RemapMode::Share;
    let mut seen = Vec::new();
    for (pages_per_block, reuse) in [(0, Reuse::Off), (2, Reuse::Off), (2, Reuse::Retention)] {
        let mut s = settings();
        (s.records, s.operations, s.value_bytes) = (4_000, 4_000, 1_500);
        (s.store.pages_per_block, s.store.reuse) = (pages_per_block, reuse);
        s.interval_ns = 1_000_000_000_000;
        (s.costs.step, s.costs.merge_kib, s.costs.step_kib) = (0, 100_000_000, 300_000_000);
        let machine = finished(&most, &s, "fillrandom");
        let stats = machine.store().stats();
        let spans: u64 = machine.measured().spans.iter().map(|s| s.end_ns - s.start_ns).sum();
        let charged =
            stats.merged_bytes * 100_000_000 / 1024 + stats.built_bytes * 300_000_000 / 1024;
        assert!(spans >= charged - charged / 1000, "{reuse:?}: {spans} ns for {charged}");
        assert!(spans <= charged + charged / 100, "{reuse:?}: {spans} ns for {charged}");
        let written: u64 = stats.levels.iter().map(|level| level.bytes_written).sum();
        let taken: u64 = stats.reuse.iter().map(|r| r.bytes_shared + r.bytes_copied).sum();
        assert!(stats.built_bytes + taken <= written, "{stats:?}");
        seen.push((written, taken, stats.built_bytes, stats.merged_bytes));
    }
    let [stock, aligned, full] = seen[..] else { panic!("three layouts") };
    assert_eq!(
        (stock.1, stock.2),
        (0, stock.0),
        "all that a table of LevelDB's layout has is built"
    );
    assert!(aligned.1 == 0 && aligned.2 < aligned.0 * 19 / 20, "padding is not built: {aligned:?}");
    assert!(full.1 > 0 && full.2 < full.0 - full.1, "nor are blocks that are taken over: {full:?}");
    assert!(full.3 > full.2, "pairs of those blocks are merged: {full:?}");
}

/// A run with `reads` quick reads and 30 quicker writes, silence for 1,000 s, and, if it has an odd number of tens of
/// reads, the same again.
fn silenced(reads: usize) -> Machine {
    let mut s = HostSettings { clients: 1, interval_ns: 1_000_000, ..settings() };
    (s.costs.read, s.costs.seek) = (20_000, 1_000_000_000_000);
    let part = "get a\n".repeat(reads) + &"put a 10\n".repeat(30) + "scan a 1\n";
    let workload = Workload::traced("silence", &part.repeat(1 + reads / 10 % 2)).expect("a trace");
    let mut machine = Machine::new(&config(20_000), s, workload).expect("a machine");
    machine.keep_record();
    machine.run(&mut |_| true).expect("a run");
    machine
}

#[test]
fn operations_count_in_the_interval_of_their_time_however_long_the_silence() {
    for reads in (30..130).step_by(10) {
        let machine = silenced(reads);
        let rows = &machine.measured().course;
        assert!(rows.len() <= 1 << 16, "{} rows", rows.len());
        let interval = rows[1].start_ns - rows[0].start_ns;
        assert!(rows.iter().enumerate().all(|(at, row)| row.start_ns == at as u64 * interval));
        let (mut counts, mut at_first) = (vec![(0, 0, 0); rows.len()], BTreeMap::new());
        for one in machine.record() {
            let RecordEntry::Ended { at_ns, began_ns, .. } = *one else { continue };
            let (counted, latency) = (&mut counts[(at_ns / interval) as usize], at_ns - began_ns);
            *counted = (counted.0 + 1, counted.1 + latency, counted.2.max(latency));
            let row: &mut Histogram = at_first.entry(at_ns / 1_000_000).or_default();
            row.record(latency);
        }
        let of = rows.iter().map(|row| (row.operations, row.latency_ns, row.longest_ns));
        assert_eq!(of.collect::<Vec<_>>(), counts, "operations, their latencies, the longest");
        // Before the silence an interval was a millisecond. The larger percentile of joined rows counts.
        let mut larger = BTreeMap::new();
        for (at, row) in at_first.range(..1000) {
            let p50: &mut u64 = larger.entry(at * 1_000_000 / interval).or_default();
            *p50 = row.percentile(0.5).unwrap_or(0).max(*p50);
        }
        for (row, p50) in larger {
            assert_eq!(rows[row as usize].p50_ns, p50, "{reads} reads, row {row}");
        }
    }
}

#[test]
fn looks_at_the_channels_become_rarer_and_the_first_one_stays() {
    let s = HostSettings { operations: 4500, records: 4500, sync_every: 1, ..settings() };
    let rows = |interval_ns: u64| {
        let s = HostSettings { interval_ns, ..s.clone() };
        finished(&config(40_000), &s, "fillrandom").measured().channels.rows.clone()
    };
    let (all, some) = (rows(1_000_000), rows(2_000_000));
    assert!(some.len() > 2048, "{} looks in twice the interval", some.len());
    assert!(all.len() <= 4096 && all[0] == some[0], "{} looks from {:?} on", all.len(), all[0]);
    // Every second row before that was dropped, so the rows since are equally far apart.
    let apart = |pair: &[ChannelActivity]| pair[0].at_ns / 2_000_000 < pair[1].at_ns / 2_000_000;
    assert!(all.windows(2).all(apart), "two looks within twice the interval");
}
