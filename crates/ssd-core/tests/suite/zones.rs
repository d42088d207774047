//! Zones on the flash: a superblock has pages of one zone, nothing is copied, and the host that stores logical pages in
//! zones equals a literal one.

use crate::rig::{device, named, whole};
use ssd_core::config::{Config, EraseUnit, Interface, PoolScope};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::place;
use ssd_core::ftl::plugs::Plugs;
use ssd_core::functional_run::FunctionalRun;
use ssd_core::host::device::{Device as _, DeviceError};
use ssd_core::host::request::{Op, Request, TimedRequest};
use ssd_core::host::source::{Source, SourceError};
use ssd_core::host::zones::{ZoneFailure, ZoneState, ZoneStatus};
use ssd_core::metrics::counters::{Cause, ZoneCounts};
use ssd_core::rng::Stream;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::ssd::Ssd;
use ssd_core::sim::zones::{ZoneAction, ZoneStore};
use ssd_core::units::{Lpn, Nanos};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Two channels of two chips with two planes; a zone has a superblock of four pages a plane in each pool.
fn zoned(pool: PoolScope, units: u32) -> Config {
    let mut c = device([2, 2, 2], 16, 4, 0);
    c.device.user_pages = 200;
    (c.alloc.pool, c.alloc.erase_unit) = (pool, EraseUnit::Superblock);
    c.alloc.placement = named(place::ALL, "round-robin");
    c.host.interface = Interface::Zns;
    (c.zns.units, c.zns.open, c.zns.active) = (units, 3, 4);
    c.gc.reserve = 1;
    c
}

fn ssd(c: &Config) -> Ssd {
    let mut ssd = Ssd::new(c, Ftl::new(c), 0);
    ssd.measure(0, false);
    ssd.audit_every(1);
    ssd
}

fn settle(ssd: &mut Ssd) {
    let mut done = Vec::new();
    while ssd.next_event().is_some() {
        ssd.run_until(Nanos::NEVER, &mut done).unwrap();
    }
    ssd.audit().unwrap();
}

fn append(ssd: &mut Ssd, zone: u32, pages: u32) -> Result<u32, ZoneStatus> {
    ssd.zone_append(ssd.now(), zone, pages).unwrap().map(|(_, first)| first.0)
}

fn manage(ssd: &mut Ssd, zone: u32, action: ZoneAction) -> Result<(), ZoneStatus> {
    ssd.zone_manage(ssd.now(), zone, action).unwrap().map(drop)
}

/// Flash programs of the host and of anything else, and erases of superblocks.
fn counts(ssd: &Ssd) -> (u64, u64, u64) {
    let flash = &ssd.measured().flash;
    let host = flash.programs[Cause::Host.at()];
    let all: u64 = flash.programs.iter().sum();
    (host, all - host, ssd.erases().iter().map(|&n| u64::from(n)).sum())
}

#[test]
fn a_zone_is_a_superblock_of_each_pool_and_a_reset_erases_them() {
    for (pool, pools, zones) in [(PoolScope::Device, 1, 14), (PoolScope::Chip, 4, 14)] {
        let c = zoned(pool, 1);
        assert_eq!((c.zones(), c.zone_pages()), (zones, 32));
        let mut ssd = ssd(&c);
        let capacity = c.zones() as u32 * 32;
        assert_eq!(ssd.core.ftl.geo.user_pages, capacity);
        for round in 0..3u64 {
            for zone in 0..c.zones() as u32 {
                assert_eq!(append(&mut ssd, zone, 32), Ok(zone * 32));
                settle(&mut ssd);
                assert_eq!(ssd.zones().unwrap().zones()[zone as usize].state, ZoneState::Full);
            }
            assert_eq!(counts(&ssd), ((round + 1) * u64::from(capacity), 0, round * zones * pools));
            for zone in 0..c.zones() as u32 {
                assert_eq!(manage(&mut ssd, zone, ZoneAction::Reset), Ok(()));
            }
            settle(&mut ssd);
            assert_eq!(counts(&ssd).2, (round + 1) * zones * pools);
            assert_eq!(ssd.core.ftl.space.used(), 0, "every superblock is erased");
        }
        assert_eq!(ssd.measured().gc.pages.moved, 0);
    }
}

