//! Copies on a device with parity groups: which pages are shared, what each copy reads and programs, to the nanosecond,
//! and storms over them.

use crate::rig::parity::{PROGRAM, READ, deferred, paper, storms};
use crate::rig::storm::{Storm, Weather};
use crate::rig::{PAGE, alone, closed, filled, finish, whole};
use ssd_core::config::{
    Blocking, BlockingScope, ChipFailure, Config, DataMode, Granularity, ParityUpdate, RemapMode,
};
use ssd_core::ftl::Ftl;
use ssd_core::host::copy::{SourceRange, encode};
use ssd_core::host::device::{Device, DeviceError};
use ssd_core::host::request::{Op, RequestId};
use ssd_core::metrics::counters::{Cause, RemapCounts};
use ssd_core::rng::Stream;
use ssd_core::sim::functional::Functional;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos};

/// Two groups of four chips a stripe. Stripe 0: pages 0, 1, 2 at home on chips 0, 1, 2, pages 3, 4, 5 on chips 4, 5, 6.
/// Stripe 1: pages 6, 7, 8 on chips 0, 1, 3, pages 9, 10, 11 on chips 4, 5, 7.
fn two_groups(mode: RemapMode) -> Config {
    let mut c = paper([8, 1, 1], 4, 64);
    (c.remap.mode, c.run.data) = (mode, DataMode::Digest);
    c
}

fn copy(ssd: &mut Ssd, lpn: u32, count: u32, from: u32) -> RequestId {
    let source = SourceRange { sector: u64::from(from) * PAGE, sectors: u64::from(count) * PAGE };
    ssd.submit(ssd.now(), &whole(Op::Copy, lpn, count), Some(&encode(&[source]))).unwrap()
}

/// What a device has read for copies and for parity, and programmed for copies and as parity.
fn spent(ssd: &Ssd) -> [u64; 4] {
    let (remap, flash) = (Cause::Remap.at(), &ssd.measured().flash);
    let (rmw, parity) = (Cause::Rmw.at(), Cause::Parity.at());
    [flash.reads[remap], flash.reads[rmw], flash.programs[remap], flash.programs[parity]]
}

/// Copy `count` pages from `from` to `lpn`; it takes `ns` and these reads and programs.
fn takes(ssd: &mut Ssd, (lpn, count, from): (u32, u32, u32), ns: u64, expected: [u64; 4]) {
    let (start, before) = (ssd.now(), spent(ssd));
    copy(ssd, lpn, count, from);
    let done = finish(ssd).unwrap();
    assert_eq!((done[0].at - start).0, ns, "{count} pages from {from} to {lpn}");
    let after = spent(ssd);
    let spent = [0, 1, 2, 3].map(|i| after[i] - before[i]);
    assert_eq!(spent, expected, "{count} pages from {from} to {lpn}");
}

fn counts(ssd: &Ssd) -> [u64; 4] {
    let remap = &ssd.measured().remap;
    [remap.shared, remap.copied, remap.copied_chip, remap.unmapped]
}

fn page_of(ssd: &Ssd, lpn: u32) -> u32 {
    ssd.core.ftl.owners.committed(Lpn(lpn)).expect("it holds data").0
}

#[test]
fn a_page_is_shared_at_home_and_on_chips_of_other_groups() {
    let mut ssd = filled(&two_groups(RemapMode::Share));
    // The source, then old data and old parity, then the parity: nothing is programmed for the data.
    takes(&mut ssd, (0, 1, 3), 2 * READ + PROGRAM, [1, 2, 0, 1]);
    assert_eq!(page_of(&ssd, 0), page_of(&ssd, 3));
    // Page 6 is on chip 0, where page 0 is at home.
    takes(&mut ssd, (0, 1, 6), 2 * READ + PROGRAM, [1, 2, 0, 1]);
    assert_eq!(page_of(&ssd, 0), page_of(&ssd, 6));
    assert_eq!(counts(&ssd), [2, 0, 0, 0]);
    assert_eq!(ssd.core.ftl.owners.extra_owners(), 1, "page 0 has left page 3");
    // It has left the page of 6 when it is written.
    assert_eq!(alone(&mut ssd, whole(Op::Write, 0, 1)), READ + PROGRAM);
    assert_eq!(ssd.core.ftl.owners.extra_owners(), 0);
    assert_eq!(ssd.measured().raid.rmw, 3);
}

