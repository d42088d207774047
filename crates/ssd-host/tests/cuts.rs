//! Power is cut at steps of the drive: the drive mounts, the file system mounts from its pages, the store opens, what
//! was synced is there, and the whole is a beginning of the history. So it is when compaction remaps.

use ssd_core::config::{BufferPower, Config, DataMode, PowerCut, RemapMode};
use ssd_core::sim::ssd::Ssd;
use ssd_host::executor::{HostError, mounted};
use ssd_host::settings::Reuse;
use ssd_host::workload::{Values, Workload};
use ssd_host::{HostSettings, Machine};
use ssd_kv::vfs::MemoryVfs;
use ssd_kv::{Db, Options, ReadOptions};
use ssd_trace::keys::Wanted;
use std::collections::BTreeMap;
use std::sync::Arc;

const OPERATIONS: u64 = 2000;

/// What differs between runs.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// One write in so many is synced; 0: none.
    sync_every: u64,
    /// Pages of a write buffer that a cut loses.
    buffer: u32,
    /// What compaction takes over, on a drive that shares pages.
    reuse: Reuse,
    /// NVRAM for the records of owners, on a drive that shares.
    nvram_bytes: u64,
}

const fn plain(sync_every: u64, buffer: u32) -> Run {
    Run { sync_every, buffer, reuse: Reuse::Off, nvram_bytes: 0 }
}

const fn remapped(sync_every: u64, buffer: u32, nvram_bytes: u64) -> Run {
    Run { sync_every, buffer, reuse: Reuse::Retention, nvram_bytes }
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
    s.value_bytes = 150;
    if run.reuse != Reuse::Off {
        // Few pairs in a block, so that some blocks do not change.
        (s.value_bytes, s.store.reuse, s.store.pages_per_block) = (1200, run.reuse, 1);
    }
    s.store.write_buffer_size = 64 << 10;
    s.store.max_file_size = 1 << 20;
    s.fs.cache_pages = 128;
    s.fs.dirty_pages = 6;
    s.fs.set_aside_pages = 8;
    s
}

fn workload(s: &HostSettings) -> Workload {
    let wanted = Wanted {
        records: s.records,
        operations: s.operations,
        value_bytes: Some(s.value_bytes),
        keys: None,
        seed: 9,
    };
    Workload::named("fillrandom", &wanted).expect("a workload")
}

/// Every write, in order: key and value.
fn history(s: &HostSettings) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (mut stream, values) = (workload(s), Values::default());
    let mut all = Vec::new();
    while let Some((request, key)) = stream.next_operation() {
        let value = values.value(all.len() as u64, request.value_bytes as usize).to_vec();
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

/// A run with its power cut after so many steps.
struct Cut {
    ssd: Ssd,
    /// The run had not ended.
    stopped: bool,
    /// Writes that had been acknowledged.
    done: u64,
    /// Pages that the drive had copied.
    copied: u64,
}

fn cut_after(run: Run, steps: u64) -> Cut {
    let s = settings(run);
    let mut machine = Machine::new(&config(run), s.clone(), workload(&s)).expect("a machine");
    let stopped = match machine.run_for(steps) {
        Ok(()) => false,
        Err(HostError::Stopped(_)) => true,
        Err(error) => panic!("{error}"),
    };
    let done = machine.measured().operations();
    let copied = machine.fs().counts().copied.iter().sum();
    Cut { ssd: restarted(machine), stopped, done, copied }
}

/// The drive after a cut and a mount.
fn restarted(machine: Machine) -> Ssd {
    let mut ssd = machine.into_drive();
    ssd.power_cut().expect("a cut");
    ssd.mount(false).expect("the drive mounts");
    ssd
}

/// What was synced is there, and the whole is a beginning of the history.
fn check(run: Run, mut ssd: Ssd, done: u64, history: &[(Vec<u8>, Vec<u8>)], what: &str) {
    let fs = mounted(&mut ssd, settings(run).fs).unwrap_or_else(|why| panic!("{what}: {why}"));
    let found = pairs(fs.files().into_iter().collect());
    // The newest write that is there; all before it are there too, and nothing else.
    let last = history.iter().rposition(|(key, value)| found.get(key) == Some(value));
    let there = last.map_or(0, |last| last as u64 + 1);
    let synced = done.checked_div(run.sync_every).map_or(0, |groups| groups * run.sync_every);
    assert!(
        (synced..=done + 1).contains(&there),
        "{what}: {there} writes are there, {synced} of {done} were synced"
    );
    let model: BTreeMap<_, _> = history[..there as usize].iter().cloned().collect();
    assert!(found == model, "{what}: not the first {there} writes");
}

/// Cut after so many steps; false if the run ends before. Pages that the drive copied until then.
fn cut(run: Run, steps: u64, history: &[(Vec<u8>, Vec<u8>)]) -> (bool, u64) {
    let Cut { ssd, stopped, done, copied } = cut_after(run, steps);
    check(run, ssd, done, history, &format!("after {steps} steps"));
    (stopped, copied)
}

/// Cut after so many steps, and again at every `stride`th step in which the store recovers; how many such cuts there
/// were.
fn cut_recovery(run: Run, steps: u64, stride: usize) -> u64 {
    let (s, history) = (settings(run), history(&settings(run)));
    let mut cuts = 0;
    for again in (0..).step_by(stride) {
        let Cut { ssd, done, .. } = cut_after(run, steps);
        let found = Machine::found(ssd, &config(run), s.clone(), workload(&s));
        let mut machine = found.expect("the file system is there");
        let ended = match machine.open_for(again) {
            Ok(()) => true,
            Err(HostError::Stopped(_)) => false,
            Err(error) => panic!("after {steps} and {again} steps: {error}"),
        };
        let what = format!("after {steps} steps and {again} of the recovery");
        check(run, restarted(machine), done, &history, &what);
        cuts += 1;
        if ended {
            return cuts;
        }
    }
    unreachable!("every recovery ends")
}

/// Cut at every `stride`th step; how many cuts there were, and pages copied before the last one.
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
