//! Copies without time equal those of the timed machine at queue depth 1: pages, owners, contents and counts are equal,
//! and a device continues from a snapshot as it would have.

use crate::rig::{PAGE, alone, device, free_blocks, used_space, victim, whole};
use ssd_core::config::{
    Amount, Blocking, BlockingScope, BusyUnit, Config, DataMode, EraseUnit, Frontiers, Granularity,
    PoolScope, RemapMode,
};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::gc::victim::ALL;
use ssd_core::ftl::plugs::Plugs;
use ssd_core::ftl::snapshot::{DeviceSnapshot, FormError};
use ssd_core::host::copy::{SourceRange, encode};
use ssd_core::host::device::Device;
use ssd_core::host::request::{Op, Request};
use ssd_core::metrics::counters::{Cause, RemapCounts};
use ssd_core::plug::Value;
use ssd_core::rng::Stream;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos};

/// A request with the source of a copy.
type Step = (Op, u32, u32);

fn steps(c: &Config, n: usize) -> Vec<Step> {
    let mut rng = Stream::new(c.run.seed, "steps");
    let user = u64::from(c.device.user_pages);
    let fill = (0..user as u32).map(|lpn| (Op::Write, lpn, 0));
    let random = (0..n).map(|_| {
        let among = if rng.chance(0.6) { user / 4 } else { user };
        let lpn = rng.below(among) as u32;
        let source = rng.below(user) as u32;
        match rng.below(10) {
            0 => (Op::Trim, lpn, 0),
            1..4 if source != lpn => (Op::Copy, lpn, source),
            _ => (Op::Write, lpn, 0),
        }
    });
    fill.chain(random).collect()
}

fn sources(from: u32) -> Vec<u8> {
    encode(&[SourceRange { sector: u64::from(from) * PAGE, sectors: PAGE }])
}

fn functional(f: &mut Functional, steps: &[Step]) -> RemapCounts {
    let mut counts = RemapCounts::default();
    for &(op, lpn, from) in steps {
        match op {
            Op::Write => f.write(Lpn(lpn), 0).expect("the device has room"),
            Op::Trim => _ = f.trim(Lpn(lpn)),
            _ => {
                let request = whole(op, lpn, 1);
                f.copy(0, &request, &sources(from), &mut counts).expect("a valid copy");
            }
        }
    }
    counts
}

/// Let collection end.
fn settle(ssd: &mut Ssd) {
    ssd.run_until(Nanos(ssd.now().0 + 1_000_000_000), &mut Vec::new()).expect("it ends");
    assert!(ssd.at_rest(), "collection has not ended");
}

fn timed(ssd: &mut Ssd, steps: &[Step]) {
    for &(op, lpn, from) in steps {
        if op == Op::Write {
            alone(ssd, whole(op, lpn, 1));
            continue;
        }
        settle(ssd);
        let data = (op == Op::Copy).then(|| sources(from));
        ssd.submit(ssd.now(), &whole(op, lpn, 1), data.as_deref()).expect("a valid request");
        let mut done = Vec::new();
        ssd.run_until(Nanos::NEVER, &mut done).expect("it completes");
        assert_eq!(done.len(), 1);
        settle(ssd);
    }
    settle(ssd);
}

/// Where every page is, its owners, and its contents.
fn state(ftl: &Ftl) -> (Vec<Option<u32>>, Vec<u64>, Vec<u32>, Vec<u64>) {
    let committed = |lpn| ftl.owners.committed(Lpn(lpn));
    let all = 0..ftl.geo.user_pages;
    let digests = all.clone().map(|lpn| committed(lpn).map_or(0, |page| ftl.flash.digest(page)));
    let pages = all.map(|lpn| committed(lpn).map(|page| page.0)).collect();
    (pages, ftl.pages_by_owners(), ftl.blocks.erases.clone(), digests.collect())
}

fn base(shape: [u32; 3], pool: PoolScope, frontiers: Frontiers, mode: RemapMode) -> Config {
    let mut c = device(shape, 24, 8, shape.iter().product::<u32>() * 24 * 8 * 7 / 10);
    (c.alloc.pool, c.alloc.frontiers) = (pool, frontiers);
    c.timing.busy_unit = BusyUnit::Plane;
    c.timing.sram_ns = 1;
    c.gc.reserve = 1;
    c.gc.trigger = vec![free_blocks(3)];
    c.gc.blocking = Blocking { scope: BlockingScope::Device, granularity: Granularity::Job };
    (c.remap.mode, c.run.data) = (mode, DataMode::Digest);
    c
}

