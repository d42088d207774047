//! Reads that avoid collection (`raid.reads = "reconstruct-if-busy"`): their times, and that a read that meets an
//! update of its group is answered correctly.

use crate::rig::parity::{PROGRAM, READ, storms, with_bytes};
use crate::rig::storm::Weather;
use crate::rig::{alone, closed, filled, finish, named, whole};
use ssd_core::config::{
    Blocking, BlockingScope, ChipFailure, Config, DataMode, Granularity, GroupReads, TimingModel,
};
use ssd_core::ftl::gc::concurrency;
use ssd_core::host::device::Device;
use ssd_core::host::request::Op;
use ssd_core::metrics::counters::Cause;
use ssd_core::plug::Value;
use ssd_core::rng::Stream;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos, PlaneId};

/// A device whose reads avoid collection.
fn tolerant(shape: [u32; 3], group: u32, stripes: u32) -> Config {
    let mut c = with_bytes(shape, group, stripes);
    c.raid.reads = GroupReads::ReconstructIfBusy;
    c
}

/// The planes on which a block is being collected.
fn collecting(ssd: &Ssd) -> Vec<PlaneId> {
    use ssd_core::ftl::blocks::BlockState;
    let blocks = &ssd.core.ftl.blocks;
    let collected =
        |&b: &usize| matches!(blocks.state[b], BlockState::Collecting | BlockState::Erasing);
    let found = (0..blocks.len()).filter(collected);
    found.map(|b| PlaneId(blocks.pool_of(ssd_core::units::BlockId(b as u32)).0)).collect()
}

/// A page whose chip collects, while no other chip of its group does.
fn busy_page(ssd: &Ssd) -> Option<Lpn> {
    let (busy, groups) = (collecting(ssd), ssd.core.ftl.parity_groups());
    let plane_of = |lpn| ssd.page_on_flash(lpn).map(|page| ssd.core.ftl.geo.plane_of(page));
    let is_busy = |lpn: Lpn| plane_of(lpn).is_some_and(|plane| busy.contains(&plane));
    let alone = |&lpn: &Lpn| {
        let mut others = groups.pages(groups.group_of(lpn)).filter(|&other| other != lpn);
        is_busy(lpn) && !others.any(is_busy)
    };
    if busy.is_empty() { None } else { (0..ssd.core.ftl.geo.user_pages).map(Lpn).find(alone) }
}

/// Overwrite pages until there is a busy page and nothing of the host is under way.
fn a_page_is_busy(ssd: &mut Ssd, rng: &mut Stream) -> Lpn {
    ssd.audit_every(200);
    let user = u64::from(ssd.core.ftl.geo.user_pages);
    for _ in 0..5_000 {
        alone(ssd, whole(Op::Write, rng.below(user) as u32, 1));
        if let Some(lpn) = busy_page(ssd) {
            ssd.audit_every(1);
            return lpn;
        }
    }
    panic!("no chip collects alone");
}

#[test]
fn a_read_of_a_page_whose_chip_collects_takes_a_read_of_the_other_members() {
    for group in [4, 8] {
        let c = tolerant([8, 1, 1], group, 248);
        let mut ssd = filled(&c);
        let mut rng = Stream::new(1, "busy");
        let lpn = a_page_is_busy(&mut ssd, &mut rng);
        let busy = collecting(&ssd);
        let before = ssd.measured().flash.reads;
        assert_eq!(alone(&mut ssd, whole(Op::Read, lpn.0, 1)), READ, "group {group}");
        let m = ssd.measured();
        assert_eq!(m.flash.reads[Cause::Reconstruct.at()], u64::from(group) - 1);
        assert_eq!(m.flash.reads[Cause::Host.at()], before[Cause::Host.at()]);
        assert_eq!((m.raid.reconstructed, m.raid.reconstructions), (1, 1));
        assert_eq!(collecting(&ssd), busy, "it collects still");
    }
}

#[test]
fn a_read_goes_home_while_another_member_is_on_a_chip_that_collects() {
    let mut met = 0;
    for seed in 0..6 {
        let mut ssd = filled(&tolerant([4, 1, 1], 4, 248));
        ssd.audit_every(0);
        let mut rng = Stream::new(seed, "two collect");
        let user = u64::from(ssd.core.ftl.geo.user_pages);
        for _ in 0..300 {
            let writes: Vec<_> =
                (0..3).map(|_| whole(Op::Write, rng.below(user) as u32, 1)).collect();
            closed(&mut ssd, 3, writes).unwrap();
            let busy = collecting(&ssd);
            if busy.len() < 2 || ssd.outstanding() > 0 {
                continue;
            }
            // A page of data on one of them: every group has a page on each of the four chips.
            let on = |&lpn: &Lpn| {
                ssd.page_on_flash(lpn)
                    .is_some_and(|page| busy[0] == ssd.core.ftl.geo.plane_of(page))
            };
            let lpn =
                (0..ssd.core.ftl.geo.user_pages).map(Lpn).find(on).expect("pages on each chip");
            let before = ssd.measured().raid.reconstructions;
            ssd.submit(ssd.now(), &whole(Op::Read, lpn.0, 1), None).unwrap();
            ssd.run_until(ssd.now(), &mut Vec::new()).unwrap();
            assert_eq!(ssd.measured().raid.reconstructions, before, "{lpn:?}, {busy:?}");
            met += 1;
            finish(&mut ssd).unwrap();
        }
    }
    assert!(met > 20, "two chips collected at {met} reads");
}

