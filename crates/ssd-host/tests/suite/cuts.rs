//! Power is cut at steps of the drive: the drive mounts, the file system mounts from its pages, the store opens, what
//! was synced is there, and the state as a whole is a prefix of the history. The same holds when compaction remaps.

use ssd_core::config::{BufferPower, Config, DataMode, PowerCut, RemapMode};
use ssd_core::host::device::Device as _;
use ssd_core::rng::Stream;
use ssd_core::sim::ssd::Ssd;
use ssd_host::cut::{Losses, losses};
use ssd_host::executor::{Acknowledged, HostError, RecordEntry, mounted};
use ssd_host::settings::Reuse;
use ssd_host::workload::{Values, Workload};
use ssd_host::{HostSettings, Machine, Origin, simulate};
use ssd_kv::vfs::MemoryVfs;
use ssd_kv::{Db, Options, ReadOptions};
use ssd_trace::config::RunConfig;
use ssd_trace::keys::{KeyOp, StreamParameters};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

const OPERATIONS: u64 = 2000;

/// What differs between runs.
#[derive(Clone, Copy, Debug)]
struct Run {
    clients: u32,
    /// One in this many writes is synced; 0: none.
    sync_every: u64,
    /// Pages of a write buffer that a cut loses.
    buffer: u32,
    /// What compaction takes over, on a drive that shares pages.
    reuse: Reuse,
    /// NVRAM for the records of owners, on a drive that shares.
    nvram_bytes: u64,
}

const fn plain(sync_every: u64, buffer: u32) -> Run {
    Run { clients: 1, sync_every, buffer, reuse: Reuse::Off, nvram_bytes: 0 }
}

const fn remapped(sync_every: u64, buffer: u32, nvram_bytes: u64) -> Run {
    Run { clients: 1, sync_every, buffer, reuse: Reuse::Retention, nvram_bytes }
}

/// Clients that write concurrently, with some of their writes synced.
const fn mixed(clients: u32, sync_every: u64, buffer: u32) -> Run {
    Run { clients, ..plain(sync_every, buffer) }
}

fn config(run: Run) -> Config {
    let mut c = Config::default();
    let d = &mut c.device;
    [d.channels, d.chips_per_channel, d.planes_per_chip] = [2, 2, 1];
    (d.blocks_per_plane, d.pages_per_block, d.page_bytes) = (24, 16, 4096);
    d.user_pages = 1000;
    (c.run.data, c.power.cut) = (DataMode::Bytes, PowerCut::OnRequest);
    (c.host.write_buffer_pages, c.power.buffer) = (run.buffer, BufferPower::Volatile);
    if run.reuse != Reuse::Off {
        (c.remap.mode, c.power.nvram_bytes) = (RemapMode::Share, run.nvram_bytes);
    }
    c.precondition.fill = 0.0;
    c.metrics.interval_ns = 0;
    c
}

fn settings(run: Run) -> HostSettings {
    let (records, sync_every) = (700, run.sync_every);
    let mut s =
        HostSettings { records, operations: OPERATIONS, sync_every, ..HostSettings::default() };
    (s.clients, s.value_bytes) = (run.clients, 150);
    if run.reuse != Reuse::Off {
        // Few pairs per block, so that some blocks do not change.
        (s.value_bytes, s.store.reuse, s.store.pages_per_block) = (1200, run.reuse, 1);
    }
    s.store.write_buffer_size = 64 << 10;
    s.store.max_file_size = 1 << 20;
    s.fs.cache_pages = 128;
    s.fs.dirty_pages = 6;
    s.fs.set_aside_pages = 8;
    if run.clients > 1 {
        // Logs are written back by age, and commits come between those of the clients.
        (s.fs.dirty_pages, s.fs.dirty_age_ns, s.fs.commit_interval_ns) = (60, 3_000_000, 2_000_000);
    }
    s
}

fn workload(s: &HostSettings) -> Workload {
    if s.clients > 1 {
        return mixed_workload();
    }
    fill(s, 9)
}

