//! Parity groups without time: counts of reads and programs, the parity of every group after any writes and TRIMs,
//! and the differential against a device without parity.

use crate::rig::{self, PAGE, device, free_blocks};
use ssd_core::config::{Config, DataMode, ParityUpdate};
use ssd_core::ftl::Ftl;
use ssd_core::ftl::raid::GroupId;
use ssd_core::functional_run::FunctionalRun;
use ssd_core::host::request::{Op, Request, TimedRequest};
use ssd_core::host::source::{Source, SourceError};
use ssd_core::metrics::counters::Cause;
use ssd_core::rng::Stream;
use ssd_core::sim::functional::Functional;
use ssd_core::units::{BlockId, Lpn, Nanos, PoolId};
use std::ops::ControlFlow;

/// A device of `shape` with groups of `group` chips that fill `share` of it.
fn raid(shape: [u32; 3], group: u32, (blocks, pages): (u32, u32), share: f64) -> Config {
    let mut c = device(shape, blocks, pages, 1);
    c.raid.group = group;
    c.gc.trigger = vec![free_blocks(3)];
    let stripe_pages = shape[0] * shape[1];
    let stripes = (f64::from(rig::pages_of(&c)) * share) as u32 / stripe_pages;
    c.device.user_pages = stripes * c.data_pages_per_stripe() as u32;
    c
}

fn new(c: &Config) -> Functional {
    Functional::new(c, Ftl::new(c))
}

#[test]
fn a_write_touches_the_groups_it_overlaps_and_reads_as_the_plan_says() {
    for (group, d) in [(2u32, 1u32), (4, 3), (8, 7)] {
        for update in [ParityUpdate::Fewest, ParityUpdate::ReadModify, ParityUpdate::Reconstruct] {
            let mut c = raid([4, 2, 1], group, (40, 16), 0.7);
            c.raid.update = update;
            let mut f = new(&c);
            f.write_run(Lpn(0), c.device.user_pages, 0).unwrap();
            assert_eq!(f.groups.parity_pages, u64::from(c.device.user_pages / d));
            assert_eq!((f.groups.reads, f.groups.modified, f.groups.reconstructed), (0, 0, 0));
            let mut rng = Stream::new(1, "runs");
            for _ in 0..400 {
                let (before, count) = (f.groups, 1 + rng.below(3 * u64::from(d)) as u32);
                let first = rng.below(u64::from(c.device.user_pages - count)) as u32;
                f.write_run(Lpn(first), count, 0).unwrap();
                let (mut reads, mut groups, mut at) = (0, 0, first);
                while at < first + count {
                    let m = (d - at % d).min(first + count - at);
                    groups += 1;
                    reads += match update {
                        _ if m == d => 0,
                        ParityUpdate::Fewest => (m + 1).min(d - m),
                        ParityUpdate::ReadModify => m + 1,
                        ParityUpdate::Reconstruct => d - m,
                    };
                    at += m;
                }
                assert_eq!(f.groups.parity_pages - before.parity_pages, groups);
                assert_eq!(f.groups.reads - before.reads, u64::from(reads), "{first} + {count}");
            }
            f.ftl.audit().unwrap();
        }
    }
}

#[test]
fn uniformly_placed_writes_touch_as_many_groups_as_they_must_on_average() {
    let c = raid([8, 1, 1], 8, (64, 16), 0.7);
    let (d, n) = (7u32, 5u32);
    let mut f = new(&c);
    f.write_run(Lpn(0), c.device.user_pages, 0).unwrap();
    let before = f.groups.parity_pages;
    // Every start page of seven groups once.
    (0..7 * d).for_each(|first| f.write_run(Lpn(first), n, 0).unwrap());
    // (n + d - 1) / d groups per write.
    assert_eq!(f.groups.parity_pages - before, u64::from(7 * (n + d - 1)));
}

/// The parity of every group, computed from only what was written.
struct Naive {
    digests: Vec<u64>,
    sequence: u64,
}

