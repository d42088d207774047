//! Reads that avoid the longest queue of their group (`raid.reads = "shortest-queue"`): the rule, worked out by hand,
//! and storms.

use crate::rig::parity::{READ, storms, with_bytes};
use crate::rig::storm::Weather;
use crate::rig::{alone, filled, finish, named, whole};
use ssd_core::config::{
    Blocking, BlockingScope, Config, DataMode, Granularity, GroupReads, Suspend,
};
use ssd_core::ftl::blocks::BlockState;
use ssd_core::host::device::Device;
use ssd_core::host::request::Op;
use ssd_core::metrics::counters::Cause;
use ssd_core::rng::Stream;
use ssd_core::sched::order;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos};

/// Groups of all chips, whose operations are first come, first served; programs take `program` ns.
fn device(chips: u32, program: u64) -> Config {
    let mut c = with_bytes([chips, 1, 1], chips, 248);
    c.raid.reads = GroupReads::ShortestQueue;
    c.timing.program_ns = program;
    c.sched.order = named(order::ALL, "fifo");
    c
}

/// Pages of different groups that are at home on the first chip, and whose parities are on different chips.
fn pages_of_a_chip(ssd: &Ssd, count: usize) -> Vec<u32> {
    let (groups, mut parities) = (ssd.core.ftl.parity_groups(), Vec::new());
    let mut is_new = |lpn: &u32| {
        let lpn = Lpn(*lpn);
        let parity = groups.home(groups.parity(groups.group_of(lpn)));
        let is_new = groups.home(lpn).0 == 0 && !parities.contains(&parity);
        if is_new {
            parities.push(parity);
        }
        is_new
    };
    let pages: Vec<u32> =
        (0..ssd.core.ftl.geo.user_pages).filter(|lpn| is_new(lpn)).take(count).collect();
    assert_eq!(pages.len(), count, "pages on the first chip");
    pages
}

/// Whether a block is being collected.
fn collects(ssd: &Ssd) -> bool {
    let states = &ssd.core.ftl.blocks.state;
    states.iter().any(|state| matches!(state, BlockState::Collecting | BlockState::Erasing))
}

/// Write `writes` pages of the first chip at once, and 100 us later read `reads` times another page there. Returns the
/// latencies of the reads, pages that were computed, and reads for that.
fn behind_writes(c: &Config, writes: usize, reads: usize) -> (Vec<u64>, u64, u64) {
    let mut ssd = filled(c);
    let pages = pages_of_a_chip(&ssd, writes + 1);
    for &lpn in &pages[..writes] {
        ssd.submit(Nanos(0), &whole(Op::Write, lpn, 1), None).unwrap();
    }
    let at = Nanos(100_000);
    let read = whole(Op::Read, pages[writes], 1);
    let ids: Vec<_> = (0..reads).map(|_| ssd.submit(at, &read, None).unwrap()).collect();
    let done = finish(&mut ssd).unwrap();
    let latency = |id| done.iter().find(|c| c.id == id).expect("it completes").at.0 - at.0;
    let m = ssd.measured();
    assert_eq!(m.read_parts.total(), m.latencies.of(Op::Read).histogram.sum());
    let latencies = ids.into_iter().map(latency).collect();
    (latencies, m.raid.reconstructed, m.flash.reads[Cause::Reconstruct.at()])
}

/// Two updates read old data on the first chip (0 to 50 us) and the parities (0 to 25 us). Their programs run there
/// from 50 us on, one after the other; those of the parities, on two other chips, begin at 25 and 50 us. So the wait
/// for the first chip is longer by one program. A reconstruction takes 7 reads, 6 more than a read, which are 150 us.
#[test]
fn a_read_is_computed_if_that_avoids_more_than_the_added_reads_take() {
    let added = 6 * READ;
    let (p, before) = (added + 1, 50_000);
    assert_eq!(behind_writes(&device(8, p), 2, 1), (vec![p + READ - before], 1, 7));
    let p = added;
    assert_eq!(behind_writes(&device(8, p), 2, 1), (vec![2 * p + READ - before], 0, 0));
    // Of three programs on the first chip two are in front of the read in addition.
    let p = added / 2 + 1;
    let before = 25_000;
    assert_eq!(behind_writes(&device(8, p), 3, 1), (vec![p + READ - before], 1, 7));
}

