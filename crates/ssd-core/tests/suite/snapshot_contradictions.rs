//! Snapshots with a right checksum over wrong columns, as a faulty program might write them: refused with the
//! contradiction, or sound on every device that accepts them.

use crate::cases::cases;
use crate::rig;
use proptest::prelude::*;
use ssd_core::config::{Config, DataMode, EraseUnit, Frontiers, PoolScope};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::plugs::Plugs;
use ssd_core::ftl::snapshot::{DeviceSnapshot, FormError};
use ssd_core::host::device::Device;
use ssd_core::host::request::Op;
use ssd_core::plug::Value;
use ssd_core::rng::Stream;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::Lpn;

/// A file form taken apart.
#[derive(Clone)]
struct Parts {
    head: serde_json::Value,
    columns: Vec<(String, Vec<u8>)>,
}

impl Parts {
    fn of(snapshot: &DeviceSnapshot) -> Parts {
        let mut bytes = Vec::new();
        let Ok(_) = snapshot.encode(&mut |piece| {
            bytes.extend_from_slice(piece);
            Ok::<(), std::convert::Infallible>(())
        });
        let length = u32::from_le_bytes(bytes[12..16].try_into().expect("four")) as usize;
        let head: serde_json::Value =
            serde_json::from_slice(&bytes[16..16 + length]).expect("JSON");
        let mut rest = &bytes[16 + length..];
        let sizes = head["columns"].as_array().expect("a list");
        let columns = sizes.iter().map(|pair| {
            let (column, tail) = rest.split_at(pair[1].as_u64().expect("a size") as usize);
            rest = tail;
            (pair[0].as_str().expect("a name").to_string(), column.to_vec())
        });
        Parts { columns: columns.collect(), head }
    }

    fn column(&mut self, name: &str) -> &mut Vec<u8> {
        let column = self.columns.iter_mut().find(|(column, _)| column == name);
        &mut column.expect("it has such a column").1
    }

    fn word(&mut self, name: &str, at: usize) -> u32 {
        u32::from_le_bytes(self.column(name)[4 * at..][..4].try_into().expect("four"))
    }

    fn set(&mut self, name: &str, at: usize, value: &[u8]) {
        let first = at * value.len();
        self.column(name)[first..first + value.len()].copy_from_slice(value);
    }

    fn count(&mut self, name: &str, value: u64) {
        self.head["counters"][name] = value.into();
    }

    /// Blocks in a state, ascending.
    fn blocks(&mut self, state: u8) -> Vec<usize> {
        let states = self.column("state");
        (0..states.len()).filter(|&block| states[block] == state).collect()
    }

    /// The snapshot, as its file form is read.
    fn read(&self) -> Result<DeviceSnapshot, FormError> {
        let mut head = self.head.clone();
        let sizes: Vec<_> = self.columns.iter().map(|(name, bytes)| (name, bytes.len())).collect();
        head["columns"] = serde_json::to_value(sizes).expect("plain data");
        let json = serde_json::to_vec(&head).expect("plain data");
        let mut bytes = b"ssdsnap\n\x01\0\0\0".to_vec();
        bytes.extend((json.len() as u32).to_le_bytes());
        bytes.extend(json);
        self.columns.iter().for_each(|(_, column)| bytes.extend(column));
        let mut hash = twox_hash::XxHash3_64::new();
        std::hash::Hasher::write(&mut hash, &bytes);
        bytes.extend(std::hash::Hasher::finish(&hash).to_le_bytes());
        let mut rest = &bytes[..];
        DeviceSnapshot::decode(None, &mut |buffer| {
            let now = buffer.len().min(rest.len());
            let (head, tail) = rest.split_at(now);
            buffer[..now].copy_from_slice(head);
            rest = tail;
            Ok(now)
        })
        .map(|(snapshot, _)| snapshot)
    }
}

fn base() -> Config {
    let mut c = rig::device([2, 1, 2], 12, 8, 280);
    (c.alloc.pool, c.alloc.frontiers) = (PoolScope::Channel, Frontiers::HostGc);
    (c.precondition.fill, c.precondition.overwrite) = (0.9, 2.0);
    c
}