#[test]
fn members_share_the_bus_as_other_reads_do() {
    let (read, bus, command) = (50_001, 2_003, 305);
    let mut c = tolerant([1, 4, 1], 4, 248);
    let t = &mut c.timing;
    t.model = TimingModel::Pipelined;
    (t.read_ns, t.transfer_ns, t.command_ns) = (read, bus, command);
    // The copies of a job would use the bus, too, so its erase is long enough for reads to meet it.
    t.erase_ns = 50_000_000;
    let mut ssd = filled(&c);
    let mut rng = Stream::new(1, "bus");
    let mut erases = |ssd: &mut Ssd| {
        a_page_is_busy(ssd, &mut rng);
        let at = Nanos(ssd.now().0 + 20_000_000);
        ssd.run_until(at, &mut Vec::new()).unwrap();
        Some((busy_page(ssd)?, at))
    };
    let found = (0..100).find_map(|_| erases(&mut ssd));
    let (lpn, at) = found.expect("one chip alone erases");
    let at = ssd.now().0.max(at.0);
    ssd.submit(Nanos(at), &whole(Op::Read, lpn.0, 1), None).unwrap();
    let mut done = Vec::new();
    ssd.run_until(Nanos(at + 10_000_000), &mut done).unwrap();
    assert_eq!(done[0].at.0 - at, command + read + 3 * bus);
}

/// Another page of data of the group of `lpn`.
fn neighbour(ssd: &Ssd, lpn: Lpn) -> u32 {
    let groups = ssd.core.ftl.parity_groups();
    let (group, data) = (groups.group_of(lpn), groups.data_pages());
    (group.0 * data..(group.0 + 1) * data).find(|&other| other != lpn.0).expect("several pages")
}

#[test]
fn where_chips_may_fail_a_read_goes_home_while_its_group_is_updated() {
    let mut c = tolerant([4, 1, 1], 4, 248);
    c.raid.fail = vec![ChipFailure { chip: 0, at_ns: u64::MAX / 4 }];
    let mut ssd = filled(&c);
    let mut rng = Stream::new(2, "home");
    let lpn = a_page_is_busy(&mut ssd, &mut rng);
    let (other, at) = (neighbour(&ssd, lpn), ssd.now());
    ssd.submit(at, &whole(Op::Write, other, 1), None).unwrap();
    ssd.submit(at, &whole(Op::Read, lpn.0, 1), None).unwrap();
    let mut done = Vec::new();
    while done.len() < 2 {
        ssd.run_until(Nanos(ssd.now().0 + 1_000_000), &mut done).unwrap();
    }
    let m = ssd.measured();
    assert_eq!((m.raid.reconstructed, m.flash.reads[Cause::Reconstruct.at()]), (0, 0));
    ssd.audit().unwrap();
}

#[test]
fn a_read_is_computed_beside_an_update_which_commits_when_it_has_ended() {
    let mut waited = 0;
    for seed in 0..12 {
        let c = tolerant([4, 1, 1], 4, 248);
        let mut ssd = filled(&c);
        let mut rng = Stream::new(seed, "beside");
        let lpn = a_page_is_busy(&mut ssd, &mut rng);
        let (other, at) = (neighbour(&ssd, lpn), ssd.now());
        let write = ssd.submit(at, &whole(Op::Write, other, 1), None).unwrap();
        let early = ssd.submit(at, &whole(Op::Read, lpn.0, 1), None).unwrap();
        // Shortly before the last program of the update ends: both of its chips are busy until then.
        let programmed = at.0 + 2 * READ + PROGRAM;
        let late = Nanos(programmed - 5_000);
        let late = ssd.submit(late, &whole(Op::Read, lpn.0, 1), None).unwrap();
        let done = finish(&mut ssd).unwrap();
        let end = |id| done.iter().find(|c| c.id == id).expect("it completes").at.0;
        let m = ssd.measured();
        assert_eq!(m.write_parts.total(), m.latencies.of(Op::Write).histogram.sum());
        if m.raid.reconstructions == 2 {
            assert_eq!(end(early), at.0 + 2 * READ, "behind the reads of the update");
            assert_eq!(end(late), programmed + READ, "{seed}");
            assert_eq!(end(write), programmed + READ, "{seed}: committed between two reads");
            waited += 1;
        }
    }
    assert!(waited > 2, "{waited} updates waited for a read");
}

