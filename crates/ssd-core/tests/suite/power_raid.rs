//! Power cuts with parity groups: what was acknowledged as durable survives any cut, also if a chip fails with it.

use crate::rig::cuts::{Cuts, Load};
use crate::rig::group_cuts::{
    NEVER, cut_everywhere, fail_everywhere, failing, filled, groups, mount_at, storm,
    with_checkpoints, with_little_nvram,
};
use crate::rig::runs::Mix;
use crate::rig::{alone, device, named, victim, whole};
use ssd_core::config::{Config, DataMode, GroupReads, ParityUpdate, PowerCut, TimingModel};
use ssd_core::host::device::Device as _;
use ssd_core::host::request::{Completion, Op, Request};
use ssd_core::sim::ssd::Ssd;
use ssd_core::units::{Lpn, Nanos};

#[test]
fn a_cut_after_every_event_loses_no_acknowledged_page() {
    for chips in [3, 4] {
        let undone = cut_everywhere(&groups(chips), Load::MIXED, 0..500);
        assert!(undone > 100, "{undone} updates were cut off");
    }
}

#[test]
fn so_does_one_after_every_event_that_follows_a_cut() {
    let config = with_checkpoints(groups(3), 20);
    for first in (0..400).step_by(37) {
        for second in 0..90 {
            let mut run = filled(&config, Load::MIXED);
            run.cut_after(first, &first);
            run.cut_after(second, &(first, second));
        }
    }
}

#[test]
fn a_chip_that_fails_with_any_cut_loses_nothing() {
    fail_everywhere(&groups(3), Load::MIXED, 0..240, 0);
}

#[test]
fn nor_does_one_that_a_spare_replaces() {
    fail_everywhere(&groups(3), Load::MIXED, (0..240).step_by(2), 1);
    let load = Load { trim: 35, seed: 3, ..Load::MIXED };
    fail_everywhere(&with_checkpoints(groups(4), 30), load, (0..300).step_by(11), 1);
}

/// Run until no page is lost any more.
fn rebuild(run: &mut Cuts) {
    let is_whole = |run: &Cuts| {
        let lost = run.ssd.core.ftl.lost.as_deref().expect("a chip has failed");
        let failed = run.ssd.measured().degraded.as_ref().is_some_and(|d| !d.chips.is_empty());
        failed && lost.count() == 0 && !lost.misses_a_chip()
    };
    (0..6000).find(|_| {
        run.run(1);
        is_whole(run)
    });
    assert!(is_whole(run), "the rebuild does not end");
}

/// After the first chip has been rebuilt another one may fail: at the cut after the rebuild, each in turn.
#[test]
fn a_second_chip_may_fail_once_the_first_has_been_rebuilt() {
    let config = groups(3);
    for (first, second) in [(0, 1), (1, 2), (2, 2), (2, 0)] {
        for at in (30..200).step_by(43) {
            let (recovery, end) = mount_at(&failing(&config, &[(0, NEVER)], 2), Load::MIXED, at);
            let fails_at = if at % 2 == 0 { recovery.cut_at + 1 } else { end + 1 };
            let begin = |again: u64| {
                let failures = [(first, fails_at), (second, again)];
                let mut run = filled(&failing(&config, &failures, 2), Load::MIXED);
                run.cut_after(at, &(first, at));
                rebuild(&mut run);
                run
            };
            for steps in (0..40).step_by(4) {
                let mut run = begin(NEVER);
                run.run(steps);
                let now = run.ssd.now().0;
                let mut run = begin(now + 1);
                run.run(steps);
                run.cut();
                let what = (first, second, at, steps);
                run.mount_and_judge(&what);
                run.cut_after(steps, &(what, "again"));
                run.read_back();
            }
        }
    }
}

#[test]
fn checkpoints_cover_no_page_of_an_update_that_has_not_committed() {
    let load = Load { trim: 30, ..Load::MIXED };
    let steps = (0..260).step_by(3);
    for config in [with_checkpoints(groups(4), 8), with_little_nvram(groups(3))] {
        cut_everywhere(&config, load, 0..350);
        fail_everywhere(&config, load, steps.clone(), 1);
    }
}