#[test]
fn a_page_is_copied_if_its_group_may_need_the_chip() {
    let mut ssd = filled(&two_groups(RemapMode::Share));
    // Page 7 is on chip 1, where page 1 is at home.
    takes(&mut ssd, (0, 1, 7), 2 * READ + PROGRAM, [1, 2, 1, 1]);
    assert_ne!(page_of(&ssd, 0), page_of(&ssd, 7));
    // Also if page 1 holds nothing: it may be written at any time. Of the group pages 0, 2 and the parity are left.
    alone(&mut ssd, whole(Op::Trim, 1, 1));
    takes(&mut ssd, (0, 1, 7), 2 * READ + PROGRAM, [1, 1, 1, 1]);
    assert_eq!(counts(&ssd), [0, 2, 2, 0]);
    // Page 2 goes to chip 4. Then the group has no room there for page 0: not for the same page, nor for another.
    takes(&mut ssd, (2, 1, 3), 2 * READ + PROGRAM, [1, 1, 0, 1]);
    takes(&mut ssd, (0, 1, 3), 2 * READ + PROGRAM, [1, 1, 1, 1]);
    takes(&mut ssd, (0, 1, 9), 2 * READ + PROGRAM, [1, 1, 1, 1]);
    assert_eq!(counts(&ssd), [1, 4, 4, 0]);
    // In one update, too: page 9 is on the chip of page 3, so only the first is shared.
    alone(&mut ssd, whole(Op::Write, 2, 1));
    let ranges = [3, 9].map(|lpn| SourceRange { sector: lpn * PAGE, sectors: PAGE });
    let before = counts(&ssd);
    ssd.submit(ssd.now(), &whole(Op::Copy, 0, 2), Some(&encode(&ranges))).unwrap();
    finish(&mut ssd).unwrap();
    assert_eq!(counts(&ssd), [before[0] + 1, before[1] + 1, before[2] + 1, 0]);
}

#[test]
fn of_a_whole_group_only_the_parity_is_programmed() {
    for update in [ParityUpdate::Fewest, ParityUpdate::ReadModify] {
        let mut c = two_groups(RemapMode::Share);
        c.raid.update = update;
        let mut ssd = filled(&c);
        takes(&mut ssd, (0, 3, 3), READ + PROGRAM, [3, 0, 0, 1]);
        assert_eq!((counts(&ssd), ssd.measured().raid.full), ([3, 0, 0, 0], 1));
        // Back again, to where the pages are: pages 3 to 5 stay on theirs, and the parity is programmed anew.
        takes(&mut ssd, (3, 3, 0), READ + PROGRAM, [3, 0, 0, 1]);
        assert_eq!(ssd.core.ftl.owners.extra_owners(), 3);
        // Two groups at once. Pages 7 and 10 are where the parity of the groups of 13 and 16 is at home.
        takes(&mut ssd, (12, 6, 6), READ + PROGRAM, [6, 0, 2, 2]);
    }
}

#[test]
fn with_own_pages_every_page_is_programmed_at_home() {
    let mut ssd = filled(&two_groups(RemapMode::Copy));
    takes(&mut ssd, (0, 1, 3), 2 * READ + PROGRAM, [1, 2, 1, 1]);
    takes(&mut ssd, (6, 3, 3), READ + PROGRAM, [3, 0, 3, 1]);
    assert_eq!((counts(&ssd), ssd.core.ftl.owners.extra_owners()), ([0, 4, 0, 0], 0));
}

#[test]
fn a_source_in_the_same_group_is_read_once() {
    let mut ssd = filled(&two_groups(RemapMode::Share));
    // The source stays and is in the controller: reconstruct-write reads page 2 only.
    takes(&mut ssd, (0, 1, 1), 2 * READ + PROGRAM, [1, 1, 1, 1]);
    let m = ssd.measured();
    assert_eq!((m.raid.rcw, m.raid.kept, counts(&ssd)), (1, 1, [0, 1, 1, 0]));
    // Pages 0 and 1 are equal now, and copied to page 2: nothing else of the group is read.
    let mut c = two_groups(RemapMode::Share);
    c.raid.update = ParityUpdate::Reconstruct;
    let mut ssd = filled(&c);
    let ranges = [2, 2].map(|lpn| SourceRange { sector: lpn * PAGE, sectors: PAGE });
    let start = ssd.now();
    ssd.submit(start, &whole(Op::Copy, 0, 2), Some(&encode(&ranges))).unwrap();
    let done = finish(&mut ssd).unwrap();
    assert_eq!((done[0].at - start).0, 2 * READ + PROGRAM, "page 2 is read twice");
    assert_eq!(spent(&ssd), [2, 0, 2, 1]);
    ssd.audit().unwrap();
}