/// The first chip and that of the parity are busy until the same time, and the other six are idle.
#[test]
fn the_slowest_of_the_other_chips_counts() {
    let p = 400_000;
    assert_eq!(behind_writes(&device(8, p), 1, 1), (vec![p + READ + READ - 100_000], 0, 0));
}

/// No read is added for a page that is being computed, so nothing has to be saved.
#[test]
fn reads_of_a_page_that_is_computed_join_while_their_chip_has_the_longer_queue() {
    let p = 6 * READ + 1;
    assert_eq!(behind_writes(&device(8, p), 2, 3), (vec![p + READ - 50_000; 3], 3, 7));
}

/// Reads that go first wait for no program but the one that runs, and then all chips are equal.
#[test]
fn what_the_order_takes_after_the_read_does_not_count() {
    let p = 6 * READ + 1;
    let mut c = device(8, p);
    for name in ["read-first", "host-first", "gc-first"] {
        c.sched.order = named(order::ALL, name);
        assert_eq!(behind_writes(&c, 2, 1), (vec![p + READ - 50_000], 0, 0), "{name}");
    }
}

/// A group of two chips mirrors its page, so no reads are added: the shorter queue is read, on a tie the page itself.
#[test]
fn of_two_mirrors_the_one_with_the_shorter_queue_is_read() {
    let mut ssd = filled(&device(2, 200_000));
    let pages: Vec<u32> =
        (0..6).filter(|&lpn| ssd.core.ftl.parity_groups().home(Lpn(lpn)).0 == 0).collect();
    for &lpn in &pages[..3] {
        ssd.submit(Nanos(0), &whole(Op::Read, lpn, 1), None).unwrap();
    }
    let ends: Vec<u64> = finish(&mut ssd).unwrap().iter().map(|c| c.at.0).collect();
    assert_eq!(ends, [READ, READ, 2 * READ]);
    assert_eq!(ssd.measured().flash.reads[Cause::Reconstruct.at()], 1);
}

/// The rest of a job that has closed its chip counts: the reads of a chip that collects alone take one read.
#[test]
fn reads_avoid_a_closed_chip_and_none_is_computed_where_all_are_idle() {
    let mut c = device(8, 200_000);
    c.gc.blocking = Blocking { scope: BlockingScope::Plane, granularity: Granularity::Job };
    let mut ssd = filled(&c);
    ssd.audit_every(200);
    let (mut rng, mut avoided) = (Stream::new(3, "queues"), 0);
    let user = u64::from(ssd.core.ftl.geo.user_pages);
    for _ in 0..4_000 {
        alone(&mut ssd, whole(Op::Write, rng.below(user) as u32, 1));
        let before = ssd.measured().raid.reconstructed;
        let was_idle = !collects(&ssd);
        let lpn = rng.below(user) as u32;
        let latency = alone(&mut ssd, whole(Op::Read, lpn, 1));
        let computed = ssd.measured().raid.reconstructed - before;
        // A job may begin in the instant in which the read arrives, and end before the read.
        let is_idle = was_idle && !collects(&ssd) && latency == READ;
        assert!(!is_idle || computed == 0, "{lpn} is computed where all chips are idle");
        avoided += u64::from(computed > 0 && latency == READ);
    }
    assert!(avoided > 20, "{avoided} reads avoided a chip");
}

#[test]
fn every_answer_of_a_storm_is_right_in_every_order() {
    let mut computed = 0;
    let depths = [(2, DataMode::Digest), (24, DataMode::Bytes)];
    let weather =
        Weather { requests: 800, depth: 0, seed: 0, audit: 7, mix: [45, 8, 2], pause: 100_000 };
    let change = |c: &mut Config, number: u32| {
        c.raid.reads = GroupReads::ShortestQueue;
        c.sched.order = named(order::ALL, order::ALL[number as usize % order::ALL.len()].name);
        let scopes = [
            BlockingScope::None,
            BlockingScope::Plane,
            BlockingScope::Channel,
            BlockingScope::Block,
            BlockingScope::Device,
        ];
        let granularity = [Granularity::Job, Granularity::Step][number as usize / 2 % 2];
        c.gc.blocking = Blocking { scope: scopes[number as usize % 5], granularity };
        if c.run.data == DataMode::Bytes {
            c.timing.suspend = Suspend::Both;
        }
    };
    storms(&depths, weather, change, |m| computed += m.raid.reconstructed);
    assert!(computed > 200, "{computed} reads avoided a queue");
}
