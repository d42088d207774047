//! The drive behind the server, against a machine that holds the bytes itself, and against a naive memory.

use crate::cases::cases;
use crate::rig::{Temporary, completions, config, everything, finish, fold, open, with_state};
use proptest::prelude::*;
use ssd_core::config::{DataMode, HostMode};
use ssd_core::ftl::snapshot::DeviceSnapshot;
use ssd_core::host::device::Device as _;
use ssd_core::host::drive::drive;
use ssd_core::host::request::{Completion, Op, Request, RequestId, TimedRequest, flags};
use ssd_core::host::source::{Source, SourceError};
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::Nanos;
use ssd_serve::disk::Disk;
use ssd_serve::engine::{Engine, Numbers, Refusal};
use ssd_serve::log::{self, Log, Record};
use ssd_serve::slots::Slots;
use ssd_serve::state::{new_drive, without_state};
use ssd_serve::table::{NONE, SlotTable};
use ssd_trace::config::RunConfig;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// What a client does.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Offset, length, the byte to write, FUA.
    Write(u64, u64, u8, bool),
    /// Offset, length, FUA, TRIM of whole pages.
    Zeroes(u64, u64, bool, bool),
    Trim(u64, u64),
    Read(u64, u64),
    Flush,
    /// The log is folded.
    Fold,
    /// Time passes, ns.
    Wait(u64),
}

/// Steps within `bytes`, most of which touch few pages again and again; offsets are multiples of `unit`.
fn steps(unit: u64, most: usize) -> impl Strategy<Value = Vec<Step>> {
    let few = 24 * 4096 / unit;
    let range = (0..few, 1..=20_000 / unit).prop_map(move |(at, n)| (at * unit, n * unit));
    let (write, zeroes, trim, read) = (range.clone(), range.clone(), range.clone(), range);
    let step = prop_oneof![
        10 => (write, 1u8.., prop::bool::weighted(0.2))
            .prop_map(|((at, n), byte, fua)| Step::Write(at, n, byte, fua)),
        2 => (zeroes, any::<(bool, bool)>())
            .prop_map(|((at, n), (fua, trim))| Step::Zeroes(at, n, fua, trim)),
        2 => trim.prop_map(|(at, n)| Step::Trim(at, n)),
        2 => read.prop_map(|(at, n)| Step::Read(at, n)),
        1 => Just(Step::Flush),
        1 => Just(Step::Fold),
        8 => prop_oneof![0u64..2000, 0u64..2_000_000].prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 1..most)
}

/// Do `step` at `now`, which it may advance. Returns the numbers of what is under way.
fn act(engine: &mut Engine, now: &mut u64, step: Step) -> Option<Numbers> {
    let begun = match step {
        Step::Write(at, n, byte, fua) => engine.write(*now, at, &data(n, byte), fua),
        Step::Zeroes(at, n, fua, trim) => engine.write_zeroes(*now, (at, n), fua, trim),
        Step::Trim(at, n) => engine.trim(*now, at, n),
        Step::Read(at, n) => engine.read(*now, at, n),
        Step::Flush => engine.flush(*now),
        Step::Fold => return None,
        Step::Wait(ns) => {
            *now += ns;
            engine.run(*now);
            return None;
        }
    };
    Some(begun.expect("the drive takes it"))
}

fn data(length: u64, byte: u8) -> Vec<u8> {
    (0..length).map(|at| byte.wrapping_add((at / 512) as u8).max(1)).collect()
}

const DRIVES: [&[(&str, &str)]; 4] = [
    &[],
    &[("host.write_buffer_pages", "8")],
    &[("host.write_buffer_pages", "8"), ("power.cut", "on-request"), ("power.buffer", "protected")],
    &[
        ("host.write_buffer_pages", "4"),
        ("power.cut", "on-request"),
        ("power.nvram", "64 B"),
        ("power.checkpoint", "64 KiB"),
    ],
];

/// The records of the log in the state `folder`.
fn records(folder: &Path, generation: u64) -> Vec<Record> {
    let mut records = Vec::new();
    let path = folder.join(format!("{generation}.log"));
    let take = &mut |record| {
        records.push(record);
        Ok(())
    };
    log::read(&path, 8, take).expect("a log");
    records
}