#[test]
fn an_unmapped_source_leaves_an_unmapped_destination() {
    let mut ssd = filled(&two_groups(RemapMode::Share));
    alone(&mut ssd, whole(Op::Trim, 3, 3));
    // As a TRIM: old data and parity, then the parity.
    takes(&mut ssd, (0, 1, 3), READ + PROGRAM, [0, 2, 0, 1]);
    assert!(!ssd.core.ftl.holds(Lpn(0)));
    takes(&mut ssd, (0, 1, 4), 0, [0, 0, 0, 0]);
    // Of a group nothing is left.
    takes(&mut ssd, (6, 3, 3), 0, [0, 0, 0, 0]);
    assert_eq!((counts(&ssd), ssd.measured().raid.dropped), ([0, 0, 0, 5], 2));
    // Half of the pages have data.
    alone(&mut ssd, whole(Op::Write, 4, 1));
    takes(&mut ssd, (12, 3, 3), READ + PROGRAM, [1, 0, 0, 1]);
    assert!(!ssd.core.ftl.holds(Lpn(12)) && ssd.core.ftl.holds(Lpn(13)));
}

#[test]
fn a_copy_waits_for_its_source_and_later_writes_wait_for_the_copy() {
    let mut ssd = filled(&two_groups(RemapMode::Share));
    let (start, write) = (ssd.now(), READ + PROGRAM);
    ssd.submit(start, &whole(Op::Write, 3, 1), None).unwrap();
    copy(&mut ssd, 0, 1, 3);
    ssd.submit(start, &whole(Op::Write, 3, 1), None).unwrap();
    ssd.submit(start, &whole(Op::Read, 0, 1), None).unwrap();
    ssd.submit(start, &whole(Op::Write, 0, 1), None).unwrap();
    let done = finish(&mut ssd).unwrap();
    let times: Vec<(u64, u64)> = done.iter().map(|c| (c.id.0, (c.at - start).0)).collect();
    let copied = write + 2 * READ + PROGRAM;
    // The read gets its page when the source has been read. After the copy both writes read the page that pages 0 and 3
    // share, one after the other.
    let expected = [
        (0, write),
        (3, write + READ),
        (1, copied),
        (4, copied + write),
        (2, copied + READ + write),
    ];
    assert_eq!(times, expected);
    assert_eq!(ssd.measured().remap.waited, 1);
    ssd.audit().unwrap();
}

#[test]
fn a_trim_of_a_whole_group_waits_for_the_copies_of_its_pages() {
    let mut ssd = filled(&two_groups(RemapMode::Share));
    let start = ssd.now();
    copy(&mut ssd, 0, 1, 3);
    ssd.submit(start, &whole(Op::Trim, 3, 3), None).unwrap();
    let done = finish(&mut ssd).unwrap();
    assert_eq!(done.iter().map(|c| (c.at - start).0).collect::<Vec<_>>(), [2 * READ + PROGRAM; 2]);
    // The page has one owner left, away from home.
    assert_eq!((counts(&ssd), ssd.core.ftl.owners.extra_owners()), ([1, 0, 0, 0], 0));
    assert_eq!(alone(&mut ssd, whole(Op::Read, 0, 1)), READ);
}

#[test]
fn a_chain_of_copies_follows_the_order_of_admission() {
    let mut ssd = filled(&two_groups(RemapMode::Share));
    // Pages 0 and 3 change places by way of page 12, while all three are read.
    copy(&mut ssd, 12, 1, 0);
    copy(&mut ssd, 0, 1, 3);
    copy(&mut ssd, 3, 1, 12);
    let digest = |ssd: &Ssd, lpn: u32| {
        ssd.core.ftl.flash.digest(ssd.core.ftl.owners.committed(Lpn(lpn)).unwrap())
    };
    let before = [0, 3].map(|lpn| digest(&ssd, lpn));
    finish(&mut ssd).unwrap();
    assert_eq!([3, 0].map(|lpn| digest(&ssd, lpn)), before);
    assert_eq!(digest(&ssd, 12), before[0]);
    ssd.audit().unwrap();
}