fn fill(s: &HostSettings, seed: u64) -> Workload {
    let wanted = StreamParameters {
        records: s.records,
        operations: s.operations,
        value_bytes: Some(s.value_bytes),
        keys: None,
        seed,
    };
    Workload::named("fillrandom", &wanted).expect("a workload")
}

/// Puts, updates and deletions, and reads between them.
fn mixed_workload() -> Workload {
    let (mut random, mut text) = (Stream::new(9, "mixed"), String::new());
    for _ in 0..OPERATIONS {
        let (key, bytes) = (random.below(300), random.below(400));
        let _ = match random.below(8) {
            0 => writeln!(text, "get {key}"),
            1 => writeln!(text, "delete {key}"),
            2 => writeln!(text, "update {key} {bytes}"),
            _ => writeln!(text, "put {key} {bytes}"),
        };
    }
    Workload::traced("mixed", &text).expect("a trace")
}

/// Keys with their values; `None`: deleted.
type Write = (Vec<u8>, Option<Vec<u8>>);

/// Every write, in the order in which clients take them.
fn history(s: &HostSettings) -> Vec<Write> {
    history_of(workload(s))
}

fn history_of(mut stream: Workload) -> Vec<Write> {
    let values = Values::default();
    let (mut all, mut version) = (Vec::new(), 0);
    while let Some((request, key)) = stream.next_operation() {
        if matches!(request.op, KeyOp::Read | KeyOp::Scan) {
            continue;
        }
        let value = (request.op != KeyOp::Delete).then(|| {
            version += 1;
            values.value(version - 1, request.value_bytes as usize).to_vec()
        });
        all.push((key, value));
    }
    all
}

fn pairs(files: BTreeMap<String, Vec<u8>>) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let options = Options { paranoid_checks: true, ..Options::default() };
    let db = Db::open(Arc::new(MemoryVfs::of(files)), options).expect("the store opens");
    let read = ReadOptions { verify_checksums: true, fill_cache: true };
    let mut iter = db.iter(read, None).expect("an iterator");
    iter.seek_to_first().expect("a seek");
    let mut found = BTreeMap::new();
    while iter.valid() {
        found.insert(iter.key().to_vec(), iter.value().to_vec());
        iter.next().expect("the next pair");
    }
    found
}

/// A run whose power is cut after this many steps.
struct Cut {
    ssd: Ssd,
    /// The run had not ended.
    stopped: bool,
    /// Writes that had been acknowledged, in the order of the log, and whether each had to be durable.
    acknowledged: Vec<(u64, bool)>,
    /// Pages that the drive had copied.
    copied: u64,
}

fn cut_after(run: Run, steps: u64) -> Cut {
    let s = settings(run);
    let mut machine = Machine::new(&config(run), s.clone(), workload(&s)).expect("a machine");
    machine.keep_record();
    let stopped = match machine.run_for(steps) {
        Ok(()) => false,
        Err(HostError::Stopped(_)) => true,
        Err(error) => panic!("{error}"),
    };
    let ended = machine.record().iter().filter_map(|one| match *one {
        RecordEntry::Ended { write, sync, .. } if write > 0 => Some((write, sync)),
        _ => None,
    });
    let acknowledged = ended.collect();
    let copied = machine.fs().counts().copied.iter().sum();
    Cut { ssd: restarted(machine), stopped, acknowledged, copied }
}

/// The drive after a cut and a mount.
fn restarted(machine: Machine) -> Ssd {
    let mut ssd = machine.into_drive();
    ssd.power_cut().expect("a cut");
    ssd.mount(false).expect("the drive mounts");
    ssd
}

/// Keys whose values differ from those on the drive, while writes are applied one by one.
struct DifferingKeys<'a> {
    found: &'a BTreeMap<Vec<u8>, Vec<u8>>,
    keys: BTreeSet<&'a [u8]>,
}

impl<'a> DifferingKeys<'a> {
    fn apply(&mut self, (key, value): &'a Write) {
        if self.found.get(key) == value.as_ref() {
            self.keys.remove(&key[..]);
        } else {
            self.keys.insert(key);
        }
    }
}