/// What a machine that holds bytes finds after the requests of the log, whose data are `written`, and a cut.
fn bytes_after_cut(
    config: &RunConfig,
    snapshot: &DeviceSnapshot,
    records: &[Record],
    written: &BTreeMap<(u64, u64), Vec<u8>>,
) -> Vec<u8> {
    let mut config = config.clone();
    config.run.data = DataMode::Bytes;
    // A new drive holds no bytes, so its snapshot lacks none.
    assert_eq!(snapshot.used_pages(), 0, "a drive with data");
    let mut ssd = Ssd::with_plugs(
        &config,
        ssd_core::ftl::Ftl::new(&config),
        0,
        &ssd_core::ftl::plugs::Plugs::default(),
    );
    let (mut last, mut seen) = (0, 0);
    let run = |ssd: &mut Ssd, to: u64| {
        while ssd.next_event().is_some_and(|at| at.0 <= to) {
            ssd.run_until(Nanos(to), &mut Vec::new()).expect("a sound drive");
        }
    };
    for record in records {
        match record {
            Record::Mark(at) => run(&mut ssd, *at),
            Record::Request { at, request, .. } => {
                run(&mut ssd, at - 1);
                let bytes = u64::from(request.sectors) * 512;
                let data = (request.op == Op::Write).then(|| {
                    let key = (seen, request.sector * 512);
                    written.get(&key).cloned().unwrap_or_else(|| vec![0; bytes as usize])
                });
                ssd.submit(Nanos(*at), request, data.as_deref()).expect("a sound request");
                last = *at;
                seen += 1;
            }
        }
    }
    run(&mut ssd, last);
    ssd.power_cut().expect("power can be cut");
    ssd.mount(false).expect("the drive mounts");
    let page = u64::from(config.device.page_bytes);
    let mut all = Vec::new();
    for lpn in 0..u64::from(config.device.user_pages) {
        let at = Nanos(ssd.now().0 + 1);
        let request = Request::new(Op::Read, lpn * page / 512, (page / 512) as u32);
        let RequestId(id) = ssd.submit(at, &request, None).expect("a read");
        let mut done = Vec::new();
        while done.is_empty() {
            ssd.run_until(Nanos::NEVER, &mut done).expect("a sound drive");
        }
        all.extend(ssd.take_data(RequestId(id)).expect("the data of a read"));
    }
    all
}

proptest! {
    #![proptest_config(cases(32, 21))]

    /// After a kill the drive has what a machine that holds bytes has after the same requests and a cut.
    #[test]
    fn a_kill_leaves_what_a_power_cut_leaves(steps in steps(512, 120), drive in 0usize..4) {
        let (folder, config) = (Temporary::new(), with_state(DRIVES[drive]));
        let (state, mut engine, snapshot, _) = open(&folder.0, &config).expect("a new drive");
        let (mut now, mut written) = (0, BTreeMap::new());
        for step in steps {
            let numbers = act(&mut engine, &mut now, step);
            if let (Step::Write(at, n, byte, _), Some(numbers)) = (step, numbers) {
                written.insert((numbers.first, at), data(n, byte));
            }
            engine.completions().expect("the log can be written");
        }
        drop((engine, state));
        let records = records(&folder.0, 1);
        let (_state, engine, _, mounted) = open(&folder.0, &config).expect("it mounts");
        prop_assert_eq!(mounted.is_some(), !records.is_empty());
        let expected = bytes_after_cut(&config, &snapshot, &records, &written);
        prop_assert!(everything(&engine) == expected, "other data than a machine with bytes");
    }

    /// Whatever was promised is there, for any bytes; and what is there was written.
    #[test]
    fn what_was_flushed_is_there(
        lives in prop::collection::vec(steps(1, 60), 1..4),
        drive in 0usize..4,
    ) {
        let (folder, config) = (Temporary::new(), with_state(DRIVES[drive]));
        let durable_at_once = config.host.write_buffer_pages == 0 || drive == 2;
        let mut memory = Memory::default();
        for steps in lives {
            let (mut state, mut engine, _, _) = open(&folder.0, &config).expect("it mounts");
            memory.check(&everything(&engine));
            let mut now = 0;
            for step in steps {
                let before = memory.writes;
                if matches!(step, Step::Fold) {
                    let data = everything(&engine);
                    fold(&mut state, &config, &mut engine);
                    prop_assert!(everything(&engine) == data, "a fold has changed data");
                    prop_assert_eq!(engine.log_bytes(), 0);
                    memory.promise(step, before, durable_at_once);
                    now = 0;
                    continue;
                }
                let numbers = act(&mut engine, &mut now, step);
                memory.note(step);
                // A client that waits for each answer: what it is told is promised.
                let is_long = matches!(step, Step::Flush) || memory.writes % 3 == 0;
                let Some(numbers) = numbers.filter(|_| is_long) else { continue };
                finish(&mut engine, numbers);
                memory.promise(step, before, durable_at_once);
            }
        }
        let (_state, engine, _, _) = open(&folder.0, &config).expect("it mounts");
        memory.check(&everything(&engine));
    }
}