/// A device that has copied page 3 to page 0, before chip 4 fails.
fn degraded(spares: u32) -> Ssd {
    let mut c = two_groups(RemapMode::Share);
    c.raid.fail = vec![ChipFailure { chip: 4, at_ns: 1_000_000 }];
    c.raid.spares = spares;
    let mut ssd = filled(&c);
    copy(&mut ssd, 0, 1, 3);
    finish(&mut ssd).unwrap();
    ssd.run_until(Nanos(1_000_001), &mut Vec::new()).unwrap();
    ssd
}

#[test]
fn a_chip_loses_a_page_for_all_its_owners_and_each_group_computes_its_own() {
    let mut ssd = degraded(0);
    assert!([0, 3].iter().all(|&lpn| ssd.core.ftl.is_lost(Lpn(lpn))));
    for lpn in [0, 3] {
        let before = ssd.measured().flash.reads[Cause::Reconstruct.at()];
        assert_eq!(alone(&mut ssd, whole(Op::Read, lpn, 1)), READ);
        assert_eq!(ssd.measured().flash.reads[Cause::Reconstruct.at()] - before, 3);
    }
    // A lost source is computed, and its copy programmed. Page 8 is at home on chip 3.
    takes(&mut ssd, (8, 1, 3), 2 * READ + PROGRAM, [0, 2, 1, 1]);
    let remap = &ssd.measured().remap;
    assert_eq!((remap.copied, remap.copied_lost, remap.copied_chip), (1, 1, 0));
    // A lost destination is written by reconstruct-write; its own chip is there.
    takes(&mut ssd, (0, 1, 6), 2 * READ + PROGRAM, [1, 2, 0, 1]);
    assert!(!ssd.core.ftl.is_lost(Lpn(0)));
    closed(&mut ssd, 8, (0..56).map(|lpn| whole(Op::Read, lpn, 1))).unwrap();
    ssd.audit().unwrap();
}

#[test]
fn a_rebuild_brings_every_owner_home() {
    let mut ssd = degraded(1);
    ssd.run_until(Nanos(1_000_000_000), &mut Vec::new()).unwrap();
    let chip = |lpn: u32| {
        let page = ssd.core.ftl.owners.committed(Lpn(lpn)).unwrap();
        ssd.core.ftl.geo.plane_of(page).0
    };
    assert_eq!([chip(0), chip(3)], [0, 4]);
    assert_eq!(ssd.core.ftl.owners.extra_owners(), 0);
    ssd.audit().unwrap();
}

const ANY: Weather =
    Weather { requests: 1200, depth: 48, seed: 0, audit: 7, mix: [25, 8, 2], pause: 0 };

/// A storm of copies; whether pools may be crowded by pages away from home is up to the caller.
fn storm(c: &Config, weather: Weather) -> Storm {
    let mut storm = Storm::new(c, weather);
    storm.copies = 40;
    match storm.run() {
        Ok(()) => {}
        Err(e @ DeviceError::NoSpace { .. }) => storm.gave_up(&e),
        Err(DeviceError::DataLost { .. }) if c.raid.fail.len() > 1 => {}
        Err(e) => panic!("{weather:?}: {e}"),
    }
    storm
}

/// Sums over storms.
#[derive(Default, Debug)]
struct Sums {
    remap: RemapCounts,
    redirected: u64,
    rebuilt: u64,
    lost: u64,
    collected: u64,
    ended: u64,
}

impl Sums {
    fn add(&mut self, storm: &Storm, c: &Config) {
        let m = storm.ssd.measured();
        self.remap.shared += m.remap.shared;
        self.remap.copied += m.remap.copied;
        self.remap.copied_chip += m.remap.copied_chip;
        self.remap.copied_lost += m.remap.copied_lost;
        self.remap.unmapped += m.remap.unmapped;
        self.remap.waited += m.remap.waited;
        self.redirected += m.raid.redirected;
        self.rebuilt += m.degraded.as_ref().map_or(0, |d| d.rebuilt);
        self.lost += m.degraded.as_ref().map_or(0, |d| d.pages_lost);
        self.collected += m.gc.calls;
        self.ended += u64::from(storm.completed == 1200 + u64::from(c.device.user_pages));
    }
}

