//! Counts of a run where two features meet: each matches its description, recomputed from what was done.

use crate::rig::{
    self,
    parity::{baseline, on_demand},
};
use crate::rig::{alone, closed, device, filled, finish, free_blocks, named, whole, with_pages};
use ssd_core::config::{BusyUnit, Config, Frontiers, PowerCut, TimingModel};
use ssd_core::ftl::Ftl;
use ssd_core::host::device::Device;
use ssd_core::host::request::{Op, Request};
use ssd_core::plug::Value;
use ssd_core::rng::Stream;
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos};

const PROGRAM: u64 = 500 + 20;

/// Serial chips of 16 blocks of 8 pages.
fn chips(count: u32, user_pages: u32) -> Config {
    let mut c = device([count, 1, 1], 16, 8, user_pages);
    (c.timing.model, c.timing.busy_unit) = (TimingModel::Serial, BusyUnit::Chip);
    c
}

/// Nine of ten pages of the first tenth.
fn hot_and_cold(c: &Config, seed: u64, count: usize) -> Vec<Request> {
    let mut rng = Stream::new(seed, "hot and cold");
    let user = u64::from(c.device.user_pages);
    let mut page = || {
        let most = if rng.chance(0.9) { user / 10 } else { user };
        rng.below(most) as u32
    };
    (0..count).map(|_| whole(Op::Write, page(), 1)).collect()
}

#[test]
fn a_page_trimmed_while_it_waits_for_room_is_one_that_a_trim_dropped() {
    let mut c = chips(1, 64);
    (c.host.write_buffer_pages, c.host.write_buffer_threshold) = (1, 1.0);
    let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
    for (at, request) in
        [(0, whole(Op::Write, 0, 1)), (5, whole(Op::Write, 9, 1)), (10, whole(Op::Trim, 9, 1))]
    {
        ssd.submit(Nanos(at), &request, None).expect("a valid request");
    }
    finish(&mut ssd).expect("they complete");
    let buffer = ssd.measured().buffer;
    assert_eq!((buffer.trimmed, buffer.coalesced, buffer.evicted, buffer.waited), (1, 0, 1, 1));
}

#[test]
fn a_unit_is_busy_from_the_start_of_the_measurement_and_until_a_cut() {
    for model in [TimingModel::Serial, TimingModel::Pipelined] {
        let mut c = chips(2, 128);
        c.timing.model = model;
        let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
        ssd.measure(1, false);
        for (at, lpn) in [(0, 0), (100, 1)] {
            ssd.submit(Nanos(at), &whole(Op::Write, lpn, 1), None).expect("a valid request");
        }
        finish(&mut ssd).expect("they complete");
        // The measurement begins at 100, with the second request.
        assert_eq!(ssd.chip_busy_ns(), [PROGRAM - 100, PROGRAM], "{model:?}");
        c.power.cut = PowerCut::OnRequest;
        let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
        alone(&mut ssd, whole(Op::Write, 1, 1));
        ssd.submit(ssd.now(), &whole(Op::Write, 0, 1), None).expect("a valid request");
        ssd.run_until(Nanos(PROGRAM + 200), &mut Vec::new()).expect("it runs");
        ssd.wait_until(Nanos(PROGRAM + 200)).expect("nothing happens before");
        ssd.power_cut().expect("power is on");
        ssd.mount(false).expect("it mounts");
        assert_eq!(ssd.chip_busy_ns(), [200, PROGRAM], "{model:?}: a program was cut off");
    }
}

#[test]
fn times_of_jobs_and_deferred_collections_are_those_of_collection() {
    let mut c = baseline(2, 4, 4);
    (c.gc.trigger, c.wear.static_threshold) = (vec![on_demand(4, "any", true)], 1);
    let mut ssd = filled(&c);
    ssd.audit_every(0);
    for writes in hot_and_cold(&c, 3, 2500).chunks(50) {
        closed(&mut ssd, 4, writes.to_vec()).expect("there is room");
        ssd.run_until(Nanos(ssd.now().0 + 20_000_000), &mut Vec::new()).expect("it rests");
    }
    let m = ssd.measured();
    assert!(m.gc.background > 20 && m.wear.calls > 20, "{:?}, {:?}", m.gc, m.wear);
    assert_eq!(m.raid.deferred_gcs, m.gc.background);
    assert_eq!(m.gc.jobs_done, m.gc.calls, "levelling is at rest, too");
}

