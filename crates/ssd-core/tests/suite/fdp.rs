//! Reclaim unit handles: which data share a unit, what is counted of units, and that any device with handles completes
//! what it accepts.

use crate::cases::cases;
use crate::rig::parity::paper;
use crate::rig::storm::{Storm, Weather};
use crate::rig::{
    self,
    any_config::{RandomConfig, separated_by},
};
use crate::rig::{PAGE, alone, device, free_blocks, named, victim};
use proptest::prelude::*;
use ssd_core::config::{BufferPower, Config, DataMode, EraseUnit, PoolScope, PowerCut};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::reclaim::{ReclaimCounts, UnitCounts, UnitRecord, UnitStep};
use ssd_core::ftl::separation::{
    ALL, Classes, Ground, PageCopy, PageWrite, Separation, SeparationPolicy as _, fdp,
};
use ssd_core::host::device::{Device as _, DeviceError};
use ssd_core::host::request::{Op, Request};
use ssd_core::metrics::counters::Cause;
use ssd_core::plug::{PolicySpec, Value};
use ssd_core::rng::Stream;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{BlockId, Lpn, Nanos, Ppn};

const ISOLATIONS: [&str; 2] = ["initially", "persistently"];

fn handles(number: u64, isolation: &str) -> PolicySpec {
    named(ALL, "fdp")
        .with("handles", Value::Int(number))
        .with("isolation", Value::Word(isolation.to_string()))
}

/// A device of two planes that share a pool, with `number` handles.
fn with_handles(number: u64, isolation: &str) -> Config {
    let mut c = device([1, 1, 2], 64, 16, 2 * 64 * 16 * 3 / 4);
    c.alloc.pool = PoolScope::Chip;
    c.alloc.separation = handles(number, isolation);
    (c.gc.victim, c.gc.trigger) = (victim("greedy"), vec![free_blocks(2)]);
    c
}

proptest! {
    #![proptest_config(cases(300, 23))]
    #[test]
    fn any_handles_with_any_other_answer(
        RandomConfig(mut c) in separated_by(&[&fdp::INFO]), seed in any::<u64>(),
    ) {
        c.run.data = DataMode::Digest;
        let weather = Weather { requests: 400, depth: 32, seed, audit: 64, mix: [10, 8, 2], pause: 0 };
        let mut storm = Storm::new(&c, weather);
        if let Err(error) = storm.run() {
            storm.gave_up(&error);
        }
        let (flash, reclaimed) = (storm.ssd.measured().flash, storm.ssd.core.ftl.reclaimed().unwrap());
        let all = total(&reclaimed);
        let copies = flash.programs[Cause::Gc.at()] + flash.programs[Cause::Wear.at()];
        let remapped = flash.programs[Cause::Remap.at()];
        prop_assert_eq!(all.host_pages, flash.programs[Cause::Host.at()] + remapped);
        prop_assert_eq!((all.copied_pages, all.moved_pages), (copies, copies));
        // A unit that wear levelling has filled has data of several handles.
        if c.wear.endurance == 0 && c.wear.static_threshold == 0 {
            prop_assert_eq!(reclaimed.diverted_copies, 0, "a copy has left its handle");
        }
    }
}

fn total(reclaimed: &ReclaimCounts) -> UnitCounts {
    reclaimed.handles.iter().fold(reclaimed.shared, |sum, row| sum.plus(row))
}

#[test]
fn classes_are_those_of_a_literal_version() {
    for isolation in ISOLATIONS {
        let ground = Ground {
            pages: 50,
            host_pages: 50,
            data_pages: 0,
            pages_per_block: 8,
            most_classes: 6,
            pools: 1,
            blocks_per_pool: 64,
            seed: 0,
        };
        let mut policy = Separation::build(&handles(3, isolation), &ground);
        let apart = isolation == "persistently";
        let all = if apart { 6 } else { 4 };
        assert_eq!(policy.classes(), Classes { host: 3, all });
        let (mut rng, mut last) = (Stream::new(4, isolation), [0u32; 50]);
        for clock in 0..20_000 {
            let lpn = rng.below(50) as u32;
            // A page that is recomputed goes to the copies of the handle that wrote it last.
            let anew = 3 + if apart { last[lpn as usize] } else { 0 };
            assert_eq!(policy.of_rebuilt(Lpn(lpn)), Some(anew));
            if rng.chance(0.5) {
                let stream = rng.below(3) as u8;
                let page = PageWrite { lpn: Lpn(lpn), stream, pages: 1, replaces: None, clock };
                assert_eq!(policy.of_write(&page), u32::from(stream));
                last[lpn as usize] = u32::from(stream);
                continue;
            }
            let from = rng.below(u64::from(all) + 1) as u32;
            let class = (from < all).then_some(from);
            let expected = match class {
                _ if !apart => 3,
                Some(0 | 3) => 3,
                Some(1 | 4) => 4,
                Some(_) => 5,
                // A unit that wear levelling has filled.
                None => 3 + last[lpn as usize],
            };
            assert_eq!(policy.of_copy(&PageCopy { lpn: Lpn(lpn), class, clock }), expected);
        }
    }
}

