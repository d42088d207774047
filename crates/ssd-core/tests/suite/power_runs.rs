//! Runs in which the configuration cuts power: what was withdrawn comes again, and complete.

use crate::rig::runs::{Mix, Run};
use crate::rig::{self, device};
use ssd_core::config::{BufferPower, Config, DataMode, PoolScope, PowerCut, RemapMode};
use ssd_core::host::device::Device;
use ssd_core::host::request::{Op, Request};
use ssd_core::metrics::counters::Cause;
use ssd_core::units::{Lpn, Nanos};

/// Two planes of one pool; power is cut at random.
fn small(mode: RemapMode) -> Config {
    let mut c = device([1, 2, 1], 16, 8, 150);
    c.run.data = DataMode::Bytes;
    c.alloc.pool = PoolScope::Device;
    c.gc.window = 2;
    c.remap.mode = mode;
    c.power.cut = PowerCut::Random(60_000);
    c
}

const MODES: [RemapMode; 3] = [RemapMode::Off, RemapMode::Share, RemapMode::Copy];

fn copies(mode: RemapMode) -> Mix {
    let copy = if mode == RemapMode::Off { 0 } else { Mix::ALL.copy };
    Mix { copy, ..Mix::ALL }
}

#[test]
fn what_a_cut_withdraws_comes_again_with_its_data() {
    for mode in MODES {
        for (pages, buffer) in
            [(0, BufferPower::Volatile), (6, BufferPower::Volatile), (6, BufferPower::Protected)]
        {
            let mut c = small(mode);
            (c.host.write_buffer_pages, c.power.buffer) = (pages, buffer);
            for cut in [PowerCut::Random(60_000), PowerCut::Every(25_000)] {
                c.power.cut = cut;
                let mut run = Run::new(&c, copies(mode));
                run.run(1500);
                let measured = run.end().measured().clone();
                let repeated = measured.power.requests_repeated;
                assert!(measured.power.cuts > 5, "{} cuts", measured.power.cuts);
                assert!(repeated > 15, "{mode:?}, {pages}: {repeated} repeated");
            }
        }
    }
}

#[test]
fn the_smallest_nvram_and_a_slow_one_hold_up_no_run() {
    for mode in MODES {
        for (bytes, nvram_ns) in [(64, 500), (128, 500), (4096, 8000)] {
            for buffer in [0, 6] {
                let mut c = small(mode);
                (c.power.nvram_bytes, c.power.nvram_ns) = (bytes, nvram_ns);
                c.host.write_buffer_pages = buffer;
                c.power.cut = PowerCut::Random(300_000);
                let mix = Mix { trim: 35, span: 20, depth: 24, pages: 4, ..copies(mode) };
                let mut run = Run::new(&c, mix);
                run.run(500);
                let checkpoints = run.end().measured().power.checkpoints;
                assert!(bytes > 1000 || checkpoints > 10, "{bytes} B: {checkpoints} checkpoints");
            }
        }
    }
}

#[test]
fn trims_of_pages_under_way_wait_for_one_checkpoint() {
    let mut c = small(RemapMode::Off);
    (c.power.nvram_bytes, c.power.cut) = (64, PowerCut::OnRequest);
    let mut ssd = rig::with_pages(&c, 0);
    let writes = (0..6).map(|lpn| rig::whole(Op::Write, lpn, 1));
    let trims = (0..5).map(|lpn| rig::whole(Op::Trim, lpn, 1));
    let all: Vec<Request> = writes.chain(trims).collect();
    for request in &all {
        ssd.submit(Nanos::ZERO, request, None).expect("a valid request");
    }
    let (mut done, end) = (Vec::new(), Nanos(1_000_000));
    while done.len() < all.len() && ssd.now() < end {
        ssd.run_until(end, &mut done).expect("it goes on");
    }
    assert_eq!(done.len(), all.len(), "requests that completed");
    let power = ssd.measured().power;
    assert!(power.trims_waited > 0 && power.checkpoints <= 5, "{power:?}");
}