#[test]
fn a_volatile_buffer_loses_what_no_flush_has_covered_and_nothing_else() {
    let mut c = groups(4);
    (c.host.write_buffer_pages, c.timing.sram_ns) = (9, 30);
    let load = Load { flush: 8, fua: 15, ..Load::MIXED };
    assert!(cut_everywhere(&c, load, 0..400) > 50, "updates from the buffer were cut off");
    fail_everywhere(&c, load, (0..300).step_by(13), 1);
    // Pages wait for room while they are trimmed and overwritten.
    for (seed, mut config) in (2..).zip([c.clone(), with_little_nvram(c)]) {
        let load = Load { seed, trim: 30, flush: 3, fua: 60, depth: 12, ..Load::MIXED };
        config.host.write_buffer_pages = 2;
        assert!(cut_everywhere(&config, load, 0..400) > 50, "updates from the buffer were cut off");
        fail_everywhere(&config, load, (0..300).step_by(29), 1);
    }
}

/// The second page of a group waits for the room of the first one when a flush covers both and a TRIM makes it void.
/// The update of the first comes before that of the TRIM, and a cut between the two would bring back what was there
/// before.
#[test]
fn a_flush_waits_for_the_trim_of_a_page_that_it_covers() {
    let mut c = groups(3);
    (c.host.write_buffer_pages, c.timing.sram_ns) = (1, 30);
    let mut ssd = crate::rig::filled(&c);
    let mut submit = |request| ssd.submit(ssd.now(), &request, None).unwrap();
    submit(whole(Op::Write, 0, 1));
    submit(whole(Op::Write, 1, 1));
    let flush = submit(Request::new(Op::Flush, 0, 0));
    submit(whole(Op::Trim, 1, 1));
    let mut done = Vec::new();
    while !done.iter().any(|c: &Completion| c.id == flush) {
        ssd.run_until(ssd.next_event().expect("a flush is under way"), &mut done).unwrap();
    }
    assert_eq!(ssd.measured().buffer.trimmed, 1, "it has found room before the TRIM");
    ssd.power_cut().unwrap();
    ssd.mount(false).unwrap();
    assert_eq!(ssd.core.ftl.owners.committed(Lpn(1)), None, "flushed and trimmed, and old again");
}

/// Page 0 is at home on the first chip, which fails while it is programmed: only the parity knows its data. When a
/// spare has come, power is cut before the page is rebuilt. What the group held before is all on flash.
#[test]
fn a_mount_knows_that_a_spare_has_not_all_pages() {
    let fails_at = 1_000_000;
    let mut c = failing(&groups(3), &[(0, fails_at)], 1);
    c.raid.rebuild_rate = Some(1);
    let mut ssd = crate::rig::filled(&c);
    alone(&mut ssd, whole(Op::Trim, 0, 1));
    assert!(ssd.now().0 < fails_at - 1000, "prepared at {:?}", ssd.now());
    ssd.submit(Nanos(fails_at - 300), &whole(Op::Write, 0, 1), None).unwrap();
    let mut done = Vec::new();
    let misses = |ssd: &Ssd| ssd.core.ftl.lost.as_ref().is_some_and(|lost| lost.misses_a_chip());
    while done.is_empty() || misses(&ssd) {
        ssd.run_until(ssd.next_event().expect("a write is under way"), &mut done).unwrap();
    }
    let ftl = &ssd.core.ftl;
    assert!(ftl.is_lost(Lpn(0)) && ssd.now().0 > fails_at, "it failed after the write");
    let digest = ftl.reconstructed(Lpn(0)).digest;
    assert_ne!(digest, 0, "the parity knows no data");
    ssd.power_cut().unwrap();
    ssd.mount(false).unwrap();
    assert!(ssd.core.ftl.is_lost(Lpn(0)), "the mount has taken an older state of the group");
    assert_eq!(ssd.core.ftl.reconstructed(Lpn(0)).digest, digest);
    ssd.audit().unwrap();
}

#[test]
fn a_second_cut_inside_every_step_of_the_recovery_changes_nothing() {
    let mut stopped = 0;
    for at in (0..600).step_by(7) {
        for steps in 0.. {
            let mut run = filled(&groups(3), Load::MIXED);
            run.run(at);
            run.cut();
            let again = run.ssd.mount_in_part(steps).expect("it can be recovered");
            run.mount_and_judge(&(at, steps));
            if !again {
                break;
            }
            stopped += 1;
        }
    }
    assert!(stopped > 10, "{stopped} mounts were cut off");
}