/// The handles whose data the valid pages of each unit are, by the last writer of each page.
fn handles_in_units(ftl: &Ftl, last: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let mut units = Vec::new();
    for block in (0..ftl.blocks.len() as u32).map(BlockId) {
        if ftl.blocks.fill[block.at()].bound == 0 {
            continue;
        }
        let first = ftl.geo.first_page(block).0;
        let pages = (first..first + ftl.geo.pages_per_block).map(Ppn);
        let valid = pages.filter(|&page| ftl.owners.is_valid(page));
        let mut found: Vec<u8> = valid.map(|page| last[ftl.flash.lpn(page).at()]).collect();
        found.sort_unstable();
        found.dedup();
        units.push((ftl.blocks.origin(block).class, found));
    }
    units
}

/// Check that only units of class `mixed` hold data of several handles.
fn isolated(ftl: &Ftl, last: &[u8], mixed: Option<u32>) {
    for (class, found) in handles_in_units(ftl, last) {
        if Some(class) != mixed {
            assert!(found.len() <= 1, "a unit of class {class} holds handles {found:?}");
        }
    }
}

/// Random writes, each page by any of three handles.
fn writes(c: &Config, n: usize) -> Vec<(u32, u8)> {
    let mut rng = Stream::new(8, "writers");
    let user = u64::from(c.device.user_pages);
    let fill = (0..c.device.user_pages).map(|lpn| (lpn, (lpn % 3) as u8));
    let more = (0..n).map(|_| {
        let handle = rng.below(3);
        // Handle 0 overwrites few pages, handle 2 any.
        (rng.below([user / 8, user / 2, user][handle as usize]) as u32, handle as u8)
    });
    fill.chain(more).collect()
}

#[test]
fn units_hold_data_of_one_handle() {
    for isolation in ISOLATIONS {
        let mixed = (isolation == "initially").then_some(3);
        for unit in [EraseUnit::Block, EraseUnit::Superblock] {
            let mut c = with_handles(3, isolation);
            c.alloc.erase_unit = unit;
            if unit == EraseUnit::Superblock {
                c.device.user_pages = 2 * 64 * 16 * 2 / 3;
            }
            let mut f = Functional::new(&c, Ftl::new(&c));
            let mut last = vec![0; c.device.user_pages as usize];
            for (n, (lpn, handle)) in writes(&c, 20_000).into_iter().enumerate() {
                f.write(Lpn(lpn), handle).expect("the device has room");
                last[lpn as usize] = handle;
                if n % 500 == 0 {
                    isolated(&f.ftl, &last, mixed);
                }
            }
            isolated(&f.ftl, &last, mixed);
            f.ftl.audit().unwrap();
            let shared = |(class, found): &(u32, Vec<u8>)| *class == 3 && found.len() > 1;
            let mixes = handles_in_units(&f.ftl, &last).iter().any(shared);
            assert_eq!(mixes, mixed.is_some(), "{isolation}: copies of several handles in a unit");
        }
    }
}

#[test]
fn units_hold_data_of_one_handle_when_much_happens_at_once() {
    for isolation in ISOLATIONS {
        let mixed = (isolation == "initially").then_some(3);
        let c = with_handles(3, isolation);
        let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
        ssd.audit_every(200);
        let mut last = vec![0; c.device.user_pages as usize];
        for batch in writes(&c, 12_000).chunks(64) {
            for &(lpn, handle) in batch {
                let stream = Request { stream: handle, ..whole(Op::Write, lpn) };
                ssd.submit(ssd.now(), &stream, None).unwrap();
                last[lpn as usize] = handle;
            }
            while ssd.outstanding() > 0 || !ssd.at_rest() {
                let next = ssd.next_event().expect("operations end");
                ssd.run_until(next, &mut Vec::new()).unwrap();
            }
            isolated(&ssd.core.ftl, &last, mixed);
        }
        assert_eq!(ssd.core.ftl.diverted_copies(), 0);
        assert!(ssd.measured().flash.programs[Cause::Gc.at()] > 1000, "little is collected");
    }
}