#[test]
fn a_trim_that_waits_for_room_leaves_data_that_are_written_later() {
    let mut c = small(RemapMode::Off);
    (c.power.nvram_bytes, c.power.cut) = (64, PowerCut::OnRequest);
    let mut ssd = rig::with_pages(&c, 8);
    for lpn in 0..6 {
        ssd.submit(Nanos::ZERO, &rig::whole(Op::Trim, lpn, 1), None).expect("a TRIM");
    }
    ssd.submit(Nanos(1), &rig::whole(Op::Write, 5, 1), None).expect("a write");
    let (mut done, end) = (Vec::new(), Nanos(1_000_000));
    while done.len() < 7 && ssd.now() < end {
        ssd.run_until(end, &mut done).expect("it goes on");
    }
    assert_eq!(done.len(), 7, "requests that completed");
    assert!(ssd.measured().power.trims_waited > 0, "no TRIM has waited");
    assert_eq!(ssd.page_on_flash(Lpn(4)), None);
    assert!(ssd.page_on_flash(Lpn(5)).is_some(), "the data written last are gone");
}

#[test]
fn a_request_that_comes_again_counts_once() {
    for (warmup, every) in [(0, 25_000), (5, 25_000), (40, 18_000), (400, 25_000)] {
        for mode in MODES {
            let mut c = small(mode);
            c.power.cut = PowerCut::Every(every);
            let mut run = Run::new(&c, Mix { depth: 24, ..copies(mode) });
            run.ssd.measure(warmup, false);
            run.run(800);
            let written = run.written_from(warmup);
            let submitted = run.submitted();
            run.complete_all();
            let m = run.ssd.measured();
            let (arrived, completed) =
                (m.host.submitted.iter().sum::<u64>(), m.host.completed.iter().sum::<u64>());
            let what = format!("{mode:?}, warm-up {warmup}");
            assert_eq!(
                (m.warmup, arrived, completed),
                (warmup, submitted - warmup, arrived),
                "{what}"
            );
            assert_eq!(m.host.pages_written, written, "{what}: pages");
            assert!(m.power.pages_repeated > 0 && m.power.cuts > 2, "{what}: {:?}", m.power);
        }
    }
}

/// Requests that the host has submitted for later have not arrived: a cut withdraws them, and none is repeated.
#[test]
fn only_requests_that_had_arrived_count_as_withdrawn() {
    let mut c = small(RemapMode::Off);
    c.power.cut = PowerCut::OnRequest;
    for (inside, later) in [(2, 3), (0, 3), (2, 0)] {
        let mut ssd = rig::with_pages(&c, 8);
        for lpn in 0..inside + later {
            let at = if lpn < inside { Nanos::ZERO } else { Nanos(1_000_000) };
            ssd.submit(at, &rig::whole(Op::Write, lpn, 1), None).expect("a valid request");
        }
        // A program takes 500 ns.
        let cut = Nanos(100);
        ssd.run_until(cut, &mut Vec::new()).expect("it goes on");
        ssd.wait_until(cut).expect("nothing happens before");
        let withdrawn = ssd.power_cut().expect("power is on").len();
        assert_eq!(withdrawn, (inside + later) as usize, "requests withdrawn");
        let recovery = ssd.mount(true).expect("it mounts");
        assert_eq!(recovery.requests, u64::from(inside), "{inside} inside, {later} to come");
        assert_eq!(ssd.measured().power.requests_repeated, u64::from(inside));
        let done = rig::finish(&mut ssd).expect("it goes on");
        assert_eq!(done.len(), withdrawn, "requests that completed");
    }
}

#[test]
fn a_checkpoint_that_a_cut_ends_begins_again() {
    let mut c = small(RemapMode::Off);
    (c.power.cut, c.power.checkpoint_bytes) = (PowerCut::OnRequest, 40 * 2048);
    let mut ssd = rig::with_pages(&c, 8);
    let mut written = 0;
    while ssd.measured().flash.programs[Cause::Metadata.at()] == 0 {
        rig::alone(&mut ssd, rig::whole(Op::Write, 9, 1));
        written += 1;
        assert!(written < 60, "no checkpoint has begun");
    }
    assert!(written > 20 && ssd.measured().power.checkpoints == 0, "it has ended already");
    ssd.power_cut().expect("power is on");
    ssd.mount(false).expect("power is off");
    rig::alone(&mut ssd, rig::whole(Op::Write, 9, 1));
    // The host goes first on a unit, and leaves this one alone now.
    let later = Nanos(ssd.now().0 + 20_000);
    ssd.run_until(later, &mut Vec::new()).expect("it goes on");
    assert_eq!(ssd.measured().power.checkpoints, 1, "checkpoints");
}