impl Naive {
    fn write(&mut self, lpn: u32) {
        self.sequence += 1;
        let x = (u64::from(lpn) << 32 ^ self.sequence).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.digests[lpn as usize] = (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) | 1;
    }

    /// Check that the device holds what was written, and that its parity is the sum.
    fn check(&self, f: &Functional) {
        let groups = f.ftl.groups.as_deref().expect("parity");
        let digest =
            |lpn: Lpn| f.ftl.owners.committed(lpn).map_or(0, |page| f.ftl.flash.digest(page));
        for group in (0..groups.count()).map(GroupId) {
            let mut sum = 0;
            for lpn in groups.pages(group).filter(|&lpn| !groups.is_parity(lpn)) {
                assert_eq!(digest(lpn), self.digests[lpn.at()], "{lpn:?}");
                sum ^= self.digests[lpn.at()];
            }
            assert_eq!(digest(groups.parity(group)), sum, "{group:?}");
        }
    }
}

#[test]
fn parity_is_the_sum_of_the_data_after_any_writes_and_trims() {
    for (shape, group, seed) in
        [([4, 2, 1], 8, 1), ([4, 2, 2], 4, 2), ([2, 3, 1], 3, 3), ([2, 1, 1], 2, 4)]
    {
        let mut c = raid(shape, group, (16, 8), 0.72);
        (c.run.data, c.run.seed) = (DataMode::Digest, seed);
        let user = c.device.user_pages;
        let mut f = new(&c);
        let mut naive = Naive { digests: vec![0; user as usize], sequence: 0 };
        let mut rng = Stream::new(seed, "storm");
        for round in 0..3000 {
            let count = 1 + rng.below(u64::from(2 * group)).min(rng.below(u64::from(user))) as u32;
            let first = rng.below(u64::from(user - count + 1)) as u32;
            if rng.chance(0.25) {
                let mapped = (first..first + count).filter(|&lpn| naive.digests[lpn as usize] != 0);
                let mapped = mapped.count() as u64;
                assert_eq!(f.trim_run(Lpn(first), count), Ok(mapped));
                naive.digests[first as usize..(first + count) as usize].fill(0);
            } else {
                f.write_run(Lpn(first), count, 0).unwrap();
                (first..first + count).for_each(|lpn| naive.write(lpn));
            }
            if round % 500 == 0 {
                f.ftl.audit().unwrap();
            }
        }
        assert!(f.tally.gc_pages > 1000, "{} pages were copied", f.tally.gc_pages);
        f.ftl.audit().unwrap();
        naive.check(&f);
    }
}

/// The victims of each pool in order.
fn by_pool(f: &Functional) -> Vec<Vec<BlockId>> {
    let mut pools = vec![Vec::new(); f.ftl.geo.pools as usize];
    f.victims().iter().for_each(|&block| pools[f.ftl.blocks.pool_of(block).at()].push(block));
    pools
}

#[test]
fn whole_groups_are_collected_as_pages_of_a_device_without_parity() {
    for victim in ["greedy", "fifo", "cost-benefit"] {
        let mut c = raid([4, 2, 1], 8, (40, 16), 0.8);
        c.gc.victim = rig::victim(victim);
        // The same pages without parity: a group is eight consecutive pages.
        let mut plain = c.clone();
        plain.raid.group = 0;
        plain.device.user_pages = c.device.user_pages / 7 * 8;
        let (mut f, mut g) = (new(&c), new(&plain));
        f.record_victims();
        g.record_victims();
        let groups = u64::from(c.device.user_pages / 7);
        let mut rng = Stream::new(7, "groups");
        for i in 0..groups * 6 {
            let group = if i < groups { i as u32 } else { rng.below(groups) as u32 };
            f.write_run(Lpn(group * 7), 7, 0).unwrap();
            g.write_run(Lpn(group * 8), 8, 0).unwrap();
        }
        assert!(f.tally.victims > 500, "{victim}: {} victims", f.tally.victims);
        if victim != "cost-benefit" {
            // (Its ages count pages of the host, of which there are fewer with parity.)
            assert_eq!(by_pool(&f), by_pool(&g), "{victim}");
            assert_eq!(f.ftl.blocks.erases, g.ftl.blocks.erases, "{victim}");
            assert_eq!(f.tally.gc_pages, g.tally.gc_pages, "{victim}");
        }
        // One page of parity for seven of data, and nothing is read.
        assert_eq!(f.groups.parity_pages * 7, f.tally.host_pages);
        assert_eq!((f.groups.reads, f.groups.full), (0, groups * 6));
        // Write amplification is 8/7 of that without parity.
        if victim != "cost-benefit" {
            let (programs, others) =
                (f.tally.programs() + f.groups.parity_pages, g.tally.programs());
            assert_eq!(programs * 7 * g.tally.host_pages, others * 7 * f.tally.host_pages * 8 / 7);
        }
        f.ftl.audit().unwrap();
    }
}