fn small(shape: [u32; 3], group: u32, seed: u64) -> Config {
    let mut c = paper(shape, group, 1);
    (c.device.blocks_per_plane, c.device.pages_per_block) = (14, 8);
    let stripes = 14 * 8 * shape[2] * (6 + (seed % 3) as u32) / 10;
    c.device.user_pages = stripes * c.data_pages_per_stripe() as u32;
    c.remap.mode = [RemapMode::Share, RemapMode::Share, RemapMode::Copy][(seed % 3) as usize];
    c.run.data = [DataMode::Digest, DataMode::Bytes][(seed % 2) as usize];
    c.raid.read_buffer_pages = [0, 8][(seed / 2 % 2) as usize];
    c.raid.merge = seed % 5 < 2;
    c.gc.window = 1 + (seed % 3) as u32;
    c
}

const SHAPES: [([u32; 3], u32); 5] =
    [([4, 2, 1], 4), ([2, 2, 2], 2), ([2, 3, 1], 3), ([4, 2, 1], 8), ([2, 1, 1], 2)];

#[test]
fn storms_of_copies() {
    let mut sums = Sums::default();
    for seed in 0..20 {
        let (shape, group) = SHAPES[(seed % 5) as usize];
        let c = small(shape, group, seed);
        let depth = [1, 16, 48][(seed % 3) as usize];
        sums.add(&storm(&c, Weather { seed, depth, ..ANY }), &c);
    }
    let remap = &sums.remap;
    assert!(remap.shared > 1000 && remap.copied_chip > 1000 && remap.copied > remap.copied_chip);
    assert!(remap.waited > 300 && remap.unmapped > 300 && sums.collected > 300, "{sums:?}");
    assert!(sums.ended >= 15, "{sums:?}");
}

#[test]
fn storms_of_copies_while_chips_fail() {
    let mut sums = Sums::default();
    for seed in 0..20 {
        let (shape, group) = SHAPES[(seed % 5) as usize];
        let mut c = small(shape, group, seed);
        let chips = u64::from(shape[0] * shape[1]);
        let fails = |i: u64| ChipFailure {
            chip: ((seed + 3 * i) % chips) as u32,
            at_ns: 3_000_000 + seed * 1_000_000 + i * 40_000_000,
        };
        c.raid.fail = (0..1 + seed / 10).map(fails).collect();
        (c.raid.spares, c.raid.rebuild_window) = ((seed % 3) as u32, 1 + (seed % 4) as u32);
        sums.add(&storm(&c, Weather { seed, depth: 1 + (seed % 40) as usize, ..ANY }), &c);
    }
    assert!(sums.lost > 300 && sums.rebuilt > 300 && sums.remap.copied_lost > 20, "{sums:?}");
    assert!(sums.remap.shared > 500 && sums.ended >= 10, "{sums:?}");
}

#[test]
fn storms_of_copies_with_redirection() {
    let mut sums = Sums::default();
    for seed in 0..12 {
        let mut c = deferred(2, 4, 3);
        (c.device.blocks_per_plane, c.device.pages_per_block) = (20, 8);
        c.device.user_pages = 100 * c.data_pages_per_stripe() as u32;
        (c.remap.mode, c.run.data) = (RemapMode::Share, DataMode::Digest);
        if seed % 3 == 2 {
            c.raid.fail = vec![ChipFailure { chip: (seed % 8) as u32, at_ns: 50_000_000 }];
            c.raid.spares = 1;
        }
        let weather = Weather { seed, depth: 32, pause: 300_000, mix: [10, 4, 1], ..ANY };
        sums.add(&storm(&c, weather), &c);
    }
    assert!(sums.redirected > 100 && sums.remap.shared > 500 && sums.ended > 8, "{sums:?}");
}

#[test]
fn a_device_without_copies_is_as_without_remapping() {
    let events = |mode: RemapMode| {
        let mut digests = Vec::new();
        let weather = Weather { requests: 600, depth: 24, audit: 50, ..ANY };
        storms(
            &[(24, DataMode::Digest)],
            weather,
            |c, _| c.remap.mode = mode,
            |m| digests.push(format!("{:?} {:?}", m.flash, m.raid)),
        );
        digests
    };
    assert_eq!(events(RemapMode::Share), events(RemapMode::Off));
}