/// Devices that differ in space, layout and what an update reads.
fn shapes() -> Vec<(&'static str, Config)> {
    let mut all = Vec::new();
    let mut c = groups(4);
    (c.device.user_pages, c.gc.reserve, c.gc.window) = (3 * 72, 1, 4);
    all.push(("little room", c));
    let mut c = groups(2);
    (c.device.channels, c.device.user_pages) = (4, 96);
    all.push(("mirrors", c));
    let mut c = device([3, 1, 2], 10, 8, 0);
    (c.raid.group, c.device.user_pages) = (3, 160);
    (c.run.data, c.power.cut) = (DataMode::Digest, PowerCut::OnRequest);
    all.push(("two planes", c));
    let mut c = groups(3);
    c.wear.static_threshold = 1;
    all.push(("wear levelling", c));
    let mut c = groups(4);
    (c.raid.update, c.raid.read_buffer_pages) = (ParityUpdate::Reconstruct, 12);
    all.push(("a read buffer", c));
    let mut c = groups(3);
    c.raid.reads = GroupReads::ReconstructIfBusy;
    c.timing.model = TimingModel::Pipelined;
    all.push(("reads around collection", c.clone()));
    c.raid.reads = GroupReads::ShortestQueue;
    all.push(("reads around queues", c));
    let mut c = groups(3);
    c.gc.victim = victim("fifo");
    all.push(("fully valid victims", c));
    let mut c = groups(4);
    c.raid.merge = true;
    all.push(("merged updates", c));
    let mut c = groups(3);
    c.device.user_pages = 80;
    c.alloc.separation = named(ssd_core::ftl::separation::ALL, "sepbit");
    all.push(("classes", c));
    all
}

#[test]
fn neither_does_a_device_of_another_shape() {
    let mut undone = 0;
    for (_, config) in shapes() {
        undone += cut_everywhere(&config, Load::MIXED, 0..150);
        fail_everywhere(&config, Load::MIXED, (20..180).step_by(31), 1);
    }
    assert!(undone > 100, "{undone} updates were cut off");
}

#[test]
fn random_cuts_in_a_long_run_lose_nothing() {
    let mut rng = ssd_core::rng::Stream::new(5, "cuts");
    for (name, config) in shapes() {
        let config = with_checkpoints(config, 40);
        let mut run = filled(&config, Load { seed: 3, ..Load::MIXED });
        for cut in 0..80 {
            // Sometimes cut after cut, so that no collection finishes.
            let longest = if cut % 3 == 0 { 400 } else { 25 };
            run.cut_after(rng.below(longest), &(name, cut));
        }
        assert!(run.completed > 80, "{name}: {} requests completed", run.completed);
    }
}

/// Cuts, failures of chips and the rebuild in storms of requests with their own data.
fn storms(seeds: std::ops::Range<u64>, requests: u64) {
    for seed in seeds {
        let at = |each: u64, of: u64| (seed / each % of) as usize;
        let mut c = groups([3, 4][at(1, 2)]);
        c.run.data = DataMode::Bytes;
        c.timing.model = [TimingModel::Serial, TimingModel::Pipelined][at(2, 2)];
        c.host.write_buffer_pages = [0, 6, 2][at(3, 3)];
        c.raid.merge = [false, true][at(1, 2)];
        (c.power.nvram_bytes, c.power.nvram_ns) = [(4096, 500), (128, 3000)][at(2, 2)];
        c.power.checkpoint_bytes = [0, 40 * 2048][at(4, 2)];
        c.power.cut = PowerCut::Random(60_000);
        let chips = c.device.channels;
        let chip = |n: u64| ((seed + n) % u64::from(chips)) as u32;
        c = failing(&c, &[(chip(0), 150_000), (chip(1), 700_000)], 2);
        let mix = Mix { seed, depth: 12, trim: 20, copy: 0, pages: 4, span: 80, ..Mix::ALL };
        storm(&c, mix, requests);
    }
}

#[test]
fn storms_with_cuts_and_failed_chips_lose_nothing() {
    storms(0..8, 1500);
}

/// Half a million requests over 20 seeds.
#[test]
#[ignore = "long"]
fn storms_with_cuts_and_failed_chips_lose_nothing_at_length() {
    storms(0..20, 25_000);
}