fn compare(c: &Config, n: usize) {
    let steps = steps(c, n);
    let mut f = Functional::new(c, Ftl::new(c));
    let counts = functional(&mut f, &steps);
    let mut ssd = Ssd::new(c, Ftl::new(c), 0);
    ssd.audit_every(503);
    timed(&mut ssd, &steps);
    let name = format!("{} {:?} {:?} {:?}", c.gc.victim.policy, c.gc.amount, c.alloc, c.remap.mode);
    let m = ssd.measured();
    assert_eq!(counts, m.remap, "{name}");
    let tally = [f.tally.host_pages, f.tally.gc_pages, f.tally.remap_pages, f.tally.victims];
    let programs = |cause: Cause| m.flash.programs[cause.at()];
    let measured = [programs(Cause::Host), programs(Cause::Gc), programs(Cause::Remap), m.gc.calls];
    assert_eq!(tally, measured, "{name}");
    assert_eq!(m.flash.reads[Cause::Remap.at()], f.tally.remap_reads, "{name}");
    assert_eq!(state(&f.ftl), state(&ssd.core.ftl), "{name}");
    assert!(tally[3] > 20, "{name}: hardly any collection");
    f.ftl.audit().unwrap();
    ssd.audit().unwrap();
    let owners = f.ftl.pages_by_owners();
    assert_eq!(owners.len() > 2, c.remap.mode == RemapMode::Share, "{owners:?}");
}

#[test]
fn copies_without_time_are_those_with_time() {
    for mode in [RemapMode::Share, RemapMode::Copy] {
        for info in ALL {
            for amount in [Amount::One, Amount::UntilSatisfied, Amount::AllCandidates] {
                let frontiers =
                    if amount == Amount::One { Frontiers::Single } else { Frontiers::HostGc };
                let mut c = base([1, 1, 1], PoolScope::Plane, frontiers, mode);
                (c.gc.victim, c.gc.amount) = (victim(info.name), amount);
                if info.name == "invalidation-rate" {
                    c.gc.victim = victim(info.name).with("time", Value::Word("pages".to_string()));
                }
                compare(&c, 1200);
            }
        }
        let mut c = base([2, 1, 2], PoolScope::Device, Frontiers::HostGc, mode);
        c.gc.trigger = vec![used_space(0.85, "pool")];
        compare(&c, 2500);
        let mut c = base([1, 1, 3], PoolScope::Chip, Frontiers::HostGc, mode);
        c.alloc.erase_unit = EraseUnit::Superblock;
        compare(&c, 2500);
    }
}

#[test]
fn static_wear_levelling_moves_shared_pages() {
    let mut c = base([1, 1, 2], PoolScope::Chip, Frontiers::HostGc, RemapMode::Share);
    c.wear.static_threshold = 2;
    let mut f = Functional::new(&c, Ftl::new(&c));
    functional(&mut f, &steps(&c, 6000));
    assert!(f.tally.levelled > 5 && f.ftl.owners.extra_owners() > 10, "{:?}", f.tally);
    f.ftl.audit().unwrap();
}

fn encoded(snapshot: &DeviceSnapshot) -> Vec<u8> {
    let mut bytes = Vec::new();
    let Ok(_) = snapshot.encode(&mut |piece| {
        bytes.extend_from_slice(piece);
        Ok::<(), std::convert::Infallible>(())
    });
    bytes
}