/// Check that the pairs on the drive are those of the first writes of the log, including all synced ones; or those of
/// all acknowledged writes, and of some that were under way.
fn check(run: Run, mut ssd: Ssd, acknowledged: &[(u64, bool)], history: &[Write], what: &str) {
    let fs = mounted(&mut ssd, settings(run).fs).unwrap_or_else(|why| panic!("{what}: {why}"));
    let found = pairs(fs.files().into_iter().collect());
    let write = |number: u64| &history[number as usize - 1];
    let synced = acknowledged.iter().rposition(|one| one.1).map_or(0, |last| last + 1);
    let mut differing =
        DifferingKeys { found: &found, keys: found.keys().map(Vec::as_slice).collect() };
    for (at, &(number, _)) in acknowledged.iter().enumerate() {
        if at >= synced && differing.keys.is_empty() {
            return;
        }
        differing.apply(write(number));
    }
    let known: BTreeSet<u64> = acknowledged.iter().map(|one| one.0).collect();
    let last = (known.len() as u64 + u64::from(run.clients)).min(history.len() as u64);
    let under_way = (1..=last).filter(|number| !known.contains(number)).map(write);
    differing.keys.retain(|&key| {
        !under_way.clone().any(|(own, value)| own == key && found.get(key) == value.as_ref())
    });
    assert!(
        differing.keys.is_empty(),
        "{what}: {} keys are not as after any of the last {} of {} acknowledged writes",
        differing.keys.len(),
        known.len() - synced,
        known.len(),
    );
}

/// Cut after this many steps; false if the run ends before. Also returns the pages that the drive copied until then.
fn cut(run: Run, steps: u64, history: &[Write]) -> (bool, u64) {
    let Cut { ssd, stopped, acknowledged, copied } = cut_after(run, steps);
    check(run, ssd, &acknowledged, history, &format!("after {steps} steps"));
    (stopped, copied)
}

/// Cut after this many steps, and again at every `stride`th step in which the store recovers. Returns how many such
/// cuts there were.
fn cut_recovery(run: Run, steps: u64, stride: usize) -> u64 {
    let (s, history) = (settings(run), history(&settings(run)));
    let mut cuts = 0;
    for again in (0..).step_by(stride) {
        let Cut { ssd, acknowledged, .. } = cut_after(run, steps);
        let found = Machine::remounted(ssd, &config(run), s.clone(), workload(&s));
        let mut machine = found.expect("the file system is there");
        let ended = match machine.open_for(again) {
            Ok(()) => true,
            Err(HostError::Stopped(_)) => false,
            Err(error) => panic!("after {steps} and {again} steps: {error}"),
        };
        let what = format!("after {steps} steps and {again} of the recovery");
        check(run, restarted(machine), &acknowledged, &history, &what);
        cuts += 1;
        if ended {
            return cuts;
        }
    }
    unreachable!("every recovery ends")
}

/// How many of the first acknowledged writes give the pairs on the drive: the most that do, with or without a write
/// that was under way.
fn newest_prefix(
    found: &BTreeMap<Vec<u8>, Vec<u8>>,
    acknowledged: &[(u64, bool)],
    history: &[Write],
) -> usize {
    let of = |numbers: &[u64]| {
        let mut state = BTreeMap::new();
        for &number in numbers {
            match &history[number as usize - 1] {
                (key, Some(value)) => _ = state.insert(key.clone(), value.clone()),
                (key, None) => _ = state.remove(key),
            }
        }
        state
    };
    let numbers: Vec<u64> = acknowledged.iter().map(|write| write.0).collect();
    let under_way = acknowledged.len() as u64 + 1;
    (0..=numbers.len())
        .rev()
        .find(|&first| {
            let first = &numbers[..first];
            of(first) == *found || of(&[first, &[under_way]].concat()) == *found
        })
        .expect("a prefix")
}