/// The possible values of each byte: what it was promised to hold, and what was written to it since.
#[derive(Default)]
struct Memory {
    /// By byte: values with the number of their write; the first is promised.
    bytes: BTreeMap<u64, Vec<(u64, u8)>>,
    writes: u64,
}

impl Memory {
    /// The bytes that `step` sets, and their values; a TRIM may or may not take effect.
    fn values(step: Step) -> Vec<(u64, u8)> {
        let zeros = |from: u64, to: u64| (from..to).map(|at| (at, 0)).collect();
        match step {
            Step::Write(at, n, byte, _) => (at..).zip(data(n, byte)).collect(),
            Step::Zeroes(at, n, ..) => zeros(at, at + n),
            Step::Trim(at, n) => {
                let (from, to) = (at.next_multiple_of(4096), (at + n) / 4096 * 4096);
                zeros(from, to.max(from))
            }
            _ => Vec::new(),
        }
    }

    fn note(&mut self, step: Step) {
        self.writes += 1;
        for (at, value) in Memory::values(step) {
            let values = self.bytes.entry(at).or_insert_with(|| vec![(0, 0)]);
            values.push((self.writes, value));
        }
    }

    /// Acknowledge `step`, which came after the first `before` writes.
    fn promise(&mut self, step: Step, before: u64, at_once: bool) {
        let durable = match step {
            Step::Write(_, _, _, fua) => fua || at_once,
            // Its TRIM is durable, but what it writes need not be.
            Step::Zeroes(_, _, fua, _) => fua || at_once,
            Step::Trim(..) => true,
            _ => false,
        };
        // What precedes the last of the first `before` writes is gone.
        let forget = |values: &mut Vec<(u64, u8)>, number: u64| {
            let promised = values.iter().rposition(|value| value.0 <= number).unwrap_or(0);
            values.drain(..promised);
        };
        if durable {
            for (at, _) in Memory::values(step) {
                forget(self.bytes.get_mut(&at).expect("it was written"), before + 1);
            }
        }
        if matches!(step, Step::Flush | Step::Fold) {
            // The client may not have been told of all writes before it, but the drive admitted them before.
            self.bytes.values_mut().for_each(|values| forget(values, before));
        }
    }

    /// Check that the drive may hold `found`, which its bytes hold from now on.
    fn check(&mut self, found: &[u8]) {
        let end = self.bytes.last_key_value().map_or(0, |(&at, _)| at as usize + 1);
        assert!(found[end..].iter().all(|&byte| byte == 0), "there are data beyond byte {end}");
        for (at, &value) in (0u64..).zip(&found[..end]) {
            let Some(values) = self.bytes.get_mut(&at) else {
                assert_eq!(value, 0, "byte {at} was never written");
                continue;
            };
            let known = values.iter().any(|known| known.1 == value);
            assert!(known, "byte {at} holds {value}; it may hold {values:?}");
            *values = vec![(0, value)];
        }
        self.writes = 0;
    }
}

/// The requests of a log.
struct Replay(std::vec::IntoIter<TimedRequest>);

impl Source for Replay {
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        Ok(self.0.next())
    }
}