/// Devices that between them use every column.
fn devices() -> Vec<Config> {
    let plain = base();
    let mut worn = base();
    (worn.wear.dynamic, worn.wear.static_threshold) = (false, 2);
    (worn.wear.endurance, worn.wear.endurance_spread) = (24, 0.3);
    (worn.wear.factory_bad_blocks, worn.run.data) = (0.05, DataMode::Digest);
    worn.device.user_pages = 220;
    let mut supers = base();
    supers.alloc.erase_unit = EraseUnit::Superblock;
    supers.alloc.placement = rig::named(ssd_core::ftl::place::ALL, "round-robin");
    (supers.device.user_pages, supers.wear.static_threshold) = (220, 1);
    let mut bytes = base();
    (bytes.run.data, bytes.alloc.frontiers) = (DataMode::Bytes, Frontiers::Streams(2));
    bytes.device.user_pages = 220;
    let aged = [
        rig::victim("cost-age-times").with("age", Value::Word("invalidation".to_string())),
        rig::victim("second-chance"),
        rig::twins::victim("invalidation-rate"),
    ];
    let aged = aged.map(|victim| {
        let mut aged = base();
        aged.gc.victim = victim;
        aged
    });
    [plain, worn, supers, bytes].into_iter().chain(aged).collect()
}

/// The device of `config` at rest, preconditioned and written to.
fn at_rest(config: &Config) -> Parts {
    let mut device = Functional::new(config, Ftl::new(config));
    assert_eq!(device.precondition(config, &mut |_, _| true), Ok(true));
    let sequence = device.sequence();
    let mut ssd = Ssd::new(config, device.ftl, sequence);
    let written = (0..40).map(|lpn| rig::whole(Op::Write, lpn, 1));
    rig::closed(&mut ssd, 8, written).expect("there is room");
    ssd.run_until(ssd_core::units::Nanos(u64::MAX - 1), &mut Vec::new()).expect("it rests");
    Parts::of(&ssd.snapshot().expect("at rest"))
}

/// Both executors accept the snapshot or refuse it; what they accept is sound and continues. Returns whether they did.
fn taken(config: &Config, snapshot: &DeviceSnapshot) -> bool {
    let (ssd, f) =
        (Ssd::restore(config, snapshot), Functional::restore(config, snapshot, &Plugs::default()));
    assert_eq!(ssd.is_ok(), f.is_ok());
    let (Ok(mut ssd), Ok(mut f)) = (ssd, f) else { return false };
    ssd.audit().expect("what is let in is sound");
    let (mut rng, user) = (Stream::new(7, "go on"), u64::from(config.device.user_pages));
    let lpns: Vec<u32> = (0..150).map(|_| rng.below(user) as u32).collect();
    for &lpn in &lpns {
        if f.write(Lpn(lpn), 0).is_err() {
            break;
        }
    }
    f.ftl.audit().expect("it stays sound");
    let requests = lpns.iter().map(|&lpn| rig::whole(Op::Write, lpn, 1));
    let _ = rig::closed(&mut ssd, 8, requests);
    ssd.audit().expect("it stays sound");
    true
}

#[test]
fn each_contradiction_is_named() {
    let config = &devices()[1];
    let parts = at_rest(config);
    let mut p = parts.clone();
    let (free, open, sealed, bad) = (p.blocks(0), p.blocks(1), p.blocks(2), p.blocks(5));
    assert!(free.len() > 2 && open.len() > 2 && sealed.len() > 2 && bad.len() > 1);
    let valid = p.column("valid").clone();
    let first = (0..valid.len() * 8).find(|page| valid[page / 8] >> (page % 8) & 1 == 1);
    let first = first.expect("a valid page");
    type Edit<'a> = Box<dyn Fn(&mut Parts) + 'a>;
    let edits: Vec<(&str, Edit<'_>)> = vec![
        ("opened of pool 0 is 2", Box::new(|p| p.set("opened", 0, &[2]))),
        ("level_due of pool 1 is 9", Box::new(|p| p.set("level_due", 1, &[9]))),
        ("host pages were bound", Box::new(|p| p.count("sequence", 1))),
        ("are no counters of a run", Box::new(|p| p.count("seals", 1 << 62))),
        ("are no counters of a run", Box::new(|p| p.count("releases", u32::MAX.into()))),
        ("erases released", Box::new(|p| p.count("releases", 3))),
        ("never fewer than 1000", Box::new(|p| p.count("lowest_free_blocks", 1000))),
        ("is worn out, and blocks survive 17 to 31", Box::new(|p| wear_out(p, free[0], 2))),
        ("is not worn out, and no block survives more", Box::new(|p| wear(p, sealed[0], 31))),
        ("are bad from the factory", Box::new(|p| p.set("state", bad[0], &[0]))),
        (
            "among the erased ones",
            Box::new(|p| p.set("free_order", sealed[0], &1u32.to_le_bytes())),
        ),
        (
            "among the erased ones",
            Box::new(|p| p.set("free_order", free[0], &9999u32.to_le_bytes())),
        ),
        (
            "sealed after the last",
            Box::new(|p| p.set("seal_order", sealed[0], &9999u64.to_le_bytes())),
        ),
        (
            "two blocks were sealed at place",
            Box::new(|p| {
                let order: [u8; 8] =
                    p.column("seal_order")[8 * sealed[0]..][..8].try_into().unwrap();
                p.set("seal_order", sealed[1], &order);
            }),
        ),
        ("is not where its block ends", Box::new(share_a_frontier)),
        (
            "hold an LPN of the device",
            Box::new(|p| p.set("lpn", sealed[0] * 8, &220u32.to_le_bytes())),
        ),
        ("holds admission", Box::new(|p| p.set("sequence", 0, &(1u64 << 40).to_le_bytes()))),
        ("has no digest", Box::new(|p| p.set("digest", first, &[0; 8]))),
        ("its header rules out", Box::new(|p| p.column("contents").extend([0; 2052]))),
        (
            "digests need admission numbers",
            Box::new(|p| {
                p.head["keeps"]["sequence"] = false.into();
                p.column("sequence").clear();
            }),
        ),
        ("has lost no block and has room for 0 pages", Box::new(fill_to_the_brim)),
    ];
    assert!(taken(config, &parts.read().expect("sound")));
    for (expected, edit) in edits {
        let mut p = parts.clone();
        edit(&mut p);
        let refused = Ftl::restore(config, &p.read().expect("its form is right")).err();
        let refused = refused.unwrap_or_else(|| panic!("{expected:?} is let in"));
        assert!(refused.starts_with("the snapshot contradicts itself: "), "{refused}");
        assert!(refused.contains(expected), "{expected:?}: {refused}");
    }
}