#[test]
fn copies_without_time_are_those_with_time() {
    for (shape, group, mode) in [
        ([4, 2, 1], 4, RemapMode::Share),
        ([4, 2, 1], 8, RemapMode::Share),
        ([2, 2, 1], 2, RemapMode::Share),
        ([2, 3, 1], 3, RemapMode::Copy),
    ] {
        let mut c = paper(shape, group, 400);
        (c.remap.mode, c.run.data) = (mode, DataMode::Digest);
        c.gc.blocking = Blocking { scope: BlockingScope::Device, granularity: Granularity::Job };
        let mut f = Functional::new(&c, Ftl::new(&c));
        f.write_run(Lpn(0), c.device.user_pages, 0).unwrap();
        let (filled_reads, filled_parity) = (f.groups.reads, f.groups.parity_pages);
        let mut ssd = filled(&c);
        ssd.audit_every(50);
        let mut rng = Stream::new(5, "same");
        let (user, mut counts) = (u64::from(c.device.user_pages), RemapCounts::default());
        for id in 0..5000 {
            // Within a group: several groups of one request are under way together.
            let first = rng.below(user) as u32;
            let left = group - 1 - first % (group - 1);
            let count = 1 + rng.below(u64::from(left)) as u32;
            ssd.run_until(Nanos(ssd.now().0 + 100_000_000), &mut Vec::new()).unwrap();
            let source = rng.below(user - u64::from(count)) as u32;
            let apart = source + count <= first || first + count <= source;
            match rng.below(10) {
                0 => {
                    f.trim_run(Lpn(first), count).unwrap();
                    alone(&mut ssd, whole(Op::Trim, first, count));
                }
                1..4 if apart => {
                    let range = SourceRange {
                        sector: u64::from(source) * PAGE,
                        sectors: u64::from(count) * PAGE,
                    };
                    let request = whole(Op::Copy, first, count);
                    f.copy(id, &request, &encode(&[range]), &mut counts).unwrap();
                    copy(&mut ssd, first, count, source);
                    finish(&mut ssd).unwrap();
                }
                _ => {
                    f.write_run(Lpn(first), count, 0).unwrap();
                    alone(&mut ssd, whole(Op::Write, first, count));
                }
            }
        }
        ssd.run_until(Nanos(ssd.now().0 + 1_000_000_000), &mut Vec::new()).unwrap();
        let m = ssd.measured();
        assert_eq!(m.remap, RemapCounts { waited: 0, ..counts }, "{shape:?}");
        assert!(m.gc.calls > 300 && counts.copied > 300, "{} calls, {counts:?}", m.gc.calls);
        assert_eq!(counts.shared > 100, mode == RemapMode::Share, "{counts:?}");
        let functional = [f.groups.reads - filled_reads, f.tally.remap_pages, f.tally.remap_reads];
        let [remap_reads, rmw, remap, parity] = spent(&ssd);
        assert_eq!([rmw, remap, remap_reads], functional, "{shape:?}");
        assert_eq!(parity, f.groups.parity_pages - filled_parity);
        assert_eq!(m.gc.pages.moved, f.tally.gc_pages);
        assert_eq!(ssd.core.ftl.blocks.erases, f.ftl.blocks.erases, "{shape:?}");
        assert_eq!(ssd.core.ftl.pages_by_owners(), f.ftl.pages_by_owners());
        let at = |ftl: &Ftl, lpn| {
            ftl.owners.committed(Lpn(lpn)).map(|page| (page, ftl.flash.digest(page)))
        };
        let logical = 0..ssd.core.ftl.geo.logical_pages;
        assert!(logical.clone().all(|lpn| at(&ssd.core.ftl, lpn) == at(&f.ftl, lpn)), "{shape:?}");
        f.ftl.audit().unwrap();
        ssd.audit().unwrap();
        // The state can be stored.
        let stored = ssd.snapshot().expect("at rest");
        let again = Ssd::restore(&c, &stored).unwrap();
        again.audit().unwrap();
        assert_eq!(again.snapshot().expect("at rest").digest(), stored.digest());
    }
}