fn decoded(c: Option<&Config>, bytes: &[u8]) -> Result<DeviceSnapshot, FormError> {
    let mut rest = bytes;
    let mut source = |buffer: &mut [u8]| {
        let count = buffer.len().min(rest.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        rest = &rest[count..];
        Ok(count)
    };
    DeviceSnapshot::decode(c, &mut source).map(|(snapshot, _)| snapshot)
}

#[test]
fn a_device_goes_on_from_a_snapshot_with_shared_pages() {
    for data in [DataMode::Digest, DataMode::Bytes] {
        let mut c = base([2, 1, 2], PoolScope::Device, Frontiers::HostGc, RemapMode::Share);
        c.run.data = data;
        let steps = steps(&c, 6000);
        let (first, rest) = steps.split_at(4000);
        let mut f = Functional::new(&c, Ftl::new(&c));
        functional(&mut f, first);
        let snapshot = f.ftl.snapshot(f.sequence()).expect("at rest");
        let bytes = encoded(&snapshot);
        assert_eq!(bytes[8], 2, "the version of snapshots with shared pages");
        let snapshot = decoded(Some(&c), &bytes).expect("it is sound");
        let mut restored = Functional::restore(&c, &snapshot, &Plugs::default()).expect("it fits");
        restored.ftl.audit().unwrap();
        assert_eq!(state(&f.ftl), state(&restored.ftl));
        assert!(f.ftl.owners.extra_owners() > 20);
        functional(&mut f, rest);
        functional(&mut restored, rest);
        assert_eq!(state(&f.ftl), state(&restored.ftl));
        // A device that does not remap has no use for it, and refuses it before reading the columns.
        let mut off = c.clone();
        off.remap.mode = RemapMode::Off;
        let says = "this device does not remap: set remap.mode = \"share\" or \"copy\"";
        let Err(FormError::Unfit(why)) = decoded(Some(&off), &bytes) else { panic!("refused") };
        assert!(why.contains(says), "{why}");
        let why = Ftl::restore(&off, &snapshot).err().expect("refused");
        assert!(why.contains(says), "{why}");
        // Version 1 has no owners.
        let mut old = bytes.clone();
        old[8] = 1;
        let why = decoded(None, &old).err().expect("refused").to_string();
        assert!(why.contains("it has column \"owners\", and version 1 has none"), "{why}");
    }
}

#[test]
fn a_snapshot_without_shared_pages_has_version_1() {
    let c = base([1, 1, 1], PoolScope::Plane, Frontiers::HostGc, RemapMode::Copy);
    let mut f = Functional::new(&c, Ftl::new(&c));
    functional(&mut f, &steps(&c, 500));
    let mut bytes = encoded(&f.ftl.snapshot(f.sequence()).expect("at rest"));
    assert_eq!(bytes[8], 1);
    assert!(decoded(Some(&c), &bytes).is_ok());
    bytes[8] = 2;
    let why = decoded(None, &bytes).err().expect("refused").to_string();
    assert!(why.contains("it has no column \"owners\", and version 2 has them"), "{why}");
}

/// The text of the refusal of a copy of `ranges` to `count` pages at `lpn`, in sectors.
fn refusal(mode: RemapMode, to: (u64, u32), ranges: &[(u64, u64)]) -> String {
    let c = base([1, 1, 1], PoolScope::Plane, Frontiers::HostGc, mode);
    let ranges: Vec<_> =
        ranges.iter().map(|&(sector, sectors)| SourceRange { sector, sectors }).collect();
    let (request, data) = (Request::new(Op::Copy, to.0, to.1), encode(&ranges));
    let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
    let timed = ssd.submit(Nanos::ZERO, &request, Some(&data)).expect_err("refused").to_string();
    assert_eq!(ssd.submitted(), 0, "a refused copy is no request");
    let mut counts = RemapCounts::default();
    let mut f = Functional::new(&c, Ftl::new(&c));
    let without = f.copy(0, &request, &data, &mut counts).expect_err("refused").to_string();
    assert_eq!(timed, without);
    assert_eq!(counts, ssd.measured().remap);
    timed
}

#[test]
fn bad_copies_are_refused_with_a_remedy() {
    let share = RemapMode::Share;
    let user =
        u64::from(base([1; 3], PoolScope::Plane, Frontiers::HostGc, share).device.user_pages);
    let end = user * PAGE;
    for (mode, to, ranges, says) in [
        (RemapMode::Off, (0, 4), vec![(8, 4)], "set remap.mode = \"share\" or \"copy\""),
        (share, (0, 4), vec![], "without source ranges: name at least one"),
        (share, (2, 4), vec![(8, 4)], "use multiples of 4 sectors"),
        (share, (0, 4), vec![(9, 4)], "use multiples of 4 sectors"),
        (share, (0, 8), vec![(8, 4), (16, 2)], "use multiples of 4 sectors"),
        (share, (0, 4), vec![(end, 4)], "at least one page of the device of 536 sectors"),
        (share, (0, 8), vec![(end - 4, 8)], "at least one page of the device of 536 sectors"),
        (share, (0, 4), vec![(8, 4), (16, 0)], "a source has at least one page"),
        (share, (end - 4, 8), vec![(0, 8)], "inside the device of 536 sectors"),
        (share, (0, 8), vec![(8, 4)], "the destination is as long as its sources together"),
        (share, (0, 8), vec![(16, 4), (4, 4)], "which overlap: copy to another place"),
        (share, (8, 8), vec![(12, 8)], "which overlap: copy to another place"),
    ] {
        let text = refusal(mode, to, &ranges);
        assert!(text.contains(says), "{to:?} {ranges:?}: {text}");
    }
}