fn whole(op: Op, lpn: u32) -> Request {
    rig::whole(op, lpn, 1)
}

#[test]
fn pages_of_the_host_are_counted_by_handle() {
    for isolation in ISOLATIONS {
        let c = with_handles(3, isolation);
        let mut f = Functional::new(&c, Ftl::new(&c));
        let mut expected = [0; 3];
        for (lpn, handle) in writes(&c, 20_000) {
            f.write(Lpn(lpn), handle).unwrap();
            expected[usize::from(handle)] += 1;
        }
        let reclaimed = f.ftl.reclaimed().unwrap();
        let host: Vec<u64> = reclaimed.handles.iter().map(|row| row.host_pages).collect();
        assert_eq!(host, expected);
        let all = total(&reclaimed);
        assert_eq!((all.copied_pages, all.moved_pages), (f.tally.gc_pages, f.tally.gc_pages));
        assert_eq!(all.collected, f.tally.victims);
        // A unit that is open or full has been opened and not collected.
        let units = f.ftl.blocks.fill.iter().filter(|fill| fill.bound > 0).count() as u64;
        assert_eq!(all.opened - all.collected, units);
        for row in &reclaimed.handles {
            let of_one = isolation == "persistently";
            assert_eq!(
                row.moved_pages > 0 && row.copied_pages == row.moved_pages,
                of_one,
                "{row:?}"
            );
        }
    }
}

#[test]
fn pages_that_capacitors_save_keep_their_handle() {
    for isolation in ISOLATIONS {
        let mut c = with_handles(3, isolation);
        (c.host.write_buffer_pages, c.host.write_buffer_threshold) = (32, 1.0);
        (c.power.cut, c.power.buffer) = (PowerCut::OnRequest, BufferPower::Protected);
        let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
        for (lpn, count, stream) in [(0, 5, 1), (5, 2, 0), (7, 3, 2)] {
            alone(&mut ssd, Request { stream, ..rig::whole(Op::Write, lpn, count) });
        }
        ssd.power_cut().expect("power is on");
        assert_eq!(ssd.mount(false).expect("it mounts").saved_pages, 10, "{isolation}");
        alone(&mut ssd, Request::new(Op::Flush, 0, 0));
        let reclaimed = ssd.core.ftl.reclaimed().unwrap();
        let host: Vec<u64> = reclaimed.handles.iter().map(|row| row.host_pages).collect();
        assert_eq!(host, [2, 5, 3], "{isolation}");
    }
}

#[test]
fn parity_has_the_handle_of_its_data_behind_a_buffer_too() {
    for (pages, isolation) in [0, 32].into_iter().flat_map(|n| ISOLATIONS.map(|i| (n, i))) {
        let mut c = paper([4, 1, 1], 4, 64);
        c.alloc.separation = handles(3, isolation);
        (c.host.write_buffer_pages, c.run.data) = (pages, DataMode::Digest);
        let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
        // Whole groups of three pages for two handles, then one page of each group.
        for (lpn, count, stream) in [(0, 3, 1), (3, 3, 2), (0, 1, 1), (4, 1, 2), (1, 1, 1)] {
            alone(&mut ssd, Request { stream, ..rig::whole(Op::Write, lpn, count) });
            alone(&mut ssd, Request::new(Op::Flush, 0, 0));
        }
        let reclaimed = ssd.core.ftl.reclaimed().unwrap();
        let written: Vec<u64> = reclaimed.handles.iter().map(|row| row.host_pages).collect();
        // Of handle 1 five pages in three updates, of handle 2 four in two.
        assert_eq!(written, [0, 5 + 3, 4 + 2], "buffer of {pages}, {isolation}: {reclaimed:?}");
        ssd.audit().unwrap();
    }
}