#[test]
fn the_log_run_as_a_trace_takes_the_same_times() {
    for sets in DRIVES {
        let mut sets = sets.to_vec();
        sets.extend([("precondition.fill", "1"), ("precondition.overwrite", "1")]);
        let (folder, config) = (Temporary::new(), with_state(&sets));
        let (_state, mut engine, snapshot, _) = open(&folder.0, &config).expect("a new drive");
        let (mut rng, mut done, mut now) =
            (ssd_core::rng::Stream::new(3, "served"), Vec::new(), 0u64);
        for i in 0..4000u64 {
            now += rng.below(4_000_000);
            engine.run(now);
            let at = rng.below(engine.bytes() / 512 - 40) * 512;
            let bytes = (1 + rng.below(30)) * 512;
            let begun = match i % 8 {
                0 | 1 => engine.read(now, at, bytes),
                2 if i % 5 == 0 => engine.flush(now),
                3 => engine.trim(now, at, bytes),
                _ => engine.write(now, at, &data(bytes, i as u8), i % 7 == 0),
            };
            begun.expect("the drive takes it");
            done.extend(completions(&mut engine));
        }
        engine.finish().expect("it completes all of them");
        let latest = records(&folder.0, 1);
        let requests = latest.iter().filter_map(|record| match record {
            Record::Request { at, request, .. } => {
                Some(TimedRequest { at: Nanos(*at), request: *request })
            }
            Record::Mark(_) => None,
        });
        let mut host = config.host.clone();
        (host.mode, host.max_outstanding) = (HostMode::Open, 0);
        let mut ssd = Ssd::restore(&config, &snapshot).expect("its snapshot");
        let mut source = Replay(requests.collect::<Vec<_>>().into_iter());
        let mut again = Vec::new();
        let mut watch = RecordingDevice { ssd: &mut ssd, done: &mut again };
        drive(&mut watch, &host, &mut source, &mut |_, _| std::ops::ControlFlow::Continue(()))
            .expect("a sound run");
        assert!(done.len() > 2500, "{} requests completed", done.len());
        // A reply that promises nothing does not wait for preceding ones that do.
        done.sort_by_key(|completion| completion.id.0);
        again.sort_by_key(|completion| completion.id.0);
        let same = |other: &Completion| {
            again.binary_search_by_key(&other.id.0, |c| c.id.0).map(|at| again[at])
        };
        assert!(done.iter().all(|other| same(other) == Ok(*other)), "other times");
    }
}

/// A drive whose completions are all recorded.
struct RecordingDevice<'a> {
    ssd: &'a mut Ssd,
    done: &'a mut Vec<ssd_core::host::request::Completion>,
}

impl ssd_core::host::device::Device for RecordingDevice<'_> {
    type Snapshot = DeviceSnapshot;

    fn submit(
        &mut self,
        at: Nanos,
        request: &Request,
        data: Option<&[u8]>,
    ) -> Result<RequestId, ssd_core::host::device::DeviceError> {
        self.ssd.submit(at, request, data)
    }

    fn now(&self) -> Nanos {
        self.ssd.now()
    }

    fn next_event(&self) -> Option<Nanos> {
        self.ssd.next_event()
    }

    fn run_until(
        &mut self,
        limit: Nanos,
        done: &mut Vec<ssd_core::host::request::Completion>,
    ) -> Result<Nanos, ssd_core::host::device::DeviceError> {
        let before = done.len();
        let reached = self.ssd.run_until(limit, done)?;
        self.done.extend(&done[before..]);
        Ok(reached)
    }

    fn snapshot(&self) -> Result<DeviceSnapshot, ssd_core::host::device::DeviceError> {
        self.ssd.snapshot()
    }
}

/// Run the drive until it has completed all requests.
fn run_all(engine: &mut Engine) {
    while engine.ssd().outstanding() > 0 {
        let at = engine.next_event().expect("something is left to do");
        engine.run(at);
    }
}

/// Replies to a write, and to a TRIM after it, both promise something: while the disk lacks the data of the write, it
/// lacks the TRIM, too.
#[test]
fn a_trim_is_not_answered_before_the_write_that_precedes_it() {
    let folder = Temporary::new();
    let (_state, mut engine, ..) = open(&folder.0, &with_state(&[])).expect("a new drive");
    let mut behind = 0;
    for round in 0..60 {
        let now = engine.ssd().now().0 + 1;
        let write = engine.write(now, 0, &data(256 << 10, round), false).expect("room");
        run_all(&mut engine);
        let now = engine.ssd().now().0 + 1;
        let trim = engine.trim(now, 512 << 10, 64 << 10).expect("room");
        run_all(&mut engine);
        let all: Vec<u64> = [write, trim]
            .iter()
            .flat_map(|numbers| numbers.first..numbers.first + numbers.count)
            .collect();
        let ids = |done: Vec<Completion>| done.into_iter().map(|one| one.id.0).collect::<Vec<_>>();
        let at_once = ids(engine.completions().expect("the disk works"));
        assert!(all.starts_with(&at_once), "round {round}: {at_once:?} of {all:?}");
        behind += u32::from(at_once.is_empty());
        let rest = ids(completions(&mut engine));
        assert_eq!([at_once, rest].concat(), all, "round {round}");
    }
    assert!(behind > 0, "the disk was never behind");
}