#[test]
fn a_column_comes_once() {
    let mut p = at_rest(&base());
    let twice = p.columns[3].clone();
    p.columns.push(twice);
    let damaged = FormError::Damaged("it has two columns \"state\"".to_string());
    assert_eq!(p.read().err(), Some(damaged));
}

/// Record in columns and counters that block `block` has been erased `erases` times.
fn wear(p: &mut Parts, block: usize, erases: u32) {
    let before = p.word("erases", block);
    p.set("erases", block, &erases.to_le_bytes());
    let releases = p.head["counters"]["releases"].as_u64().expect("a counter");
    p.count("releases", releases + u64::from(erases) - u64::from(before));
}

/// Record that its last erase wore it out.
fn wear_out(p: &mut Parts, block: usize, erases: u32) {
    wear(p, block, erases);
    p.set("state", block, &[5]);
    p.set("free_order", block, &[0; 4]);
    let releases = p.head["counters"]["releases"].as_u64().expect("a counter");
    p.count("releases", releases - 1);
    p.count("lowest_free_blocks", 0);
}

/// Give two frontiers of a plane the same open block, and no frontier another open block.
fn share_a_frontier(p: &mut Parts) {
    let words = p.column("frontiers").len() / 4;
    let frontiers: Vec<[u32; 2]> = (0..words / 2)
        .map(|at| [p.word("frontiers", 2 * at), p.word("frontiers", 2 * at + 1)])
        .collect();
    let both = |at: &usize| at % 3 < 2 && frontiers[*at][1] > 0 && frontiers[at + 1][1] > 0;
    let at = (0..frontiers.len() - 1).find(both).expect("a plane with two open blocks");
    p.set("frontiers", 2 * at, &frontiers[at + 1][0].to_le_bytes());
    p.set("frontiers", 2 * at + 1, &frontiers[at + 1][1].to_le_bytes());
}

/// Leave no block of pool 0 erased or open.
fn fill_to_the_brim(p: &mut Parts) {
    p.count("lowest_free_blocks", 0);
    for block in 0..24 {
        if p.column("state")[block] > 1 {
            continue;
        }
        p.set("state", block, &[2]);
        p.set("free_order", block, &[0; 4]);
        p.set("programmed", block, &8u16.to_le_bytes());
        let seals = p.head["counters"]["seals"].as_u64().expect("a counter");
        p.set("seal_order", block, &seals.to_le_bytes());
        p.count("seals", seals + 1);
        for page in 8 * block..8 * block + 8 {
            if p.word("lpn", page) == u32::MAX {
                p.set("lpn", page, &[0; 4]);
            }
        }
    }
    for at in 0..6 {
        p.set("frontiers", 2 * at + 1, &[0; 4]);
    }
}