#[test]
fn a_promotion_by_a_watermark_is_none_by_the_reserve() {
    let mut c = chips(1, 80);
    c.gc.reserve = 1;
    c.gc.trigger = vec![free_blocks(5).with("hard", Value::Int(4))];
    c.sched.order = named(ssd_core::sched::order::ALL, "host-first");
    let mut promoted = 0;
    let mut ssd = with_pages(&c, 80);
    for burst in hot_and_cold(&c, 5, 3000).chunks(12) {
        let before = ssd.measured().gc;
        closed(&mut ssd, 12, burst.to_vec()).expect("there is room");
        let now = ssd.measured().gc;
        // A background job finishes ahead of the host if host operations wait behind it.
        promoted += u64::from(now.background > before.background);
        ssd.run_until(Nanos(ssd.now().0 + 1_000_000), &mut Vec::new()).expect("it rests");
    }
    assert!(promoted > 100, "{promoted} bursts met collection in background");
    assert!(ssd.core.ftl.space.lowest_free_blocks() > 1, "the reserve was reached");
    assert_eq!(ssd.measured().gc.reserve_promotions, 0);
}

#[test]
fn levelling_keeps_away_from_a_hard_watermark() {
    for (hard, levels) in [(0, true), (15, false)] {
        let mut c = chips(1, 64);
        (c.alloc.frontiers, c.wear.static_threshold) = (Frontiers::HostGc, 1);
        c.gc.trigger = vec![free_blocks(4).with("hard", Value::Int(hard))];
        // Below the hard watermark whenever the trigger holds.
        c.gc.trigger[0] = free_blocks(15).with("hard", Value::Int(hard));
        let mut ssd = with_pages(&c, 64);
        closed(&mut ssd, 1, hot_and_cold(&c, 7, 3000)).expect("there is room");
        assert_eq!(ssd.measured().wear.calls > 0, levels, "{:?}", ssd.measured().wear);
    }
}

#[test]
fn adjacent_ranges_do_not_overlap_and_a_long_trim_is_no_long_read() {
    use ssd_core::config::RemapMode;
    use ssd_core::host::copy::{SourceRange, encode};
    let mut c = chips(1, 64);
    c.remap.mode = RemapMode::Share;
    let mut ssd = with_pages(&c, 64);
    let page = rig::PAGE;
    // Pages 8 and 9 from the pages before them, from those behind them, and from one of themselves.
    for (source, refused) in [(6, false), (10, false), (7, true), (9, true)] {
        let data = encode(&[SourceRange { sector: source * page, sectors: 2 * page }]);
        let copied = ssd.submit(ssd.now(), &whole(Op::Copy, 8, 2), Some(&data));
        assert_eq!(copied.is_err(), refused, "from page {source}");
        finish(&mut ssd).expect("it completes");
    }
    // Sources with the total length of the destination, no longer and no shorter.
    for (sectors, refused) in [(page, true), (2 * page, false), (3 * page, true)] {
        let data = encode(&[SourceRange { sector: 20 * page, sectors }]);
        let copied = ssd.submit(ssd.now(), &whole(Op::Copy, 8, 2), Some(&data));
        assert_eq!(copied.is_err(), refused, "{sectors} sectors for two pages");
        finish(&mut ssd).expect("it completes");
    }
    // More than 1 GiB, on a device of 1.5 GiB.
    let mut c = device([1, 1, 1], 1 << 12, 256, 3 << 18);
    c.timing.busy_unit = BusyUnit::Chip;
    let mut ssd = Ssd::new(&c, Ftl::new(&c), 0);
    let long = |op| Request::new(op, 0, (1 << 21) + 4);
    alone(&mut ssd, whole(Op::Write, 1 << 19, 1));
    assert!(ssd.submit(ssd.now(), &long(Op::Read), None).is_err(), "a read of more than 1 GiB");
    alone(&mut ssd, long(Op::Trim));
    assert_eq!(ssd.page_on_flash(Lpn(1 << 19)), None, "its last page is trimmed");
}