#[test]
fn a_full_disk_refuses_the_write_and_nothing_else() {
    let config = with_state(&[]);
    let snapshot = ssd_serve::state::new_drive(&config, &mut ssd_run::Unattended).expect("new");
    let slots = Slots::open(Path::new("/dev/full"), 4096).expect("it can be opened");
    let table = SlotTable::new(config.device.user_pages);
    let mut engine = Engine::new(&config, &snapshot, slots, table).expect("a drive");
    let refused = engine.write(1, 0, &[1; 8192], false);
    assert!(matches!(refused, Err(Refusal::NoSpace(_))), "{refused:?}");
    assert_eq!(engine.ssd().submitted(), 0, "half a write was submitted");
    let zeros = engine.write_zeroes(2, (0, 8192), false, false).expect("zeros need no room");
    finish(&mut engine, zeros);
    assert!(everything(&engine).iter().all(|&byte| byte == 0));
}

#[test]
fn a_log_holds_room_for_what_takes_its_place() {
    let blocks = |path: &Path| std::fs::metadata(path).expect("the log").blocks() * 512;
    let folder = Temporary::new();
    let path = folder.0.join("log");
    let generation = 3 << 20;
    let mut log = Log::create(&path, generation).expect("a log");
    log.append(5, &Request::new(Op::Flush, 0, 0), &[]).expect("room");
    let mut disk = Disk::start().expect("a disk");
    log.mark(8, &mut disk).expect("room");
    disk.settle().expect("room");
    assert!(!log.is_short());
    assert!(blocks(&path) >= generation, "{} bytes", blocks(&path));
    log::release(&path).expect("the room is given back");
    assert!(blocks(&path) <= 1 << 16, "{} bytes", blocks(&path));
    let mut records = 0;
    let count = &mut |_| {
        records += 1;
        Ok(())
    };
    log::read(&path, 8, count).expect("the log is whole");
    assert_eq!(records, 2);
    log.hold_again();
    assert!(blocks(&path) >= generation, "{} bytes", blocks(&path));
    // No disk has this much space.
    let mut log = Log::create(&path, 1 << 60).expect("a log");
    assert!(log.is_short() && !log.has_space());
    // There is space for marks.
    log.hold_again();
    assert!(log.is_short() && log.has_space());
    let write = Request::new(Op::Write, 0, 8);
    let refused = log.append(5, &write, &[0]).map_err(|error| error.kind());
    assert!(
        matches!(refused, Err(ErrorKind::FileTooLarge | ErrorKind::StorageFull)),
        "{refused:?}"
    );
}

#[test]
fn what_is_refused_takes_no_room_in_the_log() {
    let (folder, config) = (Temporary::new(), with_state(&[]));
    let (_state, mut engine, _, _) = open(&folder.0, &config).expect("a new drive");
    let written = engine.write(1, 0, &[1; 4096], false).expect("there is room");
    finish(&mut engine, written);
    // No disk has space for a generation like this.
    let log = Log::create(&folder.0.join("1.log"), 1 << 60).expect("a log");
    engine.log_to(log);
    let mut bytes = Vec::new();
    for i in 1..200u64 {
        let refused = engine.write(i * 10_000_000, 4096, &[2; 4096], false);
        assert!(matches!(refused, Err(Refusal::NoSpace(_))), "{refused:?}");
        assert!(completions(&mut engine).is_empty());
        bytes.push(engine.log_bytes());
    }
    assert_eq!(bytes[198], bytes[0], "refused requests fill the log");
    let read = engine.read(1, 0, 4096).expect("the log holds room for it");
    finish(&mut engine, read);
}

#[test]
fn a_drive_without_a_block_left_has_no_room_for_writes() {
    let (folder, config) = (Temporary::new(), config(&[("wear.endurance", "2")]));
    let snapshot = new_drive(&config, &mut ssd_run::Unattended).expect("a new drive");
    let mut engine = without_state(&config, &snapshot, &folder.0).expect("a drive");
    let mut refusal = None;
    for i in 0..40 * engine.bytes() / 4096 {
        let at = i * 7919 * 4096 % engine.bytes();
        if let Err(why) = engine.write(i * 1_000_000, at, &[1; 4096], false) {
            refusal = Some(why);
            break;
        }
    }
    let Some(Refusal::Stuck(why)) = refusal else { panic!("{refusal:?}") };
    assert!(why.contains("worn out"), "{why}");
    assert!(matches!(engine.failure(), Some(Refusal::Stuck(_))));
    let (ftl, worn) = (&engine.ssd().core.ftl, engine.worn());
    let spare = ftl.blocks.len() as u64 - engine.bytes().div_ceil(16 * 4096);
    let left = spare.saturating_sub(ftl.bad_blocks().worn_out);
    assert_eq!(worn.spare, 100 * left / spare);
    assert!(worn.spare < 50, "{worn:?}");
    let read = engine.read(0, 0, 4096);
    assert!(matches!(read, Err(Refusal::Stuck(_))), "{read:?}");
}