#[test]
fn reads_of_one_page_share_a_reconstruction_and_updates_wait_for_it() {
    let c = tolerant([4, 1, 1], 4, 248);
    let mut ssd = filled(&c);
    let mut rng = Stream::new(3, "share");
    let lpn = a_page_is_busy(&mut ssd, &mut rng);
    let (other, at) = (neighbour(&ssd, lpn), ssd.now());
    let first = ssd.submit(at, &whole(Op::Read, lpn.0, 1), None).unwrap();
    let write = ssd.submit(Nanos(at.0 + 5_000), &whole(Op::Write, other, 1), None).unwrap();
    let joins = ssd.submit(Nanos(at.0 + 10_000), &whole(Op::Read, lpn.0, 1), None).unwrap();
    let done = finish(&mut ssd).unwrap();
    let end = |id| done.iter().find(|c| c.id == id).expect("it completes").at.0 - at.0;
    assert_eq!((end(first), end(joins)), (READ, READ));
    assert!(end(write) >= READ + READ + 200_000, "{} is before the reads ended", end(write));
    let m = ssd.measured();
    assert_eq!((m.raid.reconstructed, m.raid.reconstructions), (2, 1));
    assert_eq!(m.flash.reads[Cause::Reconstruct.at()], 3);
    assert_eq!(m.read_parts.total(), m.latencies.of(Op::Read).histogram.sum());
}

#[test]
fn reads_that_wait_when_collection_begins_avoid_it() {
    let mut c = tolerant([8, 1, 1], 8, 248);
    c.gc.blocking = Blocking { scope: BlockingScope::Plane, granularity: Granularity::Job };
    // So that no two chips of a group collect.
    c.gc.concurrency = named(concurrency::ALL, "rotating").with("k", Value::Int(1));
    let mut ssd = filled(&c);
    ssd.audit_every(5_000);
    let mut rng = Stream::new(4, "begins");
    let user = u64::from(ssd.core.ftl.geo.user_pages);
    let plane_of =
        |ssd: &Ssd, lpn| ssd.core.ftl.geo.plane_of(ssd.page_on_flash(lpn).expect("filled"));
    let mut met = 0;
    for _ in 0..1_000 {
        // The update reads for 25 us and programs until 225 us; then it opens a block, and its chip may collect.
        let written = Lpn(rng.below(user) as u32);
        let chip = plane_of(&ssd, written);
        let groups = ssd.core.ftl.parity_groups();
        let others = std::iter::repeat_with(|| Lpn(rng.below(user) as u32));
        let is_there = |&lpn: &Lpn| {
            plane_of(&ssd, lpn) == chip && groups.group_of(lpn) != groups.group_of(written)
        };
        let read: Vec<Lpn> = others.filter(is_there).take(3).collect();
        let (at, before) = (ssd.now(), ssd.measured().raid.reconstructed);
        ssd.submit(at, &whole(Op::Write, written.0, 1), None).unwrap();
        let later = Nanos(at.0 + 100_000);
        let ids: Vec<_> = read
            .iter()
            .map(|lpn| ssd.submit(later, &whole(Op::Read, lpn.0, 1), None))
            .map(Result::unwrap)
            .collect();
        let done = finish(&mut ssd).unwrap();
        let slowest = done.iter().filter(|c| ids.contains(&c.id)).map(|c| c.at.0 - later.0).max();
        assert!(slowest.unwrap() <= 125_000 + 3 * READ, "{read:?} take {slowest:?} ns");
        met += u64::from(ssd.measured().raid.reconstructed > before);
    }
    assert!(met > 3, "collection began {met} times in front of reads");
    let m = ssd.measured();
    assert_eq!(m.read_parts.total(), m.latencies.of(Op::Read).histogram.sum());
    ssd.audit().unwrap();
}

#[test]
fn every_answer_of_a_storm_is_right() {
    let mut reconstructions = 0;
    let depths = [(2, DataMode::Digest), (24, DataMode::Bytes)];
    let weather =
        Weather { requests: 800, depth: 0, seed: 0, audit: 7, mix: [45, 8, 2], pause: 100_000 };
    let tolerant = |c: &mut Config, _| c.raid.reads = GroupReads::ReconstructIfBusy;
    storms(&depths, weather, tolerant, |m| reconstructions += m.raid.reconstructions);
    assert!(reconstructions > 100, "{reconstructions} reads avoided collection");
}