#[test]
fn a_finished_zone_leaves_the_rest_of_its_superblocks_erased() {
    let mut ssd = ssd(&zoned(PoolScope::Device, 2));
    append(&mut ssd, 0, 35).unwrap();
    append(&mut ssd, 1, 3).unwrap();
    settle(&mut ssd);
    assert_eq!(manage(&mut ssd, 0, ZoneAction::Finish), Ok(()));
    settle(&mut ssd);
    // Of the second superblock 3 pages are written, and 29 are not until it is erased.
    assert_eq!(counts(&ssd), (38, 0, 0));
    assert_eq!(ssd.core.ftl.space.used(), 64 + 3);
    assert_eq!(append(&mut ssd, 0, 1), Err(ZoneStatus::ZoneIsFull));
    // The reset of another zone leaves the few pages where they are.
    manage(&mut ssd, 1, ZoneAction::Reset).unwrap();
    settle(&mut ssd);
    assert_eq!((counts(&ssd), ssd.core.ftl.owners.valid_pages()), ((38, 0, 1), 35));
    manage(&mut ssd, 0, ZoneAction::Reset).unwrap();
    settle(&mut ssd);
    assert_eq!((counts(&ssd).2, ssd.core.ftl.space.used()), (3, 0));
    // A read-only zone keeps its data and its superblock.
    append(&mut ssd, 2, 5).unwrap();
    settle(&mut ssd);
    manage(&mut ssd, 2, ZoneAction::Fail(ZoneFailure::ReadOnly)).unwrap();
    assert_eq!(manage(&mut ssd, 2, ZoneAction::Reset), Err(ZoneStatus::InvalidZoneStateTransition));
    settle(&mut ssd);
    assert_eq!(ssd.core.ftl.owners.valid_pages(), 5);
}

#[test]
fn requests_get_the_status_of_the_zone() {
    let mut ssd = ssd(&zoned(PoolScope::Device, 1));
    let status = |error: DeviceError| match error {
        DeviceError::Zone { status, .. } => status,
        other => panic!("{other}"),
    };
    let mut submit = |r: Request| {
        let at = ssd.now();
        let submitted = ssd.submit(at, &r, None).map(drop).map_err(status);
        settle(&mut ssd);
        submitted
    };
    assert_eq!(submit(whole(Op::Write, 1, 1)), Err(ZoneStatus::ZoneInvalidWrite));
    assert_eq!(submit(whole(Op::Write, 0, 30)), Ok(()));
    assert_eq!(submit(whole(Op::Write, 30, 3)), Err(ZoneStatus::ZoneBoundaryError));
    // Pages behind the write pointer, and of other zones, read as unwritten.
    assert_eq!(submit(whole(Op::Read, 20, 20)), Ok(()));
    assert_eq!(ssd.measured().host.unmapped_pages_read, 10);
    assert_eq!(ssd.measured().flash.reads[Cause::Host.at()], 10);
    for refused in [whole(Op::Trim, 0, 32), Request::new(Op::Write, 30 * 4, 2)] {
        let at = ssd.now();
        let error = ssd.submit(at, &refused, None).unwrap_err();
        assert!(matches!(error, DeviceError::BadRequest { .. }), "{error}");
    }
    manage(&mut ssd, 0, ZoneAction::Fail(ZoneFailure::Offline)).unwrap();
    let at = ssd.now();
    let error = ssd.submit(at, &whole(Op::Read, 31, 2), None).unwrap_err();
    assert_eq!(error.to_string(), "request 2: status 0x1bb, zone is offline");
    assert_eq!(append(&mut ssd, 14, 1), Err(ZoneStatus::LbaOutOfRange));
    assert_eq!(append(&mut ssd, 3, 0), Err(ZoneStatus::InvalidField));
}

#[test]
fn no_command_is_lost_and_nothing_is_copied_in_random_storms() {
    for seed in 0..30u64 {
        let mut random = Stream::new(seed, "storm");
        let mut draw = |n: u32| random.below(u64::from(n)) as u32;
        let pool = [PoolScope::Device, PoolScope::Chip, PoolScope::Channel][draw(3) as usize];
        let c = zoned(pool, 1 + draw(3));
        let mut ssd = ssd(&c);
        let (zones, mut done, mut pages, mut requests) = (c.zones() as u32, Vec::new(), 0u64, 0);
        for _ in 0..300 {
            let zone = draw(zones);
            match draw(12) {
                0 => drop(manage(&mut ssd, zone, ZoneAction::Open)),
                1 => drop(manage(&mut ssd, zone, ZoneAction::Close)),
                2 => drop(manage(&mut ssd, zone, ZoneAction::Finish)),
                3 | 4 => requests += u64::from(manage(&mut ssd, zone, ZoneAction::Reset).is_ok()),
                5 | 6 => {
                    let (first, at) = (draw(zones * c.zone_pages() as u32 - 9), ssd.now());
                    ssd.submit(at, &whole(Op::Read, first, 1 + draw(9)), None).unwrap();
                    requests += 1;
                }
                7 => drop(ssd.run_until(Nanos(ssd.now().0 + 3_000_000), &mut done).unwrap()),
                _ => {
                    let count = 1 + draw(24);
                    if append(&mut ssd, zone, count).is_ok() {
                        (pages, requests) = (pages + u64::from(count), requests + 1);
                    }
                }
            }
        }
        while ssd.next_event().is_some() {
            ssd.run_until(Nanos::NEVER, &mut done).unwrap();
        }
        ssd.audit().unwrap();
        assert_eq!(done.len() as u64, requests, "seed {seed}");
        let (host, other, _) = counts(&ssd);
        assert_eq!((host, other), (pages, 0), "seed {seed}");
        assert_eq!(ssd.measured().gc.pages.moved, 0, "seed {seed}");
    }
}