#[test]
fn contents_are_of_programmed_pages_in_order() {
    let config = &devices()[3];
    let parts = at_rest(config);
    let mut p = parts.clone();
    let (page, all) = (4 + 2048, p.column("contents").len());
    assert!(all > 2 * page, "{all} bytes");
    let erased = p.blocks(0)[0] as u32 * 8;
    let last: Vec<u8> = p.column("contents")[..page].to_vec();
    p.column("contents").extend(last);
    let mut other = parts.clone();
    other.set("contents", 0, &erased.to_le_bytes());
    for p in [p, other] {
        let refused = Ftl::restore(config, &p.read().expect("its form is right")).err();
        assert!(refused.expect("refused").contains("not programmed or out of order"));
    }
}

#[test]
fn turns_are_at_planes_and_of_frontiers_with_superblocks() {
    let [plain, _, supers] = &devices()[..3] else { panic!("devices of three kinds") };
    let parts = at_rest(supers);
    let taken_turn = parts.clone().word("host_turns", 0);
    assert!((1..4).contains(&taken_turn), "{taken_turn}");
    let mut beyond = parts.clone();
    beyond.set("host_turns", 0, &4u32.to_le_bytes());
    let mut more = parts.clone();
    more.column("host_turns").extend([0; 4]);
    let mut none = at_rest(plain);
    none.columns.push(("host_turns".to_string(), vec![0; 4]));
    for (config, p, expected) in [
        (supers, beyond, "host_turns names plane 4 of a device with 4"),
        (supers, more, "host_turns has 2 entries, expected 1"),
        (plain, none, "host_turns has 1 entries, expected 0"),
    ] {
        let refused = Ftl::restore(config, &p.read().expect("its form is right")).err();
        let refused = refused.unwrap_or_else(|| panic!("{expected:?} is let in"));
        assert!(refused.contains(expected), "{expected:?}: {refused}");
    }
}

/// A device that has been levelled continues without wear levelling, and nothing is due there.
#[test]
fn a_levelled_device_goes_on_without_levelling() {
    let mut levels = base();
    levels.wear.static_threshold = 1;
    let mut parts = at_rest(&levels);
    parts.column("level_due").fill(1);
    let snapshot = parts.read().expect("sound");
    assert!(taken(&levels, &snapshot));
    assert!(taken(&base(), &snapshot));
    let again = Ftl::restore(&base(), &snapshot).expect("the same device").snapshot(10_000);
    assert_eq!(Parts::of(&again.expect("at rest")).column("level_due"), &[0, 0]);
}

/// Change `edits` bytes of the columns; both executors and both ways to level wear must survive it.
fn survives(config: &Config, parts: &Parts, edits: &[(usize, u8)]) {
    let mut p = parts.clone();
    for &(mut at, value) in edits {
        let column = p.columns.iter_mut().find_map(|(_, bytes)| {
            let found = at < bytes.len();
            at -= if found { 0 } else { bytes.len() };
            found.then_some(bytes)
        });
        column.expect("within the columns")[at] = value;
    }
    let snapshot = p.read().expect("its form is right");
    let mut other = config.clone();
    other.wear.static_threshold = if config.wear.static_threshold == 0 { 2 } else { 0 };
    assert_eq!(taken(config, &snapshot), taken(&other, &snapshot));
}

fn bytes_of(parts: &Parts) -> usize {
    parts.columns.iter().map(|(_, column)| column.len()).sum()
}

proptest! {
    #![proptest_config(cases(400, 42))]

    #[test]
    fn columns_that_contradict_each_other_are_refused_or_sound(
        device in 0usize..7,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let config = &devices()[device];
        let parts = at_rest(config);
        let bytes = bytes_of(&parts);
        let edits: Vec<_> = edits.iter().map(|(at, value)| (at.index(bytes), *value)).collect();
        survives(config, &parts, &edits);
    }
}

/// Give every `step`th byte of the columns other values.
fn every_byte(step: usize) {
    for config in &devices() {
        let mut parts = at_rest(config);
        // Contents may be anything, except for the page numbers before them.
        let contents = parts.column("contents");
        contents.truncate(contents.len().min(4 + 2048));
        let bytes: Vec<u8> = parts.columns.iter().flat_map(|(_, column)| column.clone()).collect();
        for at in (0..bytes.len()).step_by(step) {
            for value in [0, 1, bytes[at] ^ 0x80, bytes[at].wrapping_add(1), 0xff] {
                survives(config, &parts, &[(at, value)]);
            }
        }
    }
}

#[test]
fn any_byte_is_refused_or_sound() {
    every_byte(97);
}

#[test]
#[ignore = "long"]
fn every_byte_is_refused_or_sound() {
    every_byte(1);
}