#[test]
fn functional_equals_timed() {
    for isolation in ISOLATIONS {
        let c = with_handles(3, isolation);
        let steps = writes(&c, 6000);
        let mut f = Functional::new(&c, Ftl::new(&c));
        let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
        ssd.audit_every(997);
        for &(lpn, handle) in &steps {
            f.write(Lpn(lpn), handle).unwrap();
            alone(&mut ssd, Request { stream: handle, ..whole(Op::Write, lpn) });
            ssd.run_until(Nanos(ssd.now().0 + 1_000_000_000), &mut Vec::new()).unwrap();
        }
        assert_eq!(f.ftl.reclaimed(), ssd.core.ftl.reclaimed(), "{isolation}");
        assert_eq!(f.ftl.blocks.erases, ssd.core.ftl.blocks.erases, "{isolation}");
        for lpn in (0..c.device.user_pages).map(Lpn) {
            assert_eq!(f.ftl.owners.committed(lpn), ssd.core.ftl.owners.committed(lpn));
        }
    }
}

#[test]
fn the_log_has_every_unit() {
    let mut c = with_handles(2, "persistently");
    c.metrics.op_log = true;
    let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
    for (lpn, handle) in writes(&c, 4000) {
        alone(&mut ssd, Request { stream: handle % 2, ..whole(Op::Write, lpn) });
    }
    let mut log = Vec::new();
    ssd.drain_units(&mut log);
    assert!(log.is_sorted_by_key(|unit: &UnitRecord| unit.at));
    let reclaimed = ssd.core.ftl.reclaimed().unwrap();
    for (handle, row) in (0..).zip(&reclaimed.handles) {
        let of = |step: UnitStep| {
            let units =
                log.iter().filter(move |unit| unit.handle == Some(handle) && unit.step == step);
            units.collect::<Vec<_>>()
        };
        assert_eq!(
            (of(UnitStep::Opened).len(), of(UnitStep::Collected).len()),
            (row.opened as usize, row.collected as usize)
        );
        let moved: u64 =
            of(UnitStep::Collected).iter().filter_map(|unit| unit.pages).map(u64::from).sum();
        assert!(moved >= row.moved_pages && row.moved_pages > 0, "{row:?}");
    }
}

#[test]
fn a_stream_without_a_handle_is_refused() {
    let c = with_handles(2, "initially");
    let mut f = Functional::new(&c, Ftl::new(&c));
    let Err(DeviceError::BadRequest { reason, .. }) = f.write(Lpn(3), 2) else {
        panic!("accepted")
    };
    assert_eq!(
        reason,
        "a write of stream 2, and alloc.separation = \"fdp\" has handles = 2, for streams 0 to 1"
    );
    let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
    let request = Request { stream: 7, ..whole(Op::Write, 0) };
    assert!(matches!(ssd.submit(Nanos(0), &request, None), Err(DeviceError::BadRequest { .. })));
    // Only writes name handles.
    for op in [Op::Read, Op::Trim] {
        ssd.submit(Nanos(0), &Request { op, ..request }, None).unwrap();
    }
    assert_eq!(request.sectors, PAGE as u32);
}

/// One tenant overwrites 15 sixteenths of the device in order, again and again; another overwrites the rest at random,
/// as often.
fn two_tenants(spec: PolicySpec, handle: u8) -> f64 {
    let mut c = device([1, 1, 1], 256, 16, 256 * 16 * 8 / 10);
    c.alloc.separation = spec;
    (c.gc.victim, c.gc.trigger) = (victim("greedy"), vec![free_blocks(2)]);
    let mut f = Functional::new(&c, Ftl::new(&c));
    let (mut rng, small) = (Stream::new(3, "tenants"), c.device.user_pages / 16);
    let circle = c.device.user_pages - small;
    let (mut host, mut copies) = (0, 0);
    for turn in 0..20 * circle {
        f.write(Lpn(turn % circle), 0).unwrap();
        f.write(Lpn(circle + rng.below(u64::from(small)) as u32), handle).unwrap();
        if turn == 10 * circle {
            (host, copies) = (f.tally.host_pages, f.tally.gc_pages);
        }
    }
    f.ftl.audit().unwrap();
    let (host, copies) = (f.tally.host_pages - host, f.tally.gc_pages - copies);
    (host + copies) as f64 / host as f64
}

#[test]
fn handles_of_two_tenants_bring_amplification_to_one() {
    let mixed = two_tenants(named(ALL, "none"), 0);
    assert!(mixed > 1.8, "mixed: {mixed}");
    for isolation in ISOLATIONS {
        let same = two_tenants(handles(2, isolation), 0);
        assert!(same > 1.8, "{isolation}, both with one handle: {same}");
        let apart = two_tenants(handles(2, isolation), 1);
        assert!(apart < 1.01, "{isolation}, apart: {apart}");
    }
}