/// A host with zones read literally: the live pages of a zone are counted anew for every choice.
struct Literal {
    zones: Vec<Vec<u32>>,
    place: BTreeMap<u32, (usize, usize)>,
    open: Vec<Option<usize>>,
    empty: Vec<usize>,
    size: usize,
    counts: ZoneCounts,
}

impl Literal {
    fn new(c: &Config) -> Literal {
        let zones = c.zones() as usize;
        Literal {
            zones: vec![Vec::new(); zones],
            place: BTreeMap::new(),
            open: vec![None; c.zone_streams() as usize + 1],
            empty: (0..zones).collect(),
            size: c.zone_pages() as usize,
            counts: ZoneCounts::default(),
        }
    }

    fn live(&self, zone: usize) -> Vec<u32> {
        let pages = self.zones[zone].iter().enumerate();
        pages.filter(|&(i, lpn)| self.place.get(lpn) == Some(&(zone, i))).map(|(_, &l)| l).collect()
    }

    fn put(&mut self, slot: usize, lpn: u32) {
        let copies = slot + 1 == self.open.len();
        let full = |zone: Option<usize>| zone.is_none_or(|z| self.zones[z].len() == self.size);
        if full(self.open[slot]) {
            while !copies && self.empty.len() < 2 {
                self.collect();
            }
            self.open[slot] = Some(self.empty.remove(0));
        }
        let zone = self.open[slot].unwrap();
        self.place.insert(lpn, (zone, self.zones[zone].len()));
        self.zones[zone].push(lpn);
    }

    fn collect(&mut self) {
        let full = (0..self.zones.len()).filter(|&z| self.zones[z].len() == self.size);
        let victim = full.min_by_key(|&z| self.live(z).len()).unwrap();
        for lpn in self.live(victim) {
            self.counts.copied_pages += 1;
            self.put(self.open.len() - 1, lpn);
        }
        self.open.iter_mut().filter(|open| **open == Some(victim)).for_each(|open| *open = None);
        self.zones[victim].clear();
        self.empty.push(victim);
        self.counts.resets += 1;
    }
}

#[test]
fn a_host_with_zones_equals_a_literal_one() {
    for seed in 0..20u64 {
        let mut random = Stream::new(seed, "host");
        let mut draw = |n: u32| random.below(u64::from(n)) as u32;
        let mut c = zoned([PoolScope::Device, PoolScope::Chip][draw(2) as usize], 1 + draw(2));
        c.device.user_pages = 150 + draw(100);
        (c.zns.open, c.zns.active) = (2 + draw(3), 6);
        let mut f = Functional::new(&c, Ftl::new(&c));
        let mut literal = Literal::new(&c);
        for _ in 0..3000 {
            let (lpn, stream) = (draw(c.device.user_pages), draw(5) as u8);
            if draw(20) == 0 {
                assert_eq!(f.trim(Lpn(lpn)), literal.place.remove(&lpn).is_some());
                continue;
            }
            f.write(Lpn(lpn), stream).unwrap();
            literal.counts.host_pages += 1;
            literal.put(usize::from(stream) % (literal.open.len() - 1), lpn);
        }
        assert_eq!(f.zone_counts(), Some(literal.counts), "seed {seed}");
        assert!(literal.counts.copied_pages > 0, "seed {seed}");
        f.audit_zones().unwrap();
        f.ftl.audit().unwrap();
        assert_eq!((f.tally.gc_pages, f.tally.by_reserve), (0, 0), "seed {seed}");
        let written = literal.counts.host_pages + literal.counts.copied_pages;
        assert_eq!(f.tally.host_pages, written, "seed {seed}");
    }
}

struct Writes(u32, u32, Stream);

impl Source for Writes {
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        let Writes(left, pages, random) = self;
        *left = match left.checked_sub(1) {
            Some(left) => left,
            None => return Ok(None),
        };
        let lpn = random.below(u64::from(*pages)) as u32;
        Ok(Some(TimedRequest { at: Nanos::ZERO, request: whole(Op::Write, lpn, 1) }))
    }
}