#[test]
fn preconditioning_fills_whole_groups_and_overwrites_single_pages() {
    let mut c = raid([4, 2, 1], 4, (40, 16), 0.7);
    (c.run.data, c.precondition.fill) = (DataMode::Digest, 1.0);
    let mut f = new(&c);
    assert_eq!(f.precondition(&c, &mut |_, _| true), Ok(true));
    let groups = u64::from(c.device.user_pages / 3);
    assert_eq!((f.groups.full, f.groups.parity_pages, f.groups.reads), (groups, groups, 0));
    assert_eq!(f.ftl.owners.valid_pages(), groups * 4);
    f.ftl.audit().unwrap();
    c.precondition.overwrite = 0.5;
    let mut f = new(&c);
    assert_eq!(f.precondition(&c, &mut |_, _| true), Ok(true));
    let overwrites = u64::from(c.device.user_pages).div_ceil(2);
    // Both methods read two pages of a group of four: read-modify-write is chosen.
    assert_eq!((f.groups.modified, f.groups.reads), (overwrites, 2 * overwrites));
    assert_eq!(f.groups.parity_pages, groups + overwrites);
    f.ftl.audit().unwrap();
    c.precondition.order = ssd_core::config::FillOrder::Random;
    let mut f = new(&c);
    assert_eq!(f.precondition(&c, &mut |_, _| true), Ok(true));
    f.ftl.audit().unwrap();
}

/// A list of requests.
struct List(Vec<Request>);

impl Source for List {
    fn next_request(&mut self) -> Result<Option<TimedRequest>, SourceError> {
        let next = (!self.0.is_empty()).then(|| self.0.remove(0));
        Ok(next.map(|request| TimedRequest { at: Nanos::ZERO, request }))
    }
}

#[test]
fn a_functional_run_counts_parity_and_the_reads_for_it() {
    let c = raid([4, 2, 1], 8, (40, 16), 0.7);
    let mut run = FunctionalRun::new(&c, new(&c));
    let page = |op, lpn: u64, count: u64| Request::new(op, lpn * PAGE, (count * PAGE) as u32);
    let requests = vec![
        page(Op::Write, 0, 21),
        page(Op::Write, 0, 1),
        page(Op::Write, 7, 5),
        page(Op::Trim, 14, 7),
        page(Op::Trim, 0, 2),
        page(Op::Read, 0, 7),
    ];
    run.drive(0, &mut List(requests), &mut |_| ControlFlow::Continue(())).unwrap();
    let result = run.finish();
    let flash = &result.measured.flash;
    assert_eq!(flash.programs[Cause::Host.at()], 27);
    // Three whole groups, one page, five pages, none for a group without data, one for two pages trimmed.
    assert_eq!(flash.programs[Cause::Parity.at()], 3 + 1 + 1 + 1);
    assert_eq!(flash.reads[Cause::Rmw.at()], 2 + 2 + 3);
    assert_eq!(result.measured.host.pages_trimmed, 9);
    result.ftl.audit().unwrap();
    assert_eq!(result.ftl.space.free_blocks(PoolId(0)), 39);
}
