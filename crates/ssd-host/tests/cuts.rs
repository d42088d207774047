//! Power is cut at steps of the drive: the drive mounts, the file system mounts from its pages, the store opens, what
//! was synced is there, and the whole is a beginning of the history.

use ssd_core::config::{BufferPower, Config, DataMode, PowerCut};
use ssd_host::executor::{HostError, mounted};
use ssd_host::workload::{Values, Workload};
use ssd_host::{HostSettings, Machine};
use ssd_kv::vfs::MemoryVfs;
use ssd_kv::{Db, Options, ReadOptions};
use ssd_trace::keys::Wanted;
use std::collections::BTreeMap;
use std::sync::Arc;

const OPERATIONS: u64 = 2000;

/// With `buffer` pages of a write buffer that a cut loses.
fn config(buffer: u32) -> Config {
    let mut c = Config::default();
    let d = &mut c.device;
    [d.channels, d.chips_per_channel, d.planes_per_chip] = [2, 2, 1];
    (d.blocks_per_plane, d.pages_per_block, d.page_bytes) = (24, 16, 4096);
    d.user_pages = 1000;
    (c.run.data, c.power.cut) = (DataMode::Bytes, PowerCut::OnRequest);
    (c.host.write_buffer_pages, c.power.buffer) = (buffer, BufferPower::Volatile);
    c.precondition.fill = 0.0;
    c.metrics.interval_ns = 0;
    c
}

fn settings(sync_every: u64) -> HostSettings {
    let records = 700;
    let mut s =
        HostSettings { records, operations: OPERATIONS, sync_every, ..HostSettings::default() };
    s.value_bytes = 150;
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

/// Cut after so many steps; false if the run ends before.
fn cut((sync_every, buffer): (u64, u32), steps: u64, history: &[(Vec<u8>, Vec<u8>)]) -> bool {
    let s = settings(sync_every);
    let mut machine = Machine::new(&config(buffer), s.clone(), workload(&s)).expect("a machine");
    let stopped = match machine.run_for(steps) {
        Ok(()) => false,
        Err(HostError::Stopped(_)) => true,
        Err(error) => panic!("{error}"),
    };
    let done = machine.measured().operations();
    let mut ssd = machine.into_drive();
    ssd.power_cut().expect("a cut");
    ssd.mount(false).expect("the drive mounts");
    let fs = mounted(&mut ssd, s.fs).unwrap_or_else(|why| panic!("after {steps} steps: {why}"));
    let found = pairs(fs.files().into_iter().collect());
    // The newest write that is there; all before it are there too, and nothing else.
    let last = history.iter().rposition(|(key, value)| found.get(key) == Some(value));
    let there = last.map_or(0, |last| last as u64 + 1);
    let synced = done.checked_div(sync_every).map_or(0, |groups| groups * sync_every);
    assert!(
        (synced..=done + 1).contains(&there),
        "after {steps} steps: {there} writes are there, {synced} of {done} were synced"
    );
    let model: BTreeMap<_, _> = history[..there as usize].iter().cloned().collect();
    assert!(found == model, "after {steps} steps: not the first {there} writes");
    stopped
}

/// Cut at every `stride`th step; how many cuts there were.
fn cut_all(run: (u64, u32), stride: usize) -> u64 {
    let history = history(&settings(run.0));
    let mut cuts = 0;
    for steps in (0..).step_by(stride) {
        cuts += 1;
        if !cut(run, steps, &history) {
            return cuts;
        }
    }
    cuts
}

#[test]
fn a_cut_at_many_steps_leaves_what_was_synced() {
    for (run, stride) in [((0, 0), 7), ((7, 0), 83), ((1, 0), 601), ((0, 16), 7), ((7, 16), 83)] {
        let cuts = cut_all(run, stride);
        assert!(cuts > 20, "{cuts} cuts, one write in {} synced, buffer {}", run.0, run.1);
    }
}

#[test]
#[ignore = "every step takes long"]
fn a_cut_at_every_step_leaves_what_was_synced() {
    for run in [(0, 0), (0, 16), (7, 0), (7, 16), (1, 0)] {
        cut_all(run, 1);
    }
}