#[test]
fn a_functional_run_reports_the_drive_and_the_host() {
    let mut c = zoned(PoolScope::Device, 1);
    c.device.user_pages = 300;
    (c.precondition.fill, c.precondition.overwrite) = (1.0, 1.0);
    let mut f = Functional::new(&c, Ftl::new(&c));
    assert_eq!(f.precondition(&c, &mut |_, _| true), Ok(true));
    assert_eq!(f.zone_counts().unwrap().host_pages, 600);
    let mut run = FunctionalRun::new(&c, f);
    let mut source = Writes(2000, 300, Stream::new(1, "writes"));
    run.drive(0, &mut source, &mut |_| ControlFlow::Continue(())).unwrap();
    let result = run.finish();
    let zones = result.measured.zones;
    assert_eq!(zones.host_pages, 2000);
    assert!(zones.copied_pages > 0 && zones.resets > 50, "{zones:?}");
    let m = &result.measured;
    assert_eq!(m.host.pages_written, zones.host_pages + zones.copied_pages);
    assert_eq!(m.flash.programs.iter().sum::<u64>(), m.host.pages_written);
    assert_eq!(m.flash.erases[Cause::Gc.at()], zones.resets * 8, "8 planes");
}

/// The host of `c` with all pages written.
fn store(c: &Config) -> ZoneStore {
    let mut f = Functional::new(c, Ftl::new(c));
    for lpn in 0..c.device.user_pages {
        f.write(Lpn(lpn), 0).unwrap();
    }
    let mut store = ZoneStore::new(c, f.begin_run(c), &Plugs::default(), 0);
    store.ssd.audit_every(1);
    store
}

#[test]
fn a_host_in_time_equals_one_without_at_depth_1() {
    for seed in 0..8u64 {
        let mut random = Stream::new(seed, "depth 1");
        let mut c = zoned([PoolScope::Device, PoolScope::Chip][(seed % 2) as usize], 1);
        c.device.user_pages = 250 + random.below(60) as u32;
        // Several copies at a time may end in another order.
        c.gc.window = 1;
        let mut store = store(&c);
        let mut f = Functional::new(&c, Ftl::new(&c));
        (0..c.device.user_pages).for_each(|lpn| f.write(Lpn(lpn), 0).unwrap());
        let before = f.zone_counts().unwrap();
        for _ in 0..1500 {
            let lpn = random.below(u64::from(c.device.user_pages)) as u32;
            let (op, stream) = ([Op::Write, Op::Trim][usize::from(random.chance(0.05))], 0);
            let request = Request { stream, ..whole(op, lpn, 1) };
            crate::rig::alone(&mut store, request);
            match op {
                Op::Write => f.write(Lpn(lpn), stream).unwrap(),
                _ => drop(f.trim(Lpn(lpn))),
            }
        }
        store.audit().unwrap();
        let counts = store.ssd.measured().zones;
        let after = f.zone_counts().unwrap();
        let since = ZoneCounts {
            host_pages: after.host_pages - before.host_pages,
            copied_pages: after.copied_pages - before.copied_pages,
            resets: after.resets - before.resets,
        };
        assert_eq!(counts, since, "seed {seed}");
        assert!(counts.copied_pages > 100, "{counts:?}");
    }
}

#[test]
fn a_host_in_time_loses_no_request_and_the_drive_copies_nothing() {
    for seed in 0..12u64 {
        let mut random = Stream::new(seed, "storm of the host");
        let mut c = zoned([PoolScope::Device, PoolScope::Chip][(seed % 2) as usize], 1);
        (c.device.user_pages, c.gc.window) = (280, 1 + random.below(6) as u32);
        (c.zns.open, c.zns.active) = (3, 3 + (seed % 2) as u32);
        let mut store = store(&c);
        let (mut pages, requests) = (0u64, 800);
        let stream = (0..requests).map(|_| {
            let (first, count) = (random.below(270) as u32, 1 + random.below(10) as u32);
            let op =
                [Op::Write, Op::Write, Op::Read, Op::Trim, Op::Flush][random.below(5) as usize];
            pages += if op == Op::Write { u64::from(count) } else { 0 };
            let whole =
                if op == Op::Flush { Request::new(op, 0, 0) } else { whole(op, first, count) };
            Request { stream: random.below(4) as u8, ..whole }
        });
        let requests_in_order: Vec<Request> = stream.collect();
        let done = crate::rig::closed(&mut store, 8, requests_in_order).unwrap();
        assert_eq!(done.len(), requests, "seed {seed}");
        store.finish_collection().unwrap();
        settle(&mut store.ssd);
        store.audit().unwrap();
        let counts = store.ssd.measured().zones;
        assert_eq!(counts.host_pages, pages, "seed {seed}");
        let (host, other, _) = self::counts(&store.ssd);
        assert_eq!((host, other), (pages + counts.copied_pages, 0), "seed {seed}");
        let latencies = store.ssd.measured().zone_latencies.as_ref().unwrap();
        let recorded: u64 = latencies.iter().map(|of| of.histogram.count()).sum();
        assert_eq!(recorded, requests as u64, "seed {seed}");
    }
}