#[test]
fn zeros_that_are_forced_survive_a_kill_to_the_last_byte() {
    let (folder, config) = (Temporary::new(), with_state(&[("host.write_buffer_pages", "8")]));
    let (state, mut engine, _, _) = open(&folder.0, &config).expect("a new drive");
    let written = engine.write(1, 0, &[7; 3 * 4096], true).expect("room");
    finish(&mut engine, written);
    // A part of a page on either side of a whole one, which is trimmed.
    let zeroed = engine.write_zeroes(1, (100, 8192), true, true).expect("room");
    assert_eq!(zeroed.count, 3);
    finish(&mut engine, zeroed);
    drop((state, engine));
    let (_state, engine, _, _) = open(&folder.0, &config).expect("it mounts");
    let mut expected = vec![7; 3 * 4096];
    expected[100..8292].fill(0);
    assert!(everything(&engine)[..3 * 4096] == expected, "zeros are lost");
}

#[test]
fn an_arrival_may_complete_what_came_before() {
    let (folder, config) = (Temporary::new(), with_state(&[]));
    let (_state, mut engine, _, _) = open(&folder.0, &config).expect("a new drive");
    let written = engine.write(1, 0, &[1; 4096], false).expect("there is room");
    assert!(!engine.has_completions());
    // The drive has to run for this read to arrive.
    engine.read(1_000_000_000, 0, 4096).expect("the drive takes it");
    assert!(engine.has_completions());
    let done: Vec<u64> = completions(&mut engine).iter().map(|c| c.id.0).collect();
    assert_eq!(done, [written.first]);
    assert!(!engine.has_completions());
}

#[test]
fn a_hot_page_does_not_fill_the_disk() {
    let (folder, config) = (Temporary::new(), with_state(DRIVES[1]));
    let (_state, mut engine, _, _) = open(&folder.0, &config).expect("a new drive");
    for i in 0..20_000u64 {
        // The buffer never evicts the hottest pages.
        let written = engine.write(i * 10_000, i % 3 * 4096, &data(4096, i as u8), false);
        written.expect("there is room");
        engine.completions().expect("the log can be written");
    }
    let bytes = std::fs::metadata(folder.0.join("pages")).expect("the file of pages").len();
    assert!(bytes < 3000 * 4096, "{} slots for 3 pages", bytes / 4096);
}

#[test]
fn what_is_cut_off_at_the_end_of_a_log_was_never_there() {
    let folder = Temporary::new();
    let path = folder.0.join("log");
    let mut log = Log::create(&path, 0).expect("a log");
    let write = Request { flags: flags::FUA, ..Request::new(Op::Write, 7, 2) };
    log.append(5, &write, &[9, NONE]).expect("room");
    log.append(6, &Request::new(Op::Flush, 0, 0), &[]).expect("room");
    let mut disk = Disk::start().expect("a disk");
    log.mark(8, &mut disk).expect("room");
    drop((log, disk));
    let whole = std::fs::read(&path).expect("the log");
    assert_eq!(whole.len(), 24 + 8 + 24 + 24);
    let all = [
        Record::Request { at: 5, request: write, slots: vec![9, NONE] },
        Record::Request { at: 6, request: Request::new(Op::Flush, 0, 0), slots: vec![] },
        Record::Mark(8),
    ];
    let ends = [0, 32, 56, 80];
    for bytes in 0..=whole.len() {
        std::fs::write(&path, &whole[..bytes]).expect("a shorter log");
        let records = ends.iter().rposition(|&end| end <= bytes).expect("0 is one");
        let mut found = Vec::new();
        let take = &mut |record| {
            found.push(record);
            Ok(())
        };
        log::read(&path, 8, take).expect("a log that was cut off");
        assert_eq!(found, all[..records], "{bytes} bytes");
    }
    let mut damaged = whole;
    damaged[32 + 23] = 3;
    std::fs::write(&path, damaged).expect("a damaged log");
    let why = log::read(&path, 8, &mut |_| Ok(())).expect_err("a damaged log");
    assert!(why.contains("byte 32"), "{why}");
}