#[test]
fn a_report_says_what_a_cut_took() {
    let (mut lost, mut synced) = (0, 0);
    for run in [plain(0, 0), plain(7, 0), plain(0, 16), remapped(50, 16, 1 << 12)] {
        for cut_ns in [3_000_000, 11_000_000, 40_000_000] {
            let config = RunConfig { kernel: config(run), ..RunConfig::default() };
            let s = HostSettings { cut_ns: Some(cut_ns), ..settings(run) };
            let origin = Origin::Named("fillrandom");
            let outcome = simulate(&config, &s, &origin, &mut |_| true).expect("a simulation");
            assert!(outcome.error.is_none(), "{:?}", outcome.error);
            let cut = &outcome.report["cut"];
            let seed = config.workload_seed();
            let mut machine = Machine::new(&config, s.clone(), fill(&s, seed)).expect("a machine");
            machine.keep_record();
            let ended = machine.run(&mut |_| true).and_then(|()| machine.rest(true));
            let cut_at = machine.measured().phases[0].start_ns + cut_ns;
            assert!(matches!(ended, Err(HostError::PowerCut(at)) if at == cut_at), "{ended:?}");
            let ended = machine.record().iter().filter_map(|entry| match *entry {
                RecordEntry::Ended { write, sync, at_ns, .. } => Some(((write, sync), at_ns)),
                RecordEntry::Submitted { .. } => None,
            });
            let (acknowledged, times): (Vec<(u64, bool)>, Vec<u64>) = ended.unzip();
            let mut ssd = restarted(machine);
            let drive_ns = ssd.now().0 - cut_at;
            let fs = mounted(&mut ssd, s.fs).expect("the file system mounts");
            let found = pairs(fs.files().into_iter().collect());
            let there = newest_prefix(&found, &acknowledged, &history_of(fill(&s, seed)));
            let of = |name: &str| cut[name].as_u64().expect("a number");
            assert_eq!((of("at_ns"), of("drive_ns")), (cut_at, drive_ns));
            assert!(of("store_ns") > 0);
            assert_eq!(of("acknowledged"), acknowledged.len() as u64);
            assert_eq!(of("lost"), (acknowledged.len() - there) as u64, "{run:?} at {cut_ns}");
            assert_eq!(of("lost_synced"), 0);
            assert_eq!(of("lost_ns"), times.get(there).map_or(0, |time| cut_at - time));
            assert_eq!(pairs(outcome.files.into_iter().collect()), found, "the recovered store");
            lost += of("lost");
            synced += acknowledged.iter().filter(|write| write.1).count();
        }
    }
    assert!(lost > 100 && synced > 10, "{lost} lost, {synced} synced");
}

/// Stores with the first writes of a history, all of which were acknowledged but the last: the loss is the rest, and up
/// to the last synced write, the fourth, it breaks a promise.
#[test]
fn what_a_store_lacks_of_its_history_is_lost() {
    let history = (0..).zip(*b"ababcac").map(|(version, key)| (vec![key], Some((version, 40))));
    let history: Vec<_> = history.collect();
    let acknowledged: Vec<Acknowledged> = (1..history.len() as u64)
        .map(|number| Acknowledged { number, sync: [1, 4].contains(&number), at_ns: 10 * number })
        .collect();
    let values = Values::default();
    for there in 0..=history.len() {
        let options = Options { create_if_missing: true, ..Options::default() };
        let mut db = Db::open(Arc::new(MemoryVfs::new()), options).expect("a store");
        for (key, value) in &history[..there] {
            let (version, bytes) = value.expect("nothing is deleted");
            db.put(key, values.value(version, bytes), false).expect("a write");
        }
        let lost = losses(&db, &acknowledged, history.len() as u64, (&history, &values));
        let kept = there.min(acknowledged.len());
        let expected = Losses {
            writes: acknowledged.len() - kept,
            synced: 4usize.saturating_sub(kept),
            since_ns: acknowledged.get(kept).map(|write| write.at_ns),
        };
        assert_eq!(lost.expect("the store is read"), expected, "{there} are there");
    }
}

