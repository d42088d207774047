//! Relations between runs of devices with parity groups, and the time of collection in the path of a request, to the
//! nanosecond.

use crate::rig::parity::{ERASE, PROGRAM, READ, baseline, deferred};
use crate::rig::{alone, closed, filled, named, whole};
use ssd_core::config::{Amount, Config, TimingModel};
use ssd_core::ftl::gc::victim;
use ssd_core::host::device::Device;
use ssd_core::host::request::{Op, Request};
use ssd_core::plug::Value;
use ssd_core::rng::Stream;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos, PoolId};

/// When each of the requests completes in the closed loop, in the order of their numbers.
fn ends(ssd: &mut Ssd, depth: usize, requests: &[Request]) -> Vec<u64> {
    ssd.audit_every(500);
    let mut done = closed(ssd, depth, requests.iter().copied()).unwrap();
    done.sort_by_key(|one| one.id);
    done.iter().map(|one| one.at.0).collect()
}

/// Writes and reads of 1 to 9 pages, as (op, page, count), within the first `pages`.
fn drawn(seed: u64, number: u32, pages: u32) -> Vec<(Op, u32, u32)> {
    let mut rng = Stream::new(seed, "relations");
    let one = |_| {
        let count = 1 + rng.below(9) as u32;
        let op = if rng.chance(0.3) { Op::Read } else { Op::Write };
        (op, rng.below(u64::from(pages - count)) as u32, count)
    };
    (0..number).map(one).collect()
}

fn requests(drawn: &[(Op, u32, u32)], shift: u32) -> Vec<Request> {
    drawn.iter().map(|&(op, lpn, count)| whole(op, lpn + shift, count)).collect()
}

#[test]
fn collection_ahead_of_a_request_takes_its_copies_and_its_erase() {
    let mut seen = Vec::new();
    for hot in [3, 600, 1400] {
        let mut c = baseline(2, 4, 4);
        c.gc.amount = Amount::One;
        let mut ssd = filled(&c);
        ssd.audit_every(50);
        let mut rng = Stream::new(hot, "wear down");
        // The first write that brings a chip to its threshold: no request has waited there since.
        let chip = loop {
            let at = (0..8).find(|&pool| ssd.core.ftl.space.free_blocks(PoolId(pool)) <= 4);
            if let Some(chip) = at {
                break chip;
            }
            alone(&mut ssd, whole(Op::Write, rng.below(hot) as u32, 1));
        };
        assert_eq!(ssd.measured().gc.calls, 0, "a chip has been collected");
        let block = ssd.core.ftl.fewest_valid(PoolId(chip)).expect("a block to collect");
        let valid = u64::from(ssd.core.ftl.blocks.valid[block.at()]);
        let page = (0..c.device.user_pages).map(Lpn).find(|&lpn| {
            let page = ssd.page_on_flash(lpn).expect("it is filled");
            ssd.core.ftl.geo.plane_of(page).0 == chip
        });
        let took = alone(&mut ssd, whole(Op::Read, page.expect("a page of the chip").0, 1));
        assert_eq!(took, READ + valid * (READ + PROGRAM) + ERASE, "{valid} pages to copy");
        seen.push(valid);
    }
    assert!(seen.iter().any(|&valid| valid > 0), "no block with valid pages: {seen:?}");
}

#[test]
fn times_three_times_as_long_give_latencies_three_times_as_long() {
    for model in [TimingModel::Serial, TimingModel::Pipelined] {
        let mut c = deferred(2, 4, 4);
        (c.timing.model, c.timing.transfer_ns, c.timing.command_ns) = (model, 3_000, 100);
        let mut slow = c.clone();
        let t = &mut slow.timing;
        for time in [
            &mut t.read_ns,
            &mut t.program_ns,
            &mut t.erase_ns,
            &mut t.transfer_ns,
            &mut t.command_ns,
        ] {
            *time *= 3;
        }
        let drawn = requests(&drawn(1, 4000, 1000), 0);
        let (mut a, mut b) = (filled(&c), filled(&slow));
        let (fast, slow) = (ends(&mut a, 16, &drawn), ends(&mut b, 16, &drawn));
        assert!(fast.iter().zip(&slow).all(|(fast, slow)| 3 * fast == *slow), "{model:?}");
        let m = a.measured();
        assert!(m.gc.calls > 100 && m.raid.redirected > 10, "{:?}", m.raid);
    }
}

#[test]
fn requests_as_many_whole_stripes_on_take_as_long() {
    // A block has as many pages as a group chips, so that the shift is one block on each chip.
    let mut c = deferred(2, 4, 4);
    (c.device.pages_per_block, c.device.blocks_per_plane) = (4, 160);
    let stripes = c.data_pages_per_stripe() as u32;
    let drawn = drawn(2, 4000, 1000);
    let (mut a, mut b) = (filled(&c), filled(&c));
    let shifted = requests(&drawn, 4 * stripes);
    assert_eq!(ends(&mut a, 16, &requests(&drawn, 0)), ends(&mut b, 16, &shifted));
    assert_eq!(a.measured().raid.redirected, b.measured().raid.redirected);
    assert!(a.measured().gc.calls > 100, "{} calls", a.measured().gc.calls);
}

#[test]
fn blocks_beyond_a_threshold_that_is_raised_by_as_many_change_nothing() {
    let with = |more: u32| -> Config {
        let mut c = deferred(2, 4, u64::from(4 + more));
        c.device.blocks_per_plane += more;
        // Without ties between blocks, whose numbers differ.
        c.gc.victim = named(victim::ALL, "fifo");
        c.raid.redirect = c.raid.redirect.clone().with("foreign", Value::Real(0.2));
        c
    };
    let drawn = requests(&drawn(3, 4000, 1000), 0);
    let (mut a, mut b) = (filled(&with(0)), filled(&with(7)));
    assert_eq!(ends(&mut a, 16, &drawn), ends(&mut b, 16, &drawn));
    let (m, n) = (a.measured(), b.measured());
    assert_eq!((m.gc.calls, m.gc.pages.moved), (n.gc.calls, n.gc.pages.moved));
    assert_eq!(m.raid.redirected, n.raid.redirected);
    assert!(m.gc.calls > 100 && m.raid.redirected > 10, "{:?}", m.raid);
    b.run_until(Nanos(b.now().0 + 1_000_000), &mut Vec::new()).unwrap();
    b.audit().unwrap();
}