#[test]
fn a_cut_after_the_end_is_an_error_with_the_whole_report() {
    let run = plain(0, 0);
    let config = RunConfig { kernel: config(run), ..RunConfig::default() };
    let s = HostSettings { cut_ns: Some(1 << 50), ..settings(run) };
    let outcome = simulate(&config, &s, &Origin::Named("fillrandom"), &mut |_| true);
    let outcome = outcome.expect("a simulation");
    let error = outcome.error.expect("no cut").to_string();
    assert!(error.contains("the simulation ended before, at "), "{error}");
    assert_eq!(outcome.report["phases"][0]["operations"], OPERATIONS);
    assert!(outcome.report["cut"].is_null());
}

/// Cut at every `stride`th step. Returns how many cuts there were, and the pages copied before the last one.
fn cut_all(run: Run, stride: usize) -> (u64, u64) {
    let history = history(&settings(run));
    let mut cuts = 0;
    for steps in (0..).step_by(stride) {
        cuts += 1;
        let (stopped, copied) = cut(run, steps, &history);
        if !stopped {
            return (cuts, copied);
        }
    }
    unreachable!("every run ends")
}

#[test]
fn a_cut_at_many_steps_leaves_what_was_synced() {
    for (run, stride) in [
        (plain(0, 0), 7),
        (plain(7, 0), 83),
        (plain(1, 0), 601),
        (plain(0, 16), 7),
        (plain(7, 16), 83),
    ] {
        let (cuts, _) = cut_all(run, stride);
        assert!(cuts > 20, "{cuts} cuts, {run:?}");
    }
}

#[test]
fn a_cut_while_clients_write_side_by_side_leaves_what_was_synced() {
    for (run, stride) in [(mixed(5, 3, 0), 67), (mixed(5, 3, 16), 67), (mixed(3, 2, 16), 83)] {
        let (cuts, _) = cut_all(run, stride);
        assert!(cuts > 20, "{cuts} cuts, {run:?}");
    }
}

#[test]
#[ignore = "every step takes long"]
fn a_cut_at_every_step_while_clients_write_leaves_what_was_synced() {
    for run in [mixed(5, 3, 0), mixed(5, 3, 16), mixed(8, 7, 16), mixed(3, 2, 16)] {
        cut_all(run, 1);
    }
}

#[test]
fn a_cut_at_many_steps_of_a_store_that_remaps_leaves_what_was_synced() {
    for (run, stride) in [
        (remapped(0, 0, 1 << 16), 151),
        (remapped(7, 0, 1 << 12), 301),
        (remapped(0, 16, 1 << 12), 151),
    ] {
        let (cuts, copied) = cut_all(run, stride);
        assert!(cuts > 20 && copied > 100, "{cuts} cuts, {copied} pages copied, {run:?}");
    }
}

#[test]
fn a_second_cut_while_the_store_recovers_leaves_what_was_synced() {
    let mut cuts = 0;
    for (run, steps) in [(remapped(7, 0, 1 << 12), 2500), (remapped(0, 16, 1 << 16), 12_000)] {
        cuts += cut_recovery(run, steps, 5);
    }
    assert!(cuts > 10, "{cuts} cuts");
}

#[test]
#[ignore = "every step takes long"]
fn a_second_cut_at_every_step_of_a_recovery_leaves_what_was_synced() {
    for run in [remapped(7, 0, 1 << 12), remapped(0, 16, 1 << 16), plain(7, 16)] {
        for steps in (100..9000).step_by(777) {
            cut_recovery(run, steps, 1);
        }
    }
}

#[test]
#[ignore = "every step takes long"]
fn a_cut_at_every_step_leaves_what_was_synced() {
    for run in [plain(0, 0), plain(0, 16), plain(7, 0), plain(7, 16), plain(1, 0)] {
        cut_all(run, 1);
    }
}

#[test]
#[ignore = "every step takes long"]
fn a_cut_at_every_step_of_a_store_that_remaps_leaves_what_was_synced() {
    for run in [remapped(0, 0, 1 << 16), remapped(0, 16, 1 << 12), remapped(7, 16, 1 << 16)] {
        cut_all(run, 1);
    }
}
